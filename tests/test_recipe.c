/* The recipe at the head of >>potentials: a normal law and a model of friction, added as it says and nowhere
   else, and every result that hangs on them. The library compiles them in at the places marked ICFI_ALSO.

   The law: f = stiffness (-phi - relaxation v)+^2, stiffness in N/m^2.
   The model: lagged friction whose norm is three times as soft. It has to answer as ICF_MODEL_LAGGED does
   with three times the slip tolerance and softness. */

enum { RECIPE_LAW = 6, RECIPE_MODEL = 3, SOFTER = 3 };
static int cones_asked; /* how often the interior point method asked for those of a contact */

#define ICFI_ALSO(place) ALSO_##place
#define ICFI_LAST_LAW RECIPE_LAW
#define ICFI_LAST_MODEL RECIPE_MODEL

#define ALSO_FUNCTIONS \
    struct icfi_price; \
    struct icfi_cone; \
    static int recipe_law(const icf_normal* n, icf_real v, int elastic, icf_real out[3]); \
    static int recipe_make(const icf_surface* f, icf_real most, icf_real vn0, icf_normal* n, \
                           icf_real* impulse0); \
    static void recipe_price(const icf_contact_term* t, const icf_real v[3], \
                             struct icfi_price* p); \
    static int recipe_cones(const icf_contact_term* t, struct icfi_cone* cone); \
    static icf_real recipe_share(const icf_contact_term* t, const icf_real v[3]);
/* clang-format off */
#define ALSO_LAW case RECIPE_LAW: return recipe_law(n, v, elastic, out);
#define ALSO_MAKE case RECIPE_LAW: return recipe_make(f, most, vn0, n, impulse0);
#define ALSO_PRICE case RECIPE_MODEL: recipe_price(t, v, p); break;
#define ALSO_LOAD if (t->model == RECIPE_MODEL) return t->impulse0;
#define ALSO_CONES cones_asked++; if (t->model == RECIPE_MODEL) return recipe_cones(t, cone);
#define ALSO_MODE if (t->model == RECIPE_MODEL) stick *= SOFTER, *share = recipe_share(t, v);
/* clang-format on */

#define ICF_IMPLEMENTATION
#include "../icf.h"

#include "acutest.h"
#include "util.h"

#include <math.h>
#include <string.h>

// ------------------------------------------------------------------------------------------------
// What the recipe asks for

static int recipe_law(const icf_normal* n, icf_real v, int elastic, icf_real out[3])
{
    icf_real x = n->vhat - v, depth;
    if (elastic) {
        depth = icfi_max(0, -(n->distance + n->dt * v)) / (n->dt + n->tau);
        return icfi_elastic(n->scale * depth * depth, out);
    }
    if (!(x > 0)) return icfi_nothing(out);
    out[0] = n->scale * x * x * x / 3;
    out[1] = n->scale * x * x;
    out[2] = -2 * n->scale * x;
    return 1;
}

/* n = dt k (dt + tau)^2 x^2. The bound is on the slope at v = 0. */
static int recipe_make(const icf_surface* f, icf_real most, icf_real vn0, icf_normal* n,
                       icf_real* impulse0)
{
    icf_real all = n->dt + f->relaxation, depth = -n->distance - f->relaxation * vn0;
    int bounded;
    n->facts = ICFI_KINK;
    n->tau = f->relaxation;
    n->vhat = -n->distance / all;
    n->scale = n->dt * f->stiffness * all * all;
    bounded = most < ICF_REAL_MAX && 2 * n->scale * n->vhat > most;
    if (bounded) n->scale = most / (2 * n->vhat);
    depth = icfi_max(0, depth) / all;
    *impulse0 = n->scale * depth * depth;
    return bounded;
}

static void recipe_price(const icf_contact_term* t, const icf_real v[3], icfi_price* p)
{
    icf_contact_term softer = *t;
    softer.eps *= SOFTER;
    icfi_lagged(&softer, v, p);
}

