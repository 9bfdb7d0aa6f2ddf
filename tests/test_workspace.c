/* Layer 7: the memory that a solve takes. */

#include "tested.h"

#include "acutest.h"
#include "util.h"
#include "problem_util.h"
#include "second_opinion.h"
#include "random_problems.h"

// ------------------------------------------------------------------------------------------------
// Memory

/* bodies in a ring, each in contact with the next and a floor: one island whose factor takes
   more than its blocks */
static void ring_scene(scene* s, int32_t bodies)
{
    int32_t i, k;
    scene_begin(s, 0.01);
    for (i = 0; i < bodies; i++) {
        double mass[64] = {0};
        random_mass(6, 1, mass);
        scene_clique(s, 6, mass);
    }
    for (i = 0; i < 2 * bodies; i++) {
        double block[36] = {0};
        int32_t rows = 3 + 3 * (i % 2), l = scene_link(s, rows);
        for (k = 0; k < 6 * rows; k++) block[k] = random_between(-1, 1);
        scene_block(s, i / 2, block);
        if (i % 2) {
            for (k = 0; k < 6 * rows; k++) block[k] = random_between(-1, 1);
            scene_block(s,
                        (i / 2 * 7 + 1) % bodies == i / 2 ? (i / 2 + 1) % bodies
                                                          : (i / 2 * 7 + 1) % bodies,
                        block);
        }
        random_contact(scene_contact(s, l), WITH_LAGGED | WITH_SIMILAR | WITH_SAP, rows);
    }
    for (i = 0; i < s->unknowns; i++) {
        s->v_last[i] = R(random_between(-1, 1));
        s->v_free[i] = s->v_last[i] + R(random_between(-0.1, 0.1));
    }
}

/* With stats.bytes of workspace every island is factored; with less some are not, and the answer
   is the same to rounding; with less than what the least takes, the call says so. */
static void test_workspace_sizes(void)
{
    int trial;
    for (trial = 0; trial < 4; trial++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        wide x[MOST_UNKNOWNS] = {0};
        icf_stats stats, again;
        icf_options o = exact();
        size_t full, least, bytes;
        double off;
        int seen_iterative = 0, seen_both = 0, k;
        random_seed(SEED + (uint32_t)trial);
        ring_scene(s, 18);
        if (trial % 2) {
            /* an island more, small */
            ring_scene(&second_scene, 4);
            scene_append(s, &second_scene);
        }
        full = icf_workspace_bytes(&s->p, ICF_SPARSE_FULL);
        least = icf_workspace_bytes(&s->p, ICF_SPARSE_ITERATIVE);
        TEST_CHECK(0 < least && least < full);
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, &stats);
        TEST_CHECK(stats.iterative == 0 && stats.factorizations > 0);
        TEST_CHECK(stats.bytes > 0 && stats.bytes <= full);
        opinion_make(s);
        widen(s->unknowns, v, x);
        check_answer(s, v, "full");

        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, stats.bytes, &o, other, &again) == ICF_RESULT_OK);
        TEST_CHECK(again.iterative == 0 && again.bytes == stats.bytes);
        TEST_CHECK(again.iterations == stats.iterations);
        TEST_CHECK(same_bits(v, other, (size_t)s->unknowns * sizeof *v));

        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, least, &o, other, &again) == ICF_RESULT_OK);
        TEST_CHECK(again.bytes == stats.bytes);
        TEST_CHECK_(least >= stats.bytes || again.iterative > 0, "%d iterative in %lu of %lu bytes",
                    (int)again.iterative, (unsigned long)least, (unsigned long)stats.bytes);
        off = relative_distance(s, other, x);
        TEST_CHECK_(off <= 1000 * EPS, "in the least memory: %g off; seed %u", off, (unsigned)SEED);

        for (k = 1; k < 16 && least < stats.bytes; k++) {
            bytes = least + (stats.bytes - least) / 16 * (size_t)k / 8 * 8;
            if (bytes >= stats.bytes) break;
            memcpy(other, s->v_last, sizeof v);
            TEST_CHECK(solve_in(s, bytes, &o, other, &again) == ICF_RESULT_OK);
            off = relative_distance(s, other, x);
            TEST_CHECK_(off <= 1000 * EPS, "in %lu bytes: %g off; seed %u", (unsigned long)bytes,
                        off, (unsigned)SEED);
            seen_iterative |= again.iterative > 0;
            seen_both |= again.iterative > 0 && again.iterative < again.islands;
        }
        TEST_CHECK(seen_iterative || least >= stats.bytes);
        if (trial % 2) TEST_CHECK(seen_both || least >= stats.bytes);

        /* a byte less than stats.bytes is less than it takes */
        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, stats.bytes - 1, &o, other, &again) == ICF_RESULT_OK);
        TEST_CHECK(again.iterative > 0);

        /* wanted so */
        o.iterative = 1;
        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, full, &o, other, &again) == ICF_RESULT_OK);
        TEST_CHECK_(again.iterative == again.islands && again.factorizations == 0,
                    "%d of %d islands without a factor, %d factorisations", (int)again.iterative,
                    (int)again.islands, (int)again.factorizations);
        TEST_CHECK(relative_distance(s, other, x) <= 1000 * EPS);
        o.iterative = 0;

        /* too small: said, and nothing is changed */
        for (bytes = 0; bytes < least; bytes += 1 + least / 37) {
            icf_result result;
            memcpy(other, s->v_last, sizeof v);
            result = solve_in(s, bytes, &o, other, &again);
            TEST_CHECK(result == ICF_RESULT_TOO_SMALL || result == ICF_RESULT_OK);
            if (result == ICF_RESULT_TOO_SMALL) {
                TEST_CHECK(same_bits(other, s->v_last, sizeof v));
                TEST_CHECK_(again.bytes == stats.bytes || again.bytes == 0 || again.bytes > bytes,
                            "%lu bytes wanted, not %lu", (unsigned long)again.bytes,
                            (unsigned long)stats.bytes);
            } else {
                TEST_CHECK(bytes > 0);
            }
        }
        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, 0, &o, other, &again) == ICF_RESULT_TOO_SMALL);
    }
}

