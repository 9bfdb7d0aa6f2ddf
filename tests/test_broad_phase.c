/* Layer 12: broad phase, against comparing every box with every other.

   The number of rounds is multiplied by the environment variable ICF_TEST_MORE. */

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ICF_ASSERT(x) assert(x)
#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"

#include "acutest.h"
#include "util.h"

#define MOST 1500
#define PAIRS_MOST 400000

typedef struct world {
    icf_broad_phase* b;
    void* memory;
    int used[MOST], group[MOST];
    icf_aabb box[MOST];
} world;

static void start(world* w, int proxies, int pairs, double margin, double fraction)
{
    icf_broad_phase_def def = icf_default_broad_phase_def();
    size_t bytes;
    memset(w, 0, sizeof *w);
    def.proxies_most = proxies;
    def.pairs_most = pairs;
    def.margin = (icf_real)margin;
    def.fraction = (icf_real)fraction;
    bytes = icf_broad_phase_bytes(&def);
    TEST_ASSERT(bytes > 0);
    w->memory = malloc(bytes);
    TEST_ASSERT(icf_broad_phase_init(w->memory, bytes, &def, &w->b) == ICF_RESULT_OK);
}

static icf_aabb random_box(double space)
{
    icf_aabb box;
    double size = random_below(20)  ? random_between(0.2, 1)
                  : random_below(2) ? random_between(3, 30)
                                    : 0.001;
    double x = random_between(0, space), y = random_between(0, space), z = random_between(0, space);
    box.lower = icf_vec3_make((icf_real)x, (icf_real)y, (icf_real)z);
    box.upper = icf_vec3_make((icf_real)(x + size), (icf_real)(y + size * random_unit()),
                              (icf_real)(z + size));
    if (!random_below(200)) box.lower.x = -ICF_REAL_MAX;
    if (!random_below(200)) {
        box.lower.z = -ICF_REAL_MAX;
        box.upper.x = box.upper.y = ICF_REAL_MAX;
    }
    return box;
}

static int touch(const icf_aabb* a, const icf_aabb* b)
{
    return a->lower.x <= b->upper.x && b->lower.x <= a->upper.x && a->lower.y <= b->upper.y &&
           b->lower.y <= a->upper.y && a->lower.z <= b->upper.z && b->lower.z <= a->upper.z;
}

static int inside(const icf_aabb* a, const icf_aabb* b)
{
    return a->lower.x >= b->lower.x && a->lower.y >= b->lower.y && a->lower.z >= b->lower.z &&
           a->upper.x <= b->upper.x && a->upper.y <= b->upper.y && a->upper.z <= b->upper.z;
}

/* the list is that of all larger boxes that touch, in order; each larger box holds its own */
static void check(world* w, const char* when)
{
    static icf_aabb large[MOST];
    const icf_pair* pairs = icf_broad_phase_pairs(w->b);
    int i, j, k = 0, wrong = 0, count = 0;
    for (i = 0; i < MOST; i++) {
        if (!w->used[i]) continue;
        count++;
        TEST_CHECK(icf_broad_phase_get_box(w->b, i, &large[i]) == ICF_RESULT_OK);
        if (w->box[i].lower.x > -1e30 && w->box[i].upper.x < 1e30 && w->box[i].lower.z > -1e30)
            wrong += !inside(&w->box[i], &large[i]);
    }
    TEST_CHECK_(wrong == 0, "%s: %d boxes outside their larger ones", when, wrong);
    TEST_CHECK(count == w->b->proxies);
    for (i = 0; i < MOST; i++) {
        for (j = i + 1; w->used[i] && j < MOST; j++) {
            if (!w->used[j] || (w->group[i] && w->group[i] == w->group[j]) ||
                !touch(&large[i], &large[j]))
                continue;
            if (k >= w->b->pairs || pairs[k].a != i || pairs[k].b != j) {
                TEST_CHECK_(0, "%s: pair %d should be %d %d", when, k, i, j);
                return;
            }
            k++;
        }
    }
    TEST_CHECK_(k == w->b->pairs, "%s: %d pairs, not %d", when, w->b->pairs, k);
}

