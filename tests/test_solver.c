/* Layer 7: answers of the solver against a second opinion, whatever the order and the form a problem is given in;
   what it says of them. Other tests of it: test_laws.c, test_workspace.c, test_convergence.c, test_bad_problems.c, and
   for the problems in tests/golden test_golden.c. */

#include "tested.h"

#include "acutest.h"
#include "util.h"
#include "problem_util.h"
#include "second_opinion.h"
#include "random_problems.h"

// ------------------------------------------------------------------------------------------------
// Random problems

/* Every answer is checked against impulses in long double, and those of some families with the
   answer of a minimiser that shares nothing with the library. */
static void test_second_opinion(void)
{
    int family, trial, open = 0, stick = 0, slip = 0, minimised = 0;
    for (family = 0; family < FAMILIES; family++) {
        TEST_CASE(families[family].name);
        for (trial = 0; trial < 25; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            icf_stats stats;
            int32_t i;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 1, 6, 1, 8);
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, &stats);
            check_answer(s, v, families[family].name);
            for (i = 0; i < s->p.contacts; i++) {
                icf_contact_result r = contact_result(i);
                open += r.mode == ICF_MODE_OPEN;
                stick += r.mode == ICF_MODE_STICK;
                slip += r.mode == ICF_MODE_SLIP;
                CHECK_NEAR(r.w, opinion.pieces[i].w, 100 * EPS, 0);
            }
            if (!(families[family].features & WITH_BARRIERS) && trial < 8) {
                wide x[MOST_UNKNOWNS] = {0};
                double off;
                memcpy(x, opinion.v_free, sizeof x);
                if (!TEST_CHECK_(opinion_minimise(x), "trial %d: no second opinion, %g; seed %u",
                                 trial, (double)opinion_distance(x), (unsigned)SEED)) {
                    continue;
                }
                minimised++;
                off = relative_distance(s, v, x);
                TEST_CHECK_(off <= 200 * EPS, "trial %d: %g from the second opinion; seed %u",
                            trial, off, (unsigned)SEED);
            }
        }
    }
    TEST_CASE(NULL);
    /* all that contacts can do is among them */
    TEST_CHECK_(open >= 200 && stick >= 50 && slip >= 300, "%d open, %d stick, %d slip", open,
                stick, slip);
    TEST_CHECK(minimised >= 40);
}

/* Where a solve starts makes no difference but for the iterations. */
static void test_random_starts(void)
{
    int family, trial, start, open = 0, stick = 0, slip = 0;
    for (family = 0; family < FAMILIES; family++) {
        TEST_CASE(families[family].name);
        for (trial = 0; trial < 30; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
            wide x[MOST_UNKNOWNS] = {0};
            int32_t i;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 3, 4, 4, 8);
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, NULL);
            for (i = 0; i < s->p.contacts; i++) {
                icf_contact_result r = contact_result(i);
                open += r.mode == ICF_MODE_OPEN;
                stick += r.mode == ICF_MODE_STICK;
                slip += r.mode == ICF_MODE_SLIP;
            }
            opinion_make(s);
            widen(s->unknowns, v, x);
            for (start = 0; start < 6; start++) {
                static const double speeds[] = {0, 0.01, 1, 30, 1000};
                /* from the last one costs overflow */
                const double speed = start < 5 ? speeds[start] : 1e6 * sqrt((double)REAL_MAX);
                double off;
                random_start(s, speed, other);
                solve_exactly(s, other, NULL);
                off = relative_distance(s, other, x);
                TEST_CHECK_(off <= 200 * EPS, "trial %d, from %g m/s: %g off; seed %u", trial,
                            speed, off, (unsigned)SEED);
            }
        }
    }
    TEST_CASE(NULL);
    TEST_CHECK_(open >= 400 && stick >= 100 && slip >= 500, "%d open, %d stick, %d slip", open,
                stick, slip);
}

/* A start from far behind the barriers or far in front of them costs iterations and nothing
   else. */
static void test_barriers_from_afar(void)
{
    static icf_iteration history[1001];
    int trial, start;
    for (trial = 0; trial < 40; trial++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        wide x[MOST_UNKNOWNS] = {0};
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, WITH_LAGGED | WITH_BARRIERS, 2, 6, 3, 9);
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, NULL);
        opinion_make(s);
        widen(s->unknowns, v, x);
        for (start = 0; start < 4; start++) {
            static const double speeds[] = {3, 100, 1000, 1e4};
            icf_options o = exact();
            icf_stats stats;
            icf_result result;
            int32_t i;
            double off;
            o.history = history;
            o.history_capacity = 1001;
            random_start(s, speeds[start], other);
            result = solve(s, &o, other, &stats);
            TEST_CHECK_(result == ICF_RESULT_OK, "trial %d, from %g m/s: %s; seed %u", trial,
                        speeds[start], icf_result_string(result), (unsigned)SEED);
            for (i = 1; i < stats.history; i++) {
                /* a fall of many orders leaves the rounding of where it began */
                if (!TEST_CHECK_((double)history[i].cost <=
                                     (1 + 100 * EPS) * (double)history[i - 1].cost,
                                 "trial %d, from %g m/s: from %g to %g at iteration %d; seed %u",
                                 trial, speeds[start], (double)history[i - 1].cost,
                                 (double)history[i].cost, (int)i, (unsigned)SEED)) {
                    break;
                }
            }
            off = relative_distance(s, other, x);
            TEST_CHECK_(off <= 200 * EPS, "trial %d, from %g m/s: %g off; seed %u", trial,
                        speeds[start], off, (unsigned)SEED);
        }
    }
}

/* Without v_last friction looks back to where the solve starts. */
static void test_no_last(void)
{
    int family;
    for (family = 0; family < FAMILIES; family++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        random_seed(SEED + (uint32_t)family);
        random_scene(s, families[family].features, 5, 0, 6, 0);
        memcpy(v, s->v_last, sizeof v);
        memcpy(other, v, sizeof v);
        solve_exactly(s, v, NULL);
        s->p.v_last = NULL;
        solve_exactly(s, other, NULL);
        TEST_CHECK_(same_bits(v, other, (size_t)s->unknowns * sizeof *v), "%s",
                    families[family].name);
    }
}

// ------------------------------------------------------------------------------------------------
// Structure

