/* Layer 4: dense Cholesky. */

#include "tested.h"

#include "acutest.h"
#include "util.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Are the bits of the factor promised? Not with fused operations, nor where the compiler computes in
   more digits than it stores. */
#if defined(ICF_FMA) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16)
#define BITS_PROMISED 0
#else
#define BITS_PROMISED 1
#endif

/* Powers of two whose squares still leave room for sums and reciprocals: 1e150 in double, 1e15 in float. */
#ifdef ICF_FLOAT
#define SCALE_EXPONENT 49
#else
#define SCALE_EXPONENT 498
#endif

// ------------------------------------------------------------------------------------------------
// Arrays with guards

/* A column-major array of `columns` columns, `ld` elements each, in a block of memory that is all NaN:
   the elements before, between and after the ones in use are guards. */
typedef struct guarded {
    int32_t rows, columns, ld;
    size_t bytes;    /* of the block */
    icf_real* block; /* what malloc gave */
    icf_real* copy;  /* what the block was when last recorded */
    icf_real* a;     /* the array, `before` elements into the block */
} guarded;

/* `before` elements shift the array off the alignment of malloc. With `after` = 0 the array ends with
   the block, so that a sanitizer sees a read past it; else there are guards. */
static guarded guarded_new(int32_t rows, int32_t columns, int32_t ld, size_t before, size_t after)
{
    guarded g;
    g.rows = rows;
    g.columns = columns;
    g.ld = ld;
    g.bytes = (before + (size_t)ld * (size_t)columns + after) * sizeof(icf_real);
    g.block = (icf_real*)malloc(g.bytes + !g.bytes);
    g.copy = (icf_real*)malloc(g.bytes + !g.bytes);
    TEST_ASSERT(g.block && g.copy);
    memset(g.block, 0xFF, g.bytes);
    g.a = g.block + before;
    return g;
}

static void guarded_free(guarded* g)
{
    free(g->block);
    free(g->copy);
}

static icf_real* at(const guarded* g, int32_t i, int32_t j)
{
    return g->a + (size_t)j * (size_t)g->ld + (size_t)i;
}

static void guarded_record(guarded* g)
{
    memcpy(g->copy, g->block, g->bytes);
}

/* Not one bit of the block is another than when recorded. */
static int guarded_is_same(const guarded* g)
{
    return !memcmp(g->copy, g->block, g->bytes);
}

/* The same, the lower triangle (or with `whole` all of rows x columns) excepted. */
static int guards_hold(const guarded* g, int whole)
{
    size_t shift = (size_t)(g->a - g->block), count = g->bytes / sizeof(icf_real), k;
    for (k = 0; k < count; k++) {
        if (k >= shift && k - shift < (size_t)g->ld * (size_t)g->columns) {
            int32_t i = (int32_t)((k - shift) % (size_t)g->ld),
                    j = (int32_t)((k - shift) / (size_t)g->ld);
            if (i < g->rows && (whole || i >= j)) continue;
        }
        if (!same_bits(g->block + k, g->copy + k, sizeof(icf_real))) return 0;
    }
    return 1;
}

/* The lower triangles of two arrays are equal, bit by bit; else where not. */
static int same_lower(const guarded* x, const guarded* y, int32_t* i, int32_t* j)
{
    for (*j = 0; *j < x->columns; ++*j) {
        for (*i = *j; *i < x->rows; ++*i) {
            if (!same_bits(at(x, *i, *j), at(y, *i, *j), sizeof(icf_real))) return 0;
        }
    }
    return 1;
}

static void copy_lower(guarded* to, const guarded* from)
{
    int32_t i, j;
    for (j = 0; j < from->columns; j++) {
        for (i = j; i < from->rows; i++) *at(to, i, j) = *at(from, i, j);
    }
}

/* Not a NaN among the elements of the lower triangle. */
static int lower_is_number(const guarded* g)
{
    int32_t i, j;
    for (j = 0; j < g->columns; j++) {
        for (i = j; i < g->rows; i++) {
            if (*at(g, i, j) != *at(g, i, j)) return 0;
        }
    }
    return 1;
}

