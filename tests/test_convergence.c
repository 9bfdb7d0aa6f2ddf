/* Layer 7: the way to an answer: cost, budgets, tolerances, starts, certificates, scales. */

#include "tested.h"

#include "acutest.h"
#include "util.h"
#include "problem_util.h"
#include "second_opinion.h"
#include "random_problems.h"

// ------------------------------------------------------------------------------------------------
// The way to the answer

/* cost of v, as the library counts it: a solve that may not iterate */
static double cost_at(const scene* s, const icf_real* at, double* certificate)
{
    icf_real v[MOST_UNKNOWNS] = {0};
    icf_options o = icf_default_options();
    icf_stats stats;
    icf_result result;
    memcpy(v, at, (size_t)s->unknowns * sizeof *v);
    o.tolerance = R(4 * EPS);
    o.iterations = 0;
    result = solve(s, &o, v, &stats);
    TEST_CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED);
    TEST_CHECK(stats.iterations == 0);
    if (certificate) *certificate = (double)stats.certificate;
    return (double)stats.cost;
}

/* A box on two corners, on a belt that moves at 0.74 m/s, with impulses to expect: two steps turn the corners
   between sticking and slipping and do not lower the error, the third is small. That is not rounding. */
static void test_floor_after_corners(void)
{
    static const double inertia[] = {1, 1, 1.0 / 2400};
    static const double corner[] = {1, 0, 0.025, 0, 0, 0, 0, 1, -0.025};
    scene* s = scene_begin(&first_scene, 0.01);
    icf_real v[3] = {R(0.618207216), R(0.000268255477), R(-3.27199359e-06)};
    icf_stats stats;
    int32_t i, box = scene_diagonal(s, 3, inertia);
    for (i = 0; i < 3; i++) s->v_free[i] = s->v_last[i] = v[i];
    s->v_free[1] = R(-0.097831741);
    for (i = 0; i < 2; i++) {
        int32_t link = scene_link(s, 3);
        icf_contact* c = scene_contact(s, link);
        icf_real* k = scene_block(s, box, corner);
        if (i) k[8] = R(0.025);
        s->bias[s->bias_at[link]] = R(-0.738632739);
        surface_of(c)->model = ICF_MODEL_SIMILAR;
        c->distance = R(i ? 0.000385221501 : 0.000385187886);
        surface_of(c)->stiffness = R(1e7);
        surface_of(c)->dissipation = 500;
        surface_of(c)->friction = R(0.7);
        surface_of(c)->softness = 0;
        c->impulse_guess = i ? icf_vec3_make(R(0.0101298178), 0, R(0.0144711938))
                             : icf_vec3_make(R(0.0574720465), 0, R(0.0821030661));
    }
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    /* velocities of 0.7 m/s are rounded by 6e-8 of that, and 500 s/m of dissipation make much of it:
       8.4e-4 in float; 0.29 where that is given up too early */
    TEST_CHECK_((double)stats.momentum_error <= larger(1e-5, 3e4 * EPS), "momentum error %.3g",
                (double)stats.momentum_error);
}

/* A kilogram slides at 0.3 m/s without friction on a floor so stiff that the start is only 1e-7 m/s off:
   that is less than the rounding of 0.3 m/s, but of a component that is rounded by far less, and it is
   half of its weight. */
static void test_floor_of_components(void)
{
    const double dt = 0.01, k = 5e9, weight = 9.81;
    icf_contact* c = scene_point_on_floor(&first_scene, dt, 1);
    icf_real v[3] = {R(0.3), 0, R(-1e-7)};
    icf_stats stats;
    surface_of(c)->stiffness = R(k);
    surface_of(c)->dissipation = 0;
    surface_of(c)->friction = 0;
    c->distance = R(-weight / k);
    first_scene.v_last[0] = first_scene.v_free[0] = R(0.3);
    first_scene.v_free[2] = R(-weight * dt);
    solve_exactly(&first_scene, v, &stats);
    CHECK_NEAR((double)contact_result(0).impulse.z, weight * dt, 100 * EPS, 0);
    TEST_CHECK_((double)stats.momentum_error <= 100 * EPS, "momentum error %.3g",
                (double)stats.momentum_error);
}

/* A solve that is to be exact wastes few steps when only rounding is left: on the mean no more than two and a
   half beyond those down to a thousand times rounding (measured: up to 1.7). */
static void test_floor_is_found_soon(void)
{
    enum { TRIALS = 100 };
    int family, trial, which;
    for (family = 0; family < FAMILIES; family++) {
        int32_t taken[2] = {0, 0}, floors = 0;
        for (trial = 0; trial < TRIALS; trial++) {
            scene* s = &first_scene;
            int32_t i;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 3, 4, 4, 4);
            for (i = 0; i < s->p.contacts; i++)
                s->surface[i].stiffness = R(pow(10, random_between(4, IN_FLOAT ? 6 : 8)));
            for (which = 0; which < 2; which++) {
                icf_options o = icf_default_options();
                icf_real v[MOST_UNKNOWNS] = {0};
                icf_stats stats;
                o.tolerance = R(which ? 0 : 1000 * EPS);
                /* in float a hard barrier may be short of it */
                TEST_CHECK(solve(s, &o, v, &stats) >= 0);
                taken[which] += stats.iterations;
                floors += which && stats.stop == ICF_STOP_FLOOR;
            }
        }
        TEST_CHECK_(2 * (taken[1] - taken[0]) <= 5 * TRIALS,
                    "%s: %d more than %d steps in %d; seed %u", families[family].name,
                    (int)(taken[1] - taken[0]), (int)taken[0], (int)TRIALS, (unsigned)SEED);
        TEST_CHECK_(floors > TRIALS / 2, "%d floors", (int)floors);
    }
}

