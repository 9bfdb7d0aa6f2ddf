/* The planar test cases of the two papers as worlds of icf.h, for bench/scenes.c and tests/test_scenes.c:

       belt       a box on a belt that swings, ICF XI-A
       sphere     falls, slides, rolls, ICF XI-B
       rod        slides on one end until it jams, ICF XI-C
       cylinder   rolls to and fro on a spring, SAP VI-B
       glide      a mass on a belt of constant speed, ICF VII-A

   Include it after icf.h. What the papers leave open is fixed in tests/golden/scenes/README.md. The plane is
   that of x, to the right, and z, up; angles are from x to z, about -y. The body hangs in a planar joint, or
   in a chain of three joints where a spring acts on x alone, or is a free one that nothing leads out of the
   plane. All numbers are doubles, also where icf_real is float. */

#ifndef SCENES_H
#define SCENES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCENE_PI 3.14159265358979323846
#define SCENE_GRAVITY 9.81

typedef enum scene_kind {
    SCENE_BELT,
    SCENE_SPHERE,
    SCENE_ROD,
    SCENE_CYLINDER,
    SCENE_GLIDE
} scene_kind;

static const char* const scene_model_names[3] = {"lagged", "similar", "sap"};
static const char* const scene_model_titles[3] = {"Lagged", "Similar", "SAP"};

/* What to run. From scene_default: the main case of the paper */
typedef struct scene_def {
    int kind, model;                /* scene_kind, icf_model */
    int method;                     /* icf_method */
    double dt;                      /* s */
    double dissipation, relaxation; /* of Lagged and Similar, s/m; of SAP, s */
    double near_rigid;              /* beta of SAP */
    double friction;
    double phase; /* belt: of its velocity A w cos(w t + phase) */
    double speed; /* glide: of its belt, m/s */
    double sunk;  /* rod: depth of the end that touches, m */
    int free_body; /* 1: six velocities in place of a planar joint; not of the cylinder or the glide */
    int own_w;     /* 1: w is left to the library */
} scene_def;

/* What can be seen: after a step, or before the first */
typedef struct scene_contact {
    double distance; /* of the contact now, m */
    double slip,
        approach; /* velocity now, along the tangent, less the belt's, and the normal, m/s */
    double friction, normal; /* force, mean of the step, N */
    double w;                /* inverse effective mass used in the step, 1/kg */
} scene_contact;

typedef struct scene_row {
    double t;
    double q[3], v[3]; /* x, z, angle of the centre of mass, and their velocities */
    double energy;     /* J: of motion, height, spring, and overlap */
    scene_contact contact[2];
} scene_row;

typedef struct scene {
    scene_def def;
    double mass, inertia, stiffness, spring;
    int points;
    double arm[2][2]; /* of the contacts, from the centre, at angle 0 */
    int is_round;     /* they do not turn with the body */
    icf_world world;
    icf_body body;
    icf_joint joint[3];
    int joints;
    long steps;
    scene_row now;
} scene;

enum { SCENE_BELT_HERTZ = 1 };
#define SCENE_BELT_AMPLITUDE 0.2
#define SCENE_BALL_RADIUS 0.025
#define SCENE_BALL_SPEED 2.0
#define SCENE_ROD_HALF 0.25
#define SCENE_ROD_SPEED 10.0
#define SCENE_CYLINDER_RADIUS 0.05
#define SCENE_CYLINDER_START 0.1
#define SCENE_STIFFNESS 1e7

/* Of the rod where it slides at its first angle without turning */
static inline double scene_rod_force(double friction)
{
    const double m = 0.3, inertia = m * (0.25 / 12 + 0.000025 / 4);
    const double rx = SCENE_ROD_HALF * cos(SCENE_PI / 6), rz = -SCENE_ROD_HALF * sin(SCENE_PI / 6);
    return m * SCENE_GRAVITY / (1 + m / inertia * (rx * rx + friction * rx * rz));
}

/* How deep what slides at a speed lies in each model, under a force; below 0: how high */
static inline double scene_depth(const scene_def* d, double force, double stiffness, double speed,
                                 double softer)
{
    const double soft = sqrt(speed * speed + 1e-8) - 1e-4;
    switch (d->model) {
    case ICF_MODEL_LAGGED: return force / stiffness;
    case ICF_MODEL_SIMILAR:
        return force / (stiffness * (1 + d->dissipation * d->friction * soft)) -
               d->friction * d->dt * soft;
    default: return force / stiffness * softer - d->friction * (d->dt + d->relaxation) * speed;
    }
}

