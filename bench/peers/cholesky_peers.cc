// The peers of bench/cholesky.c; see cholesky_peers.h. Needs OpenBLAS, Eigen 3 and SuiteSparse.
//   g++ -O3 -march=native ... -lcholmod -lldl -lopenblas -ldl

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define EIGEN_NO_DEBUG
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored \
    "-Wmaybe-uninitialized" // gcc 12 on its own AVX-512 intrinsics, through Eigen
#endif
#include "../bench.h"
#include "cholesky_peers.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#if __has_include(<suitesparse/cholmod.h>)
#include <suitesparse/cholmod.h>
#else
#include <cholmod.h>
#endif
extern "C" { // this header does not do it by itself
#if __has_include(<suitesparse/ldl.h>)
#include <suitesparse/ldl.h>
#else
#include <ldl.h>
#endif
}
#if __has_include(<eigen3/Eigen/Dense>)
#include <eigen3/Eigen/Dense>
#include <eigen3/Eigen/Sparse>
#else
#include <Eigen/Dense>
#include <Eigen/Sparse>
#endif

extern "C" {
void dpotrf_(const char*, const int*, double*, const int*, int*);
void dpotrs_(const char*, const int*, const int*, const double*, const int*, double*, const int*,
             int*);
void openblas_set_num_threads(int);
char* openblas_get_corename(void);
char* openblas_get_config(void);
}

