/* levers.h - a problem by matrices, and the same problem by bodies and levers. Include it after icf.h. */

#ifndef TEST_LEVERS_H
#define TEST_LEVERS_H

#include <stddef.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define LEVERS_FUNCTION __attribute__((unused)) static
#else
#define LEVERS_FUNCTION static
#endif

/* What one of the two forms has of its own; the caller's arrays, with room for matrices. `bound` may be NULL. */
typedef struct lever_form {
    int32_t* is_body;
    icf_lever* lever;
    icf_real *mass, *bound, *blocks;
} lever_form;

/* [m 1, 0; 0, J] of 7 numbers */
LEVERS_FUNCTION void matrix_of_body(const icf_real b[7], icf_real a[36])
{
    static const int at[36] = {0, 9, 9, 9, 9, 9, 9, 0, 9, 9, 9, 9, 9, 9, 0, 9, 9, 9,
                               9, 9, 9, 1, 4, 5, 9, 9, 9, 4, 2, 6, 9, 9, 9, 5, 6, 3};
    int i;
    for (i = 0; i < 36; i++) a[i] = at[i] < 7 ? b[at[i]] : 0;
}

/* sign [1, -[r]x; 0, 1], of which a link of three rows has the first three */
LEVERS_FUNCTION void matrix_of_lever(const icf_lever* l, icf_real k[36])
{
    int i;
    for (i = 0; i < 36; i++) k[i] = i % 7 ? 0 : l->sign;
    k[4] = l->sign * l->r.z;
    k[5] = -l->sign * l->r.y;
    k[9] = -l->sign * l->r.z;
    k[11] = l->sign * l->r.x;
    k[15] = l->sign * l->r.y;
    k[16] = -l->sign * l->r.x;
}

LEVERS_FUNCTION int looks_like_body(const icf_real a[36])
{
    const icf_real b[7] = {a[0], a[21], a[28], a[35], a[22], a[23], a[29]};
    icf_real same[36];
    int i;
    matrix_of_body(b, same);
    for (i = 0; i < 36 && a[i] == same[i]; i++) continue;
    return i == 36;
}

/* If so, it is written */
LEVERS_FUNCTION int looks_like_lever(int32_t rows, const icf_real* k, icf_lever* lever)
{
    icf_lever l;
    icf_real same[36];
    int i;
    if ((rows != 3 && rows != 6) || (k[0] != 1 && k[0] != -1)) return 0;
    l.sign = k[0];
    l.r = icf_vec3_make(k[0] * k[11], k[0] * k[15], k[0] * k[4]);
    matrix_of_lever(&l, same);
    for (i = 0; i < 6 * rows && k[i] == same[i]; i++) continue;
    if (i == 6 * rows) *lever = l;
    return i == 6 * rows;
}

LEVERS_FUNCTION int32_t columns_of(const icf_problem* p, int32_t block)
{
    return p->block_columns ? p->block_columns[2 * block + 1]
                            : p->clique_sizes[p->block_clique[block]];
}

LEVERS_FUNCTION icf_real* copy_numbers(icf_real* to, const icf_real* from, int32_t count)
{
    if (count) memcpy(to, from, (size_t)count * sizeof *to);
    return to + count;
}

/* A problem by matrices, by bodies and levers wherever it has the form of one. Answers how many levers. */
LEVERS_FUNCTION int use_levers(icf_problem* p, const lever_form* to)
{
    const icf_real *mass = p->mass, *bound = p->mass_bound, *block = p->blocks;
    icf_real *own = to->mass, *own_bound = to->bound, *own_block = to->blocks;
    int32_t c, l, b, i;
    int levers = 0;
    for (c = 0; c < p->cliques; c++) {
        const int32_t n = p->clique_sizes[c];
        to->is_body[c] = n == 6 && looks_like_body(mass) && (!bound || looks_like_body(bound));
        for (i = 0; i < 2; i++) {
            const icf_real* a = i ? bound : mass;
            icf_real** at = i ? &own_bound : &own;
            if (!a) continue;
            if (to->is_body[c]) {
                const icf_real body[7] = {a[0], a[21], a[28], a[35], a[22], a[23], a[29]};
                *at = copy_numbers(*at, body, 7);
            } else {
                *at = copy_numbers(*at, a, n * n);
            }
        }
        mass += n * n;
        if (bound) bound += n * n;
    }
    for (l = 0; l < p->links; l++) {
        for (b = p->link_start[l]; b < p->link_start[l + 1]; b++) {
            const int32_t n = p->link_rows[l] * columns_of(p, b);
            to->lever[b].r = icf_vec3_make(0, 0, 0);
            to->lever[b].sign = 0;
            if (to->is_body[p->block_clique[b]] &&
                looks_like_lever(p->link_rows[l], block, &to->lever[b])) {
                levers++;
            } else {
                own_block = copy_numbers(own_block, block, n);
            }
            block += n;
        }
    }
    p->clique_is_body = to->is_body;
    p->block_lever = to->lever;
    p->mass = to->mass;
    if (p->mass_bound) p->mass_bound = to->bound;
    p->blocks = to->blocks;
    return levers;
}

/* The reverse; only mass, bound and blocks of `to` are needed. */
LEVERS_FUNCTION void use_matrices(icf_problem* p, const lever_form* to)
{
    const icf_real *mass = p->mass, *bound = p->mass_bound, *block = p->blocks;
    icf_real *own = to->mass, *own_bound = to->bound, *own_block = to->blocks, a[36];
    int32_t c, l, b;
    for (c = 0; c < p->cliques; c++) {
        const int32_t n = p->clique_sizes[c], body = p->clique_is_body && p->clique_is_body[c];
        const int32_t numbers = body ? 7 : n * n;
        if (body) matrix_of_body(mass, a);
        own = copy_numbers(own, body ? a : mass, n * n);
        mass += numbers;
        if (!bound) continue;
        if (body) matrix_of_body(bound, a);
        own_bound = copy_numbers(own_bound, body ? a : bound, n * n);
        bound += numbers;
    }
    for (l = 0; l < p->links; l++) {
        for (b = p->link_start[l]; b < p->link_start[l + 1]; b++) {
            const int32_t n = p->link_rows[l] * columns_of(p, b);
            if (p->block_lever && p->block_lever[b].sign != 0) {
                matrix_of_lever(p->block_lever + b, a);
                own_block = copy_numbers(own_block, a, n);
            } else {
                own_block = copy_numbers(own_block, block, n);
                block += n;
            }
        }
    }
    p->clique_is_body = NULL;
    p->block_lever = NULL;
    p->mass = to->mass;
    if (p->mass_bound) p->mass_bound = to->bound;
    p->blocks = to->blocks;
}

#endif /* TEST_LEVERS_H */
