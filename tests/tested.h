/* tested.h - the library as tests see it. A test that is compiled by itself, `cc tests/test_trees.c -lm`, holds
   the implementation as well. With TEST_LINKED it does not, and is linked with tests/implementation.c, which is
   compiled once for all tests: that is most of the time of a build. Tests of private functions hold it in any
   case: they define ICF_IMPLEMENTATION before this. Those that replace more of the configuration than what is here
   include the headers themselves. */

#ifndef TESTED_H
#define TESTED_H

#include <assert.h>
#include <stdlib.h>

extern long test_allocations;      /* how often the library called malloc */
extern long test_allocations_left; /* how often it may; below 0: as often as there is memory */
extern int test_assertions_matter; /* 0: a test gives the library what its assertions are against */

#ifndef TEST_LINKED
long test_allocations;
long test_allocations_left = -1;
int test_assertions_matter = 1;

static inline void* test_malloc(size_t bytes)
{
    if (!test_allocations_left) return NULL;
    if (test_allocations_left > 0) test_allocations_left--;
    test_allocations++;
    return malloc(bytes);
}

#ifndef ICF_NO_MALLOC
#define ICF_MALLOC(bytes) test_malloc(bytes)
#define ICF_FREE(pointer) free(pointer)
#endif
#define ICF_ASSERT(x) assert(!test_assertions_matter || (x))
#define ICF_IMPLEMENTATION
#endif
#include "../icf_geometry.h"

#endif /* TESTED_H */
