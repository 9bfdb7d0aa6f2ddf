/* Random calls on two scenes that should be the same, and what must hold whatever they are:

     - no crash, no read or write outside the memory, which is exactly icf_scene_bytes
     - what is refused leaves the hash as it was
     - a scene that grows and one with room, which is loaded out of the other now and then, have the same
       hash after every call, but where the one with room is full
     - bodies stay finite, events name pairs in order, touches have colliders, ray hits are on colliders
     - what was saved and damaged is refused, or is what was saved

   With libFuzzer, from the root of the repository:

     clang -g -O1 -fsanitize=fuzzer,address,undefined -DICF_LIBFUZZER -I. tests/fuzz_scene.c -lm

   Without -DICF_LIBFUZZER it is a plain program: fuzz_scene [COUNT [FIRST]] runs COUNT inputs made of the
   seeds FIRST, FIRST + 1 ...; fuzz_scene FILE... runs files. */

#define ICF_IMPLEMENTATION
#include <assert.h>
#define ICF_ASSERT(x) assert(x)
#include "../icf_geometry.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define R(x) ((icf_real)(x))

static const char* source = ""; /* what runs, for the message */
static uint32_t source_number;

static void fail(int line, const char* what)
{
    fprintf(stderr, "tests/fuzz_scene.c:%d: %s (%s %lu)\n", line, what, source,
            (unsigned long)source_number);
    abort();
}

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

// ------------------------------------------------------------------------------------------------
// Numbers out of bytes

/* Behind the last byte come random ones, so that a short input is a whole run */
typedef struct bytes {
    const uint8_t *at, *end;
    uint32_t random;
} bytes;

static uint32_t take(bytes* b)
{
    if (b->at < b->end) {
        b->random = b->random * 1664525u + *b->at + 1013904223u;
        return *b->at++;
    }
    b->random ^= b->random << 13;
    b->random ^= b->random >> 17;
    b->random ^= b->random << 5;
    return b->random >> 13 & 255;
}

/* 0 .. count - 1 */
static int32_t below(bytes* b, int32_t count)
{
    return count > 1 ? (int32_t)(take(b) % (uint32_t)count) : 0;
}

/* true one time in `times` */
static int one_in(bytes* b, uint32_t times)
{
    return take(b) % times == times - 1;
}

static icf_real between(bytes* b, double low, double high)
{
    const uint32_t high_byte = take(b);
    return R(low + (high - low) * ((double)(high_byte << 8 | take(b)) / 65535.0));
}

/* now and then one that is no number, or too large */
static icf_real number(bytes* b, double low, double high)
{
    static const double odd[6] = {0, -1, (double)NAN, (double)INFINITY, 1e30, 1e-30};
    return one_in(b, 64) ? R(odd[below(b, 6)]) : between(b, low, high);
}

static icf_vec3 vector(bytes* b, double low, double high)
{
    icf_real x = number(b, low, high), y = number(b, low, high);
    return icf_vec3_make(x, y, number(b, low, high));
}

static icf_quat rotation(bytes* b)
{
    icf_quat q = icf_quat_identity();
    double l;
    if (one_in(b, 3)) return q;
    q.x = between(b, -1, 1);
    q.y = between(b, -1, 1);
    q.z = between(b, -1, 1);
    q.w = between(b, -1, 1);
    l = sqrt((double)(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w));
    if (l < 0.01) return icf_quat_identity();
    q.x = R((double)q.x / l);
    q.y = R((double)q.y / l);
    q.z = R((double)q.z / l);
    q.w = R((double)q.w / l);
    return q;
}

static icf_transform pose_of(bytes* b)
{
    icf_quat q = rotation(b);
    return icf_transform_make(q, vector(b, -2, 2));
}

static icf_shape shape_of(bytes* b)
{
    icf_real x = number(b, 0.05, 0.8), y = number(b, 0.02, 0.8), z = number(b, 0.01, 0.8);
    icf_shape s;
    switch (below(b, 8)) {
    case 0:
    case 1: s = icf_sphere(x); break;
    case 2:
    case 3: s = icf_capsule(x, y); break;
    case 4: s = icf_half_space(); break;
    default: s = icf_box(x, y, z);
    }
    if (one_in(b, 4)) s = icf_shape_at(s, pose_of(b));
    return s;
}

