/* 03_incline.c - a block on two slopes: on one it stays, on the other it slides

   Shows: the convex solver of icf.h, stepped by hand. The block is a free body, one clique of six
   velocities; one link reads them at its centre, and the four corners that it stands on are
   contacts of that link. A step is: the velocities that gravity alone would give, how far each
   corner is from the slope, icf_solve, and the new pose. icf_get_contact says what a corner did.

   Build: cc examples/03_incline.c -lm
   Its last line: after 2 s: slid 0.00 m where the slope is 0.3, and 1.69 m where it is 0.6 */

#define ICF_IMPLEMENTATION
#include "../icf.h"

#include <stdio.h>

static const icf_real g = ICF_R(9.81), dt = ICF_R(0.005), m = 2, stiffness = ICF_R(1e5);

/* Puts the block, 20 x 20 x 10 cm, on a slope of tan(angle) = `slope`; friction is 0.5. Says how
   far it slid in 2 s. Axes: x points down the slope, z away from it. */
static icf_real slide(icf_real slope)
{
    const icf_vec3 corner[4] = {
        {ICF_R(0.1),  ICF_R(0.1),  ICF_R(-0.05)},
        {ICF_R(-0.1), ICF_R(0.1),  ICF_R(-0.05)},
        {ICF_R(0.1),  ICF_R(-0.1), ICF_R(-0.05)},
        {ICF_R(-0.1), ICF_R(-0.1), ICF_R(-0.05)}
    };
    const icf_real level = 1 / ICF_SQRT(1 + slope * slope); /* cosine of the angle */
    const char* const modes[3] = {"does not touch", "sticks", "slips"};
    int32_t size = 6, rows = 6, start[2] = {0, 1}, clique = 0, i, step;
    icf_real mass[36] = {0}, unit[36] = {0}, v[6] = {0}, v_free[6];
    /* four corners of 1e5 N/m give way until they carry the weight */
    const icf_real height = ICF_R(0.05) - m * g * level / (4 * stiffness);
    icf_transform pose = icf_transform_make(icf_quat_identity(), icf_vec3_make(0, 0, height));
    icf_surface surface = icf_default_surface(); /* friction 0.5 */
    icf_contact contact[4];
    icf_contact_result r;
    icf_problem p = icf_default_problem();
    icf_workspace w = {0};
    icf_result result;

    /* A: the mass, and moments of inertia, taken to be the same about all axes */
    for (i = 0; i < 6; i++) {
        mass[7 * i] = i < 3 ? m : m * ICF_R(0.005);
        unit[7 * i] = 1;
    }
    surface.stiffness = stiffness;
    for (i = 0; i < 4; i++) contact[i] = icf_default_contact(); /* link 0, surface 0, normal z */
    p.dt = dt;
    p.cliques = 1;
    p.clique_sizes = &size;
    p.mass = mass;
    p.v_free = v_free;
    p.links = 1;
    p.link_rows = &rows;
    p.link_start = start;
    p.block_clique = &clique;
    p.blocks = unit;
    p.surfaces = 1;
    p.surface = &surface;
    p.contacts = 4;
    p.contact = contact;
    result = icf_workspace_reserve(&w, &p);

    for (step = 1; step <= 400 && result >= 0; step++) {
        for (i = 0; i < 6; i++) v_free[i] = v[i];
        v_free[0] += dt * g * level * slope;
        v_free[2] -= dt * g * level;
        for (i = 0; i < 4; i++) {
            contact[i].point = icf_quat_rotate(pose.q, corner[i]);
            contact[i].distance = pose.p.z + contact[i].point.z;
        }
        result = icf_solve(&p, NULL, &w, v, NULL);
        if (result < 0) break;
        pose.p = icf_vec3_add_scaled(pose.p, dt, icf_vec3_make(v[0], v[1], v[2]));
        pose.q = icf_quat_integrate(pose.q, icf_vec3_make(v[3], v[4], v[5]), dt);
        if (step % 100 == 0 && icf_get_contact(&w, 0, &r) == ICF_RESULT_OK) {
            printf("%.1f s: at %.3f m, %.3f m/s; the corner in front carries %.2f N and %s\n",
                   (double)(dt * (icf_real)step), (double)pose.p.x, (double)v[0], (double)r.force.z,
                   modes[r.mode]);
        }
    }
    if (result < 0) printf("refused: %s\n", icf_result_string(result));
    icf_workspace_destroy(&w);
    return pose.p.x;
}

int main(void)
{
    icf_real gentle, steep;
    printf("slope 0.3\n");
    gentle = slide(ICF_R(0.3));
    printf("slope 0.6\n");
    steep = slide(ICF_R(0.6));
    printf("after 2 s: slid %.2f m where the slope is 0.3, and %.2f m where it is 0.6\n",
           (double)gentle, (double)steep);
    return 0;
}
