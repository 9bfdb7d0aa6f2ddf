// The peer of bench/world.c; see world_peers.h. Needs MuJoCo, 2.2 or newer.
//   g++ -O3 -march=native ... -lmujoco

#include "world_peers.h"

#define PEERS_MUJOCO
#include "common.h"

#include <cstring>

namespace
{

const char* const solver_names[] = {"mujoco", "mujoco_tight", "mujoco_elliptic",
                                    "mujoco_elliptic_tight"};

void write_link(const peers_tree& tree, int k, std::string& xml)
{
    const peers_link& link = tree.link[k];
    xml += "<body pos=\"" + numbers(link.at, 3) + "\">\n";
    if (k == 0 && tree.floats)
        xml += "<freejoint/>\n";
    else
        xml += "<joint type=\"hinge\" limited=\"false\" axis=\"" + numbers(link.axis, 3) +
               "\" stiffness=\"" + number(link.stiffness) + "\" damping=\"" + number(link.damping) +
               "\" armature=\"" + number(link.armature) + "\"/>\n";
    xml += "<inertial pos=\"" + numbers(link.center, 3) + "\" mass=\"" + number(link.mass) +
           "\" diaginertia=\"" + numbers(link.inertia, 3) + "\"/>\n";
    for (int i = 0; i < tree.points; i++) {
        if (tree.point[i].link == k)
            xml += "<geom type=\"sphere\" size=\"" + number(tree.radius) + "\" pos=\"" +
                   numbers(tree.point[i].at, 3) + "\" contype=\"1\" conaffinity=\"0\"/>\n";
    }
    for (int i = k + 1; i < tree.links; i++) {
        if (tree.link[i].parent == k) write_link(tree, i, xml);
    }
    xml += "</body>\n";
}

mjModel* make_model(const peers_tree& tree, double dt)
{
    std::string xml = "<mujoco><compiler angle=\"radian\"/><option timestep=\"" + number(dt) +
                      "\"/><default><geom friction=\"" + number(tree.friction) +
                      " 0.005 0.0001\" condim=\"3\"/></default><worldbody>\n"
                      "<geom type=\"plane\" size=\"0 0 1\" contype=\"0\" conaffinity=\"1\"/>\n";
    write_link(tree, 0, xml);
    xml += "</worldbody></mujoco>\n";

    return mujoco_model(xml);
}

} // namespace

struct peers_world {
    mjModel* m;
    mjData *d, *kept;
    const peers_tree* tree;
    double iterations, contacts;
    long steps;
};

extern "C" {

const char* peers_versions(void)
{
    static char text[64];
    std::snprintf(text, sizeof text, "MuJoCo %s", mj_versionString());
    return text;
}

int peers_solver_count(void)
{
    return 4;
}

const char* peers_solver_name(int solver)
{
    return solver_names[solver];
}

peers_world* peers_open(const peers_tree* tree, double dt, int solver, int contacts)
{
    mjModel* m = make_model(*tree, dt);
    if (!m) return nullptr;
    if (solver % 2) {
        m->opt.tolerance = 1e-10;
        m->opt.iterations = 500;
    }
    if (solver >= 2) m->opt.cone = mjCONE_ELLIPTIC;
    if (!contacts) m->opt.disableflags |= mjDSBL_CONTACT;
    peers_world* w = new peers_world();
    w->m = m;
    w->d = mj_makeData(m);
    w->kept = mj_makeData(m);
    w->tree = tree;
    mj_forward(m, w->d);
    peers_keep(w);
    return w;
}

void peers_close(peers_world* w)
{
    if (!w) return;
    mj_deleteData(w->kept);
    mj_deleteData(w->d);
    mj_deleteModel(w->m);
    delete w;
}

void peers_run(peers_world* w, int first, int steps)
{
    const peers_tree& tree = *w->tree;
    const int hinges = tree.links - tree.floats;
    for (int i = first; i < first + steps; i++) {
        if (tree.efforts)
            std::memcpy(w->d->qfrc_applied + (tree.floats ? 6 : 0),
                        tree.efforts + (size_t)(i % tree.effort_steps) * (size_t)hinges,
                        (size_t)hinges * sizeof(double));
        mj_step(w->m, w->d);
#if mjVERSION_HEADER >= 300
        w->iterations += w->d->solver_niter[0];
#endif
        w->contacts += w->d->ncon;
        w->steps++;
    }
}

void peers_keep(peers_world* w)
{
    mj_copyData(w->kept, w->m, w->d);
}

void peers_restore(peers_world* w)
{
    mj_copyData(w->d, w->m, w->kept);
    w->iterations = w->contacts = 0;
    w->steps = 0;
}

void peers_angles(const peers_world* w, double* angles)
{
    const int skip = w->tree->floats ? 7 : 0;
    for (int i = skip; i < w->m->nq; i++) angles[i - skip] = w->d->qpos[i];
}

void peers_look(const peers_world* w, peers_report* report)
{
    const double steps = w->steps ? (double)w->steps : 1;
    double depth = 0;
    for (int i = 0; i < w->d->ncon; i++) depth -= w->d->contact[i].dist;
    report->height = w->d->xpos[5];
    report->contacts = w->contacts / steps;
#if mjVERSION_HEADER >= 300
    report->iterations = w->iterations / steps;
#else
    report->iterations = -1;
#endif
    report->penetration = w->d->ncon ? depth / w->d->ncon : 0;
}

} // extern "C"
