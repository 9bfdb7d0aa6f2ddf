/* Layer 7 on the 40 problems of tests/golden/problems, whose answers are known to 30 digits. What
   the solver says of itself is compared with potentials and linear algebra in long double, written
   here. */

#include "tested.h"

#include "acutest.h"
#include "icfp.h"
#include "util.h"
#include "golden_util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double real; /* of the reference */

/* without force, sticking, sliding: of summary.txt */
static const int summary[ICFP_MODELS][KINDS][3] = {
    {{0, 1, 0},
     {0, 0, 1},
     {0, 1, 0},
     {0, 3, 1},
     {2, 0, 6},
     {0, 20, 0},
     {4, 0, 8},
     {20, 7, 33},
     {1, 0, 3},
     {74, 12, 114}},
    {{0, 1, 0},
     {0, 0, 1},
     {0, 0, 1},
     {0, 4, 0},
     {1, 0, 7},
     {0, 20, 0},
     {4, 3, 5},
     {44, 6, 10},
     {0, 0, 4},
     {132, 15, 53}},
    {{0, 1, 0},
     {0, 0, 1},
     {0, 1, 0},
     {0, 4, 0},
     {1, 0, 7},
     {0, 20, 0},
     {4, 0, 8},
     {30, 3, 27},
     {1, 0, 3},
     {83, 9, 108} },
    {{0, 1, 0},
     {0, 0, 1},
     {0, 1, 0},
     {0, 0, 4},
     {1, 0, 7},
     {0, 20, 0},
     {4, 2, 6},
     {44, 3, 13},
     {0, 0, 4},
     {126, 12, 62}}
};

static const double to_the_floor = 1e-30; /* a tolerance that rounding ends before it is met */

// ------------------------------------------------------------------------------------------------
// The problems

typedef void check_function(const icfp* p, int model, int kind);

/* Reads each problem and checks it. */
static void for_each_problem(check_function* check)
{
    int model, kind, done = 0;
    for (model = 0; model < ICFP_MODELS; model++) {
        for (kind = 0; kind < KINDS; kind++) {
            char path[128], name[64];
            icfp_file file;
            icfp p;
            int got;
            snprintf(name, sizeof name, "%s_%s", icfp_model_name(model), kinds[kind]);
            snprintf(path, sizeof path, "tests/golden/problems/%s.txt", name);
            TEST_CASE(name);
            got = icfp_open(&file, path) ? icfp_next(&file, &p) : -1;
            TEST_CHECK_(got == 1, "%s", file.message);
            if (got == 1) {
                TEST_CHECK(p.model == model && p.has_answer && p.unknowns > 0);
                check(&p, model, kind);
                icfp_free(&p);
                TEST_CHECK(icfp_next(&file, &p) == 0);
                done++;
            }
            icfp_close(&file);
        }
    }
    TEST_CASE(NULL);
    TEST_CHECK(done == PROBLEMS);
}

static int is_large(int kind)
{
    return kind == 9;
}

// ------------------------------------------------------------------------------------------------
// The reference

/* Where the reference is at some velocity: cost, gradient A (v - v*) - J' gamma, and the rest */
typedef struct reference {
    int32_t unknowns, contacts;
    real cost;
    real momentum_error; /* |D gradient| / max(|D A v|, |D J' gamma|) */
    real certificate;    /* 1/2 gradient' A^-1 gradient */
    real energy;         /* 1/2 v*' A v* + 1/2 v' A v + cost: the scale of what rounding does */
    real *gradient, *vc, *gamma;
} reference;

static void reference_free(reference* r)
{
    free(r->gradient);
    free(r->vc);
    free(r->gamma);
}

/* out += the block-diagonal A times x */
static void multiply(const icf_problem* p, const real* x, real* out)
{
    const icf_real* a = p->mass;
    int32_t i, j, k, first = 0;
    for (i = 0; i < p->cliques; first += p->clique_sizes[i++]) {
        for (j = 0; j < p->clique_sizes[i]; j++) {
            for (k = 0; k < p->clique_sizes[i]; k++) out[first + j] += (real)*a++ * x[first + k];
        }
    }
}

static int32_t first_of(const icf_problem* p, int32_t clique)
{
    int32_t i, first = 0;
    for (i = 0; i < clique; i++) first += p->clique_sizes[i];
    return first;
}

/* out += J x + b (transposed = 0), or out += J' x */
static void multiply_links(const icf_problem* p, const real* x, real* out, int transposed)
{
    const icf_real* block = p->blocks;
    int32_t c, b, r, k;
    for (c = 0; c < p->links; c++) {
        for (r = 0; r < 3 && !transposed; r++) out[3 * c + r] += (real)p->link_bias[3 * c + r];
        for (b = p->link_start[c]; b < p->link_start[c + 1]; b++) {
            const int32_t size = p->clique_sizes[p->block_clique[b]];
            const int32_t first = first_of(p, p->block_clique[b]);
            for (r = 0; r < 3; r++) {
                for (k = 0; k < size; k++) {
                    const real j = (real)*block++;
                    if (transposed)
                        out[first + k] += j * x[3 * c + r];
                    else
                        out[3 * c + r] += j * x[first + k];
                }
            }
        }
    }
}

/* |D x|^2, D = diag(A)^-1/2; with inverse: |D^-1 x|^2 */
static real scaled_square(const icf_problem* p, const real* x, int inverse)
{
    size_t at = 0;
    int32_t i, j, first = 0;
    real sum = 0;
    for (i = 0; i < p->cliques; first += p->clique_sizes[i++]) {
        const size_t n = (size_t)p->clique_sizes[i];
        for (j = 0; j < p->clique_sizes[i]; j++) {
            const real d = (real)p->mass[at + (size_t)j * (n + 1)];
            sum += x[first + j] * x[first + j] * (inverse ? d : 1 / d);
        }
        at += n * n;
    }
    return sum;
}

/* x' A^-1 x, by a Cholesky factorisation of each block */
static real inverse_square(const icf_problem* p, const real* x)
{
    const icf_real* a = p->mass;
    int32_t i, j, k, l, first = 0;
    real sum = 0;
    for (i = 0; i < p->cliques; i++) {
        const int32_t n = p->clique_sizes[i];
        real* f = (real*)allocate((size_t)n * (size_t)n, sizeof *f);
        real* y = (real*)allocate((size_t)n, sizeof *y);
        for (j = 0; j < n; j++) {
            for (k = 0; k <= j; k++) {
                real s = (real)a[j * n + k];
                for (l = 0; l < k; l++) s -= f[j * n + l] * f[k * n + l];
                f[j * n + k] = j == k ? sqrtl(s) : s / f[k * n + k];
            }
            y[j] = x[first + j];
            for (k = 0; k < j; k++) y[j] -= f[j * n + k] * y[k];
            y[j] /= f[j * n + j];
            sum += y[j] * y[j];
        }
        free(f);
        free(y);
        a += n * n;
        first += n;
    }
    return sum;
}

/* Hunt & Crossley: cost and impulse at v; vn0 for the impulse at the start of the step */
static void hunt_crossley(const icf_surface* f, const icf_contact* c, real dt, real v, real* cost,
                          real* impulse)
{
    const real k = (real)f->stiffness * dt * dt, d = (real)f->dissipation;
    const real touch = -(real)c->distance / dt; /* where the distance ends at 0 */
    const int by_speed = d > 0 && d * touch > 1;
    const real end = by_speed ? 1 / d : touch;
    const real x = end - v;
    const real a = by_speed ? touch - end : 0, b = by_speed ? 0 : 1 - d * end;
    *cost = *impulse = 0;
    if (x <= 0) return;
    *impulse = k * (a + x) * (b + d * x);
    *cost = k * (a * b * x + (a * d + b) * x * x / 2 + d * x * x * x / 3);
}

/* One contact with the velocity v, which was v0: (t1, t2, n) */
static void reference_contact(const icf_surface* f, const icf_contact* c, real w, real dt,
                              const real* v0, const real* v, real* cost, real* gamma)
{
    const real pi = 3.14159265358979323846264338327950288L;
    const real mu1 = (real)f->friction, mu2 = f->friction2 < 0 ? mu1 : (real)f->friction2;
    const real mu = mu1 > mu2 ? mu1 : mu2, tau = (real)f->relaxation, beta = (real)f->near_rigid;
    const real sigma = (real)f->softness;
    *cost = gamma[0] = gamma[1] = gamma[2] = 0;
    if (f->model == ICF_MODEL_SAP) {
        const real vr = sqrtl(v[0] * v[0] + v[1] * v[1]), rt = sigma * w;
        const real rigid = beta * beta * w / (4 * pi * pi);
        const real soft = 1 / (dt * (real)f->stiffness * (dt + tau));
        const real rn = rigid > soft ? rigid : soft;
        const real u = -(real)c->distance / (dt + tau) - v[2];
        if (u + mu * vr <= 0) return;
        if (vr * rn <= mu * u * rt) {
            gamma[0] = -v[0] / rt;
            gamma[1] = -v[1] / rt;
            gamma[2] = u / rn;
        } else {
            const real n = (u + mu * vr) / (rn + mu * mu * rt);
            gamma[0] = vr > 0 ? -mu * n * v[0] / vr : 0;
            gamma[1] = vr > 0 ? -mu * n * v[1] / vr : 0;
            gamma[2] = n;
        }
        *cost = (rt * (gamma[0] * gamma[0] + gamma[1] * gamma[1]) + rn * gamma[2] * gamma[2]) / 2;
    } else {
        /* the force at the start takes the distance of the start, not that of the step's end */
        const real depth = c->distance < 0 ? -(real)c->distance : 0;
        const real slow = 1 - (real)f->dissipation * v0[2];
        const real impulse0 = dt * (real)f->stiffness * depth * (slow > 0 ? slow : 0);
        const real regularised = sigma * w * mu * impulse0, vs = (real)f->slip_tolerance;
        const real speed = vs > regularised ? vs : regularised, e = mu > 0 ? mu * speed : speed;
        const real x1 = mu1 * v[0], x2 = mu2 * v[1], r = sqrtl(x1 * x1 + x2 * x2 + e * e);
        const real soft = (x1 * x1 + x2 * x2) / (r + e);
        real n;
        if (f->model == ICF_MODEL_LAGGED) {
            hunt_crossley(f, c, dt, v[2], cost, &gamma[2]);
            *cost += impulse0 * soft;
            n = impulse0;
        } else {
            hunt_crossley(f, c, dt, v[2] - soft, cost, &gamma[2]);
            n = gamma[2];
        }
        gamma[0] = -n * mu1 * x1 / r;
        gamma[1] = -n * mu2 * x2 / r;
    }
}

