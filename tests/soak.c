/* Random scenes with everything in them: all shapes, materials, joints, constraints, models and methods, of
   any size from a millimetre to a hundred metres and any mass from a decigram to ten tons. While they run,
   bodies, joints, constraints and colliders come, go and change, things are teleported and pushed, scenes are
   saved and loaded, worlds cloned and moved, and calls are made that must be refused. What must hold:

     result       in a sane state no step is refused
     finite       places, velocities, touches, impulses and events are finite numbers
     turn         quaternions have the length 1
     push         contacts push: no impulse along a normal or of an event is below 0
     energy       kinetic energy after a step is at most that before, with what gravity adds in the step, and
                  the elastic energy of overlaps; where no motor, belt, joint, constraint or kinematic body is
     load, clone, move   the same hash as where it came from, and again after steps of both, with the same
                  calls between them; a save that was damaged or cut off is refused
     refused      what is refused changes nothing, and what is wrong is refused
     query        questions change nothing, and rays hit what they say
     escape       nothing that its shapes hold in a closed room is far outside
     floor        a solve ends near the answer, but for what rounding explains; in float it may be short of it, and
                  say so
     time         a step takes less than a second

   A state is sane if nothing overlaps by two sizes or more, or is held apart by as much, is faster than 500 m/s, turns by 3 rad a step, or is
   pushed by a force of the caller's.
   What has to do with how well a step is solved fails only in those; in others it is counted. The memory of
   every scene is filled with a byte drawn from the seed, and that of what is loaded, cloned or moved with
   another, so that what was never written shows as another hash.

   With SOAK_DUMP=FILE in the environment the problem of the first step that fails, of its first substep, is
   written there: build/solve_file replays it. The first failure of a kind in a seed is printed, with the step and what to type to see it again: a seed is
   the same scene each time, whatever the compiler. tests/fuzz.h says how to run it. */

#include <stdlib.h>
#include <string.h>

static int poison;

static void* poisoned(size_t bytes)
{
    void* p = bytes >> 28 ? NULL : malloc(bytes); /* a damaged save may ask for anything */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
    return p; /* which knows for itself what was never written */
#endif
#endif
    if (p) memset(p, poison, bytes);
    return p;
}

#include <assert.h>
#define ICF_ASSERT(x) assert(x)
#define ICF_MALLOC(bytes) poisoned(bytes)
#define ICF_FREE(pointer) free(pointer)
#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"

#define FUZZ_COUNT 200
#include "fuzz.h"

/* decades: half of what the masses of a scene are apart at most. A tree with more than float has digits for is
   NOT_SPD, as the manual says */
#ifdef ICF_FLOAT
static const double floor_error = 0.1, turn_error = 1e-5, decades = 2;
#else
static const double floor_error = 1e-3, turn_error = 1e-12, decades = 4;
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
/* s for each 200 touches begun: where constraints find no end a step is some 300 solves, and a touch in one of
   those takes 20 us */
#ifdef SANITIZED
static const double longest_step = 10;
#else
static const double longest_step = 1;
#endif

enum { STEPS = 120, BODIES = 40, JOINTS = 80, CONSTRAINTS = 40, COLLIDERS = 160, SLOTS = 200 };

// ------------------------------------------------------------------------------------------------
// What a seed is about

typedef struct plan {
    double size, speed, dt;
    double mass_low, mass_high, stiff_low, stiff_high; /* powers of ten */
    int passive;                                       /* nothing happens but steps and questions */
    int jointed;                                       /* with joints and constraints */
    int wild;     /* some numbers are not numbers, or far too large */
    int closed;   /* all walls are there */
    int own_rule; /* another way to combine materials */
    icf_scene_def def;
} plan;

static plan p;

/* A scene and the names of what is in it. The second one is loaded out of the first now and then, and
   follows it for a while. */
typedef struct side {
    icf_scene scene;
    int poison;
    void* block; /* of icf_scene_init, or NULL */
    icf_body body[BODIES], gone_body;
    icf_joint joint[JOINTS], gone_joint;
    icf_constraint constraint[CONSTRAINTS], gone_constraint;
    icf_collider collider[COLLIDERS], gone_collider;
    int32_t bodies, joints, constraints, colliders;
    int pushed; /* forces or impulses since the last step */
    int edited; /* the touches of this step are not those that were found */
    int lacks;  /* of those that were added: there was no room */
    uint64_t hash;
} side;

static side first, second;
static const icf_body no_body = {0, 0};
static int following, followed; /* for so many steps more; and did for so many */

// ------------------------------------------------------------------------------------------------
// What fails

enum {
    RESULT,
    FINITE,
    TURN,
    PUSH,
    ENERGY,
    LOAD,
    CLONE,
    MOVE,
    REFUSED,
    QUERY,
    ESCAPE,
    FLOOR,
    TIME,
    KINDS
};

static const char* const kind_name[KINDS] = {"result", "finite", "turn", "push",    "energy",
                                             "load",   "clone",  "move", "refused", "query",
                                             "escape", "floor",  "time"};

typedef struct tally {
    unsigned long checks, times,
        seeds;                      /* how often it was looked at, and failed; in how many seeds */
    unsigned long not_sane;         /* in states that are not sane, where that is none */
    unsigned long long seed_failed; /* the last that did, plus one */
} tally;

enum { MOST_SAID = 20 }; /* failures of a kind that are printed */

static tally tallies[KINDS];
static int at_step;
static double speed_before, turn_before; /* the most of any body, before the step */
static double gap_before;                /* how far the worst constraint was from being kept, m */
static unsigned long steps, sane_steps, shorts, outcomes[2][20], full;
static double slowest;
static unsigned long long slowest_seed;
static int32_t most_iterations;

static double length(icf_vec3 v)
{
    return sqrt((double)v.x * (double)v.x + (double)v.y * (double)v.y + (double)v.z * (double)v.z);
}

static int are_finite(icf_vec3 v)
{
    return is_finite(v.x) && is_finite(v.y) && is_finite(v.z);
}

/* The deepest overlap of the step; of one that was refused, what it would have begun with */
static double depth_of(side* s)
{
    const int32_t n = icf_world_touch_count(&s->scene.world);
    int32_t i, count;
    double depth = 0;
    icf_stats stats;
    icf_touch_result t;
    icf_touch* touch;
    if (icf_world_get_stats(&s->scene.world, &stats) == ICF_RESULT_OK) {
        for (i = 0; i < n; i++) {
            if (icf_world_get_touch(&s->scene.world, i, &t) == ICF_RESULT_OK &&
                !(-(double)t.distance <= depth))
                depth = -(double)t.distance;
        }
        return depth;
    }
    if (icf_scene_detect(&s->scene, R(p.dt)) < 0) return 0;
    touch = icf_world_touches(&s->scene.world, &count);
    for (i = 0; i < count; i++) {
        if (!(-(double)touch[i].contact.distance <= depth))
            depth = -(double)touch[i].contact.distance;
    }
    return depth;
}

static int pushed_now; /* forces were given for this step: up to 1e5 N, also on grams */

static int is_sane(side* s)
{
    return !p.wild && !pushed_now && speed_before < 500 && turn_before * p.dt < 3 &&
           depth_of(s) < 2 * p.size && gap_before < 2 * p.size;
}

/* Surfaces that leave the stiffness to others; two of them have none to go by */
static int rigid_ones(const side* s)
{
    icf_collider_def d;
    int32_t i;
    int n = 0;
    for (i = 0; i < icf_scene_collider_count(&s->scene); i++) {
        const icf_collider c = icf_scene_collider_at(&s->scene, i);
        if (icf_collider_get_def(&s->scene, c, &d) == ICF_RESULT_OK)
            n += d.material.stiffness >= ICF_REAL_MAX;
    }
    return n;
}

/* The problem of the step at work, for SOAK_DUMP */
static char* dumped;
static size_t dumped_length;

static void dump_step(icf_world* w)
{
    if (!getenv("SOAK_DUMP")) return;
    if (icf_world_dump_step(w, R(p.dt), NULL, 0, &dumped_length) < 0) dumped_length = 0;
    dumped = (char*)realloc(dumped, dumped_length + 1);
    if (dumped_length)
        (void)icf_world_dump_step(w, R(p.dt), dumped, dumped_length + 1, &dumped_length);
}

static void write_dumped(void)
{
    FILE* f = dumped_length ? fopen(getenv("SOAK_DUMP"), "wb") : NULL;
    if (!f) return;
    (void)fwrite(dumped, 1, dumped_length, f);
    fclose(f);
    dumped_length = 0;
    exit(1);
}

