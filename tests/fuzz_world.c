/* Calls of a world made of bytes, right ones and wrong ones, and what must hold whatever they are:

     - no crash, no read or write outside of what is the caller's or the world's
     - what is refused says why and leaves the hash as it was; so does a step that is tried
     - after a step everything is finite
     - a world that is saved and loaded, cloned or moved has the same hash, and after a step of both as well
     - bytes that were changed are refused by a load

   tests/fuzz.h says how to run it. With -DFUZZ_SIGNED what is changed in a saved world gets a checksum that
   fits: it may be accepted then, but nothing may crash. */

#define ICF_IMPLEMENTATION
#include <assert.h>
#define ICF_ASSERT(x) assert(x)
#include "../icf.h"

#define FUZZ_COUNT 20000
#include "fuzz.h"

/* How wild numbers are: 0 good ones, 1 large and small, 2 anything */
static int wild;

static icf_real number(double size)
{
    int kind = wild ? byte() : 0;
    if (wild && kind > 240) {
        switch (kind % 5) {
        case 0: return 0;
        case 1: return (icf_real)(1e6 * size);
        case 2: return (icf_real)(-1e-6 * size);
        default: break;
        }
        if (wild > 1) {
            switch (byte() % 6) {
            case 0: return (icf_real)NAN;
            case 1: return (icf_real)HUGE_VAL;
            case 2: return -REAL_MAX;
            case 3: return REAL_MAX;
            case 4: return (icf_real)1e-38;
            default: return (icf_real)1e30;
            }
        }
    }
    return (icf_real)between(-size, size);
}

static icf_real positive(double size)
{
    icf_real x = number(size);
    return x < 0 && !(wild && byte() < 8) ? -x : x;
}

static icf_vec3 vector(double size)
{
    icf_real x = number(size), y = number(size);
    return icf_vec3_make(x, y, number(size));
}

static icf_quat turn(void)
{
    icf_vec3 v = vector(1);
    if (wild && byte() < 8) return icf_quat_make(v.x, v.y, v.z, number(1));
    return icf_quat_normalize(icf_quat_make(v.x, v.y, v.z, (icf_real)1));
}

static icf_transform pose(double size)
{
    icf_quat q = turn();
    return icf_transform_make(q, vector(size));
}

// ------------------------------------------------------------------------------------------------
// A world, and what was ever in it

enum { NAMES = 48, CALLS = 60, MOST_BODIES = 40 };

typedef struct player {
    icf_world w;
    unsigned char* memory; /* of the caller's, or NULL */
    icf_body body[NAMES];
    icf_joint joint[NAMES];
    icf_constraint constraint[NAMES];
    int bodies, joints, constraints; /* ever made, the last NAMES kept */
} player;

static player p;
static unsigned long outcomes[20]; /* by TOO_FAST - result */

static icf_body some_body(void)
{
    icf_body none = {0, 0};
    int k = byte();
    if (k < 16 || !p.bodies) return none;
    if (wild && k < 20) {
        none.index = (uint32_t)byte();
        none.generation = (uint32_t)byte();
        return none;
    }
    return p.body[below(p.bodies < NAMES ? p.bodies : NAMES)];
}

static icf_joint some_joint(void)
{
    icf_joint none = {0, 0};
    if (!p.joints || byte() < 4) return none;
    return p.joint[below(p.joints < NAMES ? p.joints : NAMES)];
}

static icf_constraint some_constraint(void)
{
    icf_constraint none = {0, 0};
    if (!p.constraints || byte() < 4) return none;
    return p.constraint[below(p.constraints < NAMES ? p.constraints : NAMES)];
}

static icf_world_def world_def(void)
{
    icf_world_def d = icf_default_world_def();
    d.bodies = byte() % 24;
    d.joints = byte() % 24;
    d.constraints = byte() % 8;
    d.contacts = byte() % 32;
    if (byte() < 64) d.tree = byte() % 30;
    if (byte() < 64) d.solver = (size_t)(byte() * 200);
    d.gravity = vector(10);
    d.method = byte() % 3;
    d.substeps = 1 + (byte() < 64 ? byte() % 3 : 0);
    d.model = byte() % 3;
    if (wild && byte() < 6) d.method = byte();
    if (wild && byte() < 6) d.substeps = 0;
    if (wild && byte() < 6) d.bodies = -1;
    if (wild && byte() < 6) d.cookie = 0;
    return d;
}

