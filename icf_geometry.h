/* icf_geometry.h - 0.1.0 - the second file of icf: shapes, queries, the scene

   Optional: icf.h is complete without it. It finds where shapes touch: distances and depths of spheres,
   capsules, boxes and half-spaces, points of contact, rays, masses, and which of many shapes are near each
   other. All of these are plain functions of values, usable without a world. The scene puts shapes on the
   bodies of an icf_world, finds in each step where they touch, and moves them.
   Licence: public domain or MIT, whichever you prefer; the text is at the end of icf.h.

   DO THIS

       #define ICF_IMPLEMENTATION
       #include "icf_geometry.h"

   in exactly one C or C++ file, before any other include of icf.h or this file: it emits the code of both.
   If another file implements icf.h, define ICF_GEOMETRY_IMPLEMENTATION instead.

   A complete program; build it with  cc main.c -lm :

       #define ICF_IMPLEMENTATION
       #include "icf_geometry.h"
       #include <stdio.h>

       int main(void)
       {
           icf_scene_def def = icf_default_scene_def();
           icf_transform pose = icf_transform_identity();
           icf_body_state state;
           icf_scene scene = {0};
           icf_body box;
           int i;

           icf_scene_create(&scene, &def);
           icf_scene_add(&scene, icf_half_space(), 0, pose, NULL); // the ground, z = 0: it has no density
           pose.p.z = 2;
           icf_scene_add(&scene, icf_box((icf_real)0.5, (icf_real)0.5, (icf_real)0.5), 1000, pose, &box);
           for (i = 0; i < 120; i++) {
               if (icf_scene_step(&scene, (icf_real)(1.0 / 60)) < 0) return 1;
           }
           icf_body_get_state(&scene.world, box, &state);
           printf("a tonne on four corners sinks in by %.1f mm\n", 1000 * (0.5 - state.center.z));
           icf_scene_destroy(&scene);
           return 0;
       }

   CONTENTS                                     search for a mark to jump to its section

       the declarations
         >>api-shapes                           shapes, distances, masses, bounds, rays
         >>api-manifolds                        where two shapes touch
         >>api-broad-phase                      which of many boxes overlap
         >>api-scene                            shapes on the bodies of a world
       the implementation, one section a layer, each knowing only those above it and icf.h
         >>shapes                               layer 10: shapes and queries
         >>boxes                                two boxes, and two shapes of any kind
         >>measures                             bounds, masses, rays
         >>manifolds                            layer 11: contact patches of several points
         >>broad-phase                          layer 12: pairs, rays, overlaps
         >>scene                                layer 13: shapes on bodies
         >>detection                            the touches of a step
         >>scene-calls                          questions, saving, something to see


   OPTIONS

   All options of icf.h hold here too.

       ICF_GEOMETRY_IMPLEMENTATION   one file   emits the code of this file only

   WHICH FUNCTION

       icf_sphere, icf_capsule, icf_box, icf_half_space, icf_shape_at     make a shape; it is a value
       icf_shape_check           whether numbers from a user make one
       icf_shape_mass            mass, centre, inertia; icf_mass_properties_add for several shapes
       icf_shape_distance        signed distance, normal, nearest points of any two
       icf_shape_near            only whether they are within a margin
       icf_shape_point           the same for a shape and a point
       icf_shape_ray             where a ray enters
       icf_shape_bounds          box along the axes of the world
       icf_manifold_make         points of contact of two shapes, each with distance, area and a name
       icf_broad_phase_...       of many boxes those that overlap, kept up to date while they move
       icf_scene_...             all of it, on the bodies of a world

   STEP BY STEP: A SCENE

       icf_scene_create(&scene, &def);                          // or icf_scene_init, in memory of your own
       icf_scene_add(&scene, shape, density, pose, &body);      // a body and its shape; or, one by one,
       icf_body_create(&scene.world, &body_def, &body);         // bodies, joints, forces: all of icf.h
       icf_collider_create(&scene, &collider_def, &collider);   // as many shapes on a body as you like
       icf_scene_set_density(&scene, body, density);            // gives the body the mass of its shapes
       loop:
           icf_scene_step(&scene, dt);
           icf_scene_events(&scene, &count);                    // which shapes began or ended to touch
           icf_scene_ray(...); icf_scene_debug_lines(...);
       icf_scene_destroy(&scene);

   A ramp is a box with pose.q = icf_quat_from_rotation_vector(icf_vec3_make(0, angle, 0)).

   A dumbbell, a body of several shapes, and a sensor; all of these are colliders:

       icf_body_def body_def = icf_default_body_def();
       icf_collider_def def = icf_default_collider_def();
       icf_transform on_body = icf_transform_identity();       // from the shape to its body
       body_def.pose.p.z = 1;
       icf_body_create(&scene.world, &body_def, &body);
       def.body = body;                                        // none: the ground
       def.shape = icf_capsule(0.05, 0.3);
       icf_collider_create(&scene, &def, &collider);
       for (on_body.p.z = -0.5; on_body.p.z < 1; on_body.p.z += 1) {
           def.shape = icf_shape_at(icf_sphere(0.2), on_body);
           icf_collider_create(&scene, &def, &collider);
       }
       icf_scene_set_density(&scene, body, 1000);              // else its mass is that of body_def
       gate = icf_default_collider_def();
       gate.shape = icf_shape_at(icf_box(1, 1, 1), pose);
       gate.sensor = 1;                                        // who enters is among the events
       icf_collider_create(&scene, &gate, &collider);

   To save a scene, and to go on from there in this scene or in another one, which grows if icf_scene_create
   made it:

       bytes = icf_scene_save_bytes(&scene);
       icf_scene_save(&scene, memory, bytes);
       icf_scene_load(&other, memory, bytes);

   examples/replay.h writes a page that plays a run in a browser; its first lines show how.

   To change contacts before they act, replace icf_scene_step by icf_scene_detect, edit what
   icf_world_touches gives, and call icf_scene_solve with the same dt. A weight of 0 takes a touch out.
   Touches of like materials share a surface: for another one, call icf_world_add_surface and put its number
   into contact.surface. Either body may be A: the velocity of a surface is that of B less that of A.
   icf_world_dump_step(&scene.world, dt, ...) between the two writes the problem of the step (icf.h,
   "Reporting a defect").

   Destroying a body drops the results of the last step, touches and diagnosis, but not the events: first
   collect what is to go, then destroy it. The array of icf_scene_events lasts until the next call that
   changes the scene.

   Without a scene:

       icf_broad_phase_def def = icf_default_broad_phase_def();   // capacities
       icf_broad_phase_init(memory, icf_broad_phase_bytes(&def), &def, &b);
       icf_broad_phase_add(b, i, &bounds, body + 1);              // i: a number of your choice

       each step: icf_broad_phase_move(b, i, &bounds) for all that move, icf_broad_phase_update(b), and for
       each of the b->pairs pairs icf_manifold_make(...); each point of a manifold is an icf_contact.

   WHAT TO SET

   Stiffness. The materials give each point of contact its stiffness, by default 1e6 N/m. A box on its face
   has four points. Where faces meet in more than four, these share the stiffness of four by their areas, so
   that nothing trembles where a corner becomes two. A stack of a ton sinks in by millimetres; heavier or
   finer things want another stiffness in their material. Things that bounce want a small dissipation and a
   stiffness of about their mass times (0.1 / dt)^2: a blow must take several steps.

   Rest. What friction holds comes to rest and stays, also on slopes and in grippers; without `anchors` of the
   world's def it creeps. Float cannot tell the position of a body 10 m from the origin to
   better than 1e-6 m: stacks of 1 m there move at 2e-5 m/s, though they stay where they are.

   Thin things at high speed. The scene keeps shapes from passing through each other along straight lines. A
   shape that turns far in a step can get through something thinner than itself: of cards of 10 cm thrown at
   60 Hz at a table 1 mm to 2 cm thick, one in 500 does at 1 m/s, one in 160 at 2 m/s, one in 28 at 5 m/s.
   At 240 Hz none does at 2 m/s, and less than one in a hundred at 5 and at 10 m/s. A floor thicker than the
   cards are long holds them. A box that comes in fast gets touches on its far side as well, at most twice
   as many.

   TOPICS

   Signs. The normal of two shapes points from A to B; a distance below 0 is a depth.

   Exactness. Every answer is the true one but for rounding, which grows with the sizes and with how far
   apart the two shapes are: in overlap and apart, from a millimetre to a kilometre, for sizes up to 10000
   to 1. If two answers are equally good, as for concentric spheres, the function always gives the same one.
   The order of A and B never matters.

   Memory. Only icf_scene_create allocates, and a scene that it made when it grows. The only callback of this
   file is icf_scene.combine. A broad phase is one block of your memory, without pointers.
*/

#ifndef ICF_GEOMETRY_H
#define ICF_GEOMETRY_H

#include "icf.h"

/* In float every function has another name, as in icf.h. */
#ifdef ICF_FLOAT
#define icf_box icf_box_float
#define icf_broad_phase_add icf_broad_phase_add_float
#define icf_broad_phase_bytes icf_broad_phase_bytes_float
#define icf_broad_phase_copy icf_broad_phase_copy_float
#define icf_broad_phase_get_box icf_broad_phase_get_box_float
#define icf_broad_phase_init icf_broad_phase_init_float
#define icf_broad_phase_move icf_broad_phase_move_float
#define icf_broad_phase_overlaps icf_broad_phase_overlaps_float
#define icf_broad_phase_pairs icf_broad_phase_pairs_float
#define icf_broad_phase_ray_begin icf_broad_phase_ray_begin_float
#define icf_broad_phase_ray_next icf_broad_phase_ray_next_float
#define icf_broad_phase_remove icf_broad_phase_remove_float
#define icf_broad_phase_update icf_broad_phase_update_float
#define icf_capsule icf_capsule_float
#define icf_collider_create icf_collider_create_float
#define icf_collider_destroy icf_collider_destroy_float
#define icf_collider_get_def icf_collider_get_def_float
#define icf_collider_is_valid icf_collider_is_valid_float
#define icf_collider_set_def icf_collider_set_def_float
#define icf_default_broad_phase_def icf_default_broad_phase_def_float
#define icf_default_collider_def icf_default_collider_def_float
#define icf_default_scene_def icf_default_scene_def_float
#define icf_half_space icf_half_space_float
#define icf_manifold_make icf_manifold_make_float
#define icf_mass_properties_add icf_mass_properties_add_float
#define icf_scene_add icf_scene_add_float
#define icf_scene_add_def icf_scene_add_def_float
#define icf_scene_body_colliders icf_scene_body_colliders_float
#define icf_scene_bytes icf_scene_bytes_float
#define icf_scene_collider_at icf_scene_collider_at_float
#define icf_scene_collider_count icf_scene_collider_count_float
#define icf_scene_create icf_scene_create_float
#define icf_scene_debug_lines icf_scene_debug_lines_float
#define icf_scene_destroy icf_scene_destroy_float
#define icf_scene_detect icf_scene_detect_float
#define icf_scene_events icf_scene_events_float
#define icf_scene_hash icf_scene_hash_float
#define icf_scene_init icf_scene_init_float
#define icf_scene_load icf_scene_load_float
#define icf_scene_overlaps icf_scene_overlaps_float
#define icf_scene_ray icf_scene_ray_float
#define icf_scene_save icf_scene_save_float
#define icf_scene_save_bytes icf_scene_save_bytes_float
#define icf_scene_set_density icf_scene_set_density_float
#define icf_scene_solve icf_scene_solve_float
#define icf_scene_step icf_scene_step_float
#define icf_scene_touch_colliders icf_scene_touch_colliders_float
#define icf_scene_update icf_scene_update_float
#define icf_shape_at icf_shape_at_float
#define icf_shape_bounds icf_shape_bounds_float
#define icf_shape_check icf_shape_check_float
#define icf_shape_distance icf_shape_distance_float
#define icf_shape_mass icf_shape_mass_float
#define icf_shape_near icf_shape_near_float
#define icf_shape_point icf_shape_point_float
#define icf_shape_ray icf_shape_ray_float
#define icf_sphere icf_sphere_float
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------------------
// Shapes, and what may be asked about one or two of them
// >>api-shapes

/* Each kind is a core, swollen by a radius: a sphere's core is a point, a capsule's a segment. */
typedef enum icf_shape_kind {
    ICF_SHAPE_SPHERE,
    ICF_SHAPE_CAPSULE,    /* along z of its own frame */
    ICF_SHAPE_BOX,        /* along the axes of its own frame */
    ICF_SHAPE_HALF_SPACE, /* all points with z <= 0 of its own frame; its surface has the normal z */
    ICF_SHAPE_KIND_COUNT
} icf_shape_kind;

/* A value, which you may copy, compare and store. From one of the makers below. */
typedef struct icf_shape {
    int32_t kind;       /* icf_shape_kind */
    int32_t data;       /* 0; for future kinds with data elsewhere */
    icf_real radius;    /* of a sphere or capsule, m */
    icf_vec3 half;      /* box: half its sizes; capsule: z is half the length of its core, m */
    icf_transform pose; /* from the frame of the shape to that of its body */
} icf_shape;

/* At the origin of the body. A capsule's core goes from -half_length to half_length on the z axis: the
   capsule is 2 (half_length + radius) long. */
ICF_API icf_shape icf_sphere(icf_real radius);
ICF_API icf_shape icf_capsule(icf_real radius, icf_real half_length);
ICF_API icf_shape icf_box(icf_real half_x, icf_real half_y, icf_real half_z);
ICF_API icf_shape icf_half_space(void);

/* The same shape at another place on its body. */
ICF_API icf_shape icf_shape_at(icf_shape shape, icf_transform pose);

/* Checks a shape: BAD_ARGUMENT (no such kind; a size that is not above 0, though a capsule's half_length
   may be 0; a quaternion whose length is not 1 within 1e-3), NOT_FINITE. All other functions expect shapes
   that pass, and unit quaternions in poses; they do not check again. */
ICF_API icf_result icf_shape_check(const icf_shape* shape);

/* Lower and upper corner. */
typedef struct icf_aabb {
    icf_vec3 lower, upper;
} icf_aabb;

/* The box along the world's axes around a shape and a margin, m. No point of the shape is outside, whatever
   the rounding. The box of a half-space reaches to ICF_REAL_MAX, except above a surface that is exactly
   level along an axis. */
ICF_API void icf_shape_bounds(const icf_shape* shape, const icf_transform* body, icf_real margin,
                              icf_aabb* out);

typedef struct icf_mass_properties {
    icf_real mass;    /* kg */
    icf_vec3 center;  /* of mass, in the frame of the body */
    icf_mat3 inertia; /* about the centre of mass, along the axes of the body, kg m^2 */
} icf_mass_properties;

/* Of a solid of uniform density, kg/m^3; exact but for rounding. BAD_ARGUMENT: a half-space, or a density
   below 0. */
ICF_API icf_result icf_shape_mass(const icf_shape* shape, icf_real density,
                                  icf_mass_properties* out);

/* Of two solids together. To add up the shapes of a body, begin with a zeroed one. */
ICF_API icf_mass_properties icf_mass_properties_add(icf_mass_properties a, icf_mass_properties b);

/* How two shapes lie to each other. The normal of every result is a unit vector in the world that points
   from A to B: moving B along it takes them apart, as in icf_contact. */
typedef struct icf_separation {
    /* between the surfaces, m. Below 0 if they overlap: the shortest way to move B out, along the normal */
    icf_real distance;
    icf_vec3 normal;
    icf_vec3 point_a, point_b; /* on the surfaces, where the distance is:
                                  point_b = point_a + distance normal */
} icf_separation;

/* The true distance or depth: the least over all directions, not over the faces alone. It is continuous
   where shapes come to touch and begin to overlap, and the normal is as exact there as elsewhere. If
   several answers are equally near, it gives one of them. The other order of the two shapes gives the same
   bits, points swapped and normal reversed. BAD_ARGUMENT: two half-spaces, which have no depth; out is then
   zeroed. */
ICF_API icf_result icf_shape_distance(const icf_shape* a, const icf_transform* body_a,
                                      const icf_shape* b, const icf_transform* body_b,
                                      icf_separation* out);

/* 1 if the distance is at most `margin`, which is >= 0; else 0. Cheaper than the distance. */
ICF_API int icf_shape_near(const icf_shape* a, const icf_transform* body_a, const icf_shape* b,
                           const icf_transform* body_b, icf_real margin);

/* From a shape, A, to a point, B; below 0 inside. */
ICF_API void icf_shape_point(const icf_shape* shape, const icf_transform* body, icf_vec3 point,
                             icf_separation* out);

/* Where a ray enters a shape. */
typedef struct icf_ray_hit {
    icf_real t;      /* at origin + t direction */
    icf_vec3 normal; /* of the surface, outward, unit */
} icf_ray_hit;

/* 1 if the ray origin + t direction, 0 <= t <= t_most, meets the shape, else 0. The direction has any
   length but 0. A ray that begins inside hits at 0, with a normal against its direction. Only a hit writes
   *out. */
ICF_API int icf_shape_ray(const icf_shape* shape, const icf_transform* body, icf_vec3 origin,
                          icf_vec3 direction, icf_real t_most, icf_ray_hit* out);

// ------------------------------------------------------------------------------------------------
// Where two shapes touch, or are about to
// >>api-manifolds

#define ICF_MANIFOLD_POINTS 8 /* the most that two shapes have */

typedef struct icf_manifold_point {
    icf_vec3 position; /* in the world, halfway between the two surfaces */
    icf_real distance; /* phi, along the normal; below 0 where they overlap */
    /* this point's share of the area where faces overlap, seen along the normal, m^2. 0 for points and
       lines of contact */
    icf_real area;
    /* names the features of A and B; never 0. The same corners and edges have the same name in the next
       step, so that you can follow a point */
    uint32_t feature;
} icf_manifold_point;

/* Where two shapes are near each other. */
typedef struct icf_manifold {
    int32_t count;     /* of points; 0 if the distance is above the margin */
    uint32_t axis;     /* the features that the normal is from; give it to the next step. 0: none */
    icf_vec3 normal;   /* from A to B, shared by all points */
    icf_real distance; /* of the shapes, as from icf_shape_distance; ICF_REAL_MAX without points */
    icf_manifold_point point[ICF_MANIFOLD_POINTS];
} icf_manifold;

/* Points of contact of two shapes, at most `most`, 1 to ICF_MANIFOLD_POINTS. There are points if the
   distance of the shapes is at most `margin`, >= 0; so is that of each point.

   previous_axis is the axis of the step before, or 0. It stays while it is as good as the best one to
   within 1 / 8192 of the smallest half size, so that nothing flickers between equals; otherwise the true
   minimum decides. Faces are not preferred: a face rests on a face because all points of both faces are
   there, whichever features the normal is from.

   The other order of the two shapes gives the same points, with the normal reversed and both halves of
   `feature` swapped.

   If there are more points than `most`, the deepest stays, and those that span the most area. BAD_ARGUMENT:
   two half-spaces, or a `most` or margin out of range; out is then empty. */
ICF_API icf_result icf_manifold_make(const icf_shape* a, const icf_transform* body_a,
                                     const icf_shape* b, const icf_transform* body_b,
                                     icf_real margin, int32_t most, uint32_t previous_axis,
                                     icf_manifold* out);

// ------------------------------------------------------------------------------------------------
// Which of many boxes overlap
// >>api-broad-phase

/* Two proxies, a < b, whose boxes overlap. */
typedef struct icf_pair {
    int32_t a, b;
} icf_pair;

typedef struct icf_broad_phase_def {
    int32_t proxies_most; /* proxies have numbers below this; default 1024 */
    int32_t pairs_most;   /* default 4096 */
    icf_real margin;      /* boxes are larger by this on every side, m; default 0 */
    icf_real fraction;    /* and by this fraction of their longest side; default 0.05 */
    int32_t cookie;       /* private */
} icf_broad_phase_def;

/* Stands at the start of one block of memory and holds offsets into it, no pointers: you may copy, save and
   move the block as bytes. The fields before `private` may be read. */
typedef struct icf_broad_phase {
    int32_t proxies_most, pairs_most;
    int32_t proxies; /* how many there are */
    int32_t pairs;   /* as of the last icf_broad_phase_update */
    int32_t changed; /* proxies since then added, or moved out of their larger box */
    /* after an update that answered TOO_SMALL: how many pairs there are; else as `pairs` */
    int64_t pairs_needed;
    int32_t sorts, rebuilds; /* how often updates sorted all proxies; found all pairs anew */

    /* private */
    int32_t cookie, current, slots, free_slot, strays, levels;
    int64_t drift, waste;
    int32_t level_at[12], level_count[12];
    icf_real margin, fraction;
    size_t bytes, at_box, at_slot, at_id, at_group, at_flag, at_moved, at_pack, at_list[2];
    size_t at_count, at_key[2], at_order[2];
} icf_broad_phase;

ICF_API icf_broad_phase_def icf_default_broad_phase_def(void);

/* How many bytes icf_broad_phase_init needs, exactly; 0 for a def that is refused. */
ICF_API size_t icf_broad_phase_bytes(const icf_broad_phase_def* def);

/* Starts an empty broad phase in memory aligned to 8 bytes; *out is its start. Errors: BAD_DEF,
   BAD_ARGUMENT, TOO_SMALL, MISALIGNED, OVERFLOW. */
ICF_API icf_result icf_broad_phase_init(void* memory, size_t bytes, const icf_broad_phase_def* def,
                                        icf_broad_phase** out);

/* Copies everything into another block, which was initialised with other capacities, and may have been in
   use. Errors: BAD_ARGUMENT, TOO_SMALL (a proxy's number is too high, or there are too many pairs). */
ICF_API icf_result icf_broad_phase_copy(const icf_broad_phase* from, icf_broad_phase* to);

/* Adds a proxy under a number of your choice. Proxies of one group are never a pair: give one to the shapes
   of a body, or to all that does not move. Group 0 is none. Errors: BAD_ARGUMENT (out of range, in use,
   lower above upper), NOT_FINITE. */
ICF_API icf_result icf_broad_phase_add(icf_broad_phase* b, int32_t proxy, const icf_aabb* box,
                                       int32_t group);
ICF_API icf_result icf_broad_phase_remove(icf_broad_phase* b, int32_t proxy);

/* Moves a proxy to a new box. Errors: BAD_ARGUMENT, NOT_FINITE. */
ICF_API icf_result icf_broad_phase_move(icf_broad_phase* b, int32_t proxy, const icf_aabb* box);

/* The larger box that stands for a proxy. BAD_ARGUMENT: there is no such proxy. */
ICF_API icf_result icf_broad_phase_get_box(const icf_broad_phase* b, int32_t proxy, icf_aabb* out);

/* Brings the list of pairs up to date: all proxies whose larger boxes overlap or touch, sorted by a, then
   b. The list depends on these boxes alone. If no proxy has left its larger box there is nothing to do.
   TOO_SMALL: there are more than pairs_most, b->pairs_needed says how many; the list is as before, and the
   next call tries again. */
ICF_API icf_result icf_broad_phase_update(icf_broad_phase* b);

/* The b->pairs pairs of the last update. They may contain proxies removed since. */
ICF_API const icf_pair* icf_broad_phase_pairs(const icf_broad_phase* b);

/* Writes the proxies whose larger boxes overlap or touch this one, in ascending order, at most `most`, and
   returns how many there are, which may be more. */
ICF_API int32_t icf_broad_phase_overlaps(const icf_broad_phase* b, const icf_aabb* box,
                                         int32_t* proxies, int32_t most);

/* A walk along a ray. Private, except t_most, which you may lower between calls. */
typedef struct icf_broad_phase_ray {
    icf_real t_most;
    icf_vec3 origin, direction;
    int32_t height;
    int32_t stack[96];
    icf_real enter[96];
} icf_broad_phase_ray;

/* Gives, one a call, the proxies whose larger boxes the ray meets at 0 <= t <= t_most, roughly the near
   ones first. Returns 0 at the end. To find the nearest hit, lower t_most to each hit:

       icf_broad_phase_ray_begin(&ray, b, origin, direction, t_most);
       while (icf_broad_phase_ray_next(&ray, b, &proxy))
           if (icf_shape_ray(..., ray.t_most, &hit)) ray.t_most = hit.t;

   b must not change meanwhile. */
ICF_API void icf_broad_phase_ray_begin(icf_broad_phase_ray* ray, const icf_broad_phase* b,
                                       icf_vec3 origin, icf_vec3 direction, icf_real t_most);
ICF_API int icf_broad_phase_ray_next(icf_broad_phase_ray* ray, const icf_broad_phase* b,
                                     int32_t* proxy);

#ifndef ICF_NO_WORLD
// ------------------------------------------------------------------------------------------------
// The scene: shapes on the bodies of a world
// >>api-scene

/* A shape on a body. All zero is none. */
typedef struct icf_collider {
    uint32_t index, generation;
} icf_collider;

/* A world and the shapes on its bodies. Zeroed, or made by icf_scene_init or icf_scene_create. icf_body_,
   icf_joint_, icf_constraint_ and icf_world_ functions take &scene.world. But step, save, load and hash
   with the functions of the scene: icf_world_step does not see the shapes. */
typedef struct icf_scene {
    icf_world world;
    /* combines two materials; NULL: icf_material_combine */
    icf_material (*combine)(void* user, const icf_material* a, const icf_material* b);
    void* user;
    /* of the last refused call of the scene: a few words, or NULL, and how much room would do */
    const char* reason;
    size_t needed;
    /* private */
    int32_t owner;
    void* memory;
    size_t bytes;
} icf_scene;

/* From icf_default_scene_def() */
typedef struct icf_scene_def {
    icf_world_def world;
    /* room for so many; scenes of icf_scene_create grow by themselves. Default 64 */
    int32_t colliders;
    int32_t pairs; /* of colliders near each other; default 256 */
    /* of a pair, 1 to 8, twice as many for a fast box on something that stands still; default 8. 4 are
       enough for most, and cost less. */
    int32_t points;
    /* Shapes have points of contact if they are apart by less than this fraction of their size, plus the
       distance that they can close in a step; default 0.02. */
    icf_real margin;
    int32_t cookie; /* private */
} icf_scene_def;

/* From icf_default_collider_def() */
typedef struct icf_collider_def {
    icf_shape shape; /* its pose is on the body */
    icf_body body;   /* none: the ground, and the pose is in the world */
    icf_material material;
    icf_vec3 surface_velocity; /* of a belt, in the axes of the body, m/s */
    /* Two colliders meet if each one's category is in the other's mask. Those of the same group other than
       0 always meet if it is above 0, and never if it is below. Bodies that a joint connects directly never
       meet; a child of the ground does meet the ground */
    uint32_t category, mask; /* defaults 1, all */
    int32_t group;           /* default 0 */
    /* 1: notices, and does not push. As in all pairs, one of the two must be on a dynamic body: a sensor on
       the ground or on a kinematic body does not notice kinematic and static bodies */
    int32_t sensor;
    uint64_t user;
    int32_t cookie; /* private */
} icf_collider_def;

/* Two colliders that began to touch in the last step, ended, or go on. To touch is to have a normal force,
   or with a sensor an overlap. */
typedef struct icf_scene_event {
    int32_t kind; /* icf_event_kind */
    int32_t sensor;
    icf_collider a, b;
    icf_body body_a, body_b;
    /* along the normal, all points together, in this step, N s. A blow may take several steps: add up BEGUN
       and the PERSISTS after it */
    icf_real impulse;
} icf_scene_event;

typedef struct icf_scene_hit {
    icf_collider collider;
    icf_body body;
    icf_real t; /* at origin + t direction */
    icf_vec3 point, normal;
} icf_scene_hit;

/* A line to draw. The colour is 0xrrggbb. */
typedef struct icf_line {
    icf_vec3 a, b;
    uint32_t color;
} icf_line;

typedef enum icf_draw {
    ICF_DRAW_SHAPES = 1,
    /* a short line along each normal: green sticks, orange slips, grey is apart */
    ICF_DRAW_TOUCHES = 2,
    /* the force on B of each touch of the last step, 1 m for the weight of `scale` kg */
    ICF_DRAW_FORCES = 4,
    ICF_DRAW_JOINTS = 8 /* from each jointed body to its parent */
} icf_draw;

ICF_API icf_scene_def icf_default_scene_def(void);
ICF_API icf_collider_def icf_default_collider_def(void);

/* How many bytes a scene of that def takes, its world included; 0 if def is refused or that is too much. */
ICF_API size_t icf_scene_bytes(const icf_scene_def* def);
ICF_API icf_result icf_scene_init(icf_scene* scene, void* memory, size_t bytes,
                                  const icf_scene_def* def);
#ifndef ICF_NO_MALLOC
ICF_API icf_result icf_scene_create(icf_scene* scene, const icf_scene_def* def);
ICF_API void icf_scene_destroy(icf_scene* scene);
#endif

/* As icf_world_save and so on, with the shapes. Pending ENDED events of colliders that were destroyed since
   the last step are not saved. */
ICF_API size_t icf_scene_save_bytes(const icf_scene* scene);
ICF_API icf_result icf_scene_save(const icf_scene* scene, void* bytes, size_t capacity);
ICF_API icf_result icf_scene_load(icf_scene* scene, const void* bytes, size_t count);
ICF_API uint64_t icf_scene_hash(const icf_scene* scene);

/* One call for most bodies: makes a body at a pose, with one collider of the default material and the mass
   of a density in kg/m^3. Density 0 makes a static body. body may be NULL. */
ICF_API icf_result icf_scene_add(icf_scene* scene, icf_shape shape, icf_real density,
                                 icf_transform pose, icf_body* body);

/* The same with a def of the collider, whose body is not read. body and collider may be NULL. */
ICF_API icf_result icf_scene_add_def(icf_scene* scene, const icf_collider_def* def,
                                     icf_real density, icf_transform pose, icf_body* body,
                                     icf_collider* collider);

/* Colliders. A body may have any number; together they are its shape. They do not change its mass:
   icf_scene_set_density does. It adds up the colliders of the body except sensors, and counts overlaps
   twice. The next step removes the colliders of a destroyed body. A destroyed collider ends its touches:
   the events of the next step say so, with its old name. */
ICF_API icf_result icf_collider_create(icf_scene* scene, const icf_collider_def* def,
                                       icf_collider* collider);
ICF_API icf_result icf_collider_destroy(icf_scene* scene, icf_collider collider);
ICF_API int icf_collider_is_valid(const icf_scene* scene, icf_collider collider);
ICF_API icf_result icf_collider_get_def(const icf_scene* scene, icf_collider collider,
                                        icf_collider_def* def);
/* Changes everything but the body. */
ICF_API icf_result icf_collider_set_def(icf_scene* scene, icf_collider collider,
                                        const icf_collider_def* def);
ICF_API icf_result icf_scene_set_density(icf_scene* scene, icf_body body, icf_real density);

/* Writes the first `most` colliders of a body, or with none those of the ground, in the order of their
   slots, and returns how many there are. */
ICF_API int32_t icf_scene_body_colliders(const icf_scene* scene, icf_body body,
                                         icf_collider* colliders, int32_t most);

/* All colliders are in slots 0 to the count, not included; an empty slot holds none. */
ICF_API int32_t icf_scene_collider_count(const icf_scene* scene);
ICF_API icf_collider icf_scene_collider_at(const icf_scene* scene, int32_t slot);

/* A step: finds touches, moves the world, and makes events. If it is refused it leaves everything as it
   was. Results are those of icf_world_step. */
ICF_API icf_result icf_scene_step(icf_scene* scene, icf_real dt);

/* The two halves of a step. icf_scene_detect first drops all touches of the world. Between the two you may
   change touches in place (icf_world_touches) and add more. dt must be the same: it says how far bodies may
   get. If the solve was refused in its second look, call icf_scene_detect again (BAD_STATE until then). */
ICF_API icf_result icf_scene_detect(icf_scene* scene, icf_real dt);
ICF_API icf_result icf_scene_solve(icf_scene* scene, icf_real dt);

/* The colliders of a touch of icf_scene_detect; none for other touches. */
ICF_API icf_result icf_scene_touch_colliders(const icf_scene* scene, int32_t touch, icf_collider* a,
                                             icf_collider* b);

/* Of the last step */
ICF_API const icf_scene_event* icf_scene_events(const icf_scene* scene, int32_t* count);

/* icf_scene_ray finds the nearest collider that a ray meets at 0 <= t <= t_most, with a category in the
   mask and not a sensor; 0 if there is none. icf_scene_overlaps finds the colliders whose bounds overlap a
   box, in the order of their slots. Both see bodies where the last step left them. Call icf_scene_update if
   you have since moved or destroyed bodies, added colliders, or loaded the scene. */
ICF_API int icf_scene_ray(const icf_scene* scene, icf_vec3 origin, icf_vec3 direction,
                          icf_real t_most, uint32_t mask, icf_scene_hit* hit);
ICF_API int32_t icf_scene_overlaps(const icf_scene* scene, const icf_aabb* box,
                                   icf_collider* colliders, int32_t most);
ICF_API icf_result icf_scene_update(icf_scene* scene);

/* Writes the first `most` of the lines that show the scene, for any renderer, and returns how many there
   are. `what` is a sum of icf_draw. */
ICF_API int32_t icf_scene_debug_lines(const icf_scene* scene, uint32_t what, icf_real scale,
                                      icf_line* lines, int32_t most);
#endif /* ICF_NO_WORLD */

#ifdef __cplusplus
}
#endif

/* End of the declarations. Stop here if you only want to use the library. */
#endif /* ICF_GEOMETRY_H */

#if (defined(ICF_IMPLEMENTATION) || defined(ICF_GEOMETRY_IMPLEMENTATION)) && \
    !defined(ICF_GEOMETRY_IMPLEMENTATION_DONE)
#define ICF_GEOMETRY_IMPLEMENTATION_DONE

// ------------------------------------------------------------------------------------------------
// Layer 10: shapes and queries
// >>shapes
/* Offers to those below: icfi_gabs2, icfi_gacross, icfi_gadd2, icfi_galong2, icfi_gaxis_z, icfi_gboth,
   icfi_gcenter, icfi_gclamp, ICFI_GCOPY, icfi_gdiv2, ICFI_GEPS, ICFI_GFILL, icfi_gfinite3, icfi_gfrom,
   icfi_gfrom3, icfi_gleast2, icfi_glocate, icfi_gmost2, icfi_gmul2, icfi_gnarrow, icfi_gnegative2,
   ICFI_GNOINLINE, icfi_gnot_less2, icfi_gone_of, icfi_gpart, icfi_gplace, icfi_gplaced, icfi_gpoint_box,
   icfi_gput, icfi_gsegment_box_distance, icfi_gsegment_box_near, icfi_gsegments, icfi_gsegments_nearest,
   icfi_gset, icfi_gsides2, icfi_gsign, icfi_gsquare_to, icfi_gsub2, icfi_gto, icfi_gto3, icfi_gtwo,
   icfi_gtwo_at, icfi_gtwo_of, icfi_gtwo_put, icfi_gunit, icfi_gunit_axis, ICFI_GUNROLL */

/* From the bottom up: points, segments and boxes against each other (the cores), each in the frame of one
   of them; in >>boxes two boxes, and then shapes, which are cores swollen by a radius; in >>measures
   bounds, masses and rays.

   Tolerances are multiples of ICFI_GEPS times the sizes at hand: rounding leaves that much open. */
#ifdef ICF_FLOAT
#define ICFI_GEPS FLT_EPSILON
#else
#define ICFI_GEPS DBL_EPSILON
#endif

