/* What calls refuse: of everything that a call takes, one number at a time is damaged in every way there is,
   and the answer has to be the one that is promised, with nothing changed; and what lies at the very edge of
   what is allowed has to be accepted. Tables list the fields of each struct, all of them, in order. */

#include "tested.h"

#include "acutest.h"
#include "util.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define UNPOISON
#endif
#endif

#define EXPECT(call, expected) CHECK_RESULT(call, expected)

// ------------------------------------------------------------------------------------------------
// Fields, and how they are damaged

typedef enum rule {
    FREE,      /* whatever it is */
    FINITE,    /* not NaN and not infinite */
    FROM_ZERO, /* nor below 0 */
    ABOVE_ZERO,
    AXIS,   /* numbers together: finite, and not all 0 */
    RANGE,  /* an integer from low to high */
    COUNT,  /* an integer from 0: above it, it says how long other things are */
    NEEDED, /* a pointer that may not be NULL */
    COOKIE
} rule;

typedef struct field {
    const char* name;
    size_t at, bytes;
    size_t element; /* bytes of one number */
    rule rule;
    int32_t low, high; /* RANGE: accepted, as are all between */
    icf_result above;  /* RANGE: what the call says to `high`, where that is beyond this machine */
} field;

#define FIELD(type, name, element, rule, low, high, above) \
    { \
#name, offsetof(type, name), sizeof(((type*)0)->name), sizeof(element), rule, low, high, \
            above \
    }
#define POINTER(type, name) \
    { \
#name, offsetof(type, name), sizeof(void*), sizeof(void*), NEEDED, 0, 0, ICF_RESULT_OK \
    }
#define MAYBE(type, name) \
    { \
#name, offsetof(type, name), sizeof(void*), sizeof(void*), FREE, 0, 0, ICF_RESULT_OK \
    }
#define REALS(type, name, rule) FIELD(type, name, icf_real, rule, 0, 0, ICF_RESULT_OK)
#define NUMBERS(type, name, low, high) FIELD(type, name, int32_t, RANGE, low, high, ICF_RESULT_OK)
#define ROOM(type, name, high) FIELD(type, name, int32_t, RANGE, 0, high, ICF_RESULT_TOO_SMALL)
#define COUNTS(type, name) FIELD(type, name, int32_t, COUNT, 0, 0, ICF_RESULT_OK)
#define ANY(type, name, element) FIELD(type, name, element, FREE, 0, 0, ICF_RESULT_OK)
#define COOKIES(type, name) FIELD(type, name, int32_t, COOKIE, 0, 0, ICF_RESULT_OK)

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

typedef struct subject {
    const char* name;
    unsigned char* given; /* the struct that the call takes, as it is accepted */
    icf_result (*call)(void);
    uint64_t (*state)(void); /* of all that the call might change */
    icf_result not_finite;   /* what the call says to a NaN */
    const char* fixed;       /* a field of which any other value is refused; or NULL */
} subject;

static uint64_t hash_bytes(uint64_t hash, const void* p, size_t bytes)
{
    const unsigned char* at = (const unsigned char*)p;
#ifdef UNPOISON
    __msan_unpoison(p, bytes); /* padding has no value, but must stay as it is */
#endif
    while (bytes-- > 0) hash = (hash ^ *at++) * 0x100000001b3u;
    return hash;
}

static int32_t* refused_which; /* where the world says which one a call was refused of, or NULL */
static int32_t expected_which;

/* One call, of a damaged struct or one at the edge */
static void one(const subject* s, const field* f, size_t k, const char* how, icf_result expected)
{
    uint64_t before = s->state();
    icf_result result;
    if (refused_which) *refused_which = expected_which;
    result = s->call();
    TEST_CHECK_(result == expected, "%s with %s[%d] %s: %s, not %s", s->name, f->name, (int)k, how,
                icf_result_string(result), icf_result_string(expected));
    if (expected < 0) {
        TEST_CHECK_(s->state() == before, "%s refused %s[%d] %s, and changed something", s->name,
                    f->name, (int)k, how);
        TEST_CHECK_(!refused_which || *refused_which == expected_which,
                    "%s refused %s[%d] %s of number %ld", s->name, f->name, (int)k, how,
                    (long)(refused_which ? *refused_which : 0));
    }
}

static void with_real(const subject* s, const field* f, size_t k, double x, const char* how,
                      icf_result expected)
{
    unsigned char* at = s->given + f->at + k * sizeof(icf_real);
    icf_real old, now = (icf_real)x;
    memcpy(&old, at, sizeof old);
    memcpy(at, &now, sizeof now);
    one(s, f, k, how, expected);
    memcpy(at, &old, sizeof old);
}

static void with_integer(const subject* s, const field* f, size_t k, int32_t now,
                         icf_result expected)
{
    unsigned char* at = s->given + f->at + k * sizeof(int32_t);
    int32_t old;
    char how[24];
    snprintf(how, sizeof how, "%ld", (long)now);
    memcpy(&old, at, sizeof old);
    if (s->fixed && !strcmp(s->fixed, f->name) && now != old) expected = ICF_RESULT_BAD_ARGUMENT;
    memcpy(at, &now, sizeof now);
    one(s, f, k, how, expected);
    memcpy(at, &old, sizeof old);
}

static void damage_reals(const subject* s, const field* f, size_t k)
{
    if (f->rule == FREE) return;
    with_real(s, f, k, (double)NAN, "NaN", s->not_finite);
    with_real(s, f, k, (double)INFINITY, "infinite", s->not_finite);
    with_real(s, f, k, -(double)INFINITY, "minus infinite", s->not_finite);
    if (f->rule == FROM_ZERO || f->rule == ABOVE_ZERO) {
        with_real(s, f, k, -1, "-1", ICF_RESULT_BAD_ARGUMENT);
        with_real(s, f, k, -(double)REAL_MIN, "just below 0", ICF_RESULT_BAD_ARGUMENT);
        with_real(s, f, k, 0, "0", f->rule == FROM_ZERO ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT);
        with_real(s, f, k, 1e-4, "1e-4", ICF_RESULT_OK);
    }
}

static void damage_axis(const subject* s, const field* f)
{
    unsigned char old[4 * sizeof(icf_real)];
    memcpy(old, s->given + f->at, f->bytes);
    memset(s->given + f->at, 0, f->bytes);
    one(s, f, 0, "all 0", ICF_RESULT_BAD_ARGUMENT);
    memcpy(s->given + f->at, old, f->bytes);
}

static void damage_integer(const subject* s, const field* f, size_t k)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    int32_t old;
    memcpy(&old, s->given + f->at + k * sizeof old, sizeof old);
    switch (f->rule) {
    case RANGE:
        with_integer(s, f, k, INT32_MIN, bad);
        with_integer(s, f, k, f->low - 1, bad);
        with_integer(s, f, k, f->low, ICF_RESULT_OK);
        with_integer(s, f, k, f->high, f->above);
        if (f->high < INT32_MAX) with_integer(s, f, k, f->high + 1, bad);
        if (f->high < INT32_MAX) with_integer(s, f, k, INT32_MAX, bad);
        break;
    case COUNT:
        with_integer(s, f, k, INT32_MIN, bad);
        with_integer(s, f, k, -1, bad);
        break;
    case COOKIE:
        with_integer(s, f, k, 0, ICF_RESULT_BAD_DEF);
        with_integer(s, f, k, old + 1, ICF_RESULT_BAD_DEF);
        with_integer(s, f, k, old - 1, ICF_RESULT_BAD_DEF);
        with_integer(s, f, k, ~old, ICF_RESULT_BAD_DEF);
        break;
    default: break;
    }
}

static void damage_pointer(const subject* s, const field* f)
{
    unsigned char old[sizeof(void*)];
    void* none = NULL;
    if (f->rule != NEEDED) return;
    memcpy(old, s->given + f->at, sizeof old);
    memcpy(s->given + f->at, &none, sizeof none);
    one(s, f, 0, "NULL", ICF_RESULT_BAD_ARGUMENT);
    memcpy(s->given + f->at, old, sizeof old);
}

/* Damages every number of a struct that lies `base` bytes into what the call takes. */
static void damage_all(const subject* s, const field* table, size_t count, size_t base)
{
    size_t i, k;
    TEST_CHECK_(s->call() == ICF_RESULT_OK, "%s refuses what it should take", s->name);
    for (i = 0; i < count; i++) {
        field f = table[i];
        f.at += base;
        for (k = 0; k < f.bytes / f.element; k++) {
            if (f.rule == NEEDED) {
                damage_pointer(s, &f);
            } else if (f.rule == RANGE || f.rule == COUNT || f.rule == COOKIE) {
                damage_integer(s, &f, k);
            } else {
                damage_reals(s, &f, k);
            }
        }
        if (f.rule == AXIS) damage_axis(s, &f);
    }
    TEST_CHECK_(s->call() == ICF_RESULT_OK, "%s was not put back", s->name);
}

static void damage_call(subject* s, const char* name, icf_result (*call)(void), const field* table,
                        size_t count)
{
    s->name = name;
    s->call = call;
    damage_all(s, table, count, 0);
}

/* Every field stands in its table: there is no more between two than what the next is aligned by. */
static void check_complete(const char* name, const field* table, size_t count, size_t bytes)
{
    size_t end = 0, i, widest = 1;
    for (i = 0; i < count; i++) {
        size_t element = table[i].element;
        size_t next = (end + element - 1) / element * element;
        TEST_CHECK_(table[i].at == next || table[i].at == end, "%s: something before %s", name,
                    table[i].name);
        end = table[i].at + table[i].bytes;
        if (widest < element) widest = element;
    }
    end = (end + widest - 1) / widest * widest;
    TEST_CHECK_(end == bytes, "%s: something behind its last field", name);
}

/* A table with another rule for one field */
static void rule_of(field* table, size_t count, const char* name, rule wanted)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (strcmp(table[i].name, name) != 0) continue;
        table[i].rule = wanted;
        return;
    }
    TEST_CHECK_(0, "no field %s", name);
}

// ------------------------------------------------------------------------------------------------
// Tables: every field of every struct

static const field surface_fields[] = {
    NUMBERS(icf_surface, model, 0, ICF_MODEL_SAP),
    NUMBERS(icf_surface, law, 0, ICF_LAW_CUSTOM),
    ANY(icf_surface, by_force, int32_t),
    REALS(icf_surface, velocity, FINITE),
    REALS(icf_surface, tangent, FINITE),
    REALS(icf_surface, stiffness, FROM_ZERO),
    REALS(icf_surface, dissipation, FROM_ZERO),
    REALS(icf_surface, relaxation, FROM_ZERO),
    REALS(icf_surface, range, FINITE),
    REALS(icf_surface, near_rigid, FINITE),
    REALS(icf_surface, adhesion, FROM_ZERO),
    REALS(icf_surface, adhesion_range, FINITE),
    REALS(icf_surface, friction, FROM_ZERO),
    REALS(icf_surface, friction2, FINITE),
    REALS(icf_surface, friction_static, FINITE),
    REALS(icf_surface, slip_tolerance, ABOVE_ZERO),
    REALS(icf_surface, softness, FROM_ZERO),
    REALS(icf_surface, torsion, FROM_ZERO),
    REALS(icf_surface, rolling, FROM_ZERO),
    REALS(icf_surface, spin_tolerance, ABOVE_ZERO),
    ANY(icf_surface, custom, void*),
    ANY(icf_surface, user, void*),
    COOKIES(icf_surface, cookie),
};

static const field contact_fields[] = {
    ANY(icf_contact, link, int32_t),
    ANY(icf_contact, surface, int32_t),
    REALS(icf_contact, point, FINITE),
    REALS(icf_contact, normal, AXIS),
    REALS(icf_contact, distance, FINITE),
    REALS(icf_contact, force, FINITE),
    REALS(icf_contact, weight, FROM_ZERO),
    REALS(icf_contact, effective_mass_inverse, FROM_ZERO),
    REALS(icf_contact, pull, FINITE),
    REALS(icf_contact, twist, FINITE),
    REALS(icf_contact, impulse_guess, FINITE),
    REALS(icf_contact, lag, FROM_ZERO),
    COOKIES(icf_contact, cookie),
};

static const field row_fields[] = {
    NUMBERS(icf_row, kind, 0, ICF_ROW_QUADRATIC),
    ANY(icf_row, link, int32_t),
    ANY(icf_row, row, int32_t),
    REALS(icf_row, distance, FINITE),
    REALS(icf_row, sign, FINITE),
    REALS(icf_row, stiffness, FROM_ZERO),
    REALS(icf_row, relaxation, FROM_ZERO),
    REALS(icf_row, near_rigid, FROM_ZERO),
    REALS(icf_row, damping, FROM_ZERO),
    REALS(icf_row, error, FINITE),
    REALS(icf_row, target, FINITE),
    REALS(icf_row, feedforward, FINITE),
    REALS(icf_row, effort, FINITE),
    REALS(icf_row, slip_tolerance, ABOVE_ZERO),
    REALS(icf_row, softness, FROM_ZERO),
    REALS(icf_row, weight, FROM_ZERO),
    COOKIES(icf_row, cookie),
};

static const field options_fields[] = {
    REALS(icf_options, tolerance, FROM_ZERO),
    REALS(icf_options, energy, FROM_ZERO),
    NUMBERS(icf_options, iterations, 0, INT32_MAX),
    NUMBERS(icf_options, factorizations, 0, INT32_MAX),
    NUMBERS(icf_options, passes, 0, INT32_MAX),
    ANY(icf_options, iterative, int32_t),
    ANY(icf_options, should_stop, void*),
    ANY(icf_options, user, void*),
    POINTER(icf_options, history),
    COUNTS(icf_options, history_capacity),
    POINTER(icf_options, island),
    COUNTS(icf_options, island_capacity),
    ANY(icf_options, island_of, void*),
    COOKIES(icf_options, cookie),
};

static const field problem_fields[] = {
    REALS(icf_problem, dt, ABOVE_ZERO),
    COUNTS(icf_problem, cliques),
    POINTER(icf_problem, clique_sizes),
    MAYBE(icf_problem, clique_is_body),
    POINTER(icf_problem, mass),
    MAYBE(icf_problem, mass_factor),
    POINTER(icf_problem, v_free),
    MAYBE(icf_problem, v_last),
    COUNTS(icf_problem, couplings),
    POINTER(icf_problem, coupling_pairs),
    POINTER(icf_problem, coupling_blocks),
    MAYBE(icf_problem, mass_bound),
    COUNTS(icf_problem, links),
    POINTER(icf_problem, link_rows),
    POINTER(icf_problem, link_start),
    POINTER(icf_problem, block_clique),
    MAYBE(icf_problem, block_columns),
    MAYBE(icf_problem, block_lever),
    POINTER(icf_problem, blocks),
    MAYBE(icf_problem, link_bias),
    COUNTS(icf_problem, surfaces),
    COUNTS(icf_problem, contacts),
    COUNTS(icf_problem, rows),
    POINTER(icf_problem, surface),
    POINTER(icf_problem, contact),
    POINTER(icf_problem, row),
};

static const field world_fields[] = {
    ROOM(icf_world_def, bodies, 0x3ffffff),
    ROOM(icf_world_def, joints, 0x3ffffff),
    ROOM(icf_world_def, constraints, 0x3ffffff),
    ROOM(icf_world_def, contacts, 0x3ffffff),
    NUMBERS(icf_world_def, tree, 0, 46000),
    ANY(icf_world_def, solver, size_t),
    REALS(icf_world_def, gravity, FINITE),
    NUMBERS(icf_world_def, method, 0, ICF_METHOD_IMPLICIT_EULER),
    NUMBERS(icf_world_def, substeps, 1, 1000000),
    NUMBERS(icf_world_def, model, 0, ICF_MODEL_SAP),
    NUMBERS(icf_world_def, settle, 0, 1),
    NUMBERS(icf_world_def, anchors, 0, 1),
    REALS(icf_world_def, tolerance, FROM_ZERO),
    NUMBERS(icf_world_def, iterations, 0, INT32_MAX),
    NUMBERS(icf_world_def, passes, 0, INT32_MAX),
    COOKIES(icf_world_def, cookie),
};

static const field body_fields[] = {
    NUMBERS(icf_body_def, kind, 0, ICF_BODY_KINEMATIC),
    NUMBERS(icf_body_def, locks, 0, 63),
    REALS(icf_body_def, pose.q, AXIS),
    REALS(icf_body_def, pose.p, FINITE),
    REALS(icf_body_def, velocity, FINITE),
    REALS(icf_body_def, angular_velocity, FINITE),
    REALS(icf_body_def, mass, FROM_ZERO),
    REALS(icf_body_def, center, FINITE),
    REALS(icf_body_def, inertia, FINITE),
    REALS(icf_body_def, linear_damping, FROM_ZERO),
    REALS(icf_body_def, angular_damping, FROM_ZERO),
    REALS(icf_body_def, gravity_scale, FINITE),
    ANY(icf_body_def, user, uint64_t),
    COOKIES(icf_body_def, cookie),
};

static const field joint_fields[] = {
    NUMBERS(icf_joint_def, kind, 0, ICF_JOINT_WELD),
    ANY(icf_joint_def, parent, uint32_t),
    ANY(icf_joint_def, child, uint32_t),
    REALS(icf_joint_def, parent_frame.q, AXIS),
    REALS(icf_joint_def, parent_frame.p, FINITE),
    REALS(icf_joint_def, child_frame.q, AXIS),
    REALS(icf_joint_def, child_frame.p, FINITE),
    REALS(icf_joint_def, position, FINITE),
    REALS(icf_joint_def, velocity, FINITE),
    REALS(icf_joint_def, rest, FINITE),
    REALS(icf_joint_def, stiffness, FROM_ZERO),
    REALS(icf_joint_def, damping, FROM_ZERO),
    REALS(icf_joint_def, rotor_inertia, FROM_ZERO),
    REALS(icf_joint_def, gear_ratio, FINITE),
    REALS(icf_joint_def, dry_friction, FROM_ZERO),
    REALS(icf_joint_def, lower, FINITE),
    REALS(icf_joint_def, upper, FINITE),
    REALS(icf_joint_def, motor_stiffness, FROM_ZERO),
    REALS(icf_joint_def, motor_damping, FROM_ZERO),
    REALS(icf_joint_def, target, FINITE),
    REALS(icf_joint_def, target_velocity, FINITE),
    REALS(icf_joint_def, feedforward, FINITE),
    REALS(icf_joint_def, effort, FINITE),
    ANY(icf_joint_def, user, uint64_t),
    COOKIES(icf_joint_def, cookie),
};

static const field constraint_fields[] = {
    NUMBERS(icf_constraint_def, kind, 0, ICF_CONSTRAINT_COUPLER),
    ANY(icf_constraint_def, a, uint32_t),
    ANY(icf_constraint_def, b, uint32_t),
    REALS(icf_constraint_def, a_frame.q, AXIS),
    REALS(icf_constraint_def, a_frame.p, FINITE),
    REALS(icf_constraint_def, b_frame.q, AXIS),
    REALS(icf_constraint_def, b_frame.p, FINITE),
    REALS(icf_constraint_def, lower, FROM_ZERO),
    REALS(icf_constraint_def, upper, FROM_ZERO),
    REALS(icf_constraint_def, stiffness, FROM_ZERO),
    REALS(icf_constraint_def, damping, FROM_ZERO),
    REALS(icf_constraint_def, length, FROM_ZERO),
    ANY(icf_constraint_def, joints, int32_t),
    ANY(icf_constraint_def, joint, uint32_t),
    ANY(icf_constraint_def, number, int32_t),
    REALS(icf_constraint_def, ratio, FINITE),
    REALS(icf_constraint_def, offset, FINITE),
    ANY(icf_constraint_def, user, uint64_t),
    COOKIES(icf_constraint_def, cookie),
};

static const field touch_fields[] = {
    ANY(icf_touch, a, uint32_t),     ANY(icf_touch, b, uint32_t),  REALS(icf_touch, point, FINITE),
    REALS(icf_touch, reach, FINITE), ANY(icf_touch, id, uint64_t), /* and contact */
};

static const field shape_fields[] = {
    NUMBERS(icf_shape, kind, 0, ICF_SHAPE_HALF_SPACE),
    ANY(icf_shape, data, int32_t),
    REALS(icf_shape, radius, FINITE),
    REALS(icf_shape, half.x, FINITE),
    REALS(icf_shape, half.y, FINITE),
    REALS(icf_shape, half.z, FINITE),
    REALS(icf_shape, pose.q, AXIS),
    REALS(icf_shape, pose.p, FINITE),
};

