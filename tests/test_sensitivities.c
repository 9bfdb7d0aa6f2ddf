/* Derivatives of the answer, against converged differences of icf_solve itself and against the
   Hessian put together from the potentials one by one. With -DTABLES the errors are printed. */

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

/* How near derivatives and differences should be, relative; and how near differences of two steps
   must be to count as converged. In float the rounding of an answer, over steps as small as slips
   where friction bends, leaves little. */
static const double agreement = IN_FLOAT ? 5e-2 : 1e-6;
static const double converged = IN_FLOAT ? 1e-2 : 1e-7;

// ------------------------------------------------------------------------------------------------
// A problem whose parts can be changed, with its answer

typedef struct solved {
    icf_problem p; /* v_free, surface, contact and row point to those below */
    icf_real* v_free;
    icf_surface* surface; /* of each contact, its own */
    icf_contact* contact;
    icf_row* row;
    int32_t unknowns;
    icf_workspace workspace;
    icf_real* v;
    double* weight; /* diag(A), of the norm that errors are measured in */
} solved;

static void solved_free(solved* s)
{
    icf_workspace_destroy(&s->workspace);
    free(s->v_free);
    free(s->surface);
    free(s->contact);
    free(s->row);
    free(s->v);
    free(s->weight);
}

static icf_result solve_again(solved* s, const icf_real* start)
{
    const icf_options options = exact();
    memcpy(s->v, start, (size_t)s->unknowns * sizeof *s->v);
    return icf_solve(&s->p, &options, &s->workspace, s->v, NULL);
}

static int solved_make(solved* s, const icf_problem* p, const icf_real* start)
{
    const icf_real* mass = p->mass;
    int32_t c, i, n, at = 0;
    memset(s, 0, sizeof *s);
    s->p = *p;
    for (c = 0; c < p->cliques; c++) s->unknowns += p->clique_sizes[c];
    s->v_free = (icf_real*)allocate((size_t)s->unknowns, sizeof(icf_real));
    s->v = (icf_real*)allocate((size_t)s->unknowns, sizeof(icf_real));
    s->weight = (double*)allocate((size_t)s->unknowns, sizeof(double));
    s->contact = (icf_contact*)allocate((size_t)p->contacts, sizeof(icf_contact));
    s->surface = (icf_surface*)allocate((size_t)p->contacts, sizeof(icf_surface));
    s->row = (icf_row*)allocate((size_t)p->rows, sizeof(icf_row));
    memcpy(s->v_free, p->v_free, (size_t)s->unknowns * sizeof(icf_real));
    for (i = 0; i < p->contacts; i++) {
        s->surface[i] = p->surface[p->contact[i].surface];
        s->contact[i] = p->contact[i];
        s->contact[i].surface = i;
    }
    if (p->rows) memcpy(s->row, p->row, (size_t)p->rows * sizeof(icf_row));
    for (c = 0; c < p->cliques; c++, mass += n * n) {
        n = p->clique_sizes[c];
        for (i = 0; i < n; i++) s->weight[at++] = (double)mass[i * (n + 1)];
    }
    s->p.v_free = s->v_free;
    s->p.surfaces = p->contacts;
    s->p.surface = s->surface;
    s->p.contact = s->contact;
    s->p.row = s->row;
    return TEST_CHECK(icf_workspace_reserve(&s->workspace, &s->p) == ICF_RESULT_OK) &&
           TEST_CHECK(solve_again(s, start) == ICF_RESULT_OK);
}

/* |x| in the norm of diag(A); without weights the usual one */
static double norm(const double* weight, int32_t n, const double* x)
{
    double sum = 0;
    int32_t i;
    for (i = 0; i < n; i++) sum += x[i] * x[i] * (weight ? weight[i] : 1);
    return sqrt(sum);
}

static double distance(const double* weight, int32_t n, const double* a, const double* b)
{
    double sum = 0;
    int32_t i;
    for (i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]) * (weight ? weight[i] : 1);
    return sqrt(sum);
}

