/* icfp.h - contact problems from files: the format of tests/golden/problems/README.md.

   A file holds one problem or several, one after another. Those of version 1 may end after their
   contacts, without an answer, and may be followed by a line "IDS id_1 ... id_nc"; those of version 3
   are what icf_problem_dump writes. Include icf.h first.

       icfp_file file;
       icfp p;
       int got;
       if (!icfp_open(&file, "problem.txt")) ...            file.message says why not
       while ((got = icfp_next(&file, &p)) > 0) {
           icf_solve(&p.problem, &p.options, ..., v, ...);  v starts from p.v_start
           icfp_free(&p);
       }
       if (got < 0) ...                                     file.message again
       icfp_close(&file);

   Whatever the bytes are, the answer is a problem whose sizes and indices are in range, or a
   message. */

#ifndef ICFP_H
#define ICFP_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "levers.h"

#if defined(__GNUC__) || defined(__clang__)
#define ICFP_FUNCTION __attribute__((unused)) static
#define ICFP_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define ICFP_FUNCTION static
#define ICFP_PRINTF
#endif

/* Of version 3 contacts are of any model, and so their file */
enum {
    ICFP_SAP,
    ICFP_LAGGED,
    ICFP_SIMILAR,
    ICFP_LAGGED_ANISO,
    ICFP_MODELS,
    ICFP_ANY = ICFP_MODELS
};

/* What the file says of a contact beyond what an icf_contact takes */
typedef struct icfp_contact {
    int32_t tree[2]; /* the second is -1 for the world */
    double w;
    double vn0, fn0, gn0, eps, vhat, Rt, Rn; /* derived by whoever wrote the file */
} icfp_contact;

typedef struct icfp {
    int32_t version, bits; /* bits of the numbers of whoever wrote the file: 64 or 32 */
    int32_t model, trees, unknowns, contacts;
    icf_problem problem;      /* points into what follows */
    icf_problem by_matrices;  /* the same without bodies and levers */
    icf_options options;      /* the defaults where the file has none */
    const icf_real* v_start;  /* v0, which in version 1 is also problem.v_last */
    const icfp_contact* more; /* (contacts), of version 1 */
    int has_answer, has_ids;
    const double *v, *vc, *gamma; /* the answer: unknowns, 3 contacts, 3 contacts */
    double cost, residual, errd, cond;
    const int32_t* ids;
    void* memory[24]; /* private */
    int32_t memories;
} icfp;

typedef struct icfp_file {
    const char *at, *end;
    const char* path;
    char* text;
    int line, failed;
    char message[320];
} icfp_file;

ICFP_FUNCTION const char* icfp_model_name(int32_t model)
{
    static const char* const names[ICFP_MODELS] = {"sap", "lagged", "similar", "lagged_aniso"};
    if (model == ICFP_ANY) return "any";
    return model >= 0 && model < ICFP_MODELS ? names[model] : "?";
}

ICFP_PRINTF ICFP_FUNCTION void icfp_fail(icfp_file* f, const char* format, ...)
{
    va_list arguments;
    int used;
    if (f->failed) return;
    f->failed = 1;
    used = snprintf(f->message, sizeof f->message, "%.200s:%d: ", f->path, f->line);
    if (used < 0 || used >= (int)sizeof f->message) used = 0;
    va_start(arguments, format);
    vsnprintf(f->message + used, sizeof f->message - (size_t)used, format, arguments);
    va_end(arguments);
}

/* A file that is in memory already. The text must end with a 0 byte, which length leaves out. */
ICFP_FUNCTION void icfp_open_text(icfp_file* f, const char* name, const char* text, size_t length)
{
    memset(f, 0, sizeof *f);
    f->path = name;
    f->at = text;
    f->end = text + length;
    f->line = 1;
}

/* 1, or 0 and a message */
ICFP_FUNCTION int icfp_open(icfp_file* f, const char* path)
{
    size_t room = 1u << 16, length = 0;
    char* text = (char*)malloc(room);
    FILE* in = fopen(path, "rb");
    int ok = in && text;
    while (ok) {
        const size_t got = fread(text + length, 1, room - 1 - length, in);
        length += got;
        if (!got) break;
        if (length == room - 1) {
            char* more = (char*)realloc(text, room * 2);
            ok = more != NULL;
            if (more) text = more;
            room *= 2;
        }
    }
    if (in && ferror(in)) ok = 0;
    if (in) fclose(in);
    if (text) text[ok ? length : 0] = 0;
    icfp_open_text(f, path, text, ok ? length : 0);
    f->text = text;
    if (!ok) {
        f->failed = 1;
        snprintf(f->message, sizeof f->message, "%.200s: cannot be read", path);
    }
    return ok;
}

