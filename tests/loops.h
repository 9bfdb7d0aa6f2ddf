/* loops.h - random chains and loops of bodies that constraints hold, and whether they make energy. Include it
   after icf.h and util.h. Nothing in such a scene gives energy: no motors, springs, contacts. So it never has
   more than it began with, whatever its masses and however long the steps.

   A seed is the same chain each time, whatever the compiler: hence no exp or pow here. */

#ifndef TEST_LOOPS_H
#define TEST_LOOPS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util.h"

#ifdef ICF_FLOAT
#define LOOPS_NUMBERS "float"
#else
#define LOOPS_NUMBERS "double"
#endif

enum { LOOPS_BODIES = 100 };

static const double loops_gravity = 9.81;

typedef struct loops_case {
    icf_world world;
    icf_result made; /* the first refusal of what it was made of, or 0 */
    icf_body body[LOOPS_BODIES];
    int bodies;
    int slides;   /* has sliders: what they hold goes far, and no length is to be compared with */
    icf_vec3 tip; /* where the next link begins */
    double mass, length, dt;
    char text[200]; /* what it is, for messages */
} loops_case;

/* One more link of a chain: a rod from the tip on, its z axis along it */
typedef struct loops_link {
    icf_vec3 along; /* of length 1 */
    double length, mass;
    double across, about; /* moments of inertia */
    double whirl;         /* about the z axis of the world, rad/s */
    int32_t kind;         /* of the constraint that holds it */
    icf_vec3 axis;        /* of a hinge or slider */
    int rope;             /* of a distance: may also become shorter */
} loops_link;

typedef struct loops_outcome {
    icf_result result; /* of the last step: the first one that is not OK ends it */
    int steps, over;   /* how many; which was the first with more than 1 % too much energy, or -1 */
    double gain;  /* the most it had above that of the start, relative to weight times length */
    double apart; /* the worst error of a constraint, relative to the length of a link */
} loops_outcome;

// ------------------------------------------------------------------------------------------------
// Numbers

static icf_vec3 loops_vec(double x, double y, double z)
{
    return icf_vec3_make((icf_real)x, (icf_real)y, (icf_real)z);
}

/* 2^times, near enough */
static double loops_power(double times)
{
    double x = 1;
    for (; times >= 1; times--) x *= 2;
    return x * (1 + times);
}

/* From low on, over so many doublings: of all sizes alike */
static double loops_doubled(double low, double times)
{
    return low * loops_power(random_between(0, times));
}

static icf_vec3 loops_direction(void)
{
    double x, y, z, l;
    do {
        x = random_between(-1, 1);
        y = random_between(-1, 1);
        z = random_between(-1, 1);
        l = sqrt(x * x + y * y + z * z);
    } while (l < 0.1 || l > 1);
    return loops_vec(x / l, y / l, z / l);
}

// ------------------------------------------------------------------------------------------------
// What is made

static void loops_note(loops_case* c, icf_result result)
{
    if (c->made == ICF_RESULT_OK) c->made = result;
}

static void loops_begin(loops_case* c, double dt)
{
    icf_world_def d = icf_default_world_def();
    memset(c, 0, sizeof *c);
    d.bodies = LOOPS_BODIES;
    d.constraints = LOOPS_BODIES + 1;
    d.gravity = loops_vec(0, 0, -loops_gravity);
    c->dt = dt;
    loops_note(c, icf_world_create(&c->world, &d));
}

static void loops_end(loops_case* c)
{
    icf_world_destroy(&c->world);
}

/* Joins bodies A and B at the tip of the chain by the constraint of that link. A may be none, the ground. */
static void loops_hold(loops_case* c, icf_body a, icf_body b, const loops_link* l)
{
    icf_constraint_def d = icf_default_constraint_def((icf_constraint_kind)l->kind);
    icf_constraint name;
    d.a = a;
    d.b = b;
    loops_note(c, icf_world_frames(&c->world, a, b, c->tip, l->axis, &d.a_frame, &d.b_frame));
    if (l->kind == ICF_CONSTRAINT_DISTANCE) { /* to the middle of the link */
        d.b_frame.p = loops_vec(0, 0, 0);
        d.upper = (icf_real)(l->length / 2);
        d.lower = l->rope ? 0 : d.upper;
    }
    loops_note(c, icf_constraint_create(&c->world, &d, &name));
    c->slides |= l->kind == ICF_CONSTRAINT_SLIDER;
}

