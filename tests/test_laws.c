/* Layer 7: solves whose answers have closed forms: laws of contacts, friction, rows, barriers. */

#include "tested.h"

#include "acutest.h"
#include "util.h"
#include "problem_util.h"
#include "second_opinion.h"

// ------------------------------------------------------------------------------------------------
// Closed forms: one contact

/* A point mass of 2 kg on a slope of `slope` = tan(angle), friction 0.5, for `steps` steps from
   rest in equilibrium. Gives its speed down the slope. */
static double slide(int model, double slope, double dt, int steps, double softness,
                    icf_contact_result* last, icf_contact* used)
{
    const double m = 2, k = 1e5, cosine = 1 / sqrt(1 + slope * slope), sine = slope * cosine;
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, dt, m);
    icf_real v[3] = {0, 0, 0};
    double phi = -m * gravity * cosine / k;
    int step;
    surface_of(c)->model = model;
    surface_of(c)->stiffness = R(k);
    surface_of(c)->friction = R(0.5);
    surface_of(c)->dissipation = R(5);
    surface_of(c)->relaxation = R(0.02);
    surface_of(c)->softness = R(softness);
    surface_of(c)->near_rigid = 0;
    for (step = 0; step < steps; step++) {
        memcpy(s->v_last, v, sizeof v);
        s->v_free[0] = v[0] + R(dt * gravity * sine);
        s->v_free[1] = v[1];
        s->v_free[2] = v[2] - R(dt * gravity * cosine);
        c->distance = R(phi);
        solve_exactly(s, v, NULL);
        *last = contact_result(0);
        phi += dt * (double)v[2];
    }
    *used = *c;
    return (double)v[0];
}

/* Below the friction angle a contact creeps at the speed at which its regularised friction is
   the load, and it stays on the floor. */
static void test_incline_creeps(void)
{
    static const double softnesses[] = {1e-3, 0.1};
    const double slope = 0.3, m = 2, dt = 0.01, mu = 0.5;
    int model, which;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        for (which = 0; which < 2; which++) {
            icf_contact_result r;
            icf_contact c;
            double speed = slide(model, slope, dt, 60, softnesses[which], &r, &c), expected;
            double n = m * gravity / sqrt(1 + slope * slope) * dt;
            double w = sqrt(3) / (3 * m);
            /* the impulse of the start of the step: a similar contact glides a little above its
               depth */
            double soft = softnesses[which] * w * mu * dt * 1e5 * -(double)c.distance;
            if (model == ICF_MODEL_SAP) {
                expected = softnesses[which] * w * n * slope;
            } else {
                /* mu n v / sqrt(v^2 + eps^2) = n slope */
                double t = slope / mu, eps = larger(soft, 1e-4);
                expected = eps * t / sqrt(1 - t * t);
                TEST_CHECK((soft > 1e-4) == (which == 1)); /* both sides of the maximum are seen */
            }
            CHECK_NEAR(r.w, w, 8 * EPS, 0);
            CHECK_NEAR(speed, expected, 2000 * EPS, 0);
            CHECK_NEAR(r.impulse.z, n, 2000 * EPS, 0);
            CHECK_NEAR(r.impulse.x, -n * slope, 2000 * EPS, 0);
            CHECK_NEAR(r.impulse.y, 0, 0, 100 * EPS * n);
            TEST_CHECK(r.mode == ICF_MODE_STICK);
        }
    }
}

/* Above it the speed is that of friction at its bound, to within the slip of regularised
   friction. */
static void test_incline_slides(void)
{
    const double slope = 1, dt = 0.005, mu = 0.5, m = 2;
    const int steps = 200;
    const double cosine = 1 / sqrt(1 + slope * slope);
    int model;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        icf_contact_result r;
        icf_contact c;
        double speed = slide(model, slope, dt, steps, 1e-3, &r, &c), t = dt * steps;
        double rigid = gravity * cosine * (slope - mu) * t;
        TEST_CHECK(r.mode == ICF_MODE_SLIP);
        if (model == ICF_MODEL_LAGGED) {
            /* the same steps, one scalar equation each */
            scalar f;
            wide v = 0;
            int step;
            f.contact = NULL;
            f.m = (wide)m;
            f.dt = (wide)dt;
            f.effort = (wide)(mu * m * gravity * cosine);
            f.tolerance = 1e-4L;
            for (step = 0; step < steps; step++) {
                f.v_free = v + (wide)(dt * gravity * cosine * slope);
                v = scalar_root(&f);
            }
            CHECK_NEAR(speed, v, steps * 30 * EPS, 0);
            CHECK_NEAR(speed, rigid, 1e-3, 0);
            CHECK_NEAR(r.impulse.x, -mu * (double)r.impulse.z, 100 * EPS + 1e-6, 0);
        } else {
            /* while it accelerates it glides higher and higher: the lift costs a little friction */
            CHECK_NEAR(speed, rigid, 0.02, 0);
            CHECK_NEAR(r.impulse.x, -mu * (double)r.impulse.z, 100 * EPS + 1e-6, 0);
        }
    }
}

/* A mass that hits the floor: every step of the flight, the impact and the rebound solves one
   equation. */
static void test_impact_every_step(void)
{
    static const int laws[] = {ICF_LAW_HUNT_CROSSLEY, ICF_LAW_HERTZ, ICF_LAW_KELVIN_VOIGT,
                               ICF_LAW_IPC_BARRIER, ICF_LAW_LOG_BARRIER};
    int law, trial, contacts = 0, rebounds = 0;
    random_seed(SEED);
    for (law = 0; law < 5; law++) {
        for (trial = 0; trial < 12; trial++) {
            const int barrier = laws[law] >= ICF_LAW_IPC_BARRIER;
            const double m = random_between(0.1, 5), dt = random_between(5e-4, 1e-2);
            scene* s = &first_scene;
            icf_contact* c = scene_point_on_floor(s, dt, m);
            icf_real v[3] = {0, 0, 0};
            double phi = random_between(1e-3, 1e-2);
            int step;
            surface_of(c)->law = laws[law];
            surface_of(c)->stiffness =
                R(barrier ? random_between(1e-3, 10) : random_between(1e3, 1e5));
            if (laws[law] == ICF_LAW_IPC_BARRIER) surface_of(c)->stiffness *= 1000;
            surface_of(c)->dissipation = R(trial % 3 ? random_between(0, 2) : 0);
            surface_of(c)->relaxation = R(trial % 3 ? random_between(0, 0.01) : 0);
            surface_of(c)->range = R(5e-3);
            v[2] = R(-random_between(0.1, 4));
            for (step = 0; step < 60; step++) {
                scalar f;
                double expected, speed, stiffness, tolerance;
                wide here, there;
                memcpy(s->v_last, v, sizeof v);
                s->v_free[2] = v[2] - R(dt * gravity);
                c->distance = R(phi);
                solve_exactly(s, v, NULL);
                f.contact = c;
                f.m = (wide)s->mass[0];
                f.dt = (wide)s->p.dt;
                f.v_free = (wide)s->v_free[2];
                f.effort = f.tolerance = 0;
                expected = (double)scalar_root(&f);
                /* the rounding of the impulse counts more the softer, and of phi the stiffer the
                   law is */
                speed = magnitude((double)s->v_free[2]) + magnitude(expected);
                here = scalar_residual(&f, (wide)expected);
                there = scalar_residual(&f, (wide)expected + 1e-9L);
                stiffness = (double)((here - there) * 1e9L / f.m);
                tolerance = 8 * EPS * (speed + stiffness / (1 + stiffness) * magnitude(phi) / dt);
                if (barrier) tolerance += 8 * EPS * 0.01 / dt;
                CHECK_NEAR(v[2], expected, 4 * EPS, tolerance + 1e-30);
                if (!TEST_CHECK(v[0] == 0 && v[1] == 0)) break;
                if (expected - (double)s->v_free[2] > 1e-3) contacts++;
                if (v[2] > 0 && s->v_last[2] < 0) rebounds++;
                phi += dt * (double)v[2];
                if (barrier && !TEST_CHECK(phi > 0)) break;
                if (phi > 0.02) break;
            }
        }
    }
    TEST_CHECK_(contacts >= 150, "%d steps in contact", contacts);
    TEST_CHECK_(rebounds >= 30, "%d rebounds", rebounds);
}

