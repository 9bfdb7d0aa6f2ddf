/* Layer 7: the convex solver, but for the problems in tests/golden. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tested.h"

#include "acutest.h"
#include "util.h"

#define R(x) ((icf_real)(x))
#define NOT_A_NUMBER ((icf_real)NAN)
#define INFINITE ((icf_real)HUGE_VAL)
#define CANARY 64      /* bytes behind a workspace */
#define UNTOUCHED 0xC5 /* what is in them, and in memory before it is used */

typedef long double wide;

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Is x within relative * |expected| + absolute of what it should be? */
static int near(double x, double expected, double relative, double absolute)
{
    return magnitude(x - expected) <= relative * magnitude(expected) + absolute;
}

#define CHECK_NEAR(x, expected, relative, absolute) \
    TEST_CHECK_(near((double)(x), (double)(expected), relative, absolute), \
                "%s is %.17g, not %.17g, off by %.3g; seed %u", #x, (double)(x), \
                (double)(expected), (double)(x) - (double)(expected), (unsigned)SEED)

/* The same in every bit, signs of zeros too */
static int same_bits(const void* a, const void* b, size_t bytes)
{
    return !memcmp(a, b, bytes);
}

static int finite_real(double x)
{
    return x - x == 0;
}

// ------------------------------------------------------------------------------------------------
// Scenes: a problem and the arrays that it points to

enum {
    MOST_CLIQUES = 64,
    MOST_UNKNOWNS = 160,
    MOST_MASS = 4096,
    MOST_COUPLINGS = 64,
    MOST_LINKS = 160,
    MOST_BLOCKS = 320,
    MOST_BLOCK_NUMBERS = 12000,
    MOST_CONTACTS = 200,
    MOST_ROWS = 80
};

typedef struct scene {
    icf_problem p;
    icf_contact contact[MOST_CONTACTS];
    icf_row row[MOST_ROWS];
    icf_real mass[MOST_MASS], v_free[MOST_UNKNOWNS], v_last[MOST_UNKNOWNS];
    icf_real couplings[64 * MOST_COUPLINGS], blocks[MOST_BLOCK_NUMBERS], bias[6 * MOST_LINKS];
    int32_t sizes[MOST_CLIQUES], start[MOST_CLIQUES + 1], mass_at[MOST_CLIQUES + 1];
    int32_t pairs[2 * MOST_COUPLINGS], coupling_at[MOST_COUPLINGS + 1];
    int32_t link_rows[MOST_LINKS], link_start[MOST_LINKS + 1], bias_at[MOST_LINKS + 1];
    int32_t block_clique[MOST_BLOCKS], block_at[MOST_BLOCKS + 1];
    int32_t unknowns, masses, coupling_numbers, block_count, block_numbers, biases;
} scene;

/* They are large: none on the stack. */
static scene first_scene, second_scene;

/* The problem looks at this scene's own arrays. */
static void scene_connect(scene* s)
{
    s->p.clique_sizes = s->sizes;
    s->p.mass = s->mass;
    s->p.v_free = s->v_free;
    s->p.v_last = s->v_last;
    s->p.coupling_pairs = s->pairs;
    s->p.coupling_blocks = s->couplings;
    s->p.link_rows = s->link_rows;
    s->p.link_start = s->link_start;
    s->p.block_clique = s->block_clique;
    s->p.blocks = s->blocks;
    s->p.link_bias = s->bias;
    s->p.contact = s->contact;
    s->p.row = s->row;
}

static scene* scene_begin(scene* s, double dt)
{
    memset(s, 0, sizeof *s);
    s->p = icf_default_problem();
    s->p.dt = R(dt);
    scene_connect(s);
    return s;
}

static void scene_copy(scene* to, const scene* from)
{
    *to = *from;
    scene_connect(to);
}

/* A clique with the mass matrix `mass`, size x size, at rest. */
static int32_t scene_clique(scene* s, int32_t size, const double* mass)
{
    int32_t i, c = s->p.cliques++;
    assert(c < MOST_CLIQUES && s->unknowns + size <= MOST_UNKNOWNS);
    assert(s->masses + size * size <= MOST_MASS);
    s->sizes[c] = size;
    s->start[c] = s->unknowns;
    s->mass_at[c] = s->masses;
    for (i = 0; i < size * size; i++) s->mass[s->masses + i] = R(mass[i]);
    s->unknowns += size;
    s->masses += size * size;
    s->start[c + 1] = s->unknowns;
    s->mass_at[c + 1] = s->masses;
    return c;
}

static int32_t scene_diagonal(scene* s, int32_t size, const double* diagonal)
{
    double mass[64] = {0};
    int32_t i;
    for (i = 0; i < size; i++) mass[i * (size + 1)] = diagonal[i];
    return scene_clique(s, size, mass);
}

/* A point mass. */
static int32_t scene_point(scene* s, double m)
{
    double diagonal[3];
    diagonal[0] = diagonal[1] = diagonal[2] = m;
    return scene_diagonal(s, 3, diagonal);
}

/* A free body: velocity and angular velocity, about its centre. */
static int32_t scene_body(scene* s, double m, double ix, double iy, double iz)
{
    double diagonal[6];
    diagonal[0] = diagonal[1] = diagonal[2] = m;
    diagonal[3] = ix;
    diagonal[4] = iy;
    diagonal[5] = iz;
    return scene_diagonal(s, 6, diagonal);
}

static int32_t scene_joint(scene* s, double m)
{
    return scene_diagonal(s, 1, &m);
}

/* A block of A, rows of p and columns of q. */
static void scene_coupling(scene* s, int32_t p, int32_t q, const double* block)
{
    int32_t i, e = s->p.couplings++, count = s->sizes[p] * s->sizes[q];
    assert(e < MOST_COUPLINGS && count <= 64);
    s->pairs[2 * e] = p;
    s->pairs[2 * e + 1] = q;
    s->coupling_at[e] = s->coupling_numbers;
    for (i = 0; i < count; i++) s->couplings[s->coupling_numbers + i] = R(block[i]);
    s->coupling_numbers += count;
    s->coupling_at[e + 1] = s->coupling_numbers;
}

static int32_t scene_link(scene* s, int32_t rows)
{
    int32_t l = s->p.links++;
    assert(l < MOST_LINKS);
    s->link_rows[l] = rows;
    s->link_start[l] = s->block_count;
    s->link_start[l + 1] = s->block_count;
    s->bias_at[l] = s->biases;
    s->biases += rows;
    s->bias_at[l + 1] = s->biases;
    return l;
}

/* Adds a block to the link made last. */
static icf_real* scene_block(scene* s, int32_t clique, const double* k)
{
    int32_t b = s->block_count++, l = s->p.links - 1;
    int32_t i, count = s->link_rows[l] * s->sizes[clique];
    assert(b < MOST_BLOCKS && s->block_numbers + count <= MOST_BLOCK_NUMBERS);
    s->block_clique[b] = clique;
    s->block_at[b] = s->block_numbers;
    for (i = 0; i < count; i++) s->blocks[s->block_numbers + i] = R(k[i]);
    s->block_numbers += count;
    s->block_at[b + 1] = s->block_numbers;
    s->link_start[l + 1] = s->block_count;
    return s->blocks + s->block_at[b];
}

/* Adds a block of factor times the unit matrix. */
static void scene_block_unit(scene* s, int32_t clique, double factor)
{
    double k[36] = {0};
    int32_t i, rows = s->link_rows[s->p.links - 1], size = s->sizes[clique];
    for (i = 0; i < rows && i < size; i++) k[i * size + i] = factor;
    scene_block(s, clique, k);
}

/* Adds the block that reads the velocity and the angular velocity of a free body at `arm` from
   its centre, times a factor. Links of three rows read the velocity alone. */
static void scene_block_arm(scene* s, int32_t clique, const double arm[3], double factor)
{
    double k[36] = {0};
    int32_t i, rows = s->link_rows[s->p.links - 1];
    for (i = 0; i < rows; i++) k[i * 6 + i] = factor;
    /* w x arm */
    k[0 * 6 + 4] = factor * arm[2];
    k[0 * 6 + 5] = -factor * arm[1];
    k[1 * 6 + 3] = -factor * arm[2];
    k[1 * 6 + 5] = factor * arm[0];
    k[2 * 6 + 3] = factor * arm[1];
    k[2 * 6 + 4] = -factor * arm[0];
    scene_block(s, clique, k);
}

static icf_contact* scene_contact(scene* s, int32_t link)
{
    icf_contact* c = &s->contact[s->p.contacts++];
    assert(s->p.contacts <= MOST_CONTACTS);
    *c = icf_default_contact();
    c->link = link;
    return c;
}

static icf_row* scene_row(scene* s, icf_row_kind kind, int32_t link, int32_t row)
{
    icf_row* r = &s->row[s->p.rows++];
    assert(s->p.rows <= MOST_ROWS);
    *r = icf_default_row(kind);
    r->link = link;
    r->row = row;
    return r;
}

/* One point mass above a floor: the scene of most closed forms. */
static icf_contact* scene_point_on_floor(scene* s, double dt, double m)
{
    scene_begin(s, dt);
    scene_point(s, m);
    scene_link(s, 3);
    scene_block_unit(s, 0, 1);
    return scene_contact(s, 0);
}

// ------------------------------------------------------------------------------------------------
// Solving

static icf_workspace workspace;
static unsigned char* workspace_memory;
static size_t workspace_room;

/* `bytes` of workspace, with garbage in it. */
static void workspace_new(size_t bytes)
{
    if (bytes + CANARY > workspace_room) {
        free(workspace_memory);
        workspace_room = 2 * bytes + CANARY;
        workspace_memory = (unsigned char*)malloc(workspace_room);
        if (!workspace_memory) abort();
    }
    memset(workspace_memory, UNTOUCHED, bytes + CANARY);
    memset(&workspace, 0, sizeof workspace);
    TEST_CHECK(icf_workspace_init(&workspace, workspace_memory, bytes) == ICF_RESULT_OK);
}

static int workspace_kept(size_t bytes)
{
    size_t i;
    for (i = 0; i < CANARY; i++) {
        if (workspace_memory[bytes + i] != UNTOUCHED) return 0;
    }
    return 1;
}

/* Solves in `bytes` of workspace: what must hold of every solve is checked here. */
static icf_result solve_in(const scene* s, size_t bytes, const icf_options* options, icf_real* v,
                           icf_stats* stats)
{
    icf_stats unread;
    icf_result result;
    int32_t i;
    long before;
    if (!stats) stats = &unread;
    workspace_new(bytes);
    memset(stats, UNTOUCHED, sizeof *stats);
    before = test_allocations;
    result = icf_solve(&s->p, options, &workspace, v, stats);
    TEST_CHECK(test_allocations == before);
    TEST_CHECK(workspace_kept(bytes));
    if (result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED) {
        for (i = 0; i < s->unknowns; i++) {
            if (!TEST_CHECK_(finite_real((double)v[i]), "v[%d] is not finite", (int)i)) break;
        }
        TEST_CHECK(stats->part == ICF_PART_NONE);
        TEST_CHECK(stats->iterations >= 0 && stats->factorizations >= 0);
        TEST_CHECK(stats->island_factorizations >= stats->factorizations);
        TEST_CHECK(finite_real((double)stats->cost) && finite_real((double)stats->gradient));
        TEST_CHECK(stats->certificate >= 0 && stats->momentum_error >= 0);
        TEST_CHECK(result != ICF_RESULT_OK || stats->stop == ICF_STOP_CONVERGED ||
                   stats->stop == ICF_STOP_FLOOR || stats->stop == ICF_STOP_NONE);
        TEST_CHECK(result == ICF_RESULT_OK || stats->stop >= ICF_STOP_SHORT);
        /* rounding is no excuse for a large error */
        if (stats->stop == ICF_STOP_FLOOR)
            TEST_CHECK(stats->momentum_error <= (EPS < 1e-10 ? 1e-3 : 0.1));
    } else {
        TEST_CHECK(stats->stop == ICF_STOP_NONE);
    }
    return result;
}

static icf_result solve(const scene* s, const icf_options* options, icf_real* v, icf_stats* stats)
{
    return solve_in(s, icf_workspace_bytes(&s->p, ICF_SPARSE_FULL), options, v, stats);
}

/* As near to the answer as rounding lets it. */
static icf_options exact(void)
{
    icf_options o = icf_default_options();
    o.tolerance = R(4 * EPS);
    return o;
}

static void solve_exactly(const scene* s, icf_real* v, icf_stats* stats)
{
    icf_options o = exact();
    icf_result result = solve(s, &o, v, stats);
    TEST_CHECK_(result == ICF_RESULT_OK, "icf_solve: %s; seed %u", icf_result_string(result),
                (unsigned)SEED);
}

static icf_contact_result contact_result(int32_t contact)
{
    icf_contact_result result;
    memset(&result, UNTOUCHED, sizeof result);
    TEST_CHECK(icf_get_contact(&workspace, contact, &result) == ICF_RESULT_OK);
    return result;
}

static icf_row_result row_result(int32_t row)
{
    icf_row_result result;
    memset(&result, UNTOUCHED, sizeof result);
    TEST_CHECK(icf_get_row(&workspace, row, &result) == ICF_RESULT_OK);
    return result;
}

// ------------------------------------------------------------------------------------------------
// A slow second opinion, in long double: the same physics written from the force laws. Impulses
// are all that
// it takes: v is the answer if A (v - v*) = J' gamma(J v + b).

/* The normal force at a distance and a velocity. */
static wide normal_force(const icf_contact* c, wide dt, wide phi, wide v)
{
    wide k = (wide)c->stiffness, x = phi < 0 ? -phi : 0, damping = 1 - (wide)c->dissipation * v;
    wide range = (wide)c->range;
    if (damping < 0) damping = 0;
    if (c->by_force) {
        /* phi is dt v here */
        wide f = (wide)c->force - k * phi;
        (void)dt;
        return (f > 0 ? f : 0) * damping;
    }
    switch (c->law) {
    case ICF_LAW_HERTZ: return k * x * sqrtl(x) * damping;
    case ICF_LAW_KELVIN_VOIGT: {
        wide f = k * (-phi - (wide)c->relaxation * v);
        return f > 0 ? f : 0;
    }
    case ICF_LAW_IPC_BARRIER:
        /* -d/dphi of -k (range - phi)^2 ln(phi / range) */
        if (phi >= range) return 0;
        return k * (range - phi) * ((range - phi) / phi - 2 * logl(phi / range));
    case ICF_LAW_LOG_BARRIER: return k / phi;
    default: return k * x * damping;
    }
}

typedef struct piece { /* a contact or a row, in all velocities */
    const icf_contact* contact;
    const icf_row* row;
    int32_t rows;
    wide j[3][MOST_UNKNOWNS], bias[3];
    wide w;     /* inverse effective mass */
    wide v0[3]; /* before the step */
} piece;

typedef struct second_opinion {
    int32_t n, count;
    wide dt, a[MOST_UNKNOWNS * MOST_UNKNOWNS], factor[MOST_UNKNOWNS * MOST_UNKNOWNS];
    wide v_free[MOST_UNKNOWNS];
    piece pieces[MOST_CONTACTS + MOST_ROWS];
} second_opinion;

static second_opinion opinion;

static void piece_impulse(const piece* p, wide dt, const wide v[3], wide g[3])
{
    static const wide pi = 3.14159265358979323846264338327950288L;
    g[0] = g[1] = g[2] = 0;
    if (p->contact) {
        const icf_contact* c = p->contact;
        wide mu1 = (wide)c->friction, mu2 = c->friction2 < 0 ? mu1 : (wide)c->friction2, mu, e, r;
        wide distance = c->by_force ? 0 : (wide)c->distance, n0, x1, x2;
        if (c->model == ICF_MODEL_SAP) {
            wide tau = (wide)c->relaxation, beta = c->near_rigid < 0 ? 1 : (wide)c->near_rigid;
            wide rn = 1 / (dt * (wide)c->stiffness * (dt + tau)), rt = (wide)c->softness * p->w;
            wide rigid = beta * beta * p->w / (4 * pi * pi), u = -distance / (dt + tau) - v[2];
            wide slip = sqrtl(v[0] * v[0] + v[1] * v[1]), n;
            if (rn < rigid) rn = rigid;
            if (u + mu1 * slip <= 0) return;
            if (slip * rn <= mu1 * u * rt) {
                g[0] = -v[0] / rt;
                g[1] = -v[1] / rt;
                g[2] = u / rn;
                return;
            }
            n = (u + mu1 * slip) / (rn + mu1 * mu1 * rt);
            g[0] = slip > 0 ? -mu1 * n * v[0] / slip : 0;
            g[1] = slip > 0 ? -mu1 * n * v[1] / slip : 0;
            g[2] = n;
            return;
        }
        mu = mu1 > mu2 ? mu1 : mu2;
        n0 = dt * normal_force(c, dt, distance, p->v0[2]);
        e = (wide)c->softness * p->w * mu * n0;
        if (e < (wide)c->slip_tolerance) e = (wide)c->slip_tolerance;
        e *= mu;
        x1 = mu1 * v[0];
        x2 = mu2 * v[1];
        r = sqrtl(x1 * x1 + x2 * x2 + e * e);
        if (c->model == ICF_MODEL_LAGGED) {
            g[2] = dt * normal_force(c, dt, distance + dt * v[2], v[2]);
        } else {
            wide z = v[2] - (mu > 0 ? r - e : 0);
            g[2] = n0 = dt * normal_force(c, dt, distance + dt * z, z);
        }
        if (mu > 0) {
            g[0] = -n0 * mu1 * x1 / r;
            g[1] = -n0 * mu2 * x2 / r;
        }
    } else {
        const icf_row* row = p->row;
        wide u = v[0], k = (wide)row->stiffness, most = (wide)row->effort, e, beta;
        switch (row->kind) {
        case ICF_ROW_LIMIT:
        case ICF_ROW_HOLONOMIC: {
            wide tau = (wide)row->relaxation, s = row->kind == ICF_ROW_LIMIT ? (wide)row->sign : 1;
            wide regularization, rigid;
            beta = (wide)row->near_rigid;
            rigid = beta * beta * p->w / (4 * pi * pi);
            /* as stiff as the step allows is damped critically, too */
            if (!(k > 0) && tau < beta * dt / pi) tau = beta * dt / pi;
            regularization = k > 0 ? 1 / (dt * k * (dt + tau)) : 0;
            if (regularization < rigid) regularization = rigid;
            g[0] = (-(wide)row->distance / (dt + tau) - s * u) / regularization;
            if (row->kind == ICF_ROW_LIMIT && g[0] < 0) g[0] = 0;
            g[0] *= s;
            break;
        }
        case ICF_ROW_MOTOR:
            g[0] = dt * (k * ((wide)row->error - dt * u) +
                         (wide)row->damping * ((wide)row->target - u) + (wide)row->feedforward);
            if (most >= 0 && g[0] > dt * most) g[0] = dt * most;
            if (most >= 0 && g[0] < -dt * most) g[0] = -dt * most;
            break;
        case ICF_ROW_DRY_FRICTION:
            e = (wide)row->softness * p->w * dt * most;
            if (e < (wide)row->slip_tolerance) e = (wide)row->slip_tolerance;
            g[0] = -dt * most * u / sqrtl(u * u + e * e);
            break;
        default: g[0] = (wide)row->weight * ((wide)row->target - u); break;
        }
    }
}

/* Factors the n x n matrix a, rows of `stride`, in place, as L L'. 1 if it is positive definite. */
static int cholesky(int32_t n, int32_t stride, wide* a)
{
    int32_t i, j, k;
    for (j = 0; j < n; j++) {
        for (i = j; i < n; i++) {
            wide sum = a[i * stride + j];
            for (k = 0; k < j; k++) sum -= a[i * stride + k] * a[j * stride + k];
            if (i == j) {
                if (!(sum > 0)) return 0;
                a[j * stride + j] = sqrtl(sum);
            } else {
                a[i * stride + j] = sum / a[j * stride + j];
            }
        }
    }
    return 1;
}

static void cholesky_solve(int32_t n, int32_t stride, const wide* l, wide* x)
{
    int32_t i, k;
    for (i = 0; i < n; i++) {
        for (k = 0; k < i; k++) x[i] -= l[i * stride + k] * x[k];
        x[i] /= l[i * stride + i];
    }
    for (i = n - 1; i >= 0; i--) {
        for (k = i + 1; k < n; k++) x[i] -= l[k * stride + i] * x[k];
        x[i] /= l[i * stride + i];
    }
}

static void vec3_wide(icf_vec3 v, wide out[3])
{
    out[0] = (wide)v.x;
    out[1] = (wide)v.y;
    out[2] = (wide)v.z;
}

