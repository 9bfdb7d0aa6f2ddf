/* Layer 6: what contacts, limits, motors and the rest cost.

   The reference below is written in long double from the force laws as the header states them:
   forces are evaluated as they stand and costs are integrals of them by a quadrature that is exact
   for them. It is held against golden/contact first, which knows neither. */

#include "tested.h"

#include "acutest.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double wide;

#define WIDE_EPS LDBL_EPSILON
#define TINY ((wide)REAL_MIN)
#define PI 3.14159265358979323846264338327950288L

#define GOLDEN "tests/golden/contact/points.txt"
#define GOLDEN_POINTS 1000

enum { LAWS = 5, MODELS = 3 }; /* without the caller's own law */
static const char* const law_names[] = {"Hunt & Crossley", "Hertz",       "Kelvin-Voigt",
                                        "IPC barrier",     "log barrier", "custom"};
static const char* const model_names[] = {"lagged", "similar", "SAP"};

/* rounds to the library's precision */
#define real(x) ((icf_real)(x))

static wide wide_abs(wide x)
{
    return x < 0 ? -x : x;
}

static wide wide_max(wide a, wide b)
{
    return a > b ? a : b;
}

static wide wide_min(wide a, wide b)
{
    return a < b ? a : b;
}

static wide wide_square(wide x)
{
    return x * x;
}

/* Log-uniform in [low, high). */
static double random_scale(double low, double high)
{
    return exp(random_between(log(low), log(high)));
}

static double random_sign(void)
{
    return random_below(2) ? 1 : -1;
}

static int bytes_are(const void* memory, size_t bytes, unsigned char value)
{
    const unsigned char* p = (const unsigned char*)memory;
    size_t i;
    for (i = 0; i < bytes; i++) {
        if (p[i] != value) return 0;
    }
    return 1;
}

// ------------------------------------------------------------------------------------------------
// The reference

/* Physical numbers of one contact in one step. */
typedef struct physics {
    int model, law;
    int by_force;
    wide dt, distance, k, d, tau, range, force;
    wide mu1, mu2, eps, impulse0, adhesion;
    wide rn, rt, vhat; /* SAP */
} physics;

enum { COST = 0, IMPULSE = 1, HESSIAN = 4, OUTPUTS = 13 };

/* The velocity at which the force ends, as far as there is one. */
static wide force_end(const physics* p)
{
    wide vphi = -p->distance / p->dt;
    if (p->model == ICF_MODEL_SAP) return p->vhat;
    switch (p->law) {
    case ICF_LAW_KELVIN_VOIGT: return -p->distance / (p->dt + p->tau);
    case ICF_LAW_IPC_BARRIER:
    case ICF_LAW_LOG_BARRIER: return (p->range - p->distance) / p->dt;
    default: break;
    }
    if (p->by_force) vphi = p->k > 0 ? p->force / (p->k * p->dt) : (wide)REAL_MAX;
    if (p->d > 0) return wide_min(vphi, 1 / p->d);
    return vphi;
}

/* dt f(phi, v), and its slope in v where phi grows by dt v, by the rules of the derivative */
static void force_at(const physics* p, wide phi, wide v, wide* n, wide* slope)
{
    wide dt = p->dt, damp = 1 - p->d * v, x, lg;
    *n = *slope = 0;
    switch (p->law) {
    case ICF_LAW_HUNT_CROSSLEY:
        x = p->by_force ? p->force - p->k * (phi - p->distance) : -p->k * phi;
        if (x <= 0 || damp <= 0) return;
        *n = dt * x * damp;
        *slope = dt * (-p->k * dt * damp - p->d * x);
        return;
    case ICF_LAW_HERTZ:
        if (phi >= 0 || damp <= 0) return;
        x = sqrtl(-phi);
        *n = dt * p->k * -phi * x * damp;
        *slope = dt * p->k * (-1.5L * dt * x * damp + p->d * phi * x);
        return;
    case ICF_LAW_KELVIN_VOIGT:
        x = -phi - p->tau * v;
        if (x <= 0) return;
        *n = dt * p->k * x;
        *slope = -dt * p->k * (dt + p->tau);
        return;
    case ICF_LAW_IPC_BARRIER:
        x = p->range - phi;
        if (x <= 0) return;
        lg = x < p->range / 2 ? log1pl(-x / p->range) : logl(phi / p->range);
        *n = dt * p->k * (x * x / phi - 2 * x * lg);
        *slope = dt * dt * p->k * (2 * lg - 4 * x / phi - wide_square(x / phi));
        return;
    default:
        *n = dt * p->k / phi;
        *slope = -dt * dt * p->k / (phi * phi);
        return;
    }
}

static void reference_force(const physics* p, wide v, wide* n, wide* slope)
{
    force_at(p, p->distance + p->dt * v, v, n, slope);
}

static const wide gauss_at[2] = {0.339981043584856264802665759103244687L,
                                 0.861136311594052575223946488892809505L};
static const wide gauss_weight[2] = {0.652145154862546142626936050778000593L,
                                     0.347854845137453857373063949221999407L};

/* The integral of n from v to where it ends, by four points of Gauss. Where n has a root in it,
   over the root itself, t: there, too, what is integrated is a polynomial of degree 6. */
static wide reference_integral(const physics* p, wide v, wide end)
{
    int hertz = p->law == ICF_LAW_HERTZ, i, sign;
    wide sum = 0, dt = p->dt, low, middle, half, n, slope;
    if (hertz) {
        wide high = sqrtl(wide_max(-(p->distance + dt * v), 0));
        low = sqrtl(wide_max(-(p->distance + dt * end), 0));
        half = dt * (end - v) / (high + low) / 2;
        middle = low + half;
    } else {
        half = (end - v) / 2;
        middle = v + half;
    }
    for (i = 0; i < 2; i++) {
        for (sign = -1; sign <= 1; sign += 2) {
            wide t = middle + (wide)sign * half * gauss_at[i];
            wide at = hertz ? (-t * t - p->distance) / dt : t;
            reference_force(p, at, &n, &slope);
            sum += gauss_weight[i] * n * (hertz ? 2 * t / dt : 1);
        }
    }
    return sum * half;
}

/* Cost, impulse, slope; 0 where a barrier has no value. */
static int reference_normal(const physics* p, wide v, wide out[3])
{
    wide phi = p->distance + p->dt * v, end = force_end(p), x = p->range - phi;
    int barrier = p->law == ICF_LAW_IPC_BARRIER || p->law == ICF_LAW_LOG_BARRIER;
    out[0] = out[1] = out[2] = 0;
    if (barrier && phi <= 0) return 0;
    reference_force(p, v, &out[1], &out[2]);
    if (p->law == ICF_LAW_LOG_BARRIER) {
        out[0] = -p->k * logl(phi / p->range);
    } else if (p->law == ICF_LAW_IPC_BARRIER) {
        wide lg = x < p->range / 2 ? log1pl(-x / p->range) : logl(phi / p->range);
        if (x > 0) out[0] = -p->k * x * x * lg;
    } else if (v < end && end < (wide)REAL_MAX) {
        out[0] = reference_integral(p, v, end);
    }
    return 1;
}

/* A soft norm of x = (mu1 v1, mu2 v2), its gradient and Hessian in v */
static wide reference_norm(const physics* p, const wide v[3], wide gradient[2], wide hessian[3])
{
    wide a = p->mu1 * v[0], b = p->mu2 * v[1], e = p->eps, q = a * a + b * b, r = sqrtl(q + e * e);
    gradient[0] = p->mu1 * a / r;
    gradient[1] = p->mu2 * b / r;
    hessian[0] = p->mu1 * p->mu1 / r * ((e * e + b * b) / r / r);
    hessian[1] = p->mu1 * p->mu2 / r * (-(a / r) * (b / r));
    hessian[2] = p->mu2 * p->mu2 / r * ((e * e + a * a) / r / r);
    return q / (r + e);
}

static void reference_sap(const physics* p, const wide v[3], wide out[OUTPUTS])
{
    wide vr = sqrtl(v[0] * v[0] + v[1] * v[1]), u = p->vhat - v[2], mu = p->mu1;
    wide *g = out + IMPULSE, *h = out + HESSIAN;
    if (u + mu * vr <= 0) return;
    if (mu > 0 && vr * p->rn <= mu * u * p->rt) {
        g[0] = -v[0] / p->rt;
        g[1] = -v[1] / p->rt;
        g[2] = u / p->rn;
        h[0] = h[4] = 1 / p->rt;
        h[8] = 1 / p->rn;
    } else {
        wide s = u + mu * vr, c = 1 / (p->rn + mu * mu * p->rt), t[2] = {0, 0}, turn = 0;
        if (vr > 0) {
            t[0] = v[0] / vr;
            t[1] = v[1] / vr;
            turn = mu * s / vr;
        }
        g[0] = -mu * c * s * t[0];
        g[1] = -mu * c * s * t[1];
        g[2] = c * s;
        h[0] = c * (mu * mu * t[0] * t[0] + turn * t[1] * t[1]);
        h[1] = h[3] = c * (mu * mu - turn) * t[0] * t[1];
        h[4] = c * (mu * mu * t[1] * t[1] + turn * t[0] * t[0]);
        h[2] = h[6] = -c * mu * t[0];
        h[5] = h[7] = -c * mu * t[1];
        h[8] = c;
    }
    out[COST] = (p->rt * (g[0] * g[0] + g[1] * g[1]) + p->rn * g[2] * g[2]) / 2;
}

static int reference_contact(const physics* p, const wide v[3], wide out[OUTPUTS])
{
    wide ell[3], g[2], h[3], psi;
    int i, similar = p->model == ICF_MODEL_SIMILAR, known = 1;
    for (i = 0; i < OUTPUTS; i++) out[i] = 0;
    if (p->model == ICF_MODEL_SAP) {
        reference_sap(p, v, out);
    } else {
        wide weight;
        psi = reference_norm(p, v, g, h);
        known = reference_normal(p, similar ? v[2] - psi : v[2], ell);
        weight = similar ? ell[1] : p->impulse0;
        out[COST] = ell[0] + (similar ? 0 : weight * psi);
        out[IMPULSE] = -weight * g[0];
        out[IMPULSE + 1] = -weight * g[1];
        out[IMPULSE + 2] = ell[1];
        out[HESSIAN] = weight * h[0];
        out[HESSIAN + 1] = weight * h[1];
        out[HESSIAN + 4] = weight * h[2];
        out[HESSIAN + 8] = -ell[2];
        if (similar) {
            out[HESSIAN] += -ell[2] * g[0] * g[0];
            out[HESSIAN + 1] += -ell[2] * g[0] * g[1];
            out[HESSIAN + 4] += -ell[2] * g[1] * g[1];
            out[HESSIAN + 2] = ell[2] * g[0];
            out[HESSIAN + 5] = ell[2] * g[1];
        }
        out[HESSIAN + 3] = out[HESSIAN + 1];
        out[HESSIAN + 6] = out[HESSIAN + 2];
        out[HESSIAN + 7] = out[HESSIAN + 5];
    }
    out[COST] += p->adhesion * v[2];
    out[IMPULSE + 2] -= p->adhesion;
    return known;
}

/* What rounding a velocity and the place where the force ends may do, in m/s: every number that is
   subtracted from the velocity counts. */
static wide velocity_noise(const physics* p, const wide v[3], wide eps)
{
    wide sum, a = p->mu1 * v[0], b = p->mu2 * v[1];
    if (p->model == ICF_MODEL_SAP) return eps * (wide_abs(v[2]) + wide_abs(p->vhat) + hypotl(a, b));
    sum = wide_abs(v[2]) + wide_abs(p->distance) / p->dt;
    if (p->model == ICF_MODEL_SIMILAR) sum += hypotl(a, b);
    if (p->by_force && p->k > 0) sum += wide_abs(p->force) / (p->k * p->dt);
    if (p->by_force && p->d > 0) sum += 1 / p->d;
    if (p->law == ICF_LAW_IPC_BARRIER || p->law == ICF_LAW_LOG_BARRIER) sum += p->range / p->dt;
    return eps * sum;
}

static wide diagonal_scale(const wide* h, int i)
{
    return sqrtl(wide_abs(h[4 * (i / 3)]) * wide_abs(h[4 * (i % 3)]));
}

/* The reference and the error of each of its numbers that is allowed: `eps` times a small constant,
   and what the same does to the velocity before. 0: too close to where the answer ends. */
static int reference_within(const physics* p, const wide v[3], wide eps, wide out[OUTPUTS],
                            wide allowed[OUTPUTS])
{
    wide noise = velocity_noise(p, v, 8 * eps);
    int i, j, side;
    if (!reference_contact(p, v, out)) return 0;
    if (p->model == ICF_MODEL_SAP && noise > 0 && wide_abs(p->vhat - v[2]) <= noise &&
        p->mu1 * hypotl(v[0], v[1]) <= noise) {
        return 0; /* the tip of the cone, where all regions meet */
    }
    for (i = 0; i < OUTPUTS; i++) {
        wide scale = i < HESSIAN ? wide_abs(out[i]) : diagonal_scale(out + HESSIAN, i - HESSIAN);
        if (i == COST) scale += wide_abs(p->adhesion * v[2]);
        if (i == IMPULSE + 2) scale += 2 * wide_abs(p->adhesion);
        allowed[i] = 16 * eps * scale + TINY * (1 + p->k * p->dt);
    }
    for (j = 0; j < 3; j++) {
        wide worst[OUTPUTS] = {0}, step = j < 2 ? 4 * eps * wide_abs(v[j]) : noise;
        /* by all of it and by parts, lest a narrow region between is passed over */
        for (side = -4; side <= 4; side++) {
            wide there[OUTPUTS], w[3];
            if (side == 0) continue;
            w[0] = v[0];
            w[1] = v[1];
            w[2] = v[2];
            w[j] += (wide)side / 4 * step;
            if (!reference_contact(p, w, there)) return 0;
            for (i = 0; i < OUTPUTS; i++)
                worst[i] = wide_max(worst[i], wide_abs(there[i] - out[i]));
        }
        for (i = 0; i < OUTPUTS; i++) allowed[i] += 2 * worst[i];
    }
    return 1;
}

// ------------------------------------------------------------------------------------------------
// Random contacts

typedef struct setting {
    icf_surface surface;
    icf_contact contact;
    icf_real dt, w, v0[3];
} setting;

static int is_barrier(const setting* s)
{
    return s->surface.model != ICF_MODEL_SAP &&
           (s->surface.law == ICF_LAW_IPC_BARRIER || s->surface.law == ICF_LAW_LOG_BARRIER);
}

static setting random_setting(int model, int law)
{
    setting s;
    icf_contact c = icf_default_contact();
    icf_surface f = icf_default_surface();
    double depth = random_scale(1e-6, 1e-2), choice = random_unit();
    f.model = model;
    f.law = law;
    s.dt = real(random_scale(1e-4, 5e-2));
    s.w = real(random_scale(1e-3, 1e2));
    f.near_rigid = 0;
    f.stiffness = real(random_scale(1e2, 1e8));
    f.dissipation = random_below(4) ? real(random_scale(1e-2, 1e3)) : 0;
    f.relaxation = random_below(4) ? real(random_scale(1e-4, 1e-1)) : 0;
    c.distance = real(choice < 0.7 ? -depth : choice < 0.8 ? 0 : depth);
    if (model != ICF_MODEL_SAP && (law == ICF_LAW_IPC_BARRIER || law == ICF_LAW_LOG_BARRIER)) {
        f.range = real(random_scale(1e-5, 1e-2));
        c.distance = real((double)f.range * random_between(0.01, 1.5));
        f.stiffness =
            real(law == ICF_LAW_IPC_BARRIER ? random_scale(1e2, 1e8) : random_scale(1e-3, 1e3));
    }
    f.friction = random_below(8) ? real(random_scale(0.05, 2)) : 0;
    if (model != ICF_MODEL_SAP && random_below(2)) {
        f.friction2 = random_below(4) ? real(random_scale(0.05, 2)) : 0;
    }
    f.slip_tolerance = real(random_scale(1e-5, 1e-2));
    f.softness = model == ICF_MODEL_SAP || random_below(2) ? real(random_scale(1e-4, 1e-2)) : 0;
    s.v0[0] = real(random_below(3) ? random_between(-1, 1) : 0);
    s.v0[1] = real(random_below(3) ? random_between(-1, 1) : 0);
    s.v0[2] = real(random_sign() * random_scale(1e-4, 1));
    if (!random_below(4)) {
        f.adhesion = real(random_scale(0.01, 100));
        f.adhesion_range = 1;
    }
    s.contact = c;
    s.surface = f;
    return s;
}

static physics physics_of(const setting* s, const icf_contact_term* term)
{
    const icf_contact* c = &s->contact;
    const icf_surface* f = &s->surface;
    physics p;
    p.model = f->model;
    p.law = f->law;
    p.by_force = f->by_force;
    p.dt = (wide)s->dt;
    p.distance = (wide)c->distance;
    p.k = (wide)f->stiffness;
    p.d = (wide)f->dissipation;
    p.tau = (wide)f->relaxation;
    p.range = (wide)f->range;
    p.force = (wide)c->force;
    p.mu1 = (wide)term->mu1;
    p.mu2 = (wide)term->mu2;
    p.eps = (wide)term->eps;
    p.impulse0 = (wide)term->impulse0;
    p.adhesion = (wide)term->adhesion;
    p.rt = (wide)term->rt;
    p.rn = p.k > 0 ? 1 / (p.dt * p.k * (p.dt + p.tau)) : 0;
    p.vhat = -p.distance / (p.dt + p.tau);
    return p;
}

/* Without what a term adds: friction, and the impulse before the step */
static physics normal_physics_of(const setting* s)
{
    icf_contact_term none;
    memset(&none, 0, sizeof none);
    return physics_of(s, &none);
}

static icf_contact_term make(const setting* s)
{
    icf_contact_term term;
    icf_result result;
    memset(&term, 0, sizeof term);
    result = icf_contact_term_make(&s->surface, &s->contact, s->dt, s->w, s->v0, &term);
    TEST_ASSERT_(result == ICF_RESULT_OK, "%s, %s: %s", model_names[s->surface.model],
                 law_names[s->surface.law], icf_result_string(result));
    TEST_MSG("seed %u", SEED);
    return term;
}

enum { ZERO_SLIP, SMALL_SLIP, SOME_SLIP, LARGE_SLIP, SLIPS };
enum { NEAR_BREAK, BELOW_BREAK, ABOVE_BREAK, JUST_ABOVE, PLACES };

/* A velocity with a slip in proportion to eps, and normal velocity in a certain distance from where
   the force ends. */
static void velocity_at(const setting* s, const physics* p, int slip, int place, icf_real v[3])
{
    double mu = (double)wide_max(p->mu1, p->mu2), around = mu > 0 ? (double)p->eps / mu : 1e-3;
    double angle = random_between(0, 6.2831853), size, x;
    wide end = force_end(p), w[3], g[2], h[3];
    if (p->model == ICF_MODEL_SAP) around = mu > 0 ? mu * (double)(p->rt / p->rn) * 0.01 : 1e-3;
    size = slip == ZERO_SLIP    ? 0
           : slip == SMALL_SLIP ? around * random_scale(1e-6, 1e-2)
           : slip == SOME_SLIP  ? around * random_scale(0.1, 10)
                                : around + random_scale(0.01, 10);
    v[0] = real(size * cos(angle));
    v[1] = real(random_below(8) ? size * sin(angle) : 0);
    if (end > 1e6L) end = 1;
    w[0] = (wide)v[0];
    w[1] = (wide)v[1];
    w[2] = 0;
    if (p->model == ICF_MODEL_SIMILAR) end += reference_norm(p, w, g, h);
    if (p->model == ICF_MODEL_SAP && random_below(2)) end += p->mu1 * hypotl(w[0], w[1]);
    x = ((double)wide_abs(end) + 1e-3) * (place == NEAR_BREAK || place == JUST_ABOVE
                                              ? random_scale(1e-6, 1e-2)
                                              : random_scale(1e-2, 10));
    if (is_barrier(s)) {
        double reach = (double)(p->range / p->dt);
        x = place == NEAR_BREAK || place == JUST_ABOVE ? reach * random_scale(1e-6, 1e-2)
            : place == BELOW_BREAK                     ? reach * random_between(0.01, 0.99)
                                                       : reach * random_scale(1e-2, 10);
    }
    v[2] = real(end + (wide)(place == NEAR_BREAK || place == BELOW_BREAK ? -x : x));
}

static void widen(const icf_real v[3], wide w[3])
{
    w[0] = (wide)v[0];
    w[1] = (wide)v[1];
    w[2] = (wide)v[2];
}

/* All that a term says at v; what icf_contact_evaluate answers. */
static int evaluate(const icf_contact_term* term, const icf_real v[3], wide out[OUTPUTS])
{
    icf_real cost, impulse[3], hessian[9];
    int i, known = icf_contact_evaluate(term, v, &cost, impulse, hessian);
    out[COST] = (wide)cost;
    for (i = 0; i < 3; i++) out[IMPULSE + i] = (wide)impulse[i];
    for (i = 0; i < 9; i++) out[HESSIAN + i] = (wide)hessian[i];
    return known;
}

