/* Bullet: (1) the dispatcher's own algorithm for the pair, with its manifold; (2) btGjkPairDetector + EPA directly; (3) btMprPenetration is left out.
 * (2) sets the margins of boxes and hulls to 0; (1) keeps the box's own margin, as a user would, and 0 for hulls. */
#include "shapes.hpp"
#include <btBulletCollisionCommon.h>
#include <BulletCollision/CollisionDispatch/btManifoldResult.h>
#include <BulletCollision/CollisionDispatch/btCollisionObjectWrapper.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkPairDetector.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkEpaPenetrationDepthSolver.h>
#include <BulletCollision/NarrowPhaseCollision/btPointCollector.h>
#include <memory>
static btConvexShape *mk(const Shape &s, bool exact)
{
    if (s.kind == SPHERE) return new btSphereShape(btScalar(s.r));
    if (s.kind == CAPSULE) return new btCapsuleShapeZ(btScalar(s.r), btScalar(2*s.h));
    if (s.kind == BOX) { auto *b = new btBoxShape(btVector3(btScalar(s.half.x), btScalar(s.half.y), btScalar(s.half.z))); if (exact) b->setMargin(0); return b; }
    auto *h = new btConvexHullShape(); for (V p : s.v) h->addPoint(btVector3(btScalar(p.x), btScalar(p.y), btScalar(p.z)), false); h->recalcLocalAabb(); h->setMargin(0); return h;
}
static btTransform tf(const Pose &p) { return btTransform(btQuaternion(btScalar(p.q[1]), btScalar(p.q[2]), btScalar(p.q[3]), btScalar(p.q[0])), btVector3(btScalar(p.p.x), btScalar(p.p.y), btScalar(p.p.z))); }
static const char *prec = sizeof(btScalar) == 8 ? " f64" : " f32";
struct BtAlg : Peer {
    btDefaultCollisionConfiguration cfg; btCollisionDispatcher dis; std::unique_ptr<btConvexShape> a, b; btCollisionObject oa, ob; btCollisionAlgorithm *alg = 0; btPersistentManifold *mf = 0;
    BtAlg() : dis(&cfg) { name = std::string("Bullet manifold") + prec; }
    bool prep(const Shape &A, const Shape &B) override {
        if (alg) { alg->~btCollisionAlgorithm(); dis.freeCollisionAlgorithm(alg); }  /* the algorithm owns its manifold */
        mf = 0;
        a.reset(mk(A, false)); b.reset(mk(B, false)); oa.setCollisionShape(a.get()); ob.setCollisionShape(b.get());
        btCollisionObjectWrapper wa(0, a.get(), &oa, oa.getWorldTransform(), -1, -1), wb(0, b.get(), &ob, ob.getWorldTransform(), -1, -1);
        alg = dis.findAlgorithm(&wa, &wb, 0, BT_CONTACT_POINT_ALGORITHMS); return alg != 0;
    }
    void query(const Pose &p, const Pose &q, Out &o) override {
        oa.setWorldTransform(tf(p)); ob.setWorldTransform(tf(q)); if (mf) mf->clearManifold();
        btCollisionObjectWrapper wa(0, a.get(), &oa, oa.getWorldTransform(), -1, -1), wb(0, b.get(), &ob, ob.getWorldTransform(), -1, -1);
        btManifoldResult rs(&wa, &wb); btDispatcherInfo di; alg->processCollision(&wa, &wb, di, &rs);
        if (!mf) { btManifoldArray ar; alg->getAllContactManifolds(ar); if (ar.size()) mf = ar[0]; else { o.hit = 0; o.has_d = false; o.contacts = 0; return; } }
        o.contacts = mf->getNumContacts(); o.has_d = o.contacts > 0; double w = 1e300;
        bool sw = mf->getBody0() != &oa;
        for (int i = 0; i < o.contacts; ++i) { auto &c = mf->getContactPoint(i); if (c.getDistance() < w) { w = c.getDistance(); btVector3 n = c.m_normalWorldOnB; if (sw) n = -n; o.n = {-n.x(), -n.y(), -n.z()}; } }
        o.d = w; o.hit = o.has_d && w < 0;
    }
};
struct BtGjk : Peer {
    std::unique_ptr<btConvexShape> a, b; btVoronoiSimplexSolver sx; btGjkEpaPenetrationDepthSolver epa;
    BtGjk() { name = std::string("Bullet GJK+EPA") + prec; }
    bool prep(const Shape &A, const Shape &B) override { a.reset(mk(A, true)); b.reset(mk(B, true)); return true; }
    void query(const Pose &p, const Pose &q, Out &o) override {
        btGjkPairDetector g(a.get(), b.get(), &sx, &epa); btGjkPairDetector::ClosestPointInput in; in.m_transformA = tf(p); in.m_transformB = tf(q); in.m_maximumDistanceSquared = btScalar(1e30);
        btPointCollector pc; g.getClosestPoints(in, pc, 0); o.has_d = pc.m_hasResult; o.d = pc.m_distance; o.hit = pc.m_hasResult && pc.m_distance < 0; o.contacts = pc.m_hasResult;
        btVector3 n = pc.m_normalOnBInWorld; o.n = {-n.x(), -n.y(), -n.z()};
    }
};
std::vector<Peer *> peers_bullet() { return {new BtAlg(), new BtGjk()}; }
