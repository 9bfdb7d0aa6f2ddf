/* The algebra of the interior point method, a unit by itself: the cone and its scaling, the equations that a
   direction solves, targets and correctors, steps up to the edge of the cone, and how units start. Reference
   is what the comment of >>interior says, in double. */

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ICF_ASSERT(x) assert(x)
#define ICF_IMPLEMENTATION
#include "../icf.h"

#include "acutest.h"
#include "util.h"

enum { KINDS = 5, TRIALS = 400, MOST = 64 };
static const char* const kinds[KINDS] = {"friction", "normal", "similar", "sap", "motor"};

static icf_contact_term terms[MOST];
static icf_row_term row_terms[MOST];
static icfi_unit units[2 * MOST];
static icfi_solve solve;

static double log_between(double low, double high)
{
    return exp(random_between(log(low), log(high)));
}

/* Numbers that a unit of a kind has */
static int size_of(const icfi_unit* t)
{
    return t->kind == ICFI_UNIT_NORMAL ? 1 : t->kind == ICFI_UNIT_MOTOR ? 2 : 4;
}

/* Units of every kind, one a trial, as a solve makes them of random contacts and motors */
static icfi_unit* unit_make(int kind, int trial, icf_real m0, icf_real guess)
{
    icfi_cone cone[2];
    icf_contact c = icf_default_contact();
    icf_surface surface = icf_default_surface();
    icf_real w = R(log_between(0.1, 10)), v0[3] = {0, 0, 0}, dt = R(0.01);
    int count, i;
    if (kind == ICFI_UNIT_MOTOR) {
        icf_row r = icf_default_row(ICF_ROW_MOTOR);
        r.damping = R(log_between(1, 100));
        r.target = R(random_between(-1, 1));
        r.effort = R(log_between(1, 100));
        TEST_CHECK(icf_row_term_make(&r, dt, w, &row_terms[trial % MOST]) == ICF_RESULT_OK);
        count = icfi_row_cone(&row_terms[trial % MOST], cone);
    } else {
        surface.model = kind == ICFI_UNIT_SAP       ? ICF_MODEL_SAP
                        : kind == ICFI_UNIT_SIMILAR ? ICF_MODEL_SIMILAR
                                                    : ICF_MODEL_LAGGED;
        surface.law = random_below(2) ? ICF_LAW_HUNT_CROSSLEY : ICF_LAW_KELVIN_VOIGT;
        surface.dissipation = R(random_between(0, 1));
        surface.relaxation = R(random_between(0, 0.1));
        c.distance = -R(1e-3);
        surface.stiffness = R(log_between(1e3, 1e5));
        surface.friction = R(random_between(0.1, 1));
        surface.friction2 = kind == ICFI_UNIT_SAP ? -1 : R(random_between(0.1, 1));
        surface.softness = R(0.01);
        v0[2] = -R(random_between(0, 0.1));
        TEST_CHECK(icf_contact_term_make(&surface, &c, dt, w, v0, &terms[trial % MOST]) ==
                   ICF_RESULT_OK);
        count = icfi_contact_cones(&terms[trial % MOST], cone);
    }
    solve.unit = units;
    solve.units = 0;
    icfi_add_units(&solve, ICFI_ROLE_ROW, 0, w, cone, count, m0, guess);
    for (i = 0; i < solve.units; i++) {
        if (units[i].kind == kind) return units + i;
    }
    TEST_CHECK_(0, "no unit of %s", kinds[kind]);
    return units;
}

/* A random vector in the cone, |xr| = share x0 */
static void random_in_cone(const icfi_unit* t, double share, icf_real x[4])
{
    double r[4] = {0, 0, 0, 0}, length = 0, x0 = log_between(0.01, 10);
    int k, n = size_of(t);
    for (k = 1; k < n; k++) {
        r[k] = random_between(-1, 1);
        length += r[k] * r[k];
    }
    length = sqrt(length);
    x[0] = R(x0);
    for (k = 1; k < 4; k++) x[k] = length > 0 ? R(share * x0 * r[k] / length) : 0;
}

static void law_at(const icfi_unit* t, icf_real u, icf_real* slope, icf_real* bend)
{
    *slope = *bend = 0;
    TEST_CHECK_(icfi_unit_law(t, u, slope, bend), "the law of %s has no value", kinds[t->kind]);
}

/* Somewhere on its way, with residuals and a target that are anything */
static void anywhere(icfi_unit* t, double share_s, double share_lam)
{
    icf_real slope = t->c;
    int k, n = size_of(t);
    random_in_cone(t, share_s, t->s);
    random_in_cone(t, share_lam, t->lam);
    if (t->kind == ICFI_UNIT_FRICTION || t->kind == ICFI_UNIT_MOTOR) {
        icf_real f = t->c / t->lam[0];
        for (k = 0; k < 4; k++) t->lam[k] *= f;
    }
    for (k = 0; k < 4; k++) t->rp[k] = k < n ? R(random_between(-0.1, 0.1)) : 0;
    if (t->kind == ICFI_UNIT_MOTOR) t->rp[0] = 0; /* its s0 is u */
    t->u = R(random_between(1e-3, 0.2));
    t->bend = 0;
    if (t->law) law_at(t, t->u, &slope, &t->bend);
    t->ru = t->kind == ICFI_UNIT_SAP ? 0 : slope - t->lam[0];
    icfi_unit_scale(t);
    icfi_unit_set_target(t, R(log_between(1e-3, 1)));
}

