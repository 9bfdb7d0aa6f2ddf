/* Layer 3: the arena. */

#include <assert.h>
#include <stdlib.h>

#define ICF_ASSERT(x) assert(x)
#define ICF_IMPLEMENTATION
#include "../icf.h"

#include "acutest.h"
#include "util.h"

#define MOST ((size_t)-1)

/* The pieces of a made-up object, as a layout function of the library takes them. */
static void take_all(icfi_arena* arena, size_t offsets[4], size_t n)
{
    offsets[0] = icfi_arena_take(arena, n, sizeof(icf_real));
    offsets[1] = icfi_arena_take(arena, 2 * n + 1, sizeof(int32_t));
    offsets[2] = icfi_arena_take(arena, 1, 1);
    offsets[3] = icfi_arena_take(arena, n, 3 * sizeof(icf_real));
}

/* What a measuring arena reports is what a real one needs, to the byte, and the offsets are the same. */
static void test_measure_is_real(void)
{
    size_t n;
    for (n = 0; n < 50; n++) {
        size_t wanted[4], got[4], i;
        icfi_arena measure = icfi_arena_measure(), real;
        char* block;
        take_all(&measure, wanted, n);
        TEST_CHECK(measure.result == ICF_RESULT_OK);
        block = (char*)malloc(measure.peak);
        TEST_ASSERT(block != NULL);

        real = icfi_arena_over(block, measure.peak);
        take_all(&real, got, n);
        TEST_CHECK(real.result == ICF_RESULT_OK);
        TEST_CHECK(real.used == real.capacity);
        for (i = 0; i < 4; i++) TEST_CHECK(wanted[i] == got[i]);

        real = icfi_arena_over(block, measure.peak - 1);
        take_all(&real, got, n);
        TEST_CHECK(real.result == ICF_RESULT_TOO_SMALL);
        free(block);
    }
}

/* Pieces do not overlap, start at multiples of the granule, and lie inside the block. */
static void test_pieces_do_not_overlap(void)
{
    int trial;
    random_seed(SEED);
    for (trial = 0; trial < 500; trial++) {
        icfi_arena arena = icfi_arena_measure();
        size_t end = 0;
        int i;
        for (i = 0; i < 20; i++) {
            size_t count = (size_t)random_below(40), size = (size_t)random_below(40);
            size_t at = icfi_arena_take(&arena, count, size);
            TEST_CHECK_(at % ICFI_GRANULE == 0, "piece at %lu, seed %u", (unsigned long)at, SEED);
            TEST_CHECK_(at >= end, "overlap at %lu, seed %u", (unsigned long)at, SEED);
            end = at + count * size;
            TEST_CHECK(arena.used >= end && arena.used < end + ICFI_GRANULE);
        }
        TEST_CHECK(arena.result == ICF_RESULT_OK && arena.peak == arena.used);
    }
    TEST_CHECK(ICFI_GRANULE == 32);
    TEST_CHECK(ICFI_GRANULE % ICFI_BLOCK_ALIGNMENT == 0);
    TEST_CHECK(ICFI_BLOCK_ALIGNMENT == (sizeof(void*) == 8 ? 8 : sizeof(icf_real)));
}

/* Nothing takes nothing. */
static void test_empty_pieces(void)
{
    double block[8];
    icfi_arena arena = icfi_arena_over(block, 0);
    TEST_CHECK(icfi_arena_take(&arena, 0, 8) == 0);
    TEST_CHECK(icfi_arena_take(&arena, 8, 0) == 0);
    TEST_CHECK(icfi_arena_take(&arena, MOST, 0) == 0);
    TEST_CHECK(icfi_arena_take(&arena, 0, MOST) == 0);
    TEST_CHECK(arena.result == ICF_RESULT_OK && arena.used == 0 && arena.peak == 0);
    icfi_arena_take(&arena, 1, 1);
    TEST_CHECK(arena.result == ICF_RESULT_TOO_SMALL);
}

