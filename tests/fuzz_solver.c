/* Problems made of bytes, solved, and what must hold whatever they are:

     - no crash, no read or write outside the arrays, and the arrays of the caller are as they were
     - an error has a name and leaves the velocities untouched
     - after a success or a spent budget velocities and stats are finite, the momentum error is what
       velocities and impulses say, the cost is not above that of the start, and the certificate is
       not below what a longer solve still gains
     - sound problems are solved

   tests/fuzz.h says how to run it. */

#define ICF_IMPLEMENTATION
#include <assert.h>
#define ICF_ASSERT(x) assert(x)
#define ICF_VALIDATE
#include "../icf.h"
#include "levers.h"

#define FUZZ_COUNT 20000
#include "fuzz.h"

#ifdef ICF_FLOAT
enum { DECADES = 38 };
#else
enum { DECADES = 308 };
#endif

typedef long double real;

// ------------------------------------------------------------------------------------------------
// Problems

enum {
    SOUND,   /* numbers as in a simulation: it must be solved */
    EXTREME, /* sound, with sizes from the ends of the scale */
    SPOILED, /* some numbers are not numbers, or have the wrong sign */
    HOSTILE  /* some counts, indices and pointers are wrong, too */
};

enum { MOST_BLOCKS = 48 };

typedef struct scene {
    int level;
    int spoiled;  /* something was made wrong on purpose */
    int barriers; /* a barrier may be infeasible */
    icf_problem p;
    icf_options o;
    int32_t unknowns, mass_count;
    int32_t *sizes, *pairs, *link_rows, *link_start, *block_clique;
    icf_real *mass, *bound, *v_free, *v_last, *coupling, *blocks, *bias, *start;
    int with_bodies; /* with the masses of bodies, and levers */
    icf_contact* contact;
    icf_surface* surface;
    icf_row* row;
    icf_iteration* history;
    void* memory[MOST_BLOCKS]; /* all of the above, to free and to compare */
    size_t sizes_of_memory[MOST_BLOCKS];
    int memories;
} scene;

/* exactly as large as asked, so that a sanitizer sees a byte too many */
static void* room(scene* s, int32_t count, size_t size)
{
    const size_t bytes_needed = (size_t)count * size;
    void* p = malloc(bytes_needed ? bytes_needed : 1);
    if (!p || s->memories == MOST_BLOCKS) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    memset(p, 0, bytes_needed ? bytes_needed : 1);
    s->sizes_of_memory[s->memories] = bytes_needed;
    s->memory[s->memories++] = p;
    return p;
}

static void scene_free(scene* s)
{
    while (s->memories > 0) free(s->memory[--s->memories]);
}

static uint64_t scene_sum(const scene* s)
{
    uint64_t sum = 1469598103934665603u;
    int i;
    size_t j;
    for (i = 0; i < s->memories; i++) {
        const unsigned char* p = (const unsigned char*)s->memory[i];
        for (j = 0; j < s->sizes_of_memory[i]; j++) sum = (sum ^ p[j]) * 1099511628211u;
    }
    return sum;
}

static double raw_number(void)
{
    switch (byte() % 16) {
    case 0: return 0;
    case 1: return -0.0;
    case 2: return (double)NAN;
    case 3: return (double)INFINITY;
    case 4: return -(double)INFINITY;
    case 5: return (double)REAL_MAX;
    case 6: return -(double)REAL_MAX;
    case 7: return (double)REAL_MIN;
    case 8: return (double)REAL_MIN / 8;
    case 9: return -1;
    case 10: return power(0, DECADES);
    case 11: return -power(0, DECADES);
    case 12: return power(-DECADES, 0);
    case 13: return 1e18;
    case 14: return 1e-18;
    default: {
        union {
            uint32_t bits[2];
            icf_real x;
        } u;
        u.bits[0] = word();
        u.bits[1] = word();
        return (double)u.x;
    }
    }
}

/* The number, or in a spoiled problem now and then another one */
static icf_real number(scene* s, double x)
{
    if (s->level >= SPOILED && one_in(128)) {
        s->spoiled = 1;
        return (icf_real)raw_number();
    }
    return (icf_real)x;
}

/* 10^low .. 10^high, and far beyond in an extreme problem */
static icf_real positive(scene* s, double low, double high)
{
    const double more = s->level == EXTREME && one_in(4) ? 6 : 0;
    return number(s, power(low - more, high + more));
}

static icf_real any_sign(scene* s, double size)
{
    const double more = s->level == EXTREME && one_in(8) ? power(-6, 6) : 1;
    return number(s, between(-size, size) * more);
}

static int32_t integer(scene* s, int32_t good)
{
    static const int32_t bad[8] = {-1, INT32_MIN, INT32_MAX, INT32_MAX - 1, 1 << 30, 7, 1000, -7};
    if (s->level >= HOSTILE && one_in(100)) {
        s->spoiled = 1;
        return bad[below(8)];
    }
    return good;
}