static double dot(const double* x, const double* y, int n)
{
    double sum = 0;
    int k;
    for (k = 0; k < n; k++) sum += x[k] * y[k];
    return sum;
}

/* x o y = (x.y, x0 yr + y0 xr) */
static void times(const double x[4], const double y[4], double z[4])
{
    int k;
    z[0] = dot(x, y, 4);
    for (k = 1; k < 4; k++) z[k] = x[0] * y[k] + y[0] * x[k];
}

static void w_times(const icfi_unit* t, const double x[4], double y[4], int inverse)
{
    icf_real from[4], to[4];
    int k;
    for (k = 0; k < 4; k++) from[k] = R(x[k]);
    icfi_unit_w(t, from, to, inverse);
    for (k = 0; k < 4; k++) y[k] = (double)to[k];
}

static void read4(const icf_real* x, double y[4])
{
    int k;
    for (k = 0; k < 4; k++) y[k] = (double)x[k];
}

/* W^-2 x; the one number of a normal unit */
static void w2_inverse(const icfi_unit* t, const double x[4], double y[4])
{
    double z[4];
    if (t->kind == ICFI_UNIT_NORMAL) {
        memset(y, 0, 4 * sizeof *y);
        y[0] = x[0] * (double)t->lam[0] / (double)t->s[0];
        return;
    }
    w_times(t, x, z, 1);
    w_times(t, z, y, 1);
}

static double size4(const double x[4])
{
    return sqrt(dot(x, x, 4));
}

static void check_equal(const char* name, const icfi_unit* t, int trial, const double x[4],
                        const double y[4], double scale, double slack)
{
    int k;
    for (k = 0; k < 4; k++) {
        TEST_CHECK_(fabs(x[k] - y[k]) <= slack * EPS * scale,
                    "%s of %s, trial %d, number %d: %.17g, not %.17g; seed %u", name,
                    kinds[t->kind], trial, k, x[k], y[k], (unsigned)SEED);
    }
}

/* W is symmetric, maps lambda where its inverse maps s, and both undo one another */
static void test_scaling_maps_both_ways(void)
{
    int kind, trial, k;
    random_seed(SEED);
    for (kind = 0; kind < KINDS; kind++) {
        if (kind == ICFI_UNIT_NORMAL) continue;
        for (trial = 0; trial < TRIALS; trial++) {
            icfi_unit* t = unit_make(kind, trial, 1, 0);
            double s[4], lam[4], a[4], b[4], x[4], y[4], ss, sl,
                near = trial % 4 == 3 ? 1e-5 : 0.05;
            double slack = trial % 4 == 3 ? 1e7 : 1e3;
            ss = 1 - near * random_between(0.5, 1);
            sl = random_between(0, 1 - near);
            anywhere(t, ss, sl);
            read4(t->s, s);
            read4(t->lam, lam);
            w_times(t, lam, a, 0);
            w_times(t, s, b, 1);
            check_equal("W lambda", t, trial, a, b, size4(a), slack);
            read4(t->nu, b);
            check_equal("nu", t, trial, a, b, size4(a), slack);
            for (k = 0; k < 4; k++) {
                x[k] = k < size_of(t) ? random_between(-1, 1) : 0;
                y[k] = k < size_of(t) ? random_between(-1, 1) : 0;
            }
            w_times(t, x, a, 0);
            w_times(t, y, b, 0);
            TEST_CHECK_(fabs(dot(a, y, 4) - dot(x, b, 4)) <=
                            1e2 * EPS * (size4(a) * size4(y) + size4(b) * size4(x)),
                        "W of %s is not symmetric", kinds[kind]);
            w_times(t, a, b, 1);
            check_equal("W^-1 W x", t, trial, x, b, size4(a) * (double)t->by_eta * 100, slack);
            TEST_CHECK_(fabs((double)(t->by_eta * t->eta) - 1) < 10 * EPS &&
                            fabs((double)(t->by_nu * t->nu[0]) - 1) < 10 * EPS &&
                            fabs((double)(t->by_s * t->s[0]) - 1) < 10 * EPS,
                        "reciprocals of %s", kinds[kind]);
        }
    }
}

/* The direction of a unit is what the equations say, all of them:
       ds = B dv + e du + R dlambda + rp,  dlambda + W^-2 ds = p,  ell''(u) du + ru = dlambda_0
   and what v changes of lambda is - Theta B dv, where Theta is symmetric and positive */