/* The cost never rises, whatever the start, and the history says what the stats say in the end. */
static void test_cost_falls(void)
{
    static icf_iteration history[1001];
    int family, trial, recorded = 0;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 10; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            icf_options o = exact();
            icf_stats stats;
            int32_t i;
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 4, 0, 7, 0);
            random_start(s, trial % 2 ? 1 : 50, v);
            o.history = history;
            o.history_capacity = 1001;
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            TEST_CHECK_(stats.history == stats.iterations + 1, "%d entries of %d iterations",
                        (int)stats.history, (int)stats.iterations);
            for (i = 1; i < stats.history; i++) {
                double before = (double)history[i - 1].cost, after = (double)history[i].cost;
                /* the sum of terms of both signs, and of islands that are done */
                TEST_CHECK_(after <=
                                before + 100 * EPS * (magnitude(before) + (double)history[0].cost),
                            "%s %d: from %.17g to %.17g at iteration %d; seed %u",
                            families[family].name, trial, before, after, (int)i, (unsigned)SEED);
            }
            i = stats.history - 1;
            CHECK_NEAR(history[i].cost, stats.cost, 100 * EPS, 0);
            CHECK_NEAR(history[i].gradient, stats.gradient, 100 * EPS, 0);
            CHECK_NEAR(history[i].momentum_error, stats.momentum_error, 100 * EPS, 0);
            recorded += stats.history;

            /* a short history takes the first ones and is not overrun */
            if (stats.iterations >= 3) {
                icf_iteration few[4];
                memset(few, UNTOUCHED, sizeof few);
                o.history = few;
                o.history_capacity = 2;
                random_seed(SEED + (uint32_t)(10 * family + trial));
                random_scene(s, families[family].features, 4, 0, 7, 0);
                random_start(s, trial % 2 ? 1 : 50, v);
                TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
                TEST_CHECK(stats.history == 2);
                TEST_CHECK(same_bits(few, history, 2 * sizeof *few));
                for (i = 0; i < (int32_t)sizeof few[2]; i++) {
                    TEST_CHECK(((unsigned char*)&few[2])[i] == UNTOUCHED);
                }
            }
        }
    }
    TEST_CHECK_(recorded > 300, "%d iterations", recorded);
}

/* One unknown of mass m, a motor and dry friction: all that the cost is made of, here in closed form */
typedef struct one_unknown {
    wide m, free, damping, target, most, friction, eps; /* damping and what is below it: times dt */
} one_unknown;

static wide one_unknown_cost(const one_unknown* o, wide u, wide* slope)
{
    wide push = o->damping * (o->target - u), r = sqrtl(u * u + o->eps * o->eps);
    wide cost = o->m * (u - o->free) * (u - o->free) / 2 + o->friction * (r - o->eps);
    *slope = o->m * (u - o->free) + o->friction * u / r;
    if (push > o->most || push < -o->most) {
        wide size = push < 0 ? -push : push;
        *slope -= push < 0 ? -o->most : o->most;
        return cost + o->most * (size - o->most / 2) / o->damping;
    }
    *slope -= push;
    return cost + push * push / (2 * o->damping);
}

/* A motor just below its greatest effort, and just before friction turns: where Newton's step starts the cost
   bends by the motor, and a thousandth of the way on by next to nothing. It has turned to a rise there, of
   a slope that is less than a hundredth of the first: small enough for a step to end, if it did not rise. */