/* A contact of a link of six rows, with a point, a normal and a tangent, is the contact of an
   explicit link of three rows. */
static void test_frames_are_rows(void)
{
    int trial, model, k;
    random_seed(SEED);
    for (trial = 0; trial < 40; trial++) {
        scene *s = scene_begin(&first_scene, 0.01), *t = scene_begin(&second_scene, 0.01);
        double mass[64] = {0}, block[2][36];
        icf_real v[12] = {0}, other[12] = {0};
        int32_t i, j, b, contacts = 1 + random_below(4);
        for (b = 0; b < 2; b++) {
            random_mass(6, 1, mass);
            scene_clique(s, 6, mass);
            scene_clique(t, 6, mass);
            for (i = 0; i < 36; i++) block[b][i] = random_between(-1, 1);
        }
        scene_link(s, 6);
        for (b = 0; b < 2; b++) scene_block(s, b, block[b]);
        for (i = 0; i < 6; i++) s->bias[i] = R(random_between(-0.2, 0.2));
        for (k = 0; k < contacts; k++) {
            icf_contact* c = scene_contact(s, 0);
            wide d[3][3] = {{0}}, point[3] = {0}, surface[3] = {0}, along[3];
            int32_t l = scene_link(t, 3);
            model = trial % 3;
            random_contact(c, 1 << model, 6);
            vec3_wide(surface_of(c)->tangent, d[0]);
            vec3_wide(c->normal, d[2]);
            cross_wide(d[2], d[0], d[1]);
            vec3_wide(c->point, point);
            vec3_wide(surface_of(c)->velocity, surface);
            for (b = 0; b < 2; b++) {
                double rows[18];
                for (i = 0; i < 3; i++) {
                    wide all[MOST_UNKNOWNS] = {0}, bias;
                    read_link(s, 0, 0, d[i], point, all, &bias);
                    for (j = 0; j < 6; j++) rows[6 * i + j] = (double)all[6 * b + j];
                    t->bias[t->bias_at[l] + i] = R(bias);
                    for (j = 0; j < 3; j++) t->bias[t->bias_at[l] + i] += R(d[i][j] * surface[j]);
                }
                scene_block(t, b, rows);
            }
            scene_contact_like(t, s, k)->link = l;
            t->contact[k].point = icf_vec3_make(0, 0, 0);
            t->surface[k].velocity = icf_vec3_make(0, 0, 0);
            t->surface[k].tangent = icf_vec3_make(1, 0, 0);
            t->contact[k].normal = icf_vec3_make(0, 0, 1);
            vec3_wide(c->pull, surface);
            for (i = 0; i < 3; i++)
                along[i] = d[i][0] * surface[0] + d[i][1] * surface[1] + d[i][2] * surface[2];
            t->contact[k].pull = icf_vec3_make(R(along[0]), R(along[1]), R(along[2]));
        }
        for (i = 0; i < 12; i++) {
            v[i] = s->v_last[i] = t->v_last[i] = R(random_between(-1, 1));
            s->v_free[i] = t->v_free[i] = v[i] + R(random_between(-0.1, 0.1));
        }
        memcpy(other, v, sizeof v);
        solve_exactly(s, v, NULL);
        {
            icf_contact_result r[4], q;
            wide x[MOST_UNKNOWNS] = {0};
            double off;
            opinion_make(s);
            widen(12, v, x);
            for (k = 0; k < contacts; k++) r[k] = contact_result(k);
            solve_exactly(t, other, NULL);
            off = relative_distance(s, other, x);
            TEST_CHECK_(off <= 200 * EPS, "trial %d: %g; seed %u", trial, off, (unsigned)SEED);
            for (k = 0; k < contacts; k++) {
                double most = 1 + magnitude((double)r[k].impulse.z);
                q = contact_result(k);
                /* impulses carry the rounding of velocities, times stiffnesses of up to 1e3 */
                CHECK_NEAR(q.impulse.x, r[k].impulse.x, 0, 3e4 * EPS * most);
                CHECK_NEAR(q.impulse.y, r[k].impulse.y, 0, 3e4 * EPS * most);
                CHECK_NEAR(q.impulse.z, r[k].impulse.z, 0, 3e4 * EPS * most);
                CHECK_NEAR(q.velocity.z, r[k].velocity.z, 0, 1000 * EPS);
                CHECK_NEAR(q.w, r[k].w, 100 * EPS, 0);
            }
        }
    }
}

/* Bodies that touch each other and the ground, by links of three and six rows */
static void make_three_bodies(scene* s)
{
    static const int32_t pair[6][2] = {
        {0, 1 },
        {2, 1 },
        {2, 0 },
        {0, -1},
        {1, -1},
        {1, 2 }
    };
    int32_t i, j, k;
    scene_begin(s, 0.01);
    for (i = 0; i < 3; i++) {
        double mass[36] = {0}, m = random_between(0.5, 2);
        for (j = 0; j < 3; j++) {
            mass[7 * j] = m;
            mass[7 * (3 + j)] = m * random_between(0.2, 0.4);
        }
        mass[22] = mass[27] = 0.1 * m;
        mass[23] = mass[33] = -0.05 * m;
        mass[29] = mass[34] = 0.02 * m;
        scene_clique(s, 6, mass);
        for (j = 0; j < 6; j++) s->v_free[6 * i + j] = R(random_between(-1, 1));
    }
    for (i = 0; i < 6; i++) {
        int32_t rows = i % 2 ? 6 : 3;
        scene_link(s, rows);
        if (i == 5) { /* a link of three, with a row of its own */
            static const double arm[3] = {0.3, -0.2, 0.1};
            scene_block_arm(s, 0, arm, 1);
            scene_row(s, ICF_ROW_DRY_FRICTION, i, 4)->effort = R(0.7);
        }
        for (k = 0; k < 2; k++) {
            double arm[3];
            for (j = 0; j < 3; j++) arm[j] = random_between(-1, 1);
            if (pair[i][k] >= 0) scene_block_arm(s, pair[i][k], arm, k ? -1 : 1);
        }
        for (k = 0; k < (rows == 6 ? 3 : 1); k++) {
            icf_contact* c = scene_contact(s, i);
            c->normal = icf_vec3_normalize(
                icf_vec3_make(R(random_between(-1, 1)), R(random_between(-1, 1)), R(1.5)));
            surface_of(c)->tangent =
                icf_vec3_normalize(icf_vec3_cross(c->normal, icf_vec3_make(1, 0, 0)));
            c->distance = R(-0.001);
            surface_of(c)->stiffness = R(1e4);
            surface_of(c)->friction = R(0.5);
            if (rows == 6) c->point.x = R(0.3 * k);
            if (rows == 6) c->point.y = R(0.2 * k * k);
        }
    }
}

