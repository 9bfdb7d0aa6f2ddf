/* Layer 5: block-sparse Cholesky. */

#include "tested.h"

#include "acutest.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifndef TEST_NO_OS
#include <time.h>
#endif

/* Are the bits promised to be those of other builds? Not with fused operations, nor where the compiler
   computes in more digits than it stores. */
/* what the library aligns blocks of memory and pieces in them to, in bytes; tests/test_memory.c sees to it */
#define BLOCK_ALIGNMENT (sizeof(void*) == 8 ? 8 : sizeof(icf_real))
#define GRANULE ((size_t)32)

#if defined(ICF_FMA) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16)
#define BITS_PROMISED 0
#else
#define BITS_PROMISED 1
#endif

enum { MODES = 3 };
static const icf_sparse_mode modes[MODES] = {ICF_SPARSE_FULL, ICF_SPARSE_PARTIAL,
                                             ICF_SPARSE_ITERATIVE};

#define CANARY 64      /* bytes behind a block */
#define UNTOUCHED 0xC5 /* what is in them, and in memory that must not be written */

/* Memory that nobody wrote, which is what MemorySanitizer watches */
static void* unwritten(size_t count, size_t size)
{
    void* p = malloc(count * size + 1);
    if (!p) abort();
    return p;
}

// ------------------------------------------------------------------------------------------------
// Graphs

typedef struct graph {
    int32_t cliques, edges, room, unknowns;
    int32_t* sizes; /* (cliques) */
    int32_t* start; /* (cliques + 1) first unknown */
    int32_t* pairs; /* (2 edges) */
} graph;

static graph graph_new(int32_t cliques)
{
    graph g;
    int32_t i;
    g.cliques = cliques;
    g.edges = 0;
    g.room = 16;
    g.unknowns = 0;
    g.sizes = (int32_t*)unwritten((size_t)cliques, sizeof(int32_t));
    g.start = (int32_t*)unwritten((size_t)cliques + 1, sizeof(int32_t));
    g.pairs = (int32_t*)unwritten(2 * (size_t)g.room, sizeof(int32_t));
    for (i = 0; i < cliques; i++) g.sizes[i] = 1;
    return g;
}

static void graph_free(graph* g)
{
    free(g->sizes);
    free(g->start);
    free(g->pairs);
}

static void graph_link(graph* g, int32_t a, int32_t b)
{
    if (g->edges == g->room) {
        int32_t* more = (int32_t*)unwritten(4 * (size_t)g->room, sizeof(int32_t));
        memcpy(more, g->pairs, 2 * (size_t)g->edges * sizeof(int32_t));
        free(g->pairs);
        g->pairs = more;
        g->room *= 2;
    }
    g->pairs[2 * g->edges] = a;
    g->pairs[2 * g->edges + 1] = b;
    g->edges++;
}

/* To be called when the sizes are known. */
static void graph_number(graph* g)
{
    int32_t i;
    g->start[0] = 0;
    for (i = 0; i < g->cliques; i++) g->start[i + 1] = g->start[i] + g->sizes[i];
    g->unknowns = g->start[g->cliques];
}

static graph graph_copy(const graph* from)
{
    graph g = graph_new(from->cliques);
    int32_t e;
    memcpy(g.sizes, from->sizes, (size_t)g.cliques * sizeof(int32_t));
    for (e = 0; e < from->edges; e++) graph_link(&g, from->pairs[2 * e], from->pairs[2 * e + 1]);
    graph_number(&g);
    return g;
}

