/* The other one. */
#define ICF_STATIC
#define ICF_IMPLEMENTATION
#include "icf_geometry.h"

int icf_test_private_b(void);

int icf_test_private_b(void)
{
    return (int)icf_version();
}
