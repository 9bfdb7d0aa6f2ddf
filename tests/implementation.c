/* The implementation that tests are linked with, see tested.h */
#include "tested.h"