/* w = |W| / 3, the norm that of Frobenius, from the file rather than computed again */
static reference reference_at(const icfp* in, const icf_problem* p, const double* w,
                              const icf_real* v)
{
    const size_t n = (size_t)in->unknowns, m = 3 * (size_t)in->contacts;
    real* x = (real*)allocate(n, sizeof *x);
    real* momentum = (real*)allocate(n, sizeof *momentum);
    real* impulse = (real*)allocate(n, sizeof *impulse);
    real* free_momentum = (real*)allocate(n, sizeof *free_momentum);
    real* vc0 = (real*)allocate(m, sizeof *vc0);
    real scale, other, residual;
    reference r;
    size_t i;
    int32_t c;
    r.unknowns = in->unknowns;
    r.contacts = in->contacts;
    r.gradient = (real*)allocate(n, sizeof *r.gradient);
    r.vc = (real*)allocate(m, sizeof *r.vc);
    r.gamma = (real*)allocate(m, sizeof *r.gamma);

    for (i = 0; i < n; i++) x[i] = (real)p->v_last[i];
    multiply_links(p, x, vc0, 0);
    for (i = 0; i < n; i++) x[i] = (real)p->v_free[i];
    multiply(p, x, free_momentum);
    r.energy = 0;
    for (i = 0; i < n; i++) r.energy += x[i] * free_momentum[i] / 2;
    for (i = 0; i < n; i++) x[i] = (real)v[i];
    multiply_links(p, x, r.vc, 0);
    multiply(p, x, momentum);
    for (i = 0; i < n; i++) r.energy += x[i] * momentum[i] / 2;
    for (i = 0; i < n; i++) x[i] = (real)v[i] - (real)p->v_free[i];
    multiply(p, x, r.gradient);
    r.cost = 0;
    for (i = 0; i < n; i++) r.cost += x[i] * r.gradient[i] / 2;
    for (c = 0; c < r.contacts; c++) {
        real cost;
        reference_contact(&p->surface[p->contact[c].surface], &p->contact[c], (real)w[c],
                          (real)p->dt, &vc0[3 * c], &r.vc[3 * c], &cost, &r.gamma[3 * c]);
        r.cost += cost;
    }
    multiply_links(p, r.gamma, impulse, 1);
    for (i = 0; i < n; i++) r.gradient[i] -= impulse[i];
    residual = sqrtl(scaled_square(p, r.gradient, 0));
    scale = sqrtl(scaled_square(p, momentum, 0));
    other = sqrtl(scaled_square(p, impulse, 0));
    if (other > scale) scale = other;
    r.momentum_error = residual > 0 ? residual / scale : 0;
    r.certificate = inverse_square(p, r.gradient) / 2;
    r.energy += r.cost;
    free(x);
    free(momentum);
    free(impulse);
    free(free_momentum);
    free(vc0);
    return r;
}

/* |a - b| / max(|b|, |v*|) in the norm diag(A) */
static double distance_between(const icfp* in, const icf_real* a, const double* b)
{
    const icf_problem* p = &in->problem;
    const size_t n = (size_t)in->unknowns;
    real* x = (real*)allocate(n, sizeof *x);
    real error, answer, other;
    size_t i;
    for (i = 0; i < n; i++) x[i] = (real)p->v_free[i];
    other = sqrtl(scaled_square(p, x, 1));
    for (i = 0; i < n; i++) x[i] = (real)b[i];
    answer = sqrtl(scaled_square(p, x, 1));
    for (i = 0; i < n; i++) x[i] = (real)a[i] - (real)b[i];
    error = sqrtl(scaled_square(p, x, 1));
    free(x);
    return (double)(error / (answer > other ? answer : other));
}

static icf_real* to_reals(const double* x, int32_t count)
{
    icf_real* y = (icf_real*)allocate((size_t)count, sizeof *y);
    int32_t i;
    for (i = 0; i < count; i++) y[i] = (icf_real)x[i];
    return y;
}

static double* weights(const icfp* p)
{
    double* w = (double*)allocate((size_t)p->contacts, sizeof *w);
    int32_t c;
    for (c = 0; c < p->contacts; c++) w[c] = p->more[c].w;
    return w;
}

static reference reference_of(const icfp* p, const icf_real* v)
{
    double* w = weights(p);
    const reference r = reference_at(p, &p->problem, w, v);
    free(w);
    return r;
}

/* How near the answer a solve to the floor comes. The velocity is far better determined than the
   impulses: stiffness, of which cond tells, holds it rather than moves it. In float the numbers of
   the problem have been rounded as well. */
static const double attainable = 100 * EPS;

// ------------------------------------------------------------------------------------------------
// Solving

static run solve_from(const icfp* p, double tolerance, const icf_real* start)
{
    icf_options options = icf_default_options();
    options.tolerance = (icf_real)tolerance;
    return solve_problem(&p->problem, p->unknowns, &options, start);
}

/* Did a solve end well? */
static int succeeded(const run* r)
{
    return TEST_CHECK_(r->result == ICF_RESULT_OK &&
                           (r->stats.stop == ICF_STOP_CONVERGED || r->stats.stop == ICF_STOP_FLOOR),
                       "%s, stop %d after %d iterations, momentum error %g",
                       icf_result_string(r->result), (int)r->stats.stop, (int)r->stats.iterations,
                       (double)r->stats.momentum_error);
}

static real* impulses(const run* r, int32_t contacts)
{
    real* gamma = (real*)allocate(3 * (size_t)contacts, sizeof *gamma);
    int32_t c;
    for (c = 0; c < contacts; c++) {
        icf_contact_result got;
        memset(&got, 0, sizeof got);
        TEST_CHECK(icf_get_contact(&r->workspace, c, &got) == ICF_RESULT_OK);
        gamma[3 * c] = (real)got.impulse.x;
        gamma[3 * c + 1] = (real)got.impulse.y;
        gamma[3 * c + 2] = (real)got.impulse.z;
    }
    return gamma;
}

/* The momentum error that is reported is the one that the velocity and the impulses have. (It is
   that of the worst island; these problems have one.) */
static void check_honest(const icfp* in, const run* r)
{
    const icf_problem* p = &in->problem;
    const size_t n = (size_t)in->unknowns;
    real* gamma = impulses(r, in->contacts);
    real* x = (real*)allocate(n, sizeof *x);
    real* momentum = (real*)allocate(n, sizeof *momentum);
    real* impulse = (real*)allocate(n, sizeof *impulse);
    real* residual = (real*)allocate(n, sizeof *residual);
    real scale, other, error;
    double reported = (double)r->stats.momentum_error;
    size_t i;
    for (i = 0; i < n; i++) x[i] = (real)r->v[i];
    multiply(p, x, momentum);
    for (i = 0; i < n; i++) x[i] -= (real)p->v_free[i];
    multiply(p, x, residual);
    multiply_links(p, gamma, impulse, 1);
    for (i = 0; i < n; i++) residual[i] -= impulse[i];
    scale = sqrtl(scaled_square(p, momentum, 0));
    other = sqrtl(scaled_square(p, impulse, 0));
    error = sqrtl(scaled_square(p, residual, 0)) / (scale > other ? scale : other);
    TEST_CHECK_(fabs((double)error - reported) <= 1e-3 * reported + 100 * EPS,
                "momentum error %g, reported %g", (double)error, reported);
    free(gamma);
    free(x);
    free(momentum);
    free(impulse);
    free(residual);
}

/* The certificate is no less than what the cost is above `least`, and no more than what the
   gradient says. Rounding of the gradient, relative, is below `noise`, that of the reference's
   costs below a few units of a long double. */
static void check_certificate(const reference* at, const icf_stats* stats, real least)
{
    const real noise = (real)(IN_FLOAT ? 0.05 : 1e-10) * sqrtl(at->energy);
    const real excess = at->cost - least - 50 * (real)LDBL_EPSILON * at->energy;
    const real gap = excess > 0 ? excess : 0;
    TEST_CHECK_(sqrtl(gap) <= sqrtl((real)stats->certificate) * (real)(1 + 1e-6) + noise,
                "certificate %g, but the cost is %g too high", (double)stats->certificate,
                (double)gap);
    TEST_CHECK_(sqrtl((real)stats->certificate) <=
                    sqrtl(at->certificate) * (real)(1 + 1e-3) + noise,
                "certificate %g, %g would do", (double)stats->certificate, (double)at->certificate);
}

// ------------------------------------------------------------------------------------------------
// Every problem to the floor

/* groups of trees that contacts connect; a tree without contacts is none */
static int32_t count_islands(const icfp* p)
{
    int32_t* group = (int32_t*)allocate((size_t)p->trees, sizeof *group);
    int32_t c, i, count = 0;
    for (i = 0; i < p->trees; i++) group[i] = -1;
    for (c = 0; c < p->contacts; c++) {
        const int32_t* t = p->more[c].tree;
        for (i = 0; i < 2; i++) {
            if (t[i] >= 0 && group[t[i]] < 0) group[t[i]] = t[i];
        }
        if (t[1] >= 0 && group[t[0]] != group[t[1]]) {
            const int32_t old = group[t[1]], now = group[t[0]];
            for (i = 0; i < p->trees; i++) {
                if (group[i] == old) group[i] = now;
            }
        }
    }
    for (i = 0; i < p->trees; i++) count += group[i] == i;
    free(group);
    return count;
}

static void check_answer(const icfp* p, int model, int kind)
{
    run r = solve_from(p, to_the_floor, p->v_start);
    icf_real* answer = to_reals(p->v, p->unknowns);
    reference at_answer = reference_of(p, answer), at = reference_of(p, r.v);
    double error = distance_between(p, r.v, p->v), largest = 0;
    int32_t c, i;
    (void)model;
    (void)kind;

    /* first, the reference itself is right */
    if (!IN_FLOAT)
        TEST_CHECK_(fabsl(at_answer.cost - (real)p->cost) <= 1e-15L * (real)p->cost,
                    "reference cost %g for %g", (double)at_answer.cost, p->cost);

    if (succeeded(&r)) {
        TEST_CHECK_(error <= attainable, "velocity error %g, cond %g", error, p->cond);
        TEST_CHECK(r.stats.islands == count_islands(p));
        TEST_CHECK(r.stats.iterative == 0 && r.stats.part == ICF_PART_NONE);
        TEST_CHECK(r.stats.factorizations <= r.stats.island_factorizations);
        TEST_CHECK(r.stats.bytes > 0);
        check_honest(p, &r);
        check_certificate(&at, &r.stats, at_answer.cost < at.cost ? at_answer.cost : at.cost);
        for (c = 0; c < 3 * p->contacts; c++) largest = larger(largest, fabs(p->gamma[c]));
        for (c = 0; c < p->contacts; c++) {
            icf_contact_result got;
            icf_real v[3], gamma[3], force[3];
            const double dt = (double)p->problem.dt;
            memset(&got, 0, sizeof got);
            TEST_CHECK(icf_get_contact(&r.workspace, c, &got) == ICF_RESULT_OK);
            memcpy(v, &got.velocity, sizeof v);
            memcpy(gamma, &got.impulse, sizeof gamma);
            memcpy(force, &got.force, sizeof force);
            for (i = 0; i < 3; i++) {
                double sum = 0;
                if (!IN_FLOAT)
                    TEST_CHECK_(fabs((double)gamma[i] - p->gamma[3 * c + i]) <= 1e-8 * largest,
                                "contact %d: impulse %g for %g", (int)c, (double)gamma[i],
                                p->gamma[3 * c + i]);
                /* the velocity is J v + b, up to its rounding */
                sum = fabs((double)at.vc[3 * c + i]) + 1e-3 * error;
                TEST_CHECK_(fabs((double)v[i] - (double)at.vc[3 * c + i]) <=
                                64 * EPS * (sum + sqrt((double)(at.energy))),
                            "contact %d: velocity %g for %g", (int)c, (double)v[i],
                            (double)at.vc[3 * c + i]);
                /* the axes of the link are t1, t2, n */
                TEST_CHECK(fabs((double)force[i] * dt - (double)gamma[i]) <=
                           4 * EPS * fabs((double)gamma[i]));
            }
            TEST_CHECK(fabs((double)got.w - p->more[c].w) <= EPS * p->more[c].w);
            TEST_CHECK(got.spin_impulse.x == 0 && got.spin_impulse.y == 0 &&
                       got.spin_impulse.z == 0);
            TEST_CHECK_(is_finite((double)got.dissipated), "dissipated %g", (double)got.dissipated);
        }
        if (!IN_FLOAT) {
            TEST_CHECK_(fabs((double)r.stats.cost - p->cost) <= 1e-13 * p->cost,
                        "cost %.17g for %.17g", (double)r.stats.cost, p->cost);
            TEST_CHECK_((double)r.stats.certificate <= 1e-18 * (double)at.energy,
                        "certificate %g of the energy %g", (double)r.stats.certificate,
                        (double)at.energy);
        } else {
            TEST_CHECK_(fabs((double)r.stats.cost - (double)at.cost) <=
                            1000 * EPS * (double)at.energy,
                        "cost %g for %g", (double)r.stats.cost, (double)at.cost);
        }
    }
    reference_free(&at);
    reference_free(&at_answer);
    free(answer);
    run_free(&r);
}