static void fail(int kind, const char* what, double a, double b)
{
    tally* t = &tallies[kind];
    const icf_world* w = &first.scene.world;
    icf_world_def d;
    icf_stats stats;
    const int again = t->seed_failed == fuzz_seed + 1;
    t->times++;
    t->seeds += !again;
    t->seed_failed = fuzz_seed + 1;
#ifdef ICF_LIBFUZZER
    fuzz_fail(__FILE__, __LINE__, what);
#endif
    if (again || t->seeds > MOST_SAID) return;
    printf("FAILED %s, step %d: %s (%.4g, %.4g); again: ", kind_name[kind], at_step, what, a, b);
    fuzz_again(stdout);
    (void)icf_world_get_def(w, &d);
    printf("  model %d, method %d, settle %d, substeps %d; size %.2g m, dt %.2g s, %.3g m/s, %.2g "
           "rad a "
           "step, depth %.2g m, gap %.2g m; %d bodies, %d joints, %d constraints, %d rigid\n",
           (int)d.model, (int)d.method, (int)d.settle, (int)d.substeps, p.size, p.dt, speed_before,
           turn_before * p.dt, depth_of(&first), gap_before, (int)first.bodies, (int)first.joints,
           (int)first.constraints, rigid_ones(&first));
    if (icf_world_get_stats(w, &stats) == ICF_RESULT_OK)
        printf(
            "  the last solve: stop %d, %d iterations, momentum error %.2g, certificate %.2g J\n",
            (int)stats.stop, (int)stats.iterations, (double)stats.momentum_error,
            (double)stats.certificate);
    fflush(stdout);
    if (getenv("SOAK_DUMP")) write_dumped();
}

/* Fails if the state is one where it may not be */
static void fail_if_sane(int kind, const char* what, double a, double b)
{
    if (is_sane(&first)) {
        fail(kind, what, a, b);
    } else {
        tallies[kind].not_sane++;
    }
}

/* A call that is refused changes nothing */
static icf_result noted(side* s, icf_result result, const char* call)
{
    if (result >= 0) return result;
    tallies[REFUSED].checks++;
    if (icf_scene_hash(&s->scene) != s->hash) fail(REFUSED, call, result, 0);
    return result;
}

#define CALL(s, call) ((s)->hash = icf_scene_hash(&(s)->scene), noted(s, (call), #call))

// ------------------------------------------------------------------------------------------------
// Numbers

/* now and then one that is none, or too large */
static icf_real odd(double x)
{
    static const double numbers[6] = {0, -1, (double)NAN, (double)INFINITY, 1e30, 1e-30};
    return p.wild && one_in(64) ? R(numbers[below(6)]) : R(x);
}

static icf_vec3 vec(double x, double y, double z)
{
    return icf_vec3_make(R(x), R(y), R(z));
}

/* a vector of that length */
static icf_vec3 along(double size)
{
    double x, y, z, l;
    icf_vec3 v;
    do {
        x = between(-1, 1);
        y = between(-1, 1);
        z = between(-1, 1);
        l = sqrt(x * x + y * y + z * z);
    } while (l < 0.1 || l > 1);
    x *= size / l;
    y *= size / l;
    z *= size / l;
    v.x = odd(x);
    v.y = odd(y);
    v.z = odd(z);
    return v;
}

static icf_vec3 direction(void)
{
    icf_vec3 v = along(1);
    return are_finite(v) && length(v) > 0.1 && length(v) < 2 ? icf_vec3_normalize(v) : vec(0, 0, 1);
}

static icf_quat turn(void)
{
    const icf_vec3 axis = direction();
    return icf_quat_from_rotation_vector(icf_vec3_scale(R(between(0, 3.14)), axis));
}

/* somewhere in the room */
static icf_vec3 place(void)
{
    double x = p.size * between(-6, 6), y = p.size * between(-6, 6);
    return vec(x, y, p.size * between(1, 10));
}

static icf_transform pose(void)
{
    icf_quat q = turn();
    return icf_transform_make(q, place());
}

static icf_shape shape(void)
{
    const icf_real a = odd(p.size * power(-1, 0)), b = odd(p.size * power(-1, 0));
    const icf_real c = odd(p.size * power(-1, 0));
    const int32_t kind = below(7);
    icf_shape s = kind < 2 ? icf_sphere(a) : kind < 4 ? icf_capsule(a / 2, b) : icf_box(a, b, c);
    if (one_in(4)) {
        icf_quat q = turn();
        s = icf_shape_at(s, icf_transform_make(q, along(p.size * between(0, 1))));
    }
    return s;
}

static icf_material material(void)
{
    icf_material m = icf_default_material();
    if (one_in(4)) return m;
    m.stiffness = odd(power(p.stiff_low, p.stiff_high));
    if (one_in(30)) m.stiffness = ICF_REAL_MAX;
    m.dissipation = one_in(4) ? 0 : odd(power(-2, 2));
    m.relaxation = one_in(4) ? 0 : odd(power(-4, 0));
    m.friction = one_in(4) ? 0 : odd(between(0, 5));
    if (one_in(5)) m.friction_static = odd((double)m.friction * between(1, 2));
    if (one_in(5)) m.torsion = odd(p.size * power(-4, -0.5));
    if (one_in(5)) m.rolling = odd(p.size * power(-4, -0.5));
    return m;
}

static icf_material softer(void* user, const icf_material* a, const icf_material* b)
{
    (void)user;
    return a->stiffness < b->stiffness ? *a : *b;
}

// ------------------------------------------------------------------------------------------------
// What is made

static icf_collider_def collider_def(icf_body body)
{
    icf_collider_def d = icf_default_collider_def();
    d.body = body;
    d.shape = shape();
    d.material = material();
    d.sensor = one_in(10);
    if (one_in(10) && !p.passive) d.surface_velocity = along(between(0, 5));
    if (one_in(10)) d.group = below(5) - 2;
    if (one_in(10)) {
        d.category = 1u << below(3);
        d.mask = (uint32_t)below(8);
    }
    return d;
}

static icf_result add_collider(side* s, icf_body body)
{
    icf_collider_def d = collider_def(body);
    icf_collider name;
    icf_result result;
    icf_body_state state;
    if (s->colliders == COLLIDERS) return ICF_RESULT_OK;
    if (icf_body_get_state(&s->scene.world, body, &state) == ICF_RESULT_OK &&
        state.kind == ICF_BODY_STATIC && one_in(10))
        d.shape = icf_shape_at(icf_half_space(), d.shape.pose);
    result = CALL(s, icf_collider_create(&s->scene, &d, &name));
    if (result == ICF_RESULT_OK) s->collider[s->colliders++] = name;
    return result;
}

static icf_body_def body_def(void)
{
    icf_body_def d = icf_default_body_def();
    const double mass = power(p.mass_low, p.mass_high);
    const double inertia = 0.12 * mass * p.size * p.size;
    if (one_in(p.passive ? 1000 : 8)) d.kind = ICF_BODY_KINEMATIC;
    if (one_in(12)) d.kind = ICF_BODY_STATIC;
    d.pose = pose();
    if (d.kind != ICF_BODY_STATIC) {
        double spin = 0.3 * p.speed / p.size * between(0, 1);
        if (!one_in(8) && spin * p.dt > 2) spin = 2 / p.dt;
        d.velocity = along(p.speed * between(0, 1));
        d.angular_velocity = along(spin);
    }
    if (one_in(12)) {
        d.linear_damping = odd(between(0, 5));
        d.angular_damping = odd(between(0, 5));
    }
    if (one_in(12)) d.gravity_scale = odd(between(-1, 2));
    if (one_in(10) && d.kind == ICF_BODY_DYNAMIC) {
        d.locks = (uint32_t)below(64);
        d.velocity = d.angular_velocity = vec(0, 0, 0);
    }
    d.mass = odd(mass);
    d.inertia = icf_mat3_from_columns(vec(inertia, 0, 0), vec(0, inertia, 0), vec(0, 0, inertia));
    if (one_in(20)) d.center = along(0.3 * p.size);
    d.user = (uint64_t)byte();
    return d;
}

