/* shapes_reference.h - what test_shapes.c and test_manifolds.c compare with: shapes as corners, edges and
   faces swollen by a radius, in long double, and every combination of them tried. */

#ifndef TEST_SHAPES_REFERENCE_H
#define TEST_SHAPES_REFERENCE_H

#include <math.h>

typedef long double wide;

typedef struct wide3 {
    wide x, y, z;
} wide3;

static wide3 wide_make(wide x, wide y, wide z)
{
    wide3 a;
    a.x = x;
    a.y = y;
    a.z = z;
    return a;
}

static wide3 wide_from(icf_vec3 a)
{
    return wide_make(a.x, a.y, a.z);
}

static wide3 wide_along(wide3 a, wide s, wide3 b)
{
    return wide_make(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

static wide3 wide_sub(wide3 a, wide3 b)
{
    return wide_along(a, -1, b);
}

static wide3 wide_neg(wide3 a)
{
    return wide_make(-a.x, -a.y, -a.z);
}

static wide wide_dot(wide3 a, wide3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static wide3 wide_cross(wide3 a, wide3 b)
{
    return wide_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static wide wide_length(wide3 a)
{
    return sqrtl(wide_dot(a, a));
}

static wide wide_clamp(wide x, wide most)
{
    return x > most ? most : x < -most ? -most : x;
}

/* ---- random directions and rotations */

static icf_vec3 random_direction(void)
{
    for (;;) {
        double x = random_between(-1, 1), y = random_between(-1, 1), z = random_between(-1, 1);
        double square = x * x + y * y + z * z, r = 1 / sqrt(square);
        if (square > 0.01 && square < 1)
            return icf_vec3_make((icf_real)(x * r), (icf_real)(y * r), (icf_real)(z * r));
    }
}

static icf_quat random_quat(void)
{
    for (;;) {
        double q[4], square = 0;
        int k;
        for (k = 0; k < 4; k++) {
            q[k] = random_between(-1, 1);
            square += q[k] * q[k];
        }
        if (square > 0.01 && square < 1)
            return icf_quat_normalize(
                icf_quat_make((icf_real)q[0], (icf_real)q[1], (icf_real)q[2], (icf_real)q[3]));
    }
}

/* ---- shapes */

/* A point (dimension 0), segment (1: half.z), box (3), or half-space (-1), and a radius around it */
typedef struct reference_shape {
    int dimension;
    wide3 p, axis[3];
    wide half[3], radius;
} reference_shape;

static void wide_rotation(icf_quat q, wide3 axis[3])
{
    wide x = q.x, y = q.y, z = q.z, w = q.w, n = sqrtl(x * x + y * y + z * z + w * w);
    x /= n;
    y /= n;
    z /= n;
    w /= n;
    axis[0] = wide_make(1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y));
    axis[1] = wide_make(2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x));
    axis[2] = wide_make(2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y));
}

static wide3 wide_turn(const wide3 axis[3], wide3 v)
{
    return wide_along(wide_along(wide_along(wide_make(0, 0, 0), v.x, axis[0]), v.y, axis[1]), v.z,
                      axis[2]);
}

static void reference_place(const icf_shape* s, const icf_transform* t, reference_shape* out)
{
    wide3 body[3], local[3];
    int k;
    wide_rotation(t->q, body);
    wide_rotation(s->pose.q, local);
    for (k = 0; k < 3; k++) out->axis[k] = wide_turn(body, local[k]);
    out->p = wide_along(wide_from(t->p), 1, wide_turn(body, wide_from(s->pose.p)));
    out->radius = s->radius;
    out->half[0] = s->half.x;
    out->half[1] = s->half.y;
    out->half[2] = s->half.z;
    out->dimension = s->kind == ICF_SHAPE_SPHERE    ? 0
                     : s->kind == ICF_SHAPE_CAPSULE ? 1
                     : s->kind == ICF_SHAPE_BOX     ? 3
                                                    : -1;
}

/* how far it reaches along n, from the world's origin */
static wide reference_reach(const reference_shape* s, wide3 n)
{
    wide r = wide_dot(s->p, n) + s->radius;
    int k;
    for (k = 0; k < 3; k++) r += s->half[k] * fabsl(wide_dot(s->axis[k], n));
    return r;
}

/* the gap between A and B along n */
static wide reference_gap(const reference_shape* a, const reference_shape* b, wide3 n)
{
    if (a->dimension < 0)
        return -(wide_dot(a->p, a->axis[2]) + reference_reach(b, wide_neg(a->axis[2])));
    if (b->dimension < 0)
        return -(reference_reach(a, wide_neg(b->axis[2])) + wide_dot(b->p, b->axis[2]));
    return -reference_reach(b, wide_neg(n)) - reference_reach(a, n);
}

/* from the surface to a point, below 0 inside */
static wide reference_point(const reference_shape* s, wide3 point)
{
    wide3 d = wide_sub(point, s->p), e = d;
    wide inside = -1e30L, x;
    int k;
    if (s->dimension < 0) return wide_dot(d, s->axis[2]);
    for (k = 0; k < 3; k++) {
        x = wide_dot(d, s->axis[k]);
        e = wide_along(e, -wide_clamp(x, s->half[k]), s->axis[k]);
        x = fabsl(x) - s->half[k];
        inside = x > inside ? x : inside;
    }
    x = wide_length(e);
    return (s->dimension == 3 && inside < 0 ? inside : x) - s->radius;
}

/* ---- distances: corners and edges by number. A segment is a box without width: with corners twice, edges
   of no length, and faces that hold no volume, which the directions leave out. */

static wide3 reference_corner(const reference_shape* s, int i)
{
    wide3 p = s->p;
    int k;
    for (k = 0; k < 3; k++) p = wide_along(p, i >> k & 1 ? s->half[k] : -s->half[k], s->axis[k]);
    return p;
}

/* between the segments p +- a u and q +- b v: the ends against each other's lines, and inner points where
   the lines are nearest */
static wide reference_segments(wide3 p, wide3 u, wide a, wide3 q, wide3 v, wide b)
{
    wide3 w = wide_sub(q, p), c = wide_cross(u, v);
    wide best = 1e30L, cc = wide_dot(c, c), s, t, d;
    int k;
    for (k = -1; k <= 1; k += 2) {
        wide3 end = wide_along(w, k * b, v);
        d = wide_length(wide_along(end, -wide_clamp(wide_dot(end, u), a), u));
        best = d < best ? d : best;
        end = wide_along(wide_neg(w), k * a, u);
        d = wide_length(wide_along(end, -wide_clamp(wide_dot(end, v), b), v));
        best = d < best ? d : best;
    }
    if (cc > 1e-36L) {
        s = wide_dot(wide_cross(w, v), c) / cc;
        t = wide_dot(wide_cross(w, u), c) / cc;
        if (fabsl(s) <= a && fabsl(t) <= b) {
            d = fabsl(wide_dot(w, c)) / sqrtl(cc);
            best = d < best ? d : best;
        }
    }
    return best;
}

typedef struct reference_result {
    wide distance;
    wide core; /* the same without the radii */
} reference_result;

static wide reference_core_gap(const reference_shape* a, const reference_shape* b, wide3 n)
{
    wide length = wide_length(n), gap;
    if (length < 1e-17L) return -1e30L;
    n = wide_along(wide_make(0, 0, 0), 1 / length, n);
    if (wide_dot(n, wide_sub(b->p, a->p)) < 0) n = wide_neg(n);
    gap = reference_gap(a, b, n);
    return gap + a->radius + b->radius;
}

static reference_result reference_distance(const reference_shape* a, const reference_shape* b)
{
    reference_result r;
    wide best = -1e30L, d;
    wide3 n;
    int i, j, k;
    if (a->dimension < 0 || b->dimension < 0) {
        r.distance = r.core = reference_gap(a, b, wide_make(0, 0, 0));
        return r;
    }

    // overlap of the cores, where that can be: the largest gap of all directions
    if (a->dimension == 3 || b->dimension == 3) {
        for (k = 0; k < 3; k++) {
            if (a->dimension == 3) {
                d = reference_core_gap(a, b, a->axis[k]);
                best = d > best ? d : best;
            }
            if (b->dimension == 3) {
                d = reference_core_gap(a, b, b->axis[k]);
                best = d > best ? d : best;
            }
        }
        for (i = 0; i < 3; i++) {
            for (j = 0; j < 3; j++) {
                if (a->half[i] == 0 || b->half[j] == 0) continue;
                n = wide_cross(a->axis[i], b->axis[j]);
                if (wide_length(n) < 1e-17L) continue;
                // nearly parallel ones magnify the rounding even of long double: once more across both
                n = wide_along(wide_make(0, 0, 0), 1 / wide_length(n), n);
                n = wide_along(n, -wide_dot(n, a->axis[i]), a->axis[i]);
                n = wide_along(n, -wide_dot(n, b->axis[j]), b->axis[j]);
                d = reference_core_gap(a, b, n);
                best = d > best ? d : best;
            }
        }
        if (best <= 0) {
            r.core = best;
            r.distance = best - a->radius - b->radius;
            return r;
        }
    }

    // apart: corners and the other, edges and edges
    best = 1e30L;
    for (k = 0; k < 8; k++) {
        d = reference_point(b, reference_corner(a, k)) + b->radius;
        best = d < best ? d : best;
        d = reference_point(a, reference_corner(b, k)) + a->radius;
        best = d < best ? d : best;
    }
    for (i = 0; i < 12; i++) {
        for (j = 0; j < 12; j++) {
            int ka = i / 4, kb = j / 4;
            wide3 p = reference_corner(a, (i & 1) << ((ka + 1) % 3) | (i >> 1 & 1)
                                                                          << ((ka + 2) % 3)),
                  q = reference_corner(b, (j & 1) << ((kb + 1) % 3) | (j >> 1 & 1)
                                                                          << ((kb + 2) % 3));
            if (a->half[ka] == 0 || b->half[kb] == 0) continue;
            p = wide_along(p, a->half[ka], a->axis[ka]);
            q = wide_along(q, b->half[kb], b->axis[kb]);
            d = reference_segments(p, a->axis[ka], a->half[ka], q, b->axis[kb], b->half[kb]);
            best = d < best ? d : best;
        }
    }
    r.core = best;
    r.distance = best - a->radius - b->radius;
    return r;
}

#endif