/* By bodies and levers, `by_lever`, a problem has the answer that it has by matrices. */
static void check_levers(scene* by_matrix, scene* by_lever, int spins)
{
    icf_real v[MOST_UNKNOWNS] = {0}, w[MOST_UNKNOWNS] = {0}, a[18], b[18];
    icf_stats first, second;
    int32_t i, c;
    scene_copy(by_lever, by_matrix);
    TEST_CHECK(scene_use_levers(by_lever) > 0);
    solve_exactly(by_matrix, v, &first);
    solve_exactly(by_lever, w, &second);
    CHECK_NEAR(second.cost, first.cost, 1e3 * EPS, 0);
    if (!spins) check_answer(by_matrix, w, "by lever"); /* which knows no torsion */
    for (i = 0; i < by_matrix->unknowns; i++) CHECK_NEAR(w[i], v[i], 1e3 * EPS, 1e3 * EPS);
    /* at the default tolerance, where rounding does not count iterations */
    memset(v, 0, sizeof v);
    memset(w, 0, sizeof w);
    TEST_CHECK(solve(by_lever, NULL, w, &second) == ICF_RESULT_OK);
    TEST_CHECK(solve(by_matrix, NULL, v, &first) == ICF_RESULT_OK);
    TEST_CHECK(first.iterations == second.iterations);
    for (i = 0; i < by_matrix->p.contacts; i++) {
        for (c = 0; c < by_matrix->p.cliques; c++) {
            const size_t bytes = 3 * (size_t)by_matrix->sizes[c] * sizeof(icf_real);
            TEST_CHECK(icf_contact_jacobian(&by_matrix->p, i, c, a) == ICF_RESULT_OK);
            TEST_CHECK(icf_contact_jacobian(&by_lever->p, i, c, b) == ICF_RESULT_OK);
            TEST_CHECK(memcmp(a, b, bytes) == 0);
        }
        TEST_CHECK(icf_contact_delassus(&by_matrix->p, i, 0, &workspace, a) == ICF_RESULT_OK);
        TEST_CHECK(icf_contact_delassus(&by_lever->p, i, 0, &workspace, b) == ICF_RESULT_OK);
        TEST_CHECK(memcmp(a, b, 9 * sizeof a[0]) == 0);
    }
}

/* Bodies and levers are their matrices in fewer numbers: on one body, whose matrix is dense, on three, with a
   block that is no lever, with masses bounded by the caller, and with a body that nothing touches. */
static void test_levers_are_their_matrices(void)
{
    static icf_real bound[MOST_MASS];
    icf_real v[MOST_UNKNOWNS] = {0}, x[24], y[24];
    int trial, i;
    random_seed(SEED);
    for (trial = 0; trial < 50; trial++) {
        scene *s = &first_scene, *t = &second_scene;
        make_three_bodies(s);
        switch (trial % 4) {
        case 0:
            s->p.cliques = s->p.links = s->p.rows = 1;
            s->p.contacts = 0;
            s->unknowns = 6;
            s->link_rows[0] = 6;
            s->link_start[1] = 1;
            memcpy(s->blocks, s->blocks + s->block_at[s->link_start[3]], 36 * sizeof(icf_real));
            s->block_at[1] = 36;
            s->row[0].link = 0;
            break;
        case 1: s->blocks[random_below(s->block_numbers)] += R(0.5); break;
        case 2: break;
        default: scene_body(s, 2, 0.1, 0.2, 0.3); break;
        }
        check_levers(s, t, 0);
        /* and so soft that what gives at a spin goes by W */
        for (i = 0; i < s->p.contacts; i++) {
            if (s->link_rows[s->contact[i].link] == 3) continue;
            s->surface[i].torsion = R(0.3);
            s->surface[i].rolling = R(0.1);
            s->surface[i].softness = R(0.1);
        }
        check_levers(s, t, 1);
    }
    /* a bound of half of A doubles the certificate; A^-1 of what nothing touches */
    make_three_bodies(&first_scene);
    scene_body(&first_scene, 2, 0.1, 0.2, 0.4);
    for (i = 0; i < first_scene.masses; i++) bound[i] = first_scene.mass[i] / 2;
    scene_copy(&second_scene, &first_scene);
    first_scene.p.mass_bound = second_scene.p.mass_bound = bound;
    scene_use_levers(&second_scene);
    for (trial = 0; trial < 2; trial++) {
        const scene* s = trial ? &second_scene : &first_scene;
        for (i = 0; i < 24; i++) y[i] = R(i - 11);
        memset(v, 0, sizeof v);
        solve_exactly(s, v, NULL);
        TEST_CHECK(icf_sensitivity(&s->p, &workspace, y, 1, 24, NULL, NULL) == ICF_RESULT_OK);
        for (i = 0; i < 24 && trial; i++) CHECK_NEAR(y[i], x[i], 1e4 * EPS, 1e4 * EPS);
        memcpy(x, y, sizeof x);
    }
    CHECK_NEAR(x[18], 7.0 / 2, 10 * EPS, 0);
    CHECK_NEAR(x[23], 12.0 / 0.4, 10 * EPS, 0);
}

static int random_cut(int columns)
{
    return random_below(columns + 1);
}

/* A block may be given in parts, which read some velocities each: the same answer, the same W and derivatives,
   and the same Jacobians. And the caller may have the factors. */