static void make_cliques(scene* s)
{
    static const int32_t common[8] = {6, 6, 6, 3, 1, 2, 7, 12};
    const int32_t n = 1 + below(6);
    const double scale = (double)positive(s, -3, 3);
    int32_t i, j, k, at = 0, square;
    s->with_bodies = one_in(3);
    s->p.cliques = n;
    s->sizes = (int32_t*)room(s, n, sizeof *s->sizes);
    for (i = 0; i < n; i++) {
        s->sizes[i] = common[below(8)];
        s->unknowns += s->sizes[i];
        s->mass_count += s->sizes[i] * s->sizes[i];
    }
    s->mass = (icf_real*)room(s, s->mass_count, sizeof *s->mass);
    s->v_free = (icf_real*)room(s, s->unknowns, sizeof *s->v_free);
    s->v_last = (icf_real*)room(s, s->unknowns, sizeof *s->v_last);
    s->start = (icf_real*)room(s, s->unknowns, sizeof *s->start);
    for (i = 0; i < n; i++) {
        const double own = scale * (double)positive(s, -1.5, 1.5);
        icf_real* a = s->mass + at;
        square = s->sizes[i];
        for (j = 0; j < square; j++) {
            for (k = 0; k < j; k++)
                a[j * square + k] = a[k * square + j] =
                    one_in(2) ? number(s, own * between(-0.05, 0.05)) : 0;
            a[j * square + j] = number(s, own * between(1, 3));
        }
        if (s->with_bodies && square == 6) {
            for (j = 0; j < 36; j++) {
                if (j / 6 < 3 || j % 6 < 3) a[j] = j % 7 ? 0 : a[0];
            }
        }
        if (s->level >= SPOILED && square > 1 && one_in(60)) {
            a[1] += (icf_real)own; /* not symmetric, most likely */
            s->spoiled = 1;
        }
        at += square * square;
    }
    for (i = 0; i < s->unknowns; i++) {
        s->v_free[i] = any_sign(s, 2);
        s->v_last[i] = any_sign(s, 2);
        s->start[i] = one_in(4) ? any_sign(s, 100) : s->v_last[i];
    }
    /* sizes that lie about the arrays, but so that nobody can believe them */
    if (s->level >= HOSTILE && one_in(40)) {
        static const int32_t bad[4] = {-1, INT32_MIN, INT32_MAX, INT32_MAX - 5};
        s->sizes[below(n)] = bad[below(4)];
        s->spoiled = 1;
    }
    s->p.clique_sizes = s->sizes;
    s->p.mass = s->mass;
    s->p.v_free = s->v_free;
    s->p.v_last = one_in(3) ? NULL : s->v_last;
}

/* So small that A stays positive definite: all rows of a clique together take less than a third of
   its diagonal. Indices of cliques that were made hostile lie within the arrays here. */
static void make_couplings(scene* s)
{
    int32_t n = s->p.cliques, count, i, j, at = 0, first[8], start[8], entries = 0;
    double* taken;
    if (n < 2 || s->spoiled || !one_in(3)) return;
    for (i = 0, j = 0; i < n; i++) {
        first[i] = j;
        start[i] = at;
        j += s->sizes[i];
        at += s->sizes[i] * s->sizes[i];
    }
    count = 1 + below(n);
    s->pairs = (int32_t*)room(s, 2 * count, sizeof *s->pairs);
    for (i = 0; i < count; i++) {
        const int32_t a = below(n), c = below(n - 1);
        s->pairs[2 * i] = a;
        s->pairs[2 * i + 1] = c < a ? c : c + 1;
        entries += s->sizes[a] * s->sizes[s->pairs[2 * i + 1]];
    }
    s->coupling = (icf_real*)room(s, entries, sizeof *s->coupling);
    taken = (double*)room(s, s->unknowns, sizeof *taken);
    for (i = 0, at = 0; i < count; i++) {
        const int32_t a = s->pairs[2 * i], c = s->pairs[2 * i + 1];
        int32_t r, k;
        for (r = 0; r < s->sizes[a]; r++) {
            for (k = 0; k < s->sizes[c]; k++) {
                const double da = (double)s->mass[start[a] + r * (s->sizes[a] + 1)];
                const double dc = (double)s->mass[start[c] + k * (s->sizes[c] + 1)];
                const double least = da < dc ? da : dc;
                const double x = between(-1, 1) * 0.25 * least / (count * 12);
                s->coupling[at++] = number(s, x);
                taken[first[a] + r] += fabs(x);
                taken[first[c] + k] += fabs(x);
            }
        }
    }
    if (one_in(2)) {
        s->bound = (icf_real*)room(s, s->mass_count, sizeof *s->bound);
        memcpy(s->bound, s->mass, (size_t)s->mass_count * sizeof *s->bound);
        for (i = 0; i < n; i++) {
            for (j = 0; j < s->sizes[i]; j++)
                s->bound[start[i] + j * (s->sizes[i] + 1)] -=
                    number(s, 1.001 * taken[first[i] + j]);
        }
        s->p.mass_bound = s->bound;
    }
    for (i = 0; i < 2 * count; i++) s->pairs[i] = integer(s, s->pairs[i]);
    s->p.couplings = count;
    s->p.coupling_pairs = s->pairs;
    s->p.coupling_blocks = s->coupling;
}

/* Most blocks that read a clique of six become those of a lever. */
static void make_arms(scene* s)
{
    icf_real* k = s->blocks;
    int32_t i, j;
    for (i = 0; i < s->p.links; i++) {
        for (j = s->link_start[i]; j < s->link_start[i + 1]; j++) {
            const int32_t rows = s->link_rows[i], n = s->sizes[s->block_clique[j]];
            if (n == 6 && rows % 3 == 0 && !one_in(4)) {
                icf_lever l;
                icf_real a[36];
                l.r = icf_vec3_make(any_sign(s, 1), any_sign(s, 1), any_sign(s, 1));
                l.sign = one_in(2) ? 1 : -1;
                matrix_of_lever(&l, a);
                memcpy(k, a, (size_t)(6 * rows) * sizeof *a);
            }
            k += rows * n;
        }
    }
}

