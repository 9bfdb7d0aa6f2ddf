/* What does a step of a pile cost, how good is it, and against whom?

   The clutter scene (clutter.h): 8 to 1000 balls and cubes fall into an open box, or on a floor. All
   engines start from the same state, in the same run; those of bench/peers/clutter_peers.h that are
   installed take part.

       make bench-clutter                     the table: walls, 10 ms, 1e7 N/m, and the floor alone; minutes
       make bench-clutter ARGS=--quick        up to 160 things, against the peers that matter; a minute
       make bench-clutter ARGS=--full         besides: all ways of all peers, steps of 2 ms, the floor for
                                              all, stiffness from 1e5 to 1e12 N/m, all models; half an
                                              hour
       make bench-clutter ARGS=--studies      the studies of the papers into bench/figures, CSV and SVG

   One case, for a change in progress and for profilers:

       build/clutter --n=160 --dt=0.01 --walls=1 --k=1e7 --steps=1000 --model=lagged

   --model= is lagged, similar or sap; --k= in N/m, of each point; --rigid bounds k where the step cannot
   resolve it (or --rigid=BETA); --tolerance= of the solver; --points= of a pair, 1 to 8, and --margin=, a
   fraction of their size, of detection; --softness= --slip= of friction; --condition=N the condition
   number of one in N looks, a look every 10 ms; --peer=NAME runs a peer instead, "--peer=mujoco newton".

   Times are processor time of the thread around a step, collision and all the rest. Each run is a process
   of its own, so that its memory can be seen. Everything else is found outside the solver, from poses and
   velocities alone: depths, energies and escapes in clutter.h, and here the error of momentum,

       |D (M (v - v*) - J'g)| / max(|D M v|, |D J'g|), D = M^-1/2,     SAP (26)

   with g from the laws of contact, written down once more (law_make). A time is the least mean of a few
   runs. */

#include "bench.h"

#include <math.h>
#include <stdint.h>

/* Which part of a step is on, and how long each was: one counter of the processor, as a clock would take
   longer than what it measures */
enum {
    PART_REST,
    PART_ASSEMBLY,
    PART_FACTOR,
    PART_SEARCH,
    PART_PATTERN,
    PART_ITERATION,
    PART_COLLISION,
    PARTS
};
static double part_ticks[PARTS], part_began;
static int part_now;

static double ticks(void)
{
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
    return (double)__builtin_ia32_rdtsc();
#else
    return bench_now();
#endif
}

static void part_begin(int part)
{
    const double t = ticks();
    part_ticks[part_now] += t - part_began;
    part_began = t;
    part_now = part;
}

#define ICFI_PROFILE(part) \
    part_begin(part == 'A'   ? PART_ASSEMBLY \
               : part == 'F' ? PART_FACTOR \
               : part == 'L' ? PART_SEARCH \
               : part == 'P' ? PART_PATTERN \
               : part == 'I' ? PART_ITERATION \
                             : PART_REST);

#define ICF_IMPLEMENTATION
#include "icf_geometry.h"

#include "clutter.h"
#include "peers/clutter_peers.h"
#include "plot.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#define CLUTTER_FORK
#endif

#ifndef ICF_BENCH_PEERS
const char* clutter_peer_versions(void)
{
    return "no peers: needs g++ and packages";
}
int clutter_peer_count(void)
{
    return 0;
}
const char* clutter_peer_name(int which)
{
    (void)which;
    return "";
}
int clutter_peer_converges(int which)
{
    return which < 0;
}
clutter_peer* clutter_peer_open(int which, int count, int walls, double dt)
{
    (void)which;
    (void)count;
    (void)walls;
    (void)dt;
    return NULL;
}
void clutter_peer_close(clutter_peer* p)
{
    (void)p;
}
void clutter_peer_step(clutter_peer* p, clutter_step* step)
{
    (void)p;
    memset(step, 0, sizeof *step);
}
void clutter_peer_get(const clutter_peer* p, clutter_body* b)
{
    (void)p;
    (void)b;
}
#endif

static bench_options options;
static int failures;

static void fail(const char* where, const char* what)
{
    printf("FAILED %s: %s\n", where, what);
    failures++;
}

static void must(icf_result result, const char* what)
{
    if (result == ICF_RESULT_OK) return;
    printf("FAILED %s: %s\n", what, icf_result_string(result));
    exit(1);
}

static void* allocate(size_t count, size_t bytes)
{
    void* p = calloc(count ? count : 1, bytes);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

// ------------------------------------------------------------------------------------------------
// A case, and what came of it

typedef struct clutter_case {
    int peer; /* its number; -1: icf */
    int count, walls, steps;
    double dt;
    double most; /* seconds after which a run is stopped; 0: never */

    /* of icf */
    int model, points;
    double margin; /* of detection, of the size of things; 0: the default */
    double stiffness, dissipation, relaxation; /* N/m, s/m, s */
    double rigid;                              /* beta of the near-rigid bound; 0: k as given */
    double softness, slip_tolerance, tolerance;
    int condition; /* of one in so many looks the condition number, which takes long; not of a step's time */
} clutter_case;

/* Per step; of times in us, of depths in um; last: in the last quarter of the steps */
typedef struct clutter_result {
    int done, steps, unsolved, escaped, iterations_most;
    int floors;                   /* steps that ended where rounding does, above the tolerance */
    double mean, p95, most, last; /* us */
    double part[PARTS], collision;
    double pushing; /* contacts with a force, last quarter */
    double contacts, contacts_last, iterations, iterations_last, factorizations;
    double error, error_most; /* of momentum; below 0: not known */
    double depth, depth_most, depth_ever;
    double energy, gain, rise; /* of the start: at the end, the most less 1; J, between two looks */
    double speed, slip;        /* mm/s, rms of things and mean of contacts, last quarter */
    double tolerance;          /* mm/s: below which a contact sticks; mean, last quarter */
    double condition;
    double own, resident; /* kB: what the engine asked for; what the process grew by */
} clutter_result;

/* What each look saw, for plots; the arrays are the caller's */
typedef struct clutter_trace {
    int count, room;
    double *time, *iterations, *condition, *tolerance;
} clutter_trace;

static clutter_case default_case(void)
{
    clutter_case c;
    memset(&c, 0, sizeof c);
    c.peer = -1;
    c.count = 160;
    c.walls = 1;
    c.steps = 1000;
    c.dt = 0.01;
    c.model = ICF_MODEL_LAGGED;
    c.stiffness = 1e7;
    c.dissipation = 10;
    c.relaxation = 1e-4;
    /* v_s of the papers; and a tenth of their sigma, as steel gives by less than what creeps by all of it in a
       step, and piles never come to rest */
    c.slip_tolerance = 1e-4;
    c.softness = 1e-4;
    c.tolerance = 1e-5;
    return c;
}

/* SAP has friction of no other kind than soft: sigma as the papers have it */
static void case_model(clutter_case* c, int model)
{
    c->model = model;
    if (model == ICF_MODEL_SAP) c->softness = 1e-3;
}

// ------------------------------------------------------------------------------------------------
// The laws of contact once more, without icf: what the error of momentum is measured with

typedef struct contact {
    int body[2];        /* B is pushed along the normal; -1: what does not move */
    double axis[3][3];  /* t1, t2, normal */
    double lever[2][3]; /* from the centre of each to the point, at the start of the step */
    double distance, w, eps, impulse0, rn, rt;
    double impulse[3], hessian[3][3], v[3]; /* at the end of it */
} contact;

static double dot(const double* a, const double* b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double* a, const double* b, double* c)
{
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2],
                 z = a[0] * b[1] - a[1] * b[0];
    c[0] = x;
    c[1] = y;
    c[2] = z;
}

static void unit(double* a)
{
    const double length = sqrt(dot(a, a));
    int k;
    for (k = 0; k < 3; k++) a[k] /= length;
}

/* velocity of B less that of A along the axes of the contact */
static void contact_velocity(const contact* c, const clutter_body* state, double v[3])
{
    double u[3] = {0, 0, 0}, turning[3];
    int side, k;
    for (side = 0; side < 2; side++) {
        const clutter_body* b = state + c->body[side];
        if (c->body[side] < 0) continue;
        cross(b->w, c->lever[side], turning);
        for (k = 0; k < 3; k++) u[k] += (side ? 1 : -1) * (b->v[k] + turning[k]);
    }
    for (k = 0; k < 3; k++) v[k] = dot(c->axis[k], u);
}

/* |W|_F / 3, W = sum of J M^-1 J' */
static double contact_w(const contact* c)
{
    double w[3][3] =
        {
            {0, 0, 0},
            {0, 0, 0},
            {0, 0, 0}
    },
           sum = 0;
    int side, i, j;
    for (side = 0; side < 2; side++) {
        const double* r = c->lever[side];
        if (c->body[side] < 0) continue;
        for (i = 0; i < 3; i++) {
            for (j = 0; j < 3; j++)
                w[i][j] += (i == j) / clutter_mass(c->body[side]) +
                           ((i == j) * dot(r, r) - r[i] * r[j]) / clutter_inertia(c->body[side]);
        }
    }
    for (i = 0; i < 3; i++) sum += dot(w[i], w[i]);
    return sqrt(sum) / 3;
}

/* Friction goes by another limit than the impulse of the law where a contact opens and closes slowly, and never
   where it is faster than what sticks */
