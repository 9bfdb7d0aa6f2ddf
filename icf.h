/* icf.h - 0.1.0 - irrotational contact fields: contact that is solved, not fudged

   One C99 file, no dependency beyond libc. It will grow into a whole library of rigid contact; what
   is in it today is its ground floor, small math and the linear solver that contact needs, and this
   manual describes that and nothing else.
   Licence: public domain or MIT, whichever you prefer; the text is at the end of this file.

   DO THIS

       #define ICF_IMPLEMENTATION
       #include "icf.h"

   in exactly one C or C++ file of your program, and a plain `#include "icf.h"` in every other file
   that uses the library. Link with -lm. If your build system would rather have a source file, those
   two lines are the whole of it: call it icf.c. Keep the name of this file: it includes itself.

   A complete program; build it with  cc main.c -lm :

       #define ICF_IMPLEMENTATION
       #include "icf.h"
       #include <stdio.h>

       int main(void)
       {
           // four blocks of three unknowns in a row: 10 I on the diagonal, -I between neighbours
           int32_t sizes[4] = {3, 3, 3, 3}, pairs[6] = {0, 1, 1, 2, 2, 3}, i;
           icf_real own[9] = {10, 0, 0, 0, 10, 0, 0, 0, 10}, coupling[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
           icf_real x[12] = {1}; // the right-hand side, and then the solution
           icf_sparse s = {0};

           icf_sparse_create(&s, ICF_SPARSE_FULL, 4, sizes, 3, pairs);
           icf_sparse_begin(&s);
           for (i = 0; i < 4; i++) icf_sparse_add_diagonal(&s, i, own, 3);
           for (i = 0; i < 3; i++) icf_sparse_add_edge(&s, i, coupling, 3);
           if (icf_sparse_factor(&s, NULL) == ICF_RESULT_OK) icf_sparse_solve(&s, x, 1, 12);
           printf("%.6f %.6f %.6f %.6f\n", x[0], x[3], x[6], x[9]);
           icf_sparse_destroy(&s);
           return 0;
       }

   CONTENTS                                     search for a mark to jump to its section

       the manual                               you are reading it
       the declarations
         >>api-config                           precision, linkage, version
         >>api-results                          what a call answers
         >>api-math                             vectors, quaternions, matrices, transforms
         >>api-dense                            dense Cholesky
         >>api-sparse                           block-sparse Cholesky
       the implementation, one section a layer, each knowing only those above it
         >>config                               compilers, assertions, memory functions
         >>math                                 layer 2: small math
         >>memory                               layer 3: the arena
         >>vectors                              what layers 4 and 5 call vectors
         >>dense                                layer 4: dense Cholesky
         >>sparse                               layer 5: block-sparse Cholesky
         >>potentials                           layer 6: what a contact costs
         >>solver                               layer 7: the convex solver
         >>sensitivities                        layer 8: derivatives of the answer
         >>world                                layer 9: bodies, joints, time
       >>licence

   Sections from >>potentials to >>world hold their place in this version and are empty.

   OPTIONS

   Macros, all optional. "Everywhere" means the same in each file that includes this header, best on
   the compiler's command line; "implementation" means before the include that has ICF_IMPLEMENTATION.

       ICF_IMPLEMENTATION    one file        emits the code
       ICF_FLOAT             everywhere      icf_real is float instead of double. Mixing the two in one
                                             program does not link: every function has another name
       ICF_STATIC            everywhere      all functions are static: each file that calls them needs
                                             ICF_IMPLEMENTATION, and has a copy of its own; copies in
                                             double and in float can live in one program
       ICF_API               everywhere      what stands before each declaration, for DLLs and the like;
                                             default: extern
       ICF_ASSERT(x)         implementation  checks of the caller's and our own mistakes; default: nothing
       ICF_SQRT(x)           everywhere      square root and absolute value of an icf_real; default: the
       ICF_FABS(x)                           compiler's builtin or math.h. Define both or none
       ICF_MALLOC(bytes)     implementation  memory functions; default: malloc and free of stdlib.h.
       ICF_FREE(pointer)                     Define both or none
       ICF_NO_MALLOC         everywhere      no function that allocates; all memory is the caller's
       ICF_NO_SIMD           implementation  no vector instructions: smaller code, the same bits
       ICF_NO_AVX2           implementation  no AVX2, which otherwise is used in a plain build where the
                                             machine turns out to have it; the same bits with and without
       ICF_FMA               implementation  fused multiply-adds where the machine has AVX2 and FMA: faster
                                             on large matrices, and the end of equal bits between machines;
                                             without optimisation its frames are large
       ICF_ALLOW_FAST_MATH   everywhere      accept -ffast-math, and with it other results on every
                                             compiler; without this it is refused

   DOES NOT

   print, abort, keep global state, start threads, read clocks or files, or allocate unless you call a
   function whose name ends in _create. It has no graphics and no collision detection; the second file,
   icf_geometry.h, is where the latter will live.

   STEP BY STEP: A DENSE SYSTEM

       icf_real a[4] = {4, 1, 1, 3}, x[2] = {1, 2};      // by columns; only the lower triangle is read
       int32_t pivot;
       if (icf_dense_factor(2, a, 2, &pivot) == ICF_RESULT_OK) icf_dense_solve(2, a, 2, x, 1, 2);

   The factor replaces a, the solution x; nothing is allocated.

   STEP BY STEP: A SPARSE SYSTEM

   The matrix is made of blocks: one on the diagonal for each clique (a body, a robot, a vertex: any number
   of unknowns), and one off it for each edge between two cliques.

       icf_sparse_create(&s, mode, ...)         takes in the pattern, and memory
       icf_sparse_begin(&s)                     all blocks are zero
       icf_sparse_add_diagonal(&s, i, ...)      once or more for each clique,
       icf_sparse_add_edge(&s, e, ...)          and for each edge
       icf_sparse_factor(&s, &pivot)
       icf_sparse_solve(&s, x, 1, n)            as often as you like
       icf_sparse_begin(&s) ...                 other numbers, the same pattern
       icf_sparse_destroy(&s)

   With memory of your own, instead of _create: icf_sparse_analyze takes the pattern and
   icf_sparse_pattern_bytes of memory; icf_sparse_bytes then says what the factor takes, and
   icf_sparse_bind gives it that. Call icf_sparse_analyze with every new pattern; it notices when it is the
   old one, in the same memory. If it was not, s.bound is 0: ask icf_sparse_bytes and bind again, in the same
   memory if that is enough. Where the factor does not fit (ICF_RESULT_TOO_SMALL), bind the same object as
   ICF_SPARSE_ITERATIVE, which takes memory in proportion to the blocks, and go on with the same calls.

   ICF_SPARSE_PARTIAL is for matrices that change in few places. icf_sparse_begin_partial names the cliques
   whose blocks changed; then only blocks that icf_sparse_wants_diagonal and icf_sparse_wants_edge ask for
   need to be added, and only a part of the factor is made again, with the bits of a whole one.

   TOPICS

   Units and frames. SI units throughout. Frames are right handed. A quaternion is (x, y, z, w) with w
   the scalar; it and the transforms map from the body to the world: p_world = q p_body + p.

   NaN. A NaN or an infinity in a matrix ends as ICF_RESULT_NOT_SPD; one in a right-hand side goes
   through to the solution. Conjugate gradients answer ICF_RESULT_NOT_FINITE.

   Errors. Whatever can fail returns an icf_result; 0 is success and errors are negative. A call that
   refuses its arguments leaves everything as it was. icf_result_string gives the name of a result.

   Determinism. Only + - * / and square root are used, in an order that the input fixes. Contraction to
   fused multiply-adds is switched off inside the implementation, and only there, so that no compiler flag
   changes a bit but -ffast-math, clang's -ffp-contract=fast, and those that choose x87 arithmetic (32-bit
   x86 without -msse2 -mfpmath=sse). Your own files follow your flags, and the small math that is
   inlined into them: for equal bits there too, compile them with -ffp-contract=off.

   Memory. icf_dense_... needs none. An icf_sparse points to two blocks of memory, which are yours unless
   it was created; neither may move while it is in use. Once bound, no call allocates, whatever it is
   given. What a block must have is computed, not guessed: a byte less is refused. It depends on the
   options, so ask the function rather than writing the number down.

   Vectors. The kernels use SSE2, NEON or wasm SIMD where the target has them, and AVX2 where the machine
   has it. All give the same bits: a vector holds different entries, never parts of one sum, or parts of a
   sum that is split in the same way everywhere.

   Sizes. At most 536 million unknowns, 46000 of them in one front, and 850 million edges.

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

#if defined(__GNUC__) || defined(__clang__)
#define ICFI_INLINE ICFI_UNUSED static inline __attribute__((always_inline))
#else
#define ICFI_INLINE static inline
#endif

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

/* Code between these two is compiled without contraction of a * b + c to a fused operation,
   whatever the flags are; the caller's own code is not touched. GCC 12 ignores the standard
   pragma, and its vectoriser makes fused add-subtracts (vfmaddsub) even with fp-contract=off, so
   it is off as well. Clang overrides it under -ffp-contract=fast, which nothing in a header can
   undo. */
#if defined(__clang__)
#if defined(__x86_64__) || defined(__i386__)
#define ICFI_EXACT_BEGIN _Pragma("float_control(push)") _Pragma("STDC FP_CONTRACT OFF")
#define ICFI_EXACT_END _Pragma("float_control(pop)")
#else /* where there is no such stack, the end is what the command line says */
#define ICFI_EXACT_BEGIN _Pragma("STDC FP_CONTRACT OFF")
#define ICFI_EXACT_END _Pragma("STDC FP_CONTRACT DEFAULT")
#endif
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

/* The same for the small math, whose functions are inlined always. gcc inlines no function into
   one that has other options, and so they have none there and follow the rules of where they
   are. */
#if defined(__GNUC__) && !defined(__clang__)
#define ICFI_EXACT_INLINE_BEGIN
#define ICFI_EXACT_INLINE_END
#else
#define ICFI_EXACT_INLINE_BEGIN ICFI_EXACT_BEGIN
#define ICFI_EXACT_INLINE_END ICFI_EXACT_END
#endif

/* In float every function has another name, so that a program that mixes the two does not link. */
#ifdef ICF_FLOAT
#define icf_dense_factor icf_dense_factor_float
#define icf_dense_solve icf_dense_solve_float
#define icf_result_string icf_result_string_float
#define icf_sparse_add_diagonal icf_sparse_add_diagonal_float
#define icf_sparse_add_edge icf_sparse_add_edge_float
#define icf_sparse_analyze icf_sparse_analyze_float
#define icf_sparse_begin icf_sparse_begin_float
#define icf_sparse_begin_partial icf_sparse_begin_partial_float
#define icf_sparse_bind icf_sparse_bind_float
#define icf_sparse_bytes icf_sparse_bytes_float
#define icf_sparse_bytes_most icf_sparse_bytes_most_float
#define icf_sparse_create icf_sparse_create_float
#define icf_sparse_destroy icf_sparse_destroy_float
#define icf_sparse_factor icf_sparse_factor_float
#define icf_sparse_pattern_bytes icf_sparse_pattern_bytes_float
#define icf_sparse_solve icf_sparse_solve_float
#define icf_sparse_wants_diagonal icf_sparse_wants_diagonal_float
#define icf_sparse_wants_edge icf_sparse_wants_edge_float
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
    ICF_RESULT_BAD_ARGUMENT = -1,  /* a null pointer, a negative count, an index out of range */
    ICF_RESULT_NOT_FINITE = -2,    /* a NaN or an infinity among the numbers given */
    ICF_RESULT_NO_MEMORY = -3,     /* ICF_MALLOC answered NULL */
    ICF_RESULT_TOO_SMALL = -4,     /* the memory given is smaller than the function asks for */
    ICF_RESULT_MISALIGNED = -5,    /* the memory given is not aligned to 8 bytes */
    ICF_RESULT_OVERFLOW = -6,      /* a size does not fit its integer type */
    ICF_RESULT_NOT_SPD = -7,       /* a matrix is not symmetric positive definite */
    ICF_RESULT_NO_FACTOR = -8,     /* solving before a factorisation that succeeded */
    ICF_RESULT_NOT_CONVERGED = -9, /* not enough iterations; the last answer is left */
    ICF_RESULT_BAD_STATE = -10     /* a call out of order, before the one that it needs */
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

ICFI_EXACT_INLINE_BEGIN

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

/* q / |q|; the zero quaternion becomes the identity. Right while |q|^2 does not over- or
   underflow. */
ICFI_INLINE icf_quat icf_quat_normalize(icf_quat q)
{
    icf_real n = ICF_SQRT(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    if (n == 0) return icf_quat_identity();
    n = 1 / n;
    return icf_quat_make(n * q.x, n * q.y, n * q.z, n * q.w);
}

/* The rotation by the angle |r|, in radians, about the axis r / |r|; exact to rounding for any r.

   With h = r/2 this is (h sin|h|/|h|, cos|h|). Both are power series in x = |h|^2, summed where
   they converge fast: h is halved until |h| <= 1/2, and the result squared as many times. */
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

/* q after turning for a time dt with the angular velocity w, in the world frame, in rad/s. A
   constant w is integrated exactly, whatever dt is; the result is a unit quaternion. */
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

/* The quaternion of a rotation matrix. Of the four possible formulas it takes the one that
   divides by the largest component, so it is accurate for every rotation. */
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

ICFI_EXACT_INLINE_END

// ------------------------------------------------------------------------------------------------
// Dense Cholesky: symmetric positive definite systems of the size of a body or a robot
// >>api-dense

/* Factors the n x n matrix a, column-major, leading dimension ld >= n, of which only the lower
   triangle is read and written, as A = L D L' in place: below the diagonal L D (not L: column j
   is scaled by D_j), on it 1 / D_j. ICF_RESULT_NOT_SPD: a is not positive definite, *pivot (may
   be NULL) is the first column where that shows, and the lower triangle is lost. A NaN or an
   infinity in a ends so too. n may be 0. */
ICF_API icf_result icf_dense_factor(int32_t n, icf_real* a, int32_t ld, int32_t* pivot);

/* Solves A x = b with that factor, in place, for `count` columns of x, leading dimension ldx >=
   n. */
ICF_API icf_result icf_dense_solve(int32_t n, const icf_real* factor, int32_t ld, icf_real* x,
                                   int32_t count, int32_t ldx);

// ------------------------------------------------------------------------------------------------
// Block-sparse Cholesky: piles of bodies, robots among them, meshes
// >>api-sparse

typedef enum icf_sparse_mode {
    ICF_SPARSE_FULL,    /* the factor, made as a whole each time; in most graphs the least memory */
    ICF_SPARSE_PARTIAL, /* the factor and what its parts pass up: a change redoes only some of it */
    ICF_SPARSE_ITERATIVE /* no factor: conjugate gradients, in memory that grows as the pattern */
} icf_sparse_mode;

/* Private: where the pieces of the two blocks of memory of an icf_sparse are, in bytes. */
typedef struct icfi_sparse_at {
    size_t size, start, pair, near_start, near, order, position, front, column, place, member;
    size_t parent, child, sibling, cols, rows, blocks, scratch;
    size_t row_start, run_count, row, row_at, run_to, run_length, redo, panel_at, update_at;
    size_t panels, panel_reals, updates, small, work;
    size_t block_at, diagonal, vectors;
} icfi_sparse_at;

/* A symmetric matrix of blocks and its factor. The struct is the caller's, and so are the two
   blocks of memory that it points to: the first belongs to the pattern, the second to the
   factor. Fields up to `flops` may be read after icf_sparse_analyze. Do not copy it by
   assignment while it is in use. */
typedef struct icf_sparse {
    int32_t cliques, edges; /* blocks on the diagonal; pairs given */
    int32_t unknowns;       /* rows and columns of the matrix */
    int32_t fronts;         /* dense pieces the factorisation is made of */
    int32_t components;     /* parts that nothing connects */
    int32_t bound;          /* 1 from icf_sparse_bind until a new pattern is analysed */
    double flops; /* additions and multiplications of the ordering, without those that fronts add */

    /* ICF_SPARSE_ITERATIVE only; the caller may change the first two after icf_sparse_bind */
    icf_real tolerance; /* stop at |b - A x| <= tolerance |b|; default 100 rounding errors */
    int32_t budget;     /* iterations a solve may take; default 2 unknowns, at least 100 */
    int32_t iterations; /* what the last solve took, all its right-hand sides together */
    icf_real residual;  /* |b - A x| / |b| of the last solve, the worst of its right-hand sides */

    /* private */
    void *pattern, *factor;
    int32_t cookie, mode, state, owner;
    icfi_sparse_at at;
    int32_t rows_most;
} icf_sparse;

/* How many bytes icf_sparse_analyze needs, exactly; 0 if that is more than size_t holds. */
ICF_API size_t icf_sparse_pattern_bytes(int32_t cliques, int32_t edges);

/* Takes in a pattern: clique i has sizes[i] >= 0 unknowns, which follow those of clique i - 1;
   edge e couples the cliques pairs[2 e] and pairs[2 e + 1], which differ. Edges come in any
   order, either way round, also more than once; all that follows depends on the set of edges
   alone, but for the order in which blocks of the same place are added. The arrays are not
   needed afterwards; `memory` is, for as long as s is used. s is either zeroed or was analysed
   before. When it holds the same pattern already, in the same memory, that is noticed, nothing
   is computed again and the factor stays as it is; the edges have the numbers and directions of
   the new list. Otherwise s->bound is 0 afterwards. Errors: BAD_ARGUMENT, TOO_SMALL, MISALIGNED,
   OVERFLOW, BAD_STATE (s was created); s and memory are then as before. */
ICF_API icf_result icf_sparse_analyze(icf_sparse* s, void* memory, size_t bytes, int32_t cliques,
                                      const int32_t* sizes, int32_t edges, const int32_t* pairs);

/* How many bytes icf_sparse_bind needs for the pattern in s, exactly; 0 if that is more than
   size_t holds
   or a front has more than 46000 rows. */
ICF_API size_t icf_sparse_bytes(const icf_sparse* s, icf_sparse_mode mode);

/* An upper bound of that over all patterns of so many cliques of at most `largest` unknowns, and
   edges. For the two modes with a factor it is what the worst imaginable graph takes, far more
   than any scene. */
ICF_API size_t icf_sparse_bytes_most(int32_t cliques, int32_t edges, int32_t largest,
                                     icf_sparse_mode mode);

/* Gives s the memory for its factor. Errors: BAD_ARGUMENT, BAD_STATE (nothing analysed, or s was
   created), TOO_SMALL, MISALIGNED, OVERFLOW (a front of more than 46000 rows; the iterative mode has
   none). */
ICF_API icf_result icf_sparse_bind(icf_sparse* s, icf_sparse_mode mode, void* memory, size_t bytes);

#ifndef ICF_NO_MALLOC
/* Analyses and binds in memory of ICF_MALLOC, which icf_sparse_destroy gives back: s needs no
   preparation, but one that was created has to be destroyed first. Errors: those of both,
   NO_MEMORY; s is zeroed then. */
ICF_API icf_result icf_sparse_create(icf_sparse* s, icf_sparse_mode mode, int32_t cliques,
                                     const int32_t* sizes, int32_t edges, const int32_t* pairs);
ICF_API void icf_sparse_destroy(icf_sparse* s);
#endif

/* Starts a matrix: all blocks are zero. */
ICF_API icf_result icf_sparse_begin(icf_sparse* s);

/* Starts a matrix that differs from the last one only in blocks of the `count` cliques listed in
   `changed`: their diagonal blocks and those of their edges. The parts of the factor that these
   reach are dropped. Blocks in the dropped parts must be added again, those elsewhere may be:
   they are ignored. icf_sparse_wants_... tells which is which. Without ICF_SPARSE_PARTIAL, and
   after a factorisation that failed, this is icf_sparse_begin. */
ICF_API icf_result icf_sparse_begin_partial(icf_sparse* s, int32_t count, const int32_t* changed);
ICF_API int icf_sparse_wants_diagonal(const icf_sparse* s, int32_t clique);
ICF_API int icf_sparse_wants_edge(const icf_sparse* s, int32_t edge);

/* Adds to the diagonal block of a clique the lower triangle of a block, or to the block of an
   edge, rows of pairs[2 e] and columns of pairs[2 e + 1], a block; column-major with leading
   dimension ld. */
ICF_API icf_result icf_sparse_add_diagonal(icf_sparse* s, int32_t clique, const icf_real* block,
                                           int32_t ld);
ICF_API icf_result icf_sparse_add_edge(icf_sparse* s, int32_t edge, const icf_real* block,
                                       int32_t ld);

/* Factors what was added. ICF_RESULT_NOT_SPD: *pivot (may be NULL) is an unknown where that
   shows. */
ICF_API icf_result icf_sparse_factor(icf_sparse* s, int32_t* pivot);

/* Solves A x = b in place for `count` columns of x, leading dimension ldx >= s->unknowns.
   Iterative mode: NOT_CONVERGED leaves the last x, s->residual says how good it is; that is also
   the answer where the tolerance is below what rounding allows, and for a matrix that is not
   positive definite beyond its diagonal blocks. */
ICF_API icf_result icf_sparse_solve(icf_sparse* s, icf_real* x, int32_t count, int32_t ldx);

#ifdef __cplusplus
}
#endif

