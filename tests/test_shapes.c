/* Layer 10: shapes and queries. Every pair against a reference that knows nothing of the library's ways:
   in long double, by projection onto every direction that can be the least where shapes overlap, and by
   every pair of corner, edge and face where they are apart.

   The number of poses is multiplied by the environment variable ICF_TEST_MORE. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tested.h"

#include "acutest.h"
#include "util.h"
#include "shapes_reference.h"

static icf_real part(icf_vec3 v, int k)
{
    return k == 0 ? v.x : k == 1 ? v.y : v.z;
}

static int is_finite3(icf_vec3 v)
{
    return isfinite(v.x) && isfinite(v.y) && isfinite(v.z);
}

/* ---- random shapes and poses */

static icf_shape random_shape(int kind, double scale)
{
    icf_shape s;
    double flat = random_below(4) ? 1 : 0.02;
    switch (kind) {
    case ICF_SHAPE_SPHERE: return icf_sphere((icf_real)(scale * random_between(0.2, 1)));
    case ICF_SHAPE_CAPSULE:
        s = icf_capsule((icf_real)(scale * random_between(0.1, 0.6)),
                        (icf_real)(random_below(8) ? scale * random_between(0, 1) : 0));
        break;
    case ICF_SHAPE_BOX:
        s = icf_box((icf_real)(scale * random_between(0.2, 1)),
                    (icf_real)(scale * random_between(0.2, 1)),
                    (icf_real)(scale * flat * random_between(0.2, 1)));
        break;
    default: return icf_half_space();
    }
    return s;
}

/* any; or a right angle and a little, down to nothing */
static icf_quat random_turn(void)
{
    icf_quat q = random_quat();
    int how = random_below(4), k;
    if (how == 0) {
        double angle[5] = {0, 1e-12, 1e-7, 1e-4, 1e-2};
        double s = sqrt(0.5), by = angle[random_below(5)];
        icf_vec3 r = random_direction();
        q = icf_quat_identity();
        for (k = random_below(4); k > 0; k--) {
            icf_quat quarter = random_below(2) ? icf_quat_make((icf_real)s, 0, 0, (icf_real)s)
                                               : icf_quat_make(0, (icf_real)s, 0, (icf_real)s);
            q = icf_quat_mul(quarter, q);
        }
        q = icf_quat_mul(icf_quat_from_rotation_vector(icf_vec3_scale((icf_real)by, r)), q);
        q = icf_quat_normalize(q);
    }
    return q;
}

static double reach(const icf_shape* s)
{
    return (double)s->radius + (double)icf_vec3_length(s->half);
}

typedef struct scene {
    icf_shape a, b;
    icf_transform ta, tb;
    double size; /* of what rounding errors are in proportion to */
} scene;

/* A at and around the origin, B near contact, deep inside, touching to a part in 1e9, or flush */
static void random_scene(int kind_a, int kind_b, scene* c)
{
    static const double scales[] = {1e-3, 1, 1, 1e3};
    static const double ratios[] = {1, 1, 1, 1, 30, 1e3, 1e4};
    double scale = scales[random_below(4)], ratio = ratios[random_below(7)], far_;
    int how = random_below(8);
    icf_separation s;
    c->a = random_shape(kind_a, scale);
    c->b = random_shape(kind_b, scale * (random_below(2) ? ratio : 1));
    c->ta = icf_transform_make(
        random_turn(), icf_vec3_scale((icf_real)(scale * random_unit()), random_direction()));
    c->tb = c->ta;
    c->tb.q =
        random_below(3) ? random_turn() : icf_quat_normalize(icf_quat_mul(c->ta.q, random_turn()));
    far_ =
        (reach(&c->a) + reach(&c->b)) * (how == 0 ? 0.02 * random_unit() : random_between(0, 1.1));
    c->tb.p = icf_vec3_add_scaled(c->ta.p, (icf_real)far_, random_direction());
    if (!random_below(4)) {
        icf_transform local =
            icf_transform_make(random_quat(), icf_vec3_scale((icf_real)scale, random_direction()));
        c->b.pose = local;
        c->tb = icf_transform_mul(c->tb, icf_transform_inverse(local));
        c->tb.q = icf_quat_normalize(c->tb.q);
    }
    c->size = reach(&c->a) + reach(&c->b) + 2 * scale;
    if (how >= 5 && icf_shape_distance(&c->a, &c->ta, &c->b, &c->tb, &s) == ICF_RESULT_OK) {
        // move B so that they touch, or nearly do
        double gap[4] = {0, 1e-9, -1e-9, 1e-4};
        double by = gap[random_below(4)] * scale - (double)s.distance;
        c->tb.p = icf_vec3_add_scaled(c->tb.p, (icf_real)by, s.normal);
    }
}

