/* icf: the distance of two shapes, and the manifold with margin 0, in double and float. */
#ifdef PEER_ICF_FLOAT
#define ICF_FLOAT
#endif
#define ICF_STATIC
#define ICF_IMPLEMENTATION
#include "../../../icf_geometry.h"
#include "shapes.hpp"
namespace {
icf_shape make(const Shape& s)
{
    icf_real r = (icf_real)s.r;
    if (s.kind == SPHERE) return icf_sphere(r);
    if (s.kind == CAPSULE) return icf_capsule(r, (icf_real)s.h);
    return icf_box((icf_real)s.half.x, (icf_real)s.half.y, (icf_real)s.half.z);
}
icf_transform pose(const Pose& p)
{
    return icf_transform_make(icf_quat_make((icf_real)p.q[1], (icf_real)p.q[2], (icf_real)p.q[3], (icf_real)p.q[0]),
                              icf_vec3_make((icf_real)p.p.x, (icf_real)p.p.y, (icf_real)p.p.z));
}
struct Icf : Peer {
    bool manifold; icf_shape a, b;
    Icf(bool m) : manifold(m) { name = std::string(m ? "icf manifold" : "icf distance") + (sizeof(icf_real) == 8 ? " f64" : " f32"); }
    bool prep(const Shape& A, const Shape& B) override { if (A.kind == HULL || B.kind == HULL) return false; a = make(A); b = make(B); return true; }
    void query(const Pose& p, const Pose& q, Out& o) override
    {
        icf_transform ta = pose(p), tb = pose(q);
        if (manifold) {
            icf_manifold m;
            icf_manifold_make(&a, &ta, &b, &tb, 0, 8, 0, &m);
            o.hit = m.count > 0; o.contacts = m.count; o.has_d = m.count > 0;
            icf_real least = ICF_REAL_MAX;
            for (int i = 0; i < m.count; ++i) least = m.point[i].distance < least ? m.point[i].distance : least;
            o.d = least;
            o.n = {m.normal.x, m.normal.y, m.normal.z};
        } else {
            icf_separation s;
            icf_shape_distance(&a, &ta, &b, &tb, &s);
            o.hit = s.distance < 0; o.contacts = 1; o.has_d = true; o.d = s.distance;
            o.n = {s.normal.x, s.normal.y, s.normal.z};
        }
    }
};
}
#ifdef PEER_ICF_FLOAT
std::vector<Peer*> peers_icf_float() { return {new Icf(false), new Icf(true)}; }
#else
std::vector<Peer*> peers_icf() { return {new Icf(false), new Icf(true)}; }
#endif
