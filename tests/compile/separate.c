/* Only the code of the second header; that of the first is in another unit. */
#define ICF_GEOMETRY_IMPLEMENTATION
#include "icf_geometry.h"