/* ICF (24) and table I: how far from the floor a slipping contact begins to push. */
static void test_gliding_offset(void)
{
    const double speed = 1.5, mu = 0.4, tau = 0.03;
    int model, which;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        static const double steps[] = {1e-3, 1e-2};
        for (which = 0; which < 2; which++) {
            const double dt = steps[which];
            double offset = model == ICF_MODEL_LAGGED    ? 0
                            : model == ICF_MODEL_SIMILAR ? mu * dt * speed
                                                         : mu * (dt + tau) * speed;
            int inside;
            for (inside = 0; inside < 2; inside++) {
                scene* s = &first_scene;
                icf_contact* c = scene_point_on_floor(s, dt, 1e6);
                icf_real v[3] = {0, 0, 0};
                icf_contact_result r;
                v[0] = s->v_last[0] = s->v_free[0] = R(speed);
                surface_of(c)->model = model;
                surface_of(c)->friction = R(mu);
                surface_of(c)->relaxation = R(tau);
                surface_of(c)->slip_tolerance = R(1e-6);
                surface_of(c)->near_rigid = 0;
                /* a part in a thousand, and for |v|_s = |v| - v_s another one in a million */
                c->distance = R(offset * (inside ? 0.999 : 1.001) + (inside ? -1e-7 : 1e-7));
                solve_exactly(s, v, NULL);
                r = contact_result(0);
                if (inside) {
                    TEST_CHECK_(r.impulse.z > 0, "model %d, dt %g: no force at %g", model, dt,
                                (double)c->distance);
                    TEST_CHECK(r.mode != ICF_MODE_OPEN);
                } else {
                    TEST_CHECK_(r.impulse.z == 0, "model %d, dt %g: a force at %g", model, dt,
                                (double)c->distance);
                    TEST_CHECK(r.impulse.x == 0 && r.impulse.y == 0 && r.mode == ICF_MODE_OPEN);
                    TEST_CHECK(v[0] == R(speed) && v[2] == 0);
                }
            }
        }
    }
}

/* ICF table I: the depth at which a slipping mass rests has the gliding offset and the modulated
   stiffness in it. The belt is so heavy that the slip does not change. */
static void test_compliance_modulation(void)
{
    const double mu = 0.5, k = 2e4, m = 1, dt = 5e-3, tau = 0.02, d = 2, softness = 0.05;
    int model;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        double diagonal[3] = {100, 100, 0}, phi = 0, expected, slip, load = m * gravity, stop;
        scene* s = scene_begin(&first_scene, dt);
        icf_contact* c;
        icf_contact_result r;
        icf_real v[3] = {2, 0, 0};
        int step;
        diagonal[2] = m;
        scene_diagonal(s, 3, diagonal);
        scene_link(s, 3);
        scene_block_unit(s, 0, 1);
        c = scene_contact(s, 0);
        surface_of(c)->model = model;
        surface_of(c)->friction = R(mu);
        surface_of(c)->stiffness = R(k);
        surface_of(c)->dissipation = R(d);
        surface_of(c)->relaxation = R(tau);
        surface_of(c)->softness = R(softness);
        surface_of(c)->near_rigid = 0;
        memset(&r, 0, sizeof r);
        for (step = 0; step < 1500; step++) {
            memcpy(s->v_last, v, sizeof v);
            memcpy(s->v_free, v, sizeof v);
            s->v_free[0] = 2;
            s->v_free[2] -= R(dt * gravity);
            c->distance = R(phi);
            solve_exactly(s, v, NULL);
            r = contact_result(0);
            phi += dt * (double)v[2];
        }
        slip = (double)r.velocity.x;
        CHECK_NEAR(slip, 2, 1e-3, 0);
        if (model == ICF_MODEL_LAGGED) {
            expected = -load / k;
        } else if (model == ICF_MODEL_SIMILAR) {
            /* off the floor at the start of the step, it has no impulse there for ICF (26) */
            double eps = larger(1e-4, softness * (double)r.w * mu * dt * k * -phi);
            double soft = sqrt(slip * slip + eps * eps) - eps;
            expected = mu * dt * soft - load / (k * (1 + mu * d * soft));
        } else {
            double rn = 1 / (dt * k * (dt + tau)), rt = softness * (double)r.w;
            expected = mu * (dt + tau) * slip - load / k * (1 + mu * mu * rt / rn);
            TEST_CHECK(mu * mu * rt / rn > 0.01); /* it can be seen */
        }
        /* The solve ends when the momentum error is 4 EPS of the momentum sqrt(100) 2, in the
           units of D, or the step that of the velocity; what the contact makes of that is at
           most 4 times as much. phi is a sum of many steps, a rounding each. */
        stop = 4 * 4 * EPS * 20 / (load * dt);
        CHECK_NEAR(phi, expected, 2000 * EPS, load / k * stop + 20 * EPS * load * dt * dt);
        CHECK_NEAR(r.force.z, load, 5000 * EPS + stop, 0);
    }
}

/* SAP sticks up to a slip of sigma w mu gamma_n, ICF (25), and no further. */
static void test_stiction_of_sap(void)
{
    const double m = 1, dt = 0.01, mu = 0.5, k = 1e4, load = m * gravity;
    int which;
    for (which = 0; which < 2; which++) {
        const double share = which ? 1.001 : 0.999;
        scene* s = &first_scene;
        icf_contact* c = scene_point_on_floor(s, dt, m);
        icf_real v[3] = {0, 0, 0};
        icf_contact_result r;
        double w = sqrt(3) / (3 * m), transition = 1e-3 * w * mu * load * dt;
        surface_of(c)->model = ICF_MODEL_SAP;
        surface_of(c)->stiffness = R(k);
        surface_of(c)->relaxation = 0;
        surface_of(c)->near_rigid = 0;
        c->distance = R(-load / k);
        s->v_free[0] = R(share * (mu * load * dt / m + transition));
        s->v_free[2] = R(-gravity * dt);
        solve_exactly(s, v, NULL);
        r = contact_result(0);
        if (which) {
            TEST_CHECK(r.mode == ICF_MODE_SLIP);
            TEST_CHECK(v[0] > R(transition));
        } else {
            TEST_CHECK(r.mode == ICF_MODE_STICK);
            CHECK_NEAR(v[0], share * transition, 100 * EPS, 40 * EPS * mu * load * dt);
        }
    }
}

/* SAP (29): the bound makes a mass on its contact oscillate no faster than beta steps, and is
   reported. */
static void test_near_rigid(void)
{
    const double m = 3, dt = 0.01;
    int model, given, beta;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        for (given = 0; given < 2; given++) {
            for (beta = 0; beta < 3; beta++) {
                static const double betas[] = {-1, 0, 0.5};
                /* in float what is harder is bounded by the precision as well */
                const double pi = 3.14159265358979324, hard = IN_FLOAT ? 1e8 : 1e12;
                const double k = given ? hard : 1e3;
                scene* s = &first_scene;
                icf_contact* c = scene_point_on_floor(s, dt, m);
                icf_real v[3] = {0, 0, 0};
                icf_contact_result r;
                icf_stats stats;
                double b = betas[beta] < 0 ? model == ICF_MODEL_SAP : betas[beta];
                double w = sqrt(3) / (3 * m);
                int acts = b > 0 && given;
                surface_of(c)->model = model;
                surface_of(c)->friction = 0;
                surface_of(c)->stiffness = R(k);
                surface_of(c)->dissipation = 0;
                surface_of(c)->relaxation = 0;
                surface_of(c)->near_rigid = R(betas[beta]);
                c->distance = R(-1e-3);
                solve_exactly(s, v, &stats);
                r = contact_result(0);
                TEST_CHECK_(r.bounded == acts && stats.bounded == acts,
                            "model %d, k %g, beta %g: bounded %d", model, k, b, (int)r.bounded);
                if (acts) {
                    /* impulse = (1e-3 / dt - v) / R_n = m v */
                    double rn = b * b * w / (4 * pi * pi);
                    CHECK_NEAR(v[2], 1e-3 / dt / (1 + m * rn), 100 * EPS, 0);
                } else {
                    CHECK_NEAR(v[2], 1e-3 / dt / (1 + m / (dt * dt * k)), 100 * EPS, 0);
                }
            }
        }
    }
}