static void test_pairs_after_random_changes(void)
{
    int round, step, i;
    static world w;
    random_seed(SEED);
    for (round = 0; round < times_more(12); round++) {
        int n = round % 3 ? 40 + random_below(300) : MOST;
        double space = round % 2 ? 8 : 25;
        start(&w, n, PAIRS_MOST, round % 4 == 0 ? 0.05 : 0, round % 4 == 1 ? 0 : 0.05);
        for (step = 0; step < 25; step++) {
            int changes = step % 5 == 0 ? n : random_below(n / 3 + 1);
            for (i = 0; i < changes; i++) {
                int p = random_below(n), how = random_below(10);
                if (!w.used[p]) {
                    w.box[p] = random_box(space);
                    w.group[p] = random_below(3) ? 0 : random_below(4);
                    TEST_CHECK(icf_broad_phase_add(w.b, p, &w.box[p], w.group[p]) == ICF_RESULT_OK);
                    w.used[p] = 1;
                } else if (how == 0) {
                    TEST_CHECK(icf_broad_phase_remove(w.b, p) == ICF_RESULT_OK);
                    w.used[p] = 0;
                } else {
                    icf_vec3 d = icf_vec3_make((icf_real)random_between(-0.1, 0.1),
                                               (icf_real)random_between(-0.1, 0.1), 0);
                    if (how == 1) {
                        w.box[p] = random_box(space);
                    } else {
                        w.box[p].lower = icf_vec3_add(w.box[p].lower, d);
                        w.box[p].upper = icf_vec3_add(w.box[p].upper, d);
                    }
                    TEST_CHECK(icf_broad_phase_move(w.b, p, &w.box[p]) == ICF_RESULT_OK);
                }
            }
            TEST_CHECK(icf_broad_phase_update(w.b) == ICF_RESULT_OK);
            check(&w, "after a step");
            if (step % 8 == 7) {
                // a second update has nothing to do
                int before = w.b->pairs;
                TEST_CHECK(w.b->changed == 0 && icf_broad_phase_update(w.b) == ICF_RESULT_OK &&
                           w.b->pairs == before);
            }
        }
        free(w.memory);
    }
}

/* the same boxes added in another order: the same pairs */
static void test_pairs_in_any_order(void)
{
    static world v, w;
    int i, n = 700;
    random_seed(SEED + 1);
    start(&v, n, PAIRS_MOST, 0, 0.05);
    start(&w, n, PAIRS_MOST, 0, 0.05);
    for (i = 0; i < n; i++) v.box[i] = random_box(10);
    for (i = 0; i < n; i++) {
        icf_broad_phase_add(v.b, i, &v.box[i], 0);
        icf_broad_phase_add(w.b, n - 1 - i, &v.box[n - 1 - i], 0);
        if (i % 100 == 0) icf_broad_phase_update(w.b);
    }
    icf_broad_phase_update(v.b);
    icf_broad_phase_update(w.b);
    TEST_CHECK(v.b->pairs == w.b->pairs && v.b->pairs > 500);
    TEST_CHECK(memcmp(icf_broad_phase_pairs(v.b), icf_broad_phase_pairs(w.b),
                      (size_t)v.b->pairs * sizeof(icf_pair)) == 0);
    free(v.memory);
    free(w.memory);
}

/* copied as bytes, and into a larger block, in the middle of things: both go on in the same way */
static void test_copies_go_on_alike(void)
{
    static world v, w;
    icf_broad_phase *same, *small;
    icf_broad_phase_def def = icf_default_broad_phase_def();
    void *bytes, *few;
    int i, step, n = 500, p;
    random_seed(SEED + 2);
    start(&v, n, 20000, 0, 0.05);
    start(&w, MOST, 50000, 0, 0.05);
    for (i = 0; i < n; i++) {
        v.box[i] = random_box(10);
        icf_broad_phase_add(v.b, i, &v.box[i], 0);
    }
    icf_broad_phase_update(v.b);
    for (i = 0; i < 100; i++) {
        p = random_below(n);
        v.box[p] = random_box(10);
        icf_broad_phase_move(v.b, p, &v.box[p]);
    }
    bytes = malloc(v.b->bytes);
    memcpy(bytes, v.memory, v.b->bytes);
    same = (icf_broad_phase*)bytes;
    TEST_CHECK(icf_broad_phase_copy(v.b, w.b) == ICF_RESULT_OK);
    TEST_CHECK(w.b->pairs == v.b->pairs && w.b->changed == v.b->changed);
    for (step = 0; step < 20; step++) {
        TEST_CHECK(icf_broad_phase_update(v.b) == ICF_RESULT_OK);
        TEST_CHECK(icf_broad_phase_update(w.b) == ICF_RESULT_OK);
        TEST_CHECK(icf_broad_phase_update(same) == ICF_RESULT_OK);
        TEST_CHECK(v.b->pairs == w.b->pairs && v.b->pairs == same->pairs);
        TEST_CHECK(!memcmp(icf_broad_phase_pairs(v.b), icf_broad_phase_pairs(w.b),
                           (size_t)v.b->pairs * sizeof(icf_pair)));
        TEST_CHECK(!memcmp(v.memory, bytes, v.b->bytes));
        for (i = 0; i < 60; i++) {
            icf_aabb box = random_box(10);
            p = random_below(n);
            icf_broad_phase_move(v.b, p, &box);
            icf_broad_phase_move(w.b, p, &box);
            icf_broad_phase_move(same, p, &box);
        }
    }
    def.proxies_most = n - 1;
    few = malloc(icf_broad_phase_bytes(&def));
    TEST_CHECK(icf_broad_phase_init(few, icf_broad_phase_bytes(&def), &def, &small) ==
               ICF_RESULT_OK);
    TEST_CHECK(icf_broad_phase_copy(v.b, small) == ICF_RESULT_TOO_SMALL);
    TEST_CHECK(icf_broad_phase_copy(v.b, v.b) == ICF_RESULT_BAD_ARGUMENT);
    free(few);
    free(bytes);
    free(v.memory);
    free(w.memory);
}