static int recipe_cones(const icf_contact_term* t, icfi_cone* cone)
{
    int count = icfi_cone_make(ICFI_UNIT_FRICTION, NULL, t->impulse0, t->mu1, t->mu2,
                               SOFTER * t->eps, cone);
    return count + icfi_cone_make(ICFI_UNIT_NORMAL, &t->normal, 0, 0, 0, 0, cone + count);
}

static icf_real recipe_share(const icf_contact_term* t, const icf_real v[3])
{
    icf_real x1 = t->mu1 * v[0], x2 = t->mu2 * v[1], q = x1 * x1 + x2 * x2;
    return ICF_SQRT(q / (q + SOFTER * SOFTER * t->eps * t->eps));
}

/* The law again, as one of a caller's; user: relaxation and stiffness */
static void law_of_a_caller(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    const icf_surface* f = (const icf_surface*)user;
    icf_real all = dt + f->relaxation, x = -distance / all - v, k = dt * f->stiffness * all * all;
    if (!(x > 0)) x = 0;
    out[0] = k * x * x * x / 3;
    out[1] = k * x * x;
    out[2] = -2 * k * x;
}

// ------------------------------------------------------------------------------------------------
// Points in a row, each on the ground and against the next

enum { POINTS = 6, UNKNOWNS = 3 * POINTS, CONTACTS = 2 * POINTS - 1, BLOCKS = 3 * POINTS - 2 };

typedef struct scene {
    icf_problem p;
    icf_surface surface[CONTACTS], twin[CONTACTS];
    icf_contact contact[CONTACTS];
    icf_real mass[9 * POINTS], v_free[UNKNOWNS], v_last[UNKNOWNS], blocks[9 * BLOCKS];
    int32_t sizes[POINTS], rows[CONTACTS], start[CONTACTS + 1], clique[BLOCKS];
} scene;

static scene the_scene;

static void random_scene(scene* s, int32_t law, int32_t model)
{
    int32_t i, k, blocks = 0;
    memset(s, 0, sizeof *s);
    s->p = icf_default_problem();
    for (i = 0; i < POINTS; i++) {
        s->sizes[i] = 3;
        for (k = 0; k < 3; k++) {
            s->mass[9 * i + 4 * k] = R(random_between(0.5, 2));
            s->v_last[3 * i + k] = R(random_between(-0.5, 0.5));
        }
        for (k = 0; k < 3; k++)
            s->v_free[3 * i + k] = s->v_last[3 * i + k] - R(k == 2 ? random_between(0, 1) : 0);
    }
    for (i = 0; i < CONTACTS; i++) {
        icf_contact* c = s->contact + i;
        icf_surface* f = s->surface + i;
        const int32_t point = i < POINTS ? i : i - POINTS;
        *c = icf_default_contact();
        *f = icf_default_surface();
        c->link = c->surface = i;
        f->law = law;
        f->model = model;
        f->stiffness = R(law == RECIPE_LAW ? 1e8 : 1e5);
        f->relaxation = R(random_between(0, 0.01));
        c->distance = R(random_between(-1e-3, 5e-4));
        f->friction = R(random_between(0.1, 0.9));
        f->friction2 = R(random_between(0, 1) < 0.5 ? -1 : 0.4);
        f->slip_tolerance = R(1e-3);
        if (i >= POINTS) c->normal = icf_vec3_make(1, 0, 0);
        s->rows[i] = 3;
        s->start[i] = blocks;
        for (k = i < POINTS; k < 2; k++, blocks++) {
            icf_real* block = s->blocks + 9 * blocks;
            s->clique[blocks] = point + (i < POINTS ? 0 : k);
            block[0] = block[4] = block[8] = k ? 1 : -1;
        }
    }
    s->start[CONTACTS] = blocks;
    s->p.dt = R(0.01);
    s->p.cliques = POINTS;
    s->p.clique_sizes = s->sizes;
    s->p.mass = s->mass;
    s->p.v_free = s->v_free;
    s->p.v_last = s->v_last;
    s->p.links = s->p.contacts = s->p.surfaces = CONTACTS;
    s->p.surface = s->surface;
    s->p.link_rows = s->rows;
    s->p.link_start = s->start;
    s->p.block_clique = s->clique;
    s->p.blocks = s->blocks;
    s->p.contact = s->contact;
}