static const char* const output_names[OUTPUTS] = {
    "cost", "impulse 1", "impulse 2", "impulse n", "H11", "H12", "H1n",
    "H21",  "H22",       "H2n",       "Hn1",       "Hn2", "Hnn"};

/* Are the squares of these, and what is asked, well within the range of the precision? */
static int representable(const physics* p, const wide v[3], const wide out[OUTPUTS])
{
    wide slip = hypotl(v[0], v[1]), mu = wide_max(p->mu1, p->mu2), top = 0;
    wide most = (wide)REAL_MAX * (wide)EPS * (wide)EPS;
    int i;
    for (i = 0; i < OUTPUTS; i++) top = wide_max(top, wide_abs(out[i]));
    if (slip > 0 && wide_square(slip * wide_min(mu > 0 ? mu : 1, 1)) < TINY / (wide)EPS) return 0;
    return top < most && wide_square(mu * slip + p->eps) < most && wide_square(v[2]) < most;
}

/* True if the point could be compared. */
static int check_point(const icf_contact_term* term, const physics* p, const icf_real v[3],
                       const char* what)
{
    wide w[3], expected[OUTPUTS], allowed[OUTPUTS], got[OUTPUTS];
    int i;
    widen(v, w);
    if (!reference_within(p, w, (wide)EPS, expected, allowed)) return 0;
    if (!representable(p, w, expected)) return 0;
    TEST_CHECK_(evaluate(term, v, got) == 1, "%s: no value", what);
    for (i = 0; i < OUTPUTS; i++) {
        wide error = wide_abs(got[i] - expected[i]);
        TEST_CHECK_(error <= allowed[i], "%s, %s, %s: %s is %.17g, not %.17g; error %g, allowed %g",
                    what, model_names[p->model], law_names[p->law], output_names[i], (double)got[i],
                    (double)expected[i], (double)error, (double)allowed[i]);
        TEST_MSG("seed %u, v %.17g %.17g %.17g dt %.17g phi %.17g k %g d %g tau %g mu %g %g eps %g",
                 SEED, (double)v[0], (double)v[1], (double)v[2], (double)p->dt, (double)p->distance,
                 (double)p->k, (double)p->d, (double)p->tau, (double)p->mu1, (double)p->mu2,
                 (double)p->eps);
    }
    return 1;
}

// ------------------------------------------------------------------------------------------------
// Golden points

/* A term with the numbers of the file, rounded; filled without the library's help */
static icf_contact_term term_of(const physics* p)
{
    icf_contact_term t;
    wide vphi = -p->distance / p->dt;
    memset(&t, 0, sizeof t);
    t.model = p->model;
    t.mu1 = real(p->mu1);
    t.mu2 = real(p->mu2);
    t.eps = real(p->eps);
    t.impulse0 = real(p->impulse0);
    t.normal.law = p->law;
    t.normal.dt = real(p->dt);
    t.normal.distance = real(p->distance);
    t.normal.range = real(p->range);
    if (p->model == ICF_MODEL_SAP) {
        t.rt = real(p->rt);
        t.normal.scale = real(1 / p->rn);
        t.normal.vhat = real(p->vhat);
        t.normal.bhat = 1;
        return t;
    }
    if (p->law == ICF_LAW_IPC_BARRIER || p->law == ICF_LAW_LOG_BARRIER) {
        t.normal.scale = real(p->k);
        t.normal.vhat = real(force_end(p));
        return t;
    }
    t.normal.scale = real(p->k * p->dt * p->dt * (p->law == ICF_LAW_HERTZ ? sqrtl(p->dt) : 1));
    t.normal.d = real(p->d);
    if (p->d > 0 && -p->distance * p->d > p->dt) {
        t.normal.vhat = real(1 / p->d);
        t.normal.ahat = real(vphi - 1 / p->d);
        t.normal.push = real((vphi - 1 / p->d) * p->k * p->dt * p->dt *
                             (p->law == ICF_LAW_HERTZ ? sqrtl(p->dt) : 1));
    } else {
        t.normal.vhat = real(vphi);
        t.normal.bhat = real(1 - p->d * vphi);
    }
    return t;
}

typedef struct golden_point {
    physics p;
    wide v[3], answer[OUTPUTS];
} golden_point;

/* Answers have more digits than a double; what goes in is the double next to what is printed. */
static int read_numbers(FILE* file, wide* numbers, int count, int answers)
{
    int i;
    for (i = 0; i < count; i++) {
        double input;
        if (answers) {
            if (fscanf(file, "%Lf", &numbers[i]) != 1) return 0;
        } else {
            if (fscanf(file, "%lf", &input) != 1) return 0;
            numbers[i] = (wide)input;
        }
    }
    return 1;
}

static int read_point(FILE* file, golden_point* g)
{
    static const int laws[4] = {ICF_LAW_HUNT_CROSSLEY, ICF_LAW_HERTZ, ICF_LAW_IPC_BARRIER,
                                ICF_LAW_LOG_BARRIER};
    static const int upper[6] = {0, 1, 2, 4, 5, 8};
    wide n[27];
    int i, model;
    physics* p = &g->p;
    if (!read_numbers(file, n, 17, 0) || !read_numbers(file, n + 17, 10, 1)) return 0;
    memset(g, 0, sizeof *g);
    model = (int)n[0];
    p->model = model == 0                 ? ICF_MODEL_SAP
               : model == 1 || model == 3 ? ICF_MODEL_LAGGED
                                          : ICF_MODEL_SIMILAR;
    p->law = model == 0 ? ICF_LAW_KELVIN_VOIGT : laws[(int)n[1]];
    p->dt = n[2];
    p->distance = n[3];
    p->k = n[4];
    p->d = n[5];
    p->range = n[6];
    p->mu1 = n[7];
    p->mu2 = n[8];
    p->eps = n[9] * (model == 1 || model == 2 ? p->mu1 : 1);
    if (!(p->eps > 0)) p->eps = 1;
    p->impulse0 = n[10];
    p->vhat = n[11];
    p->rt = n[12];
    p->rn = n[13];
    for (i = 0; i < 3; i++) g->v[i] = n[14 + i];
    for (i = 0; i < 4; i++) g->answer[i] = n[17 + i];
    for (i = 0; i < 6; i++) g->answer[HESSIAN + upper[i]] = n[21 + i];
    g->answer[HESSIAN + 3] = g->answer[HESSIAN + 1];
    g->answer[HESSIAN + 6] = g->answer[HESSIAN + 2];
    g->answer[HESSIAN + 7] = g->answer[HESSIAN + 5];
    return 1;
}

static FILE* open_golden(void)
{
    FILE* file = fopen(GOLDEN, "r");
    TEST_ASSERT_(file != NULL, "cannot open %s: run this from the root of the repository", GOLDEN);
    return file;
}

static void check_golden(const golden_point* g, int number, const wide got[OUTPUTS],
                         const wide allowed[OUTPUTS], const char* whose)
{
    int i;
    for (i = 0; i < OUTPUTS; i++) {
        wide error = wide_abs(got[i] - g->answer[i]);
        TEST_CHECK_(error <= allowed[i], "%s, point %d, %s, %s: %s is %.17g, not %.17g", whose,
                    number, model_names[g->p.model], law_names[g->p.law], output_names[i],
                    (double)got[i], (double)g->answer[i]);
        TEST_MSG("error %g, allowed %g", (double)error, (double)allowed[i]);
    }
}

static void test_reference_against_golden(void)
{
    FILE* file = open_golden();
    golden_point g;
    wide got[OUTPUTS], allowed[OUTPUTS];
    int number = 0, compared = 0;
    while (read_point(file, &g)) {
        number++;
        if (!reference_within(&g.p, g.v, WIDE_EPS, got, allowed)) continue;
        compared++;
        check_golden(&g, number, got, allowed, "the reference");
    }
    fclose(file);
    TEST_CHECK(number == GOLDEN_POINTS);
    TEST_CHECK(compared == GOLDEN_POINTS);
}

/* In double against the file itself; in both precisions against the reference at the numbers as
   rounded. */
static void test_golden_points(void)
{
    FILE* file = open_golden();
    golden_point g;
    int number = 0, compared = 0, by_model[MODELS] = {0, 0, 0};
    while (read_point(file, &g)) {
        icf_contact_term term = term_of(&g.p);
        physics rounded = g.p;
        icf_real v[3];
        int i;
        number++;
        for (i = 0; i < 3; i++) v[i] = real(g.v[i]);
#ifndef ICF_FLOAT
        {
            wide exact[OUTPUTS], allowed[OUTPUTS], got[OUTPUTS];
            TEST_CHECK(reference_within(&g.p, g.v, (wide)EPS, exact, allowed));
            TEST_CHECK(evaluate(&term, v, got) == 1);
            check_golden(&g, number, got, allowed, "the library");
        }
#endif
        rounded.dt = (wide)term.normal.dt;
        rounded.distance = (wide)term.normal.distance;
        rounded.k = (wide)real(g.p.k);
        rounded.d = (wide)real(g.p.d);
        rounded.range = (wide)real(g.p.range);
        rounded.mu1 = (wide)term.mu1;
        rounded.mu2 = (wide)term.mu2;
        rounded.eps = (wide)term.eps;
        rounded.impulse0 = (wide)term.impulse0;
        rounded.rt = (wide)term.rt;
        rounded.rn = (wide)real(g.p.rn);
        rounded.vhat = (wide)term.normal.vhat;
        if (rounded.model != ICF_MODEL_SAP) {
            term = term_of(&rounded);
        }
        if (check_point(&term, &rounded, v, "golden")) {
            compared++;
            by_model[rounded.model]++;
        }
    }
    fclose(file);
    TEST_CHECK(number == GOLDEN_POINTS);
    TEST_CHECK_(compared >= GOLDEN_POINTS - 20, "only %d points compared", compared);
    TEST_CHECK(by_model[0] > 300 && by_model[1] > 300 && by_model[2] == 200);
}

/* The normal law as the library makes it, under the friction of the file */
static void test_golden_made(void)
{
    FILE* file = open_golden();
    golden_point g;
    int compared = 0;
    while (read_point(file, &g)) {
        setting s;
        icf_contact_term term;
        physics p;
        icf_real v[3];
        int i;
        if (g.p.model == ICF_MODEL_SAP) continue;
        memset(&s, 0, sizeof s);
        s.contact = icf_default_contact();
        s.surface = icf_default_surface();
        s.surface.model = g.p.model;
        s.surface.law = g.p.law;
        s.contact.distance = real(g.p.distance);
        s.surface.stiffness = real(g.p.k);
        s.surface.dissipation = real(g.p.d);
        if (g.p.range > 0) s.surface.range = real(g.p.range);
        s.dt = real(g.p.dt);
        s.w = 1;
        if (is_barrier(&s) && s.contact.distance <= 0) continue;
        term = make(&s);
        term.mu1 = real(g.p.mu1);
        term.mu2 = real(g.p.mu2);
        term.eps = real(g.p.eps);
        term.impulse0 = real(g.p.impulse0);
        for (i = 0; i < 3; i++) v[i] = real(g.v[i]);
        p = physics_of(&s, &term);
        compared += check_point(&term, &p, v, "golden, made");
    }
    fclose(file);
    TEST_CHECK_(compared >= 750, "only %d points compared", compared);
}

// ------------------------------------------------------------------------------------------------
// Contacts against the reference

static int check_everywhere(const setting* s, const char* what)
{
    int compared = 0;
    icf_contact_term term = make(s);
    physics p = physics_of(s, &term);
    int slip, place;
    for (slip = 0; slip < SLIPS; slip++) {
        for (place = 0; place < PLACES; place++) {
            icf_real v[3];
            velocity_at(s, &p, slip, place, v);
            compared += check_point(&term, &p, v, what);
        }
    }
    return compared;
}

static void test_random_points(void)
{
    int model, law, i;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            int compared = 0, all = 150 * SLIPS * PLACES;
            for (i = 0; i < 150; i++) {
                setting s = random_setting(model, law);
                compared += check_everywhere(&s, "random");
            }
            TEST_CHECK_(10 * compared > 9 * all, "only %d of %d compared", compared, all);
            TEST_MSG("%s, %s, seed %u", model_names[model], law_names[law], SEED);
        }
    }
}

/* Each in turn and all pairs: touching, apart, no dissipation, no friction, no relaxation, hardly
   any and a great deal of everything. */
static void special(setting* s, int what)
{
    icf_contact* c = &s->contact;
    icf_surface* f = &s->surface;
    switch (what) {
    case 1: c->distance = is_barrier(s) ? f->range : 0; break;
    case 2: c->distance = real(random_scale(1e-9, 1e-1)); break;
    case 3: f->dissipation = f->relaxation = 0; break;
    case 4: f->friction = f->friction2 = 0; break;
    case 5: f->friction = real(1e-3); break;
    case 6: f->friction = 100; break;
    case 7: f->stiffness = real(1e12); break;
    case 8: f->stiffness = real(1e-6); break;
    case 9: f->dissipation = f->relaxation = real(1e4); break;
    case 10: f->dissipation = f->relaxation = real(1e-6); break;
    case 11: s->dt = real(1e-6); break;
    case 12: s->dt = 1; break;
    case 13: f->slip_tolerance = real(1e-8); break;
    case 14: f->slip_tolerance = 10; break;
    case 15:
        if (!is_barrier(s)) c->distance = real(-1e-12);
        break;
    case 16:
        if (!is_barrier(s)) c->distance = real(-1e2);
        break;
    case 17: s->w = real(1e-9); break;
    case 18: s->w = real(1e9); break;
    default: break;
    }
}
enum { SPECIALS = 19 };

static void test_special_points(void)
{
    int model, law, a, b;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            int compared = 0, all = 0;
            for (a = 0; a < SPECIALS; a++) {
                for (b = a; b < SPECIALS; b++) {
                    setting s = random_setting(model, law);
                    special(&s, a);
                    special(&s, b);
                    if (s.surface.model == ICF_MODEL_SAP) s.surface.friction2 = -1;
                    compared += check_everywhere(&s, "special");
                    all += SLIPS * PLACES;
                }
            }
            TEST_CHECK_(2 * compared > all, "only %d of %d compared", compared, all);
            TEST_MSG("%s, %s, seed %u", model_names[model], law_names[law], SEED);
        }
    }
}

/* At rest, at exactly the velocity where the force ends, and exactly no slip */
static void test_exact_velocities(void)
{
    int model, law, i;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            for (i = 0; i < 100; i++) {
                setting s = random_setting(model, law);
                icf_contact_term term = make(&s);
                physics p = physics_of(&s, &term);
                icf_real v[3] = {0, 0, 0};
                check_point(&term, &p, v, "at rest");
                v[2] = real(force_end(&p));
                check_point(&term, &p, v, "at the end of the force");
                v[0] = s.v0[0];
                check_point(&term, &p, v, "at the end of the force, sliding");
                check_point(&term, &p, s.v0, "at the start of the step");
            }
        }
    }
}

/* Units of speed, time and force are the caller's: in other ones, powers of two, all bits of the
   answer are the same. */
static void test_units_change_no_bit(void)
{
    int model, law, i, j;
#ifdef ICF_FLOAT
    const int most = 6;
#else
    const int most = 50;
#endif
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            int compared = 0;
            for (i = 0; i < 60; i++) {
                setting s = random_setting(model, law), t = s;
                /* lengths by 4^a, masses by 4^b, times by 4^c: the roots are powers of two too */
                int a = random_below(2 * most + 1) - most, b = random_below(2 * most + 1) - most;
                int c = random_below(most + 1) - most / 2;
                double length = ldexp(1, 2 * a), mass = ldexp(1, 2 * b), time = ldexp(1, 2 * c);
                double speed = length / time, impulse = mass * speed, force = impulse / time;
                double energy = force * length, stiffness = force / length;
                icf_contact_term term, other;
                physics p;
                wide got[OUTPUTS], expected[OUTPUTS], here[3], there[3];
                icf_real v[3], u[3];
                if (law == ICF_LAW_HERTZ && model != ICF_MODEL_SAP) stiffness /= ldexp(1, a);
                if (law == ICF_LAW_LOG_BARRIER && model != ICF_MODEL_SAP) stiffness = energy;
                t.dt = real((double)s.dt * time);
                t.w = real((double)s.w / mass);
                t.surface.stiffness = real((double)s.surface.stiffness * stiffness);
                t.contact.distance = real((double)s.contact.distance * length);
                t.surface.range = real((double)s.surface.range * length);
                t.surface.adhesion_range = real((double)s.surface.adhesion_range * length);
                t.surface.adhesion = real((double)s.surface.adhesion * force);
                t.surface.dissipation = real((double)s.surface.dissipation / speed);
                t.surface.relaxation = real((double)s.surface.relaxation * time);
                t.surface.slip_tolerance = real((double)s.surface.slip_tolerance * speed);
                if (random_below(2)) s.surface.near_rigid = t.surface.near_rigid = 1;
                for (j = 0; j < 3; j++) t.v0[j] = real((double)s.v0[j] * speed);
                term = make(&s);
                other = make(&t);
                p = physics_of(&s, &term);
                velocity_at(&s, &p, random_below(SLIPS), random_below(PLACES), v);
                for (j = 0; j < 3; j++) u[j] = real((double)v[j] * speed);
                TEST_CHECK(evaluate(&term, v, expected) == evaluate(&other, u, got));
                TEST_CHECK(term.bounded == other.bounded);
                widen(v, here);
                widen(u, there);
                if (!representable(&p, here, expected)) continue;
                p.eps = (wide)other.eps;
                if (!representable(&p, there, got)) continue;
                compared++;
                for (j = 0; j < OUTPUTS; j++) {
                    wide unit = (wide)(j == COST ? energy : j < HESSIAN ? impulse : mass);
                    TEST_CHECK_(got[j] == expected[j] * unit, "%s, %s: %s %.17g became %.17g",
                                model_names[model], law_names[law], output_names[j],
                                (double)expected[j], (double)(got[j] / unit));
                    TEST_MSG("seed %u, length %g mass %g time %g", SEED, length, mass, time);
                }
            }
            TEST_CHECK(compared > 40);
        }
    }
}