/* behind the shape */
static const field collider_fields[] = {
    ANY(icf_collider_def, body, uint32_t),
    REALS(icf_collider_def, material.stiffness, FROM_ZERO),
    REALS(icf_collider_def, material.dissipation, FROM_ZERO),
    REALS(icf_collider_def, material.relaxation, FROM_ZERO),
    REALS(icf_collider_def, material.friction, FROM_ZERO),
    REALS(icf_collider_def, material.friction_static, FINITE),
    REALS(icf_collider_def, material.torsion, FROM_ZERO),
    REALS(icf_collider_def, material.rolling, FROM_ZERO),
    REALS(icf_collider_def, surface_velocity, FINITE),
    ANY(icf_collider_def, category, uint32_t),
    ANY(icf_collider_def, mask, uint32_t),
    ANY(icf_collider_def, group, int32_t),
    ANY(icf_collider_def, sensor, int32_t),
    ANY(icf_collider_def, user, uint64_t),
    COOKIES(icf_collider_def, cookie),
};

/* behind the def of the world */
static const field scene_fields[] = {
    ROOM(icf_scene_def, colliders, 0x1ffffff),
    ROOM(icf_scene_def, pairs, 0x1ffffff),
    NUMBERS(icf_scene_def, points, 1, ICF_MANIFOLD_POINTS),
    REALS(icf_scene_def, margin, FROM_ZERO),
    COOKIES(icf_scene_def, cookie),
};

static const field broad_fields[] = {
    FIELD(icf_broad_phase_def, proxies_most, int32_t, RANGE, 1, 1 << 27, ICF_RESULT_TOO_SMALL),
    ROOM(icf_broad_phase_def, pairs_most, INT32_MAX),
    REALS(icf_broad_phase_def, margin, FROM_ZERO),
    REALS(icf_broad_phase_def, fraction, FROM_ZERO),
    COOKIES(icf_broad_phase_def, cookie),
};

/* Something that stands in front: one field of all its bytes */
static void check_complete_behind(const char* name, size_t front, const field* table, size_t count,
                                  size_t bytes)
{
    field all[40];
    field first = {"front", 0, 0, 8, FREE, 0, 0, ICF_RESULT_OK};
    first.bytes = front;
    all[0] = first;
    memcpy(all + 1, table, count * sizeof *table);
    check_complete(name, all, count + 1, bytes);
}

static void test_tables_list_every_field(void)
{
#define COMPLETE(type, table) check_complete(#type, table, COUNT_OF(table), sizeof(type))
    COMPLETE(icf_surface, surface_fields);
    COMPLETE(icf_contact, contact_fields);
    COMPLETE(icf_row, row_fields);
    COMPLETE(icf_options, options_fields);
    COMPLETE(icf_problem, problem_fields);
    COMPLETE(icf_world_def, world_fields);
    COMPLETE(icf_body_def, body_fields);
    COMPLETE(icf_joint_def, joint_fields);
    COMPLETE(icf_constraint_def, constraint_fields);
    COMPLETE(icf_shape, shape_fields);
    COMPLETE(icf_broad_phase_def, broad_fields);
    check_complete("icf_touch", touch_fields, COUNT_OF(touch_fields), offsetof(icf_touch, contact));
    TEST_CHECK(sizeof(icf_touch) - offsetof(icf_touch, contact) - sizeof(icf_contact) <
               sizeof(uint64_t));
    check_complete_behind("icf_collider_def", sizeof(icf_shape), collider_fields,
                          COUNT_OF(collider_fields), sizeof(icf_collider_def));
    check_complete_behind("icf_scene_def", sizeof(icf_world_def), scene_fields,
                          COUNT_OF(scene_fields), sizeof(icf_scene_def));
}

// ------------------------------------------------------------------------------------------------
// Contacts and rows by themselves

static icf_surface a_surface;
static icf_contact a_contact;
static icf_contact_term a_contact_term;
static icf_row a_row;
static icf_row_term a_row_term;

/* dt, w, v0 */
typedef struct term_numbers {
    icf_real dt, w, v0[3];
} term_numbers;
static term_numbers term_given;

static const field term_fields[] = {
    REALS(term_numbers, dt, ABOVE_ZERO),
    REALS(term_numbers, w, FROM_ZERO),
    REALS(term_numbers, v0, FINITE),
};

/* A spring, f = 1000 (-phi)+ */
static void spring_law(void* user, icf_real dt, icf_real distance, icf_real v, icf_real out[3])
{
    icf_real x = -distance - dt * v;
    (void)user;
    if (!(x > 0)) x = 0;
    out[0] = 500 * x * x;
    out[1] = dt * 1000 * x;
    out[2] = x > 0 ? -1000 * dt * dt : 0;
}

static icf_result call_contact_term(void)
{
    return icf_contact_term_make(&a_surface, &a_contact, term_given.dt, term_given.w, term_given.v0,
                                 &a_contact_term);
}

static uint64_t contact_term_state(void)
{
    return hash_bytes(7, &a_contact_term, sizeof a_contact_term);
}

static icf_result call_row_term(void)
{
    return icf_row_term_make(&a_row, term_given.dt, term_given.w, &a_row_term);
}

static uint64_t row_term_state(void)
{
    return hash_bytes(7, &a_row_term, sizeof a_row_term);
}

static icf_surface good_surface(int32_t model, int32_t law)
{
    icf_surface f = icf_default_surface();
    f.model = model;
    f.law = law;
    f.custom = spring_law;
    return f;
}

/* One that every law takes */
static icf_contact good_contact(void)
{
    icf_contact c = icf_default_contact();
    c.distance = R(1e-4);
    return c;
}

static void good_term_numbers(void)
{
    term_given.dt = R(0.01);
    term_given.w = 1;
    term_given.v0[0] = R(0.1);
    term_given.v0[1] = R(0.2);
    term_given.v0[2] = -R(0.1);
}

static int is_barrier(int32_t law)
{
    return law == ICF_LAW_IPC_BARRIER || law == ICF_LAW_LOG_BARRIER;
}

static void surface_rules(field* table, int32_t model, int32_t law)
{
    memcpy(table, surface_fields, sizeof surface_fields);
    if (model == ICF_MODEL_SAP) rule_of(table, COUNT_OF(surface_fields), "softness", ABOVE_ZERO);
    if (model != ICF_MODEL_SAP && is_barrier(law))
        rule_of(table, COUNT_OF(surface_fields), "range", ABOVE_ZERO);
    if (model != ICF_MODEL_SAP && law == ICF_LAW_CUSTOM)
        rule_of(table, COUNT_OF(surface_fields), "custom", NEEDED);
}

static void expect_contact(const char* what, icf_surface f, icf_contact c, icf_result expected)
{
    uint64_t before = contact_term_state();
    icf_result result;
    a_surface = f;
    a_contact = c;
    result = call_contact_term();
    TEST_CHECK_(result == expected, "%s: %s, not %s", what, icf_result_string(result),
                icf_result_string(expected));
    if (expected < 0) TEST_CHECK_(contact_term_state() == before, "%s: changed", what);
}

static void test_fields_of_contacts(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT, ok = ICF_RESULT_OK;
    subject s = {"icf_contact_term_make", (unsigned char*)&a_contact, call_contact_term,
                 contact_term_state,      ICF_RESULT_NOT_FINITE,      NULL};
    static field table[COUNT_OF(surface_fields)];
    int32_t model, law;
    good_term_numbers();
    for (model = 0; model <= ICF_MODEL_SAP; model++) {
        for (law = 0; law <= ICF_LAW_CUSTOM; law++) {
            const int sap = model == ICF_MODEL_SAP;
            const int linear = sap || law == ICF_LAW_HUNT_CROSSLEY || law == ICF_LAW_KELVIN_VOIGT;
            icf_surface f = good_surface(model, law);
            icf_contact c = good_contact();
            a_surface = f;
            a_contact = c;
            s.given = (unsigned char*)&a_contact;
            damage_all(&s, contact_fields, COUNT_OF(contact_fields), 0);
            surface_rules(table, model, law);
            s.given = (unsigned char*)&a_surface;
            damage_all(&s, table, COUNT_OF(table), 0);

            c.distance = 0;
            expect_contact("at distance 0", f, c,
                           !sap && is_barrier(law) ? ICF_RESULT_INFEASIBLE : ok);
            c = good_contact();
            f.friction2 = R(0.4);
            expect_contact("friction2", f, c, sap ? bad : ok);
            f.friction2 = f.friction;
            expect_contact("friction2 equal", f, c, ok);
            f.friction = f.friction2 = 0;
            expect_contact("friction2 0 and equal", f, c, ok);
            f.friction = R(0.1);
            expect_contact("friction2 0", f, c, sap ? bad : ok);

            /* by force: those laws whose force is linear in it */
            f = good_surface(model, law);
            f.by_force = 1;
            c.force = 3;
            expect_contact("by force", f, c, linear ? ok : bad);
            c.weight = 0;
            expect_contact("by force, weight 0", f, c, linear ? ok : bad);
            c.weight = 1;
            f.stiffness = 0;
            expect_contact("by force, stiffness 0", f, c,
                           !sap && law == ICF_LAW_HUNT_CROSSLEY ? ok : bad);
        }
    }
    /* vectors that are no axes */
    for (law = 0; law < 6; law++) {
        static const struct {
            icf_real normal[3], tangent[3];
            int good;
        } axes[6] = {
            {{0, 0, 2},           {0, 0, 0},      0},
            {{0, 0, 1},           {0, 0, 2},      1},
            {{0, 0, 1},           {0, 0, 1},      1},
            {{0, 0, R(0.9)},      {0, R(0.9), 0}, 0},
            {{0, R(0.995), 0},    {1, 0, 0},      1},
            {{R(0.6), R(0.8), 0}, {1, 0, 0},      1},
        };
        const icf_real *n = axes[law].normal, *t = axes[law].tangent;
        icf_surface f = good_surface(ICF_MODEL_LAGGED, ICF_LAW_HUNT_CROSSLEY);
        icf_contact c = good_contact();
        c.normal = icf_vec3_make(n[0], n[1], n[2]);
        f.tangent = icf_vec3_make(t[0], t[1], t[2]);
        expect_contact("axes", f, c, axes[law].good ? ok : bad);
    }
    a_surface = good_surface(ICF_MODEL_LAGGED, ICF_LAW_HUNT_CROSSLEY);
    a_contact = good_contact();
    s.given = (unsigned char*)&term_given;
    damage_all(&s, term_fields, COUNT_OF(term_fields), 0);
    EXPECT(icf_contact_term_make(NULL, &a_contact, 1, 1, term_given.v0, &a_contact_term), bad);
    EXPECT(icf_contact_term_make(&a_surface, NULL, 1, 1, term_given.v0, &a_contact_term), bad);
    EXPECT(icf_contact_term_make(&a_surface, &a_contact, 1, 1, NULL, &a_contact_term), bad);
    EXPECT(icf_contact_term_make(&a_surface, &a_contact, 1, 1, term_given.v0, NULL), bad);
}

static void row_rules(field* table, int32_t kind)
{
    memcpy(table, row_fields, sizeof row_fields);
    if (kind == ICF_ROW_DRY_FRICTION) rule_of(table, COUNT_OF(row_fields), "effort", FROM_ZERO);
}

static void test_fields_of_rows(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    subject s = {"icf_row_term_make", (unsigned char*)&a_row, call_row_term,
                 row_term_state,      ICF_RESULT_NOT_FINITE,  NULL};
    static field table[COUNT_OF(row_fields)];
    int32_t kind, k;
    good_term_numbers();
    for (kind = 0; kind <= ICF_ROW_QUADRATIC; kind++) {
        int rigid = kind == ICF_ROW_LIMIT || kind == ICF_ROW_HOLONOMIC;
        icf_row good = icf_default_row((icf_row_kind)kind);
        good.stiffness = 10;
        good.near_rigid = 1;
        good.effort = 1;
        row_rules(table, kind);
        a_row = good;
        damage_all(&s, table, COUNT_OF(table), 0);
        for (k = -1; k <= 1; k++) {
            a_row = good;
            a_row.sign = (icf_real)k;
            EXPECT(call_row_term(), kind == ICF_ROW_LIMIT && k == 0 ? bad : ICF_RESULT_OK);
        }
        a_row = good;
        a_row.sign = R(1.5);
        EXPECT(call_row_term(), kind == ICF_ROW_LIMIT ? bad : ICF_RESULT_OK);
        a_row = good;
        a_row.stiffness = a_row.near_rigid = 0;
        EXPECT(call_row_term(), rigid ? bad : ICF_RESULT_OK);
        a_row = good;
        a_row.effort = -1;
        EXPECT(call_row_term(), kind == ICF_ROW_DRY_FRICTION ? bad : ICF_RESULT_OK);
    }
    a_row = icf_default_row(ICF_ROW_LIMIT);
    s.given = (unsigned char*)&term_given;
    damage_all(&s, term_fields, 2, 0);
    EXPECT(icf_row_term_make(NULL, 1, 1, &a_row_term), bad);
    EXPECT(icf_row_term_make(&a_row, 1, 1, NULL), bad);
}

typedef struct law_numbers {
    icf_real dt, distance, v;
} law_numbers;
static law_numbers law_given;

static const field law_fields[] = {
    REALS(law_numbers, dt, FINITE),
    REALS(law_numbers, distance, FINITE),
    REALS(law_numbers, v, FINITE),
};

static icf_result call_law_check(void)
{
    return icf_law_check(spring_law, NULL, law_given.dt, law_given.distance, law_given.v);
}

static uint64_t no_state(void)
{
    return 0;
}

static void test_law_check(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    subject s = {"icf_law_check", (unsigned char*)&law_given, call_law_check,
                 no_state,        ICF_RESULT_NOT_FINITE,      NULL};
    law_given.dt = R(0.01);
    law_given.distance = -R(1e-3);
    law_given.v = -1;
    damage_all(&s, law_fields + 1, 2, 0);
    EXPECT(icf_law_check(spring_law, NULL, R(INFINITY), 0, 0), ICF_RESULT_NOT_FINITE);
    EXPECT(icf_law_check(spring_law, NULL, 0, 0, 0), bad);
    EXPECT(icf_law_check(spring_law, NULL, -1, 0, 0), bad);
    EXPECT(icf_law_check(NULL, NULL, 1, 0, 0), bad);
    OK(icf_law_check(spring_law, NULL, R(0.01), 0, 0));
}

// ------------------------------------------------------------------------------------------------
// A problem: two cliques, of a body and of three velocities, that a link of six rows reads both, and one of
// three reads the second alone; a contact on each link, and a row on each

enum { UNKNOWNS = 9, MASSES = 36 + 9, BLOCKS = 36 + 18 + 9 };

static struct {
    icf_problem p;
    icf_options options;
    icf_iteration history[4];
    icf_island island[4];
    int32_t island_of[2], sizes[2], pairs[2], rows[2], start[3], clique[3];
    icf_real mass[MASSES], bound[MASSES], v_free[UNKNOWNS], v_last[UNKNOWNS], v[UNKNOWNS];
    icf_real coupling[18], blocks[BLOCKS], bias[9];
    icf_surface surface[2];
    icf_contact contact[2];
    icf_row row[2];
    icf_workspace w;
    icf_stats stats;
} q;

static void problem_make(void)
{
    int i, j;
    icf_workspace w = q.w;
    memset(&q, 0, sizeof q);
    q.w = w;
    q.p = icf_default_problem();
    q.options = icf_default_options();
    q.options.history = q.history;
    q.options.history_capacity = 4;
    q.options.island = q.island;
    q.options.island_capacity = 4;
    q.options.island_of = q.island_of;
    q.sizes[0] = 6;
    q.sizes[1] = 3;
    for (i = 0; i < 6; i++) {
        for (j = 0; j < 6; j++) q.mass[6 * i + j] = i == j ? 2 : R(0.125);
    }
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) q.mass[36 + 3 * i + j] = i == j ? 1 : R(0.0625);
    }
    for (i = 0; i < MASSES; i++) q.bound[i] = q.mass[i] / 2;
    for (i = 0; i < 18; i++) q.coupling[i] = R(0.01);
    for (i = 0; i < UNKNOWNS; i++) {
        q.v_free[i] = R(0.1) * (icf_real)(i - 4);
        q.v_last[i] = q.v[i] = R(0.05) * (icf_real)(4 - i);
    }
    q.pairs[1] = 1;
    q.rows[0] = 6;
    q.rows[1] = 3;
    q.start[1] = 2;
    q.start[2] = 3;
    q.clique[1] = q.clique[2] = 1;
    for (i = 0; i < 6; i++) q.blocks[6 * i + i] = 1;
    for (i = 0; i < 3; i++) {
        q.blocks[36 + 3 * i + i] = -1;
        q.blocks[54 + 3 * i + i] = 1;
    }
    for (i = 0; i < 9; i++) q.bias[i] = R(0.001) * (icf_real)i;
    for (i = 0; i < 2; i++) {
        q.surface[i] = good_surface(ICF_MODEL_LAGGED, ICF_LAW_HUNT_CROSSLEY);
        q.contact[i] = good_contact();
        q.contact[i].surface = i;
        q.contact[i].link = i;
        q.row[i] = icf_default_row(ICF_ROW_QUADRATIC);
        q.row[i].weight = R(0.1);
        q.row[i].link = i;
        q.row[i].row = q.rows[i] - 1;
    }
    q.p.dt = R(0.01);
    q.p.cliques = q.p.links = q.p.surfaces = q.p.contacts = q.p.rows = 2;
    q.p.surface = q.surface;
    q.p.couplings = 1;
    q.p.clique_sizes = q.sizes;
    q.p.mass = q.mass;
    q.p.mass_bound = q.bound;
    q.p.v_free = q.v_free;
    q.p.v_last = q.v_last;
    q.p.coupling_pairs = q.pairs;
    q.p.coupling_blocks = q.coupling;
    q.p.link_rows = q.rows;
    q.p.link_start = q.start;
    q.p.block_clique = q.clique;
    q.p.blocks = q.blocks;
    q.p.link_bias = q.bias;
    q.p.contact = q.contact;
    q.p.row = q.row;
    if (!q.w.memory) OK(icf_workspace_reserve(&q.w, &q.p));
}

static icf_result call_solve(void)
{
    icf_real v[UNKNOWNS];
    icf_result result;
    memcpy(v, q.v, sizeof v);
    result = icf_solve(&q.p, &q.options, &q.w, v, &q.stats);
    if (result < 0 && memcmp(v, q.v, sizeof v) != 0)
        return ICF_RESULT_NO_FACTOR; /* no such answer */
    if (result < 0 && q.stats.part == ICF_PART_NONE) return ICF_RESULT_NO_FACTOR;
    if (q.stats.part >= ICF_PART_SURFACE) {
        const char* r = q.stats.reason;
        if (!r) return ICF_RESULT_NO_FACTOR;
        if ((result == ICF_RESULT_NOT_FINITE) != !strcmp(r, "a number that is not finite"))
            return ICF_RESULT_NO_FACTOR;
        if ((result == ICF_RESULT_BAD_DEF) != !strncmp(r, "not from icf_default_", 21))
            return ICF_RESULT_NO_FACTOR;
    }
    /* a budget of 0 ends at once, and that is no refusal */
    return result == ICF_RESULT_NOT_CONVERGED ? ICF_RESULT_OK : result;
}

static uint64_t solve_state(void)
{
    return hash_bytes(3, q.history, sizeof q.history) ^ hash_bytes(5, q.island, sizeof q.island) ^
           hash_bytes(9, q.island_of, sizeof q.island_of);
}

static subject solve_subject(void* given)
{
    subject s = {"icf_solve", NULL, call_solve, solve_state, ICF_RESULT_NOT_FINITE, NULL};
    s.given = (unsigned char*)given;
    return s;
}

/* Which part a refusal is of, and which one */
static void check_part(const char* what, size_t k, icf_part part, int32_t which)
{
    TEST_CHECK_(q.stats.part == part && q.stats.which == which,
                "%s[%d]: refused as of part %d, %d, not %d, %d", what, (int)k, (int)q.stats.part,
                (int)q.stats.which, (int)part, (int)which);
}

