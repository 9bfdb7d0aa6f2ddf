// The peers of bench/clutter.c; see clutter_peers.h and bench/clutter.mk

#include "clutter_peers.h"

#include "common.h"

#include <vector>

struct clutter_peer {
    int count = 0, walls = 0;
    double dt = 0;
    virtual ~clutter_peer() {}
    virtual void step(clutter_step* s) = 0;
    virtual void get(clutter_body* b) const = 0;
};

namespace
{

struct wall {
    double normal[3], offset;
};

// the floor first
const wall walls[5] = {{{0, 0, 1}, 0},
                       {{1, 0, 0}, -CLUTTER_WALL},
                       {{-1, 0, 0}, -CLUTTER_WALL},
                       {{0, 1, 0}, -CLUTTER_WALL},
                       {{0, -1, 0}, -CLUTTER_WALL}};

// ------------------------------------------------------------------------------------------------
// MuJoCo. Stiff: a time constant of two steps, the least it takes, and the impedance next to its limit

#ifdef PEERS_MUJOCO

struct mujoco : clutter_peer {
    mjModel* m = nullptr;
    mjData* d = nullptr;

    ~mujoco() override
    {
        mj_deleteData(d);
        mj_deleteModel(m);
    }

    bool open(int solver, int cone, int tight, int stiff)
    {
        const double solref[2] = {2 * dt, 1};
        std::string xml = "<mujoco>\n";
#if mjVERSION_HEADER < 300
        // its automatic sizes drop contacts of 40 things
        xml += "<size nconmax=\"" + std::to_string(8 * count) + "\" njmax=\"" +
               std::to_string(32 * count) + "\"/>\n";
#else
        if (count > 320) xml += "<size memory=\"800M\"/>\n";
#endif
        xml += "<option timestep=\"" + numbers(&dt, 1) + "\" gravity=\"0 0 -9.81\"/>\n<worldbody>\n";
        for (int i = 0; i < (walls ? 5 : 1); i++) {
            double at[3];
            for (int k = 0; k < 3; k++) at[k] = ::walls[i].offset * ::walls[i].normal[k];
            xml += "<geom type=\"plane\" size=\"0 0 1\" pos=\"" + numbers(at, 3) + "\" zaxis=\"" +
                   numbers(::walls[i].normal, 3) + "\"/>\n";
        }
        for (int i = 0; i < count; i++) {
            const double mass = clutter_mass(i), half = CLUTTER_HALF;
            const double size[3] = {half, half, half};
            clutter_body b;
            clutter_start(i, &b);
            xml += "<body pos=\"" + numbers(b.p, 3) + "\" quat=\"" + numbers(b.q, 4) +
                   "\"><freejoint/><geom type=\"" + (clutter_is_cube(i) ? "box" : "sphere") +
                   "\" size=\"" + numbers(size, clutter_is_cube(i) ? 3 : 1) + "\" mass=\"" +
                   numbers(&mass, 1) + "\"/></body>\n";
        }
        xml += "</worldbody></mujoco>\n";

        m = mujoco_model(xml);
        if (!m) return false;
        m->opt.solver = solver;
        m->opt.cone = cone;
        if (tight) {
            m->opt.tolerance = 1e-10;
            m->opt.iterations = 500;
        }
        if (stiff) {
            m->opt.impratio = 100;
            for (int i = 0; i < m->ngeom; i++) {
                m->geom_solref[mjNREF * i] = solref[0];
                m->geom_solref[mjNREF * i + 1] = solref[1];
                m->geom_solimp[mjNIMP * i] = m->geom_solimp[mjNIMP * i + 1] = 0.99;
            }
        }
        d = mj_makeData(m);
        return true;
    }

    // |D (M (v - v*) - J'g)| / max(|D M v|, |D J'g|), D = M^-1/2; M is diagonal
    double error() const
    {
        double left = 0, momenta = 0, impulses = 0;
        for (int i = 0; i < count; i++) {
            for (int k = 0; k < 6; k++) {
                const int at = 6 * i + k;
                const double mass = k < 3 ? clutter_mass(i) : clutter_inertia(i);
                const double push = dt * d->qfrc_constraint[at], v = d->qvel[at];
                const double rest = mass * dt * (d->qacc[at] - d->qacc_smooth[at]) - push;
                left += rest * rest / mass;
                momenta += mass * v * v;
                impulses += push * push / mass;
            }
        }
        if (momenta < impulses) momenta = impulses;
        return momenta > 0 ? std::sqrt(left / momenta) : 0;
    }

