/* Graphs with the pattern of contact problems, and positive definite matrices on them.

   A graph has cliques (bodies, robots, vertices of a mesh), each with a number of unknowns, and edges
   between those that touch. A matrix on it has one dense symmetric block per clique and one dense block
   per edge; every row is diagonally dominant, so that it is positive definite whatever the graph.

   The numbers come from a generator of our own, so that every machine gets the same graphs and the same
   values, in the same order, as the measurements that our targets were taken from. */

#ifndef BENCH_GRAPHS_H
#define BENCH_GRAPHS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct graph_random {
    uint64_t state;
} graph_random;

/* Uniform in [0, 1): the upper 53 bits of Knuth's 64-bit congruential generator. */
static inline double graph_random_next(graph_random* r)
{
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(r->state >> 11) / 9007199254740992.0;
}

typedef struct graph {
    int32_t cliques;
    int32_t edges;
    int32_t unknowns;
    int32_t* sizes;   /* (cliques) unknowns of each */
    int32_t* offsets; /* (cliques + 1) first unknown of each */
    int32_t*
        pairs;    /* (2 edges) the two cliques of an edge, the larger first; no pair comes twice */
    int32_t room; /* edges that fit in pairs before it has to grow */
} graph;

/* A benchmark without memory has nothing to say. */
static inline void* graph_memory(void* old, size_t count, size_t size)
{
    void* p = realloc(old, (count ? count : 1) * size);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

/* All cliques of one size, no edges yet */
static inline graph graph_make(int32_t cliques, int32_t size)
{
    graph g;
    int32_t i;
    memset(&g, 0, sizeof g);
    g.cliques = cliques;
    g.unknowns = cliques * size;
    g.sizes = (int32_t*)graph_memory(NULL, (size_t)cliques, sizeof *g.sizes);
    g.offsets = (int32_t*)graph_memory(NULL, (size_t)cliques + 1, sizeof *g.offsets);
    for (i = 0; i < cliques; i++) g.sizes[i] = size;
    for (i = 0; i <= cliques; i++) g.offsets[i] = i * size;
    return g;
}

static inline void graph_free(graph* g)
{
    free(g->sizes);
    free(g->offsets);
    free(g->pairs);
    memset(g, 0, sizeof *g);
}

static inline void graph_connect(graph* g, int32_t a, int32_t b)
{
    if (g->edges == g->room) {
        g->room = g->room ? 2 * g->room : 64;
        g->pairs = (int32_t*)graph_memory(g->pairs, 2 * (size_t)g->room, sizeof *g->pairs);
    }
    g->pairs[2 * g->edges] = a > b ? a : b;
    g->pairs[2 * g->edges + 1] = a > b ? b : a;
    g->edges++;
}

static inline int graph_compare_pairs(const void* a, const void* b)
{
    const int32_t *p = (const int32_t*)a, *q = (const int32_t*)b;
    if (p[0] != q[0]) return p[0] < q[0] ? -1 : 1;
    return p[1] < q[1] ? -1 : p[1] > q[1];
}

/* A pile of bodies, width x width to a layer: each lies anywhere in its own unit cube, and two touch
   when their centres are closer than 1.1. Numbered at random, as the bodies of a real scene are. */
static inline graph graph_clutter(int32_t bodies, int32_t width)
{
    graph g = graph_make(bodies, 6);
    graph_random random;
    double* centre = (double*)graph_memory(NULL, 3 * (size_t)bodies, sizeof *centre);
    int32_t* number = (int32_t*)graph_memory(NULL, (size_t)bodies, sizeof *number);
    int32_t i, j;
    random.state = (uint64_t)(bodies * 31 + width);
    for (i = 0; i < bodies; i++) {
        centre[3 * i] = i % width + graph_random_next(&random);
        centre[3 * i + 1] = (i / width) % width + graph_random_next(&random);
        centre[3 * i + 2] = i / (width * width) + graph_random_next(&random);
    }
    for (i = 0; i < bodies; i++) number[i] = i;
    for (i = bodies - 1; i > 0; i--) {
        int32_t other = (int32_t)(graph_random_next(&random) * (i + 1)), swapped = number[i];
        number[i] = number[other];
        number[other] = swapped;
    }

    // every pair is tried: the order of the edges is part of the problem, because the values follow it
    for (i = 0; i < bodies; i++) {
        for (j = 0; j < i; j++) {
            double x = centre[3 * i] - centre[3 * j];
            double y = centre[3 * i + 1] - centre[3 * j + 1];
            double z = centre[3 * i + 2] - centre[3 * j + 2];
            if (x * x + y * y + z * z < 1.1 * 1.1) graph_connect(&g, number[i], number[j]);
        }
    }
    free(centre);
    free(number);
    return g;
}

/* A chain or a stack: each body touches the one before it */
static inline graph graph_chain(int32_t bodies)
{
    graph g = graph_make(bodies, 6);
    int32_t i;
    for (i = 1; i < bodies; i++) graph_connect(&g, i, i - 1);
    return g;
}

/* Bodies that touch nothing */
static inline graph graph_islands(int32_t bodies)
{
    return graph_make(bodies, 6);
}

/* A robot of 36 unknowns, the last clique, that touches some bodies of a pile four wide */
static inline graph graph_robot(int32_t bodies, int32_t touched)
{
    graph g = graph_clutter(bodies, 4);
    int32_t i, kept = 0;
    g.sizes = (int32_t*)graph_memory(g.sizes, (size_t)bodies + 1, sizeof *g.sizes);
    g.offsets = (int32_t*)graph_memory(g.offsets, (size_t)bodies + 2, sizeof *g.offsets);
    g.sizes[bodies] = 36;
    g.offsets[bodies + 1] = g.offsets[bodies] + 36;
    g.cliques++;
    g.unknowns += 36;
    for (i = 0; i < touched; i++) graph_connect(&g, bodies, i * 7 % bodies);
    if (g.edges) qsort(g.pairs, (size_t)g.edges, 2 * sizeof *g.pairs, graph_compare_pairs);
    for (i = 0; i < g.edges; i++) {
        if (kept && !graph_compare_pairs(g.pairs + 2 * i, g.pairs + 2 * (kept - 1))) continue;
        g.pairs[2 * kept] = g.pairs[2 * i];
        g.pairs[2 * kept + 1] = g.pairs[2 * i + 1];
        kept++;
    }
    g.edges = kept;
    return g;
}

/* The vertices of a grid of a x b x c, 3 unknowns each. Every cube is cut into the six tetrahedra around
   its long diagonal, so a vertex meets those ahead of it along every axis, face and space diagonal. */
static inline graph graph_fem(int32_t a, int32_t b, int32_t c)
{
    static const int32_t ahead[7][3] = {
        {1, 0, 0},
        {0, 1, 0},
        {0, 0, 1},
        {1, 1, 0},
        {1, 0, 1},
        {0, 1, 1},
        {1, 1, 1}
    };
    graph g = graph_make(a * b * c, 3);
    int32_t i, j, k, e;
    for (k = 0; k < c; k++) {
        for (j = 0; j < b; j++) {
            for (i = 0; i < a; i++) {
                for (e = 0; e < 7; e++) {
                    int32_t x = i + ahead[e][0], y = j + ahead[e][1], z = k + ahead[e][2];
                    if (x < a && y < b && z < c)
                        graph_connect(&g, x + a * (y + b * z), i + a * (j + b * k));
                }
            }
        }
    }
    return g;
}

/* Blocks are column-major and dense, leading dimension = their rows. */
typedef struct matrix {
    const graph* g;
    size_t* diagonal_start; /* (cliques + 1) */
    size_t* edge_start;     /* (edges + 1) */
    double* diagonal;       /* size x size each, both triangles */
    double* edge;           /* unknowns of the first clique x unknowns of the second each */
} matrix;

static inline double* matrix_diagonal(const matrix* m, int32_t clique)
{
    return m->diagonal + m->diagonal_start[clique];
}

static inline double* matrix_edge(const matrix* m, int32_t edge)
{
    return m->edge + m->edge_start[edge];
}

static inline matrix matrix_make(const graph* g)
{
    matrix m;
    graph_random random;
    double* sum = (double*)graph_memory(NULL, (size_t)g->unknowns,
                                        sizeof *sum); // of |entries| beside the diagonal
    int32_t i, e, p, q;
    random.state = 77;
    m.g = g;
    m.diagonal_start =
        (size_t*)graph_memory(NULL, (size_t)g->cliques + 1, sizeof *m.diagonal_start);
    m.edge_start = (size_t*)graph_memory(NULL, (size_t)g->edges + 1, sizeof *m.edge_start);
    m.diagonal_start[0] = m.edge_start[0] = 0;
    for (i = 0; i < g->cliques; i++) {
        m.diagonal_start[i + 1] = m.diagonal_start[i] + (size_t)g->sizes[i] * (size_t)g->sizes[i];
    }
    for (e = 0; e < g->edges; e++) {
        size_t rows = (size_t)g->sizes[g->pairs[2 * e]],
               columns = (size_t)g->sizes[g->pairs[2 * e + 1]];
        m.edge_start[e + 1] = m.edge_start[e] + rows * columns;
    }
    m.diagonal = (double*)graph_memory(NULL, m.diagonal_start[g->cliques], sizeof(double));
    m.edge = (double*)graph_memory(NULL, m.edge_start[g->edges], sizeof(double));

    for (i = 0; i < g->unknowns; i++) sum[i] = 0;
    for (e = 0; e < g->edges; e++) {
        int32_t a = g->pairs[2 * e], b = g->pairs[2 * e + 1];
        double* block = matrix_edge(&m, e);
        for (q = 0; q < g->sizes[b]; q++) {
            for (p = 0; p < g->sizes[a]; p++) {
                double value = graph_random_next(&random) - 0.5,
                       magnitude = value < 0 ? -value : value;
                block[p + q * g->sizes[a]] = value;
                sum[g->offsets[a] + p] += magnitude;
                sum[g->offsets[b] + q] += magnitude;
            }
        }
    }
    for (i = 0; i < g->cliques; i++) {
        int32_t size = g->sizes[i];
        double* block = matrix_diagonal(&m, i);
        for (q = 0; q < size; q++) {
            for (p = q + 1; p < size; p++) {
                double value = 0.2 * (graph_random_next(&random) - 0.5);
                block[p + q * size] = block[q + p * size] = value;
            }
        }
        for (p = 0; p < size; p++) block[p + p * size] = sum[g->offsets[i] + p] + 0.1 * size + 1;
    }
    free(sum);
    return m;
}

static inline void matrix_free(matrix* m)
{
    free(m->diagonal_start);
    free(m->edge_start);
    free(m->diagonal);
    free(m->edge);
    memset(m, 0, sizeof *m);
}

/* y = A x */
static inline void matrix_multiply(const matrix* m, const double* x, double* y)
{
    const graph* g = m->g;
    int32_t i, e, p, q;
    for (i = 0; i < g->unknowns; i++) y[i] = 0;
    for (i = 0; i < g->cliques; i++) {
        const double* block = matrix_diagonal(m, i);
        int32_t size = g->sizes[i], at = g->offsets[i];
        for (q = 0; q < size; q++) {
            for (p = 0; p < size; p++) y[at + p] += block[p + q * size] * x[at + q];
        }
    }
    for (e = 0; e < g->edges; e++) {
        const double* block = matrix_edge(m, e);
        int32_t a = g->pairs[2 * e], b = g->pairs[2 * e + 1];
        int32_t rows = g->sizes[a], i0 = g->offsets[a], j0 = g->offsets[b];
        for (q = 0; q < g->sizes[b]; q++) {
            for (p = 0; p < rows; p++) {
                y[i0 + p] += block[p + q * rows] * x[j0 + q];
                y[j0 + q] += block[p + q * rows] * x[i0 + p];
            }
        }
    }
}

/* The largest row sum of |A| */
static inline double matrix_norm(const matrix* m)
{
    const graph* g = m->g;
    double* sum = (double*)graph_memory(NULL, (size_t)g->unknowns, sizeof *sum);
    double norm = 0;
    int32_t i, e, p, q;
    for (i = 0; i < g->unknowns; i++) sum[i] = 0;
    for (i = 0; i < g->cliques; i++) {
        const double* block = matrix_diagonal(m, i);
        int32_t size = g->sizes[i];
        for (q = 0; q < size; q++) {
            for (p = 0; p < size; p++) {
                double value = block[p + q * size];
                sum[g->offsets[i] + p] += value < 0 ? -value : value;
            }
        }
    }
    for (e = 0; e < g->edges; e++) {
        const double* block = matrix_edge(m, e);
        int32_t a = g->pairs[2 * e], b = g->pairs[2 * e + 1], rows = g->sizes[a];
        for (q = 0; q < g->sizes[b]; q++) {
            for (p = 0; p < rows; p++) {
                double value = block[p + q * rows], magnitude = value < 0 ? -value : value;
                sum[g->offsets[a] + p] += magnitude;
                sum[g->offsets[b] + q] += magnitude;
            }
        }
    }
    for (i = 0; i < g->unknowns; i++) {
        if (sum[i] > norm) norm = sum[i];
    }
    free(sum);
    return norm;
}

/* |b - A x| / (|A| |x| + |b|), largest norms: what a stable solver keeps near the rounding unit. A NaN
   anywhere makes it 1e300. */
static inline double matrix_backward_error(const matrix* m, double norm, const double* x,
                                           const double* b)
{
    double* y = (double*)graph_memory(NULL, (size_t)m->g->unknowns, sizeof *y);
    double residual = 0, largest_x = 0, largest_b = 0;
    int32_t i, broken = 0;
    matrix_multiply(m, x, y);
    for (i = 0; i < m->g->unknowns; i++) {
        double r = y[i] - b[i];
        if (!(r - r == 0)) broken = 1;
        if (r < 0) r = -r;
        if (r > residual) residual = r;
        if (x[i] > largest_x) largest_x = x[i];
        if (-x[i] > largest_x) largest_x = -x[i];
        if (b[i] > largest_b) largest_b = b[i];
        if (-b[i] > largest_b) largest_b = -b[i];
    }
    free(y);
    if (broken) return 1e300;
    return residual > 0 ? residual / (norm * largest_x + largest_b) : 0;
}

/* The lower triangle by columns, rows ascending */
typedef struct matrix_columns {
    int32_t n;
    int32_t* start; /* (n + 1) */
    int32_t* row;
    double* value;
} matrix_columns;

static inline matrix_columns matrix_lower(const matrix* m)
{
    const graph* g = m->g;
    matrix_columns c;
    int32_t i, k, e, p, q, at = 0;
    size_t entries = 0;
    // the edges in the order of their larger clique, then listed under the smaller one: so sorted by both
    int32_t* head = (int32_t*)graph_memory(NULL, (size_t)g->cliques + 2, sizeof *head);
    int32_t* by_first = (int32_t*)graph_memory(NULL, (size_t)g->edges, sizeof *by_first);
    int32_t* list = (int32_t*)graph_memory(NULL, (size_t)g->edges, sizeof *list);
    for (k = 0; k < 2; k++) {
        const int32_t side = k;
        memset(head, 0, ((size_t)g->cliques + 2) * sizeof *head);
        for (e = 0; e < g->edges; e++) head[g->pairs[2 * e + side] + 2]++;
        for (i = 1; i < g->cliques + 2; i++) head[i] += head[i - 1];
        for (i = 0; i < g->edges; i++) {
            e = side ? by_first[i] : i;
            (side ? list : by_first)[head[g->pairs[2 * e + side] + 1]++] = e;
        }
    }

    for (i = 0; i < g->cliques; i++) entries += (size_t)g->sizes[i] * ((size_t)g->sizes[i] + 1) / 2;
    entries += m->edge_start[g->edges];
    c.n = g->unknowns;
    c.start = (int32_t*)graph_memory(NULL, (size_t)c.n + 1, sizeof *c.start);
    c.row = (int32_t*)graph_memory(NULL, entries, sizeof *c.row);
    c.value = (double*)graph_memory(NULL, entries, sizeof *c.value);
    for (i = 0; i < g->cliques; i++) {
        for (q = 0; q < g->sizes[i]; q++) {
            const double* block = matrix_diagonal(m, i);
            c.start[g->offsets[i] + q] = at;
            for (p = q; p < g->sizes[i]; p++) {
                c.row[at] = g->offsets[i] + p;
                c.value[at++] = block[p + q * g->sizes[i]];
            }
            for (k = head[i]; k < head[i + 1]; k++) {
                int32_t a = g->pairs[2 * list[k]], rows = g->sizes[a];
                block = matrix_edge(m, list[k]);
                for (p = 0; p < rows; p++) {
                    c.row[at] = g->offsets[a] + p;
                    c.value[at++] = block[p + q * rows];
                }
            }
        }
    }
    c.start[c.n] = at;
    free(head);
    free(by_first);
    free(list);
    return c;
}

static inline void matrix_columns_free(matrix_columns* c)
{
    free(c->start);
    free(c->row);
    free(c->value);
    memset(c, 0, sizeof *c);
}

#endif
