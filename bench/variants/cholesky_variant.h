/* The library compiled one way, as a table of functions at the grain that bench/cholesky.c measures.

   icf.h is private to the file that includes this one (ICF_STATIC), so the same program can hold it
   several times: as it comes, with SSE2 only, scalar, with fused multiply-adds. Each file defines the
   options it stands for and VARIANT, the name of its table, and includes this once. */

#ifndef CHOLESKY_VARIANT_H
#define CHOLESKY_VARIANT_H

#define ICF_STATIC
#define ICF_IMPLEMENTATION
#include "../../icf.h"

#include "../graphs.h"

/* All of them answer an icf_result, the first that is not ICF_RESULT_OK. */
typedef struct cholesky_variant {
    /* f = a, factored, count times; leading dimension n */
    int (*dense_factor)(int32_t n, const double* a, double* f, long count);
    /* x = b, solved with f, count times */
    int (*dense_solve)(int32_t n, const double* f, const double* b, double* x, long count);

    /* the pattern worked out from nothing, count times: the object is cleared before */
    int (*analyze)(icf_sparse* s, void* memory, size_t bytes, const graph* g, long count);
    /* the same pattern presented again, count times */
    int (*analyze_again)(icf_sparse* s, void* memory, size_t bytes, const graph* g, long count);
    int (*bind)(icf_sparse* s, icf_sparse_mode mode, void* memory, size_t bytes, long count);
    size_t (*pattern_bytes)(int32_t cliques, int32_t edges);
    size_t (*bytes)(const icf_sparse* s, icf_sparse_mode mode);

    /* all blocks added and the factor made, count times */
    int (*factor)(icf_sparse* s, const matrix* m, long count);
    /* the same after a change of one clique: what is wanted is added again */
    int (*factor_partial)(icf_sparse* s, const matrix* m, int32_t clique, long count);
    /* x = b, solved, count times; rhs columns */
    int (*solve)(icf_sparse* s, const double* b, double* x, int32_t rhs, long count);
} cholesky_variant;

extern const cholesky_variant VARIANT;

static int variant_dense_factor(int32_t n, const double* a, double* f, long count)
{
    int result = ICF_RESULT_OK;
    for (; count > 0 && !result; count--) {
        memcpy(f, a, (size_t)n * (size_t)n * sizeof *a);
        result = icf_dense_factor(n, f, n, NULL);
    }
    return result;
}

static int variant_dense_solve(int32_t n, const double* f, const double* b, double* x, long count)
{
    int result = ICF_RESULT_OK;
    for (; count > 0 && !result; count--) {
        memcpy(x, b, (size_t)n * sizeof *b);
        result = icf_dense_solve(n, f, n, x, 1, n);
    }
    return result;
}

static int variant_analyze_again(icf_sparse* s, void* memory, size_t bytes, const graph* g,
                                 long count)
{
    int result = ICF_RESULT_OK;
    for (; count > 0 && !result; count--) {
        result = icf_sparse_analyze(s, memory, bytes, g->cliques, g->sizes, g->edges, g->pairs);
    }
    return result;
}

static int variant_analyze(icf_sparse* s, void* memory, size_t bytes, const graph* g, long count)
{
    int result = ICF_RESULT_OK;
    for (; count > 0 && !result; count--) {
        memset(s, 0, sizeof *s);
        result = icf_sparse_analyze(s, memory, bytes, g->cliques, g->sizes, g->edges, g->pairs);
    }
    return result;
}

static int variant_bind(icf_sparse* s, icf_sparse_mode mode, void* memory, size_t bytes, long count)
{
    int result = ICF_RESULT_OK;
    for (; count > 0 && !result; count--) result = icf_sparse_bind(s, mode, memory, bytes);
    return result;
}

static size_t variant_pattern_bytes(int32_t cliques, int32_t edges)
{
    return icf_sparse_pattern_bytes(cliques, edges);
}

static size_t variant_bytes(const icf_sparse* s, icf_sparse_mode mode)
{
    return icf_sparse_bytes(s, mode);
}

static int variant_factor(icf_sparse* s, const matrix* m, long count)
{
    const graph* g = m->g;
    int result = ICF_RESULT_OK;
    for (; count > 0 && !result; count--) {
        int32_t i;
        result = icf_sparse_begin(s);
        for (i = 0; i < g->cliques && !result; i++) {
            result = icf_sparse_add_diagonal(s, i, matrix_diagonal(m, i), g->sizes[i]);
        }
        for (i = 0; i < g->edges && !result; i++) {
            result = icf_sparse_add_edge(s, i, matrix_edge(m, i), g->sizes[g->pairs[2 * i]]);
        }
        if (!result) result = icf_sparse_factor(s, NULL);
    }
    return result;
}

static int variant_factor_partial(icf_sparse* s, const matrix* m, int32_t clique, long count)
{
    const graph* g = m->g;
    int result = ICF_RESULT_OK;
    for (; count > 0 && !result; count--) {
        int32_t i;
        result = icf_sparse_begin_partial(s, 1, &clique);
        for (i = 0; i < g->cliques && !result; i++) {
            if (!icf_sparse_wants_diagonal(s, i)) continue;
            result = icf_sparse_add_diagonal(s, i, matrix_diagonal(m, i), g->sizes[i]);
        }
        for (i = 0; i < g->edges && !result; i++) {
            if (!icf_sparse_wants_edge(s, i)) continue;
            result = icf_sparse_add_edge(s, i, matrix_edge(m, i), g->sizes[g->pairs[2 * i]]);
        }
        if (!result) result = icf_sparse_factor(s, NULL);
    }
    return result;
}

static int variant_solve(icf_sparse* s, const double* b, double* x, int32_t rhs, long count)
{
    const int32_t n = s->unknowns;
    int result = ICF_RESULT_OK;
    for (; count > 0 && !result; count--) {
        memcpy(x, b, (size_t)n * (size_t)rhs * sizeof *b);
        result = icf_sparse_solve(s, x, rhs, n);
    }
    return result;
}

const cholesky_variant VARIANT = {
    variant_dense_factor,   variant_dense_solve,   variant_analyze, variant_analyze_again,
    variant_bind,           variant_pattern_bytes, variant_bytes,   variant_factor,
    variant_factor_partial, variant_solve,
};

#endif