/* count * size, the rounding up, and the sum: none of them may wrap around. */
static void test_overflow_is_seen(void)
{
    static const size_t pairs[][2] = {
        {MOST,         1   },
        {1,            MOST},
        {MOST,         MOST},
        {MOST / 2,     3   },
        {MOST / 8 + 1, 8   },
        {MOST - 1,     1   },
        {MOST - 30,    1   }
    };
    double block[64];
    size_t i;
    for (i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        icfi_arena measure = icfi_arena_measure(), real = icfi_arena_over(block, sizeof block);
        TEST_CHECK(icfi_arena_take(&measure, pairs[i][0], pairs[i][1]) == 0);
        TEST_CHECK_(measure.result == ICF_RESULT_OVERFLOW, "pair %lu gives %s", (unsigned long)i,
                    icf_result_string(measure.result));
        TEST_CHECK(measure.used == 0 && measure.peak == 0);
        icfi_arena_take(&real, pairs[i][0], pairs[i][1]);
        TEST_CHECK(real.result == ICF_RESULT_OVERFLOW || real.result == ICF_RESULT_TOO_SMALL);
    }

    /* the most there can be */
    {
        icfi_arena measure = icfi_arena_measure();
        icfi_arena_take(&measure, MOST - ICFI_GRANULE, 1);
        TEST_CHECK(measure.result == ICF_RESULT_OK && measure.used == MOST - ICFI_GRANULE + 1);
    }

    /* two pieces that fit by themselves and not together */
    {
        icfi_arena measure = icfi_arena_measure();
        icfi_arena_take(&measure, MOST / 2, 1);
        TEST_CHECK(measure.result == ICF_RESULT_OK);
        icfi_arena_take(&measure, MOST / 2, 1);
        TEST_CHECK(measure.result == ICF_RESULT_OVERFLOW);
    }
}

static void test_bad_blocks(void)
{
    double block[64];
    char* start = (char*)block;
    size_t shift;
    icfi_arena arena = icfi_arena_over(NULL, 1000);
    TEST_CHECK(arena.result == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icfi_arena_take(&arena, 1, 1) == 0 && arena.used == 0);
    TEST_CHECK(arena.result == ICF_RESULT_BAD_ARGUMENT);

    start +=
        (ICFI_BLOCK_ALIGNMENT - (uintptr_t)start % ICFI_BLOCK_ALIGNMENT) % ICFI_BLOCK_ALIGNMENT;
    for (shift = 0; shift < 2 * ICFI_BLOCK_ALIGNMENT; shift++) {
        arena = icfi_arena_over(start + shift, 256);
        TEST_CHECK(arena.result ==
                   (shift % ICFI_BLOCK_ALIGNMENT ? ICF_RESULT_MISALIGNED : ICF_RESULT_OK));
        icfi_arena_take(&arena, 1, 64);
        TEST_CHECK(arena.used == (size_t)(shift % ICFI_BLOCK_ALIGNMENT ? 0 : 64));
    }

    /* what malloc gives is aligned enough */
    for (shift = 1; shift < 200; shift++) {
        void* memory = malloc(shift);
        TEST_ASSERT(memory != NULL);
        TEST_CHECK(icfi_arena_over(memory, shift).result == ICF_RESULT_OK);
        free(memory);
    }
}

/* The first failure stays, whatever is taken after it. */
static void test_sticky_result(void)
{
    double block[16];
    icfi_arena arena = icfi_arena_over(block, sizeof block);
    icfi_arena_take(&arena, 1, 64);
    TEST_CHECK(arena.result == ICF_RESULT_OK && arena.used == 64);
    icfi_arena_take(&arena, 1, 65);
    TEST_CHECK(arena.result == ICF_RESULT_TOO_SMALL);
    TEST_CHECK(icfi_arena_take(&arena, 1, 1) == 0);
    TEST_CHECK(icfi_arena_take(&arena, MOST, MOST) == 0);
    TEST_CHECK(arena.result == ICF_RESULT_TOO_SMALL);
    TEST_CHECK(arena.used == 64 && arena.peak == 64);
}

/* Scratch is given back and taken again; the peak remembers. */
static void test_release_gives_scratch_back(void)
{
    icfi_arena arena = icfi_arena_measure();
    size_t mark, first, again;
    icfi_arena_take(&arena, 1, 32);
    mark = arena.used;
    first = icfi_arena_take(&arena, 10, 32);
    TEST_CHECK(arena.peak == 352);
    icfi_arena_release(&arena, mark);
    TEST_CHECK(arena.used == mark && arena.peak == 352);
    again = icfi_arena_take(&arena, 2, 32);
    TEST_CHECK(again == first && arena.used == 96 && arena.peak == 352);
    icfi_arena_take(&arena, 20, 32);
    TEST_CHECK(arena.used == 736 && arena.peak == 736);
    icfi_arena_release(&arena, arena.used);
    TEST_CHECK(arena.used == 736);
    icfi_arena_release(&arena, 0);
    TEST_CHECK(arena.used == 0 && arena.peak == 736);
}

TEST_LIST = {
    {"measure_is_real",            test_measure_is_real           },
    {"pieces_do_not_overlap",      test_pieces_do_not_overlap     },
    {"empty_pieces",               test_empty_pieces              },
    {"overflow_is_seen",           test_overflow_is_seen          },
    {"bad_blocks",                 test_bad_blocks                },
    {"sticky_result",              test_sticky_result             },
    {"release_gives_scratch_back", test_release_gives_scratch_back},
    {NULL,                         NULL                           },
};
