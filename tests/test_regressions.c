/* Bugs that were found, each with what showed it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tested.h"

#include "../bench/graphs.h"
#include "acutest.h"
#include "util.h"

/* Fills a chain: `own` on the diagonal, -1 between neighbours, of cliques of one unknown. */
static void fill_chain(icf_sparse* s, int32_t n, icf_real own)
{
    const icf_real coupling = -1;
    int32_t i;
    TEST_CHECK(icf_sparse_begin(s) == ICF_RESULT_OK);
    for (i = 0; i < n; i++) TEST_CHECK(icf_sparse_add_diagonal(s, i, &own, 1) == ICF_RESULT_OK);
    for (i = 0; i + 1 < n; i++)
        TEST_CHECK(icf_sparse_add_edge(s, i, &coupling, 1) == ICF_RESULT_OK);
}

/* Conjugate gradients answered OK and zero for a right-hand side whose square is zero, and refused one whose
   square is infinite. */
static void test_iterative_at_any_scale(void)
{
    const icf_real scales[] = {REAL_MIN, REAL_MIN * 1000, 1, ICF_REAL_MAX / 1000};
    int32_t sizes[4] = {1, 1, 1, 1}, pairs[6] = {0, 1, 1, 2, 2, 3}, k, i;
    icf_sparse s;
    TEST_ASSERT(icf_sparse_create(&s, ICF_SPARSE_ITERATIVE, 4, sizes, 3, pairs) == ICF_RESULT_OK);
    fill_chain(&s, 4, 4);
    TEST_CHECK(icf_sparse_factor(&s, NULL) == ICF_RESULT_OK);
    for (k = 0; k < 4; k++) {
        icf_real x[4], b[4] = {1, 2, -3, 4};
        for (i = 0; i < 4; i++) x[i] = b[i] * scales[k];
        TEST_CHECK(icf_sparse_solve(&s, x, 1, 4) == ICF_RESULT_OK);
        for (i = 0; i < 4; i++) {
            icf_real y = 4 * x[i] - (i ? x[i - 1] : 0) - (i < 3 ? x[i + 1] : 0);
            TEST_CHECK_(ICF_FABS(y - b[i] * scales[k]) <= 1000 * EPS * 4 * scales[k] + REAL_MIN,
                        "scale %g, entry %d", (double)scales[k], (int)i);
        }
    }
    icf_sparse_destroy(&s);
}

/* A NaN on the right destroyed x before it was noticed; one in a block was reported as a residual of 0. */
static void test_iterative_with_nan(void)
{
    int32_t sizes[2] = {1, 1}, pairs[2] = {0, 1};
    icf_real own = 4, coupling = (icf_real)NAN, x[2] = {1, (icf_real)NAN};
    icf_sparse s;
    TEST_ASSERT(icf_sparse_create(&s, ICF_SPARSE_ITERATIVE, 2, sizes, 1, pairs) == ICF_RESULT_OK);
    fill_chain(&s, 2, 4);
    TEST_CHECK(icf_sparse_factor(&s, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_sparse_solve(&s, x, 1, 2) == ICF_RESULT_NOT_FINITE);
    TEST_CHECK(x[0] == 1 && x[1] != x[1]);

    TEST_CHECK(icf_sparse_begin(&s) == ICF_RESULT_OK);
    icf_sparse_add_diagonal(&s, 0, &own, 1);
    icf_sparse_add_diagonal(&s, 1, &own, 1);
    icf_sparse_add_edge(&s, 0, &coupling, 1);
    x[1] = 1;
    if (icf_sparse_factor(&s, NULL) == ICF_RESULT_OK) {
        TEST_CHECK(icf_sparse_solve(&s, x, 1, 2) != ICF_RESULT_OK);
        TEST_CHECK(!(s.residual <= 1));
    }
    icf_sparse_destroy(&s);
}

/* A refused _create left the struct as it was, and _destroy then freed what it pointed to. */
static void test_refused_create_can_be_destroyed(void)
{
    int32_t sizes[1] = {1};
    icf_sparse s;
    memset(&s, 0xA5, sizeof s);
    TEST_CHECK(icf_sparse_create(&s, (icf_sparse_mode)7, 1, sizes, 0, NULL) ==
               ICF_RESULT_BAD_ARGUMENT);
    icf_sparse_destroy(&s);
    memset(&s, 0xA5, sizeof s);
    TEST_CHECK(icf_sparse_create(&s, ICF_SPARSE_FULL, -1, sizes, 0, NULL) ==
               ICF_RESULT_BAD_ARGUMENT);
    icf_sparse_destroy(&s);
}

/* Two coupled cliques whose front is too large were refused altogether; without a factor they can be had. */
static void test_front_too_large(void)
{
    int32_t sizes[2] = {40000, 40000}, pairs[2] = {0, 1};
    size_t bytes = icf_sparse_pattern_bytes(2, 1);
    void* memory = malloc(bytes + 1);
    icf_sparse s;
    memset(&s, 0, sizeof s);
    TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, 2, sizes, 1, pairs) == ICF_RESULT_OK);
    TEST_CHECK(icf_sparse_bytes(&s, ICF_SPARSE_FULL) == 0);
    TEST_CHECK(icf_sparse_bind(&s, ICF_SPARSE_FULL, memory, (size_t)-1 / 2) == ICF_RESULT_OVERFLOW);
    TEST_CHECK(sizeof(size_t) < 8 || icf_sparse_bytes(&s, ICF_SPARSE_ITERATIVE) > 0);
    free(memory);
}

