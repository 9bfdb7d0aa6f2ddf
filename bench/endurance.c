/* Does a scene last? A simulated day, 8.64 million steps of 10 ms, of the clutter of eight bodies: four
   spheres and four cubes of 10 cm that fall into a box of walls and come to rest.

   What is watched: the memory of the scene and that of the process; overlaps, by a function of its own that
   knows nothing of the library's; how far cubes creep and turn, which are at rest; the length of quaternions;
   energy; how exact solves are. All of it is compared with how it was after the first hour. Spheres have no
   rolling friction here: what is left of their fall they keep, and roll from wall to wall.

   Options: --steps=N in place of 8640000, at least 100000; --quick: so many. The first
   hour is at least 50000 steps. */

#include "bench.h"
#include "clutter.h"

#define ICF_IMPLEMENTATION
#include "icf_geometry.h"

#include <math.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#endif

enum { BODIES = 8 };
static const double dt = 0.01;

static void must(icf_result result, const icf_scene* s, const char* what)
{
    if (result == ICF_RESULT_OK) return;
    printf("FAILED %s: %s, %s\n", what, icf_result_string(result), s->reason ? s->reason : "");
    exit(1);
}

static void add_wall(icf_scene* s, icf_vec3 at, icf_vec3 axis, double angle)
{
    icf_collider_def d = icf_default_collider_def();
    icf_collider name;
    double sine = sin(angle / 2);
    d.shape = icf_half_space();
    d.shape.pose.p = at;
    d.shape.pose.q = icf_quat_make(axis.x * sine, axis.y * sine, axis.z * sine, cos(angle / 2));
    d.material.friction = CLUTTER_FRICTION;
    must(icf_collider_create(s, &d, &name), s, "a wall");
}

static void make(icf_scene* s, icf_body* body)
{
    const double quarter = 1.5707963267948966;
    icf_scene_def def = icf_default_scene_def();
    int i;
    must(icf_scene_create(s, &def), s, "the scene");
    add_wall(s, icf_vec3_make(0, 0, 0), icf_vec3_make(1, 0, 0), 0);
    add_wall(s, icf_vec3_make(CLUTTER_WALL, 0, 0), icf_vec3_make(0, 1, 0), -quarter);
    add_wall(s, icf_vec3_make(-CLUTTER_WALL, 0, 0), icf_vec3_make(0, 1, 0), quarter);
    add_wall(s, icf_vec3_make(0, CLUTTER_WALL, 0), icf_vec3_make(1, 0, 0), quarter);
    add_wall(s, icf_vec3_make(0, -CLUTTER_WALL, 0), icf_vec3_make(1, 0, 0), -quarter);
    for (i = 0; i < BODIES; i++) {
        const double inertia = clutter_inertia(i);
        icf_body_def b = icf_default_body_def();
        icf_collider_def c = icf_default_collider_def();
        icf_collider name;
        clutter_body start;
        b.mass = clutter_mass(i);
        b.inertia =
            icf_mat3_from_columns(icf_vec3_make(inertia, 0, 0), icf_vec3_make(0, inertia, 0),
                                  icf_vec3_make(0, 0, inertia));
        clutter_start(i, &start);
        b.pose.p = icf_vec3_make(start.p[0], start.p[1], start.p[2]);
        b.pose.q = icf_quat_make(start.q[1], start.q[2], start.q[3], start.q[0]);
        must(icf_body_create(&s->world, &b, &body[i]), s, "a body");
        c.shape = clutter_is_cube(i) ? icf_box(CLUTTER_HALF, CLUTTER_HALF, CLUTTER_HALF)
                                     : icf_sphere(CLUTTER_HALF);
        c.body = body[i];
        c.material.friction = CLUTTER_FRICTION;
        must(icf_collider_create(s, &c, &name), s, "a shape");
    }
}

// ------------------------------------------------------------------------------------------------
// Overlaps, from poses alone

static double deepest(const icf_body_state* state)
{
    clutter_body at[BODIES];
    int i;
    memset(at, 0, sizeof at);
    for (i = 0; i < BODIES; i++) {
        const icf_transform* pose = &state[i].pose;
        at[i].p[0] = pose->p.x;
        at[i].p[1] = pose->p.y;
        at[i].p[2] = pose->p.z;
        at[i].q[0] = pose->q.w;
        at[i].q[1] = pose->q.x;
        at[i].q[2] = pose->q.y;
        at[i].q[3] = pose->q.z;
    }
    return clutter_penetration(at, BODIES, 1).most;
}

// ------------------------------------------------------------------------------------------------
// The day

typedef struct look {
    icf_body_state state[BODIES];
    double depth, kinetic, cubes, energy, quaternion, memory, process;
} look;

static double process_bytes(void)
{
#if defined(__linux__)
    long pages = 0;
    FILE* f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
        fclose(f);
    }
    return 4096.0 * (double)pages;
#elif defined(__unix__)
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return 1024.0 * (double)u.ru_maxrss;
#else
    return 0;
#endif
}

static look look_at(const icf_scene* s, const icf_body* body)
{
    look l;
    double e;
    int i;
    memset(&l, 0, sizeof l);
    for (i = 0; i < BODIES; i++) {
        icf_body_state* b = &l.state[i];
        const icf_quat* q = &b->pose.q;
        must(icf_body_get_state(&s->world, body[i], b), s, "a state");
        e = 0.5 * clutter_mass(i) * icf_vec3_dot(b->velocity, b->velocity) +
            0.5 * clutter_inertia(i) * icf_vec3_dot(b->angular_velocity, b->angular_velocity);
        l.kinetic += e;
        if (clutter_is_cube(i)) l.cubes += e;
        l.energy += clutter_mass(i) * CLUTTER_GRAVITY * b->center.z;
        l.quaternion = fmax(l.quaternion,
                            fabs(sqrt(q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w) - 1));
    }
    l.energy += l.kinetic;
    l.depth = deepest(l.state);
    l.memory = (double)s->bytes + (double)s->world.bytes;
    l.process = process_bytes();
    return l;
}