static void test_direction_solves_the_equations(void)
{
    int kind, trial, k;
    random_seed(SEED + 1);
    for (kind = 0; kind < KINDS; kind++) {
        for (trial = 0; trial < TRIALS; trial++) {
            icfi_unit* t = unit_make(kind, trial, 1, 0);
            icf_real in[3];
            double want[4], got[4], y[4], z[4], d[4], b[4], scale, ss, sl;
            int n = size_of(t);
            ss = random_between(0, 0.95);
            sl = random_between(0, 0.95);
            anywhere(t, ss, sl);
            for (k = 0; k < n; k++) t->p[k] += R(random_between(-0.1, 0.1));
            for (k = 0; k < 3; k++) in[k] = R(random_between(-1, 1));
            icfi_unit_target(t);
            icfi_unit_direction(t, in);
            memset(b, 0, sizeof b);
            b[0] = (double)(t->b0 * in[2]);
            if (kind != ICFI_UNIT_NORMAL) b[1] = (double)(t->b1 * in[0]);
            if (n == 4) b[2] = (double)(t->b2 * in[1]);
            memset(want, 0, sizeof want);
            memset(got, 0, sizeof got);
            for (k = 0; k < n; k++) {
                want[k] = b[k] + (double)t->rp[k];
                want[k] += (double)((k ? t->r1 : t->r0) * t->d.lam[k]);
                got[k] = (double)t->d.s[k];
            }
            if (kind != ICFI_UNIT_SAP) want[0] += (double)t->d.u;
            scale = size4(want) + size4(got) + fabs((double)t->d.u);
            check_equal("ds", t, trial, got, want, scale, 1e3);

            w2_inverse(t, got, z);
            memset(want, 0, sizeof want);
            memset(d, 0, sizeof d);
            for (k = 0; k < n; k++) {
                d[k] = (double)t->d.lam[k] + z[k];
                want[k] = (double)t->p[k];
            }
            {
                /* what rounding of ds makes of it */
                double unit[4] = {1, 0, 0, 0}, big[4];
                w2_inverse(t, unit, big);
                scale = size4(want) + size4(z) + size4(big) * (scale + size4(got));
            }
            check_equal("dlambda + W^-2 ds", t, trial, d, want, scale, 1e4);
            if (kind != ICFI_UNIT_SAP) {
                double left = (double)(t->bend * t->d.u + t->ru), right = (double)t->d.lam[0];
                /* a limit stays what it is */
                if (kind == ICFI_UNIT_FRICTION || kind == ICFI_UNIT_MOTOR) left = 0;
                TEST_CHECK_(
                    fabs(left - right) <= 1e4 * EPS * (fabs((double)(t->bend * t->d.u)) + scale),
                    "ell'' du + ru of %s, trial %d: %g, not %g", kinds[kind], trial, left, right);
            }

            /* Theta */
            if (kind == ICFI_UNIT_NORMAL || kind == ICFI_UNIT_MOTOR) {
                double theta = (double)(n == 1 ? t->th00 : t->along);
                double change = (double)(t->d0[n - 1] - t->d.lam[n - 1]);
                TEST_CHECK_(theta >= 0 && fabs(change - theta * b[n - 1]) <=
                                              1e4 * EPS * (fabs((double)t->d0[n - 1]) + theta),
                            "Theta of %s, trial %d: %g, not %g", kinds[kind], trial, change,
                            theta * b[n - 1]);
                continue;
            }
            {
                icf_real x[4], from[4], tx[4], tf[4];
                double xx, one[4], two[4], tone[4], ttwo[4];
                for (k = 0; k < 4; k++) {
                    from[k] = R(b[k]);
                    x[k] = R(random_between(-1, 1));
                }
                icfi_unit_theta(t, from, tf);
                icfi_unit_theta(t, x, tx);
                read4(from, one);
                read4(x, two);
                read4(tf, tone);
                read4(tx, ttwo);
                xx = dot(one, ttwo, 4) - dot(two, tone, 4);
                scale = size4(one) * size4(ttwo) + size4(two) * size4(tone);
                TEST_CHECK_(fabs(xx) <= 1e3 * EPS * scale, "Theta of %s, trial %d", kinds[kind],
                            trial);
                TEST_CHECK_(dot(two, ttwo, 4) >= -1e3 * EPS * size4(two) * size4(ttwo),
                            "Theta of %s is not positive, trial %d", kinds[kind], trial);
                for (k = 0; k < 4; k++) {
                    y[k] = (double)t->d0[k] - (double)t->d.lam[k];
                    if (k == 0 && kind == ICFI_UNIT_FRICTION) y[k] = tone[k];
                }
                read4(t->d0, z);
                check_equal("Theta B dv", t, trial, y, tone, size4(z) + size4(tone), 1e3);
            }
        }
    }
}

