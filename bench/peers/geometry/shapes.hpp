/* Shapes, poses and the brute-force reference the peers are compared with. All in double.
 * A shape is a convex core (vertices, outward face planes, edges) swollen by a radius r:
 * sphere = 1 vertex + r, capsule = 2 vertices + r, box = 8 vertices, hull = n vertices. */
#ifndef SHAPES_H
#define SHAPES_H
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <array>
#include <string>
#include <algorithm>

struct V { double x, y, z; };
static inline V operator+(V a, V b) { return {a.x+b.x, a.y+b.y, a.z+b.z}; }
static inline V operator-(V a, V b) { return {a.x-b.x, a.y-b.y, a.z-b.z}; }
static inline V operator*(V a, double s) { return {a.x*s, a.y*s, a.z*s}; }
static inline V operator-(V a) { return {-a.x, -a.y, -a.z}; }
static inline double dot(V a, V b) { return a.x*b.x + a.y*b.y + a.z*b.z; }
static inline V cross(V a, V b) { return {a.y*b.z-a.z*b.y, a.z*b.x-a.x*b.z, a.x*b.y-a.y*b.x}; }
static inline double len(V a) { return std::sqrt(dot(a, a)); }
static inline V unit(V a) { double l = len(a); return l > 0 ? a*(1/l) : V{1, 0, 0}; }

struct M { double m[9]; };                                   /* row major */
static inline V mul(const M &r, V v) { return {r.m[0]*v.x+r.m[1]*v.y+r.m[2]*v.z, r.m[3]*v.x+r.m[4]*v.y+r.m[5]*v.z, r.m[6]*v.x+r.m[7]*v.y+r.m[8]*v.z}; }
static inline V tmul(const M &r, V v) { return {r.m[0]*v.x+r.m[3]*v.y+r.m[6]*v.z, r.m[1]*v.x+r.m[4]*v.y+r.m[7]*v.z, r.m[2]*v.x+r.m[5]*v.y+r.m[8]*v.z}; }
struct Pose { M R; V p; double q[4]; };                      /* q = w x y z */
static inline Pose make_pose(const double q[4], V p)
{
    double n = std::sqrt(q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3]), w = q[0]/n, x = q[1]/n, y = q[2]/n, z = q[3]/n;
    Pose t; t.p = p; t.q[0] = w; t.q[1] = x; t.q[2] = y; t.q[3] = z;
    double m[9] = {1-2*(y*y+z*z), 2*(x*y-w*z), 2*(x*z+w*y), 2*(x*y+w*z), 1-2*(x*x+z*z), 2*(y*z-w*x), 2*(x*z-w*y), 2*(y*z+w*x), 1-2*(x*x+y*y)};
    std::copy(m, m+9, t.R.m); return t;
}

struct Rng { uint64_t s; explicit Rng(uint64_t k) : s(k*0x9E3779B97F4A7C15ull+1) {}
    uint64_t next() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s * 0x2545F4914F6CDD1Dull; }
    double u() { return (double)(next() >> 11) * (1.0/9007199254740992.0); }
    double u(double a, double b) { return a + (b-a)*u(); }
    double g() { double a = u(), b = u(); return std::sqrt(-2*std::log(a+1e-300))*std::cos(6.283185307179586*b); }
    V dir() { return unit(V{g(), g(), g()}); }
    void quat(double q[4]) { for (int i = 0; i < 4; ++i) q[i] = g(); } };

