/* Layer 2: small math. Every function against long double or a closed form, in tolerances of EPS. */

#include <math.h>
#include <string.h>

#include "tested.h"

#include "acutest.h"
#include "util.h"

#define TRIALS 2000

typedef long double wide;

typedef struct wide3 {
    wide x, y, z;
} wide3;

typedef struct wide4 {
    wide x, y, z, w;
} wide4;

static wide3 widen(icf_vec3 a)
{
    wide3 b;
    b.x = a.x;
    b.y = a.y;
    b.z = a.z;
    return b;
}

static wide3 wide3_make(wide x, wide y, wide z)
{
    wide3 a;
    a.x = x;
    a.y = y;
    a.z = z;
    return a;
}

static wide4 wide4_make(wide x, wide y, wide z, wide w)
{
    wide4 a;
    a.x = x;
    a.y = y;
    a.z = z;
    a.w = w;
    return a;
}

static wide wide_dot(wide3 a, wide3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static wide3 wide_cross(wide3 a, wide3 b)
{
    return wide3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* Hamilton's product, from the scalar and vector parts */
static wide4 wide_mul(wide4 a, wide4 b)
{
    wide3 u = wide3_make(a.x, a.y, a.z), v = wide3_make(b.x, b.y, b.z), c = wide_cross(u, v);
    return wide4_make(a.w * v.x + b.w * u.x + c.x, a.w * v.y + b.w * u.y + c.y,
                      a.w * v.z + b.w * u.z + c.z, a.w * b.w - wide_dot(u, v));
}

static wide4 wide_quat(icf_quat q)
{
    return wide4_make(q.x, q.y, q.z, q.w);
}

/* q (v, 0) q' */
static wide3 wide_rotate(icf_quat q, icf_vec3 v)
{
    wide4 a = wide_mul(wide_mul(wide_quat(q), wide4_make(v.x, v.y, v.z, 0)),
                       wide4_make(-q.x, -q.y, -q.z, q.w));
    return wide3_make(a.x, a.y, a.z);
}

/* the largest difference of a component; NaN counts as infinite */
static double larger_difference(double most, wide difference)
{
    double d = (double)fabsl(difference);
    return d <= most ? most : d >= 0 ? d : HUGE_VAL;
}

static double off3(icf_vec3 a, wide3 b)
{
    return larger_difference(larger_difference(larger_difference(0, a.x - b.x), a.y - b.y),
                             a.z - b.z);
}

static double apart3(icf_vec3 a, icf_vec3 b)
{
    return off3(a, widen(b));
}

static double off4(icf_quat a, wide4 b)
{
    return larger_difference(
        larger_difference(larger_difference(larger_difference(0, a.x - b.x), a.y - b.y), a.z - b.z),
        a.w - b.w);
}

/* as rotations: q and -q are the same */
static double apart_turns(icf_quat a, icf_quat b)
{
    double same = off4(a, wide_quat(b));
    double opposite = off4(a, wide4_make(-b.x, -b.y, -b.z, -b.w));
    return same < opposite ? same : opposite;
}

static double apart9(icf_mat3 a, icf_mat3 b)
{
    double d = apart3(a.x, b.x);
    if (!(apart3(a.y, b.y) <= d)) d = apart3(a.y, b.y);
    if (!(apart3(a.z, b.z) <= d)) d = apart3(a.z, b.z);
    return d;
}

static double norm4(icf_quat q)
{
    return (double)sqrtl((wide)q.x * q.x + (wide)q.y * q.y + (wide)q.z * q.z + (wide)q.w * q.w);
}

static double norm3(icf_vec3 a)
{
    return (double)sqrtl(wide_dot(widen(a), widen(a)));
}

static icf_vec3 random_vec3(double most)
{
    icf_real x = (icf_real)random_between(-most, most), y = (icf_real)random_between(-most, most);
    return icf_vec3_make(x, y, (icf_real)random_between(-most, most));
}

static icf_quat random_turn(void)
{
    for (;;) {
        icf_vec3 v = random_vec3(1);
        icf_real w = (icf_real)random_between(-1, 1);
        double square = norm3(v) * norm3(v) + (double)w * w;
        if (square > 0.01 && square < 1) {
            return icf_quat_normalize(icf_quat_make(v.x, v.y, v.z, w));
        }
    }
}

/* true if d <= bound; says what was found if not */
#define CHECK_SMALL(d, bound) \
    do { \
        double d_ = (double)(d), b_ = (double)(bound); \
        TEST_CHECK_(d_ <= b_, "%s is %.3g, bound %.3g (%.3g eps), seed %u", #d, d_, b_, d_ / EPS, \
                    (unsigned)SEED); \
    } while (0)

static void test_constructors(void)
{
    icf_vec3 v = icf_vec3_make(1, 2, 3);
    icf_quat q = icf_quat_make(1, 2, 3, 4), e = icf_quat_identity();
    icf_mat3 m = icf_mat3_from_columns(v, icf_vec3_make(4, 5, 6), icf_vec3_make(7, 8, 9));
    icf_mat3 i = icf_mat3_identity();
    icf_transform t = icf_transform_make(q, v), n = icf_transform_identity();

    TEST_CHECK(v.x == 1 && v.y == 2 && v.z == 3);
    TEST_CHECK(q.x == 1 && q.y == 2 && q.z == 3 && q.w == 4);
    TEST_CHECK(e.x == 0 && e.y == 0 && e.z == 0 && e.w == 1);
    TEST_CHECK(m.x.x == 1 && m.x.y == 2 && m.x.z == 3 && m.y.x == 4 && m.z.z == 9);
    TEST_CHECK(i.x.x == 1 && i.y.y == 1 && i.z.z == 1);
    TEST_CHECK(i.x.y == 0 && i.x.z == 0 && i.y.x == 0 && i.y.z == 0 && i.z.x == 0 && i.z.y == 0);
    TEST_CHECK(t.q.w == 4 && t.p.z == 3);
    TEST_CHECK(n.q.w == 1 && n.q.x == 0 && n.p.x == 0 && n.p.y == 0 && n.p.z == 0);

    /* handed to C code and saved as bytes: no padding */
    TEST_CHECK(sizeof(icf_vec3) == 3 * sizeof(icf_real));
    TEST_CHECK(sizeof(icf_quat) == 4 * sizeof(icf_real));
    TEST_CHECK(sizeof(icf_mat3) == 9 * sizeof(icf_real));
    TEST_CHECK(sizeof(icf_transform) == 7 * sizeof(icf_real));
}

static void test_vec3_arithmetic(void)
{
    int i;
    random_seed(SEED);
    for (i = 0; i < TRIALS; i++) {
        icf_vec3 a = random_vec3(10), b = random_vec3(10);
        icf_real s = (icf_real)random_between(-10, 10);
        wide3 A = widen(a), B = widen(b);
        CHECK_SMALL(off3(icf_vec3_add(a, b), wide3_make(A.x + B.x, A.y + B.y, A.z + B.z)),
                    10 * EPS);
        CHECK_SMALL(off3(icf_vec3_sub(a, b), wide3_make(A.x - B.x, A.y - B.y, A.z - B.z)),
                    10 * EPS);
        CHECK_SMALL(off3(icf_vec3_neg(a), wide3_make(-A.x, -A.y, -A.z)), 0);
        CHECK_SMALL(off3(icf_vec3_scale(s, a), wide3_make(s * A.x, s * A.y, s * A.z)), 50 * EPS);
        CHECK_SMALL(off3(icf_vec3_add_scaled(a, s, b),
                         wide3_make(A.x + s * B.x, A.y + s * B.y, A.z + s * B.z)),
                    110 * EPS);
        CHECK_SMALL(fabsl(icf_vec3_dot(a, b) - wide_dot(A, B)), 600 * EPS);
        CHECK_SMALL(off3(icf_vec3_cross(a, b), wide_cross(A, B)), 200 * EPS);
        CHECK_SMALL(fabsl(icf_vec3_length(a) - sqrtl(wide_dot(A, A))), 2.5 * EPS * norm3(a));
    }
}

static void test_vec3_identities(void)
{
    icf_vec3 x = icf_vec3_make(1, 0, 0), y = icf_vec3_make(0, 1, 0), z = icf_vec3_make(0, 0, 1);
    int i;

    /* right handed */
    CHECK_SMALL(apart3(icf_vec3_cross(x, y), z), 0);
    CHECK_SMALL(apart3(icf_vec3_cross(y, z), x), 0);
    CHECK_SMALL(apart3(icf_vec3_cross(z, x), y), 0);
    TEST_CHECK(icf_vec3_dot(x, x) == 1 && icf_vec3_dot(x, y) == 0 && icf_vec3_length(z) == 1);
    TEST_CHECK(icf_vec3_length(icf_vec3_make(2, -3, 6)) == 7);

    random_seed(SEED);
    for (i = 0; i < TRIALS; i++) {
        icf_vec3 a = random_vec3(1), b = random_vec3(1), c = random_vec3(1);
        icf_vec3 ab = icf_vec3_cross(a, b);
        icf_real dot = icf_vec3_dot(a, b);
        icf_vec3 jacobi = icf_vec3_add(
            icf_vec3_cross(a, icf_vec3_cross(b, c)),
            icf_vec3_add(icf_vec3_cross(b, icf_vec3_cross(c, a)), icf_vec3_cross(c, ab)));
        CHECK_SMALL(fabs((double)icf_vec3_dot(a, ab)), 8 * EPS);
        CHECK_SMALL(fabs((double)icf_vec3_dot(b, ab)), 8 * EPS);
        CHECK_SMALL(apart3(ab, icf_vec3_neg(icf_vec3_cross(b, a))), 0);
        CHECK_SMALL(fabs((double)(icf_vec3_dot(ab, ab) + dot * dot -
                                  icf_vec3_dot(a, a) * icf_vec3_dot(b, b))),
                    30 * EPS);
        CHECK_SMALL(fabs((double)(icf_vec3_dot(ab, c) - icf_vec3_dot(a, icf_vec3_cross(b, c)))),
                    12 * EPS);
        CHECK_SMALL(norm3(jacobi), 30 * EPS);
    }
}

/* a / |a| in long double, whose range also holds the squares of extreme doubles on most machines */
static wide3 wide_direction(icf_vec3 a)
{
    int exponent;
    wide largest = fmaxl(fabsl(a.x), fmaxl(fabsl(a.y), fabsl(a.z))), x, y, z, n;
    frexpl(largest, &exponent);
    x = ldexpl(a.x, -exponent);
    y = ldexpl(a.y, -exponent);
    z = ldexpl(a.z, -exponent);
    n = sqrtl(x * x + y * y + z * z);
    return wide3_make(x / n, y / n, z / n);
}

static void test_vec3_normalize(void)
{
    static const icf_real sizes[] = {
        1, REAL_MAX, REAL_MAX / 3, REAL_MIN, REAL_MIN * 10, (icf_real)1e-30, (icf_real)1e30};
    icf_vec3 zero = icf_vec3_normalize(icf_vec3_make(0, 0, 0));
    size_t k;
    int i;

    TEST_CHECK(zero.x == 0 && zero.y == 0 && zero.z == 0);

    random_seed(SEED);
    for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (i = 0; i < TRIALS / 10; i++) {
            icf_vec3 a = icf_vec3_scale(sizes[k], random_vec3(1)), n = icf_vec3_normalize(a);
            CHECK_SMALL(off3(n, wide_direction(a)), 4 * EPS);
            CHECK_SMALL(fabs(norm3(n) - 1), 4 * EPS);
        }
    }

    /* the largest, and the smallest there is, along each axis */
    CHECK_SMALL(fabs(norm3(icf_vec3_normalize(icf_vec3_make(REAL_MAX, -REAL_MAX, REAL_MAX))) - 1),
                4 * EPS);
    for (k = 0; k < 4; k++) {
        icf_real a = k < 2 ? REAL_MAX : (icf_real)(REAL_MIN * EPS), s = k % 2 ? -1 : 1;
        if (!(a > 0)) continue; /* where there are no such small numbers */
        CHECK_SMALL(apart3(icf_vec3_normalize(icf_vec3_make(s * a, 0, 0)), icf_vec3_make(s, 0, 0)),
                    0);
        CHECK_SMALL(apart3(icf_vec3_normalize(icf_vec3_make(0, s * a, 0)), icf_vec3_make(0, s, 0)),
                    0);
        CHECK_SMALL(apart3(icf_vec3_normalize(icf_vec3_make(0, 0, s * a)), icf_vec3_make(0, 0, s)),
                    0);
    }
}

static void test_quat_mul(void)
{
    icf_quat i = icf_quat_make(1, 0, 0, 0), j = icf_quat_make(0, 1, 0, 0);
    icf_quat k = icf_quat_make(0, 0, 1, 0), e = icf_quat_identity();
    int trial;

    /* Hamilton's table */
    CHECK_SMALL(off4(icf_quat_mul(i, j), wide_quat(k)), 0);
    CHECK_SMALL(off4(icf_quat_mul(j, k), wide_quat(i)), 0);
    CHECK_SMALL(off4(icf_quat_mul(k, i), wide_quat(j)), 0);
    CHECK_SMALL(off4(icf_quat_mul(j, i), wide4_make(0, 0, -1, 0)), 0);
    CHECK_SMALL(off4(icf_quat_mul(i, i), wide4_make(0, 0, 0, -1)), 0);
    CHECK_SMALL(off4(icf_quat_mul(j, j), wide4_make(0, 0, 0, -1)), 0);
    CHECK_SMALL(off4(icf_quat_mul(k, k), wide4_make(0, 0, 0, -1)), 0);

    random_seed(SEED);
    for (trial = 0; trial < TRIALS; trial++) {
        icf_quat a = random_turn(), b = random_turn(), c = random_turn();
        icf_vec3 v = random_vec3(1);
        CHECK_SMALL(off4(icf_quat_mul(a, b), wide_mul(wide_quat(a), wide_quat(b))), 4 * EPS);
        CHECK_SMALL(off4(icf_quat_mul(a, e), wide_quat(a)), 0);
        CHECK_SMALL(off4(icf_quat_mul(e, a), wide_quat(a)), 0);
        CHECK_SMALL(off4(icf_quat_mul(a, icf_quat_conjugate(a)), wide_quat(e)), 6 * EPS);
        CHECK_SMALL(off4(icf_quat_mul(icf_quat_mul(a, b), c),
                         wide_quat(icf_quat_mul(a, icf_quat_mul(b, c)))),
                    8 * EPS);
        CHECK_SMALL(fabs(norm4(icf_quat_mul(a, b)) - 1), 8 * EPS);

        /* b first, then a */
        CHECK_SMALL(apart3(icf_quat_rotate(icf_quat_mul(a, b), v),
                           icf_quat_rotate(a, icf_quat_rotate(b, v))),
                    40 * EPS);
    }
}

static void test_quat_rotate(void)
{
    icf_real r = (icf_real)sqrt(0.5);
    icf_quat quarter = icf_quat_make(0, 0, r, r); /* about z, counterclockwise */
    int i;

    CHECK_SMALL(apart3(icf_quat_rotate(quarter, icf_vec3_make(1, 0, 0)), icf_vec3_make(0, 1, 0)),
                2 * EPS);
    CHECK_SMALL(apart3(icf_quat_rotate(quarter, icf_vec3_make(0, 1, 0)), icf_vec3_make(-1, 0, 0)),
                2 * EPS);
    CHECK_SMALL(apart3(icf_quat_rotate(quarter, icf_vec3_make(0, 0, 1)), icf_vec3_make(0, 0, 1)),
                0);

    random_seed(SEED);
    for (i = 0; i < TRIALS; i++) {
        icf_quat q = random_turn(), opposite = icf_quat_make(-q.x, -q.y, -q.z, -q.w);
        icf_vec3 v = random_vec3(1), turned = icf_quat_rotate(q, v);
        CHECK_SMALL(off3(turned, wide_rotate(q, v)), 16 * EPS);
        CHECK_SMALL(apart3(turned, icf_quat_rotate(opposite, v)), 0);
        CHECK_SMALL(fabs(norm3(turned) - norm3(v)), 16 * EPS);
        CHECK_SMALL(apart3(icf_quat_rotate_inverse(q, turned), v), 32 * EPS);
        CHECK_SMALL(
            apart3(icf_quat_rotate_inverse(q, v), icf_quat_rotate(icf_quat_conjugate(q), v)), 0);
        /* the axis stays */
        v = icf_vec3_make(q.x, q.y, q.z);
        CHECK_SMALL(apart3(icf_quat_rotate(q, v), v), 4 * EPS);
    }
}

static void test_quat_normalize(void)
{
    icf_quat zero = icf_quat_normalize(icf_quat_make(0, 0, 0, 0));
    int i;
    TEST_CHECK(zero.x == 0 && zero.y == 0 && zero.z == 0 && zero.w == 1);
    random_seed(SEED);
    for (i = 0; i < TRIALS; i++) {
        icf_quat q = random_turn(), n;
        icf_real s = (icf_real)pow(10, random_between(-15, 15));
        n = icf_quat_normalize(icf_quat_make(s * q.x, s * q.y, s * q.z, s * q.w));
        CHECK_SMALL(fabs(norm4(n) - 1), 3 * EPS);
        CHECK_SMALL(off4(n, wide_quat(q)), 5 * EPS);
    }
}

/* (sin(|r|/2) r/|r|, cos(|r|/2)) */
static wide4 wide_turn(wide3 r)
{
    wide a = sqrtl(wide_dot(r, r)), s = a > 0 ? sinl(a / 2) / a : 0.5L;
    return wide4_make(s * r.x, s * r.y, s * r.z, cosl(a / 2));
}

static void test_rotation_vector(void)
{
    double smallest = IN_FLOAT ? -30 : -300;
    icf_quat still = icf_quat_from_rotation_vector(icf_vec3_make(0, 0, 0));
    int i;
    TEST_CHECK(still.x == 0 && still.y == 0 && still.z == 0 && still.w == 1);

    random_seed(SEED);
    for (i = 0; i < 4 * TRIALS; i++) {
        /* half of the angles up to a turn, the others over all magnitudes */
        double angle = i % 2 ? random_between(0, 6.3) : pow(10, random_between(smallest, 6));
        icf_vec3 r = icf_vec3_scale((icf_real)angle, icf_vec3_normalize(random_vec3(1)));
        wide3 R = widen(r);
        icf_quat q = icf_quat_from_rotation_vector(r);
        wide4 Q;
        wide unit = 1;
        double length;

        if (angle < 1e-100) unit = 1e200L; /* where long double has the range of double */
        R = wide3_make(R.x * unit, R.y * unit, R.z * unit);
        length = (double)(sqrtl(wide_dot(R, R)) / unit);

        CHECK_SMALL(fabs(norm4(q) - 1), 3 * EPS);

        /* the angle has a relative error of eps, which is an absolute one of the sine and the cosine */
        if (unit == 1) {
            Q = wide_turn(R);
            CHECK_SMALL(off4(q, Q), 1.5 * EPS * (1 + length));
        }
        if (length < 1e-3) {
            /* small turns keep their relative accuracy, component by component */
            wide square = (wide)length * length, s = 0.5L - square / 48;
            CHECK_SMALL(fabsl(q.x - s * r.x), 2 * EPS * fabs((double)r.x));
            CHECK_SMALL(fabsl(q.y - s * r.y), 2 * EPS * fabs((double)r.y));
            CHECK_SMALL(fabsl(q.z - s * r.z), 2 * EPS * fabs((double)r.z));
            CHECK_SMALL(fabsl(q.w - (1 - square / 8 + square * square / 384)), EPS);
        }
    }
}

/* Angles whose answer is known: the half turns, full turns, and the borders of the halving. */
static void test_rotation_vector_known(void)
{
    static const double angles[] = {1e-8,
                                    0.999999,
                                    1,
                                    1.000001,
                                    1.570796326794896619,
                                    2,
                                    2.000001,
                                    3.141592653589793238,
                                    4,
                                    6.283185307179586477,
                                    100,
                                    1e5};
    size_t k;
    for (k = 0; k < sizeof angles / sizeof *angles; k++) {
        icf_real angle = (icf_real)angles[k];
        wide half = (wide)angle / 2;
        double bound = 1.5 * EPS * (1 + angles[k]);
        CHECK_SMALL(off4(icf_quat_from_rotation_vector(icf_vec3_make(angle, 0, 0)),
                         wide4_make(sinl(half), 0, 0, cosl(half))),
                    bound);
        CHECK_SMALL(off4(icf_quat_from_rotation_vector(icf_vec3_make(0, -angle, 0)),
                         wide4_make(0, -sinl(half), 0, cosl(half))),
                    bound);
        CHECK_SMALL(off4(icf_quat_from_rotation_vector(icf_vec3_make(0, 0, angle)),
                         wide4_make(0, 0, sinl(half), cosl(half))),
                    bound);
    }
}

/* A rotation vector too long to say where it points still gives a unit quaternion; what is not finite ends. */
static void test_rotation_vector_absurd(void)
{
    static const icf_real sizes[] = {(icf_real)1e10, (icf_real)1e19, (icf_real)1e30,
                                     REAL_MAX / 2,   REAL_MAX,       REAL_MIN};
    icf_real infinity = REAL_MAX;
    size_t k;
    for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        icf_vec3 r = icf_vec3_make(sizes[k], 1, -sizes[k]);
        icf_quat q = icf_quat_from_rotation_vector(r);
        TEST_CHECK_(fabs(norm4(q) - 1) < 3 * EPS, "norm %g for %g", norm4(q), (double)sizes[k]);
        q = icf_quat_integrate(icf_quat_identity(), r, 1);
        TEST_CHECK_(fabs(norm4(q) - 1) < 3 * EPS, "norm %g for %g", norm4(q), (double)sizes[k]);
    }
    infinity *= 2;
    icf_quat_from_rotation_vector(icf_vec3_make(infinity, 0, 0));
    icf_quat_from_rotation_vector(icf_vec3_make(infinity - infinity, 0, 0));
}