static void test_columns_are_parts_of_blocks(void)
{
    icf_real v[MOST_UNKNOWNS], w[MOST_UNKNOWNS], x[2][MOST_UNKNOWNS], a[24], b[24];
    int trial, f;
    random_seed(SEED);
    for (trial = 0; trial < 80; trial++) {
        scene *s = &first_scene, *t = &second_scene;
        icf_real factor[MOST_MASS];
        int32_t i, c, at = 0;
        icf_stats one, two;
        f = trial % FAMILIES;
        random_scene(s, families[f].features, 2, 5, 2, 6);
        scene_copy(t, s);
        scene_use_columns(t, random_cut);
        memcpy(factor, t->mass, (size_t)t->masses * sizeof *factor);
        for (c = 0; c < t->p.cliques; c++) {
            TEST_CHECK(icf_dense_factor(t->sizes[c], factor + at, t->sizes[c], NULL) ==
                       ICF_RESULT_OK);
            if (random_below(3) == 0) factor[at] = 0;
            at += t->sizes[c] * t->sizes[c];
        }
        t->p.mass_factor = factor;
        memset(v, 0, sizeof v);
        memset(w, 0, sizeof w);
        solve_exactly(t, w, &two);
        check_answer(s, w, "by columns");
        for (i = 0; i < s->unknowns; i++) x[0][i] = x[1][i] = R(random_between(-1, 1));
        TEST_CHECK(icf_sensitivity(&t->p, &workspace, x[1], 1, s->unknowns, NULL, NULL) ==
                   ICF_RESULT_OK);
        for (i = 0; i < s->p.contacts; i++) v[i] = contact_result(i).w;
        solve_exactly(s, w, &one);
        for (i = 0; i < s->p.contacts; i++) CHECK_NEAR(contact_result(i).w, v[i], 100 * EPS, 0);
        memset(v, 0, sizeof v);
        CHECK_NEAR(one.cost, two.cost, 1e4 * EPS, 1e4 * EPS);
        for (i = 0; i < s->p.contacts; i++) {
            for (c = 0; c < s->p.cliques; c++) {
                TEST_CHECK(icf_contact_jacobian(&s->p, i, c, a) == ICF_RESULT_OK);
                TEST_CHECK(icf_contact_jacobian(&t->p, i, c, b) == ICF_RESULT_OK);
                TEST_CHECK(memcmp(a, b, 3 * (size_t)s->sizes[c] * sizeof *a) == 0);
            }
            memset(x[0], 0, sizeof x[0]);
            memset(x[1], 0, sizeof x[1]);
            TEST_CHECK(icf_contact_push(&s->p, i, a, x[0]) == ICF_RESULT_OK);
            TEST_CHECK(icf_contact_push(&t->p, i, a, x[1]) == ICF_RESULT_OK);
            for (c = 0; c < s->unknowns; c++) CHECK_NEAR(x[1][c], x[0][c], 0, 100 * EPS);
            TEST_CHECK(icf_contact_delassus(&s->p, i, 0, &workspace, a) == ICF_RESULT_OK);
            TEST_CHECK(icf_contact_delassus(&t->p, i, 0, &workspace, b) == ICF_RESULT_OK);
            for (c = 0; c < 9; c++) CHECK_NEAR(a[c], b[c], 100 * EPS, 1e-3 * EPS);
        }
    }
}

/* The same problem in two forms: from its last velocities the same answer, but for rounding. The second form is
   solved last. */
static void check_same_answer(const scene* s, const scene* t, int trial)
{
    icf_real v[MOST_UNKNOWNS], other[MOST_UNKNOWNS];
    wide x[MOST_UNKNOWNS] = {0};
    double off;
    memcpy(v, s->v_last, sizeof v);
    memcpy(other, s->v_last, sizeof v);
    solve_exactly(s, v, NULL);
    solve_exactly(t, other, NULL);
    opinion_make(s);
    widen(s->unknowns, v, x);
    off = relative_distance(s, other, x);
    TEST_CHECK_(off <= 200 * EPS, "trial %d: %g; seed %u", trial, off, (unsigned)SEED);
}

/* A tangent of zero is any tangent: where friction is isotropic that changes nothing. */
static void test_any_tangent(void)
{
    int trial, i;
    random_seed(SEED);
    for (trial = 0; trial < 30; trial++) {
        scene *s = &first_scene, *t = &second_scene;
        random_scene(s, 1 << trial % 3, 3, 0, 4, 0);
        for (i = 0; i < s->p.contacts; i++) s->surface[i].friction2 = -1;
        scene_copy(t, s);
        for (i = 0; i < t->p.contacts; i++) t->surface[i].tangent = icf_vec3_make(0, 0, 0);
        check_same_answer(s, t, trial);
        for (i = 0; i < t->p.contacts; i++) {
            /* the force is in the axes of the link, and orthogonal parts stay so */
            icf_contact_result r = contact_result(i);
            double along = (double)icf_vec3_dot(r.force, t->contact[i].normal);
            CHECK_NEAR(along * (double)t->p.dt, r.impulse.z, 20 * EPS,
                       20 * EPS * (double)icf_vec3_length(r.impulse));
        }
    }
}

static scene small_scenes[4];