static void test_search_falls(void)
{
    const double dt = 0.01;
    int trial, budget, traps = 0;
    random_seed(SEED);
    for (trial = 0; trial < 40; trial++) {
        scene* s = scene_begin(&first_scene, dt);
        one_unknown o;
        icf_row* r;
        icf_real v[1], start;
        wide low, high, slope, before, whole, step;
        double unit = exp(random_between(-3, 3)), damping = exp(random_between(-2, 2));
        double force = unit * random_between(1, 3), ahead = unit / damping, free;
        double friction = unit * random_between(0.5, 0.504);
        start = R(-1e-4 * ahead * random_between(1, 8));
        free = (double)start + (unit + (force - 1e-3 * unit) - friction) / (2e-3 * damping);
        scene_joint(s, 2e-3 * damping);
        s->v_free[0] = R(free);
        scene_link(s, 1);
        scene_block_unit(s, 0, 1);
        r = scene_row(s, ICF_ROW_MOTOR, 0, 0);
        r->damping = R(damping / dt);
        r->effort = R(force / dt);
        r->target = R((double)start - (force - 1e-3 * unit) / damping);
        o.damping = (wide)dt * (wide)r->damping;
        o.most = (wide)dt * (wide)r->effort;
        o.target = (wide)r->target;
        r = scene_row(s, ICF_ROW_DRY_FRICTION, 0, 0);
        r->effort = R(friction / dt);
        r->slip_tolerance = R(1e-6 * ahead);
        r->softness = 0;
        o.m = (wide)s->mass[0];
        o.free = (wide)s->v_free[0];
        o.friction = (wide)dt * (wide)r->effort;
        o.eps = (wide)r->slip_tolerance;
        if (trial % 2) { /* the other way */
            start = -start;
            s->v_free[0] = -s->v_free[0];
            s->row[0].target = -s->row[0].target;
            o.target = -o.target;
            o.free = -o.free;
        }
        /* Is it what it should be: Newton's step from the start to a rise with a small slope? */
        before = one_unknown_cost(&o, (wide)start, &slope);
        step = -slope / (o.damping + o.m);
        whole = one_unknown_cost(&o, (wide)start + step, &high);
        traps += whole > before && high * slope < 0 && high * high < 1e-4L * slope * slope;
        for (budget = 1; budget <= 4; budget++) {
            icf_options options = exact();
            wide after;
            options.iterations = budget;
            v[0] = start;
            (void)solve(s, &options, v, NULL);
            after = one_unknown_cost(&o, (wide)v[0], &slope);
            TEST_CHECK_(after <= before + 16 * (wide)EPS * (before + whole),
                        "trial %d: iteration %d from %.17g to %.17g; seed %u", trial, budget,
                        (double)before, (double)after, (unsigned)SEED);
            before = after;
        }
        /* the answer is where the slope changes sign */
        v[0] = start;
        solve_exactly(s, v, NULL);
        for (low = -10 * ahead, high = 10 * ahead, budget = 0; budget < 200; budget++) {
            wide middle = (low + high) / 2;
            (void)one_unknown_cost(&o, middle, &slope);
            if (slope < 0) {
                low = middle;
            } else {
                high = middle;
            }
        }
        CHECK_NEAR(v[0], low, 0, 64 * EPS * ahead);
    }
    TEST_CHECK_(traps >= 20, "%d rises on the way; seed %u", traps, (unsigned)SEED);
}

/* A budget of iterations, of factorizations, or of questions whether to stop */
static void limit(icf_options* o, int kind, int budget, patience* p)
{
    p->most = budget;
    if (kind == 0) o->iterations = budget;
    if (kind == 1) o->factorizations = budget;
    if (kind == 2) {
        o->should_stop = out_of_patience;
        o->user = p;
    }
}

/* Budgets of few iterations give what so many iterations reach, better than the start, and say
   so. */
static void test_budgets_give_the_best_so_far(void)
{
    int family, trial, short_of = 0;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 6; trial++) {
            scene* s = &first_scene;
            icf_real start[MOST_UNKNOWNS] = {0}, v[MOST_UNKNOWNS] = {0}, best[MOST_UNKNOWNS] = {0};
            icf_stats full, stats;
            double cost, optimum;
            int budget, kind;
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 5, 0, 8, 0);
            random_start(s, families[family].features & WITH_BARRIERS ? 0 : 3, start);
            memcpy(best, start, sizeof best);
            solve_exactly(s, best, &full);
            optimum = (double)full.cost;
            for (kind = 0; kind < 3; kind++) {
                cost = cost_at(s, start, NULL);
                for (budget = 1; budget <= 3; budget++) {
                    icf_options o = exact();
                    icf_result result;
                    patience p;
                    double slack;
                    p.asked = 0;
                    limit(&o, kind, budget, &p);
                    memcpy(v, start, sizeof v);
                    result = solve(s, &o, v, &stats);
                    slack = 100 * EPS * (magnitude(cost) + magnitude(optimum));
                    TEST_CHECK((double)stats.cost <= cost + slack);
                    TEST_CHECK((double)stats.cost >= optimum - slack);
                    CHECK_NEAR(cost_at(s, v, NULL), stats.cost, 1000 * EPS, 0);
                    if (result == ICF_RESULT_NOT_CONVERGED) {
                        short_of++;
                        TEST_CHECK(stats.stop == (kind == 0   ? ICF_STOP_ITERATIONS
                                                  : kind == 1 ? ICF_STOP_FACTORIZATIONS
                                                              : ICF_STOP_CALLER));
                        TEST_CHECK(kind != 0 || stats.iterations == budget);
                        TEST_CHECK(kind != 1 || stats.factorizations == budget);
                        /* a caller who ends it in the middle of an interior point phase has the best
                           that was before it */
                        if (full.islands == 1 && kind < 2) TEST_CHECK((double)stats.cost < cost);
                    } else {
                        TEST_CHECK(result == ICF_RESULT_OK);
                    }
                    if (kind == 2) TEST_CHECK(p.asked >= 1);
                    cost = (double)stats.cost;
                }
            }
        }
    }
    TEST_CHECK_(short_of > 150, "%d budgets ended a solve", short_of);
}