ICFP_FUNCTION void icfp_close(icfp_file* f)
{
    free(f->text);
    f->text = NULL;
    f->at = f->end = NULL;
}

ICFP_FUNCTION void icfp_free(icfp* p)
{
    while (p->memories > 0) free(p->memory[--p->memories]);
    memset(p, 0, sizeof *p);
}

ICFP_FUNCTION int icfp_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

ICFP_FUNCTION void icfp_skip_blanks(icfp_file* f)
{
    while (f->at < f->end && icfp_blank(*f->at)) f->line += *f->at++ == '\n';
}

/* Is this the next word? If so it is taken. */
ICFP_FUNCTION int icfp_word(icfp_file* f, const char* word)
{
    const size_t length = strlen(word);
    icfp_skip_blanks(f);
    if ((size_t)(f->end - f->at) < length || memcmp(f->at, word, length) != 0) return 0;
    if (f->at + length < f->end && !icfp_blank(f->at[length])) return 0;
    f->at += length;
    return 1;
}

ICFP_FUNCTION double icfp_number(icfp_file* f, const char* what)
{
    char* after = NULL;
    double x;
    if (f->failed) return 0;
    icfp_skip_blanks(f);
    if (f->at == f->end) {
        icfp_fail(f, "the file ends where %s should be", what);
        return 0;
    }
    x = strtod(f->at, &after);
    if (after == f->at || after > f->end || (after < f->end && !icfp_blank(*after))) {
        char found[24];
        size_t n = 0;
        while (n < sizeof found - 1 && f->at + n < f->end && !icfp_blank(f->at[n])) {
            const char c = f->at[n];
            found[n++] = (char)(c >= 32 && c < 127 ? c : '?');
        }
        found[n] = 0;
        icfp_fail(f, "%s should be a number, not %s", what, found);
        return 0;
    }
    f->at = after;
    return x;
}

ICFP_FUNCTION int32_t icfp_integer(icfp_file* f, const char* what, int32_t low, int32_t high)
{
    const double x = icfp_number(f, what);
    if (f->failed) return low;
    if (!(x >= low && x <= high) || x != (double)(int32_t)x) {
        icfp_fail(f, "%s is %g, not an integer from %ld to %ld", what, x, (long)low, (long)high);
        return low;
    }
    return (int32_t)x;
}

/* How many more numbers the rest of the file can hold: no size that is read may be above it, so
   that nothing is allocated for numbers that cannot be there. */
ICFP_FUNCTION int32_t icfp_room(const icfp_file* f)
{
    const size_t room = (size_t)(f->end - f->at) / 2 + 1;
    return room < 100000000 ? (int32_t)room : 100000000;
}

ICFP_FUNCTION void* icfp_memory(icfp_file* f, icfp* p, size_t count, size_t size)
{
    void* memory = NULL;
    if (f->failed) return NULL;
    if (p->memories < (int32_t)(sizeof p->memory / sizeof *p->memory))
        memory = calloc(count + 1, size);
    if (!memory) {
        icfp_fail(f, "no memory for %lu things", (unsigned long)count);
        return NULL;
    }
    p->memory[p->memories++] = memory;
    return memory;
}

ICFP_FUNCTION icf_real* icfp_reals(icfp_file* f, icfp* p, size_t count, const char* what)
{
    icf_real* x = (icf_real*)icfp_memory(f, p, count, sizeof(icf_real));
    size_t i;
    for (i = 0; i < count && !f->failed; i++) x[i] = (icf_real)icfp_number(f, what);
    return x;
}

ICFP_FUNCTION double* icfp_doubles(icfp_file* f, icfp* p, int32_t count, const char* what)
{
    double* x = (double*)icfp_memory(f, p, (size_t)count, sizeof(double));
    int32_t i;
    for (i = 0; i < count && !f->failed; i++) x[i] = icfp_number(f, what);
    return x;
}