static void test_answers_to_the_floor(void)
{
    for_each_problem(check_answer);
}

// ------------------------------------------------------------------------------------------------
// Starts

static void check_warm_start(const icfp* p, int model, int kind)
{
    icf_real* answer = to_reals(p->v, p->unknowns);
    run again, r;
    const double tolerance = (double)icf_default_options().tolerance;
    (void)model;
    (void)kind;
    /* from the answer, rounded; a float cannot hold it well enough where contacts are stiff */
    r = solve_from(p, tolerance, answer);
    succeeded(&r);
    if (!IN_FLOAT) {
        TEST_CHECK(r.stats.stop == ICF_STOP_CONVERGED);
        TEST_CHECK_(r.stats.factorizations == 0 && r.stats.iterations == 0,
                    "%d iterations, %d factorizations", (int)r.stats.iterations,
                    (int)r.stats.factorizations);
        TEST_CHECK(distance_between(p, r.v, p->v) <= EPS);
    }
    run_free(&r);

    /* from its own answer */
    r = solve_from(p, tolerance, p->v_start);
    if (succeeded(&r) && r.stats.stop == ICF_STOP_CONVERGED) {
        again = solve_from(p, tolerance, r.v);
        TEST_CHECK(again.result == ICF_RESULT_OK && again.stats.stop == ICF_STOP_CONVERGED);
        TEST_CHECK_(again.stats.factorizations == 0 && again.stats.iterations == 0,
                    "again: %d iterations, %d factorizations", (int)again.stats.iterations,
                    (int)again.stats.factorizations);
        TEST_CHECK(!memcmp(again.v, r.v, (size_t)p->unknowns * sizeof(icf_real)));
        TEST_CHECK(again.stats.momentum_error == r.stats.momentum_error);
        run_free(&again);
    }
    run_free(&r);
    free(answer);
}

static void test_warm_start(void)
{
    for_each_problem(check_warm_start);
}

/* noise of `size` times the free motion, alike in all directions of the norm diag(A) */
static icf_real* random_start(const icfp* p, double size)
{
    const icf_problem* q = &p->problem;
    icf_real* v = (icf_real*)allocate((size_t)p->unknowns, sizeof *v);
    real* x = (real*)allocate((size_t)p->unknowns, sizeof *x);
    double scale;
    size_t at = 0;
    int32_t i, j, first = 0;
    for (i = 0; i < p->unknowns; i++) x[i] = (real)q->v_free[i];
    scale = size * sqrt((double)scaled_square(q, x, 1) / p->unknowns);
    for (i = 0; i < q->cliques; first += q->clique_sizes[i++]) {
        const size_t n = (size_t)q->clique_sizes[i];
        for (j = 0; j < q->clique_sizes[i]; j++) {
            const double d = (double)q->mass[at + (size_t)j * (n + 1)];
            v[first + j] =
                (icf_real)((double)p->v_start[first + j] + random_between(-2, 2) * scale / sqrt(d));
        }
        at += n * n;
    }
    free(x);
    return v;
}

static void check_starts(const icfp* p, int model, int kind)
{
    static const double sizes[3] = {0.01, 1, 1000};
    int trial;
    for (trial = 0; trial < 4; trial++) {
        const uint32_t seed = SEED + (uint32_t)(100 * model + 10 * kind + trial);
        icf_real* start;
        run r;
        double error;
        if (is_large(kind) && trial != 2) continue;
        random_seed(seed);
        start = trial < 3 ? random_start(p, sizes[trial])
                          : (icf_real*)allocate((size_t)p->unknowns, sizeof *start);
        r = solve_from(p, to_the_floor, start);
        error = distance_between(p, r.v, p->v);
        if (succeeded(&r))
            TEST_CHECK_(error <= attainable, "velocity error %g after %d iterations", error,
                        (int)r.stats.iterations);
        TEST_MSG("start %d, seed %u", trial, (unsigned)seed);
        run_free(&r);
        free(start);
    }
}

static void test_same_answer_from_anywhere(void)
{
    for_each_problem(check_starts);
}

// ------------------------------------------------------------------------------------------------
// Tolerances and certificates

static void check_tolerances(const icfp* p, int model, int kind)
{
    static const double tolerances[7] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8};
    run best = solve_from(p, to_the_floor, p->v_start);
    reference least = reference_of(p, best.v);
    double before = 0;
    int i;
    (void)model;
    for (i = 0; i < (IN_FLOAT ? 3 : 7); i++) {
        run r;
        reference at;
        double error, reference_error;
        if (is_large(kind) && i != 1 && i != 4) continue;
        r = solve_from(p, tolerances[i], p->v_start);
        at = reference_of(p, r.v);
        error = distance_between(p, r.v, p->v);
        reference_error = (double)at.momentum_error;
        if (succeeded(&r)) {
            if (r.stats.stop == ICF_STOP_CONVERGED) {
                TEST_CHECK_((double)r.stats.momentum_error <= tolerances[i],
                            "tolerance %g, momentum error %g", tolerances[i],
                            (double)r.stats.momentum_error);
                TEST_CHECK_(error <= 10 * tolerances[i] + (IN_FLOAT ? attainable : 0),
                            "tolerance %g, velocity error %g", tolerances[i], error);
                /* what rounding does to the residual: 1e-10 in the worst of the problems */
                if (!IN_FLOAT)
                    TEST_CHECK_(reference_error <= 1.5 * tolerances[i] + 1e-10,
                                "tolerance %g, reference momentum error %g", tolerances[i],
                                reference_error);
            } else {
                TEST_CHECK_(IN_FLOAT, "the floor is reached before %g", tolerances[i]);
            }
            check_honest(p, &r);
            check_certificate(&at, &r.stats, least.cost);
            /* a smaller tolerance takes no fewer iterations */
            TEST_CHECK(r.stats.iterations >= before);
            before = r.stats.iterations;
        }
        reference_free(&at);
        run_free(&r);
    }
    reference_free(&least);
    run_free(&best);
}

static void test_tolerances_are_met(void)
{
    for_each_problem(check_tolerances);
}

// ------------------------------------------------------------------------------------------------
// The same problem in other units

typedef struct units {
    double mass, length, time;
    const double* velocity; /* of each unknown on top of length / time, or NULL */
} units;

/* Powers of two, so that the numbers of one problem are those of the other, digit by digit */
typedef struct copy {
    icf_problem problem;
    icf_real *mass, *v_free, *v_last, *blocks, *bias;
    icf_contact* contact;
    icf_surface* surface;
} copy;

static void copy_free(copy* c)
{
    free(c->mass);
    free(c->v_free);
    free(c->v_last);
    free(c->blocks);
    free(c->bias);
    free(c->contact);
    free(c->surface);
}

static icf_real* scaled(const icf_real* x, size_t count, double factor)
{
    icf_real* y = (icf_real*)allocate(count, sizeof *y);
    size_t i;
    for (i = 0; i < count; i++) y[i] = x[i] * (icf_real)factor;
    return y;
}

static copy in_units(const icfp* in, const units* u)
{
    const icf_problem* p = &in->problem;
    const double speed = u->length / u->time;
    const size_t n = (size_t)in->unknowns, m = (size_t)in->contacts;
    size_t squares = 0, blocks = 0, at = 0;
    int32_t i, j, k, first = 0;
    copy c;
    for (i = 0; i < p->cliques; i++)
        squares += (size_t)p->clique_sizes[i] * (size_t)p->clique_sizes[i];
    for (i = 0; i < p->link_start[p->links]; i++)
        blocks += 3 * (size_t)p->clique_sizes[p->block_clique[i]];
    c.problem = *p;
    c.problem.mass = c.mass = scaled(p->mass, squares, u->mass);
    c.problem.v_free = c.v_free = scaled(p->v_free, n, speed);
    c.problem.v_last = c.v_last = scaled(p->v_last, n, speed);
    c.problem.blocks = c.blocks = scaled(p->blocks, blocks, 1);
    c.problem.link_bias = c.bias = scaled(p->link_bias, 3 * m, speed);
    c.problem.dt = p->dt * (icf_real)u->time;
    c.contact = (icf_contact*)allocate(m, sizeof *c.contact);
    c.problem.contact = c.contact;
    c.surface = (icf_surface*)allocate(m, sizeof *c.surface);
    c.problem.surface = c.surface;
    c.problem.surfaces = in->contacts;
    for (i = 0; i < in->contacts; i++) {
        icf_contact* q = &c.contact[i];
        icf_surface* f = &c.surface[i];
        *f = p->surface[p->contact[i].surface];
        *q = p->contact[i];
        q->surface = i;
        q->distance *= (icf_real)u->length;
        f->stiffness *= (icf_real)(u->mass / (u->time * u->time));
        f->dissipation *= (icf_real)(u->time / u->length);
        f->relaxation *= (icf_real)u->time;
        f->slip_tolerance *= (icf_real)speed;
        q->effective_mass_inverse *= (icf_real)(1 / u->mass);
    }
    if (u->velocity) {
        icf_real* a = c.mass;
        for (i = 0; i < p->cliques; first += p->clique_sizes[i++]) {
            for (j = 0; j < p->clique_sizes[i]; j++) {
                const double f = u->velocity[first + j];
                c.v_free[first + j] *= (icf_real)f;
                c.v_last[first + j] *= (icf_real)f;
                for (k = 0; k < p->clique_sizes[i]; k++)
                    *a++ *= (icf_real)(1 / (f * u->velocity[first + k]));
            }
        }
        for (i = 0; i < p->link_start[p->links]; i++) {
            const int32_t clique = p->block_clique[i];
            first = first_of(p, clique);
            for (k = 0; k < 3; k++) {
                for (j = 0; j < p->clique_sizes[clique]; j++)
                    c.blocks[at++] *= (icf_real)(1 / u->velocity[first + j]);
            }
        }
    }
    return c;
}

