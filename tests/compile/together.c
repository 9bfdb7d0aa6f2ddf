/* Both headers with their code, in both orders, each more than once. */
#define ICF_IMPLEMENTATION
#include "icf.h"

#include "icf.h"
#include "icf_geometry.h"

#include "icf_geometry.h"

#include "icf.h"
