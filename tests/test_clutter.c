/* Random clutter in the scene of icf_geometry.h: 2 to 24 bodies, spheres, capsules, boxes and compounds of
   1e-3 to 1e3 kg, in a container, at up to 50 m/s, with steps of 0.1 to 50 ms; every model, law and method,
   stiff and soft, elastic and not, some overlapping at the start. What is checked is computed here, from the
   states of bodies and the touches that a step is given:

     - no step fails, and all stays finite
     - a step takes energy, however long it is (the two rules of Euler; why: below)
     - until a step first moves something by more than half of the smallest size, kinetic energy and that
       of gravity never are above what there was at the start, and no body is further in a wall than that
       energy can push it (midpoint: the first with contacts that take a few steps; the second and half a
       step, as its manual says)

   ICF_SEEDS=500 runs so many instead of a few, ICF_FIRST=1000 begins at another, ICF_SHOW=1 prints a line
   of each, ICF_TRACE=1 one of each step.

   Why a step takes energy. v0 and v1 are the velocities before and after, x1 = x0 + dt v1. Kinetic energy
   grows by K1 - K0 = v1' A (v1 - v0) - 1/2 |v1 - v0|_A^2; of the first term dt v1' m g is what gravity gives,
   exactly, and what is left is the work of the impulses J' gamma. Friction takes. A normal force
   f = -V'(phi1) gives dt vn f = (phi1 - phi0) f <= V(phi0) - V(phi1), as V is convex: the rule's errors have
   one sign. Dissipation lowers f where vn > 0 and raises it where vn < 0, so it takes. Similar and SAP have
   the force of a phi below phi1, and their friction takes more than that gives. A free body turns without
   a change of K. So

       K1 + gravity1 + sum V(phi0 + dt vn) <= K0 + gravity0 + sum V(phi0)

   but for what the solver leaves, which is in proportion to its momentum error: the tolerance or, where
   rounding ends it before, as mostly in float, what it says. The midpoint rule moves by the mean of v0 and v1
   and has no such bound.

   What that leaves out is between steps: phi0 + dt vn is not what the next step finds where bodies turn and
   points of contact come and go. That is why long steps can gain energy; short ones are checked not to. */

#include "tested.h"

#include "acutest.h"
#include "util.h"
#include "world_util.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 24, TOUCHES = 4096, NEVER = 1 << 30 };

/* What a seed makes, and what came of it. Energies are relative to that of the start, lengths to `least`. */
typedef struct run {
    unsigned seed;
    int bodies, steps, model, method, law, boxes, lid, points, sized, overlap, elastic, inward,
        anchors;
    double dt, gravity, speed, stiffness, dissipation, relaxation, friction, tolerance, near_rigid;
    double wall, height; /* of the container: |x|, |y| <= wall, 0 <= z <= height */
    double least;        /* half of the smallest extent of a shape, m */
    double heavy, light; /* of the masses */
    icf_body body[MOST];
    icf_body_def def[MOST];
    double inner
        [MOST]; /* radius of a ball about the centre of mass that is in the body, 0: not known */
    double reach[MOST]; /* and of one around it */

    icf_result result; /* of the first step that did not answer OK */
    int failed_at, unsolved, finite;
    int contacts;     /* touches that overlapped */
    double start;     /* energy at the start, J */
    double move;      /* the furthest that anything moved in a step */
    int fast_at;      /* the first step in which that was above 1 */
    double step_gain; /* of a step against the theorem above */
    double gain,
        pop; /* of K and gravity, over the start and over the least before it; before fast_at */
    double depth,
        out;      /* the deepest touch, and the deepest in a wall by the centre of mass; likewise */
    double bound; /* how deep all the energy would be in one contact */
    int iterations, floors;
    double floor_error;
} run;

// ------------------------------------------------------------------------------------------------
// Making

static double log_between(double low, double high)
{
    return exp(random_between(log(low), log(high)));
}

static double chosen(double a, double b, int of)
{
    return random_below(of) ? a : b;
}

/* Within 1.3 times the size of its origin */
static icf_shape random_shape(double size, double* inner)
{
    double flat = random_between(0.2, 1), x, y, z;
    switch (random_below(3)) {
    case 0: *inner = size; return icf_sphere(R(size));
    case 1: *inner = size * flat; return icf_capsule(R(size * flat), R(size * (1 - flat)));
    default:
        x = 0.75 * size * random_between(0.2, 1);
        y = 0.75 * size * random_between(0.2, 1);
        z = 0.75 * size * flat;
        *inner = fmin(x, fmin(y, z));
        return icf_box(R(x), R(y), R(z));
    }
}

static double reach_of(const icf_shape* s)
{
    if (s->kind == ICF_SHAPE_BOX) return (double)icf_vec3_length(s->half);
    return (double)s->radius + (s->kind == ICF_SHAPE_CAPSULE ? (double)s->half.z : 0);
}

static icf_vec3 random_direction(double length)
{
    return icf_vec3_scale(R(length), icf_vec3_normalize(random_vec(1)));
}