static icf_body_def body_def(void)
{
    icf_body_def d = icf_default_body_def();
    int k = byte();
    icf_real a, b, c;
    d.kind = k < 200 ? ICF_BODY_DYNAMIC : k % 3;
    if (byte() < 24) d.locks = (uint32_t)byte() % 64;
    d.pose = pose(2);
    d.velocity = vector(2);
    d.angular_velocity = vector(2);
    d.mass = positive(2) + (icf_real)0.1;
    d.center = vector(0.2);
    a = positive(0.5) + (icf_real)0.05;
    b = positive(0.5) + (icf_real)0.05;
    c = (a > b ? a - b : b - a) + positive(0.1) + (icf_real)0.02;
    d.inertia.x.x = a;
    d.inertia.y.y = b;
    d.inertia.z.z = c;
    if (byte() < 40) d.linear_damping = positive(5);
    if (byte() < 40) d.angular_damping = positive(5);
    if (byte() < 40) d.gravity_scale = number(2);
    if (wild && byte() < 6) d.mass = 0;
    if (wild && byte() < 6) d.inertia.x.y = number(1);
    if (wild && byte() < 6) d.kind = byte();
    d.user = (uint64_t)byte() << 40;
    return d;
}

static void joint_numbers(icf_joint_def* d)
{
    int i;
    for (i = 0; i < 4; i++) d->position[i] = number(1.5);
    for (i = 0; i < 4; i++) d->rest[i] = number(1.5);
    for (i = 0; i < 4; i++) d->target[i] = number(1.5);
    if (d->kind == ICF_JOINT_BALL && !(wild && byte() < 8))
        d->position[3] = d->rest[3] = d->target[3] = 1;
    for (i = 0; i < 3; i++) {
        d->velocity[i] = number(2);
        if (byte() < 60) d->lower[i] = -positive(1.5);
        if (byte() < 60) d->upper[i] = positive(1.5);
        if (byte() < 60) d->target_velocity[i] = number(2);
        if (byte() < 60) d->feedforward[i] = number(2);
    }
    if (byte() < 60) d->stiffness = positive(1000);
    if (byte() < 60) d->damping = positive(10);
    if (byte() < 60) d->rotor_inertia = positive(0.01);
    if (byte() < 60) d->gear_ratio = number(10);
    if (byte() < 60) d->dry_friction = positive(1);
    if (byte() < 60) d->motor_stiffness = positive(100);
    if (byte() < 60) d->motor_damping = positive(10);
    if (byte() < 60) d->effort = number(10);
}

static icf_joint_def joint_def(void)
{
    icf_joint_def d = icf_default_joint_def((icf_joint_kind)(byte() % 6));
    d.parent = some_body();
    d.child = some_body();
    d.parent_frame = pose(0.5);
    d.child_frame = pose(0.5);
    joint_numbers(&d);
    if (wild && byte() < 6) d.kind = byte();
    return d;
}

static icf_constraint_def constraint_def(void)
{
    icf_constraint_def d = icf_default_constraint_def((icf_constraint_kind)(byte() % 6));
    int i;
    d.a = some_body();
    d.b = some_body();
    d.a_frame = pose(0.5);
    d.b_frame = pose(0.5);
    if (byte() < 100) d.lower = positive(1);
    if (byte() < 100) d.upper = d.lower + (byte() < 100 ? 0 : positive(1));
    if (byte() < 60) d.stiffness = positive(1000);
    if (byte() < 60) d.damping = positive(10);
    d.length = positive(1);
    d.joints = 1 + byte() % 4;
    for (i = 0; i < 4; i++) {
        d.joint[i] = some_joint();
        d.number[i] = byte() < 200 ? 0 : byte() % 4;
        d.ratio[i] = number(2);
    }
    d.offset = number(0.2);
    return d;
}

static icf_touch touch(icf_surface* f)
{
    icf_touch t = icf_default_touch();
    icf_contact* c = &t.contact;
    *f = icf_world_default_surface(&p.w);
    t.a = some_body();
    t.b = some_body();
    t.point = vector(2);
    t.id = (uint64_t)(byte() % 4);
    c->normal = icf_vec3_normalize(vector(1));
    if (byte() < 250 &&
        !(c->normal.x * c->normal.x + c->normal.y * c->normal.y + c->normal.z * c->normal.z >
          (icf_real)0.5))
        c->normal = icf_vec3_make(0, 0, 1);
    c->distance = number(0.01);
    f->stiffness = positive(1e5);
    f->friction = positive(1);
    if (byte() < 20) f->torsion = positive(0.01);
    if (byte() < 20) f->rolling = positive(0.01);
    if (byte() < 20) f->velocity = vector(1);
    if (byte() < 20) f->dissipation = positive(100);
    if (byte() < 30) f->law = byte() % 3;
    if (wild && byte() < 6) f->law = byte();
    if (wild && byte() < 6) f->cookie = 0;
    return t;
}