/* Each leaf of a hub looked through the whole list of the hub. */
static void test_hubs_take_no_quadratic_time(void)
{
    enum { LEAVES = 60000 };
    int32_t n = LEAVES + 2, i;
    int32_t* sizes = (int32_t*)malloc((size_t)n * sizeof *sizes);
    int32_t* pairs = (int32_t*)malloc(4 * (size_t)LEAVES * sizeof *pairs);
    size_t bytes = icf_sparse_pattern_bytes(n, 2 * LEAVES);
    void* memory = malloc(bytes + 1);
    clock_t began;
    double seconds;
    icf_sparse s;
    for (i = 0; i < n; i++) sizes[i] = 1;
    for (i = 0; i < LEAVES; i++) {
        pairs[4 * i] = pairs[4 * i + 2] = i + 2;
        pairs[4 * i + 1] = 0;
        pairs[4 * i + 3] = 1;
    }
    memset(&s, 0, sizeof s);
    began = clock();
    TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, n, sizes, 2 * LEAVES, pairs) == ICF_RESULT_OK);
    seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    TEST_CHECK_(seconds < 1, "%g s for %d leaves around two hubs", seconds, (int)LEAVES);
    TEST_CHECK(s.flops <
               10.0 * n); /* the leaves first: 9 flops each, and next to nothing for the hubs */
    free(memory);
    free(pairs);
    free(sizes);
}

/* The flops of a mesh of side^3 vertices, alone or behind `islands` pairs of vertices. */
static double mesh_flops(int32_t side, int32_t islands)
{
    graph mesh = graph_fem(side, side, side), g = graph_make(mesh.cliques + 2 * islands, 3);
    size_t bytes;
    void* memory;
    double flops;
    int32_t i;
    icf_sparse s;
    for (i = 0; i < islands; i++) graph_connect(&g, 2 * i + 1, 2 * i);
    for (i = 0; i < mesh.edges; i++) {
        graph_connect(&g, mesh.pairs[2 * i] + 2 * islands, mesh.pairs[2 * i + 1] + 2 * islands);
    }
    bytes = icf_sparse_pattern_bytes(g.cliques, g.edges);
    memory = malloc(bytes + 1);
    memset(&s, 0, sizeof s);
    TEST_CHECK(icf_sparse_analyze(&s, memory, bytes, g.cliques, g.sizes, g.edges, g.pairs) ==
               ICF_RESULT_OK);
    flops = s.flops;
    free(memory);
    graph_free(&g);
    graph_free(&mesh);
    return flops;
}

/* Every island that came before a mesh cost dissection one of its levels. */
static void test_islands_before_a_mesh(void)
{
    double alone = mesh_flops(14, 0), behind = mesh_flops(14, 40);
    TEST_CHECK_(behind < 1.1 * alone, "%g Mflop alone, %g behind 40 islands", alone * 1e-6,
                behind * 1e-6);
}

/* A solve whose contacts were open took no matrix, and said so little of memory that the next step of the same
   bodies, in that much, was refused, and derivatives of its answer were. */
static void test_memory_of_a_start_at_the_minimum(void)
{
    int32_t sizes[2] = {6, 6}, rows[1] = {3}, start[2] = {0, 2}, of[2] = {0, 1}, k, i;
    icf_real mass[72] = {0}, free[12] = {0}, v[12], blocks[36] = {0}, x[12] = {1};
    static icf_real memory[100000];
    icf_contact contact = icf_default_contact();
    icf_surface surface = icf_default_surface();
    icf_problem p = icf_default_problem();
    icf_workspace w;
    icf_stats stats;
    for (k = 0; k < 2; k++) {
        for (i = 0; i < 6; i++) mass[36 * k + 7 * i] = 1;
        for (i = 0; i < 3; i++) blocks[18 * k + 7 * i] = (icf_real)(k ? 1 : -1);
    }
    p.dt = (icf_real)0.01;
    p.cliques = 2;
    p.clique_sizes = sizes;
    p.mass = mass;
    p.v_free = free;
    p.links = 1;
    p.link_rows = rows;
    p.link_start = start;
    p.block_clique = of;
    p.blocks = blocks;
    p.contacts = p.surfaces = 1;
    p.surface = &surface;
    p.contact = &contact;
    free[8] = (icf_real)0.1; /* apart */
    memcpy(v, free, sizeof v);
    TEST_CHECK(icf_workspace_init(&w, memory, sizeof memory) == ICF_RESULT_OK);
    TEST_CHECK(icf_solve(&p, NULL, &w, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(stats.iterations == 0);
    TEST_CHECK(icf_workspace_init(&w, memory, stats.bytes) == ICF_RESULT_OK);
    TEST_CHECK(icf_solve(&p, NULL, &w, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(icf_sensitivity(&p, &w, x, 1, 12, NULL, NULL) == ICF_RESULT_OK);
    free[8] = (icf_real)-0.1; /* and together */
    memcpy(v, free, sizeof v);
    TEST_CHECK(icf_solve(&p, NULL, &w, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(stats.iterations > 0);
}

TEST_LIST = {
    {"iterative_at_any_scale",           test_iterative_at_any_scale          },
    {"iterative_with_nan",               test_iterative_with_nan              },
    {"refused_create_can_be_destroyed",  test_refused_create_can_be_destroyed },
    {"front_too_large",                  test_front_too_large                 },
    {"hubs_take_no_quadratic_time",      test_hubs_take_no_quadratic_time     },
    {"islands_before_a_mesh",            test_islands_before_a_mesh           },
    {"memory_of_a_start_at_the_minimum", test_memory_of_a_start_at_the_minimum},
    {NULL,                               NULL                                 }
};