/* End of the declarations. Stop here if you only want to use the library. */
#endif /* ICF_H */

/* Let editors colour the implementation. */
#if !defined(ICF_IMPLEMENTATION) && (defined(__INTELLISENSE__) || defined(__JETBRAINS_IDE__))
#define ICF_IMPLEMENTATION
#endif

#if defined(ICF_IMPLEMENTATION) && (!defined(ICF_IMPLEMENTATION_DONE) || defined(ICFI_LAYER))

#ifndef ICFI_LAYER
#define ICF_IMPLEMENTATION_DONE

// ------------------------------------------------------------------------------------------------
// Layer 1: configuration of the implementation
// >>config

#include <float.h>

#if defined(__GNUC__) || defined(__clang__)
#define ICFI_FORCE_INLINE static inline __attribute__((always_inline))
#define ICFI_NOINLINE __attribute__((noinline)) /* where frames would add up */
#define ICFI_MEMCPY __builtin_memcpy
#define ICFI_MEMSET __builtin_memset
#define ICFI_MEMCMP __builtin_memcmp
#else
#include <string.h>
#define ICFI_NOINLINE
#ifdef _MSC_VER
#define ICFI_FORCE_INLINE static __forceinline
#else
#define ICFI_FORCE_INLINE static inline
#endif
#define ICFI_MEMCPY memcpy
#define ICFI_MEMSET memset
#define ICFI_MEMCMP memcmp
#endif

/* Pivots below or above these have no reciprocal that can be used. */
#ifdef ICF_FLOAT
#define ICFI_REAL_MIN FLT_MIN
#define ICFI_REAL_MAX FLT_MAX
#define ICFI_EPSILON FLT_EPSILON
#else
#define ICFI_REAL_MIN DBL_MIN
#define ICFI_REAL_MAX DBL_MAX
#define ICFI_EPSILON DBL_EPSILON
#endif

/* Vector instructions: the ones every machine of the target has (SSE2, NEON of 64-bit ARM, wasm
   SIMD, VSX; not those that flush denormal numbers, as NEON of 32-bit ARM does), and AVX2 where
   the compiler can make single functions for it and the machine is asked at run time. */
#if !defined(ICF_NO_SIMD) && !defined(__TINYC__)
#if defined(_MSC_VER) && (defined(_M_X64) || (defined(_M_IX86_FP) && _M_IX86_FP >= 2))
#define ICFI_SIMD_SSE2
#include <emmintrin.h>
#elif (defined(__GNUC__) || defined(__clang__)) && \
    (defined(__SSE2__) || defined(__aarch64__) || defined(__wasm_simd128__) || defined(__VSX__))
#define ICFI_SIMD_GNU
#if (defined(__x86_64__) || defined(__i386__)) && !defined(ICF_NO_AVX2)
#define ICFI_SIMD_AVX2
#endif
#endif
#endif
#if defined(ICF_FMA) && defined(ICFI_SIMD_AVX2)
#include <immintrin.h>
#endif

/* Vectors of the compiler's own, which need no more alignment than their numbers */
#ifdef ICFI_SIMD_GNU
typedef icf_real icfi_base_vector
    __attribute__((vector_size(16), aligned(sizeof(icf_real)), may_alias));
#endif
#ifdef ICFI_SIMD_AVX2
typedef icf_real icfi_wide_vector
    __attribute__((vector_size(32), aligned(sizeof(icf_real)), may_alias));
#endif
#ifdef ICF_FMA
#define ICFI_AND_FMA &&__builtin_cpu_supports("fma")
#else
#define ICFI_AND_FMA
#endif

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
    case ICF_RESULT_NOT_SPD: return "not positive definite";
    case ICF_RESULT_NO_FACTOR: return "no factor";
    case ICF_RESULT_NOT_CONVERGED: return "not converged";
    case ICF_RESULT_BAD_STATE: return "bad state";
    }
    return "unknown result";
}

// ------------------------------------------------------------------------------------------------
// Layer 2: small math. All of it is inline, in the declarations: search for the mark with api-
// before it
// >>math

// ------------------------------------------------------------------------------------------------
// Layer 3: memory. Every object of the library lives in one block that its layout function measures
// first and then fills: both times it takes the same pieces in the same order from an arena, so
// that the size reported is the size needed. What is kept of a piece is its offset, so that a block
// can be moved.
// >>memory

/* Pieces start at multiples of this from the start of the block: a vector register of the widest
   kind. */
#define ICFI_GRANULE ((size_t)32)

/* What a block must be aligned to; malloc aligns at least so. */
#define ICFI_BLOCK_ALIGNMENT (sizeof(double) < 8 ? sizeof(double) : (size_t)8)

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

/* The offset of `count` objects of `size` bytes. On failure `result` says why, and it stays so,
   so that a layout function may take all its pieces and look once. */
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

/* Sums and products of sizes that stay at the most a size_t holds; taking so much is an
   overflow. */
static size_t icfi_plus(size_t a, size_t b)
{
    return a > (size_t)-1 - b ? (size_t)-1 : a + b;
}

static size_t icfi_times(size_t a, size_t b)
{
    return b && a > (size_t)-1 / b ? (size_t)-1 : a * b;
}

/* Gives back what was taken since `used` was `mark`. */
ICFI_UNUSED static void icfi_arena_release(icfi_arena* arena, size_t mark)
{
    ICF_ASSERT(mark <= arena->used);
    arena->used = mark;
}

#endif /* ICFI_LAYER */

#ifdef ICFI_LAYER

// ------------------------------------------------------------------------------------------------
// Vectors, for layers 4 and 5
// >>vectors

/* The file includes itself (keep its name) to make the loops of layers 4 and 5 twice: once
   for the vectors every machine of the target has, or plain numbers, and once (ICFI_WIDE) for AVX2.
   ICFI_MULSUB(c, a, s) is c - a s: every lane is one entry of a matrix with its own order of
   operations. */

#undef ICFI_K
#undef ICFI_V
#undef ICFI_TARGET
#undef ICFI_LANES
#undef ICFI_LOAD
#undef ICFI_STORE
#undef ICFI_ADD
#undef ICFI_MULSUB
#undef ICFI_MULSUBV
#undef ICFI_MULSUBY
#undef ICFI_DUP
#undef ICFI_PUT

#if ICFI_WIDE
#define ICFI_K(name) name##_wide
#ifdef ICF_FMA
#define ICFI_TARGET __attribute__((target("avx2,fma")))
#else
#define ICFI_TARGET __attribute__((target("avx2")))
#endif
#define ICFI_V icfi_wide_vector
#define ICFI_LOAD(p) (*(const icfi_wide_vector*)(p))
#define ICFI_STORE(p, v) (*(icfi_wide_vector*)(p) = (v))
#define ICFI_ADD(a, b) ((a) + (b))
#elif defined(ICFI_SIMD_GNU)
#define ICFI_K(name) name##_base
#define ICFI_TARGET
#define ICFI_V icfi_base_vector
#define ICFI_LOAD(p) (*(const icfi_base_vector*)(p))
#define ICFI_STORE(p, v) (*(icfi_base_vector*)(p) = (v))
#define ICFI_ADD(a, b) ((a) + (b))
#elif defined(ICFI_SIMD_SSE2)
#define ICFI_K(name) name##_base
#define ICFI_TARGET
#ifdef ICF_FLOAT
#define ICFI_V __m128
#define ICFI_LOAD(p) _mm_loadu_ps(p)
#define ICFI_STORE(p, v) _mm_storeu_ps(p, v)
#define ICFI_ADD(a, b) _mm_add_ps(a, b)
#define ICFI_MULSUB(c, a, s) _mm_sub_ps(c, _mm_mul_ps(a, _mm_set1_ps(s)))
#define ICFI_MULSUBV(c, a, b) _mm_sub_ps(c, _mm_mul_ps(a, b))
#else
#define ICFI_V __m128d
#define ICFI_LOAD(p) _mm_loadu_pd(p)
#define ICFI_STORE(p, v) _mm_storeu_pd(p, v)
#define ICFI_ADD(a, b) _mm_add_pd(a, b)
#define ICFI_MULSUB(c, a, s) _mm_sub_pd(c, _mm_mul_pd(a, _mm_set1_pd(s)))
#define ICFI_MULSUBV(c, a, b) _mm_sub_pd(c, _mm_mul_pd(a, b))
#endif
#else
#define ICFI_K(name) name##_base
#define ICFI_TARGET
#define ICFI_V icf_real
#define ICFI_LOAD(p) (*(p))
#define ICFI_STORE(p, v) (*(p) = (v))
#define ICFI_ADD(a, b) ((a) + (b))
#define ICFI_MULSUB(c, a, s) ((c) - (a) * (s))
#define ICFI_MULSUBV(c, a, b) ((c) - (a) * (b))
#endif

#ifndef ICFI_MULSUB
#if ICFI_WIDE && defined(ICF_FMA) && defined(ICF_FLOAT)
#define ICFI_MULSUB(c, a, s) ((ICFI_V)_mm256_fnmadd_ps((__m256)(a), _mm256_set1_ps(s), (__m256)(c)))
#define ICFI_MULSUBV(c, a, b) ((ICFI_V)_mm256_fnmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#elif ICFI_WIDE && defined(ICF_FMA)
#define ICFI_MULSUB(c, a, s) \
    ((ICFI_V)_mm256_fnmadd_pd((__m256d)(a), _mm256_set1_pd(s), (__m256d)(c)))
#define ICFI_MULSUBV(c, a, b) ((ICFI_V)_mm256_fnmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define ICFI_MULSUB(c, a, s) ((c) - (a) * (s))
#define ICFI_MULSUBV(c, a, b) ((c) - (a) * (b))
#endif
#endif
#define ICFI_LANES ((int32_t)(sizeof(ICFI_V) / sizeof(icf_real)))

/* Number q of a row of y, times a vector. Where loading a number into all lanes takes more than
   a load (SSE2), y holds it as often as there are lanes. */
#if !ICFI_WIDE && (defined(ICFI_SIMD_GNU) || defined(ICFI_SIMD_SSE2))
#define ICFI_DUP ICFI_DUP_MOST
#define ICFI_MULSUBY(c, a, y, q) ICFI_MULSUBV(c, a, ICFI_LOAD((y) + (q)*ICFI_DUP))
#ifdef ICF_FLOAT
#define ICFI_PUT(y, q, v) \
    ((y)[4 * (q)] = (y)[4 * (q) + 1] = (y)[4 * (q) + 2] = (y)[4 * (q) + 3] = (v))
#else
#define ICFI_PUT(y, q, v) ((y)[2 * (q)] = (y)[2 * (q) + 1] = (v))
#endif
#else
#define ICFI_DUP 1
#define ICFI_MULSUBY(c, a, y, q) ICFI_MULSUB(c, a, (y)[q])
#define ICFI_PUT(y, q, v) ((y)[q] = (v))
#endif

#endif /* ICFI_LAYER */

// ------------------------------------------------------------------------------------------------
// Layer 4: dense Cholesky
// >>dense

/* A = L D L', L unit lower triangular, D diagonal: Cholesky without square roots, which halves the
   chain of slow operations of a 6 x 6 block. What is stored is W = L D below the diagonal and 1/D
   on it, because W is what the recurrence makes and what it reads again:

       w_ij = a_ij - sum_k<j w_ik l_jk      l_jk = w_jk (1/d_k)      d_j = w_jj

   Every entry is computed by these subtractions, one after another in ascending k, whatever the
   blocking and however many entries a vector holds: all paths give the bits of the plain triple
   loop. (ICF_FMA, which rounds a product and a subtraction once, is the exception.)

   The work is done on panels of 6 columns (then 3, then 1 for what is left), by kernels that hold
   two vectors of rows by six columns in registers; that is the shape that fits 16 registers and a
   body of 6 unknowns. */

#ifndef ICFI_LAYER

/* Storage is padded to whole vectors of the widest kind, whatever the machine turns out to have. */
#if defined(ICFI_SIMD_GNU) || defined(ICFI_SIMD_SSE2)
#define ICFI_PAD ((int32_t)(32 / sizeof(icf_real)))
#else
#define ICFI_PAD 1
#endif

/* How often the kernels of the narrow vectors want a number of the right-hand factor */
#if defined(ICFI_SIMD_GNU) || defined(ICFI_SIMD_SSE2)
#define ICFI_DUP_MOST ((int32_t)(16 / sizeof(icf_real)))
#else
#define ICFI_DUP_MOST 1
#endif

/* Columns per strip of a front, a multiple of 24 so that strips begin where vectors do, and the
   numbers that a strip of the right-hand factor takes */
#define ICFI_STRIP 96
#define ICFI_SMALL (6 * ICFI_STRIP * ICFI_DUP_MOST)

/* Interleaved sums that a sum over a column is made of, on every machine */
#define ICFI_SUMS ((int32_t)(32 / sizeof(icf_real)))

/* Panels are 6 columns wide while they can be. */
static int32_t icfi_panel_width(int32_t cols)
{
    return cols >= 6 ? 6 : cols >= 3 ? 3 : 1;
}

/* Saves (or puts back) what the caller has above the diagonal of a t x t block. */
ICFI_FORCE_INLINE void icfi_copy_above(int32_t t, icf_real* a, ptrdiff_t ld, icf_real* copy,
                                       int save)
{
    int32_t i, j, k = 0;
    for (j = 1; j < t; j++) {
        for (i = 0; i < j; i++, k++) {
            if (save) {
                copy[k] = a[i + j * ld];
            } else {
                a[i + j * ld] = copy[k];
            }
        }
    }
}

static int icfi_good_pivot(icf_real d)
{
    return d >= ICFI_REAL_MIN && d <= ICFI_REAL_MAX;
}

/* The first pivot, of t, that is not good, or -1. A pivot that is a NaN makes one of all that
   follow, so that the last one shows it; the comparisons keep a NaN that they meet last. */
ICFI_FORCE_INLINE int32_t icfi_first_bad(int32_t t, const icf_real* d)
{
    icf_real least = d[0], most = d[0];
    int32_t i = 0;
    least = least < d[1] ? least : d[1];
    most = most > d[1] ? most : d[1];
    least = least < d[2] ? least : d[2];
    most = most > d[2] ? most : d[2];
    if (t == 6) {
        least = least < d[3] ? least : d[3];
        most = most > d[3] ? most : d[3];
        least = least < d[4] ? least : d[4];
        most = most > d[4] ? most : d[4];
        least = least < d[5] ? least : d[5];
        most = most > d[5] ? most : d[5];
    }
    if (least >= ICFI_REAL_MIN && most <= ICFI_REAL_MAX) return -1;
    while (i < t - 1 && icfi_good_pivot(d[i])) i++;
    return i;
}

/* L (by rows, without its diagonal) and 1/d of a 6 x 6 block, unrolled; with `store` the block
   becomes W. */
ICFI_FORCE_INLINE int32_t icfi_block6(icf_real* a, ptrdiff_t ld, icf_real* l, icf_real* r,
                                      int store)
{
    icf_real *a1 = a + ld, *a2 = a1 + ld, *a3 = a2 + ld, *a4 = a3 + ld, *a5 = a4 + ld;
    icf_real w10 = a[1], w20 = a[2], w30 = a[3], w40 = a[4], w50 = a[5];
    icf_real w21, w31, w41, w51, w32, w42, w52, w43, w53, w54, d[6];
    int32_t bad;
    d[0] = a[0];
    r[0] = 1 / d[0];
    l[0] = w10 * r[0];
    l[1] = w20 * r[0];
    l[3] = w30 * r[0];
    l[6] = w40 * r[0];
    l[10] = w50 * r[0];
    d[1] = a1[1] - w10 * l[0];
    r[1] = 1 / d[1];
    w21 = a1[2] - w20 * l[0];
    w31 = a1[3] - w30 * l[0];
    w41 = a1[4] - w40 * l[0];
    w51 = a1[5] - w50 * l[0];
    l[2] = w21 * r[1];
    l[4] = w31 * r[1];
    l[7] = w41 * r[1];
    l[11] = w51 * r[1];
    d[2] = a2[2] - w20 * l[1] - w21 * l[2];
    r[2] = 1 / d[2];
    w32 = a2[3] - w30 * l[1] - w31 * l[2];
    w42 = a2[4] - w40 * l[1] - w41 * l[2];
    w52 = a2[5] - w50 * l[1] - w51 * l[2];
    l[5] = w32 * r[2];
    l[8] = w42 * r[2];
    l[12] = w52 * r[2];
    d[3] = a3[3] - w30 * l[3] - w31 * l[4] - w32 * l[5];
    r[3] = 1 / d[3];
    w43 = a3[4] - w40 * l[3] - w41 * l[4] - w42 * l[5];
    w53 = a3[5] - w50 * l[3] - w51 * l[4] - w52 * l[5];
    l[9] = w43 * r[3];
    l[13] = w53 * r[3];
    d[4] = a4[4] - w40 * l[6] - w41 * l[7] - w42 * l[8] - w43 * l[9];
    r[4] = 1 / d[4];
    w54 = a4[5] - w50 * l[6] - w51 * l[7] - w52 * l[8] - w53 * l[9];
    l[14] = w54 * r[4];
    d[5] = a5[5] - w50 * l[10] - w51 * l[11] - w52 * l[12] - w53 * l[13] - w54 * l[14];
    r[5] = 1 / d[5];
    bad = icfi_first_bad(6, d);
    if (store && bad < 0) {
        a[0] = r[0];
        a1[1] = r[1], a1[2] = w21, a1[3] = w31, a1[4] = w41, a1[5] = w51;
        a2[2] = r[2], a2[3] = w32, a2[4] = w42, a2[5] = w52;
        a3[3] = r[3], a3[4] = w43, a3[5] = w53;
        a4[4] = r[4], a4[5] = w54;
        a5[5] = r[5];
    }
    return bad;
}

/* The same for 3 x 3 */
ICFI_FORCE_INLINE int32_t icfi_block3(icf_real* a, ptrdiff_t ld, icf_real* l, icf_real* r,
                                      int store)
{
    icf_real *a1 = a + ld, *a2 = a1 + ld, w10 = a[1], w20 = a[2], w21, d[3];
    int32_t bad;
    d[0] = a[0];
    r[0] = 1 / d[0];
    l[0] = w10 * r[0];
    l[1] = w20 * r[0];
    d[1] = a1[1] - w10 * l[0];
    r[1] = 1 / d[1];
    w21 = a1[2] - w20 * l[0];
    l[2] = w21 * r[1];
    d[2] = a2[2] - w20 * l[1] - w21 * l[2];
    r[2] = 1 / d[2];
    bad = icfi_first_bad(3, d);
    if (store && bad < 0) {
        a[0] = r[0];
        a1[1] = r[1];
        a1[2] = w21;
        a2[2] = r[2];
    }
    return bad;
}