/* One contact: a link of three rows that reads one clique or two, in the default frame. J goes to
   blocks. Returns how many numbers that are. */
ICFP_FUNCTION size_t icfp_read_contact(icfp_file* f, icfp* p, int32_t index, const int32_t* sizes,
                                       icfp_contact* more, icf_surface* surface,
                                       icf_contact* contact, icf_real* bias, int32_t* cliques,
                                       icf_real* blocks, size_t room)
{
    icf_contact c = icf_default_contact();
    double number[8];
    size_t count = 0, rest;
    int32_t i;
    const int sap = p->model == ICFP_SAP;
    more->tree[0] = icfp_integer(f, "the first tree of a contact", 0, p->trees - 1);
    more->tree[1] = icfp_integer(f, "the second tree of a contact", -1, p->trees - 1);
    if (!f->failed && more->tree[0] == more->tree[1])
        icfp_fail(f, "a contact of tree %d with itself", (int)more->tree[0]);

    c.link = c.surface = index;
    *surface = icf_default_surface();
    surface->model = sap                        ? ICF_MODEL_SAP
                     : p->model == ICFP_SIMILAR ? ICF_MODEL_SIMILAR
                                                : ICF_MODEL_LAGGED;
    c.distance = (icf_real)icfp_number(f, "phi0");
    surface->stiffness = (icf_real)icfp_number(f, "k");
    surface->dissipation = (icf_real)icfp_number(f, "d");
    surface->relaxation = (icf_real)icfp_number(f, "tau_d");
    surface->friction = (icf_real)icfp_number(f, "mu1");
    number[0] = icfp_number(f, "mu2");
    if (p->model == ICFP_LAGGED_ANISO) surface->friction2 = (icf_real)number[0];
    surface->slip_tolerance = (icf_real)icfp_number(f, "vs");
    surface->softness = (icf_real)icfp_number(f, "sigma");
    number[0] = icfp_number(f, "beta");
    surface->near_rigid = sap ? (icf_real)number[0] : 0;
    more->w = icfp_number(f, "w");
    c.effective_mass_inverse = (icf_real)more->w;
    for (i = 0; i < 3; i++) bias[i] = (icf_real)icfp_number(f, "b");
    more->vn0 = icfp_number(f, "vn0");
    more->fn0 = icfp_number(f, "fn0");
    more->gn0 = icfp_number(f, "gn0");
    more->eps = icfp_number(f, "eps");
    more->vhat = icfp_number(f, "vhat");
    more->Rt = icfp_number(f, "Rt");
    more->Rn = icfp_number(f, "Rn");
    *contact = c;

    for (i = 0; i < 2 && !f->failed && more->tree[i] >= 0; i++) {
        const int32_t size = sizes[more->tree[i]];
        cliques[i] = more->tree[i];
        for (rest = 0; rest < 3 * (size_t)size && !f->failed; rest++) {
            const double x = icfp_number(f, "J");
            if (!f->failed && count == room) icfp_fail(f, "too many numbers");
            if (!f->failed) blocks[count++] = (icf_real)x;
        }
    }
    return count;
}

/* A number of a struct, by its name in the file */
typedef struct icfp_column {
    const char* name;
    size_t offset;
    int integer;
} icfp_column;

#define ICFP_REAL(name) \
    { \
#name, offsetof(ICFP_STRUCT, name), 0 \
    }
#define ICFP_INTEGER(name) \
    { \
#name, offsetof(ICFP_STRUCT, name), 1 \
    }
enum { ICFP_COLUMNS = 64 };

/* All that a file may say of a contact (0), of a row (1), of the options (2), of a surface (3); how many names
   that is */