/* A body of one to four shapes, of a mass of its own */
static void add_clutter(icf_scene* s, run* r, int i, double size, double mass, icf_transform pose,
                        const icf_material* material)
{
    icf_body_def d = icf_default_body_def();
    icf_collider_def c = icf_default_collider_def();
    icf_collider name;
    int shapes = random_below(5) ? 1 : 2 + random_below(3), k;
    icf_real grow;
    d.pose = pose;
    OK(icf_body_create(&s->world, &d, &r->body[i]));
    c.body = r->body[i];
    c.material = *material;
    r->reach[i] = r->inner[i] = 0;
    for (k = 0; k < shapes; k++) {
        double inner;
        c.shape = random_shape(shapes > 1 ? 0.5 * size : size, &inner);
        if (shapes > 1) c.shape.pose = random_pose(0.25 * size);
        r->reach[i] =
            larger(r->reach[i], reach_of(&c.shape) + (double)icf_vec3_length(c.shape.pose.p));
        r->inner[i] = shapes > 1 ? 0 : inner;
        r->least = fmin(r->least, inner);
        OK(icf_collider_create(s, &c, &name));
    }
    OK(icf_scene_set_density(s, r->body[i], 1000));
    OK(icf_body_get_def(&s->world, r->body[i], &d));
    grow = R(mass / (double)d.mass);
    d.mass = R(mass);
    d.inertia =
        icf_mat3_from_columns(icf_vec3_scale(grow, d.inertia.x), icf_vec3_scale(grow, d.inertia.y),
                              icf_vec3_scale(grow, d.inertia.z));
    r->reach[i] += (double)icf_vec3_length(d.center);
    d.velocity = random_direction(r->speed * random_unit());
    if (r->inward) {
        d3 in = d3_sub(d3_make(0, 0, r->height / 2), d3_of(pose.p));
        d3 v = d3_scale(0.3, d3_of(d.velocity));
        if (d3_length(in) > 0) v = d3_add(v, d3_scale(0.7 * r->speed / d3_length(in), in));
        d.velocity = d3_real(v);
    }
    if (random_below(2))
        d.angular_velocity = random_direction(r->speed / r->reach[i] * random_unit());
    OK(icf_body_set_def(&s->world, r->body[i], &d));
    r->def[i] = d;
}

static void add_wall(icf_scene* s, const run* r, d3 at, d3 normal, const icf_material* material)
{
    icf_collider_def c = icf_default_collider_def();
    icf_collider name;
    double thick = larger(r->wall, r->height);
    d3 axis = d3_cross(d3_make(0, 0, 1), normal);
    dq q = dq_about(d3_length(axis) > 0.5 ? axis : d3_make(1, 0, 0), acos(normal.z));
    c.material = *material;
    c.shape = r->boxes ? icf_box(R(2 * thick), R(2 * thick), R(thick)) : icf_half_space();
    if (r->boxes) at = d3_sub(at, d3_scale(thick, normal));
    c.shape.pose = icf_transform_make(icf_quat_normalize(dq_real(q)), d3_real(at));
    OK(icf_collider_create(s, &c, &name));
}

