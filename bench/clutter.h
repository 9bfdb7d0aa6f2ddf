/* The clutter scene, and what is measured of it without asking an engine.

   An open box 80 cm wide, half-spaces for floor and walls, and N things in four columns, at rest: balls of
   10 cm, 0.524 kg, and cubes of 10 cm, 1 kg, in turn. Friction 1, g = 9.81 m/s^2. Thing i:

       c = i % 4, k = i / 4; a cube if c + k is odd
       x = +-0.2 + 0.01 h(i,0), + if c is odd     y = +-0.2 + 0.01 h(i,1), + if c is 2 or 3
       z = 0.065 + 0.125 k
       q = (1, 0.05 h(i,2), 0.05 h(i,3), 0.5 h(i,4)) made a unit      (w, x, y, z)

   with h of clutter_noise. Nothing here knows of icf or of a peer. SI units. Include bench.h first. */

#ifndef CLUTTER_H
#define CLUTTER_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUTTER_HALF 0.05 /* radius of a ball, half the side of a cube */
#define CLUTTER_WALL 0.4  /* walls at x, y = +-this */
#define CLUTTER_GRAVITY 9.81
#define CLUTTER_FRICTION 1.0

/* In the axes of the world; q is (w, x, y, z) */
typedef struct clutter_body {
    double p[3], q[4], v[3], w[3];
} clutter_body;

/* -1 <= h < 1 */
static inline double clutter_noise(uint32_t i, uint32_t j)
{
    uint32_t x = i * 747796405u + j * 2891336453u + 12345u;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return (double)x / 2147483648.0 - 1.0;
}

static inline int clutter_is_cube(int i)
{
    return (i % 4 + i / 4) & 1;
}

static inline double clutter_mass(int i)
{
    return clutter_is_cube(i) ? 1.0 : 0.524;
}

/* the same about every axis, kg m^2 */
static inline double clutter_inertia(int i)
{
    const double share = clutter_is_cube(i) ? 4.0 / 6 : 0.4;
    return share * clutter_mass(i) * CLUTTER_HALF * CLUTTER_HALF;
}

static inline void clutter_start(int i, clutter_body* b)
{
    const uint32_t u = (uint32_t)i;
    const int c = i % 4;
    double square = 0;
    int j;
    memset(b, 0, sizeof *b);
    b->p[0] = (c & 1 ? 0.2 : -0.2) + 0.01 * clutter_noise(u, 0);
    b->p[1] = (c & 2 ? 0.2 : -0.2) + 0.01 * clutter_noise(u, 1);
    b->p[2] = 0.065 + 0.125 * (i / 4);
    b->q[0] = 1;
    b->q[1] = 0.05 * clutter_noise(u, 2);
    b->q[2] = 0.05 * clutter_noise(u, 3);
    b->q[3] = 0.5 * clutter_noise(u, 4);
    for (j = 0; j < 4; j++) square += b->q[j] * b->q[j];
    for (j = 0; j < 4; j++) b->q[j] /= sqrt(square);
}

/* FNV-1a of the bytes of all p and q, in order: that two programs start from the same state */
static inline uint64_t clutter_hash(const clutter_body* b, int count)
{
    uint64_t hash = 14695981039346656037u;
    int i, j;
    for (i = 0; i < count; i++) {
        unsigned char bytes[7 * sizeof(double)];
        memcpy(bytes, b[i].p, 3 * sizeof(double));
        memcpy(bytes + 3 * sizeof(double), b[i].q, 4 * sizeof(double));
        for (j = 0; j < (int)sizeof bytes; j++) hash = (hash ^ bytes[j]) * 1099511628211u;
    }
    return hash;
}

// ------------------------------------------------------------------------------------------------
// How deep things are in each other: exact, of every pair, from the poses alone

/* rows of r: the matrix that turns the axes of the body to those of the world */
static inline void clutter_rotation(const double q[4], double r[3][3])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    r[0][0] = 1 - 2 * (y * y + z * z);
    r[0][1] = 2 * (x * y - w * z);
    r[0][2] = 2 * (x * z + w * y);
    r[1][0] = 2 * (x * y + w * z);
    r[1][1] = 1 - 2 * (x * x + z * z);
    r[1][2] = 2 * (y * z - w * x);
    r[2][0] = 2 * (x * z - w * y);
    r[2][1] = 2 * (y * z + w * x);
    r[2][2] = 1 - 2 * (x * x + y * y);
}

/* in the half-space where sign x[axis] < limit */
static inline double clutter_depth_plane(const clutter_body* b, double r[3][3], int cube, int axis,
                                         double sign, double limit)
{
    const double* row = r[axis];
    const double reach = cube ? fabs(row[0]) + fabs(row[1]) + fabs(row[2]) : 1;
    return limit - (sign * b->p[axis] - CLUTTER_HALF * reach);
}