/* A solve that ends short, whatever ends it and after however many iterations, leaves velocities that are
   finite and cost no more than the start; and what it says of itself is of them. */
static void test_ends_short(void)
{
    enum { TRIALS = 12, BUDGETS = 40 };
    int family, trial, kind, budget, ended = 0, solves = 0;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < TRIALS; trial++) {
            scene* s = &first_scene;
            icf_real start[MOST_UNKNOWNS] = {0}, v[MOST_UNKNOWNS] = {0};
            double cost;
            int32_t i;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 1, 6, 2, 12);
            random_start(s, families[family].features & WITH_BARRIERS ? 0 : 3, start);
            /* stiff, for all phases; and deep, for walls */
            for (i = 0; i < s->p.contacts && trial % 3; i++) {
                s->surface[i].stiffness = R(pow(10, random_between(4, EPS < 1e-10 ? 10 : 5)));
                if (trial % 3 == 2 && s->contact[i].distance < 0) {
                    s->contact[i].distance *= EPS < 1e-10 ? 30 : 1;
                }
                if (trial % 2) {
                    s->contact[i].impulse_guess =
                        icf_vec3_make(0, 0, R(exp(random_between(log(1e-4), log(1)))));
                }
            }
            cost = cost_at(s, start, NULL);
            for (kind = 0; kind < 3; kind++) {
                for (budget = 0; budget < BUDGETS; budget++) {
                    icf_options o = exact();
                    icf_stats stats;
                    icf_result result;
                    patience p = {0, 0};
                    double rounding;
                    limit(&o, kind, budget, &p);
                    memcpy(v, start, sizeof v);
                    result = solve(s, &o, v, &stats);
                    solves++;
                    ended += result == ICF_RESULT_NOT_CONVERGED;
                    TEST_CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED);
                    for (i = 0; i < s->unknowns; i++) TEST_CHECK(is_finite((double)v[i]));
                    rounding = 1000 * EPS * (magnitude(cost) + magnitude((double)stats.cost));
                    TEST_CHECK_((double)stats.cost <= cost + rounding,
                                "%s %d: %.17g after %.17g, kind %d, budget %d; seed %u",
                                families[family].name, trial, (double)stats.cost, cost, kind,
                                budget, (unsigned)SEED);
                    CHECK_NEAR(cost_at(s, v, NULL), stats.cost, 1000 * EPS, 1000 * EPS);
                    if (kind == 2) TEST_CHECK(p.asked <= stats.islands * (stats.iterations + 1));
                    if (result == ICF_RESULT_OK) break;
                }
            }
        }
    }
    TEST_CHECK_(3 * ended > solves, "%d of %d solves ended short", ended, solves);
}

/* What is returned when a budget ends in an interior point phase, or after one, is what the stats are of. */
static void test_budgets_of_phases(void)
{
    int family, trial, ended = 0;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 40; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            icf_stats stats;
            int32_t i;
            int budget;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 8, 0, 20, 0);
            /* stiff, so that phases follow each other */
            for (i = 0; i < s->p.contacts; i++) {
                s->surface[i].stiffness = R(pow(10, random_between(4, EPS < 1e-10 ? 10 : 6)));
            }
            { /* a barrier so hard may be short of it */
                icf_options o = exact();
                TEST_CHECK(solve(s, &o, v, NULL) >= 0);
            }
            for (i = 0; i < s->p.contacts && trial % 2; i++) {
                icf_contact_result r = contact_result(i);
                s->contact[i].impulse_guess = icf_vec3_scale(R(random_between(0, 2)), r.impulse);
            }
            for (budget = 12; budget < 22; budget++) {
                icf_options o = exact();
                random_start(s, families[family].features & WITH_BARRIERS ? 0 : 3, v);
                o.iterations = budget;
                ended += solve(s, &o, v, &stats) == ICF_RESULT_NOT_CONVERGED;
                CHECK_NEAR(cost_at(s, v, NULL), stats.cost, 1000 * EPS, 1000 * EPS);
            }
        }
    }
    TEST_CHECK(ended > 20);
}

/* Rolling and torsion of a contact that nothing reads */
static void test_spin_of_nothing(void)
{
    scene* s = scene_begin(&first_scene, 0.01);
    icf_real v[3] = {0};
    icf_contact_result r;
    icf_contact* c;
    scene_point(s, 1);
    scene_link(s, 6);
    c = scene_contact(s, 0);
    c->distance = R(-0.01);
    surface_of(c)->rolling = surface_of(c)->torsion = R(0.1);
    s->bias[5] = 1;
    workspace_new(icf_workspace_bytes(&s->p, ICF_SPARSE_FULL));
    memset(workspace_memory, 0xff,
           workspace.bytes); /* all that is read before it is written is NaN */
    TEST_CHECK(icf_solve(&s->p, NULL, &workspace, v, NULL) == ICF_RESULT_OK);
    r = contact_result(0);
    TEST_CHECK(is_finite((double)r.dissipated));
}