/* Forces given as force and stiffness, with a stiffness of 0 too. */
static void test_by_force(void)
{
    const double m = 2, dt = 0.01, d = 0.5;
    int which;
    for (which = 0; which < 3; which++) {
        static const double stiffnesses[] = {0, 100, 1e4};
        const double k = stiffnesses[which], f0 = 30;
        scene* s = &first_scene;
        icf_contact* c = scene_point_on_floor(s, dt, m);
        icf_real v[3] = {0, 0, R(-0.3)};
        icf_contact_result r;
        scalar f;
        surface_of(c)->by_force = 1;
        c->force = R(f0);
        surface_of(c)->stiffness = R(k);
        surface_of(c)->dissipation = R(d);
        c->distance = R(123); /* not looked at */
        s->v_last[2] = v[2];
        s->v_free[2] = R(-0.3 - dt * gravity);
        solve_exactly(s, v, NULL);
        r = contact_result(0);
        if (k > 0) {
            icf_contact* same = second_scene.contact;
            scene_copy(&second_scene, s);
            surface_of(same)->by_force = 0;
            same->distance = R(-f0 / k);
            f.contact = same;
            f.m = (wide)m;
            f.dt = (wide)s->p.dt;
            f.v_free = (wide)s->v_free[2];
            CHECK_NEAR(v[2], scalar_root(&f), 30 * EPS, 10 * EPS);
        } else {
            /* m (v - v*) = dt f0 (1 - d v) */
            double expected = (m * (double)s->v_free[2] + dt * f0) / (m + dt * f0 * d);
            CHECK_NEAR(v[2], expected, 30 * EPS, 10 * EPS);
        }
        CHECK_NEAR(r.impulse.z, m * ((double)v[2] - (double)s->v_free[2]), 100 * EPS, 10 * EPS);
    }
}

/* A contact without stiffness pushes nothing and changes nothing. */
static void test_no_stiffness(void)
{
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, 0.01, 1);
    icf_real v[3] = {0, 0, 0};
    surface_of(c)->stiffness = 0;
    c->distance = R(-0.1);
    s->v_free[0] = R(0.3);
    s->v_free[2] = R(-2);
    solve_exactly(s, v, NULL);
    TEST_CHECK(v[0] == R(0.3) && v[1] == 0 && v[2] == R(-2));
    TEST_CHECK(contact_result(0).mode == ICF_MODE_OPEN);
}

// ------------------------------------------------------------------------------------------------
// Closed forms: other friction

/* A ball of radius 0.1 m and 2 kg that rests on a plane through its reference point, 6
   velocities. */
static icf_contact* scene_ball(scene* s, double dt, double* inertia)
{
    static const double arm[3] = {0, 0, -0.1};
    icf_contact* c;
    *inertia = 0.4 * 2 * 0.01;
    scene_begin(s, dt);
    scene_body(s, 2, *inertia, *inertia, *inertia);
    scene_link(s, 6);
    scene_block_arm(s, 0, arm, 1);
    c = scene_contact(s, 0);
    surface_of(c)->stiffness = R(1e5);
    c->distance = R(-2 * gravity / 1e5);
    return c;
}

static void ball_step(scene* s, icf_real v[6], double dt)
{
    memcpy(s->v_last, v, 6 * sizeof *v);
    memcpy(s->v_free, v, 6 * sizeof *v);
    s->v_free[2] -= R(dt * gravity);
    solve_exactly(s, v, NULL);
    s->contact[0].distance += R(dt) * v[2];
}

static void test_torsion_stops_a_spin(void)
{
    const double dt = 0.005, torsion = 0.01, load = 2 * gravity;
    double inertia, rate, start = 20;
    scene* s = &first_scene;
    icf_contact* c = scene_ball(s, dt, &inertia);
    icf_real v[6] = {0, 0, 0, 0, 0, 0};
    icf_contact_result r;
    int step;
    surface_of(c)->torsion = R(torsion);
    v[5] = R(start);
    rate = torsion * load / inertia;
    for (step = 1; step <= 200; step++) {
        double expected = start - rate * dt * step;
        ball_step(s, v, dt);
        r = contact_result(0);
        if (expected > 1) {
            /* a part of (1e-3 rad/s / spin)^2 / 2 of the torque is missing */
            CHECK_NEAR(v[5], expected, 50 * EPS * step, 1e-6);
            CHECK_NEAR(r.spin_impulse.z, -torsion * load * dt, 1e-6 + 2000 * EPS, 0);
            CHECK_NEAR(r.spin_impulse.x, 0, 0, 100 * EPS);
        }
    }
    TEST_CHECK(rate * dt * 200 > start); /* it has come to a halt */
    CHECK_NEAR(v[5], 0, 0, 1e-5);
    CHECK_NEAR(v[0], 0, 0, 1e-6);

    /* a tenth of what it takes: it turns no more than a tenth of the tolerance */
    v[5] = 0;
    memcpy(s->v_last, v, sizeof v);
    memset(s->v_free, 0, 6 * sizeof *v);
    s->v_free[2] = R(-dt * gravity);
    s->v_free[5] = R(0.1 * rate * dt);
    solve_exactly(s, v, NULL);
    CHECK_NEAR(v[5], 0.1 * 1e-3, 0.02, 0);
}

static void test_rolling_stops_a_ball(void)
{
    const double dt = 0.005, rolling = 0.01, load = 2 * gravity, radius = 0.1, m = 2;
    int which;
    for (which = 0; which < 2; which++) {
        double inertia, rate, start = 10;
        scene* s = &first_scene;
        icf_contact* c = scene_ball(s, dt, &inertia);
        icf_real v[6] = {0, 0, 0, 0, 0, 0};
        icf_contact_result r;
        int step;
        surface_of(c)->rolling = R(which ? rolling : 0);
        /* rolling along x turns about y */
        v[0] = R(start * radius);
        v[4] = R(start);
        rate = which ? rolling * load / (inertia + m * radius * radius) : 0;
        for (step = 1; step <= 150; step++) {
            double expected = start - rate * dt * step;
            ball_step(s, v, dt);
            r = contact_result(0);
            if (expected < 0.5) break;
            /* friction lets the contact slip by a part of v_s, once */
            CHECK_NEAR(v[4], expected, 1e-5 + 50 * EPS * step, 1e-4 / radius);
            CHECK_NEAR(v[0], radius * (double)v[4], 50 * EPS, 1e-4);
            if (which) CHECK_NEAR(r.spin_impulse.y, -rolling * load * dt, 1e-3, 0);
            TEST_CHECK(r.mode == ICF_MODE_STICK);
        }
        if (!which) {
            CHECK_NEAR(v[4], start, 1e-6 + 200 * EPS, 1e-4);
        } else {
            TEST_CHECK(v[4] < R(0.6 * start));
        }
    }
}

/* A mass under a ceiling that pulls with 30 N. */
static void test_adhesion_holds_a_mass(void)
{
    const double m = 2, k = 1e4, dt = 0.005, pull = 30, weight = m * gravity;
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, dt, m);
    icf_real v[3] = {0, 0, 0};
    icf_contact_result r;
    double phi = 0;
    int step;
    surface_of(c)->stiffness = R(k);
    surface_of(c)->dissipation = R(5);
    surface_of(c)->adhesion = R(pull);
    surface_of(c)->adhesion_range = R(1e-3);
    memset(&r, 0, sizeof r);
    for (step = 0; step < 600; step++) {
        memcpy(s->v_last, v, sizeof v);
        memcpy(s->v_free, v, sizeof v);
        s->v_free[2] += R(dt * gravity);
        c->distance = R(phi);
        solve_exactly(s, v, NULL);
        r = contact_result(0);
        phi += dt * (double)v[2];
    }
    /* it holds, pressed on by what the weight leaves of the pull */
    CHECK_NEAR(phi, -(pull - weight) / k, 2000 * EPS, 0);
    CHECK_NEAR(v[2], 0, 0, 200 * EPS);
    CHECK_NEAR(r.force.z, -weight, 2000 * EPS, 0);

    /* friction is that of the repulsive part alone */
    s->v_last[0] = s->v_free[0] = v[0] = 3;
    solve_exactly(s, v, NULL);
    r = contact_result(0);
    CHECK_NEAR(r.impulse.x, -0.5 * (pull - weight) * dt, 5000 * EPS + 1e-9, 0);

    /* too heavy: it leaves, and out of range it falls freely */
    v[0] = v[1] = v[2] = 0;
    phi = 0;
    for (step = 0; step < 100; step++) {
        icf_real before = v[2];
        memcpy(s->v_last, v, sizeof v);
        memcpy(s->v_free, v, sizeof v);
        s->v_free[2] += R(dt * 2 * gravity);
        c->distance = R(phi);
        solve_exactly(s, v, NULL);
        if (phi > 1e-3) {
            TEST_CHECK(v[2] == s->v_free[2]);
        } else if (phi > 0) {
            CHECK_NEAR(v[2] - before, dt * (2 * gravity - pull / m), 100 * EPS, 10 * EPS);
        }
        phi += dt * (double)v[2];
    }
    TEST_CHECK(phi > 0.1);
}

/* A belt can be the contact's own or the bias of its link: the same numbers, and a load that
   ends at rest on it. */