/* Adds a link at the tip, held by the last one or, as the first, by the ground. */
static void loops_add(loops_case* c, const loops_link* l)
{
    icf_body_def d = icf_default_body_def();
    icf_body before = {0, 0};
    const icf_vec3 side = fabs((double)l->along.x) < 0.8 ? loops_vec(1, 0, 0) : loops_vec(0, 1, 0);
    const icf_vec3 y = icf_vec3_normalize(icf_vec3_cross(l->along, side));
    const icf_vec3 x = icf_vec3_cross(y, l->along);
    if (c->bodies) before = c->body[c->bodies - 1];
    d.mass = (icf_real)l->mass;
    d.inertia = icf_mat3_from_columns(loops_vec(l->across, 0, 0), loops_vec(0, l->across, 0),
                                      loops_vec(0, 0, l->about));
    d.pose.q = icf_quat_from_mat3(icf_mat3_from_columns(x, y, l->along));
    d.pose.p = icf_vec3_add_scaled(c->tip, (icf_real)(l->length / 2), l->along);
    d.angular_velocity = loops_vec(0, 0, l->whirl);
    d.velocity = icf_vec3_cross(d.angular_velocity, d.pose.p);
    loops_note(c, icf_body_create(&c->world, &d, &c->body[c->bodies]));
    loops_hold(c, before, c->body[c->bodies], l);
    c->bodies++;
    c->tip = icf_vec3_add_scaled(c->tip, (icf_real)l->length, l->along);
    c->mass += l->mass;
    c->length += l->length;
}

/* A chain of 2 to 16 links, one in three closed to a loop: hanging, let go level, or whirled about a vertical
   axis; of 0.02 to 1 m a link, masses up to 1 : 1e4, steps of 30 to 240 Hz. */
static void loops_make(loops_case* c, uint32_t seed)
{
    enum { HANGING, LEVEL, WHIRLED };
    enum { LAST_HEAVY, ANY_MASS, SOME_HEAVY };
    static const char* const way_name[3] = {"hanging", "level", "whirled"};
    static const char* const heavy_name[3] = {"the last", "any", "some"};
    static const char* const kind_name[5] = {"welds", "balls", "hinges", "sliders", "distances"};
    static const int32_t kinds[8] = {ICF_CONSTRAINT_WELD,     ICF_CONSTRAINT_BALL,
                                     ICF_CONSTRAINT_HINGE,    ICF_CONSTRAINT_SLIDER,
                                     ICF_CONSTRAINT_DISTANCE, ICF_CONSTRAINT_DISTANCE,
                                     ICF_CONSTRAINT_BALL,     ICF_CONSTRAINT_BALL};
    int links, way, heavy, kind, closed, i;
    double hz, doublings, size, ratio, whirl;
    random_seed(seed);
    links = 2 + random_below(15);
    way = random_below(3);
    heavy = random_below(3);
    kind = random_below(10); /* one for all, or from 5 on any */
    closed = random_below(3) == 0 && links > 2;
    hz = random_below(4) ? loops_doubled(30, 3) : 30;
    doublings = random_below(3) ? random_between(0, 13.2) : 0;
    size = loops_doubled(0.02, 5.6);
    whirl = way == WHIRLED ? fmin(loops_doubled(0.5, 3.3), 0.15 * hz) : 0;
    loops_begin(c, 1 / hz);
    ratio = loops_power(doublings);
    for (i = 0; i < links; i++) {
        loops_link l;
        double radius;
        memset(&l, 0, sizeof l);
        l.along = way == HANGING ? loops_vec(0, 0, -1) : loops_vec(1, 0, 0);
        if (way != HANGING && random_below(3) == 0) l.along = loops_direction();
        l.length = size * random_between(0.5, 1.5);
        radius = l.length * random_between(0.1, 0.5);
        l.mass = 1;
        if (heavy == LAST_HEAVY && i == links - 1) l.mass = ratio;
        if (heavy == ANY_MASS) l.mass = loops_doubled(1, doublings);
        if (heavy == SOME_HEAVY && random_below(links) == i) l.mass = ratio;
        l.across = l.mass * (radius * radius / 4 + l.length * l.length / 12);
        l.about = l.mass * radius * radius / 2;
        l.whirl = whirl;
        l.kind = kind < 5 ? kinds[kind] : kinds[random_below(8)];
        /* one welded to the ground does nothing */
        if (i == 0 && l.kind == ICF_CONSTRAINT_WELD) l.kind = ICF_CONSTRAINT_BALL;
        l.axis = loops_direction();
        l.rope = random_below(2);
        loops_add(c, &l);
    }
    if (closed) {
        icf_body to = {0, 0};
        loops_link l;
        memset(&l, 0, sizeof l);
        l.kind = random_below(2) ? ICF_CONSTRAINT_HINGE : ICF_CONSTRAINT_BALL;
        l.axis = loops_direction();
        if (random_below(2)) to = c->body[0];
        loops_hold(c, to, c->body[links - 1], &l);
    }
    snprintf(c->text, sizeof c->text,
             "chain %u in " LOOPS_NUMBERS
             ": %d links of %.2g m, %s%s, %s, %s heavy 1 : %.3g, %.0f Hz",
             (unsigned)seed, links, size, way_name[way], closed ? ", closed" : "",
             kind < 5 ? kind_name[kind] : "any constraints", heavy_name[heavy], ratio, hz);
}