    void step(clutter_step* s) override
    {
        const double start = bench_now();
        mj_step1(m, d); // positions, collision, velocities
        const double middle = bench_now();
        mj_step2(m, d);
        s->seconds = bench_now() - start;
        s->collision = middle - start;
        s->contacts = d->ncon;
        s->iterations = mujoco_iterations(d);
        s->factorizations = m->opt.solver == mjSOL_NEWTON ? s->iterations : 0;
        s->error = error();
        s->solved = 1;
    }

    void get(clutter_body* b) const override
    {
        for (int i = 0; i < count; i++) {
            const mjtNum *q = d->qpos + 7 * i, *v = d->qvel + 6 * i;
            for (int k = 0; k < 3; k++) b[i].p[k] = q[k];
            for (int k = 0; k < 4; k++) b[i].q[k] = q[3 + k];
            for (int k = 0; k < 3; k++) b[i].v[k] = v[k];
            mju_rotVecQuat(b[i].w, v + 3, q + 3);
        }
    }
};

#endif

// ------------------------------------------------------------------------------------------------
// ODE

#ifdef PEERS_ODE

struct ode : clutter_peer {
    dWorldID world = nullptr;
    dSpaceID space = nullptr;
    dJointGroupID group = nullptr;
    std::vector<dBodyID> body;
    int exact = 0, contacts = 0;

    ~ode() override
    {
        dJointGroupDestroy(group);
        dSpaceDestroy(space);
        dWorldDestroy(world);
        dCloseODE();
    }

    bool open(int iterations)
    {
        dInitODE2(0);
        world = dWorldCreate();
        space = dHashSpaceCreate(nullptr);
        group = dJointGroupCreate(0);
        dWorldSetGravity(world, 0, 0, -CLUTTER_GRAVITY);
        dWorldSetAutoDisableFlag(world, 0);
        exact = iterations == 0;
        if (!exact) dWorldSetQuickStepNumIterations(world, iterations);
        for (int i = 0; i < (walls ? 5 : 1); i++) {
            const wall& w = ::walls[i];
            dCreatePlane(space, w.normal[0], w.normal[1], w.normal[2], w.offset);
        }
        for (int i = 0; i < count; i++) {
            const double side = 2 * CLUTTER_HALF, inertia = clutter_inertia(i);
            clutter_body b;
            clutter_start(i, &b);
            dBodyID one = dBodyCreate(world);
            dMass mass;
            dMassSetParameters(&mass, clutter_mass(i), 0, 0, 0, inertia, inertia, inertia, 0, 0, 0);
            dBodySetMass(one, &mass);
            dBodySetPosition(one, b.p[0], b.p[1], b.p[2]);
            dBodySetQuaternion(one, b.q);
            dGeomID geom = clutter_is_cube(i) ? dCreateBox(space, side, side, side)
                                              : dCreateSphere(space, CLUTTER_HALF);
            dGeomSetBody(geom, one);
            body.push_back(one);
        }
        return true;
    }

    static void near(void* data, dGeomID a, dGeomID b)
    {
        ode* o = (ode*)data;
        dContact contact[8];
        const dBodyID ba = dGeomGetBody(a), bb = dGeomGetBody(b);
        if (!ba && !bb) return;
        const int count = dCollide(a, b, 8, &contact[0].geom, sizeof contact[0]);
        for (int i = 0; i < count; i++) {
            contact[i].surface.mode = dContactApprox1;
            contact[i].surface.mu = CLUTTER_FRICTION;
            dJointAttach(dJointCreateContact(o->world, o->group, contact + i), ba, bb);
        }
        o->contacts += count;
    }

    void step(clutter_step* s) override
    {
        const double start = bench_now();
        contacts = 0;
        dSpaceCollide(space, this, near);
        const double middle = bench_now();
        if (exact)
            dWorldStep(world, dt);
        else
            dWorldQuickStep(world, dt);
        dJointGroupEmpty(group);
        s->seconds = bench_now() - start;
        s->collision = middle - start;
        s->contacts = contacts;
        s->iterations = exact ? 1 : dWorldGetQuickStepNumIterations(world);
        s->factorizations = 0;
        s->error = -1;
        s->solved = 1;
    }