static icf_result add_body(side* s)
{
    icf_body_def d = body_def(), g;
    int32_t i, n = one_in(4) ? 2 + below(3) : 1;
    icf_body b;
    icf_result result;
    if (s->bodies == BODIES) return ICF_RESULT_OK;
    if (one_in(6)) {
        icf_collider_def c = collider_def(no_body);
        icf_collider name;
        const icf_real density = odd((double)d.mass / (p.size * p.size * p.size));
        if (s->colliders == COLLIDERS) return ICF_RESULT_OK;
        result = CALL(s, icf_scene_add_def(&s->scene, &c, density, d.pose, &b, &name));
        if (result != ICF_RESULT_OK) return result;
        s->body[s->bodies++] = b;
        s->collider[s->colliders++] = name;
        return result;
    }
    result = CALL(s, icf_body_create(&s->scene.world, &d, &b));
    if (result != ICF_RESULT_OK) return result;
    s->body[s->bodies++] = b;
    for (i = 0; i < n; i++) {
        const icf_result one = add_collider(s, b);
        if (result == ICF_RESULT_OK) result = one;
    }
    /* the mass that was meant, in the form of the shapes */
    if (d.kind == ICF_BODY_DYNAMIC && !one_in(3) &&
        CALL(s, icf_scene_set_density(&s->scene, b, 1)) == ICF_RESULT_OK &&
        icf_body_get_def(&s->scene.world, b, &g) == ICF_RESULT_OK && g.mass > 0)
        (void)CALL(s, icf_scene_set_density(&s->scene, b, d.mass / g.mass));
    return result;
}

static icf_body some_body(const side* s)
{
    return s->bodies ? s->body[below(s->bodies)] : s->gone_body;
}

static icf_joint some_joint(const side* s)
{
    return s->joints ? s->joint[below(s->joints)] : s->gone_joint;
}

static icf_constraint some_constraint(const side* s)
{
    return s->constraints ? s->constraint[below(s->constraints)] : s->gone_constraint;
}

static icf_collider some_collider(const side* s)
{
    return s->colliders ? s->collider[below(s->colliders)] : s->gone_collider;
}

static void joint_numbers(icf_joint_def* d)
{
    int i;
    if (one_in(3) && d->kind != ICF_JOINT_BALL) {
        for (i = 0; i < 3; i++) {
            d->lower[i] = odd(-between(0, 2));
            d->upper[i] = odd(between(0, 2));
        }
    }
    if (!p.passive && one_in(3)) {
        d->motor_stiffness = odd(power(0, 6));
        d->motor_damping = odd(power(-1, 4));
        if (d->kind != ICF_JOINT_BALL) d->target[0] = odd(between(-1, 1));
        d->effort = one_in(2) ? -1 : odd(power(-1, 5));
        d->target_velocity[0] = odd(between(-5, 5));
    }
    if (!p.passive && one_in(3)) {
        d->stiffness = odd(power(0, 7));
        d->damping = odd(power(-1, 4));
    }
    if (one_in(4)) {
        d->rotor_inertia = odd(power(-6, 0));
        d->gear_ratio = odd(power(0, 2));
    }
    if (one_in(4)) d->dry_friction = odd(power(-3, 2));
}

static icf_result add_joint(side* s)
{
    icf_joint_def d = icf_default_joint_def((icf_joint_kind)below(6));
    icf_joint name;
    icf_result result;
    if (s->joints == JOINTS || !s->bodies) return ICF_RESULT_OK;
    d.child = some_body(s);
    if (!one_in(3)) d.parent = some_body(s);
    if (one_in(2)) {
        icf_vec3 at = place();
        (void)icf_world_frames(&s->scene.world, d.parent, d.child, at, direction(), &d.parent_frame,
                               &d.child_frame);
    } else {
        d.parent_frame.p = along(p.size);
        d.child_frame.p = along(p.size);
        d.child_frame.q = turn();
    }
    joint_numbers(&d);
    result = CALL(s, icf_joint_create(&s->scene.world, &d, &name));
    if (result == ICF_RESULT_OK) s->joint[s->joints++] = name;
    return result;
}

static icf_constraint_def constraint_def(const side* s)
{
    icf_constraint_def d = icf_default_constraint_def((icf_constraint_kind)below(6));
    icf_body_state state;
    int32_t i;
    d.b = some_body(s);
    if (!one_in(5)) d.a = some_body(s);
    if (d.kind == ICF_CONSTRAINT_COUPLER) {
        d.a = d.b = no_body;
        d.joints = 1 + below(s->joints < 4 ? s->joints : 4);
        for (i = 0; i < d.joints; i++) {
            d.joint[i] = some_joint(s);
            d.ratio[i] = odd(between(-3, 3));
            if (one_in(3)) d.number[i] = below(2);
        }
        return d;
    }
    if (icf_body_get_state(&s->scene.world, d.b, &state) == ICF_RESULT_OK) {
        icf_vec3 at = one_in(5) ? place() : state.center;
        (void)icf_world_frames(&s->scene.world, d.a, d.b, at, direction(), &d.a_frame, &d.b_frame);
    }
    if (one_in(6)) {
        d.b_frame.p = along(p.size);
        d.b_frame.q = turn();
    }
    if (d.kind == ICF_CONSTRAINT_DISTANCE) {
        d.lower = one_in(2) ? 0 : odd(p.size * between(0.2, 3));
        d.upper = one_in(3) ? d.lower : d.lower + odd(p.size * between(0.1, 3));
        if (one_in(3) && !p.passive) {
            d.stiffness = odd(power(0, 8));
            d.damping = odd(power(-2, 4));
            d.length = odd(p.size * between(0.1, 2));
        }
    }
    return d;
}

static icf_result add_constraint(side* s)
{
    icf_constraint_def d = constraint_def(s);
    icf_constraint name;
    icf_result result;
    if (s->constraints == CONSTRAINTS) return ICF_RESULT_OK;
    result = CALL(s, icf_constraint_create(&s->scene.world, &d, &name));
    if (result == ICF_RESULT_OK) s->constraint[s->constraints++] = name;
    return result;
}

/* Walls 7 sizes away, a floor and a ceiling: half-spaces of the ground */
static void add_room(side* s)
{
    static const double way[6][3] = {
        {0,  0,  1 },
        {1,  0,  0 },
        {-1, 0,  0 },
        {0,  1,  0 },
        {0,  -1, 0 },
        {0,  0,  -1}
    };
    int i;
    p.closed = 1;
    for (i = 0; i < 6; i++) {
        icf_collider_def d = icf_default_collider_def();
        icf_transform t = icf_transform_identity();
        icf_collider name;
        if (i == 5) {
            t.q = icf_quat_make(1, 0, 0, 0);
            t.p.z = R(12 * p.size);
        } else if (i > 0) {
            t.q = icf_quat_normalize(
                icf_quat_make(R(-way[i][1]), R(way[i][0]), 0, 1)); /* z to the way */
            t.p = vec(-7 * p.size * way[i][0], -7 * p.size * way[i][1], 0);
        }
        d.shape = icf_shape_at(icf_half_space(), t);
        d.material = material();
        if (i > 0 && one_in(6)) {
            p.closed = 0;
        } else if (CALL(s, icf_collider_create(&s->scene, &d, &name)) < 0) {
            p.closed = 0;
        }
    }
}

// ------------------------------------------------------------------------------------------------
// What happens between steps

/* Drops the names of what is no more, and keeps the last of them */
static void prune(side* s)
{
    const icf_world* w = &s->scene.world;
    int32_t i, n;
    for (i = n = 0; i < s->bodies; i++) {
        if (icf_body_is_valid(w, s->body[i])) {
            s->body[n++] = s->body[i];
        } else {
            s->gone_body = s->body[i];
        }
    }
    s->bodies = n;
    for (i = n = 0; i < s->joints; i++) {
        if (icf_joint_is_valid(w, s->joint[i])) {
            s->joint[n++] = s->joint[i];
        } else {
            s->gone_joint = s->joint[i];
        }
    }
    s->joints = n;
    for (i = n = 0; i < s->constraints; i++) {
        if (icf_constraint_is_valid(w, s->constraint[i])) {
            s->constraint[n++] = s->constraint[i];
        } else {
            s->gone_constraint = s->constraint[i];
        }
    }
    s->constraints = n;
    for (i = n = 0; i < s->colliders; i++) {
        if (icf_collider_is_valid(&s->scene, s->collider[i])) {
            s->collider[n++] = s->collider[i];
        } else {
            s->gone_collider = s->collider[i];
        }
    }
    s->colliders = n;
}