/* Islands do not know of each other: each has the bits that it has alone, wherever it stands. */
static void test_islands_as_each_alone(void)
{
    int trial, i, k;
    for (trial = 0; trial < 24; trial++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, alone[4][MOST_UNKNOWNS];
        icf_contact_result first[4];
        icf_stats one, all, stats;
        int32_t at, order[4], islands = 0, iterations = 0, factorizations = 0, sum = 0;
        double dt = 0.01;
        random_seed(SEED + (uint32_t)trial);
        memset(first, 0, sizeof first);
        memset(&stats, 0, sizeof stats);
        for (i = 0; i < 4; i++) {
            scene* small = &small_scenes[i];
            if (i == 2) {
                scene_copy(small, &small_scenes[0]); /* a copy of the first */
            } else {
                random_scene(small, families[trial % FAMILIES].features, 1, 2, 1, 2);
            }
            small->p.dt = R(dt);
            memcpy(alone[i], small->v_last, sizeof alone[i]);
            solve_exactly(small, alone[i], &one);
            if (small->p.contacts) first[i] = contact_result(0);
            islands += one.islands;
            if (one.iterations > iterations) iterations = one.iterations;
            if (one.factorizations > factorizations) factorizations = one.factorizations;
            sum += one.island_factorizations;
        }
        for (k = 0; k < 4; k++) {
            int32_t contacts = 0;
            for (i = 0; i < 4; i++) order[i] = (i * (k % 2 ? 3 : 1) + k) % 4;
            scene_begin(s, dt);
            for (i = 0; i < 4; i++) {
                /* an untouched clique before each */
                double lone[4] = {2, 1, 1, 2};
                at = s->unknowns;
                scene_clique(s, 2, lone);
                s->v_free[at] = R(0.1) * (icf_real)(i + 1);
                s->v_free[at + 1] = R(-0.7);
                s->v_last[at] = s->v_last[at + 1] = 5;
                scene_append(s, &small_scenes[order[i]]);
            }
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, &all);
            TEST_CHECK_(all.islands == islands, "%d islands, not %d", (int)all.islands,
                        (int)islands);
            TEST_CHECK_(all.iterations == iterations && all.factorizations == factorizations &&
                            all.island_factorizations == sum,
                        "%d iterations, not %d", (int)all.iterations, (int)iterations);
            if (k) {
                TEST_CHECK(all.trials == stats.trials);
                CHECK_NEAR(all.cost, stats.cost, 100 * EPS, 0);
            }
            stats = all;
            for (at = 0, i = 0; i < 4; i++) {
                const scene* small = &small_scenes[order[i]];
                int32_t bytes = small->unknowns * (int32_t)sizeof(icf_real);
                TEST_CHECK(v[at] == s->v_free[at] && v[at + 1] == s->v_free[at + 1]);
                at += 2;
                TEST_CHECK_(same_bits(v + at, alone[order[i]], (size_t)bytes),
                            "trial %d: island %d of order %d has other bits; seed %u", trial, i, k,
                            (unsigned)SEED);
                at += small->unknowns;
                if (small->p.contacts) {
                    icf_contact_result r = contact_result(contacts);
                    TEST_CHECK(same_bits(&r, &first[order[i]], sizeof r));
                    contacts += small->p.contacts;
                }
            }
        }
    }
}

/* Both the less of the two. Answers whether that changes one. */
static int to_the_less(int32_t* a, int32_t* b)
{
    if (*a == *b) return 0;
    *a = *b = *a < *b ? *a : *b;
    return 1;
}

/* island_of: which cliques hang together, found here by letting the least number of a clique spread along
   links and couplings; a clique that nothing touches is in none. */
static void test_island_of(void)
{
    int trial, alone = 0, touched = 0;
    for (trial = 0; trial < 24; trial++) {
        scene *s = &first_scene, *small = &small_scenes[0];
        icf_real v[MOST_UNKNOWNS] = {0};
        int32_t island[MOST_CLIQUES], least[MOST_CLIQUES], linked[MOST_CLIQUES] = {0};
        int32_t i, k, n, parts = 0, changed = 1;
        icf_options o = icf_default_options();
        icf_stats stats;
        random_seed(SEED + (uint32_t)trial);
        scene_begin(s, 0.01);
        for (i = 0; i < 4; i++) {
            if (i != trial % 4) {
                scene_point(s, 1); /* one that nothing touches; the first clique, most often */
            }
            random_scene(small, families[trial % FAMILIES].features, 1, 2, trial % 5 ? 1 : 0, 2);
            scene_append(s, small);
        }
        if (trial % 6 == 0)
            s->p.links = s->p.contacts = s->p.rows = 0; /* nothing touches anything */
        n = s->p.cliques;
        for (i = 0; i < n; i++) least[i] = i;
        while (changed) {
            changed = 0;
            for (i = 0; i < s->p.links; i++) {
                int32_t first = s->block_clique[s->link_start[i]];
                for (k = s->link_start[i]; k < s->link_start[i + 1]; k++) {
                    linked[s->block_clique[k]] = 1;
                    changed |= to_the_less(&least[first], &least[s->block_clique[k]]);
                }
            }
            for (i = 0; i < s->p.couplings; i++)
                changed |= to_the_less(&least[s->pairs[2 * i]], &least[s->pairs[2 * i + 1]]);
        }
        for (i = 0; i < n; i++) linked[least[i]] |= linked[i];
        for (i = 0; i < n; i++) parts += least[i] == i && linked[i];
        for (i = 0; i < n; i++) island[i] = 12345;
        o.island_of = island;
        memcpy(v, s->v_last, sizeof v);
        TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
        TEST_CHECK_(stats.islands == parts, "%d islands, not %d; seed %u", (int)stats.islands,
                    (int)parts, (unsigned)SEED);
        for (i = 0; i < n; i++) {
            if (!linked[least[i]]) {
                TEST_CHECK_(island[i] == -1, "clique %d, which nothing touches: %d; seed %u",
                            (int)i, (int)island[i], (unsigned)SEED);
                alone++;
                continue;
            }
            TEST_CHECK_(island[i] >= 0 && island[i] < parts, "clique %d of island %d; seed %u",
                        (int)i, (int)island[i], (unsigned)SEED);
            touched++;
            for (k = 0; k < i; k++) {
                TEST_CHECK_((least[i] == least[k]) == (island[i] == island[k]),
                            "cliques %d and %d of islands %d and %d; seed %u", (int)k, (int)i,
                            (int)island[k], (int)island[i], (unsigned)SEED);
            }
        }
    }
    TEST_CHECK_(alone >= 50 && touched >= 50, "%d alone, %d touched; seed %u", alone, touched,
                (unsigned)SEED);
}