/* From v, which is the answer then */
static icf_stats solve(const scene* s, icf_workspace* w, icf_real* v)
{
    const icf_options options = exact();
    icf_stats stats;
    icf_result result;
    memset(&stats, 0, sizeof stats);
    TEST_CHECK(icf_workspace_reserve(w, &s->p) == ICF_RESULT_OK);
    result = icf_solve(&s->p, &options, w, v, &stats);
    TEST_CHECK_(result == ICF_RESULT_OK, "%s, seed %u", icf_result_string(result), SEED);
    return stats;
}

static double apart(const icf_real* a, const icf_real* b)
{
    double sum = 0;
    int32_t i;
    for (i = 0; i < UNKNOWNS; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum);
}

/* |A (v - v*) - sum J' gamma|, with gamma from the potentials one by one */
static double momentum_left(const scene* s, const icf_workspace* w, const icf_real* v)
{
    double left[UNKNOWNS], sum = 0;
    int32_t i, j, k, m;
    for (i = 0; i < UNKNOWNS; i++)
        left[i] =
            (double)s->mass[9 * (i / 3) + 4 * (i % 3)] * ((double)v[i] - (double)s->v_free[i]);
    for (i = 0; i < CONTACTS; i++) {
        icf_contact_result r;
        icf_contact_term term;
        icf_real before[3] = {0, 0, 0}, now[3] = {0, 0, 0}, gamma[3], jacobian[9];
        TEST_CHECK(icf_get_contact(w, i, &r) == ICF_RESULT_OK);
        for (m = 0; m < 2; m++) {
            for (j = s->start[i]; j < s->start[i + 1]; j++) {
                const int32_t of = s->clique[j];
                TEST_CHECK(icf_contact_jacobian(&s->p, i, of, jacobian) == ICF_RESULT_OK);
                for (k = 0; k < 9; k++) {
                    if (m == 0) {
                        before[k / 3] += jacobian[k] * s->v_last[3 * of + k % 3];
                        now[k / 3] += jacobian[k] * v[3 * of + k % 3];
                    } else {
                        left[3 * of + k % 3] -= (double)jacobian[k] * (double)gamma[k / 3];
                    }
                }
            }
            if (m == 1) break;
            TEST_CHECK(icf_contact_term_make(&s->surface[i], &s->contact[i], s->p.dt, r.w, before,
                                             &term) == ICF_RESULT_OK);
            TEST_CHECK(icf_contact_evaluate(&term, now, NULL, gamma, NULL));
        }
    }
    for (i = 0; i < UNKNOWNS; i++) sum += left[i] * left[i];
    return sqrt(sum);
}

static const int32_t pairs[][2] = {
    {RECIPE_LAW,            ICF_MODEL_LAGGED },
    {RECIPE_LAW,            ICF_MODEL_SIMILAR},
    {RECIPE_LAW,            RECIPE_MODEL     },
    {ICF_LAW_HUNT_CROSSLEY, RECIPE_MODEL     },
    {ICF_LAW_HERTZ,         RECIPE_MODEL     },
    {ICF_LAW_KELVIN_VOIGT,  RECIPE_MODEL     }
};
static const char* const names[] = {"law, lagged",   "law, similar",
                                    "law and model", "Hunt & Crossley, model",
                                    "Hertz, model",  "Kelvin-Voigt, model"};
enum { PAIRS = sizeof pairs / sizeof *pairs, TRIALS = 20 };

// ------------------------------------------------------------------------------------------------
// Prices