    void get(clutter_body* b) const override
    {
        for (int i = 0; i < count; i++) {
            const dReal *p = dBodyGetPosition(body[(size_t)i]),
                        *q = dBodyGetQuaternion(body[(size_t)i]),
                        *v = dBodyGetLinearVel(body[(size_t)i]),
                        *w = dBodyGetAngularVel(body[(size_t)i]);
            for (int k = 0; k < 3; k++) b[i].p[k] = p[k];
            for (int k = 0; k < 4; k++) b[i].q[k] = q[k];
            for (int k = 0; k < 3; k++) b[i].v[k] = v[k];
            for (int k = 0; k < 3; k++) b[i].w[k] = w[k];
        }
    }
};

#endif

// ------------------------------------------------------------------------------------------------
// Bullet

#ifdef PEERS_BULLET

struct timed_world : btDiscreteDynamicsWorld {
    double collision = 0;
    using btDiscreteDynamicsWorld::btDiscreteDynamicsWorld;

    void performDiscreteCollisionDetection() override
    {
        const double start = bench_now();
        btDiscreteDynamicsWorld::performDiscreteCollisionDetection();
        collision += bench_now() - start;
    }
};

struct bullet : clutter_peer {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broad;
    btSequentialImpulseConstraintSolver solver;
    timed_world world{&dispatcher, &broad, &solver, &configuration};
    std::vector<btRigidBody*> body;
    std::vector<btCollisionShape*> shape;

    ~bullet() override
    {
        for (btRigidBody* b : body) {
            world.removeRigidBody(b);
            delete b->getMotionState();
            delete b;
        }
        for (btCollisionShape* s : shape) delete s;
    }

    void add(double mass, double inertia, btCollisionShape* s, const btTransform& pose)
    {
        const btVector3 moments((btScalar)inertia, (btScalar)inertia, (btScalar)inertia);
        btRigidBody::btRigidBodyConstructionInfo info((btScalar)mass, new btDefaultMotionState(pose),
                                                      s, moments);
        info.m_friction = (btScalar)CLUTTER_FRICTION;
        btRigidBody* b = new btRigidBody(info);
        b->setActivationState(DISABLE_DEACTIVATION);
        world.addRigidBody(b);
        body.push_back(b);
    }

    btCollisionShape* keep(btCollisionShape* s)
    {
        shape.push_back(s);
        return s;
    }

    bool open(int iterations)
    {
        world.setGravity(btVector3(0, 0, (btScalar)-CLUTTER_GRAVITY));
        world.getSolverInfo().m_numIterations = iterations;
        const btScalar half = (btScalar)CLUTTER_HALF;
        btCollisionShape* ball = keep(new btSphereShape(half));
        btCollisionShape* cube = keep(new btBoxShape(btVector3(half, half, half)));
        for (int i = 0; i < count; i++) {
            clutter_body b;
            clutter_start(i, &b);
            add(clutter_mass(i), clutter_inertia(i), clutter_is_cube(i) ? cube : ball,
                btTransform(btQuaternion((btScalar)b.q[1], (btScalar)b.q[2], (btScalar)b.q[3],
                                         (btScalar)b.q[0]),
                            btVector3((btScalar)b.p[0], (btScalar)b.p[1], (btScalar)b.p[2])));
        }
        for (int i = 0; i < (walls ? 5 : 1); i++) {
            const wall& w = ::walls[i];
            const btVector3 normal((btScalar)w.normal[0], (btScalar)w.normal[1],
                                   (btScalar)w.normal[2]);
            add(0, 0, keep(new btStaticPlaneShape(normal, (btScalar)w.offset)),
                btTransform::getIdentity());
        }
        return true;
    }

    void step(clutter_step* s) override
    {
        world.collision = 0;
        const double start = bench_now();
        world.stepSimulation((btScalar)dt, 0);
        s->seconds = bench_now() - start;
        s->collision = world.collision;
        s->contacts = 0;
        for (int i = 0; i < dispatcher.getNumManifolds(); i++)
            s->contacts += dispatcher.getManifoldByIndexInternal(i)->getNumContacts();
        s->iterations = world.getSolverInfo().m_numIterations;
        s->factorizations = 0;
        s->error = -1;
        s->solved = 1;
    }