static icf_result change_body(side* s)
{
    icf_world* w = &s->scene.world;
    const icf_body b = some_body(s);
    icf_body_def d, from;
    icf_vec3 v, at;
    switch (below(9)) {
    case 0: return add_body(s);
    case 1: return CALL(s, icf_body_destroy(w, b));
    case 2: {
        icf_transform to = pose();
        return CALL(s, icf_body_set_pose(w, b, to));
    }
    case 3:
        from = body_def();
        return CALL(s, icf_body_set_velocity(w, b, from.velocity, from.angular_velocity));
    case 4:
        from = body_def();
        if (icf_body_get_def(w, b, &d) != ICF_RESULT_OK) return ICF_RESULT_OK;
        d.locks = one_in(2) ? (uint32_t)below(64) : 0;
        if (one_in(3)) d.kind = below(3);
        if (one_in(3)) d.linear_damping = from.linear_damping;
        if (one_in(3)) d.gravity_scale = from.gravity_scale;
        return CALL(s, icf_body_set_def(w, b, &d));
    case 5: {
        icf_real density = odd(power(p.mass_low, p.mass_high) / (p.size * p.size * p.size));
        return CALL(s, icf_scene_set_density(&s->scene, b, density));
    }
    case 6:
        s->pushed = 1;
        v = along(power(0, 5));
        at = place();
        return CALL(s, icf_body_apply_force(w, b, v, at));
    case 7:
        s->pushed = 1;
        v = along(power(-4, 2));
        at = place();
        return CALL(s, icf_body_apply_impulse(w, b, v, at));
    default:
        s->pushed = 1;
        v = along(p.size * power(0, 5));
        return CALL(s, icf_body_apply_torque(w, b, v));
    }
}

static icf_result change_collider(side* s)
{
    const icf_collider c = some_collider(s);
    icf_collider_def d, from;
    switch (below(3)) {
    case 0: return add_collider(s, one_in(10) ? no_body : some_body(s));
    case 1: return CALL(s, icf_collider_destroy(&s->scene, c));
    default:
        if (icf_collider_get_def(&s->scene, c, &d) != ICF_RESULT_OK) return ICF_RESULT_OK;
        from = collider_def(d.body);
        if (one_in(2)) d.shape = from.shape;
        if (one_in(2)) d.material = from.material;
        if (one_in(4)) d.surface_velocity = from.surface_velocity;
        if (one_in(4)) d.sensor = !d.sensor;
        return CALL(s, icf_collider_set_def(&s->scene, c, &d));
    }
}

static icf_result change_joint(side* s)
{
    icf_world* w = &s->scene.world;
    const icf_joint j = some_joint(s);
    icf_joint_def d;
    /* efforts that last are some weights of the lightest body, or it has left the scene a step later */
    const double weight = 10 * pow(10, p.mass_low) * p.size;
    icf_real x[4], y[4], z[4];
    int i;
    for (i = 0; i < 4; i++) {
        x[i] = odd(between(-1, 1));
        y[i] = odd(between(-5, 5));
        z[i] = odd(between(-5, 5) * weight);
    }
    if (icf_joint_get_def(w, j, &d) == ICF_RESULT_OK && d.kind == ICF_JOINT_BALL) {
        icf_quat q = turn();
        x[0] = q.x;
        x[1] = q.y;
        x[2] = q.z;
        x[3] = q.w;
    }
    switch (below(7)) {
    case 0: return add_joint(s);
    case 1: return CALL(s, icf_joint_destroy(w, j));
    case 2: return CALL(s, icf_joint_set_position(w, j, x));
    case 3: return CALL(s, icf_joint_set_velocity(w, j, y));
    case 4: return CALL(s, icf_joint_set_target(w, j, x, y, z));
    case 5: s->pushed = 1; return CALL(s, icf_joint_apply_effort(w, j, z));
    default:
        if (icf_joint_get_def(w, j, &d) != ICF_RESULT_OK) return ICF_RESULT_OK;
        joint_numbers(&d);
        return CALL(s, icf_joint_set_def(w, j, &d));
    }
}

static icf_result change_constraint(side* s)
{
    icf_world* w = &s->scene.world;
    const icf_constraint c = some_constraint(s);
    icf_constraint_def d, from;
    switch (below(3)) {
    case 0: return add_constraint(s);
    case 1: return CALL(s, icf_constraint_destroy(w, c));
    default:
        from = constraint_def(s);
        if (icf_constraint_get_def(w, c, &d) != ICF_RESULT_OK) return ICF_RESULT_OK;
        if (d.kind == from.kind) d = from;
        d.lower = odd(p.size * between(0, 1));
        d.upper = one_in(2) ? d.lower : odd((double)d.lower + p.size * between(0, 2));
        return CALL(s, icf_constraint_set_def(w, c, &d));
    }
}

static icf_result change_world(side* s)
{
    icf_world_def d;
    if (one_in(2)) {
        p.dt = power(-4, -1);
        return ICF_RESULT_OK;
    }
    (void)icf_world_get_def(&s->scene.world, &d);
    switch (below(7)) {
    case 0: d.gravity = along(between(0, 50)); break;
    case 1: d.method = below(3); break;
    case 2: d.model = below(3); break;
    case 3: d.settle = !d.settle; break;
    case 4: d.anchors = !d.anchors; break;
    case 5: d.passes = below(4); break;
    default: d.substeps = 1 + below(3);
    }
    return CALL(s, icf_world_set_def(&s->scene.world, &d));
}

static icf_result change(side* s)
{
    icf_result result;
    poison = s->poison;
    switch (below(8)) {
    case 0:
    case 1:
    case 2: result = change_body(s); break;
    case 3: result = change_collider(s); break;
    case 4:
    case 5: result = p.jointed ? change_joint(s) : ICF_RESULT_OK; break;
    case 6: result = p.jointed ? change_constraint(s) : ICF_RESULT_OK; break;
    default: result = change_world(s);
    }
    prune(s);
    return result;
}

/* What asks, and changes nothing */
static void look(side* s)
{
    static icf_line lines[64];
    const uint64_t hash = icf_scene_hash(&s->scene);
    const icf_vec3 from = place(), way = direction();
    const uint32_t mask = one_in(2) ? 0xffffffffu : (uint32_t)below(8);
    const icf_real far = R(100 * p.size);
    icf_collider found[8];
    icf_collider_def d;
    icf_diagnosis diagnosis;
    icf_scene_hit hit;
    icf_aabb box;
    int32_t i, n, most = below(9);
    poison = s->poison;
    tallies[QUERY].checks++;
    if (icf_scene_update(&s->scene) != ICF_RESULT_OK) {
        fail_if_sane(QUERY, "the update is refused", 0, 0);
        return;
    }
    if (icf_scene_ray(&s->scene, from, way, far, mask, &hit)) {
        if (!are_finite(hit.point) || !are_finite(hit.normal) ||
            magnitude(length(hit.normal) - 1) > 1e-4)
            fail(QUERY, "the normal of a ray", length(hit.normal), (double)hit.t);
        if (!(hit.t >= 0 && hit.t <= far) || !((double)icf_vec3_dot(hit.normal, way) <= 1e-4))
            fail(QUERY, "where a ray hits", (double)hit.t, (double)icf_vec3_dot(hit.normal, way));
        if (icf_collider_get_def(&s->scene, hit.collider, &d) != ICF_RESULT_OK || d.sensor ||
            !(d.category & mask))
            fail(QUERY, "what a ray hits", hit.collider.index, 0);
    }
    box.lower = from;
    box.upper = icf_vec3_add(from, vec(p.size, p.size, 2 * p.size));
    n = icf_scene_overlaps(&s->scene, &box, found, most);
    for (i = 0; i < n && i < most; i++) {
        if (!icf_collider_is_valid(&s->scene, found[i])) fail(QUERY, "what is in a box", i, n);
    }
    if (icf_scene_debug_lines(&s->scene, (uint32_t)below(16), 1, lines, 64) < 0)
        fail(QUERY, "how many lines", 0, 0);
    if (icf_world_diagnose(&s->scene.world, &diagnosis) != ICF_RESULT_OK)
        fail(QUERY, "no diagnosis", 0, 0);
    if (one_in(4) && icf_scene_detect(&s->scene, R(p.dt)) == ICF_RESULT_OK)
        (void)icf_world_try(&s->scene.world, R(p.dt));
    if (icf_scene_hash(&s->scene) != hash) fail(QUERY, "a question changed the hash", 0, 0);
}

