/* The planar test cases of the papers (bench/scenes.h) against the reference numbers of tests/golden/scenes,
   which an independent program computed: whole motions, tables of errors and orders, and what is printed of
   each run; and against formulas that no program was needed for.

   In double the motions agree to the digits that the files have, and so the limits here are far below the
   5 % that would make the papers' figures. In float the steps of the fine runs are below the rounding of the
   positions; what is left there are the coarse ones, within limits that come from that rounding. Under a
   sanitizer, which looks at memory and not at numbers, runs of more than 30000 steps are left out. */

#include "tested.h"

#include "acutest.h"
#include "util.h"
#include "world_util.h"

#include "../bench/scenes.h"

#include <stdio.h>
#include <stdlib.h>

#define FOLDER "tests/golden/scenes/"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(SANITIZED) || defined(__SANITIZE_ADDRESS__)
enum { MOST_STEPS = 30000 };
#else
enum { MOST_STEPS = 1000000 };
#endif

enum { MODELS = 3, LAGGED = ICF_MODEL_LAGGED, SIMILAR = ICF_MODEL_SIMILAR, SAP = ICF_MODEL_SAP };

// ------------------------------------------------------------------------------------------------
// Files

/* A whole file, with a zero after it; NULL and a failed check where there is none */
static char* read_text(const char* name)
{
    char path[256];
    char* text = (char*)malloc(1 << 20);
    FILE* f;
    size_t count = 0;
    snprintf(path, sizeof path, FOLDER "%s", name);
    f = fopen(path, "rb");
    TEST_ASSERT_(f && text, "%s opens; tests are run from the project's folder", path);
    if (f && text) count = fread(text, 1, (1 << 20) - 1, f);
    if (f) fclose(f);
    if (text) text[count] = 0;
    return text;
}

/* What follows the first line that begins so, or NULL */
static const char* find_line(const char* text, const char* begins)
{
    const size_t n = strlen(begins);
    while (text && *text) {
        const char* next = strchr(text, '\n');
        if (!strncmp(text, begins, n)) return text;
        text = next ? next + 1 : NULL;
    }
    return NULL;
}

static const char* next_line(const char* text)
{
    const char* next = strchr(text, '\n');
    return next ? next + 1 : text + strlen(text);
}

/* The number after a few words in this line; what was not found is a failure */
static double number_after(const char* line, const char* words)
{
    const char* end = next_line(line);
    const char* at = strstr(line, words);
    TEST_ASSERT_(at && at < end, "there is '%s' in: %.60s", words, line);
    return at ? strtod(at + strlen(words), NULL) : 0;
}

static int model_of(const char* name)
{
    int m;
    for (m = 0; m < MODELS; m++) {
        if (!strcmp(name, scene_model_names[m])) return m;
    }
    return -1;
}

// ------------------------------------------------------------------------------------------------
// What a run is watched for

typedef struct limits {
    double position, velocity, force; // m or rad, m/s or rad/s, N
} limits;

/* All that the files say of some scene; a watch is zeroed but for its first part */
typedef struct watch {
    double dt, late, until; // forces and the largest slip are those between these times, s
    const char* csv;        // reference rows that are still to come, or NULL
    limits limit;
    const char* name;
    // found
    long steps, compared;
    double worst[3]; // of position, velocity, force, against the CSV
    double peak, peak_time, first, first_gap, last, stuck;
    double least, gap, slip, slip_time, slip_height, rise;
    double rolls;                                        // since when the slip is at most 1e-3 m/s
    double least_energy[3], top_energy[3], energy_at[3]; // in 2, 5 and 10 s
    scene_row end;
} watch;

static double off_by(double* worst, double x, double expected)
{
    const double off = magnitude(x - expected);
    if (!(off <= *worst)) *worst = off;
    return off;
}

static void compare(watch* w, const scene_row* row)
{
    double g[18];
    int n = 0, k, c;
    char* end;
    const char* p = w->csv;
    if (!p || !*p || lround(strtod(p, NULL) / w->dt) != w->steps) return;
    for (; n < 18; n++) {
        g[n] = strtod(p, &end);
        if (end == p) break;
        p = end;
        if (*p != ',') {
            n++;
            break;
        }
        p++;
    }
    TEST_CHECK_(n == 13 || n == 18, "%s: a row of %d numbers", w->name, n);
    w->csv = next_line(w->csv);
    w->compared++;
    for (k = 0; k < 3; k++) {
        off_by(&w->worst[0], row->q[k], g[1 + k]);
        off_by(&w->worst[1], row->v[k], g[4 + k]);
    }
    for (c = 0; 8 + 5 * c < n; c++) {
        off_by(&w->worst[0], row->contact[c].distance, g[8 + 5 * c]);
        off_by(&w->worst[1], row->contact[c].slip, g[9 + 5 * c]);
        off_by(&w->worst[1], row->contact[c].approach, g[10 + 5 * c]);
        off_by(&w->worst[2], row->contact[c].friction, g[11 + 5 * c]);
        off_by(&w->worst[2], row->contact[c].normal, g[12 + 5 * c]);
    }
}

/* Motion and spring of the cylinder, over the 0.5 J that it starts with */
static double cylinder_energy(const scene_row* r)
{
    const double m = 0.5, inertia = 0.5 * m * SCENE_CYLINDER_RADIUS * SCENE_CYLINDER_RADIUS;
    return m * (r->v[0] * r->v[0] + r->v[1] * r->v[1]) + inertia * r->v[2] * r->v[2] +
           100 * r->q[0] * r->q[0];
}