static void make(icf_scene* s, run* r, unsigned seed)
{
    icf_scene_def def = icf_default_scene_def();
    icf_material material = icf_default_material();
    double scale, cell, mass_low, mass_high, mass[MOST], size[MOST], most = 0;
    int i, nx, n;
    memset(r, 0, sizeof *r);
    memset(s, 0, sizeof *s);
    random_seed(seed * 2654435761u + 12345u);
    r->seed = seed;
    r->bodies = 2 + random_below(MOST - 1);
    r->steps = 50 + random_below(51);
    r->model = random_below(3);
    r->method = random_below(2) ? ICF_METHOD_SYMPLECTIC_EULER : random_below(3);
    r->law = random_below(3)   ? ICF_LAW_HUNT_CROSSLEY
             : random_below(2) ? ICF_LAW_HERTZ
                               : ICF_LAW_KELVIN_VOIGT;
    r->boxes = random_below(4) == 0;
    r->lid = r->boxes || random_below(2);
    r->points = random_below(2) ? 8 : 4;
    r->dt = log_between(1e-4, 0.05);
    r->gravity = chosen(9.81, 0, 5);
    r->speed = log_between(0.1, 50);
    r->tolerance = chosen(1e-5, 1e-8, 3);
    r->friction = chosen(random_between(0, 1.5), 0, 4);
    r->dissipation = chosen(log_between(0.1, 100), 0, 3);
    r->relaxation = chosen(log_between(1e-4, 0.1), 0, 2);
    r->near_rigid = chosen(-1, 0, 2); /* -1: as the model has it */

    /* most at a size at which something happens in these steps and each moves by less than it */
    scale = log_between(0.02, 1);
    if (random_below(4)) scale = r->speed * r->dt * log_between(1, 100);
    r->elastic = random_below(4) == 0;
    if (r->elastic) {
        r->dissipation = r->relaxation = r->friction = r->near_rigid = 0;
        r->steps *= 3;
        scale = r->speed * r->dt * log_between(20, 300);
    }
    scale = fmin(2, larger(1e-3, scale));
    mass_low = log_between(1e-3, 1e3);
    mass_high = random_below(2) ? mass_low : log_between(1e-3, 1e3);
    for (i = 0; i < r->bodies; i++) {
        size[i] = scale * chosen(1, random_between(0.1, 1), 2);
        mass[i] = log_between(fmin(mass_low, mass_high), larger(mass_low, mass_high));
        most = larger(most, size[i]);
        r->heavy = larger(r->heavy, mass[i]);
        r->light = i ? fmin(r->light, mass[i]) : mass[i];
    }
    r->least = scale;
    r->inward = random_below(2);

    /* each in a cell that it does not reach out of, or where cells are smaller than that */
    r->overlap = random_below(8) == 0;
    cell = 2.6 * most * (r->overlap ? random_between(0.7, 1) : random_between(1, 1.2));
    nx = 1 + random_below(3);
    n = (r->bodies + nx * nx - 1) / (nx * nx);
    r->wall = 0.5 * nx * cell;
    r->height = n * cell;

    /* mostly as stiff as it takes for all energy to be in one contact at a part of the size */
    r->sized = r->elastic || random_below(3);
    r->stiffness = log_between(1e3, 1e9);
    if (r->sized) {
        double all = 0, deep = scale * (r->elastic ? 0.2 : log_between(0.003, 0.1));
        for (i = 0; i < r->bodies; i++)
            all += mass[i] * (0.5 * r->speed * r->speed + r->gravity * r->height);
        r->stiffness = fmin(1e12, larger(1, 2 * all / (deep * deep)));
    }
#ifdef ICF_FLOAT
    /* Velocities are rounded to 6e-8 of theirs and the slope of the force is dt^2 stiffness: beyond 1e3
       masses the solver's answer has few digits, and from 1e4 on one of 5500 seeds (1e5: two of 800) has a
       step that is not converged, on the curved wall of stiff and deep contacts of Similar. Not below 1e-4
       in the momentum error either. */
    r->stiffness = fmin(r->stiffness, 1e3 * r->light / (r->dt * r->dt));
    r->tolerance = 1e-4;
#endif

    def.world.gravity = vec(0, 0, -r->gravity);
    def.world.method = r->method;
    def.world.model = r->model;
    def.world.settle = (int32_t)(seed & 1);
    def.world.anchors = r->anchors = (int32_t)(seed >> 1 & 1);
    def.world.passes = (int32_t)(seed % 3);
    def.world.tolerance = R(r->tolerance);
    def.points = r->points;
    TEST_ASSERT(icf_scene_create(s, &def) == ICF_RESULT_OK);
    material.stiffness = R(2 * r->stiffness);
    material.friction = R(r->friction);
    material.dissipation = R(r->dissipation);
    material.relaxation = R(r->relaxation / 2);
    material.torsion = R(chosen(0, 0.1 * scale, 4));
    material.rolling = R(chosen(0, 0.1 * scale, 4));
    add_wall(s, r, d3_make(0, 0, 0), d3_make(0, 0, 1), &material);
    add_wall(s, r, d3_make(r->wall, 0, r->height / 2), d3_make(-1, 0, 0), &material);
    add_wall(s, r, d3_make(-r->wall, 0, r->height / 2), d3_make(1, 0, 0), &material);
    add_wall(s, r, d3_make(0, r->wall, r->height / 2), d3_make(0, -1, 0), &material);
    add_wall(s, r, d3_make(0, -r->wall, r->height / 2), d3_make(0, 1, 0), &material);
    if (r->lid) add_wall(s, r, d3_make(0, 0, r->height), d3_make(0, 0, -1), &material);
    for (i = 0; i < r->bodies; i++) {
        icf_transform pose = random_pose(0);
        int x = i % nx, y = i / nx % nx, z = i / (nx * nx);
        pose.p = vec((x + 0.5) * cell - r->wall, (y + 0.5) * cell - r->wall, (z + 0.5) * cell);
        add_clutter(s, r, i, size[i], mass[i], pose, &material);
    }
}

// ------------------------------------------------------------------------------------------------
// What is looked at

/* An inertia times a vector, in double */
static d3 times(const icf_mat3* m, d3 v)
{
    return d3_add(d3_scale(v.x, d3_of(m->x)),
                  d3_add(d3_scale(v.y, d3_of(m->y)), d3_scale(v.z, d3_of(m->z))));
}

static d3 solved(const icf_mat3* m, d3 b)
{
    d3 x = d3_of(m->x), y = d3_of(m->y), z = d3_of(m->z);
    double det = d3_dot(x, d3_cross(y, z));
    return d3_make(d3_dot(d3_cross(y, z), b) / det, d3_dot(d3_cross(z, x), b) / det,
                   d3_dot(d3_cross(x, y), b) / det);
}

static double kinetic_of(const run* r, const icf_body_state* state)
{
    double sum = 0;
    int i;
    for (i = 0; i < r->bodies; i++) {
        const icf_body_def* d = &r->def[i];
        d3 v = d3_of(state[i].velocity);
        d3 w = dq_rotate_inverse(dq_of(state[i].pose.q), d3_of(state[i].angular_velocity));
        sum += 0.5 * (double)d->mass * d3_dot(v, v) + 0.5 * d3_dot(w, times(&d->inertia, w));
    }
    return sum;
}

/* And that of gravity over the floor */
static double energy(const run* r, const icf_body_state* state)
{
    double sum = kinetic_of(r, state);
    int i;
    for (i = 0; i < r->bodies; i++)
        sum += r->gravity * (double)r->def[i].mass * (double)state[i].center.z;
    return sum;
}

static int is_hertz(const icf_surface* f)
{
    return f->law == ICF_LAW_HERTZ && f->model != ICF_MODEL_SAP;
}