/* Started at the answer, a solve needs nothing, and the velocity stays as it is. */
static void test_warm_start(void)
{
    int family;
    for (family = 0; family < FAMILIES; family++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, before[MOST_UNKNOWNS];
        icf_stats stats;
        random_seed(SEED + (uint32_t)family);
        random_scene(s, families[family].features, 4, 0, 6, 0);
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, NULL);
        memcpy(before, v, sizeof v);
        TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
        /* where rounding leaves more than the tolerance, as in float it may, one factor shows
           that */
        TEST_CHECK_(stats.iterations == 0 &&
                        (stats.stop == ICF_STOP_CONVERGED
                             ? stats.factorizations == 0
                             : stats.factorizations <= 1 &&
                                   stats.momentum_error > icf_default_options().tolerance),
                    "%s: %d iterations, %d factorisations; seed %u", families[family].name,
                    (int)stats.iterations, (int)stats.factorizations, (unsigned)SEED);
        TEST_CHECK(same_bits(v, before, (size_t)s->unknowns * sizeof *v));
        if (s->p.contacts) contact_result(0); /* and there are results */
    }
}

/* What slides without friction on something far heavier, which comes to rest in this step, is not stopped
   with it because its momentum is below the tolerance of both together. */
static void test_light_slides_on(void)
{
    const double dt = 0.01, heavy = 1000, light = 0.01, k = 1e6, speed = 0.01;
    int trial;
    for (trial = 0; trial < 4; trial++) {
        scene* s = scene_begin(&first_scene, dt);
        const double loads[2] = {(heavy + light) * gravity, light * gravity};
        icf_real v[6] = {0, 0, 0, 0, 0, 0};
        icf_options o = icf_default_options();
        int32_t i;
        o.tolerance = R(1e-3);
        scene_point(s, heavy);
        scene_point(s, light);
        for (i = 0; i < 2; i++) {
            icf_contact* c = scene_contact(s, scene_link(s, 3));
            scene_block_unit(s, i, 1);
            if (i) scene_block_unit(s, 0, -1);
            surface_of(c)->stiffness = R(i ? k * light / heavy : k);
            c->distance = R(-loads[i] / (double)surface_of(c)->stiffness);
            surface_of(c)->friction = surface_of(c)->dissipation = 0;
            surface_of(c)->model = trial & 1 ? ICF_MODEL_SIMILAR : ICF_MODEL_LAGGED;
            c->impulse_guess.z = R(dt * loads[i]);
            s->v_free[3 * i + 2] = R(-dt * gravity);
        }
        s->v_free[3] = v[3] = R(speed);
        v[2] = v[5] = R(trial & 2 ? 0.01 : 0);
        memcpy(s->v_last, v, sizeof v);
        TEST_CHECK(solve(s, &o, v, NULL) == ICF_RESULT_OK);
        CHECK_NEAR(v[3], speed, 1e-3, 0);
        CHECK_BELOW(magnitude((double)v[2]), 1e-3 * dt * gravity);
    }
}

/* The tolerance asked for is the one reached, and the error is that of SAP (26), computed here. */
static void test_tolerance_is_reached(void)
{
    int family, k, trial;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 4; trial++) {
            for (k = 0; k < 4; k++) {
                static const double tolerances[] = {1e-1, 1e-2, 1e-3, 1e-6};
                scene* s = &first_scene;
                icf_real v[MOST_UNKNOWNS] = {0};
                wide x[MOST_UNKNOWNS] = {0}, gradient[MOST_UNKNOWNS] = {0}, worst = 0;
                icf_options o = icf_default_options();
                icf_stats stats;
                wide up = 0, momentum = 0, pushed = 0;
                int32_t i;
                random_seed(SEED + (uint32_t)(10 * family + trial));
                random_scene(s, families[family].features, 1, 3, 8, 0);
                o.tolerance = R(tolerances[k]);
                memcpy(v, s->v_last, sizeof v);
                TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
                TEST_CHECK(stats.stop != ICF_STOP_CONVERGED ||
                           (double)stats.momentum_error <= tolerances[k]);
                TEST_CHECK(stats.stop != ICF_STOP_FLOOR || tolerances[k] < 1e4 * EPS);
                if (stats.islands != 1) continue;
                opinion_make(s);
                widen(s->unknowns, v, x);
                opinion_gradient(x, gradient);
                for (i = 0; i < opinion.n; i++) {
                    wide p = dot(opinion.n, opinion.a + i * opinion.n, x), d, q;
                    q = p - gradient[i] - dot(opinion.n, opinion.a + i * opinion.n, opinion.v_free);
                    d = 1 / opinion.a[i * opinion.n + i];
                    up += d * gradient[i] * gradient[i];
                    momentum += d * p * p;
                    pushed += d * q * q;
                    /* is it in the island? if not, it is at v* */
                    worst += v[i] == s->v_free[i];
                }
                if (worst > 0) continue;
                CHECK_NEAR(stats.gradient, sqrtl(up), 1e-6,
                           100 * EPS * (double)((4 + opinion_stiffness(x)) * sqrtl(momentum)));
                CHECK_NEAR(stats.momentum_error,
                           sqrtl(up / (momentum > pushed ? momentum : pushed)), 1e-6,
                           100 * EPS * (4 + (double)opinion_stiffness(x)));
            }
        }
    }
}