ICFI_FORCE_INLINE int32_t icfi_block(int32_t t, icf_real* a, ptrdiff_t ld, icf_real* l, icf_real* r,
                                     int store)
{
    if (t == 6) return icfi_block6(a, ld, l, r, store);
    if (t == 3) return icfi_block3(a, ld, l, r, store);
    r[0] = 1 / a[0];
    if (!icfi_good_pivot(a[0])) return 0;
    if (store) a[0] = r[0];
    return -1;
}

/* y = L^-1 v for a 6 x 6 block of W, stored as y/d in y and v */
ICFI_FORCE_INLINE void icfi_block6_forward(const icf_real* a, ptrdiff_t ld, icf_real* v,
                                           icf_real* y)
{
    const icf_real *a1 = a + ld, *a2 = a1 + ld, *a3 = a2 + ld, *a4 = a3 + ld, *a5 = a4 + ld;
    icf_real y0 = v[0] * a[0], y1, y2, y3, y4;
    y1 = (v[1] - a[1] * y0) * a1[1];
    y2 = (v[2] - a[2] * y0 - a1[2] * y1) * a2[2];
    y3 = (v[3] - a[3] * y0 - a1[3] * y1 - a2[3] * y2) * a3[3];
    y4 = (v[4] - a[4] * y0 - a1[4] * y1 - a2[4] * y2 - a3[4] * y3) * a4[4];
    y[5] = (v[5] - a[5] * y0 - a1[5] * y1 - a2[5] * y2 - a3[5] * y3 - a4[5] * y4) * a5[5];
    v[0] = y[0] = y0;
    v[1] = y[1] = y1;
    v[2] = y[2] = y2;
    v[3] = y[3] = y3;
    v[4] = y[4] = y4;
    v[5] = y[5];
}

/* v + (1/d) (sum - (W - d)' v) for a 6 x 6 block, from the last row up */
ICFI_FORCE_INLINE void icfi_block6_backward(const icf_real* a, ptrdiff_t ld, const icf_real* sum,
                                            icf_real* v)
{
    const icf_real *a1 = a + ld, *a2 = a1 + ld, *a3 = a2 + ld, *a4 = a3 + ld, *a5 = a4 + ld;
    icf_real v5 = v[5] + a5[5] * sum[5];
    icf_real v4 = v[4] + a4[4] * (sum[4] - a4[5] * v5);
    icf_real v3 = v[3] + a3[3] * (sum[3] - a3[5] * v5 - a3[4] * v4);
    icf_real v2 = v[2] + a2[2] * (sum[2] - a2[5] * v5 - a2[4] * v4 - a2[3] * v3);
    icf_real v1 = v[1] + a1[1] * (sum[1] - a1[5] * v5 - a1[4] * v4 - a1[3] * v3 - a1[2] * v2);
    v[0] += a[0] * (sum[0] - a[5] * v5 - a[4] * v4 - a[3] * v3 - a[2] * v2 - a[1] * v1);
    v[1] = v1;
    v[2] = v2;
    v[3] = v3;
    v[4] = v4;
    v[5] = v5;
}

#endif

#if defined(ICFI_LAYER) && \
    ICFI_LAYER == 4 /* this file, included by itself: the kernels for one width of vectors */

/* y(k x t): rows of L, as the kernels read them: for each of k columns of W, t rows times 1/d, each
   number as often as ICFI_DUP says. */
ICFI_TARGET ICFI_FORCE_INLINE void ICFI_K(icfi_pack)(int32_t t, int32_t k, const icf_real* w,
                                                     ptrdiff_t ld, const icf_real* inverse,
                                                     icf_real* y)
{
    for (; k > 0; k--, w += ld, inverse += ld + 1, y += t * ICFI_DUP) {
        icf_real r = *inverse;
        ICFI_PUT(y, 0, w[0] * r);
        if (t == 1) continue;
        ICFI_PUT(y, 1, w[1] * r);
        ICFI_PUT(y, 2, w[2] * r);
        if (t == 3) continue;
        ICFI_PUT(y, 3, w[3] * r);
        ICFI_PUT(y, 4, w[4] * r);
        ICFI_PUT(y, 5, w[5] * r);
    }
}

/* c(rows x 6) -= x(rows x k) y(k x 6), from zero instead of c if `fresh`; then, where l is
   given, c is divided from the right by the unit lower triangle l of 6 columns. rows is a
   multiple of ICFI_LANES. */
ICFI_TARGET static void ICFI_K(icfi_rows6)(int32_t rows, int32_t k, const icf_real* x,
                                           ptrdiff_t ldx, const icf_real* y, icf_real* c,
                                           ptrdiff_t ldc, int fresh, const icf_real* l)
{
    const ICFI_V zero = {0};
    icf_real* c0 = c;
    for (; rows >= 2 * ICFI_LANES;
         rows -= 2 * ICFI_LANES, x += 2 * ICFI_LANES, c0 += 2 * ICFI_LANES) {
        icf_real *c1 = c0 + ldc, *c2 = c1 + ldc, *c3 = c2 + ldc, *c4 = c3 + ldc, *c5 = c4 + ldc;
        const icf_real *xk = x, *yk = y;
        ICFI_V a0, a1, a2, a3, a4, a5, b0, b1, b2, b3, b4, b5;
        int32_t n = k;
        if (fresh) {
            a0 = a1 = a2 = a3 = a4 = a5 = b0 = b1 = b2 = b3 = b4 = b5 = zero;
        } else {
            a0 = ICFI_LOAD(c0), b0 = ICFI_LOAD(c0 + ICFI_LANES);
            a1 = ICFI_LOAD(c1), b1 = ICFI_LOAD(c1 + ICFI_LANES);
            a2 = ICFI_LOAD(c2), b2 = ICFI_LOAD(c2 + ICFI_LANES);
            a3 = ICFI_LOAD(c3), b3 = ICFI_LOAD(c3 + ICFI_LANES);
            a4 = ICFI_LOAD(c4), b4 = ICFI_LOAD(c4 + ICFI_LANES);
            a5 = ICFI_LOAD(c5), b5 = ICFI_LOAD(c5 + ICFI_LANES);
        }
        for (; n > 0; n--, xk += ldx, yk += 6 * ICFI_DUP) {
            ICFI_V p = ICFI_LOAD(xk), q = ICFI_LOAD(xk + ICFI_LANES);
            a0 = ICFI_MULSUBY(a0, p, yk, 0), b0 = ICFI_MULSUBY(b0, q, yk, 0);
            a1 = ICFI_MULSUBY(a1, p, yk, 1), b1 = ICFI_MULSUBY(b1, q, yk, 1);
            a2 = ICFI_MULSUBY(a2, p, yk, 2), b2 = ICFI_MULSUBY(b2, q, yk, 2);
            a3 = ICFI_MULSUBY(a3, p, yk, 3), b3 = ICFI_MULSUBY(b3, q, yk, 3);
            a4 = ICFI_MULSUBY(a4, p, yk, 4), b4 = ICFI_MULSUBY(b4, q, yk, 4);
            a5 = ICFI_MULSUBY(a5, p, yk, 5), b5 = ICFI_MULSUBY(b5, q, yk, 5);
        }
        if (l) {
            a1 = ICFI_MULSUB(a1, a0, l[0]), b1 = ICFI_MULSUB(b1, b0, l[0]);
            a2 = ICFI_MULSUB(a2, a0, l[1]), b2 = ICFI_MULSUB(b2, b0, l[1]);
            a3 = ICFI_MULSUB(a3, a0, l[3]), b3 = ICFI_MULSUB(b3, b0, l[3]);
            a4 = ICFI_MULSUB(a4, a0, l[6]), b4 = ICFI_MULSUB(b4, b0, l[6]);
            a5 = ICFI_MULSUB(a5, a0, l[10]), b5 = ICFI_MULSUB(b5, b0, l[10]);
            a2 = ICFI_MULSUB(a2, a1, l[2]), b2 = ICFI_MULSUB(b2, b1, l[2]);
            a3 = ICFI_MULSUB(a3, a1, l[4]), b3 = ICFI_MULSUB(b3, b1, l[4]);
            a4 = ICFI_MULSUB(a4, a1, l[7]), b4 = ICFI_MULSUB(b4, b1, l[7]);
            a5 = ICFI_MULSUB(a5, a1, l[11]), b5 = ICFI_MULSUB(b5, b1, l[11]);
            a3 = ICFI_MULSUB(a3, a2, l[5]), b3 = ICFI_MULSUB(b3, b2, l[5]);
            a4 = ICFI_MULSUB(a4, a2, l[8]), b4 = ICFI_MULSUB(b4, b2, l[8]);
            a5 = ICFI_MULSUB(a5, a2, l[12]), b5 = ICFI_MULSUB(b5, b2, l[12]);
            a4 = ICFI_MULSUB(a4, a3, l[9]), b4 = ICFI_MULSUB(b4, b3, l[9]);
            a5 = ICFI_MULSUB(a5, a3, l[13]), b5 = ICFI_MULSUB(b5, b3, l[13]);
            a5 = ICFI_MULSUB(a5, a4, l[14]), b5 = ICFI_MULSUB(b5, b4, l[14]);
        }
        ICFI_STORE(c0, a0), ICFI_STORE(c0 + ICFI_LANES, b0);
        ICFI_STORE(c1, a1), ICFI_STORE(c1 + ICFI_LANES, b1);
        ICFI_STORE(c2, a2), ICFI_STORE(c2 + ICFI_LANES, b2);
        ICFI_STORE(c3, a3), ICFI_STORE(c3 + ICFI_LANES, b3);
        ICFI_STORE(c4, a4), ICFI_STORE(c4 + ICFI_LANES, b4);
        ICFI_STORE(c5, a5), ICFI_STORE(c5 + ICFI_LANES, b5);
    }
    if (rows) { /* one vector is left */
        icf_real *c1 = c0 + ldc, *c2 = c1 + ldc, *c3 = c2 + ldc, *c4 = c3 + ldc, *c5 = c4 + ldc;
        ICFI_V a0, a1, a2, a3, a4, a5;
        if (fresh) {
            a0 = a1 = a2 = a3 = a4 = a5 = zero;
        } else {
            a0 = ICFI_LOAD(c0), a1 = ICFI_LOAD(c1), a2 = ICFI_LOAD(c2);
            a3 = ICFI_LOAD(c3), a4 = ICFI_LOAD(c4), a5 = ICFI_LOAD(c5);
        }
        for (; k > 0; k--, x += ldx, y += 6 * ICFI_DUP) {
            ICFI_V p = ICFI_LOAD(x);
            a0 = ICFI_MULSUBY(a0, p, y, 0), a1 = ICFI_MULSUBY(a1, p, y, 1),
            a2 = ICFI_MULSUBY(a2, p, y, 2);
            a3 = ICFI_MULSUBY(a3, p, y, 3), a4 = ICFI_MULSUBY(a4, p, y, 4),
            a5 = ICFI_MULSUBY(a5, p, y, 5);
        }
        if (l) {
            a1 = ICFI_MULSUB(a1, a0, l[0]);
            a2 = ICFI_MULSUB(ICFI_MULSUB(a2, a0, l[1]), a1, l[2]);
            a3 = ICFI_MULSUB(ICFI_MULSUB(ICFI_MULSUB(a3, a0, l[3]), a1, l[4]), a2, l[5]);
            a4 = ICFI_MULSUB(ICFI_MULSUB(a4, a0, l[6]), a1, l[7]);
            a4 = ICFI_MULSUB(ICFI_MULSUB(a4, a2, l[8]), a3, l[9]);
            a5 = ICFI_MULSUB(ICFI_MULSUB(ICFI_MULSUB(a5, a0, l[10]), a1, l[11]), a2, l[12]);
            a5 = ICFI_MULSUB(ICFI_MULSUB(a5, a3, l[13]), a4, l[14]);
        }
        ICFI_STORE(c0, a0), ICFI_STORE(c1, a1), ICFI_STORE(c2, a2);
        ICFI_STORE(c3, a3), ICFI_STORE(c4, a4), ICFI_STORE(c5, a5);
    }
}

/* The same for 3 columns */
ICFI_TARGET static void ICFI_K(icfi_rows3)(int32_t rows, int32_t k, const icf_real* x,
                                           ptrdiff_t ldx, const icf_real* y, icf_real* c,
                                           ptrdiff_t ldc, int fresh, const icf_real* l)
{
    const ICFI_V zero = {0};
    for (; rows >= 2 * ICFI_LANES;
         rows -= 2 * ICFI_LANES, x += 2 * ICFI_LANES, c += 2 * ICFI_LANES) {
        icf_real *c1 = c + ldc, *c2 = c1 + ldc;
        const icf_real *xk = x, *yk = y;
        ICFI_V a0, a1, a2, b0, b1, b2;
        int32_t n = k;
        if (fresh) {
            a0 = a1 = a2 = b0 = b1 = b2 = zero;
        } else {
            a0 = ICFI_LOAD(c), b0 = ICFI_LOAD(c + ICFI_LANES);
            a1 = ICFI_LOAD(c1), b1 = ICFI_LOAD(c1 + ICFI_LANES);
            a2 = ICFI_LOAD(c2), b2 = ICFI_LOAD(c2 + ICFI_LANES);
        }
        for (; n > 0; n--, xk += ldx, yk += 3 * ICFI_DUP) {
            ICFI_V p = ICFI_LOAD(xk), q = ICFI_LOAD(xk + ICFI_LANES);
            a0 = ICFI_MULSUBY(a0, p, yk, 0), b0 = ICFI_MULSUBY(b0, q, yk, 0);
            a1 = ICFI_MULSUBY(a1, p, yk, 1), b1 = ICFI_MULSUBY(b1, q, yk, 1);
            a2 = ICFI_MULSUBY(a2, p, yk, 2), b2 = ICFI_MULSUBY(b2, q, yk, 2);
        }
        if (l) {
            a1 = ICFI_MULSUB(a1, a0, l[0]), b1 = ICFI_MULSUB(b1, b0, l[0]);
            a2 = ICFI_MULSUB(a2, a0, l[1]), b2 = ICFI_MULSUB(b2, b0, l[1]);
            a2 = ICFI_MULSUB(a2, a1, l[2]), b2 = ICFI_MULSUB(b2, b1, l[2]);
        }
        ICFI_STORE(c, a0), ICFI_STORE(c + ICFI_LANES, b0);
        ICFI_STORE(c1, a1), ICFI_STORE(c1 + ICFI_LANES, b1);
        ICFI_STORE(c2, a2), ICFI_STORE(c2 + ICFI_LANES, b2);
    }
    if (rows) {
        icf_real *c1 = c + ldc, *c2 = c1 + ldc;
        ICFI_V a0, a1, a2;
        if (fresh) {
            a0 = a1 = a2 = zero;
        } else {
            a0 = ICFI_LOAD(c), a1 = ICFI_LOAD(c1), a2 = ICFI_LOAD(c2);
        }
        for (; k > 0; k--, x += ldx, y += 3 * ICFI_DUP) {
            ICFI_V p = ICFI_LOAD(x);
            a0 = ICFI_MULSUBY(a0, p, y, 0), a1 = ICFI_MULSUBY(a1, p, y, 1),
            a2 = ICFI_MULSUBY(a2, p, y, 2);
        }
        if (l) {
            a1 = ICFI_MULSUB(a1, a0, l[0]);
            a2 = ICFI_MULSUB(ICFI_MULSUB(a2, a0, l[1]), a1, l[2]);
        }
        ICFI_STORE(c, a0), ICFI_STORE(c1, a1), ICFI_STORE(c2, a2);
    }
}

/* The same for one column, where there is no triangle to divide by */
ICFI_TARGET static void ICFI_K(icfi_rows1)(int32_t rows, int32_t k, const icf_real* x,
                                           ptrdiff_t ldx, const icf_real* y, icf_real* c, int fresh)
{
    const ICFI_V zero = {0};
    for (; rows > 0; rows -= ICFI_LANES, x += ICFI_LANES, c += ICFI_LANES) {
        const icf_real *xk = x, *yk = y;
        ICFI_V a = fresh ? zero : ICFI_LOAD(c);
        int32_t n = k;
        for (; n > 0; n--, xk += ldx, yk += ICFI_DUP) {
            ICFI_V v = ICFI_LOAD(xk);
            a = ICFI_MULSUBY(a, v, yk, 0);
        }
        ICFI_STORE(c, a);
    }
}

/* The kernel for a panel of `cols` columns, 6, 3 or 1 */
ICFI_TARGET static void ICFI_K(icfi_vectors)(int32_t cols, int32_t rows, int32_t k,
                                             const icf_real* x, ptrdiff_t ldx, const icf_real* y,
                                             icf_real* c, ptrdiff_t ldc, int fresh,
                                             const icf_real* l)
{
    if (cols == 6) {
        ICFI_K(icfi_rows6)(rows, k, x, ldx, y, c, ldc, fresh, l);
    } else if (cols == 3) {
        ICFI_K(icfi_rows3)(rows, k, x, ldx, y, c, ldc, fresh, l);
    } else {
        ICFI_K(icfi_rows1)(rows, k, x, ldx, y, c, fresh);
    }
}

/* The same for any number of rows: the last ones, fewer than a vector, go through a buffer, so
   that nothing below them is written. Up to a vector below them x is read. */
ICFI_TARGET static void ICFI_K(icfi_rows)(int32_t cols, int32_t rows, int32_t k, const icf_real* x,
                                          ptrdiff_t ldx, const icf_real* y, icf_real* c,
                                          ptrdiff_t ldc, int fresh, const icf_real* l)
{
    int32_t rest = rows % ICFI_LANES, i, j;
    rows -= rest;
    if (rows) ICFI_K(icfi_vectors)(cols, rows, k, x, ldx, y, c, ldc, fresh, l);
    if (rest) {
        icf_real buffer[6 * ICFI_LANES];
        c += rows;
        for (j = 0; j < cols; j++)
            for (i = 0; i < ICFI_LANES; i++)
                buffer[i + j * ICFI_LANES] = i < rest ? c[i + j * ldc] : 0;
        ICFI_K(icfi_vectors)(cols, ICFI_LANES, k, x + rows, ldx, y, buffer, ICFI_LANES, fresh, l);
        for (j = 0; j < cols; j++)
            for (i = 0; i < rest; i++) c[i + j * ldc] = buffer[i + j * ICFI_LANES];
    }
}

/* The lower triangle of c(n x n) -= x diag(1/d)^-1 x' over k columns of W: with W = L D this
   subtracts L D L'. `inverse` points to 1/d of the first column, the next ones follow along the
   diagonal. */
ICFI_TARGET static void ICFI_K(icfi_outer)(int32_t n, int32_t rows, int32_t k, const icf_real* x,
                                           ptrdiff_t ldx, const icf_real* inverse, icf_real* c,
                                           ptrdiff_t ldc, int fresh, int padded, icf_real* y)
{
    int32_t j = 0;
    while (j < n) {
        int32_t t = icfi_panel_width(n - j), from = padded ? j - j % ICFI_LANES : j;
        icf_real* cj = c + j * ldc;
        icf_real above[15];
        if (!padded) icfi_copy_above(t, cj + j, ldc, above, 1);
        ICFI_K(icfi_pack)(t, k, x + j, ldx, inverse, y);
        ICFI_K(icfi_rows)(t, rows - from, k, x + from, ldx, y, cj + from, ldc, fresh, NULL);
        if (!padded) icfi_copy_above(t, cj + j, ldc, above, 0);
        j += t;
    }
}

/* Factors the first `cols` columns of the lower trapezoid a of `height` rows, in place. With
   `padded`, `rows` and ld are `height` rounded up to whole vectors, and what stands above the
   diagonal is scratch; without it, rows is height, and nothing but the trapezoid is written. y is
   scratch of `room` numbers. Returns the first bad pivot, or -1.

   Columns are taken in strips as deep as y has room for: inside a strip, each panel of 6 first
   receives what the panels left of it in the strip subtract; a finished strip is subtracted from
   all columns right of it. */
