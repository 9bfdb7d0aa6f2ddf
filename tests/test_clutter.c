/* Random clutter in the scene of icf_geometry.h: 2 to 24 bodies, spheres, capsules, boxes and compounds of
   1e-3 to 1e3 kg, in a container, at up to 50 m/s, with steps of 0.1 to 50 ms, every model, method and law,
   stiff and soft, elastic and not. What is checked is computed here, from states and touches:

     - no step fails, and all stays finite
     - the step itself takes energy: kinetic energy, that of gravity and that of contacts, k phi^2 / 2, do not
       grow from the touches that a step was given to the same touches moved on by dt times the velocity
       normal to them. It is a theorem, for all steps, however long, with the two rules of Euler: see below
     - where no step moves by more than half of the smallest size, bodies gain no energy from start to end,
       and stay in the container

   ICF_SEEDS=500 runs so many in place of the quick ones, ICF_FIRST=1000 begins at another, ICF_SHOW=1 prints
   a line of each.

   Why a step takes energy. Let v0 and v1 be the velocities before and after, and x1 = x0 + dt v1. A gives
   kinetic energy, K1 - K0 = v1' A (v1 - v0) - 1/2 |v1 - v0|_A^2, gravity takes dt v1' m g exactly, and what is
   left of the first is the power of the impulses J' gamma. Friction takes. A normal force f(phi1) = -V'(phi1)
   gives dt vn f(phi1) = (phi1 - phi0) f(phi1) <= V(phi0) - V(phi1), for V is convex: all of the Euler rules'
   error has one sign. Dissipation lowers f where vn > 0 and raises it where vn < 0: it takes. Similar and SAP
   have the normal force at a phi below phi1, and their friction takes more than that gives. A free
   body turns without a change of K.

   What the theorem leaves out is between steps: phi1 is not the distance that the next step finds, where
   bodies turn, and points of contact come and go. */

#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"

#include "acutest.h"
#include "util.h"
#include "world_util.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 24, TOUCHES = 4096 };

/* One run, and what came out */
typedef struct run {
    unsigned seed;
    int bodies, steps, model, method, law, walls_are_boxes, lid, points, sized, overlap, elastic, inward;
    double dt, gravity, speed, stiffness, dissipation, relaxation, friction, tolerance, near_rigid;
    double wall, height; /* of the container: |x|, |y| <= wall, 0 <= z <= height */
    double least;        /* half of the smallest extent of a shape */
    double heavy, light; /* masses */

    icf_body body[MOST];
    icf_body_def def[MOST];
    double inner[MOST], reach[MOST]; /* radii about the centre of mass: within the body, and of all of it */

    /* results */
    icf_result result;
    int failed_at, finite, contacts;
    double start;     /* the energy at the start, J */
    double move;      /* the furthest that a step moves, over `least` */
    double step_gain; /* the most that a step gained against the theorem, over start */
    double gain;      /* kinetic and gravity's over start, less 1 */
    double end; 
    double total;     /* the same with that of contacts, at the start of a step */
    double jumps;     /* all that V gained between steps, over start */
    double depth, bound; /* the deepest overlap, and what the energy allows, over `least` */
    double out;       /* how far a centre was out of the container, over `least`, most */
    int gain_at, out_at;
    int iterations, floors;
    double floor_error;
} run;

static double log_between(double low, double high)
{
    return exp(random_between(log(low), log(high)));
}

static icf_shape random_shape(double size, double* inner)
{
    double flat = random_between(0.2, 1);
    switch (random_below(3)) {
    case 0: *inner = size; return icf_sphere(R(size));
    case 1:
        *inner = size * flat;
        return icf_capsule(R(size * flat), R(size * (1 - flat)));
    default: {
        double x = 0.75 * size * random_between(0.2, 1), y = 0.75 * size * random_between(0.2, 1),
               z = 0.75 * size * flat;
        *inner = fmin(x, fmin(y, z));
        return icf_box(R(x), R(y), R(z));
    }
    }
}

static double reach_of(const icf_shape* s)
{
    if (s->kind == ICF_SHAPE_BOX) return (double)icf_vec3_length(s->half);
    return (double)s->radius + (s->kind == ICF_SHAPE_CAPSULE ? (double)s->half.z : 0);
}

