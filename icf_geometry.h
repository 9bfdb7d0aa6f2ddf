/* icf_geometry.h - 0.1.0 - the second file of icf: shapes, queries, the scene

   Optional: icf.h is complete without it. It will find contacts between shapes and hand them to the world
   of icf.h. In this version all of its sections are empty; they hold their place.
   Licence: public domain or MIT, whichever you prefer; the text is at the end of icf.h.

   DO THIS

       #define ICF_IMPLEMENTATION
       #include "icf_geometry.h"

   in exactly one C or C++ file: it includes icf.h and emits the code of both. Where icf.h is implemented
   elsewhere, define ICF_GEOMETRY_IMPLEMENTATION instead, which emits the code of this file only.

   CONTENTS                                     search for a mark to jump to its section

       the implementation, one section a layer, each knowing only those above it and icf.h
         >>shapes                               layer 10: shapes and queries
         >>manifolds                            layer 11: contact patches of several points
         >>broad-phase                          layer 12: pairs, rays, overlaps
         >>scene                                layer 13: shapes on bodies
         >>patches                              layer 14: pressure fields and sphere lattices

   OPTIONS

   All options of icf.h hold here too.

       ICF_GEOMETRY_IMPLEMENTATION   one file   emits the code of this file only
*/

#ifndef ICF_GEOMETRY_H
#define ICF_GEOMETRY_H

#include "icf.h"

/* End of the declarations. Stop here if you only want to use the library. */
#endif /* ICF_GEOMETRY_H */

#if (defined(ICF_IMPLEMENTATION) || defined(ICF_GEOMETRY_IMPLEMENTATION)) && \
    !defined(ICF_GEOMETRY_IMPLEMENTATION_DONE)
#define ICF_GEOMETRY_IMPLEMENTATION_DONE

// ------------------------------------------------------------------------------------------------
// Layer 10: shapes and queries
// >>shapes

// ------------------------------------------------------------------------------------------------
// Layer 11: manifolds
// >>manifolds

// ------------------------------------------------------------------------------------------------
// Layer 12: broad phase
// >>broad-phase

// ------------------------------------------------------------------------------------------------
// Layer 13: the scene
// >>scene

// ------------------------------------------------------------------------------------------------
// Layer 14: patches
// >>patches

#endif /* ICF_GEOMETRY_IMPLEMENTATION */