/* The same problem by bodies and levers, of which some may then be spoilt */
static void make_levers(scene* s)
{
    lever_form own;
    int32_t i, entries = 0;
    if (!s->with_bodies || s->level >= HOSTILE || (s->spoiled && s->level < SPOILED)) return;
    for (i = 0; i < s->p.links; i++) {
        int32_t b;
        for (b = s->link_start[i]; b < s->link_start[i + 1]; b++)
            entries += s->link_rows[i] * s->sizes[s->block_clique[b]];
    }
    own.is_body = (int32_t*)room(s, s->p.cliques, sizeof *own.is_body);
    own.lever = (icf_lever*)room(s, s->p.links ? s->link_start[s->p.links] : 0, sizeof *own.lever);
    own.mass = (icf_real*)room(s, s->mass_count, sizeof *own.mass);
    own.bound = (icf_real*)room(s, s->mass_count, sizeof *own.bound);
    own.blocks = (icf_real*)room(s, entries, sizeof *own.blocks);
    use_levers(&s->p, &own);
    for (i = 0; i < 3 && s->level >= SPOILED && s->p.links && one_in(4); i++) {
        icf_lever* l = own.lever + below(s->link_start[s->p.links]);
        if (l->sign == 0)
            continue; /* with a sign it would have too many numbers, which nobody can tell */
        if (i == 0) l->r.x = (icf_real)raw_number();
        if (i == 1) l->sign = one_in(2) ? 2 : (icf_real)NAN;
        if (i == 2) own.is_body[s->block_clique[l - own.lever]] = 2;
        s->spoiled = 1;
    }
}

static void make_links(scene* s)
{
    static const int32_t rows[8] = {3, 3, 3, 6, 6, 1, 2, 5};
    const int32_t n = s->p.cliques, count = below(7);
    int32_t i, j, total = 0, entries = 0, at = 0, all_rows = 0;
    int32_t used[8];
    s->p.links = count;
    s->link_rows = (int32_t*)room(s, count, sizeof *s->link_rows);
    s->link_start = (int32_t*)room(s, count + 1, sizeof *s->link_start);
    for (i = 0; i < count; i++) {
        s->link_rows[i] = rows[below(8)];
        all_rows += s->link_rows[i];
        s->link_start[i] = total;
        total += 1 + below(n < 3 ? n : 3);
    }
    s->link_start[count] = total;
    s->block_clique = (int32_t*)room(s, total, sizeof *s->block_clique);
    for (i = 0; i < count; i++) {
        memset(used, 0, sizeof used);
        for (j = s->link_start[i]; j < s->link_start[i + 1]; j++) {
            int32_t c = below(n);
            while (used[c]) c = (c + 1) % n;
            used[c] = 1;
            s->block_clique[j] = c;
            /* a clique whose size is not one has none */
            if (s->sizes[c] > 0 && s->sizes[c] <= 12)
                entries += (s->level < HOSTILE ? s->link_rows[i] : 6) * s->sizes[c];
        }
    }
    s->blocks = (icf_real*)room(s, entries, sizeof *s->blocks);
    for (i = 0; i < entries; i++) s->blocks[i] = one_in(4) ? 0 : any_sign(s, 1);
    if (s->with_bodies && s->level < HOSTILE) make_arms(s);
    s->bias = (icf_real*)room(s, all_rows, sizeof *s->bias);
    for (at = 0; at < all_rows; at++) s->bias[at] = any_sign(s, 0.5);
    /* only what cannot be: nobody could tell that an array is shorter than its sizes say */
    if (s->level >= HOSTILE) {
        static const int32_t bad_rows[4] = {0, -1, 7, INT32_MAX};
        static const int32_t bad_clique[3] = {-1, INT32_MIN, INT32_MAX};
        if (count && one_in(40)) {
            s->link_rows[below(count)] = bad_rows[below(4)];
            s->spoiled = 1;
        }
        if (total && one_in(40)) {
            const int32_t which = below(total);
            s->block_clique[which] = one_in(2) ? n : bad_clique[below(3)];
            s->spoiled = 1;
        }
        if (count && one_in(40)) {
            s->link_start[below(count)] = -1 - below(5);
            s->spoiled = 1;
        }
        if (count > 1 && one_in(40)) {
            s->link_start[1] = 0; /* a link without blocks, and one with two that do not fit it */
            s->spoiled = 1;
        }
    }
    s->p.link_rows = s->link_rows;
    s->p.link_start = s->link_start;
    s->p.block_clique = s->block_clique;
    s->p.blocks = s->blocks;
    s->p.link_bias = one_in(3) ? NULL : s->bias;
}

/* a spring without damping: n = dt k (-distance - dt v)+ */
static void spring_law(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    const icf_real k = *(const icf_real*)user, x = -distance - dt * v;
    out[0] = x > 0 ? k * x * x / 2 : 0;
    out[1] = x > 0 ? dt * k * x : 0;
    out[2] = x > 0 ? -dt * dt * k : 0;
}

static icf_real spring_stiffness = 1000;

/* what is not a law, and is found out before it does harm */
static void broken_law(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    (void)user;
    out[0] = dt * v;
    out[1] = distance - v;
    out[2] = v * v;
}

static icf_vec3 vector(double x, double y, double z)
{
    icf_vec3 v;
    v.x = (icf_real)x;
    v.y = (icf_real)y;
    v.z = (icf_real)z;
    return v;
}