/* One step of dt is n steps of dt / n, and w is in the world frame. */
static void test_integrate_is_many_short_steps(void)
{
    int i, k;
    random_seed(SEED);
    for (i = 0; i < TRIALS / 10; i++) {
        icf_quat q = random_turn(), one, many = q;
        icf_vec3 w = random_vec3(20), v = random_vec3(1);
        int n = 1 + random_below(100);
        icf_real dt = (icf_real)random_between(0, 0.5);
        double angle = norm3(w) * (double)dt;
        one = icf_quat_integrate(q, w, dt);
        for (k = 0; k < n; k++) many = icf_quat_integrate(many, w, dt / (icf_real)n);
        CHECK_SMALL(off4(one, wide_quat(many)), (6 + 4 * n + 4 * angle) * EPS);
        CHECK_SMALL(fabs(norm4(one) - 1), 3 * EPS);

        /* the turn by w dt in the world, after q */
        CHECK_SMALL(off4(one, wide_mul(wide_turn(wide3_make((wide)w.x * dt, (wide)w.y * dt,
                                                            (wide)w.z * dt)),
                                       wide_quat(q))),
                    (8 + 4 * angle) * EPS);

        /* a small step has the velocity w x (q v) */
        dt = (icf_real)sqrt(EPS);
        one = icf_quat_integrate(q, w, dt);
        CHECK_SMALL(off3(icf_vec3_scale(
                             1 / dt, icf_vec3_sub(icf_quat_rotate(one, v), icf_quat_rotate(q, v))),
                         wide_cross(widen(w), wide_rotate(q, v))),
                    3000 * sqrt(EPS));

        /* no time, no turn */
        CHECK_SMALL(off4(icf_quat_integrate(q, w, 0), wide_quat(q)), 2 * EPS);
    }
}