static void random_order(int32_t* order, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        int32_t j = random_below(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

/* Names of cliques are given at random. */
static void graph_rename(graph* g)
{
    int32_t* name = (int32_t*)unwritten((size_t)g->cliques, sizeof(int32_t));
    int32_t i;
    random_order(name, g->cliques);
    for (i = 0; i < 2 * g->edges; i++) g->pairs[i] = name[g->pairs[i]];
    free(name);
}

enum {
    NO_EDGES,
    THIN,
    MEDIUM,
    THICK,
    TREE,
    FOREST,
    PILE,
    CHAIN,
    RING,
    GRID2,
    GRID3,
    CLIQUE,
    STAR,
    FAMILIES
};
static const char* const family_names[FAMILIES] = {
    "no edges", "thin", "medium",  "thick",   "tree",   "forest", "pile",
    "chain",    "ring", "2D grid", "3D grid", "clique", "star"};

/* n bodies dropped one after the other into a row of w <= 8 columns: each lands on what is on top of its own
   column and of one beside it. */
static void link_pile(graph* g, int32_t w)
{
    int32_t top[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, i;
    for (i = 0; i < g->cliques; i++) {
        int32_t column = random_below(w), side = random_below(2) ? column + 1 : column - 1;
        if (top[column] >= 0) graph_link(g, top[column], i);
        if (side >= 0 && side < w && top[side] >= 0) {
            if (top[side] != top[column]) graph_link(g, i, top[side]);
            if (random_below(2)) top[side] = i;
        }
        top[column] = i;
    }
}

static void link_grid(graph* g, int32_t nx, int32_t ny)
{
    int32_t i;
    for (i = 0; i < g->cliques; i++) {
        if (i % nx + 1 < nx && i + 1 < g->cliques) graph_link(g, i, i + 1);
        if (i / nx % ny + 1 < ny && i + nx < g->cliques) graph_link(g, i + nx, i);
        if (i + nx * ny < g->cliques) graph_link(g, i, i + nx * ny);
    }
}

static graph graph_of(int family, int32_t n)
{
    graph g = graph_new(n);
    int32_t i, j, side = 1;
    double density = family == THIN     ? 1.0 / (n + 1)
                     : family == MEDIUM ? 3.5 / (n + 1)
                     : family == THICK  ? 0.5
                                        : 1;
    switch (family) {
    case THIN:
    case MEDIUM:
    case THICK:
    case CLIQUE:
        for (i = 0; i < n; i++) {
            for (j = 0; j < i; j++) {
                if (density >= 1 || random_unit() < density) graph_link(&g, i, j);
            }
        }
        break;
    case TREE:
        for (i = 1; i < n; i++) graph_link(&g, random_below(i), i);
        break;
    case FOREST:
        for (i = 1; i < n; i++) {
            if (random_below(4)) graph_link(&g, i, i - 1 - random_below(i < 3 ? i : 3));
        }
        break;
    case PILE: link_pile(&g, 1 + random_below(8)); break;
    case CHAIN:
    case RING:
        for (i = 1; i < n; i++) graph_link(&g, i - 1, i);
        if (family == RING && n > 2) graph_link(&g, n - 1, 0);
        break;
    case GRID2:
        while (side * side < n) side++;
        link_grid(&g, side, n + 1);
        break;
    case GRID3:
        while (side * side * side < n) side++;
        link_grid(&g, side, side);
        break;
    case STAR:
        for (i = 1; i < n; i++) graph_link(&g, 0, i);
        break;
    default: break;
    }
    return g;
}

enum { ONES, THREES, SIXES, SMALL, MIXED, WITH_EMPTY, ROBOT, ALL_EMPTY, LAYOUTS };
static const char* const layout_names[LAYOUTS] = {
    "1", "3", "6", "1..8", "1..40", "0..6", "6 and one 36", "all empty"};

static void graph_layout(graph* g, int layout)
{
    int32_t i;
    for (i = 0; i < g->cliques; i++) {
        switch (layout) {
        case ONES: g->sizes[i] = 1; break;
        case THREES: g->sizes[i] = 3; break;
        case SMALL: g->sizes[i] = 1 + random_below(8); break;
        case MIXED: g->sizes[i] = 1 + random_below(random_below(4) ? 7 : 40); break;
        case WITH_EMPTY: g->sizes[i] = random_below(3) ? random_below(7) : 0; break;
        case ALL_EMPTY: g->sizes[i] = 0; break;
        default: g->sizes[i] = 6; break;
        }
    }
    if (layout == ROBOT && g->cliques) g->sizes[random_below(g->cliques)] = 36;
    graph_number(g);
}

/* A random member of the family, at most `most` cliques. `twice`: some edges are given more than once. */
static graph graph_random(int family, int layout, int32_t most, int twice)
{
    graph g = graph_of(family, random_below(16) ? 1 + random_below(most) : random_below(3));
    if (random_below(2)) graph_rename(&g);
    if (twice) {
        int32_t e, edges = g.edges;
        for (e = 0; e < edges; e++) {
            int32_t a = g.pairs[2 * e], b = g.pairs[2 * e + 1];
            if (!random_below(5)) graph_link(&g, a, b);
            if (!random_below(4)) graph_link(&g, b, a);
        }
    }
    graph_layout(&g, layout);
    return g;
}

/* Connected parts; cliques without unknowns count, and connect, or they do neither. */
static int32_t graph_components(const graph* g, int with_empty)
{
    int32_t* root = (int32_t*)unwritten((size_t)g->cliques, sizeof(int32_t));
    int32_t i, e, count = 0;
    for (i = 0; i < g->cliques; i++) root[i] = i;
    for (e = 0; e < g->edges; e++) {
        int32_t a = g->pairs[2 * e], b = g->pairs[2 * e + 1];
        if (!with_empty && (!g->sizes[a] || !g->sizes[b])) continue;
        while (root[a] != a) a = root[a] = root[root[a]];
        while (root[b] != b) b = root[b] = root[root[b]];
        root[a < b ? b : a] = a < b ? a : b;
    }
    for (i = 0; i < g->cliques; i++) count += root[i] == i && (with_empty || g->sizes[i]);
    free(root);
    return count;
}

// ------------------------------------------------------------------------------------------------
// Values: a list of blocks to be added, in this order

typedef struct item {
    int32_t is_edge, index, rows, columns, ld;
    size_t at; /* of the block in `data` */
} item;

typedef struct values {
    int32_t count, room;
    item* items;
    icf_real* data;
    size_t used, data_room;
} values;

static values values_new(void)
{
    values v;
    v.count = 0;
    v.room = 16;
    v.items = (item*)unwritten(16, sizeof(item));
    v.used = 0;
    v.data_room = 256;
    v.data = (icf_real*)unwritten(256, sizeof(icf_real));
    return v;
}

static void values_free(values* v)
{
    free(v->items);
    free(v->data);
}

/* A new block; what is not filled in afterwards stays NaN and must not be read. */
static icf_real* values_push(values* v, const graph* g, int is_edge, int32_t index,
                             int32_t spare_rows)
{
    size_t need;
    item* it;
    if (v->count == v->room) {
        item* more = (item*)unwritten(2 * (size_t)v->room, sizeof(item));
        memcpy(more, v->items, (size_t)v->count * sizeof(item));
        free(v->items);
        v->items = more;
        v->room *= 2;
    }
    it = &v->items[v->count++];
    it->is_edge = is_edge;
    it->index = index;
    it->rows = is_edge ? g->sizes[g->pairs[2 * index]] : g->sizes[index];
    it->columns = is_edge ? g->sizes[g->pairs[2 * index + 1]] : g->sizes[index];
    it->ld = it->rows + spare_rows;
    it->at = v->used;
    need = v->used + (size_t)it->ld * (size_t)it->columns;
    if (need > v->data_room) {
        icf_real* more = (icf_real*)unwritten(2 * need, sizeof(icf_real));
        memcpy(more, v->data, v->used * sizeof(icf_real));
        free(v->data);
        v->data = more;
        v->data_room = 2 * need;
    }
    memset(v->data + v->used, 0xFF, (need - v->used) * sizeof(icf_real));
    v->used = need;
    return v->data + it->at;
}

static icf_real* item_at(const values* v, const item* it, int32_t i, int32_t j)
{
    return v->data + it->at + (size_t)j * (size_t)it->ld + (size_t)i;
}

/* Random blocks, and a diagonal that outweighs its row by one at least: the inverse is at most one in
   the maximum norm, however often edges are repeated. */
static values values_dominant(const graph* g)
{
    values v = values_new();
    double* row = (double*)unwritten((size_t)g->unknowns, sizeof(double));
    int32_t e, c, i, j;
    for (i = 0; i < g->unknowns; i++) row[i] = 1;
    for (e = 0; e < g->edges; e++) {
        int32_t a = g->pairs[2 * e], b = g->pairs[2 * e + 1];
        values_push(&v, g, 1, e, random_below(3));
        for (j = 0; j < g->sizes[b]; j++) {
            for (i = 0; i < g->sizes[a]; i++) {
                icf_real x = (icf_real)random_between(-1, 1);
                *item_at(&v, &v.items[v.count - 1], i, j) = x;
                row[g->start[a] + i] += magnitude((double)x);
                row[g->start[b] + j] += magnitude((double)x);
            }
        }
    }
    for (c = 0; c < g->cliques; c++) {
        const item* it;
        values_push(&v, g, 0, c, random_below(3));
        it = &v.items[v.count - 1];
        for (j = 0; j < g->sizes[c]; j++) {
            for (i = j + 1; i < g->sizes[c]; i++) {
                icf_real x = (icf_real)random_between(-1, 1);
                *item_at(&v, it, i, j) = x;
                row[g->start[c] + i] += magnitude((double)x);
                row[g->start[c] + j] += magnitude((double)x);
            }
        }
        for (i = 0; i < g->sizes[c]; i++)
            *item_at(&v, it, i, i) = (icf_real)(row[g->start[c] + i] * 1.001);
    }
    free(row);
    return v;
}

/* As a contact solver adds them: a mass matrix for each clique, and for each edge J'WJ with a random J of
   three rows, so that a diagonal block is the sum of many. */
static values values_contact(const graph* g)
{
    values v = values_new();
    int32_t e, c, i, j, k, side;
    for (c = 0; c < g->cliques; c++) {
        values_push(&v, g, 0, c, random_below(3));
        for (j = 0; j < g->sizes[c]; j++) {
            for (i = j; i < g->sizes[c]; i++) {
                *item_at(&v, &v.items[v.count - 1], i, j) =
                    (icf_real)(i == j ? 1 + random_unit() : random_between(-1, 1) / g->sizes[c]);
            }
        }
    }
    for (e = 0; e < g->edges; e++) {
        double jacobian[2][3][64];
        double w = pow(10, random_between(-1, 2));
        for (side = 0; side < 2; side++) {
            for (k = 0; k < 3; k++) {
                for (i = 0; i < 64; i++) jacobian[side][k][i] = random_between(-1, 1);
            }
        }
        for (side = 0; side < 3; side++) {
            const item* it;
            int left = side == 1, right = side != 0;
            values_push(&v, g, side == 2, side == 2 ? e : g->pairs[2 * e + side], 0);
            it = &v.items[v.count - 1];
            for (j = 0; j < it->columns; j++) {
                for (i = side < 2 ? j : 0; i < it->rows; i++) {
                    double sum = 0;
                    for (k = 0; k < 3; k++) sum += jacobian[left][k][i] * jacobian[right][k][j];
                    *item_at(&v, it, i, j) = (icf_real)(w * sum);
                }
            }
        }
    }
    return v;
}

/* r = b - A x, in more digits than icf_real has; norm gets the largest row sum of |A|, if asked for. */
static void residual(const graph* g, const values* v, const icf_real* x, const icf_real* b,
                     long double* r, long double* norm)
{
    int32_t n = g->unknowns, k, i, j;
    long double* sum = (long double*)unwritten((size_t)n, sizeof(long double));
    for (i = 0; i < n; i++) {
        r[i] = (long double)b[i];
        sum[i] = 0;
    }
    for (k = 0; k < v->count; k++) {
        const item* it = &v->items[k];
        int32_t row = g->start[it->is_edge ? g->pairs[2 * it->index] : it->index];
        int32_t column = g->start[it->is_edge ? g->pairs[2 * it->index + 1] : it->index];
        for (j = 0; j < it->columns; j++) {
            for (i = it->is_edge ? 0 : j; i < it->rows; i++) {
                long double a = (long double)*item_at(v, it, i, j);
                long double size = a < 0 ? -a : a;
                r[row + i] -= a * (long double)x[column + j];
                sum[row + i] += size;
                if (it->is_edge || i != j) {
                    r[column + j] -= a * (long double)x[row + i];
                    sum[column + j] += size;
                }
            }
        }
    }
    if (norm) {
        *norm = 0;
        for (i = 0; i < n; i++) {
            if (!(sum[i] <= *norm)) *norm = sum[i];
        }
    }
    free(sum);
}

static long double largest(const icf_real* x, int32_t n)
{
    long double most = 0;
    int32_t i;
    for (i = 0; i < n; i++) {
        long double size = (long double)x[i];
        if (size < 0) size = -size;
        if (!(size <= most)) most = size;
    }
    return most;
}

/* |b - A x| / (|A| |x| + |b|) in the maximum norm */
static double backward_error(const graph* g, const values* v, const icf_real* x, const icf_real* b)
{
    int32_t n = g->unknowns, i;
    long double* r = (long double*)unwritten((size_t)n, sizeof(long double));
    long double norm = 0, worst = 0;
    residual(g, v, x, b, r, &norm);
    for (i = 0; i < n; i++) {
        long double size = r[i] < 0 ? -r[i] : r[i];
        if (!(size <= worst)) worst = size;
    }
    free(r);
    if (worst == 0) return 0;
    return (double)(worst / (norm * largest(x, n) + largest(b, n)));
}

static double tolerance(int32_t n)
{
    return 2 * (n + 4) * EPS;
}

static icf_real* random_vector(int32_t n, int32_t rhs, int32_t ldx)
{
    icf_real* b = (icf_real*)unwritten((size_t)ldx * (size_t)rhs, sizeof(icf_real));
    int32_t i, r;
    memset(b, 0xFF, (size_t)ldx * (size_t)rhs * sizeof(icf_real));
    for (r = 0; r < rhs; r++) {
        for (i = 0; i < n; i++)
            b[(size_t)r * (size_t)ldx + (size_t)i] = (icf_real)random_between(-1, 1);
    }
    return b;
}

// ------------------------------------------------------------------------------------------------
// Objects in memory of exactly the size they asked for

typedef struct object {
    icf_sparse s;
    unsigned char* pattern;
    unsigned char* factor;
    size_t pattern_bytes, factor_bytes;
} object;

static unsigned char* memory_new(size_t bytes, int fill)
{
    unsigned char* memory = (unsigned char*)unwritten(bytes + CANARY, 1);
    memset(memory, fill, bytes);
    memset(memory + bytes, UNTOUCHED, CANARY);
    return memory;
}

/* `count` bytes are as memory_new left them. */
static int memory_is(const unsigned char* memory, int fill, size_t count)
{
    size_t i;
    for (i = 0; i < count && memory[i] == fill; i++) continue;
    return i == count;
}

/* Analyses with copies of the lists that are gone afterwards. */
static icf_result analyze(icf_sparse* s, void* memory, size_t bytes, const graph* g)
{
    int32_t* sizes = (int32_t*)malloc((size_t)g->cliques * sizeof(int32_t) + 1);
    int32_t* pairs = (int32_t*)malloc(2 * (size_t)g->edges * sizeof(int32_t) + 1);
    icf_result result;
    TEST_ASSERT(sizes && pairs);
    memcpy(sizes, g->sizes, (size_t)g->cliques * sizeof(int32_t));
    memcpy(pairs, g->pairs, 2 * (size_t)g->edges * sizeof(int32_t));
    result = icf_sparse_analyze(s, memory, bytes, g->cliques, sizes, g->edges, pairs);
    memset(sizes, 0xFF, (size_t)g->cliques * sizeof(int32_t));
    memset(pairs, 0xFF, 2 * (size_t)g->edges * sizeof(int32_t));
    free(sizes);
    free(pairs);
    return result;
}

/* Analysed and bound, in memory full of `fill`. */
static int object_open(object* o, const graph* g, icf_sparse_mode mode, int fill)
{
    int held;
    memset(o, 0, sizeof *o);
    o->pattern_bytes = icf_sparse_pattern_bytes(g->cliques, g->edges);
    o->pattern = memory_new(o->pattern_bytes, fill);
    held = TEST_CHECK(analyze(&o->s, o->pattern, o->pattern_bytes, g) == ICF_RESULT_OK);
    if (!held) return 0;
    o->factor_bytes = icf_sparse_bytes(&o->s, mode);
    o->factor = memory_new(o->factor_bytes, fill);
    return TEST_CHECK(icf_sparse_bind(&o->s, mode, o->factor, o->factor_bytes) == ICF_RESULT_OK);
}

static int object_close(object* o)
{
    int held = TEST_CHECK(memory_is(o->pattern + o->pattern_bytes, UNTOUCHED, CANARY));
    if (o->factor) held &= TEST_CHECK(memory_is(o->factor + o->factor_bytes, UNTOUCHED, CANARY));
    free(o->pattern);
    free(o->factor);
    return held;
}

enum { ADD_ALL, ADD_WANTED, ADD_GARBAGE, ADD_MODES }; /* instead of what is not wanted */

static int wants(const icf_sparse* s, const item* it)
{
    return it->is_edge ? icf_sparse_wants_edge(s, it->index)
                       : icf_sparse_wants_diagonal(s, it->index);
}

static icf_result add(icf_sparse* s, const item* it, const icf_real* block)
{
    return it->is_edge ? icf_sparse_add_edge(s, it->index, block, it->ld)
                       : icf_sparse_add_diagonal(s, it->index, block, it->ld);
}

/* Adds the blocks in order; `skipped` counts those not wanted. */
static icf_result add_values(icf_sparse* s, const values* v, int mode, int32_t* skipped)
{
    icf_real* garbage = NULL;
    icf_result result = ICF_RESULT_OK;
    size_t most = 1, j;
    int32_t k;
    for (k = 0; k < v->count; k++) {
        size_t area = (size_t)v->items[k].ld * (size_t)v->items[k].columns;
        if (most < area) most = area;
    }
    if (mode == ADD_GARBAGE) {
        garbage = (icf_real*)unwritten(most, sizeof(icf_real));
        for (j = 0; j < most; j++) garbage[j] = (icf_real)1e30;
    }
    if (skipped) *skipped = 0;
    for (k = 0; k < v->count && result == ICF_RESULT_OK; k++) {
        const item* it = &v->items[k];
        int wanted = mode == ADD_ALL || wants(s, it);
        if (!wanted && skipped) ++*skipped;
        if (!wanted && mode == ADD_WANTED) continue;
        result = add(s, it, wanted ? v->data + it->at : garbage);
    }
    free(garbage);
    return result;
}

/* Everything anew. */
static icf_result refactor(icf_sparse* s, const values* v, int32_t* pivot)
{
    icf_result result = icf_sparse_begin(s);
    if (result == ICF_RESULT_OK) result = add_values(s, v, ADD_ALL, NULL);
    if (result == ICF_RESULT_OK) result = icf_sparse_factor(s, pivot);
    return result;
}

/* The bits that everything else is compared with: a new object, in memory of zeros, solves for the columns
   of b. The answer replaces b. */
static int solve_fresh(const graph* g, const values* v, icf_real* b, int32_t rhs, int32_t ldx)
{
    object o;
    int held = object_open(&o, g, ICF_SPARSE_FULL, 0);
    if (held) {
        held &= TEST_CHECK(refactor(&o.s, v, NULL) == ICF_RESULT_OK);
        held &= TEST_CHECK(icf_sparse_solve(&o.s, b, rhs, ldx) == ICF_RESULT_OK);
    }
    return object_close(&o) && held;
}

/* What a new object answers to b; to be freed */
static icf_real* fresh_answer(const graph* g, const values* v, const icf_real* b, int32_t rhs)
{
    const size_t count = (size_t)rhs * (size_t)g->unknowns;
    icf_real* x = (icf_real*)unwritten(count, sizeof(icf_real));
    memcpy(x, b, count * sizeof(icf_real));
    solve_fresh(g, v, x, rhs, g->unknowns);
    return x;
}

/* The object solves, and gives the bits of `expected`, for the right-hand sides `b`. */
static int same_solution(icf_sparse* s, const icf_real* b, const icf_real* expected, int32_t rhs,
                         int32_t ldx)
{
    size_t bytes = (size_t)rhs * (size_t)ldx * sizeof(icf_real);
    icf_real* x = (icf_real*)unwritten(bytes, 1);
    int same;
    memcpy(x, b, bytes);
    same = icf_sparse_solve(s, x, rhs, ldx) == ICF_RESULT_OK && !memcmp(x, expected, bytes);
    free(x);
    return same;
}

/* The object refuses to solve, with this result, and leaves x alone. */
static int refuses(icf_sparse* s, icf_result expected, int32_t unknowns)
{
    size_t bytes = (size_t)unknowns * sizeof(icf_real);
    icf_real* x = (icf_real*)unwritten(bytes, 1);
    int as_told;
    memset(x, UNTOUCHED, bytes);
    as_told = icf_sparse_solve(s, x, 1, unknowns) == expected;
    as_told &= memory_is((const unsigned char*)x, UNTOUCHED, bytes);
    free(x);
    return as_told;
}

static int is_named_error(icf_result result)
{
    return result != ICF_RESULT_OK &&
           strcmp(icf_result_string(result), icf_result_string((icf_result)-99)) != 0;
}

// ------------------------------------------------------------------------------------------------
// Sparse against dense against a naive reference

/* A, lower triangle, column-major, n x n, added up as the library adds. */
static icf_real* assemble_dense(const graph* g, const values* v)
{
    size_t n = (size_t)g->unknowns;
    icf_real* a = (icf_real*)unwritten(n * n, sizeof(icf_real));
    int32_t k, i, j;
    memset(a, 0, n * n * sizeof(icf_real));
    for (k = 0; k < v->count; k++) {
        const item* it = &v->items[k];
        int32_t row = g->start[it->is_edge ? g->pairs[2 * it->index] : it->index];
        int32_t column = g->start[it->is_edge ? g->pairs[2 * it->index + 1] : it->index];
        for (j = 0; j < it->columns; j++) {
            for (i = it->is_edge ? 0 : j; i < it->rows; i++) {
                size_t r = (size_t)row + (size_t)i, c = (size_t)column + (size_t)j;
                a[r > c ? c * n + r : r * n + c] += *item_at(v, it, i, j);
            }
        }
    }
    return a;
}

/* x := A^-1 x in long double, by elimination without a thought. */
static void solve_naive(const icf_real* a, long double* x, int32_t size)
{
    size_t n = (size_t)size, i, j, k;
    long double* l = (long double*)unwritten(n * n, sizeof(long double));
    for (i = 0; i < n * n; i++) l[i] = (long double)a[i];
    for (k = 0; k < n; k++) {
        for (i = k + 1; i < n; i++) {
            long double factor = l[k * n + i] / l[k * n + k];
            for (j = k + 1; j <= i; j++) l[j * n + i] -= factor * l[k * n + j];
            x[i] -= factor * x[k];
        }
    }
    for (k = n; k-- > 0;) {
        for (i = k + 1; i < n; i++) x[k] -= l[k * n + i] * x[i];
        x[k] /= l[k * n + k];
    }
    free(l);
}

/* The dense solver and, for small ones, the naive one get the first right-hand side too. `x` is the sparse
   answer; forward differences are bounded by the condition, which is the norm for values_dominant. */
static int check_against_dense(const graph* g, const values* v, const icf_real* x,
                               const icf_real* b, int dominant)
{
    int32_t n = g->unknowns, i;
    icf_real* a = assemble_dense(g, v);
    icf_real* y = (icf_real*)unwritten((size_t)n, sizeof(icf_real));
    int held = 1;
    memcpy(y, b, (size_t)n * sizeof(icf_real));
    if (n <= 70 && dominant) {
        long double* z = (long double*)unwritten((size_t)n, sizeof(long double));
        long double norm = 0, bound, worst = 0;
        residual(g, v, x, b, z, &norm);
        bound = 2 * norm * (long double)tolerance(n) * largest(x, n);
        for (i = 0; i < n; i++) z[i] = (long double)b[i];
        solve_naive(a, z, n);
        for (i = 0; i < n; i++) {
            long double off = (long double)x[i] - z[i];
            if (off < 0) off = -off;
            if (!(off <= worst)) worst = off;
        }
        held &= TEST_CHECK_(worst <= bound, "off the naive solution by %g > %g", (double)worst,
                            (double)bound);
        free(z);
    }
    held &= TEST_CHECK(icf_dense_factor(n, a, n, NULL) == ICF_RESULT_OK);
    held &= TEST_CHECK(icf_dense_solve(n, a, n, y, 1, n) == ICF_RESULT_OK);
    if (held) {
        double error = backward_error(g, v, y, b);
        held &= TEST_CHECK_(error <= tolerance(n), "dense: backward error %g > %g", error,
                            tolerance(n));
    }
    free(a);
    free(y);
    return held;
}

/* What a run over many graphs has met. */
typedef struct coverage {
    int cases, merged, several_parts, connected, empty_cliques, wide_blocks, no_unknowns, repeated,
        dense_pairs;
} coverage;

/* One graph, from analysis to solution, with everything that holds for all of them. */
static int check_graph(const graph* g, const values* v, int dominant, int32_t rhs,
                       icf_sparse_mode mode, int fill, coverage* met)
{
    object o;
    int32_t n = g->unknowns, ldx = n + random_below(3), i, r, with_empty, without;
    int held = object_open(&o, g, mode, fill);
    icf_real *b, *x;
    if (!held) {
        object_close(&o);
        return 0;
    }
    with_empty = graph_components(g, 1);
    without = graph_components(g, 0);

    held &= TEST_CHECK(o.s.unknowns == n);
    held &= TEST_CHECK(o.s.fronts >= 0 && o.s.fronts <= g->cliques && (n == 0 || o.s.fronts > 0));
    held &= TEST_CHECK(o.s.components == with_empty || o.s.components == without);
    for (i = 0, r = 0; i < g->cliques; i++) {
        if (r < g->sizes[i]) r = g->sizes[i];
    }
    for (i = 0; i < MODES; i++) {
        held &= TEST_CHECK(icf_sparse_bytes_most(g->cliques, g->edges, r, modes[i]) >=
                           icf_sparse_bytes(&o.s, modes[i]));
    }

    held &= TEST_CHECK(refactor(&o.s, v, NULL) == ICF_RESULT_OK);
    b = random_vector(n, rhs, ldx);
    x = (icf_real*)unwritten((size_t)rhs * (size_t)ldx, sizeof(icf_real));
    memcpy(x, b, (size_t)rhs * (size_t)ldx * sizeof(icf_real));
    held &= TEST_CHECK(icf_sparse_solve(&o.s, x, rhs, ldx) == ICF_RESULT_OK);
    for (r = 0; r < rhs && held; r++) {
        const icf_real *xr = x + (size_t)r * (size_t)ldx, *br = b + (size_t)r * (size_t)ldx;
        double error = backward_error(g, v, xr, br);
        held &= TEST_CHECK_(error <= tolerance(n), "right-hand side %d: backward error %g > %g",
                            (int)r, error, tolerance(n));
        held &= TEST_CHECK(!memcmp(xr + n, br + n, (size_t)(ldx - n) * sizeof(icf_real)));
    }
    if (held && n <= 150 && rhs > 0) {
        held &= check_against_dense(g, v, x, b, dominant);
        met->dense_pairs++;
    }
    met->cases++;
    met->merged += o.s.fronts < g->cliques;
    met->several_parts += without > 1 && without < g->cliques;
    met->connected += without == 1 && g->cliques > 2;
    met->no_unknowns += n == 0;
    for (i = 0; i < g->cliques && g->sizes[i]; i++) continue;
    met->empty_cliques += i < g->cliques && n > 0;
    for (i = 0; i < g->cliques && g->sizes[i] < 20; i++) continue;
    met->wide_blocks += i < g->cliques;

    held &= object_close(&o);
    free(b);
    free(x);
    return held;
}

/* 520 random graphs. */
static void test_random_graphs(void)
{
    coverage met;
    int family, layout, trial;
    memset(&met, 0, sizeof met);
    for (family = 0; family < FAMILIES; family++) {
        for (layout = 0; layout < LAYOUTS; layout++) {
            for (trial = 0; trial < 5; trial++) {
                static const int32_t most[LAYOUTS] = {90, 40, 30, 30, 12, 50, 20, 10};
                static const int fills[3] = {0x00, 0xFF, 0xA5};
                uint32_t seed = SEED + (uint32_t)((family * LAYOUTS + layout) * 5 + trial);
                graph g;
                values v;
                random_seed(seed);
                g = graph_random(family, layout, most[layout], trial == 1 || trial == 4);
                v = trial < 3 ? values_dominant(&g) : values_contact(&g);
                met.repeated += (trial == 1 || trial == 4) && g.edges > 3;
                if (!check_graph(&g, &v, trial < 3, trial == 2 ? 0 : 1 + random_below(9),
                                 modes[trial % 2], fills[trial % 3], &met)) {
                    TEST_CHECK_(0, "%s of blocks %s, trial %d, seed %u", family_names[family],
                                layout_names[layout], trial, (unsigned)seed);
                }
                values_free(&v);
                graph_free(&g);
            }
        }
    }
    TEST_CHECK_(met.cases >= 500, "%d", met.cases);
    TEST_CHECK_(met.merged >= 100, "%d", met.merged);
    TEST_CHECK_(met.several_parts >= 60, "%d", met.several_parts);
    TEST_CHECK_(met.connected >= 100, "%d", met.connected);
    TEST_CHECK_(met.empty_cliques >= 30, "%d", met.empty_cliques);
    TEST_CHECK_(met.wide_blocks >= 60, "%d", met.wide_blocks);
    TEST_CHECK_(met.no_unknowns >= 30, "%d", met.no_unknowns);
    TEST_CHECK_(met.repeated >= 60, "%d", met.repeated);
    TEST_CHECK_(met.dense_pairs >= 250, "%d", met.dense_pairs);
}

/* Sum of (ext + k)^2 over the w columns of one block. */
static double block_flops(int32_t w, int32_t ext)
{
    double sum = 0;
    int32_t k;
    for (k = 1; k <= w; k++) sum += ((double)ext + k) * ((double)ext + k);
    return sum;
}

/* One named graph: solved, and with flops known, unless `flops` < 0. */
static void check_shape(const char* name, graph* g, double flops)
{
    coverage met;
    values v;
    int kind;
    memset(&met, 0, sizeof met);
    TEST_CASE(name);
    graph_number(g);
    for (kind = 0; kind < 2; kind++) {
        v = kind ? values_contact(g) : values_dominant(g);
        if (!check_graph(g, &v, !kind, 1 + kind * 3, modes[kind], 0xFF, &met)) {
            TEST_CHECK_(0, "%s, seed %u", kind ? "contact" : "dominant", (unsigned)SEED);
        }
        values_free(&v);
    }
    if (flops >= 0) {
        object o;
        if (object_open(&o, g, ICF_SPARSE_FULL, 0))
            TEST_CHECK_(o.s.flops == flops, "%g flops for %g", o.s.flops, flops);
        object_close(&o);
    }
    graph_free(g);
    TEST_CASE(NULL);
}

static void set_sizes(graph* g, int32_t size)
{
    int32_t i;
    for (i = 0; i < g->cliques; i++) g->sizes[i] = size;
}

static void test_flops_of_known_shapes(void)
{
    static const int32_t widths[] = {1, 3, 6, 7, 40};
    graph g;
    int32_t i, n, k;
    random_seed(SEED);

    g = graph_new(0);
    check_shape("no cliques", &g, 0);
    for (n = 0; n <= 40; n++) {
        g = graph_new(1);
        g.sizes[0] = n;
        check_shape("single block", &g, block_flops(n, 0));
    }
    for (k = 0; k < FAMILIES; k++) {
        g = graph_of(k, 12);
        set_sizes(&g, 0);
        check_shape("all empty", &g, 0);
    }
    for (k = 0; k < 5; k++) {
        int32_t w = widths[k];
        n = w == 40 ? 5 : 20;
        g = graph_of(CHAIN, n);
        set_sizes(&g, w);
        check_shape("chain", &g, (n - 1) * block_flops(w, w) + block_flops(w, 0));
        g = graph_of(CHAIN, n);
        set_sizes(&g, w);
        graph_rename(&g);
        check_shape("chain, renamed", &g, (n - 1) * block_flops(w, w) + block_flops(w, 0));
        g = graph_of(TREE, n);
        set_sizes(&g, w);
        check_shape("tree", &g, (n - 1) * block_flops(w, w) + block_flops(w, 0));
        g = graph_of(STAR, n);
        set_sizes(&g, w);
        check_shape("star, hub first", &g, (n - 1) * block_flops(w, w) + block_flops(w, 0));
        g = graph_of(NO_EDGES, n);
        set_sizes(&g, w);
        check_shape("islands", &g, n * block_flops(w, 0));
        g = graph_of(CLIQUE, n / 2);
        set_sizes(&g, w);
        check_shape("clique", &g, block_flops(n / 2 * w, 0));
        g = graph_of(GRID2, n);
        set_sizes(&g, w);
        check_shape("2D grid", &g, -1);
        g = graph_of(GRID3, w > 7 ? 8 : 27);
        set_sizes(&g, w);
        check_shape("3D grid", &g, -1);
    }
    for (k = 0; k < 2; k++) {
        /* hub first, hub last */
        g = graph_new(301);
        for (i = 0; i < 300; i++) graph_link(&g, k ? 300 : 0, k ? i : i + 1);
        check_shape("star of 300", &g, 300 * block_flops(1, 1) + 1);
    }
    /* islands of pairs, and a big one between bodies that touch it or not */
    g = graph_new(30);
    for (i = 0; i < 30; i++) g.sizes[i] = 6;
    for (i = 0; i < 10; i++) graph_link(&g, 2 * i + 1, 2 * i);
    check_shape("pairs", &g, 10 * (block_flops(6, 6) + block_flops(6, 0)) + 10 * block_flops(6, 0));
    g = graph_of(PILE, 24);
    set_sizes(&g, 6);
    g.sizes[11] = 36;
    check_shape("robot in a pile", &g, -1);
}

// ------------------------------------------------------------------------------------------------
// The bits do not depend on history, memory or the order of the edges

/* The same graph, its edges in another order and orientation; `number` gets the new place of each edge. */
static graph graph_shuffled(const graph* g, int32_t* number, int32_t* turned)
{
    graph h = graph_new(g->cliques);
    int32_t* order = (int32_t*)unwritten((size_t)g->edges, sizeof(int32_t));
    int32_t e;
    memcpy(h.sizes, g->sizes, (size_t)g->cliques * sizeof(int32_t));
    random_order(order, g->edges);
    for (e = 0; e < g->edges; e++) {
        int32_t from = order[e];
        number[from] = e;
        turned[from] = random_below(2);
        graph_link(&h, g->pairs[2 * from + turned[from]], g->pairs[2 * from + 1 - turned[from]]);
    }
    graph_number(&h);
    free(order);
    return h;
}

/* The same blocks in the same order, for the graph that graph_shuffled made. */
static values values_shuffled(const graph* h, const values* v, const int32_t* number,
                              const int32_t* turned)
{
    values w = values_new();
    int32_t k, i, j;
    for (k = 0; k < v->count; k++) {
        const item* it = &v->items[k];
        int turn = it->is_edge && turned[it->index];
        values_push(&w, h, it->is_edge, it->is_edge ? number[it->index] : it->index,
                    random_below(2));
        for (j = 0; j < it->columns; j++) {
            for (i = it->is_edge ? 0 : j; i < it->rows; i++) {
                *item_at(&w, &w.items[k], turn ? j : i, turn ? i : j) = *item_at(v, it, i, j);
            }
        }
    }
    return w;
}

/* The same graph and blocks, the edges in another order and orientation */
static graph shuffled(const graph* g, const values* v, values* w)
{
    int32_t* number = (int32_t*)unwritten((size_t)g->edges, sizeof(int32_t));
    int32_t* turned = (int32_t*)unwritten((size_t)g->edges, sizeof(int32_t));
    graph h = graph_shuffled(g, number, turned);
    *w = values_shuffled(&h, v, number, turned);
    free(number);
    free(turned);
    return h;
}

/* Blocks in another order, but those of one clique or of one pair in the order they had: blocks are moved
   past others that are of other places. */
static void values_mix(const graph* g, values* v)
{
    int32_t k, round;
    for (round = 0; round < 6; round++) {
        for (k = 0; k + 1 < v->count; k++) {
            item x = v->items[k], y = v->items[k + 1];
            int32_t xa = x.is_edge ? g->pairs[2 * x.index] : x.index;
            int32_t xb = x.is_edge ? g->pairs[2 * x.index + 1] : x.index;
            int32_t ya = y.is_edge ? g->pairs[2 * y.index] : y.index;
            int32_t yb = y.is_edge ? g->pairs[2 * y.index + 1] : y.index;
            if ((xa == ya && xb == yb) || (xa == yb && xb == ya) || !random_below(3)) continue;
            v->items[k] = y;
            v->items[k + 1] = x;
        }
    }
}

static void test_edge_order(void)
{
    int trial;
    for (trial = 0; trial < 52; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        graph g, h;
        values v, w;
        icf_real *b, *x;
        int32_t n;
        int held = 1;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, 25, trial % 2);
        v = trial % 3 ? values_contact(&g) : values_dominant(&g);
        h = shuffled(&g, &v, &w);
        values_mix(&h, &w);
        n = g.unknowns;
        b = random_vector(n, 3, n);
        x = fresh_answer(&g, &v, b, 3);
        held &= solve_fresh(&h, &w, b, 3, n);
        held &= !memcmp(x, b, 3 * (size_t)n * sizeof(icf_real));
        TEST_CHECK_(held, "%s, trial %d, seed %u", family_names[trial % FAMILIES], trial,
                    (unsigned)seed);
        free(b);
        free(x);
        values_free(&v);
        values_free(&w);
        graph_free(&g);
        graph_free(&h);
    }
}

/* Memory full of zeros, ones, NaN or large numbers, at any address that malloc could give: the same bits. */
static void test_garbage_memory(void)
{
    static const int fills[] = {0xFF, 0x7F, 0x01, 0xA5};
    int trial, k;
    for (trial = 0; trial < 39; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        graph g;
        values v;
        icf_real *b, *x;
        int32_t n;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, 25, trial % 2);
        v = trial % 2 ? values_contact(&g) : values_dominant(&g);
        n = g.unknowns;
        b = random_vector(n, 2, n);
        x = fresh_answer(&g, &v, b, 2);
        for (k = 0; k < 4; k++) {
            icf_sparse s;
            size_t shift = (size_t)k * BLOCK_ALIGNMENT, bytes;
            unsigned char *pattern, *factor;
            int held = 1;
            memset(&s, 0, sizeof s);
            bytes = icf_sparse_pattern_bytes(g.cliques, g.edges);
            pattern = memory_new(bytes + shift, fills[k]);
            held &= analyze(&s, pattern + shift, bytes, &g) == ICF_RESULT_OK;
            bytes = icf_sparse_bytes(&s, modes[k % 2]);
            factor = memory_new(bytes + shift, fills[k]);
            held &= icf_sparse_bind(&s, modes[k % 2], factor + shift, bytes) == ICF_RESULT_OK;
            held &= refactor(&s, &v, NULL) == ICF_RESULT_OK;
            held &= same_solution(&s, b, x, 2, n);
            held &= memory_is(factor + shift + bytes, UNTOUCHED, CANARY);
            TEST_CHECK_(held, "memory of %x, shifted by %d, %s, seed %u", (unsigned)fills[k],
                        (int)shift, family_names[trial % FAMILIES], (unsigned)seed);
            free(pattern);
            free(factor);
        }
        free(b);
        free(x);
        values_free(&v);
        graph_free(&g);
    }
}

/* One object lives through many patterns and values, failures and work left undone; then it must give the
   bits of a new one. */
static void test_history_leaves_no_trace(void)
{
    int trial;
    for (trial = 0; trial < 30; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        icf_sparse s;
        size_t pattern_room = 0, factor_room = 0;
        unsigned char *pattern, *factor;
        graph graphs[5];
        int k, step;
        random_seed(seed);
        for (k = 0; k < 5; k++) {
            object o;
            size_t bytes;
            graphs[k] = graph_random(random_below(FAMILIES), random_below(LAYOUTS), 20, k % 2);
            bytes = icf_sparse_pattern_bytes(graphs[k].cliques, graphs[k].edges);
            if (pattern_room < bytes) pattern_room = bytes;
            object_open(&o, &graphs[k], ICF_SPARSE_FULL, 0);
            for (step = 0; step < MODES; step++) {
                bytes = icf_sparse_bytes(&o.s, modes[step]);
                if (factor_room < bytes) factor_room = bytes;
            }
            object_close(&o);
        }
        memset(&s, 0, sizeof s);
        pattern = memory_new(pattern_room, 0xFF);
        factor = memory_new(factor_room, 0xFF);
        for (step = 0; step < 12; step++) {
            const graph* g = &graphs[random_below(5)];
            values v = values_dominant(g), u = values_contact(g);
            int32_t n = g->unknowns;
            icf_real *b = random_vector(n, 2, n),
                     *x = (icf_real*)unwritten(2 * (size_t)n, sizeof(icf_real));
            int held = 1;
            memcpy(x, b, 2 * (size_t)n * sizeof(icf_real));
            solve_fresh(g, &v, x, 2, n);

            held &= TEST_CHECK(analyze(&s, pattern, pattern_room, g) == ICF_RESULT_OK);
            if (random_below(3) == 0) {
                /* the other way of solving, in the same memory */
                held &= TEST_CHECK(icf_sparse_bind(&s, ICF_SPARSE_ITERATIVE, factor, factor_room) ==
                                   ICF_RESULT_OK);
                held &= TEST_CHECK(refactor(&s, &u, NULL) == ICF_RESULT_OK);
            }
            held &= TEST_CHECK(icf_sparse_bind(&s, modes[random_below(2)], factor, factor_room) ==
                               ICF_RESULT_OK);
            if (random_below(2)) held &= TEST_CHECK(refactor(&s, &u, NULL) == ICF_RESULT_OK);
            if (random_below(2)) {
                /* begun and left */
                held &= TEST_CHECK(icf_sparse_begin(&s) == ICF_RESULT_OK);
                held &= TEST_CHECK(add_values(&s, &u, ADD_ALL, NULL) == ICF_RESULT_OK);
            }
            if (n && random_below(2)) {
                /* nothing added: the first pivot is zero */
                held &= TEST_CHECK(icf_sparse_begin(&s) == ICF_RESULT_OK);
                held &= TEST_CHECK(icf_sparse_factor(&s, NULL) == ICF_RESULT_NOT_SPD);
            }
            held &= TEST_CHECK(refactor(&s, &v, NULL) == ICF_RESULT_OK);
            held &= TEST_CHECK(same_solution(&s, b, x, 2, n));
            held &= TEST_CHECK(same_solution(&s, b, x, 2, n));
            TEST_CHECK_(held, "trial %d, step %d, seed %u", trial, step, (unsigned)seed);
            free(b);
            free(x);
            values_free(&v);
            values_free(&u);
        }
        TEST_CHECK(memory_is(pattern + pattern_room, UNTOUCHED, CANARY));
        TEST_CHECK(memory_is(factor + factor_room, UNTOUCHED, CANARY));
        free(pattern);
        free(factor);
        for (k = 0; k < 5; k++) graph_free(&graphs[k]);
    }
}

/* The bits of many solutions are those of every build: any compiler, any flags, scalar or not. They are
   written down here, and change only with a commit that says why. */
#ifdef ICF_FLOAT
#define GOLDEN_BITS UINT64_C(0x007b3cc50aae4790)
#else
#define GOLDEN_BITS UINT64_C(0xd3252fb77b04ea06)
#endif

static void test_golden_bits(void)
{
    uint64_t hash = UINT64_C(14695981039346656037), golden = GOLDEN_BITS;
    int trial, rhs;
    random_seed(20261u);
    for (trial = 0; trial < 3 * FAMILIES; trial++) {
        graph g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, 30, 0);
        values v = values_dominant(&g);
        for (rhs = 1; rhs <= 9; rhs += rhs + 2) {
            size_t count = (size_t)rhs * (size_t)g.unknowns, i;
            icf_real* x = random_vector(g.unknowns, rhs, g.unknowns);
            solve_fresh(&g, &v, x, rhs, g.unknowns);
            for (i = 0; i < count; i++) {
#ifdef ICF_FLOAT
                uint32_t word;
#else
                uint64_t word;
#endif
                memcpy(&word, &x[i], sizeof word);
                hash = (hash ^ word) * UINT64_C(1099511628211);
            }
            free(x);
        }
        values_free(&v);
        graph_free(&g);
    }
    TEST_CHECK_(!BITS_PROMISED || hash == golden, "0x%08lx%08lx", (unsigned long)(hash >> 32),
                (unsigned long)(hash & 0xFFFFFFFFu));
}