// ------------------------------------------------------------------------------------------------
// The calls

static icf_result count(icf_result result)
{
    CHECK(result <= ICF_RESULT_TOO_FAST && result >= ICF_RESULT_BAD_DEF);
    outcomes[ICF_RESULT_TOO_FAST - result]++;
    return result;
}

static void check_finite(void)
{
    int32_t i;
    icf_diagnosis d;
    for (i = 0; i < icf_world_body_count(&p.w); i++) {
        icf_body_state s;
        icf_body b = icf_world_body_at(&p.w, i);
        if (!b.generation) continue;
        CHECK(icf_body_get_state(&p.w, b, &s) == ICF_RESULT_OK);
#ifndef FUZZ_SIGNED
        if (wild < 2) {
            CHECK(s.center.x - s.center.x == 0 && s.velocity.z - s.velocity.z == 0);
            CHECK(s.pose.q.w - s.pose.q.w == 0 && s.pose.p.y - s.pose.p.y == 0);
        }
#endif
        (void)icf_body_island(&p.w, b);
    }
    CHECK(icf_world_diagnose(&p.w, &d) == ICF_RESULT_OK);
}

static void read_results(void)
{
    icf_stats stats;
    int32_t n, i;
    const icf_event* e;
    if (icf_world_get_stats(&p.w, &stats) == ICF_RESULT_OK) {
        for (i = -1; i <= stats.islands; i++) {
            icf_island island;
            icf_result r = icf_world_get_island(&p.w, i, &island);
            CHECK((r == ICF_RESULT_OK) == (i >= 0 && i < stats.islands));
        }
    }
    for (i = 0; i < icf_world_touch_count(&p.w); i++) {
        icf_touch_result t;
        CHECK(icf_world_get_touch(&p.w, i, &t) == ICF_RESULT_OK);
    }
    e = icf_world_events(&p.w, &n);
    for (i = 0; i < n; i++) CHECK(e[i].kind >= 0 && e[i].kind <= 2);
    for (i = 0; i < (p.joints < NAMES ? p.joints : NAMES); i++) {
        icf_joint_state s;
        icf_joint_def d;
        CHECK((icf_joint_get_state(&p.w, p.joint[i], &s) == ICF_RESULT_OK) ==
              icf_joint_is_valid(&p.w, p.joint[i]));
        (void)icf_joint_get_def(&p.w, p.joint[i], &d);
    }
    for (i = 0; i < (p.constraints < NAMES ? p.constraints : NAMES); i++) {
        icf_constraint_state s;
        icf_constraint_def d;
        CHECK((icf_constraint_get_state(&p.w, p.constraint[i], &s) == ICF_RESULT_OK) ==
              icf_constraint_is_valid(&p.w, p.constraint[i]));
        (void)icf_constraint_get_def(&p.w, p.constraint[i], &d);
    }
}

/* Saves, loads into another world, whose block is full of garbage, and steps both */
static void save_and_load(void)
{
    size_t size = icf_world_save_bytes(&p.w), i;
    uint8_t* saved = (uint8_t*)malloc(size);
    uint64_t hash = icf_world_hash(&p.w);
    icf_world_def d;
    icf_world other;
    unsigned char* memory;
    size_t room;
    icf_result result;
    CHECK(saved && icf_world_save(&p.w, saved, size - 1) == ICF_RESULT_TOO_SMALL);
    CHECK(icf_world_save(&p.w, saved, size) == ICF_RESULT_OK);
    CHECK(icf_world_get_def(&p.w, &d) == ICF_RESULT_OK);
    room = icf_world_bytes(&d);
    memory = (unsigned char*)malloc(room);
    CHECK(memory != NULL);
    for (i = 0; i < room; i += 1 + i / 64) memory[i] = (unsigned char)byte();
    memset(&other, 0, sizeof other);
    CHECK(icf_world_init(&other, memory, room, &d) == ICF_RESULT_OK);
    result = count(icf_world_load(&other, saved, size));
    /* numbers that are no more finite can have come in by calls that add up or turn huge ones */
#ifndef FUZZ_SIGNED
    if (wild < 2) CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_TOO_SMALL);
#endif
    if (result == ICF_RESULT_OK) {
        icf_result a, b;
        CHECK(icf_world_hash(&other) == hash);
        icf_world_clear_touches(&p.w);
        a = icf_world_step(&p.w, (icf_real)0.01);
        b = icf_world_step(&other, (icf_real)0.01);
        /* a world of its own grows where the other one goes without a factor, or does without */
        if (!p.w.owner) {
            CHECK(a == b && icf_world_hash(&p.w) == icf_world_hash(&other));
        }
    }
    free(memory);
    free(saved);
}