/* Tells a compiler to keep a call, to copy and fill memory in place, and which way a test mostly goes. */
#if defined(__GNUC__) || defined(__clang__)
#define ICFI_GNOINLINE __attribute__((noinline))
#define ICFI_GCOPY __builtin_memcpy
#define ICFI_GFILL __builtin_memset
#define ICFI_GLIKELY(x) __builtin_expect((x) != 0, 1)
#else
#include <string.h>
#define ICFI_GNOINLINE
#define ICFI_GCOPY memcpy
#define ICFI_GFILL memset
#define ICFI_GLIKELY(x) (x)
#endif

/* Before a loop of a few steps, which the compiler then writes out: gcc by itself does so from -O3 on only */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 8
#define ICFI_GUNROLL _Pragma("GCC unroll 8")
#else
#define ICFI_GUNROLL
#endif

#if !defined(ICF_MALLOC) && !defined(ICF_NO_MALLOC) /* where icf.h is implemented elsewhere */
#include <stdlib.h>
#define ICF_MALLOC(bytes) malloc(bytes)
#define ICF_FREE(pointer) free(pointer)
#endif

#ifdef __cplusplus
extern "C" {
#endif

ICFI_EXACT_BEGIN

/* One component of a vector, by number */
static inline icf_real icfi_gpart(icf_vec3 v, int k)
{
    return k == 0 ? v.x : k == 1 ? v.y : v.z;
}

static inline void icfi_gset(icf_vec3* v, int k, icf_real x)
{
    if (k == 0) {
        v->x = x;
    } else if (k == 1) {
        v->y = x;
    } else {
        v->z = x;
    }
}

/* The unit vector along axis k */
static inline icf_vec3 icfi_gunit_axis(int k)
{
    return icf_vec3_make((icf_real)(k == 0), (icf_real)(k == 1), (icf_real)(k == 2));
}

/* From an array, and into one */
static inline icf_vec3 icfi_gfrom3(const icf_real v[3])
{
    return icf_vec3_make(v[0], v[1], v[2]);
}

static inline void icfi_gto3(icf_vec3 v, icf_real out[3])
{
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}

/* -1 below 0, else 1; as a difference, which compilers leave without a branch */
static inline icf_real icfi_gsign(icf_real x)
{
    return (icf_real)((x >= 0) - (x < 0));
}

/* x, moved into -most .. most */
static inline icf_real icfi_gclamp(icf_real x, icf_real most)
{
    return icfi_min(icfi_max(x, -most), most);
}

static int icfi_gfinite3(icf_vec3 a)
{
    icf_real sum = a.x * 0 + a.y * 0 + a.z * 0;
    return sum == 0;
}

/* The length of *a, which becomes a unit vector, or stays 0. Lengths whose square would under- or
   overflow are scaled first. */
static inline icf_real icfi_gunit(icf_vec3* a)
{
    icf_real square = icf_vec3_dot(*a, *a), length, scale;
    if (ICFI_GLIKELY(square > ICF_R(1e-30) && square < ICF_R(1e30))) {
        length = ICF_SQRT(square);
        *a = icf_vec3_scale(1 / length, *a);
        return length;
    }
    scale = icfi_max(icfi_max(ICF_FABS(a->x), ICF_FABS(a->y)), ICF_FABS(a->z));
    if (!(scale > 0)) return 0;
    *a = icf_vec3_make(a->x / scale, a->y / scale, a->z / scale);
    length = ICF_SQRT(icf_vec3_dot(*a, *a));
    *a = icf_vec3_scale(1 / length, *a);
    return scale * length;
}

/* Some unit vector across a unit vector */
static icf_vec3 icfi_gacross(icf_vec3 a)
{
    icf_real x = ICF_FABS(a.x), y = ICF_FABS(a.y), z = ICF_FABS(a.z);
    icf_vec3 b = icf_vec3_cross(a, icfi_gunit_axis(x <= y && x <= z ? 0 : y <= z ? 1 : 2));
    icfi_gunit(&b);
    return b;
}

/* ---- two numbers at once: the same bits as one after the other. ICFI_GVECTOR takes its first argument where
   there are vector instructions, else the second. */
#if !defined(ICF_NO_SIMD) && !defined(ICF_FLOAT) && (defined(__GNUC__) || defined(__clang__)) && \
    defined(__SSE2__) && !defined(__TINYC__)
typedef double icfi_gtwo __attribute__((vector_size(16)));
#define ICFI_GVECTOR(vector, plain) (vector)
#else
typedef struct icfi_gtwo {
    icf_real x, y;
} icfi_gtwo;
#define ICFI_GVECTOR(vector, plain) (plain)
#endif

static inline icfi_gtwo icfi_gtwo_of(icf_real a, icf_real b)
{
    icfi_gtwo x = {a, b};
    return x;
}

static inline icfi_gtwo icfi_gtwo_at(const icf_real* from)
{
    icfi_gtwo x;
    ICFI_GCOPY(&x, from, sizeof x);
    return x;
}

static inline void icfi_gtwo_put(icf_real* to, icfi_gtwo x)
{
    ICFI_GCOPY(to, &x, sizeof x);
}

/* The first (k 0) or the second */
static inline icf_real icfi_gone_of(icfi_gtwo a, int k)
{
    return ICFI_GVECTOR(a[k], k ? a.y : a.x);
}

static inline icfi_gtwo icfi_gadd2(icfi_gtwo a, icfi_gtwo b)
{
    return ICFI_GVECTOR(a + b, icfi_gtwo_of(a.x + b.x, a.y + b.y));
}

static inline icfi_gtwo icfi_gsub2(icfi_gtwo a, icfi_gtwo b)
{
    return ICFI_GVECTOR(a - b, icfi_gtwo_of(a.x - b.x, a.y - b.y));
}

static inline icfi_gtwo icfi_gmul2(icfi_gtwo a, icfi_gtwo b)
{
    return ICFI_GVECTOR(a * b, icfi_gtwo_of(a.x * b.x, a.y * b.y));
}

static inline icfi_gtwo icfi_gdiv2(icfi_gtwo a, icfi_gtwo b)
{
    return ICFI_GVECTOR(a / b, icfi_gtwo_of(a.x / b.x, a.y / b.y));
}

static inline icfi_gtwo icfi_gmost2(icfi_gtwo a, icfi_gtwo b)
{
    return ICFI_GVECTOR(__builtin_ia32_maxpd(a, b),
                        icfi_gtwo_of(icfi_max(a.x, b.x), icfi_max(a.y, b.y)));
}

static inline icfi_gtwo icfi_gleast2(icfi_gtwo a, icfi_gtwo b)
{
    return ICFI_GVECTOR(__builtin_ia32_minpd(a, b),
                        icfi_gtwo_of(icfi_min(a.x, b.x), icfi_min(a.y, b.y)));
}

/* Bit 0: the first is negative; bit 1: the second. None may be -0. */
static inline unsigned icfi_gnegative2(icfi_gtwo a)
{
    return ICFI_GVECTOR((unsigned)__builtin_ia32_movmskpd(a),
                        (unsigned)(a.x < 0) | (unsigned)(a.y < 0) << 1);
}

/* Bit 0: a >= b in the first; bit 1: in the second */
static inline unsigned icfi_gnot_less2(icfi_gtwo a, icfi_gtwo b)
{
    return ICFI_GVECTOR(3u ^ icfi_gnegative2(a - b), (unsigned)(a.x >= b.x) | (unsigned)(a.y >= b.y)
                                                                                  << 1);
}

static inline icfi_gtwo icfi_gboth(icf_real a)
{
    return icfi_gtwo_of(a, a);
}

/* a and -a */
static inline icfi_gtwo icfi_gsides2(icf_real a)
{
    return icfi_gtwo_of(a, -a);
}

static inline icfi_gtwo icfi_gabs2(icfi_gtwo a)
{
    return icfi_gmost2(a, icfi_gsub2(icfi_gboth(0), a));
}

/* a + b c */
static inline icfi_gtwo icfi_galong2(icfi_gtwo a, icfi_gtwo b, icfi_gtwo c)
{
    return icfi_gadd2(a, icfi_gmul2(b, c));
}

/* ---- where a shape is: its centre and axes in the world */

typedef struct icfi_gplace {
    icf_vec3 p, axis[3];
} icfi_gplace;

/* A shape on its body. `place` is NULL where nobody has found it yet. */
typedef struct icfi_gplaced {
    const icf_shape* shape;
    const icf_transform* body;
    const icfi_gplace* place;
} icfi_gplaced;

static inline icfi_gplaced icfi_gput(const icf_shape* shape, const icf_transform* body)
{
    icfi_gplaced s;
    s.shape = shape;
    s.body = body;
    s.place = NULL;
    return s;
}

/* Most shapes are at the origin of their body, where there is nothing to multiply. */
static inline icf_quat icfi_grotation(const icfi_gplaced* s)
{
    const icf_quat q = s->shape->pose.q;
    return q.w == 1 ? s->body->q : icf_quat_mul(s->body->q, q);
}

static inline icf_vec3 icfi_gcenter(const icfi_gplaced* s)
{
    const icf_vec3 p = s->shape->pose.p;
    if (s->place) return s->place->p;
    return p.x == 0 && p.y == 0 && p.z == 0 ? s->body->p : icf_transform_apply(*s->body, p);
}

/* The axis z alone */
static inline icf_vec3 icfi_gaxis_z(const icfi_gplaced* s)
{
    icf_quat q;
    if (s->place) return s->place->axis[2];
    q = icfi_grotation(s);
    return icf_vec3_make(2 * (q.x * q.z + q.w * q.y), 2 * (q.y * q.z - q.w * q.x),
                         1 - 2 * (q.x * q.x + q.y * q.y));
}

/* All of the place; in `room` if nobody has found it yet */
static inline const icfi_gplace* icfi_glocate(const icfi_gplaced* s, icfi_gplace* room)
{
    icf_mat3 m;
    if (s->place) return s->place;
    m = icf_mat3_from_quat(icfi_grotation(s));
    room->p = icfi_gcenter(s);
    room->axis[0] = m.x;
    room->axis[1] = m.y;
    room->axis[2] = m.z;
    return room;
}

static inline icf_vec3 icfi_gto(const icfi_gplace* f, icf_vec3 v)
{
    return icf_vec3_make(icf_vec3_dot(f->axis[0], v), icf_vec3_dot(f->axis[1], v),
                         icf_vec3_dot(f->axis[2], v));
}

static inline icf_vec3 icfi_gfrom(const icfi_gplace* f, icf_vec3 v)
{
    const icf_vec3 x = f->axis[0], y = f->axis[1], z = f->axis[2];
    return icf_vec3_make(x.x * v.x + y.x * v.y + z.x * v.z, x.y * v.x + y.y * v.y + z.y * v.z,
                         x.z * v.x + y.z * v.y + z.z * v.z);
}

/* ---- makers and checks */

static icf_shape icfi_gshape(int32_t kind)
{
    icf_shape s;
    ICFI_GFILL(&s, 0, sizeof s);
    s.kind = kind;
    s.pose = icf_transform_identity();
    return s;
}

ICF_API icf_shape icf_sphere(icf_real radius)
{
    icf_shape s = icfi_gshape(ICF_SHAPE_SPHERE);
    s.radius = radius;
    return s;
}

ICF_API icf_shape icf_capsule(icf_real radius, icf_real half_length)
{
    icf_shape s = icfi_gshape(ICF_SHAPE_CAPSULE);
    s.radius = radius;
    s.half.z = half_length;
    return s;
}

ICF_API icf_shape icf_box(icf_real half_x, icf_real half_y, icf_real half_z)
{
    icf_shape s = icfi_gshape(ICF_SHAPE_BOX);
    s.half = icf_vec3_make(half_x, half_y, half_z);
    return s;
}

ICF_API icf_shape icf_half_space(void)
{
    return icfi_gshape(ICF_SHAPE_HALF_SPACE);
}

ICF_API icf_shape icf_shape_at(icf_shape shape, icf_transform pose)
{
    shape.pose = pose;
    return shape;
}

ICF_API icf_result icf_shape_check(const icf_shape* s)
{
    icf_quat q;
    icf_real length;
    int good;
    if (!s) return ICF_RESULT_BAD_ARGUMENT;
    q = s->pose.q;
    length = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    if (!icfi_gfinite3(s->half) || !icfi_gfinite3(s->pose.p) || !(s->radius * 0 == 0) ||
        !(length * 0 == 0)) {
        return ICF_RESULT_NOT_FINITE;
    }
    switch (s->kind) {
    case ICF_SHAPE_SPHERE: good = s->radius > 0; break;
    case ICF_SHAPE_CAPSULE: good = s->radius > 0 && s->half.z >= 0; break;
    case ICF_SHAPE_BOX: good = s->half.x > 0 && s->half.y > 0 && s->half.z > 0; break;
    default: good = s->kind == ICF_SHAPE_HALF_SPACE;
    }
    good = good && ICF_FABS(length - 1) < ICF_R(2e-3);
    return good ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT;
}

/* ---- two segments, of unit directions u and v and half lengths; w: from the centre of A to that of B */

typedef struct icfi_gsegments {
    icf_real s, t;   /* where on each the nearest points are, from its centre */
    icf_real d;      /* their distance */
    icf_real cosine; /* of the directions */
    icf_vec3 n;      /* unit, from A to B */
} icfi_gsegments;

/* e without its part along the unit vector u */
static inline icf_vec3 icfi_gsquare_to(icf_vec3 e, icf_vec3 u)
{
    return icf_vec3_add_scaled(e, -icf_vec3_dot(e, u), u);
}

/* The normal between inner points of two segments is along c = u x v, whose length is sine. Answers 0 where
   they are so far apart, for that length, that `reach` rules out inner points. */
ICFI_INLINE int icfi_gsegments_across(icf_vec3 w, icf_vec3 u, icf_vec3 v, icf_vec3 c, icf_real sine,
                                      icf_real reach, icfi_gsegments* out)
{
    icf_vec3 e = icf_vec3_scale(icfi_gsign(icf_vec3_dot(c, w)) / sine, c);
    icf_real height;
    if (sine < ICF_R(0.25)) { // rounding of c is magnified
        e = icfi_gsquare_to(icfi_gsquare_to(e, u), v);
        icfi_gunit(&e);
    }
    height = icf_vec3_dot(e, w);
    if (sine < ICF_R(0.25) && !(ICF_FABS(height) < sine * reach)) return 0;
    out->n = height < 0 ? icf_vec3_neg(e) : e;
    out->d = ICF_FABS(height);
    return 1;
}

/* A normal where the two meet: across both, or across u if they are parallel */
ICFI_INLINE icf_vec3 icfi_gsegments_meeting(icf_vec3 w, icf_vec3 u, icf_vec3 v, icf_vec3 c,
                                            int crossing)
{
    icf_vec3 e = icfi_gacross(u);
    if (crossing) {
        e = icfi_gsquare_to(icfi_gsquare_to(c, u), v);
        icfi_gunit(&e);
    }
    return icf_vec3_scale(icfi_gsign(icf_vec3_dot(e, w)), e);
}

/* Nearest points of the lines, moved into the segments: s, then t for that s, then s for that t. The
   lines cross at s = det(w, v, c) / |c|^2 with c = u x v; the determinants lose nothing when the lines
   are nearly parallel, unlike the textbook's products. */
static ICFI_GNOINLINE void icfi_gsegments_nearest(icf_vec3 w, icf_vec3 u, icf_real half_u,
                                                  icf_vec3 v, icf_real half_v, icfi_gsegments* out)
{
    icf_vec3 c = icf_vec3_cross(u, v), e;
    icf_real cc = icf_vec3_dot(c, c), b = icf_vec3_dot(u, v), du = icf_vec3_dot(u, w),
             dv = icf_vec3_dot(v, w), s, t, free_s, free_t;
    int inside = 0, crossing = cc > 256 * ICFI_GEPS * ICFI_GEPS;

    if (ICFI_GLIKELY(crossing)) {
        free_s = icf_vec3_dot(icf_vec3_cross(w, v), c) / cc;
        s = icfi_gclamp(free_s, half_u);
        inside = s == free_s;
    } else {
        // parallel: the middle of what lies beside each other, or the end that is nearest
        icf_real reach = half_v * ICF_FABS(b), low = icfi_max(-half_u, du - reach),
                 high = icfi_min(half_u, du + reach);
        s = icfi_gclamp(ICF_R(0.5) * (low + high), half_u);
    }
    free_t = b * s - dv;
    t = icfi_gclamp(free_t, half_v);
    inside &= t == free_t;
    out->cosine = b;
    out->t = t;

    out->s = s;
    if (inside && icfi_gsegments_across(w, u, v, c, ICF_SQRT(cc), half_u + half_v, out)) return;

    // the normal is across a segment at its inner points; on a long segment an error would show
    if (t == free_t) {
        e = icfi_gsquare_to(icf_vec3_add_scaled(icf_vec3_add_scaled(w, t, v), -s, u), v);
        if (inside) e = icfi_gsquare_to(icfi_gsquare_to(e, u), v);
    } else {
        free_s = b * t + du;
        s = icfi_gclamp(free_s, half_u);
        e = icf_vec3_add_scaled(icf_vec3_add_scaled(w, t, v), -s, u);
        if (s == free_s) e = icfi_gsquare_to(e, u);
    }
    out->s = s;
    out->d = icfi_gunit(&e);
    out->n = out->d == 0 ? icfi_gsegments_meeting(w, u, v, c, crossing) : e;
}

/* ---- a point p and a box around the origin: the nearest point q of its surface and the normal there.
   Answers the signed distance. */
static inline icf_real icfi_gpoint_box(icf_vec3 p, icf_vec3 h, icf_vec3* q, icf_vec3* n)
{
    icf_real x = ICF_FABS(p.x) - h.x, y = ICF_FABS(p.y) - h.y, z = ICF_FABS(p.z) - h.z;
    *q = p;
    *n = icf_vec3_make(0, 0, 0);
    if (x > 0 || y > 0 || z > 0) {
        *q = icf_vec3_make(icfi_gclamp(p.x, h.x), icfi_gclamp(p.y, h.y), icfi_gclamp(p.z, h.z));
        *n = icf_vec3_sub(p, *q);
        return icfi_gunit(n);
    }
    if (x >= y && x >= z) {
        n->x = icfi_gsign(p.x);
        q->x = n->x * h.x;
        return x;
    }
    if (y >= z) {
        n->y = icfi_gsign(p.y);
        q->y = n->y * h.y;
        return y;
    }
    n->z = icfi_gsign(p.z);
    q->z = n->z * h.z;
    return z;
}

/* ---- a segment p + s u, |s| <= l, and a box around the origin */

typedef struct icfi_gsegment_box_near {
    icf_real d;    /* signed distance of the segment and the box */
    icf_real s;    /* where on the segment */
    icf_vec3 q, n; /* the point of the box; the normal there, outward */
} icfi_gsegment_box_near;

/* Half the slope of the squared distance at s: it only rises with s, and is linear between the
   six places where the segment passes through the plane of a face. */
static inline icf_real icfi_gsegment_slope(icf_vec3 p, icf_vec3 u, icf_vec3 h, icf_real s)
{
    icf_real x = p.x + s * u.x, y = p.y + s * u.y, z = p.z + s * u.z;
    return u.x * (x - icfi_gclamp(x, h.x)) + u.y * (y - icfi_gclamp(y, h.y)) +
           u.z * (z - icfi_gclamp(z, h.z));
}

/* Narrows low .. high, between which the slope changes sign, by one of those places. */
static inline void icfi_gsegment_narrow(icf_vec3 p, icf_vec3 u, icf_vec3 h, icf_real s,
                                        icf_real range[4])
{
    if (s > range[0] && s < range[1]) {
        icf_real slope = icfi_gsegment_slope(p, u, h, s);
        if (slope < 0) {
            range[0] = s;
            range[2] = slope;
        } else {
            range[1] = s;
            range[3] = slope;
        }
    }
}

/* The nearest place of a segment outside the box */
static icf_real icfi_gsegment_nearest(icf_vec3 p, icf_vec3 u, icf_real l, icf_vec3 h)
{
    icf_real range[4]; // low, high, the slopes there
    int k;
    range[0] = -l;
    range[1] = l;
    range[2] = icfi_gsegment_slope(p, u, h, -l);
    if (range[2] >= 0) return -l;
    range[3] = icfi_gsegment_slope(p, u, h, l);
    if (range[3] <= 0) return l;
    for (k = 0; k < 3; k++) {
        icf_real pk = icfi_gpart(p, k), hk = icfi_gpart(h, k), uk = icfi_gpart(u, k), r;
        if (uk == 0) continue;
        r = 1 / uk;
        icfi_gsegment_narrow(p, u, h, (hk - pk) * r, range);
        icfi_gsegment_narrow(p, u, h, (-hk - pk) * r, range);
    }
    return range[0] + (range[1] - range[0]) * (range[2] / (range[2] - range[3]));
}

/* Across u and axis k */
static inline icf_vec3 icfi_gacross_axis(int k, icf_vec3 u)
{
    return k == 0   ? icf_vec3_make(0, -u.z, u.y)
           : k == 1 ? icf_vec3_make(u.z, 0, -u.x)
                    : icf_vec3_make(-u.y, u.x, 0);
}

/* Narrows range, from and to, by where the coordinate o + s d is within -most .. most. Answers 0 if it never
   changes and is not. */
static inline int icfi_gnarrow(icf_real o, icf_real d, icf_real most, icf_real range[2])
{
    icf_real s, t;
    if (d == 0) return ICF_FABS(o) <= most;
    s = (-most - o) / d;
    t = (most - o) / d;
    range[0] = icfi_max(range[0], icfi_min(s, t));
    range[1] = icfi_min(range[1], icfi_max(s, t));
    return 1;
}

/* The depth of a segment that reaches into the box: the least over the faces and over the planes that
   hold an edge direction and u. Normals of these planes are made unit before anything is measured
   along them, so that nearly parallel ones are as exact as others. */
static ICFI_GNOINLINE void icfi_gsegment_depth(icf_vec3 p, icf_vec3 u, icf_real l, icf_vec3 h,
                                               icfi_gsegment_box_near* out)
{
    icf_real best = -ICF_REAL_MAX, s, range[2], slack = 16 * ICFI_GEPS * (h.x + h.y + h.z + l);
    icf_vec3 n;
    int axis = 0, edge = -1, k;

    for (k = 0; k < 3; k++) {
        s = ICF_FABS(icfi_gpart(p, k)) - icfi_gpart(h, k) - l * ICF_FABS(icfi_gpart(u, k));
        if (s > best) {
            best = s;
            axis = k;
        }
    }
    out->n = icf_vec3_make(0, 0, 0);
    icfi_gset(&out->n, axis, icfi_gsign(icfi_gpart(p, axis)));
    best += slack;
    for (k = 0; k < 3; k++) {
        n = icfi_gacross_axis(k, u);
        if (icf_vec3_dot(n, n) < 256 * ICFI_GEPS * ICFI_GEPS) continue;
        icfi_gunit(&n);
        s = ICF_FABS(icf_vec3_dot(p, n)) - h.x * ICF_FABS(n.x) - h.y * ICF_FABS(n.y) -
            h.z * ICF_FABS(n.z) - l * ICF_FABS(icf_vec3_dot(u, n));
        if (s > best) {
            best = s;
            edge = k;
            out->n = icf_vec3_dot(p, n) < 0 ? icf_vec3_neg(n) : n;
        }
    }
    if (edge < 0) {
        best -= slack;
        out->d = best;
        // its lowest place of those under the face; the middle of them if it lies flat in the box
        range[0] = -l;
        range[1] = l;
        for (k = 0; k < 3; k++) {
            if (k == axis) continue;
            (void)icfi_gnarrow(icfi_gpart(p, k), icfi_gpart(u, k), icfi_gpart(h, k), range);
        }
        s = icfi_gpart(u, axis) * icfi_gpart(out->n, axis);
        if (ICF_FABS(s) * l <= slack) {
            out->s = icfi_gclamp(ICF_R(0.5) * (range[0] + range[1]), l);
        } else {
            out->s = icfi_gclamp(range[s > 0 ? 0 : 1], l);
        }
    } else {
        // against the edge that is outermost along the normal
        icfi_gsegments near;
        icf_vec3 c = icf_vec3_make(out->n.x < 0 ? -h.x : h.x, out->n.y < 0 ? -h.y : h.y,
                                   out->n.z < 0 ? -h.z : h.z);
        icfi_gset(&c, edge, 0);
        icfi_gsegments_nearest(icf_vec3_sub(c, p), u, l, icfi_gunit_axis(edge), icfi_gpart(h, edge),
                               &near);
        out->d = best;
        out->s = near.s;
    }
    out->q = icf_vec3_add_scaled(icf_vec3_add_scaled(p, out->s, u), -out->d, out->n);
}

/* Makes the normal exact where an inner point x of the segment is nearest: it is across u, and if x is
   nearest an edge, across that edge too, unless u is nearly along it. On a long segment an error would show.
   Rounding of x may take it off the rim of a face; the slope of u against that face tells. */
static inline void icfi_gsegment_across(icf_vec3 x, icf_vec3 u, icf_vec3 h, icf_real l,
                                        icfi_gsegment_box_near* out)
{
    icf_vec3 n = out->n, c;
    const int in_x = n.x == 0, in_y = n.y == 0, in_z = n.z == 0;
    int edge = in_x ? 0 : in_y ? 1 : 2;
    if (in_x + in_y + in_z == 2) {
        const int i = in_x ? 0 : 1, j = in_z ? 2 : 1;
        if (ICF_FABS(icf_vec3_dot(n, u)) <= 16 * ICFI_GEPS) return;
        edge = ICF_FABS(icfi_gpart(h, i) - ICF_FABS(icfi_gpart(x, i))) <
                       ICF_FABS(icfi_gpart(h, j) - ICF_FABS(icfi_gpart(x, j)))
                   ? j
                   : i;
    }
    if (in_x + in_y + in_z > 0) {
        c = icfi_gacross_axis(edge, u);
        // of two rims as near as rounding can tell, the other one's normal is far from the face's
        if (icfi_gunit(&c) * l > out->d && ICF_FABS(icf_vec3_dot(c, n)) > ICF_R(0.5)) {
            out->n = icf_vec3_dot(c, n) < 0 ? icf_vec3_neg(c) : c;
            return;
        }
    }
    out->n = icfi_gsquare_to(n, u);
    icfi_gunit(&out->n);
}

static void icfi_gsegment_box_distance(icf_vec3 p, icf_vec3 u, icf_real l, icf_vec3 h,
                                       icfi_gsegment_box_near* out)
{
    icf_real s = icfi_gsegment_nearest(p, u, l, h);
    icf_vec3 x = icf_vec3_add_scaled(p, s, u);
    icf_real d = icfi_gpoint_box(x, h, &out->q, &out->n);
    if (d <= 16 * ICFI_GEPS * (h.x + h.y + h.z + l)) {
        icfi_gsegment_depth(p, u, l, h, out);
        return;
    }
    out->d = d;
    out->s = s;

    if (s > -l && s < l) icfi_gsegment_across(x, u, h, l, out);
}

// ------------------------------------------------------------------------------------------------
// Two boxes, and two shapes of any kind
// >>boxes
/* Offers to those below: icfi_gaxis, icfi_gboxes, icfi_gboxes_axis, icfi_gboxes_distance, icfi_gboxes_make,
   icfi_gboxes_patch, icfi_gboxes_witness, icfi_gnext, icfi_gon_b, icfi_gpatch, icfi_gsphere_any,
   icfi_pair_is_swapped */

/* The axis after axis i, without a branch: a processor cannot guess which axes take part. */
static inline int icfi_gnext(int i)
{
    return 1 << i & 3;
}

/* Everything is in the frame of A. With c[i][j] = (axis i of A) . (axis j of B), t the centre of B,
   a and b the half sizes, the gap along a unit vector n is

       |t . n| - sum_i a_i |n_i| - sum_j b_j |n . b_j|

   and the boxes overlap unless it is above 0 along one of 15 directions: the faces of either, and
   the planes that hold an edge of each. The largest of the 15 is the depth; where they are apart it is
   no more than a lower bound of the distance. Directions have numbers: 1 to 3 the faces of A, 4 to 6
   those of B, 7 + 3 i + j the edges i of A and j of B. */
typedef struct icfi_gboxes {
    icf_real c[3][3], t[3], a[3], b[3];
    // the sum of all half sizes and of |t|: rounding errors are in proportion to it
    icf_real size;
} icfi_gboxes;

typedef struct icfi_gaxis {
    int axis;      // its number
    icf_real s;    // gap
    icf_real n[3]; // from A to B
} icfi_gaxis;

static inline void icfi_gboxes_make(const icfi_gplace* fa, icf_vec3 a, const icfi_gplace* fb,
                                    icf_vec3 b, icfi_gboxes* x)
{
    icf_vec3 t = icfi_gto(fa, icf_vec3_sub(fb->p, fa->p));
    int i;
    for (i = 0; i < 3; i++) {
        icf_vec3 c = icfi_gto(fb, fa->axis[i]);
        x->c[i][0] = c.x; /* one by one, for cppcheck */
        x->c[i][1] = c.y;
        x->c[i][2] = c.z;
    }
    icfi_gto3(t, x->t);
    icfi_gto3(a, x->a);
    icfi_gto3(b, x->b);
    x->size = a.x + a.y + a.z + b.x + b.y + b.z + ICF_FABS(t.x) + ICF_FABS(t.y) + ICF_FABS(t.z);
}

/* The same, seen from B */
static void icfi_gboxes_swap(const icfi_gboxes* x, icfi_gboxes* y)
{
    int i, j;
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) y->c[j][i] = x->c[i][j];
        y->a[i] = x->b[i];
        y->b[i] = x->a[i];
        y->t[i] = -(x->c[0][i] * x->t[0] + x->c[1][i] * x->t[1] + x->c[2][i] * x->t[2]);
    }
    y->size = x->size;
}

/* n . b_j */
static inline icf_real icfi_gon_b(const icfi_gboxes* x, const icf_real n[3], int j)
{
    return n[0] * x->c[0][j] + n[1] * x->c[1][j] + n[2] * x->c[2][j];
}

/* The unit normal of edges i and j, from A to B, and the gap along it. Its error is no larger than for a
   face, however nearly parallel the edges are. Answers 0, and writes nothing, if they are parallel or the gap
   is not above `least`. */
static ICFI_GNOINLINE int icfi_gboxes_edge(const icfi_gboxes* x, int i, int j, icf_real least,
                                           icfi_gaxis* out)
{
    int i1 = icfi_gnext(i), i2 = icfi_gnext(i1);
    const icf_real *c1 = x->c[i1], *c2 = x->c[i2];
    icf_real p = -c2[j], q = c1[j], square = p * p + q * q, s, sign;
    if (square < 256 * ICFI_GEPS * ICFI_GEPS) return 0;
    s = 1 / ICF_SQRT(square);
    p *= s;
    q *= s;
    s = p * x->t[i1] + q * x->t[i2];
    sign = icfi_gsign(s);
    s = ICF_FABS(s) - (x->a[i1] * ICF_FABS(p) + x->a[i2] * ICF_FABS(q));
    s -= x->b[0] * ICF_FABS(p * c1[0] + q * c2[0]);
    s -= x->b[1] * ICF_FABS(p * c1[1] + q * c2[1]);
    s -= x->b[2] * ICF_FABS(p * c1[2] + q * c2[2]);
    if (!(s > least)) return 0;
    out->axis = 7 + 3 * i + j;
    out->s = s;
    out->n[i] = 0;
    out->n[i1] = sign * p;
    out->n[i2] = sign * q;
    return 1;
}

/* x |x|, which rises with x: compares quotients s / sqrt(q) without the root */
static inline icf_real icfi_gsigned_square(icf_real x)
{
    return x * ICF_FABS(x);
}

/* Whether the edges i and j may have a gap above `best`, of which `floor_square` is the signed square:
   the gap before it is divided by the length of the normal, with room for rounding */
ICFI_INLINE int icfi_gboxes_edge_may(const icfi_gboxes* x, const icf_real m[3][3], int i, int j,
                                     icf_real slack, icf_real floor_square)
{
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    icf_real s =
        ICF_FABS(x->t[i2] * x->c[i1][j] - x->t[i1] * x->c[i2][j]) -
        (x->a[i1] * m[i2][j] + x->a[i2] * m[i1][j] + x->b[j1] * m[i][j2] + x->b[j2] * m[i][j1]) +
        slack;
    icf_real square = m[i1][j] * m[i1][j] + m[i2][j] * m[i2][j];
    return icfi_gsigned_square(s) > floor_square * square;
}

/* The gaps along the faces of A (0 to 2) and of B; t: the centre of B in its own frame, m: |c| */
ICFI_INLINE void icfi_gboxes_faces(const icfi_gboxes* x, icf_real m[3][3], icf_real t[3],
                                   icf_real face[6])
{
    int i;
    for (i = 0; i < 3; i++) {
        m[i][0] = ICF_FABS(x->c[i][0]);
        m[i][1] = ICF_FABS(x->c[i][1]);
        m[i][2] = ICF_FABS(x->c[i][2]);
        face[i] =
            ICF_FABS(x->t[i]) - x->a[i] - x->b[0] * m[i][0] - x->b[1] * m[i][1] - x->b[2] * m[i][2];
    }
    for (i = 0; i < 3; i++) {
        t[i] = icfi_gon_b(x, x->t, i);
        face[3 + i] =
            ICF_FABS(t[i]) - x->b[i] - x->a[0] * m[0][i] - x->a[1] * m[1][i] - x->a[2] * m[2][i];
    }
}

/* The direction of the largest gap, or 0 as soon as a gap is above the limit. Of directions that are equal
   but for rounding it takes a face rather than edges, and A before B. It keeps direction `previous` while
   that is within `keep` of the best. */
static int icfi_gboxes_axis(const icfi_gboxes* x, icf_real limit, int previous, icf_real keep,
                            icfi_gaxis* out)
{
    icf_real m[3][3], slack = 8 * ICFI_GEPS * x->size, s, best, floor_square, t[3], face[6];
    int i, j, worse, which;
    icfi_gaxis edge;

    icfi_gboxes_faces(x, m, t, face);
    best = icfi_max(icfi_max(icfi_max(face[0], face[1]), icfi_max(face[2], face[3])),
                    icfi_max(face[4], face[5]));
    if (best > limit) return 0;

    // the first that is not worse than the best, and without a branch
    s = best - slack;
    which = worse = face[0] < s;
    which += worse &= face[1] < s;
    which += worse &= face[2] < s;
    which += worse &= face[3] < s;
    which += worse & (face[4] < s);
    out->axis = which + 1;
    out->s = face[which];

    // edges have to be better by more than rounding
    floor_square = icfi_gsigned_square(best + slack);
    ICFI_GUNROLL
    for (i = 0; i < 3; i++) {
        ICFI_GUNROLL
        for (j = 0; j < 3; j++) {
            if (!icfi_gboxes_edge_may(x, (const icf_real(*)[3])m, i, j, slack, floor_square) ||
                !icfi_gboxes_edge(x, i, j, best + slack, out)) {
                continue;
            }
            if (out->s > limit) return 0;
            best = out->s;
            floor_square = icfi_gsigned_square(best + slack);
        }
    }

    if (previous > 0 && previous != out->axis && previous <= 6) {
        if (face[previous - 1] >= out->s - keep) {
            out->axis = previous;
            out->s = face[previous - 1];
        }
    } else if (previous > 6 && previous != out->axis && previous <= 15) {
        i = (previous - 7) / 3;
        j = (previous - 7) % 3;
        if (icfi_gboxes_edge(x, i, j, -ICF_REAL_MAX, &edge) && edge.s >= out->s - keep) *out = edge;
    }
    if (out->axis <= 3) {
        i = out->axis - 1;
        out->n[0] = out->n[1] = out->n[2] = 0;
        out->n[i] = icfi_gsign(x->t[i]);
    } else if (out->axis <= 6) {
        j = out->axis - 4;
        s = icfi_gsign(t[j]);
        for (i = 0; i < 3; i++) out->n[i] = s * x->c[i][j];
    }
    return 1;
}