static void look(void* user, const scene_row* row)
{
    static const double until[3] = {2, 5, 10};
    watch* w = (watch*)user;
    const scene_contact* c = &row->contact[0];
    const double normal = row->contact[0].normal + row->contact[1].normal, e = cylinder_energy(row);
    int k;
    compare(w, row);
    if (w->steps == 0) {
        w->least = w->peak = -1;
        w->first = -1;
        w->rolls = 0;
        w->gap = -1;
        w->rise = -1e9;
    }
    if (w->steps > 0 && row->t > w->late) {
        if (w->peak < 0) w->least = w->peak = normal;
        if (normal < w->least) w->least = normal;
        if (normal > w->peak || w->peak_time == 0) {
            w->peak = normal;
            w->peak_time = row->t;
        }
    }
    if (normal > 0 && row->t > w->late) {
        if (w->first < 0) {
            w->first = row->t; // the end of that step; the gap is the one it began with
            w->first_gap = w->end.contact[0].distance;
        }
        w->last = row->t;
        if (magnitude(c->slip) < 1e-4) w->stuck += w->dt;
    }
    // the step after it still comes to where the models slide
    if (w->first >= 0 && row->t > w->first + 1.5 * w->dt && (w->gap < -0.5 || c->distance > w->gap))
        w->gap = c->distance;
    if (row->t > w->late && row->t < w->until && magnitude(c->slip) > w->slip) {
        w->slip = magnitude(c->slip);
        w->slip_time = row->t;
        w->slip_height = row->q[1];
    }
    if (magnitude(c->slip) > 1e-3) w->rolls = row->t + w->dt;
    w->rise = larger(w->rise, row->q[1]);
    for (k = 0; k < 3; k++) {
        if (row->t > until[k] + w->dt / 2) continue;
        if (w->steps == 0) w->least_energy[k] = w->top_energy[k] = e;
        if (e < w->least_energy[k]) w->least_energy[k] = e;
        if (e > w->top_energy[k]) w->top_energy[k] = e;
        w->energy_at[k] = e;
    }
    w->end = *row;
    w->steps++;
}

/* Whether a run of so many steps is one for this build */
static int can_run(double duration, double dt)
{
    return duration / dt < MOST_STEPS && !(IN_FLOAT && dt < 3e-5);
}

static watch watch_of(const scene_def* def, double duration, double late, double until)
{
    watch w;
    memset(&w, 0, sizeof w);
    w.dt = def->dt;
    w.late = late;
    w.until = until;
    OK(scene_run(def, duration, look, &w));
    return w;
}

/* Runs a scene beside the rows of a file */
static watch follow(const char* name, const scene_def* def, double duration, double late,
                    limits limit)
{
    char* text = read_text(name);
    watch w;
    memset(&w, 0, sizeof w);
    w.dt = def->dt;
    w.name = name;
    w.late = late;
    w.until = 1e9;
    w.csv = next_line(text); // after the names of the columns
    OK(scene_run(def, duration, look, &w));
    TEST_CHECK_(w.compared >= 50, "%s: %ld rows compared", name, w.compared);
    TEST_CHECK_(!*w.csv, "%s: rows are left over: %.20s", name, w.csv);
    TEST_CHECK_(w.worst[0] <= limit.position, "%s: positions off by %.2g", name, w.worst[0]);
    TEST_CHECK_(w.worst[1] <= limit.velocity, "%s: velocities off by %.2g", name, w.worst[1]);
    TEST_CHECK_(w.worst[2] <= limit.force, "%s: forces off by %.2g", name, w.worst[2]);
    if (getenv("SCENES_SHOW"))
        printf("%-38s %ld rows, off by %.1e %.1e %.1e\n", name, w.compared, w.worst[0], w.worst[1],
               w.worst[2]);
    free(text);
    return w;
}

static limits limits_of(double position, double velocity, double force)
{
    limits l;
    l.position = position;
    l.velocity = velocity;
    l.force = force;
    return l;
}

// ------------------------------------------------------------------------------------------------
// Tables of errors

/* Rows of a table, from its title on: `model variant dt error order e_x e_z e_theta`, where only some have a
   variant. The runs are compared with a fine one over a duration. Only rows up to a number of steps. */
typedef struct table_row {
    int model;
    char variant[16], order_text[16];
    double dt, error, part[3];
} table_row;

static int read_row(const char* line, int has_variant, table_row* r)
{
    char model[16];
    const char* from = line;
    int used = 0;
    memset(r, 0, sizeof *r);
    if (sscanf(from, "%15s%n", model, &used) != 1) return 0;
    from += used;
    if (has_variant) {
        if (sscanf(from, "%15s%n", r->variant, &used) != 1) return 0;
        from += used;
    }
    r->model = model_of(model);
    return r->model >= 0 && sscanf(from, "%lf %lf %15s %lf %lf %lf", &r->dt, &r->error,
                                   r->order_text, &r->part[0], &r->part[1], &r->part[2]) >= 3;
}

/* What a table's rows are about: the def of a row */
typedef scene_def row_def(const table_row* r, const char* title);

