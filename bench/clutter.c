/* What does a step of a pile cost, and how good is it?

   The clutter scene (clutter.h). One case:

       build/clutter --n=160 --dt=0.01 --walls=1 --k=1e7 --steps=1000 --model=lagged

   k is in N/m, of each point of contact; model is lagged, similar or sap; --rigid bounds k where the step
   cannot resolve it (near_rigid 1, or --rigid=BETA); --tolerance= of the solver; --points= of a pair, 1 to 8.

   Times are processor time of the thread around the two halves of a step, collision and all the rest. The
   depths, energies and escapes are those of clutter.h; the error of momentum is computed here from the
   velocities before and after each step and the impulses. */

#include "bench.h"

#define ICF_IMPLEMENTATION
#include "icf_geometry.h"

#include "clutter.h"

static void must(icf_result result, const char* what)
{
    if (result == ICF_RESULT_OK) return;
    printf("FAILED %s: %s\n", what, icf_result_string(result));
    exit(1);
}

typedef struct clutter_case {
    int count, walls, steps, model, points;
    double dt, stiffness, rigid, tolerance;
} clutter_case;

typedef struct clutter_sim {
    const clutter_case* c;
    icf_scene scene;
    icf_body* body;
    clutter_body *before, *after;
    double (*momentum)[6]; /* sums of impulses on each */
} clutter_sim;

static icf_vec3 vec3(const double* x)
{
    return icf_vec3_make(x[0], x[1], x[2]);
}

static void add_half_space(clutter_sim* s, icf_vec3 normal, double offset,
                           const icf_material* material)
{
    const icf_vec3 z = icf_vec3_make(0, 0, 1);
    icf_collider_def d = icf_default_collider_def();
    icf_collider collider;
    icf_transform pose = icf_transform_identity();
    /* a quarter turn about z cross normal */
    if (normal.z < 0.5)
        pose.q =
            icf_quat_from_rotation_vector(icf_vec3_scale(2 * atan(1.0), icf_vec3_cross(z, normal)));
    pose.p = icf_vec3_scale(offset, normal);
    d.shape = icf_shape_at(icf_half_space(), pose);
    d.material = *material;
    must(icf_collider_create(&s->scene, &d, &collider), "a half-space");
}

static void sim_open(clutter_sim* s, const clutter_case* c)
{
    const double half = CLUTTER_HALF, wall = CLUTTER_WALL;
    icf_scene_def def = icf_default_scene_def();
    icf_material material = icf_default_material();
    int i;
    memset(s, 0, sizeof *s);
    s->c = c;
    s->body = (icf_body*)calloc((size_t)c->count, sizeof *s->body);
    s->before = (clutter_body*)calloc((size_t)c->count, sizeof *s->before);
    s->after = (clutter_body*)calloc((size_t)c->count, sizeof *s->after);
    s->momentum = (double(*)[6])calloc((size_t)c->count, sizeof *s->momentum);
    def.world.gravity = icf_vec3_make(0, 0, -CLUTTER_GRAVITY);
    def.world.model = c->model;
    def.world.tolerance = c->tolerance;
    if (c->points) def.points = c->points;
    must(icf_scene_create(&s->scene, &def), "a scene");
    material.stiffness = 2 * c->stiffness; /* two of them in series */
    material.friction = CLUTTER_FRICTION;
    add_half_space(s, icf_vec3_make(0, 0, 1), 0, &material);
    if (c->walls) {
        add_half_space(s, icf_vec3_make(1, 0, 0), -wall, &material);
        add_half_space(s, icf_vec3_make(-1, 0, 0), -wall, &material);
        add_half_space(s, icf_vec3_make(0, 1, 0), -wall, &material);
        add_half_space(s, icf_vec3_make(0, -1, 0), -wall, &material);
    }
    for (i = 0; i < c->count; i++) {
        clutter_body b;
        icf_body_def d = icf_default_body_def();
        icf_collider_def shape = icf_default_collider_def();
        icf_collider collider;
        const double inertia = clutter_inertia(i);
        clutter_start(i, &b);
        d.pose = icf_transform_make(icf_quat_make(b.q[1], b.q[2], b.q[3], b.q[0]), vec3(b.p));
        d.mass = clutter_mass(i);
        d.inertia = icf_mat3_identity();
        d.inertia.x.x = d.inertia.y.y = d.inertia.z.z = inertia;
        must(icf_body_create(&s->scene.world, &d, &s->body[i]), "a body");
        shape.shape = clutter_is_cube(i) ? icf_box(half, half, half) : icf_sphere(half);
        shape.body = s->body[i];
        shape.material = material;
        must(icf_collider_create(&s->scene, &shape, &collider), "a collider");
    }
}