// ------------------------------------------------------------------------------------------------
// What it does

/* Steps it so often, or until a step is not OK. Poses follow velocities half a step behind them, so neither
   the velocities before a step nor those after it belong to the pose where it begins: their mean does. The
   kinetic energy of the mean with the potential energy there is what stays the same; that of one time alone
   goes up and down with the speed. What begins at rest was there half a step late: what gravity gives in one
   step, of small things and long steps not little, is no gain. */
static loops_outcome loops_play(loops_case* c, int steps)
{
    const double weight = loops_gravity * c->mass, fall = loops_gravity * c->dt;
    loops_outcome o = {ICF_RESULT_OK, 0, -1, -HUGE_VAL, 0};
    icf_body_state before[LOOPS_BODIES], after;
    icf_diagnosis d;
    double start = 0;
    int k;
    while (o.steps < steps && o.result == ICF_RESULT_OK) {
        double energy, gain;
        for (k = 0; k < c->bodies; k++) (void)icf_body_get_state(&c->world, c->body[k], &before[k]);
        (void)icf_world_diagnose(&c->world, &d);
        energy = (double)d.potential;
        o.apart = fmax(o.apart, (double)d.violation * c->bodies / c->length);
        if (o.steps == 0) start = energy + (double)d.kinetic + c->mass * fall * fall / 2;
        o.result = icf_world_step(&c->world, (icf_real)c->dt);
        if (o.result != ICF_RESULT_OK) break;
        for (k = 0; k < c->bodies; k++) {
            icf_body_def body;
            icf_vec3 v, w;
            (void)icf_body_get_state(&c->world, c->body[k], &after);
            (void)icf_body_get_def(&c->world, c->body[k], &body);
            v = icf_vec3_scale((icf_real)0.5, icf_vec3_add(before[k].velocity, after.velocity));
            w = icf_vec3_scale((icf_real)0.5,
                               icf_vec3_add(before[k].angular_velocity, after.angular_velocity));
            w = icf_quat_rotate_inverse(before[k].pose.q, w);
            energy += (double)body.mass * (double)icf_vec3_dot(v, v) / 2 +
                      (double)icf_vec3_dot(w, icf_mat3_apply(body.inertia, w)) / 2;
        }
        gain = (energy - start) / (weight * c->length);
        if (!(gain < HUGE_VAL)) gain = HUGE_VAL; /* not a number */
        if (gain > o.gain) o.gain = gain;
        if (gain > 0.01 && o.over < 0) o.over = o.steps;
        o.steps++;
    }
    return o;
}

#endif /* TEST_LOOPS_H */