static void make_contacts(scene* s)
{
    int32_t candidates[8], count = 0, i, links = 0;
    for (i = 0; i < s->p.links; i++) {
        if (s->link_rows[i] == 3 || s->link_rows[i] == 6) candidates[links++] = i;
    }
    if (links > 0) count = below(9);
    s->contact = (icf_contact*)room(s, count, sizeof *s->contact);
    s->surface = (icf_surface*)room(s, count, sizeof *s->surface);
    for (i = 0; i < count; i++) {
        icf_contact c = icf_default_contact();
        icf_surface f = icf_default_surface();
        int six;
        c.link = candidates[below(links)];
        c.surface = i;
        six = s->link_rows[c.link] == 6;
        f.model = below(3);
        f.law = f.model == ICF_MODEL_SAP ? 0 : below(6);
        c.distance = number(s, between(-0.01, 0.003));
        f.stiffness = one_in(16) ? 0 : positive(s, 1, 7);
        if (f.model == ICF_MODEL_SAP && !(f.stiffness > 0)) f.stiffness = 1000;
        f.dissipation = one_in(4) ? 0 : positive(s, -1, 2);
        f.relaxation = one_in(4) ? 0 : positive(s, -4, 0);
        f.near_rigid = one_in(2) ? -1 : one_in(3) ? 0 : positive(s, -1, 0.5);
        if (f.law == ICF_LAW_IPC_BARRIER || f.law == ICF_LAW_LOG_BARRIER) {
            f.range = positive(s, -4, -1);
            c.distance = number(s, between(0.0001, 0.02));
            f.stiffness = positive(s, -3, 4);
            s->barriers = 1;
        }
        if (f.law == ICF_LAW_CUSTOM) {
            f.custom = spring_law;
            f.user = &spring_stiffness;
            if (s->level >= SPOILED && one_in(8)) {
                f.custom = one_in(2) ? NULL : broken_law;
                s->spoiled = 1;
            }
        }
        if (f.law == ICF_LAW_HUNT_CROSSLEY && f.model != ICF_MODEL_SAP && one_in(4)) {
            f.by_force = 1;
            c.force = number(s, between(0, 100));
        }
        if (f.law != ICF_LAW_IPC_BARRIER && f.law != ICF_LAW_LOG_BARRIER && one_in(6)) {
            f.adhesion = positive(s, -1, 2);
            f.adhesion_range = one_in(2) ? 1 : 0;
        }
        f.friction = one_in(6) ? 0 : number(s, between(0, 1.5));
        if (f.model != ICF_MODEL_SAP && one_in(3)) f.friction2 = number(s, between(0, 1.5));
        if (one_in(3)) f.friction_static = number(s, (double)f.friction * 1.2);
        f.slip_tolerance = positive(s, -6, -2);
        f.softness = positive(s, -5, -1);
        if (f.model != ICF_MODEL_SAP && one_in(4)) f.softness = 0;
        if (one_in(3)) c.effective_mass_inverse = positive(s, -2, 1);
        if (one_in(3)) {
            /* a frame: normal and tangent out of a rotation by angles */
            const double a = between(0, 6.3), e = between(-1.5, 1.5);
            c.normal = vector(cos(a) * cos(e), sin(a) * cos(e), sin(e));
            f.tangent = vector(-sin(a), cos(a), 0);
            if (one_in(4)) f.tangent = vector(0, 0, 0);
        }
        if (one_in(4)) f.velocity = vector((double)any_sign(s, 1), (double)any_sign(s, 1), 0);
        if (one_in(4)) c.pull = vector((double)any_sign(s, 1), (double)any_sign(s, 1), 0);
        if (one_in(4)) c.twist = vector(0, (double)any_sign(s, 1), (double)any_sign(s, 1));
        if (six) {
            if (one_in(2))
                c.point =
                    vector((double)any_sign(s, 1), (double)any_sign(s, 1), (double)any_sign(s, 1));
            if (f.tangent.x != 0 || f.tangent.y != 0) {
                if (one_in(3)) f.torsion = positive(s, -3, -1);
                if (one_in(3)) f.rolling = positive(s, -3, -1);
            }
            f.spin_tolerance = positive(s, -4, -1);
        }
        if (s->level >= HOSTILE) {
            const icf_surface before = f;
            c.surface = integer(s, c.surface);
            c.link = integer(s, c.link);
            f.model = integer(s, f.model);
            f.law = integer(s, f.law);
            f.by_force = integer(s, f.by_force);
            f.cookie = integer(s, f.cookie);
            if (one_in(100)) {
                uint8_t* raw = (uint8_t*)&c;
                size_t k;
                for (k = 0; k < sizeof c; k++) {
                    if (one_in(8)) raw[k] = (uint8_t)byte();
                }
                raw = (uint8_t*)&f;
                for (k = 0; k < sizeof f; k++) {
                    if (one_in(8)) raw[k] = (uint8_t)byte();
                }
                f.custom = before.custom; /* a pointer to nowhere is not to be helped */
                f.user = before.user;
                s->spoiled = 1;
            }
        }
        if (one_in(8)) c.weight = positive(s, -1, 1);
        s->contact[i] = c;
        s->surface[i] = f;
    }
    s->p.contacts = s->p.surfaces = count;
    s->p.surface = s->surface;
    s->p.contact = s->contact;
}