static void law_limit(const clutter_case* c, contact* t, double vn0, const icf_lag* lag)
{
    if (c->model == ICF_MODEL_SAP) return; /* its friction is on the impulse of the step itself */
    if (fabs(lag->impulse - t->impulse0) > 1e-9 * (t->impulse0 + c->dt * c->stiffness * 1e-6))
        fail("the lag of a contact", "not the impulse of the law");
    if (fabs(vn0) > c->slip_tolerance * (1 + 1e-6) && lag->limit != lag->impulse)
        fail("the lag of a contact", "not the impulse of the law where it opens or closes fast");
    if (lag->limit < (lag->before < lag->impulse ? lag->before : lag->impulse) ||
        lag->limit > (lag->before > lag->impulse ? lag->before : lag->impulse))
        fail("the lag of a contact", "a limit not between that of the step before and the law's");
    t->impulse0 = lag->limit;
    t->eps = c->softness * t->w * CLUTTER_FRICTION * t->impulse0;
    if (t->eps < c->slip_tolerance) t->eps = c->slip_tolerance;
}

/* What a contact is at the start of a step: ICF (26), SAP (29), (30) */
static void law_make(const clutter_case* c, const clutter_body* before, const icf_lag* lag,
                     contact* t)
{
    const double pi = 3.14159265358979323846;
    const double bound = c->rigid * c->rigid / (4 * pi * pi);
    double v0[3], soft;
    t->w = contact_w(t);
    contact_velocity(t, before, v0);
    soft = 1 / (c->dt * c->stiffness * (c->dt + (c->model == ICF_MODEL_SAP ? c->relaxation : 0)));
    t->rn = soft > bound * t->w ? soft : bound * t->w;
    t->rt = c->softness * t->w;
    t->impulse0 = 0;
    if (t->distance < 0 && c->dissipation * v0[2] < 1)
        t->impulse0 = -t->distance / c->dt / t->rn * (1 - c->dissipation * v0[2]);
    law_limit(c, t, v0[2], lag);
}

/* Hunt & Crossley: impulse n and slope n' at v; in terms of the distance at the end of the step */
static void law_normal(const clutter_case* c, const contact* t, double v, double* n, double* slope)
{
    const double depth = -t->distance / c->dt - v, damping = 1 - c->dissipation * v;
    *n = *slope = 0;
    if (!(depth > 0 && damping > 0)) return;
    *n = depth * damping / t->rn;
    *slope = -(damping + c->dissipation * depth) / t->rn;
}

/* The impulse and the Hessian at t->v: formulas of the two papers' sections V */
static void law_evaluate(const clutter_case* c, contact* t)
{
    const double mu = CLUTTER_FRICTION, *v = t->v;
    const double square = v[0] * v[0] + v[1] * v[1];
    double(*h)[3] = t->hessian;
    double *g = t->impulse, n, slope, r, s, p;
    int i, j;
    memset(t->hessian, 0, sizeof t->hessian);
    g[0] = g[1] = g[2] = 0;
    if (c->model == ICF_MODEL_SAP) {
        const double u = -t->distance / (c->dt + c->relaxation) - v[2];
        r = sqrt(square);
        if (u + mu * r <= 0) return;
        if (r * t->rn <= mu * u * t->rt) {
            h[0][0] = h[1][1] = 1 / t->rt;
            h[2][2] = 1 / t->rn;
            for (i = 0; i < 2; i++) g[i] = -v[i] / t->rt;
            g[2] = u / t->rn;
            return;
        }
        s = u + mu * r;
        p = 1 / (t->rn + mu * mu * t->rt);
        g[2] = p * s;
        h[2][2] = p;
        for (i = 0; i < 2; i++) {
            g[i] = -mu * p * s * v[i] / r;
            h[i][2] = h[2][i] = -p * mu * v[i] / r;
            for (j = 0; j < 2; j++) {
                const double along = v[i] * v[j] / (r * r);
                h[i][j] = p * (mu * mu * along + mu * s / r * ((i == j) - along));
            }
        }
        return;
    }
    r = sqrt(square + t->eps * t->eps);
    if (c->model == ICF_MODEL_LAGGED) {
        law_normal(c, t, v[2], &n, &slope);
        s = mu * t->impulse0;
        h[2][2] = -slope;
    } else {
        law_normal(c, t, v[2] - mu * square / (r + t->eps), &n, &slope);
        s = mu * n;
        h[2][2] = -slope;
        for (i = 0; i < 2; i++) h[i][2] = h[2][i] = mu * slope * v[i] / r;
    }
    g[2] = n;
    for (i = 0; i < 2; i++) {
        g[i] = -s * v[i] / r;
        for (j = 0; j < 2; j++) {
            /* t_perp t_perp' |v|^2 + eps^2 I over r^3 */
            const double across = (i == j) * square - v[i] * v[j];
            h[i][j] = s * (across + (i == j) * t->eps * t->eps) / (r * r * r);
            if (c->model == ICF_MODEL_SIMILAR) h[i][j] -= mu * mu * slope * v[i] * v[j] / (r * r);
        }
    }
}

/* Greatest over least eigenvalue of a symmetric n x n matrix, of which both triangles are there and which is
   used up: to three diagonals by Householder's reflections, then by bisection on Sturm's sequence */
static int sturm_count(const double* d, const double* e2, int n, double x)
{
    double q = 1;
    int i, below = 0;
    for (i = 0; i < n; i++) {
        q = d[i] - x - (i ? e2[i] / q : 0);
        if (q == 0) q = 1e-300;
        below += q < 0;
    }
    return below;
}

static double condition_number(double* a, int n)
{
    double* d = (double*)allocate(4 * (size_t)n, sizeof *d);
    double *e2 = d + n, *u = d + 2 * n, *p = d + 3 * n, reach = 0, end[2];
    int i, j, k, which;
    for (k = 0; k + 2 < n; k++) {
        double norm = 0, dot_up = 0, h;
        for (i = k + 1; i < n; i++) norm += a[i * n + k] * a[i * n + k];
        norm = sqrt(norm);
        d[k] = a[k * n + k];
        e2[k + 1] = norm * norm;
        if (!(norm > 0)) continue;
        for (i = k + 1; i < n; i++) u[i] = a[i * n + k];
        u[k + 1] += u[k + 1] < 0 ? -norm : norm;
        h = 0;
        for (i = k + 1; i < n; i++) h += u[i] * u[i];
        for (i = k + 1; i < n; i++) {
            p[i] = 0;
            for (j = k + 1; j < n; j++) p[i] += a[i * n + j] * u[j];
            p[i] *= 2 / h;
            dot_up += u[i] * p[i];
        }
        for (i = k + 1; i < n; i++) p[i] -= dot_up / h * u[i];
        for (i = k + 1; i < n; i++) {
            for (j = k + 1; j < n; j++) a[i * n + j] -= u[i] * p[j] + p[i] * u[j];
        }
    }
    for (; k < n; k++) {
        d[k] = a[k * n + k];
        e2[k] = k ? a[k * n + k - 1] * a[k * n + k - 1] : 0;
    }
    for (i = 0; i < n; i++) {
        const double row = fabs(d[i]) + sqrt(e2[i]) + (i + 1 < n ? sqrt(e2[i + 1]) : 0);
        if (row > reach) reach = row;
    }
    for (which = 0; which < 2; which++) {
        /* the least by halving its logarithm: it may be 1e-13 of the greatest */
        double low = which ? 0 : 1e-18 * reach, high = 1.01 * reach;
        for (i = 0; i < 100; i++) {
            const double middle = which ? 0.5 * (low + high) : sqrt(low * high);
            if (sturm_count(d, e2, n, middle) > (which ? n - 1 : 0))
                high = middle;
            else
                low = middle;
        }
        end[which] = high;
    }
    free(d);
    return end[1] / end[0];
}

// ------------------------------------------------------------------------------------------------
// icf

typedef struct clutter_sim {
    const clutter_case* c;
    icf_scene scene;
    icf_body* body;
    clutter_body *before, *after;
    double (*momentum)[6]; /* sums of impulses on each */
    contact* contact;
    int contacts, room;
    double slip, tolerance; /* means of the contacts that push, in the step */
    int floors;
    int pushing;        /* contacts with a force */
    double part[PARTS]; /* s */
} clutter_sim;

static icf_vec3 vec3(const double* x)
{
    return icf_vec3_make(x[0], x[1], x[2]);
}

static void from_vec3(icf_vec3 v, double* x)
{
    x[0] = v.x;
    x[1] = v.y;
    x[2] = v.z;
}

static void add_half_space(clutter_sim* s, icf_vec3 normal, double offset,
                           const icf_material* material)
{
    const icf_vec3 z = icf_vec3_make(0, 0, 1);
    icf_collider_def d = icf_default_collider_def();
    icf_collider collider;
    icf_transform pose = icf_transform_identity();
    /* a quarter turn about z cross normal */
    if (normal.z < 0.5)
        pose.q =
            icf_quat_from_rotation_vector(icf_vec3_scale(2 * atan(1.0), icf_vec3_cross(z, normal)));
    pose.p = icf_vec3_scale(offset, normal);
    d.shape = icf_shape_at(icf_half_space(), pose);
    d.material = *material;
    must(icf_collider_create(&s->scene, &d, &collider), "a half-space");
}

