/* bench/geometry.c - how long the questions of icf_geometry.h take

   Pairs of shapes: ns a query, of poses that are separate (0.02 to 0.3 of the size of the smaller apart),
   shallow (0.001 to 0.1 deep) and deep (centres within 0.1), 2000 of each, so that a processor cannot learn
   them by heart. The same shapes and families as the harness in bench/peers/geometry.

   Broad phase: ns an object and step, of unit boxes with about three overlaps each. "moving": all of them by
   up to 0.05 an axis and step; "still": none leaves its larger box; "some": one in a hundred does. */

#include "bench.h"
#include <math.h>

#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"

#define POSES 2000

static uint64_t state = 88172645463325252u;

static double uniform(double low, double high)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}

static icf_vec3 direction(void)
{
    for (;;) {
        double x = uniform(-1, 1), y = uniform(-1, 1), z = uniform(-1, 1),
               s = x * x + y * y + z * z;
        if (s > 0.01 && s < 1) {
            s = 1 / sqrt(s);
            return icf_vec3_make((icf_real)(x * s), (icf_real)(y * s), (icf_real)(z * s));
        }
    }
}

static icf_quat turn(void)
{
    double q[4], s;
    int k;
    for (;;) {
        for (k = 0, s = 0; k < 4; k++) {
            q[k] = uniform(-1, 1);
            s += q[k] * q[k];
        }
        if (s > 0.01 && s < 1) break;
    }
    return icf_quat_normalize(
        icf_quat_make((icf_real)q[0], (icf_real)q[1], (icf_real)q[2], (icf_real)q[3]));
}

/* figures are kept, and printed at the end */
static struct figure {
    double ns;
    char name[96];
} figures[160];
static int figure_count;

static void keep(double ns, const char* a, const char* b, const char* c)
{
    if (figure_count == 160) return;
    figures[figure_count].ns = ns;
    snprintf(figures[figure_count++].name, sizeof figures[0].name, "%s %s%s", a, b, c);
}

/* ---- pairs */

typedef struct set {
    icf_shape a, b;
    icf_transform ta[POSES], tb[POSES];
    double contacts; /* of the last run */
} set;

static icf_real sink;

static void run_distance(void* context, long count)
{
    set* s = (set*)context;
    icf_separation out;
    int i;
    while (count-- > 0) {
        for (i = 0; i < POSES; i++) {
            icf_shape_distance(&s->a, &s->ta[i], &s->b, &s->tb[i], &out);
            sink += out.distance;
        }
    }
}

static void run_manifold(void* context, long count)
{
    set* s = (set*)context;
    icf_manifold out;
    int i;
    while (count-- > 0) {
        s->contacts = 0;
        for (i = 0; i < POSES; i++) {
            icf_manifold_make(&s->a, &s->ta[i], &s->b, &s->tb[i], 0, 8, 0, &out);
            s->contacts += (double)out.count / POSES;
        }
    }
}

static double size_of(const icf_shape* s)
{
    return (double)s->radius + (double)icf_vec3_length(s->half);
}

/* 0 separate, 1 shallow, 2 deep */
static void fill(set* s, int family)
{
    double size = size_of(&s->a) < size_of(&s->b) ? size_of(&s->a) : size_of(&s->b);
    double both = size_of(&s->a) + size_of(&s->b);
    icf_separation at;
    int i = 0;
    while (i < POSES) {
        double far_ = family == 2 ? uniform(0, 0.1) * size : uniform(0.4, 1.05) * both, d;
        s->ta[i] = icf_transform_make(turn(), direction());
        s->tb[i] = icf_transform_make(turn(),
                                      icf_vec3_add_scaled(s->ta[i].p, (icf_real)far_, direction()));
        icf_shape_distance(&s->a, &s->ta[i], &s->b, &s->tb[i], &at);
        d = (double)at.distance / size;
        if (family == 2 || (family == 0 && d > 0.02 && d < 0.3) ||
            (family == 1 && d < -0.001 && d > -0.1))
            i++;
    }
}

static icf_shape shape_of(int kind)
{
    switch (kind) {
    case ICF_SHAPE_SPHERE: return icf_sphere((icf_real)0.5);
    case ICF_SHAPE_CAPSULE: return icf_capsule((icf_real)0.25, (icf_real)0.4);
    case ICF_SHAPE_BOX: return icf_box((icf_real)0.5, (icf_real)0.4, (icf_real)0.3);
    default: return icf_half_space();
    }
}

static const char* const kind_name[] = {"sphere", "capsule", "box", "half-space"};
static const char* const family_name[] = {"separate", "shallow", "deep"};

