/* bench/rest.c in float */
#define ICF_FLOAT
#define RUN rest_float
#include "../rest.h"