static icf_collider_def collider_of(bytes* b, icf_body body)
{
    icf_collider_def d = icf_default_collider_def();
    d.shape = shape_of(b);
    d.body = body;
    if (one_in(b, 4)) d.material.friction = number(b, 0, 2);
    if (one_in(b, 8)) d.material.stiffness = number(b, 1e3, 1e6);
    if (one_in(b, 8)) d.material.dissipation = number(b, 0, 50);
    if (one_in(b, 8)) d.material.rolling = number(b, 0, 0.1);
    if (one_in(b, 8)) d.surface_velocity = vector(b, -2, 2);
    if (one_in(b, 4)) d.category = take(b);
    if (one_in(b, 4)) d.mask = take(b);
    if (one_in(b, 4)) d.group = below(b, 5) - 2;
    d.sensor = one_in(b, 8);
    if (one_in(b, 100)) d.cookie = 0;
    return d;
}

// ------------------------------------------------------------------------------------------------
// Two scenes

enum { NAMES = 24 };

typedef struct run {
    icf_scene grows, fixed;
    int is_full; /* the fixed one could not follow, until it is loaded again */
    icf_body body[NAMES];
    icf_collider collider[NAMES];
    icf_joint joint[NAMES];
    uint64_t hash;
    uint8_t* saved;
    size_t count;
} run;

/* One call on both. What is refused has no effect; what the one does, the other does, if it has room. */
static void both(run* r, icf_result one, icf_result two)
{
    uint64_t hash = icf_scene_hash(&r->grows);
    if (one != ICF_RESULT_OK && one != ICF_RESULT_NOT_CONVERGED) CHECK(hash == r->hash);
    CHECK(one != ICF_RESULT_TOO_SMALL);
    if (!r->is_full) {
        if (two == ICF_RESULT_TOO_SMALL && one != two) {
            CHECK(icf_scene_hash(&r->fixed) == r->hash);
            r->is_full = 1;
        } else {
            CHECK(one == two);
            CHECK(icf_scene_hash(&r->fixed) == hash);
        }
    }
    r->hash = hash;
}

#define BOTH(call_of_s) \
    do { \
        icf_result one, two = ICF_RESULT_OK; \
        icf_scene* s = &r->grows; \
        one = (call_of_s); \
        s = &r->fixed; \
        if (!r->is_full) two = (call_of_s); \
        both(r, one, two); \
    } while (0)

/* the two give the same names; those of a call on a scene that is full are not kept */
#define NAMED(array, i, call_with_name) \
    do { \
        icf_result one, two = ICF_RESULT_OK; \
        icf_scene* s = &r->grows; \
        one = (call_with_name); \
        if (one == ICF_RESULT_OK) r->array[i] = name; \
        s = &r->fixed; \
        if (!r->is_full) two = (call_with_name); \
        both(r, one, two); \
    } while (0)

static void save(run* r)
{
    uint8_t* room;
    r->count = icf_scene_save_bytes(&r->grows);
    room = (uint8_t*)realloc(r->saved, r->count);
    CHECK(room != NULL);
    r->saved = room;
    CHECK(icf_scene_save(&r->grows, r->saved, r->count - 1) == ICF_RESULT_TOO_SMALL);
    CHECK(icf_scene_save(&r->grows, r->saved, r->count) == ICF_RESULT_OK);
}