/* The energy of a contact at a distance */
static double spring(const icf_surface* f, double stiffness, double distance)
{
    double depth = larger(0, -distance);
    return is_hertz(f) ? 0.4 * stiffness * pow(depth, 2.5) : 0.5 * stiffness * depth * depth;
}

static double spring_force(const icf_surface* f, double stiffness, double distance)
{
    double depth = larger(0, -distance);
    return is_hertz(f) ? stiffness * pow(depth, 1.5) : stiffness * depth;
}

/* How deep it is with that energy, and what a weight gives on the way there, N */
static double spring_depth(const icf_surface* f, double stiffness, double stored, double weight)
{
    double depth = 0;
    int i;
    for (i = 0; i < 200; i++) { /* always from below */
        double all = stored + weight * depth;
        depth = is_hertz(f) ? pow(2.5 * all / stiffness, 0.4) : sqrt(2 * all / stiffness);
    }
    return depth;
}

/* The stiffness that a contact of the last step had: near_rigid lowers it, SAP (29) */
static double stiffness_of(const run* r, const icf_surface* f, const icf_contact_result* result)
{
    double k = (double)f->stiffness, beta = (double)f->near_rigid, rn;
    if (f->model != ICF_MODEL_SAP || !result->bounded) return k;
    if (beta < 0) beta = 1;
    rn = beta * beta / (4 * PI * PI) * (double)result->w;
    return fmin(k, 1 / (rn * r->dt * (r->dt + (double)f->relaxation)));
}

static icf_body_state before[MOST], after[MOST];
static d3
    spin[MOST]; /* angular velocity after the solve, before the body turned and kept its momentum */
static icf_touch touch[TOUCHES];
static icf_surface surface[TOUCHES];

static void look(const icf_scene* s, const run* r, icf_body_state* state)
{
    int i;
    for (i = 0; i < r->bodies; i++) state[i] = state_of(&s->world, r->body[i]);
}

static d3 velocity_at(const run* r, icf_body b, icf_vec3 point)
{
    d3 arm;
    int i;
    for (i = 0; i < r->bodies; i++) {
        if (r->body[i].index != b.index || r->body[i].generation != b.generation) continue;
        arm = d3_sub(d3_of(point), d3_of(before[i].center));
        return d3_add(d3_of(after[i].velocity), d3_cross(spin[i], arm));
    }
    return d3_make(0, 0, 0);
}

/* Answers the speed of the fastest point of all. */
static double see_bodies(run* r, int step)
{
    double out = 0, fastest = 0;
    int i;
    for (i = 0; i < r->bodies; i++) {
        const icf_body_state* b = &after[i];
        d3 p = d3_of(b->center), v = d3_of(b->velocity), w = d3_of(b->angular_velocity), l;
        dq q = dq_of(b->pose.q);
        double move = r->dt * (d3_length(v) + d3_length(w) * r->reach[i]) / r->least, deep;
        double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
        if (!(d3_length(p) + d3_length(v) + d3_length(w) < 1e12) || !near(length, 1, 0, 20 * EPS))
            r->finite = 0;
        fastest = larger(fastest, move * r->least / r->dt);
        r->move = larger(r->move, move);
        if (move > 1 && step < r->fast_at) r->fast_at = step;
        deep = larger(-p.z, larger(fabs(p.x), fabs(p.y)) - r->wall);
        if (r->lid) deep = larger(deep, p.z - r->height);
        out = larger(out, (deep + r->inner[i]) / r->least);
        l = dq_rotate(q, times(&r->def[i].inertia, dq_rotate_inverse(q, w)));
        q = dq_of(before[i].pose.q);
        spin[i] = dq_rotate(q, solved(&r->def[i].inertia, dq_rotate_inverse(q, l)));
    }
    if (r->fast_at > step) r->out = larger(r->out, out);
    return fastest;
}

/* The touches of the next step, with the law of the run, and the surface of each, with the stiffness of its
   own. Answers how many. */
static int take_touches(icf_scene* s, run* r)
{
    int32_t count, i;
    icf_surface* f = icf_world_surfaces(&s->world, &count);
    icf_touch* t = icf_world_touches(&s->world, &count);
    TEST_ASSERT(count <= TOUCHES);
    for (i = 0; i < count; i++) {
        icf_contact* c = &t[i].contact;
        f[c->surface].law = r->law;
        f[c->surface].near_rigid = R(r->near_rigid);
        if (is_hertz(f + c->surface)) { /* as much at 3 % of the size */
            f[c->surface].stiffness = R(r->stiffness / sqrt(0.03 * r->least));
            c->weight = 1;
        }
        r->contacts += (double)c->distance < 0;
        if (r->fast_at == NEVER) r->depth = larger(r->depth, -(double)c->distance / r->least);
        touch[i] = t[i];
        surface[i] = f[c->surface];
        surface[i].stiffness *= c->weight;
    }
    return count;
}