static void make_rows(scene* s)
{
    const int32_t count = s->p.links ? below(7) : 0;
    int32_t i;
    s->row = (icf_row*)room(s, count, sizeof *s->row);
    for (i = 0; i < count; i++) {
        icf_row r = icf_default_row((icf_row_kind)below(5));
        r.link = below(s->p.links);
        r.row = below(s->link_rows[r.link]);
        r.distance = any_sign(s, 0.01);
        r.sign = one_in(2) ? 1 : -1;
        if (one_in(2)) r.stiffness = positive(s, 0, 7);
        if (one_in(2)) r.relaxation = positive(s, -4, 0);
        if (r.kind == ICF_ROW_MOTOR) {
            r.damping = positive(s, -2, 3);
            r.error = any_sign(s, 0.1);
            r.feedforward = any_sign(s, 10);
        }
        r.target = any_sign(s, 1);
        if (r.kind == ICF_ROW_DRY_FRICTION || one_in(2)) r.effort = positive(s, -2, 2);
        r.slip_tolerance = positive(s, -6, -2);
        r.softness = one_in(4) ? 0 : positive(s, -5, -1);
        r.weight = positive(s, -2, 2);
        if (s->level >= HOSTILE) {
            r.kind = integer(s, r.kind);
            r.link = integer(s, r.link);
            r.row = integer(s, r.row);
            r.cookie = integer(s, r.cookie);
        }
        s->row[i] = r;
    }
    s->p.rows = count;
    s->p.row = s->row;
}

static void make_options(scene* s)
{
    const int32_t capacity = 1 + below(40);
    s->o = icf_default_options();
    s->history = (icf_iteration*)room(s, capacity, sizeof *s->history);
    s->memories--; /* written by the solver: it is freed by name */
    s->o.history = s->history;
    s->o.history_capacity = capacity;
    if (one_in(3)) s->o.tolerance = positive(s, -9, -1);
    if (one_in(6)) s->o.energy = positive(s, -12, -3);
    if (one_in(6)) s->o.iterative = 1;
    if (one_in(4)) s->o.iterations = 1 + below(10);
    if (one_in(6)) s->o.factorizations = 1 + below(10);
    if (s->level >= HOSTILE) {
        s->o.iterations = integer(s, s->o.iterations);
        s->o.factorizations = integer(s, s->o.factorizations);
        s->o.iterative = integer(s, s->o.iterative);
        s->o.cookie = integer(s, s->o.cookie);
        if (one_in(50)) {
            s->o.history = NULL;
            s->spoiled = 1;
        }
        if (one_in(50)) {
            s->o.history_capacity = -1 - below(3);
            s->spoiled = 1;
        }
    }
}

/* counts that are negative, and arrays that are not there */
static void make_holes(scene* s)
{
    int which;
    if (s->level < HOSTILE || !one_in(8)) return;
    s->spoiled = 1;
    which = below(22);
    if (which == 0) s->p.clique_sizes = NULL;
    if (which == 1) s->p.mass = NULL;
    if (which == 2) s->p.v_free = NULL;
    if (which == 3) s->p.coupling_pairs = NULL;
    if (which == 4) s->p.coupling_blocks = NULL;
    if (which == 5) s->p.link_rows = NULL;
    if (which == 6) s->p.link_start = NULL;
    if (which == 7) s->p.block_clique = NULL;
    if (which == 8) s->p.blocks = NULL;
    if (which == 9) s->p.contact = NULL;
    if (which == 10) s->p.row = NULL;
    if (which == 11) s->p.cliques = -1 - below(100);
    if (which == 12) s->p.couplings = -1 - below(100);
    if (which == 13) s->p.links = -1 - below(100);
    if (which == 14) s->p.contacts = -1 - below(100);
    if (which == 15) s->p.rows = -1 - below(100);
    if (which == 16) s->p.cliques = 0;
    if (which == 17) s->p.links = 0;
    if (which == 18) s->p.contacts = 0;
    if (which == 19) s->p.rows = 0;
    if (which == 20) s->p.dt = (icf_real)raw_number();
    if (which == 21) s->start[below(s->unknowns)] = (icf_real)raw_number();
}

static void make_scene(scene* s)
{
    static const int levels[8] = {SOUND, SOUND, SOUND, EXTREME, EXTREME, SPOILED, HOSTILE, HOSTILE};
    memset(s, 0, sizeof *s);
    s->level = levels[below(8)];
    s->p = icf_default_problem();
    s->p.dt = positive(s, -4, -1);
    make_cliques(s);
    make_couplings(s);
    make_links(s);
    make_levers(s);
    make_contacts(s);
    make_rows(s);
    make_options(s);
    make_holes(s);
}

// ------------------------------------------------------------------------------------------------
// What must hold

static int is_sound(const scene* s)
{
    return s->level == SOUND && !s->spoiled;
}

/* Mass times x, couplings included; `size` gets the sum of the magnitudes instead of the sum */
static void multiply(const scene* s, const real* x, real* out, int magnitudes)
{
    const icf_real *a = s->mass, *k = s->coupling;
    int32_t first[8], i, j, c, at = 0;
    for (i = 0; i < s->p.cliques; i++) {
        first[i] = at;
        for (j = 0; j < s->sizes[i]; j++) {
            for (c = 0; c < s->sizes[i]; c++) {
                const real m = (real)*a++;
                out[at + j] += magnitudes ? fabsl(m * x[at + c]) : m * x[at + c];
            }
        }
        at += s->sizes[i];
    }
    for (i = 0; i < s->p.couplings; i++) {
        const int32_t p = s->pairs[2 * i], q = s->pairs[2 * i + 1];
        for (j = 0; j < s->sizes[p]; j++) {
            for (c = 0; c < s->sizes[q]; c++) {
                const real m = (real)*k++;
                const real to = m * x[first[q] + c], from = m * x[first[p] + j];
                out[first[p] + j] += magnitudes ? fabsl(to) : to;
                out[first[q] + c] += magnitudes ? fabsl(from) : from;
            }
        }
    }
}