static void load(bytes* b, run* r)
{
    icf_result result;
    if (one_in(b, 2) || !r->saved) save(r);
    if (one_in(b, 3)) { /* damaged */
        size_t at = ((size_t)take(b) << 16 | (size_t)take(b) << 8 | take(b)) % r->count;
        uint8_t keep = r->saved[at];
        uint64_t before = icf_scene_hash(&r->grows);
        icf_scene other = {0};
        icf_scene_def def = icf_default_scene_def();
        r->saved[at] = (uint8_t)(keep ^ (1u << below(b, 8)));
        CHECK(icf_scene_create(&other, &def) == ICF_RESULT_OK);
        result = icf_scene_load(&other, r->saved, r->count);
        CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_BAD_DEF);
        if (result == ICF_RESULT_OK) {
            uint64_t hash = icf_scene_hash(&other);
            r->saved[at] = keep;
            CHECK(icf_scene_load(&other, r->saved, r->count) == ICF_RESULT_OK);
            CHECK(icf_scene_hash(&other) == hash);
        }
        CHECK(icf_scene_load(&other, r->saved, r->count - 1 - at % r->count) != ICF_RESULT_OK);
        icf_scene_destroy(&other);
        r->saved[at] = keep;
        CHECK(icf_scene_hash(&r->grows) == before);
    }
    /* both go back to what was saved, or the one with room comes to where the other is */
    if (one_in(b, 2)) save(r);
    CHECK(icf_scene_load(&r->grows, r->saved, r->count) == ICF_RESULT_OK);
    result = icf_scene_load(&r->fixed, r->saved, r->count);
    r->hash = icf_scene_hash(&r->grows);
    r->is_full = result != ICF_RESULT_OK;
    CHECK(result == ICF_RESULT_OK || result == ICF_RESULT_TOO_SMALL);
    if (!r->is_full) CHECK(icf_scene_hash(&r->fixed) == r->hash);
}

static void look(bytes* b, run* r)
{
    icf_line line[16];
    icf_collider found[8];
    icf_scene_hit hit;
    icf_aabb box;
    icf_vec3 o = icf_vec3_make(between(b, -3, 3), between(b, -3, 3), between(b, -3, 3));
    icf_vec3 way = icf_vec3_make(between(b, -3, 3), between(b, -3, 3), between(b, 0.1, 3));
    int32_t i, n, most = below(b, 9);
    if (one_in(b, 2)) BOTH(icf_scene_update(s));
    if (icf_scene_ray(&r->grows, o, way, 10, 0xffffffffu, &hit)) {
        CHECK(icf_collider_is_valid(&r->grows, hit.collider));
        CHECK(hit.t >= 0 && hit.t <= 10);
    }
    box.lower = o;
    box.upper = icf_vec3_add(o, icf_vec3_make(1, 1, 1));
    n = icf_scene_overlaps(&r->grows, &box, found, most);
    for (i = 0; i < n && i < most; i++) CHECK(icf_collider_is_valid(&r->grows, found[i]));
    n = icf_scene_debug_lines(&r->grows, take(b), between(b, -1, 10), line, 16);
    CHECK(n >= 0);
}

static void check_results(run* r)
{
    int32_t i, n, count;
    const icf_scene_event* e = icf_scene_events(&r->grows, &n);
    for (i = 0; i < n; i++) {
        CHECK(e[i].a.index < e[i].b.index);
        CHECK(e[i].impulse >= 0);
        CHECK(i == 0 || e[i - 1].a.index < e[i].a.index ||
              (e[i - 1].a.index == e[i].a.index && e[i - 1].b.index < e[i].b.index));
        CHECK(e[i].kind != ICF_EVENT_ENDED || e[i].impulse <= 0);
    }
    if (!r->is_full) {
        const icf_scene_event* f = icf_scene_events(&r->fixed, &count);
        CHECK(n == count);
        for (i = 0; i < n; i++) {
            CHECK(e[i].kind == f[i].kind && e[i].sensor == f[i].sensor &&
                  e[i].a.index == f[i].a.index && e[i].b.index == f[i].b.index &&
                  e[i].a.generation == f[i].a.generation && e[i].impulse <= f[i].impulse &&
                  e[i].impulse >= f[i].impulse);
        }
    }
    count = icf_world_touch_count(&r->grows.world);
    for (i = 0; i < count; i++) {
        icf_collider a, b;
        CHECK(icf_scene_touch_colliders(&r->grows, i, &a, &b) == ICF_RESULT_OK);
    }
    for (i = 0; i < icf_world_body_count(&r->grows.world); i++) {
        icf_body_state state;
        if (icf_body_get_state(&r->grows.world, icf_world_body_at(&r->grows.world, i), &state) !=
            ICF_RESULT_OK)
            continue;
        CHECK(state.center.x - state.center.x == 0 && state.velocity.z - state.velocity.z == 0);
    }
}