ICFP_FUNCTION int icfp_columns(int of, const icfp_column** columns)
{
#define ICFP_STRUCT icf_surface
    static const icfp_column surface[] = {
        ICFP_INTEGER(model),        ICFP_INTEGER(law),         ICFP_INTEGER(by_force),
        ICFP_REAL(velocity.x),      ICFP_REAL(velocity.y),     ICFP_REAL(velocity.z),
        ICFP_REAL(tangent.x),       ICFP_REAL(tangent.y),      ICFP_REAL(tangent.z),
        ICFP_REAL(stiffness),       ICFP_REAL(dissipation),    ICFP_REAL(relaxation),
        ICFP_REAL(range),           ICFP_REAL(near_rigid),     ICFP_REAL(adhesion),
        ICFP_REAL(adhesion_range),  ICFP_REAL(friction),       ICFP_REAL(friction2),
        ICFP_REAL(friction_static), ICFP_REAL(slip_tolerance), ICFP_REAL(softness),
        ICFP_REAL(torsion),         ICFP_REAL(rolling),        ICFP_REAL(spin_tolerance),
    };
#undef ICFP_STRUCT
#define ICFP_STRUCT icf_contact
    static const icfp_column contact[] = {
        ICFP_INTEGER(link),         ICFP_INTEGER(surface),      ICFP_REAL(point.x),
        ICFP_REAL(point.y),         ICFP_REAL(point.z),         ICFP_REAL(normal.x),
        ICFP_REAL(normal.y),        ICFP_REAL(normal.z),        ICFP_REAL(distance),
        ICFP_REAL(force),           ICFP_REAL(weight),          ICFP_REAL(effective_mass_inverse),
        ICFP_REAL(pull.x),          ICFP_REAL(pull.y),          ICFP_REAL(pull.z),
        ICFP_REAL(twist.x),         ICFP_REAL(twist.y),         ICFP_REAL(twist.z),
        ICFP_REAL(impulse_guess.x), ICFP_REAL(impulse_guess.y), ICFP_REAL(impulse_guess.z),
        ICFP_REAL(lag.limit),       ICFP_REAL(lag.before),      ICFP_REAL(lag.impulse),
    };
#undef ICFP_STRUCT
#define ICFP_STRUCT icf_row
    static const icfp_column row[] = {
        ICFP_INTEGER(kind),    ICFP_INTEGER(link),        ICFP_INTEGER(row),
        ICFP_REAL(distance),   ICFP_REAL(sign),           ICFP_REAL(stiffness),
        ICFP_REAL(relaxation), ICFP_REAL(near_rigid),     ICFP_REAL(damping),
        ICFP_REAL(error),      ICFP_REAL(target),         ICFP_REAL(feedforward),
        ICFP_REAL(effort),     ICFP_REAL(slip_tolerance), ICFP_REAL(softness),
        ICFP_REAL(weight),
    };
#undef ICFP_STRUCT
#define ICFP_STRUCT icf_options
    static const icfp_column options[] = {
        ICFP_REAL(tolerance),         ICFP_REAL(energy),    ICFP_INTEGER(iterations),
        ICFP_INTEGER(factorizations), ICFP_INTEGER(passes), ICFP_INTEGER(iterative),
    };
#undef ICFP_STRUCT
    *columns = of == 0 ? contact : of == 1 ? row : of == 2 ? options : surface;
    return (int)((of == 0   ? sizeof contact
                  : of == 1 ? sizeof row
                  : of == 2 ? sizeof options
                            : sizeof surface) /
                 sizeof(icfp_column));
}

ICFP_FUNCTION void icfp_expect(icfp_file* f, const char* word)
{
    if (!f->failed && !icfp_word(f, word)) icfp_fail(f, "%s should be here", word);
}

/* Structs, after the word that tells of them: names, and the numbers that go by them. What the file does not
   name stays as it is. */
ICFP_FUNCTION void icfp_read_structs(icfp_file* f, const char* word, int of, int32_t count,
                                     void* structs, size_t bytes)
{
    const icfp_column *columns, *column[ICFP_COLUMNS];
    int known = icfp_columns(of, &columns), k, j;
    int32_t names, i;
    if (*word) icfp_expect(f, word);
    names = icfp_integer(f, "the number of names", 0, ICFP_COLUMNS);
    for (k = 0; k < names && !f->failed; k++) {
        for (j = 0; j < known && !icfp_word(f, columns[j].name); j++) continue;
        if (j == known) icfp_fail(f, "a name after %s that is not known", word);
        if (j < known) column[k] = columns + j;
    }
    for (i = 0; i < count && !f->failed; i++) {
        for (k = 0; k < names && !f->failed; k++) {
            char* at = (char*)structs + (size_t)i * bytes + column[k]->offset;
            if (column[k]->integer) {
                const int32_t n = icfp_integer(f, column[k]->name, -2147483647 - 1, 2147483647);
                memcpy(at, &n, sizeof n);
            } else {
                const icf_real x = (icf_real)icfp_number(f, column[k]->name);
                memcpy(at, &x, sizeof x);
            }
        }
    }
}

