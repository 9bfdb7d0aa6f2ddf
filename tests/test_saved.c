/* Saved worlds and scenes of which one number is damaged, with a checksum that fits: what could not have been
   saved is refused, and changes nothing; what could have been is loaded. A checksum tells of bytes that were
   lost, not of ones that were made. */

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ICF_ASSERT(x) assert(x)
#define ICF_IMPLEMENTATION
#include "../icf_geometry.h"

#include "acutest.h"
#include "util.h"

enum { BODIES = 6, JOINTS = 4, CONSTRAINTS = 4, SAVED = 1 << 15 };

static icf_scene scene, other;
static icf_collider colliders[5];
static unsigned char saved[SAVED];
static size_t saved_bytes, world_at;
static uint64_t other_hash;
static const char* what;
static int refused, loaded;

/* Bodies 0 on the ground, 1 to 3 hang on each other, 4 was destroyed, 5 lies at rest; joints 0, 1 universal,
   2 a ball joint, 3 destroyed; constraints 0 a ball, 1 a coupler, 2 destroyed, 3 a distance from the ground */
static void scene_make(icf_scene* s, int steps)
{
    icf_scene_def def = icf_default_scene_def();
    icf_transform pose = icf_transform_identity();
    icf_collider_def c = icf_default_collider_def();
    icf_constraint_def d = icf_default_constraint_def(ICF_CONSTRAINT_BALL);
    icf_body body[BODIES];
    icf_joint joint[JOINTS];
    icf_constraint constraint[CONSTRAINTS];
    int i;
    memset(s, 0, sizeof *s);
    def.world.settle = 1;
    OK(icf_scene_create(s, &def));
    for (i = 0; i < BODIES; i++) {
        pose.p = icf_vec3_make(2 * (icf_real)i, 0, i == 5 ? R(0.499) : 3);
        c.shape = i == 5 ? icf_box(R(0.5), R(0.5), R(0.5)) : icf_sphere(R(0.5));
        if (i == 2) c.shape = icf_capsule(R(0.2), R(0.1));
        if (i < 5) {
            OK(icf_scene_add_def(s, &c, 1000, pose, &body[i], &colliders[i]));
        } else {
            OK(icf_scene_add_def(s, &c, 1000, pose, &body[i], NULL));
        }
    }
    c.shape = icf_half_space();
    memset(&c.body, 0, sizeof c.body);
    OK(icf_collider_create(s, &c, &colliders[4]));
    for (i = 0; i < JOINTS; i++) {
        icf_joint_def j = icf_default_joint_def(i == 2 ? ICF_JOINT_BALL : ICF_JOINT_UNIVERSAL);
        if (i < 3) j.parent = body[i];
        j.child = body[i + 1];
        j.child_frame.p.z = R(1.5);
        OK(icf_joint_create(&s->world, &j, &joint[i]));
    }
    for (i = 0; i < CONSTRAINTS; i++) {
        d = icf_default_constraint_def(i == 1   ? ICF_CONSTRAINT_COUPLER
                                       : i == 3 ? ICF_CONSTRAINT_DISTANCE
                                                : ICF_CONSTRAINT_BALL);
        d.a = body[0];
        d.b = body[3];
        if (i == 3) memset(&d.a, 0, sizeof d.a);
        d.a_frame.p.x = 6;
        d.joints = 2;
        d.joint[0] = joint[0];
        d.joint[1] = joint[1];
        d.number[1] = 1;
        d.ratio[0] = d.ratio[1] = 1;
        OK(icf_constraint_create(&s->world, &d, &constraint[i]));
    }
    OK(icf_constraint_destroy(&s->world, constraint[2]));
    for (i = 0; i < steps; i++) {
        icf_result result = icf_scene_step(s, R(0.005));
        TEST_CHECK_(result >= 0, "step %d: %s", i, icf_result_string(result));
    }
    OK(icf_body_destroy(&s->world, body[4])); /* and its joint */
    OK(icf_collider_destroy(s, colliders[3]));
    OK(icf_collider_destroy(s, colliders[0]));
}

static icfi_scene_header* scene_header(void)
{
    return (icfi_scene_header*)(void*)saved;
}

static icfi_collider* saved_collider(int i)
{
    return (icfi_collider*)(void*)(saved + sizeof(icfi_scene_header)) + i;
}

static icfi_pair_state* saved_pair(int i)
{
    return (icfi_pair_state*)(void*)saved_collider(scene_header()->collider_end) + i;
}