// ------------------------------------------------------------------------------------------------
// Matrices

enum { DOMINANT, GRAM, HILBERT, BRANCHES, SCALED, HUGE_ONES, TINY_ONES, KINDS };
static const char* const kind_names[KINDS] = {"dominant", "gram", "hilbert", "branches",
                                              "scaled",   "huge", "tiny"};

static icf_real power_of_two(int exponent)
{
    return (icf_real)ldexp(1.0, exponent);
}

/* Fills the lower triangle with a symmetric positive definite matrix. */
static void fill_spd(guarded* g, int kind)
{
    int32_t n = g->rows, i, j, k;
    if (kind == HILBERT) {
        /* the shift keeps it positive definite after rounding, and no more than that */
        for (j = 0; j < n; j++) {
            for (i = j; i < n; i++)
                *at(g, i, j) = (icf_real)(1.0 / (i + j + 1) + (i == j ? 32 * n * EPS : 0));
        }
    } else if (kind == GRAM) {
        double* b = (double*)malloc((size_t)(n + 2) * (size_t)(n + 1) * sizeof(double));
        TEST_ASSERT(b != NULL);
        for (i = 0; i < n * (n + 2); i++) b[i] = random_between(-1, 1);
        for (j = 0; j < n; j++) {
            for (i = j; i < n; i++) {
                double sum = i == j ? 1e-3 : 0;
                for (k = 0; k < n + 2; k++) sum += b[i * (n + 2) + k] * b[j * (n + 2) + k];
                *at(g, i, j) = (icf_real)sum;
            }
        }
        free(b);
    } else {
        for (j = 0; j < n; j++) {
            for (i = j; i < n; i++)
                *at(g, i, j) = (icf_real)(i == j ? n + random_unit() : random_between(-1, 1));
        }
        /* rows begin with zeros, as of a tree whose leaves come first: some reach all the way */
        for (i = 0; kind == BRANCHES && i < n; i++) {
            for (j = random_below(2 * (i + 1)) - i - 1; j >= 0; j--)
                if (j < i) *at(g, i, j) = 0;
        }
    }
    if (kind >= SCALED) {
        /* exact: only exponents change */
        int* e = (int*)malloc(((size_t)n + 1) * sizeof(int));
        TEST_ASSERT(e != NULL);
        for (i = 0; i < n; i++) {
            e[i] = kind == HUGE_ONES   ? SCALE_EXPONENT
                   : kind == TINY_ONES ? -SCALE_EXPONENT
                                       : random_below(2 * SCALE_EXPONENT + 1) - SCALE_EXPONENT;
        }
        for (j = 0; j < n; j++) {
            for (i = j; i < n; i++)
                *at(g, i, j) = *at(g, i, j) * power_of_two(e[i]) * power_of_two(e[j]);
        }
        free(e);
    }
}

/* L D L' as a textbook has it, in the order that the library promises:
   w_ij = a_ij - w_i0 l_j0 - w_i1 l_j1 - ..., with l_jk = w_jk (1 / d_k) and d_j = w_jj. */
ICFI_EXACT_BEGIN
static int naive_factor(guarded* g)
{
    int32_t n = g->rows, i, j, k;
    for (j = 0; j < n; j++) {
        for (i = j; i < n; i++) {
            icf_real w = *at(g, i, j);
            for (k = 0; k < j; k++) {
                icf_real l = *at(g, j, k) * *at(g, k, k);
                w = w - *at(g, i, k) * l;
            }
            *at(g, i, j) = w;
        }
        if (!(*at(g, j, j) > 0)) return 0;
        *at(g, j, j) = 1 / *at(g, j, j);
    }
    return 1;
}
ICFI_EXACT_END

static long double wide_magnitude(long double x)
{
    return x < 0 ? -x : x;
}