static icf_result add_body(bytes* b, icf_scene* s, const icf_body_def* def, icf_body* name)
{
    (void)b;
    return icf_body_create(&s->world, def, name);
}

/* between detection and solve the touches are ours */
static icf_result halves(icf_scene* s, icf_real dt, uint32_t how)
{
    icf_result result = icf_scene_detect(s, dt);
    icf_touch* t;
    int32_t i, n;
    if (result != ICF_RESULT_OK) return result;
    t = icf_world_touches(&s->world, &n);
    for (i = 0; i < n; i++) {
        if ((uint32_t)i % 3 == how % 3) t[i].contact.friction = 0;
        if (how % 5 == 1) t[i].contact.distance = 100;
        if (how % 7 == 2) t[i].id = 0;
        if (how % 31 == 5 && i == 2) t[i].point.x = R((double)NAN);
    }
    if (how % 11 == 3) icf_world_clear_touches(&s->world);
    if (how % 13 == 4 && n) {
        icf_touch more = t[0];
        if (icf_world_add_touch(&s->world, &more) != ICF_RESULT_OK) return ICF_RESULT_TOO_SMALL;
    }
    if (how % 17 == 6) (void)icf_scene_update(s);
    return icf_scene_solve(s, dt);
}

static void act(bytes* b, run* r)
{
    int32_t i = below(b, NAMES), k = below(b, NAMES), at;
    icf_transform pose;
    icf_collider_def d;
    icf_collider name_c;
    icf_vec3 v, w;
    icf_real density;
    switch (below(b, 20)) {
    case 0:
    case 1:
    case 2: {
        icf_shape shape = shape_of(b);
        icf_body name;
        density = one_in(b, 4) ? 0 : number(b, 10, 1000);
        pose = pose_of(b);
        NAMED(body, i, icf_scene_add(s, shape, density, pose, &name));
        break;
    }
    case 3: {
        icf_body_def def = icf_default_body_def();
        icf_body name;
        def.kind = below(b, 3);
        def.pose = pose_of(b);
        def.velocity = vector(b, -5, 5);
        def.angular_velocity = vector(b, -5, 5);
        NAMED(body, i, add_body(b, s, &def, &name));
        break;
    }
    case 4:
    case 5: {
        icf_collider name;
        d = collider_of(b, r->body[i]);
        if (one_in(b, 6)) d.body.index = d.body.generation = 0;
        NAMED(collider, k, icf_collider_create(s, &d, &name));
        break;
    }
    case 6:
        if (icf_collider_get_def(&r->grows, r->collider[i], &d) == ICF_RESULT_OK) {
            icf_collider_def changed = collider_of(b, d.body);
            BOTH(icf_collider_set_def(s, r->collider[i], &changed));
        }
        break;
    case 7: BOTH(icf_collider_destroy(s, r->collider[i])); break;
    case 8:
        at = below(b, icf_scene_collider_count(&r->grows));
        name_c = icf_scene_collider_at(&r->grows, at);
        if (one_in(b, 3)) BOTH(icf_collider_destroy(s, name_c));
        break;
    case 9:
        if (one_in(b, 2)) BOTH(icf_body_destroy(&s->world, r->body[i]));
        break;
    case 10:
        density = number(b, 10, 1000);
        BOTH(icf_scene_set_density(s, r->body[i], density));
        break;
    case 11:
        pose = pose_of(b);
        BOTH(icf_body_set_pose(&s->world, r->body[i], pose));
        break;
    case 12:
        v = vector(b, -20, 20);
        w = vector(b, -20, 20);
        BOTH(icf_body_set_velocity(&s->world, r->body[i], v, w));
        break;
    case 13:
        v = vector(b, -1e4, 1e4);
        w = vector(b, -1, 1);
        BOTH(icf_body_apply_force(&s->world, r->body[i], v, w));
        break;
    case 14: {
        icf_joint_def j = icf_default_joint_def((icf_joint_kind)below(b, 6));
        icf_joint name;
        j.parent = r->body[i];
        j.child = r->body[k];
        if (one_in(b, 2)) {
            NAMED(joint, i, icf_joint_create(&s->world, &j, &name));
        } else {
            BOTH(icf_joint_destroy(&s->world, r->joint[i]));
        }
        break;
    }
    case 15: look(b, r); break;
    case 16: load(b, r); break;
    default: {
        int32_t steps = 1 + below(b, 8);
        uint32_t how = one_in(b, 3) ? take(b) : 0;
        icf_real dt = one_in(b, 40) ? number(b, 0.001, 1) : R(1.0 / 60);
        for (; steps > 0; steps--) {
            if (how) {
                BOTH(halves(s, dt, how));
            } else {
                BOTH(icf_scene_step(s, dt));
            }
            check_results(r);
        }
    }
    }
}