/* Numbers behind those that are there already */
ICFP_FUNCTION void icfp_append(icfp_file* f, icf_real* to, size_t* used, size_t room, size_t count,
                               const char* what)
{
    for (; count > 0 && !f->failed; count--) {
        const double x = icfp_number(f, what);
        if (!f->failed && *used == room) icfp_fail(f, "too many numbers");
        if (!f->failed) to[(*used)++] = (icf_real)x;
    }
}

/* The blocks of A, or of its bound: of a body the word BODY and 7 numbers, else a matrix. The first time,
   is_body is written; then it is a bound, which must agree. */
ICFP_FUNCTION const icf_real* icfp_read_masses(icfp_file* f, icfp* p, const int32_t* sizes,
                                               size_t squares, int32_t* is_body, int first)
{
    icf_real* mass = (icf_real*)icfp_memory(f, p, squares, sizeof *mass);
    size_t used = 0;
    int32_t i;
    for (i = 0; i < p->trees && !f->failed; i++) {
        const int body = sizes[i] == 6 && icfp_word(f, "BODY");
        if (!first && body != is_body[i]) icfp_fail(f, "a bound that is no block of a body");
        if (f->failed) break;
        is_body[i] = body;
        icfp_append(f, mass, &used, squares, body ? 7 : (size_t)sizes[i] * (size_t)sizes[i], "A");
    }
    return mass;
}

/* The sizes of all cliques, and of the mass matrices that follow */
ICFP_FUNCTION const int32_t* icfp_read_sizes(icfp_file* f, icfp* p, int32_t least, const char* what,
                                             const char* which, size_t* squares)
{
    int32_t* sizes = (int32_t*)icfp_memory(f, p, (size_t)p->trees, sizeof *sizes);
    int32_t i, sum = 0;
    *squares = 0;
    for (i = 0; i < p->trees && !f->failed; i++) {
        sizes[i] = icfp_integer(f, what, least, p->unknowns - sum);
        sum += sizes[i];
        *squares += (size_t)sizes[i] * (size_t)sizes[i];
    }
    if (!f->failed && sum != p->unknowns)
        icfp_fail(f, "the sizes of the %s add up to %d, not %d", which, (int)sum, (int)p->unknowns);
    if (!f->failed && *squares / 36 * 7 > (size_t)icfp_room(f))
        icfp_fail(f, "the file is too short for its mass matrices");
    return sizes;
}

ICFP_FUNCTION void icfp_read_couplings(icfp_file* f, icfp* p, icf_problem* q)
{
    const size_t room = q->couplings ? (size_t)icfp_room(f) : 0;
    int32_t* pairs = (int32_t*)icfp_memory(f, p, 2 * (size_t)q->couplings, sizeof *pairs);
    icf_real* blocks = (icf_real*)icfp_memory(f, p, room, sizeof *blocks);
    size_t used = 0;
    int32_t i, k;
    for (i = 0; i < q->couplings && !f->failed; i++) {
        for (k = 0; k < 2; k++)
            pairs[2 * i + k] = icfp_integer(f, "a clique of a coupling", 0, p->trees - 1);
        if (!f->failed)
            icfp_append(f, blocks, &used, room,
                        (size_t)q->clique_sizes[pairs[2 * i]] *
                            (size_t)q->clique_sizes[pairs[2 * i + 1]],
                        "a coupling");
    }
    q->coupling_pairs = pairs;
    q->coupling_blocks = blocks;
}