static void test_price_is_that_of_the_force(void)
{
    const double h = IN_FLOAT ? 3e-3 : 1e-6, most = IN_FLOAT ? 3e-2 : 1e-6;
    int trial, i, k;
    random_seed(SEED);
    for (trial = 0; trial < 500; trial++) {
        const int32_t* pair = pairs[trial % PAIRS];
        icf_contact c = icf_default_contact();
        icf_surface f = icf_default_surface();
        icf_contact_term t;
        icf_real v0[3], v[3], at[3], cost[2], gamma[3], up[3], down[3], hessian[9], out[3];
        double depth, force, size;
        f.law = pair[0];
        f.model = pair[1];
        f.stiffness = R(f.law == RECIPE_LAW ? 1e6 : 1e4);
        c.distance = R(random_between(-0.02, 0.005));
        f.slip_tolerance = R(0.1);
        for (i = 0; i < 3; i++) {
            v0[i] = R(random_between(-1, 1));
            v[i] = R(random_between(-1, 1));
        }
        TEST_CHECK(icf_contact_term_make(&f, &c, R(0.01), 1, v0, &t) == ICF_RESULT_OK);
        TEST_CHECK(icf_contact_evaluate(&t, v, NULL, gamma, hessian) == 1);
        /* differences do not reach over the end of the force */
        if (fabs((double)(icfi_law_velocity(&t, v) - t.normal.vhat)) < 4 * h) continue;
        size = 1e-3;
        for (i = 0; i < 3; i++) size += fabs((double)gamma[i]);
        for (i = 0; i < 9; i++) size += h * fabs((double)hessian[i]);
        for (i = 0; i < 3; i++) {
            memcpy(at, v, sizeof at);
            at[i] = v[i] + R(h);
            icf_contact_evaluate(&t, at, &cost[0], up, NULL);
            at[i] = v[i] - R(h);
            icf_contact_evaluate(&t, at, &cost[1], down, NULL);
            TEST_CHECK(fabs(((double)cost[0] - (double)cost[1]) / (2 * h) + (double)gamma[i]) <=
                       most * size / (IN_FLOAT ? 1 : h * 1e4));
            for (k = 0; k < 3; k++) {
                const double slope = ((double)up[k] - (double)down[k]) / (2 * h);
                TEST_CHECK_(fabs(slope + (double)hessian[3 * i + k]) <= most * 1e3 * size,
                            "trial %d: %g, %g", trial, slope, -(double)hessian[3 * i + k]);
            }
        }
        if (f.law != RECIPE_LAW) continue;
        /* the formula */
        TEST_CHECK(icf_normal_evaluate(&t.normal, v[2], out) == 1);
        depth = -(double)c.distance - (0.01 + (double)f.relaxation) * (double)v[2];
        force = depth > 0 ? 0.01 * (double)f.stiffness * depth * depth : 0;
        TEST_CHECK(fabs((double)out[1] - force) <= 1e3 * EPS * (force + 1e-3));
        depth = -(double)c.distance - (double)f.relaxation * (double)v0[2];
        force = depth > 0 ? 0.01 * (double)f.stiffness * depth * depth : 0;
        TEST_CHECK(fabs((double)t.impulse0 - force) <= 1e3 * EPS * (force + 1e-3));
    }
}

/* The Hessian with the dual of friction, which Newton's method takes, against that of the twin */
static void test_dual_hessian_of_the_twin(void)
{
    int trial, i, k;
    random_seed(SEED);
    for (trial = 0; trial < 100; trial++) {
        icf_contact c = icf_default_contact();
        icf_surface f = icf_default_surface();
        icf_contact_term t[2];
        icfi_price price[2];
        icf_real v0[3], v[3], dv[3], y[2][2];
        for (i = 0; i < 3; i++) {
            v0[i] = R(random_between(-1, 0));
            v[i] = R(random_between(-1, 0));
            dv[i] = R(random_between(-1, 1));
        }
        c.distance = R(-1e-3);
        for (i = 0; i < 2; i++) {
            f.model = i ? ICF_MODEL_LAGGED : RECIPE_MODEL;
            if (i) f.slip_tolerance *= SOFTER;
            if (i) f.softness *= SOFTER;
            y[i][0] = R(0.5);
            y[i][1] = R(-0.25);
            TEST_CHECK(icf_contact_term_make(&f, &c, R(0.01), 1, v0, &t[i]) == ICF_RESULT_OK);
            icfi_contact_price(&t[i], v, &price[i]);
            icfi_contact_dual(&t[i], ICFI_DUAL_HESSIAN, v, dv, y[i], &price[i]);
            icfi_contact_dual(&t[i], ICFI_DUAL_STEP, v, dv, y[i], &price[i]);
        }
        for (k = 0; k < 6; k++) {
            const double a = (double)price[0].h[k], b = (double)price[1].h[k];
            const double size = fabs((double)price[1].h[0]) + fabs((double)price[1].h[3]);
            TEST_CHECK_(fabs(a - b) <= 1e3 * EPS * size + 1e2 * EPS * fabs(b), "%g, not %g", a, b);
        }
        for (k = 0; k < 2; k++) TEST_CHECK(fabs((double)y[0][k] - (double)y[1][k]) <= 1e3 * EPS);
    }
}