/* s o (lambda + p) = mu omega, and with a corrector W p less the second order */
static void test_targets_and_correctors(void)
{
    int kind, trial, k;
    random_seed(SEED + 2);
    for (kind = 0; kind < KINDS; kind++) {
        for (trial = 0; trial < TRIALS; trial++) {
            icfi_unit* t = unit_make(kind, trial, 1, 0);
            icf_real mu = R(log_between(1e-3, 1)), in[3], slope, bend, first[4];
            double s[4], x[4], z[4], want[4] = {0, 0, 0, 0}, ss, sl, scale;
            ss = random_between(0, 0.9);
            sl = random_between(0, 0.9);
            anywhere(t, ss, sl);
            t->omega = R(log_between(0.5, 2));
            t->by_omega = 1 / t->omega;
            icfi_unit_set_target(t, mu);
            memset(s, 0, sizeof s);
            memset(x, 0, sizeof x);
            for (k = 0; k < size_of(t); k++) {
                s[k] = (double)t->s[k];
                x[k] = (double)(t->lam[k] + t->p[k]);
            }
            times(s, x, z);
            want[0] = (double)(mu * t->omega);
            check_equal("s o (lambda + p)", t, trial, z, want,
                        want[0] + size4(s) * (size4(x) + (double)t->lam[0]), 1e3);

            for (k = 0; k < 3; k++) in[k] = R(random_between(-1, 1));
            icfi_unit_target(t);
            icfi_unit_direction(t, in);
            memcpy(first, t->p, sizeof first);
            icfi_unit_correct(t, mu);
            for (k = 0; k < 4; k++) x[k] = (double)(t->p[k] - first[k]);
            if (kind == ICFI_UNIT_NORMAL) {
                z[0] = x[0] * s[0];
                want[0] = -(double)(t->d.s[0] * t->d.lam[0]);
                scale = fabs(want[0]) + fabs((double)t->p[0]) * s[0];
                TEST_CHECK_(fabs(z[0] - want[0]) <= 1e3 * EPS * scale, "corrector: %g, not %g",
                            z[0], want[0]);
            } else {
                double nu[4], a[4], b[4], ds[4], dl[4], wx[4];
                for (k = 0; k < 4; k++) {
                    ds[k] = k < size_of(t) ? (double)t->d.s[k] : 0;
                    dl[k] = k < size_of(t) ? (double)t->d.lam[k] : 0;
                    if (k >= size_of(t)) x[k] = 0;
                }
                w_times(t, ds, a, 1);
                w_times(t, dl, b, 0);
                times(a, b, want);
                for (k = 0; k < 4; k++) want[k] = -want[k];
                w_times(t, x, wx, 0);
                read4(t->nu, nu);
                times(nu, wx, z);
                check_equal("nu o W x", t, trial, z, want,
                            size4(want) + size4(nu) * (size4(wx) + size4(nu)), 1e4);
            }
            if (t->law) {
                double ru;
                law_at(t, t->u + t->d.u, &slope, &bend);
                ru = (double)(slope - t->lam[0] - t->bend * t->d.u);
                scale = fabs((double)slope) + (double)t->lam[0] + fabs((double)(t->bend * t->d.u));
                TEST_CHECK_(fabs((double)t->ru - ru) <= 100 * EPS * scale, "ru of %s", kinds[kind]);
            }
            icfi_unit_uncorrect(t, mu);
            for (k = 0; k < size_of(t); k++) TEST_CHECK(t->p[k] == first[k]);
            if (t->law) {
                law_at(t, t->u, &slope, &bend);
                TEST_CHECK_(t->ru == slope - t->lam[0], "ru of %s", kinds[kind]);
            }
        }
    }
}

static double outside(double x)
{
    double to = x < 0.1 ? 0.1 : x > 10 ? 10 : x;
    return to - x < -10 ? -10 : to - x;
}

/* Gondzio's: what the eigenvalues of s o lambda would be at a longer step is pulled into [0.1, 10] targets */
static void test_eigenvalues_pulled_to_the_center(void)
{
    int kind, trial, k, pulled = 0, left = 0;
    random_seed(SEED + 3);
    for (kind = 0; kind < KINDS; kind++) {
        for (trial = 0; trial < TRIALS; trial++) {
            icfi_unit* t = unit_make(kind, trial, 1, 0);
            icf_real mu = R(log_between(1e-2, 10)), alpha = R(random_between(0.1, 1)), first[4];
            double a[4], b[4], x[4], y[4], z[4], want[4], nu[4], target, r, high, low, ss, sl;
            ss = random_between(0, 0.9);
            sl = random_between(0, 0.9);
            anywhere(t, ss, sl);
            t->omega = R(log_between(0.5, 2));
            t->by_omega = 1 / t->omega;
            for (k = 0; k < 4; k++) {
                t->d.s[k] = k < size_of(t) ? R(random_between(-1, 1)) : 0;
                t->d.lam[k] = k < size_of(t) ? R(random_between(-1, 1)) : 0;
                a[k] = k < size_of(t) ? (double)(t->s[k] + alpha * t->d.s[k]) : 0;
                b[k] = k < size_of(t) ? (double)(t->lam[k] + alpha * t->d.lam[k]) : 0;
            }
            memcpy(first, t->p, sizeof first);
            icfi_unit_center(t, alpha, mu, 1 / mu);
            for (k = 0; k < 4; k++) x[k] = k < size_of(t) ? (double)(t->p[k] - first[k]) : 0;
            target = (double)(mu * t->omega);
            if (kind == ICFI_UNIT_NORMAL) {
                double to = outside(a[0] * b[0] / target) * target;
                TEST_CHECK_(fabs(x[0] * (double)t->s[0] - to) <=
                                1e3 * EPS *
                                    (fabs(to) + fabs((double)(first[0] * t->s[0])) + target * 10),
                            "normal, trial %d: %g, not %g", trial, x[0] * (double)t->s[0], to);
                pulled += to != 0;
                left += to == 0;
                continue;
            }
            w_times(t, a, y, 1);
            w_times(t, b, z, 0);
            times(y, z, want);
            r = sqrt(dot(want + 1, want + 1, 3));
            high = outside((want[0] + r) / target) * target;
            low = outside((want[0] - r) / target) * target;
            for (k = 1; k < 4; k++) want[k] *= (high - low) / 2 / r;
            want[0] = (high + low) / 2;
            w_times(t, x, y, 0);
            read4(t->nu, nu);
            times(nu, y, z);
            check_equal("nu o W x", t, trial, z, want,
                        size4(want) + 20 * target + size4(nu) * (size4(y) + size4(nu) + target),
                        1e5);
            pulled += size4(want) > 0;
            left += size4(want) == 0 && size4(x) == 0;
        }
    }
    TEST_CHECK_(pulled > TRIALS && left > TRIALS / 4, "%d pulled, %d left", pulled, left);
}

