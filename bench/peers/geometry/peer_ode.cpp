/* ODE: dCollide between two geoms, up to 8 contacts. No distance between separate shapes. */
#include "shapes.hpp"
#include <ode/ode.h>
struct Ode : Peer {
    dGeomID a = 0, b = 0; std::vector<std::vector<dReal>> keep; std::vector<std::vector<unsigned>> keepu;
    Ode() { name = sizeof(dReal) == 8 ? "ODE (double)" : "ODE (float)"; dInitODE2(0); }
    dGeomID mk(const Shape &s) {
        if (s.kind == SPHERE) return dCreateSphere(0, s.r);
        if (s.kind == CAPSULE) return dCreateCapsule(0, s.r, 2*s.h);
        if (s.kind == BOX) return dCreateBox(0, 2*s.half.x, 2*s.half.y, 2*s.half.z);
        std::vector<dReal> pl, pt; std::vector<unsigned> po;
        for (size_t f = 0; f < s.poly.size(); ++f) { V n = s.fn[f]; pl.insert(pl.end(), {n.x, n.y, n.z, dot(n, s.v[s.poly[f][0]])}); po.push_back((unsigned)s.poly[f].size()); for (int i : s.poly[f]) po.push_back((unsigned)i); }
        for (V p : s.v) pt.insert(pt.end(), {p.x, p.y, p.z});
        keep.push_back(pl); keep.push_back(pt); keepu.push_back(po);
        return dCreateConvex(0, keep[keep.size()-2].data(), (unsigned)s.poly.size(), keep.back().data(), (unsigned)s.v.size(), keepu.back().data());
    }
    bool prep(const Shape &A, const Shape &B) override { if (A.v.size() > 64 || B.v.size() > 64) return false; if (a) { dGeomDestroy(a); dGeomDestroy(b); } a = mk(A); b = mk(B); return true; }
    static void put(dGeomID g, const Pose &p) { dQuaternion q = {p.q[0], p.q[1], p.q[2], p.q[3]}; dGeomSetPosition(g, p.p.x, p.p.y, p.p.z); dGeomSetQuaternion(g, q); }
    void query(const Pose &p, const Pose &q, Out &o) override {
        put(a, p); put(b, q); dContactGeom c[8]; int n = dCollide(a, b, 8, c, sizeof c[0]); o.hit = n > 0; o.has_d = n > 0; o.contacts = n; double w = -1e300;
        for (int i = 0; i < n; ++i) if (c[i].depth > w) { w = c[i].depth; o.n = {-c[i].normal[0], -c[i].normal[1], -c[i].normal[2]}; }
        o.d = -w;
    }
};
std::vector<Peer *> peers_ode() { return {new Ode()}; }