/* The largest |A - L D L'|_ij / sqrt(a_ii a_jj): does not see the scale of a row. */
static double factor_error(const guarded* a, const guarded* f)
{
    int32_t n = a->rows, i, j, k;
    long double worst = 0;
    long double* l = (long double*)malloc(((size_t)n + 1) * sizeof(long double));
    TEST_ASSERT(l != NULL);
    for (j = 0; j < n; j++) {
        for (k = 0; k < j; k++) l[k] = (long double)*at(f, j, k) * (long double)*at(f, k, k);
        for (i = j; i < n; i++) {
            long double e = (long double)*at(a, i, j), scale;
            scale = (long double)ICF_SQRT(*at(a, i, i)) * (long double)ICF_SQRT(*at(a, j, j));
            for (k = 0; k < j; k++) e -= (long double)*at(f, i, k) * l[k];
            e -= i == j ? 1 / (long double)*at(f, j, j) : (long double)*at(f, i, j);
            e = wide_magnitude(e) / scale;
            if (!(e <= worst)) worst = e;
        }
    }
    free(l);
    return (double)worst;
}

/* |A x - b| / (|A| |x| + |b|) in the maximum norm, after scaling A to a unit diagonal. */
static double solve_error(const guarded* a, const icf_real* x, const icf_real* b)
{
    int32_t n = a->rows, i, j;
    long double residual = 0, norm_a = 0, norm_x = 0, norm_b = 0, bound;
    for (i = 0; i < n; i++) {
        long double s = (long double)ICF_SQRT(*at(a, i, i)), r = -(long double)b[i], sum = 0;
        for (j = 0; j < n; j++) {
            long double e = (long double)(i >= j ? *at(a, i, j) : *at(a, j, i));
            r += e * (long double)x[j];
            sum += wide_magnitude(e) / s / (long double)ICF_SQRT(*at(a, j, j));
        }
        r = wide_magnitude(r) / s;
        if (!(r <= residual)) residual = r;
        if (!(sum <= norm_a)) norm_a = sum;
        r = wide_magnitude((long double)x[i]) * s;
        if (!(r <= norm_x)) norm_x = r;
        r = wide_magnitude((long double)b[i]) / s;
        if (!(r <= norm_b)) norm_b = r;
    }
    bound = norm_a * norm_x + norm_b;
    if (residual == 0) return 0;
    return (double)(residual / bound);
}

static double tolerance(int32_t n)
{
    return 2 * (n + 4) * EPS;
}

// ------------------------------------------------------------------------------------------------
// The factor

/* One matrix: factored in place, against the textbook bit by bit and against itself in more digits. */
static int check_factor(int32_t n, int32_t ld, int kind, uint32_t seed, size_t before, size_t after)
{
    guarded a, f, naive;
    int32_t pivot = -7, i = 0, j = 0;
    icf_result result;
    double error;
    int held = 1;

    random_seed(seed);
    a = guarded_new(n, n, n, 0, 0);
    f = guarded_new(n, n, ld, before, after);
    naive = guarded_new(n, n, n, 0, 0);
    fill_spd(&a, kind);
    copy_lower(&f, &a);
    copy_lower(&naive, &a);
    guarded_record(&f);

    result = icf_dense_factor(n, f.a, ld, &pivot);
    held &= TEST_CHECK(result == ICF_RESULT_OK);
    held &= TEST_CHECK(guards_hold(&f, 0));
    held &= TEST_CHECK(naive_factor(&naive));
    held &= TEST_CHECK(!BITS_PROMISED || same_lower(&f, &naive, &i, &j));
    if (!held) TEST_MSG("first other bits, if any: row %d of column %d", (int)i, (int)j);
    error = factor_error(&a, &f);
    held &= TEST_CHECK_(error <= tolerance(n), "backward error %g > %g", error, tolerance(n));

    guarded_free(&a);
    guarded_free(&f);
    guarded_free(&naive);
    return held;
}

static void factor_and_report(int32_t n, int32_t ld, int kind, size_t before, size_t after)
{
    uint32_t seed = SEED + (uint32_t)n * 16 + (uint32_t)kind;
    if (!check_factor(n, ld, kind, seed, before, after)) {
        TEST_CHECK_(0, "n = %d, ld = %d, kind %s, %d before, %d after, seed %u", (int)n, (int)ld,
                    kind_names[kind], (int)before, (int)after, (unsigned)seed);
    }
}