/* Up to the edge and no farther */
static void test_cone_step(void)
{
    int trial, k, stopped = 0, whole = 0;
    icfi_unit t;
    random_seed(SEED + 4);
    memset(&t, 0, sizeof t);
    t.kind = ICFI_UNIT_SAP;
    for (trial = 0; trial < 20 * TRIALS; trial++) {
        icf_real s[4], d[4], step, most = R(log_between(0.1, 10));
        double at[4], low = 0, high = (double)most, share;
        int n;
        share = trial % 5 ? random_between(0, 0.99) : 0;
        random_in_cone(&t, share, s);
        for (k = 0; k < 4; k++) d[k] = trial % 7 || !k ? R(random_between(-1, 1)) : 0;
        step = icfi_cone_step(s, d, most);
        TEST_CHECK_(step > 0 && step <= most, "trial %d: a step of %g of %g", trial, (double)step,
                    (double)most);
        for (n = 0; n < 80; n++) { /* the first step that leaves the cone */
            double middle = n ? (low + high) / 2 : high;
            for (k = 0; k < 4; k++) at[k] = (double)s[k] + middle * (double)d[k];
            if (at[0] >= sqrt(dot(at + 1, at + 1, 3))) {
                low = middle;
            } else {
                high = middle;
            }
            if (!n && low == high) break;
        }
        TEST_CHECK_(fabs((double)step - low) <= 1e4 * EPS * (low + 1),
                    "trial %d: a step of %.17g, not %.17g; seed %u", trial, (double)step, low,
                    (unsigned)SEED);
        stopped += step < most;
        whole += step == most;
    }
    TEST_CHECK_(stopped > 5 * TRIALS && whole > 5 * TRIALS, "%d stopped, %d whole", stopped, whole);
}

/* The least of both cones and the barrier of a law */
static void test_least_of_cones_and_barrier(void)
{
    int kind, trial, k;
    random_seed(SEED + 5);
    for (kind = 0; kind < KINDS; kind++) {
        for (trial = 0; trial < TRIALS; trial++) {
            icfi_unit* t = unit_make(kind, trial, 1, 0);
            double most, low, ss, sl;
            icf_real reach;
            ss = random_between(0, 0.9);
            sl = random_between(0, 0.9);
            anywhere(t, ss, sl);
            for (k = 0; k < 4; k++) {
                t->d.s[k] = k < size_of(t) ? 3 * t->s[0] * R(random_between(-1, 1)) : 0;
                t->d.lam[k] = k < size_of(t) ? 3 * t->lam[0] * R(random_between(-1, 1)) : 0;
            }
            t->d.u = R(random_between(-1, 1));
            t->barrier = trial % 3 ? 0 : t->u + R(random_between(0.01, 1));
            most = random_between(0.3, 1.1);
            low = most;
            if (kind == ICFI_UNIT_NORMAL) {
                double a = (double)t->s[0], b = (double)t->lam[0];
                if (t->d.s[0] < 0) low = fmin(low, -a / (double)t->d.s[0]);
                if (t->d.lam[0] < 0) low = fmin(low, -b / (double)t->d.lam[0]);
            } else {
                low = fmin(low, (double)icfi_cone_step(t->s, t->d.s, R(most)));
                low = fmin(low, (double)icfi_cone_step(t->lam, t->d.lam, R(most)));
            }
            if (t->barrier > 0 && t->d.u > 0)
                low = fmin(low, (double)((t->barrier - t->u) / t->d.u));
            reach = icfi_unit_reach(t, R(most));
            TEST_CHECK_(fabs((double)reach - low) <= 1e4 * EPS,
                        "%s, trial %d: reaches %.17g, not %.17g", kinds[kind], trial, (double)reach,
                        low);
        }
    }
}