static void check_table(const char* file, const char* title, int has_variant, row_def* def_of,
                        double tolerance, double least)
{
    char* text = read_text(file);
    const char* line = find_line(text, title);
    const double duration = number_after(line, "T="), fine_dt = number_after(line, "dt=");
    scene_path fine;
    scene_def d;
    table_row r, last;
    int rows = 0, orders = 0;
    double error_before = 0;
    memset(&last, 0, sizeof last);
    memset(&r, 0, sizeof r);
    r.dt = fine_dt;
    if (!can_run(duration, fine_dt)) {
        free(text);
        return;
    }
    d = def_of(&r, title);
    fine = scene_path_of(&d, duration);
    TEST_ASSERT_(fine.q != NULL, "the fine run of: %s", title);
    for (line = next_line(line); *line && *line != '\n'; line = next_line(line)) {
        scene_path coarse;
        scene_error e;
        int k;
        if (*line == '#') continue;
        if (!TEST_CHECK_(read_row(line, has_variant, &r), "a row of %s: %.60s", title, line)) break;
        d = def_of(&r, title);
        coarse = scene_path_of(&d, duration);
        TEST_ASSERT_(coarse.q != NULL, "%s: %.60s", title, line);
        e = scene_error_of(&coarse, &fine);
        free(coarse.q);
        rows++;
        TEST_CHECK_(near(e.q, r.error, tolerance, least), "%s: e_q is %.6e, not: %.100s", title,
                    e.q, line);
        for (k = 0; k < 3 && !IN_FLOAT; k++) {
            TEST_CHECK_(near(e.part[k], r.part[k], 10 * tolerance, least),
                        "%s: part %d is %.3e, not: %.100s", title, k, e.part[k], line);
        }
        if (r.order_text[0] != '-' || r.order_text[1]) {
            const double order = log(error_before / e.q) / log(last.dt / r.dt);
            // two decimals are printed
            TEST_CHECK_(near(order, strtod(r.order_text, NULL), 0, 0.006 + tolerance),
                        "%s: order %.4f, not: %.100s", title, order, line);
            orders++;
        }
        error_before = e.q;
        last = r;
    }
    TEST_CHECK_(rows >= 9 && orders >= 6, "%s: %d rows, %d orders", title, rows, orders);
    free(fine.q);
    free(text);
}

// ------------------------------------------------------------------------------------------------
// Belt

static scene_def variant_def(scene_def d, const char* variant)
{
    if (!strcmp(variant, "beta=1")) d.near_rigid = 1;
    if (!strcmp(variant, "tau=0")) d.relaxation = 0;
    return d;
}

static scene_def belt_row(const table_row* r, const char* title)
{
    scene_def d = scene_default(SCENE_BELT, r->model, r->dt);
    if (strstr(title, "abrupt")) d.phase = 0;
    return variant_def(d, r->variant);
}

/* In float a position of 25 mm is rounded by 2 nm, which is 0.02 N, and a velocity of 1 m/s by 6e-8 m/s.
   Where the box sticks Lagged turns that into 0.03 N, and the solver leaves as much again. Of Similar, with
   500 s/m of dissipation, the free body's forces are off by up to 1.4 N in steps in which rounding leaves
   up to 0.03 in the momentum error. The motion is not far off all the same. */
static limits belt_limits(int model)
{
    if (!IN_FLOAT) return limits_of(1e-10, 1e-10, 1e-7);
    if (model == LAGGED) return limits_of(5e-4, 6e-3, 0.2);
    if (model == SIMILAR) return limits_of(1e-6, 1e-4, 3);
    return limits_of(1e-6, 5e-5, 0.1);
}

/* A planar joint, w as the library finds it; and a free body in space, w given */
static void test_belt_motion(void)
{
    int m;
    for (m = 0; m < MODELS; m++) {
        scene_def d = scene_default(SCENE_BELT, m, 0.01);
        char name[64];
        snprintf(name, sizeof name, "belt_%s_dt0.01.csv", scene_model_names[m]);
        d.own_w = 1;
        (void)follow(name, &d, 2, 0, belt_limits(m));
        d.own_w = 0;
        d.free_body = 1;
        (void)follow(name, &d, 2, 0, belt_limits(m));
    }
}

static void test_belt_numbers(void)
{
    char* text = read_text("belt.txt");
    int m;
    for (m = 0; m < MODELS; m++) {
        const scene_def d = scene_default(SCENE_BELT, m, 0.01);
        const watch w = watch_of(&d, 2, 0.1, 1);
        const limits limit = belt_limits(m);
        char begins[32];
        const char* line;
        double gap = w.slip_height - 0.025, glides;
        snprintf(begins, sizeof begins, "belt %-8s dt=0.01", scene_model_names[m]);
        line = find_line(text, begins);
        TEST_ASSERT_(line != NULL, "%s", begins);
        CHECK_NEAR(w.slip, number_after(line, "(t>0.1) "), 0, limit.velocity + 5e-5);
        CHECK_NEAR(w.slip_time, number_after(line, "at t="), 0, IN_FLOAT ? 0.0101 : 1e-9);
        // four digits are printed
        CHECK_NEAR(gap, number_after(line, ": gap "), 5e-4, limit.position);
        CHECK_NEAR(w.rise - 0.025, number_after(line, "max z rise "), 5e-4, limit.position);
        CHECK_NEAR(w.least, number_after(line, "force min "), 0, 2 * limit.force + 5e-4);
        CHECK_NEAR(w.peak, number_after(strstr(line, "force min"), " max "), 0,
                   2 * limit.force + 5e-4);
        CHECK_NEAR(w.end.q[0], number_after(line, "final x "), 0, limit.position);
        // gliding, ICF VII-A: friction times step times slip, and the relaxation time of SAP; the ground
        // gives way by less than a micrometre
        glides = m == LAGGED ? 0 : 0.7 * (0.01 + (m == SAP ? 1e-3 : 0)) * w.slip;
        CHECK_NEAR(gap, glides, 2e-3, 1e-6 + (IN_FLOAT ? limit.position : 0));
        if (!IN_FLOAT) CHECK_NEAR(glides, number_after(line, "predicted "), 1e-3, 1e-12);
        // Lagged: the force is the weight; the others have a spike of 16 % where slip ends
        if (!IN_FLOAT) CHECK_NEAR(w.peak, m == LAGGED ? 9.81 : 1.16 * 9.81, 0.003, 0);
    }
    free(text);
}