static icfi_header* header(void)
{
    return (icfi_header*)(void*)(saved + world_at);
}

static icfi_body* saved_body(int i)
{
    return (icfi_body*)(void*)(saved + world_at + sizeof(icfi_header)) + i;
}

static icfi_joint* saved_joint(int i)
{
    return (icfi_joint*)(void*)saved_body(BODIES) + i;
}

static icfi_constraint* saved_constraint(int i)
{
    return (icfi_constraint*)(void*)saved_joint(JOINTS) + i;
}

static icfi_contact_cache* saved_memory(int i)
{
    return (icfi_contact_cache*)(void*)saved_constraint(CONSTRAINTS) + i;
}

static void save_again(void)
{
    saved_bytes = icf_scene_save_bytes(&scene);
    TEST_ASSERT(saved_bytes <= sizeof saved);
    OK(icf_scene_save(&scene, saved, saved_bytes));
    world_at = saved_bytes - icf_world_save_bytes(&scene.world);
}

static void begin(void)
{
    scene_make(&scene, 20);
    scene_make(&other, 3);
    other_hash = icf_scene_hash(&other);
    save_again();
    refused = loaded = 0;
    TEST_ASSERT(header()->end[ICFI_BODIES] == BODIES && header()->end[ICFI_JOINTS] == JOINTS);
    TEST_ASSERT(header()->end[ICFI_CONSTRAINTS] == CONSTRAINTS &&
                header()->end[ICFI_CONTACTS] >= 4);
    TEST_ASSERT(scene_header()->collider_end == 7 && scene_header()->pair_count >= 1);
    TEST_ASSERT(header()->unused[ICFI_BODIES] == 4 && header()->unused[ICFI_JOINTS] == 3);
    TEST_ASSERT(header()->unused[ICFI_CONSTRAINTS] == 2 && scene_header()->collider_free == 0);
}

static void end(int refusals, int loads)
{
    TEST_CHECK_(refused >= refusals && loaded >= loads, "%d refused, %d loaded", refused, loaded);
    icf_scene_destroy(&scene);
    icf_scene_destroy(&other);
}

/* Loads the damaged bytes into the other scene, checks the answer, and saves the scene anew */
static void load(const char* how, int good)
{
    icfi_saved world;
    icf_result result;
    memcpy(&world.h, header(), sizeof world.h);
    if (world.h.end[ICFI_BODIES] == BODIES && world.h.end[ICFI_JOINTS] == JOINTS &&
        world.h.end[ICFI_CONSTRAINTS] == CONSTRAINTS && world.h.end[ICFI_CONTACTS] >= 0 &&
        world.h.end[ICFI_CONTACTS] < 100) {
        (void)icfi_saved_open(&world, saved + world_at);
        header()->checksum = icfi_checksum(&world);
    }
    if (scene_header()->collider_end == 7 && scene_header()->pair_count >= 0 &&
        scene_header()->pair_count < 100) {
        scene_header()->checksum = icfi_scene_checksum(
            scene_header(), (unsigned char*)saved_collider(0), (unsigned char*)saved_pair(0));
    }
    result = icf_scene_load(&other, saved, saved_bytes);
    TEST_CHECK_(result == (good ? ICF_RESULT_OK : ICF_RESULT_BAD_DEF), "%s %s: %s", what, how,
                icf_result_string(result));
    if (result < 0) {
        TEST_CHECK_(icf_scene_hash(&other) == other_hash, "%s %s: changed", what, how);
    }
    other_hash = icf_scene_hash(&other);
    refused += result < 0;
    loaded += result == ICF_RESULT_OK;
    save_again();
}

static void reals(icf_real* x, size_t count, const char* name)
{
    static const double wrong[3] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    size_t i;
    int k;
    what = name;
    for (i = 0; i < count; i++) {
        for (k = 0; k < 3; k++) {
            x[i] = R(wrong[k]);
            load("not finite", 0);
        }
    }
}

static void integer(int32_t* x, int32_t low, int32_t high, const char* name)
{
    int32_t wrong[4];
    int k;
    wrong[0] = low - 1;
    wrong[1] = high + 1;
    wrong[2] = INT32_MIN;
    wrong[3] = INT32_MAX;
    what = name;
    for (k = 0; k < 4; k++) {
        char how[24];
        *x = wrong[k];
        snprintf(how, sizeof how, "%ld", (long)*x);
        load(how, 0);
    }
}

