/* check_replay.c - bodies of all shapes fall on a ramp and into a heap; recorded with examples/replay.h

   Usage: check_replay FILE [bodies [seconds [every]]]
   Prints what tests/check_replay.mjs compares the page with. */

#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"
#include "../examples/replay.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST 512 /* things with a shape */

typedef struct thing {
    icf_body body;
    int32_t fixed;
    icf_shape shape[2]; /* the second, if its radius is above 0, makes it a compound */
    icf_real size;
} thing;

static thing things[MOST];
static uint32_t axes[MOST][MOST][4];
static int32_t count;

static uint32_t seed = 1;
static icf_real chance(icf_real low, icf_real high)
{
    seed = seed * 1664525u + 1013904223u;
    return low + (high - low) * (icf_real)(seed >> 8) / (icf_real)(1 << 24);
}

static void must(const icf_world* w, icf_result result)
{
    if (result >= 0) return;
    printf("%s: %s\n", icf_result_string(result), w->reason ? w->reason : "");
    exit(1);
}

static thing* add(icf_world* w, icf_shape shape, icf_real size, icf_transform pose, int fixed)
{
    thing* t = &things[count++];
    icf_mass_properties m;
    icf_body_def def = icf_default_body_def();
    t->shape[0] = shape;
    t->size = size;
    t->fixed = fixed;
    if (shape.kind == (int32_t)ICF_SHAPE_HALF_SPACE) return t; /* the ground */
    def.pose = pose;
    if (fixed) {
        def.kind = ICF_BODY_STATIC;
    } else {
        icf_shape_mass(&shape, 500, &m);
        def.mass = m.mass;
        def.center = m.center;
        def.inertia = m.inertia;
        def.angular_velocity = icf_vec3_make(chance(-2, 2), chance(-2, 2), chance(-2, 2));
    }
    must(w, icf_body_create(w, &def, &t->body));
    return t;
}

static void touch(icf_world* w, int32_t i, int32_t k, const icf_transform* pose)
{
    int32_t a, b, n;
    icf_vec3 gap = icf_vec3_sub(pose[k].p, pose[i].p);
    icf_real reach = things[i].size + things[k].size;
    if (things[i].fixed && things[k].fixed) return;
    if (i > 0 && icf_vec3_length(gap) > reach + ICF_R(0.02)) return;
    for (a = 0; a < 2; a++) {
        for (b = 0; b < 2; b++) {
            icf_manifold m;
            if (a && !(things[i].shape[1].radius > 0)) continue;
            if (b && !(things[k].shape[1].radius > 0)) continue;
            icf_manifold_make(&things[i].shape[a], &pose[i], &things[k].shape[b], &pose[k],
                              ICF_R(0.01), 4, axes[i][k][2 * a + b], &m);
            axes[i][k][2 * a + b] = m.axis;
            for (n = 0; n < m.count; n++) {
                icf_touch t = icf_default_touch();
                icf_surface surface = icf_world_default_surface(w);
                t.a = things[i].body;
                t.b = things[k].body;
                t.id = (uint64_t)m.point[n].feature | (uint64_t)(2 * a + b) << 32;
                t.point = m.point[n].position;
                t.contact.normal = m.normal;
                t.contact.distance = m.point[n].distance;
                surface.stiffness = ICF_R(2e5);
                surface.friction = ICF_R(0.4);
                must(w, icf_world_add_touch(w, &t, &surface));
            }
        }
    }
}

