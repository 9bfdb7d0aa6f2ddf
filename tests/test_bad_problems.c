/* Layer 7: problems of nothing, and those that are refused: which part, which one, and nothing changed. */

#include "tested.h"

#include "acutest.h"
#include "util.h"
#include "problem_util.h"

#include <stddef.h>

// ------------------------------------------------------------------------------------------------
// Nothing, and worse

static void test_nothing_is_solved(void)
{
    scene* s = scene_begin(&first_scene, 0.01);
    icf_problem empty;
    icf_stats stats;
    icf_real v[16] = {0};
    int i;
    /* nothing at all, with arrays and without */
    memset(&stats, UNTOUCHED, sizeof stats);
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(stats.islands == 0 && stats.iterations == 0 && stats.cost == 0 &&
               stats.certificate == 0 && stats.gradient == 0);
    empty = icf_default_problem();
    empty.dt = R(0.01);
    workspace_new(icf_workspace_bytes(&empty, ICF_SPARSE_FULL));
    TEST_CHECK(icf_solve(&empty, NULL, &workspace, NULL, &stats) == ICF_RESULT_OK);
    TEST_CHECK(icf_solve(&empty, NULL, &workspace, NULL, NULL) == ICF_RESULT_OK);

    /* cliques, one of size 0, and no link */
    scene_point(s, 2);
    scene_diagonal(s, 0, NULL);
    scene_body(s, 1, 1, 1, 1);
    for (i = 0; i < 9; i++) s->v_free[i] = R(0.1 * i - 0.3);
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(same_bits(v, s->v_free, 9 * sizeof *v));
    TEST_CHECK(stats.islands == 0 && stats.iterations == 0 && stats.cost == 0);

    /* links that nothing looks at */
    scene_link(s, 3);
    scene_block_unit(s, 0, 1);
    scene_link(s, 6);
    memset(v, 0, sizeof v);
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(same_bits(v, s->v_free, 9 * sizeof *v));

    /* one of the clique of size 0, and one of no clique, with contacts on them */
    scene_link(s, 3);
    scene_block(s, 1, NULL);
    s->bias[s->bias_at[2] + 2] = -1;
    scene_contact(s, 2)->distance = R(-0.01);
    scene_contact(s, 1)->distance = R(-0.01);
    memset(v, 0, sizeof v);
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(same_bits(v, s->v_free, 9 * sizeof *v));
    contact_result(1);
}

typedef struct refusal {
    icf_result result;
    icf_part part;
    int32_t which;
} refusal;

/* Solves what must be refused; v stays, and the results of the solve before it too, or they are
   gone. */
static refusal refused(const scene* s, const icf_problem* problem, const icf_options* options,
                       const char* what)
{
    icf_real v[MOST_UNKNOWNS] = {0}, before[MOST_UNKNOWNS];
    icf_contact_result r, kept;
    icf_stats stats;
    refusal answer;
    icf_result again;
    memcpy(v, second_scene.v_last, sizeof v);
    /* a solve that succeeds, of the untouched scene, leaves results */
    solve_exactly(&second_scene, v, NULL);
    kept = contact_result(0);
    memcpy(v, s->v_last, sizeof v);
    memcpy(before, v, sizeof v);
    memset(&stats, UNTOUCHED, sizeof stats);
    answer.result = icf_solve(problem, options, &workspace, v, &stats);
    answer.part = stats.part;
    answer.which = stats.which;
    TEST_CHECK_(answer.result != ICF_RESULT_OK && answer.result != ICF_RESULT_NOT_CONVERGED,
                "%s: %s", what, icf_result_string(answer.result));
    TEST_CHECK_(same_bits(v, before, sizeof v), "%s: v was changed", what);
    TEST_CHECK_(stats.stop == ICF_STOP_NONE, "%s: stop %d", what, (int)stats.stop);
    again = icf_get_contact(&workspace, 0, &r);
    TEST_CHECK_(again == ICF_RESULT_BAD_STATE ||
                    (again == ICF_RESULT_OK && same_bits(&r, &kept, sizeof r)),
                "%s: the results are neither what they were nor gone", what);
    return answer;
}

