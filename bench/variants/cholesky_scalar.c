/* For bench/cholesky.c: icf.h with no vectors at all: the fallback for other compilers */

#define ICF_NO_SIMD
#define VARIANT cholesky_scalar
#include "cholesky_variant.h"