static void sim_open(clutter_sim* s, const clutter_case* c)
{
    const double half = CLUTTER_HALF, wall = CLUTTER_WALL;
    icf_scene_def def = icf_default_scene_def();
    icf_material material = icf_default_material();
    int i;
    memset(s, 0, sizeof *s);
    s->c = c;
    s->body = (icf_body*)allocate((size_t)c->count, sizeof *s->body);
    s->before = (clutter_body*)allocate((size_t)c->count, sizeof *s->before);
    s->after = (clutter_body*)allocate((size_t)c->count, sizeof *s->after);
    s->momentum = (double(*)[6])allocate((size_t)c->count, sizeof *s->momentum);
    def.world.gravity = icf_vec3_make(0, 0, -CLUTTER_GRAVITY);
    def.world.model = c->model;
    def.world.tolerance = c->tolerance;
    def.world.anchors = def.world.passes = 0; /* the friction of the papers */
    if (c->points) def.points = c->points;
    if (c->margin > 0) def.margin = c->margin;
    must(icf_scene_create(&s->scene, &def), "a scene");
    material.stiffness = 2 * c->stiffness; /* two of them in series */
    material.dissipation = c->dissipation;
    material.relaxation = c->relaxation / 2;
    material.friction = CLUTTER_FRICTION;
    add_half_space(s, icf_vec3_make(0, 0, 1), 0, &material);
    if (c->walls) {
        add_half_space(s, icf_vec3_make(1, 0, 0), -wall, &material);
        add_half_space(s, icf_vec3_make(-1, 0, 0), -wall, &material);
        add_half_space(s, icf_vec3_make(0, 1, 0), -wall, &material);
        add_half_space(s, icf_vec3_make(0, -1, 0), -wall, &material);
    }
    for (i = 0; i < c->count; i++) {
        clutter_body b;
        icf_body_def d = icf_default_body_def();
        icf_collider_def shape = icf_default_collider_def();
        icf_collider collider;
        const double inertia = clutter_inertia(i);
        clutter_start(i, &b);
        d.pose = icf_transform_make(icf_quat_make(b.q[1], b.q[2], b.q[3], b.q[0]), vec3(b.p));
        d.mass = clutter_mass(i);
        d.inertia = icf_mat3_identity();
        d.inertia.x.x = d.inertia.y.y = d.inertia.z.z = inertia;
        must(icf_body_create(&s->scene.world, &d, &s->body[i]), "a body");
        if (s->body[i].index != (uint32_t)i) fail("a body", "things are not numbered in order");
        shape.shape = clutter_is_cube(i) ? icf_box(half, half, half) : icf_sphere(half);
        shape.body = s->body[i];
        shape.material = material;
        must(icf_collider_create(&s->scene, &shape, &collider), "a collider");
    }
}

static void sim_close(clutter_sim* s)
{
    icf_scene_destroy(&s->scene);
    free(s->body);
    free(s->before);
    free(s->after);
    free(s->momentum);
    free(s->contact);
}

static void sim_get(const clutter_sim* s, clutter_body* b)
{
    icf_body_state state;
    int i;
    for (i = 0; i < s->c->count; i++, b++) {
        must(icf_body_get_state(&s->scene.world, s->body[i], &state), "a state");
        from_vec3(state.center, b->p);
        from_vec3(state.velocity, b->v);
        from_vec3(state.angular_velocity, b->w);
        b->q[0] = state.pose.q.w;
        b->q[1] = state.pose.q.x;
        b->q[2] = state.pose.q.y;
        b->q[3] = state.pose.q.z;
    }
}

/* Where things touch, as detection found it, and nothing else of what it thinks of it; and of the solver the
   limits of friction, which hang on the steps before */
static void sim_contacts(clutter_sim* s)
{
    int count = icf_world_touch_count(&s->scene.world), i, side, k;
    if (s->room < count) {
        s->room = count + count / 2;
        free(s->contact);
        s->contact = (contact*)allocate((size_t)s->room, sizeof *s->contact);
    }
    s->contacts = count;
    for (i = 0; i < count; i++) {
        contact* t = s->contact + i;
        icf_touch_result r;
        icf_body of[2];
        double point[3];
        must(icf_world_get_touch(&s->scene.world, i, &r), "a touch");
        memset(t, 0, sizeof *t);
        of[0] = r.a;
        of[1] = r.b;
        from_vec3(r.point, point);
        from_vec3(r.normal, t->axis[2]);
        t->axis[1][fabs(t->axis[2][0]) < 0.6 ? 0 : 1] = 1; /* not along the normal */
        cross(t->axis[1], t->axis[2], t->axis[0]);
        unit(t->axis[0]);
        cross(t->axis[2], t->axis[0], t->axis[1]);
        t->distance = r.distance;
        for (side = 0; side < 2; side++) {
            t->body[side] = of[side].generation ? (int)of[side].index : -1;
            if (t->body[side] < 0) continue;
            for (k = 0; k < 3; k++) t->lever[side][k] = point[k] - s->before[t->body[side]].p[k];
        }
        law_make(s->c, s->before, &r.contact.lag, t);
    }
}

static void sim_judge(clutter_sim* s, clutter_step* step)
{
    const int count = s->c->count;
    double left = 0, momenta = 0, impulses = 0;
    int i, j, k, side;
    memset(s->momentum, 0, (size_t)count * sizeof *s->momentum);
    s->slip = s->tolerance = 0;
    s->pushing = 0;
    for (i = 0; i < s->contacts; i++) {
        contact* t = s->contact + i;
        double impulse[3] = {0, 0, 0}, torque[3];
        contact_velocity(t, s->after, t->v);
        law_evaluate(s->c, t);
        for (j = 0; j < 3; j++) {
            for (k = 0; k < 3; k++) impulse[k] += t->impulse[j] * t->axis[j][k];
        }
        for (side = 0; side < 2; side++) {
            double* sum = s->momentum[t->body[side] < 0 ? 0 : t->body[side]];
            if (t->body[side] < 0) continue;
            cross(t->lever[side], impulse, torque);
            for (k = 0; k < 3; k++) {
                sum[k] += (side ? 1 : -1) * impulse[k];
                sum[3 + k] += (side ? 1 : -1) * torque[k];
            }
        }
        if (t->impulse[2] > 0) {
            s->slip += sqrt(t->v[0] * t->v[0] + t->v[1] * t->v[1]);
            s->tolerance +=
                s->c->model == ICF_MODEL_SAP ? t->rt * CLUTTER_FRICTION * t->impulse[2] : t->eps;
            s->pushing++;
        }
    }
    if (s->pushing) {
        s->slip /= s->pushing;
        s->tolerance /= s->pushing;
    }
    for (i = 0; i < count; i++) {
        for (k = 0; k < 6; k++) {
            const double m = k < 3 ? clutter_mass(i) : clutter_inertia(i);
            const double old = k < 3 ? s->before[i].v[k] : s->before[i].w[k - 3];
            const double now = k < 3 ? s->after[i].v[k] : s->after[i].w[k - 3];
            const double fall = k == 2 ? -s->c->dt * CLUTTER_GRAVITY : 0;
            const double rest = m * (now - old - fall) - s->momentum[i][k];
            left += rest * rest / m;
            momenta += m * now * now;
            impulses += s->momentum[i][k] * s->momentum[i][k] / m;
        }
    }
    if (momenta < impulses) momenta = impulses;
    step->error = momenta > 0 ? sqrt(left / momenta) : 0;
}

/* of A + sum J'GJ at the end of the step */
static double sim_condition(const clutter_sim* s)
{
    const int n = 6 * s->c->count;
    double* h = (double*)allocate((size_t)n * (size_t)n, sizeof *h);
    double condition;
    int i, j, k, l, a, b;
    for (i = 0; i < n; i++) h[i * n + i] = i % 6 < 3 ? clutter_mass(i / 6) : clutter_inertia(i / 6);
    for (i = 0; i < s->contacts; i++) {
        const contact* t = s->contact + i;
        double jacobian[3][12], gj[3][12];
        memset(jacobian, 0, sizeof jacobian);
        memset(gj, 0, sizeof gj);
        for (j = 0; j < 3; j++) {
            for (a = 0; a < 2; a++) {
                double turning[3];
                if (t->body[a] < 0) continue;
                cross(t->lever[a], t->axis[j], turning);
                for (k = 0; k < 3; k++) {
                    jacobian[j][6 * a + k] = (a ? 1 : -1) * t->axis[j][k];
                    jacobian[j][6 * a + 3 + k] = (a ? 1 : -1) * turning[k];
                }
            }
        }
        for (j = 0; j < 3; j++) {
            for (l = 0; l < 3; l++) {
                for (k = 0; k < 12; k++) gj[j][k] += t->hessian[j][l] * jacobian[l][k];
            }
        }
        for (a = 0; a < 12; a++) {
            for (b = 0; b < 12; b++) {
                const int row = 6 * t->body[a / 6] + a % 6, column = 6 * t->body[b / 6] + b % 6;
                if (t->body[a / 6] < 0 || t->body[b / 6] < 0) continue;
                for (j = 0; j < 3; j++) h[row * n + column] += jacobian[j][a] * gj[j][b];
            }
        }
    }
    condition = condition_number(h, n);
    free(h);
    return condition;
}

static void sim_step(clutter_sim* s, clutter_step* step)
{
    const clutter_case* c = s->c;
    icf_result result;
    icf_stats stats;
    icf_surface* surface;
    icf_touch* touch;
    double start, all = 0;
    int32_t i, count, surfaces;
    memcpy(s->before, s->after, (size_t)c->count * sizeof *s->before);
    memset(part_ticks, 0, sizeof part_ticks);
    part_now = PART_COLLISION;
    start = bench_now();
    part_began = ticks();
    must(icf_scene_detect(&s->scene, c->dt), "detect");
    touch = icf_world_touches(&s->scene.world, &count);
    /* each point as stiff as the papers have it: the scene lets more than four share what four have */
    for (i = 0; i < count; i++) touch[i].contact.weight = 1;
    surface = icf_world_surfaces(&s->scene.world, &surfaces);
    for (i = 0; i < surfaces; i++) {
        surface[i].stiffness = (icf_real)c->stiffness;
        surface[i].near_rigid = c->rigid;
        surface[i].softness = c->softness;
        surface[i].slip_tolerance = c->slip_tolerance;
    }
    part_begin(PART_REST);
    result = icf_scene_solve(&s->scene, c->dt);
    part_begin(PART_REST);
    step->seconds = bench_now() - start;
    for (i = 0; i < PARTS; i++) all += part_ticks[i];
    for (i = 0; i < PARTS; i++) s->part[i] += part_ticks[i] / all * step->seconds;
    step->collision = part_ticks[PART_COLLISION] / all * step->seconds;

    if (result != ICF_RESULT_NOT_CONVERGED) must(result, "solve");
    step->solved = result == ICF_RESULT_OK;
    must(icf_world_get_stats(&s->scene.world, &stats), "stats");
    step->contacts = count;
    step->iterations = stats.iterations;
    step->factorizations = stats.factorizations;
    s->floors += stats.stop == ICF_STOP_FLOOR;
    sim_contacts(s);
    sim_get(s, s->after);
    sim_judge(s, step);
}

