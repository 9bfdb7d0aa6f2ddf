/* problem_util.h - problems for icf_solve, put together clique by clique, and solves whose answers are checked for
   what holds of every solve. Include it after tested.h, acutest.h and util.h. */

#ifndef TEST_PROBLEM_UTIL_H
#define TEST_PROBLEM_UTIL_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "levers.h"

#define CANARY 64 /* bytes behind a workspace */
#define UNTOUCHED \
    0xC5 /* tests fill these bytes, and memory for the library, with this before a call */

static const double gravity = 9.81;

// ------------------------------------------------------------------------------------------------
// Scenes: a problem and the arrays that it points to

enum {
    MOST_CLIQUES = 64,
    MOST_UNKNOWNS = 160,
    MOST_MASS = 4096,
    MOST_COUPLINGS = 64,
    MOST_LINKS = 160,
    MOST_BLOCKS = 320,
    MOST_BLOCK_NUMBERS = 12000,
    MOST_CONTACTS = 200,
    MOST_ROWS = 80
};

typedef struct scene {
    icf_problem p;
    icf_contact contact[MOST_CONTACTS];
    icf_surface surface[MOST_CONTACTS]; /* of each contact, its own */
    icf_row row[MOST_ROWS];
    icf_real mass[MOST_MASS], v_free[MOST_UNKNOWNS], v_last[MOST_UNKNOWNS];
    icf_real couplings[64 * MOST_COUPLINGS], blocks[MOST_BLOCK_NUMBERS], bias[6 * MOST_LINKS];
    int32_t sizes[MOST_CLIQUES], start[MOST_CLIQUES + 1], mass_at[MOST_CLIQUES + 1];
    int32_t pairs[2 * MOST_COUPLINGS], coupling_at[MOST_COUPLINGS + 1];
    int32_t link_rows[MOST_LINKS], link_start[MOST_LINKS + 1], bias_at[MOST_LINKS + 1];
    int32_t block_clique[MOST_BLOCKS], block_at[MOST_BLOCKS + 1];
    int32_t unknowns, masses, coupling_numbers, block_count, block_numbers, biases;
    /* what scene_use_columns makes */
    int32_t part_clique[2 * MOST_BLOCKS], part_columns[4 * MOST_BLOCKS], part_start[MOST_LINKS + 1];
    /* what scene_use_levers makes, and some of it scene_use_columns */
    icf_lever lever[MOST_BLOCKS];
    int32_t is_body[MOST_CLIQUES];
    icf_real own_mass[MOST_MASS], own_bound[MOST_MASS], own_blocks[MOST_BLOCK_NUMBERS];
} scene;

/* They are large: none on the stack. */
UTIL_UNUSED static scene first_scene, second_scene;

/* The problem looks at this scene's own arrays. */
UTIL_UNUSED static void scene_connect(scene* s)
{
    s->p.clique_is_body = NULL;
    s->p.block_lever = NULL;
    s->p.block_columns = NULL;
    s->p.clique_sizes = s->sizes;
    s->p.mass = s->mass;
    s->p.v_free = s->v_free;
    s->p.v_last = s->v_last;
    s->p.coupling_pairs = s->pairs;
    s->p.coupling_blocks = s->couplings;
    s->p.link_rows = s->link_rows;
    s->p.link_start = s->link_start;
    s->p.block_clique = s->block_clique;
    s->p.blocks = s->blocks;
    s->p.link_bias = s->bias;
    s->p.surface = s->surface;
    s->p.contact = s->contact;
    s->p.row = s->row;
}

UTIL_UNUSED static scene* scene_begin(scene* s, double dt)
{
    memset(s, 0, sizeof *s);
    s->p = icf_default_problem();
    s->p.dt = R(dt);
    scene_connect(s);
    return s;
}

UTIL_UNUSED static void scene_copy(scene* to, const scene* from)
{
    *to = *from;
    scene_connect(to);
}

/* A clique with the mass matrix `mass`, size x size, at rest. */
UTIL_UNUSED static int32_t scene_clique(scene* s, int32_t size, const double* mass)
{
    int32_t i, c = s->p.cliques++;
    assert(c < MOST_CLIQUES && s->unknowns + size <= MOST_UNKNOWNS);
    assert(s->masses + size * size <= MOST_MASS);
    s->sizes[c] = size;
    s->start[c] = s->unknowns;
    s->mass_at[c] = s->masses;
    for (i = 0; i < size * size; i++) s->mass[s->masses + i] = R(mass[i]);
    s->unknowns += size;
    s->masses += size * size;
    s->start[c + 1] = s->unknowns;
    s->mass_at[c + 1] = s->masses;
    return c;
}