// ------------------------------------------------------------------------------------------------
// Partial refactorisation

/* A block of a changed clique gets other values; `base` is what it is scaled from, so that a dominant
   matrix stays one. */
static void change_item(values* v, const values* base, const item* it)
{
    size_t count = (size_t)it->ld * (size_t)it->columns, k;
    icf_real factor = (icf_real)(it->is_edge ? random_between(-1, 1) : random_between(1, 2));
    for (k = 0; k < count; k++) v->data[it->at + k] = base->data[it->at + k] * factor;
}

static int touches(const graph* g, const item* it, const char* changed)
{
    if (!it->is_edge) return changed[it->index];
    return changed[g->pairs[2 * it->index]] || changed[g->pairs[2 * it->index + 1]];
}

static values values_copy(const graph* g, const values* from)
{
    values v = values_new();
    int32_t k;
    for (k = 0; k < from->count; k++) {
        const item* it = &from->items[k];
        values_push(&v, g, it->is_edge, it->index, it->ld - it->rows);
    }
    memcpy(v.data, from->data, from->used * sizeof(icf_real));
    return v;
}

/* Marks cliques as changed, and their blocks get other values: none, one, some or all of them. */
static int32_t change_some(const graph* g, values* v, const values* base, int32_t* list,
                           char* marks)
{
    int32_t count = 0, k, many = random_below(8);
    memset(marks, 0, (size_t)g->cliques + 1);
    if (g->cliques) {
        many = many < 4 ? 1 : many == 4 ? 0 : many == 5 ? g->cliques : 1 + random_below(4);
        for (k = 0; k < many; k++) {
            list[count] = many == g->cliques ? k : random_below(g->cliques); /* may come twice */
            marks[list[count++]] = 1;
        }
    }
    for (k = 0; k < v->count; k++) {
        if (touches(g, &v->items[k], marks)) change_item(v, base, &v->items[k]);
    }
    return count;
}

