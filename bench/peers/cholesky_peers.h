/* Other people's Cholesky codes behind one plain C interface, for bench/cholesky.c: OpenBLAS, Eigen, and
   of SuiteSparse CHOLMOD and LDL (the code that QDLDL was made from; QDLDL itself is no package).

   OpenBLAS chooses its kernels when it is loaded, and on Zen 4 it does not choose the fastest. So that
   those take part in the same run, a second copy of CHOLMOD and OpenBLAS is loaded (dlmopen) under
   OPENBLAS_CORETYPE=Zen. BENCH_CORETYPE=name in the environment names other kernels, an empty one leaves
   the second copy out. Whoever prefers two runs sets OPENBLAS_CORETYPE for the whole program instead. */

#ifndef CHOLESKY_PEERS_H
#define CHOLESKY_PEERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What takes part: versions and kernel sets, one line */
const char* peers_versions(void);

/* ---- dense: n x n, column-major, lower triangle, leading dimension n */

typedef struct peers_dense peers_dense;

int peers_dense_count(void);
const char* peers_dense_name(int peer);

/* NULL when this peer has nothing for this n. The matrix is copied. */
peers_dense* peers_dense_open(int peer, int32_t n, const double* a);
void peers_dense_close(peers_dense* d);

/* A copy of the matrix is factored, count times. */
void peers_dense_factor(peers_dense* d, long count);

/* x (n) becomes the solution, count times: the right-hand side is copied into x each time. */
void peers_dense_solve(peers_dense* d, const double* b, double* x, long count);

/* ---- sparse */

/* The lower triangle by columns with ascending rows, and the graph it came from. All of it stays the
   caller's and must outlive the peers. */
typedef struct peers_matrix {
    int32_t n;
    const int32_t* start; /* (n + 1) */
    const int32_t* row;
    const double* value;
    int32_t cliques;
    const int32_t* sizes;
    int32_t edges;
    const int32_t* pairs;
} peers_matrix;

typedef struct peers_sparse peers_sparse;

/* Every ordering, and every solver with the ordering that makes it fastest. Solvers that work entry by
   entry are left out when the cheapest ordering costs more than most_flops. */
peers_sparse* peers_sparse_open(const peers_matrix* m, double most_flops);
void peers_sparse_close(peers_sparse* s);

/* Orderings: flops = sum over columns of (entries of the column of L)^2, fill = entries of L; of the pure
   ordering, as CHOLMOD counts them after its post-ordering. Times in seconds; symbolic is CHOLMOD's analysis
   with that ordering given, elimination tree to supernodes. */
int peers_ordering_count(void);
const char* peers_ordering_name(int ordering);
double peers_ordering_flops(const peers_sparse* s, int ordering);
double peers_ordering_fill(const peers_sparse* s, int ordering);
double peers_ordering_seconds(const peers_sparse* s, int ordering);
double peers_symbolic_seconds(const peers_sparse* s, int ordering);

/* Solvers */
int peers_solver_count(void);
const char* peers_solver_name(int solver);

/* 0 when it was left out or failed */
int peers_solver_ready(const peers_sparse* s, int solver);

/* The ordering it is fastest with */
const char* peers_solver_ordering(const peers_sparse* s, int solver);

/* Seconds that ordering and symbolic analysis took, with that ordering */
double peers_solver_analysis(const peers_sparse* s, int solver);

/* The numeric part alone: from the values of the assembled matrix to the factor, count times */
void peers_solver_factor(peers_sparse* s, int solver, long count);

/* Solves for rhs columns of n, count times; b is not changed. 0 when it failed. */
int peers_solver_solve(peers_sparse* s, int solver, const double* b, double* x, int32_t rhs,
                       long count);

#ifdef __cplusplus
}
#endif
#endif