/* out += A x, couplings as well */
static void times_mass(const icf_problem* p, const double* x, double* out)
{
    const icf_real *a = p->mass, *block = p->coupling_blocks;
    int32_t c, e, i, j, at = 0;
    for (c = 0; c < p->cliques; at += p->clique_sizes[c++]) {
        for (i = 0; i < p->clique_sizes[c]; i++) {
            for (j = 0; j < p->clique_sizes[c]; j++) out[at + i] += (double)*a++ * x[at + j];
        }
    }
    for (e = 0; e < p->couplings; e++) {
        const int32_t first = p->coupling_pairs[2 * e], second = p->coupling_pairs[2 * e + 1];
        int32_t f = 0, g = 0;
        for (i = 0; i < first; i++) f += p->clique_sizes[i];
        for (i = 0; i < second; i++) g += p->clique_sizes[i];
        for (i = 0; i < p->clique_sizes[first]; i++) {
            for (j = 0; j < p->clique_sizes[second]; j++, block++) {
                out[f + i] += (double)*block * x[g + j];
                out[g + j] += (double)*block * x[f + i];
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Converged differences

/* A function of one number, with n values; 0 where it failed */
typedef int function(void* of, double t, double* values);

/* Its derivative at 0: of fourth order, with steps from 1e-2 to 1e-7, of which the two that
   agree best are taken. Answers how well, relative; or 1 */
static double differentiate(function* f, void* of, int32_t n, const double* weight, double* out)
{
    static const double points[4] = {1, -1, 2, -2};
    double *value[4], *now, *last, best = 1, step = 1e-2;
    int i, k, level;
    int32_t j;
    for (i = 0; i < 4; i++) value[i] = (double*)allocate((size_t)n, sizeof(double));
    now = (double*)allocate((size_t)n, sizeof *now);
    last = (double*)allocate((size_t)n, sizeof *last);
    memset(out, 0, (size_t)n * sizeof *out);
    for (level = 0; level < 11; level++, step /= sqrt(10)) {
        for (k = 0; k < 4; k++) {
            /* a step that the precision of t has exactly */
            if (!f(of, (double)R(points[k] * step), value[k])) break;
        }
        if (k < 4) continue;
        for (j = 0; j < n; j++) {
            now[j] = (8 * (value[0][j] - value[1][j]) - (value[2][j] - value[3][j])) /
                     (12 * (double)R(step));
        }
        if (level > 0) {
            const double size = norm(weight, n, now), off = distance(weight, n, now, last);
            if (off <= best * size) {
                best = size > 0 ? off / size : 1;
                memcpy(out, now, (size_t)n * sizeof *out);
            }
        }
        memcpy(last, now, (size_t)n * sizeof *last);
        if (best < converged / 100) break;
    }
    for (i = 0; i < 4; i++) free(value[i]);
    free(now);
    free(last);
    return best;
}

typedef enum parameter {
    V_FREE, /* along a direction */
    FRICTION,
    STIFFNESS,
    DISSIPATION,
    DISTANCE,
    SURFACE_VELOCITY,
    ROW_TARGET,
    ROW_DISTANCE,
    PARAMETERS
} parameter;

static const char* const parameter_names[PARAMETERS] = {
    "v_free",   "friction",         "stiffness",  "dissipation",
    "distance", "surface velocity", "row target", "row distance"};

typedef struct change {
    solved* base;
    solved other;
    parameter what;
    int32_t which;
    const double* direction;
    double start[3]; /* of a contact: its velocity before the step, and after it */
    double now[3];
} change;

static void change_contact(icf_surface* f, icf_contact* c, parameter what, double dt, double t)
{
    if (what == FRICTION) f->friction = R((double)f->friction * (1 + t));
    if (what == STIFFNESS) f->stiffness = R((double)f->stiffness * (1 + t));
    if (what == DISSIPATION) f->dissipation = R((double)f->dissipation * (1 + t));
    if (what == DISTANCE) c->distance = R((double)c->distance + dt * t);
    if (what == SURFACE_VELOCITY) f->velocity.x += R(t);
}

static int solve_changed(void* of, double t, double* values)
{
    change* c = (change*)of;
    solved* s = &c->other;
    const double dt = (double)s->p.dt;
    int32_t i;
    for (i = 0; i < s->unknowns; i++) {
        s->v_free[i] = c->base->v_free[i];
        if (c->what == V_FREE) s->v_free[i] += R(t * c->direction[i]);
    }
    if (c->what >= ROW_TARGET) {
        s->row[c->which] = c->base->row[c->which];
        if (c->what == ROW_TARGET) s->row[c->which].target += R(t);
        if (c->what == ROW_DISTANCE) s->row[c->which].distance += R(dt * t);
    } else if (c->what != V_FREE) {
        s->contact[c->which] = c->base->contact[c->which];
        s->surface[c->which] = c->base->surface[c->which];
        change_contact(&s->surface[c->which], &s->contact[c->which], c->what, dt, t);
    }
    if (solve_again(s, c->base->v) != ICF_RESULT_OK) return 0;
    for (i = 0; i < s->unknowns; i++) values[i] = (double)s->v[i];
    return 1;
}

/* The impulse of a contact at the same velocities */
static int impulse_changed(void* of, double t, double* values)
{
    change* c = (change*)of;
    icf_surface surface = c->base->surface[c->which];
    icf_contact contact = c->base->contact[c->which];
    icf_contact_term term;
    icf_real start[3], now[3], impulse[3];
    icf_contact_result r;
    int i;
    memset(&r, 0, sizeof r);
    if (icf_get_contact(&c->base->workspace, c->which, &r) != ICF_RESULT_OK) return 0;
    change_contact(&surface, &contact, c->what, (double)c->base->p.dt, t);
    for (i = 0; i < 3; i++) {
        const double shift = c->what == SURFACE_VELOCITY && i == 0 ? t : 0;
        start[i] = R(c->start[i] + shift);
        now[i] = R(c->now[i] + shift);
    }
    if (icf_contact_term_make(&surface, &contact, c->base->p.dt, r.w, start, &term) !=
        ICF_RESULT_OK)
        return 0;
    if (!icf_contact_evaluate(&term, now, NULL, impulse, NULL)) return 0;
    for (i = 0; i < 3; i++) values[i] = (double)impulse[i];
    return 1;
}

/* The velocity of a contact whose frame is the link's, in which it reads three rows: J v + bias */
static void contact_velocity(const icf_problem* p, int32_t contact, const icf_real* v,
                             double out[3])
{
    const icf_contact* c = &p->contact[contact];
    int32_t clique, i, k, first = 0, bias = 0;
    for (i = 0; i < c->link; i++) bias += p->link_rows[i];
    assert(p->link_rows[c->link] == 3);
    out[0] = (double)p->surface[c->surface].velocity.x;
    out[1] = (double)p->surface[c->surface].velocity.y;
    out[2] = (double)p->surface[c->surface].velocity.z;
    for (i = 0; i < 3 && p->link_bias; i++) out[i] += (double)p->link_bias[bias + i];
    for (clique = 0; clique < p->cliques; first += p->clique_sizes[clique++]) {
        const int32_t n = p->clique_sizes[clique];
        icf_real j[3 * 32];
        assert(n <= 32);
        TEST_CHECK(icf_contact_jacobian(p, contact, clique, j) == ICF_RESULT_OK);
        for (i = 0; i < 3; i++) {
            for (k = 0; k < n; k++) out[i] += (double)j[i * n + k] * (double)v[first + k];
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Checks of one derivative

typedef struct tally {
    int states, regular, checked, unsure;
    double worst;
} tally;

/* dv/dtheta from the right-hand side b, against the differences. Nothing is said where the answer
   is at a kink, or where the differences do not converge. */
static void check_derivative(solved* s, change* c, const double* b, double* x, tally* t,
                             const char* name)
{
    const int32_t n = s->unknowns;
    double* differences = (double*)allocate((size_t)n, sizeof *differences);
    icf_real* column = (icf_real*)allocate((size_t)n, sizeof *column);
    int32_t switching = -1, factorizations = -1, i;
    double sure, off, size;
    icf_result result;
    for (i = 0; i < n; i++) column[i] = R(b[i]);
    result = icf_sensitivity(&s->p, &s->workspace, column, 1, n, &switching, &factorizations);
    TEST_CHECK_(result == ICF_RESULT_OK, "%s", icf_result_string(result));
    TEST_CHECK(switching >= 0 && factorizations >= 0);
    for (i = 0; i < n; i++) x[i] = (double)column[i];
    t->states++;
    t->regular += switching == 0;
    if (switching == 0) {
        sure = differentiate(solve_changed, c, n, s->weight, differences);
        size = larger(norm(s->weight, n, x), norm(s->weight, n, differences));
        off = distance(s->weight, n, x, differences) / (size > 0 ? size : 1);
        if (sure < converged) {
            t->checked++;
            t->worst = larger(t->worst, off);
            TEST_CHECK_(off <= agreement,
                        "%s, %s of %d: %g off, differences converge to %g; seed %u", name,
                        parameter_names[c->what], (int)c->which, off, sure, (unsigned)SEED);
        } else {
            t->unsure++;
#ifdef TABLES
            printf("%s, %s of %d: %g off, but differences converge only to %g\n", name,
                   parameter_names[c->what], (int)c->which, off, sure);
#endif
        }
    }
    free(differences);
    free(column);
}

static void random_direction(int32_t n, double* d)
{
    int32_t i;
    for (i = 0; i < n; i++) d[i] = random_between(-1, 1);
}

/* A contact that has a force, at random, or -1 */
static int32_t random_contact_with_force(const solved* s)
{
    int tries;
    for (tries = 0; tries < 200 && s->p.contacts; tries++) {
        const int32_t i = random_below(s->p.contacts);
        icf_contact_result r;
        memset(&r, 0, sizeof r);
        TEST_CHECK(icf_get_contact(&s->workspace, i, &r) == ICF_RESULT_OK);
        if (r.impulse.z > 0) return i;
    }
    return -1;
}

/* The right-hand side for a parameter of one contact */
static int contact_side(solved* s, change* c, double* b)
{
    double dgamma[3], sure;
    icf_real impulse[3], *side = (icf_real*)allocate((size_t)s->unknowns, sizeof *side);
    int32_t i;
    contact_velocity(&s->p, c->which, s->p.v_last, c->start);
    contact_velocity(&s->p, c->which, s->v, c->now);
    sure = differentiate(impulse_changed, c, 3, NULL, dgamma);
    for (i = 0; i < 3; i++) impulse[i] = R(dgamma[i]);
    TEST_CHECK(icf_contact_push(&s->p, c->which, impulse, side) == ICF_RESULT_OK);
    for (i = 0; i < s->unknowns; i++) b[i] = (double)side[i];
    free(side);
    return sure < converged;
}

/* All parameters: v_free along random directions, and those of a random contact; and c'(H^-1 b) is
   b'(H^-1 c). */
static void check_problem(const icf_problem* p, const icf_real* start, const char* name, tally* t)
{
    solved s;
    change c;
    double *direction, *b, *x, *adjoint;
    icf_real* y;
    int what, trial;
    int32_t i, n;
    memset(&c, 0, sizeof c);
    if (!solved_make(&s, p, start)) {
        solved_free(&s);
        return;
    }
    TEST_CHECK(solved_make(&c.other, p, start));
    n = s.unknowns;
    direction = (double*)allocate((size_t)n, sizeof *direction);
    b = (double*)allocate((size_t)n, sizeof *b);
    x = (double*)allocate((size_t)n, sizeof *x);
    adjoint = (double*)allocate((size_t)n, sizeof *adjoint);
    y = (icf_real*)allocate((size_t)n, sizeof *y);
    c.base = &s;
    c.direction = direction;
    random_direction(n, adjoint);
    for (i = 0; i < n; i++) y[i] = R(adjoint[i]);
    TEST_CHECK(icf_sensitivity(&s.p, &s.workspace, y, 1, n, NULL, NULL) == ICF_RESULT_OK);
    for (what = 0; what < PARAMETERS; what++) {
        for (trial = 0; trial < (what == V_FREE ? 2 : 1); trial++) {
            double left = 0, right = 0, size = 0;
            c.what = (parameter)what;
            c.which = -1;
            memset(b, 0, (size_t)n * sizeof *b);
            if (what == V_FREE) {
                random_direction(n, direction);
                times_mass(&s.p, direction, b);
            } else if (what >= ROW_TARGET) {
                continue; /* other tests */
            } else {
                c.which = random_contact_with_force(&s);
                if (c.which < 0 || s.p.link_rows[s.contact[c.which].link] != 3 ||
                    (s.surface[c.which].model == ICF_MODEL_SAP && what == DISSIPATION) ||
                    (s.surface[c.which].friction == 0 && what == FRICTION) ||
                    (s.surface[c.which].dissipation == 0 && what == DISSIPATION))
                    continue;
                if (!contact_side(&s, &c, b)) continue;
                if (norm(NULL, n, b) == 0) continue;
            }
            check_derivative(&s, &c, b, x, t, name);
            /* the changes leave what is next as it was */
            if (c.which >= 0) c.other.contact[c.which] = s.contact[c.which];
            if (c.which >= 0) c.other.surface[c.which] = s.surface[c.which];
            memcpy(c.other.v_free, s.v_free, (size_t)n * sizeof(icf_real));
            for (i = 0; i < n; i++) {
                left += adjoint[i] * x[i];
                right += (double)y[i] * b[i];
                size += fabs(adjoint[i] * x[i]) + fabs((double)y[i] * b[i]);
            }
            TEST_CHECK_(fabs(left - right) <= (IN_FLOAT ? 1e-2 : 1e-9) * size,
                        "%s, %s: %g forwards, %g backwards, of %g; seed %u", name,
                        parameter_names[what], left, right, size, (unsigned)SEED);
        }
    }
    solved_free(&s);
    solved_free(&c.other);
    free(direction);
    free(b);
    free(x);
    free(adjoint);
    free(y);
}

static void check_tally(const tally* t, const char* name)
{
    (void)name;
#ifdef TABLES
    printf("%s: %d derivatives, %d regular, %d compared, %d without differences, worst %g\n", name,
           t->states, t->regular, t->checked, t->unsure, t->worst);
#endif
    /* in float an answer is often as near to a kink as rounding lets one say */
    TEST_CHECK_((IN_FLOAT ? 2 : 10) * t->regular >= (IN_FLOAT ? 1 : 9) * t->states,
                "%d of %d are regular", t->regular, t->states);
    TEST_CHECK_(IN_FLOAT ? t->checked > 0 : 10 * t->checked >= 8 * t->regular,
                "%d of %d could be compared", t->checked, t->regular);
}

// ------------------------------------------------------------------------------------------------
// The golden problems

static void test_golden_problems(void)
{
    tally t = {0, 0, 0, 0, 0};
    int model, kind;
    for (model = 0; model < ICFP_MODELS; model++) {
        for (kind = 0; kind < KINDS; kind++) {
            char name[64];
            icfp p;
            snprintf(name, sizeof name, "%s_%s", icfp_model_name(model), kinds[kind]);
            TEST_CASE(name);
            random_seed(SEED + (uint32_t)(10 * model + kind));
            if (!read_golden(model, kind, &p)) continue;
            check_problem(&p.problem, p.v_start, name, &t);
            icfp_free(&p);
        }
    }
    TEST_CASE(NULL);
    check_tally(&t, "golden");
}

/* hx += J' G J x of a contact, sizes: the parts of that, whose roundings add up */
static void add_contact_hessian(const solved* s, int32_t c, const double* x, double* hx,
                                double* sizes)
{
    icf_real j[2][3 * 32], now[3], start[3], hessian[9], back[3];
    double v0[3], v1[3], u[3] = {0}, g[3] = {0}, reach[3] = {0};
    int32_t of[2], firsts[2], blocks = 0, first = 0;
    icf_contact_term term;
    icf_contact_result r;
    int32_t i, k, m, clique;
    memset(&r, 0, sizeof r);
    TEST_CHECK(icf_get_contact(&s->workspace, c, &r) == ICF_RESULT_OK);
    contact_velocity(&s->p, c, s->p.v_last, v0);
    contact_velocity(&s->p, c, s->v, v1);
    for (k = 0; k < 3; k++) {
        start[k] = R(v0[k]);
        now[k] = R(v1[k]);
    }
    /* in float, the velocity that the solver itself had */
    if (IN_FLOAT) {
        now[0] = r.velocity.x;
        now[1] = r.velocity.y;
        now[2] = r.velocity.z;
    }
    TEST_CHECK(icf_contact_term_make(&s->surface[c], &s->contact[c], s->p.dt, r.w, start, &term) ==
               ICF_RESULT_OK);
    TEST_CHECK(icf_contact_evaluate(&term, now, NULL, back, hessian));
    for (clique = 0; clique < s->p.cliques; first += s->p.clique_sizes[clique++]) {
        int used = 0;
        for (k = s->p.link_start[c]; k < s->p.link_start[c + 1]; k++)
            used |= s->p.block_clique[k] == clique;
        if (!used) continue;
        of[blocks] = clique;
        firsts[blocks] = first;
        TEST_CHECK(icf_contact_jacobian(&s->p, c, clique, j[blocks]) == ICF_RESULT_OK);
        blocks++;
    }
    for (m = 0; m < blocks; m++) {
        const int32_t size = s->p.clique_sizes[of[m]];
        for (k = 0; k < 3; k++) {
            for (i = 0; i < size; i++) {
                const double term1 = (double)j[m][k * size + i] * x[firsts[m] + i];
                u[k] += term1;
                reach[k] += fabs(term1);
            }
        }
    }
    for (k = 0; k < 3; k++) {
        for (m = 0; m < 3; m++) g[k] += (double)hessian[3 * k + m] * u[m];
    }
    for (m = 0; m < blocks; m++) {
        const int32_t size = s->p.clique_sizes[of[m]];
        for (k = 0; k < 3; k++) {
            for (i = 0; i < size; i++) {
                const double a = (double)j[m][k * size + i];
                hx[firsts[m] + i] += a * g[k];
                /* what rounding of u and of x makes of it */
                sizes[firsts[m] + i] += fabs(a) * (fabs((double)hessian[3 * k]) * reach[0] +
                                                   fabs((double)hessian[3 * k + 1]) * reach[1] +
                                                   fabs((double)hessian[3 * k + 2]) * reach[2]);
            }
        }
    }
}

/* H x is b again, with H from the Hessians of all contacts, in double whatever the library's
   precision */
static void check_hessian(solved* s, const char* name)
{
    const int32_t n = s->unknowns;
    double* x = (double*)allocate((size_t)n, sizeof *x);
    double* hx = (double*)allocate((size_t)n, sizeof *hx);
    double* sizes = (double*)allocate((size_t)n, sizeof *sizes);
    icf_real* b = (icf_real*)allocate((size_t)n, sizeof *b);
    icf_real* y = (icf_real*)allocate((size_t)n, sizeof *y);
    double worst = 0;
    int32_t i, c;
    for (i = 0; i < n; i++) y[i] = b[i] = R(random_between(-1, 1));
    TEST_CHECK(icf_sensitivity(&s->p, &s->workspace, y, 1, n, NULL, NULL) == ICF_RESULT_OK);
    for (i = 0; i < n; i++) x[i] = (double)y[i];
    times_mass(&s->p, x, hx);
    for (i = 0; i < n; i++) sizes[i] = fabs(hx[i]) + fabs((double)b[i]);
    for (c = 0; c < s->p.contacts; c++) add_contact_hessian(s, c, x, hx, sizes);
    for (i = 0; i < n; i++) worst = larger(worst, fabs(hx[i] - (double)b[i]) / (EPS * sizes[i]));
    (void)name;
#ifdef TABLES
    printf("%s: H x is %.3g roundings from b\n", name, worst);
#endif
    TEST_CHECK_(worst <= 1000, "H x is %g roundings from b", worst);
    free(x);
    free(hx);
    free(sizes);
    free(b);
    free(y);
}

static void test_hessian_undoes_a_solve(void)
{
    int model, kind;
    for (model = 0; model < ICFP_MODELS; model++) {
        for (kind = 0; kind < KINDS - 1; kind++) {
            icfp p;
            solved s;
            char name[64];
            snprintf(name, sizeof name, "%s_%s", icfp_model_name(model), kinds[kind]);
            TEST_CASE(name);
            if (!read_golden(model, kind, &p)) continue;
            random_seed(SEED);
            if (solved_make(&s, &p.problem, p.v_start)) check_hessian(&s, name);
            solved_free(&s);
            icfp_free(&p);
        }
    }
    TEST_CASE(NULL);
}

// ------------------------------------------------------------------------------------------------
// Random states: points and joints in several islands, with couplings, rows, and cliques that
// nothing touches

static void add_block(scene* s, int32_t clique)
{
    double block[9];
    const int32_t count = s->link_rows[s->p.links - 1] * s->sizes[clique];
    int32_t i;
    for (i = 0; i < count; i++) block[i] = random_between(-1, 1);
    scene_block(s, clique, block);
}

static void random_row(icf_row* r)
{
    r->distance = R(random_between(-2e-3, 1e-3));
    r->stiffness = R(random_below(2) ? 1e4 : 0);
    r->relaxation = R(random_between(0, 0.02));
    r->damping = R(random_between(10, 1000));
    r->target = R(random_between(-2, 2));
    r->effort = R(random_between(1, 100));
    r->slip_tolerance = R(1e-2);
    r->weight = R(random_between(0.1, 5));
}

static void random_contact(icf_contact* c)
{
    surface_of(c)->model = random_below(3);
    c->distance = R(random_between(-2e-3, 5e-4));
    surface_of(c)->stiffness = R(exp(random_between(log(1e3), log(1e5))));
    surface_of(c)->dissipation = R(random_between(0.1, 5));
    surface_of(c)->friction = R(random_between(0.1, 1));
    surface_of(c)->slip_tolerance = R(1e-2);
    surface_of(c)->softness = R(1e-2);
    if (surface_of(c)->model != ICF_MODEL_SAP && random_below(3) == 0) {
        surface_of(c)->law = ICF_LAW_HERTZ;
        surface_of(c)->stiffness *= 20;
    }
}

static void random_scene(scene* s, int with_couplings)
{
    int32_t i, k, link, cliques, islands = 1 + random_below(3);
    const double speed = exp(random_between(log(0.1), log(2)));
    scene_begin(s, 0.01);
    cliques = 4 * islands + 1 + random_below(3);
    for (i = 0; i < cliques; i++) {
        const int32_t n = random_below(4) ? 3 : 1;
        double m[3];
        m[0] = m[1] = m[2] = exp(random_between(log(0.3), log(5)));
        scene_diagonal(s, n, m);
    }
    /* cliques of a residue are an island; the last ones of all are alone */
    for (link = 0; link < 6 * islands; link++) {
        const int32_t island = link % islands, with_row = random_below(3) == 0;
        const int32_t a = island + islands * random_below(4);
        int32_t b = island + islands * random_below(4);
        if (link < 3 * islands) b = island + islands * (link / islands);
        scene_link(s, with_row ? 1 : 3);
        add_block(s, a);
        if (b != a) add_block(s, b);
        if (with_row) {
            static const icf_row_kind row_kinds[5] = {ICF_ROW_LIMIT, ICF_ROW_MOTOR,
                                                      ICF_ROW_DRY_FRICTION, ICF_ROW_HOLONOMIC,
                                                      ICF_ROW_QUADRATIC};
            random_row(scene_row(s, row_kinds[random_below(5)], link, 0));
        } else {
            random_contact(scene_contact(s, link));
        }
    }
    for (i = 0; with_couplings && i < 3 * islands; i++) {
        /* between neighbours of an island, a tenth of the masses */
        const int32_t a = i, b = i + islands;
        double block[9];
        for (k = 0; k < s->sizes[a] * s->sizes[b]; k++) block[k] = 0.02 * random_between(-1, 1);
        scene_coupling(s, a, b, block);
    }
    for (i = 0; i < s->unknowns; i++) {
        s->v_last[i] = R(speed * random_between(-1, 1));
        s->v_free[i] = s->v_last[i] + R(speed * random_between(-0.2, 0.2));
    }
}

static void test_random_states(void)
{
    tally t = {0, 0, 0, 0, 0};
    int trial;
    for (trial = 0; trial < 60; trial++) {
        char name[32];
        snprintf(name, sizeof name, "trial %d", trial);
        random_seed(SEED + (uint32_t)trial);
        random_scene(&first_scene, trial % 2);
        check_problem(&first_scene.p, first_scene.v_last, name, &t);
    }
    check_tally(&t, "random states");
}

/* Parameters of rows enter by their impulse, J' of the row times its derivative */
static void test_parameters_of_rows(void)
{
    tally t = {0, 0, 0, 0, 0};
    int trial;
    for (trial = 0; trial < 60; trial++) {
        scene* s = &first_scene;
        char name[32];
        solved base;
        change c;
        int32_t r;
        memset(&c, 0, sizeof c);
        snprintf(name, sizeof name, "trial %d", trial);
        random_seed(SEED + 1000u + (uint32_t)trial);
        random_scene(s, trial % 2);
        if (!TEST_CHECK(solved_make(&base, &s->p, s->v_last))) continue;
        TEST_CHECK(solved_make(&c.other, &s->p, s->v_last));
        c.base = &base;
        for (r = 0; r < s->p.rows; r++) {
            const icf_row* row = &base.row[r];
            double b[MOST_UNKNOWNS] = {0}, x[MOST_UNKNOWNS], slope;
            const int limit = row->kind == ICF_ROW_LIMIT || row->kind == ICF_ROW_HOLONOMIC;
            icf_row_term term;
            icf_row_result result;
            icf_real hessian = 0;
            double inverse = 0;
            int32_t k, i;
            memset(&result, 0, sizeof result);
            if (row->kind == ICF_ROW_DRY_FRICTION) continue;
            TEST_CHECK(icf_get_row(&base.workspace, r, &result) == ICF_RESULT_OK);
            /* J' in b, and the inverse mass, of matrices that are diagonal */
            for (k = s->link_start[row->link]; k < s->link_start[row->link + 1]; k++) {
                const int32_t clique = s->block_clique[k];
                for (i = 0; i < s->sizes[clique]; i++) {
                    const double j = (double)s->blocks[s->block_at[k] + i];
                    b[s->start[clique] + i] = j;
                    inverse += j * j / (double)s->mass[s->mass_at[clique]];
                }
            }
            TEST_CHECK(icf_row_term_make(row, s->p.dt, R(inverse), &term) == ICF_RESULT_OK);
            icf_row_evaluate(&term, result.velocity, NULL, NULL, &hessian);
            if (!(hessian > 0)) continue; /* inactive, or at its limit: nothing moves */
            /* The impulse of a target is damping or weight times (target - u); that of a
               distance is linear too, inside. */
            c.what = limit ? ROW_DISTANCE : ROW_TARGET;
            c.which = r;
            if (limit) {
                icf_row moved = *row;
                icf_row_term other;
                icf_real low = 0, high = 0, rigid[2] = {0, 0};
                const double h = IN_FLOAT ? 1e-2 : 1e-4;
                moved.distance = R((double)row->distance + h * (double)s->p.dt);
                TEST_CHECK(icf_row_term_make(&moved, s->p.dt, R(inverse), &other) == ICF_RESULT_OK);
                icf_row_evaluate(&other, result.velocity, NULL, &high, &rigid[0]);
                moved.distance = R((double)row->distance - h * (double)s->p.dt);
                TEST_CHECK(icf_row_term_make(&moved, s->p.dt, R(inverse), &other) == ICF_RESULT_OK);
                icf_row_evaluate(&other, result.velocity, NULL, &low, &rigid[1]);
                if (!(rigid[0] > 0 && rigid[1] > 0)) continue; /* too near to its end */
                slope = ((double)high - (double)low) / (2 * h);
            } else {
                slope = row->kind == ICF_ROW_MOTOR ? (double)(s->p.dt * row->damping)
                                                   : (double)row->weight;
            }
            for (i = 0; i < s->unknowns; i++) b[i] *= slope;
            check_derivative(&base, &c, b, x, &t, name);
            c.other.row[r] = base.row[r];
        }
        solved_free(&base);
        solved_free(&c.other);
    }
    check_tally(&t, "rows");
}

/* Without factors the same, columns apart as they may be, and cliques that nothing touches */
static void test_without_factors(void)
{
    int trial, short_of = 0, iterative = 0;
    for (trial = 0; trial < 20; trial++) {
        scene* s = &first_scene;
        const icf_options options = exact();
        enum { APART = 75 }; /* from column to column; more than any has unknowns */
        icf_real x[4 * APART], y[4 * APART], v[MOST_UNKNOWNS];
        const int32_t count = 4, apart = APART;
        int32_t i, k, switching[2] = {-1, -1}, factorizations[2] = {-1, -1}, c;
        double off = 0, size = 0;
        icf_workspace w = {0};
        icf_stats stats;
        icf_result result;
        size_t bytes;
        void* memory;
        solved base;
        random_seed(SEED + 2000u + (uint32_t)trial);
        random_scene(s, trial % 2);
        bytes = icf_workspace_bytes(&s->p, ICF_SPARSE_ITERATIVE);
        memory = allocate(bytes, 1);
        TEST_CHECK(icf_workspace_init(&w, memory, bytes) == ICF_RESULT_OK);
        memcpy(v, s->v_last, sizeof v);
        if (!solved_make(&base, &s->p, s->v_last)) {
            solved_free(&base);
            free(memory);
            continue;
        }
        TEST_CHECK(icf_solve(&s->p, &options, &w, v, &stats) == ICF_RESULT_OK);
        iterative += stats.iterative > 0; /* small islands are dense even so */
        for (i = 0; i < count * apart; i++) x[i] = y[i] = R(random_between(-1, 1));
        TEST_CHECK(icf_sensitivity(&s->p, &base.workspace, x, count, apart, &switching[0],
                                   &factorizations[0]) == ICF_RESULT_OK);
        /* what lies between the columns stays */
        for (k = 0; k < count; k++) {
            for (i = s->unknowns; i < apart; i++) TEST_CHECK(x[k * apart + i] == y[k * apart + i]);
        }
        TEST_CHECK(factorizations[0] >= 0 && factorizations[0] <= stats.islands);
        /* alone: A^-1, which here is diagonal */
        for (c = 0; c < s->p.cliques; c++) {
            int alone = 1;
            for (i = 0; i < s->link_start[s->p.links]; i++) alone &= s->block_clique[i] != c;
            for (i = 0; i < 2 * s->p.couplings; i++) alone &= s->pairs[i] != c;
            for (i = s->start[c]; alone && i < s->start[c + 1]; i++) {
                const double expected = (double)y[i] / (double)s->mass[s->mass_at[c]];
                TEST_CHECK(fabs((double)x[i] - expected) <= 4 * EPS * fabs(expected));
            }
        }
        /* not converged, perhaps: large parts of H x cancel; x is no less exact for it */
        result = icf_sensitivity(&s->p, &w, y, count, apart, &switching[1], &factorizations[1]);
        TEST_CHECK_(result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED, "%s",
                    icf_result_string(result));
        short_of += result != ICF_RESULT_OK;
        for (k = 0; k < count; k++) {
            for (i = 0; i < s->unknowns; i++) {
                const double e = (double)x[k * apart + i] - (double)y[k * apart + i];
                off += e * e * base.weight[i];
                size += (double)x[k * apart + i] * (double)x[k * apart + i] * base.weight[i];
            }
        }
        off = sqrt(off / size);
#ifdef TABLES
        printf("iterative %d: %g off\n", trial, off);
#endif
        if (switching[0] == 0 && switching[1] == 0)
            TEST_CHECK_(off <= (IN_FLOAT ? 1e-2 : 1e-6),
                        "trial %d: %g off without factors; seed %u", trial, off, (unsigned)SEED);
        solved_free(&base);
        free(memory);
    }
    TEST_CHECK_(short_of <= 5, "%d did not converge", short_of);
    TEST_CHECK_(iterative >= 8, "%d of 20", iterative);
}

// ------------------------------------------------------------------------------------------------
// At a kink

/* One point mass of 1 kg, or one joint, and what acts on it */
typedef struct point {
    icf_problem p;
    icf_surface surface;
    icf_contact contact;
    icf_row row;
    icf_real mass[9], same[9], v_free[3], v_last[3];
    int32_t size, rows, start[2], clique;
} point;

static void point_make(point* q, int32_t size)
{
    int32_t i;
    memset(q, 0, sizeof *q);
    q->p = icf_default_problem();
    q->size = q->rows = size;
    q->start[1] = 1;
    for (i = 0; i < size; i++) q->mass[i * (size + 1)] = q->same[i * (size + 1)] = 1;
    q->contact = icf_default_contact();
    q->surface = icf_default_surface();
    q->p.dt = R(1.0 / 128);
    q->p.cliques = q->p.links = 1;
    q->p.clique_sizes = &q->size;
    q->p.mass = q->mass;
    q->p.v_free = q->v_free;
    q->p.v_last = q->v_last;
    q->p.link_rows = &q->rows;
    q->p.link_start = q->start;
    q->p.block_clique = &q->clique;
    q->p.blocks = q->same;
    q->p.contacts = q->p.surfaces = size == 3;
    q->p.surface = &q->surface;
    q->p.rows = size == 1;
    q->p.contact = &q->contact;
    q->p.row = &q->row;
}

/* v* such that v is the answer, moved by `by` along `direction` */
static int32_t switching_at(point* q, const icf_real* v, const double* direction, double by)
{
    const icf_options options = exact();
    icf_real impulse[3] = {0, 0, 0}, x[3] = {0, 0, 0};
    icf_workspace w = {0};
    int32_t i, switching = -1;
    if (q->size == 3) {
        icf_contact_term term;
        const icf_real inverse = q->contact.effective_mass_inverse;
        TEST_CHECK(icf_contact_term_make(&q->surface, &q->contact, q->p.dt, inverse, q->v_last,
                                         &term) == ICF_RESULT_OK);
        TEST_CHECK(icf_contact_evaluate(&term, v, NULL, impulse, NULL));
    } else {
        icf_row_term term;
        TEST_CHECK(icf_row_term_make(&q->row, q->p.dt, 1, &term) == ICF_RESULT_OK);
        icf_row_evaluate(&term, v[0], NULL, &impulse[0], NULL);
    }
    for (i = 0; i < q->size; i++) {
        q->v_free[i] = v[i] - impulse[i] + R(by * (direction ? direction[i] : 1));
        x[i] = q->v_last[i];
    }
    TEST_CHECK(icf_workspace_reserve(&w, &q->p) == ICF_RESULT_OK);
    TEST_CHECK(icf_solve(&q->p, &options, &w, x, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_sensitivity(&q->p, &w, NULL, 0, q->size, &switching, NULL) == ICF_RESULT_OK);
    icf_workspace_destroy(&w);
    return switching;
}

static void check_kink(point* q, const icf_real* v, const double* direction, const char* what)
{
    TEST_CHECK_(switching_at(q, v, direction, 0) == 1, "%s: not seen", what);
    TEST_CHECK_(switching_at(q, v, direction, 0.05) == 0, "%s: seen from beyond", what);
    TEST_CHECK_(switching_at(q, v, direction, -0.05) == 0, "%s: seen from before", what);
}

static void test_kinks_are_told(void)
{
    static const double up[3] = {0, 0, 1}, across[3] = {1, 0, 0};
    static const int32_t laws[3] = {ICF_LAW_HUNT_CROSSLEY, ICF_LAW_HERTZ, ICF_LAW_KELVIN_VOIGT};
    point q;
    icf_real v[3];
    int i, side;
    for (i = 0; i < 3; i++) {
        /* about to touch, without friction that would lift it: where the law's force ends */
        point_make(&q, 3);
        q.surface.law = laws[i];
        q.surface.stiffness = 1000;
        q.surface.dissipation = R(0.5);
        q.surface.relaxation = R(1.0 / 128);
        q.contact.effective_mass_inverse = 1;
        q.contact.distance = R(1.0 / 512);
        q.v_last[2] = -1;
        v[0] = R(0.25);
        v[1] = 0;
        v[2] = R(i == 2 ? -0.125 : -0.25); /* -distance / dt, or / (dt + tau) */
        check_kink(&q, v, up, i == 0 ? "Hunt & Crossley" : i == 1 ? "Hertz" : "Kelvin-Voigt");
    }

    /* similar: vn less the slip, as friction softens it, at that velocity */
    point_make(&q, 3);
    q.surface.model = ICF_MODEL_SIMILAR;
    q.contact.effective_mass_inverse = 1;
    q.contact.distance = 0;
    q.surface.friction = R(0.5);
    q.surface.slip_tolerance = R(0.75);
    v[0] = 1;
    v[1] = 0;
    v[2] = R(0.5 * (1.25 - 0.75));
    check_kink(&q, v, up, "similar");

    /* SAP: open to sliding, sliding to sticking */
    point_make(&q, 3);
    q.surface.model = ICF_MODEL_SAP;
    q.surface.stiffness = 4096;
    q.surface.relaxation = R(1.0 / 128);
    q.surface.near_rigid = 0;
    q.contact.effective_mass_inverse = 1;
    q.surface.softness = R(1.0 / 16);
    q.surface.friction = R(0.5);
    v[0] = 1;
    v[1] = 0;
    v[2] = R(0.5);
    check_kink(&q, v, up, "SAP, open");
    /* slip rn = mu u rt, rn = 1 / (dt stiffness (dt + tau)) = 2: slip = 0.5 u / 32 */
    v[2] = -1;
    v[0] = R(0.5 / 32);
    check_kink(&q, v, across, "SAP, sticking");

    /* a motor at one of its limits: damping (target - u) = +-effort; a limit just reached */
    for (side = -1; side <= 1; side += 2) {
        point_make(&q, 1);
        q.row = icf_default_row(ICF_ROW_MOTOR);
        q.row.damping = 64;
        q.row.target = 1;
        q.row.effort = 16;
        v[0] = R(1 - 0.25 * side);
        check_kink(&q, v, NULL, "motor");
        point_make(&q, 1);
        q.row = icf_default_row(ICF_ROW_LIMIT);
        q.row.stiffness = 1000;
        q.row.sign = R(side);
        q.row.distance = R(1.0 / 128);
        v[0] = R(-side);
        check_kink(&q, v, NULL, "limit");
    }
    /* those have no kink */
    point_make(&q, 1);
    q.row = icf_default_row(ICF_ROW_MOTOR);
    q.row.damping = 64;
    v[0] = 0;
    TEST_CHECK(switching_at(&q, v, NULL, 0) == 0);
    q.row = icf_default_row(ICF_ROW_DRY_FRICTION);
    q.row.effort = 10;
    TEST_CHECK(switching_at(&q, v, NULL, 0) == 0);
}

// ------------------------------------------------------------------------------------------------
// What is refused

static void test_refused_calls_change_nothing(void)
{
    scene* s = &first_scene;
    const icf_real one[3] = {1, 2, 3};
    icf_real x[MOST_UNKNOWNS], v[MOST_UNKNOWNS], w9[9], kept;
    icf_workspace w = {0};
    icf_problem other;
    int32_t i, switching = 7, factorizations = 7;
    random_seed(SEED);
    do {
        random_scene(s, 0);
    } while (s->p.rows < 2 || s->p.contacts < 2);
    for (i = 0; i < s->unknowns; i++) x[i] = R(i);

#define REFUSED(expected, call) \
    do { \
        const icf_result refused_as = (call); \
        TEST_CHECK_(refused_as == (expected), "%s: %s", #call, icf_result_string(refused_as)); \
        for (i = 0; i < s->unknowns; i++) TEST_CHECK(x[i] == R(i)); \
    } while (0)

    /* before any solve */
    REFUSED(ICF_RESULT_BAD_STATE,
            icf_sensitivity(&s->p, &w, x, 1, s->unknowns, &switching, &factorizations));
    TEST_CHECK(switching == 0 && factorizations == 0);
    TEST_CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK);
    REFUSED(ICF_RESULT_BAD_STATE, icf_sensitivity(&s->p, &w, x, 1, s->unknowns, NULL, NULL));

    memcpy(v, s->v_last, sizeof v);
    TEST_CHECK(icf_solve(&s->p, NULL, &w, v, NULL) == ICF_RESULT_OK);
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_sensitivity(NULL, &w, x, 1, s->unknowns, NULL, NULL));
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_sensitivity(&s->p, NULL, x, 1, s->unknowns, NULL, NULL));
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_sensitivity(&s->p, &w, x, -1, s->unknowns, NULL, NULL));
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_sensitivity(&s->p, &w, x, 1, s->unknowns - 1, NULL, NULL));
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_sensitivity(&s->p, &w, NULL, 1, s->unknowns, NULL, NULL));
    REFUSED(ICF_RESULT_OK, icf_sensitivity(&s->p, &w, NULL, 0, s->unknowns, NULL, NULL));

    /* of another size */
    other = s->p;
    other.contacts--;
    REFUSED(ICF_RESULT_BAD_STATE, icf_sensitivity(&other, &w, x, 1, s->unknowns, NULL, NULL));
    other = s->p;
    other.rows--;
    REFUSED(ICF_RESULT_BAD_STATE, icf_sensitivity(&other, &w, x, 1, s->unknowns, NULL, NULL));
    other = s->p;
    other.cliques--;
    REFUSED(ICF_RESULT_BAD_STATE, icf_sensitivity(&other, &w, x, 1, s->unknowns, NULL, NULL));
    other = s->p;
    other.links--;
    REFUSED(ICF_RESULT_BAD_STATE, icf_sensitivity(&other, &w, x, 1, s->unknowns, NULL, NULL));

    /* asked twice it says the same twice, and results stay */
    {
        icf_real a[MOST_UNKNOWNS], b[MOST_UNKNOWNS];
        icf_contact_result before, after;
        memset(&before, 0, sizeof before);
        memset(&after, 0, sizeof after);
        memcpy(a, x, sizeof a);
        memcpy(b, x, sizeof b);
        TEST_CHECK(icf_get_contact(&w, 0, &before) == ICF_RESULT_OK);
        TEST_CHECK(icf_sensitivity(&s->p, &w, a, 1, s->unknowns, NULL, NULL) == ICF_RESULT_OK);
        TEST_CHECK(icf_sensitivity(&s->p, &w, b, 1, s->unknowns, NULL, NULL) == ICF_RESULT_OK);
        TEST_CHECK(!memcmp(a, b, (size_t)s->unknowns * sizeof *a));
        TEST_CHECK(icf_get_contact(&w, 0, &after) == ICF_RESULT_OK);
        TEST_CHECK(!memcmp(&before, &after, sizeof before));
    }

    /* after the workspace was used otherwise, and after a solve that refused */
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 0, &w, w9) == ICF_RESULT_OK);
    REFUSED(ICF_RESULT_BAD_STATE, icf_sensitivity(&s->p, &w, x, 1, s->unknowns, NULL, NULL));
    memcpy(v, s->v_last, sizeof v);
    TEST_CHECK(icf_solve(&s->p, NULL, &w, v, NULL) == ICF_RESULT_OK);
    kept = s->v_free[0];
    s->v_free[0] = R(HUGE_VAL);
    TEST_CHECK(icf_solve(&s->p, NULL, &w, v, NULL) == ICF_RESULT_NOT_FINITE);
    s->v_free[0] = kept;
    REFUSED(ICF_RESULT_BAD_STATE, icf_sensitivity(&s->p, &w, x, 1, s->unknowns, NULL, NULL));
    icf_workspace_destroy(&w);

    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_contact_push(NULL, 0, one, x));
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_contact_push(&s->p, -1, one, x));
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_contact_push(&s->p, s->p.contacts, one, x));
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_contact_push(&s->p, 0, NULL, x));
    REFUSED(ICF_RESULT_BAD_ARGUMENT, icf_contact_push(&s->p, 0, one, NULL));