static void print_scene(const scene* c)
{
    const icf_shape* s[2];
    const icf_transform* t[2];
    int k;
    s[0] = &c->a;
    s[1] = &c->b;
    t[0] = &c->ta;
    t[1] = &c->tb;
    TEST_MSG("seed %u", SEED);
    for (k = 0; k < 2; k++) {
        TEST_MSG("kind %d radius %.17g half %.17g %.17g %.17g at %.17g %.17g %.17g turned %.17g "
                 "%.17g %.17g %.17g",
                 s[k]->kind, (double)s[k]->radius, (double)s[k]->half.x, (double)s[k]->half.y,
                 (double)s[k]->half.z, (double)t[k]->p.x, (double)t[k]->p.y, (double)t[k]->p.z,
                 (double)t[k]->q.x, (double)t[k]->q.y, (double)t[k]->q.z, (double)t[k]->q.w);
    }
}

/* ---- the pairs */

/* The distance, the gap that the normal leaves, and where the witness points are */
static int check_scene(const scene* c, double* worst)
{
    icf_separation s;
    reference_shape a, b;
    reference_result r;
    double tolerance = 128 * EPS * c->size, off, n, length;
    int ok = TEST_CHECK(icf_shape_distance(&c->a, &c->ta, &c->b, &c->tb, &s) == ICF_RESULT_OK);
    reference_place(&c->a, &c->ta, &a);
    reference_place(&c->b, &c->tb, &b);
    r = reference_distance(&a, &b);
    off = fabs((double)(s.distance - r.distance));
    ok = ok && TEST_CHECK_(off <= tolerance, "distance %.17g, not %.17Lg: off by %.2g sizes",
                           (double)s.distance, r.distance, off / c->size);
    if (off / c->size > *worst) *worst = off / c->size;
    length = (double)icf_vec3_length(s.normal);
    ok = ok && TEST_CHECK_(fabs(length - 1) < 32 * EPS, "length of the normal 1 + %g", length - 1);

    /* along the normal, B is as far beyond A as the distance says: no normal that is false does so. A
       normal between two rounded shapes or corners that nearly coincide is known no better than they
       are, but then it hardly matters along which they are apart. Of boxes that are apart two features may be
       equally near but for rounding, with normals that differ by its root. */
    n = (double)reference_gap(&a, &b, wide_from(s.normal));
    off = fabs(n - (double)s.distance);
    ok = ok &&
         TEST_CHECK_(off <=
                         4 * tolerance +
                             4096 * EPS * tolerance * c->size / (fabs((double)r.core) + tolerance) +
                             (r.core > 0 && c->a.kind == ICF_SHAPE_BOX && c->b.kind == ICF_SHAPE_BOX
                                  ? sqrt(EPS) * c->size
                                  : 0),
                     "along the normal %.17g, distance %.17g: off by %.2g sizes", n,
                     (double)s.distance, off / c->size);

    /* on the surfaces, and the distance apart */
    ok = ok && TEST_CHECK_(fabs((double)reference_point(&a, wide_from(s.point_a))) <= 4 * tolerance,
                           "point of A is %.2g sizes off it",
                           (double)reference_point(&a, wide_from(s.point_a)) / c->size);
    ok = ok && TEST_CHECK_(fabs((double)reference_point(&b, wide_from(s.point_b))) <= 4 * tolerance,
                           "point of B is %.2g sizes off it",
                           (double)reference_point(&b, wide_from(s.point_b)) / c->size);
    {
        icf_vec3 d = icf_vec3_sub(s.point_b, s.point_a);
        d = icf_vec3_add_scaled(d, -s.distance, s.normal);
        ok = ok && TEST_CHECK_((double)icf_vec3_length(d) <= 4 * tolerance,
                               "the points are not the distance apart: %.2g sizes",
                               (double)icf_vec3_length(d) / c->size);
    }
    if (!ok) print_scene(c);
    return ok;
}

static void check_pair(int kind_a, int kind_b, int count)
{
    scene c;
    double worst = 0;
    int i, wrong = 0;
    random_seed(SEED + (uint32_t)(16 * kind_a + kind_b));
    for (i = 0; i < times_more(count) && wrong < 3; i++) {
        random_scene(kind_a, kind_b, &c);
        wrong += !check_scene(&c, &worst);
    }
}

static void test_sphere_pairs(void)
{
    check_pair(ICF_SHAPE_SPHERE, ICF_SHAPE_SPHERE, 20000);
    check_pair(ICF_SHAPE_SPHERE, ICF_SHAPE_CAPSULE, 20000);
    check_pair(ICF_SHAPE_SPHERE, ICF_SHAPE_BOX, 20000);
    check_pair(ICF_SHAPE_BOX, ICF_SHAPE_SPHERE, 5000);
}

static void test_capsule_pairs(void)
{
    check_pair(ICF_SHAPE_CAPSULE, ICF_SHAPE_CAPSULE, 20000);
    check_pair(ICF_SHAPE_CAPSULE, ICF_SHAPE_BOX, 15000);
    check_pair(ICF_SHAPE_BOX, ICF_SHAPE_CAPSULE, 5000);
}

static void test_box_pairs(void)
{
    check_pair(ICF_SHAPE_BOX, ICF_SHAPE_BOX, 15000);
}