/* In another order contacts, rows and links give the same answer, but for rounding. */
static void test_order_changes_only_rounding(void)
{
    int trial;
    for (trial = 0; trial < 4 * FAMILIES; trial++) {
        scene *s = &first_scene, *t = &second_scene;
        int32_t i, k, l, b, at[MOST_LINKS];
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, families[trial % FAMILIES].features, 5, 0, 8, 0);
        scene_begin(t, (double)s->p.dt);
        t->p.dt = s->p.dt;
        for (i = 0; i < s->p.cliques; i++) {
            double mass[64] = {0};
            for (k = 0; k < s->sizes[i] * s->sizes[i]; k++)
                mass[k] = (double)s->mass[s->mass_at[i] + k];
            scene_clique(t, s->sizes[i], mass);
        }
        /* links backwards, and the blocks of each */
        for (l = s->p.links - 1; l >= 0; l--) {
            at[l] = scene_link(t, s->link_rows[l]);
            for (b = s->link_start[l + 1] - 1; b >= s->link_start[l]; b--) {
                double block[64] = {0};
                for (k = 0; k < s->block_at[b + 1] - s->block_at[b]; k++) {
                    block[k] = (double)s->blocks[s->block_at[b] + k];
                }
                scene_block(t, s->block_clique[b], block);
            }
            for (k = 0; k < s->link_rows[l]; k++) {
                t->bias[t->bias_at[at[l]] + k] = s->bias[s->bias_at[l] + k];
            }
        }
        for (i = s->p.contacts - 1; i >= 0; i--) {
            icf_contact* c = scene_contact_like(t, s, i);
            c->link = at[c->link];
        }
        for (i = s->p.rows - 1; i >= 0; i--) {
            icf_row* r = scene_row(t, ICF_ROW_LIMIT, 0, 0);
            *r = s->row[i];
            r->link = at[r->link];
        }
        for (i = s->p.couplings - 1; i >= 0; i--) {
            int32_t a = s->pairs[2 * i], c = s->pairs[2 * i + 1], j;
            double block[64] = {0};
            for (k = 0; k < s->sizes[a]; k++) {
                for (j = 0; j < s->sizes[c]; j++) {
                    block[j * s->sizes[a] + k] =
                        (double)s->couplings[s->coupling_at[i] + k * s->sizes[c] + j];
                }
            }
            scene_coupling(t, c, a, block);
        }
        memcpy(t->v_free, s->v_free, sizeof t->v_free);
        memcpy(t->v_last, s->v_last, sizeof t->v_last);
        check_same_answer(s, t, trial);
    }
}

/* A with blocks off its diagonal, and the same A as one clique. */
static void test_couplings_as_one_clique(void)
{
    int trial, with_friction_memory = 0;
    for (trial = 0; trial < 20; trial++) {
        scene *s = &first_scene, *t = &second_scene;
        static double a[64 * 64];
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        wide x[MOST_UNKNOWNS] = {0};
        int32_t i, j, l, b, n;
        double off;
        icf_stats stats;
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, families[6].features, 2, 5, 1, 5);
        n = s->unknowns;
        TEST_CHECK(n <= 64);
        opinion_make(s);
        for (i = 0; i < n * n; i++) a[i] = (double)opinion.a[i];
        /* w looks at diagonal blocks alone, which are other ones here: given */
        for (i = 0; i < s->p.contacts; i++) {
            s->contact[i].effective_mass_inverse = R(opinion.pieces[i].w);
        }
        scene_begin(t, (double)s->p.dt);
        t->p.dt = s->p.dt;
        scene_clique(t, n, a);
        for (l = 0; l < s->p.links; l++) {
            double block[6 * 64] = {0};
            scene_link(t, s->link_rows[l]);
            for (b = s->link_start[l]; b < s->link_start[l + 1]; b++) {
                int32_t c = s->block_clique[b];
                for (i = 0; i < s->link_rows[l]; i++) {
                    for (j = 0; j < s->sizes[c]; j++) {
                        block[i * n + s->start[c] + j] =
                            (double)s->blocks[s->block_at[b] + s->sizes[c] * i + j];
                    }
                }
            }
            scene_block(t, 0, block);
        }
        memcpy(t->bias, s->bias, sizeof t->bias);
        for (i = 0; i < s->p.contacts; i++) (void)scene_contact_like(t, s, i);
        memcpy(t->v_free, s->v_free, sizeof t->v_free);
        memcpy(t->v_last, s->v_last, sizeof t->v_last);
        memcpy(v, s->v_last, sizeof v);
        memcpy(other, s->v_last, sizeof v);
        solve_exactly(s, v, &stats);
        TEST_CHECK(stats.islands == 1); /* the couplings connect them all */
        solve_exactly(t, other, NULL);
        check_answer(s, v, "couplings");
        widen(n, v, x);
        off = relative_distance(s, other, x);
        TEST_CHECK_(off <= 200 * EPS, "trial %d: %g; seed %u", trial, off, (unsigned)SEED);
        with_friction_memory += s->p.contacts;
    }
    TEST_CHECK(with_friction_memory >= 60);
}

/* A coupled clique that no link reads moves with those that are read, and an island of couplings
   alone is at v* exactly. */
static void test_coupled_untouched(void)
{
    scene* s = scene_begin(&first_scene, 0.01);
    const double minus = -1;
    icf_real v[5] = {0, 0, 0, 0, 0};
    icf_stats stats;
    int i;
    for (i = 0; i < 5; i++) {
        scene_joint(s, 3);
        s->v_free[i] = R(-1 - 0.1 * i);
    }
    scene_coupling(s, 0, 1, &minus);
    scene_coupling(s, 2, 1, &minus);
    scene_coupling(s, 3, 4, &minus);
    scene_link(s, 1);
    scene_block_unit(s, 0, 1);
    scene_row(s, ICF_ROW_QUADRATIC, 0, 0)->weight = R(2);
    solve_exactly(s, v, &stats);
    /* A (v - v*) = (-2 v_0, 0, 0), A = [3 -1 0; -1 3 -1; 0 -1 3]; by hand: v = v* - 2 v_0 (8, 3,
       1) / 21 */
    CHECK_NEAR(v[0], -1 / (1 + 16.0 / 21), 20 * EPS, 0);
    CHECK_NEAR(v[1], -1.1 - 2 * (double)v[0] * 3 / 21, 20 * EPS, 0);
    CHECK_NEAR(v[2], -1.2 - 2 * (double)v[0] * 1 / 21, 20 * EPS, 0);
    TEST_CHECK(v[3] == s->v_free[3] && v[4] == s->v_free[4]);
    TEST_CHECK(stats.islands == 1);
}

// ------------------------------------------------------------------------------------------------
// Results

/* The impulses are those of the velocities, they are what moved the velocities, and the forces
   are theirs. */