static void test_conveyor_as_bias_or_surface(void)
{
    const double dt = 0.01, m = 1.5, angle = 0.7;
    scene *s = &first_scene, *t = &second_scene;
    icf_contact* c = scene_point_on_floor(s, dt, m);
    icf_real v[3] = {0, 0, 0}, other[3];
    int step;
    surface_of(c)->stiffness = R(1e4);
    surface_of(c)->dissipation = R(5);
    c->distance = R(-m * gravity / 1e4);
    surface_of(c)->tangent = icf_vec3_make(R(cos(angle)), R(sin(angle)), 0);
    scene_copy(t, s);
    surface_of(c)->velocity = icf_vec3_make(R(-0.8), R(0.3), 0);
    t->bias[0] = R(-0.8);
    t->bias[1] = R(0.3);
    for (step = 0; step < 60; step++) {
        int i;
        for (i = 0; i < 3; i++) s->v_last[i] = t->v_last[i] = v[i];
        for (i = 0; i < 3; i++) s->v_free[i] = t->v_free[i] = v[i];
        s->v_free[2] = t->v_free[2] = v[2] - R(dt * gravity);
        memcpy(other, v, sizeof v);
        solve_exactly(t, other, NULL);
        solve_exactly(s, v, NULL);
        for (i = 0; i < 3; i++) CHECK_NEAR(v[i], other[i], 0, 40 * EPS);
        c->distance += R(dt) * v[2];
        t->contact[0].distance = c->distance;
        if (step == 3) {
            /* still slipping: friction pulls it along at mu g */
            double speed = sqrt((double)(v[0] * v[0] + v[1] * v[1]));
            CHECK_NEAR(speed, 4 * dt * 0.5 * gravity, 1e-4, 0);
            CHECK_NEAR(v[1] * R(0.8), -v[0] * R(0.3), 100 * EPS, 0);
        }
    }
    CHECK_NEAR(v[0], 0.8, 1e-6, 0);
    CHECK_NEAR(v[1], -0.3, 1e-6, 0);
    {
        icf_contact_result r = contact_result(0);
        CHECK_NEAR(r.velocity.x, 0, 0, 1e-6);
        CHECK_NEAR(r.velocity.y, 0, 0, 1e-6);
        TEST_CHECK(r.mode == ICF_MODE_STICK);
    }
}

/* `pull` and `twist` act as a velocity of the surface and as a bias of the link's angular velocity, and are in
   no velocity, mode or energy that is told. */
static void test_pull_and_twist_are_not_told(void)
{
    const double dt = 0.01, angle = 0.7;
    int model, k;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        double inertia;
        scene *s = &first_scene, *t = &second_scene;
        icf_contact* c = scene_ball(s, dt, &inertia);
        const icf_vec3 pull = icf_vec3_make(3, -2, 0),
                       twist = icf_vec3_make(R(0.2), R(-0.1), R(0.4));
        icf_real v[6] = {R(0.001), 0, 0, 0, 0, 0}, other[6];
        icf_contact_result told, plain;
        double energy = 0;
        surface_of(c)->model = model;
        surface_of(c)->torsion = surface_of(c)->rolling = R(0.01);
        surface_of(c)->tangent = icf_vec3_make(R(cos(angle)), R(sin(angle)), 0);
        memcpy(s->v_last, v, sizeof v);
        memcpy(s->v_free, v, sizeof v);
        s->v_free[2] = R(-dt * gravity);
        scene_copy(t, s);
        c->pull = pull;
        c->twist = twist;
        surface_of(t->contact)->velocity = pull;
        t->bias[3] = twist.x;
        t->bias[4] = twist.y;
        t->bias[5] = twist.z;
        memcpy(other, v, sizeof v);
        solve_exactly(t, other, NULL);
        plain = contact_result(0);
        solve_exactly(s, v, NULL);
        told = contact_result(0);
        for (k = 0; k < 6; k++) CHECK_NEAR(v[k], other[k], 0, 100 * EPS);
        CHECK_NEAR(told.impulse.x, plain.impulse.x, 0, 1000 * EPS);
        CHECK_NEAR(told.spin_impulse.z, plain.spin_impulse.z, 0, 1000 * EPS);
        CHECK_NEAR(plain.velocity.x - told.velocity.x,
                   cos(angle) * (double)pull.x + sin(angle) * (double)pull.y, 0, 100 * EPS);
        CHECK_NEAR(plain.spin.z - told.spin.z, (double)twist.z, 0, 100 * EPS);
        energy += (double)(told.impulse.x * (plain.velocity.x - told.velocity.x));
        energy += (double)(told.impulse.y * (plain.velocity.y - told.velocity.y));
        energy += (double)(told.spin_impulse.x * (plain.spin.x - told.spin.x));
        energy += (double)(told.spin_impulse.y * (plain.spin.y - told.spin.y));
        energy += (double)(told.spin_impulse.z * (plain.spin.z - told.spin.z));
        CHECK_NEAR(told.dissipated, (double)plain.dissipated + energy, 0, 1000 * EPS);
        CHECK_NEAR(told.stick, (double)plain.stick, 1000 * EPS, 0);
        TEST_CHECK(told.stick > 0 && told.stick_rolling > 0 && told.stick_torsion > 0);
        /* it slips by no more than it sticks to, though friction acts as at 3.6 m/s */
        TEST_CHECK(told.mode ==
                   (hypot((double)told.velocity.x, (double)told.velocity.y) <= (double)told.stick
                        ? ICF_MODE_STICK
                        : ICF_MODE_SLIP));
        TEST_CHECK(plain.mode == ICF_MODE_SLIP);
    }
}

/* A mass that lands with 1 m/s and slides with 3 m/s, on contacts from soft to rigid: with `passes` it has the
   friction of the normal impulse of this very step, and not that of the step before, none. What rests knows its
   limit, so that there passes change no bit. */
static void test_friction_in_the_step_of_a_blow(void)
{
    static const double stiffnesses[] = {1e3, 1e5, 1e9};
    const double dt = 0.01, m = 2, mu = 0.5;
    int k, passes;
    for (k = 0; k < 3; k++) {
        for (passes = 0; passes < 3; passes++) {
            scene* s = &first_scene;
            icf_contact* c = scene_point_on_floor(s, dt, m);
            icf_real v[3] = {3, 0, -1}, rest[2][3];
            icf_options o = exact();
            icf_stats stats;
            icf_contact_result r;
            double n;
            o.passes = passes;
            surface_of(c)->stiffness = R(stiffnesses[k]);
            surface_of(c)->friction = R(mu);
            surface_of(c)->dissipation = R(0.1);
            memcpy(s->v_last, v, sizeof v);
            memcpy(s->v_free, v, sizeof v);
            s->v_free[2] -= R(dt * gravity);
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            r = contact_result(0);
            n = (double)r.impulse.z;
            TEST_CHECK(n > 0);
            CHECK_NEAR(r.lag.limit, passes ? n : 0, IN_FLOAT ? 1e-3 : 1e-6, 0);
            CHECK_NEAR(v[0], 3 - (passes ? mu * n / m : 0), IN_FLOAT ? 1e-4 : 1e-6, 0);
            CHECK_NEAR(stats.limit_error, 0, 0, passes ? 1e-3 : 0);

            c->distance = R(-m * gravity / stiffnesses[k]);
            for (o.passes = 0; o.passes < 2; o.passes++) {
                icf_real* x = rest[o.passes];
                x[0] = x[1] = x[2] = 0;
                memcpy(s->v_last, x, 3 * sizeof *x);
                memcpy(s->v_free, x, 3 * sizeof *x);
                s->v_free[0] = R(0.3 * dt * gravity);
                s->v_free[2] = R(-dt * gravity);
                TEST_CHECK(solve(s, &o, x, NULL) == ICF_RESULT_OK);
            }
            TEST_CHECK(!memcmp(rest[0], rest[1], sizeof rest[0]));
        }
    }
}

static void test_anisotropic_friction(void)
{
    const double dt = 0.01, m = 1, mu1 = 0.2, mu2 = 0.8, n = m * gravity * dt;
    int model, direction;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SIMILAR; model++) {
        for (direction = 0; direction < 3; direction++) {
            scene* s = &first_scene;
            icf_contact* c = scene_point_on_floor(s, dt, m);
            icf_real v[3] = {0, 0, 0};
            icf_contact_result r;
            double gone, along = direction != 1, across = direction != 0, x, y;
            surface_of(c)->model = model;
            surface_of(c)->friction = R(mu1);
            surface_of(c)->friction2 = R(mu2);
            surface_of(c)->stiffness = R(1e5);
            c->distance = R(-gravity / 1e5);
            s->v_last[0] = s->v_free[0] = R(3 * along);
            s->v_last[1] = s->v_free[1] = R(3 * across);
            s->v_free[2] = R(-gravity * dt);
            solve_exactly(s, v, NULL);
            r = contact_result(0);
            x = mu1 * (double)r.velocity.x;
            y = mu2 * (double)r.velocity.y;
            gone = model == ICF_MODEL_LAGGED ? n : (double)r.impulse.z;
            /* the direction of the strongest dissipation, at the bound */
            CHECK_NEAR(r.impulse.x, -gone * mu1 * x / sqrt(x * x + y * y), 1e-6, 10 * EPS);
            CHECK_NEAR(r.impulse.y, -gone * mu2 * y / sqrt(x * x + y * y), 1e-6, 10 * EPS);
            if (model == ICF_MODEL_LAGGED) CHECK_NEAR(r.impulse.z, n, 200 * EPS, 0);
            TEST_CHECK(r.mode == ICF_MODE_SLIP);
            TEST_CHECK(r.impulse.z > 0);
            check_answer(s, v, "anisotropic");
        }
    }
}