static void test_half_space_pairs(void)
{
    check_pair(ICF_SHAPE_SPHERE, ICF_SHAPE_HALF_SPACE, 10000);
    check_pair(ICF_SHAPE_CAPSULE, ICF_SHAPE_HALF_SPACE, 10000);
    check_pair(ICF_SHAPE_BOX, ICF_SHAPE_HALF_SPACE, 10000);
    check_pair(ICF_SHAPE_HALF_SPACE, ICF_SHAPE_BOX, 5000);
}

static void test_two_half_spaces_are_refused(void)
{
    icf_shape s = icf_half_space();
    icf_transform t = icf_transform_identity();
    icf_separation out;
    icf_manifold m;
    TEST_CHECK(icf_shape_distance(&s, &t, &s, &t, &out) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_manifold_make(&s, &t, &s, &t, 1, 8, 0, &m) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(m.count == 0);
    TEST_CHECK(!icf_shape_near(&s, &t, &s, &t, 1));
}

/* Where the middle of a ball or a box is nearest an inner point of a capsule's core, the normal is across the axis,
   however near the core it is: an axis ten thousand times as long as that gap would magnify what is left along it */
/* A capsule whose axis lies over an edge of a box, along it but for a slope, at a gap from nearly nothing on:
   of the two rims that are then as near the wrong one gave a normal along the face. */
static void test_capsule_along_an_edge(void)
{
    const icf_shape box = icf_box(1, 1, 1);
    const icf_transform still = icf_transform_identity();
    int i, wrong = 0;
    random_seed(SEED + 10);
    for (i = 0; i < times_more(20000) && wrong < 3; i++) {
        double length = random_between(2, 10), x = random_between(0, 0.5);
        double gap = sqrt(EPS) * pow(10, random_between(-0.5, 1));
        double slope = gap / length * random_between(1, 3);
        icf_shape capsule = icf_capsule((icf_real)(1.2 * gap), (icf_real)length);
        icf_transform pose;
        icf_separation s;
        pose.q = icf_quat_from_rotation_vector(
            icf_vec3_make(0, (icf_real)(1.57079632679489661923 + slope), 0));
        pose.p = icf_vec3_make((icf_real)x, 1, (icf_real)(1 + gap + slope));
        icf_shape_distance(&box, &still, &capsule, &pose, &s);
        if (!TEST_CHECK_((double)s.normal.z > 0.9, "normal %g %g %g at a gap of %g, slope %g, x %g",
                         (double)s.normal.x, (double)s.normal.y, (double)s.normal.z, gap, slope,
                         x)) {
            wrong++;
        }
    }
}

static void test_normal_across_the_axis(void)
{
    int i, wrong = 0, checked = 0;
    random_seed(SEED + 9);
    for (i = 0; i < times_more(40000) && wrong < 3; i++) {
        scene c;
        icf_separation s;
        icf_vec3 z, side;
        double length = pow(10, random_between(0, 4)), off = pow(10, random_between(-3, 0));
        c.b = icf_capsule(2, (icf_real)length);
        c.tb = icf_transform_make(random_quat(), icf_vec3_scale(20, random_direction()));
        z = icf_quat_rotate(c.tb.q, icf_vec3_make(0, 0, 1));
        side = icf_vec3_normalize(icf_vec3_cross(z, random_direction()));
        c.a = icf_sphere((icf_real)0.3);
        c.ta = icf_transform_make(random_quat(), c.tb.p);
        if (i % 2) {
            c.a = icf_box((icf_real)0.3, (icf_real)0.2, (icf_real)0.1);
            off += 0.4;
        }
        c.ta.p = icf_vec3_add_scaled(c.ta.p, (icf_real)(length * random_between(-0.5, 0.5)), z);
        c.ta.p = icf_vec3_add_scaled(c.ta.p, (icf_real)off, side);
        icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &s);
        if (i % 2 && fabs((double)s.distance + 2) < 64 * EPS * length)
            continue; // the core touches the box
        checked++;
        if (!TEST_CHECK_(fabs((double)icf_vec3_dot(s.normal, z)) <= 64 * EPS,
                         "the normal leans by %.2g", (double)icf_vec3_dot(s.normal, z))) {
            print_scene(&c);
            wrong++;
        }
        icf_shape_point(&c.b, &c.tb, c.ta.p, &s);
        wrong += !TEST_CHECK(fabs((double)icf_vec3_dot(s.normal, z)) <= 64 * EPS);
    }
    TEST_CHECK(checked > 30000);
}

/* ---- symmetry: the other way round the same bits; turned, moved and scaled the same answer */