/* Every n up to 70, leading dimensions with and without room, every alignment of the first element. */
static void test_factor_of_any_size(void)
{
    static const int32_t room[] = {0, 1, 2, 3, 5, 8, 13};
    int32_t n;
    int k;
    for (n = 0; n <= 70; n++) {
        for (k = 0; k < 7; k++) {
            /* half of the arrays end with their block */
            size_t before = (size_t)(n + k) % 5, after = (n + k) % 2 ? 0 : 9;
            factor_and_report(n, n + room[k], k % 3 ? k % 3 == 1 ? DOMINANT : BRANCHES : GRAM,
                              before, after);
        }
    }
}

static void test_factor_large(void)
{
    static const int32_t sizes[] = {71,  72,  77,  84,  95,  96,  97,  100, 111, 120, 127,
                                    128, 129, 144, 150, 161, 176, 191, 192, 193, 200};
    int k;
    for (k = 0; k < (int)(sizeof sizes / sizeof sizes[0]); k++) {
        int32_t n = sizes[k];
        factor_and_report(n,
                          k % 3 == 0   ? n
                          : k % 3 == 1 ? n + 1
                                       : n + 5,
                          k % 2 ? DOMINANT : BRANCHES, (size_t)k % 4, (size_t)(k % 2));
    }
}

/* Ill-conditioned, and scaled up and down as far as the type allows. */
static void test_factor_hard(void)
{
    int32_t n;
    int kind;
    for (n = 1; n <= 48; n++) {
        for (kind = HILBERT; kind < KINDS; kind++)
            factor_and_report(n, n + n % 3, kind, 0, (size_t)(n % 2));
    }
    for (kind = HILBERT; kind < KINDS; kind++) factor_and_report(96, 96, kind, 0, 1);
}

/* L of small integers and D of powers of two: every operation is exact, so the factor is known. With
   `bad` >= 0, D_bad is not positive. The first column of L D may not exceed what a float holds. */
static void fill_exact(guarded* a, guarded* expected, int32_t bad, icf_real bad_d)
{
    int32_t n = a->rows, i, j, k;
    for (j = 0; j < n; j++) {
        icf_real d = power_of_two(random_below(3));
        if (j == bad) d = bad_d;
        for (i = j + 1; i < n; i++) *at(expected, i, j) = (icf_real)(random_below(3) - 1) * d;
        *at(expected, j, j) = j == bad ? 0 : 1 / d;
        *at(a, j, j) = d;
    }
    for (j = n; j-- > 0;) {
        for (i = n; i-- > j;) {
            icf_real sum = i == j ? *at(a, j, j) : *at(expected, i, j);
            for (k = 0; k < j; k++) {
                if (k != bad) {
                    sum += *at(expected, i, k) * *at(expected, j, k) * *at(expected, k, k);
                } else if (bad_d != 0) {
                    sum += *at(expected, i, k) * *at(expected, j, k) / bad_d;
                }
            }
            *at(a, i, j) = sum;
        }
    }
}

static void test_factor_exact(void)
{
    int32_t n, i, j;
    random_seed(SEED);
    for (n = 1; n <= 64; n++) {
        guarded a = guarded_new(n, n, n + n % 4, 0, 1), expected = guarded_new(n, n, n, 0, 0);
        int held = 1;
        fill_exact(&a, &expected, -1, 0);
        guarded_record(&a);
        held &= icf_dense_factor(n, a.a, a.ld, NULL) == ICF_RESULT_OK;
        for (j = 0; j < n; j++) {
            for (i = j; i < n; i++) held &= *at(&a, i, j) == *at(&expected, i, j);
        }
        held &= guards_hold(&a, 0);
        TEST_CHECK_(held, "n = %d, seed %u", (int)n, (unsigned)SEED);
        guarded_free(&a);
        guarded_free(&expected);
    }
}

// ------------------------------------------------------------------------------------------------
// What is not positive definite