/* What is said to have changed is wanted. */
static int wants_changed(const icf_sparse* s, const graph* g, const values* v, const char* marks)
{
    int32_t k;
    for (k = 0; k < v->count; k++) {
        const item* it = &v->items[k];
        if (it->rows && it->columns && touches(g, it, marks) && !wants(s, it)) return 0;
    }
    return 1;
}

static void test_partial_factor_same_bits(void)
{
    int trial, round, lazy = 0, skipped_total = 0;
    for (trial = 0; trial < 65; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        graph g;
        values base, v;
        object o;
        int32_t n, *list, count, skipped = 0;
        char* marks;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, trial % ALL_EMPTY == MIXED ? 10 : 40,
                         trial % 2);
        base = values_dominant(&g);
        v = values_copy(&g, &base);
        n = g.unknowns;
        list = (int32_t*)unwritten((size_t)g.cliques + 8, sizeof(int32_t));
        marks = (char*)unwritten((size_t)g.cliques + 1, 1);
        if (object_open(&o, &g, ICF_SPARSE_PARTIAL, 0xFF) &&
            TEST_CHECK(refactor(&o.s, &v, NULL) == ICF_RESULT_OK)) {
            for (round = 0; round < 12; round++) {
                icf_real *b = random_vector(n, 2, n),
                         *x = (icf_real*)unwritten(2 * (size_t)n, sizeof(icf_real));
                int mode = round % ADD_MODES, held = 1;
                count = change_some(&g, &v, &base, list, marks);
                memcpy(x, b, 2 * (size_t)n * sizeof(icf_real));
                solve_fresh(&g, &v, x, 2, n);

                held &= TEST_CHECK(icf_sparse_begin_partial(&o.s, count, count ? list : NULL) ==
                                   ICF_RESULT_OK);
                held &= TEST_CHECK(wants_changed(&o.s, &g, &v, marks));
                held &= TEST_CHECK(refuses(&o.s, ICF_RESULT_NO_FACTOR, n));
                held &= TEST_CHECK(add_values(&o.s, &v, mode, &skipped) == ICF_RESULT_OK);
                held &= TEST_CHECK(icf_sparse_factor(&o.s, NULL) == ICF_RESULT_OK);
                held &= TEST_CHECK(same_solution(&o.s, b, x, 2, n));
                lazy += skipped > 0;
                skipped_total += skipped;
                free(b);
                free(x);
                if (!held) {
                    TEST_CHECK_(0,
                                "%s of blocks %s, trial %d, round %d, mode %d, %d changed, seed %u",
                                family_names[trial % FAMILIES], layout_names[trial % ALL_EMPTY],
                                trial, round, mode, (int)count, (unsigned)seed);
                    break;
                }
            }
        }
        object_close(&o);
        free(list);
        free(marks);
        values_free(&base);
        values_free(&v);
        graph_free(&g);
    }
    /* it is partial: work was saved */
    TEST_CHECK_(lazy >= 100, "%d", lazy);
    TEST_CHECK_(skipped_total >= 2000, "%d", skipped_total);
}

/* Partial assemblies after a failure, after another one that was left, before any factor, and in the mode
   that has none: refused, or as good as a full one. */
static void test_partial_after_trouble(void)
{
    int trial, trouble;
    for (trial = 0; trial < 26; trial++) {
        for (trouble = 0; trouble < 5; trouble++) {
            icf_sparse_mode mode = trouble == 4 ? ICF_SPARSE_FULL : ICF_SPARSE_PARTIAL;
            uint32_t seed = SEED + (uint32_t)trial;
            graph g;
            values base, v;
            object o;
            int32_t n, *list, first, count, k;
            icf_real *b, *x;
            char* marks;
            int held = 1;
            icf_result result;
            random_seed(seed);
            g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, 20, trial % 2);
            base = values_dominant(&g);
            v = values_copy(&g, &base);
            n = g.unknowns;
            b = random_vector(n, 1, n);
            x = random_vector(n, 1, n);
            list = (int32_t*)unwritten(2 * (size_t)g.cliques + 16, sizeof(int32_t));
            marks = (char*)unwritten((size_t)g.cliques + 1, 1);
            if (n && object_open(&o, &g, mode, 0xFF)) {
                if (trouble != 0) TEST_CHECK(refactor(&o.s, &v, NULL) == ICF_RESULT_OK);
                first = change_some(&g, &v, &base, list, marks);
                if (trouble == 1) {
                    /* all is zero */
                    TEST_CHECK(icf_sparse_begin(&o.s) == ICF_RESULT_OK);
                    TEST_CHECK(icf_sparse_factor(&o.s, NULL) == ICF_RESULT_NOT_SPD);
                } else if (trouble == 2) {
                    /* begun, and some of it added */
                    TEST_CHECK(icf_sparse_begin_partial(&o.s, first, list) == ICF_RESULT_OK);
                    for (k = 0; k < v.count; k++) {
                        if (random_below(2))
                            TEST_CHECK(add(&o.s, &v.items[k], v.data + v.items[k].at) ==
                                       ICF_RESULT_OK);
                    }
                } else if (trouble == 3) {
                    /* partial, and fails or has nothing to do */
                    TEST_CHECK(icf_sparse_begin_partial(&o.s, first, list) == ICF_RESULT_OK);
                    result = icf_sparse_factor(&o.s, NULL);
                    TEST_CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_NOT_SPD);
                }
                count = change_some(&g, &v, &base, list + first, marks);
                if (trouble == 3) count += first, first = 0;
                memcpy(x, b, (size_t)n * sizeof(icf_real));
                solve_fresh(&g, &v, x, 1, n);
                result = trouble == 3 ? icf_sparse_begin_partial(&o.s, count, list)
                                      : icf_sparse_begin_partial(&o.s, count, list + first);
                if (result == ICF_RESULT_OK && (trouble < 2 || trouble == 4)) {
                    /* no factor that could be kept, or not in parts: all is wanted */
                    for (k = 0; k < v.count; k++) {
                        const item* it = &v.items[k];
                        held &= !it->rows || !it->columns || wants(&o.s, it);
                    }
                }
                if (result == ICF_RESULT_OK) {
                    held &= add_values(&o.s, &v, trial % ADD_MODES, NULL) == ICF_RESULT_OK;
                    held &= icf_sparse_factor(&o.s, NULL) == ICF_RESULT_OK;
                } else {
                    held &= is_named_error(result);
                    held &= refactor(&o.s, &v, NULL) == ICF_RESULT_OK;
                }
                held &= same_solution(&o.s, b, x, 1, n);
                TEST_CHECK_(held, "trouble %d, %s, trial %d, mode %d, seed %u", trouble,
                            family_names[trial % FAMILIES], trial, trial % ADD_MODES,
                            (unsigned)seed);
                object_close(&o);
            }
            free(b);
            free(x);
            free(list);
            free(marks);
            values_free(&base);
            values_free(&v);
            graph_free(&g);
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Not positive definite

/* Each unknown in turn has a negative diagonal in a matrix that is otherwise far from singular. */
static void test_not_spd(void)
{
    int trial;
    for (trial = 0; trial < 52; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        graph g;
        values v;
        object o;
        int32_t n, p, c;
        icf_real *b, *x;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, trial % ALL_EMPTY == MIXED ? 5 : 12,
                         trial % 2);
        v = values_dominant(&g);
        n = g.unknowns;
        b = random_vector(n, 1, n);
        x = fresh_answer(&g, &v, b, 1);
        if (object_open(&o, &g, modes[trial % 2], 0xFF)) {
            for (p = 0; p < n; p++) {
                int32_t pivot = -7, k;
                int held = 1;
                icf_real kept, *entry;
                icf_result result;
                for (c = 0; g.start[c + 1] <= p; c++) continue;
                for (k = 0; v.items[k].is_edge || v.items[k].index != c; k++) continue;
                entry = item_at(&v, &v.items[k], p - g.start[c], p - g.start[c]);
                kept = *entry;
                *entry = p % 3 == 0 ? -kept : p % 3 == 1 ? (icf_real)(-1e-3) : (icf_real)NAN;
                result = refactor(&o.s, &v, &pivot);
                *entry = kept;
                held &=
                    result == ICF_RESULT_NOT_SPD || (p % 3 == 2 && result == ICF_RESULT_NOT_FINITE);
                held &= result != ICF_RESULT_NOT_SPD || pivot == p;
                held &= refuses(&o.s, ICF_RESULT_NO_FACTOR, n);
                TEST_CHECK_(held, "unknown %d of %d: %s, pivot %d; %s, trial %d, seed %u", (int)p,
                            (int)n, icf_result_string(result), (int)pivot,
                            family_names[trial % FAMILIES], trial, (unsigned)seed);
                if (!held) break;
                if (p % 4 == 0) {
                    /* still good for the matrix as it should be */
                    TEST_CHECK(refactor(&o.s, &v, NULL) == ICF_RESULT_OK);
                    TEST_CHECK(same_solution(&o.s, b, x, 1, n));
                }
            }
        }
        object_close(&o);
        free(b);
        free(x);
        values_free(&v);
        graph_free(&g);
    }
}

/* A NaN or an infinity in any block is never answered with OK. */
static void test_not_finite(void)
{
    icf_real bad[3];
    int trial;
    bad[0] = (icf_real)NAN;
    bad[1] = (icf_real)INFINITY;
    bad[2] = -(icf_real)INFINITY;
    for (trial = 0; trial < 26; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        graph g;
        values v;
        object o;
        int32_t k;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, 12, trial % 2);
        v = values_dominant(&g);
        if (object_open(&o, &g, modes[trial % 2], 0)) {
            for (k = 0; k < v.count; k++) {
                const item* it = &v.items[k];
                int32_t i, j, pivot = -7;
                icf_real kept, *entry;
                icf_result result;
                if (!it->rows || !it->columns) continue;
                j = random_below(it->columns);
                i = it->is_edge ? random_below(it->rows) : j + random_below(it->rows - j);
                entry = item_at(&v, it, i, j);
                kept = *entry;
                *entry = bad[k % 3];
                result = refactor(&o.s, &v, &pivot);
                *entry = kept;
                TEST_CHECK_(result == ICF_RESULT_NOT_FINITE ||
                                (result == ICF_RESULT_NOT_SPD && pivot >= 0 && pivot < g.unknowns),
                            "%s: pivot %d, item %d, seed %u", icf_result_string(result), (int)pivot,
                            (int)k, (unsigned)seed);
                TEST_CHECK(refuses(&o.s, ICF_RESULT_NO_FACTOR, g.unknowns));
            }
            TEST_CHECK(refactor(&o.s, &v, NULL) == ICF_RESULT_OK);
        }
        object_close(&o);
        values_free(&v);
        graph_free(&g);
    }
}

// ------------------------------------------------------------------------------------------------
// The same pattern again

/* Both have unknowns: only such edges make a difference. */
static int has_block(const graph* g, int32_t a, int32_t b)
{
    return a != b && g->sizes[a] && g->sizes[b];
}

static int has_edge(const graph* g, int32_t a, int32_t b)
{
    int32_t e;
    for (e = 0; e < g->edges; e++) {
        int32_t p = g->pairs[2 * e], q = g->pairs[2 * e + 1];
        if ((p == a && q == b) || (p == b && q == a)) return 1;
    }
    return 0;
}

/* A pattern that is not the one of g, if this way of changing it applies. */
static int graph_altered(const graph* g, int way, graph* h)
{
    int32_t i, k, e, a = 0, b = 0;
    *h = graph_copy(g);
    switch (way) {
    case 0: /* another size */
        if (g->cliques == 0) return 0;
        h->sizes[random_below(g->cliques)] += 1;
        break;
    case 1: /* the same sizes, elsewhere: the same number of unknowns */
        for (i = 1; i < g->cliques && g->sizes[i] == g->sizes[0]; i++) continue;
        if (i >= g->cliques) return 0;
        h->sizes[0] = g->sizes[i];
        h->sizes[i] = g->sizes[0];
        break;
    case 2: /* an edge replaced by one that was not there: the same counts */
        for (i = 0; i < 100 && g->edges; i++) {
            a = random_below(g->cliques);
            b = random_below(g->cliques);
            e = random_below(g->edges);
            if (!has_block(g, a, b) || has_edge(g, a, b)) continue;
            h->pairs[2 * e] = a;
            h->pairs[2 * e + 1] = b;
            graph_number(h);
            return 1;
        }
        return 0;
    case 3: /* two edges have swapped ends: each clique has as many as before */
        for (i = 0; i < 300 && g->edges; i++) {
            int32_t c, d;
            e = random_below(g->edges);
            k = random_below(g->edges);
            a = g->pairs[2 * e], b = g->pairs[2 * e + 1];
            c = g->pairs[2 * k], d = g->pairs[2 * k + 1];
            if (!has_block(g, a, b) || !has_block(g, c, d)) continue;
            if (a == c || a == d || b == c || b == d || has_edge(g, a, d) || has_edge(g, c, b))
                continue;
            h->pairs[2 * e + 1] = d;
            h->pairs[2 * k + 1] = b;
            graph_number(h);
            return 1;
        }
        return 0;
    case 4: /* a clique more */
        graph_free(h);
        *h = graph_new(g->cliques + 1);
        for (i = 0; i < g->cliques; i++) h->sizes[i] = g->sizes[i];
        for (e = 0; e < g->edges; e++) graph_link(h, g->pairs[2 * e], g->pairs[2 * e + 1]);
        break;
    default: /* no edge but the first */
        if (g->edges == 0) return 0;
        h->edges = 1;
        for (e = 1; e < g->edges; e++) {
            a = g->pairs[2 * e];
            b = g->pairs[2 * e + 1];
            if (has_block(g, a, b) && !has_edge(h, a, b)) break;
        }
        if (e == g->edges) return 0;
        break;
    }
    graph_number(h);
    return 1;
}