static int same3(icf_vec3 a, icf_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static void test_order_of_shapes_mirrors(void)
{
    int i, wrong = 0;
    random_seed(SEED);
    for (i = 0; i < times_more(300000) && wrong < 3; i++) {
        scene c;
        icf_separation s, t;
        int ok;
        random_scene(random_below(3), random_below(4), &c);
        icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &s);
        icf_shape_distance(&c.b, &c.tb, &c.a, &c.ta, &t);
        ok = TEST_CHECK(s.distance == t.distance) &&
             TEST_CHECK(same3(s.normal, icf_vec3_neg(t.normal))) &&
             TEST_CHECK(same3(s.point_a, t.point_b)) && TEST_CHECK(same3(s.point_b, t.point_a));
        // and all of it is finite, and near says the same
        ok =
            ok && TEST_CHECK(is_finite3(s.point_a) && is_finite3(s.point_b) && s.distance * 0 == 0);
        ok = ok && TEST_CHECK(icf_shape_near(&c.a, &c.ta, &c.b, &c.tb, 0) == (s.distance <= 0) ||
                              fabs((double)s.distance) < 32 * EPS * c.size);
        // with a margin, which is as often below the distance as above it
        if (s.distance > 0) {
            icf_real by = (icf_real)(random_below(4) ? random_between(0, 2)
                                                     : 1 + 1e-3 * random_between(-1, 1));
            ok = ok && TEST_CHECK(icf_shape_near(&c.a, &c.ta, &c.b, &c.tb, by * s.distance) ==
                                      (by >= 1) ||
                                  fabs((double)((1 - by) * s.distance)) < 32 * EPS * c.size);
        }
        if (!ok) print_scene(&c);
        wrong += !ok;
    }
}

static void test_turned_pair_same_distance(void)
{
    int i, wrong = 0;
    random_seed(SEED + 1);
    for (i = 0; i < times_more(200000) && wrong < 3; i++) {
        scene c;
        icf_separation s, t;
        icf_transform by;
        double tolerance;
        random_scene(random_below(3), random_below(4), &c);
        icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &s);
        by =
            icf_transform_make(random_quat(), icf_vec3_scale((icf_real)c.size, random_direction()));
        c.ta = icf_transform_mul(by, c.ta);
        c.tb = icf_transform_mul(by, c.tb);
        c.ta.q = icf_quat_normalize(c.ta.q);
        c.tb.q = icf_quat_normalize(c.tb.q);
        icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &t);
        tolerance = 64 * EPS * c.size;
        if (!TEST_CHECK_(fabs((double)(s.distance - t.distance)) <= tolerance, "off by %g sizes",
                         fabs((double)(s.distance - t.distance)) / c.size)) {
            print_scene(&c);
            wrong++;
        }
    }
}

static void test_scaled_pair_scaled_distance(void)
{
    int i, wrong = 0;
    random_seed(SEED + 2);
    for (i = 0; i < times_more(200000) && wrong < 3; i++) {
        scene c;
        icf_separation s, t;
        static const double scales[4] = {1024, 1 / 1024.0, 1000, 1e-3};
        int how = random_below(5);
        icf_real by = (icf_real)(how < 4 ? scales[how] : pow(10, random_between(-3, 3)));
        random_scene(random_below(3), random_below(4), &c);
        icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &s);
        c.a.radius *= by;
        c.b.radius *= by;
        c.a.half = icf_vec3_scale(by, c.a.half);
        c.b.half = icf_vec3_scale(by, c.b.half);
        c.b.pose.p = icf_vec3_scale(by, c.b.pose.p);
        c.ta.p = icf_vec3_scale(by, c.ta.p);
        c.tb.p = icf_vec3_scale(by, c.tb.p);
        icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &t);
        // a power of two changes no digit, another factor rounds what is scaled
        if (!TEST_CHECK_(fabs((double)(s.distance * by - t.distance)) <=
                             (how < 2 ? 4 : 64) * EPS * c.size * (double)by,
                         "off by %g sizes",
                         fabs((double)(s.distance * by - t.distance)) / c.size / (double)by)) {
            print_scene(&c);
            wrong++;
        }
    }
}

/* ---- sweeps: B goes through A in small steps; the distance never changes by more than the step */

static void test_sweeps_change_no_faster_than_they_move(void)
{
    int i, k, wrong = 0;
    random_seed(SEED + 3);
    for (i = 0; i < times_more(3000) && wrong < 3; i++) {
        scene c;
        icf_vec3 way = random_direction(), start;
        double last = 0, step, length;
        random_scene(random_below(3), random_below(4), &c);
        length = 0.25 * (reach(&c.a) + reach(&c.b));
        start = icf_vec3_add_scaled(c.tb.p, (icf_real)(-length / 2), way);
        step = length / 50;
        for (k = 0; k <= 50; k++) {
            icf_separation s;
            c.tb.p = icf_vec3_add_scaled(start, (icf_real)(k * step), way);
            icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &s);
            if (k && !TEST_CHECK_(fabs((double)s.distance - last) <= step + 64 * EPS * c.size,
                                  "a step of %g changed the distance by %g", step,
                                  (double)s.distance - last)) {
                print_scene(&c);
                wrong++;
                break;
            }
            last = (double)s.distance;
        }
    }
}

/* through touch, in steps of a part in 1e9 */
static void test_through_touch_in_tiny_steps(void)
{
    int i, k, wrong = 0;
    random_seed(SEED + 4);
    for (i = 0; i < times_more(5000) && wrong < 3; i++) {
        scene c;
        icf_separation s;
        icf_vec3 n, p;
        double step;
        random_scene(random_below(3), random_below(4), &c);
        icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &s);
        n = s.normal;
        p = icf_vec3_add_scaled(c.tb.p, -s.distance, n);
        step = (EPS < 1e-10 ? 1e-9 : 1e-4) * c.size;
        for (k = -3; k <= 3; k++) {
            c.tb.p = icf_vec3_add_scaled(p, (icf_real)(k * step), n);
            icf_shape_distance(&c.a, &c.ta, &c.b, &c.tb, &s);
            // deep pairs may find a shorter way out, never a longer one
            if (!TEST_CHECK_((double)s.distance >= k * step - 128 * EPS * c.size, "%g sizes at %g",
                             (double)s.distance / c.size, k * step / c.size)) {
                print_scene(&c);
                wrong++;
                break;
            }
        }
    }
}