static void test_integrate_long(void)
{
    icf_quat q = icf_quat_identity();
    icf_vec3 w = icf_vec3_make(3, -2, 5);
    icf_real dt = (icf_real)(1.0 / 1024);
    double worst = 0, angle;
    wide4 Q;
    int i;
    for (i = 0; i < 1000000; i++) {
        double off;
        q = icf_quat_integrate(q, w, dt);
        off = fabs(norm4(q) - 1);
        if (!(off <= worst)) worst = off;
    }
    CHECK_SMALL(worst, 3 * EPS);

    /* rounding adds up like a random walk at best and linearly at worst */
    angle = sqrt(38.0) * 1e6 / 1024;
    Q = wide_turn(wide3_make(3e6L / 1024, -2e6L / 1024, 5e6L / 1024));
    CHECK_SMALL(off4(q, Q), EPS * (angle + 2e6));
}

static icf_mat3 random_mat3(void)
{
    icf_vec3 x = random_vec3(1), y = random_vec3(1);
    return icf_mat3_from_columns(x, y, random_vec3(1));
}

static void test_mat3_products(void)
{
    icf_mat3 e = icf_mat3_identity();
    int i;
    random_seed(SEED);
    for (i = 0; i < TRIALS; i++) {
        icf_mat3 a = random_mat3(), b = random_mat3(), c = random_mat3(), t;
        icf_vec3 v = random_vec3(1), w = random_vec3(1);
        wide3 V = widen(v);
        wide3 row = wide3_make(a.x.x * V.x + a.y.x * V.y + a.z.x * V.z,
                               a.x.y * V.x + a.y.y * V.y + a.z.y * V.z,
                               a.x.z * V.x + a.y.z * V.y + a.z.z * V.z);
        CHECK_SMALL(off3(icf_mat3_apply(a, v), row), 4 * EPS);
        CHECK_SMALL(off3(icf_mat3_apply_transposed(a, v),
                         wide3_make(wide_dot(widen(a.x), V), wide_dot(widen(a.y), V),
                                    wide_dot(widen(a.z), V))),
                    4 * EPS);
        CHECK_SMALL(apart3(icf_mat3_apply(e, v), v), 0);
        CHECK_SMALL(apart9(icf_mat3_mul(a, e), a), 0);
        CHECK_SMALL(apart9(icf_mat3_mul(e, a), a), 0);

        t = icf_mat3_transpose(a);
        TEST_CHECK(t.x.x == a.x.x && t.x.y == a.y.x && t.x.z == a.z.x);
        TEST_CHECK(t.y.x == a.x.y && t.y.y == a.y.y && t.y.z == a.z.y);
        TEST_CHECK(t.z.x == a.x.z && t.z.y == a.y.z && t.z.z == a.z.z);
        CHECK_SMALL(apart3(icf_mat3_apply(t, v), icf_mat3_apply_transposed(a, v)), 4 * EPS);
        CHECK_SMALL(fabs((double)(icf_vec3_dot(w, icf_mat3_apply(a, v)) -
                                  icf_vec3_dot(icf_mat3_apply_transposed(a, w), v))),
                    16 * EPS);

        CHECK_SMALL(
            apart3(icf_mat3_apply(icf_mat3_mul(a, b), v), icf_mat3_apply(a, icf_mat3_apply(b, v))),
            24 * EPS);
        CHECK_SMALL(
            apart9(icf_mat3_mul(icf_mat3_mul(a, b), c), icf_mat3_mul(a, icf_mat3_mul(b, c))),
            24 * EPS);
        CHECK_SMALL(
            apart9(icf_mat3_transpose(icf_mat3_mul(a, b)), icf_mat3_mul(icf_mat3_transpose(b), t)),
            6 * EPS);
    }
}