static void pairs(bench_options* o)
{
    static set s;
    int a, b, f;
    char name[64];
    for (a = 0; a < 3; a++) {
        for (b = a; b < 4; b++) {
            snprintf(name, sizeof name, "%s-%s", kind_name[a], kind_name[b]);
            if (!bench_selected(o, name)) continue;
            printf("%-20s", name);
            for (f = 0; f < (b == 3 ? 1 : 3); f++) {
                double distance, manifold;
                s.a = shape_of(a);
                s.b = shape_of(b);
                fill(&s, b == 3 ? 2 : f);
                distance =
                    1e9 / POSES * bench_time(run_distance, &s, o->repeat ? o->repeat : 9, 2e-3, 1);
                manifold =
                    1e9 / POSES * bench_time(run_manifold, &s, o->repeat ? o->repeat : 9, 2e-3, 1);
                printf("  %s: distance %4.0f, manifold %4.0f (%.2f points)",
                       b == 3 ? "near" : family_name[f], distance, manifold, s.contacts);
                keep(distance, name, b == 3 ? "near" : family_name[f], " distance");
                keep(manifold, name, b == 3 ? "near" : family_name[f], " manifold");
            }
            printf("\n");
        }
    }
}

/* ---- broad phase */

typedef struct boxes {
    int n;
    float (*x)[3], (*v)[3];
    icf_broad_phase* b;
} boxes;

static icf_aabb box_of(const boxes* s, int i)
{
    icf_aabb box;
    icf_real half = (icf_real)0.5;
    icf_vec3 p = icf_vec3_make((icf_real)s->x[i][0], (icf_real)s->x[i][1], (icf_real)s->x[i][2]);
    box.lower = icf_vec3_make(p.x - half, p.y - half, p.z - half);
    box.upper = icf_vec3_make(p.x + half, p.y + half, p.z + half);
    return box;
}

/* one step, in seconds */
static double step(boxes* s, int moving, int every)
{
    int i, k;
    double began;
    for (i = 0; i < s->n; i += every) {
        for (k = 0; k < 3 && moving; k++)
            s->x[i][k] += every == 1 ? s->v[i][k] : i % 2 ? 0.5f : -0.5f;
    }
    began = bench_now();
    for (i = 0; i < s->n; i++) {
        icf_aabb box = box_of(s, i);
        icf_broad_phase_move(s->b, i, &box);
    }
    if (icf_broad_phase_update(s->b) != ICF_RESULT_OK) exit(1);
    return bench_now() - began;
}

static void broad(bench_options* o, int n)
{
    boxes s;
    icf_broad_phase_def def = icf_default_broad_phase_def();
    size_t bytes;
    void* memory;
    double side = cbrt(n * 4.0 / 3), t, cold, moving = 0, worst = 0, still = 1, some = 1;
    int i, k, steps = 12;
    char name[64];
    snprintf(name, sizeof name, "broad phase %d", n);
    if (!bench_selected(o, name)) return;
    s.n = n;
    s.x = (float(*)[3])malloc(sizeof *s.x * (size_t)n);
    s.v = (float(*)[3])malloc(sizeof *s.v * (size_t)n);
    def.proxies_most = n;
    def.pairs_most = 8 * n;
    bytes = icf_broad_phase_bytes(&def);
    memory = malloc(bytes);
    if (!s.x || !s.v || !memory || icf_broad_phase_init(memory, bytes, &def, &s.b) != ICF_RESULT_OK)
        exit(1);
    for (i = 0; i < n; i++) {
        for (k = 0; k < 3; k++) {
            s.x[i][k] = (float)uniform(0, side);
            s.v[i][k] = (float)uniform(-0.05, 0.05);
        }
    }
    t = bench_now();
    for (i = 0; i < n; i++) {
        icf_aabb box = box_of(&s, i);
        icf_broad_phase_add(s.b, i, &box, 0);
    }
    if (icf_broad_phase_update(s.b) != ICF_RESULT_OK) exit(1);
    cold = bench_now() - t;
    for (i = 0; i < steps; i++) {
        t = step(&s, 1, 1);
        moving += t / steps;
        worst = t > worst ? t : worst;
    }
    for (i = 0; i < 5; i++) {
        t = step(&s, 0, 1);
        if (i && t < still) still = t;
        t = step(&s, 1, 100);
        if (t < some) some = t;
    }
    t = 1e9 / n;
    printf("%-20s  cold %.0f, moving %.0f (worst step %.0f), some %.0f, still %.0f ns an object; "
           "%d pairs, %.0f bytes an object\n",
           name, cold * t, moving * t, worst * t, some * t, still * t, s.b->pairs,
           (double)bytes / n);
    keep(cold * t, name, "cold", "");
    keep(moving * t, name, "moving", "");
    keep(worst * t, name, "moving worst", "");
    keep(some * t, name, "some", "");
    keep(still * t, name, "still", "");
    free(memory);
    free(s.x);
    free(s.v);
}

int main(int argc, char** argv)
{
    bench_options o = bench_parse(argc, argv);
    int i;
    bench_check(&o, "");
    pairs(&o);
    broad(&o, 1000);
    broad(&o, 10000);
    if (!o.quick) broad(&o, 100000);
    for (i = 0; i < figure_count; i++) bench_figure(figures[i].ns, "ns", "%s", figures[i].name);
    return !o.selected;
}
