/* FCL, double: collide() with contacts and distance() signed, with libccd's solver (the default) and its own. */
#include "shapes.hpp"
#include <fcl/fcl.h>
#include <memory>
#include <csetjmp>
#include <csignal>
static sigjmp_buf jb; static void on_abort(int) { siglongjmp(jb, 1); }   /* FCL's library asserts on some inputs: counted as a failure */
typedef std::shared_ptr<fcl::CollisionGeometryd> G;
static G geom(const Shape &s)
{
    if (s.kind == SPHERE) return std::make_shared<fcl::Sphered>(s.r);
    if (s.kind == CAPSULE) return std::make_shared<fcl::Capsuled>(s.r, 2*s.h);
    if (s.kind == BOX) return std::make_shared<fcl::Boxd>(2*s.half.x, 2*s.half.y, 2*s.half.z);
    auto v = std::make_shared<std::vector<fcl::Vector3d>>(); auto f = std::make_shared<std::vector<int>>();
    for (V p : s.v) v->push_back({p.x, p.y, p.z});
    for (auto &p : s.poly) { f->push_back((int)p.size()); for (int i : p) f->push_back(i); }
    return std::make_shared<fcl::Convexd>(v, (int)s.poly.size(), f);
}
static fcl::Transform3d tf(const Pose &p) { fcl::Transform3d t = fcl::Transform3d::Identity(); t.linear() = fcl::Quaterniond(p.q[0], p.q[1], p.q[2], p.q[3]).toRotationMatrix(); t.translation() = fcl::Vector3d(p.p.x, p.p.y, p.p.z); return t; }
struct Fcl : Peer {
    bool dist; fcl::GJKSolverType st; G a, b;
    Fcl(bool d, bool ind) : dist(d), st(ind ? fcl::GST_INDEP : fcl::GST_LIBCCD) { std::signal(SIGABRT, on_abort); name = std::string("FCL ") + (d ? "distance " : "collide ") + (ind ? "indep" : "ccd"); }
    bool prep(const Shape &A, const Shape &B) override { a = geom(A); b = geom(B); return true; }
    void query(const Pose &p, const Pose &q, Out &o) override {
        o.hit = 0; o.has_d = false; o.contacts = 0;
        if (sigsetjmp(jb, 1)) { o.hit = -1; o.d = NAN; return; }
        try {
        if (!dist) {
            fcl::CollisionRequestd rq(8, true); rq.gjk_solver_type = st; fcl::CollisionResultd rs;
            fcl::collide(a.get(), tf(p), b.get(), tf(q), rq, rs); o.hit = rs.isCollision(); o.contacts = (int)rs.numContacts();
            double w = -1e300; for (size_t i = 0; i < rs.numContacts(); ++i) { auto &c = rs.getContact(i); if (c.penetration_depth > w) { w = c.penetration_depth; o.n = {c.normal[0], c.normal[1], c.normal[2]}; } }
            if (w < 0) { w = -w; o.n = -o.n; }   /* GST_INDEP hands back a negative depth and the opposite normal for pairs it solves with GJK/EPA */
            o.has_d = o.contacts > 0; o.d = -w;
        } else {
            fcl::DistanceRequestd rq(true, st == fcl::GST_LIBCCD); rq.gjk_solver_type = st; fcl::DistanceResultd rs;
            o.d = fcl::distance(a.get(), tf(p), b.get(), tf(q), rq, rs); o.hit = o.d < 0; o.has_d = !(st == fcl::GST_INDEP && o.hit); o.contacts = 1;   /* GST_INDEP: unsigned only, -1 on overlap (its signed mode aborts on tiny gaps) */
            fcl::Vector3d n = rs.nearest_points[1]-rs.nearest_points[0]; if (o.d < 0) n = -n; n.normalize(); o.n = {n[0], n[1], n[2]};
        }
        } catch (std::exception &) { o.hit = -1; o.d = NAN; }
    }
};
std::vector<Peer *> peers_fcl() { return {new Fcl(false, false), new Fcl(true, false), new Fcl(false, true), new Fcl(true, true)}; }