namespace
{

// ------------------------------------------------------------------------------------------------
// CHOLMOD and LAPACK as tables of functions: the copy that is linked and the one with other kernels

// clang-format off
#define CHOLMOD_FUNCTIONS(X)                                                              \
    X(start) X(finish) X(defaults) X(allocate_sparse) X(free_sparse) X(free_factor)       \
    X(free_dense) X(analyze_p) X(factorize) X(solve2) X(amd) X(metis) X(nested_dissection)
// clang-format on

struct Library {
    std::string kernels;
    decltype(&dpotrf_) potrf = nullptr;
    decltype(&dpotrs_) potrs = nullptr;
#define X(name) decltype(&cholmod_##name) name = nullptr;
    CHOLMOD_FUNCTIONS(X)
#undef X
};

template <class F> bool find(void* handle, const char* name, F& f)
{
    f = reinterpret_cast<F>(dlsym(handle, name));
    return f != nullptr;
}

// CHOLMOD spreads its assembly over four OpenMP threads; one core means one
void one_thread(void* handle)
{
    void (*levels)(int);
    if (find(handle, "omp_set_max_active_levels", levels)) levels(0);
}

// the second copy stays loaded until the program ends
bool load_second(Library& l, const char* core)
{
    Dl_info info;
    if (!*core || !dladdr(reinterpret_cast<void*>(&cholmod_start), &info)) return false;
    const char* before = getenv("OPENBLAS_CORETYPE");
    const std::string kept = before ? before : "";
    setenv("OPENBLAS_CORETYPE", core, 1);
    void* h = dlmopen(LM_ID_NEWLM, info.dli_fname, RTLD_NOW | RTLD_LOCAL);
    if (before)
        setenv("OPENBLAS_CORETYPE", kept.c_str(), 1);
    else
        unsetenv("OPENBLAS_CORETYPE");
    if (!h) return false;
    decltype(&openblas_set_num_threads) threads;
    decltype(&openblas_get_corename) name;
    bool good = find(h, "openblas_set_num_threads", threads) &&
                find(h, "openblas_get_corename", name) && find(h, "dpotrf_", l.potrf) &&
                find(h, "dpotrs_", l.potrs);
#define X(name) good = good && find(h, "cholmod_" #name, l.name);
    CHOLMOD_FUNCTIONS(X)
#undef X
    if (!good) return false;
    threads(1);
    one_thread(h);
    l.kernels = name();
    return true;
}

// one or two of them
const std::vector<Library>& libraries()
{
    static const std::vector<Library> all = [] {
        std::vector<Library> v(1);
        openblas_set_num_threads(1);
        one_thread(RTLD_DEFAULT);
        v[0].kernels = openblas_get_corename();
        v[0].potrf = dpotrf_;
        v[0].potrs = dpotrs_;
#define X(name) v[0].name = cholmod_##name;
        CHOLMOD_FUNCTIONS(X)
#undef X
        const char* core = getenv("BENCH_CORETYPE");
        Library second;
        if (load_second(second, core ? core : "Zen") && second.kernels != v[0].kernels)
            v.push_back(second);
        return v;
    }();
    return all;
}

// ------------------------------------------------------------------------------------------------
// Dense

using Matrix = Eigen::MatrixXd;

struct Dense {
    int n = 0;
    virtual ~Dense()
    {
    }
    virtual void factor(long count) = 0;
    virtual void solve(const double* b, double* x, long count) = 0;
};

struct DenseLapack : Dense {
    const Library& library;
    std::vector<double> a, f;
    DenseLapack(const Library& l, int size, const double* m)
        : library(l), a(m, m + size * size), f(a)
    {
        n = size;
    }
    void factor(long count) override
    {
        int info;
        for (; count > 0; count--) {
            memcpy(f.data(), a.data(), sizeof(double) * a.size());
            library.potrf("L", &n, f.data(), &n, &info);
        }
    }
    void solve(const double* b, double* x, long count) override
    {
        const int one = 1;
        int info;
        for (; count > 0; count--) {
            memcpy(x, b, sizeof(double) * static_cast<size_t>(n));
            library.potrs("L", &n, &one, f.data(), &n, x, &n, &info);
        }
    }
};

// N = -1: the size is known at run time only. The class LLT also computes a norm for its estimate of the
// condition; Core is the routine inside that does not.
template <int N, bool Core> struct DenseEigen : Dense {
    using M = Eigen::Matrix<double, N, N>;
    using V = Eigen::Matrix<double, N, 1>;
    M a, f;
    Eigen::LLT<M, Eigen::Lower> llt;
    EIGEN_MAKE_ALIGNED_OPERATOR_NEW
    DenseEigen(int size, const double* m) : a(Eigen::Map<const M>(m, size, size)), f(a), llt(a)
    {
        n = size;
    }
    void factor(long count) override
    {
        if (!Core) {
            for (; count > 0; count--) llt.compute(a);
            return;
        }
        for (; count > 0; count--) {
            f = a;
            Eigen::internal::llt_inplace<double, Eigen::Lower>::blocked(f);
        }
    }
    void solve(const double* b, double* x, long count) override
    {
        const Eigen::Map<const V> rhs(b, n);
        Eigen::Map<V> result(x, n);
        if (!Core) {
            for (; count > 0; count--) {
                result = rhs;
                llt.solveInPlace(result);
            }
            return;
        }
        for (; count > 0; count--) {
            result = rhs;
            f.template triangularView<Eigen::Lower>().solveInPlace(result);
            f.transpose().template triangularView<Eigen::Upper>().solveInPlace(result);
        }
    }
};

template <bool Core> Dense* dense_eigen_fixed(int n, const double* a)
{
    switch (n) {
    case 3: return new DenseEigen<3, Core>(n, a);
    case 6: return new DenseEigen<6, Core>(n, a);
    case 12: return new DenseEigen<12, Core>(n, a);
    case 24: return new DenseEigen<24, Core>(n, a);
    case 36: return new DenseEigen<36, Core>(n, a);
    case 48: return new DenseEigen<48, Core>(n, a);
    default: return nullptr;
    }
}

// ------------------------------------------------------------------------------------------------
// Orderings

enum { AMD, AMD_BLOCK, METIS, NESDIS, METIS_BLOCK, NESDIS_BLOCK, ORDERINGS };
const char* const ordering_names[ORDERINGS] = {"amd",    "amd-block",   "metis",
                                               "nesdis", "metis-block", "nesdis-block"};

struct Ordering {
    std::vector<int> order; // position -> unknown
    double flops = 0, fill = 0, seconds = 0, symbolic = 0;
};

// least time of a few runs: stops after 5 or when 50 ms are spent
template <class F> double fastest(F f)
{
    double best = 1e300, total = 0;
    for (int i = 0; i < 5 && (i < 2 || total < 0.05); i++) {
        const double start = bench_now();
        f();
        const double took = bench_now() - start;
        best = std::min(best, took);
        total += took;
        if (took > 0.5) break;
    }
    return best;
}

// a CHOLMOD matrix of one of the copies, and its settings
struct Cholmod {
    const Library& l;
    cholmod_common c;
    cholmod_sparse* a = nullptr;
    explicit Cholmod(const Library& library) : l(library)
    {
        l.start(&c);
        c.print = 0;
        c.nmethods = 1;
        c.method[0].ordering = CHOLMOD_GIVEN;
        c.postorder = 1;
    }
    ~Cholmod()
    {
        l.free_sparse(&a, &c);
        l.finish(&c);
    }
    Cholmod(const Cholmod&) = delete;
    Cholmod& operator=(const Cholmod&) = delete;
    // stype -1: the lower triangle as it is; 1: its transpose. value may be null: pattern only
    void set(int n, const int* start, const int* row, const double* value, int stype)
    {
        const size_t entries = static_cast<size_t>(start[n]);
        const size_t size = static_cast<size_t>(n);
        a = l.allocate_sparse(size, size, entries, 1, 1, stype,
                              value ? CHOLMOD_REAL : CHOLMOD_PATTERN, &c);
        int* p = static_cast<int*>(a->p);
        int* i = static_cast<int*>(a->i);
        double* x = static_cast<double*>(a->x);
        if (stype < 0) {
            std::copy(start, start + n + 1, p);
            std::copy(row, row + entries, i);
            if (value) std::copy(value, value + entries, x);
            return;
        }
        std::fill(p, p + n + 1, 0);
        for (size_t k = 0; k < entries; k++) p[row[k] + 1]++;
        for (int j = 0; j < n; j++) p[j + 1] += p[j];
        std::vector<int> next(p, p + n);
        for (int j = 0; j < n; j++) {
            for (int k = start[j]; k < start[j + 1]; k++) {
                const int at = next[static_cast<size_t>(row[k])]++;
                i[at] = j;
                if (value) x[at] = value[k];
            }
        }
    }
};

// the graph of cliques as the pattern of a lower triangle
void clique_pattern(const peers_matrix& m, std::vector<int>& start, std::vector<int>& row)
{
    std::vector<std::vector<int>> below(static_cast<size_t>(m.cliques));
    for (int e = 0; e < m.edges; e++) {
        const int a = m.pairs[2 * e], b = m.pairs[2 * e + 1];
        below[static_cast<size_t>(std::min(a, b))].push_back(std::max(a, b));
    }
    start.assign(1, 0);
    row.clear();
    for (int j = 0; j < m.cliques; j++) {
        auto& list = below[static_cast<size_t>(j)];
        std::sort(list.begin(), list.end());
        row.push_back(j);
        row.insert(row.end(), list.begin(), list.end());
        start.push_back(static_cast<int>(row.size()));
    }
}

void make_orderings(const peers_matrix& m, Ordering* o)
{
    const Library& l = libraries()[0];
    Cholmod scalar(l), block(l);
    scalar.set(m.n, m.start, m.row, nullptr, -1);
    std::vector<int> start, row, first(1, 0), blocks(static_cast<size_t>(m.cliques));
    clique_pattern(m, start, row);
    block.set(m.cliques, start.data(), row.data(), nullptr, -1);
    for (int i = 0; i < m.cliques; i++) first.push_back(first.back() + m.sizes[i]);
    // its own defaults for these are those of the analysis with nmethods = 0
    for (int k = 0; k < ORDERINGS; k++) {
        Cholmod& on = k == AMD || k == METIS || k == NESDIS ? scalar : block;
        o[k].order.resize(static_cast<size_t>(m.n));
        std::vector<int>& result = &on == &scalar ? o[k].order : blocks;
        std::vector<int> parent(result.size()), member(result.size());
        int good = 0;
        o[k].seconds = fastest([&] {
            if (k == AMD || k == AMD_BLOCK)
                good = l.amd(on.a, nullptr, 0, result.data(), &on.c);
            else if (k == METIS || k == METIS_BLOCK)
                good = l.metis(on.a, nullptr, 0, 0, result.data(), &on.c);
            else
                good = l.nested_dissection(on.a, nullptr, 0, result.data(), parent.data(),
                                           member.data(), &on.c) >= 0;
            if (&on == &scalar) return;
            size_t at = 0;
            for (int b : blocks) {
                for (int i = first[static_cast<size_t>(b)]; i < first[static_cast<size_t>(b) + 1];
                     i++)
                    o[k].order[at++] = i;
            }
        });
        if (!good) {
            o[k].order.clear();
            continue;
        }
        scalar.c.supernodal = CHOLMOD_SUPERNODAL;
        cholmod_factor* f = nullptr;
        o[k].symbolic = fastest([&] {
            l.free_factor(&f, &scalar.c);
            f = l.analyze_p(scalar.a, o[k].order.data(), nullptr, 0, &scalar.c);
        });
        o[k].flops = scalar.c.fl;
        o[k].fill = scalar.c.lnz;
        l.free_factor(&f, &scalar.c);
    }
}

// ------------------------------------------------------------------------------------------------
// Sparse solvers

struct Solver {
    virtual ~Solver()
    {
    }
    // seconds of the symbolic analysis; below zero when it failed
    virtual double analyze(const std::vector<int>& order) = 0;
    virtual bool factor() = 0;
    virtual bool solve(const double* b, double* x, int rhs) = 0;
};

struct SolverCholmod : Solver {
    Cholmod m;
    cholmod_factor* f = nullptr;
    cholmod_dense *x = nullptr, *y = nullptr, *e = nullptr;
    // each path takes the triangle that it does not have to transpose
    SolverCholmod(const Library& l, const peers_matrix& p, bool supernodal) : m(l)
    {
        m.set(p.n, p.start, p.row, p.value, supernodal ? 1 : -1);
        m.c.supernodal = supernodal ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    }
    ~SolverCholmod() override
    {
        m.l.free_dense(&x, &m.c);
        m.l.free_dense(&y, &m.c);
        m.l.free_dense(&e, &m.c);
        m.l.free_factor(&f, &m.c);
    }
    double analyze(const std::vector<int>& order) override
    {
        std::vector<int> copy(order);
        const double took = fastest([&] {
            m.l.free_factor(&f, &m.c);
            f = m.l.analyze_p(m.a, copy.data(), nullptr, 0, &m.c);
        });
        return f ? took : -1;
    }
    bool factor() override
    {
        return m.l.factorize(m.a, f, &m.c) && m.c.status == CHOLMOD_OK;
    }
    bool solve(const double* b, double* result, int rhs) override
    {
        cholmod_dense d;
        memset(&d, 0, sizeof d);
        d.nrow = d.d = m.a->nrow;
        d.ncol = static_cast<size_t>(rhs);
        d.nzmax = d.nrow * d.ncol;
        d.x = const_cast<double*>(b);
        d.xtype = CHOLMOD_REAL;
        d.dtype = CHOLMOD_DOUBLE;
        if (!m.l.solve2(CHOLMOD_A, f, &d, nullptr, &x, nullptr, &y, &e, &m.c)) return false;
        memcpy(result, x->x, sizeof(double) * d.nzmax);
        return true;
    }
};

// Eigen takes an ordering as a type; this one hands over what make_orderings found
struct GivenOrdering {
    using PermutationType = Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int>;
    static const std::vector<int>* order;
    template <class M> void operator()(const M&, PermutationType& p)
    {
        p.resize(static_cast<Eigen::Index>(order->size()));
        for (size_t i = 0; i < order->size(); i++)
            p.indices()[static_cast<Eigen::Index>(i)] = (*order)[i];
    }
};
const std::vector<int>* GivenOrdering::order;

using Sparse = Eigen::SparseMatrix<double>;

template <template <class, int, class> class Kind> struct SolverEigen : Solver {
    Sparse a;
    Kind<Sparse, Eigen::Lower, Eigen::AMDOrdering<int>> own; // for the empty order
    Kind<Sparse, Eigen::Lower, GivenOrdering> given;
    bool use_own = true;
    explicit SolverEigen(const peers_matrix& m)
        : a(Eigen::Map<const Sparse>(m.n, m.n, m.start[m.n], m.start, m.row, m.value))
    {
    }
    double analyze(const std::vector<int>& order) override
    {
        use_own = order.empty();
        GivenOrdering::order = &order;
        return fastest([&] {
            if (use_own)
                own.analyzePattern(a);
            else
                given.analyzePattern(a);
        });
    }
    bool factor() override
    {
        if (use_own)
            own.factorize(a);
        else
            given.factorize(a);
        return (use_own ? own.info() : given.info()) == Eigen::Success;
    }
    bool solve(const double* b, double* x, int rhs) override
    {
        const Eigen::Map<const Matrix> from(b, a.rows(), rhs);
        Eigen::Map<Matrix> to(x, a.rows(), rhs);
        if (use_own)
            to = own.solve(from);
        else
            to = given.solve(from);
        return true;
    }
};

// the input is the permuted upper triangle, so that nothing is moved in the time that is measured
struct SolverLdl : Solver {
    const peers_matrix& m;
    std::vector<int> order, inverse, ap, ai, lp, parent, count, flag, li, pattern;
    std::vector<double> ax, lx, d, y, work;
    explicit SolverLdl(const peers_matrix& p) : m(p)
    {
    }
    double analyze(const std::vector<int>& o) override
    {
        const size_t n = static_cast<size_t>(m.n);
        order = o;
        inverse.resize(n);
        for (size_t i = 0; i < n; i++) inverse[static_cast<size_t>(order[i])] = static_cast<int>(i);
        std::vector<std::vector<std::pair<int, double>>> column(n);
        for (int j = 0; j < m.n; j++) {
            for (int k = m.start[j]; k < m.start[j + 1]; k++) {
                const int p = inverse[static_cast<size_t>(j)],
                          q = inverse[static_cast<size_t>(m.row[k])];
                column[static_cast<size_t>(std::max(p, q))].emplace_back(std::min(p, q),
                                                                         m.value[k]);
            }
        }
        ap.assign(1, 0);
        ai.clear();
        ax.clear();
        for (auto& c : column) {
            std::sort(c.begin(), c.end());
            for (auto& e : c) {
                ai.push_back(e.first);
                ax.push_back(e.second);
            }
            ap.push_back(static_cast<int>(ai.size()));
        }
        lp.resize(n + 1);
        for (auto* v : {&parent, &count, &flag, &pattern}) v->resize(n);
        for (auto* v : {&d, &y, &work}) v->resize(n);
        const double took = fastest([&] {
            ldl_symbolic(m.n, ap.data(), ai.data(), lp.data(), parent.data(), count.data(),
                         flag.data(), nullptr, nullptr);
        });
        li.resize(static_cast<size_t>(lp[n]));
        lx.resize(static_cast<size_t>(lp[n]));
        return took;
    }
    bool factor() override
    {
        return ldl_numeric(m.n, ap.data(), ai.data(), ax.data(), lp.data(), parent.data(),
                           count.data(), li.data(), lx.data(), d.data(), y.data(), pattern.data(),
                           flag.data(), nullptr, nullptr) == m.n;
    }
    bool solve(const double* b, double* x, int rhs) override
    {
        for (int k = 0; k < rhs; k++, b += m.n, x += m.n) {
            ldl_perm(m.n, work.data(), const_cast<double*>(b), order.data());
            ldl_lsolve(m.n, work.data(), lp.data(), li.data(), lx.data());
            ldl_dsolve(m.n, work.data(), d.data());
            ldl_ltsolve(m.n, work.data(), lp.data(), li.data(), lx.data());
            ldl_permt(m.n, x, work.data(), order.data());
        }
        return true;
    }
};

// the first two are CHOLMOD's supernodal code with either set of kernels
enum { SUPER, SUPER_SECOND, SIMPLICIAL, EIGEN_LLT, EIGEN_LDLT, LDL, SOLVERS };

} // namespace