UTIL_UNUSED static int32_t scene_diagonal(scene* s, int32_t size, const double* diagonal)
{
    double mass[64] = {0};
    int32_t i;
    for (i = 0; i < size; i++) mass[i * (size + 1)] = diagonal[i];
    return scene_clique(s, size, mass);
}

/* A point mass. */
UTIL_UNUSED static int32_t scene_point(scene* s, double m)
{
    double diagonal[3];
    diagonal[0] = diagonal[1] = diagonal[2] = m;
    return scene_diagonal(s, 3, diagonal);
}

/* A free body: velocity and angular velocity, about its centre. */
UTIL_UNUSED static int32_t scene_body(scene* s, double m, double ix, double iy, double iz)
{
    double diagonal[6];
    diagonal[0] = diagonal[1] = diagonal[2] = m;
    diagonal[3] = ix;
    diagonal[4] = iy;
    diagonal[5] = iz;
    return scene_diagonal(s, 6, diagonal);
}

UTIL_UNUSED static int32_t scene_joint(scene* s, double m)
{
    return scene_diagonal(s, 1, &m);
}

/* A block of A, rows of p and columns of q. */
UTIL_UNUSED static void scene_coupling(scene* s, int32_t p, int32_t q, const double* block)
{
    int32_t i, e = s->p.couplings++, count = s->sizes[p] * s->sizes[q];
    assert(e < MOST_COUPLINGS && count <= 64);
    s->pairs[2 * e] = p;
    s->pairs[2 * e + 1] = q;
    s->coupling_at[e] = s->coupling_numbers;
    for (i = 0; i < count; i++) s->couplings[s->coupling_numbers + i] = R(block[i]);
    s->coupling_numbers += count;
    s->coupling_at[e + 1] = s->coupling_numbers;
}

UTIL_UNUSED static int32_t scene_link(scene* s, int32_t rows)
{
    int32_t l = s->p.links++;
    assert(l < MOST_LINKS);
    s->link_rows[l] = rows;
    s->link_start[l] = s->block_count;
    s->link_start[l + 1] = s->block_count;
    s->bias_at[l] = s->biases;
    s->biases += rows;
    s->bias_at[l + 1] = s->biases;
    return l;
}

/* Adds a block to the link made last. */
UTIL_UNUSED static icf_real* scene_block(scene* s, int32_t clique, const double* k)
{
    int32_t b = s->block_count++, l = s->p.links - 1;
    int32_t i, count = s->link_rows[l] * s->sizes[clique];
    assert(b < MOST_BLOCKS && s->block_numbers + count <= MOST_BLOCK_NUMBERS);
    s->block_clique[b] = clique;
    s->block_at[b] = s->block_numbers;
    for (i = 0; i < count; i++) s->blocks[s->block_numbers + i] = R(k[i]);
    s->block_numbers += count;
    s->block_at[b + 1] = s->block_numbers;
    s->link_start[l + 1] = s->block_count;
    return s->blocks + s->block_at[b];
}

/* Adds a block of factor times the unit matrix. */
UTIL_UNUSED static void scene_block_unit(scene* s, int32_t clique, double factor)
{
    double k[36] = {0};
    int32_t i, rows = s->link_rows[s->p.links - 1], size = s->sizes[clique];
    for (i = 0; i < rows && i < size; i++) k[i * size + i] = factor;
    scene_block(s, clique, k);
}

/* Adds the block that reads the velocity and the angular velocity of a free body at `arm` from
   its centre, times a factor. Links of three rows read the velocity alone. */
UTIL_UNUSED static void scene_block_arm(scene* s, int32_t clique, const double arm[3],
                                        double factor)
{
    double k[36] = {0};
    int32_t i, rows = s->link_rows[s->p.links - 1];
    for (i = 0; i < rows; i++) k[i * 6 + i] = factor;
    /* w x arm */
    k[0 * 6 + 4] = factor * arm[2];
    k[0 * 6 + 5] = -factor * arm[1];
    k[1 * 6 + 3] = -factor * arm[2];
    k[1 * 6 + 5] = factor * arm[0];
    k[2 * 6 + 3] = factor * arm[1];
    k[2 * 6 + 4] = -factor * arm[0];
    scene_block(s, clique, k);
}

/* From now on the problem says of bodies that they are, and of their blocks the levers: the same problem in
   fewer numbers. Answers how many levers it has. */
UTIL_UNUSED static int scene_use_levers(scene* s)
{
    lever_form own;
    own.is_body = s->is_body;
    own.lever = s->lever;
    own.mass = s->own_mass;
    own.bound = s->own_bound;
    own.blocks = s->own_blocks;
    return use_levers(&s->p, &own);
}