/* ---- poses that have a name */

static void test_distances_known_by_hand(void)
{
    icf_shape box = icf_box(1, 1, 1), ball = icf_sphere((icf_real)0.5),
              rod = icf_capsule((icf_real)0.25, 1);
    icf_transform a = icf_transform_identity(), b = a;
    icf_separation s;

    // a rod that lies flat in a box, and the slack of its edges: to the last digits
    b.q = icf_quat_make(0, (icf_real)sqrt(0.5), 0, (icf_real)sqrt(0.5));
    b.p.z = (icf_real)0.5;
    icf_shape_distance(&box, &a, &rod, &b, &s);
    TEST_CHECK(fabs((double)s.distance + 0.75) <= 4 * EPS);
    b = a;

    // concentric: the shortest way out is through a face
    icf_shape_distance(&box, &a, &ball, &b, &s);
    TEST_CHECK(s.distance == (icf_real)-1.5);
    icf_shape_distance(&box, &a, &box, &b, &s);
    TEST_CHECK(s.distance == -2);
    icf_shape_distance(&ball, &a, &ball, &b, &s);
    TEST_CHECK(s.distance == -1);
    TEST_CHECK(fabs((double)icf_vec3_length(s.normal) - 1) < 4 * EPS);
    icf_shape_distance(&rod, &a, &rod, &b, &s);
    TEST_CHECK(s.distance == (icf_real)-0.5);
    TEST_CHECK(s.normal.z == 0);
    icf_shape_distance(&rod, &a, &box, &b, &s);
    TEST_CHECK(s.distance == (icf_real)-2.25 || s.distance == (icf_real)-1.25);

    // face on face, flush and half over the rim; corner to corner
    b.p = icf_vec3_make((icf_real)0.5, 0, 2);
    icf_shape_distance(&box, &a, &box, &b, &s);
    TEST_CHECK(s.distance == 0 && s.normal.z == 1);
    TEST_CHECK(s.point_a.z == 1 && s.point_a.x >= (icf_real)-0.5 && s.point_a.x <= 1);
    b.p = icf_vec3_make(3, 3, 3);
    icf_shape_distance(&box, &a, &box, &b, &s);
    TEST_CHECK(fabs((double)s.distance - sqrt(3)) < 8 * EPS);
    TEST_CHECK(s.point_a.x == 1 && s.point_a.y == 1 && s.point_a.z == 1);

    // crossed rods that pass through each other, and rods in line, end to end
    b.p = icf_vec3_make(0, 0, 0);
    b.q = icf_quat_make((icf_real)sqrt(0.5), 0, 0, (icf_real)sqrt(0.5));
    icf_shape_distance(&rod, &a, &rod, &b, &s);
    TEST_CHECK(s.distance == (icf_real)-0.5);
    TEST_CHECK(fabs(fabs((double)s.normal.x) - 1) < 8 * EPS);
    b = a;
    b.p.z = (icf_real)2.5;
    icf_shape_distance(&rod, &a, &rod, &b, &s);
    TEST_CHECK(s.distance == 0 && s.normal.z == 1);
}

/* ---- points and rays */

static void test_points_to_shapes(void)
{
    int i, wrong = 0;
    random_seed(SEED + 5);
    for (i = 0; i < times_more(30000) && wrong < 3; i++) {
        scene c;
        icf_separation s;
        reference_shape a;
        icf_vec3 p;
        double d;
        random_scene(random_below(4), ICF_SHAPE_SPHERE, &c);
        p = c.tb.p;
        icf_shape_point(&c.a, &c.ta, p, &s);
        reference_place(&c.a, &c.ta, &a);
        d = (double)reference_point(&a, wide_from(p));
        if (!TEST_CHECK_(fabs((double)s.distance - d) <= 64 * EPS * c.size, "distance %g, not %g",
                         (double)s.distance, d)) {
            print_scene(&c);
            wrong++;
        }
        TEST_CHECK(same3(s.point_b, p));
    }
}

/* The point of the hit is on the surface, the ray reaches no surface before it, and a ray that
   misses stays outside all along */