static void play(run* r, unsigned seed)
{
    icf_scene s;
    icf_surface hard = icf_default_surface();
    double lowest = 0, fastest = 0, fall = 0, mass = 0, least = REAL_MAX;
    int step, i, trace = getenv("ICF_TRACE") != NULL;
    make(&s, r, seed);
    r->finite = 1;
    r->fast_at = NEVER;
    r->failed_at = -1;
    for (i = 0; i < r->bodies; i++) {
        double v = r->gravity * r->dt;
        fall += 0.5 * (double)r->def[i].mass * v * v;
        mass += (double)r->def[i].mass;
    }
    look(&s, r, before);
    r->start = lowest = energy(r, before);
    for (step = 0; step < r->steps && r->finite; step++) {
        icf_stats stats;
        double e0 = energy(r, before), e1, v0 = 0, v1 = 0, slack, rounding = 0, softest = REAL_MAX;
        int count = 0;
        icf_result result = icf_scene_detect(&s, R(r->dt));
        if (result == ICF_RESULT_OK) {
            count = take_touches(&s, r);
            result = icf_scene_solve(&s, R(r->dt));
        }
        if (result != ICF_RESULT_OK) {
            if (!r->unsolved++) {
                r->failed_at = step;
                r->result = result;
            }
            if (result != ICF_RESULT_NOT_CONVERGED) break;
        }
        OK(icf_world_get_stats(&s.world, &stats));
        if (stats.iterations > r->iterations) r->iterations = stats.iterations;
        slack = 4 * larger(r->tolerance, (double)stats.momentum_error);
        if (stats.stop == ICF_STOP_FLOOR) {
            r->floors++;
            r->floor_error = larger(r->floor_error, (double)stats.momentum_error);
        }
        look(&s, r, after);
        fastest = larger(fastest, see_bodies(r, step));
        e1 = energy(r, after);
        for (i = 0; i < count; i++) {
            const icf_contact* c = &touch[i].contact;
            icf_touch_result done;
            d3 u = d3_sub(velocity_at(r, touch[i].b, touch[i].point),
                          velocity_at(r, touch[i].a, touch[i].point));
            double k, phi = (double)c->distance;
            OK(icf_world_get_touch(&s.world, i, &done));
            k = stiffness_of(r, surface + i, &done.contact);
            v0 += spring(surface + i, k, phi);
            v1 += spring(surface + i, k, phi + r->dt * d3_dot(u, d3_of(c->normal)));
            softest = fmin(softest, k);
            /* of velocities, which as distances are 8 times that, and as energies by the force */
            rounding +=
                8 * EPS * fastest * r->dt *
                spring_force(surface + i, k, fmin(phi, phi + r->dt * d3_dot(u, d3_of(c->normal))));
        }
        if (!step) r->start = lowest = e0 + v0; /* with that of what overlaps at the start */
        /* what the solver leaves is in proportion to momenta and impulses, squared, over masses */
        slack *= kinetic_of(r, before) + kinetic_of(r, after) + v0 + v1 + fall;
        r->step_gain = larger(r->step_gain, (e1 + v1 - e0 - v0 - slack - rounding) / r->start);
        if (r->fast_at >= step) { /* all steps before this one were short */
            r->gain = larger(r->gain, e1 / r->start - 1);
            r->pop = larger(r->pop, (e1 - lowest) / r->start);
            lowest = fmin(lowest, e1 + v1);
        }
        if (count) {
            hard = surface[0];
            least = fmin(least, softest);
        }
        if (trace) {
            printf("%3d energy %.7g, of contacts %.4g to %.4g; moved %.3g; %d touches, %d "
                   "iterations, stop %d, "
                   "error %.2g\n",
                   step, e1 / r->start, v0 / r->start, v1 / r->start, r->move, count,
                   (int)stats.iterations, (int)stats.stop, (double)stats.momentum_error);
        }
        memcpy(before, after, sizeof before);
    }
    if (least < REAL_MAX) {
        r->bound = spring_depth(&hard, least, r->start, r->gravity * mass) / r->least;
    }
    icf_scene_destroy(&s);
}

// ------------------------------------------------------------------------------------------------
// The tests

static void show(const run* r)
{
    printf("seed %u bodies %d dt %.3g model %d method %d law %d walls %d overlap %d elastic %d k "
           "%.3g d %.3g tau "
           "%.3g mu %.3g speed %.3g light %.2g heavy %.2g contacts %d result %d at %d unsolved %d "
           "finite %d move %.3g "
           "fast %d step_gain %.2g gain %.2g pop %.2g depth %.3g out %.3g bound %.3g iterations %d "
           "floors %d error "
           "%.2g\n",
           r->seed, r->bodies, r->dt, r->model, r->method, r->law, r->boxes, r->overlap, r->elastic,
           r->stiffness, r->dissipation, r->relaxation, r->friction, r->speed, r->light, r->heavy,
           r->contacts, (int)r->result, r->failed_at, r->unsolved, r->finite, r->move,
           r->fast_at == NEVER ? -1 : r->fast_at, r->step_gain, r->gain, r->pop, r->depth, r->out,
           r->bound, r->iterations, r->floors, r->floor_error);
}