static void check_units(const icfp* p, int model, int kind)
{
    /* 2^20 and 2^10 are what a million and a thousand are to people */
    static const double list[5][3] = {
        {1048576,       1,          1         },
        {1,             1024,       1         },
        {1,             1,          1.0 / 1024},
        {1.0 / 1048576, 1.0 / 1024, 1         },
        {4,             0.5,        2         }
    };
    double* own = (double*)allocate((size_t)p->unknowns, sizeof *own);
    icf_options options = icf_default_options();
    int i, j;
    run r;
    options.tolerance = (icf_real)to_the_floor;
    r = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
    succeeded(&r);
    random_seed(SEED + (uint32_t)(10 * model + kind));
    for (j = 0; j < p->unknowns; j++) own[j] = ldexp(1, random_below(13) - 6);
    for (i = is_large(kind) ? 4 : 0; i < 5; i++) {
        units u;
        copy c;
        run s;
        int same = 1;
        double speed, energy;
        /* energies of 1e-12 and their products leave the range of float in the interior point method */
        if (IN_FLOAT && i == 3) continue;
        u.mass = list[i][0];
        u.length = list[i][1];
        u.time = list[i][2];
        u.velocity = i == 4 ? own : NULL;
        speed = u.length / u.time;
        energy = u.mass * speed * speed;
        c = in_units(p, &u);
        s = solve_problem(&c.problem, p->unknowns, &options, c.v_last);
        TEST_CHECK(s.result == r.result && s.stats.stop == r.stats.stop);
        TEST_CHECK_(s.stats.iterations == r.stats.iterations &&
                        s.stats.factorizations == r.stats.factorizations &&
                        s.stats.trials == r.stats.trials,
                    "units %d: %d iterations, %d factorizations, %d trials; were %d, %d, %d", i,
                    (int)s.stats.iterations, (int)s.stats.factorizations, (int)s.stats.trials,
                    (int)r.stats.iterations, (int)r.stats.factorizations, (int)r.stats.trials);
        for (j = 0; j < p->unknowns; j++) {
            const double f = speed * (u.velocity ? own[j] : 1);
            same &= (double)s.v[j] == (double)r.v[j] * f;
        }
        TEST_CHECK_(same, "units %d: other velocities", i);
        TEST_CHECK((double)s.stats.cost == (double)r.stats.cost * energy);
        TEST_CHECK((double)s.stats.certificate == (double)r.stats.certificate * energy);
        TEST_CHECK(s.stats.momentum_error == r.stats.momentum_error);
        run_free(&s);
        copy_free(&c);
    }
    run_free(&r);
    free(own);
}

static void test_units_change_no_bit(void)
{
    for_each_problem(check_units);
}

// ------------------------------------------------------------------------------------------------
// On the way: history and budgets

static void check_history(const icfp* p, int model, int kind)
{
    enum { ROOM = 2000 };
    icf_iteration* history = (icf_iteration*)allocate(ROOM, sizeof *history);
    icf_options options = icf_default_options();
    reference at_start = reference_of(p, p->v_start), at_end;
    int32_t i;
    run r, s;
    (void)model;
    options.tolerance = (icf_real)to_the_floor;
    options.history = history;
    options.history_capacity = ROOM;
    r = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
    at_end = reference_of(p, r.v);
    if (succeeded(&r)) {
        const double rounding = 100 * EPS, start = (double)at_start.cost;
        TEST_CHECK_(r.stats.history == r.stats.iterations + 1, "%d recorded of %d",
                    (int)r.stats.history, (int)r.stats.iterations);
        TEST_CHECK_(fabs((double)history[0].cost - start) <= rounding * (double)at_start.energy,
                    "cost at the start %g for %g", (double)history[0].cost, start);
        if (at_start.momentum_error > (IN_FLOAT ? 1e-2L : 1e-8L) && r.stats.islands == 1) {
            const double error = (double)at_start.momentum_error;
            const double gradient = sqrt((double)scaled_square(&p->problem, at_start.gradient, 0));
            const double close = IN_FLOAT ? 1e-2 : 1e-4;
            TEST_CHECK_(fabs((double)history[0].momentum_error - error) <= close * error,
                        "momentum error at the start %g for %g", (double)history[0].momentum_error,
                        error);
            TEST_CHECK_(fabs((double)history[0].gradient - gradient) <= close * gradient,
                        "gradient at the start %g for %g", (double)history[0].gradient, gradient);
        }
        for (i = 1; i < r.stats.history; i++) {
            const double from = (double)history[i - 1].cost, to = (double)history[i].cost;
            TEST_CHECK_(to <= from + rounding * (double)(at_end.energy + (real)from),
                        "iteration %d: the cost rises from %.17g to %.17g", (int)i, from, to);
            TEST_CHECK(history[i].gradient >= 0 && history[i].momentum_error >= 0);
        }
        TEST_CHECK(fabs((double)history[r.stats.history - 1].cost - (double)r.stats.cost) <=
                   rounding * (double)at_end.energy);
    }
    run_free(&r);

    /* with little room only the first are kept, and nothing changes */
    if (!is_large(kind)) {
        icf_iteration few[3];
        r = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
        memset(few, 0x5A, sizeof few);
        options.history = few;
        options.history_capacity = 2;
        s = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
        TEST_CHECK(s.stats.history == (r.stats.iterations < 1 ? 1 : 2));
        TEST_CHECK(!memcmp(few, history, (size_t)s.stats.history * sizeof *few));
        TEST_CHECK(((const unsigned char*)few)[2 * sizeof *few] == 0x5A);
        TEST_CHECK(!memcmp(r.v, s.v, (size_t)p->unknowns * sizeof *r.v));
        run_free(&r);
        run_free(&s);
    }
    reference_free(&at_start);
    reference_free(&at_end);
    free(history);
}

static void test_history_is_that_of_the_solve(void)
{
    for_each_problem(check_history);
}

static int stop_after(void* user)
{
    int* left = (int*)user;
    return --*left < 0;
}

static int all_finite(const icf_real* v, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        if (!is_finite((double)v[i])) return 0;
    }
    return 1;
}

static void check_budgets(const icfp* p, int model, int kind)
{
    icf_real* answer = to_reals(p->v, p->unknowns);
    reference start = reference_of(p, p->v_start), least = reference_of(p, answer);
    run full = solve_from(p, to_the_floor, p->v_start);
    int way, budget;
    (void)model;
    (void)kind;
    for (way = 0; way < 3; way++) {
        real before = start.cost;
        for (budget = 1; budget <= 3; budget++) {
            icf_options options = icf_default_options();
            reference at;
            run r;
            int left = budget;
            real rounding;
            options.tolerance = (icf_real)to_the_floor;
            if (way == 0) options.iterations = budget;
            if (way == 1) options.factorizations = budget;
            if (way == 2) {
                options.should_stop = stop_after;
                options.user = &left;
            }
            r = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
            at = reference_of(p, r.v);
            rounding = (real)(100 * EPS) * (at.energy + before);
            if (way == 0) TEST_CHECK(r.stats.iterations <= budget);
            if (way == 1) TEST_CHECK(r.stats.factorizations <= budget);
            if (way == 2) TEST_CHECK(left >= -1);
            if (r.result == ICF_RESULT_NOT_CONVERGED) {
                static const icf_stop stops[3] = {ICF_STOP_ITERATIONS, ICF_STOP_FACTORIZATIONS,
                                                  ICF_STOP_CALLER};
                TEST_CHECK_(r.stats.stop == stops[way], "stop %d", (int)r.stats.stop);
            } else {
                succeeded(&r);
            }
            if (TEST_CHECK(all_finite(r.v, p->unknowns))) {
                TEST_CHECK_(at.cost <= before + rounding, "budget %d: cost %g was %g", budget,
                            (double)at.cost, (double)before);
                /* an iteration is worth something, as long as there is something to gain */
                if (start.cost - least.cost > (real)(1e5 * EPS) * start.energy)
                    TEST_CHECK_(at.cost < start.cost - (real)0.01 * (start.cost - least.cost),
                                "budget %d: cost %g after %g, least %g", budget, (double)at.cost,
                                (double)start.cost, (double)least.cost);
                TEST_CHECK(fabs((double)r.stats.cost - (double)at.cost) <= (double)rounding);
                check_honest(p, &r);
                check_certificate(&at, &r.stats, least.cost);
                before = at.cost;
            }
            reference_free(&at);
            run_free(&r);
        }
    }
    run_free(&full);
    reference_free(&start);
    reference_free(&least);
    free(answer);
}

static void test_budgets_give_the_best_so_far(void)
{
    for_each_problem(check_budgets);
}

// ------------------------------------------------------------------------------------------------
// What the contacts do

static int modes_seen[ICFP_MODELS][3];

static void check_modes(const icfp* p, int model, int kind)
{
    run r = solve_from(p, to_the_floor, p->v_start);
    int count[3] = {0, 0, 0}, borders = 0, i;
    int32_t c;
    if (succeeded(&r)) {
        for (c = 0; c < p->contacts; c++) {
            icf_contact_result got;
            memset(&got, 0, sizeof got);
            TEST_CHECK(icf_get_contact(&r.workspace, c, &got) == ICF_RESULT_OK);
            if (TEST_CHECK(got.mode >= ICF_MODE_OPEN && got.mode <= ICF_MODE_SLIP))
                count[got.mode]++;
        }
        for (i = 0; i < 3; i++) {
            borders += abs(count[i] - summary[model][kind][i]);
            modes_seen[model][i] += count[i];
        }
        /* float: a few that are at a border */
        TEST_CHECK_(borders <= (IN_FLOAT ? 2 * (1 + p->contacts / 50) : 0),
                    "%d open, %d stick, %d slip; should be %d, %d, %d", count[0], count[1],
                    count[2], summary[model][kind][0], summary[model][kind][1],
                    summary[model][kind][2]);
    }
    run_free(&r);
}

static void test_contacts_open_stick_or_slip(void)
{
    int model, i;
    memset(modes_seen, 0, sizeof modes_seen);
    for_each_problem(check_modes);
    for (model = 0; model < ICFP_MODELS; model++) {
        for (i = 0; i < 3; i++)
            TEST_CHECK_(modes_seen[model][i] >= 30, "model %d, mode %d: %d", model, i,
                        modes_seen[model][i]);
    }
}

// ------------------------------------------------------------------------------------------------
// What the solver can tell about a problem

/* The inverse effective masses of the file, which the library can compute itself; and the Jacobians
   that it was given. */