#define CHECK_REFUSED(scene_, what, result_, part_, which_) \
    do { \
        refusal refusal_ = refused(scene_, &(scene_)->p, NULL, what); \
        TEST_CHECK_(refusal_.result == (result_) && refusal_.part == (part_) && \
                        refusal_.which == (which_), \
                    "%s: %s, part %d, which %d, not %s, %d, %d", what, \
                    icf_result_string(refusal_.result), (int)refusal_.part, (int)refusal_.which, \
                    icf_result_string(result_), (int)(part_), (int)(which_)); \
    } while (0)

/* One number of the scene, which then is what it was */
static void refuse_real(const scene* s, icf_real* number, icf_real bad, const char* what,
                        icf_part part, int32_t which)
{
    const icf_real good = *number;
    *number = bad;
    CHECK_REFUSED(s, what, ICF_RESULT_NOT_FINITE, part, which);
    *number = good;
}

static void refuse_index(const scene* s, int32_t* number, int32_t bad, const char* what,
                         icf_part part, int32_t which)
{
    const int32_t good = *number;
    *number = bad;
    CHECK_REFUSED(s, what, ICF_RESULT_BAD_ARGUMENT, part, which);
    *number = good;
}

/* Four cliques, links of all kinds, contacts, rows and couplings, all in order. */
static void good_scene(scene* s)
{
    static const double arm[3] = {0.1, 0.2, 0.3};
    static const double spring[9] = {-0.5, 0, 0, 0, -0.5, 0, 0, 0, -0.5};
    int32_t i;
    scene_begin(s, 0.01);
    scene_point(s, 2);
    scene_body(s, 1, 0.1, 0.2, 0.3);
    scene_point(s, 3);
    scene_joint(s, 1);
    scene_link(s, 3);
    scene_block_unit(s, 0, 1);
    scene_block_unit(s, 2, -1);
    scene_link(s, 6);
    scene_block_arm(s, 1, arm, 1);
    scene_link(s, 1);
    scene_block_unit(s, 3, 1);
    scene_contact(s, 0)->distance = R(-1e-4);
    scene_contact(s, 1)->distance = R(-1e-4);
    scene_contact(s, 0)->distance = R(-2e-4);
    scene_row(s, ICF_ROW_LIMIT, 2, 0);
    scene_row(s, ICF_ROW_MOTOR, 2, 0)->damping = 1;
    scene_row(s, ICF_ROW_DRY_FRICTION, 2, 0)->effort = 1;
    scene_row(s, ICF_ROW_HOLONOMIC, 1, 4);
    scene_row(s, ICF_ROW_QUADRATIC, 1, 2)->weight = 1;
    scene_coupling(s, 2, 0, spring);
    for (i = 0; i < s->unknowns; i++) {
        s->v_last[i] = R(0.1 * i - 0.5);
        s->v_free[i] = R(0.2 - 0.1 * i);
    }
}