static inline double clutter_depth_ball_cube(const double* ball, const double* cube, double r[3][3])
{
    double outside = 0, deepest = -1e9;
    int i;
    for (i = 0; i < 3; i++) {
        const double x = r[0][i] * (ball[0] - cube[0]) + r[1][i] * (ball[1] - cube[1]) +
                         r[2][i] * (ball[2] - cube[2]);
        const double beyond = fabs(x) - CLUTTER_HALF;
        if (beyond > 0) outside += beyond * beyond;
        if (beyond > deepest) deepest = beyond;
    }
    return CLUTTER_HALF - (outside > 0 ? sqrt(outside) : deepest);
}

/* the least overlap over the 15 axes that can separate two cubes; below 0 as soon as one does */
static inline double clutter_depth_cubes(const double* pa, double a[3][3], const double* pb,
                                         double b[3][3])
{
    double least = 1e9;
    int i, j, k;
    for (k = 0; k < 15; k++) {
        double n[3], reach = 0, apart = 0, length = 0, depth;
        if (k < 3) {
            for (i = 0; i < 3; i++) n[i] = a[i][k];
        } else if (k < 6) {
            for (i = 0; i < 3; i++) n[i] = b[i][k - 3];
        } else {
            const int s = (k - 6) / 3, t = (k - 6) % 3;
            n[0] = a[1][s] * b[2][t] - a[2][s] * b[1][t];
            n[1] = a[2][s] * b[0][t] - a[0][s] * b[2][t];
            n[2] = a[0][s] * b[1][t] - a[1][s] * b[0][t];
        }
        for (i = 0; i < 3; i++) {
            length += n[i] * n[i];
            apart += n[i] * (pb[i] - pa[i]);
        }
        length = sqrt(length);
        if (length < 1e-6) continue; /* edges that are parallel: a face's axis does it */
        for (j = 0; j < 3; j++) {
            reach += fabs(n[0] * a[0][j] + n[1] * a[1][j] + n[2] * a[2][j]);
            reach += fabs(n[0] * b[0][j] + n[1] * b[1][j] + n[2] * b[2][j]);
        }
        depth = (CLUTTER_HALF * reach - fabs(apart)) / length;
        if (depth <= 0) return depth;
        if (depth < least) least = depth;
    }
    return least;
}

typedef struct clutter_depths {
    double sum, most;
    int count; /* of overlapping pairs */
} clutter_depths;

static inline void clutter_depth_add(clutter_depths* d, double depth)
{
    if (!(depth > 0)) return;
    d->sum += depth;
    d->count++;
    if (depth > d->most) d->most = depth;
}

static inline clutter_depths clutter_penetration(const clutter_body* b, int count, int walls)
{
    clutter_depths d = {0, 0, 0};
    double(*r)[3][3] = (double(*)[3][3])malloc((size_t)count * sizeof *r);
    int i, j;
    if (!r) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    for (i = 0; i < count; i++) clutter_rotation(b[i].q, r[i]);
    for (i = 0; i < count; i++) {
        const int cube = clutter_is_cube(i);
        clutter_depth_add(&d, clutter_depth_plane(b + i, r[i], cube, 2, 1, 0));
        for (j = 0; walls && j < 4; j++)
            clutter_depth_add(
                &d, clutter_depth_plane(b + i, r[i], cube, j / 2, j % 2 ? 1 : -1, -CLUTTER_WALL));
        for (j = 0; j < i; j++) {
            const double x = b[i].p[0] - b[j].p[0], y = b[i].p[1] - b[j].p[1],
                         z = b[i].p[2] - b[j].p[2], square = x * x + y * y + z * z;
            const int other = clutter_is_cube(j);
            if (square > 12 * CLUTTER_HALF * CLUTTER_HALF)
                continue; /* the diagonals of two cubes */
            if (cube && other)
                clutter_depth_add(&d, clutter_depth_cubes(b[i].p, r[i], b[j].p, r[j]));
            else if (cube)
                clutter_depth_add(&d, clutter_depth_ball_cube(b[j].p, b[i].p, r[i]));
            else if (other)
                clutter_depth_add(&d, clutter_depth_ball_cube(b[i].p, b[j].p, r[j]));
            else
                clutter_depth_add(&d, 2 * CLUTTER_HALF - sqrt(square));
        }
    }
    free(r);
    return d;
}

typedef struct clutter_energies {
    double kinetic, potential, speed_square; /* J, J, m^2/s^2: the mean of the things */
    int escaped;                             /* of things: below the floor, beyond a wall */
} clutter_energies;