static void test_solve_fields(void)
{
    static field table[COUNT_OF(surface_fields)];
    subject s;
    int i;
    problem_make();
    s = solve_subject(&q.options);
    damage_all(&s, options_fields, COUNT_OF(options_fields), 0);
    s = solve_subject(&q.p);
    damage_all(&s, problem_fields, COUNT_OF(problem_fields), 0);
    for (i = 0; i < 2; i++) {
        int32_t kind;
        problem_make();
        memcpy(table, contact_fields, sizeof contact_fields);
        if (i) rule_of(table, COUNT_OF(contact_fields), "point", FREE); /* a link of three rows */
        s = solve_subject(&q.contact[i]);
        damage_all(&s, table, COUNT_OF(contact_fields), 0);
        memcpy(table, surface_fields, sizeof surface_fields);
        if (i) { /* nor has it a spin */
            rule_of(table, COUNT_OF(surface_fields), "torsion", FREE);
            rule_of(table, COUNT_OF(surface_fields), "rolling", FREE);
        }
        s = solve_subject(&q.surface[i]);
        damage_all(&s, table, COUNT_OF(surface_fields), 0);
        q.surface[i].stiffness = -1;
        EXPECT(call_solve(), ICF_RESULT_BAD_ARGUMENT);
        check_part("surface", (size_t)i, ICF_PART_SURFACE, i);
        TEST_CHECK(q.stats.reason && !strcmp(q.stats.reason, "stiffness"));
        problem_make();
        q.contact[i].weight = -1;
        EXPECT(call_solve(), ICF_RESULT_BAD_ARGUMENT);
        check_part("contact", (size_t)i, ICF_PART_CONTACT, i);
        TEST_CHECK(q.stats.reason && !strcmp(q.stats.reason, "weight"));
        problem_make();
        for (kind = 0; kind <= ICF_ROW_QUADRATIC; kind++) {
            q.row[i].kind = kind;
            row_rules(table, kind);
            s = solve_subject(&q.row[i]);
            q.row[i].stiffness = 10;
            q.row[i].near_rigid = 1;
            damage_all(&s, table, COUNT_OF(row_fields), 0);
        }
        q.row[i].weight = -1;
        EXPECT(call_solve(), ICF_RESULT_BAD_ARGUMENT);
        check_part("row", (size_t)i, ICF_PART_ROW, i);
    }
    /* what may be missing */
    problem_make();
    memset(q.island, 0x5a, sizeof q.island);
    OK(call_solve());
    TEST_CHECK(q.stats.islands == 1 && q.island[0].cliques == 2 && q.island[0].links == 2);
    TEST_CHECK(q.island[0].cost == q.stats.cost && q.island[0].gradient == q.stats.gradient);
    TEST_CHECK(q.island[0].momentum_error == q.stats.momentum_error);
    TEST_CHECK(q.island[0].certificate == q.stats.certificate);
    TEST_CHECK(q.island[0].iterations == q.stats.iterations &&
               q.island[0].stop == (int32_t)q.stats.stop &&
               q.island[0].factorizations == q.stats.factorizations);
    q.p.v_last = NULL;
    OK(call_solve());
    q.p.link_bias = NULL;
    OK(call_solve());
    q.p.mass_bound = NULL;
    OK(call_solve());
    q.options.history = NULL;
    q.options.history_capacity = 0;
    OK(call_solve());
    q.options.island = NULL;
    q.options.island_capacity = 0;
    q.options.island_of = NULL;
    OK(call_solve());
    EXPECT(icf_solve(NULL, &q.options, &q.w, q.v, &q.stats), ICF_RESULT_BAD_ARGUMENT);
    EXPECT(icf_solve(&q.p, &q.options, NULL, q.v, &q.stats), ICF_RESULT_BAD_ARGUMENT);
    EXPECT(icf_solve(&q.p, &q.options, &q.w, NULL, &q.stats), ICF_RESULT_BAD_ARGUMENT);
    OK(icf_solve(&q.p, NULL, &q.w, q.v, NULL));
}

/* A body is 6 velocities and 7 numbers; a lever reads a body by 3 or 6 rows. */
static void test_bodies_and_levers(void)
{
    static const icf_real body[7] = {2, R(0.5), R(0.25), R(0.125), R(0.01), R(-0.02), R(0.03)};
    int32_t is_body[2] = {1, 0}, k, one = 1;
    icf_lever lever[4];
    icf_real x[18], w[9];
    for (k = -1; k < 18; k++) {
        icf_result expected = ICF_RESULT_BAD_ARGUMENT, asked = ICF_RESULT_BAD_ARGUMENT;
        icf_part part = ICF_PART_BLOCK;
        icf_lever* l = &lever[0];
        size_t length;
        problem_make();
        is_body[0] = 1;
        is_body[1] = 0;
        memset(lever, 0, sizeof lever);
        l->sign = k == 11 ? -1 : 1;
        memcpy(q.mass, body, sizeof body);
        memcpy(q.bound, body, sizeof body);
        for (one = 0; one < 9; one++) {
            q.mass[7 + one] = one % 4 ? 0 : 1;
            q.bound[7 + one] = one % 4 ? 0 : R(0.5);
        }
        for (one = 0; one < 7; one++) q.bound[one] /= 2;
        memset(q.blocks, 0, sizeof q.blocks);
        for (one = 0; one < 3; one++) q.blocks[3 * one + one] = q.blocks[18 + 4 * one] = 1;
        q.p.clique_is_body = is_body;
        q.p.block_lever = lever;
        switch (k) {
        case 0: q.mass[0] = 0; break;
        case 1: q.mass[1] = 0; break;
        case 2: q.mass[3] = R(-0.1); break;
        case 3: q.mass[4] = 1; break;
        case 4: q.bound[2] = 0; break;
        case 5: is_body[1] = 1; break;
        case 6: l->r.y = (icf_real)INFINITY; break;
        case 7: l->sign = (icf_real)NAN; break;
        case 8: l->sign = 2; break;
        case 9: lever[1].sign = 1; break;
        case 10: q.p.blocks = NULL; break;
        case 12: q.mass[6] = (icf_real)NAN; break;
        case 13: q.bound[0] = (icf_real)INFINITY; break;
        case 14: q.rows[0] = 5; break;
        case 15:
            for (one = 0; one < 45; one++)
                q.mass[one] = q.bound[one] = one < 36 ? one % 7 == 0 : one % 4 == 0;
            q.p.clique_is_body = NULL;
            break;
        case 16: lever[2].sign = -1; break;
        case 17: { /* an empty part, and a lever, of one clique */
            static const int32_t columns[8] = {0, 0, 0, 6, 0, 3, 0, 3}, of[4] = {0, 0, 1, 1};
            static const int32_t starts[3] = {0, 3, 4};
            lever[0].sign = 0;
            lever[1].sign = 1;
            q.p.block_columns = columns;
            q.p.block_clique = of;
            q.p.link_start = starts;
            break;
        }
        default: expected = asked = ICF_RESULT_OK; break;
        }
        if (k >= 0 && k < 5)
            expected = ICF_RESULT_NOT_SPD, part = ICF_PART_CLIQUE, asked = ICF_RESULT_OK;
        if (k == 5) part = ICF_PART_CLIQUE;
        if (k == 6) expected = ICF_RESULT_NOT_FINITE, asked = ICF_RESULT_OK;
        if (k == 10) part = ICF_PART_PROBLEM;
        if (k == 12 || k == 13)
            expected = ICF_RESULT_NOT_FINITE, part = ICF_PART_CLIQUE, asked = ICF_RESULT_OK;
        if (expected == ICF_RESULT_OK) part = ICF_PART_NONE;
        EXPECT(call_solve(), expected);
        check_part("bodies and levers", (size_t)k, part,
                   k == 5 || k == 9 || k == 17 ? 1
                   : k == 16                   ? 2
                                               : 0);
        EXPECT(icf_contact_jacobian(&q.p, 0, 0, x), k == 14 ? ICF_RESULT_BAD_ARGUMENT : asked);
        EXPECT(icf_problem_dump(&q.p, NULL, q.v, NULL, 0, &length), asked);
        if (asked == ICF_RESULT_OK && (k < 0 || k > 3) && k != 6 && k != 12)
            OK(icf_contact_delassus(&q.p, 0, 0, &q.w, w));
    }
}

/* A block reads columns that there are, and not those of the block before it; a factor has pivots above 0. */
static void test_columns_and_factors(void)
{
    static const int32_t cliques[4] = {0, 0, 1, 1};
    int32_t columns[8], start[3] = {0, 3, 4}, k, i;
    icf_real factor[MASSES];
    for (k = -1; k < 12; k++) {
        icf_result expected = ICF_RESULT_BAD_ARGUMENT;
        icf_part part = ICF_PART_BLOCK;
        int32_t which = 1;
        size_t length;
        problem_make(); /* its first block, 6 x 6, in two halves */
        q.p.mass_bound = NULL;
        q.p.block_columns = columns;
        q.p.block_clique = cliques;
        q.p.link_start = start;
        columns[0] = 0, columns[1] = columns[2] = columns[3] = 3;
        columns[4] = columns[6] = 0, columns[5] = columns[7] = 3;
        memcpy(factor, q.mass, sizeof factor);
        OK(icf_dense_factor(6, factor, 6, NULL));
        OK(icf_dense_factor(3, factor + 36, 3, NULL));
        q.p.mass_factor = factor;
        switch (k) {
        case 0: columns[2] = 4; break;
        case 1: columns[3] = 4; break;
        case 2: columns[3] = -1; break;
        case 3: columns[2] = 2; break;
        case 4: columns[0] = -1, which = 0; break;
        case 5: columns[6] = 1, which = 3; break;
        case 6: columns[2] = INT32_MAX; break;
        case 7: factor[7] = -1; break;
        case 8: factor[36] = (icf_real)NAN; break;
        case 9: factor[38] = (icf_real)INFINITY; break;
        case 10: factor[36] = 0; /* it is made */
        default: expected = ICF_RESULT_OK; break;
        }
        if (k >= 7 && k <= 9) expected = ICF_RESULT_NOT_SPD, part = ICF_PART_CLIQUE, which = k > 7;
        if (expected == ICF_RESULT_OK) part = ICF_PART_NONE, which = 0;
        EXPECT(call_solve(), expected);
        check_part("columns and factors", (size_t)k, part, which);
        EXPECT(icf_problem_dump(&q.p, NULL, q.v, NULL, 0, &length),
               k >= 0 && k < 7 ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_OK);
        for (i = 0; i < 6; i++) q.v[i] = 0;
    }
}

/* Every number of every array of a problem */
static void test_solve_arrays(void)
{
    static const double wrong[3] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    struct {
        const char* name;
        icf_real* x;
        int count;
        icf_part part;
    } arrays[] = {
        {"mass",            NULL, MASSES,   ICF_PART_CLIQUE  },
        {"mass_bound",      NULL, MASSES,   ICF_PART_CLIQUE  },
        {"v_free",          NULL, UNKNOWNS, ICF_PART_CLIQUE  },
        {"v_last",          NULL, UNKNOWNS, ICF_PART_CLIQUE  },
        {"v",               NULL, UNKNOWNS, ICF_PART_CLIQUE  },
        {"coupling_blocks", NULL, 18,       ICF_PART_COUPLING},
        {"blocks",          NULL, BLOCKS,   ICF_PART_BLOCK   },
        {"link_bias",       NULL, 9,        ICF_PART_LINK    }
    };
    int a, k, n;
    problem_make();
    arrays[0].x = q.mass;
    arrays[1].x = q.bound;
    arrays[2].x = q.v_free;
    arrays[3].x = q.v_last;
    arrays[4].x = q.v;
    arrays[5].x = q.coupling;
    arrays[6].x = q.blocks;
    arrays[7].x = q.bias;
    for (a = 0; a < (int)COUNT_OF(arrays); a++) {
        for (k = 0; k < arrays[a].count; k++) {
            int32_t which = a < 2    ? k >= 36
                            : a < 5  ? k >= 6
                            : a == 5 ? 0
                            : a == 6 ? (k >= 36) + (k >= 54)
                                     : k >= 6;
            for (n = 0; n < 3; n++) {
                icf_real old = arrays[a].x[k];
                arrays[a].x[k] = R(wrong[n]);
                TEST_CHECK_(call_solve() == ICF_RESULT_NOT_FINITE, "%s[%d]", arrays[a].name, k);
                check_part(arrays[a].name, (size_t)k, arrays[a].part, which);
                arrays[a].x[k] = old;
            }
        }
    }
    /* symmetric, and positive on the diagonal, of either size; nearly symmetric is enough */
    for (a = 0; a < 2; a++) {
        icf_real* m = a ? q.bound : q.mass;
        for (k = 0; k < MASSES; k++) {
            int size = k < 36 ? 6 : 3, at = k < 36 ? k : k - 36;
            int diagonal = at / size == at % size;
            icf_real old = m[k];
            m[k] = diagonal ? 0 : old + R(0.001);
            TEST_CHECK_(call_solve() == (diagonal ? ICF_RESULT_NOT_SPD : ICF_RESULT_NOT_SYMMETRIC),
                        "%s[%d]", arrays[a].name, k);
            check_part(arrays[a].name, (size_t)k, ICF_PART_CLIQUE, k >= 36);
            m[k] = diagonal ? -old : old * (1 + 4 * R(EPS));
            TEST_CHECK_(call_solve() == (diagonal ? ICF_RESULT_NOT_SPD : ICF_RESULT_OK), "%s[%d]",
                        arrays[a].name, k);
            m[k] = old;
        }
        /* positive on the diagonal, and yet not definite */
        m[37] = m[39] = 2;
        EXPECT(call_solve(), ICF_RESULT_NOT_SPD);
        check_part(arrays[a].name, 1, ICF_PART_CLIQUE, 1);
        problem_make();
    }
    OK(call_solve());
}

static icf_result call_jacobian(void)
{
    icf_real j[18];
    return icf_contact_jacobian(&q.p, 0, 0, j);
}

static icf_result call_push(void)
{
    static const icf_real impulse[3] = {1, 2, 3};
    icf_real b[UNKNOWNS];
    memset(b, 0, sizeof b);
    return icf_contact_push(&q.p, 0, impulse, b);
}

static icf_result call_dump(void)
{
    size_t length;
    return icf_problem_dump(&q.p, &q.options, q.v, NULL, 0, &length);
}

static icf_result call_reserve(void)
{
    icf_workspace w;
    icf_result result;
    memset(&w, 0, sizeof w);
    result = icf_workspace_reserve(&w, &q.p);
    icf_workspace_destroy(&w);
    return result;
}

/* Every integer of every array of a problem; who of solve, reserve, Jacobian, push and dump looks at it */
enum { SOLVE = 1, RESERVE = 2, JACOBIAN = 4, PUSH = 8, DUMP = 16, EVERYONE = 31 };

static void expect_problem(const char* what, int who, icf_part part, int32_t which)
{
    static icf_result (*const calls[5])(void) = {call_solve, call_reserve, call_jacobian, call_push,
                                                 call_dump};
    static const char* const names[5] = {"solve", "reserve", "jacobian", "push", "dump"};
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    int i;
    for (i = 0; i < 5; i++) {
        icf_result result, expected = who >> i & 1 ? bad : ICF_RESULT_OK;
        if (i > 0 && !(who >> i & 1)) continue;
        result = calls[i]();
        TEST_CHECK_(result == expected, "%s: %s: %s, not %s", what, names[i],
                    icf_result_string(result), icf_result_string(expected));
        if (i == 0 && expected == bad) check_part(what, 0, part, which);
    }
    problem_make();
}

static void test_solve_indices(void)
{
    const icf_part clique = ICF_PART_CLIQUE, link = ICF_PART_LINK, block = ICF_PART_BLOCK;
    const icf_part coupling = ICF_PART_COUPLING, contact = ICF_PART_CONTACT, row = ICF_PART_ROW;
    const int looks = SOLVE | RESERVE;
    int i, k;
    problem_make();
    for (i = 0; i < 2; i++) {
        q.sizes[i] = -1;
        expect_problem("a size of -1", EVERYONE, clique, i);
        q.rows[i] = 0;
        expect_problem("a link of 0 rows", EVERYONE, link, i);
        q.rows[i] = 7;
        expect_problem("a link of 7 rows", EVERYONE, link, i);
        q.pairs[i] = -1;
        expect_problem("a coupling of clique -1", looks | DUMP, coupling, 0);
        q.pairs[i] = 2;
        expect_problem("a coupling of clique 2", looks | DUMP, coupling, 0);
        q.contact[i].link = -1;
        expect_problem("a contact on link -1", SOLVE | DUMP | (i ? 0 : JACOBIAN | PUSH), contact,
                       i);
        q.contact[i].link = 2;
        expect_problem("a contact on link 2", SOLVE | DUMP | (i ? 0 : JACOBIAN | PUSH), contact, i);
        q.row[i].link = -1;
        expect_problem("a row of link -1", SOLVE | DUMP, row, i);
        q.row[i].link = 2;
        expect_problem("a row of link 2", SOLVE | DUMP, row, i);
        q.row[i].row = -1;
        expect_problem("row -1", SOLVE, row, i);
        q.row[i].row = q.rows[i];
        expect_problem("a row behind the last", SOLVE, row, i);
    }
    for (k = 0; k < 3; k++) {
        q.clique[k] = -1;
        expect_problem("a block of clique -1", EVERYONE, block, k);
        q.clique[k] = 2;
        expect_problem("a block of clique 2", EVERYONE, block, k);
    }
    q.clique[1] = 0;
    expect_problem("a link that reads a clique twice", looks, block, 1);
    q.pairs[1] = 0;
    expect_problem("a coupling with itself", looks, coupling, 0);
    q.start[0] = 1;
    expect_problem("links that start at 1", EVERYONE, link, 0);
    q.start[0] = -1;
    expect_problem("links that start at -1", EVERYONE, link, 0);
    q.start[1] = -1;
    expect_problem("a link that ends before it starts", EVERYONE, link, 0);
    q.start[1] = 4;
    expect_problem("a link that ends before it starts", EVERYONE, link, 1);
    q.rows[1] = 2;
    expect_problem("a contact on a link of two rows", SOLVE, contact, 1);
    q.rows[1] = 4;
    expect_problem("a contact on a link of four rows", SOLVE, contact, 1);
    for (k = 0; k < 5; k++) {
        icf_contact* c = q.contact + 1;
        icf_real* x[5];
        x[0] = &q.surface[1].torsion;
        x[1] = &q.surface[1].rolling;
        x[2] = &c->point.x;
        x[3] = &c->point.y;
        x[4] = &c->point.z;
        *x[k] = R(0.1);
        expect_problem("on a link of three rows", SOLVE, contact, 1);
    }
    q.pairs[0] = 1; /* either may be first */
    q.pairs[1] = 0;
    OK(call_solve());
    problem_make();
    q.p.links = q.p.contacts = q.p.rows = 0;
    OK(call_solve());
    q.p.couplings = 0;
    OK(call_solve());
    q.p.cliques = 0;
    OK(call_solve());
    problem_make();
    OK(call_solve());
}