/* Factors `a`, which must fail at `pivot`, with the guards unharmed. `text` and `i` say what it was. */
static int check_not_spd(guarded* a, int32_t expected, const char* text, int32_t i, int32_t j)
{
    int32_t pivot = -7;
    icf_result result;
    int held;
    guarded_record(a);
    result = icf_dense_factor(a->rows, a->a, a->ld, &pivot);
    held = result == ICF_RESULT_NOT_SPD && pivot == expected && guards_hold(a, 0);
    TEST_CHECK_(held, "%s at (%d, %d), n = %d, ld = %d: %s, pivot %d for %d, guards %s", text,
                (int)i, (int)j, (int)a->rows, (int)a->ld, icf_result_string(result), (int)pivot,
                (int)expected, guards_hold(a, 0) ? "unharmed" : "changed");
    return held;
}

/* Every pivot in turn is the first that is negative, by a hair or by much, or zero; and no NaN comes of it. */
static void test_not_spd(void)
{
    static const double bad[] = {-4, -1, -0.125, 0};
    int32_t n, p;
    int k;
    random_seed(SEED);
    for (n = 1; n <= 40; n++) {
        guarded a = guarded_new(n, n, n + n % 3, 0, 3), expected = guarded_new(n, n, n, 0, 0);
        for (p = 0; p < n; p++) {
            for (k = 0; k < 5; k++) {
                if (k < 4) {
                    fill_exact(&a, &expected, p, (icf_real)bad[k]);
                } else {
                    /* a second one, further down, is not the one reported */
                    fill_spd(&a, DOMINANT);
                    *at(&a, p, p) = -*at(&a, p, p);
                    if (p + 1 < n) *at(&a, n - 1, n - 1) = -1;
                }
                if (!check_not_spd(&a, p, "bad pivot", p, p)) break;
                if (!TEST_CHECK(lower_is_number(&a))) {
                    TEST_MSG("n = %d, pivot %d, case %d: a NaN where all input was finite", (int)n,
                             (int)p, k);
                    break;
                }
            }
        }
        /* the pivot is not asked for */
        fill_spd(&a, DOMINANT);
        *at(&a, n / 2, n / 2) = -1;
        TEST_CHECK(icf_dense_factor(n, a.a, a.ld, NULL) == ICF_RESULT_NOT_SPD);
        guarded_free(&a);
        guarded_free(&expected);
    }
}

/* A NaN or an infinity anywhere in the lower triangle is found, in the row where it stands. */
static void test_not_finite(void)
{
    static const int32_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                    11, 12, 13, 16, 17, 24, 25, 31, 40};
    static const char* const names[] = {"nan", "inf", "-inf"};
    icf_real values[3];
    int32_t i, j;
    int k, s;
    values[0] = (icf_real)NAN;
    values[1] = (icf_real)INFINITY;
    values[2] = -(icf_real)INFINITY;
    random_seed(SEED);
    for (s = 0; s < (int)(sizeof sizes / sizeof sizes[0]); s++) {
        int32_t n = sizes[s];
        guarded a = guarded_new(n, n, n + s % 3, 0, 0), b = guarded_new(n, n, n, 0, 0);
        int held = 1;
        fill_spd(&b, DOMINANT);
        for (j = 0; j < n && held; j++) {
            for (i = j; i < n && held; i++) {
                for (k = 0; k < 3 && held; k++) {
                    copy_lower(&a, &b);
                    *at(&a, i, j) = values[k];
                    held = check_not_spd(&a, i, names[k], i, j);
                }
            }
        }
        guarded_free(&a);
        guarded_free(&b);
    }
}

/* Pivots at the ends of the range. A denormal one may be refused, but then by name; what is answered
   with OK can be divided by. */