// ------------------------------------------------------------------------------------------------
// A run

static void finish(clutter_run* r, clutter_result* out)
{
    const double done = r->done ? r->done : 1, last = r->steps_last ? r->steps_last : 1;
    double sum = 0;
    int i;
    for (i = 0; i < r->done; i++) sum += r->seconds[i];
    qsort(r->seconds, (size_t)r->done, sizeof *r->seconds, bench_compare);
    out->done = r->done;
    out->steps = r->steps;
    out->unsolved = r->unsolved;
    out->escaped = r->escaped;
    out->iterations_most = r->iterations_most;
    out->mean = 1e6 * sum / done;
    out->p95 = r->done ? 1e6 * r->seconds[(int)(0.95 * (r->done - 1))] : 0;
    out->most = r->done ? 1e6 * r->seconds[r->done - 1] : 0;
    out->last = 1e6 * r->seconds_last / last;
    out->collision = 1e6 * r->collision / done;
    out->contacts = r->contacts / done;
    out->contacts_last = r->contacts_last / last;
    out->iterations = r->iterations / done;
    out->iterations_last = r->iterations_last / last;
    out->factorizations = r->factorizations / done;
    out->error = r->error / done;
    out->error_most = r->error_most;
    out->depth = r->depth_count ? 1e6 * r->depth_sum / (double)r->depth_count : 0;
    out->depth_most = 1e6 * r->depth_most_last;
    out->depth_ever = 1e6 * r->depth_most;
    out->energy = r->energy / r->energy_start;
    out->gain = r->energy_most / r->energy_start - 1;
    out->rise = r->rise;
    out->speed = r->looks_last ? 1e3 * sqrt(r->speed_square / r->looks_last) : 0;
}

static double resident(void)
{
#ifdef CLUTTER_FORK
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) == 0) return (double)u.ru_maxrss;
#endif
    return 0;
}

/* An engine may make a quaternion a unit once more, or keep it in single precision */
static void check_start(const char* who, const clutter_body* state, const clutter_run* r,
                        double precision)
{
    int i, k;
    for (i = 0; i < r->count; i++) {
        for (k = 0; k < 7; k++) {
            const double is = k < 3 ? state[i].p[k] : state[i].q[k - 3];
            const double was = k < 3 ? r->body[i].p[k] : r->body[i].q[k - 3];
            if (fabs(is - was) <= precision * (1 + fabs(was))) continue;
            fail(who, "does not start as it should");
            return;
        }
    }
}

static void run_icf(const clutter_case* c, clutter_result* out, clutter_trace* trace)
{
    clutter_sim s;
    clutter_step step;
    clutter_run r;
    const double before = resident();
    double spent = 0;
    int i, looks = 0, conditions = 0;
    memset(out, 0, sizeof *out);
    clutter_open(&r, c->count, c->walls, c->dt, c->steps);
    sim_open(&s, c);
    sim_get(&s, s.after);
    check_start("icf", s.after, &r, 1e-15);
    while (r.done < r.steps && !(c->most > 0 && spent > c->most)) {
        sim_step(&s, &step);
        spent += step.seconds;
        if (clutter_is_last_quarter(&r)) {
            out->slip += 1e3 * s.slip;
            out->tolerance += 1e3 * s.tolerance;
            out->pushing += s.pushing;
        }
        if (!clutter_took(&r, &step)) continue;
        memcpy(r.body, s.after, (size_t)c->count * sizeof *r.body);
        if (!clutter_look(&r)) break;
        looks++;
        conditions += c->condition && looks % c->condition == 0;
        if (c->condition && looks % c->condition == 0) {
            const double condition = sim_condition(&s);
            out->condition += condition;
            if (trace && trace->count < trace->room) trace->condition[trace->count] = condition;
        }
        if (trace && trace->count < trace->room) {
            trace->time[trace->count] = r.done * c->dt;
            trace->iterations[trace->count] = step.iterations;
            trace->tolerance[trace->count++] = s.tolerance;
        }
    }
    finish(&r, out);
    if (r.steps_last) {
        out->slip /= r.steps_last;
        out->tolerance /= r.steps_last;
        out->pushing /= r.steps_last;
    }
    if (conditions) out->condition /= conditions;
    for (i = 0; i < PARTS; i++) out->part[i] = 1e6 * s.part[i] / (r.done ? r.done : 1);
    out->floors = s.floors;
    out->own = 1e-3 * (double)(s.scene.bytes + s.scene.world.bytes);
    out->resident = resident() - before;
    sim_close(&s);
    clutter_close(&r);
}

static void run_peer(const clutter_case* c, clutter_result* out)
{
    clutter_step step;
    clutter_run r;
    clutter_peer* p;
    clutter_body* state = (clutter_body*)allocate((size_t)c->count, sizeof *state);
    const double before = resident();
    double spent = 0;
    memset(out, 0, sizeof *out);
    clutter_open(&r, c->count, c->walls, c->dt, c->steps);
    p = clutter_peer_open(c->peer, c->count, c->walls, c->dt);
    if (!p) {
        fail(clutter_peer_name(c->peer), "cannot be made");
        clutter_close(&r);
        free(state);
        return;
    }
    clutter_peer_get(p, state);
    check_start(clutter_peer_name(c->peer), state, &r, 1e-7); /* Bullet is in single precision */
    while (r.done < r.steps && !(c->most > 0 && spent > c->most)) {
        clutter_peer_step(p, &step);
        spent += step.seconds;
        if (!clutter_took(&r, &step)) continue;
        clutter_peer_get(p, r.body);
        if (!clutter_look(&r)) break;
    }
    finish(&r, out);
    out->resident = resident() - before;
    clutter_peer_close(p);
    clutter_close(&r);
    free(state);
}

/* In a process of its own, where there are any */
static void run(const clutter_case* c, clutter_result* out)
{
#ifdef CLUTTER_FORK
    int ends[2], status = 0;
    pid_t child;
    size_t got = 0;
    fflush(stdout);
    if (pipe(ends) == 0) {
        child = fork();
        if (child == 0) {
            const int before = failures;
            close(ends[0]);
            if (c->peer < 0)
                run_icf(c, out, NULL);
            else
                run_peer(c, out);
            fflush(stdout);
            _exit(write(ends[1], out, sizeof *out) == (ssize_t)sizeof *out && failures == before
                      ? 0
                      : 1);
        }
        close(ends[1]);
        memset(out, 0, sizeof *out);
        while (child > 0 && got < sizeof *out) {
            const ssize_t more = read(ends[0], (char*)out + got, sizeof *out - got);
            if (more <= 0) break;
            got += (size_t)more;
        }
        close(ends[0]);
        if (child > 0) waitpid(child, &status, 0);
        if (child > 0 && got == sizeof *out && status == 0) return;
        fail(c->peer < 0 ? "icf" : clutter_peer_name(c->peer), "its run failed");
        return;
    }
#endif
    if (c->peer < 0)
        run_icf(c, out, NULL);
    else
        run_peer(c, out);
}

static void print_result(const clutter_case* c, const clutter_result* r)
{
    printf("%s, %d things, %s, %g ms: %d of %d steps\n",
           c->peer < 0 ? "icf" : clutter_peer_name(c->peer), c->count,
           c->walls ? "walls" : "floor only", 1e3 * c->dt, r->done, r->steps);
    printf("  us per step        %.1f mean, %.1f p95, %.1f max, %.1f last quarter\n", r->mean,
           r->p95, r->most, r->last);
    if (c->peer < 0)
        printf(
            "    of it            collision %.1f, pattern %.1f, assembly %.1f, factorisation %.1f, "
            "line search %.1f, other work of iterations %.1f, rest %.1f\n",
            r->collision, r->part[PART_PATTERN], r->part[PART_ASSEMBLY], r->part[PART_FACTOR],
            r->part[PART_SEARCH], r->part[PART_ITERATION], r->part[PART_REST]);
    else
        printf("    of it            collision %.1f\n", r->collision);
    printf("  contacts           %.1f, last quarter %.1f", r->contacts, r->contacts_last);
    if (c->peer < 0) printf(", with a force %.1f", r->pushing);
    printf("\n");
    printf(
        "  iterations         %.2f, last quarter %.2f, max %d; factorisations %.2f; unsolved %d, "
        "ended by rounding %d\n",
        r->iterations, r->iterations_last, r->iterations_most, r->factorizations, r->unsolved,
        r->floors);
    if (r->error >= 0)
        printf("  error of momentum  %.1e mean, %.1e max\n", r->error, r->error_most);
    printf(
        "  penetration        last quarter %.2f um mean, %.1f um max; ever %.1f um; escaped %d\n",
        r->depth, r->depth_most, r->depth_ever, r->escaped);
    printf(
        "  energy             %.4f of the start at the end, %+.2g at most; largest rise %.2g J\n",
        r->energy, r->gain, r->rise);
    printf("  last quarter       speed %.3g mm/s", r->speed);
    if (c->peer < 0) printf(", slip %.3g mm/s, sticks below %.3g mm/s", r->slip, r->tolerance);
    printf("\n  memory             process %.0f kB", r->resident);
    if (c->peer < 0) printf(", scene and world %.0f kB", r->own);
    if (c->condition) printf("\n  condition          %.2g", r->condition);
    printf("\n");
}

// ------------------------------------------------------------------------------------------------
// Tables

