/* What rests, and what slides, in this library and in others

   The same scenes in icf, MuJoCo, ODE and Bullet (bench/peers/engines_peers.h), at 60 and 240 steps a second,
   one step each. Usual are: icf 60 to 1000 steps a second, MuJoCo 500, ODE 20 to 100, Bullet 60, and 240
   where it is used for robots; --hz= tries another rate. Every engine has its own defaults, but for what a
   name says:

       MuJoCo discrete       integrator="discrete"
       MuJoCo no-slip        elliptic cones, impratio 100, and the no-slip pass
       Bullet                does not sleep; has friction in one direction at a time
       Bullet 2 directions   likewise; has it in two, as Gazebo and Bullet's world of robots set it
       Bullet sleeping       has it in two, and sleeps, as it does by default

   Masses are in kg, lengths in m. A plane that leans is a level one with gravity turned. Drift is how far a
   body moves against what holds it after the first quarter of --seconds= (30), times what makes that an hour:
   nobody ran an hour. 0 is 0 to the last bit. "lost" is what moved by 5 cm in a gripper or 20 cm in the
   stack.

       slope            a cube of 0.2 m, 1 kg, friction 0.5, at a share of the steepest slope
       gripper held     two fingers that slide push 20 N each on a cube of 6 cm, 0.5 kg, friction 0.5
       gripper turning  one jaw on a body that turns at 1 rad/s about a level axis across, 15 cm off, and a
                        finger that slides on it and pushes 20 N
       gripper shaken   as held; gravity swings at 5 Hz, at its worst to 90 % of what friction can hold
       stack            ten cubes of 0.2 m, 1 kg on a slope of 4 degrees, friction 0.1: 70 %
       pile             40 such cubes, friction 0.5, dropped turned at random between walls: from 10 to 20 s;
                        "-" where a step takes more than 20 ms at 60 Hz, 5 ms at 240 Hz
       onset            a force on a cube grows by 4 % of friction times weight a second, in 8 directions:
                        where the cube begins to slip, over friction times weight. 1 in all directions is a
                        circle
       rolling          a ball thrown at 2 m/s that slides, then rolls: its speed over 5/7 of that
       stopping         a cube that touches the ground and slides at 2 m/s: its way over v^2 / (2 mu g) - v dt
                        / 2, as all of these engines move by the velocity at the end of a step

   A scene is an entry of `scenes` and a function over the calls of engine_kind. Options, besides those of
   bench.h: --seconds=N, --hz=N, --engine=TEXT, --plain: icf without anchors, and --plot: writes
   bench/figures/engines_rest.svg. */

#include "bench.h"

#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"

#include "clutter.h"
#include "peers/engines_peers.h"
#include "plot.h"

#include <math.h>

#define GRAVITY 9.81
#define PI 3.14159265358979323846

enum { VALUES = 3 };

static int failures, plain;
static double seconds = 30;

static void* grown(void* p, size_t bytes)
{
    p = realloc(p, bytes);
    if (p) return p;
    fprintf(stderr, "out of memory\n");
    exit(1);
}

// ------------------------------------------------------------------------------------------------
// icf

typedef struct own {
    engine base;
    icf_scene scene;
    icf_real dt;
    double friction;
    int count;
    icf_body* body;
    icf_vec3* force;
} own;

static void must(const own* o, icf_result result, const char* what)
{
    if (result == ICF_RESULT_OK) return;
    fprintf(stderr, "icf: %s: %s, %s\n", what, icf_result_string(result),
            o->scene.reason         ? o->scene.reason
            : o->scene.world.reason ? o->scene.world.reason
                                    : "no reason given");
    exit(1);
}

static icf_vec3 vec3(const double* x)
{
    return icf_vec3_make(x[0], x[1], x[2]);
}

static icf_transform transform(const double* p, const double* q)
{
    icf_transform t = icf_transform_identity();
    t.p = vec3(p);
    if (!q) return t;
    t.q.w = q[0];
    t.q.x = q[1];
    t.q.y = q[2];
    t.q.z = q[3];
    return t;
}

