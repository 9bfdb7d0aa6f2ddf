/* util.h - what several test files need: the rounding unit, and random numbers that come back. */

#ifndef TEST_UTIL_H
#define TEST_UTIL_H

#include <float.h>
#include <stdint.h>

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
#else
#define EPS DBL_EPSILON
#define REAL_MAX DBL_MAX
#define REAL_MIN DBL_MIN
#endif

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

#endif /* TEST_UTIL_H */