#undef REFUSED
}

/* J' impulse of a contact anywhere on a link of six rows, in any frame: what its Jacobian says. */
static void test_push_is_the_jacobian(void)
{
    int trial;
    for (trial = 0; trial < 50; trial++) {
        icf_real blocks[72], mass[72] = {0}, v_free[12] = {0}, b[12], j[18], impulse[3];
        int32_t sizes[2] = {6, 6}, rows = 6, start[2] = {0, 2}, cliques[2] = {1, 0}, i, k, c;
        icf_contact contact = icf_default_contact();
        icf_surface surface = icf_default_surface();
        icf_problem p = icf_default_problem();
        random_seed(SEED + (uint32_t)trial);
        for (i = 0; i < 72; i++) blocks[i] = R(random_between(-1, 1));
        for (i = 0; i < 72; i++) mass[i] = R((i % 36) % 7 == 0);
        contact.normal.x = R(random_between(-1, 1));
        contact.normal.y = R(random_between(-1, 1));
        contact.normal.z = R(random_between(0.1, 1));
        contact.normal = icf_vec3_normalize(contact.normal);
        surface.tangent = icf_vec3_normalize(
            icf_vec3_cross(contact.normal, icf_vec3_make(R(random_between(-1, 1)), 1, 0)));
        contact.point.x = R(random_between(-1, 1));
        contact.point.y = R(random_between(-1, 1));
        contact.point.z = R(random_between(-1, 1));
        p.dt = R(0.01);
        p.cliques = 2;
        p.clique_sizes = sizes;
        p.mass = mass;
        p.v_free = v_free;
        p.links = 1;
        p.link_rows = &rows;
        p.link_start = start;
        p.block_clique = cliques;
        p.blocks = blocks;
        p.contacts = 1;
        p.contact = &contact;
        p.surfaces = 1;
        p.surface = &surface;
        for (i = 0; i < 3; i++) impulse[i] = R(random_between(-1, 1));
        for (i = 0; i < 12; i++) b[i] = R(i);
        TEST_CHECK(icf_contact_push(&p, 0, impulse, b) == ICF_RESULT_OK);
        for (c = 0; c < 2; c++) {
            TEST_CHECK(icf_contact_jacobian(&p, 0, c, j) == ICF_RESULT_OK);
            for (i = 0; i < 6; i++) {
                double sum = 6 * c + i;
                for (k = 0; k < 3; k++) sum += (double)j[6 * k + i] * (double)impulse[k];
                TEST_CHECK(fabs((double)b[6 * c + i] - sum) <= 50 * EPS * (4 + fabs(sum)));
            }
        }
    }
}