/* a list that is full says how long it should be, and nothing is lost */
static void test_full_list_loses_nothing(void)
{
    static world w, v;
    int i, n = 300, before;
    random_seed(SEED + 3);
    start(&w, n, 100, 0, 0.05);
    start(&v, n, PAIRS_MOST, 0, 0.05);
    for (i = 0; i < n; i++) {
        icf_aabb box = random_box(i < 60 ? 40 : 8);
        icf_broad_phase_add(w.b, i, &box, 0);
        icf_broad_phase_add(v.b, i, &box, 0);
        if (i == 59) icf_broad_phase_update(w.b);
    }
    before = w.b->pairs;
    icf_broad_phase_update(v.b);
    TEST_CHECK(icf_broad_phase_update(w.b) == ICF_RESULT_TOO_SMALL);
    TEST_CHECK(w.b->pairs == before && w.b->pairs_needed == v.b->pairs && v.b->pairs > 100);
    TEST_CHECK(icf_broad_phase_update(w.b) == ICF_RESULT_TOO_SMALL &&
               w.b->pairs_needed == v.b->pairs);
    free(v.memory);
    start(&v, n, (int)w.b->pairs_needed, 0, 0.05);
    TEST_CHECK(icf_broad_phase_copy(w.b, v.b) == ICF_RESULT_OK);
    TEST_CHECK(icf_broad_phase_update(v.b) == ICF_RESULT_OK && v.b->pairs == w.b->pairs_needed);
    free(w.memory);
    free(v.memory);
}

static void test_overlaps_and_rays(void)
{
    static world w;
    static icf_aabb large[MOST];
    static int32_t found[MOST];
    int i, k, n = 1000, hits = 0;
    random_seed(SEED + 4);
    start(&w, n, PAIRS_MOST, 0, 0.05);
    for (i = 0; i < n; i++) {
        w.box[i] = random_box(20);
        icf_broad_phase_add(w.b, i, &w.box[i], 0);
    }
    icf_broad_phase_update(w.b);
    for (i = 0; i < 200; i++) {
        // some move without an update: questions know already
        int p = random_below(n);
        w.box[p] = random_box(20);
        icf_broad_phase_move(w.b, p, &w.box[p]);
    }
    for (i = 0; i < n; i++) icf_broad_phase_get_box(w.b, i, &large[i]);
    for (k = 0; k < times_more(300); k++) {
        icf_aabb box = random_box(20);
        int count = icf_broad_phase_overlaps(w.b, &box, found, MOST), at = 0;
        for (i = 0; i < n; i++) {
            if (!touch(&box, &large[i])) continue;
            TEST_CHECK(at < count && found[at] == i);
            at++;
        }
        TEST_CHECK(at == count);
        if (count > 1) {
            int32_t one[2] = {-1, -7};
            TEST_CHECK(icf_broad_phase_overlaps(w.b, &box, one, 1) == count && one[0] >= 0 &&
                       one[1] == -7);
        }
    }
    for (k = 0; k < times_more(300); k++) {
        icf_broad_phase_ray ray;
        icf_vec3 o, d;
        int32_t p;
        int m = 0, axis;
        static char seen[MOST];
        memset(seen, 0, sizeof seen);
        o = icf_vec3_make((icf_real)random_between(-5, 25), (icf_real)random_between(-5, 25),
                          (icf_real)random_between(-5, 25));
        d = icf_vec3_make((icf_real)random_between(-1, 1), (icf_real)random_between(-1, 1),
                          (icf_real)random_between(-1, 1));
        if (k % 4 == 0) d.x = 0;
        if (k % 8 == 0) d.y = 0;
        icf_broad_phase_ray_begin(&ray, w.b, o, d, 20);
        while (icf_broad_phase_ray_next(&ray, w.b, &p)) {
            TEST_CHECK(!seen[p]);
            seen[p] = 1;
            m++;
        }
        hits += m;
        for (i = 0; i < n; i++) {
            double enter = 0, leave = 20, slack = 1e-4;
            for (axis = 0; axis < 3; axis++) {
                double x = (double)icfi_gpart(o, axis), v = (double)icfi_gpart(d, axis), s, t;
                double low = (double)icfi_gpart(large[i].lower, axis),
                       high = (double)icfi_gpart(large[i].upper, axis);
                if (v == 0) {
                    if (x < low || x > high) leave = -1;
                    continue;
                }
                s = ((v > 0 ? low : high) - x) / v;
                t = ((v > 0 ? high : low) - x) / v;
                enter = s > enter ? s : enter;
                leave = t < leave ? t : leave;
            }
            if (enter <= leave) TEST_CHECK(seen[i]);
            if (enter > leave + slack) TEST_CHECK(!seen[i]);
        }
    }
    TEST_CHECK(hits > 1000);
    free(w.memory);
}

