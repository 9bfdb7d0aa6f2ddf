/* How many factorisations a solve takes, and the interior point method with every kind of
   potential: the problems of tests/golden, and random scenes that are stiff and fast.

   With -DTABLES the counts are printed. */

#include "tested.h"

#include "acutest.h"
#include "icfp.h"
#include "util.h"
#include "golden_util.h"
#include "problem_util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------------------
// The ceilings, in double, to a momentum error of 1e-6

enum {
    CEILING_ANY = 20,         /* any golden problem */
    CEILING_HARD_MEDIAN = 12, /* the median of those that are hard for Newton's method */
    CEILING_STEP = 25,        /* any step of a sequence */
    CEILING_STIFFNESS = 30    /* any stiffness from 1e3 to 1e12 N/m */
};

/* What takes Newton's method more than 10 */
enum { HARD_PROBLEMS = 11 };
static const int is_hard[ICFP_MODELS][KINDS] = {
  /* SAP          */ {0, 0, 0, 0, 0, 0, 0, 1, 0, 1},
 /* lagged       */
    {0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
 /* similar      */
    {0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
 /* lagged_aniso */
    {0, 0, 0, 0, 0, 0, 1, 1, 0, 1}
};

/* The table of README.md */
static const struct {
    int model, kind, factorizations;
} promised[] = {
    {ICFP_SAP,     3, 3 },
    {ICFP_SAP,     7, 9 },
    {ICFP_LAGGED,  7, 9 },
    {ICFP_SIMILAR, 7, 10},
    {ICFP_SAP,     9, 11},
    {ICFP_LAGGED,  9, 10},
    {ICFP_SIMILAR, 9, 14}
};

/* The excerpts in tests/golden/sequences */
enum { SEQUENCES = 7 };
static const struct {
    const char* name;
    int problems;
} sequences[SEQUENCES] = {
    {"tower_lagged_10ms", 8 },
    {"tower_sap_1ms",     6 },
    {"stack_lagged_10ms", 19},
    {"pile_lagged_10ms",  14},
    {"pile_sap_10ms",     19},
    {"pile_similar_10ms", 19},
    {"pile_lagged_1ms",   19}
};

/* What README.md says of a problem, or any may take */
static int most_factorizations(int model, int kind)
{
    size_t i;
    for (i = 0; i < sizeof promised / sizeof *promised; i++) {
        if (promised[i].model == model && promised[i].kind == kind)
            return promised[i].factorizations;
    }
    return CEILING_ANY;
}

// ------------------------------------------------------------------------------------------------
// Tools

/* What is asked of a solve in these tests; in float that is what it attains. */
static icf_options to_1e6(void)
{
    icf_options o = icf_default_options();
    o.tolerance = R(IN_FLOAT ? 1e-4 : 1e-6);
    return o;
}

/* |a - b| / max(|b|, |v*|) in the norm diag(A) */
static double distance_between(const icfp* in, const icf_real* a, const double* b)
{
    const icf_problem* p = &in->problem;
    const icf_real* mass = p->mass;
    double error = 0, answer = 0, other = 0;
    int32_t c, i, n, at = 0;
    for (c = 0; c < p->cliques; c++, mass += n * n) {
        n = p->clique_sizes[c];
        for (i = 0; i < n; i++, at++) {
            const double d = (double)mass[i * (n + 1)];
            const double x = (double)a[at] - b[at], y = (double)p->v_free[at];
            error += d * x * x;
            answer += d * b[at] * b[at];
            other += d * y * y;
        }
    }
    return sqrt(error / larger(answer, other));
}

/* Checks that a solve ended well, near the answer. */
static void check_answer(const icfp* p, const run* r, const char* what)
{
    const double tolerance = IN_FLOAT ? 1e-4 : 1e-6;
    double error;
    /* contacts as hard as steel leave a float with an error of a tenth */
    TEST_CHECK_(r->result == ICF_RESULT_OK ||
                    (IN_FLOAT && r->stats.stop == ICF_STOP_SHORT && r->stats.momentum_error < 0.2),
                "%s: %s after %d factorisations, momentum error %g", what,
                icf_result_string(r->result), (int)r->stats.factorizations,
                (double)r->stats.momentum_error);
    if (!p->has_answer) return;
    error = distance_between(p, r->v, p->v);
    TEST_CHECK_(error <= 10 * tolerance + (IN_FLOAT ? 100 * EPS : 0), "%s: velocity error %g", what,
                error);
}

// ------------------------------------------------------------------------------------------------
// How many factorisations

static int by_size(const void* a, const void* b)
{
    return *(const int*)a - *(const int*)b;
}

static void test_golden_counts(void)
{
    int hard[HARD_PROBLEMS], count = 0, model, kind;
    const icf_options options = to_1e6();
    for (model = 0; model < ICFP_MODELS; model++) {
        for (kind = 0; kind < KINDS; kind++) {
            const int most = most_factorizations(model, kind);
            char name[64];
            icfp p;
            run r;
            int took;
            snprintf(name, sizeof name, "%s_%s", icfp_model_name(model), kinds[kind]);
            TEST_CASE(name);
            if (!read_golden(model, kind, &p)) continue;
            r = solve_golden(&p, &options);
            check_answer(&p, &r, name);
            took = (int)r.stats.factorizations;
#ifdef TABLES
            printf("%-26s %3d of %d%s\n", name, took, most, is_hard[model][kind] ? ", hard" : "");
#endif
            if (!IN_FLOAT) TEST_CHECK_(took <= most, "%d factorisations, not %d", took, most);
            if (is_hard[model][kind]) hard[count++] = took;
            run_free(&r);
            icfp_free(&p);
        }
    }
    TEST_CASE(NULL);
    TEST_CHECK(count == HARD_PROBLEMS);
    qsort(hard, (size_t)count, sizeof *hard, by_size);
#ifdef TABLES
    printf("hard: median %d, worst %d\n", hard[count / 2], hard[count - 1]);
#endif
    if (!IN_FLOAT)
        TEST_CHECK_(hard[count / 2] <= CEILING_HARD_MEDIAN, "median %d", hard[count / 2]);
}

static void test_steps_of_sequences(void)
{
    const icf_options options = to_1e6();
    int which;
    for (which = 0; which < SEQUENCES; which++) {
        char path[128];
        icfp_file file;
        icfp p;
        int got, count = 0, worst = 0;
        TEST_CASE(sequences[which].name);
        snprintf(path, sizeof path, "tests/golden/sequences/%s.txt", sequences[which].name);
        if (!TEST_CHECK(icfp_open(&file, path))) continue;
        while ((got = icfp_next(&file, &p)) > 0) {
            run r = solve_golden(&p, &options);
            char what[32];
            snprintf(what, sizeof what, "step %d", count);
            TEST_CHECK(p.has_answer && p.has_ids);
            check_answer(&p, &r, what);
            if (worst < (int)r.stats.factorizations) worst = (int)r.stats.factorizations;
            count++;
            run_free(&r);
            icfp_free(&p);
        }
        TEST_CHECK_(got == 0, "%s", file.message);
        icfp_close(&file);
        TEST_CHECK(count == sequences[which].problems);
#ifdef TABLES
        printf("%-20s worst %d\n", sequences[which].name, worst);
#endif
        if (!IN_FLOAT) TEST_CHECK_(worst <= CEILING_STEP, "a step of %d", worst);
    }
    TEST_CASE(NULL);
}

/* The piles again, as soft as rubber and as stiff as nothing is; in float, as what is */
static void test_piles_of_any_stiffness(void)
{
    const icf_options options = to_1e6();
    int model, which, power, c;
    for (model = 0; model < ICFP_MODELS; model++) {
        for (which = 0; which < 2; which++) {
            icf_surface* surface;
            icfp p;
            if (!read_golden(model, which ? 9 : 7, &p)) continue;
            surface = (icf_surface*)allocate((size_t)p.contacts, sizeof *surface);
            memcpy(surface, p.problem.surface, (size_t)p.contacts * sizeof *surface);
            p.problem.surface = surface;
            p.has_answer = 0;
#ifdef TABLES
            printf("%s %s:", icfp_model_name(model), kinds[which ? 9 : 7]);
#endif
            for (power = 3; power <= (IN_FLOAT ? 8 : 12); power++) {
                char what[64];
                run r;
                for (c = 0; c < p.contacts; c++) surface[c].stiffness = R(pow(10, power));
                r = solve_golden(&p, &options);
                snprintf(what, sizeof what, "%s %s, 1e%d N/m", icfp_model_name(model),
                         kinds[which ? 9 : 7], power);
                check_answer(&p, &r, what);
#ifdef TABLES
                printf(" %d%s", (int)r.stats.factorizations,
                       r.stats.stop == ICF_STOP_FLOOR ? "*" : "");
#endif
                if (!IN_FLOAT) {
                    TEST_CHECK_((int)r.stats.factorizations <= CEILING_STIFFNESS,
                                "%s: %d factorisations, momentum error %g", what,
                                (int)r.stats.factorizations, (double)r.stats.momentum_error);
                    TEST_CHECK_((double)r.stats.momentum_error <= 1e-6 ||
                                    r.stats.stop == ICF_STOP_FLOOR,
                                "%s: momentum error %g", what, (double)r.stats.momentum_error);
                }
                run_free(&r);
            }
#ifdef TABLES
            printf("\n");
#endif
            free(surface);
            icfp_free(&p);
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Scenes: free bodies, and joints of one velocity. Links of bodies have six rows: the velocity and
// angular velocity of one relative to another or to the ground, through random rotations.

enum { MOST_BODIES = 12, MOST_JOINTS = 6 };

static icf_real diagonal[MOST_UNKNOWNS]; /* of the masses of first_scene */

typedef enum kind {
    LAGGED,
    ANISOTROPIC_LAGGED,
    SIMILAR,
    ANISOTROPIC_SIMILAR,
    SAP,
    HERTZ,
    HERTZ_SIMILAR,
    KELVIN_VOIGT,
    IPC_BARRIER,
    IPC_SIMILAR,
    LOG_BARRIER,
    LOG_SIMILAR,
    CUSTOM,
    CUSTOM_SIMILAR,
    ADHESION,
    BY_FORCE,
    CONSTANT_FORCE,
    TORSION,
    LIMITS,
    MOTORS,
    DRY_FRICTION,
    HOLONOMIC,
    EVERYTHING,
    SCENES
} kind;

static const char* const scene_names[SCENES] = {"lagged",
                                                "anisotropic lagged",
                                                "similar",
                                                "anisotropic similar",
                                                "SAP",
                                                "Hertz",
                                                "Hertz similar",
                                                "Kelvin-Voigt",
                                                "IPC barrier",
                                                "IPC similar",
                                                "log barrier",
                                                "log similar",
                                                "custom",
                                                "custom similar",
                                                "adhesion",
                                                "by force",
                                                "constant force",
                                                "torsion",
                                                "limits",
                                                "motors",
                                                "dry friction",
                                                "holonomic",
                                                "everything"};

/* Hunt & Crossley again, from its antiderivative */
static void custom_law(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    const double k = *(const double*)user, d = 0.3, h = (double)dt, x = (double)v;
    const double end = -(double)distance / h < 1 / d ? -(double)distance / h : 1 / d;
    const double a = -(double)distance - h * end, b = 1 - d * end, u = end - x;
    out[0] = out[1] = out[2] = 0;
    if (u <= 0) return;
    out[0] = R(h * k * (a * b * u + (a * d + h * b) * u * u / 2 + h * d * u * u * u / 3));
    out[1] = R(h * k * (a + h * u) * (b + d * u));
    out[2] = R(-h * k * (h * (b + d * u) + d * (a + h * u)));
}

static double custom_stiffness = 3e5;

static void random_rotation(double m[9])
{
    double x[4];
    icf_mat3 r;
    int i;
    for (i = 0; i < 4; i++) x[i] = random_between(-1, 1);
    r = icf_mat3_from_quat(icf_quat_normalize(icf_quat_make(R(x[0]), R(x[1]), R(x[2]), R(x[3]))));
    m[0] = (double)r.x.x, m[1] = (double)r.y.x, m[2] = (double)r.z.x;
    m[3] = (double)r.x.y, m[4] = (double)r.y.y, m[5] = (double)r.z.y;
    m[6] = (double)r.x.z, m[7] = (double)r.y.z, m[8] = (double)r.z.z;
}

/* A block of six rows that reads a body: sign times (turn 0; 0 turn) (1 -arm x; 0 1) */
static void add_body_block(scene* s, int32_t body, const double turn[9], double sign)
{
    double arm[3], cross[9] = {0}, block[36];
    int i, j, m;
    for (i = 0; i < 3; i++) arm[i] = random_between(-0.3, 0.3);
    cross[1] = arm[2], cross[2] = -arm[1], cross[3] = -arm[2];
    cross[5] = arm[0], cross[6] = arm[1], cross[7] = -arm[0];
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            double sum = 0;
            for (m = 0; m < 3; m++) sum += turn[3 * i + m] * cross[3 * m + j];
            block[6 * i + j] = block[6 * (i + 3) + j + 3] = sign * turn[3 * i + j];
            block[6 * i + j + 3] = sign * sum;
            block[6 * (i + 3) + j] = 0;
        }
    }
    scene_block(s, body, block);
}

/* A body on another, or on the ground */
static int32_t add_touch(scene* s, int32_t body, int32_t other)
{
    const int32_t link = scene_link(s, 6);
    double turn[9];
    random_rotation(turn);
    add_body_block(s, body, turn, 1);
    if (other >= 0) add_body_block(s, other, turn, -1);
    return link;
}

static void add_contact(scene* s, int32_t link, int of)
{
    icf_contact c = icf_default_contact();
    icf_surface surface = icf_default_surface();
    while (of == EVERYTHING) of = random_below(LIMITS);
    /* barriers alone are no work: among them stand others */
    if (of >= IPC_BARRIER && of <= LOG_SIMILAR && random_below(2))
        of = of == IPC_BARRIER || of == LOG_BARRIER ? LAGGED : SIMILAR;
    c.point.x = R(random_between(-0.1, 0.1));
    c.point.y = R(random_between(-0.1, 0.1));
    surface.velocity = icf_vec3_make(R(random_below(3) ? 0 : random_between(-0.1, 0.1)), 0, 0);
    c.distance = R(random_between(-2e-3, 2e-4));
    surface.stiffness = R(exp(random_between(log(1e4), log(1e6))));
    surface.dissipation = R(random_between(0, 10));
    surface.friction = R(random_between(0.1, 1));
    surface.slip_tolerance = R(exp(random_between(log(1e-4), log(1e-2))));
    switch (of) {
    case ANISOTROPIC_LAGGED: surface.friction2 = R(random_between(0, 0.5)); break;
    case SIMILAR: surface.model = ICF_MODEL_SIMILAR; break;
    case ANISOTROPIC_SIMILAR:
        surface.model = ICF_MODEL_SIMILAR;
        surface.friction2 = R(random_below(3) ? random_between(0, 0.5) : 0);
        break;
    case SAP: surface.model = ICF_MODEL_SAP; break;
    case HERTZ_SIMILAR: surface.model = ICF_MODEL_SIMILAR; /* fall through */
    case HERTZ:
        surface.law = ICF_LAW_HERTZ;
        surface.stiffness *= 30;
        break;
    case KELVIN_VOIGT:
        surface.law = ICF_LAW_KELVIN_VOIGT;
        surface.model = random_below(2) ? ICF_MODEL_SIMILAR : ICF_MODEL_LAGGED;
        break;
    case IPC_SIMILAR:
    case LOG_SIMILAR: surface.model = ICF_MODEL_SIMILAR; /* fall through */
    case IPC_BARRIER:
    case LOG_BARRIER: {
        const int ipc = of == IPC_BARRIER || of == IPC_SIMILAR;
        surface.law = ipc ? ICF_LAW_IPC_BARRIER : ICF_LAW_LOG_BARRIER;
        surface.stiffness = R(ipc ? 1e5 : 1e-2);
        c.distance = R(random_between(3e-4, 4e-3));
        surface.range = R(2e-3);
        /* the least phi + dt v that there is must be above 0 without any motion */
        surface.velocity = icf_vec3_make(0, 0, 0);
        break;
    }
    case CUSTOM_SIMILAR: surface.model = ICF_MODEL_SIMILAR; /* fall through */
    case CUSTOM:
        surface.law = ICF_LAW_CUSTOM;
        surface.custom = custom_law;
        surface.user = &custom_stiffness;
        break;
    case ADHESION:
        surface.adhesion = R(random_between(0.1, 20));
        surface.adhesion_range = R(1e-3);
        surface.model = random_below(2) ? ICF_MODEL_SIMILAR : ICF_MODEL_LAGGED;
        break;
    case CONSTANT_FORCE: surface.stiffness = 0; /* fall through */
    case BY_FORCE:
        surface.by_force = 1;
        c.force = R(random_between(1, 500));
        surface.dissipation = R(of == BY_FORCE ? 0.2 : 0);
        surface.model = random_below(2) ? ICF_MODEL_SIMILAR : ICF_MODEL_LAGGED;
        break;
    case TORSION:
        surface.torsion = R(random_between(0.001, 0.05));
        surface.rolling = R(random_below(2) ? random_between(0.001, 0.05) : 0);
        break;
    default: break;
    }
    c.link = link;
    c.surface = s->p.contacts;
    *scene_contact(s, link) = c;
    s->surface[c.surface] = surface;
}

static void add_row(scene* s, int32_t link, int32_t row, int of)
{
    static const icf_row_kind row_kinds[4] = {ICF_ROW_LIMIT, ICF_ROW_MOTOR, ICF_ROW_DRY_FRICTION,
                                              ICF_ROW_HOLONOMIC};
    icf_row* r;
    while (of == EVERYTHING) of = LIMITS + random_below(4);
    r = scene_row(s, row_kinds[of - LIMITS], link, row);
    r->distance = R(random_between(-2e-3, 1e-3));
    r->sign = R(random_below(2) ? 1 : -1);
    r->relaxation = R(random_between(0, 0.02));
    if (of == LIMITS || of == HOLONOMIC) r->stiffness = R(random_below(2) ? 1e5 : 0);
    if (of == MOTORS) {
        r->stiffness = R(random_below(2) ? 1e4 : 0);
        r->damping = R(exp(random_between(log(10), log(1e5))));
        r->error = R(random_between(-0.1, 0.1));
        r->target = R(random_between(-2, 2));
        r->feedforward = R(random_between(-10, 10));
        r->effort = R(random_between(1, 100));
    }
    if (of == DRY_FRICTION) r->effort = R(random_between(1, 100));
}

/* A tower of bodies with some more links between them, one island */
static void random_scene(scene* s, int of)
{
    const double speed = exp(random_between(log(0.1), log(3)));
    const int with_rows = of >= LIMITS;
    int32_t i, k, links, bodies, joints;
    scene_begin(s, random_below(2) ? 0.01 : 0.002);
    bodies = 4 + random_below(MOST_BODIES - 3);
    joints = with_rows ? 1 + random_below(MOST_JOINTS) : 0;
    for (i = 0; i < bodies + joints; i++) {
        const int32_t n = i < bodies ? 6 : 1;
        const double m = exp(random_between(log(0.3), log(10)));
        double masses[6];
        for (k = 0; k < n; k++) {
            masses[k] = k < 3 ? m : 0.05 * m * random_between(0.5, 1);
            diagonal[s->unknowns + k] = R(masses[k]);
        }
        scene_diagonal(s, n, masses);
    }
    links = bodies + random_below(bodies);
    for (i = 0; i < links; i++) {
        const int32_t body = i < bodies ? i : random_below(bodies);
        int32_t other = i < bodies ? i - 1 : random_below(bodies + 1) - 1, link, count;
        if (other == body) other = -1;
        link = add_touch(s, body, other);
        if (of >= LIMITS && of < EVERYTHING && i % 2) {
            count = 1 + random_below(3);
            for (k = 0; k < count && s->p.rows < MOST_ROWS; k++) add_row(s, link, k, of);
        } else {
            count = 1 + random_below(4);
            for (k = 0; k < count && s->p.contacts < MOST_CONTACTS; k++)
                add_contact(s, link, of < LIMITS || of == EVERYTHING ? of : SAP - random_below(5));
        }
    }
    for (i = 0; i < joints; i++) {
        /* a screw: the joint and the turning of a body */
        const int32_t link = scene_link(s, 1);
        for (k = 0; k < 2; k++) {
            const int32_t body = random_below(bodies);
            double block[6] = {0}, ratio = k ? random_between(-1, 1) : 1;
            block[k ? random_below(6) : 0] = ratio;
            scene_block(s, k ? body : bodies + i, block);
        }
        add_row(s, link, 0, of);
        if (of == EVERYTHING) add_row(s, link, 0, of);
    }
    for (i = 0; i < s->unknowns; i++) {
        s->v_last[i] = R(speed * random_between(-1, 1));
        s->v_free[i] = s->v_last[i] + R(speed * random_between(-0.3, 0.3));
    }
}

// ------------------------------------------------------------------------------------------------
// The condition of the minimum, from the potentials one by one: those of a link of six rows at the
// velocity of its point, and of one row

typedef struct balance {
    double distance; /* |gradient| in the norm of A^-1: v is no further than that from the answer */
    double speed;    /* |v| + |v*| in the norm of A */
    double stiffness; /* of potentials beside the inertia that they act on, summed */
} balance;

static void read_links(const scene* s, const icf_real* v, double* u)
{
    int32_t link, b, i, k;
    for (link = 0; link < s->p.links; link++) {
        const int32_t rows = s->link_rows[link];
        double* to = u + s->bias_at[link];
        for (i = 0; i < rows; i++) to[i] = (double)s->bias[s->bias_at[link] + i];
        for (b = s->link_start[link]; b < s->link_start[link + 1]; b++) {
            const int32_t n = s->sizes[s->block_clique[b]];
            const icf_real* x = v + s->start[s->block_clique[b]];
            for (i = 0; i < rows; i++) {
                for (k = 0; k < n; k++)
                    to[i] += (double)s->blocks[s->block_at[b] + i * n + k] * (double)x[k];
            }
        }
    }
}

static void contact_velocity(const icf_contact* c, const double* u, double v[3])
{
    const double x = (double)c->point.x, y = (double)c->point.y, z = (double)c->point.z;
    v[0] = u[0] + u[4] * z - u[5] * y + (double)surface_of(c)->velocity.x;
    v[1] = u[1] + u[5] * x - u[3] * z + (double)surface_of(c)->velocity.y;
    v[2] = u[2] + u[3] * y - u[4] * x + (double)surface_of(c)->velocity.z;
}

static balance balance_at(const scene* s, const icf_workspace* w, const icf_real* v)
{
    static double u[6 * MOST_LINKS], u0[6 * MOST_LINKS], push[6 * MOST_LINKS];
    double gradient[MOST_UNKNOWNS], a, b;
    balance out = {0, 0, 0};
    int32_t i, k, link;
    read_links(s, v, u);
    read_links(s, s->v_last, u0);
    memset(push, 0, sizeof push);
    for (i = 0; i < s->p.contacts; i++) {
        const icf_contact* c = &s->contact[i];
        const int32_t at = s->bias_at[c->link];
        const double x = (double)c->point.x, y = (double)c->point.y, z = (double)c->point.z;
        double v1[3], v0[3], f[3];
        icf_real now[3], before[3], impulse[3], hessian[9];
        icf_contact_term term;
        icf_contact_result r;
        memset(&r, 0, sizeof r);
        TEST_CHECK(icf_get_contact(w, i, &r) == ICF_RESULT_OK);
        contact_velocity(c, u + at, v1);
        contact_velocity(c, u0 + at, v0);
        for (k = 0; k < 3; k++) {
            now[k] = R(v1[k]);
            before[k] = R(v0[k]);
        }
        TEST_CHECK(icf_contact_term_make(surface_of(c), c, s->p.dt, r.w, before, &term) ==
                   ICF_RESULT_OK);
        TEST_CHECK(icf_contact_evaluate(&term, now, NULL, impulse, hessian));
        for (k = 0; k < 3; k++) f[k] = (double)impulse[k];
        /* force, and its moment about the reference point, and torques as they were found */
        push[at] += f[0];
        push[at + 1] += f[1];
        push[at + 2] += f[2];
        push[at + 3] += y * f[2] - z * f[1] + (double)r.spin_impulse.x;
        push[at + 4] += z * f[0] - x * f[2] + (double)r.spin_impulse.y;
        push[at + 5] += x * f[1] - y * f[0] + (double)r.spin_impulse.z;
        out.stiffness += (double)(hessian[0] + hessian[4] + hessian[8]) * (double)r.w;
        if (surface_of(c)->torsion > 0 || surface_of(c)->rolling > 0) {
            const double most = (double)term.impulse0;
            const double spin[3] = {u[at + 3], u[at + 4], u[at + 5]};
            out.stiffness += (double)(surface_of(c)->torsion + surface_of(c)->rolling) * most /
                             (double)surface_of(c)->spin_tolerance * 20;
            /* the impulse before the step, k depth (1 - d v), has the rounding of v */
            const double noise = 1000 * EPS * (double)(s->p.dt * surface_of(c)->stiffness) *
                                 fabs((double)c->distance) *
                                 (1 + (double)surface_of(c)->dissipation * (1 + fabs(v0[2])));
            TEST_CHECK(fabs((double)r.spin_impulse.z) <=
                       (double)surface_of(c)->torsion * (most + noise));
            TEST_CHECK(hypot((double)r.spin_impulse.x, (double)r.spin_impulse.y) <=
                       (double)surface_of(c)->rolling * (most + noise));
            TEST_CHECK((double)r.spin_impulse.z * spin[2] <= 0);
            TEST_CHECK((double)r.spin_impulse.x * spin[0] + (double)r.spin_impulse.y * spin[1] <=
                       0);
        }
    }
    for (i = 0; i < s->p.rows; i++) {
        const icf_row* r = &s->row[i];
        const int32_t at = s->bias_at[r->link] + r->row;
        double inverse = 0;
        icf_row_term term;
        icf_real impulse = 0, hessian = 0;
        int32_t block;
        for (block = s->link_start[r->link]; block < s->link_start[r->link + 1]; block++) {
            const int32_t n = s->sizes[s->block_clique[block]];
            for (k = 0; k < n; k++) {
                const double j = (double)s->blocks[s->block_at[block] + r->row * n + k];
                inverse += j * j / (double)diagonal[s->start[s->block_clique[block]] + k];
            }
        }
        TEST_CHECK(icf_row_term_make(r, s->p.dt, R(inverse), &term) == ICF_RESULT_OK);
        icf_row_evaluate(&term, R(u[at]), NULL, &impulse, &hessian);
        push[at] += (double)impulse;
        out.stiffness += (double)hessian * inverse;
    }
    a = b = 0;
    for (i = 0; i < s->unknowns; i++) {
        const double m = (double)diagonal[i];
        gradient[i] = m * ((double)v[i] - (double)s->v_free[i]);
        a += m * (double)v[i] * (double)v[i];
        b += m * (double)s->v_free[i] * (double)s->v_free[i];
    }
    out.speed = sqrt(a) + sqrt(b);
    for (link = 0; link < s->p.links; link++) {
        int32_t block, rows = s->link_rows[link], j;
        for (block = s->link_start[link]; block < s->link_start[link + 1]; block++) {
            const int32_t n = s->sizes[s->block_clique[block]];
            double* g = gradient + s->start[s->block_clique[block]];
            for (j = 0; j < rows; j++) {
                for (k = 0; k < n; k++)
                    g[k] -= (double)s->blocks[s->block_at[block] + j * n + k] *
                            push[s->bias_at[link] + j];
            }
        }
    }
    for (i = 0; i < s->unknowns; i++)
        out.distance += gradient[i] * gradient[i] / (double)diagonal[i];
    out.distance = sqrt(out.distance);
    return out;
}

/* Newton's method alone: a budget of 11 iterations is too short for the interior point method, and
   the next one goes on from there. history: of the first of them. */
static int newton_alone(const scene* s, icf_real* v, icf_iteration history[12], int32_t* recorded)
{
    icf_options options = exact();
    int tries;
    options.iterations = 11;
    options.history = history;
    options.history_capacity = 12;
    for (tries = 0; tries < 100; tries++) {
        run r = solve_problem(&s->p, s->unknowns, &options, v);
        const icf_result result = r.result;
        memcpy(v, r.v, (size_t)s->unknowns * sizeof *v);
        if (tries == 0) *recorded = r.stats.history;
        options.history_capacity = 0;
        run_free(&r);
        if (result != ICF_RESULT_NOT_CONVERGED) return result == ICF_RESULT_OK;
    }
    return 0;
}

static double speed_of(const scene* s, const icf_real* a, const icf_real* b)
{
    double sum = 0;
    int32_t i;
    for (i = 0; i < s->unknowns; i++) {
        const double x = (double)a[i] - (double)b[i];
        sum += x * x * (double)diagonal[i];
    }
    return sqrt(sum);
}

/* Every potential, from the velocities before the step and from anywhere: the answer is the least,
   the same from everywhere, and that of Newton's method alone. Where the two have not the same
   history the interior point method was at work. */
static void test_every_potential_has_one_least(void)
{
    static const double speeds[4] = {0, 0.1, 3, 100};
    scene* s = &first_scene;
    int of, trial, start;
    icf_options options = exact();
    for (of = 0; of < SCENES; of++) {
        double most_off = 0, most_gradient = 0;
        int inside = 0, compared = 0, most = 0;
        TEST_CASE(scene_names[of]);
        for (trial = 0; trial < 12; trial++) {
            icf_real first[MOST_UNKNOWNS];
            int32_t i;
            random_seed(SEED + (uint32_t)(100 * of + trial));
            random_scene(s, of);
            memset(first, 0, sizeof first);
            for (start = -1; start < 4; start++) {
                icf_iteration history[12], alone[12];
                icf_real from[MOST_UNKNOWNS];
                int32_t recorded = 0;
                double off;
                balance b;
                run r;
                for (i = 0; i < s->unknowns; i++) {
                    from[i] = start < 0 ? s->v_last[i] : R(speeds[start] * random_between(-1, 1));
                }
                options.history = history;
                options.history_capacity = 12;
                r = solve_problem(&s->p, s->unknowns, &options, from);
                if (!TEST_CHECK_(r.result == ICF_RESULT_OK,
                                 "trial %d, start %d: %s, part %d %d; seed %u", trial, start,
                                 icf_result_string(r.result), (int)r.stats.part, (int)r.stats.which,
                                 (unsigned)SEED)) {
                    run_free(&r);
                    continue;
                }
                TEST_CHECK(r.stats.islands == 1);
                b = balance_at(s, &r.workspace, r.v);
                TEST_CHECK_(b.distance <= 8 * EPS * b.speed * (4 + b.stiffness),
                            "trial %d, start %d: up to %g off, of %g, stiffness %g; seed %u", trial,
                            start, b.distance, b.speed, b.stiffness, (unsigned)SEED);
                most_gradient = larger(most_gradient, b.distance / b.speed / (4 + b.stiffness));
                if (start < 0) memcpy(first, r.v, (size_t)s->unknowns * sizeof *first);
                off = speed_of(s, r.v, first) / b.speed;
                most_off = larger(most_off, off);
                TEST_CHECK_(off <= 200 * EPS, "trial %d, start %d: %g from another start; seed %u",
                            trial, start, off, (unsigned)SEED);
                if (most < (int)r.stats.factorizations) most = (int)r.stats.factorizations;
                if (newton_alone(s, from, alone, &recorded)) {
                    compared++;
                    off = speed_of(s, from, r.v) / b.speed;
                    most_off = larger(most_off, off);
                    TEST_CHECK_(off <= 200 * EPS,
                                "trial %d, start %d: %g from Newton's method; seed %u", trial,
                                start, off, (unsigned)SEED);
                }
                if (recorded > r.stats.history) recorded = r.stats.history;
                inside += memcmp(history, alone, (size_t)recorded * sizeof *history) != 0;
                run_free(&r);
            }
        }
#ifdef TABLES
        printf("%-20s inside %d of 60, compared %d, at most %d, off %.3g EPS, gradient %.3g EPS\n",
               scene_names[of], inside, compared, most, most_off / EPS, most_gradient / EPS);
#endif
        TEST_CHECK_(inside >= 15, "%d solves by the interior point method", inside);
        TEST_CHECK_(compared >= 50, "%d compared", compared);
    }
    TEST_CASE(NULL);
}

// ------------------------------------------------------------------------------------------------
// The same bits, in any workspace and in other units

static void test_deterministic(void)
{
    int model, fill;
    const icf_options options = exact();
    for (model = 0; model < ICFP_MODELS; model++) {
        icfp p;
        run r;
        size_t n;
        if (!read_golden(model, 7, &p)) continue;
        n = (size_t)p.unknowns * sizeof(icf_real);
        r = solve_golden(&p, &options);
        TEST_CHECK(r.result == ICF_RESULT_OK);
        for (fill = 0; fill < 4; fill++) {
            static const int bytes[4] = {0, 0x7F, 0xFF, 0x3C};
            icf_real* v = (icf_real*)allocate((size_t)p.unknowns, sizeof *v);
            void* memory = allocate(r.workspace.bytes, 1);
            icf_workspace w = {0};
            icf_stats stats;
            memset(memory, bytes[fill], r.workspace.bytes);
            memcpy(v, p.v_start, n);
            TEST_CHECK(icf_workspace_init(&w, memory, r.workspace.bytes) == ICF_RESULT_OK);
            TEST_CHECK(icf_solve(&p.problem, &options, &w, v, &stats) == ICF_RESULT_OK);
            TEST_CHECK(!memcmp(v, r.v, n));
            TEST_CHECK(stats.iterations == r.stats.iterations &&
                       stats.factorizations == r.stats.factorizations &&
                       stats.trials == r.stats.trials && stats.cost == r.stats.cost);
            free(memory);
            free(v);
        }
        run_free(&r);
        icfp_free(&p);
    }
}

/* masses m times, velocities and lengths u times as large */
static void test_units_change_no_bit(void)
{
    static const double powers[6][2] = {
        {65536,       1       },
        {1.0 / 65536, 1       },
        {1,           256     },
        {1.0 / 64,    1.0 / 16},
        {2,           1       },
        {1.0 / 8,     2       }
    };
    const icf_options options = to_1e6();
    int model, which, unit;
    for (model = 0; model < ICFP_MODELS; model++) {
        for (which = 0; which < 3; which++) {
            static const int these[3] = {4, 6, 7};
            icfp p;
            run r;
            if (!read_golden(model, these[which], &p)) continue;
            r = solve_golden(&p, &options);
            for (unit = 0; unit < 6; unit++) {
                const icf_real m = R(powers[unit][0]), u = R(powers[unit][1]);
                icf_problem q = p.problem;
                size_t squares = 0, i, n = (size_t)p.unknowns;
                icf_real *mass, *v_free, *v_last, *bias;
                icf_contact* contact;
                icf_surface* surface;
                run other;
                int32_t c;
                for (c = 0; c < q.cliques; c++)
                    squares += (size_t)(q.clique_sizes[c] * q.clique_sizes[c]);
                mass = (icf_real*)allocate(squares, sizeof *mass);
                v_free = (icf_real*)allocate(n, sizeof *v_free);
                v_last = (icf_real*)allocate(n, sizeof *v_last);
                bias = (icf_real*)allocate(3 * (size_t)p.contacts, sizeof *bias);
                contact = (icf_contact*)allocate((size_t)p.contacts, sizeof *contact);
                surface = (icf_surface*)allocate((size_t)p.contacts, sizeof *surface);
                for (i = 0; i < squares; i++) mass[i] = m * q.mass[i];
                for (i = 0; i < n; i++) {
                    v_free[i] = u * q.v_free[i];
                    v_last[i] = u * q.v_last[i];
                }
                for (c = 0; c < p.contacts; c++) {
                    icf_contact* x = &contact[c];
                    icf_surface* f = &surface[c];
                    *x = q.contact[c];
                    *f = q.surface[x->surface];
                    x->surface = c;
                    x->distance *= u;
                    f->stiffness *= m;
                    f->dissipation /= u;
                    f->slip_tolerance *= u;
                    x->effective_mass_inverse /= m;
                    for (i = 0; i < 3; i++)
                        bias[3 * c + (int32_t)i] = u * q.link_bias[3 * c + (int32_t)i];
                }
                q.mass = mass;
                q.v_free = v_free;
                q.v_last = v_last;
                q.link_bias = bias;
                q.contact = contact;
                q.surface = surface;
                other = solve_problem(&q, p.unknowns, &options, v_last);
                TEST_CHECK(other.result == ICF_RESULT_OK);
                if (unit < 4 || !IN_FLOAT) {
                    TEST_CHECK_(other.stats.iterations == r.stats.iterations &&
                                    other.stats.factorizations == r.stats.factorizations,
                                "%s %s: %d iterations, %d with masses %g and velocities %g times "
                                "as large",
                                icfp_model_name(model), kinds[these[which]],
                                (int)r.stats.iterations, (int)other.stats.iterations, (double)m,
                                (double)u);
                }
                for (i = 0; i < n && unit < 4; i++) {
                    if (!TEST_CHECK_(other.v[i] / u == r.v[i], "%s %s: other bits",
                                     icfp_model_name(model), kinds[these[which]]))
                        break;
                }
                run_free(&other);
                free(mass);
                free(v_free);
                free(v_last);
                free(bias);
                free(contact);
                free(surface);
            }
            run_free(&r);
            icfp_free(&p);
        }
    }
}

// ------------------------------------------------------------------------------------------------
// The best so far

/* The cost at v */
static double cost_at(const icf_problem* p, int32_t unknowns, const icf_real* v)
{
    icf_options o = exact();
    double cost;
    run r;
    o.iterations = 0;
    r = solve_problem(p, unknowns, &o, v);
    TEST_CHECK(r.stats.iterations == 0 && !memcmp(r.v, v, (size_t)unknowns * sizeof *v));
    cost = (double)r.stats.cost;
    run_free(&r);
    return cost;
}

/* Ended anywhere, by the caller or by a budget, a solve answers with the best velocity so far. */
static void check_ends(const icf_problem* p, int32_t unknowns, const icf_real* start,
                       const char* what, int* ended)
{
    static icf_iteration history[1001], again[1001];
    icf_options options = exact();
    run full;
    int32_t i, k, most;
    double slack;
    options.history = history;
    options.history_capacity = 1001;
    full = solve_problem(p, unknowns, &options, start);
    TEST_CHECK_(full.result == ICF_RESULT_OK, "%s: %s", what, icf_result_string(full.result));
    slack = 100 * EPS * (fabs((double)history[0].cost) + fabs((double)full.stats.cost));
    TEST_CHECK_(full.stats.history == full.stats.iterations + 1, "%s: %d entries of %d iterations",
                what, (int)full.stats.history, (int)full.stats.iterations);
    for (i = 1; i < full.stats.history; i++) {
        const double before = (double)history[i - 1].cost, after = (double)history[i].cost;
        TEST_CHECK_(after <= before + 100 * EPS * fabs(before),
                    "%s: from %.17g to %.17g at iteration %d", what, before, after, (int)i);
    }
    TEST_CHECK(fabs((double)history[full.stats.history - 1].cost - (double)full.stats.cost) <=
               100 * EPS * fabs((double)full.stats.cost));

    most = full.stats.iterations < 40 ? full.stats.iterations : 40;
    for (k = 0; k < 3; k++) {
        for (i = 0; i < most; i++) {
            icf_options o = exact();
            patience watch;
            double cost;
            run r;
            memset(&watch, 0, sizeof watch);
            watch.most = i;
            o.history = again;
            o.history_capacity = 1001;
            if (k == 0) o.iterations = i;
            if (k == 1) o.factorizations = i;
            if (k == 2) {
                o.should_stop = out_of_patience;
                o.user = &watch;
            }
            r = solve_problem(p, unknowns, &o, start);
            cost = (double)r.stats.cost;
            if (r.result == ICF_RESULT_NOT_CONVERGED) {
                TEST_CHECK(r.stats.stop == (k == 0   ? ICF_STOP_ITERATIONS
                                            : k == 1 ? ICF_STOP_FACTORIZATIONS
                                                     : ICF_STOP_CALLER));
                if (k == 0) TEST_CHECK(r.stats.iterations == i);
                if (k == 1)
                    TEST_CHECK_(r.stats.factorizations == i, "%s: %d factorisations, not %d", what,
                                (int)r.stats.factorizations, (int)i);
                (*ended)++;
            } else {
                TEST_CHECK(r.result == ICF_RESULT_OK);
            }
            TEST_CHECK_(cost <= (double)history[0].cost + slack, "%s: cost %g above the start's",
                        what, cost);
            TEST_CHECK_(cost >= (double)full.stats.cost - slack, "%s: cost %g below the least",
                        what, cost);
            /* the last of the history is what is returned */
            if (TEST_CHECK(r.stats.history == r.stats.iterations + 1)) {
                const double last = (double)again[r.stats.history - 1].cost;
                TEST_CHECK_(fabs(last - cost) <= slack, "%s: %.17g in the history, but %.17g", what,
                            last, cost);
            }
            /* an ended solve went the same way as the whole one */
            if (k == 2 && i < full.stats.history)
                TEST_CHECK_(fabs(cost - (double)history[r.stats.iterations].cost) <= slack,
                            "%s: %.17g, not %.17g, after %d", what, cost,
                            (double)history[r.stats.iterations].cost, (int)i);
            TEST_CHECK_(fabs(cost_at(p, unknowns, r.v) - cost) <= slack,
                        "%s: the velocity costs %.17g, not %.17g", what, cost_at(p, unknowns, r.v),
                        cost);
            run_free(&r);
        }
    }
    run_free(&full);
}

static void test_ended_anywhere_it_is_the_best(void)
{
    int model, which, of, ended = 0;
    for (model = 0; model < ICFP_MODELS; model++) {
        for (which = 6; which < 8; which++) {
            char what[64];
            icfp p;
            if (!read_golden(model, which, &p)) continue;
            snprintf(what, sizeof what, "%s %s", icfp_model_name(model), kinds[which]);
            check_ends(&p.problem, p.unknowns, p.v_start, what, &ended);
            icfp_free(&p);
        }
    }
    for (of = 0; of < SCENES; of++) {
        random_seed(SEED + 7u * (uint32_t)of);
        random_scene(&first_scene, of);
        check_ends(&first_scene.p, first_scene.unknowns, first_scene.v_last, scene_names[of],
                   &ended);
    }
    TEST_CHECK_(ended >= 300, "%d solves ended early", ended);
}

TEST_LIST = {
    {"golden_counts",                 test_golden_counts                },
    {"steps_of_sequences",            test_steps_of_sequences           },
    {"piles_of_any_stiffness",        test_piles_of_any_stiffness       },
    {"every_potential_has_one_least", test_every_potential_has_one_least},
    {"deterministic",                 test_deterministic                },
    {"units_change_no_bit",           test_units_change_no_bit          },
    {"ended_anywhere_it_is_the_best", test_ended_anywhere_it_is_the_best},
    {NULL,                            NULL                              }
};