enum { MOST_ROWS = 40, MOST_COLUMNS = 10 };

typedef struct table {
    const char* title;
    int rows, columns;
    const char* name[MOST_ROWS];
    clutter_case row[MOST_ROWS]; /* all but the column's count */
    int count[MOST_COLUMNS];
    clutter_result cell[MOST_ROWS][MOST_COLUMNS]; /* steps 0: was not run */
} table;

static int rounds;

static table* table_make(const char* title, const int* counts, int columns)
{
    table* t = (table*)allocate(1, sizeof *t);
    t->title = title;
    t->columns = columns;
    memcpy(t->count, counts, (size_t)columns * sizeof *counts);
    return t;
}

static void table_add(table* t, const char* name, const clutter_case* c)
{
    t->name[t->rows] = name;
    t->row[t->rows++] = *c;
}

/* Peers that are not built in are left out */
static void table_add_peers(table* t, const char* const* names, const clutter_case* c)
{
    clutter_case peer = *c;
    for (; *names; names++) {
        for (peer.peer = 0; peer.peer < clutter_peer_count(); peer.peer++) {
            if (strcmp(clutter_peer_name(peer.peer), *names) == 0) table_add(t, *names, &peer);
        }
    }
}

/* In turn, so that what disturbs the machine falls on all alike; of each the fastest. Short runs are done
   again and again; what was stopped is not tried with more things. */
static void table_run(table* t)
{
    int i, j, round;
    for (j = 0; j < t->columns; j++) {
        for (round = 0; round < rounds; round++) {
            for (i = 0; i < t->rows; i++) {
                clutter_result* best = &t->cell[i][j];
                const clutter_result* before = j ? &t->cell[i][j - 1] : NULL;
                clutter_case c = t->row[i];
                clutter_result r;
                c.count = t->count[j];
                if (before && c.peer >= 0 && before->done < before->steps) continue;
                if (before && !before->steps) continue;
                if (round && 1e-6 * best->mean * best->done > 3) continue;
                if (round && best->done < best->steps) continue;
                run(&c, &r);
                if (!best->steps || r.mean < best->mean) *best = r;
            }
        }
        fprintf(stderr, "%s: %d things done\n", t->title, t->count[j]);
    }
}

static void table_head(const table* t, const char* what)
{
    int j;
    printf("\n%s; %s\n%-24s", t->title, what, "");
    for (j = 0; j < t->columns; j++) {
        char n[16];
        snprintf(n, sizeof n, "N=%d", t->count[j]);
        printf(" %23s", n);
    }
    printf("\n");
}

typedef void cell_print(const clutter_result* r, char* out, size_t size);

static void cell_time(const clutter_result* r, char* out, size_t size)
{
    snprintf(out, size, "%.*f / %.0f / %.0f", r->mean < 100, r->mean, r->p95, r->most);
}

static void cell_depth(const clutter_result* r, char* out, size_t size)
{
    if (r->done == r->steps) snprintf(out, size, "%.2f / %.1f", r->depth, r->depth_most);
}

static void cell_error(const clutter_result* r, char* out, size_t size)
{
    if (r->error < 0)
        snprintf(out, size, "not known / %.0f", r->contacts);
    else
        snprintf(out, size, "%.1e / %.1e / %.0f", r->error, r->error_most, r->contacts);
}

static void cell_iterations(const clutter_result* r, char* out, size_t size)
{
    snprintf(out, size, "%.2f / %.2f / %d / %.2f", r->iterations, r->iterations_last,
             r->iterations_most, r->factorizations);
}

static void cell_slip(const clutter_result* r, char* out, size_t size)
{
    if (r->done < r->steps) return;
    if (r->own > 0)
        snprintf(out, size, "%.3g / %.3g", r->speed, r->slip);
    else
        snprintf(out, size, "%.3g", r->speed);
}

static void cell_energy(const clutter_result* r, char* out, size_t size)
{
    snprintf(out, size, "%d / %.1e / %.1e", r->escaped, r->gain > 0 ? r->gain : 0, r->rise);
}

static void cell_memory(const clutter_result* r, char* out, size_t size)
{
    if (r->own > 0)
        snprintf(out, size, "%.0f / %.0f", r->resident, r->own);
    else
        snprintf(out, size, "%.0f", r->resident);
}

static void table_print(const table* t, const char* what, cell_print* print, int icf_only)
{
    int i, j;
    table_head(t, what);
    for (i = 0; i < t->rows; i++) {
        if (icf_only && t->row[i].peer >= 0) continue;
        printf("%-24s", t->name[i]);
        for (j = 0; j < t->columns; j++) {
            const clutter_result* r = &t->cell[i][j];
            char text[64] = "", marked[72];
            if (r->steps) print(r, text, sizeof text);
            snprintf(marked, sizeof marked, "%s%s", text, r->done < r->steps ? "*" : "");
            printf(" %23s", marked);
        }
        printf("\n");
    }
}

static void table_split(const table* t, int i)
{
    static const char* const names[] = {"collision",         "pattern",     "assembly",
                                        "factor and solves", "line search", "rest of iterations",
                                        "rest of the step"};
    static const int parts[] = {-1,          PART_PATTERN,   PART_ASSEMBLY, PART_FACTOR,
                                PART_SEARCH, PART_ITERATION, PART_REST};
    char what[80];
    int j, k;
    snprintf(what, sizeof what, "%s, us of a step, and of it per cent", t->name[i]);
    table_head(t, what);
    for (k = 0; k < 7; k++) {
        printf("%-24s", names[k]);
        for (j = 0; j < t->columns; j++) {
            const clutter_result* r = &t->cell[i][j];
            const double us = parts[k] < 0 ? r->collision : r->part[parts[k]];
            char text[64] = "";
            if (r->steps) snprintf(text, sizeof text, "%.1f / %2.0f", us, 100 * us / r->mean);
            printf(" %23s", text);
        }
        printf("\n");
    }
}

static void table_print_all(const table* t)
{
    int i;
    table_print(t, "us per step, mean / p95 / max; * stopped, and not to be compared", cell_time,
                0);
    table_print(t, "penetration in the last quarter, um, mean / max", cell_depth, 0);
    table_print(t, "error of momentum, mean / max / contacts", cell_error, 0);
    table_print(t, "iterations, mean / mean of the last quarter / max / factorisations, mean",
                cell_iterations, 0);
    table_print(t, "escaped / gain of energy over the start / largest rise in 10 ms, J",
                cell_energy, 0);
    table_print(t, "last quarter, mm/s: speed of things / slip of contacts (icf)", cell_slip, 0);
    table_print(t, "memory, kB, growth of the process / what icf asked for", cell_memory, 0);
    for (i = 0; i < t->rows; i++) {
        if (t->row[i].peer < 0) table_split(t, i);
    }
}

static int table_find(const table* t, const char* name)
{
    int i;
    for (i = 0; i < t->rows; i++) {
        if (!strcmp(t->name[i], name)) return i;
    }
    return -1;
}

/* NULL: was not run to its end */
static const clutter_result* table_cell(const table* t, const char* name, int column)
{
    const int i = table_find(t, name);
    const clutter_result* r = i < 0 ? NULL : &t->cell[i][column];
    return r && r->steps && r->done == r->steps ? r : NULL;
}

/* The fastest way of MuJoCo that solves its convex problem about as well: an error of momentum that
   rounds to 2e-5, in the mean of the steps, or less */
static int best_converged(const table* t, int column)
{
    int i, best = -1;
    for (i = 0; i < t->rows; i++) {
        const clutter_result* r = &t->cell[i][column];
        if (t->row[i].peer < 0 || !clutter_peer_converges(t->row[i].peer)) continue;
        if (!r->steps || r->done < r->steps || r->error >= 2.5e-5) continue;
        if (best < 0 || r->mean < t->cell[best][column].mean) best = i;
    }
    return best;
}

/* Box3D at 16 substeps, as stiff as it can be: its time over ODE's of the same N, measured once side by
   side */
static double box3d_over_ode(int count)
{
    static const int counts[] = {8, 40, 80, 160, 320};
    static const double over[] = {1.38, 1.81, 1.30, 1.30, 1.18};
    int i;
    for (i = 0; i < 5; i++) {
        if (counts[i] == count) return over[i];
    }
    return 0;
}

/* Lines for tools, kept for the end */
typedef struct kept_figure {
    double value;
    const char *unit, *name;
    int count;
} kept_figure;
static kept_figure kept[200];
static int kept_count;

static void keep_figure(double value, const char* unit, const char* name, int count)
{
    kept_figure* k = kept + kept_count;
    if (kept_count >= 200) return;
    k->value = value;
    k->unit = unit;
    k->name = name;
    k->count = count;
    kept_count++;
}

static void print_figures(void)
{
    int i;
    if (kept_count) printf("\n");
    for (i = 0; i < kept_count; i++)
        bench_figure(kept[i].value, kept[i].unit, "%s_%d", kept[i].name, kept[i].count);
}

static const char* verdict(int good)
{
    return good ? "yes" : "no";
}