// ------------------------------------------------------------------------------------------------
// Solves

/* The same scene of what the library has: the law of a caller, and lagged friction of triple softness */
static void make_twin(scene* s)
{
    int32_t i;
    memcpy(s->twin, s->surface, sizeof s->twin);
    for (i = 0; i < CONTACTS; i++) {
        icf_surface* f = s->twin + i;
        if (f->law == RECIPE_LAW) {
            f->law = ICF_LAW_CUSTOM;
            f->custom = law_of_a_caller;
            f->user = s->surface + i;
        }
        if (f->model == RECIPE_MODEL) {
            f->model = ICF_MODEL_LAGGED;
            f->slip_tolerance *= SOFTER;
            f->softness *= SOFTER;
        }
    }
}

static void check_results(const scene* s, const icf_workspace* w, const icf_workspace* twin)
{
    int32_t i;
    for (i = 0; i < CONTACTS; i++) {
        const icf_contact* c = s->contact + i;
        const icf_surface* f = s->surface + i;
        icf_contact_result a, b;
        double elastic, phi, lost, size, near = IN_FLOAT ? 1e-3 : 1e-8;
        TEST_CHECK(icf_get_contact(w, i, &a) == ICF_RESULT_OK);
        TEST_CHECK(icf_get_contact(twin, i, &b) == ICF_RESULT_OK);
        size = fabs((double)b.impulse.x) + fabs((double)b.impulse.y) + fabs((double)b.impulse.z);
        TEST_CHECK(fabs((double)(a.impulse.z - b.impulse.z)) <= near * (size + 1));
        TEST_CHECK(fabs((double)(a.impulse.x - b.impulse.x)) <= 10 * near * (size + 1));
        TEST_CHECK(fabs((double)(a.share - b.share)) <= (IN_FLOAT ? 0.2 : 1e-4));
        TEST_CHECK_(a.mode == b.mode || fabs((double)a.share - sqrt(0.5)) < 0.05 || size < 1e-6,
                    "mode %d, not %d, share %g", (int)a.mode, (int)b.mode, (double)a.share);
        if (f->law != RECIPE_LAW) {
            TEST_CHECK(fabs((double)(a.dissipated - b.dissipated)) <= 10 * near * (size + 1));
            continue;
        }
        if (a.bounded) continue;
        phi = (double)c->distance + (double)s->p.dt * (double)a.velocity.z;
        elastic = phi < 0 ? (double)s->p.dt * (double)f->stiffness * phi * phi : 0;
        lost = elastic * (double)a.velocity.z - (double)icf_vec3_dot(a.impulse, a.velocity);
        TEST_CHECK_(fabs((double)a.dissipated - lost) <= 100 * EPS * (1 + fabs(elastic) + size),
                    "%g J lost, not %g", (double)a.dissipated, lost);
        if (f->model != ICF_MODEL_SIMILAR) TEST_CHECK((double)a.dissipated >= -near);
    }
}