static double about(double x)
{
    return x * random_between(0.9, 1.1);
}

/* A grain between two walls, deep in one of them, with friction that outweighs all else a million times:
   Newton's method stands still in about a third of these problems and finds a way around in some. However
   it ends, it says CONVERGED where the tolerance is met, and nowhere else. */
static void test_stop_says_what_was_met(void)
{
    static const double to[3] = {300, 9, 22}, from[3] = {-300, 0.2, 0.03};
    static const double normal[2][3] = {
        {-0.22, -0.34, -0.91},
        {0.44,  -0.08, -0.89}
    };
    int trial, i, k, converged = 0;
    random_seed(SEED);
    for (trial = 0; trial < 300; trial++) {
        scene* s = scene_begin(&first_scene, 0.058);
        const double tolerance = (double)icf_default_options().tolerance;
        icf_real v[3];
        icf_stats stats;
        scene_point(s, 0.007);
        for (i = 0; i < 2; i++) {
            icf_contact* c = scene_contact(s, scene_link(s, 3));
            double n[3];
            for (k = 0; k < 3; k++) n[k] = about(normal[i][k]);
            scene_block_unit(s, 0, 1);
            c->normal = icf_vec3_normalize(icf_vec3_make(R(n[0]), R(n[1]), R(n[2])));
            surface_of(c)->tangent =
                icf_vec3_normalize(icf_vec3_cross(c->normal, icf_vec3_make(1, 0, 0)));
            surface_of(c)->model = i ? ICF_MODEL_LAGGED : ICF_MODEL_SIMILAR;
            surface_of(c)->law = i ? ICF_LAW_KELVIN_VOIGT : ICF_LAW_HERTZ;
            c->distance = R(about(i ? 1.2e-4 : -1e-3));
            surface_of(c)->stiffness = R(about(i ? 2.5e7 : 5.5e11));
            surface_of(c)->friction = R(i ? 4e6 : 6e8);
            surface_of(c)->softness = R(i ? 0.06 : 2.5e-5);
        }
        for (k = 0; k < 3; k++) {
            s->v_free[k] = R(about(to[k]));
            s->v_last[k] = v[k] = R(from[k]);
        }
        TEST_CHECK(solve(s, NULL, v, &stats) >= 0);
        converged += stats.stop == ICF_STOP_CONVERGED;
        TEST_CHECK_((stats.stop == ICF_STOP_CONVERGED) ==
                        ((double)stats.momentum_error <= tolerance),
                    "trial %d: stop %d with an error of %g; seed %u", trial, (int)stats.stop,
                    (double)stats.momentum_error, (unsigned)SEED);
    }
    TEST_CHECK_(IN_FLOAT || converged >= 100, "%d of 300", converged); /* in float all end short */
}

/* The certificate is above what the cost can still fall by, and not far above what theory gives. */
static void test_certificate_bounds_the_cost(void)
{
    int family, trial, k;
    for (family = 0; family < FAMILIES - 1; family++) {
        for (trial = 0; trial < 6; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0}, best[MOST_UNKNOWNS] = {0};
            icf_options o = icf_default_options();
            icf_stats full, stats;
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 4, 0, 6, 0);
            memcpy(best, s->v_last, sizeof v);
            solve_exactly(s, best, &full);
            for (k = 1; k < 4; k++) {
                wide x[MOST_UNKNOWNS] = {0};
                double expected, slack;
                memcpy(v, s->v_last, sizeof v);
                o.iterations = k;
                o.tolerance = R(4 * EPS);
                solve(s, &o, v, &stats);
                slack = 200 * EPS * (magnitude((double)stats.cost) + magnitude((double)full.cost));
                TEST_CHECK_(
                    (double)stats.certificate >= (double)stats.cost - (double)full.cost - slack,
                    "%s: certificate %g, and %g above; seed %u", families[family].name,
                    (double)stats.certificate, (double)(stats.cost - full.cost), (unsigned)SEED);
                /* 1/2 grad' A^-1 grad */
                opinion_make(s);
                widen(s->unknowns, v, x);
                expected = (double)opinion_distance(x);
                expected = expected * expected / 2;
                {
                    double rounding = 10 * EPS * (double)(norm_a(x) + norm_a(opinion.v_free)) *
                                      (4 + (double)opinion_stiffness(x));
                    CHECK_NEAR(sqrt((double)stats.certificate), sqrt(expected), 1e-4, rounding);
                }
            }

            /* asked for as the stop */
            o = icf_default_options();
            o.tolerance = 0;
            o.energy = R(1e-3);
            memcpy(v, s->v_last, sizeof v);
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            TEST_CHECK(full.islands > 1 || (double)stats.certificate <= 1e-3 ||
                       stats.stop == ICF_STOP_FLOOR);
            TEST_CHECK((double)stats.cost - (double)full.cost <=
                       full.islands * 1e-3 + 200 * EPS * magnitude((double)full.cost));
            TEST_CHECK(stats.iterations <= full.iterations);
        }
    }
}