/* From now on each block is two, cut where `cut` says, of which either may be empty. */
UTIL_UNUSED static void scene_use_columns(scene* s, int (*cut)(int columns))
{
    icf_real* to = s->own_blocks;
    int32_t l, b, r, part, count = 0, start = 0;
    for (l = 0; l < s->p.links; l++) {
        const int32_t rows = s->link_rows[l];
        for (b = start; b < s->link_start[l + 1]; b++) {
            const int32_t c = s->block_clique[b], n = s->sizes[c], at = cut(n);
            for (part = 0; part < 2; part++, count++) {
                const int32_t first = part ? at : 0, columns = part ? n - at : at;
                s->part_clique[count] = c;
                s->part_columns[2 * count] = first;
                s->part_columns[2 * count + 1] = columns;
                for (r = 0; r < rows; r++)
                    to = copy_numbers(to, s->blocks + s->block_at[b] + r * n + first, columns);
            }
        }
        start = s->link_start[l + 1];
        s->part_start[l + 1] = count;
    }
    s->p.link_start = s->part_start;
    s->p.block_clique = s->part_clique;
    s->p.block_columns = s->part_columns;
    s->p.blocks = s->own_blocks;
}

UTIL_UNUSED static icf_contact* scene_contact(scene* s, int32_t link)
{
    icf_contact* c = &s->contact[s->p.contacts];
    assert(s->p.contacts < MOST_CONTACTS);
    *c = icf_default_contact();
    c->link = link;
    c->surface = s->p.contacts;
    s->surface[s->p.contacts] = icf_default_surface();
    s->p.surfaces = ++s->p.contacts;
    return c;
}

/* A contact like one of another scene, with such a surface */
UTIL_UNUSED static icf_contact* scene_contact_like(scene* s, const scene* other, int32_t contact)
{
    icf_contact* c = scene_contact(s, 0);
    const int32_t own = c->surface;
    *c = other->contact[contact];
    s->surface[own] = other->surface[c->surface];
    c->surface = own;
    return c;
}

/* The surface of a contact of a scene */
UTIL_UNUSED static icf_surface* surface_of(const icf_contact* c)
{
    const unsigned char* first = (const unsigned char*)(c - c->surface);
    scene* s = (scene*)(uintptr_t)(first - offsetof(scene, contact));
    return &s->surface[c->surface];
}

UTIL_UNUSED static icf_row* scene_row(scene* s, icf_row_kind kind, int32_t link, int32_t row)
{
    icf_row* r = &s->row[s->p.rows++];
    assert(s->p.rows <= MOST_ROWS);
    *r = icf_default_row(kind);
    r->link = link;
    r->row = row;
    return r;
}

/* One point mass above a floor: the scene of most closed forms. */
UTIL_UNUSED static icf_contact* scene_point_on_floor(scene* s, double dt, double m)
{
    scene_begin(s, dt);
    scene_point(s, m);
    scene_link(s, 3);
    scene_block_unit(s, 0, 1);
    return scene_contact(s, 0);
}

/* Adds the cliques, links and potentials of one scene to another. */
UTIL_UNUSED static void scene_append(scene* s, const scene* more)
{
    int32_t c, l, b, i, cliques = s->p.cliques, links = s->p.links, start = s->unknowns;
    for (c = 0; c < more->p.cliques; c++) {
        double mass[64] = {0};
        for (i = 0; i < more->sizes[c] * more->sizes[c]; i++) {
            mass[i] = (double)more->mass[more->mass_at[c] + i];
        }
        scene_clique(s, more->sizes[c], mass);
    }
    memcpy(s->v_free + start, more->v_free, (size_t)more->unknowns * sizeof(icf_real));
    memcpy(s->v_last + start, more->v_last, (size_t)more->unknowns * sizeof(icf_real));
    for (l = 0; l < more->p.links; l++) {
        scene_link(s, more->link_rows[l]);
        for (b = more->link_start[l]; b < more->link_start[l + 1]; b++) {
            double block[64] = {0};
            for (i = 0; i < more->block_at[b + 1] - more->block_at[b]; i++) {
                block[i] = (double)more->blocks[more->block_at[b] + i];
            }
            scene_block(s, more->block_clique[b] + cliques, block);
        }
        for (i = 0; i < more->link_rows[l]; i++) {
            s->bias[s->bias_at[links + l] + i] = more->bias[more->bias_at[l] + i];
        }
    }
    for (i = 0; i < more->p.contacts; i++) scene_contact_like(s, more, i)->link += links;
    for (i = 0; i < more->p.rows; i++) {
        icf_row* row = scene_row(s, ICF_ROW_LIMIT, 0, 0);
        *row = more->row[i];
        row->link += links;
    }
    for (i = 0; i < more->p.couplings; i++) {
        double block[64] = {0};
        for (c = 0; c < more->coupling_at[i + 1] - more->coupling_at[i]; c++) {
            block[c] = (double)more->couplings[more->coupling_at[i] + c];
        }
        scene_coupling(s, more->pairs[2 * i] + cliques, more->pairs[2 * i + 1] + cliques, block);
    }
}