/* Whether dv/dv* along a direction is what differences of two solves are */
static int sensitivity_agrees(scene* s, icf_workspace* w, const icf_real* v)
{
    const double h = IN_FLOAT ? 1e-3 : 1e-6, most = IN_FLOAT ? 0.1 : 1e-5;
    icf_real x[UNKNOWNS], kept[UNKNOWNS], up[UNKNOWNS], down[UNKNOWNS], d[UNKNOWNS];
    double off = 0, size = 0;
    int32_t i, switching = -1;
    icf_workspace other = {0};
    for (i = 0; i < UNKNOWNS; i++) {
        d[i] = R(random_between(-1, 1));
        x[i] = s->mass[9 * (i / 3) + 4 * (i % 3)] * d[i];
    }
    TEST_CHECK(icf_sensitivity(&s->p, w, x, 1, UNKNOWNS, &switching, NULL) == ICF_RESULT_OK);
    memcpy(kept, s->v_free, sizeof kept);
    memcpy(up, v, sizeof up);
    memcpy(down, v, sizeof down);
    for (i = 0; i < UNKNOWNS; i++) s->v_free[i] = kept[i] + R(h) * d[i];
    solve(s, &other, up);
    for (i = 0; i < UNKNOWNS; i++) s->v_free[i] = kept[i] - R(h) * d[i];
    solve(s, &other, down);
    memcpy(s->v_free, kept, sizeof kept);
    icf_workspace_destroy(&other);
    for (i = 0; i < UNKNOWNS; i++) {
        const double slope = ((double)up[i] - (double)down[i]) / (2 * h);
        off += (slope - (double)x[i]) * (slope - (double)x[i]);
        size += (double)x[i] * (double)x[i];
    }
    return switching > 0 || sqrt(off) <= most * sqrt(size);
}

static void test_solves_as_the_twin(void)
{
    const double near = IN_FLOAT ? 1e-3 : 1e-8;
    int i, k, trial, from_near = 0, disagree = 0;
    double ours = 0, theirs = 0; /* iterations, of models alone */
    random_seed(SEED);
    for (i = 0; i < PAIRS; i++) {
        for (trial = 0; trial < TRIALS; trial++) {
            scene* s = &the_scene;
            icf_workspace w = {0}, twin = {0};
            icf_real v[UNKNOWNS], far[UNKNOWNS], close[UNKNOWNS], nearby[UNKNOWNS], other[UNKNOWNS];
            icf_stats stats;
            random_scene(s, pairs[i][0], pairs[i][1]);
            TEST_CASE(names[i]);
            for (k = 0; k < UNKNOWNS; k++) far[k] = R(random_between(-30, 30));
            memcpy(v, s->v_free, sizeof v);
            memcpy(other, far, sizeof other);
            solve(s, &w, v);

            /* from afar by the interior point method, from nearby by Newton's */
            cones_asked = 0;
            stats = solve(s, &w, far);
            TEST_CHECK_(cones_asked > 0, "no interior point");
            TEST_CHECK((double)stats.certificate <= (IN_FLOAT ? 1e-6 : 1e-14));
            if (pairs[i][0] != RECIPE_LAW) ours += stats.iterations;
            for (k = 0; k < UNKNOWNS; k++) close[k] = v[k] + R(1e-2 * (k % 3 - 1));
            memcpy(nearby, close, sizeof nearby);
            cones_asked = 0;
            stats = solve(s, &w, close);
            if (pairs[i][0] != RECIPE_LAW) ours += stats.iterations;
            from_near += cones_asked == 0;
            TEST_CHECK_(apart(v, far) <= near, "%g apart, seed %u", apart(v, far), SEED);
            TEST_CHECK(apart(v, close) <= near);
            TEST_CHECK_(momentum_left(s, &w, close) <= near, "momentum: %g is left",
                        momentum_left(s, &w, close));

            make_twin(s);
            s->p.surface = s->twin;
            stats = solve(s, &twin, nearby);
            if (pairs[i][0] != RECIPE_LAW) theirs += stats.iterations;
            stats = solve(s, &twin, other);
            if (pairs[i][0] != RECIPE_LAW) theirs += stats.iterations;
            s->p.contact = s->contact;
            TEST_CHECK_(apart(v, other) <= near, "%g from its twin, seed %u", apart(v, other),
                        SEED);
            check_results(s, &w, &twin);
            disagree += !sensitivity_agrees(s, &w, close);
            icf_workspace_destroy(&w);
            icf_workspace_destroy(&twin);
        }
    }
    TEST_CASE(NULL);
    TEST_CHECK_(from_near >= PAIRS * TRIALS / 2, "%d by Newton's method alone", from_near);
    /* over kinks differences are none, and in float they reach far */
    TEST_CHECK_(disagree <= (IN_FLOAT ? PAIRS * TRIALS / 10 : 1), "%d derivatives", disagree);
    TEST_CHECK_(fabs(ours - theirs) <= 0.03 * theirs, "%g iterations, twins %g", ours, theirs);
}