/* A NaN or an infinity, wherever it is. */
static void test_not_finite(void)
{
    scene* s = &first_scene;
    static icf_real bound[MOST_MASS];
    icf_real other[MOST_UNKNOWNS] = {0}, v[MOST_UNKNOWNS] = {0};
    int32_t i, c, kind;
    good_scene(&second_scene);
    for (kind = 0; kind < 3; kind++) {
        icf_real bad = kind == 0 ? NOT_A_NUMBER : kind == 1 ? INFINITE : -INFINITE;
        good_scene(s);
        for (c = 0; c < s->p.cliques; c++) {
            for (i = s->mass_at[c]; i < s->mass_at[c + 1]; i++)
                refuse_real(s, &s->mass[i], bad, "mass", ICF_PART_CLIQUE, c);
            for (i = s->start[c]; i < s->start[c + 1]; i++) {
                refuse_real(s, &s->v_free[i], bad, "v_free", ICF_PART_CLIQUE, c);
                /* s->v_last is v as well, in `refused` */
                refuse_real(s, &s->v_last[i], bad, "v_last and v", ICF_PART_CLIQUE, c);
                s->p.v_last = second_scene.v_last;
                refuse_real(s, &s->v_last[i], bad, "v", ICF_PART_CLIQUE, c);
                s->p.v_last = NULL;
                refuse_real(s, &s->v_last[i], bad, "v, no v_last", ICF_PART_CLIQUE, c);
                s->p.v_last = other;
                memcpy(other, s->v_last, sizeof other);
                refuse_real(s, &other[i], bad, "v_last", ICF_PART_CLIQUE, c);
                s->p.v_last = s->v_last;
            }
            memset(bound, 0, sizeof bound);
            for (i = 0; i < s->masses; i++) bound[i] = s->mass[i] / 2;
            s->p.mass_bound = bound;
            bound[s->mass_at[c]] = bad;
            CHECK_REFUSED(s, "mass_bound", ICF_RESULT_NOT_FINITE, ICF_PART_CLIQUE, c);
            s->p.mass_bound = NULL;
        }
        for (i = 0; i < 9; i++)
            refuse_real(s, &s->couplings[i], bad, "coupling", ICF_PART_COUPLING, 0);
        for (c = 0; c < s->block_count; c++) {
            for (i = s->block_at[c]; i < s->block_at[c + 1]; i++)
                refuse_real(s, &s->blocks[i], bad, "block", ICF_PART_BLOCK, c);
        }
        for (c = 0; c < s->p.links; c++) {
            for (i = s->bias_at[c]; i < s->bias_at[c + 1]; i++)
                refuse_real(s, &s->bias[i], bad, "bias", ICF_PART_LINK, c);
        }
        s->p.dt = bad;
        {
            refusal r = refused(s, &s->p, NULL, "dt");
            TEST_CHECK(r.part == ICF_PART_PROBLEM && r.which == 0);
            TEST_CHECK(r.result == ICF_RESULT_NOT_FINITE ||
                       (kind == 2 && r.result == ICF_RESULT_BAD_ARGUMENT));
        }
        s->p.dt = R(0.01);
        /* and it was always the number */
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, NULL);
    }
}

typedef struct part_number {
    const char* name;
    size_t at;
    int32_t kind; /* of row that reads it */
} part_number;

#define CONTACT(member) \
    { \
#member, offsetof(icf_contact, member), 0 \
    }
#define SURFACE(member) \
    { \
#member, offsetof(icf_surface, member), 0 \
    }
#define ROW(kind, member) \
    { \
#member, offsetof(icf_row, member), kind \
    }
static const part_number contact_numbers[] = {
    CONTACT(point.x),  CONTACT(point.z),  CONTACT(normal.x),
    CONTACT(normal.y), CONTACT(normal.z), CONTACT(distance),
    CONTACT(force),    CONTACT(weight),   CONTACT(effective_mass_inverse),
    CONTACT(pull.x),   CONTACT(pull.z),   CONTACT(twist.y)};
static const part_number surface_numbers[] = {
    SURFACE(tangent.x),      SURFACE(tangent.y),  SURFACE(tangent.z),  SURFACE(velocity.x),
    SURFACE(velocity.y),     SURFACE(velocity.z), SURFACE(stiffness),  SURFACE(dissipation),
    SURFACE(relaxation),     SURFACE(range),      SURFACE(near_rigid), SURFACE(adhesion),
    SURFACE(adhesion_range), SURFACE(friction),   SURFACE(friction2),  SURFACE(friction_static),
    SURFACE(slip_tolerance), SURFACE(softness),   SURFACE(torsion),    SURFACE(rolling),
    SURFACE(spin_tolerance)};
static const part_number row_numbers[] = {ROW(ICF_ROW_LIMIT, sign),
                                          ROW(ICF_ROW_LIMIT, distance),
                                          ROW(ICF_ROW_LIMIT, stiffness),
                                          ROW(ICF_ROW_LIMIT, relaxation),
                                          ROW(ICF_ROW_LIMIT, near_rigid),
                                          ROW(ICF_ROW_HOLONOMIC, distance),
                                          ROW(ICF_ROW_HOLONOMIC, stiffness),
                                          ROW(ICF_ROW_HOLONOMIC, relaxation),
                                          ROW(ICF_ROW_HOLONOMIC, near_rigid),
                                          ROW(ICF_ROW_MOTOR, stiffness),
                                          ROW(ICF_ROW_MOTOR, damping),
                                          ROW(ICF_ROW_MOTOR, error),
                                          ROW(ICF_ROW_MOTOR, target),
                                          ROW(ICF_ROW_MOTOR, feedforward),
                                          ROW(ICF_ROW_MOTOR, effort),
                                          ROW(ICF_ROW_DRY_FRICTION, effort),
                                          ROW(ICF_ROW_DRY_FRICTION, slip_tolerance),
                                          ROW(ICF_ROW_DRY_FRICTION, softness),
                                          ROW(ICF_ROW_QUADRATIC, target),
                                          ROW(ICF_ROW_QUADRATIC, weight)};

