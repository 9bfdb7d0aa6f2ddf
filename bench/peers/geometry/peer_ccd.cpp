/* libccd: GJK+EPA and MPR penetration. No distance between separate shapes. */
#include "shapes.hpp"
extern "C" {
#include <ccd/ccd.h>
#include <ccd/quat.h>
}
struct Obj { const Shape *s; Pose t; };
static void sup(const void *o, const ccd_vec3_t *d, ccd_vec3_t *out)
{
    const Obj *ob = (const Obj *)o; V w{ccdVec3X(d), ccdVec3Y(d), ccdVec3Z(d)}, l = tmul(ob->t.R, w), r;
    if (ob->s->kind == BOX) { V h = ob->s->half; r = {l.x < 0 ? -h.x : h.x, l.y < 0 ? -h.y : h.y, l.z < 0 ? -h.z : h.z}; }
    else { double b = -1e300; r = {0,0,0}; for (const V &p : ob->s->v) { double x = dot(p, l); if (x > b) { b = x; r = p; } } }
    r = mul(ob->t.R, r) + ob->t.p; if (ob->s->r > 0) r = r + unit(w)*ob->s->r;
    ccdVec3Set(out, (ccd_real_t)r.x, (ccd_real_t)r.y, (ccd_real_t)r.z);
}
static void cen(const void *o, ccd_vec3_t *c) { const Obj *ob = (const Obj *)o; ccdVec3Set(c, (ccd_real_t)ob->t.p.x, (ccd_real_t)ob->t.p.y, (ccd_real_t)ob->t.p.z); }
struct Ccd : Peer {
    bool mpr; ccd_t c; Obj a, b;
    Ccd(bool m) : mpr(m) { name = m ? "libccd MPR" : "libccd GJK/EPA"; CCD_INIT(&c); c.support1 = c.support2 = sup; c.center1 = c.center2 = cen; c.max_iterations = 500; c.epa_tolerance = (ccd_real_t)1e-6; c.mpr_tolerance = (ccd_real_t)1e-6; }
    bool prep(const Shape &A, const Shape &B) override { a.s = &A; b.s = &B; return true; }
    void query(const Pose &p, const Pose &q, Out &o) override {
        a.t = p; b.t = q; ccd_real_t dep = 0; ccd_vec3_t dir, pos; ccdVec3Set(&dir, 0, 0, 0);
        int rc = mpr ? ccdMPRPenetration(&a, &b, &c, &dep, &dir, &pos) : ccdGJKPenetration(&a, &b, &c, &dep, &dir, &pos);
        o.hit = rc == 0; o.has_d = o.hit; o.d = -(double)dep; o.n = {ccdVec3X(&dir), ccdVec3Y(&dir), ccdVec3Z(&dir)}; o.contacts = o.hit;
    }
};
std::vector<Peer *> peers_ccd() { return {new Ccd(false), new Ccd(true)}; }
