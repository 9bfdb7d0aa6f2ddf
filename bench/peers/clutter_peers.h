/* MuJoCo, ODE and Bullet on the clutter scene behind a plain C interface, for bench/clutter.c. Each is
   there if it was found when this was built (bench/clutter.mk): libode-dev and libbullet-dev of Debian, and
   MuJoCo as world_peers.h says. */

#ifndef CLUTTER_PEERS_H
#define CLUTTER_PEERS_H

#include "../bench.h"
#include "../clutter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct clutter_peer clutter_peer;

const char* clutter_peer_versions(void);

/* Ways to solve, of all engines together: "mujoco newton", "ode quick", ... */
int clutter_peer_count(void);
const char* clutter_peer_name(int which);
/* 1: solves the convex problem of its step, and says how well (clutter_step.error) */
int clutter_peer_converges(int which);

/* NULL, and why on stderr, when it cannot be made */
clutter_peer* clutter_peer_open(int which, int count, int walls, double dt);
void clutter_peer_close(clutter_peer* p);

/* Steps, and fills all of *step, its times included */
void clutter_peer_step(clutter_peer* p, clutter_step* step);
void clutter_peer_get(const clutter_peer* p, clutter_body* b);

#ifdef __cplusplus
}
#endif
#endif