#define SET(place, value, good) \
    do { \
        what = #place; \
        (place) = (value); \
        load(#value, good); \
    } while (0)

static void test_world_header(void)
{
    int i;
    begin();
    what = "nothing";
    load("at all", 1);
    TEST_CHECK(icf_scene_hash(&scene) == icf_scene_hash(&other));
    reals(&header()->gravity.x, ICFI_REALS_BEFORE(icfi_header, checksum), "the header");
    SET(header()->tolerance, -1, 0);
    SET(header()->tolerance, 0, 1);
    SET(header()->room.solver, (uint64_t)-1, 0);
    SET(header()->room.solver, (uint64_t)1 << 63, 0);
    SET(header()->magic, header()->magic ^ 1, 0);
    SET(header()->version, header()->version + 1, 0);
    SET(header()->real, header()->real ^ 12, 0);
    for (i = 0; i < 4; i++) {
        SET(header()->record[i], header()->record[i] + 8, 0);
        SET(header()->record[i], header()->record[i] - 8, 0);
    }
    integer(&header()->room.most[ICFI_BODIES], BODIES, 0x3ffffff, "bodies");
    integer(&header()->room.most[ICFI_JOINTS], JOINTS, 0x3ffffff, "joints");
    integer(&header()->room.most[ICFI_CONSTRAINTS], CONSTRAINTS, 0x3ffffff, "constraints");
    integer(&header()->room.most[ICFI_CONTACTS], header()->end[ICFI_CONTACTS], 0x3ffffff,
            "contacts");
    integer(&header()->room.tree, 0, 46000, "tree");
    integer(&header()->model, 0, ICF_MODEL_SAP, "model");
    integer(&header()->method, 0, ICF_METHOD_IMPLICIT_EULER, "method");
    integer(&header()->settle, 0, 1, "settle");
    integer(&header()->anchors, 0, 1, "anchors");
    SET(header()->room.most[ICFI_BODIES], BODIES, 1);
    SET(header()->room.most[ICFI_JOINTS], JOINTS, 1);
    SET(header()->room.most[ICFI_CONSTRAINTS], CONSTRAINTS, 1);
    SET(header()->room.most[ICFI_CONTACTS], header()->end[ICFI_CONTACTS], 1);
    SET(header()->model, ICF_MODEL_SAP, 1);
    SET(header()->method, ICF_METHOD_IMPLICIT_EULER, 1);
    SET(header()->settle, 0, 1);
    SET(header()->anchors, 0, 1);
    SET(header()->substeps, 0, 0);
    SET(header()->substeps, 1, 1);
    SET(header()->iterations, -1, 0);
    SET(header()->iterations, 0, 1);
    SET(header()->passes, -1, 0);
    SET(header()->passes, 0, 1);
    integer(&header()->end[ICFI_BODIES], BODIES, BODIES, "body_end");
    integer(&header()->end[ICFI_JOINTS], JOINTS, JOINTS, "joint_end");
    integer(&header()->end[ICFI_CONSTRAINTS], CONSTRAINTS, CONSTRAINTS, "constraint_end");
    SET(header()->end[ICFI_BODIES], -1, 0);
    SET(header()->end[ICFI_JOINTS], -1, 0);
    SET(header()->end[ICFI_CONSTRAINTS], -1, 0);
    SET(header()->end[ICFI_CONTACTS], -1, 0);
    SET(header()->end[ICFI_CONTACTS], header()->end[ICFI_CONTACTS] - 1, 0);
    SET(header()->end[ICFI_CONTACTS], header()->end[ICFI_CONTACTS] + 1, 0);
    integer(&header()->pressed, 0, header()->end[ICFI_CONTACTS], "pressed");
    SET(header()->pressed, 0, 1);
    SET(header()->pressed, header()->end[ICFI_CONTACTS], 1);
    /* lists of free slots end, and go through free ones only */
    integer(&header()->unused[ICFI_BODIES], -1, BODIES - 1, "body_free");
    integer(&header()->unused[ICFI_JOINTS], -1, JOINTS - 1, "joint_free");
    integer(&header()->unused[ICFI_CONSTRAINTS], -1, CONSTRAINTS - 1, "constraint_free");
    SET(header()->unused[ICFI_BODIES], -1, 1);
    SET(header()->unused[ICFI_JOINTS], -1, 1);
    SET(header()->unused[ICFI_CONSTRAINTS], -1, 1);
    SET(header()->unused[ICFI_BODIES], BODIES - 1, 0);
    SET(header()->unused[ICFI_JOINTS], JOINTS - 2, 0);
    SET(header()->unused[ICFI_CONSTRAINTS], CONSTRAINTS - 1, 0);
    SET(header()->unused[ICFI_BODIES], 0, 0);
    SET(header()->unused[ICFI_JOINTS], 0, 0);
    SET(header()->unused[ICFI_CONSTRAINTS], 0, 0);
    SET(saved_body(4)->slot.next, 4, 0);
    SET(saved_joint(3)->slot.next, 3, 0);
    SET(saved_constraint(2)->slot.next, 2, 0);
    SET(saved_body(4)->slot.next, 0, 0);
    SET(saved_joint(3)->slot.next, 0, 0);
    SET(saved_constraint(2)->slot.next, 0, 0);
    end(110, 12);
}

static void test_world_bodies(void)
{
    int i;
    begin();
    for (i = 0; i < BODIES; i++) {
        icfi_body* b = saved_body(i);
        integer(&b->slot.next, -1, BODIES - 1, "next of a body");
        if (i == 4) continue;
        reals((icf_real*)(void*)b, ICFI_REALS_BEFORE(icfi_body, user), "a body");
        SET(b->mass, -1, 0);
        SET(b->inertia[0], -1, 0);
        SET(b->inertia[1], -1, 0);
        SET(b->inertia[2], -1, 0);
        SET(b->inertia[3], 2 * b->inertia[0] + 2 * b->inertia[1], 0);
        SET(b->inertia[4], 2 * b->inertia[0] + 2 * b->inertia[2], 0);
        SET(b->inertia[5], 2 * b->inertia[1] + 2 * b->inertia[2], 0);
        SET(b->slot.flags, b->slot.flags | 3u << ICFI_KIND_SHIFT, 0);
        SET(b->slot.flags, b->slot.flags | 64u << ICFI_LOCKS_SHIFT, 0);
        integer(&b->joint, -1, JOINTS - 1, "joint of a body");
        SET(b->joint, 3, 0);
        SET(b->joint, b->joint == 0 ? 1 : 0, 0);
        SET(b->user, 77, 1);
        SET(b->mass, 0, 1);
        if (b->joint < 0) {
            SET(b->slot.flags, b->slot.flags | 63u << ICFI_LOCKS_SHIFT, 1);
        } else {
            SET(b->joint, -1, 0);
            SET(b->slot.flags, b->slot.flags | 1u << ICFI_LOCKS_SHIFT, 0);
            SET(b->slot.flags, b->slot.flags | (uint32_t)ICF_BODY_STATIC << ICFI_KIND_SHIFT, 0);
            SET(b->slot.flags, b->slot.flags | (uint32_t)ICF_BODY_KINEMATIC << ICFI_KIND_SHIFT, 0);
        }
    }
    SET(saved_body(0)->slot.flags, saved_body(0)->slot.flags & ~1u, 0);
    SET(saved_body(3)->slot.flags, saved_body(3)->slot.flags & ~1u, 0);
    SET(saved_body(4)->mass, R(NAN), 1); /* of what is not there nothing matters */
    end(400, 10);
}

static void test_world_joints(void)
{
    int i;
    begin();
    for (i = 0; i < JOINTS; i++) {
        icfi_joint* j = saved_joint(i);
        integer(&j->slot.next, -1, JOINTS - 1, "next of a joint");
        if (i == 3) continue;
        reals(j->position, ICFI_REALS_BEFORE(icfi_joint, user), "a joint");
        integer(&j->kind, 0, ICF_JOINT_WELD, "kind of a joint");
        integer(&j->parent, -1, BODIES - 1, "parent");
        integer(&j->child, 0, BODIES - 1, "child");
        SET(j->parent, 4, 0);
        SET(j->child, 4, 0);
        SET(j->child, i == 0 ? 2 : 1, 0);
        SET(j->parent, i + 1, 0); /* the child itself */
        SET(j->parent, -1, 1);
        SET(j->parent, 5, 1);
        SET(j->slot.flags, 0, 0);
        SET(j->user, 77, 1);
    }
    SET(saved_joint(0)->parent, 2, 0); /* circles */
    SET(saved_joint(0)->parent, 3, 0);
    SET(saved_joint(1)->parent, 3, 0);
    SET(saved_joint(2)->kind, ICF_JOINT_WELD, 1);
    SET(saved_joint(0)->kind, ICF_JOINT_WELD, 0); /* which a coupler needs */
    SET(saved_joint(1)->kind, ICF_JOINT_REVOLUTE, 0);
    SET(saved_joint(0)->kind, ICF_JOINT_REVOLUTE, 1);
    SET(saved_joint(1)->kind, ICF_JOINT_BALL, 0);
    end(540, 8);
}

static void test_world_constraints(void)
{
    int i, k;
    begin();
    for (i = 0; i < CONSTRAINTS; i++) {
        icfi_constraint* c = saved_constraint(i);
        integer(&c->slot.next, -1, CONSTRAINTS - 1, "next of a constraint");
        if (i == 2) continue;
        reals((icf_real*)(void*)c, ICFI_REALS_BEFORE(icfi_constraint, user), "a constraint");
        integer(&c->kind, 0, ICF_CONSTRAINT_COUPLER, "kind of a constraint");
        SET(c->user, 77, 1);
        if (i == 1) {
            integer(&c->joints, 1, 4, "joints of a coupler");
            SET(c->joints, 1, 1);
            for (k = 0; k < 2; k++) {
                integer(&c->joint[k], 0, JOINTS - 1, "a joint of a coupler");
                integer(&c->number[k], 0, 1, "a number of a coupler");
                SET(c->joint[k], 2, 0); /* a ball joint */
                SET(c->joint[k], 3, 0); /* none */
                SET(c->number[k], 0, 1);
                SET(c->number[k], 1, 1);
            }
            continue;
        }
        for (k = 0; k < 2; k++) {
            integer(&c->body[k], -1, BODIES - 1, "a body of a constraint");
            SET(c->body[k], 4, 0);
            SET(c->body[k], c->body[1 - k], 0);
            SET(c->body[k], 5, 1);
        }
        SET(c->kind, ICF_CONSTRAINT_WELD, 1);
    }
    SET(saved_constraint(0)->body[0], -1, 1);
    end(300, 10);
}

static void test_world_contacts(void)
{
    int i, k;
    begin();
    for (i = 0; i < 4; i++) {
        icfi_contact_cache* m = saved_memory(i);
        reals(&m->impulse.x, 6, "a contact");
        for (k = 0; k < 2; k++) integer(&m->body[k], -1, BODIES - 1, "a body of a contact");
        SET(m->lag.limit, -R(1e-9), 0);
        SET(m->lag.before, -R(1e-9), 0);
        SET(m->lag.impulse, -R(1e-9), 0);
        SET(m->lag.limit, 0, 1);
        SET(m->lag.before, 0, 1);
        SET(m->lag.impulse, 0, 1);
        SET(m->id, 77, 1);
    }
    end(100, 16);
}

static void test_damaged_numbers_of_scenes(void)
{
    int i, k;
    begin();
    TEST_ASSERT(scene_header()->pair_count >= 1);
    SET(scene_header()->magic, scene_header()->magic ^ 1, 0);
    SET(scene_header()->version, scene_header()->version + 1, 0);
    SET(scene_header()->real, scene_header()->real ^ 12, 0);
    SET(scene_header()->record, scene_header()->record + 8, 0);
    reals(&scene_header()->margin, 1, "margin");
    SET(scene_header()->margin, -R(1e-9), 0);
    SET(scene_header()->margin, 1 + 2 * R(EPS), 0);
    SET(scene_header()->margin, 0, 1);
    SET(scene_header()->margin, 1, 1);
    integer(&scene_header()->points, 1, ICF_MANIFOLD_POINTS, "points");
    SET(scene_header()->points, 1, 1);
    SET(scene_header()->points, ICF_MANIFOLD_POINTS, 1);
    integer(&scene_header()->colliders, 7, 0x1ffffff, "colliders");
    integer(&scene_header()->pairs, scene_header()->pair_count, 0x1ffffff, "pairs");
    SET(scene_header()->colliders, 7, 1);
    SET(scene_header()->colliders, 0x1ffffff, 1);
    SET(scene_header()->pairs, scene_header()->pair_count, 1);
    SET(scene_header()->pairs, 0x1ffffff, 1);
    integer(&scene_header()->collider_end, 7, 7, "collider_end");
    SET(scene_header()->collider_end, -1, 0);
    SET(scene_header()->pair_count, -1, 0);
    SET(scene_header()->pair_count, scene_header()->pair_count + 1, 0);
    SET(scene_header()->pair_count, scene_header()->pair_count - 1, 0);
    integer(&scene_header()->collider_free, -1, 6, "collider_free");
    SET(scene_header()->collider_free, -1, 1);
    SET(scene_header()->collider_free, 1, 0);
    SET(saved_collider(0)->next, 0, 0); /* a circle */
    SET(saved_collider(3)->next, 0, 0);
    SET(saved_collider(0)->next, 1, 0);
    SET(saved_collider(0)->next, -1, 1);
    for (i = 0; i < 7; i++) {
        icfi_collider* c = saved_collider(i);
        integer(&c->next, -1, 6, "next of a collider");
        SET(c->flags, c->flags | 4u, 0);
        if (!(c->flags & 1u)) continue;
        reals(&c->shape.radius, 11, "a shape");
        reals(&c->material.stiffness + 1, 9, "a surface");
        integer(&c->shape.kind, 0, ICF_SHAPE_HALF_SPACE, "kind of a shape");
        for (k = 0; k < 7; k++) {
            icf_real* x = &c->material.stiffness + k;
            what = "material";
            if (k == 4) continue; /* friction_static */
            *x = -R(1e-9);
            load("below 0", 0);
            *x = 0;
            load("0", 1);
        }
        SET(c->material.stiffness, R(NAN), 0);
        SET(c->material.friction_static, -1, 1);
        SET(c->flags, c->flags | 2u, 1);
        SET(c->group, -5, 1);
        SET(c->body.index, 99, 1); /* it goes with the next step */
    }
    for (i = 0; i < scene_header()->pair_count; i++) {
        icfi_pair_state* p = saved_pair(i);
        integer(&p->a, 0, p->b - 1, "a of a pair");
        integer(&p->b, p->a + 1, 6, "b of a pair");
        SET(p->axis, 0, 1);
    }
    end(200, 30);
}

/* Pairs are in order, and none is there twice. */
static void test_scene_pairs(void)
{
    icf_scene_def def = icf_default_scene_def();
    icf_transform pose = icf_transform_identity();
    icfi_pair_state one;
    uint64_t hash;
    int i, k;
    memset(&scene, 0, sizeof scene);
    memset(&other, 0, sizeof other);
    OK(icf_scene_create(&scene, &def));
    OK(icf_scene_create(&other, &def));
    for (i = 0; i < 4; i++) {
        pose.p.z = R(0.19) * (icf_real)i;
        OK(icf_scene_add(&scene, icf_sphere(R(0.5)), 1000, pose, NULL));
    }
    OK(icf_scene_step(&scene, R(1e-3)));
    save_again();
    hash = icf_scene_hash(&other);
    TEST_ASSERT(scene_header()->pair_count == 6);
    for (i = 0; i < 5; i++) {
        for (k = 0; k < 2; k++) {
            one = *saved_pair(i);
            *saved_pair(i) = *saved_pair(i + 1);
            if (k) *saved_pair(i + 1) = one; /* in the wrong order, or twice */
            scene_header()->checksum = icfi_scene_checksum(
                scene_header(), (unsigned char*)saved_collider(0), (unsigned char*)saved_pair(0));
            TEST_CHECK(icf_scene_load(&other, saved, saved_bytes) == ICF_RESULT_BAD_DEF);
            TEST_CHECK(icf_scene_hash(&other) == hash);
            save_again();
        }
    }
    OK(icf_scene_load(&other, saved, saved_bytes));
    TEST_CHECK(icf_scene_hash(&other) == icf_scene_hash(&scene));
    for (i = 0; i < 5; i++) {
        OK(icf_scene_step(&scene, R(1e-3)));
        OK(icf_scene_step(&other, R(1e-3)));
    }
    TEST_CHECK(icf_scene_hash(&other) == icf_scene_hash(&scene));
    icf_scene_destroy(&scene);
    icf_scene_destroy(&other);
}

TEST_LIST = {
    {"world_header",              test_world_header             },
    {"world_bodies",              test_world_bodies             },
    {"world_joints",              test_world_joints             },
    {"world_constraints",         test_world_constraints        },
    {"world_contacts",            test_world_contacts           },
    {"damaged_numbers_of_scenes", test_damaged_numbers_of_scenes},
    {"scene_pairs",               test_scene_pairs              },
    {NULL,                        NULL                          }
};