/* out += K' of a link times y, with magnitudes as above */
static void multiply_link(const scene* s, int32_t link, const real* y, real* out, int magnitudes)
{
    const icf_real* k = s->blocks;
    int32_t first[8], i, j, b, r, at = 0;
    for (i = 0; i < s->p.cliques; i++) {
        first[i] = at;
        at += s->sizes[i];
    }
    for (i = 0; i < link; i++) {
        for (b = s->link_start[i]; b < s->link_start[i + 1]; b++)
            k += s->link_rows[i] * s->sizes[s->block_clique[b]];
    }
    for (b = s->link_start[link]; b < s->link_start[link + 1]; b++) {
        const int32_t c = s->block_clique[b];
        for (r = 0; r < s->link_rows[link]; r++) {
            for (j = 0; j < s->sizes[c]; j++) {
                const real x = (real)*k++ * y[r];
                out[first[c] + j] += magnitudes ? fabsl(x) : x;
            }
        }
    }
}

/* The momentum error of the velocities, with the impulses that the solver reports, is not above the
   reported one by more than the rounding of the sums. */
static void check_momentum(const scene* s, const icf_workspace* w, const icf_real* v,
                           const icf_stats* stats)
{
    const size_t n = (size_t)s->unknowns;
    real *x = (real*)calloc(6 * n, sizeof *x), *total = x + n, *momentum = x + 2 * n;
    real *impulse = x + 3 * n, *noise = x + 4 * n, *change = x + 5 * n;
    real error = 0, scale = 0, other = 0, doubt = 0;
    int32_t i, j, at = 0;
    size_t k, mass_at = 0;
    if (!x) return;
    for (k = 0; k < n; k++) x[k] = (real)v[k];
    multiply(s, x, momentum, 0);
    multiply(s, x, noise, 1);
    for (k = 0; k < n; k++) x[k] = fabsl((real)v[k]) + fabsl((real)s->v_free[k]);
    multiply(s, x, noise, 1);
    for (k = 0; k < n; k++) x[k] = (real)v[k] - (real)s->v_free[k];
    multiply(s, x, change, 0);
    for (i = 0; i < s->p.contacts; i++) {
        const icf_contact* c = &s->contact[i];
        const int six = s->link_rows[c->link] == 6;
        icf_contact_result r;
        real y[6] = {0, 0, 0, 0, 0, 0}, size[6] = {0, 0, 0, 0, 0, 0};
        CHECK(icf_get_contact(w, i, &r) == ICF_RESULT_OK);
        CHECK(is_finite(r.impulse.x) && is_finite(r.impulse.y) && is_finite(r.impulse.z));
        CHECK(is_finite(r.velocity.x) && is_finite(r.velocity.y) && is_finite(r.velocity.z));
        CHECK(r.mode >= ICF_MODE_OPEN && r.mode <= ICF_MODE_SLIP);
        CHECK(r.w >= 0);
        y[0] = (real)r.force.x * (real)s->p.dt;
        y[1] = (real)r.force.y * (real)s->p.dt;
        y[2] = (real)r.force.z * (real)s->p.dt;
        if (six) {
            const icf_vec3 t = s->p.surface[c->surface].tangent, m = c->normal, p = c->point,
                           q = r.spin_impulse;
            const real mx = (real)m.x, my = (real)m.y, mz = (real)m.z;
            const real tx = (real)t.x, ty = (real)t.y, tz = (real)t.z;
            const real px = (real)p.x, py = (real)p.y, pz = (real)p.z;
            const real a = (real)q.x, b = (real)q.y, d = (real)q.z;
            y[3] = py * y[2] - pz * y[1] + a * tx + b * (my * tz - mz * ty) + d * mx;
            y[4] = pz * y[0] - px * y[2] + a * ty + b * (mz * tx - mx * tz) + d * my;
            y[5] = px * y[1] - py * y[0] + a * tz + b * (mx * ty - my * tx) + d * mz;
            size[3] = size[4] = size[5] =
                (fabsl(px) + fabsl(py) + fabsl(pz)) * (fabsl(y[0]) + fabsl(y[1]) + fabsl(y[2])) +
                fabsl(a) + fabsl(b) + fabsl(d);
        }
        /* the frame of a contact mixes its components, and rounds in each */
        size[0] = size[1] = size[2] = fabsl(y[0]) + fabsl(y[1]) + fabsl(y[2]);
        multiply_link(s, c->link, y, impulse, 0);
        multiply_link(s, c->link, size, noise, 1);
    }
    for (i = 0; i < s->p.rows; i++) {
        icf_row_result r;
        real y[6] = {0, 0, 0, 0, 0, 0};
        CHECK(icf_get_row(w, i, &r) == ICF_RESULT_OK);
        CHECK(is_finite(r.impulse) && is_finite(r.velocity));
        y[s->row[i].row] = (real)r.impulse;
        multiply_link(s, s->row[i].link, y, impulse, 0);
        multiply_link(s, s->row[i].link, y, noise, 1);
    }
    for (i = 0; i < s->p.cliques; i++) {
        for (j = 0; j < s->sizes[i]; j++, at++) {
            const real d = (real)s->mass[mass_at + (size_t)j * ((size_t)s->sizes[i] + 1)];
            total[at] = change[at] - impulse[at];
            error += total[at] * total[at] / d;
            scale += momentum[at] * momentum[at] / d;
            other += impulse[at] * impulse[at] / d;
            doubt += noise[at] * noise[at] / d;
        }
        mass_at += (size_t)s->sizes[i] * (size_t)s->sizes[i];
    }
    error = sqrtl(error);
    scale = sqrtl(scale > other ? scale : other);
    doubt = (real)(100 * EPS) * sqrtl(doubt);
    /* of the worst island: the whole is at most sqrt(2) times that */
    CHECK(error <= (real)1.4143 * (real)stats->momentum_error * scale + doubt);
    free(x);
}