/* An object with a factor, and the same pattern and blocks in another order */
typedef struct pattern_case {
    object o;
    size_t room; /* for a clique and an edge more */
    graph g, h;
    values v, w;
    int32_t n;
    icf_real *b, *x;
} pattern_case;

static int pattern_make(pattern_case* p, int trial)
{
    int held = 1;
    p->g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, 20, trial % 2);
    p->v = values_dominant(&p->g);
    p->h = shuffled(&p->g, &p->v, &p->w);
    p->n = p->g.unknowns;
    p->b = random_vector(p->n, 2, p->n);
    p->x = fresh_answer(&p->g, &p->v, p->b, 2);
    memset(&p->o, 0, sizeof p->o);
    p->room = icf_sparse_pattern_bytes(p->g.cliques + 1, p->g.edges + 1);
    p->o.pattern_bytes = p->room;
    p->o.pattern = memory_new(p->room, 0xFF);
    held &= TEST_CHECK(analyze(&p->o.s, p->o.pattern, p->room, &p->g) == ICF_RESULT_OK);
    p->o.factor_bytes = icf_sparse_bytes(&p->o.s, ICF_SPARSE_PARTIAL);
    p->o.factor = memory_new(p->o.factor_bytes, 0xFF);
    held &= TEST_CHECK(icf_sparse_bind(&p->o.s, ICF_SPARSE_PARTIAL, p->o.factor,
                                       p->o.factor_bytes) == ICF_RESULT_OK);
    held &= TEST_CHECK(refactor(&p->o.s, &p->v, NULL) == ICF_RESULT_OK);
    return held;
}

static void pattern_free(pattern_case* p)
{
    free(p->b);
    free(p->x);
    values_free(&p->v);
    values_free(&p->w);
    graph_free(&p->g);
    graph_free(&p->h);
}

/* The factor is kept, the edges have their new numbers. */
static int same_is_recognised(pattern_case* p)
{
    int32_t changed, k;
    int held = 1;
    held &= TEST_CHECK(analyze(&p->o.s, p->o.pattern, p->room, &p->g) == ICF_RESULT_OK);
    held &= TEST_CHECK(same_solution(&p->o.s, p->b, p->x, 2, p->n));
    held &= TEST_CHECK(analyze(&p->o.s, p->o.pattern, p->room, &p->h) == ICF_RESULT_OK);
    held &= TEST_CHECK(same_solution(&p->o.s, p->b, p->x, 2, p->n));
    held &= TEST_CHECK(icf_sparse_bytes(&p->o.s, ICF_SPARSE_PARTIAL) == p->o.factor_bytes);
    if (p->g.cliques) {
        changed = random_below(p->g.cliques);
        held &= TEST_CHECK(icf_sparse_begin_partial(&p->o.s, 1, &changed) == ICF_RESULT_OK);
        for (k = 0; k < p->w.count; k++) {
            const item* it = &p->w.items[k];
            int is_there = it->is_edge ? p->h.pairs[2 * it->index] == changed ||
                                             p->h.pairs[2 * it->index + 1] == changed
                                       : it->index == changed;
            if (is_there && it->rows && it->columns) held &= TEST_CHECK(wants(&p->o.s, it));
        }
        held &= TEST_CHECK(add_values(&p->o.s, &p->w, ADD_WANTED, NULL) == ICF_RESULT_OK);
        held &= TEST_CHECK(icf_sparse_factor(&p->o.s, NULL) == ICF_RESULT_OK);
        held &= TEST_CHECK(same_solution(&p->o.s, p->b, p->x, 2, p->n));
    }
    held &= TEST_CHECK(refactor(&p->o.s, &p->w, NULL) == ICF_RESULT_OK);
    held &= TEST_CHECK(same_solution(&p->o.s, p->b, p->x, 2, p->n));
    held &= TEST_CHECK(analyze(&p->o.s, p->o.pattern, p->room, &p->g) == ICF_RESULT_OK);
    held &= TEST_CHECK(refactor(&p->o.s, &p->v, NULL) == ICF_RESULT_OK);
    held &= TEST_CHECK(same_solution(&p->o.s, p->b, p->x, 2, p->n));
    return held;
}

static int binds_and_solves(pattern_case* p)
{
    int held = TEST_CHECK(icf_sparse_bind(&p->o.s, ICF_SPARSE_PARTIAL, p->o.factor,
                                          p->o.factor_bytes) == ICF_RESULT_OK);
    held &= TEST_CHECK(refactor(&p->o.s, &p->v, NULL) == ICF_RESULT_OK);
    held &= TEST_CHECK(same_solution(&p->o.s, p->b, p->x, 2, p->n));
    return held;
}

/* There is no factor and nothing is bound, until it is done again. */
static int other_is_not_recognised(pattern_case* p, int altered[6])
{
    graph other;
    int way, held = 1;
    for (way = 0; way < 6; way++) {
        if (graph_altered(&p->g, way, &other)) {
            altered[way]++;
            held &= TEST_CHECK(analyze(&p->o.s, p->o.pattern, p->room, &other) == ICF_RESULT_OK);
            held &=
                TEST_CHECK_(refuses(&p->o.s, ICF_RESULT_NO_FACTOR, other.unknowns), "way %d", way);
            held &= TEST_CHECK(is_named_error(icf_sparse_begin(&p->o.s)));
            held &= TEST_CHECK(analyze(&p->o.s, p->o.pattern, p->room, &p->g) == ICF_RESULT_OK);
            held &= TEST_CHECK(refuses(&p->o.s, ICF_RESULT_NO_FACTOR, p->n));
            held &= binds_and_solves(p);
        }
        graph_free(&other);
    }
    return held;
}

/* An edge given once more: recognised or not, but never wrong */
static int edge_twice_is_not_wrong(pattern_case* p)
{
    graph other;
    int held = 1;
    if (p->g.edges) {
        other = graph_copy(&p->g);
        graph_link(&other, p->g.pairs[1], p->g.pairs[0]);
        held &= TEST_CHECK(analyze(&p->o.s, p->o.pattern, p->room, &other) == ICF_RESULT_OK);
        held &= TEST_CHECK(refuses(&p->o.s, ICF_RESULT_NO_FACTOR, p->n) ||
                           same_solution(&p->o.s, p->b, p->x, 2, p->n));
        held &= TEST_CHECK(icf_sparse_bytes(&p->o.s, ICF_SPARSE_PARTIAL) == p->o.factor_bytes);
        held &= binds_and_solves(p);
        graph_free(&other);
    }
    return held;
}

/* The same pattern in other memory: what was in the first is not needed any more. */
static int memory_is_let_go(pattern_case* p)
{
    int held = 1;
    unsigned char* first = p->o.pattern;
    held &= TEST_CHECK(memory_is(first + p->room, UNTOUCHED, CANARY));
    p->o.pattern_bytes = icf_sparse_pattern_bytes(p->g.cliques, p->g.edges);
    p->o.pattern = memory_new(p->o.pattern_bytes, 0xA5);
    held &= TEST_CHECK(analyze(&p->o.s, p->o.pattern, p->o.pattern_bytes, &p->g) == ICF_RESULT_OK);
    memset(first, 0xFF, p->room);
    free(first);
    held &= binds_and_solves(p);
    return held;
}

static void test_same_pattern(void)
{
    int trial, way, altered[6] = {0};
    for (trial = 0; trial < 52; trial++) {
        const uint32_t seed = SEED + (uint32_t)trial;
        pattern_case p;
        int held;
        random_seed(seed);
        held = pattern_make(&p, trial);
        held &= same_is_recognised(&p);
        held &= other_is_not_recognised(&p, altered);
        held &= edge_twice_is_not_wrong(&p);
        held &= memory_is_let_go(&p);
        held &= object_close(&p.o);
        TEST_CHECK_(held, "%s, trial %d, seed %u", family_names[trial % FAMILIES], trial,
                    (unsigned)seed);
        pattern_free(&p);
    }
    for (way = 0; way < 6; way++) TEST_CHECK_(altered[way] >= 8, "way %d: %d", way, altered[way]);
}

// ------------------------------------------------------------------------------------------------
// Sizes, arguments, the order of calls

/* What a size function says is enough, and one byte less is not, and then nothing is written. */
static void test_sizes_are_enough_and_needed(void)
{
    int trial, k;
    for (trial = 0; trial < 78; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        graph g;
        values v;
        icf_sparse s;
        size_t bytes, less[4];
        unsigned char *pattern, *factor;
        int held = 1, m;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % LAYOUTS, 25, trial % 2);
        v = values_dominant(&g);
        memset(&s, 0, sizeof s);
        bytes = icf_sparse_pattern_bytes(g.cliques, g.edges);
        pattern = memory_new(bytes, UNTOUCHED);
        less[0] = 0;
        less[1] = bytes / 2;
        less[2] = bytes < GRANULE ? 0 : bytes - GRANULE;
        less[3] = bytes - 1;
        for (k = 0; k < 4 && bytes; k++) {
            held &= TEST_CHECK(analyze(&s, pattern, less[k], &g) == ICF_RESULT_TOO_SMALL);
            held &= TEST_CHECK(memory_is(pattern, UNTOUCHED, bytes + CANARY));
            held &=
                TEST_CHECK(is_named_error(icf_sparse_bind(&s, modes[k % MODES], pattern, bytes)));
        }
        held &= TEST_CHECK(analyze(&s, pattern, bytes, &g) == ICF_RESULT_OK);
        held &= TEST_CHECK(memory_is(pattern + bytes, UNTOUCHED, CANARY));

        for (m = 0; m < MODES; m++) {
            size_t need = icf_sparse_bytes(&s, modes[m]);
            icf_real* b = random_vector(g.unknowns, 1, g.unknowns);
            factor = memory_new(need, UNTOUCHED);
            less[1] = need / 2;
            less[2] = need < GRANULE ? 0 : need - GRANULE;
            less[3] = need - 1;
            for (k = 0; k < 4 && need; k++) {
                held &= TEST_CHECK(icf_sparse_bind(&s, modes[m], factor, less[k]) ==
                                   ICF_RESULT_TOO_SMALL);
                held &= TEST_CHECK(memory_is(factor, UNTOUCHED, need + CANARY));
            }
            held &= TEST_CHECK(icf_sparse_bind(&s, modes[m], factor, need) == ICF_RESULT_OK);
            held &= TEST_CHECK(refactor(&s, &v, NULL) == ICF_RESULT_OK);
            held &= TEST_CHECK(icf_sparse_solve(&s, b, 1, g.unknowns) == ICF_RESULT_OK);
            held &= TEST_CHECK(memory_is(factor + need, UNTOUCHED, CANARY));
            held &= TEST_CHECK(memory_is(pattern + bytes, UNTOUCHED, CANARY));
            free(factor);
            free(b);
        }
        TEST_CHECK_(held, "%s of blocks %s, seed %u", family_names[trial % FAMILIES],
                    layout_names[trial % LAYOUTS], (unsigned)seed);
        free(pattern);
        values_free(&v);
        graph_free(&g);
    }
}

/* An object with two cliques of 2 and 3 unknowns and an edge, factored. */
static values open_small(object* o, graph* g, icf_sparse_mode mode)
{
    values v;
    random_seed(SEED);
    *g = graph_new(2);
    g->sizes[0] = 2;
    g->sizes[1] = 3;
    graph_link(g, 1, 0);
    graph_number(g);
    v = values_dominant(g);
    TEST_ASSERT(object_open(o, g, mode, 0xFF));
    TEST_ASSERT(refactor(&o->s, &v, NULL) == ICF_RESULT_OK);
    return v;
}

#define REFUSED(call) CHECK_RESULT(call, ICF_RESULT_BAD_ARGUMENT)

/* An object with a factor, two right hand sides b and their answers x, what a call may be given, and memory
   that no refused call writes */
typedef struct small_object {
    object o;
    graph g;
    values v;
    icf_real *b, *x;
    int32_t sizes[3], pairs[4];
    size_t bytes;
    unsigned char *memory, *factor;
} small_object;

static void small_make(small_object* t)
{
    static const int32_t sizes[3] = {2, 3, 1}, pairs[4] = {1, 0, 2, 0};
    t->v = open_small(&t->o, &t->g, ICF_SPARSE_PARTIAL);
    memcpy(t->sizes, sizes, sizeof sizes);
    memcpy(t->pairs, pairs, sizeof pairs);
    t->bytes = icf_sparse_pattern_bytes(3, 2);
    t->memory = memory_new(t->bytes, UNTOUCHED);
    t->factor = memory_new(t->o.factor_bytes + 16, UNTOUCHED);
    t->b = random_vector(5, 2, 5);
    t->x = (icf_real*)unwritten(10, sizeof(icf_real));
    memcpy(t->x, t->b, 10 * sizeof(icf_real));
    TEST_CHECK(icf_sparse_solve(&t->o.s, t->x, 2, 5) == ICF_RESULT_OK);
}

/* A call that is refused changes nothing: the factor that was there still solves, to the bit. */
static void small_unharmed(small_object* t)
{
    TEST_CHECK(same_solution(&t->o.s, t->b, t->x, 2, 5));
    TEST_CHECK(memory_is(t->memory, UNTOUCHED, t->bytes + CANARY));
    TEST_CHECK(memory_is(t->factor, UNTOUCHED, t->o.factor_bytes + 16 + CANARY));
}

static void small_free(small_object* t)
{
    object_close(&t->o);
    free(t->memory);
    free(t->factor);
    free(t->b);
    free(t->x);
    values_free(&t->v);
    graph_free(&t->g);
}

static void test_bad_arguments_of_analyze(void)
{
    small_object t;
    int k;
    small_make(&t);
    REFUSED(icf_sparse_analyze(NULL, t.memory, t.bytes, 3, t.sizes, 2, t.pairs));
    REFUSED(icf_sparse_analyze(&t.o.s, NULL, t.bytes, 3, t.sizes, 2, t.pairs));
    REFUSED(icf_sparse_analyze(&t.o.s, t.memory, t.bytes, -1, t.sizes, 2, t.pairs));
    REFUSED(icf_sparse_analyze(&t.o.s, t.memory, t.bytes, INT32_MIN, t.sizes, 0, t.pairs));
    REFUSED(icf_sparse_analyze(&t.o.s, t.memory, t.bytes, 3, t.sizes, -1, t.pairs));
    REFUSED(icf_sparse_analyze(&t.o.s, t.memory, t.bytes, 3, NULL, 2, t.pairs));
    REFUSED(icf_sparse_analyze(&t.o.s, t.memory, t.bytes, 3, t.sizes, 2, NULL));
    for (k = 0; k < 2; k++) {
        t.sizes[2] = k ? INT32_MIN : -1;
        REFUSED(icf_sparse_analyze(&t.o.s, t.memory, t.bytes, 3, t.sizes, 2, t.pairs));
    }
    t.sizes[2] = 1;
    for (k = 0; k < 6; k++) {
        /* out of range at either end of an edge, and an edge from a clique to itself */
        static const int32_t wrong[6][2] = {
            {3,         0        },
            {0,         3        },
            {-1,        1        },
            {1,         -1       },
            {2,         2        },
            {INT32_MAX, INT32_MIN}
        };
        t.pairs[2] = wrong[k][0];
        t.pairs[3] = wrong[k][1];
        REFUSED(icf_sparse_analyze(&t.o.s, t.memory, t.bytes, 3, t.sizes, 2, t.pairs));
    }
    t.pairs[2] = 0;
    t.pairs[3] = 2;
    CHECK_RESULT(icf_sparse_analyze(&t.o.s, t.memory + 1, t.bytes, 3, t.sizes, 2, t.pairs),
                 ICF_RESULT_MISALIGNED);
    CHECK_RESULT(icf_sparse_analyze(&t.o.s, t.memory + 2, t.bytes, 3, t.sizes, 2, t.pairs),
                 ICF_RESULT_MISALIGNED);
    CHECK_RESULT(
        icf_sparse_analyze(&t.o.s, t.memory + BLOCK_ALIGNMENT / 2, t.bytes, 3, t.sizes, 2, t.pairs),
        ICF_RESULT_MISALIGNED);
    CHECK_RESULT(icf_sparse_analyze(&t.o.s, t.memory, t.bytes - 1, 3, t.sizes, 2, t.pairs),
                 ICF_RESULT_TOO_SMALL);
    /* nor does it harm when the memory offered is the object's own */
    CHECK_RESULT(
        icf_sparse_analyze(&t.o.s, t.o.pattern, t.o.pattern_bytes - 1, 3, t.sizes, 2, t.pairs),
        ICF_RESULT_TOO_SMALL);
    t.pairs[0] = 0;
    REFUSED(icf_sparse_analyze(&t.o.s, t.o.pattern, t.o.pattern_bytes, 2, t.sizes, 1, t.pairs));
    t.pairs[0] = 1;
    t.sizes[1] = -1;
    REFUSED(icf_sparse_analyze(&t.o.s, t.o.pattern, t.o.pattern_bytes, 2, t.sizes, 1, t.pairs));
    t.sizes[1] = INT32_MAX;
    CHECK_RESULT(icf_sparse_analyze(&t.o.s, t.o.pattern, t.o.pattern_bytes, 2, t.sizes, 1, t.pairs),
                 ICF_RESULT_OVERFLOW);
    t.sizes[1] = 3;
    small_unharmed(&t);
    small_free(&t);
}

