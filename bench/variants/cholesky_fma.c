/* For bench/cholesky.c: icf.h with fused multiply-adds where the machine has them, and so other bits */

#define ICF_FMA
#define VARIANT cholesky_fma
#include "cholesky_variant.h"