static void cross_wide(const wide a[3], const wide b[3], wide out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* How row `row` of a link, or direction d at a point of it if d is given, reads all velocities. */
static void read_link(const scene* s, int32_t link, int32_t row, const wide* d, const wide* point,
                      wide* j, wide* bias)
{
    int32_t b, i, k, rows = s->link_rows[link];
    wide along[6] = {0}, turn[3];
    if (d) {
        for (k = 0; k < 3; k++) along[k] = d[k];
        /* d . (u + w x p) = d . u + (p x d) . w */
        cross_wide(point, d, turn);
        for (k = 0; k < 3 && rows == 6; k++) along[3 + k] = turn[k];
    } else {
        along[row] = 1;
    }
    for (i = 0; i < s->unknowns; i++) j[i] = 0;
    for (b = s->link_start[link]; b < s->link_start[link + 1]; b++) {
        int32_t c = s->block_clique[b], size = s->sizes[c];
        for (k = 0; k < rows; k++) {
            for (i = 0; i < size; i++) {
                j[s->start[c] + i] += along[k] * (wide)s->blocks[s->block_at[b] + k * size + i];
            }
        }
    }
    *bias = 0;
    for (k = 0; k < rows && s->p.link_bias; k++)
        *bias += along[k] * (wide)s->bias[s->bias_at[link] + k];
}

/* |J M^-1 J'| over the blocks of A on its diagonal, in the norm of Frobenius. */
static wide delassus_norm(const scene* s, const piece* p)
{
    wide w[3][3] = {{0}}, sum = 0, block[400] = {0}, x[20] = {0};
    int32_t c, i, k, m;
    for (c = 0; c < s->p.cliques; c++) {
        int32_t size = s->sizes[c];
        assert(size <= 20);
        for (i = 0; i < size * size; i++) block[i] = (wide)s->mass[s->mass_at[c] + i];
        if (!TEST_CHECK(cholesky(size, size, block))) continue;
        for (k = 0; k < p->rows; k++) {
            for (i = 0; i < size; i++) x[i] = p->j[k][s->start[c] + i];
            cholesky_solve(size, size, block, x);
            for (m = 0; m < p->rows; m++) {
                for (i = 0; i < size; i++) w[m][k] += p->j[m][s->start[c] + i] * x[i];
            }
        }
    }
    for (k = 0; k < 3; k++) {
        for (m = 0; m < 3; m++) sum += w[k][m] * w[k][m];
    }
    return sqrtl(sum);
}

static void opinion_make(const scene* s)
{
    second_opinion* o = &opinion;
    int32_t i, j, c, e, k, n = s->unknowns;
    memset(o, 0, sizeof *o);
    o->n = n;
    o->dt = (wide)s->p.dt;
    for (c = 0; c < s->p.cliques; c++) {
        for (i = 0; i < s->sizes[c]; i++) {
            for (j = 0; j < s->sizes[c]; j++) {
                o->a[(s->start[c] + i) * n + s->start[c] + j] =
                    (wide)s->mass[s->mass_at[c] + i * s->sizes[c] + j];
            }
        }
    }
    for (e = 0, k = 0; e < s->p.couplings; e++) {
        int32_t p = s->pairs[2 * e], q = s->pairs[2 * e + 1];
        for (i = 0; i < s->sizes[p]; i++) {
            for (j = 0; j < s->sizes[q]; j++, k++) {
                o->a[(s->start[p] + i) * n + s->start[q] + j] += (wide)s->couplings[k];
                o->a[(s->start[q] + j) * n + s->start[p] + i] += (wide)s->couplings[k];
            }
        }
    }
    memcpy(o->factor, o->a, sizeof o->a);
    TEST_ASSERT(cholesky(n, n, o->factor));
    for (i = 0; i < n; i++) o->v_free[i] = (wide)s->v_free[i];
    o->count = s->p.contacts + s->p.rows;
    for (i = 0; i < o->count; i++) {
        piece* p = &o->pieces[i];
        if (i < s->p.contacts) {
            const icf_contact* contact = &s->contact[i];
            wide d[3][3] = {{0}}, point[3] = {0}, surface[3] = {0};
            p->contact = contact;
            p->rows = 3;
            vec3_wide(contact->tangent, d[0]);
            vec3_wide(contact->normal, d[2]);
            /* the default, which of the normal z is x */
            if (d[0][0] == 0 && d[0][1] == 0 && d[0][2] == 0 && d[2][2] == 1) d[0][0] = 1;
            cross_wide(d[2], d[0], d[1]);
            vec3_wide(contact->point, point);
            vec3_wide(contact->surface_velocity, surface);
            for (k = 0; k < 3; k++) {
                read_link(s, contact->link, 0, d[k], point, p->j[k], &p->bias[k]);
                for (j = 0; j < 3; j++) p->bias[k] += d[k][j] * surface[j];
            }
        } else {
            p->row = &s->row[i - s->p.contacts];
            p->rows = 1;
            read_link(s, p->row->link, p->row->row, NULL, NULL, p->j[0], &p->bias[0]);
        }
        p->w = delassus_norm(s, p) / (p->rows == 3 ? 3 : 1);
        if (p->contact && p->contact->effective_mass_inverse > 0) {
            p->w = (wide)p->contact->effective_mass_inverse;
        }
        for (k = 0; k < p->rows; k++) {
            p->v0[k] = p->bias[k];
            for (j = 0; j < n; j++) p->v0[k] += p->j[k][j] * (wide)s->v_last[j];
        }
    }
}

static void piece_velocity(const piece* p, int32_t n, const wide* v, wide u[3])
{
    int32_t i, k;
    for (k = 0; k < p->rows; k++) {
        u[k] = p->bias[k];
        for (i = 0; i < n; i++) u[k] += p->j[k][i] * v[i];
    }
}

/* A (v - v*) - J' gamma */
static void opinion_gradient(const wide* v, wide* gradient)
{
    const second_opinion* o = &opinion;
    int32_t i, j, k, n = o->n;
    for (i = 0; i < n; i++) {
        gradient[i] = 0;
        for (j = 0; j < n; j++) gradient[i] += o->a[i * n + j] * (v[j] - o->v_free[j]);
    }
    for (i = 0; i < o->count; i++) {
        const piece* p = &o->pieces[i];
        wide u[3] = {0}, g[3] = {0};
        piece_velocity(p, n, v, u);
        piece_impulse(p, o->dt, u, g);
        for (k = 0; k < p->rows; k++) {
            for (j = 0; j < n; j++) gradient[j] -= p->j[k][j] * g[k];
        }
    }
}

static wide dot(int32_t n, const wide* a, const wide* b)
{
    wide sum = 0;
    int32_t i;
    for (i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* |x| in the norm of A. */
static wide norm_a(const wide* x)
{
    const second_opinion* o = &opinion;
    wide sum = 0;
    int32_t i;
    for (i = 0; i < o->n; i++) sum += x[i] * dot(o->n, o->a + i * o->n, x);
    return sqrtl(sum);
}

/* How far from the answer v can be at most, in the norm of A: the cost is strongly convex in it. */
static wide opinion_distance(const wide* v)
{
    wide gradient[MOST_UNKNOWNS] = {0}, x[MOST_UNKNOWNS] = {0};
    opinion_gradient(v, gradient);
    memcpy(x, gradient, sizeof x);
    cholesky_solve(opinion.n, opinion.n, opinion.factor, x);
    return sqrtl(dot(opinion.n, gradient, x));
}

/* The Hessian -d gamma / d u of a piece by differences, good enough for a direction of descent. */
static void piece_hessian(const piece* p, const wide u[3], wide h[3][3])
{
    int32_t i, k;
    for (k = 0; k < p->rows; k++) {
        wide above[3] = {0}, below[3] = {0}, high[3] = {0}, low[3] = {0}, step;
        for (i = 0; i < 3; i++) above[i] = below[i] = i < p->rows ? u[i] : 0;
        step = 1e-7L * (u[k] < 0 ? -u[k] : u[k]) + 1e-10L;
        above[k] += step;
        below[k] -= step;
        piece_impulse(p, opinion.dt, above, high);
        piece_impulse(p, opinion.dt, below, low);
        for (i = 0; i < p->rows; i++) h[i][k] = (low[i] - high[i]) / (2 * step);
    }
}

/* By how much the stiffest potential exceeds the inertia that it acts on, summed: the factor by
   which the rounding of a velocity comes back in the gradient. */
static wide opinion_stiffness(const wide* v)
{
    wide sum = 0;
    int32_t i, k, m;
    for (i = 0; i < opinion.count; i++) {
        const piece* p = &opinion.pieces[i];
        wide u[3] = {0}, h[3][3] = {{0}}, most = 0;
        piece_velocity(p, opinion.n, v, u);
        piece_hessian(p, u, h);
        for (k = 0; k < p->rows; k++) {
            for (m = 0; m < p->rows; m++) most += h[k][m] < 0 ? -h[k][m] : h[k][m];
        }
        sum += most * p->w;
    }
    return sum;
}

/* The slope of the cost at v + step * direction, along the direction. */
static wide opinion_slope(const wide* v, const wide* direction, wide step)
{
    wide x[MOST_UNKNOWNS] = {0}, gradient[MOST_UNKNOWNS];
    int32_t i;
    for (i = 0; i < opinion.n; i++) x[i] = v[i] + step * direction[i];
    opinion_gradient(x, gradient);
    return dot(opinion.n, gradient, direction);
}

/* Minimises from v: directions from differences, and the line by bisection of the slope. Only
   for problems without barriers. 1 if it got there. */
static int opinion_minimise(wide* v)
{
    static wide h[MOST_UNKNOWNS * MOST_UNKNOWNS];
    second_opinion* o = &opinion;
    int32_t n = o->n, iteration, i, j, k, m, turn;
    for (iteration = 0; iteration < 400; iteration++) {
        wide gradient[MOST_UNKNOWNS] = {0}, d[MOST_UNKNOWNS] = {0}, low = 0, high = 1, scale;
        scale = norm_a(v) + norm_a(o->v_free);
        if (opinion_distance(v) <= 1e4L * (wide)LDBL_EPSILON * scale) return 1;
        opinion_gradient(v, gradient);
        memcpy(h, o->a, sizeof h);
        for (i = 0; i < o->count; i++) {
            const piece* p = &o->pieces[i];
            wide u[3] = {0}, w[3][3] = {{0}};
            piece_velocity(p, n, v, u);
            piece_hessian(p, u, w);
            for (k = 0; k < p->rows; k++) {
                for (m = 0; m < p->rows; m++) {
                    wide value = (w[k][m] + w[m][k]) / 2;
                    for (j = 0; j < n; j++) {
                        int32_t q;
                        if (p->j[k][j] == 0) continue;
                        for (q = 0; q < n; q++) h[j * n + q] += p->j[k][j] * value * p->j[m][q];
                    }
                }
            }
        }
        for (i = 0; i < n; i++) d[i] = -gradient[i];
        if (cholesky(n, n, h)) {
            cholesky_solve(n, n, h, d);
        } else {
            cholesky_solve(n, n, o->factor, d);
        }
        if (!(dot(n, d, gradient) < 0)) break;
        for (turn = 0; turn < 60 && opinion_slope(v, d, high) < 0; turn++) {
            low = high;
            high *= 2;
        }
        for (turn = 0; turn < 70; turn++) {
            wide middle = (low + high) / 2;
            if (opinion_slope(v, d, middle) < 0)
                low = middle;
            else
                high = middle;
        }
        for (i = 0; i < n; i++) v[i] += (low + high) / 2 * d[i];
    }
    /* where a step no longer helps, the last digits are out of reach */
    return opinion_distance(v) <= 1e-14L * (norm_a(v) + norm_a(o->v_free));
}

static void widen(int32_t n, const icf_real* v, wide* out)
{
    int32_t i;
    for (i = 0; i < n; i++) out[i] = (wide)v[i];
}

/* Is v, within rounding, the answer? The gradient carries the rounding of v, which stiff
   potentials amplify. */
static void check_answer(const scene* s, const icf_real* v, const char* what)
{
    wide x[MOST_UNKNOWNS] = {0}, distance, scale, stiffness;
    opinion_make(s);
    widen(s->unknowns, v, x);
    distance = opinion_distance(x);
    scale = norm_a(x) + norm_a(opinion.v_free);
    stiffness = opinion_stiffness(x);
    TEST_CHECK_(distance <= 8 * (wide)EPS * scale * (4 + stiffness),
                "%s: the answer is up to %.3g off, of %.3g, stiffness %.3g; seed %u", what,
                (double)distance, (double)scale, (double)stiffness, (unsigned)SEED);
}

/* The root of a function that falls, between low and high. */
typedef struct scalar {
    const icf_contact* contact;
    wide m, dt, v_free, effort, tolerance;
} scalar;

/* m (v* - v) + dt f(phi0 + dt v, v), for a mass that moves along the normal */
static wide scalar_residual(const scalar* f, wide v)
{
    const icf_contact* c = f->contact;
    wide force;
    if (!c) {
        force = -f->effort * v / sqrtl(v * v + f->tolerance * f->tolerance);
    } else {
        wide phi = (wide)c->distance + f->dt * v;
        if ((c->law == ICF_LAW_IPC_BARRIER || c->law == ICF_LAW_LOG_BARRIER) && phi <= 0) return 1;
        force = normal_force(c, f->dt, phi, v);
    }
    return f->m * (f->v_free - v) + f->dt * force;
}

static wide scalar_root(const scalar* f)
{
    wide low = -1, high = 1, start = f->v_free;
    int turn;
    while (scalar_residual(f, start + low) < 0) low *= 2;
    while (scalar_residual(f, start + high) > 0) high *= 2;
    low += start;
    high += start;
    for (turn = 0; turn < 200; turn++) {
        wide middle = (low + high) / 2;
        if (scalar_residual(f, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

// ------------------------------------------------------------------------------------------------
// Closed forms: one contact

static const double gravity = 9.81;

/* A point mass of 2 kg on a slope of `slope` = tan(angle), friction 0.5, for `steps` steps from
   rest in equilibrium. Gives its speed down the slope. */
static double slide(int model, double slope, double dt, int steps, double softness,
                    icf_contact_result* last, icf_contact* used)
{
    const double m = 2, k = 1e5, cosine = 1 / sqrt(1 + slope * slope), sine = slope * cosine;
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, dt, m);
    icf_real v[3] = {0, 0, 0};
    double phi = -m * gravity * cosine / k;
    int step;
    c->model = model;
    c->stiffness = R(k);
    c->friction = R(0.5);
    c->dissipation = R(5);
    c->relaxation = R(0.02);
    c->softness = R(softness);
    c->near_rigid = 0;
    for (step = 0; step < steps; step++) {
        memcpy(s->v_last, v, sizeof v);
        s->v_free[0] = v[0] + R(dt * gravity * sine);
        s->v_free[1] = v[1];
        s->v_free[2] = v[2] - R(dt * gravity * cosine);
        c->distance = R(phi);
        solve_exactly(s, v, NULL);
        *last = contact_result(0);
        phi += dt * (double)v[2];
    }
    *used = *c;
    return (double)v[0];
}

/* Below the friction angle a contact creeps at the speed at which its regularised friction is
   the load, and it stays on the floor. */
static void test_incline_creeps(void)
{
    static const double softnesses[] = {1e-3, 0.1};
    const double slope = 0.3, m = 2, dt = 0.01, mu = 0.5;
    int model, which;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        for (which = 0; which < 2; which++) {
            icf_contact_result r;
            icf_contact c;
            double speed = slide(model, slope, dt, 60, softnesses[which], &r, &c), expected;
            double n = m * gravity / sqrt(1 + slope * slope) * dt;
            double w = sqrt(3) / (3 * m);
            /* the impulse of the start of the step: a similar contact glides a little above its
               depth */
            double soft = softnesses[which] * w * mu * dt * 1e5 * -(double)c.distance;
            if (model == ICF_MODEL_SAP) {
                expected = softnesses[which] * w * n * slope;
            } else {
                /* mu n v / sqrt(v^2 + eps^2) = n slope */
                double t = slope / mu, eps = larger(soft, 1e-4);
                expected = eps * t / sqrt(1 - t * t);
                TEST_CHECK((soft > 1e-4) == (which == 1)); /* both sides of the maximum are seen */
            }
            CHECK_NEAR(r.w, w, 8 * EPS, 0);
            CHECK_NEAR(speed, expected, 2000 * EPS, 0);
            CHECK_NEAR(r.impulse.z, n, 2000 * EPS, 0);
            CHECK_NEAR(r.impulse.x, -n * slope, 2000 * EPS, 0);
            CHECK_NEAR(r.impulse.y, 0, 0, 100 * EPS * n);
            TEST_CHECK(r.mode == ICF_MODE_STICK);
        }
    }
}

/* Above it the speed is that of friction at its bound, to within the slip of regularised
   friction. */
static void test_incline_slides(void)
{
    const double slope = 1, dt = 0.005, mu = 0.5, m = 2;
    const int steps = 200;
    const double cosine = 1 / sqrt(1 + slope * slope);
    int model;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        icf_contact_result r;
        icf_contact c;
        double speed = slide(model, slope, dt, steps, 1e-3, &r, &c), t = dt * steps;
        double rigid = gravity * cosine * (slope - mu) * t;
        TEST_CHECK(r.mode == ICF_MODE_SLIP);
        if (model == ICF_MODEL_LAGGED) {
            /* the same steps, one scalar equation each */
            scalar f;
            wide v = 0;
            int step;
            f.contact = NULL;
            f.m = (wide)m;
            f.dt = (wide)dt;
            f.effort = (wide)(mu * m * gravity * cosine);
            f.tolerance = 1e-4L;
            for (step = 0; step < steps; step++) {
                f.v_free = v + (wide)(dt * gravity * cosine * slope);
                v = scalar_root(&f);
            }
            CHECK_NEAR(speed, v, steps * 30 * EPS, 0);
            CHECK_NEAR(speed, rigid, 1e-3, 0);
            CHECK_NEAR(r.impulse.x, -mu * (double)r.impulse.z, 100 * EPS + 1e-6, 0);
        } else {
            /* while it accelerates it glides higher and higher: the lift costs a little friction */
            CHECK_NEAR(speed, rigid, 0.02, 0);
            CHECK_NEAR(r.impulse.x, -mu * (double)r.impulse.z, 100 * EPS + 1e-6, 0);
        }
    }
}

/* A mass that hits the floor: every step of the flight, the impact and the rebound solves one
   equation. */
static void test_impact(void)
{
    static const int laws[] = {ICF_LAW_HUNT_CROSSLEY, ICF_LAW_HERTZ, ICF_LAW_KELVIN_VOIGT,
                               ICF_LAW_IPC_BARRIER, ICF_LAW_LOG_BARRIER};
    int law, trial, contacts = 0, rebounds = 0;
    random_seed(SEED);
    for (law = 0; law < 5; law++) {
        for (trial = 0; trial < 12; trial++) {
            const int barrier = laws[law] >= ICF_LAW_IPC_BARRIER;
            const double m = random_between(0.1, 5), dt = random_between(5e-4, 1e-2);
            scene* s = &first_scene;
            icf_contact* c = scene_point_on_floor(s, dt, m);
            icf_real v[3] = {0, 0, 0};
            double phi = random_between(1e-3, 1e-2);
            int step;
            c->law = laws[law];
            c->stiffness = R(barrier ? random_between(1e-3, 10) : random_between(1e3, 1e5));
            if (laws[law] == ICF_LAW_IPC_BARRIER) c->stiffness *= 1000;
            c->dissipation = R(trial % 3 ? random_between(0, 2) : 0);
            c->relaxation = R(trial % 3 ? random_between(0, 0.01) : 0);
            c->range = R(5e-3);
            v[2] = R(-random_between(0.1, 4));
            for (step = 0; step < 60; step++) {
                scalar f;
                double expected, speed, stiffness, tolerance;
                wide here, there;
                memcpy(s->v_last, v, sizeof v);
                s->v_free[2] = v[2] - R(dt * gravity);
                c->distance = R(phi);
                solve_exactly(s, v, NULL);
                f.contact = c;
                f.m = (wide)s->mass[0];
                f.dt = (wide)s->p.dt;
                f.v_free = (wide)s->v_free[2];
                f.effort = f.tolerance = 0;
                expected = (double)scalar_root(&f);
                /* the rounding of the impulse counts more the softer, and of phi the stiffer the
                   law is */
                speed = magnitude((double)s->v_free[2]) + magnitude(expected);
                here = scalar_residual(&f, (wide)expected);
                there = scalar_residual(&f, (wide)expected + 1e-9L);
                stiffness = (double)((here - there) * 1e9L / f.m);
                tolerance = 8 * EPS * (speed + stiffness / (1 + stiffness) * magnitude(phi) / dt);
                if (barrier) tolerance += 8 * EPS * 0.01 / dt;
                CHECK_NEAR(v[2], expected, 4 * EPS, tolerance + 1e-30);
                if (!TEST_CHECK(v[0] == 0 && v[1] == 0)) break;
                if (expected - (double)s->v_free[2] > 1e-3) contacts++;
                if (v[2] > 0 && s->v_last[2] < 0) rebounds++;
                phi += dt * (double)v[2];
                if (barrier && !TEST_CHECK(phi > 0)) break;
                if (phi > 0.02) break;
            }
        }
    }
    TEST_CHECK_(contacts >= 150, "%d steps in contact", contacts);
    TEST_CHECK_(rebounds >= 30, "%d rebounds", rebounds);
}

/* ICF (24) and table I: how far from the floor a slipping contact begins to push. */
static void test_gliding_offset(void)
{
    const double speed = 1.5, mu = 0.4, tau = 0.03;
    int model, which;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        static const double steps[] = {1e-3, 1e-2};
        for (which = 0; which < 2; which++) {
            const double dt = steps[which];
            double offset = model == ICF_MODEL_LAGGED    ? 0
                            : model == ICF_MODEL_SIMILAR ? mu * dt * speed
                                                         : mu * (dt + tau) * speed;
            int inside;
            for (inside = 0; inside < 2; inside++) {
                scene* s = &first_scene;
                icf_contact* c = scene_point_on_floor(s, dt, 1e6);
                icf_real v[3] = {0, 0, 0};
                icf_contact_result r;
                v[0] = s->v_last[0] = s->v_free[0] = R(speed);
                c->model = model;
                c->friction = R(mu);
                c->relaxation = R(tau);
                c->slip_tolerance = R(1e-6);
                c->near_rigid = 0;
                /* a part in a thousand, and for |v|_s = |v| - v_s another one in a million */
                c->distance = R(offset * (inside ? 0.999 : 1.001) + (inside ? -1e-7 : 1e-7));
                solve_exactly(s, v, NULL);
                r = contact_result(0);
                if (inside) {
                    TEST_CHECK_(r.impulse.z > 0, "model %d, dt %g: no force at %g", model, dt,
                                (double)c->distance);
                    TEST_CHECK(r.mode != ICF_MODE_OPEN);
                } else {
                    TEST_CHECK_(r.impulse.z == 0, "model %d, dt %g: a force at %g", model, dt,
                                (double)c->distance);
                    TEST_CHECK(r.impulse.x == 0 && r.impulse.y == 0 && r.mode == ICF_MODE_OPEN);
                    TEST_CHECK(v[0] == R(speed) && v[2] == 0);
                }
            }
        }
    }
}

/* ICF table I: the depth at which a slipping mass rests has the gliding offset and the modulated
   stiffness in it. The belt is so heavy that the slip does not change. */
static void test_compliance_modulation(void)
{
    const double mu = 0.5, k = 2e4, m = 1, dt = 5e-3, tau = 0.02, d = 2, softness = 0.05;
    int model;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        double diagonal[3] = {100, 100, 0}, phi = 0, expected, slip, load = m * gravity, stop;
        scene* s = scene_begin(&first_scene, dt);
        icf_contact* c;
        icf_contact_result r;
        icf_real v[3] = {2, 0, 0};
        int step;
        diagonal[2] = m;
        scene_diagonal(s, 3, diagonal);
        scene_link(s, 3);
        scene_block_unit(s, 0, 1);
        c = scene_contact(s, 0);
        c->model = model;
        c->friction = R(mu);
        c->stiffness = R(k);
        c->dissipation = R(d);
        c->relaxation = R(tau);
        c->softness = R(softness);
        c->near_rigid = 0;
        memset(&r, 0, sizeof r);
        for (step = 0; step < 1500; step++) {
            memcpy(s->v_last, v, sizeof v);
            memcpy(s->v_free, v, sizeof v);
            s->v_free[0] = 2;
            s->v_free[2] -= R(dt * gravity);
            c->distance = R(phi);
            solve_exactly(s, v, NULL);
            r = contact_result(0);
            phi += dt * (double)v[2];
        }
        slip = (double)r.velocity.x;
        CHECK_NEAR(slip, 2, 1e-3, 0);
        if (model == ICF_MODEL_LAGGED) {
            expected = -load / k;
        } else if (model == ICF_MODEL_SIMILAR) {
            /* off the floor at the start of the step, it has no impulse there for ICF (26) */
            double eps = larger(1e-4, softness * (double)r.w * mu * dt * k * -phi);
            double soft = sqrt(slip * slip + eps * eps) - eps;
            expected = mu * dt * soft - load / (k * (1 + mu * d * soft));
        } else {
            double rn = 1 / (dt * k * (dt + tau)), rt = softness * (double)r.w;
            expected = mu * (dt + tau) * slip - load / k * (1 + mu * mu * rt / rn);
            TEST_CHECK(mu * mu * rt / rn > 0.01); /* it can be seen */
        }
        /* The solve ends when the momentum error is 4 EPS of the momentum sqrt(100) 2, in the
           units of D, or the step that of the velocity; what the contact makes of that is at
           most 4 times as much. phi is a sum of many steps, a rounding each. */
        stop = 4 * 4 * EPS * 20 / (load * dt);
        CHECK_NEAR(phi, expected, 2000 * EPS, load / k * stop + 20 * EPS * load * dt * dt);
        CHECK_NEAR(r.force.z, load, 5000 * EPS + stop, 0);
    }
}

/* SAP sticks up to a slip of sigma w mu gamma_n, ICF (25), and no further. */
static void test_stiction_of_sap(void)
{
    const double m = 1, dt = 0.01, mu = 0.5, k = 1e4, load = m * gravity;
    int which;
    for (which = 0; which < 2; which++) {
        const double share = which ? 1.001 : 0.999;
        scene* s = &first_scene;
        icf_contact* c = scene_point_on_floor(s, dt, m);
        icf_real v[3] = {0, 0, 0};
        icf_contact_result r;
        double w = sqrt(3) / (3 * m), transition = 1e-3 * w * mu * load * dt;
        c->model = ICF_MODEL_SAP;
        c->stiffness = R(k);
        c->relaxation = 0;
        c->near_rigid = 0;
        c->distance = R(-load / k);
        s->v_free[0] = R(share * (mu * load * dt / m + transition));
        s->v_free[2] = R(-gravity * dt);
        solve_exactly(s, v, NULL);
        r = contact_result(0);
        if (which) {
            TEST_CHECK(r.mode == ICF_MODE_SLIP);
            TEST_CHECK(v[0] > R(transition));
        } else {
            TEST_CHECK(r.mode == ICF_MODE_STICK);
            CHECK_NEAR(v[0], share * transition, 100 * EPS, 40 * EPS * mu * load * dt);
        }
    }
}

/* SAP (29): the bound makes a mass on its contact oscillate no faster than beta steps, and is
   reported. */
static void test_near_rigid(void)
{
    const double m = 3, dt = 0.01;
    int model, given, beta;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        for (given = 0; given < 2; given++) {
            for (beta = 0; beta < 3; beta++) {
                static const double betas[] = {-1, 0, 0.5};
                /* in float what is harder is bounded by the precision as well */
                const double pi = 3.14159265358979324, hard = sizeof(icf_real) == 4 ? 1e8 : 1e12;
                const double k = given ? hard : 1e3;
                scene* s = &first_scene;
                icf_contact* c = scene_point_on_floor(s, dt, m);
                icf_real v[3] = {0, 0, 0};
                icf_contact_result r;
                icf_stats stats;
                double b = betas[beta] < 0 ? model == ICF_MODEL_SAP : betas[beta];
                double w = sqrt(3) / (3 * m);
                int acts = b > 0 && given;
                c->model = model;
                c->friction = 0;
                c->stiffness = R(k);
                c->dissipation = 0;
                c->relaxation = 0;
                c->near_rigid = R(betas[beta]);
                c->distance = R(-1e-3);
                solve_exactly(s, v, &stats);
                r = contact_result(0);
                TEST_CHECK_(r.bounded == acts && stats.bounded == acts,
                            "model %d, k %g, beta %g: bounded %d", model, k, b, (int)r.bounded);
                if (acts) {
                    /* impulse = (1e-3 / dt - v) / R_n = m v */
                    double rn = b * b * w / (4 * pi * pi);
                    CHECK_NEAR(v[2], 1e-3 / dt / (1 + m * rn), 100 * EPS, 0);
                } else {
                    CHECK_NEAR(v[2], 1e-3 / dt / (1 + m / (dt * dt * k)), 100 * EPS, 0);
                }
            }
        }
    }
}

/* Forces given as force and stiffness, with a stiffness of 0 too. */
static void test_by_force(void)
{
    const double m = 2, dt = 0.01, d = 0.5;
    int which;
    for (which = 0; which < 3; which++) {
        static const double stiffnesses[] = {0, 100, 1e4};
        const double k = stiffnesses[which], f0 = 30;
        scene* s = &first_scene;
        icf_contact* c = scene_point_on_floor(s, dt, m);
        icf_real v[3] = {0, 0, R(-0.3)};
        icf_contact_result r;
        scalar f;
        c->by_force = 1;
        c->force = R(f0);
        c->stiffness = R(k);
        c->dissipation = R(d);
        c->distance = R(123); /* not looked at */
        s->v_last[2] = v[2];
        s->v_free[2] = R(-0.3 - dt * gravity);
        solve_exactly(s, v, NULL);
        r = contact_result(0);
        if (k > 0) {
            icf_contact same = *c;
            same.by_force = 0;
            same.distance = R(-f0 / k);
            f.contact = &same;
            f.m = (wide)m;
            f.dt = (wide)s->p.dt;
            f.v_free = (wide)s->v_free[2];
            CHECK_NEAR(v[2], scalar_root(&f), 30 * EPS, 10 * EPS);
        } else {
            /* m (v - v*) = dt f0 (1 - d v) */
            double expected = (m * (double)s->v_free[2] + dt * f0) / (m + dt * f0 * d);
            CHECK_NEAR(v[2], expected, 30 * EPS, 10 * EPS);
        }
        CHECK_NEAR(r.impulse.z, m * ((double)v[2] - (double)s->v_free[2]), 100 * EPS, 10 * EPS);
    }
}

/* A contact without stiffness pushes nothing and changes nothing. */
static void test_no_stiffness(void)
{
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, 0.01, 1);
    icf_real v[3] = {0, 0, 0};
    c->stiffness = 0;
    c->distance = R(-0.1);
    s->v_free[0] = R(0.3);
    s->v_free[2] = R(-2);
    solve_exactly(s, v, NULL);
    TEST_CHECK(v[0] == R(0.3) && v[1] == 0 && v[2] == R(-2));
    TEST_CHECK(contact_result(0).mode == ICF_MODE_OPEN);
}

// ------------------------------------------------------------------------------------------------
// Closed forms: other friction

/* A ball of radius 0.1 m and 2 kg that rests on a plane through its reference point, 6
   velocities. */
static icf_contact* scene_ball(scene* s, double dt, double* inertia)
{
    static const double arm[3] = {0, 0, -0.1};
    icf_contact* c;
    *inertia = 0.4 * 2 * 0.01;
    scene_begin(s, dt);
    scene_body(s, 2, *inertia, *inertia, *inertia);
    scene_link(s, 6);
    scene_block_arm(s, 0, arm, 1);
    c = scene_contact(s, 0);
    c->stiffness = R(1e5);
    c->distance = R(-2 * gravity / 1e5);
    return c;
}

static void ball_step(scene* s, icf_real v[6], double dt)
{
    memcpy(s->v_last, v, 6 * sizeof *v);
    memcpy(s->v_free, v, 6 * sizeof *v);
    s->v_free[2] -= R(dt * gravity);
    solve_exactly(s, v, NULL);
    s->contact[0].distance += R(dt) * v[2];
}

static void test_torsion(void)
{
    const double dt = 0.005, torsion = 0.01, load = 2 * gravity;
    double inertia, rate, start = 20;
    scene* s = &first_scene;
    icf_contact* c = scene_ball(s, dt, &inertia);
    icf_real v[6] = {0, 0, 0, 0, 0, 0};
    icf_contact_result r;
    int step;
    c->torsion = R(torsion);
    v[5] = R(start);
    rate = torsion * load / inertia;
    for (step = 1; step <= 200; step++) {
        double expected = start - rate * dt * step;
        ball_step(s, v, dt);
        r = contact_result(0);
        if (expected > 1) {
            /* a part of (1e-3 rad/s / spin)^2 / 2 of the torque is missing */
            CHECK_NEAR(v[5], expected, 50 * EPS * step, 1e-6);
            CHECK_NEAR(r.spin_impulse.z, -torsion * load * dt, 1e-6 + 2000 * EPS, 0);
            CHECK_NEAR(r.spin_impulse.x, 0, 0, 100 * EPS);
        }
    }
    TEST_CHECK(rate * dt * 200 > start); /* it has come to a halt */
    CHECK_NEAR(v[5], 0, 0, 1e-5);
    CHECK_NEAR(v[0], 0, 0, 1e-6);

    /* a tenth of what it takes: it turns no more than a tenth of the tolerance */
    v[5] = 0;
    memcpy(s->v_last, v, sizeof v);
    memset(s->v_free, 0, 6 * sizeof *v);
    s->v_free[2] = R(-dt * gravity);
    s->v_free[5] = R(0.1 * rate * dt);
    solve_exactly(s, v, NULL);
    CHECK_NEAR(v[5], 0.1 * 1e-3, 0.02, 0);
}

static void test_rolling(void)
{
    const double dt = 0.005, rolling = 0.01, load = 2 * gravity, radius = 0.1, m = 2;
    int which;
    for (which = 0; which < 2; which++) {
        double inertia, rate, start = 10;
        scene* s = &first_scene;
        icf_contact* c = scene_ball(s, dt, &inertia);
        icf_real v[6] = {0, 0, 0, 0, 0, 0};
        icf_contact_result r;
        int step;
        c->rolling = R(which ? rolling : 0);
        /* rolling along x turns about y */
        v[0] = R(start * radius);
        v[4] = R(start);
        rate = which ? rolling * load / (inertia + m * radius * radius) : 0;
        for (step = 1; step <= 150; step++) {
            double expected = start - rate * dt * step;
            ball_step(s, v, dt);
            r = contact_result(0);
            if (expected < 0.5) break;
            /* friction lets the contact slip by a part of v_s, once */
            CHECK_NEAR(v[4], expected, 1e-5 + 50 * EPS * step, 1e-4 / radius);
            CHECK_NEAR(v[0], radius * (double)v[4], 50 * EPS, 1e-4);
            if (which) CHECK_NEAR(r.spin_impulse.y, -rolling * load * dt, 1e-3, 0);
            TEST_CHECK(r.mode == ICF_MODE_STICK);
        }
        if (!which) {
            CHECK_NEAR(v[4], start, 1e-6 + 200 * EPS, 1e-4);
        } else {
            TEST_CHECK(v[4] < R(0.6 * start));
        }
    }
}