static void test_solve_calls(void)
{
    static const icf_real impulse[3] = {1, 2, 3};
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    icf_real j[18], w9[9], b[UNKNOWNS];
    icf_contact_result contact;
    icf_row_result row;
    icf_workspace none;
    char text[8];
    size_t length = 0;
    int32_t i;
    memset(&none, 0, sizeof none);
    memset(b, 0, sizeof b);
    problem_make();
    OK(call_solve());
    for (i = -1; i <= 2; i++) {
        icf_result expected = i < 0 || i > 1 ? bad : ICF_RESULT_OK;
        memset(w9, 0, sizeof w9);
        EXPECT(icf_get_contact(&q.w, i, &contact), expected);
        EXPECT(icf_get_row(&q.w, i, &row), expected);
        EXPECT(icf_contact_jacobian(&q.p, i, 0, j), expected);
        EXPECT(icf_contact_jacobian(&q.p, 0, i, j), expected);
        EXPECT(icf_contact_push(&q.p, i, impulse, b), expected);
        EXPECT(icf_contact_delassus(&q.p, i, 0, &q.w, w9), expected);
        OK(call_solve());
        EXPECT(icf_contact_delassus(&q.p, 0, i, &q.w, w9), expected);
        TEST_CHECK(expected == ICF_RESULT_OK || (w9[0] == 0 && w9[8] == 0));
        OK(call_solve());
    }
    EXPECT(icf_get_contact(NULL, 0, &contact), bad);
    EXPECT(icf_get_contact(&q.w, 0, NULL), bad);
    EXPECT(icf_get_row(NULL, 0, &row), bad);
    EXPECT(icf_get_row(&q.w, 0, NULL), bad);
    EXPECT(icf_contact_jacobian(NULL, 0, 0, j), bad);
    EXPECT(icf_contact_jacobian(&q.p, 0, 0, NULL), bad);
    EXPECT(icf_contact_push(NULL, 0, impulse, b), bad);
    EXPECT(icf_contact_push(&q.p, 0, NULL, b), bad);
    EXPECT(icf_contact_push(&q.p, 0, impulse, NULL), bad);
    EXPECT(icf_contact_delassus(NULL, 0, 0, &q.w, w9), bad);
    EXPECT(icf_contact_delassus(&q.p, 0, 0, NULL, w9), bad);
    EXPECT(icf_contact_delassus(&q.p, 0, 0, &q.w, NULL), bad);
    OK(call_solve());
    OK(icf_sensitivity(&q.p, &q.w, b, 1, UNKNOWNS, NULL, NULL));
    EXPECT(icf_sensitivity(NULL, &q.w, b, 1, UNKNOWNS, NULL, NULL), bad);
    EXPECT(icf_sensitivity(&q.p, NULL, b, 1, UNKNOWNS, NULL, NULL), bad);
    EXPECT(icf_sensitivity(&q.p, &q.w, NULL, 1, UNKNOWNS, NULL, NULL), bad);
    EXPECT(icf_sensitivity(&q.p, &q.w, b, -1, UNKNOWNS, NULL, NULL), bad);
    EXPECT(icf_sensitivity(&q.p, &q.w, b, 1, UNKNOWNS - 1, NULL, NULL), bad);
    OK(icf_sensitivity(&q.p, &q.w, NULL, 0, UNKNOWNS, NULL, NULL));
    q.p.contacts = 1;
    EXPECT(icf_sensitivity(&q.p, &q.w, b, 1, UNKNOWNS, NULL, NULL), ICF_RESULT_BAD_STATE);
    q.p.contacts = 2;
    q.p.rows = 1;
    EXPECT(icf_sensitivity(&q.p, &q.w, b, 1, UNKNOWNS, NULL, NULL), ICF_RESULT_BAD_STATE);
    q.p.rows = 2;
    EXPECT(icf_get_contact(&none, 0, &contact), ICF_RESULT_BAD_STATE);
    EXPECT(icf_get_row(&none, 0, &row), ICF_RESULT_BAD_STATE);
    EXPECT(icf_sensitivity(&q.p, &none, b, 1, UNKNOWNS, NULL, NULL), ICF_RESULT_BAD_STATE);

    OK(icf_problem_dump(&q.p, &q.options, q.v, NULL, 0, &length));
    TEST_CHECK(length > sizeof text);
    EXPECT(icf_problem_dump(NULL, &q.options, q.v, NULL, 0, &length), bad);
    TEST_CHECK(length == 0);
    EXPECT(icf_problem_dump(&q.p, &q.options, NULL, NULL, 0, &length), bad);
    EXPECT(icf_problem_dump(&q.p, &q.options, q.v, NULL, 0, NULL), bad);
    EXPECT(icf_problem_dump(&q.p, &q.options, q.v, NULL, 1, &length), bad);
    memset(text, 'x', sizeof text);
    EXPECT(icf_problem_dump(&q.p, &q.options, q.v, text, sizeof text, &length),
           ICF_RESULT_TOO_SMALL);
    TEST_CHECK(length > sizeof text && text[0] == 'x' && text[7] == 'x');
    q.options.cookie++;
    EXPECT(icf_problem_dump(&q.p, &q.options, q.v, NULL, 0, &length), ICF_RESULT_BAD_DEF);
    q.options.cookie--;
    q.surface[1].cookie++;
    EXPECT(call_dump(), ICF_RESULT_BAD_DEF);
    q.surface[1].cookie--;
    q.row[1].cookie++;
    EXPECT(call_dump(), ICF_RESULT_BAD_DEF);
    q.row[1].cookie--;
    q.surface[1].law = ICF_LAW_CUSTOM;
    EXPECT(call_dump(), ICF_RESULT_BAD_LAW);
    q.surface[1].model = ICF_MODEL_SAP;
    OK(call_dump());

    EXPECT(icf_workspace_reserve(NULL, &q.p), bad);
    EXPECT(icf_workspace_reserve(&none, NULL), bad);
    EXPECT(icf_workspace_init(NULL, j, sizeof j), bad);
    EXPECT(icf_workspace_init(&none, NULL, 8), bad);
    EXPECT(icf_workspace_init(&none, (char*)j + 1, 8), ICF_RESULT_MISALIGNED);
    OK(icf_workspace_init(&none, j, sizeof j));
    EXPECT(icf_workspace_reserve(&none, &q.p), ICF_RESULT_BAD_STATE);
    EXPECT(icf_solve(&q.p, NULL, &none, q.v, NULL), ICF_RESULT_TOO_SMALL);
    icf_workspace_destroy(&q.w);
}

// ------------------------------------------------------------------------------------------------
// Worlds

/* A world with everything in it, made by its script: bodies in slots 0 to 7, of which 5 was destroyed and is
   free, and 6 is there again; joints 0 to 3 planar, 4 free, 5 a ball joint made again, and so on. */
typedef struct place {
    icf_world w;
    icf_body body[10], destroyed, before;
    icf_joint joint[6], joint_destroyed, joint_before;
    icf_constraint constraint[4], constraint_destroyed, constraint_before;
} place;
static place here;

static icf_body_def a_body_def;
static icf_joint_def a_joint_def;
static icf_constraint_def a_constraint_def;
static icf_world_def a_world_def;
static icf_touch a_touch;
static icf_body named_body;
static icf_joint named_joint;
static icf_constraint named_constraint;

static uint64_t here_state(void)
{
    uint64_t hash = icf_world_hash(&here.w);
    hash = hash_bytes(hash, &named_body, sizeof named_body);
    hash = hash_bytes(hash, &named_joint, sizeof named_joint);
    return hash_bytes(hash, &named_constraint, sizeof named_constraint);
}

static icf_joint_def planar_between(icf_body parent, icf_body child)
{
    icf_joint_def d = icf_default_joint_def(ICF_JOINT_PLANAR);
    d.parent = parent;
    d.child = child;
    return d;
}

static void here_end(void)
{
    icf_world_destroy(&here.w);
    refused_which = NULL;
}

static void here_make(void)
{
    icf_world_def w = icf_default_world_def();
    icf_body_def b = icf_default_body_def();
    icf_constraint_def c = icf_default_constraint_def(ICF_CONSTRAINT_DISTANCE);
    icf_joint_def j;
    int i;
    memset(&here, 0, sizeof here);
    refused_which = &here.w.which;
    expected_which = 0;
    OK(icf_world_create(&here.w, &w));
    for (i = 0; i < 8; i++) {
        b.pose.p = icf_vec3_make(3 * (icf_real)i, 0, 1);
        b.kind = i == 7 ? ICF_BODY_STATIC : ICF_BODY_DYNAMIC;
        OK(icf_body_create(&here.w, &b, &here.body[i]));
    }
    b.kind = ICF_BODY_DYNAMIC;
    here.before = here.body[6];
    OK(icf_body_destroy(&here.w, here.body[6]));
    OK(icf_body_create(&here.w, &b, &here.body[6]));
    here.destroyed = here.body[5];
    OK(icf_body_destroy(&here.w, here.body[5]));
    for (i = 0; i < 4; i++) {
        icf_body none;
        memset(&none, 0, sizeof none);
        j = planar_between(none, here.body[i]);
        OK(icf_joint_create(&here.w, &j, &here.joint[i]));
    }
    j = planar_between(here.body[7], here.body[4]);
    OK(icf_joint_create(&here.w, &j, &here.joint[4]));
    j.kind = ICF_JOINT_BALL;
    j.position[3] = j.rest[3] = j.target[3] = 1;
    j.child = here.body[6];
    OK(icf_joint_create(&here.w, &j, &here.joint_before));
    OK(icf_joint_destroy(&here.w, here.joint_before));
    OK(icf_joint_create(&here.w, &j, &here.joint[5]));
    here.joint_destroyed = here.joint[4];
    OK(icf_joint_destroy(&here.w, here.joint[4]));
    c.a = here.body[4];
    c.b = here.body[7];
    for (i = 0; i < 3; i++) OK(icf_constraint_create(&here.w, &c, &here.constraint[i]));
    here.constraint_before = here.constraint[2];
    OK(icf_constraint_destroy(&here.w, here.constraint[2]));
    OK(icf_constraint_create(&here.w, &c, &here.constraint[2]));
    here.constraint_destroyed = here.constraint[1];
    OK(icf_constraint_destroy(&here.w, here.constraint[1]));
    TEST_CHECK(here.before.index == here.body[6].index &&
               here.before.generation != here.body[6].generation);
    memset(&named_body, 0xa5, sizeof named_body);
    memset(&named_joint, 0xa5, sizeof named_joint);
    memset(&named_constraint, 0xa5, sizeof named_constraint);
}

/* ---- the def of a world */

static uint64_t block[1 << 12];
static icf_world in_block;

static icf_result call_world_init(void)
{
    return icf_world_init(&in_block, block, sizeof block, &a_world_def);
}

static icf_result call_world_create(void)
{
    icf_world w;
    icf_result result;
    memset(&w, 0, sizeof w);
    result = icf_world_create(&w, &a_world_def);
    if (result != ICF_RESULT_OK && w.memory) result = ICF_RESULT_NO_FACTOR;
    icf_world_destroy(&w);
    return result;
}

static icf_result call_world_set_def(void)
{
    return icf_world_set_def(&here.w, &a_world_def);
}

static icf_result call_world_bytes(void)
{
    if (icf_world_bytes(&a_world_def)) return ICF_RESULT_OK;
    return a_world_def.cookie == icf_default_world_def().cookie ? ICF_RESULT_BAD_ARGUMENT
                                                                : ICF_RESULT_BAD_DEF;
}

/* To and fro between two halves of the block */
static icf_result call_world_move(void)
{
    size_t half = sizeof block / 2;
    uint64_t* other = in_block.memory == (void*)block ? block + COUNT_OF(block) / 2 : block;
    return icf_world_move(&in_block, other, half, &a_world_def);
}

static uint64_t block_state(void)
{
    uint64_t hash = 1;
    size_t i;
    if (!in_block.memory) return 0;
    for (i = 0; i < COUNT_OF(block); i++) hash = (hash ^ block[i]) * 0x100000001b3u;
    return hash_bytes(hash, &in_block.memory, sizeof in_block.memory) ^ in_block.bytes;
}

static icf_world_def small_def(void)
{
    icf_world_def d = icf_default_world_def();
    d.bodies = 1;
    d.joints = d.constraints = d.contacts = 0;
    d.solver = 64;
    return d;
}

/* What is right in itself, but too large: only where it matters */
static void room_is(field* table, size_t count, icf_result above)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (table[i].above == ICF_RESULT_TOO_SMALL) table[i].above = above;
    }
}

static void test_world_defs(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    static field table[COUNT_OF(world_fields)];
    subject s = {"icf_world_init", (unsigned char*)&a_world_def, call_world_init,
                 block_state,      ICF_RESULT_BAD_ARGUMENT,      NULL};
    icf_world other;
    size_t bytes;
    here_make();
    memset(&in_block, 0, sizeof in_block);
    a_world_def = small_def();
    damage_all(&s, world_fields, COUNT_OF(world_fields), 0);
    s.name = "icf_world_move";
    s.call = call_world_move;
    OK(icf_world_init(&in_block, block, sizeof block / 2, &a_world_def));
    damage_all(&s, world_fields, COUNT_OF(world_fields), 0);

    memcpy(table, world_fields, sizeof table);
    room_is(table, COUNT_OF(table), ICF_RESULT_OK);
    damage_call(&s, "icf_world_bytes", call_world_bytes, table, COUNT_OF(table));
    s.state = here_state;
    damage_call(&s, "icf_world_set_def", call_world_set_def, table, COUNT_OF(table));
    s.name = "icf_world_create";
    s.call = call_world_create;
    for (bytes = 0; bytes < COUNT_OF(table); bytes++) {
        if (world_fields[bytes].above == ICF_RESULT_TOO_SMALL) table[bytes].rule = COUNT;
    }
    damage_all(&s, table, COUNT_OF(table), 0);

    bytes = icf_world_bytes(&a_world_def);
    memset(&other, 0, sizeof other);
    EXPECT(icf_world_init(&other, block, bytes - 1, &a_world_def), ICF_RESULT_TOO_SMALL);
    TEST_CHECK(other.needed == bytes && other.reason && !strcmp(other.reason, "memory"));
    OK(icf_world_init(&other, block, bytes, &a_world_def));
    EXPECT(icf_world_init(NULL, block, bytes, &a_world_def), bad);
    EXPECT(icf_world_init(&other, NULL, bytes, &a_world_def), bad);
    EXPECT(icf_world_init(&other, block, bytes, NULL), bad);
    EXPECT(icf_world_init(&other, (char*)block + 4, bytes, &a_world_def), ICF_RESULT_MISALIGNED);
    EXPECT(icf_world_move(NULL, block, bytes, &a_world_def), bad);
    EXPECT(icf_world_move(&other, NULL, bytes, &a_world_def), bad);
    EXPECT(icf_world_move(&other, block, bytes, NULL), bad);
    a_world_def.solver = (size_t)-1;
    TEST_CHECK(!icf_world_bytes(&a_world_def));
    EXPECT(icf_world_init(&other, block, bytes, &a_world_def), ICF_RESULT_OVERFLOW);
    EXPECT(icf_world_create(&other, &a_world_def), ICF_RESULT_OVERFLOW);
    TEST_CHECK(!icf_world_bytes(NULL));
    EXPECT(icf_world_create(NULL, &a_world_def), bad);
    EXPECT(icf_world_create(&other, NULL), bad);
    EXPECT(icf_world_set_def(&here.w, NULL), bad);
    EXPECT(icf_world_set_def(NULL, &a_world_def), bad);
    EXPECT(icf_world_get_def(&here.w, NULL), bad);
    EXPECT(icf_world_get_def(NULL, &a_world_def), bad);
    EXPECT(icf_world_clone(NULL, &here.w), bad);
    EXPECT(icf_world_clone(&other, NULL), bad);
    here_end();
}

/* A world moves where it fits, and nowhere else. */
static void test_moves_of_worlds(void)
{
    static const int32_t need[4] = {8, 6, 3, 0};
    static uint64_t large[1 << 16];
    int i, k;
    for (i = 0; i < 4; i++) {
        for (k = 0; k < 2; k++) {
            icf_world_def d = small_def();
            int32_t* room[4];
            uint64_t hash;
            here_make();
            hash = icf_world_hash(&here.w);
            room[0] = &d.bodies;
            room[1] = &d.joints;
            room[2] = &d.constraints;
            room[3] = &d.contacts;
            *room[0] = need[0];
            *room[1] = need[1];
            *room[2] = need[2];
            *room[3] = 4;
            if (i == 3) {
                icf_touch t = icf_default_touch();
                icf_surface surface = icf_world_default_surface(&here.w);
                int n;
                for (n = 0; n < 4; n++) OK(icf_world_add_touch(&here.w, &t, &surface));
            }
            *room[i] -= k;
            TEST_CHECK(icf_world_bytes(&d) <= sizeof large);
            EXPECT(icf_world_move(&here.w, large, sizeof large, &d),
                   k ? ICF_RESULT_TOO_SMALL : ICF_RESULT_OK);
            if (k) TEST_CHECK(here.w.needed == (size_t)*room[i] + 1);
            TEST_CHECK(icf_world_hash(&here.w) == hash);
            TEST_CHECK((here.w.memory == (void*)large) == !k);
            here_end();
        }
    }
}

/* ---- bodies */

static icf_result call_body_create(void)
{
    icf_body b;
    icf_result result = icf_body_create(&here.w, &a_body_def, &b);
    if (result == ICF_RESULT_OK) OK(icf_body_destroy(&here.w, b));
    return result;
}

static icf_result call_body_set_def(void)
{
    return icf_body_set_def(&here.w, here.body[4], &a_body_def);
}

static icf_result call_set_pose(void)
{
    return icf_body_set_pose(&here.w, here.body[4], a_body_def.pose);
}

static icf_result call_set_velocity(void)
{
    return icf_body_set_velocity(&here.w, here.body[4], a_body_def.velocity,
                                 a_body_def.angular_velocity);
}

static icf_result call_apply_force(void)
{
    return icf_body_apply_force(&here.w, here.body[4], a_body_def.velocity,
                                a_body_def.angular_velocity);
}

static icf_result call_apply_impulse(void)
{
    return icf_body_apply_impulse(&here.w, here.body[4], a_body_def.velocity,
                                  a_body_def.angular_velocity);
}

static icf_result call_apply_torque(void)
{
    return icf_body_apply_torque(&here.w, here.body[4], a_body_def.velocity);
}

static icf_result call_frames(void)
{
    icf_transform a, b;
    return icf_world_frames(&here.w, here.body[0], here.body[1], a_body_def.velocity,
                            a_body_def.center, &a, &b);
}

static icf_body_def good_body(void)
{
    icf_body_def d = icf_default_body_def();
    d.pose.p.x = 1;
    d.velocity.y = 2;
    d.center.z = 1;
    return d;
}

static void test_fields_of_bodies(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    const icf_body_def good = good_body();
    subject s = {"icf_body_create", (unsigned char*)&a_body_def, call_body_create,
                 here_state,        ICF_RESULT_NOT_FINITE,       NULL};
    int i;
    here_make();
    a_body_def = good;
    damage_all(&s, body_fields, COUNT_OF(body_fields), 0);
    damage_call(&s, "icf_body_set_def", call_body_set_def, body_fields, COUNT_OF(body_fields));
    damage_call(&s, "icf_body_set_pose", call_set_pose, body_fields + 2, 2);
    damage_call(&s, "icf_body_set_velocity", call_set_velocity, body_fields + 4, 2);
    damage_call(&s, "icf_body_apply_force", call_apply_force, body_fields + 4, 2);
    damage_call(&s, "icf_body_apply_impulse", call_apply_impulse, body_fields + 4, 2);
    damage_call(&s, "icf_body_apply_torque", call_apply_torque, body_fields + 4, 1);
    damage_call(&s, "icf_world_frames", call_frames, body_fields + 4, 1);
    a_body_def.center = icf_vec3_make(0, 0, 0);
    EXPECT(call_frames(), bad);
    a_body_def.center = icf_vec3_make(0, 0, R(1e-6));
    OK(call_frames());
    for (i = 0; i < 3; i++) {
        (&a_body_def.center.x)[i] = (icf_real)NAN;
        EXPECT(call_frames(), ICF_RESULT_NOT_FINITE);
        (&a_body_def.center.x)[i] = 1;
    }
    EXPECT(icf_body_create(NULL, &good, &named_body), bad);
    EXPECT(icf_body_create(&here.w, NULL, &named_body), bad);
    EXPECT(icf_body_create(&here.w, &good, NULL), bad);
    EXPECT(icf_body_set_def(&here.w, here.body[4], NULL), bad);
    EXPECT(icf_body_get_def(&here.w, here.body[4], NULL), bad);
    EXPECT(icf_body_get_state(&here.w, here.body[4], NULL), bad);
    EXPECT(icf_body_get_next(&here.w, here.body[4], NULL), bad);
    EXPECT(icf_body_velocity_at(&here.w, here.body[4], good.center, NULL), bad);
    here_end();
}

/* Inertias that no body has: those that bodies have are symmetric, with nothing below 0 */
static void test_inertias_of_no_body(void)
{
    const icf_body_def good = good_body();
    icf_real* m;
    int i;
    here_make();
    for (i = 0; i < 9; i++) {
        uint64_t before = here_state();
        a_body_def = good;
        m = &a_body_def.inertia.x.x + i;
        *m = i % 4 ? R(0.01) : -R(0.1);
        EXPECT(call_body_create(), ICF_RESULT_NOT_SPD);
        EXPECT(call_body_set_def(), ICF_RESULT_NOT_SPD);
        if (i % 4 == 0) {
            *m = 0; /* of what turns about other axes only */
            OK(call_body_create());
        } else {
            icf_real* mirrored = &a_body_def.inertia.x.x + (i % 3 * 3 + i / 3);
            *mirrored = *m;
            before = here_state();
            OK(call_body_create());
            *mirrored = *m = R(0.11);
            before = here_state();
            EXPECT(call_body_create(), ICF_RESULT_NOT_SPD);
            *mirrored = *m = -R(0.11);
            EXPECT(call_body_create(), ICF_RESULT_NOT_SPD);
            *mirrored = *m = R(0.0999);
            before = here_state();
            OK(call_body_create());
            before = here_state();
            *mirrored = *m = R(0.11);
            EXPECT(call_body_set_def(), ICF_RESULT_NOT_SPD);
        }
        TEST_CHECK(i % 4 == 0 || here_state() == before);
    }
    /* each pair of axes may be as it is, and the three together not */
    a_body_def = good;
    a_body_def.inertia.x.y = a_body_def.inertia.y.x = R(0.09);
    a_body_def.inertia.x.z = a_body_def.inertia.z.x = R(0.09);
    a_body_def.inertia.y.z = a_body_def.inertia.z.y = -R(0.09);
    EXPECT(call_body_create(), ICF_RESULT_NOT_SPD);
    a_body_def.inertia.y.z = a_body_def.inertia.z.y = R(0.09);
    OK(call_body_create());
    here_end();
}

/* Quaternions of hardly any length, and of any other */
static void test_lengths_of_poses(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    int i;
    here_make();
    for (i = 0; i < 4; i++) {
        icf_transform pose = icf_transform_identity();
        icf_real* x = &pose.q.x;
        memset(&pose.q, 0, sizeof pose.q);
        x[i] = R(0.9e-3);
        EXPECT(icf_body_set_pose(&here.w, here.body[4], pose), bad);
        x[i] = R(1.1e-3);
        OK(icf_body_set_pose(&here.w, here.body[4], pose));
        x[i] = R(0.9e3);
        OK(icf_body_set_pose(&here.w, here.body[4], pose));
        x[i] = R(1.1e3);
        EXPECT(icf_body_set_pose(&here.w, here.body[4], pose), bad);
    }
    here_end();
}