static void check(const run* r)
{
    double deepest = r->bound * (1 + 4 * r->tolerance) + 1e3 * EPS * r->wall / r->least;
    int soft;
    if (r->method == ICF_METHOD_MIDPOINT) deepest += fmin(r->move, 1) / 2;
    if (getenv("ICF_SHOW")) show(r);
    TEST_CHECK_(!r->unsolved, "seed %u, step %d: %s, and %d more", r->seed, r->failed_at,
                icf_result_string(r->result), r->unsolved - 1);
    TEST_CHECK_(r->finite, "seed %u: not finite, or a quaternion of another length", r->seed);
    /* an anchor gives back energy that it took up before */
    TEST_CHECK_(r->method == ICF_METHOD_MIDPOINT || r->anchors || r->step_gain <= 0,
                "seed %u: a step gains %.3g of the energy", r->seed, r->step_gain);
    /* The midpoint rule with contacts stiffer than the step can follow leaves bodies in each other by half of
       what they moved, and pushes them out at up to that speed: seed 44313 has 1.15 of the energy then. */
    soft = r->dt * r->dt * r->stiffness <= r->light;
    TEST_CHECK_((r->method == ICF_METHOD_MIDPOINT && !soft) || r->gain <= 4 * r->tolerance,
                "seed %u: gains %.3g of the energy at the start", r->seed, r->gain);
    /* what motion gets of the jumps of V between steps: 1.4e-3 was the most of 24000 seeds */
    TEST_CHECK_(r->method == ICF_METHOD_MIDPOINT || r->pop <= 0.01,
                "seed %u: gains %.3g of the energy after it had less", r->seed, r->pop);
    TEST_CHECK_(r->out <= deepest, "seed %u: %.3g in a wall, where the energy allows %.3g", r->seed,
                r->out, deepest);
}

static void test_any_seed_stays_in_the_box(void)
{
    const char *count = getenv("ICF_SEEDS"), *first = getenv("ICF_FIRST");
    int seeds = count ? atoi(count) : 120, i, busy = 0, slow = 0;
    unsigned from = first ? (unsigned)atol(first) : 1;
    for (i = 0; i < seeds; i++) {
        run r;
        play(&r, from + (unsigned)i);
        check(&r);
        busy += r.contacts > 0;
        slow += r.contacts > 0 && r.fast_at == NEVER;
    }
    /* that the checks had something to check */
    if (seeds < 100) return;
    TEST_CHECK_(busy > seeds * 3 / 4, "only %d of %d touch", busy, seeds);
    TEST_CHECK_(slow > seeds / 10, "only %d of %d touch in short steps", slow, seeds);
}

/* Seeds that once were hard: how many iterations they took then. Now each takes less than a quarter of the 1000
   that there may be, and most less than an eighth; how many exactly hangs on rounding, as the paths of bodies do.
   18797 takes 96, and 343 where rounding puts the impulse of friction onto its cone and nothing takes it off. */
static void test_seeds_hard_once(void)
{
    static const unsigned seeds[] = {
        775, /* 1000, and not converged: Similar, stiff, so fast that bodies are deep in each other */
        1853,  /* 323 */
        2062,  /* 374 */
        6376,  /* 230, lagged */
        6969,  /* 255 */
        12317, /* 1000 */
        18797, /* 998: the second try ended nowhere too */
    };
    int i;
    for (i = 0; i < (int)(sizeof seeds / sizeof *seeds); i++) {
        run r;
        play(&r, seeds[i]);
        check(&r);
        TEST_CHECK_(r.iterations < 250, "seed %u takes %d iterations", r.seed, r.iterations);
    }
}

// ------------------------------------------------------------------------------------------------
// Extremes

static icf_body add_body_of(icf_scene* s, icf_shape shape, double mass, icf_transform pose,
                            icf_vec3 velocity, const icf_material* material)
{
    icf_body_def d = icf_default_body_def();
    icf_collider_def c = icf_default_collider_def();
    icf_mass_properties m;
    icf_collider name;
    OK(icf_shape_mass(&shape, 1, &m));
    OK(icf_shape_mass(&shape, R(mass / (double)m.mass), &m));
    d.mass = m.mass;
    d.inertia = m.inertia;
    d.pose = pose;
    d.velocity = velocity;
    OK(icf_body_create(&s->world, &d, &c.body));
    c.shape = shape;
    c.material = *material;
    OK(icf_collider_create(s, &c, &name));
    return c.body;
}

static icf_scene scene_of(int model)
{
    icf_scene_def def = icf_default_scene_def();
    icf_scene s;
    memset(&s, 0, sizeof s);
    def.world.model = model;
    TEST_ASSERT(icf_scene_create(&s, &def) == ICF_RESULT_OK);
    return s;
}

static icf_transform at(double x, double y, double z)
{
    return icf_transform_make(icf_quat_identity(), vec(x, y, z));
}

/* A tonne on a gram, both cubes of 20 cm, at rest after 2 s as deep as its weight says. In float its weight
   has a rounding of 0.6 mN, and the gram is away in a minute. */
static void test_tonne_on_gram(void)
{
#ifndef ICF_FLOAT
    static const double stiffness[] = {1e6, 1e8, 1e10};
    int i, k;
    for (i = 0; i < 3; i++) {
        icf_scene s = scene_of(ICF_MODEL_LAGGED);
        icf_material m = icf_default_material();
        run ground;
        icf_body gram, tonne;
        double sinks = 1000.001 * 9.81 / (4 * stiffness[i]);
        memset(&ground, 0, sizeof ground);
        m.stiffness = 2 * stiffness[i];
        add_wall(&s, &ground, d3_make(0, 0, 0), d3_make(0, 0, 1), &m);
        gram = add_body_of(&s, icf_box(0.1, 0.1, 0.1), 1e-3, at(0, 0, 0.1), vec(0, 0, 0), &m);
        tonne = add_body_of(&s, icf_box(0.1, 0.1, 0.1), 1e3, at(0, 0, 0.3), vec(0, 0, 0), &m);
        for (k = 0; k < 200; k++) OK(icf_scene_step(&s, 0.01));
        CHECK_NEAR(0.1 - state_of(&s.world, gram).center.z, sinks, 1e-3, 0);
        CHECK_NEAR(0.3 - state_of(&s.world, tonne).center.z, 2 * sinks, 1e-3, 0);
        CHECK_BELOW(icf_vec3_length(state_of(&s.world, gram).velocity), 1e-5);
        icf_scene_destroy(&s);
    }
#endif
}