int main(int argc, char** argv)
{
    const icf_real dt = (icf_real)(1.0 / 60);
    int32_t bodies = argc > 2 ? atoi(argv[2]) : 36, i, k, n = 0, steps, step;
    double seconds = argc > 3 ? atof(argv[3]) : 4;
    static icf_transform pose[MOST];
    icf_body_state state;
    icf_world_def def = icf_default_world_def();
    icf_world w;
    icf_touch_result result;
    replay r;
    int32_t slips = 0, sticks = 0;
    memset(&w, 0, sizeof w);
    if (argc < 2 || bodies < 1 || bodies > MOST - 8) return 2;
    must(&w, icf_world_create(&w, &def));

    replay_begin(&r, "A heap <of> \"boxes\", balls & capsules", dt);
    if (argc > 4) r.every = atoi(argv[4]);
    add(&w, icf_half_space(), 0, icf_transform_identity(), 1);
    add(&w, icf_box(ICF_R(1.2), ICF_R(0.9), ICF_R(0.06)), ICF_R(1.6),
        icf_transform_make(icf_quat_make(0, ICF_R(0.2079), 0, ICF_R(0.9781)),
                           icf_vec3_make(ICF_R(-1.9), 0, ICF_R(0.75))),
        1);
    for (i = 0; i < bodies; i++) {
        icf_quat q = icf_quat_normalize(
            icf_quat_make(chance(-1, 1), chance(-1, 1), chance(-1, 1), chance(-1, 1)));
        icf_real x = i % 3 ? chance(-1, 1) : chance(ICF_R(-2.3), ICF_R(-1.7));
        icf_transform at =
            icf_transform_make(q, icf_vec3_make(x, chance(ICF_R(-0.8), ICF_R(0.8)),
                                                ICF_R(1.4) + ICF_R(0.13) * (icf_real)i));
        icf_real s = chance(ICF_R(0.1), ICF_R(0.2));
        switch (i % 4) {
        case 0: add(&w, icf_box(s, ICF_R(0.8) * s, ICF_R(0.6) * s), ICF_R(1.5) * s, at, 0); break;
        case 1: add(&w, icf_sphere(s), s, at, 0); break;
        case 2: add(&w, icf_capsule(ICF_R(0.6) * s, s), ICF_R(1.6) * s, at, 0); break;
        default: { /* a dumb-bell: two balls */
            icf_transform end = icf_transform_identity();
            thing* t;
            end.p.x = s;
            t = add(&w, icf_sphere(ICF_R(0.7) * s), 2 * s, at, 0);
            t->shape[1] = icf_shape_at(icf_sphere(ICF_R(0.9) * s), end);
            break;
        }
        }
    }
    for (i = 0; i < count; i++) {
        replay_shape(&r, things[i].body, &things[i].shape[0], i == 1 ? 0xb8bcc4u : REPLAY_COLOR);
        if (things[i].shape[1].radius > 0)
            replay_shape(&r, things[i].body, &things[i].shape[1], REPLAY_COLOR);
    }

    replay_frame(&r, &w);
    steps = (int32_t)(seconds * 60 + 0.5);
    for (step = 0; step < steps; step++) {
        for (i = 0; i < count; i++) {
            pose[i] = icf_transform_identity();
            if (things[i].body.generation == 0) continue;
            must(&w, icf_body_get_state(&w, things[i].body, &state));
            pose[i] = state.pose;
        }
        for (i = 0; i < count; i++)
            for (k = i + 1; k < count; k++) touch(&w, i, k, pose);
        must(&w, icf_world_step(&w, dt));
        replay_frame(&r, &w);
    }
    for (i = 0; i < icf_world_touch_count(&w); i++) {
        must(&w, icf_world_get_touch(&w, i, &result));
        n += result.contact.mode != (int32_t)ICF_MODE_OPEN;
        slips += result.contact.mode == (int32_t)ICF_MODE_SLIP;
        sticks += result.contact.mode == (int32_t)ICF_MODE_STICK;
    }
    must(&w, icf_body_get_state(&w, things[2].body, &state));
    if (!replay_write(&r, argv[1])) {
        printf("%s: %s\n", argv[1], r.error);
        return 1;
    }
    printf("frames %d\n", (int)r.frames);
    printf("bytes %lu\n", (unsigned long)r.bytes);
    printf("contacts %d\n", (int)n);
    printf("sticks %d\n", (int)sticks);
    printf("slips %d\n", (int)slips);
    printf("z %.6f\n", (double)state.pose.p.z);
    replay_free(&r);
    icf_world_destroy(&w);
    return 0;
}