struct peers_dense {
    std::unique_ptr<Dense> d;
};

struct peers_sparse {
    peers_matrix m;
    Ordering orderings[ORDERINGS];
    struct {
        std::unique_ptr<Solver> solver;
        std::string ordering;
        double analysis = 0;
    } of[SOLVERS];
};

static Solver* make_solver(int k, const peers_matrix& m)
{
    const std::vector<Library>& l = libraries();
    switch (k) {
    case SUPER: return new SolverCholmod(l[0], m, true);
    case SUPER_SECOND: return l.size() > 1 ? new SolverCholmod(l[1], m, true) : nullptr;
    case SIMPLICIAL: return new SolverCholmod(l[0], m, false);
    case EIGEN_LLT: return new SolverEigen<Eigen::SimplicialLLT>(m);
    case EIGEN_LDLT: return new SolverEigen<Eigen::SimplicialLDLT>(m);
    default: return new SolverLdl(m);
    }
}

extern "C" {

const char* peers_versions(void)
{
    static std::string text;
    text = std::string(openblas_get_config()) + "; kernels";
    for (const Library& l : libraries()) text += " " + l.kernels;
    char more[128];
    snprintf(more, sizeof more, "; Eigen %d.%d.%d (vectors of %d bytes), CHOLMOD %d.%d.%d",
             EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, EIGEN_MAX_ALIGN_BYTES,
             CHOLMOD_MAIN_VERSION, CHOLMOD_SUB_VERSION, CHOLMOD_SUBSUB_VERSION);
    text += more;
    return text.c_str();
}

int peers_dense_count(void)
{
    return 6;
}

const char* peers_dense_name(int peer)
{
    static const char* const names[6] = {"openblas",      "openblas_second",  "eigen_fixed",
                                         "eigen_dynamic", "eigen_fixed_core", "eigen_core"};
    return names[peer];
}

peers_dense* peers_dense_open(int peer, int32_t n, const double* a)
{
    const std::vector<Library>& l = libraries();
    Dense* d = nullptr;
    if (peer == 0) d = new DenseLapack(l[0], n, a);
    if (peer == 1 && l.size() > 1) d = new DenseLapack(l[1], n, a);
    if (peer == 2) d = dense_eigen_fixed<false>(n, a);
    if (peer == 3) d = new DenseEigen<Eigen::Dynamic, false>(n, a);
    if (peer == 4) d = dense_eigen_fixed<true>(n, a);
    if (peer == 5) d = new DenseEigen<Eigen::Dynamic, true>(n, a);
    if (!d) return nullptr;
    peers_dense* p = new peers_dense;
    p->d.reset(d);
    return p;
}

void peers_dense_close(peers_dense* d)
{
    delete d;
}

void peers_dense_factor(peers_dense* d, long count)
{
    d->d->factor(count);
}

void peers_dense_solve(peers_dense* d, const double* b, double* x, long count)
{
    d->d->solve(b, x, count);
}

peers_sparse* peers_sparse_open(const peers_matrix* m, double most_flops)
{
    peers_sparse* s = new peers_sparse;
    s->m = *m;
    make_orderings(s->m, s->orderings);
    double least = 1e300;
    for (const Ordering& o : s->orderings) {
        if (!o.order.empty()) least = std::min(least, o.flops);
    }
    for (int k = 0; k < SOLVERS; k++) {
        auto& of = s->of[k];
        if (k != SUPER && k != SUPER_SECOND && least > most_flops) continue;
        of.solver.reset(make_solver(k, s->m));
        if (!of.solver) continue;

        // its own ordering (Eigen's only) and all of ours; those far behind in flops are not worth a try
        static const std::vector<int> none;
        double factor[ORDERINGS + 1], analysis[ORDERINGS + 1], best = 1e300;
        for (int i = -1; i < ORDERINGS; i++) {
            double &f = factor[i + 1], &a = analysis[i + 1];
            f = 1e300;
            if (i < 0 && k != EIGEN_LLT && k != EIGEN_LDLT) continue;
            if (i >= 0 && (s->orderings[i].order.empty() || s->orderings[i].flops > 1.7 * least))
                continue;
            a = of.solver->analyze(i < 0 ? none : s->orderings[i].order);
            if (a < 0 || !of.solver->factor()) continue;
            if (i >= 0) a += s->orderings[i].seconds;
            f = fastest([&] { of.solver->factor(); });
            best = std::min(best, f);
        }

        // among equals, and 3 % is noise, the one that is found soonest
        int chosen = -2;
        for (int i = -1; i < ORDERINGS; i++) {
            if (factor[i + 1] > 1.03 * best || factor[i + 1] >= 1e300) continue;
            if (chosen == -2 || analysis[i + 1] < analysis[chosen + 1]) chosen = i;
        }
        if (chosen == -2) {
            of.solver.reset();
            continue;
        }
        of.solver->analyze(chosen < 0 ? none : s->orderings[chosen].order);
        of.analysis = analysis[chosen + 1];
        of.ordering = chosen < 0 ? "own amd" : ordering_names[chosen];
        if (!of.solver->factor()) of.solver.reset();
    }
    return s;
}

void peers_sparse_close(peers_sparse* s)
{
    delete s;
}

int peers_ordering_count(void)
{
    return ORDERINGS;
}

const char* peers_ordering_name(int ordering)
{
    return ordering_names[ordering];
}

double peers_ordering_flops(const peers_sparse* s, int ordering)
{
    return s->orderings[ordering].flops;
}

double peers_ordering_fill(const peers_sparse* s, int ordering)
{
    return s->orderings[ordering].fill;
}

double peers_ordering_seconds(const peers_sparse* s, int ordering)
{
    return s->orderings[ordering].seconds;
}

double peers_symbolic_seconds(const peers_sparse* s, int ordering)
{
    return s->orderings[ordering].symbolic;
}

int peers_solver_count(void)
{
    return SOLVERS;
}

const char* peers_solver_name(int solver)
{
    static const char* const names[SOLVERS] = {"cholmod_super",      "cholmod_super_second",
                                               "cholmod_simplicial", "eigen_llt",
                                               "eigen_ldlt",         "ldl"};
    return names[solver];
}

int peers_solver_ready(const peers_sparse* s, int solver)
{
    return s->of[solver].solver != nullptr;
}

const char* peers_solver_ordering(const peers_sparse* s, int solver)
{
    return s->of[solver].ordering.c_str();
}

double peers_solver_analysis(const peers_sparse* s, int solver)
{
    return s->of[solver].analysis;
}

void peers_solver_factor(peers_sparse* s, int solver, long count)
{
    for (; count > 0; count--) s->of[solver].solver->factor();
}

int peers_solver_solve(peers_sparse* s, int solver, const double* b, double* x, int32_t rhs,
                       long count)
{
    bool good = true;
    for (; count > 0; count--) good = s->of[solver].solver->solve(b, x, rhs) && good;
    return good;
}

} // extern "C"