ICFI_TARGET ICFI_NOINLINE static int32_t ICFI_K(icfi_panel_factor)(int32_t height, int32_t rows,
                                                                   int32_t cols, icf_real* a,
                                                                   ptrdiff_t ld, int padded,
                                                                   icf_real* y, int32_t room)
{
    int32_t strip, j, depth = room / (6 * ICFI_DUP);
    if (depth > ICFI_STRIP) depth = ICFI_STRIP;
    for (strip = 0; strip < cols; strip += depth) {
        int32_t end = cols - strip < depth ? cols : strip + depth;
        const icf_real* x = a + strip * ld;
        for (j = strip; j < end;) {
            int32_t t = icfi_panel_width(end - j), k = j - strip, bad;
            int32_t from = padded ? j - j % ICFI_LANES : j, to;
            icf_real l[15], inverse[6], above[15];
            icf_real* c = a + j * ld;

            /* the rows that share vectors with the diagonal block; all if nothing is left of it */
            to = from + (j + t - from + ICFI_LANES - 1) / ICFI_LANES * ICFI_LANES;
            if (to > rows || !k) to = rows;
            if (!padded) icfi_copy_above(t, c + j, ld, above, 1);
            if (k) {
                ICFI_K(icfi_pack)(t, k, x + j, ld, x + strip, y);
                ICFI_K(icfi_rows)(t, to - from, k, x + from, ld, y, c + from, ld, 0, NULL);
            }

            /* the diagonal block; the kernel repeats it, to the bit, together with the rows
               below */
            bad = icfi_block(t, c + j, ld, l, inverse, j + t == height);
            if (bad >= 0) {
                if (!padded) icfi_copy_above(t, c + j, ld, above, 0);
                return j + bad;
            }
            if (j + t < height) {
                ICFI_K(icfi_rows)(t, to - from, 0, x, ld, y, c + from, ld, 0, l);
                if (to < rows) ICFI_K(icfi_rows)(t, rows - to, k, x + to, ld, y, c + to, ld, 0, l);
                for (k = 0; k < t; k++) c[j + k + k * ld] = inverse[k];
            }
            if (!padded) icfi_copy_above(t, c + j, ld, above, 0);
            j += t;
        }
        if (end < cols) {
            ICFI_K(icfi_outer)
            (cols - end, rows - end, end - strip, x + end, ld, x + strip, a + end + end * ld, ld, 0,
             padded, y);
        }
    }
    return -1;
}

/* L y = b on the first `cols` entries of w, y stored over them as y_j / d_j; the rows below are
   w - L y. */
ICFI_TARGET static void ICFI_K(icfi_forward)(int32_t cols, int32_t rows, const icf_real* a,
                                             ptrdiff_t ld, icf_real* w)
{
    int32_t i, j, k, q;
    for (j = 0; j < cols; j += q) {
        const icf_real* c = a + j * ld;
        icf_real y[6] = {0, 0, 0, 0, 0, 0};
        q = cols - j < 6 ? cols - j : 6;
        if (q == 6) {
            icfi_block6_forward(c + j, ld, w + j, y);
        } else {
            for (k = 0; k < q; k++) {
                icf_real* v = w + j;
                y[k] = v[k] * c[j + k + k * ld];
                for (i = k + 1; i < q; i++) v[i] -= c[j + i + k * ld] * y[k];
                v[k] = y[k];
            }
        }
        i = j + q;
        if (q == 6) {
            const icf_real *c1 = c + ld, *c2 = c1 + ld, *c3 = c2 + ld, *c4 = c3 + ld, *c5 = c4 + ld;
            for (; i + ICFI_LANES <= rows; i += ICFI_LANES) {
                ICFI_V v = ICFI_LOAD(w + i);
                v = ICFI_MULSUB(ICFI_MULSUB(v, ICFI_LOAD(c + i), y[0]), ICFI_LOAD(c1 + i), y[1]);
                v = ICFI_MULSUB(ICFI_MULSUB(v, ICFI_LOAD(c2 + i), y[2]), ICFI_LOAD(c3 + i), y[3]);
                v = ICFI_MULSUB(ICFI_MULSUB(v, ICFI_LOAD(c4 + i), y[4]), ICFI_LOAD(c5 + i), y[5]);
                ICFI_STORE(w + i, v);
            }
        }
        for (; i < rows; i++) {
            icf_real v = w[i];
            for (k = 0; k < q; k++) v -= c[i + k * ld] * y[k];
            w[i] = v;
        }
    }
}

/* sum[q] -= column q of a, times w, for 6 columns or fewer over n rows. A sum is made of ICFI_SUMS
   interleaved ones, whatever the width of the vectors, and these are added in one order. */
ICFI_TARGET static void ICFI_K(icfi_column_sums)(int32_t columns, int32_t n, const icf_real* a,
                                                 ptrdiff_t ld, const icf_real* w, icf_real* sum)
{
    icf_real part[6 * ICFI_SUMS];
    int32_t i, k, q, whole = n - n % ICFI_SUMS;
    for (k = 0; k < ICFI_SUMS; k += ICFI_LANES) {
        ICFI_V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0};
        const icf_real* c = a + k;
        if (columns == 6) {
            for (i = k; i < whole; i += ICFI_SUMS, c += ICFI_SUMS) {
                ICFI_V v = ICFI_LOAD(w + i);
                s0 = ICFI_MULSUBV(s0, v, ICFI_LOAD(c));
                s1 = ICFI_MULSUBV(s1, v, ICFI_LOAD(c + ld));
                s2 = ICFI_MULSUBV(s2, v, ICFI_LOAD(c + 2 * ld));
                s3 = ICFI_MULSUBV(s3, v, ICFI_LOAD(c + 3 * ld));
                s4 = ICFI_MULSUBV(s4, v, ICFI_LOAD(c + 4 * ld));
                s5 = ICFI_MULSUBV(s5, v, ICFI_LOAD(c + 5 * ld));
            }
            ICFI_STORE(part + ICFI_SUMS + k, s1);
            ICFI_STORE(part + 2 * ICFI_SUMS + k, s2);
            ICFI_STORE(part + 3 * ICFI_SUMS + k, s3);
            ICFI_STORE(part + 4 * ICFI_SUMS + k, s4);
            ICFI_STORE(part + 5 * ICFI_SUMS + k, s5);
        } else {
            for (q = columns - 1; q >= 0; q--) {
                ICFI_V v = {0};
                for (i = k, c = a + k + q * ld; i < whole; i += ICFI_SUMS, c += ICFI_SUMS) {
                    v = ICFI_MULSUBV(v, ICFI_LOAD(w + i), ICFI_LOAD(c));
                }
                ICFI_STORE(part + q * ICFI_SUMS + k, v);
                s0 = v;
            }
        }
        ICFI_STORE(part + k, s0);
    }
    for (q = 0; q < columns; q++) {
        icf_real* p = part + q * ICFI_SUMS;
        const icf_real* c = a + q * ld;
        for (i = whole; i < n; i++) p[i - whole] -= c[i] * w[i];
        for (k = ICFI_SUMS / 2; k > 0; k /= 2) {
            for (i = 0; i < k; i++) p[i] += p[i + k];
        }
        sum[q] = p[0];
    }
}

/* D L' x = y on the first `cols` entries of w, the rows below being known. */
ICFI_TARGET static void ICFI_K(icfi_backward)(int32_t cols, int32_t rows, const icf_real* a,
                                              ptrdiff_t ld, icf_real* w)
{
    int32_t i, j, k, q;
    for (j = (cols - 1) / 6 * 6; j >= 0; j -= 6) {
        const icf_real* c = a + j + j * ld;
        icf_real* v = w + j;
        icf_real sum[6];
        q = cols - j < 6 ? cols - j : 6;
        ICFI_K(icfi_column_sums)(q, rows - j - q, c + q, ld, v + q, sum);
        if (q == 6) {
            icfi_block6_backward(c, ld, sum, v);
            continue;
        }
        for (k = q - 1; k >= 0; k--) {
            icf_real x = sum[k];
            for (i = q - 1; i > k; i--) x -= c[i + k * ld] * v[i];
            v[k] += c[k + k * ld] * x;
        }
    }
}

#endif

#ifndef ICFI_LAYER

#define ICFI_LAYER 4
#define ICFI_WIDE 0
#include "icf.h"
#undef ICFI_WIDE
#ifdef ICFI_SIMD_AVX2
#define ICFI_WIDE 1
#include "icf.h"
#undef ICFI_WIDE
#endif
#undef ICFI_LAYER

/* Whether this machine has AVX2 */
ICFI_FORCE_INLINE int icfi_wide(void)
{
#ifdef ICFI_SIMD_AVX2
    return __builtin_cpu_supports("avx2") ICFI_AND_FMA;
#else
    return 0;
#endif
}

/* Runs f with the widest vectors there are. Between wide code and other code the upper halves of
   the registers have to be cleared, which gcc does by itself from -O2 on only. */
#ifdef ICFI_SIMD_AVX2
#define ICFI_WIDEST(f, arguments) (icfi_wide() ? f##_wide arguments : f##_base arguments)
__attribute__((target("avx2"))) static void icfi_clear_upper(void)
{
    __builtin_ia32_vzeroupper();
}
#define ICFI_WIDEST_END() (icfi_wide() ? icfi_clear_upper() : (void)0)
#else
#define ICFI_WIDEST(f, arguments) (f##_base arguments)
#define ICFI_WIDEST_END() ((void)0)
#endif

/* The plain loops, for what is smaller than a panel */
static int32_t icfi_plain_factor(int32_t n, icf_real* a, ptrdiff_t ld)
{
    int32_t i, j, k;
    for (j = 0; j < n; j++) {
        icf_real* c = a + j * ld;
        for (k = 0; k < j; k++) {
            const icf_real* w = a + k * ld;
            icf_real l = w[j] * w[k];
            for (i = j; i < n; i++) c[i] -= w[i] * l;
        }
        if (!icfi_good_pivot(c[j])) return j;
        c[j] = 1 / c[j];
    }
    return -1;
}

/* On its own, because of its frame: room for strips of 36 or 18 columns */
static int32_t icfi_dense_panels(int32_t n, icf_real* a, ptrdiff_t ld)
{
    icf_real small[1728 / sizeof(icf_real)];
    const int32_t room = (int32_t)(sizeof small / sizeof(icf_real));
    int32_t bad = ICFI_WIDEST(icfi_panel_factor, (n, n, n, a, ld, 0, small, room));
    ICFI_WIDEST_END();
    return bad;
}

ICF_API icf_result icf_dense_factor(int32_t n, icf_real* a, int32_t ld, int32_t* pivot)
{
    int32_t bad;
    if (n < 0 || ld < n || (n && !a)) return ICF_RESULT_BAD_ARGUMENT;
    if (n == 6 || n == 3) {
        icf_real l[15], inverse[6];
        bad = icfi_block(n, a, ld, l, inverse, 1);
    } else if (n < 8) {
        bad = icfi_plain_factor(n, a, ld);
    } else {
        bad = icfi_dense_panels(n, a, ld);
    }
    if (bad < 0) return ICF_RESULT_OK;
    if (pivot) *pivot = bad;
    return ICF_RESULT_NOT_SPD;
}

ICF_API icf_result icf_dense_solve(int32_t n, const icf_real* factor, int32_t ld, icf_real* x,
                                   int32_t count, int32_t ldx)
{
    int32_t r;
    if (n < 0 || ld < n || ldx < n || count < 0 || (n && count && (!factor || !x)))
        return ICF_RESULT_BAD_ARGUMENT;
    for (r = 0; n && r < count; r++) {
        icf_real* w = x + (ptrdiff_t)r * ldx;
        ICFI_WIDEST(icfi_forward, (n, n, factor, ld, w));
        ICFI_WIDEST(icfi_backward, (n, n, factor, ld, w));
    }
    ICFI_WIDEST_END();
    return ICF_RESULT_OK;
}

#endif

// ------------------------------------------------------------------------------------------------
// Layer 5: block-sparse Cholesky
// >>sparse

/* A is a symmetric matrix of blocks: cliques on the diagonal, edges off it. The factorisation is
   multifrontal:

     analyze  orders the cliques (minimum degree on the graph of blocks, weighted by their sizes), finds the
              elimination tree, and merges cliques into fronts where doing a little more arithmetic is cheaper
              than handling two fronts. All of it depends on the pattern alone.
     bind     lays out one panel a front, [W of its own columns over the rows they update], and one update
              matrix a front, what those columns subtract from the fronts above.
     begin, add_...   zero the panels; blocks are added straight into them: A itself is never stored.
     factor   children before parents: what children pass up is added, the panel is factored (layer 4), and
              its own update matrix made for the parent.

   If update matrices are kept, a change of some blocks redoes only the fronts they live in and the
   fronts above; every front does the same arithmetic in the same order as in a full run, so the
   bits are the same.

   Where there is no memory for the factor: conjugate gradients on the blocks themselves,
   preconditioned with the factored diagonal blocks, behind the same calls. */

#ifndef ICFI_LAYER

/* A piece of one of the two blocks of memory of an icf_sparse */
#define ICFI_AT(type, memory, at) ((type*)(void*)((unsigned char*)(memory) + (at)))
#define ICFI_INTS(s, piece) ICFI_AT(int32_t, (s)->pattern, (s)->at.piece)
#define ICFI_FACTOR_INTS(s, piece) ICFI_AT(int32_t, (s)->factor, (s)->at.piece)
#define ICFI_FACTOR_SIZES(s, piece) ICFI_AT(size_t, (s)->factor, (s)->at.piece)
#define ICFI_FACTOR_REALS(s, piece) ICFI_AT(icf_real, (s)->factor, (s)->at.piece)

#define ICFI_SPARSE_COOKIE 0x1cf5ba5e

/* Rows of a front: its entries are counted in 32 bits. */
#define ICFI_MOST_ROWS 46000

/* Where a block is added: cliques first, then edges. A turned block has the rows of the edge's
   second clique; ld is negative then. The front is the one it is in, or -1 for a block of no
   entries. */
typedef struct icfi_place {
    size_t at;
    int32_t ld, front;
} icfi_place;

/* The pieces that stay for as long as the pattern does, then scratch for the analysis alone. */
static void icfi_sparse_layout_pattern(icfi_sparse_at* at, icfi_arena* arena, int32_t cliques,
                                       int32_t edges)
{
    size_t n = (size_t)cliques, m = (size_t)edges, i4 = sizeof(int32_t);
    at->size = icfi_arena_take(arena, n, i4);
    at->start = icfi_arena_take(arena, n + 1, i4);
    at->pair = icfi_arena_take(arena, 2 * m, i4);
    at->near_start = icfi_arena_take(arena, n + 1, i4);
    at->near = icfi_arena_take(arena, 2 * m, i4);
    at->order = icfi_arena_take(arena, n, i4);
    at->position = icfi_arena_take(arena, n, i4);
    at->front = icfi_arena_take(arena, n, i4);
    at->column = icfi_arena_take(arena, n, i4);
    at->place = icfi_arena_take(arena, n + m, sizeof(icfi_place));
    at->member = icfi_arena_take(arena, n + 1, i4);
    at->parent = icfi_arena_take(arena, n, i4);
    at->child = icfi_arena_take(arena, n, i4);
    at->sibling = icfi_arena_take(arena, n, i4);
    at->cols = icfi_arena_take(arena, n, i4);
    at->rows = icfi_arena_take(arena, n, i4);
    at->blocks = icfi_arena_take(arena, n, i4);
    at->scratch = arena->used;
}

/* ---- the graph ---- */

/* near: for each clique its neighbours in ascending order, each once, from pairs in any order.
   Going twice through lists of the other end sorts them. Cliques of size 0 have none. */
static void icfi_graph(int32_t n, const int32_t* size, int32_t edges, const int32_t* pair,
                       int32_t* near_start, int32_t* near, int32_t* list_start, int32_t* list)
{
    int32_t i, e, k;
    for (i = 0; i <= n; i++) near_start[i] = list_start[i] = 0;
    for (e = 0; e < edges; e++) {
        int32_t a = pair[2 * e], b = pair[2 * e + 1];
        if (!size[a] || !size[b]) continue;
        list_start[a + 1]++;
        list_start[b + 1]++;
    }
    for (i = 0; i < n; i++) near_start[i + 1] = list_start[i + 1] += list_start[i];
    for (e = 0; e < edges; e++) {
        int32_t a = pair[2 * e], b = pair[2 * e + 1];
        if (!size[a] || !size[b]) continue;
        list[list_start[a]++] = b;
        list[list_start[b]++] = a;
    }
    for (i = n; i > 0; i--) list_start[i] = list_start[i - 1];
    list_start[0] = 0;

    /* the transposed lists come out in ascending order; near_start runs ahead while they are
       filled */
    for (i = 0; i < n; i++) {
        for (k = list_start[i]; k < list_start[i + 1]; k++) near[near_start[list[k]]++] = i;
    }
    for (i = n; i > 0; i--) near_start[i] = near_start[i - 1];
    near_start[0] = 0;

    /* close the gaps that repeated edges leave */
    for (i = 0, k = 0; i < n; i++) {
        int32_t first = k;
        for (e = near_start[i]; e < near_start[i + 1]; e++) {
            if (k == first || near[k - 1] != near[e]) near[k++] = near[e];
        }
        near_start[i] = first;
    }
    near_start[n] = k;
}

/* ---- ordering ---- */

/* Scratch of the ordering. A node is a variable (not eliminated yet) or an element (eliminated:
   it stands for the clique of variables its elimination made). list[start ...] holds, for a
   variable, `elements` elements and then variables, `length` in all; for an element its
   variables. */
typedef struct icfi_order {
    int32_t n, free, end;
    int32_t *list, *start, *length, *elements, *weight, *degree, *mark, *next, *tail, *bucket,
        *chain;
    int32_t *heap, *place;
    double* score;
    const int32_t* stage; /* NULL, or: a variable waits until all of lower stages are gone */
    int32_t heaped;
    int rule;
} icfi_order;

/* Room for the lists: the graph, a new element, and some more so that compressing is rare */
static uint64_t icfi_order_list(int32_t n, int32_t m)
{
    return 2 * (uint64_t)m + (uint64_t)m / 2 + (uint64_t)n + 1;
}

/* A binary heap of variables: lowest stage first, then least score, then least index. */
static int icfi_heap_before(const icfi_order* o, int32_t a, int32_t b)
{
    if (o->stage && o->stage[a] != o->stage[b]) return o->stage[a] < o->stage[b];
    if (o->score[a] != o->score[b]) return o->score[a] < o->score[b];
    return a < b;
}

static void icfi_heap_up(icfi_order* o, int32_t k)
{
    int32_t i = o->heap[k];
    while (k > 0) {
        int32_t up = (k - 1) / 2, j = o->heap[up];
        if (!icfi_heap_before(o, i, j)) break;
        o->heap[k] = j;
        o->place[j] = k;
        k = up;
    }
    o->heap[k] = i;
    o->place[i] = k;
}

static void icfi_heap_down(icfi_order* o, int32_t k)
{
    int32_t i = o->heap[k];
    for (;;) {
        int32_t down = 2 * k + 1, j;
        if (down >= o->heaped) break;
        if (down + 1 < o->heaped && icfi_heap_before(o, o->heap[down + 1], o->heap[down])) down++;
        j = o->heap[down];
        if (!icfi_heap_before(o, j, i)) break;
        o->heap[k] = j;
        o->place[j] = k;
        k = down;
    }
    o->heap[k] = i;
    o->place[i] = k;
}

static void icfi_heap_insert(icfi_order* o, int32_t i)
{
    o->heap[o->heaped] = i;
    icfi_heap_up(o, o->heaped++);
}

/* After a change of its score. */
static void icfi_heap_update(icfi_order* o, int32_t i)
{
    icfi_heap_up(o, o->place[i]);
    icfi_heap_down(o, o->place[i]);
}

static void icfi_heap_remove(icfi_order* o, int32_t i)
{
    int32_t k = o->place[i], last = o->heap[--o->heaped];
    o->place[i] = -1;
    if (last == i) return;
    o->heap[k] = last;
    o->place[last] = k;
    icfi_heap_up(o, k);
    icfi_heap_down(o, o->place[last]);
}