/* Every number of a contact and of a row. */
static void test_not_finite_potentials(void)
{
    scene* s = &first_scene;
    int32_t which, kind;
    size_t i;
    good_scene(&second_scene);
    good_scene(s);
    s->surface[1].torsion = R(0.01);
    s->surface[1].rolling = R(0.01);
    for (kind = 0; kind < 2; kind++) {
        const icf_real bad = kind ? INFINITE : NOT_A_NUMBER;
        for (which = 0; which < s->p.contacts; which++) {
            for (i = 0; i < sizeof contact_numbers / sizeof *contact_numbers; i++) {
                const part_number* n = &contact_numbers[i];
                icf_real* number = (icf_real*)(void*)((char*)&s->contact[which] + n->at);
                refuse_real(s, number, bad, n->name, ICF_PART_CONTACT, which);
            }
        }
        for (which = 0; which < s->p.surfaces; which++) {
            for (i = 0; i < sizeof surface_numbers / sizeof *surface_numbers; i++) {
                const part_number* n = &surface_numbers[i];
                icf_real* number = (icf_real*)(void*)((char*)&s->surface[which] + n->at);
                refuse_real(s, number, bad, n->name, ICF_PART_SURFACE, which);
            }
        }
        for (which = 0; which < s->p.rows; which++) {
            for (i = 0; i < sizeof row_numbers / sizeof *row_numbers; i++) {
                const part_number* n = &row_numbers[i];
                icf_real* number = (icf_real*)(void*)((char*)&s->row[which] + n->at);
                if (n->kind == (int32_t)s->row[which].kind)
                    refuse_real(s, number, bad, n->name, ICF_PART_ROW, which);
            }
        }
    }
}

/* Numbers that are good each by itself, and too large together: each contact and row is named by its
   number. */
static void test_too_large_together(void)
{
    scene* s = &first_scene;
    int32_t i;
    good_scene(&second_scene);
    good_scene(s);
    for (i = 0; i < s->p.rows; i++) {
        icf_row good = s->row[i];
        s->row[i].kind = ICF_ROW_MOTOR;
        s->row[i].stiffness = s->row[i].error = REAL_MAX;
        CHECK_REFUSED(s, "a motor", ICF_RESULT_NOT_FINITE, ICF_PART_ROW, i);
        s->row[i] = good;
    }
    for (i = 0; i < s->p.contacts; i++) {
        const icf_contact good = s->contact[i];
        const icf_surface surface = s->surface[i];
        s->surface[i].stiffness = REAL_MAX;
        s->contact[i].distance = -REAL_MAX;
        CHECK_REFUSED(s, "a contact", ICF_RESULT_NOT_FINITE, ICF_PART_CONTACT, i);
        s->contact[i] = good;
        s->surface[i] = surface;
    }
}