static void test_belt_tables(void)
{
    const double tolerance = IN_FLOAT ? 0.12 : 1e-4;
    check_table("belt.txt", "# belt (main case, starts with belt at rest)", 1, belt_row, tolerance,
                1e-12);
    check_table("belt.txt", "# belt (main case), smaller steps", 1, belt_row, tolerance, 1e-12);
    check_table("belt.txt", "# belt, abrupt start", 1, belt_row, tolerance, 1e-12);
}

// ------------------------------------------------------------------------------------------------
// Gliding

static void test_glide(void)
{
    char* text = read_text("glide.txt");
    const char* line = text;
    int rows = 0;
    for (; *line; line = next_line(line)) {
        table_row r;
        scene s;
        scene_def d;
        char model[16];
        double dt, relaxation, dissipation, speed, measured, predicted, offset, gap, before = 1,
                                                                                     formula;
        const double k = SCENE_STIFFNESS, weight = SCENE_GRAVITY, mu = 0.7;
        long i;
        if (*line == '#' || *line == '\n') continue;
        memset(&r, 0, sizeof r);
        if (!TEST_CHECK_(sscanf(line, "%15s %lf %lf %lf %lf %lf %lf %lf", model, &dt, &relaxation,
                                &dissipation, &speed, &measured, &predicted, &offset) == 8,
                         "a row: %.60s", line))
            break;
        d = scene_default(SCENE_GLIDE, model_of(model), dt);
        d.relaxation = relaxation;
        d.dissipation = dissipation;
        d.speed = speed;
        OK(scene_begin(&s, &d));
        // until it stands still
        gap = s.now.contact[0].distance;
        for (i = 0;
             i < 20000 && magnitude(gap - before) > (IN_FLOAT ? 1e-6 : 1e-10) * magnitude(gap);
             i++) {
            before = gap;
            OK(scene_step(&s));
            gap = s.now.contact[0].distance;
        }
        scene_end(&s);
        // what the papers' formulas say, here without the files: the weight presses the spring, softened by
        // R_t in SAP, stiffened by k_eff (VII-B) in Similar
        if (d.model == LAGGED) {
            formula = -weight / k;
        } else if (d.model == SIMILAR) {
            const double soft = sqrt(speed * speed + 1e-8) - 1e-4;
            formula = mu * dt * soft - weight / (k * (1 + dissipation * mu * soft));
        } else {
            const double rt = 1e-3 * sqrt(3.0) / 3, rn = 1 / (dt * k * (dt + relaxation));
            formula = mu * (dt + relaxation) * speed - weight / k * (1 + mu * mu * rt / rn);
        }
        TEST_CHECK_(near(gap, formula, IN_FLOAT ? 1e-4 : 1e-8, IN_FLOAT ? 1e-9 : 1e-14),
                    "%ld steps: gap %.9e, formula %.9e: %.100s", i, gap, formula, line);
        TEST_CHECK_(near(gap, measured, IN_FLOAT ? 1e-4 : 1e-8, IN_FLOAT ? 1e-9 : 1e-14),
                    "%ld steps: gap %.9e: %.100s", i, gap, line);
        // the offset alone is within what the spring gives way
        CHECK_NEAR(gap, offset, 0,
                   1.2 * weight / k * (1 + 0.49 * 1e-3 * dt * k * (dt + relaxation)));
        rows++;
    }
    TEST_CHECK_(rows == 36, "%d rows", rows);
    free(text);
}

// ------------------------------------------------------------------------------------------------
// Sphere

static scene_def sphere_row(const table_row* r, const char* title)
{
    (void)title;
    return variant_def(scene_default(SCENE_SPHERE, r->model, r->dt), r->variant);
}

/* In float z is rounded by 2 nm. Lagged begins its friction with the force at the start of a step, which at
   the impact changes with z by dt k (1 - d v) = 1e7 N s/m: 0.02 N s, or 2 rad/s of 57. */
static limits sphere_limits(int model)
{
    if (!IN_FLOAT) return limits_of(1e-10, 1e-9, 1e-6);
    return model == LAGGED ? limits_of(0.05, 2, 5) : limits_of(1e-4, 3e-4, 1);
}

static void test_sphere_motion(void)
{
    int m;
    for (m = 0; m < MODELS; m++) {
        scene_def d = scene_default(SCENE_SPHERE, m, 0.002);
        char name[64];
        snprintf(name, sizeof name, "sphere_%s_dt0.002.csv", scene_model_names[m]);
        (void)follow(name, &d, 0.5, 0, sphere_limits(m));
        d.own_w = 1;
        (void)follow(name, &d, 0.5, 0, sphere_limits(m));
        d.own_w = 0;
        d.free_body = 1;
        (void)follow(name, &d, 0.5, 0, sphere_limits(m));
    }
}