/* The same pull moves what slips already and not what rests. */
static void test_static_friction(void)
{
    const double dt = 0.01, m = 1, k = 1e4, pull = 0.5 * gravity;
    int model, moving;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        for (moving = 0; moving < 2; moving++) {
            scene* s = &first_scene;
            icf_contact* c = scene_point_on_floor(s, dt, m);
            icf_real v[3] = {0, 0, 0};
            icf_contact_result r;
            int step;
            surface_of(c)->model = model;
            surface_of(c)->friction = R(0.4);
            surface_of(c)->friction_static = R(0.8);
            surface_of(c)->stiffness = R(k);
            surface_of(c)->relaxation = R(0.01);
            c->distance = R(-m * gravity / k);
            surface_of(c)->near_rigid = 0;
            v[0] = R(moving ? 0.5 : 0);
            memset(&r, 0, sizeof r);
            for (step = 0; step < 40; step++) {
                memcpy(s->v_last, v, sizeof v);
                memcpy(s->v_free, v, sizeof v);
                s->v_free[0] += R(dt * pull / m);
                s->v_free[2] -= R(dt * gravity);
                solve_exactly(s, v, NULL);
                r = contact_result(0);
                c->distance += R(dt) * v[2];
            }
            if (moving) {
                TEST_CHECK(r.mode == ICF_MODE_SLIP);
                if (model == ICF_MODEL_LAGGED) {
                    CHECK_NEAR(v[0], 0.5 + 40 * dt * (pull / m - 0.4 * gravity), 1e-4, 0);
                }
                TEST_CHECK(v[0] > R(0.6));
            } else {
                TEST_CHECK(r.mode == ICF_MODE_STICK);
                TEST_CHECK(v[0] > 0 && v[0] < R(1.6e-4));
                CHECK_NEAR(r.force.x, -pull, 5000 * EPS, 0);
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Closed forms: rows

/* One joint of 2 kg m^2 and one row on it. */
static icf_row* scene_one_joint(scene* s, double dt, icf_row_kind kind, double v_free)
{
    scene_begin(s, dt);
    scene_joint(s, 2);
    s->v_free[0] = R(v_free);
    scene_link(s, 1);
    scene_block_unit(s, 0, 1);
    return scene_row(s, kind, 0, 0);
}

/* `stiffness` is what the row adds to 2 kg m^2: it passes on the rounding of velocities. */
static void check_joint(scene* s, double expected, double stiffness)
{
    icf_real v[1] = {0};
    icf_row_result r;
    icf_stats stats;
    double speed = magnitude((double)s->v_free[0]) + magnitude(expected);
    solve_exactly(s, v, &stats);
    r = row_result(0);
    TEST_CHECK(stats.bounded == r.bounded);
    CHECK_NEAR(v[0], expected, 0, 50 * EPS * speed);
    CHECK_NEAR(r.velocity, v[0], 4 * EPS, 0);
    CHECK_NEAR(r.impulse, 2 * ((double)v[0] - (double)s->v_free[0]), 0,
               50 * EPS * speed * (2 + stiffness));
    check_answer(s, v, "joint");
}

static void test_limit_of_a_joint(void)
{
    /* as stiff as the step allows: 1 / R_n = 4 pi^2 / beta^2 times the inertia, damped by tau =
       beta dt / pi */
    const double m = 2, dt = 0.01, pi = 3.14159265358979324, rigid = 1 / m / (4 * pi * pi);
    const double reach = dt + dt / pi;
    scene* s = &first_scene;
    double sign;
    for (sign = -1; sign <= 1; sign += 2) {
        icf_row* row = scene_one_joint(s, dt, ICF_ROW_LIMIT, -3 * sign);
        row->sign = R(sign);
        row->distance = R(0.005);
        check_joint(s, sign * (-3 * rigid * m - 0.005 / reach) / (1 + rigid * m), 1 / rigid);
        TEST_CHECK(row_result(0).impulse * R(sign) > 0);
        TEST_CHECK(0.005 + dt * sign * (double)row_result(0).velocity > 0);

        /* far away, or on its way out: nothing */
        row->distance = R(0.1);
        check_joint(s, -3 * sign, 0);
        TEST_CHECK(row_result(0).impulse == 0);
        row->distance = R(0.005);
        s->v_free[0] = R(3 * sign);
        check_joint(s, 3 * sign, 0);
        TEST_CHECK(row_result(0).impulse == 0);

        /* a stiffness and a relaxation of its own */
        s->v_free[0] = R(-3 * sign);
        row->stiffness = 500;
        row->relaxation = R(0.05);
        row->distance = R(-0.02);
        {
            double soft = 1 / (dt * 500 * (dt + 0.05)), hat = 0.02 / (dt + 0.05);
            TEST_CHECK(soft > rigid);
            check_joint(s, sign * (-3 * soft * m + hat) / (1 + soft * m), 1 / soft);
            TEST_CHECK(row_result(0).bounded == 0);
        }

        /* too stiff for the step, which is said */
        row->relaxation = 0;
        row->stiffness = R(1e9);
        check_joint(s, sign * (-3 * rigid * m + 0.02 / dt) / (1 + rigid * m), 1 / rigid);
        TEST_CHECK(row_result(0).bounded == 1);
    }
}

/* A joint swings into its limit and stays there. */
static void test_limit_in_time(void)
{
    const double dt = 0.01;
    scene* s = &first_scene;
    icf_row* row = scene_one_joint(s, dt, ICF_ROW_LIMIT, 0);
    double q = 1; /* the limit is at 0 */
    icf_real v[1] = {0};
    int step;
    for (step = 0; step < 300; step++) {
        s->v_free[0] = v[0] - R(dt * 5);
        row->distance = R(q);
        solve_exactly(s, v, NULL);
        q += dt * (double)v[0];
        TEST_CHECK(q > -0.01);
    }
    CHECK_NEAR(q, 0, 0, 1e-3);
    CHECK_NEAR(v[0], 0, 0, 1e-2);
}

static void test_motor_and_its_effort(void)
{
    const double m = 2, dt = 0.01, kp = 300, kd = 20, ff = 7, error = 0.1, target = 0.5, start = -1;
    const double free_answer =
        (m * start + dt * (kp * error + kd * target + ff)) / (m + dt * dt * kp + dt * kd);
    const double force = m * (free_answer - start) / dt;
    scene* s = &first_scene;
    double sign;
    for (sign = -1; sign <= 1; sign += 2) {
        icf_row* row = scene_one_joint(s, dt, ICF_ROW_MOTOR, sign * start);
        row->stiffness = R(kp);
        row->damping = R(kd);
        row->error = R(sign * error);
        row->target = R(sign * target);
        row->feedforward = R(sign * ff);
        TEST_CHECK(row->effort < 0);
        check_joint(s, sign * free_answer, dt * (dt * kp + kd));
        row->effort = R(force * 1.01);
        check_joint(s, sign * free_answer, dt * (dt * kp + kd));
        row->effort = R(force * 0.99);
        check_joint(s, sign * (start + dt * force * 0.99 / m), 0);
        row->effort = R(0.25);
        check_joint(s, sign * (start + dt * 0.25 / m), 0);
        row->effort = 0;
        check_joint(s, sign * start, 0);
    }
    {
        /* feed-forward alone is a force */
        icf_row* row = scene_one_joint(s, dt, ICF_ROW_MOTOR, start);
        row->feedforward = R(ff);
        check_joint(s, start + dt * ff / m, 0);
        /* and one velocity servo, stiff enough, is a velocity */
        row->feedforward = 0;
        row->damping = R(1e6);
        row->target = R(0.75);
        check_joint(s, (m * start + dt * 1e6 * 0.75) / (m + dt * 1e6), dt * 1e6);
    }
}

static void test_dry_friction(void)
{
    const double m = 2, dt = 0.01, effort = 4;
    scene* s = &first_scene;
    static const double loads[] = {0, 0.3, -0.9, 0.999, 1.001, -1.5, 50};
    size_t i;
    for (i = 0; i < sizeof loads / sizeof *loads; i++) {
        icf_row* row = scene_one_joint(s, dt, ICF_ROW_DRY_FRICTION, loads[i] * effort * dt / m);
        icf_real v[1] = {0};
        scalar f;
        row->effort = R(effort);
        f.contact = NULL;
        f.m = (wide)m;
        f.dt = (wide)s->p.dt;
        f.v_free = (wide)s->v_free[0];
        f.effort = (wide)effort;
        /* w = 1 / m for a row: sigma w dt effort is 2e-5 here, below the tolerance */
        f.tolerance = (wide)row->slip_tolerance;
        TEST_CHECK(1e-3 / m * dt * effort < 1e-4);
        solve_exactly(s, v, NULL);
        CHECK_NEAR(v[0], scalar_root(&f), 200 * EPS, 10 * EPS * effort * dt / m);
        if (magnitude(loads[i]) < 0.95) {
            TEST_CHECK(magnitude((double)v[0]) < 2.1e-4);
        } else if (magnitude(loads[i]) > 1.4) {
            TEST_CHECK(magnitude((double)v[0]) > 5e-3);
            CHECK_NEAR(row_result(0).impulse, loads[i] > 0 ? -effort * dt : effort * dt, 1e-3, 0);
        }

        /* sigma takes over where it is larger */
        row->softness = R(0.1);
        f.tolerance = (wide)(0.1 / m * dt * effort);
        TEST_CHECK(f.tolerance > 1e-4L);
        v[0] = 0;
        solve_exactly(s, v, NULL);
        CHECK_NEAR(v[0], scalar_root(&f), 200 * EPS, 10 * EPS * effort * dt / m);
    }
}

static void test_quadratic_row(void)
{
    scene* s = &first_scene;
    icf_row* row = scene_one_joint(s, 0.01, ICF_ROW_QUADRATIC, 1);
    row->weight = 6;
    row->target = -3;
    check_joint(s, (2 * 1 + 6 * -3) / 8.0, 6);
    row->weight = 0;
    check_joint(s, 1, 0);
    row->weight = R(2e6);
    check_joint(s, (2 - 3 * 2e6) / (2 + 2e6), 2e6);
}

/* One holonomic row, as stiff as the step allows and damped, and with a spring of its own. */
static void test_holonomic_row(void)
{
    const double m = 2, dt = 0.01, pi = 3.14159265358979324, beta = 0.1;
    const double rigid = beta * beta / m / (4 * pi * pi), reach = dt + beta * dt / pi;
    scene* s = &first_scene;
    icf_row* row = scene_one_joint(s, dt, ICF_ROW_HOLONOMIC, 0.4);
    row->distance = R(-0.02);
    check_joint(s, (0.4 * rigid * m + 0.02 / reach) / (1 + rigid * m), 1 / rigid);
    row->distance = R(0.02);
    check_joint(s, (0.4 * rigid * m - 0.02 / reach) / (1 + rigid * m), 1 / rigid);
    row->stiffness = 1000;
    row->relaxation = R(0.02);
    {
        double soft = 1 / (dt * 1000 * (dt + 0.02));
        check_joint(s, (0.4 * soft * m - 0.02 / (dt + 0.02)) / (1 + soft * m), 1 / soft);
        TEST_CHECK(row_result(0).bounded == 0);
    }
    row->stiffness = R(1e12);
    check_joint(s, (0.4 * rigid * m - 0.02 / (dt + 0.02)) / (1 + rigid * m), 1 / rigid);
    TEST_CHECK(row_result(0).bounded == 1);
}

/* Two bodies held by rows of one link: the error goes, the momenta stay. */
static void check_two_bodies(const char* what, int rows, int held, int both)
{
    static const double arm_a[3] = {0.3, -0.2, 0.1}, arm_b[3] = {-0.4, 0.1, 0.25};
    /* the reference point is where the two arms meet */
    double centre[2][3], error[6], first[6], gravity_free = 0.01;
    const double masses[2] = {2, 0.5};
    const double inertias[2][3] = {
        {0.1,  0.2,  0.15},
        {0.02, 0.03, 0.01}
    };
    scene* s = scene_begin(&first_scene, gravity_free);
    icf_real v[12] = {0};
    int i, k, step;
    TEST_CASE(what);
    for (i = 0; i < 3; i++) {
        centre[0][i] = -arm_a[i];
        centre[1][i] = -arm_b[i];
    }
    for (i = 0; i < 2; i++) {
        scene_body(s, masses[i], inertias[i][0], inertias[i][1], inertias[i][2]);
    }
    scene_link(s, rows);
    if (both) {
        /* in the other order, which changes nothing */
        scene_block_arm(s, 1, arm_b, 1);
        scene_block_arm(s, 0, arm_a, -1);
    } else {
        scene_block_arm(s, 0, arm_a, -1);
        scene_block_arm(s, 1, arm_b, 1);
    }
    for (i = 0; i < held; i++) scene_row(s, ICF_ROW_HOLONOMIC, 0, i);
    random_seed(SEED);
    for (i = 0; i < 12; i++) v[i] = R(random_between(-1, 1));
    for (i = 0; i < held; i++) error[i] = first[i] = random_between(-0.01, 0.01);
    for (step = 0; step < 12; step++) {
        double before[6] = {0}, after[6] = {0}, size = 0;
        for (i = 0; i < 12; i++) s->v_last[i] = s->v_free[i] = v[i];
        for (i = 0; i < held; i++) s->row[i].distance = R(error[i]);
        solve_exactly(s, v, NULL);
        check_answer(s, v, "held");
        for (i = 0; i < 2; i++) {
            for (k = 0; k < 3; k++) {
                int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
                const icf_real *f = s->v_free + 6 * i, *w = v + 6 * i;
                before[k] += masses[i] * (double)f[k];
                after[k] += masses[i] * (double)w[k];
                before[3 + k] +=
                    inertias[i][k] * (double)f[3 + k] +
                    masses[i] * (centre[i][k1] * (double)f[k2] - centre[i][k2] * (double)f[k1]);
                after[3 + k] +=
                    inertias[i][k] * (double)w[3 + k] +
                    masses[i] * (centre[i][k1] * (double)w[k2] - centre[i][k2] * (double)w[k1]);
                size = larger(size, masses[i] * magnitude((double)w[k]));
                size = larger(size, masses[i] * magnitude((double)f[k]));
                size = larger(size, inertias[i][k] * magnitude((double)w[3 + k]));
            }
        }
        /* near-rigid rows are stiff: 4 pi^2 / beta^2 times the inertia, and so is the rounding */
        for (k = 0; k < 6; k++) CHECK_NEAR(after[k], before[k], 0, 4000 * EPS * size);
        for (i = 0; i < held; i++) error[i] += gravity_free * (double)row_result(i).velocity;
        if (step == 0) {
            double most = 0;
            for (i = 0; i < held; i++) most = larger(most, magnitude(first[i]));
            for (i = 0; i < held; i++) {
                /* 1 / (1 + 4 pi^2 / beta^2) if the rows did not know of each other, and a step's
                   motion */
                TEST_CHECK_(magnitude(error[i]) < 0.1 * (most + gravity_free),
                            "error %d is %g after a step", i, error[i]);
            }
        }
    }
    for (i = 0; i < held; i++) CHECK_NEAR(error[i], 0, 0, 1e-5);
    TEST_CASE(NULL);
}

static void test_weld_ball(void)
{
    check_two_bodies("weld", 6, 6, 0);
    check_two_bodies("weld, other order", 6, 6, 1);
    check_two_bodies("ball", 3, 3, 0);
    check_two_bodies("ball on six rows", 6, 3, 1);
    check_two_bodies("rod", 3, 1, 0);
}

/* Two joints, the second turning three times as fast as the first. */
static void test_coupler_of_two_joints(void)
{
    const double ratio = 3, dt = 0.01;
    double masses[2] = {2, 0.5}, one[1] = {-3}, other[1] = {1}, error = 0.05;
    scene* s = scene_begin(&first_scene, dt);
    icf_real v[2] = {1, -1};
    int step;
    scene_joint(s, masses[0]);
    scene_joint(s, masses[1]);
    scene_link(s, 1);
    scene_block(s, 0, one);
    scene_block(s, 1, other);
    scene_row(s, ICF_ROW_HOLONOMIC, 0, 0);
    for (step = 0; step < 8; step++) {
        double along = (double)v[0] * masses[0] + ratio * (double)v[1] * masses[1], after;
        memcpy(s->v_free, v, sizeof v);
        memcpy(s->v_last, v, sizeof v);
        s->row[0].distance = R(error);
        solve_exactly(s, v, NULL);
        /* what the impulse (-3, 1) cannot change */
        after = (double)v[0] * masses[0] + ratio * (double)v[1] * masses[1];
        CHECK_NEAR(after, along, 0, 200 * EPS * 10);
        /* w = 9 / 2 + 1 / 0.5, and 4 pi^2 / beta^2 / w = 607 kg m^2 pass on the rounding of 5
           rad/s */
        CHECK_NEAR(row_result(0).impulse * R(-3), masses[0] * (double)(v[0] - s->v_free[0]), 0,
                   3 * 20 * EPS * 607 * 5);
        error += dt * ((double)v[1] - ratio * (double)v[0]);
    }
    CHECK_NEAR(error, 0, 0, 1e-6 + 10 * EPS);
    CHECK_NEAR(v[1], ratio * (double)v[0], 1e-4, 0);
}

/* Two masses on a rope: slack it does nothing, taut it shares the momentum along it. */
static void test_rope_shares_momentum(void)
{
    const double dt = 0.01, m[2] = {1, 3};
    double forward[3] = {-1, 0, 0}, back[3] = {1, 0, 0};
    int taut;
    for (taut = 0; taut < 2; taut++) {
        scene* s = scene_begin(&first_scene, dt);
        icf_real v[6] = {0, R(0.3), 0, 0, 0, R(-0.2)};
        icf_row* row;
        double slack = taut ? 0 : 0.5, common;
        scene_point(s, m[0]);
        scene_point(s, m[1]);
        scene_link(s, 1);
        /* u = d(length)/dt */
        scene_block(s, 0, forward);
        scene_block(s, 1, back);
        row = scene_row(s, ICF_ROW_LIMIT, 0, 0);
        row->sign = -1;
        row->distance = R(slack);
        memcpy(s->v_free, v, sizeof v);
        s->v_free[0] = -2;
        s->v_free[3] = 2;
        solve_exactly(s, v, NULL);
        check_answer(s, v, "rope");
        if (!taut) {
            TEST_CHECK(same_bits(v, s->v_free, sizeof v));
            TEST_CHECK(row_result(0).impulse == 0);
            continue;
        }
        common = (m[0] * -2 + m[1] * 2) / (m[0] + m[1]);
        CHECK_NEAR(m[0] * (double)v[0] + m[1] * (double)v[3], common * (m[0] + m[1]), 200 * EPS, 0);
        /* 1 / (1 + 4 pi^2) of the stretching is left */
        CHECK_NEAR(v[3] - v[0], 4 / (1 + 4 * 9.8696044010893586), 200 * EPS, 0);
        TEST_CHECK(row_result(0).impulse < 0);
        TEST_CHECK(v[1] == R(0.3) && v[5] == R(-0.2) && v[2] == 0 && v[4] == 0);
    }
}

// ------------------------------------------------------------------------------------------------
// Barriers and the caller's laws

/* However fast, nothing passes a barrier; and where it starts makes no difference. */
static void test_barriers_hold(void)
{
    static const double speeds[] = {0.01, 1, 30, 1000};
    static const double arms[3][3] = {
        {0.1,  0,    -0.1},
        {-0.1, 0.1,  -0.1},
        {-0.1, -0.1, -0.1}
    };
    int law, i, start, k;
    for (law = ICF_LAW_IPC_BARRIER; law <= ICF_LAW_LOG_BARRIER; law++) {
        for (i = 0; i < 4; i++) {
            icf_real answers[3][6];
            for (start = 0; start < 3; start++) {
                const double dt = 0.01, gaps[3] = {1e-4, 5e-4, 2e-3};
                scene* s = scene_begin(&first_scene, dt);
                icf_real* v = answers[start];
                scene_body(s, 2, 0.02, 0.02, 0.02);
                for (k = 0; k < 3; k++) {
                    icf_contact* c;
                    scene_link(s, 3);
                    scene_block_arm(s, 0, arms[k], 1);
                    c = scene_contact(s, k);
                    surface_of(c)->law = law;
                    surface_of(c)->stiffness = law == ICF_LAW_IPC_BARRIER ? R(1e4) : R(1e-3);
                    c->distance = R(gaps[k]);
                    surface_of(c)->softness = 0;
                }
                s->v_free[0] = R(0.5);
                s->v_free[2] = R(-speeds[i]);
                memset(v, 0, 6 * sizeof *v);
                /* at rest; where it would be without contact, behind the barrier; going away */
                if (start == 1) memcpy(v, s->v_free, 6 * sizeof *v);
                if (start == 2) v[2] = 3;
                solve_exactly(s, v, NULL);
                for (k = 0; k < 3; k++) {
                    icf_contact_result r = contact_result(k);
                    TEST_CHECK_(gaps[k] + dt * (double)r.velocity.z > 0,
                                "law %d, %g m/s: point %d ends at %g", law, speeds[i], k,
                                gaps[k] + dt * (double)r.velocity.z);
                    TEST_CHECK(r.impulse.z >= 0);
                }
                TEST_CHECK(v[2] > R(-speeds[i]) || speeds[i] < 0.05);
            }
            for (start = 1; start < 3; start++) {
                for (k = 0; k < 6; k++) {
                    /* momenta of 2 kg at that speed, at an arm of 0.1 m to 0.02 kg m^2 */
                    CHECK_NEAR(answers[start][k], answers[0][k], 0, 80 * EPS * (1 + speeds[i]));
                }
            }
        }
    }
}

/* A belt that carries what stands behind it through the barrier: v = 0 is no way out, and that
   is said. */
static void test_barrier_infeasible(void)
{
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, 0.01, 1);
    icf_real v[3] = {0, 0, 0};
    icf_stats stats;
    icf_options o = exact();
    scene_copy(&second_scene, s);
    surface_of(c)->law = ICF_LAW_IPC_BARRIER;
    c->distance = R(1e-4);
    surface_of(c)->stiffness = 1000;

    /* feasible as it starts, with a bias: solved */
    s->bias[2] = -1;
    v[2] = 2;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(v[2] > 1 - R(0.01 + 1e-6)); /* 1e-4 + 0.01 (v - 1) > 0 */

    /* feasible neither there nor at rest: refused */
    v[2] = 0;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_INFEASIBLE);
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 0);
    TEST_CHECK(v[0] == 0 && v[1] == 0 && v[2] == 0);

    /* overlapped from the start: refused, whatever the velocity */
    s->bias[2] = 0;
    scene_contact(s, 0)->distance = 1;
    s->surface[1].law = ICF_LAW_LOG_BARRIER;
    s->contact[1].distance = 0;
    v[2] = 5;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_INFEASIBLE);
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 1);
    s->contact[1].distance = R(-1e-3);
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_INFEASIBLE);
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 1);
    TEST_CHECK(v[2] == 5);
}

