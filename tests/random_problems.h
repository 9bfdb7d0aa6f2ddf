/* random_problems.h - random problems of seven families, of which each has its own features.
   Include it after problem_util.h. */

#ifndef TEST_RANDOM_PROBLEMS_H
#define TEST_RANDOM_PROBLEMS_H

UTIL_UNUSED static void random_unit_vector(double out[3])
{
    double length;
    int i;
    do {
        for (i = 0; i < 3; i++) out[i] = random_between(-1, 1);
        length = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    } while (length < 0.2 || length > 1);
    for (i = 0; i < 3; i++) out[i] /= length;
}

UTIL_UNUSED static void random_frame(icf_contact* c)
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
    surface_of(c)->tangent = icf_vec3_make(R(t[0] / length), R(t[1] / length), R(t[2] / length));
}

/* A random symmetric positive definite matrix of eigenvalues around m. */
UTIL_UNUSED static void random_mass(int32_t size, double m, double* mass)
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

UTIL_UNUSED static void random_contact(icf_contact* c, int features, int rows)
{
    int32_t models[3];
    int count = 0;
    if (features & WITH_LAGGED) models[count++] = ICF_MODEL_LAGGED;
    if (features & WITH_SIMILAR) models[count++] = ICF_MODEL_SIMILAR;
    if (features & WITH_SAP) models[count++] = ICF_MODEL_SAP;
    random_frame(c);
    surface_of(c)->model = models[random_below(count)];
    c->distance = R(random_between(-3e-3, 1e-3));
    surface_of(c)->stiffness = R(exp(random_between(log(1e3), log(3e4))));
    surface_of(c)->dissipation = R(random_below(3) ? random_between(0, 1) : 0);
    surface_of(c)->relaxation = R(random_between(0, 0.02));
    surface_of(c)->friction = R(random_below(5) ? random_between(0.05, 1.5) : 0);
    if (surface_of(c)->model != ICF_MODEL_SAP && !random_below(3))
        surface_of(c)->friction2 = R(random_between(0, 1));
    surface_of(c)->slip_tolerance = R(exp(random_between(log(1e-3), log(2e-2))));
    surface_of(c)->softness = R(random_between(1e-3, 1e-2));
    if (surface_of(c)->model == ICF_MODEL_SAP)
        surface_of(c)->softness = R(random_between(0.01, 0.1));
    if (rows == 6) {
        c->point.x = R(random_between(-0.3, 0.3));
        c->point.y = R(random_between(-0.3, 0.3));
        c->point.z = R(random_between(-0.3, 0.3));
    }
    if (features & WITH_LAWS && surface_of(c)->model != ICF_MODEL_SAP) {
        switch (random_below(4)) {
        case 1:
            surface_of(c)->law = ICF_LAW_HERTZ;
            surface_of(c)->stiffness *= 20;
            break;
        case 2: surface_of(c)->law = ICF_LAW_KELVIN_VOIGT; break;
        case 3:
            surface_of(c)->by_force = 1;
            c->force = -c->distance * surface_of(c)->stiffness;
            break;
        default: break;
        }
    }
    if (features & WITH_BARRIERS && !random_below(2)) {
        surface_of(c)->model = ICF_MODEL_LAGGED;
        surface_of(c)->by_force = 0;
        surface_of(c)->law = random_below(2) ? ICF_LAW_IPC_BARRIER : ICF_LAW_LOG_BARRIER;
        surface_of(c)->stiffness = surface_of(c)->law == ICF_LAW_IPC_BARRIER ? R(3e3) : R(3e-3);
        c->distance = R(random_between(1e-3, 1e-2));
        surface_of(c)->range = R(8e-3);
    } else {
        surface_of(c)->velocity =
            icf_vec3_make(R(random_below(3) ? 0 : random_between(-0.1, 0.1)), 0, 0);
    }
    /* of every other one, without a draw */
    if (surface_of(c)->friction > R(0.4)) c->pull = icf_vec3_make(c->distance, R(0.002), R(0.003));
}

UTIL_UNUSED static void random_rows(scene* s, int32_t link, int32_t rows)
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
UTIL_UNUSED static void random_scene(scene* s, int features, int32_t cliques, int32_t more_cliques,
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
UTIL_UNUSED static const struct {
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

UTIL_UNUSED static void random_start(const scene* s, double speed, icf_real* v)
{
    int32_t i;
    for (i = 0; i < s->unknowns; i++) v[i] = R(random_between(-speed, speed));
}

/* |a - b| over the size of the answer, both in the norm of A of the second opinion. */
UTIL_UNUSED static double relative_distance(const scene* s, const icf_real* a, const wide* b)
{
    wide x[MOST_UNKNOWNS] = {0}, scale;
    int32_t i;
    scale = norm_a(b) + norm_a(opinion.v_free);
    for (i = 0; i < s->unknowns; i++) x[i] = (wide)a[i] - b[i];
    return (double)(norm_a(x) / scale);
}

#endif /* TEST_RANDOM_PROBLEMS_H */