/* A body of one to four shapes, of a mass of its own */
static void add_clutter(icf_scene* s, run* r, int i, double size, double mass, icf_transform pose,
                        const icf_material* material)
{
    icf_body_def d = icf_default_body_def();
    icf_collider_def c = icf_default_collider_def();
    icf_collider name;
    int shapes = random_below(5) ? 1 : 2 + random_below(3), k;
    double grow;
    d.pose = pose;
    OK(icf_body_create(&s->world, &d, &r->body[i]));
    c.body = r->body[i];
    c.material = *material;
    r->reach[i] = r->inner[i] = 0;
    for (k = 0; k < shapes; k++) {
        double inner;
        c.shape = random_shape(shapes > 1 ? 0.5 * size : size, &inner);
        if (shapes > 1) c.shape.pose = random_pose(0.25 * size);
        r->reach[i] = larger(r->reach[i],
                             reach_of(&c.shape) + (double)icf_vec3_length(c.shape.pose.p));
        r->inner[i] = shapes > 1 ? 0 : inner;
        r->least = fmin(r->least, inner);
        OK(icf_collider_create(s, &c, &name));
    }
    OK(icf_scene_set_density(s, r->body[i], 1000));
    OK(icf_body_get_def(&s->world, r->body[i], &d));
    grow = mass / (double)d.mass;
    d.mass = R(mass);
    d.inertia = icf_mat3_from_columns(icf_vec3_scale(R(grow), d.inertia.x),
                                      icf_vec3_scale(R(grow), d.inertia.y),
                                      icf_vec3_scale(R(grow), d.inertia.z));
    r->reach[i] += (double)icf_vec3_length(d.center);
    d.velocity = icf_vec3_scale(R(r->speed * random_unit()), icf_vec3_normalize(random_vec(1)));
    if (r->inward) {
        d3 in = d3_sub(d3_make(0, 0, r->height / 2), d3_of(pose.p));
        if (d3_length(in) > 0)
            d.velocity = d3_real(d3_add(d3_scale(r->speed / d3_length(in), in), d3_of(icf_vec3_scale(R(0.3), d.velocity))));
    }
    if (random_below(2)) {
        d.angular_velocity = icf_vec3_scale(R(r->speed / r->reach[i] * random_unit()),
                                            icf_vec3_normalize(random_vec(1)));
    }
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
    c.shape = icf_half_space();
    c.shape.pose = icf_transform_make(icf_quat_normalize(dq_real(q)), d3_real(at));
    if (r->walls_are_boxes) {
        c.shape = icf_box(R(2 * thick), R(2 * thick), R(thick));
        c.shape.pose = icf_transform_make(icf_quat_normalize(dq_real(q)),
                                          d3_real(d3_sub(at, d3_scale(thick, normal))));
    }
    OK(icf_collider_create(s, &c, &name));
}

static double kinetic(const run* r, int i, const icf_body_state* st)
{
    const icf_body_def* d = &r->def[i];
    d3 v = d3_of(st->velocity), w = dq_rotate_inverse(dq_of(st->pose.q), d3_of(st->angular_velocity));
    d3 l = d3_make(
        (double)d->inertia.x.x * w.x + (double)d->inertia.y.x * w.y + (double)d->inertia.z.x * w.z,
        (double)d->inertia.x.y * w.x + (double)d->inertia.y.y * w.y + (double)d->inertia.z.y * w.z,
        (double)d->inertia.x.z * w.x + (double)d->inertia.y.z * w.y + (double)d->inertia.z.z * w.z);
    return 0.5 * (double)d->mass * d3_dot(v, v) + 0.5 * d3_dot(w, l);
}

/* Kinetic energy, and that of gravity over the floor */
static double energy(const icf_scene* s, const run* r)
{
    double sum = 0;
    int i;
    for (i = 0; i < r->bodies; i++) {
        icf_body_state st = state_of(&s->world, r->body[i]);
        sum += kinetic(r, i, &st) + r->gravity * (double)r->def[i].mass * (double)st.center.z;
    }
    return sum;
}

/* The energy of a contact that is as deep as that */
static double spring(const icf_contact* c, double stiffness, double distance)
{
    double depth = distance < 0 ? -distance : 0;
    if (c->law == ICF_LAW_HERTZ && c->model != ICF_MODEL_SAP) {
        return 0.4 * stiffness * depth * depth * sqrt(depth);
    }
    return 0.5 * stiffness * depth * depth;
}