static int untouched(const icf_real* a, const icf_real* b, int32_t count)
{
    return !memcmp(a, b, (size_t)count * sizeof *a);
}

static void check_solved(const scene* s, const icf_workspace* w, const icf_real* v,
                         const icf_stats* stats)
{
    int32_t i;
    /* without cliques nothing is read or written */
    for (i = 0; i < s->unknowns && s->p.cliques > 0; i++) CHECK(is_finite(v[i]));
    CHECK(stats->stop > ICF_STOP_NONE && stats->stop <= ICF_STOP_CALLER);
    CHECK(stats->islands >= 0 && stats->islands <= s->p.cliques);
    CHECK(stats->iterations >= 0 && stats->factorizations >= 0 && stats->trials >= 0);
    CHECK(stats->iterations <= s->o.iterations);
    CHECK(stats->factorizations <= s->o.factorizations);
    CHECK(stats->history >= 0 && stats->history <= s->o.history_capacity);
    CHECK(is_finite(stats->cost) && is_finite(stats->momentum_error) && is_finite(stats->gradient));
    CHECK(stats->certificate >= 0 && stats->momentum_error >= 0);
    CHECK(stats->part == ICF_PART_NONE);
    if (stats->history > 0 && s->o.history) {
        const real from = (real)s->history[0].cost, to = (real)stats->cost;
        CHECK(to <= from + (real)(1000 * EPS) * (fabsl(from) + fabsl(to)));
    }
    if (s->level == SOUND) check_momentum(s, w, v, stats);
}

/* A barrier under Similar friction bounds a region with curved walls, along which a barrier too weak for
   what presses on it makes Newton's method creep: the manual says that such a solve may not end */
static int has_curved_barrier(const scene* s)
{
    int32_t i;
    for (i = 0; i < s->p.contacts; i++) {
        const icf_surface* f = s->p.surface + s->p.contact[i].surface;
        if (f->model == ICF_MODEL_SIMILAR && f->friction > 0 &&
            (f->law == ICF_LAW_IPC_BARRIER || f->law == ICF_LAW_LOG_BARRIER))
            return 1;
    }
    return 0;
}

/* A solve that says: stuck with a large error, which rounding explains */
static int is_beyond_precision(const icf_stats* stats)
{
    return stats->stop == ICF_STOP_SHORT && stats->rounding >= stats->momentum_error;
}

/* Sound problems: a longer solve gains no more than the certificate says, and the answer is one */
static void check_certificate(const scene* s, const icf_real* v, const icf_stats* stats)
{
    icf_options o = icf_default_options();
    icf_workspace w;
    icf_stats best, again;
    icf_result result;
    icf_real *u, *back;
    real rounding;
    memset(&w, 0, sizeof w);
    memset(&best, 0, sizeof best);
    memset(&again, 0, sizeof again);
    u = (icf_real*)malloc((size_t)s->unknowns * sizeof *u);
    back = (icf_real*)malloc((size_t)s->unknowns * sizeof *u);
    CHECK(u && back);
    memcpy(u, v, (size_t)s->unknowns * sizeof *u);
    o.tolerance = (icf_real)1e-30;
    CHECK(icf_workspace_reserve(&w, &s->p) == ICF_RESULT_OK);
    /* without v_last the start is part of the problem */
    if (s->p.v_last) {
        result = icf_solve(&s->p, &o, &w, u, &best);
        CHECK(result == ICF_RESULT_OK || (result == ICF_RESULT_NOT_CONVERGED &&
                                          (has_curved_barrier(s) || is_beyond_precision(&best))));
        rounding = (real)(1e4 * EPS) * (fabsl((real)stats->cost) + fabsl((real)best.cost) + 1e-12L);
        CHECK((real)stats->cost - (real)best.cost <= (real)stats->certificate * 1.001L + rounding);
        CHECK((real)best.cost <= (real)stats->cost + rounding);
        /* once converged, from its own answer: nothing left to do */
        o.tolerance = icf_default_options().tolerance;
        result = icf_solve(&s->p, &o, &w, u, &again);
        CHECK(result == ICF_RESULT_OK || (result == ICF_RESULT_NOT_CONVERGED &&
                                          (has_curved_barrier(s) || is_beyond_precision(&again))));
        memcpy(back, u, (size_t)s->unknowns * sizeof *u);
        if (again.stop == ICF_STOP_CONVERGED) {
            result = icf_solve(&s->p, &o, &w, back, &again);
            CHECK(result == ICF_RESULT_OK && again.stop == ICF_STOP_CONVERGED);
            CHECK(again.factorizations == 0);
            CHECK(untouched(u, back, s->unknowns));
        }
    }
    icf_workspace_destroy(&w);
    free(u);
    free(back);
}