/* A unit that starts: s o lambda = omega m0 on the axis, at its law, and with the slack that it has to have */
static void test_start_on_the_axis(void)
{
    int kind, trial, k;
    random_seed(SEED + 6);
    for (kind = 0; kind < KINDS; kind++) {
        for (trial = 0; trial < TRIALS; trial++) {
            icf_real m0 = R(log_between(1e-4, 10)), guess = trial % 2 ? R(log_between(0.1, 10)) : 0;
            icf_real slope, bend;
            icfi_unit* t = unit_make(kind, trial, m0, guess);
            double s[4], lam[4], z[4], want[4] = {0, 0, 0, 0};
            read4(t->s, s);
            read4(t->lam, lam);
            times(s, lam, z);
            want[0] = (double)(m0 * t->omega);
            check_equal("s o lambda", t, trial, z, want, s[0] * lam[0], 100);
            TEST_CHECK(s[1] == 0 && s[2] == 0 && lam[1] == 0 && lam[2] == 0);
            TEST_CHECK(t->s[3] == t->eps && s[0] > s[3] && lam[0] > -lam[3]);
            TEST_CHECK(fabs((double)(t->omega * t->by_omega) - 1) < 10 * EPS);
            TEST_CHECK(fabs((double)(icfi_unit_product(t) - m0)) <= 100 * EPS * (s[0] * lam[0]));
            if (kind == ICFI_UNIT_FRICTION || kind == ICFI_UNIT_MOTOR) {
                TEST_CHECK(t->u == t->s[0] && t->lam[0] == t->c);
                TEST_CHECK(s[0] - s[3] >= 0.999 * sqrt((double)(m0 * t->w)));
            } else if (guess > 0) {
                double middle = sqrt((double)(m0 / t->w));
                double to = fmin(fmax((double)guess, middle / 100), middle * 100);
                TEST_CHECK_(fabs(lam[0] - to) <= 10 * EPS * to, "%s starts with %g, not %g",
                            kinds[kind], lam[0], to);
            } else {
                double to = sqrt((double)(m0 / t->w));
                TEST_CHECK(fabs(lam[0] - to) <= 10 * EPS * to);
            }
            if (!t->law) continue;
            law_at(t, t->u, &slope, &bend);
            TEST_CHECK_(fabs((double)slope - lam[0]) <= 1e3 * EPS * lam[0],
                        "%s: its law has %g at the start, not %g", kinds[kind], (double)slope,
                        lam[0]);
            for (k = 0; k < 6;
                 k++) { /* the curvature of a law is the slope of its slope, which is quadratic */
                icf_real u = R(random_between(1e-3, 0.3)), h = u / 4, up, down, unused;
                double error;
                law_at(t, u + h, &up, &unused);
                law_at(t, u - h, &down, &unused);
                law_at(t, u, &slope, &bend);
                error = fabs((double)((up - down) / ((u + h) - (u - h)) - bend));
                TEST_CHECK_(error <= 1e-4 * (double)bend + 1e4 * EPS * (double)(slope / u),
                            "the law of %s at %g: %g off %g", kinds[kind], (double)u, error,
                            (double)bend);
            }
        }
    }
}