static void test_results_are_those_of_velocities(void)
{
    int family, trial;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 10; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            wide x[MOST_UNKNOWNS], pushed[MOST_UNKNOWNS] = {0}, moved[MOST_UNKNOWNS], scale;
            int32_t i, j, k;
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 4, 0, 6, 0);
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, NULL);
            opinion_make(s);
            widen(s->unknowns, v, x);
            scale =
                10 * (wide)EPS * (norm_a(x) + norm_a(opinion.v_free)) * (4 + opinion_stiffness(x));
            for (i = 0; i < opinion.count; i++) {
                const piece* p = &opinion.pieces[i];
                wide u[3] = {0}, g[3] = {0}, size = 0;
                icf_real got[3] = {0};
                piece_velocity(p, opinion.n, x, u);
                piece_impulse(p, opinion.dt, u, g);
                /* an impulse of size g moves a mass of 1 / w by g w, energy g^2 w */
                for (k = 0; k < p->rows; k++) size += g[k] * g[k];
                size = (scale + (wide)EPS * 100 * sqrtl(size * p->w)) / sqrtl(p->w);
                if (p->contact) {
                    icf_contact_result r = contact_result(i);
                    icf_vec3 t2 = icf_vec3_cross(p->contact->normal,
                                                 surface_of(p->contact)->tangent),
                             f;
                    got[0] = r.impulse.x;
                    got[1] = r.impulse.y;
                    got[2] = r.impulse.z;
                    f = icf_vec3_scale(r.impulse.x, surface_of(p->contact)->tangent);
                    f = icf_vec3_add_scaled(f, r.impulse.y, t2);
                    f = icf_vec3_add_scaled(f, r.impulse.z, p->contact->normal);
                    f = icf_vec3_sub(f, icf_vec3_scale(s->p.dt, r.force));
                    TEST_CHECK((double)icf_vec3_length(f) <=
                               30 * EPS * (double)icf_vec3_length(r.impulse));
                    CHECK_NEAR(r.velocity.x, u[0] - p->pull[0], 20 * EPS, 100 * EPS);
                    CHECK_NEAR(r.velocity.y, u[1] - p->pull[1], 20 * EPS, 100 * EPS);
                    CHECK_NEAR(r.velocity.z, u[2], 20 * EPS, 100 * EPS);
                    TEST_CHECK(r.impulse.z >= 0);
                    TEST_CHECK(r.mode == ICF_MODE_OPEN || r.mode == ICF_MODE_STICK ||
                               r.mode == ICF_MODE_SLIP);
                    if (r.mode == ICF_MODE_OPEN) {
                        /* lagged friction is that of the start of the step, also in one that
                           ends apart */
                        TEST_CHECK(got[2] == 0);
                        TEST_CHECK(surface_of(p->contact)->model == ICF_MODEL_LAGGED ||
                                   (got[0] == 0 && got[1] == 0));
                    }
                    TEST_CHECK(r.spin_impulse.x == 0 && r.spin_impulse.y == 0 &&
                               r.spin_impulse.z == 0);
                    /* a gliding contact of another model may push upwards; pulls give energy back */
                    TEST_CHECK_(
                        surface_of(p->contact)->model != ICF_MODEL_LAGGED ||
                            (double)(r.dissipated - g[0] * p->pull[0] - g[1] * p->pull[1]) >=
                                -(double)(size * (sqrtl(dot(3, u, u)) + 1)),
                        "%s: contact %d gains %g", families[family].name, (int)i,
                        -(double)r.dissipated);
                } else {
                    icf_row_result r = row_result(i - s->p.contacts);
                    got[0] = r.impulse;
                    CHECK_NEAR(r.velocity, u[0], 20 * EPS, 100 * EPS);
                }
                for (k = 0; k < p->rows; k++) {
                    TEST_CHECK_(near((double)got[k], (double)g[k], 1e-9, (double)size),
                                "%s: part %d of impulse %d is %g, not %g, %g allowed; seed %u",
                                families[family].name, (int)k, (int)i, (double)got[k], (double)g[k],
                                (double)size, (unsigned)SEED);
                    for (j = 0; j < opinion.n; j++) pushed[j] += p->j[k][j] * (wide)got[k];
                }
            }
            for (i = 0; i < opinion.n; i++) {
                moved[i] = dot(opinion.n, opinion.a + i * opinion.n, x) -
                           dot(opinion.n, opinion.a + i * opinion.n, opinion.v_free) - pushed[i];
            }
            cholesky_solve(opinion.n, opinion.n, opinion.factor, moved);
            TEST_CHECK_(norm_a(moved) <= scale, "%s: %g of %g; seed %u", families[family].name,
                        (double)norm_a(moved), (double)scale, (unsigned)SEED);
        }
    }
}

/* Without other forces the energy that a step loses is what its contacts took and what the
   integration takes, 1/2 dv' A dv + 1/2 sum k (dt v_n)^2, exactly. */
static void test_energy_of_a_step(void)
{
    int trial, model, touched = 0;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        for (trial = 0; trial < 30; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            wide x[MOST_UNKNOWNS] = {0}, last[MOST_UNKNOWNS] = {0}, change[MOST_UNKNOWNS] = {0},
                 kinetic, stored = 0;
            wide taken = 0, integration, size;
            int32_t i, kept = 1, with_normals = trial % 3, with_friction = (trial / 3) % 2;
            random_seed(SEED + (uint32_t)trial);
            random_scene(s, WITH_LAGGED, 3, 0, 4, 0);
            memset(s->bias, 0, sizeof s->bias);
            for (i = 0; i < s->p.contacts; i++) {
                icf_contact* c = &s->contact[i];
                surface_of(c)->model = model;
                surface_of(c)->velocity = c->pull = icf_vec3_make(0, 0, 0);
                c->distance = R(random_between(-0.2, -0.1)); /* deep: none of them lets go */
                surface_of(c)->stiffness = R(random_between(10, 30));
                surface_of(c)->near_rigid = 0;
                surface_of(c)->friction2 = -1;
                if (!with_friction) surface_of(c)->friction = 0;
                surface_of(c)->law =
                    with_normals == 2 ? ICF_LAW_KELVIN_VOIGT : ICF_LAW_HUNT_CROSSLEY;
                surface_of(c)->dissipation = R(with_normals ? 0.2 : 0);
                surface_of(c)->relaxation = R(with_normals ? 0.005 : 0);
            }
            for (i = 0; i < s->unknowns; i++) {
                v[i] = s->v_free[i] = s->v_last[i] = R(random_between(-1, 1));
            }
            solve_exactly(s, v, NULL);
            opinion_make(s);
            widen(s->unknowns, v, x);
            widen(s->unknowns, s->v_last, last);
            for (i = 0; i < s->unknowns; i++) change[i] = x[i] - last[i];
            kinetic = (norm_a(x) * norm_a(x) - norm_a(last) * norm_a(last)) / 2;
            integration = norm_a(change) * norm_a(change) / 2;
            size = norm_a(last) * norm_a(last);
            for (i = 0; i < s->p.contacts; i++) {
                const icf_contact* c = &s->contact[i];
                icf_contact_result r = contact_result(i);
                wide u[3] = {0}, dt = opinion.dt, phi = (wide)c->distance, end;
                piece_velocity(&opinion.pieces[i], opinion.n, x, u);
                end = phi + dt * u[2];
                kept &= r.impulse.z > 0 && end < 0;
                stored += (wide)surface_of(c)->stiffness * (end * end - phi * phi) / 2;
                integration += (wide)surface_of(c)->stiffness * dt * dt * u[2] * u[2] / 2;
                size += (wide)surface_of(c)->stiffness * phi * phi;
                taken += (wide)r.dissipated;
                if (model == ICF_MODEL_LAGGED) TEST_CHECK((double)r.dissipated >= -100 * EPS);
                if (!with_friction && !with_normals) CHECK_NEAR(r.dissipated, 0, 0, 100 * EPS);
            }
            if (!kept) continue;
            touched++;
            {
                TEST_CHECK_(near((double)(kinetic + stored + taken), (double)-integration, 0,
                                 2000 * EPS * (double)size),
                            "model %d, normals %d, friction %d: %g kinetic, %g stored, %g taken, "
                            "%g integration: %g is missing of %g; seed %u",
                            model, (int)with_normals, (int)with_friction, (double)kinetic,
                            (double)stored, (double)taken, (double)integration,
                            (double)(kinetic + stored + taken + integration), (double)size,
                            (unsigned)SEED);
            }
            TEST_CHECK(kinetic + stored <= 2000 * (wide)EPS * size);
        }
    }
    TEST_CHECK_(touched >= 40, "%d", touched);
}