static void sim_close(clutter_sim* s)
{
    icf_scene_destroy(&s->scene);
    free(s->body);
    free(s->before);
    free(s->after);
    free(s->momentum);
}

static void sim_get(const clutter_sim* s, clutter_body* b)
{
    icf_body_state state;
    int i;
    for (i = 0; i < s->c->count; i++, b++) {
        must(icf_body_get_state(&s->scene.world, s->body[i], &state), "a state");
        b->p[0] = state.center.x;
        b->p[1] = state.center.y;
        b->p[2] = state.center.z;
        b->q[0] = state.pose.q.w;
        b->q[1] = state.pose.q.x;
        b->q[2] = state.pose.q.y;
        b->q[3] = state.pose.q.z;
        b->v[0] = state.velocity.x;
        b->v[1] = state.velocity.y;
        b->v[2] = state.velocity.z;
        b->w[0] = state.angular_velocity.x;
        b->w[1] = state.angular_velocity.y;
        b->w[2] = state.angular_velocity.z;
    }
}

static void push(double sum[6], const clutter_body* b, icf_vec3 point, icf_vec3 impulse)
{
    const icf_vec3 torque = icf_vec3_cross(icf_vec3_sub(point, vec3(b->p)), impulse);
    sum[0] += impulse.x;
    sum[1] += impulse.y;
    sum[2] += impulse.z;
    sum[3] += torque.x;
    sum[4] += torque.y;
    sum[5] += torque.z;
}

/* |D (M (v - v*) - J'g)| / max(|D M v|, |D J'g|), D = M^-1/2: SAP (26) */
static double sim_error(clutter_sim* s)
{
    const int count = s->c->count;
    double left = 0, momenta = 0, impulses = 0;
    int i, k;
    memset(s->momentum, 0, (size_t)count * sizeof *s->momentum);
    for (i = 0; i < icf_world_touch_count(&s->scene.world); i++) {
        icf_touch_result t;
        must(icf_world_get_touch(&s->scene.world, i, &t), "a touch");
        /* slot of a body: things were made in order */
        if (t.a.generation)
            push(s->momentum[t.a.index], s->before + t.a.index, t.point, icf_vec3_neg(t.impulse));
        if (t.b.generation) push(s->momentum[t.b.index], s->before + t.b.index, t.point, t.impulse);
    }
    for (i = 0; i < count; i++) {
        for (k = 0; k < 6; k++) {
            const double m = k < 3 ? clutter_mass(i) : clutter_inertia(i);
            const double old = k < 3 ? s->before[i].v[k] : s->before[i].w[k - 3];
            const double now = k < 3 ? s->after[i].v[k] : s->after[i].w[k - 3];
            const double fall = k == 2 ? -s->c->dt * CLUTTER_GRAVITY : 0;
            const double rest = m * (now - old - fall) - s->momentum[i][k];
            left += rest * rest / m;
            momenta += m * now * now;
            impulses += s->momentum[i][k] * s->momentum[i][k] / m;
        }
    }
    if (momenta < impulses) momenta = impulses;
    return momenta > 0 ? sqrt(left / momenta) : 0;
}

static int sim_step(clutter_sim* s, clutter_step* step)
{
    const double dt = s->c->dt;
    icf_result result;
    icf_stats stats;
    double start, middle;
    sim_get(s, s->before);
    start = bench_now();
    must(icf_scene_detect(&s->scene, dt), "detect");
    middle = bench_now();
    if (s->c->rigid >= 0) {
        int32_t i, count;
        icf_touch* t = icf_world_touches(&s->scene.world, &count);
        for (i = 0; i < count; i++) t[i].contact.near_rigid = s->c->rigid;
    }
    result = icf_scene_solve(&s->scene, dt);
    step->seconds = bench_now() - start;
    step->collision = middle - start;
    if (result != ICF_RESULT_NOT_CONVERGED) must(result, "solve");
    step->solved = result == ICF_RESULT_OK;
    must(icf_world_get_stats(&s->scene.world, &stats), "stats");
    step->contacts = icf_world_touch_count(&s->scene.world);
    step->iterations = stats.iterations;
    step->factorizations = stats.factorizations;
    sim_get(s, s->after);
    step->error = sim_error(s);
    return 1;
}