/* Moves the living lists to the front of the space. The first entry of each is its owner, for a
   moment. */
static void icfi_order_compress(icfi_order* o)
{
    int32_t i, k, to = 0;
    for (i = 0; i < o->n; i++) {
        if (o->length[i] > 0) {
            int32_t first = o->list[o->start[i]];
            o->list[o->start[i]] = -i - 1;
            o->start[i] = first;
        }
    }
    for (k = 0; k < o->free;) {
        int32_t owner = -o->list[k] - 1, count;
        if (owner < 0) {
            k++;
            continue;
        }
        count = o->length[owner];
        o->list[to] = o->start[owner];
        o->start[owner] = to++;
        for (k++, count--; count > 0; count--) o->list[to++] = o->list[k++];
    }
    o->free = to;
}

/* j follows i wherever i goes: appended to the chain of i. */
static void icfi_order_absorb(icfi_order* o, int32_t i, int32_t j)
{
    o->chain[o->tail[i]] = j;
    o->tail[i] = o->tail[j];
    o->weight[j] = 0;
    o->length[j] = 0;
}

/* Turns the variable p into an element: its list becomes the union of its variables and of those
   of its elements, which disappear. The variables in it get negative weights. Returns their
   weight. */
static int32_t icfi_order_eliminate(icfi_order* o, int32_t p)
{
    int32_t begin, k, q, weight = 0;
    int32_t at, elements = o->elements[p], length = o->length[p];
    if (o->end - o->free < o->n) icfi_order_compress(o);
    at = o->start[p];
    begin = o->free;
    for (k = 0; k <= elements; k++) {
        /* the lists of its elements, then the rest of its own */
        int32_t e = k < elements ? o->list[at + k] : p;
        int32_t from = k < elements ? o->start[e] : at + elements;
        int32_t count = k < elements ? o->length[e] : length - elements;
        for (q = from; q < from + count; q++) {
            int32_t i = o->list[q];
            if (o->weight[i] <= 0) continue;
            weight += o->weight[i];
            o->weight[i] = -o->weight[i];
            o->list[o->free++] = i;
        }
        if (e != p) {
            o->mark[e] = 0;
            o->length[e] = 0;
        }
    }
    o->start[p] = begin;
    o->length[p] = o->free - begin;
    return weight;
}

/* Merges those variables of the element p that have the same neighbours. Only those with the
   same sum of neighbours, which hash[] holds, are compared. */
static void icfi_order_merge_equal(icfi_order* o, int32_t p, const int32_t* hash, int32_t* stamp)
{
    int32_t k, q;
    for (k = o->start[p]; k < o->start[p] + o->length[p]; k++) {
        int32_t i = o->list[k], j, before;
        if (o->weight[i] == 0) continue;
        i = o->bucket[hash[i]];
        if (i < 0) continue;
        o->bucket[hash[i]] = -1;
        for (; o->next[i] >= 0; i = o->next[i]) {
            int32_t length = o->length[i], elements = o->elements[i];
            for (q = 1; q < length; q++) o->mark[o->list[o->start[i] + q]] = *stamp;
            for (before = i, j = o->next[i]; j >= 0; j = o->next[j]) {
                int same = o->length[j] == length && o->elements[j] == elements &&
                           (!o->stage || o->stage[i] == o->stage[j]);
                for (q = 1; same && q < length; q++)
                    same = o->mark[o->list[o->start[j] + q]] == *stamp;
                if (same) {
                    o->weight[i] += o->weight[j];
                    icfi_heap_remove(o, j);
                    icfi_order_absorb(o, i, j);
                    o->next[before] = o->next[j];
                } else {
                    before = j;
                }
            }
            ++*stamp;
            if (o->next[i] < 0) break;
        }
    }
}

/* What the elimination of i, of weight w, would cost. Its neighbours, of weight d, become one
   clique; those in the last element, of weight c, are one already, and so is what each of its
   other elements has outside the last one: `inner` is the sum of the squares of these weights.
   Rule 0 is the best in piles of bodies, rule 1 in meshes, rule 2, the arithmetic of the step
   itself, with a few cliques far larger than others. */
static double icfi_order_score(const icfi_order* o, int32_t i, int32_t element_weight, double inner)
{
    double w = o->weight[i], d = o->degree[i], c = element_weight - w;
    if (o->rule == 0) return d * d * d - c * c * c;
    if (o->rule == 1) return d * (d * d - c * c - inner) / w;
    return (d + w) * (d + w) * (d + w) - d * d * d;
}

/* A clique with so many neighbours that its list would be looked through again and again; such
   ones are left out, and eliminated last. */
static int icfi_is_hub(int32_t neighbours, int32_t n)
{
    return neighbours > 16 && (double)neighbours * neighbours > 100 * (double)n;
}

/* Minimum degree on the quotient graph, as in Amestoy, Davis and Duff (1996): degrees are bounds
   from above, found by one pass over the elements next to the last one; variables with equal
   neighbours are merged, and those that only the new element touches are eliminated with it.
   Writes the order of elimination. */
static void icfi_order_run(icfi_order* o, const int32_t* near_start, const int32_t* near,
                           const int32_t* size, int32_t* hash, int32_t* order)
{
    int32_t i, k, q, done = 0, left = 0, stamp = 2, widest = 0, n = o->n;
    o->free = near_start[n];
    o->heaped = 0;
    for (i = 0; i < n; i++) {
        o->start[i] = near_start[i];
        o->length[i] = near_start[i + 1] - near_start[i];
        o->elements[i] = 0;
        o->weight[i] = icfi_is_hub(o->length[i], n) ? 0 : size[i];
        o->mark[i] = 1;
        o->bucket[i] = -1;
        o->chain[i] = -1;
        o->tail[i] = i;
        o->degree[i] = 0;
        for (k = near_start[i]; k < near_start[i + 1]; k++) o->list[k] = near[k];
    }
    for (i = 0; i < n; i++) {
        for (k = near_start[i]; k < near_start[i + 1]; k++) o->degree[i] += o->weight[near[k]];
        if (!o->length[i]) {
            order[done++] = i;
        } else if (o->weight[i]) {
            left += size[i];
            o->score[i] = icfi_order_score(o, i, o->weight[i], 0);
            icfi_heap_insert(o, i);
        }
    }
    while (o->heaped) {
        int32_t p = o->heap[0], element_weight, to;
        icfi_heap_remove(o, p);
        left -= o->weight[p];
        o->weight[p] = -o->weight[p];
        element_weight = icfi_order_eliminate(o, p);

        /* mark[e] - stamp: what element e has outside the new one */
        for (k = o->start[p]; k < o->start[p] + o->length[p]; k++) {
            i = o->list[k];
            for (q = o->start[i]; q < o->start[i] + o->elements[i]; q++) {
                int32_t e = o->list[q];
                if (!o->mark[e]) continue;
                if (o->mark[e] < stamp) o->mark[e] = o->degree[e] + stamp;
                o->mark[e] += o->weight[i];
            }
        }

        /* new lists and degrees of its variables */
        for (k = o->start[p]; k < o->start[p] + o->length[p]; k++) {
            int32_t first, to_elements;
            int64_t degree = 0;
            double inner = 0;
            uint32_t sum = 0;
            i = o->list[k];
            first = o->start[i];
            to = first;
            for (q = first; q < first + o->elements[i]; q++) {
                int32_t e = o->list[q];
                if (!o->mark[e]) continue;
                if (o->mark[e] > stamp) {
                    double outside = o->mark[e] - stamp;
                    degree += o->mark[e] - stamp;
                    inner += outside * outside;
                    o->list[to++] = e;
                    sum += (uint32_t)e;
                } else { /* nothing of e is outside */
                    o->mark[e] = 0;
                    o->length[e] = 0;
                }
            }
            to_elements = to;
            for (; q < first + o->length[i]; q++) {
                int32_t j = o->list[q];
                if (o->weight[j] <= 0) continue;
                degree += o->weight[j];
                o->list[to++] = j;
                sum += (uint32_t)j;
            }
            if (to == first) { /* only the new element touches it */
                element_weight += o->weight[i];
                left += o->weight[i];
                icfi_heap_remove(o, i);
                icfi_order_absorb(o, p, i);
                continue;
            }
            if (degree < o->degree[i]) o->degree[i] = (int32_t)degree;
            o->score[i] = inner; /* for a moment */
            o->list[to] = o->list[to_elements];
            o->list[to_elements] = o->list[first];
            o->list[first] = p;
            o->elements[i] = to_elements - first + 1;
            o->length[i] = to - first + 1;
            hash[i] = (int32_t)(sum % (uint32_t)n);
            o->next[i] = o->bucket[hash[i]];
            o->bucket[hash[i]] = i;
        }
        o->degree[p] = element_weight;
        if (element_weight > widest) widest = element_weight;
        stamp += widest + 1;
        icfi_order_merge_equal(o, p, hash, &stamp);

        to = o->start[p];
        for (k = o->start[p]; k < o->start[p] + o->length[p]; k++) {
            int32_t degree;
            i = o->list[k];
            if (o->weight[i] == 0) continue;
            o->weight[i] = -o->weight[i];
            degree = o->degree[i] + element_weight - o->weight[i];
            if (degree > left - o->weight[i]) degree = left - o->weight[i];
            o->degree[i] = degree;
            o->score[i] = icfi_order_score(o, i, element_weight, o->score[i]);
            icfi_heap_update(o, i);
            o->list[to++] = i;
        }
        o->length[p] = to - o->start[p];
        o->free = to;
        o->elements[p] = 0;
        if (!o->length[p]) o->mark[p] = 0;
        o->weight[p] = 0;
        for (i = p; i >= 0; i = o->chain[i]) order[done++] = i;

        if (stamp > INT32_MAX / 2) {
            for (i = 0; i < n; i++) o->mark[i] = o->mark[i] != 0;
            stamp = 2;
        }
    }
    for (i = 0; i < n; i++) {
        if (icfi_is_hub(near_start[i + 1] - near_start[i], n)) order[done++] = i;
    }
}

/* ---- nested dissection ---- */

/* Parts of a graph are ranges of `node`, told apart by `part`; a part is cut into side 0, side 1
   and what separates them, side 2. The arrays are those of the ordering, before it needs them. */
typedef struct icfi_cut {
    icfi_order* o;
    const int32_t *near_start, *near, *size;
    int32_t *node, *part, *side, *level, *queue, *history;
    int32_t weight[3];
} icfi_cut;

#define ICFI_CUT_LEAST 120 /* cliques: smaller parts are left to minimum degree */
#define ICFI_CUT_DEPTH 16

/* Levels of breadth-first search from v within its part; returns the last one found, *count how
   many. */
static int32_t icfi_cut_levels(icfi_cut* c, int32_t v, int32_t first, int32_t members,
                               int32_t* count)
{
    int32_t k, q, head = 0, tail = 0;
    for (k = first; k < first + members; k++) c->level[c->node[k]] = -1;
    c->level[v] = 0;
    c->queue[tail++] = v;
    while (head < tail) {
        v = c->queue[head++];
        for (q = c->near_start[v]; q < c->near_start[v + 1]; q++) {
            int32_t u = c->near[q];
            if (c->part[u] != first || c->level[u] >= 0) continue;
            c->level[u] = c->level[v] + 1;
            c->queue[tail++] = u;
        }
    }
    *count = tail;
    return v;
}

static void icfi_cut_move(icfi_cut* c, int32_t v, int32_t side)
{
    c->weight[c->side[v]] -= c->size[v];
    c->side[v] = side;
    c->weight[side] += c->size[v];
}

/* How much lighter the separator gets when v leaves it for a side: less what it pulls in from
   the other. Moves that would pull in what was moved before in this pass, or unbalance the
   sides, are worth nothing. */
static int32_t icfi_cut_gain(const icfi_cut* c, int32_t v, int32_t side, const int32_t* moved)
{
    int32_t q, gain = c->size[v];
    int32_t total = c->weight[0] + c->weight[1] + c->weight[2];
    if (c->weight[side] + c->size[v] > total / 8 * 5) return INT32_MIN;
    for (q = c->near_start[v]; q < c->near_start[v + 1]; q++) {
        int32_t u = c->near[q];
        if (c->part[u] != c->part[v] || c->side[u] != 1 - side) continue;
        if (moved[u]) return INT32_MIN;
        gain -= c->size[u];
    }
    return gain;
}

/* Improves a separator: moves its best vertex, even for a loss, and in the end goes back to the
   best state seen (Fiduccia and Mattheyses). Returns whether that is better than what it began
   with. */
static int icfi_cut_refine(icfi_cut* c, int32_t first, int32_t members, int32_t* moved)
{
    int32_t k, q, moves = 0, best_moves = 0, best = c->weight[2], idle = 0, began = c->weight[2];
    int32_t separators = 0;
    for (k = first; k < first + members; k++) {
        int32_t v = c->node[k];
        moved[v] = 0;
        if (c->side[v] == 2) c->queue[separators++] = v;
    }
    while (idle++ < 40) {
        int32_t take = -1, to = 0, most = INT32_MIN, kept = 0;
        for (k = 0; k < separators; k++) {
            int32_t v = c->queue[k], side;
            if (c->side[v] != 2) continue;
            c->queue[kept++] = v;
            for (side = 0; side < 2; side++) {
                int32_t gain = icfi_cut_gain(c, v, side, moved);
                if (gain > most ||
                    (gain == most && gain > INT32_MIN && c->weight[side] < c->weight[to])) {
                    most = gain;
                    take = v;
                    to = side;
                }
            }
        }
        separators = kept;
        if (take < 0) break;
        moved[take] = 1;
        c->history[moves++] = take * 4 + 2;
        icfi_cut_move(c, take, to);
        for (q = c->near_start[take]; q < c->near_start[take + 1]; q++) {
            int32_t u = c->near[q];
            if (c->part[u] != first || c->side[u] != 1 - to) continue;
            c->history[moves++] = u * 4 + c->side[u];
            icfi_cut_move(c, u, 2);
            c->queue[separators++] = u;
        }
        if (c->weight[2] < best) {
            best = c->weight[2];
            best_moves = moves;
            idle = 0;
        }
    }
    while (moves > best_moves) {
        moves--;
        icfi_cut_move(c, c->history[moves] / 4, c->history[moves] % 4);
    }
    return best < began;
}

/* Cuts the part that begins at `first`: the members are reordered as side 0, side 1, separator,
   and the numbers of the first two returned. The first cut is where a function that falls from
   one end of the part to the other, smoothed, has its median. */
static void icfi_cut_part(icfi_cut* c, int32_t first, int32_t members, int32_t* count)
{
    icfi_order* o = c->o;
    int32_t k, q, v, found, half, side, pass, boundary[2] = {0, 0}, total = 0;
    int32_t far = icfi_cut_levels(c, c->node[first], first, members, &found);
    c->weight[0] = c->weight[1] = c->weight[2] = 0;
    for (k = first; k < first + members; k++) total += c->size[c->node[k]];
    if (found < members) {
        for (k = first; k < first + members; k++) c->side[c->node[k]] = c->level[c->node[k]] < 0;
    } else {
        far = icfi_cut_levels(c, far, first, members, &found);
        for (k = first; k < first + members; k++) o->score[c->node[k]] = c->level[c->node[k]];
        (void)icfi_cut_levels(c, far, first, members, &found);
        for (k = first; k < first + members; k++) o->score[c->node[k]] -= c->level[c->node[k]];
        for (pass = 0; pass < 12; pass++) {
            for (k = first; k < first + members; k++) {
                double sum = 0, n = 0;
                v = c->node[k];
                for (q = c->near_start[v]; q < c->near_start[v + 1]; q++) {
                    if (c->part[c->near[q]] != first) continue;
                    sum += o->score[c->near[q]];
                    n += 1;
                }
                o->score[v] = (o->score[v] + sum / n) / 2;
            }
        }
        o->heaped = 0;
        for (k = first; k < first + members; k++) icfi_heap_insert(o, c->node[k]);
        for (half = 0; o->heaped;) {
            v = o->heap[0];
            icfi_heap_remove(o, v);
            half += c->size[v];
            c->side[v] = half > total / 2;
        }

        /* the lighter of the two boundaries separates */
        for (pass = 0; pass < 2; pass++) {
            side = pass && boundary[1] < boundary[0];
            for (k = first; k < first + members; k++) {
                int touches = 0;
                v = c->node[k];
                for (q = c->near_start[v]; q < c->near_start[v + 1] && !touches; q++) {
                    int32_t u = c->near[q];
                    touches = c->part[u] == first && c->side[u] == 1 - c->side[v];
                }
                if (!pass && touches) boundary[c->side[v]] += c->size[v];
                c->level[v] = touches;
            }
        }
        for (k = first; k < first + members; k++) {
            v = c->node[k];
            if (c->level[v] && c->side[v] == side) c->side[v] = 2;
        }
        for (k = first; k < first + members; k++)
            c->weight[c->side[c->node[k]]] += c->size[c->node[k]];
        for (pass = 0; pass < 6; pass++) {
            if (!icfi_cut_refine(c, first, members, c->level)) break;
        }
    }
    for (side = 0, q = 0; side < 3; side++) {
        int32_t before = q;
        for (k = first; k < first + members; k++) {
            if (c->side[c->node[k]] == side) c->queue[q++] = c->node[k];
        }
        if (side < 2) count[side] = q - before;
    }
    for (k = 0; k < members; k++) c->node[first + k] = c->queue[k];
}

/* stage: 0 for cliques that no cut separates, then the separators, the last cut first. */
static void icfi_dissect(icfi_order* o, const int32_t* near_start, const int32_t* near,
                         const int32_t* size, int32_t* stage)
{
    int32_t stack[ICFI_CUT_DEPTH + 2][3], top = 0, k, side, n = o->n;
    icfi_cut c;
    c.o = o;
    c.near_start = near_start;
    c.near = near;
    c.size = size;
    c.node = o->start;
    c.part = o->length;
    c.side = o->elements;
    c.level = o->weight;
    c.queue = o->degree;
    c.history = o->list;
    o->stage = NULL;
    stack[top][0] = stack[top][1] = stack[top][2] = 0;
    for (k = 0; k < n; k++) {
        c.part[k] = 0;
        stage[k] = 0;
        if (near_start[k] < near_start[k + 1]) c.node[stack[top][1]++] = k;
    }
    top++;
    while (top) {
        int32_t first = stack[--top][0], members = stack[top][1], depth = stack[top][2], count[2];
        if (members < ICFI_CUT_LEAST || depth >= ICFI_CUT_DEPTH) continue;
        icfi_cut_part(&c, first, members, count);
        for (k = first + count[0] + count[1]; k < first + members; k++) {
            stage[c.node[k]] = ICFI_CUT_DEPTH - depth;
            c.part[c.node[k]] = -1;
        }

        /* a part that falls apart by itself costs no level; the rest of it waits below the piece
           found */
        if (count[0] + count[1] < members) depth++;
        for (side = 1; side >= 0; side--) {
            int32_t begin = first + (side ? count[0] : 0);
            for (k = begin; k < begin + count[side]; k++) c.part[c.node[k]] = begin;
            stack[top][0] = begin;
            stack[top][1] = count[side];
            stack[top++][2] = depth;
        }
    }
    o->stage = stage;
}

/* ---- elimination tree and fronts ---- */

/* The tree of the graph in a given order, and for each clique (by place in the order) what its
   columns reach below the diagonal block: unknowns (reach) and cliques (blocks). Liu's algorithm
   with compressed paths, then a walk up the tree from each entry of a row. */
