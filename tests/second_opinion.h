/* second_opinion.h - the physics of problem_util.h's problems once more, slow and in long double, written from the
   force laws. It needs impulses and nothing else: v is the answer if A (v - v*) = J' gamma(J v + b).
   Include it after problem_util.h. */

#ifndef TEST_SECOND_OPINION_H
#define TEST_SECOND_OPINION_H

typedef long double wide;

/* The normal force at a distance and a velocity. */
UTIL_UNUSED static wide normal_force(const icf_contact* c, wide dt, wide phi, wide v)
{
    wide k = (wide)surface_of(c)->stiffness, x = phi < 0 ? -phi : 0,
         damping = 1 - (wide)surface_of(c)->dissipation * v;
    wide range = (wide)surface_of(c)->range;
    if (damping < 0) damping = 0;
    if (surface_of(c)->by_force) {
        /* phi is dt v here */
        wide f = (wide)c->force - k * phi;
        (void)dt;
        return (f > 0 ? f : 0) * damping;
    }
    switch (surface_of(c)->law) {
    case ICF_LAW_HERTZ: return k * x * sqrtl(x) * damping;
    case ICF_LAW_KELVIN_VOIGT: {
        wide f = k * (-phi - (wide)surface_of(c)->relaxation * v);
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
    wide pull[3];
} piece;

typedef struct second_opinion {
    int32_t n, count;
    wide dt, a[MOST_UNKNOWNS * MOST_UNKNOWNS], factor[MOST_UNKNOWNS * MOST_UNKNOWNS];
    wide v_free[MOST_UNKNOWNS];
    piece pieces[MOST_CONTACTS + MOST_ROWS];
} second_opinion;

UTIL_UNUSED static second_opinion opinion;

UTIL_UNUSED static void piece_impulse(const piece* p, wide dt, const wide v[3], wide g[3])
{
    static const wide pi = 3.14159265358979323846264338327950288L;
    g[0] = g[1] = g[2] = 0;
    if (p->contact) {
        const icf_contact* c = p->contact;
        wide mu1 = (wide)surface_of(c)->friction,
             mu2 = surface_of(c)->friction2 < 0 ? mu1 : (wide)surface_of(c)->friction2, mu, e, r;
        wide distance = surface_of(c)->by_force ? 0 : (wide)c->distance, n0, x1, x2;
        if (surface_of(c)->model == ICF_MODEL_SAP) {
            wide tau = (wide)surface_of(c)->relaxation,
                 beta = surface_of(c)->near_rigid < 0 ? 1 : (wide)surface_of(c)->near_rigid;
            wide rn = 1 / (dt * (wide)surface_of(c)->stiffness * (dt + tau)),
                 rt = (wide)surface_of(c)->softness * p->w;
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
        e = (wide)surface_of(c)->softness * p->w * mu * n0;
        if (e < (wide)surface_of(c)->slip_tolerance) e = (wide)surface_of(c)->slip_tolerance;
        e *= mu;
        x1 = mu1 * v[0];
        x2 = mu2 * v[1];
        r = sqrtl(x1 * x1 + x2 * x2 + e * e);
        if (surface_of(c)->model == ICF_MODEL_LAGGED) {
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
UTIL_UNUSED static int cholesky(int32_t n, int32_t stride, wide* a)
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

UTIL_UNUSED static void cholesky_solve(int32_t n, int32_t stride, const wide* l, wide* x)
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

UTIL_UNUSED static void vec3_wide(icf_vec3 v, wide out[3])
{
    out[0] = (wide)v.x;
    out[1] = (wide)v.y;
    out[2] = (wide)v.z;
}

UTIL_UNUSED static void cross_wide(const wide a[3], const wide b[3], wide out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* How row `row` of a link, or direction d at a point of it if d is given, reads all velocities. */
UTIL_UNUSED static void read_link(const scene* s, int32_t link, int32_t row, const wide* d,
                                  const wide* point, wide* j, wide* bias)
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
UTIL_UNUSED static wide delassus_norm(const scene* s, const piece* p)
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

UTIL_UNUSED static void opinion_make(const scene* s)
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
            wide d[3][3] = {{0}}, point[3] = {0}, surface[3] = {0}, extra[3];
            p->contact = contact;
            p->rows = 3;
            vec3_wide(surface_of(contact)->tangent, d[0]);
            vec3_wide(contact->normal, d[2]);
            /* the default, which of the normal z is x */
            if (d[0][0] == 0 && d[0][1] == 0 && d[0][2] == 0 && d[2][2] == 1) d[0][0] = 1;
            cross_wide(d[2], d[0], d[1]);
            vec3_wide(contact->point, point);
            vec3_wide(surface_of(contact)->velocity, surface);
            for (k = 0; k < 3; k++) {
                read_link(s, contact->link, 0, d[k], point, p->j[k], &p->bias[k]);
                for (j = 0; j < 3; j++) p->bias[k] += d[k][j] * surface[j];
            }
            vec3_wide(contact->pull, extra);
            for (k = 0; k < 2; k++) {
                for (j = 0; j < 3; j++) p->pull[k] += d[k][j] * extra[j];
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
        for (k = 0; k < 2; k++) p->bias[k] += p->pull[k];
    }
}

UTIL_UNUSED static void piece_velocity(const piece* p, int32_t n, const wide* v, wide u[3])
{
    int32_t i, k;
    for (k = 0; k < p->rows; k++) {
        u[k] = p->bias[k];
        for (i = 0; i < n; i++) u[k] += p->j[k][i] * v[i];
    }
}

/* A (v - v*) - J' gamma */
UTIL_UNUSED static void opinion_gradient(const wide* v, wide* gradient)
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

UTIL_UNUSED static wide dot(int32_t n, const wide* a, const wide* b)
{
    wide sum = 0;
    int32_t i;
    for (i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* |x| in the norm of A. */
UTIL_UNUSED static wide norm_a(const wide* x)
{
    const second_opinion* o = &opinion;
    wide sum = 0;
    int32_t i;
    for (i = 0; i < o->n; i++) sum += x[i] * dot(o->n, o->a + i * o->n, x);
    return sqrtl(sum);
}

/* How far from the answer v can be at most, in the norm of A: the cost is strongly convex in it. */
UTIL_UNUSED static wide opinion_distance(const wide* v)
{
    wide gradient[MOST_UNKNOWNS] = {0}, x[MOST_UNKNOWNS] = {0};
    opinion_gradient(v, gradient);
    memcpy(x, gradient, sizeof x);
    cholesky_solve(opinion.n, opinion.n, opinion.factor, x);
    return sqrtl(dot(opinion.n, gradient, x));
}

/* The Hessian -d gamma / d u of a piece by differences, good enough for a direction of descent. */
UTIL_UNUSED static void piece_hessian(const piece* p, const wide u[3], wide h[3][3])
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
UTIL_UNUSED static wide opinion_stiffness(const wide* v)
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
UTIL_UNUSED static wide opinion_slope(const wide* v, const wide* direction, wide step)
{
    wide x[MOST_UNKNOWNS] = {0}, gradient[MOST_UNKNOWNS];
    int32_t i;
    for (i = 0; i < opinion.n; i++) x[i] = v[i] + step * direction[i];
    opinion_gradient(x, gradient);
    return dot(opinion.n, gradient, direction);
}

/* Minimises from v: directions from differences, and the line by bisection of the slope. Only
   for problems without barriers. 1 if it got there. */
UTIL_UNUSED static int opinion_minimise(wide* v)
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

UTIL_UNUSED static void widen(int32_t n, const icf_real* v, wide* out)
{
    int32_t i;
    for (i = 0; i < n; i++) out[i] = (wide)v[i];
}

/* Is v, within rounding, the answer? The gradient carries the rounding of v, which stiff
   potentials amplify. */
UTIL_UNUSED static void check_answer(const scene* s, const icf_real* v, const char* what)
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
UTIL_UNUSED static wide scalar_residual(const scalar* f, wide v)
{
    const icf_contact* c = f->contact;
    wide force;
    if (!c) {
        force = -f->effort * v / sqrtl(v * v + f->tolerance * f->tolerance);
    } else {
        wide phi = (wide)c->distance + f->dt * v;
        if ((surface_of(c)->law == ICF_LAW_IPC_BARRIER ||
             surface_of(c)->law == ICF_LAW_LOG_BARRIER) &&
            phi <= 0)
            return 1;
        force = normal_force(c, f->dt, phi, v);
    }
    return f->m * (f->v_free - v) + f->dt * force;
}

UTIL_UNUSED static wide scalar_root(const scalar* f)
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

#endif /* TEST_SECOND_OPINION_H */