enum Kind { SPHERE, CAPSULE, BOX, HULL };
struct Edge { int a, b, f0, f1; };
struct Shape {
    Kind kind; double r = 0, h = 0, R = 0; V half{0, 0, 0};  /* capsule core half length h along z */
    std::vector<V> v, fn; std::vector<std::array<int,3>> tri; std::vector<int> trif; std::vector<Edge> e; std::vector<std::vector<int>> poly;
};
static inline void finish(Shape &s) { s.R = 0; for (V p : s.v) s.R = std::max(s.R, len(p)); s.R += s.r; }
static inline Shape mk_sphere(double r) { Shape s; s.kind = SPHERE; s.r = r; s.v = {{0,0,0}}; finish(s); return s; }
static inline Shape mk_capsule(double r, double h) { Shape s; s.kind = CAPSULE; s.r = r; s.h = h; s.v = {{0,0,-h},{0,0,h}}; s.e = {{0,1,-1,-1}}; finish(s); return s; }
static inline void edges_from_polys(Shape &s)
{
    for (size_t f = 0; f < s.poly.size(); ++f) for (size_t k = 0; k < s.poly[f].size(); ++k) {
        int a = s.poly[f][k], b = s.poly[f][(k+1)%s.poly[f].size()];
        if (a < b) s.e.push_back({a, b, (int)f, -1});
    }
    for (Edge &e : s.e) for (size_t f = 0; f < s.poly.size(); ++f) for (size_t k = 0; k < s.poly[f].size(); ++k)
        if (s.poly[f][k] == e.b && s.poly[f][(k+1)%s.poly[f].size()] == e.a) e.f1 = (int)f;
}
static inline Shape mk_box(double x, double y, double z)
{
    Shape s; s.kind = BOX; s.half = {x, y, z};
    for (int i = 0; i < 8; ++i) s.v.push_back({i&1 ? x : -x, i&2 ? y : -y, i&4 ? z : -z});
    s.poly = {{1,3,7,5},{0,4,6,2},{2,6,7,3},{0,1,5,4},{4,5,7,6},{0,2,3,1}};
    s.fn = {{1,0,0},{-1,0,0},{0,1,0},{0,-1,0},{0,0,1},{0,0,-1}};
    for (int f = 0; f < 6; ++f) { auto &p = s.poly[f]; s.tri.push_back({p[0],p[1],p[2]}); s.tri.push_back({p[0],p[2],p[3]}); s.trif.push_back(f); s.trif.push_back(f); }
    edges_from_polys(s); finish(s); return s;
}
static inline Shape mk_hull(int n, double scale, uint64_t seed)     /* n points on an ellipsoid: all are hull vertices */
{
    Shape s; s.kind = HULL; Rng g(seed); std::vector<V> u;
    for (int i = 0; i < n; ++i) u.push_back(g.dir());
    for (int it = 0; it < 30; ++it) for (int i = 0; i < n; ++i) {   /* spread them a little */
        V f{0,0,0}; for (int j = 0; j < n; ++j) if (j != i) { V d = u[i]-u[j]; double l = len(d); f = f + d*(1/(l*l*l+1e-9)); }
        u[i] = unit(u[i] + unit(f)*(0.3/std::sqrt((double)n))*0.3); }
    for (V p : u) s.v.push_back(V{p.x*1.0, p.y*0.7, p.z*0.5}*scale);
    for (int i = 0; i < n; ++i) for (int j = i+1; j < n; ++j) for (int k = j+1; k < n; ++k) {
        V N = cross(s.v[j]-s.v[i], s.v[k]-s.v[i]); int pos = 0, neg = 0; double o = dot(N, s.v[i]);
        for (int l = 0; l < n && !(pos && neg); ++l) if (l != i && l != j && l != k) (dot(N, s.v[l]) > o ? pos : neg)++;
        if (pos && neg) continue;
        std::vector<int> p = pos ? std::vector<int>{i,k,j} : std::vector<int>{i,j,k};
        s.poly.push_back(p); s.tri.push_back({p[0],p[1],p[2]}); s.trif.push_back((int)s.poly.size()-1);
        s.fn.push_back(unit(pos ? -N : N));
    }
    edges_from_polys(s); finish(s);
    if ((int)s.poly.size() != 2*n-4) std::fprintf(stderr, "hull %d: %zu faces\n", n, s.poly.size());
    return s;
}