/* What a joint holds goes where that has it. */
static void test_bodies_held_by_joints(void)
{
    const icf_body_def good = good_body();
    here_make();
    a_body_def = good;
    EXPECT(icf_body_set_pose(&here.w, here.body[0], good.pose), ICF_RESULT_BAD_STATE);
    EXPECT(icf_body_set_velocity(&here.w, here.body[0], good.velocity, good.velocity),
           ICF_RESULT_BAD_STATE);
    OK(icf_body_set_def(&here.w, here.body[0], &a_body_def));
    a_body_def.kind = ICF_BODY_STATIC;
    EXPECT(icf_body_set_def(&here.w, here.body[0], &a_body_def), ICF_RESULT_BAD_STATE);
    a_body_def.kind = ICF_BODY_KINEMATIC;
    EXPECT(icf_body_set_def(&here.w, here.body[0], &a_body_def), ICF_RESULT_BAD_STATE);
    a_body_def.kind = ICF_BODY_DYNAMIC;
    a_body_def.locks = ICF_LOCK_TURN_Z;
    EXPECT(icf_body_set_def(&here.w, here.body[0], &a_body_def), ICF_RESULT_BAD_STATE);
    here_end();
}

/* Inertias of random numbers, of all sizes: those are refused that have a principal minor below 0 */
static void test_random_inertias(void)
{
    int trial, i, accepted = 0, refused = 0;
    icf_body b;
    here_make();
    random_seed(SEED);
    for (trial = 0; trial < 3000; trial++) {
        icf_body_def d = icf_default_body_def();
        double a[6], m[7], least = 0, size = exp(random_between(-7, 7)), top;
        for (i = 0; i < 3; i++) a[i] = random_between(trial % 10 ? 0.1 : -0.1, 1);
        for (i = 3; i < 6; i++) a[i] = random_between(-0.6, 0.6);
        if (trial % 3 == 0) a[3 + trial / 3 % 3] = a[3 + (trial / 3 + 1) % 3] = 0;
        for (i = 0; i < 3; i++) m[i] = a[i];
        m[3] = a[0] * a[1] - a[3] * a[3];
        m[4] = a[0] * a[2] - a[4] * a[4];
        m[5] = a[1] * a[2] - a[5] * a[5];
        m[6] =
            a[0] * m[5] - a[3] * (a[3] * a[2] - a[5] * a[4]) + a[4] * (a[3] * a[5] - a[1] * a[4]);
        for (i = 0; i < 7; i++) least = m[i] < least ? m[i] : least;
        for (i = 0; i < 7; i++) {
            top = fabs(m[i]);
            if (top < 1e3 * EPS) break; /* too near to call */
        }
        if (i < 7) continue;
        d.inertia =
            icf_mat3_from_columns(icf_vec3_make(R(size * a[0]), R(size * a[3]), R(size * a[4])),
                                  icf_vec3_make(R(size * a[3]), R(size * a[1]), R(size * a[5])),
                                  icf_vec3_make(R(size * a[4]), R(size * a[5]), R(size * a[2])));
        EXPECT(icf_body_create(&here.w, &d, &b), least < 0 ? ICF_RESULT_NOT_SPD : ICF_RESULT_OK);
        if (least < 0) {
            refused++;
            continue;
        }
        accepted++;
        OK(icf_body_destroy(&here.w, b));
    }
    TEST_CHECK_(accepted > 300 && refused > 300, "%d accepted, %d refused", accepted, refused);
    /* what only one of the minors tells of, beside moments that are 0 */
    for (i = 0; i < 3; i++) {
        icf_body_def d = icf_default_body_def();
        icf_real* x = &d.inertia.x.x;
        int second = (i + 1) % 3, third = (i + 2) % 3;
        memset(x, 0, sizeof d.inertia);
        OK(icf_body_create(&here.w, &d, &b));
        x[4 * i] = -R(0.1);
        EXPECT(icf_body_create(&here.w, &d, &b), ICF_RESULT_NOT_SPD);
        x[4 * i] = 0;
        x[4 * second] = x[4 * third] = 1;
        x[3 * second + third] = x[3 * third + second] = R(1.1);
        EXPECT(icf_body_create(&here.w, &d, &b), ICF_RESULT_NOT_SPD);
        x[3 * second + third] = x[3 * third + second] = -R(0.9);
        OK(icf_body_create(&here.w, &d, &b));
    }
    /* rounding is in proportion to the largest moment, wherever that is */
    for (i = 0; i < 9; i++) {
        icf_body_def d = icf_default_body_def();
        icf_real* x = &d.inertia.x.x;
        int large = i % 3, small = i / 3, k;
        if (large == small) continue;
        for (k = 0; k < 2; k++) {
            double product = sqrt(1e-3 + (k ? 150 : 50) * EPS);
            memset(x, 0, sizeof d.inertia);
            x[0] = x[4] = x[8] = R(1e-3);
            x[4 * large] = 1;
            x[3 * large + small] = x[3 * small + large] = R(product);
            EXPECT(icf_body_create(&here.w, &d, &b), k ? ICF_RESULT_NOT_SPD : ICF_RESULT_OK);
        }
    }
    /* a rounding that is not symmetric passes, more does not; whichever moment is large */
    for (i = 0; i < 9; i++) {
        icf_body_def d = icf_default_body_def();
        icf_real* x = &d.inertia.x.x;
        int axis = i % 3, other = i / 3;
        if (other == axis) continue;
        x[0] = x[4] = x[8] = R(1e-3);
        x[4 * axis] = 1;
        x[3 * axis + other] = R(500 * EPS);
        OK(icf_body_create(&here.w, &d, &b));
        x[3 * axis + other] = R(1500 * EPS);
        EXPECT(icf_body_create(&here.w, &d, &b), ICF_RESULT_NOT_SPD);
    }
    here_end();
}

/* Defs come back as they were given: numbers that are all different, of every kind */
static icf_vec3 counted(icf_real* n)
{
    icf_vec3 v = icf_vec3_make(*n, *n + R(0.125), *n + R(0.25));
    *n += R(0.5);
    return v;
}

static void count_reals(icf_real* n, icf_real* x, int count)
{
    for (; count > 0; count--) {
        *x++ = *n;
        *n += R(0.125);
    }
}

static void check_reals(const char* name, const icf_real* x, const icf_real* y, size_t bytes)
{
    size_t i;
    for (i = 0; i < bytes / sizeof *x; i++) {
        double slack = 8 * EPS * (1 + fabs((double)y[i]));
        TEST_CHECK_(fabs((double)(x[i] - y[i])) <= slack, "%s[%d]: %g, not %g", name, (int)i,
                    (double)x[i], (double)y[i]);
    }
}

/* Every field of a struct, as its table lists them, is what was given */
static void check_back(const void* back, const void* given, const field* table, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const field* f = &table[i];
        const char *x = (const char*)back + f->at, *y = (const char*)given + f->at;
        if (f->rule == FINITE || f->rule == FROM_ZERO || f->rule == ABOVE_ZERO || f->rule == AXIS)
            check_reals(f->name, (const icf_real*)(const void*)x, (const icf_real*)(const void*)y,
                        f->bytes);
        else
            TEST_CHECK_(!memcmp(x, y, f->bytes), "%s", f->name);
    }
}

static icf_quat turned(int i)
{
    icf_real x = R(0.1) * (icf_real)(i + 1);
    return icf_quat_normalize(icf_quat_make(x, -R(0.2), R(0.3), R(0.8)));
}

static void test_body_comes_back(void)
{
    int set;
    here_make();
    for (set = 0; set < 2; set++) {
        icf_body_def d = icf_default_body_def(), back;
        icf_real n = 1 + 64 * (icf_real)set;
        icf_body b = here.body[4];
        d.pose.q = turned(set);
        d.pose.p = counted(&n);
        d.velocity = counted(&n);
        d.angular_velocity = counted(&n);
        d.center = counted(&n);
        d.inertia.x = icf_vec3_make(20, 1, 2);
        d.inertia.y = icf_vec3_make(1, 21, 3);
        d.inertia.z = icf_vec3_make(2, 3, 22);
        count_reals(&n, &d.mass, 1);
        count_reals(&n, &d.linear_damping, 1);
        count_reals(&n, &d.angular_damping, 1);
        count_reals(&n, &d.gravity_scale, 1);
        d.user = (uint64_t)1 << 40 | 7;
        d.locks = 37;
        if (set) OK(icf_body_set_def(&here.w, b, &d));
        if (!set) OK(icf_body_create(&here.w, &d, &b));
        OK(icf_body_get_def(&here.w, b, &back));
        check_back(&back, &d, body_fields, COUNT_OF(body_fields));
    }
    here_end();
}

static const int position_count[6] = {1, 1, 4, 3, 2, 0}, velocity_count[6] = {1, 1, 3, 3, 2, 0};

static void test_joint_comes_back(void)
{
    int set, kind, i;
    for (kind = 0; kind <= ICF_JOINT_WELD; kind++) {
        icf_joint j;
        here_make();
        for (set = 0; set < 2; set++) {
            icf_joint_def d = icf_default_joint_def((icf_joint_kind)kind), back;
            icf_real n = 1 + 64 * (icf_real)set;
            d.parent = here.body[7];
            d.child = here.body[4];
            d.parent_frame.q = turned(0);
            d.parent_frame.p = icf_vec3_make(1, 2, 3);
            d.child_frame.q = turned(1);
            d.child_frame.p = icf_vec3_make(4, 5, 6);
            count_reals(&n, d.position, position_count[kind]);
            count_reals(&n, d.velocity, velocity_count[kind]);
            count_reals(&n, d.rest, position_count[kind]);
            count_reals(&n, &d.stiffness, 2);
            count_reals(&n, &d.rotor_inertia, 2);
            count_reals(&n, &d.dry_friction, 1);
            count_reals(&n, d.lower, 3);
            count_reals(&n, d.upper, 3);
            count_reals(&n, &d.motor_stiffness, 2);
            count_reals(&n, d.target, position_count[kind]);
            count_reals(&n, d.target_velocity, velocity_count[kind]);
            count_reals(&n, d.feedforward, velocity_count[kind]);
            count_reals(&n, &d.effort, 1);
            d.user = (uint64_t)1 << 40 | 9;
            if (set) OK(icf_joint_set_def(&here.w, j, &d));
            if (!set) OK(icf_joint_create(&here.w, &d, &j));
            OK(icf_joint_get_def(&here.w, j, &back));
            for (i = 0; kind == ICF_JOINT_BALL && i < 3; i++) {
                icf_real* x = i == 0 ? d.position : i == 1 ? d.rest : d.target;
                icf_quat turn = icf_quat_normalize(icf_quat_make(x[0], x[1], x[2], x[3]));
                memcpy(x, &turn, sizeof turn);
            }
            check_back(&back, &d, joint_fields, COUNT_OF(joint_fields));
        }
        here_end();
    }
}

static void test_constraint_comes_back(void)
{
    int set, kind, i;
    for (kind = 0; kind <= ICF_CONSTRAINT_COUPLER; kind++) {
        icf_constraint c;
        here_make();
        for (set = 0; set < 2; set++) {
            icf_constraint_def d = icf_default_constraint_def((icf_constraint_kind)kind), back;
            icf_real n = 1 + 64 * (icf_real)set;
            int coupler = kind == ICF_CONSTRAINT_COUPLER;
            if (coupler) d.joints = 4 - set;
            for (i = 0; i < d.joints; i++) {
                d.joint[i] = here.joint[set + i];
                d.number[i] = (i + set) % 3;
            }
            count_reals(&n, d.ratio, d.joints);
            if (!coupler) {
                d.a = here.body[set ? 7 : 0];
                d.b = here.body[4];
            }
            d.a_frame.q = turned(set);
            d.a_frame.p = counted(&n);
            d.b_frame.q = turned(2);
            d.b_frame.p = counted(&n);
            count_reals(&n, &d.lower, 2);
            count_reals(&n, &d.stiffness, 3);
            count_reals(&n, &d.offset, 1);
            d.user = (uint64_t)1 << 40 | 11;
            if (set) OK(icf_constraint_set_def(&here.w, c, &d));
            if (!set) OK(icf_constraint_create(&here.w, &d, &c));
            OK(icf_constraint_get_def(&here.w, c, &back));
            check_back(&back, &d, constraint_fields, COUNT_OF(constraint_fields));
        }
        here_end();
    }
}

static void test_world_comes_back(void)
{
    icf_world_def d = icf_default_world_def(), back;
    here_make();
    d.gravity = icf_vec3_make(1, 2, 3);
    d.method = ICF_METHOD_MIDPOINT;
    d.substeps = 5;
    d.model = ICF_MODEL_SIMILAR;
    d.settle = 1;
    d.anchors = 1;
    d.passes = 3;
    d.tolerance = R(1e-3);
    d.iterations = 77;
    d.bodies = 1; /* capacities stay */
    OK(icf_world_set_def(&here.w, &d));
    OK(icf_world_get_def(&here.w, &back));
    check_reals("gravity", &back.gravity.x, &d.gravity.x, sizeof d.gravity);
    check_reals("tolerance", &back.tolerance, &d.tolerance, sizeof d.tolerance);
    TEST_CHECK(back.method == d.method && back.substeps == 5 && back.model == d.model);
    TEST_CHECK(back.settle == 1 && back.iterations == 77 && back.bodies == 64);
    TEST_CHECK(back.anchors == 1 && back.passes == 3);
    TEST_CHECK(back.joints == 64 && back.constraints == 16 && back.contacts == 256);
    TEST_CHECK(icf_world_default_surface(&here.w).model == ICF_MODEL_SIMILAR);
    TEST_CHECK(icf_world_default_surface(NULL).model == ICF_MODEL_LAGGED);
    here_end();
}

/* ---- joints */

static icf_result call_joint_create(void)
{
    icf_joint j;
    icf_result result = icf_joint_create(&here.w, &a_joint_def, &j);
    if (result == ICF_RESULT_OK) OK(icf_joint_destroy(&here.w, j));
    return result;
}

static icf_result call_joint_set_def(void)
{
    return icf_joint_set_def(&here.w, named_joint, &a_joint_def);
}

static void test_fields_of_joints(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    static field table[COUNT_OF(joint_fields)];
    int32_t kind;
    for (kind = 0; kind <= ICF_JOINT_WELD; kind++) {
        subject s = {"icf_joint_create", (unsigned char*)&a_joint_def, call_joint_create,
                     here_state,         ICF_RESULT_NOT_FINITE,        NULL};
        icf_joint_def good = icf_default_joint_def((icf_joint_kind)kind);
        int i;
        here_make();
        memcpy(table, joint_fields, sizeof table);
        good.child = here.body[4];
        good.parent = here.body[7];
        if (kind == ICF_JOINT_BALL) {
            rule_of(table, COUNT_OF(table), "position", AXIS);
            rule_of(table, COUNT_OF(table), "rest", AXIS);
            rule_of(table, COUNT_OF(table), "target", AXIS);
        } else {
            /* so that it could be a ball joint */
            good.position[3] = good.rest[3] = good.target[3] = 1;
        }
        a_joint_def = good;
        damage_all(&s, table, COUNT_OF(table), 0);
        for (i = 0; i < 3; i++) {
            a_joint_def = good;
            a_joint_def.lower[i] = a_joint_def.upper[i] = R(0.5);
            OK(call_joint_create());
            a_joint_def.lower[i] += 2 * R(EPS);
            EXPECT(call_joint_create(), bad);
        }
        for (i = 0; kind == ICF_JOINT_BALL && i < 12; i++) {
            icf_real* x;
            a_joint_def = good;
            x = i < 4 ? a_joint_def.position : i < 8 ? a_joint_def.rest : a_joint_def.target;
            memset(x, 0, 4 * sizeof *x);
            x[i % 4] = 1;
            OK(call_joint_create());
            x[i % 4] = R(0.9e-3);
            EXPECT(call_joint_create(), bad);
        }
        a_joint_def = good;
        OK(icf_joint_create(&here.w, &a_joint_def, &named_joint));
        s.fixed = "kind";
        damage_call(&s, "icf_joint_set_def", call_joint_set_def, table, COUNT_OF(table));
        EXPECT(icf_joint_set_def(&here.w, named_joint, NULL), bad);
        EXPECT(icf_joint_get_def(&here.w, named_joint, NULL), bad);
        EXPECT(icf_joint_get_state(&here.w, named_joint, NULL), bad);
        EXPECT(icf_joint_create(NULL, &good, &named_joint), bad);
        EXPECT(icf_joint_create(&here.w, NULL, &named_joint), bad);
        EXPECT(icf_joint_create(&here.w, &good, NULL), bad);
        here_end();
    }
}

/* Bodies that cannot be parent and child */
static void test_joint_bodies(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT, state = ICF_RESULT_BAD_STATE;
    icf_body_def b = icf_default_body_def();
    icf_joint_def d;
    icf_body none, still[2], locked;
    uint64_t hash;
    int i;
    memset(&none, 0, sizeof none);
    here_make();
    for (i = 0; i < 2; i++) {
        b.kind = i ? ICF_BODY_STATIC : ICF_BODY_KINEMATIC;
        OK(icf_body_create(&here.w, &b, &still[i]));
    }
    b.kind = ICF_BODY_DYNAMIC;
    b.locks = ICF_LOCK_X;
    OK(icf_body_create(&here.w, &b, &locked));
    hash = here_state();
    for (i = 0; i < 2; i++) {
        d = planar_between(none, still[i]);
        EXPECT(icf_joint_create(&here.w, &d, &named_joint), bad);
        TEST_CHECK(here.w.which == (int32_t)still[i].index);
    }
    d = planar_between(none, locked);
    EXPECT(icf_joint_create(&here.w, &d, &named_joint), state);
    TEST_CHECK(here.w.which == (int32_t)locked.index);
    d = planar_between(none, here.body[2]);
    EXPECT(icf_joint_create(&here.w, &d, &named_joint), state);
    TEST_CHECK(here.w.which == 2);
    d = planar_between(here.body[4], here.body[4]);
    EXPECT(icf_joint_create(&here.w, &d, &named_joint), bad);
    d = planar_between(none, none);
    EXPECT(icf_joint_create(&here.w, &d, &named_joint), bad);
    TEST_CHECK(here_state() == hash);
    /* 4 carries 8 carries 9: 9 and 8 cannot carry 4, nor 9 itself */
    b.locks = 0;
    for (i = 8; i < 10; i++) {
        OK(icf_body_create(&here.w, &b, &here.body[i]));
        d = planar_between(here.body[i == 8 ? 4 : 8], here.body[i]);
        OK(icf_joint_create(&here.w, &d, &named_joint));
    }
    hash = here_state();
    for (i = 8; i < 10; i++) {
        d = planar_between(here.body[i], here.body[4]);
        EXPECT(icf_joint_create(&here.w, &d, &named_joint), bad);
        TEST_CHECK(here.w.which == (int32_t)here.body[4].index);
    }
    TEST_CHECK(here_state() == hash);
    /* also of slot 0 */
    OK(icf_joint_destroy(&here.w, here.joint[0]));
    OK(icf_joint_destroy(&here.w, here.joint[1]));
    d = planar_between(here.body[0], here.body[1]);
    OK(icf_joint_create(&here.w, &d, &named_joint));
    d = planar_between(here.body[1], here.body[0]);
    EXPECT(icf_joint_create(&here.w, &d, &named_joint), bad);
    d = planar_between(locked, here.body[4]);
    OK(icf_joint_create(&here.w, &d, &named_joint));
    here_end();
}

/* The arrays of numbers of a joint: one that is missing is refused but by set_target, and every number that
   the joint has is looked at, the last one too, and no further one. */

static icf_result call_numbers(int which, icf_joint j, const icf_real* x)
{
    switch (which) {
    case 0: return icf_joint_set_position(&here.w, j, x);
    case 1: return icf_joint_set_velocity(&here.w, j, x);
    case 2: return icf_joint_apply_effort(&here.w, j, x);
    case 3: return icf_joint_set_target(&here.w, j, x, NULL, NULL);
    case 4: return icf_joint_set_target(&here.w, j, NULL, x, NULL);
    default: return icf_joint_set_target(&here.w, j, NULL, NULL, x);
    }
}

