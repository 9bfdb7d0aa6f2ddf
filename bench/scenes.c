/* Draws the figures of the planar test cases of the two papers, with this library's own numbers:

       belt_motion, belt_error                       ICF Figs. 3 and 4
       sphere_motion, sphere_error                   Figs. 6 and 7
       rod_force, rod_velocity                       Figs. 9 and 10, without dissipation
       rod_force_dissipation, rod_velocity_dissipation   Figs. 11 and 12
       rod_stiffness                                 what VII-B says of Fig. 11, drawn by itself
       rod_error                                     Fig. 13
       glide                                         VII-A
       cylinder_frictionless, cylinder_rolling, cylinder_error   SAP Figs. 5, 6 and 7

   each as bench/figures/NAME.svg with its numbers in NAME.csv, or NAME_1.csv and so on, one a panel. It is
   run from the project's own folder, and takes about a quarter of a minute. The scenes are in
   bench/scenes.h; that they are right is for tests/test_scenes.c to say.

   Options: --list and --only=TEXT of bench.h, with the names belt, sphere, rod, glide, cylinder. */

#include "bench.h"

#define ICF_IMPLEMENTATION
#include "icf.h"

#include "plot.h"
#include "scenes.h"

enum { MODELS = 3, LAGGED = ICF_MODEL_LAGGED, SIMILAR = ICF_MODEL_SIMILAR, SAP = ICF_MODEL_SAP };

static bench_options options;