static inline scene_def scene_default(scene_kind kind, int model, double dt)
{
    scene_def d;
    memset(&d, 0, sizeof d);
    d.kind = (int)kind;
    d.model = model;
    d.dt = dt;
    d.method = ICF_METHOD_SYMPLECTIC_EULER;
    d.dissipation = 500;
    d.relaxation = 1e-3;
    switch (kind) {
    case SCENE_BELT:
        d.friction = 0.7;
        d.phase = -SCENE_PI / 2;
        break;
    case SCENE_SPHERE: d.friction = 0.5; break;
    case SCENE_ROD:
        d.friction = 2.3;
        d.dissipation = d.relaxation = 0;
        d.sunk = scene_depth(&d, scene_rod_force(d.friction), SCENE_STIFFNESS, SCENE_ROD_SPEED, 1);
        break;
    case SCENE_CYLINDER:
        d.friction = 1;
        d.dissipation = 40;
        d.relaxation = 0.02;
        break;
    case SCENE_GLIDE:
        d.friction = 0.7;
        d.speed = 1;
        break;
    }
    return d;
}

/* The rod with dissipation, at its depth of sliding */
static inline scene_def scene_rod_dissipative(int model, double dt)
{
    scene_def d = scene_default(SCENE_ROD, model, dt);
    d.dissipation = 0.2;
    d.relaxation = 4e-6;
    d.sunk = scene_depth(&d, scene_rod_force(d.friction), SCENE_STIFFNESS, SCENE_ROD_SPEED, 1);
    return d;
}

static inline double scene_belt_speed(const scene_def* d, double t)
{
    const double turns = 2 * SCENE_PI * SCENE_BELT_HERTZ;
    if (d->kind == SCENE_GLIDE) return -d->speed;
    return d->kind == SCENE_BELT ? SCENE_BELT_AMPLITUDE * turns * cos(turns * t + d->phase) : 0;
}

static inline void scene_arm(const scene* s, int point, double r[2])
{
    const double c = s->is_round ? 1 : cos(s->now.q[2]), n = s->is_round ? 0 : sin(s->now.q[2]);
    r[0] = c * s->arm[point][0] - n * s->arm[point][1];
    r[1] = n * s->arm[point][0] + c * s->arm[point][1];
}

/* |J A^-1 J'| / 3 of a contact in the plane: rows (1, 0, -rz), none, (0, 1, rx) */
static inline double scene_w(const scene* s, const double r[2])
{
    double mx = s->mass, tt, tn, nn;
    if (s->def.kind == SCENE_GLIDE) return sqrt(3.0) / 3 / s->mass;
    if (s->def.method != ICF_METHOD_SYMPLECTIC_EULER) {
        const double share = s->def.method == ICF_METHOD_MIDPOINT ? 0.25 : 1;
        mx += share * s->def.dt * s->def.dt * s->spring;
    }
    tt = 1 / mx + r[1] * r[1] / s->inertia;
    tn = -r[1] * r[0] / s->inertia;
    nn = 1 / s->mass + r[0] * r[0] / s->inertia;
    return sqrt(tt * tt + 2 * tn * tn + nn * nn) / 3;
}