static void run_icf(const clutter_case* c, clutter_run* run)
{
    clutter_sim s;
    clutter_step step;
    clutter_open(run, c->count, c->walls, c->dt, c->steps);
    sim_open(&s, c);
    sim_get(&s, run->body);
    printf("start %016llx\n", (unsigned long long)clutter_hash(run->body, run->count));
    while (run->done < run->steps) {
        sim_step(&s, &step);
        if (!clutter_took(run, &step)) continue;
        sim_get(&s, run->body);
        if (!clutter_look(run)) break;
    }
    sim_close(&s);
}

static double option_value(bench_options* o, const char* name, double value)
{
    int i, kept = 0;
    for (i = 0; i < o->other_count; i++) {
        if (!strncmp(o->other[i], name, strlen(name)))
            value = atof(o->other[i] + strlen(name));
        else
            o->other[kept++] = o->other[i];
    }
    o->other_count = kept;
    return value;
}

int main(int argc, char** argv)
{
    bench_options options = bench_parse(argc, argv);
    clutter_case c;
    clutter_run r;
    memset(&c, 0, sizeof c);
    c.rigid = 0; /* k as given, of all models */
    if (bench_option(&options, "--rigid")) c.rigid = 1;
    if (bench_option(&options, "--model=similar")) c.model = ICF_MODEL_SIMILAR;
    if (bench_option(&options, "--model=sap")) c.model = ICF_MODEL_SAP;
    if (bench_option(&options, "--model=lagged")) c.model = ICF_MODEL_LAGGED;
    c.count = (int)option_value(&options, "--n=", 160);
    c.walls = (int)option_value(&options, "--walls=", 1);
    c.steps = (int)option_value(&options, "--steps=", 1000);
    c.points = (int)option_value(&options, "--points=", 0);
    c.dt = option_value(&options, "--dt=", 0.01);
    c.stiffness = option_value(&options, "--k=", 1e7);
    c.rigid = option_value(&options, "--rigid=", c.rigid);
    c.tolerance = option_value(&options, "--tolerance=", 1e-5);
    bench_check(&options,
                "--n= --dt= --walls= --k= --steps= --model= --rigid --tolerance= --points=");
    run_icf(&c, &r);
    {
        double total = 0;
        int i;
        for (i = 0; i < r.done; i++) total += r.seconds[i];
        qsort(r.seconds, (size_t)r.done, sizeof *r.seconds, bench_compare);
        printf(
            "n %d: us per step %.1f mean, %.1f p95, %.1f max, %.1f last quarter; collision %.1f\n",
            r.count, 1e6 * total / r.done, 1e6 * r.seconds[(int)(0.95 * (r.done - 1))],
            1e6 * r.seconds[r.done - 1], 1e6 * r.seconds_last / r.steps_last,
            1e6 * r.collision / r.done);
        printf("contacts %.1f, iterations %.2f (last quarter %.2f, max %d), factorisations %.2f, "
               "error "
               "%.1e mean %.1e max, unsolved %d\n",
               r.contacts / r.done, r.iterations / r.done, r.iterations_last / r.steps_last,
               r.iterations_most, r.factorizations / r.done, r.error / r.done, r.error_most,
               r.unsolved);
        printf(
            "depth in the last quarter %.2f um mean, %.1f um max; ever %.1f um; escaped %d; energy "
            "%.4f of the start, at most %.6f; speed %.3g mm/s\n",
            r.depth_count ? 1e6 * r.depth_sum / (double)r.depth_count : 0.0,
            1e6 * r.depth_most_last, 1e6 * r.depth_most, r.escaped, r.energy / r.energy_start,
            r.energy_most / r.energy_start, 1e3 * sqrt(r.speed_square / r.looks_last));
    }
    clutter_close(&r);
    return 0;
}