static void load_damaged(void)
{
    size_t size = icf_world_save_bytes(&p.w), short_size = size;
    uint8_t *saved = (uint8_t*)malloc(size), *copy = (uint8_t*)malloc(size);
    uint64_t hash = icf_world_hash(&p.w);
    int i, n = 1 + byte() % 4;
    icf_result result;
    CHECK(saved && copy && icf_world_save(&p.w, saved, size) == ICF_RESULT_OK);
    memcpy(copy, saved, size);
    for (i = 0; i < n; i++) {
        size_t at = (size_t)(byte() << 16 | byte() << 8 | byte()) % size;
        copy[at] = (uint8_t)(byte() < 128 ? copy[at] ^ 1u << byte() % 8 : (unsigned)byte());
    }
#ifdef FUZZ_SIGNED
    {
        icfi_saved s;
        icfi_header h;
        memcpy(&s.h, copy, sizeof s.h);
        memcpy(&h, saved, sizeof h);
        /* a billion substeps would be done, too */
        if (!memcmp(s.h.end, h.end, sizeof h.end) &&
            !memcmp(s.h.record, h.record, sizeof h.record) && s.h.substeps <= 100) {
            (void)icfi_saved_open(&s, copy);
            s.h.checksum = icfi_checksum(&s);
            memcpy(copy, &s.h, sizeof s.h);
        }
    }
#endif
    if (byte() < 40) short_size = (size_t)(byte() << 8 | byte()) % size;
    result = count(icf_world_load(&p.w, copy, short_size));
    if (result != ICF_RESULT_OK) {
        CHECK(icf_world_hash(&p.w) == hash);
    } else {
#ifndef FUZZ_SIGNED
        CHECK(short_size == size && !memcmp(copy, saved, size));
#endif
    }
    free(copy);
    free(saved);
}

static void move_or_clone(void)
{
    uint64_t hash = icf_world_hash(&p.w);
    icf_world_def d;
    icf_world copy;
    CHECK(icf_world_get_def(&p.w, &d) == ICF_RESULT_OK);
    memset(&copy, 0, sizeof copy);
    if (byte() < 128) {
        icf_result a, b;
        CHECK(icf_world_clone(&copy, &p.w) == ICF_RESULT_OK);
        CHECK(icf_world_hash(&copy) == hash);
        if (p.w.owner) {
            a = icf_world_step(&p.w, (icf_real)0.01);
            b = icf_world_step(&copy, (icf_real)0.01);
            CHECK(a == b && icf_world_hash(&p.w) == icf_world_hash(&copy));
        }
        icf_world_destroy(&copy);
    } else {
        size_t room;
        unsigned char* memory;
        icf_result result;
        d.bodies += byte() % 8 - 3;
        d.joints += byte() % 8 - 3;
        d.contacts += byte() % 8 - 3;
        if (byte() < 60) d.tree = byte() % 40;
        if (byte() < 60) d.solver = (size_t)(byte() * 100);
        room = icf_world_bytes(&d);
        memory = (unsigned char*)malloc(room ? room : 1);
        CHECK(memory != NULL);
        result = count(icf_world_move(&p.w, memory, room, &d));
        CHECK(icf_world_hash(&p.w) == hash);
        if (result == ICF_RESULT_OK) {
            free(p.memory);
            p.memory = memory;
        } else {
            free(memory);
        }
    }
}