static void test_bad_arguments_of_bind(void)
{
    small_object t;
    int k;
    small_make(&t);
    for (k = 0; k < MODES; k++) {
        size_t need = icf_sparse_bytes(&t.o.s, modes[k]);
        REFUSED(icf_sparse_bind(NULL, modes[k], t.factor, need));
        REFUSED(icf_sparse_bind(&t.o.s, modes[k], NULL, need));
        CHECK_RESULT(icf_sparse_bind(&t.o.s, modes[k], t.factor + 1, need), ICF_RESULT_MISALIGNED);
        CHECK_RESULT(icf_sparse_bind(&t.o.s, modes[k], t.factor + BLOCK_ALIGNMENT / 2, need),
                     ICF_RESULT_MISALIGNED);
        CHECK_RESULT(icf_sparse_bind(&t.o.s, modes[k], t.factor, need - 1), ICF_RESULT_TOO_SMALL);
    }
    REFUSED(icf_sparse_bind(&t.o.s, (icf_sparse_mode)MODES, t.factor, t.o.factor_bytes));
    small_unharmed(&t);
    small_free(&t);
}

static void test_bad_arguments_of_begin(void)
{
    small_object t;
    int32_t list[2] = {0, 1};
    small_make(&t);
    REFUSED(icf_sparse_begin(NULL));
    REFUSED(icf_sparse_begin_partial(NULL, 1, list));
    REFUSED(icf_sparse_begin_partial(&t.o.s, -1, list));
    REFUSED(icf_sparse_begin_partial(&t.o.s, 1, NULL));
    list[1] = 2;
    REFUSED(icf_sparse_begin_partial(&t.o.s, 2, list));
    list[1] = -1;
    REFUSED(icf_sparse_begin_partial(&t.o.s, 2, list));
    small_unharmed(&t);
    small_free(&t);
}

static void test_bad_arguments_of_solve(void)
{
    small_object t;
    icf_real y[10];
    memset(y, UNTOUCHED, sizeof y);
    small_make(&t);
    REFUSED(icf_sparse_factor(NULL, NULL));
    REFUSED(icf_sparse_solve(NULL, y, 1, 5));
    REFUSED(icf_sparse_solve(&t.o.s, NULL, 1, 5));
    REFUSED(icf_sparse_solve(&t.o.s, y, -1, 5));
    REFUSED(icf_sparse_solve(&t.o.s, y, 1, 4));
    REFUSED(icf_sparse_solve(&t.o.s, y, 2, 4));
    CHECK_RESULT(icf_sparse_solve(&t.o.s, y, 0, 5), ICF_RESULT_OK);
    TEST_CHECK(memory_is((const unsigned char*)y, UNTOUCHED, sizeof y));
    small_unharmed(&t);
    small_free(&t);
}

static void test_bad_blocks_are_not_added(void)
{
    small_object t;
    icf_real block[16];
    int k;
    for (k = 0; k < 16; k++) block[k] = 1;
    small_make(&t);
    CHECK_RESULT(icf_sparse_begin(&t.o.s), ICF_RESULT_OK);
    REFUSED(icf_sparse_add_diagonal(NULL, 0, block, 3));
    REFUSED(icf_sparse_add_diagonal(&t.o.s, -1, block, 3));
    REFUSED(icf_sparse_add_diagonal(&t.o.s, 2, block, 3));
    REFUSED(icf_sparse_add_diagonal(&t.o.s, 1, NULL, 3));
    REFUSED(icf_sparse_add_diagonal(&t.o.s, 1, block, 2));
    REFUSED(icf_sparse_add_edge(NULL, 0, block, 3));
    REFUSED(icf_sparse_add_edge(&t.o.s, -1, block, 3));
    REFUSED(icf_sparse_add_edge(&t.o.s, 1, block, 3));
    REFUSED(icf_sparse_add_edge(&t.o.s, 0, NULL, 3));
    REFUSED(icf_sparse_add_edge(&t.o.s, 0, block, 2));
    TEST_CHECK(icf_sparse_wants_diagonal(&t.o.s, 0) && icf_sparse_wants_diagonal(&t.o.s, 1));
    TEST_CHECK(icf_sparse_wants_edge(&t.o.s, 0));
    TEST_CHECK(!icf_sparse_wants_diagonal(&t.o.s, -1) && !icf_sparse_wants_diagonal(&t.o.s, 2));
    TEST_CHECK(!icf_sparse_wants_edge(&t.o.s, -1) && !icf_sparse_wants_edge(&t.o.s, 1));
    TEST_CHECK(add_values(&t.o.s, &t.v, ADD_ALL, NULL) == ICF_RESULT_OK);
    CHECK_RESULT(icf_sparse_factor(&t.o.s, NULL), ICF_RESULT_OK);
    small_unharmed(&t);
    small_free(&t);
}

/* A block that is too large to be factored, if the library says so, leaves all as it was. */
static void test_huge_block_is_refused_whole(void)
{
    small_object t;
    icf_result result;
    int k;
    small_make(&t);
    t.sizes[1] = 1 << 24;
    for (k = 0; k < 2; k++) {
        result = icf_sparse_analyze(&t.o.s, k ? t.memory : t.o.pattern, t.o.pattern_bytes, 2,
                                    t.sizes, 1, t.pairs);
        TEST_CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_OVERFLOW);
        TEST_CHECK(result == ICF_RESULT_OK || same_solution(&t.o.s, t.b, t.x, 2, 5));
        if (result == ICF_RESULT_OK) break;
        TEST_CHECK(refactor(&t.o.s, &t.v, NULL) == ICF_RESULT_OK);
        TEST_CHECK(same_solution(&t.o.s, t.b, t.x, 2, 5));
    }
    small_free(&t);
}

/* No edges need no list of edges, no cliques no list of sizes. */
static void test_no_lists(void)
{
    icf_sparse s;
    int32_t size = 4;
    size_t bytes = icf_sparse_pattern_bytes(1, 0);
    unsigned char* memory = memory_new(bytes, 0xFF);
    memset(&s, 0, sizeof s);
    TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, 1, &size, 0, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_sparse_pattern_bytes(0, 0) <= bytes);
    TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, 0, NULL, 0, NULL) == ICF_RESULT_OK);
    TEST_CHECK(s.unknowns == 0 && s.fronts == 0 && s.components == 0 && s.flops == 0);
    free(memory);
}

/* Every call before the one it needs. */
static void test_order_of_calls(void)
{
    icf_sparse s;
    object o;
    graph g;
    values v = open_small(&o, &g, ICF_SPARSE_PARTIAL);
    icf_real block[16], *b = random_vector(5, 1, 5), *x = (icf_real*)unwritten(5, sizeof(icf_real));
    size_t bytes = icf_sparse_pattern_bytes(2, 1);
    unsigned char *pattern = memory_new(bytes, 0xFF),
                  *factor = memory_new(o.factor_bytes, UNTOUCHED);
    int32_t list[1] = {0}, pivot = -7;
    int k;
    for (k = 0; k < 16; k++) block[k] = 1;
    memcpy(x, b, 5 * sizeof(icf_real));
    TEST_CHECK(icf_sparse_solve(&o.s, x, 1, 5) == ICF_RESULT_OK);

    TEST_CASE("not analysed");
    memset(&s, 0, sizeof s);
    for (k = 0; k < MODES; k++) {
        TEST_CHECK(is_named_error(icf_sparse_bind(&s, modes[k], factor, o.factor_bytes)));
    }
    TEST_CHECK(memory_is(factor, UNTOUCHED, o.factor_bytes));
    for (k = 0; k < 2; k++) {
        TEST_CHECK(is_named_error(icf_sparse_begin(&s)));
        TEST_CHECK(is_named_error(icf_sparse_begin_partial(&s, 1, list)));
        TEST_CHECK(is_named_error(icf_sparse_begin_partial(&s, 0, NULL)));
        TEST_CHECK(is_named_error(icf_sparse_add_diagonal(&s, 0, block, 4)));
        TEST_CHECK(is_named_error(icf_sparse_add_edge(&s, 0, block, 4)));
        TEST_CHECK(!icf_sparse_wants_diagonal(&s, 0) && !icf_sparse_wants_edge(&s, 0));
        TEST_CHECK(is_named_error(icf_sparse_factor(&s, &pivot)));
        if (k == 0) {
            TEST_CHECK(is_named_error(icf_sparse_solve(&s, block, 1, 5)));
            TEST_CASE("not bound");
            TEST_CHECK(analyze(&s, pattern, bytes, &g) == ICF_RESULT_OK);
        } else {
            TEST_CHECK(refuses(&s, ICF_RESULT_NO_FACTOR, 5));
        }
    }

    TEST_CASE("not begun");
    TEST_CHECK(icf_sparse_bind(&s, ICF_SPARSE_PARTIAL, factor, o.factor_bytes) == ICF_RESULT_OK);
    TEST_CHECK(is_named_error(icf_sparse_add_diagonal(&s, 0, block, 4)));
    TEST_CHECK(is_named_error(icf_sparse_add_edge(&s, 0, block, 4)));
    TEST_CHECK(is_named_error(icf_sparse_factor(&s, &pivot)));
    TEST_CHECK(refuses(&s, ICF_RESULT_NO_FACTOR, 5));
    TEST_CHECK(icf_sparse_begin(&s) == ICF_RESULT_OK);
    TEST_CHECK(refuses(&s, ICF_RESULT_NO_FACTOR, 5));
    TEST_CHECK(pivot == -7);
    TEST_CHECK(add_values(&s, &v, ADD_ALL, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_sparse_factor(&s, &pivot) == ICF_RESULT_OK);
    TEST_CHECK(same_solution(&s, b, x, 1, 5));

    TEST_CASE("factored");
    TEST_CHECK(is_named_error(icf_sparse_add_diagonal(&s, 0, block, 4)));
    TEST_CHECK(is_named_error(icf_sparse_add_edge(&s, 0, block, 4)));
    TEST_CHECK(same_solution(&s, b, x, 1, 5));
    icf_sparse_factor(&s, &pivot); /* an error or nothing, but no harm */
    TEST_CHECK(same_solution(&s, b, x, 1, 5));

    TEST_CASE("bound again");
    memset(factor, 0xFF, o.factor_bytes);
    TEST_CHECK(icf_sparse_bind(&s, ICF_SPARSE_PARTIAL, factor, o.factor_bytes) == ICF_RESULT_OK);
    TEST_CHECK(refuses(&s, ICF_RESULT_NO_FACTOR, 5));
    TEST_CHECK(refactor(&s, &v, NULL) == ICF_RESULT_OK);
    TEST_CHECK(same_solution(&s, b, x, 1, 5));
    TEST_CASE(NULL);

    object_close(&o);
    free(pattern);
    free(factor);
    free(b);
    free(x);
    values_free(&v);
    graph_free(&g);
}

#ifndef ICF_NO_MALLOC

/* Memory of the library's own: the same bits; given back, and nothing held, when something is wrong. */
static void test_create_in_own_memory(void)
{
    int trial;
    for (trial = 0; trial < 26; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        icf_sparse s;
        graph g;
        values v;
        icf_real *b, *x;
        int32_t n;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % ALL_EMPTY, 20, trial % 2);
        v = values_dominant(&g);
        n = g.unknowns;
        b = random_vector(n, 1, n);
        x = fresh_answer(&g, &v, b, 1);
        memset(&s, 0xFF, sizeof s); /* needs no preparation */
        if (TEST_CHECK(icf_sparse_create(&s, modes[trial % 2], g.cliques, g.sizes, g.edges,
                                         g.pairs) == ICF_RESULT_OK)) {
            TEST_CHECK(refactor(&s, &v, NULL) == ICF_RESULT_OK);
            TEST_CHECK_(same_solution(&s, b, x, 1, n), "seed %u", (unsigned)seed);
        }
        icf_sparse_destroy(&s);
        icf_sparse_destroy(&s);
        TEST_CHECK(is_named_error(icf_sparse_begin(&s)));
        if (g.edges) {
            g.pairs[0] = g.cliques;
            TEST_CHECK(icf_sparse_create(&s, modes[trial % 2], g.cliques, g.sizes, g.edges,
                                         g.pairs) == ICF_RESULT_BAD_ARGUMENT);
            icf_sparse_destroy(&s);
        }
        free(b);
        free(x);
        values_free(&v);
        graph_free(&g);
    }
    icf_sparse_destroy(NULL);
}

#endif

