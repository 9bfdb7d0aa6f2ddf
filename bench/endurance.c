/* Does a scene last? A simulated day, 8.64 million steps of 10 ms, of the clutter of eight bodies: four
   spheres and four cubes of 10 cm that fall into a box of walls and come to rest.

   What is watched: the memory of the scene and that of the process; overlaps, by a function of its own that
   knows nothing of the library's; how far cubes creep and turn, which are at rest; the length of quaternions;
   energy; how exact solves are. All of it is compared with how it was after the first hour. Spheres have no
   rolling friction here: what is left of their fall they keep, and roll from wall to wall.

   Options: --steps=N in place of 8640000, at least 100000; --quick: so many. The first
   hour is at least 50000 steps. */

#include "bench.h"

#define ICF_IMPLEMENTATION
#include "icf_geometry.h"

#include <math.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#endif

enum { BODIES = 8 };
static const double side = 0.05, wall = 0.4, gravity = 9.81, dt = 0.01;

// numbers from -1 to 1, the same in every program that plays this scene
static double hash(uint32_t i, uint32_t j)
{
    uint32_t x = i * 747796405u + j * 2891336453u + 12345u;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return (double)x / 2147483648.0 - 1;
}

static int is_box(int i)
{
    return (i % 4 + i / 4) & 1;
}

static double mass_of(int i)
{
    return is_box(i) ? 1 : 0.524;
}

static double inertia_of(int i)
{
    return is_box(i) ? mass_of(i) * 4 * side * side / 6 : 0.4 * mass_of(i) * side * side;
}

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
    d.material.friction = 1;
    must(icf_collider_create(s, &d, &name), s, "a wall");
}

static void make(icf_scene* s, icf_body* body)
{
    const double quarter = 1.5707963267948966;
    icf_scene_def def = icf_default_scene_def();
    int i;
    must(icf_scene_create(s, &def), s, "the scene");
    add_wall(s, icf_vec3_make(0, 0, 0), icf_vec3_make(1, 0, 0), 0);
    add_wall(s, icf_vec3_make(wall, 0, 0), icf_vec3_make(0, 1, 0), -quarter);
    add_wall(s, icf_vec3_make(-wall, 0, 0), icf_vec3_make(0, 1, 0), quarter);
    add_wall(s, icf_vec3_make(0, wall, 0), icf_vec3_make(1, 0, 0), quarter);
    add_wall(s, icf_vec3_make(0, -wall, 0), icf_vec3_make(1, 0, 0), -quarter);
    for (i = 0; i < BODIES; i++) {
        const uint32_t n = (uint32_t)i;
        const double inertia = inertia_of(i);
        icf_body_def b = icf_default_body_def();
        icf_collider_def c = icf_default_collider_def();
        icf_collider name;
        b.mass = mass_of(i);
        b.inertia =
            icf_mat3_from_columns(icf_vec3_make(inertia, 0, 0), icf_vec3_make(0, inertia, 0),
                                  icf_vec3_make(0, 0, inertia));
        b.pose.p = icf_vec3_make((i & 1 ? 0.2 : -0.2) + 0.01 * hash(n, 0),
                                 (i & 2 ? 0.2 : -0.2) + 0.01 * hash(n, 1), 0.065 + 0.125 * (i / 4));
        b.pose.q = icf_quat_normalize(
            icf_quat_make(0.05 * hash(n, 2), 0.05 * hash(n, 3), 0.5 * hash(n, 4), 1));
        must(icf_body_create(&s->world, &b, &body[i]), s, "a body");
        c.shape = is_box(i) ? icf_box(side, side, side) : icf_sphere(side);
        c.body = body[i];
        c.material.friction = 1;
        must(icf_collider_create(s, &c, &name), s, "a shape");
    }
}

// ------------------------------------------------------------------------------------------------
// Overlaps, from poses alone

typedef struct pose {
    double p[3], r[9]; /* r: row-major */
    int box;
} pose;