/* A unit near an answer: s o lambda = m, and s - w lambda is what velocity and impulse say */
static void test_start_near_an_answer(void)
{
    int kind, trial, k;
    random_seed(SEED + 7);
    for (kind = 0; kind < KINDS - 1; kind++) { /* of contacts */
        for (trial = 0; trial < TRIALS; trial++) {
            icf_real m = R(log_between(1e-4, 1)), in[3], guess[3], n, slope, bend;
            icfi_unit* t = unit_make(kind, trial, 1, 0);
            double s[4], lam[4], z[4], want[4], hat[4], zs[4], scale;
            for (k = 0; k < 3; k++) {
                in[k] = R(random_between(-0.5, 0.5));
                guess[k] = R(random_between(-1, 1));
            }
            n = trial % 2 ? guess[2] : R(fabs((double)guess[2]));
            guess[2] = n;
            icfi_unit_warm(t, in, guess, m);
            read4(t->s, s);
            read4(t->lam, lam);
            times(s, lam, z);
            memset(want, 0, sizeof want);
            want[0] = (double)m;
            scale = size4(s) * size4(lam) + want[0];
            if (kind == ICFI_UNIT_FRICTION) {
                TEST_CHECK_(fabs(z[0] - want[0]) <= 1.1e-3 * want[0] + 1e3 * EPS * scale,
                            "s.lambda of friction: %g, not %g", z[0], want[0]);
                z[0] = want[0];
                TEST_CHECK(t->u == t->s[0] && fabs(lam[0] - (double)t->c) <= 4 * EPS * lam[0]);
            }
            check_equal("s o lambda", t, trial, z, want, scale, 1e3);
            TEST_CHECK(s[0] > 0 && s[0] >= sqrt(dot(s + 1, s + 1, 3)));
            TEST_CHECK(lam[0] > 0 && lam[0] * (1 + 8 * EPS) >= sqrt(dot(lam + 1, lam + 1, 3)));
            TEST_CHECK(t->omega == 1 && t->by_omega == 1);
            /* the pair to begin near */
            hat[0] = kind == ICFI_UNIT_FRICTION ? (double)t->c : fmax((double)n, 0);
            hat[1] = t->b1 > 0 ? (double)(guess[0] / t->b1) : 0;
            hat[2] = t->b2 > 0 ? (double)(guess[1] / t->b2) : 0;
            hat[3] = hat[0] * hat[0] - hat[1] * hat[1] - hat[2] * hat[2];
            hat[3] = t->eps > 0 && hat[3] > 0 ? -sqrt(hat[3]) : 0;
            zs[0] = (double)(t->b0 * in[2] + t->h0) + (double)t->r0 * hat[0];
            zs[1] = (double)(t->b1 * in[0] + t->h1) + (double)t->r1 * hat[1];
            zs[2] = (double)(t->b2 * in[1]) + (double)t->r1 * hat[2];
            zs[3] = (double)t->eps;
            if (t->law && hat[0] > 0) {
                icf_real u = icfi_unit_inverse(t, R(hat[0]), 1);
                law_at(t, u, &slope, &bend);
                TEST_CHECK(fabs((double)slope - hat[0]) <=
                           1e3 * EPS * (hat[0] + fabs((double)(bend * t->from))));
                zs[0] += (double)u;
            }
            memset(z, 0, sizeof z);
            memset(want, 0, sizeof want);
            for (k = kind == ICFI_UNIT_FRICTION; k < size_of(t); k++) {
                z[k] = s[k] - (double)t->w * lam[k];
                want[k] = zs[k] - (double)t->w * hat[k];
            }
            scale = size4(s) + (double)t->w * (size4(lam) + size4(hat)) + size4(zs);
            if (kind == ICFI_UNIT_NORMAL) want[3] = z[3] = want[1] = z[1] = want[2] = z[2] = 0;
            if (kind != ICFI_UNIT_NORMAL)
                check_equal("s - w lambda", t, trial, z, want, scale,
                            kind == ICFI_UNIT_FRICTION ? 1e4 : 1e3);
            if (!t->law) continue;
            law_at(t, t->u, &slope, &bend);
            TEST_CHECK(fabs((double)(slope - t->lam[0])) <=
                       1e3 * EPS * (lam[0] + fabs((double)(bend * t->from))));
        }
    }
}

/* Where a law has a given slope, which for most laws is searched: for each law, from slopes far too small
   to far too large, and whatever size the search begins with. */
static void test_inverse_of_laws(void)
{
    int trial, law, met = 0;
    random_seed(SEED + 9);
    for (trial = 0; trial < TRIALS; trial++) {
        for (law = ICF_LAW_HUNT_CROSSLEY; law < ICF_LAW_CUSTOM; law++) {
            const int wall = law == ICF_LAW_IPC_BARRIER || law == ICF_LAW_LOG_BARRIER;
            icf_contact c = icf_default_contact();
            icf_surface surface = icf_default_surface();
            icf_real v0[3] = {0, 0, 0}, u, slope, bend, n, scale = R(log_between(1e-3, 10));
            icfi_cone cone[2];
            const icfi_unit* t = NULL;
            int i, count;
            surface.law = law;
            surface.dissipation = R(random_between(0, 1));
            surface.relaxation = R(random_between(0, 0.1));
            c.distance = wall ? R(1e-3) : R(random_between(-1e-3, 1e-4));
            surface.stiffness =
                R(law == ICF_LAW_LOG_BARRIER ? log_between(1e-2, 1) : log_between(1e3, 1e5));
            surface.friction = R(0.5);
            v0[2] = -R(random_between(0, 0.1));
            TEST_CHECK(icf_contact_term_make(&surface, &c, R(0.01), 1, v0, &terms[0]) ==
                       ICF_RESULT_OK);
            count = icfi_contact_cones(&terms[0], cone);
            solve.unit = units;
            solve.units = 0;
            icfi_add_units(&solve, ICFI_ROLE_ROW, 0, 1, cone, count, 1, 0);
            for (i = 0; i < solve.units; i++) {
                if (units[i].law) t = units + i;
            }
            if (!t) continue;
            n = R(log_between(1e-4, 1e2));
            u = icfi_unit_inverse(t, n, scale);
            law_at(t, u, &slope, &bend);
            TEST_CHECK_(fabs((double)(slope - n)) <=
                            1e2 * EPS *
                                ((double)n + (double)bend * fabs((double)t->from) +
                                 (double)bend * fabs((double)u)),
                        "law %d, trial %d: at %g a slope of %g, not %g", law, trial, (double)u,
                        (double)slope, (double)n);
            met++;
        }
    }
    TEST_CHECK_(met >= 4 * TRIALS, "%d", met);
}

