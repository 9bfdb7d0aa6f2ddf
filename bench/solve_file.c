/* Solves the contact problems of files, in the format of tests/golden/problems/README.md:

       solve_file [--tol X] [--max-iter N] [--v] [--warm] FILE...

   A line for each problem, after a header: its name (of the file, with #1, #2 ... when it holds
   several); its size; what the solve took; the momentum error, computed here from A, v*, J and the
   impulses rather than asked of the solver; the certificate, J; the distance from the answer in the
   file, in the norm diag(A), relative to the larger of the answer and v* (nan without an answer); the
   time of a solve from v0, the fastest of several, in a workspace that was there before; and why it
   stopped, or the error. --v: also a line "v" with the velocities. --warm: contacts with the id of one
   in the problem before (IDS lines) begin with its impulse. Ends with 0 if every file could be read.

   What icf_world_dump_step and icf_problem_dump write is solved with the options in it, unless others are
   given. A problem of numbers of 32 bits has to be solved in them to end in the same bits:

       cc -O2 -DICF_FLOAT -I. -o solve_file_float bench/solve_file.c -lm

   Without files: the problems of tests/golden, with the options of bench.h, to the tolerance 1e-6
   unless another is given, and figures at the end. */

#include "bench.h"

#define ICF_IMPLEMENTATION
#include "icf.h"
#include "tests/icfp.h"

#include <math.h>

enum { GOLDEN_KINDS = 10 };
static const char* const golden_kinds[GOLDEN_KINDS] = {
    "01_stick", "02_slide", "03_impact", "04_box4",  "05_box8belt",
    "06_stack", "07_trees", "08_pile12", "09_stiff", "10_pile40"};

typedef struct settings {
    icf_options solver;
    int tolerance, budgets; // are given, and not those of the file
    int velocities;         // print them
    int warm;               // impulses go from problem to problem
    int repeat;
    double budget; // seconds that measuring one problem may take
} settings;

// Impulses of a problem by contact id, along the world's axes
typedef struct memory {
    int32_t count;
    int32_t* ids;
    double* impulses; // 3 each
} memory;

typedef struct outcome {
    icf_result result;
    icf_stats stats;
    double momentum_error, velocity_error, seconds;
} outcome;