/* What hardly moves is tried at rest, but not where it may not rest: on a plate that comes up as fast, with a
   barrier, or so stiff that rest is worse. There the start is as good as it was. */
static void test_hardly_moving(void)
{
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, 0.01, 1);
    icf_real v[3] = {0, 0, 0};
    icf_stats stats, start;
    icf_options o = icf_default_options();
    o.tolerance = R(0.01);
    s->v_free[2] = -1;
    c->impulse_guess.z = 1;
    surface_of(c)->friction = 0;
    surface_of(c)->near_rigid = 0;
    surface_of(c)->law = ICF_LAW_LOG_BARRIER;
    c->distance = R(4e-5);
    surface_of(c)->stiffness = R(1e-4);
    surface_of(c)->range = R(1e-3);
    s->bias[2] = R(-5e-3);
    v[2] = R(6e-3);
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(v[2] > R(1e-3)); /* 4e-5 + 0.01 (v - 5e-3) > 0 */

    surface_of(c)->law = ICF_LAW_HUNT_CROSSLEY;
    surface_of(c)->dissipation = 0;
    surface_of(c)->stiffness = R(1e6);
    c->distance = R(-1.5e-4);
    v[2] = R(5e-3);
    o.iterations = 0;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_NOT_CONVERGED);
    c->impulse_guess.z = 0; /* nothing is tried */
    v[2] = R(5e-3);
    TEST_CHECK(solve(s, &o, v, &start) == ICF_RESULT_NOT_CONVERGED);
    TEST_CHECK_(stats.cost <= start.cost * (1 + 8 * R(EPS)), "%.17g for %.17g", (double)stats.cost,
                (double)start.cost);
}

