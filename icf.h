/* icf.h - 0.1.0 - contact that is solved, not fudged

   One C99 file, no dependency beyond libc. It will grow into a whole library of rigid contact; what
   is in it today is its ground floor, and this manual describes that and nothing else.
   Licence: public domain or MIT, whichever you prefer; the text is at the end of this file.

   DO THIS

       #define ICF_IMPLEMENTATION
       #include "icf.h"

   in exactly one C or C++ file of your program, and a plain `#include "icf.h"` in every other file
   that uses the library. Link with -lm. If your build system would rather have a source file, those
   two lines are the whole of it: call it icf.c.

   A complete program; build it with  cc main.c -lm :

       #define ICF_IMPLEMENTATION
       #include "icf.h"
       #include <stdio.h>

       int main(void)
       {
           icf_quat q = icf_quat_identity();                 // a frame that turns about z,
           icf_vec3 w = icf_vec3_make(0, 0, 1.5707963);      // a quarter turn a second
           int i;
           for (i = 0; i < 60; i++) q = icf_quat_integrate(q, w, 1.0 / 60);
           icf_vec3 x = icf_quat_rotate(q, icf_vec3_make(1, 0, 0));
           printf("x axis after one second: %.6f %.6f %.6f\n", x.x, x.y, x.z);
           return 0;
       }

   CONTENTS                                     search for a mark to jump to its section

       the manual                               you are reading it
       the declarations
         >>api-config                           precision, linkage, version
         >>api-results                          what a call answers
         >>api-math                             vectors, quaternions, matrices, transforms
       the implementation, one section a layer, each knowing only those above it
         >>config                               compilers, assertions, memory functions
         >>math                                 layer 2: small math
         >>memory                               layer 3: the arena
         >>dense                                layer 4: dense Cholesky
         >>sparse                               layer 5: block-sparse Cholesky
         >>potentials                           layer 6: what a contact costs
         >>solver                               layer 7: the convex solver
         >>sensitivities                        layer 8: derivatives of the answer
         >>world                                layer 9: bodies, joints, time
       >>licence

   Sections from >>dense to >>world hold their place in this version and are empty.

   OPTIONS

   Macros, all optional. "Everywhere" means the same in each file that includes this header, best on
   the compiler's command line; "implementation" means before the include that has ICF_IMPLEMENTATION.

       ICF_IMPLEMENTATION    one file        emits the code
       ICF_FLOAT             everywhere      icf_real is float instead of double. Mixing the two in one
                                             program does not link: every function has another name
       ICF_STATIC            everywhere      all functions are static: a private copy in each file that
                                             has ICF_IMPLEMENTATION
       ICF_API               everywhere      what stands before each declaration, for DLLs and the like;
                                             default: extern
       ICF_ASSERT(x)         implementation  checks of the caller's and our own mistakes; default: nothing
       ICF_SQRT(x)           everywhere      square root and absolute value of an icf_real; default: the
       ICF_FABS(x)                           compiler's builtin or math.h. Define both or none
       ICF_MALLOC(bytes)     implementation  memory functions; default: malloc and free of stdlib.h.
       ICF_FREE(pointer)                     Define both or none
       ICF_NO_MALLOC         everywhere      no function that allocates; all memory is the caller's
       ICF_ALLOW_FAST_MATH   everywhere      accept -ffast-math, and with it other results on every
                                             compiler; without this it is refused

   DOES NOT

   print, abort, keep global state, start threads, read clocks or files, or allocate unless you call a
   function whose name ends in _create. It has no graphics and no collision detection; the second file,
   icf_geometry.h, is where the latter will live.

   TOPICS

   Units and frames. SI units throughout. Frames are right handed. A quaternion is (x, y, z, w) with w
   the scalar; it and the transforms map from the body to the world: p_world = q p_body + p.

   Errors. Whatever can fail returns an icf_result; 0 is success and errors are negative. A call that
   fails leaves its outputs as they were. icf_result_string gives the name of a result.

   Determinism. Only + - * / and square root are used, in an order that the input fixes. Contraction to
   fused multiply-adds is switched off inside this file, and only there, so that no compiler flag
   changes a bit but -ffast-math, clang's -ffp-contract=fast, and those that choose x87 arithmetic (32-bit
   x86 without -msse2 -mfpmath=sse).

   Double or float. Stiff contact needs double. Choose float where double is done in software, as on
   most microcontrollers.
*/