// how far cubes moved and turned
static void creep(const look* from, const look* to, double* moved, double* turned)
{
    int i;
    *moved = *turned = 0;
    for (i = 0; i < BODIES; i++) {
        if (!clutter_is_cube(i)) continue;
        const icf_quat a = from->state[i].pose.q, b = to->state[i].pose.q;
        const icf_quat d = icf_quat_mul(icf_quat_conjugate(a), b);
        const icf_vec3 x = icf_vec3_sub(to->state[i].center, from->state[i].center);
        *moved = fmax(*moved, icf_vec3_length(x));
        *turned = fmax(*turned, 2 * asin(fmin(1, sqrt(d.x * d.x + d.y * d.y + d.z * d.z))));
    }
}

int main(int argc, char** argv)
{
    bench_options options = bench_parse(argc, argv);
    icf_scene scene = {0};
    icf_body body[BODIES];
    look start, rest, now;
    icf_stats stats;
    double moved, turned, began, worst_error = 0, iterations = 0, depth = 0, energy, quaternion = 0,
                                 kinetic = 0, cubes = 0;
    long steps = options.quick ? 100000 : 8640000, step, settled, kept = 0, i, unsolved = 0;
    int failures = 0;
    for (i = 0; i < options.other_count; i++) {
        if (!strncmp(options.other[i], "--steps=", 8))
            steps = atol(options.other[i] + 8);
        else
            options.other[kept++] = options.other[i];
    }
    options.other_count = (int)kept;
    bench_check(&options, "--steps=N");
    if (!bench_selected(&options, "clutter_8")) return 0;
    if (steps < 100000) steps = 100000;
    settled = steps / 24 / 1000 * 1000;
    if (settled < 50000) settled = 50000; /* by when the cubes are at rest */

    make(&scene, body);
    start = rest = look_at(&scene, body);
    energy = start.energy;
    printf("%ld steps of 10 ms\n", steps);
    printf("%12s %10s %10s %12s %12s %10s %12s %10s\n", "after h", "moved mm", "turned mrad",
           "deepest um", "kinetic J", "|q| - 1", "energy J", "memory kB");
    began = bench_now();
    for (step = 1; step <= steps; step++) {
        icf_result result = icf_scene_step(&scene, dt);
        if (result == ICF_RESULT_NOT_CONVERGED)
            unsolved++;
        else
            must(result, &scene, "a step");
        if (step % 100 && step != steps) continue;
        (void)icf_world_get_stats(&scene.world, &stats);
        worst_error = fmax(worst_error, stats.momentum_error);
        iterations += stats.iterations;
        if (step % 1000 && step != steps) continue;
        now = look_at(&scene, body);
        if (step == settled) {
            rest = now;
            began = bench_now();
            depth = kinetic = cubes = 0;
        }
        depth = fmax(depth, now.depth);
        kinetic = fmax(kinetic, now.kinetic);
        cubes = fmax(cubes, now.cubes);
        quaternion = fmax(quaternion, now.quaternion);
        energy = fmax(energy, now.energy);
        if (step % settled && step != steps) continue;
        creep(&rest, &now, &moved, &turned);
        printf("%12.3f %10.4g %10.4g %12.6g %12.4g %10.2g %12.9g %10.6g\n",
               dt * (double)step / 3600, 1e3 * moved, 1e3 * turned, 1e6 * now.depth, now.kinetic,
               now.quaternion, now.energy, now.process / 1024);
        fflush(stdout);
    }
    creep(&rest, &now, &moved, &turned);

#define MUST(condition) \
    ((condition) ? (void)0 : (void)(printf("FAILED: %s\n", #condition), failures++))
    MUST(!unsolved);
    MUST(now.memory == rest.memory);
    MUST(now.process <= rest.process + 262144); /* what the C library and the progress lines take */
    MUST(energy <= start.energy * (1 + 1e-9));
    MUST(depth <= 1.01 * rest.depth);
    MUST(quaternion < 1e-15 * 8);
    MUST(worst_error <= 1e-5);

    bench_figure((double)steps, "steps", "endurance_steps");
    bench_figure(1e6 * (bench_now() - began) / (double)(steps - settled), "us", "endurance_step");
    bench_figure(now.memory - rest.memory, "bytes", "endurance_scene_growth");
    bench_figure((now.process - rest.process) / 1024, "kB", "endurance_process_growth");
    bench_figure(1e3 * moved, "mm", "endurance_creep");
    bench_figure(1e3 * turned, "mrad", "endurance_turn");
    bench_figure(1e6 * rest.depth, "um", "endurance_deepest_at_first");
    bench_figure(1e6 * depth, "um", "endurance_deepest_since");
    bench_figure(kinetic, "J", "endurance_kinetic");
    bench_figure(cubes, "J", "endurance_kinetic_of_cubes");
    bench_figure(now.energy - rest.energy, "J", "endurance_energy_change");
    bench_figure(quaternion, "1", "endurance_quaternion_error");
    bench_figure(worst_error, "1", "endurance_momentum_error");
    bench_figure(100 * iterations / (double)steps, "1", "endurance_iterations");
    icf_scene_destroy(&scene);
    return failures != 0;
}