/* Plates of half a metre and 2 mm fall on each other from 2 cm, faster than a thickness a step */
static void test_thin_plates_do_not_pass(void)
{
    enum { PLATES = 20 };
    icf_scene s = scene_of(ICF_MODEL_LAGGED);
    icf_material m = icf_default_material();
    run ground;
    icf_body plate[PLATES];
    double sunk = 0;
    int i;
    memset(&ground, 0, sizeof ground);
    random_seed(7);
    add_wall(&s, &ground, d3_make(0, 0, 0), d3_make(0, 0, 1), &m);
    for (i = 0; i < PLATES; i++) {
        icf_transform pose;
        d3 axis = random_d3(1);
        double x = random_between(0, 0.02), y = random_between(0, 0.02);
        pose.q = dq_real(dq_about(axis, random_between(0, 0.04)));
        pose.p = vec(x, y, 0.01 + 0.02 * i);
        plate[i] = add_body_of(&s, icf_box(R(0.25), R(0.25), R(0.001)), 1, pose, vec(0, 0, 0), &m);
    }
    for (i = 0; i < 300; i++) OK(icf_scene_step(&s, R(0.01)));
    for (i = 0; i < PLATES; i++) {
        icf_body_state b = state_of(&s.world, plate[i]);
        /* by what lies on four to eight points */
        sunk += (PLATES - i) * 9.81 / 4e6;
        CHECK_NEAR(0.001 + 0.002 * i - (double)b.center.z, 0.75 * sunk, 0, 0.25 * sunk + 1e-6);
        CHECK_BELOW(icf_vec3_length(b.velocity), 1e-5);
    }
    icf_scene_destroy(&s);
}

/* A hundred bodies of 10 to 40 cm at 50 m/s in steps of 2.5 m; 1e7 N/m are too much for float */
static void test_fast_bodies_stay_in(void)
{
    int model, i;
    for (model = 0; model < 3; model++) {
        icf_scene s = scene_of(model);
        icf_material m = icf_default_material();
        icf_diagnosis d;
        run walls;
        double start;
        memset(&walls, 0, sizeof walls);
        random_seed(3);
        m.stiffness = R(EPS < 1e-10 ? 2e7 : 2e5);
        add_wall(&s, &walls, d3_make(0, 0, 0), d3_make(0, 0, 1), &m);
        add_wall(&s, &walls, d3_make(3, 0, 0), d3_make(-1, 0, 0), &m);
        add_wall(&s, &walls, d3_make(-3, 0, 0), d3_make(1, 0, 0), &m);
        add_wall(&s, &walls, d3_make(0, 3, 0), d3_make(0, -1, 0), &m);
        add_wall(&s, &walls, d3_make(0, -3, 0), d3_make(0, 1, 0), &m);
        for (i = 0; i < 100; i++) {
            icf_shape shape = i % 3 == 0   ? icf_sphere(R(0.1))
                              : i % 3 == 1 ? icf_box(R(0.1), R(0.08), R(0.1))
                                           : icf_capsule(R(0.05), R(0.1));
            icf_transform pose = random_pose(0);
            int row = i / 10;
            pose.p = vec((i % 10 - 4.5) * 0.5, (row - 4.5) * 0.5, random_between(1, 2));
            (void)add_body_of(&s, shape, 1, pose, random_direction(50), &m);
        }
        start = energy_of(&s.world);
        for (i = 0; i < 60; i++) {
            OK(icf_scene_step(&s, R(0.05)));
            CHECK_BELOW(energy_of(&s.world), start);
        }
        OK(icf_world_diagnose(&s.world, &d));
        CHECK_BELOW(d.kinetic, 0.1 * start);
        for (i = 0; i < icf_world_body_count(&s.world); i++) {
            d3 p = d3_of(state_of(&s.world, icf_world_body_at(&s.world, i)).center);
            TEST_CHECK_(fabs(p.x) < 3 && fabs(p.y) < 3 && p.z > 0,
                        "model %d, body %d is at %g %g %g", model, i, p.x, p.y, p.z);
        }
        icf_scene_destroy(&s);
    }
}

/* Forty bodies in a column, a metre a step: what is to expect from the step before says little
   then, and the interior point method has to notice that it began in the wrong place. It took 55 iterations
   when it went on from there. */