static void test_sphere_numbers(void)
{
    static const double steps[4] = {4e-5, 4e-4, 2e-3, 1e-2};
    char* text = read_text("sphere.txt");
    int m, i, lines = 0;
    for (m = 0; m < MODELS; m++) {
        for (i = 0; i < 4; i++) {
            const double dt = steps[i];
            const scene_def d = scene_default(SCENE_SPHERE, m, dt);
            watch w;
            char begins[48];
            const char* line;
            // in float a step of 10 ms of Similar rounds its force by 0.1 N s, of 0.2
            if (!can_run(0.5, dt) || (IN_FLOAT && m == SIMILAR && dt > 5e-3)) continue;
            w = watch_of(&d, 0.5, 0, 1e9);
            snprintf(begins, sizeof begins, "sphere %-8s dt=%g:", scene_model_names[m], dt);
            line = find_line(text, begins);
            if (!TEST_CHECK_(line != NULL, "%s", begins)) break;
            lines++;
            CHECK_NEAR(w.first, number_after(line, "force t="), 0, 1e-5 * dt);
            CHECK_NEAR(w.first_gap, number_after(line, "gap then "), 1e-3, IN_FLOAT ? 1e-6 : 1e-8);
            CHECK_NEAR(w.rolls, number_after(line, "stays from "), 0,
                       (IN_FLOAT ? 1.01 : 0.01) * dt);
            CHECK_NEAR(w.peak, number_after(line, "max fn "), IN_FLOAT ? 0.02 : 1e-9, 0.0501);
            CHECK_NEAR(w.gap, number_after(line, "after contact "), 1e-3, IN_FLOAT ? 1e-6 : 1e-10);
            CHECK_NEAR(w.end.v[0], number_after(line, "final vx "), 0, IN_FLOAT ? 1e-5 : 6e-7);
            /* Lagged in float: 0.02 N s of friction as above, 0.1 s too early, on 0.5 kg */
            CHECK_NEAR(w.end.q[0], number_after(line, "U0 = 1.428571) x "), 0,
                       !IN_FLOAT     ? 1e-9
                       : m == LAGGED ? 4e-3
                                     : 1e-4);
            // mechanics of a rigid sphere that does not bounce
            CHECK_NEAR(w.end.v[0], 5.0 / 7 * 2, 0, IN_FLOAT ? 1e-5 : 1e-6);
            if (m == LAGGED) CHECK_NEAR(w.first, sqrt(2 * 0.05 / 9.81), 0, dt);
            CHECK_NEAR(w.rolls, 2 * 2 / (7 * 0.5 * 9.81), 0,
                       m == SAP ? 1.2e-3 + 1.4 * dt : (IN_FLOAT ? 3 : 2) * dt);
        }
    }
    TEST_CHECK_(lines == (IN_FLOAT ? 11 : 12), "%d lines", lines);
    free(text);
}

static void test_sphere_tables(void)
{
    if (IN_FLOAT)
        return; // what an impact leaves of Lagged in float, above, is as large as its errors
    check_table("sphere.txt", "# sphere: e_q(dt)", 1, sphere_row, 1e-4, 1e-12);
    check_table("sphere.txt", "# sphere, smaller steps", 1, sphere_row, 1e-4, 1e-12);
}

// ------------------------------------------------------------------------------------------------
// Rod

static scene_def rod_row(const table_row* r, const char* title)
{
    scene_def d = scene_default(SCENE_ROD, r->model, r->dt);
    if (strstr(title, "touching")) d.sunk = 0;
    return d;
}

static void test_rod_motion(void)
{
    int m;
    if (IN_FLOAT) return; // steps of 10 us move z by less than its rounding
    for (m = 0; m < MODELS; m++) {
        scene_def d = scene_default(SCENE_ROD, m, 1e-5);
        char name[64];
        snprintf(name, sizeof name, "rod_d0_%s_dt1e-05.csv", scene_model_names[m]);
        d.own_w = 1;
        (void)follow(name, &d, 0.04, 0, limits_of(1e-10, 2e-8, 5e-5));
        d.own_w = 0;
        d.free_body = 1;
        (void)follow(name, &d, 0.04, 0, limits_of(1e-10, 2e-8, 5e-5));
    }
}

/* What happens before is how the start settles, and not in the reference's numbers */
#define ROD_LATE 0.002000001

/* Peaks, times of jamming, sticking and leaving: of the lines of the file */
static void check_rod_line(const char* line, const watch* w)
{
    // of runs of 0.1 us the reference looks at every fifth to tenth step. In float the force of Lagged is
    // that of a depth of 1 um, rounded to 8 nm, and a feedback that makes it grow
    const int lagged = strstr(line, "lagged") && strstr(line, "lagged") < next_line(line);
    const double time = IN_FLOAT ? (lagged ? 2.1 : 0.1) * w->dt : larger(1e-6, w->dt / 100);
    CHECK_NEAR(w->peak, number_after(line, "max fn "), IN_FLOAT ? (lagged ? 0.05 : 1e-3) : 2e-5,
               6e-3);
    if (w->peak > 0) {
        CHECK_NEAR(w->peak_time, number_after(line, " N at t="), 0, time);
        CHECK_NEAR(w->last, number_after(line, "last contact t="), 0, time);
    }
    CHECK_NEAR(w->stuck, 1e-3 * number_after(line, "|vt|<vs for "), 0, w->dt + 1e-6);
    CHECK_NEAR(w->end.v[0], number_after(line, "final v "), 0,
               IN_FLOAT ? (lagged ? 0.1 : 2e-4) : 1e-5);
}