#ifndef ICF_H
#define ICF_H

// ------------------------------------------------------------------------------------------------
// Precision, linkage, version
// >>api-config

#include <stddef.h>
#include <stdint.h>

#define ICF_VERSION_MAJOR 0
#define ICF_VERSION_MINOR 1
#define ICF_VERSION_PATCH 0
#define ICF_VERSION (ICF_VERSION_MAJOR * 10000 + ICF_VERSION_MINOR * 100 + ICF_VERSION_PATCH)

#if (defined(__FAST_MATH__) || defined(_M_FP_FAST)) && !defined(ICF_ALLOW_FAST_MATH)
#error "icf.h: -ffast-math breaks its results; compile without it, or define ICF_ALLOW_FAST_MATH"
#endif

/* The one type that changes with the precision. ICF_R writes a constant of it. */
#ifdef ICF_FLOAT
typedef float icf_real;
#define ICF_R(x) (x##f)
#else
typedef double icf_real;
#define ICF_R(x) (x)
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ICFI_UNUSED __attribute__((unused))
#else
#define ICFI_UNUSED
#endif

#ifndef ICF_API
#ifdef ICF_STATIC
#define ICF_API ICFI_UNUSED static
#else
#define ICF_API extern
#endif
#endif

#define ICFI_INLINE ICFI_UNUSED static inline

#if defined(ICF_SQRT) != defined(ICF_FABS)
#error "icf.h: define both ICF_SQRT and ICF_FABS, or neither"
#endif
#ifndef ICF_SQRT
#if defined(__GNUC__) || defined(__clang__)
#ifdef ICF_FLOAT
#define ICF_SQRT(x) __builtin_sqrtf(x)
#define ICF_FABS(x) __builtin_fabsf(x)
#else
#define ICF_SQRT(x) __builtin_sqrt(x)
#define ICF_FABS(x) __builtin_fabs(x)
#endif
#else
#include <math.h>
#ifdef ICF_FLOAT
#define ICF_SQRT(x) sqrtf(x)
#define ICF_FABS(x) fabsf(x)
#else
#define ICF_SQRT(x) sqrt(x)
#define ICF_FABS(x) fabs(x)
#endif
#endif
#endif

/* Code between these two is compiled without contraction of a * b + c to a fused operation, whatever
   the flags are; the caller's own code is not touched. GCC 12 ignores the standard pragma, and its
   vectoriser makes fused add-subtracts (vfmaddsub) even with fp-contract=off, so it is off as well. Clang
   overrides it under -ffp-contract=fast, which nothing in a header can undo. */
#if defined(__clang__)
#define ICFI_EXACT_BEGIN _Pragma("STDC FP_CONTRACT OFF")
#define ICFI_EXACT_END _Pragma("STDC FP_CONTRACT DEFAULT")
#elif defined(__GNUC__)
#define ICFI_EXACT_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")") \
        _Pragma("GCC optimize(\"no-tree-slp-vectorize\", \"no-tree-loop-vectorize\")")
#define ICFI_EXACT_END _Pragma("GCC pop_options")
#elif defined(_MSC_VER)
#define ICFI_EXACT_BEGIN __pragma(float_control(push)) __pragma(fp_contract(off))
#define ICFI_EXACT_END __pragma(float_control(pop))
#else
#define ICFI_EXACT_BEGIN
#define ICFI_EXACT_END
#endif

