/* 02_sparse_system.c - a tree of a thousand bodies, factored once, then again where it changed

   Shows: icf_sparse, the block-sparse Cholesky of icf.h. A is the sum of the bodies' mass matrices and of
   springs between a body and its parent in the tree. icf_sparse_create takes the pattern; begin, add, factor the numbers; solve
   a right-hand side. With ICF_SPARSE_PARTIAL a change of one body redoes only the part of the factor that
   depends on it, and icf_sparse_wants_... says which blocks that part needs.

   Build: cc examples/02_sparse_system.c -lm
   Its last line: both factors solved the tree to rounding: yes */

#define ICF_IMPLEMENTATION
#include "../icf.h"

#include <stdio.h>

enum { BODIES = 1000, SIZE = 6, UNKNOWNS = BODIES * SIZE };

static icf_real mass[BODIES];      /* kg; the inertia of each body is taken as 0.1 m^2 times it */
static const icf_real spring = 50; /* kg: dt^2 times a stiffness */
static int32_t sizes[BODIES], pairs[2 * (BODIES - 1)];
static icf_real x[UNKNOWNS];

/* Adds the blocks that s wants; returns how many. */
static int add_blocks(icf_sparse* s)
{
    icf_real block[SIZE * SIZE] = {0};
    int32_t i, k, added = 0;
    for (i = 0; i < BODIES; i++) {
        int32_t springs = (i > 0) + (2 * i + 1 < BODIES) + (2 * i + 2 < BODIES);
        if (!icf_sparse_wants_diagonal(s, i)) continue;
        for (k = 0; k < SIZE; k++) {
            icf_real inertia = k < 3 ? mass[i] : mass[i] / 10;
            block[k + k * SIZE] = inertia + (icf_real)springs * spring;
        }
        icf_sparse_add_diagonal(s, i, block, SIZE);
        added++;
    }
    for (k = 0; k < SIZE; k++) block[k + k * SIZE] = -spring;
    for (i = 0; i < BODIES - 1; i++) {
        if (!icf_sparse_wants_edge(s, i)) continue;
        icf_sparse_add_edge(s, i, block, SIZE);
        added++;
    }
    return added;
}

/* Factors what was added, solves for a push of 1 on every unknown, and says whether A x gives it back. */
static int solves(icf_sparse* s)
{
    /* pushes of 1 that springs of 50 pass on, a few thousand times the rounding of 1 */
    const icf_real tolerance = sizeof(icf_real) == 8 ? ICF_R(1e-12) : ICF_R(1e-4);
    int32_t i, good = 1;
    if (icf_sparse_factor(s, NULL) != ICF_RESULT_OK) return 0;
    for (i = 0; i < UNKNOWNS; i++) x[i] = 1;
    if (icf_sparse_solve(s, x, 1, UNKNOWNS) != ICF_RESULT_OK) return 0;
    for (i = 0; i < UNKNOWNS; i++) {
        int32_t body = i / SIZE, k = i % SIZE, child;
        icf_real push = (k < 3 ? mass[body] : mass[body] / 10) * x[i];
        if (body) push += spring * (x[i] - x[(body - 1) / 2 * SIZE + k]);
        for (child = 2 * body + 1; child <= 2 * body + 2 && child < BODIES; child++) {
            push += spring * (x[i] - x[child * SIZE + k]);
        }
        good = good && ICF_FABS(push - 1) < tolerance;
    }
    return good;
}

int main(void)
{
    icf_sparse s = {0};
    int32_t i, changed = 600;
    icf_result result;
    int good;
    for (i = 0; i < BODIES; i++) {
        mass[i] = 1 + (icf_real)(i % 7);
        sizes[i] = SIZE;
        if (i == 0) continue;
        pairs[2 * (i - 1)] = (i - 1) / 2;
        pairs[2 * (i - 1) + 1] = i;
    }
    result = icf_sparse_create(&s, ICF_SPARSE_PARTIAL, BODIES, sizes, BODIES - 1, pairs);
    if (result != ICF_RESULT_OK) {
        printf("icf_sparse_create: %s\n", icf_result_string(result));
        return 1;
    }
    printf("%d unknowns in %d fronts\n", (int)s.unknowns, (int)s.fronts);

    icf_sparse_begin(&s);
    printf("the whole matrix: %d blocks added\n", add_blocks(&s));
    good = solves(&s);

    mass[changed] = 100;
    icf_sparse_begin_partial(&s, 1, &changed);
    printf("one body heavier: %d blocks added\n", add_blocks(&s));
    good = good && solves(&s);

    icf_sparse_destroy(&s);
    printf("both factors solved the tree to rounding: %s\n", good ? "yes" : "no");
    return !good;
}