static void test_rod_impact(void)
{
    char* text = read_text("rod_d0.txt");
    int m;
    if (!can_run(0.03, 1e-7)) {
        free(text);
        return;
    }
    // without dissipation Similar is SAP to four digits, and a run of these takes a second or two
    for (m = LAGGED; m < MODELS; m += SAP - LAGGED) {
        const scene_def d = scene_default(SCENE_ROD, m, 1e-7);
        char name[64];
        watch w;
        snprintf(name, sizeof name, "rod_d0_%s_dt1e-07_impact.csv", scene_model_names[m]);
        w = follow(name, &d, 0.03, ROD_LATE, limits_of(1e-9, 1e-6, 1e-3));
        snprintf(name, sizeof name, "rod d0 settled  %-8s dt=1e-07", scene_model_names[m]);
        check_rod_line(find_line(text, name), &w);
        // of the paper: sticks for about 0.2 ms; the models agree on time and place
        CHECK_NEAR(w.stuck, 0.21e-3, 0.02, 0);
        CHECK_NEAR(w.peak_time, 0.02559, 1e-3, 0);
    }
    free(text);
}

static void test_rod_numbers(void)
{
    char* text = read_text("rod_d0.txt");
    const char* line = text;
    int lines = 0;
    for (; *line; line = next_line(line)) {
        char start[16], model[16];
        double dt, duration;
        scene_def d;
        watch w;
        if (strncmp(line, "rod d0", 6) != 0) continue;
        if (!TEST_CHECK_(
                sscanf(line, "rod d0 %15s %15s dt=%lf T=%lf", start, model, &dt, &duration) == 4,
                "a row: %.60s", line))
            break;
        if (dt < (IN_FLOAT ? 5e-4 : 5e-6) || !can_run(duration, dt)) continue;
        d = scene_default(SCENE_ROD, model_of(model), dt);
        CHECK_NEAR(!strcmp(start, "settled") ? d.sunk : 0, number_after(line, "pen="), 1e-9, 1e-16);
        if (strcmp(start, "settled") != 0) d.sunk = 0;
        w = watch_of(&d, duration, ROD_LATE, 1e9);
        check_rod_line(line, &w);
        lines++;
    }
    // six of 10 us to 2 ms and one that starts with the end at the ground, of each model; in float those
    // from 0.64 ms
    TEST_CHECK_(lines == (IN_FLOAT ? 9 : 21), "%d lines", lines);
    free(text);
}

static void test_rod_tables(void)
{
    // and one of the longer ones: each takes a second
    static const char* const titles[3] = {"# rod d0 settled start: e_q(dt), T=0.0512",
                                          "# rod d0 touching start: e_q(dt), T=0.0512",
                                          "# rod d0 settled start: e_q(dt), T=0.2048"};
    int i;
    for (i = 0; i < 3; i++) check_table("rod_d0.txt", titles[i], 0, rod_row, 1e-4, 1e-12);
}

/* What the paper says of the rod with dissipation, of which there is no reference: Lagged jams when it does
   without, Similar earlier, SAP later and by about as much; and VII-B, the ground is stiffer by 1 + d mu slip
   to what slides in Similar. */
static void test_rod_dissipation(void)
{
    double shift[MODELS], period[2];
    int m;
    if (!can_run(0.03, 1e-6)) return;
    for (m = 0; m < MODELS; m++) {
        const scene_def without = scene_default(SCENE_ROD, m, 1e-6),
                        with = scene_rod_dissipative(m, 1e-6);
        const watch a = watch_of(&without, 0.03, ROD_LATE, 1e9),
                    b = watch_of(&with, 0.03, ROD_LATE, 1e9);
        shift[m] = b.peak_time - a.peak_time;
    }
    CHECK_BELOW(magnitude(shift[LAGGED]), 5e-5);
    CHECK_BELOW(shift[SIMILAR], -4e-4);
    CHECK_BELOW(4e-4, shift[SAP]);
    CHECK_NEAR(-shift[SIMILAR], shift[SAP], 0.3, 0);

    // started with half of the force of sliding, the end swings about it
    for (m = 0; m < 2; m++) {
        scene s;
        scene_def d = scene_rod_dissipative(m, 1e-6);
        double f[3] = {0, 0, 0}, tops[2] = {0, 0};
        int count = 0;
        d.sunk =
            scene_depth(&d, 0.5 * scene_rod_force(d.friction), SCENE_STIFFNESS, SCENE_ROD_SPEED, 1);
        OK(scene_begin(&s, &d));
        while (count < 2 && s.steps < 5000) {
            OK(scene_step(&s));
            f[0] = f[1];
            f[1] = f[2];
            f[2] = s.now.contact[0].normal;
            if (s.steps > 20 && f[1] > f[0] && f[1] >= f[2]) tops[count++] = s.now.t - d.dt;
        }
        TEST_CHECK_(count == 2, "%d tops", count);
        period[m] = tops[1] - tops[0];
        scene_end(&s);
    }
    // 2 pi sqrt(m_eff / k), where N0 = m_eff g
    CHECK_NEAR(period[LAGGED], 2 * PI * sqrt(scene_rod_force(2.3) / 9.81 / SCENE_STIFFNESS), 0.02,
               0);
    // at the mean slip of the stretch, 9.9 m/s
    CHECK_NEAR(period[LAGGED] / period[SIMILAR], sqrt(1 + 0.2 * 2.3 * 9.9), 0.03, 0);
}

// ------------------------------------------------------------------------------------------------
// Cylinder