/* ---- two boxes that are apart: the nearest of 16 corners and the other box, and of the edges. Where
   inner points of two edges are nearest their plane is a direction of the largest gap, so few of the
   9 directions are left, each with the one edge of A and of B that is outermost along it. Where an edge
   is nearly parallel to a face, which one is outermost is left to rounding, and both are tried. */

typedef struct icfi_gnear {
    icf_real square; // of the distance
    icf_real p[3], q[3],
        n[3]; // points of A and B, and q - p or a multiple of it that is more exact
} icfi_gnear;

/* How far x is beyond -most .. most. Within rounding it counts as inside, so that over the rim of a face the
   normal is that of the face. */
static inline icf_real icfi_gbeyond(icf_real x, icf_real most, icf_real slack)
{
    icf_real e = x - icfi_gclamp(x, most);
    return ICF_FABS(e) <= slack ? 0 : e;
}

static void icfi_gboxes_corners(const icfi_gboxes* x, icfi_gnear* out)
{
    icf_real v[3], square, e, slack = ICFI_GEPS * x->size;
    int i, k;
    for (i = 0; i < 8; i++) {
        square = 0;
        for (k = 0; k < 3; k++) {
            v[k] = x->t[k] + (i & 1 ? x->b[0] : -x->b[0]) * x->c[k][0] +
                   (i & 2 ? x->b[1] : -x->b[1]) * x->c[k][1] +
                   (i & 4 ? x->b[2] : -x->b[2]) * x->c[k][2];
            e = icfi_gbeyond(v[k], x->a[k], slack);
            square += e * e;
        }
        if (square < out->square) {
            out->square = square;
            for (k = 0; k < 3; k++) {
                out->q[k] = v[k];
                out->n[k] = icfi_gbeyond(v[k], x->a[k], slack);
                out->p[k] = v[k] - out->n[k];
            }
        }
    }
}

/* from the frame of B to that of A: y is x seen from B */
static void icfi_gboxes_from_b(const icfi_gboxes* x, const icf_real v[3], int is_point,
                               icf_real out[3])
{
    int k;
    for (k = 0; k < 3; k++) {
        out[k] =
            (is_point ? x->t[k] : 0) + x->c[k][0] * v[0] + x->c[k][1] * v[1] + x->c[k][2] * v[2];
    }
}

/* The middle of the edge along axis `skip` that is outermost along n; with `other`, the edge across the face
   that n is nearly normal to, or 0 if there is none. n is in the frame of the box. */
static int icfi_gouter_edge(const icf_real n[3], const icf_real h[3], int skip, int other,
                            icf_real out[3])
{
    int k, tie = -1;
    for (k = 0; k < 3; k++) {
        out[k] = k == skip ? 0 : n[k] < 0 ? -h[k] : h[k];
        if (k != skip && ICF_FABS(n[k]) < 4096 * ICFI_GEPS) tie = k;
    }
    if (!other) return 1;
    if (tie >= 0) out[tie] = -out[tie];
    return tie >= 0;
}

static ICFI_GNOINLINE void icfi_gboxes_edges(const icfi_gboxes* x, const icfi_gaxis* edge,
                                             icfi_gnear* out)
{
    int i = (edge->axis - 7) / 3, j = (edge->axis - 7) % 3, k, other_a, other_b;
    icf_real nb[3], pa[3], pb[3], from_b[3];
    icf_vec3 u = icfi_gunit_axis(i), w, p, q;
    icfi_gsegments near;
    w = icf_vec3_make(x->c[0][j], x->c[1][j], x->c[2][j]);
    for (k = 0; k < 3; k++) nb[k] = -icfi_gon_b(x, edge->n, k);
    for (other_a = 0; other_a < 2; other_a++) {
        if (!icfi_gouter_edge(edge->n, x->a, i, other_a, pa)) continue;
        p = icfi_gfrom3(pa);
        for (other_b = 0; other_b < 2; other_b++) {
            if (!icfi_gouter_edge(nb, x->b, j, other_b, from_b)) continue;
            icfi_gboxes_from_b(x, from_b, 1, pb);
            q = icfi_gfrom3(pb);
            icfi_gsegments_nearest(icf_vec3_sub(q, p), u, x->a[i], w, x->b[j], &near);
            if (near.d * near.d >= out->square) continue;
            out->square = near.d * near.d;
            icfi_gto3(icf_vec3_add_scaled(p, near.s, u), out->p);
            icfi_gto3(icf_vec3_add_scaled(q, near.t, w), out->q);
            icfi_gto3(near.n, out->n);
        }
    }
}

/* Whether a point is in the box, but for rounding */
static int icfi_ginside(const icf_real p[3], const icf_real h[3], icf_real slack)
{
    return ICF_FABS(p[0]) <= h[0] + slack && ICF_FABS(p[1]) <= h[1] + slack &&
           ICF_FABS(p[2]) <= h[2] + slack;
}

static ICFI_GNOINLINE int icfi_gboxes_witness(const icfi_gboxes* x, const icfi_gaxis* axis,
                                              icf_real p[3], icf_real q[3]);

/* The nearest points of two boxes that are apart, or just touch. Edges are tried along directions whose
   gap is within rounding of the largest, s. */
static ICFI_GNOINLINE void icfi_gboxes_nearest(const icfi_gboxes* x, icf_real s, icfi_gnear* near)
{
    icfi_gboxes y;
    icfi_gaxis edge;
    icfi_gnear seen;
    icf_real slack = 64 * ICFI_GEPS * x->size, square;
    int i, j, k;

    // corners of B and A, then of A and B, seen from B
    near->square = ICF_REAL_MAX;
    icfi_gboxes_corners(x, near);
    square = near->square;
    icfi_gboxes_swap(x, &y);
    icfi_gboxes_corners(&y, near);
    if (near->square < square) {
        seen = *near;
        icfi_gboxes_from_b(x, seen.p, 1, near->q);
        icfi_gboxes_from_b(x, seen.q, 1, near->p);
        icfi_gboxes_from_b(x, seen.n, 0, near->n);
        for (k = 0; k < 3; k++) near->n[k] = -near->n[k];
    }
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            if (icfi_gboxes_edge(x, i, j, -ICF_REAL_MAX, &edge) && edge.s >= s - slack) {
                icfi_gboxes_edges(x, &edge, near);
            }
        }
    }
}

/* The boxes' distance; `axis` is the largest gap, above 0, and gets the true normal and distance */
static ICFI_GNOINLINE void icfi_gboxes_distance(const icfi_gboxes* x, icfi_gaxis* axis,
                                                icf_real p[3], icf_real q[3])
{
    icfi_gnear near;
    icf_real slack = 64 * ICFI_GEPS * x->size;
    icf_vec3 n;

    // the largest gap is the distance if its corner is over the face, its edges where they cross
    if (icfi_gboxes_witness(x, axis, p, q)) return;
    icfi_gboxes_nearest(x, axis->s, &near);
    ICFI_GCOPY(p, near.p, sizeof near.p);
    ICFI_GCOPY(q, near.q, sizeof near.q);

    // where all but touching corners leave no direction, that of the gap is as good as any
    n = icfi_gfrom3(near.n);
    if (near.square > slack * slack && icfi_gunit(&n) > 0) {
        axis->s = ICF_SQRT(near.square);
        icfi_gto3(n, axis->n);
    }
}

/* ---- the part of two faces that lies over each other, seen along n

   One box is the reference: the one that has the face most square to n. Its face is a rectangle
   |u| <= u_most, |v| <= v_most; the other's face is brought into that plane along n, where it is a
   parallelogram, and cut to the rectangle. Heights along n are linear over it. */
typedef struct icfi_gpatch {
    int count, swapped;      // corners of the polygon; 1: the reference is B
    int face, face2;         // which faces: axes of the reference and of the other
    int above, above2;       // 1: on the positive side
    const icf_real *a, *b;   // half sizes of the reference and of the other
    icf_real n[3];           // the normal, in the frame of the reference, away from it
    icf_real map[3][3];      // the other's face: middle and two half edges, as (u, v, height)
    icf_real det;            // 1 / the cross product of the half edges
    icf_real u[10], v[10];   // corners, in the reference's face
    icf_real height[10];     // gap along n
    icf_real u_mean, v_mean; // of the corners
    icf_real tolerance;      // what is nearer than this to a corner or edge counts as on it
} icfi_gpatch;

/* The largest of three magnitudes; *at becomes its number. Without a branch, as all of the patch: a processor
   cannot guess which faces, edges and corners there are. */
ICFI_INLINE icf_real icfi_glargest(const icf_real x[3], int* at)
{
    icf_real a = ICF_FABS(x[0]), b = ICF_FABS(x[1]), c = ICF_FABS(x[2]), most = icfi_max(b, a);
    int second = b > a, third = c > most;
    *at = (second & (third - 1)) | third << 1;
    return icfi_max(c, most);
}

/* Which faces lie over each other along n, which is in the frame of A, from A to B; and where that of the
   other box lies in the coordinates of the reference's */
static inline void icfi_gpatch_place(const icfi_gboxes* x, const icf_real n[3], icfi_gpatch* out)
{
    icf_real m[2][3], t[2][3], inverse, side, half;
    const icf_real *c = &x->c[0][0], *halves[2];
    int face[2], i, j, i1, i2, k, r, row, column;
    ICFI_GUNROLL
    for (k = 0; k < 3; k++) {
        m[0][k] = n[k];
        m[1][k] = -icfi_gon_b(x, n, k);
        t[0][k] = x->t[k];
        t[1][k] = -icfi_gon_b(x, x->t, k);
    }
    halves[0] = x->a;
    halves[1] = x->b;
    {
        icf_real a = icfi_glargest(m[0], &face[0]), b = icfi_glargest(m[1], &face[1]);
        r = b > a;
    }
    // what is x->c[i][j] seen from A is x->c[j][i] seen from B
    row = 3 - 2 * r;
    column = 4 - row;
    i = face[r];
    j = face[1 - r];
    i1 = icfi_gnext(i);
    i2 = icfi_gnext(i1);
    out->swapped = r;
    out->face = i;
    out->face2 = j;
    out->a = halves[r];
    out->b = halves[1 - r];
    out->above = m[r][i] > 0;
    out->above2 = m[1 - r][j] > 0;
    out->n[0] = m[r][0];
    out->n[1] = m[r][1];
    out->n[2] = m[r][2];
    inverse = 1 / m[r][i];
    side = (icf_real)(2 * out->above - 1) * out->a[i];
    half = (icf_real)(2 * out->above2 - 1) * out->b[j];
    ICFI_GUNROLL
    for (k = 0; k < 3; k++) {
        // k 0: the middle; 1, 2: the half edges along the two other axes of that box
        const icf_real* axis = c + j * column;
        icf_real e = half * axis[row * i], e1 = half * axis[row * i1], e2 = half * axis[row * i2];
        if (k == 0) {
            e = e + t[r][i] - side;
            e1 += t[r][i1];
            e2 += t[r][i2];
        }
        e *= inverse;
        out->map[k][0] = e1 - e * m[r][i1];
        out->map[k][1] = e2 - e * m[r][i2];
        out->map[k][2] = e;
        j = icfi_gnext(j);
        half = out->b[j];
    }
}

/* Of the eight edges of two faces, in order around, where each begins in the other face, and how far it is to
   its end, below 0 if it is not there. Edges that are opposite are side by side: 0 and 4, 1 and 5 .. */
typedef struct icfi_gpatch_corners {
    icf_real u[8], v[8], height[8], length[8];
} icfi_gpatch_corners;

/* Two opposite edges, from base - most way to base + most way, as (u, v, height). The two pairs of parallel
   lines that bound the other face cross them at middle - half and middle + half; with slack, of which
   `more` is more, at wide. */
typedef struct icfi_gpatch_edges_pair {
    icfi_gtwo base[3], way[3], middle[2];
    icf_real half[2], wide[2], most, more;
} icfi_gpatch_edges_pair;

ICFI_INLINE void icfi_gpatch_clip(const icfi_gpatch_edges_pair* e, icfi_gpatch_corners* out, int at)
{
    icfi_gtwo most = icfi_gboth(e->most), least = icfi_gboth(-e->most), low, high, exact;
    low = icfi_gmost2(icfi_gsub2(e->middle[0], icfi_gboth(e->wide[0])),
                      icfi_gsub2(e->middle[1], icfi_gboth(e->wide[1])));
    high = icfi_gleast2(icfi_gadd2(e->middle[0], icfi_gboth(e->wide[0])),
                        icfi_gadd2(e->middle[1], icfi_gboth(e->wide[1])));
    exact = icfi_gmost2(icfi_gsub2(e->middle[0], icfi_gboth(e->half[0])),
                        icfi_gsub2(e->middle[1], icfi_gboth(e->half[1])));
    low = icfi_gmost2(low, least);
    high = icfi_gleast2(high, most);
    exact = icfi_gmost2(exact, least);
    // cppcheck-suppress ctuuninitvar ; `out` is only written
    icfi_gtwo_put(out->length + 2 * at, icfi_gsub2(high, low));
    low = icfi_gleast2(icfi_gadd2(low, icfi_gboth(e->more)), high);
    low = icfi_gleast2(low, exact);
    icfi_gtwo_put(out->u + 2 * at, icfi_galong2(e->base[0], low, e->way[0]));
    icfi_gtwo_put(out->v + 2 * at, icfi_galong2(e->base[1], low, e->way[1]));
    icfi_gtwo_put(out->height + 2 * at, icfi_galong2(e->base[2], low, e->way[2]));
}

/* x, of the same sign and not so near 0 that 1 / x would overflow: `least` makes no difference */
ICFI_INLINE icf_real icfi_gnot_zero(icf_real x, icf_real least)
{
    return icfi_max(ICF_FABS(x), least) * icfi_gsign(x);
}

/* The corners in order, of those within a distance of each other the first */
static inline void icfi_gpatch_gather(const icfi_gpatch_corners* all, icf_real near_by,
                                      icfi_gpatch* out)
{
    unsigned is = 0, apart = 1, bits; // the first is compared with the last at the end
    icfi_gtwo u, v, last_u = icfi_gtwo_of(all->u[7], all->u[6]),
                    last_v = icfi_gtwo_of(all->v[7], all->v[6]);
    int k, count = 0;
    ICFI_GUNROLL
    for (k = 0; k < 4; k++) {
        u = icfi_gtwo_at(all->u + 2 * k);
        v = icfi_gtwo_at(all->v + 2 * k);
        last_u = icfi_gadd2(icfi_gabs2(icfi_gsub2(u, last_u)), icfi_gabs2(icfi_gsub2(v, last_v)));
        bits = icfi_gnegative2(icfi_gsub2(icfi_gboth(near_by), last_u));
        apart |= ((bits & 1) | (bits & 2) << 3) << k;
        bits = ~icfi_gnegative2(icfi_gtwo_at(all->length + 2 * k));
        is |= ((bits & 1) | (bits & 2) << 3) << k;
        last_u = u;
        last_v = v;
    }
    is &= ~(is << 1 | is >> 7) | apart;
    ICFI_GUNROLL
    for (k = 0; k < 8; k++) {
        int at = 2 * (k & 3) + (k >> 2);
        out->u[count] = all->u[at];
        out->v[count] = all->v[at];
        out->height[count] = all->height[at];
        count += (int)(is >> k & 1);
    }
    if (count > 1) {
        icf_real du = out->u[0] - out->u[count - 1], dv = out->v[0] - out->v[count - 1];
        count -= ICF_FABS(du) + ICF_FABS(dv) <= near_by;
    }
    out->count = count;
}

/* The two faces of a patch: the middle of the parallelogram and its half edges p and q, turned into the half
   turn from u to -u, p before q */
typedef struct icfi_gpatch_faces {
    icf_real c[3], pq[2][3];
    icf_real most[2];        // of the rectangle
    icf_real cross, rise[2]; // p x q; how the height rises along u and v
    icf_real slack;
    icfi_gtwo over[2], size[2]; // of p and q: 1 / u and 1 / v, and without sign
} icfi_gpatch_faces;

ICFI_INLINE void icfi_gpatch_turn(const icfi_gpatch* x, icfi_gpatch_faces* f)
{
    // cppcheck-suppress ctuuninitvar ; `most` and `slack` are there, and the rest is written
    icf_real signs[2], cross, inverse, tiny = f->slack * ICF_R(0.0625), *p = f->pq[0],
                                       *q = f->pq[1];
    int k, first;
    signs[0] = icfi_gsign(x->map[1][1]);
    signs[1] = icfi_gsign(x->map[2][1]);
    cross = (x->map[1][0] * x->map[2][1] - x->map[1][1] * x->map[2][0]) * (signs[0] * signs[1]);
    first = cross < 0;
    f->cross = ICF_FABS(cross);
    ICFI_GUNROLL
    for (k = 0; k < 3; k++) {
        f->c[k] = x->map[0][k];
        p[k] = x->map[1 + first][k] * signs[first];
        q[k] = x->map[2 - first][k] * signs[1 - first];
    }
    p[0] = icfi_gnot_zero(p[0], tiny);
    q[0] = icfi_gnot_zero(q[0], tiny);
    p[1] = icfi_max(p[1], tiny);
    q[1] = icfi_max(q[1], tiny);
    inverse = 1 / f->cross;
    f->rise[0] = (q[1] * p[2] - p[1] * q[2]) * inverse;
    f->rise[1] = (p[0] * q[2] - q[0] * p[2]) * inverse;
    ICFI_GUNROLL
    for (k = 0; k < 2; k++) {
        f->over[k] = icfi_gdiv2(icfi_gboth(1), icfi_gtwo_of(f->pq[k][0], f->pq[k][1]));
        f->size[k] = icfi_gabs2(f->over[k]);
    }
}

/* The edges of the parallelogram along p (k 0) or q */
ICFI_INLINE void icfi_gpatch_other(const icfi_gpatch_faces* f, int k, int at,
                                   icfi_gpatch_corners* out)
{
    const icf_real *way = f->pq[k], *aside = f->pq[1 - k], sign = (icf_real)(2 * k - 1);
    icfi_gtwo half = icfi_gmul2(icfi_gtwo_of(f->most[0], f->most[1]), f->size[k]);
    icfi_gtwo wide = icfi_galong2(half, icfi_gboth(f->slack), f->size[k]);
    icfi_gpatch_edges_pair e;
    int i;
    ICFI_GUNROLL
    for (i = 0; i < 3; i++) {
        e.base[i] = icfi_gadd2(icfi_gboth(f->c[i]), icfi_gsides2(sign * aside[i]));
        e.way[i] = icfi_gsides2(way[i]);
    }
    ICFI_GUNROLL
    for (i = 0; i < 2; i++) {
        e.middle[i] = icfi_gmul2(e.base[i], icfi_gsides2(-icfi_gone_of(f->over[k], i)));
        e.half[i] = icfi_gone_of(half, i);
        e.wide[i] = icfi_gone_of(wide, i);
    }
    e.most = 1;
    e.more = 64 * f->slack * icfi_min(icfi_gone_of(f->size[k], 0), icfi_gone_of(f->size[k], 1));
    icfi_gpatch_clip(&e, out, at);
}

/* The edges of the rectangle along u (i 0), below and above, or along v, on the right and left */
ICFI_INLINE void icfi_gpatch_own(const icfi_gpatch_faces* f, int i, int at,
                                 icfi_gpatch_corners* out)
{
    int j = 1 - i, k;
    icfi_gtwo side = icfi_gsides2(1), d;
    icfi_gpatch_edges_pair e;
    e.base[i] = icfi_gboth(0);
    e.base[j] = icfi_gsides2(i ? f->most[j] : -f->most[j]);
    d = icfi_gsub2(e.base[j], icfi_gboth(f->c[j]));
    e.base[2] = icfi_galong2(icfi_gboth(f->c[2] - f->c[i] * f->rise[i]), d, icfi_gboth(f->rise[j]));
    e.way[i] = side;
    e.way[j] = icfi_gboth(0);
    e.way[2] = icfi_gsides2(f->rise[i]);
    ICFI_GUNROLL
    for (k = 0; k < 2; k++) {
        const icf_real* way = f->pq[k];
        icf_real size = icfi_gone_of(f->size[k], j), turn = way[i] * icfi_gone_of(f->over[k], j);
        e.middle[k] = icfi_gmul2(side, icfi_galong2(icfi_gboth(f->c[i]), d, icfi_gboth(turn)));
        e.half[k] = f->cross * size;
        e.wide[k] = e.half[k] + f->slack * (ICF_FABS(way[0]) + ICF_FABS(way[1])) * size;
    }
    e.most = f->most[i];
    e.more = 64 * f->slack;
    icfi_gpatch_clip(&e, out, at);
}

/* The part of the other's face over the reference's. Both are convex, and the edges of what they share
   are parts of their eight edges, in the order of their directions: along u, v, -u, -v those of the
   rectangle, along p, q, -p, -q those of the parallelogram. So each edge is cut by the four lines of the
   other face, and its place among the eight is known from signs. What is within rounding of a line is inside:
   of two edges that lie on each other both are there, and corners that are the same are taken once. */
static ICFI_GNOINLINE void icfi_gpatch_edges(icfi_gpatch* x, icf_real most_u, icf_real most_v,
                                             icf_real slack)
{
    icfi_gpatch_corners all;
    icfi_gpatch_faces f;
    int at_p, at_q;
    f.most[0] = most_u;
    f.most[1] = most_v;
    f.slack = slack;
    icfi_gpatch_turn(x, &f);
    at_p = 1 + (f.pq[0][0] < 0);
    at_q = 2 + (f.pq[1][0] < 0);
    icfi_gpatch_other(&f, 0, at_p, &all);
    icfi_gpatch_other(&f, 1, at_q, &all);
    icfi_gpatch_own(&f, 0, 0, &all);
    icfi_gpatch_own(&f, 1, 6 - at_p - at_q, &all);
    icfi_gpatch_gather(&all, 4 * slack, x);
}

/* Keeps the part of a polygon with sign x[k] <= most; corners are (u, v, height). Answers how many corners
   are left in `out`. A processor cannot guess which corners are inside, so it need not: every crossing is
   computed and written, and written over where there was none. */
ICFI_INLINE int icfi_gcut(int count, const icf_real (*in)[3], icf_real (*out)[3], int k,
                          icf_real sign, icf_real most)
{
    int i, n = 0, k1 = k == 2 ? 0 : k + 1, k2 = k == 0 ? 2 : k - 1;
    const icf_real* p = in[count - 1];
    icf_real dp = sign * p[k] - most;
    for (i = 0; i < count; i++) {
        const icf_real* q = in[i];
        icf_real dq = sign * q[k] - most, d = dp - dq, w = dp / (d == 0 ? (icf_real)1 : d);
        out[n][k] = sign * most;
        out[n][k1] = p[k1] + w * (q[k1] - p[k1]);
        out[n][k2] = p[k2] + w * (q[k2] - p[k2]);
        n += (dp > 0) != (dq > 0);
        out[n][0] = q[0];
        out[n][1] = q[1];
        out[n][2] = q[2];
        n += !(dq > 0);
        p = q;
        dp = dq;
    }
    return n;
}

/* The corners of the other's face, in order around, as (u, v, height) */
static inline void icfi_gpatch_all(const icfi_gpatch* x, icf_real corner[4][3])
{
    int k;
    for (k = 0; k < 3; k++) {
        icf_real a = x->map[0][k] - x->map[1][k], b = x->map[0][k] + x->map[1][k];
        corner[0][k] = a - x->map[2][k];
        corner[1][k] = b - x->map[2][k];
        corner[2][k] = b + x->map[2][k];
        corner[3][k] = a + x->map[2][k];
    }
}

static inline void icfi_gpatch_take(icfi_gpatch* x, const icf_real (*corner)[3], int count)
{
    int k;
    x->count = count;
    for (k = 0; k < count; k++) {
        x->u[k] = corner[k][0];
        x->v[k] = corner[k][1];
        x->height[k] = corner[k][2];
    }
}

/* The same, but first cuts off all that is higher than `level`, which mostly leaves little more to cut; then,
   side by side, all beyond the rectangle. low .. high: the sizes between the two */
static ICFI_GNOINLINE void icfi_gpatch_low(icfi_gpatch* x, icf_real most_u, icf_real most_v,
                                           icf_real level, icf_real low[2], icf_real high[2])
{
    icf_real first[10][3], second[10][3];
    icf_real(*now)[3] = second, (*next)[3] = first, (*swap)[3];
    int k, count;
    icfi_gpatch_all(x, first);
    x->count = 0;
    count = icfi_gcut(4, (const icf_real(*)[3])first, second, 2, 1, level);
    if (!count) return;
    low[0] = high[0] = now[0][0];
    low[1] = high[1] = now[0][1];
    for (k = 1; k < count; k++) {
        low[0] = icfi_min(now[k][0], low[0]);
        high[0] = icfi_max(now[k][0], high[0]);
        low[1] = icfi_min(now[k][1], low[1]);
        high[1] = icfi_max(now[k][1], high[1]);
    }
    for (k = 0; k < 4 && count; k++) {
        const int axis = k / 2, upper = k % 2 == 0;
        const icf_real most = axis ? most_v : most_u;
        if (!((upper ? high[axis] : -low[axis]) > most)) continue;
        count = icfi_gcut(count, (const icf_real(*)[3])now, next, axis,
                          upper ? (icf_real)1 : (icf_real)-1, most);
        swap = now;
        now = next;
        next = swap;
    }
    icfi_gpatch_take(x, (const icf_real(*)[3])now, count);
}

/* The patch of two boxes along n, which is in the frame of A, from A to B. The reference is the box that
   has the face most square to n. Parts higher than `level` are cut off. */
static ICFI_GNOINLINE void icfi_gboxes_patch(const icfi_gboxes* x, const icf_real n[3],
                                             icf_real level, icfi_gpatch* out)
{
    icf_real most_u, most_v, reach, low[2], high[2], sum_u = 0, sum_v = 0, u, v;
    int k, i1, j1, count;

    icfi_gpatch_place(x, n, out);
    i1 = icfi_gnext(out->face);
    j1 = icfi_gnext(out->face2);
    most_u = out->a[i1];
    most_v = out->a[icfi_gnext(i1)];
    out->det = 1 / (out->map[1][0] * out->map[2][1] - out->map[1][1] * out->map[2][0]);
    out->tolerance = 0;
    reach = out->map[0][2] + ICF_FABS(out->map[1][2]) + ICF_FABS(out->map[2][2]);
    if (reach > level) {
        icfi_gpatch_low(out, most_u, most_v, level, low, high);
    } else {
        ICFI_GUNROLL
        for (k = 0; k < 2; k++) {
            reach = ICF_FABS(out->map[1][k]) + ICF_FABS(out->map[2][k]);
            low[k] = out->map[0][k] - reach;
            high[k] = out->map[0][k] + reach;
        }
        reach = 2 * ICFI_GEPS * x->size;
        if (icfi_max(high[0], -low[0]) <= most_u + reach &&
            icfi_max(high[1], -low[1]) <= most_v + reach) {
            // all of it, as where a small box lies on a large one, or one of many on its like
            icf_real corner[4][3];
            icfi_gpatch_all(out, corner);
            icfi_gpatch_take(out, (const icf_real(*)[3])corner, 4);
        } else {
            icfi_gpatch_edges(out, most_u, most_v, reach);
        }
    }
    count = out->count;
    if (!count) return;

    // its mean, from the first corner, so that a small area far from the middle is exact
    u = out->u[0];
    v = out->v[0];
    for (k = 1; k < count; k++) {
        sum_u += out->u[k] - u;
        sum_v += out->v[k] - v;
    }
    out->u_mean = u + sum_u / (icf_real)count;
    out->v_mean = v + sum_v / (icf_real)count;

    // the patch is as large as what was not cut, at most
    reach = icfi_max(icfi_min(high[0], most_u) - icfi_max(low[0], -most_u),
                     icfi_min(high[1], most_v) - icfi_max(low[1], -most_v));
    reach = icfi_min(icfi_min(reach, most_u), most_v);
    reach = icfi_min(icfi_min(reach, out->b[j1]), out->b[icfi_gnext(j1)]);
    out->tolerance = reach * ICF_R(0.015625);
}

/* Points of A and B, at the gap of an axis from each other, outermost along its normal: of corners that
   are equally far out, the middle of where the two faces are over each other. 0 if they nowhere are */
static ICFI_GNOINLINE int icfi_gboxes_flush(const icfi_gboxes* x, const icfi_gaxis* axis,
                                            icf_real p[3], icf_real q[3])
{
    icfi_gpatch patch;
    icf_real u = 0, w = 0, middle[3], v[3], least = ICF_REAL_MAX;
    int k, count = 0;
    icfi_gboxes_patch(x, axis->n, ICF_REAL_MAX, &patch);
    if (!patch.count) return 0;
    for (k = 0; k < patch.count; k++) least = icfi_min(least, patch.height[k]);
    for (k = 0; k < patch.count; k++) {
        if (patch.height[k] > least + 64 * ICFI_GEPS * x->size) continue;
        u += patch.u[k];
        w += patch.v[k];
        count++;
    }
    // on the reference's face, and half a height above it
    k = patch.face;
    middle[k] = patch.above ? patch.a[k] : -patch.a[k];
    k = icfi_gnext(k);
    middle[k] = u / (icf_real)count;
    middle[icfi_gnext(k)] = w / (icf_real)count;
    for (k = 0; k < 3; k++) middle[k] += ICF_R(0.5) * least * patch.n[k];
    if (patch.swapped) icfi_gboxes_from_b(x, middle, 1, v);
    for (k = 0; k < 3; k++) {
        icf_real m = patch.swapped ? v[k] : middle[k];
        p[k] = m - ICF_R(0.5) * axis->s * axis->n[k];
        q[k] = m + ICF_R(0.5) * axis->s * axis->n[k];
    }
    return 1;
}

/* Whether p and q are in their boxes, but for rounding */
static int icfi_gboxes_hold(const icfi_gboxes* x, const icf_real p[3], const icf_real q[3])
{
    icf_real slack = 16 * ICFI_GEPS * x->size, r[3], d[3];
    int k;
    if (!icfi_ginside(p, x->a, slack)) return 0;
    for (k = 0; k < 3; k++) d[k] = q[k] - x->t[k];
    for (k = 0; k < 3; k++) r[k] = icfi_gon_b(x, d, k);
    return icfi_ginside(r, x->b, slack);
}

/* Points of A and B where the gap of the axis is. 0 if there are none, which happens between boxes that
   are apart, where the distance is larger than any gap. */
static ICFI_GNOINLINE int icfi_gboxes_witness(const icfi_gboxes* x, const icfi_gaxis* axis,
                                              icf_real p[3], icf_real q[3])
{
    icf_real tie = 64 * ICFI_GEPS, v[3], nb[3];
    int k, ties = 0;
    if (axis->axis > 6) {
        icfi_gnear near;
        near.square = ICF_REAL_MAX;
        icfi_gboxes_edges(x, axis, &near);
        for (k = 0; k < 3; k++) q[k] = near.q[k];
        // the lines may miss each other by rounding, the normal does not
        for (k = 0; k < 3; k++) p[k] = q[k] - axis->s * axis->n[k];
    } else if (axis->axis <= 3) {
        for (k = 0; k < 3; k++) nb[k] = icfi_gon_b(x, axis->n, k);
        for (k = 0; k < 3; k++) {
            v[k] = nb[k] < 0 ? x->b[k] : -x->b[k];
            ties += ICF_FABS(nb[k]) < tie;
        }
        icfi_gboxes_from_b(x, v, 1, q);
        for (k = 0; k < 3; k++) p[k] = q[k] - axis->s * axis->n[k];
    } else {
        for (k = 0; k < 3; k++) {
            p[k] = axis->n[k] < 0 ? -x->a[k] : x->a[k];
            ties += ICF_FABS(axis->n[k]) < tie;
        }
        for (k = 0; k < 3; k++) q[k] = p[k] + axis->s * axis->n[k];
    }
    if (!ties && icfi_gboxes_hold(x, p, q)) return 1;
    if (!ties && axis->s > 0) return 0;

    // nearly parallel faces or edges: which corner is outermost is left to rounding, and it may be one
    // that is not over the other box
    if (icfi_gboxes_flush(x, axis, p, q) && icfi_gboxes_hold(x, p, q)) return 1;
    if (axis->s > 0) return 0;

    // they just touch, at their rims
    if (axis->s > -1024 * ICFI_GEPS * x->size) {
        icfi_gnear near;
        icfi_gboxes_nearest(x, axis->s, &near);
        ICFI_GCOPY(p, near.p, sizeof near.p);
        ICFI_GCOPY(q, near.q, sizeof near.q);
    }
    return 1;
}

/* ---- two shapes */

static ICFI_GNOINLINE int icfi_gafter_slow(const icfi_gplaced* a, const icfi_gplaced* b)
{
    icf_real v[2][17];
    int k;
    for (k = 0; k < 2; k++) {
        const icfi_gplaced* s = k ? b : a;
        icfi_gto3(s->shape->half, v[k]);
        icfi_gto3(s->body->p, v[k] + 3);
        ICFI_GCOPY(v[k] + 6, &s->body->q, sizeof s->body->q);
        icfi_gto3(s->shape->pose.p, v[k] + 10);
        ICFI_GCOPY(v[k] + 13, &s->shape->pose.q, sizeof s->shape->pose.q);
    }
    for (k = 0; k < 17; k++) {
        if (v[0][k] != v[1][k]) return v[1][k] < v[0][k];
    }
    return 0;
}

/* Whether B comes before A. Queries put every pair in one order, so that A and B given the other way
   round lead to the same bits. */
static inline int icfi_pair_is_swapped(const icfi_gplaced* pa, const icfi_gplaced* pb)
{
    const icf_shape *a = pa->shape, *b = pb->shape;
    if (a->kind != b->kind) return a->kind > b->kind;
    if (a->radius != b->radius) return a->radius > b->radius;
    if (a->half.x != b->half.x) return a->half.x > b->half.x;
    if (a->half.y == b->half.y && a->half.z == b->half.z && pa->body->p.x != pb->body->p.x) {
        return pa->body->p.x > pb->body->p.x;
    }
    return icfi_gafter_slow(pa, pb);
}

static ICFI_GNOINLINE void icfi_gbox_box(const icfi_gplaced* a, const icfi_gplaced* b,
                                         icf_separation* out)
{
    icfi_gplace room_a, room_b;
    const icfi_gplace *fa = icfi_glocate(a, &room_a), *fb = icfi_glocate(b, &room_b);
    icfi_gboxes x;
    icfi_gaxis axis;
    icf_real p[3], q[3];
    icfi_gboxes_make(fa, a->shape->half, fb, b->shape->half, &x);
    (void)icfi_gboxes_axis(&x, ICF_REAL_MAX, 0, 0, &axis);
    if (axis.s > 0) {
        icfi_gboxes_distance(&x, &axis, p, q);
    } else {
        (void)icfi_gboxes_witness(&x, &axis, p, q);
    }
    out->distance = axis.s;
    out->normal = icfi_gfrom(fa, icfi_gfrom3(axis.n));
    out->point_a = icf_vec3_add(fa->p, icfi_gfrom(fa, icfi_gfrom3(p)));
    out->point_b = icf_vec3_add(fa->p, icfi_gfrom(fa, icfi_gfrom3(q)));
}

