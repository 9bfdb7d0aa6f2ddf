/* What does a step of a world cost, and against whom?

   Free bodies against a plain loop that integrates them; a humanoid on hands and feet, 36 velocities and
   20 contacts, and a chain of 100 links, against MuJoCo where it is installed (bench/peers/world_peers.h);
   saving and loading 1000 bodies against stepping them, and how many bytes that takes.

   All that is compared runs in one process and in turn, over the same stretch of time from the same state,
   and the fastest of many runs counts, in processor time of the thread. Ours includes making the touches
   from the poses of the bodies, MuJoCo's its collision detection.

   Options: those of bench.h, and --once: nothing is measured, each case is run through its stretch once, by
   run_free, run_tree, run_boxes, run_save, run_load; for profilers, with --only=CASE:

       valgrind --tool=callgrind --toggle-collect=run_tree build/world --once --only=humanoid_stands */

#include "bench.h"

#define ICF_IMPLEMENTATION
#include "icf.h"

#include "peers/world_peers.h"

#include <math.h>

static bench_options options;
static int once, failures, repeat;

static void fail(const char* where, const char* what)
{
    printf("FAILED %s: %s\n", where, what);
    failures++;
}

static void must(icf_result result, const char* what)
{
    if (result == ICF_RESULT_OK) return;
    printf("FAILED %s: %s\n", what, icf_result_string(result));
    exit(1);
}

// for --once: a call that is not inlined, so that profilers can be told where to begin
static void run_once(void (*run)(void*, long), void* context)
{
    void (*volatile f)(void*, long) = run;
    f(context, 1);
}