static void check_masses(const icfp* p, int model, int kind)
{
    units same = {1, 1, 1, NULL};
    copy q = in_units(p, &same);
    icf_options options = icf_default_options();
    run r, given;
    icf_real j[3 * 64];
    int32_t c, b, i;
    size_t at = 0;
    (void)model;
    for (c = 0; c < p->contacts; c++) q.contact[c].effective_mass_inverse = 0;
    if (!IN_FLOAT) options.tolerance = (icf_real)1e-8;
    r = solve_problem(&q.problem, p->unknowns, &options, p->v_start);
    given = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
    succeeded(&r);
    for (c = 0; c < p->contacts; c++) {
        icf_contact_result got;
        const double w = p->more[c].w;
        memset(&got, 0, sizeof got);
        TEST_CHECK(icf_get_contact(&r.workspace, c, &got) == ICF_RESULT_OK);
        /* A of the trees has a condition of some hundreds */
        TEST_CHECK_(fabs((double)got.w - w) <= 1e4 * EPS * w, "contact %d: w %g for %g", (int)c,
                    (double)got.w, w);
    }
    for (i = 0; i < p->unknowns; i++) r.v[i] -= given.v[i];
    for (i = 0; i < p->unknowns; i++) given.v[i] = (icf_real)0;
    {
        double* zero = (double*)allocate((size_t)p->unknowns, sizeof *zero);
        const double moved = distance_between(p, r.v, zero);
        TEST_CHECK_(moved <= 20 * (double)options.tolerance, "own w: velocities differ by %g",
                    moved);
        free(zero);
    }

    for (c = 0; c < p->contacts; c++) {
        icf_real w9[9];
        double sum = 0;
        for (b = p->problem.link_start[c]; b < p->problem.link_start[c + 1]; b++) {
            const int32_t clique = p->problem.block_clique[b];
            const int32_t n = 3 * p->problem.clique_sizes[clique];
            if (!TEST_CHECK(n <= 3 * 64)) break;
            memset(j, 0x5A, sizeof j);
            TEST_CHECK(icf_contact_jacobian(&p->problem, c, clique, j) == ICF_RESULT_OK);
            for (i = 0; i < n; i++) TEST_CHECK(j[i] == p->problem.blocks[at + (size_t)i]);
            at += (size_t)n;
        }
        if (is_large(kind) && c > 20) continue;
        memset(w9, 0, sizeof w9);
        TEST_CHECK(icf_contact_delassus(&p->problem, c, c, &given.workspace, w9) == ICF_RESULT_OK);
        for (i = 0; i < 9; i++) sum += (double)w9[i] * (double)w9[i];
        TEST_CHECK_(fabs(sqrt(sum) / 3 - p->more[c].w) <= 1e4 * EPS * p->more[c].w,
                    "contact %d: |W| / 3 = %g for %g", (int)c, sqrt(sum) / 3, p->more[c].w);
    }
    run_free(&r);
    run_free(&given);
    copy_free(&q);
}

static void test_effective_masses_and_jacobians(void)
{
    for_each_problem(check_masses);
}

// ------------------------------------------------------------------------------------------------
// Memory and conjugate gradients

/* Solves in memory of a size, with what is in it */
static icf_result solve_in(const icfp* p, const icf_options* options, unsigned char* memory,
                           size_t bytes, icf_real* v, icf_stats* stats)
{
    icf_workspace workspace;
    icf_result result;
    size_t i;
    memset(&workspace, 0, sizeof workspace);
    memset(stats, 0, sizeof *stats);
    memcpy(v, p->v_start, (size_t)p->unknowns * sizeof *v);
    for (i = 0; i < 64; i++) memory[bytes + i] = 0xC5;
    result = icf_workspace_init(&workspace, memory, bytes);
    if (result == ICF_RESULT_OK) result = icf_solve(&p->problem, options, &workspace, v, stats);
    for (i = 0; i < 64; i++) {
        if (memory[bytes + i] != 0xC5) {
            TEST_CHECK_(0, "byte %d behind the workspace is written", (int)i);
            break;
        }
    }
    return result;
}

static void check_memory(const icfp* p, int model, int kind)
{
    icf_options options = icf_default_options();
    const size_t most = icf_workspace_bytes(&p->problem, ICF_SPARSE_FULL);
    const size_t least = icf_workspace_bytes(&p->problem, ICF_SPARSE_ITERATIVE);
    const size_t n = (size_t)p->unknowns * sizeof(icf_real);
    unsigned char* memory;
    icf_real *v, *expected;
    icf_stats stats, first;
    icf_result result;
    size_t liked;
    int trial;
    run r;
    (void)model;
    TEST_CHECK_(least > 0 && least <= most, "%lu and %lu bytes", (unsigned long)least,
                (unsigned long)most);
    if (!TEST_CHECK(most < 1u << 30)) return;
    memory = (unsigned char*)allocate(most + 64, 1);
    v = (icf_real*)allocate((size_t)p->unknowns, sizeof *v);
    expected = (icf_real*)allocate((size_t)p->unknowns, sizeof *v);
    r = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
    memcpy(expected, r.v, n);
    first = r.stats;
    liked = first.bytes;

    /* again in the same workspace: the same bits */
    memcpy(r.v, p->v_start, n);
    TEST_CHECK(icf_solve(&p->problem, &options, &r.workspace, r.v, &stats) == r.result);
    TEST_CHECK(!memcmp(r.v, expected, n) && stats.trials == first.trials);
    run_free(&r);

    /* in memory with anything in it */
    for (trial = 0; trial < 2; trial++) {
        memset(memory, trial ? 0xFF : 0, most);
        result = solve_in(p, &options, memory, most, v, &stats);
        TEST_CHECK(result == ICF_RESULT_OK && stats.iterative == 0);
        TEST_CHECK(!memcmp(v, expected, n) && stats.iterations == first.iterations &&
                   stats.cost == first.cost);
    }

    /* in as much as it would have liked */
    if (TEST_CHECK(liked > 0 && liked <= most)) {
        memset(memory, 0x77, most);
        result = solve_in(p, &options, memory, liked, v, &stats);
        TEST_CHECK(result == ICF_RESULT_OK && stats.iterative == 0 && stats.bytes <= liked);
        TEST_CHECK(!memcmp(v, expected, n));
    }

    /* in as little as may be: no factors, another way to the same place */
    if (!is_large(kind)) {
        memset(memory, 0xFF, most);
        result = solve_in(p, &options, memory, least, v, &stats);
        TEST_CHECK_(result == ICF_RESULT_OK, "least memory: %s, stop %d", icf_result_string(result),
                    (int)stats.stop);
        if (result == ICF_RESULT_OK && stats.stop == ICF_STOP_CONVERGED)
            TEST_CHECK_(distance_between(p, v, p->v) <=
                            10 * (double)options.tolerance + (IN_FLOAT ? attainable : 0),
                        "least memory: velocity error %g", distance_between(p, v, p->v));
    }

    /* in almost none: refused, and the velocities stay */
    result = solve_in(p, &options, memory, 64, v, &stats);
    TEST_CHECK(result == ICF_RESULT_TOO_SMALL && !memcmp(v, p->v_start, n));
    free(memory);
    free(v);
    free(expected);
}

static void test_memory_of_any_size(void)
{
    for_each_problem(check_memory);
}

static void check_iterative(const icfp* p, int model, int kind)
{
    icf_options options = icf_default_options();
    icf_real* answer = to_reals(p->v, p->unknowns);
    reference at, least = reference_of(p, answer);
    run r;
    (void)model;
    options.iterative = 1;
    if (!is_large(kind) || model == ICFP_SAP) {
        double error;
        r = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
        error = distance_between(p, r.v, p->v);
        at = reference_of(p, r.v);
        if (succeeded(&r)) {
            TEST_CHECK(r.stats.iterative == (p->trees > 1)); /* one clique is no sparse matrix */
            check_honest(p, &r);
            check_certificate(&at, &r.stats, least.cost);
            if (r.stats.stop == ICF_STOP_CONVERGED)
                TEST_CHECK_(error <= 10 * (double)options.tolerance + (IN_FLOAT ? attainable : 0),
                            "velocity error %g", error);
            else
                TEST_CHECK_(IN_FLOAT, "stop %d", (int)r.stats.stop);
        }
        reference_free(&at);
        run_free(&r);
    }
    reference_free(&least);
    free(answer);
}

static void test_iterative_answers(void)
{
    for_each_problem(check_iterative);
}

// ------------------------------------------------------------------------------------------------
// Many problems as one

/* The problems with a step of 10 ms, one after another and between them a clique that nothing
   touches; their contacts in turn. */
enum { TOGETHER = 16 };

typedef struct together {
    icfp parts[TOGETHER];
    icf_problem all; /* of the arrays below */
    icf_real *mass, *v_free, *v_last, *blocks, *bias;
    int32_t *sizes, *rows, *start, *cliques;
    icf_contact* contact;
    icf_surface* surface;
    size_t unknowns, entries;
    int32_t links;
    int32_t first[TOGETHER]; /* clique of each part */
    /* each part by itself */
    icf_real* expected; /* velocities */
    icf_stats stats[TOGETHER];
} together;

static int read_together(icfp* parts)
{
    static const int with_10ms[4] = {0, 3, 4, 7};
    int i, count = 0;
    for (i = 0; i < TOGETHER; i++)
        if (read_golden(i / 4, with_10ms[i % 4], &parts[i])) count++;
    return count;
}

/* Room for all parts and the clique that nothing touches */
static void together_allocate(together* t)
{
    size_t n = 1, squares = 1, links, cliques = 1;
    int32_t i, j;
    for (i = 0; i < TOGETHER; i++) {
        const icf_problem* p = &t->parts[i].problem;
        n += (size_t)t->parts[i].unknowns;
        t->links += p->links;
        cliques += (size_t)p->cliques;
        for (j = 0; j < p->cliques; j++)
            squares += (size_t)p->clique_sizes[j] * (size_t)p->clique_sizes[j];
        for (j = 0; j < p->link_start[p->links]; j++)
            t->entries += 3 * (size_t)p->clique_sizes[p->block_clique[j]];
    }
    links = (size_t)t->links;
    t->all.clique_sizes = t->sizes = (int32_t*)allocate(cliques, sizeof(int32_t));
    t->all.mass = t->mass = (icf_real*)allocate(squares, sizeof(icf_real));
    t->all.v_free = t->v_free = (icf_real*)allocate(n, sizeof(icf_real));
    t->all.v_last = t->v_last = (icf_real*)allocate(n, sizeof(icf_real));
    t->all.link_rows = t->rows = (int32_t*)allocate(links, sizeof(int32_t));
    t->all.link_start = t->start = (int32_t*)allocate(links + 1, sizeof(int32_t));
    t->all.block_clique = t->cliques = (int32_t*)allocate(2 * links, sizeof(int32_t));
    t->all.blocks = t->blocks = (icf_real*)allocate(t->entries, sizeof(icf_real));
    t->all.link_bias = t->bias = (icf_real*)allocate(3 * links, sizeof(icf_real));
    t->all.contact = t->contact = (icf_contact*)allocate(links, sizeof(icf_contact));
    t->all.surface = t->surface = (icf_surface*)allocate(links, sizeof(icf_surface));
    t->expected = (icf_real*)allocate(n, sizeof(icf_real));
}