static void icfi_tree(int32_t n, const int32_t* size, const int32_t* near_start,
                      const int32_t* near, const int32_t* order, int32_t* position, int32_t* parent,
                      int32_t* reach, int32_t* blocks, int32_t* mark)
{
    int32_t i, k;
    for (i = 0; i < n; i++) position[order[i]] = i;
    for (i = 0; i < n; i++) {
        int32_t q = order[i];
        parent[i] = mark[i] = -1;
        for (k = near_start[q]; k < near_start[q + 1]; k++) {
            int32_t j = position[near[k]], up;
            for (; j < i && mark[j] != i; j = up) {
                up = mark[j];
                mark[j] = i;
                if (up < 0) {
                    parent[j] = i;
                    break;
                }
            }
        }
    }
    for (i = 0; i < n; i++) mark[i] = -1;
    for (i = 0; i < n; i++) {
        int32_t q = order[i];
        reach[i] = blocks[i] = 0;
        mark[i] = i;
        for (k = near_start[q]; k < near_start[q + 1]; k++) {
            int32_t j = position[near[k]];
            if (j > i) continue;
            for (; mark[j] != i; j = parent[j]) {
                mark[j] = i;
                reach[j] += size[q];
                blocks[j]++;
            }
        }
    }
}

/* The multiplications and additions of a factorisation in which column j reaches c_j rows,
   itself included: the sum of c_j^2. */
static double icfi_column_flops(int32_t cols, int32_t rows)
{
    double flops = 0;
    int32_t j;
    for (j = 0; j < cols; j++) {
        double c = (double)cols + rows - j;
        flops += c * c;
    }
    return flops;
}

/* Reorders so that every subtree is consecutive: children before their parent, in ascending
   order. */
static void icfi_postorder(int32_t n, int32_t* order, int32_t* parent, int32_t* reach,
                           int32_t* blocks, int32_t* child, int32_t* sibling, int32_t* rank,
                           int32_t* copy)
{
    int32_t i, root = -1, done = 0;
    for (i = 0; i < n; i++) child[i] = -1;
    for (i = n - 1; i >= 0; i--) {
        int32_t* head = parent[i] < 0 ? &root : &child[parent[i]];
        sibling[i] = *head;
        *head = i;
    }
    for (i = root; i >= 0;) {
        if (child[i] >= 0) { /* down first, and never again */
            int32_t down = child[i];
            child[i] = -1;
            i = down;
            continue;
        }
        rank[i] = done++;
        i = sibling[i] >= 0 ? sibling[i] : parent[i];
    }
    for (i = 0; i < n; i++) copy[rank[i]] = order[i];
    for (i = 0; i < n; i++) order[i] = copy[i];
    for (i = 0; i < n; i++) copy[rank[i]] = parent[i] < 0 ? -1 : rank[parent[i]];
    for (i = 0; i < n; i++) parent[i] = copy[i];
    for (i = 0; i < n; i++) copy[rank[i]] = reach[i];
    for (i = 0; i < n; i++) reach[i] = copy[i];
    for (i = 0; i < n; i++) copy[rank[i]] = blocks[i];
    for (i = 0; i < n; i++) blocks[i] = copy[i];
}

/* The time of a front of so many columns and rows below them, in hundredths of a nanosecond,
   roughly, on a machine of 2023; the same everywhere, because the fronts decide the order of
   additions. */
static double icfi_front_cost(int32_t cols, int32_t rows)
{
    double c = cols, r = rows;
    return 3000 + 40 * c * (c + r) + 15 * r * r + 5 * (c * c * c / 3 + c * c * r + c * r * r);
}

/* Merges children into parents where one front is cheaper than two: top[i] is the clique, in
   order, that ends the front of i. A front keeps the rows of its last clique. */
static void icfi_merge_fronts(int32_t n, const int32_t* parent, int32_t* cols, const int32_t* reach,
                              int32_t* top)
{
    int32_t i;
    for (i = 0; i < n; i++) {
        int32_t p = parent[i];
        top[i] = i;
        if (p < 0) continue;
        if (icfi_front_cost(cols[i] + cols[p], reach[p]) <
            icfi_front_cost(cols[i], reach[i]) + icfi_front_cost(cols[p], reach[p])) {
            cols[p] += cols[i];
            top[i] = p;
        }
    }
    for (i = n - 1; i >= 0; i--) top[i] = top[top[i]];
}

static int32_t icfi_pad(int32_t n)
{
    return (n + ICFI_PAD - 1) / ICFI_PAD * ICFI_PAD;
}

/* The index, between low and high, of the entry of an ascending list whose key is `key`; an
   entry is its own key if there is no list of keys. */