/* The answer for a point p of A's core and B's core, `core` apart along n, swollen by their radii */
static inline void icfi_gfinish(icf_vec3 p, icf_real radius_a, icf_real radius_b, icf_real core,
                                icf_vec3 n, icf_separation* out)
{
    out->distance = core - radius_a - radius_b;
    out->normal = n;
    out->point_a = icf_vec3_add_scaled(p, radius_a, n);
    out->point_b = icf_vec3_add_scaled(p, core - radius_b, n);
}

static void icfi_gsphere_any(icf_vec3 p, icf_real radius, const icfi_gplaced* b,
                             icf_separation* out)
{
    const icf_shape* s = b->shape;
    icf_vec3 d = icf_vec3_sub(icfi_gcenter(b), p), n, q;
    icf_real core;
    icfi_gplace room;
    const icfi_gplace* f;
    if (s->kind == ICF_SHAPE_SPHERE) {
        core = icfi_gunit(&d);
        if (core == 0) d = icf_vec3_make(0, 0, 1);
        icfi_gfinish(p, radius, s->radius, core, d, out);
    } else if (s->kind == ICF_SHAPE_CAPSULE) {
        icf_real free_t, t;
        n = icfi_gaxis_z(b);
        free_t = -icf_vec3_dot(n, d);
        t = icfi_gclamp(free_t, s->half.z);
        d = icf_vec3_add_scaled(d, t, n);
        if (t == free_t) d = icfi_gsquare_to(d, n); // on a long axis an error would show
        core = icfi_gunit(&d);
        if (core == 0) d = icfi_gacross(n);
        icfi_gfinish(p, radius, s->radius, core, d, out);
    } else if (s->kind == ICF_SHAPE_BOX) {
        f = icfi_glocate(b, &room);
        core = icfi_gpoint_box(icf_vec3_neg(icfi_gto(f, d)), s->half, &q, &n);
        n = icf_vec3_neg(icfi_gfrom(f, n));
        icfi_gfinish(p, radius, 0, core, n, out);
    } else {
        n = icf_vec3_neg(icfi_gaxis_z(b));
        icfi_gfinish(p, radius, 0, icf_vec3_dot(n, d), n, out);
    }
}

static ICFI_GNOINLINE void icfi_gcapsule_capsule(const icfi_gplaced* a, const icfi_gplaced* b,
                                                 icf_separation* out)
{
    icf_vec3 p = icfi_gcenter(a), u = icfi_gaxis_z(a), v = icfi_gaxis_z(b);
    icfi_gsegments near;
    icfi_gsegments_nearest(icf_vec3_sub(icfi_gcenter(b), p), u, a->shape->half.z, v,
                           b->shape->half.z, &near);
    icfi_gfinish(icf_vec3_add_scaled(p, near.s, u), a->shape->radius, b->shape->radius, near.d,
                 near.n, out);
}

static ICFI_GNOINLINE void icfi_gcapsule_box(const icfi_gplaced* a, const icfi_gplaced* b,
                                             icf_separation* out)
{
    icfi_gplace room;
    const icfi_gplace* fb = icfi_glocate(b, &room);
    icfi_gsegment_box_near near;
    icf_vec3 p = icfi_gcenter(a), u = icfi_gaxis_z(a), n;
    icfi_gsegment_box_distance(icfi_gto(fb, icf_vec3_sub(p, fb->p)), icfi_gto(fb, u),
                               a->shape->half.z, b->shape->half, &near);
    n = icf_vec3_neg(icfi_gfrom(fb, near.n));
    icfi_gfinish(icf_vec3_add_scaled(p, near.s, u), a->shape->radius, 0, near.d, n, out);
}

/* Moves p and d to the end of an axis where n is lower; both ends equally low: not at all */
ICFI_INLINE void icfi_glower(icf_vec3 axis, icf_real half, icf_vec3 n, icf_vec3* p, icf_vec3* d)
{
    icf_real s = icf_vec3_dot(axis, n);
    s = ICF_FABS(s) < 64 * ICFI_GEPS ? 0 : s > 0 ? -half : half;
    *p = icf_vec3_add_scaled(*p, s, axis);
    *d = icf_vec3_add_scaled(*d, s, axis);
}

/* The place of a core that is lowest above a half-space, or the middle of several that are equally low */
static ICFI_GNOINLINE void icfi_gsome_half_space(const icfi_gplaced* a, const icfi_gplaced* b,
                                                 icf_separation* out)
{
    icfi_gplace room;
    const icfi_gplace* f = icfi_glocate(a, &room);
    icf_vec3 p = f->p, h = a->shape->half, n = icfi_gaxis_z(b);
    icf_vec3 d = icf_vec3_sub(p, icfi_gcenter(b));
    if (a->shape->kind == ICF_SHAPE_BOX) {
        icfi_glower(f->axis[0], h.x, n, &p, &d);
        icfi_glower(f->axis[1], h.y, n, &p, &d);
    }
    icfi_glower(f->axis[2], h.z, n, &p, &d);
    icfi_gfinish(p, a->shape->radius, 0, icf_vec3_dot(n, d), icf_vec3_neg(n), out);
}

/* A before B, and not two half-spaces */
static void icfi_gpair(const icfi_gplaced* a, const icfi_gplaced* b, icf_separation* out)
{
    if (a->shape->kind == ICF_SHAPE_SPHERE) {
        icfi_gsphere_any(icfi_gcenter(a), a->shape->radius, b, out);
    } else if (b->shape->kind == ICF_SHAPE_HALF_SPACE) {
        icfi_gsome_half_space(a, b, out);
    } else if (a->shape->kind == ICF_SHAPE_BOX) {
        icfi_gbox_box(a, b, out);
    } else if (b->shape->kind == ICF_SHAPE_BOX) {
        icfi_gcapsule_box(a, b, out);
    } else {
        icfi_gcapsule_capsule(a, b, out);
    }
}

/* The same answer, seen from B */
static void icfi_gseparation_swap(icf_separation* s)
{
    icf_vec3 p = s->point_a;
    s->point_a = s->point_b;
    s->point_b = p;
    s->normal = icf_vec3_neg(s->normal);
}

ICF_API icf_result icf_shape_distance(const icf_shape* a, const icf_transform* body_a,
                                      const icf_shape* b, const icf_transform* body_b,
                                      icf_separation* out)
{
    icfi_gplaced pa = icfi_gput(a, body_a), pb = icfi_gput(b, body_b);
    if (a->kind == ICF_SHAPE_HALF_SPACE && b->kind == ICF_SHAPE_HALF_SPACE) {
        ICFI_GFILL(out, 0, sizeof *out);
        return ICF_RESULT_BAD_ARGUMENT;
    }
    if (icfi_pair_is_swapped(&pa, &pb)) {
        icfi_gpair(&pb, &pa, out);
        icfi_gseparation_swap(out);
    } else {
        icfi_gpair(&pa, &pb, out);
    }
    return ICF_RESULT_OK;
}

ICF_API int icf_shape_near(const icf_shape* a, const icf_transform* body_a, const icf_shape* b,
                           const icf_transform* body_b, icf_real margin)
{
    icf_separation s;
    if (a->kind == ICF_SHAPE_BOX && b->kind == ICF_SHAPE_BOX) {
        icfi_gplaced pa = icfi_gput(a, body_a), pb = icfi_gput(b, body_b);
        const int swap = icfi_pair_is_swapped(&pa, &pb);
        icfi_gplace fa, fb;
        icfi_gboxes x;
        icfi_gaxis axis;
        (void)icfi_glocate(swap ? &pb : &pa, &fa);
        (void)icfi_glocate(swap ? &pa : &pb, &fb);
        icfi_gboxes_make(&fa, swap ? b->half : a->half, &fb, swap ? a->half : b->half, &x);
        if (!icfi_gboxes_axis(&x, margin, 0, 0, &axis)) return 0;
        if (axis.s <= 0) return 1;
    }
    return icf_shape_distance(a, body_a, b, body_b, &s) == ICF_RESULT_OK && s.distance <= margin;
}

ICF_API void icf_shape_point(const icf_shape* shape, const icf_transform* body, icf_vec3 point,
                             icf_separation* out)
{
    icfi_gplaced s = icfi_gput(shape, body);
    icfi_gsphere_any(point, 0, &s, out);
    icfi_gseparation_swap(out);
}

// ------------------------------------------------------------------------------------------------
// Bounds, masses, rays
// >>measures
/* Offers to those below: icfi_gbounds */

/* The box around a shape; endless, but for a half-space across an axis of the world */
static void icfi_gbounds(const icf_shape* shape, const icfi_gplace* f, icf_real margin,
                         icf_aabb* out)
{
    const icf_vec3 x = f->axis[0], y = f->axis[1], z = f->axis[2], h = shape->half, p = f->p;
    icf_vec3 r;
    icf_real size;
    int k;
    if (shape->kind == ICF_SHAPE_HALF_SPACE) {
        out->upper = icf_vec3_make(ICF_REAL_MAX, ICF_REAL_MAX, ICF_REAL_MAX);
        out->lower = icf_vec3_neg(out->upper);
        for (k = 0; k < 3; k++) {
            icf_real n = icfi_gpart(z, k);
            if (icfi_gpart(z, (k + 1) % 3) != 0 || icfi_gpart(z, (k + 2) % 3) != 0) continue;
            if (n > 0) icfi_gset(&out->upper, k, icfi_gpart(p, k) + margin);
            if (n < 0) icfi_gset(&out->lower, k, icfi_gpart(p, k) - margin);
        }
        return;
    }
    r.x = ICF_FABS(x.x) * h.x + ICF_FABS(y.x) * h.y + ICF_FABS(z.x) * h.z;
    r.y = ICF_FABS(x.y) * h.x + ICF_FABS(y.y) * h.y + ICF_FABS(z.y) * h.z;
    r.z = ICF_FABS(x.z) * h.x + ICF_FABS(y.z) * h.y + ICF_FABS(z.z) * h.z;
    size = ICF_FABS(p.x) + ICF_FABS(p.y) + ICF_FABS(p.z) + h.x + h.y + h.z + shape->radius;
    margin += shape->radius + 8 * ICFI_GEPS * size;
    r = icf_vec3_make(r.x + margin, r.y + margin, r.z + margin);
    out->lower = icf_vec3_sub(p, r);
    out->upper = icf_vec3_add(p, r);
}

ICF_API void icf_shape_bounds(const icf_shape* shape, const icf_transform* body, icf_real margin,
                              icf_aabb* out)
{
    icfi_gplaced s = icfi_gput(shape, body);
    icfi_gplace f;
    icfi_gbounds(shape, icfi_glocate(&s, &f), margin, out);
}

/* ---- masses */

/* Moments about the axes of the shape: I_x is of the rotation about x */
ICF_API icf_result icf_shape_mass(const icf_shape* shape, icf_real density,
                                  icf_mass_properties* out)
{
    const icf_real pi = ICF_R(3.14159265358979323846264338327950288);
    icf_real r = shape->radius, l = shape->half.z, m = 0, cylinder, ball, ix = 0, iy = 0, iz = 0;
    icf_mat3 turn = icf_mat3_from_quat(shape->pose.q), moments;
    icf_vec3 h = shape->half, x = turn.x, y = turn.y, z = turn.z;
    icf_result result = ICF_RESULT_OK;

    if (!(density >= 0) || !(density * 0 == 0)) {
        result = ICF_RESULT_BAD_ARGUMENT;
        density = 0;
    }
    switch (shape->kind) {
    case ICF_SHAPE_SPHERE:
        m = density * pi * r * r * r * 4 / 3;
        ix = iy = iz = ICF_R(0.4) * m * r * r;
        break;
    case ICF_SHAPE_CAPSULE:
        // a cylinder, and a ball whose halves are l + 3/8 r from the middle
        cylinder = density * 2 * pi * r * r * l;
        ball = density * pi * r * r * r * 4 / 3;
        m = cylinder + ball;
        iz = ICF_R(0.5) * cylinder * r * r + ICF_R(0.4) * ball * r * r;
        ix = cylinder * (3 * r * r + 4 * l * l) / 12 +
             ball * (ICF_R(0.4) * r * r + l * l + ICF_R(0.75) * r * l);
        iy = ix;
        break;
    case ICF_SHAPE_BOX:
        m = density * 8 * h.x * h.y * h.z;
        ix = m * (h.y * h.y + h.z * h.z) / 3;
        iy = m * (h.x * h.x + h.z * h.z) / 3;
        iz = m * (h.x * h.x + h.y * h.y) / 3;
        break;
    default: result = ICF_RESULT_BAD_ARGUMENT;
    }
    // R diag(I) R', symmetric to the bit
    moments.x.x = ix * x.x * x.x + iy * y.x * y.x + iz * z.x * z.x;
    moments.y.y = ix * x.y * x.y + iy * y.y * y.y + iz * z.y * z.y;
    moments.z.z = ix * x.z * x.z + iy * y.z * y.z + iz * z.z * z.z;
    moments.x.y = moments.y.x = ix * x.x * x.y + iy * y.x * y.y + iz * z.x * z.y;
    moments.x.z = moments.z.x = ix * x.x * x.z + iy * y.x * y.z + iz * z.x * z.z;
    moments.y.z = moments.z.y = ix * x.y * x.z + iy * y.y * y.z + iz * z.y * z.z;
    out->mass = m;
    out->center = shape->pose.p;
    out->inertia = moments;
    return result;
}

ICF_API icf_mass_properties icf_mass_properties_add(icf_mass_properties a, icf_mass_properties b)
{
    icf_mass_properties c;
    icf_vec3 d = icf_vec3_sub(b.center, a.center);
    icf_real m;
    c.mass = a.mass + b.mass;
    if (!(c.mass > 0)) return a;

    // about the common centre: the two points of mass are as one reduced mass, d apart
    m = a.mass * (b.mass / c.mass);
    c.center = icf_vec3_add_scaled(a.center, b.mass / c.mass, d);
    c.inertia.x = icf_vec3_add(a.inertia.x, b.inertia.x);
    c.inertia.y = icf_vec3_add(a.inertia.y, b.inertia.y);
    c.inertia.z = icf_vec3_add(a.inertia.z, b.inertia.z);
    c.inertia.x.x += m * (d.y * d.y + d.z * d.z);
    c.inertia.y.y += m * (d.x * d.x + d.z * d.z);
    c.inertia.z.z += m * (d.x * d.x + d.y * d.y);
    c.inertia.x.y -= m * d.x * d.y;
    c.inertia.x.z -= m * d.x * d.z;
    c.inertia.y.z -= m * d.y * d.z;
    c.inertia.y.x = c.inertia.x.y;
    c.inertia.z.x = c.inertia.x.z;
    c.inertia.z.y = c.inertia.y.z;
    return c;
}

/* ---- rays. Directions are unit vectors here, and t a length. */

/* A ball around the origin. Compares the ray's distance from it with the radius, rather than squares of long
   distances with each other, which loses nothing. Answers t of the entry, or below 0. */
static icf_real icfi_gray_ball(icf_vec3 o, icf_vec3 d, icf_real radius)
{
    icf_real along = -icf_vec3_dot(o, d), across;
    icf_vec3 q = icf_vec3_add_scaled(o, along, d);
    across = ICF_SQRT(icf_vec3_dot(q, q));
    if (across > radius) return -1;
    return along - ICF_SQRT((radius - across) * (radius + across));
}

/* The round part of a capsule along z, and its ends; o is outside */
static icf_real icfi_gray_capsule(icf_vec3 o, icf_vec3 d, icf_real radius, icf_real l)
{
    icf_real square = d.x * d.x + d.y * d.y, best = -1, t, z, x, y, cross;
    int end;
    if (square > 0) {
        icf_real length = ICF_SQRT(square);
        cross = ICF_FABS(o.x * d.y - o.y * d.x) / length;
        if (cross > radius) return -1;
        t = (-(o.x * d.x + o.y * d.y) / length - ICF_SQRT((radius - cross) * (radius + cross))) /
            length;
        z = o.z + t * d.z;
        x = o.x * o.x + o.y * o.y;
        y = radius * radius;
        if (ICF_FABS(z) <= l && x > y) return t;
    }
    for (end = 0; end < 2; end++) {
        t = icfi_gray_ball(icf_vec3_make(o.x, o.y, o.z - (end ? l : -l)), d, radius);
        if (t >= 0 && (best < 0 || t < best)) best = t;
    }
    return best;
}

/* A box, and the number of the axis of the face that is entered. o is outside. */
static icf_real icfi_gray_box(icf_vec3 o, icf_vec3 d, icf_vec3 h, int* axis)
{
    icf_real range[2] = {-1, ICF_REAL_MAX};
    int k;
    *axis = 0;
    for (k = 0; k < 3; k++) {
        icf_real before = range[0];
        if (!icfi_gnarrow(icfi_gpart(o, k), icfi_gpart(d, k), icfi_gpart(h, k), range)) return -1;
        if (range[0] > before) *axis = k;
    }
    return range[0] <= range[1] ? range[0] : -1;
}

ICF_API int icf_shape_ray(const icf_shape* shape, const icf_transform* body, icf_vec3 origin,
                          icf_vec3 direction, icf_real t_most, icf_ray_hit* out)
{
    icfi_gplaced s = icfi_gput(shape, body);
    icf_separation near;
    icfi_gplace f;
    icf_vec3 o, d = direction, local, n = icf_vec3_make(0, 0, 0);
    icf_real length = icfi_gunit(&d), t;
    int axis = 0;
    if (!(length > 0) || !(t_most >= 0)) return 0;
    icf_shape_point(shape, body, origin, &near);
    if (near.distance <= 0) {
        out->t = 0;
        out->normal = icf_vec3_neg(d);
        return 1;
    }
    (void)icfi_glocate(&s, &f);
    o = icfi_gto(&f, icf_vec3_sub(origin, f.p));
    local = icfi_gto(&f, d);
    switch (shape->kind) {
    case ICF_SHAPE_SPHERE: t = icfi_gray_ball(o, local, shape->radius); break;
    case ICF_SHAPE_CAPSULE: t = icfi_gray_capsule(o, local, shape->radius, shape->half.z); break;
    case ICF_SHAPE_BOX:
        t = icfi_gray_box(o, local, shape->half, &axis);
        icfi_gset(&n, axis, icfi_gpart(local, axis) > 0 ? (icf_real)-1 : (icf_real)1);
        break;
    default: t = local.z < 0 ? -o.z / local.z : -1; n.z = 1;
    }
    if (!(t >= 0) || t > t_most * length) return 0;
    if (shape->kind == ICF_SHAPE_SPHERE || shape->kind == ICF_SHAPE_CAPSULE) {
        n = icf_vec3_add_scaled(o, t, local);
        if (shape->kind == ICF_SHAPE_CAPSULE) n.z -= icfi_gclamp(n.z, shape->half.z);
        icfi_gunit(&n);
    }
    out->t = t / length;
    out->normal = icfi_gfrom(&f, n);
    return 1;
}

// ------------------------------------------------------------------------------------------------
// Layer 11: manifolds: the contact patch of two shapes, as points
// >>manifolds
/* Offers to those below: icfi_gmanifold */

/* A small number, 1 and up, names the part of a shape on which a point is: of a box two bits for each
   coordinate, 1 at the lower side, 2 at the upper; of a capsule, its ends 1 and 2, or its side 3; of others
   1. A feature is the number on A plus 256 times that on B. A point within a tolerance of a corner counts as
   on it, so that corners that lie on each other keep their name while they tremble. */
static inline uint32_t icfi_gside(icf_real x, icf_real most)
{
    return (uint32_t)(x <= -most) | (uint32_t)(x >= most) << 1;
}

static uint32_t icfi_gbox_code(const icf_real x[3], const icf_real h[3], icf_real tolerance)
{
    return icfi_gside(x[0], h[0] - tolerance) | icfi_gside(x[1], h[1] - tolerance) << 2 |
           icfi_gside(x[2], h[2] - tolerance) << 4;
}

static inline uint32_t icfi_gcapsule_code(icf_real s, icf_real l, icf_real tolerance)
{
    uint32_t lower = s <= tolerance - l, upper = s >= l - tolerance;
    return 3u - (lower << 1 | (upper & ~lower));
}

static uint32_t icfi_gbox_code_at(icf_vec3 p, icf_vec3 half)
{
    icf_real x[3], h[3];
    icfi_gto3(p, x);
    icfi_gto3(half, h);
    return icfi_gbox_code(x, h, icfi_min(icfi_min(h[0], h[1]), h[2]) * ICF_R(0.015625));
}

/* The axis along which a vector reaches farthest, the first of several */
static int icfi_gmain_axis(icf_vec3 v)
{
    const icf_real x = ICF_FABS(v.x), y = ICF_FABS(v.y), z = ICF_FABS(v.z);
    return z > icfi_max(x, y) ? 2 : y > x;
}

static void icfi_gno_manifold(icf_manifold* out)
{
    out->count = 0;
    out->axis = 0;
    out->normal = icf_vec3_make(0, 0, 0);
    out->distance = ICF_REAL_MAX;
}

static void icfi_gadd_point(icf_manifold* out, icf_vec3 position, icf_real distance, icf_real area,
                            uint32_t a, uint32_t b)
{
    icf_manifold_point* p = &out->point[out->count++];
    p->position = position;
    p->distance = distance;
    p->area = area;
    p->feature = a | b << 8;
}

/* Adds the nearest point where a manifold has none so low: in place of a higher one of the same name, or as
   one more, or in place of the last. */
ICFI_INLINE void icfi_gadd_lowest(icf_manifold* out, icf_vec3 position, icf_real distance, int most,
                                  uint32_t a, uint32_t b)
{
    int k;
    for (k = 0; k < out->count; k++) {
        if (out->point[k].feature != (a | b << 8)) continue;
        if (distance >= out->point[k].distance) return;
        out->point[k].position = position;
        out->point[k].distance = distance;
        return;
    }
    if (out->count >= most) out->count = most - 1;
    icfi_gadd_point(out, position, distance, 0, a, b);
}

/* ---- a polygon of corners around, of which some are left out */

typedef struct icfi_gring {
    int count;
    int at[10];         // which corners, in order around, and room for one that is left out
    icf_real share[10]; // of the area
} icfi_gring;

/* Twice the area of the triangle of three corners */
static icf_real icfi_gtriangle(const icf_real* u, const icf_real* v, int a, int b, int c)
{
    return ICF_FABS((u[b] - u[a]) * (v[c] - v[a]) - (v[b] - v[a]) * (u[c] - u[a]));
}

/* Splits an area among the corners of a ring: each gets what lies between the middles of its two
   sides and the middle of the corners */
static void icfi_gring_share(icfi_gring* r, const icf_real* u, const icf_real* v, icf_real area)
{
    icf_real mu = 0, mv = 0, sum = 0, half[9];
    int k;
    for (k = 0; k < r->count; k++) {
        mu += u[r->at[k]] - u[r->at[0]];
        mv += v[r->at[k]] - v[r->at[0]];
    }
    mu = u[r->at[0]] + mu / (icf_real)r->count;
    mv = v[r->at[0]] + mv / (icf_real)r->count;
    for (k = 0; k < r->count; k++) {
        int a = r->at[k], b = r->at[k + 1 < r->count ? k + 1 : 0];
        half[k] = ICF_FABS((u[a] - mu) * (v[b] - mv) - (v[a] - mv) * (u[b] - mu));
        sum += half[k];
    }
    if (!(sum > 0)) {
        for (k = 0; k < r->count; k++) r->share[k] = area / (icf_real)r->count;
        return;
    }
    area /= 2 * sum;
    for (k = 0; k < r->count; k++) {
        r->share[k] = area * (half[k] + half[k ? k - 1 : r->count - 1]);
    }
}

static void icfi_gring_drop(icfi_gring* r, int k)
{
    r->count--;
    for (; k < r->count; k++) {
        r->at[k] = r->at[k + 1];
        r->share[k] = r->share[k + 1];
    }
}

/* Leaves out corners higher than the margin; their share goes to the others in proportion. */
static void icfi_gring_lower(icfi_gring* r, const icf_real* height, icf_real margin)
{
    int k, n = 0;
    icf_real all = 0, kept = 0;
    for (k = 0; k < r->count; k++) {
        int low = height[r->at[k]] <= margin;
        icf_real share = r->share[k];
        all += share;
        kept += low ? share : 0;
        r->at[n] = r->at[k];
        r->share[n] = share;
        n += low;
    }
    if (n < r->count && kept > 0) {
        all /= kept;
        for (k = 0; k < n; k++) r->share[k] *= all;
    }
    r->count = n;
}

/* Leaves out corners of the same name as the next one, and corners within a tolerance of the line of their
   neighbours, to which their share goes. The lowest stays, unless a neighbour is as low to within a part in
   65536 of the tolerance, which is 1e-6 of the size at most. */
static void icfi_gring_simplify(icfi_gring* r, const icf_real* u, const icf_real* v,
                                const icf_real* height, const uint32_t* code, int lowest,
                                icf_real tolerance)
{
    int k;
    icf_real level = tolerance / 65536;
    for (k = 0; k < r->count && r->count > 1;) {
        int next = k + 1 < r->count ? k + 1 : 0, a = r->at[k], b = r->at[next];
        icf_real both = r->share[k] + r->share[next];
        if (code[a] != code[b]) {
            k++;
            continue;
        }
        r->share[k] = r->share[next] = both;
        icfi_gring_drop(r, height[a] < height[b] || a == lowest ? next : k);
    }
    for (k = 0; k < r->count && r->count > 3;) {
        int before = k ? k - 1 : r->count - 1, after = k + 1 < r->count ? k + 1 : 0;
        int a = r->at[before], b = r->at[k], c = r->at[after];
        icf_real pu = u[b] - u[a], pv = v[b] - v[a], qu = u[c] - u[b], qv = v[c] - v[b];
        icf_real cross = pu * qv - pv * qu, square = (pu + qu) * (pu + qu) + (pv + qv) * (pv + qv);
        if (cross * cross < square * tolerance * tolerance && pu * qu + pv * qv > 0 &&
            (b != lowest || icfi_min(height[a], height[c]) - height[b] <= level)) {
            r->share[before] += r->share[k] / 2;
            r->share[after] += r->share[k] / 2;
            icfi_gring_drop(r, k);
        } else {
            k++;
        }
    }
}

/* Keeps `most` corners: the lowest, the one farthest from it, and then each time the one that adds the most
   area. Divides the area among them anew. */
static void icfi_gring_choose(icfi_gring* r, const icf_real* u, const icf_real* v,
                              const icf_real* height, int most)
{
    int chosen[9], k, n, best = 0;
    icf_real total = 0, value, most_value;
    if (r->count <= most) return;
    for (k = 0; k < r->count; k++) {
        chosen[k] = 0;
        total += r->share[k];
        if (height[r->at[k]] < height[r->at[best]]) best = k;
    }
    chosen[best] = 1;
    for (n = 1; n < most; n++) {
        int candidate = -1;
        most_value = -1;
        for (k = 0; k < r->count; k++) {
            if (chosen[k]) continue;
            if (n == 1) {
                icf_real du = u[r->at[k]] - u[r->at[best]], dv = v[r->at[k]] - v[r->at[best]];
                value = du * du + dv * dv;
            } else {
                // the triangle with the chosen neighbours on both sides
                int before = k, after = k;
                while (!chosen[before]) before = before ? before - 1 : r->count - 1;
                while (!chosen[after]) after = after + 1 < r->count ? after + 1 : 0;
                value = icfi_gtriangle(u, v, r->at[before], r->at[k], r->at[after]);
            }
            if (value > most_value) {
                most_value = value;
                candidate = k;
            }
        }
        if (candidate < 0) break;
        chosen[candidate] = 1;
    }
    n = 0;
    for (k = 0; k < r->count; k++) {
        if (chosen[k]) r->at[n++] = r->at[k];
    }
    r->count = n;
    icfi_gring_share(r, u, v, total);
}

/* ---- box and box */

/* At which of two lower and two upper sides x is, in the bits that `bit` says: icfi_gside twice */
ICFI_INLINE uint32_t icfi_gsides_of(icfi_gtwo x, icfi_gtwo most, const uint32_t bit[4])
{
    icfi_gtwo least = icfi_gsub2(icfi_gboth(0), most);
    return bit[icfi_gnot_less2(least, x)] | bit[icfi_gnot_less2(x, most)] << 1;
}

/* The corners of a patch that are not higher than the margin, their shares of its area, and their names;
   where some are left out, their shares go to the others in proportion. Answers the lowest. */
static inline int icfi_gpatch_ring(const icfi_gpatch* patch, icf_real margin, icfi_gring* r,
                                   uint32_t code[10])
{
    int i = patch->face, i1 = icfi_gnext(i), i2 = icfi_gnext(i1);
    int j = patch->face2, j1 = icfi_gnext(j), j2 = icfi_gnext(j1), k, n = 0, lowest = 0;
    int shift_a = 8 * patch->swapped, shift_b = 8 - shift_a;
    icf_real near = patch->tolerance;
    icfi_gtwo middle = icfi_gtwo_at(patch->map[0]),
              most = icfi_gsub2(icfi_gtwo_of(patch->a[i1], patch->a[i2]), icfi_gboth(near)),
              most_other =
                  icfi_gsub2(icfi_gboth(1), icfi_gdiv2(icfi_gboth(near),
                                                       icfi_gtwo_of(patch->b[j1], patch->b[j2]))),
              det = icfi_gboth(patch->det),
              own = icfi_gmul2(icfi_gtwo_of(patch->map[2][1], patch->map[1][0]), det),
              cross = icfi_gmul2(icfi_gtwo_of(patch->map[2][0], patch->map[1][1]), det);
    uint32_t base = (1u + (uint32_t)patch->above) << (2 * i + shift_a) |
                    (1u + (uint32_t)patch->above2) << (2 * j + shift_b);
    uint32_t bit[4], bit_other[4];
    const icf_real *us = patch->u, *vs = patch->v;
    icf_real pu = us[patch->count - 1] - patch->u_mean, pv = vs[patch->count - 1] - patch->v_mean,
             qu = us[0] - patch->u_mean, qv = vs[0] - patch->v_mean,
             before = ICF_FABS(pu * qv - pv * qu), sum = 0, kept = 0, least = ICF_REAL_MAX;
    bit[0] = bit_other[0] = 0;
    bit[1] = 1u << (2 * i1 + shift_a);
    bit[2] = 1u << (2 * i2 + shift_a);
    bit[3] = bit[1] | bit[2];
    bit_other[1] = 1u << (2 * j1 + shift_b);
    bit_other[2] = 1u << (2 * j2 + shift_b);
    bit_other[3] = bit_other[1] | bit_other[2];
    for (k = 0; k < patch->count; k++) {
        int next = k + 1 < patch->count ? k + 1 : 0;
        icfi_gtwo at = icfi_gtwo_of(us[k], vs[k]), d = icfi_gsub2(at, middle),
                  turned = icfi_gtwo_of(icfi_gone_of(d, 1), icfi_gone_of(d, 0));
        icf_real h = patch->height[k], after, share;
        int low = h <= margin;
        pu = qu;
        pv = qv;
        qu = us[next] - patch->u_mean;
        qv = vs[next] - patch->v_mean;
        after = ICF_FABS(pu * qv - pv * qu);
        share = before + after;
        sum += after;
        before = after;
        kept += low ? share : 0;
        d = icfi_gsub2(icfi_gmul2(d, own), icfi_gmul2(turned, cross));
        code[k] = base | icfi_gsides_of(at, most, bit) | icfi_gsides_of(d, most_other, bit_other);
        r->at[n] = k;
        r->share[n] = share;
        n += low;
        lowest = h < least ? k : lowest;
        least = icfi_min(h, least);
    }
    r->count = n;
    sum *= ICF_R(0.5) * ICF_FABS(patch->n[i]);
    sum = kept > 0 ? sum / kept : 0;
    for (k = 0; k < n; k++) r->share[k] *= sum;
    return lowest;
}

/* Whether icfi_gring_simplify would change nothing, as mostly. Answers 0 for sharp corners too. */
static inline int icfi_gring_is_simple(const icfi_gring* r, const icf_real* u, const icf_real* v,
                                       const uint32_t* code, icf_real tolerance)
{
    int k, found = 0, a = r->at[r->count - 1], b = r->at[0];
    icf_real pu = u[b] - u[a], pv = v[b] - v[a], limit = tolerance * tolerance;
    for (k = 0; k < r->count; k++) {
        int c = r->at[k + 1 < r->count ? k + 1 : 0];
        icf_real qu = u[c] - u[b], qv = v[c] - v[b], cross = pu * qv - pv * qu;
        icf_real square = (pu + qu) * (pu + qu) + (pv + qv) * (pv + qv);
        found |= (code[b] == code[c]) | (cross * cross < square * limit);
        b = c;
        pu = qu;
        pv = qv;
    }
    return !found;
}

/* The least half size of both boxes */
static inline icf_real icfi_gboxes_least(const icfi_gboxes* x)
{
    return icfi_min(icfi_min(icfi_min(x->a[0], x->a[1]), x->a[2]),
                    icfi_min(icfi_min(x->b[0], x->b[1]), x->b[2]));
}

/* Adds the point where the boxes are nearest, where the patch has none so low: a corner against an edge or a
   corner */
static ICFI_GNOINLINE void icfi_gwitness_point(const icfi_gboxes* x, const icfi_gplace* fa,
                                               const icfi_gaxis* axis, const icf_real p[3],
                                               const icf_real q[3], int most, icf_manifold* out)
{
    icf_real r[3], b[3], least = icfi_gboxes_least(x) * ICF_R(0.015625);
    icf_vec3 middle;
    int k;
    for (k = 0; k < 3; k++) r[k] = q[k] - x->t[k];
    for (k = 0; k < 3; k++) b[k] = icfi_gon_b(x, r, k);
    middle = icf_vec3_make(ICF_R(0.5) * (p[0] + q[0]), ICF_R(0.5) * (p[1] + q[1]),
                           ICF_R(0.5) * (p[2] + q[2]));
    middle = icf_vec3_add(fa->p, icfi_gfrom(fa, middle));
    icfi_gadd_lowest(out, middle, axis->s, most, icfi_gbox_code(p, x->a, least),
                     icfi_gbox_code(b, x->b, least));
}

/* Writes the points of a patch. Answers the height of the lowest. */
static ICFI_GNOINLINE icf_real icfi_gpatch_points(const icfi_gboxes* x, const icfi_gaxis* axis,
                                                  const icfi_gplace* fa, const icfi_gplace* fb,
                                                  icf_real margin, int most, icf_manifold* out)
{
    icfi_gpatch patch;
    icfi_gring ring;
    uint32_t code[10];
    icf_real slack;
    const icfi_gplace* f;
    icf_vec3 o, e1, e2, n;
    int k, lowest;
    // faces that just touch are there as a whole, whatever rounding makes of it
    slack = 16 * ICFI_GEPS * x->size;
    icfi_gboxes_patch(x, axis->n, margin + 2 * slack, &patch);
    if (!patch.count) return ICF_REAL_MAX;
    lowest = icfi_gpatch_ring(&patch, margin + slack, &ring, code);
    if (!ring.count) return ICF_REAL_MAX;
    if (ring.count > 1 && !icfi_gring_is_simple(&ring, patch.u, patch.v, code, patch.tolerance)) {
        icfi_gring_simplify(&ring, patch.u, patch.v, patch.height, code, lowest, patch.tolerance);
    }
    icfi_gring_choose(&ring, patch.u, patch.v, patch.height, most);

    // in the world, a corner is o + u along the one side of the face + v along the other + half its
    // height along the normal
    f = patch.swapped ? fb : fa;
    k = patch.face;
    o = icf_vec3_add_scaled(f->p, (icf_real)(2 * patch.above - 1) * patch.a[k], f->axis[k]);
    k = icfi_gnext(k);
    e1 = f->axis[k];
    e2 = f->axis[icfi_gnext(k)];
    n = icfi_gfrom(f, icfi_gfrom3(patch.n));
    for (k = 0; k < ring.count; k++) {
        int at = ring.at[k];
        icf_manifold_point* point = &out->point[k];
        icf_real half = ICF_R(0.5) * patch.height[at];
        icfi_gtwo xy = icfi_gtwo_of(o.x, o.y);
        xy = icfi_galong2(xy, icfi_gboth(patch.u[at]), icfi_gtwo_of(e1.x, e1.y));
        xy = icfi_galong2(xy, icfi_gboth(patch.v[at]), icfi_gtwo_of(e2.x, e2.y));
        xy = icfi_galong2(xy, icfi_gboth(half), icfi_gtwo_of(n.x, n.y));
        point->position.x = icfi_gone_of(xy, 0);
        point->position.y = icfi_gone_of(xy, 1);
        point->position.z = o.z + patch.u[at] * e1.z + patch.v[at] * e2.z + half * n.z;
        point->distance = patch.height[at];
        point->area = ring.share[k];
        point->feature = code[at];
    }
    out->count = ring.count;
    return patch.height[lowest];
}