/* Counts and sizes beyond every memory: named, or a size that no memory has, and no crash. */
static void test_overflow_is_named(void)
{
    enum { COUNTS = 8 };
    static const int32_t counts[COUNTS] = {0,       1,       1000,          1 << 20,
                                           1 << 28, 3 << 29, INT32_MAX - 1, INT32_MAX};
    icf_sparse s;
    int32_t sizes[4], pairs[6] = {0, 1, 1, 2, 2, 3};
    size_t bytes = icf_sparse_pattern_bytes(4, 3), need;
    unsigned char* memory = memory_new(bytes, 0xFF);
    int a, b, c;
    /* 0 when the size does not fit; else at least what the lists alone take */
    for (a = 0; a < COUNTS; a++) {
        for (b = 0; b < COUNTS; b++) {
            double least = 4.0 * counts[a] + 8.0 * counts[b];
            if (counts[a] < 2 && counts[b] > 0) continue; /* there are no such graphs */
            need = icf_sparse_pattern_bytes(counts[a], counts[b]);
            TEST_CHECK_(need == 0 ? least >= 4e8 || least == 0 : (double)need >= least,
                        "%d cliques, %d edges: %g", (int)counts[a], (int)counts[b], (double)need);
            for (c = 0; c < COUNTS * MODES; c++) {
                icf_sparse_mode mode = modes[c / COUNTS];
                double n = counts[c % COUNTS], all = n * counts[a];
                double most = all * all * (mode == ICF_SPARSE_PARTIAL ? counts[a] : 1);
                most += 1.0 * counts[a] * counts[a] + 1.0 * counts[b] * counts[b];
                need = icf_sparse_bytes_most(counts[a], counts[b], counts[c % COUNTS], mode);
                least = all * (double)sizeof(icf_real);
                if (counts[a] == 1) least *= (n + 1) / 2;
                TEST_CHECK_(need == 0 ? most >= 4e8 || all == 0 : (double)need >= least,
                            "%d cliques up to %d, %d edges, mode %d: %g", (int)counts[a],
                            (int)counts[c % COUNTS], (int)counts[b], (int)mode, (double)need);
            }
        }
    }
    TEST_CHECK(icf_sparse_pattern_bytes(-1, 0) == 0);
    TEST_CHECK(icf_sparse_pattern_bytes(0, -1) == 0);
    TEST_CHECK(icf_sparse_bytes_most(-1, 0, 0, ICF_SPARSE_FULL) == 0);
    TEST_CHECK(icf_sparse_bytes_most(0, -1, 0, ICF_SPARSE_PARTIAL) == 0);
    TEST_CHECK(icf_sparse_bytes_most(0, 0, -1, ICF_SPARSE_ITERATIVE) == 0);

    memset(&s, 0, sizeof s);
    for (a = 0; a < 4; a++) {
        static const int32_t too_many[4][4] = {
            {INT32_MAX, 1,         0,         0        },
            {1 << 30,   1 << 30,   0,         0        },
            {1,         2,         3,         INT32_MAX},
            {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}
        };
        memcpy(sizes, too_many[a], sizeof sizes);
        TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, 4, sizes, 3, pairs) ==
                   ICF_RESULT_OVERFLOW);
        TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, 4, sizes, 0, NULL) == ICF_RESULT_OVERFLOW);
    }
    for (a = 0; a < 4; a++) {
        /* the unknowns can be counted; the factor, 10^12 numbers and more, may be */
        static const int32_t many[4][4] = {
            {INT32_MAX, 0,       0,       0      },
            {1 << 24,   1 << 24, 1 << 24, 1 << 24},
            {1000000,   1000000, 1000000, 1000000},
            {46341,     46341,   46341,   46341  }
        };
        icf_result result;
        memcpy(sizes, many[a], sizeof sizes);
        result = icf_sparse_analyze(&s, memory, bytes, 4, sizes, 3, pairs);
        TEST_CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_OVERFLOW);
        if (result == ICF_RESULT_OK) {
            double n = sizes[1] ? (double)sizes[0] + sizes[1] : sizes[0];
            TEST_CHECK(s.flops >= n * n * n / 3.01);
            for (c = 0; c < MODES; c++) {
                double least = n * n / 2 * (double)sizeof(icf_real);
                need = icf_sparse_bytes(&s, modes[c]);
                TEST_CHECK_(need == 0 || (double)need >= least, "mode %d: %g", (int)c,
                            (double)need);
                result = icf_sparse_bind(&s, modes[c], memory, 64);
                TEST_CHECK(result == ICF_RESULT_OVERFLOW ||
                           (need != 0 && result == ICF_RESULT_TOO_SMALL));
            }
            TEST_CHECK(is_named_error(icf_sparse_begin(&s)));
        }
    }
    TEST_CHECK(memory_is(memory + bytes, UNTOUCHED, CANARY));
    free(memory);
}

// ------------------------------------------------------------------------------------------------
// Conjugate gradients

static double relative_residual(const graph* g, const values* v, const icf_real* x,
                                const icf_real* b)
{
    int32_t n = g->unknowns, i;
    long double* r = (long double*)unwritten((size_t)n, sizeof(long double));
    long double rr = 0, bb = 0;
    residual(g, v, x, b, r, NULL);
    for (i = 0; i < n; i++) {
        rr += r[i] * r[i];
        bb += (long double)b[i] * (long double)b[i];
    }
    free(r);
    return bb > 0 ? sqrt((double)(rr / bb)) : sqrt((double)rr);
}

static void test_conjugate_gradients(void)
{
    double wanted = IN_FLOAT ? 5e-3 : 1e-9; /* well above where rounding ends it */
    int trial, iterations = 0;
    for (trial = 0; trial < 65; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        graph g;
        values v;
        icf_sparse s;
        size_t bytes;
        unsigned char *pattern, *memory;
        icf_real *b, *x;
        int32_t n, rhs = 1 + trial % 3, r;
        int held = 1, round;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % LAYOUTS, 30, trial % 2);
        v = trial % 2 ? values_contact(&g) : values_dominant(&g);
        n = g.unknowns;
        memset(&s, 0, sizeof s);
        bytes = icf_sparse_pattern_bytes(g.cliques, g.edges);
        pattern = memory_new(bytes, 0xFF);
        held &= TEST_CHECK(analyze(&s, pattern, bytes, &g) == ICF_RESULT_OK);
        bytes = icf_sparse_bytes(&s, ICF_SPARSE_ITERATIVE);
        memory = memory_new(bytes, 0xFF);
        held &=
            TEST_CHECK(icf_sparse_bind(&s, ICF_SPARSE_ITERATIVE, memory, bytes) == ICF_RESULT_OK);
        s.tolerance = (icf_real)wanted;
        s.budget = 10 * n + 10;
        held &= TEST_CHECK(refuses(&s, ICF_RESULT_NO_FACTOR, n));
        b = random_vector(n, rhs, n);
        x = (icf_real*)unwritten((size_t)n * (size_t)rhs, sizeof(icf_real));
        for (round = 0; round < 2; round++) {
            if (round) {
                /* blocks changed, and only those are said to have */
                int32_t c = g.cliques ? random_below(g.cliques) : 0, k;
                icf_result result;
                for (k = 0; k < v.count; k++) {
                    if (!v.items[k].is_edge && v.items[k].index == c)
                        change_item(&v, &v, &v.items[k]);
                }
                result = icf_sparse_begin_partial(&s, g.cliques ? 1 : 0, &c);
                if (result == ICF_RESULT_OK) {
                    held &=
                        TEST_CHECK(add_values(&s, &v, trial % ADD_MODES, NULL) == ICF_RESULT_OK);
                    held &= TEST_CHECK(icf_sparse_factor(&s, NULL) == ICF_RESULT_OK);
                } else {
                    held &= TEST_CHECK(is_named_error(result));
                    held &= TEST_CHECK(refactor(&s, &v, NULL) == ICF_RESULT_OK);
                }
            } else {
                held &= TEST_CHECK(refactor(&s, &v, NULL) == ICF_RESULT_OK);
            }
            memcpy(x, b, (size_t)n * (size_t)rhs * sizeof(icf_real));
            held &= TEST_CHECK(icf_sparse_solve(&s, x, rhs, n) == ICF_RESULT_OK);
            held &= TEST_CHECK(s.residual <= (icf_real)wanted);
            for (r = 0; r < rhs; r++) {
                double left =
                    relative_residual(&g, &v, x + (size_t)r * (size_t)n, b + (size_t)r * (size_t)n);
                held &= TEST_CHECK_(left <= 10 * wanted, "residual %g for %g", left, wanted);
            }
            iterations += s.iterations;
        }
        /* nothing on the right is nothing to do */
        for (r = 0; r < n; r++) x[r] = 0;
        held &= TEST_CHECK(icf_sparse_solve(&s, x, 1, n) == ICF_RESULT_OK);
        for (r = 0; r < n; r++) held &= x[r] == 0;
        held &= TEST_CHECK(memory_is(memory + bytes, UNTOUCHED, CANARY));
        TEST_CHECK_(held, "%s of blocks %s, trial %d, seed %u", family_names[trial % FAMILIES],
                    layout_names[trial % LAYOUTS], trial, (unsigned)seed);
        free(pattern);
        free(memory);
        free(b);
        free(x);
        values_free(&v);
        graph_free(&g);
    }
    TEST_CHECK_(iterations > 300, "%d", iterations);
}

/* A budget of a few iterations does not do for a long chain: it says so, and what there is is an improvement. */
static void test_iterative_budget(void)
{
    int budget;
    double before = 0;
    for (budget = 1; budget <= 8; budget *= 2) {
        graph g;
        values v;
        icf_sparse s;
        size_t bytes;
        unsigned char *pattern, *memory;
        icf_real *b, *x;
        long double* r;
        double energy = 0;
        int32_t n, i;
        random_seed(SEED);
        g = graph_of(CHAIN, 60);
        graph_layout(&g, SIXES);
        v = values_contact(&g);
        n = g.unknowns;
        memset(&s, 0, sizeof s);
        bytes = icf_sparse_pattern_bytes(g.cliques, g.edges);
        pattern = memory_new(bytes, 0xFF);
        TEST_CHECK(analyze(&s, pattern, bytes, &g) == ICF_RESULT_OK);
        bytes = icf_sparse_bytes(&s, ICF_SPARSE_ITERATIVE);
        memory = memory_new(bytes, 0xFF);
        TEST_CHECK(icf_sparse_bind(&s, ICF_SPARSE_ITERATIVE, memory, bytes) == ICF_RESULT_OK);
        s.budget = budget;
        TEST_CHECK(refactor(&s, &v, NULL) == ICF_RESULT_OK);
        b = random_vector(n, 1, n);
        x = (icf_real*)unwritten((size_t)n, sizeof(icf_real));
        r = (long double*)unwritten((size_t)n, sizeof(long double));
        memcpy(x, b, (size_t)n * sizeof(icf_real));
        TEST_CHECK(icf_sparse_solve(&s, x, 1, n) == ICF_RESULT_NOT_CONVERGED);
        TEST_CHECK_(s.iterations == budget, "%d for %d", (int)s.iterations, budget);
        TEST_CHECK(s.residual > s.tolerance && s.residual < 1000);
        /* x'Ax / 2 - b'x, which is zero at x = 0 and falls with each iteration */
        residual(&g, &v, x, b, r, NULL);
        for (i = 0; i < n; i++) energy -= 0.5 * (double)x[i] * (double)(r[i] + (long double)b[i]);
        TEST_CHECK_(energy < before, "budget %d: %g after %g", budget, energy, before);
        before = energy;
        free(pattern);
        free(memory);
        free(b);
        free(x);
        free(r);
        values_free(&v);
        graph_free(&g);
    }
}

/* From one way to the other and back: each gives what it gave. And what is not positive definite is not
   answered with OK by either. */
static void test_iterative_and_back(void)
{
    object o;
    graph g;
    values v = open_small(&o, &g, ICF_SPARSE_PARTIAL);
    icf_real *b = random_vector(5, 1, 5), *x = (icf_real*)unwritten(5, sizeof(icf_real)), *y, kept;
    size_t bytes = icf_sparse_bytes(&o.s, ICF_SPARSE_ITERATIVE);
    unsigned char* memory = memory_new(bytes, 0xFF);
    int32_t pivot, p;
    icf_result result;
    int k;
    y = (icf_real*)unwritten(5, sizeof(icf_real));
    memcpy(x, b, 5 * sizeof(icf_real));
    TEST_CHECK(icf_sparse_solve(&o.s, x, 1, 5) == ICF_RESULT_OK);
    for (k = 0; k < 3; k++) {
        TEST_CHECK(icf_sparse_bind(&o.s, ICF_SPARSE_ITERATIVE, memory, bytes) == ICF_RESULT_OK);
        TEST_CHECK(refuses(&o.s, ICF_RESULT_NO_FACTOR, 5));
        TEST_CHECK(refactor(&o.s, &v, NULL) == ICF_RESULT_OK);
        memcpy(y, b, 5 * sizeof(icf_real));
        TEST_CHECK(icf_sparse_solve(&o.s, y, 1, 5) == ICF_RESULT_OK);
        TEST_CHECK(relative_residual(&g, &v, y, b) <= EPS * 1000);
        for (p = 0; p < 5; p++) {
            icf_real* entry =
                item_at(&v, &v.items[p < 2 ? 1 : 2], p < 2 ? p : p - 2, p < 2 ? p : p - 2);
            kept = *entry;
            *entry = -kept;
            pivot = -7;
            TEST_CHECK(refactor(&o.s, &v, &pivot) == ICF_RESULT_NOT_SPD && pivot == p);
            TEST_CHECK(refuses(&o.s, ICF_RESULT_NO_FACTOR, 5));
            *entry = kept;
        }
        /* indefinite with good diagonal blocks: found, or else not in the way */
        for (p = 0; p < 6; p++)
            v.data[v.items[0].at + (size_t)(p % 3 + p / 3 * v.items[0].ld)] *= 1024;
        TEST_CHECK(refactor(&o.s, &v, &pivot) == ICF_RESULT_OK);
        memcpy(y, b, 5 * sizeof(icf_real));
        result = icf_sparse_solve(&o.s, y, 1, 5);
        TEST_CHECK(is_named_error(result) || relative_residual(&g, &v, y, b) <= EPS * 1e6);
        for (p = 0; p < 5; p++) TEST_CHECK(y[p] == y[p] && magnitude((double)y[p]) <= 1e30);
        TEST_CHECK(icf_sparse_bind(&o.s, ICF_SPARSE_PARTIAL, o.factor, o.factor_bytes) ==
                   ICF_RESULT_OK);
        TEST_CHECK(refactor(&o.s, &v, &pivot) == ICF_RESULT_NOT_SPD);
        for (p = 0; p < 6; p++)
            v.data[v.items[0].at + (size_t)(p % 3 + p / 3 * v.items[0].ld)] /= 1024;
        TEST_CHECK(icf_sparse_bind(&o.s, ICF_SPARSE_PARTIAL, o.factor, o.factor_bytes) ==
                   ICF_RESULT_OK);
        TEST_CHECK(refuses(&o.s, ICF_RESULT_NO_FACTOR, 5));
        TEST_CHECK(refactor(&o.s, &v, NULL) == ICF_RESULT_OK);
        TEST_CHECK(same_solution(&o.s, b, x, 1, 5));
    }
    TEST_CHECK(memory_is(memory + bytes, UNTOUCHED, CANARY));
    object_close(&o);
    free(memory);
    free(b);
    free(x);
    free(y);
    values_free(&v);
    graph_free(&g);
}

/* A singular matrix and a right-hand side in its kernel: the first direction has no curvature. */
static void test_iterative_singular(void)
{
    object o;
    graph g = graph_new(2);
    icf_real one[1], x[2];
    graph_link(&g, 0, 1);
    graph_number(&g);
    one[0] = 1;
    x[0] = 1;
    x[1] = -1;
    if (object_open(&o, &g, ICF_SPARSE_ITERATIVE, 0xFF)) {
        TEST_CHECK(icf_sparse_begin(&o.s) == ICF_RESULT_OK);
        TEST_CHECK(icf_sparse_add_diagonal(&o.s, 0, one, 1) == ICF_RESULT_OK);
        TEST_CHECK(icf_sparse_add_diagonal(&o.s, 1, one, 1) == ICF_RESULT_OK);
        TEST_CHECK(icf_sparse_add_edge(&o.s, 0, one, 1) == ICF_RESULT_OK);
        TEST_CHECK(icf_sparse_factor(&o.s, NULL) == ICF_RESULT_OK);
        TEST_CHECK(is_named_error(icf_sparse_solve(&o.s, x, 1, 2)));
        TEST_CHECK(magnitude((double)x[0]) <= 1e30 && magnitude((double)x[1]) <= 1e30);
    }
    object_close(&o);
    graph_free(&g);
}

// ------------------------------------------------------------------------------------------------
// The ordering

/* Exact minimum degree on explicit sets: the clique whose neighbours have the fewest unknowns goes next,
   the lowest of equals. Cliques without unknowns are left out. */
static double reference_flops(const graph* g)
{
    int32_t n = g->cliques, step, i, j, e;
    char* linked = (char*)unwritten((size_t)n * (size_t)n, 1);
    int32_t* degree = (int32_t*)unwritten((size_t)n, sizeof(int32_t));
    int32_t* near = (int32_t*)unwritten((size_t)n, sizeof(int32_t));
    double flops = 0;
    memset(linked, 0, (size_t)n * (size_t)n);
    for (e = 0; e < g->edges; e++) {
        int32_t a = g->pairs[2 * e], b = g->pairs[2 * e + 1];
        if (g->sizes[a] && g->sizes[b]) linked[a * n + b] = linked[b * n + a] = 1;
    }
    for (i = 0; i < n; i++) {
        degree[i] = g->sizes[i] ? 0 : -1;
        for (j = 0; j < n; j++) degree[i] += linked[i * n + j] ? g->sizes[j] : 0;
    }
    for (step = 0; step < n; step++) {
        int32_t best = -1, count = 0;
        for (i = 0; i < n; i++) {
            if (degree[i] >= 0 && (best < 0 || degree[i] < degree[best])) best = i;
        }
        if (best < 0) break;
        flops += block_flops(g->sizes[best], degree[best]);
        for (j = 0; j < n; j++) {
            if (linked[best * n + j]) near[count++] = j;
            linked[best * n + j] = linked[j * n + best] = 0;
        }
        degree[best] = -1;
        for (i = 0; i < count; i++) {
            for (j = 0; j < count; j++) linked[near[i] * n + near[j]] = i != j;
        }
        for (i = 0; i < count; i++) {
            degree[near[i]] = 0;
            for (j = 0; j < n; j++) degree[near[i]] += linked[near[i] * n + j] ? g->sizes[j] : 0;
        }
    }
    free(linked);
    free(degree);
    free(near);
    return flops;
}