/* The Hessian of a clique that nothing touches is its block of A, also where a bound for A is given. Before,
   its derivatives went by the bound, and were twice as large here. */
static void test_bound_leaves_what_nothing_touches(void)
{
    static const int32_t sizes[2] = {2, 1};
    static const icf_real mass[5] = {4, 1, 1, 3, 5}, bound[5] = {2, 0, 0, 1, 2},
                          v_free[3] = {1, 2, 3};
    icf_problem p = icf_default_problem();
    icf_workspace w = {0};
    icf_real v[3] = {0, 0, 0}, x[3] = {7, 10, 15};
    p.cliques = 2;
    p.clique_sizes = sizes;
    p.mass = mass;
    p.mass_bound = bound;
    p.v_free = v_free;
    TEST_CHECK(icf_workspace_reserve(&w, &p) == ICF_RESULT_OK);
    p.dt = R(0.01);
    TEST_CHECK(icf_solve(&p, NULL, &w, v, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_sensitivity(&p, &w, x, 1, 3, NULL, NULL) == ICF_RESULT_OK);
    CHECK_NEAR(x[0], 1, 0, 10 * EPS);
    CHECK_NEAR(x[1], 3, 0, 10 * EPS);
    CHECK_NEAR(x[2], 3, 0, 10 * EPS);
    icf_workspace_destroy(&w);
}

TEST_LIST = {
    {"golden_problems",                   test_golden_problems                  },
    {"hessian_undoes_a_solve",            test_hessian_undoes_a_solve           },
    {"random_states",                     test_random_states                    },
    {"parameters_of_rows",                test_parameters_of_rows               },
    {"without_factors",                   test_without_factors                  },
    {"kinks_are_told",                    test_kinks_are_told                   },
    {"refused_calls_change_nothing",      test_refused_calls_change_nothing     },
    {"push_is_the_jacobian",              test_push_is_the_jacobian             },
    {"bound_leaves_what_nothing_touches", test_bound_leaves_what_nothing_touches},
    {NULL,                                NULL                                  }
};