static void test_rays_hit_the_surface_first(void)
{
    int i, k, wrong = 0, hits = 0, count = times_more(30000);
    random_seed(SEED + 6);
    for (i = 0; i < count && wrong < 3; i++) {
        scene c;
        reference_shape a;
        icf_ray_hit hit;
        icf_vec3 o, d, p;
        double length, tolerance;
        int found;
        random_scene(random_below(4), ICF_SHAPE_SPHERE, &c);
        reference_place(&c.a, &c.ta, &a);
        length = reach(&c.a) + (double)c.b.radius;
        o = icf_vec3_add_scaled(c.ta.p, (icf_real)(length * random_between(0, 4)),
                                random_direction());
        d = icf_vec3_sub(icf_vec3_add_scaled(c.ta.p, (icf_real)(length * random_between(0, 1.2)),
                                             random_direction()),
                         o);
        if (!random_below(5)) d = icf_vec3_make(0, 0, random_below(2) ? 1 : (icf_real)-1);
        d = icf_vec3_scale((icf_real)random_between(0.5, 2), d);
        tolerance = 256 * EPS * c.size + 64 * EPS * length + 32 * EPS * (double)icf_vec3_length(d);
        found = icf_shape_ray(&c.a, &c.ta, o, d, 4, &hit);
        hits += found;
        if (found) {
            double at;
            p = icf_vec3_add_scaled(o, hit.t, d);
            at = (double)reference_point(&a, wide_from(p));
            // rays that only graze find the surface less exactly
            if (!TEST_CHECK_(hit.t >= 0 && hit.t <= 4 && at <= tolerance &&
                                 (hit.t == 0 || at >= -tolerance),
                             "hit at t %g, %g from the surface", (double)hit.t, at))
                wrong++;
            if (hit.t > 0) {
                icf_vec3 off = icf_vec3_add_scaled(p, (icf_real)(c.size * 1e-3), hit.normal);
                TEST_CHECK(icf_vec3_dot(hit.normal, d) <=
                           (icf_real)(64 * EPS) * icf_vec3_length(d));
                TEST_CHECK(fabs((double)icf_vec3_length(hit.normal) - 1) < 32 * EPS);
                TEST_CHECK(fabs((double)reference_point(&a, wide_from(off)) - c.size * 1e-3) <=
                           2 * tolerance);
            }
        }
        for (k = 0; k <= 20; k++) {
            double t = (found ? (double)hit.t : 4.0) * k / 20, at;
            p = icf_vec3_add_scaled(o, (icf_real)t, d);
            at = (double)reference_point(&a, wide_from(p));
            if (found && hit.t == 0) break;
            if (!TEST_CHECK_(at >= -tolerance, "inside by %g at t %g before the hit", -at, t)) {
                wrong++;
                break;
            }
        }
        if (wrong) print_scene(&c);
    }
    TEST_CHECK_(hits > count / 4, "%d hits of %d", hits, count);
}

/* ---- bounds */

static void test_bounds_are_tight(void)
{
    int i, k, wrong = 0;
    random_seed(SEED + 7);
    for (i = 0; i < times_more(20000) && wrong < 3; i++) {
        scene c;
        reference_shape a;
        icf_aabb box;
        random_scene(random_below(3), ICF_SHAPE_SPHERE, &c);
        reference_place(&c.a, &c.ta, &a);
        icf_shape_bounds(&c.a, &c.ta, 0, &box);
        for (k = 0; k < 3; k++) {
            wide3 n;
            wide high, low;
            n.x = k == 0;
            n.y = k == 1;
            n.z = k == 2;
            high = reference_reach(&a, n);
            low = -reference_reach(&a, wide_neg(n));
            if (!TEST_CHECK(part(box.upper, k) >= high && part(box.lower, k) <= low) ||
                !TEST_CHECK(fabsl(part(box.upper, k) - high) < 64 * EPS * c.size &&
                            fabsl(part(box.lower, k) - low) < 64 * EPS * c.size)) {
                print_scene(&c);
                wrong++;
            }
        }
    }
    {
        icf_shape s = icf_half_space();
        icf_transform t = icf_transform_identity();
        icf_aabb box;
        t.p.z = 3;
        icf_shape_bounds(&s, &t, (icf_real)0.5, &box);
        TEST_CHECK(box.upper.z == (icf_real)3.5 && box.upper.x == ICF_REAL_MAX &&
                   box.lower.z == -ICF_REAL_MAX);
    }
}

/* ---- masses: against sums over a grid of points, closed forms, and of shapes cut in two */