static void test_mat3_from_quat(void)
{
    int i;
    random_seed(SEED);
    for (i = 0; i < TRIALS; i++) {
        icf_quat q = random_turn(), p = random_turn();
        icf_mat3 m = icf_mat3_from_quat(q);
        icf_vec3 v = random_vec3(1);
        CHECK_SMALL(off3(icf_mat3_apply(m, v), wide_rotate(q, v)), 16 * EPS);
        CHECK_SMALL(apart3(icf_mat3_apply_transposed(m, v), icf_quat_rotate_inverse(q, v)),
                    32 * EPS);
        CHECK_SMALL(apart9(icf_mat3_mul(m, icf_mat3_transpose(m)), icf_mat3_identity()), 16 * EPS);
        CHECK_SMALL(fabs((double)icf_vec3_dot(icf_vec3_cross(m.x, m.y), m.z) - 1), 16 * EPS);
        CHECK_SMALL(
            apart9(icf_mat3_from_quat(icf_quat_mul(p, q)), icf_mat3_mul(icf_mat3_from_quat(p), m)),
            32 * EPS);
    }
}

static void check_round_trip(icf_quat q)
{
    icf_quat back = icf_quat_from_mat3(icf_mat3_from_quat(q));
    CHECK_SMALL(apart_turns(back, q), 6 * EPS);
    CHECK_SMALL(fabs(norm4(back) - 1), 3 * EPS);
}

