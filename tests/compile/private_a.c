/* One of two units of a program, each with its private copy of the library. */
#define ICF_STATIC
#define ICF_IMPLEMENTATION
#include "icf_geometry.h"

int icf_test_private_b(void);

int main(void)
{
    return icf_version() == icf_test_private_b() ? 0 : 1;
}