static void* allocate(size_t bytes)
{
    void* p = calloc(1, bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

// numbers from -1 to 1
static uint64_t random_state;

static double random_number(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) / 4503599627370496.0 - 1;
}

static icf_vec3 random_vector(double size)
{
    icf_vec3 v;
    v.x = size * random_number();
    v.y = size * random_number();
    v.z = size * random_number();
    return v;
}

static icf_mat3 symmetric_inverse(icf_mat3 m)
{
    const icf_vec3 a = icf_vec3_cross(m.y, m.z), b = icf_vec3_cross(m.z, m.x),
                   c = icf_vec3_cross(m.x, m.y);
    const double d = 1 / icf_vec3_dot(m.x, a);
    return icf_mat3_from_columns(icf_vec3_scale(d, a), icf_vec3_scale(d, b), icf_vec3_scale(d, c));
}

static icf_vec3 vec3(const double* x)
{
    return icf_vec3_make(x[0], x[1], x[2]);
}

// ------------------------------------------------------------------------------------------------
// Worlds that are gone back to

typedef struct sim {
    icf_world world;
    void* saved;
    size_t bytes;
    int points; /* of touches, of each body: corners of a box */
    icf_touch touch;
    icf_surface surface;
    double iterations;
    long steps;
} sim;

static void sim_keep(sim* s)
{
    s->bytes = icf_world_save_bytes(&s->world);
    free(s->saved);
    s->saved = allocate(s->bytes);
    must(icf_world_save(&s->world, s->saved, s->bytes), "save");
}

static void sim_restore(sim* s)
{
    must(icf_world_load(&s->world, s->saved, s->bytes), "load");
    s->iterations = 0;
    s->steps = 0;
}

static void sim_close(sim* s)
{
    icf_world_destroy(&s->world);
    free(s->saved);
}

// ------------------------------------------------------------------------------------------------
// Free bodies

// the state of the plain loop; two ways to write it
typedef struct plain_body {
    icf_quat q;
    icf_vec3 x, v, w;
    icf_mat3 inertia, inverse; /* in the axes of the body */
    double mass;
} plain_body;

typedef struct plain {
    plain_body *body, *start;
    int count;
} plain;

enum { FREE_BODIES = 100, FREE_STEPS = 200 };
static const double free_dt = 0.01;

// the inertia in the axes of the world, R I R', and its inverse
static void plain_step(plain* p, double h)
{
    int i;
    for (i = 0; i < p->count; i++) {
        plain_body* b = p->body + i;
        const icf_mat3 r = icf_mat3_from_quat(b->q), rt = icf_mat3_transpose(r);
        const icf_mat3 inertia = icf_mat3_mul(icf_mat3_mul(r, b->inertia), rt);
        const icf_mat3 inverse = icf_mat3_mul(icf_mat3_mul(r, b->inverse), rt);
        const icf_vec3 torque = icf_vec3_cross(icf_mat3_apply(inertia, b->w), b->w);
        b->v.z -= h * 9.81;
        b->w = icf_vec3_add_scaled(b->w, h, icf_mat3_apply(inverse, torque));
        b->x = icf_vec3_add_scaled(b->x, h, b->v);
        b->q = icf_quat_integrate(b->q, b->w, h);
    }
}

// the same in the axes of the body: fewer operations
static void plain_step_lean(plain* p, double h)
{
    int i;
    for (i = 0; i < p->count; i++) {
        plain_body* b = p->body + i;
        const icf_vec3 w = icf_quat_rotate_inverse(b->q, b->w);
        const icf_vec3 torque = icf_vec3_cross(icf_mat3_apply(b->inertia, w), w);
        b->v.z -= h * 9.81;
        b->w = icf_quat_rotate(b->q, icf_vec3_add_scaled(w, h, icf_mat3_apply(b->inverse, torque)));
        b->x = icf_vec3_add_scaled(b->x, h, b->v);
        b->q = icf_quat_integrate(b->q, b->w, h);
    }
}

static void plain_restore(plain* p)
{
    memcpy(p->body, p->start, (size_t)p->count * sizeof *p->body);
}

static void run_plain(void* context, long count)
{
    plain* p = (plain*)context;
    int i;
    for (; count > 0; count--) {
        plain_restore(p);
        for (i = 0; i < FREE_STEPS; i++) plain_step(p, free_dt);
    }
}

static void run_plain_lean(void* context, long count)
{
    plain* p = (plain*)context;
    int i;
    for (; count > 0; count--) {
        plain_restore(p);
        for (i = 0; i < FREE_STEPS; i++) plain_step_lean(p, free_dt);
    }
}

static void run_free(void* context, long count)
{
    sim* s = (sim*)context;
    int i;
    for (; count > 0; count--) {
        sim_restore(s);
        for (i = 0; i < FREE_STEPS; i++) must(icf_world_step(&s->world, free_dt), "free bodies");
    }
}

// a mass, three different principal moments, turned
static void free_body_def(icf_body_def* d, int turned)
{
    const double a = 0.5 + 0.3 * random_number(), b = 0.5 + 0.3 * random_number(),
                 c = 0.5 + 0.3 * random_number();
    icf_mat3 inertia = icf_mat3_identity(), r;
    *d = icf_default_body_def();
    d->mass = 1 + 0.5 * random_number();
    inertia.x.x = d->mass * (b * b + c * c) / 12;
    inertia.y.y = d->mass * (a * a + c * c) / 12;
    inertia.z.z = d->mass * (a * a + b * b) / 12;
    r = icf_mat3_from_quat(icf_quat_from_rotation_vector(random_vector(2)));
    d->inertia = turned ? icf_mat3_mul(icf_mat3_mul(r, inertia), icf_mat3_transpose(r)) : inertia;
    d->inertia.y.x = d->inertia.x.y;
    d->inertia.z.x = d->inertia.x.z;
    d->inertia.z.y = d->inertia.y.z;
    d->pose.p = random_vector(50);
    d->pose.q = icf_quat_from_rotation_vector(random_vector(3));
    d->velocity = random_vector(3);
    d->angular_velocity = random_vector(8);
}

static void free_bodies(void)
{
    sim s;
    plain p;
    bench_job jobs[3];
    icf_world_def def = icf_default_world_def();
    double worst = 0;
    int i;
    memset(&s, 0, sizeof s);
    memset(jobs, 0, sizeof jobs);
    p.count = FREE_BODIES;
    p.body = (plain_body*)allocate(FREE_BODIES * sizeof *p.body);
    p.start = (plain_body*)allocate(FREE_BODIES * sizeof *p.body);
    def.bodies = FREE_BODIES;
    must(icf_world_create(&s.world, &def), "a world");
    random_state = 1;
    for (i = 0; i < FREE_BODIES; i++) {
        plain_body* b = p.start + i;
        icf_body_def d;
        icf_body body;
        free_body_def(&d, 1);
        must(icf_body_create(&s.world, &d, &body), "a body");
        b->q = d.pose.q;
        b->x = d.pose.p;
        b->v = d.velocity;
        b->w = d.angular_velocity;
        b->inertia = d.inertia;
        b->inverse = symmetric_inverse(d.inertia);
        b->mass = d.mass;
    }
    sim_keep(&s);
    if (once) {
        run_once(run_free, &s);
        sim_close(&s);
        return;
    }

    // the loops do what the world does, to first order: after a tenth of a second in short steps
    sim_restore(&s);
    plain_restore(&p);
    for (i = 0; i < 1000; i++) {
        must(icf_world_step(&s.world, 1e-4), "free bodies");
        if (i % 2)
            plain_step(&p, 1e-4);
        else
            plain_step_lean(&p, 1e-4);
    }
    for (i = 0; i < FREE_BODIES; i++) {
        icf_body_state state;
        const plain_body* b = p.body + i;
        double error;
        must(icf_body_get_state(&s.world, icf_world_body_at(&s.world, i), &state), "a state");
        error = icf_vec3_length(icf_vec3_sub(state.center, b->x));
        if (error > worst) worst = error;
        error = 1 - fabs(state.pose.q.x * b->q.x + state.pose.q.y * b->q.y +
                         state.pose.q.z * b->q.z + state.pose.q.w * b->q.w);
        if (!(error < 1e-6)) fail("free bodies", "the world and the loop do not agree");
        error = icf_vec3_length(icf_vec3_sub(state.angular_velocity, b->w));
        if (error > worst) worst = error;
    }
    if (!(worst < 0.03)) fail("free bodies", "the world and the loop are apart");

    jobs[0].name = "world";
    jobs[0].run = run_free;
    jobs[0].context = &s;
    jobs[1].name = "loop";
    jobs[1].run = run_plain;
    jobs[1].context = &p;
    jobs[2].name = "lean loop";
    jobs[2].run = run_plain_lean;
    jobs[2].context = &p;
    bench_measure(jobs, 3, repeat, 5e-3, 20);
    printf("\n%d free bodies, ns a body and step\n", FREE_BODIES);
    for (i = 0; i < 3; i++)
        printf("  %-12s %7.1f\n", jobs[i].name, 1e9 * jobs[i].seconds / FREE_STEPS / FREE_BODIES);
    bench_figure(1e6 * jobs[0].seconds / FREE_STEPS, "us", "free_bodies_100");
    bench_figure(jobs[0].seconds / jobs[1].seconds, "x", "free_bodies_100_over_loop");
    bench_figure(jobs[0].seconds / jobs[2].seconds, "x", "free_bodies_100_over_lean_loop");
    bench_figure(jobs[1].seconds / jobs[0].seconds, "x", "free_bodies_100_vs_loop");
    sim_close(&s);
    free(p.body);
    free(p.start);
}

// ------------------------------------------------------------------------------------------------
// Trees, ours and MuJoCo's

typedef struct tree_sim {
    const peers_tree* tree;
    sim s;
    icf_body body[PEERS_LINKS];
    icf_joint joint[PEERS_LINKS];
    double dt;
    int contacts, steps;
#ifdef ICF_BENCH_PEERS
    peers_world* peer;
#endif
} tree_sim;

static icf_quat z_to_axis(icf_vec3 axis)
{
    const icf_vec3 z = icf_vec3_make(0, 0, 1), c = icf_vec3_cross(z, axis);
    const double angle = atan2(icf_vec3_length(c), axis.z);
    if (icf_vec3_length(c) == 0)
        return axis.z > 0 ? icf_quat_identity() : icf_quat_make(1, 0, 0, 0);
    return icf_quat_from_rotation_vector(icf_vec3_scale(angle / icf_vec3_length(c), c));
}

static void tree_open(tree_sim* t, const peers_tree* tree, double dt, int contacts, int steps)
{
    icf_world_def def = icf_default_world_def();
    int i;
    memset(t, 0, sizeof *t);
    t->tree = tree;
    t->dt = dt;
    t->contacts = contacts;
    t->steps = steps;
    def.bodies = def.joints = tree->links;
    def.contacts = PEERS_POINTS;
    must(icf_world_create(&t->s.world, &def), "a world");
    t->s.touch = icf_default_touch();
    t->s.surface = icf_world_default_surface(&t->s.world);
    t->s.surface.friction = tree->friction;
    for (i = 0; i < tree->links; i++) {
        const peers_link* link = tree->link + i;
        icf_body_def d = icf_default_body_def();
        icf_joint_def j = icf_default_joint_def(ICF_JOINT_REVOLUTE);
        d.mass = link->mass;
        d.center = vec3(link->center);
        d.inertia = icf_mat3_identity();
        d.inertia.x.x = link->inertia[0];
        d.inertia.y.y = link->inertia[1];
        d.inertia.z.z = link->inertia[2];
        d.pose.p = vec3(link->at);
        must(icf_body_create(&t->s.world, &d, &t->body[i]), "a body");
        if (i == 0 && tree->floats) continue;
        if (link->parent >= 0) j.parent = t->body[link->parent];
        j.child = t->body[i];
        j.parent_frame.q = j.child_frame.q = z_to_axis(vec3(link->axis));
        j.parent_frame.p = vec3(link->at);
        j.stiffness = link->stiffness;
        j.damping = link->damping;
        j.rotor_inertia = link->armature;
        must(icf_joint_create(&t->s.world, &j, &t->joint[i]), "a joint");
    }
    sim_keep(&t->s);
}

static void tree_close(tree_sim* t)
{
    sim_close(&t->s);
#ifdef ICF_BENCH_PEERS
    peers_close(t->peer);
#endif
}

// what collision detection does: all balls near the ground
static void tree_touch(tree_sim* t)
{
    const peers_tree* tree = t->tree;
    icf_touch* touch = &t->s.touch;
    icf_body_state state;
    int i, last = -1, added = 0;
    for (i = 0; i < tree->points; i++) {
        const peers_point* point = tree->point + i;
        icf_vec3 c;
        if (point->link != last)
            must(icf_body_get_state(&t->s.world, t->body[point->link], &state), "a state");
        last = point->link;
        c = icf_transform_apply(state.pose, vec3(point->at));
        touch->contact.distance = c.z - tree->radius;
        if (touch->contact.distance > 0.01) continue;
        c.z = 0.5 * touch->contact.distance;
        touch->point = c;
        touch->b = t->body[point->link];
        touch->id = (uint64_t)i + 1;
        must(icf_world_add_touch(&t->s.world, touch, added++ ? NULL : &t->s.surface), "a touch");
    }
}

static void tree_efforts(tree_sim* t, int step)
{
    const peers_tree* tree = t->tree;
    const double* effort;
    int i;
    if (!tree->efforts) return;
    effort =
        tree->efforts + (size_t)(step % tree->effort_steps) * (size_t)(tree->links - tree->floats);
    for (i = tree->floats; i < tree->links; i++)
        must(icf_joint_apply_effort(&t->s.world, t->joint[i], effort + i - tree->floats),
             "an effort");
}

static void tree_run(tree_sim* t, int first, int steps)
{
    int i;
    for (i = first; i < first + steps; i++) {
        tree_efforts(t, i);
        if (t->contacts) tree_touch(t);
        must(icf_world_step(&t->s.world, t->dt), "a step of a tree");
        t->s.steps++;
    }
}

static void run_tree(void* context, long count)
{
    tree_sim* t = (tree_sim*)context;
    for (; count > 0; count--) {
        sim_restore(&t->s);
        tree_run(t, 0, t->steps);
    }
}

// all but the steps
static void run_tree_around(void* context, long count)
{
    tree_sim* t = (tree_sim*)context;
    int i;
    for (; count > 0; count--) {
        sim_restore(&t->s);
        for (i = 0; i < t->steps; i++) {
            tree_efforts(t, i);
            if (t->contacts) tree_touch(t);
            icf_world_clear_touches(&t->s.world);
        }
    }
}

#ifdef ICF_BENCH_PEERS
typedef struct peer_run {
    peers_world* w;
    int steps;
} peer_run;

static void run_peer(void* context, long count)
{
    peer_run* p = (peer_run*)context;
    for (; count > 0; count--) {
        peers_restore(p->w);
        peers_run(p->w, 0, p->steps);
    }
}
#endif

// what became of ours in its stretch: the mean of its steps
static void tree_report(tree_sim* t, const char* name)
{
    double iterations = 0, factorizations = 0, given = 0, contacts = 0, depth = 0, height;
    icf_body_state state;
    int i, k, count;
    sim_restore(&t->s);
    for (i = 0; i < t->steps; i++) {
        icf_stats stats;
        tree_run(t, i, 1);
        must(icf_world_get_stats(&t->s.world, &stats), "stats");
        iterations += stats.iterations;
        factorizations += stats.island_factorizations;
        count = icf_world_touch_count(&t->s.world);
        given += count;
        for (k = 0; k < count; k++) {
            icf_touch_result r;
            must(icf_world_get_touch(&t->s.world, k, &r), "a touch");
            if (r.contact.impulse.z > 0) contacts++;
        }
    }
    if (t->contacts) {
        int32_t touches;
        const icf_touch* touch;
        tree_touch(t);
        touch = icf_world_touches(&t->s.world, &touches);
        for (k = 0; k < touches; k++) depth -= touch[k].contact.distance / touches;
        icf_world_clear_touches(&t->s.world);
    }
    must(icf_body_get_state(&t->s.world, t->body[0], &state), "a state");
    height = state.pose.p.z;
    printf("  %-24s a step: %.1f contacts given, %.1f with a force, %.2f iterations, %.2f factors; "
           "at the end: height %.4f m, depth %.3g mm\n",
           name, given / t->steps, contacts / t->steps, iterations / t->steps,
           factorizations / t->steps, height, 1e3 * depth);
    if (!(height > -100 && height < 100)) fail(name, "flew away");
}

// ours and MuJoCo's tree are the same: so they move alike without contacts, in short steps
static void tree_check(const peers_tree* tree, const char* name)
{
#ifdef ICF_BENCH_PEERS
    tree_sim t;
    double theirs[PEERS_LINKS], worst = 0, moved = 0;
    peers_world* w = once ? NULL : peers_open(tree, 1e-4, 0, 0);
    int i;
    if (!w) return;
    tree_open(&t, tree, 1e-4, 0, 0);
    tree_run(&t, 0, 500);
    peers_run(w, 0, 500);
    peers_angles(w, theirs);
    for (i = tree->floats; i < tree->links; i++) {
        icf_joint_state state;
        must(icf_joint_get_state(&t.s.world, t.joint[i], &state), "a joint");
        if (fabs(state.position[0] - theirs[i - tree->floats]) > worst)
            worst = fabs(state.position[0] - theirs[i - tree->floats]);
        if (fabs(state.position[0]) > moved) moved = fabs(state.position[0]);
    }
    printf("\n%s, against MuJoCo after 50 ms without contacts: angles up to %.3g rad, differences "
           "%.2g\n",
           name, moved, worst);
    if (!(worst < 0.01 * moved)) fail(name, "MuJoCo's moves otherwise");
    tree_close(&t);
    peers_close(w);
#else
    (void)tree;
    (void)name;
#endif
}

// measures a tree; the figures are named after `name`
static void tree_measure(const peers_tree* tree, const char* name, double dt, int contacts,
                         int settle, int steps)
{
    enum { MOST = 8 };
    bench_job jobs[MOST];
    tree_sim t;
    int count = 2, i;
    double around;
#ifdef ICF_BENCH_PEERS
    peer_run peers[MOST];
#endif
    memset(jobs, 0, sizeof jobs);
    tree_open(&t, tree, dt, contacts, steps);
    tree_run(&t, 0, settle);
    sim_keep(&t.s);
    if (once) {
        run_once(run_tree, &t);
        tree_close(&t);
        return;
    }
    jobs[0].name = "icf";
    jobs[0].run = run_tree;
    jobs[0].context = &t;
    jobs[1].name = "icf but the steps";
    jobs[1].run = run_tree_around;
    jobs[1].context = &t;
#ifdef ICF_BENCH_PEERS
    for (i = 0; i < (contacts ? peers_solver_count() : 1); i++) {
        peers[i].w = peers_open(tree, dt, i, contacts);
        peers[i].steps = steps;
        if (!peers[i].w) continue;
        peers_run(peers[i].w, 0, settle);
        peers_keep(peers[i].w);
        jobs[count].name = peers_solver_name(i);
        jobs[count].run = run_peer;
        jobs[count++].context = &peers[i];
    }
#endif
    bench_measure(jobs, count, repeat, 1e-3, 20);
    around = jobs[1].seconds / steps;
    printf("\n%s: %d links, steps of %g ms, %s; us a step\n", name, tree->links, 1e3 * dt,
           contacts ? "contacts" : "no contacts");
    printf("  %-24s %8.2f   of which making touches and efforts %.2f\n", "icf",
           1e6 * jobs[0].seconds / steps, 1e6 * around);
    for (i = 2; i < count; i++)
        printf("  %-24s %8.2f   %.2f x ours\n", jobs[i].name, 1e6 * jobs[i].seconds / steps,
               jobs[i].seconds / jobs[0].seconds);
    tree_report(&t, "icf");
#ifdef ICF_BENCH_PEERS
    for (i = 2; i < count; i++) {
        peers_report r;
        peer_run* p = (peer_run*)jobs[i].context;
        run_peer(p, 1);
        peers_look(p->w, &r);
        printf("  %-24s a step: %.1f contacts, %.2f iterations; at the end: height %.4f m, depth "
               "%.3g mm\n",
               jobs[i].name, r.contacts, r.iterations, r.height, 1e3 * r.penetration);
    }
#endif
    bench_figure(1e6 * jobs[0].seconds / steps, "us", "%s", name);
    bench_figure(1e6 * (jobs[0].seconds / steps - around), "us", "%s_step_alone", name);
    for (i = 2; i < count; i++) {
        bench_figure(1e6 * jobs[i].seconds / steps, "us", "%s_%s", name, jobs[i].name);
        bench_figure(jobs[i].seconds / jobs[0].seconds, "x", "%s_vs_%s", name, jobs[i].name);
    }
#ifdef ICF_BENCH_PEERS
    for (i = 2; i < count; i++) peers_close(((peer_run*)jobs[i].context)->w);
#endif
    tree_close(&t);
}

static int add_link(peers_tree* tree, int parent, double x, double y, double z, int axis,
                    double mass, double length, double thickness, double stiffness)
{
    peers_link* l = tree->link + tree->links;
    memset(l, 0, sizeof *l);
    l->parent = parent;
    l->at[0] = x;
    l->at[1] = y;
    l->at[2] = z;
    l->axis[axis] = 1;
    l->mass = mass;
    // a box that hangs down
    l->center[2] = -length / 2;
    l->center[0] = 0.01;
    l->inertia[0] = mass * (length * length + thickness * thickness) / 12;
    l->inertia[1] = mass * (length * length + 1.44 * thickness * thickness) / 12;
    l->inertia[2] = mass * 2.44 * thickness * thickness / 12;
    l->stiffness = stiffness;
    l->damping = 0.03 * stiffness;
    l->armature = 0.02;
    return tree->links++;
}

// three hinges, one, two: shoulder, elbow, wrist; and five points under the hand
static void add_limb(peers_tree* tree, int parent, double x, double y, double heavy)
{
    static const double sole[5][2] = {
        {0.1,   0.04 },
        {0.1,   -0.04},
        {-0.05, -0.04},
        {-0.05, 0.04 },
        {0.02,  0    }
    };
    int k = add_link(tree, parent, x, y, 0, 0, 0.5 * heavy, 0.05, 0.08, 400), i;
    k = add_link(tree, k, 0, 0, 0, 1, 0.5 * heavy, 0.05, 0.08, 400);
    k = add_link(tree, k, 0, 0, 0, 2, 3 * heavy, 0.3, 0.1, 400);
    k = add_link(tree, k, 0, 0, -0.3, 1, 2 * heavy, 0.28, 0.08, 400);
    k = add_link(tree, k, 0, 0, -0.28, 0, 0.3 * heavy, 0.04, 0.06, 150);
    k = add_link(tree, k, 0, 0, 0, 1, 0.6 * heavy, 0.06, 0.1, 150);
    for (i = 0; i < 5; i++) {
        peers_point* p = tree->point + tree->points++;
        p->link = k;
        p->at[0] = sole[i][0];
        p->at[1] = sole[i][1];
        p->at[2] = -0.06;
    }
}

enum { HUMANOID_PERIOD = 500 };
static double humanoid_efforts[HUMANOID_PERIOD * 30];

// a free pelvis, three hinges of the spine, of the neck, and six of each limb: 36 velocities
static void make_humanoid(peers_tree* tree, double shake)
{
    int k, chest, i, step;
    memset(tree, 0, sizeof *tree);
    tree->floats = 1;
    tree->radius = 0.01;
    tree->friction = 0.7;
    (void)add_link(tree, -1, 0, 0, 0.65, 0, 9, 0.2, 0.2, 0);
    k = add_link(tree, 0, 0.1, 0, 0, 0, 1, 0.1, 0.1, 600);
    k = add_link(tree, k, 0.05, 0, 0, 1, 1, 0.1, 0.1, 600);
    chest = add_link(tree, k, 0.05, 0, 0, 2, 12, 0.2, 0.25, 600);
    k = add_link(tree, chest, 0.35, 0, 0, 0, 0.3, 0.05, 0.05, 100);
    k = add_link(tree, k, 0, 0, 0, 1, 0.3, 0.05, 0.05, 100);
    (void)add_link(tree, k, 0.05, 0, 0, 2, 4, 0.2, 0.15, 100);
    add_limb(tree, chest, 0.25, 0.2, 0.7);
    add_limb(tree, chest, 0.25, -0.2, 0.7);
    add_limb(tree, 0, -0.05, 0.12, 1.3);
    add_limb(tree, 0, -0.05, -0.12, 1.3);
    for (step = 0; step < HUMANOID_PERIOD; step++) {
        for (i = 0; i < 30; i++)
            humanoid_efforts[step * 30 + i] =
                shake * tree->link[i + 1].stiffness *
                sin(6.283185307179586 * (1 + i % 3) * step / HUMANOID_PERIOD + i);
    }
    tree->efforts = humanoid_efforts;
    tree->effort_steps = HUMANOID_PERIOD;
}

static void make_chain(peers_tree* tree)
{
    int i;
    memset(tree, 0, sizeof *tree);
    tree->radius = 0.01;
    for (i = 0; i < 100; i++) {
        peers_link* l;
        (void)add_link(tree, i - 1, i ? 0.1 : 0, 0, i ? 0 : 10, 1 + i % 2, 0.1, 0.1, 0.02, 0);
        l = tree->link + i;
        // it starts along x
        l->center[0] = 0.05;
        l->center[2] = 0;
        l->inertia[0] = 1e-5;
        l->inertia[1] = 9e-5;
        l->inertia[2] = 9.5e-5;
        l->damping = 1e-3;
        l->armature = 1e-4;
    }
}

static void humanoid(void)
{
    static peers_tree tree;
    const int stands = bench_selected(&options, "humanoid_stands"),
              slow = bench_selected(&options, "humanoid_10ms"),
              moves = bench_selected(&options, "humanoid_moves"),
              flies = bench_selected(&options, "humanoid_flies");
    if (!stands && !slow && !moves && !flies) return;
    make_humanoid(&tree, 0.001);
    tree_check(&tree, "humanoid");
    if (stands) tree_measure(&tree, "humanoid_stands", 2e-3, 1, 500, 500);
    if (slow) tree_measure(&tree, "humanoid_10ms", 1e-2, 1, 500, 500);
    make_humanoid(&tree, 0.02);
    if (moves) tree_measure(&tree, "humanoid_moves", 2e-3, 1, 500, 500);
    if (flies) tree_measure(&tree, "humanoid_flies", 2e-3, 0, 0, 500);
}

static void chain(void)
{
    static peers_tree tree;
    make_chain(&tree);
    tree_check(&tree, "chain of 100 links");
    tree_measure(&tree, "chain_100", 2e-3, 0, 0, 100);
}

// ------------------------------------------------------------------------------------------------
// Saving and loading

enum { SAVE_BODIES = 1000, BOX_STEPS = 5 };
static const double box_half = 0.05;

// of boxes: their corners near the ground
static void box_touches(sim* s)
{
    int32_t count = icf_world_body_count(&s->world), added = 0, i, k;
    if (!s->points) return;
    for (i = 0; i < count; i++) {
        const icf_body body = icf_world_body_at(&s->world, i);
        icf_body_state state;
        must(icf_body_get_state(&s->world, body, &state), "a state");
        for (k = 0; k < 8; k++) {
            const icf_vec3 corner =
                icf_vec3_make(k & 1 ? box_half : -box_half, k & 2 ? box_half : -box_half,
                              k & 4 ? box_half : -box_half);
            icf_vec3 p = icf_transform_apply(state.pose, corner);
            if (p.z > 0.02) continue;
            s->touch.contact.distance = p.z;
            s->touch.point = p;
            s->touch.b = body;
            s->touch.id = (uint64_t)k + 1;
            must(icf_world_add_touch(&s->world, &s->touch, added++ ? NULL : &s->surface),
                 "a touch");
        }
    }
}

static void run_boxes(void* context, long count)
{
    sim* s = (sim*)context;
    for (; count > 0; count--) {
        int i;
        for (i = 0; i < BOX_STEPS; i++) {
            box_touches(s);
            must(icf_world_step(&s->world, 0.005), "boxes");
        }
    }
}

static void run_save(void* context, long count)
{
    sim* s = (sim*)context;
    for (; count > 0; count--) must(icf_world_save(&s->world, s->saved, s->bytes), "save");
}

static void run_load(void* context, long count)
{
    sim* s = (sim*)context;
    for (; count > 0; count--) must(icf_world_load(&s->world, s->saved, s->bytes), "load");
}

static void run_copy(void* context, long count)
{
    sim* s = (sim*)context;
    static unsigned char* to;
    if (!to) to = (unsigned char*)allocate(s->bytes * 2);
    for (; count > 0; count--) {
        memcpy(to, s->saved, s->bytes);
        ((unsigned char*)s->saved)[0] = to[0];
    }
}

static void make_boxes(sim* s, int bodies, int contacts)
{
    icf_world_def def = icf_default_world_def();
    int i;
    memset(s, 0, sizeof *s);
    def.bodies = bodies;
    def.joints = def.constraints = 0;
    def.contacts = contacts ? 8 * bodies : 0;
    must(icf_world_create(&s->world, &def), "a world");
    s->points = contacts;
    s->touch = icf_default_touch();
    s->surface = icf_world_default_surface(&s->world);
    random_state = 2;
    for (i = 0; i < bodies; i++) {
        icf_body_def d;
        icf_body body;
        free_body_def(&d, 0);
        if (contacts) {
            d.mass = 1;
            d.inertia = icf_mat3_identity();
            d.inertia.x.x = d.inertia.y.y = d.inertia.z.z = 4 * box_half * box_half / 6;
            d.pose.p = icf_vec3_make(0.3 * (i % 40), 0.3 * (i / 40), 0.08 + 0.01 * random_number());
            d.pose.q = icf_quat_from_rotation_vector(random_vector(0.1));
            d.velocity = random_vector(0.1);
            d.angular_velocity = random_vector(0.3);
        }
        must(icf_body_create(&s->world, &d, &body), "a body");
    }
}

static void saving_of(const char* name, int contacts)
{
    sim s;
    bench_job jobs[4];
    double step;
    int i;
    memset(jobs, 0, sizeof jobs);
    make_boxes(&s, SAVE_BODIES, contacts);
    run_boxes(&s, 20);
    sim_keep(&s);
    if (once) {
        run_once(run_boxes, &s);
        run_once(run_save, &s);
        run_once(run_load, &s);
        sim_close(&s);
        return;
    }
    for (i = 0; i < 4; i++) jobs[i].context = &s;
    jobs[0].run = run_boxes;
    jobs[1].run = run_save;
    jobs[2].run = run_load;
    jobs[3].run = run_copy;
    // boxes go on from where they were loaded
    bench_measure(jobs, 4, repeat, 4e-3, 20);
    step = jobs[0].seconds / BOX_STEPS;
    printf(
        "\n%d bodies, %s: step %.1f us, save %.1f, load %.1f, copy of the bytes %.1f (%.0f kB)\n",
        SAVE_BODIES, name, 1e6 * step, 1e6 * jobs[1].seconds, 1e6 * jobs[2].seconds,
        1e6 * jobs[3].seconds, 1e-3 * (double)s.bytes);
    bench_figure(1e6 * step, "us", "step_1000_%s", name);
    bench_figure(1e6 * jobs[1].seconds, "us", "save_1000_%s", name);
    bench_figure(1e6 * jobs[2].seconds, "us", "load_1000_%s", name);
    bench_figure(100 * (jobs[1].seconds + jobs[2].seconds) / step, "%", "save_and_load_1000_%s",
                 name);
    sim_close(&s);
}

static void bytes(void)
{
    sim a, b, c;
    size_t without, with;
    make_boxes(&a, 0, 1);
    make_boxes(&b, SAVE_BODIES, 0);
    make_boxes(&c, SAVE_BODIES, 1);
    without = icf_world_save_bytes(&b.world);
    run_boxes(&c, 60);
    with = icf_world_save_bytes(&c.world);
    {
        int32_t count = 0, touching = 0, i;
        const icf_event* event = icf_world_events(&c.world, &count);
        for (i = 0; i < count; i++) {
            if (event[i].kind != ICF_EVENT_ENDED) touching++;
        }
        printf("\nsaved: %zu bytes of an empty world, %zu with %d bodies, %zu with %d contacts as "
               "well\n",
               icf_world_save_bytes(&a.world), without, SAVE_BODIES, with, (int)touching);
        bench_figure((double)(without - icf_world_save_bytes(&a.world)) / SAVE_BODIES, "B",
                     "saved_a_body");
        if (touching) bench_figure((double)(with - without) / touching, "B", "saved_a_contact");
    }
    sim_close(&a);
    sim_close(&b);
    sim_close(&c);
}

int main(int argc, char** argv)
{
    options = bench_parse(argc, argv);
    once = bench_option(&options, "--once");
    bench_check(&options, "--once");
    repeat = options.repeat ? options.repeat : options.quick ? 7 : 25;
#ifdef ICF_BENCH_PEERS
    if (!options.list && !once) printf("peers: %s\n", peers_versions());
#endif
    if (bench_selected(&options, "free_bodies")) free_bodies();
    humanoid();
    if (bench_selected(&options, "chain")) chain();
    if (bench_selected(&options, "save_boxes")) saving_of("boxes", 1);
    if (bench_selected(&options, "save_free")) saving_of("free", 0);
    if (bench_selected(&options, "bytes") && !once) bytes();
    if (!options.selected) {
        fprintf(stderr, "no such case; --list names them\n");
        return 2;
    }
    return failures ? 1 : 0;
}