/* Reads the state out of the world; impulses of contacts are those of the last step, where there was one */
static inline icf_result scene_look(scene* s)
{
    scene_row* row = &s->now;
    icf_body_state body;
    icf_joint_state joint = {{0}, {0}, {0}, {0}, {0}};
    icf_result result = icf_body_get_state(&s->world, s->body, &body);
    int i;
    if (result != ICF_RESULT_OK) return result;
    row->t = (double)s->steps * s->def.dt;
    if (s->joints == 0) {
        const double angle = 2 * atan2(-(double)body.pose.q.y, (double)body.pose.q.w);
        row->q[0] = (double)body.center.x;
        row->q[1] = (double)body.center.z;
        row->q[2] += remainder(angle - row->q[2], 2 * SCENE_PI);
        row->v[0] = (double)body.velocity.x;
        row->v[1] = (double)body.velocity.z;
        row->v[2] = -(double)body.angular_velocity.y;
    } else if (s->def.kind == SCENE_GLIDE) {
        result = icf_joint_get_state(&s->world, s->joint[0], &joint);
        row->q[1] = (double)joint.position[0];
        row->v[1] = (double)joint.velocity[0];
    } else {
        for (i = 0; i < 3 && result == ICF_RESULT_OK; i++) {
            if (i < s->joints) result = icf_joint_get_state(&s->world, s->joint[i], &joint);
            row->q[i] = (double)joint.position[s->joints == 1 ? i : 0];
            row->v[i] = (double)joint.velocity[s->joints == 1 ? i : 0];
        }
    }
    row->energy = s->mass * SCENE_GRAVITY * row->q[1] + 0.5 * s->spring * row->q[0] * row->q[0] +
                  0.5 * s->mass * (row->v[0] * row->v[0] + row->v[1] * row->v[1]) +
                  0.5 * s->inertia * row->v[2] * row->v[2];
    for (i = 0; i < s->points; i++) {
        scene_contact* c = &row->contact[i];
        double r[2];
        scene_arm(s, i, r);
        c->distance = row->q[1] + r[1];
        c->slip = row->v[0] - row->v[2] * r[1] - scene_belt_speed(&s->def, row->t);
        c->approach = row->v[1] + row->v[2] * r[0];
        if (c->distance < 0) row->energy += 0.5 * s->stiffness * c->distance * c->distance;
        if (s->steps > 0) {
            icf_touch_result touch;
            if (result == ICF_RESULT_OK) result = icf_world_get_touch(&s->world, i, &touch);
            if (result != ICF_RESULT_OK) return result;
            c->friction = (double)touch.contact.impulse.x / s->def.dt;
            c->normal = (double)touch.contact.impulse.z / s->def.dt;
            c->w = (double)touch.contact.w;
        }
    }
    return result;
}

static inline icf_quat scene_quat(double x, double y, double angle)
{
    const double n = sin(angle / 2);
    return icf_quat_make((icf_real)(n * x), (icf_real)(n * y), 0, (icf_real)cos(angle / 2));
}

/* A joint from a body, or the ground, to a child, with its frame turned so in both */
static inline icf_result scene_join(scene* s, icf_joint_kind kind, icf_body parent, icf_body child,
                                    icf_quat turn, const double* q, const double* v, int count,
                                    double spring)
{
    icf_joint_def j = icf_default_joint_def(kind);
    int i;
    j.parent = parent;
    j.child = child;
    j.parent_frame = j.child_frame = icf_transform_make(turn, icf_vec3_make(0, 0, 0));
    for (i = 0; i < count; i++) {
        j.position[i] = (icf_real)q[i];
        j.velocity[i] = (icf_real)v[i];
    }
    j.stiffness = (icf_real)spring;
    return icf_joint_create(&s->world, &j, &s->joint[s->joints++]);
}