/* What is asked of walls, 10 ms, 1e7 N/m */
static void print_targets(const table* t)
{
    int j;
    printf("\n%s: what is asked of icf lagged\n", t->title);
    for (j = 0; j < t->columns; j++) {
        const int n = t->count[j], best = best_converged(t, j);
        const clutter_result *icf = table_cell(t, "icf lagged", j),
                             *ode = table_cell(t, "ode quick", j);
        const double box3d = ode ? box3d_over_ode(n) * ode->mean : 0, ahead = n < 80 ? 2 : 4;
        if (!icf) continue;
        printf("  N=%-4d %.0f us", n, icf->mean);
        keep_figure(icf->mean, "us", "clutter_us", n);
        if (best >= 0) {
            const double x = t->cell[best][j].mean / icf->mean;
            printf("; MuJoCo's best, %s: %.2f times that (%g asked: %s)", t->name[best], x, ahead,
                   verdict(x >= ahead));
            keep_figure(x, "x", "clutter_ahead_of_mujoco", n);
        }
        if (ode) {
            printf("; ODE's time: %.2f times (1 asked: %s)", icf->mean / ode->mean,
                   verdict(icf->mean <= ode->mean));
            keep_figure(icf->mean / ode->mean, "x", "clutter_over_ode", n);
        }
        if (box3d > 0) {
            printf("; Box3D's, computed: %.2f times", icf->mean / box3d);
            keep_figure(icf->mean / box3d, "x", "clutter_over_box3d", n);
        }
        printf("\n         error of momentum at most %.1e (1e-5: %s), penetration %.2f um (10: "
               "%s), %d escaped, "
               "energy gained %.1e, %.2f iterations in the last quarter\n",
               icf->error_most, verdict(icf->error_most <= 1e-5), icf->depth,
               verdict(icf->depth < 10), icf->escaped, icf->gain > 0 ? icf->gain : 0,
               icf->iterations_last);
        keep_figure(icf->p95, "us", "clutter_p95", n);
        keep_figure(icf->depth, "um", "clutter_penetration", n);
        keep_figure(icf->error_most, "1", "clutter_momentum_error_most", n);
        keep_figure(icf->escaped, "things", "clutter_escaped", n);
        keep_figure(icf->gain > 0 ? icf->gain : 0, "1", "clutter_energy_gain", n);
        keep_figure(icf->iterations_last, "iterations", "clutter_iterations_last_quarter", n);
        keep_figure(icf->resident, "kB", "clutter_memory", n);
        if (icf->unsolved) fail("icf lagged", "a step was not solved");
        if (icf->escaped) fail("icf lagged", "something left the box");
    }
}

/* A pile is chaos: a last bit at the first impact makes it another one, which may be twice as busy at the end. So
   the same again in steps longer by some ten-millionths, and what all of them take */
static void print_spread(const table* t)
{
    enum { DRAWS = 5 };
    int j, k;
    printf("\n%s: icf lagged, %d runs in steps that differ by ten-millionths\n", t->title, DRAWS);
    for (j = 0; j < t->columns; j++) {
        const int n = t->count[j], best = best_converged(t, j);
        const clutter_result* ode = table_cell(t, "ode quick", j);
        double sum = 0, least = HUGE_VAL, most = 0, last = 0;
        for (k = 0; k < DRAWS; k++) {
            clutter_case c = t->row[0];
            clutter_result r;
            c.count = n;
            c.dt *= 1 + 1e-7 * k;
            run(&c, &r);
            sum += r.mean / DRAWS;
            last += r.iterations_last / DRAWS;
            least = r.mean < least ? r.mean : least;
            most = r.mean > most ? r.mean : most;
        }
        printf("  N=%-4d mean %.1f us, %.1f to %.1f; %.2f iterations in the last quarter", n, sum,
               least, most, last);
        if (best >= 0) printf("; MuJoCo's best takes %.2f times that", t->cell[best][j].mean / sum);
        if (ode) printf("; it is %.2f times ODE's", sum / ode->mean);
        printf("\n");
        keep_figure(sum, "us", "clutter_mean_of_5_us", n);
        keep_figure(last, "iterations", "clutter_mean_of_5_iterations_last_quarter", n);
        if (best >= 0)
            keep_figure(t->cell[best][j].mean / sum, "x", "clutter_mean_of_5_ahead_of_mujoco", n);
        if (ode) keep_figure(sum / ode->mean, "x", "clutter_mean_of_5_over_ode", n);
    }
}

/* On the floor alone the time of one thing should not grow with their number */
static void print_floor(const table* t, int from, int to)
{
    const clutter_result *few = NULL, *many = NULL;
    int j;
    for (j = 0; j < t->columns; j++) {
        const clutter_result* r = table_cell(t, "icf lagged", j);
        if (!r) continue;
        if (t->count[j] == from) few = r;
        if (t->count[j] == to) many = r;
        keep_figure(r->mean / t->count[j], "us", "clutter_floor_us_per_thing", t->count[j]);
    }
    if (!few || !many) return;
    printf("\n%s: a thing takes %.2f us of %d and %.2f of %d: %.2f times\n", t->title,
           few->mean / from, from, many->mean / to, to, many->mean / to / (few->mean / from));
    keep_figure(many->mean / to / (few->mean / from), "x", "clutter_floor_growth_per_thing", to);
}

static const char* const peers_main[] = {
    "mujoco newton", "mujoco elliptic", "mujoco cg", "mujoco cg tight",
    "ode quick",     "bullet",          NULL};
static const char* const peers_quick[] = {"mujoco newton", "mujoco cg tight", "ode quick", NULL};
static const char* const peers_full[] = {
    "mujoco newton",   "mujoco elliptic", "mujoco cg",
    "mujoco cg tight", "mujoco stiff",    "mujoco stiff cg tight",
    "ode quick",       "ode quick 200",   "ode world",
    "bullet",          "bullet 100",      NULL};

static table* walls_table(int full, double dt)
{
    static const int counts[] = {8, 40, 80, 160, 320, 1000};
    clutter_case c = default_case(), rigid;
    table* t = table_make(dt < 0.01 ? "walls, 2 ms, 1e7 N/m" : "walls, 10 ms, 1e7 N/m", counts,
                          options.quick          ? 4
                          : full && !(dt < 0.01) ? 6
                                                 : 5);
    c.dt = dt;
    c.most = 300; /* of 1000 things */
    if (dt < 0.01) c.steps = (int)floor(3 / dt + 0.5);
    rigid = c; /* as the library has it, contacts and friction */
    rigid.rigid = 1;
    rigid.softness = 1e-3;
    rigid.slip_tolerance = 1e-4;
    table_add(t, "icf lagged", &c);
    if (!options.quick) table_add(t, "icf lagged, near-rigid", &rigid);
    c.most = options.quick ? 4 : 15; /* of peers: those that take longer do not scale */
    table_add_peers(t, options.quick ? peers_quick : full ? peers_full : peers_main, &c);
    table_run(t);
    table_print_all(t);
    return t;
}

static table* floor_table(int full)
{
    static const int counts[] = {80, 160, 320, 1000}, all[] = {8, 40, 80, 160, 320, 1000};
    clutter_case c = default_case();
    table* t = table_make("floor only, 10 ms, 1e7 N/m", full ? all : counts,
                          full            ? 6
                          : options.quick ? 2
                                          : 4);
    c.walls = 0;
    table_add(t, "icf lagged", &c);
    c.most = 20;
    if (!options.quick) table_add_peers(t, full ? peers_full : peers_quick, &c);
    table_run(t);
    if (full) {
        table_print_all(t);
        return t;
    }
    table_print(t, "us per step, mean / p95 / max; * stopped", cell_time, 0);
    table_print(t, "penetration in the last quarter, um, mean / max", cell_depth, 0);
    table_print(t, "error of momentum, mean / max / contacts", cell_error, 0);
    table_print(t, "escaped / gain of energy over the start / largest rise in 10 ms, J",
                cell_energy, 0);
    table_split(t, 0);
    return t;
}

/* One model at all stiffnesses, from the fall to 3 s */
static void stiffness_table(int model, const char* name)
{
    static const int counts[] = {40, 160};
    static const char* const names[] = {"1e5 N/m", "1e6 N/m",  "1e7 N/m",  "1e8 N/m",
                                        "1e9 N/m", "1e10 N/m", "1e11 N/m", "1e12 N/m"};
    clutter_case c = default_case();
    char title[80];
    table* t;
    int i, j;
    case_model(&c, model);
    c.steps = 300;
    c.most = 60;
    snprintf(title, sizeof title, "%s, walls, 10 ms, 3 s", name);
    t = table_make(title, counts, 2);
    for (i = 0; i < 8; i++) {
        c.stiffness = pow(10, 5 + i);
        table_add(t, names[i], &c);
    }
    c.rigid = 1;
    table_add(t, "1e12 N/m, near-rigid", &c);
    c.stiffness = 1e7;
    table_add(t, "1e7 N/m, near-rigid", &c);
    table_run(t);
    table_print_all(t);
    for (i = 0; i < t->rows; i++) {
        for (j = 0; j < t->columns; j++) {
            const clutter_result* r = &t->cell[i][j];
            if (!r->unsolved && !r->floors) continue;
            printf("%s, %s, N=%d: %d steps not solved, %d ended by rounding\n", title, t->name[i],
                   counts[j], r->unsolved, r->floors);
        }
    }
    free(t);
}

static void run_tables(int full)
{
    static const char* const names[] = {"stiffness_lagged", "stiffness_similar", "stiffness_sap"};
    static const icf_model models[] = {ICF_MODEL_LAGGED, ICF_MODEL_SIMILAR, ICF_MODEL_SAP};
    table *walls = NULL, *ground = NULL;
    int m;
    rounds = options.repeat ? options.repeat : options.quick ? 1 : 3;
    if (!options.list)
        printf("%s; the least mean of %d runs where they are short\n", clutter_peer_versions(),
               rounds);
    if (bench_selected(&options, "walls")) walls = walls_table(full, 0.01);
    if (bench_selected(&options, "floor")) ground = floor_table(full);
    if (full) {
        if (!options.repeat) rounds = 1;
        if (bench_selected(&options, "walls_2ms")) free(walls_table(full, 0.002));
        for (m = 0; m < 3; m++) {
            if (bench_selected(&options, names[m])) stiffness_table((int)models[m], names[m] + 10);
        }
    }
    if (walls) print_targets(walls);
    if (walls && !options.quick) print_spread(walls);
    if (ground) print_floor(ground, 80, options.quick ? 160 : 1000);
    print_figures();
    free(walls);
    free(ground);
}