/* A mass under a ceiling that pulls with 30 N. */
static void test_adhesion(void)
{
    const double m = 2, k = 1e4, dt = 0.005, pull = 30, weight = m * gravity;
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, dt, m);
    icf_real v[3] = {0, 0, 0};
    icf_contact_result r;
    double phi = 0;
    int step;
    c->stiffness = R(k);
    c->dissipation = R(5);
    c->adhesion = R(pull);
    c->adhesion_range = R(1e-3);
    memset(&r, 0, sizeof r);
    for (step = 0; step < 600; step++) {
        memcpy(s->v_last, v, sizeof v);
        memcpy(s->v_free, v, sizeof v);
        s->v_free[2] += R(dt * gravity);
        c->distance = R(phi);
        solve_exactly(s, v, NULL);
        r = contact_result(0);
        phi += dt * (double)v[2];
    }
    /* it holds, pressed on by what the weight leaves of the pull */
    CHECK_NEAR(phi, -(pull - weight) / k, 2000 * EPS, 0);
    CHECK_NEAR(v[2], 0, 0, 200 * EPS);
    CHECK_NEAR(r.force.z, -weight, 2000 * EPS, 0);

    /* friction is that of the repulsive part alone */
    s->v_last[0] = s->v_free[0] = v[0] = 3;
    solve_exactly(s, v, NULL);
    r = contact_result(0);
    CHECK_NEAR(r.impulse.x, -0.5 * (pull - weight) * dt, 5000 * EPS + 1e-9, 0);

    /* too heavy: it leaves, and out of range it falls freely */
    v[0] = v[1] = v[2] = 0;
    phi = 0;
    for (step = 0; step < 100; step++) {
        icf_real before = v[2];
        memcpy(s->v_last, v, sizeof v);
        memcpy(s->v_free, v, sizeof v);
        s->v_free[2] += R(dt * 2 * gravity);
        c->distance = R(phi);
        solve_exactly(s, v, NULL);
        if (phi > 1e-3) {
            TEST_CHECK(v[2] == s->v_free[2]);
        } else if (phi > 0) {
            CHECK_NEAR(v[2] - before, dt * (2 * gravity - pull / m), 100 * EPS, 10 * EPS);
        }
        phi += dt * (double)v[2];
    }
    TEST_CHECK(phi > 0.1);
}

/* A belt can be the contact's own or the bias of its link: the same numbers, and a load that
   ends at rest on it. */
static void test_conveyor(void)
{
    const double dt = 0.01, m = 1.5, angle = 0.7;
    scene *s = &first_scene, *t = &second_scene;
    icf_contact* c = scene_point_on_floor(s, dt, m);
    icf_real v[3] = {0, 0, 0}, other[3];
    int step;
    c->stiffness = R(1e4);
    c->dissipation = R(5);
    c->distance = R(-m * gravity / 1e4);
    c->tangent = icf_vec3_make(R(cos(angle)), R(sin(angle)), 0);
    scene_copy(t, s);
    c->surface_velocity = icf_vec3_make(R(-0.8), R(0.3), 0);
    t->bias[0] = R(-0.8);
    t->bias[1] = R(0.3);
    for (step = 0; step < 60; step++) {
        int i;
        for (i = 0; i < 3; i++) s->v_last[i] = t->v_last[i] = v[i];
        for (i = 0; i < 3; i++) s->v_free[i] = t->v_free[i] = v[i];
        s->v_free[2] = t->v_free[2] = v[2] - R(dt * gravity);
        memcpy(other, v, sizeof v);
        solve_exactly(t, other, NULL);
        solve_exactly(s, v, NULL);
        for (i = 0; i < 3; i++) CHECK_NEAR(v[i], other[i], 0, 40 * EPS);
        c->distance += R(dt) * v[2];
        t->contact[0].distance = c->distance;
        if (step == 3) {
            /* still slipping: friction pulls it along at mu g */
            double speed = sqrt((double)(v[0] * v[0] + v[1] * v[1]));
            CHECK_NEAR(speed, 4 * dt * 0.5 * gravity, 1e-4, 0);
            CHECK_NEAR(v[1] * R(0.8), -v[0] * R(0.3), 100 * EPS, 0);
        }
    }
    CHECK_NEAR(v[0], 0.8, 1e-6, 0);
    CHECK_NEAR(v[1], -0.3, 1e-6, 0);
    {
        icf_contact_result r = contact_result(0);
        CHECK_NEAR(r.velocity.x, 0, 0, 1e-6);
        CHECK_NEAR(r.velocity.y, 0, 0, 1e-6);
        TEST_CHECK(r.mode == ICF_MODE_STICK);
    }
}

static void test_anisotropic(void)
{
    const double dt = 0.01, m = 1, mu1 = 0.2, mu2 = 0.8, n = m * gravity * dt;
    int model, direction;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SIMILAR; model++) {
        for (direction = 0; direction < 3; direction++) {
            scene* s = &first_scene;
            icf_contact* c = scene_point_on_floor(s, dt, m);
            icf_real v[3] = {0, 0, 0};
            icf_contact_result r;
            double gone, along = direction != 1, across = direction != 0, x, y;
            c->model = model;
            c->friction = R(mu1);
            c->friction2 = R(mu2);
            c->stiffness = R(1e5);
            c->distance = R(-gravity / 1e5);
            s->v_last[0] = s->v_free[0] = R(3 * along);
            s->v_last[1] = s->v_free[1] = R(3 * across);
            s->v_free[2] = R(-gravity * dt);
            solve_exactly(s, v, NULL);
            r = contact_result(0);
            x = mu1 * (double)r.velocity.x;
            y = mu2 * (double)r.velocity.y;
            gone = model == ICF_MODEL_LAGGED ? n : (double)r.impulse.z;
            /* the direction of the strongest dissipation, at the bound */
            CHECK_NEAR(r.impulse.x, -gone * mu1 * x / sqrt(x * x + y * y), 1e-6, 10 * EPS);
            CHECK_NEAR(r.impulse.y, -gone * mu2 * y / sqrt(x * x + y * y), 1e-6, 10 * EPS);
            if (model == ICF_MODEL_LAGGED) CHECK_NEAR(r.impulse.z, n, 200 * EPS, 0);
            TEST_CHECK(r.mode == ICF_MODE_SLIP);
            TEST_CHECK(r.impulse.z > 0);
            check_answer(s, v, "anisotropic");
        }
    }
}

/* The same pull moves what slips already and not what rests. */
static void test_static_friction(void)
{
    const double dt = 0.01, m = 1, k = 1e4, pull = 0.5 * gravity;
    int model, moving;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        for (moving = 0; moving < 2; moving++) {
            scene* s = &first_scene;
            icf_contact* c = scene_point_on_floor(s, dt, m);
            icf_real v[3] = {0, 0, 0};
            icf_contact_result r;
            int step;
            c->model = model;
            c->friction = R(0.4);
            c->friction_static = R(0.8);
            c->stiffness = R(k);
            c->relaxation = R(0.01);
            c->distance = R(-m * gravity / k);
            c->near_rigid = 0;
            v[0] = R(moving ? 0.5 : 0);
            memset(&r, 0, sizeof r);
            for (step = 0; step < 40; step++) {
                memcpy(s->v_last, v, sizeof v);
                memcpy(s->v_free, v, sizeof v);
                s->v_free[0] += R(dt * pull / m);
                s->v_free[2] -= R(dt * gravity);
                solve_exactly(s, v, NULL);
                r = contact_result(0);
                c->distance += R(dt) * v[2];
            }
            if (moving) {
                TEST_CHECK(r.mode == ICF_MODE_SLIP);
                if (model == ICF_MODEL_LAGGED) {
                    CHECK_NEAR(v[0], 0.5 + 40 * dt * (pull / m - 0.4 * gravity), 1e-4, 0);
                }
                TEST_CHECK(v[0] > R(0.6));
            } else {
                TEST_CHECK(r.mode == ICF_MODE_STICK);
                TEST_CHECK(v[0] > 0 && v[0] < R(1.6e-4));
                CHECK_NEAR(r.force.x, -pull, 5000 * EPS, 0);
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Closed forms: rows

/* One joint of 2 kg m^2 and one row on it. */
static icf_row* scene_one_joint(scene* s, double dt, icf_row_kind kind, double v_free)
{
    scene_begin(s, dt);
    scene_joint(s, 2);
    s->v_free[0] = R(v_free);
    scene_link(s, 1);
    scene_block_unit(s, 0, 1);
    return scene_row(s, kind, 0, 0);
}

/* `stiffness` is what the row adds to 2 kg m^2: it passes on the rounding of velocities. */
static void check_joint(scene* s, double expected, double stiffness)
{
    icf_real v[1] = {0};
    icf_row_result r;
    icf_stats stats;
    double speed = magnitude((double)s->v_free[0]) + magnitude(expected);
    solve_exactly(s, v, &stats);
    r = row_result(0);
    TEST_CHECK(stats.bounded == r.bounded);
    CHECK_NEAR(v[0], expected, 0, 50 * EPS * speed);
    CHECK_NEAR(r.velocity, v[0], 4 * EPS, 0);
    CHECK_NEAR(r.impulse, 2 * ((double)v[0] - (double)s->v_free[0]), 0,
               50 * EPS * speed * (2 + stiffness));
    check_answer(s, v, "joint");
}

static void test_limit(void)
{
    /* as stiff as the step allows: 1 / R_n = 4 pi^2 / beta^2 times the inertia, damped by tau =
       beta dt / pi */
    const double m = 2, dt = 0.01, pi = 3.14159265358979324, rigid = 1 / m / (4 * pi * pi);
    const double reach = dt + dt / pi;
    scene* s = &first_scene;
    double sign;
    for (sign = -1; sign <= 1; sign += 2) {
        icf_row* row = scene_one_joint(s, dt, ICF_ROW_LIMIT, -3 * sign);
        row->sign = R(sign);
        row->distance = R(0.005);
        check_joint(s, sign * (-3 * rigid * m - 0.005 / reach) / (1 + rigid * m), 1 / rigid);
        TEST_CHECK(row_result(0).impulse * R(sign) > 0);
        TEST_CHECK(0.005 + dt * sign * (double)row_result(0).velocity > 0);

        /* far away, or on its way out: nothing */
        row->distance = R(0.1);
        check_joint(s, -3 * sign, 0);
        TEST_CHECK(row_result(0).impulse == 0);
        row->distance = R(0.005);
        s->v_free[0] = R(3 * sign);
        check_joint(s, 3 * sign, 0);
        TEST_CHECK(row_result(0).impulse == 0);

        /* a stiffness and a relaxation of its own */
        s->v_free[0] = R(-3 * sign);
        row->stiffness = 500;
        row->relaxation = R(0.05);
        row->distance = R(-0.02);
        {
            double soft = 1 / (dt * 500 * (dt + 0.05)), hat = 0.02 / (dt + 0.05);
            TEST_CHECK(soft > rigid);
            check_joint(s, sign * (-3 * soft * m + hat) / (1 + soft * m), 1 / soft);
            TEST_CHECK(row_result(0).bounded == 0);
        }

        /* too stiff for the step, which is said */
        row->relaxation = 0;
        row->stiffness = R(1e9);
        check_joint(s, sign * (-3 * rigid * m + 0.02 / dt) / (1 + rigid * m), 1 / rigid);
        TEST_CHECK(row_result(0).bounded == 1);
    }
}

/* A joint swings into its limit and stays there. */
static void test_limit_in_time(void)
{
    const double dt = 0.01;
    scene* s = &first_scene;
    icf_row* row = scene_one_joint(s, dt, ICF_ROW_LIMIT, 0);
    double q = 1; /* the limit is at 0 */
    icf_real v[1] = {0};
    int step;
    for (step = 0; step < 300; step++) {
        s->v_free[0] = v[0] - R(dt * 5);
        row->distance = R(q);
        solve_exactly(s, v, NULL);
        q += dt * (double)v[0];
        TEST_CHECK(q > -0.01);
    }
    CHECK_NEAR(q, 0, 0, 1e-3);
    CHECK_NEAR(v[0], 0, 0, 1e-2);
}

static void test_motor(void)
{
    const double m = 2, dt = 0.01, kp = 300, kd = 20, ff = 7, error = 0.1, target = 0.5, start = -1;
    const double free_answer =
        (m * start + dt * (kp * error + kd * target + ff)) / (m + dt * dt * kp + dt * kd);
    const double force = m * (free_answer - start) / dt;
    scene* s = &first_scene;
    double sign;
    for (sign = -1; sign <= 1; sign += 2) {
        icf_row* row = scene_one_joint(s, dt, ICF_ROW_MOTOR, sign * start);
        row->stiffness = R(kp);
        row->damping = R(kd);
        row->error = R(sign * error);
        row->target = R(sign * target);
        row->feedforward = R(sign * ff);
        TEST_CHECK(row->effort < 0);
        check_joint(s, sign * free_answer, dt * (dt * kp + kd));
        row->effort = R(force * 1.01);
        check_joint(s, sign * free_answer, dt * (dt * kp + kd));
        row->effort = R(force * 0.99);
        check_joint(s, sign * (start + dt * force * 0.99 / m), 0);
        row->effort = R(0.25);
        check_joint(s, sign * (start + dt * 0.25 / m), 0);
        row->effort = 0;
        check_joint(s, sign * start, 0);
    }
    {
        /* feed-forward alone is a force */
        icf_row* row = scene_one_joint(s, dt, ICF_ROW_MOTOR, start);
        row->feedforward = R(ff);
        check_joint(s, start + dt * ff / m, 0);
        /* and one velocity servo, stiff enough, is a velocity */
        row->feedforward = 0;
        row->damping = R(1e6);
        row->target = R(0.75);
        check_joint(s, (m * start + dt * 1e6 * 0.75) / (m + dt * 1e6), dt * 1e6);
    }
}

static void test_dry_friction(void)
{
    const double m = 2, dt = 0.01, effort = 4;
    scene* s = &first_scene;
    static const double loads[] = {0, 0.3, -0.9, 0.999, 1.001, -1.5, 50};
    size_t i;
    for (i = 0; i < sizeof loads / sizeof *loads; i++) {
        icf_row* row = scene_one_joint(s, dt, ICF_ROW_DRY_FRICTION, loads[i] * effort * dt / m);
        icf_real v[1] = {0};
        scalar f;
        row->effort = R(effort);
        f.contact = NULL;
        f.m = (wide)m;
        f.dt = (wide)s->p.dt;
        f.v_free = (wide)s->v_free[0];
        f.effort = (wide)effort;
        /* w = 1 / m for a row: sigma w dt effort is 2e-5 here, below the tolerance */
        f.tolerance = (wide)row->slip_tolerance;
        TEST_CHECK(1e-3 / m * dt * effort < 1e-4);
        solve_exactly(s, v, NULL);
        CHECK_NEAR(v[0], scalar_root(&f), 200 * EPS, 10 * EPS * effort * dt / m);
        if (magnitude(loads[i]) < 0.95) {
            TEST_CHECK(magnitude((double)v[0]) < 2.1e-4);
        } else if (magnitude(loads[i]) > 1.4) {
            TEST_CHECK(magnitude((double)v[0]) > 5e-3);
            CHECK_NEAR(row_result(0).impulse, loads[i] > 0 ? -effort * dt : effort * dt, 1e-3, 0);
        }

        /* sigma takes over where it is larger */
        row->softness = R(0.1);
        f.tolerance = (wide)(0.1 / m * dt * effort);
        TEST_CHECK(f.tolerance > 1e-4L);
        v[0] = 0;
        solve_exactly(s, v, NULL);
        CHECK_NEAR(v[0], scalar_root(&f), 200 * EPS, 10 * EPS * effort * dt / m);
    }
}

static void test_quadratic(void)
{
    scene* s = &first_scene;
    icf_row* row = scene_one_joint(s, 0.01, ICF_ROW_QUADRATIC, 1);
    row->weight = 6;
    row->target = -3;
    check_joint(s, (2 * 1 + 6 * -3) / 8.0, 6);
    row->weight = 0;
    check_joint(s, 1, 0);
    row->weight = R(2e6);
    check_joint(s, (2 - 3 * 2e6) / (2 + 2e6), 2e6);
}

/* One holonomic row, as stiff as the step allows and damped, and with a spring of its own. */
static void test_holonomic(void)
{
    const double m = 2, dt = 0.01, pi = 3.14159265358979324, beta = 0.1;
    const double rigid = beta * beta / m / (4 * pi * pi), reach = dt + beta * dt / pi;
    scene* s = &first_scene;
    icf_row* row = scene_one_joint(s, dt, ICF_ROW_HOLONOMIC, 0.4);
    row->distance = R(-0.02);
    check_joint(s, (0.4 * rigid * m + 0.02 / reach) / (1 + rigid * m), 1 / rigid);
    row->distance = R(0.02);
    check_joint(s, (0.4 * rigid * m - 0.02 / reach) / (1 + rigid * m), 1 / rigid);
    row->stiffness = 1000;
    row->relaxation = R(0.02);
    {
        double soft = 1 / (dt * 1000 * (dt + 0.02));
        check_joint(s, (0.4 * soft * m - 0.02 / (dt + 0.02)) / (1 + soft * m), 1 / soft);
        TEST_CHECK(row_result(0).bounded == 0);
    }
    row->stiffness = R(1e12);
    check_joint(s, (0.4 * rigid * m - 0.02 / (dt + 0.02)) / (1 + rigid * m), 1 / rigid);
    TEST_CHECK(row_result(0).bounded == 1);
}

/* Two bodies held by rows of one link: the error goes, the momenta stay. */
static void check_two_bodies(const char* what, int rows, int held, int both)
{
    static const double arm_a[3] = {0.3, -0.2, 0.1}, arm_b[3] = {-0.4, 0.1, 0.25};
    /* the reference point is where the two arms meet */
    double centre[2][3], error[6], first[6], gravity_free = 0.01;
    const double masses[2] = {2, 0.5};
    const double inertias[2][3] = {
        {0.1,  0.2,  0.15},
        {0.02, 0.03, 0.01}
    };
    scene* s = scene_begin(&first_scene, gravity_free);
    icf_real v[12] = {0};
    int i, k, step;
    TEST_CASE(what);
    for (i = 0; i < 3; i++) {
        centre[0][i] = -arm_a[i];
        centre[1][i] = -arm_b[i];
    }
    for (i = 0; i < 2; i++) {
        scene_body(s, masses[i], inertias[i][0], inertias[i][1], inertias[i][2]);
    }
    scene_link(s, rows);
    if (both) {
        /* in the other order, which changes nothing */
        scene_block_arm(s, 1, arm_b, 1);
        scene_block_arm(s, 0, arm_a, -1);
    } else {
        scene_block_arm(s, 0, arm_a, -1);
        scene_block_arm(s, 1, arm_b, 1);
    }
    for (i = 0; i < held; i++) scene_row(s, ICF_ROW_HOLONOMIC, 0, i);
    random_seed(SEED);
    for (i = 0; i < 12; i++) v[i] = R(random_between(-1, 1));
    for (i = 0; i < held; i++) error[i] = first[i] = random_between(-0.01, 0.01);
    for (step = 0; step < 12; step++) {
        double before[6] = {0}, after[6] = {0}, size = 0;
        for (i = 0; i < 12; i++) s->v_last[i] = s->v_free[i] = v[i];
        for (i = 0; i < held; i++) s->row[i].distance = R(error[i]);
        solve_exactly(s, v, NULL);
        check_answer(s, v, "held");
        for (i = 0; i < 2; i++) {
            for (k = 0; k < 3; k++) {
                int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
                const icf_real *f = s->v_free + 6 * i, *w = v + 6 * i;
                before[k] += masses[i] * (double)f[k];
                after[k] += masses[i] * (double)w[k];
                before[3 + k] +=
                    inertias[i][k] * (double)f[3 + k] +
                    masses[i] * (centre[i][k1] * (double)f[k2] - centre[i][k2] * (double)f[k1]);
                after[3 + k] +=
                    inertias[i][k] * (double)w[3 + k] +
                    masses[i] * (centre[i][k1] * (double)w[k2] - centre[i][k2] * (double)w[k1]);
                size = larger(size, masses[i] * magnitude((double)w[k]));
                size = larger(size, masses[i] * magnitude((double)f[k]));
                size = larger(size, inertias[i][k] * magnitude((double)w[3 + k]));
            }
        }
        /* near-rigid rows are stiff: 4 pi^2 / beta^2 times the inertia, and so is the rounding */
        for (k = 0; k < 6; k++) CHECK_NEAR(after[k], before[k], 0, 4000 * EPS * size);
        for (i = 0; i < held; i++) error[i] += gravity_free * (double)row_result(i).velocity;
        if (step == 0) {
            double most = 0;
            for (i = 0; i < held; i++) most = larger(most, magnitude(first[i]));
            for (i = 0; i < held; i++) {
                /* 1 / (1 + 4 pi^2 / beta^2) if the rows did not know of each other, and a step's
                   motion */
                TEST_CHECK_(magnitude(error[i]) < 0.1 * (most + gravity_free),
                            "error %d is %g after a step", i, error[i]);
            }
        }
    }
    for (i = 0; i < held; i++) CHECK_NEAR(error[i], 0, 0, 1e-5);
    TEST_CASE(NULL);
}

static void test_weld_ball(void)
{
    check_two_bodies("weld", 6, 6, 0);
    check_two_bodies("weld, other order", 6, 6, 1);
    check_two_bodies("ball", 3, 3, 0);
    check_two_bodies("ball on six rows", 6, 3, 1);
    check_two_bodies("rod", 3, 1, 0);
}

/* Two joints, the second turning three times as fast as the first. */
static void test_coupler(void)
{
    const double ratio = 3, dt = 0.01;
    double masses[2] = {2, 0.5}, one[1] = {-3}, other[1] = {1}, error = 0.05;
    scene* s = scene_begin(&first_scene, dt);
    icf_real v[2] = {1, -1};
    int step;
    scene_joint(s, masses[0]);
    scene_joint(s, masses[1]);
    scene_link(s, 1);
    scene_block(s, 0, one);
    scene_block(s, 1, other);
    scene_row(s, ICF_ROW_HOLONOMIC, 0, 0);
    for (step = 0; step < 8; step++) {
        double along = (double)v[0] * masses[0] + ratio * (double)v[1] * masses[1], after;
        memcpy(s->v_free, v, sizeof v);
        memcpy(s->v_last, v, sizeof v);
        s->row[0].distance = R(error);
        solve_exactly(s, v, NULL);
        /* what the impulse (-3, 1) cannot change */
        after = (double)v[0] * masses[0] + ratio * (double)v[1] * masses[1];
        CHECK_NEAR(after, along, 0, 200 * EPS * 10);
        /* w = 9 / 2 + 1 / 0.5, and 4 pi^2 / beta^2 / w = 607 kg m^2 pass on the rounding of 5
           rad/s */
        CHECK_NEAR(row_result(0).impulse * R(-3), masses[0] * (double)(v[0] - s->v_free[0]), 0,
                   3 * 20 * EPS * 607 * 5);
        error += dt * ((double)v[1] - ratio * (double)v[0]);
    }
    CHECK_NEAR(error, 0, 0, 1e-6 + 10 * EPS);
    CHECK_NEAR(v[1], ratio * (double)v[0], 1e-4, 0);
}

/* Two masses on a rope: slack it does nothing, taut it shares the momentum along it. */
static void test_rope(void)
{
    const double dt = 0.01, m[2] = {1, 3};
    double forward[3] = {-1, 0, 0}, back[3] = {1, 0, 0};
    int taut;
    for (taut = 0; taut < 2; taut++) {
        scene* s = scene_begin(&first_scene, dt);
        icf_real v[6] = {0, R(0.3), 0, 0, 0, R(-0.2)};
        icf_row* row;
        double slack = taut ? 0 : 0.5, common;
        scene_point(s, m[0]);
        scene_point(s, m[1]);
        scene_link(s, 1);
        /* u = d(length)/dt */
        scene_block(s, 0, forward);
        scene_block(s, 1, back);
        row = scene_row(s, ICF_ROW_LIMIT, 0, 0);
        row->sign = -1;
        row->distance = R(slack);
        memcpy(s->v_free, v, sizeof v);
        s->v_free[0] = -2;
        s->v_free[3] = 2;
        solve_exactly(s, v, NULL);
        check_answer(s, v, "rope");
        if (!taut) {
            TEST_CHECK(same_bits(v, s->v_free, sizeof v));
            TEST_CHECK(row_result(0).impulse == 0);
            continue;
        }
        common = (m[0] * -2 + m[1] * 2) / (m[0] + m[1]);
        CHECK_NEAR(m[0] * (double)v[0] + m[1] * (double)v[3], common * (m[0] + m[1]), 200 * EPS, 0);
        /* 1 / (1 + 4 pi^2) of the stretching is left */
        CHECK_NEAR(v[3] - v[0], 4 / (1 + 4 * 9.8696044010893586), 200 * EPS, 0);
        TEST_CHECK(row_result(0).impulse < 0);
        TEST_CHECK(v[1] == R(0.3) && v[5] == R(-0.2) && v[2] == 0 && v[4] == 0);
    }
}

// ------------------------------------------------------------------------------------------------
// Barriers and the caller's laws

/* However fast, nothing passes a barrier; and where it starts makes no difference. */
static void test_barriers_hold(void)
{
    static const double speeds[] = {0.01, 1, 30, 1000};
    static const double arms[3][3] = {
        {0.1,  0,    -0.1},
        {-0.1, 0.1,  -0.1},
        {-0.1, -0.1, -0.1}
    };
    int law, i, start, k;
    for (law = ICF_LAW_IPC_BARRIER; law <= ICF_LAW_LOG_BARRIER; law++) {
        for (i = 0; i < 4; i++) {
            icf_real answers[3][6];
            for (start = 0; start < 3; start++) {
                const double dt = 0.01, gaps[3] = {1e-4, 5e-4, 2e-3};
                scene* s = scene_begin(&first_scene, dt);
                icf_real* v = answers[start];
                scene_body(s, 2, 0.02, 0.02, 0.02);
                for (k = 0; k < 3; k++) {
                    icf_contact* c;
                    scene_link(s, 3);
                    scene_block_arm(s, 0, arms[k], 1);
                    c = scene_contact(s, k);
                    c->law = law;
                    c->stiffness = law == ICF_LAW_IPC_BARRIER ? R(1e4) : R(1e-3);
                    c->distance = R(gaps[k]);
                    c->softness = 0;
                }
                s->v_free[0] = R(0.5);
                s->v_free[2] = R(-speeds[i]);
                memset(v, 0, 6 * sizeof *v);
                /* at rest; where it would be without contact, behind the barrier; going away */
                if (start == 1) memcpy(v, s->v_free, 6 * sizeof *v);
                if (start == 2) v[2] = 3;
                solve_exactly(s, v, NULL);
                for (k = 0; k < 3; k++) {
                    icf_contact_result r = contact_result(k);
                    TEST_CHECK_(gaps[k] + dt * (double)r.velocity.z > 0,
                                "law %d, %g m/s: point %d ends at %g", law, speeds[i], k,
                                gaps[k] + dt * (double)r.velocity.z);
                    TEST_CHECK(r.impulse.z >= 0);
                }
                TEST_CHECK(v[2] > R(-speeds[i]) || speeds[i] < 0.05);
            }
            for (start = 1; start < 3; start++) {
                for (k = 0; k < 6; k++) {
                    /* momenta of 2 kg at that speed, at an arm of 0.1 m to 0.02 kg m^2 */
                    CHECK_NEAR(answers[start][k], answers[0][k], 0, 80 * EPS * (1 + speeds[i]));
                }
            }
        }
    }
}

/* A belt that carries what stands behind it through the barrier: v = 0 is no way out, and that
   is said. */
static void test_barrier_infeasible(void)
{
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, 0.01, 1);
    icf_real v[3] = {0, 0, 0};
    icf_stats stats;
    icf_options o = exact();
    scene_copy(&second_scene, s);
    c->law = ICF_LAW_IPC_BARRIER;
    c->distance = R(1e-4);
    c->stiffness = 1000;

    /* feasible as it starts, with a bias: solved */
    s->bias[2] = -1;
    v[2] = 2;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(v[2] > 1 - R(0.01 + 1e-6)); /* 1e-4 + 0.01 (v - 1) > 0 */

    /* feasible neither there nor at rest: refused */
    v[2] = 0;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_INFEASIBLE);
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 0);
    TEST_CHECK(v[0] == 0 && v[1] == 0 && v[2] == 0);

    /* overlapped from the start: refused, whatever the velocity */
    s->bias[2] = 0;
    scene_contact(s, 0)->distance = 1;
    s->contact[1].law = ICF_LAW_LOG_BARRIER;
    s->contact[1].distance = 0;
    v[2] = 5;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_INFEASIBLE);
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 1);
    s->contact[1].distance = R(-1e-3);
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_INFEASIBLE);
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 1);
    TEST_CHECK(v[2] == 5);
}