static pose pose_of(const icf_body_state* s, int box)
{
    const double x = s->pose.q.x, y = s->pose.q.y, z = s->pose.q.z, w = s->pose.q.w;
    pose o = {
        {s->pose.p.x,          s->pose.p.y,         s->pose.p.z},
        { 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z),
         1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x),
         1 - 2 * (x * x + y * y)},
        0
    };
    o.box = box;
    return o;
}

static double depth_in_wall(const pose* a, int axis, double sign, double at)
{
    const double* row = a->r + 3 * axis;
    double reach = a->box ? side * (fabs(row[0]) + fabs(row[1]) + fabs(row[2])) : side;
    return at - (sign * a->p[axis] - reach);
}

static double depth_of_ball_in_box(const pose* ball, const pose* box)
{
    double out = 0, in = -1;
    int i, k;
    for (i = 0; i < 3; i++) {
        double x = 0, e;
        for (k = 0; k < 3; k++) x += box->r[3 * k + i] * (ball->p[k] - box->p[k]);
        e = fabs(x) - side;
        if (e > 0) out += e * e;
        if (e > in) in = e;
    }
    return out > 0 ? side - sqrt(out) : side - in;
}

// by separating axes: three faces of each, nine pairs of edges
static double depth_of_boxes(const pose* a, const pose* b)
{
    double best = 1;
    int axis, i, k;
    for (axis = 0; axis < 15; axis++) {
        double n[3], reach = 0, gap = 0, length, depth;
        if (axis < 6) {
            const pose* o = axis < 3 ? a : b;
            for (i = 0; i < 3; i++) n[i] = o->r[3 * i + axis % 3];
        } else {
            const double *u = a->r + (axis - 6) / 3, *v = b->r + (axis - 6) % 3;
            n[0] = u[3] * v[6] - u[6] * v[3];
            n[1] = u[6] * v[0] - u[0] * v[6];
            n[2] = u[0] * v[3] - u[3] * v[0];
        }
        length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        if (length < 1e-6) continue;
        for (i = 0; i < 3; i++) {
            double in_a = 0, in_b = 0;
            for (k = 0; k < 3; k++) {
                in_a += n[k] * a->r[3 * k + i];
                in_b += n[k] * b->r[3 * k + i];
            }
            reach += side * (fabs(in_a) + fabs(in_b));
            gap += n[i] * (b->p[i] - a->p[i]);
        }
        depth = (reach - fabs(gap)) / length;
        if (depth < best) best = depth;
    }
    return best;
}

static double deepest(const icf_body_state* state)
{
    pose at[BODIES];
    double most = 0;
    int i, k;
    for (i = 0; i < BODIES; i++) at[i] = pose_of(&state[i], is_box(i));
    for (i = 0; i < BODIES; i++) {
        const pose* a = &at[i];
        most = fmax(most, depth_in_wall(a, 2, 1, 0));
        for (k = 0; k < 4; k++) most = fmax(most, depth_in_wall(a, k / 2, k % 2 ? 1 : -1, -wall));
        for (k = 0; k < i; k++) {
            const pose* b = &at[k];
            double x = a->p[0] - b->p[0], y = a->p[1] - b->p[1], z = a->p[2] - b->p[2];
            most = fmax(most, a->box && b->box ? depth_of_boxes(a, b)
                              : a->box         ? depth_of_ball_in_box(b, a)
                              : b->box         ? depth_of_ball_in_box(a, b)
                                               : 2 * side - sqrt(x * x + y * y + z * z));
        }
    }
    return most;
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
        e = 0.5 * mass_of(i) * icf_vec3_dot(b->velocity, b->velocity) +
            0.5 * inertia_of(i) * icf_vec3_dot(b->angular_velocity, b->angular_velocity);
        l.kinetic += e;
        if (is_box(i)) l.cubes += e;
        l.energy += mass_of(i) * gravity * b->center.z;
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
        if (!is_box(i)) continue;
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