static void mass_of_grid(const icf_shape* s, int n, double* mass, double center[3],
                         double inertia[6])
{
    icf_aabb box;
    icf_transform t = icf_transform_identity();
    int i, j, k, m;
    double cell[3], x[3], sum[10] = {0}, volume;
    reference_shape a;
    reference_place(s, &t, &a);
    icf_shape_bounds(s, &t, 0, &box);
    for (m = 0; m < 3; m++) cell[m] = (double)(part(box.upper, m) - part(box.lower, m)) / n;
    volume = cell[0] * cell[1] * cell[2];
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) {
            for (k = 0; k < n; k++) {
                wide3 p;
                double w;
                x[0] = (double)box.lower.x + (i + 0.5) * cell[0];
                x[1] = (double)box.lower.y + (j + 0.5) * cell[1];
                x[2] = (double)box.lower.z + (k + 0.5) * cell[2];
                p.x = x[0];
                p.y = x[1];
                p.z = x[2];
                w = 0.5 - (double)reference_point(&a, p) / cell[0];
                w = w < 0 ? 0 : w > 1 ? 1 : w;
                sum[0] += w;
                for (m = 0; m < 3; m++) sum[1 + m] += w * x[m];
                sum[4] += w * x[0] * x[0];
                sum[5] += w * x[1] * x[1];
                sum[6] += w * x[2] * x[2];
                sum[7] += w * x[0] * x[1];
                sum[8] += w * x[0] * x[2];
                sum[9] += w * x[1] * x[2];
            }
        }
    }
    for (m = 0; m < 10; m++) sum[m] *= volume;
    *mass = sum[0];
    for (m = 0; m < 3; m++) center[m] = sum[1 + m] / sum[0];
    for (m = 0; m < 6; m++) {
        static const int p[6] = {0, 1, 2, 0, 0, 1}, q[6] = {0, 1, 2, 1, 2, 2};
        sum[4 + m] -= sum[0] * center[p[m]] * center[q[m]];
    }
    inertia[0] = sum[5] + sum[6];
    inertia[1] = sum[4] + sum[6];
    inertia[2] = sum[4] + sum[5];
    inertia[3] = -sum[7];
    inertia[4] = -sum[8];
    inertia[5] = -sum[9];
}

static void test_masses_against_a_grid(void)
{
    icf_shape s[4];
    icf_mass_properties m;
    int i, k;
    random_seed(SEED + 8);
    s[0] = icf_sphere((icf_real)0.7);
    s[1] = icf_capsule((icf_real)0.4, (icf_real)0.9);
    s[2] = icf_box((icf_real)0.3, (icf_real)0.7, (icf_real)1.1);
    s[3] = icf_capsule((icf_real)0.5, 0);
    for (i = 0; i < 4; i++) {
        double mass, center[3], inertia[6], got[6];
        s[i] = icf_shape_at(
            s[i], icf_transform_make(random_quat(), icf_vec3_make(2, (icf_real)-1, (icf_real)0.5)));
        TEST_CHECK(icf_shape_mass(&s[i], 3, &m) == ICF_RESULT_OK);
        mass_of_grid(&s[i], 48, &mass, center, inertia);
        TEST_CHECK_(fabs((double)m.mass / 3 - mass) < 5e-3 * mass, "mass %g, grid %g",
                    (double)m.mass / 3, mass);
        for (k = 0; k < 3; k++) TEST_CHECK(fabs((double)part(m.center, k) - center[k]) < 5e-3);
        got[0] = (double)m.inertia.x.x;
        got[1] = (double)m.inertia.y.y;
        got[2] = (double)m.inertia.z.z;
        got[3] = (double)m.inertia.x.y;
        got[4] = (double)m.inertia.x.z;
        got[5] = (double)m.inertia.y.z;
        for (k = 0; k < 6; k++)
            TEST_CHECK_(fabs(got[k] / 3 - inertia[k]) < 2e-2 * inertia[0],
                        "shape %d moment %d: %g, grid %g", i, k, got[k] / 3, inertia[k]);
    }

    // closed forms, turned and moved
    for (i = 0; i < 200; i++) {
        const double pi = acos(-1.0), x = random_between(0.01, 2), y = random_between(0.01, 2),
                     z = i % 5 ? random_between(0.01, 2) : 0, rho = random_between(1, 1e4),
                     ball = rho * 4 / 3 * pi * x * x * x, rod = rho * 2 * pi * x * x * z,
                     brick = rho * 8 * x * y * 1.5;
        // a capsule is a cylinder and two halves of a ball, whose centres are 3/8 x beyond its ends
        const double mass[3] = {ball, ball + rod, brick},
                     around_z[3] = {0.4 * ball * x * x, 0.4 * ball * x * x + rod * x * x / 2,
                                    brick / 3 * (x * x + y * y)},
                     around_x[3] = {0.4 * ball * x * x,
                                    ball * ((0.4 - 9.0 / 64) * x * x + pow(z + 0.375 * x, 2)) +
                                        rod * (x * x / 4 + z * z / 3),
                                    brick / 3 * (y * y + 2.25)},
                     around_y[3] = {around_x[0], around_x[1], brick / 3 * (x * x + 2.25)};
        icf_transform t = icf_transform_make(random_quat(), icf_vec3_scale(3, random_direction()));
        s[0] = icf_sphere((icf_real)x);
        s[1] = icf_capsule((icf_real)x, (icf_real)z);
        s[2] = icf_box((icf_real)x, (icf_real)y, (icf_real)1.5);
        for (k = 0; k < 3; k++) {
            const double most = around_x[k] + around_y[k] + around_z[k];
            icf_mat3 turn = icf_mat3_from_quat(t.q);
            icf_vec3 off;
            s[k] = icf_shape_at(s[k], t);
            TEST_CHECK(icf_shape_mass(&s[k], (icf_real)rho, &m) == ICF_RESULT_OK);
            TEST_CHECK(fabs((double)m.mass - mass[k]) <= 8 * EPS * mass[k]);
            TEST_CHECK(same3(m.center, t.p));
            off = icf_mat3_apply(m.inertia, turn.x);
            off = icf_vec3_add_scaled(off, (icf_real)-around_x[k], turn.x);
            TEST_CHECK((double)icf_vec3_length(off) <= 16 * EPS * most);
            off = icf_mat3_apply(m.inertia, turn.y);
            off = icf_vec3_add_scaled(off, (icf_real)-around_y[k], turn.y);
            TEST_CHECK((double)icf_vec3_length(off) <= 16 * EPS * most);
            off = icf_mat3_apply(m.inertia, turn.z);
            off = icf_vec3_add_scaled(off, (icf_real)-around_z[k], turn.z);
            TEST_CHECK((double)icf_vec3_length(off) <= 16 * EPS * most);
        }
    }

    // two halves of a box are the box, to rounding
    {
        icf_shape whole = icf_box(1, 2, 3), half = icf_box((icf_real)0.5, 2, 3);
        icf_transform t = icf_transform_make(random_quat(), icf_vec3_make(1, 2, 3)), u = t;
        icf_mass_properties w, sum, part;
        memset(&sum, 0, sizeof sum);
        whole = icf_shape_at(whole, t);
        icf_shape_mass(&whole, 1, &w);
        for (k = 0; k < 2; k++) {
            u.p = icf_transform_apply(t, icf_vec3_make(k ? (icf_real)0.5 : (icf_real)-0.5, 0, 0));
            half = icf_shape_at(half, u);
            icf_shape_mass(&half, 1, &part);
            sum = icf_mass_properties_add(sum, part);
        }
        TEST_CHECK(fabs((double)(sum.mass - w.mass)) < 64 * EPS * 48);
        TEST_CHECK((double)icf_vec3_length(icf_vec3_sub(sum.center, w.center)) < 64 * EPS);
        TEST_CHECK((double)icf_vec3_length(icf_vec3_sub(sum.inertia.x, w.inertia.x)) <
                   1024 * EPS * 48);
        TEST_CHECK((double)icf_vec3_length(icf_vec3_sub(sum.inertia.y, w.inertia.y)) <
                   1024 * EPS * 48);
        TEST_CHECK((double)icf_vec3_length(icf_vec3_sub(sum.inertia.z, w.inertia.z)) <
                   1024 * EPS * 48);
    }
    {
        icf_shape ground = icf_half_space(), ball = icf_sphere(1);
        TEST_CHECK(icf_shape_mass(&ground, 1, &m) == ICF_RESULT_BAD_ARGUMENT);
        TEST_CHECK(icf_shape_mass(&ball, -1, &m) == ICF_RESULT_BAD_ARGUMENT);
        TEST_CHECK(icf_shape_mass(&ball, 0, &m) == ICF_RESULT_OK && m.mass == 0);
    }
}

