/* 05_clutter.c - forty balls and boxes fall into a box of walls

   Shows: the scene of icf_geometry.h. Shapes are put on bodies, icf_scene_step finds where they touch and
   moves them. This is the clutter of the ICF paper, in the thirty lines of make_scene and main. Given the
   name of a file, it writes a page there that plays what happened.

   Build: cc examples/05_clutter.c -lm    Run: ./a.out clutter.html
   Its last line: 40 of 40 bodies are in the box, quiet, and none overlaps by a millimetre */

#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"
#include "replay.h"

#include <stdio.h>

enum { COUNT = 40 };

static icf_transform at(icf_real x, icf_real y, icf_real z)
{
    return icf_transform_make(icf_quat_identity(), icf_vec3_make(x, y, z));
}

static icf_result make_scene(icf_scene* scene, icf_body* body)
{
    const icf_real wall = ICF_R(0.5), thin = ICF_R(0.1), r = ICF_R(0.1);
    icf_scene_def def = icf_default_scene_def();
    icf_result result = icf_scene_create(scene, &def);
    int i;
    /* a density of 0 is what does not move: the ground, and four walls */
    icf_scene_add(scene, icf_half_space(), 0, at(0, 0, 0), NULL);
    icf_scene_add(scene, icf_box(thin, 1, 2), 0, at(wall + thin, 0, 2), NULL);
    icf_scene_add(scene, icf_box(thin, 1, 2), 0, at(-wall - thin, 0, 2), NULL);
    icf_scene_add(scene, icf_box(1, thin, 2), 0, at(0, wall + thin, 2), NULL);
    icf_scene_add(scene, icf_box(1, thin, 2), 0, at(0, -wall - thin, 2), NULL);
    for (i = 0; i < COUNT && result == ICF_RESULT_OK; i++) {
        icf_real aside = ICF_R(0.05) * (icf_real)(i * 7 % 5 - 2); /* so that they do not stack up */
        icf_real x = aside + (i & 1 ? ICF_R(0.22) : ICF_R(-0.22));
        icf_real y = (i & 2 ? ICF_R(0.22) : ICF_R(-0.22)) - aside;
        int layer = i / 4;
        icf_transform pose = at(x, y, ICF_R(0.2) + ICF_R(0.3) * (icf_real)layer);
        icf_shape shape = i % 3 ? icf_box(r, r, r) : icf_sphere(r);
        result = icf_scene_add(scene, shape, 1000, pose, &body[i]);
    }
    return result;
}

int main(int argc, char** argv)
{
    icf_scene scene = {0};
    icf_body body[COUNT];
    icf_body_state state;
    icf_diagnosis d;
    icf_result result = make_scene(&scene, body);
    replay page;
    int i, step, inside = 0;
    replay_begin(&page, "forty balls and boxes", ICF_R(1.0) / 60);
    for (i = 0; i < icf_scene_collider_count(&scene);
         i++) { /* all but the walls, which would hide it */
        icf_collider_def c;
        if (i >= 1 && i <= 4) continue;
        icf_collider_get_def(&scene, icf_scene_collider_at(&scene, i), &c);
        replay_shape(&page, c.body, &c.shape, i ? REPLAY_COLOR : 0xc8ccd0);
    }
    replay_frame(&page, &scene.world);
    for (step = 1; step <= 600 && result >= 0; step++) {
        result = icf_scene_step(&scene, ICF_R(1.0) / 60);
        replay_frame(&page, &scene.world);
        if (step % 60) continue;
        icf_world_diagnose(&scene.world, &d);
        printf("%2d s: %3d touches, %8.2f J kinetic, overlap %.1f mm\n", step / 60,
               (int)icf_world_touch_count(&scene.world), (double)d.kinetic,
               1000 * (double)d.penetration);
    }
    if (result < 0) {
        printf("refused: %s\n", scene.reason ? scene.reason : icf_result_string(result));
        return 1;
    }
    icf_world_diagnose(&scene.world, &d);
    for (i = 0; i < COUNT; i++) {
        icf_body_get_state(&scene.world, body[i], &state);
        inside += ICF_FABS(state.center.x) < ICF_R(0.5) && ICF_FABS(state.center.y) < ICF_R(0.5) &&
                  state.center.z > 0 && state.center.z < 4;
    }
    icf_scene_destroy(&scene);
    if (argc > 1 && !replay_write(&page, argv[1])) printf("%s: %s\n", argv[1], page.error);
    replay_free(&page);
    printf("%d of %d bodies are in the box, %s, and %s\n", inside, COUNT,
           d.kinetic < 1 ? "quiet" : "not quiet",
           d.penetration < ICF_R(0.001) ? "none overlaps by a millimetre" : "some overlap");
    if (argc > 1) printf("to see it, open %s\n", argv[1]);
    return 0;
}