/* Two joints so coupled that moving both together costs a tenth of what moving one does: there
   the blocks on the diagonal alone would promise ten times too much. */
static void test_certificate_of_weak_mode(void)
{
    const double minus = -0.9;
    scene* s = scene_begin(&first_scene, 0.01);
    icf_real v[2] = {1, 1};
    icf_options o = exact();
    icf_stats stats;
    scene_joint(s, 1);
    scene_joint(s, 1);
    scene_coupling(s, 0, 1, &minus);
    scene_link(s, 1);
    scene_block_unit(s, 0, 1);
    scene_row(s, ICF_ROW_QUADRATIC, 0, 0)->weight = R(1e-3);
    s->row[0].target = 1;
    o.iterations = 0;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_NOT_CONVERGED);
    /* at rest the cost is 0.5e-3, and the optimum is below */
    CHECK_NEAR(stats.cost, 0.1, 20 * EPS, 0);
    TEST_CHECK_((double)stats.certificate >= 0.1 - 0.5e-3 && (double)stats.certificate < 0.11,
                "certificate %g", (double)stats.certificate);
}

/* A certificate asked for is that of all islands together. */
static void test_energy_of_islands(void)
{
    int trial, k;
    for (trial = 0; trial < 4; trial++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, best[MOST_UNKNOWNS] = {0};
        icf_stats full, stats;
        double start;
        random_seed(SEED + (uint32_t)trial);
        scene_begin(s, 0.01);
        for (k = 0; k < 8; k++) {
            random_scene(&second_scene, WITH_LAGGED, 2, 0, 3, 0);
            scene_append(s, &second_scene);
        }
        memcpy(best, s->v_last, sizeof best);
        start = cost_at(s, best, NULL);
        solve_exactly(s, best, &full);
        TEST_CHECK(full.islands >= 8);
        for (k = 1; k < 12; k++) {
            icf_options o = icf_default_options();
            o.tolerance = 0;
            o.energy = R((start - (double)full.cost) * pow(0.3, k));
            memcpy(v, s->v_last, sizeof v);
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            TEST_CHECK_(stats.certificate <= o.energy || stats.stop == ICF_STOP_FLOOR,
                        "trial %d: %g J asked for, certificate %g J; seed %u", trial,
                        (double)o.energy, (double)stats.certificate, (unsigned)SEED);
        }
    }
}

/* Where A has blocks off its diagonal: from the caller's bound, which is used, or from
   Gershgorin's, or none. */
static void test_certificate_of_meshes(void)
{
    int trial, known = 0;
    for (trial = 0; trial < 20; trial++) {
        scene* s = &first_scene;
        static icf_real bound[MOST_MASS];
        icf_real v[MOST_UNKNOWNS] = {0}, best[MOST_UNKNOWNS] = {0};
        icf_options o = exact();
        icf_stats full, stats, with;
        wide x[MOST_UNKNOWNS] = {0}, gradient[MOST_UNKNOWNS] = {0}, sum = 0;
        int32_t i, c;
        double gap, slack;
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, families[6].features, 3, 3, 5, 0);
        if (trial % 2) {
            /* inertia so large that the rows are dominated by their diagonals */
            for (c = 0; c < s->p.cliques; c++) {
                for (i = 0; i < s->sizes[c]; i++) {
                    s->mass[s->mass_at[c] + i * (s->sizes[c] + 1)] += 200;
                }
            }
        }
        memcpy(best, s->v_last, sizeof v);
        solve_exactly(s, best, &full);
        o.iterations = 1;
        memcpy(v, s->v_last, sizeof v);
        solve(s, &o, v, &stats);
        gap = (double)stats.cost - (double)full.cost;
        slack = 200 * EPS * (magnitude((double)stats.cost) + magnitude((double)full.cost));
        TEST_CHECK((double)stats.certificate >= gap - slack);
        if (stats.certificate < ICF_REAL_MAX) known++;
        if (trial % 2) TEST_CHECK(stats.certificate < ICF_REAL_MAX);

        /* 0.2 I: the masses are at least 0.3, and springs only add to them */
        memset(bound, 0, sizeof bound);
        for (c = 0; c < s->p.cliques; c++) {
            for (i = 0; i < s->sizes[c]; i++) {
                bound[s->mass_at[c] + i * (s->sizes[c] + 1)] = R(0.2);
            }
        }
        s->p.mass_bound = bound;
        /* it is for the certificate: the answer is the same to the bit */
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, &with);
        TEST_CHECK_(same_bits(v, best, (size_t)s->unknowns * sizeof *v),
                    "trial %d: a bound changes the answer; seed %u", trial, (unsigned)SEED);
        memcpy(v, s->v_last, sizeof v);
        solve(s, &o, v, &with);
        TEST_CHECK((double)with.certificate >= gap - slack);
        opinion_make(s);
        widen(s->unknowns, v, x);
        opinion_gradient(x, gradient);
        for (i = 0; i < opinion.n; i++) sum += gradient[i] * gradient[i] / 0.4L;
        CHECK_NEAR(sqrt((double)with.certificate), sqrtl(sum), 1e-3,
                   100 * EPS * (4 + (double)opinion_stiffness(x)) * (double)norm_a(x));
    }
    TEST_CHECK(known >= 10);
}