ICFP_FUNCTION void icfp_read_links(icfp_file* f, icfp* p, icf_problem* q, int32_t count)
{
    const size_t room = q->links ? (size_t)icfp_room(f) : 0;
    int32_t* rows = (int32_t*)icfp_memory(f, p, (size_t)q->links, sizeof *rows);
    int32_t* start = (int32_t*)icfp_memory(f, p, (size_t)q->links + 1, sizeof *start);
    int32_t* cliques = (int32_t*)icfp_memory(f, p, (size_t)count, sizeof *cliques);
    icf_real* bias = (icf_real*)icfp_memory(f, p, 6 * (size_t)q->links, sizeof *bias);
    icf_real* blocks = (icf_real*)icfp_memory(f, p, room, sizeof *blocks);
    icf_lever* lever = (icf_lever*)icfp_memory(f, p, (size_t)count, sizeof *lever);
    int32_t* columns = (int32_t*)icfp_memory(f, p, 2 * (size_t)count, sizeof *columns);
    size_t at = 0, used = 0;
    int32_t i, k;
    for (i = 0; i < q->links && !f->failed; i++) {
        rows[i] = icfp_integer(f, "the rows of a link", 1, 6);
        start[i + 1] = start[i] + icfp_integer(f, "the blocks of a link", 0, count - start[i]);
        icfp_append(f, bias, &at, 6 * (size_t)q->links, (size_t)rows[i], "a bias");
        for (k = start[i]; k < start[i + 1] && !f->failed; k++) {
            cliques[k] = icfp_integer(f, "the clique of a block", 0, p->trees - 1);
            if (f->failed) break;
            columns[2 * k + 1] = q->clique_sizes[cliques[k]];
            if (icfp_word(f, "COLUMNS")) {
                columns[2 * k] = icfp_integer(f, "the first column", 0, columns[2 * k + 1]);
                columns[2 * k + 1] =
                    icfp_integer(f, "columns", 0, columns[2 * k + 1] - columns[2 * k]);
            }
            if (!f->failed && icfp_word(f, "LEVER")) {
                lever[k].r.x = (icf_real)icfp_number(f, "r.x");
                lever[k].r.y = (icf_real)icfp_number(f, "r.y");
                lever[k].r.z = (icf_real)icfp_number(f, "r.z");
                lever[k].sign = (icf_real)icfp_number(f, "the sign of a lever");
                if (!(lever[k].sign != 0)) icfp_fail(f, "a lever without a sign");
                if (columns[2 * k + 1] != 6 || (rows[i] != 3 && rows[i] != 6))
                    icfp_fail(f, "a lever of %d rows", (int)rows[i]);
            } else if (!f->failed) {
                icfp_append(f, blocks, &used, room, (size_t)rows[i] * (size_t)columns[2 * k + 1],
                            "K");
            }
        }
    }
    if (!f->failed && start[q->links] != count)
        icfp_fail(f, "%d blocks, not %d", (int)start[q->links], (int)count);
    q->link_rows = rows;
    q->link_start = start;
    q->block_clique = cliques;
    q->block_lever = lever;
    q->block_columns = columns;
    q->blocks = blocks;
    q->link_bias = bias;
}

ICFP_FUNCTION void icfp_read_potentials(icfp_file* f, icfp* p, icf_problem* q)
{
    icf_contact* contact = (icf_contact*)icfp_memory(f, p, (size_t)q->contacts, sizeof *contact);
    icf_surface* surface;
    icf_row* row;
    int32_t i;
    icfp_expect(f, "SURFACES");
    q->surfaces = icfp_integer(f, "the number of surfaces", 0, icfp_room(f) / 20);
    surface = (icf_surface*)icfp_memory(f, p, (size_t)q->surfaces, sizeof *surface);
    for (i = 0; i < q->surfaces && !f->failed; i++) surface[i] = icf_default_surface();
    icfp_read_structs(f, "", 3, q->surfaces, surface, sizeof *surface);
    q->surface = surface;
    for (i = 0; i < q->contacts && !f->failed; i++) contact[i] = icf_default_contact();
    icfp_read_structs(f, "CONTACTS", 0, q->contacts, contact, sizeof *contact);
    for (i = 0; i < q->contacts && !f->failed; i++) {
        if (contact[i].link < 0 || contact[i].link >= q->links)
            icfp_fail(f, "contact %d: link %d", (int)i, (int)contact[i].link);
        if (contact[i].surface < 0 || contact[i].surface >= q->surfaces)
            icfp_fail(f, "contact %d: surface %d", (int)i, (int)contact[i].surface);
    }
    q->contact = contact;
    row = (icf_row*)icfp_memory(f, p, (size_t)q->rows, sizeof *row);
    for (i = 0; i < q->rows && !f->failed; i++) row[i] = icf_default_row(ICF_ROW_LIMIT);
    icfp_read_structs(f, "ROWS", 1, q->rows, row, sizeof *row);
    for (i = 0; i < q->rows && !f->failed; i++) {
        if (row[i].link < 0 || row[i].link >= q->links)
            icfp_fail(f, "row %d: link %d", (int)i, (int)row[i].link);
    }
    q->row = row;
}