/* A call that must be refused */
#define WRONG(call) \
    do { \
        if (CALL(s, call) >= 0) fail(REFUSED, "accepted: " #call, which, 0); \
    } while (0)

static void refuse_body(side* s)
{
    icf_world* w = &s->scene.world;
    const icf_real none = R(one_in(2) ? (double)NAN : -(double)INFINITY);
    const icf_vec3 bad = icf_vec3_make(0, none, 0), good = place();
    const icf_body gone = one_in(4) ? no_body : s->gone_body, b = some_body(s);
    const int which = below(12);
    icf_body_def d = body_def();
    icf_body name;
    icf_transform to = pose();
    d.kind = ICF_BODY_DYNAMIC;
    switch (which) {
    case 0: d.mass = none; break;
    case 1: d.mass = -1; break;
    case 2: d.pose.p.x = none; break;
    case 3: d.inertia.y.y = -1; break;
    case 4: d.kind = 7; break;
    case 5: d.cookie = 0; break;
    case 6: WRONG(icf_body_destroy(w, gone)); return;
    case 7: WRONG(icf_body_set_pose(w, gone, to)); return;
    case 8:
        to.p.z = none;
        WRONG(icf_body_set_pose(w, b, to));
        return;
    case 9: WRONG(icf_body_set_velocity(w, b, good, bad)); return;
    case 10: WRONG(icf_body_apply_force(w, one_in(2) ? gone : b, bad, good)); return;
    default: WRONG(icf_body_apply_impulse(w, gone, good, good)); return;
    }
    WRONG(icf_body_create(w, &d, &name));
}

static void refuse_joint(side* s)
{
    icf_world* w = &s->scene.world;
    const icf_real none = R(one_in(2) ? (double)NAN : (double)INFINITY);
    const int which = below(12);
    icf_joint_def d = icf_default_joint_def((icf_joint_kind)below(5));
    icf_constraint_def c = icf_default_constraint_def(ICF_CONSTRAINT_DISTANCE);
    icf_joint name;
    icf_constraint name2;
    icf_real x[4] = {0, 0, 0, 1};
    d.child = c.b = some_body(s);
    switch (which) {
    case 0: d.child = no_body; break;
    case 1: d.parent = d.child; break;
    case 2: d.parent = s->gone_body.generation ? s->gone_body : d.child; break;
    case 3: d.parent_frame.p.x = none; break;
    case 4: d.cookie = 0; break;
    case 5: d.kind = 9; break;
    case 6: WRONG(icf_joint_destroy(w, s->gone_joint)); return;
    case 7: WRONG(icf_joint_set_position(w, s->gone_joint, x)); return;
    case 8: WRONG(icf_constraint_destroy(w, s->gone_constraint)); return;
    case 9:
        c.b = no_body;
        WRONG(icf_constraint_create(w, &c, &name2));
        return;
    case 10:
        c.a_frame.p.y = none;
        WRONG(icf_constraint_create(w, &c, &name2));
        return;
    default:
        c.lower = 2;
        c.upper = 1;
        WRONG(icf_constraint_create(w, &c, &name2));
        return;
    }
    WRONG(icf_joint_create(w, &d, &name));
}

static void refuse_collider(side* s)
{
    const icf_real none = R(one_in(2) ? (double)NAN : -(double)INFINITY);
    const int which = below(10);
    icf_collider_def d = collider_def(some_body(s));
    icf_collider name;
    d.shape = icf_sphere(R(p.size));
    switch (which) {
    case 0: d.shape.radius = -1; break;
    case 1: d.shape = icf_box(1, none, 1); break;
    case 2: d.shape.kind = ICF_SHAPE_KIND_COUNT; break;
    case 3: d.material.friction = -1; break;
    case 4: d.material.stiffness = none; break;
    case 5: d.cookie = 0; break;
    case 6: d.surface_velocity.x = none; break;
    case 7: WRONG(icf_collider_destroy(&s->scene, s->gone_collider)); return;
    case 8: WRONG(icf_collider_set_def(&s->scene, s->gone_collider, &d)); return;
    default: WRONG(icf_scene_set_density(&s->scene, some_body(s), one_in(2) ? -1 : none)); return;
    }
    if (one_in(2) && s->colliders) {
        WRONG(icf_collider_set_def(&s->scene, some_collider(s), &d));
    } else {
        WRONG(icf_collider_create(&s->scene, &d, &name));
    }
}

static void refuse_world(side* s)
{
    icf_world* w = &s->scene.world;
    const icf_real none = R(one_in(2) ? (double)NAN : (double)INFINITY);
    const int which = below(8);
    icf_world_def d;
    icf_touch* at;
    int32_t room;
    (void)icf_world_get_def(w, &d);
    switch (which) {
    case 0: WRONG(icf_scene_step(&s->scene, 0)); return;
    case 1: WRONG(icf_scene_step(&s->scene, -R(p.dt))); return;
    case 2: WRONG(icf_scene_step(&s->scene, none)); return;
    case 3: WRONG(icf_scene_load(&s->scene, &d, sizeof d)); return;
    case 4: WRONG(icf_world_write_touches(w, 1 << 30, 0, &at, &room)); return;
    case 5: d.method = 3; break;
    case 6: d.substeps = 0; break;
    default: d.gravity.z = none; break;
    }
    WRONG(icf_world_set_def(w, &d));
}

static void refuse(side* s)
{
    poison = s->poison;
    switch (below(4)) {
    case 0: refuse_body(s); break;
    case 1: refuse_joint(s); break;
    case 2: refuse_collider(s); break;
    default: refuse_world(s);
    }
}

// ------------------------------------------------------------------------------------------------
// The second scene

static void drop(side* s)
{
    icf_scene_destroy(&s->scene);
    free(s->block);
    memset(s, 0, sizeof *s);
}

/* Empty, one that grows or one in a block of just the size that it takes */
static void make_second(void)
{
    icf_scene_def d = p.def;
    size_t bytes;
    drop(&second);
    poison = second.poison = byte();
    if (one_in(2)) {
        CHECK(icf_scene_create(&second.scene, &d) == ICF_RESULT_OK);
    } else {
        (void)icf_world_get_def(&first.scene.world, &d.world);
        d.world.solver = (size_t)4 << 20; /* with less it solves otherwise */
        d.colliders = icf_scene_collider_count(&first.scene) + 4;
        d.pairs = 1000;
        bytes = icf_scene_bytes(&d);
        second.block = malloc(bytes);
        CHECK(second.block != NULL);
        memset(second.block, poison, bytes);
        CHECK(icf_scene_init(&second.scene, second.block, bytes - 1, &d) == ICF_RESULT_TOO_SMALL);
        CHECK(icf_scene_init(&second.scene, second.block, bytes, &d) == ICF_RESULT_OK);
    }
    second.scene.combine = first.scene.combine;
}

/* Saves the first and loads it into the second, which then follows */
static void save_and_load(void)
{
    const uint64_t hash = icf_scene_hash(&first.scene);
    const size_t bytes = icf_scene_save_bytes(&first.scene);
    uint8_t* saved = (uint8_t*)malloc(bytes);
    const side* f = &first;
    icf_scene scene;
    void* block;
    icf_result result;
    int filled;
    following = 0;
    tallies[LOAD].checks++;
    CHECK(saved != NULL);
    if (icf_scene_save(&first.scene, saved, bytes - 1) != ICF_RESULT_TOO_SMALL)
        fail(REFUSED, "accepted: a save into too little", 0, 0);
    if (icf_scene_save(&first.scene, saved, bytes) != ICF_RESULT_OK)
        fail(LOAD, "a save is refused", 0, 0);
    if (icf_scene_hash(&first.scene) != hash) fail(LOAD, "a save changed the hash", 0, 0);
    if (!second.scene.memory || one_in(2)) make_second();
    poison = second.poison;
    if (one_in(3)) {
        const size_t at = (size_t)word() % bytes;
        const uint8_t was = saved[at];
        const uint64_t before = icf_scene_hash(&second.scene);
        saved[at] = (uint8_t)(was ^ 1 << below(8));
        if (icf_scene_load(&second.scene, saved, bytes) >= 0)
            fail(LOAD, "accepted: damage at a byte", (double)at, (double)bytes);
        else if (icf_scene_hash(&second.scene) != before)
            fail(REFUSED, "a damaged load changed the hash", (double)at, (double)bytes);
        saved[at] = was;
        if (icf_scene_load(&second.scene, saved, at) >= 0)
            fail(LOAD, "accepted: a part of a save", (double)at, (double)bytes);
    }
    result = icf_scene_load(&second.scene, saved, bytes);
    free(saved);
    if (result == ICF_RESULT_TOO_SMALL && second.block) {
        full++;
        return;
    }
    if (result != ICF_RESULT_OK) {
        /* a wild number can make a state that is none */
        if (!p.wild) fail(LOAD, "a load is refused", result, 0);
        return;
    }
    if (icf_scene_hash(&second.scene) != hash) fail(LOAD, "another hash after a load", 0, 0);
    scene = second.scene;
    block = second.block;
    filled = second.poison;
    second = *f;
    second.scene = scene;
    second.block = block;
    second.poison = filled;
    followed = 0;
    following = one_in(2) ? 1 : 1 + below(8);
}

/* The same change to both, if the second follows */
static void change_both(void)
{
    const stream begin = in;
    icf_result one = change(&first), two;
    stream end;
    if (!following) return;
    end = in;
    in = begin;
    two = change(&second);
    in = end;
    if (one != two) {
        following = 0;
        if (two == ICF_RESULT_TOO_SMALL && second.block) {
            full++;
        } else {
            fail(LOAD, "a call answers otherwise after a load", one, two);
        }
    }
}

// ------------------------------------------------------------------------------------------------
// A step

enum { PLAIN, EDITED, COPIED };

static double seconds_now(void)
{
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

/* Touches are the caller's between detection and solve */
static void edit(side* s)
{
    icf_world* w = &s->scene.world;
    int32_t n, i, all;
    icf_touch* t = icf_world_touches(w, &n);
    s->edited = 1;
    for (i = 0; i < n; i++) {
        const int what = below(10);
        icf_surface f = icf_world_surfaces(w, &all)[t[i].contact.surface];
        int32_t number;
        if (what == 0) f.friction = 0;
        if (what == 1) f.stiffness = 0;
        if (what == 2) t[i].contact.distance = R(100 * p.size);
        if (what == 3) t[i].id = 0;
        if (what == 4) f.law = below(3);
        if (what == 5) f.friction2 = f.model == ICF_MODEL_SAP ? -1 : odd(between(0, 2));
        if (what == 6) f.adhesion = odd(power(-2, 3));
        if (what == 6) f.adhesion_range = odd(p.size * power(-4, -1));
        if (what == 7 && one_in(4)) t[i].contact.weight = R(below(2));
        if (what > 6 || what == 2 || what == 3) continue;
        /* its neighbours keep theirs */
        if (CALL(s, icf_world_add_surface(w, &f, &number)) == ICF_RESULT_TOO_SMALL) {
            s->lacks = 1;
            continue;
        }
        t = icf_world_touches(w, &n);
        t[i].contact.surface = number;
    }
    if (n && one_in(4)) {
        const icf_touch more = t[below(n)];
        if (CALL(s, icf_world_add_touch(w, &more, NULL)) == ICF_RESULT_TOO_SMALL) s->lacks = 1;
    }
    if (one_in(8)) icf_world_clear_touches(w);
    if (n && one_in(8)) {
        t = icf_world_touches(w, &n);
        if (n) t[below(n)].point.x = R((double)NAN);
    }
}

/* A clone of the world with its touches, moved on into another block now and then */
typedef struct world_copy {
    icf_world world;
    void* block;
    int moved;
} world_copy;

static void copy_world(side* s, world_copy* c)
{
    const uint64_t hash = icf_world_hash(&s->scene.world);
    memset(c, 0, sizeof *c);
    poison = byte();
    if (icf_world_clone(&c->world, &s->scene.world) != ICF_RESULT_OK) {
        fail(CLONE, "refused", 0, 0);
        return;
    }
    if (icf_world_hash(&c->world) != hash) fail(CLONE, "another hash", 0, 0);
    if (one_in(2)) {
        icf_world_def d;
        size_t bytes;
        icf_result result;
        (void)icf_world_get_def(&c->world, &d);
        d.bodies += below(8);
        d.joints += below(8);
        d.contacts += below(50);
        d.solver = (size_t)4 << 20;
        bytes = icf_world_bytes(&d);
        c->block = malloc(bytes);
        CHECK(c->block != NULL);
        memset(c->block, byte(), bytes);
        c->moved = 1;
        result = icf_world_move(&c->world, c->block, bytes - 1, &d);
        if (result >= 0) fail(REFUSED, "accepted: a move into too little", result, 0);
        result = icf_world_move(&c->world, c->block, bytes, &d);
        if (result != ICF_RESULT_OK) fail(MOVE, "refused", result, 0);
        if (icf_world_hash(&c->world) != hash) fail(MOVE, "another hash", 0, 0);
    }
    poison = s->poison;
}

/* The copy goes on with the same bits; in a block of its own only if it solves with a factor as well */
static void follow_world(const side* s, world_copy* c, icf_result result)
{
    icf_stats one, two;
    const icf_result answer = c->world.memory ? icf_world_step(&c->world, R(p.dt)) : result;
    /* without a factor for want of memory; or with touches that the scene found in a second look */
    const int other = (icf_world_get_stats(&s->scene.world, &one) == ICF_RESULT_OK &&
                       icf_world_get_stats(&c->world, &two) == ICF_RESULT_OK &&
                       (one.iterative != two.iterative || icf_world_touch_count(&s->scene.world) !=
                                                              icf_world_touch_count(&c->world))) ||
                      (result < 0 && answer >= 0); /* what refused such a look */
    tallies[c->moved ? MOVE : CLONE].checks++;
    if (c->world.memory && !other &&
        (answer != result || icf_world_hash(&c->world) != icf_world_hash(&s->scene.world)))
        fail(c->moved ? MOVE : CLONE, "another hash after a step", result, answer);
    icf_world_destroy(&c->world);
    free(c->block);
}

static icf_result step(side* s, int how, double* seconds)
{
    static world_copy copy;
    icf_result result;
    poison = s->poison;
    s->hash = icf_scene_hash(&s->scene);
    s->edited = s->lacks = 0;
    *seconds = seconds_now();
    if (how == PLAIN && !getenv("SOAK_DUMP")) {
        result = icf_scene_step(&s->scene, R(p.dt));
        *seconds = seconds_now() - *seconds;
    } else {
        result = icf_scene_detect(&s->scene, R(p.dt));
        if (icf_scene_hash(&s->scene) != s->hash) fail(QUERY, "detection changed the hash", 0, 0);
        *seconds = 0;
        if (result < 0) return result;
        if (how == EDITED) edit(s);
        if (how == COPIED) copy_world(s, &copy);
        dump_step(&s->scene.world);
        *seconds = seconds_now();
        result = icf_scene_solve(&s->scene, R(p.dt));
        *seconds = seconds_now() - *seconds;
        if (how == COPIED) follow_world(s, &copy, result);
    }
    return noted(s, result, "a step");
}

// ------------------------------------------------------------------------------------------------
// What must hold after it

static icf_body body_at(const side* s, int32_t slot, icf_body_state* state)
{
    const icf_body b = icf_world_body_at(&s->scene.world, slot);
    if (!b.generation || icf_body_get_state(&s->scene.world, b, state) != ICF_RESULT_OK)
        return no_body;
    return b;
}

static double fastest_turn(const side* s)
{
    double most = 0;
    int32_t i;
    for (i = 0; i < icf_world_body_count(&s->scene.world); i++) {
        icf_body_state state;
        if (body_at(s, i, &state).generation) most = larger(most, length(state.angular_velocity));
    }
    return most;
}

/* Could there be more energy than what is counted? */
static int is_passive(const side* s)
{
    icf_world_def d;
    icf_body_state state;
    icf_collider_def c;
    int32_t i;
    if (p.wild || s->pushed || s->joints || s->constraints) return 0;
    (void)icf_world_get_def(&s->scene.world, &d);
    if (d.iterations != p.def.world.iterations || d.tolerance > p.def.world.tolerance) return 0;
    /* a blow on what turns far in a step changes its energy to second order only */
    if (d.method == ICF_METHOD_MIDPOINT && p.dt * fastest_turn(s) > 0.3) return 0;
    for (i = 0; i < s->colliders; i++) {
        if (icf_collider_get_def(&s->scene, s->collider[i], &c) == ICF_RESULT_OK &&
            length(c.surface_velocity) > 0)
            return 0;
    }
    for (i = 0; i < icf_world_body_count(&s->scene.world); i++) {
        if (body_at(s, i, &state).generation && state.kind == ICF_BODY_KINEMATIC) return 0;
    }
    return 1;
}

/* With what gravity gives in dt, where that is more; all of it over substeps, for between them a blow may turn
   the body round */
static double kinetic(const side* s, double dt)
{
    double sum = 0;
    int32_t i;
    icf_world_def w;
    (void)icf_world_get_def(&s->scene.world, &w);
    for (i = 0; i < icf_world_body_count(&s->scene.world); i++) {
        icf_body_state b;
        icf_body_def d;
        icf_vec3 v, spin;
        double slow, fast;
        const icf_body name = body_at(s, i, &b);
        if (!name.generation || b.kind != ICF_BODY_DYNAMIC) continue;
        (void)icf_body_get_def(&s->scene.world, name, &d);
        v = icf_vec3_add_scaled(b.velocity, R(dt * (double)d.gravity_scale), w.gravity);
        slow = length(b.velocity);
        fast = w.substeps == 1 ? length(v)
                               : slow + dt * magnitude((double)d.gravity_scale) * length(w.gravity);
        spin = icf_quat_rotate_inverse(b.pose.q, b.angular_velocity);
        sum += 0.5 * (double)d.mass * (slow > fast ? slow * slow : fast * fast);
        sum += 0.5 * (double)icf_vec3_dot(spin, icf_mat3_apply(d.inertia, spin));
    }
    return sum;
}

static double elastic(side* s)
{
    double sum = 0;
    int32_t i, n;
    const icf_surface* surface;
    icf_touch* t;
    if (icf_scene_detect(&s->scene, R(p.dt)) < 0) return 1e300;
    surface = icf_world_surfaces(&s->scene.world, &n);
    t = icf_world_touches(&s->scene.world, &n);
    for (i = 0; i < n; i++) {
        const double d = (double)t[i].contact.distance;
        if (d < 0)
            sum += 0.5 * (double)surface[t[i].contact.surface].stiffness *
                   (double)t[i].contact.weight * d * d;
    }
    return sum;
}

/* How far the centre of a body is behind the walls */
static double outside(icf_vec3 c)
{
    const double l = p.size, x = magnitude((double)c.x) - 7 * l, y = magnitude((double)c.y) - 7 * l;
    const double z = larger(-(double)c.z, (double)c.z - 12 * l);
    return larger(larger(x, y), z);
}

/* Does it have a shape that the walls hold, and nothing that may pull it through them? */
static int is_held(const side* s, icf_body b)
{
    icf_collider c[16];
    icf_collider_def d;
    icf_joint_def j;
    icf_constraint_def k;
    int32_t i, n = icf_scene_body_colliders(&s->scene, b, c, 16);
    for (i = 0; i < s->joints; i++) {
        if (icf_joint_get_def(&s->scene.world, s->joint[i], &j) == ICF_RESULT_OK &&
            (j.child.index == b.index || j.parent.index == b.index))
            return 0;
    }
    for (i = 0; i < s->constraints; i++) {
        if (icf_constraint_get_def(&s->scene.world, s->constraint[i], &k) == ICF_RESULT_OK &&
            (k.a.index == b.index || k.b.index == b.index))
            return 0;
    }
    for (i = 0; i < n && i < 16; i++) {
        if (icf_collider_get_def(&s->scene, c[i], &d) == ICF_RESULT_OK && !d.sensor &&
            (d.mask & 1) && d.category)
            return 1;
    }
    return 0;
}

static double outside_before[SLOTS];

static void look_before(const side* s)
{
    icf_diagnosis now;
    int32_t i;
    gap_before =
        icf_world_diagnose(&s->scene.world, &now) == ICF_RESULT_OK ? (double)now.violation : 0;
    speed_before = turn_before = 0;
    for (i = 0; i < SLOTS; i++) outside_before[i] = 0;
    for (i = 0; i < icf_world_body_count(&s->scene.world); i++) {
        icf_body_state b;
        if (!body_at(s, i, &b).generation) continue;
        if (!(length(b.velocity) <= speed_before)) speed_before = length(b.velocity);
        if (!(length(b.angular_velocity) <= turn_before)) turn_before = length(b.angular_velocity);
        if (i < SLOTS) outside_before[i] = outside(b.center);
    }
}

/* How far the solve itself says that a body may be from where it should be: the kinetic energy of a wrong
   velocity is at most the certificate */
static double doubt(const side* s, icf_body name)
{
    icf_body_def d;
    icf_stats stats;
    if (icf_world_get_stats(&s->scene.world, &stats) != ICF_RESULT_OK) return 0;
    (void)icf_body_get_def(&s->scene.world, name, &d);
    return p.dt * sqrt(2 * (double)stats.certificate / (double)d.mass);
}

static void check_bodies(side* s, int pushed)
{
    icf_world_def d;
    double reach;
    int32_t i;
    (void)icf_world_get_def(&s->scene.world, &d);
    reach = (speed_before + p.dt * length(d.gravity)) * p.dt;
    for (i = 0; i < icf_world_body_count(&s->scene.world); i++) {
        icf_body_state b;
        const icf_body name = body_at(s, i, &b);
        const icf_quat q = b.pose.q;
        double norm;
        if (!name.generation) continue;
        tallies[FINITE].checks++;
        tallies[TURN].checks++;
        norm = (double)q.x * (double)q.x + (double)q.y * (double)q.y + (double)q.z * (double)q.z +
               (double)q.w * (double)q.w;
        if (!are_finite(b.center) || !are_finite(b.pose.p) || !are_finite(b.velocity) ||
            !are_finite(b.angular_velocity) || !(norm - norm == 0))
            fail(FINITE, "a body", i, norm);
        else if (magnitude(norm - 1) > turn_error)
            fail(TURN, "the length of a quaternion", i, norm - 1);
        if (!p.closed || pushed || s->edited || i >= SLOTS || b.kind != ICF_BODY_DYNAMIC) continue;
        tallies[ESCAPE].checks++;
        if (outside_before[i] > 5 * p.size && is_held(s, name))
            fail_if_sane(ESCAPE, "no wall saw a body that is outside", i, outside_before[i]);
        else if (outside_before[i] < p.size && outside(b.center) > 5 * p.size &&
                 reach < p.size / 2 && doubt(s, name) < p.size && is_held(s, name))
            fail_if_sane(ESCAPE, "a step took a body outside", i, outside(b.center));
    }
}

static void check_touches(side* s)
{
    int32_t i, n;
    const icf_scene_event* e = icf_scene_events(&s->scene, &n);
    for (i = 0; i < n; i++) {
        if (!is_finite(e[i].impulse)) fail(FINITE, "the impulse of an event", i, 0);
        if (e[i].kind < 0 || e[i].kind > ICF_EVENT_ENDED ||
            (!s->edited &&
             (e[i].impulse < 0 || (e[i].kind == ICF_EVENT_ENDED && e[i].impulse > 0))))
            fail(PUSH, "an event", e[i].kind, (double)e[i].impulse);
        if (e[i].a.index == e[i].b.index) fail(PUSH, "an event of one collider", i, e[i].a.index);
    }
    n = icf_world_touch_count(&s->scene.world);
    for (i = 0; i < n; i++) {
        icf_touch_result t;
        icf_collider a, b;
        if (icf_world_get_touch(&s->scene.world, i, &t) != ICF_RESULT_OK) continue;
        tallies[PUSH].checks++;
        if (!are_finite(t.impulse) || !are_finite(t.contact.impulse) ||
            !are_finite(t.contact.force) || !are_finite(t.contact.velocity) ||
            !are_finite(t.contact.spin_impulse) ||
            /* a velocity of 1e30 that the caller gave has no square */
            (!p.wild && !is_finite(t.contact.dissipated)) || !are_finite(t.point) ||
            !are_finite(t.normal) || !is_finite(t.distance))
            fail(FINITE, "a touch", i, (double)t.distance);
        if (t.contact.impulse.z < 0 && !s->edited)
            fail(PUSH, "an impulse that pulls", i, (double)t.contact.impulse.z);
        if (icf_scene_touch_colliders(&s->scene, i, &a, &b) != ICF_RESULT_OK && !s->edited)
            fail(PUSH, "a touch of no colliders", i, 0);
    }
}

static void check_solve(side* s, icf_result result, double seconds)
{
    icf_stats stats;
    if (seconds > slowest) {
        slowest = seconds;
        slowest_seed = fuzz_seed;
    }
    tallies[TIME].checks++;
    if (seconds > longest_step * (1 + icf_world_touch_count(&s->scene.world) / 200))
        fail_if_sane(TIME, "seconds of a step", seconds, 0);
    if (result < 0 || icf_world_get_stats(&s->scene.world, &stats) != ICF_RESULT_OK) return;
    if (stats.iterations > most_iterations) most_iterations = stats.iterations;
    if (stats.momentum_error - stats.momentum_error != 0 || stats.cost - stats.cost != 0 ||
        !(stats.certificate >= 0))
        fail_if_sane(FINITE, "stats", (double)stats.momentum_error, (double)stats.cost);
    tallies[FLOOR].checks += stats.stop == ICF_STOP_FLOOR;
    shorts += stats.stop == ICF_STOP_SHORT;
    /* in float the walls of stiff contacts are steeper than what lies between two numbers: counted in `shorts` */
    if (IN_FLOAT && stats.stop == ICF_STOP_SHORT) return;
    if ((stats.stop == ICF_STOP_FLOOR || stats.stop == ICF_STOP_SHORT) &&
        !((double)stats.momentum_error <= floor_error) && !(stats.momentum_error <= stats.rounding))
        fail_if_sane(FLOOR, "momentum error and certificate", (double)stats.momentum_error,
                     (double)stats.certificate);
}

/* The second one does the same, with the same bits and the same events */
static void follow(int how, icf_result one)
{
    icf_stats a, b;
    int32_t i, m, n;
    const icf_scene_event *e, *f;
    double seconds;
    const icf_result two = step(&second, how, &seconds);
    if (two >= 0) second.pushed = 0;
    following--;
    tallies[LOAD].checks++;
    if (icf_world_get_stats(&first.scene.world, &a) == ICF_RESULT_OK &&
        icf_world_get_stats(&second.scene.world, &b) == ICF_RESULT_OK &&
        a.iterative != b.iterative) {
        full++; /* for want of memory it has no factor */
        following = 0;
    } else if (second.block &&
               ((two == ICF_RESULT_TOO_SMALL && one != two) ||
                (second.lacks && icf_scene_hash(&first.scene) != icf_scene_hash(&second.scene)))) {
        full++;
        following = 0;
    } else if (one != two || icf_scene_hash(&first.scene) != icf_scene_hash(&second.scene)) {
        fail(LOAD, "another hash after steps of what was loaded", one, two);
        following = 0;
    } else if (one >= 0 && followed++) {
        /* the first step that is not refused may tell ends that the other does not know */
        e = icf_scene_events(&first.scene, &m);
        f = icf_scene_events(&second.scene, &n);
        for (i = 0; i < m && i < n; i++) {
            if (e[i].kind != f[i].kind || e[i].sensor != f[i].sensor ||
                e[i].a.index != f[i].a.index || e[i].b.index != f[i].b.index ||
                e[i].impulse < f[i].impulse || e[i].impulse > f[i].impulse)
                break;
        }
        if (i < m || m != n) fail(LOAD, "other events after steps of what was loaded", i, m - n);
    }
}

/* Answers whether the scene can go on */
static int step_both(void)
{
    const int how = one_in(20) ? COPIED : !p.passive && one_in(20) ? EDITED : PLAIN;
    const int passive = how != EDITED && is_passive(&first);
    const int pushed = first.pushed;
    const stream begin = in;
    double before = 0, stored = 0, seconds;
    icf_result one;
    stream end;
    int sane;
    if (passive) {
        before = kinetic(&first, p.dt);
        stored = elastic(&first);
    }
    look_before(&first);
    pushed_now = pushed;
    one = step(&first, how, &seconds);
    if (one >= 0) first.pushed = 0; /* forces stay for the next step where one is refused */
    end = in;
    sane = is_sane(&first);
    steps++;
    sane_steps += (unsigned long)sane;
    if (!first.edited && one <= ICF_RESULT_NOT_CONVERGED && one > -19)
        outcomes[!sane][ICF_RESULT_NOT_CONVERGED - one]++;
    tallies[RESULT].checks++;
    /* in float a tree may be beyond the precision, which has a name: counted in the results */
    if (one < 0 && !first.edited && !(IN_FLOAT && one == ICF_RESULT_NOT_SPD && first.joints))
        fail_if_sane(RESULT, first.scene.reason ? first.scene.reason : icf_result_string(one), one,
                     first.scene.world.which);
    check_solve(&first, one, seconds);
    check_bodies(&first, pushed);
    if (one >= 0) check_touches(&first);
    if (passive && one == ICF_RESULT_OK) {
        const double after = kinetic(&first, 0);
        tallies[ENERGY].checks++;
        if (after > 1.001 * (before + stored) + 1e-300)
            fail_if_sane(ENERGY, "J after, J before", after, before + stored);
    }
    if (following) {
        in = begin;
        follow(how == EDITED ? EDITED : PLAIN, one);
        in = end;
    }
    return one >= 0 || first.edited;
}

// ------------------------------------------------------------------------------------------------
// A seed

static void make_plan(void)
{
    double middle = between(-4, 4), spread = between(0, decades);
    memset(&p, 0, sizeof p);
    p.passive = one_in(3);
    p.jointed = !one_in(3);
    p.wild = one_in(12);
    p.own_rule = one_in(12);
    p.size = power(-3, 2);
    p.speed = one_in(3) ? 0 : power(-1, 2.3);
    p.dt = power(-4, -1);
    p.mass_low = middle - spread > -4 ? middle - spread : -4;
    p.mass_high = middle + spread < 4 ? middle + spread : 4;
    p.stiff_low = 2;
    p.stiff_high = 12;
    if (one_in(2)) p.stiff_low = p.stiff_high = between(2, 12);
    p.def = icf_default_scene_def();
    p.def.world.model = below(3);
    p.def.world.method = below(3);
    p.def.world.settle = one_in(2);
    p.def.world.anchors = one_in(2);
    p.def.world.passes = below(4);
    if (one_in(4)) p.def.world.substeps = 1 + below(4);
    if (one_in(8)) p.def.world.gravity = along(between(0, 50));
    if (one_in(12)) p.def.world.iterations = 1 + below(20);
    if (one_in(2)) p.def.world.bodies = below(4);
    if (one_in(2)) p.def.world.contacts = below(20);
    if (one_in(2)) p.def.colliders = below(10);
    p.def.points = 1 + below(8);
    p.def.margin = R(power(-3, -0.5));
}

static void fuzz_input(void)
{
    enum { MOST_NOT_SANE = 40 };
    int32_t i, n;
    int not_sane = 0;
    at_step = -1;
    speed_before = turn_before = 0;
    following = 0;
    make_plan();
    poison = first.poison = byte();
    if (icf_scene_create(&first.scene, &p.def) != ICF_RESULT_OK) return; /* a wild one */
    if (p.own_rule) first.scene.combine = softer;
    add_room(&first);
    for (i = 0, n = 1 + below(14); i < n; i++) (void)add_body(&first);
    if (p.jointed) {
        for (i = 0, n = below(10); i < n; i++) (void)add_joint(&first);
        for (i = 0, n = one_in(2) ? below(8) : 0; i < n; i++) (void)add_constraint(&first);
    }
    for (at_step = 0; at_step < STEPS && not_sane < MOST_NOT_SANE; at_step++) {
        if (!p.passive && one_in(2)) change_both();
        if (one_in(12)) look(&first);
        if (one_in(6)) refuse(&first);
        if (one_in(15)) save_and_load();
        if (!step_both()) break;
        not_sane = is_sane(&first) ? 0 : not_sane + 1;
    }
    drop(&first);
    drop(&second);
}

static int fuzz_end(void)
{
    int i, k, failed = 0;
    printf("%lu steps, %lu of them in sane states; the slowest %.3g s (seed %llu); most iterations "
           "%d; "
           "%lu times a scene that could not grow was full\n",
           steps, sane_steps, slowest, slowest_seed, (int)most_iterations, full);
    for (k = 0; k < 2; k++) {
        printf("results in %s:", k ? "other states" : "sane states");
        for (i = 0; i < 20; i++) {
            if (outcomes[k][i])
                printf("  %s %lu", icf_result_string((icf_result)(ICF_RESULT_NOT_CONVERGED - i)),
                       outcomes[k][i]);
        }
        printf("\n");
    }
    printf("%lu solves ended short of the tolerance\n", shorts);
    for (i = 0; i < KINDS; i++) {
        printf("%-8s %lu failures in %lu seeds, of %lu", kind_name[i], tallies[i].times,
               tallies[i].seeds, tallies[i].checks);
        if (tallies[i].not_sane) printf("; in other states %lu", tallies[i].not_sane);
        printf("\n");
        failed |= tallies[i].times > 0;
    }
    return failed;
}