/* Whatever of the three is asked for, the same numbers */
static void test_parts_asked_for_alone(void)
{
    int model, law, i, j, mask;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            for (i = 0; i < 20; i++) {
                setting s = random_setting(model, law);
                icf_contact_term term = make(&s), before;
                physics p = physics_of(&s, &term);
                icf_real v[3], all[OUTPUTS], some[OUTPUTS];
                int known;
                velocity_at(&s, &p, random_below(SLIPS), random_below(PLACES), v);
                memcpy(&before, &term, sizeof term);
                known = icf_contact_evaluate(&term, v, all, all + IMPULSE, all + HESSIAN);
                for (mask = 0; mask < 8; mask++) {
                    memset(some, 0xC5, sizeof some);
                    TEST_CHECK(known == icf_contact_evaluate(&term, v, mask & 1 ? some : NULL,
                                                             mask & 2 ? some + IMPULSE : NULL,
                                                             mask & 4 ? some + HESSIAN : NULL));
                    for (j = 0; j < OUTPUTS; j++) {
                        int asked = j == COST ? mask & 1 : j < HESSIAN ? mask & 2 : mask & 4;
                        if (asked)
                            TEST_CHECK(some[j] == all[j]);
                        else
                            TEST_CHECK(bytes_are(&some[j], sizeof some[j], 0xC5));
                    }
                }
                /* in float there are bytes behind the last number */
                TEST_CHECK(
                    !memcmp(&before, &term, offsetof(icf_contact_term, lag) + sizeof term.lag));
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Derivatives: the library against finite differences of itself

/* Sixth order: sum of weight (f(k h) - f(-k h)) / h */
static const wide difference_weight[3] = {3.0L / 4, -3.0L / 20, 1.0L / 60};

/* How far from v the potential is smooth, in m/s */
static wide smooth_around(const physics* p, const wide v[3])
{
    wide mu = wide_max(p->mu1, p->mu2), reach, g[2], h[3], end = force_end(p), z = v[2], vr;
    if (p->model == ICF_MODEL_SAP) {
        vr = hypotl(v[0], v[1]);
        reach = wide_abs(p->vhat - v[2] + mu * vr) / (1 + mu);
        if (mu > 0) {
            wide border = wide_abs(vr * p->rn - mu * (p->vhat - v[2]) * p->rt);
            reach = wide_min(reach, border / (p->rn + mu * p->rt));
            if (vr * p->rn > mu * (p->vhat - v[2]) * p->rt) reach = wide_min(reach, vr);
        }
        return reach;
    }
    reach = wide_abs(v[2]) + 1;
    if (mu > 0) {
        wide psi = reference_norm(p, v, g, h);
        reach = (psi + p->eps) / mu;
        if (p->model == ICF_MODEL_SIMILAR) z -= psi;
    }
    if (end < (wide)REAL_MAX && p->law != ICF_LAW_LOG_BARRIER) {
        reach = wide_min(reach, wide_abs(end - z) / (1 + mu));
    }
    if (p->law == ICF_LAW_IPC_BARRIER || p->law == ICF_LAW_LOG_BARRIER) {
        reach = wide_min(reach, (p->distance + p->dt * z) / p->dt / (1 + mu));
    }
    if (p->law == ICF_LAW_HERTZ) {
        reach = wide_min(reach, wide_abs(p->distance / p->dt + z) / (1 + mu));
    }
    return reach;
}

/* Differences along one direction. Counts those that are sharp enough to mean something. */
static void check_differences(const icf_contact_term* term, const physics* p, const icf_real v[3],
                              const wide direction[3], int* sharp, int* all)
{
    wide w[3], at[7][OUTPUTS], step, ratio = powl((wide)EPS, 1.0L / 7), noise, size, cost_top = 0;
    wide gradient_top[3] = {0, 0, 0}, hessian_top = 0, along = 0, sum, bound, total = 0;
    int i, j, k, sum_of = 0;
    widen(v, w);
    step = ratio * smooth_around(p, w);
    noise = velocity_noise(p, w, (wide)EPS);
    size = noise + (wide)EPS * (wide_abs(w[0]) + wide_abs(w[1]) + wide_abs(w[2]));
    for (k = -3; k <= 3; k++) {
        icf_real x[3];
        for (i = 0; i < 3; i++) x[i] = real(w[i] + (wide)k * step * direction[i]);
        sum_of += evaluate(term, x, at[k + 3]);
    }
    TEST_CHECK(sum_of == 7);
    if (sum_of != 7) return;
    for (k = 0; k < 7; k++) {
        cost_top = wide_max(cost_top, wide_abs(at[k][COST]));
        for (i = 0; i < 3; i++) {
            gradient_top[i] = wide_max(gradient_top[i], wide_abs(at[k][IMPULSE + i]));
        }
        for (i = 0; i < 9; i++) hessian_top = wide_max(hessian_top, wide_abs(at[k][HESSIAN + i]));
    }
    for (i = 0; i < 3; i++) {
        along += at[3][IMPULSE + i] * direction[i];
        total += gradient_top[i];
    }
    /* -dl/da */
    sum = 0;
    for (k = 1; k <= 3; k++) {
        sum -= difference_weight[k - 1] * (at[3 + k][COST] - at[3 - k][COST]) / step;
    }
    bound = 8 * ((wide)EPS * (cost_top + p->adhesion * wide_abs(w[2])) + size * total) / step +
            100 * powl(ratio, 6) * (total + hessian_top * step / ratio) +
            8 * TINY * (1 + p->k) / step;
    TEST_CHECK_(wide_abs(sum - along) <= bound, "%s, %s: impulse %.12g, difference of costs %.12g",
                model_names[p->model], law_names[p->law], (double)along, (double)sum);
    TEST_MSG("seed %u, allowed %g; v %g %g %g step %g", SEED, (double)bound, (double)w[0],
             (double)w[1], (double)w[2], (double)step);
    if (total > 0) (*all)++;
    if (bound <= sqrtl((wide)EPS) * 10 * total) (*sharp)++;
    /* -dgamma/da */
    for (i = 0; i < 3; i++) {
        wide row = 0;
        sum = 0;
        for (j = 0; j < 3; j++) row += at[3][HESSIAN + 3 * i + j] * direction[j];
        for (k = 1; k <= 3; k++) {
            sum -=
                difference_weight[k - 1] * (at[3 + k][IMPULSE + i] - at[3 - k][IMPULSE + i]) / step;
        }
        bound = 8 * ((wide)EPS * (gradient_top[i] + p->adhesion) + size * hessian_top) / step +
                100 * powl(ratio, 6) * hessian_top + 8 * TINY * (1 + p->k) / step;
        TEST_CHECK_(wide_abs(sum - row) <= bound, "%s, %s: row %d of the Hessian %.12g, not %.12g",
                    model_names[p->model], law_names[p->law], i, (double)row, (double)sum);
        TEST_MSG("seed %u, allowed %g; v %g %g %g step %g", SEED, (double)bound, (double)w[0],
                 (double)w[1], (double)w[2], (double)step);
        if (hessian_top > 0) (*all)++;
        if (bound <= sqrtl((wide)EPS) * 10 * hessian_top) (*sharp)++;
    }
}

static void differences_everywhere(const setting* s, int* sharp, int* all)
{
    icf_contact_term term = make(s);
    physics p = physics_of(s, &term);
    int slip, place, i;
    for (slip = 0; slip < SLIPS; slip++) {
        for (place = 0; place < PLACES; place++) {
            icf_real v[3];
            wide direction[3], w[3], out[OUTPUTS], length;
            velocity_at(s, &p, slip, place, v);
            widen(v, w);
            if (!reference_contact(&p, w, out)) continue;
            if (smooth_around(&p, w) <= 1e3L * velocity_noise(&p, w, (wide)EPS)) continue;
            for (i = 0; i < 3; i++) {
                direction[0] = direction[1] = direction[2] = 0;
                direction[i] = 1;
                check_differences(&term, &p, v, direction, sharp, all);
            }
            for (i = 0; i < 3; i++) direction[i] = (wide)random_between(-1, 1);
            length = sqrtl(direction[0] * direction[0] + direction[1] * direction[1] +
                           direction[2] * direction[2]);
            for (i = 0; i < 3; i++) direction[i] /= length + 1e-3L;
            check_differences(&term, &p, v, direction, sharp, all);
        }
    }
}

static void test_differences_of_cost_and_impulse(void)
{
    int model, law, i;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            int sharp = 0, all = 0;
            for (i = 0; i < 60; i++) {
                setting s = random_setting(model, law);
                if (i % 2) special(&s, random_below(11));
                differences_everywhere(&s, &sharp, &all);
            }
            TEST_CHECK_(3 * sharp > all, "%s, %s: only %d of %d differences are sharp",
                        model_names[model], law_names[law], sharp, all);
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Convexity

static void test_hessian_shape(void)
{
    int model, law, i, j, k;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            for (i = 0; i < 400; i++) {
                setting s = random_setting(model, law);
                icf_contact_term term;
                physics p;
                icf_real v[3], h[9];
                wide c[9], tolerance = 32 * (wide)EPS, determinant;
                if (i % 2) special(&s, 1 + random_below(SPECIALS - 1));
                if (model == ICF_MODEL_SAP) s.surface.friction2 = -1;
                term = make(&s);
                p = physics_of(&s, &term);
                velocity_at(&s, &p, random_below(SLIPS), random_below(PLACES), v);
                if (!icf_contact_evaluate(&term, v, NULL, NULL, h)) continue;
                for (j = 0; j < 3; j++) {
                    TEST_CHECK(h[4 * j] >= 0);
                    for (k = 0; k < 3; k++) {
                        wide scale = sqrtl((wide)h[4 * j]) * sqrtl((wide)h[4 * k]);
                        TEST_CHECK(h[3 * j + k] == h[3 * k + j]);
                        c[3 * j + k] = scale > 0 ? (wide)h[3 * j + k] / scale : 0;
                        if (!(scale > 0)) TEST_CHECK(h[3 * j + k] == 0);
                    }
                }
                /* scaled to a diagonal of ones: all principal minors */
                TEST_CHECK(1 - c[1] * c[1] >= -tolerance);
                TEST_CHECK(1 - c[2] * c[2] >= -tolerance);
                TEST_CHECK(1 - c[5] * c[5] >= -tolerance);
                determinant = c[0] * (c[4] * c[8] - c[5] * c[7]) -
                              c[1] * (c[3] * c[8] - c[5] * c[6]) +
                              c[2] * (c[3] * c[7] - c[4] * c[6]);
                TEST_CHECK_(determinant >= -tolerance, "%s, %s: determinant %g", model_names[model],
                            law_names[law], (double)determinant);
                TEST_MSG("seed %u", SEED);
            }
        }
    }
}

/* Along a line, slopes do not fall, a cost is at most the mean of its neighbours', and the cost's
   rise is between the slopes at its ends. Lines begin and end at velocities of all kinds, so that
   they cross every border there is. */
static void test_convex_along_lines(void)
{
    enum { STOPS = 24 };
    int model, law, i, j, k;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            for (i = 0; i < 150; i++) {
                setting s = random_setting(model, law);
                icf_contact_term term = make(&s);
                physics p = physics_of(&s, &term);
                icf_real a[3], b[3], v[3];
                wide cost[STOPS + 1], slope[STOPS + 1], noise[STOPS + 1], blur[STOPS + 1];
                wide d[3], w[3], out[OUTPUTS], length;
                int known = 1;
                velocity_at(&s, &p, random_below(SLIPS), random_below(PLACES), a);
                velocity_at(&s, &p, random_below(SLIPS), random_below(PLACES), b);
                if (i % 3 == 0) { /* through the middle of friction */
                    b[0] = -a[0];
                    b[1] = -a[1];
                }
                for (j = 0; j < 3; j++) d[j] = (wide)b[j] - (wide)a[j];
                for (k = 0; k <= STOPS && known; k++) {
                    wide t = (wide)k / STOPS, bend = 0, spread = 0;
                    for (j = 0; j < 3; j++) v[j] = real((wide)a[j] + t * d[j]);
                    known = evaluate(&term, v, out);
                    widen(v, w);
                    length = velocity_noise(&p, w, 16 * (wide)EPS);
                    cost[k] = out[COST];
                    slope[k] = noise[k] = blur[k] = 0;
                    /* |d' H dv| <= sqrt(d' H d) sqrt(dv' H dv), and both roots by the diagonal */
                    for (j = 0; j < 3; j++) {
                        wide around = length + 16 * (wide)EPS * wide_abs(w[j]);
                        wide pull = wide_abs(out[IMPULSE + j]) + p.adhesion;
                        wide root = sqrtl(wide_abs(out[HESSIAN + 4 * j]));
                        slope[k] -= out[IMPULSE + j] * d[j];
                        noise[k] += around * pull;
                        blur[k] += 16 * (wide)EPS * pull * wide_abs(d[j]);
                        bend += root * wide_abs(d[j]);
                        spread += root * around;
                    }
                    noise[k] += 16 * (wide)EPS * wide_abs(out[COST]) + TINY * (1 + p.k);
                    noise[k] += spread * spread;
                    blur[k] += bend * spread + TINY * (1 + p.k);
                }
                if (!known) continue;
                for (k = 1; k <= STOPS; k++) {
                    wide rise = (cost[k] - cost[k - 1]) * STOPS;
                    wide error = (noise[k] + noise[k - 1]) * STOPS;
                    TEST_CHECK_(slope[k] >= slope[k - 1] - blur[k] - blur[k - 1],
                                "%s, %s: the slope falls from %.12g to %.12g", model_names[model],
                                law_names[law], (double)slope[k - 1], (double)slope[k]);
                    TEST_MSG("seed %u, allowed %g", SEED, (double)(blur[k] + blur[k - 1]));
                    TEST_CHECK(rise >= slope[k - 1] - blur[k - 1] - error);
                    TEST_CHECK(rise <= slope[k] + blur[k] + error);
                    if (k > 1) {
                        TEST_CHECK(2 * cost[k - 1] <= cost[k] + cost[k - 2] + 2 * noise[k - 1] +
                                                          noise[k] + noise[k - 2]);
                    }
                }
            }
        }
    }
}

/* Exactly nothing where the contact does not act */
static void test_open_is_zero(void)
{
    int model, law, i, j, lagged_slip = 0;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            if (law == ICF_LAW_LOG_BARRIER && model != ICF_MODEL_SAP)
                continue; /* acts everywhere */
            for (i = 0; i < 200; i++) {
                setting s = random_setting(model, law);
                icf_contact_term term;
                physics p;
                icf_real v[3];
                wide w[3], g[2], h[3], out[OUTPUTS], end;
                s.surface.adhesion = 0;
                if (i % 2) special(&s, random_below(11));
                term = make(&s);
                p = physics_of(&s, &term);
                velocity_at(&s, &p, random_below(SLIPS), ABOVE_BREAK, v);
                widen(v, w);
                end = force_end(&p);
                if (model == ICF_MODEL_SIMILAR) end += reference_norm(&p, w, g, h);
                if (model == ICF_MODEL_SAP) end += p.mu1 * hypotl(w[0], w[1]);
                v[2] = real(end + velocity_noise(&p, w, 16 * (wide)EPS) +
                            (wide)random_scale(1e-6, 1e3) * (wide_abs(end) + 1e-6L));
                TEST_CHECK(evaluate(&term, v, out) == 1);
                TEST_CHECK(out[IMPULSE + 2] == 0 && out[HESSIAN + 8] == 0);
                if (model == ICF_MODEL_LAGGED && term.impulse0 > 0) {
                    lagged_slip++;
                    continue; /* friction on what was there at the start */
                }
                for (j = 0; j < OUTPUTS; j++) {
                    TEST_CHECK_(out[j] == 0, "%s, %s: %s is %g", model_names[model], law_names[law],
                                output_names[j], (double)out[j]);
                }
            }
        }
    }
    TEST_CHECK(lagged_slip > 100);
    TEST_MSG("seed %u", SEED);
}

/* A stiffness of zero, and a force that was not there at the start of the step */
static void test_no_force(void)
{
    int model, law, i, j;
    random_seed(SEED);
    for (model = 0; model < 2; model++) {
        for (law = 0; law < LAWS; law++) {
            for (i = 0; i < 20; i++) {
                setting s = random_setting(model, law);
                icf_contact_term term;
                icf_real v[3];
                wide out[OUTPUTS];
                s.surface.adhesion = 0;
                s.surface.stiffness = 0;
                term = make(&s);
                TEST_CHECK(term.impulse0 == 0);
                for (j = 0; j < 3; j++) v[j] = real(random_between(-1, 1));
                if (is_barrier(&s)) v[2] = 10; /* away, whatever the slip */
                TEST_CHECK(evaluate(&term, v, out) == 1);
                for (j = 0; j < OUTPUTS; j++) TEST_CHECK(out[j] == 0);
            }
        }
    }
    for (i = 0; i < 20; i++) {
        setting s = random_setting(ICF_MODEL_LAGGED, ICF_LAW_HUNT_CROSSLEY);
        icf_contact_term term;
        physics p;
        icf_real v[3] = {1, 2, 0};
        wide out[OUTPUTS];
        s.surface.adhesion = 0;
        s.contact.distance = real(random_scale(1e-6, 1e-2));
        term = make(&s);
        p = physics_of(&s, &term);
        v[2] = real(force_end(&p) * 2 - 1);
        TEST_CHECK(evaluate(&term, v, out) == 1);
        TEST_CHECK(term.impulse0 == 0);
        TEST_CHECK(out[IMPULSE] == 0 && out[IMPULSE + 1] == 0 && out[HESSIAN] == 0);
        TEST_CHECK(out[IMPULSE + 2] > 0);
    }
    TEST_MSG("seed %u", SEED);
}

// ------------------------------------------------------------------------------------------------
// The numbers of one step

static void check_near(icf_real got, wide expected, wide allowed, const char* what)
{
    wide error = wide_abs((wide)got - expected);
    TEST_CHECK_(error <= allowed, "%s is %.17g, not %.17g; allowed %g", what, (double)got,
                (double)expected, (double)allowed);
    TEST_MSG("seed %u", SEED);
}

/* dt f(phi0, v0), and how far rounding may take it */
static wide start_impulse(const setting* s, wide* allowed)
{
    const physics p = normal_physics_of(s);
    wide n, slope, moved, v = (wide)s->v0[2], more = 1 + 8 * (wide)EPS;
    force_at(&p, p.distance, v, &n, &slope);
    *allowed = 16 * (wide)EPS * n + TINY;
    force_at(&p, p.distance, v * more, &moved, &slope);
    *allowed += wide_abs(moved - n);
    if (!p.by_force) {
        force_at(&p, p.distance * more, v, &moved, &slope);
        *allowed += wide_abs(moved - n);
    }
    return n;
}

static void test_start_of_step(void)
{
    int law, model, i, acting = 0, regular = 0, plain = 0;
    random_seed(SEED);
    for (law = 0; law < LAWS; law++) {
        for (i = 0; i < 300; i++) {
            setting s = random_setting(ICF_MODEL_LAGGED, law);
            wide allowed, n, mu, vs, sigma;
            if (i % 4 == 0) special(&s, 1 + random_below(10));
            if (i % 5 == 0) s.v0[2] = 0;
            n = start_impulse(&s, &allowed);
            acting += n > 0;
            mu = wide_max((wide)s.surface.friction,
                          s.surface.friction2 < 0 ? 0 : (wide)s.surface.friction2);
            vs = (wide)s.surface.slip_tolerance;
            sigma = (wide)s.surface.softness;
            for (model = 0; model < 2; model++) {
                icf_contact_term term;
                wide soft = sigma * (wide)s.w * mu * n, eps = mu * wide_max(vs, soft);
                s.surface.model = model;
                term = make(&s);
                if (model == ICF_MODEL_LAGGED) check_near(term.impulse0, n, allowed, "gamma_n0");
                TEST_CHECK(term.eps > 0);
                if (mu > 0) {
                    check_near(term.eps, eps,
                               16 * (wide)EPS * eps + mu * sigma * (wide)s.w * mu * allowed, "eps");
                    if (soft > 2 * vs) regular++;
                    if (soft > 0 && soft < vs / 2) plain++;
                }
                TEST_CHECK(term.model == model);
                TEST_CHECK(!term.bounded);
                TEST_CHECK(term.mu1 == s.surface.friction);
                TEST_CHECK(term.mu2 ==
                           (s.surface.friction2 < 0 ? s.surface.friction : s.surface.friction2));
            }
        }
    }
    TEST_CHECK(acting > 500 && regular > 200 && plain > 200);
    TEST_MSG("acting %d, regularised %d, not %d", acting, regular, plain);
}

/* No impulse at the start when there is no overlap, or when the bodies part too fast */
static void test_start_clamps(void)
{
    setting s = random_setting(ICF_MODEL_LAGGED, ICF_LAW_HUNT_CROSSLEY);
    int law;
    s.surface.stiffness = 1000;
    s.surface.dissipation = 4;
    s.surface.relaxation = real(0.0078125);
    s.surface.adhesion = 0;
    s.dt = real(0.015625);
    for (law = ICF_LAW_HUNT_CROSSLEY; law <= ICF_LAW_KELVIN_VOIGT; law++) {
        s.surface.law = law;
        s.contact.distance = real(-0.0625);
        s.v0[2] = law == ICF_LAW_KELVIN_VOIGT ? 8 : real(0.25);
        TEST_CHECK(make(&s).impulse0 == 0);
        s.v0[2] = 10;
        TEST_CHECK(make(&s).impulse0 == 0);
        s.v0[2] = real(0.125);
        TEST_CHECK(make(&s).impulse0 > 0);
        s.v0[2] = -1;
        s.contact.distance = 0;
        if (law != ICF_LAW_KELVIN_VOIGT) TEST_CHECK(make(&s).impulse0 == 0);
        s.contact.distance = real(0.125);
        TEST_CHECK(make(&s).impulse0 == 0);
    }
    /* the numbers by hand: phi0 = -1/16, v0 = 1/8 */
    s.contact.distance = real(-0.0625);
    s.v0[2] = real(0.125);
    s.surface.law = ICF_LAW_HUNT_CROSSLEY; /* 1000 / 16 (1 - 1/2) / 64 */
    check_near(make(&s).impulse0, 1000.0L / 2048, 4 * (wide)EPS, "Hunt & Crossley");
    s.surface.law = ICF_LAW_HERTZ; /* 1000 / 64 (1 - 1/2) / 64 */
    check_near(make(&s).impulse0, 1000.0L / 8192, 4 * (wide)EPS, "Hertz");
    s.surface.law = ICF_LAW_KELVIN_VOIGT; /* 1000 (1/16 - 1/1024) / 64 */
    check_near(make(&s).impulse0, 1000.0L * 63 / 65536, 4 * (wide)EPS, "Kelvin-Voigt");
}