/* The stiffness that a contact of the last step had: near_rigid lowers it, SAP (29) */
static double stiffness_of(const run* r, const icf_contact* c, const icf_contact_result* result)
{
    double k = (double)c->stiffness, beta = (double)c->near_rigid, tau = (double)c->relaxation;
    double rn, w = (double)result->w;
    if (c->model != ICF_MODEL_SAP || beta == 0 || !result->bounded) return k;
    if (beta < 0) beta = 1;
    rn = beta * beta / (4 * PI * PI) * w;
    return fmin(k, 1 / (rn * r->dt * (r->dt + tau)));
}

static void look(run* r, const icf_scene* s, int step)
{
    int i;
    for (i = 0; i < r->bodies; i++) {
        icf_body_state st = state_of(&s->world, r->body[i]);
        d3 p = d3_of(st.center), v = d3_of(st.velocity), w = d3_of(st.angular_velocity);
        double size = d3_length(p) + d3_length(v) + d3_length(w), out;
        double turn = d3_length(d3_make((double)st.pose.q.x, (double)st.pose.q.y,
                                        (double)st.pose.q.z));
        double move = r->dt * (d3_length(v) + d3_length(w) * r->reach[i] + r->gravity * r->dt);
        if (!(size < 1e12) || !(turn < 1 + 20 * EPS)) r->finite = 0;
        r->move = larger(r->move, move / r->least);
        out = larger(fabs(p.x), fabs(p.y)) - r->wall;
        out = larger(out, -p.z);
        if (r->lid) out = larger(out, p.z - r->height);
        out += r->inner[i]; /* the least that it is deep in a wall */
        if (out / r->least > r->out) {
            r->out = out / r->least;
            r->out_at = step;
        }
    }
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
    r->law = random_below(3) ? ICF_LAW_HUNT_CROSSLEY
             : random_below(2) ? ICF_LAW_HERTZ : ICF_LAW_KELVIN_VOIGT;
    r->walls_are_boxes = random_below(4) == 0;
    r->lid = r->walls_are_boxes || random_below(2);
    r->points = random_below(2) ? 8 : 4;
    r->dt = log_between(1e-4, 0.05);
    r->gravity = random_below(5) ? 9.81 : 0;
    r->speed = log_between(0.1, 50);
    r->tolerance = random_below(3) ? 1e-5 : 1e-8;
    r->friction = random_below(4) ? random_between(0, 1.5) : 0;
    r->dissipation = random_below(5) < 2 ? 0 : log_between(0.1, 100);
    r->relaxation = random_below(2) ? 0 : log_between(1e-4, 0.1);
    r->near_rigid = random_below(2) ? -1 : 0;

    scale = log_between(0.02, 1);
    /* most at a size at which much happens in these steps: some sizes are travelled in all of them */
    r->elastic = random_below(4) == 0;
    if (random_below(4)) scale = r->speed * r->dt * log_between(1, 100);
    if (r->elastic) {
        r->dissipation = r->relaxation = r->friction = 0;
        r->near_rigid = 0;
        r->steps *= 3;
        scale = r->speed * r->dt * log_between(20, 300);
    }
    scale = fmin(2, larger(1e-3, scale));
    r->inward = random_below(2);
    mass_low = log_between(1e-3, 1e3);
    mass_high = random_below(2) ? mass_low : log_between(1e-3, 1e3);
    for (i = 0; i < r->bodies; i++) {
        size[i] = scale * (random_below(2) ? 1 : random_between(0.1, 1));
        mass[i] = log_between(fmin(mass_low, mass_high), larger(mass_low, mass_high) * 1.000001);
        most = larger(most, (0.75 * sqrt(3.0)) * size[i]);
        r->heavy = larger(r->heavy, mass[i]);
        r->light = i ? fmin(r->light, mass[i]) : mass[i];
    }
    r->least = scale;

    /* every body in a cell that it cannot reach out of: none overlap at the start */
    r->overlap = random_below(8) == 0;
    cell = 2 * most * (r->overlap ? random_between(0.7, 1) : random_between(1, 1.2));
    nx = 1 + random_below(3);
    r->wall = 0.5 * nx * cell;
    n = (r->bodies + nx * nx - 1) / (nx * nx);
    r->height = n * cell;

    def.world.gravity = vec(0, 0, -r->gravity);
    def.world.method = r->method;
    def.world.model = r->model;
    def.world.tolerance = EPS < 1e-10 ? R(r->tolerance) : def.world.tolerance;
    r->tolerance = EPS < 1e-10 ? r->tolerance : 1e-4;
    def.points = r->points;
    TEST_ASSERT(icf_scene_create(s, &def) == ICF_RESULT_OK);

    /* half of the scenes as stiff as it takes for all energy to be stored within a part of the smallest size */
    r->sized = r->elastic || random_below(3) != 0;
    r->stiffness = log_between(1e3, 1e9);
    if (r->sized) {
        double all = 0, deep = scale * (r->elastic ? 0.2 : 0.3 * log_between(0.01, 0.3));
        for (i = 0; i < r->bodies; i++)
            all += mass[i] * (0.5 * r->speed * r->speed + r->gravity * r->height);
        r->stiffness = 2 * all / (deep * deep);
        r->stiffness = fmin(1e12, larger(1, r->stiffness));
    }
    material.stiffness = R(2 * r->stiffness);
    material.friction = R(r->friction);
    material.dissipation = R(r->dissipation);
    material.relaxation = R(r->relaxation / 2);
    material.torsion = random_below(4) ? 0 : R(0.1 * scale);
    material.rolling = random_below(4) ? 0 : R(0.1 * scale);
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

/* Angular velocity after the solve, before the body turned: it kept its momentum */
static d3 solved_spin(const run* r, int i, const icf_body_state* before, const icf_body_state* after)
{
    const icf_mat3* m = &r->def[i].inertia;
    d3 w = dq_rotate_inverse(dq_of(after->pose.q), d3_of(after->angular_velocity)), l, x, y, z, yz, zx, xy;
    double det;
    x = d3_of(m->x);
    y = d3_of(m->y);
    z = d3_of(m->z);
    l = d3_add(d3_scale(w.x, x), d3_add(d3_scale(w.y, y), d3_scale(w.z, z)));
    l = dq_rotate_inverse(dq_of(before->pose.q), dq_rotate(dq_of(after->pose.q), l));
    yz = d3_cross(y, z);
    zx = d3_cross(z, x);
    xy = d3_cross(x, y);
    det = d3_dot(x, yz);
    return dq_rotate(dq_of(before->pose.q),
                     d3_make(d3_dot(yz, l) / det, d3_dot(zx, l) / det, d3_dot(xy, l) / det));
}

static int body_index(const run* r, icf_body b)
{
    int i;
    for (i = 0; i < r->bodies; i++) {
        if (r->body[i].index == b.index && r->body[i].generation == b.generation) return i;
    }
    return -1;
}

static icf_touch kept[TOUCHES];
static icf_body_state before[MOST], after[MOST];

static d3 velocity_at(const run* r, icf_body b, const icf_vec3* point)
{
    int i = body_index(r, b);
    if (i < 0) return d3_make(0, 0, 0);
    return d3_add(d3_of(after[i].velocity),
                  d3_cross(solved_spin(r, i, &before[i], &after[i]),
                           d3_sub(d3_of(*point), d3_of(before[i].center))));
}

/* Runs a seed, and fills r. */
static void play(unsigned seed, run* r)
{
    icf_scene s;
    int i, step, trace = getenv("ICF_TRACE") != NULL;
    double stored = 0, last = 0;
    make(&s, r, seed);
    r->finite = 1;
    r->start = energy(&s, r);
    look(r, &s, 0);
    r->move = 0;
    r->failed_at = -1;
    for (step = 0; step < r->steps && r->finite; step++) {
        icf_stats stats;
        int32_t count;
        icf_touch* touch;
        double e0 = energy(&s, r), e1, v0 = 0, v1 = 0, shallow;
        look(r, &s, step);
        for (i = 0; i < r->bodies; i++) before[i] = state_of(&s.world, r->body[i]);
        r->result = icf_scene_detect(&s, R(r->dt));
        if (r->result != ICF_RESULT_OK) {
            r->failed_at = step;
            break;
        }
        touch = icf_world_touches(&s.world, &count);
        for (i = 0; i < count; i++) {
            icf_contact* c = &touch[i].contact;
            c->law = r->law;
            c->near_rigid = R(r->near_rigid);
            if (r->law == ICF_LAW_HERTZ) c->stiffness = R(r->stiffness / sqrt(0.03 * r->least));
            r->depth = larger(r->depth, -(double)c->distance / r->least);
        }
        TEST_ASSERT(count <= TOUCHES);
        memcpy(kept, touch, (size_t)count * sizeof *touch);
        r->result = icf_scene_solve(&s, R(r->dt));
        if (r->result != ICF_RESULT_OK) {
            r->failed_at = step;
            if (r->result != ICF_RESULT_NOT_CONVERGED) break;
        }
        (void)icf_world_get_stats(&s.world, &stats);
        r->iterations = stats.iterations > r->iterations ? stats.iterations : r->iterations;
        r->floors += stats.stop == ICF_STOP_FLOOR;
        if (stats.stop == ICF_STOP_FLOOR)
            r->floor_error = larger(r->floor_error, (double)stats.momentum_error);
        for (i = 0; i < r->bodies; i++) after[i] = state_of(&s.world, r->body[i]);
        e1 = energy(&s, r);
        shallow = 1e300;
        for (i = 0; i < count; i++) {
            icf_touch_result result;
            const icf_contact* c = &kept[i].contact;
            double phi = (double)c->distance, k, vn;
            d3 u = d3_sub(velocity_at(r, kept[i].b, &kept[i].point),
                          velocity_at(r, kept[i].a, &kept[i].point));
            vn = d3_dot(u, d3_of(c->normal));
            OK(icf_world_get_touch(&s.world, i, &result));
            k = stiffness_of(r, c, &result.contact);
            v0 += spring(c, k, phi);
            v1 += spring(c, k, phi + r->dt * vn);
            if (k < shallow) shallow = k;
        }
        if (r->law != ICF_LAW_HERTZ && shallow < 1e300)
            r->bound = larger(r->bound, sqrt(2 * larger(r->start, e1) / shallow) / r->least);
        if (!step) r->start += v0; /* that of what overlaps at the start */
        if (step && v0 > stored) r->jumps += (v0 - stored) / r->start;
        for (i = 0; i < count; i++) r->contacts += (double)kept[i].contact.distance < 0;
        stored = v1;
        r->end = (e1 + v1) / r->start;
        r->step_gain = larger(r->step_gain, (e1 + v1 - e0 - v0) / r->start);
        r->total = larger(r->total, (e0 + v0) / r->start - 1);
        if (e1 / r->start - 1 > r->gain) {
            r->gain = e1 / r->start - 1;
            r->gain_at = step;
        }
        if (trace)
            printf("%3d e %.6g v %.4g -> %.4g, step %+.3g, jump %+.3g, move %.3g, depth %.3g, %d touches, %d it, stop %d err %.2g\n", step,
                   e1 / r->start, v0 / r->start, v1 / r->start, (e1 + v1 - e0 - v0) / r->start, (v0 - last) / r->start, r->move, r->depth,
                   (int)count, (int)stats.iterations, (int)stats.stop, (double)stats.momentum_error);
        last = v1;
    }
    look(r, &s, step);
    icf_scene_destroy(&s);
}

static int seeds = 60;
static unsigned first_seed = 1;

static void test_seeds(void)
{
    const char* text = getenv("ICF_SEEDS");
    run r;
    int i, show = getenv("ICF_SHOW") != NULL;
    if (text) seeds = atoi(text);
    text = getenv("ICF_FIRST");
    if (text) first_seed = (unsigned)atol(text);
    for (i = 0; i < seeds; i++) {
        play(first_seed + (unsigned)i, &r);
        if (show)
            printf("seed %u n %d el %d ov %d contacts %d dt %.3g model %d method %d law %d box %d sized %d k %.3g d %.3g tau %.3g mu %.3g nr %g speed %.3g mass %.2g..%.2g : result %d at %d fin %d move %.3g stepgain %.2g gain %.3g at %d total %.3g end %.3g jumps %.3g depth %.3g bound %.3g out %.3g at %d it %d floors %d err %.2g\n",
                   r.seed, r.bodies, r.elastic, r.overlap, r.contacts, r.dt, r.model, r.method, r.law, r.walls_are_boxes, r.sized, r.stiffness, r.dissipation, r.relaxation, r.friction, r.near_rigid, r.speed, r.light, r.heavy,
                   r.result, r.failed_at, r.finite, r.move, r.step_gain, r.gain, r.gain_at, r.total, r.end, r.jumps, r.depth, r.bound, r.out, r.out_at, r.iterations, r.floors, r.floor_error);
    }
}

TEST_LIST = {
    {"seeds", test_seeds},
    {NULL,    NULL      }
};
