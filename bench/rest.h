/* rest.h - what bench/rest.c does, in the precision that is chosen before it is included: RUN is its name */

#include "bench.h"
#include <math.h>

#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"

#define R(x) ((icf_real)(x))

/* Rows of boxes from the ground up: `wide` in the lowest, each `fewer` less than the one below. */
typedef struct pile {
    const char* name;
    double half_x, half_y, half_z, stiffness, turned;
    int rows, wide, fewer;
} pile;

static const pile piles[] = {
    {"boxes of 10 cm",               0.05, 0.05, 0.05,  2e6,  0,   10, 1,  0},
    {"boxes of 1 m",                 0.5,  0.5,  0.5,   2e6,  0,   10, 1,  0},
    {"cards",                        0.5,  0.3,  0.01,  2e6,  0,   10, 1,  0},
    {"cards each turned",            0.05, 0.03, 0.001, 2e6,  0.3, 10, 1,  0},
    {"pyramid of 10 cm",             0.05, 0.05, 0.05,  2e6,  0,   10, 10, 1},
    {"pyramid of 10 cm as of stone", 0.05, 0.05, 0.05,  1e9,  0,   10, 10, 1},
    {"pyramid of 1 m",               0.5,  0.5,  0.5,   2e6,  0,   10, 10, 1},
    {"pyramid of 1 m as of stone",   0.5,  0.5,  0.5,   1e11, 0,   10, 10, 1},
};

/* The fastest corner in the last 5 s, m/s; below 0 if a step failed */
static double rest(const pile* p, double tolerance)
{
    icf_scene s;
    icf_body b[64];
    icf_scene_def def = icf_default_scene_def();
    icf_collider_def d = icf_default_collider_def();
    const double size = sqrt(p->half_x * p->half_x + p->half_y * p->half_y + p->half_z * p->half_z);
    double fastest = 0;
    int i, k, n = 0, steps = 3600, wide = p->wide;
    memset(&s, 0, sizeof s);
    def.world.tolerance = R(tolerance);
    if (icf_scene_create(&s, &def) != ICF_RESULT_OK) return -1;
    d.material.stiffness = R(p->stiffness);
    d.shape = icf_half_space();
    icf_scene_add_def(&s, &d, 0, icf_transform_identity(), NULL, NULL);
    d.shape = icf_box(R(p->half_x), R(p->half_y), R(p->half_z));
    for (k = 0; k < p->rows; k++, wide -= p->fewer) {
        for (i = 0; i < wide; i++) {
            icf_transform at = icf_transform_identity();
            at.p = icf_vec3_make(R(p->half_x * (2.1 * i - 1.05 * (wide - 1))), 0,
                                 R(p->half_z * (1 + 2 * k)));
            at.q = icf_quat_from_rotation_vector(icf_vec3_make(0, 0, R(p->turned * sin(3.0 * k))));
            icf_scene_add_def(&s, &d, 1000, at, &b[n++], NULL);
        }
    }
    for (k = 0; k < steps; k++) {
        if (icf_scene_step(&s, R(1.0 / 60)) != ICF_RESULT_OK) {
            fastest = -1;
            break;
        }
        for (i = 0; i < n && k >= steps - 300; i++) {
            icf_body_state st;
            icf_body_get_state(&s.world, b[i], &st);
            fastest = fmax(fastest, (double)icf_vec3_length(st.velocity) +
                                        size * (double)icf_vec3_length(st.angular_velocity));
        }
    }
    icf_scene_destroy(&s);
    return fastest;
}

int RUN(bench_options* o, const char* precision, double tolerance);
int RUN(bench_options* o, const char* precision, double tolerance)
{
    int i, count = (int)(sizeof piles / sizeof piles[0]), failed = 0;
    for (i = 0; i < count; i++) {
        char name[96];
        double v;
        snprintf(name, sizeof name, "%s %s", piles[i].name, precision);
        if (!bench_selected(o, name)) continue;
        v = rest(&piles[i], tolerance);
        failed |= v < 0;
        bench_figure(v, "m/s", "rest %s", name);
    }
    return failed;
}
