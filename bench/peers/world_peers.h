/* MuJoCo behind a plain C interface, for bench/world.c.

   Debian's libmujoco-dev is found by itself, but is old. For a newer one unpack a wheel of PyPI and name
   the directory that holds libmujoco.so.* and include/:

       pip download --no-deps mujoco-core      (until 3.17: mujoco)
       unzip -d build/wheel mujoco_core-*.whl
       make bench-world MUJOCO=build/wheel/mujoco */

#ifndef WORLD_PEERS_H
#define WORLD_PEERS_H

#ifdef __cplusplus
extern "C" {
#endif

/* A tree of bodies. The first hangs on nothing, each other on an earlier one, by a hinge; parents come
   before children, and a limb is finished before the next begins. All axes of bodies are parallel
   where the hinges are at 0. */
typedef struct peers_link {
    int parent;     /* -1: none; of the first, unless the tree floats, the ground */
    double at[3];   /* the hinge and the origin of the body, in the axes of the parent */
    double axis[3]; /* of the hinge */
    double mass;
    double center[3], inertia[3]; /* about the centre of mass, along the axes of the body */
    double stiffness, damping, armature;
} peers_link;

/* A ball that touches the ground, z = 0 */
typedef struct peers_point {
    int link;
    double at[3]; /* its centre */
} peers_point;

enum { PEERS_LINKS = 128, PEERS_POINTS = 32 };

typedef struct peers_tree {
    int floats; /* 1: the first body is free; 0: it hangs on the ground by a hinge */
    int links, points;
    peers_link link[PEERS_LINKS];
    peers_point point[PEERS_POINTS];
    double radius, friction;
    /* torques of the hinges for a number of steps, over and over; NULL: none */
    const double* efforts;
    int effort_steps;
} peers_tree;

typedef struct peers_world peers_world;

const char* peers_versions(void);

/* Ways to solve: the defaults of MuJoCo, and others */
int peers_solver_count(void);
const char* peers_solver_name(int solver);

/* contacts 0: what touches does not count. NULL, and why on stderr, when it cannot be made. */
peers_world* peers_open(const peers_tree* tree, double dt, int solver, int contacts);
void peers_close(peers_world* w);

/* So many steps; the number of the step says which efforts */
void peers_run(peers_world* w, int first, int steps);

/* Back to what was kept; peers_open keeps the start */
void peers_keep(peers_world* w);
void peers_restore(peers_world* w);

/* Angles of the hinges, in the order of links */
void peers_angles(const peers_world* w, double* angles);

/* iterations and contacts: means of the steps since the last restore; below 0: unknown */
typedef struct peers_report {
    double height; /* of the first body */
    double contacts, iterations;
    double penetration; /* mean of the contacts of the last step, m */
} peers_report;

void peers_look(const peers_world* w, peers_report* report);

#ifdef __cplusplus
}
#endif
#endif