typedef struct custom_law {
    double k, d;
    int calls, broken;
} custom_law;

/* Hunt & Crossley again, out of its antiderivative */
static void custom_evaluate(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    custom_law* law = (custom_law*)user;
    double h = (double)dt, phi = (double)distance, x = (double)v, hat = -phi / h, k = law->k;
    double d = law->d;
    law->calls++;
    if (d > 0 && hat > 1 / d) hat = 1 / d;
    if (law->broken) {
        out[0] = out[1] = out[2] = NOT_A_NUMBER;
    } else if (x >= hat) {
        out[0] = out[1] = out[2] = 0;
    } else {
        /* integral of h k (-phi - h y) (1 - d y) from x to hat */
        double at[2], sum[2];
        int i;
        at[0] = x;
        at[1] = hat;
        for (i = 0; i < 2; i++) {
            double y = at[i];
            sum[i] = h * k * (-phi * y + (phi * d - h) * y * y / 2 + h * d * y * y * y / 3);
        }
        out[0] = R(sum[1] - sum[0]);
        out[1] = R(h * k * (-phi - h * x) * (1 - d * x));
        out[2] = R(-h * k * (h * (1 - d * x) + d * (-phi - h * x)));
    }
}

static void test_custom_law(void)
{
    int model, trial;
    random_seed(SEED);
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SIMILAR; model++) {
        for (trial = 0; trial < 30; trial++) {
            scene *s = &first_scene, *t = &second_scene;
            custom_law law;
            icf_contact* c = scene_point_on_floor(s, 0.01, 1.5);
            icf_real v[3] = {0}, other[3] = {0};
            int i;
            law.k = random_between(1e3, 1e4);
            law.d = trial % 3 ? random_between(0, 3) : 0;
            law.calls = law.broken = 0;
            surface_of(c)->model = model;
            surface_of(c)->stiffness = R(law.k);
            surface_of(c)->dissipation = R(law.d);
            c->distance = R(random_between(-5e-3, 2e-3));
            for (i = 0; i < 3; i++) s->v_free[i] = s->v_last[i] = v[i] = R(random_between(-1, 1));
            memcpy(other, v, sizeof v);
            scene_copy(t, s);
            t->surface[0].law = ICF_LAW_CUSTOM;
            t->surface[0].custom = custom_evaluate;
            t->surface[0].user = &law;
            /* it is not the law's business */
            t->surface[0].stiffness = 1;
            t->surface[0].dissipation = 1;
            solve_exactly(s, v, NULL);
            solve_exactly(t, other, NULL);
            TEST_CHECK(law.calls > 0);
            for (i = 0; i < 3; i++) {
                CHECK_NEAR(other[i], v[i], 1000 * EPS, 1000 * EPS);
            }
        }
    }
}