static void test_bad_mass(void)
{
    scene* s = &first_scene;
    int32_t i;
    icf_real v[MOST_UNKNOWNS] = {0};
    good_scene(&second_scene);
    good_scene(s);
    /* two triangles that differ */
    s->mass[s->mass_at[1] + 1] = R(0.01);
    CHECK_REFUSED(s, "asymmetric", ICF_RESULT_NOT_SYMMETRIC, ICF_PART_CLIQUE, 1);
    s->mass[s->mass_at[1] + 6] = R(-0.01);
    CHECK_REFUSED(s, "antisymmetric", ICF_RESULT_NOT_SYMMETRIC, ICF_PART_CLIQUE, 1);
    /* by rounding: that is what R I R' gives, and no reason to refuse */
    s->mass[s->mass_at[1] + 6] = R(0.01 * (1 + 2 * EPS));
    memcpy(v, s->v_last, sizeof v);
    TEST_CHECK(solve(s, NULL, v, NULL) == ICF_RESULT_OK);
    good_scene(s);
    for (i = 0; i < s->p.cliques; i++) {
        icf_real good = s->mass[s->mass_at[i]];
        s->mass[s->mass_at[i]] = 0;
        CHECK_REFUSED(s, "singular", ICF_RESULT_NOT_SPD, ICF_PART_CLIQUE, i);
        s->mass[s->mass_at[i]] = -1;
        CHECK_REFUSED(s, "negative", ICF_RESULT_NOT_SPD, ICF_PART_CLIQUE, i);
        s->mass[s->mass_at[i]] = good;
    }
    /* indefinite, with a good diagonal */
    s->mass[s->mass_at[2] + 1] = s->mass[s->mass_at[2] + 3] = 5;
    CHECK_REFUSED(s, "indefinite", ICF_RESULT_NOT_SPD, ICF_PART_CLIQUE, 2);
    good_scene(s);
    /* a bound that is none */
    {
        static icf_real bound[MOST_MASS];
        for (i = 0; i < s->masses; i++) bound[i] = s->mass[i] / 2;
        s->p.mass_bound = bound;
        memcpy(v, s->v_last, sizeof v);
        TEST_CHECK(solve(s, NULL, v, NULL) == ICF_RESULT_OK);
        bound[s->mass_at[2]] = -1;
        CHECK_REFUSED(s, "bound", ICF_RESULT_NOT_SPD, ICF_PART_CLIQUE, 2);
        bound[s->mass_at[2]] = 1;
        bound[s->mass_at[2] + 1] = 1;
        CHECK_REFUSED(s, "asymmetric bound", ICF_RESULT_NOT_SYMMETRIC, ICF_PART_CLIQUE, 2);
    }
    /* blocks that are fine and a whole that is not */
    good_scene(s);
    s->couplings[0] = -5;
    {
        refusal r = refused(s, &s->p, NULL, "coupled beyond");
        TEST_CHECK(r.result == ICF_RESULT_NOT_SPD);
        TEST_CHECK(r.part == ICF_PART_CLIQUE || r.part == ICF_PART_COUPLING ||
                   r.part == ICF_PART_PROBLEM);
    }
}

static void test_bad_indices(void)
{
    static const int32_t out[] = {-1, 4, 1000000000, -1000000000};
    scene* s = &first_scene;
    int32_t i;
    size_t k;
    good_scene(&second_scene);
    good_scene(s);
    for (k = 0; k < 4; k++) {
        for (i = 0; i < s->block_count; i++)
            refuse_index(s, &s->block_clique[i], out[k], "clique of a block", ICF_PART_BLOCK, i);
        for (i = 0; i < 2; i++)
            refuse_index(s, &s->pairs[i], out[k], "clique of a coupling", ICF_PART_COUPLING, 0);
        for (i = 0; i < s->p.contacts; i++) {
            refuse_index(s, &s->contact[i].link, out[k], "link of a contact", ICF_PART_CONTACT, i);
            refuse_index(s, &s->contact[i].surface, k == 1 ? s->p.surfaces : out[k],
                         "surface of a contact", ICF_PART_CONTACT, i);
            refuse_index(s, &s->surface[i].law, k == 1 ? 6 : out[k], "law", ICF_PART_SURFACE, i);
            refuse_index(s, &s->surface[i].model, k == 1 ? 3 : out[k], "model", ICF_PART_SURFACE,
                         i);
        }
        for (i = 0; i < s->p.rows; i++) {
            refuse_index(s, &s->row[i].link, out[k], "link of a row", ICF_PART_ROW, i);
            refuse_index(s, &s->row[i].row, k == 1 ? s->link_rows[s->row[i].link] : out[k],
                         "row of a link", ICF_PART_ROW, i);
            refuse_index(s, &s->row[i].kind, k == 1 ? 5 : out[k], "kind", ICF_PART_ROW, i);
        }
        for (i = 0; i < s->p.links; i++)
            refuse_index(s, &s->link_rows[i],
                         k == 1   ? 7
                         : k == 0 ? 0
                                  : out[k],
                         "rows of a link", ICF_PART_LINK, i);
        if (out[k] < 0) {
            for (i = 0; i < s->p.cliques; i++) {
                const int32_t good = s->sizes[i];
                s->sizes[i] = out[k];
                CHECK_REFUSED(s, "size of a clique", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CLIQUE, i);
                TEST_CHECK(icf_workspace_bytes(&s->p, ICF_SPARSE_FULL) == 0);
                s->sizes[i] = good;
            }
        }
    }
    /* a clique coupled with itself */
    s->pairs[1] = 2;
    CHECK_REFUSED(s, "coupled with itself", ICF_RESULT_BAD_ARGUMENT, ICF_PART_COUPLING, 0);
    s->pairs[1] = 0;
    /* link_start that falls, or does not start at 0 */
    s->link_start[1] = 4;
    CHECK_REFUSED(s, "link_start falls", ICF_RESULT_BAD_ARGUMENT, ICF_PART_LINK, 1);
    s->link_start[1] = -1;
    CHECK_REFUSED(s, "link_start below 0", ICF_RESULT_BAD_ARGUMENT, ICF_PART_LINK, 0);
    s->link_start[1] = 2;
    s->link_start[0] = 1;
    CHECK_REFUSED(s, "link_start at 1", ICF_RESULT_BAD_ARGUMENT, ICF_PART_LINK, 0);
    s->link_start[0] = 0;
    /* a clique twice in a link */
    s->block_clique[1] = 0;
    CHECK_REFUSED(s, "twice in a link", ICF_RESULT_BAD_ARGUMENT, ICF_PART_BLOCK, 1);
    s->block_clique[1] = 2;
    /* contacts on links of other than 3 and 6 rows */
    s->contact[1].link = 2;
    CHECK_REFUSED(s, "contact on one row", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 1);
}