// ------------------------------------------------------------------------------------------------
// A kink, and what is refused

/* One point of 1 kg whose answer is the velocity vn */
static int32_t switching_at(int32_t law, int32_t model, icf_real vn)
{
    scene* s = &the_scene;
    const icf_options options = exact();
    const icf_real v[3] = {R(0.25), 0, vn};
    icf_contact_term t;
    icf_workspace w = {0};
    icf_real gamma[3], x[3] = {0, 0, 0};
    int32_t k, switching = -1;
    random_scene(s, law, model);
    s->p.cliques = s->p.links = s->p.contacts = 1;
    s->p.dt = s->surface->relaxation = R(1.0 / 128);
    s->contact->distance = R(-1.0 / 256);
    s->surface->stiffness = 1000;
    s->surface->dissipation = 0;
    s->contact->effective_mass_inverse = 1;
    s->v_last[2] = -1;
    for (k = 0; k < 3; k++) s->mass[4 * k] = 1;
    TEST_CHECK(icf_contact_term_make(s->surface, s->contact, s->p.dt, 1, s->v_last, &t) ==
               ICF_RESULT_OK);
    TEST_CHECK(icf_contact_evaluate(&t, v, NULL, gamma, NULL) == 1);
    for (k = 0; k < 3; k++) s->v_free[k] = v[k] - gamma[k];
    TEST_CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK);
    TEST_CHECK(icf_solve(&s->p, &options, &w, x, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_sensitivity(&s->p, &w, NULL, 0, 3, &switching, NULL) == ICF_RESULT_OK);
    icf_workspace_destroy(&w);
    return switching;
}

static void test_switching_at_its_end(void)
{
    int i;
    for (i = 0; i < PAIRS; i++) {
        const icf_real end =
            R(pairs[i][0] == RECIPE_LAW || pairs[i][0] == ICF_LAW_KELVIN_VOIGT ? 0.25 : 0.5);
        if (pairs[i][1] == ICF_MODEL_SIMILAR) continue; /* its kink is elsewhere */
        TEST_CASE(names[i]);
        TEST_CHECK(switching_at(pairs[i][0], pairs[i][1], end) == 1);
        TEST_CHECK(switching_at(pairs[i][0], pairs[i][1], end - R(0.05)) == 0);
        TEST_CHECK(switching_at(pairs[i][0], pairs[i][1], end + R(0.05)) == 0);
    }
}

static void test_numbers_behind_the_last_are_refused(void)
{
    const icf_real v0[3] = {0, 0, 0};
    icf_contact c = icf_default_contact();
    icf_surface f = icf_default_surface();
    icf_contact_term t;
    f.law = RECIPE_LAW;
    f.model = RECIPE_MODEL;
    f.stiffness = R(1e12);
    f.near_rigid = 1;
    c.distance = R(-0.01);
    TEST_CHECK(icf_contact_term_make(&f, &c, R(0.01), 1, v0, &t) == ICF_RESULT_OK &&
               t.bounded == 1);
    f.law = RECIPE_LAW + 1;
    TEST_CHECK(icf_contact_term_make(&f, &c, R(0.01), 1, v0, &t) == ICF_RESULT_BAD_ARGUMENT);
    f.law = RECIPE_LAW;
    f.model = RECIPE_MODEL + 1;
    TEST_CHECK(icf_contact_term_make(&f, &c, R(0.01), 1, v0, &t) == ICF_RESULT_BAD_ARGUMENT);
}

TEST_LIST = {
    {"price_is_that_of_the_force",          test_price_is_that_of_the_force         },
    {"dual_hessian_of_the_twin",            test_dual_hessian_of_the_twin           },
    {"solves_as_the_twin",                  test_solves_as_the_twin                 },
    {"switching_at_its_end",                test_switching_at_its_end               },
    {"numbers_behind_the_last_are_refused", test_numbers_behind_the_last_are_refused},
    {NULL,                                  NULL                                    }
};