static void test_joint_numbers(void)
{
    static const double wrong[3] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    int kind, which, k, n;
    for (kind = 0; kind <= ICF_JOINT_WELD; kind++) {
        icf_joint_def d = icf_default_joint_def((icf_joint_kind)kind);
        here_make();
        d.child = here.body[4];
        OK(icf_joint_create(&here.w, &d, &named_joint));
        for (which = 0; which < 6; which++) {
            int turn = kind == ICF_JOINT_BALL && which % 3 == 0;
            int count = which % 3 == 0 ? position_count[kind] : velocity_count[kind];
            icf_real x[5] = {R(0.1), R(0.2), R(0.3), R(0.4), 0};
            uint64_t hash;
            OK(call_numbers(which, named_joint, x));
            hash = here_state();
            if (which < 3) {
                EXPECT(call_numbers(which, named_joint, NULL), count ? bad : ICF_RESULT_OK);
            } else {
                OK(call_numbers(which, named_joint, NULL));
            }
            TEST_CHECK(here_state() == hash || (which == 2 && !count));
            for (k = 0; k < 5; k++) {
                for (n = 0; n < 3; n++) {
                    icf_real old = x[k];
                    icf_result result;
                    x[k] = R(wrong[n]);
                    result = call_numbers(which, named_joint, x);
                    TEST_CHECK_(result == (k < count ? ICF_RESULT_NOT_FINITE : ICF_RESULT_OK),
                                "kind %d, call %d, number %d: %s", kind, which, k,
                                icf_result_string(result));
                    x[k] = old;
                    if (k < count) TEST_CHECK(here_state() == hash);
                    hash = here_state(); /* efforts are added up */
                }
            }
            memset(x, 0, sizeof x);
            EXPECT(call_numbers(which, named_joint, x), turn ? bad : ICF_RESULT_OK);
            for (k = 0; k < count; k++) {
                x[k] = 1;
                OK(call_numbers(which, named_joint, x));
                x[k] = 0;
            }
        }
        here_end();
    }
}

/* A target of three arrays, of which any may be missing: what is given comes to be, and no more; what is
   damaged in one changes nothing of the others. */
static void test_joint_target(void)
{
    icf_real numbers[3][4], nothing[3][4];
    icf_joint_def before, after;
    int given, broken, kind, i, k;
    for (kind = 0; kind <= ICF_JOINT_WELD; kind++) {
        icf_joint_def d = icf_default_joint_def((icf_joint_kind)kind);
        here_make();
        d.child = here.body[4];
        OK(icf_joint_create(&here.w, &d, &named_joint));
        for (given = 0; given < 8; given++) {
            const icf_real* x[3];
            for (i = 0; i < 3; i++) {
                for (k = 0; k < 4; k++) numbers[i][k] = (icf_real)(1 + k + 4 * i + 12 * given);
                x[i] = given >> i & 1 ? numbers[i] : NULL;
            }
            for (broken = 0; broken < 3; broken++) {
                int count = broken ? velocity_count[kind] : position_count[kind];
                uint64_t hash = here_state();
                if (!x[broken] || !count) continue;
                numbers[broken][count - 1] = (icf_real)NAN;
                EXPECT(icf_joint_set_target(&here.w, named_joint, x[0], x[1], x[2]),
                       ICF_RESULT_NOT_FINITE);
                TEST_CHECK(here_state() == hash);
                numbers[broken][count - 1] = 1;
            }
            OK(icf_joint_get_def(&here.w, named_joint, &before));
            OK(icf_joint_set_target(&here.w, named_joint, x[0], x[1], x[2]));
            OK(icf_joint_get_def(&here.w, named_joint, &after));
            memset(nothing, 0, sizeof nothing);
            for (k = 0; k < velocity_count[kind]; k++) {
                TEST_CHECK(after.target_velocity[k] ==
                           (x[1] ? x[1][k] : before.target_velocity[k]));
                TEST_CHECK(after.feedforward[k] == (x[2] ? x[2][k] : before.feedforward[k]));
            }
            for (k = velocity_count[kind]; k < 3; k++)
                TEST_CHECK(after.target_velocity[k] == 0 && after.feedforward[k] == 0);
            for (k = 0; k < 4; k++) {
                if (!x[0]) {
                    TEST_CHECK(after.target[k] == before.target[k]);
                } else if (kind != ICF_JOINT_BALL) {
                    TEST_CHECK(after.target[k] == (k < position_count[kind] ? x[0][k] : 0));
                } else {
                    icf_real square = x[0][0] * x[0][0] + x[0][1] * x[0][1] + x[0][2] * x[0][2] +
                                      x[0][3] * x[0][3];
                    icf_real length = R(sqrt((double)square));
                    TEST_CHECK(fabs((double)(after.target[k] * length - x[0][k])) <
                               100 * EPS * (double)length);
                }
            }
        }
        here_end();
    }
}

/* ---- constraints */

static icf_result call_constraint_create(void)
{
    icf_constraint c;
    icf_result result = icf_constraint_create(&here.w, &a_constraint_def, &c);
    if (result == ICF_RESULT_OK) OK(icf_constraint_destroy(&here.w, c));
    return result;
}

static icf_result call_constraint_set_def(void)
{
    return icf_constraint_set_def(&here.w, named_constraint, &a_constraint_def);
}

static void test_fields_of_constraints(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    static field table[COUNT_OF(constraint_fields)];
    int32_t kind;
    for (kind = 0; kind <= ICF_CONSTRAINT_COUPLER; kind++) {
        subject s = {"icf_constraint_create", (unsigned char*)&a_constraint_def,
                     call_constraint_create,  here_state,
                     ICF_RESULT_NOT_FINITE,   NULL};
        icf_constraint_def good = icf_default_constraint_def((icf_constraint_kind)kind);
        icf_body none;
        int i, coupler = kind == ICF_CONSTRAINT_COUPLER;
        memset(&none, 0, sizeof none);
        here_make();
        /* that it could be of any kind */
        good.a = here.body[0];
        good.b = here.body[7];
        good.joints = 4;
        for (i = 0; i < 4; i++) {
            good.joint[i] = here.joint[i];
            good.ratio[i] = 1;
        }
        memcpy(table, constraint_fields, sizeof table);
        for (i = 0; coupler && i < (int)COUNT_OF(table); i++) {
            if (table[i].rule == AXIS) table[i].rule = FINITE; /* of which it has none */
            if (!strcmp(table[i].name, "joints")) {
                table[i].rule = RANGE;
                table[i].low = 1;
                table[i].high = 4;
            }
            if (!strcmp(table[i].name, "number")) {
                table[i].rule = RANGE;
                table[i].high = 2;
            }
        }
        a_constraint_def = good;
        damage_all(&s, table, COUNT_OF(table), 0);
        a_constraint_def.lower = a_constraint_def.upper = R(0.5);
        OK(call_constraint_create());
        a_constraint_def.lower += 2 * R(EPS);
        EXPECT(call_constraint_create(), bad);
        a_constraint_def = good;
        a_constraint_def.a = none;
        OK(call_constraint_create());
        a_constraint_def.b = none;
        EXPECT(call_constraint_create(), coupler ? ICF_RESULT_OK : bad);
        a_constraint_def.a = good.a;
        OK(call_constraint_create());
        a_constraint_def.b = good.a;
        EXPECT(call_constraint_create(), coupler ? ICF_RESULT_OK : bad);
        for (i = 0; coupler && i < 4; i++) {
            a_constraint_def = good;
            a_constraint_def.joint[i] = here.joint[5]; /* a ball joint has no such positions */
            EXPECT(call_constraint_create(), bad);
            a_constraint_def.joints = i;
            EXPECT(call_constraint_create(), i ? ICF_RESULT_OK : bad);
            a_constraint_def.joint[i] = here.joint_destroyed;
            EXPECT(call_constraint_create(), i ? ICF_RESULT_OK : bad);
            a_constraint_def.joints = 4;
            EXPECT(call_constraint_create(), bad);
        }
        a_constraint_def = good;
        OK(icf_constraint_create(&here.w, &good, &named_constraint));
        s.fixed = "kind";
        damage_call(&s, "icf_constraint_set_def", call_constraint_set_def, table, COUNT_OF(table));
        EXPECT(icf_constraint_set_def(&here.w, named_constraint, NULL), bad);
        EXPECT(icf_constraint_get_def(&here.w, named_constraint, NULL), bad);
        EXPECT(icf_constraint_get_state(&here.w, named_constraint, NULL), bad);
        EXPECT(icf_constraint_create(NULL, &good, &named_constraint), bad);
        EXPECT(icf_constraint_create(&here.w, NULL, &named_constraint), bad);
        EXPECT(icf_constraint_create(&here.w, &good, NULL), bad);
        here_end();
    }
}

/* ---- touches, and the step */

static icf_result call_step_with_touch(void)
{
    icf_surface surface = icf_world_default_surface(&here.w);
    icf_touch good = icf_default_touch();
    icf_result result;
    good.b = here.body[0];
    good.contact.distance = 1;
    icf_world_clear_touches(&here.w);
    OK(icf_world_add_touch(&here.w, &good, &surface));
    OK(icf_world_add_touch(&here.w, &a_touch, &a_surface));
    result = icf_world_try(&here.w, R(0.001));
    if (result < 0 && (!here.w.reason || here.w.which != 1)) result = ICF_RESULT_NO_FACTOR;
    if (result < 0) {
        int32_t count;
        const icf_touch* t = icf_world_touches(&here.w, &count);
        a_touch.contact.surface = 1;
        TEST_CHECK(count == 2 && !memcmp(t + 1, &a_touch, sizeof a_touch));
    }
    return result;
}

static icf_result call_step(void)
{
    icf_world_clear_touches(&here.w);
    return icf_world_step(&here.w, term_given.dt);
}

static icf_result call_try(void)
{
    icf_world_clear_touches(&here.w);
    return icf_world_try(&here.w, term_given.dt);
}

static icf_result call_dump_step(void)
{
    size_t length;
    return icf_world_dump_step(&here.w, term_given.dt, NULL, 0, &length);
}

static void test_fields_of_touches(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    static field table[COUNT_OF(contact_fields)];
    subject s = {"icf_world_try", (unsigned char*)&a_touch, call_step_with_touch,
                 here_state,      ICF_RESULT_NOT_FINITE,    NULL};
    icf_body none;
    icf_stats stats;
    int32_t i, count;
    memset(&none, 0, sizeof none);
    here_make();
    a_touch = icf_default_touch();
    a_surface = good_surface(ICF_MODEL_LAGGED, ICF_LAW_HUNT_CROSSLEY);
    a_touch.contact = good_contact();
    a_touch.contact.surface = 1;
    a_touch.b = here.body[4];
    a_touch.point = icf_vec3_make(12, 0, R(0.5));
    expected_which = 1;
    damage_all(&s, touch_fields, COUNT_OF(touch_fields), 0);
    memcpy(table, contact_fields, sizeof table);
    rule_of(table, COUNT_OF(table), "point", FREE);
    damage_all(&s, table, COUNT_OF(table), offsetof(icf_touch, contact));
    s.given = (unsigned char*)&a_surface;
    damage_all(&s, surface_fields, COUNT_OF(surface_fields), 0);
    a_touch.a = here.body[7];
    OK(call_step_with_touch());
    a_touch.a = here.body[4];
    EXPECT(call_step_with_touch(), bad);
    a_touch.a = none;
    a_touch.b = none;
    EXPECT(call_step_with_touch(), bad);
    a_touch.b = here.body[4];
    icf_world_clear_touches(&here.w);

    expected_which = 0;
    good_term_numbers();
    term_given.dt = R(1e-3);
    s.given = (unsigned char*)&term_given;
    s.call = call_try;
    damage_all(&s, term_fields, 1, 0);
    damage_call(&s, "icf_world_dump_step", call_dump_step, term_fields, 1);
    damage_call(&s, "icf_world_step", call_step, term_fields, 1);

    EXPECT(icf_world_step(NULL, 1), bad);
    EXPECT(icf_world_try(NULL, 1), bad);
    EXPECT(icf_world_add_touch(NULL, &a_touch, &a_surface), bad);
    EXPECT(icf_world_add_touch(&here.w, NULL, &a_surface), bad);
    icf_world_clear_touches(&here.w);
    OK(icf_world_add_touch(&here.w, &a_touch, NULL)); /* of a surface that is not there */
    EXPECT(icf_world_step(&here.w, R(0.001)), bad);
    icf_world_clear_touches(&here.w);
    EXPECT(icf_world_add_surface(NULL, &a_surface, &count), bad);
    EXPECT(icf_world_add_surface(&here.w, NULL, &count), bad);
    EXPECT(icf_world_add_surface(&here.w, &a_surface, NULL), bad);
    for (i = -1; i < 2; i += 2) { /* a touch of a surface that there is not */
        OK(icf_world_add_touch(&here.w, &a_touch, &a_surface));
        icf_world_touches(&here.w, &count)->contact.surface = i;
        EXPECT(icf_world_step(&here.w, R(0.001)), bad);
        TEST_CHECK(here.w.which == 0 && here.w.reason);
        icf_world_clear_touches(&here.w);
    }
    count = 7;
    TEST_CHECK(!icf_world_surfaces(NULL, &count) && !count);
    TEST_CHECK(!icf_world_surfaces(&here.w, NULL));
    EXPECT(icf_world_get_stats(NULL, &stats), bad);
    EXPECT(icf_world_get_stats(&here.w, NULL), bad);
    EXPECT(icf_world_diagnose(&here.w, NULL), bad);
    TEST_CHECK(!icf_world_touches(&here.w, NULL) && !icf_world_events(&here.w, NULL));
    count = 7;
    TEST_CHECK(!icf_world_touches(NULL, &count) && !count);
    count = 7;
    TEST_CHECK(!icf_world_events(NULL, &count) && !count);
    TEST_CHECK(icf_world_body_count(NULL) == 0 && icf_world_touch_count(NULL) == 0);
    TEST_CHECK(icf_world_time(NULL) == 0 && icf_world_hash(NULL) == 0);
    TEST_CHECK(icf_world_save_bytes(NULL) == 0);
    OK(icf_world_add_touch(&here.w, &a_touch, &a_surface));
    OK(icf_world_step(&here.w, R(1e-3)));
    for (i = -1; i <= 1; i++) {
        icf_touch_result t;
        icf_island island;
        EXPECT(icf_world_get_touch(&here.w, i, &t), i ? bad : ICF_RESULT_OK);
        (void)icf_world_get_stats(&here.w, &stats);
        EXPECT(icf_world_get_island(&here.w, i < 0 ? -1 : stats.islands - 1 + i, &island),
               i ? bad : ICF_RESULT_OK);
        EXPECT(icf_world_get_touch(NULL, 0, &t), bad);
        EXPECT(icf_world_get_touch(&here.w, 0, NULL), bad);
        EXPECT(icf_world_get_island(NULL, 0, &island), bad);
        EXPECT(icf_world_get_island(&here.w, 0, NULL), bad);
    }
    here_end();
}

// ------------------------------------------------------------------------------------------------
// Names: of what was destroyed, of what is there again, of nothing, and of no slot at all

enum { BAD_NAMES = 8 };

static const char* const bad_name[BAD_NAMES] = {"destroyed",
                                                "of a slot used again",
                                                "of a free slot as it would be next",
                                                "of the next life",
                                                "of no slot, and generation",
                                                "behind the last",
                                                "of another world",
                                                "of generation 0"};

/* A body, joint, constraint or collider */
typedef struct slot_name {
    uint32_t index, generation;
} slot_name;

#define NAME_OF(thing) name_of((thing).index, (thing).generation)

static slot_name name_of(uint32_t index, uint32_t generation)
{
    slot_name n;
    n.index = index;
    n.generation = generation;
    return n;
}

typedef struct names {
    slot_name live, before; /* one that is there, and the one that its slot had before */
    slot_name destroyed;
    uint32_t end; /* slots */
} names;

static slot_name bad_name_of(int i, const names* n)
{
    slot_name name = n->live;
    switch (i) {
    case 0: name = n->destroyed; break;
    case 1: name = n->before; break;
    case 2: name = name_of(n->destroyed.index, n->destroyed.generation + 1); break;
    case 3: name.generation++; break;
    case 4: name.index = 0xffffffffu; break;
    case 5: name.index = n->end; break;
    case 6: name.index = 1000; break;
    default: name.generation = 0; break;
    }
    return name;
}

static union {
    icf_body_def def;
    icf_body_state state;
    icf_joint_def joint;
    icf_joint_state joint_state;
    icf_constraint_def constraint;
    icf_constraint_state constraint_state;
    icf_vec3 v;
    icf_transform t[2];
    icf_collider_def collider;
} out;

/* Whether what calls write into was left alone */
static int out_is_untouched(void)
{
    const unsigned char* p = (const unsigned char*)&out;
    size_t i;
    for (i = 0; i < sizeof out; i++) {
        if (p[i] != 0x5a) return 0;
    }
    return 1;
}

/* Call number `which`, of the thing of a name; text: how it is written */
typedef icf_result named_call(int which, slot_name n, const char** text);

/* What the world says beside BAD_ARGUMENT */
enum { NO_MORE = 0, A_REASON = 1, WHICH_ONE = 2 };

static void refuse_bad_names(int which, named_call* call, const names* n, uint64_t (*state)(void),
                             int says)
{
    int i;
    for (i = 0; i < BAD_NAMES; i++) {
        const slot_name bad = bad_name_of(i, n);
        const uint64_t hash = state();
        const char* text = "";
        icf_result result;
        here.w.reason = NULL;
        result = call(which, bad, &text);
        TEST_CHECK_(result == ICF_RESULT_BAD_ARGUMENT, "%s of a name %s: %s", text, bad_name[i],
                    icf_result_string(result));
        TEST_CHECK_(state() == hash && out_is_untouched(), "%s of a name %s: changed", text,
                    bad_name[i]);
        if (says & A_REASON) TEST_CHECK_(here.w.reason != NULL, "%s: no reason", text);
        if (says & WHICH_ONE)
            TEST_CHECK_(here.w.which == (int32_t)bad.index, "%s: of %ld", text, (long)here.w.which);
    }
}

static void check_good_name(int which, named_call* call, slot_name n, icf_result expected)
{
    const char* text = "";
    const icf_result result = call(which, n, &text);
    TEST_CHECK_(result == expected, "%s: %s, not %s", text, icf_result_string(result),
                icf_result_string(expected));
}

enum { BODY_CALLS = 21 };

static icf_result call_with_body(int which, slot_name n, const char** text)
{
    icf_body b;
    icf_vec3 v = icf_vec3_make(1, 0, 0);
    icf_body none;
    icf_result result;
    memset(&none, 0, sizeof none);
    memset(&out, 0x5a, sizeof out);
    b.index = n.index;
    b.generation = n.generation;
#define CALL(call) *text = #call, result = call
    switch (which) {
    case 0: CALL(icf_body_get_def(&here.w, b, &out.def)); break;
    case 1: CALL(icf_body_get_state(&here.w, b, &out.state)); break;
    case 2: CALL(icf_body_get_next(&here.w, b, &out.state)); break;
    case 3: CALL(icf_body_velocity_at(&here.w, b, v, &out.v)); break;
    case 4: CALL(icf_world_frames(&here.w, b, none, v, v, out.t, out.t + 1)); break;
    case 5: CALL(icf_world_frames(&here.w, none, b, v, v, out.t, out.t + 1)); break;
    case 6: CALL(icf_body_is_valid(&here.w, b) ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT); break;
    case 7: CALL(icf_body_island(&here.w, b) < 0 ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_OK); break;
    case 8:
        CALL(icf_body_parent(&here.w, b).generation ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT);
        break;
    case 9: CALL(icf_body_set_def(&here.w, b, &a_body_def)); break;
    case 10: CALL(icf_body_set_pose(&here.w, b, icf_transform_identity())); break;
    case 11: CALL(icf_body_set_velocity(&here.w, b, v, v)); break;
    case 12: CALL(icf_body_apply_force(&here.w, b, v, v)); break;
    case 13: CALL(icf_body_apply_torque(&here.w, b, v)); break;
    case 14: CALL(icf_body_apply_impulse(&here.w, b, v, v)); break;
    case 15:
        a_joint_def = planar_between(b, here.body[4]);
        CALL(icf_joint_create(&here.w, &a_joint_def, &named_joint));
        break;
    case 16:
        a_joint_def = planar_between(none, b);
        CALL(icf_joint_create(&here.w, &a_joint_def, &named_joint));
        break;
    case 17:
    case 18:
        a_constraint_def = icf_default_constraint_def(ICF_CONSTRAINT_BALL);
        *(which == 17 ? &a_constraint_def.a : &a_constraint_def.b) = b;
        CALL(icf_constraint_create(&here.w, &a_constraint_def, &named_constraint));
        break;
    case 19:
    case 20:
        a_touch = icf_default_touch();
        a_surface = icf_world_default_surface(&here.w);
        a_touch.contact.distance = 1;
        *(which == 19 ? &a_touch.a : &a_touch.b) = b;
        icf_world_clear_touches(&here.w);
        OK(icf_world_add_touch(&here.w, &a_touch, &a_surface));
        CALL(icf_world_try(&here.w, R(1e-3)));
        icf_world_clear_touches(&here.w);
        break;
    default: CALL(icf_body_destroy(&here.w, b)); break;
    }
    return result;
}