/* p->by_matrices, from p->problem */
ICFP_FUNCTION void icfp_expand(icfp_file* f, icfp* p, size_t squares)
{
    const icf_problem* q = &p->problem;
    lever_form own = {NULL, NULL, NULL, NULL, NULL};
    size_t entries = 0;
    int32_t i, k;
    p->by_matrices = *q;
    if (f->failed) return;
    for (i = 0; i < q->links; i++) {
        for (k = q->link_start[i]; k < q->link_start[i + 1]; k++)
            entries += (size_t)q->link_rows[i] * (size_t)q->block_columns[2 * k + 1];
    }
    own.mass = (icf_real*)icfp_memory(f, p, squares, sizeof *own.mass);
    own.bound = (icf_real*)icfp_memory(f, p, q->mass_bound ? squares : 0, sizeof *own.bound);
    own.blocks = (icf_real*)icfp_memory(f, p, entries, sizeof *own.blocks);
    if (!f->failed) use_matrices(&p->by_matrices, &own);
}

/* Version 2, after that number: all that an icf_problem and icf_options have */
ICFP_FUNCTION void icfp_read_any(icfp_file* f, icfp* p)
{
    icf_problem q = icf_default_problem();
    size_t squares;
    int32_t count, *is_body;

    p->model = ICFP_ANY;
    p->bits = icfp_integer(f, "the bits of a number", 32, 64);
    q.cliques = p->trees = icfp_integer(f, "the number of cliques", 0, icfp_room(f));
    p->unknowns = icfp_integer(f, "the number of velocities", 0, icfp_room(f));
    q.couplings = icfp_integer(f, "the number of couplings", 0, icfp_room(f));
    q.links = icfp_integer(f, "the number of links", 0, icfp_room(f));
    count = icfp_integer(f, "the number of blocks", 0, icfp_room(f));
    q.contacts = p->contacts = icfp_integer(f, "the number of contacts", 0, icfp_room(f) / 20);
    q.rows = icfp_integer(f, "the number of rows", 0, icfp_room(f) / 8);
    q.dt = (icf_real)icfp_number(f, "dt");
    icfp_read_structs(f, "OPTIONS", 2, 1, &p->options, sizeof p->options);

    icfp_expect(f, "CLIQUES");
    q.clique_sizes = icfp_read_sizes(f, p, 0, "the size of a clique", "cliques", &squares);
    is_body = (int32_t*)icfp_memory(f, p, (size_t)p->trees, sizeof *is_body);
    q.mass = icfp_read_masses(f, p, q.clique_sizes, squares, is_body, 1);
    q.clique_is_body = is_body;
    icfp_expect(f, "FREE");
    q.v_free = icfp_reals(f, p, (size_t)p->unknowns, "v*");
    icfp_expect(f, "LAST");
    q.v_last = icfp_reals(f, p, (size_t)p->unknowns, "the velocity before");
    icfp_expect(f, "START");
    p->v_start = icfp_reals(f, p, (size_t)p->unknowns, "the velocity to start from");
    if (!f->failed && icfp_word(f, "BOUND"))
        q.mass_bound = icfp_read_masses(f, p, q.clique_sizes, squares, is_body, 0);

    icfp_expect(f, "COUPLINGS");
    icfp_read_couplings(f, p, &q);
    icfp_expect(f, "LINKS");
    icfp_read_links(f, p, &q, count);
    icfp_read_potentials(f, p, &q);
    icfp_expect(f, "END");
    p->problem = q;
    icfp_expand(f, p, squares);
}