static void run_input(const uint8_t* data, size_t size)
{
    static run r;
    bytes b;
    icf_scene_def def = icf_default_scene_def(), none = icf_default_scene_def();
    void* memory;
    size_t room;
    int32_t i, calls;
    memset(&r, 0, sizeof r);
    b.at = data;
    b.end = data + size;
    b.random = 2463534242u + (uint32_t)size;
    for (i = 0; i < 4; i++) b.random = b.random * 1664525u + take(&b);
    def.points = none.points = 1 + below(&b, 8);
    def.margin = none.margin = one_in(&b, 4) ? between(&b, 0, 1) : R(0.02);
    def.world.model = none.world.model = below(&b, 3);
    def.world.substeps = none.world.substeps = one_in(&b, 8) ? 3 : 1;
    def.world.method = none.world.method = below(&b, 3);
    def.world.iterations = none.world.iterations = one_in(&b, 8) ? 2 : 1000;
    def.world.bodies = 10 + below(&b, 30);
    def.world.contacts = 50 + below(&b, 200);
    def.world.joints = below(&b, 10);
    def.colliders = 10 + below(&b, 40);
    def.pairs = 10 + below(&b, 100);
    /* with less it solves otherwise */
    def.world.solver = none.world.solver = (size_t)4 << 20;
    none.world.bodies = none.world.joints = none.world.contacts = none.colliders = none.pairs = 0;
    def.world.tree = none.world.tree = 300;
    room = icf_scene_bytes(&def);
    CHECK(room > 0);
    memory = malloc(room);
    CHECK(memory != NULL);
    memset(memory, 0x5a, room);
    CHECK(icf_scene_init(&r.fixed, memory, room - 1, &def) == ICF_RESULT_TOO_SMALL);
    CHECK(icf_scene_init(&r.fixed, memory, room, &def) == ICF_RESULT_OK);
    CHECK(icf_scene_create(&r.grows, &none) == ICF_RESULT_OK);
    r.hash = icf_scene_hash(&r.grows);
    CHECK(icf_scene_hash(&r.fixed) == r.hash);
    calls = 20 + below(&b, 200);
    for (i = 0; i < calls; i++) act(&b, &r);
    icf_scene_destroy(&r.grows);
    free(memory);
    free(r.saved);
}

#ifdef ICF_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    source = "input of bytes:";
    source_number = (uint32_t)size;
    run_input(data, size);
    return 0;
}

#else

static void run_file(const char* name)
{
    static uint8_t data[1 << 16];
    FILE* file = fopen(name, "rb");
    size_t size;
    if (!file) {
        fprintf(stderr, "cannot read %s\n", name);
        exit(2);
    }
    size = fread(data, 1, sizeof data, file);
    fclose(file);
    source = name;
    run_input(data, size);
}

int main(int argc, char** argv)
{
    long count = 200, first = 1, i;
    if (argc > 1 && strspn(argv[1], "0123456789") != strlen(argv[1])) {
        for (i = 1; i < argc; i++) run_file(argv[i]);
        return 0;
    }
    if (argc > 1) count = atol(argv[1]);
    if (argc > 2) first = atol(argv[2]);
    source = "seed";
    for (i = first; i < first + count; i++) {
        uint8_t data[4];
        source_number = (uint32_t)i;
        data[0] = (uint8_t)i;
        data[1] = (uint8_t)(i >> 8);
        data[2] = (uint8_t)(i >> 16);
        data[3] = (uint8_t)(i >> 24);
        run_input(data, sizeof data);
    }
    printf("%ld runs, first seed %ld\n", count, first);
    return 0;
}

#endif
