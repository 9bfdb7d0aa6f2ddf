/* How fast are the dense and the block-sparse Cholesky, and against whom?

   Dense: factor and solve for the sizes of bodies and robots and some beyond. Sparse: the numeric
   refactorisation of contact graphs (blocks in, factor out, same pattern) and its phases: ordering and
   symbolic analysis, solves, a partial refactorisation after one body changed, and the same pattern seen
   again.

   All that is compared runs in one process and in turn, and the fastest of many short runs counts, in
   processor time of the thread. Every answer is checked; a peer whose answer is wrong does not count, and
   if one of ours is, the program says so and fails. A dense factorisation includes, for everybody, one
   copy of the matrix. Sparse peers find the matrix assembled, ours adds its blocks within the time.

   Options: those of bench.h, and --all: also the slow peers on the largest mesh, a second a run (--quick
   leaves them out on every mesh). */

#include "bench.h"

#define VARIANT cholesky_default
#include "variants/cholesky_variant.h"

#ifdef ICF_BENCH_VARIANTS
extern const cholesky_variant cholesky_sse2, cholesky_scalar, cholesky_fma;
#endif
#ifdef ICF_BENCH_PEERS
#include "peers/cholesky_peers.h"
#endif

enum { MOST_VARIANTS = 4, MOST_PEERS = 8, MOST_ORDERINGS = 8 };

// a stable factorisation of these matrices stays below 1e-15; this is far from it and far from wrong
static const double allowed_error = 1e-13;

static int failures;

static void fail(const char* where, const char* who, const char* what)
{
    printf("FAILED %s %s: %s\n", where, who, what);
    failures++;
}

// ------------------------------------------------------------------------------------------------
// Who takes part

static const char* variant_names[MOST_VARIANTS];
static const cholesky_variant* variants[MOST_VARIANTS];
static int variant_count;

static int machine_has(int fma)
{
#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
    return fma ? __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")
               : __builtin_cpu_supports("avx2") != 0;
#else
    (void)fma;
    return 0;
#endif
}

static void find_variants(void)
{
    variant_names[0] = machine_has(0) ? "avx2" : "default";
    variants[variant_count++] = &cholesky_default;
#ifdef ICF_BENCH_VARIANTS
    variant_names[variant_count] = "sse2";
    variants[variant_count++] = &cholesky_sse2;
    variant_names[variant_count] = "scalar";
    variants[variant_count++] = &cholesky_scalar;
    if (machine_has(1)) {
        variant_names[variant_count] = "fma";
        variants[variant_count++] = &cholesky_fma;
    }
#endif
}

static int starts_with(const char* text, const char* start)
{
    return !strncmp(text, start, strlen(start));
}

// least of the times that are there, among peers whose name starts so; 0 when there is none
static double best_time(const double* seconds, const char* const* names, int count,
                        const char* start)
{
    double best = 0;
    int i;
    for (i = 0; i < count; i++) {
        if (seconds[i] > 0 && (best <= 0 || seconds[i] < best) && starts_with(names[i], start))
            best = seconds[i];
    }
    return best;
}