static void together_free(together* t)
{
    int i;
    for (i = 0; i < TOGETHER; i++) icfp_free(&t->parts[i]);
    free(t->sizes);
    free(t->mass);
    free(t->v_free);
    free(t->v_last);
    free(t->rows);
    free(t->start);
    free(t->cliques);
    free(t->blocks);
    free(t->bias);
    free(t->contact);
    free(t->surface);
    free(t->expected);
}

/* The cliques of all parts, and what each answers by itself */
static void together_add_cliques(together* t, const icf_options* options)
{
    size_t squares = 0, n = 0;
    int32_t i, j;
    for (i = 0; i < TOGETHER; i++) {
        const icf_problem* p = &t->parts[i].problem;
        const size_t bytes = (size_t)t->parts[i].unknowns * sizeof(icf_real);
        const icf_real* mass = p->mass;
        run r = solve_golden(&t->parts[i], options);
        succeeded(&r);
        t->stats[i] = r.stats;
        if (i == TOGETHER / 2) { /* alone */
            t->sizes[t->all.cliques++] = 1;
            t->mass[squares++] = 3;
            t->v_free[n] = t->expected[n] = (icf_real)0.7;
            t->v_last[n++] = 5;
        }
        memcpy(t->expected + n, r.v, bytes);
        memcpy(t->v_free + n, p->v_free, bytes);
        memcpy(t->v_last + n, p->v_last, bytes);
        n += (size_t)t->parts[i].unknowns;
        t->first[i] = t->all.cliques;
        for (j = 0; j < p->cliques; j++) {
            const size_t size = (size_t)p->clique_sizes[j];
            t->sizes[t->all.cliques++] = p->clique_sizes[j];
            memcpy(t->mass + squares, mass, size * size * sizeof *mass);
            mass += size * size;
            squares += size * size;
        }
        run_free(&r);
    }
    t->unknowns = n;
}

/* The first link of every part, the second of every part ... */
static void together_add_links(together* t)
{
    size_t block = 0, used[TOGETHER] = {0};
    int32_t i, j, round, before = -1;
    for (round = 0; before < t->all.links; round++) {
        before = t->all.links;
        for (i = 0; i < TOGETHER; i++) {
            const icf_problem* p = &t->parts[i].problem;
            const int32_t link = t->all.links;
            if (round >= p->links) continue;
            t->rows[link] = 3;
            t->start[link + 1] = t->start[link];
            memcpy(t->bias + 3 * link, p->link_bias + 3 * round, 3 * sizeof(icf_real));
            for (j = p->link_start[round]; j < p->link_start[round + 1]; j++) {
                const size_t size = 3 * (size_t)p->clique_sizes[p->block_clique[j]];
                t->cliques[t->start[link + 1]++] = t->first[i] + p->block_clique[j];
                memcpy(t->blocks + block, p->blocks + used[i], size * sizeof(icf_real));
                block += size;
                used[i] += size;
            }
            t->contact[link] = p->contact[round];
            t->contact[link].link = t->contact[link].surface = link;
            t->surface[link] = p->surface[p->contact[round].surface];
            t->all.links++;
        }
    }
    t->all.contacts = t->all.surfaces = t->all.links;
    TEST_CHECK(block == t->entries && t->all.links == t->links);
}

/* All at once: the same digits, as nobody knows of the others */
static void check_together(const together* t, const icf_options* options)
{
    run r = solve_problem(&t->all, (int32_t)t->unknowns, options, t->v_last);
    if (succeeded(&r)) {
        double error = 0, cost = 0, certificate = 0, largest = 0;
        int32_t i, iterations = 0, factorizations = 0, sum = 0, trials = 0;
        for (i = 0; i < TOGETHER; i++) {
            const icf_stats* part = &t->stats[i];
            if (iterations < part->iterations) iterations = part->iterations;
            if (factorizations < part->factorizations) factorizations = part->factorizations;
            sum += part->factorizations;
            trials += part->trials;
            error = larger(error, (double)part->momentum_error);
            largest = larger(largest, (double)part->gradient);
            cost += (double)part->cost;
            certificate += (double)part->certificate;
        }
        TEST_CHECK_(r.stats.islands == TOGETHER, "%d islands", (int)r.stats.islands);
        TEST_CHECK_(!memcmp(r.v, t->expected, t->unknowns * sizeof *r.v), "other velocities");
        TEST_CHECK(r.stats.iterations == iterations);
        TEST_CHECK(r.stats.factorizations == factorizations);
        TEST_CHECK(r.stats.island_factorizations == sum);
        TEST_CHECK(r.stats.trials == trials);
        TEST_CHECK((double)r.stats.momentum_error == error);
        TEST_CHECK((double)r.stats.gradient >= largest);
        TEST_CHECK(fabs((double)r.stats.cost - cost) <= 100 * EPS * cost);
        TEST_CHECK(fabs((double)r.stats.certificate - certificate) <= 100 * EPS * certificate);
    }
    run_free(&r);
}

/* A budget that ends some islands and not others */
static void check_together_short(const together* t, icf_options options)
{
    size_t n = 0;
    int i;
    run r;
    options.iterations = 4;
    r = solve_problem(&t->all, (int32_t)t->unknowns, &options, t->v_last);
    TEST_CHECK(r.result == ICF_RESULT_NOT_CONVERGED && r.stats.stop == ICF_STOP_ITERATIONS);
    TEST_CHECK(r.stats.iterations == 4 && r.stats.islands == TOGETHER);
    for (i = 0; i < TOGETHER; i++) {
        const size_t part = (size_t)t->parts[i].unknowns;
        if (i == TOGETHER / 2) n++;
        if (t->stats[i].iterations <= 4)
            TEST_CHECK(!memcmp(r.v + n, t->expected + n, part * sizeof *r.v));
        n += part;
    }
    run_free(&r);
}

static void test_islands_as_each_alone(void)
{
    static together t;
    icf_options options = icf_default_options();
    options.tolerance = (icf_real)(IN_FLOAT ? 1e-3 : 1e-9);
    memset(&t, 0, sizeof t);
    t.all = icf_default_problem();
    if (!TEST_CHECK(read_together(t.parts) == TOGETHER)) return;
    t.all.dt = t.parts[0].problem.dt;
    together_allocate(&t);
    together_add_cliques(&t, &options);
    together_add_links(&t);
    check_together(&t, &options);
    check_together_short(&t, options);
    together_free(&t);
}

// ------------------------------------------------------------------------------------------------
// The reader of the files

static void test_reader_refuses_damage(void)
{
    static const char* const path = "tests/golden/problems/lagged_04_box4.txt";
    icfp_file file, part;
    icfp p;
    size_t length, cut, i;
    char* text;
    int got, without_answer = 0, trial, read = 0, refused = 0;
    if (!TEST_CHECK(icfp_open(&file, path))) return;
    length = (size_t)(file.end - file.at);
    text = (char*)allocate(2 * length + 64, 1);
    TEST_CHECK(icfp_next(&file, &p) == 1 && p.contacts == 4 && p.unknowns == 6);
    icfp_free(&p);

    /* a file that ends early is refused, but for the two places where a problem may end */
    for (cut = 0; cut < length; cut++) {
        memcpy(text, file.text, cut);
        text[cut] = 0;
        icfp_open_text(&part, "cut", text, cut);
        got = icfp_next(&part, &p);
        if (got == 1) {
            TEST_CHECK(p.unknowns == 6 && p.contacts == 4);
            if (!p.has_answer) without_answer++;
            if (p.has_answer) TEST_CHECK_(cut > length - 12, "an answer after %d bytes", (int)cut);
            icfp_free(&p);
            TEST_CHECK(icfp_next(&part, &p) == 0);
        } else {
            TEST_CHECK(cut == 0 || got == 0 || !strncmp(part.message, "cut:", 4));
            TEST_CHECK_(got < 0 || cut == 0, "%d bytes: %d", (int)cut, got);
        }
    }
    TEST_CHECK_(without_answer >= 1 && without_answer <= 3, "%d", without_answer);

    /* several, with ids or without an answer */
    memcpy(text, file.text, length);
    memcpy(text + length, "IDS 7 5 3 1\n", 12);
    memcpy(text + length + 12, file.text, length);
    icfp_open_text(&part, "two", text, 2 * length + 12);
    TEST_CHECK(icfp_next(&part, &p) == 1 && p.has_answer && p.has_ids && p.ids[3] == 1);
    icfp_free(&p);
    TEST_CHECK(icfp_next(&part, &p) == 1 && p.has_answer && !p.has_ids);
    icfp_free(&p);
    TEST_CHECK(icfp_next(&part, &p) == 0);

    /* damaged in a place or two: a problem with sizes in range, or a message with the line */
    random_seed(SEED);
    for (trial = 0; trial < 3000; trial++) {
        memcpy(text, file.text, length);
        for (i = 0; i <= (size_t)trial % 3; i++)
            text[random_below(trial % 2 ? 200 : (int)length)] =
                trial % 5 ? "0123456789-.eE \nInf"[random_below(19)] : (char)random_bits();
        text[length] = 0;
        icfp_open_text(&part, "damaged", text, length);
        got = icfp_next(&part, &p);
        if (got == 1) {
            int32_t sum = 0, t;
            for (t = 0; t < p.trees; t++) sum += p.problem.clique_sizes[t];
            TEST_CHECK(sum == p.unknowns);
            for (t = 0; t < p.problem.link_start[p.contacts]; t++)
                TEST_CHECK(p.problem.block_clique[t] >= 0 && p.problem.block_clique[t] < p.trees);
            icfp_free(&p);
            read++;
        } else {
            TEST_CHECK(got < 0 && !strncmp(part.message, "damaged:", 8));
            refused++;
        }
    }
    TEST_CHECK_(read >= 300 && refused >= 300, "%d read, %d refused", read, refused);
    free(text);
    icfp_close(&file);

    TEST_CHECK(!icfp_open(&file, "tests/golden/problems/no-such-file.txt") && file.message[0]);
    icfp_close(&file);
}

// ------------------------------------------------------------------------------------------------
// Problems as text

/* What icf_problem_dump writes, in a block without a byte to spare; free it */
static char* text_of(const icf_problem* p, const icf_options* options, const icf_real* v,
                     size_t* length)
{
    size_t measured = 0;
    icf_result result = icf_problem_dump(p, options, v, NULL, 0, &measured);
    char* text = (char*)allocate(measured + 1, 1);
    TEST_CHECK_(result == ICF_RESULT_OK, "measured: %s", icf_result_string(result));
    result = icf_problem_dump(p, options, v, text, measured + 1, length);
    TEST_CHECK_(result == ICF_RESULT_OK, "written: %s", icf_result_string(result));
    TEST_CHECK(*length == measured && strlen(text) == measured);
    return text;
}

/* Of a text that holds one problem, that; icfp_free it */
static icfp problem_of(const char* text, size_t length)
{
    icfp_file file;
    icfp p, none;
    int got;
    icfp_open_text(&file, "text", text, length);
    got = icfp_next(&file, &p);
    TEST_ASSERT_(got == 1, "%s", file.message);
    TEST_CHECK(icfp_next(&file, &none) == 0);
    TEST_CHECK(p.version == 3 && p.bits == 8 * (int)sizeof(icf_real) && p.model == ICFP_ANY);
    return p;
}