/* Makes the world. A scene that was begun, well or not, is to be ended. */
static inline icf_result scene_begin(scene* s, const scene_def* def)
{
    const icf_body ground = {0, 0};
    const icf_quat upright = scene_quat(1, 0, SCENE_PI / 2); // x stays, y turns to z, z to -y
    icf_world_def wd = icf_default_world_def();              // with the friction of the papers:
    icf_body_def bd = icf_default_body_def();
    icf_result result;
    double q[3] = {0, 0, 0}, v[3] = {0, 0, 0}, side = 0;
    wd.anchors = wd.settle = wd.passes = 0;
    memset(s, 0, sizeof *s);
    s->def = *def;
    s->stiffness = SCENE_STIFFNESS;
    s->points = 1;
    switch (def->kind) {
    case SCENE_BELT:
        s->mass = 1;
        side = s->inertia = 0.05 * 0.05 / 6;
        s->points = 2;
        s->arm[0][0] = -0.025;
        s->arm[1][0] = 0.025;
        s->arm[0][1] = s->arm[1][1] = -0.025;
        q[1] = 0.025 - s->mass * SCENE_GRAVITY / (2 * s->stiffness);
        break;
    case SCENE_SPHERE:
        s->mass = 0.5;
        side = s->inertia = 0.4 * s->mass * SCENE_BALL_RADIUS * SCENE_BALL_RADIUS;
        s->arm[0][1] = -SCENE_BALL_RADIUS;
        s->is_round = 1;
        q[1] = 0.05 + SCENE_BALL_RADIUS;
        v[0] = SCENE_BALL_SPEED;
        break;
    case SCENE_ROD:
        s->mass = 0.3;
        s->inertia = s->mass * (0.25 / 12 + 0.000025 / 4);
        side = s->mass * 0.000025 / 2;
        s->points = 2;
        s->arm[0][0] = SCENE_ROD_HALF;
        s->arm[1][0] = -SCENE_ROD_HALF;
        q[1] = SCENE_ROD_HALF * sin(SCENE_PI / 6) - def->sunk;
        q[2] = -SCENE_PI / 6;
        v[0] = SCENE_ROD_SPEED;
        break;
    case SCENE_CYLINDER:
        s->mass = 0.5;
        side = s->inertia = 0.5 * s->mass * SCENE_CYLINDER_RADIUS * SCENE_CYLINDER_RADIUS;
        s->stiffness = 1e4;
        s->spring = 100;
        s->arm[0][1] = -SCENE_CYLINDER_RADIUS;
        s->is_round = 1;
        q[0] = SCENE_CYLINDER_START;
        q[1] = SCENE_CYLINDER_RADIUS - s->mass * SCENE_GRAVITY / s->stiffness;
        break;
    default:
        s->mass = 1;
        side = s->inertia = 1;
        s->is_round = 1;
        q[1] = -s->mass * SCENE_GRAVITY / s->stiffness;
        break;
    }
    wd.bodies = 4;
    wd.joints = 4;
    wd.constraints = 1;
    wd.contacts = 4;
    wd.gravity = icf_vec3_make(0, 0, (icf_real)-SCENE_GRAVITY);
    wd.method = def->method;
    wd.tolerance =
        (icf_real)(sizeof(icf_real) == sizeof(double) ? 1e-14 : 1e-6); // as far as it goes
    result = icf_world_create(&s->world, &wd);
    if (result != ICF_RESULT_OK) return result;

    bd.mass = (icf_real)s->mass;
    bd.inertia.x.x = (icf_real)side;
    bd.inertia.y.y = bd.inertia.z.z = (icf_real)s->inertia;
    if (def->free_body) {
        bd.pose.p = icf_vec3_make((icf_real)q[0], 0, (icf_real)q[1]);
        bd.pose.q = scene_quat(0, -1, q[2]);
        bd.velocity = icf_vec3_make((icf_real)v[0], 0, (icf_real)v[1]);
    }
    result = icf_body_create(&s->world, &bd, &s->body);
    if (result == ICF_RESULT_OK && !def->free_body) {
        if (def->kind == SCENE_GLIDE) {
            result = scene_join(s, ICF_JOINT_PRISMATIC, ground, s->body, icf_quat_identity(), q + 1,
                                v + 1, 1, 0);
        } else if (def->kind == SCENE_CYLINDER) {
            // a spring of a planar joint would act on z and the angle too: two bodies without mass carry
            // the slides along x, with the spring, and along z
            icf_body cart, lift;
            bd.mass = 0;
            bd.inertia.x.x = bd.inertia.y.y = bd.inertia.z.z = 0;
            result = icf_body_create(&s->world, &bd, &cart);
            if (result == ICF_RESULT_OK) result = icf_body_create(&s->world, &bd, &lift);
            // symplectic Euler of the paper has the spring at the start of the step, that of joints is
            // at its end: there it is a force from outside
            if (result == ICF_RESULT_OK)
                result =
                    scene_join(s, ICF_JOINT_PRISMATIC, ground, cart, scene_quat(0, 1, SCENE_PI / 2),
                               q, v, 1, def->method == ICF_METHOD_SYMPLECTIC_EULER ? 0 : s->spring);
            if (result == ICF_RESULT_OK)
                result = scene_join(s, ICF_JOINT_PRISMATIC, cart, lift, icf_quat_identity(), q + 1,
                                    v + 1, 1, 0);
            if (result == ICF_RESULT_OK)
                result =
                    scene_join(s, ICF_JOINT_REVOLUTE, lift, s->body, upright, q + 2, v + 2, 1, 0);
        } else {
            result = scene_join(s, ICF_JOINT_PLANAR, ground, s->body, upright, q, v, 3, 0);
        }
    }
    memcpy(s->now.q, q, sizeof q);
    if (result == ICF_RESULT_OK) result = scene_look(s);
    return result;
}

static inline void scene_end(scene* s)
{
    icf_world_destroy(&s->world);
}