/* What hardly moves is tried at rest, but not where it may not rest: on a plate that comes up as fast, with a
   barrier, or so stiff that rest is worse. There the start is as good as it was. */
static void test_hardly_moving(void)
{
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, 0.01, 1);
    icf_real v[3] = {0, 0, 0};
    icf_stats stats, start;
    icf_options o = icf_default_options();
    o.tolerance = R(0.01);
    s->v_free[2] = -1;
    c->impulse_guess.z = 1;
    c->friction = 0;
    c->near_rigid = 0;
    c->law = ICF_LAW_LOG_BARRIER;
    c->distance = R(4e-5);
    c->stiffness = R(1e-4);
    c->range = R(1e-3);
    s->bias[2] = R(-5e-3);
    v[2] = R(6e-3);
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(v[2] > R(1e-3)); /* 4e-5 + 0.01 (v - 5e-3) > 0 */

    c->law = ICF_LAW_HUNT_CROSSLEY;
    c->dissipation = 0;
    c->stiffness = R(1e6);
    c->distance = R(-1.5e-4);
    v[2] = R(5e-3);
    o.iterations = 0;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_NOT_CONVERGED);
    c->impulse_guess.z = 0; /* nothing is tried */
    v[2] = R(5e-3);
    TEST_CHECK(solve(s, &o, v, &start) == ICF_RESULT_NOT_CONVERGED);
    TEST_CHECK_(stats.cost <= start.cost * (1 + 8 * R(EPS)), "%.17g for %.17g", (double)stats.cost,
                (double)start.cost);
}

typedef struct custom_law {
    double k, d;
    int calls, broken;
} custom_law;

/* Hunt & Crossley again, out of its antiderivative */
static void custom_evaluate(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    custom_law* law = (custom_law*)user;
    double h = (double)dt, phi = (double)distance, x = (double)v, hat = -phi / h, k = law->k;
    double d = law->d;
    law->calls++;
    if (d > 0 && hat > 1 / d) hat = 1 / d;
    if (law->broken) {
        out[0] = out[1] = out[2] = NOT_A_NUMBER;
    } else if (x >= hat) {
        out[0] = out[1] = out[2] = 0;
    } else {
        /* integral of h k (-phi - h y) (1 - d y) from x to hat */
        double at[2], sum[2];
        int i;
        at[0] = x;
        at[1] = hat;
        for (i = 0; i < 2; i++) {
            double y = at[i];
            sum[i] = h * k * (-phi * y + (phi * d - h) * y * y / 2 + h * d * y * y * y / 3);
        }
        out[0] = R(sum[1] - sum[0]);
        out[1] = R(h * k * (-phi - h * x) * (1 - d * x));
        out[2] = R(-h * k * (h * (1 - d * x) + d * (-phi - h * x)));
    }
}

static void test_custom_law(void)
{
    int model, trial;
    random_seed(SEED);
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SIMILAR; model++) {
        for (trial = 0; trial < 30; trial++) {
            scene *s = &first_scene, *t = &second_scene;
            custom_law law;
            icf_contact* c = scene_point_on_floor(s, 0.01, 1.5);
            icf_real v[3] = {0}, other[3] = {0};
            int i;
            law.k = random_between(1e3, 1e4);
            law.d = trial % 3 ? random_between(0, 3) : 0;
            law.calls = law.broken = 0;
            c->model = model;
            c->stiffness = R(law.k);
            c->dissipation = R(law.d);
            c->distance = R(random_between(-5e-3, 2e-3));
            for (i = 0; i < 3; i++) s->v_free[i] = s->v_last[i] = v[i] = R(random_between(-1, 1));
            memcpy(other, v, sizeof v);
            scene_copy(t, s);
            t->contact[0].law = ICF_LAW_CUSTOM;
            t->contact[0].custom = custom_evaluate;
            t->contact[0].user = &law;
            /* it is not the law's business */
            t->contact[0].stiffness = 1;
            t->contact[0].dissipation = 1;
            solve_exactly(s, v, NULL);
            solve_exactly(t, other, NULL);
            TEST_CHECK(law.calls > 0);
            for (i = 0; i < 3; i++) {
                CHECK_NEAR(other[i], v[i], 1000 * EPS, 1000 * EPS);
            }
        }
    }
}

static void test_custom_law_broken(void)
{
    scene* s = &first_scene;
    custom_law law = {1000, 1, 0, 1};
    icf_contact* c = scene_point_on_floor(s, 0.01, 1);
    icf_real v[3] = {0, 0, R(-0.5)};
    icf_stats stats;
    icf_result result;
    c->law = ICF_LAW_CUSTOM;
    c->custom = custom_evaluate;
    c->user = &law;
    c->distance = R(-1e-3);
    test_assertions_matter = 0;
    result = solve(s, NULL, v, &stats);
    test_assertions_matter = 1;
    TEST_CHECK_(result == ICF_RESULT_BAD_LAW || result == ICF_RESULT_NOT_FINITE,
                "a law of NaN gives %s", icf_result_string(result));
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 0);
    TEST_CHECK(v[0] == 0 && v[1] == 0 && v[2] == R(-0.5));
    c->custom = NULL;
    result = solve(s, NULL, v, &stats);
    TEST_CHECK(result == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(stats.part == ICF_PART_CONTACT && stats.which == 0);
}

// ------------------------------------------------------------------------------------------------
// Random problems

static void random_unit_vector(double out[3])
{
    double length;
    int i;
    do {
        for (i = 0; i < 3; i++) out[i] = random_between(-1, 1);
        length = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    } while (length < 0.2 || length > 1);
    for (i = 0; i < 3; i++) out[i] /= length;
}

static void random_frame(icf_contact* c)
{
    double n[3], a[3], t[3], length;
    int i;
    random_unit_vector(n);
    random_unit_vector(a);
    for (i = 0; i < 3; i++)
        t[i] = n[(i + 1) % 3] * a[(i + 2) % 3] - n[(i + 2) % 3] * a[(i + 1) % 3];
    length = sqrt(t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
    if (length < 0.1) {
        random_frame(c);
        return;
    }
    c->normal = icf_vec3_make(R(n[0]), R(n[1]), R(n[2]));
    c->tangent = icf_vec3_make(R(t[0] / length), R(t[1] / length), R(t[2] / length));
}

/* A random symmetric positive definite matrix of eigenvalues around m. */
static void random_mass(int32_t size, double m, double* mass)
{
    double g[64] = {0};
    int32_t i, j, k;
    for (i = 0; i < size * size; i++) g[i] = random_between(-1, 1);
    for (i = 0; i < size; i++) {
        for (j = 0; j <= i; j++) {
            double sum = i == j ? 1 : 0;
            for (k = 0; k < size; k++) sum += g[i * size + k] * g[j * size + k] / size;
            mass[i * size + j] = mass[j * size + i] = m * sum;
        }
    }
}

enum {
    WITH_LAGGED = 1,
    WITH_SIMILAR = 2,
    WITH_SAP = 4,
    WITH_ROWS = 8,
    WITH_BARRIERS = 16,
    WITH_COUPLINGS = 32,
    WITH_LAWS = 64
};

static void random_contact(icf_contact* c, int features, int rows)
{
    int32_t models[3];
    int count = 0;
    if (features & WITH_LAGGED) models[count++] = ICF_MODEL_LAGGED;
    if (features & WITH_SIMILAR) models[count++] = ICF_MODEL_SIMILAR;
    if (features & WITH_SAP) models[count++] = ICF_MODEL_SAP;
    random_frame(c);
    c->model = models[random_below(count)];
    c->distance = R(random_between(-3e-3, 1e-3));
    c->stiffness = R(exp(random_between(log(1e3), log(3e4))));
    c->dissipation = R(random_below(3) ? random_between(0, 1) : 0);
    c->relaxation = R(random_between(0, 0.02));
    c->friction = R(random_below(5) ? random_between(0.05, 1.5) : 0);
    if (c->model != ICF_MODEL_SAP && !random_below(3)) c->friction2 = R(random_between(0, 1));
    c->slip_tolerance = R(exp(random_between(log(1e-3), log(2e-2))));
    c->softness = R(random_between(1e-3, 1e-2));
    if (c->model == ICF_MODEL_SAP) c->softness = R(random_between(0.01, 0.1));
    if (rows == 6) {
        c->point.x = R(random_between(-0.3, 0.3));
        c->point.y = R(random_between(-0.3, 0.3));
        c->point.z = R(random_between(-0.3, 0.3));
    }
    if (features & WITH_LAWS && c->model != ICF_MODEL_SAP) {
        switch (random_below(4)) {
        case 1:
            c->law = ICF_LAW_HERTZ;
            c->stiffness *= 20;
            break;
        case 2: c->law = ICF_LAW_KELVIN_VOIGT; break;
        case 3:
            c->by_force = 1;
            c->force = -c->distance * c->stiffness;
            break;
        default: break;
        }
    }
    if (features & WITH_BARRIERS && !random_below(2)) {
        c->model = ICF_MODEL_LAGGED;
        c->by_force = 0;
        c->law = random_below(2) ? ICF_LAW_IPC_BARRIER : ICF_LAW_LOG_BARRIER;
        c->stiffness = c->law == ICF_LAW_IPC_BARRIER ? R(3e3) : R(3e-3);
        c->distance = R(random_between(1e-3, 1e-2));
        c->range = R(8e-3);
    } else {
        c->surface_velocity =
            icf_vec3_make(R(random_below(3) ? 0 : random_between(-0.1, 0.1)), 0, 0);
    }
}

static void random_rows(scene* s, int32_t link, int32_t rows)
{
    int32_t i;
    for (i = 0; i < rows; i++) {
        icf_row* r = scene_row(s, (icf_row_kind)random_below(5), link, i);
        r->distance = R(random_between(-2e-3, 5e-3));
        r->sign = R(random_below(2) ? 1 : -1);
        r->stiffness = R(r->kind == ICF_ROW_MOTOR || random_below(2) ? random_between(10, 1e3) : 0);
        r->relaxation = R(random_between(0, 0.02));
        r->damping = R(random_between(0, 20));
        r->error = R(random_between(-0.1, 0.1));
        r->target = R(random_between(-1, 1));
        r->feedforward = R(random_between(-10, 10));
        r->effort = R(random_between(0, 30));
        if (r->kind == ICF_ROW_MOTOR && random_below(2)) r->effort = -1;
        r->slip_tolerance = R(exp(random_between(log(1e-3), log(1e-2))));
        r->weight = R(random_between(0, 5));
    }
}

/* Cliques of all sizes, links of one, two or three of them, everything that the second opinion
   knows: `cliques` .. cliques + more_cliques of the former, likewise of the latter. */
static void random_scene(scene* s, int features, int32_t cliques, int32_t more_cliques,
                         int32_t links, int32_t more_links)
{
    int32_t i, k, b, size;
    int with_bias = !(features & WITH_BARRIERS);
    /* slow ones stick, fast ones slip */
    double speed = exp(random_between(log(0.01), log(1)));
    scene_begin(s, random_between(5e-3, 1.5e-2));
    cliques += random_below(more_cliques + 1);
    links += random_below(more_links + 1);
    for (i = 0; i < cliques; i++) {
        static const int32_t sizes[] = {6, 3, 6, 1, 8};
        double mass[64] = {0};
        size = sizes[random_below(5)];
        random_mass(size, exp(random_between(log(0.3), log(3))), mass);
        scene_clique(s, size, mass);
    }
    for (i = 0; i < links; i++) {
        int32_t rows = random_below(2) ? 3 : 6, with_contacts = 1, of[3],
                blocks = 1 + random_below(3);
        if (features & WITH_ROWS && random_below(2)) {
            rows = 1 + random_below(6);
            with_contacts = 0;
        }
        if (blocks > cliques) blocks = cliques;
        scene_link(s, rows);
        for (b = 0; b < blocks; b++) {
            double block[48] = {0};
            int again = 1;
            while (again) {
                of[b] = random_below(cliques);
                for (again = 0, k = 0; k < b; k++) again |= of[k] == of[b];
            }
            size = s->sizes[of[b]];
            for (k = 0; k < rows * size; k++) block[k] = random_between(-1, 1);
            scene_block(s, of[b], block);
        }
        for (k = 0; with_bias && k < rows; k++) {
            s->bias[s->bias_at[i] + k] = R(random_below(3) ? 0 : speed * random_between(-0.3, 0.3));
        }
        if (with_contacts) {
            int32_t contacts = 1 + random_below(3);
            for (k = 0; k < contacts; k++) random_contact(scene_contact(s, i), features, rows);
        } else {
            random_rows(s, i, rows);
        }
    }
    if (features & WITH_COUPLINGS) {
        /* as in a mesh: springs (G_p v_p - G_q v_q)^2, on the diagonal as well */
        for (i = 1; i < cliques; i++) {
            int32_t of[2], e, j;
            double g[2][3 * 8], block[64] = {0};
            of[0] = random_below(i);
            of[1] = i;
            if (random_below(2)) {
                of[1] = of[0];
                of[0] = i;
            }
            for (e = 0; e < 2; e++) {
                for (k = 0; k < 24; k++) g[e][k] = random_between(-1, 1);
                for (k = 0, size = s->sizes[of[e]]; k < size; k++) {
                    for (j = 0; j < size; j++) {
                        s->mass[s->mass_at[of[e]] + k * size + j] +=
                            R(g[e][k] * g[e][j] + g[e][8 + k] * g[e][8 + j] +
                              g[e][16 + k] * g[e][16 + j]);
                    }
                }
            }
            for (k = 0, size = s->sizes[of[1]]; k < s->sizes[of[0]]; k++) {
                for (j = 0; j < size; j++) {
                    block[k * size + j] = -(g[0][k] * g[1][j] + g[0][8 + k] * g[1][8 + j] +
                                            g[0][16 + k] * g[1][16 + j]);
                }
            }
            scene_coupling(s, of[0], of[1], block);
        }
    }
    for (i = 0; i < s->unknowns; i++) {
        s->v_last[i] = R(speed * random_between(-1, 1));
        s->v_free[i] = s->v_last[i] + R(speed * random_between(-0.2, 0.2));
    }
}

enum { FAMILIES = 7 };
static const struct {
    const char* name;
    int features;
} families[FAMILIES] = {
    {"lagged",    WITH_LAGGED                                                       },
    {"similar",   WITH_SIMILAR                                                      },
    {"SAP",       WITH_SAP                                                          },
    {"mixed",     WITH_LAGGED | WITH_SIMILAR | WITH_SAP | WITH_ROWS | WITH_LAWS     },
    {"rows",      WITH_LAGGED | WITH_ROWS                                           },
    {"barriers",  WITH_LAGGED | WITH_BARRIERS | WITH_LAWS                           },
    {"couplings", WITH_LAGGED | WITH_SIMILAR | WITH_SAP | WITH_COUPLINGS | WITH_LAWS},
};

static void random_start(const scene* s, double speed, icf_real* v)
{
    int32_t i;
    for (i = 0; i < s->unknowns; i++) v[i] = R(random_between(-speed, speed));
}

/* |a - b| over the size of the answer, both in the norm of A of the second opinion. */
static double relative_distance(const scene* s, const icf_real* a, const wide* b)
{
    wide x[MOST_UNKNOWNS] = {0}, scale;
    int32_t i;
    scale = norm_a(b) + norm_a(opinion.v_free);
    for (i = 0; i < s->unknowns; i++) x[i] = (wide)a[i] - b[i];
    return (double)(norm_a(x) / scale);
}

/* Every answer is checked against impulses in long double, and those of some families with the
   answer of a minimiser that shares nothing with the library. */
static void test_second_opinion(void)
{
    int family, trial, open = 0, stick = 0, slip = 0, minimised = 0;
    for (family = 0; family < FAMILIES; family++) {
        TEST_CASE(families[family].name);
        for (trial = 0; trial < 25; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            icf_stats stats;
            int32_t i;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 1, 6, 1, 8);
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, &stats);
            check_answer(s, v, families[family].name);
            for (i = 0; i < s->p.contacts; i++) {
                icf_contact_result r = contact_result(i);
                open += r.mode == ICF_MODE_OPEN;
                stick += r.mode == ICF_MODE_STICK;
                slip += r.mode == ICF_MODE_SLIP;
                CHECK_NEAR(r.w, opinion.pieces[i].w, 100 * EPS, 0);
            }
            if (!(families[family].features & WITH_BARRIERS) && trial < 8) {
                wide x[MOST_UNKNOWNS] = {0};
                double off;
                memcpy(x, opinion.v_free, sizeof x);
                if (!TEST_CHECK_(opinion_minimise(x), "trial %d: no second opinion, %g; seed %u",
                                 trial, (double)opinion_distance(x), (unsigned)SEED)) {
                    continue;
                }
                minimised++;
                off = relative_distance(s, v, x);
                TEST_CHECK_(off <= 200 * EPS, "trial %d: %g from the second opinion; seed %u",
                            trial, off, (unsigned)SEED);
            }
        }
    }
    TEST_CASE(NULL);
    /* all that contacts can do is among them */
    TEST_CHECK_(open >= 200 && stick >= 50 && slip >= 300, "%d open, %d stick, %d slip", open,
                stick, slip);
    TEST_CHECK(minimised >= 40);
}

/* Where a solve starts makes no difference but for the iterations. */
static void test_random_starts(void)
{
    int family, trial, start, open = 0, stick = 0, slip = 0;
    for (family = 0; family < FAMILIES; family++) {
        TEST_CASE(families[family].name);
        for (trial = 0; trial < 30; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
            wide x[MOST_UNKNOWNS] = {0};
            int32_t i;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 3, 4, 4, 8);
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, NULL);
            for (i = 0; i < s->p.contacts; i++) {
                icf_contact_result r = contact_result(i);
                open += r.mode == ICF_MODE_OPEN;
                stick += r.mode == ICF_MODE_STICK;
                slip += r.mode == ICF_MODE_SLIP;
            }
            opinion_make(s);
            widen(s->unknowns, v, x);
            for (start = 0; start < 5; start++) {
                static const double speeds[] = {0, 0.01, 1, 30, 1000};
                double off;
                random_start(s, speeds[start], other);
                solve_exactly(s, other, NULL);
                off = relative_distance(s, other, x);
                TEST_CHECK_(off <= 200 * EPS, "trial %d, from %g m/s: %g off; seed %u", trial,
                            speeds[start], off, (unsigned)SEED);
            }
        }
    }
    TEST_CASE(NULL);
    TEST_CHECK_(open >= 400 && stick >= 100 && slip >= 500, "%d open, %d stick, %d slip", open,
                stick, slip);
}

/* A start from far behind the barriers or far in front of them costs iterations and nothing
   else. */
static void test_barriers_from_afar(void)
{
    static icf_iteration history[1001];
    int trial, start;
    for (trial = 0; trial < 40; trial++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        wide x[MOST_UNKNOWNS] = {0};
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, WITH_LAGGED | WITH_BARRIERS, 2, 6, 3, 9);
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, NULL);
        opinion_make(s);
        widen(s->unknowns, v, x);
        for (start = 0; start < 4; start++) {
            static const double speeds[] = {3, 100, 1000, 1e4};
            icf_options o = exact();
            icf_stats stats;
            icf_result result;
            int32_t i;
            double off;
            o.history = history;
            o.history_capacity = 1001;
            random_start(s, speeds[start], other);
            result = solve(s, &o, other, &stats);
            TEST_CHECK_(result == ICF_RESULT_OK, "trial %d, from %g m/s: %s; seed %u", trial,
                        speeds[start], icf_result_string(result), (unsigned)SEED);
            for (i = 1; i < stats.history; i++) {
                /* a fall of many orders leaves the rounding of where it began */
                if (!TEST_CHECK_((double)history[i].cost <=
                                     (1 + 100 * EPS) * (double)history[i - 1].cost,
                                 "trial %d, from %g m/s: from %g to %g at iteration %d; seed %u",
                                 trial, speeds[start], (double)history[i - 1].cost,
                                 (double)history[i].cost, (int)i, (unsigned)SEED)) {
                    break;
                }
            }
            off = relative_distance(s, other, x);
            TEST_CHECK_(off <= 200 * EPS, "trial %d, from %g m/s: %g off; seed %u", trial,
                        speeds[start], off, (unsigned)SEED);
        }
    }
}

/* Without v_last friction looks back to where the solve starts. */
static void test_no_last(void)
{
    int family;
    for (family = 0; family < FAMILIES; family++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        random_seed(SEED + (uint32_t)family);
        random_scene(s, families[family].features, 5, 0, 6, 0);
        memcpy(v, s->v_last, sizeof v);
        memcpy(other, v, sizeof v);
        solve_exactly(s, v, NULL);
        s->p.v_last = NULL;
        solve_exactly(s, other, NULL);
        TEST_CHECK_(same_bits(v, other, (size_t)s->unknowns * sizeof *v), "%s",
                    families[family].name);
    }
}

// ------------------------------------------------------------------------------------------------
// Structure

/* A contact of a link of six rows, with a point, a normal and a tangent, is the contact of an
   explicit link of three rows. */
static void test_frames_are_rows(void)
{
    int trial, model, k;
    random_seed(SEED);
    for (trial = 0; trial < 40; trial++) {
        scene *s = scene_begin(&first_scene, 0.01), *t = scene_begin(&second_scene, 0.01);
        double mass[64] = {0}, block[2][36];
        icf_real v[12] = {0}, other[12] = {0};
        int32_t i, j, b, contacts = 1 + random_below(4);
        for (b = 0; b < 2; b++) {
            random_mass(6, 1, mass);
            scene_clique(s, 6, mass);
            scene_clique(t, 6, mass);
            for (i = 0; i < 36; i++) block[b][i] = random_between(-1, 1);
        }
        scene_link(s, 6);
        for (b = 0; b < 2; b++) scene_block(s, b, block[b]);
        for (i = 0; i < 6; i++) s->bias[i] = R(random_between(-0.2, 0.2));
        for (k = 0; k < contacts; k++) {
            icf_contact* c = scene_contact(s, 0);
            wide d[3][3] = {{0}}, point[3] = {0}, surface[3] = {0};
            int32_t l = scene_link(t, 3);
            model = trial % 3;
            random_contact(c, 1 << model, 6);
            vec3_wide(c->tangent, d[0]);
            vec3_wide(c->normal, d[2]);
            cross_wide(d[2], d[0], d[1]);
            vec3_wide(c->point, point);
            vec3_wide(c->surface_velocity, surface);
            for (b = 0; b < 2; b++) {
                double rows[18];
                for (i = 0; i < 3; i++) {
                    wide all[MOST_UNKNOWNS] = {0}, bias;
                    read_link(s, 0, 0, d[i], point, all, &bias);
                    for (j = 0; j < 6; j++) rows[6 * i + j] = (double)all[6 * b + j];
                    t->bias[t->bias_at[l] + i] = R(bias);
                    for (j = 0; j < 3; j++) t->bias[t->bias_at[l] + i] += R(d[i][j] * surface[j]);
                }
                scene_block(t, b, rows);
            }
            *scene_contact(t, l) = *c;
            t->contact[k].link = l;
            t->contact[k].point = icf_vec3_make(0, 0, 0);
            t->contact[k].surface_velocity = icf_vec3_make(0, 0, 0);
            t->contact[k].tangent = icf_vec3_make(1, 0, 0);
            t->contact[k].normal = icf_vec3_make(0, 0, 1);
        }
        for (i = 0; i < 12; i++) {
            v[i] = s->v_last[i] = t->v_last[i] = R(random_between(-1, 1));
            s->v_free[i] = t->v_free[i] = v[i] + R(random_between(-0.1, 0.1));
        }
        memcpy(other, v, sizeof v);
        solve_exactly(s, v, NULL);
        {
            icf_contact_result r[4], q;
            wide x[MOST_UNKNOWNS] = {0};
            double off;
            opinion_make(s);
            widen(12, v, x);
            for (k = 0; k < contacts; k++) r[k] = contact_result(k);
            solve_exactly(t, other, NULL);
            off = relative_distance(s, other, x);
            TEST_CHECK_(off <= 200 * EPS, "trial %d: %g; seed %u", trial, off, (unsigned)SEED);
            for (k = 0; k < contacts; k++) {
                double most = 1 + magnitude((double)r[k].impulse.z);
                q = contact_result(k);
                /* impulses carry the rounding of velocities, times stiffnesses of up to 1e3 */
                CHECK_NEAR(q.impulse.x, r[k].impulse.x, 0, 3e4 * EPS * most);
                CHECK_NEAR(q.impulse.y, r[k].impulse.y, 0, 3e4 * EPS * most);
                CHECK_NEAR(q.impulse.z, r[k].impulse.z, 0, 3e4 * EPS * most);
                CHECK_NEAR(q.velocity.z, r[k].velocity.z, 0, 1000 * EPS);
                CHECK_NEAR(q.w, r[k].w, 100 * EPS, 0);
            }
        }
    }
}

/* Bodies that touch each other and the ground, by links of three and six rows; with `scale` 2 each of
   velocities half as large, so that no block is one that the solver knows by its lever */
static void make_three_bodies(scene* s, double scale)
{
    static const int32_t pair[6][2] = {
        {0, 1 },
        {2, 1 },
        {2, 0 },
        {0, -1},
        {1, -1},
        {1, 2 }
    };
    int32_t i, j, k;
    random_seed(SEED);
    scene_begin(s, 0.01);
    for (i = 0; i < 3; i++) {
        double mass[36] = {0}, m = random_between(0.5, 2) * scale * scale;
        for (j = 0; j < 3; j++) {
            mass[7 * j] = m;
            mass[7 * (3 + j)] = m * random_between(0.2, 0.4);
        }
        mass[22] = mass[27] = 0.1 * m;
        scene_clique(s, 6, mass);
        for (j = 0; j < 6; j++) s->v_free[6 * i + j] = R(random_between(-1, 1) / scale);
    }
    for (i = 0; i < 6; i++) {
        int32_t rows = i % 2 ? 6 : 3;
        scene_link(s, rows);
        if (i == 5) { /* a link of three, with a row of its own */
            static const double arm[3] = {0.3, -0.2, 0.1};
            scene_block_arm(s, 0, arm, scale);
            scene_row(s, ICF_ROW_DRY_FRICTION, i, 4)->effort = R(0.7);
        }
        for (k = 0; k < 2; k++) {
            double arm[3];
            for (j = 0; j < 3; j++) arm[j] = random_between(-1, 1);
            if (pair[i][k] >= 0) scene_block_arm(s, pair[i][k], arm, (k ? -1 : 1) * scale);
        }
        for (k = 0; k < (rows == 6 ? 3 : 1); k++) {
            icf_contact* c = scene_contact(s, i);
            c->normal = icf_vec3_normalize(
                icf_vec3_make(R(random_between(-1, 1)), R(random_between(-1, 1)), R(1.5)));
            c->tangent = icf_vec3_normalize(icf_vec3_cross(c->normal, icf_vec3_make(1, 0, 0)));
            c->distance = R(-0.001);
            c->stiffness = R(1e4);
            c->friction = R(0.5);
            if (rows == 6) c->point.x = R(0.3 * k);
            if (rows == 6) c->point.y = R(0.2 * k * k);
        }
    }
}

