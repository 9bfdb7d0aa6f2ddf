/* tests/acutest.h where there is no operating system; the caller supplies test_output. */
void test_output(const char* text);

#define TEST_NO_OS
#define TEST_PUTS(text) test_output(text)
#define ICF_IMPLEMENTATION
#define ICF_NO_MALLOC
#include "icf.h"

#include "../acutest.h"

static void test_length(void)
{
    icf_real n = icf_vec3_length(icf_vec3_make(3, 4, 12));
    TEST_CHECK(n == 13);
    TEST_CHECK_(n == 13, "length %g, %d, %u, %x, %s", (double)n, -5, 7u, 255u, "text");
    TEST_CASE("turned");
    n = icf_quat_rotate(icf_quat_make(1, 0, 0, 0), icf_vec3_make(0, 1, 0)).y;
    TEST_ASSERT(n == -1);
}

/* fails where the run is told to, so that the run can tell that failures come through */
static void test_wanted(void)
{
#ifdef WANT_FAILURE
    TEST_CHECK_(0, "reals %g %.3g %g, integers %d %lu %x, %s%c", 0.1, -12345.678, 1e-30, -42,
                4000000000ul, 48879u, "text", '!');
    TEST_MSG("message %i", 3);
#endif
}

TEST_LIST = {
    {"length", test_length},
    {"wanted", test_wanted},
    {NULL,     NULL       },
};