/* Units do not matter: a problem scaled by powers of four takes the same iterations to the same
   bits. */
static void test_scale_changes_no_bit(void)
{
    int family, trial, which;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 4; trial++) {
            scene *s = &first_scene, *t = &second_scene;
            icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
            icf_stats stats, again;
            icf_options o = icf_default_options();
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 4, 0, 6, 0);
            memcpy(v, s->v_last, sizeof v);
            o.tolerance = R(1e-4);
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            for (which = 0; which < 4; which++) {
                /* energies of e, velocities of u: A in e / u^2 */
                static const double powers[4][2] = {
                    {65536,       1       },
                    {1.0 / 65536, 1       },
                    {1,           256     },
                    {1.0 / 64,    1.0 / 16}
                };
                const icf_real m = R(powers[which][0]), u = R(powers[which][1]);
                int32_t i;
                scene_copy(t, s);
                for (i = 0; i < s->masses; i++) t->mass[i] *= m;
                for (i = 0; i < s->coupling_numbers; i++) t->couplings[i] *= m;
                for (i = 0; i < s->biases; i++) t->bias[i] *= u;
                for (i = 0; i < s->unknowns; i++) {
                    t->v_free[i] *= u;
                    t->v_last[i] *= u;
                }
                for (i = 0; i < s->p.contacts; i++) {
                    icf_contact* c = &t->contact[i];
                    c->distance *= u;
                    surface_of(c)->range *= u;
                    surface_of(c)->dissipation /= u;
                    surface_of(c)->slip_tolerance *= u;
                    c->force *= m * u;
                    surface_of(c)->stiffness *= m;
                    surface_of(c)->velocity = icf_vec3_scale(u, surface_of(c)->velocity);
                    c->pull = icf_vec3_scale(u, c->pull);
                    if (surface_of(c)->law == ICF_LAW_HERTZ)
                        surface_of(c)->stiffness /= ICF_SQRT(u);
                    if (surface_of(c)->law == ICF_LAW_LOG_BARRIER)
                        surface_of(c)->stiffness *= u * u;
                }
                for (i = 0; i < s->p.rows; i++) {
                    icf_row* r = &t->row[i];
                    r->distance *= u;
                    r->stiffness *= m;
                    r->damping *= m;
                    r->error *= u;
                    r->target *= u;
                    r->feedforward *= m * u;
                    if (r->effort >= 0) r->effort *= m * u;
                    r->slip_tolerance *= u;
                    r->weight *= m;
                }
                memcpy(other, t->v_last, sizeof other);
                TEST_CHECK(solve(t, &o, other, &again) == ICF_RESULT_OK);
                TEST_CHECK_(again.iterations == stats.iterations &&
                                again.factorizations == stats.factorizations &&
                                again.trials == stats.trials,
                            "%s %d: %d iterations, %d if masses are %g and velocities %g times as "
                            "large; seed %u",
                            families[family].name, trial, (int)stats.iterations,
                            (int)again.iterations, (double)m, (double)u, (unsigned)SEED);
                for (i = 0; i < s->unknowns; i++) other[i] /= u;
                TEST_CHECK_(same_bits(v, other, (size_t)s->unknowns * sizeof *v),
                            "%s %d: other bits at scale %d; seed %u", families[family].name, trial,
                            which, (unsigned)SEED);
            }
        }
    }
}

TEST_LIST = {
    {"floor_after_corners",          test_floor_after_corners         },
    {"floor_of_components",          test_floor_of_components         },
    {"floor_is_found_soon",          test_floor_is_found_soon         },
    {"cost_falls",                   test_cost_falls                  },
    {"search_falls",                 test_search_falls                },
    {"budgets_give_the_best_so_far", test_budgets_give_the_best_so_far},
    {"ends_short",                   test_ends_short                  },
    {"budgets_of_phases",            test_budgets_of_phases           },
    {"spin_of_nothing",              test_spin_of_nothing             },
    {"warm_start",                   test_warm_start                  },
    {"light_slides_on",              test_light_slides_on             },
    {"tolerance_is_reached",         test_tolerance_is_reached        },
    {"stop_says_what_was_met",       test_stop_says_what_was_met      },
    {"certificate_bounds_the_cost",  test_certificate_bounds_the_cost },
    {"certificate_of_weak_mode",     test_certificate_of_weak_mode    },
    {"energy_of_islands",            test_energy_of_islands           },
    {"certificate_of_meshes",        test_certificate_of_meshes       },
    {"scale_changes_no_bit",         test_scale_changes_no_bit        },
    {NULL,                           NULL                             }
};