/* Blocks of free bodies are multiplied by their levers: the answer, and the iterations to it, are those of
   other blocks; and what only looks like one is another block. */
static void test_levers(void)
{
    icf_real v[18] = {0}, w[18] = {0};
    icf_stats by_lever, by_block;
    int32_t i, entry;
    /* one body on the ground: its matrix is dense */
    make_three_bodies(&first_scene, 1);
    first_scene.p.cliques = 1;
    first_scene.p.links = 1;
    first_scene.p.contacts = 0;
    first_scene.p.rows = 1;
    first_scene.unknowns = 6;
    first_scene.link_rows[0] = 6;
    first_scene.link_start[1] = 1;
    memcpy(first_scene.blocks, first_scene.blocks + first_scene.block_at[first_scene.link_start[3]],
           36 * sizeof(icf_real));
    first_scene.row[0].link = 0;
    solve_exactly(&first_scene, v, &by_lever);
    check_answer(&first_scene, v, "one body by lever");
    make_three_bodies(&first_scene, 1);
    make_three_bodies(&second_scene, 2);
    TEST_ASSERT(second_scene.blocks[0] == 2);
    solve_exactly(&first_scene, v, &by_lever);
    solve_exactly(&second_scene, w, &by_block);
    for (i = 0; i < 18; i++) {
        TEST_CHECK_(near(2 * (double)w[i], (double)v[i], 1e3 * EPS, 1e3 * EPS),
                    "%d: %g, by lever %g", (int)i, 2 * (double)w[i], (double)v[i]);
    }
    check_answer(&first_scene, v, "by lever");
    /* at the default tolerance, where rounding does not count iterations */
    memset(v, 0, sizeof v);
    memset(w, 0, sizeof w);
    TEST_CHECK(solve(&first_scene, NULL, v, &by_lever) == ICF_RESULT_OK);
    TEST_CHECK(solve(&second_scene, NULL, w, &by_block) == ICF_RESULT_OK);
    TEST_CHECK(by_lever.iterations > 2 && by_lever.iterations == by_block.iterations);
    for (entry = 0; entry < first_scene.block_numbers; entry++) {
        make_three_bodies(&second_scene, 1);
        second_scene.blocks[entry] += R(0.5);
        solve_exactly(&second_scene, v, &by_block);
        check_answer(&second_scene, v, "a block that is none of a body");
    }
}

/* A tangent of zero is any tangent: where friction is isotropic that changes nothing. */
static void test_any_tangent(void)
{
    int trial, i;
    random_seed(SEED);
    for (trial = 0; trial < 30; trial++) {
        scene *s = &first_scene, *t = &second_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        wide x[MOST_UNKNOWNS] = {0};
        double off;
        random_scene(s, 1 << trial % 3, 3, 0, 4, 0);
        for (i = 0; i < s->p.contacts; i++) s->contact[i].friction2 = -1;
        scene_copy(t, s);
        for (i = 0; i < t->p.contacts; i++) t->contact[i].tangent = icf_vec3_make(0, 0, 0);
        memcpy(v, s->v_last, sizeof v);
        memcpy(other, v, sizeof v);
        solve_exactly(s, v, NULL);
        solve_exactly(t, other, NULL);
        opinion_make(s);
        widen(s->unknowns, v, x);
        off = relative_distance(s, other, x);
        TEST_CHECK_(off <= 200 * EPS, "trial %d: %g; seed %u", trial, off, (unsigned)SEED);
        for (i = 0; i < t->p.contacts; i++) {
            /* the force is in the axes of the link, and orthogonal parts stay so */
            icf_contact_result r = contact_result(i);
            double along = (double)icf_vec3_dot(r.force, t->contact[i].normal);
            CHECK_NEAR(along * (double)t->p.dt, r.impulse.z, 20 * EPS,
                       20 * EPS * (double)icf_vec3_length(r.impulse));
        }
    }
}

/* Adds the cliques, links and potentials of one scene to another. */
static void scene_append(scene* s, const scene* more)
{
    int32_t c, l, b, i, cliques = s->p.cliques, links = s->p.links, start = s->unknowns;
    for (c = 0; c < more->p.cliques; c++) {
        double mass[64] = {0};
        for (i = 0; i < more->sizes[c] * more->sizes[c]; i++) {
            mass[i] = (double)more->mass[more->mass_at[c] + i];
        }
        scene_clique(s, more->sizes[c], mass);
    }
    memcpy(s->v_free + start, more->v_free, (size_t)more->unknowns * sizeof(icf_real));
    memcpy(s->v_last + start, more->v_last, (size_t)more->unknowns * sizeof(icf_real));
    for (l = 0; l < more->p.links; l++) {
        scene_link(s, more->link_rows[l]);
        for (b = more->link_start[l]; b < more->link_start[l + 1]; b++) {
            double block[64] = {0};
            for (i = 0; i < more->block_at[b + 1] - more->block_at[b]; i++) {
                block[i] = (double)more->blocks[more->block_at[b] + i];
            }
            scene_block(s, more->block_clique[b] + cliques, block);
        }
        for (i = 0; i < more->link_rows[l]; i++) {
            s->bias[s->bias_at[links + l] + i] = more->bias[more->bias_at[l] + i];
        }
    }
    for (i = 0; i < more->p.contacts; i++) {
        icf_contact* contact = scene_contact(s, 0);
        *contact = more->contact[i];
        contact->link += links;
    }
    for (i = 0; i < more->p.rows; i++) {
        icf_row* row = scene_row(s, ICF_ROW_LIMIT, 0, 0);
        *row = more->row[i];
        row->link += links;
    }
    for (i = 0; i < more->p.couplings; i++) {
        double block[64] = {0};
        for (c = 0; c < more->coupling_at[i + 1] - more->coupling_at[i]; c++) {
            block[c] = (double)more->couplings[more->coupling_at[i] + c];
        }
        scene_coupling(s, more->pairs[2 * i] + cliques, more->pairs[2 * i + 1] + cliques, block);
    }
}

static scene small_scenes[4];

/* Islands do not know of each other: each has the bits that it has alone, wherever it stands. */
static void test_islands(void)
{
    int trial, i, k;
    for (trial = 0; trial < 24; trial++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, alone[4][MOST_UNKNOWNS];
        icf_contact_result first[4];
        icf_stats one, all, stats;
        int32_t at, order[4], islands = 0, iterations = 0, factorizations = 0, sum = 0;
        double dt = 0.01;
        random_seed(SEED + (uint32_t)trial);
        memset(first, 0, sizeof first);
        memset(&stats, 0, sizeof stats);
        for (i = 0; i < 4; i++) {
            scene* small = &small_scenes[i];
            if (i == 2) {
                scene_copy(small, &small_scenes[0]); /* a copy of the first */
            } else {
                random_scene(small, families[trial % FAMILIES].features, 1, 2, 1, 2);
            }
            small->p.dt = R(dt);
            memcpy(alone[i], small->v_last, sizeof alone[i]);
            solve_exactly(small, alone[i], &one);
            if (small->p.contacts) first[i] = contact_result(0);
            islands += one.islands;
            if (one.iterations > iterations) iterations = one.iterations;
            if (one.factorizations > factorizations) factorizations = one.factorizations;
            sum += one.island_factorizations;
        }
        for (k = 0; k < 4; k++) {
            int32_t contacts = 0;
            for (i = 0; i < 4; i++) order[i] = (i * (k % 2 ? 3 : 1) + k) % 4;
            scene_begin(s, dt);
            for (i = 0; i < 4; i++) {
                /* an untouched clique before each */
                double lone[4] = {2, 1, 1, 2};
                at = s->unknowns;
                scene_clique(s, 2, lone);
                s->v_free[at] = R(0.1) * (icf_real)(i + 1);
                s->v_free[at + 1] = R(-0.7);
                s->v_last[at] = s->v_last[at + 1] = 5;
                scene_append(s, &small_scenes[order[i]]);
            }
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, &all);
            TEST_CHECK_(all.islands == islands, "%d islands, not %d", (int)all.islands,
                        (int)islands);
            TEST_CHECK_(all.iterations == iterations && all.factorizations == factorizations &&
                            all.island_factorizations == sum,
                        "%d iterations, not %d", (int)all.iterations, (int)iterations);
            if (k) {
                TEST_CHECK(all.trials == stats.trials);
                CHECK_NEAR(all.cost, stats.cost, 100 * EPS, 0);
            }
            stats = all;
            for (at = 0, i = 0; i < 4; i++) {
                const scene* small = &small_scenes[order[i]];
                int32_t bytes = small->unknowns * (int32_t)sizeof(icf_real);
                TEST_CHECK(v[at] == s->v_free[at] && v[at + 1] == s->v_free[at + 1]);
                at += 2;
                TEST_CHECK_(same_bits(v + at, alone[order[i]], (size_t)bytes),
                            "trial %d: island %d of order %d has other bits; seed %u", trial, i, k,
                            (unsigned)SEED);
                at += small->unknowns;
                if (small->p.contacts) {
                    icf_contact_result r = contact_result(contacts);
                    TEST_CHECK(same_bits(&r, &first[order[i]], sizeof r));
                    contacts += small->p.contacts;
                }
            }
        }
    }
}

/* Both the less of the two. Answers whether that changes one. */
static int to_the_less(int32_t* a, int32_t* b)
{
    if (*a == *b) return 0;
    *a = *b = *a < *b ? *a : *b;
    return 1;
}

/* island_of: which cliques hang together, found here by letting the least number of a clique spread along
   links and couplings; a clique that nothing touches is in none. */
static void test_island_of(void)
{
    int trial, alone = 0, touched = 0;
    for (trial = 0; trial < 24; trial++) {
        scene *s = &first_scene, *small = &small_scenes[0];
        icf_real v[MOST_UNKNOWNS] = {0};
        int32_t island[MOST_CLIQUES], least[MOST_CLIQUES], linked[MOST_CLIQUES] = {0};
        int32_t i, k, n, parts = 0, changed = 1;
        icf_options o = icf_default_options();
        icf_stats stats;
        random_seed(SEED + (uint32_t)trial);
        scene_begin(s, 0.01);
        for (i = 0; i < 4; i++) {
            if (i != trial % 4) {
                scene_point(s, 1); /* one that nothing touches; the first clique, most often */
            }
            random_scene(small, families[trial % FAMILIES].features, 1, 2, trial % 5 ? 1 : 0, 2);
            scene_append(s, small);
        }
        if (trial % 6 == 0)
            s->p.links = s->p.contacts = s->p.rows = 0; /* nothing touches anything */
        n = s->p.cliques;
        for (i = 0; i < n; i++) least[i] = i;
        while (changed) {
            changed = 0;
            for (i = 0; i < s->p.links; i++) {
                int32_t first = s->block_clique[s->link_start[i]];
                for (k = s->link_start[i]; k < s->link_start[i + 1]; k++) {
                    linked[s->block_clique[k]] = 1;
                    changed |= to_the_less(&least[first], &least[s->block_clique[k]]);
                }
            }
            for (i = 0; i < s->p.couplings; i++)
                changed |= to_the_less(&least[s->pairs[2 * i]], &least[s->pairs[2 * i + 1]]);
        }
        for (i = 0; i < n; i++) linked[least[i]] |= linked[i];
        for (i = 0; i < n; i++) parts += least[i] == i && linked[i];
        for (i = 0; i < n; i++) island[i] = 12345;
        o.island_of = island;
        memcpy(v, s->v_last, sizeof v);
        TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
        TEST_CHECK_(stats.islands == parts, "%d islands, not %d; seed %u", (int)stats.islands,
                    (int)parts, (unsigned)SEED);
        for (i = 0; i < n; i++) {
            if (!linked[least[i]]) {
                TEST_CHECK_(island[i] == -1, "clique %d, which nothing touches: %d; seed %u",
                            (int)i, (int)island[i], (unsigned)SEED);
                alone++;
                continue;
            }
            TEST_CHECK_(island[i] >= 0 && island[i] < parts, "clique %d of island %d; seed %u",
                        (int)i, (int)island[i], (unsigned)SEED);
            touched++;
            for (k = 0; k < i; k++) {
                TEST_CHECK_((least[i] == least[k]) == (island[i] == island[k]),
                            "cliques %d and %d of islands %d and %d; seed %u", (int)k, (int)i,
                            (int)island[k], (int)island[i], (unsigned)SEED);
            }
        }
    }
    TEST_CHECK_(alone >= 50 && touched >= 50, "%d alone, %d touched; seed %u", alone, touched,
                (unsigned)SEED);
}

/* In another order contacts, rows and links give the same answer, but for rounding. */
static void test_order(void)
{
    int trial;
    for (trial = 0; trial < 4 * FAMILIES; trial++) {
        scene *s = &first_scene, *t = &second_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        wide x[MOST_UNKNOWNS] = {0};
        int32_t i, k, l, b, at[MOST_LINKS];
        double off;
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, families[trial % FAMILIES].features, 5, 0, 8, 0);
        scene_begin(t, (double)s->p.dt);
        t->p.dt = s->p.dt;
        for (i = 0; i < s->p.cliques; i++) {
            double mass[64] = {0};
            for (k = 0; k < s->sizes[i] * s->sizes[i]; k++)
                mass[k] = (double)s->mass[s->mass_at[i] + k];
            scene_clique(t, s->sizes[i], mass);
        }
        /* links backwards, and the blocks of each */
        for (l = s->p.links - 1; l >= 0; l--) {
            at[l] = scene_link(t, s->link_rows[l]);
            for (b = s->link_start[l + 1] - 1; b >= s->link_start[l]; b--) {
                double block[64] = {0};
                for (k = 0; k < s->block_at[b + 1] - s->block_at[b]; k++) {
                    block[k] = (double)s->blocks[s->block_at[b] + k];
                }
                scene_block(t, s->block_clique[b], block);
            }
            for (k = 0; k < s->link_rows[l]; k++) {
                t->bias[t->bias_at[at[l]] + k] = s->bias[s->bias_at[l] + k];
            }
        }
        for (i = s->p.contacts - 1; i >= 0; i--) {
            icf_contact* c = scene_contact(t, 0);
            *c = s->contact[i];
            c->link = at[c->link];
        }
        for (i = s->p.rows - 1; i >= 0; i--) {
            icf_row* r = scene_row(t, ICF_ROW_LIMIT, 0, 0);
            *r = s->row[i];
            r->link = at[r->link];
        }
        for (i = s->p.couplings - 1; i >= 0; i--) {
            int32_t a = s->pairs[2 * i], c = s->pairs[2 * i + 1], j;
            double block[64] = {0};
            for (k = 0; k < s->sizes[a]; k++) {
                for (j = 0; j < s->sizes[c]; j++) {
                    block[j * s->sizes[a] + k] =
                        (double)s->couplings[s->coupling_at[i] + k * s->sizes[c] + j];
                }
            }
            scene_coupling(t, c, a, block);
        }
        memcpy(t->v_free, s->v_free, sizeof t->v_free);
        memcpy(t->v_last, s->v_last, sizeof t->v_last);
        memcpy(v, s->v_last, sizeof v);
        memcpy(other, s->v_last, sizeof v);
        solve_exactly(s, v, NULL);
        solve_exactly(t, other, NULL);
        opinion_make(s);
        widen(s->unknowns, v, x);
        off = relative_distance(s, other, x);
        TEST_CHECK_(off <= 200 * EPS, "trial %d: %g; seed %u", trial, off, (unsigned)SEED);
    }
}

/* A with blocks off its diagonal, and the same A as one clique. */
static void test_couplings(void)
{
    int trial, with_friction_memory = 0;
    for (trial = 0; trial < 20; trial++) {
        scene *s = &first_scene, *t = &second_scene;
        static double a[64 * 64];
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        wide x[MOST_UNKNOWNS] = {0};
        int32_t i, j, l, b, n;
        double off;
        icf_stats stats;
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, families[6].features, 2, 5, 1, 5);
        n = s->unknowns;
        TEST_CHECK(n <= 64);
        opinion_make(s);
        for (i = 0; i < n * n; i++) a[i] = (double)opinion.a[i];
        /* w looks at diagonal blocks alone, which are other ones here: given */
        for (i = 0; i < s->p.contacts; i++) {
            s->contact[i].effective_mass_inverse = R(opinion.pieces[i].w);
        }
        scene_begin(t, (double)s->p.dt);
        t->p.dt = s->p.dt;
        scene_clique(t, n, a);
        for (l = 0; l < s->p.links; l++) {
            double block[6 * 64] = {0};
            scene_link(t, s->link_rows[l]);
            for (b = s->link_start[l]; b < s->link_start[l + 1]; b++) {
                int32_t c = s->block_clique[b];
                for (i = 0; i < s->link_rows[l]; i++) {
                    for (j = 0; j < s->sizes[c]; j++) {
                        block[i * n + s->start[c] + j] =
                            (double)s->blocks[s->block_at[b] + s->sizes[c] * i + j];
                    }
                }
            }
            scene_block(t, 0, block);
        }
        memcpy(t->bias, s->bias, sizeof t->bias);
        for (i = 0; i < s->p.contacts; i++) *scene_contact(t, 0) = s->contact[i];
        memcpy(t->v_free, s->v_free, sizeof t->v_free);
        memcpy(t->v_last, s->v_last, sizeof t->v_last);
        memcpy(v, s->v_last, sizeof v);
        memcpy(other, s->v_last, sizeof v);
        solve_exactly(s, v, &stats);
        TEST_CHECK(stats.islands == 1); /* the couplings connect them all */
        solve_exactly(t, other, NULL);
        check_answer(s, v, "couplings");
        widen(n, v, x);
        off = relative_distance(s, other, x);
        TEST_CHECK_(off <= 200 * EPS, "trial %d: %g; seed %u", trial, off, (unsigned)SEED);
        with_friction_memory += s->p.contacts;
    }
    TEST_CHECK(with_friction_memory >= 60);
}

/* A coupled clique that no link reads moves with those that are read, and an island of couplings
   alone is at v* exactly. */
static void test_coupled_untouched(void)
{
    scene* s = scene_begin(&first_scene, 0.01);
    const double minus = -1;
    icf_real v[5] = {0, 0, 0, 0, 0};
    icf_stats stats;
    int i;
    for (i = 0; i < 5; i++) {
        scene_joint(s, 3);
        s->v_free[i] = R(-1 - 0.1 * i);
    }
    scene_coupling(s, 0, 1, &minus);
    scene_coupling(s, 2, 1, &minus);
    scene_coupling(s, 3, 4, &minus);
    scene_link(s, 1);
    scene_block_unit(s, 0, 1);
    scene_row(s, ICF_ROW_QUADRATIC, 0, 0)->weight = R(2);
    solve_exactly(s, v, &stats);
    /* A (v - v*) = (-2 v_0, 0, 0), A = [3 -1 0; -1 3 -1; 0 -1 3]; by hand: v = v* - 2 v_0 (8, 3,
       1) / 21 */
    CHECK_NEAR(v[0], -1 / (1 + 16.0 / 21), 20 * EPS, 0);
    CHECK_NEAR(v[1], -1.1 - 2 * (double)v[0] * 3 / 21, 20 * EPS, 0);
    CHECK_NEAR(v[2], -1.2 - 2 * (double)v[0] * 1 / 21, 20 * EPS, 0);
    TEST_CHECK(v[3] == s->v_free[3] && v[4] == s->v_free[4]);
    TEST_CHECK(stats.islands == 1);
}

// ------------------------------------------------------------------------------------------------
// Memory

/* bodies in a ring, each in contact with the next and a floor: one island whose factor takes
   more than its blocks */
static void ring_scene(scene* s, int32_t bodies)
{
    int32_t i, k;
    scene_begin(s, 0.01);
    for (i = 0; i < bodies; i++) {
        double mass[64] = {0};
        random_mass(6, 1, mass);
        scene_clique(s, 6, mass);
    }
    for (i = 0; i < 2 * bodies; i++) {
        double block[36] = {0};
        int32_t rows = 3 + 3 * (i % 2), l = scene_link(s, rows);
        for (k = 0; k < 6 * rows; k++) block[k] = random_between(-1, 1);
        scene_block(s, i / 2, block);
        if (i % 2) {
            for (k = 0; k < 6 * rows; k++) block[k] = random_between(-1, 1);
            scene_block(s,
                        (i / 2 * 7 + 1) % bodies == i / 2 ? (i / 2 + 1) % bodies
                                                          : (i / 2 * 7 + 1) % bodies,
                        block);
        }
        random_contact(scene_contact(s, l), WITH_LAGGED | WITH_SIMILAR | WITH_SAP, rows);
    }
    for (i = 0; i < s->unknowns; i++) {
        s->v_last[i] = R(random_between(-1, 1));
        s->v_free[i] = s->v_last[i] + R(random_between(-0.1, 0.1));
    }
}

/* With stats.bytes of workspace every island is factored; with less some are not, and the answer
   is the same to rounding; with less than what the least takes, the call says so. */
static void test_workspace_sizes(void)
{
    int trial;
    for (trial = 0; trial < 4; trial++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
        wide x[MOST_UNKNOWNS] = {0};
        icf_stats stats, again;
        icf_options o = exact();
        size_t full, least, bytes;
        double off;
        int seen_iterative = 0, seen_both = 0, k;
        random_seed(SEED + (uint32_t)trial);
        ring_scene(s, 18);
        if (trial % 2) {
            /* an island more, small */
            ring_scene(&second_scene, 4);
            scene_append(s, &second_scene);
        }
        full = icf_workspace_bytes(&s->p, ICF_SPARSE_FULL);
        least = icf_workspace_bytes(&s->p, ICF_SPARSE_ITERATIVE);
        TEST_CHECK(0 < least && least < full);
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, &stats);
        TEST_CHECK(stats.iterative == 0 && stats.factorizations > 0);
        TEST_CHECK(stats.bytes > 0 && stats.bytes <= full);
        opinion_make(s);
        widen(s->unknowns, v, x);
        check_answer(s, v, "full");

        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, stats.bytes, &o, other, &again) == ICF_RESULT_OK);
        TEST_CHECK(again.iterative == 0 && again.bytes == stats.bytes);
        TEST_CHECK(again.iterations == stats.iterations);
        TEST_CHECK(same_bits(v, other, (size_t)s->unknowns * sizeof *v));

        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, least, &o, other, &again) == ICF_RESULT_OK);
        TEST_CHECK(again.bytes == stats.bytes);
        TEST_CHECK_(least >= stats.bytes || again.iterative > 0, "%d iterative in %lu of %lu bytes",
                    (int)again.iterative, (unsigned long)least, (unsigned long)stats.bytes);
        off = relative_distance(s, other, x);
        TEST_CHECK_(off <= 1000 * EPS, "in the least memory: %g off; seed %u", off, (unsigned)SEED);

        for (k = 1; k < 16 && least < stats.bytes; k++) {
            bytes = least + (stats.bytes - least) / 16 * (size_t)k / 8 * 8;
            if (bytes >= stats.bytes) break;
            memcpy(other, s->v_last, sizeof v);
            TEST_CHECK(solve_in(s, bytes, &o, other, &again) == ICF_RESULT_OK);
            off = relative_distance(s, other, x);
            TEST_CHECK_(off <= 1000 * EPS, "in %lu bytes: %g off; seed %u", (unsigned long)bytes,
                        off, (unsigned)SEED);
            seen_iterative |= again.iterative > 0;
            seen_both |= again.iterative > 0 && again.iterative < again.islands;
        }
        TEST_CHECK(seen_iterative || least >= stats.bytes);
        if (trial % 2) TEST_CHECK(seen_both || least >= stats.bytes);

        /* a byte less than stats.bytes is less than it takes */
        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, stats.bytes - 1, &o, other, &again) == ICF_RESULT_OK);
        TEST_CHECK(again.iterative > 0);

        /* wanted so */
        o.iterative = 1;
        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, full, &o, other, &again) == ICF_RESULT_OK);
        TEST_CHECK_(again.iterative == again.islands && again.factorizations == 0,
                    "%d of %d islands without a factor, %d factorisations", (int)again.iterative,
                    (int)again.islands, (int)again.factorizations);
        TEST_CHECK(relative_distance(s, other, x) <= 1000 * EPS);
        o.iterative = 0;

        /* too small: said, and nothing is changed */
        for (bytes = 0; bytes < least; bytes += 1 + least / 37) {
            icf_result result;
            memcpy(other, s->v_last, sizeof v);
            result = solve_in(s, bytes, &o, other, &again);
            TEST_CHECK(result == ICF_RESULT_TOO_SMALL || result == ICF_RESULT_OK);
            if (result == ICF_RESULT_TOO_SMALL) {
                TEST_CHECK(same_bits(other, s->v_last, sizeof v));
                TEST_CHECK_(again.bytes == stats.bytes || again.bytes == 0 || again.bytes > bytes,
                            "%lu bytes wanted, not %lu", (unsigned long)again.bytes,
                            (unsigned long)stats.bytes);
            } else {
                TEST_CHECK(bytes > 0);
            }
        }
        memcpy(other, s->v_last, sizeof v);
        TEST_CHECK(solve_in(s, 0, &o, other, &again) == ICF_RESULT_TOO_SMALL);
    }
}