/* Friction takes force times slip. */
static void test_dissipation_of_slip(void)
{
    const double m = 1, dt = 0.01, k = 1e5;
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, dt, m);
    icf_real v[3] = {2, 0, 0};
    icf_contact_result r;
    surface_of(c)->stiffness = R(k);
    surface_of(c)->dissipation = 0;
    c->distance = R(-gravity / k);
    s->v_last[0] = s->v_free[0] = 2;
    s->v_free[2] = R(-gravity * dt);
    solve_exactly(s, v, NULL);
    r = contact_result(0);
    CHECK_NEAR(r.dissipated, 0.5 * gravity * dt * (double)v[0], 1e-6 + 100 * EPS, 0);
    /* on a belt that moves along, none */
    surface_of(c)->velocity = icf_vec3_make(-2, 0, 0);
    v[0] = 2;
    solve_exactly(s, v, NULL);
    CHECK_NEAR(contact_result(0).dissipated, 0, 0, 1e-5);
}

/* J of a contact and W of a pair, against J in long double. */
static void test_jacobian_delassus(void)
{
    int trial;
    for (trial = 0; trial < 20; trial++) {
        scene* s = &first_scene;
        int32_t i, j, c, a, b, k;
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, families[trial % FAMILIES].features, 1, 4, 4, 0);
        opinion_make(s);
        workspace_new(icf_workspace_bytes(&s->p, ICF_SPARSE_ITERATIVE));
        for (i = 0; i < s->p.contacts; i++) {
            for (c = 0; c < s->p.cliques; c++) {
                icf_real jacobian[24];
                memset(jacobian, UNTOUCHED, sizeof jacobian);
                TEST_CHECK(icf_contact_jacobian(&s->p, i, c, jacobian) == ICF_RESULT_OK);
                for (a = 0; a < 3; a++) {
                    for (k = 0; k < s->sizes[c]; k++) {
                        CHECK_NEAR(jacobian[a * s->sizes[c] + k],
                                   opinion.pieces[i].j[a][s->start[c] + k], 0, 20 * EPS);
                    }
                }
            }
            for (j = 0; j < s->p.contacts; j++) {
                icf_real w[9];
                memset(w, UNTOUCHED, sizeof w);
                TEST_CHECK(icf_contact_delassus(&s->p, i, j, &workspace, w) == ICF_RESULT_OK);
                for (a = 0; a < 3; a++) {
                    for (b = 0; b < 3; b++) {
                        wide sum = 0, block[64] = {0}, x[8] = {0};
                        for (c = 0; c < s->p.cliques; c++) {
                            int32_t size = s->sizes[c];
                            for (k = 0; k < size * size; k++) {
                                block[k] = (wide)s->mass[s->mass_at[c] + k];
                            }
                            TEST_ASSERT(cholesky(size, size, block));
                            for (k = 0; k < size; k++) {
                                x[k] = opinion.pieces[j].j[b][s->start[c] + k];
                            }
                            cholesky_solve(size, size, block, x);
                            for (k = 0; k < size; k++) {
                                sum += opinion.pieces[i].j[a][s->start[c] + k] * x[k];
                            }
                        }
                        CHECK_NEAR(w[3 * a + b], sum, 0,
                                   200 * EPS * (double)(opinion.pieces[i].w + opinion.pieces[j].w));
                    }
                }
            }
        }
    }
}

TEST_LIST = {
    {"second_opinion",                  test_second_opinion                 },
    {"random_starts",                   test_random_starts                  },
    {"barriers_from_afar",              test_barriers_from_afar             },
    {"no_last",                         test_no_last                        },
    {"frames_are_rows",                 test_frames_are_rows                },
    {"columns_are_parts_of_blocks",     test_columns_are_parts_of_blocks    },
    {"levers_are_their_matrices",       test_levers_are_their_matrices      },
    {"any_tangent",                     test_any_tangent                    },
    {"islands_as_each_alone",           test_islands_as_each_alone          },
    {"island_of",                       test_island_of                      },
    {"order_changes_only_rounding",     test_order_changes_only_rounding    },
    {"couplings_as_one_clique",         test_couplings_as_one_clique        },
    {"coupled_untouched",               test_coupled_untouched              },
    {"results_are_those_of_velocities", test_results_are_those_of_velocities},
    {"energy_of_a_step",                test_energy_of_a_step               },
    {"dissipation_of_slip",             test_dissipation_of_slip            },
    {"jacobian_delassus",               test_jacobian_delassus              },
    {NULL,                              NULL                                }
};