static engine* own_create(const engine_kind* kind, double dt, double friction)
{
    own* o = (own*)calloc(1, sizeof *o);
    icf_scene_def def = icf_default_scene_def();
    if (!o) return NULL;
    o->base.kind = kind;
    o->dt = dt;
    o->friction = friction;
    if (plain)
        def.world.anchors = def.world.settle = def.world.passes = 0; /* friction as in the papers */
    must(o, icf_scene_create(&o->scene, &def), "icf_scene_create");
    return &o->base;
}

static void own_destroy(engine* e)
{
    own* o = (own*)e;
    icf_scene_destroy(&o->scene);
    free(o->body);
    free(o->force);
    free(o);
}

static void own_add(engine* e, const engine_body* b)
{
    own* o = (own*)e;
    icf_body_def def = icf_default_body_def();
    icf_collider_def shape = icf_default_collider_def();
    icf_collider collider;
    icf_joint joint;
    const size_t i = (size_t)o->count++;
    o->body = (icf_body*)grown(o->body, (i + 1) * sizeof *o->body);
    o->force = (icf_vec3*)grown(o->force, (i + 1) * sizeof *o->force);
    o->force[i] = icf_vec3_make(0, 0, 0);
    def.pose = transform(b->start.p, b->start.q);
    def.velocity = vec3(b->start.v);
    def.angular_velocity = vec3(b->start.w);
    if (b->mass > 0) {
        double inertia[3];
        engine_inertia(b, inertia);
        def.mass = b->mass;
        def.inertia =
            icf_mat3_from_columns(icf_vec3_make(inertia[0], 0, 0), icf_vec3_make(0, inertia[1], 0),
                                  icf_vec3_make(0, 0, inertia[2]));
    } else {
        def.kind = icf_vec3_length(def.velocity) > 0 || icf_vec3_length(def.angular_velocity) > 0
                       ? ICF_BODY_KINEMATIC
                       : ICF_BODY_STATIC;
    }
    must(o, icf_body_create(&o->scene.world, &def, &o->body[i]), "icf_body_create");
    shape.shape = b->shape == ENGINE_BOX    ? icf_box(b->half[0], b->half[1], b->half[2])
                  : b->shape == ENGINE_BALL ? icf_sphere(b->half[0])
                                            : icf_half_space();
    shape.shape.pose = transform(b->at, NULL);
    shape.body = o->body[i];
    shape.material.friction = o->friction;
    must(o, icf_collider_create(&o->scene, &shape, &collider), "icf_collider_create");
    if (b->slides) {
        icf_joint_def slider = icf_default_joint_def(ICF_JOINT_PRISMATIC);
        if (b->parent >= 0) slider.parent = o->body[b->parent];
        slider.child = o->body[i];
        slider.feedforward[0] = b->push;
        must(o,
             icf_world_frames(&o->scene.world, slider.parent, slider.child, def.pose.p,
                              vec3(b->axis), &slider.parent_frame, &slider.child_frame),
             "icf_world_frames");
        must(o, icf_joint_create(&o->scene.world, &slider, &joint), "icf_joint_create");
    }
}

static void own_gravity(engine* e, const double g[3])
{
    own* o = (own*)e;
    icf_world_def def;
    must(o, icf_world_get_def(&o->scene.world, &def), "icf_world_get_def");
    def.gravity = vec3(g);
    must(o, icf_world_set_def(&o->scene.world, &def), "icf_world_set_def");
}

static void own_force(engine* e, int body, const double f[3])
{
    ((own*)e)->force[body] = vec3(f);
}

static void own_get(engine* e, int body, engine_state* s)
{
    own* o = (own*)e;
    icf_body_state t;
    must(o, icf_body_get_state(&o->scene.world, o->body[body], &t), "icf_body_get_state");
    s->p[0] = t.pose.p.x, s->p[1] = t.pose.p.y, s->p[2] = t.pose.p.z;
    s->q[0] = t.pose.q.w, s->q[1] = t.pose.q.x, s->q[2] = t.pose.q.y, s->q[3] = t.pose.q.z;
    s->v[0] = t.velocity.x, s->v[1] = t.velocity.y, s->v[2] = t.velocity.z;
    s->w[0] = t.angular_velocity.x, s->w[1] = t.angular_velocity.y, s->w[2] = t.angular_velocity.z;
}

