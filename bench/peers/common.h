/* What the peers of several benchmarks share, in C++: the engines that were found (bench/clutter.mk defines
   PEERS_MUJOCO, PEERS_ODE, PEERS_BULLET), their versions, and models of MuJoCo from text. */

#ifndef PEERS_COMMON_H
#define PEERS_COMMON_H

#ifdef PEERS_MUJOCO
#include <mujoco/mujoco.h>
#include <unistd.h>
#endif
#ifdef PEERS_ODE
#include <ode/ode.h>
#endif
#ifdef PEERS_BULLET
#include <btBulletDynamicsCommon.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <string>

inline std::string numbers(const double* x, int count)
{
    std::string text;
    char one[64];
    for (int i = 0; i < count; i++) {
        std::snprintf(one, sizeof one, i ? " %.17g" : "%.17g", x[i]);
        text += one;
    }
    return text;
}

inline std::string number(double x)
{
    return numbers(&x, 1);
}

#ifdef PEERS_MUJOCO

// nullptr, and why on stderr, when it cannot be made
inline mjModel* mujoco_model(const std::string& xml)
{
    // by a file: how to do it from memory has changed
    char name[] = "/tmp/peers_XXXXXX", message[1000] = "";
    const int file = mkstemp(name);
    if (file < 0) return nullptr;
    const bool written = write(file, xml.data(), xml.size()) == (ssize_t)xml.size();
    close(file);
    mjModel* m = written ? mj_loadXML(name, nullptr, message, sizeof message) : nullptr;
    unlink(name);
    if (!m) std::fprintf(stderr, "MuJoCo: %s\n", message);
    return m;
}

// of the last step, of the island that took most
inline double mujoco_iterations(const mjData* d)
{
    double most = 0;
#if mjVERSION_HEADER >= 300
    for (int i = 0; i < (d->nisland < 1 ? 1 : d->nisland) && i < mjNISLAND; i++)
        most = d->solver_niter[i] > most ? d->solver_niter[i] : most;
#else
    most = d->solver_iter;
#endif
    return most;
}

#endif

inline const char* peer_versions()
{
    static std::string text;
    text = "";
#ifdef PEERS_MUJOCO
    text += std::string("MuJoCo ") + mj_versionString();
#else
    text += "MuJoCo not found (bench/peers/world_peers.h)";
#endif
#ifdef PEERS_ODE
    text += dCheckConfiguration("ODE_double_precision") ? ", ODE in double" : ", ODE in single";
#else
    text += ", ODE not found (libode-dev, pkg-config)";
#endif
#ifdef PEERS_BULLET
    text += ", Bullet " + std::to_string(btGetVersion() / 100) + "." +
            std::to_string(btGetVersion() % 100) +
            (sizeof(btScalar) == 8 ? " in double" : " in single");
#else
    text += ", Bullet not found (libbullet-dev, pkg-config)";
#endif
    return text.c_str();
}

#endif