/* The numbers of two structs, by the names that the reader knows */
static int same_struct(int of, const void* a, const void* b)
{
    const icfp_column* column;
    int count = icfp_columns(of, &column), i, same = 1;
    for (i = 0; i < count; i++) {
        const size_t bytes = column[i].integer ? sizeof(int32_t) : sizeof(icf_real);
        same &= TEST_CHECK_(
            !memcmp((const char*)a + column[i].offset, (const char*)b + column[i].offset, bytes),
            "%s is not what was written", column[i].name);
    }
    return same;
}

static void check_same_problem(const icf_problem* a, const icf_problem* b)
{
    const size_t real = sizeof(icf_real), integer = sizeof(int32_t);
    size_t n = 0, squares = 0, entries = 0, bias = 0, couplings = 0;
    int32_t i, k;
    TEST_ASSERT(a->cliques == b->cliques && a->couplings == b->couplings && a->links == b->links &&
                a->contacts == b->contacts && a->rows == b->rows);
    TEST_CHECK(same_bits(&a->dt, &b->dt, real));
    TEST_ASSERT(same_bits(a->clique_sizes, b->clique_sizes, (size_t)a->cliques * integer));
    TEST_ASSERT(
        same_bits(a->coupling_pairs, b->coupling_pairs, 2 * (size_t)a->couplings * integer));
    TEST_ASSERT(same_bits(a->link_rows, b->link_rows, (size_t)a->links * integer));
    if (a->links)
        TEST_ASSERT(same_bits(a->link_start, b->link_start, ((size_t)a->links + 1) * integer));
    for (i = 0; i < a->cliques; i++) {
        const int body = a->clique_is_body && a->clique_is_body[i];
        TEST_CHECK(body == (b->clique_is_body && b->clique_is_body[i]));
        n += (size_t)a->clique_sizes[i];
        squares += body ? 7 : (size_t)a->clique_sizes[i] * (size_t)a->clique_sizes[i];
    }
    for (i = 0; i < a->couplings; i++)
        couplings += (size_t)a->clique_sizes[a->coupling_pairs[2 * i]] *
                     (size_t)a->clique_sizes[a->coupling_pairs[2 * i + 1]];
    for (i = 0; i < a->links; i++) {
        bias += (size_t)a->link_rows[i];
        for (k = a->link_start[i]; k < a->link_start[i + 1]; k++) {
            if (a->block_lever && a->block_lever[k].sign != 0) {
                TEST_CHECK(same_bits(a->block_lever + k, b->block_lever + k, sizeof(icf_lever)));
                continue;
            }
            TEST_CHECK(!b->block_lever || b->block_lever[k].sign == 0);
            TEST_CHECK(columns_of(a, k) == columns_of(b, k));
            entries += (size_t)a->link_rows[i] * (size_t)columns_of(a, k);
        }
    }
    TEST_CHECK(same_bits(a->mass, b->mass, squares * real));
    TEST_CHECK(same_bits(a->v_free, b->v_free, n * real));
    if (a->v_last) TEST_CHECK(same_bits(a->v_last, b->v_last, n * real));
    TEST_CHECK(!a->mass_bound == !b->mass_bound);
    if (a->mass_bound) TEST_CHECK(same_bits(a->mass_bound, b->mass_bound, squares * real));
    TEST_CHECK(same_bits(a->coupling_blocks, b->coupling_blocks, couplings * real));
    TEST_CHECK(same_bits(a->blocks, b->blocks, entries * real));
    if (a->link_bias) TEST_CHECK(same_bits(a->link_bias, b->link_bias, bias * real));
    TEST_ASSERT(a->surfaces == b->surfaces);
    for (i = 0; i < a->surfaces; i++) same_struct(3, a->surface + i, b->surface + i);
    for (i = 0; i < a->contacts; i++) same_struct(0, a->contact + i, b->contact + i);
    for (i = 0; i < a->rows; i++) same_struct(1, a->row + i, b->row + i);
}

/* Every golden problem, written and read: the same numbers, and the same answer */
static void check_written(const icfp* p, int model, int kind)
{
    icf_options options = icf_default_options();
    size_t length;
    char* text;
    icfp back;
    run a, b;
    (void)model;
    options.tolerance = (icf_real)3e-4;
    text = text_of(&p->problem, &options, p->v_start, &length);
    back = problem_of(text, length);
    TEST_CHECK(back.unknowns == p->unknowns && back.contacts == p->contacts);
    TEST_CHECK(same_bits(back.v_start, p->v_start, (size_t)p->unknowns * sizeof(icf_real)));
    check_same_problem(&p->problem, &back.problem);
    same_struct(2, &options, &back.options);
    if (!is_large(kind)) {
        a = solve_problem(&p->problem, p->unknowns, &options, p->v_start);
        b = solve_problem(&back.problem, back.unknowns, &back.options, back.v_start);
        TEST_CHECK(a.result == b.result && same_bits(a.v, b.v, (size_t)p->unknowns * sizeof *a.v));
        TEST_CHECK(a.stats.iterations == b.stats.iterations && a.stats.cost == b.stats.cost);
        run_free(&a);
        run_free(&b);
    }
    icfp_free(&back);
    free(text);
}

static void test_written_problems_come_back(void)
{
    for_each_problem(check_written);
}