static ICFI_GNOINLINE void icfi_gbox_box_manifold(const icfi_gplaced* a, const icfi_gplaced* b,
                                                  icf_real margin, int most, uint32_t previous,
                                                  icf_manifold* out)
{
    icfi_gplace room_a, room_b;
    const icfi_gplace *fa = icfi_glocate(a, &room_a), *fb = icfi_glocate(b, &room_b);
    icfi_gboxes x;
    icfi_gaxis axis;
    icf_real p[3], q[3], keep, lowest;
    int apart;
    icfi_gboxes_make(fa, a->shape->half, fb, b->shape->half, &x);
    keep = icfi_gboxes_least(&x) / 8192;
    if (!icfi_gboxes_axis(&x, margin, (int)previous, keep, &axis)) return;
    apart = axis.s > 0;
    if (apart) {
        icfi_gboxes_distance(&x, &axis, p, q);
        if (axis.s > margin) return;
    }
    out->axis = (uint32_t)axis.axis;
    out->distance = axis.s;
    out->normal = icfi_gfrom(fa, icfi_gfrom3(axis.n));
    lowest = icfi_gpatch_points(&x, &axis, fa, fb, margin, most, out);
    if (lowest > axis.s + 32 * ICFI_GEPS * x.size + 4 * keep) {
        if (!apart) (void)icfi_gboxes_witness(&x, &axis, p, q);
        icfi_gwitness_point(&x, fa, &axis, p, q, most, out);
    }
}

/* ---- the others */

static ICFI_GNOINLINE void icfi_gsphere_manifold(const icfi_gplaced* a, const icfi_gplaced* b,
                                                 icf_real margin, icf_manifold* out)
{
    const icf_shape* s = b->shape;
    icf_separation near;
    uint32_t code = 1;
    icfi_gplace room;
    icfi_gplaced at = icfi_gput(s, b->body); // of a box this is all the place, which names need too
    icf_vec3 p;
    at.place = s->kind == ICF_SHAPE_BOX ? icfi_glocate(b, &room) : b->place;
    icfi_gsphere_any(icfi_gcenter(a), a->shape->radius, &at, &near);
    if (near.distance > margin) return;
    p = icf_vec3_sub(near.point_b, icfi_gcenter(&at));
    if (s->kind == ICF_SHAPE_BOX) {
        code = icfi_gbox_code_at(icfi_gto(at.place, p), s->half);
    } else if (s->kind == ICF_SHAPE_CAPSULE) {
        code = icfi_gcapsule_code(icf_vec3_dot(icfi_gaxis_z(&at), p), s->half.z,
                                  s->half.z * ICF_R(0.015625));
    }
    out->normal = near.normal;
    out->distance = near.distance;
    p = icf_vec3_add_scaled(near.point_a, ICF_R(0.5) * near.distance, near.normal);
    icfi_gadd_point(out, p, near.distance, 0, 1, code);
}

/* Two capsules meet at their nearest points. If they lie nearly along each other, they also meet at both ends
   of the stretch where they run side by side. The gap at an end is the gap between two balls, one on each
   axis, measured along the normal. */
static ICFI_GNOINLINE void icfi_gcapsules_manifold(const icfi_gplaced* pa, const icfi_gplaced* pb,
                                                   icf_real margin, int most, icf_manifold* out)
{
    const icf_shape *a = pa->shape, *b = pb->shape;
    icf_vec3 p = icfi_gcenter(pa), u = icfi_gaxis_z(pa), v = icfi_gaxis_z(pb), w, e;
    icf_real la = a->half.z, lb = b->half.z, radius = a->radius + b->radius, along, du, low, high,
             tolerance, s, t, h, y, phi, least = ICF_REAL_MAX;
    icfi_gsegments near;
    int end;
    w = icf_vec3_sub(icfi_gcenter(pb), p);
    icfi_gsegments_nearest(w, u, la, v, lb, &near);
    if (near.d - radius > margin) return;
    out->distance = near.d - radius;
    out->normal = near.n;
    along = near.cosine;
    tolerance = icfi_min(icfi_min(la, lb), radius) * ICF_R(0.015625);
    du = icf_vec3_dot(u, w);
    low = icfi_max(-la, du - lb * ICF_FABS(along));
    high = icfi_min(la, du + lb * ICF_FABS(along));
    if (along * along > ICF_R(0.9375) && most > 1 && high - low > tolerance) {
        for (end = 0; end < 2; end++) {
            s = end ? high : low;
            t = icfi_gclamp((s - du) / along, lb);
            e = icf_vec3_add_scaled(icf_vec3_add_scaled(w, t, v), -s, u);
            h = icf_vec3_dot(e, near.n);
            e = icf_vec3_add_scaled(e, -h, near.n);
            y = icf_vec3_dot(e, e);
            if (y >= radius * radius) continue;
            phi = icfi_max(h - ICF_SQRT(radius * radius - y), out->distance);
            if (phi > margin + 16 * ICFI_GEPS * (radius + la + lb)) continue;
            // halfway between both surfaces
            h = ICF_R(0.5) * (a->radius + h - b->radius);
            e = icf_vec3_add_scaled(icf_vec3_scale(ICF_R(0.5), e), h, near.n);
            e = icf_vec3_add(icf_vec3_add_scaled(p, s, u), e);
            icfi_gadd_point(out, e, phi, 0, icfi_gcapsule_code(s, la, tolerance),
                            icfi_gcapsule_code(t, lb, tolerance));
            least = icfi_min(least, phi);
        }
    }
    if (least > out->distance + 4 * ICFI_GEPS * (radius + la + lb)) {
        h = a->radius + ICF_R(0.5) * out->distance;
        e = icf_vec3_add_scaled(icf_vec3_add_scaled(p, near.s, u), h, near.n);
        icfi_gadd_lowest(out, e, out->distance, most, icfi_gcapsule_code(near.s, la, tolerance),
                         icfi_gcapsule_code(near.t, lb, tolerance));
    }
}

/* range becomes the part of the segment that is over face k of the box as seen along n, low and high, then
   the height above that face at s = 0 and its slope. Answers 0 if no part is. */
static int icfi_gover_face(icf_vec3 p, icf_vec3 u, icf_real l, icf_vec3 h, icf_vec3 n, int k,
                           icf_real range[4])
{
    icf_real nk = icfi_gpart(n, k);
    icf_real height = (icfi_gpart(p, k) - icfi_gsign(nk) * icfi_gpart(h, k)) / nk;
    icf_real slope = icfi_gpart(u, k) / nk;
    int j;
    range[0] = -l;
    range[1] = l;
    range[2] = height;
    range[3] = slope;
    for (j = 0; j < 3; j++) {
        icf_real x = icfi_gpart(p, j) - height * icfi_gpart(n, j);
        icf_real ux = icfi_gpart(u, j) - slope * icfi_gpart(n, j);
        if (j != k && !icfi_gnarrow(x, ux, icfi_gpart(h, j), range)) return 0;
    }
    return range[0] <= range[1];
}

/* A point of a box, in its frame, and a gap along the normal there */
static ICFI_GNOINLINE void icfi_gadd_on_box(const icfi_gplace* f, icf_vec3 h, icf_vec3 x,
                                            icf_vec3 n, icf_real gap, int most, uint32_t code,
                                            icf_manifold* out)
{
    icf_vec3 middle = icfi_gfrom(f, icf_vec3_add_scaled(x, ICF_R(0.5) * gap, n));
    icfi_gadd_lowest(out, icf_vec3_add(f->p, middle), gap, most, code, icfi_gbox_code_at(x, h));
}

static ICFI_GNOINLINE void icfi_gcapsule_box_manifold(const icfi_gplaced* pa,
                                                      const icfi_gplaced* pb, icf_real margin,
                                                      int most, icf_manifold* out)
{
    icfi_gplace room;
    const icfi_gplace* fb = icfi_glocate(pb, &room);
    const icf_shape* a = pa->shape;
    icfi_gsegment_box_near near;
    icf_vec3 p, u, x, h = pb->shape->half, n;
    icf_real l = a->half.z, range[4], phi, tolerance, least = ICF_REAL_MAX, s, slack;
    int k, end, ends;
    p = icfi_gto(fb, icf_vec3_sub(icfi_gcenter(pa), fb->p));
    u = icfi_gto(fb, icfi_gaxis_z(pa));
    icfi_gsegment_box_distance(p, u, l, h, &near);
    if (near.d - a->radius > margin) return;
    n = near.n;
    out->distance = near.d - a->radius;
    out->normal = icf_vec3_neg(icfi_gfrom(fb, n));
    tolerance =
        icfi_min(icfi_min(icfi_min(h.x, h.y), icfi_min(h.z, a->radius)), l) * ICF_R(0.015625);
    slack = 16 * ICFI_GEPS * (h.x + h.y + h.z + l + a->radius);
    k = icfi_gmain_axis(n);
    if (l > 0 && icfi_gover_face(p, u, l, h, n, k, range)) {
        ends = most > 1 && range[1] - range[0] > tolerance ? 2 : 1;
        for (end = 0; end < ends; end++) {
            s = range[ends == 2 ? end : range[3] < 0];
            phi = range[2] + s * range[3] - a->radius;
            if (phi > margin + slack) continue;
            if (phi < out->distance) phi = out->distance; // by rounding alone
            // the point of the core, lowered to the face
            x = icf_vec3_add_scaled(icf_vec3_add_scaled(p, s, u), -phi - a->radius, n);
            least = icfi_min(least, phi);
            icfi_gadd_on_box(fb, h, x, n, phi, most, icfi_gcapsule_code(s, l, tolerance), out);
        }
    }
    if (least > out->distance + slack) {
        icfi_gadd_on_box(fb, h, near.q, n, out->distance, most,
                         icfi_gcapsule_code(near.s, l, tolerance), out);
    }
}

/* A capsule or box above a half-space: its ends, or the corners of its lowest face */
static ICFI_GNOINLINE void icfi_ghalf_space_manifold(const icfi_gplaced* pa, const icfi_gplaced* pb,
                                                     icf_real margin, int most, icf_manifold* out)
{
    icfi_gplace room;
    const icfi_gplace* fa = icfi_glocate(pa, &room);
    const icf_shape* a = pa->shape;
    icf_vec3 n = icfi_gaxis_z(pb), c = fa->p, corner[4], local, e, x;
    icf_real u[4], v[4], height[4], side, slack;
    icf_real level = icf_vec3_dot(n, icf_vec3_sub(c, icfi_gcenter(pb)));
    icfi_gring ring;
    int k, i1, i2, face;
    local = icfi_gto(fa, n);
    slack = 16 * ICFI_GEPS * (ICF_FABS(level) + a->radius + a->half.x + a->half.y + a->half.z);
    side = a->half.x * ICF_FABS(local.x) + a->half.y * ICF_FABS(local.y) +
           a->half.z * ICF_FABS(local.z) + a->radius;
    if (level - side > margin + slack) return; /* most are far above it */
    out->normal = icf_vec3_neg(n);
    if (a->kind == ICF_SHAPE_CAPSULE) {
        icf_real low = level - a->radius - a->half.z * ICF_FABS(local.z);
        out->distance = low;
        if (low <= margin) margin += slack;
        for (k = 0; k < 2; k++) {
            side = k ? a->half.z : -a->half.z;
            if ((most == 1 || !(a->half.z > 0)) && (k ? local.z >= 0 : local.z < 0)) continue;
            height[0] = level - a->radius + side * local.z;
            if (height[0] > margin) continue;
            x = icf_vec3_add_scaled(icf_vec3_add_scaled(c, side, fa->axis[2]),
                                    -a->radius - ICF_R(0.5) * height[0], n);
            icfi_gadd_point(out, x, height[0], 0, k ? 2u : 1u, 1);
        }
        if (!out->count) icfi_gno_manifold(out);
        return;
    }
    face = icfi_gmain_axis(local);
    ring.count = 4;
    out->distance = ICF_REAL_MAX;
    e = a->half;
    if (icfi_gpart(local, face) > 0) icfi_gset(&e, face, -icfi_gpart(e, face));
    i1 = icfi_gnext(face);
    i2 = icfi_gnext(i1);
    for (k = 0; k < 4; k++) {
        u[k] = k == 1 || k == 2 ? icfi_gpart(e, i1) : -icfi_gpart(e, i1);
        v[k] = k < 2 ? -icfi_gpart(e, i2) : icfi_gpart(e, i2);
        corner[k] = e;
        icfi_gset(&corner[k], i1, u[k]);
        icfi_gset(&corner[k], i2, v[k]);
        height[k] = level + icf_vec3_dot(local, corner[k]);
        out->distance = icfi_min(out->distance, height[k]);
        ring.at[k] = k;
    }
    side = ICF_FABS(4 * u[0] * v[0] * icfi_gpart(local, face));
    icfi_gring_share(&ring, u, v, side);
    icfi_gring_lower(&ring, height, out->distance <= margin ? margin + slack : margin);
    icfi_gring_choose(&ring, u, v, height, most);
    for (k = 0; k < ring.count; k++) {
        const int at = ring.at[k];
        x = icf_vec3_add(c, icfi_gfrom(fa, corner[at]));
        x = icf_vec3_add_scaled(x, ICF_R(-0.5) * height[at], n);
        icfi_gadd_point(out, x, height[at], ring.share[k], icfi_gbox_code_at(corner[at], a->half),
                        1);
    }
    if (!out->count) icfi_gno_manifold(out);
}

/* The number of an axis as seen from B: faces of A and B, and edges i and j, change places. */
static uint32_t icfi_gturned_axis(uint32_t axis)
{
    if (axis >= 1 && axis <= 6) return axis <= 3 ? axis + 3 : axis - 3;
    if (axis >= 7 && axis <= 15) return 7 + (axis - 7) % 3 * 3 + (axis - 7) / 3;
    return 0;
}

/* The manifold of two shapes. Where B comes before A, all is done from B, and then seen from A. */
static void icfi_gmanifold(const icfi_gplaced* a, const icfi_gplaced* b, icf_real margin,
                           int32_t most, uint32_t previous, icf_manifold* out)
{
    const int swap = icfi_pair_is_swapped(a, b);
    int k;
    icfi_gno_manifold(out);
    if (swap) {
        const icfi_gplaced* c = a;
        a = b;
        b = c;
        previous = icfi_gturned_axis(previous);
    }
    if (a->shape->kind == ICF_SHAPE_SPHERE) {
        icfi_gsphere_manifold(a, b, margin, out);
    } else if (b->shape->kind == ICF_SHAPE_HALF_SPACE) {
        icfi_ghalf_space_manifold(a, b, margin, most, out);
    } else if (a->shape->kind == ICF_SHAPE_BOX) {
        icfi_gbox_box_manifold(a, b, margin, most, previous, out);
    } else if (b->shape->kind == ICF_SHAPE_BOX) {
        icfi_gcapsule_box_manifold(a, b, margin, most, out);
    } else {
        icfi_gcapsules_manifold(a, b, margin, most, out);
    }
    if (swap) {
        out->normal = icf_vec3_neg(out->normal);
        out->axis = icfi_gturned_axis(out->axis);
        for (k = 0; k < out->count; k++) {
            uint32_t feature = out->point[k].feature;
            out->point[k].feature = feature >> 8 | (feature & 255u) << 8;
        }
    }
}

ICF_API icf_result icf_manifold_make(const icf_shape* a, const icf_transform* body_a,
                                     const icf_shape* b, const icf_transform* body_b,
                                     icf_real margin, int32_t most, uint32_t previous_axis,
                                     icf_manifold* out)
{
    icfi_gplaced pa = icfi_gput(a, body_a), pb = icfi_gput(b, body_b);
    if ((a->kind == ICF_SHAPE_HALF_SPACE && b->kind == ICF_SHAPE_HALF_SPACE) || most < 1 ||
        most > ICF_MANIFOLD_POINTS || !(margin >= 0)) {
        icfi_gno_manifold(out);
        return ICF_RESULT_BAD_ARGUMENT;
    }
    icfi_gmanifold(&pa, &pb, margin, most, previous_axis, out);
    return ICF_RESULT_OK;
}

// ------------------------------------------------------------------------------------------------
// Layer 12: broad phase
// >>broad-phase

/* Proxies are sorted along a curve that fills space, and every eight in that order are a pack; the
   boxes around eight packs are a pack of the next level, and so on up to one. There are no pointers in
   this tree, not even indices: child i of pack p is number 8 p + i of the level below. A proxy that
   moves keeps its place and its packs grow, until enough have moved that sorting all again pays.

   Measured: for 100000 moving boxes of one size this takes a third of the time of a hashed grid, because
   it compares eight boxes at once, and neighbours in space are neighbours in memory. Unlike a grid it has no
   cells, so sizes may be mixed: small and large are sorted apart.

   Boxes are kept as floats, rounded outward. Lanes without a proxy have a lower corner above all
   others. */
#define ICFI_GLANES 8
#define ICFI_GFAR ICF_R(1.5e38)
#define ICFI_GNOWHERE (FLT_MAX)
#define ICFI_GPROXIES_MOST ((int32_t)1 << 27)
#define ICFI_GBROAD_COOKIE 0x1cf6b0a1
#define ICFI_GBROAD_DEF_COOKIE 0x1cf6b0de

typedef struct icfi_gpack {
    float lower[3][ICFI_GLANES], upper[3][ICFI_GLANES];
} icfi_gpack;

typedef struct icfi_gbox {
    float lower[3], upper[3];
} icfi_gbox;

#if !defined(ICF_NO_SIMD) && (defined(__GNUC__) || defined(__clang__)) && defined(__SSE__) && \
    !defined(__TINYC__)
#define ICFI_GSSE
typedef float icfi_gfour __attribute__((vector_size(16), aligned(4), may_alias));
typedef float icfi_gfour_aligned __attribute__((vector_size(16)));
#endif

/* ---- where everything is in the block */

#define ICFI_GAT(type, b, at) ((type*)(void*)((char*)(b) + (at)))
#define ICFI_GAT_CONST(type, b, at) ((const type*)(const void*)((const char*)(b) + (at)))

static inline icfi_gpack* icfi_gpacks(icf_broad_phase* b, int level)
{
    return ICFI_GAT(icfi_gpack, b, b->at_pack) + b->level_at[level];
}

static inline const icfi_gpack* icfi_gpacks_const(const icf_broad_phase* b, int level)
{
    return ICFI_GAT_CONST(icfi_gpack, b, b->at_pack) + b->level_at[level];
}

ICF_API icf_broad_phase_def icf_default_broad_phase_def(void)
{
    icf_broad_phase_def def;
    def.proxies_most = 1024;
    def.pairs_most = 4096;
    def.margin = 0;
    def.fraction = ICF_R(0.05);
    def.cookie = ICFI_GBROAD_DEF_COOKIE;
    return def;
}

static size_t icfi_gtake(size_t* used, uint64_t bytes)
{
    size_t at = *used;
    if (at == (size_t)-1 || bytes > ((size_t)-1 - 64 - at)) {
        *used = (size_t)-1;
        return 0;
    }
    *used = (at + (size_t)bytes + 31) / 32 * 32;
    return at;
}

/* An empty broad phase: all that follows from the def, and the rest 0 */
static icf_result icfi_gbroad_layout(const icf_broad_phase_def* def, icf_broad_phase* b)
{
    size_t used = 0;
    uint64_t n, packs, m, count;
    int level;
    ICFI_GFILL(b, 0, sizeof *b);
    if (!def || def->cookie != ICFI_GBROAD_DEF_COOKIE) return ICF_RESULT_BAD_DEF;
    if (def->proxies_most < 1 || def->proxies_most > ICFI_GPROXIES_MOST || def->pairs_most < 0 ||
        !(def->margin >= 0) || !(def->fraction >= 0) || def->margin > ICFI_GFAR ||
        def->fraction > 1000) {
        return ICF_RESULT_BAD_ARGUMENT;
    }
    n = (uint64_t)def->proxies_most;
    m = (uint64_t)def->pairs_most;
    b->proxies_most = def->proxies_most;
    b->pairs_most = def->pairs_most;
    b->cookie = ICFI_GBROAD_COOKIE;
    b->free_slot = -1;
    b->levels = 1;
    b->margin = def->margin;
    b->fraction = def->fraction;

    packs = 0;
    count = n;
    for (level = 0; level < 12; level++) {
        count = (count + ICFI_GLANES - 1) / ICFI_GLANES;
        b->level_at[level] = (int32_t)packs;
        packs += count;
    }
    icfi_gtake(&used, sizeof *b);
    b->at_box = icfi_gtake(&used, n * sizeof(icfi_gbox));
    b->at_slot = icfi_gtake(&used, n * 4);
    b->at_id = icfi_gtake(&used, (n + 7) / 8 * 8 * 4);
    b->at_group = icfi_gtake(&used, n * 4);
    b->at_flag = icfi_gtake(&used, n);
    b->at_moved = icfi_gtake(&used, n * 4);
    b->at_pack = icfi_gtake(&used, packs * sizeof(icfi_gpack));
    b->at_list[0] = icfi_gtake(&used, m * sizeof(icf_pair));
    b->at_list[1] = icfi_gtake(&used, m * sizeof(icf_pair));
    b->at_count = icfi_gtake(&used, (n + 1 > 2048 ? n + 1 : 2048) * 4);
    b->at_key[0] = icfi_gtake(&used, n * 8);
    b->at_key[1] = icfi_gtake(&used, n * 8);
    b->at_order[0] = icfi_gtake(&used, n * 4);
    b->at_order[1] = icfi_gtake(&used, n * 4);
    if (used == (size_t)-1) return ICF_RESULT_OVERFLOW;
    b->bytes = used;
    return ICF_RESULT_OK;
}

ICF_API size_t icf_broad_phase_bytes(const icf_broad_phase_def* def)
{
    icf_broad_phase b;
    return icfi_gbroad_layout(def, &b) == ICF_RESULT_OK ? b.bytes : 0;
}

/* A block starts with no proxy at all. All of it is written, so that blocks that were filled in the same
   way are the same bytes. */
ICF_API icf_result icf_broad_phase_init(void* memory, size_t bytes, const icf_broad_phase_def* def,
                                        icf_broad_phase** out)
{
    icf_broad_phase b;
    icf_result result;
    int32_t k;
    if (!out) return ICF_RESULT_BAD_ARGUMENT;
    *out = NULL;
    result = icfi_gbroad_layout(def, &b);
    if (result != ICF_RESULT_OK) return result;
    if (!memory) return ICF_RESULT_BAD_ARGUMENT;
    if ((uintptr_t)memory % (sizeof(double) < 8 ? sizeof(double) : (size_t)8)) {
        return ICF_RESULT_MISALIGNED;
    }
    if (bytes < b.bytes) return ICF_RESULT_TOO_SMALL;
    ICFI_GFILL(memory, 0, b.bytes);
    ICFI_GCOPY(memory, &b, sizeof b);
    *out = (icf_broad_phase*)memory;
    for (k = 0; k < b.proxies_most; k++) ICFI_GAT(int32_t, *out, b.at_slot)[k] = -1;
    return ICF_RESULT_OK;
}

/* ---- boxes */

static inline float icfi_gfloat_below(icf_real x)
{
    float f;
    if (x < -ICFI_GFAR) return -(float)ICFI_GFAR;
    if (x > ICFI_GFAR) return (float)ICFI_GFAR;
    f = (float)x;
    if ((icf_real)f > x) f -= (f < 0 ? -f : f) * FLT_EPSILON + FLT_MIN;
    return f;
}

static inline float icfi_gfloat_above(icf_real x)
{
    return -icfi_gfloat_below(-x);
}

/* As floats, rounded outward */
static void icfi_gbox_query(const icf_aabb* box, icfi_gbox* out)
{
    int k;
    for (k = 0; k < 3; k++) {
        out->lower[k] = icfi_gfloat_below(icfi_gpart(box->lower, k));
        out->upper[k] = icfi_gfloat_above(icfi_gpart(box->upper, k));
    }
}

/* The sum of the sides that are not endless, or below 0 if lower is above upper somewhere */
static inline icf_real icfi_gsides(const icf_aabb* box)
{
    icf_real x = box->upper.x - box->lower.x, y = box->upper.y - box->lower.y,
             z = box->upper.z - box->lower.z, most = ICFI_GFAR;
    if (!(x >= 0 && y >= 0 && z >= 0)) return -1;
    return (x < most ? x : 0) + (y < most ? y : 0) + (z < most ? z : 0);
}

/* The larger box: by the margin, and the fraction of the mean side */
static void icfi_gbox_around(const icf_broad_phase* b, const icf_aabb* box, icfi_gbox* out)
{
    icf_real m = b->margin + b->fraction * icfi_gsides(box) / 3;
    icf_aabb large;
    large.lower = icf_vec3_make(box->lower.x - m, box->lower.y - m, box->lower.z - m);
    large.upper = icf_vec3_make(box->upper.x + m, box->upper.y + m, box->upper.z + m);
    icfi_gbox_query(&large, out);
}

static inline int icfi_gboxes_touch(const icfi_gbox* a, const icfi_gbox* b)
{
    return a->lower[0] <= b->upper[0] && b->lower[0] <= a->upper[0] && a->lower[1] <= b->upper[1] &&
           b->lower[1] <= a->upper[1] && a->lower[2] <= b->upper[2] && b->lower[2] <= a->upper[2];
}

/* Which lanes of a pack touch a box, as bits */
#ifdef ICFI_GSSE
static inline unsigned icfi_gpack_touch(const icfi_gpack* p, const icfi_gbox* q)
{
    unsigned bits = 0;
    int half;
    for (half = 0; half < 2; half++) {
        const float* lower = &p->lower[0][4 * half];
        const float* upper = &p->upper[0][4 * half];
        icfi_gfour_aligned apart;
#define ICFI_GLOAD(from) (*(const icfi_gfour*)(const void*)(from))
#define ICFI_GALL(x) \
    { \
        (x), (x), (x), (x) \
    }
        const icfi_gfour_aligned l0 = ICFI_GALL(q->lower[0]), l1 = ICFI_GALL(q->lower[1]),
                                 l2 = ICFI_GALL(q->lower[2]), u0 = ICFI_GALL(q->upper[0]),
                                 u1 = ICFI_GALL(q->upper[1]), u2 = ICFI_GALL(q->upper[2]);
        apart =
            (icfi_gfour_aligned)((ICFI_GLOAD(lower) <= u0) & (ICFI_GLOAD(upper) >= l0) &
                                 (ICFI_GLOAD(lower + 8) <= u1) & (ICFI_GLOAD(upper + 8) >= l1) &
                                 (ICFI_GLOAD(lower + 16) <= u2) & (ICFI_GLOAD(upper + 16) >= l2));
        bits |= (unsigned)__builtin_ia32_movmskps(apart) << (4 * half);
#undef ICFI_GALL
#undef ICFI_GLOAD
    }
    return bits;
}
#else
static inline unsigned icfi_gpack_touch(const icfi_gpack* p, const icfi_gbox* q)
{
    unsigned bits = 0;
    int i;
    for (i = 0; i < ICFI_GLANES; i++) {
        unsigned x =
            (unsigned)(p->lower[0][i] <= q->upper[0]) & (unsigned)(p->upper[0][i] >= q->lower[0]);
        unsigned y =
            (unsigned)(p->lower[1][i] <= q->upper[1]) & (unsigned)(p->upper[1][i] >= q->lower[1]);
        unsigned z =
            (unsigned)(p->lower[2][i] <= q->upper[2]) & (unsigned)(p->upper[2][i] >= q->lower[2]);
        bits |= (x & y & z) << i;
    }
    return bits;
}
#endif

/* The lowest bit that is set, of at least one */
static inline int icfi_glowest_bit(unsigned bits)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctz(bits);
#else
    int i = 0;
    while (!(bits >> i & 1u)) i++;
    return i;
#endif
}

static inline void icfi_gpack_get(const icfi_gpack* p, int lane, icfi_gbox* out)
{
    int k;
    for (k = 0; k < 3; k++) {
        out->lower[k] = p->lower[k][lane];
        out->upper[k] = p->upper[k][lane];
    }
}

static inline void icfi_gpack_set(icfi_gpack* p, int lane, const icfi_gbox* box)
{
    int k;
    for (k = 0; k < 3; k++) {
        p->lower[k][lane] = box->lower[k];
        p->upper[k][lane] = box->upper[k];
    }
}

static void icfi_gbox_nowhere(icfi_gbox* out)
{
    int k;
    for (k = 0; k < 3; k++) {
        out->lower[k] = ICFI_GNOWHERE;
        out->upper[k] = -ICFI_GNOWHERE;
    }
}

/* The box around all lanes */
static void icfi_gpack_bounds(const icfi_gpack* p, icfi_gbox* out)
{
    int i, k;
    for (k = 0; k < 3; k++) {
        float low = p->lower[k][0], high = p->upper[k][0];
        for (i = 1; i < ICFI_GLANES; i++) {
            low = p->lower[k][i] < low ? p->lower[k][i] : low;
            high = p->upper[k][i] > high ? p->upper[k][i] : high;
        }
        out->lower[k] = low;
        out->upper[k] = high;
    }
}

/* ---- the tree */

static void icfi_gpack_clear(icfi_gpack* p)
{
    icfi_gbox nowhere;
    int i;
    icfi_gbox_nowhere(&nowhere);
    for (i = 0; i < ICFI_GLANES; i++) icfi_gpack_set(p, i, &nowhere);
}

/* Writes the box of a slot, or of a pack into the level above. */
static void icfi_gslot_set(icf_broad_phase* b, int level, int32_t at, const icfi_gbox* box)
{
    icfi_gpack_set(icfi_gpacks(b, level) + at / ICFI_GLANES, (int)(at % ICFI_GLANES), box);
}

/* Makes the box of a pack tight again, in the level above. */
static void icfi_gtree_fit_pack(icf_broad_phase* b, int level, int32_t pack)
{
    icfi_gbox box;
    icfi_gpack_bounds(icfi_gpacks(b, level) + pack, &box);
    icfi_gslot_set(b, level + 1, pack, &box);
}

/* Makes sure that there are packs for the slot at all levels; the top one has one pack */
static void icfi_gtree_reach(icf_broad_phase* b, int32_t slot)
{
    int level;
    int32_t pack = slot, k;
    for (level = 0;; level++) {
        pack /= ICFI_GLANES;
        while (b->level_count[level] <= pack) {
            icfi_gpack_clear(icfi_gpacks(b, level) + b->level_count[level]++);
        }
        if (level + 1 >= b->levels) {
            if (b->level_count[level] == 1) break;
            // one more level above: it begins as the boxes of the packs of what was the top
            b->levels = level + 2;
            icfi_gpack_clear(icfi_gpacks(b, level + 1));
            b->level_count[level + 1] = 1;
            for (k = 0; k < b->level_count[level] && k < ICFI_GLANES; k++) {
                icfi_gtree_fit_pack(b, level, k);
            }
        }
    }
}

/* Writes a box into its slot, and lets the packs above grow around it */
static void icfi_gtree_set(icf_broad_phase* b, int32_t slot, const icfi_gbox* box)
{
    int level, k;
    int32_t pack = slot / ICFI_GLANES;
    icfi_gslot_set(b, 0, slot, box);
    for (level = 1; level < b->levels; level++) {
        icfi_gpack* p = icfi_gpacks(b, level) + pack / ICFI_GLANES;
        int grown = 0, lane = (int)(pack % ICFI_GLANES);
        pack /= ICFI_GLANES;
        for (k = 0; k < 3; k++) {
            if (box->lower[k] < p->lower[k][lane]) {
                p->lower[k][lane] = box->lower[k];
                grown = 1;
            }
            if (box->upper[k] > p->upper[k][lane]) {
                p->upper[k][lane] = box->upper[k];
                grown = 1;
            }
        }
        if (!grown) break;
    }
}

/* The boxes of all packs */
static void icfi_gtree_fit(icf_broad_phase* b)
{
    int level;
    int32_t i;
    for (level = 0; level + 1 < b->levels; level++) {
        for (i = 0; i < b->level_count[level]; i++) icfi_gtree_fit_pack(b, level, i);
    }
}

/* The boxes of the packs that hold a slot */
static void icfi_gtree_fit_above(icf_broad_phase* b, int32_t slot)
{
    int level;
    for (level = 0; level + 1 < b->levels; level++) {
        slot /= ICFI_GLANES;
        icfi_gtree_fit_pack(b, level, slot);
    }
}

/* ---- sorting */

/* Two zero bits before each of the low 19 bits */
static uint64_t icfi_gspread(uint32_t x)
{
    uint64_t v = x & 0x7ffffu;
    v = (v | v << 32) & ((uint64_t)0x001f0000u << 32 | 0x0000ffffu);
    v = (v | v << 16) & ((uint64_t)0x001f0000u << 32 | 0xff0000ffu);
    v = (v | v << 8) & ((uint64_t)0x100f00f0u << 32 | 0x0f00f00fu);
    v = (v | v << 4) & ((uint64_t)0x10c30c30u << 32 | 0xc30c30c3u);
    v = (v | v << 2) & ((uint64_t)0x12492492u << 32 | 0x49249249u);
    return v;
}

/* The middle of the box in a slot, along an axis; 0 if there is none, or it is not within low .. high */
static inline int icfi_gslot_middle(const icf_broad_phase* b, int32_t slot, int k, double low,
                                    double high, double* out)
{
    const int32_t id = ICFI_GAT_CONST(int32_t, b, b->at_id)[slot];
    const icfi_gbox* box = ICFI_GAT_CONST(icfi_gbox, b, b->at_box) + (id < 0 ? 0 : id);
    *out = (double)0.5 * ((double)box->lower[k] + (double)box->upper[k]);
    return id >= 0 && !(*out < low || *out > high);
}

/* Where most proxies are along an axis: their mean and how far they are from it, taken again of those
   within four times that, until nothing much is left out. One body that falls for ever so does not
   make all others look as if they were in the same place. */