static void test_workspace_calls(void)
{
    scene* s = &first_scene;
    double memory[64];
    icf_workspace w;
    icf_contact_result r;
    icf_row_result q;
    icf_real v[3] = {0, 0, 0}, numbers[9];
    scene_point_on_floor(s, 0.01, 1);
    memset(&w, 0, sizeof w);
    TEST_CHECK(icf_get_contact(&w, 0, &r) == ICF_RESULT_BAD_STATE);
    TEST_CHECK(icf_get_row(&w, 0, &q) == ICF_RESULT_BAD_STATE);
    TEST_CHECK(icf_get_contact(NULL, 0, &r) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_get_row(NULL, 0, &q) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_workspace_init(NULL, memory, sizeof memory) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_workspace_init(&w, NULL, 100) == ICF_RESULT_BAD_ARGUMENT);
    if (sizeof(void*) == 8) {
        TEST_CHECK(icf_workspace_init(&w, (char*)memory + 4, 100) == ICF_RESULT_MISALIGNED);
    }
    TEST_CHECK(icf_workspace_bytes(NULL, ICF_SPARSE_FULL) == 0);
    /* a zeroed one has no memory */
    memset(&w, 0, sizeof w);
    TEST_CHECK(icf_solve(&s->p, NULL, &w, v, NULL) == ICF_RESULT_TOO_SMALL);
    solve_exactly(s, v, NULL);
    TEST_CHECK(icf_get_contact(&workspace, 0, &r) == ICF_RESULT_OK);
    TEST_CHECK(icf_get_contact(&workspace, 1, &r) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_get_contact(&workspace, -1, &r) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_get_contact(&workspace, 0, NULL) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_get_row(&workspace, 0, &q) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(&s->p, 1, 0, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(&s->p, 0, 1, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(&s->p, -1, 0, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(&s->p, 0, 0, NULL) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(NULL, 0, 0, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 1, &workspace, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_delassus(&s->p, -1, 0, &workspace, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 0, NULL, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 0, &workspace, NULL) == ICF_RESULT_BAD_ARGUMENT);
    memset(&w, 0, sizeof w);
    TEST_CHECK(icf_workspace_init(&w, memory, 8) == ICF_RESULT_OK);
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 0, &w, numbers) == ICF_RESULT_TOO_SMALL);
}

/* The pattern of the largest island is kept at the end of the workspace. What is solved with it is what is solved
   without, to the bit, also when somebody else wrote to that memory or another problem came between. */
static void test_kept_pattern(void)
{
    static double memory[1 << 15];
    scene* s = &first_scene;
    icf_workspace w;
    int round;
    icf_workspace_init(&w, memory, sizeof memory);
    random_seed(SEED);
    for (round = 0; round < 60; round++) {
        icf_real v[MOST_UNKNOWNS] = {0}, again[MOST_UNKNOWNS] = {0};
        size_t bytes = sizeof v;
        ring_scene(s, round % 3 == 2 ? 7 : 9);
        memcpy(again, s->v_last, (size_t)s->unknowns * sizeof *v);
        memcpy(v, s->v_last, (size_t)s->unknowns * sizeof *v);
        TEST_CHECK(solve(s, NULL, v, NULL) == ICF_RESULT_OK);
        if (round % 4 == 3) { /* one byte of what is kept */
            unsigned char* end = (unsigned char*)memory + sizeof memory;
            size_t back = 1 + (size_t)random_below((int)w.kept);
            end[-(ptrdiff_t)back] ^= 0x10;
        }
        TEST_CHECK(icf_solve(&s->p, NULL, &w, again, NULL) == ICF_RESULT_OK);
        TEST_CHECK_(w.kept > 0, "round %d", round);
        TEST_CHECK_(same_bits(v, again, bytes), "round %d; seed %u", round, (unsigned)SEED);
    }

    /* the pattern of a large problem that takes all of the memory is not kept, nor that of a small one
       before */
    for (round = 0; round < 4; round++) {
        icf_real v[MOST_UNKNOWNS] = {0};
        icf_stats stats;
        ring_scene(s, 18);
        TEST_CHECK(icf_solve(&s->p, NULL, &w, v, &stats) == ICF_RESULT_OK && w.kept > 0);
        icf_workspace_init(&w, memory, stats.bytes + 64 * (size_t)round);
        scene_copy(&second_scene, s);
        ring_scene(s, 6);
        TEST_CHECK(icf_solve(&s->p, NULL, &w, v, NULL) == ICF_RESULT_OK && w.kept > 0);
        TEST_CHECK(icf_solve(&second_scene.p, NULL, &w, v, NULL) == ICF_RESULT_OK && !w.kept);
        icf_workspace_init(&w, memory, sizeof memory);
    }
}

#ifndef ICF_NO_MALLOC
/* _reserve allocates when it must and not otherwise; a solve in it never does. */
static void test_reserve_allocates_when_it_must(void)
{
    scene *s = &first_scene, *t = &second_scene;
    icf_workspace w;
    icf_real v[MOST_UNKNOWNS] = {0};
    long before;
    random_seed(SEED);
    random_scene(s, WITH_LAGGED | WITH_ROWS, 3, 0, 3, 0);
    ring_scene(t, 10);
    memset(&w, 0, sizeof w);
    before = test_allocations;
    TEST_CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK);
    TEST_CHECK(test_allocations > before);
    before = test_allocations;
    memcpy(v, s->v_last, sizeof v);
    TEST_CHECK(icf_solve(&s->p, NULL, &w, v, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK);
    TEST_CHECK(test_allocations == before);
    TEST_CHECK(icf_workspace_reserve(&w, &t->p) == ICF_RESULT_OK);
    TEST_CHECK(test_allocations > before);
    before = test_allocations;
    memcpy(v, t->v_last, sizeof v);
    TEST_CHECK(icf_solve(&t->p, NULL, &w, v, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK); /* smaller: as it is */
    TEST_CHECK(test_allocations == before);
    icf_workspace_destroy(&w);
    icf_workspace_destroy(&w); /* twice is once */
    TEST_CHECK(icf_workspace_reserve(NULL, &s->p) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_workspace_reserve(&w, NULL) == ICF_RESULT_BAD_ARGUMENT);
    icf_workspace_destroy(&w);
    icf_workspace_destroy(NULL);

    /* A workspace in the caller's memory: reserve refuses to grow it, and destroy does not free it. */
    {
        double memory[8];
        TEST_CHECK(icf_workspace_init(&w, memory, sizeof memory) == ICF_RESULT_OK);
        before = test_allocations;
        TEST_CHECK(icf_workspace_reserve(&w, &t->p) != ICF_RESULT_OK);
        TEST_CHECK(test_allocations == before);
        icf_workspace_destroy(&w);
    }
}
#endif

TEST_LIST = {
    {"workspace_sizes",                test_workspace_sizes               },
    {"workspace_calls",                test_workspace_calls               },
    {"kept_pattern",                   test_kept_pattern                  },
#ifndef ICF_NO_MALLOC
    {"reserve_allocates_when_it_must", test_reserve_allocates_when_it_must},
#endif
    {NULL,                             NULL                               }
};