static icf_real random_bits_real(void)
{
    static const double special[] = {0.0, -0.0,  1,      -1,     0.1,    99999,  100000,
                                     -3,  15.75, 1e-300, 1e-320, -1e300, 1e-40f, -1e-45f};
    icf_real x;
    unsigned char bytes[sizeof x];
    size_t i;
    if (random_below(4) == 0) {
        const double y = special[random_below((int)(sizeof special / sizeof *special))];
        /* not beyond what a real holds */
        return (icf_real)(y > (double)REAL_MAX    ? (double)REAL_MAX
                          : y < -(double)REAL_MAX ? -(double)REAL_MAX
                                                  : y);
    }
    if (random_below(3) == 0) { /* what people write */
        static const double units[] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
        const int n = random_below(2) ? random_below(30000000) : random_below(1000);
        return (icf_real)(n / units[random_below(9)]);
    }
    do {
        for (i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(random_bits() >> 7);
        memcpy(&x, bytes, sizeof x);
    } while (!is_finite((double)x));
    return x;
}

static void fill_struct(int of, void* to)
{
    const icfp_column* column;
    int count = icfp_columns(of, &column), i;
    for (i = 0; i < count; i++) {
        const int32_t n = (int32_t)random_bits();
        const icf_real x = random_bits_real();
        if (column[i].integer)
            memcpy((char*)to + column[i].offset, &n, sizeof n);
        else
            memcpy((char*)to + column[i].offset, &x, sizeof x);
    }
}

enum { ODD_CLIQUES = 5, ODD_LINKS = 3, ODD_STRUCTS = 8 };

/* A problem with all that there can be, and any numbers in it */
typedef struct odd_problem {
    icf_problem p;
    icf_options options;
    int32_t sizes[ODD_CLIQUES], is_body[ODD_CLIQUES], pairs[4], rows[ODD_LINKS],
        start[ODD_LINKS + 1];
    int32_t cliques[6], columns[12];
    icf_lever lever[6];
    icf_real mass[42], bound[42], v[15], v_free[15], v_last[15], coupling[9], blocks[100], bias[10];
    icf_contact contact[ODD_STRUCTS];
    icf_surface surface[ODD_STRUCTS];
    icf_row row[ODD_STRUCTS];
} odd_problem;

static void odd_make(odd_problem* o)
{
    static const int32_t sizes[ODD_CLIQUES] = {5, 0, 3, 1, 6}, pairs[4] = {2, 3, 3, 0};
    static const int32_t rows[ODD_LINKS] = {6, 1, 3}, start[ODD_LINKS + 1] = {0, 4, 4, 6};
    static const int32_t cliques[6] = {3, 1, 0, 4, 2, 4};
    size_t i;
    memset(o, 0, sizeof *o);
    memcpy(o->sizes, sizes, sizeof sizes);
    memcpy(o->pairs, pairs, sizeof pairs);
    memcpy(o->rows, rows, sizeof rows);
    memcpy(o->start, start, sizeof start);
    memcpy(o->cliques, cliques, sizeof cliques);
    for (i = 0; i < 42; i++) o->mass[i] = random_bits_real(), o->bound[i] = random_bits_real();
    for (i = 0; i < 15; i++) {
        o->v[i] = random_bits_real();
        o->v_free[i] = random_bits_real();
        o->v_last[i] = random_bits_real();
    }
    for (i = 0; i < 9; i++) o->coupling[i] = random_bits_real();
    for (i = 0; i < 6; i++) o->columns[2 * i + 1] = sizes[cliques[i]];
    o->columns[4] = 2, o->columns[5] = 3; /* of five */
    o->is_body[4] = 1; /* its block in link 0 is numbers, that in link 2 a lever */
    o->lever[5].r = icf_vec3_make(random_bits_real(), random_bits_real(), random_bits_real());
    o->lever[5].sign = random_below(2) ? 1 : -1;
    for (i = 0; i < 100; i++) o->blocks[i] = random_bits_real();
    for (i = 0; i < 10; i++) o->bias[i] = random_bits_real();
    for (i = 0; i < ODD_STRUCTS; i++) {
        o->contact[i] = icf_default_contact();
        fill_struct(0, &o->contact[i]);
        o->surface[i] = icf_default_surface();
        fill_struct(3, &o->surface[i]);
        o->contact[i].surface = ODD_STRUCTS - 1 - (int32_t)i;
        o->contact[i].link = (int32_t)i % ODD_LINKS;
        o->surface[i].model = (int32_t)i - 2;
        o->surface[i].law = i == 4 ? ICF_LAW_CUSTOM : (int32_t)(i % 5); /* 4 is of SAP */
        o->row[i] = icf_default_row(ICF_ROW_MOTOR);
        fill_struct(1, &o->row[i]);
        o->row[i].link = (int32_t)i % ODD_LINKS;
    }
    o->options = icf_default_options();
    fill_struct(2, &o->options);
    o->p = icf_default_problem();
    o->p.dt = random_bits_real();
    o->p.cliques = ODD_CLIQUES;
    o->p.clique_sizes = o->sizes;
    o->p.clique_is_body = o->is_body;
    o->p.block_lever = o->lever;
    o->p.block_columns = o->columns;
    o->p.mass = o->mass;
    o->p.v_free = o->v_free;
    o->p.v_last = o->v_last;
    o->p.couplings = 2;
    o->p.coupling_pairs = o->pairs;
    o->p.coupling_blocks = o->coupling;
    o->p.mass_bound = o->bound;
    o->p.links = ODD_LINKS;
    o->p.link_rows = o->rows;
    o->p.link_start = o->start;
    o->p.block_clique = o->cliques;
    o->p.blocks = o->blocks;
    o->p.link_bias = o->bias;
    o->p.contacts = o->p.rows = o->p.surfaces = ODD_STRUCTS;
    o->p.surface = o->surface;
    o->p.contact = o->contact;
    o->p.row = o->row;
}

/* Any numbers come back with their bits, whether or not icf_solve would take them. */
static void test_numbers_come_back_with_their_bits(void)
{
    static odd_problem o;
    int trial;
    random_seed(SEED);
    for (trial = 0; trial < 200; trial++) {
        size_t length;
        char* text;
        icfp back;
        odd_make(&o);
        if (trial % 4 == 1) o.p.v_last = NULL;
        if (trial % 4 == 2) o.p.mass_bound = NULL;
        if (trial % 4 == 3) o.p.link_bias = NULL;
        text = text_of(&o.p, &o.options, o.v, &length);
        back = problem_of(text, length);
        check_same_problem(&o.p, &back.problem);
        same_struct(2, &o.options, &back.options);
        TEST_CHECK(same_bits(back.v_start, o.v, sizeof o.v));
        if (!o.p.v_last) TEST_CHECK(same_bits(back.problem.v_last, o.v, sizeof o.v));
        icfp_free(&back);
        free(text);
    }

    /* what is no number is told of as well */
    {
        size_t length;
        char* text;
        icfp back;
        odd_make(&o);
        o.mass[0] = (icf_real)HUGE_VAL;
        o.v[1] = -(icf_real)HUGE_VAL;
        o.bias[2] = (icf_real)NAN;
        text = text_of(&o.p, NULL, o.v, &length);
        back = problem_of(text, length);
        TEST_CHECK(back.problem.mass[0] == o.mass[0] && back.v_start[1] == o.v[1]);
        TEST_CHECK(back.problem.link_bias[2] != back.problem.link_bias[2]);
        TEST_CHECK(back.options.tolerance == icf_default_options().tolerance);
        icfp_free(&back);
        free(text);
    }

    /* nothing at all */
    {
        icf_problem none = icf_default_problem();
        icf_options options = icf_default_options();
        size_t length;
        char* text;
        icfp back;
        run r;
        none.dt = 1;
        text = text_of(&none, NULL, NULL, &length);
        back = problem_of(text, length);
        r = solve_problem(&back.problem, 0, &options, back.v_start);
        TEST_CHECK(back.unknowns == 0 && back.problem.links == 0 && r.result == ICF_RESULT_OK);
        run_free(&r);
        icfp_free(&back);
        free(text);
    }
}

/* Marks the members that the reader knows; what is left between them, before `end`, must be too little for a
   number. */
static void check_members(int of, size_t end, size_t holes)
{
    unsigned char known[sizeof(icf_contact) + sizeof(icf_row) + sizeof(icf_options)];
    const icfp_column* column;
    int count = icfp_columns(of, &column), i;
    size_t k, run_length = 0;
    memset(known, 0, sizeof known);
    for (i = 0; i < count; i++) {
        for (k = 0; k < (column[i].integer ? sizeof(int32_t) : sizeof(icf_real)); k++)
            known[column[i].offset + k] = 1;
    }
    for (k = 0; k < end; k++) {
        run_length = known[k] ? 0 : run_length + 1;
        TEST_CHECK_(run_length < holes, "struct %d: a member at %d that text does not have", of,
                    (int)k);
    }
}

/* A member of a contact, row or options that is new has to be written and read. (An integer that is where
   the compiler left a hole in double, is found in float.) */
static void test_members_are_all_written(void)
{
    check_members(0, offsetof(icf_contact, cookie), sizeof(icf_real));
    TEST_CHECK(sizeof(icf_contact) - offsetof(icf_contact, cookie) <= sizeof(icf_real));
    check_members(3, offsetof(icf_surface, custom), sizeof(icf_real));
    check_members(1, offsetof(icf_row, cookie), sizeof(icf_real));
    check_members(2, offsetof(icf_options, should_stop), sizeof(void*));
    TEST_CHECK(sizeof(icf_surface) - offsetof(icf_surface, custom) <= 3 * sizeof(void*));
    TEST_CHECK(sizeof(icf_row) - offsetof(icf_row, cookie) <= sizeof(icf_real));
    TEST_CHECK(sizeof(icf_options) - offsetof(icf_options, should_stop) <= 8 * sizeof(void*));
}

/* What icf_problem_dump refuses leaves the text as it was, and *length 0, unless it is too short. */
static void test_not_written(void)
{
    static odd_problem o;
    const icf_real* v;
    size_t length, measured, i;
    char *text, here[8];
    int what;
    random_seed(SEED);
    odd_make(&o);
    text = text_of(&o.p, &o.options, o.v, &measured);
    free(text);
    text = (char*)allocate(measured + 16, 1);
    for (i = 0; i <= measured + 1; i += i < 40 || i > measured - 40 ? 1 : 37) {
        size_t k;
        icf_result result;
        memset(text, 0x5a, measured + 16);
        result = icf_problem_dump(&o.p, &o.options, o.v, text, i, &length);
        TEST_CHECK(length == measured);
        TEST_CHECK_(result == (i > measured ? ICF_RESULT_OK : ICF_RESULT_TOO_SMALL), "%d of %d: %s",
                    (int)i, (int)measured, icf_result_string(result));
        for (k = i > measured ? measured + 1 : 0; k < measured + 16; k++) {
            if (text[k] != 0x5a) TEST_CHECK_(0, "wrote at %d of %d", (int)k, (int)i);
        }
    }
    memset(text, 0x5a, measured + 16);
    for (what = 0; what < 20; what++) {
        icf_options options;
        icf_result expected = ICF_RESULT_BAD_ARGUMENT, result;
        odd_make(&o);
        v = o.v;
        options = o.options;
        length = 77;
        switch (what) {
        case 0: v = NULL; break;
        case 1: o.p.mass = NULL; break;
        case 2: o.p.v_free = NULL; break;
        case 3: o.p.links = -1; break;
        case 4: o.rows[1] = 7; break;
        case 5: o.start[2] = 2; break;
        case 6: o.cliques[3] = ODD_CLIQUES; break;
        case 7: o.pairs[1] = -1; break;
        case 8: o.contact[3].link = ODD_LINKS; break;
        case 9: o.row[3].link = -1; break;
        case 10: o.p.blocks = NULL; break;
        case 11: o.p.contact = NULL; break;
        case 12: o.sizes[0] = -1; break;
        case 13:
            o.surface[7].law = ICF_LAW_CUSTOM;
            expected = ICF_RESULT_BAD_LAW;
            break;
        case 14:
            o.surface[1].cookie = 0;
            expected = ICF_RESULT_BAD_DEF;
            break;
        case 15:
            o.row[1].cookie = 0;
            expected = ICF_RESULT_BAD_DEF;
            break;
        case 16:
            options.cookie = 0;
            expected = ICF_RESULT_BAD_DEF;
            break;
        case 17:
            o.sizes[0] = 46001;
            expected = ICF_RESULT_OVERFLOW;
            break;
        case 18: o.p.coupling_blocks = NULL; break;
        default: o.start[0] = 1; break;
        }
        result = icf_problem_dump(&o.p, &options, v, text, measured + 16, &length);
        TEST_CHECK_(result == expected && length == 0, "%d: %s, %d", what,
                    icf_result_string(result), (int)length);
        for (i = 0; i < measured + 16 && text[i] == 0x5a; i++) continue;
        TEST_CHECK(i == measured + 16);
    }
    odd_make(&o);
    TEST_CHECK(icf_problem_dump(NULL, NULL, o.v, text, 9, &length) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_problem_dump(&o.p, NULL, o.v, text, 9, NULL) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_problem_dump(&o.p, NULL, o.v, NULL, 9, &length) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_problem_dump(&o.p, NULL, o.v, here, 0, &length) == ICF_RESULT_TOO_SMALL);
    free(text);
}

/* A text that is cut is refused, wherever; one that is damaged is refused or has sizes in range. */
static void test_damaged_text(void)
{
    static odd_problem o;
    size_t length, cut, i;
    char *text, *other;
    int trial, read = 0, refused = 0;
    random_seed(SEED);
    odd_make(&o);
    text = text_of(&o.p, &o.options, o.v, &length);
    other = (char*)allocate(length + 1, 1);
    for (cut = 1; cut < length - 1; cut++) {
        icfp_file file;
        icfp p;
        memcpy(other, text, cut);
        other[cut] = 0;
        icfp_open_text(&file, "cut", other, cut);
        TEST_CHECK_(icfp_next(&file, &p) < 0 && !strncmp(file.message, "cut:", 4), "%d bytes",
                    (int)cut);
    }
    for (trial = 0; trial < 4000; trial++) {
        icfp_file file;
        icfp p;
        int got;
        memcpy(other, text, length + 1);
        for (i = 0; i <= (size_t)trial % 3; i++)
            other[random_below(trial % 2 ? 300 : (int)length)] =
                trial % 5 ? "0123456789-.xp \nnf"[random_below(18)] : (char)random_bits();
        icfp_open_text(&file, "damaged", other, length);
        got = icfp_next(&file, &p);
        if (got == 1) {
            int32_t sum = 0, t;
            for (t = 0; t < p.trees; t++) sum += p.problem.clique_sizes[t];
            TEST_CHECK(sum == p.unknowns);
            if (p.version == 3) {
                for (t = 0; t < p.problem.link_start[p.problem.links]; t++)
                    TEST_CHECK(p.problem.block_clique[t] >= 0 &&
                               p.problem.block_clique[t] < p.trees);
                for (t = 0; t < p.problem.contacts; t++)
                    TEST_CHECK(p.problem.contact[t].link >= 0 &&
                               p.problem.contact[t].link < p.problem.links);
            }
            icfp_free(&p);
            read++;
        } else {
            refused++;
        }
    }
    TEST_CHECK_(read >= 300 && refused >= 300, "%d read, %d refused", read, refused);
    free(text);
    free(other);
}

TEST_LIST = {
    {"reader_refuses_damage",             test_reader_refuses_damage            },
    {"written_problems_come_back",        test_written_problems_come_back       },
    {"numbers_come_back_with_their_bits", test_numbers_come_back_with_their_bits},
    {"members_are_all_written",           test_members_are_all_written          },
    {"not_written",                       test_not_written                      },
    {"damaged_text",                      test_damaged_text                     },
    {"answers_to_the_floor",              test_answers_to_the_floor             },
    {"warm_start",                        test_warm_start                       },
    {"same_answer_from_anywhere",         test_same_answer_from_anywhere        },
    {"tolerances_are_met",                test_tolerances_are_met               },
    {"units_change_no_bit",               test_units_change_no_bit              },
    {"history_is_that_of_the_solve",      test_history_is_that_of_the_solve     },
    {"budgets_give_the_best_so_far",      test_budgets_give_the_best_so_far     },
    {"contacts_open_stick_or_slip",       test_contacts_open_stick_or_slip      },
    {"effective_masses_and_jacobians",    test_effective_masses_and_jacobians   },
    {"islands_as_each_alone",             test_islands_as_each_alone            },
    {"memory_of_any_size",                test_memory_of_any_size               },
    {"iterative_answers",                 test_iterative_answers                },
    {NULL,                                NULL                                  }
};