static void test_sap_numbers(void)
{
    int i, acts = 0, not = 0;
    random_seed(SEED);
    for (i = 0; i < 500; i++) {
        setting s = random_setting(ICF_MODEL_SAP, random_below(LAWS));
        icf_contact_term term;
        wide dt = (wide)s.dt, tau, k, beta, bound, soft, rn, vhat;
        s.surface.near_rigid = i % 3 ? real(random_scale(0.1, 2)) : -1;
        beta = i % 3 ? (wide)s.surface.near_rigid : 1; /* the default */
        tau = (wide)s.surface.relaxation;
        k = (wide)s.surface.stiffness;
        bound = beta * beta * (wide)s.w / (4 * PI * PI);
        soft = 1 / (dt * k * (dt + tau));
        rn = wide_max(bound, soft);
        vhat = -(wide)s.contact.distance / (dt + tau);
        term = make(&s);
        check_near(term.normal.scale, 1 / rn, 16 * (wide)EPS / rn, "1 / R_n");
        check_near(term.normal.vhat, vhat, 8 * (wide)EPS * wide_abs(vhat), "vhat");
        check_near(term.rt, (wide)s.surface.softness * (wide)s.w,
                   4 * (wide)EPS * (wide)s.surface.softness * (wide)s.w, "R_t");
        if (bound > soft * 1.001L) {
            TEST_CHECK(term.bounded == 1);
            acts++;
        }
        if (bound < soft * 0.999L) {
            TEST_CHECK(term.bounded == 0);
            not ++;
        }
    }
    TEST_CHECK(acts > 50 && not > 50);
    TEST_MSG("seed %u: acts %d, does not %d", SEED, acts, not );
}

/* Off SAP the bound acts only when asked to; then the spring's period is beta steps. */
static void test_near_rigid(void)
{
    int model, i, acts = 0, not = 0;
    random_seed(SEED);
    for (i = 0; i < 400; i++) {
        for (model = 0; model < 2; model++) {
            setting s = random_setting(model, ICF_LAW_HUNT_CROSSLEY), t;
            icf_contact_term bounded, free, same;
            wide dt = (wide)s.dt, k, beta, most;
            icf_real v[3];
            physics p;
            s.surface.near_rigid = -1;
            s.surface.stiffness = real(random_scale(1e2, 1e12));
            k = (wide)s.surface.stiffness;
            free = make(&s);
            TEST_CHECK(free.bounded == 0);
            check_near(free.normal.scale, k * dt * dt, 8 * (wide)EPS * k * dt * dt, "dt^2 k");
            s.surface.near_rigid = real(random_scale(0.05, 2));
            beta = (wide)s.surface.near_rigid;
            most = wide_square(2 * PI / (beta * dt)) / (wide)s.w;
            if (wide_abs(most / k - 1) < 0.001L) continue;
            bounded = make(&s);
            TEST_CHECK(bounded.bounded == (k > most));
            if (k > most)
                acts++;
            else
                not ++;
            /* one with the smaller stiffness is the same contact */
            t = s;
            t.surface.near_rigid = 0;
            t.surface.stiffness = real(wide_min(k, most));
            same = make(&t);
            p = physics_of(&t, &same);
            check_near(bounded.normal.scale, wide_min(k, most) * dt * dt,
                       16 * (wide)EPS * wide_min(k, most) * dt * dt, "the bounded dt^2 k");
            check_near(bounded.impulse0, (wide)same.impulse0, 32 * (wide)EPS * (wide)same.impulse0,
                       "the bounded gamma_n0");
            velocity_at(&t, &p, random_below(SLIPS), BELOW_BREAK, v);
            p.impulse0 = (wide)bounded.impulse0;
            p.eps = (wide)bounded.eps;
            check_point(&bounded, &p, v, "bounded");
        }
    }
    TEST_CHECK(acts > 100 && not > 100);
    TEST_MSG("seed %u: acts %d, does not %d", SEED, acts, not );
    /* the other springs: at least that period */
    for (i = 0; i < 200; i++) {
        setting s = random_setting(i % 2, ICF_LAW_KELVIN_VOIGT);
        icf_contact_term term;
        wide dt = (wide)s.dt, tau, spring, most;
        s.surface.near_rigid = 1;
        s.surface.stiffness = real(random_scale(1e2, 1e10));
        tau = (wide)s.surface.relaxation;
        term = make(&s);
        spring = (wide)term.normal.scale / (dt * (dt + tau));
        most = wide_square(2 * PI / dt) / (wide)s.w;
        TEST_CHECK(spring <= most * (1 + 16 * (wide)EPS));
        if (term.bounded)
            TEST_CHECK(spring < (wide)s.surface.stiffness);
        else
            check_near(real(spring), (wide)s.surface.stiffness,
                       16 * (wide)EPS * (wide)s.surface.stiffness, "an unbounded stiffness");
        if ((wide)s.surface.stiffness > most * 1.001L) TEST_CHECK(term.bounded == 1);
    }
    for (i = 0; i < 200; i++) { /* Hertz: of small swings about the start of the step */
        setting s = random_setting(i % 2, ICF_LAW_HERTZ);
        icf_contact_term term;
        wide dt = (wide)s.dt, wanted, spring, most = wide_square(2 * PI / dt) / (wide)s.w;
        s.surface.near_rigid = 1;
        s.surface.stiffness = real(random_scale(1e2, 1e10));
        s.contact.distance = real(-random_scale(1e-6, 1e-2));
        term = make(&s);
        spring = 1.5L * sqrtl(-(wide)s.contact.distance);
        wanted = spring * (wide)s.surface.stiffness;
        spring *= (wide)term.normal.scale / (dt * dt * sqrtl(dt));
        if (wide_abs(wanted / most - 1) < 0.001L) continue;
        TEST_CHECK(term.bounded == (wanted > most));
        check_near(real(spring), wide_min(wanted, most), 32 * (wide)EPS * wide_min(wanted, most),
                   "a Hertz contact's stiffness");
    }
}

/* From the static coefficient when nothing slips to the dynamic one when it does, without a rise in
   between; both directions alike. */
static void test_static_friction(void)
{
    int model, i, j;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (i = 0; i < 20; i++) {
            setting s = random_setting(model, ICF_LAW_HUNT_CROSSLEY);
            double slip, angle = random_between(0, 6.28), vs = (double)s.surface.slip_tolerance;
            wide dynamic, still, last = 0, ratio;
            icf_contact_term term;
            s.surface.friction = real(random_scale(0.1, 1));
            s.surface.friction_static = real((double)s.surface.friction * random_between(1.05, 3));
            s.surface.friction2 =
                model != ICF_MODEL_SAP && i % 2 ? real(random_scale(0.1, 1)) : (icf_real)-1;
            dynamic = (wide)s.surface.friction;
            still = (wide)s.surface.friction_static;
            ratio = s.surface.friction2 < 0 ? 1 : (wide)s.surface.friction2 / dynamic;
            s.v0[0] = s.v0[1] = 0;
            term = make(&s);
            check_near(term.mu1, still, 8 * (wide)EPS * still, "mu without slip");
            check_near(term.mu2, ratio * still, 8 * (wide)EPS * ratio * still, "mu2 without slip");
            last = (wide)term.mu1;
            for (j = 0; j < 200; j++) {
                slip = vs * ldexp(1e-3, j / 4) * (1 + 0.1892 * (j % 4));
                s.v0[0] = real(slip * cos(angle));
                s.v0[1] = real(slip * sin(angle));
                if (slip > 1e12) break;
                term = make(&s);
                TEST_CHECK_((wide)term.mu1 <= last * (1 + 16 * (wide)EPS),
                            "rises from %.17g to %.17g", (double)last, (double)term.mu1);
                TEST_CHECK((wide)term.mu1 >= dynamic * (1 - 8 * (wide)EPS));
                check_near(term.mu2, ratio * (wide)term.mu1, 16 * (wide)EPS * ratio * last, "mu2");
                last = (wide)term.mu1;
            }
            check_near(term.mu1, dynamic, 1e-6L * (still - dynamic) + 8 * (wide)EPS * dynamic,
                       "mu at a great slip");
            /* a slip within the tolerance counts as sticking, nearly; a thousand of them do not */
            s.v0[0] = real(vs / 10);
            s.v0[1] = 0;
            TEST_CHECK((wide)make(&s).mu1 > dynamic + (still - dynamic) * 0.9L);
            s.v0[0] = real(vs * 1000);
            TEST_CHECK((wide)make(&s).mu1 < dynamic + (still - dynamic) * 0.1L);
            /* eps goes with the coefficient that is used */
            if (model != ICF_MODEL_SAP) {
                s.surface.softness = 0;
                term = make(&s);
                check_near(term.eps, wide_max((wide)term.mu1, (wide)term.mu2) * (wide)vs,
                           8 * (wide)EPS * wide_max((wide)term.mu1, (wide)term.mu2) * (wide)vs,
                           "eps");
            }
        }
    }
}

/* In between, the smooth step 3 t^2 - 2 t^3 from 5 slip tolerances to 15, in any direction */
static void test_static_friction_range(void)
{
    int model, i, j;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (i = 0; i < 20; i++) {
            setting s = random_setting(model, ICF_LAW_HUNT_CROSSLEY);
            wide still, dynamic, vs = (wide)s.surface.slip_tolerance;
            s.surface.friction = real(random_scale(0.1, 1));
            s.surface.friction_static = real((double)s.surface.friction * random_between(1.05, 3));
            s.surface.friction2 = -1;
            dynamic = (wide)s.surface.friction;
            still = (wide)s.surface.friction_static;
            for (j = 0; j <= 40; j++) {
                double angle = random_between(0, 6.28);
                wide t, mu;
                s.v0[0] = real((double)vs * j / 2 * cos(angle));
                s.v0[1] = real((double)vs * j / 2 * sin(angle));
                t = (hypotl((wide)s.v0[0], (wide)s.v0[1]) / vs - 5) / 10;
                t = t < 0 ? 0 : t > 1 ? 1 : t;
                mu = still + (dynamic - still) * t * t * (3 - 2 * t);
                check_near(make(&s).mu1, mu, 16 * (wide)EPS * still, "mu between");
            }
        }
    }
}

/* Pulls with the same force at every velocity, within its range, and has no friction of its own */
static void test_adhesion_pulls_evenly(void)
{
    int model, law, i, j;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (law = 0; law < LAWS; law++) {
            for (i = 0; i < 40; i++) {
                setting s = random_setting(model, law), t;
                icf_contact_term with, without;
                physics p;
                icf_real v[3];
                wide a[OUTPUTS], b[OUTPUTS], pull;
                s.surface.adhesion = real(random_scale(0.1, 100));
                s.surface.adhesion_range = s.contact.distance; /* still within */
                t = s;
                t.surface.adhesion = 0;
                with = make(&s);
                without = make(&t);
                pull = (wide)s.dt * (wide)s.surface.adhesion;
                check_near(with.adhesion, pull, 4 * (wide)EPS * pull, "dt times the pull");
                TEST_CHECK(without.adhesion == 0);
                TEST_CHECK(with.impulse0 == without.impulse0);
                TEST_CHECK(with.eps == without.eps);
                p = physics_of(&s, &with);
                velocity_at(&s, &p, random_below(SLIPS), random_below(PLACES), v);
                TEST_CHECK(evaluate(&with, v, a) == evaluate(&without, v, b));
                if (a[COST] >= (wide)REAL_MAX) continue;
                pull = (wide)with.adhesion;
                for (j = 0; j < OUTPUTS; j++) {
                    wide shift = j == COST ? pull * (wide)v[2] : j == IMPULSE + 2 ? -pull : 0;
                    TEST_CHECK(wide_abs(a[j] - b[j] - shift) <=
                               2 * (wide)EPS * (wide_abs(b[j]) + wide_abs(shift)));
                    if (shift == 0) TEST_CHECK(a[j] == b[j]);
                }
                /* out of range */
                s.surface.adhesion_range = real((wide)s.contact.distance -
                                                1e-3L * wide_abs((wide)s.contact.distance) - 1e-9L);
                if (s.surface.adhesion_range < 0) continue;
                with = make(&s);
                TEST_CHECK(with.adhesion == 0);
            }
        }
    }
    TEST_MSG("seed %u", SEED);
}

/* A force and a stiffness say the same as a distance and a stiffness. */
static void test_by_force(void)
{
    int model, i, place, slip;
    random_seed(SEED);
    for (model = 0; model < 2; model++) {
        for (i = 0; i < 200; i++) {
            setting s = random_setting(model, ICF_LAW_HUNT_CROSSLEY);
            icf_contact_term by_distance, by_force;
            physics p, q;
            by_distance = make(&s);
            s.surface.by_force = 1;
            s.contact.force = real(-(wide)s.surface.stiffness * (wide)s.contact.distance);
            /* the distance is not to be looked at */
            s.contact.distance = real(random_between(-1, 1));
            by_force = make(&s);
            if (s.surface.adhesion > 0 && s.surface.adhesion_range > 0) {
                TEST_CHECK(by_force.adhesion == by_distance.adhesion);
            }
            check_near(by_force.impulse0, (wide)by_distance.impulse0,
                       32 * (wide)EPS * (wide)by_distance.impulse0, "gamma_n0 by force");
            check_near(by_force.eps, (wide)by_distance.eps, 32 * (wide)EPS * (wide)by_distance.eps,
                       "eps by force");
            p = physics_of(&s, &by_force);
            q = p;
            q.by_force = 0;
            q.distance = -p.force / p.k;
            for (slip = 0; slip < SLIPS; slip++) {
                for (place = 0; place < PLACES; place++) {
                    icf_real v[3];
                    velocity_at(&s, &q, slip, place, v);
                    check_point(&by_force, &q, v, "by force, as by distance");
                    p.distance = 0;
                    check_point(&by_force, &p, v, "by force");
                }
            }
        }
    }
}

/* Kelvin-Voigt and SAP: the distance is -force / stiffness. */
static void test_by_force_damped(void)
{
    int model, i;
    random_seed(SEED);
    for (model = 0; model < MODELS; model++) {
        for (i = 0; i < 100; i++) {
            setting s = random_setting(model, ICF_LAW_KELVIN_VOIGT), t = s;
            icf_contact_term by_distance, by_force;
            physics p;
            icf_real v[3];
            int slip, place;
            s.surface.stiffness = t.surface.stiffness = real(ldexp(1, random_below(20)));
            t.surface.by_force = 1;
            t.contact.force = -s.contact.distance * s.surface.stiffness;
            t.contact.distance = s.surface.adhesion > 0 ? s.contact.distance : 1;
            by_distance = make(&s);
            by_force = make(&t);
            check_near(by_force.impulse0, (wide)by_distance.impulse0,
                       8 * (wide)EPS * (wide)by_distance.impulse0, "gamma_n0 by force");
            p = physics_of(&s, &by_distance);
            p.impulse0 = (wide)by_force.impulse0;
            p.eps = (wide)by_force.eps;
            for (slip = 0; slip < SLIPS; slip++) {
                for (place = 0; place < PLACES; place++) {
                    velocity_at(&s, &p, slip, place, v);
                    check_point(&by_force, &p, v, "by force");
                }
            }
        }
    }
}

