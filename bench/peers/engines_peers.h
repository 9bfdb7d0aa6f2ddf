/* What bench/engines.c asks of an engine, of ours and of its peers alike, and the peers: MuJoCo, ODE and
   Bullet, each if it was found when this was built (bench/clutter.mk).

   SI units, the axes of the world; quaternions are (w, x, y, z). */

#ifndef ENGINES_PEERS_H
#define ENGINES_PEERS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct engine_state {
    double p[3], q[4], v[3], w[3];
} engine_state;

enum { ENGINE_BOX, ENGINE_BALL, ENGINE_PLANE }; /* of a plane: a half-space, whose normal is z */

/* A body of one shape and of uniform density, its centre of mass at p. Without mass it keeps the velocity it
   starts with, whatever pushes it. */
typedef struct engine_body {
    int shape;
    double half[3]; /* a ball has the radius half[0] */
    double at[3];   /* where the shape is on the body: other than 0 only without mass */
    double mass;
    engine_state start;
    /* 1: it only slides along an axis, given in the world, on its parent, -1 the ground, and is pushed
       along by a force. The parent was added before it and starts unturned */
    int slides, parent;
    double axis[3], push;
} engine_body;

/* A scene in an engine; no engine sleeps unless its name says so */
typedef struct engine {
    const struct engine_kind* kind;
} engine;

/* A way to use an engine */
typedef struct engine_kind {
    const char* name;
    int option[3]; /* its own */
    /* NULL, and why on stderr, when it cannot be made */
    engine* (*create)(const struct engine_kind* kind, double dt, double friction);
    void (*destroy)(engine* e);
    /* all bodies before the first step; they are numbered 0, 1, ... */
    void (*add)(engine* e, const engine_body* body);
    void (*gravity)(engine* e, const double g[3]);
    void (*force)(engine* e, int body,
                  const double f[3]); /* at its centre, until it is given anew */
    double (*step)(
        engine* e); /* how many iterations it took, of the hardest group; -1: it failed */
    void (*get)(engine* e, int body, engine_state* state);
} engine_kind;

/* About the axes of the body, which has mass */
static inline void engine_inertia(const engine_body* b, double inertia[3])
{
    int i;
    for (i = 0; i < 3; i++) {
        const double y = b->half[(i + 1) % 3], z = b->half[(i + 2) % 3];
        inertia[i] = b->shape == ENGINE_BALL ? 0.4 * b->mass * b->half[0] * b->half[0]
                                             : b->mass * (y * y + z * z) / 3;
    }
}

const char* engine_peer_versions(void);
const engine_kind* engine_peers(int* count);

#ifdef __cplusplus
}
#endif
#endif