static void icfi_gspan(const icf_broad_phase* b, int k, float* from, float* scale)
{
    double low = -(double)ICFI_GFAR, high = (double)ICFI_GFAR, mean, apart, x;
    int pass;
    int32_t i;
    for (pass = 0; pass < 8; pass++) {
        double sum = 0, l = high, h = low;
        int32_t n = 0;
        for (i = 0; i < b->slots; i++) {
            if (!icfi_gslot_middle(b, i, k, low, high, &x)) continue;
            l = x < l ? x : l;
            h = x > h ? x : h;
            sum += x;
            n++;
        }
        low = l;
        high = h;
        if (n < 2) break;
        mean = sum / n;
        sum = 0;
        for (i = 0; i < b->slots; i++) {
            if (!icfi_gslot_middle(b, i, k, low, high, &x)) continue;
            sum += x < mean ? mean - x : x - mean;
        }
        apart = 4 * sum / n;
        if (mean - low <= 2 * apart && high - mean <= 2 * apart) break;
        low = low < mean - apart ? mean - apart : low;
        high = high > mean + apart ? mean + apart : high;
    }
    *from = (float)low;
    *scale = high > low && (float)(high - low) > 0 ? 524287 / (float)(high - low) : 0;
}

/* The place on the curve; larger boxes, by powers of four, after all smaller ones */
static uint64_t icfi_gkey(const icfi_gbox* box, const float from[3], const float scale[3])
{
    float largest = 0;
    uint64_t key = 0, size = 0;
    int k;
    for (k = 0; k < 3; k++) {
        float x = (box->lower[k] / 2 + box->upper[k] / 2 - from[k]) * scale[k];
        float side = box->upper[k] - box->lower[k];
        uint32_t cell = x > 0 ? x < 524287 ? (uint32_t)x : 524287u : 0u;
        key |= icfi_gspread(cell) << k;
        largest = side > largest ? side : largest;
    }
    // 2^-20 m and smaller is 0, 2^42 and larger 31
    largest *= 1048576;
    while (largest > 1 && size < 31) {
        largest /= 4;
        size++;
    }
    return size << 57 | key;
}

/* Turns counts into where each begins. */
static void icfi_gstarts(int32_t* count, int32_t n)
{
    int32_t i, sum = 0;
    for (i = 0; i < n; i++) {
        int32_t c = count[i];
        count[i] = sum;
        sum += c;
    }
}

/* Sorts keys and what goes with them by 11 bits at a time. Passes in which all have the same bits are
   left out. Answers which of the two arrays has the result. */
static int icfi_gsort_keys(icf_broad_phase* b, int32_t n)
{
    int32_t* count = ICFI_GAT(int32_t, b, b->at_count);
    int from = 0, shift;
    int32_t i;
    for (shift = 0; shift < 64; shift += 11) {
        const uint64_t* key = ICFI_GAT(uint64_t, b, b->at_key[from]);
        const int32_t* order = ICFI_GAT(int32_t, b, b->at_order[from]);
        uint64_t* to_key = ICFI_GAT(uint64_t, b, b->at_key[1 - from]);
        int32_t* to_order = ICFI_GAT(int32_t, b, b->at_order[1 - from]);
        for (i = 0; i < 2048; i++) count[i] = 0;
        for (i = 0; i < n; i++) count[key[i] >> shift & 2047u]++;
        if (count[key[0] >> shift & 2047u] == n) continue;
        icfi_gstarts(count, 2048);
        for (i = 0; i < n; i++) {
            int32_t at = count[key[i] >> shift & 2047u]++;
            to_key[at] = key[i];
            to_order[at] = order[i];
        }
        from = 1 - from;
    }
    return from;
}

/* Gives all proxies new slots, along the curve, and makes the tree anew */
static void icfi_gtree_sort(icf_broad_phase* b)
{
    icfi_gbox* box = ICFI_GAT(icfi_gbox, b, b->at_box);
    int32_t* slot = ICFI_GAT(int32_t, b, b->at_slot);
    int32_t* id = ICFI_GAT(int32_t, b, b->at_id);
    uint64_t* key = ICFI_GAT(uint64_t, b, b->at_key[0]);
    int32_t* order = ICFI_GAT(int32_t, b, b->at_order[0]);
    float from[3], scale[3];
    int32_t i, n = 0;
    int k, level;
    for (k = 0; k < 3; k++) icfi_gspan(b, k, &from[k], &scale[k]);
    for (i = 0; i < b->slots; i++) {
        if (id[i] < 0) continue;
        key[n] = icfi_gkey(&box[id[i]], from, scale);
        order[n++] = id[i];
    }
    order = ICFI_GAT(int32_t, b, b->at_order[n ? icfi_gsort_keys(b, n) : 0]);
    b->slots = n;
    b->free_slot = -1;
    b->levels = 1;
    for (level = 0; level < 12; level++) b->level_count[level] = 0;
    if (n) icfi_gtree_reach(b, n - 1);
    for (i = 0; i < n; i++) {
        id[i] = order[i];
        slot[order[i]] = i;
        icfi_gslot_set(b, 0, i, &box[order[i]]);
    }
    icfi_gtree_fit(b);
    b->strays = 0;
    b->drift = 0;
    b->waste = 0;
    b->sorts++;
}

/* ---- proxies come, go and move */

static void icfi_gmark(icf_broad_phase* b, int32_t proxy)
{
    unsigned char* flag = ICFI_GAT(unsigned char, b, b->at_flag);
    if (flag[proxy]) return;
    flag[proxy] = 1;
    ICFI_GAT(int32_t, b, b->at_moved)[b->changed++] = proxy;
}

static icf_result icfi_gcheck_box(const icf_aabb* box)
{
    if (!box) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_gfinite3(box->lower) || !icfi_gfinite3(box->upper)) return ICF_RESULT_NOT_FINITE;
    return icfi_gsides(box) >= 0 ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT;
}

static int icfi_gis_proxy(const icf_broad_phase* b, int32_t proxy)
{
    return proxy >= 0 && proxy < b->proxies_most &&
           ICFI_GAT_CONST(int32_t, b, b->at_slot)[proxy] >= 0;
}

ICF_API icf_result icf_broad_phase_add(icf_broad_phase* b, int32_t proxy, const icf_aabb* box,
                                       int32_t group)
{
    int32_t* id = ICFI_GAT(int32_t, b, b->at_id);
    icfi_gbox* at;
    icf_result result = icfi_gcheck_box(box);
    int32_t slot;
    if (result != ICF_RESULT_OK) return result;
    if (proxy < 0 || proxy >= b->proxies_most || icfi_gis_proxy(b, proxy)) {
        return ICF_RESULT_BAD_ARGUMENT;
    }
    if (b->slots < b->proxies_most) {
        slot = b->slots++;
        icfi_gtree_reach(b, slot);
    } else {
        slot = b->free_slot;
        b->free_slot = -2 - id[slot];
    }
    id[slot] = proxy;
    ICFI_GAT(int32_t, b, b->at_slot)[proxy] = slot;
    ICFI_GAT(int32_t, b, b->at_group)[proxy] = group;
    at = ICFI_GAT(icfi_gbox, b, b->at_box) + proxy;
    icfi_gbox_around(b, box, at);
    icfi_gtree_set(b, slot, at);
    icfi_gmark(b, proxy);
    b->proxies++;
    b->strays++;
    return ICF_RESULT_OK;
}

/* Free slots are a list: each has -2 less the number of the next, or -1 at the end */
ICF_API icf_result icf_broad_phase_remove(icf_broad_phase* b, int32_t proxy)
{
    int32_t* slots = ICFI_GAT(int32_t, b, b->at_slot);
    int32_t slot;
    icfi_gbox nowhere;
    if (!icfi_gis_proxy(b, proxy)) return ICF_RESULT_BAD_ARGUMENT;
    slot = slots[proxy];
    slots[proxy] = -1;
    icfi_gbox_nowhere(&nowhere);
    icfi_gslot_set(b, 0, slot, &nowhere);
    ICFI_GAT(int32_t, b, b->at_id)[slot] = -2 - b->free_slot;
    b->free_slot = slot;
    icfi_gmark(b, proxy);
    b->proxies--;
    b->strays++;
    return ICF_RESULT_OK;
}

/* Whether a box, along one axis `lower` to `upper`, lies within a larger one, `from` to `to`. A larger box
   that ends at ICFI_GFAR has no end on that side. */
static inline int icfi_gwithin(icf_real lower, icf_real upper, float from, float to)
{
    return ((lower >= (icf_real)from) | (from <= -(float)ICFI_GFAR)) &
           ((upper <= (icf_real)to) | (to >= (float)ICFI_GFAR));
}