struct Ref { double d; V n; };                               /* signed distance; n: moving B along n separates */
struct World { std::vector<V> v, fn; };
static inline World world(const Shape &s, const Pose &t) { World w; for (V p : s.v) w.v.push_back(mul(t.R, p)+t.p); for (V n : s.fn) w.fn.push_back(mul(t.R, n)); return w; }
static inline double overlap(const Shape &A, const World &a, const Shape &B, const World &b, V n)
{   /* extent of A beyond the near side of B along n */
    double ma = -1e300, mb = 1e300; for (V p : a.v) ma = std::max(ma, dot(n, p)); for (V p : b.v) mb = std::min(mb, dot(n, p));
    return ma + A.r - mb + B.r;
}
static inline V closest_tri(V p, V a, V b, V c)
{
    V ab = b-a, ac = c-a, ap = p-a; double d1 = dot(ab,ap), d2 = dot(ac,ap); if (d1 <= 0 && d2 <= 0) return a;
    V bp = p-b; double d3 = dot(ab,bp), d4 = dot(ac,bp); if (d3 >= 0 && d4 <= d3) return b;
    double vc = d1*d4-d3*d2; if (vc <= 0 && d1 >= 0 && d3 <= 0) return a+ab*(d1/(d1-d3));
    V cp = p-c; double d5 = dot(ab,cp), d6 = dot(ac,cp); if (d6 >= 0 && d5 <= d6) return c;
    double vb = d5*d2-d1*d6; if (vb <= 0 && d2 >= 0 && d6 <= 0) return a+ac*(d2/(d2-d6));
    double va = d3*d6-d5*d4; if (va <= 0 && d4-d3 >= 0 && d5-d6 >= 0) return b+(c-b)*((d4-d3)/((d4-d3)+(d5-d6)));
    double den = 1/(va+vb+vc); return a+ab*(vb*den)+ac*(vc*den);
}
static inline void seg_seg(V p1, V q1, V p2, V q2, V &c1, V &c2)
{
    V d1 = q1-p1, d2 = q2-p2, r = p1-p2; double a = dot(d1,d1), e = dot(d2,d2), f = dot(d2,r), s, t, c = dot(d1,r), b = dot(d1,d2), den = a*e-b*b;
    s = den > 1e-14*a*e ? std::min(1.0, std::max(0.0, (b*f-c*e)/den)) : 0; t = (b*s+f)/e;
    if (t < 0) { t = 0; s = std::min(1.0, std::max(0.0, -c/a)); } else if (t > 1) { t = 1; s = std::min(1.0, std::max(0.0, (b-c)/a)); }
    c1 = p1+d1*s; c2 = p2+d2*t;
}
static inline Ref reference(const Shape &A, const World &a, const Shape &B, const World &b, bool full = false)
{
    double best = 1e300; V bn{1,0,0}; bool flat = A.fn.empty() && B.fn.empty(), sep = flat;
    auto core = [&](V n) { double ma = -1e300, mb = 1e300; for (V p : a.v) ma = std::max(ma, dot(n,p)); for (V p : b.v) mb = std::min(mb, dot(n,p)); return ma-mb; };
    auto axis = [&](V n) { double o = core(n); if (o < best) { best = o; bn = n; } };
    if (!flat) {
        for (V n : a.fn) axis(n);
        for (V n : b.fn) axis(-n);
        bool prune = A.kind == HULL && B.kind == HULL && !full;
        if (best >= 0) for (const Edge &ea : A.e) { V da = a.v[ea.b]-a.v[ea.a];
            for (const Edge &eb : B.e) { V db = b.v[eb.b]-b.v[eb.a];
                if (prune) {      /* arcs cross on the Gauss map: the pair makes a face of A-B */
                    V A0 = a.fn[ea.f0], A1 = a.fn[ea.f1], B0 = -b.fn[eb.f0], B1 = -b.fn[eb.f1];
                    double ca = dot(B0, da), cb = dot(B1, da), cc = dot(A0, db), cd = dot(A1, db);
                    if (!(ca*cb <= 0 && cc*cd <= 0 && dot(cross(A0, A1), B1)*dot(cross(B1, B0), A0) <= 0)) continue;
                }
                V c = cross(da, db); double l = len(c); if (l < 1e-9*len(da)*len(db)) continue; c = c*(1/l);
                axis(c); axis(-c);
            } }
        sep = best < 0;
    }
    if (!sep) return {-best - A.r - B.r, bn};
    double bd = 1e300; V pa{0,0,0}, pb{0,0,0};
    auto cand = [&](V x, V y) { double d = len(y-x); if (d < bd) { bd = d; pa = x; pb = y; } };
    if (A.tri.empty() && B.tri.empty() && A.e.empty() && B.e.empty()) cand(a.v[0], b.v[0]);
    for (V p : a.v) for (auto &t : B.tri) cand(p, closest_tri(p, b.v[t[0]], b.v[t[1]], b.v[t[2]]));
    for (V p : b.v) for (auto &t : A.tri) cand(closest_tri(p, a.v[t[0]], a.v[t[1]], a.v[t[2]]), p);
    for (auto &ea : A.e) for (auto &eb : B.e) { V x, y; seg_seg(a.v[ea.a], a.v[ea.b], b.v[eb.a], b.v[eb.b], x, y); cand(x, y); }
    if (A.e.empty() && !B.e.empty() && B.tri.empty()) for (auto &eb : B.e) { V d = b.v[eb.b]-b.v[eb.a]; double t = dot(a.v[0]-b.v[eb.a], d)/dot(d,d); cand(a.v[0], b.v[eb.a]+d*std::min(1.0, std::max(0.0, t))); }
    return {bd - A.r - B.r, bd > 0 ? unit(pb-pa) : V{1,0,0}};
}

struct Out { int hit; double d; V n; int contacts; bool has_d; };   /* what a peer says; d signed, n from A to B */
struct Peer { std::string name; virtual ~Peer() {} virtual bool prep(const Shape &, const Shape &) = 0; virtual void query(const Pose &, const Pose &, Out &) = 0; };
std::vector<Peer *> peers_ccd(); std::vector<Peer *> peers_fcl(); std::vector<Peer *> peers_ode(); std::vector<Peer *> peers_bullet();
std::vector<Peer *> peers_icf(), peers_icf_float();
#endif