static void test_workspace_calls(void)
{
    scene* s = &first_scene;
    double memory[64];
    icf_workspace w;
    icf_contact_result r;
    icf_row_result q;
    icf_real v[3] = {0, 0, 0}, numbers[9];
    scene_point_on_floor(s, 0.01, 1);
    memset(&w, 0, sizeof w);
    TEST_CHECK(icf_get_contact(&w, 0, &r) == ICF_RESULT_BAD_STATE);
    TEST_CHECK(icf_get_row(&w, 0, &q) == ICF_RESULT_BAD_STATE);
    TEST_CHECK(icf_get_contact(NULL, 0, &r) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_get_row(NULL, 0, &q) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_workspace_init(NULL, memory, sizeof memory) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_workspace_init(&w, NULL, 100) == ICF_RESULT_BAD_ARGUMENT);
    if (sizeof(void*) == 8) {
        TEST_CHECK(icf_workspace_init(&w, (char*)memory + 4, 100) == ICF_RESULT_MISALIGNED);
    }
    TEST_CHECK(icf_workspace_bytes(NULL, ICF_SPARSE_FULL) == 0);
    /* a zeroed one has no memory */
    memset(&w, 0, sizeof w);
    TEST_CHECK(icf_solve(&s->p, NULL, &w, v, NULL) == ICF_RESULT_TOO_SMALL);
    solve_exactly(s, v, NULL);
    TEST_CHECK(icf_get_contact(&workspace, 0, &r) == ICF_RESULT_OK);
    TEST_CHECK(icf_get_contact(&workspace, 1, &r) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_get_contact(&workspace, -1, &r) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_get_contact(&workspace, 0, NULL) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_get_row(&workspace, 0, &q) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(&s->p, 1, 0, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(&s->p, 0, 1, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(&s->p, -1, 0, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(&s->p, 0, 0, NULL) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_jacobian(NULL, 0, 0, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 1, &workspace, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_delassus(&s->p, -1, 0, &workspace, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 0, NULL, numbers) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 0, &workspace, NULL) == ICF_RESULT_BAD_ARGUMENT);
    memset(&w, 0, sizeof w);
    TEST_CHECK(icf_workspace_init(&w, memory, 8) == ICF_RESULT_OK);
    TEST_CHECK(icf_contact_delassus(&s->p, 0, 0, &w, numbers) == ICF_RESULT_TOO_SMALL);
}

/* The pattern of the largest island is kept at the end of the workspace. What is solved with it is what is solved
   without, to the bit, also when somebody else wrote to that memory or another problem came between. */
static void test_kept_pattern(void)
{
    static double memory[1 << 15];
    scene* s = &first_scene;
    icf_workspace w;
    int round;
    icf_workspace_init(&w, memory, sizeof memory);
    random_seed(SEED);
    for (round = 0; round < 60; round++) {
        icf_real v[MOST_UNKNOWNS] = {0}, again[MOST_UNKNOWNS] = {0};
        size_t bytes = sizeof v;
        ring_scene(s, round % 3 == 2 ? 7 : 9);
        memcpy(again, s->v_last, (size_t)s->unknowns * sizeof *v);
        memcpy(v, s->v_last, (size_t)s->unknowns * sizeof *v);
        TEST_CHECK(solve(s, NULL, v, NULL) == ICF_RESULT_OK);
        if (round % 4 == 3) { /* one byte of what is kept */
            unsigned char* end = (unsigned char*)memory + sizeof memory;
            size_t back = 1 + (size_t)random_below((int)w.kept);
            end[-(ptrdiff_t)back] ^= 0x10;
        }
        TEST_CHECK(icf_solve(&s->p, NULL, &w, again, NULL) == ICF_RESULT_OK);
        TEST_CHECK_(w.kept > 0, "round %d", round);
        TEST_CHECK_(same_bits(v, again, bytes), "round %d; seed %u", round, (unsigned)SEED);
    }
}

#ifndef ICF_NO_MALLOC
/* _reserve allocates when it must and not otherwise; a solve in it never does. */
static void test_reserve(void)
{
    scene *s = &first_scene, *t = &second_scene;
    icf_workspace w;
    icf_real v[MOST_UNKNOWNS] = {0};
    long before;
    random_seed(SEED);
    random_scene(s, WITH_LAGGED | WITH_ROWS, 3, 0, 3, 0);
    ring_scene(t, 10);
    memset(&w, 0, sizeof w);
    before = test_allocations;
    TEST_CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK);
    TEST_CHECK(test_allocations > before);
    before = test_allocations;
    memcpy(v, s->v_last, sizeof v);
    TEST_CHECK(icf_solve(&s->p, NULL, &w, v, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK);
    TEST_CHECK(test_allocations == before);
    TEST_CHECK(icf_workspace_reserve(&w, &t->p) == ICF_RESULT_OK);
    TEST_CHECK(test_allocations > before);
    before = test_allocations;
    memcpy(v, t->v_last, sizeof v);
    TEST_CHECK(icf_solve(&t->p, NULL, &w, v, NULL) == ICF_RESULT_OK);
    TEST_CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK); /* smaller: as it is */
    TEST_CHECK(test_allocations == before);
    icf_workspace_destroy(&w);
    icf_workspace_destroy(&w); /* twice is once */
    TEST_CHECK(icf_workspace_reserve(NULL, &s->p) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(icf_workspace_reserve(&w, NULL) == ICF_RESULT_BAD_ARGUMENT);
    icf_workspace_destroy(&w);
    icf_workspace_destroy(NULL);

    /* memory of the caller's is not freed, and what is needed is not taken from elsewhere */
    {
        double memory[8];
        TEST_CHECK(icf_workspace_init(&w, memory, sizeof memory) == ICF_RESULT_OK);
        before = test_allocations;
        TEST_CHECK(icf_workspace_reserve(&w, &t->p) != ICF_RESULT_OK);
        TEST_CHECK(test_allocations == before);
        icf_workspace_destroy(&w);
    }
}
#endif

// ------------------------------------------------------------------------------------------------
// The way to the answer

/* cost of v, as the library counts it: a solve that may not iterate */
static double cost_at(const scene* s, const icf_real* at, double* certificate)
{
    icf_real v[MOST_UNKNOWNS] = {0};
    icf_options o = icf_default_options();
    icf_stats stats;
    icf_result result;
    memcpy(v, at, (size_t)s->unknowns * sizeof *v);
    o.tolerance = R(4 * EPS);
    o.iterations = 0;
    result = solve(s, &o, v, &stats);
    TEST_CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED);
    TEST_CHECK(stats.iterations == 0);
    if (certificate) *certificate = (double)stats.certificate;
    return (double)stats.cost;
}

/* The cost never rises, whatever the start, and the history says what the stats say in the end. */
/* A box on two corners, on a belt that moves at 0.74 m/s, with impulses to expect: two steps turn the corners
   between sticking and slipping and do not lower the error, the third is small. That is not rounding. */
static void test_floor_after_corners(void)
{
    static const double inertia[] = {1, 1, 1.0 / 2400};
    static const double corner[] = {1, 0, 0.025, 0, 0, 0, 0, 1, -0.025};
    scene* s = scene_begin(&first_scene, 0.01);
    icf_real v[3] = {R(0.618207216), R(0.000268255477), R(-3.27199359e-06)};
    icf_stats stats;
    int32_t i, box = scene_diagonal(s, 3, inertia);
    for (i = 0; i < 3; i++) s->v_free[i] = s->v_last[i] = v[i];
    s->v_free[1] = R(-0.097831741);
    for (i = 0; i < 2; i++) {
        int32_t link = scene_link(s, 3);
        icf_contact* c = scene_contact(s, link);
        icf_real* k = scene_block(s, box, corner);
        if (i) k[8] = R(0.025);
        s->bias[s->bias_at[link]] = R(-0.738632739);
        c->model = ICF_MODEL_SIMILAR;
        c->distance = R(i ? 0.000385221501 : 0.000385187886);
        c->stiffness = R(1e7);
        c->dissipation = 500;
        c->friction = R(0.7);
        c->softness = 0;
        c->impulse_guess = i ? icf_vec3_make(R(0.0101298178), 0, R(0.0144711938))
                             : icf_vec3_make(R(0.0574720465), 0, R(0.0821030661));
    }
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    /* velocities of 0.7 m/s are rounded by 6e-8 of that, and 500 s/m of dissipation make much of it:
       8.4e-4 in float; 0.29 where that is given up too early */
    TEST_CHECK_((double)stats.momentum_error <= larger(1e-5, 3e4 * EPS), "momentum error %.3g",
                (double)stats.momentum_error);
}

/* A kilogram slides at 0.3 m/s without friction on a floor so stiff that the start is only 1e-7 m/s off:
   that is less than the rounding of 0.3 m/s, but of a component that is rounded by far less, and it is
   half of its weight. */
static void test_floor_of_components(void)
{
    const double dt = 0.01, k = 5e9, weight = 9.81;
    icf_contact* c = scene_point_on_floor(&first_scene, dt, 1);
    icf_real v[3] = {R(0.3), 0, R(-1e-7)};
    icf_stats stats;
    c->stiffness = R(k);
    c->dissipation = 0;
    c->friction = 0;
    c->distance = R(-weight / k);
    first_scene.v_last[0] = first_scene.v_free[0] = R(0.3);
    first_scene.v_free[2] = R(-weight * dt);
    solve_exactly(&first_scene, v, &stats);
    CHECK_NEAR((double)contact_result(0).impulse.z, weight * dt, 100 * EPS, 0);
    TEST_CHECK_((double)stats.momentum_error <= 100 * EPS, "momentum error %.3g",
                (double)stats.momentum_error);
}

static void test_cost_falls(void)
{
    static icf_iteration history[1001];
    int family, trial, recorded = 0;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 10; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            icf_options o = exact();
            icf_stats stats;
            int32_t i;
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 4, 0, 7, 0);
            random_start(s, trial % 2 ? 1 : 50, v);
            o.history = history;
            o.history_capacity = 1001;
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            TEST_CHECK_(stats.history == stats.iterations + 1, "%d entries of %d iterations",
                        (int)stats.history, (int)stats.iterations);
            for (i = 1; i < stats.history; i++) {
                double before = (double)history[i - 1].cost, after = (double)history[i].cost;
                /* the sum of terms of both signs, and of islands that are done */
                TEST_CHECK_(after <=
                                before + 100 * EPS * (magnitude(before) + (double)history[0].cost),
                            "%s %d: from %.17g to %.17g at iteration %d; seed %u",
                            families[family].name, trial, before, after, (int)i, (unsigned)SEED);
            }
            i = stats.history - 1;
            CHECK_NEAR(history[i].cost, stats.cost, 100 * EPS, 0);
            CHECK_NEAR(history[i].gradient, stats.gradient, 100 * EPS, 0);
            CHECK_NEAR(history[i].momentum_error, stats.momentum_error, 100 * EPS, 0);
            recorded += stats.history;

            /* a short history takes the first ones and is not overrun */
            if (stats.iterations >= 3) {
                icf_iteration few[4];
                memset(few, UNTOUCHED, sizeof few);
                o.history = few;
                o.history_capacity = 2;
                random_seed(SEED + (uint32_t)(10 * family + trial));
                random_scene(s, families[family].features, 4, 0, 7, 0);
                random_start(s, trial % 2 ? 1 : 50, v);
                TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
                TEST_CHECK(stats.history == 2);
                TEST_CHECK(same_bits(few, history, 2 * sizeof *few));
                for (i = 0; i < (int32_t)sizeof few[2]; i++) {
                    TEST_CHECK(((unsigned char*)&few[2])[i] == UNTOUCHED);
                }
            }
        }
    }
    TEST_CHECK_(recorded > 300, "%d iterations", recorded);
}

/* One unknown of mass m, a motor and dry friction: all that the cost is made of, here in closed form */
typedef struct one_unknown {
    wide m, free, damping, target, most, friction, eps; /* damping and what is below it: times dt */
} one_unknown;

static wide one_unknown_cost(const one_unknown* o, wide u, wide* slope)
{
    wide push = o->damping * (o->target - u), r = sqrtl(u * u + o->eps * o->eps);
    wide cost = o->m * (u - o->free) * (u - o->free) / 2 + o->friction * (r - o->eps);
    *slope = o->m * (u - o->free) + o->friction * u / r;
    if (push > o->most || push < -o->most) {
        wide size = push < 0 ? -push : push;
        *slope -= push < 0 ? -o->most : o->most;
        return cost + o->most * (size - o->most / 2) / o->damping;
    }
    *slope -= push;
    return cost + push * push / (2 * o->damping);
}

/* A motor just below its greatest effort, and just before friction turns: where Newton's step starts the cost
   bends by the motor, and a thousandth of the way on by next to nothing. It has turned to a rise there, of
   a slope that is less than a hundredth of the first: small enough for a step to end, if it did not rise. */
static void test_search_falls(void)
{
    const double dt = 0.01;
    int trial, budget, traps = 0;
    random_seed(SEED);
    for (trial = 0; trial < 40; trial++) {
        scene* s = scene_begin(&first_scene, dt);
        one_unknown o;
        icf_row* r;
        icf_real v[1], start;
        wide low, high, slope, before, whole, step;
        double unit = exp(random_between(-3, 3)), damping = exp(random_between(-2, 2));
        double force = unit * random_between(1, 3), ahead = unit / damping, free;
        double friction = unit * random_between(0.5, 0.504);
        start = R(-1e-4 * ahead * random_between(1, 8));
        free = (double)start + (unit + (force - 1e-3 * unit) - friction) / (2e-3 * damping);
        scene_joint(s, 2e-3 * damping);
        s->v_free[0] = R(free);
        scene_link(s, 1);
        scene_block_unit(s, 0, 1);
        r = scene_row(s, ICF_ROW_MOTOR, 0, 0);
        r->damping = R(damping / dt);
        r->effort = R(force / dt);
        r->target = R((double)start - (force - 1e-3 * unit) / damping);
        o.damping = (wide)dt * (wide)r->damping;
        o.most = (wide)dt * (wide)r->effort;
        o.target = (wide)r->target;
        r = scene_row(s, ICF_ROW_DRY_FRICTION, 0, 0);
        r->effort = R(friction / dt);
        r->slip_tolerance = R(1e-6 * ahead);
        r->softness = 0;
        o.m = (wide)s->mass[0];
        o.free = (wide)s->v_free[0];
        o.friction = (wide)dt * (wide)r->effort;
        o.eps = (wide)r->slip_tolerance;
        if (trial % 2) { /* the other way */
            start = -start;
            s->v_free[0] = -s->v_free[0];
            s->row[0].target = -s->row[0].target;
            o.target = -o.target;
            o.free = -o.free;
        }
        /* Is it what it should be: Newton's step from the start to a rise with a small slope? */
        before = one_unknown_cost(&o, (wide)start, &slope);
        step = -slope / (o.damping + o.m);
        whole = one_unknown_cost(&o, (wide)start + step, &high);
        traps += whole > before && high * slope < 0 && high * high < 1e-4L * slope * slope;
        for (budget = 1; budget <= 4; budget++) {
            icf_options options = exact();
            wide after;
            options.iterations = budget;
            v[0] = start;
            (void)solve(s, &options, v, NULL);
            after = one_unknown_cost(&o, (wide)v[0], &slope);
            TEST_CHECK_(after <= before + 16 * (wide)EPS * (before + whole),
                        "trial %d: iteration %d from %.17g to %.17g; seed %u", trial, budget,
                        (double)before, (double)after, (unsigned)SEED);
            before = after;
        }
        /* the answer is where the slope changes sign */
        v[0] = start;
        solve_exactly(s, v, NULL);
        for (low = -10 * ahead, high = 10 * ahead, budget = 0; budget < 200; budget++) {
            wide middle = (low + high) / 2;
            (void)one_unknown_cost(&o, middle, &slope);
            if (slope < 0) {
                low = middle;
            } else {
                high = middle;
            }
        }
        CHECK_NEAR(v[0], low, 0, 64 * EPS * ahead);
    }
    TEST_CHECK_(traps >= 20, "%d rises on the way; seed %u", traps, (unsigned)SEED);
}

typedef struct patience {
    int asked, most;
} patience;

static int out_of_patience(void* user)
{
    patience* p = (patience*)user;
    return ++p->asked > p->most;
}

/* A budget of iterations, of factorizations, or of questions whether to stop */
static void limit(icf_options* o, int kind, int budget, patience* p)
{
    p->most = budget;
    if (kind == 0) o->iterations = budget;
    if (kind == 1) o->factorizations = budget;
    if (kind == 2) {
        o->should_stop = out_of_patience;
        o->user = p;
    }
}

/* Budgets of few iterations give what so many iterations reach, better than the start, and say
   so. */
static void test_budgets(void)
{
    int family, trial, short_of = 0;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 6; trial++) {
            scene* s = &first_scene;
            icf_real start[MOST_UNKNOWNS] = {0}, v[MOST_UNKNOWNS] = {0}, best[MOST_UNKNOWNS] = {0};
            icf_stats full, stats;
            double cost, optimum;
            int budget, kind;
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 5, 0, 8, 0);
            random_start(s, families[family].features & WITH_BARRIERS ? 0 : 3, start);
            memcpy(best, start, sizeof best);
            solve_exactly(s, best, &full);
            optimum = (double)full.cost;
            for (kind = 0; kind < 3; kind++) {
                cost = cost_at(s, start, NULL);
                for (budget = 1; budget <= 3; budget++) {
                    icf_options o = exact();
                    icf_result result;
                    patience p;
                    double slack;
                    p.asked = 0;
                    limit(&o, kind, budget, &p);
                    memcpy(v, start, sizeof v);
                    result = solve(s, &o, v, &stats);
                    slack = 100 * EPS * (magnitude(cost) + magnitude(optimum));
                    TEST_CHECK((double)stats.cost <= cost + slack);
                    TEST_CHECK((double)stats.cost >= optimum - slack);
                    CHECK_NEAR(cost_at(s, v, NULL), stats.cost, 1000 * EPS, 0);
                    if (result == ICF_RESULT_NOT_CONVERGED) {
                        short_of++;
                        TEST_CHECK(stats.stop == (kind == 0   ? ICF_STOP_ITERATIONS
                                                  : kind == 1 ? ICF_STOP_FACTORIZATIONS
                                                              : ICF_STOP_CALLER));
                        TEST_CHECK(kind != 0 || stats.iterations == budget);
                        TEST_CHECK(kind != 1 || stats.factorizations == budget);
                        /* a caller who ends it in the middle of an interior point phase has the best
                           that was before it */
                        if (full.islands == 1 && kind < 2) TEST_CHECK((double)stats.cost < cost);
                    } else {
                        TEST_CHECK(result == ICF_RESULT_OK);
                    }
                    if (kind == 2) TEST_CHECK(p.asked >= 1);
                    cost = (double)stats.cost;
                }
            }
        }
    }
    TEST_CHECK_(short_of > 150, "%d budgets ended a solve", short_of);
}

/* A solve that ends short, whatever ends it and after however many iterations, leaves velocities that are
   finite and cost no more than the start; and what it says of itself is of them. */
static void test_ends_short(void)
{
    enum { TRIALS = 12, BUDGETS = 40 };
    int family, trial, kind, budget, ended = 0, solves = 0;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < TRIALS; trial++) {
            scene* s = &first_scene;
            icf_real start[MOST_UNKNOWNS] = {0}, v[MOST_UNKNOWNS] = {0};
            double cost;
            int32_t i;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 1, 6, 2, 12);
            random_start(s, families[family].features & WITH_BARRIERS ? 0 : 3, start);
            /* stiff, for all phases; and deep, for walls */
            for (i = 0; i < s->p.contacts && trial % 3; i++) {
                s->contact[i].stiffness = R(pow(10, random_between(4, EPS < 1e-10 ? 10 : 5)));
                if (trial % 3 == 2 && s->contact[i].distance < 0) {
                    s->contact[i].distance *= EPS < 1e-10 ? 30 : 1;
                }
                if (trial % 2) {
                    s->contact[i].impulse_guess =
                        icf_vec3_make(0, 0, R(exp(random_between(log(1e-4), log(1)))));
                }
            }
            cost = cost_at(s, start, NULL);
            for (kind = 0; kind < 3; kind++) {
                for (budget = 0; budget < BUDGETS; budget++) {
                    icf_options o = exact();
                    icf_stats stats;
                    icf_result result;
                    patience p = {0, 0};
                    double rounding;
                    limit(&o, kind, budget, &p);
                    memcpy(v, start, sizeof v);
                    result = solve(s, &o, v, &stats);
                    solves++;
                    ended += result == ICF_RESULT_NOT_CONVERGED;
                    TEST_CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED);
                    for (i = 0; i < s->unknowns; i++) TEST_CHECK(finite_real((double)v[i]));
                    rounding = 1000 * EPS * (magnitude(cost) + magnitude((double)stats.cost));
                    TEST_CHECK_((double)stats.cost <= cost + rounding,
                                "%s %d: %.17g after %.17g, kind %d, budget %d; seed %u",
                                families[family].name, trial, (double)stats.cost, cost, kind,
                                budget, (unsigned)SEED);
                    CHECK_NEAR(cost_at(s, v, NULL), stats.cost, 1000 * EPS, 1000 * EPS);
                    if (kind == 2) TEST_CHECK(p.asked <= stats.islands * (stats.iterations + 1));
                    if (result == ICF_RESULT_OK) break;
                }
            }
        }
    }
    TEST_CHECK_(3 * ended > solves, "%d of %d solves ended short", ended, solves);
}

/* What is returned when a budget ends in an interior point phase, or after one, is what the stats are of. */
static void test_budgets_of_phases(void)
{
    int family, trial, ended = 0;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 40; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            icf_stats stats;
            int32_t i;
            int budget;
            random_seed(SEED + (uint32_t)(100 * family + trial));
            random_scene(s, families[family].features, 8, 0, 20, 0);
            /* stiff, so that phases follow each other */
            for (i = 0; i < s->p.contacts; i++) {
                s->contact[i].stiffness = R(pow(10, random_between(4, EPS < 1e-10 ? 10 : 6)));
            }
            { /* a barrier so hard may be short of it */
                icf_options o = exact();
                TEST_CHECK(solve(s, &o, v, NULL) >= 0);
            }
            for (i = 0; i < s->p.contacts && trial % 2; i++) {
                icf_contact_result r = contact_result(i);
                s->contact[i].impulse_guess = icf_vec3_scale(R(random_between(0, 2)), r.impulse);
            }
            for (budget = 12; budget < 22; budget++) {
                icf_options o = exact();
                random_start(s, families[family].features & WITH_BARRIERS ? 0 : 3, v);
                o.iterations = budget;
                ended += solve(s, &o, v, &stats) == ICF_RESULT_NOT_CONVERGED;
                CHECK_NEAR(cost_at(s, v, NULL), stats.cost, 1000 * EPS, 1000 * EPS);
            }
        }
    }
    TEST_CHECK(ended > 20);
}

/* Rolling and torsion of a contact that nothing reads */
static void test_spin_of_nothing(void)
{
    scene* s = scene_begin(&first_scene, 0.01);
    icf_real v[3] = {0};
    icf_contact_result r;
    icf_contact* c;
    scene_point(s, 1);
    scene_link(s, 6);
    c = scene_contact(s, 0);
    c->distance = R(-0.01);
    c->rolling = c->torsion = R(0.1);
    s->bias[5] = 1;
    workspace_new(icf_workspace_bytes(&s->p, ICF_SPARSE_FULL));
    memset(workspace_memory, 0xff,
           workspace.bytes); /* all that is read before it is written is NaN */
    TEST_CHECK(icf_solve(&s->p, NULL, &workspace, v, NULL) == ICF_RESULT_OK);
    r = contact_result(0);
    TEST_CHECK(finite_real((double)r.dissipated));
}

/* Started at the answer, a solve needs nothing, and the velocity stays as it is. */
static void test_warm_start(void)
{
    int family;
    for (family = 0; family < FAMILIES; family++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, before[MOST_UNKNOWNS];
        icf_stats stats;
        random_seed(SEED + (uint32_t)family);
        random_scene(s, families[family].features, 4, 0, 6, 0);
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, NULL);
        memcpy(before, v, sizeof v);
        TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
        /* where rounding leaves more than the tolerance, as in float it may, one factor shows
           that */
        TEST_CHECK_(stats.iterations == 0 &&
                        (stats.stop == ICF_STOP_CONVERGED
                             ? stats.factorizations == 0
                             : stats.factorizations <= 1 &&
                                   stats.momentum_error > icf_default_options().tolerance),
                    "%s: %d iterations, %d factorisations; seed %u", families[family].name,
                    (int)stats.iterations, (int)stats.factorizations, (unsigned)SEED);
        TEST_CHECK(same_bits(v, before, (size_t)s->unknowns * sizeof *v));
        if (s->p.contacts) contact_result(0); /* and there are results */
    }
}

/* The tolerance asked for is the one reached, and the error is that of SAP (26), computed here. */
static void test_tolerance(void)
{
    int family, k, trial;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 4; trial++) {
            for (k = 0; k < 4; k++) {
                static const double tolerances[] = {1e-1, 1e-2, 1e-3, 1e-6};
                scene* s = &first_scene;
                icf_real v[MOST_UNKNOWNS] = {0};
                wide x[MOST_UNKNOWNS] = {0}, gradient[MOST_UNKNOWNS] = {0}, worst = 0;
                icf_options o = icf_default_options();
                icf_stats stats;
                wide up = 0, momentum = 0, pushed = 0;
                int32_t i;
                random_seed(SEED + (uint32_t)(10 * family + trial));
                random_scene(s, families[family].features, 1, 3, 8, 0);
                o.tolerance = R(tolerances[k]);
                memcpy(v, s->v_last, sizeof v);
                TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
                TEST_CHECK(stats.stop != ICF_STOP_CONVERGED ||
                           (double)stats.momentum_error <= tolerances[k]);
                TEST_CHECK(stats.stop != ICF_STOP_FLOOR || tolerances[k] < 1e4 * EPS);
                if (stats.islands != 1) continue;
                opinion_make(s);
                widen(s->unknowns, v, x);
                opinion_gradient(x, gradient);
                for (i = 0; i < opinion.n; i++) {
                    wide p = dot(opinion.n, opinion.a + i * opinion.n, x), d, q;
                    q = p - gradient[i] - dot(opinion.n, opinion.a + i * opinion.n, opinion.v_free);
                    d = 1 / opinion.a[i * opinion.n + i];
                    up += d * gradient[i] * gradient[i];
                    momentum += d * p * p;
                    pushed += d * q * q;
                    /* is it in the island? if not, it is at v* */
                    worst += v[i] == s->v_free[i];
                }
                if (worst > 0) continue;
                CHECK_NEAR(stats.gradient, sqrtl(up), 1e-6,
                           100 * EPS * (double)((4 + opinion_stiffness(x)) * sqrtl(momentum)));
                CHECK_NEAR(stats.momentum_error,
                           sqrtl(up / (momentum > pushed ? momentum : pushed)), 1e-6,
                           100 * EPS * (4 + (double)opinion_stiffness(x)));
            }
        }
    }
}

/* The certificate is above what the cost can still fall by, and not far above what theory gives. */
static void test_certificate(void)
{
    int family, trial, k;
    for (family = 0; family < FAMILIES - 1; family++) {
        for (trial = 0; trial < 6; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0}, best[MOST_UNKNOWNS] = {0};
            icf_options o = icf_default_options();
            icf_stats full, stats;
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 4, 0, 6, 0);
            memcpy(best, s->v_last, sizeof v);
            solve_exactly(s, best, &full);
            for (k = 1; k < 4; k++) {
                wide x[MOST_UNKNOWNS] = {0};
                double expected, slack;
                memcpy(v, s->v_last, sizeof v);
                o.iterations = k;
                o.tolerance = R(4 * EPS);
                solve(s, &o, v, &stats);
                slack = 200 * EPS * (magnitude((double)stats.cost) + magnitude((double)full.cost));
                TEST_CHECK_(
                    (double)stats.certificate >= (double)stats.cost - (double)full.cost - slack,
                    "%s: certificate %g, and %g above; seed %u", families[family].name,
                    (double)stats.certificate, (double)(stats.cost - full.cost), (unsigned)SEED);
                /* 1/2 grad' A^-1 grad */
                opinion_make(s);
                widen(s->unknowns, v, x);
                expected = (double)opinion_distance(x);
                expected = expected * expected / 2;
                {
                    double rounding = 10 * EPS * (double)(norm_a(x) + norm_a(opinion.v_free)) *
                                      (4 + (double)opinion_stiffness(x));
                    CHECK_NEAR(sqrt((double)stats.certificate), sqrt(expected), 1e-4, rounding);
                }
            }

            /* asked for as the stop */
            o = icf_default_options();
            o.tolerance = 0;
            o.energy = R(1e-3);
            memcpy(v, s->v_last, sizeof v);
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            TEST_CHECK(full.islands > 1 || (double)stats.certificate <= 1e-3 ||
                       stats.stop == ICF_STOP_FLOOR);
            TEST_CHECK((double)stats.cost - (double)full.cost <=
                       full.islands * 1e-3 + 200 * EPS * magnitude((double)full.cost));
            TEST_CHECK(stats.iterations <= full.iterations);
        }
    }
}

/* Two joints so coupled that moving both together costs a tenth of what moving one does: there
   the blocks on the diagonal alone would promise ten times too much. */
