/* util.h - what several test files need: precision, comparisons, and random numbers that come back. Include it after
   icf.h, and after acutest.h where CHECK_... is used. */

#ifndef TEST_UTIL_H
#define TEST_UTIL_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define UTIL_UNUSED __attribute__((unused))
#else
#define UTIL_UNUSED
#endif

/* The distance from 1 to the next icf_real. */
#ifdef ICF_FLOAT
#define EPS ((double)FLT_EPSILON)
#define REAL_MAX FLT_MAX
#define REAL_MIN FLT_MIN
enum { IN_FLOAT = 1 };
#else
#define EPS DBL_EPSILON
#define REAL_MAX DBL_MAX
#define REAL_MIN DBL_MIN
enum { IN_FLOAT = 0 };
#endif

#define R(x) ((icf_real)(x))
#define NOT_A_NUMBER ((icf_real)NAN)
#define INFINITE ((icf_real)HUGE_VAL)

// ------------------------------------------------------------------------------------------------
// Comparisons

UTIL_UNUSED static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

UTIL_UNUSED static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Does x differ from the expected number by at most relative * |expected| + absolute? */
UTIL_UNUSED static int near(double x, double expected, double relative, double absolute)
{
    return magnitude(x - expected) <= relative * magnitude(expected) + absolute;
}

UTIL_UNUSED static int is_finite(double x)
{
    return x - x == 0;
}

/* The same in every bit, signs of zeros too */
UTIL_UNUSED static int same_bits(const void* a, const void* b, size_t bytes)
{
    return bytes == 0 || !memcmp(a, b, bytes);
}

#define CHECK_NEAR(x, expected, relative, absolute) \
    TEST_CHECK_(near((double)(x), (double)(expected), relative, absolute), \
                "%s is %.17g, not %.17g, off by %.3g; seed %u", #x, (double)(x), \
                (double)(expected), (double)(x) - (double)(expected), (unsigned)SEED)

#define CHECK_BELOW(x, limit) \
    TEST_CHECK_((double)(x) <= (double)(limit), "%s is %.3g, above %.3g; seed %u", #x, \
                (double)(x), (double)(limit), (unsigned)SEED)

#define CHECK_RESULT(call, expected) \
    do { \
        icf_result result_ = (call); \
        TEST_CHECK_(result_ == (expected), "%s answers %s, not %s", #call, \
                    icf_result_string(result_), icf_result_string(expected)); \
    } while (0)
#define OK(call) CHECK_RESULT(call, ICF_RESULT_OK)

/* Zeroed; never NULL, even of nothing */
UTIL_UNUSED static void* allocate(size_t count, size_t size)
{
    void* p = calloc(count ? count : 1, size);
    if (!p) {
        printf("out of memory\n");
        abort();
    }
    return p;
}

/* As near to the answer as rounding lets a solve come */
UTIL_UNUSED static icf_options exact(void)
{
    icf_options o = icf_default_options();
    o.tolerance = R(4 * EPS);
    return o;
}

// ------------------------------------------------------------------------------------------------
// Random numbers

/* Every random test starts with random_seed(SEED) and prints SEED when a check fails; another one is
   chosen with -DSEED=... on the compiler's command line. */
#ifndef SEED
#define SEED 20261u
#endif

static uint32_t random_state = SEED;

/* xorshift, 32 bits */
UTIL_UNUSED static uint32_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

UTIL_UNUSED static void random_seed(uint32_t seed)
{
    int i;
    random_state = seed ? seed : 1;
    for (i = 0; i < 8; i++) random_bits();
}

/* Uniform in [0, 1), with all the digits of a double. */
UTIL_UNUSED static double random_unit(void)
{
    double high = (double)(random_bits() >> 5), low = (double)(random_bits() >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

/* Uniform in [low, high). */
UTIL_UNUSED static double random_between(double low, double high)
{
    return low + (high - low) * random_unit();
}

/* Uniform in 0 .. count - 1. */
UTIL_UNUSED static int random_below(int count)
{
    return (int)(random_unit() * count);
}

/* A count of random cases, as often as the environment variable ICF_TEST_MORE says */
UTIL_UNUSED static int times_more(int count)
{
    const char* text = getenv("ICF_TEST_MORE");
    int times = text ? atoi(text) : 1;
    return count * (times > 0 ? times : 1);
}

#endif /* TEST_UTIL_H */