static void test_bad_contacts(void)
{
    scene* s = &first_scene;
    icf_contact* c = &s->contact[1]; /* on six rows */
    icf_surface *f, good_surface;
    icf_contact good;
    good_scene(&second_scene);
    good_scene(s);
    f = surface_of(c);
    good = *c;
    good_surface = *f;
#define CHECK_PART(change, part) \
    do { \
        *c = good; \
        *f = good_surface; \
        change; \
        CHECK_REFUSED(s, #change, ICF_RESULT_BAD_ARGUMENT, part, 1); \
    } while (0)
#define CHECK_CONTACT(change) CHECK_PART(change, ICF_PART_CONTACT)
#define CHECK_SURFACE(change) CHECK_PART(change, ICF_PART_SURFACE)
    CHECK_CONTACT(c->normal = icf_vec3_make(0, 0, 0));
    CHECK_CONTACT(c->normal = icf_vec3_make(0, 0, R(1.5)));
    CHECK_CONTACT(c->normal = icf_vec3_make(0, 0, R(0.9)));
    CHECK_CONTACT(c->effective_mass_inverse = -1);
    CHECK_CONTACT(c->weight = -1);
    CHECK_SURFACE(f->stiffness = -1);
    CHECK_SURFACE(f->dissipation = -1);
    CHECK_SURFACE((f->law = ICF_LAW_KELVIN_VOIGT, f->relaxation = -1));
    CHECK_SURFACE((f->model = ICF_MODEL_SAP, f->relaxation = -1));
    CHECK_SURFACE((f->law = ICF_LAW_IPC_BARRIER, c->distance = R(1e-4), f->range = 0));
    CHECK_SURFACE((f->law = ICF_LAW_LOG_BARRIER, c->distance = R(1e-4), f->range = -1));
    CHECK_SURFACE((f->by_force = 1, f->law = ICF_LAW_HERTZ));
    CHECK_SURFACE((f->by_force = 1, f->model = ICF_MODEL_SAP, f->stiffness = 0));
    CHECK_SURFACE(f->friction = R(-0.1));
    CHECK_SURFACE(f->slip_tolerance = 0);
    CHECK_SURFACE(f->slip_tolerance = R(-1e-4));
    CHECK_SURFACE(f->softness = R(-1e-3));
    CHECK_SURFACE((f->model = ICF_MODEL_SAP, f->softness = 0));
    CHECK_SURFACE((f->model = ICF_MODEL_SAP, f->friction2 = R(0.3)));
    CHECK_SURFACE(f->torsion = -1);
    CHECK_SURFACE(f->rolling = -1);
    CHECK_SURFACE((f->torsion = R(0.1), f->spin_tolerance = 0));
    CHECK_SURFACE(f->adhesion = -1);
    *c = good;
    *f = good_surface;
#undef CHECK_PART
#undef CHECK_CONTACT
#undef CHECK_SURFACE
    /* what takes a link of six rows */
    s->contact[0].point = icf_vec3_make(R(0.1), 0, 0);
    CHECK_REFUSED(s, "point on three rows", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 0);
    s->contact[0].point = icf_vec3_make(0, 0, 0);
    s->surface[0].rolling = R(0.1);
    CHECK_REFUSED(s, "rolling on three rows", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 0);
    s->surface[0].rolling = 0;
    s->surface[0].torsion = R(0.1);
    CHECK_REFUSED(s, "torsion on three rows", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 0);
    s->surface[0].torsion = 0;
    /* structs that no default function made */
    memset(&s->contact[2], 0, sizeof s->contact[2]);
    CHECK_REFUSED(s, "zeroed contact", ICF_RESULT_BAD_DEF, ICF_PART_CONTACT, 2);
    memset(&s->surface[2], 0, sizeof s->surface[2]);
    CHECK_REFUSED(s, "zeroed surface", ICF_RESULT_BAD_DEF, ICF_PART_SURFACE, 2);
}

static void test_bad_rows(void)
{
    scene* s = &first_scene;
    icf_row* r;
    icf_row good;
    good_scene(&second_scene);
    good_scene(s);
#define CHECK_ROW(change) \
    do { \
        good = *r; \
        change; \
        CHECK_REFUSED(s, #change, ICF_RESULT_BAD_ARGUMENT, ICF_PART_ROW, (int32_t)(r - s->row)); \
        *r = good; \
    } while (0)
    r = &s->row[0]; /* limit */
    CHECK_ROW(r->sign = 0);
    CHECK_ROW(r->sign = R(0.5));
    CHECK_ROW(r->stiffness = -1);
    CHECK_ROW(r->relaxation = -1);
    CHECK_ROW(r->near_rigid = 0);
    CHECK_ROW(r->near_rigid = -1);
    r = &s->row[1]; /* motor */
    CHECK_ROW(r->stiffness = -1);
    CHECK_ROW(r->damping = -1);
    r = &s->row[2]; /* dry friction */
    CHECK_ROW(r->effort = -1);
    CHECK_ROW(r->slip_tolerance = 0);
    CHECK_ROW(r->softness = -1);
    r = &s->row[3]; /* holonomic */
    CHECK_ROW(r->stiffness = -1);
    CHECK_ROW(r->relaxation = -1);
    CHECK_ROW(r->near_rigid = 0);
    r = &s->row[4]; /* quadratic */
    CHECK_ROW(r->weight = -1);
#undef CHECK_ROW
    memset(&s->row[3], 0, sizeof s->row[3]);
    CHECK_REFUSED(s, "zeroed row", ICF_RESULT_BAD_DEF, ICF_PART_ROW, 3);
}

static void test_bad_problem(void)
{
    scene* s = &first_scene;
    icf_options o;
    refusal r;
    icf_real v[MOST_UNKNOWNS] = {0};
    icf_stats stats;
    good_scene(&second_scene);
    good_scene(s);
#define CHECK_PROBLEM(member, value) \
    do { \
        good_scene(s); \
        s->p.member = value; \
        CHECK_REFUSED(s, #member " = " #value, ICF_RESULT_BAD_ARGUMENT, ICF_PART_PROBLEM, 0); \
    } while (0)
    CHECK_PROBLEM(dt, 0);
    CHECK_PROBLEM(dt, R(-0.01));
    CHECK_PROBLEM(cliques, -1);
    CHECK_PROBLEM(couplings, -1);
    CHECK_PROBLEM(links, -1);
    CHECK_PROBLEM(surfaces, -1);
    CHECK_PROBLEM(contacts, -1);
    CHECK_PROBLEM(rows, -1);
    CHECK_PROBLEM(clique_sizes, NULL);
    CHECK_PROBLEM(mass, NULL);
    CHECK_PROBLEM(v_free, NULL);
    CHECK_PROBLEM(coupling_pairs, NULL);
    CHECK_PROBLEM(coupling_blocks, NULL);
    CHECK_PROBLEM(link_rows, NULL);
    CHECK_PROBLEM(link_start, NULL);
    CHECK_PROBLEM(block_clique, NULL);
    CHECK_PROBLEM(blocks, NULL);
    CHECK_PROBLEM(surface, NULL);
    CHECK_PROBLEM(contact, NULL);
    CHECK_PROBLEM(row, NULL);
#undef CHECK_PROBLEM
    good_scene(s);
    r = refused(s, NULL, NULL, "no problem");
    TEST_CHECK(r.result == ICF_RESULT_BAD_ARGUMENT && r.part == ICF_PART_PROBLEM && r.which == 0);
    memcpy(v, s->v_last, sizeof v);
    TEST_CHECK(icf_solve(&s->p, NULL, NULL, v, &stats) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(stats.stop == ICF_STOP_NONE && stats.part == ICF_PART_PROBLEM);
    TEST_CHECK(icf_solve(&s->p, NULL, &workspace, NULL, &stats) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(stats.stop == ICF_STOP_NONE && stats.part == ICF_PART_PROBLEM);
    TEST_CHECK(icf_solve(NULL, NULL, NULL, NULL, NULL) == ICF_RESULT_BAD_ARGUMENT);

    /* no bias is a bias of 0, and 0 of something takes no array */
    s->p.link_bias = NULL;
    solve_exactly(s, v, NULL);

    memset(&o, 0, sizeof o);
    r = refused(s, &s->p, &o, "zeroed options");
    TEST_CHECK(r.result == ICF_RESULT_BAD_DEF && r.part == ICF_PART_OPTIONS && r.which == 0);
#define CHECK_OPTION(member, value, result_) \
    do { \
        o = icf_default_options(); \
        o.member = value; \
        r = refused(s, &s->p, &o, #member); \
        TEST_CHECK_(r.result == (result_) && r.part == ICF_PART_OPTIONS && r.which == 0, \
                    "%s: %s, part %d, which %d", #member " = " #value, \
                    icf_result_string(r.result), (int)r.part, (int)r.which); \
    } while (0)
    CHECK_OPTION(tolerance, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(tolerance, NOT_A_NUMBER, ICF_RESULT_NOT_FINITE);
    CHECK_OPTION(energy, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(energy, NOT_A_NUMBER, ICF_RESULT_NOT_FINITE);
    CHECK_OPTION(iterations, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(factorizations, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(history_capacity, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(history_capacity, 3, ICF_RESULT_BAD_ARGUMENT); /* and no array */
#undef CHECK_OPTION
}

/* Sizes whose products are beyond all integers are refused before anything is read. */
static void test_huge_sizes(void)
{
    scene* s = &first_scene;
    int32_t i;
    icf_result result;
    icf_real v[MOST_UNKNOWNS] = {0};
    icf_stats stats;
    good_scene(s);
    memcpy(v, s->v_last, sizeof v);
    for (i = 0; i < 4; i++) s->sizes[i] = 2000000000;
    TEST_CHECK(icf_workspace_bytes(&s->p, ICF_SPARSE_FULL) == 0);
    workspace_new(1000);
    memset(&stats, UNTOUCHED, sizeof stats);
    result = icf_solve(&s->p, NULL, &workspace, v, &stats);
    TEST_CHECK_(result == ICF_RESULT_OVERFLOW || result == ICF_RESULT_TOO_SMALL, "%s",
                icf_result_string(result));
    TEST_CHECK(stats.stop == ICF_STOP_NONE);
    TEST_CHECK(same_bits(v, s->v_last, sizeof v));
}

TEST_LIST = {
    {"nothing_is_solved",     test_nothing_is_solved    },
    {"not_finite",            test_not_finite           },
    {"not_finite_potentials", test_not_finite_potentials},
    {"too_large_together",    test_too_large_together   },
    {"bad_mass",              test_bad_mass             },
    {"bad_indices",           test_bad_indices          },
    {"bad_contacts",          test_bad_contacts         },
    {"bad_rows",              test_bad_rows             },
    {"bad_problem",           test_bad_problem          },
    {"huge_sizes",            test_huge_sizes           },
    {NULL,                    NULL                      }
};