// ------------------------------------------------------------------------------------------------
// Studies: as in the papers, ICF Figs. 15 to 19 and SAP Figs. 11 to 15, into bench/figures

enum { MODELS = 4, TRACE = 300, BIN = 5 };

static const char* const study_models[MODELS] = {"SAP", "Lagged", "Lagged, regularised", "Similar"};

/* As in ICF XI: forty things and walls; Lagged without and with (26), Similar without */
static clutter_case study_case(int model)
{
    clutter_case c = default_case();
    c.count = 40;
    c.model = model == 0 ? ICF_MODEL_SAP : model == 3 ? ICF_MODEL_SIMILAR : ICF_MODEL_LAGGED;
    c.softness = model == 1 || model == 3 ? 0 : 1e-3;
    c.slip_tolerance = 1e-4;
    return c;
}

static void study_begun(const char* name)
{
    fprintf(stderr, "%s\n", name);
}

static void study_over_time(void)
{
    enum { POINTS = TRACE / BIN };
    const char* subtitle =
        "40 things, walls, steps of 2 ms, 1e7 N/m; means of 50 ms; ICF Figs. 15, 16";
    plot p[3];
    int m, i, k;
    study_begun("over time");
    p[0] = plot_begin("Iterations", "time (s)", "iterations per step");
    p[1] = plot_begin("Condition number of the Hessian at the end of a step", "time (s)",
                      "condition number");
    p[2] = plot_begin("Slip below which contacts stick", "time (s)", "mean of the contacts (mm/s)");
    plot_log(&p[1], 0, 1);
    plot_log(&p[2], 0, 1);
    p[0].subtitle = subtitle;
    for (m = 0; m < MODELS; m++) {
        clutter_case c = study_case(m);
        clutter_result r;
        clutter_trace t;
        double time[TRACE], iterations[TRACE], condition[TRACE], tolerance[TRACE];
        memset(&t, 0, sizeof t);
        t.room = TRACE;
        t.time = time;
        t.iterations = iterations;
        t.condition = condition;
        t.tolerance = tolerance;
        c.dt = 0.002;
        c.steps = TRACE * 5;
        c.condition = 1;
        run_icf(&c, &r, &t);
        for (i = 0; i < POINTS; i++) {
            double sum[4] = {0, 0, 0, 0};
            for (k = BIN * i; k < BIN * (i + 1); k++) {
                sum[0] += time[k] / BIN;
                sum[1] += iterations[k] / BIN;
                sum[2] += condition[k] / BIN;
                sum[3] += 1e3 * tolerance[k] / BIN;
            }
            time[i] = sum[0];
            iterations[i] = sum[1];
            condition[i] = sum[2];
            tolerance[i] = sum[3];
        }
        plot_add(&p[0], study_models[m], PLOT_LINE, POINTS, time, iterations);
        plot_add(&p[1], study_models[m], PLOT_LINE, POINTS, time, condition);
        plot_add(&p[2], study_models[m], PLOT_LINE, POINTS, time, tolerance);
        printf("study over time, %s: %.2f iterations, condition %.2g\n", study_models[m],
               r.iterations, r.condition);
    }
    if (!plot_write(p, 3, "bench/figures/study_over_time")) fail("study", "over time");
    for (i = 0; i < 3; i++) plot_end(&p[i]);
}

static void study_step(void)
{
    static const double steps[] = {0.5, 1, 2, 5, 10, 20};
    enum { COUNT = 6 };
    plot p[3];
    int m, i;
    study_begun("step");
    p[0] = plot_begin("Iterations against the time step", "time step (ms)",
                      "mean iterations per step");
    p[1] = plot_begin("Condition number of the Hessian", "time step (ms)", "mean condition number");
    p[2] = plot_begin("Time of a step", "time step (ms)", "\xC2\xB5s");
    p[0].subtitle = "40 things, walls, 3 s, 1e7 N/m; ICF Fig. 17";
    plot_log(&p[0], 1, 0);
    plot_log(&p[1], 1, 1);
    plot_log(&p[2], 1, 1);
    for (m = 0; m < MODELS; m++) {
        double iterations[COUNT], condition[COUNT], us[COUNT];
        for (i = 0; i < COUNT; i++) {
            clutter_case c = study_case(m);
            clutter_result r;
            c.dt = 1e-3 * steps[i];
            c.steps = (int)floor(3 / c.dt + 0.5);
            c.condition = 5;
            run(&c, &r);
            iterations[i] = r.iterations;
            condition[i] = r.condition;
            us[i] = r.mean;
            printf("study step, %s, %g ms: %.2f iterations, condition %.2g, %.0f us, error at most "
                   "%.0e\n",
                   study_models[m], steps[i], r.iterations, r.condition, r.mean, r.error_most);
        }
        plot_add(&p[0], study_models[m], PLOT_LINE | PLOT_MARK, COUNT, steps, iterations);
        plot_add(&p[1], study_models[m], PLOT_LINE | PLOT_MARK, COUNT, steps, condition);
        plot_add(&p[2], study_models[m], PLOT_LINE | PLOT_MARK, COUNT, steps, us);
    }
    if (!plot_write(p, 3, "bench/figures/study_step")) fail("study", "step");
    for (i = 0; i < 3; i++) plot_end(&p[i]);
}

static void study_stiffness(void)
{
    enum { COUNT = 8 };
    static const double ends[2] = {1e5, 1e12};
    double k[COUNT], line[2];
    plot p[4];
    int m, i;
    study_begun("stiffness");
    p[0] = plot_begin("Penetration in the last 1.25 s", "stiffness (N/m)", "mean penetration (m)");
    p[1] = plot_begin("Iterations", "stiffness (N/m)", "mean iterations per step");
    p[2] =
        plot_begin("Condition number of the Hessian", "stiffness (N/m)", "mean condition number");
    p[3] = plot_begin("Time of a step", "stiffness (N/m)", "\xC2\xB5s");
    p[0].subtitle = "40 things, walls, steps of 5 ms, 5 s; ICF Figs. 18, 19";
    plot_log(&p[0], 1, 1);
    plot_log(&p[1], 1, 0);
    plot_log(&p[2], 1, 1);
    plot_log(&p[3], 1, 1);
    p[1].y_zero = 1;
    for (i = 0; i < COUNT; i++) k[i] = pow(10, 5 + i);
    for (m = 0; m < MODELS; m++) {
        double depth[COUNT], iterations[COUNT], condition[COUNT], us[COUNT];
        for (i = 0; i < COUNT; i++) {
            clutter_case c = study_case(m);
            clutter_result r;
            c.dt = 0.005;
            c.steps = 1000;
            c.stiffness = k[i];
            c.condition = 5;
            run(&c, &r);
            depth[i] = 1e-6 * r.depth;
            iterations[i] = r.iterations;
            condition[i] = r.condition;
            us[i] = r.mean;
            printf("study stiffness, %s, %.0e N/m: %.2f iterations, condition %.2g, %.0f us, "
                   "penetration %.2e m, "
                   "error at most %.0e, unsolved %d, ended by rounding %d\n",
                   study_models[m], k[i], r.iterations, r.condition, r.mean, depth[i], r.error_most,
                   r.unsolved, r.floors);
        }
        plot_add(&p[0], study_models[m], PLOT_LINE | PLOT_MARK, COUNT, k, depth);
        plot_add(&p[1], study_models[m], PLOT_LINE | PLOT_MARK, COUNT, k, iterations);
        plot_add(&p[2], study_models[m], PLOT_LINE | PLOT_MARK, COUNT, k, condition);
        plot_add(&p[3], study_models[m], PLOT_LINE | PLOT_MARK, COUNT, k, us);
        if (m == 0) {
            line[0] = depth[0];
            line[1] = depth[0] * ends[0] / ends[1];
        }
    }
    plot_add(&p[0], "weight over stiffness", PLOT_REFERENCE, 2, ends, line);
    if (!plot_write(p, 4, "bench/figures/study_stiffness")) fail("study", "stiffness");
    for (i = 0; i < 4; i++) plot_end(&p[i]);
}