static void test_quat_from_mat3(void)
{
    int i, j, k, l;
    icf_quat e = icf_quat_from_mat3(icf_mat3_identity());
    TEST_CHECK(e.x == 0 && e.y == 0 && e.z == 0 && e.w == 1);

    random_seed(SEED);
    for (i = 0; i < TRIALS; i++) check_round_trip(random_turn());

    /* half turns about every axis, and turns as near to one as can be written */
    for (i = 0; i < TRIALS; i++) {
        icf_vec3 axis = icf_vec3_normalize(random_vec3(1));
        icf_real w = (icf_real)(i % 2 ? 0 : pow(10, random_between(-20, -1)));
        check_round_trip(icf_quat_normalize(icf_quat_make(axis.x, axis.y, axis.z, w)));
        check_round_trip(icf_quat_normalize(icf_quat_make(axis.x, axis.y, axis.z, -w)));
    }

    /* components of very different sizes: only the formula that divides by the largest is right */
    for (i = 0; i < TRIALS; i++) {
        icf_real c[4];
        for (j = 0; j < 4; j++) {
            c[j] = (icf_real)((random_below(2) ? 1 : -1) * pow(10, random_between(-8, 0)));
        }
        check_round_trip(icf_quat_normalize(icf_quat_make(c[0], c[1], c[2], c[3])));
    }

    /* all combinations of -1, 0 and 1: half turns about the axes and the diagonals, ties everywhere */
    for (i = -1; i <= 1; i++)
        for (j = -1; j <= 1; j++)
            for (k = -1; k <= 1; k++)
                for (l = -1; l <= 1; l++)
                    if (i || j || k || l) {
                        check_round_trip(icf_quat_normalize(
                            icf_quat_make((icf_real)i, (icf_real)j, (icf_real)k, (icf_real)l)));
                    }
}

