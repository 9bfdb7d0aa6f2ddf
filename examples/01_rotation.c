/* 01_rotation.c - a spinning plate, followed for ten seconds

   Shows: vectors, quaternions and transforms of icf.h. A plate turns about a tilted axis and drifts.
   icf_quat_integrate is exact for a constant velocity, so a coarse time step and a fine one end at the
   same place. icf_transform_apply takes a point of the plate to the world, _apply_inverse takes it back.

   Build: cc examples/01_rotation.c -lm
   Its last line: the corner came back to 0.500 0.300 0.000 m in the plate's frame */

#define ICF_IMPLEMENTATION
#include "../icf.h"

#include <stdio.h>

/* The pose after 10 s, in `steps` equal steps. */
static icf_transform follow(int steps)
{
    icf_transform pose = icf_transform_identity();
    icf_vec3 spin = icf_vec3_make(1, 2, 2);  /* rad/s, in the world frame */
    icf_vec3 drift = icf_vec3_make(0, 0, 1); /* m/s */
    icf_real dt = (icf_real)10 / (icf_real)steps;
    int i;
    for (i = 0; i < steps; i++) {
        pose.q = icf_quat_integrate(pose.q, spin, dt);
        pose.p = icf_vec3_add_scaled(pose.p, dt, drift);
    }
    return pose;
}

int main(void)
{
    icf_vec3 corner = icf_vec3_make(ICF_R(0.5), ICF_R(0.3), 0); /* m, in the plate's frame */
    int steps;
    for (steps = 1; steps <= 1000; steps *= 10) {
        icf_vec3 p = icf_transform_apply(follow(steps), corner);
        printf("%4d steps: the corner is at %.3f %.3f %.3f m\n", steps, (double)p.x, (double)p.y,
               (double)p.z);
    }

    icf_transform pose = follow(7);
    icf_vec3 back = icf_transform_apply_inverse(pose, icf_transform_apply(pose, corner));
    printf("the corner came back to %.3f %.3f %.3f m in the plate's frame\n", (double)back.x,
           (double)back.y, (double)back.z);
    return 0;
}
