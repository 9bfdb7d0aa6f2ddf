/* 04_arm.c - an arm of two links lifts a weight, and gives way when that is too heavy

   Shows: the world of icf.h with joints. Two bodies hang on the ground and on each other by revolute
   joints whose motors aim at an angle with a stiffness, a damping, and an effort that is all they
   can do. The weight hangs at the hand by a rope, a constraint, and stands on the ground until it is
   lifted: a touch.

   Build: cc examples/04_arm.c -lm
   Its last line: 5 kg: lifted by 0.82 m; 50 kg: lifted by 0.00 m */

#define ICF_IMPLEMENTATION
#include "../icf.h"

#include <stdio.h>
#include <stdlib.h>

static const icf_real length = 1, dt = ICF_R(0.004);

static void must(icf_world* w, icf_result result)
{
    if (result >= 0) return;
    printf("%s: %s\n", icf_result_string(result), w->reason ? w->reason : "");
    exit(1);
}

/* A rod along x from the end of its parent, or from a stand of 1 m, with a motor at that end */
static icf_body add_link(icf_world* w, icf_body parent, int number, icf_real effort,
                         icf_joint* joint)
{
    icf_body_def rod = icf_default_body_def();
    icf_joint_def motor = icf_default_joint_def(ICF_JOINT_REVOLUTE);
    icf_vec3 base = icf_vec3_make((icf_real)number * length, 0, 1);
    icf_body link;
    rod.mass = 2;
    rod.pose.p = base; /* the body's axes are at its joint */
    rod.center = icf_vec3_make(length / 2, 0, 0);
    rod.inertia.x.x = ICF_R(0.001);
    rod.inertia.y.y = rod.inertia.z.z = rod.mass * length * length / 12;
    must(w, icf_body_create(w, &rod, &link));

    motor.parent = parent;
    motor.child = link;
    motor.motor_stiffness = 2000;
    motor.motor_damping = 100;
    motor.effort = effort;
    motor.lower[0] = -2;
    motor.upper[0] = 2;
    /* about -y, so that up is positive */
    must(w, icf_world_frames(w, parent, link, base, icf_vec3_make(0, -1, 0), &motor.parent_frame,
                             &motor.child_frame));
    must(w, icf_joint_create(w, &motor, joint));
    return link;
}

/* How far the arm lifts a weight in 4 s */
static icf_real lift(icf_real mass)
{
    const icf_real goal[2] = {ICF_R(0.5), 0};
    icf_world_def def = icf_default_world_def();
    icf_body_def box = icf_default_body_def();
    icf_constraint_def rope = icf_default_constraint_def(ICF_CONSTRAINT_DISTANCE);
    icf_world w = {0};
    icf_body none = {0, 0}, upper, lower, weight;
    icf_joint joint[2];
    icf_constraint tie;
    icf_body_state state;
    int i;
    must(&w, icf_world_create(&w, &def));
    upper = add_link(&w, none, 0, 200, &joint[0]);
    lower = add_link(&w, upper, 1, 100, &joint[1]);
    box.mass = mass;
    box.pose.p = icf_vec3_make(2 * length, 0, ICF_R(0.5));
    must(&w, icf_body_create(&w, &box, &weight));
    rope.a = lower;
    rope.b = weight;
    rope.a_frame.p.x = length; /* the hand, in the axes of the lower arm */
    rope.upper = ICF_R(0.5);
    must(&w, icf_constraint_create(&w, &rope, &tie));
    for (i = 0; i < 1000; i++) {
        icf_touch touch = icf_default_touch();
        icf_surface surface = icf_world_default_surface(&w);
        /* the motors are asked for a little more each step, and get there in a second */
        icf_real share = i < 250 ? (icf_real)i / 250 : 1, target = share * goal[0];
        must(&w, icf_joint_set_target(&w, joint[0], &target, NULL, NULL));
        must(&w, icf_body_get_state(&w, weight, &state));
        touch.b = weight;
        touch.id = 1;
        touch.point = icf_vec3_make(state.center.x, state.center.y, 0);
        touch.contact.distance = state.center.z - ICF_R(0.5);
        must(&w, icf_world_add_touch(&w, &touch, &surface));
        must(&w, icf_world_step(&w, dt));
        if (i % 250 == 249) {
            icf_joint_state shoulder;
            must(&w, icf_joint_get_state(&w, joint[0], &shoulder));
            printf("%5.1f kg, %.0f s: weight at %.3f m, shoulder at %.3f rad with %6.1f N m\n",
                   mass, icf_world_time(&w), state.center.z, shoulder.position[0],
                   shoulder.motor[0]);
        }
    }
    must(&w, icf_body_get_state(&w, weight, &state));
    icf_world_destroy(&w);
    return state.center.z - ICF_R(0.5);
}

int main(void)
{
    icf_real light = lift(5), heavy = lift(50);
    printf("5 kg: lifted by %.2f m; 50 kg: lifted by %.2f m\n", light, heavy < 0 ? -heavy : heavy);
    return 0;
}