static inline icf_result scene_step(scene* s)
{
    const scene_def* d = &s->def;
    icf_result result = ICF_RESULT_OK;
    int i;
    for (i = 0; i < s->points && result == ICF_RESULT_OK; i++) {
        icf_touch touch = icf_default_touch();
        icf_surface surface = icf_world_default_surface(&s->world);
        double r[2];
        scene_arm(s, i, r);
        touch.b = s->body;
        touch.id = (uint64_t)i + 1;
        touch.point =
            icf_vec3_make((icf_real)(s->now.q[0] + r[0]), 0, (icf_real)(s->now.q[1] + r[1]));
        surface.model = d->model;
        touch.contact.distance = (icf_real)(s->now.q[1] + r[1]);
        surface.stiffness = (icf_real)s->stiffness;
        surface.dissipation = (icf_real)d->dissipation;
        surface.relaxation = (icf_real)d->relaxation;
        surface.near_rigid = (icf_real)d->near_rigid;
        surface.friction = (icf_real)d->friction;
        surface.slip_tolerance = (icf_real)1e-4;
        surface.softness = (icf_real)(d->model == ICF_MODEL_SAP ? 1e-3 : 0);
        // the belt moves as it does at the end of the step
        surface.velocity.x = (icf_real)-scene_belt_speed(d, s->now.t + d->dt);
        if (!d->own_w) touch.contact.effective_mass_inverse = (icf_real)scene_w(s, r);
        result = icf_world_add_touch(&s->world, &touch, &surface);
    }
    if (s->spring > 0 && d->method == ICF_METHOD_SYMPLECTIC_EULER && result == ICF_RESULT_OK) {
        const icf_real force = (icf_real)(-s->spring * s->now.q[0]);
        result = icf_joint_apply_effort(&s->world, s->joint[0], &force);
    }
    if (result == ICF_RESULT_OK) result = icf_world_step(&s->world, (icf_real)d->dt);
    if (result != ICF_RESULT_OK) return result;
    s->steps++;
    return scene_look(s);
}

/* Runs a scene for a time and shows every row, also the first. Answers what went wrong, if anything. */
static inline icf_result scene_run(const scene_def* def, double duration,
                                   void (*show)(void* user, const scene_row* row), void* user)
{
    scene s;
    long i, count = lround(duration / def->dt);
    icf_result result = scene_begin(&s, def);
    if (result == ICF_RESULT_OK && show) show(user, &s.now);
    for (i = 0; i < count && result == ICF_RESULT_OK; i++) {
        result = scene_step(&s);
        /* what is short of the tolerance in float is as near as rounding lets it */
        if (result == ICF_RESULT_NOT_CONVERGED && sizeof(icf_real) == sizeof(float))
            result = ICF_RESULT_OK;
        if (result == ICF_RESULT_OK && show) show(user, &s.now);
    }
    if (result != ICF_RESULT_OK)
        fprintf(stderr, "scene %d, %s, dt = %g s, step %ld: %s%s%s\n", def->kind,
                scene_model_names[def->model], def->dt, s.steps, icf_result_string(result),
                s.world.reason ? ": " : "", s.world.reason ? s.world.reason : "");
    scene_end(&s);
    return result;
}

/* ---- errors of whole motions */

/* Positions at all steps */
typedef struct scene_path {
    long count; /* steps; one row more */
    double dt;
    double (*q)[3];
} scene_path;

static inline void scene_path_show(void* user, const scene_row* row)
{
    scene_path* p = (scene_path*)user;
    memcpy(p->q[p->count++], row->q, sizeof row->q);
}

/* q is NULL where it failed */
static inline scene_path scene_path_of(const scene_def* def, double duration)
{
    scene_path p;
    p.count = 0;
    p.dt = def->dt;
    p.q = (double(*)[3])malloc((size_t)(lround(duration / def->dt) + 1) * sizeof *p.q);
    if (p.q && scene_run(def, duration, scene_path_show, &p) != ICF_RESULT_OK) {
        free(p.q);
        p.q = NULL;
    }
    p.count--;
    return p;
}

typedef struct scene_error {
    double q, part[3]; /* of all, and of x, z, angle alone */
} scene_error;

/* sqrt(1/T int |q - q_ref|^2 dt), trapezoids on the steps of the coarse one */
static inline scene_error scene_error_of(const scene_path* coarse, const scene_path* fine)
{
    const long every = lround(coarse->dt / fine->dt);
    scene_error e;
    double sum[3] = {0, 0, 0};
    long i;
    int k;
    for (i = 0; i <= coarse->count; i++) {
        for (k = 0; k < 3; k++) {
            const double off = coarse->q[i][k] - fine->q[i * every][k];
            sum[k] += (i == 0 || i == coarse->count ? 0.5 : 1.0) * off * off;
        }
    }
    for (k = 0; k < 3; k++) e.part[k] = sqrt(sum[k] / (double)coarse->count);
    e.q = sqrt((sum[0] + sum[1] + sum[2]) / (double)coarse->count);
    return e;
}

#endif