static inline clutter_energies clutter_energy(const clutter_body* b, int count, int walls)
{
    clutter_energies e = {0, 0, 0, 0};
    int i, k;
    for (i = 0; i < count; i++) {
        double v = 0, w = 0;
        for (k = 0; k < 3; k++) {
            v += b[i].v[k] * b[i].v[k];
            w += b[i].w[k] * b[i].w[k];
        }
        e.kinetic += 0.5 * (clutter_mass(i) * v + clutter_inertia(i) * w);
        e.potential += clutter_mass(i) * CLUTTER_GRAVITY * b[i].p[2];
        e.speed_square += v / count;
        if (!(b[i].p[2] > -CLUTTER_HALF && b[i].p[2] < 1e3) ||
            (walls && !(fabs(b[i].p[0]) < CLUTTER_WALL + CLUTTER_HALF &&
                        fabs(b[i].p[1]) < CLUTTER_WALL + CLUTTER_HALF)))
            e.escaped++;
    }
    return e;
}

// ------------------------------------------------------------------------------------------------
// What is kept of a run

typedef struct clutter_run {
    int count, walls, steps; /* asked for */
    double dt;
    int done, stride; /* steps done; one of so many is looked at: every 10 ms */
    double* seconds;  /* of each step */
    /* sums over the steps, and over those of the last quarter */
    double contacts, iterations, factorizations, error, contacts_last, iterations_last,
        seconds_last;
    double collision; /* s, of all steps */
    double error_most;
    int contacts_most, iterations_most, steps_last, unsolved;
    /* of what was looked at */
    double depth_sum, depth_most_last, depth_most;
    long depth_count;
    double energy_start, energy_most, energy, rise; /* rise: the most between two looks, J */
    double kinetic, speed_square;
    int looks_last, escaped;
    clutter_body* body;
} clutter_run;

/* What a step did */
typedef struct clutter_step {
    double seconds, collision;                          /* of it */
    double contacts, iterations, factorizations, error; /* error of momentum; below 0: not known */
    int solved;                                         /* 0: it gave up */
} clutter_step;

static inline void clutter_open(clutter_run* r, int count, int walls, double dt, int steps)
{
    int i;
    memset(r, 0, sizeof *r);
    r->count = count;
    r->walls = walls;
    r->dt = dt;
    r->steps = steps;
    r->stride = (int)floor(0.01 / dt + 0.5);
    if (r->stride < 1) r->stride = 1;
    r->seconds = (double*)calloc((size_t)steps + 1, sizeof *r->seconds);
    r->body = (clutter_body*)calloc((size_t)count, sizeof *r->body);
    if (!r->seconds || !r->body) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    for (i = 0; i < count; i++) {
        clutter_start(i, r->body + i);
        r->energy_start += clutter_mass(i) * CLUTTER_GRAVITY * r->body[i].p[2];
    }
    r->energy = r->energy_most = r->energy_start;
}

static inline void clutter_close(clutter_run* r)
{
    free(r->seconds);
    free(r->body);
}

static inline int clutter_is_last_quarter(const clutter_run* r)
{
    return r->done > r->steps - r->steps / 4;
}

/* After each step; if it answers 1, the state of all things is wanted in r->body and clutter_look is
   called */
static inline int clutter_took(clutter_run* r, const clutter_step* s)
{
    r->seconds[r->done++] = s->seconds;
    r->collision += s->collision;
    r->contacts += s->contacts;
    r->iterations += s->iterations;
    r->factorizations += s->factorizations;
    r->error += s->error;
    if (s->error > r->error_most) r->error_most = s->error;
    if (s->contacts > r->contacts_most) r->contacts_most = (int)s->contacts;
    if (s->iterations > r->iterations_most) r->iterations_most = (int)s->iterations;
    r->unsolved += !s->solved;
    if (clutter_is_last_quarter(r)) {
        r->steps_last++;
        r->contacts_last += s->contacts;
        r->iterations_last += s->iterations;
        r->seconds_last += s->seconds;
    }
    return r->done % r->stride == 0 || r->done == r->steps;
}

/* 0: the state is not finite, and the run is over */
static inline int clutter_look(clutter_run* r)
{
    const clutter_energies e = clutter_energy(r->body, r->count, r->walls);
    const double before = r->energy;
    clutter_depths d;
    r->kinetic = e.kinetic;
    r->energy = e.kinetic + e.potential;
    if (!(r->energy < 1e300)) {
        r->escaped = r->count;
        return 0;
    }
    d = clutter_penetration(r->body, r->count, r->walls);
    if (r->energy > r->energy_most) r->energy_most = r->energy;
    if (r->energy - before > r->rise) r->rise = r->energy - before;
    if (e.escaped > r->escaped) r->escaped = e.escaped;
    if (d.most > r->depth_most) r->depth_most = d.most;
    if (clutter_is_last_quarter(r)) {
        r->depth_sum += d.sum;
        r->depth_count += d.count;
        if (d.most > r->depth_most_last) r->depth_most_last = d.most;
        r->speed_square += e.speed_square;
        r->looks_last++;
    }
    return 1;
}

#endif