static double own_step(engine* e)
{
    own* o = (own*)e;
    icf_stats stats;
    icf_result result;
    int i;
    for (i = 0; i < o->count; i++) {
        icf_body_state s;
        if (icf_vec3_dot(o->force[i], o->force[i]) == 0) continue;
        must(o, icf_body_get_state(&o->scene.world, o->body[i], &s), "icf_body_get_state");
        must(o, icf_body_apply_force(&o->scene.world, o->body[i], o->force[i], s.center),
             "icf_body_apply_force");
    }
    result = icf_scene_step(&o->scene, o->dt);
    if (result < 0) must(o, result, "icf_scene_step");
    must(o, icf_world_get_stats(&o->scene.world, &stats), "icf_world_get_stats");
    return stats.iterations;
}

static const engine_kind own_kind = {
    "icf", {0, 0, 0},
     own_create, own_destroy, own_add, own_gravity, own_force, own_step, own_get
};

// ------------------------------------------------------------------------------------------------
// Scenes: a run is an engine with a scene in it, and its clock

typedef struct run {
    engine* e;
    double dt, time;
    int count;         /* of bodies */
    double iterations; /* of all steps */
    double cost;       /* s, likewise */
} run;

static run run_begin(const engine_kind* kind, double hz, double friction, double lean)
{
    const double g[3] = {GRAVITY * sin(lean), 0, -GRAVITY * cos(lean)};
    run r;
    memset(&r, 0, sizeof r);
    r.dt = 1 / hz;
    r.e = kind->create(kind, r.dt, friction);
    if (!r.e) exit(1);
    kind->gravity(r.e, g);
    return r;
}

static void run_end(run* r)
{
    r->e->kind->destroy(r->e);
}

static void run_step(run* r)
{
    const double start = bench_now(), iterations = r->e->kind->step(r->e);
    r->cost += bench_now() - start;
    r->iterations += iterations;
    r->time += r->dt;
    if (iterations < 0) {
        printf("FAILED: a step of %s\n", r->e->kind->name);
        failures++;
    }
}

static engine_state state_of(const run* r, int body)
{
    engine_state s;
    r->e->kind->get(r->e, body, &s);
    return s;
}

static engine_body body_at(double mass, double x, double y, double z)
{
    engine_body b;
    memset(&b, 0, sizeof b);
    b.mass = mass;
    b.start.p[0] = x;
    b.start.p[1] = y;
    b.start.p[2] = z;
    b.start.q[0] = 1;
    b.parent = -1;
    return b;
}

static engine_body box_at(double half, double mass, double x, double y, double z)
{
    engine_body b = body_at(mass, x, y, z);
    b.shape = ENGINE_BOX;
    b.half[0] = b.half[1] = b.half[2] = half;
    return b;
}

static int add(run* r, const engine_body* b)
{
    r->e->kind->add(r->e, b);
    return r->count++;
}

/* A half-space at x, y, z whose normal is z turned by an angle about x (axis 0) or y (1) */
static void add_plane(run* r, double x, double y, double z, int axis, double angle)
{
    engine_body b = body_at(0, x, y, z);
    b.shape = ENGINE_PLANE;
    b.start.q[0] = cos(0.5 * angle);
    b.start.q[1 + axis] = sin(0.5 * angle);
    add(r, &b);
}