static void test_column_of_rain_is_solved(void)
{
    icf_scene s = scene_of(ICF_MODEL_LAGGED);
    icf_material m = icf_default_material();
    run ground;
    int i, most = 0;
    icf_world_def def;
    memset(&ground, 0, sizeof ground);
    OK(icf_world_get_def(&s.world, &def));
    def.passes = 1; /* one solve a step */
    OK(icf_world_set_def(&s.world, &def));
    random_seed(5);
    m.stiffness = R(EPS < 1e-10 ? 2e7 : 2e5);
    m.dissipation = 10;
    m.friction = 1;
    add_wall(&s, &ground, d3_make(0, 0, 0), d3_make(0, 0, 1), &m);
    for (i = 0; i < 40; i++) {
        double x = random_between(-0.025, 0.025), y = random_between(-0.025, 0.025);
        icf_transform pose = at(x, y, 0.06 + 0.105 * i);
        (void)add_body_of(&s, i % 2 ? icf_sphere(R(0.05)) : icf_box(R(0.05), R(0.05), R(0.05)), 1,
                          pose, vec(0, 0, -100), &m);
    }
    for (i = 0; i < 60; i++) {
        icf_stats stats;
        OK(icf_scene_step(&s, R(0.01)));
        OK(icf_world_get_stats(&s.world, &stats));
        if (most < stats.iterations) most = stats.iterations;
    }
    TEST_CHECK_(most < 50, "%d iterations", most);
    icf_scene_destroy(&s);
}

/* What rests stops, and what rolls does not: a marble of a gram, at 0.5 mm/s on a tonne that is pushed. All
   momentum together it hardly moves, and by itself it does. */
static void test_marble_rolls_on(void)
{
    icf_scene s = scene_of(ICF_MODEL_LAGGED);
    icf_material m = icf_default_material();
    run ground;
    icf_body slab, marble;
    const double speed = EPS < 1e-10 ? 5e-4 : 5e-3, radius = 0.01;
    int i;
    memset(&ground, 0, sizeof ground);
    m.stiffness = R(EPS < 1e-10 ? 2e7 : 2e6);
    m.friction = R(0.5);
    add_wall(&s, &ground, d3_make(0, 0, 0), d3_make(0, 0, 1), &m);
    slab = add_body_of(&s, icf_box(R(0.5), R(0.5), R(0.1)), 1000, at(0, 0, 0.1), vec(0, 0, 0), &m);
    marble =
        add_body_of(&s, icf_sphere(R(radius)), 1e-3, at(-0.2, 0, 0.2 + radius), vec(0, 0, 0), &m);
    for (i = 0; i < 600; i++) {
        if (i == 200) {
            OK(icf_body_set_velocity(&s.world, marble, vec(speed, 0, 0),
                                     vec(0, speed / radius, 0)));
        }
        if (i >= 400 && i < 450) {
            OK(icf_body_apply_force(&s.world, slab, vec(0, 0, EPS < 1e-10 ? -0.5 : -5),
                                    vec(0, 0, 0.1)));
        }
        OK(icf_scene_step(&s, R(0.01)));
    }
    CHECK_NEAR(state_of(&s.world, marble).velocity.x, speed, 0.01, 0);
    icf_scene_destroy(&s);
}

/* A stack comes to rest for good: after a while nothing moves any more, not by the last bit, and a step takes
   no iteration. In double it went up and down by 1e-12 m, within the tolerance, with an iteration every other
   step; in float that is below rounding. */
static void test_stack_rests_for_good(void)
{
    icf_scene s = scene_of(ICF_MODEL_LAGGED);
    icf_material m = icf_default_material();
    run ground;
    icf_body box[3];
    icf_body_state before[3];
    int i, k, iterations = 0;
    memset(&ground, 0, sizeof ground);
    m.stiffness = R(EPS < 1e-10 ? 2e7 : 2e5);
    add_wall(&s, &ground, d3_make(0, 0, 0), d3_make(0, 0, 1), &m);
    for (i = 0; i < 3; i++) {
        icf_transform pose = at(0, 0, 0.06 + 0.11 * i);
        box[i] = add_body_of(&s, icf_box(R(0.05), R(0.05), R(0.05)), 1, pose, vec(0, 0, 0), &m);
    }
    for (i = 0; i < 300; i++) OK(icf_scene_step(&s, R(0.01)));
    for (i = 0; i < 3; i++) before[i] = state_of(&s.world, box[i]);
    for (k = 0; k < 100; k++) {
        icf_stats stats;
        OK(icf_scene_step(&s, R(0.01)));
        OK(icf_world_get_stats(&s.world, &stats));
        iterations += stats.iterations;
    }
    TEST_CHECK_(iterations == 0, "%d iterations", iterations);
    for (i = 0; i < 3; i++) {
        icf_body_state after = state_of(&s.world, box[i]);
        TEST_CHECK_(memcmp(&after.center, &before[i].center, sizeof after.center) == 0,
                    "box %d moved by %g", i, (double)(after.center.z - before[i].center.z));
        /* in float what is left of it moves nothing */
        TEST_CHECK_((double)icf_vec3_length(after.velocity) <= (EPS < 1e-10 ? 0 : 1e-6),
                    "box %d has %g m/s", i, (double)icf_vec3_length(after.velocity));
    }
    icf_scene_destroy(&s);
}

TEST_LIST = {
    {"any_seed_stays_in_the_box", test_any_seed_stays_in_the_box},
    {"seeds_hard_once",           test_seeds_hard_once          },
    {"tonne_on_gram",             test_tonne_on_gram            },
    {"thin_plates_do_not_pass",   test_thin_plates_do_not_pass  },
    {"fast_bodies_stay_in",       test_fast_bodies_stay_in      },
    {"column_of_rain_is_solved",  test_column_of_rain_is_solved },
    {"marble_rolls_on",           test_marble_rolls_on          },
    {"stack_rests_for_good",      test_stack_rests_for_good     },
    {NULL,                        NULL                          }
};