/* In float every function has another name, so that a program that mixes the two does not link. */
#ifdef ICF_FLOAT
#define icf_result_string icf_result_string_float
#define icf_version icf_version_float
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the implementation that was linked; compare it with ICF_VERSION of this header. */
ICF_API int32_t icf_version(void);

// ------------------------------------------------------------------------------------------------
// What a call answers
// >>api-results

typedef enum icf_result {
    ICF_RESULT_OK = 0,
    ICF_RESULT_BAD_ARGUMENT = -1, /* a null pointer, a negative count, an index out of range */
    ICF_RESULT_NOT_FINITE = -2,   /* a NaN or an infinity among the numbers given */
    ICF_RESULT_NO_MEMORY = -3,    /* ICF_MALLOC answered NULL */
    ICF_RESULT_TOO_SMALL = -4,    /* the memory given is smaller than the function asks for */
    ICF_RESULT_MISALIGNED = -5,   /* the memory given is not aligned as malloc aligns */
    ICF_RESULT_OVERFLOW = -6      /* a size does not fit its integer type */
} icf_result;

/* The name of a result, such as "too small"; never NULL. */
ICF_API const char* icf_result_string(icf_result result);

// ------------------------------------------------------------------------------------------------
// Vectors, quaternions, matrices, transforms
// >>api-math

typedef struct icf_vec3 {
    icf_real x, y, z;
} icf_vec3;

/* x i + y j + z k + w. Rotations are unit quaternions; q and -q are the same rotation. */
typedef struct icf_quat {
    icf_real x, y, z, w;
} icf_quat;

/* Three columns: the images of the three axes. */
typedef struct icf_mat3 {
    icf_vec3 x, y, z;
} icf_mat3;

/* A pose: p_world = q p_body + p. */
typedef struct icf_transform {
    icf_quat q;
    icf_vec3 p;
} icf_transform;

ICFI_EXACT_BEGIN

ICFI_INLINE icf_vec3 icf_vec3_make(icf_real x, icf_real y, icf_real z)
{
    icf_vec3 v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}

ICFI_INLINE icf_vec3 icf_vec3_add(icf_vec3 a, icf_vec3 b)
{
    return icf_vec3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}

