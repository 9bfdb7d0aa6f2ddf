// The peers of bench/engines.c; see engines_peers.h and bench/clutter.mk

#include "engines_peers.h"

#include "common.h"

#include <cmath>
#include <cstdarg>
#include <vector>

namespace
{

double length(const double v[3])
{
    return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

bool moves(const engine_body& b)
{
    return b.mass > 0 || length(b.start.v) > 0 || length(b.start.w) > 0;
}

struct triple {
    double x[3];
};

struct base : engine {
    double dt = 0, friction = 0;
    std::vector<engine_body> body;
    std::vector<triple> force;
};

// ------------------------------------------------------------------------------------------------
// MuJoCo: its own defaults but for the options. The model is made before the first step

#ifdef PEERS_MUJOCO

// no-slip: all that its manual names against slip, an elliptic cone, impratio and the pass after the solve
enum { MUJOCO_DISCRETE = 1, MUJOCO_NO_SLIP = 2 };

// kg, kg m^2: of what keeps its velocity, which is set anew before each step. It is in no force, but in the
// scale of the solver's tolerance: at 1e9 the solver ends too early
const double MUJOCO_HEAVY = 10;

struct mujoco : base {
    mjModel* m = nullptr;
    mjData* d = nullptr;
    double g[3] = {0, 0, 0};
    std::vector<int> id;
    bool stale = true; // places and velocities are those before the last step

    ~mujoco()
    {
        mj_deleteData(d);
        mj_deleteModel(m);
    }

    bool open()
    {
        return true;
    }

    void add(const engine_body&)
    {
    }

    void write_body(int i, std::string& xml) const
    {
        static const char* const shapes[] = {"box", "sphere", "plane"};
        const engine_body& b = body[(size_t)i];
        const double plane[3] = {0, 0, 1};
        double at[3], inertia[3] = {1, 1, 1};
        for (int k = 0; k < 3; k++)
            at[k] = b.start.p[k] - (b.slides && b.parent >= 0 ? body[(size_t)b.parent].start.p[k] : 0);
        xml += "<body name=\"" + std::to_string(i) + "\" pos=\"" + numbers(at, 3) + "\" quat=\"" +
               numbers(b.start.q, 4) + "\">";
        if (b.slides)
            xml += "<joint type=\"slide\" axis=\"" + numbers(b.axis, 3) + "\"/>";
        else if (b.mass > 0)
            xml += "<freejoint/>";
        else if (length(b.start.w) > 0)
            xml += "<joint type=\"hinge\" axis=\"" + numbers(b.start.w, 3) + "\" armature=\"" +
                   number(MUJOCO_HEAVY) + "\"/>";
        else if (length(b.start.v) > 0)
            xml += "<joint type=\"slide\" axis=\"" + numbers(b.start.v, 3) + "\" armature=\"" +
                   number(MUJOCO_HEAVY) + "\"/>";
        if (b.mass > 0) engine_inertia(&b, inertia);
        if (moves(b))
            xml += "<inertial pos=\"0 0 0\" mass=\"" + number(b.mass > 0 ? b.mass : 1) +
                   "\" diaginertia=\"" + numbers(inertia, 3) + "\"/>";
        xml += std::string("<geom type=\"") + shapes[b.shape] + "\" pos=\"" + numbers(b.at, 3) +
               "\" size=\"" + numbers(b.shape == ENGINE_PLANE ? plane : b.half, 3) + "\"/>\n";
        for (int k = i + 1; k < (int)body.size(); k++) {
            if (body[(size_t)k].slides && body[(size_t)k].parent == i) write_body(k, xml);
        }
        xml += "</body>\n";
    }

    bool make()
    {
        std::string xml = "<mujoco><option timestep=\"" + number(dt) +
                          "\"/><default><geom friction=\"" + number(friction) +
                          " 0.005 0.0001\"/></default><worldbody>\n";
        for (int i = 0; i < (int)body.size(); i++) {
            if (!body[(size_t)i].slides || body[(size_t)i].parent < 0) write_body(i, xml);
        }
        m = mujoco_model(xml + "</worldbody></mujoco>\n");
        if (!m) return false;
#if mjVERSION_HEADER >= 3013000
        if (kind->option[0] & MUJOCO_DISCRETE) m->opt.integrator = mjINT_DISCRETE;
#endif
        if (kind->option[0] & MUJOCO_NO_SLIP) {
            m->opt.cone = mjCONE_ELLIPTIC;
            m->opt.impratio = 100;
            m->opt.noslip_iterations = 100;
        }
        d = mj_makeData(m);
        mj_forward(m, d);
        for (int i = 0; i < (int)body.size(); i++) {
            const engine_body& b = body[(size_t)i];
            id.push_back(mj_name2id(m, mjOBJ_BODY, std::to_string(i).c_str()));
            if (b.slides || !(b.mass > 0)) continue;
            mjtNum* v = d->qvel + m->body_dofadr[id.back()];
            double back[4];
            mju_negQuat(back, b.start.q);
            for (int k = 0; k < 3; k++) v[k] = b.start.v[k];
            mju_rotVecQuat(v + 3, b.start.w, back);
        }
        return true;
    }

    void gravity(const double to[3])
    {
        for (int k = 0; k < 3; k++) g[k] = to[k];
    }

    double step()
    {
        if (!m && !make()) return -1;
        for (int k = 0; k < 3; k++) m->opt.gravity[k] = g[k];
        for (size_t i = 0; i < body.size(); i++) {
            for (int k = 0; k < 3; k++) d->xfrc_applied[6 * id[i] + k] = force[i].x[k];
            const engine_body& b = body[i];
            if (b.slides)
                d->qfrc_applied[m->body_dofadr[id[i]]] = b.push;
            else if (moves(b) && !(b.mass > 0))
                d->qvel[m->body_dofadr[id[i]]] =
                    length(length(b.start.w) > 0 ? b.start.w : b.start.v);
        }
        mj_step(m, d);
        stale = true;
        return mujoco_iterations(d);
    }

    void get(int i, engine_state* s)
    {
        if (!m && !make()) return;
        if (stale) {
            mj_kinematics(m, d);
            mj_comPos(m, d);
            mj_comVel(m, d);
        }
        stale = false;
        double v[6];
        const int at = id[(size_t)i];
        mj_objectVelocity(m, d, mjOBJ_XBODY, at, v, 0);
        for (int k = 0; k < 3; k++) {
            s->p[k] = d->xpos[3 * at + k];
            s->w[k] = v[k];
            s->v[k] = v[3 + k];
        }
        for (int k = 0; k < 4; k++) s->q[k] = d->xquat[4 * at + k];
    }
};

#endif

// ------------------------------------------------------------------------------------------------
// ODE: its own defaults, friction as a share of the normal force

#ifdef PEERS_ODE

struct ode : base {
    dWorldID world = nullptr;
    dSpaceID space = nullptr;
    dJointGroupID group = nullptr;
    std::vector<dBodyID> made;
    std::vector<dJointID> joint;

    bool open()
    {
        dInitODE2(0);
        dSetMessageHandler([](int, const char*, va_list) {}); // the LCP of WorldStep talks
        dRandSetSeed(0); // QuickStep shuffles
        world = dWorldCreate();
        space = dHashSpaceCreate(nullptr);
        group = dJointGroupCreate(0);
        return true;
    }

    ~ode()
    {
        dJointGroupDestroy(group);
        dSpaceDestroy(space);
        dWorldDestroy(world);
        dCloseODE();
    }

    void add(const engine_body& b)
    {
        const engine_state& s = b.start;
        dBodyID one = nullptr;
        dJointID slider = nullptr;
        if (moves(b)) {
            one = dBodyCreate(world);
            dBodySetPosition(one, s.p[0], s.p[1], s.p[2]);
            dBodySetQuaternion(one, s.q);
            dBodySetLinearVel(one, s.v[0], s.v[1], s.v[2]);
            dBodySetAngularVel(one, s.w[0], s.w[1], s.w[2]);
            if (b.mass > 0) {
                double i[3];
                dMass mass;
                engine_inertia(&b, i);
                dMassSetParameters(&mass, b.mass, 0, 0, 0, i[0], i[1], i[2], 0, 0, 0);
                dBodySetMass(one, &mass);
            } else {
                dBodySetKinematic(one);
            }
        }
        if (b.slides) {
            slider = dJointCreateSlider(world, nullptr);
            dJointAttach(slider, one, b.parent >= 0 ? made[(size_t)b.parent] : nullptr);
            dJointSetSliderAxis(slider, b.axis[0], b.axis[1], b.axis[2]);
        }
        if (b.shape == ENGINE_PLANE) {
            dMatrix3 r;
            dQtoR(s.q, r);
            dCreatePlane(space, r[2], r[6], r[10], s.p[0] * r[2] + s.p[1] * r[6] + s.p[2] * r[10]);
        } else {
            dGeomID geom = b.shape == ENGINE_BOX
                               ? dCreateBox(space, 2 * b.half[0], 2 * b.half[1], 2 * b.half[2])
                               : dCreateSphere(space, b.half[0]);
            if (one) {
                dGeomSetBody(geom, one);
                dGeomSetOffsetPosition(geom, b.at[0], b.at[1], b.at[2]);
            } else {
                dGeomSetPosition(geom, s.p[0], s.p[1], s.p[2]); // at is 0
                dGeomSetQuaternion(geom, s.q);
            }
        }
        made.push_back(one);
        joint.push_back(slider);
    }

    void gravity(const double g[3])
    {
        dWorldSetGravity(world, g[0], g[1], g[2]);
    }

    static void near(void* data, dGeomID a, dGeomID b)
    {
        ode* o = (ode*)data;
        dContact contact[8];
        const dBodyID ba = dGeomGetBody(a), bb = dGeomGetBody(b);
        if (!ba && !bb) return;
        if (ba && bb && dAreConnectedExcluding(ba, bb, dJointTypeContact)) return;
        const int count = dCollide(a, b, 8, &contact[0].geom, sizeof contact[0]);
        for (int i = 0; i < count; i++) {
            contact[i].surface.mode = dContactApprox1;
            contact[i].surface.mu = o->friction;
            dJointAttach(dJointCreateContact(o->world, o->group, contact + i), ba, bb);
        }
    }

    double step()
    {
        for (size_t i = 0; i < made.size(); i++) {
            const double* f = force[i].x;
            if (length(f) > 0) dBodyAddForce(made[i], f[0], f[1], f[2]);
            if (joint[i]) dJointAddSliderForce(joint[i], body[i].push);
        }
        dSpaceCollide(space, this, near);
        if (kind->option[0])
            dWorldStep(world, dt);
        else
            dWorldQuickStep(world, dt);
        dJointGroupEmpty(group);
        return kind->option[0] ? 1 : dWorldGetQuickStepNumIterations(world);
    }

    void get(int i, engine_state* s)
    {
        const dBodyID one = made[(size_t)i];
        if (!one) {
            *s = body[(size_t)i].start;
            return;
        }
        const dReal *p = dBodyGetPosition(one), *q = dBodyGetQuaternion(one),
                    *v = dBodyGetLinearVel(one), *w = dBodyGetAngularVel(one);
        for (int k = 0; k < 3; k++) {
            s->p[k] = p[k];
            s->v[k] = v[k];
            s->w[k] = w[k];
        }
        for (int k = 0; k < 4; k++) s->q[k] = q[k];
    }
};

#endif

// ------------------------------------------------------------------------------------------------ Bullet:
// its own defaults but for the options. By default it has friction in one direction at a time, that of the
// slip, or where nothing slips an arbitrary one; Gazebo sets two

#ifdef PEERS_BULLET

enum { BULLET_TWO = 1, BULLET_SLEEPS = 2 };

const double BULLET_HEAVY = 1e9; // kg, kg m^2: of what keeps its velocity

btVector3 vector(const double v[3])
{
    return btVector3((btScalar)v[0], (btScalar)v[1], (btScalar)v[2]);
}

// a frame whose x is the axis
btTransform frame(const btTransform& on, const btVector3& at, const btVector3& axis)
{
    btVector3 y, z;
    btPlaneSpace1(axis, y, z);
    const btMatrix3x3 r(axis.x(), y.x(), z.x(), axis.y(), y.y(), z.y(), axis.z(), y.z(), z.z());
    return on.inverse() * btTransform(r, at);
}

struct bullet : base {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broad;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world{&dispatcher, &broad, &solver, &configuration};
    std::vector<btRigidBody*> made;
    std::vector<btCollisionShape*> shape;
    std::vector<btTypedConstraint*> joint;

    bool open()
    {
        if (kind->option[0] & BULLET_TWO)
            world.getSolverInfo().m_solverMode |= SOLVER_USE_2_FRICTION_DIRECTIONS;
        return true;
    }

    ~bullet()
    {
        for (btTypedConstraint* c : joint) {
            world.removeConstraint(c);
            delete c;
        }
        for (btRigidBody* b : made) {
            world.removeRigidBody(b);
            delete b->getMotionState();
            delete b;
        }
        for (btCollisionShape* s : shape) delete s;
    }

    void add(const engine_body& b)
    {
        const engine_state& s = b.start;
        const bool held = moves(b) && !(b.mass > 0);
        double mass = b.mass, inertia[3] = {0, 0, 0};
        if (b.mass > 0) engine_inertia(&b, inertia);
        if (held) mass = inertia[0] = inertia[1] = inertia[2] = BULLET_HEAVY;
        if (b.shape == ENGINE_BOX)
            shape.push_back(new btBoxShape(vector(b.half)));
        else if (b.shape == ENGINE_BALL)
            shape.push_back(new btSphereShape((btScalar)b.half[0]));
        else
            shape.push_back(new btStaticPlaneShape(btVector3(0, 0, 1), 0));
        btCollisionShape* whole = shape.back();
        if (length(b.at) > 0) {
            btCompoundShape* moved = new btCompoundShape();
            moved->addChildShape(btTransform(btQuaternion::getIdentity(), vector(b.at)), whole);
            shape.push_back(whole = moved);
        }
        const btTransform pose(btQuaternion((btScalar)s.q[1], (btScalar)s.q[2], (btScalar)s.q[3],
                                            (btScalar)s.q[0]),
                               vector(s.p));
        btRigidBody::btRigidBodyConstructionInfo info(
            (btScalar)mass, new btDefaultMotionState(pose), whole, vector(inertia));
        info.m_friction = (btScalar)std::sqrt(friction); // it multiplies the two
        btRigidBody* one = new btRigidBody(info);
        one->setLinearVelocity(vector(s.v));
        one->setAngularVelocity(vector(s.w));
        if (held) one->setFlags(one->getFlags() | BT_DISABLE_WORLD_GRAVITY);
        if (held || !(kind->option[0] & BULLET_SLEEPS)) one->setActivationState(DISABLE_DEACTIVATION);
        world.addRigidBody(one);
        made.push_back(one);
        if (!b.slides) return;
        btRigidBody& on = b.parent >= 0 ? *made[(size_t)b.parent]
                                        : btTypedConstraint::getFixedBody();
        btSliderConstraint* slider = new btSliderConstraint(
            on, *one, frame(on.getWorldTransform(), vector(s.p), vector(b.axis)),
            frame(pose, vector(s.p), vector(b.axis)), true);
        slider->setLowerLinLimit(1); // above the upper one: none
        slider->setUpperLinLimit(-1);
        world.addConstraint(slider, true);
        joint.push_back(slider);
    }

    void wake()
    {
        for (btRigidBody* b : made) b->activate();
    }

    void gravity(const double g[3])
    {
        wake();
        world.setGravity(vector(g));
    }

    double step()
    {
        for (size_t i = 0; i < made.size(); i++) {
            const engine_body& b = body[i];
            if (length(force[i].x) > 0) {
                made[i]->activate();
                made[i]->applyCentralForce(vector(force[i].x));
            }
            if (!b.slides) continue;
            btVector3 push = (btScalar)b.push * vector(b.axis);
            if (b.parent >= 0) {
                push = made[(size_t)b.parent]->getWorldTransform().getBasis() * push;
                made[(size_t)b.parent]->applyForce(
                    -push, made[i]->getCenterOfMassPosition() -
                               made[(size_t)b.parent]->getCenterOfMassPosition());
            }
            made[i]->applyCentralForce(push);
        }
        world.stepSimulation((btScalar)dt, 0);
        return world.getSolverInfo().m_numIterations;
    }

    void get(int i, engine_state* s)
    {
        const btRigidBody* one = made[(size_t)i];
        const btTransform& t = one->getWorldTransform();
        const btQuaternion q = t.getRotation();
        for (int k = 0; k < 3; k++) {
            s->p[k] = t.getOrigin()[k];
            s->v[k] = one->getLinearVelocity()[k];
            s->w[k] = one->getAngularVelocity()[k];
        }
        s->q[0] = q.w();
        s->q[1] = q.x();
        s->q[2] = q.y();
        s->q[3] = q.z();
    }
};

#endif

// ------------------------------------------------------------------------------------------------

template <class T> engine_kind kind_of(const char* name, int option)
{
    engine_kind k = {};
    k.name = name;
    k.option[0] = option;
    k.create = [](const engine_kind* kind, double dt, double friction) -> engine* {
        T* e = new T();
        e->kind = kind;
        e->dt = dt;
        e->friction = friction;
        if (e->open()) return e;
        delete e;
        return nullptr;
    };
    k.destroy = [](engine* e) { delete static_cast<T*>(e); };
    k.add = [](engine* e, const engine_body* b) {
        static_cast<T*>(e)->body.push_back(*b);
        static_cast<T*>(e)->force.push_back(triple());
        static_cast<T*>(e)->add(*b);
    };
    k.gravity = [](engine* e, const double* g) { static_cast<T*>(e)->gravity(g); };
    k.force = [](engine* e, int i, const double* f) {
        for (int j = 0; j < 3; j++) static_cast<T*>(e)->force[(size_t)i].x[j] = f[j];
    };
    k.step = [](engine* e) { return static_cast<T*>(e)->step(); };
    k.get = [](engine* e, int i, engine_state* s) { static_cast<T*>(e)->get(i, s); };
    return k;
}

} // namespace

extern "C" {

const char* engine_peer_versions(void)
{
    return peer_versions();
}

const engine_kind* engine_peers(int* count)
{
    static const std::vector<engine_kind> kinds = {
#ifdef PEERS_MUJOCO
        kind_of<mujoco>("MuJoCo", 0),
#if mjVERSION_HEADER >= 3013000
        kind_of<mujoco>("MuJoCo discrete", MUJOCO_DISCRETE),
#endif
        kind_of<mujoco>("MuJoCo no-slip", MUJOCO_NO_SLIP),
#endif
#ifdef PEERS_ODE
        kind_of<ode>("ODE QuickStep", 0),
        kind_of<ode>("ODE WorldStep", 1),
#endif
#ifdef PEERS_BULLET
        kind_of<bullet>("Bullet", 0),
        kind_of<bullet>("Bullet 2 directions", BULLET_TWO),
        kind_of<bullet>("Bullet sleeping", BULLET_TWO | BULLET_SLEEPS),
#endif
    };
    *count = (int)kinds.size();
    return kinds.data();
}

} // extern "C"