static unsigned long
    outcomes[4][20]; /* by level and by NOT_CONVERGED - result, for the closing lines */

static void fuzz_input(void)
{
    static scene s; /* large */
    icf_workspace w;
    icf_stats stats;
    icf_result result;
    icf_real *v, *j, delassus[9];
    unsigned char* memory = NULL;
    uint64_t sum;
    size_t full, small, bytes_given = 0;
    int32_t i;
    int own;
    make_scene(&s);
    memset(&w, 0, sizeof w);
    memset(&stats, 0x5A, sizeof stats);
    v = (icf_real*)malloc((size_t)s.unknowns * sizeof *v);
    j = (icf_real*)malloc(6 * 16 * sizeof *j);
    CHECK(v && j);
    memcpy(v, s.start, (size_t)s.unknowns * sizeof *v);
    sum = scene_sum(&s);

    /* memory: made by the library; or ours, of any size */
    full = icf_workspace_bytes(&s.p, ICF_SPARSE_FULL);
    small = icf_workspace_bytes(&s.p, ICF_SPARSE_ITERATIVE);
    CHECK(small <= full);
    own = full == 0 || full > 1u << 28 || one_in(2);
    if (own) {
        result = icf_workspace_reserve(&w, &s.p);
    } else {
        if (one_in(4))
            bytes_given = (size_t)below(200) * 8;
        else
            bytes_given = small + (size_t)between(0, 1) * (full - small);
        memory = (unsigned char*)malloc(bytes_given ? bytes_given : 1);
        CHECK(memory != NULL);
        memset(memory, (int)byte(), bytes_given);
        result = icf_workspace_init(&w, memory, bytes_given);
    }
    if (result == ICF_RESULT_OK || w.memory) {
        icf_contact_result r;
        CHECK(icf_get_contact(&w, 0, &r) == ICF_RESULT_BAD_STATE);
    }
    result = icf_solve(&s.p, &s.o, &w, v, &stats);
    outcomes[s.level][ICF_RESULT_NOT_CONVERGED - result]++;
    CHECK(scene_sum(&s) == sum);
    CHECK(strcmp(icf_result_string(result), icf_result_string((icf_result)-1000)) != 0);
    if (result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED) {
        CHECK((result == ICF_RESULT_OK) ==
              (stats.stop == ICF_STOP_CONVERGED || stats.stop == ICF_STOP_FLOOR));
        check_solved(&s, &w, v, &stats);
        for (i = 0; i < s.p.contacts; i++) {
            icf_contact_result r;
            const int32_t link = s.contact[i].link, block = s.link_start[link];
            CHECK(icf_get_contact(&w, i, &r) == ICF_RESULT_OK);
            CHECK(icf_contact_jacobian(&s.p, i, s.block_clique[block], j) == ICF_RESULT_OK);
        }
        /* this overwrites what the workspace knows of the solve */
        for (i = 0; i < s.p.contacts; i++)
            icf_contact_delassus(&s.p, i, below(s.p.contacts), &w, delassus);
    } else {
        CHECK(untouched(v, s.start, s.unknowns));
        CHECK(stats.stop == ICF_STOP_NONE);
        if (is_sound(&s)) {
            const int may = (s.barriers && result == ICF_RESULT_INFEASIBLE) ||
                            (bytes_given < small && !own && result == ICF_RESULT_TOO_SMALL);
            if (!may)
                fprintf(stderr, "%s, part %d, which %d\n", icf_result_string(result),
                        (int)stats.part, (int)stats.which);
            CHECK(may);
        }
        if (result != ICF_RESULT_TOO_SMALL && result != ICF_RESULT_NO_MEMORY &&
            result != ICF_RESULT_BAD_STATE && result != ICF_RESULT_MISALIGNED &&
            result != ICF_RESULT_BAD_ARGUMENT)
            CHECK(stats.part != ICF_PART_NONE);
    }
    /* what ends a sound problem is a budget of ours, never the thousand iterations; but where there is no
       memory for a factor, stiffness can be beyond conjugate gradients, as the manual says, and where
       Similar friction meets a barrier, it may be beyond Newton's method; or the precision ends first */
    if (is_sound(&s) && result == ICF_RESULT_NOT_CONVERGED && !stats.iterative &&
        !has_curved_barrier(&s) && !is_beyond_precision(&stats))
        CHECK((stats.iterations == s.o.iterations && s.o.iterations < 1000) ||
              (stats.factorizations == s.o.factorizations && s.o.factorizations < 1000));
    if (is_sound(&s) && !s.o.iterative &&
        (result == ICF_RESULT_OK || result == ICF_RESULT_NOT_CONVERGED))
        check_certificate(&s, v, &stats);
    if (own) icf_workspace_destroy(&w);
    free(memory);
    free(v);
    free(j);
    free(s.history);
    scene_free(&s);
}

static int fuzz_end(void)
{
    static const char* const names[4] = {"sound", "extreme", "spoiled", "hostile"};
    int level, result;
    for (level = 0; level < 4; level++) {
        printf("%-8s", names[level]);
        for (result = 0; result < 20; result++) {
            if (outcomes[level][result])
                printf("  %s %lu",
                       icf_result_string((icf_result)(ICF_RESULT_NOT_CONVERGED - result)),
                       outcomes[level][result]);
        }
        printf("\n");
    }
    return 0;
}