static void test_body_names(void)
{
    int which;
    for (which = 0; which <= BODY_CALLS; which++) {
        names n;
        here_make();
        a_body_def = icf_default_body_def();
        OK(icf_world_step(&here.w, R(1e-3)));
        n.live = NAME_OF(here.body[4]);
        n.before = NAME_OF(here.before);
        n.destroyed = NAME_OF(here.destroyed);
        n.end = (uint32_t)icf_world_body_count(&here.w);
        refuse_bad_names(which, call_with_body, &n, here_state,
                         which <= 8   ? NO_MORE
                         : which < 17 ? A_REASON | WHICH_ONE
                                      : A_REASON);
        /* a body that forces move and no joint holds, or one that has a joint */
        check_good_name(which, call_with_body, NAME_OF(here.body[which == 8 ? 6 : 4]),
                        which == 15 ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_OK);
        here_end();
    }
}

enum { JOINT_CALLS = 12 };

static icf_result call_with_joint(int which, slot_name n, const char** text)
{
    icf_joint j;
    static const icf_real x[4] = {R(0.1), R(0.2), R(0.3), R(0.4)};
    icf_result result;
    int i;
    memset(&out, 0x5a, sizeof out);
    j.index = n.index;
    j.generation = n.generation;
    switch (which) {
    case 0: CALL(icf_joint_get_def(&here.w, j, &out.joint)); break;
    case 1: CALL(icf_joint_get_state(&here.w, j, &out.joint_state)); break;
    case 2: CALL(icf_joint_is_valid(&here.w, j) ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT); break;
    case 3: CALL(icf_joint_set_def(&here.w, j, &a_joint_def)); break;
    case 4: CALL(icf_joint_set_position(&here.w, j, x)); break;
    case 5: CALL(icf_joint_set_velocity(&here.w, j, x)); break;
    case 6: CALL(icf_joint_set_target(&here.w, j, x, x, x)); break;
    case 7: CALL(icf_joint_apply_effort(&here.w, j, x)); break;
    case 8:
    case 9:
    case 10:
    case 11:
        a_constraint_def = icf_default_constraint_def(ICF_CONSTRAINT_COUPLER);
        a_constraint_def.joints = 4;
        for (i = 0; i < 4; i++) a_constraint_def.joint[i] = here.joint[i];
        a_constraint_def.joint[which - 8] = j;
        CALL(icf_constraint_create(&here.w, &a_constraint_def, &named_constraint));
        break;
    default: CALL(icf_joint_destroy(&here.w, j)); break;
    }
    return result;
}

static void test_joint_names(void)
{
    int which;
    for (which = 0; which <= JOINT_CALLS; which++) {
        names n;
        here_make();
        OK(icf_joint_get_def(&here.w, here.joint[0], &a_joint_def));
        n.live = NAME_OF(here.joint[0]);
        n.before = NAME_OF(here.joint_before);
        n.destroyed = NAME_OF(here.joint_destroyed);
        n.end = 6;
        refuse_bad_names(which, call_with_joint, &n, here_state, which > 2 ? A_REASON : NO_MORE);
        check_good_name(which, call_with_joint, n.live, ICF_RESULT_OK);
        here_end();
    }
}

enum { CONSTRAINT_CALLS = 4 };

static icf_result call_with_constraint(int which, slot_name n, const char** text)
{
    icf_constraint c;
    icf_result result;
    memset(&out, 0x5a, sizeof out);
    c.index = n.index;
    c.generation = n.generation;
    switch (which) {
    case 0: CALL(icf_constraint_get_def(&here.w, c, &out.constraint)); break;
    case 1: CALL(icf_constraint_get_state(&here.w, c, &out.constraint_state)); break;
    case 2:
        CALL(icf_constraint_is_valid(&here.w, c) ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT);
        break;
    case 3: CALL(icf_constraint_set_def(&here.w, c, &a_constraint_def)); break;
    default: CALL(icf_constraint_destroy(&here.w, c)); break;
    }
    return result;
}

static void test_constraint_names(void)
{
    int which;
    for (which = 0; which <= CONSTRAINT_CALLS; which++) {
        names n;
        here_make();
        OK(icf_constraint_get_def(&here.w, here.constraint[0], &a_constraint_def));
        n.live = NAME_OF(here.constraint[0]);
        n.before = NAME_OF(here.constraint_before);
        n.destroyed = NAME_OF(here.constraint_destroyed);
        n.end = 3;
        refuse_bad_names(which, call_with_constraint, &n, here_state,
                         which > 2 ? A_REASON : NO_MORE);
        check_good_name(which, call_with_constraint, n.live, ICF_RESULT_OK);
        here_end();
    }
}

// ------------------------------------------------------------------------------------------------
// Shapes, manifolds, the broad phase

static icf_shape a_shape;

static icf_result call_shape_check(void)
{
    return icf_shape_check(&a_shape);
}

/* One whose sizes are right for every kind */
static icf_shape any_shape(int32_t kind)
{
    icf_shape s = icf_box(R(0.4), R(0.3), R(0.2));
    s.kind = kind;
    s.radius = R(0.5);
    return s;
}

static void shape_rules(field* table, int32_t kind)
{
    const size_t n = COUNT_OF(shape_fields);
    memcpy(table, shape_fields, sizeof shape_fields);
    if (kind == ICF_SHAPE_SPHERE || kind == ICF_SHAPE_CAPSULE)
        rule_of(table, n, "radius", ABOVE_ZERO);
    if (kind == ICF_SHAPE_CAPSULE) rule_of(table, n, "half.z", FROM_ZERO);
    if (kind != ICF_SHAPE_BOX) return;
    rule_of(table, n, "half.x", ABOVE_ZERO);
    rule_of(table, n, "half.y", ABOVE_ZERO);
    rule_of(table, n, "half.z", ABOVE_ZERO);
}

static void test_fields_of_shapes(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    const icf_transform origin = icf_transform_identity();
    static field table[COUNT_OF(shape_fields)];
    subject s = {"icf_shape_check", (unsigned char*)&a_shape, call_shape_check,
                 no_state,          ICF_RESULT_NOT_FINITE,    NULL};
    icf_shape ground = icf_half_space(), ball = icf_sphere(1), second = icf_sphere(1);
    icf_mass_properties mass;
    icf_separation apart;
    icf_manifold m;
    int32_t kind;
    int i, k;
    for (kind = 0; kind < ICF_SHAPE_KIND_COUNT; kind++) {
        a_shape = any_shape(kind);
        shape_rules(table, kind);
        damage_all(&s, table, COUNT_OF(table), 0);
        for (i = 0; i < 4; i++) { /* of length 1 within 1e-3 */
            static const double length[4] = {1.0011, 1.0009, 0.9991, 0.9989};
            a_shape.pose.q = icf_quat_make(0, R(0.6 * length[i]), 0, R(0.8 * length[i]));
            EXPECT(icf_shape_check(&a_shape), i == 1 || i == 2 ? ICF_RESULT_OK : bad);
            for (k = 0; k < 4; k++) {
                icf_real* x = &a_shape.pose.q.x;
                memset(x, 0, 4 * sizeof *x);
                x[k] = R(0.6 * length[i]);
                x[(k + 1) % 4] = -R(0.8 * length[i]);
                EXPECT(icf_shape_check(&a_shape), i == 1 || i == 2 ? ICF_RESULT_OK : bad);
            }
        }
    }
    EXPECT(icf_shape_check(NULL), bad);
    OK(icf_shape_mass(&ball, 0, &mass));
    TEST_CHECK(mass.mass == 0);
    EXPECT(icf_shape_mass(&ball, -R(1e-3), &mass), bad);
    EXPECT(icf_shape_mass(&ball, R(NAN), &mass), bad);
    EXPECT(icf_shape_mass(&ball, R(INFINITY), &mass), bad);
    EXPECT(icf_shape_mass(&ground, 1, &mass), bad);
    OK(icf_shape_distance(&ground, &origin, &ball, &origin, &apart));
    OK(icf_shape_distance(&ball, &origin, &ground, &origin, &apart));
    EXPECT(icf_shape_distance(&ground, &origin, &ground, &origin, &apart), bad);
    TEST_CHECK(apart.distance == 0 && apart.normal.z == 0 && apart.point_a.x == 0);
    second.pose.p.x = R(1.5);
    for (i = -1; i <= ICF_MANIFOLD_POINTS + 1; i++) {
        int good = i >= 1 && i <= ICF_MANIFOLD_POINTS;
        memset(&m, 0x5a, sizeof m);
        EXPECT(icf_manifold_make(&ball, &origin, &second, &origin, 0, i, 0, &m),
               good ? ICF_RESULT_OK : bad);
        TEST_CHECK(m.count == good);
    }
    EXPECT(icf_manifold_make(&ball, &origin, &second, &origin, -R(1e-9), 8, 0, &m), bad);
    EXPECT(icf_manifold_make(&ball, &origin, &second, &origin, R(NAN), 8, 0, &m), bad);
    TEST_CHECK(m.count == 0 && m.axis == 0 && m.distance == ICF_REAL_MAX);
    EXPECT(icf_manifold_make(&ground, &origin, &ground, &origin, 0, 8, 0, &m), bad);
    OK(icf_manifold_make(&ground, &origin, &second, &origin, 0, 8, 0, &m));
    OK(icf_manifold_make(&second, &origin, &ground, &origin, 0, 8, 0, &m));
}

static uint64_t broad_block[1 << 12];
static icf_broad_phase_def a_broad_def;
static icf_broad_phase* broad;
static icf_aabb a_box;

static const field box_fields[] = {
    REALS(icf_aabb, lower, FINITE),
    REALS(icf_aabb, upper, FINITE),
};

static icf_result call_broad_init(void)
{
    return icf_broad_phase_init(broad_block, sizeof broad_block, &a_broad_def, &broad);
}

static uint64_t broad_state(void)
{
    return hash_bytes(11, broad_block, sizeof broad_block);
}

static icf_result call_broad_bytes(void)
{
    if (icf_broad_phase_bytes(&a_broad_def)) return ICF_RESULT_OK;
    return a_broad_def.cookie == icf_default_broad_phase_def().cookie ? ICF_RESULT_BAD_ARGUMENT
                                                                      : ICF_RESULT_BAD_DEF;
}

static icf_result call_broad_add(void)
{
    icf_result result = icf_broad_phase_add(broad, 1, &a_box, 0);
    if (result == ICF_RESULT_OK) OK(icf_broad_phase_remove(broad, 1));
    return result;
}

static icf_result call_broad_move(void)
{
    return icf_broad_phase_move(broad, 0, &a_box);
}

static void test_broad_phase(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    static field table[COUNT_OF(broad_fields)];
    subject s = {"icf_broad_phase_init",  (unsigned char*)&a_broad_def,
                 call_broad_init,         broad_state,
                 ICF_RESULT_BAD_ARGUMENT, NULL};
    static uint64_t other_block[1 << 12];
    icf_broad_phase* other;
    icf_aabb got;
    size_t bytes;
    int i;
    a_broad_def = icf_default_broad_phase_def();
    a_broad_def.proxies_most = 4;
    a_broad_def.pairs_most = 4;
    damage_all(&s, broad_fields, COUNT_OF(broad_fields), 0);
    s.name = "icf_broad_phase_bytes";
    s.call = call_broad_bytes;
    memcpy(table, broad_fields, sizeof table);
    room_is(table, COUNT_OF(table), ICF_RESULT_OK);
    damage_all(&s, table, COUNT_OF(table), 0);
    a_broad_def.fraction = 1000;
    OK(call_broad_init());
    a_broad_def.fraction = R(1000.1);
    EXPECT(call_broad_init(), bad);
    a_broad_def.fraction = 0;
    a_broad_def.margin = R(1.4e38);
    OK(call_broad_init());
    a_broad_def.margin = R(1.6e38);
    EXPECT(call_broad_init(), bad);
    a_broad_def.margin = 0;
    bytes = icf_broad_phase_bytes(&a_broad_def);
    EXPECT(icf_broad_phase_init(broad_block, bytes - 1, &a_broad_def, &broad),
           ICF_RESULT_TOO_SMALL);
    TEST_CHECK(!broad);
    EXPECT(icf_broad_phase_init((char*)broad_block + 4, bytes, &a_broad_def, &broad),
           ICF_RESULT_MISALIGNED);
    EXPECT(icf_broad_phase_init(NULL, bytes, &a_broad_def, &broad), bad);
    EXPECT(icf_broad_phase_init(broad_block, bytes, NULL, &broad), ICF_RESULT_BAD_DEF);
    EXPECT(icf_broad_phase_init(broad_block, bytes, &a_broad_def, NULL), bad);
    TEST_CHECK(!icf_broad_phase_bytes(NULL));
    OK(icf_broad_phase_init(broad_block, bytes, &a_broad_def, &broad));

    a_box.lower = icf_vec3_make(0, 0, 0);
    a_box.upper = icf_vec3_make(1, 1, 1);
    s.given = (unsigned char*)&a_box;
    s.not_finite = ICF_RESULT_NOT_FINITE;
    damage_call(&s, "icf_broad_phase_add", call_broad_add, box_fields, 2);
    OK(icf_broad_phase_add(broad, 0, &a_box, 0));
    damage_call(&s, "icf_broad_phase_move", call_broad_move, box_fields, 2);
    for (i = 0; i < 3; i++) {
        icf_real* x = &a_box.lower.x + i;
        *x = 1;
        OK(call_broad_add());
        OK(call_broad_move());
        *x = R(1.001);
        EXPECT(call_broad_add(), bad);
        EXPECT(call_broad_move(), bad);
        *x = 0;
    }
    EXPECT(icf_broad_phase_add(broad, 1, NULL, 0), bad);
    EXPECT(icf_broad_phase_move(broad, 0, NULL), bad);
    for (i = -2; i < 7; i++) { /* 0 is there, 1 to 3 are not, others cannot be */
        uint64_t before = broad_state();
        EXPECT(icf_broad_phase_move(broad, i, &a_box), i == 0 ? ICF_RESULT_OK : bad);
        EXPECT(icf_broad_phase_get_box(broad, i, &got), i == 0 ? ICF_RESULT_OK : bad);
        if (i != 0) EXPECT(icf_broad_phase_remove(broad, i), bad);
        TEST_CHECK(i == 0 || broad_state() == before);
        if (i >= 1 && i <= 3) continue;
        EXPECT(icf_broad_phase_add(broad, i, &a_box, 0), bad);
        TEST_CHECK(i == 0 || broad_state() == before);
    }
    OK(icf_broad_phase_add(broad, 3, &a_box, 0));
    OK(icf_broad_phase_update(broad));

    /* a copy has to have room for the number of every proxy, also of one that was there, and every pair */
    OK(icf_broad_phase_init(other_block, sizeof other_block, &a_broad_def, &other));
    OK(icf_broad_phase_copy(broad, other));
    EXPECT(icf_broad_phase_copy(NULL, other), bad);
    EXPECT(icf_broad_phase_copy(broad, NULL), bad);
    EXPECT(icf_broad_phase_copy(broad, broad), bad);
    a_broad_def.proxies_most = 3;
    OK(icf_broad_phase_init(other_block, sizeof other_block, &a_broad_def, &other));
    EXPECT(icf_broad_phase_copy(broad, other), ICF_RESULT_TOO_SMALL);
    OK(icf_broad_phase_remove(broad, 3));
    EXPECT(icf_broad_phase_copy(broad, other), ICF_RESULT_TOO_SMALL);
    OK(icf_broad_phase_update(broad));
    OK(icf_broad_phase_copy(broad, other));
    OK(icf_broad_phase_add(broad, 1, &a_box, 0));
    OK(icf_broad_phase_update(broad));
    TEST_CHECK(broad->pairs == 1);
    for (i = 0; i < 2; i++) {
        a_broad_def.pairs_most = i;
        OK(icf_broad_phase_init(other_block, sizeof other_block, &a_broad_def, &other));
        EXPECT(icf_broad_phase_copy(broad, other), i ? ICF_RESULT_OK : ICF_RESULT_TOO_SMALL);
    }
    other->cookie++;
    EXPECT(icf_broad_phase_copy(broad, other), bad);
    EXPECT(icf_broad_phase_copy(other, broad), bad);
}

// ------------------------------------------------------------------------------------------------
// Scenes

static struct {
    icf_scene s;
    icf_body body[3];
    icf_collider collider[4], destroyed, before;
} stage;
static icf_scene_def a_scene_def;
static icf_collider_def a_collider_def;
static icf_collider named_collider;
static icf_scene in_large_block;
static uint64_t large_block[1 << 14];

static uint64_t stage_state(void)
{
    return hash_bytes(icf_scene_hash(&stage.s), &named_collider, sizeof named_collider) ^
           hash_bytes(1, &named_body, sizeof named_body);
}

/* A ball and a box on the ground, a static body; colliders 0 to 2 on them, 3 a second of the box, 4 was
   destroyed and is free, 5 is there again: collider[3] */
static void stage_make(void)
{
    icf_scene_def d = icf_default_scene_def();
    icf_collider_def c = icf_default_collider_def();
    icf_transform pose = icf_transform_identity();
    int i;
    memset(&stage, 0, sizeof stage);
    OK(icf_scene_create(&stage.s, &d));
    for (i = 0; i < 3; i++) {
        pose.p.x = 4 * (icf_real)i;
        c.shape = i == 1 ? icf_box(R(0.5), R(0.5), R(0.5)) : icf_sphere(R(0.5));
        OK(icf_scene_add_def(&stage.s, &c, i == 2 ? 0 : 1000, pose, &stage.body[i],
                             &stage.collider[i]));
    }
    c.body = stage.body[1];
    OK(icf_collider_create(&stage.s, &c, &named_collider));
    OK(icf_collider_create(&stage.s, &c, &stage.destroyed));
    OK(icf_collider_create(&stage.s, &c, &stage.before));
    OK(icf_collider_destroy(&stage.s, stage.before));
    OK(icf_collider_create(&stage.s, &c, &stage.collider[3]));
    OK(icf_collider_destroy(&stage.s, stage.destroyed));
    TEST_CHECK(stage.before.index == stage.collider[3].index);
    OK(icf_scene_step(&stage.s, R(1e-3)));
    memset(&named_collider, 0xa5, sizeof named_collider);
    memset(&named_body, 0xa5, sizeof named_body);
}

static icf_result call_scene_init(void)
{
    return icf_scene_init(&in_large_block, large_block, sizeof large_block, &a_scene_def);
}

static uint64_t large_block_state(void)
{
    uint64_t hash = in_large_block.bytes;
    size_t i;
    for (i = 0; i < COUNT_OF(large_block); i += 7) hash = (hash ^ large_block[i]) * 0x100000001b3u;
    return hash;
}

static icf_result call_scene_bytes(void)
{
    if (icf_scene_bytes(&a_scene_def)) return ICF_RESULT_OK;
    return a_scene_def.cookie == icf_default_scene_def().cookie ? ICF_RESULT_BAD_ARGUMENT
                                                                : ICF_RESULT_BAD_DEF;
}

static icf_result call_scene_create(void)
{
    icf_scene s;
    icf_result result;
    memset(&s, 0, sizeof s);
    result = icf_scene_create(&s, &a_scene_def);
    if (result != ICF_RESULT_OK && s.memory) result = ICF_RESULT_NO_FACTOR;
    icf_scene_destroy(&s);
    return result;
}

static icf_result call_collider_create(void)
{
    icf_collider c;
    icf_result result = icf_collider_create(&stage.s, &a_collider_def, &c);
    if (result == ICF_RESULT_OK) OK(icf_collider_destroy(&stage.s, c));
    return result;
}

static icf_result call_collider_set_def(void)
{
    return icf_collider_set_def(&stage.s, stage.collider[1], &a_collider_def);
}

static icf_real a_density = 0;

static icf_result call_add_def(void)
{
    icf_body b;
    icf_collider c;
    icf_result result =
        icf_scene_add_def(&stage.s, &a_collider_def, a_density, icf_transform_identity(), &b, &c);
    if (result != ICF_RESULT_OK) return result;
    OK(icf_collider_destroy(&stage.s, c));
    OK(icf_body_destroy(&stage.s.world, b));
    return result;
}