ICF_API icf_result icf_broad_phase_move(icf_broad_phase* b, int32_t proxy, const icf_aabb* box)
{
    icfi_gbox *at, old;
    icf_real sides, room;
    icf_result result;
    if (!box || !icfi_gis_proxy(b, proxy)) return ICF_RESULT_BAD_ARGUMENT;
    at = ICFI_GAT(icfi_gbox, b, b->at_box) + proxy;

    // inside still, and not much smaller than it was when the larger box was made
    if (icfi_gwithin(box->lower.x, box->upper.x, at->lower[0], at->upper[0]) &&
        icfi_gwithin(box->lower.y, box->upper.y, at->lower[1], at->upper[1]) &&
        icfi_gwithin(box->lower.z, box->upper.z, at->lower[2], at->upper[2])) {
        sides = icfi_gsides(box);
        room = (icf_real)(at->upper[0] - at->lower[0]) + (icf_real)(at->upper[1] - at->lower[1]) +
               (icf_real)(at->upper[2] - at->lower[2]);
        if (room <= sides * (ICF_R(1.5) + 3 * b->fraction) + 9 * b->margin || room > ICFI_GFAR) {
            return sides >= 0 ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT;
        }
    }
    result = icfi_gcheck_box(box);
    if (result != ICF_RESULT_OK) return result;
    old = *at;
    icfi_gbox_around(b, box, at);
    icfi_gtree_set(b, ICFI_GAT(int32_t, b, b->at_slot)[proxy], at);
    icfi_gmark(b, proxy);
    b->drift++;
    if (!icfi_gboxes_touch(&old, at)) b->strays++;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_broad_phase_get_box(const icf_broad_phase* b, int32_t proxy, icf_aabb* out)
{
    const icfi_gbox* box;
    int k;
    if (!icfi_gis_proxy(b, proxy)) return ICF_RESULT_BAD_ARGUMENT;
    box = ICFI_GAT_CONST(icfi_gbox, b, b->at_box) + proxy;
    for (k = 0; k < 3; k++) {
        icfi_gset(&out->lower, k, (icf_real)box->lower[k]);
        icfi_gset(&out->upper, k, (icf_real)box->upper[k]);
    }
    return ICF_RESULT_OK;
}

/* ---- pairs */

/* Pairs that are found: written to the list that is not in use, and only counted where that is full */
typedef struct icfi_gfound {
    icf_pair* list;
    int64_t count, most;
    const int32_t *id, *group;
    const unsigned char* moved;
} icfi_gfound;

static inline void icfi_gfound_add(icfi_gfound* f, int32_t a, int32_t b)
{
    if (f->group[a] == f->group[b] && f->group[a] != 0) return;
    if (f->count < f->most) {
        f->list[f->count].a = a < b ? a : b;
        f->list[f->count].b = a < b ? b : a;
    }
    f->count++;
}

/* All pairs of two packs. `lanes`: those of the second that touch the box around the first */
static void icfi_gpack_pairs(const icfi_gpack* base, int32_t first, int32_t second, unsigned lanes,
                             icfi_gfound* f)
{
    icfi_gbox box;
    while (lanes) {
        int i = icfi_glowest_bit(lanes);
        unsigned bits;
        lanes &= lanes - 1;
        icfi_gpack_get(base + second, i, &box);
        bits = icfi_gpack_touch(base + first, &box);
        if (first == second) bits &= (1u << i) - 1u;
        while (bits) {
            int j = icfi_glowest_bit(bits);
            bits &= bits - 1;
            icfi_gfound_add(f, f->id[first * ICFI_GLANES + j], f->id[second * ICFI_GLANES + i]);
        }
    }
}

/* A walk to the slots whose boxes touch one */
typedef struct icfi_gwalk {
    int32_t stack[96], at; // packs to look into, and the one at hand, of slots
    int height;
    unsigned lanes; // of that, those that are left
} icfi_gwalk;

static inline void icfi_gwalk_begin(icfi_gwalk* w, const icf_broad_phase* b)
{
    w->stack[0] = (int32_t)(b->levels - 1) << 27;
    w->height = 1;
    w->lanes = 0;
}

/* Goes on to the next pack of slots, of pack `first` and those after it, or answers 0 */
static inline int icfi_gwalk_pack(icfi_gwalk* w, const icf_broad_phase* b, const icfi_gbox* box,
                                  int32_t first)
{
    while (w->height) {
        int32_t entry = w->stack[--w->height], at = entry & (((int32_t)1 << 27) - 1), before;
        int level = entry >> 27;
        unsigned lanes = icfi_gpack_touch(icfi_gpacks_const(b, level) + at, box);
        if (level == 0) {
            w->at = at;
            w->lanes = lanes;
            return 1;
        }
        before = (first >> (3 * (level - 1))) - at * ICFI_GLANES;
        if (before > 0) lanes &= ~((1u << before) - 1u);
        for (; lanes; lanes &= lanes - 1) {
            int32_t child = at * ICFI_GLANES + icfi_glowest_bit(lanes);
            w->stack[w->height++] = (int32_t)(level - 1) << 27 | child;
        }
    }
    return 0;
}

/* The next slot, or -1 at the end */
static inline int32_t icfi_gwalk_next(icfi_gwalk* w, const icf_broad_phase* b, const icfi_gbox* box)
{
    int i;
    while (!w->lanes) {
        if (!icfi_gwalk_pack(w, b, box, 0)) return -1;
    }
    i = icfi_glowest_bit(w->lanes);
    w->lanes &= w->lanes - 1;
    return w->at * ICFI_GLANES + i;
}

/* One pack with itself and all that come after it */
static void icfi_gpack_against_all(const icf_broad_phase* b, int32_t pack, icfi_gfound* f)
{
    const icfi_gpack* base = icfi_gpacks_const(b, 0);
    icfi_gwalk walk;
    icfi_gbox box;
    icfi_gpack_bounds(base + pack, &box);
    if (box.lower[0] > box.upper[0]) return;
    icfi_gwalk_begin(&walk, b);
    while (icfi_gwalk_pack(&walk, b, &box, pack)) {
        icfi_gpack_pairs(base, pack, walk.at, walk.lanes, f);
    }
}

/* The pairs of a proxy that moved. Of two that moved, the one of the lower number finds the pair. */
static void icfi_gproxy_against_all(const icf_broad_phase* b, int32_t proxy, icfi_gfound* f)
{
    const icfi_gbox* box = ICFI_GAT_CONST(icfi_gbox, b, b->at_box) + proxy;
    icfi_gwalk walk;
    int32_t slot;
    icfi_gwalk_begin(&walk, b);
    while ((slot = icfi_gwalk_next(&walk, b, box)) >= 0) {
        int32_t other = f->id[slot];
        if (other == proxy || (other < proxy && f->moved[other])) continue;
        icfi_gfound_add(f, proxy, other);
    }
}

/* One pass of a counting sort, by a or b */
static void icfi_gsort_pairs_by(icf_broad_phase* b, const icf_pair* from, icf_pair* to, int32_t n,
                                int by_b)
{
    int32_t* count = ICFI_GAT(int32_t, b, b->at_count);
    int32_t i;
    for (i = 0; i <= b->proxies_most; i++) count[i] = 0;
    for (i = 0; i < n; i++) count[by_b ? from[i].b : from[i].a]++;
    icfi_gstarts(count, b->proxies_most + 1);
    for (i = 0; i < n; i++) to[count[by_b ? from[i].b : from[i].a]++] = from[i];
}

static int icfi_gpair_less(icf_pair x, icf_pair y)
{
    return x.a != y.a ? x.a < y.a : x.b < y.b;
}

/* Sorts a few records of one number or of two, by the first in which they differ: by insertion at ever
   smaller gaps (Shell), which needs no memory. */
static void icfi_gsort_few(int32_t* list, int32_t n, int width)
{
    const int last = width - 1;
    int32_t gap = 1, i, k;
    while (gap < n / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (i = gap; i < n; i++) {
            const int32_t first = list[width * i], second = list[width * i + last];
            for (k = i; k >= gap; k -= gap) {
                const int32_t* p = list + width * (k - gap);
                if (p[0] < first || (p[0] == first && p[last] <= second)) break;
                list[width * k] = p[0];
                list[width * k + last] = p[last];
            }
            list[width * k] = first;
            list[width * k + last] = second;
        }
    }
}

static icf_result icfi_gpairs_some(icf_broad_phase* b, icfi_gfound* f)
{
    icf_pair *list = ICFI_GAT(icf_pair, b, b->at_list[b->current]), *found = f->list;
    const int32_t* moved = ICFI_GAT(int32_t, b, b->at_moved);
    int32_t i, kept, k, n;
    for (i = 0; i < b->changed; i++) {
        if (icfi_gis_proxy(b, moved[i])) icfi_gproxy_against_all(b, moved[i], f);
    }
    for (i = 0, kept = 0; i < b->pairs; i++) {
        kept += !(f->moved[list[i].a] | f->moved[list[i].b]);
    }
    if (f->count + kept > f->most) {
        b->pairs_needed = f->count + kept;
        return ICF_RESULT_TOO_SMALL;
    }

    // the kept to the front, the found in order, and then both from the end into one
    for (i = 0, k = 0; i < b->pairs; i++) {
        list[k] = list[i];
        k += !(f->moved[list[i].a] | f->moved[list[i].b]);
        if (k == kept) break;
    }
    n = (int32_t)f->count;
    if (n > b->proxies_most / 16) {
        icfi_gsort_pairs_by(b, found, list + kept, n, 1);
        icfi_gsort_pairs_by(b, list + kept, found, n, 0);
    } else {
        icfi_gsort_few((int32_t*)(void*)found, n, 2);
    }
    b->pairs = kept + n;
    for (i = b->pairs - 1; n > 0; i--) {
        if (kept > 0 && icfi_gpair_less(found[n - 1], list[kept - 1])) {
            list[i] = list[--kept];
        } else {
            list[i] = found[--n];
        }
    }
    return ICF_RESULT_OK;
}

static icf_result icfi_gpairs_all(icf_broad_phase* b, icfi_gfound* f)
{
    icf_pair* list = ICFI_GAT(icf_pair, b, b->at_list[b->current]);
    int32_t i;
    for (i = 0; i < b->level_count[0]; i++) icfi_gpack_against_all(b, i, f);
    if (f->count > f->most) {
        b->pairs_needed = f->count;
        return ICF_RESULT_TOO_SMALL;
    }
    b->pairs = (int32_t)f->count;
    icfi_gsort_pairs_by(b, f->list, list, b->pairs, 1);
    icfi_gsort_pairs_by(b, list, f->list, b->pairs, 0);
    b->current = 1 - b->current;
    b->rebuilds++;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_broad_phase_update(icf_broad_phase* b)
{
    const int32_t* moved = ICFI_GAT(int32_t, b, b->at_moved);
    const int32_t* slot = ICFI_GAT(int32_t, b, b->at_slot);
    unsigned char* flag = ICFI_GAT(unsigned char, b, b->at_flag);
    icfi_gfound found;
    icf_result result;
    int32_t i;
    int many;
    if (!b->changed) return ICF_RESULT_OK;

    // a stray makes its packs large, and each search then looks into them: sort when the searches so far
    // have cost about as much as sorting would
    many = b->changed > b->proxies / 4;
    b->waste += (int64_t)b->strays * (many ? b->proxies / 8 : b->changed);
    if (b->strays > b->proxies / 8 || b->drift > 2 * (int64_t)b->proxies ||
        b->waste > 8 * (int64_t)b->proxies) {
        icfi_gtree_sort(b);
    } else if (b->changed > b->proxies / 32) {
        icfi_gtree_fit(b);
    } else {
        for (i = 0; i < b->changed; i++) {
            if (slot[moved[i]] >= 0) icfi_gtree_fit_above(b, slot[moved[i]]);
        }
    }
    found.list = ICFI_GAT(icf_pair, b, b->at_list[1 - b->current]);
    found.count = 0;
    found.most = b->pairs_most;
    found.id = ICFI_GAT(int32_t, b, b->at_id);
    found.group = ICFI_GAT(int32_t, b, b->at_group);
    found.moved = flag;
    result = many ? icfi_gpairs_all(b, &found) : icfi_gpairs_some(b, &found);
    if (result != ICF_RESULT_OK) return result;
    for (i = 0; i < b->changed; i++) flag[moved[i]] = 0;
    b->changed = 0;
    b->pairs_needed = b->pairs;
    return ICF_RESULT_OK;
}

ICF_API const icf_pair* icf_broad_phase_pairs(const icf_broad_phase* b)
{
    return ICFI_GAT_CONST(icf_pair, b, b->at_list[b->current]);
}

ICF_API icf_result icf_broad_phase_copy(const icf_broad_phase* from, icf_broad_phase* to)
{
    const int32_t *id, *moved;
    int32_t i, n = 0;
    if (!from || !to || from == to || from->cookie != ICFI_GBROAD_COOKIE ||
        to->cookie != ICFI_GBROAD_COOKIE) {
        return ICF_RESULT_BAD_ARGUMENT;
    }
    id = ICFI_GAT_CONST(int32_t, from, from->at_id);
    moved = ICFI_GAT_CONST(int32_t, from, from->at_moved);
    if (from->pairs > to->pairs_most) return ICF_RESULT_TOO_SMALL;
    for (i = 0; i < from->slots; i++) {
        if (id[i] >= to->proxies_most) return ICF_RESULT_TOO_SMALL;
    }
    for (i = 0; i < from->changed; i++) {
        if (moved[i] >= to->proxies_most) return ICF_RESULT_TOO_SMALL;
    }
    for (i = 0; i < to->proxies_most; i++) {
        ICFI_GAT(int32_t, to, to->at_slot)[i] = -1;
        ICFI_GAT(unsigned char, to, to->at_flag)[i] = 0;
    }
    for (i = 0; i < from->slots; i++) {
        int32_t p = id[i];
        if (p < 0) continue;
        ICFI_GAT(int32_t, to, to->at_id)[n++] = p;
        ICFI_GAT(icfi_gbox, to, to->at_box)[p] = ICFI_GAT_CONST(icfi_gbox, from, from->at_box)[p];
        ICFI_GAT(int32_t, to, to->at_group)[p] = ICFI_GAT_CONST(int32_t, from, from->at_group)[p];
    }
    to->slots = to->proxies = n;
    to->margin = from->margin;
    to->fraction = from->fraction;
    icfi_gtree_sort(to);
    to->sorts = from->sorts;
    to->rebuilds = from->rebuilds;
    to->changed = 0;
    for (i = 0; i < from->changed; i++) icfi_gmark(to, moved[i]);
    to->current = 0;
    to->pairs = from->pairs;
    to->pairs_needed = from->pairs_needed;
    for (i = 0; i < from->pairs; i++) {
        ICFI_GAT(icf_pair, to, to->at_list[0])[i] = icf_broad_phase_pairs(from)[i];
    }
    return ICF_RESULT_OK;
}

/* ---- questions */

ICF_API int32_t icf_broad_phase_overlaps(const icf_broad_phase* b, const icf_aabb* box,
                                         int32_t* proxies, int32_t most)
{
    const int32_t* id = ICFI_GAT_CONST(int32_t, b, b->at_id);
    int32_t slot, count = 0;
    icfi_gwalk walk;
    icfi_gbox query;
    if (!b->level_count[0] || icfi_gcheck_box(box) != ICF_RESULT_OK) return 0;
    icfi_gbox_query(box, &query);
    icfi_gwalk_begin(&walk, b);
    while ((slot = icfi_gwalk_next(&walk, b, &query)) >= 0) {
        if (count < most) proxies[count] = id[slot];
        count++;
    }
    icfi_gsort_few(proxies, count < most ? count : most, 1);
    return count;
}

/* When a ray enters a lane, with room for rounding; below 0 if it does not before t_most */
static icf_real icfi_gray_lane(const icf_broad_phase_ray* ray, const icfi_gpack* p, int lane)
{
    icf_real enter = 0, leave = ray->t_most;
    int k;
    if (p->lower[0][lane] > p->upper[0][lane]) return -1;
    for (k = 0; k < 3; k++) {
        icf_real o = icfi_gpart(ray->origin, k), d = icfi_gpart(ray->direction, k);
        icf_real low = (icf_real)p->lower[k][lane], high = (icf_real)p->upper[k][lane], s, t;
        if (d == 0) {
            if (o < low || o > high) return -1;
            continue;
        }
        s = ((d > 0 ? low : high) - o) / d;
        t = ((d > 0 ? high : low) - o) / d;
        s -= 4 * ICFI_GEPS * ICF_FABS(s);
        t += 4 * ICFI_GEPS * ICF_FABS(t);
        if (s > enter) enter = s;
        if (t < leave) leave = t;
    }
    return enter <= leave ? enter : -1;
}

ICF_API void icf_broad_phase_ray_begin(icf_broad_phase_ray* ray, const icf_broad_phase* b,
                                       icf_vec3 origin, icf_vec3 direction, icf_real t_most)
{
    ray->t_most = t_most;
    ray->origin = origin;
    ray->direction = direction;
    ray->height = 0;
    if (!b->level_count[0] || !icfi_gfinite3(origin) || !icfi_gfinite3(direction)) return;
    ray->stack[0] = (int32_t)(b->levels - 1) << 27;
    ray->enter[0] = 0;
    ray->height = 1;
}

ICF_API int icf_broad_phase_ray_next(icf_broad_phase_ray* ray, const icf_broad_phase* b,
                                     int32_t* proxy)
{
    while (ray->height > 0) {
        int32_t entry = ray->stack[--ray->height], at = entry & (((int32_t)1 << 27) - 1);
        int level = entry >> 27, lane, from = ray->height, k;
        if (ray->enter[ray->height] > ray->t_most) continue;
        if (level == 15) {
            *proxy = ICFI_GAT_CONST(int32_t, b, b->at_id)[at];
            return 1;
        }
        // the nearest on top
        for (lane = 0; lane < ICFI_GLANES; lane++) {
            icf_real t = icfi_gray_lane(ray, icfi_gpacks_const(b, level) + at, lane);
            int32_t child = at * ICFI_GLANES + lane;
            if (t < 0) continue;
            for (k = ray->height++; k > from && ray->enter[k - 1] < t; k--) {
                ray->enter[k] = ray->enter[k - 1];
                ray->stack[k] = ray->stack[k - 1];
            }
            ray->enter[k] = t;
            ray->stack[k] = (level ? (int32_t)(level - 1) << 27 : (int32_t)15 << 27) | child;
        }
    }
    return 0;
}

#ifndef ICF_NO_WORLD
// ------------------------------------------------------------------------------------------------
// Layer 13: the scene
// >>scene
/* Offers to those below: icfi_collider, icfi_collider_cache, icfi_collider_name, icfi_collider_remove,
   icfi_is_ground, icfi_is_sensor, icfi_material_check, icfi_pair_now, icfi_pair_state, icfi_same_body,
   icfi_scene_event_add, icfi_scene_event_ended, icfi_scene_header, ICFI_SCENE_MAGIC, icfi_scene_numbers,
   icfi_scene_of_world, icfi_scene_refuse, icfi_scene_room, icfi_scene_session, icfi_stage,
   icfi_stage_begin, icfi_stage_open */

/* A step tells the broad phase where every collider is and can get to; makes a manifold for each of its pairs
   that may meet, whose points become touches of the world; and has the world step. Of each pair with points
   it remembers the axis of its normal and whether it touched.

       [ header | colliders | pairs ]                                          the state
       [ session | where colliders are | pairs of this step | broad phase ]    the cache

   Which pairs that are apart the broad phase names depends on where bodies once were, so nothing that lasts
   may depend on them: pairs without points are dropped. */

#define ICFI_SCENE_MAGIC 0x1cf5ce5eu
#define ICFI_SCENE_COOKIE 0x1cf05ce0
#define ICFI_COLLIDER_COOKIE 0x1cf0c011

typedef struct icfi_collider {
    icf_shape shape;
    icf_material material;
    icf_vec3 surface_velocity;
    icf_real spare;
    uint32_t generation, flags; /* 1: alive, 2: sensor */
    icf_body body;
    uint32_t category, mask;
    int32_t group, next;
    uint32_t user[2]; /* low, high: nothing in the record is wider than a real */
    uint32_t spares[2];
} icfi_collider;

/* Of colliders a < b */
typedef struct icfi_pair_state {
    int32_t a, b;
    uint32_t axis;     /* of the last manifold */
    uint32_t touching; /* 1: in the last step */
} icfi_pair_state;

typedef struct icfi_scene_header {
    icf_real margin, spare;
    uint64_t checksum;
    uint32_t magic, version, real, record;
    int32_t colliders, pairs; /* room */
    int32_t collider_end, collider_free, pair_count, points;
} icfi_scene_header;

typedef struct icfi_scene_session {
    int32_t pairs;    /* of this step */
    int32_t found;    /* of these, before a second look found more */
    int32_t detected; /* 1: touches are those of the pairs */
    int32_t looked;   /* 1: a second look went by speeds that are those of this step alone */
    int32_t events;
    int32_t ended;  /* events behind those: of colliders that were destroyed since the step */
    icf_real fall;  /* the speed that gravity adds in the step */
    icf_real slack; /* how far it takes what is at rest: for which what is static was placed */
} icfi_scene_session;

/* Where a collider is in this step */
typedef struct icfi_collider_cache {
    /* what tests of pairs read first */
    icf_aabb box;      /* where it can be until the end of the step */
    icf_real size;     /* half of its least extent; 0 of half-spaces */
    icf_real reach;    /* of a ball around its place that holds it */
    icf_real speed;    /* no point is faster */
    icfi_gplace place; /* of the shape in the world */
    icf_real turn;     /* the speed of its farthest point about the body's centre of mass */
    icf_body_state body;
    icf_vec3 rush; /* its velocity, or, once a look at the step found it faster, what it will be */
    icf_transform next; /* where that look found it at the end of the step */
    int32_t kind;       /* icf_body_kind; -1: no such body */
    int32_t proxy;      /* the group it has in the broad phase, 0: none */
    int32_t alike;      /* a collider of the same material, up to this one */
    int32_t still;      /* static, and all the above is as it was found when it came to be here */
    int32_t faster;     /* than it was seen to be, as a look at the step found */
    icf_body parent;
} icfi_collider_cache;

typedef struct icfi_pair_now {
    icfi_pair_state state;
    icf_real margin;      /* within which points are found */
    int32_t first, count; /* touches of the world */
    int32_t sensor, before;
    icf_real impulse; /* of the step */
} icfi_pair_now;

typedef struct icfi_stage {
    icfi_scene_header* header;
    icfi_collider* collider;
    icfi_pair_state* pair;
    icfi_scene_session* session;
    icfi_collider_cache* seen;
    icfi_pair_now* now;
    icf_scene_event* event;
    icf_broad_phase* broad;
} icfi_stage;

ICF_API icf_scene_def icf_default_scene_def(void)
{
    icf_scene_def d;
    d.world = icf_default_world_def();
    d.colliders = 64;
    d.pairs = 256;
    d.points = ICF_MANIFOLD_POINTS;
    d.margin = ICF_R(0.02);
    d.cookie = ICFI_SCENE_COOKIE;
    return d;
}

ICF_API icf_collider_def icf_default_collider_def(void)
{
    icf_collider_def d;
    ICFI_GFILL(&d, 0, sizeof d);
    d.shape = icf_sphere(ICF_R(0.5));
    d.material = icf_default_material();
    d.category = 1;
    d.mask = 0xffffffffu;
    d.cookie = ICFI_COLLIDER_COOKIE;
    return d;
}

/* What is wrong with the numbers of a scene, which are in its def and in saved bytes; or NULL */
static const char* icfi_scene_numbers(int32_t colliders, int32_t pairs, int32_t points,
                                      icf_real margin)
{
    if (colliders < 0 || colliders > 0x1ffffff) return "colliders";
    if (pairs < 0 || pairs > 0x1ffffff) return "pairs";
    if (points < 1 || points > ICF_MANIFOLD_POINTS) return "points";
    return !(margin >= 0) || margin > 1 ? "margin" : NULL;
}

static icf_result icfi_scene_def_check(const icf_scene_def* d, const char** reason)
{
    *reason = "not from icf_default_scene_def";
    if (d->cookie != ICFI_SCENE_COOKIE) return ICF_RESULT_BAD_DEF;
    *reason = icfi_scene_numbers(d->colliders, d->pairs, d->points, d->margin);
    if (!*reason && !icf_world_bytes(&d->world)) *reason = "world";
    return *reason ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_OK;
}

static icf_broad_phase_def icfi_scene_broad(const icfi_scene_header* h)
{
    icf_broad_phase_def d = icf_default_broad_phase_def();
    d.proxies_most = h->colliders > 0 ? h->colliders : 1;
    d.pairs_most = h->pairs; /* not more: there is no room for them elsewhere */
    return d;
}

/* The next part of a block, or NULL without one. *at becomes where the part after it begins. */
static void* icfi_stage_part(void* memory, size_t* at, size_t bytes)
{
    void* part = memory ? (unsigned char*)memory + *at : NULL;
    *at += (bytes + 31) / 32 * 32;
    return part;
}

/* Where everything is in the scene's own block; or, without one, answers its size. */
static size_t icfi_stage_layout(const icfi_scene_header* h, void* memory, icfi_stage* s)
{
    const size_t c = (size_t)h->colliders, p = (size_t)h->pairs;
    size_t at = 0;
    icf_broad_phase_def broad;
    s->header = (icfi_scene_header*)icfi_stage_part(memory, &at, sizeof *s->header);
    s->collider = (icfi_collider*)icfi_stage_part(memory, &at, c * sizeof *s->collider);
    s->pair = (icfi_pair_state*)icfi_stage_part(memory, &at, p * sizeof *s->pair);
    s->session = (icfi_scene_session*)icfi_stage_part(memory, &at, sizeof *s->session);
    s->seen = (icfi_collider_cache*)icfi_stage_part(memory, &at, c * sizeof *s->seen);
    s->now = (icfi_pair_now*)icfi_stage_part(memory, &at, p * sizeof *s->now);
    s->event = (icf_scene_event*)icfi_stage_part(memory, &at, 3 * p * sizeof *s->event);
    s->broad = (icf_broad_phase*)icfi_stage_part(memory, &at, 0);
    if (memory) return at;
    broad = icfi_scene_broad(h);
    (void)icfi_stage_part(memory, &at, icf_broad_phase_bytes(&broad));
    return at;
}

static void icfi_scene_header_make(icfi_scene_header* h, const icf_scene_def* d)
{
    ICFI_GFILL(h, 0, sizeof *h);
    h->margin = d->margin;
    h->magic = ICFI_SCENE_MAGIC;
    h->version = ICF_VERSION;
    h->real = sizeof(icf_real);
    h->record = sizeof(icfi_collider);
    h->colliders = d->colliders;
    h->pairs = d->pairs;
    h->points = d->points;
    h->collider_free = -1;
}

static icfi_scene_header* icfi_scene_header_of(const icf_scene* scene)
{
    return (icfi_scene_header*)scene->memory;
}

/* Whether it is a scene; if so, finds its parts. */
static int icfi_stage_open(const icf_scene* scene, icfi_stage* s)
{
    if (!scene || !scene->memory) return 0;
    if (icfi_scene_header_of(scene)->magic != ICFI_SCENE_MAGIC) return 0;
    (void)icfi_stage_layout(icfi_scene_header_of(scene), scene->memory, s);
    return 1;
}

/* Starts the cache: nothing of what is in it is known to be right. */
static void icfi_stage_begin(icfi_stage* s)
{
    icf_broad_phase_def def = icfi_scene_broad(s->header);
    icf_broad_phase* broad;
    int32_t i;
    ICFI_GFILL(s->session, 0, sizeof *s->session);
    (void)icf_broad_phase_init(s->broad, icf_broad_phase_bytes(&def), &def, &broad);
    for (i = 0; i < s->header->colliders; i++) {
        ICFI_GFILL(s->seen + i, 0, sizeof *s->seen);
        s->seen[i].kind = -1;
    }
}

static icf_result icfi_scene_refuse(icf_scene* s, icf_result result, const char* reason)
{
    s->reason = reason;
    return result;
}

static icf_result icfi_scene_full(icf_scene* s, const char* what, size_t needed)
{
    s->needed = needed;
    return icfi_scene_refuse(s, ICF_RESULT_TOO_SMALL, what);
}

/* The world refused: its reason becomes the scene's. */
static icf_result icfi_scene_of_world(icf_scene* s, icf_result result)
{
    s->needed = s->world.needed;
    return icfi_scene_refuse(s, result, s->world.reason);
}

/* The size of the scene's own block, without the world's */
static size_t icfi_scene_own_bytes(const icf_scene_def* def)
{
    icfi_scene_header h;
    icfi_stage none;
    icfi_scene_header_make(&h, def);
    return icfi_stage_layout(&h, NULL, &none);
}

ICF_API size_t icf_scene_bytes(const icf_scene_def* def)
{
    size_t own, world;
    const char* reason;
    if (!def || icfi_scene_def_check(def, &reason) != ICF_RESULT_OK) return 0;
    own = icfi_scene_own_bytes(def);
    world = icf_world_bytes(&def->world);
    return own > (size_t)-1 - world ? 0 : own + world;
}

/* Starts a scene around a world, with a block of its own. */
static icf_result icfi_scene_begin(icf_scene* scene, const icf_world* world, void* memory,
                                   const icf_scene_def* def)
{
    icfi_stage s;
    ICFI_GFILL(scene, 0, sizeof *scene);
    scene->world = *world;
    scene->memory = memory;
    scene->bytes = icfi_scene_own_bytes(def);
    icfi_scene_header_make(icfi_scene_header_of(scene), def);
    (void)icfi_stage_open(scene, &s);
    icfi_stage_begin(&s);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_scene_init(icf_scene* scene, void* memory, size_t bytes,
                                  const icf_scene_def* def)
{
    icf_world world;
    size_t own;
    icf_result result;
    if (!scene || !def) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_scene_def_check(def, &scene->reason);
    if (result != ICF_RESULT_OK) return result;
    if (!memory) return ICF_RESULT_BAD_ARGUMENT;
    if ((uintptr_t)memory % (sizeof(double) < 8 ? sizeof(double) : 8)) return ICF_RESULT_MISALIGNED;
    if (bytes < icf_scene_bytes(def)) return icfi_scene_full(scene, "memory", icf_scene_bytes(def));
    own = icfi_scene_own_bytes(def);
    ICFI_GFILL(&world, 0, sizeof world);
    result = icf_world_init(&world, (unsigned char*)memory + own, bytes - own, &def->world);
    return result == ICF_RESULT_OK ? icfi_scene_begin(scene, &world, memory, def) : result;
}

#ifndef ICF_NO_MALLOC
/* Moves the scene to a new block of its own with more room, and frees the old one. */
static icf_result icfi_scene_grow(icf_scene* scene, int32_t colliders, int32_t pairs)
{
    icfi_stage from, to;
    icfi_scene_header h;
    size_t bytes;
    void* memory;
    (void)icfi_stage_open(scene, &from);
    h = *from.header;
    h.colliders = colliders > h.colliders ? colliders : h.colliders;
    h.pairs = pairs > h.pairs ? pairs : h.pairs;
    bytes = icfi_stage_layout(&h, NULL, &to);
    memory = ICF_MALLOC(bytes);
    if (!memory) return icfi_scene_refuse(scene, ICF_RESULT_NO_MEMORY, "memory");
    scene->memory = memory;
    scene->bytes = bytes;
    *icfi_scene_header_of(scene) = h;
    (void)icfi_stage_open(scene, &to);
    ICFI_GCOPY(to.collider, from.collider, (size_t)h.collider_end * sizeof *to.collider);
    ICFI_GCOPY(to.pair, from.pair, (size_t)h.pair_count * sizeof *to.pair);
    icfi_stage_begin(&to);
    /* and the cache, so that the step goes on as if nothing had happened */
    *to.session = *from.session;
    ICFI_GCOPY(to.seen, from.seen, (size_t)from.header->colliders * sizeof *to.seen);
    ICFI_GCOPY(to.now, from.now, (size_t)to.session->pairs * sizeof *to.now);
    ICFI_GCOPY(to.event, from.event,
               (size_t)(to.session->events + to.session->ended) * sizeof *to.event);
    (void)icf_broad_phase_copy(from.broad, to.broad);
    ICF_FREE(from.header);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_scene_create(icf_scene* scene, const icf_scene_def* def)
{
    icf_world world;
    void* memory;
    icf_result result;
    if (!scene || !def) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_scene_def_check(def, &scene->reason);
    if (result != ICF_RESULT_OK) return result;
    ICFI_GFILL(&world, 0, sizeof world);
    memory = ICF_MALLOC(icfi_scene_own_bytes(def));
    if (!memory) return ICF_RESULT_NO_MEMORY;
    result = icf_world_create(&world, &def->world);
    if (result != ICF_RESULT_OK) {
        ICF_FREE(memory);
        return result;
    }
    result = icfi_scene_begin(scene, &world, memory, def);
    scene->owner = 1;
    return result;
}

ICF_API void icf_scene_destroy(icf_scene* scene)
{
    if (!scene) return;
    if (scene->owner) ICF_FREE(scene->memory);
    icf_world_destroy(&scene->world);
    ICFI_GFILL(scene, 0, sizeof *scene);
}
#endif

/* Makes sure of room for so many. A scene that can grow gets twice as much. */
static icf_result icfi_scene_room(icf_scene* scene, int32_t colliders, int32_t pairs,
                                  const char* what)
{
    const icfi_scene_header* h = icfi_scene_header_of(scene);
    if (colliders <= h->colliders && pairs <= h->pairs) return ICF_RESULT_OK;
#ifndef ICF_NO_MALLOC
    if (scene->owner) {
        return icfi_scene_grow(scene, colliders > h->colliders ? 2 * colliders : 0,
                               pairs > h->pairs ? 2 * pairs : 0);
    }
#endif
    return icfi_scene_full(scene, what, (size_t)(colliders > h->colliders ? colliders : pairs));
}

/* ---- colliders ---- */

static icfi_collider* icfi_find_collider(const icf_scene* scene, icf_collider name)
{
    icfi_stage s;
    icfi_collider* c;
    if (!icfi_stage_open(scene, &s) || !name.generation) return NULL;
    if (name.index >= (uint32_t)s.header->collider_end) return NULL;
    c = s.collider + name.index;
    return (c->flags & 1u) && c->generation == name.generation ? c : NULL;
}

static icf_collider icfi_collider_name(const icfi_stage* s, int32_t slot)
{
    icf_collider c;
    c.index = (uint32_t)slot;
    c.generation = s->collider[slot].generation;
    return c;
}

ICF_API int icf_collider_is_valid(const icf_scene* scene, icf_collider collider)
{
    return icfi_find_collider(scene, collider) != NULL;
}

static int icfi_is_ground(icf_body b)
{
    return !b.index && !b.generation;
}

static int icfi_same_body(icf_body a, icf_body b)
{
    return a.index == b.index && a.generation == b.generation;
}

/* Whether a material is one, and a velocity of a surface */
static icf_result icfi_material_check(const icf_material* m, icf_vec3 v)
{
    /* not finite if one of them is not; the stiffness, which may be the largest number, is divided */
    icf_real sum = m->stiffness / 4 + m->dissipation + m->relaxation + m->friction +
                   m->friction_static + m->torsion + m->rolling + v.x + v.y + v.z;
    if (!(sum - sum == 0)) return ICF_RESULT_NOT_FINITE;
    return m->stiffness < 0 || m->dissipation < 0 || m->relaxation < 0 || m->friction < 0 ||
                   m->torsion < 0 || m->rolling < 0
               ? ICF_RESULT_BAD_ARGUMENT
               : ICF_RESULT_OK;
}

static icf_result icfi_collider_check(icf_scene* scene, const icf_collider_def* d)
{
    icf_result result;
    if (d->cookie != ICFI_COLLIDER_COOKIE) {
        return icfi_scene_refuse(scene, ICF_RESULT_BAD_DEF, "not from icf_default_collider_def");
    }
    result = icf_shape_check(&d->shape);
    if (result != ICF_RESULT_OK) return icfi_scene_refuse(scene, result, "shape");
    if (!icfi_is_ground(d->body) && !icf_body_is_valid(&scene->world, d->body)) {
        return icfi_scene_refuse(scene, ICF_RESULT_BAD_ARGUMENT, "no such body");
    }
    result = icfi_material_check(&d->material, d->surface_velocity);
    return result == ICF_RESULT_OK
               ? result
               : icfi_scene_refuse(scene, result, "material or surface_velocity");
}

/* Room for one more collider, which may move the stage */
static icf_result icfi_collider_room(icf_scene* scene, icfi_stage* s)
{
    icf_result result = ICF_RESULT_OK;
    if (s->header->collider_free >= 0) return result;
    result = icfi_scene_room(scene, s->header->collider_end + 1, 0, "colliders");
    (void)icfi_stage_open(scene, s);
    return result;
}

static void icfi_collider_fill(icfi_collider* c, const icf_collider_def* d)
{
    c->shape = d->shape;
    c->material = d->material;
    c->surface_velocity = d->surface_velocity;
    c->flags = d->sensor ? 3u : 1u;
    c->category = d->category;
    c->mask = d->mask;
    c->group = d->group;
    c->user[0] = (uint32_t)(d->user & 0xffffffffu);
    c->user[1] = (uint32_t)(d->user >> 32);
}

ICF_API icf_result icf_collider_create(icf_scene* scene, const icf_collider_def* def,
                                       icf_collider* collider)
{
    icfi_stage s;
    icfi_collider* c;
    icf_result result;
    int32_t slot;
    uint32_t generation = 0;
    if (!icfi_stage_open(scene, &s) || !def || !collider) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_collider_check(scene, def);
    if (result == ICF_RESULT_OK) result = icfi_collider_room(scene, &s);
    if (result != ICF_RESULT_OK) return result;
    slot = s.header->collider_free;
    if (slot < 0) {
        slot = s.header->collider_end++;
    } else {
        s.header->collider_free = s.collider[slot].next;
        generation = s.collider[slot].generation;
    }
    c = s.collider + slot;
    ICFI_GFILL(c, 0, sizeof *c);
    icfi_collider_fill(c, def);
    c->body = def->body;
    c->next = -1;
    c->generation = generation + 1;
    *collider = icfi_collider_name(&s, slot);
    return ICF_RESULT_OK;
}

/* Writes an event behind the last one. `count`: of the step's, or of those that ended since, which follow */
static void icfi_scene_event_add(icfi_stage* s, int32_t* count, int32_t kind,
                                 const icfi_pair_state* p, int32_t sensor, icf_real impulse)
{
    icf_scene_event* e = s->event + s->session->events + s->session->ended;
    e->kind = kind;
    e->sensor = sensor;
    e->a = icfi_collider_name(s, p->a);
    e->b = icfi_collider_name(s, p->b);
    e->body_a = s->collider[p->a].body;
    e->body_b = s->collider[p->b].body;
    e->impulse = impulse;
    ++*count;
}

static int32_t icfi_is_sensor(const icfi_stage* s, const icfi_pair_state* p)
{
    return ((s->collider[p->a].flags | s->collider[p->b].flags) & 2u) != 0;
}

/* That a pair has no points any more, if it touched */
static void icfi_scene_event_ended(icfi_stage* s, int32_t* count, const icfi_pair_state* p)
{
    if (!p->touching) return;
    icfi_scene_event_add(s, count, ICF_EVENT_ENDED, p, icfi_is_sensor(s, p), 0);
}

/* Takes a collider and its pairs out. */
static void icfi_collider_remove(icfi_stage* s, int32_t slot)
{
    icfi_collider* c = s->collider + slot;
    int32_t i, n = 0;
    for (i = 0; i < s->header->pair_count; i++) {
        const icfi_pair_state* p = s->pair + i;
        if (p->a == slot || p->b == slot) {
            icfi_scene_event_ended(s, &s->session->ended, p);
        } else {
            s->pair[n++] = *p;
        }
    }
    s->header->pair_count = n;
    c->flags = 0;
    c->generation++;
    c->next = s->header->collider_free;
    s->header->collider_free = slot;
    s->session->detected = 0;
    if (s->seen[slot].proxy) (void)icf_broad_phase_remove(s->broad, slot);
    ICFI_GFILL(s->seen + slot, 0, sizeof *s->seen);
    s->seen[slot].kind = -1;
}

ICF_API icf_result icf_collider_destroy(icf_scene* scene, icf_collider collider)
{
    icfi_stage s;
    if (!icfi_find_collider(scene, collider)) return ICF_RESULT_BAD_ARGUMENT;
    (void)icfi_stage_open(scene, &s);
    icfi_collider_remove(&s, (int32_t)collider.index);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_collider_get_def(const icf_scene* scene, icf_collider collider,
                                        icf_collider_def* def)
{
    const icfi_collider* c = icfi_find_collider(scene, collider);
    if (!c || !def) return ICF_RESULT_BAD_ARGUMENT;
    *def = icf_default_collider_def();
    def->shape = c->shape;
    def->body = c->body;
    def->material = c->material;
    def->surface_velocity = c->surface_velocity;
    def->category = c->category;
    def->mask = c->mask;
    def->group = c->group;
    def->sensor = (c->flags & 2u) != 0;
    def->user = (uint64_t)c->user[1] << 32 | c->user[0];
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_collider_set_def(icf_scene* scene, icf_collider collider,
                                        const icf_collider_def* def)
{
    icfi_collider* c = icfi_find_collider(scene, collider);
    icfi_stage s;
    icf_result result;
    if (!c || !def) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_collider_check(scene, def);
    if (result != ICF_RESULT_OK) return result;
    if (!icfi_same_body(def->body, c->body)) {
        return icfi_scene_refuse(scene, ICF_RESULT_BAD_ARGUMENT, "body");
    }
    icfi_collider_fill(c, def);
    (void)icfi_stage_open(scene, &s);
    s.seen[collider.index].still = 0;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_scene_set_density(icf_scene* scene, icf_body body, icf_real density)
{
    icf_mass_properties sum, m;
    icf_body_def def;
    icfi_stage s;
    icf_result result;
    int32_t i;
    if (!icfi_stage_open(scene, &s) || !icf_body_is_valid(&scene->world, body))
        return ICF_RESULT_BAD_ARGUMENT;
    ICFI_GFILL(&sum, 0, sizeof sum);
    for (i = 0; i < s.header->collider_end; i++) {
        const icfi_collider* c = s.collider + i;
        if ((c->flags & 3u) != 1u || !icfi_same_body(c->body, body)) continue;
        result = icf_shape_mass(&c->shape, density, &m);
        if (result != ICF_RESULT_OK)
            return icfi_scene_refuse(scene, result, "density, or a shape without end");
        sum = icf_mass_properties_add(sum, m);
    }
    if (!(sum.mass > 0)) /* with such a body no step would go through */
        return icfi_scene_refuse(scene, ICF_RESULT_BAD_ARGUMENT, "density 0, or no colliders");
    (void)icf_body_get_def(&scene->world, body, &def);
    def.mass = sum.mass;
    def.center = sum.center;
    def.inertia = sum.inertia;
    result = icf_body_set_def(&scene->world, body, &def);
    return result == ICF_RESULT_OK ? result : icfi_scene_of_world(scene, result);
}

ICF_API icf_result icf_scene_add_def(icf_scene* scene, const icf_collider_def* def,
                                     icf_real density, icf_transform pose, icf_body* body,
                                     icf_collider* collider)
{
    icf_body_def b = icf_default_body_def();
    icf_collider_def d;
    icf_collider name;
    icf_mass_properties m;
    icf_result result;
    icfi_stage s;
    if (!icfi_stage_open(scene, &s) || !def) return ICF_RESULT_BAD_ARGUMENT;
    d = *def;
    d.body.index = d.body.generation = 0;
    result = icfi_collider_check(scene, &d);
    if (result != ICF_RESULT_OK) return result;
    if (!(density >= 0)) return icfi_scene_refuse(scene, ICF_RESULT_BAD_ARGUMENT, "density");
    if (density > 0) {
        result = icf_shape_mass(&d.shape, density, &m);
        if (result != ICF_RESULT_OK)
            return icfi_scene_refuse(scene, result, "a half-space has no mass");
        b.mass = m.mass;
        b.center = m.center;
        b.inertia = m.inertia;
    } else {
        b.kind = ICF_BODY_STATIC;
    }
    b.pose = pose;
    /* first of all, so that a refusal leaves no trace in the world */
    result = icfi_collider_room(scene, &s);
    if (result != ICF_RESULT_OK) return result;
    result = icf_body_create(&scene->world, &b, &d.body);
    if (result != ICF_RESULT_OK) return icfi_scene_of_world(scene, result);
    result = icf_collider_create(scene, &d, &name);
    if (result != ICF_RESULT_OK) return result;
    if (body) *body = d.body;
    if (collider) *collider = name;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_scene_add(icf_scene* scene, icf_shape shape, icf_real density,
                                 icf_transform pose, icf_body* body)
{
    icf_collider_def d = icf_default_collider_def();
    d.shape = shape;
    return icf_scene_add_def(scene, &d, density, pose, body, NULL);
}

ICF_API int32_t icf_scene_collider_count(const icf_scene* scene)
{
    icfi_stage s;
    return icfi_stage_open(scene, &s) ? s.header->collider_end : 0;
}

ICF_API icf_collider icf_scene_collider_at(const icf_scene* scene, int32_t slot)
{
    icf_collider none;
    icfi_stage s;
    none.index = none.generation = 0;
    if (slot < 0 || !icfi_stage_open(scene, &s) || slot >= s.header->collider_end) return none;
    return s.collider[slot].flags & 1u ? icfi_collider_name(&s, slot) : none;
}

ICF_API int32_t icf_scene_body_colliders(const icf_scene* scene, icf_body body,
                                         icf_collider* colliders, int32_t most)
{
    icfi_stage s;
    int32_t i, count = 0;
    if (!icfi_stage_open(scene, &s) || most < 0 || (most && !colliders)) return 0;
    for (i = 0; i < s.header->collider_end; i++) {
        const icfi_collider* c = s.collider + i;
        if (!(c->flags & 1u) || !icfi_same_body(c->body, body)) continue;
        if (count < most) colliders[count] = icfi_collider_name(&s, i);
        count++;
    }
    return count;
}

// ------------------------------------------------------------------------------------------------
// Layer 13, continued: the touches of a step
// >>detection
/* Offers to those below: icfi_body_now, icfi_boxes_meet */

/* Half of the least extent of a shape, and how far it reaches from its middle */
static void icfi_shape_extent(const icf_shape* s, icf_real* size, icf_real* reach)
{
    icf_vec3 h = s->half;
    *size = s->radius;
    *reach = 0;
    if (s->kind == ICF_SHAPE_BOX) {
        *size = icfi_min(icfi_min(h.x, h.y), h.z);
        *reach = icf_vec3_length(h);
    } else if (s->kind == ICF_SHAPE_HALF_SPACE) {
        *size = 0;
    } else {
        *reach = s->radius + (s->kind == ICF_SHAPE_CAPSULE ? h.z : 0);
    }
}

static int icfi_same_pose(const icf_transform* a, const icf_transform* b)
{
    return a->p.x == b->p.x && a->p.y == b->p.y && a->p.z == b->p.z && a->q.x == b->q.x &&
           a->q.y == b->q.y && a->q.z == b->q.z && a->q.w == b->q.w;
}

/* The state of a body. The ground is as one that stands still; the kind of none is -1. */
static void icfi_body_now(const icf_scene* scene, icf_body body, icf_body_state* out)
{
    if (!icfi_is_ground(body) && icf_body_get_state(&scene->world, body, out) == ICF_RESULT_OK) {
        return;
    }
    ICFI_GFILL(out, 0, sizeof *out);
    out->pose = icf_transform_identity();
    out->kind = icfi_is_ground(body) ? (int32_t)ICF_BODY_STATIC : -1;
}

/* Where the body of a collider is: all that rays ask for */
static void icfi_see_body(const icf_scene* scene, const icfi_collider* c, icfi_collider_cache* seen)
{
    const icf_transform before = seen->body.pose;
    icfi_body_now(scene, c->body, &seen->body);
    seen->kind = seen->body.kind;
    seen->still =
        seen->still && seen->kind == ICF_BODY_STATIC && icfi_same_pose(&before, &seen->body.pose);
}

/* Where a collider is, how fast, and what holds its body */
static void icfi_collider_refresh(const icf_scene* scene, const icfi_collider* c,
                                  icfi_collider_cache* seen)
{
    icfi_gplaced shape;
    icf_vec3 arm;
    icfi_see_body(scene, c, seen);
    if (seen->still) return;
    seen->parent.index = seen->parent.generation = 0;
    if (seen->kind == ICF_BODY_DYNAMIC) seen->parent = icf_body_parent(&scene->world, c->body);
    shape = icfi_gput(&c->shape, &seen->body.pose);
    (void)icfi_glocate(&shape, &seen->place);
    icfi_shape_extent(&c->shape, &seen->size, &seen->reach);
    arm = icf_vec3_sub(seen->place.p, seen->body.center);
    seen->turn = 0;
    if (seen->kind != ICF_BODY_STATIC) {
        seen->turn =
            (seen->reach + icf_vec3_length(arm)) * icf_vec3_length(seen->body.angular_velocity);
    }
    seen->speed = icf_vec3_length(seen->body.velocity) + seen->turn;
    seen->rush = seen->body.velocity;
}

/* Tells the broad phase where a collider can be until the end of the step. All colliders that no force moves
   are one group, and those of each body are one. */
static icf_result icfi_place_proxy(icfi_stage* s, int32_t slot, icf_real dt)
{
    const icfi_collider* c = s->collider + slot;
    icfi_collider_cache* seen = s->seen + slot;
    int32_t group = seen->kind == ICF_BODY_DYNAMIC ? 2 + (int32_t)c->body.index : 1;
    icf_real margin = s->header->margin * seen->size + dt * (seen->speed + s->session->fall);
    icf_result result = ICF_RESULT_OK;
    if (seen->kind < 0 || !(c->flags & 1u)) group = 0;
    if (seen->proxy && seen->proxy != group) {
        result = icf_broad_phase_remove(s->broad, slot);
        seen->proxy = 0;
    }
    if (!group || result != ICF_RESULT_OK) return result;
    icfi_gbounds(&c->shape, &seen->place, margin, &seen->box);
    if (seen->proxy) return icf_broad_phase_move(s->broad, slot, &seen->box);
    result = icf_broad_phase_add(s->broad, slot, &seen->box, group);
    if (result == ICF_RESULT_OK) seen->proxy = group;
    return result;
}

static int icfi_same_material(const icf_material* a, const icf_material* b)
{
    return a->stiffness == b->stiffness && a->dissipation == b->dissipation &&
           a->relaxation == b->relaxation && a->friction == b->friction &&
           a->friction_static == b->friction_static && a->torsion == b->torsion &&
           a->rolling == b->rolling;
}

/* The pairs of the broad phase, and room for all of them, which may move the stage */
static icf_result icfi_scene_find_pairs(icf_scene* scene, icfi_stage* s)
{
    icf_result result = icf_broad_phase_update(s->broad);
    int32_t needed;
    if (result != ICF_RESULT_TOO_SMALL) return result;
    needed = s->broad->pairs_needed > 0x1ffffff ? 0x1ffffff : (int32_t)s->broad->pairs_needed;
    result = icfi_scene_room(scene, 0, needed, "pairs");
    (void)icfi_stage_open(scene, s);
    return result == ICF_RESULT_OK ? icf_broad_phase_update(s->broad) : result;
}

/* All colliders into the broad phase, and its pairs */
static icf_result icfi_scene_place(icf_scene* scene, icf_real dt)
{
    icfi_stage s;
    icf_result result;
    icf_world_def def = icf_default_world_def();
    icf_real slack;
    int32_t i, alike = 0;
    int same;
    (void)icfi_stage_open(scene, &s);
    (void)icf_world_get_def(&scene->world, &def);
    s.session->fall = dt * icf_vec3_length(def.gravity);
    slack = dt * s.session->fall;
    same = s.session->slack == slack;
    s.session->slack = slack;
    for (i = 0; i < s.header->collider_end; i++) {
        if (s.collider[i].flags & 1u) {
            icfi_collider_refresh(scene, s.collider + i, s.seen + i);
            if (!icfi_same_material(&s.collider[i].material, &s.collider[alike].material)) {
                alike = i;
            }
            s.seen[i].alike = alike;
            if (same && s.seen[i].still) continue;
        }
        result = icfi_place_proxy(&s, i, dt);
        if (result != ICF_RESULT_OK) {
            s.session->slack = -1; /* those after it are not placed for this one */
            return icfi_scene_refuse(scene, result, "bounds of a collider");
        }
        s.seen[i].still = s.seen[i].kind == ICF_BODY_STATIC;
    }
    return icfi_scene_find_pairs(scene, &s);
}

static int icfi_may_meet(const icfi_stage* s, int32_t a, int32_t b)
{
    const icfi_collider *ca = s->collider + a, *cb = s->collider + b;
    const icfi_collider_cache *sa = s->seen + a, *sb = s->seen + b;
    if (sa->kind != ICF_BODY_DYNAMIC && sb->kind != ICF_BODY_DYNAMIC) return 0;
    if (sa->parent.generation && icfi_same_body(sa->parent, cb->body)) return 0;
    if (sb->parent.generation && icfi_same_body(sb->parent, ca->body)) return 0;
    if (ca->group && ca->group == cb->group) return ca->group > 0;
    return (ca->category & cb->mask) && (cb->category & ca->mask);
}

static inline int icfi_is_zero(icf_vec3 v)
{
    return v.x == 0 && v.y == 0 && v.z == 0;
}

/* The margin of a pair without what its motion adds */
static inline icf_real icfi_still_margin(const icfi_stage* s, const icfi_collider_cache* a,
                                         const icfi_collider_cache* b)
{
    icf_real size = icfi_min(a->size, b->size);
    if (!(size > 0)) size = icfi_max(a->size, b->size);
    return s->header->margin * size;
}

/* Whether a pair can have points within a margin: from balls and half-spaces */
static inline int icfi_is_within(const icfi_collider_cache* a, const icfi_collider_cache* b,
                                 icf_real margin)
{
    icf_vec3 d = icf_vec3_sub(b->place.p, a->place.p);
    icf_real reach = a->reach + b->reach + margin;
    reach += 64 * ICFI_GEPS * (reach + ICF_FABS(d.x) + ICF_FABS(d.y) + ICF_FABS(d.z));
    if (!(a->size > 0)) return b->size > 0 && icf_vec3_dot(a->place.axis[2], d) <= reach;
    if (!(b->size > 0)) return -icf_vec3_dot(b->place.axis[2], d) <= reach;
    return icf_vec3_dot(d, d) <= reach * reach;
}

/* Whether a pair could have points if all speeds were towards one another. The margin is no less than that of
   icfi_may_reach, rounding included, so that no pair is lost. */
static inline int icfi_may_be_near(const icfi_stage* s, int32_t a, int32_t b, icf_real dt)
{
    const icfi_collider_cache *sa = s->seen + a, *sb = s->seen + b;
    icf_real speed = (1 + 16 * ICFI_GEPS) * (sa->speed + sb->speed + s->session->fall);
    return icfi_is_within(sa, sb, icfi_still_margin(s, sa, sb) + dt * speed);
}

/* Within which margin a pair has points, and whether it can have any */
static inline int icfi_may_reach(const icfi_stage* s, int32_t a, int32_t b, icf_real dt,
                                 icf_real* margin)
{
    const icfi_collider_cache *sa = s->seen + a, *sb = s->seen + b;
    icf_vec3 v = icf_vec3_sub(sb->rush, sa->rush);
    *margin = icfi_still_margin(s, sa, sb) +
              dt * (icf_vec3_length(v) + sa->turn + sb->turn + s->session->fall);
    return icfi_is_within(sa, sb, *margin);
}

static inline int icfi_boxes_meet(const icf_aabb* a, const icf_aabb* b)
{
    return (a->lower.x <= b->upper.x) & (b->lower.x <= a->upper.x) & (a->lower.y <= b->upper.y) &
           (b->lower.y <= a->upper.y) & (a->lower.z <= b->upper.z) & (b->lower.z <= a->upper.z);
}

/* Writes the pairs of this step to s->now, about a third of those of the broad phase, and answers how many.
   The first passes have no branches: a processor cannot guess which pairs are left. */
static int32_t icfi_scene_pairs(icfi_stage* s, icf_real dt)
{
    const icf_pair* pair = icf_broad_phase_pairs(s->broad);
    int32_t i, n = 0, m = 0, near_ones = 0;
    for (i = 0; i < s->broad->pairs; i++) {
        s->now[n].state.a = pair[i].a;
        s->now[n].state.b = pair[i].b;
        n += icfi_boxes_meet(&s->seen[pair[i].a].box, &s->seen[pair[i].b].box);
    }
    /* half-spaces have boxes without end */
    for (i = 0; i < n; i++) {
        int32_t a = s->now[i].state.a, b = s->now[i].state.b;
        s->now[near_ones].state.a = a;
        s->now[near_ones].state.b = b;
        near_ones += icfi_may_be_near(s, a, b, dt);
    }
    for (i = 0; i < near_ones; i++) {
        int32_t a = s->now[i].state.a, b = s->now[i].state.b;
        if (!icfi_may_meet(s, a, b)) continue;
        s->now[m].state.a = a;
        s->now[m].state.b = b;
        m += icfi_may_reach(s, a, b, dt, &s->now[m].margin);
    }
    return m;
}

/* Where touches of a step are written */
typedef struct icfi_touches {
    icf_touch* next;
    int32_t written, room; /* since the last call of the world */
    int32_t alike[2];      /* whose materials `surface` is of */
    int32_t fresh,
        spare; /* whether the last pair has a new surface; one that is free again, or -1 */
    icf_surface surface;
    icf_touch blank;
} icfi_touches;

static void icfi_touches_begin(const icf_scene* scene, icfi_touches* t)
{
    t->next = NULL;
    t->written = t->room = 0;
    t->alike[0] = t->alike[1] = t->spare = -1;
    t->blank = icf_default_touch();
    t->surface = icf_world_default_surface(&scene->world);
    /* as hard as it takes to keep what is fast from getting through what is thin */
    if (t->surface.model == ICF_MODEL_SAP) t->surface.near_rigid = ICF_R(0.1);
}

/* Sets the surface of touches for a pair of colliders: that of the pair before if the materials are alike. */
static ICFI_GNOINLINE icf_result icfi_pair_surface(icf_scene* scene, const icfi_stage* s, int32_t a,
                                                   int32_t b, icfi_touches* t)
{
    const icfi_collider *ca = s->collider + a, *cb = s->collider + b;
    const int moves = !icfi_is_zero(ca->surface_velocity) || !icfi_is_zero(cb->surface_velocity);
    const int own = moves || scene->combine;
    icf_material law;
    icf_result result;
    int32_t count;
    t->fresh = 0;
    if (!own && s->seen[a].alike == t->alike[0] && s->seen[b].alike == t->alike[1])
        return ICF_RESULT_OK;
    t->fresh = 1;
    t->alike[0] = own ? -1 : s->seen[a].alike;
    t->alike[1] = s->seen[b].alike;
    law = scene->combine ? scene->combine(scene->user, &ca->material, &cb->material)
                         : icf_material_combine(&ca->material, &cb->material);
    icf_surface_set_material(&t->surface, &law);
    t->surface.velocity = icf_vec3_make(0, 0, 0);
    if (moves) {
        t->surface.velocity =
            icf_vec3_sub(icf_quat_rotate(s->seen[b].body.pose.q, cb->surface_velocity),
                         icf_quat_rotate(s->seen[a].body.pose.q, ca->surface_velocity));
    }
    if (t->spare >= 0) {
        t->blank.contact.surface = t->spare;
        t->spare = -1;
        icf_world_surfaces(&scene->world, &count)[t->blank.contact.surface] = t->surface;
        return ICF_RESULT_OK;
    }
    /* the world may grow: count what is written, and let the next touch ask for a new place */
    result = icf_world_write_touches(&scene->world, t->written, 0, &t->next, &t->room);
    t->written = t->room = 0;
    return result == ICF_RESULT_OK
               ? icf_world_add_surface(&scene->world, &t->surface, &t->blank.contact.surface)
               : result;
}

/* A manifold has points of the lowest face of a box. If the box tumbles fast, that face may move away within
   the step and hold nothing, while the opposite side comes down: the box sinks in, turning half round in
   every step. So if points can come nearer in a step by more than the box is large, and it is on something
   flat that no force moves, each point also gets its image through the middle of the box: one of the two
   comes down unless the middle goes up. If the other side can give way, these points are not worth their
   cost. */

/* Whether n is the normal of a half-space, or of a face of a box, to 0.001 */
static int icfi_is_flat(const icf_shape* shape, const icfi_gplace* at, icf_vec3 n)
{
    if (shape->kind != ICF_SHAPE_BOX) return shape->kind == ICF_SHAPE_HALF_SPACE;
    n = icfi_gto(at, n);
    return icfi_max(icfi_max(ICF_FABS(n.x), ICF_FABS(n.y)), ICF_FABS(n.z)) > ICF_R(0.999);
}

/* The images of the points of a box, at `on`, that are over a flat shape and within the margin of it: how
   many. n is from the box to that shape; shift: where in a feature the number of the box is */
static int icfi_far_side(const icfi_gplace* on, const icf_shape* flat, const icfi_gplace* at,
                         icf_vec3 n, const icf_manifold* m, icf_real margin, int shift,
                         icf_manifold_point* out)
{
    icf_vec3 h = flat->half;
    icf_real slack = ICF_R(0.001) * margin; /* how flat icfi_is_flat says it is */
    int i, count = 0;
    for (i = 0; i < m->count; i++) {
        const icf_manifold_point* p = m->point + i;
        icf_vec3 near = icf_vec3_add_scaled(p->position, ICF_R(-0.5) * p->distance, n);
        icf_vec3 far = icf_vec3_sub(icf_vec3_scale(2, on->p), near), foot;
        icf_real distance = p->distance - icf_vec3_dot(n, icf_vec3_sub(far, near));
        uint32_t own = p->feature >> shift & 255u, turned = (own & 21u) << 1 | (own >> 1 & 21u);
        if (distance > margin) continue;
        foot = icfi_gto(at, icf_vec3_sub(icf_vec3_add_scaled(far, distance, n), at->p));
        if (flat->kind == ICF_SHAPE_BOX &&
            (ICF_FABS(foot.x) > h.x + slack || ICF_FABS(foot.y) > h.y + slack ||
             ICF_FABS(foot.z) > h.z + slack))
            continue;
        out[count] = *p;
        out[count].position = icf_vec3_add_scaled(far, ICF_R(0.5) * distance, n);
        out[count].distance = distance;
        out[count++].feature = p->feature ^ (own ^ turned) << shift;
    }
    return count;
}

/* The same for a pair, if it is of a fast box and something flat */
static int icfi_far_sides(const icfi_stage* s, const icfi_pair_now* now, const icf_manifold* m,
                          icf_manifold_point* out)
{
    int swap = s->seen[now->state.a].kind != ICF_BODY_DYNAMIC;
    int32_t a = swap ? now->state.b : now->state.a, b = swap ? now->state.a : now->state.b;
    const icf_shape *box = &s->collider[a].shape, *flat = &s->collider[b].shape;
    const icfi_collider_cache *on = s->seen + a, *at = s->seen + b;
    icf_vec3 n = swap ? icf_vec3_neg(m->normal) : m->normal;
    if (box->kind != ICF_SHAPE_BOX || at->kind == ICF_BODY_DYNAMIC || !(now->margin > on->reach) ||
        !icfi_is_flat(flat, &at->place, n))
        return 0;
    return icfi_far_side(&on->place, flat, &at->place, n, m, now->margin, swap ? 8 : 0, out);
}

/* Makes the points of a pair touches of the world, now->count of them. */
static icf_result icfi_meet_pair(icf_scene* scene, icfi_stage* s, icfi_pair_now* now,
                                 icfi_touches* touches)
{
    icf_manifold_point far_side[ICF_MANIFOLD_POINTS];
    int32_t count;
    int32_t a = now->state.a, b = now->state.b, i;
    const icfi_collider_cache *sa = s->seen + a, *sb = s->seen + b;
    const icfi_collider *ca = s->collider + a, *cb = s->collider + b;
    icfi_gplaced pa = icfi_gput(&ca->shape, &sa->body.pose),
                 pb = icfi_gput(&cb->shape, &sb->body.pose);
    icf_real area = 0;
    icf_manifold m;
    icf_result result;
    pa.place = &sa->place;
    pb.place = &sb->place;
    icfi_gmanifold(&pa, &pb, now->margin, s->header->points, now->state.axis, &m);
    now->state.axis = m.axis;
    if (!m.count) return ICF_RESULT_OK;
    now->sensor = icfi_is_sensor(s, &now->state);
    if (now->sensor) {
        now->state.touching = m.distance <= 0;
        now->count = 1;
        return ICF_RESULT_OK;
    }
    count = m.count + icfi_far_sides(s, now, &m, far_side);
    result = icfi_pair_surface(scene, s, a, b, touches);
    if (result != ICF_RESULT_OK) return result;
    if (touches->room - touches->written < count) {
        result = icf_world_write_touches(&scene->world, touches->written, count, &touches->next,
                                         &touches->room);
        touches->written = 0;
        if (result != ICF_RESULT_OK) return result;
    }
    touches->blank.a = ca->body;
    touches->blank.b = cb->body;
    touches->blank.contact.normal = m.normal;
    for (i = 0; i < m.count; i++) area += m.point[i].area;
    for (i = 0; i < count; i++) {
        const icf_manifold_point* p = i < m.count ? m.point + i : far_side + (i - m.count);
        icf_touch* touch = touches->next + touches->written++;
        *touch = touches->blank;
        touch->point = p->position;
        touch->contact.distance = p->distance;
        touch->reach = icf_vec3_scale(icfi_max(p->distance, 0), m.normal);
        /* as of four points together, so that nothing jumps where a corner becomes two */
        if (m.count > 4) {
            icf_real share = area > 0 ? p->area / area : 1 / (icf_real)m.count;
            touch->contact.weight = 4 * share;
        }
        /* of one pair of bodies: the colliders, as far as 16 bits tell, and the features */
        touch->id = (uint64_t)(((uint32_t)a & 0xffffu) | (uint32_t)b << 16) << 32 | p->feature;
    }
    now->count = count;
    return ICF_RESULT_OK;
}

/* Pairs are in the order of a, and then b */
static inline int icfi_comes_before(const icfi_pair_state* p, int32_t a, int32_t b)
{
    return p->a < a || (p->a == a && p->b < b);
}

ICF_API icf_result icf_scene_update(icf_scene* scene)
{
    icfi_stage s;
    return icfi_stage_open(scene, &s) ? icfi_scene_place(scene, 0) : ICF_RESULT_BAD_ARGUMENT;
}

ICF_API icf_result icf_scene_detect(icf_scene* scene, icf_real dt)
{
    icfi_stage s;
    icf_result result;
    icfi_touches write;
    int32_t i, n, known = 0, touches = 0;
    if (!icfi_stage_open(scene, &s)) return ICF_RESULT_BAD_ARGUMENT;
    scene->reason = NULL;
    if (!(dt - dt == 0)) return icfi_scene_refuse(scene, ICF_RESULT_NOT_FINITE, "dt");
    if (!(dt > 0)) return icfi_scene_refuse(scene, ICF_RESULT_BAD_ARGUMENT, "dt");
    result = icfi_scene_place(scene, dt);
    if (result != ICF_RESULT_OK) return result;
    (void)icfi_stage_open(scene, &s);
    icf_world_clear_touches(&scene->world);
    s.session->pairs = s.session->detected = 0;
    icfi_touches_begin(scene, &write);
    n = icfi_scene_pairs(&s, dt);
    for (i = 0; i < n; i++) {
        icfi_pair_now *now = s.now + s.session->pairs, *from = s.now + i;
        int32_t a = from->state.a, b = from->state.b;
        now->state.a = a;
        now->state.b = b;
        now->state.axis = now->state.touching = 0;
        now->margin = from->margin;
        now->first = touches;
        now->count = now->sensor = now->before = 0;
        /* both lists are in order */
        while (known < s.header->pair_count && icfi_comes_before(s.pair + known, a, b)) known++;
        if (known < s.header->pair_count && s.pair[known].a == a && s.pair[known].b == b) {
            now->state.axis = s.pair[known].axis;
            now->before = (int32_t)s.pair[known].touching;
        }
        result = icfi_meet_pair(scene, &s, now, &write);
        if (result != ICF_RESULT_OK) {
            icf_world_clear_touches(&scene->world);
            return icfi_scene_of_world(scene, result);
        }
        if (!now->count) continue;
        if (!now->sensor) touches += now->count;
        s.session->pairs++;
    }
    s.session->found = s.session->pairs;
    s.session->detected = 1;
    return icf_world_write_touches(&scene->world, write.written, 0, &write.next, &write.room);
}

/* The impulses of pairs, from the events of their touches; and all pairs in order */
static void icfi_gather_pairs(const icf_scene* scene, icfi_stage* s)
{
    int32_t i, k, count, at = 0;
    const icf_event* event = icf_world_events(&scene->world, &count);
    for (i = 0; i < s->session->pairs; i++) {
        icfi_pair_now* now = s->now + i;
        now->impulse = 0;
        /* events are in the order of touches, those without a touch last */
        while (!now->sensor && at < count && event[at].touch >= 0 &&
               event[at].touch < now->first + now->count) {
            if (event[at].touch >= now->first) now->impulse += event[at].impulse;
            at++;
        }
        if (!now->sensor) now->state.touching = now->impulse > 0;
    }
    /* those that a second look found are few, and at the end */
    for (i = s->session->found; i < s->session->pairs; i++) {
        icfi_pair_now pair = s->now[i];
        for (k = i; k > 0 && !icfi_comes_before(&s->now[k - 1].state, pair.state.a, pair.state.b);
             k--)
            s->now[k] = s->now[k - 1];
        s->now[k] = pair;
    }
}

/* After the world's step: events of all pairs, what is remembered of them, and where bodies are */
static void icfi_scene_commit(icf_scene* scene, icfi_stage* s)
{
    icfi_scene_session* session = s->session;
    int32_t i, known = 0;
    icfi_gather_pairs(scene, s);
    for (i = 0; i < session->ended; i++) s->event[i] = s->event[session->events + i];
    session->events = session->ended;
    session->ended = 0;
    for (i = 0; i < session->pairs; i++) {
        icfi_pair_now* now = s->now + i;
        while (known < s->header->pair_count &&
               icfi_comes_before(s->pair + known, now->state.a, now->state.b)) {
            icfi_scene_event_ended(s, &session->events, s->pair + known++);
        }
        if (known < s->header->pair_count && s->pair[known].a == now->state.a &&
            s->pair[known].b == now->state.b)
            known++;
        if (now->state.touching || now->before) {
            icfi_scene_event_add(s, &session->events,
                                 !now->state.touching ? ICF_EVENT_ENDED
                                 : now->before        ? ICF_EVENT_PERSISTS
                                                      : ICF_EVENT_BEGUN,
                                 &now->state, now->sensor, now->impulse);
        }
    }
    for (; known < s->header->pair_count; known++) {
        icfi_scene_event_ended(s, &session->events, s->pair + known);
    }
    /* where rays find them from now on */
    for (i = 0; i < session->pairs; i++) s->pair[i] = s->now[i].state;
    s->header->pair_count = session->pairs;
    for (i = 0; i < s->header->collider_end; i++) {
        if (!(s->collider[i].flags & 1u)) continue;
        icfi_see_body(scene, s->collider + i, s->seen + i);
        if (s->seen[i].kind < 0) icfi_collider_remove(s, i);
    }
}

/* ---- a second look ---- */

/* Pairs were found by the speeds before the step, and a contact may set a body in motion in it. So once the
   step is solved, colliders that turned out faster are looked at again, with the velocities that they will
   have. Pairs that would get into each other by more than a tenth of the thinner one get touches, and the
   step is solved again. */

/* Marks colliders that will go farther in the step than expected, by more than half of their margin, and
   notes their speeds. Answers how many there are. */
static int32_t icfi_find_faster(const icf_scene* scene, icfi_stage* s, icf_real dt)
{
    int32_t i, count = 0;
    for (i = 0; i < s->header->collider_end; i++) {
        icfi_collider_cache* seen = s->seen + i;
        icf_body_state next;
        icf_real turn, speed;
        seen->faster = 0;
        seen->next = seen->body.pose;
        if (!(s->collider[i].flags & 1u) || seen->kind == ICF_BODY_STATIC) continue;
        if (icf_body_get_next(&scene->world, s->collider[i].body, &next) != ICF_RESULT_OK) continue;
        seen->next = next.pose;
        if (seen->kind != ICF_BODY_DYNAMIC) continue;
        turn = icf_vec3_length(icf_vec3_sub(seen->place.p, seen->body.center));
        turn = (seen->reach + turn) * icf_vec3_length(next.angular_velocity);
        speed = icf_vec3_length(next.velocity) + turn;
        if (dt * (speed - seen->speed - s->session->fall) <= s->header->margin * seen->size / 2)
            continue;
        seen->faster = 1;
        seen->speed = speed;
        seen->turn = icfi_max(seen->turn, turn);
        seen->rush = next.velocity;
        count++;
    }
    return count;
}

/* Whether a pair has touches in this step already */
static int icfi_is_met(const icfi_stage* s, int32_t a, int32_t b)
{
    int32_t low = 0, high = s->session->found, i;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (icfi_comes_before(&s->now[middle].state, a, b)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < s->session->found && s->now[low].state.a == a && s->now[low].state.b == b) return 1;
    for (i = s->session->found; i < s->session->pairs; i++) {
        if (s->now[i].state.a == a && s->now[i].state.b == b) return 1;
    }
    return 0;
}

/* Where the point of a body will be that is at p now */
static icf_vec3 icfi_next_point(const icfi_collider_cache* seen, icf_vec3 p)
{
    p = icf_quat_rotate(icf_quat_conjugate(seen->body.pose.q), icf_vec3_sub(p, seen->body.pose.p));
    return icf_vec3_add(icf_quat_rotate(seen->next.q, p), seen->next.p);
}

/* Whether the points of a pair, touches from `first` on, will have got into each other by more than `most` */
static int icfi_gets_in(const icfi_stage* s, const icfi_pair_now* now, const icf_touch* first,
                        icf_real most)
{
    int32_t i;
    for (i = 0; i < now->count; i++) {
        const icf_touch* t = first + i;
        icf_vec3 half = icf_vec3_scale(ICF_R(0.5), t->reach), n = t->contact.normal;
        icf_vec3 pa = icf_vec3_sub(t->point, half), pb = icf_vec3_add(t->point, half);
        icf_vec3 qa = icfi_next_point(s->seen + now->state.a, pa);
        icf_vec3 qb = icfi_next_point(s->seen + now->state.b, pb);
        icf_vec3 way = icf_vec3_sub(icf_vec3_sub(qb, pb), icf_vec3_sub(qa, pa));
        if (t->contact.distance + icf_vec3_dot(n, way) < -most) return 1;
    }
    return 0;
}

/* Adds touches of pairs of faster colliders behind the others. Answers 1 if there are any, 0 if not, or an
   error. */
static int icfi_meet_faster(icf_scene* scene, icf_real dt, int32_t* touches)
{
    icfi_stage s;
    icfi_touches write;
    const icf_pair* pair;
    int32_t i, added = 0;
    (void)icfi_stage_open(scene, &s);
    icfi_touches_begin(scene, &write);
    pair = icf_broad_phase_pairs(s.broad);
    for (i = 0; i < s.broad->pairs; i++) {
        int32_t a = pair[i].a, b = pair[i].b;
        const icfi_collider_cache *sa = s.seen + a, *sb = s.seen + b;
        icfi_pair_now* now = s.now + s.session->pairs;
        icf_real thin = sa->size > 0 && sb->size > 0 ? icfi_min(sa->size, sb->size)
                                                     : icfi_max(sa->size, sb->size);
        icf_result result;
        if (!sa->faster && !sb->faster) continue;
        if (!icfi_boxes_meet(&sa->box, &sb->box) || !icfi_may_meet(&s, a, b)) continue;
        /* as many pairs as there is room for may be met; one that is not has room */
        if (icfi_is_met(&s, a, b) || !icfi_may_reach(&s, a, b, dt, &now->margin)) continue;
        now->state.a = a;
        now->state.b = b;
        now->state.axis = now->state.touching = 0;
        now->first = *touches;
        now->count = now->sensor = now->before = 0;
        result = icfi_meet_pair(scene, &s, now, &write);
        if (result != ICF_RESULT_OK) return (int)icfi_scene_of_world(scene, result);
        if (!now->count || now->sensor) continue;
        if (!icfi_gets_in(&s, now, write.next + write.written - now->count, thin / 10)) {
            write.written -= now->count;
            if (write.fresh) {
                write.spare = write.blank.contact.surface;
                write.alike[0] = -1;
            }
            continue;
        }
        *touches += now->count;
        s.session->pairs++;
        added++;
    }
    if (!added) return 0;
    return icf_world_write_touches(&scene->world, write.written, 0, &write.next, &write.room) ==
           ICF_RESULT_OK;
}

/* icf_world.look_again of a scene */
static int icfi_look_again(icf_world* world, icf_real dt)
{
    icf_scene* scene = (icf_scene*)(void*)world; /* which begins with its world */
    icfi_stage s;
    int32_t i, touches;
    icf_result result;
    (void)icfi_stage_open(scene, &s);
    if (!icfi_find_faster(scene, &s, dt)) return 0;
    s.session->looked = 1;
    for (i = 0; i < s.header->collider_end; i++) {
        if (!s.seen[i].faster) continue;
        result = icfi_place_proxy(&s, i, dt);
        if (result != ICF_RESULT_OK)
            return (int)icfi_scene_refuse(scene, result, "bounds of a collider");
    }
    result = icfi_scene_find_pairs(scene, &s);
    if (result != ICF_RESULT_OK) return (int)result;
    (void)icf_world_touches(world, &touches);
    return icfi_meet_faster(scene, dt, &touches);
}

ICF_API icf_result icf_scene_solve(icf_scene* scene, icf_real dt)
{
    icfi_stage s;
    int (*callers)(icf_world * world, icf_real dt);
    int32_t pairs;
    icf_result result;
    if (!icfi_stage_open(scene, &s)) return ICF_RESULT_BAD_ARGUMENT;
    if (!s.session->detected)
        return icfi_scene_refuse(scene, ICF_RESULT_BAD_STATE, "nothing was detected");
    pairs = s.session->pairs;
    s.session->looked = 0;
    callers = scene->world.look_again;
    scene->world.look_again = icfi_look_again;
    scene->reason = NULL;
    result = icf_world_step(&scene->world, dt);
    scene->world.look_again = callers;
    (void)icfi_stage_open(scene, &s); /* which a second look may have moved */
    if (result < 0) {
        s.session->pairs = pairs;
        if (s.session->looked) s.session->detected = 0;
        /* a second look that was refused has said why */
        return scene->reason ? result : icfi_scene_of_world(scene, result);
    }
    s.session->detected = 0;
    icfi_scene_commit(scene, &s);
    return result;
}

ICF_API icf_result icf_scene_step(icf_scene* scene, icf_real dt)
{
    icf_result result = icf_scene_detect(scene, dt);
    if (result == ICF_RESULT_OK) result = icf_scene_solve(scene, dt);
    return result;
}

ICF_API icf_result icf_scene_touch_colliders(const icf_scene* scene, int32_t touch, icf_collider* a,
                                             icf_collider* b)
{
    icfi_stage s;
    int32_t low = 0, high;
    if (!icfi_stage_open(scene, &s) || !a || !b || touch < 0) return ICF_RESULT_BAD_ARGUMENT;
    a->index = a->generation = b->index = b->generation = 0;
    high = s.session->pairs;
    while (low < high) { /* the first pair that ends after it */
        int32_t middle = low + (high - low) / 2;
        const icfi_pair_now* now = s.now + middle;
        if (now->first + (now->sensor ? 0 : now->count) > touch) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low >= s.session->pairs) return ICF_RESULT_OK;
    *a = icfi_collider_name(&s, s.now[low].state.a);
    *b = icfi_collider_name(&s, s.now[low].state.b);
    return ICF_RESULT_OK;
}

ICF_API const icf_scene_event* icf_scene_events(const icf_scene* scene, int32_t* count)
{
    icfi_stage s;
    if (count) *count = 0;
    if (!icfi_stage_open(scene, &s) || !count) return NULL;
    *count = s.session->events;
    return s.event;
}

// ------------------------------------------------------------------------------------------------
// Layer 13, continued: questions, saving, something to see
// >>scene-calls

ICF_API int icf_scene_ray(const icf_scene* scene, icf_vec3 origin, icf_vec3 direction,
                          icf_real t_most, uint32_t mask, icf_scene_hit* hit)
{
    icf_broad_phase_ray ray;
    icf_ray_hit best;
    icfi_stage s;
    int32_t slot, found = -1;
    if (!icfi_stage_open(scene, &s) || !hit) return 0;
    icf_broad_phase_ray_begin(&ray, s.broad, origin, direction, t_most);
    while (icf_broad_phase_ray_next(&ray, s.broad, &slot)) {
        const icfi_collider* c = s.collider + slot;
        icf_ray_hit one;
        if (!(c->flags & 1u) || (c->flags & 2u) || !(c->category & mask)) continue;
        if (!icf_shape_ray(&c->shape, &s.seen[slot].body.pose, origin, direction, ray.t_most, &one))
            continue;
        /* of equally near ones the first, whatever the order of the walk */
        if (found >= 0 && one.t == best.t && slot > found) continue;
        found = slot;
        best = one;
        ray.t_most = one.t;
    }
    if (found < 0) return 0;
    hit->collider = icfi_collider_name(&s, found);
    hit->body = s.collider[found].body;
    hit->t = best.t;
    hit->normal = best.normal;
    hit->point = icf_vec3_add_scaled(origin, best.t, direction);
    return 1;
}

/* Whether the bounds of a collider, where it was seen last, overlap a box */
static int icfi_in_box(const icfi_stage* s, int32_t slot, const icf_aabb* box)
{
    const icfi_collider* c = s->collider + slot;
    icf_aabb own;
    if (!(c->flags & 1u) || s->seen[slot].kind < 0) return 0;
    icf_shape_bounds(&c->shape, &s->seen[slot].body.pose, 0, &own);
    return icfi_boxes_meet(&own, box);
}

ICF_API int32_t icf_scene_overlaps(const icf_scene* scene, const icf_aabb* box,
                                   icf_collider* colliders, int32_t most)
{
    icfi_stage s;
    int32_t i, count = 0, near, *slot;
    int all;
    if (!icfi_stage_open(scene, &s) || !box || most < 0 || (most && !colliders)) return 0;
    /* The broad phase names slots that may. They go into the second half of the array, an icf_collider having
       room for two numbers, and names into the first. Where there is no room for all, every slot is tried. */
    slot = most ? (int32_t*)(void*)colliders + most : NULL;
    near = icf_broad_phase_overlaps(s.broad, box, slot, most);
    all = near > most;
    for (i = 0; i < (all ? s.header->collider_end : near); i++) {
        int32_t one = all ? i : slot[i];
        if (!icfi_in_box(&s, one, box)) continue;
        if (count < most) colliders[count] = icfi_collider_name(&s, one);
        count++;
    }
    return count;
}

/* ---- saving ---- */

/* FNV-1a over numbers, so that the order of bytes does not matter */
static uint64_t icfi_scene_words(uint64_t hash, const void* data, size_t count, size_t size)
{
    const unsigned char* p = (const unsigned char*)data;
    size_t i;
    for (i = 0; i < count; i++) {
        uint64_t x = 0;
        uint32_t half;
        if (size == 8) {
            ICFI_GCOPY(&x, p + 8 * i, 8);
            hash = (hash ^ (x & 0xffffffffu)) * (uint64_t)0x100000001b3u;
            x >>= 32;
        } else {
            ICFI_GCOPY(&half, p + 4 * i, 4);
            x = half;
        }
        hash = (hash ^ x) * (uint64_t)0x100000001b3u;
    }
    return hash;
}

static uint64_t icfi_scene_hash_of(const icfi_scene_header* h, const unsigned char* collider,
                                   const unsigned char* pair, uint64_t hash)
{
    const int32_t counts[4] = {h->collider_end, h->collider_free, h->pair_count, h->points};
    int32_t i;
    hash = icfi_scene_words(hash, &h->margin, 1, sizeof(icf_real));
    hash = icfi_scene_words(hash, counts, 4, 4);
    for (i = 0; i < h->collider_end; i++) {
        const unsigned char* p = collider + (size_t)i * sizeof(icfi_collider);
        size_t reals = offsetof(icfi_collider, generation);
        hash = icfi_scene_words(hash, p, 2, 4); /* kind and data of the shape */
        hash = icfi_scene_words(hash, p + 8, (reals - 8) / sizeof(icf_real), sizeof(icf_real));
        hash = icfi_scene_words(hash, p + reals, (sizeof(icfi_collider) - reals) / 4, 4);
    }
    return icfi_scene_words(hash, pair, 4 * (size_t)h->pair_count, 4);
}

/* Of saved bytes: the hash, and the fields that it leaves out because no step depends on them */
static uint64_t icfi_scene_checksum(const icfi_scene_header* h, const unsigned char* collider,
                                    const unsigned char* pair)
{
    const int32_t room[2] = {h->colliders, h->pairs};
    uint64_t hash = icfi_scene_hash_of(h, collider, pair, 0);
    hash = icfi_scene_words(hash, &h->spare, 1, sizeof(icf_real));
    return icfi_scene_words(hash, room, 2, 4);
}

ICF_API uint64_t icf_scene_hash(const icf_scene* scene)
{
    icfi_stage s;
    if (!icfi_stage_open(scene, &s)) return 0;
    return icfi_scene_hash_of(s.header, (const unsigned char*)s.collider,
                              (const unsigned char*)s.pair, icf_world_hash(&scene->world));
}

/* Bytes of the scene's own part */
static size_t icfi_scene_saved(const icfi_scene_header* h)
{
    return sizeof *h + (size_t)h->collider_end * sizeof(icfi_collider) +
           (size_t)h->pair_count * sizeof(icfi_pair_state);
}

ICF_API size_t icf_scene_save_bytes(const icf_scene* scene)
{
    icfi_stage s;
    if (!icfi_stage_open(scene, &s)) return 0;
    return icfi_scene_saved(s.header) + icf_world_save_bytes(&scene->world);
}

ICF_API icf_result icf_scene_save(const icf_scene* scene, void* bytes, size_t capacity)
{
    unsigned char* to = (unsigned char*)bytes;
    icfi_scene_header h;
    icfi_stage s;
    if (!icfi_stage_open(scene, &s) || !bytes) return ICF_RESULT_BAD_ARGUMENT;
    if (capacity < icf_scene_save_bytes(scene)) return ICF_RESULT_TOO_SMALL;
    h = *s.header;
    h.checksum =
        icfi_scene_checksum(&h, (const unsigned char*)s.collider, (const unsigned char*)s.pair);
    ICFI_GCOPY(to, &h, sizeof h);
    to += sizeof h;
    ICFI_GCOPY(to, s.collider, (size_t)h.collider_end * sizeof *s.collider);
    to += (size_t)h.collider_end * sizeof *s.collider;
    ICFI_GCOPY(to, s.pair, (size_t)h.pair_count * sizeof *s.pair);
    to += (size_t)h.pair_count * sizeof *s.pair;
    return icf_world_save(&scene->world, to, capacity - (size_t)(to - (unsigned char*)bytes));
}

/* Whether bytes are a saved scene. icf_world_load checks the world in it. */
static int icfi_scene_saved_is_good(const unsigned char* from, size_t count, icfi_scene_header* h)
{
    const unsigned char *collider, *pair;
    int32_t i, steps = 0, last_a = -1, last_b = -1;
    if (count < sizeof *h) return 0;
    ICFI_GCOPY(h, from, sizeof *h);
    if (h->magic != ICFI_SCENE_MAGIC || h->version != ICF_VERSION || h->real != sizeof(icf_real) ||
        h->record != sizeof(icfi_collider)) {
        return 0;
    }
    if (icfi_scene_numbers(h->colliders, h->pairs, h->points, h->margin)) return 0;
    if (h->collider_end < 0 || h->collider_end > h->colliders) return 0;
    if (h->pair_count < 0 || h->pair_count > h->pairs) return 0;
    if (count < icfi_scene_saved(h)) return 0;
    collider = from + sizeof *h;
    pair = collider + (size_t)h->collider_end * sizeof(icfi_collider);
    if (icfi_scene_checksum(h, collider, pair) != h->checksum) return 0;
    for (i = 0; i < h->collider_end; i++) {
        icfi_collider c;
        ICFI_GCOPY(&c, collider + (size_t)i * sizeof c, sizeof c);
        if (c.next < -1 || c.next >= h->collider_end || c.flags > 3u) return 0;
        if (!(c.flags & 1u)) continue;
        if (icf_shape_check(&c.shape) != ICF_RESULT_OK) return 0;
        if (icfi_material_check(&c.material, c.surface_velocity) != ICF_RESULT_OK) return 0;
    }
    for (i = h->collider_free; i != -1; steps++) {
        icfi_collider c;
        if (i < 0 || i >= h->collider_end || steps > h->collider_end) return 0;
        ICFI_GCOPY(&c, collider + (size_t)i * sizeof c, sizeof c);
        if (c.flags & 1u) return 0;
        i = c.next;
    }
    for (i = 0; i < h->pair_count; i++) {
        icfi_pair_state p;
        ICFI_GCOPY(&p, pair + (size_t)i * sizeof p, sizeof p);
        if (p.a < 0 || p.b <= p.a || p.b >= h->collider_end) return 0;
        if (p.a < last_a || (p.a == last_a && p.b <= last_b)) return 0;
        last_a = p.a;
        last_b = p.b;
    }
    return 1;
}

ICF_API icf_result icf_scene_load(icf_scene* scene, const void* bytes, size_t count)
{
    const unsigned char* from = (const unsigned char*)bytes;
    icfi_scene_header h;
    icfi_stage s;
    icf_result result;
    if (!icfi_stage_open(scene, &s) || !bytes) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_scene_saved_is_good(from, count, &h))
        return icfi_scene_refuse(scene, ICF_RESULT_BAD_DEF, "not a saved scene, or damaged");
    result = icfi_scene_room(scene, h.collider_end, h.pair_count, "colliders or pairs");
    if (result != ICF_RESULT_OK) return result;
    result =
        icf_world_load(&scene->world, from + icfi_scene_saved(&h), count - icfi_scene_saved(&h));
    if (result != ICF_RESULT_OK) return icfi_scene_of_world(scene, result);
    (void)icfi_stage_open(scene, &s);
    h.colliders = s.header->colliders;
    h.pairs = s.header->pairs;
    h.checksum = 0;
    *s.header = h;
    from += sizeof h;
    ICFI_GCOPY(s.collider, from, (size_t)h.collider_end * sizeof *s.collider);
    from += (size_t)h.collider_end * sizeof *s.collider;
    ICFI_GCOPY(s.pair, from, (size_t)h.pair_count * sizeof *s.pair);
    icfi_stage_begin(&s);
    return ICF_RESULT_OK;
}

/* ---- something to see ---- */

typedef struct icfi_drawing {
    icf_line* line;
    int32_t count, most;
    uint32_t color;
    icf_transform pose;
} icfi_drawing;

static ICFI_GNOINLINE void icfi_draw(icfi_drawing* d, icf_vec3 a, icf_vec3 b)
{
    if (d->count < d->most) {
        d->line[d->count].a = a;
        d->line[d->count].b = b;
        d->line[d->count].color = d->color;
    }
    d->count++;
}

/* The same in the frame of the shape */
static ICFI_GNOINLINE void icfi_draw_local(icfi_drawing* d, icf_vec3 a, icf_vec3 b)
{
    icfi_draw(d, icf_transform_apply(d->pose, a), icf_transform_apply(d->pose, b));
}

/* An arc of radius r about c, from x towards y: `count` of 24 parts of a circle */
static void icfi_draw_arc(icfi_drawing* d, icf_vec3 c, icf_vec3 x, icf_vec3 y, icf_real r,
                          int32_t count)
{
    const icf_real cosine = ICF_R(0.96592582628906829),
                   sine = ICF_R(0.25881904510252076); /* of 15 degrees */
    icf_real u = 1, v = 0;
    icf_vec3 from = icf_vec3_add_scaled(c, r, x);
    int32_t i;
    for (i = 0; i < count; i++) {
        icf_real next = u * cosine - v * sine;
        icf_vec3 to;
        v = u * sine + v * cosine;
        u = next;
        to = icf_vec3_add_scaled(icf_vec3_add_scaled(c, r * u, x), r * v, y);
        icfi_draw_local(d, from, to);
        from = to;
    }
}

static ICFI_GNOINLINE void icfi_draw_round(icfi_drawing* d, const icf_shape* s)
{
    icf_vec3 x = icf_vec3_make(1, 0, 0), y = icf_vec3_make(0, 1, 0), z = icf_vec3_make(0, 0, 1);
    icf_real h = s->kind == ICF_SHAPE_CAPSULE ? s->half.z : 0, r = s->radius;
    icf_vec3 top = icf_vec3_make(0, 0, h), bottom = icf_vec3_make(0, 0, -h);
    int32_t i;
    icfi_draw_arc(d, top, x, y, r, 24);
    icfi_draw_arc(d, top, x, z, r, 12);
    icfi_draw_arc(d, top, y, z, r, 12);
    icfi_draw_arc(d, bottom, x, icf_vec3_neg(z), r, 12);
    icfi_draw_arc(d, bottom, y, icf_vec3_neg(z), r, 12);
    if (!(h > 0)) return;
    icfi_draw_arc(d, bottom, x, y, r, 24);
    for (i = 0; i < 4; i++) { /* lines along its side */
        icf_vec3 aside = icf_vec3_scale(i & 1 ? -r : r, i & 2 ? y : x);
        icfi_draw_local(d, icf_vec3_add(aside, top), icf_vec3_add(aside, bottom));
    }
}

static ICFI_GNOINLINE void icfi_draw_flat(icfi_drawing* d, const icf_shape* s)
{
    int32_t i, k;
    if (s->kind == ICF_SHAPE_HALF_SPACE) { /* 10 m each way */
        for (i = -10; i <= 10; i++) {
            icf_real x = (icf_real)i;
            icfi_draw_local(d, icf_vec3_make(x, -10, 0), icf_vec3_make(x, 10, 0));
            icfi_draw_local(d, icf_vec3_make(-10, x, 0), icf_vec3_make(10, x, 0));
        }
        return;
    }
    for (i = 0; i < 8; i++) {
        icf_vec3 h = s->half, b;
        icf_vec3 a = icf_vec3_make(i & 1 ? h.x : -h.x, i & 2 ? h.y : -h.y, i & 4 ? h.z : -h.z);
        /* to the corner on the upper side of each axis, unless it is that */
        for (k = 0; k < 3; k++) {
            if (i >> k & 1) continue;
            b = a;
            icfi_gset(&b, k, icfi_gpart(h, k));
            icfi_draw_local(d, a, b);
        }
    }
}

/* Normals and forces of the touches of the last step. weight: the force that is drawn 1 m long, N */
static void icfi_draw_touches(const icf_scene* scene, icfi_drawing* d, uint32_t what,
                              icf_real weight)
{
    int32_t i, count = icf_world_touch_count(&scene->world);
    for (i = 0; i < count; i++) {
        icf_touch_result r;
        if (icf_world_get_touch(&scene->world, i, &r) != ICF_RESULT_OK) continue;
        d->color = r.contact.mode == ICF_MODE_OPEN    ? 0x909090u
                   : r.contact.mode == ICF_MODE_STICK ? 0x30b060u
                                                      : 0xff8c00u;
        if (what & ICF_DRAW_TOUCHES) {
            icfi_draw(d, r.point, icf_vec3_add_scaled(r.point, ICF_R(0.1), r.normal));
        }
        if ((what & ICF_DRAW_FORCES) && r.contact.mode != ICF_MODE_OPEN) {
            icfi_draw(d, r.point, icf_vec3_add_scaled(r.point, 1 / weight, r.contact.force));
        }
    }
}

ICF_API int32_t icf_scene_debug_lines(const icf_scene* scene, uint32_t what, icf_real scale,
                                      icf_line* lines, int32_t most)
{
    icfi_drawing d;
    icf_world_def def;
    icfi_stage s;
    icf_real weight;
    int32_t i;
    if (!icfi_stage_open(scene, &s) || most < 0 || (most && !lines)) return 0;
    (void)icf_world_get_def(&scene->world, &def);
    weight = scale * icf_vec3_length(def.gravity);
    if (!(weight > 0)) weight = 1;
    d.line = lines;
    d.count = 0;
    d.most = most;
    for (i = 0; i < s.header->collider_end && (what & ICF_DRAW_SHAPES); i++) {
        const icfi_collider* c = s.collider + i;
        icf_body_state state;
        if (!(c->flags & 1u)) continue;
        icfi_body_now(scene, c->body, &state);
        if (state.kind < 0) continue;
        d.pose = icf_transform_mul(state.pose, c->shape.pose);
        d.color = c->flags & 2u                    ? 0xb060d0u
                  : state.kind != ICF_BODY_DYNAMIC ? 0x707880u
                                                   : 0x4080d0u;
        if (c->shape.kind == ICF_SHAPE_BOX || c->shape.kind == ICF_SHAPE_HALF_SPACE) {
            icfi_draw_flat(&d, &c->shape);
        } else {
            icfi_draw_round(&d, &c->shape);
        }
    }
    if (what & (ICF_DRAW_TOUCHES | ICF_DRAW_FORCES)) icfi_draw_touches(scene, &d, what, weight);
    d.color = 0xd04050u;
    for (i = 0; i < icf_world_body_count(&scene->world) && (what & ICF_DRAW_JOINTS); i++) {
        icf_body b = icf_world_body_at(&scene->world, i);
        icf_body_state state, parent;
        if (!b.generation || icf_body_get_state(&scene->world, icf_body_parent(&scene->world, b),
                                                &parent) != ICF_RESULT_OK)
            continue;
        (void)icf_body_get_state(&scene->world, b, &state);
        icfi_draw(&d, state.center, parent.center);
    }
    return d.count;
}
#endif /* ICF_NO_WORLD */

ICFI_EXACT_END

#ifdef __cplusplus
}
#endif

#endif /* ICF_GEOMETRY_IMPLEMENTATION */