static const char* const method_names[3] = {"symplectic", "midpoint", "implicit"};
static const int methods[3] = {ICF_METHOD_SYMPLECTIC_EULER, ICF_METHOD_MIDPOINT,
                               ICF_METHOD_IMPLICIT_EULER};

static scene_def cylinder_def(int mu, int method, int model, double dt)
{
    scene_def d = scene_default(SCENE_CYLINDER, model, dt);
    d.friction = mu;
    d.method = methods[method];
    return d;
}

static void test_cylinder_motion(void)
{
    const limits limit = IN_FLOAT ? limits_of(1e-4, 1e-3, 0.15) : limits_of(1e-11, 5e-10, 1e-8);
    int mu, k, m, files = 0;
    for (mu = 0; mu < 2; mu++) {
        for (k = 0; k < 3; k++) {
            for (m = 0; m < MODELS; m++) {
                scene_def d = cylinder_def(mu, k, m, 0.02);
                char name[64];
                // files are of these
                if (m != SAP && !(mu == 1 && k < 2)) continue;
                snprintf(name, sizeof name, "cyl_mu%d_%s_%s_dt0.02.csv", mu, method_names[k],
                         scene_model_names[m]);
                d.own_w = files++ % 2;
                (void)follow(name, &d, 5, 0, limit);
            }
        }
    }
    TEST_CHECK_(files == 10, "%d files", files);
}

static void test_cylinder_energy(void)
{
    char* text = read_text("cylinder.txt");
    int mu, k, m;
    for (mu = 0; mu < 2; mu++) {
        for (k = 0; k < 3; k++) {
            for (m = 0; m < MODELS; m++) {
                const scene_def d = cylinder_def(mu, k, m, 0.02);
                const watch w = watch_of(&d, 10, 0, 1e9);
                const double least = IN_FLOAT ? 2e-5 : 2e-11, loose = IN_FLOAT ? 1e-3 : 2e-6;
                double band[3];
                char begins[64];
                const char* line;
                int i;
                snprintf(begins, sizeof begins, "cyl mu=%d %-10s %-8s p2p", mu, method_names[k],
                         scene_model_names[m]);
                line = find_line(text, begins);
                if (!TEST_CHECK_(line != NULL, "%s", begins)) break;
                for (i = 0; i < 3; i++) band[i] = w.top_energy[i] - w.least_energy[i];
                CHECK_NEAR(band[0], number_after(line, "p2p 2s "), loose, least);
                CHECK_NEAR(band[1], number_after(line, " 5s "), loose, least);
                CHECK_NEAR(band[2], number_after(line, " 10s "), loose, least);
                CHECK_NEAR(w.energy_at[1], number_after(line, "E(5s) "), IN_FLOAT ? 1e-4 : 0,
                           6e-9 + least);
                CHECK_NEAR(w.energy_at[2], number_after(line, "E(10s) "), IN_FLOAT ? 1e-4 : 0,
                           6e-9 + least);
                CHECK_NEAR(w.slip, number_after(line, "max slip "), IN_FLOAT ? 1e-3 : 5e-5, least);
                // of the papers: 28 %, exactly none without friction, 0.16 % with it (a steady loss, and so
                // that depends on the stretch: it is between the losses of 2 s and of 5 s)
                if (mu == 0 && k == 0) CHECK_NEAR(band[1], sqrt(100 / 0.5) * 0.02, 0.03, 0);
                if (mu == 0 && k == 1) CHECK_BELOW(band[2], IN_FLOAT ? 2e-5 : 2e-11);
                if (mu == 1 && k == 1 && m == SAP) {
                    CHECK_BELOW(band[0], 0.0016);
                    CHECK_BELOW(0.0016, band[1]);
                }
            }
        }
    }
    free(text);
}

typedef struct mean {
    double sum, begin, first, last, lost;
    int count;
} mean;

/* Means over four periods, 2.18 s */
static void mean_look(void* user, const scene_row* row)
{
    static const double window = 4 * 2 * PI / 11.547005383792516;
    mean* a = (mean*)user;
    if (row->t >= a->begin + window) {
        a->last = a->sum / a->count;
        if (a->lost == 0 && a->last < 0.9 * (a->first > 0 ? a->first : 1))
            a->lost = a->begin + window / 2;
        if (!(a->first > 0)) a->first = a->last;
        a->begin += window;
        a->sum = 0;
        a->count = 0;
    }
    a->sum += cylinder_energy(row);
    a->count++;
}

static void test_cylinder_long_run(void)
{
    char* text = read_text("cylinder.txt");
    int k, m;
    for (k = 0; k < 2 && can_run(600, 0.02); k++) {
        for (m = LAGGED; m < MODELS; m += SAP - LAGGED) {
            const scene_def d = cylinder_def(1, k, m, 0.02);
            char begins[64];
            const char* line;
            mean a;
            memset(&a, 0, sizeof a);
            OK(scene_run(&d, 600, mean_look, &a));
            snprintf(begins, sizeof begins, "cyl mu=1 %-10s %-8s long run", method_names[k],
                     scene_model_names[m]);
            line = find_line(text, begins);
            if (!TEST_CHECK_(line != NULL, "%s", begins)) break;
            // the windows of the reference are cut differently, and a period is no whole number of steps
            CHECK_NEAR(a.last / a.first, number_after(line, "/ initial "), 2e-3, 0);
            CHECK_NEAR(a.lost, number_after(line, "lost at t = "), 0.01, 0);
        }
    }
    free(text);
}