ICFP_FUNCTION void icfp_read(icfp_file* f, icfp* p)
{
    icf_problem q = icf_default_problem();
    icfp_contact* more;
    icf_contact* contact;
    icf_surface* surface;
    icf_real *bias, *blocks, *mass, *v_free, *v0;
    const int32_t* sizes;
    int32_t *rows, *start, *cliques, *ids;
    size_t at = 0, squares, block_room;
    int32_t i;

    if (!icfp_word(f, "ICFP")) {
        icfp_fail(f, "a problem begins with ICFP");
        return;
    }
    p->version = icfp_integer(f, "the version after ICFP", 1, 3);
    p->bits = 64;
    p->options = icf_default_options();
    if (p->version == 2)
        icfp_fail(
            f, "a problem of version 2, before surfaces were apart from contacts: write it anew");
    if (p->version == 3) {
        if (!f->failed) icfp_read_any(f, p);
        return;
    }
    p->model = icfp_integer(f, "the model", 0, ICFP_MODELS - 1);
    p->trees = icfp_integer(f, "the number of trees", 1, icfp_room(f));
    p->unknowns = icfp_integer(f, "the number of velocities", 1, icfp_room(f));
    p->contacts = icfp_integer(f, "the number of contacts", 0, icfp_room(f) / 20);
    q.dt = (icf_real)icfp_number(f, "dt");

    sizes = icfp_read_sizes(f, p, 1, "the size of a tree", "trees", &squares);
    mass = icfp_reals(f, p, squares, "A");
    v_free = icfp_reals(f, p, (size_t)p->unknowns, "v*");
    v0 = icfp_reals(f, p, (size_t)p->unknowns, "v0");

    block_room = (size_t)icfp_room(f);
    more = (icfp_contact*)icfp_memory(f, p, (size_t)p->contacts, sizeof *more);
    contact = (icf_contact*)icfp_memory(f, p, (size_t)p->contacts, sizeof *contact);
    surface = (icf_surface*)icfp_memory(f, p, (size_t)p->contacts, sizeof *surface);
    rows = (int32_t*)icfp_memory(f, p, (size_t)p->contacts, sizeof *rows);
    start = (int32_t*)icfp_memory(f, p, (size_t)p->contacts + 1, sizeof *start);
    cliques = (int32_t*)icfp_memory(f, p, 2 * (size_t)p->contacts, sizeof *cliques);
    bias = (icf_real*)icfp_memory(f, p, 3 * (size_t)p->contacts, sizeof *bias);
    blocks = (icf_real*)icfp_memory(f, p, p->contacts ? block_room : 0, sizeof *blocks);
    for (i = 0; i < p->contacts && !f->failed; i++) {
        rows[i] = 3;
        at += icfp_read_contact(f, p, i, sizes, &more[i], &surface[i], &contact[i], &bias[3 * i],
                                &cliques[start[i]], &blocks[at], block_room - at);
        start[i + 1] = start[i] + (more[i].tree[1] < 0 ? 1 : 2);
    }

    p->has_answer = 0;
    icfp_skip_blanks(f);
    if (f->at < f->end && *f->at != 'I') {
        p->v = icfp_doubles(f, p, p->unknowns, "v of the answer");
        p->vc = icfp_doubles(f, p, 3 * p->contacts, "vc of the answer");
        p->gamma = icfp_doubles(f, p, 3 * p->contacts, "gamma of the answer");
        p->cost = icfp_number(f, "the cost");
        p->residual = icfp_number(f, "the residual");
        p->errd = icfp_number(f, "errd");
        p->cond = icfp_number(f, "cond");
        p->has_answer = 1;
    }
    if (!f->failed && icfp_word(f, "IDS")) {
        ids = (int32_t*)icfp_memory(f, p, (size_t)p->contacts, sizeof *ids);
        for (i = 0; i < p->contacts && !f->failed; i++)
            ids[i] = icfp_integer(f, "an id", 0, 2147483647);
        p->ids = ids;
        p->has_ids = 1;
    }
    if (f->failed) return;

    q.cliques = p->trees;
    q.clique_sizes = sizes;
    q.mass = mass;
    q.v_free = v_free;
    q.v_last = v0;
    q.links = p->contacts;
    q.link_rows = rows;
    q.link_start = start;
    q.block_clique = cliques;
    q.blocks = blocks;
    q.link_bias = bias;
    q.contacts = q.surfaces = p->contacts;
    q.contact = contact;
    q.surface = surface;
    p->problem = p->by_matrices = q;
    p->v_start = v0;
    p->more = more;
}

/* The next problem of a file: 1; or 0 at its end; or -1 and a message. After 1, icfp_free(p). */
ICFP_FUNCTION int icfp_next(icfp_file* f, icfp* p)
{
    memset(p, 0, sizeof *p);
    if (f->failed) return -1;
    icfp_skip_blanks(f);
    if (f->at == f->end) return 0;
    icfp_read(f, p);
    if (!f->failed) return 1;
    icfp_free(p);
    return -1;
}

#endif /* ICFP_H */