static void test_checks_of_shapes(void)
{
    icf_shape s = icf_box(1, 1, 1);
    icf_real nan = (icf_real)NAN;
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_OK);
    TEST_CHECK(icf_shape_check(NULL) == ICF_RESULT_BAD_ARGUMENT);
    s.half.y = 0;
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_BAD_ARGUMENT);
    s.half.y = nan;
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_NOT_FINITE);
    s = icf_sphere(-1);
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_BAD_ARGUMENT);
    s = icf_capsule(1, 0);
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_OK);
    s.half.z = -1;
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_BAD_ARGUMENT);
    s = icf_half_space();
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_OK);
    s.pose.q.w = (icf_real)1.1;
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_BAD_ARGUMENT);
    s = icf_sphere(1);
    s.kind = ICF_SHAPE_KIND_COUNT;
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_BAD_ARGUMENT);
    s = icf_sphere((icf_real)INFINITY);
    TEST_CHECK(icf_shape_check(&s) == ICF_RESULT_NOT_FINITE);
}

TEST_LIST = {
    {"sphere_pairs",                           test_sphere_pairs                          },
    {"capsule_pairs",                          test_capsule_pairs                         },
    {"box_pairs",                              test_box_pairs                             },
    {"half_space_pairs",                       test_half_space_pairs                      },
    {"two_half_spaces_are_refused",            test_two_half_spaces_are_refused           },
    {"capsule_along_an_edge",                  test_capsule_along_an_edge                 },
    {"normal_across_the_axis",                 test_normal_across_the_axis                },
    {"order_of_shapes_mirrors",                test_order_of_shapes_mirrors               },
    {"turned_pair_same_distance",              test_turned_pair_same_distance             },
    {"scaled_pair_scaled_distance",            test_scaled_pair_scaled_distance           },
    {"sweeps_change_no_faster_than_they_move", test_sweeps_change_no_faster_than_they_move},
    {"through_touch_in_tiny_steps",            test_through_touch_in_tiny_steps           },
    {"distances_known_by_hand",                test_distances_known_by_hand               },
    {"points_to_shapes",                       test_points_to_shapes                      },
    {"rays_hit_the_surface_first",             test_rays_hit_the_surface_first            },
    {"bounds_are_tight",                       test_bounds_are_tight                      },
    {"masses_against_a_grid",                  test_masses_against_a_grid                 },
    {"checks_of_shapes",                       test_checks_of_shapes                      },
    {NULL,                                     NULL                                       }
};