static icf_result call(void)
{
    icf_real x[4];
    icf_body b;
    icf_joint j;
    icf_constraint c;
    icf_result result;
    int i, what = byte() % 40;
    for (i = 0; i < 4; i++) x[i] = number(1.5);
    switch (what) {
    case 0:
    case 1:
    case 2: {
        icf_body_def d = body_def();
        if (icf_world_body_count(&p.w) >= MOST_BODIES) return ICF_RESULT_OK;
        result = icf_body_create(&p.w, &d, &b);
        if (result == ICF_RESULT_OK) p.body[p.bodies++ % NAMES] = b;
        return result;
    }
    case 3: return icf_body_destroy(&p.w, some_body());
    case 4: {
        icf_body_def d = body_def();
        return icf_body_set_def(&p.w, some_body(), &d);
    }
    case 5: {
        icf_body_def d;
        b = some_body();
        if (icf_body_get_def(&p.w, b, &d) != ICF_RESULT_OK) return ICF_RESULT_OK;
        d.locks = byte() < 128 ? 0 : d.locks;
        d.kind = byte() % 3;
        return icf_body_set_def(&p.w, b, &d);
    }
    case 6: return icf_body_set_pose(&p.w, some_body(), pose(2));
    case 7: return icf_body_set_velocity(&p.w, some_body(), vector(2), vector(2));
    case 8: return icf_body_apply_force(&p.w, some_body(), vector(10), vector(1));
    case 9: return icf_body_apply_torque(&p.w, some_body(), vector(10));
    case 10:
    case 11: return icf_body_apply_impulse(&p.w, some_body(), vector(1), vector(1));
    case 12:
    case 13:
    case 14:
    case 15: {
        icf_joint_def d = joint_def();
        result = icf_joint_create(&p.w, &d, &j);
        if (result == ICF_RESULT_OK) p.joint[p.joints++ % NAMES] = j;
        return result;
    }
    case 16: return icf_joint_destroy(&p.w, some_joint());
    case 17: {
        icf_joint_def d;
        j = some_joint();
        if (icf_joint_get_def(&p.w, j, &d) != ICF_RESULT_OK) return ICF_RESULT_OK;
        joint_numbers(&d);
        return icf_joint_set_def(&p.w, j, &d);
    }
    case 18: return icf_joint_set_position(&p.w, some_joint(), x);
    case 19: return icf_joint_set_velocity(&p.w, some_joint(), x);
    case 20: return icf_joint_set_target(&p.w, some_joint(), x, byte() < 128 ? x : NULL, NULL);
    case 21: return icf_joint_apply_effort(&p.w, some_joint(), x);
    case 22:
    case 23: {
        icf_constraint_def d = constraint_def();
        result = icf_constraint_create(&p.w, &d, &c);
        if (result == ICF_RESULT_OK) p.constraint[p.constraints++ % NAMES] = c;
        return result;
    }
    case 24: return icf_constraint_destroy(&p.w, some_constraint());
    case 25: {
        icf_constraint_def d = constraint_def();
        return icf_constraint_set_def(&p.w, some_constraint(), &d);
    }
    case 26: {
        icf_world_def d = world_def();
        return icf_world_set_def(&p.w, &d);
    }
    case 27: save_and_load(); return ICF_RESULT_OK;
    case 28: load_damaged(); return ICF_RESULT_OK;
    case 29: move_or_clone(); return ICF_RESULT_OK;
    case 30: icf_world_clear_touches(&p.w); return ICF_RESULT_OK;
    case 31: read_results(); return ICF_RESULT_OK;
    case 32: {
        uint64_t hash = icf_world_hash(&p.w);
        result = icf_world_try(&p.w, positive(0.02));
        CHECK(hash == icf_world_hash(&p.w));
        return result;
    }
    default: {
        int touches = byte() % 6;
        uint64_t hash;
        for (i = 0; i < touches; i++) {
            icf_surface surface;
            icf_touch t = touch(&surface);
            (void)icf_world_add_touch(&p.w, &t, &surface);
        }
        hash = icf_world_hash(&p.w);
        result = icf_world_step(&p.w, positive(0.02));
        if (result < ICF_RESULT_OK) {
            CHECK(hash == icf_world_hash(&p.w));
            if (byte() < 200) icf_world_clear_touches(&p.w);
        }
        read_results();
        return result;
    }
    }
}

static void fuzz_input(void)
{
    icf_world_def d;
    int i, mode;
    memset(&p, 0, sizeof p);
    mode = byte();
    wild = 0; /* the world itself is a sound one */
    d = world_def();
    if (mode & 1) {
        CHECK(icf_world_create(&p.w, &d) == ICF_RESULT_OK);
    } else {
        size_t room = icf_world_bytes(&d);
        p.memory = (unsigned char*)malloc(room);
        CHECK(p.memory != NULL);
        memset(p.memory, 0xa5, room);
        CHECK(icf_world_init(&p.w, p.memory, room - 1, &d) == ICF_RESULT_TOO_SMALL);
        CHECK(icf_world_init(&p.w, p.memory, room, &d) == ICF_RESULT_OK);
    }
    wild = mode / 2 % 3;
    for (i = 0; i < CALLS; i++) {
        uint64_t hash = icf_world_hash(&p.w);
        icf_result result = count(call());
        if (result < ICF_RESULT_OK) CHECK(icf_world_hash(&p.w) == hash);
        check_finite();
    }
    icf_world_destroy(&p.w);
    free(p.memory);
}

static int fuzz_end(void)
{
    int result;
    for (result = 0; result < 20; result++) {
        if (outcomes[result])
            printf("%s %lu\n", icf_result_string((icf_result)(ICF_RESULT_TOO_FAST - result)),
                   outcomes[result]);
    }
    return 0;
}