/* Without a stiffness: a force that dissipation alone changes */
static void test_constant_force(void)
{
    int model, i;
    random_seed(SEED);
    for (model = 0; model < 2; model++) {
        for (i = 0; i < 200; i++) {
            setting s = random_setting(model, ICF_LAW_HUNT_CROSSLEY);
            icf_contact_term term;
            physics p;
            icf_real v[3], low[3];
            wide n, allowed, out[OUTPUTS], before[OUTPUTS], w[3], rise;
            int j, slip, place;
            s.surface.by_force = 1;
            s.surface.stiffness = 0;
            s.contact.force = real(i % 5 ? random_scale(1e-3, 1e4) : -10);
            s.surface.adhesion = 0;
            s.surface.dissipation = i % 2 ? real(random_scale(0.1, 100)) : 0;
            n = start_impulse(&s, &allowed);
            term = make(&s);
            if (model == ICF_MODEL_LAGGED) check_near(term.impulse0, n, allowed, "gamma_n0");
            p = physics_of(&s, &term);
            p.distance = 0;
            if (s.surface.dissipation > 0) {
                for (slip = 0; slip < SLIPS; slip++) {
                    for (place = 0; place < PLACES; place++) {
                        velocity_at(&s, &p, slip, place, v);
                        if (s.contact.force > 0) {
                            check_point(&term, &p, v, "a force and dissipation");
                            continue;
                        }
                        TEST_CHECK(evaluate(&term, v, out) == 1);
                        for (j = 0; j < OUTPUTS; j++) TEST_CHECK(out[j] == 0);
                    }
                }
                continue;
            }
            /* constant: all but the cost, which has no zero, and then its differences */
            n = s.contact.force > 0 ? (wide)s.dt * (wide)s.contact.force : 0;
            low[0] = low[1] = 0;
            low[2] = real(random_between(-1, 1));
            v[0] = v[1] = 0;
            v[2] = real(random_between(-1, 1));
            TEST_CHECK(evaluate(&term, low, before) == 1);
            TEST_CHECK(evaluate(&term, v, out) == 1);
            check_near(real(out[IMPULSE + 2]), n, 8 * (wide)EPS * n, "a constant impulse");
            check_near(real(before[IMPULSE + 2]), n, 8 * (wide)EPS * n, "a constant impulse");
            TEST_CHECK(out[HESSIAN + 8] == 0);
            rise = -n * ((wide)v[2] - (wide)low[2]);
            check_near(real(out[COST] - before[COST]), rise,
                       16 * (wide)EPS * (n + wide_abs(before[COST]) + wide_abs(out[COST])),
                       "the rise of the cost");
            /* and friction on it */
            for (j = 0; j < 2; j++) v[j] = real(random_between(-1, 1));
            widen(v, w);
            TEST_CHECK(evaluate(&term, v, out) == 1);
            {
                wide g[2], h[3], weight = model == ICF_MODEL_LAGGED ? p.impulse0 : n;
                reference_norm(&p, w, g, h);
                for (j = 0; j < 2; j++) {
                    check_near(real(out[IMPULSE + j]), -weight * g[j],
                               32 * (wide)EPS * weight * wide_abs(g[j]), "friction");
                }
                check_near(real(out[HESSIAN]), weight * h[0], 32 * (wide)EPS * weight * h[0],
                           "H11");
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Normal laws alone

/* Hunt & Crossley has two ways to end. Where one takes over from the other, nothing jumps. */
static void test_normal_switch(void)
{
    int law, i, j, side;
    random_seed(SEED);
    for (law = ICF_LAW_HUNT_CROSSLEY; law <= ICF_LAW_HERTZ; law++) {
        for (i = 0; i < 200; i++) {
            setting s = random_setting(ICF_MODEL_LAGGED, law);
            wide end = 0, last[3] = {0, 0, 0};
            double x = random_scale(1e-3, 10);
            s.surface.dissipation = real(random_scale(1e-2, 1e3));
            for (side = -2; side <= 2; side++) {
                icf_contact_term term;
                physics p;
                icf_real out[3], v;
                wide expected[3], moved[3], noise;
                s.contact.distance = real(-(wide)s.dt / (wide)s.surface.dissipation *
                                          (1 + (wide)side * 4 * (wide)EPS));
                term = make(&s);
                p = physics_of(&s, &term);
                end = force_end(&p);
                v = real(end * (1 - (wide)x));
                TEST_CHECK(icf_normal_evaluate(&term.normal, v, out) == 1);
                TEST_CHECK(reference_normal(&p, (wide)v, expected));
                noise = 16 * (wide)EPS * (wide_abs((wide)v) + end);
                reference_normal(&p, (wide)v - noise, moved);
                for (j = 0; j < 3; j++) {
                    check_near(out[j], expected[j],
                               32 * (wide)EPS * wide_abs(expected[j]) +
                                   wide_abs(moved[j] - expected[j]),
                               "at the switch");
                    last[j] = (wide)out[j];
                }
            }
            TEST_CHECK(last[0] > 0 && last[1] > 0 && last[2] < 0);
        }
    }
}

static void test_normal_alone(void)
{
    int law, i, j, place;
    random_seed(SEED);
    for (law = 0; law < LAWS; law++) {
        for (i = 0; i < 200; i++) {
            setting s = random_setting(ICF_MODEL_LAGGED, law);
            icf_contact_term term;
            physics p;
            s.surface.adhesion = 0;
            term = make(&s);
            p = physics_of(&s, &term);
            for (place = 0; place < PLACES; place++) {
                icf_real v[3], out[3];
                wide whole[OUTPUTS];
                velocity_at(&s, &p, ZERO_SLIP, place, v);
                TEST_CHECK(icf_normal_evaluate(&term.normal, v[2], out) ==
                           evaluate(&term, v, whole));
                TEST_CHECK((wide)out[0] == whole[COST]);
                TEST_CHECK((wide)out[1] == whole[IMPULSE + 2]);
                TEST_CHECK(-(wide)out[2] == whole[HESSIAN + 8]);
                for (j = 1; j < 3; j++) TEST_CHECK(j == 1 ? out[j] >= 0 : out[j] <= 0);
            }
        }
    }
    TEST_MSG("seed %u", SEED);
}

// ------------------------------------------------------------------------------------------------
// Barriers

/* A barrier whose phi at rest is the distance as it is given */
static setting barrier(int law, wide distance, wide range)
{
    setting s = random_setting(ICF_MODEL_LAGGED, law);
    s.surface.adhesion = 0;
    s.contact.distance = real(distance);
    s.surface.range = real(range);
    s.surface.stiffness = 1;
    s.dt = real(0.015625);
    return s;
}

static void check_logarithm(wide phi, int exponent, wide* worst)
{
    wide range = ldexpl(1, exponent), expected, x, error;
    icf_real out[3];
    setting s = barrier(ICF_LAW_LOG_BARRIER, phi, range);
    icf_contact_term term = make(&s);
    phi = (wide)s.contact.distance;
    expected = -logl(phi / range);
    TEST_CHECK(icf_normal_evaluate(&term.normal, 0, out) == 1);
    error = wide_abs((wide)out[0] - expected) / (wide_abs(expected) + TINY) / (wide)EPS;
    if (error > *worst) *worst = error;
    TEST_CHECK_(error <= 4, "ln(%.17g): %.17g, not %.17g, %.1f units off", (double)(phi / range),
                -(double)out[0], -(double)expected, (double)error);
    TEST_MSG("seed %u", SEED);
    if (phi < range) {
        s = barrier(ICF_LAW_IPC_BARRIER, phi, range);
        term = make(&s);
        x = range - phi;
        TEST_CHECK(icf_normal_evaluate(&term.normal, 0, out) == 1);
        error = wide_abs((wide)out[0] - x * x * expected);
        TEST_CHECK_(error <= 8 * (wide)EPS * x * x * expected, "IPC barrier at %.17g of %g: %.17g",
                    (double)phi, (double)range, (double)out[0]);
        TEST_MSG("%.17g, seed %u", (double)(x * x * expected), SEED);
    }
}

static void test_logarithm_of_barriers(void)
{
    wide worst = 0;
    int i, e;
#ifdef ICF_FLOAT
    const int least = -40, most = 40;
#else
    const int least = -300, most = 300;
#endif
    random_seed(SEED);
    for (i = 0; i < 20000; i++) check_logarithm((wide)random_between(0.5, 2), 0, &worst);
    for (i = 0; i < 5000; i++) {
        /* about one, from both sides */
        wide x = (wide)(random_sign() * random_scale(EPS, 0.1));
        check_logarithm(1 + x, 0, &worst);
        check_logarithm(1 + x, -7, &worst);
        check_logarithm(ldexpl(1 + x, -7), -7, &worst);
    }
    for (i = 1; i <= 8; i++) { /* the numbers next to one */
        check_logarithm(1 + (wide)i * (wide)EPS, 0, &worst);
        check_logarithm(1 - (wide)i * (wide)EPS / 2, 0, &worst);
    }
    for (e = least; e <= most; e++) {
        check_logarithm(ldexpl(1, e), e == 0 ? 1 : 0, &worst);
        for (i = 0; i < 10; i++) {
            check_logarithm(ldexpl((wide)random_between(0.5, 2), e), 0, &worst);
            check_logarithm(ldexpl((wide)random_between(0.5, 2), e), e / 2, &worst);
        }
        /* where a root of two may be the border of a reduction */
        for (i = -3; i <= 3; i++) {
            wide root = sqrtl(2.0L) * (1 + (wide)i * (wide)EPS);
            check_logarithm(ldexpl(root, e), 0, &worst);
            check_logarithm(ldexpl(root / 2, e), 0, &worst);
        }
    }
    /* ln 1 is nothing */
    {
        setting s = barrier(ICF_LAW_LOG_BARRIER, 0.375L, 0.375L);
        icf_contact_term term = make(&s);
        icf_real out[3];
        TEST_CHECK(icf_normal_evaluate(&term.normal, 0, out) == 1 && out[0] == 0);
    }
    /* any range: the quotient is rounded once */
    for (i = 0; i < 3000; i++) {
        wide range = (wide)real(random_scale(1e-4, 1e2)), phi, x, expected;
        setting s = barrier(ICF_LAW_IPC_BARRIER, range * (wide)random_scale(1e-6, 1), range);
        icf_contact_term term;
        icf_real out[3];
        if (i % 2) {
            s.contact.distance = real(range * (1 - (wide)random_scale(16 * EPS, 0.5)));
        }
        term = make(&s);
        phi = (wide)s.contact.distance;
        x = range - phi;
        expected = x < range / 2 ? -log1pl(-x / range) : -logl(phi / range);
        TEST_CHECK(icf_normal_evaluate(&term.normal, 0, out) == 1);
        check_near(out[0], x * x * expected, 12 * (wide)EPS * x * x * expected, "an IPC barrier");
    }
    TEST_CHECK(worst > 0);
}

static void test_infeasible_has_no_force(void)
{
    int model, law, i, j;
    random_seed(SEED);
    for (law = ICF_LAW_IPC_BARRIER; law <= ICF_LAW_LOG_BARRIER; law++) {
        for (model = 0; model < 2; model++) {
            for (i = 0; i < 100; i++) {
                setting s = random_setting(model, law);
                icf_contact_term term, copy;
                physics p;
                icf_real v[3], cost, impulse[3], hessian[9], n[3];
                wide w[3], g[2], h[3], edge;
                icf_result result;
                if (i % 2) s.surface.adhesion = 0;
                term = make(&s);
                p = physics_of(&s, &term);
                for (j = 0; j < 2; j++) v[j] = real(random_below(2) ? random_between(-1, 1) : 0);
                v[2] = 0;
                widen(v, w);
                edge = -p.distance / p.dt;
                if (model == ICF_MODEL_SIMILAR) edge += reference_norm(&p, w, g, h);
                w[2] = edge;
                /* behind the edge */
                v[2] = real(edge - velocity_noise(&p, w, 16 * (wide)EPS) -
                            (wide)random_scale(1e-9, 1e3));
                memset(hessian, 0xC5, sizeof hessian);
                TEST_CHECK(icf_contact_evaluate(&term, v, &cost, impulse, hessian) == 0);
                TEST_CHECK(cost == ICF_REAL_MAX);
                for (j = 0; j < 3; j++) TEST_CHECK(impulse[j] == 0);
                for (j = 0; j < 9; j++) TEST_CHECK(hessian[j] == 0);
                TEST_CHECK(icf_contact_evaluate(&term, v, NULL, NULL, NULL) == 0);
                TEST_CHECK(icf_contact_evaluate(&term, v, &cost, NULL, NULL) == 0);
                TEST_CHECK(icf_contact_evaluate(&term, v, NULL, impulse, NULL) == 0);
                TEST_CHECK(icf_contact_evaluate(&term, v, NULL, NULL, hessian) == 0);
                if (model == ICF_MODEL_LAGGED) {
                    TEST_CHECK(icf_normal_evaluate(&term.normal, v[2], n) == 0);
                    TEST_CHECK(n[0] == ICF_REAL_MAX && n[1] == 0 && n[2] == 0);
                }
                /* before it: pushes hard */
                v[2] = real(edge + 1e-3L * p.distance / p.dt);
                if (1e-3L * p.distance / p.dt > velocity_noise(&p, w, 32 * (wide)EPS)) {
                    TEST_CHECK(icf_contact_evaluate(&term, v, &cost, impulse, hessian) == 1);
                    TEST_CHECK(cost < ICF_REAL_MAX);
                    TEST_CHECK((wide)impulse[2] + p.adhesion >
                               100 * p.dt * p.k *
                                   (law == ICF_LAW_IPC_BARRIER ? p.range : 1 / p.range));
                }
                /* a start that is overlapped */
                memset(&term, 0xC5, sizeof term);
                memcpy(&copy, &term, sizeof term);
                s.contact.distance = real(i % 2 ? -random_scale(1e-9, 1) : 0);
                result = icf_contact_term_make(&s.surface, &s.contact, s.dt, s.w, s.v0, &term);
                TEST_CHECK(result == ICF_RESULT_INFEASIBLE);
                TEST_CHECK(!memcmp(&copy, &term, sizeof term));
                /* which is nothing to SAP: its law is another */
                s.surface.model = ICF_MODEL_SAP;
                s.surface.friction2 = -1;
                s.surface.softness = real(1e-3);
                result = icf_contact_term_make(&s.surface, &s.contact, s.dt, s.w, s.v0, &term);
                TEST_CHECK(result == ICF_RESULT_OK);
            }
        }
    }
    /* exactly on the edge: phi = 1/4 - 1/64 16 */
    {
        setting s = barrier(ICF_LAW_IPC_BARRIER, 0.25L, 1);
        icf_contact_term term = make(&s);
        icf_real out[3];
        TEST_CHECK(icf_normal_evaluate(&term.normal, -16, out) == 0);
        TEST_CHECK(icf_normal_evaluate(&term.normal, real(-15.5), out) == 1);
        TEST_CHECK(out[1] > 0 && out[0] > 0);
    }
    TEST_MSG("seed %u", SEED);
}

// ------------------------------------------------------------------------------------------------
// SAP

/* gamma is the projection of y = R^-1 (vhat - v) onto the cone |gamma_t| <= mu gamma_n in the norm
   of R: this is so if and only if gamma is in the cone, and the rest R (y - gamma) is in the polar
   cone and at a right angle to it. */
static void test_sap_projection(void)
{
    int i, slip, place, region[3] = {0, 0, 0};
    random_seed(SEED);
    for (i = 0; i < 400; i++) {
        setting s = random_setting(ICF_MODEL_SAP, ICF_LAW_KELVIN_VOIGT);
        icf_contact_term term;
        physics p;
        s.surface.adhesion = 0;
        if (i % 2) s.surface.near_rigid = 1;
        term = make(&s);
        p = physics_of(&s, &term);
        p.rn = 1 / (wide)term.normal.scale;
        for (slip = 0; slip < SLIPS; slip++) {
            for (place = 0; place < PLACES; place++) {
                icf_real v[3], cost, g[3];
                wide gt, gn, rest[3], rest_t, noise, mu = p.mu1, dot, scale, energy;
                velocity_at(&s, &p, slip, place, v);
                TEST_CHECK(icf_contact_evaluate(&term, v, &cost, g, NULL) == 1);
                gt = hypotl((wide)g[0], (wide)g[1]);
                gn = (wide)g[2];
                rest[0] = -(wide)v[0] - p.rt * (wide)g[0];
                rest[1] = -(wide)v[1] - p.rt * (wide)g[1];
                rest[2] = p.vhat - (wide)v[2] - p.rn * gn;
                rest_t = hypotl(rest[0], rest[1]);
                noise = (wide_abs((wide)v[0]) + wide_abs((wide)v[1]) + p.rt * gt + p.rn * gn +
                         wide_abs(p.vhat) + wide_abs((wide)v[2])) *
                        (1 + mu) * 16 * (wide)EPS;
                TEST_CHECK(gn >= 0);
                TEST_CHECK(gt <= mu * gn * (1 + 16 * (wide)EPS));
                TEST_CHECK_(rest[2] + mu * rest_t <= noise, "the rest is not in the polar cone: %g",
                            (double)(rest[2] + mu * rest_t));
                TEST_MSG("allowed %g, seed %u", (double)noise, SEED);
                dot = rest[0] * (wide)g[0] + rest[1] * (wide)g[1] + rest[2] * gn;
                scale = noise * (gt + gn);
                TEST_CHECK_(wide_abs(dot) <= scale, "not at a right angle: %g", (double)dot);
                TEST_MSG("allowed %g, seed %u", (double)scale, SEED);
                energy = (p.rt * gt * gt + p.rn * gn * gn) / 2;
                check_near(cost, energy, 32 * (wide)EPS * energy + TINY, "the cost");
                region[gn == 0 ? 0 : rest_t <= noise && mu > 0 ? 1 : 2]++;
            }
        }
    }
    TEST_CHECK(region[0] > 100 && region[1] > 100 && region[2] > 100);
    TEST_MSG("seed %u: open %d, stick %d, slide %d", SEED, region[0], region[1], region[2]);
}

/* A contact of round numbers: R_t = 1/1024, R_n = 1/64, vhat = 1/2, mu = 1/2 */
static icf_contact_term round_sap(icf_real mu)
{
    physics p;
    memset(&p, 0, sizeof p);
    p.model = ICF_MODEL_SAP;
    p.law = ICF_LAW_KELVIN_VOIGT;
    p.dt = 1;
    p.mu1 = p.mu2 = (wide)mu;
    p.eps = 1;
    p.vhat = 0.5L;
    p.rt = 1.0L / 1024;
    p.rn = 1.0L / 64;
    return term_of(&p);
}

static void check_sap_at(const icf_contact_term* term, wide v1, wide v2, wide vn,
                         const wide expected[OUTPUTS], const char* what)
{
    wide got[OUTPUTS];
    icf_real v[3];
    int i;
    v[0] = real(v1);
    v[1] = real(v2);
    v[2] = real(vn);
    TEST_CHECK(evaluate(term, v, got) == 1);
    for (i = 0; i < OUTPUTS; i++) {
        TEST_CHECK_(wide_abs(got[i] - expected[i]) <= 8 * (wide)EPS * wide_abs(expected[i]),
                    "%s: %s is %.12g, not %.12g", what, output_names[i], (double)got[i],
                    (double)expected[i]);
    }
}

static void test_sap_regions(void)
{
    icf_contact_term term = round_sap(real(0.5)), slick = round_sap(0);
    wide e[OUTPUTS], p, s;
    int i;
    /* stick: u = 1/2, |vt| R_n = 5/1024/64 < mu u R_t = 1/4096 */
    memset(e, 0, sizeof e);
    e[1] = -3;
    e[2] = 4;
    e[3] = 32;
    e[0] = 12.5L / 1024 + 8;
    e[4] = e[8] = 1024;
    e[12] = 64;
    check_sap_at(&term, 3.0L / 1024, -4.0L / 1024, 0, e, "stick");
    /* exactly no slip */
    e[1] = e[2] = 0;
    e[0] = 8;
    check_sap_at(&term, 0, 0, 0, e, "stick without slip");
    /* slide: vt = (3, 4), u = 1/2, s = 3, p = 1 / (1/64 + 1/4096) = 4096/65 */
    p = 4096.0L / 65;
    s = 3;
    for (i = 0; i < OUTPUTS; i++) e[i] = 0;
    e[0] = p * s * s / 2;
    e[1] = -p * s / 2 * 0.6L;
    e[2] = -p * s / 2 * 0.8L;
    e[3] = p * s;
    e[4] = p * (0.25L * 0.36L + 0.3L * 0.64L);
    e[5] = e[7] = p * (0.25L - 0.3L) * 0.48L;
    e[8] = p * (0.25L * 0.64L + 0.3L * 0.36L);
    e[6] = e[10] = -p * 0.3L;
    e[9] = e[11] = -p * 0.4L;
    e[12] = p;
    check_sap_at(&term, 3, 4, 0, e, "slide");
    /* slides on while parting: u = -1, s = 3/2 */
    s = 1.5L;
    e[0] = p * s * s / 2;
    e[1] = -p * s / 2 * 0.6L;
    e[2] = -p * s / 2 * 0.8L;
    e[3] = p * s;
    e[4] = p * (0.25L * 0.36L + 0.15L * 0.64L);
    e[5] = e[7] = p * (0.25L - 0.15L) * 0.48L;
    e[8] = p * (0.25L * 0.64L + 0.15L * 0.36L);
    check_sap_at(&term, 3, 4, 1.5L, e, "slide while parting");
    /* open: u = -3 < -mu |vt| */
    for (i = 0; i < OUTPUTS; i++) e[i] = 0;
    check_sap_at(&term, 3, 4, 3.5L, e, "open");
    check_sap_at(&term, 3, 4, 3, e, "just open");
    check_sap_at(&term, 0, 0, 1, e, "open without slip");
    check_sap_at(&slick, 3, 4, 1, e, "open without friction");
    check_sap_at(&slick, 0, 0, 1, e, "open without friction and slip");
    /* no friction: the tangents count for nothing, slip or no slip */
    e[0] = 8;
    e[3] = 32;
    e[12] = 64;
    check_sap_at(&slick, 3, 4, 0, e, "without friction");
    check_sap_at(&slick, 0, 0, 0, e, "without friction and slip");
}

/* Across the borders of the regions cost and impulse do not jump: over a small step they change by
   no more than the Hessians on both sides allow. */
static void test_sap_borders(void)
{
    int i, j, border, crossed[2] = {0, 0};
    wide small = powl((wide)EPS, 0.75L);
    random_seed(SEED);
    for (i = 0; i < 1000; i++) {
        setting s = random_setting(ICF_MODEL_SAP, ICF_LAW_KELVIN_VOIGT);
        icf_contact_term term;
        physics p;
        wide vr, angle = (wide)random_between(0, 6.28), u, a[OUTPUTS], b[OUTPUTS], move, top = 0;
        icf_real v[3], w[3];
        s.surface.adhesion = 0;
        s.contact.distance = real(-random_scale(1e-5, 1e-2));
        if (!(s.surface.friction > 0)) s.surface.friction = 1;
        term = make(&s);
        p = physics_of(&s, &term);
        for (border = 0; border < 2; border++) {
            vr = p.vhat * (wide)random_scale(1e-3, 10);
            u = border == 0 ? vr * p.rn / (p.mu1 * p.rt) : -p.mu1 * vr;
            v[0] = w[0] = real(vr * cosl(angle));
            v[1] = w[1] = real(vr * sinl(angle));
            vr = hypotl((wide)v[0], (wide)v[1]);
            move = small * (wide_abs(u) + wide_abs(p.vhat));
            v[2] = real(p.vhat - u - move);
            w[2] = real(p.vhat - u + move);
            evaluate(&term, v, a);
            evaluate(&term, w, b);
            move = (wide)w[2] - (wide)v[2];
            for (j = 0; j < 9; j++) {
                top = wide_max(top, wide_max(wide_abs(a[HESSIAN + j]), wide_abs(b[HESSIAN + j])));
            }
            for (j = 0; j < 3; j++) {
                wide jump = wide_abs(a[IMPULSE + j] - b[IMPULSE + j]);
                TEST_CHECK_(jump <= top * move +
                                        16 * (wide)EPS *
                                            (wide_abs(a[IMPULSE + j]) + wide_abs(b[IMPULSE + j])),
                            "border %d: impulse %d jumps by %g", border, j, (double)jump);
                TEST_MSG("seed %u", SEED);
            }
            TEST_CHECK(wide_abs(a[COST] - b[COST]) <= (a[IMPULSE + 2] + b[IMPULSE + 2]) * move +
                                                          16 * (wide)EPS * (a[COST] + b[COST]));
            /* the two points are in the regions meant */
            if (border == 0)
                crossed[0] += a[HESSIAN + 2] == 0 && b[HESSIAN + 2] != 0;
            else
                crossed[1] += a[IMPULSE + 2] > 0 && b[IMPULSE + 2] == 0;
        }
    }
    TEST_CHECK(crossed[0] > 700 && crossed[1] > 700);
    TEST_MSG("seed %u: crossed %d and %d of 1000", SEED, crossed[0], crossed[1]);
}

// ------------------------------------------------------------------------------------------------
// Laws of the caller's

typedef struct own_law {
    int law; /* which one it is the same as */
    icf_real k, d, tau, range;
    int mistake, calls;
} own_law;

enum {
    RIGHT,
    WRONG_SIGN,  /* impulses that pull */
    RISING,      /* an impulse that grows with the velocity, and says so */
    SLOPE_TWICE, /* slopes that are not those of the impulse */
    SLOPE_SIGN,
    SLOPE_ZERO,
    SLOPE_TENTH, /* a tenth too large */
    COST_TWICE,  /* costs that are not the impulse's */
    COST_SIGN,
    COST_ZERO,
    COST_TENTH,
    COST_OF_FORCE, /* forgot dt */
    NOT_NUMBERS,
    MISTAKES
};
static const char* const mistake_names[MISTAKES] = {
    "right",      "pulls",     "rises",   "slope twice", "slope's sign", "no slope", "slope 1.1",
    "cost twice", "cost sign", "no cost", "cost 1.1",    "cost / dt",    "NaN"};

static void own_law_function(void* user, icf_real dt, icf_real distance, icf_real v,
                             icf_real out[3])
{
    own_law* own = (own_law*)user;
    physics p;
    wide x[3];
    int i, known = 1;
    own->calls++;
    memset(&p, 0, sizeof p);
    p.model = ICF_MODEL_LAGGED;
    p.law = own->law;
    p.dt = (wide)dt;
    p.distance = (wide)distance;
    p.k = (wide)own->k;
    p.d = (wide)own->d;
    p.tau = (wide)own->tau;
    p.range = (wide)own->range;
    if (own->mistake == RISING) {
        known = reference_normal(&p, -(wide)v, x);
        x[0] = -x[0];
        x[2] = -x[2];
    } else {
        known = reference_normal(&p, (wide)v, x);
    }
    if (!known) x[0] = (wide)INFINITY; /* beyond a barrier */
    switch (own->mistake) {
    case WRONG_SIGN:
        for (i = 0; i < 3; i++) x[i] = -x[i];
        break;
    case SLOPE_TWICE: x[2] *= 2; break;
    case SLOPE_SIGN: x[2] = -x[2]; break;
    case SLOPE_ZERO: x[2] = 0; break;
    case SLOPE_TENTH: x[2] *= 1.1L; break;
    case COST_TWICE: x[0] *= 2; break;
    case COST_SIGN: x[0] = -x[0]; break;
    case COST_ZERO: x[0] = 0; break;
    case COST_TENTH: x[0] *= 1.1L; break;
    case COST_OF_FORCE: x[0] /= p.dt; break;
    case NOT_NUMBERS: x[0] = x[1] = x[2] = (wide)NAN; break;
    default: break;
    }
    for (i = 0; i < 3; i++) out[i] = real(x[i]);
}

static own_law own_from(const setting* s)
{
    own_law own;
    own.law = s->surface.law;
    own.k = s->surface.stiffness;
    own.d = s->surface.dissipation;
    own.tau = s->surface.relaxation;
    own.range = s->surface.range;
    own.mistake = RIGHT;
    own.calls = 0;
    return own;
}

/* The caller's law gives what the built-in one does, where they compute the same. */
static void test_custom_law(void)
{
    int model, law, i, slip, place;
    random_seed(SEED);
    for (model = 0; model < 2; model++) {
        for (law = 0; law < LAWS; law++) {
            for (i = 0; i < 80; i++) {
                setting s = random_setting(model, law), t = s;
                own_law own = own_from(&s);
                icf_contact_term built_in = make(&s), custom;
                physics p = physics_of(&s, &built_in);
                wide allowed, n = start_impulse(&s, &allowed), moved, slope, blur;
                /* asked at distance - dt v0; as that is rounded, so may the force be */
                blur = 4 * (wide)EPS * (wide_abs(p.distance) + p.dt * wide_abs((wide)s.v0[2]));
                if (is_barrier(&s) && p.distance < 1000 * blur) continue;
                force_at(&p, p.distance - blur, (wide)s.v0[2], &moved, &slope);
                allowed += 2 * wide_abs(moved - n);
                if (law == ICF_LAW_KELVIN_VOIGT || n == 0) {
                    allowed += p.dt * p.k * blur * (law == ICF_LAW_HERTZ ? sqrtl(blur) : 1) *
                               wide_max(1, 1 - p.d * (wide)s.v0[2]);
                }
                t.surface.law = ICF_LAW_CUSTOM;
                t.surface.custom = own_law_function;
                t.surface.user = &own;
                custom = make(&t);
                if (model == ICF_MODEL_LAGGED) check_near(custom.impulse0, n, allowed, "gamma_n0");
                TEST_CHECK(own.calls > 0);
                p.impulse0 = (wide)custom.impulse0;
                p.eps = (wide)custom.eps;
                TEST_CHECK(custom.mu1 == built_in.mu1 && custom.mu2 == built_in.mu2);
                TEST_CHECK(custom.adhesion == built_in.adhesion);
                for (slip = 0; slip < SLIPS; slip++) {
                    for (place = 0; place < PLACES; place++) {
                        icf_real v[3];
                        wide a[OUTPUTS], b[OUTPUTS];
                        int known, j;
                        velocity_at(&s, &p, slip, place, v);
                        check_point(&custom, &p, v, "a law of the caller's");
                        /* beyond a barrier */
                        if (!is_barrier(&s)) continue;
                        v[2] = real(-2 * p.distance / p.dt);
                        known = evaluate(&built_in, v, a);
                        TEST_CHECK(!known && evaluate(&custom, v, b) == known);
                        for (j = 0; j < OUTPUTS; j++) TEST_CHECK(a[j] == b[j]);
                    }
                }
            }
        }
    }
}

/* Asks at v. */
static void check_law(own_law* own, const setting* s, const physics* p, icf_real v,
                      icf_result expected)
{
    icf_result result = icf_law_check(own_law_function, own, s->dt, s->contact.distance, v);
    TEST_CHECK_(result == expected, "%s, %s: %s", law_names[own->law], mistake_names[own->mistake],
                icf_result_string(result));
    TEST_MSG("seed %u, at %.9g; the force ends at %.9g; k %g d %g tau %g dt %g phi %g", SEED,
             (double)v, (double)force_end(p), (double)p->k, (double)p->d, (double)p->tau,
             (double)p->dt, (double)p->distance);
}

/* Laws that are right pass, where they act, where they do not, and near their corners. */
static void test_law_check_right(void)
{
    int law, i;
    random_seed(SEED);
    for (law = 0; law < LAWS; law++) {
        for (i = 0; i < 200; i++) {
            setting s = random_setting(ICF_MODEL_LAGGED, law);
            own_law own = own_from(&s);
            physics p;
            wide end;
            p = normal_physics_of(&s);
            end = force_end(&p);
            if (is_barrier(&s)) { /* at half its range */
                icf_real v = real((p.range / 2 - p.distance) / p.dt);
                check_law(&own, &s, &p, v, ICF_RESULT_OK);
                continue;
            }
            check_law(&own, &s, &p, real(end * 0.999L - 1e-3L), ICF_RESULT_OK);
            check_law(&own, &s, &p, real(end * 1.001L + 1e-3L), ICF_RESULT_OK);
            check_law(&own, &s, &p, real(end - wide_abs(end) - 0.1L), ICF_RESULT_OK);
            check_law(&own, &s, &p, real(2 * wide_abs(end) + 1), ICF_RESULT_OK);
            check_law(&own, &s, &p, real(random_between(-5, 5)), ICF_RESULT_OK);
            if (end != 0) check_law(&own, &s, &p, 0, ICF_RESULT_OK);
        }
    }
}

/* The same in a corner: there the slope is that of either side. A contact that touches, at rest, is
   in one. */
static void test_law_check_corner(void)
{
    int law, i;
    random_seed(SEED);
    for (law = ICF_LAW_HUNT_CROSSLEY; law <= ICF_LAW_KELVIN_VOIGT; law++) {
        for (i = 0; i < 50; i++) {
            setting s = random_setting(ICF_MODEL_LAGGED, law);
            own_law own = own_from(&s);
            physics p;
            if (i % 5 == 0) s.contact.distance = 0;
            p = normal_physics_of(&s);
            check_law(&own, &s, &p, real(force_end(&p)), ICF_RESULT_OK);
            check_law(&own, &s, &p, real(force_end(&p) * (1 + 4 * (wide)EPS)), ICF_RESULT_OK);
            check_law(&own, &s, &p, real(force_end(&p) * (1 - 4 * (wide)EPS)), ICF_RESULT_OK);
        }
    }
}

static void check_mistakes(int tenths, int laws)
{
    int law, i, mistake;
    random_seed(SEED);
    for (law = 0; law < laws; law++) {
        for (i = 0; i < 200; i++) {
            setting s = random_setting(ICF_MODEL_LAGGED, law);
            own_law own = own_from(&s);
            physics p;
            icf_real v;
            p = normal_physics_of(&s);
            v = real(force_end(&p) - wide_abs(force_end(&p)) - 0.1L);
            if (is_barrier(&s)) v = real((p.range / 2 - p.distance) / p.dt);
            for (mistake = RIGHT + 1; mistake < MISTAKES; mistake++) {
                if (tenths != (mistake == SLOPE_TENTH || mistake == COST_TENTH)) continue;
                own.mistake = mistake;
                check_law(&own, &s, &p, mistake == RISING ? -v : v, ICF_RESULT_BAD_LAW);
            }
        }
    }
}

/* Each mistake is seen, at a velocity where the law acts. */
static void test_law_check_wrong(void)
{
    check_mistakes(0, LAWS);
}

/* So is one of a tenth, in laws as smooth as these. */
static void test_law_check_tenth(void)
{
    check_mistakes(1, ICF_LAW_KELVIN_VOIGT + 1);
}

// ------------------------------------------------------------------------------------------------
// Rows

static icf_row_term make_row(const icf_row* row, icf_real dt, icf_real w)
{
    icf_row_term term;
    icf_result result;
    memset(&term, 0, sizeof term);
    result = icf_row_term_make(row, dt, w, &term);
    TEST_ASSERT_(result == ICF_RESULT_OK, "row of kind %d: %s", (int)row->kind,
                 icf_result_string(result));
    return term;
}

typedef struct row_answer {
    wide cost, impulse, hessian;
} row_answer;

static row_answer evaluate_row(const icf_row_term* term, icf_real u)
{
    icf_real cost, impulse, hessian, again;
    row_answer r;
    TEST_CHECK(icf_row_evaluate(term, u, &cost, &impulse, &hessian) == 1);
    TEST_CHECK(icf_row_evaluate(term, u, NULL, NULL, NULL) == 1);
    TEST_CHECK(icf_row_evaluate(term, u, &again, NULL, NULL) == 1 && again == cost);
    TEST_CHECK(icf_row_evaluate(term, u, NULL, &again, NULL) == 1 && again == impulse);
    TEST_CHECK(icf_row_evaluate(term, u, NULL, NULL, &again) == 1 && again == hessian);
    r.cost = (wide)cost;
    r.impulse = (wide)impulse;
    r.hessian = (wide)hessian;
    return r;
}

static icf_row random_row(int kind)
{
    icf_row r = icf_default_row((icf_row_kind)kind);
    r.distance = real(random_sign() * random_scale(1e-5, 1e-1));
    r.stiffness = random_below(3) ? real(random_scale(1, 1e8)) : 0;
    switch (kind) {
    case ICF_ROW_LIMIT:
        r.sign = real(random_sign());
        r.relaxation = random_below(2) ? real(random_scale(1e-3, 1e-1)) : 0;
        break;
    case ICF_ROW_MOTOR:
        r.distance = 0;
        r.stiffness = random_below(3) ? real(random_scale(1, 1e4)) : 0;
        r.damping = random_below(3) ? real(random_scale(0.1, 1e3)) : 0;
        r.error = real(random_between(-1, 1));
        r.target = real(random_between(-1, 1));
        r.feedforward = random_below(2) ? real(random_between(-10, 10)) : 0;
        r.effort = random_below(3) ? real(random_scale(0.1, 1e3)) : -1;
        break;
    case ICF_ROW_DRY_FRICTION:
        r.distance = r.stiffness = 0;
        r.effort = random_below(8) ? real(random_scale(1e-2, 1e2)) : 0;
        r.slip_tolerance = real(random_scale(1e-5, 1e-2));
        r.softness = random_below(2) ? real(random_scale(1e-4, 1e-2)) : 0;
        break;
    case ICF_ROW_HOLONOMIC:
        r.relaxation = random_below(2) ? real(random_scale(1e-3, 1e-1)) : 0;
        break;
    default:
        r.distance = r.stiffness = 0;
        r.weight = random_below(8) ? real(random_scale(1e-3, 1e3)) : 0;
        r.target = real(random_between(-1, 1));
        break;
    }
    return r;
}

enum { ROW_KINDS = 5 };
static const char* const row_names[ROW_KINDS] = {"limit", "motor", "dry friction", "holonomic",
                                                 "quadratic"};

/* tau of limits and holonomic rows: where the step chooses the stiffness, critical damping at
   least, beta dt / pi */
static wide row_tau(const icf_row* row, icf_real dt)
{
    wide tau = (wide)row->relaxation;
    return row->stiffness > 0 ? tau : wide_max(tau, (wide)row->near_rigid * (wide)dt / PI);
}

/* 1 / R of limits and holonomic rows, as the stiffness and the bound leave it */
static wide row_scale(const icf_row* row, icf_real dt, icf_real w, int* bounded)
{
    wide beta = (wide)row->near_rigid, most = wide_square(2 * PI / beta) / (wide)w, k;
    if (row->stiffness == 0) return most;
    k = (wide)dt * (wide)row->stiffness * ((wide)dt + (wide)row->relaxation);
    if (beta == 0) most = 2 * k;
    *bounded = most < k;
    return wide_min(most, k);
}

/* What a row must answer, from the words of the header, but for a constant of the cost. `at`: the
   velocities where its Hessian jumps, if any. */
static row_answer expected_row(const icf_row* r, icf_real dt_, icf_real w, wide u, wide at[2],
                               wide* noise)
{
    row_answer e = {0, 0, 0};
    wide dt = (wide)dt_, tau = row_tau(r, dt_), scale, x, eps, most, slope;
    int bounded;
    at[0] = at[1] = (wide)REAL_MAX;
    *noise = 0;
    switch (r->kind) {
    case ICF_ROW_LIMIT:
        scale = row_scale(r, dt_, w, &bounded);
        at[0] = -(wide)r->distance / (dt + tau) / (wide)r->sign;
        x = (at[0] - u) * (wide)r->sign;
        *noise = wide_abs(at[0]);
        if (x > 0) {
            e.cost = scale * x * x / 2;
            e.impulse = scale * x * (wide)r->sign;
            e.hessian = scale;
        }
        break;
    case ICF_ROW_HOLONOMIC:
        scale = row_scale(r, dt_, w, &bounded);
        x = -(wide)r->distance / (dt + tau) - u;
        *noise = wide_abs((wide)r->distance / (dt + tau));
        e.cost = scale * x * x / 2;
        e.impulse = scale * x;
        e.hessian = scale;
        break;
    case ICF_ROW_QUADRATIC:
        x = (wide)r->target - u;
        *noise = wide_abs((wide)r->target);
        e.cost = (wide)r->weight * x * x / 2;
        e.impulse = (wide)r->weight * x;
        e.hessian = (wide)r->weight;
        break;
    case ICF_ROW_DRY_FRICTION:
        most = dt * (wide)r->effort;
        eps = wide_max((wide)r->slip_tolerance, (wide)r->softness * (wide)w * most);
        x = sqrtl(u * u + eps * eps);
        e.cost = most * u * u / (x + eps);
        e.impulse = -most * u / x;
        e.hessian = most * (eps / x) * (eps / x) / x;
        break;
    default:
        slope = dt * (dt * (wide)r->stiffness + (wide)r->damping);
        x = dt * ((wide)r->stiffness * (wide)r->error + (wide)r->damping * (wide)r->target +
                  (wide)r->feedforward);
        most = r->effort < 0 ? (wide)REAL_MAX : dt * (wide)r->effort;
        e.impulse = x - slope * u;
        e.hessian = slope;
        *noise =
            dt * (wide_abs((wide)r->stiffness * (wide)r->error) +
                  wide_abs((wide)r->damping * (wide)r->target) + wide_abs((wide)r->feedforward));
        if (slope > 0) {
            *noise /= slope;
            if (r->effort >= 0) {
                at[0] = (x - most) / slope;
                at[1] = (x + most) / slope;
            }
        }
        if (wide_abs(e.impulse) > most) {
            e.impulse = e.impulse > 0 ? most : -most;
            e.hessian = 0;
        }
        break;
    }
    return e;
}

static void check_row(const icf_row* row, icf_real dt, icf_real w, icf_real u)
{
    icf_row_term term = make_row(row, dt, w);
    row_answer got = evaluate_row(&term, u), expected;
    wide at[2], noise, allowed, step;
    expected = expected_row(row, dt, w, (wide)u, at, &noise);
    allowed = 16 * (wide)EPS *
              (wide_abs(expected.impulse) +
               wide_max(expected.hessian, got.hessian) * (noise + wide_abs((wide)u)));
    if (row->kind == ICF_ROW_MOTOR && expected.hessian == 0) {
        allowed += 16 * (wide)EPS * noise; /* without gains it is the impulse's own */
    }
    TEST_CHECK_(wide_abs(got.impulse - expected.impulse) <= allowed + TINY,
                "%s at %.9g: impulse %.17g, not %.17g; allowed %g", row_names[row->kind], (double)u,
                (double)got.impulse, (double)expected.impulse, (double)allowed);
    TEST_MSG("seed %u", SEED);
    step = 32 * (wide)EPS * (noise + wide_abs((wide)u));
    if (wide_abs((wide)u - at[0]) > step && wide_abs((wide)u - at[1]) > step) {
        TEST_CHECK_(wide_abs(got.hessian - expected.hessian) <=
                        16 * (wide)EPS * expected.hessian + TINY,
                    "%s at %.9g: Hessian %.17g, not %.17g", row_names[row->kind], (double)u,
                    (double)got.hessian, (double)expected.hessian);
        TEST_MSG("seed %u", SEED);
    }
    TEST_CHECK(got.hessian >= 0);
    if (row->kind != ICF_ROW_MOTOR) { /* whose cost has a constant of its own */
        allowed = 16 * (wide)EPS *
                  (expected.cost + wide_abs(expected.impulse) * (noise + wide_abs((wide)u)));
        allowed += expected.hessian * wide_square(16 * (wide)EPS * (noise + wide_abs((wide)u)));
        TEST_CHECK_(wide_abs(got.cost - expected.cost) <= allowed + TINY,
                    "%s at %.9g: cost %.17g, not %.17g", row_names[row->kind], (double)u,
                    (double)got.cost, (double)expected.cost);
        TEST_MSG("seed %u", SEED);
    }
}

/* A velocity where something happens */
static icf_real row_velocity(const icf_row* row, icf_real dt, icf_real w)
{
    wide at[2], noise;
    expected_row(row, dt, w, 0, at, &noise);
    switch (random_below(6)) {
    case 0: return 0;
    case 1: return real(random_between(-10, 10));
    case 2: return real(random_sign() * random_scale(1e-6, 1e-1));
    case 3:
        if (at[0] < (wide)REAL_MAX) return real(at[0] * (1 + (wide)random_between(-1e-3, 1e-3)));
        return real((wide)random_between(-3, 3) * (wide)row->slip_tolerance);
    case 4:
        if (at[1] < (wide)REAL_MAX) return real(at[1] * (1 + (wide)random_between(-1e-3, 1e-3)));
        return real((wide)random_between(-30, 30) * (wide)row->slip_tolerance);
    default:
        if (at[0] < (wide)REAL_MAX) return real(at[0] + (wide)random_between(-1, 1));
        return real(random_sign() * random_scale(1, 100));
    }
}

static void test_rows_at_random(void)
{
    int kind, i, j;
    random_seed(SEED);
    for (kind = 0; kind < ROW_KINDS; kind++) {
        for (i = 0; i < 400; i++) {
            icf_row row = random_row(kind);
            icf_real dt = real(random_scale(1e-4, 5e-2)), w = real(random_scale(1e-3, 1e2));
            for (j = 0; j < 12; j++) check_row(&row, dt, w, row_velocity(&row, dt, w));
        }
    }
}

/* Costs against impulses against Hessians by finite differences, and convexity; all kinds */
static void test_row_differences(void)
{
    int kind, i, j, k;
    random_seed(SEED);
    for (kind = 0; kind < ROW_KINDS; kind++) {
        int compared = 0;
        for (i = 0; i < 400; i++) {
            icf_row row = random_row(kind);
            icf_real dt = real(random_scale(1e-4, 5e-2)), w = real(random_scale(1e-3, 1e2));
            icf_row_term term = make_row(&row, dt, w);
            icf_real u = row_velocity(&row, dt, w);
            wide at[2], noise, reach, ratio = powl((wide)EPS, 1.0L / 7), step, sum, size, top = 0;
            wide cost_top = 0, bound, hessian_top = 0;
            row_answer here = evaluate_row(&term, u), there[7], a, b, middle;
            icf_real left, right;
            expected_row(&row, dt, w, (wide)u, at, &noise);
            reach = wide_min(wide_abs((wide)u - at[0]), wide_abs((wide)u - at[1]));
            reach = wide_min(reach, wide_abs((wide)u) + noise + 1);
            if (kind == ICF_ROW_DRY_FRICTION) {
                wide eps = wide_max((wide)row.slip_tolerance,
                                    (wide)row.softness * (wide)w * (wide)dt * (wide)row.effort);
                reach = hypotl((wide)u, eps);
            }
            size = (wide)EPS * (wide_abs((wide)u) + noise);
            if (reach > 1e3L * size) {
                step = ratio * reach;
                for (k = -3; k <= 3; k++) {
                    there[k + 3] = evaluate_row(&term, real((wide)u + (wide)k * step));
                    cost_top = wide_max(cost_top, wide_abs(there[k + 3].cost));
                    top = wide_max(top, wide_abs(there[k + 3].impulse));
                    hessian_top = wide_max(hessian_top, there[k + 3].hessian);
                }
                sum = 0;
                for (k = 1; k <= 3; k++) {
                    sum -=
                        difference_weight[k - 1] * (there[3 + k].cost - there[3 - k].cost) / step;
                }
                bound = 8 * ((wide)EPS * cost_top + size * top) / step +
                        100 * powl(ratio, 6) * (top + hessian_top * reach) + TINY / step;
                TEST_CHECK_(wide_abs(sum - here.impulse) <= bound,
                            "%s: impulse %.12g, difference of costs %.12g, allowed %g",
                            row_names[kind], (double)here.impulse, (double)sum, (double)bound);
                TEST_MSG("seed %u", SEED);
                sum = 0;
                for (k = 1; k <= 3; k++) {
                    sum -= difference_weight[k - 1] *
                           (there[3 + k].impulse - there[3 - k].impulse) / step;
                }
                bound = 8 * ((wide)EPS * top + size * hessian_top) / step +
                        100 * powl(ratio, 6) * hessian_top + TINY / step;
                TEST_CHECK_(wide_abs(sum - here.hessian) <= bound,
                            "%s: Hessian %.12g, difference of impulses %.12g, allowed %g",
                            row_names[kind], (double)here.hessian, (double)sum, (double)bound);
                TEST_MSG("seed %u", SEED);
                compared++;
            }
            for (j = 0; j < 4; j++) {
                wide blur;
                left = row_velocity(&row, dt, w);
                right = row_velocity(&row, dt, w);
                if (right < left) {
                    icf_real swap = left;
                    left = right;
                    right = swap;
                }
                a = evaluate_row(&term, left);
                b = evaluate_row(&term, right);
                middle = evaluate_row(&term, real(((wide)left + (wide)right) / 2));
                size = 32 * (wide)EPS * (wide_abs((wide)left) + wide_abs((wide)right) + noise);
                blur = 32 * (wide)EPS * (wide_abs(a.impulse) + wide_abs(b.impulse)) +
                       size * wide_max(a.hessian, wide_max(b.hessian, middle.hessian)) + TINY;
                if (kind == ICF_ROW_MOTOR) blur += 32 * (wide)EPS * noise;
                TEST_CHECK(a.impulse >= b.impulse - blur);
                TEST_CHECK(2 * middle.cost <=
                           a.cost + b.cost +
                               32 * (wide)EPS *
                                   (wide_abs(a.cost) + wide_abs(b.cost) + wide_abs(middle.cost)) +
                               (size + blur) * (wide_abs(a.impulse) + wide_abs(b.impulse) + blur) +
                               blur * ((wide)right - (wide)left));
            }
        }
        TEST_CHECK_(compared > 300, "%s: %d of 400 compared", row_names[kind], compared);
    }
}

static void test_limit_row_by_hand(void)
{
    int i, sign;
    icf_row row = icf_default_row(ICF_ROW_LIMIT);
    icf_row_term term;
    row_answer r;
    wide scale = wide_square(2 * PI) / 2, past = 3 - 2 / (1 + 1 / PI);
    /* as stiff as the step allows, and critically damped: w = 2, dt = 1/8, tau = dt / pi. The force
       ends at a speed of 2 / (1 + 1/pi) = 1.5 */
    row.distance = real(0.25);
    for (sign = -1; sign <= 1; sign += 2) {
        row.sign = (icf_real)sign;
        term = make_row(&row, real(0.125), 2);
        r = evaluate_row(&term, 0); /* away from it */
        TEST_CHECK(r.cost == 0 && r.impulse == 0 && r.hessian == 0);
        r = evaluate_row(&term, (icf_real)(-sign)); /* stops before it */
        TEST_CHECK(r.cost == 0 && r.impulse == 0 && r.hessian == 0);
        r = evaluate_row(&term, (icf_real)(3 * sign)); /* leads away */
        TEST_CHECK(r.cost == 0 && r.impulse == 0 && r.hessian == 0);
        r = evaluate_row(&term, (icf_real)(-3 * sign)); /* would go past it by 1/8 */
        check_near(real(r.impulse), sign * scale * past, 32 * (wide)EPS * scale,
                   "a limit's impulse");
        check_near(real(r.hessian), scale, 16 * (wide)EPS * scale, "a limit's Hessian");
        check_near(real(r.cost), scale * past * past / 2, 64 * (wide)EPS * scale, "a limit's cost");
    }
    /* a soft one: 64 N m, dt = 1/8, tau = 1/8: dt k (dt + tau) = 2 */
    row.sign = 1;
    row.stiffness = 64;
    row.relaxation = real(0.125);
    row.distance = real(-0.5);
    term = make_row(&row, real(0.125), real(0.001));
    TEST_CHECK(!term.bounded);
    r = evaluate_row(&term, 1); /* ends at 2 */
    TEST_CHECK(r.impulse == 2 && r.hessian == 2 && r.cost == 1);
    r = evaluate_row(&term, 2);
    TEST_CHECK(r.impulse == 0 && r.cost == 0);
    r = evaluate_row(&term, 3);
    TEST_CHECK(r.impulse == 0 && r.cost == 0 && r.hessian == 0);
    /* it never pulls */
    random_seed(SEED);
    for (i = 0; i < 1000; i++) {
        icf_real dt = real(random_scale(1e-4, 5e-2)), w = real(random_scale(1e-3, 1e2));
        row = random_row(ICF_ROW_LIMIT);
        term = make_row(&row, dt, w);
        r = evaluate_row(&term, row_velocity(&row, dt, w));
        TEST_CHECK(r.impulse * (wide)row.sign >= 0);
    }
    TEST_MSG("seed %u", SEED);
}

static void test_motor_row_by_hand(void)
{
    icf_row row = icf_default_row(ICF_ROW_MOTOR);
    icf_row_term term;
    row_answer r, s;
    int i;
    /* nothing at all */
    term = make_row(&row, real(0.125), 1);
    r = evaluate_row(&term, 5);
    TEST_CHECK(r.impulse == 0 && r.hessian == 0 && r.cost == 0);
    /* 1/8 (16 (1 - u/8) + 6 (2 - u) + 4) = 4 - u */
    row.stiffness = 16;
    row.damping = 6;
    row.error = 1;
    row.target = 2;
    row.feedforward = 4;
    row.effort = -1;
    term = make_row(&row, real(0.125), 1);
    TEST_CHECK(evaluate_row(&term, 0).impulse == 4);
    TEST_CHECK(evaluate_row(&term, 1).impulse == 3 && evaluate_row(&term, 1).hessian == 1);
    TEST_CHECK(evaluate_row(&term, -1000).impulse == 1004);
    TEST_CHECK(evaluate_row(&term, 1000).impulse == -996);
    /* the limit is one of all together, feed-forward included: 1/8 16 = 2 */
    row.effort = 16;
    term = make_row(&row, real(0.125), 1);
    TEST_CHECK(evaluate_row(&term, 0).impulse == 2 && evaluate_row(&term, 0).hessian == 0);
    TEST_CHECK(evaluate_row(&term, 3).impulse == 1 && evaluate_row(&term, 3).hessian == 1);
    TEST_CHECK(evaluate_row(&term, 5).impulse == -1);
    TEST_CHECK(evaluate_row(&term, 8).impulse == -2 && evaluate_row(&term, 8).hessian == 0);
    TEST_CHECK(evaluate_row(&term, 2).impulse == 2 && evaluate_row(&term, 6).impulse == -2);
    /* costs by hand: the integral of u - 4 within +-2 */
    r = evaluate_row(&term, 4);
    s = evaluate_row(&term, 6);
    TEST_CHECK(s.cost - r.cost == 2);
    s = evaluate_row(&term, 8);
    TEST_CHECK(s.cost - r.cost == 6);
    s = evaluate_row(&term, 0);
    TEST_CHECK(s.cost - r.cost == 6);
    s = evaluate_row(&term, 3);
    TEST_CHECK(s.cost - r.cost == 0.5L);
    /* no gains: feed-forward alone, limited or not; its cost is a line */
    row.stiffness = row.damping = 0;
    term = make_row(&row, real(0.125), 1);
    for (i = -2; i <= 2; i++) {
        r = evaluate_row(&term, (icf_real)(100 * i));
        TEST_CHECK(r.impulse == 0.5L && r.hessian == 0);
        s = evaluate_row(&term, (icf_real)(100 * i + 8));
        TEST_CHECK(s.cost - r.cost == -4);
    }
    row.feedforward = -40;
    term = make_row(&row, real(0.125), 1);
    for (i = -2; i <= 2; i++) {
        r = evaluate_row(&term, (icf_real)(100 * i));
        TEST_CHECK(r.impulse == -2 && r.hessian == 0);
        s = evaluate_row(&term, (icf_real)(100 * i + 8));
        TEST_CHECK(s.cost - r.cost == 16);
    }
    /* no strength */
    row.effort = 0;
    row.stiffness = 100;
    term = make_row(&row, real(0.125), 1);
    r = evaluate_row(&term, 1);
    TEST_CHECK(r.impulse == 0 && r.hessian == 0);
    TEST_CHECK(evaluate_row(&term, 3).cost == r.cost);
    /* whatever comes, within the limit */
    random_seed(SEED);
    for (i = 0; i < 1000; i++) {
        icf_real dt = real(random_scale(1e-4, 5e-2)), w = real(random_scale(1e-3, 1e2));
        row = random_row(ICF_ROW_MOTOR);
        row.feedforward = real(random_between(-1e4, 1e4));
        row.effort = real(random_scale(1e-3, 1e4));
        term = make_row(&row, dt, w);
        r = evaluate_row(&term, row_velocity(&row, dt, w));
        TEST_CHECK(wide_abs(r.impulse) <= (wide)dt * (wide)row.effort * (1 + 2 * (wide)EPS));
    }
    TEST_MSG("seed %u", SEED);
}

/* At most dt effort, against the velocity; a quarter of it where slip is small is a line of slope
   dt effort / eps. */
static void test_dry_friction(void)
{
    int i;
    random_seed(SEED);
    for (i = 0; i < 300; i++) {
        icf_row row = random_row(ICF_ROW_DRY_FRICTION);
        icf_real dt = real(random_scale(1e-4, 5e-2)), w = real(random_scale(1e-3, 1e2));
        icf_row_term term;
        row_answer r, mirror;
        wide most, eps;
        icf_real u;
        row.effort = real(random_scale(1e-2, 1e3));
        most = (wide)dt * (wide)row.effort;
        eps = wide_max((wide)row.slip_tolerance, (wide)row.softness * (wide)w * most);
        term = make_row(&row, dt, w);
        r = evaluate_row(&term, 0);
        TEST_CHECK(r.cost == 0 && r.impulse == 0);
        check_near(real(r.hessian), most / eps, 16 * (wide)EPS * most / eps,
                   "dry friction at rest");
        u = real(random_scale(1e-6, 1e2));
        r = evaluate_row(&term, u);
        mirror = evaluate_row(&term, -u);
        TEST_CHECK(r.cost == mirror.cost && r.impulse == -mirror.impulse);
        TEST_CHECK(r.hessian == mirror.hessian);
        TEST_CHECK(r.impulse < 0 && -r.impulse <= most * (1 + 4 * (wide)EPS));
        r = evaluate_row(&term, real(1e3L * eps));
        TEST_CHECK(-r.impulse > 0.999L * most);
        r = evaluate_row(&term, real(eps));
        check_near(real(r.impulse), -most / sqrtl(2), 16 * (wide)EPS * most, "at the tolerance");
    }
}

/* The impulse of a constraint is as large as the effective mass asks: twice the inverse mass, half
   the impulse at the same velocity. */
static void test_holonomic_scales_with_mass(void)
{
    int i, acts = 0, not = 0;
    random_seed(SEED);
    for (i = 0; i < 400; i++) {
        icf_row row = random_row(ICF_ROW_HOLONOMIC);
        icf_real dt = real(random_scale(1e-4, 5e-2)), w = real(random_scale(1e-6, 1e4));
        icf_real u = real(random_between(-1, 1));
        icf_row_term term;
        row_answer r, other;
        wide scale, rest;
        int bounded = 0;
        row.near_rigid = real(random_scale(0.02, 1));
        if (row.stiffness > 0) row.stiffness = real(random_scale(1, 1e12));
        term = make_row(&row, dt, w);
        scale = row_scale(&row, dt, w, &bounded);
        r = evaluate_row(&term, u);
        check_near(real(r.hessian), scale, 16 * (wide)EPS * scale, "a constraint's Hessian");
        if (row.stiffness > 0) {
            TEST_CHECK(term.bounded == bounded);
            if (bounded)
                acts++;
            else
                not ++;
        }
        if (row.stiffness == 0) {
            term = make_row(&row, dt, 2 * w);
            other = evaluate_row(&term, u);
            check_near(real(2 * other.impulse), r.impulse, 8 * (wide)EPS * wide_abs(r.impulse),
                       "the impulse at half the mass");
            TEST_CHECK(wide_abs(2 * other.hessian - r.hessian) <= 8 * (wide)EPS * r.hessian);
        }
        /* no impulse at the velocity that mends the error in a step, or a little more */
        rest = -(wide)row.distance / ((wide)dt + row_tau(&row, dt));
        term = make_row(&row, dt, w);
        r = evaluate_row(&term, real(rest));
        TEST_CHECK(wide_abs(r.impulse) <= 16 * (wide)EPS * scale * wide_abs(rest));
        TEST_CHECK(evaluate_row(&term, real(rest * 0.5L)).impulse * rest > 0);
        TEST_CHECK(evaluate_row(&term, real(rest * 2)).impulse * rest < 0);
    }
    TEST_CHECK(acts > 20 && not > 20);
    TEST_MSG("seed %u: acts %d, does not %d", SEED, acts, not );
}

// ------------------------------------------------------------------------------------------------
// Defaults, and what is refused

static void test_defaults_are_as_promised(void)
{
    icf_contact c = icf_default_contact();
    icf_surface f = icf_default_surface();
    int kind;
    TEST_CHECK(c.link == 0 && c.surface == 0 && c.weight == 1 && f.model == ICF_MODEL_LAGGED &&
               f.law == ICF_LAW_HUNT_CROSSLEY);
    TEST_CHECK(c.point.x == 0 && c.point.y == 0 && c.point.z == 0);
    TEST_CHECK(c.normal.x == 0 && c.normal.y == 0 && c.normal.z == 1);
    TEST_CHECK(f.tangent.x == 0 && f.tangent.y == 0 && f.tangent.z == 0);
    TEST_CHECK(f.velocity.x == 0 && f.velocity.y == 0 && f.velocity.z == 0);
    TEST_CHECK(c.distance == 0 && f.stiffness == ICF_R(1e6) && f.dissipation == 10);
    TEST_CHECK(f.relaxation == ICF_R(0.01) && f.range == ICF_R(1e-3));
    TEST_CHECK(f.by_force == 0 && c.force == 0 && f.near_rigid < 0);
    TEST_CHECK(f.adhesion == 0 && f.adhesion_range == 0);
    TEST_CHECK(f.friction == ICF_R(0.5) && f.friction2 < 0 && f.friction_static < 0);
    TEST_CHECK(f.slip_tolerance == ICF_R(1e-4) && f.softness == ICF_R(1e-3));
    TEST_CHECK(c.effective_mass_inverse == 0);
    TEST_CHECK(f.torsion == 0 && f.rolling == 0 && f.spin_tolerance == ICF_R(1e-3));
    TEST_CHECK(f.custom == NULL && f.user == NULL);
    for (kind = 0; kind < ROW_KINDS; kind++) {
        icf_row r = icf_default_row((icf_row_kind)kind);
        TEST_CHECK(r.kind == kind && r.link == 0 && r.row == 0);
        TEST_CHECK(r.distance == 0 && r.sign == 1 && r.stiffness == 0 && r.relaxation == 0);
        if (kind == ICF_ROW_LIMIT) TEST_CHECK(r.near_rigid == 1);
        if (kind == ICF_ROW_HOLONOMIC) TEST_CHECK(r.near_rigid == ICF_R(0.1));
        TEST_CHECK(r.damping == 0 && r.error == 0 && r.target == 0 && r.feedforward == 0);
        TEST_CHECK(r.slip_tolerance == ICF_R(1e-4) && r.softness == ICF_R(1e-3));
        TEST_CHECK(r.weight == 0);
        {
            icf_row_term term;
            TEST_CHECK(icf_row_term_make(&r, ICF_R(0.01), 1, &term) == ICF_RESULT_OK ||
                       (kind == ICF_ROW_DRY_FRICTION && r.effort < 0));
        }
    }
    {
        icf_real v0[3] = {0, 0, 0};
        icf_contact_term term;
        TEST_CHECK(icf_contact_term_make(&f, &c, ICF_R(0.01), 1, v0, &term) == ICF_RESULT_OK);
        f.model = ICF_MODEL_SIMILAR;
        TEST_CHECK(icf_contact_term_make(&f, &c, ICF_R(0.01), 1, v0, &term) == ICF_RESULT_OK);
        f.model = ICF_MODEL_SAP;
        TEST_CHECK(icf_contact_term_make(&f, &c, ICF_R(0.01), 1, v0, &term) == ICF_RESULT_OK);
    }
}

/* Refused with this result, and the term is as it was. */
static void check_refused(const icf_surface* f, const icf_contact* c, icf_real dt, icf_real w,
                          const icf_real v0[3], icf_result expected, const char* what)
{
    icf_contact_term term;
    icf_result result;
    memset(&term, 0xC5, sizeof term);
    result = icf_contact_term_make(f, c, dt, w, v0, &term);
    TEST_CHECK_(result == expected, "%s: %s, not %s", what, icf_result_string(result),
                icf_result_string(expected));
    TEST_CHECK_(result == ICF_RESULT_OK || bytes_are(&term, sizeof term, 0xC5),
                "%s: the term was touched", what);
}

static const icf_real rest[3] = {0, 0, 0};

static void refuse(const icf_surface* f, const icf_contact* c, icf_result expected,
                   const char* what)
{
    check_refused(f, c, ICF_R(0.01), 1, rest, expected, what);
}

/* The limit that friction goes by after a step with `last`, where the law says `impulse`: 10 ms, 1e6 N/m */
static icf_lag lag_after(icf_lag last, double impulse, double vn)
{
    const icf_real v0[3] = {0, 0, real(vn)};
    icf_contact c = icf_default_contact();
    icf_surface f = icf_default_surface();
    icf_contact_term term;
    f.dissipation = 0;
    c.distance = real(-impulse / (0.01 * 1e6));
    c.lag = last;
    TEST_CHECK(icf_contact_term_make(&f, &c, real(0.01), 1, v0, &term) == ICF_RESULT_OK);
    TEST_CHECK(term.impulse0 == term.lag.limit);
    /* one point is known of a contact that has just been made */
    TEST_CHECK(
        term.lag.before ==
        (last.limit > 0 || last.before > 0 || last.impulse > 0 ? last.limit : term.lag.limit));
    check_near(term.lag.impulse, (wide)impulse, 4 * (wide)EPS * (wide)impulse, "the law's impulse");
    return term.lag;
}

/* What friction goes by, where the impulse falls with it as 1 - slope limit, not below 0: without the lag for
   ever 1 and 0 from a slope of 1 on; with it both end at 1 / (1 + slope), but where it opens and closes fast */
static void test_lag_of_friction(void)
{
    static const double slopes[] = {0, 0.3, 1, 2, 7, 30};
    const icf_lag none = {0, 0, 0};
    int i, k;
    for (i = 0; i < (int)(sizeof slopes / sizeof *slopes); i++) {
        double end = 1 / (1 + slopes[i]);
        icf_lag with = none, fast = none;
        for (k = 0; k < 30; k++) {
            double slow = k ? fmax(0, 1 - slopes[i] * (double)with.limit) : 1;
            double quick = k ? fmax(0, 1 - slopes[i] * (double)fast.limit) : 1;
            with = lag_after(with, slow, k % 2 ? 1e-4 : -1e-4);
            fast = lag_after(fast, quick, k % 2 ? 1.1e-4 : -1.1e-4);
            TEST_CHECK(fast.limit == fast.impulse);
            if (k < 24) continue;
            TEST_CHECK_(fabs((double)with.limit - end) < 2e-3 * end,
                        "slope %g, step %d: %g, not %g", slopes[i], k, (double)with.limit, end);
            if (slopes[i] < 1.5) continue;
            TEST_CHECK((double)fast.limit == (k % 2 ? 0 : 1));
        }
        /* what has come to rest follows a load that grows thirtyfold, and leaves with what parts */
        for (k = 0; k < 300; k++) {
            double load = 1 + 0.1 * k;
            with = lag_after(with, fmax(0, load - slopes[i] * (double)with.limit), 0);
            if (k < 40) continue;
            TEST_CHECK_(
                (double)with.limit > 0.5 * load * end && (double)with.limit < 2 * load * end,
                "slope %g, load %g: %g, not %g", slopes[i], load, (double)with.limit, load * end);
        }
        for (k = 0; k < 8; k++) with = lag_after(with, 0, 0);
        TEST_CHECK(with.limit == 0);
    }
    /* what grows or fades is followed at once, and a limit between soon ends there */
    for (k = 0; k < 2; k++) {
        icf_lag lag = none;
        double impulse = k ? 1 : 0.1;
        for (i = 0; i < 20; i++) {
            lag = lag_after(lag, impulse, 0);
            if (i > 1 || !k) TEST_CHECK(lag.limit == lag.impulse);
            impulse *= k ? 0.8 : 1.3;
            if (i == 0) impulse = k ? 1 : 0.1;
        }
    }
    {
        icf_lag lag = {ICF_R(0.25), 0, 1};
        TEST_CHECK(lag_after(lag, 1, 0).limit == lag_after(lag, 1, 0).impulse * ICF_R(0.625));
        lag = lag_after(lag_after(lag, 1, 0), 1, 0);
        TEST_CHECK(lag.limit == lag.impulse);
    }
    {
        /* a limit that rounding stopped, over a gap */
        icf_lag lag = {ICF_R(0.75), ICF_R(0.75), 1};
        for (k = 0; k < 8; k++) lag = lag_after(lag, 0, 0);
        TEST_CHECK(lag.limit == 0);
    }
}

static void test_contact_not_finite(void)
{
    enum { FIELDS = 43 };
    icf_real bad[3];
    int i, j, model;
    bad[0] = (icf_real)NAN;
    bad[1] = (icf_real)INFINITY;
    bad[2] = -(icf_real)INFINITY;
    for (model = 0; model < MODELS; model++) {
        for (j = 0; j < 3; j++) {
            for (i = 0; i < FIELDS; i++) {
                icf_contact c = icf_default_contact();
                icf_surface f = icf_default_surface();
                icf_real* fields[FIELDS];
                char what[64];
                f.model = model;
                c.distance = ICF_R(-0.001);
                fields[0] = &c.point.x;
                fields[1] = &c.point.y;
                fields[2] = &c.point.z;
                fields[3] = &c.normal.x;
                fields[4] = &c.normal.y;
                fields[5] = &c.normal.z;
                fields[6] = &f.tangent.x;
                fields[7] = &f.tangent.y;
                fields[8] = &f.tangent.z;
                fields[9] = &f.velocity.x;
                fields[10] = &f.velocity.y;
                fields[11] = &f.velocity.z;
                fields[12] = &c.distance;
                fields[13] = &f.stiffness;
                fields[14] = &f.dissipation;
                fields[15] = &f.relaxation;
                fields[16] = &f.range;
                fields[17] = &c.force;
                fields[18] = &f.near_rigid;
                fields[19] = &f.adhesion;
                fields[20] = &f.adhesion_range;
                fields[21] = &f.friction;
                fields[22] = &f.friction2;
                fields[23] = &f.friction_static;
                fields[24] = &f.slip_tolerance;
                fields[25] = &f.softness;
                fields[26] = &c.effective_mass_inverse;
                fields[27] = &f.torsion;
                fields[28] = &f.rolling;
                fields[29] = &f.spin_tolerance;
                fields[30] = &c.impulse_guess.x;
                fields[31] = &c.impulse_guess.y;
                fields[32] = &c.impulse_guess.z;
                fields[33] = &c.lag.limit;
                fields[34] = &c.lag.before;
                fields[35] = &c.lag.impulse;
                fields[36] = &c.weight;
                fields[37] = &c.pull.x;
                fields[38] = &c.pull.y;
                fields[39] = &c.pull.z;
                fields[40] = &c.twist.x;
                fields[41] = &c.twist.y;
                fields[42] = &c.twist.z;
                *fields[i] = bad[j];
                sprintf(what, "%s, field %d, %s", model_names[model], i,
                        j == 0 ? "NaN" : "infinite");
                refuse(&f, &c, ICF_RESULT_NOT_FINITE, what);
            }
        }
        for (j = 0; j < 3; j++) {
            icf_contact c = icf_default_contact();
            icf_surface f = icf_default_surface();
            f.model = model;
            check_refused(&f, &c, bad[j], 1, rest, ICF_RESULT_NOT_FINITE, "dt");
            check_refused(&f, &c, ICF_R(0.01), bad[j], rest, ICF_RESULT_NOT_FINITE, "w");
            for (i = 0; i < 3; i++) {
                icf_real v0[3] = {0, 0, 0};
                v0[i] = bad[j];
                check_refused(&f, &c, ICF_R(0.01), 1, v0, ICF_RESULT_NOT_FINITE, "v0");
            }
        }
    }
}

static void test_contact_out_of_range(void)
{
    icf_contact c;
    icf_surface f;
    int model;
#define REFUSED(change) \
    do { \
        c = icf_default_contact(); \
        f = icf_default_surface(); \
        f.model = model; \
        c.distance = ICF_R(-0.001); \
        change; \
        refuse(&f, &c, ICF_RESULT_BAD_ARGUMENT, #change); \
    } while (0)
    for (model = 0; model < MODELS; model++) {
        REFUSED(f.model = 3);
        REFUSED(f.model = -1);
        REFUSED(f.law = 6);
        REFUSED(f.law = -1);
        REFUSED(f.stiffness = -1);
        REFUSED(f.dissipation = -1);
        REFUSED(f.relaxation = ICF_R(-0.01));
        REFUSED(f.friction = ICF_R(-0.5));
        REFUSED(f.slip_tolerance = ICF_R(-1e-4));
        REFUSED(f.softness = ICF_R(-1e-3));
        REFUSED(c.effective_mass_inverse = -1);
        REFUSED(c.weight = -1);
        REFUSED(f.torsion = -1);
        REFUSED(f.rolling = -1);
        REFUSED(f.spin_tolerance = ICF_R(-1e-3));
        REFUSED(f.adhesion = -1);
        REFUSED(c.lag.limit = -1);
        REFUSED(c.lag.before = -1);
        REFUSED(c.lag.impulse = -1);
        /* a normal that is not a unit vector */
        REFUSED(c.normal = icf_vec3_make(0, 0, 0));
        REFUSED(c.normal = icf_vec3_make(0, 0, 2));
        REFUSED(c.normal = icf_vec3_make(0, 0, ICF_R(0.9)));
        REFUSED(c.normal = icf_vec3_make(0, 0, ICF_R(1.1)));
        REFUSED(c.normal = icf_vec3_make(1, 0, 1));
        c = icf_default_contact();
        f = icf_default_surface();
        f.model = model;
        check_refused(&f, &c, 0, 1, rest, ICF_RESULT_BAD_ARGUMENT, "dt = 0");
        check_refused(&f, &c, ICF_R(-0.01), 1, rest, ICF_RESULT_BAD_ARGUMENT, "dt < 0");
        check_refused(&f, &c, ICF_R(0.01), -1, rest, ICF_RESULT_BAD_ARGUMENT, "w < 0");
        check_refused(&f, &c, ICF_R(0.01), 1, NULL, ICF_RESULT_BAD_ARGUMENT, "no v0");
    }
    /* unit vectors as good as rounding makes them are fine */
    model = ICF_MODEL_LAGGED;
    c = icf_default_contact();
    f = icf_default_surface();
    c.normal = icf_vec3_normalize(icf_vec3_make(1, 2, 3));
    f.tangent = icf_vec3_normalize(icf_vec3_make(3, 0, -1));
    refuse(&f, &c, ICF_RESULT_OK, "a slanted normal");
    f.tangent = icf_vec3_make(0, 0, 0);
    refuse(&f, &c, ICF_RESULT_OK, "any tangent");
    /* what belongs to a model or a law */
    REFUSED((f.slip_tolerance = 0, f.softness = 0));
    REFUSED((f.law = ICF_LAW_HERTZ, f.by_force = 1));
    REFUSED((f.law = ICF_LAW_KELVIN_VOIGT, f.by_force = 1, f.stiffness = 0));
    REFUSED((f.law = ICF_LAW_IPC_BARRIER, c.distance = 1, f.by_force = 1));
    REFUSED((f.law = ICF_LAW_LOG_BARRIER, c.distance = 1, f.by_force = 1));
    REFUSED((f.law = ICF_LAW_IPC_BARRIER, c.distance = 1, f.range = 0));
    REFUSED((f.law = ICF_LAW_LOG_BARRIER, c.distance = 1, f.range = 0));
    REFUSED((f.law = ICF_LAW_IPC_BARRIER, c.distance = 1, f.range = -1));
    REFUSED((f.law = ICF_LAW_LOG_BARRIER, c.distance = 1, f.range = -1));
    REFUSED((f.law = ICF_LAW_CUSTOM, f.custom = NULL));
    model = ICF_MODEL_SAP;
    REFUSED(f.softness = 0);
    REFUSED((f.friction = ICF_R(0.5), f.friction2 = ICF_R(0.25)));
#undef REFUSED
}

/* A struct of zeros, or one whose last field was lost, did not come from the default function. */
static void test_contact_without_default(void)
{
    icf_contact c = icf_default_contact();
    icf_surface f;
    icf_contact_term term;
    memset(&f, 0, sizeof f);
    refuse(&f, &c, ICF_RESULT_BAD_DEF, "zeros");
    f = icf_default_surface();
    f.cookie = 0;
    refuse(&f, &c, ICF_RESULT_BAD_DEF, "no cookie");
    f = icf_default_surface();
    f.cookie ^= 1;
    refuse(&f, &c, ICF_RESULT_BAD_DEF, "a wrong cookie");
    f = icf_default_surface();
    refuse(NULL, &c, ICF_RESULT_BAD_ARGUMENT, "no surface");
    refuse(&f, NULL, ICF_RESULT_BAD_ARGUMENT, "no contact");
    TEST_CHECK(icf_contact_term_make(&f, &c, ICF_R(0.01), 1, rest, NULL) ==
               ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_term_make(&f, &c, ICF_R(0.01), 1, rest, &term) == ICF_RESULT_OK);
    memset(&c, 0, sizeof c);
    refuse(&f, &c, ICF_RESULT_BAD_DEF, "a contact of zeros");
}

/* Numbers whose products are none: refused under one name or another */
static void test_contact_overflow(void)
{
    int model;
    for (model = 0; model < 2; model++) {
        icf_contact c = icf_default_contact();
        icf_surface f = icf_default_surface();
        icf_contact_term term;
        icf_real moving[3] = {0, 0, 0};
        memset(&term, 0xC5, sizeof term);
        f.model = model;
        c.distance = -1;
        f.stiffness = REAL_MAX;
        TEST_CHECK(icf_contact_term_make(&f, &c, 2, 1, rest, &term) != ICF_RESULT_OK);
        TEST_CHECK(bytes_are(&term, sizeof term, 0xC5));
        memset(&term, 0xC5, sizeof term);
        f.stiffness = REAL_MAX / 16;
        f.dissipation = 1;
        moving[2] = -1000;
        TEST_CHECK(icf_contact_term_make(&f, &c, 1, 1, moving, &term) != ICF_RESULT_OK);
        TEST_CHECK(bytes_are(&term, sizeof term, 0xC5));
    }
}

/* A law that pulls, or answers no number at all, at the start of the step */
static void test_bad_custom(void)
{
    setting s = random_setting(ICF_MODEL_LAGGED, ICF_LAW_HUNT_CROSSLEY);
    own_law own;
    s.contact.distance = ICF_R(-0.001);
    s.surface.stiffness = 10000;
    s.surface.dissipation = 1;
    own = own_from(&s);
    s.surface.law = ICF_LAW_CUSTOM;
    s.surface.custom = own_law_function;
    s.surface.user = &own;
    refuse(&s.surface, &s.contact, ICF_RESULT_OK, "a good law");
    /* one that turns out to be none later on has no value then */
    {
        icf_contact_term term = make(&s);
        icf_real v[3] = {0, 0, -1}, cost, impulse[3], hessian[9];
        for (own.mistake = RIGHT; own.mistake < MISTAKES; own.mistake++) {
            int seen = own.mistake == WRONG_SIGN || own.mistake == SLOPE_SIGN ||
                       own.mistake == NOT_NUMBERS;
            TEST_CHECK(icf_contact_evaluate(&term, v, &cost, impulse, hessian) == !seen);
            if (seen) {
                TEST_CHECK(cost == ICF_REAL_MAX && impulse[2] == 0 && hessian[8] == 0);
            }
        }
    }
    own.mistake = WRONG_SIGN;
    refuse(&s.surface, &s.contact, ICF_RESULT_BAD_LAW, "a law that pulls");
    own.mistake = NOT_NUMBERS;
    refuse(&s.surface, &s.contact, ICF_RESULT_BAD_LAW, "a law of NaN");
}

static void refuse_row(const icf_row* row, icf_real dt, icf_real w, icf_result expected,
                       const char* what)
{
    icf_row_term term;
    icf_result result;
    memset(&term, 0xC5, sizeof term);
    result = icf_row_term_make(row, dt, w, &term);
    TEST_CHECK_(result == expected, "%s: %s, not %s", what, icf_result_string(result),
                icf_result_string(expected));
    TEST_CHECK_(result == ICF_RESULT_OK || bytes_are(&term, sizeof term, 0xC5),
                "%s: the term was touched", what);
}

static icf_row good_row(int kind)
{
    icf_row r = icf_default_row((icf_row_kind)kind);
    r.effort = 1;
    r.weight = 1;
    return r;
}

static void test_row_refused(void)
{
    enum { FIELDS = 13 };
    icf_real bad[3];
    icf_row r;
    icf_row_term term;
    int kind, i, j;
    bad[0] = (icf_real)NAN;
    bad[1] = (icf_real)INFINITY;
    bad[2] = -(icf_real)INFINITY;
#define REFUSED(of, change) \
    do { \
        r = good_row(of); \
        change; \
        refuse_row(&r, ICF_R(0.01), 1, ICF_RESULT_BAD_ARGUMENT, #of ": " #change); \
    } while (0)
    for (kind = 0; kind < ROW_KINDS; kind++) {
        r = good_row(kind);
        refuse_row(&r, ICF_R(0.01), 1, ICF_RESULT_OK, row_names[kind]);
        for (j = 0; j < 3; j++) {
            for (i = 0; i < FIELDS; i++) {
                icf_real* fields[FIELDS];
                char what[64];
                r = good_row(kind);
                fields[0] = &r.distance;
                fields[1] = &r.sign;
                fields[2] = &r.stiffness;
                fields[3] = &r.relaxation;
                fields[4] = &r.near_rigid;
                fields[5] = &r.damping;
                fields[6] = &r.error;
                fields[7] = &r.target;
                fields[8] = &r.feedforward;
                fields[9] = &r.effort;
                fields[10] = &r.slip_tolerance;
                fields[11] = &r.softness;
                fields[12] = &r.weight;
                *fields[i] = bad[j];
                sprintf(what, "%s, field %d, %s", row_names[kind], i, j == 0 ? "NaN" : "infinite");
                refuse_row(&r, ICF_R(0.01), 1, ICF_RESULT_NOT_FINITE, what);
            }
            r = good_row(kind);
            refuse_row(&r, bad[j], 1, ICF_RESULT_NOT_FINITE, "dt of a row");
            refuse_row(&r, ICF_R(0.01), bad[j], ICF_RESULT_NOT_FINITE, "w of a row");
        }
        r = good_row(kind);
        refuse_row(&r, 0, 1, ICF_RESULT_BAD_ARGUMENT, "dt = 0");
        refuse_row(&r, ICF_R(-0.01), 1, ICF_RESULT_BAD_ARGUMENT, "dt < 0");
        refuse_row(&r, ICF_R(0.01), -1, ICF_RESULT_BAD_ARGUMENT, "w < 0");
        r.cookie = 0;
        refuse_row(&r, ICF_R(0.01), 1, ICF_RESULT_BAD_DEF, "no cookie");
        memset(&r, 0, sizeof r);
        r.kind = kind;
        refuse_row(&r, ICF_R(0.01), 1, ICF_RESULT_BAD_DEF, "zeros");
        r = good_row(kind);
        TEST_CHECK(icf_row_term_make(&r, ICF_R(0.01), 1, NULL) == ICF_RESULT_BAD_ARGUMENT);
        REFUSED(kind, r.kind = -1);
        REFUSED(kind, r.kind = ROW_KINDS);
    }
    refuse_row(NULL, ICF_R(0.01), 1, ICF_RESULT_BAD_ARGUMENT, "no row");
    REFUSED(ICF_ROW_LIMIT, r.sign = 0);
    REFUSED(ICF_ROW_LIMIT, r.sign = 2);
    REFUSED(ICF_ROW_LIMIT, r.sign = ICF_R(-0.5));
    REFUSED(ICF_ROW_LIMIT, r.stiffness = -1);
    REFUSED(ICF_ROW_LIMIT, r.relaxation = -1);
    REFUSED(ICF_ROW_LIMIT, r.near_rigid = 0);
    REFUSED(ICF_ROW_LIMIT, (r.near_rigid = -1, r.stiffness = 0));
    REFUSED(ICF_ROW_HOLONOMIC, r.stiffness = -1);
    REFUSED(ICF_ROW_HOLONOMIC, r.relaxation = -1);
    REFUSED(ICF_ROW_HOLONOMIC, r.near_rigid = 0);
    REFUSED(ICF_ROW_MOTOR, r.stiffness = -1);
    REFUSED(ICF_ROW_MOTOR, r.damping = -1);
    REFUSED(ICF_ROW_DRY_FRICTION, r.effort = -1);
    REFUSED(ICF_ROW_DRY_FRICTION, r.slip_tolerance = ICF_R(-1e-4));
    REFUSED(ICF_ROW_DRY_FRICTION, r.softness = ICF_R(-1e-3));
    REFUSED(ICF_ROW_DRY_FRICTION, (r.slip_tolerance = 0, r.softness = 0));
    REFUSED(ICF_ROW_QUADRATIC, r.weight = -1);
    /* a stiffness makes the bound a choice */
    r = good_row(ICF_ROW_LIMIT);
    r.stiffness = 1000;
    r.near_rigid = 0;
    refuse_row(&r, ICF_R(0.01), 1, ICF_RESULT_OK, "a limit without the bound");
    term = make_row(&r, ICF_R(0.01), 1);
    TEST_CHECK(!term.bounded);
    check_near(real(evaluate_row(&term, -1).hessian), 0.1L, 16 * (wide)EPS, "its Hessian");
#undef REFUSED
}

/* The square of an impulse may be too large where its cost is not. */
static void test_row_of_large_impulse(void)
{
    const icf_real large = ICF_SQRT(ICF_REAL_MAX);
    icf_row_term term;
    icf_row row = icf_default_row(ICF_ROW_QUADRATIC);
    icf_real cost, impulse, hessian;
    row.weight = large;
    TEST_ASSERT(icf_row_term_make(&row, ICF_R(0.01), 1, &term) == ICF_RESULT_OK);
    TEST_CHECK(icf_row_evaluate(&term, -100, &cost, &impulse, &hessian) == 1);
    TEST_CHECK(fabs((double)(cost / large) - 5000) < 0.01 && hessian == large);
}

TEST_LIST = {
    {"row_of_large_impulse",            test_row_of_large_impulse           },
    {"reference_against_golden",        test_reference_against_golden       },
    {"golden_points",                   test_golden_points                  },
    {"golden_made",                     test_golden_made                    },
    {"random_points",                   test_random_points                  },
    {"special_points",                  test_special_points                 },
    {"exact_velocities",                test_exact_velocities               },
    {"units_change_no_bit",             test_units_change_no_bit            },
    {"parts_asked_for_alone",           test_parts_asked_for_alone          },
    {"differences_of_cost_and_impulse", test_differences_of_cost_and_impulse},
    {"hessian_shape",                   test_hessian_shape                  },
    {"convex_along_lines",              test_convex_along_lines             },
    {"open_is_zero",                    test_open_is_zero                   },
    {"no_force",                        test_no_force                       },
    {"start_of_step",                   test_start_of_step                  },
    {"start_clamps",                    test_start_clamps                   },
    {"lag_of_friction",                 test_lag_of_friction                },
    {"sap_numbers",                     test_sap_numbers                    },
    {"near_rigid",                      test_near_rigid                     },
    {"static_friction",                 test_static_friction                },
    {"static_friction_range",           test_static_friction_range          },
    {"adhesion_pulls_evenly",           test_adhesion_pulls_evenly          },
    {"by_force",                        test_by_force                       },
    {"by_force_damped",                 test_by_force_damped                },
    {"constant_force",                  test_constant_force                 },
    {"normal_switch",                   test_normal_switch                  },
    {"normal_alone",                    test_normal_alone                   },
    {"logarithm_of_barriers",           test_logarithm_of_barriers          },
    {"infeasible_has_no_force",         test_infeasible_has_no_force        },
    {"sap_projection",                  test_sap_projection                 },
    {"sap_regions",                     test_sap_regions                    },
    {"sap_borders",                     test_sap_borders                    },
    {"custom_law",                      test_custom_law                     },
    {"law_check_right",                 test_law_check_right                },
    {"law_check_corner",                test_law_check_corner               },
    {"law_check_tenth",                 test_law_check_tenth                },
    {"law_check_wrong",                 test_law_check_wrong                },
    {"rows_at_random",                  test_rows_at_random                 },
    {"row_differences",                 test_row_differences                },
    {"limit_row_by_hand",               test_limit_row_by_hand              },
    {"motor_row_by_hand",               test_motor_row_by_hand              },
    {"dry_friction",                    test_dry_friction                   },
    {"holonomic_scales_with_mass",      test_holonomic_scales_with_mass     },
    {"defaults_are_as_promised",        test_defaults_are_as_promised       },
    {"contact_not_finite",              test_contact_not_finite             },
    {"contact_out_of_range",            test_contact_out_of_range           },
    {"contact_without_default",         test_contact_without_default        },
    {"contact_overflow",                test_contact_overflow               },
    {"bad_custom",                      test_bad_custom                     },
    {"row_refused",                     test_row_refused                    },
    {NULL,                              NULL                                },
};