static void* allocate(size_t count, size_t size)
{
    void* memory = calloc(count + 1, size);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

// ------------------------------------------------------------------------------------------------
// Errors, from the problem's own numbers

// out += A x
static void multiply_mass(const icf_problem* p, const double* x, double* out)
{
    size_t at = 0, first = 0;
    int32_t i, j, k;
    for (i = 0; i < p->cliques; i++) {
        const int32_t n = p->clique_sizes[i];
        for (j = 0; j < n; j++) {
            for (k = 0; k < n; k++)
                out[first + (size_t)j] += (double)p->mass[at++] * x[first + (size_t)k];
        }
        first += (size_t)n;
    }
}

// out += A x, what couplings add to it
static void multiply_couplings(const icf_problem* p, const size_t* first, const double* x,
                               double* out)
{
    const icf_real* entry = p->coupling_blocks;
    int32_t i, j, k;
    for (i = 0; i < p->couplings; i++) {
        const int32_t a = p->coupling_pairs[2 * i], b = p->coupling_pairs[2 * i + 1];
        for (j = 0; j < p->clique_sizes[a]; j++) {
            for (k = 0; k < p->clique_sizes[b]; k++, entry++) {
                out[first[a] + (size_t)j] += (double)*entry * x[first[b] + (size_t)k];
                out[first[b] + (size_t)k] += (double)*entry * x[first[a] + (size_t)j];
            }
        }
    }
}

// the diagonal of A, and where each clique begins
static void read_diagonal(const icf_problem* p, double* diagonal, size_t* first)
{
    size_t at = 0, next = 0;
    int32_t i, j;
    for (i = 0; i < p->cliques; i++) {
        const size_t n = (size_t)p->clique_sizes[i];
        first[i] = next;
        for (j = 0; j < p->clique_sizes[i]; j++)
            diagonal[next++] = (double)p->mass[at + (size_t)j * (n + 1)];
        at += n * n;
    }
}

// |D x|, D = diag(A)^-1/2
static double scaled_norm(const double* x, const double* diagonal, int32_t count)
{
    double sum = 0;
    int32_t i;
    for (i = 0; i < count; i++) sum += x[i] * x[i] / diagonal[i];
    return sqrt(sum);
}

// adds what a contact does to the rows of its link, velocity and angular velocity at its reference point
static void add_contact(const icf_problem* p, int32_t contact, const icf_contact_result* got,
                        double* gamma)
{
    const icf_contact* c = p->contact + contact;
    const int32_t rows = p->link_rows[c->link];
    const double along[3] = {(double)got->impulse.x, (double)got->impulse.y,
                             (double)got->impulse.z};
    const double about[3] = {(double)got->spin_impulse.x, (double)got->spin_impulse.y,
                             (double)got->spin_impulse.z};
    const double point[3] = {(double)c->point.x, (double)c->point.y, (double)c->point.z};
    double push[3] = {0, 0, 0};
    icf_vec3 axes[3];
    int i;
    if (!icfi_contact_frame(p->surface[c->surface].tangent, c->normal, axes)) return;
    for (i = 0; i < 3; i++) {
        push[0] += along[i] * (double)axes[i].x;
        push[1] += along[i] * (double)axes[i].y;
        push[2] += along[i] * (double)axes[i].z;
        if (rows < 6) continue;
        gamma[3] += about[i] * (double)axes[i].x;
        gamma[4] += about[i] * (double)axes[i].y;
        gamma[5] += about[i] * (double)axes[i].z;
    }
    for (i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        gamma[i] += push[i];
        if (rows == 6) gamma[3 + i] += point[j] * push[k] - point[k] * push[j];
    }
}

/* |D (A (v - v*) - J' gamma)| / max(|D A v|, |D J' gamma|) */
static double momentum_error(const icfp* in, const icf_workspace* workspace, const icf_real* v,
                             const double* diagonal, const size_t* first)
{
    const icf_problem* p = &in->by_matrices;
    const size_t n = (size_t)in->unknowns;
    double* x = (double*)allocate(n, sizeof *x);
    double* change = (double*)allocate(n, sizeof *change);
    double* momentum = (double*)allocate(n, sizeof *momentum);
    double* impulse = (double*)allocate(n, sizeof *impulse);
    double* gamma = (double*)allocate(6 * (size_t)p->links, sizeof *gamma);
    const icf_real* block = p->blocks;
    double residual, scale, other;
    size_t i;
    int32_t c, b, r, k;
    for (i = 0; i < n; i++) x[i] = (double)v[i];
    multiply_mass(p, x, momentum);
    multiply_couplings(p, first, x, momentum);
    for (i = 0; i < n; i++) x[i] = (double)v[i] - (double)p->v_free[i];
    multiply_mass(p, x, change);
    multiply_couplings(p, first, x, change);
    for (c = 0; c < p->contacts; c++) {
        const int32_t link = p->contact[c].link;
        icf_contact_result got;
        if (icf_get_contact(workspace, c, &got) == ICF_RESULT_OK)
            add_contact(p, c, &got, gamma + 6 * link);
        else
            gamma[6 * link] = (double)NAN;
    }
    for (c = 0; c < p->rows; c++) {
        const icf_row* row = p->row + c;
        icf_row_result got;
        if (icf_get_row(workspace, c, &got) == ICF_RESULT_OK)
            gamma[6 * row->link + row->row] += (double)got.impulse;
        else
            gamma[6 * row->link] = (double)NAN;
    }
    for (c = 0; c < p->links; c++) {
        for (b = p->link_start[c]; b < p->link_start[c + 1]; b++) {
            const size_t from = first[p->block_clique[b]] +
                                (size_t)(p->block_columns ? p->block_columns[2 * b] : 0);
            for (r = 0; r < p->link_rows[c]; r++) {
                for (k = 0; k < columns_of(p, b); k++)
                    impulse[from + (size_t)k] += (double)*block++ * gamma[6 * c + r];
            }
        }
    }
    for (i = 0; i < n; i++) change[i] -= impulse[i];
    residual = scaled_norm(change, diagonal, in->unknowns);
    scale = scaled_norm(momentum, diagonal, in->unknowns);
    other = scaled_norm(impulse, diagonal, in->unknowns);
    if (!(other <= scale)) scale = other;
    free(x);
    free(change);
    free(momentum);
    free(impulse);
    free(gamma);
    return residual == 0 ? 0 : residual / scale;
}

// |v - answer| / max(|answer|, |v*|)
static double velocity_error(const icfp* in, const icf_real* v, const double* diagonal)
{
    double error = 0, answer = 0, free_motion = 0;
    int32_t i;
    if (!in->has_answer) return (double)NAN;
    for (i = 0; i < in->unknowns; i++) {
        const double e = (double)v[i] - in->v[i], f = (double)in->problem.v_free[i];
        error += e * e * diagonal[i];
        answer += in->v[i] * in->v[i] * diagonal[i];
        free_motion += f * f * diagonal[i];
    }
    if (error == 0) return 0;
    return sqrt(error / (answer > free_motion ? answer : free_motion));
}

// ------------------------------------------------------------------------------------------------
// One problem

typedef struct solve_job {
    const icfp* in;
    const icf_options* options;
    icf_workspace* workspace;
    icf_real* v;
} solve_job;

// those of the file, but for what is given
static icf_options options_of(const icfp* in, const settings* set)
{
    icf_options o = in->version == 1 ? set->solver : in->options;
    if (set->tolerance) o.tolerance = set->solver.tolerance;
    if (set->budgets) o.iterations = o.factorizations = set->solver.iterations;
    return o;
}

static void start_at_v0(const icfp* in, icf_real* v)
{
    memcpy(v, in->v_start, (size_t)in->unknowns * sizeof *v);
}

static void run_solves(void* context, long count)
{
    solve_job* job = (solve_job*)context;
    while (count-- > 0) {
        start_at_v0(job->in, job->v);
        icf_solve(&job->in->problem, job->options, job->workspace, job->v, NULL);
    }
}

static outcome solve(const icfp* in, const settings* set, icf_workspace* workspace, icf_real* v)
{
    const icf_options options = options_of(in, set);
    outcome o;
    memset(&o, 0, sizeof o);
    o.momentum_error = o.velocity_error = o.seconds = (double)NAN;
    start_at_v0(in, v);
    o.result = icf_workspace_reserve(workspace, &in->problem);
    if (o.result != ICF_RESULT_OK) return o;
    o.result = icf_solve(&in->problem, &options, workspace, v, &o.stats);
    if (o.result == ICF_RESULT_OK || o.result == ICF_RESULT_NOT_CONVERGED) {
        double* diagonal = (double*)allocate((size_t)in->unknowns, sizeof *diagonal);
        size_t* first = (size_t*)allocate((size_t)in->trees, sizeof *first);
        solve_job job;
        read_diagonal(&in->by_matrices, diagonal, first);
        o.momentum_error = momentum_error(in, workspace, v, diagonal, first);
        o.velocity_error = velocity_error(in, v, diagonal);
        job.in = in;
        job.options = &options;
        job.workspace = workspace;
        job.v = (icf_real*)allocate((size_t)in->unknowns, sizeof(icf_real));
        o.seconds = bench_time(run_solves, &job, set->repeat, 2e-4, set->budget);
        free(job.v);
        free(first);
        free(diagonal);
    }
    return o;
}

// one word
static void print_status(const outcome* o)
{
    static const char* const stops[ICF_STOP_CALLER + 1] = {
        "none", "converged", "floor", "short", "iterations", "factorizations", "caller"};
    const char* text = icf_result_string(o->result);
    const int stop = (int)o->stats.stop;
    if ((o->result == ICF_RESULT_OK || o->result == ICF_RESULT_NOT_CONVERGED) && stop >= 0 &&
        stop < (int)(sizeof stops / sizeof *stops))
        text = stops[stop];
    for (; *text; text++) putchar(*text == ' ' ? '_' : *text);
    putchar('\n');
}

static void print_outcome(const char* name, const icfp* in, const settings* set, const outcome* o,
                          const icf_real* v)
{
    int32_t i;
    printf("%-26s %-12s %4d %4d %4d %4d %9.2e %9.2e %9.2e %9.2f ", name, icfp_model_name(in->model),
           (int)in->unknowns, (int)in->contacts, (int)o->stats.iterations,
           (int)o->stats.factorizations, o->momentum_error, (double)o->stats.certificate,
           o->velocity_error, 1e6 * o->seconds);
    print_status(o);
    if (set->velocities) {
        printf("v");
        for (i = 0; i < in->unknowns; i++) printf(" %.17g", (double)v[i]);
        printf("\n");
    }
}

static void print_header(void)
{
    printf("name                       model          nv   nc iterations factorizations "
           "momentum_error "
           "certificate rel_velocity_error microseconds status\n");
}

// ------------------------------------------------------------------------------------------------
// Files

typedef struct totals {
    long problems, iterations, factorizations, factorizations_max, failures;
    double seconds, velocity_error_max;
} totals;

// the name of the file without directory and .txt
static void base_name(const char* path, char* name, size_t room)
{
    const char* base = path;
    size_t length;
    for (; *path; path++) {
        if (*path == '/' || *path == '\\') base = path + 1;
    }
    snprintf(name, room, "%s", base);
    length = strlen(name);
    if (length > 4 && !strcmp(name + length - 4, ".txt")) name[length - 4] = 0;
    for (; *name; name++) {
        if (icfp_blank(*name)) *name = '_';
    }
}

// whether the file could be read to its end
// The axes of a contact against a free body are the first three columns of its Jacobian.
static const icf_real* axes_of(const icf_problem* p, int32_t contact, int32_t* stride)
{
    size_t at = 0;
    int32_t i;
    for (i = 0; i < p->link_start[contact]; i++) {
        at += 3 * (size_t)p->clique_sizes[p->block_clique[i]];
    }
    *stride = p->clique_sizes[p->block_clique[p->link_start[contact]]];
    return p->blocks + at;
}

// Expects of each contact the impulse that one of the same id had.
static void recall(const memory* m, icfp* in)
{
    icf_contact* contacts = (icf_contact*)in->problem.contact;
    int32_t c, k, i, stride;
    for (c = 0; c < in->contacts; c++) {
        const icf_real* j = axes_of(&in->problem, c, &stride);
        double along[3] = {0, 0, 0};
        for (k = 0; k < m->count && m->ids[k] != in->ids[c]; k++) continue;
        if (k == m->count) continue;
        for (i = 0; i < 9; i++) {
            along[i / 3] += (double)j[i / 3 * stride + i % 3] * m->impulses[3 * k + i % 3];
        }
        contacts[c].impulse_guess =
            icf_vec3_make((icf_real)along[0], (icf_real)along[1], (icf_real)along[2]);
    }
}

static void forget(memory* m)
{
    free(m->ids);
    free(m->impulses);
    memset(m, 0, sizeof *m);
}

static void remember(memory* m, const icfp* in, const icf_workspace* workspace)
{
    int32_t c, i, stride;
    forget(m);
    m->count = in->contacts;
    m->ids = (int32_t*)allocate((size_t)in->contacts, sizeof *m->ids);
    m->impulses = (double*)allocate(3 * (size_t)in->contacts, sizeof *m->impulses);
    for (c = 0; c < in->contacts; c++) {
        const icf_real* j = axes_of(&in->problem, c, &stride);
        icf_contact_result r;
        icf_real g[3];
        m->ids[c] = in->ids[c];
        if (icf_get_contact(workspace, c, &r) != ICF_RESULT_OK) continue;
        g[0] = r.impulse.x;
        g[1] = r.impulse.y;
        g[2] = r.impulse.z;
        for (i = 0; i < 9; i++) {
            m->impulses[3 * c + i % 3] += (double)j[i / 3 * stride + i % 3] * (double)g[i / 3];
        }
    }
}

static int solve_file(const char* path, const settings* set, icf_workspace* workspace, totals* sum)
{
    static const char* const parts[] = {"",     "problem", "options", "clique", "coupling",
                                        "link", "block",   "contact", "row"};
    icfp_file file;
    icfp in;
    char base[200], name[240];
    memory before;
    int got = icfp_open(&file, path) ? 1 : -1, number = 0;
    memset(&before, 0, sizeof before);
    base_name(path, base, sizeof base);
    while (got > 0 && (got = icfp_next(&file, &in)) > 0) {
        icf_real* v = (icf_real*)allocate((size_t)in.unknowns, sizeof *v);
        outcome o;
        if (set->warm && in.has_ids) recall(&before, &in);
        o = solve(&in, set, workspace, v);
        if (set->warm && in.has_ids) remember(&before, &in, workspace);
        if (in.version == 3 && in.bits != 8 * (int)sizeof(icf_real))
            fprintf(stderr, "%s: written in %d bits, solved in %d\n", path, (int)in.bits,
                    8 * (int)sizeof(icf_real));
        icfp_skip_blanks(&file);
        number++;
        if (number == 1 && file.at == file.end)
            snprintf(name, sizeof name, "%s", base);
        else
            snprintf(name, sizeof name, "%s#%d", base, number);
        print_outcome(name, &in, set, &o, v);
        fflush(stdout);
        if (o.result < 0 && o.stats.part > ICF_PART_NONE && o.stats.part <= ICF_PART_ROW)
            fprintf(stderr, "%s: %s %d%s%s\n", name, parts[o.stats.part], (int)o.stats.which,
                    o.stats.reason ? ": " : "", o.stats.reason ? o.stats.reason : "");
        sum->problems++;
        sum->iterations += o.stats.iterations;
        sum->factorizations += o.stats.factorizations;
        if (o.stats.factorizations > sum->factorizations_max)
            sum->factorizations_max = o.stats.factorizations;
        sum->failures += o.result != ICF_RESULT_OK;
        if (o.seconds > 0) sum->seconds += o.seconds;
        if (!(o.velocity_error <= sum->velocity_error_max))
            sum->velocity_error_max = o.velocity_error;
        free(v);
        icfp_free(&in);
    }
    if (got == 0 && number == 0) icfp_fail(&file, "the file is empty");
    if (file.failed) fprintf(stderr, "%s\n", file.message);
    forget(&before);
    icfp_close(&file);
    return !file.failed;
}

// every problem of tests/golden, and figures
static int run_golden(bench_options* o, settings* set)
{
    icf_workspace workspace;
    totals all;
    int model, kind, ok = 1;
    memset(&workspace, 0, sizeof workspace);
    memset(&all, 0, sizeof all);
    set->repeat = o->repeat ? o->repeat : o->quick ? 3 : 20;
    set->budget = o->quick ? 0.02 : 0.3;
    if (!o->list) print_header();
    for (model = 0; model < ICFP_MODELS; model++) {
        totals sum;
        memset(&sum, 0, sizeof sum);
        for (kind = 0; kind < GOLDEN_KINDS; kind++) {
            char path[128], name[64];
            snprintf(name, sizeof name, "%s_%s", icfp_model_name(model), golden_kinds[kind]);
            snprintf(path, sizeof path, "tests/golden/problems/%s.txt", name);
            if (bench_selected(o, name)) ok &= solve_file(path, set, &workspace, &sum);
        }
        if (sum.problems) {
            const char* name = icfp_model_name(model);
            bench_figure((double)sum.factorizations_max, "1", "solve_%s_factorizations_max", name);
            bench_figure((double)sum.factorizations, "1", "solve_%s_factorizations", name);
            bench_figure(1e6 * sum.seconds, "us", "solve_%s", name);
        }
        all.problems += sum.problems;
        all.failures += sum.failures;
        all.iterations += sum.iterations;
        all.factorizations += sum.factorizations;
        all.seconds += sum.seconds;
        if (sum.factorizations_max > all.factorizations_max)
            all.factorizations_max = sum.factorizations_max;
        if (!(sum.velocity_error_max <= all.velocity_error_max))
            all.velocity_error_max = sum.velocity_error_max;
    }
    icf_workspace_destroy(&workspace);
    if (o->list) return 0;
    if (!o->selected) {
        fprintf(stderr, "no such problem; --list names them\n");
        return 2;
    }
    bench_figure((double)all.factorizations_max, "1", "solve_golden_factorizations_max");
    bench_figure((double)all.factorizations, "1", "solve_golden_factorizations");
    bench_figure((double)all.iterations, "1", "solve_golden_iterations");
    bench_figure(1e6 * all.seconds, "us", "solve_golden");
    bench_figure(all.velocity_error_max, "1", "solve_golden_velocity_error_max");
    bench_figure((double)all.failures, "1", "solve_golden_failures");
    return !ok || all.failures > 0;
}

static double number_argument(int argc, char** argv, int i)
{
    char* end = NULL;
    const double x = i + 1 < argc ? strtod(argv[i + 1], &end) : 0;
    if (!end || end == argv[i + 1] || *end || !(x >= 0)) {
        fprintf(stderr, "%s needs a number\n", argv[i]);
        exit(2);
    }
    return x;
}

int main(int argc, char** argv)
{
    settings set;
    icf_workspace workspace;
    bench_options o;
    totals sum;
    char** files = (char**)allocate((size_t)argc, sizeof *files);
    char** others = (char**)allocate((size_t)argc, sizeof *others);
    int i, file_count = 0, other_count = 0, ok = 1;
    memset(&workspace, 0, sizeof workspace);
    memset(&sum, 0, sizeof sum);
    set.solver = icf_default_options();
    set.tolerance = set.budgets = 0;
    set.velocities = 0;
    set.warm = 0;
    set.repeat = 5;
    set.budget = 0.1;
    for (i = 0; i < argc; i++) {
        if (i > 0 && !strcmp(argv[i], "--tol")) {
            set.solver.tolerance = (icf_real)number_argument(argc, argv, i++);
            set.tolerance = 1;
        } else if (i > 0 && !strcmp(argv[i], "--max-iter")) {
            const double most = number_argument(argc, argv, i++);
            set.solver.iterations = most < 2147483647 ? (int32_t)most : 2147483647;
            set.solver.factorizations = set.solver.iterations;
            set.budgets = 1;
        } else if (i > 0 && !strcmp(argv[i], "--v")) {
            set.velocities = 1;
        } else if (i > 0 && !strcmp(argv[i], "--warm")) {
            set.warm = 1;
        } else if (i > 0 && argv[i][0] != '-') {
            files[file_count++] = argv[i];
        } else {
            others[other_count++] = argv[i];
        }
    }
    o = bench_parse(other_count, others);
    bench_check(&o, "--tol X --max-iter N --v --warm FILE...");
    if (file_count == 0) {
        if (!set.tolerance) set.solver.tolerance = (icf_real)1e-6;
        i = run_golden(&o, &set);
        free(files);
        free(others);
        return i;
    }
    if (o.repeat) set.repeat = o.repeat;
    print_header();
    for (i = 0; i < file_count; i++) ok &= solve_file(files[i], &set, &workspace, &sum);
    icf_workspace_destroy(&workspace);
    free(files);
    free(others);
    return !ok;
}