static double apart_poses(icf_transform a, icf_transform b)
{
    double q = off4(a.q, wide_quat(b.q)), p = apart3(a.p, b.p);
    return q < p ? p : q;
}

static icf_transform random_pose(void)
{
    icf_quat q = random_turn();
    return icf_transform_make(q, random_vec3(1));
}

static void test_transform_and_inverse(void)
{
    icf_transform e = icf_transform_identity();
    int i;
    random_seed(SEED);
    for (i = 0; i < TRIALS; i++) {
        icf_transform a = random_pose(), b = random_pose(), c = random_pose();
        icf_vec3 v = random_vec3(1);
        wide3 turned = wide_rotate(a.q, v);

        CHECK_SMALL(off3(icf_transform_apply(a, v),
                         wide3_make(turned.x + a.p.x, turned.y + a.p.y, turned.z + a.p.z)),
                    20 * EPS);
        CHECK_SMALL(apart3(icf_transform_apply(e, v), v), 0);
        CHECK_SMALL(apart3(icf_transform_apply_inverse(a, icf_transform_apply(a, v)), v), 50 * EPS);
        CHECK_SMALL(apart3(icf_transform_apply(a, icf_transform_apply_inverse(a, v)), v), 50 * EPS);

        /* b first, then a */
        CHECK_SMALL(apart3(icf_transform_apply(icf_transform_mul(a, b), v),
                           icf_transform_apply(a, icf_transform_apply(b, v))),
                    60 * EPS);
        CHECK_SMALL(apart_poses(icf_transform_mul(icf_transform_mul(a, b), c),
                                icf_transform_mul(a, icf_transform_mul(b, c))),
                    60 * EPS);
        CHECK_SMALL(apart_poses(icf_transform_mul(a, e), a), 0);
        CHECK_SMALL(apart_poses(icf_transform_mul(e, a), a), 0);

        CHECK_SMALL(apart_poses(icf_transform_mul(a, icf_transform_inverse(a)), e), 50 * EPS);
        CHECK_SMALL(apart_poses(icf_transform_mul(icf_transform_inverse(a), a), e), 50 * EPS);
        CHECK_SMALL(apart3(icf_transform_apply(icf_transform_inverse(a), v),
                           icf_transform_apply_inverse(a, v)),
                    50 * EPS);
        CHECK_SMALL(
            apart_poses(icf_transform_inverse(icf_transform_mul(a, b)),
                        icf_transform_mul(icf_transform_inverse(b), icf_transform_inverse(a))),
            80 * EPS);
    }
}

TEST_LIST = {
    {"constructors",                  test_constructors                 },
    {"vec3_arithmetic",               test_vec3_arithmetic              },
    {"vec3_identities",               test_vec3_identities              },
    {"vec3_normalize",                test_vec3_normalize               },
    {"quat_mul",                      test_quat_mul                     },
    {"quat_rotate",                   test_quat_rotate                  },
    {"quat_normalize",                test_quat_normalize               },
    {"rotation_vector",               test_rotation_vector              },
    {"rotation_vector_known",         test_rotation_vector_known        },
    {"rotation_vector_absurd",        test_rotation_vector_absurd       },
    {"integrate_is_many_short_steps", test_integrate_is_many_short_steps},
    {"integrate_long",                test_integrate_long               },
    {"mat3_products",                 test_mat3_products                },
    {"mat3_from_quat",                test_mat3_from_quat               },
    {"quat_from_mat3",                test_quat_from_mat3               },
    {"transform_and_inverse",         test_transform_and_inverse        },
    {NULL,                            NULL                              },
};