static void test_tiny_and_huge_pivots(void)
{
    icf_real least = (icf_real)((double)REAL_MIN * EPS), zero = 0;
    int32_t n, p, i, j;
    for (n = 1; n <= 13; n++) {
        for (p = 0; p < n; p++) {
            icf_real values[8];
            int k;
            values[0] = zero;
            values[1] = -zero;
            values[2] = least; /* whose reciprocal is no number */
            values[3] = -least;
            values[4] = (icf_real)(REAL_MIN / 16);
            values[5] = (icf_real)(REAL_MIN / 2);
            values[6] = (icf_real)REAL_MIN;
            values[7] = (icf_real)REAL_MAX;
            for (k = 0; k < 8; k++) {
                guarded a = guarded_new(n, n, n, 0, 1);
                int32_t pivot = -7;
                icf_result result;
                for (j = 0; j < n; j++) {
                    for (i = j; i < n; i++) *at(&a, i, j) = i == j ? (icf_real)1 : (icf_real)0;
                }
                *at(&a, p, p) = values[k];
                if (k < 4) {
                    check_not_spd(&a, p, "tiny pivot", p, p);
                } else {
                    guarded_record(&a);
                    result = icf_dense_factor(n, a.a, n, &pivot);
                    TEST_CHECK(guards_hold(&a, 0));
                    if (result == ICF_RESULT_OK) {
                        TEST_CHECK(*at(&a, p, p) > 0 && *at(&a, p, p) <= (icf_real)REAL_MAX);
                        if (k >= 5 && BITS_PROMISED) TEST_CHECK(*at(&a, p, p) == 1 / values[k]);
                    } else {
                        TEST_CHECK(k < 6 && result == ICF_RESULT_NOT_SPD && pivot == p);
                        TEST_MSG("n = %d, pivot %d, case %d", (int)n, (int)p, k);
                    }
                }
                guarded_free(&a);
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// The solves

/* One factor, `rhs` right-hand sides: each by its backward error, all guards unharmed. */
static int check_solve(int32_t n, int32_t ld, int32_t rhs, int32_t ldx, int kind, size_t before,
                       size_t after)
{
    guarded a = guarded_new(n, n, n, 0, 0), f = guarded_new(n, n, ld, before, after);
    guarded x = guarded_new(n, rhs, ldx, after ? before + 1 : 0, after);
    int32_t i, r;
    int held = 1;

    fill_spd(&a, kind);
    copy_lower(&f, &a);
    held &= TEST_CHECK(icf_dense_factor(n, f.a, ld, NULL) == ICF_RESULT_OK);
    for (r = 0; r < rhs; r++) {
        for (i = 0; i < n; i++)
            *at(&x, i, r) = (r + i / 6) % 4 == 3 /* a branch that nothing pushes */
                                ? 0
                                : (icf_real)random_between(-1, 1) * ICF_SQRT(*at(&a, i, i));
    }
    guarded_record(&x);
    guarded_record(&f);
    held &= TEST_CHECK(icf_dense_solve(n, f.a, ld, x.a, rhs, ldx) == ICF_RESULT_OK);
    held &= TEST_CHECK(guarded_is_same(&f));
    held &= TEST_CHECK(guards_hold(&x, 1));
    for (r = 0; r < rhs && held; r++) {
        const icf_real* b = x.copy + (at(&x, 0, r) - x.block);
        double error = solve_error(&a, at(&x, 0, r), b);
        held &= TEST_CHECK_(error <= tolerance(n), "right-hand side %d: backward error %g > %g",
                            (int)r, error, tolerance(n));
    }
    guarded_free(&a);
    guarded_free(&f);
    guarded_free(&x);
    return held;
}

static void test_solve_of_any_size(void)
{
    static const int32_t many[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17};
    int32_t n;
    int k;
    for (n = 0; n <= 70; n++) {
        for (k = 0; k < 13; k++) {
            int32_t ld = n + (k * 5 + n) % 4, ldx = n + (k + n) % 3 * 3;
            if (n > 40 && (n + k) % 3) continue;
            random_seed(SEED + (uint32_t)n);
            if (!check_solve(n, ld, many[k], ldx, k % 2 ? DOMINANT : GRAM, (size_t)(n + k) % 4,
                             (size_t)(k % 3) * 4)) {
                TEST_CHECK_(0, "n = %d, ld = %d, rhs = %d, ldx = %d, seed %u", (int)n, (int)ld,
                            (int)many[k], (int)ldx, (unsigned)(SEED + (uint32_t)n));
            }
        }
    }
}

static void test_solve_hard(void)
{
    int32_t n;
    int kind;
    for (n = 1; n <= 97; n += n < 30 ? 1 : 7) {
        for (kind = HILBERT; kind < KINDS; kind++) {
            random_seed(SEED + (uint32_t)n);
            if (!check_solve(n, n, 1 + n % 3, n, kind, 0, 1)) {
                TEST_CHECK_(0, "n = %d, kind %s, seed %u", (int)n, kind_names[kind],
                            (unsigned)(SEED + (uint32_t)n));
            }
        }
    }
    random_seed(SEED);
    check_solve(200, 203, 7, 201, DOMINANT, 1, 1);
}

/* Right-hand sides are independent: a column that is not finite leaves the others alone. */
static void test_solve_columns_are_apart(void)
{
    int32_t n, i, r, bad;
    random_seed(SEED);
    for (n = 1; n <= 26; n++) {
        for (bad = 0; bad < 7; bad++) {
            guarded a = guarded_new(n, n, n, 0, 0), f = guarded_new(n, n, n, 0, 0),
                    x = guarded_new(n, 7, n + 1, 0, 2);
            int held = 1;
            fill_spd(&a, DOMINANT);
            copy_lower(&f, &a);
            TEST_CHECK(icf_dense_factor(n, f.a, n, NULL) == ICF_RESULT_OK);
            for (r = 0; r < 7; r++) {
                for (i = 0; i < n; i++) *at(&x, i, r) = (icf_real)random_between(-1, 1);
            }
            for (i = 0; i < n; i++) *at(&x, i, bad) = (icf_real)NAN;
            guarded_record(&x);
            TEST_CHECK(icf_dense_solve(n, f.a, n, x.a, 7, n + 1) == ICF_RESULT_OK);
            for (r = 0; r < 7; r++) {
                const icf_real* b = x.copy + (at(&x, 0, r) - x.block);
                if (r != bad) held &= solve_error(&a, at(&x, 0, r), b) <= tolerance(n);
            }
            TEST_CHECK_(held && guards_hold(&x, 1), "n = %d, bad column %d, seed %u", (int)n,
                        (int)bad, (unsigned)SEED);
            guarded_free(&a);
            guarded_free(&f);
            guarded_free(&x);
        }
    }
}

/* The bits of many solutions are those of every build: any compiler, any flags, scalar or not. They are
   written down here, and change only with a commit that says why. */
#ifdef ICF_FLOAT
#define GOLDEN_BITS UINT64_C(0x1787beb9be44044a)
#else
#define GOLDEN_BITS UINT64_C(0x70e6b609aeb3a5e2)
#endif

static void test_golden_bits(void)
{
    uint64_t hash = UINT64_C(14695981039346656037), golden = GOLDEN_BITS;
    int32_t n, rhs, i, r;
    random_seed(20261u);
    for (n = 1; n <= 60; n++) {
        guarded a = guarded_new(n, n, n + n % 3, 0, 0);
        fill_spd(&a, DOMINANT);
        TEST_CHECK(icf_dense_factor(n, a.a, a.ld, NULL) == ICF_RESULT_OK);
        for (rhs = 1; rhs <= 9; rhs += rhs + 2) {
            guarded x = guarded_new(n, rhs, n, 0, 0);
            for (r = 0; r < rhs; r++) {
                for (i = 0; i < n; i++) *at(&x, i, r) = (icf_real)random_between(-1, 1);
            }
            TEST_CHECK(icf_dense_solve(n, a.a, a.ld, x.a, rhs, n) == ICF_RESULT_OK);
            for (r = 0; r < rhs; r++) {
                for (i = 0; i < n; i++) {
#ifdef ICF_FLOAT
                    uint32_t word;
#else
                    uint64_t word;
#endif
                    memcpy(&word, at(&x, i, r), sizeof word);
                    hash = (hash ^ word) * UINT64_C(1099511628211);
                }
            }
            guarded_free(&x);
        }
        guarded_free(&a);
    }
    TEST_CHECK_(!BITS_PROMISED || hash == golden, "0x%08lx%08lx", (unsigned long)(hash >> 32),
                (unsigned long)(hash & 0xFFFFFFFFu));
}

// ------------------------------------------------------------------------------------------------
// Arguments

static void test_bad_arguments(void)
{
    guarded a = guarded_new(4, 4, 5, 0, 4), x = guarded_new(4, 3, 5, 0, 4);
    int32_t pivot = -7, i, r;
    random_seed(SEED);
    fill_spd(&a, DOMINANT);
    for (r = 0; r < 3; r++) {
        for (i = 0; i < 4; i++) *at(&x, i, r) = 1;
    }
    guarded_record(&a);
    guarded_record(&x);

    TEST_CHECK(icf_dense_factor(-1, a.a, 5, &pivot) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_factor(INT32_MIN, a.a, 5, &pivot) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_factor(4, a.a, 3, &pivot) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_factor(4, a.a, -5, &pivot) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_factor(4, NULL, 4, &pivot) == ICF_RESULT_BAD_ARGUMENT);

    TEST_CHECK(icf_dense_solve(-1, a.a, 5, x.a, 1, 5) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_solve(INT32_MIN, a.a, 5, x.a, 1, 5) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_solve(4, a.a, 3, x.a, 1, 5) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_solve(4, a.a, 5, x.a, -1, 5) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_solve(4, a.a, 5, x.a, 1, 3) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_solve(4, a.a, 5, x.a, 3, 3) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_solve(4, NULL, 5, x.a, 1, 5) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_dense_solve(4, a.a, 5, NULL, 1, 5) == ICF_RESULT_BAD_ARGUMENT);

    TEST_CHECK(pivot == -7);
    TEST_CHECK(guarded_is_same(&a));
    TEST_CHECK(guarded_is_same(&x));
    guarded_free(&a);
    guarded_free(&x);
}

/* No unknowns, or no right-hand sides, is nothing to do. */
static void test_nothing_to_do(void)
{
    guarded a = guarded_new(3, 3, 3, 0, 2), x = guarded_new(3, 2, 3, 0, 2);
    int32_t pivot = -7;
    random_seed(SEED);
    fill_spd(&a, DOMINANT);
    guarded_record(&a);
    guarded_record(&x);
    TEST_CHECK(icf_dense_factor(0, a.a, 0, &pivot) == ICF_RESULT_OK);
    TEST_CHECK(icf_dense_factor(0, a.a, 3, &pivot) == ICF_RESULT_OK);
    TEST_CHECK(icf_dense_solve(0, a.a, 0, x.a, 2, 0) == ICF_RESULT_OK);
    TEST_CHECK(icf_dense_solve(0, a.a, 3, x.a, 2, 3) == ICF_RESULT_OK);
    TEST_CHECK(guarded_is_same(&a));
    TEST_CHECK(icf_dense_factor(3, a.a, 3, &pivot) == ICF_RESULT_OK);
    guarded_record(&a);
    TEST_CHECK(icf_dense_solve(3, a.a, 3, x.a, 0, 3) == ICF_RESULT_OK);
    TEST_CHECK(guarded_is_same(&a));
    TEST_CHECK(guarded_is_same(&x));
    guarded_free(&a);
    guarded_free(&x);
}

TEST_LIST = {
    {"factor_of_any_size",      test_factor_of_any_size     },
    {"factor_large",            test_factor_large           },
    {"factor_hard",             test_factor_hard            },
    {"factor_exact",            test_factor_exact           },
    {"not_spd",                 test_not_spd                },
    {"not_finite",              test_not_finite             },
    {"tiny_and_huge_pivots",    test_tiny_and_huge_pivots   },
    {"solve_of_any_size",       test_solve_of_any_size      },
    {"solve_hard",              test_solve_hard             },
    {"solve_columns_are_apart", test_solve_columns_are_apart},
    {"golden_bits",             test_golden_bits            },
    {"bad_arguments",           test_bad_arguments          },
    {"nothing_to_do",           test_nothing_to_do          },
    {NULL,                      NULL                        }
};