static void* allocate(size_t count, size_t size)
{
    void* p = malloc((count ? count : 1) * size);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

static void draw(plot* panels, int count, const char* name)
{
    char path[128];
    int i;
    snprintf(path, sizeof path, "bench/figures/%s", name);
    if (!plot_write(panels, count, path)) exit(1);
    for (i = 0; i < count; i++) plot_end(&panels[i]);
}

// ------------------------------------------------------------------------------------------------
// Runs, of which every so many rows are kept

typedef struct record {
    scene_row* row;
    long count, seen, every;
    double from;       // nothing is kept before, s
    double peak, when; // the largest normal force, N, and when
    double ended;      // the last step with a force
    double stuck;      // how long the first contact had a slip below 1e-4 m/s, and force, s
    double dt;
} record;

static void record_show(void* user, const scene_row* row)
{
    record* r = (record*)user;
    const scene_contact* c = &row->contact[0];
    if (c->normal > r->peak) {
        r->peak = c->normal;
        r->when = row->t;
    }
    if (c->normal > 0) {
        r->ended = row->t;
        if (fabs(c->slip) < 1e-4) r->stuck += r->dt;
    }
    if (row->t < r->from || r->seen++ % r->every) return;
    r->row[r->count++] = *row;
}

static record record_of(const scene_def* def, double duration, double from, long every)
{
    record r;
    memset(&r, 0, sizeof r);
    r.every = every;
    r.from = from;
    r.dt = def->dt;
    r.row = (scene_row*)allocate((size_t)(lround(duration / def->dt) / every + 2), sizeof *r.row);
    if (scene_run(def, duration, record_show, &r) != ICF_RESULT_OK) exit(1);
    return r;
}

// what is drawn of a row; forces and velocities of all contacts that there are, or of the first
typedef double quantity(const scene_row* row);

static double slip_of(const scene_row* r)
{
    return r->contact[0].slip;
}
static double approach_of(const scene_row* r)
{
    return r->contact[0].approach;
}
static double gap_mm_of(const scene_row* r)
{
    return 1e3 * r->contact[0].distance;
}
static double friction_of(const scene_row* r)
{
    return r->contact[0].friction + r->contact[1].friction;
}
static double normal_of(const scene_row* r)
{
    return r->contact[0].normal + r->contact[1].normal;
}
static double cylinder_energy_of(const scene_row* r)
{
    const double m = 0.5, inertia = 0.5 * m * SCENE_CYLINDER_RADIUS * SCENE_CYLINDER_RADIUS;
    return (0.5 * m * (r->v[0] * r->v[0] + r->v[1] * r->v[1]) + 0.5 * inertia * r->v[2] * r->v[2] +
            50 * r->q[0] * r->q[0]) /
           0.5;
}

// rows of a record between two times, as a line of a plot
static void add_record(plot* p, const char* name, const record* r, double from, double to,
                       double time_scale, quantity* of)
{
    double* t = (double*)allocate((size_t)r->count, sizeof *t);
    double* y = (double*)allocate((size_t)r->count, sizeof *y);
    int count = 0;
    long i;
    for (i = 0; i < r->count; i++) {
        if (r->row[i].t < from - 1e-12 || r->row[i].t > to + 1e-12) continue;
        t[count] = time_scale * r->row[i].t;
        // what a step did is known after it
        if (r->row[i].t == 0 && (of == normal_of || of == friction_of)) continue;
        y[count++] = of(&r->row[i]);
    }
    plot_add(p, name, PLOT_LINE, count, t, y);
    free(t);
    free(y);
}

static void add_models(plot* p, const record r[MODELS], double from, double to, double time_scale,
                       quantity* of)
{
    int m;
    for (m = 0; m < MODELS; m++)
        add_record(p, scene_model_titles[m], &r[m], from, to, time_scale, of);
}

static plot panel(const char* title, const char* subtitle, const char* x, const char* y, int height)
{
    plot p = plot_begin(title, x, y);
    p.subtitle = subtitle;
    p.height = height;
    p.csv_rows = 250;
    return p;
}

// a panel of those below the first
static plot lower_panel(const char* title, const char* x, const char* y, int height)
{
    plot p = panel(title, NULL, x, y, height);
    p.legend = 0;
    return p;
}

static void line_of_order(plot* p, const char* name, int order, double x0, double x1, double y1)
{
    double x[2], y[2];
    x[0] = x0;
    x[1] = x1;
    y[0] = y1 * pow(x0 / x1, order);
    y[1] = y1;
    plot_add(p, name, PLOT_REFERENCE, 2, x, y)->colour = -order;
}

// Errors of several step sizes against a path of Lagged with a small one
typedef struct study {
    int count;
    double dt[8], error[8];
} study;

static void add_study(plot* p, const char* name, const scene_def* def, double duration,
                      const scene_path* fine, study* s)
{
    int i;
    for (i = 0; i < s->count; i++) {
        scene_def d = *def;
        scene_path coarse;
        d.dt = s->dt[i];
        if (d.kind == SCENE_ROD)
            d.sunk =
                scene_depth(&d, scene_rod_force(d.friction), SCENE_STIFFNESS, SCENE_ROD_SPEED, 1);
        coarse = scene_path_of(&d, duration);
        if (!coarse.q) exit(1);
        s->error[i] = scene_error_of(&coarse, fine).q;
        free(coarse.q);
    }
    plot_add(p, name, PLOT_LINE | PLOT_MARK, s->count, s->dt, s->error);
}

static scene_path fine_path(const scene_def* def, double duration)
{
    scene_path p = scene_path_of(def, duration);
    if (!p.q) exit(1);
    return p;
}

static double order_of(const study* s, int i)
{
    return log(s->error[i - 1] / s->error[i]) / log(s->dt[i - 1] / s->dt[i]);
}

// ------------------------------------------------------------------------------------------------

static void belt(void)
{
    const char* about = "1 kg, 5 cm, friction 0.7, belt 0.2 m at 1 Hz, steps of 10 ms; "
                        "forces of both corners together";
    record r[MODELS];
    plot p[4];
    study s[4];
    scene_path fine;
    scene_def d;
    int m;
    for (m = 0; m < MODELS; m++) {
        d = scene_default(SCENE_BELT, m, 0.01);
        r[m] = record_of(&d, 2, 0, 1);
    }
    p[0] = panel("Box on an oscillating belt: slip", about, "time (s)", "slip (m/s)", 270);
    p[1] = lower_panel("Gap between box and belt", "time (s)", "gap (mm)", 230);
    p[2] = lower_panel("Friction", "time (s)", "force (N)", 230);
    p[3] = lower_panel("Normal force", "time (s)", "force (N)", 250);
    add_models(&p[0], r, 0, 2, 1, slip_of);
    add_models(&p[1], r, 0, 2, 1, gap_mm_of);
    add_models(&p[2], r, 0, 2, 1, friction_of);
    add_models(&p[3], r, 0, 2, 1, normal_of);
    for (m = 0; m < 4; m++) plot_x(&p[m], 0, 2);
    draw(p, 4, "belt_motion");

    p[0] = panel("Box on an oscillating belt: error of the motion in 2 s",
                 "against Lagged with steps of 8 \xC2\xB5s", "time step (s)",
                 "error of x, z (m) and angle (rad)", 480);
    plot_log(&p[0], 1, 1);
    d = scene_default(SCENE_BELT, LAGGED, 8e-6);
    fine = fine_path(&d, 2);
    for (m = 0; m < 4; m++) {
        static const double dt[4] = {1e-2, 2e-3, 4e-4, 8e-5};
        d = scene_default(SCENE_BELT, m < MODELS ? m : SAP, 1e-2);
        if (m == 3) d.relaxation = 0;
        s[m].count = 4;
        memcpy(s[m].dt, dt, sizeof dt);
        add_study(&p[0], m < MODELS ? scene_model_titles[m] : "SAP, no relaxation", &d, 2, &fine,
                  &s[m]);
    }
    line_of_order(&p[0], "first order", 1, 8e-5, 1e-2, 2.2e-3);
    draw(p, 1, "belt_error");
    free(fine.q);

    for (m = 0; m < MODELS; m++) {
        double gap = 0, least = 1e9, most = 0;
        long i;
        for (i = 1; i < r[m].count; i++) {
            gap = fmax(gap, gap_mm_of(&r[m].row[i]));
            least = fmin(least, normal_of(&r[m].row[i]));
            most = fmax(most, normal_of(&r[m].row[i]));
        }
        bench_figure(gap, "mm", "belt_%s_largest_gap", scene_model_names[m]);
        bench_figure(least, "N", "belt_%s_least_normal_force", scene_model_names[m]);
        bench_figure(most, "N", "belt_%s_largest_normal_force", scene_model_names[m]);
        bench_figure(order_of(&s[m], 1), "order", "belt_%s_order_10_to_2_ms", scene_model_names[m]);
        bench_figure(order_of(&s[m], 3), "order", "belt_%s_order_400_to_80_us",
                     scene_model_names[m]);
        free(r[m].row);
    }
}

static void sphere(void)
{
    const char* about = "0.5 kg, 5 cm across, falls 5 cm at 2 m/s, friction 0.5, steps of 2 ms";
    record r[MODELS];
    plot p[5];
    study s[4];
    scene_path fine;
    scene_def d;
    int m;
    for (m = 0; m < MODELS; m++) {
        d = scene_default(SCENE_SPHERE, m, 0.002);
        r[m] = record_of(&d, 0.16, 0, 1);
    }
    p[0] = panel("Falling sphere: slip", about, "time (s)", "slip (m/s)", 270);
    p[1] = lower_panel("Normal velocity", "time (s)", "velocity (m/s)", 230);
    p[2] = lower_panel("Friction", "time (s)", "force (N)", 230);
    p[3] = lower_panel("Normal force", "time (s)", "force (N)", 250);
    add_models(&p[0], r, 0.08, 0.15, 1, slip_of);
    add_models(&p[1], r, 0.08, 0.15, 1, approach_of);
    add_models(&p[2], r, 0.08, 0.15, 1, friction_of);
    add_models(&p[3], r, 0.08, 0.15, 1, normal_of);
    p[4] = lower_panel("The same, near the weight, 4.9 N", "time (s)", "force (N)", 250);
    add_models(&p[4], r, 0.08, 0.15, 1, normal_of);
    p[4].y_min = 0;
    p[4].y_max = 15;
    for (m = 0; m < 5; m++) plot_x(&p[m], 0.08, 0.15);
    draw(p, 5, "sphere_motion");

    p[0] = panel("Falling sphere: error of the motion in 0.5 s",
                 "against Lagged with steps of 2 \xC2\xB5s", "time step (s)",
                 "error of x, z (m) and angle (rad)", 480);
    plot_log(&p[0], 1, 1);
    d = scene_default(SCENE_SPHERE, LAGGED, 2e-6);
    fine = fine_path(&d, 0.5);
    for (m = 0; m < MODELS; m++) {
        static const double dt[5] = {1e-2, 2e-3, 4e-4, 8e-5, 2e-5};
        d = scene_default(SCENE_SPHERE, m, 1e-2);
        s[m].count = 5;
        memcpy(s[m].dt, dt, sizeof dt);
        add_study(&p[0], scene_model_titles[m], &d, 0.5, &fine, &s[m]);
    }
    line_of_order(&p[0], "first order", 1, 2e-5, 1e-2, 0.12);
    draw(p, 1, "sphere_error");
    free(fine.q);

    for (m = 0; m < MODELS; m++) {
        record q;
        long i;
        double touched = 0, rolls = 0;
        d = scene_default(SCENE_SPHERE, m, 4e-5);
        q = record_of(&d, 0.16, 0, 1);
        for (i = q.count - 1; i >= 0; i--) {
            if (q.row[i].contact[0].normal > 0) touched = q.row[i].t;
            if (rolls == 0 && fabs(q.row[i].contact[0].slip) > 1e-3) rolls = q.row[i + 1].t;
        }
        bench_figure(1e3 * touched, "ms", "sphere_%s_first_force_40us", scene_model_names[m]);
        bench_figure(1e3 * rolls, "ms", "sphere_%s_rolls_40us", scene_model_names[m]);
        bench_figure(q.peak, "N", "sphere_%s_largest_force_40us", scene_model_names[m]);
        bench_figure(order_of(&s[m], 2), "order", "sphere_%s_order_2_to_0.4_ms",
                     scene_model_names[m]);
        bench_figure(order_of(&s[m], 4), "order", "sphere_%s_order_80_to_20_us",
                     scene_model_names[m]);
        free(q.row);
        free(r[m].row);
    }
}

static void rod_motion(int dissipative, record r[MODELS])
{
    const char* about =
        dissipative ? "friction 2.3, d = 0.2 s/m, \xCF\x84 = 4 \xC2\xB5s, steps of 0.1 \xC2\xB5s"
                    : "friction 2.3, no dissipation, steps of 0.1 \xC2\xB5s";
    const double close = dissipative ? 0.0242 : 0.0250, end = dissipative ? 0.0268 : 0.0260;
    plot p[3];
    int m;
    for (m = 0; m < MODELS; m++) {
        scene_def d =
            dissipative ? scene_rod_dissipative(m, 1e-7) : scene_default(SCENE_ROD, m, 1e-7);
        r[m] = record_of(&d, 0.03, 0, 40);
    }
    p[0] = panel("Sliding rod: normal force", about, "time (ms)", "force (N)", 300);
    p[1] = lower_panel("The same, where it jams", "time (ms)", "normal force (N)", 300);
    p[2] = lower_panel("Friction there", "time (ms)", "friction (N)", 300);
    plot_x(&p[0], 0, 28);
    add_models(&p[0], r, 0, 0.028, 1e3, normal_of);
    add_models(&p[1], r, close, end, 1e3, normal_of);
    plot_x(&p[1], 1e3 * close, 1e3 * end);
    plot_x(&p[2], 1e3 * close, 1e3 * end);
    add_models(&p[2], r, close, end, 1e3, friction_of);
    draw(p, 3, dissipative ? "rod_force_dissipation" : "rod_force");

    p[0] = panel("Sliding rod: slip of the leading end", about, "time (ms)", "slip (m/s)", 300);
    p[1] = lower_panel("The same, where it jams", "time (ms)", "slip (m/s)", 300);
    p[2] = lower_panel("Normal velocity there", "time (ms)", "velocity (m/s)", 300);
    add_models(&p[0], r, 0, 0.028, 1e3, slip_of);
    add_models(&p[1], r, close, end, 1e3, slip_of);
    plot_x(&p[1], 1e3 * close, 1e3 * end);
    plot_x(&p[2], 1e3 * close, 1e3 * end);
    add_models(&p[2], r, close, end, 1e3, approach_of);
    draw(p, 3, dissipative ? "rod_velocity_dissipation" : "rod_velocity");
}

static void rod(void)
{
    record r[MODELS];
    plot p[2];
    study s[2][MODELS];
    int m, k;
    for (k = 0; k < 2; k++) {
        const char* name = k ? "dissipative" : "elastic";
        rod_motion(k, r);
        for (m = 0; m < MODELS; m++) {
            bench_figure(1e3 * r[m].when, "ms", "rod_%s_%s_jams", name, scene_model_names[m]);
            bench_figure(r[m].peak, "N", "rod_%s_%s_largest_force", name, scene_model_names[m]);
            bench_figure(1e3 * r[m].stuck, "ms", "rod_%s_%s_sticks_for", name,
                         scene_model_names[m]);
            bench_figure(1e3 * r[m].ended, "ms", "rod_%s_%s_leaves", name, scene_model_names[m]);
            free(r[m].row);
        }
    }

    // started with half of the force of sliding, it swings about that
    p[0] = panel("Sliding rod: how stiff the ground is to what slides",
                 "started at half of its force; friction 2.3, d = 0.2 s/m, \xCF\x84 = 4 \xC2\xB5s, "
                 "steps of 0.1 \xC2\xB5s",
                 "time (ms)", "normal force (N)", 400);
    for (m = 0; m < MODELS; m++) {
        scene_def d = scene_rod_dissipative(m, 1e-7);
        d.sunk =
            scene_depth(&d, 0.5 * scene_rod_force(d.friction), SCENE_STIFFNESS, SCENE_ROD_SPEED, 1);
        r[m] = record_of(&d, 0.006, 0, 100);
        add_record(&p[0], scene_model_titles[m], &r[m], 0, 0.006, 1e3, normal_of);
        free(r[m].row);
    }
    plot_x(&p[0], 0, 6);
    draw(p, 1, "rod_stiffness");

    p[0] =
        panel("Sliding rod: error of the motion in 51 ms, without dissipation",
              "each model from its own depth of sliding; against Lagged with steps of 1 \xC2\xB5s",
              "time step (s)", "error (m, rad)", 400);
    p[1] = lower_panel("With dissipation: d = 0.2 s/m, \xCF\x84 = 4 \xC2\xB5s", "time step (s)",
                       "error (m, rad)", 400);
    for (k = 0; k < 2; k++) {
        scene_def d =
            k ? scene_rod_dissipative(LAGGED, 1e-6) : scene_default(SCENE_ROD, LAGGED, 1e-6);
        scene_path fine = fine_path(&d, 0.0512);
        plot_log(&p[k], 1, 1);
        for (m = 0; m < MODELS; m++) {
            static const double dt[4] = {6.4e-4, 1.6e-4, 4e-5, 1e-5};
            d = k ? scene_rod_dissipative(m, 1e-5) : scene_default(SCENE_ROD, m, 1e-5);
            s[k][m].count = 4;
            memcpy(s[k][m].dt, dt, sizeof dt);
            add_study(&p[k], scene_model_titles[m], &d, 0.0512, &fine, &s[k][m]);
            bench_figure(order_of(&s[k][m], 3), "order", "rod_%s_%s_order_40_to_10_us",
                         k ? "dissipative" : "elastic", scene_model_names[m]);
        }
        line_of_order(&p[k], "first order", 1, 1e-5, 6.4e-4, 0.13);
        free(fine.q);
    }
    draw(p, 2, "rod_error");
}

static void glide(void)
{
    static const double speeds[5] = {0.03, 0.1, 0.3, 1, 3};
    static const char* const names[MODELS] = {"Lagged: below 0", "Similar", "SAP"};
    double gap[MODELS][5], x[2], y[2];
    plot p = panel(
        "Gliding: how high a mass of 1 kg slides above the ground",
        "friction 0.7, steps of 10 ms, d = 500 s/m, \xCF\x84 = 1 ms; Lagged rests 1 \xC2\xB5m "
        "deep at every speed",
        "speed (m/s)", "height (mm)", 420);
    int m, i;
    plot_log(&p, 1, 1);
    for (m = 0; m < MODELS; m++) {
        for (i = 0; i < 5; i++) {
            scene_def d = scene_default(SCENE_GLIDE, m, 0.01);
            record r;
            d.speed = speeds[i];
            r = record_of(&d, 5, 4.995, 1);
            gap[m][i] = 1e3 * r.row[0].contact[0].distance;
            free(r.row);
        }
        if (m > 0) plot_add(&p, names[m], PLOT_MARK, 5, speeds, gap[m])->colour = m;
        bench_figure(gap[m][3], "mm", "glide_%s_at_1_m_per_s", scene_model_names[m]);
    }
    x[0] = 0.03;
    x[1] = 3;
    for (m = 1; m < MODELS; m++) {
        for (i = 0; i < 2; i++) y[i] = 1e3 * 0.7 * (0.01 + (m == SAP ? 1e-3 : 0)) * x[i];
        plot_add(&p, m == SAP ? "friction (dt + \xCF\x84) speed" : "friction dt speed", PLOT_LINE,
                 2, x, y)
            ->colour = m;
    }
    draw(&p, 1, "glide");
}

// ------------------------------------------------------------------------------------------------
// The cylinder

static const char* const method_names[3] = {"symplectic", "midpoint", "implicit"};
static const char* const method_titles[3] = {"symplectic Euler", "midpoint", "implicit Euler"};
static const int methods[3] = {ICF_METHOD_SYMPLECTIC_EULER, ICF_METHOD_MIDPOINT,
                               ICF_METHOD_IMPLICIT_EULER};

static scene_def cylinder_def(int method, int model, double friction, double dt)
{
    scene_def d = scene_default(SCENE_CYLINDER, model, dt);
    d.method = methods[method];
    d.friction = friction;
    return d;
}

static void cylinder_energy(double friction, const char* name)
{
    const int rolls = friction > 0;
    const double omega = sqrt(100 / (rolls ? 0.75 : 0.5)), window = 8 * SCENE_PI / omega;
    plot p[3];
    int k, m;
    p[0] = panel(rolls ? "Spring and cylinder that rolls: energy"
                       : "Spring and cylinder without friction: energy",
                 "SAP, steps of 20 ms", "time (s)", "energy / energy at the start", 330);
    p[1] = lower_panel("In the long run: mean over four periods", "time (min)",
                       "energy / energy at the start", 330);
    for (k = 0; k < 3; k++) {
        scene_def d = cylinder_def(k, SAP, friction, 0.02);
        record r = record_of(&d, 600, 0, 1);
        double least = 1e9, most = 0, sum = 0, begin = 0, lost = 0;
        double* t = (double*)allocate((size_t)r.count, sizeof *t);
        double* e = (double*)allocate((size_t)r.count, sizeof *e);
        int means = 0, inside = 0;
        long i;
        add_record(&p[0], method_titles[k], &r, 0, 3, 1, cylinder_energy_of);
        for (i = 0; i < r.count; i++) {
            const double energy = cylinder_energy_of(&r.row[i]);
            if (r.row[i].t <= 5) {
                least = fmin(least, energy);
                most = fmax(most, energy);
            }
            if (r.row[i].t >= begin + window) {
                t[means] = (begin + window / 2) / 60;
                e[means++] = sum / inside;
                if (lost == 0 && e[means - 1] < 0.9 * e[0]) lost = 60 * t[means - 1];
                begin += window;
                sum = 0;
                inside = 0;
            }
            sum += energy;
            inside++;
        }
        plot_add(&p[1], method_titles[k], PLOT_LINE, means, t, e);
        bench_figure(100 * (most - least), "%", "cylinder_%s_%s_energy_band_5s",
                     rolls ? "rolling" : "frictionless", method_names[k]);
        if (rolls && k < 2)
            bench_figure(lost, "s", "cylinder_rolling_%s_tenth_lost", method_names[k]);
        free(t);
        free(e);
        free(r.row);
    }
    if (rolls) {
        p[2] = panel("Midpoint alone: what the creep of friction takes", NULL, "time (s)",
                     "energy / energy at the start", 330);
        for (m = 0; m < MODELS; m++) {
            scene_def d = cylinder_def(1, m, friction, 0.02);
            record r = record_of(&d, 5, 0, 1);
            add_record(&p[2], scene_model_titles[m], &r, 0, 5, 1, cylinder_energy_of);
            bench_figure(100 * (1 - cylinder_energy_of(&r.row[r.count - 1])), "%",
                         "cylinder_rolling_midpoint_%s_lost_in_5s", scene_model_names[m]);
            free(r.row);
        }
    }
    draw(p, rolls ? 3 : 2, name);
}

static void cylinder(void)
{
    static const double dt[6] = {0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125};
    plot p;
    int k, i;
    cylinder_energy(0, "cylinder_frictionless");
    cylinder_energy(1, "cylinder_rolling");
    p = panel("Spring and cylinder that rolls: error of its position in 5 s",
              "SAP, against the exact solution without slip", "time step (s)", "error of x (m)",
              480);
    plot_log(&p, 1, 1);
    for (k = 0; k < 3; k++) {
        double error[6];
        for (i = 0; i < 6; i++) {
            scene_def d = cylinder_def(k, SAP, 1, dt[i]);
            scene_path path = fine_path(&d, 5);
            double sum = 0;
            long n;
            for (n = 0; n <= path.count; n++) {
                const double exact =
                    SCENE_CYLINDER_START * cos(sqrt(100 / 0.75) * (double)n * path.dt);
                const double off = path.q[n][0] - exact;
                sum += (n == 0 || n == path.count ? 0.5 : 1) * off * off;
            }
            error[i] = sqrt(sum / (double)path.count);
            free(path.q);
        }
        plot_add(&p, method_titles[k], PLOT_LINE | PLOT_MARK, 6, dt, error);
        bench_figure(log(error[4] / error[5]) / log(2), "order",
                     "cylinder_rolling_%s_order_2.5_to_1.25_ms", method_names[k]);
    }
    line_of_order(&p, "first order", 1, dt[5], dt[0], 0.02);
    line_of_order(&p, "second order", 2, dt[5], dt[0], 0.03);
    draw(&p, 1, "cylinder_error");
}

int main(int argc, char** argv)
{
    double start = bench_now();
    options = bench_parse(argc, argv);
    bench_check(&options, "");
    if (bench_selected(&options, "belt")) belt();
    if (bench_selected(&options, "sphere")) sphere();
    if (bench_selected(&options, "rod")) rod();
    if (bench_selected(&options, "glide")) glide();
    if (bench_selected(&options, "cylinder")) cylinder();
    if (!options.selected) fprintf(stderr, "no such case\n");
    if (options.selected && !options.list) bench_figure(bench_now() - start, "s", "scenes_all");
    return options.selected ? 0 : 1;
}
