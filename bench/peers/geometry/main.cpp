/* geom [poses per family] [filter] : accuracy and time of each peer over shape pairs and pose families. */
#include "shapes.hpp"
#include <ctime>
#include <cstring>
#include <csetjmp>
#include <csignal>
#include <sys/time.h>
/* which peers: all of them, or those that need no library but ODE or none */
#if defined(ONLY_ICF)
#define PEERS {peers_icf, peers_icf_float}
#elif defined(ONLY_ODE)
#define PEERS {peers_icf, peers_icf_float, peers_ode}
#else
#define PEERS {peers_icf, peers_icf_float, peers_ccd, peers_fcl, peers_ode, peers_bullet}
#endif
static sigjmp_buf stop; static void on_alarm(int) { siglongjmp(stop, 1); }
static void arm(long us) { itimerval t; std::memset(&t, 0, sizeof t); t.it_value.tv_sec = us/1000000; t.it_value.tv_usec = us%1000000; setitimer(ITIMER_REAL, &t, 0); }
static double now() { timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return (double)t.tv_sec + 1e-9*(double)t.tv_nsec; }   /* CPU time: the machine may be shared */
struct Case { Pose a, b; Ref r; };
static Pose rnd(Rng &g, V c) { double q[4]; g.quat(q); return make_pose(q, c); }
static void align(const V &from, const V &to, double spin, double q[4])   /* q takes from to to, then turns by spin about to */
{
    V ax = cross(from, to); double w = 1+dot(from, to); if (w < 1e-12) { ax = std::fabs(from.x) < 0.9 ? unit(cross(from, V{1,0,0})) : unit(cross(from, V{0,1,0})); w = 0; }
    double n = std::sqrt(w*w+dot(ax,ax)); double p[4] = {w/n, ax.x/n, ax.y/n, ax.z/n}, s = std::sin(spin/2), r[4] = {std::cos(spin/2), to.x*s, to.y*s, to.z*s};
    q[0] = r[0]*p[0]-r[1]*p[1]-r[2]*p[2]-r[3]*p[3]; q[1] = r[0]*p[1]+r[1]*p[0]+r[2]*p[3]-r[3]*p[2];
    q[2] = r[0]*p[2]-r[1]*p[3]+r[2]*p[0]+r[3]*p[1]; q[3] = r[0]*p[3]+r[1]*p[2]-r[2]*p[1]+r[3]*p[0];
}
static const char *fam[] = {"mixed", "gap1e-6", "face", "deep", "tiny", "huge", "ratio"};
static void gen(int f, const Shape &A, const Shape &B, double S, Rng &g, Case &c)
{
    double size = std::min(A.R, B.R); V o = V{g.u(-1,1), g.u(-1,1), g.u(-1,1)}*S;
    c.a = rnd(g, o); c.b = rnd(g, o);
    if (f == 2) {                                              /* B laid on a face of A (or pole), gap 0 or +-1e-6 of the size, plain or arbitrary spin */
        V n = A.fn.empty() ? g.dir() : A.fn[g.next()%A.fn.size()]; if (A.kind == CAPSULE) n = {1,0,0};
        V m = B.fn.empty() ? V{1,0,0} : B.fn[g.next()%B.fn.size()]; double q[4], id[4] = {1,0,0,0}; uint64_t k = g.next();
        c.a = (k&4) ? rnd(g, o) : make_pose(id, k&8 ? V{0,0,0} : o); V nw = mul(c.a.R, n);
        align(m, -nw, k&3 ? (double)(k>>8&3)*1.5707963267948966 : g.u(0,6.28), q);
        V t = unit(cross(nw, g.dir()));
        c.b = make_pose(q, c.a.p + t*(k&16 ? 0 : g.u(0, 0.5)*size)); World wa = world(A, c.a), wb = world(B, c.b);
        double gap = (double)((int)(k>>32)%3-1)*1e-6*size; c.b.p = c.b.p + nw*(overlap(A, wa, B, wb, nw)+gap);
    } else if (f == 3) c.b.p = o + g.dir()*(g.u()*0.1*size);
    else c.b.p = o + g.dir()*(g.u(f == 1 ? 0.7 : 0.4, 1.05)*(A.R+B.R));
    for (int it = 0; it < (f == 1 ? 3 : 1); ++it) {
        World wa = world(A, c.a), wb = world(B, c.b); c.r = reference(A, wa, B, wb);
        if (f == 1 && it < 2) { double t = (g.next()&1 ? 1 : -1)*1e-6*size; c.b.p = c.b.p + c.r.n*(t-c.r.d); }
    }
}
struct Pair { const char *name; Shape (*a)(double), (*b)(double); int div; };
static Shape sph(double s) { return mk_sphere(0.5*s); }
static Shape box(double s) { return mk_box(0.5*s, 0.4*s, 0.3*s); }
static Shape cap(double s) { return mk_capsule(0.25*s, 0.4*s); }
template <int N, int K> static Shape hull(double s) { static Shape h = mk_hull(N, 0.6, K); Shape r = h; for (V &p : r.v) p = p*s; finish(r); return r; }
int main(int argc, char **argv)
{
    std::signal(SIGALRM, on_alarm);
    int N = argc > 1 ? std::atoi(argv[1]) : 14286; const char *flt = argc > 2 ? argv[2] : ""; bool timing = argc > 3 && !std::strcmp(argv[3], "time");
    std::vector<Peer *> ps; for (auto f : PEERS) for (Peer *p : f()) ps.push_back(p);
    Pair pairs[] = {{"sphere-sphere", sph, sph, 1}, {"sphere-box", sph, box, 1}, {"box-box", box, box, 1}, {"capsule-capsule", cap, cap, 1}, {"capsule-box", cap, box, 1},
        {"hull32-hull32", hull<32,1>, hull<32,2>, 1}, {"hull64-hull64", hull<64,3>, hull<64,4>, 4}, {"hull256-hull256", hull<256,5>, hull<256,6>, 100}};
    std::printf(timing ? "pair,peer,ns_sep,ns_pen,ns_deep,contacts_pen\n" : "pair,peer,family,poses,miss_pct,false_pct,bad_depth_pct,bad_normal_pct,fail_pct,err_p99,err_max,nx_p99,nx_max\n");
    for (Pair &p : pairs) {
        if (*flt && !std::strstr(p.name, flt)) continue;
        if (timing) {
            Shape A = p.a(1), B = p.b(1); Rng g(77); std::vector<Case> sep, pen, deep; Case c; int want = p.div > 50 ? 300 : 2000;
            while ((int)sep.size() < want || (int)pen.size() < want) { gen(0, A, B, 1, g, c); double s = std::min(A.R, B.R); if (c.r.d > 0.02*s && c.r.d < 0.3*s && (int)sep.size() < want) sep.push_back(c); else if (c.r.d < -0.001*s && c.r.d > -0.1*s && (int)pen.size() < want) pen.push_back(c); }
            while ((int)deep.size() < want) { gen(3, A, B, 1, g, c); deep.push_back(c); }
            for (Peer *q : ps) { if (!q->prep(A, B)) continue; double t[3] = {1e9,1e9,1e9}, con = 0; std::vector<Case> *set[3] = {&sep, &pen, &deep};
                for (int k = 0; k < 3; ++k) for (int rep = 0; rep < 7; ++rep) { Out o; if (sigsetjmp(stop, 1)) { t[k] = NAN; break; } arm(3000000); double t0 = now(); int n = 0; for (auto &x : *set[k]) { q->query(x.a, x.b, o); n += o.contacts; } arm(0); double dt = (now()-t0)/(double)set[k]->size()*1e9; t[k] = std::min(t[k], dt); if (k == 1) con = (double)n/(double)pen.size(); if (dt > 1e5) break; }
                std::printf("%s,%s,%.0f,%.0f,%.0f,%.2f\n", p.name, q->name.c_str(), t[0], t[1], t[2], con); std::fflush(stdout); }
            continue;
        }
        for (int f = 0; f < 7; ++f) {
            double sa = f == 4 ? 1e-3 : f == 5 ? 1e3 : 1, sb = f == 6 ? 1e3 : sa; Shape A = p.a(sa), B = p.b(sb); Rng g(1000+f); std::vector<Case> cs((size_t)std::max(50, N/p.div));
            for (Case &c : cs) gen(f, A, B, sa, g, c);
            double size = std::min(A.R, B.R), tol = 1e-3*size;
            for (Peer *q : ps) {
                if (!q->prep(A, B)) continue; int miss = 0, fals = 0, bd = 0, bn = 0, fail = 0; volatile int hang = 0; std::vector<double> er, nx;
                for (Case &c : cs) { Out o; o.n = {0,0,0}; o.d = NAN; o.has_d = false; o.hit = 0; o.contacts = 0; bool F = false;
                    if (sigsetjmp(stop, 1)) { o.hit = -2; ++hang; } else { arm(300000); q->query(c.a, c.b, o); arm(0); }
                    if (hang > 5) break;
                    bool reports = o.has_d ? o.d < 0 : o.hit > 0;
                    if (o.hit < 0 || (o.has_d && !(std::fabs(o.d) < 1e30))) { ++bd; F = true; er.push_back(INFINITY); }
                    else {
                        if (!reports && c.r.d < -tol) { ++miss; F = true; }
                        if (reports && c.r.d > tol) { ++fals; F = true; }
                        if (o.has_d) { double e = std::fabs(o.d-c.r.d)/size; er.push_back(e); if (e > 1e-3) { ++bd; F = true; }
                            if (std::fabs(c.r.d) > tol) { double l = len(o.n); double x = l > 0.9 && l < 1.1 ? (overlap(A, world(A,c.a), B, world(B,c.b), o.n*(1/l))+c.r.d)/size : INFINITY; nx.push_back(std::fabs(x)); if (!(std::fabs(x) <= 1e-3)) { ++bn; F = true; } } }
                    }
                    fail += F; }
                std::sort(er.begin(), er.end()); std::sort(nx.begin(), nx.end()); auto pc = [](std::vector<double> &v, double k) { return v.empty() ? NAN : v[(size_t)(k*(double)(v.size()-1))]; };
                double n = (double)cs.size()/100; if (hang > 5) { std::printf("%s,%s,%s,hangs\n", p.name, q->name.c_str(), fam[f]); std::fflush(stdout); q->prep(A, B); continue; }
                std::printf("%s,%s,%s,%zu,%.3f,%.3f,%.3f,%.3f,%.3f,%.2e,%.2e,%.2e,%.2e\n", p.name, q->name.c_str(), fam[f], cs.size(), miss/n, fals/n, bd/n, bn/n, fail/n, pc(er,.99), pc(er,1), pc(nx,.99), pc(nx,1)); std::fflush(stdout);
            }
        }
    }
    return 0;
}