static void test_certificate_of_weak_mode(void)
{
    const double minus = -0.9;
    scene* s = scene_begin(&first_scene, 0.01);
    icf_real v[2] = {1, 1};
    icf_options o = exact();
    icf_stats stats;
    scene_joint(s, 1);
    scene_joint(s, 1);
    scene_coupling(s, 0, 1, &minus);
    scene_link(s, 1);
    scene_block_unit(s, 0, 1);
    scene_row(s, ICF_ROW_QUADRATIC, 0, 0)->weight = R(1e-3);
    s->row[0].target = 1;
    o.iterations = 0;
    TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_NOT_CONVERGED);
    /* at rest the cost is 0.5e-3, and the optimum is below */
    CHECK_NEAR(stats.cost, 0.1, 20 * EPS, 0);
    TEST_CHECK_((double)stats.certificate >= 0.1 - 0.5e-3 && (double)stats.certificate < 0.11,
                "certificate %g", (double)stats.certificate);
}

/* A certificate asked for is that of all islands together. */
static void test_energy_of_islands(void)
{
    int trial, k;
    for (trial = 0; trial < 4; trial++) {
        scene* s = &first_scene;
        icf_real v[MOST_UNKNOWNS] = {0}, best[MOST_UNKNOWNS] = {0};
        icf_stats full, stats;
        double start;
        random_seed(SEED + (uint32_t)trial);
        scene_begin(s, 0.01);
        for (k = 0; k < 8; k++) {
            random_scene(&second_scene, WITH_LAGGED, 2, 0, 3, 0);
            scene_append(s, &second_scene);
        }
        memcpy(best, s->v_last, sizeof best);
        start = cost_at(s, best, NULL);
        solve_exactly(s, best, &full);
        TEST_CHECK(full.islands >= 8);
        for (k = 1; k < 12; k++) {
            icf_options o = icf_default_options();
            o.tolerance = 0;
            o.energy = R((start - (double)full.cost) * pow(0.3, k));
            memcpy(v, s->v_last, sizeof v);
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            TEST_CHECK_(stats.certificate <= o.energy || stats.stop == ICF_STOP_FLOOR,
                        "trial %d: %g J asked for, certificate %g J; seed %u", trial,
                        (double)o.energy, (double)stats.certificate, (unsigned)SEED);
        }
    }
}

/* Where A has blocks off its diagonal: from the caller's bound, which is used, or from
   Gershgorin's, or none. */
static void test_certificate_of_meshes(void)
{
    int trial, known = 0;
    for (trial = 0; trial < 20; trial++) {
        scene* s = &first_scene;
        static icf_real bound[MOST_MASS];
        icf_real v[MOST_UNKNOWNS] = {0}, best[MOST_UNKNOWNS] = {0};
        icf_options o = exact();
        icf_stats full, stats, with;
        wide x[MOST_UNKNOWNS] = {0}, gradient[MOST_UNKNOWNS] = {0}, sum = 0;
        int32_t i, c;
        double gap, slack;
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, families[6].features, 3, 3, 5, 0);
        if (trial % 2) {
            /* inertia so large that the rows are dominated by their diagonals */
            for (c = 0; c < s->p.cliques; c++) {
                for (i = 0; i < s->sizes[c]; i++) {
                    s->mass[s->mass_at[c] + i * (s->sizes[c] + 1)] += 200;
                }
            }
        }
        memcpy(best, s->v_last, sizeof v);
        solve_exactly(s, best, &full);
        o.iterations = 1;
        memcpy(v, s->v_last, sizeof v);
        solve(s, &o, v, &stats);
        gap = (double)stats.cost - (double)full.cost;
        slack = 200 * EPS * (magnitude((double)stats.cost) + magnitude((double)full.cost));
        TEST_CHECK((double)stats.certificate >= gap - slack);
        if (stats.certificate < ICF_REAL_MAX) known++;
        if (trial % 2) TEST_CHECK(stats.certificate < ICF_REAL_MAX);

        /* 0.2 I: the masses are at least 0.3, and springs only add to them */
        memset(bound, 0, sizeof bound);
        for (c = 0; c < s->p.cliques; c++) {
            for (i = 0; i < s->sizes[c]; i++) {
                bound[s->mass_at[c] + i * (s->sizes[c] + 1)] = R(0.2);
            }
        }
        s->p.mass_bound = bound;
        /* it is for the certificate: the answer is the same to the bit */
        memcpy(v, s->v_last, sizeof v);
        solve_exactly(s, v, &with);
        TEST_CHECK_(same_bits(v, best, (size_t)s->unknowns * sizeof *v),
                    "trial %d: a bound changes the answer; seed %u", trial, (unsigned)SEED);
        memcpy(v, s->v_last, sizeof v);
        solve(s, &o, v, &with);
        TEST_CHECK((double)with.certificate >= gap - slack);
        opinion_make(s);
        widen(s->unknowns, v, x);
        opinion_gradient(x, gradient);
        for (i = 0; i < opinion.n; i++) sum += gradient[i] * gradient[i] / 0.4L;
        CHECK_NEAR(sqrt((double)with.certificate), sqrtl(sum), 1e-3,
                   100 * EPS * (4 + (double)opinion_stiffness(x)) * (double)norm_a(x));
    }
    TEST_CHECK(known >= 10);
}

/* Units do not matter: a problem scaled by powers of four takes the same iterations to the same
   bits. */
static void test_scale(void)
{
    int family, trial, which;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 4; trial++) {
            scene *s = &first_scene, *t = &second_scene;
            icf_real v[MOST_UNKNOWNS] = {0}, other[MOST_UNKNOWNS] = {0};
            icf_stats stats, again;
            icf_options o = icf_default_options();
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 4, 0, 6, 0);
            memcpy(v, s->v_last, sizeof v);
            o.tolerance = R(1e-4);
            TEST_CHECK(solve(s, &o, v, &stats) == ICF_RESULT_OK);
            for (which = 0; which < 4; which++) {
                /* energies of e, velocities of u: A in e / u^2 */
                static const double powers[4][2] = {
                    {65536,       1       },
                    {1.0 / 65536, 1       },
                    {1,           256     },
                    {1.0 / 64,    1.0 / 16}
                };
                const icf_real m = R(powers[which][0]), u = R(powers[which][1]);
                int32_t i;
                scene_copy(t, s);
                for (i = 0; i < s->masses; i++) t->mass[i] *= m;
                for (i = 0; i < s->coupling_numbers; i++) t->couplings[i] *= m;
                for (i = 0; i < s->biases; i++) t->bias[i] *= u;
                for (i = 0; i < s->unknowns; i++) {
                    t->v_free[i] *= u;
                    t->v_last[i] *= u;
                }
                for (i = 0; i < s->p.contacts; i++) {
                    icf_contact* c = &t->contact[i];
                    c->distance *= u;
                    c->range *= u;
                    c->dissipation /= u;
                    c->slip_tolerance *= u;
                    c->force *= m * u;
                    c->stiffness *= m;
                    c->surface_velocity = icf_vec3_scale(u, c->surface_velocity);
                    if (c->law == ICF_LAW_HERTZ) c->stiffness /= ICF_SQRT(u);
                    if (c->law == ICF_LAW_LOG_BARRIER) c->stiffness *= u * u;
                }
                for (i = 0; i < s->p.rows; i++) {
                    icf_row* r = &t->row[i];
                    r->distance *= u;
                    r->stiffness *= m;
                    r->damping *= m;
                    r->error *= u;
                    r->target *= u;
                    r->feedforward *= m * u;
                    if (r->effort >= 0) r->effort *= m * u;
                    r->slip_tolerance *= u;
                    r->weight *= m;
                }
                memcpy(other, t->v_last, sizeof other);
                TEST_CHECK(solve(t, &o, other, &again) == ICF_RESULT_OK);
                TEST_CHECK_(again.iterations == stats.iterations &&
                                again.factorizations == stats.factorizations &&
                                again.trials == stats.trials,
                            "%s %d: %d iterations, %d if masses are %g and velocities %g times as "
                            "large; seed %u",
                            families[family].name, trial, (int)stats.iterations,
                            (int)again.iterations, (double)m, (double)u, (unsigned)SEED);
                for (i = 0; i < s->unknowns; i++) other[i] /= u;
                TEST_CHECK_(same_bits(v, other, (size_t)s->unknowns * sizeof *v),
                            "%s %d: other bits at scale %d; seed %u", families[family].name, trial,
                            which, (unsigned)SEED);
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Results

/* The impulses are those of the velocities, they are what moved the velocities, and the forces
   are theirs. */
static void test_results(void)
{
    int family, trial;
    for (family = 0; family < FAMILIES; family++) {
        for (trial = 0; trial < 10; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            wide x[MOST_UNKNOWNS], pushed[MOST_UNKNOWNS] = {0}, moved[MOST_UNKNOWNS], scale;
            int32_t i, j, k;
            random_seed(SEED + (uint32_t)(10 * family + trial));
            random_scene(s, families[family].features, 4, 0, 6, 0);
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, NULL);
            opinion_make(s);
            widen(s->unknowns, v, x);
            scale =
                10 * (wide)EPS * (norm_a(x) + norm_a(opinion.v_free)) * (4 + opinion_stiffness(x));
            for (i = 0; i < opinion.count; i++) {
                const piece* p = &opinion.pieces[i];
                wide u[3] = {0}, g[3] = {0}, size = 0;
                icf_real got[3] = {0};
                piece_velocity(p, opinion.n, x, u);
                piece_impulse(p, opinion.dt, u, g);
                /* an impulse of size g moves a mass of 1 / w by g w, energy g^2 w */
                for (k = 0; k < p->rows; k++) size += g[k] * g[k];
                size = (scale + (wide)EPS * 100 * sqrtl(size * p->w)) / sqrtl(p->w);
                if (p->contact) {
                    icf_contact_result r = contact_result(i);
                    icf_vec3 t2 = icf_vec3_cross(p->contact->normal, p->contact->tangent), f;
                    got[0] = r.impulse.x;
                    got[1] = r.impulse.y;
                    got[2] = r.impulse.z;
                    f = icf_vec3_scale(r.impulse.x, p->contact->tangent);
                    f = icf_vec3_add_scaled(f, r.impulse.y, t2);
                    f = icf_vec3_add_scaled(f, r.impulse.z, p->contact->normal);
                    f = icf_vec3_sub(f, icf_vec3_scale(s->p.dt, r.force));
                    TEST_CHECK((double)icf_vec3_length(f) <=
                               30 * EPS * (double)icf_vec3_length(r.impulse));
                    CHECK_NEAR(r.velocity.x, u[0], 20 * EPS, 100 * EPS);
                    CHECK_NEAR(r.velocity.y, u[1], 20 * EPS, 100 * EPS);
                    CHECK_NEAR(r.velocity.z, u[2], 20 * EPS, 100 * EPS);
                    TEST_CHECK(r.impulse.z >= 0);
                    TEST_CHECK(r.mode == ICF_MODE_OPEN || r.mode == ICF_MODE_STICK ||
                               r.mode == ICF_MODE_SLIP);
                    if (r.mode == ICF_MODE_OPEN) {
                        /* lagged friction is that of the start of the step, also in one that
                           ends apart */
                        TEST_CHECK(got[2] == 0);
                        TEST_CHECK(p->contact->model == ICF_MODEL_LAGGED ||
                                   (got[0] == 0 && got[1] == 0));
                    }
                    TEST_CHECK(r.spin_impulse.x == 0 && r.spin_impulse.y == 0 &&
                               r.spin_impulse.z == 0);
                    /* a gliding contact of another model may push upwards */
                    TEST_CHECK_(p->contact->model != ICF_MODEL_LAGGED ||
                                    (double)r.dissipated >=
                                        -(double)(size * (sqrtl(dot(3, u, u)) + 1)),
                                "%s: contact %d gains %g", families[family].name, (int)i,
                                -(double)r.dissipated);
                } else {
                    icf_row_result r = row_result(i - s->p.contacts);
                    got[0] = r.impulse;
                    CHECK_NEAR(r.velocity, u[0], 20 * EPS, 100 * EPS);
                }
                for (k = 0; k < p->rows; k++) {
                    TEST_CHECK_(near((double)got[k], (double)g[k], 1e-9, (double)size),
                                "%s: part %d of impulse %d is %g, not %g, %g allowed; seed %u",
                                families[family].name, (int)k, (int)i, (double)got[k], (double)g[k],
                                (double)size, (unsigned)SEED);
                    for (j = 0; j < opinion.n; j++) pushed[j] += p->j[k][j] * (wide)got[k];
                }
            }
            for (i = 0; i < opinion.n; i++) {
                moved[i] = dot(opinion.n, opinion.a + i * opinion.n, x) -
                           dot(opinion.n, opinion.a + i * opinion.n, opinion.v_free) - pushed[i];
            }
            cholesky_solve(opinion.n, opinion.n, opinion.factor, moved);
            TEST_CHECK_(norm_a(moved) <= scale, "%s: %g of %g; seed %u", families[family].name,
                        (double)norm_a(moved), (double)scale, (unsigned)SEED);
        }
    }
}

/* Without other forces the energy that a step loses is what its contacts took and what the
   integration takes, 1/2 dv' A dv + 1/2 sum k (dt v_n)^2, exactly. */
static void test_energy(void)
{
    int trial, model, touched = 0;
    for (model = ICF_MODEL_LAGGED; model <= ICF_MODEL_SAP; model++) {
        for (trial = 0; trial < 30; trial++) {
            scene* s = &first_scene;
            icf_real v[MOST_UNKNOWNS] = {0};
            wide x[MOST_UNKNOWNS] = {0}, last[MOST_UNKNOWNS] = {0}, change[MOST_UNKNOWNS] = {0},
                 kinetic, stored = 0;
            wide taken = 0, integration, size;
            int32_t i, kept = 1, with_normals = trial % 3, with_friction = (trial / 3) % 2;
            random_seed(SEED + (uint32_t)trial);
            random_scene(s, WITH_LAGGED, 3, 0, 4, 0);
            memset(s->bias, 0, sizeof s->bias);
            for (i = 0; i < s->p.contacts; i++) {
                icf_contact* c = &s->contact[i];
                c->model = model;
                c->surface_velocity = icf_vec3_make(0, 0, 0);
                c->distance = R(random_between(-0.2, -0.1)); /* deep: none of them lets go */
                c->stiffness = R(random_between(10, 30));
                c->near_rigid = 0;
                c->friction2 = -1;
                if (!with_friction) c->friction = 0;
                c->law = with_normals == 2 ? ICF_LAW_KELVIN_VOIGT : ICF_LAW_HUNT_CROSSLEY;
                c->dissipation = R(with_normals ? 0.2 : 0);
                c->relaxation = R(with_normals ? 0.005 : 0);
            }
            for (i = 0; i < s->unknowns; i++) {
                v[i] = s->v_free[i] = s->v_last[i] = R(random_between(-1, 1));
            }
            solve_exactly(s, v, NULL);
            opinion_make(s);
            widen(s->unknowns, v, x);
            widen(s->unknowns, s->v_last, last);
            for (i = 0; i < s->unknowns; i++) change[i] = x[i] - last[i];
            kinetic = (norm_a(x) * norm_a(x) - norm_a(last) * norm_a(last)) / 2;
            integration = norm_a(change) * norm_a(change) / 2;
            size = norm_a(last) * norm_a(last);
            for (i = 0; i < s->p.contacts; i++) {
                const icf_contact* c = &s->contact[i];
                icf_contact_result r = contact_result(i);
                wide u[3] = {0}, dt = opinion.dt, phi = (wide)c->distance, end;
                piece_velocity(&opinion.pieces[i], opinion.n, x, u);
                end = phi + dt * u[2];
                kept &= r.impulse.z > 0 && end < 0;
                stored += (wide)c->stiffness * (end * end - phi * phi) / 2;
                integration += (wide)c->stiffness * dt * dt * u[2] * u[2] / 2;
                size += (wide)c->stiffness * phi * phi;
                taken += (wide)r.dissipated;
                if (model == ICF_MODEL_LAGGED) TEST_CHECK((double)r.dissipated >= -100 * EPS);
                if (!with_friction && !with_normals) CHECK_NEAR(r.dissipated, 0, 0, 100 * EPS);
            }
            if (!kept) continue;
            touched++;
            {
                TEST_CHECK_(near((double)(kinetic + stored + taken), (double)-integration, 0,
                                 2000 * EPS * (double)size),
                            "model %d, normals %d, friction %d: %g kinetic, %g stored, %g taken, "
                            "%g integration: %g is missing of %g; seed %u",
                            model, (int)with_normals, (int)with_friction, (double)kinetic,
                            (double)stored, (double)taken, (double)integration,
                            (double)(kinetic + stored + taken + integration), (double)size,
                            (unsigned)SEED);
            }
            TEST_CHECK(kinetic + stored <= 2000 * (wide)EPS * size);
        }
    }
    TEST_CHECK_(touched >= 40, "%d", touched);
}

/* Friction takes force times slip. */
static void test_dissipation_of_slip(void)
{
    const double m = 1, dt = 0.01, k = 1e5;
    scene* s = &first_scene;
    icf_contact* c = scene_point_on_floor(s, dt, m);
    icf_real v[3] = {2, 0, 0};
    icf_contact_result r;
    c->stiffness = R(k);
    c->dissipation = 0;
    c->distance = R(-gravity / k);
    s->v_last[0] = s->v_free[0] = 2;
    s->v_free[2] = R(-gravity * dt);
    solve_exactly(s, v, NULL);
    r = contact_result(0);
    CHECK_NEAR(r.dissipated, 0.5 * gravity * dt * (double)v[0], 1e-6 + 100 * EPS, 0);
    /* on a belt that moves along, none */
    c->surface_velocity = icf_vec3_make(-2, 0, 0);
    v[0] = 2;
    solve_exactly(s, v, NULL);
    CHECK_NEAR(contact_result(0).dissipated, 0, 0, 1e-5);
}