// the peers that our targets name; the others are LDL
static double best_of_targets(const double* seconds, const char* const* names, int count)
{
    const double a = best_time(seconds, names, count, "cholmod"),
                 b = best_time(seconds, names, count, "eigen");
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

static void figure_versus(const char* name, double ours, const char* peer, double theirs)
{
    if (ours > 0 && theirs > 0) bench_figure(theirs / ours, "x", "%s_vs_%s", name, peer);
}

// in a column of the given width: three digits, or a dash for what was not measured
static void print_number(int width, double value)
{
    if (value <= 0)
        printf(" %*s", width, "-");
    else if (value < 10)
        printf(" %*.2f", width, value);
    else if (value < 100)
        printf(" %*.1f", width, value);
    else
        printf(" %*.0f", width, value);
}

// ------------------------------------------------------------------------------------------------
// Dense

typedef struct dense_job {
    const cholesky_variant* v;
    int32_t n;
    const double *a, *b;
    double *f, *x;
    int result;
    void* peer;
} dense_job;

static void run_dense_factor(void* context, long count)
{
    dense_job* j = (dense_job*)context;
    const int result = j->v->dense_factor(j->n, j->a, j->f, count);
    if (result) j->result = result;
}

static void run_dense_solve(void* context, long count)
{
    dense_job* j = (dense_job*)context;
    const int result = j->v->dense_solve(j->n, j->f, j->b, j->x, count);
    if (result) j->result = result;
}

#ifdef ICF_BENCH_PEERS
static void run_dense_peer_factor(void* context, long count)
{
    dense_job* j = (dense_job*)context;
    peers_dense_factor((peers_dense*)j->peer, count);
}

static void run_dense_peer_solve(void* context, long count)
{
    dense_job* j = (dense_job*)context;
    peers_dense_solve((peers_dense*)j->peer, j->b, j->x, count);
}
#endif

enum { DENSE_SIZES = 9 };
static const int32_t dense_sizes[DENSE_SIZES] = {3, 6, 12, 24, 36, 48, 96, 192, 384};

typedef struct dense_result {
    int32_t n;
    double factor[MOST_VARIANTS + MOST_PEERS], solve[MOST_VARIANTS + MOST_PEERS];
    double error[MOST_VARIANTS + MOST_PEERS]; // backward error
} dense_result;

static const char* dense_names[MOST_VARIANTS + MOST_PEERS];
static int dense_count; // ours, then peers

static dense_result measure_dense(int32_t n, const bench_options* o)
{
    const int repeat = o->repeat ? o->repeat : o->quick ? 40 : 200;
    const double budget = o->quick ? 0.15 : 2.0;
    dense_result r;
    bench_job jobs[MOST_VARIANTS + MOST_PEERS];
    dense_job each[MOST_VARIANTS + MOST_PEERS];
    graph g = graph_make(1, n);
    matrix m = matrix_make(&g);
    const double norm = matrix_norm(&m);
    double* b = (double*)graph_memory(NULL, (size_t)n, sizeof *b);
    char where[32];
    int i;
    memset(&r, 0, sizeof r);
    memset(jobs, 0, sizeof jobs);
    memset(each, 0, sizeof each);
    r.n = n;
    snprintf(where, sizeof where, "dense %d", (int)n);
    for (i = 0; i < n; i++) b[i] = 1 + i % 7;
    for (i = 0; i < dense_count; i++) {
        jobs[i].name = dense_names[i];
        jobs[i].context = &each[i];
        each[i].n = n;
        each[i].a = m.diagonal;
        each[i].b = b;
        each[i].f = (double*)graph_memory(NULL, (size_t)n * (size_t)n, sizeof(double));
        each[i].x = (double*)graph_memory(NULL, (size_t)n, sizeof(double));
        if (i < variant_count) {
            each[i].v = variants[i];
            jobs[i].run = run_dense_factor;
        }
#ifdef ICF_BENCH_PEERS
        if (i >= variant_count) {
            each[i].peer = peers_dense_open(i - variant_count, n, m.diagonal);
            if (each[i].peer) jobs[i].run = run_dense_peer_factor;
        }
#endif
    }
    bench_measure(jobs, dense_count, repeat, 5e-4, budget);
    for (i = 0; i < dense_count; i++) {
        r.factor[i] = jobs[i].seconds;
        if (i < variant_count) jobs[i].run = run_dense_solve;
#ifdef ICF_BENCH_PEERS
        else if (jobs[i].run)
            jobs[i].run = run_dense_peer_solve;
#endif
    }
    bench_measure(jobs, dense_count, repeat / 2 + 1, 5e-4, budget / 2);
    for (i = 0; i < dense_count; i++) {
        r.solve[i] = jobs[i].seconds;
        if (!jobs[i].run) continue;
        r.error[i] = matrix_backward_error(&m, norm, each[i].x, b);
        if (each[i].result) {
            fail(where, dense_names[i], icf_result_string((icf_result)each[i].result));
        } else if (r.error[i] <= allowed_error) {
            continue;
        } else if (i < variant_count) {
            fail(where, dense_names[i], "wrong answer");
        } else {
            printf("%s %s: wrong answer, does not count\n", where, dense_names[i]);
        }
        r.factor[i] = r.solve[i] = 0;
    }
    for (i = 1; i < variant_count; i++) {
        if (starts_with(variant_names[i], "fma") || each[0].result || each[i].result) continue;
        if (memcmp(each[0].x, each[i].x, (size_t)n * sizeof(double)))
            fail(where, variant_names[i], "other bits");
    }
    for (i = 0; i < dense_count; i++) {
        free(each[i].f);
        free(each[i].x);
#ifdef ICF_BENCH_PEERS
        if (each[i].peer) peers_dense_close((peers_dense*)each[i].peer);
#endif
    }
    free(b);
    matrix_free(&m);
    graph_free(&g);
    return r;
}

typedef enum dense_table {
    FACTOR_TIME,
    FACTOR_RATE,
    FACTOR_RATIO,
    SOLVE_TIME,
    SOLVE_RATIO,
    BACKWARD_ERROR
} dense_table;

static void print_dense(const char* title, const dense_result* r, int count, dense_table table)
{
    const int ratio = table == FACTOR_RATIO || table == SOLVE_RATIO,
              peers = dense_count - variant_count;
    const int columns = ratio ? variant_count : dense_count;
    int i, k;
    if (!count || (ratio && !peers)) return;
    printf("\n%s\n%5s", title, "n");
    for (i = 0; i < columns; i++) printf(" %16s", dense_names[i]);
    printf("\n");
    for (k = 0; k < count; k++) {
        const double* t = table == SOLVE_TIME || table == SOLVE_RATIO ? r[k].solve : r[k].factor;
        const double n = r[k].n,
                     best = best_time(t + variant_count, dense_names + variant_count, peers, "");
        printf("%5d", (int)r[k].n);
        for (i = 0; i < columns; i++) {
            if (t[i] <= 0)
                print_number(16, 0);
            else if (table == BACKWARD_ERROR)
                printf(" %16.1e", r[k].error[i]);
            else if (table == FACTOR_RATE)
                print_number(16, n * n * n / 3 / t[i] * 1e-9);
            else
                print_number(16, ratio ? best / t[i] : t[i] * 1e9);
        }
        printf("\n");
    }
}

static void figures_dense(const dense_result* r)
{
    const char* const* peer_names = dense_names + variant_count;
    const int peers = dense_count - variant_count;
    int i, solve;
    for (solve = 0; solve < 2; solve++) {
        const char* what = solve ? "solve" : "factor";
        const double* t = solve ? r->solve : r->factor;
        const double n = r->n;
        for (i = 0; i < dense_count; i++) {
            char name[64];
            if (t[i] <= 0) continue;
            snprintf(name, sizeof name, "dense_%s_%d_%s", what, (int)r->n, dense_names[i]);
            bench_figure(t[i] * 1e9, "ns", "%s", name);
            if (!solve) bench_figure(n * n * n / 3 / t[i] * 1e-9, "GF/s", "%s_rate", name);
            if (i >= variant_count) continue;
            figure_versus(name, t[i], "eigen",
                          best_time(t + variant_count, peer_names, peers, "eigen"));
            figure_versus(name, t[i], "openblas",
                          best_time(t + variant_count, peer_names, peers, "openblas"));
            figure_versus(name, t[i], "best", best_time(t + variant_count, peer_names, peers, ""));
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Sparse

typedef enum sparse_kind { CLUTTER, CHAIN, ISLANDS, ROBOT, FEM } sparse_kind;

/* mflop: the flops of the orderings behind the targets of our issue (the table "Sparse: numeric
   refactorization" of the measurements, column Mflop; for meshes dissection, and minimum degree beside it). */
typedef struct sparse_case {
    const char* name;
    sparse_kind kind;
    int32_t a, b, c;
    double mflop, mflop_degree;
    int quick;
} sparse_case;

static const sparse_case sparse_cases[] = {
    {"clutter_w4_8",       CLUTTER, 8,    4,  0,  0.003, 0,    1},
    {"clutter_w4_40",      CLUTTER, 40,   4,  0,  0.039, 0,    1},
    {"clutter_w4_80",      CLUTTER, 80,   4,  0,  0.17,  0,    0},
    {"clutter_w4_160",     CLUTTER, 160,  4,  0,  0.52,  0,    1},
    {"clutter_w4_320",     CLUTTER, 320,  4,  0,  0.82,  0,    1},
    {"clutter_w4_1000",    CLUTTER, 1000, 4,  0,  3.19,  0,    1},
    {"clutter_w4_3000",    CLUTTER, 3000, 4,  0,  8.30,  0,    0},
    {"clutter_w8_320",     CLUTTER, 320,  8,  0,  1.72,  0,    0},
    {"clutter_w8_1000",    CLUTTER, 1000, 8,  0,  12.0,  0,    1},
    {"clutter_w8_3000",    CLUTTER, 3000, 8,  0,  52.8,  0,    0},
    {"chain_10",           CHAIN,   10,   0,  0,  0.005, 0,    0},
    {"chain_40",           CHAIN,   40,   0,  0,  0.022, 0,    0},
    {"chain_160",          CHAIN,   160,  0,  0,  0.089, 0,    1},
    {"chain_1000",         CHAIN,   1000, 0,  0,  0.56,  0,    0},
    {"islands_160",        ISLANDS, 160,  0,  0,  0.015, 0,    1},
    {"islands_1000",       ISLANDS, 1000, 0,  0,  0.091, 0,    0},
    {"robot36_clutter_20", ROBOT,   20,   6,  0,  0.091, 0,    1},
    {"robot36_clutter_80", ROBOT,   80,   6,  0,  0.31,  0,    1},
    {"fem_10x10x10",       FEM,     10,   10, 10, 122,   187,  1},
    {"fem_14x14x15",       FEM,     14,   14, 15, 1201,  2043, 0},
};
enum { SPARSE_CASES = (int)(sizeof sparse_cases / sizeof *sparse_cases) };

static graph case_graph(const sparse_case* c)
{
    switch (c->kind) {
    case CLUTTER: return graph_clutter(c->a, c->b);
    case CHAIN: return graph_chain(c->a);
    case ISLANDS: return graph_islands(c->a);
    case ROBOT: return graph_robot(c->a, c->b);
    default: return graph_fem(c->a, c->b, c->c);
    }
}

// one object of ours and its memory
typedef struct ours {
    const cholesky_variant* v;
    icf_sparse s;
    icf_sparse_mode mode;
    void *pattern, *memory;
    size_t pattern_bytes, bytes;
    const matrix* m;
    const double* b;
    double* x;
    int32_t rhs, clique;
    int result;
} ours;

static int ours_open(ours* u, const cholesky_variant* v, const matrix* m, icf_sparse_mode mode)
{
    const graph* g = m->g;
    memset(u, 0, sizeof *u);
    u->v = v;
    u->m = m;
    u->mode = mode;
    u->pattern_bytes = v->pattern_bytes(g->cliques, g->edges);
    u->pattern = graph_memory(NULL, u->pattern_bytes, 1);
    u->result = v->analyze(&u->s, u->pattern, u->pattern_bytes, g, 1);
    if (u->result) return u->result;
    u->bytes = v->bytes(&u->s, mode);
    u->memory = graph_memory(NULL, u->bytes, 1);
    u->result = v->bind(&u->s, mode, u->memory, u->bytes, 1);
    if (!u->result) u->result = v->factor(&u->s, m, 1);
    return u->result;
}

static void ours_close(ours* u)
{
    free(u->pattern);
    free(u->memory);
    memset(u, 0, sizeof *u);
}

static void note(ours* u, int result)
{
    if (result) u->result = result;
}

static void run_factor(void* context, long count)
{
    ours* u = (ours*)context;
    note(u, u->v->factor(&u->s, u->m, count));
}

static void run_partial(void* context, long count)
{
    ours* u = (ours*)context;
    note(u, u->v->factor_partial(&u->s, u->m, u->clique, count));
}

static void run_solve(void* context, long count)
{
    ours* u = (ours*)context;
    note(u, u->v->solve(&u->s, u->b, u->x, u->rhs, count));
}

static void run_analyze(void* context, long count)
{
    ours* u = (ours*)context;
    note(u, u->v->analyze(&u->s, u->pattern, u->pattern_bytes, u->m->g, count));
}

static void run_analyze_again(void* context, long count)
{
    ours* u = (ours*)context;
    note(u, u->v->analyze_again(&u->s, u->pattern, u->pattern_bytes, u->m->g, count));
}

static void run_bind(void* context, long count)
{
    ours* u = (ours*)context;
    note(u, u->v->bind(&u->s, u->mode, u->memory, u->bytes, count));
}

typedef struct sparse_peer {
    void* peers;
    int solver;
    const double* b;
    double* x;
    int32_t rhs;
} sparse_peer;

#ifdef ICF_BENCH_PEERS
static void run_peer_factor(void* context, long count)
{
    sparse_peer* p = (sparse_peer*)context;
    peers_solver_factor((peers_sparse*)p->peers, p->solver, count);
}

static void run_peer_solve(void* context, long count)
{
    sparse_peer* p = (sparse_peer*)context;
    peers_solver_solve((peers_sparse*)p->peers, p->solver, p->b, p->x, p->rhs, count);
}
#endif

enum { MANY = 8 }; // right-hand sides at a time, beside one

typedef struct sparse_result {
    const sparse_case* of;
    int32_t unknowns, fronts, components;
    double bytes; // pattern and factor
    double flops;
    double factor[MOST_VARIANTS + MOST_PEERS]; // ours, then peers
    double solve[MOST_VARIANTS + MOST_PEERS];  // one right-hand side
    double many[MOST_VARIANTS + MOST_PEERS];
    double error; // largest of ours
    double analyze, bind, again;
    char ordering[MOST_PEERS][16]; // the best of each peer
    double analysis[MOST_PEERS];   // its ordering and symbolic phase
    double ordering_flops[MOST_ORDERINGS], ordering_seconds[MOST_ORDERINGS],
        symbolic_seconds[MOST_ORDERINGS];
} sparse_result;

static const char *solver_names[MOST_PEERS], *ordering_names[MOST_ORDERINGS];
static int solver_count, ordering_count;

static const char* solver_short_name(int i)
{
    return starts_with(solver_names[i], "cholmod_") ? solver_names[i] + 8 : solver_names[i];
}

static void print_sparse_header(void)
{
    int i;
    printf("\nsparse: numeric refactorisation, us; x: how many times faster than the best of "
           "CHOLMOD and Eigen;\n"
           "X: than the best of all peers, which is named with its ordering\n%-20s %6s %8s",
           "case", "n", "Mflop");
    for (i = 0; i < variant_count; i++) printf(" %8s", variant_names[i]);
    printf(" %7s", "error");
    for (i = 0; i < solver_count; i++) printf(" %12s", solver_short_name(i));
    for (i = 0; i < variant_count && solver_count; i++) printf(" %7.7s x", variant_names[i]);
    for (i = 0; i < variant_count && solver_count; i++) printf(" %7.7s X", variant_names[i]);
    printf("%s\n", solver_count ? "  best" : "");
}

static void print_sparse_row(const sparse_result* r)
{
    const double* peers = r->factor + variant_count;
    const double best = best_time(peers, solver_names, solver_count, "");
    const double target = best_of_targets(peers, solver_names, solver_count);
    int i;
    printf("%-20s %6d", r->of->name, (int)r->unknowns);
    print_number(8, r->flops * 1e-6);
    for (i = 0; i < variant_count; i++) print_number(8, r->factor[i] * 1e6);
    printf(" %7.1e", r->error);
    for (i = 0; i < solver_count; i++) print_number(12, peers[i] * 1e6);
    for (i = 0; i < variant_count && solver_count; i++)
        print_number(9, r->factor[i] > 0 ? target / r->factor[i] : 0);
    for (i = 0; i < variant_count && solver_count; i++)
        print_number(9, r->factor[i] > 0 ? best / r->factor[i] : 0);
    for (i = 0; i < solver_count; i++) {
        if (peers[i] > 0 && peers[i] <= best) printf("  %s, %s", solver_names[i], r->ordering[i]);
    }
    printf("\n");
    fflush(stdout);
}

static sparse_result measure_sparse(const sparse_case* c, const bench_options* o, int all)
{
    const int repeat = o->repeat  ? o->repeat
                       : o->quick ? 40
                                  : 200,
              total = variant_count + solver_count;
    const double budget = o->quick ? 0.4 : 2.0;
    sparse_result r;
    graph g = case_graph(c);
    matrix m = matrix_make(&g);
    const double norm = matrix_norm(&m);
    double* b = (double*)graph_memory(NULL, (size_t)g.unknowns * MANY, sizeof *b);
    ours each[MOST_VARIANTS];
    sparse_peer peer[MOST_PEERS];
    bench_job jobs[MOST_VARIANTS + MOST_PEERS];
    int32_t k;
    int i, pass;
#ifdef ICF_BENCH_PEERS
    matrix_columns lower = matrix_lower(&m);
    peers_matrix assembled;
    peers_sparse* peers;
    assembled.n = lower.n;
    assembled.start = lower.start;
    assembled.row = lower.row;
    assembled.value = lower.value;
    assembled.cliques = g.cliques;
    assembled.sizes = g.sizes;
    assembled.edges = g.edges;
    assembled.pairs = g.pairs;
    peers = peers_sparse_open(&assembled, all ? 1e300 : o->quick ? 5e7 : 4e8);
#else
    (void)all;
#endif
    memset(&r, 0, sizeof r);
    memset(each, 0, sizeof each);
    memset(jobs, 0, sizeof jobs);
    memset(peer, 0, sizeof peer);
    r.of = c;
    r.unknowns = g.unknowns;
    for (k = 0; k < g.unknowns * MANY; k++) b[k] = 1 + k % 7 - k % 3;

    // numeric refactorisation: the first of each run checks that it can
    for (i = 0; i < variant_count; i++) {
        jobs[i].name = variant_names[i];
        jobs[i].context = &each[i];
        if (!ours_open(&each[i], variants[i], &m, ICF_SPARSE_FULL)) jobs[i].run = run_factor;
        each[i].b = b;
        each[i].x = (double*)graph_memory(NULL, (size_t)g.unknowns * MANY, sizeof(double));
    }
    if (!each[0].result) {
        r.flops = each[0].s.flops;
        r.fronts = each[0].s.fronts;
        r.components = each[0].s.components;
        r.bytes = (double)(each[0].pattern_bytes + each[0].bytes);
    }
#ifdef ICF_BENCH_PEERS
    for (i = 0; i < solver_count; i++) {
        bench_job* j = &jobs[variant_count + i];
        j->name = solver_names[i];
        j->context = &peer[i];
        peer[i].peers = peers;
        peer[i].solver = i;
        peer[i].b = b;
        peer[i].x = (double*)graph_memory(NULL, (size_t)g.unknowns * MANY, sizeof(double));
        if (peers_solver_ready(peers, i)) j->run = run_peer_factor;
        snprintf(r.ordering[i], sizeof r.ordering[i], "%s", peers_solver_ordering(peers, i));
        r.analysis[i] = peers_solver_analysis(peers, i);
    }
    for (i = 0; i < ordering_count; i++) {
        r.ordering_flops[i] = peers_ordering_flops(peers, i);
        r.ordering_seconds[i] = peers_ordering_seconds(peers, i);
        r.symbolic_seconds[i] = peers_symbolic_seconds(peers, i);
    }
#endif
    bench_measure(jobs, total, repeat, 1e-3, budget);
    for (i = 0; i < total; i++) r.factor[i] = jobs[i].seconds;

    // solves, with one and with many right-hand sides
    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < total; i++) {
            if (i < variant_count)
                each[i].rhs = pass ? MANY : 1;
            else
                peer[i - variant_count].rhs = pass ? MANY : 1;
            if (jobs[i].run && i < variant_count) jobs[i].run = run_solve;
#ifdef ICF_BENCH_PEERS
            if (jobs[i].run && i >= variant_count) jobs[i].run = run_peer_solve;
#endif
        }
        bench_measure(jobs, total, repeat / 2 + 1, 5e-4, 0.3 * budget);
        for (i = 0; i < total; i++) (pass ? r.many : r.solve)[i] = jobs[i].seconds;
    }

    // the answers, all columns of the last solve
    for (i = 0; i < total; i++) {
        const int mine = i < variant_count;
        const double* x = mine ? each[i].x : peer[i - variant_count].x;
        double error = 0;
        if (mine && each[i].result) {
            fail(c->name, variant_names[i], icf_result_string((icf_result)each[i].result));
            error = 1;
        } else if (jobs[i].run) {
            for (pass = 0; pass < MANY; pass++) {
                const size_t at = (size_t)pass * (size_t)g.unknowns;
                const double e = matrix_backward_error(&m, norm, x + at, b + at);
                if (e > error) error = e;
            }
            if (mine && error > r.error) r.error = error;
            if (error > allowed_error) {
                if (mine)
                    fail(c->name, variant_names[i], "wrong answer");
                else
                    printf("%s %s: wrong answer, does not count\n", c->name,
                           solver_names[i - variant_count]);
            }
        }
        if (error > allowed_error) r.factor[i] = r.solve[i] = r.many[i] = 0;
    }

    // every vector path has the scalar bits; fused multiply-adds are the exception
    for (i = 1; i < variant_count; i++) {
        const size_t bytes = (size_t)g.unknowns * MANY * sizeof(double);
        if (starts_with(variant_names[i], "fma") || each[0].result || each[i].result) continue;
        if (memcmp(each[0].x, each[i].x, bytes)) fail(c->name, variant_names[i], "other bits");
    }

    // the pattern: worked out from nothing, bound, and presented again
    if (!each[0].result) {
        r.analyze = bench_time(run_analyze, &each[0], repeat, 5e-4, 0.2 * budget);
        r.bind = bench_time(run_bind, &each[0], repeat, 5e-4, 0.2 * budget);
        note(&each[0], each[0].v->factor(&each[0].s, &m, 1));
        r.again = bench_time(run_analyze_again, &each[0], repeat, 5e-4, 0.2 * budget);
        note(&each[0], each[0].v->factor(&each[0].s, &m, 1));
        if (each[0].result) fail(c->name, "pattern", icf_result_string((icf_result)each[0].result));
    }
    for (i = 0; i < variant_count; i++) {
        free(each[i].x);
        ours_close(&each[i]);
    }
#ifdef ICF_BENCH_PEERS
    for (i = 0; i < solver_count; i++) free(peer[i].x);
    peers_sparse_close(peers);
    matrix_columns_free(&lower);
#endif
    free(b);
    matrix_free(&m);
    graph_free(&g);
    return r;
}

static double least_flops(const sparse_result* r, int* which)
{
    double least = 0;
    int i;
    for (i = 0; i < ordering_count; i++) {
        if (r->ordering_flops[i] > 0 && (least <= 0 || r->ordering_flops[i] < least)) {
            least = r->ordering_flops[i];
            if (which) *which = i;
        }
    }
    return least;
}

static void print_orderings(const sparse_result* r, int count)
{
    int i, k;
    printf("\norderings: Mflop (sum of squared column counts); reference: what the targets were "
           "taken from\n%-20s %9s %9s",
           "case", "ours", "reference");
    for (i = 0; i < ordering_count; i++) printf(" %12s", ordering_names[i]);
    printf(" %9s %10s  %s\n", "ours/ref", "ours/least", ordering_count ? "least" : "");
    for (k = 0; k < count; k++) {
        int which = 0;
        const double least = least_flops(&r[k], &which);
        printf("%-20s %9.4f %9.3f", r[k].of->name, r[k].flops * 1e-6, r[k].of->mflop);
        for (i = 0; i < ordering_count; i++) printf(" %12.4f", r[k].ordering_flops[i] * 1e-6);
        printf(" %9.3f %10.3f  %s\n", r[k].flops * 1e-6 / r[k].of->mflop,
               least > 0 ? r[k].flops / least : 0, ordering_count ? ordering_names[which] : "");
    }
}

// ordering, then its symbolic phase: the cheapest that any peer needs to get going
static double least_analysis(const sparse_result* r)
{
    double least = 0;
    int i;
    for (i = 0; i < solver_count; i++) {
        if (r->analysis[i] > 0 && (least <= 0 || r->analysis[i] < least)) least = r->analysis[i];
    }
    return least;
}

static void print_phases(const sparse_result* r, int count)
{
    int i, k;
    printf("\nphases, us; pattern/factor: analyze + bind in numeric factorisations of ours; peer: "
           "the fastest of them\n"
           "%-20s %7s %8s %8s %8s %8s %14s %9s %8s %8s %8s %8s\n",
           "case", "fronts", "KB", "analyze", "bind", "again", "pattern/factor", "peer", "solve 1",
           "peer", "solve 8", "peer");
    for (k = 0; k < count; k++) {
        const sparse_result* s = &r[k];
        printf("%-20s %7d", s->of->name, (int)s->fronts);
        print_number(8, s->bytes / 1024);
        print_number(8, s->analyze * 1e6);
        print_number(8, s->bind * 1e6);
        print_number(8, s->again * 1e6);
        print_number(14, s->factor[0] > 0 ? (s->analyze + s->bind) / s->factor[0] : 0);
        print_number(9, least_analysis(s) * 1e6);
        print_number(8, s->solve[0] * 1e6);
        print_number(8, best_time(s->solve + variant_count, solver_names, solver_count, "") * 1e6);
        print_number(8, s->many[0] * 1e6);
        print_number(8, best_time(s->many + variant_count, solver_names, solver_count, "") * 1e6);
        printf("\n");
    }
    if (!solver_count) return;

    printf("\npeers, us: ordering and symbolic phase of each solver | the orderings alone | "
           "CHOLMOD's symbolic phase, supernodal,\n"
           "after amd-block\n%-20s",
           "case");
    for (i = 0; i < solver_count; i++) printf(" %12s", solver_short_name(i));
    printf(" |");
    for (i = 0; i < ordering_count; i++) printf(" %12s", ordering_names[i]);
    printf(" | %8s\n", "symbolic");
    for (k = 0; k < count; k++) {
        printf("%-20s", r[k].of->name);
        for (i = 0; i < solver_count; i++) print_number(12, r[k].analysis[i] * 1e6);
        printf(" |");
        for (i = 0; i < ordering_count; i++) print_number(12, r[k].ordering_seconds[i] * 1e6);
        printf(" |");
        print_number(8, r[k].symbolic_seconds[1] * 1e6);
        printf("\n");
    }
    printf("\npeers, us: solve, one right-hand side | %d\n%-20s", MANY, "case");
    for (i = 0; i < solver_count; i++) printf(" %12s", solver_short_name(i));
    printf(" |");
    for (i = 0; i < solver_count; i++) printf(" %12s", solver_short_name(i));
    printf("\n");
    for (k = 0; k < count; k++) {
        printf("%-20s", r[k].of->name);
        for (i = 0; i < solver_count; i++) print_number(12, r[k].solve[variant_count + i] * 1e6);
        printf(" |");
        for (i = 0; i < solver_count; i++) print_number(12, r[k].many[variant_count + i] * 1e6);
        printf("\n");
    }
}

static void figures_sparse(const sparse_result* r)
{
    const double* peers = r->factor + variant_count;
    const double numeric = r->factor[0];
    int i;
    for (i = 0; i < variant_count + solver_count; i++) {
        char name[96];
        if (r->factor[i] <= 0) continue;
        snprintf(name, sizeof name, "sparse_%s_%s", r->of->name,
                 i < variant_count ? variant_names[i] : solver_names[i - variant_count]);
        bench_figure(r->factor[i] * 1e6, "us", "%s", name);
        if (i < variant_count) {
            figure_versus(name, r->factor[i], "best",
                          best_time(peers, solver_names, solver_count, ""));
            figure_versus(name, r->factor[i], "cholmod_eigen",
                          best_of_targets(peers, solver_names, solver_count));
            figure_versus(name, r->factor[i], "ldl",
                          best_time(peers, solver_names, solver_count, "ldl"));
            figure_versus(name, r->factor[i], "cholmod",
                          best_time(peers, solver_names, solver_count, "cholmod"));
            figure_versus(name, r->factor[i], "eigen",
                          best_time(peers, solver_names, solver_count, "eigen"));
            bench_figure(r->flops / r->factor[i] * 1e-9, "GF/s", "%s_rate", name);
        }
    }
    if (numeric <= 0) return;
    bench_figure(r->error, "1", "sparse_%s_backward_error", r->of->name);
    bench_figure(r->flops * 1e-6, "Mflop", "sparse_%s_flops", r->of->name);
    bench_figure(r->flops * 1e-6 / r->of->mflop, "of_reference", "sparse_%s_flops_reference",
                 r->of->name);
    if (r->of->mflop_degree > 0) {
        bench_figure(r->flops * 1e-6 / r->of->mflop_degree, "of_reference",
                     "sparse_%s_flops_reference_degree", r->of->name);
    }
    if (ordering_count)
        bench_figure(r->flops / least_flops(r, NULL), "of_least", "sparse_%s_flops_peers",
                     r->of->name);
    bench_figure(r->analyze * 1e6, "us", "sparse_%s_analyze", r->of->name);
    bench_figure(r->bind * 1e6, "us", "sparse_%s_bind", r->of->name);
    bench_figure((r->analyze + r->bind) / numeric, "factorisations", "sparse_%s_pattern",
                 r->of->name);
    if (least_analysis(r) > 0) {
        bench_figure(least_analysis(r) / (r->analyze + r->bind), "x", "sparse_%s_pattern_vs_best",
                     r->of->name);
    }
    bench_figure(r->again * 1e6, "us", "sparse_%s_pattern_again", r->of->name);
    for (i = 0; i < 2; i++) {
        const double* t = i ? r->many : r->solve;
        char name[96];
        snprintf(name, sizeof name, "sparse_%s_solve%s_%s", r->of->name, i ? "8" : "",
                 variant_names[0]);
        bench_figure(t[0] * 1e6, "us", "%s", name);
        figure_versus(name, t[0], "best",
                      best_time(t + variant_count, solver_names, solver_count, ""));
    }
}

// ------------------------------------------------------------------------------------------------
// Partial refactorisation: one body of a pile changed, each in turn

typedef struct partial_result {
    double full, median, most;
    double plain; // full, on an object that cannot do it in part
    int wrong;
} partial_result;

// the factor after a change of one body, made in part and in full: same bits in the solution?
static int partial_differs(ours* u, int32_t clique)
{
    const size_t n = (size_t)u->m->g->unknowns;
    double* block = matrix_diagonal(u->m, clique);
    const double kept = block[0];
    int differs;
    block[0] = kept + 0.25;
    note(u, u->v->factor_partial(&u->s, u->m, clique, 1));
    note(u, u->v->solve(&u->s, u->b, u->x, 1, 1));
    note(u, u->v->factor(&u->s, u->m, 1));
    note(u, u->v->solve(&u->s, u->b, u->x + n, 1, 1));
    differs = memcmp(u->x, u->x + n, n * sizeof *u->x) != 0;
    block[0] = kept;
    note(u, u->v->factor_partial(&u->s, u->m, clique, 1));
    return differs;
}

static partial_result measure_partial(int32_t bodies, int32_t width, const char* name,
                                      const bench_options* o)
{
    const int repeat = o->repeat ? o->repeat : o->quick ? 3 : 12;
    partial_result r;
    graph g = graph_clutter(bodies, width);
    matrix m = matrix_make(&g);
    double* b = (double*)graph_memory(NULL, (size_t)g.unknowns, sizeof *b);
    double* seconds = (double*)graph_memory(NULL, (size_t)bodies, sizeof *seconds);
    ours u, plain;
    int32_t i;
    memset(&r, 0, sizeof r);
    for (i = 0; i < g.unknowns; i++) b[i] = 1 + i % 7;
    memset(&plain, 0, sizeof plain);
    if (!ours_open(&u, &cholesky_default, &m, ICF_SPARSE_PARTIAL) &&
        !ours_open(&plain, &cholesky_default, &m, ICF_SPARSE_FULL)) {
        bench_job full[2];
        double before;
        u.b = b;
        u.x = (double*)graph_memory(NULL, 2 * (size_t)g.unknowns, sizeof *u.x);
        memset(full, 0, sizeof full);
        full[0].run = full[1].run = run_factor;
        full[0].context = &u;
        full[1].context = &plain;

        // before and after the parts: a disturbance that lasts must not fall on one of the two alone
        bench_measure(full, 2, 10 * repeat, 1e-3, 0.5);
        before = full[0].seconds;
        r.plain = full[1].seconds;
        for (i = 0; i < bodies; i++) {
            r.wrong += partial_differs(&u, i);
            u.clique = i;
            seconds[i] = bench_time(run_partial, &u, repeat, 2e-4, 1.0);
        }
        bench_measure(full, 2, 10 * repeat, 1e-3, 0.5);
        r.full = before < full[0].seconds ? before : full[0].seconds;
        if (full[1].seconds < r.plain) r.plain = full[1].seconds;
        r.median = bench_median(seconds, bodies);
        r.most = seconds[bodies - 1];
        free(u.x);
    }
    if (u.result) fail(name, variant_names[0], icf_result_string((icf_result)u.result));
    if (r.wrong) fail(name, variant_names[0], "differs from a full factorisation");
    ours_close(&u);
    ours_close(&plain);
    free(b);
    free(seconds);
    matrix_free(&m);
    graph_free(&g);
    return r;
}

int main(int argc, char** argv)
{
    static dense_result dense[DENSE_SIZES];
    static sparse_result sparse[SPARSE_CASES];
    bench_options o = bench_parse(argc, argv);
    const int all = bench_option(&o, "--all");
    partial_result partial;
    int i, dense_done = 0, sparse_done = 0, partial_done = 0;
    char name[64];
    bench_check(&o, "--all");
    find_variants();
    for (i = 0; i < variant_count; i++) dense_names[dense_count++] = variant_names[i];
#ifdef ICF_BENCH_PEERS
    for (i = 0; i < peers_dense_count(); i++) dense_names[dense_count++] = peers_dense_name(i);
    for (i = 0; i < peers_solver_count(); i++) solver_names[solver_count++] = peers_solver_name(i);
    for (i = 0; i < peers_ordering_count(); i++)
        ordering_names[ordering_count++] = peers_ordering_name(i);
    if (!o.list) printf("peers: %s\n", peers_versions());
#else
    if (!o.list) printf("no peers: built without them\n");
#endif

    for (i = 0; i < DENSE_SIZES; i++) {
        snprintf(name, sizeof name, "dense_%d", (int)dense_sizes[i]);
        if (bench_selected(&o, name)) dense[dense_done++] = measure_dense(dense_sizes[i], &o);
    }
    print_dense("dense: factor, ns", dense, dense_done, FACTOR_TIME);
    print_dense("dense: factor, GF/s at n^3/3", dense, dense_done, FACTOR_RATE);
    print_dense("dense: factor, the best peer's time over ours", dense, dense_done, FACTOR_RATIO);
    print_dense("dense: solve, ns", dense, dense_done, SOLVE_TIME);
    print_dense("dense: solve, the best peer's time over ours", dense, dense_done, SOLVE_RATIO);
    print_dense("dense: backward error", dense, dense_done, BACKWARD_ERROR);
    fflush(stdout);

    for (i = 0; i < SPARSE_CASES; i++) {
        if (o.quick && !sparse_cases[i].quick) continue;
        snprintf(name, sizeof name, "sparse_%s", sparse_cases[i].name);
        if (!bench_selected(&o, name)) continue;
        if (!sparse_done) print_sparse_header();
        sparse[sparse_done] = measure_sparse(&sparse_cases[i], &o, all);
        print_sparse_row(&sparse[sparse_done++]);
    }
    if (sparse_done) {
        print_orderings(sparse, sparse_done);
        print_phases(sparse, sparse_done);
    }

    memset(&partial, 0, sizeof partial);
    if (bench_selected(&o, "partial_clutter_w4_320")) {
        partial = measure_partial(320, 4, "partial_clutter_w4_320", &o);
        partial_done = partial.full > 0;
        printf("\npartial refactorisation, clutter w4 320, one body changed: median %.2f us, most "
               "%.2f us; "
               "full %.2f us, under ICF_SPARSE_FULL %.2f us\n",
               partial.median * 1e6, partial.most * 1e6, partial.full * 1e6, partial.plain * 1e6);
    }
    if (o.list) return 0;
    if (!o.selected) {
        fprintf(stderr, "no case of that name; --list has them\n");
        return 2;
    }

    printf("\n");
    for (i = 0; i < dense_done; i++) figures_dense(&dense[i]);
    for (i = 0; i < sparse_done; i++) figures_sparse(&sparse[i]);
    if (partial_done) {
        bench_figure(partial.median * 1e6, "us", "partial_clutter_w4_320_median");
        bench_figure(partial.most * 1e6, "us", "partial_clutter_w4_320_most");
        bench_figure(partial.full * 1e6, "us", "partial_clutter_w4_320_full");
        bench_figure(partial.plain * 1e6, "us", "partial_clutter_w4_320_plain");
        bench_figure(100 * partial.median / partial.full, "%",
                     "partial_clutter_w4_320_median_share");
        bench_figure(100 * partial.most / partial.full, "%", "partial_clutter_w4_320_most_share");
    }
    if (failures) printf("%d FAILED\n", failures);
    return failures != 0;
}