static void test_scene_defs(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    static field table[COUNT_OF(scene_fields)], world_table[COUNT_OF(world_fields)];
    subject s = {"icf_scene_init",  (unsigned char*)&a_scene_def, call_scene_init,
                 large_block_state, ICF_RESULT_BAD_ARGUMENT,      NULL};
    const size_t at = offsetof(icf_scene_def, world);
    icf_scene other;
    size_t bytes, i;
    a_scene_def = icf_default_scene_def();
    a_scene_def.world = small_def();
    a_scene_def.colliders = a_scene_def.pairs = 2;
    /* the cookie of the world's def is one of its numbers here */
    memcpy(world_table, world_fields, sizeof world_table);
    rule_of(world_table, COUNT_OF(world_table), "cookie", FREE);
    damage_all(&s, scene_fields, COUNT_OF(scene_fields), 0);
    damage_all(&s, world_table, COUNT_OF(world_table), at);
    a_scene_def.world.cookie++;
    EXPECT(call_scene_init(), bad);
    a_scene_def.world.cookie--;
    memcpy(table, scene_fields, sizeof table);
    room_is(table, COUNT_OF(table), ICF_RESULT_OK);
    room_is(world_table, COUNT_OF(world_table), ICF_RESULT_OK);
    damage_call(&s, "icf_scene_bytes", call_scene_bytes, table, COUNT_OF(table));
    damage_all(&s, world_table, COUNT_OF(world_table), at);
    s.name = "icf_scene_create";
    s.call = call_scene_create;
    for (i = 0; i < COUNT_OF(table); i++) {
        if (scene_fields[i].above == ICF_RESULT_TOO_SMALL) table[i].rule = COUNT;
    }
    damage_all(&s, table, COUNT_OF(table), 0);
    a_scene_def.margin = 1;
    OK(call_scene_init());
    a_scene_def.margin = 1 + 2 * R(EPS);
    EXPECT(call_scene_init(), bad);
    a_scene_def.margin = 0;
    bytes = icf_scene_bytes(&a_scene_def);
    memset(&other, 0, sizeof other);
    OK(icf_scene_init(&other, large_block, bytes, &a_scene_def));
    memset(&other, 0, sizeof other);
    EXPECT(icf_scene_init(&other, large_block, bytes - 1, &a_scene_def), ICF_RESULT_TOO_SMALL);
    TEST_CHECK(other.needed == bytes && other.reason && !other.memory);
    EXPECT(icf_scene_init(&other, (char*)large_block + 4, bytes, &a_scene_def),
           ICF_RESULT_MISALIGNED);
    EXPECT(icf_scene_init(&other, NULL, bytes, &a_scene_def), bad);
    EXPECT(icf_scene_init(&other, large_block, bytes, NULL), bad);
    EXPECT(icf_scene_init(NULL, large_block, bytes, &a_scene_def), bad);
    EXPECT(icf_scene_create(NULL, &a_scene_def), bad);
    EXPECT(icf_scene_create(&other, NULL), bad);
    TEST_CHECK(!icf_scene_bytes(NULL) && !other.memory);
}

static void test_fields_of_colliders(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    static field table[COUNT_OF(shape_fields)], more[COUNT_OF(collider_fields)];
    subject s = {"icf_collider_create", (unsigned char*)&a_collider_def, call_collider_create,
                 stage_state,           ICF_RESULT_NOT_FINITE,           NULL};
    int32_t kind;
    stage_make();
    for (kind = 0; kind < ICF_SHAPE_KIND_COUNT; kind++) {
        int which;
        for (which = 0; which < 3; which++) {
            a_collider_def = icf_default_collider_def();
            a_collider_def.shape = any_shape(kind);
            a_collider_def.body = stage.body[1];
            s.name = which == 0   ? "icf_collider_create"
                     : which == 1 ? "icf_collider_set_def"
                                  : "icf_scene_add_def";
            s.call = which == 0   ? call_collider_create
                     : which == 1 ? call_collider_set_def
                                  : call_add_def;
            shape_rules(table, kind);
            damage_all(&s, table, COUNT_OF(table), 0);
            memcpy(more, collider_fields, sizeof more);
            damage_all(&s, more, COUNT_OF(more), 0);
            a_collider_def.material.stiffness = ICF_REAL_MAX; /* rigid */
            OK(s.call());
            a_collider_def.material.friction_static = -1;
            OK(s.call());
        }
    }
    a_collider_def = icf_default_collider_def();
    a_collider_def.body = stage.body[2];
    EXPECT(call_collider_set_def(), bad);
    a_collider_def.body = stage.body[1];
    a_collider_def.body.generation++;
    EXPECT(call_collider_set_def(), bad);
    memset(&a_collider_def.body, 0, sizeof a_collider_def.body);
    EXPECT(call_collider_set_def(), bad);
    OK(call_collider_create());

    /* densities */
    for (a_density = 0; a_density < 3; a_density += 1) OK(call_add_def());
    a_density = -R(1e-6);
    EXPECT(call_add_def(), bad);
    a_density = R(NAN);
    EXPECT(call_add_def(), bad);
    a_collider_def.shape = icf_half_space();
    a_density = 1;
    EXPECT(call_add_def(), bad);
    a_density = 0;
    OK(call_add_def());
    /* the box now is what the loops above left: of no end */
    {
        uint64_t hash = stage_state();
        EXPECT(icf_scene_set_density(&stage.s, stage.body[1], 1), bad);
        EXPECT(icf_scene_set_density(&stage.s, stage.body[0], 0), bad);
        EXPECT(icf_scene_set_density(&stage.s, stage.body[0], -1), bad);
        EXPECT(icf_scene_set_density(&stage.s, stage.body[0], R(NAN)), bad);
        EXPECT(icf_scene_set_density(&stage.s, stage.body[0], R(INFINITY)), bad);
        EXPECT(icf_scene_set_density(NULL, stage.body[0], 1), bad);
        TEST_CHECK(stage_state() == hash);
        OK(icf_scene_set_density(&stage.s, stage.body[0], 1));
    }
    EXPECT(icf_collider_create(NULL, &a_collider_def, &named_collider), bad);
    EXPECT(icf_collider_create(&stage.s, NULL, &named_collider), bad);
    EXPECT(icf_collider_create(&stage.s, &a_collider_def, NULL), bad);
    EXPECT(icf_collider_set_def(&stage.s, stage.collider[1], NULL), bad);
    EXPECT(icf_collider_get_def(&stage.s, stage.collider[1], NULL), bad);
    EXPECT(icf_scene_add_def(NULL, &a_collider_def, 0, icf_transform_identity(), NULL, NULL), bad);
    EXPECT(icf_scene_add_def(&stage.s, NULL, 0, icf_transform_identity(), NULL, NULL), bad);
    EXPECT(icf_scene_add(NULL, icf_sphere(1), 0, icf_transform_identity(), NULL), bad);
    icf_scene_destroy(&stage.s);
}

static icf_result call_scene_step(void)
{
    return icf_scene_step(&stage.s, term_given.dt);
}

static icf_result call_detect(void)
{
    return icf_scene_detect(&stage.s, term_given.dt);
}

static icf_result call_solve_scene(void)
{
    OK(icf_scene_detect(&stage.s, R(1e-3)));
    return icf_scene_solve(&stage.s, term_given.dt);
}

static icf_result call_scene_pose(void)
{
    icf_body b;
    icf_result result = icf_scene_add(&stage.s, icf_sphere(R(0.1)), 1, a_body_def.pose, &b);
    if (result == ICF_RESULT_OK) OK(icf_body_destroy(&stage.s.world, b));
    return result;
}

static void test_scene_calls(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    subject s = {"icf_scene_step", (unsigned char*)&term_given, call_scene_step,
                 stage_state,      ICF_RESULT_NOT_FINITE,       NULL};
    icf_vec3 o = icf_vec3_make(0, 0, 5), down = icf_vec3_make(0, 0, -1);
    icf_scene_hit hit;
    icf_collider c[8], d;
    icf_aabb box;
    unsigned char* saved;
    size_t bytes;
    int32_t count;
    stage_make();
    good_term_numbers();
    term_given.dt = R(1e-3);
    damage_all(&s, term_fields, 1, 0);
    damage_call(&s, "icf_scene_detect", call_detect, term_fields, 1);
    damage_call(&s, "icf_scene_solve", call_solve_scene, term_fields, 1);
    s.name = "icf_scene_add";
    s.call = call_scene_pose;
    s.given = (unsigned char*)&a_body_def;
    a_body_def = icf_default_body_def();
    damage_all(&s, body_fields + 2, 2, 0);
    EXPECT(icf_scene_step(NULL, 1), bad);
    EXPECT(icf_scene_detect(NULL, 1), bad);
    EXPECT(icf_scene_solve(NULL, 1), bad);
    EXPECT(icf_scene_update(NULL), bad);
    OK(icf_scene_step(&stage.s, R(1e-3)));
    EXPECT(icf_scene_solve(&stage.s, R(1e-3)), ICF_RESULT_BAD_STATE);

    memset(&hit, 0x5a, sizeof hit);
    TEST_CHECK(!icf_scene_ray(NULL, o, down, 100, 1, &hit));
    TEST_CHECK(!icf_scene_ray(&stage.s, o, down, 100, 1, NULL));
    TEST_CHECK(!icf_scene_ray(&stage.s, o, down, 4, 1, &hit));
    TEST_CHECK(!icf_scene_ray(&stage.s, o, down, 100, 2, &hit));
    TEST_CHECK(icf_scene_ray(&stage.s, o, down, 100, 1, &hit));
    TEST_CHECK(hit.collider.index == stage.collider[0].index && hit.body.index == 0);
    o.x = 4;
    TEST_CHECK(icf_scene_ray(&stage.s, o, down, 100, 1, &hit));
    TEST_CHECK(!memcmp(&hit.collider, &stage.collider[1], sizeof hit.collider));
    TEST_CHECK(!memcmp(&hit.body, &stage.body[1], sizeof hit.body));
    TEST_CHECK(fabs((double)hit.t - 4.5) < 1e-3 && fabs((double)hit.point.z - 0.5) < 1e-3);
    TEST_CHECK(hit.point.x == 4 && fabs((double)hit.normal.z - 1) < 1e-3);
    box.lower = icf_vec3_make(-1, -1, -1);
    box.upper = icf_vec3_make(9, 1, 1);
    memset(c, 0, sizeof c);
    count = icf_scene_overlaps(&stage.s, &box, c, 8);
    TEST_CHECK_(count == 5, "%d colliders", (int)count);
    TEST_CHECK(icf_scene_overlaps(&stage.s, &box, NULL, 0) == 5);
    TEST_CHECK(icf_scene_overlaps(NULL, &box, c, 8) == 0);
    TEST_CHECK(icf_scene_overlaps(&stage.s, NULL, c, 8) == 0);
    TEST_CHECK(icf_scene_overlaps(&stage.s, &box, c, -1) == 0);
    TEST_CHECK(icf_scene_overlaps(&stage.s, &box, NULL, 1) == 0);
    TEST_CHECK(icf_scene_body_colliders(&stage.s, stage.body[1], c, 8) == 3);
    TEST_CHECK(icf_scene_body_colliders(&stage.s, stage.body[1], NULL, 0) == 3);
    TEST_CHECK(icf_scene_body_colliders(NULL, stage.body[1], c, 8) == 0);
    TEST_CHECK(icf_scene_body_colliders(&stage.s, stage.body[1], c, -1) == 0);
    TEST_CHECK(icf_scene_body_colliders(&stage.s, stage.body[1], NULL, 1) == 0);
    icf_scene_destroy(&stage.s);
    stage_make();
    TEST_CHECK(icf_scene_collider_count(&stage.s) == 6 && icf_scene_collider_count(NULL) == 0);
    for (count = -1; count <= 6; count++) {
        d = icf_scene_collider_at(&stage.s, count);
        TEST_CHECK(icf_collider_is_valid(&stage.s, d) ==
                   (count >= 0 && count < 6 && count != (int32_t)stage.destroyed.index));
        if (d.generation) {
            TEST_CHECK(d.index == (uint32_t)count);
        } else {
            TEST_CHECK(d.index == 0);
        }
    }
    TEST_CHECK(icf_scene_debug_lines(NULL, 15, 1, NULL, 0) == 0);
    TEST_CHECK(icf_scene_debug_lines(&stage.s, 15, 1, NULL, 0) > 0);
    EXPECT(icf_scene_touch_colliders(NULL, 0, c, c + 1), bad);
    EXPECT(icf_scene_touch_colliders(&stage.s, -1, c, c + 1), bad);
    EXPECT(icf_scene_touch_colliders(&stage.s, 0, NULL, c + 1), bad);
    EXPECT(icf_scene_touch_colliders(&stage.s, 0, c, NULL), bad);
    OK(icf_scene_touch_colliders(&stage.s, 0, c, c + 1));
    TEST_CHECK(!icf_scene_events(NULL, &count) && count == 0);
    TEST_CHECK(!icf_scene_events(&stage.s, NULL) && icf_scene_events(&stage.s, &count));
    TEST_CHECK(icf_scene_hash(NULL) == 0 && icf_scene_save_bytes(NULL) == 0);

    bytes = icf_scene_save_bytes(&stage.s);
    saved = (unsigned char*)malloc(bytes);
    memset(saved, 0x5a, bytes);
    EXPECT(icf_scene_save(&stage.s, saved, bytes - 1), ICF_RESULT_TOO_SMALL);
    TEST_CHECK(saved[0] == 0x5a && saved[bytes - 1] == 0x5a);
    EXPECT(icf_scene_save(NULL, saved, bytes), bad);
    EXPECT(icf_scene_save(&stage.s, NULL, bytes), bad);
    OK(icf_scene_save(&stage.s, saved, bytes));
    EXPECT(icf_scene_load(NULL, saved, bytes), bad);
    EXPECT(icf_scene_load(&stage.s, NULL, bytes), bad);
    EXPECT(icf_scene_load(&stage.s, saved, bytes - 1), ICF_RESULT_BAD_DEF);
    OK(icf_scene_load(&stage.s, saved, bytes));
    free(saved);
    icf_scene_destroy(&stage.s);
}

enum { COLLIDER_CALLS = 3 };

static icf_result call_with_collider(int which, slot_name n, const char** text)
{
    icf_collider c;
    icf_result result;
    memset(&out, 0x5a, sizeof out);
    c.index = n.index;
    c.generation = n.generation;
    switch (which) {
    case 0: CALL(icf_collider_get_def(&stage.s, c, &out.collider)); break;
    case 1:
        CALL(icf_collider_is_valid(&stage.s, c) ? ICF_RESULT_OK : ICF_RESULT_BAD_ARGUMENT);
        break;
    case 2: CALL(icf_collider_set_def(&stage.s, c, &a_collider_def)); break;
    default: CALL(icf_collider_destroy(&stage.s, c)); break;
    }
    return result;
}

static void test_collider_names(void)
{
    int which, i;
    for (which = 0; which <= COLLIDER_CALLS; which++) {
        names n;
        stage_make();
        OK(icf_collider_get_def(&stage.s, stage.collider[1], &a_collider_def));
        n.live = NAME_OF(stage.collider[1]);
        n.before = NAME_OF(stage.before);
        n.destroyed = NAME_OF(stage.destroyed);
        n.end = 6;
        refuse_bad_names(which, call_with_collider, &n, stage_state, NO_MORE);
        check_good_name(which, call_with_collider, n.live, ICF_RESULT_OK);
        icf_scene_destroy(&stage.s);
    }
    /* bodies that are none, for colliders */
    stage_make();
    a_collider_def = icf_default_collider_def();
    for (i = 0; i < 3; i++) {
        a_collider_def.body = stage.body[1];
        if (i == 0) a_collider_def.body.generation++;
        if (i == 1) a_collider_def.body.generation = 0;
        if (i == 2) a_collider_def.body.index = 3;
        EXPECT(call_collider_create(), ICF_RESULT_BAD_ARGUMENT);
        EXPECT(icf_scene_set_density(&stage.s, a_collider_def.body, 1), ICF_RESULT_BAD_ARGUMENT);
    }
    icf_scene_destroy(&stage.s);
}

/* A free slot is given once, however its collider went and however many steps ago */
static void test_slots_are_given_once(void)
{
    icf_collider c[8];
    int i, k, way;
    for (way = 0; way < 3; way++) {
        stage_make();
        a_collider_def = icf_default_collider_def();
        a_collider_def.body = stage.body[0];
        if (way > 0) OK(icf_collider_destroy(&stage.s, stage.collider[1]));
        if (way < 2) OK(icf_body_destroy(&stage.s.world, stage.body[1]));
        if (way == 2) OK(icf_collider_destroy(&stage.s, stage.collider[3]));
        for (i = 0; i < 3; i++) OK(icf_scene_step(&stage.s, R(1e-3)));
        if (way == 2) OK(icf_body_destroy(&stage.s.world, stage.body[1]));
        for (i = 0; i < 3; i++) OK(icf_scene_step(&stage.s, R(1e-3)));
        for (i = 0; i < 8; i++) {
            OK(icf_collider_create(&stage.s, &a_collider_def, &c[i]));
            for (k = 0; k < i; k++) TEST_CHECK(c[k].index != c[i].index);
            TEST_CHECK(c[i].index != stage.collider[0].index);
            TEST_CHECK(c[i].index != stage.collider[2].index);
        }
        for (i = 0; i < 8; i++) TEST_CHECK(icf_collider_is_valid(&stage.s, c[i]));
        TEST_CHECK(icf_collider_is_valid(&stage.s, stage.collider[0]));
        icf_scene_destroy(&stage.s);
    }
}

// ------------------------------------------------------------------------------------------------
// Dense

static icf_real dense[16], columns[16];
static int32_t arguments[4];

static icf_result call_dense_factor(void)
{
    icf_real a[16];
    memcpy(a, dense, sizeof a);
    return icf_dense_factor(arguments[0], a, arguments[1], NULL);
}

static icf_result call_dense_solve(void)
{
    icf_real x[16];
    memcpy(x, columns, sizeof x);
    return icf_dense_solve(arguments[0], dense, arguments[1], x, arguments[2], arguments[3]);
}

static void test_arguments_of_dense(void)
{
    const icf_result bad = ICF_RESULT_BAD_ARGUMENT;
    static const int32_t good[4] = {3, 4, 2, 4};
    int i, k;
    memset(dense, 0, sizeof dense);
    for (i = 0; i < 4; i++) dense[5 * i] = 2;
    dense[4] = 2; /* with 3 from column to column it is one, too */
    dense[8] = 8;
    for (k = 0; k < 4; k++) {
        memcpy(arguments, good, sizeof good);
        arguments[k] = -1;
        if (k < 2) EXPECT(call_dense_factor(), bad);
        EXPECT(call_dense_solve(), bad);
        arguments[k] = k == 2 ? 0 : 3;
        if (k < 2) OK(call_dense_factor());
        OK(call_dense_solve());
        arguments[k] = 2;
        if (k < 2) EXPECT(call_dense_factor(), k ? bad : ICF_RESULT_OK);
        EXPECT(call_dense_solve(), k % 2 ? bad : ICF_RESULT_OK);
        arguments[k] = 0;
        if (k < 2) EXPECT(call_dense_factor(), k ? bad : ICF_RESULT_OK);
        EXPECT(call_dense_solve(), k % 2 ? bad : ICF_RESULT_OK);
    }
    EXPECT(icf_dense_factor(1, NULL, 1, NULL), bad);
    OK(icf_dense_factor(0, NULL, 0, NULL));
    EXPECT(icf_dense_solve(1, NULL, 1, columns, 1, 1), bad);
    EXPECT(icf_dense_solve(1, dense, 1, NULL, 1, 1), bad);
    OK(icf_dense_solve(1, NULL, 1, NULL, 0, 1));
    OK(icf_dense_solve(0, NULL, 0, NULL, 1, 0));
}

TEST_LIST = {
    {"tables_list_every_field", test_tables_list_every_field},
    {"fields_of_contacts",      test_fields_of_contacts     },
    {"fields_of_rows",          test_fields_of_rows         },
    {"law_check",               test_law_check              },
    {"solve_fields",            test_solve_fields           },
    {"columns_and_factors",     test_columns_and_factors    },
    {"bodies_and_levers",       test_bodies_and_levers      },
    {"solve_arrays",            test_solve_arrays           },
    {"solve_indices",           test_solve_indices          },
    {"solve_calls",             test_solve_calls            },
    {"world_defs",              test_world_defs             },
    {"moves_of_worlds",         test_moves_of_worlds        },
    {"fields_of_bodies",        test_fields_of_bodies       },
    {"inertias_of_no_body",     test_inertias_of_no_body    },
    {"lengths_of_poses",        test_lengths_of_poses       },
    {"bodies_held_by_joints",   test_bodies_held_by_joints  },
    {"random_inertias",         test_random_inertias        },
    {"body_comes_back",         test_body_comes_back        },
    {"joint_comes_back",        test_joint_comes_back       },
    {"constraint_comes_back",   test_constraint_comes_back  },
    {"world_comes_back",        test_world_comes_back       },
    {"fields_of_joints",        test_fields_of_joints       },
    {"joint_bodies",            test_joint_bodies           },
    {"joint_numbers",           test_joint_numbers          },
    {"joint_target",            test_joint_target           },
    {"fields_of_constraints",   test_fields_of_constraints  },
    {"fields_of_touches",       test_fields_of_touches      },
    {"body_names",              test_body_names             },
    {"joint_names",             test_joint_names            },
    {"constraint_names",        test_constraint_names       },
    {"fields_of_shapes",        test_fields_of_shapes       },
    {"broad_phase",             test_broad_phase            },
    {"scene_defs",              test_scene_defs             },
    {"fields_of_colliders",     test_fields_of_colliders    },
    {"scene_calls",             test_scene_calls            },
    {"collider_names",          test_collider_names         },
    {"slots_are_given_once",    test_slots_are_given_once   },
    {"arguments_of_dense",      test_arguments_of_dense     },
    {NULL,                      NULL                        }
};