static double length(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* The place of a body, along the level axes, or in the axes of another one, -1: none */
static void place(const run* r, int body, int holder, double out[3])
{
    const engine_state s = state_of(r, body);
    double turn[3][3];
    engine_state h;
    int i;
    for (i = 0; i < 3; i++) out[i] = i < 2 ? s.p[i] : 0;
    if (holder < 0) return;
    h = state_of(r, holder);
    clutter_rotation(h.q, turn);
    for (i = 0; i < 3; i++)
        out[i] = turn[0][i] * (s.p[0] - h.p[0]) + turn[1][i] * (s.p[1] - h.p[1]) +
                 turn[2][i] * (s.p[2] - h.p[2]);
}

/* Steps, with before(r) ahead of each, and answers the drift of the fastest of the bodies first to last
   against the holder, m/h, from `from` to `to` seconds. When one has gone farther than `most` it is lost:
   minus the time of that */
static double drift(run* r, int first, int last, int holder, double from, double to, double most,
                    void (*before)(run*))
{
    enum { MOST = 16 };
    double start[MOST][3], old[MOST][3], at[3], fastest = 0;
    const long begin = (long)floor(from / r->dt + 0.5), end = (long)floor(to / r->dt + 0.5);
    long step;
    int i, k;
    for (i = first; i <= last; i++) place(r, i, holder, start[i - first]);
    for (step = 0; step < end; step++) {
        for (i = first; step == begin && i <= last; i++) place(r, i, holder, old[i - first]);
        if (before) before(r);
        run_step(r);
        for (i = first; i <= last; i++) {
            place(r, i, holder, at);
            for (k = 0; k < 3; k++) at[k] -= start[i - first][k];
            if (!(length(at) < most)) return -r->time;
        }
    }
    for (i = first; i <= last; i++) {
        place(r, i, holder, at);
        for (k = 0; k < 3; k++) at[k] -= old[i - first][k];
        fastest = fmax(fastest, length(at));
    }
    return fastest / ((double)(end - begin) * r->dt) * 3600;
}

static void slope(const engine_kind* kind, double hz, double share, double* out)
{
    run r = run_begin(kind, hz, 0.5, atan(0.5 * share));
    const engine_body box = box_at(0.1, 1, 0, 0, 0.1);
    engine_state s;
    int one;
    add_plane(&r, 0, 0, 0, 0, 0);
    one = add(&r, &box);
    out[0] = drift(&r, one, one, -1, seconds / 4, seconds, 1e3, NULL);
    s = state_of(&r, one);
    out[1] = length(s.v);
    run_end(&r);
}

/* 10 um inside the cube, so that it touches from the first step on: not all engines look ahead */
static engine_body finger_at(double side)
{
    engine_body b = body_at(0.5, side * (0.03 + 0.01 - 1e-5), 0, 0);
    b.shape = ENGINE_BOX;
    b.half[0] = 0.01;
    b.half[1] = 0.02;
    b.half[2] = 0.04;
    b.slides = 1;
    b.axis[0] = -side;
    b.push = 20;
    return b;
}

static void shake(run* r)
{
    // 0.5 kg (g + a) = 0.9 * 2 * 0.5 * 20 N; from the second second on
    const double a = r->time > 1 - 0.5 * r->dt ? 0.9 * 40 - GRAVITY : 0;
    const double g[3] = {0, 0, -GRAVITY - a * sin(2 * PI * 5 * (r->time + r->dt))};
    r->e->kind->gravity(r->e, g);
}

static void gripper(const engine_kind* kind, double hz, double shaken, double* out)
{
    run r = run_begin(kind, hz, 0.5, 0);
    const engine_body box = box_at(0.03, 0.5, 0, 0, 0), a = finger_at(-1), b = finger_at(1);
    const int one = add(&r, &box), left = add(&r, &a);
    add(&r, &b);
    out[0] = drift(&r, one, one, left, floor(seconds / 4 + 1), floor(seconds), 0.05,
                   shaken > 0 ? shake : NULL);
    run_end(&r);
}

static void gripper_turning(const engine_kind* kind, double hz, double unused, double* out)
{
    const double turn = 6.25, w = 2 * PI / turn, off = 0.15; // a turn takes a whole number of steps
    const double from = turn * ceil(seconds / 4 / turn), turns = floor((seconds - from) / turn);
    run r = run_begin(kind, hz, 0.5, 0);
    engine_body box = box_at(0.03, 0.5, 0, 0, -off), hand = body_at(0, 0, 0, 0),
                finger = finger_at(1);
    int one, holder;
    (void)unused;
    hand.shape = ENGINE_BOX;
    hand.at[0] = -finger.start.p[0];
    hand.at[2] = -off;
    memcpy(hand.half, finger.half, sizeof hand.half);
    finger.start.p[2] = -off;
    box.start.w[1] = finger.start.w[1] = hand.start.w[1] = w;
    box.start.v[0] = finger.start.v[0] = -w * off;
    finger.start.v[2] = -w * finger.start.p[0];
    one = add(&r, &box);
    holder = finger.parent = add(&r, &hand);
    add(&r, &finger);
    out[0] = drift(&r, one, one, holder, from, from + turn * fmax(1, turns), 0.05, NULL);
    run_end(&r);
}

static void stack(const engine_kind* kind, double hz, double degrees, double* out)
{
    run r = run_begin(kind, hz, 0.1, degrees * PI / 180);
    int i;
    add_plane(&r, 0, 0, 0, 0, 0);
    for (i = 0; i < 10; i++) {
        const engine_body box = box_at(0.1, 1, 0, 0, 0.1 + 0.2 * i);
        add(&r, &box);
    }
    out[0] = drift(&r, 1, 10, -1, seconds / 4, seconds, 0.2, NULL);
    run_end(&r);
}

static void pile(const engine_kind* kind, double hz, double count, double* out)
{
    run r = run_begin(kind, hz, 0.5, 0);
    const long end = (long)(20 * hz + 0.5);
    const double limit = 24.0 / (double)end; // s of computing in a step, on average
    double speed = 0;
    long step;
    int i, k;
    add_plane(&r, 0, 0, 0, 0, 0);
    add_plane(&r, -0.5, 0, 0, 1, PI / 2);
    add_plane(&r, 0.5, 0, 0, 1, -PI / 2);
    add_plane(&r, 0, -0.5, 0, 0, -PI / 2);
    add_plane(&r, 0, 0.5, 0, 0, PI / 2);
    for (i = 0; i < (int)count; i++) {
        const uint32_t u = (uint32_t)i;
        engine_body box =
            box_at(0.1, 1, (i & 1 ? 0.22 : -0.22) + 0.1 * clutter_noise(u, 0),
                   (i & 2 ? 0.22 : -0.22) + 0.1 * clutter_noise(u, 1), 0.2 + 0.3 * (i / 4));
        double q[4], square = 0;
        for (k = 0; k < 4; k++) q[k] = clutter_noise(u, 2 + (uint32_t)k);
        for (k = 0; k < 4; k++) square += q[k] * q[k];
        for (k = 0; k < 4; k++) box.start.q[k] = q[k] / sqrt(square);
        add(&r, &box);
    }
    out[0] = out[1] = out[2] = NAN;
    for (step = 0; step < end; step++) {
        if (step == end / 2) r.cost = r.iterations = 0;
        if (r.cost > limit * (double)(step % (end / 2) + 50)) break;
        run_step(&r);
        for (i = r.count - (int)count; step >= end / 2 && i < r.count; i++) {
            const engine_state s = state_of(&r, i);
            speed += length(s.v) / count;
        }
    }
    if (step == end) {
        out[0] = speed / (double)(end - end / 2);
        out[1] = 1e6 * r.cost / (double)(end - end / 2);
        out[2] = r.iterations / (double)(end - end / 2);
    }
    run_end(&r);
}

/* The share of friction times weight at which a cube begins to slip: where its acceleration, over half a
   second, reaches a tenth of friction times gravity, less that tenth, and less by how much the force grew in
   half of that time. What only creeps or trembles does not slip */
static double onset_in(const engine_kind* kind, double hz, double angle)
{
    const double rate = 0.04, limit = 0.5 * GRAVITY;
    run r = run_begin(kind, hz, 0.5, 0);
    const engine_body box = box_at(0.1, 1, 0, 0, 0.1);
    const int window = (int)(0.5 * hz + 0.5);
    double* speed = (double*)grown(NULL, (size_t)window * sizeof *speed);
    double share = 0.6, found = NAN;
    int step, one;
    add_plane(&r, 0, 0, 0, 0, 0);
    one = add(&r, &box);
    for (step = 0; isnan(found) && share < 1.8; step++) {
        const double push = limit * share * fmin(1, r.time);
        const double f[3] = {push * cos(angle), push * sin(angle), 0};
        engine_state s;
        kind->force(r.e, one, f);
        run_step(&r);
        s = state_of(&r, one);
        if (r.time > 2) share += rate * r.dt;
        if (r.time > 2 + window * r.dt &&
            length(s.v) - speed[step % window] > 0.1 * limit * window * r.dt)
            found = share - 0.1 - 0.5 * rate * window * r.dt;
        speed[step % window] = length(s.v);
    }
    free(speed);
    run_end(&r);
    return found;
}

static void onset(const engine_kind* kind, double hz, double directions, double* out)
{
    int i;
    out[0] = INFINITY;
    out[1] = 0;
    for (i = 0; i < (int)directions; i++) {
        const double share = onset_in(kind, hz, 2 * PI * i / directions);
        out[0] = isnan(share) ? share : fmin(out[0], share);
        out[1] = isnan(share) ? share : fmax(out[1], share);
        if (isnan(share)) return;
    }
}

static void rolling(const engine_kind* kind, double hz, double speed, double* out)
{
    run r = run_begin(kind, hz, 0.5, 0);
    engine_body ball = body_at(1, 0, 0, 0.1);
    engine_state s;
    int one;
    ball.shape = ENGINE_BALL;
    ball.half[0] = ball.half[1] = ball.half[2] = 0.1;
    ball.start.v[0] = speed;
    add_plane(&r, 0, 0, 0, 0, 0);
    one = add(&r, &ball);
    while (r.time < 1) run_step(&r);
    s = state_of(&r, one);
    out[0] = s.v[0] / (5 * speed / 7);
    run_end(&r);
}

static void stopping(const engine_kind* kind, double hz, double speed, double* out)
{
    run r = run_begin(kind, hz, 0.5, 0);
    engine_body box = box_at(0.1, 1, 0, 0, 0.1);
    engine_state s;
    int one;
    box.start.v[0] = speed;
    add_plane(&r, 0, 0, 0, 0, 0);
    one = add(&r, &box);
    while (r.time < 2) run_step(&r);
    s = state_of(&r, one);
    out[0] = s.p[0] / (0.5 * speed * speed / (0.5 * GRAVITY) - 0.5 * speed * r.dt);
    run_end(&r);
}

// ------------------------------------------------------------------------------------------------
// The table: what a scene prints, in columns

typedef struct column {
    const char *name, *unit;
} column;

typedef struct scene {
    const char *name, *plotted; /* plotted: how the plot calls it; NULL: not there */
    void (*run)(const engine_kind* kind, double hz, double number, double* out);
    double number; /* the scene's own */
    column column[VALUES];
} scene;

#define DRIFT \
    { \
        "drift", "m/h" \
    }
#define END_SPEED \
    { \
        "speed at the end", "m/s" \
    }
#define MEAN_SPEED \
    { \
        "mean speed", "m/s" \
    }
#define TIME \
    { \
        "time of a step", "us" \
    }

static const scene scenes[] = {
    {"slope 50 %",      "slope 50 %",   slope,           0.5,   {DRIFT, END_SPEED}                     },
    {"slope 99 %",      "slope 99 %",   slope,           0.99,  {DRIFT, END_SPEED}                     },
    {"slope 99.5 %",    "slope 99.5 %", slope,           0.995, {DRIFT, END_SPEED}                     },
    {"gripper held",    "grip, held",   gripper,         0,     {DRIFT}                                },
    {"gripper turning", "turning",      gripper_turning, 0,     {DRIFT}                                },
    {"gripper shaken",  "shaken",       gripper,         1,     {DRIFT}                                },
    {"stack",           "stack of 10",  stack,           4,     {DRIFT}                                },
    {"pile",            NULL,           pile,            40,    {MEAN_SPEED, TIME, {"iterations", "1"}}},
    {"onset",           NULL,           onset,           8,     {{"least", "1"}, {"most", "1"}}        },
    {"rolling",         NULL,           rolling,         2,     {{"speed", "1"}}                       },
    {"stopping",        NULL,           stopping,        2,     {{"distance", "1"}}                    },
};

enum { SCENES = sizeof scenes / sizeof scenes[0], ENGINES = 16, RATES = 2 };

static const char* text_of(double value, char* text, size_t size)
{
    if (isnan(value)) return "-";
    if (value < 0)
        snprintf(text, size, "lost %.3g s", -value);
    else if (value == 0 || (fabs(value) >= 0.1 && fabs(value) < 9999.5))
        snprintf(text, size, fabs(value) < 2 && value != 0 ? "%.5f" : "%.4g", value);
    else
        snprintf(text, size, "%.1e", value);
    return text;
}

static double result[SCENES][ENGINES][RATES][VALUES];

/* Runs a scene in all engines and prints it */
static void run_scene(int which, const engine_kind* const* kinds, int count, const double* rates,
                      int rate_count)
{
    const scene* s = &scenes[which];
    int i, k, c, columns = 1;
    while (columns < VALUES && s->column[columns].name) columns++;
    printf("\n%s:", s->name);
    for (c = 0; c < columns; c++) {
        printf("%s %s", c ? "," : "", s->column[c].name);
        if (strcmp(s->column[c].unit, "1") != 0) printf(" in %s", s->column[c].unit);
    }
    printf("\n%-19s", "");
    for (k = 0; k < rate_count; k++) printf(" %9g Hz%*s", rates[k], 13 * (columns - 1), "");
    printf("\n");
    for (i = 0; i < count; i++) {
        printf("%-19s", kinds[i]->name);
        for (k = 0; k < rate_count; k++) {
            s->run(kinds[i], rates[k], s->number, result[which][i][k]);
            for (c = 0; c < columns; c++) {
                char text[32];
                printf(" %12s", text_of(result[which][i][k][c], text, sizeof text));
            }
            fflush(stdout);
        }
        printf("\n");
    }
}

static void print_figures(int which, const engine_kind* const* kinds, int count,
                          const double* rates, int rate_count)
{
    const scene* s = &scenes[which];
    int i, k, c;
    for (i = 0; i < count; i++) {
        for (k = 0; k < rate_count; k++) {
            for (c = 0; c < VALUES && s->column[c].name; c++) {
                const double value = result[which][i][k][c];
                if (value < 0)
                    bench_figure(-value, "s", "engines %s lost after %s %g", s->name,
                                 kinds[i]->name, rates[k]);
                else if (!isnan(value))
                    bench_figure(value, s->column[c].unit, "engines %s %s %s %g", s->name,
                                 s->column[c].name, kinds[i]->name, rates[k]);
            }
        }
    }
}

/* One colour for the ways to use an engine, whose names begin alike, and a mark for each */
static int colour_of(const engine_kind* const* kinds, int which)
{
    static const int first[] = {0, 1, 2, 6}; /* as plot_colour numbers them, and again after 7 */
    int i, family = 0, way = 0;
    for (i = 1; i <= which; i++) {
        const size_t word = strcspn(kinds[i]->name, " ");
        way = strncmp(kinds[i]->name, kinds[i - 1]->name, word) ? 0 : way + 1;
        family += !way;
    }
    return first[family % 4] + 7 * way;
}

static void write_plot(const engine_kind* const* kinds, int count, const double* rates,
                       int rate_count)
{
    static char titles[RATES][80], subtitle[160];
    const char* names[SCENES];
    int at[SCENES], shown = 0, i, k, q;
    plot p[RATES];
    for (i = 0; i < SCENES; i++) {
        if (!scenes[i].plotted) continue;
        names[shown] = scenes[i].plotted;
        at[shown++] = i;
    }
    snprintf(subtitle, sizeof subtitle,
             "extrapolated from %g s; on the bottom line: less than "
             "10\xE2\x81\xBB\xC2\xB9\xE2\x81\xB0 or 0; on "
             "the top line: lost in that time",
             seconds);
    for (k = 0; k < rate_count; k++) {
        snprintf(titles[k], sizeof titles[k], "Drift of what should rest, %g steps a second",
                 rates[k]);
        p[k] = plot_begin(titles[k], "", "m in an hour");
        p[k].subtitle = subtitle;
        p[k].height = 380;
        p[k].x_names = names;
        p[k].x_name_count = shown;
        p[k].clamp = 1;
        p[k].legend = k == 0;
        p[k].y_min = 1e-10;
        p[k].y_max = 1e5;
        plot_x(&p[k], -0.5, shown - 0.5);
        plot_log(&p[k], 0, 1);
        for (i = 0; i < count; i++) {
            double x[SCENES], y[SCENES];
            plot_series* series;
            for (q = 0; q < shown; q++) {
                x[q] = q + 0.1 * (i - 0.5 * (count - 1));
                y[q] = result[at[q]][i][k][0];
                if (y[q] < 0) y[q] = INFINITY;
            }
            series = plot_add(&p[k], kinds[i]->name, PLOT_MARK, shown, x, y);
            if (series) series->colour = colour_of(kinds, i);
        }
    }
    if (!plot_write(p, rate_count, "bench/figures/engines_rest")) failures++;
    for (k = 0; k < rate_count; k++) plot_end(&p[k]);
}

/* The text after an option of the program's own, NULL: not given. Asks for it once */
static const char* option_text(bench_options* o, const char* name)
{
    const char* text = NULL;
    int i, kept = 0;
    for (i = 0; i < o->other_count; i++) {
        if (!strncmp(o->other[i], name, strlen(name)))
            text = o->other[i] + strlen(name);
        else
            o->other[kept++] = o->other[i];
    }
    o->other_count = kept;
    return text;
}

int main(int argc, char** argv)
{
    bench_options o = bench_parse(argc, argv);
    const char *seconds_text = option_text(&o, "--seconds="), *hz_text = option_text(&o, "--hz="),
               *engine_text = option_text(&o, "--engine=");
    const int with_plot = bench_option(&o, "--plot");
    const engine_kind* kinds[ENGINES] = {&own_kind};
    double rates[RATES] = {60, 240};
    int rate_count = RATES, count = 1, peers = 0, selected[SCENES], i;
    plain = bench_option(&o, "--plain");
    bench_check(&o, "--seconds=N --hz=N --engine=TEXT --plain --plot");
    if (seconds_text) seconds = atof(seconds_text);
    if (o.quick) rate_count = 1;
    if (hz_text) rates[0] = atof(hz_text), rate_count = 1;
    if (!(seconds >= 15) || !(rates[0] > 0)) {
        fprintf(stderr, "--seconds is 15 or more, --hz above 0\n");
        return 2;
    }
#ifdef ICF_BENCH_PEERS
    {
        const engine_kind* peer = engine_peers(&peers);
        if (!o.list)
            printf("%s\nUsual steps a second: icf 60 to 1000, MuJoCo 500, ODE 20 to 100, Bullet 60 "
                   "or 240. "
                   "Drift is extrapolated from %g s.\n",
                   engine_peer_versions(), seconds);
        for (i = 0; i < peers && count < ENGINES; i++) kinds[count++] = &peer[i];
    }
#endif
    (void)peers;
    if (engine_text) {
        int kept = 0;
        for (i = 0; i < count; i++) {
            if (strstr(kinds[i]->name, engine_text)) kinds[kept++] = kinds[i];
        }
        count = kept;
    }
    for (i = 0; i < SCENES; i++) {
        selected[i] = bench_selected(&o, scenes[i].name);
        if (selected[i]) run_scene(i, kinds, count, rates, rate_count);
    }
    if (!o.list) printf("\n");
    for (i = 0; i < SCENES; i++) {
        if (selected[i]) print_figures(i, kinds, count, rates, rate_count);
    }
    if (with_plot && !o.list) write_plot(kinds, count, rates, rate_count);
    return failures > 0 || !o.selected;
}