/* SAP VI-C: how the work grows with the number of things */
static void study_scaling(void)
{
    static const int counts[] = {8, 20, 40, 80, 160, 320};
    static const char* const names[3] = {"SAP", "Lagged", "Similar"};
    static const int models[3] = {ICF_MODEL_SAP, ICF_MODEL_LAGGED, ICF_MODEL_SIMILAR};
    static const char* const series[6] = {"SAP, walls", "Lagged, walls", "Similar, walls",
                                          "SAP, floor", "Lagged, floor", "Similar, floor"};
    static const char* const peers[] = {"mujoco newton", "mujoco cg tight", "ode quick"};
    static const char* const peer_series[2][3] = {
        {"MuJoCo Newton, walls", "MuJoCo CG, walls", "ODE, walls"},
        {"MuJoCo Newton, floor", "MuJoCo CG, floor", "ODE, floor"}
    };
    enum { COUNT = 6 };
    double n[COUNT];
    plot p[4], times[2];
    int i, m, walls, q;
    study_begun("scaling");
    p[0] = plot_begin("Contacts, the last quarter", "things", "contacts");
    p[1] = plot_begin("Iterations", "things", "mean iterations per step");
    p[2] = plot_begin("Error of momentum", "things", "mean");
    p[3] = plot_begin("Memory of scene and world", "things", "kB");
    p[0].subtitle = "steps of 10 ms, 5 s, 1e7 N/m; SAP Figs. 11, 13";
    times[0] = plot_begin("Time of a step, walls", "things", "\xC2\xB5s");
    times[1] = plot_begin("Time of a step, floor only", "things", "\xC2\xB5s");
    times[0].subtitle =
        "steps of 10 ms, 5 s, 1e7 N/m, error of momentum 1e-5; collision included; SAP Fig. 12";
    for (i = 0; i < 4; i++) plot_log(&p[i], 1, i != 1);
    for (i = 0; i < 2; i++) plot_log(&times[i], 1, 1);
    for (i = 0; i < COUNT; i++) n[i] = counts[i];
    for (walls = 1; walls >= 0; walls--) {
        for (m = 0; m < 3; m++) {
            double contacts[COUNT], iterations[COUNT], error[COUNT], memory[COUNT], us[COUNT];
            for (i = 0; i < COUNT; i++) {
                clutter_case c = default_case();
                clutter_result r;
                case_model(&c, (int)models[m]);
                c.count = counts[i];
                c.walls = walls;
                c.steps = 500;
                run(&c, &r);
                contacts[i] = r.contacts_last;
                iterations[i] = r.iterations;
                error[i] = r.error;
                memory[i] = r.own;
                us[i] = r.mean;
                printf("study scaling, %s, %s, %d: %.0f contacts, %.2f iterations, %.0f us, error "
                       "%.0e\n",
                       names[m], walls ? "walls" : "floor", counts[i], r.contacts_last,
                       r.iterations, r.mean, r.error);
            }
            plot_add(&p[0], series[3 * !walls + m], PLOT_LINE | PLOT_MARK, COUNT, n, contacts);
            plot_add(&p[1], series[3 * !walls + m], PLOT_LINE | PLOT_MARK, COUNT, n, iterations);
            plot_add(&p[2], series[3 * !walls + m], PLOT_LINE | PLOT_MARK, COUNT, n, error);
            plot_add(&p[3], series[3 * !walls + m], PLOT_LINE | PLOT_MARK, COUNT, n, memory);
            plot_add(&times[!walls], series[3 * !walls + m], PLOT_LINE | PLOT_MARK, COUNT, n, us);
        }
        for (q = 0; q < 3; q++) {
            clutter_case c = default_case();
            double us[COUNT];
            int stopped = 0;
            for (c.peer = clutter_peer_count() - 1; c.peer >= 0; c.peer--) {
                if (!strcmp(clutter_peer_name(c.peer), peers[q])) break;
            }
            if (c.peer < 0) continue;
            for (i = 0; i < COUNT; i++) {
                clutter_result r;
                us[i] = NAN; /* breaks the line */
                c.count = counts[i];
                c.walls = walls;
                c.steps = 500;
                c.most = 20;
                if (stopped) continue;
                run(&c, &r);
                stopped = r.done < r.steps;
                if (!stopped) us[i] = r.mean;
                printf("study scaling, %s, %s, %d: %.0f us%s\n", peers[q],
                       walls ? "walls" : "floor", counts[i], r.mean, stopped ? ", stopped" : "");
            }
            plot_add(&times[!walls], peer_series[!walls][q], PLOT_LINE | PLOT_MARK, COUNT, n, us);
        }
    }
    if (!plot_write(p, 4, "bench/figures/study_scaling")) fail("study", "scaling");
    if (!plot_write(times, 2, "bench/figures/clutter_time")) fail("study", "scaling");
    for (i = 0; i < 4; i++) plot_end(&p[i]);
    for (i = 0; i < 2; i++) plot_end(&times[i]);
}

/* SAP VI-C2 */
static void study_slip(void)
{
    enum { COUNT = 7 };
    double softness[COUNT], bound[COUNT];
    plot p[3];
    int i, walls;
    study_begun("slip");
    p[0] =
        plot_begin("Slip of contacts at rest, SAP", "slip parameter \xCF\x83", "mean slip (m/s)");
    p[1] = plot_begin("Iterations", "slip parameter \xCF\x83", "mean iterations per step");
    p[2] = plot_begin("Condition number of the Hessian", "slip parameter \xCF\x83",
                      "mean condition number");
    p[0].subtitle =
        "40 things, steps of 10 ms, the last quarter of 30 s, near-rigid; SAP Figs. 14, 15";
    plot_log(&p[0], 1, 1);
    plot_log(&p[1], 1, 0);
    plot_log(&p[2], 1, 1);
    p[1].y_zero = 1;
    for (i = 0; i < COUNT; i++) {
        softness[i] = pow(10, i - 6);
        bound[i] = softness[i] * CLUTTER_FRICTION * 0.01 * CLUTTER_GRAVITY;
    }
    for (walls = 1; walls >= 0; walls--) {
        double slip[COUNT], iterations[COUNT], condition[COUNT];
        const char* name = walls ? "walls" : "floor only";
        for (i = 0; i < COUNT; i++) {
            clutter_case c = study_case(0);
            clutter_result r;
            c.walls = walls;
            c.softness = softness[i];
            c.rigid = 1;
            c.steps = 3000;
            c.condition = 60;
            run(&c, &r);
            slip[i] = 1e-3 * r.slip;
            iterations[i] = r.iterations;
            condition[i] = r.condition;
            printf("study slip, %s, %.0e: slip %.2e m/s of %.2e, %.2f iterations, condition %.2g\n",
                   name, softness[i], slip[i], bound[i], r.iterations, r.condition);
        }
        plot_add(&p[0], name, PLOT_LINE | PLOT_MARK, COUNT, softness, slip);
        plot_add(&p[1], name, PLOT_LINE | PLOT_MARK, COUNT, softness, iterations);
        plot_add(&p[2], name, PLOT_LINE | PLOT_MARK, COUNT, softness, condition);
    }
    plot_add(&p[0], "\xCF\x83 \xC2\xB5 \xCE\xB4t g", PLOT_REFERENCE, COUNT, softness, bound);
    if (!plot_write(p, 3, "bench/figures/study_slip")) fail("study", "slip");
    for (i = 0; i < 3; i++) plot_end(&p[i]);
}

static void run_studies(void)
{
    if (bench_selected(&options, "over_time")) study_over_time();
    if (bench_selected(&options, "step")) study_step();
    if (bench_selected(&options, "stiffness")) study_stiffness();
    if (bench_selected(&options, "scaling")) study_scaling();
    if (bench_selected(&options, "slip")) study_slip();
}

// ------------------------------------------------------------------------------------------------
// The command line

static double option_value(bench_options* o, const char* name, double value, int* given)
{
    int i, left = 0;
    for (i = 0; i < o->other_count; i++) {
        if (!strncmp(o->other[i], name, strlen(name))) {
            value = atof(o->other[i] + strlen(name));
            *given = 1;
        } else {
            o->other[left++] = o->other[i];
        }
    }
    o->other_count = left;
    return value;
}

/* Whether options ask for one case, which is then in *c */
static int read_case(clutter_case* c)
{
    int given = 0, i, p, peers = clutter_peer_count();
    *c = default_case();
    for (i = 0; i < 3; i++) {
        static const char* const models[3] = {"--model=lagged", "--model=similar", "--model=sap"};
        static const icf_model model[3] = {ICF_MODEL_LAGGED, ICF_MODEL_SIMILAR, ICF_MODEL_SAP};
        if (!bench_option(&options, models[i])) continue;
        case_model(c, (int)model[i]);
        given = 1;
    }
    for (p = 0; p < peers; p++) {
        char name[80];
        snprintf(name, sizeof name, "--peer=%s", clutter_peer_name(p));
        if (!bench_option(&options, name)) continue;
        c->peer = p;
        given = 1;
    }
    if (bench_option(&options, "--rigid")) {
        c->rigid = 1;
        given = 1;
    }
    c->count = (int)option_value(&options, "--n=", c->count, &given);
    c->walls = (int)option_value(&options, "--walls=", c->walls, &given);
    c->steps = (int)option_value(&options, "--steps=", c->steps, &given);
    c->points = (int)option_value(&options, "--points=", c->points, &given);
    c->condition = (int)option_value(&options, "--condition=", c->condition, &given);
    c->margin = option_value(&options, "--margin=", c->margin, &given);
    c->dt = option_value(&options, "--dt=", c->dt, &given);
    c->stiffness = option_value(&options, "--k=", c->stiffness, &given);
    c->rigid = option_value(&options, "--rigid=", c->rigid, &given);
    c->softness = option_value(&options, "--softness=", c->softness, &given);
    c->slip_tolerance = option_value(&options, "--slip=", c->slip_tolerance, &given);
    c->tolerance = option_value(&options, "--tolerance=", c->tolerance, &given);
    if (given && (c->count < 1 || c->steps < 1 || !(c->dt > 0))) {
        fprintf(stderr, "--n, --steps and --dt are above 0\n");
        exit(2);
    }
    return given;
}

static void print_start(const int* counts, int cases)
{
    int i, k;
    printf("start");
    for (i = 0; i < cases; i++) {
        clutter_body* b = (clutter_body*)allocate((size_t)counts[i], sizeof *b);
        for (k = 0; k < counts[i]; k++) clutter_start(k, b + k);
        printf(" %016llx (%d)", (unsigned long long)clutter_hash(b, counts[i]), counts[i]);
        free(b);
    }
    printf("\n");
}

int main(int argc, char** argv)
{
    static const int sizes[] = {8, 40, 80, 160, 320, 1000};
    clutter_case c;
    clutter_result r;
    int one, studies, full;
    options = bench_parse(argc, argv);
    studies = bench_option(&options, "--studies");
    full = bench_option(&options, "--full");
    one = read_case(&c);
    bench_check(
        &options,
        "--full --studies --n= --dt= --walls= --k= --steps= --model= --rigid "
        "--rigid= --softness= --slip= --tolerance= --points= --margin= --condition= --peer=");
    if (!options.list) print_start(one ? &c.count : sizes, one ? 1 : 6);
    if (one) {
        run(&c, &r);
        print_result(&c, &r);
        return failures > 0;
    }
    if (studies)
        run_studies();
    else
        run_tables(full);
    if (!options.selected) fail("--only", "no such table or study");
    return failures > 0;
}