static double analyzed_flops(const graph* g)
{
    icf_sparse s;
    size_t bytes = icf_sparse_pattern_bytes(g->cliques, g->edges);
    unsigned char* memory = memory_new(bytes, 0xFF);
    double flops;
    memset(&s, 0, sizeof s);
    TEST_CHECK(analyze(&s, memory, bytes, g) == ICF_RESULT_OK);
    flops = s.flops;
    free(memory);
    return flops;
}

static void test_order_fills_little(void)
{
    int family, layout, trial, count = 0, filled = 0;
    double sum = 0, worst = 0;
    for (family = THIN; family < FAMILIES; family++) {
        for (layout = 0; layout < LAYOUTS; layout++) {
            for (trial = 0; trial < 3; trial++) {
                uint32_t seed = SEED + (uint32_t)((family * LAYOUTS + layout) * 3 + trial);
                graph g;
                double flops, reference;
                if (layout == WITH_EMPTY || layout == ALL_EMPTY) continue;
                random_seed(seed);
                g = graph_random(family, layout, 150, trial == 1);
                flops = analyzed_flops(&g);
                reference = reference_flops(&g);
                if (g.cliques) {
                    double ratio = flops / reference;
                    TEST_CHECK_(ratio <= 1.5,
                                "%s of blocks %s, %d cliques: %g flops for %g, seed %u",
                                family_names[family], layout_names[layout], (int)g.cliques, flops,
                                reference, (unsigned)seed);
                    sum += ratio;
                    if (worst < ratio) worst = ratio;
                    count++;
                    filled += g.edges > 2 * g.cliques;
                }
                graph_free(&g);
            }
        }
    }
    TEST_CHECK_(sum <= 1.10 * count, "mean %g of %d, worst %g", sum / count, count, worst);
    TEST_CHECK(count >= 180 && filled >= 20);
}

/* The number of an ordering: on graphs of at most six cliques, all are tried. */
static double order_flops(const graph* g, const int32_t* order, const int32_t* links)
{
    int32_t left[6], k, i;
    double flops = 0;
    memcpy(left, links, sizeof left);
    for (k = 0; k < g->cliques; k++) {
        int32_t v = order[k], ext = 0;
        for (i = 0; i < g->cliques; i++) {
            if (left[v] >> i & 1) {
                ext += g->sizes[i];
                left[i] = (left[i] | left[v]) & ~(1 << i) & ~(1 << v);
            }
        }
        flops += block_flops(g->sizes[v], ext);
    }
    return flops;
}

static void test_flops_of_some_order(void)
{
    int trial;
    for (trial = 0; trial < 200; trial++) {
        uint32_t seed = SEED + (uint32_t)trial;
        int32_t order[6], links[6] = {0}, turns[6] = {0}, e, i;
        double flops, best = -1, f;
        int found = 0;
        graph g;
        random_seed(seed);
        g = graph_random(trial % FAMILIES, trial % LAYOUTS, 6, trial % 2);
        flops = analyzed_flops(&g);
        for (e = 0; e < g.edges; e++) {
            links[g.pairs[2 * e]] |= 1 << g.pairs[2 * e + 1];
            links[g.pairs[2 * e + 1]] |= 1 << g.pairs[2 * e];
        }
        for (i = 0; i < 6; i++) order[i] = i;
        best = f = order_flops(&g, order, links);
        found = f == flops;
        /* Heap's algorithm */
        for (i = 1; i < g.cliques;) {
            if (turns[i] < i) {
                int32_t j = i % 2 ? turns[i] : 0, t = order[j];
                order[j] = order[i];
                order[i] = t;
                f = order_flops(&g, order, links);
                found |= f == flops;
                if (f < best) best = f;
                turns[i]++;
                i = 1;
            } else {
                turns[i++] = 0;
            }
        }
        TEST_CHECK_(found, "no ordering has %g flops; the best has %g; trial %d, seed %u", flops,
                    best, trial, (unsigned)seed);
        TEST_CHECK_(flops <= 1.5 * best + 1, "%g flops for %g, trial %d, seed %u", flops, best,
                    trial, (unsigned)seed);
        graph_free(&g);
    }
}

/* The numbers of an order of elimination, on explicit sets */
static double flops_in_order(const graph* g, const int32_t* order)
{
    const size_t n = (size_t)g->cliques;
    char* linked = (char*)unwritten(n * n, 1);
    int32_t* near = (int32_t*)unwritten(n, sizeof(int32_t));
    double flops = 0;
    size_t i, j, k;
    memset(linked, 0, n * n);
    for (i = 0; i < (size_t)g->edges; i++) {
        const size_t a = (size_t)g->pairs[2 * i], b = (size_t)g->pairs[2 * i + 1];
        linked[a * n + b] = linked[b * n + a] = 1;
    }
    for (k = 0; k < n; k++) {
        const size_t v = (size_t)order[k];
        int32_t ext = 0, count = 0;
        for (i = 0; i < n; i++) {
            if (!linked[v * n + i]) continue;
            near[count++] = (int32_t)i;
            ext += g->sizes[i];
            linked[i * n + v] = 0;
        }
        flops += block_flops(g->sizes[v], ext);
        for (i = 0; i < (size_t)count; i++) {
            for (j = 0; j < i; j++) {
                linked[(size_t)near[i] * n + (size_t)near[j]] = 1;
                linked[(size_t)near[j] * n + (size_t)near[i]] = 1;
            }
        }
    }
    free(linked);
    free(near);
    return flops;
}

/* Puts the part of a grid from low to high, of sides `side`, at the end of an order: both halves along the
   longest side, and then the plane between them. */
static void cut_grid(const int32_t side[3], const int32_t low[3], const int32_t high[3],
                     int32_t* order, int32_t* done)
{
    int32_t k, longest = 0, end[3], begin[3], middle;
    for (k = 0; k < 3; k++) {
        if (low[k] >= high[k]) return;
        if (high[k] - low[k] > high[longest] - low[longest]) longest = k;
        begin[k] = low[k];
        end[k] = high[k];
    }
    middle = (low[longest] + high[longest]) / 2;
    if (high[longest] - low[longest] == 1) {
        order[(*done)++] = low[0] + side[0] * (low[1] + side[1] * low[2]);
        return;
    }
    end[longest] = middle;
    cut_grid(side, low, end, order, done);
    begin[longest] = middle + 1;
    cut_grid(side, begin, high, order, done);
    begin[longest] = middle;
    end[longest] = middle + 1;
    cut_grid(side, begin, end, order, done);
}

/* Grids, whose cliques are named in order or at random, take less than if they are cut in halves by planes,
   again and again: on the mean a part that is a little above what was measured. */
static void test_order_of_grids(void)
{
    enum { NAMES = 4 };
    static const struct {
        int32_t side[3];
        double most;
    } grids[] = {
        {{30, 30, 1},  0.68},
        {{48, 48, 1},  0.68},
        {{20, 100, 1}, 0.55},
        {{10, 10, 10}, 0.52},
        {{12, 12, 12}, 0.52},
        {{8, 12, 16},  0.62},
    };
    int32_t i, k;
    random_seed(SEED);
    for (i = 0; i < 6; i++) {
        const int32_t *side = grids[i].side, low[3] = {0, 0, 0}, n = side[0] * side[1] * side[2];
        int32_t* order = (int32_t*)unwritten((size_t)n, sizeof(int32_t));
        int32_t done = 0;
        double by_planes, sum = 0;
        graph g = graph_new(n);
        link_grid(&g, side[0], side[1]);
        graph_layout(&g, i % 2 ? SIXES : THREES);
        cut_grid(side, low, side, order, &done);
        TEST_ASSERT(done == n);
        by_planes = flops_in_order(&g, order);
        for (k = 0; k < NAMES; k++) {
            sum += analyzed_flops(&g);
            graph_rename(&g);
        }
        TEST_CHECK_(sum <= grids[i].most * NAMES * by_planes, "grid %d: %g of %g flops, seed %u",
                    (int)i, sum / NAMES, by_planes, (unsigned)SEED);
        graph_free(&g);
        free(order);
    }
}

/* Sizes whose sums come near the largest int32_t: an octahedron, with three small ones at a corner. Fronts
   of that size may be too large for the library, but that it says. */
static void test_huge_blocks(void)
{
    icf_sparse s;
    icf_result result;
    size_t bytes;
    unsigned char* memory;
    graph g = graph_new(9);
    int32_t i, j;
    for (i = 3; i < 9; i++) {
        g.sizes[i] = 350000000;
        for (j = 3; j < i; j++) {
            if (j + 3 != i) graph_link(&g, i, j);
        }
    }
    for (i = 0; i < 3; i++) graph_link(&g, i, 3);
    graph_number(&g);
    bytes = icf_sparse_pattern_bytes(g.cliques, g.edges);
    memory = memory_new(bytes, 0xFF);
    memset(&s, 0, sizeof s);
    result = analyze(&s, memory, bytes, &g);
    TEST_CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_OVERFLOW);
    if (result == ICF_RESULT_OK) TEST_CHECK(s.flops > 1.74e9 * 1.74e9 * 1.74e9 / 3.01);
    TEST_CHECK(memory_is(memory + bytes, UNTOUCHED, CANARY));
    free(memory);
    graph_free(&g);
}

// ------------------------------------------------------------------------------------------------
// Large ones

static double seconds_now(void)
{
#ifdef TEST_NO_OS
    return 0;
#else
    return (double)clock() / (double)CLOCKS_PER_SEC;
#endif
}

/* Analysed in well under the time that anything quadratic would take, solved, and partly refactored. */
static void check_large(const char* name, graph* g, double most_wanted)
{
    object o;
    values v;
    icf_real *b, *x;
    int32_t n, changed, skipped = 0;
    size_t bytes;
    double start, seconds, error;
    icf_sparse s;
    unsigned char* memory;
    TEST_CASE(name);
    graph_number(g);
    n = g->unknowns;

    memset(&s, 0, sizeof s);
    bytes = icf_sparse_pattern_bytes(g->cliques, g->edges);
    memory = memory_new(bytes, 0xFF);
    start = seconds_now();
    TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, g->cliques, g->sizes, g->edges, g->pairs) ==
               ICF_RESULT_OK);
    seconds = seconds_now() - start;
    TEST_CHECK_(seconds < 2, "%g s", seconds);
    start = seconds_now();
    TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, g->cliques, g->sizes, g->edges, g->pairs) ==
               ICF_RESULT_OK);
    seconds = seconds_now() - start;
    TEST_CHECK_(seconds < 1, "recognised: %g s", seconds);
    free(memory);

    v = values_dominant(g);
    b = random_vector(n, 1, n);
    x = (icf_real*)unwritten((size_t)n, sizeof(icf_real));
    memcpy(x, b, (size_t)n * sizeof(icf_real));
    if (object_open(&o, g, ICF_SPARSE_PARTIAL, 0xFF)) {
        TEST_CHECK(o.s.components == graph_components(g, 1));
        TEST_CHECK(refactor(&o.s, &v, NULL) == ICF_RESULT_OK);
        TEST_CHECK(icf_sparse_solve(&o.s, x, 1, n) == ICF_RESULT_OK);
        error = backward_error(g, &v, x, b);
        TEST_CHECK_(error <= tolerance(100), "backward error %g", error);
        changed = g->cliques / 3;
        TEST_CHECK(icf_sparse_begin_partial(&o.s, 1, &changed) == ICF_RESULT_OK);
        TEST_CHECK(add_values(&o.s, &v, ADD_GARBAGE, &skipped) == ICF_RESULT_OK);
        TEST_CHECK(icf_sparse_factor(&o.s, NULL) == ICF_RESULT_OK);
        TEST_CHECK(same_solution(&o.s, b, x, 1, n));
        TEST_CHECK_(v.count - skipped <= most_wanted * v.count, "%d of %d wanted",
                    (int)(v.count - skipped), (int)v.count);
    }
    object_close(&o);
    free(b);
    free(x);
    values_free(&v);
    graph_free(g);
    TEST_CASE(NULL);
}

static void test_large_graphs(void)
{
    graph g;
    int32_t i;
    random_seed(SEED);

    g = graph_of(CHAIN, 10000);
    graph_layout(&g, THREES);
    check_large("chain of 10000", &g, 0.9);
    g = graph_of(CHAIN, 10000);
    graph_rename(&g);
    graph_layout(&g, SMALL);
    check_large("chain of 10000, renamed", &g, 0.9);
    g = graph_of(NO_EDGES, 10000);
    graph_layout(&g, SIXES);
    check_large("10000 islands", &g, 0.05);
    g = graph_new(10000);
    for (i = 0; i + 1 < 10000; i += 2) graph_link(&g, i + 1, i);
    graph_layout(&g, THREES);
    check_large("5000 pairs", &g, 0.05);
    g = graph_of(STAR, 2001);
    graph_layout(&g, SIXES);
    check_large("star of 2000, hub first", &g, 0.5);
    g = graph_new(2001);
    for (i = 0; i < 2000; i++) graph_link(&g, i, 2000);
    graph_layout(&g, SMALL);
    check_large("star of 2000, hub last", &g, 0.5);
    g = graph_of(TREE, 5000);
    graph_layout(&g, ONES);
    check_large("tree of 5000", &g, 0.5);
    g = graph_of(CHAIN, 3000);
    for (i = 0; i < 20000; i++) graph_link(&g, i % 2999 + 1, i % 2999);
    graph_layout(&g, ONES);
    check_large("chain of 3000, edges repeated", &g, 0.9);
    g = graph_new(1600);
    link_grid(&g, 40, 40);
    graph_layout(&g, ONES);
    check_large("grid of 40 x 40", &g, 0.9);
}

TEST_LIST = {
    {"random_graphs",               test_random_graphs              },
    {"flops_of_known_shapes",       test_flops_of_known_shapes      },
    {"edge_order",                  test_edge_order                 },
    {"garbage_memory",              test_garbage_memory             },
    {"history_leaves_no_trace",     test_history_leaves_no_trace    },
    {"golden_bits",                 test_golden_bits                },
    {"partial_factor_same_bits",    test_partial_factor_same_bits   },
    {"partial_after_trouble",       test_partial_after_trouble      },
    {"not_spd",                     test_not_spd                    },
    {"not_finite",                  test_not_finite                 },
    {"same_pattern",                test_same_pattern               },
    {"sizes_are_enough_and_needed", test_sizes_are_enough_and_needed},
    {"bad_arguments_of_analyze",    test_bad_arguments_of_analyze   },
    {"bad_arguments_of_bind",       test_bad_arguments_of_bind      },
    {"bad_arguments_of_begin",      test_bad_arguments_of_begin     },
    {"bad_arguments_of_solve",      test_bad_arguments_of_solve     },
    {"bad_blocks_are_not_added",    test_bad_blocks_are_not_added   },
    {"huge_block_is_refused_whole", test_huge_block_is_refused_whole},
    {"no_lists",                    test_no_lists                   },
    {"order_of_calls",              test_order_of_calls             },
#ifndef ICF_NO_MALLOC
    {"create_in_own_memory",        test_create_in_own_memory       },
#endif
    {"overflow_is_named",           test_overflow_is_named          },
    {"conjugate_gradients",         test_conjugate_gradients        },
    {"iterative_budget",            test_iterative_budget           },
    {"iterative_and_back",          test_iterative_and_back         },
    {"iterative_singular",          test_iterative_singular         },
    {"order_fills_little",          test_order_fills_little         },
    {"flops_of_some_order",         test_flops_of_some_order        },
    {"order_of_grids",              test_order_of_grids             },
    {"huge_blocks",                 test_huge_blocks                },
    {"large_graphs",                test_large_graphs               },
    {NULL,                          NULL                            }
};
