/* world_util.h - what the tests of the world share: vectors in double, worlds and bodies by the line, and a
   scene that plays the same in any world it is put in. Include it after icf.h, acutest.h and util.h. */

#ifndef TEST_WORLD_UTIL_H
#define TEST_WORLD_UTIL_H

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

// ------------------------------------------------------------------------------------------------
// Vectors of doubles

typedef struct d3 {
    double x, y, z;
} d3;

UTIL_UNUSED static d3 d3_make(double x, double y, double z)
{
    d3 v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}

UTIL_UNUSED static d3 d3_of(icf_vec3 v)
{
    return d3_make((double)v.x, (double)v.y, (double)v.z);
}

UTIL_UNUSED static icf_vec3 d3_real(d3 v)
{
    return icf_vec3_make(R(v.x), R(v.y), R(v.z));
}

UTIL_UNUSED static icf_vec3 vec(double x, double y, double z)
{
    return icf_vec3_make(R(x), R(y), R(z));
}

UTIL_UNUSED static d3 d3_add(d3 a, d3 b)
{
    return d3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}

UTIL_UNUSED static d3 d3_sub(d3 a, d3 b)
{
    return d3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

UTIL_UNUSED static d3 d3_scale(double s, d3 a)
{
    return d3_make(s * a.x, s * a.y, s * a.z);
}

UTIL_UNUSED static double d3_dot(d3 a, d3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

UTIL_UNUSED static d3 d3_cross(d3 a, d3 b)
{
    return d3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

UTIL_UNUSED static double d3_length(d3 a)
{
    return sqrt(d3_dot(a, a));
}

UTIL_UNUSED static double d3_off(d3 a, d3 b)
{
    return d3_length(d3_sub(a, b));
}

typedef struct dq {
    double x, y, z, w;
} dq;

UTIL_UNUSED static dq dq_of(icf_quat q)
{
    dq r;
    r.x = (double)q.x;
    r.y = (double)q.y;
    r.z = (double)q.z;
    r.w = (double)q.w;
    return r;
}

UTIL_UNUSED static dq dq_mul(dq a, dq b)
{
    dq r;
    r.x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y;
    r.y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x;
    r.z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w;
    r.w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z;
    return r;
}

UTIL_UNUSED static dq dq_about(d3 axis, double angle)
{
    double s = sin(angle / 2) / d3_length(axis);
    dq r;
    r.x = s * axis.x;
    r.y = s * axis.y;
    r.z = s * axis.z;
    r.w = cos(angle / 2);
    return r;
}

UTIL_UNUSED static icf_quat dq_real(dq q)
{
    return icf_quat_make(R(q.x), R(q.y), R(q.z), R(q.w));
}

UTIL_UNUSED static d3 dq_rotate(dq q, d3 v)
{
    d3 u = d3_make(q.x, q.y, q.z), t = d3_scale(2, d3_cross(u, v));
    return d3_add(d3_add(v, d3_scale(q.w, t)), d3_cross(u, t));
}

UTIL_UNUSED static d3 dq_rotate_inverse(dq q, d3 v)
{
    q.x = -q.x;
    q.y = -q.y;
    q.z = -q.z;
    return dq_rotate(q, v);
}

/* The angle between two rotations */
UTIL_UNUSED static double dq_off(dq a, dq b)
{
    dq d;
    a.x = -a.x;
    a.y = -a.y;
    a.z = -a.z;
    d = dq_mul(a, b);
    return 2 * asin(fmin(1, sqrt(d.x * d.x + d.y * d.y + d.z * d.z)));
}

UTIL_UNUSED static d3 random_d3(double size)
{
    double x = random_between(-size, size), y = random_between(-size, size);
    return d3_make(x, y, random_between(-size, size));
}

UTIL_UNUSED static icf_vec3 random_vec(double size)
{
    return d3_real(random_d3(size));
}

UTIL_UNUSED static icf_quat random_turn(void)
{
    dq q;
    double n;
    do {
        q.x = random_between(-1, 1);
        q.y = random_between(-1, 1);
        q.z = random_between(-1, 1);
        q.w = random_between(-1, 1);
        n = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    } while (n < 0.1 || n > 1);
    q.x /= n;
    q.y /= n;
    q.z /= n;
    q.w /= n;
    return icf_quat_normalize(dq_real(q));
}

UTIL_UNUSED static icf_transform random_pose(double size)
{
    icf_quat q = random_turn();
    return icf_transform_make(q, random_vec(size));
}

// ------------------------------------------------------------------------------------------------
// Worlds and bodies

static const icf_body no_body = {0, 0};

UTIL_UNUSED static icf_world_def small_world_def(int bodies, int joints, int constraints,
                                                 int contacts)
{
    icf_world_def d = icf_default_world_def();
    d.bodies = bodies;
    d.joints = joints;
    d.constraints = constraints;
    d.contacts = contacts;
    return d;
}

/* A created world of few things, with gravity along z */
UTIL_UNUSED static icf_world world_with(double gravity, int method)
{
    icf_world w;
    icf_world_def d = small_world_def(4, 4, 2, 8);
    memset(&w, 0, sizeof w);
    d.gravity = vec(0, 0, gravity);
    d.method = method;
    TEST_ASSERT(icf_world_create(&w, &d) == ICF_RESULT_OK);
    return w;
}

UTIL_UNUSED static icf_mat3 diagonal(double x, double y, double z)
{
    return icf_mat3_from_columns(vec(x, 0, 0), vec(0, y, 0), vec(0, 0, z));
}

UTIL_UNUSED static icf_mat3 box_inertia(double mass, double x, double y, double z)
{
    return diagonal(mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12,
                    mass * (x * x + y * y) / 12);
}

UTIL_UNUSED static icf_body_def body_at(double mass, double x, double y, double z)
{
    icf_body_def d = icf_default_body_def();
    d.mass = R(mass);
    d.inertia = diagonal(0.1 * mass, 0.1 * mass, 0.1 * mass);
    d.pose.p = vec(x, y, z);
    return d;
}

/* An inertia that a body of some shape has: principal moments below the sum of the others, turned */
UTIL_UNUSED static icf_mat3 random_inertia(double mass, double size)
{
    icf_quat q = random_turn();
    double x = size * random_between(0.2, 1), y = size * random_between(0.2, 1);
    icf_mat3 r = icf_mat3_from_quat(q), d = box_inertia(mass, x, y, size * random_between(0.2, 1));
    icf_mat3 i = icf_mat3_mul(icf_mat3_mul(r, d), icf_mat3_transpose(r));
    i.y.x = i.x.y;
    i.z.x = i.x.z;
    i.z.y = i.y.z;
    return i;
}

UTIL_UNUSED static icf_body_def random_body(double size)
{
    icf_body_def d = icf_default_body_def();
    d.mass = R(random_between(0.5, 3));
    d.inertia = random_inertia((double)d.mass, 1);
    d.center = random_vec(0.3);
    d.pose = random_pose(size);
    d.velocity = random_vec(1);
    d.angular_velocity = random_vec(1);
    return d;
}

UTIL_UNUSED static icf_body add_body(icf_world* w, const icf_body_def* d)
{
    icf_body b = {0, 0};
    OK(icf_body_create(w, d, &b));
    return b;
}

UTIL_UNUSED static icf_body_state state_of(const icf_world* w, icf_body b)
{
    icf_body_state s;
    memset(&s, 0, sizeof s);
    OK(icf_body_get_state(w, b, &s));
    return s;
}

UTIL_UNUSED static icf_joint_state joint_state_of(const icf_world* w, icf_joint j)
{
    icf_joint_state s;
    memset(&s, 0, sizeof s);
    OK(icf_joint_get_state(w, j, &s));
    return s;
}

UTIL_UNUSED static icf_diagnosis diagnosis_of(const icf_world* w)
{
    icf_diagnosis d;
    memset(&d, 0, sizeof d);
    OK(icf_world_diagnose(w, &d));
    return d;
}

UTIL_UNUSED static double energy_of(const icf_world* w)
{
    icf_diagnosis d = diagnosis_of(w);
    return (double)d.kinetic + (double)d.potential;
}

UTIL_UNUSED static void step_for(icf_world* w, double dt, int steps)
{
    int i;
    for (i = 0; i < steps; i++) {
        icf_result result = icf_world_step(w, R(dt));
        if (!TEST_CHECK_(result == ICF_RESULT_OK, "step %d answers %s: %s", i,
                         icf_result_string(result), w->reason ? w->reason : ""))
            return;
    }
}

/* A touch of b on a at a point, with the normal z */
UTIL_UNUSED static icf_touch touch_at(const icf_world* w, icf_body a, icf_body b, icf_vec3 point,
                                      double distance, uint64_t id)
{
    icf_touch t = icf_default_touch();
    t.a = a;
    t.b = b;
    t.point = point;
    t.id = id;
    t.contact.distance = R(distance);
    return t;
}

/* The four lower corners of a box on a level plane at z = ground, all given however far they are. */
UTIL_UNUSED static void touch_box(icf_world* w, icf_body a, icf_body box, d3 half, double ground,
                                  const icf_surface* surface)
{
    icf_body_state s = state_of(w, box);
    int i;
    for (i = 0; i < 4; i++) {
        d3 corner = d3_make(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, -half.z);
        d3 p = d3_add(d3_of(s.pose.p), dq_rotate(dq_of(s.pose.q), corner));
        icf_surface usual = icf_world_default_surface(w);
        icf_touch t = touch_at(w, a, box, d3_real(p), p.z - ground, (uint64_t)(i + 1));
        OK(icf_world_add_touch(w, &t, surface ? surface : &usual));
    }
}

// ------------------------------------------------------------------------------------------------
// A scene: balls (user number: radius in mm) that fall on the ground and on one another, one of them with a
// tail of joints, two held together by a rod. What it does is a function of the state of the world alone.

enum { SCENE_BALLS = 8 };

UTIL_UNUSED static void scene_fill(icf_world* w)
{
    icf_body ball[SCENE_BALLS], link;
    icf_joint joint;
    icf_constraint rod;
    icf_constraint_def cd = icf_default_constraint_def(ICF_CONSTRAINT_DISTANCE);
    icf_joint_def jd;
    int i;
    for (i = 0; i < SCENE_BALLS; i++) {
        icf_body_def d = body_at(1 + 0.3 * i, 0.13 * (i % 3), 0.11 * (i % 2), 0.3 + 0.45 * i);
        d.inertia = diagonal(0.02, 0.02 + 0.003 * i, 0.025);
        d.angular_velocity = vec(1, 0.2 * i, -1);
        d.user = 200;
        ball[i] = add_body(w, &d);
    }
    for (i = 0, link = ball[0]; i < 3; i++) {
        icf_body_def d = body_at(0.2, 0, 0, 0);
        icf_body next;
        d.inertia = diagonal(0.002, 0.002, 0.001);
        next = add_body(w, &d);
        jd = icf_default_joint_def(i == 1 ? ICF_JOINT_BALL : ICF_JOINT_REVOLUTE);
        jd.parent = link;
        jd.child = next;
        jd.parent_frame =
            icf_transform_make(icf_quat_normalize(icf_quat_make(R(0.3), 0, 0, 1)), vec(0.2, 0, 0));
        jd.child_frame.p = vec(-0.1, 0, 0);
        jd.damping = R(0.01);
        if (i == 2) {
            jd.lower[0] = -R(0.2);
            jd.upper[0] = R(0.3);
            jd.motor_stiffness = 5;
            jd.effort = R(0.05);
            jd.target[0] = 1;
            jd.dry_friction = R(0.01);
        }
        OK(icf_joint_create(w, &jd, &joint));
        link = next;
    }
    cd.a = ball[3];
    cd.b = ball[5];
    cd.lower = cd.upper = R(0.9);
    OK(icf_constraint_create(w, &cd, &rod));
}

/* Gives the touches of the next step */
UTIL_UNUSED static void scene_touch(icf_world* w)
{
    int32_t n = icf_world_body_count(w), i, k;
    for (i = 0; i < n; i++) {
        icf_body a = icf_world_body_at(w, i);
        icf_body_def d;
        icf_touch t;
        icf_surface surface;
        double r;
        if (!a.generation) continue;
        OK(icf_body_get_def(w, a, &d));
        r = 0.001 * (double)d.user;
        if (!(r > 0)) continue;
        if ((double)d.pose.p.z < r + 0.05) {
            surface = icf_world_default_surface(w);
            t = touch_at(w, no_body, a, icf_vec3_make(d.pose.p.x, d.pose.p.y, 0),
                         (double)d.pose.p.z - r, 7);
            surface.stiffness = R(2e4);
            OK(icf_world_add_touch(w, &t, &surface));
        }
        for (k = i + 1; k < n; k++) {
            icf_body b = icf_world_body_at(w, k);
            icf_body_def e;
            d3 gap;
            double length;
            if (!b.generation) continue;
            OK(icf_body_get_def(w, b, &e));
            if (!e.user) continue;
            gap = d3_sub(d3_of(e.pose.p), d3_of(d.pose.p));
            length = d3_length(gap);
            if (length > r + 0.001 * (double)e.user + 0.05 || length == 0) continue;
            surface = icf_world_default_surface(w);
            t = touch_at(w, a, b, d3_real(d3_add(d3_of(d.pose.p), d3_scale(r / length, gap))),
                         length - r - 0.001 * (double)e.user, 1);
            t.contact.normal = icf_vec3_normalize(d3_real(gap));
            surface.stiffness = R(2e4);
            OK(icf_world_add_touch(w, &t, &surface));
        }
    }
}

UTIL_UNUSED static void scene_play(icf_world* w, int steps)
{
    int i;
    for (i = 0; i < steps; i++) {
        icf_result result;
        scene_touch(w);
        result = icf_world_step(w, R(1.0 / 128));
        if (!TEST_CHECK_(result == ICF_RESULT_OK, "step %d of the scene answers %s: %s", i,
                         icf_result_string(result), w->reason ? w->reason : ""))
            return;
    }
}

#endif /* TEST_WORLD_UTIL_H */
