/* Layer 1: version, names of results, the macros and their defaults. */

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

static int square_roots, magnitudes;

static double counted_sqrt(double x);
static double counted_fabs(double x);

#define ICF_SQRT(x) ((icf_real)counted_sqrt((double)(x)))
#define ICF_FABS(x) ((icf_real)counted_fabs((double)(x)))
#define ICF_MALLOC(bytes) counted_malloc(bytes)
#define ICF_FREE(pointer) counted_free(pointer)
#define ICF_ASSERT(x) assert(x)

static void* counted_malloc(size_t bytes);
static void counted_free(void* pointer);

#define ICF_IMPLEMENTATION
#include "../icf.h"

#include "acutest.h"

static int allocations;

static double counted_sqrt(double x)
{
    double low = 0, high = x < 1 ? 1 : x;
    int i;
    square_roots++;
    for (i = 0; i < 2000 && low < high; i++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        if (middle * middle < x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static double counted_fabs(double x)
{
    magnitudes++;
    return x < 0 ? -x : x;
}

static void* counted_malloc(size_t bytes)
{
    allocations++;
    return malloc(bytes);
}

static void counted_free(void* pointer)
{
    allocations--;
    free(pointer);
}

static void test_version_is_its_parts(void)
{
    TEST_CHECK(icf_version() == ICF_VERSION);
    TEST_CHECK(ICF_VERSION ==
               ICF_VERSION_MAJOR * 10000 + ICF_VERSION_MINOR * 100 + ICF_VERSION_PATCH);
    TEST_CHECK(ICF_VERSION >= 100);
    TEST_CHECK(ICF_VERSION_MINOR < 100 && ICF_VERSION_PATCH < 100);
}

/* Every value has a name of its own, and what is no result still has a name. */
static void test_result_strings(void)
{
    const char* unknown = icf_result_string((icf_result)-99);
    const char* ok = icf_result_string(ICF_RESULT_OK);
    int code, other, known = 0;
    TEST_CHECK(ICF_RESULT_OK == 0);
    TEST_CHECK(!strcmp(ok, "ok"));
    TEST_CHECK(unknown != NULL && !strcmp(unknown, "unknown result"));
    TEST_CHECK(!strcmp(icf_result_string((icf_result)99), "unknown result"));

    /* what is done but short of something is above 0 */
    TEST_CHECK(ICF_RESULT_NOT_CONVERGED > 0);
    TEST_CHECK(!strcmp(icf_result_string(ICF_RESULT_NOT_CONVERGED), "not converged"));

    /* errors are -1, -2, ... without a gap, and what follows the last is unknown */
    for (code = -1;
         code > -99 && strcmp(icf_result_string((icf_result)code), "unknown result") != 0; code--) {
        const char* name = icf_result_string((icf_result)code);
        known++;
        TEST_CHECK(name != NULL && strlen(name) > 2);
        for (other = 0; other > code; other--) {
            TEST_CHECK_(strcmp(name, icf_result_string((icf_result)other)), "%d and %d are both %s",
                        code, other, name);
        }
    }
    TEST_CHECK(known >= 6);
    for (; code > -99; code--) {
        TEST_CHECK(!strcmp(icf_result_string((icf_result)code), "unknown result"));
    }

    TEST_CHECK(!strcmp(icf_result_string(ICF_RESULT_BAD_ARGUMENT), "bad argument"));
    TEST_CHECK(!strcmp(icf_result_string(ICF_RESULT_NOT_FINITE), "not finite"));
    TEST_CHECK(!strcmp(icf_result_string(ICF_RESULT_NO_MEMORY), "no memory"));
    TEST_CHECK(!strcmp(icf_result_string(ICF_RESULT_TOO_SMALL), "too small"));
    TEST_CHECK(!strcmp(icf_result_string(ICF_RESULT_MISALIGNED), "misaligned"));
    TEST_CHECK(!strcmp(icf_result_string(ICF_RESULT_OVERFLOW), "overflow"));
}

static void test_precision_of_reals(void)
{
#ifdef ICF_FLOAT
    TEST_CHECK(sizeof(icf_real) == sizeof(float));
    TEST_CHECK(sizeof(ICF_R(0.5)) == sizeof(float));
#else
    TEST_CHECK(sizeof(icf_real) == sizeof(double));
    TEST_CHECK(sizeof(ICF_R(0.5)) == sizeof(double));
#endif
    TEST_CHECK(ICF_R(0.1) == (icf_real)0.1);
    TEST_CHECK(ICF_R(1e-3) == (icf_real)1e-3);
}

/* The caller's square root and absolute value are used, and nothing else is. */
static void test_math_hooks(void)
{
    square_roots = magnitudes = 0;
    TEST_CHECK(icf_vec3_length(icf_vec3_make(3, 4, 12)) == 13);
    TEST_CHECK(square_roots == 1);
    icf_vec3_normalize(icf_vec3_make(1, -2, 3));
    TEST_CHECK(square_roots == 2 && magnitudes == 3);
    icf_quat_normalize(icf_quat_make(1, 2, 3, 4));
    TEST_CHECK(square_roots == 3);
}

/* No function of the library allocates so far; the hooks are there for those that will. */
static void test_memory_hooks(void)
{
    void* memory = ICF_MALLOC(10);
    TEST_CHECK(memory != NULL && allocations == 1);
    ICF_FREE(memory);
    TEST_CHECK(allocations == 0);
}

TEST_LIST = {
    {"version_is_its_parts", test_version_is_its_parts},
    {"result_strings",       test_result_strings      },
    {"precision_of_reals",   test_precision_of_reals  },
    {"math_hooks",           test_math_hooks          },
    {"memory_hooks",         test_memory_hooks        },
    {NULL,                   NULL                     },
};