static int32_t icfi_find(const int32_t* list, int32_t low, int32_t high, const int32_t* key_of,
                         int32_t key)
{
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if ((key_of ? key_of[list[middle]] : list[middle]) < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The front of an edge is that of the clique a which is eliminated first; the row of the other
   one, b, is either among the front's columns or in its list of rows. */
static void icfi_place_in_fronts(icf_sparse* s)
{
    const int32_t *position = ICFI_INTS(s, position), *front = ICFI_INTS(s, front);
    const int32_t *column = ICFI_INTS(s, column), *pair = ICFI_INTS(s, pair);
    const int32_t *size = ICFI_INTS(s, size), *row_start = ICFI_FACTOR_INTS(s, row_start);
    const int32_t *row = ICFI_FACTOR_INTS(s, row), *row_at = ICFI_FACTOR_INTS(s, row_at);
    const int32_t *cols = ICFI_INTS(s, cols), *rows = ICFI_INTS(s, rows);
    const size_t* panel_at = ICFI_FACTOR_SIZES(s, panel_at);
    icfi_place* place = ICFI_AT(icfi_place, s->pattern, s->at.place);
    int32_t i, e;
    for (i = 0; i < s->cliques; i++, place++) {
        int32_t f = front[i], ld = icfi_pad(cols[f] + rows[f]);
        place->front = size[i] ? f : -1;
        place->ld = ld;
        place->at = panel_at[f] + (size_t)column[i] * ((size_t)ld + 1);
    }
    for (e = 0; e < s->edges; e++, place++) {
        int32_t a = pair[2 * e], b = pair[2 * e + 1], f, r, turned = position[a] < position[b];
        place->front = -1;
        if (!size[a] || !size[b]) continue;
        if (!turned) {
            a = pair[2 * e + 1];
            b = pair[2 * e];
        }
        f = front[a];
        if (front[b] == f) {
            r = column[b];
        } else {
            r = row_at[icfi_find(row, row_start[f], row_start[f + 1] - 1, position, position[b])];
        }
        place->front = f;
        place->ld = icfi_pad(cols[f] + rows[f]);
        place->at = panel_at[f] + (size_t)r + (size_t)column[a] * (size_t)place->ld;
        if (turned) place->ld = -place->ld;
    }
}

/* Numbers the members of each front consecutively, and links each front to its children in
   ascending order. */
static void icfi_collect_fronts(icf_sparse* s, int32_t* order, const int32_t* top,
                                const int32_t* rank, int32_t* copy)
{
    const int32_t *size = ICFI_INTS(s, size), *parent = ICFI_INTS(s, parent);
    int32_t *member = ICFI_INTS(s, member), *child = ICFI_INTS(s, child),
            *sibling = ICFI_INTS(s, sibling);
    int32_t *position = ICFI_INTS(s, position), *front = ICFI_INTS(s, front),
            *column = ICFI_INTS(s, column);
    int32_t i, f, k, n = s->cliques;
    for (f = 0; f <= n; f++) member[f] = 0;
    for (i = 0; i < n; i++) {
        copy[i] = order[i];
        member[rank[top[i]] + 1]++;
    }
    for (f = 0; f < s->fronts; f++) member[f + 1] += member[f];
    for (i = 0; i < n; i++) order[member[rank[top[i]]]++] = copy[i];
    for (f = s->fronts; f > 0; f--) member[f] = member[f - 1];
    member[0] = 0;
    for (f = 0; f < s->fronts; f++) {
        int32_t at = 0;
        child[f] = -1;
        for (k = member[f]; k < member[f + 1]; k++) {
            i = order[k];
            position[i] = k;
            front[i] = f;
            column[i] = at;
            at += size[i];
        }
    }
    for (f = s->fronts - 1; f >= 0; f--) {
        if (parent[f] < 0) continue;
        sibling[f] = child[parent[f]];
        child[parent[f]] = f;
    }
}

static void icfi_place_blocks(icf_sparse* s);

/* The scratch of the analysis: a new graph, to compare with the one at hand, and what the
   ordering needs. */
typedef struct icfi_analysis {
    size_t near_start, near, list_start, list;
    size_t ints, scores;
    size_t order, position, parent, reach, blocks, mark, other;
} icfi_analysis;

#define ICFI_ORDER_INTS 13

static void icfi_sparse_layout_analysis(icfi_analysis* t, icfi_arena* arena, int32_t cliques,
                                        int32_t edges)
{
    size_t n = (size_t)cliques, m = (size_t)edges, i4 = sizeof(int32_t);
    uint64_t list = icfi_order_list(cliques, edges);
    if (list > INT32_MAX || (size_t)list != list || (int32_t)n != cliques || (int32_t)m != edges) {
        arena->result = ICF_RESULT_OVERFLOW;
    }
    t->near_start = icfi_arena_take(arena, n + 1, i4);
    t->near = icfi_arena_take(arena, 2 * m, i4);
    t->list_start = icfi_arena_take(arena, n + 1, i4);
    t->list = icfi_arena_take(arena, (size_t)list, i4);
    t->ints = icfi_arena_take(arena, ICFI_ORDER_INTS * n, i4);
    t->scores = icfi_arena_take(arena, n, sizeof(double));
    t->order = icfi_arena_take(arena, n, i4);
    t->position = icfi_arena_take(arena, n, i4);
    t->parent = icfi_arena_take(arena, n, i4);
    t->reach = icfi_arena_take(arena, n, i4);
    t->blocks = icfi_arena_take(arena, n, i4);
    t->mark = icfi_arena_take(arena, n, i4);
    t->other = icfi_arena_take(arena, n, i4);
}

ICF_API size_t icf_sparse_pattern_bytes(int32_t cliques, int32_t edges)
{
    icfi_sparse_at at;
    icfi_analysis t;
    icfi_arena arena = icfi_arena_measure();
    if (cliques < 0 || edges < 0) return 0;
    icfi_sparse_layout_pattern(&at, &arena, cliques, edges);
    icfi_sparse_layout_analysis(&t, &arena, cliques, edges);
    return arena.result == ICF_RESULT_OK ? arena.peak : 0;
}

/* The order of elimination: the best of several, where finding another one takes little time
   compared with the arithmetic it may save. Returns its flops; order, parent, reach, blocks hold
   it. */
static double icfi_choose_order(unsigned char* memory, const icfi_analysis* t, int32_t n,
                                const int32_t* size, const int32_t* near_start, const int32_t* near,
                                int32_t* order, int32_t* parent, int32_t* reach, int32_t* blocks)
{
    int32_t* ints = ICFI_AT(int32_t, memory, t->ints);
    int32_t *position = ICFI_AT(int32_t, memory, t->position),
            *mark = ICFI_AT(int32_t, memory, t->mark);
    int32_t *trial = ICFI_AT(int32_t, memory, t->order),
            *stage = ICFI_AT(int32_t, memory, t->list_start);
    int32_t i, way, least = INT32_MAX, most = 0, last = 0;
    double best = 0, graph = (double)n + (double)near_start[n] / 2;
    icfi_order o;
    o.n = n;
    o.list = ICFI_AT(int32_t, memory, t->list);
    o.end = (int32_t)icfi_order_list(n, near_start[n] / 2);
    o.start = ints;
    o.length = ints + n;
    o.elements = ints + 2 * n;
    o.weight = ints + 3 * n;
    o.degree = ints + 4 * n;
    o.mark = ints + 5 * n;
    o.next = ints + 6 * n;
    o.tail = ints + 7 * n;
    o.bucket = ints + 8 * n;
    o.chain = ints + 9 * n;
    o.heap = ints + 10 * n;
    o.place = ints + 11 * n;
    o.score = ICFI_AT(double, memory, t->scores);
    o.stage = NULL;
    for (i = 0; i < n; i++) {
        if (!size[i]) continue;
        if (most < size[i]) most = size[i];
        if (least > size[i]) least = size[i];
    }

    /* rules 0, 1, 2, and 1 again after cuts; the figures are flops per clique and edge */
    for (way = 0; way < 4; way++) {
        double flops = 0;
        if (way == 1 && best < 3000 * graph) continue;
        if (way == 2 && most / 2 < least) continue;
        if (way == 3) {
            if (best < 10000 * graph) continue;
            icfi_dissect(&o, near_start, near, size, stage);
        }
        o.rule = way == 3 ? 1 : way;
        icfi_order_run(&o, near_start, near, size, ints + 12 * n, trial);
        icfi_tree(n, size, near_start, near, trial, position, parent, reach, blocks, mark);
        for (i = 0; i < n; i++) flops += icfi_column_flops(size[trial[i]], reach[i]);
        last = way == 0 || flops < best;
        if (!last) continue;
        best = flops;
        for (i = 0; i < n; i++) order[i] = trial[i];
    }
    if (!last) icfi_tree(n, size, near_start, near, order, position, parent, reach, blocks, mark);
    return best;
}

static int icfi_same(const int32_t* a, const int32_t* b, int32_t n)
{
    return n == 0 || ICFI_MEMCMP(a, b, (size_t)n * sizeof(int32_t)) == 0;
}

ICF_API icf_result icf_sparse_analyze(icf_sparse* s, void* memory, size_t bytes, int32_t cliques,
                                      const int32_t* sizes, int32_t edges, const int32_t* pairs)
{
    icfi_sparse_at at;
    icfi_analysis t;
    icfi_arena arena = icfi_arena_over(memory, bytes);
    int32_t *near_start, *near, *order, *parent, *reach, *blocks, *top, *cols, *rank;
    int32_t i, k, f, n = cliques, total = 0;
    int known;
    unsigned char* base = (unsigned char*)memory;
    double flops;

    if (!s || n < 0 || edges < 0 || (n && !sizes) || (edges && !pairs)) {
        return ICF_RESULT_BAD_ARGUMENT;
    }
    if (s->cookie == ICFI_SPARSE_COOKIE && s->owner) return ICF_RESULT_BAD_STATE;
    ICFI_MEMSET(&at, 0, sizeof at);
    icfi_sparse_layout_pattern(&at, &arena, n, edges);
    icfi_sparse_layout_analysis(&t, &arena, n, edges);
    if (arena.result != ICF_RESULT_OK) return arena.result;
    for (i = 0; i < n; i++) {
        if (sizes[i] < 0) return ICF_RESULT_BAD_ARGUMENT;
        if (sizes[i] > ICFI_MOST_ROWS || sizes[i] > INT32_MAX / 4 - total)
            return ICF_RESULT_OVERFLOW;
        total += sizes[i];
    }
    for (i = 0; i < edges; i++) {
        int32_t a = pairs[2 * i], b = pairs[2 * i + 1];
        if (a < 0 || b < 0 || a >= n || b >= n || a == b) return ICF_RESULT_BAD_ARGUMENT;
    }

    /* the same pattern again, perhaps with its edges in another order */
    known = s->cookie == ICFI_SPARSE_COOKIE && s->pattern == memory && s->cliques == n &&
            s->edges == edges && icfi_same(ICFI_INTS(s, size), sizes, n);
    if (known && icfi_same(ICFI_INTS(s, pair), pairs, 2 * edges)) return ICF_RESULT_OK;
    near_start = ICFI_AT(int32_t, base, t.near_start);
    near = ICFI_AT(int32_t, base, t.near);
    icfi_graph(n, sizes, edges, pairs, near_start, near, ICFI_AT(int32_t, base, t.list_start),
               ICFI_AT(int32_t, base, t.list));
    if (known && icfi_same(ICFI_INTS(s, near_start), near_start, n + 1) &&
        icfi_same(ICFI_INTS(s, near), near, near_start[n])) {
        ICFI_MEMCPY(ICFI_INTS(s, pair), pairs, 2 * (size_t)edges * sizeof(int32_t));
        if (s->factor) icfi_place_blocks(s);
        return ICF_RESULT_OK;
    }

    order = ICFI_AT(int32_t, base, at.order);
    parent = ICFI_AT(int32_t, base, t.parent);
    reach = ICFI_AT(int32_t, base, t.reach);
    blocks = ICFI_AT(int32_t, base, t.blocks);
    flops = icfi_choose_order(base, &t, n, sizes, near_start, near, order, parent, reach, blocks);

    /* from here on s is the new pattern */
    ICFI_MEMSET(s, 0, sizeof *s);
    s->cookie = ICFI_SPARSE_COOKIE;
    s->pattern = memory;
    s->at = at;
    s->cliques = n;
    s->edges = edges;
    s->unknowns = total;
    s->flops = flops;
    s->tolerance = 100 * ICFI_EPSILON;
    s->budget = total < 50 ? 100 : 2 * total;
    if (n) ICFI_MEMCPY(ICFI_INTS(s, size), sizes, (size_t)n * sizeof(int32_t));
    if (edges) ICFI_MEMCPY(ICFI_INTS(s, pair), pairs, 2 * (size_t)edges * sizeof(int32_t));
    ICFI_MEMCPY(ICFI_INTS(s, near_start), near_start, ((size_t)n + 1) * sizeof(int32_t));
    if (near_start[n])
        ICFI_MEMCPY(ICFI_INTS(s, near), near, (size_t)near_start[n] * sizeof(int32_t));
    for (i = 0, total = 0; i < n; i++) {
        ICFI_INTS(s, start)[i] = total;
        total += sizes[i];
    }
    ICFI_INTS(s, start)[n] = total;

    /* fronts: consecutive in the postorder, numbered as their last cliques are */
    icfi_postorder(n, order, parent, reach, blocks, ICFI_INTS(s, child), ICFI_INTS(s, sibling),
                   ICFI_AT(int32_t, base, t.mark), ICFI_AT(int32_t, base, t.other));
    top = ICFI_AT(int32_t, base, t.position);
    cols = ICFI_AT(int32_t, base, t.mark);
    for (i = 0; i < n; i++) cols[i] = sizes[order[i]];
    icfi_merge_fronts(n, parent, cols, reach, top);
    rank = ICFI_AT(int32_t, base, t.other);
    for (i = 0, f = 0; i < n; i++) {
        if (top[i] != i) continue;
        ICFI_INTS(s, cols)[f] = cols[i];
        ICFI_INTS(s, rows)[f] = reach[i];
        ICFI_INTS(s, blocks)[f] = blocks[i];
        rank[i] = f++;
    }
    s->fronts = f;
    for (i = 0; i < n; i++) {
        if (top[i] != i) continue;
        k = rank[i];
        ICFI_INTS(s, parent)[k] = parent[i] < 0 ? -1 : rank[top[parent[i]]];
        if (parent[i] < 0 && cols[i]) s->components++;
    }
    icfi_collect_fronts(s, order, top, rank, ICFI_AT(int32_t, base, t.order));
    for (f = 0; f < s->fronts; f++) {
        int32_t c = ICFI_INTS(s, cols)[f], r = ICFI_INTS(s, rows)[f];
        if (s->rows_most < c + r) s->rows_most = c + r;
    }
    return ICF_RESULT_OK;
}

/* ---- storage ---- */

/* The lists of rows of all fronts, each in ascending order of elimination: row by row of the
   matrix, walking up the tree of fronts from each entry. */
static void icfi_list_rows(icf_sparse* s)
{
    const int32_t *near_start = ICFI_INTS(s, near_start), *near = ICFI_INTS(s, near),
                  *size = ICFI_INTS(s, size);
    const int32_t *order = ICFI_INTS(s, order), *position = ICFI_INTS(s, position),
                  *front = ICFI_INTS(s, front);
    const int32_t *parent = ICFI_INTS(s, parent), *blocks = ICFI_INTS(s, blocks),
                  *cols = ICFI_INTS(s, cols);
    int32_t *row_start = ICFI_FACTOR_INTS(s, row_start), *row = ICFI_FACTOR_INTS(s, row);
    int32_t *row_at = ICFI_FACTOR_INTS(s, row_at), *count = ICFI_FACTOR_INTS(s, run_count);
    int32_t *mark = ICFI_FACTOR_INTS(s, redo), f, k, q;
    for (f = 0, q = 0; f < s->fronts; f++) {
        row_start[f] = q;
        q += blocks[f];
        count[f] = 0;
        mark[f] = -1;
    }
    row_start[s->fronts] = q;
    for (k = 0; k < s->cliques; k++) {
        int32_t i = order[k];
        mark[front[i]] = k;
        for (q = near_start[i]; q < near_start[i + 1]; q++) {
            if (position[near[q]] > k) continue;
            for (f = front[near[q]]; mark[f] != k; f = parent[f]) {
                int32_t to = row_start[f] + count[f];
                mark[f] = k;
                row[to] = i;
                row_at[to] = count[f] ? row_at[to - 1] + size[row[to - 1]] : cols[f];
                count[f]++;
            }
        }
    }
}

/* For the rows of each front where they are in the parent, as runs of consecutive rows. A run
   lies either in the parent's columns or in its rows. */
static void icfi_find_runs(icf_sparse* s)
{
    const int32_t *front = ICFI_INTS(s, front), *column = ICFI_INTS(s, column),
                  *size = ICFI_INTS(s, size);
    const int32_t *parent = ICFI_INTS(s, parent), *cols = ICFI_INTS(s, cols);
    const int32_t *row_start = ICFI_FACTOR_INTS(s, row_start), *row = ICFI_FACTOR_INTS(s, row);
    const int32_t* row_at = ICFI_FACTOR_INTS(s, row_at);
    int32_t *run_count = ICFI_FACTOR_INTS(s, run_count), *run_to = ICFI_FACTOR_INTS(s, run_to);
    int32_t *run_length = ICFI_FACTOR_INTS(s, run_length), f, k;
    for (f = 0; f < s->fronts; f++) {
        int32_t p = parent[f], at, runs = row_start[f] - 1;
        run_count[f] = 0;
        if (p < 0) continue;
        at = row_start[p];
        for (k = row_start[f]; k < row_start[f + 1]; k++) {
            int32_t i = row[k], to;
            if (front[i] == p) {
                to = column[i];
            } else {
                while (row[at] != i) at++;
                to = row_at[at];
            }
            if (runs < row_start[f] || to != run_to[runs] + run_length[runs] || to == cols[p]) {
                runs++;
                run_to[runs] = to;
                run_length[runs] = size[i];
            } else {
                run_length[runs] += size[i];
            }
        }
        run_count[f] = runs + 1 - row_start[f];
    }
}

/* Where panels and update matrices stand. Without ICF_SPARSE_PARTIAL an update matrix lives from
   its own front to its parent's: two stacks hold them, for even and for odd depths, so that a
   front's children are on top of the one while its own matrix goes on top of the other. Called
   with NULL it only counts. */
static void icfi_place_fronts(const icf_sparse* s, icf_sparse_mode mode, size_t* panel_at,
                              size_t* update_at, int32_t* depth, size_t* panels, size_t* updates)
{
    const int32_t *parent = ICFI_INTS(s, parent), *cols = ICFI_INTS(s, cols),
                  *rows = ICFI_INTS(s, rows);
    const int32_t *child = ICFI_INTS(s, child), *sibling = ICFI_INTS(s, sibling);
    size_t used[2] = {0, 0}, most[2] = {0, 0};
    int32_t f, c;
    int pass;
    *panels = 0;
    for (f = s->fronts - 1; f >= 0; f--) depth[f] = parent[f] < 0 ? 0 : 1 - depth[parent[f]];
    for (pass = 0; pass < 2; pass++) {
        size_t base = pass ? most[0] : 0;
        for (f = 0; f < s->fronts; f++) {
            size_t size = icfi_times((size_t)icfi_pad(rows[f]), (size_t)rows[f]);
            int d = mode == ICF_SPARSE_PARTIAL ? 0 : depth[f];
            if (pass == 0) {
                if (panel_at) panel_at[f] = *panels;
                *panels = icfi_plus(
                    *panels, icfi_times((size_t)icfi_pad(cols[f] + rows[f]), (size_t)cols[f]));
            }
            if (pass && update_at) update_at[f] = used[d] + (d ? base : 0);
            used[d] = icfi_plus(used[d], size);
            if (most[d] < used[d]) most[d] = used[d];
            if (mode == ICF_SPARSE_PARTIAL) continue;
            for (c = child[f]; c >= 0; c = sibling[c]) {
                used[1 - d] -= (size_t)icfi_pad(rows[c]) * (size_t)rows[c];
            }
        }
        used[0] = used[1] = 0;
    }
    *updates = icfi_plus(most[0], most[1]);
}

static void icfi_sparse_layout_factor(const icf_sparse* s, icfi_sparse_at* at, icfi_arena* arena,
                                      icf_sparse_mode mode)
{
    size_t i4 = sizeof(int32_t), r = sizeof(icf_real), fronts = (size_t)s->fronts, total = 0,
           updates = 0;
    const int32_t* blocks = ICFI_INTS(s, blocks);
    int32_t f;
    for (f = 0; f < s->fronts; f++) total += (size_t)blocks[f];
    at->row_start = icfi_arena_take(arena, fronts + 1, i4);
    at->run_count = icfi_arena_take(arena, fronts, i4);
    at->row = icfi_arena_take(arena, total, i4);
    at->row_at = icfi_arena_take(arena, total, i4);
    at->run_to = icfi_arena_take(arena, total, i4);
    at->run_length = icfi_arena_take(arena, total, i4);
    at->redo = icfi_arena_take(arena, fronts, i4);
    at->panel_at = icfi_arena_take(arena, fronts, sizeof(size_t));
    at->update_at = icfi_arena_take(arena, fronts, sizeof(size_t));
    at->small = icfi_arena_take(arena, ICFI_SMALL, r);
    at->work = icfi_arena_take(arena, (size_t)icfi_pad(s->rows_most), r);
    if (s->rows_most > ICFI_MOST_ROWS) arena->result = ICF_RESULT_OVERFLOW;
    icfi_place_fronts(s, mode, NULL, NULL, ICFI_INTS(s, scratch), &at->panel_reals, &updates);
    /* the kernels read up to one vector beyond a panel or an update matrix */
    at->panels = icfi_arena_take(arena, icfi_plus(at->panel_reals, (size_t)ICFI_PAD), r);
    at->updates = icfi_arena_take(arena, icfi_plus(updates, (size_t)ICFI_PAD), r);
}

#endif

#if defined(ICFI_LAYER) && \
    ICFI_LAYER == 5 /* included by itself: the loops for one width of vectors */

/* to += from, n numbers */
ICFI_TARGET ICFI_FORCE_INLINE void ICFI_K(icfi_add)(int32_t n, const icf_real* from, icf_real* to)
{
    if (n == 6 && ICFI_LANES == 2) { /* the most frequent case, without a loop */
        ICFI_STORE(to, ICFI_ADD(ICFI_LOAD(to), ICFI_LOAD(from)));
        ICFI_STORE(to + 2, ICFI_ADD(ICFI_LOAD(to + 2), ICFI_LOAD(from + 2)));
        ICFI_STORE(to + 4, ICFI_ADD(ICFI_LOAD(to + 4), ICFI_LOAD(from + 4)));
        return;
    }
    for (; n >= ICFI_LANES; n -= ICFI_LANES, from += ICFI_LANES, to += ICFI_LANES) {
        ICFI_STORE(to, ICFI_ADD(ICFI_LOAD(to), ICFI_LOAD(from)));
    }
#if ICFI_WIDE
    if (n >= ICFI_LANES / 2) {
        *(icfi_base_vector*)to = *(const icfi_base_vector*)to + *(const icfi_base_vector*)from;
        n -= ICFI_LANES / 2;
        from += ICFI_LANES / 2;
        to += ICFI_LANES / 2;
    }
#endif
    for (; n > 0; n--) *to++ += *from++;
}

/* to = from */
ICFI_TARGET ICFI_FORCE_INLINE void ICFI_K(icfi_copy)(int32_t n, const icf_real* from, icf_real* to)
{
    for (; n >= ICFI_LANES; n -= ICFI_LANES, from += ICFI_LANES, to += ICFI_LANES) {
        ICFI_STORE(to, ICFI_LOAD(from));
    }
    for (; n > 0; n--) *to++ = *from++;
}

/* Adds what front c passes up to the lower triangle of its parent: to the parent's panel, or,
   with `above`, to the parent's own update matrix. Both consist of the same runs of rows. */
ICFI_TARGET static void ICFI_K(icfi_pass_up)(const int32_t* to, const int32_t* length, int32_t runs,
                                             const icf_real* update, ptrdiff_t ldu, icf_real* panel,
                                             ptrdiff_t ld, int32_t cols, int above)
{
    int32_t i, j, q, at = 0, from, shift = above ? cols : 0;
    for (j = 0; j < runs; at += length[j], j++) {
        const icf_real* u = update + at * ldu;
        icf_real* p;
        if ((to[j] < cols) == above) {
            if (!above) return;
            continue;
        }
        p = panel + (to[j] - shift) * ld;
        for (q = 0; q < length[j]; q++) {
            ICFI_K(icfi_add)(length[j] - q, u + q * ldu + at + q, p + q * ld + (to[j] - shift) + q);
        }
        for (i = j + 1, from = at + length[j]; i < runs; from += length[i], i++) {
            const icf_real* v = u + from;
            icf_real* w = p + (to[i] - shift);
            int32_t n = length[i];
            for (q = 0; q < length[j]; q++, v += ldu, w += ld) ICFI_K(icfi_add)(n, v, w);
        }
    }
}

/* The numeric factorisation of the fronts that are to be redone. Returns the front whose pivot
   is bad, or -1. */
ICFI_TARGET static int32_t ICFI_K(icfi_factor_fronts)(icf_sparse* s, int32_t* pivot)
{
    const int32_t *cols = ICFI_INTS(s, cols), *rows = ICFI_INTS(s, rows),
                  *child = ICFI_INTS(s, child);
    const int32_t *sibling = ICFI_INTS(s, sibling), *row_start = ICFI_FACTOR_INTS(s, row_start);
    const int32_t *run_count = ICFI_FACTOR_INTS(s, run_count),
                  *run_to = ICFI_FACTOR_INTS(s, run_to);
    const int32_t* run_length = ICFI_FACTOR_INTS(s, run_length);
    const size_t *panel_at = ICFI_FACTOR_SIZES(s, panel_at),
                 *update_at = ICFI_FACTOR_SIZES(s, update_at);
    icf_real *panels = ICFI_FACTOR_REALS(s, panels), *updates = ICFI_FACTOR_REALS(s, updates);
    icf_real* small = ICFI_FACTOR_REALS(s, small);
    int32_t* redo = ICFI_FACTOR_INTS(s, redo);
    int32_t f, c, strip, fronts = s->fronts;
    for (f = 0; f < fronts; f++) {
        int32_t nc = cols[f], nr = rows[f], bad;
        ptrdiff_t ld = icfi_pad(nc + nr), ldu = icfi_pad(nr);
        icf_real *p = panels + panel_at[f], *u = updates + update_at[f];
        if (!redo[f]) continue;
        for (c = child[f]; c >= 0; c = sibling[c]) {
            ICFI_K(icfi_pass_up)
            (run_to + row_start[c], run_length + row_start[c], run_count[c], updates + update_at[c],
             icfi_pad(rows[c]), p, ld, nc, 0);
        }
        bad = ICFI_K(icfi_panel_factor)(nc + nr, (int32_t)ld, nc, p, ld, 1, small, ICFI_SMALL);
        if (bad >= 0) {
            *pivot = bad;
            return f;
        }
        redo[f] = 0;
        if (!nr) continue;
        for (strip = 0; strip < nc; strip += ICFI_STRIP) {
            ICFI_K(icfi_outer)
            (nr, (int32_t)ldu, nc - strip < ICFI_STRIP ? nc - strip : ICFI_STRIP,
             p + nc + strip * ld, ld, p + strip + strip * ld, u, ldu, strip == 0, 1, small);
        }
        for (c = child[f]; c >= 0; c = sibling[c]) {
            ICFI_K(icfi_pass_up)
            (run_to + row_start[c], run_length + row_start[c], run_count[c], updates + update_at[c],
             icfi_pad(rows[c]), u, ldu, nc, 1);
        }
    }
    return -1;
}

/* w = the entries of x that belong to the listed cliques, or the other way round; returns how
   many */
ICFI_TARGET ICFI_FORCE_INLINE int32_t ICFI_K(icfi_gather)(const int32_t* list, int32_t count,
                                                          const int32_t* start, icf_real* x,
                                                          icf_real* w, int back)
{
    int32_t k, at = 0;
    for (k = 0; k < count; k++) {
        int32_t first = start[list[k]], n = start[list[k] + 1] - first;
        if (back) {
            ICFI_K(icfi_copy)(n, w + at, x + first);
        } else {
            ICFI_K(icfi_copy)(n, x + first, w + at);
        }
        at += n;
    }
    return at;
}

/* Front by front, L y = b and then D L' x = y, on x in the caller's order. Rows below a front's
   columns gather what is to be subtracted in w, and are changed once a front. */
ICFI_TARGET static void ICFI_K(icfi_solve_fronts)(const icf_sparse* s, icf_real* x, int32_t count,
                                                  ptrdiff_t ldx)
{
    const int32_t *rows = ICFI_INTS(s, rows), *member = ICFI_INTS(s, member),
                  *order = ICFI_INTS(s, order);
    const int32_t *start = ICFI_INTS(s, start), *row = ICFI_FACTOR_INTS(s, row);
    const int32_t *row_start = ICFI_FACTOR_INTS(s, row_start), *cols = ICFI_INTS(s, cols);
    const size_t* panel_at = ICFI_FACTOR_SIZES(s, panel_at);
    const icf_real* panels = ICFI_FACTOR_REALS(s, panels);
    icf_real* w = ICFI_FACTOR_REALS(s, work);
    int32_t pass, g, f, k, i, r, at;
    for (pass = 0; pass < 2; pass++) {
        for (g = 0; g < s->fronts; g++) {
            const icf_real* p;
            const int32_t *mine, *below;
            int32_t members, blocks, height;
            ptrdiff_t ld;
            f = pass ? s->fronts - 1 - g : g;
            p = panels + panel_at[f];
            mine = order + member[f];
            members = member[f + 1] - member[f];
            below = row + row_start[f];
            blocks = row_start[f + 1] - row_start[f];
            height = cols[f] + rows[f];
            ld = icfi_pad(height);
            for (r = 0; r < count; r++) {
                icf_real* b = x + (ptrdiff_t)r * ldx;
                at = ICFI_K(icfi_gather)(mine, members, start, b, w, 0);
                if (pass) {
                    (void)ICFI_K(icfi_gather)(below, blocks, start, b, w + at, 0);
                    ICFI_K(icfi_backward)(cols[f], height, p, ld, w);
                } else {
                    for (i = at; i < height; i++) w[i] = 0;
                    ICFI_K(icfi_forward)(cols[f], height, p, ld, w);
                    for (k = 0; k < blocks; k++) {
                        int32_t first = start[below[k]], n = start[below[k] + 1] - first;
                        ICFI_K(icfi_add)(n, w + at, b + first);
                        at += n;
                    }
                }
                (void)ICFI_K(icfi_gather)(mine, members, start, b, w, 1);
            }
        }
    }
}

#endif

#ifndef ICFI_LAYER

#define ICFI_LAYER 5
#define ICFI_WIDE 0
#include "icf.h"
#undef ICFI_WIDE
#ifdef ICFI_SIMD_AVX2
#define ICFI_WIDE 1
#include "icf.h"
#undef ICFI_WIDE
#endif
#undef ICFI_LAYER

/* ---- without a factor ---- */

/* The diagonal blocks twice, to multiply with and factored, and each edge's block once, whatever
   its number of edges: a block is that of (clique, later neighbour) in the lists of neighbours,
   rows of the neighbour. */
static void icfi_sparse_layout_iterative(const icf_sparse* s, icfi_sparse_at* at, icfi_arena* arena)
{
    const int32_t *near_start = ICFI_INTS(s, near_start), *near = ICFI_INTS(s, near),
                  *size = ICFI_INTS(s, size);
    size_t diagonal = 0, reals, r = sizeof(icf_real);
    int32_t i, k;
    for (i = 0; i < s->cliques; i++)
        diagonal = icfi_plus(diagonal, icfi_times((size_t)size[i], (size_t)size[i]));
    reals = diagonal;
    for (i = 0; i < s->cliques; i++) {
        for (k = near_start[i]; k < near_start[i + 1]; k++) {
            if (near[k] < i) continue;
            reals = icfi_plus(reals, icfi_times((size_t)size[i], (size_t)size[near[k]]));
        }
    }
    at->block_at = icfi_arena_take(arena, (size_t)near_start[s->cliques], sizeof(size_t));
    at->redo = icfi_arena_take(arena, 1, sizeof(int32_t));
    at->panel_reals = reals;
    at->panels = icfi_arena_take(arena, reals, r);
    at->diagonal = icfi_arena_take(arena, diagonal, r);
    at->vectors = icfi_arena_take(arena, (size_t)s->unknowns, 5 * r);
}

static void icfi_place_apart(icf_sparse* s)
{
    const int32_t *near_start = ICFI_INTS(s, near_start), *near = ICFI_INTS(s, near);
    const int32_t *size = ICFI_INTS(s, size), *pair = ICFI_INTS(s, pair);
    size_t *block_at = ICFI_FACTOR_SIZES(s, block_at), at = 0;
    icfi_place* place = ICFI_AT(icfi_place, s->pattern, s->at.place);
    int32_t i, k, e;
    for (i = 0; i < s->cliques; i++, place++) {
        place->at = at;
        place->ld = size[i];
        place->front = size[i] ? 0 : -1;
        at += (size_t)size[i] * (size_t)size[i];
    }
    for (i = 0; i < s->cliques; i++) {
        for (k = near_start[i]; k < near_start[i + 1]; k++) {
            block_at[k] = at;
            if (near[k] > i) at += (size_t)size[i] * (size_t)size[near[k]];
        }
    }
    for (e = 0; e < s->edges; e++, place++) {
        int32_t a = pair[2 * e], b = pair[2 * e + 1], low = a < b ? a : b, high = a < b ? b : a;
        place->front = -1;
        if (!size[a] || !size[b]) continue;
        place->front = 0;
        place->at = block_at[icfi_find(near, near_start[low], near_start[low + 1] - 1, NULL, high)];
        place->ld = a < b ? -size[b] : size[a];
    }
}

static void icfi_place_blocks(icf_sparse* s)
{
    if (s->mode == ICF_SPARSE_ITERATIVE) {
        icfi_place_apart(s);
    } else {
        icfi_place_in_fronts(s);
    }
}

/* y = A x */
static void icfi_multiply(const icf_sparse* s, const icf_real* x, icf_real* y)
{
    const int32_t *near_start = ICFI_INTS(s, near_start), *near = ICFI_INTS(s, near),
                  *size = ICFI_INTS(s, size);
    const int32_t* start = ICFI_INTS(s, start);
    const size_t* block_at = ICFI_FACTOR_SIZES(s, block_at);
    const icfi_place* place = ICFI_AT(const icfi_place, s->pattern, s->at.place);
    const icf_real* blocks = ICFI_FACTOR_REALS(s, panels);
    int32_t i, k, p, q;
    for (i = 0; i < s->unknowns; i++) y[i] = 0;
    for (i = 0; i < s->cliques; i++) {
        int32_t n = size[i];
        const icf_real *xi = x + start[i], *d = blocks + place[i].at;
        icf_real* yi = y + start[i];
        for (q = 0; q < n; q++) {
            icf_real sum = d[q + q * (ptrdiff_t)n] * xi[q];
            for (p = q + 1; p < n; p++) {
                icf_real v = d[p + q * (ptrdiff_t)n];
                yi[p] += v * xi[q];
                sum += v * xi[p];
            }
            yi[q] += sum;
        }
        for (k = near_start[i]; k < near_start[i + 1]; k++) {
            int32_t j = near[k], m = size[j];
            const icf_real *b = blocks + block_at[k], *xj = x + start[j];
            icf_real* yj = y + start[j];
            if (j < i) continue;
            for (q = 0; q < n; q++) {
                icf_real sum = 0;
                for (p = 0; p < m; p++) {
                    icf_real v = b[p + q * (ptrdiff_t)m];
                    yj[p] += v * xi[q];
                    sum += v * xj[p];
                }
                yi[q] += sum;
            }
        }
    }
}

static icf_real icfi_dot(int32_t n, const icf_real* a, const icf_real* b)
{
    icf_real sum = 0;
    int32_t i;
    for (i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* z = the diagonal blocks' inverses times r */
static void icfi_precondition(const icf_sparse* s, const icf_real* r, icf_real* z)
{
    const int32_t *size = ICFI_INTS(s, size), *start = ICFI_INTS(s, start);
    const icfi_place* place = ICFI_AT(const icfi_place, s->pattern, s->at.place);
    const icf_real* diagonal = ICFI_FACTOR_REALS(s, diagonal);
    int32_t i;
    for (i = 0; i < s->unknowns; i++) z[i] = r[i];
    for (i = 0; i < s->cliques; i++) {
        (void)icf_dense_solve(size[i], diagonal + place[i].at, size[i], z + start[i], 1, size[i]);
    }
}

/* Conjugate gradients. The residual that is carried along drifts from the true one; when it says
   enough, the true one is formed, and the iteration begins again from there if it disagrees. */
static icf_result icfi_iterate(icf_sparse* s, icf_real* x)
{
    int32_t i, n = s->unknowns, used;
    icf_real *b = ICFI_FACTOR_REALS(s, vectors), *r = b + n, *z = r + n, *p = z + n, *q = p + n;
    icf_real scale, norm, last = -1, largest = 0;
    for (i = 0; i < n; i++) {
        if (!(ICF_FABS(x[i]) <= ICFI_REAL_MAX)) return ICF_RESULT_NOT_FINITE;
        if (largest < ICF_FABS(x[i])) largest = ICF_FABS(x[i]);
    }
    if (largest == 0) return ICF_RESULT_OK;

    /* all is done for b over its largest entry, so that no square over- or underflows */
    for (i = 0; i < n; i++) {
        b[i] = x[i] / largest;
        x[i] = 0;
        r[i] = b[i];
    }
    scale = ICF_SQRT(icfi_dot(n, b, b));
    norm = scale;
    for (used = 0; norm > s->tolerance * scale;) {
        icf_real rz;
        icfi_precondition(s, r, z);
        for (i = 0; i < n; i++) p[i] = z[i];
        rz = icfi_dot(n, r, z);
        while (norm > s->tolerance * scale && used < s->budget) {
            icf_real curvature, step, before = rz;
            icfi_multiply(s, p, q);
            curvature = icfi_dot(n, p, q);
            if (!(curvature > 0)) break;
            step = rz / curvature;
            for (i = 0; i < n; i++) x[i] += step * p[i];
            for (i = 0; i < n; i++) r[i] -= step * q[i];
            norm = ICF_SQRT(icfi_dot(n, r, r));
            icfi_precondition(s, r, z);
            rz = icfi_dot(n, r, z);
            for (i = 0; i < n; i++) p[i] = z[i] + rz / before * p[i];
            used++;
        }
        icfi_multiply(s, x, q);
        for (i = 0; i < n; i++) r[i] = b[i] - q[i];
        norm = ICF_SQRT(icfi_dot(n, r, r));
        if (used >= s->budget || (last >= 0 && norm > last / 2)) break;
        last = norm;
    }
    for (i = 0; i < n; i++) x[i] *= largest;
    s->iterations += used;
    if (!(norm / scale <= s->residual)) s->residual = norm / scale;
    return norm <= s->tolerance * scale ? ICF_RESULT_OK : ICF_RESULT_NOT_CONVERGED;
}

/* ---- the calls ---- */

enum { ICFI_SPARSE_UNBOUND, ICFI_SPARSE_BOUND, ICFI_SPARSE_ASSEMBLING, ICFI_SPARSE_FACTORED };

static int icfi_sparse_is(const icf_sparse* s, int32_t state)
{
    return s && s->cookie == ICFI_SPARSE_COOKIE && s->state >= state;
}

static int icfi_sparse_assembling(const icf_sparse* s)
{
    return icfi_sparse_is(s, ICFI_SPARSE_ASSEMBLING) && s->state == ICFI_SPARSE_ASSEMBLING;
}

static icfi_arena icfi_sparse_measure(const icf_sparse* s, icf_sparse_mode mode, icfi_sparse_at* at,
                                      icfi_arena arena)
{
    if (mode == ICF_SPARSE_ITERATIVE) {
        icfi_sparse_layout_iterative(s, at, &arena);
    } else {
        icfi_sparse_layout_factor(s, at, &arena, mode);
    }
    return arena;
}

static int icfi_good_mode(icf_sparse_mode mode)
{
    return mode == ICF_SPARSE_FULL || mode == ICF_SPARSE_PARTIAL || mode == ICF_SPARSE_ITERATIVE;
}

ICF_API size_t icf_sparse_bytes(const icf_sparse* s, icf_sparse_mode mode)
{
    icfi_sparse_at at;
    icfi_arena arena;
    if (!icfi_sparse_is(s, ICFI_SPARSE_UNBOUND) || !icfi_good_mode(mode)) return 0;
    arena = icfi_sparse_measure(s, mode, &at, icfi_arena_measure());
    return arena.result == ICF_RESULT_OK ? arena.peak : 0;
}

ICF_API icf_result icf_sparse_bind(icf_sparse* s, icf_sparse_mode mode, void* memory, size_t bytes)
{
    icfi_sparse_at at;
    icfi_arena arena = icfi_arena_over(memory, bytes);
    if (!s || !icfi_good_mode(mode)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_is(s, ICFI_SPARSE_UNBOUND) || s->owner) return ICF_RESULT_BAD_STATE;
    at = s->at;
    arena = icfi_sparse_measure(s, mode, &at, arena);
    if (arena.result != ICF_RESULT_OK) return arena.result;
    s->at = at;
    s->mode = (int32_t)mode;
    s->factor = memory;
    s->state = ICFI_SPARSE_BOUND;
    s->bound = 1;
    if (mode != ICF_SPARSE_ITERATIVE) {
        size_t panels, updates;
        icfi_list_rows(s);
        icfi_find_runs(s);
        icfi_place_fronts(s, mode, ICFI_FACTOR_SIZES(s, panel_at), ICFI_FACTOR_SIZES(s, update_at),
                          ICFI_INTS(s, scratch), &panels, &updates);
    }
    icfi_place_blocks(s);
    return ICF_RESULT_OK;
}

#ifndef ICF_NO_MALLOC
ICF_API void icf_sparse_destroy(icf_sparse* s)
{
    if (!s) return;
    if (s->owner) {
        ICF_FREE(s->pattern);
        ICF_FREE(s->factor);
    }
    ICFI_MEMSET(s, 0, sizeof *s);
}

ICF_API icf_result icf_sparse_create(icf_sparse* s, icf_sparse_mode mode, int32_t cliques,
                                     const int32_t* sizes, int32_t edges, const int32_t* pairs)
{
    icf_result result;
    size_t bytes = icf_sparse_pattern_bytes(cliques, edges);
    void *pattern, *factor;
    if (!s) return ICF_RESULT_BAD_ARGUMENT;
    ICFI_MEMSET(s, 0, sizeof *s);
    if (!icfi_good_mode(mode) || cliques < 0 || edges < 0) return ICF_RESULT_BAD_ARGUMENT;
    if (!bytes) return ICF_RESULT_OVERFLOW;
    pattern = ICF_MALLOC(bytes);
    if (!pattern) return ICF_RESULT_NO_MEMORY;
    result = icf_sparse_analyze(s, pattern, bytes, cliques, sizes, edges, pairs);
    bytes = result == ICF_RESULT_OK ? icf_sparse_bytes(s, mode) : 0;
    if (result == ICF_RESULT_OK && !bytes) result = ICF_RESULT_OVERFLOW;
    factor = bytes ? ICF_MALLOC(bytes) : NULL;
    if (result == ICF_RESULT_OK && !factor) result = ICF_RESULT_NO_MEMORY;
    if (result == ICF_RESULT_OK) result = icf_sparse_bind(s, mode, factor, bytes);
    if (result == ICF_RESULT_OK) {
        s->owner = 1;
    } else {
        ICFI_MEMSET(s, 0, sizeof *s);
        if (factor) ICF_FREE(factor);
        ICF_FREE(pattern);
    }
    return result;
}
#endif

ICF_API icf_result icf_sparse_begin(icf_sparse* s)
{
    int32_t f;
    if (!s) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_is(s, ICFI_SPARSE_BOUND)) return ICF_RESULT_BAD_STATE;
    ICFI_MEMSET(ICFI_FACTOR_REALS(s, panels), 0, s->at.panel_reals * sizeof(icf_real));
    for (f = 0; f < (s->mode == ICF_SPARSE_ITERATIVE ? 1 : s->fronts); f++) {
        ICFI_FACTOR_INTS(s, redo)[f] = 1;
    }
    s->state = ICFI_SPARSE_ASSEMBLING;
    return ICF_RESULT_OK;
}

/* Front f and all above it are to be redone. */
static void icfi_redo_from(icf_sparse* s, int32_t f)
{
    const int32_t *parent = ICFI_INTS(s, parent), *cols = ICFI_INTS(s, cols),
                  *rows = ICFI_INTS(s, rows);
    int32_t* redo = ICFI_FACTOR_INTS(s, redo);
    for (; f >= 0 && !redo[f]; f = parent[f]) {
        redo[f] = 1;
        ICFI_MEMSET(ICFI_FACTOR_REALS(s, panels) + ICFI_FACTOR_SIZES(s, panel_at)[f], 0,
                    (size_t)icfi_pad(cols[f] + rows[f]) * (size_t)cols[f] * sizeof(icf_real));
    }
}

ICF_API icf_result icf_sparse_begin_partial(icf_sparse* s, int32_t count, const int32_t* changed)
{
    const int32_t *near_start, *near, *front, *position;
    int32_t i, k;
    if (!s || count < 0 || (count && !changed)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_is(s, ICFI_SPARSE_BOUND)) return ICF_RESULT_BAD_STATE;
    for (i = 0; i < count; i++) {
        if (changed[i] < 0 || changed[i] >= s->cliques) return ICF_RESULT_BAD_ARGUMENT;
    }
    if (s->mode != ICF_SPARSE_PARTIAL || s->state != ICFI_SPARSE_FACTORED)
        return icf_sparse_begin(s);
    near_start = ICFI_INTS(s, near_start);
    near = ICFI_INTS(s, near);
    front = ICFI_INTS(s, front);
    position = ICFI_INTS(s, position);
    for (i = 0; i < count; i++) {
        int32_t c = changed[i];
        for (k = near_start[c]; k < near_start[c + 1]; k++) {
            if (position[near[k]] < position[c]) icfi_redo_from(s, front[near[k]]);
        }
        icfi_redo_from(s, front[c]);
    }
    s->state = ICFI_SPARSE_ASSEMBLING;
    return ICF_RESULT_OK;
}

/* Where to add block k of `count`, after `first` others; NULL if there is none or nothing was
   begun. */
static const icfi_place* icfi_sparse_place(const icf_sparse* s, int32_t k, int32_t count,
                                           int32_t first)
{
    if (!icfi_sparse_assembling(s) || k < 0 || k >= count) return NULL;
    return ICFI_AT(const icfi_place, s->pattern, s->at.place) + first + k;
}

static int icfi_sparse_wants(const icf_sparse* s, const icfi_place* place)
{
    return place && place->front >= 0 && ICFI_FACTOR_INTS(s, redo)[place->front];
}

/* Why there was no place to add to */
static icf_result icfi_sparse_refuse(const icf_sparse* s)
{
    return !s || icfi_sparse_assembling(s) ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_BAD_STATE;
}

ICF_API int icf_sparse_wants_diagonal(const icf_sparse* s, int32_t clique)
{
    return s && icfi_sparse_wants(s, icfi_sparse_place(s, clique, s->cliques, 0));
}

ICF_API int icf_sparse_wants_edge(const icf_sparse* s, int32_t edge)
{
    return s && icfi_sparse_wants(s, icfi_sparse_place(s, edge, s->edges, s->cliques));
}

ICF_API icf_result icf_sparse_add_diagonal(icf_sparse* s, int32_t clique, const icf_real* block,
                                           int32_t ld)
{
    const icfi_place* place = s ? icfi_sparse_place(s, clique, s->cliques, 0) : NULL;
    int32_t j, n;
    icf_real* to;
    if (!place) return icfi_sparse_refuse(s);
    n = ICFI_INTS(s, size)[clique];
    if (n && (!block || ld < n)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_wants(s, place)) return ICF_RESULT_OK;
    to = ICFI_FACTOR_REALS(s, panels) + place->at;
    /* the whole square: what stands above a diagonal is scratch */
    for (j = 0; j < n; j++, block += ld, to += place->ld) icfi_add_base(n, block, to);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_sparse_add_edge(icf_sparse* s, int32_t edge, const icf_real* block,
                                       int32_t ld)
{
    const icfi_place* place = s ? icfi_sparse_place(s, edge, s->edges, s->cliques) : NULL;
    const int32_t* pair;
    int32_t i, na, nb;
    ptrdiff_t step;
    icf_real *to, *at;
    if (!place) return icfi_sparse_refuse(s);
    pair = ICFI_INTS(s, pair) + 2 * (ptrdiff_t)edge;
    na = ICFI_INTS(s, size)[pair[0]];
    nb = ICFI_INTS(s, size)[pair[1]];
    if (na && nb && (!block || ld < na)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_wants(s, place)) return ICF_RESULT_OK;
    to = ICFI_FACTOR_REALS(s, panels) + place->at;
    step = place->ld;
    if (step > 0) {
        for (; nb > 0; nb--, block += ld, to += step) icfi_add_base(na, block, to);
    } else {
        for (; nb > 0; nb--, block += ld, to++) {
            for (i = 0, at = to; i + 3 <= na; i += 3, at -= 3 * step) {
                at[0] += block[i];
                at[-step] += block[i + 1];
                at[-2 * step] += block[i + 2];
            }
            for (; i < na; i++, at -= step) at[0] += block[i];
        }
    }
    return ICF_RESULT_OK;
}

/* The unknown, as the caller counts them, that is column `pivot` of front f */
static int32_t icfi_unknown_of(const icf_sparse* s, int32_t f, int32_t pivot)
{
    const int32_t *member = ICFI_INTS(s, member), *order = ICFI_INTS(s, order),
                  *size = ICFI_INTS(s, size);
    int32_t k = member[f];
    for (; pivot >= size[order[k]]; k++) pivot -= size[order[k]];
    return ICFI_INTS(s, start)[order[k]] + pivot;
}

ICF_API icf_result icf_sparse_factor(icf_sparse* s, int32_t* pivot)
{
    int32_t f, at = 0;
    if (!s) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_assembling(s)) return ICF_RESULT_BAD_STATE;
    if (s->mode == ICF_SPARSE_ITERATIVE) {
        const int32_t* size = ICFI_INTS(s, size);
        const icfi_place* place = ICFI_AT(const icfi_place, s->pattern, s->at.place);
        icf_real* diagonal = ICFI_FACTOR_REALS(s, diagonal);
        for (f = 0; f < s->cliques; f++) {
            size_t reals = (size_t)size[f] * (size_t)size[f];
            if (reals)
                ICFI_MEMCPY(diagonal + place[f].at, ICFI_FACTOR_REALS(s, panels) + place[f].at,
                            reals * sizeof(icf_real));
            if (icf_dense_factor(size[f], diagonal + place[f].at, size[f], &at) != ICF_RESULT_OK) {
                s->state = ICFI_SPARSE_BOUND;
                if (pivot) *pivot = ICFI_INTS(s, start)[f] + at;
                return ICF_RESULT_NOT_SPD;
            }
        }
    } else {
        f = ICFI_WIDEST(icfi_factor_fronts, (s, &at));
        ICFI_WIDEST_END();
        if (f >= 0) {
            s->state = ICFI_SPARSE_BOUND;
            if (pivot) *pivot = icfi_unknown_of(s, f, at);
            return ICF_RESULT_NOT_SPD;
        }
    }
    s->state = ICFI_SPARSE_FACTORED;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_sparse_solve(icf_sparse* s, icf_real* x, int32_t count, int32_t ldx)
{
    int32_t r;
    icf_result result = ICF_RESULT_OK;
    if (!s || count < 0 || ldx < s->unknowns || (count && s->unknowns && !x)) {
        return ICF_RESULT_BAD_ARGUMENT;
    }
    if (!icfi_sparse_is(s, ICFI_SPARSE_FACTORED)) return ICF_RESULT_NO_FACTOR;
    if (!s->unknowns) return ICF_RESULT_OK;
    if (s->mode != ICF_SPARSE_ITERATIVE) {
        ICFI_WIDEST(icfi_solve_fronts, (s, x, count, ldx));
        ICFI_WIDEST_END();
        return ICF_RESULT_OK;
    }
    s->iterations = 0;
    s->residual = 0;
    for (r = 0; r < count; r++) {
        icf_result one = icfi_iterate(s, x + (ptrdiff_t)r * ldx);
        if (one != ICF_RESULT_OK) result = one;
    }
    return result;
}

ICF_API size_t icf_sparse_bytes_most(int32_t cliques, int32_t edges, int32_t largest,
                                     icf_sparse_mode mode)
{
    /* Fronts, rows and columns are at most those of the dense matrix. The rows of a front are
       those of cliques to which an edge leads out of its subtree. So at most `edges` fronts have
       rows; and in one of the two stacks of ICF_SPARSE_FULL, where no subtree contains another,
       all rows together are at most those of `edges` cliques. */
    icfi_arena arena = icfi_arena_measure();
    size_t c = (size_t)cliques, e = (size_t)edges, m = (size_t)largest, r = sizeof(icf_real);
    size_t n = icfi_times(c, m), few = e < c ? e : c, rows = icfi_times(few, m);
    size_t pad = 32 / sizeof(icf_real), most;
    if (cliques < 0 || edges < 0 || largest < 0 || !icfi_good_mode(mode)) return 0;
    if (mode == ICF_SPARSE_ITERATIVE) {
        (void)icfi_arena_take(&arena, icfi_times(2, e), sizeof(size_t));
        (void)icfi_arena_take(&arena, 1, sizeof(int32_t));
        (void)icfi_arena_take(&arena, icfi_times(icfi_plus(c, e), icfi_times(m, m)), r);
        (void)icfi_arena_take(&arena, icfi_times(c, icfi_times(m, m)), r);
        (void)icfi_arena_take(&arena, n, 5 * r);
        return arena.result == ICF_RESULT_OK ? arena.peak : 0;
    }
    most = icfi_times(few, icfi_times(rows, icfi_plus(rows, pad)));
    if (mode == ICF_SPARSE_FULL) {
        size_t alive = icfi_times(icfi_times(e, m), icfi_plus(rows, pad));
        most = icfi_times(2, alive < most ? alive : most);
    }
    (void)icfi_arena_take(&arena, icfi_plus(icfi_times(4, c), 1), sizeof(int32_t));
    (void)icfi_arena_take(&arena, icfi_times(c, c), 4 * sizeof(int32_t));
    (void)icfi_arena_take(&arena, icfi_times(2, c), sizeof(size_t));
    (void)icfi_arena_take(&arena, ICFI_SMALL, r);
    (void)icfi_arena_take(&arena, icfi_plus(n, pad), r);
    (void)icfi_arena_take(&arena, icfi_plus(icfi_times(n, icfi_plus(n, pad)), pad), r);
    (void)icfi_arena_take(&arena, icfi_plus(most, pad), r);
    (void)icfi_arena_take(&arena, 16, ICFI_GRANULE); /* rounding */
    return arena.result == ICF_RESULT_OK ? arena.peak : 0;
}

#endif

#ifndef ICFI_LAYER

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

#endif /* ICFI_LAYER */
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