/* Errors against the exact motion without slip */
static double cylinder_error(const scene_def* d, double omega, double* end)
{
    const scene_path p = scene_path_of(d, 5);
    double sum = 0;
    long n;
    if (!TEST_CHECK(p.q != NULL)) return 0;
    for (n = 0; n <= p.count; n++) {
        const double off = p.q[n][0] - SCENE_CYLINDER_START * cos(omega * (double)n * d->dt);
        sum += (n == 0 || n == p.count ? 0.5 : 1) * off * off;
    }
    *end = p.q[p.count][0];
    free(p.q);
    return sqrt(sum / (double)p.count);
}

static void test_cylinder_tables(void)
{
    char* text = read_text("cylinder.txt");
    const char* line = text;
    const double tolerance = IN_FLOAT ? 0.02 : 1e-6;
    double e, end, last_error = 0, error[3];
    int mu = 0, k = 0, i, rows = 0;
    for (; *line; line = next_line(line)) {
        char method[16], model[16], order[16];
        double dt, error_there, end_there;
        scene_def d;
        if (sscanf(line, "# cyl mu=%d %15[a-z]: position", &mu, method) == 2) {
            for (k = 0; k < 2 && strcmp(method, method_names[k]) != 0;) k++;
            continue;
        }
        if (sscanf(line, "%15s %lf %lf %15s %lf", model, &dt, &error_there, order, &end_there) !=
                5 ||
            model_of(model) < 0)
            continue;
        d = cylinder_def(mu, k, model_of(model), dt);
        e = cylinder_error(&d, sqrt(mu ? 100 / 0.75 : 100 / 0.5), &end);
        TEST_CHECK_(near(e, error_there, tolerance, 1e-10), "mu %d %s: e_q is %.6e, not: %.80s", mu,
                    method_names[k], e, line);
        TEST_CHECK_(near(end, end_there, 0, IN_FLOAT ? 1e-4 : 1e-11),
                    "mu %d %s: x(5) is %.12g, not: %.80s", mu, method_names[k], end, line);
        if (strcmp(order, "nan") != 0)
            CHECK_NEAR(log(last_error / e) / log(2), strtod(order, NULL), 0, 0.006 + tolerance);
        last_error = e;
        rows++;
    }
    TEST_CHECK_(rows == 90, "%d rows", rows);
    free(text);

    // rolling by the midpoint rule, of which there is no table: second order
    for (i = 0; i < 3; i++) {
        const scene_def d = cylinder_def(1, 1, SAP, 0.01 / (1 << i));
        error[i] = cylinder_error(&d, sqrt(100 / 0.75), &end);
    }
    CHECK_NEAR(log(error[0] / error[1]) / log(2), 2, 0, 0.02);
    CHECK_NEAR(log(error[1] / error[2]) / log(2), 2, 0, IN_FLOAT ? 0.1 : 0.02);
}

// ------------------------------------------------------------------------------------------------
// What w is

/* The library's own, of a planar joint, is |W| / 3 of the plane; that of a free body counts the other
   direction of friction, too: that is why the scenes pass it. */
static void test_inverse_mass_of_planar_contacts(void)
{
    static const scene_kind kinds[3] = {SCENE_BELT, SCENE_SPHERE, SCENE_ROD};
    int i, k, free_body;
    for (i = 0; i < 3; i++) {
        for (free_body = 0; free_body < 2; free_body++) {
            scene s;
            scene_def d = scene_default(kinds[i], LAGGED, 1e-3);
            double expected[2];
            d.own_w = 1;
            d.free_body = free_body;
            OK(scene_begin(&s, &d));
            for (k = 0; k < s.points; k++) {
                const double c = cos(s.now.q[2]), n = sin(s.now.q[2]);
                const double thin = kinds[i] == SCENE_ROD ? s.mass * 0.000025 / 2 : s.inertia;
                double r[2], along, across, sideways;
                scene_arm(&s, k, r);
                expected[k] = scene_w(&s, r);
                // a push sideways turns the body about its own x, of the rod the thin one, and z
                along = c * r[0] + n * r[1];
                across = c * r[1] - n * r[0];
                sideways = 1 / s.mass + across * across / thin + along * along / s.inertia;
                if (free_body)
                    expected[k] = sqrt(expected[k] * expected[k] + sideways * sideways / 9);
            }
            OK(scene_step(&s));
            for (k = 0; k < s.points; k++)
                CHECK_NEAR(s.now.contact[k].w, expected[k], (IN_FLOAT ? 1000 : 100) * EPS, 0);
            scene_end(&s);
        }
    }
}

TEST_LIST = {
    {"inverse_mass_of_planar_contacts", test_inverse_mass_of_planar_contacts},
    {"belt: motion",                    test_belt_motion                    },
    {"belt: numbers",                   test_belt_numbers                   },
    {"belt: tables",                    test_belt_tables                    },
    {"glide: steady gaps",              test_glide                          },
    {"sphere: motion",                  test_sphere_motion                  },
    {"sphere: numbers",                 test_sphere_numbers                 },
    {"sphere: tables",                  test_sphere_tables                  },
    {"rod: motion",                     test_rod_motion                     },
    {"rod: impact",                     test_rod_impact                     },
    {"rod: numbers",                    test_rod_numbers                    },
    {"rod: tables",                     test_rod_tables                     },
    {"rod: dissipation",                test_rod_dissipation                },
    {"cylinder: motion",                test_cylinder_motion                },
    {"cylinder: energy",                test_cylinder_energy                },
    {"cylinder: long run",              test_cylinder_long_run              },
    {"cylinder: tables",                test_cylinder_tables                },
    {NULL,                              NULL                                }
};
