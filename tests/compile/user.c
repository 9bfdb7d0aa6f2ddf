/* A unit that uses the library and does not hold its code: linked with together.c it makes a program. */
#include "icf_geometry.h"

#include "icf.h"

int main(void)
{
    return icf_version() == ICF_VERSION && icf_result_string(ICF_RESULT_OK) != 0 ? 0 : 1;
}