ICFI_INLINE icf_vec3 icf_vec3_sub(icf_vec3 a, icf_vec3 b)
{
    return icf_vec3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

ICFI_INLINE icf_vec3 icf_vec3_neg(icf_vec3 a)
{
    return icf_vec3_make(-a.x, -a.y, -a.z);
}

ICFI_INLINE icf_vec3 icf_vec3_scale(icf_real s, icf_vec3 a)
{
    return icf_vec3_make(s * a.x, s * a.y, s * a.z);
}

/* a + s b */
ICFI_INLINE icf_vec3 icf_vec3_add_scaled(icf_vec3 a, icf_real s, icf_vec3 b)
{
    return icf_vec3_make(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

ICFI_INLINE icf_real icf_vec3_dot(icf_vec3 a, icf_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

ICFI_INLINE icf_vec3 icf_vec3_cross(icf_vec3 a, icf_vec3 b)
{
    return icf_vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* Right while the square of the length neither overflows nor underflows. */
ICFI_INLINE icf_real icf_vec3_length(icf_vec3 a)
{
    return ICF_SQRT(icf_vec3_dot(a, a));
}

/* a / |a| for every finite a, however long or short; the zero vector stays zero. */
ICFI_INLINE icf_vec3 icf_vec3_normalize(icf_vec3 a)
{
    icf_real x = ICF_FABS(a.x), y = ICF_FABS(a.y), z = ICF_FABS(a.z);
    icf_real largest = x > y ? x : y;
    if (z > largest) largest = z;
    if (!(largest > 0)) return a;
    a = icf_vec3_make(a.x / largest, a.y / largest, a.z / largest);
    return icf_vec3_scale(1 / icf_vec3_length(a), a);
}

ICFI_INLINE icf_quat icf_quat_make(icf_real x, icf_real y, icf_real z, icf_real w)
{
    icf_quat q;
    q.x = x;
    q.y = y;
    q.z = z;
    q.w = w;
    return q;
}

ICFI_INLINE icf_quat icf_quat_identity(void)
{
    return icf_quat_make(0, 0, 0, 1);
}

/* The rotation b followed by the rotation a. */
ICFI_INLINE icf_quat icf_quat_mul(icf_quat a, icf_quat b)
{
    return icf_quat_make(a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                         a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                         a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                         a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z);
}

/* The inverse of a unit quaternion. */
ICFI_INLINE icf_quat icf_quat_conjugate(icf_quat q)
{
    return icf_quat_make(-q.x, -q.y, -q.z, q.w);
}

/* q v q^-1 for a unit quaternion, as v + w t + u x t with t = 2 u x v and u the vector part. */
ICFI_INLINE icf_vec3 icf_quat_rotate(icf_quat q, icf_vec3 v)
{
    icf_vec3 u = icf_vec3_make(q.x, q.y, q.z);
    icf_vec3 t = icf_vec3_scale(2, icf_vec3_cross(u, v));
    return icf_vec3_add(icf_vec3_add_scaled(v, q.w, t), icf_vec3_cross(u, t));
}

ICFI_INLINE icf_vec3 icf_quat_rotate_inverse(icf_quat q, icf_vec3 v)
{
    return icf_quat_rotate(icf_quat_conjugate(q), v);
}

/* q / |q|; the zero quaternion becomes the identity. Right while |q|^2 does not over- or underflow. */
ICFI_INLINE icf_quat icf_quat_normalize(icf_quat q)
{
    icf_real n = ICF_SQRT(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    if (n == 0) return icf_quat_identity();
    n = 1 / n;
    return icf_quat_make(n * q.x, n * q.y, n * q.z, n * q.w);
}

/* The rotation by the angle |r|, in radians, about the axis r / |r|; exact to rounding for any r.

   With h = r/2 this is (h sin|h|/|h|, cos|h|). Both are power series in x = |h|^2, summed where they
   converge fast: h is halved until |h| <= 1/2, and the result squared as many times. */
ICFI_INLINE icf_quat icf_quat_from_rotation_vector(icf_vec3 r)
{
    const icf_real most = ICF_R(0.25);
    icf_vec3 h = icf_vec3_scale(ICF_R(0.5), r);
    icf_real x = icf_vec3_dot(h, h), c, s;
    icf_quat q;
    int n = 0;

    /* a finite |h| is below 2^1025, so 1026 halvings are enough; others end here as well */
    while (x > most && n < 1026) {
        h = icf_vec3_scale(ICF_R(0.5), h);
        x = icf_vec3_dot(h, h);
        n++;
    }

    /* cos: sum (-x)^k / (2k)!, to k = 8; sin: sum (-x)^k / (2k+1)!, to k = 7. Next terms < 1e-18 */
    c = 1 - x / 132 * (1 - x / 182 * (1 - x / 240));
    c = 1 - x / 2 * (1 - x / 12 * (1 - x / 30 * (1 - x / 56 * (1 - x / 90 * c))));
    s = 1 - x / 110 * (1 - x / 156 * (1 - x / 210));
    s = 1 - x / 6 * (1 - x / 20 * (1 - x / 42 * (1 - x / 72 * s)));
    q = icf_quat_make(s * h.x, s * h.y, s * h.z, c);

    /* q^2 / |q|^2: the division keeps rounding from growing in the length */
    while (n-- > 0) {
        x = q.x * q.x + q.y * q.y + q.z * q.z;
        s = 1 / (q.w * q.w + x);
        c = s * (q.w * q.w - x);
        s = 2 * s * q.w;
        q = icf_quat_make(s * q.x, s * q.y, s * q.z, c);
    }
    return q;
}

/* q after turning for a time dt with the angular velocity w, in the world frame, in rad/s. A constant
   w is integrated exactly, whatever dt is; the result is a unit quaternion. */
ICFI_INLINE icf_quat icf_quat_integrate(icf_quat q, icf_vec3 w, icf_real dt)
{
    icf_quat turn = icf_quat_from_rotation_vector(icf_vec3_scale(dt, w));
    return icf_quat_normalize(icf_quat_mul(turn, q));
}

ICFI_INLINE icf_mat3 icf_mat3_from_columns(icf_vec3 x, icf_vec3 y, icf_vec3 z)
{
    icf_mat3 m;
    m.x = x;
    m.y = y;
    m.z = z;
    return m;
}

ICFI_INLINE icf_mat3 icf_mat3_identity(void)
{
    return icf_mat3_from_columns(icf_vec3_make(1, 0, 0), icf_vec3_make(0, 1, 0),
                                 icf_vec3_make(0, 0, 1));
}

ICFI_INLINE icf_vec3 icf_mat3_apply(icf_mat3 m, icf_vec3 v)
{
    return icf_vec3_add_scaled(icf_vec3_add_scaled(icf_vec3_scale(v.x, m.x), v.y, m.y), v.z, m.z);
}

/* m' v, with m' the transpose of m. */
ICFI_INLINE icf_vec3 icf_mat3_apply_transposed(icf_mat3 m, icf_vec3 v)
{
    return icf_vec3_make(icf_vec3_dot(m.x, v), icf_vec3_dot(m.y, v), icf_vec3_dot(m.z, v));
}

ICFI_INLINE icf_mat3 icf_mat3_mul(icf_mat3 a, icf_mat3 b)
{
    return icf_mat3_from_columns(icf_mat3_apply(a, b.x), icf_mat3_apply(a, b.y),
                                 icf_mat3_apply(a, b.z));
}

ICFI_INLINE icf_mat3 icf_mat3_transpose(icf_mat3 m)
{
    return icf_mat3_from_columns(icf_vec3_make(m.x.x, m.y.x, m.z.x),
                                 icf_vec3_make(m.x.y, m.y.y, m.z.y),
                                 icf_vec3_make(m.x.z, m.y.z, m.z.z));
}

/* The matrix of a unit quaternion. */
ICFI_INLINE icf_mat3 icf_mat3_from_quat(icf_quat q)
{
    icf_real xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    icf_real xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    icf_real wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return icf_mat3_from_columns(icf_vec3_make(1 - 2 * (yy + zz), 2 * (xy + wz), 2 * (xz - wy)),
                                 icf_vec3_make(2 * (xy - wz), 1 - 2 * (xx + zz), 2 * (yz + wx)),
                                 icf_vec3_make(2 * (xz + wy), 2 * (yz - wx), 1 - 2 * (xx + yy)));
}

/* The quaternion of a rotation matrix. Of the four possible formulas it takes the one that divides by
   the largest component, so it is accurate for every rotation. */
ICFI_INLINE icf_quat icf_quat_from_mat3(icf_mat3 m)
{
    icf_real t = m.x.x + m.y.y + m.z.z;
    icf_quat q;
    if (t > 0) {
        q = icf_quat_make(m.y.z - m.z.y, m.z.x - m.x.z, m.x.y - m.y.x, 1 + t);
    } else if (m.x.x >= m.y.y && m.x.x >= m.z.z) {
        q = icf_quat_make(1 + m.x.x - m.y.y - m.z.z, m.x.y + m.y.x, m.z.x + m.x.z, m.y.z - m.z.y);
    } else if (m.y.y >= m.z.z) {
        q = icf_quat_make(m.x.y + m.y.x, 1 - m.x.x + m.y.y - m.z.z, m.y.z + m.z.y, m.z.x - m.x.z);
    } else {
        q = icf_quat_make(m.z.x + m.x.z, m.y.z + m.z.y, 1 - m.x.x - m.y.y + m.z.z, m.x.y - m.y.x);
    }
    return icf_quat_normalize(q);
}

ICFI_INLINE icf_transform icf_transform_make(icf_quat q, icf_vec3 p)
{
    icf_transform t;
    t.q = q;
    t.p = p;
    return t;
}

ICFI_INLINE icf_transform icf_transform_identity(void)
{
    return icf_transform_make(icf_quat_identity(), icf_vec3_make(0, 0, 0));
}

ICFI_INLINE icf_vec3 icf_transform_apply(icf_transform t, icf_vec3 v)
{
    return icf_vec3_add(icf_quat_rotate(t.q, v), t.p);
}

ICFI_INLINE icf_vec3 icf_transform_apply_inverse(icf_transform t, icf_vec3 v)
{
    return icf_quat_rotate_inverse(t.q, icf_vec3_sub(v, t.p));
}

/* The transform b followed by the transform a. */
ICFI_INLINE icf_transform icf_transform_mul(icf_transform a, icf_transform b)
{
    return icf_transform_make(icf_quat_mul(a.q, b.q), icf_transform_apply(a, b.p));
}

ICFI_INLINE icf_transform icf_transform_inverse(icf_transform t)
{
    return icf_transform_make(icf_quat_conjugate(t.q),
                              icf_vec3_neg(icf_quat_rotate_inverse(t.q, t.p)));
}

ICFI_EXACT_END

#ifdef __cplusplus
}
#endif

/* End of the declarations. Stop here if you only want to use the library. */
#endif /* ICF_H */

/* Let editors colour the implementation. */
#if !defined(ICF_IMPLEMENTATION) && (defined(__INTELLISENSE__) || defined(__JETBRAINS_IDE__))
#define ICF_IMPLEMENTATION
#endif

#if defined(ICF_IMPLEMENTATION) && !defined(ICF_IMPLEMENTATION_DONE)
#define ICF_IMPLEMENTATION_DONE

// ------------------------------------------------------------------------------------------------
// Layer 1: configuration of the implementation
// >>config

#ifndef ICF_ASSERT
#define ICF_ASSERT(x) ((void)0)
#endif

#if defined(ICF_MALLOC) != defined(ICF_FREE)
#error "icf.h: define both ICF_MALLOC and ICF_FREE, or neither"
#endif
#if !defined(ICF_MALLOC) && !defined(ICF_NO_MALLOC)
#include <stdlib.h>
#define ICF_MALLOC(bytes) malloc(bytes)
#define ICF_FREE(pointer) free(pointer)
#endif

#ifdef __cplusplus
extern "C" {
#endif

ICFI_EXACT_BEGIN

ICF_API int32_t icf_version(void)
{
    return ICF_VERSION;
}

ICF_API const char* icf_result_string(icf_result result)
{
    switch (result) {
    case ICF_RESULT_OK: return "ok";
    case ICF_RESULT_BAD_ARGUMENT: return "bad argument";
    case ICF_RESULT_NOT_FINITE: return "not finite";
    case ICF_RESULT_NO_MEMORY: return "no memory";
    case ICF_RESULT_TOO_SMALL: return "too small";
    case ICF_RESULT_MISALIGNED: return "misaligned";
    case ICF_RESULT_OVERFLOW: return "overflow";
    }
    return "unknown result";
}

// ------------------------------------------------------------------------------------------------
// Layer 2: small math. All of it is inline, in the declarations: search for the mark with api- before it
// >>math

// ------------------------------------------------------------------------------------------------
// Layer 3: memory. Every object of the library lives in one block that its layout function measures first
// and then fills: both times it takes the same pieces in the same order from an arena, so that the size
// reported is the size needed. What is kept of a piece is its offset, so that a block can be moved.
// >>memory

/* Pieces start at multiples of this from the start of the block: a vector register of the widest kind. */
#define ICFI_GRANULE ((size_t)32)

/* What a block must be aligned to; malloc aligns at least so. */
#define ICFI_BLOCK_ALIGNMENT (sizeof(void*) < 8 ? sizeof(icf_real) : (size_t)8)

typedef struct icfi_arena {
    size_t used;       /* bytes taken so far */
    size_t peak;       /* the most that was ever taken: what the block must have */
    size_t capacity;   /* bytes there are */
    icf_result result; /* the first thing that went wrong */
} icfi_arena;

/* An arena to measure with: no end of memory, none of it real. */
ICFI_UNUSED static icfi_arena icfi_arena_measure(void)
{
    icfi_arena arena;
    arena.used = 0;
    arena.peak = 0;
    arena.capacity = (size_t)-1;
    arena.result = ICF_RESULT_OK;
    return arena;
}

/* An arena over a block of the caller's. */
ICFI_UNUSED static icfi_arena icfi_arena_over(const void* memory, size_t bytes)
{
    icfi_arena arena = icfi_arena_measure();
    arena.capacity = bytes;
    if (!memory) {
        arena.result = ICF_RESULT_BAD_ARGUMENT;
    } else if ((uintptr_t)memory % ICFI_BLOCK_ALIGNMENT) {
        arena.result = ICF_RESULT_MISALIGNED;
    }
    return arena;
}

/* The offset of `count` objects of `size` bytes. On failure `result` says why, and it stays so, so that a
   layout function may take all its pieces and look once. */
ICFI_UNUSED static size_t icfi_arena_take(icfi_arena* arena, size_t count, size_t size)
{
    size_t at = arena->used, bytes;
    if (arena->result != ICF_RESULT_OK) return 0;
    if (size && count > ((size_t)-1 - ICFI_GRANULE) / size) {
        arena->result = ICF_RESULT_OVERFLOW;
        return 0;
    }
    bytes = (count * size + ICFI_GRANULE - 1) / ICFI_GRANULE * ICFI_GRANULE;
    if (bytes > arena->capacity - at) {
        arena->result = arena->capacity == (size_t)-1 ? ICF_RESULT_OVERFLOW : ICF_RESULT_TOO_SMALL;
        return 0;
    }
    arena->used = at + bytes;
    if (arena->peak < arena->used) arena->peak = arena->used;
    return at;
}

/* Gives back what was taken since `used` was `mark`. */
ICFI_UNUSED static void icfi_arena_release(icfi_arena* arena, size_t mark)
{
    ICF_ASSERT(mark <= arena->used);
    arena->used = mark;
}

// ------------------------------------------------------------------------------------------------
// Layer 4: dense Cholesky
// >>dense

// ------------------------------------------------------------------------------------------------
// Layer 5: block-sparse Cholesky
// >>sparse

// ------------------------------------------------------------------------------------------------
// Layer 6: potentials
// >>potentials

// ------------------------------------------------------------------------------------------------
// Layer 7: the convex solver
// >>solver

// ------------------------------------------------------------------------------------------------
// Layer 8: sensitivities
// >>sensitivities

// ------------------------------------------------------------------------------------------------
// Layer 9: the world
// >>world

ICFI_EXACT_END

#ifdef __cplusplus
}
#endif

#endif /* ICF_IMPLEMENTATION */

/*
// ------------------------------------------------------------------------------------------------
// >>licence

This software is available under two licences; choose the one you prefer.

ALTERNATIVE A - MIT licence

Copyright (c) 2026 the icf authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR
THE USE OR OTHER DEALINGS IN THE SOFTWARE.

ALTERNATIVE B - public domain (www.unlicense.org)

This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute this software, either in
source code form or as a compiled binary, for any purpose, commercial or non-commercial, and by any means.

In jurisdictions that recognize copyright laws, the author or authors of this software dedicate any and
all copyright interest in the software to the public domain. We make this dedication for the benefit of
the public at large and to the detriment of our heirs and successors. We intend this dedication to be an
overt act of relinquishment in perpetuity of all present and future rights to this software under
copyright law.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER
DEALINGS IN THE SOFTWARE.
*/