static void test_custom_law_broken(void)
{
    scene* s = &first_scene;
    custom_law law = {1000, 1, 0, 1};
    icf_contact* c = scene_point_on_floor(s, 0.01, 1);
    icf_real v[3] = {0, 0, R(-0.5)};
    icf_stats stats;
    icf_result result;
    surface_of(c)->law = ICF_LAW_CUSTOM;
    surface_of(c)->custom = custom_evaluate;
    surface_of(c)->user = &law;
    c->distance = R(-1e-3);
    test_assertions_matter = 0;
    result = solve(s, NULL, v, &stats);
    test_assertions_matter = 1;
    TEST_CHECK_(result == ICF_RESULT_BAD_LAW || result == ICF_RESULT_NOT_FINITE,
                "a law of NaN gives %s", icf_result_string(result));
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 0);
    TEST_CHECK(v[0] == 0 && v[1] == 0 && v[2] == R(-0.5));
    surface_of(c)->custom = NULL;
    result = solve(s, NULL, v, &stats);
    TEST_CHECK(result == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(stats.part == ICF_PART_SURFACE && stats.which == 0);
}

static void spring_of(icf_real k, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    icf_real x = -distance - dt * v;
    if (!(x > 0)) x = 0;
    out[0] = k / 2 * x * x;
    out[1] = dt * k * x;
    out[2] = x > 0 ? -k * dt * dt : 0;
}

static void spring_of_1000(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    (void)user;
    spring_of(1000, dt, distance, v, out);
}

static void spring_of_250(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    (void)user;
    spring_of(250, dt, distance, v, out);
}

/* A weight multiplies stiffness and adhesion, or the law of a caller; a contact of weight 0 is none, whatever its
   surface says. */
static void test_weight_of_a_contact(void)
{
    scene *s = &first_scene, *t = &second_scene;
    int trial;
    for (trial = 0; trial < 40; trial++) {
        const int law = trial % 6, model = trial % 4 == 3 ? ICF_MODEL_SAP : trial % 2;
        const int by_force =
            trial / 6 % 2 && (law == ICF_LAW_HUNT_CROSSLEY || law == ICF_LAW_KELVIN_VOIGT);
        const int wall = law == ICF_LAW_IPC_BARRIER || law == ICF_LAW_LOG_BARRIER;
        icf_contact* c = scene_point_on_floor(s, 0.01, 1);
        icf_surface* f = surface_of(c);
        icf_real v[3] = {R(0.1), 0, R(-0.5)}, w[3];
        f->law = law;
        f->model = model;
        f->stiffness = R(wall ? 1e-2 : 1e4);
        f->by_force = by_force;
        f->adhesion = R(wall ? 0 : 2);
        f->adhesion_range = 1;
        f->custom = spring_of_1000;
        c->distance = R(wall ? 5e-4 : -1e-3);
        c->force = 5;
        memcpy(s->v_last, v, sizeof v);
        memcpy(s->v_free, v, sizeof v);
        scene_copy(t, s);
        memcpy(w, v, sizeof v);
        c->weight = R(0.25);
        t->surface[0].stiffness /= 4;
        t->surface[0].adhesion /= 4;
        if (law == ICF_LAW_CUSTOM && model != ICF_MODEL_SAP) t->surface[0].custom = spring_of_250;
        solve_exactly(s, v, NULL);
        solve_exactly(t, w, NULL);
        CHECK_NEAR(v[0], w[0], 1e3 * EPS, 1e3 * EPS);
        CHECK_NEAR(v[2], w[2], 1e3 * EPS, 1e3 * EPS);
        c->weight = 0;
        if (wall) c->distance = R(-1);
        c->lag.limit = c->lag.before = c->lag.impulse = 1;
        memcpy(v, s->v_free, sizeof v);
        solve_exactly(s, v, NULL);
        TEST_CHECK_(same_bits(v, s->v_free, sizeof v), "law %d, model %d: moved by nothing", law,
                    model);
        TEST_CHECK(contact_result(0).mode == ICF_MODE_OPEN);
    }
}

TEST_LIST = {
    {"weight_of_a_contact",         test_weight_of_a_contact           },
    {"incline_creeps",              test_incline_creeps                },
    {"incline_slides",              test_incline_slides                },
    {"impact_every_step",           test_impact_every_step             },
    {"gliding_offset",              test_gliding_offset                },
    {"compliance_modulation",       test_compliance_modulation         },
    {"stiction_of_sap",             test_stiction_of_sap               },
    {"near_rigid",                  test_near_rigid                    },
    {"by_force",                    test_by_force                      },
    {"no_stiffness",                test_no_stiffness                  },
    {"torsion_stops_a_spin",        test_torsion_stops_a_spin          },
    {"rolling_stops_a_ball",        test_rolling_stops_a_ball          },
    {"adhesion_holds_a_mass",       test_adhesion_holds_a_mass         },
    {"conveyor_as_bias_or_surface", test_conveyor_as_bias_or_surface   },
    {"anisotropic_friction",        test_anisotropic_friction          },
    {"static_friction",             test_static_friction               },
    {"limit_of_a_joint",            test_limit_of_a_joint              },
    {"limit_in_time",               test_limit_in_time                 },
    {"motor_and_its_effort",        test_motor_and_its_effort          },
    {"dry_friction",                test_dry_friction                  },
    {"quadratic_row",               test_quadratic_row                 },
    {"holonomic_row",               test_holonomic_row                 },
    {"weld_ball",                   test_weld_ball                     },
    {"coupler_of_two_joints",       test_coupler_of_two_joints         },
    {"rope_shares_momentum",        test_rope_shares_momentum          },
    {"barriers_hold",               test_barriers_hold                 },
    {"hardly_moving",               test_hardly_moving                 },
    {"barrier_infeasible",          test_barrier_infeasible            },
    {"pull_and_twist_are_not_told", test_pull_and_twist_are_not_told   },
    {"friction_in_a_blow",          test_friction_in_the_step_of_a_blow},
    {"custom_law",                  test_custom_law                    },
    {"custom_law_broken",           test_custom_law_broken             },
    {NULL,                          NULL                               }
};