// ------------------------------------------------------------------------------------------------
// Solving

UTIL_UNUSED static icf_workspace workspace;
UTIL_UNUSED static unsigned char* workspace_memory;
UTIL_UNUSED static size_t workspace_room;

/* `bytes` of workspace, with garbage in it. */
UTIL_UNUSED static void workspace_new(size_t bytes)
{
    if (bytes + CANARY > workspace_room) {
        free(workspace_memory);
        workspace_room = 2 * bytes + CANARY;
        workspace_memory = (unsigned char*)malloc(workspace_room);
        if (!workspace_memory) abort();
    }
    memset(workspace_memory, UNTOUCHED, bytes + CANARY);
    memset(&workspace, 0, sizeof workspace);
    TEST_CHECK(icf_workspace_init(&workspace, workspace_memory, bytes) == ICF_RESULT_OK);
}

UTIL_UNUSED static int workspace_kept(size_t bytes)
{
    size_t i;
    for (i = 0; i < CANARY; i++) {
        if (workspace_memory[bytes + i] != UNTOUCHED) return 0;
    }
    return 1;
}

/* Solves in `bytes` of workspace: what must hold of every solve is checked here. */
UTIL_UNUSED static icf_result solve_in(const scene* s, size_t bytes, const icf_options* options,
                                       icf_real* v, icf_stats* stats)
{
    icf_stats unread;
    icf_result result;
    int32_t i;
    long before;
    if (!stats) stats = &unread;
    workspace_new(bytes);
    memset(stats, UNTOUCHED, sizeof *stats);
    before = test_allocations;
    result = icf_solve(&s->p, options, &workspace, v, stats);
    TEST_CHECK(test_allocations == before);
    TEST_CHECK(workspace_kept(bytes));
    if (result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED) {
        for (i = 0; i < s->unknowns; i++) {
            if (!TEST_CHECK_(is_finite((double)v[i]), "v[%d] is not finite", (int)i)) break;
        }
        TEST_CHECK(stats->part == ICF_PART_NONE);
        TEST_CHECK(stats->iterations >= 0 && stats->factorizations >= 0);
        TEST_CHECK(stats->island_factorizations >= stats->factorizations);
        TEST_CHECK(is_finite((double)stats->cost) && is_finite((double)stats->gradient));
        TEST_CHECK(stats->certificate >= 0 && stats->momentum_error >= 0);
        TEST_CHECK(result != ICF_RESULT_OK || stats->stop == ICF_STOP_CONVERGED ||
                   stats->stop == ICF_STOP_FLOOR || stats->stop == ICF_STOP_NONE);
        TEST_CHECK(result == ICF_RESULT_OK || stats->stop >= ICF_STOP_SHORT);
        /* rounding is no excuse for a large error */
        if (stats->stop == ICF_STOP_FLOOR)
            TEST_CHECK(stats->momentum_error <= (EPS < 1e-10 ? 1e-3 : 0.1));
    } else {
        TEST_CHECK(stats->stop == ICF_STOP_NONE);
    }
    return result;
}

UTIL_UNUSED static icf_result solve(const scene* s, const icf_options* options, icf_real* v,
                                    icf_stats* stats)
{
    return solve_in(s, icf_workspace_bytes(&s->p, ICF_SPARSE_FULL), options, v, stats);
}

UTIL_UNUSED static void solve_exactly(const scene* s, icf_real* v, icf_stats* stats)
{
    icf_options o = exact();
    icf_result result = solve(s, &o, v, stats);
    TEST_CHECK_(result == ICF_RESULT_OK, "icf_solve: %s; seed %u", icf_result_string(result),
                (unsigned)SEED);
}

UTIL_UNUSED static icf_contact_result contact_result(int32_t contact)
{
    icf_contact_result result;
    memset(&result, UNTOUCHED, sizeof result);
    TEST_CHECK(icf_get_contact(&workspace, contact, &result) == ICF_RESULT_OK);
    return result;
}

UTIL_UNUSED static icf_row_result row_result(int32_t row)
{
    icf_row_result result;
    memset(&result, UNTOUCHED, sizeof result);
    TEST_CHECK(icf_get_row(&workspace, row, &result) == ICF_RESULT_OK);
    return result;
}

/* A caller who stops a solve that asks more than `most` times; for should_stop, user */
typedef struct patience {
    int asked, most;
} patience;

UTIL_UNUSED static int out_of_patience(void* user)
{
    patience* p = (patience*)user;
    return ++p->asked > p->most;
}

#endif /* TEST_PROBLEM_UTIL_H */
