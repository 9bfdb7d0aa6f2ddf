/* Every macro that a caller may give, given. */
#include <stddef.h>

void* icf_test_malloc(size_t bytes);
void icf_test_free(void* pointer);
void icf_test_assert(int held);
double icf_test_sqrt(double x);
double icf_test_fabs(double x);

#define ICF_MALLOC(bytes) icf_test_malloc(bytes)
#define ICF_FREE(pointer) icf_test_free(pointer)
#define ICF_ASSERT(x) icf_test_assert((x) != 0)
#define ICF_SQRT(x) ((icf_real)icf_test_sqrt((double)(x)))
#define ICF_FABS(x) ((icf_real)icf_test_fabs((double)(x)))
#define ICF_API extern
#define ICF_IMPLEMENTATION
#include "icf_geometry.h"