    void get(clutter_body* b) const override
    {
        for (int i = 0; i < count; i++) {
            const btRigidBody* one = body[(size_t)i];
            const btTransform& t = one->getWorldTransform();
            const btQuaternion q = t.getRotation();
            b[i].q[0] = q.w();
            b[i].q[1] = q.x();
            b[i].q[2] = q.y();
            b[i].q[3] = q.z();
            // of single precision: the oracle wants a rotation
            const double length = std::sqrt(b[i].q[0] * b[i].q[0] + b[i].q[1] * b[i].q[1] +
                                            b[i].q[2] * b[i].q[2] + b[i].q[3] * b[i].q[3]);
            for (int k = 0; k < 4; k++) b[i].q[k] /= length;
            for (int k = 0; k < 3; k++) b[i].p[k] = t.getOrigin()[k];
            for (int k = 0; k < 3; k++) b[i].v[k] = one->getLinearVelocity()[k];
            for (int k = 0; k < 3; k++) b[i].w[k] = one->getAngularVelocity()[k];
        }
    }
};

#endif

// ------------------------------------------------------------------------------------------------

enum engine { MUJOCO, ODE, BULLET };

struct way {
    const char* name;
    engine of;
    int option[4];
};

const way ways[] = {
#ifdef PEERS_MUJOCO
    {"mujoco newton", MUJOCO, {mjSOL_NEWTON, mjCONE_PYRAMIDAL, 0, 0}},
    {"mujoco elliptic", MUJOCO, {mjSOL_NEWTON, mjCONE_ELLIPTIC, 0, 0}},
    {"mujoco cg", MUJOCO, {mjSOL_CG, mjCONE_ELLIPTIC, 0, 0}},
    {"mujoco cg tight", MUJOCO, {mjSOL_CG, mjCONE_ELLIPTIC, 1, 0}},
    {"mujoco stiff", MUJOCO, {mjSOL_NEWTON, mjCONE_ELLIPTIC, 0, 1}},
    {"mujoco stiff cg tight", MUJOCO, {mjSOL_CG, mjCONE_ELLIPTIC, 1, 1}},
#endif
#ifdef PEERS_ODE
    {"ode quick", ODE, {20}},
    {"ode quick 200", ODE, {200}},
    {"ode world", ODE, {0}},
#endif
#ifdef PEERS_BULLET
    {"bullet", BULLET, {10}},
    {"bullet 100", BULLET, {100}},
#endif
    {nullptr, BULLET, {0}}};

} // namespace

extern "C" {

const char* clutter_peer_versions(void)
{
    return peer_versions();
}

int clutter_peer_count(void)
{
    return (int)(sizeof ways / sizeof *ways) - 1;
}

const char* clutter_peer_name(int which)
{
    return ways[which].name;
}

int clutter_peer_converges(int which)
{
    return ways[which].of == MUJOCO;
}

clutter_peer* clutter_peer_open(int which, int count, int walls, double dt)
{
    const way& w = ways[which];
    clutter_peer* p = nullptr;
    bool made = false;
    (void)made;
    (void)w;
#define CLUTTER_OPEN(kind, ...)                   \
    {                                             \
        kind* one = new kind();                   \
        one->count = count;                       \
        one->walls = walls;                       \
        one->dt = dt;                             \
        made = one->open(__VA_ARGS__);            \
        p = one;                                  \
    }
#ifdef PEERS_MUJOCO
    if (w.of == MUJOCO) CLUTTER_OPEN(mujoco, w.option[0], w.option[1], w.option[2], w.option[3])
#endif
#ifdef PEERS_ODE
    if (w.of == ODE) CLUTTER_OPEN(ode, w.option[0])
#endif
#ifdef PEERS_BULLET
    if (w.of == BULLET) CLUTTER_OPEN(bullet, w.option[0])
#endif
    if (p && made) return p;
    delete p;
    return nullptr;
}

void clutter_peer_close(clutter_peer* p)
{
    delete p;
}

void clutter_peer_step(clutter_peer* p, clutter_step* step)
{
    p->step(step);
}

void clutter_peer_get(const clutter_peer* p, clutter_body* b)
{
    p->get(b);
}

} // extern "C"
