/* For bench/cholesky.c: icf.h with 128-bit vectors only: what runs on a machine without AVX2 */

#define ICF_NO_AVX2
#define VARIANT cholesky_sse2
#include "cholesky_variant.h"