static void test_bad_arguments(void)
{
    static world w;
    icf_broad_phase_def def = icf_default_broad_phase_def();
    icf_broad_phase* b;
    icf_aabb box;
    double block[64];
    size_t bytes = icf_broad_phase_bytes(&def);
    start(&w, 10, 10, 0, 0.05);
    box.lower = icf_vec3_make(0, 0, 0);
    box.upper = icf_vec3_make(1, 1, 1);
    TEST_CHECK(icf_broad_phase_update(w.b) == ICF_RESULT_OK && w.b->pairs == 0);
    TEST_CHECK(icf_broad_phase_overlaps(w.b, &box, NULL, 0) == 0);
    TEST_CHECK(icf_broad_phase_add(w.b, 10, &box, 0) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_broad_phase_add(w.b, -1, &box, 0) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_broad_phase_move(w.b, 3, &box) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_broad_phase_remove(w.b, 3) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_broad_phase_add(w.b, 3, &box, 0) == ICF_RESULT_OK);
    TEST_CHECK(icf_broad_phase_add(w.b, 3, &box, 0) == ICF_RESULT_BAD_ARGUMENT);
    box.upper.x = -1;
    TEST_CHECK(icf_broad_phase_move(w.b, 3, &box) == ICF_RESULT_BAD_ARGUMENT);
    box.upper.x = (icf_real)NAN;
    TEST_CHECK(icf_broad_phase_move(w.b, 3, &box) == ICF_RESULT_NOT_FINITE);
    TEST_CHECK(icf_broad_phase_add(w.b, 4, &box, 0) == ICF_RESULT_NOT_FINITE);
    TEST_CHECK(icf_broad_phase_init(w.memory, bytes - 1, &def, &b) == ICF_RESULT_TOO_SMALL && !b);
    TEST_CHECK(icf_broad_phase_init(NULL, bytes, &def, &b) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_broad_phase_init((char*)block + 1, bytes, &def, &b) == ICF_RESULT_MISALIGNED);
    def.proxies_most = 0;
    TEST_CHECK(icf_broad_phase_bytes(&def) == 0);
    memset(&def, 0, sizeof def);
    TEST_CHECK(icf_broad_phase_init(w.memory, bytes, &def, &b) == ICF_RESULT_BAD_DEF);
    free(w.memory);
}

/* one that falls for ever does not make the others slow: the tree still tells them apart */
static void test_runaway_slows_nobody(void)
{
    static world w;
    int i, small, n = 1000;
    random_seed(SEED + 5);
    start(&w, n, PAIRS_MOST, 0, 0);
    for (i = 0; i < n; i++) {
        w.box[i] = random_box(i ? 60 : 1);
        if (w.box[i].lower.x < -1e30 || w.box[i].lower.z < -1e30) w.box[i] = w.box[i - 1];
        if (i % 100 == 7) {
            w.box[i].lower.z -= (icf_real)1e9;
            w.box[i].upper.z -= (icf_real)1e9;
        }
        w.used[i] = 1;
        icf_broad_phase_add(w.b, i, &w.box[i], 0);
    }
    icf_broad_phase_update(w.b);
    check(&w, "runaway");
    // packs of neighbours are small beside the scene
    for (i = 0, small = 0; i < w.b->level_count[0]; i++) {
        icfi_gbox box;
        icfi_gpack_bounds(icfi_gpacks(w.b, 0) + i, &box);
        small += box.upper[0] - box.lower[0] < 40 && box.upper[2] - box.lower[2] < 40;
    }
    TEST_CHECK_(small > 100, "%d of %d packs are small", small, w.b->level_count[0]);
    free(w.memory);
}

TEST_LIST = {
    {"pairs_after_random_changes", test_pairs_after_random_changes},
    {"pairs_in_any_order",         test_pairs_in_any_order        },
    {"copies_go_on_alike",         test_copies_go_on_alike        },
    {"full_list_loses_nothing",    test_full_list_loses_nothing   },
    {"overlaps_and_rays",          test_overlaps_and_rays         },
    {"bad_arguments",              test_bad_arguments             },
    {"runaway_slows_nobody",       test_runaway_slows_nobody      },
    {NULL,                         NULL                           }
};