/* J of a contact and W of a pair, against J in long double. */
static void test_jacobian_delassus(void)
{
    int trial;
    for (trial = 0; trial < 20; trial++) {
        scene* s = &first_scene;
        int32_t i, j, c, a, b, k;
        random_seed(SEED + (uint32_t)trial);
        random_scene(s, families[trial % FAMILIES].features, 1, 4, 4, 0);
        opinion_make(s);
        workspace_new(icf_workspace_bytes(&s->p, ICF_SPARSE_ITERATIVE));
        for (i = 0; i < s->p.contacts; i++) {
            for (c = 0; c < s->p.cliques; c++) {
                icf_real jacobian[24];
                memset(jacobian, UNTOUCHED, sizeof jacobian);
                TEST_CHECK(icf_contact_jacobian(&s->p, i, c, jacobian) == ICF_RESULT_OK);
                for (a = 0; a < 3; a++) {
                    for (k = 0; k < s->sizes[c]; k++) {
                        CHECK_NEAR(jacobian[a * s->sizes[c] + k],
                                   opinion.pieces[i].j[a][s->start[c] + k], 0, 20 * EPS);
                    }
                }
            }
            for (j = 0; j < s->p.contacts; j++) {
                icf_real w[9];
                memset(w, UNTOUCHED, sizeof w);
                TEST_CHECK(icf_contact_delassus(&s->p, i, j, &workspace, w) == ICF_RESULT_OK);
                for (a = 0; a < 3; a++) {
                    for (b = 0; b < 3; b++) {
                        wide sum = 0, block[64] = {0}, x[8] = {0};
                        for (c = 0; c < s->p.cliques; c++) {
                            int32_t size = s->sizes[c];
                            for (k = 0; k < size * size; k++) {
                                block[k] = (wide)s->mass[s->mass_at[c] + k];
                            }
                            TEST_ASSERT(cholesky(size, size, block));
                            for (k = 0; k < size; k++) {
                                x[k] = opinion.pieces[j].j[b][s->start[c] + k];
                            }
                            cholesky_solve(size, size, block, x);
                            for (k = 0; k < size; k++) {
                                sum += opinion.pieces[i].j[a][s->start[c] + k] * x[k];
                            }
                        }
                        CHECK_NEAR(w[3 * a + b], sum, 0,
                                   200 * EPS * (double)(opinion.pieces[i].w + opinion.pieces[j].w));
                    }
                }
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Nothing, and worse

static void test_nothing(void)
{
    scene* s = scene_begin(&first_scene, 0.01);
    icf_problem empty;
    icf_stats stats;
    icf_real v[16] = {0};
    int i;
    /* nothing at all, with arrays and without */
    memset(&stats, UNTOUCHED, sizeof stats);
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(stats.islands == 0 && stats.iterations == 0 && stats.cost == 0 &&
               stats.certificate == 0 && stats.gradient == 0);
    empty = icf_default_problem();
    empty.dt = R(0.01);
    workspace_new(icf_workspace_bytes(&empty, ICF_SPARSE_FULL));
    TEST_CHECK(icf_solve(&empty, NULL, &workspace, NULL, &stats) == ICF_RESULT_OK);
    TEST_CHECK(icf_solve(&empty, NULL, &workspace, NULL, NULL) == ICF_RESULT_OK);

    /* cliques, one of size 0, and no link */
    scene_point(s, 2);
    scene_diagonal(s, 0, NULL);
    scene_body(s, 1, 1, 1, 1);
    for (i = 0; i < 9; i++) s->v_free[i] = R(0.1 * i - 0.3);
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(same_bits(v, s->v_free, 9 * sizeof *v));
    TEST_CHECK(stats.islands == 0 && stats.iterations == 0 && stats.cost == 0);

    /* links that nothing looks at */
    scene_link(s, 3);
    scene_block_unit(s, 0, 1);
    scene_link(s, 6);
    memset(v, 0, sizeof v);
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(same_bits(v, s->v_free, 9 * sizeof *v));

    /* one of the clique of size 0, and one of no clique, with contacts on them */
    scene_link(s, 3);
    scene_block(s, 1, NULL);
    s->bias[s->bias_at[2] + 2] = -1;
    scene_contact(s, 2)->distance = R(-0.01);
    scene_contact(s, 1)->distance = R(-0.01);
    memset(v, 0, sizeof v);
    TEST_CHECK(solve(s, NULL, v, &stats) == ICF_RESULT_OK);
    TEST_CHECK(same_bits(v, s->v_free, 9 * sizeof *v));
    contact_result(1);
}

typedef struct refusal {
    icf_result result;
    icf_part part;
    int32_t which;
} refusal;

/* Solves what must be refused; v stays, and the results of the solve before it too, or they are
   gone. */
static refusal refused(const scene* s, const icf_problem* problem, const icf_options* options,
                       const char* what)
{
    icf_real v[MOST_UNKNOWNS] = {0}, before[MOST_UNKNOWNS];
    icf_contact_result r, kept;
    icf_stats stats;
    refusal answer;
    icf_result again;
    memcpy(v, second_scene.v_last, sizeof v);
    /* a solve that succeeds, of the untouched scene, leaves results */
    solve_exactly(&second_scene, v, NULL);
    kept = contact_result(0);
    memcpy(v, s->v_last, sizeof v);
    memcpy(before, v, sizeof v);
    memset(&stats, UNTOUCHED, sizeof stats);
    answer.result = icf_solve(problem, options, &workspace, v, &stats);
    answer.part = stats.part;
    answer.which = stats.which;
    TEST_CHECK_(answer.result != ICF_RESULT_OK && answer.result != ICF_RESULT_NOT_CONVERGED,
                "%s: %s", what, icf_result_string(answer.result));
    TEST_CHECK_(same_bits(v, before, sizeof v), "%s: v was changed", what);
    TEST_CHECK_(stats.stop == ICF_STOP_NONE, "%s: stop %d", what, (int)stats.stop);
    again = icf_get_contact(&workspace, 0, &r);
    TEST_CHECK_(again == ICF_RESULT_BAD_STATE ||
                    (again == ICF_RESULT_OK && same_bits(&r, &kept, sizeof r)),
                "%s: the results are neither what they were nor gone", what);
    return answer;
}

#define CHECK_REFUSED(scene_, what, result_, part_, which_) \
    do { \
        refusal refusal_ = refused(scene_, &(scene_)->p, NULL, what); \
        TEST_CHECK_(refusal_.result == (result_) && refusal_.part == (part_) && \
                        refusal_.which == (which_), \
                    "%s: %s, part %d, which %d, not %s, %d, %d", what, \
                    icf_result_string(refusal_.result), (int)refusal_.part, (int)refusal_.which, \
                    icf_result_string(result_), (int)(part_), (int)(which_)); \
    } while (0)

/* Four cliques, links of all kinds, contacts, rows and couplings, all in order. */
static void good_scene(scene* s)
{
    static const double arm[3] = {0.1, 0.2, 0.3};
    static const double spring[9] = {-0.5, 0, 0, 0, -0.5, 0, 0, 0, -0.5};
    int32_t i;
    scene_begin(s, 0.01);
    scene_point(s, 2);
    scene_body(s, 1, 0.1, 0.2, 0.3);
    scene_point(s, 3);
    scene_joint(s, 1);
    scene_link(s, 3);
    scene_block_unit(s, 0, 1);
    scene_block_unit(s, 2, -1);
    scene_link(s, 6);
    scene_block_arm(s, 1, arm, 1);
    scene_link(s, 1);
    scene_block_unit(s, 3, 1);
    scene_contact(s, 0)->distance = R(-1e-4);
    scene_contact(s, 1)->distance = R(-1e-4);
    scene_contact(s, 0)->distance = R(-2e-4);
    scene_row(s, ICF_ROW_LIMIT, 2, 0);
    scene_row(s, ICF_ROW_MOTOR, 2, 0)->damping = 1;
    scene_row(s, ICF_ROW_DRY_FRICTION, 2, 0)->effort = 1;
    scene_row(s, ICF_ROW_HOLONOMIC, 1, 4);
    scene_row(s, ICF_ROW_QUADRATIC, 1, 2)->weight = 1;
    scene_coupling(s, 2, 0, spring);
    for (i = 0; i < s->unknowns; i++) {
        s->v_last[i] = R(0.1 * i - 0.5);
        s->v_free[i] = R(0.2 - 0.1 * i);
    }
}

/* A NaN or an infinity, wherever it is. */
static void test_not_finite(void)
{
    scene* s = &first_scene;
    static icf_real bound[MOST_MASS];
    int32_t i, c, kind;
    good_scene(&second_scene);
    for (kind = 0; kind < 3; kind++) {
        icf_real bad = kind == 0 ? NOT_A_NUMBER : kind == 1 ? INFINITE : -INFINITE;
        good_scene(s);
        for (c = 0; c < s->p.cliques; c++) {
            for (i = s->mass_at[c]; i < s->mass_at[c + 1]; i++) {
                icf_real good = s->mass[i];
                s->mass[i] = bad;
                CHECK_REFUSED(s, "mass", ICF_RESULT_NOT_FINITE, ICF_PART_CLIQUE, c);
                s->mass[i] = good;
            }
            for (i = s->start[c]; i < s->start[c + 1]; i++) {
                icf_real good = s->v_free[i];
                s->v_free[i] = bad;
                CHECK_REFUSED(s, "v_free", ICF_RESULT_NOT_FINITE, ICF_PART_CLIQUE, c);
                s->v_free[i] = good;
                /* which is v as well, in `refused` */
                good = s->v_last[i];
                s->v_last[i] = bad;
                CHECK_REFUSED(s, "v_last and v", ICF_RESULT_NOT_FINITE, ICF_PART_CLIQUE, c);
                s->p.v_last = second_scene.v_last;
                CHECK_REFUSED(s, "v", ICF_RESULT_NOT_FINITE, ICF_PART_CLIQUE, c);
                s->p.v_last = NULL;
                CHECK_REFUSED(s, "v, no v_last", ICF_RESULT_NOT_FINITE, ICF_PART_CLIQUE, c);
                s->v_last[i] = good;
                {
                    icf_real other[MOST_UNKNOWNS] = {0};
                    memcpy(other, s->v_last, sizeof other);
                    other[i] = bad;
                    s->p.v_last = other;
                    CHECK_REFUSED(s, "v_last", ICF_RESULT_NOT_FINITE, ICF_PART_CLIQUE, c);
                }
                s->p.v_last = s->v_last;
            }
            memset(bound, 0, sizeof bound);
            for (i = 0; i < s->masses; i++) bound[i] = s->mass[i] / 2;
            s->p.mass_bound = bound;
            bound[s->mass_at[c]] = bad;
            CHECK_REFUSED(s, "mass_bound", ICF_RESULT_NOT_FINITE, ICF_PART_CLIQUE, c);
            s->p.mass_bound = NULL;
        }
        for (i = 0; i < 9; i++) {
            icf_real good = s->couplings[i];
            s->couplings[i] = bad;
            CHECK_REFUSED(s, "coupling", ICF_RESULT_NOT_FINITE, ICF_PART_COUPLING, 0);
            s->couplings[i] = good;
        }
        for (c = 0; c < s->block_count; c++) {
            for (i = s->block_at[c]; i < s->block_at[c + 1]; i++) {
                icf_real good = s->blocks[i];
                s->blocks[i] = bad;
                CHECK_REFUSED(s, "block", ICF_RESULT_NOT_FINITE, ICF_PART_BLOCK, c);
                s->blocks[i] = good;
            }
        }
        for (c = 0; c < s->p.links; c++) {
            for (i = s->bias_at[c]; i < s->bias_at[c + 1]; i++) {
                s->bias[i] = bad;
                CHECK_REFUSED(s, "bias", ICF_RESULT_NOT_FINITE, ICF_PART_LINK, c);
                s->bias[i] = 0;
            }
        }
        s->p.dt = bad;
        {
            refusal r = refused(s, &s->p, NULL, "dt");
            TEST_CHECK(r.part == ICF_PART_PROBLEM && r.which == 0);
            TEST_CHECK(r.result == ICF_RESULT_NOT_FINITE ||
                       (kind == 2 && r.result == ICF_RESULT_BAD_ARGUMENT));
        }
        s->p.dt = R(0.01);
        /* and it was always the number */
        {
            icf_real v[MOST_UNKNOWNS] = {0};
            memcpy(v, s->v_last, sizeof v);
            solve_exactly(s, v, NULL);
        }
    }
}

/* Every number of a contact and of a row. */
static void test_not_finite_potentials(void)
{
    scene* s = &first_scene;
    int32_t which, kind;
    size_t i;
    good_scene(&second_scene);
    good_scene(s);
    s->contact[1].torsion = R(0.01);
    s->contact[1].rolling = R(0.01);
    for (kind = 0; kind < 2; kind++) {
        icf_real bad = kind ? INFINITE : NOT_A_NUMBER;
        for (which = 0; which < s->p.contacts; which++) {
            icf_contact* c = &s->contact[which];
            icf_real* parts[25];
            size_t count = 0;
            parts[count++] = &c->point.x;
            parts[count++] = &c->point.z;
            parts[count++] = &c->normal.x;
            parts[count++] = &c->normal.y;
            parts[count++] = &c->normal.z;
            parts[count++] = &c->tangent.x;
            parts[count++] = &c->tangent.y;
            parts[count++] = &c->tangent.z;
            parts[count++] = &c->surface_velocity.x;
            parts[count++] = &c->surface_velocity.y;
            parts[count++] = &c->surface_velocity.z;
            parts[count++] = &c->distance;
            parts[count++] = &c->stiffness;
            parts[count++] = &c->dissipation;
            parts[count++] = &c->near_rigid;
            parts[count++] = &c->adhesion;
            parts[count++] = &c->adhesion_range;
            parts[count++] = &c->friction;
            parts[count++] = &c->friction2;
            parts[count++] = &c->friction_static;
            parts[count++] = &c->slip_tolerance;
            parts[count++] = &c->softness;
            parts[count++] = &c->effective_mass_inverse;
            parts[count++] = &c->torsion;
            parts[count++] = &c->rolling;
            for (i = 0; i < count; i++) {
                icf_real good = *parts[i];
                char what[40] = "number .. of a contact";
                what[7] = (char)('0' + i / 10);
                what[8] = (char)('0' + i % 10);
                *parts[i] = bad;
                CHECK_REFUSED(s, what, ICF_RESULT_NOT_FINITE, ICF_PART_CONTACT, which);
                *parts[i] = good;
            }
        }
        for (which = 0; which < s->p.rows; which++) {
            icf_row* r = &s->row[which];
            icf_real* parts[9];
            size_t count = 0;
            switch (r->kind) {
            case ICF_ROW_LIMIT:
                parts[count++] = &r->sign;
                parts[count++] = &r->distance;
                parts[count++] = &r->stiffness;
                parts[count++] = &r->relaxation;
                parts[count++] = &r->near_rigid;
                break;
            case ICF_ROW_HOLONOMIC:
                parts[count++] = &r->distance;
                parts[count++] = &r->stiffness;
                parts[count++] = &r->relaxation;
                parts[count++] = &r->near_rigid;
                break;
            case ICF_ROW_MOTOR:
                parts[count++] = &r->stiffness;
                parts[count++] = &r->damping;
                parts[count++] = &r->error;
                parts[count++] = &r->target;
                parts[count++] = &r->feedforward;
                parts[count++] = &r->effort;
                break;
            case ICF_ROW_DRY_FRICTION:
                parts[count++] = &r->effort;
                parts[count++] = &r->slip_tolerance;
                parts[count++] = &r->softness;
                break;
            default:
                parts[count++] = &r->target;
                parts[count++] = &r->weight;
                break;
            }
            for (i = 0; i < count; i++) {
                icf_real good = *parts[i];
                char what[40] = "number . of a row of kind .";
                what[7] = (char)('0' + i);
                what[26] = (char)('0' + r->kind);
                *parts[i] = bad;
                CHECK_REFUSED(s, what, ICF_RESULT_NOT_FINITE, ICF_PART_ROW, which);
                *parts[i] = good;
            }
        }
    }
    /* those that one kind of contact alone reads */
    s->contact[2].law = ICF_LAW_KELVIN_VOIGT;
    s->contact[2].relaxation = NOT_A_NUMBER;
    CHECK_REFUSED(s, "relaxation", ICF_RESULT_NOT_FINITE, ICF_PART_CONTACT, 2);
    good_scene(s);
    s->contact[2].law = ICF_LAW_IPC_BARRIER;
    s->contact[2].distance = R(1e-4);
    s->contact[2].range = NOT_A_NUMBER;
    CHECK_REFUSED(s, "range", ICF_RESULT_NOT_FINITE, ICF_PART_CONTACT, 2);
    good_scene(s);
    s->contact[2].by_force = 1;
    s->contact[2].force = NOT_A_NUMBER;
    CHECK_REFUSED(s, "force", ICF_RESULT_NOT_FINITE, ICF_PART_CONTACT, 2);
    good_scene(s);
    s->contact[1].torsion = R(0.1);
    s->contact[1].spin_tolerance = NOT_A_NUMBER;
    CHECK_REFUSED(s, "spin_tolerance", ICF_RESULT_NOT_FINITE, ICF_PART_CONTACT, 1);
}

static void test_bad_mass(void)
{
    scene* s = &first_scene;
    int32_t i;
    icf_real v[MOST_UNKNOWNS] = {0};
    good_scene(&second_scene);
    good_scene(s);
    /* two triangles that differ */
    s->mass[s->mass_at[1] + 1] = R(0.01);
    CHECK_REFUSED(s, "asymmetric", ICF_RESULT_NOT_SYMMETRIC, ICF_PART_CLIQUE, 1);
    s->mass[s->mass_at[1] + 6] = R(-0.01);
    CHECK_REFUSED(s, "antisymmetric", ICF_RESULT_NOT_SYMMETRIC, ICF_PART_CLIQUE, 1);
    /* by rounding: that is what R I R' gives, and no reason to refuse */
    s->mass[s->mass_at[1] + 6] = R(0.01 * (1 + 2 * EPS));
    memcpy(v, s->v_last, sizeof v);
    TEST_CHECK(solve(s, NULL, v, NULL) == ICF_RESULT_OK);
    good_scene(s);
    for (i = 0; i < s->p.cliques; i++) {
        icf_real good = s->mass[s->mass_at[i]];
        s->mass[s->mass_at[i]] = 0;
        CHECK_REFUSED(s, "singular", ICF_RESULT_NOT_SPD, ICF_PART_CLIQUE, i);
        s->mass[s->mass_at[i]] = -1;
        CHECK_REFUSED(s, "negative", ICF_RESULT_NOT_SPD, ICF_PART_CLIQUE, i);
        s->mass[s->mass_at[i]] = good;
    }
    /* indefinite, with a good diagonal */
    s->mass[s->mass_at[2] + 1] = s->mass[s->mass_at[2] + 3] = 5;
    CHECK_REFUSED(s, "indefinite", ICF_RESULT_NOT_SPD, ICF_PART_CLIQUE, 2);
    good_scene(s);
    /* a bound that is none */
    {
        static icf_real bound[MOST_MASS];
        for (i = 0; i < s->masses; i++) bound[i] = s->mass[i] / 2;
        s->p.mass_bound = bound;
        memcpy(v, s->v_last, sizeof v);
        TEST_CHECK(solve(s, NULL, v, NULL) == ICF_RESULT_OK);
        bound[s->mass_at[2]] = -1;
        CHECK_REFUSED(s, "bound", ICF_RESULT_NOT_SPD, ICF_PART_CLIQUE, 2);
        bound[s->mass_at[2]] = 1;
        bound[s->mass_at[2] + 1] = 1;
        CHECK_REFUSED(s, "asymmetric bound", ICF_RESULT_NOT_SYMMETRIC, ICF_PART_CLIQUE, 2);
    }
    /* blocks that are fine and a whole that is not */
    good_scene(s);
    s->couplings[0] = -5;
    {
        refusal r = refused(s, &s->p, NULL, "coupled beyond");
        TEST_CHECK(r.result == ICF_RESULT_NOT_SPD);
        TEST_CHECK(r.part == ICF_PART_CLIQUE || r.part == ICF_PART_COUPLING ||
                   r.part == ICF_PART_PROBLEM);
    }
}

static void test_bad_indices(void)
{
    static const int32_t out[] = {-1, 4, 1000000000, -1000000000};
    scene* s = &first_scene;
    int32_t i;
    size_t k;
    good_scene(&second_scene);
    good_scene(s);
    for (k = 0; k < 4; k++) {
        for (i = 0; i < s->block_count; i++) {
            int32_t good = s->block_clique[i];
            s->block_clique[i] = out[k];
            CHECK_REFUSED(s, "clique of a block", ICF_RESULT_BAD_ARGUMENT, ICF_PART_BLOCK, i);
            s->block_clique[i] = good;
        }
        for (i = 0; i < 2; i++) {
            int32_t good = s->pairs[i];
            s->pairs[i] = out[k];
            CHECK_REFUSED(s, "clique of a coupling", ICF_RESULT_BAD_ARGUMENT, ICF_PART_COUPLING, 0);
            s->pairs[i] = good;
        }
        for (i = 0; i < s->p.contacts; i++) {
            int32_t good = s->contact[i].link;
            s->contact[i].link = out[k];
            CHECK_REFUSED(s, "link of a contact", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, i);
            s->contact[i].link = good;
            good = s->contact[i].law;
            s->contact[i].law = k == 1 ? 6 : out[k];
            CHECK_REFUSED(s, "law", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, i);
            s->contact[i].law = good;
            good = s->contact[i].model;
            s->contact[i].model = k == 1 ? 3 : out[k];
            CHECK_REFUSED(s, "model", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, i);
            s->contact[i].model = good;
        }
        for (i = 0; i < s->p.rows; i++) {
            int32_t good = s->row[i].link;
            s->row[i].link = out[k];
            CHECK_REFUSED(s, "link of a row", ICF_RESULT_BAD_ARGUMENT, ICF_PART_ROW, i);
            s->row[i].link = good;
            good = s->row[i].row;
            s->row[i].row = k == 1 ? s->link_rows[s->row[i].link] : out[k];
            CHECK_REFUSED(s, "row of a link", ICF_RESULT_BAD_ARGUMENT, ICF_PART_ROW, i);
            s->row[i].row = good;
            good = s->row[i].kind;
            s->row[i].kind = k == 1 ? 5 : out[k];
            CHECK_REFUSED(s, "kind", ICF_RESULT_BAD_ARGUMENT, ICF_PART_ROW, i);
            s->row[i].kind = good;
        }
        for (i = 0; i < s->p.links; i++) {
            int32_t good = s->link_rows[i];
            s->link_rows[i] = k == 1 ? 7 : k == 0 ? 0 : out[k];
            CHECK_REFUSED(s, "rows of a link", ICF_RESULT_BAD_ARGUMENT, ICF_PART_LINK, i);
            s->link_rows[i] = good;
        }
        if (out[k] < 0) {
            for (i = 0; i < s->p.cliques; i++) {
                int32_t good = s->sizes[i];
                s->sizes[i] = out[k];
                CHECK_REFUSED(s, "size of a clique", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CLIQUE, i);
                TEST_CHECK(icf_workspace_bytes(&s->p, ICF_SPARSE_FULL) == 0);
                s->sizes[i] = good;
            }
        }
    }
    /* a clique coupled with itself */
    s->pairs[1] = 2;
    CHECK_REFUSED(s, "coupled with itself", ICF_RESULT_BAD_ARGUMENT, ICF_PART_COUPLING, 0);
    s->pairs[1] = 0;
    /* link_start that falls, or does not start at 0 */
    s->link_start[1] = 4;
    CHECK_REFUSED(s, "link_start falls", ICF_RESULT_BAD_ARGUMENT, ICF_PART_LINK, 1);
    s->link_start[1] = -1;
    CHECK_REFUSED(s, "link_start below 0", ICF_RESULT_BAD_ARGUMENT, ICF_PART_LINK, 0);
    s->link_start[1] = 2;
    s->link_start[0] = 1;
    CHECK_REFUSED(s, "link_start at 1", ICF_RESULT_BAD_ARGUMENT, ICF_PART_LINK, 0);
    s->link_start[0] = 0;
    /* a clique twice in a link */
    s->block_clique[1] = 0;
    CHECK_REFUSED(s, "twice in a link", ICF_RESULT_BAD_ARGUMENT, ICF_PART_BLOCK, 1);
    s->block_clique[1] = 2;
    /* contacts on links of other than 3 and 6 rows */
    s->contact[1].link = 2;
    CHECK_REFUSED(s, "contact on one row", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 1);
}

static void test_bad_contacts(void)
{
    scene* s = &first_scene;
    icf_contact* c = &s->contact[1]; /* on six rows */
    icf_contact good;
    good_scene(&second_scene);
    good_scene(s);
    good = *c;
#define CHECK_CONTACT(change) \
    do { \
        *c = good; \
        change; \
        CHECK_REFUSED(s, #change, ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 1); \
    } while (0)
    CHECK_CONTACT(c->normal = icf_vec3_make(0, 0, 0));
    CHECK_CONTACT(c->normal = icf_vec3_make(0, 0, R(1.5)));
    CHECK_CONTACT(c->normal = icf_vec3_make(0, 0, R(0.9)));
    CHECK_CONTACT(c->tangent = icf_vec3_make(0, 0, 1));
    CHECK_CONTACT(c->tangent = icf_vec3_make(R(0.9), 0, R(0.1)));
    CHECK_CONTACT(c->tangent = icf_vec3_make(R(0.5), 0, 0));
    CHECK_CONTACT(c->stiffness = -1);
    CHECK_CONTACT(c->dissipation = -1);
    CHECK_CONTACT((c->law = ICF_LAW_KELVIN_VOIGT, c->relaxation = -1));
    CHECK_CONTACT((c->model = ICF_MODEL_SAP, c->relaxation = -1));
    CHECK_CONTACT((c->law = ICF_LAW_IPC_BARRIER, c->distance = R(1e-4), c->range = 0));
    CHECK_CONTACT((c->law = ICF_LAW_LOG_BARRIER, c->distance = R(1e-4), c->range = -1));
    CHECK_CONTACT((c->by_force = 1, c->law = ICF_LAW_HERTZ));
    CHECK_CONTACT((c->by_force = 1, c->model = ICF_MODEL_SAP, c->stiffness = 0));
    CHECK_CONTACT(c->friction = R(-0.1));
    CHECK_CONTACT(c->slip_tolerance = 0);
    CHECK_CONTACT(c->slip_tolerance = R(-1e-4));
    CHECK_CONTACT(c->softness = R(-1e-3));
    CHECK_CONTACT((c->model = ICF_MODEL_SAP, c->softness = 0));
    CHECK_CONTACT((c->model = ICF_MODEL_SAP, c->friction2 = R(0.3)));
    CHECK_CONTACT(c->effective_mass_inverse = -1);
    CHECK_CONTACT(c->torsion = -1);
    CHECK_CONTACT(c->rolling = -1);
    CHECK_CONTACT((c->torsion = R(0.1), c->spin_tolerance = 0));
    CHECK_CONTACT(c->adhesion = -1);
    *c = good;
#undef CHECK_CONTACT
    /* what takes a link of six rows */
    s->contact[0].point = icf_vec3_make(R(0.1), 0, 0);
    CHECK_REFUSED(s, "point on three rows", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 0);
    s->contact[0].point = icf_vec3_make(0, 0, 0);
    s->contact[0].rolling = R(0.1);
    CHECK_REFUSED(s, "rolling on three rows", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 0);
    s->contact[0].rolling = 0;
    s->contact[0].torsion = R(0.1);
    CHECK_REFUSED(s, "torsion on three rows", ICF_RESULT_BAD_ARGUMENT, ICF_PART_CONTACT, 0);
    s->contact[0].torsion = 0;
    /* structs that no default function made */
    memset(&s->contact[2], 0, sizeof s->contact[2]);
    CHECK_REFUSED(s, "zeroed contact", ICF_RESULT_BAD_DEF, ICF_PART_CONTACT, 2);
}

static void test_bad_rows(void)
{
    scene* s = &first_scene;
    icf_row* r;
    icf_row good;
    good_scene(&second_scene);
    good_scene(s);
#define CHECK_ROW(change) \
    do { \
        good = *r; \
        change; \
        CHECK_REFUSED(s, #change, ICF_RESULT_BAD_ARGUMENT, ICF_PART_ROW, (int32_t)(r - s->row)); \
        *r = good; \
    } while (0)
    r = &s->row[0]; /* limit */
    CHECK_ROW(r->sign = 0);
    CHECK_ROW(r->sign = R(0.5));
    CHECK_ROW(r->stiffness = -1);
    CHECK_ROW(r->relaxation = -1);
    CHECK_ROW(r->near_rigid = 0);
    CHECK_ROW(r->near_rigid = -1);
    r = &s->row[1]; /* motor */
    CHECK_ROW(r->stiffness = -1);
    CHECK_ROW(r->damping = -1);
    r = &s->row[2]; /* dry friction */
    CHECK_ROW(r->effort = -1);
    CHECK_ROW(r->slip_tolerance = 0);
    CHECK_ROW(r->softness = -1);
    r = &s->row[3]; /* holonomic */
    CHECK_ROW(r->stiffness = -1);
    CHECK_ROW(r->relaxation = -1);
    CHECK_ROW(r->near_rigid = 0);
    r = &s->row[4]; /* quadratic */
    CHECK_ROW(r->weight = -1);
#undef CHECK_ROW
    memset(&s->row[3], 0, sizeof s->row[3]);
    CHECK_REFUSED(s, "zeroed row", ICF_RESULT_BAD_DEF, ICF_PART_ROW, 3);
}

static void test_bad_problem(void)
{
    scene* s = &first_scene;
    icf_options o;
    refusal r;
    icf_real v[MOST_UNKNOWNS] = {0};
    icf_stats stats;
    good_scene(&second_scene);
    good_scene(s);
#define CHECK_PROBLEM(member, value) \
    do { \
        good_scene(s); \
        s->p.member = value; \
        CHECK_REFUSED(s, #member " = " #value, ICF_RESULT_BAD_ARGUMENT, ICF_PART_PROBLEM, 0); \
    } while (0)
    CHECK_PROBLEM(dt, 0);
    CHECK_PROBLEM(dt, R(-0.01));
    CHECK_PROBLEM(cliques, -1);
    CHECK_PROBLEM(couplings, -1);
    CHECK_PROBLEM(links, -1);
    CHECK_PROBLEM(contacts, -1);
    CHECK_PROBLEM(rows, -1);
    CHECK_PROBLEM(clique_sizes, NULL);
    CHECK_PROBLEM(mass, NULL);
    CHECK_PROBLEM(v_free, NULL);
    CHECK_PROBLEM(coupling_pairs, NULL);
    CHECK_PROBLEM(coupling_blocks, NULL);
    CHECK_PROBLEM(link_rows, NULL);
    CHECK_PROBLEM(link_start, NULL);
    CHECK_PROBLEM(block_clique, NULL);
    CHECK_PROBLEM(blocks, NULL);
    CHECK_PROBLEM(contact, NULL);
    CHECK_PROBLEM(row, NULL);
#undef CHECK_PROBLEM
    good_scene(s);
    r = refused(s, NULL, NULL, "no problem");
    TEST_CHECK(r.result == ICF_RESULT_BAD_ARGUMENT && r.part == ICF_PART_PROBLEM && r.which == 0);
    memcpy(v, s->v_last, sizeof v);
    TEST_CHECK(icf_solve(&s->p, NULL, NULL, v, &stats) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(stats.stop == ICF_STOP_NONE && stats.part == ICF_PART_PROBLEM);
    TEST_CHECK(icf_solve(&s->p, NULL, &workspace, NULL, &stats) == ICF_RESULT_BAD_ARGUMENT);
    TEST_CHECK(stats.stop == ICF_STOP_NONE && stats.part == ICF_PART_PROBLEM);
    TEST_CHECK(icf_solve(NULL, NULL, NULL, NULL, NULL) == ICF_RESULT_BAD_ARGUMENT);

    /* no bias is a bias of 0, and 0 of something takes no array */
    s->p.link_bias = NULL;
    solve_exactly(s, v, NULL);

    memset(&o, 0, sizeof o);
    r = refused(s, &s->p, &o, "zeroed options");
    TEST_CHECK(r.result == ICF_RESULT_BAD_DEF && r.part == ICF_PART_OPTIONS && r.which == 0);
#define CHECK_OPTION(member, value, result_) \
    do { \
        o = icf_default_options(); \
        o.member = value; \
        r = refused(s, &s->p, &o, #member); \
        TEST_CHECK_(r.result == (result_) && r.part == ICF_PART_OPTIONS && r.which == 0, \
                    "%s: %s, part %d, which %d", #member " = " #value, \
                    icf_result_string(r.result), (int)r.part, (int)r.which); \
    } while (0)
    CHECK_OPTION(tolerance, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(tolerance, NOT_A_NUMBER, ICF_RESULT_NOT_FINITE);
    CHECK_OPTION(energy, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(energy, NOT_A_NUMBER, ICF_RESULT_NOT_FINITE);
    CHECK_OPTION(iterations, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(factorizations, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(history_capacity, -1, ICF_RESULT_BAD_ARGUMENT);
    CHECK_OPTION(history_capacity, 3, ICF_RESULT_BAD_ARGUMENT); /* and no array */
#undef CHECK_OPTION
}

/* Sizes whose products are beyond all integers are refused before anything is read. */
static void test_huge_sizes(void)
{
    scene* s = &first_scene;
    int32_t i;
    icf_result result;
    icf_real v[MOST_UNKNOWNS] = {0};
    icf_stats stats;
    good_scene(s);
    memcpy(v, s->v_last, sizeof v);
    for (i = 0; i < 4; i++) s->sizes[i] = 2000000000;
    TEST_CHECK(icf_workspace_bytes(&s->p, ICF_SPARSE_FULL) == 0);
    workspace_new(1000);
    memset(&stats, UNTOUCHED, sizeof stats);
    result = icf_solve(&s->p, NULL, &workspace, v, &stats);
    TEST_CHECK_(result == ICF_RESULT_OVERFLOW || result == ICF_RESULT_TOO_SMALL, "%s",
                icf_result_string(result));
    TEST_CHECK(stats.stop == ICF_STOP_NONE);
    TEST_CHECK(same_bits(v, s->v_last, sizeof v));
}

TEST_LIST = {
    {"incline_creeps",           test_incline_creeps          },
    {"incline_slides",           test_incline_slides          },
    {"impact",                   test_impact                  },
    {"gliding_offset",           test_gliding_offset          },
    {"compliance_modulation",    test_compliance_modulation   },
    {"stiction_of_sap",          test_stiction_of_sap         },
    {"near_rigid",               test_near_rigid              },
    {"by_force",                 test_by_force                },
    {"no_stiffness",             test_no_stiffness            },
    {"torsion",                  test_torsion                 },
    {"rolling",                  test_rolling                 },
    {"adhesion",                 test_adhesion                },
    {"conveyor",                 test_conveyor                },
    {"anisotropic",              test_anisotropic             },
    {"static_friction",          test_static_friction         },
    {"limit",                    test_limit                   },
    {"limit_in_time",            test_limit_in_time           },
    {"motor",                    test_motor                   },
    {"dry_friction",             test_dry_friction            },
    {"quadratic",                test_quadratic               },
    {"holonomic",                test_holonomic               },
    {"weld_ball",                test_weld_ball               },
    {"coupler",                  test_coupler                 },
    {"rope",                     test_rope                    },
    {"barriers_hold",            test_barriers_hold           },
    {"hardly_moving",            test_hardly_moving           },
    {"barrier_infeasible",       test_barrier_infeasible      },
    {"custom_law",               test_custom_law              },
    {"custom_law_broken",        test_custom_law_broken       },
    {"second_opinion",           test_second_opinion          },
    {"random_starts",            test_random_starts           },
    {"barriers_from_afar",       test_barriers_from_afar      },
    {"no_last",                  test_no_last                 },
    {"frames_are_rows",          test_frames_are_rows         },
    {"levers",                   test_levers                  },
    {"any_tangent",              test_any_tangent             },
    {"islands",                  test_islands                 },
    {"island_of",                test_island_of               },
    {"order",                    test_order                   },
    {"couplings",                test_couplings               },
    {"coupled_untouched",        test_coupled_untouched       },
    {"workspace_sizes",          test_workspace_sizes         },
    {"workspace_calls",          test_workspace_calls         },
    {"kept pattern",             test_kept_pattern            },
#ifndef ICF_NO_MALLOC
    {"reserve",                  test_reserve                 },
#endif
    {"floor_after_corners",      test_floor_after_corners     },
    {"floor_of_components",      test_floor_of_components     },
    {"cost_falls",               test_cost_falls              },
    {"search_falls",             test_search_falls            },
    {"budgets",                  test_budgets                 },
    {"ends_short",               test_ends_short              },
    {"budgets_of_phases",        test_budgets_of_phases       },
    {"spin_of_nothing",          test_spin_of_nothing         },
    {"warm_start",               test_warm_start              },
    {"tolerance",                test_tolerance               },
    {"certificate",              test_certificate             },
    {"certificate_of_weak_mode", test_certificate_of_weak_mode},
    {"energy_of_islands",        test_energy_of_islands       },
    {"certificate_of_meshes",    test_certificate_of_meshes   },
    {"scale",                    test_scale                   },
    {"results",                  test_results                 },
    {"energy",                   test_energy                  },
    {"dissipation_of_slip",      test_dissipation_of_slip     },
    {"jacobian_delassus",        test_jacobian_delassus       },
    {"nothing",                  test_nothing                 },
    {"not_finite",               test_not_finite              },
    {"not_finite_potentials",    test_not_finite_potentials   },
    {"bad_mass",                 test_bad_mass                },
    {"bad_indices",              test_bad_indices             },
    {"bad_contacts",             test_bad_contacts            },
    {"bad_rows",                 test_bad_rows                },
    {"bad_problem",              test_bad_problem             },
    {"huge_sizes",               test_huge_sizes              },
    {NULL,                       NULL                         }
};