/* Many units together: the mean a step away, and the step, which stays in the cones */
static void test_move_stays_in_the_cones(void)
{
    int trial, k, i, held = 0;
    random_seed(SEED + 8);
    for (trial = 0; trial < TRIALS; trial++) {
        static icfi_unit before[KINDS];
        icf_real alpha = R(random_between(0.1, 1)), least = 0, mean;
        double sum = 0, after = 0;
        for (i = 0; i < KINDS; i++) {
            icfi_unit* t;
            double ss = random_between(0, 0.9), sl = random_between(0, 0.9);
            t = unit_make(i, trial, 1, 0);
            anywhere(t, ss, sl);
            for (k = 0; k < 4; k++) {
                t->d.s[k] = k < size_of(t) ? 2 * t->s[0] * R(random_between(-1, 1)) : 0;
                t->d.lam[k] = k < size_of(t) ? 2 * t->lam[0] * R(random_between(-1, 1)) : 0;
            }
            t->d.u = R(random_between(-1, 1));
            t->omega = R(log_between(0.5, 2));
            t->by_omega = 1 / t->omega;
            before[i] = *t;
        }
        memcpy(units, before, sizeof before);
        solve.units = KINDS;
        for (i = 0; i < KINDS; i++) {
            double product = 0;
            for (k = 0; k < size_of(before + i); k++) {
                product += (double)((before[i].s[k] + alpha * before[i].d.s[k]) *
                                    (before[i].lam[k] + alpha * before[i].d.lam[k]));
                sum += (double)(before[i].s[k] * before[i].lam[k] * before[i].by_omega);
            }
            after += product * (double)before[i].by_omega;
        }
        mean = icfi_interior_mean(&solve);
        TEST_CHECK_(fabs((double)mean - sum / KINDS) <= 1e4 * EPS * (fabs(sum) + 1000),
                    "mean: %g, not %g", (double)mean, sum / KINDS);
        mean = icfi_mean_after_base(&solve, alpha);
        TEST_CHECK_(fabs((double)mean - after / KINDS) <= 1e4 * EPS * (fabs(after) + 1000),
                    "mean after: %g, not %g", (double)mean, after / KINDS);
        if (trial % 3 == 0) least = alpha / 4;
        mean = icfi_move_units_base(&solve, least, alpha);
        after = 0;
        for (i = 0; i < KINDS; i++) {
            icfi_unit *t = units + i, *b = before + i;
            double reach = 0.99 * (double)icfi_unit_reach(b, alpha / R(0.99)), s[4], lam[4];
            double went = fmax((double)least, reach);
            int fixed = b->kind == ICFI_UNIT_FRICTION || b->kind == ICFI_UNIT_MOTOR;
            memset(s, 0, sizeof s);
            memset(lam, 0, sizeof lam);
            for (k = 0; k < size_of(t); k++) {
                s[k] = (double)t->s[k];
                lam[k] = (double)t->lam[k];
            }
            TEST_CHECK_(fabs((double)(t->u - b->u) - went * (double)b->d.u) <= 100 * EPS, "u of %s",
                        kinds[i]);
            TEST_CHECK(s[0] >= sqrt(dot(s + 1, s + 1, 3)));
            TEST_CHECK(lam[0] * (1 + 8 * EPS) >= sqrt(dot(lam + 1, lam + 1, 3)));
            after += dot(s, lam, 4) * (double)t->by_omega;
            if (reach < 0.98 * (double)alpha) held++;
            if (went > reach) continue; /* out of its cones, and put back */
            for (k = 0; k < size_of(t); k++) {
                double to = (double)b->s[k] + went * (double)b->d.s[k];
                TEST_CHECK_(fabs(s[k] - to) <= 1e3 * EPS * ((double)b->s[0] * 4), "s of %s",
                            kinds[i]);
                to = (double)b->lam[k] + went * (double)b->d.lam[k];
                TEST_CHECK_(fabs(lam[k] - to) <= 1e3 * EPS * ((double)b->lam[0] * 4) || fixed,
                            "lambda of %s", kinds[i]);
            }
        }
        TEST_CHECK_(fabs((double)mean - after / KINDS) <= 1e4 * EPS * (fabs(after) + 1000),
                    "mean there: %g, not %g", (double)mean, after / KINDS);
    }
    TEST_CHECK_(held > TRIALS, "%d held", held);
}

TEST_LIST = {
    {"scaling_maps_both_ways",           test_scaling_maps_both_ways          },
    {"direction_solves_the_equations",   test_direction_solves_the_equations  },
    {"targets_and_correctors",           test_targets_and_correctors          },
    {"eigenvalues_pulled_to_the_center", test_eigenvalues_pulled_to_the_center},
    {"cone_step",                        test_cone_step                       },
    {"least_of_cones_and_barrier",       test_least_of_cones_and_barrier      },
    {"start_on_the_axis",                test_start_on_the_axis               },
    {"start_near_an_answer",             test_start_near_an_answer            },
    {"inverse_of_laws",                  test_inverse_of_laws                 },
    {"move_stays_in_the_cones",          test_move_stays_in_the_cones         },
    {NULL,                               NULL                                 }
};
