/* icf.h - 0.1.0 - irrotational contact fields: contact that is solved, not fudged

   One C99 file that needs nothing but libc. It moves bodies, robots and what they touch. Each step solves
   one convex problem to the tolerance you ask for, and reports how near the answer is. Stiffness,
   dissipation and friction are physical numbers. The optional second file, icf_geometry.h, finds where
   shapes touch. For an engine of your own it solves your matrices and contacts for velocities and impulses.
   Licence: public domain or MIT, whichever you prefer; the text is at the end of this file.

   DO THIS

       #define ICF_IMPLEMENTATION
       #include "icf.h"              // or "icf_geometry.h": it includes icf.h and emits the code of both

   in exactly one C or C++ file, before any other include of these headers; all other files have the plain
   #include. Link with -lm. If your build system wants a source file, put these two lines into icf.c. Do not
   rename icf.h: it includes itself.

   The manual has a part for each of three readers, and then, once, what they share:

       1  A GAME              shapes that fall, collide and rest: the scene of icf_geometry.h
       2  A ROBOT             joints and motors; your own contacts, your own memory, firmware
       3  YOUR OWN ENGINE     the solver alone: contacts in, velocities out


   1  A GAME

   A complete program; build it with  cc main.c -lm :

       #define ICF_IMPLEMENTATION
       #include "icf_geometry.h"
       #include <stdio.h>

       int main(void)
       {
           icf_scene_def def = icf_default_scene_def(); // gravity -9.81 m/s^2 along z
           icf_transform pose = icf_transform_identity();
           icf_body_state state;
           icf_scene scene = {0};
           icf_body box;
           int i;

           icf_scene_create(&scene, &def);
           icf_scene_add(&scene, icf_half_space(), 0, pose, NULL); // the ground, z = 0; density 0: static
           pose.p.z = 2;
           icf_scene_add(&scene, icf_box((icf_real)0.5, (icf_real)0.5, (icf_real)0.5), 1000, pose, &box);
           for (i = 0; i < 120; i++) {
               if (icf_scene_step(&scene, (icf_real)(1.0 / 60)) < 0) return 1;
           }
           icf_body_get_state(&scene.world, box, &state);
           printf("a tonne on four corners sinks in by %.1f mm\n", 1000 * (0.5 - state.center.z));
           icf_scene_destroy(&scene);
           return 0;
       }

   A scene is a world with shapes on its bodies. Calls for bodies, joints and constraints take &scene.world.
   Only icf_scene_step knows the shapes: after icf_world_step(&scene.world, dt) everything falls through the
   floor. The manual of icf_geometry.h goes on from here.

   A body is static, kinematic (it keeps the velocity you give it) or dynamic. Its pose is that of its own
   axes; velocities are those of its centre of mass, in world axes. To drag things without a lag, give a
   body a velocity: what hangs on one that icf_body_set_pose moves follows slowly.

   icf_scene_save, or icf_world_save for a world alone, copies what the future depends on: about 300 bytes a
   body, 152 a contact and 240 a collider. Once loaded it continues with the same bits, in any world with
   room, on any machine of the same byte order. For rollback save each frame; icf_scene_hash and
   icf_world_hash tell two states apart.

   What to set

   Mass: a density in kg/m^3, in icf_scene_add.

   Stiffness: goes with the material and the size of the contact; 1e5 N/m is rubber under a kilogram, 1e7
   steel.

   Bounce: dissipation is about 0.1 to 100 s/m; more bounces less, and nothing leaves faster than
   1/dissipation. In steps that are short beside sqrt(m / k), the coefficient of restitution at a speed v is
   near 1 - 2/3 dissipation v while that is near 1. Longer steps take more. Without dissipation:

       dt sqrt(k / m)     0.03    0.1     0.3     1       3
       restitution        0.95    0.85    0.63    0.25    0.05

   Rest: what friction holds, stays, up to 0.9965 of its limit. A contact remembers where it stuck (`anchors`
   of icf_world_def), piles come to rest (`settle`), and there is friction already in the step in which things
   hit (`passes`). In double and in equal steps, what rests takes no iteration. With these three at 0 sticking
   contacts creep as in the papers, at slip_tolerance, 1e-4 m/s, when friction is at 0.7 of its limit.


   2  A ROBOT

   A complete program, an arm that presses on the ground, in static memory:

       #define ICF_IMPLEMENTATION
       #include "icf.h"
       #include <stdio.h>

       int main(void)
       {
           static double memory[ICF_WORLD_BYTES(1, 1, 0, 4) / sizeof(double)];
           icf_world_def def = icf_default_world_def();
           icf_body_def rod = icf_default_body_def();
           icf_joint_def hinge = icf_default_joint_def(ICF_JOINT_REVOLUTE);
           icf_real target = (icf_real)0.5; // rad; 0 is where the bodies are now
           icf_joint_state shoulder;
           icf_touch_result press;
           icf_surface surface;
           icf_body_state state;
           icf_world world = {0};
           icf_body arm, ground = {0, 0};
           icf_joint joint;
           int i;

           def.bodies = def.joints = 1, def.constraints = 0, def.contacts = 4;
           if (icf_world_init(&world, memory, sizeof memory, &def) < 0) return 1;
           surface = icf_world_default_surface(&world); // 1e6 N/m, friction 0.5

           rod.mass = 2; // 1 m along x, from a joint that is 30 cm above the ground
           rod.center.x = (icf_real)0.5;
           rod.inertia.x.x = (icf_real)0.001;
           rod.inertia.y.y = rod.inertia.z.z = (icf_real)(2.0 / 12);
           rod.pose.p.z = (icf_real)0.3;
           icf_body_create(&world, &rod, &arm);

           hinge.child = arm; // its parent stays none: the ground
           hinge.motor_stiffness = 500, hinge.motor_damping = 20, hinge.effort = 50;
           icf_world_frames(&world, ground, arm, rod.pose.p, icf_vec3_make(0, 1, 0), &hinge.parent_frame,
                            &hinge.child_frame);
           icf_joint_create(&world, &hinge, &joint);

           for (i = 0; i < 500; i++) {
               // what your collision detection finds: where the tip and the ground, z = 0, are nearest
               icf_touch touch = icf_default_touch(); // normal z
               icf_vec3 tip;
               icf_body_get_state(&world, arm, &state);
               tip = icf_transform_apply(state.pose, icf_vec3_make(1, 0, 0));
               touch.b = arm; // touch.a stays none: the ground
               touch.id = 1;
               touch.point = icf_vec3_make(tip.x, tip.y, 0);
               touch.contact.distance = tip.z;
               icf_world_add_touch(&world, &touch, &surface);
               icf_joint_set_target(&world, joint, &target, NULL, NULL);
               if (icf_world_step(&world, (icf_real)0.002) < 0) return 1;
           }
           icf_joint_get_state(&world, joint, &shoulder);
           icf_world_get_touch(&world, 0, &press);
           printf("at %.3f rad, with %.1f N m, it presses with %.1f N\n", shoulder.position[0],
                  shoulder.motor[0], press.contact.force.z);
           return 0;
       }

   In each step call icf_body_apply_force, icf_joint_set_target, icf_world_add_touch and icf_world_step,
   which uses up forces and touches. Then read body and joint states, icf_world_events and
   icf_world_get_touch. icf_world_create allocates, where icf_world_init takes memory of yours.

   A joint hangs one body, the child, on another or on the ground. Joined bodies form a tree: they move
   exactly as their joints let them, and only the joints' velocities are unknowns. Constraints
   (icf_constraint_create) close loops, by forces as stiff as the step allows. icf_world_frames makes the
   two frames of either from a point and an axis in the world; positions are then 0 where the bodies are
   now.

   Touches last for one step: add all before each, also of bodies that can meet within it. `id` is your
   number for a lasting point of contact, such as of the features that touch; it gives events and a faster
   next solve.

   What to set

   Motor: motor_stiffness, motor_damping, target, and effort, the most it can do. Stiff motors are safe:
   they act at the end of the step.

   Method: trees keep energy and angular momentum to first order, with ICF_METHOD_MIDPOINT to second. A tree
   that turns by more than a tenth of a radian in a step wants a shorter one. Free bodies keep both at any
   step; with that method, one that is hit wants a shorter step, too.

   Contact: icf_surface, with numbers as in part 1. Touches with an id hold what they hold for as long as you
   like, as a gripper should, and so does dry friction of joints.

   Memory: ICF_WORLD_BYTES is a constant, icf_world_bytes is exact. A world of icf_world_init stays in its
   memory; icf_world_move carries it to a larger block.

   Deadline: `iterations` of icf_world_def, or world.should_stop. A step that they end has moved the world.


   3  YOUR OWN ENGINE

   A complete program, whose bodies, collision detection and positions are its own:

       #define ICF_IMPLEMENTATION
       #include "icf.h"
       #include <stdio.h>

       int main(void)
       {
           // a puck of 2 kg that does not turn: a clique of three velocities, which one link reads
           const icf_real mass[9] = {2, 0, 0, 0, 2, 0, 0, 0, 2}, k[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
           const int32_t size = 3, rows = 3, start[2] = {0, 1}, clique = 0;
           icf_real x[3] = {0, 0, 0}, v[3] = {1, 0, 0}, v_free[3]; // 1 m/s along the floor
           icf_surface surface = icf_default_surface(); // 1e6 N/m, friction 0.5
           icf_contact contact = icf_default_contact(); // on link 0, of surface 0, normal z
           icf_problem p = icf_default_problem();
           icf_workspace w = {0};
           int i, j;

           p.dt = (icf_real)(1.0 / 240);
           p.cliques = 1, p.clique_sizes = &size, p.mass = mass, p.v_free = v_free;
           p.links = 1, p.link_rows = &rows, p.link_start = start, p.block_clique = &clique, p.blocks = k;
           p.surfaces = 1, p.surface = &surface, p.contacts = 1, p.contact = &contact;
           icf_workspace_reserve(&w, &p); // or icf_workspace_init, with memory of your own
           for (i = 0; i < 240; i++) {
               for (j = 0; j < 3; j++) v_free[j] = v[j];
               v_free[2] -= p.dt * (icf_real)9.81; // your forces f: v* = v + dt A^-1 f
               contact.distance = x[2];            // your collision detection
               if (icf_solve(&p, NULL, &w, v, NULL) < 0) return 1; // v: before the step, then after it
               for (j = 0; j < 3; j++) x[j] += p.dt * v[j]; // your positions
           }
           printf("it slid %.3f m, and is at rest: %.1e m/s\n", x[0], v[0]);
           icf_workspace_destroy(&w);
           return 0;
       }

   Three nouns. A clique owns velocities: six of a free body, one a joint of a robot, three of a point of a
   mesh. The mass matrix A has one block for each clique. A link reads a velocity u = sum K v + bias, of one
   to six rows, out of one or more cliques. A potential puts a price on u: a contact (icf_contact) prices
   the three rows of a velocity, or the six of velocity and angular velocity at a point; a limit, motor, dry
   friction or equation (icf_row) prices one row. Laws of force and friction are in an icf_surface, which any
   number of contacts share. The solver finds the one v that minimises

       1/2 (v - v*)' A (v - v*) + sum of the prices

   There the slope is zero, which is the balance of momentum, A (v - v*) = sum of K' impulses.

   icf_get_contact tells impulse, force, slip, mode and energy lost of each contact.

   What to set

   v*: the velocities that forces without a potential give, such as gravity and gyroscopic ones.

   Signs: a link's velocity is that of side B relative to side A; along a contact's normal, positive is
   apart; impulses push B along +, and A back. Distances are those at the start of the step; positions move
   by dt v after it. Matrices of a problem are row-major, those of icf_dense_... and icf_sparse_...
   column-major.

   Bodies: a free body is a clique of six velocities, that of its centre of mass and the angular velocity.
   Say so in clique_is_body, and give 7 numbers instead of its block of A: mass and inertia. A link reads a
   body by an icf_lever: the place of the link's point, seen from the body's centre, and a sign, -1 for A
   and 1 for B. All in the axes of the world, or of whatever else the link uses.

   Links: two bodies that touch in many points need one link of six rows. Choose one reference point for
   the link. It reads the velocity that body B has there, minus the velocity of body A. Give `point` of
   each contact relative to the reference point. If you have the Jacobian of every contact, make each a link
   of three rows, (t1, t2, normal), and leave `point`, `normal` and `tangent` at their defaults.

   Contacts: a surface has numbers as in part 1; `weight` of a contact is its share of the stiffness, such as
   an area. A contact that lasts may take impulse_guess and lag from its last icf_contact_result.

   Accuracy: the solve stops when stats.momentum_error, the rest of that balance relative to momenta and
   impulses, is below options.tolerance. stats.certificate, in joules, bounds how far above the minimum the
   cost still is. If rounding keeps the error above the tolerance, the answer is as good as the precision
   allows, and stats.stop is ICF_STOP_FLOOR, a success; but with an error above 1e-3, in float 0.1,
   ICF_STOP_SHORT, and the result is ICF_RESULT_NOT_CONVERGED: things are far too fast or too stiff for the
   precision. stats.rounding is the error that rounding alone explains.

   Little memory: icf_workspace_bytes with ICF_SPARSE_ITERATIVE is always enough. Islands of more than one
   clique then go by conjugate gradients; stats.bytes says how much would factor all, and
   icf_workspace_reserve finds that out beforehand. Conjugate gradients are slower, and where contacts are
   so stiff beside the masses that the Hessian has a condition beyond about 1e12 they may end as
   ICF_RESULT_NOT_CONVERGED.


   RESULTS

   Calls that can fail return an icf_result. 0: done. Below 0: refused, and nothing has changed. Above 0:
   done but short of something, such as the tolerance, and usable. So a loop of steps ends at a result < 0.
   icf_result_string names a result. world.reason says in a few words why a call was refused, world.which of
   which item, world.needed how much room would do. Calls of a scene use scene.reason and scene.needed,
   icf_solve stats->part, stats->which and stats->reason. A struct with many numbers must come from its
   icf_default_ function, or it is refused (ICF_RESULT_BAD_DEF).

   icf_solve refuses a NaN. A NaN or an infinity in a matrix to be factored ends as ICF_RESULT_NOT_SPD; in a
   right-hand side it goes through to the solution. Conjugate gradients answer ICF_RESULT_NOT_FINITE.

   Reporting a defect. icf_world_dump_step writes the problem of a step as text: save it as problem.txt, and
   bench/solve_file.c replays it (`make build/solve_file`, `./build/solve_file problem.txt`), in later
   versions too. Call it right after a step that is refused, for that changes nothing. For a slow or wrong
   step, load the world as saved before it and add the same touches. With icf_solve, use icf_problem_dump.

   MEMORY

   Nothing prints, aborts, keeps global state, starts threads, or reads clocks or files. Memory comes from
   functions whose names end in _create, _clone or _reserve, and where a created world or scene has to grow:
   in a call or a step, not during a solve. The size of a block is computed, not guessed; one byte less is
   refused. It depends on the options: ask the function instead of writing the number down.

   icf_dense_... needs no memory. The two blocks of an icf_sparse must not move while it is in use; once it
   is bound no call allocates.

   PRECISION

   Stiff contact needs double. Choose ICF_FLOAT where double is done in software, as on most
   microcontrollers. In float the mass of a chain of more than about 80 equal links is beyond the precision
   (ICF_RESULT_NOT_SPD).

   The kernels use SSE2, NEON or wasm SIMD where the target has them, and AVX2 and AVX-512 where the machine
   has. All give the same bits: a vector holds different entries, never parts of one sum, or parts of a sum
   that is split in the same way everywhere.

   UNITS

   SI units. Frames are right-handed. A quaternion is (x, y, z, w), w the scalar; it and transforms map from
   the body to the world: p_world = q p_body + p.

   DETERMINISM

   Only + - * / and square root are used, in an order that the input fixes. Contraction to fused
   multiply-adds is off inside the implementation, and only there. So no compiler flag changes a bit, except
   -ffast-math, clang's -ffp-contract=fast, and flags that choose x87 arithmetic (32-bit x86 without -msse2
   -mfpmath=sse). Your own files follow your flags, with the small math that is inlined into them: for equal
   bits there too, compile them with -ffp-contract=off.

   LIMITS

   Constraints act along their lines at the start of a step. Where they are strong beside what they hold,
   that would make energy, so they also resist turning, as at the end of the step. A step that still gains
   energy, or leaves things where they should not be, is solved again with the constraints of its end; if
   that fails, it begins again in 2, 4 and 8 parts. This may take some hundred solves; should_stop ends
   them. If it may still have gained energy, or something came apart by a quarter of its size, the answer is
   ICF_RESULT_TOO_FAST: the world has moved, and a shorter step would be better.

   A constraint that is apart, also after icf_body_set_pose, closes slowly, so that nothing is shot: each
   step by a fifth of the gap, though by at most 12 gaps a second, or by 2 % of its size if that is more.

   This takes energy and angular momentum from what turns far in a step: none below 0.05 radians; a third a
   second from two bodies on one ball at 0.16 radians a step; a sixth a second from a long whirling chain at
   0.08. Shorter steps or substeps mend it. ICF_METHOD_MIDPOINT solves nothing again, and adds both to what
   turns with constraints, in proportion to the square of the step: a third a second at 0.05 radians. Chains
   of joints are never apart, but keep energy to first order only.

   Something light that carries more than a hundred times its mass on a slope still creeps: there friction is
   soft, ICF (26), and an anchor pulls by 120 slip tolerances at most. So does what is held along t2 where
   friction2 is less than a tenth of friction. Long thin rods that roll slip to and fro by 1 mm/s.

   A barrier law that is far too weak for its load may end as ICF_RESULT_NOT_CONVERGED under Similar
   friction: its wall is curved, and Newton's method creeps along it.

   Sizes: at most 536 million unknowns, 46000 of them in one front, and 850 million edges. There are no
   graphics, and collision detection is in icf_geometry.h.

   LINEAR SYSTEMS

   A dense one. The factor replaces a, the solution replaces x:

       icf_real a[4] = {4, 1, 1, 3}, x[2] = {1, 2};      // by columns; only the lower triangle is read
       int32_t pivot;
       if (icf_dense_factor(2, a, 2, &pivot) == ICF_RESULT_OK) icf_dense_solve(2, a, 2, x, 1, 2);

   A sparse one has a block on the diagonal for each clique (a body, a robot, a vertex: any number of
   unknowns), and one off it for each edge between two cliques.

       icf_sparse_create(&s, mode, ...)         takes the pattern, and memory
       icf_sparse_begin(&s)                     all blocks are zero
       icf_sparse_add_diagonal(&s, i, ...)      once or more for each clique,
       icf_sparse_add_edge(&s, e, ...)          and for each edge
       icf_sparse_factor(&s, &pivot)
       icf_sparse_solve(&s, x, 1, n)            as often as you like
       icf_sparse_begin(&s) ...                 other numbers, the same pattern
       icf_sparse_destroy(&s)

   With memory of your own: icf_sparse_analyze takes the pattern, icf_sparse_bytes says how much the factor
   needs, and icf_sparse_bind gives it that. Call icf_sparse_analyze with every new pattern; if it leaves
   s.bound 0, bind again, in the same memory if that is enough. If the factor does not fit
   (ICF_RESULT_TOO_SMALL), bind the object as ICF_SPARSE_ITERATIVE, whose memory grows with the blocks, and
   go on with the same calls.

   ICF_SPARSE_PARTIAL is for matrices that change in few places: after icf_sparse_begin_partial add only the
   blocks that icf_sparse_wants_... asks for. Only a part of the factor is made again, with the bits of a
   whole one.

   OPTIONS

   Macros, all optional. "Everywhere": alike in each file that includes this header, best on the compiler's
   command line. "Implementation": before the include that has ICF_IMPLEMENTATION.

       ICF_IMPLEMENTATION    one file        emits the code
       ICF_FLOAT             everywhere      icf_real is float instead of double. A program that mixes the
                                             two does not link: every function has another name
       ICF_STATIC            everywhere      all functions are static: each file that calls them needs
                                             ICF_IMPLEMENTATION and has its own copy; copies in double and
                                             in float can live in one program
       ICF_API               everywhere      stands before each declaration, for DLLs; default: extern
       ICF_ASSERT(x)         implementation  checks for mistakes, the caller's and our own; default: nothing
       ICF_VALIDATE          implementation  icf_solve asks icf_law_check about your own laws
       ICF_POISON            implementation  a byte, or an expression for one, to find reads of memory that
                                             was never written: each solve and step first fills unused
                                             memory with it; results must not depend on it
       ICF_SQRT(x)           everywhere      square root and absolute value of an icf_real; default: the
       ICF_FABS(x)                           compiler's builtin or math.h. Define both or none
       ICF_MALLOC(bytes)     implementation  memory functions; default: malloc and free of stdlib.h.
       ICF_FREE(pointer)                     Define both or none
       ICF_NO_MALLOC         everywhere      no function that allocates; all memory is yours
       ICF_NO_WORLD          everywhere      no bodies, joints, materials and scenes, for an engine of your
                                             own: a third less code and time to compile
       ICF_NO_SIMD           implementation  no vector instructions: smaller code, the same bits
       ICF_NO_AVX2           implementation  no AVX2 and AVX-512; without it a plain build uses them if the
                                             machine turns out to have them; the same bits
       ICF_NO_INTERIOR_POINT implementation  Newton's method alone: smaller code and workspace, and many
                                             more iterations where contacts begin to slide or part
       ICF_FMA               implementation  fused multiply-adds if the machine has AVX2 and FMA, and no
                                             AVX-512. Bits then differ between machines; without
                                             optimisation stack frames are large
       ICF_ALLOW_FAST_MATH   everywhere      accepts -ffast-math, and with it other results on every
                                             compiler; otherwise it is refused

   PAPERS

   ICF is Castro, Han and Masterjohn, Irrotational Contact Fields; SAP is Castro, Permenter and Han, An
   Unconstrained Convex Formulation of Compliant Contact. Numbers in brackets are those of their equations.

   CONTENTS                                     search for a mark to jump to its section

       the manual                               you are reading it
       the declarations
         >>api-config                           precision, linkage, version
         >>api-results                          what a call answers
         >>api-math                             vectors, quaternions, matrices, transforms
         >>api-dense                            dense Cholesky
         >>api-sparse                           block-sparse Cholesky
         >>api-potentials                       what contacts, limits, motors and the rest cost
         >>api-solver                           the convex solver
         >>api-sensitivities                    derivatives of the answer
         >>api-world                            bodies, joints, time
       the implementation, one section a layer, each knowing only those above it
         >>config                               compilers, assertions, memory functions
         >>memory                               layer 3: the arena
         >>vectors                              what layers 4 and 5 call vectors
         >>dense                                layer 4: dense Cholesky
         >>sparse-pattern                       layer 5: block-sparse Cholesky: order and fronts
         >>sparse-factor                        numbers into fronts, factors, solves
         >>potentials                           layer 6: what a contact costs
         >>problem                              layer 7: the convex solver: what it is given
         >>prediction                           limits of friction in the step of a blow
         >>evaluation                           costs, gradients, the Newton matrix, the line search
         >>newton                               Newton's method
         >>interior                             where that is slow
         >>solve                                the solve
         >>text                                 a problem as text
         >>sensitivities                        layer 8: derivatives of the answer
         >>world-state                          layer 9: the world: what a block of memory holds
         >>trees                                bodies that joints connect, and bodies alone
         >>touches                              touches in a substep, and where they stick
         >>world-problem                        the convex problem of a step
         >>step                                 the step
         >>bodies                               calls: bodies and joints
         >>world-calls                          calls: constraints, touches, results
       >>licence

   LICENCE

   At the end of this file.
*/

#ifndef ICF_H
#define ICF_H

// ------------------------------------------------------------------------------------------------
// Precision, linkage, version
// >>api-config

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#define ICF_VERSION_MAJOR 0
#define ICF_VERSION_MINOR 1
#define ICF_VERSION_PATCH 0
#define ICF_VERSION (ICF_VERSION_MAJOR * 10000 + ICF_VERSION_MINOR * 100 + ICF_VERSION_PATCH)

#if (defined(__FAST_MATH__) || defined(_M_FP_FAST)) && !defined(ICF_ALLOW_FAST_MATH)
#error "icf.h: -ffast-math breaks its results; compile without it, or define ICF_ALLOW_FAST_MATH"
#endif

/* The one type that changes with the precision. ICF_R writes a constant of it. */
#ifdef ICF_FLOAT
typedef float icf_real;
#define ICF_R(x) (x##f)
#define ICF_REAL_MAX FLT_MAX
#else
typedef double icf_real;
#define ICF_R(x) (x)
#define ICF_REAL_MAX DBL_MAX
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ICFI_UNUSED __attribute__((unused))
#else
#define ICFI_UNUSED
#endif

#ifndef ICF_API
#ifdef ICF_STATIC
#define ICF_API ICFI_UNUSED static
#else
#define ICF_API extern
#endif
#endif

/* Inlined always where the compiler optimises: gcc would not inline them into functions with other options.
   Without optimisation each would take a stack frame. */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__OPTIMIZE__)
#define ICFI_INLINE ICFI_UNUSED static inline __attribute__((always_inline))
#elif defined(__GNUC__) || defined(__clang__)
#define ICFI_INLINE ICFI_UNUSED static inline
#else
#define ICFI_INLINE static inline
#endif

#if defined(ICF_SQRT) != defined(ICF_FABS)
#error "icf.h: define both ICF_SQRT and ICF_FABS, or neither"
#endif
#ifndef ICF_SQRT
#if defined(__GNUC__) || defined(__clang__)
#ifdef ICF_FLOAT
#define ICF_SQRT(x) __builtin_sqrtf(x)
#define ICF_FABS(x) __builtin_fabsf(x)
#else
#define ICF_SQRT(x) __builtin_sqrt(x)
#define ICF_FABS(x) __builtin_fabs(x)
#endif
#else
#include <math.h>
#ifdef ICF_FLOAT
#define ICF_SQRT(x) sqrtf(x)
#define ICF_FABS(x) fabsf(x)
#else
#define ICF_SQRT(x) sqrt(x)
#define ICF_FABS(x) fabs(x)
#endif
#endif
#endif

/* Between these two the compiler does not contract a * b + c to a fused operation, whatever the flags; the
   caller's own code is not touched. GCC 12 ignores the standard pragma, and its vectoriser makes fused
   add-subtracts (vfmaddsub) even with fp-contract=off, so the vectoriser is off as well. Clang's
   -ffp-contract=fast overrides the pragma; a header cannot undo that. */
#if defined(__clang__)
#if defined(__x86_64__) || defined(__i386__)
#define ICFI_EXACT_BEGIN _Pragma("float_control(push)") _Pragma("STDC FP_CONTRACT OFF")
#define ICFI_EXACT_END _Pragma("float_control(pop)")
#else /* without that stack, the end restores the command line's choice */
#define ICFI_EXACT_BEGIN _Pragma("STDC FP_CONTRACT OFF")
#define ICFI_EXACT_END _Pragma("STDC FP_CONTRACT DEFAULT")
#endif
#elif defined(__GNUC__)
/* and unrolls loops of three, as -O3 and clang do */
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define ICFI_PEEL _Pragma("GCC optimize(\"peel-loops\")")
#else
#define ICFI_PEEL
#endif
#define ICFI_EXACT_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")") \
        _Pragma("GCC optimize(\"no-tree-slp-vectorize\", \"no-tree-loop-vectorize\")") ICFI_PEEL
#define ICFI_EXACT_END _Pragma("GCC pop_options")
#elif defined(_MSC_VER)
#define ICFI_EXACT_BEGIN __pragma(float_control(push)) __pragma(fp_contract(off))
#define ICFI_EXACT_END __pragma(float_control(pop))
#else
#define ICFI_EXACT_BEGIN
#define ICFI_EXACT_END
#endif

/* The same for the small math, which is always inlined. gcc inlines no function into one with other
   options; so with gcc it has none, and follows the options of its caller. */
#if defined(__GNUC__) && !defined(__clang__)
#define ICFI_EXACT_INLINE_BEGIN
#define ICFI_EXACT_INLINE_END
#else
#define ICFI_EXACT_INLINE_BEGIN ICFI_EXACT_BEGIN
#define ICFI_EXACT_INLINE_END ICFI_EXACT_END
#endif

/* In float every function has another name: a program that mixes the two does not link. */
#ifdef ICF_FLOAT
#define icf_body_apply_force icf_body_apply_force_float
#define icf_body_apply_impulse icf_body_apply_impulse_float
#define icf_body_apply_torque icf_body_apply_torque_float
#define icf_body_create icf_body_create_float
#define icf_body_destroy icf_body_destroy_float
#define icf_body_get_def icf_body_get_def_float
#define icf_body_get_next icf_body_get_next_float
#define icf_body_get_state icf_body_get_state_float
#define icf_body_is_valid icf_body_is_valid_float
#define icf_body_island icf_body_island_float
#define icf_body_parent icf_body_parent_float
#define icf_body_set_def icf_body_set_def_float
#define icf_body_set_pose icf_body_set_pose_float
#define icf_body_set_velocity icf_body_set_velocity_float
#define icf_body_velocity_at icf_body_velocity_at_float
#define icf_constraint_create icf_constraint_create_float
#define icf_constraint_destroy icf_constraint_destroy_float
#define icf_constraint_get_def icf_constraint_get_def_float
#define icf_constraint_get_state icf_constraint_get_state_float
#define icf_constraint_is_valid icf_constraint_is_valid_float
#define icf_constraint_set_def icf_constraint_set_def_float
#define icf_contact_delassus icf_contact_delassus_float
#define icf_contact_evaluate icf_contact_evaluate_float
#define icf_contact_jacobian icf_contact_jacobian_float
#define icf_contact_push icf_contact_push_float
#define icf_surface_set_material icf_surface_set_material_float
#define icf_contact_term_make icf_contact_term_make_float
#define icf_default_body_def icf_default_body_def_float
#define icf_default_constraint_def icf_default_constraint_def_float
#define icf_default_contact icf_default_contact_float
#define icf_default_surface icf_default_surface_float
#define icf_default_joint_def icf_default_joint_def_float
#define icf_default_material icf_default_material_float
#define icf_default_options icf_default_options_float
#define icf_default_problem icf_default_problem_float
#define icf_default_row icf_default_row_float
#define icf_default_touch icf_default_touch_float
#define icf_default_world_def icf_default_world_def_float
#define icf_dense_factor icf_dense_factor_float
#define icf_dense_solve icf_dense_solve_float
#define icf_get_contact icf_get_contact_float
#define icf_get_row icf_get_row_float
#define icf_joint_apply_effort icf_joint_apply_effort_float
#define icf_joint_create icf_joint_create_float
#define icf_joint_destroy icf_joint_destroy_float
#define icf_joint_get_def icf_joint_get_def_float
#define icf_joint_get_state icf_joint_get_state_float
#define icf_joint_is_valid icf_joint_is_valid_float
#define icf_joint_set_def icf_joint_set_def_float
#define icf_joint_set_position icf_joint_set_position_float
#define icf_joint_set_target icf_joint_set_target_float
#define icf_joint_set_velocity icf_joint_set_velocity_float
#define icf_law_check icf_law_check_float
#define icf_material_combine icf_material_combine_float
#define icf_normal_evaluate icf_normal_evaluate_float
#define icf_problem_dump icf_problem_dump_float
#define icf_result_string icf_result_string_float
#define icf_row_evaluate icf_row_evaluate_float
#define icf_row_term_make icf_row_term_make_float
#define icf_sensitivity icf_sensitivity_float
#define icf_solve icf_solve_float
#define icf_sparse_add_diagonal icf_sparse_add_diagonal_float
#define icf_sparse_add_edge icf_sparse_add_edge_float
#define icf_sparse_analyze icf_sparse_analyze_float
#define icf_sparse_begin icf_sparse_begin_float
#define icf_sparse_begin_partial icf_sparse_begin_partial_float
#define icf_sparse_bind icf_sparse_bind_float
#define icf_sparse_bytes icf_sparse_bytes_float
#define icf_sparse_bytes_most icf_sparse_bytes_most_float
#define icf_sparse_create icf_sparse_create_float
#define icf_sparse_destroy icf_sparse_destroy_float
#define icf_sparse_factor icf_sparse_factor_float
#define icf_sparse_pattern_bytes icf_sparse_pattern_bytes_float
#define icf_sparse_solve icf_sparse_solve_float
#define icf_sparse_wants_diagonal icf_sparse_wants_diagonal_float
#define icf_sparse_wants_edge icf_sparse_wants_edge_float
#define icf_version icf_version_float
#define icf_workspace_bytes icf_workspace_bytes_float
#define icf_workspace_destroy icf_workspace_destroy_float
#define icf_workspace_init icf_workspace_init_float
#define icf_workspace_reserve icf_workspace_reserve_float
#define icf_world_add_surface icf_world_add_surface_float
#define icf_world_add_touch icf_world_add_touch_float
#define icf_world_default_surface icf_world_default_surface_float
#define icf_world_surfaces icf_world_surfaces_float
#define icf_world_body_at icf_world_body_at_float
#define icf_world_body_count icf_world_body_count_float
#define icf_world_bytes icf_world_bytes_float
#define icf_world_clear_touches icf_world_clear_touches_float
#define icf_world_clone icf_world_clone_float
#define icf_world_create icf_world_create_float
#define icf_world_destroy icf_world_destroy_float
#define icf_world_diagnose icf_world_diagnose_float
#define icf_world_dump_step icf_world_dump_step_float
#define icf_world_events icf_world_events_float
#define icf_world_frames icf_world_frames_float
#define icf_world_get_def icf_world_get_def_float
#define icf_world_get_island icf_world_get_island_float
#define icf_world_get_stats icf_world_get_stats_float
#define icf_world_get_touch icf_world_get_touch_float
#define icf_world_hash icf_world_hash_float
#define icf_world_init icf_world_init_float
#define icf_world_load icf_world_load_float
#define icf_world_move icf_world_move_float
#define icf_world_save icf_world_save_float
#define icf_world_save_bytes icf_world_save_bytes_float
#define icf_world_set_def icf_world_set_def_float
#define icf_world_step icf_world_step_float
#define icf_world_time icf_world_time_float
#define icf_world_touch_count icf_world_touch_count_float
#define icf_world_touches icf_world_touches_float
#define icf_world_write_touches icf_world_write_touches_float
#define icf_world_try icf_world_try_float
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the linked implementation; compare it with ICF_VERSION of this header. */
ICF_API int32_t icf_version(void);

// ------------------------------------------------------------------------------------------------
// What a call answers
// >>api-results

/* 0: done. Below 0: refused, and nothing changed. Above 0: done but short of something, and usable. A loop
   of steps tests for < 0. */
typedef enum icf_result {
    ICF_RESULT_OK = 0,
    ICF_RESULT_NOT_CONVERGED = 1,   /* short of the tolerance: gives the best answer found */
    ICF_RESULT_TOO_FAST = 2,        /* constraints could not follow: see LIMITS in the manual */
    ICF_RESULT_BAD_ARGUMENT = -1,   /* a null pointer, a negative count, an index out of range */
    ICF_RESULT_NOT_FINITE = -2,     /* a NaN or an infinity among the numbers given */
    ICF_RESULT_NO_MEMORY = -3,      /* ICF_MALLOC answered NULL */
    ICF_RESULT_TOO_SMALL = -4,      /* the memory given is smaller than the function asks for */
    ICF_RESULT_MISALIGNED = -5,     /* the memory given is not aligned to 8 bytes */
    ICF_RESULT_OVERFLOW = -6,       /* a size does not fit its integer type */
    ICF_RESULT_NOT_SPD = -7,        /* a matrix is not symmetric positive definite */
    ICF_RESULT_NO_FACTOR = -8,      /* solving before a factorisation that succeeded */
    ICF_RESULT_BAD_STATE = -9,      /* a call before the one that it needs */
    ICF_RESULT_NOT_SYMMETRIC = -10, /* a mass matrix whose two triangles differ */
    ICF_RESULT_INFEASIBLE = -11,    /* a barrier that is overlapped at the start of the step */
    ICF_RESULT_BAD_LAW = -12,       /* a force law that is not convex, or has wrong derivatives */
    ICF_RESULT_BAD_DEF = -13        /* a struct that did not come from its icf_default_ function */
} icf_result;

/* The name of a result, such as "too small"; never NULL. */
ICF_API const char* icf_result_string(icf_result result);

// ------------------------------------------------------------------------------------------------
// Vectors, quaternions, matrices, transforms
// >>api-math

typedef struct icf_vec3 {
    icf_real x, y, z;
} icf_vec3;

/* x i + y j + z k + w. Rotations are unit quaternions; q and -q are the same rotation. */
typedef struct icf_quat {
    icf_real x, y, z, w;
} icf_quat;

/* Three columns: the images of the three axes. */
typedef struct icf_mat3 {
    icf_vec3 x, y, z;
} icf_mat3;

/* A pose: p_world = q p_body + p. */
typedef struct icf_transform {
    icf_quat q;
    icf_vec3 p;
} icf_transform;

ICFI_EXACT_INLINE_BEGIN

/* private */
ICFI_INLINE icf_real icfi_max(icf_real a, icf_real b)
{
    return a > b ? a : b;
}

ICFI_INLINE icf_real icfi_min(icf_real a, icf_real b)
{
    return a < b ? a : b;
}

ICFI_INLINE icf_vec3 icf_vec3_make(icf_real x, icf_real y, icf_real z)
{
    icf_vec3 v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}

ICFI_INLINE icf_vec3 icf_vec3_add(icf_vec3 a, icf_vec3 b)
{
    return icf_vec3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}

ICFI_INLINE icf_vec3 icf_vec3_sub(icf_vec3 a, icf_vec3 b)
{
    return icf_vec3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

ICFI_INLINE icf_vec3 icf_vec3_neg(icf_vec3 a)
{
    return icf_vec3_make(-a.x, -a.y, -a.z);
}

ICFI_INLINE icf_vec3 icf_vec3_scale(icf_real s, icf_vec3 a)
{
    return icf_vec3_make(s * a.x, s * a.y, s * a.z);
}

/* a + s b */
ICFI_INLINE icf_vec3 icf_vec3_add_scaled(icf_vec3 a, icf_real s, icf_vec3 b)
{
    return icf_vec3_make(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

ICFI_INLINE icf_real icf_vec3_dot(icf_vec3 a, icf_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

ICFI_INLINE icf_vec3 icf_vec3_cross(icf_vec3 a, icf_vec3 b)
{
    return icf_vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/* Right while the square of the length neither overflows nor underflows. */
ICFI_INLINE icf_real icf_vec3_length(icf_vec3 a)
{
    return ICF_SQRT(icf_vec3_dot(a, a));
}

/* a / |a| for every finite a, however long or short; the zero vector stays zero. */
ICFI_INLINE icf_vec3 icf_vec3_normalize(icf_vec3 a)
{
    icf_real x = ICF_FABS(a.x), y = ICF_FABS(a.y), z = ICF_FABS(a.z);
    icf_real largest = x > y ? x : y;
    if (z > largest) largest = z;
    if (!(largest > 0)) return a;
    a = icf_vec3_make(a.x / largest, a.y / largest, a.z / largest);
    return icf_vec3_scale(1 / icf_vec3_length(a), a);
}

ICFI_INLINE icf_quat icf_quat_make(icf_real x, icf_real y, icf_real z, icf_real w)
{
    icf_quat q;
    q.x = x;
    q.y = y;
    q.z = z;
    q.w = w;
    return q;
}

ICFI_INLINE icf_quat icf_quat_identity(void)
{
    return icf_quat_make(0, 0, 0, 1);
}

/* The rotation b followed by the rotation a. */
ICFI_INLINE icf_quat icf_quat_mul(icf_quat a, icf_quat b)
{
    return icf_quat_make(a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                         a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                         a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                         a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z);
}

/* The inverse of a unit quaternion. */
ICFI_INLINE icf_quat icf_quat_conjugate(icf_quat q)
{
    return icf_quat_make(-q.x, -q.y, -q.z, q.w);
}

/* q v q^-1 for a unit quaternion, as v + w t + u x t with t = 2 u x v and u the vector part. */
ICFI_INLINE icf_vec3 icf_quat_rotate(icf_quat q, icf_vec3 v)
{
    icf_vec3 u = icf_vec3_make(q.x, q.y, q.z);
    icf_vec3 t = icf_vec3_scale(2, icf_vec3_cross(u, v));
    return icf_vec3_add(icf_vec3_add_scaled(v, q.w, t), icf_vec3_cross(u, t));
}

ICFI_INLINE icf_vec3 icf_quat_rotate_inverse(icf_quat q, icf_vec3 v)
{
    return icf_quat_rotate(icf_quat_conjugate(q), v);
}

/* q / |q|; the zero quaternion becomes the identity. Right while |q|^2 does not over- or underflow. */
ICFI_INLINE icf_quat icf_quat_normalize(icf_quat q)
{
    icf_real n = ICF_SQRT(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    if (n == 0) return icf_quat_identity();
    n = 1 / n;
    return icf_quat_make(n * q.x, n * q.y, n * q.z, n * q.w);
}

/* The rotation by the angle |r|, in radians, about the axis r / |r|; exact to rounding for any r.

   With h = r/2 this is (h sin|h|/|h|, cos|h|). Both are power series in x = |h|^2, summed where they
   converge fast: h is halved until |h| <= 1/2, and the result squared as many times. */
ICFI_INLINE icf_quat icf_quat_from_rotation_vector(icf_vec3 r)
{
    const icf_real most = ICF_R(0.25);
    icf_vec3 h = icf_vec3_scale(ICF_R(0.5), r);
    icf_real x = icf_vec3_dot(h, h), c, s;
    icf_quat q;
    int n = 0;

    /* a finite |h| is below 2^1025, so 1026 halvings are enough; others end here as well */
    while (x > most && n < 1026) {
        h = icf_vec3_scale(ICF_R(0.5), h);
        x = icf_vec3_dot(h, h);
        n++;
    }

    /* cos: sum (-x)^k / (2k)!, to k = 8; sin: sum (-x)^k / (2k+1)!, to k = 7. Next terms < 1e-18. For tiny
       angles, as in a step at rest: to k = 2, next terms < 1e-26 */
    if (x < ICF_R(1e-8)) {
        c = 1 - x / 2 * (1 - x * (ICF_R(1.0) / 12));
        s = 1 - x * (ICF_R(1.0) / 6) * (1 - x * (ICF_R(1.0) / 20));
    } else {
        c = 1 -
            x * (ICF_R(1.0) / 132) * (1 - x * (ICF_R(1.0) / 182) * (1 - x * (ICF_R(1.0) / 240)));
        c = 1 -
            x / 2 *
                (1 - x * (ICF_R(1.0) / 12) *
                         (1 - x * (ICF_R(1.0) / 30) *
                                  (1 - x * (ICF_R(1.0) / 56) * (1 - x * (ICF_R(1.0) / 90) * c))));
        s = 1 -
            x * (ICF_R(1.0) / 110) * (1 - x * (ICF_R(1.0) / 156) * (1 - x * (ICF_R(1.0) / 210)));
        s = 1 - x * (ICF_R(1.0) / 6) *
                    (1 - x * (ICF_R(1.0) / 20) *
                             (1 - x * (ICF_R(1.0) / 42) * (1 - x * (ICF_R(1.0) / 72) * s)));
    }
    q = icf_quat_make(s * h.x, s * h.y, s * h.z, c);

    /* q^2 / |q|^2: the division keeps rounding from growing in the length */
    while (n-- > 0) {
        x = q.x * q.x + q.y * q.y + q.z * q.z;
        s = 1 / (q.w * q.w + x);
        c = s * (q.w * q.w - x);
        s = 2 * s * q.w;
        q = icf_quat_make(s * q.x, s * q.y, s * q.z, c);
    }
    return q;
}

/* q after turning for a time dt with the angular velocity w, in the world frame, in rad/s. A constant w is
   integrated exactly, whatever dt is; the result is a unit quaternion. */
ICFI_INLINE icf_quat icf_quat_integrate(icf_quat q, icf_vec3 w, icf_real dt)
{
    icf_quat turn = icf_quat_from_rotation_vector(icf_vec3_scale(dt, w));
    return icf_quat_normalize(icf_quat_mul(turn, q));
}

ICFI_INLINE icf_mat3 icf_mat3_from_columns(icf_vec3 x, icf_vec3 y, icf_vec3 z)
{
    icf_mat3 m;
    m.x = x;
    m.y = y;
    m.z = z;
    return m;
}

ICFI_INLINE icf_mat3 icf_mat3_identity(void)
{
    return icf_mat3_from_columns(icf_vec3_make(1, 0, 0), icf_vec3_make(0, 1, 0),
                                 icf_vec3_make(0, 0, 1));
}

ICFI_INLINE icf_vec3 icf_mat3_apply(icf_mat3 m, icf_vec3 v)
{
    return icf_vec3_add_scaled(icf_vec3_add_scaled(icf_vec3_scale(v.x, m.x), v.y, m.y), v.z, m.z);
}

/* m' v, with m' the transpose of m. */
ICFI_INLINE icf_vec3 icf_mat3_apply_transposed(icf_mat3 m, icf_vec3 v)
{
    return icf_vec3_make(icf_vec3_dot(m.x, v), icf_vec3_dot(m.y, v), icf_vec3_dot(m.z, v));
}

ICFI_INLINE icf_mat3 icf_mat3_mul(icf_mat3 a, icf_mat3 b)
{
    return icf_mat3_from_columns(icf_mat3_apply(a, b.x), icf_mat3_apply(a, b.y),
                                 icf_mat3_apply(a, b.z));
}

ICFI_INLINE icf_mat3 icf_mat3_transpose(icf_mat3 m)
{
    return icf_mat3_from_columns(icf_vec3_make(m.x.x, m.y.x, m.z.x),
                                 icf_vec3_make(m.x.y, m.y.y, m.z.y),
                                 icf_vec3_make(m.x.z, m.y.z, m.z.z));
}

/* The matrix of a unit quaternion. */
ICFI_INLINE icf_mat3 icf_mat3_from_quat(icf_quat q)
{
    icf_real xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    icf_real xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    icf_real wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return icf_mat3_from_columns(icf_vec3_make(1 - 2 * (yy + zz), 2 * (xy + wz), 2 * (xz - wy)),
                                 icf_vec3_make(2 * (xy - wz), 1 - 2 * (xx + zz), 2 * (yz + wx)),
                                 icf_vec3_make(2 * (xz + wy), 2 * (yz - wx), 1 - 2 * (xx + yy)));
}

/* The quaternion of a rotation matrix. Of the four possible formulas it takes the one that divides by the
   largest component, so it is accurate for every rotation. */
ICFI_INLINE icf_quat icf_quat_from_mat3(icf_mat3 m)
{
    icf_real t = m.x.x + m.y.y + m.z.z;
    icf_quat q;
    if (t > 0) {
        q = icf_quat_make(m.y.z - m.z.y, m.z.x - m.x.z, m.x.y - m.y.x, 1 + t);
    } else if (m.x.x >= m.y.y && m.x.x >= m.z.z) {
        q = icf_quat_make(1 + m.x.x - m.y.y - m.z.z, m.x.y + m.y.x, m.z.x + m.x.z, m.y.z - m.z.y);
    } else if (m.y.y >= m.z.z) {
        q = icf_quat_make(m.x.y + m.y.x, 1 - m.x.x + m.y.y - m.z.z, m.y.z + m.z.y, m.z.x - m.x.z);
    } else {
        q = icf_quat_make(m.z.x + m.x.z, m.y.z + m.z.y, 1 - m.x.x - m.y.y + m.z.z, m.x.y - m.y.x);
    }
    return icf_quat_normalize(q);
}

ICFI_INLINE icf_transform icf_transform_make(icf_quat q, icf_vec3 p)
{
    icf_transform t;
    t.q = q;
    t.p = p;
    return t;
}

ICFI_INLINE icf_transform icf_transform_identity(void)
{
    return icf_transform_make(icf_quat_identity(), icf_vec3_make(0, 0, 0));
}

ICFI_INLINE icf_vec3 icf_transform_apply(icf_transform t, icf_vec3 v)
{
    return icf_vec3_add(icf_quat_rotate(t.q, v), t.p);
}

ICFI_INLINE icf_vec3 icf_transform_apply_inverse(icf_transform t, icf_vec3 v)
{
    return icf_quat_rotate_inverse(t.q, icf_vec3_sub(v, t.p));
}

/* The transform b followed by the transform a. */
ICFI_INLINE icf_transform icf_transform_mul(icf_transform a, icf_transform b)
{
    return icf_transform_make(icf_quat_mul(a.q, b.q), icf_transform_apply(a, b.p));
}

ICFI_INLINE icf_transform icf_transform_inverse(icf_transform t)
{
    return icf_transform_make(icf_quat_conjugate(t.q),
                              icf_vec3_neg(icf_quat_rotate_inverse(t.q, t.p)));
}

ICFI_EXACT_INLINE_END

// ------------------------------------------------------------------------------------------------
// Dense Cholesky: symmetric positive definite systems of the size of a body or a robot
// >>api-dense

/* Factors the n x n matrix a in place, as A = L D L'. a is column-major with leading dimension ld >= n;
   only its lower triangle is read and written. Below the diagonal it then holds L D (not L: column j is
   scaled by D_j), on the diagonal 1 / D_j. n may be 0. ICF_RESULT_NOT_SPD: a is not positive definite, or
   has a NaN or an infinity; *pivot (may be NULL) is the first column where that shows, and the lower
   triangle is lost. */
ICF_API icf_result icf_dense_factor(int32_t n, icf_real* a, int32_t ld, int32_t* pivot);

/* Solves A x = b with that factor, in place, for `count` columns of x, leading dimension ldx >= n. */
ICF_API icf_result icf_dense_solve(int32_t n, const icf_real* factor, int32_t ld, icf_real* x,
                                   int32_t count, int32_t ldx);

// ------------------------------------------------------------------------------------------------
// Block-sparse Cholesky: piles of bodies, robots among them, meshes
// >>api-sparse

typedef enum icf_sparse_mode {
    ICF_SPARSE_FULL,     /* a factor, made as a whole each time; in most graphs the least memory */
    ICF_SPARSE_PARTIAL,  /* also keeps what its parts pass up: a change redoes only some of it */
    ICF_SPARSE_ITERATIVE /* no factor: conjugate gradients, in memory that grows as the pattern */
} icf_sparse_mode;

/* Private: where the pieces of the two blocks of memory of an icf_sparse are, in bytes. */
typedef struct icfi_sparse_at {
    size_t size, start, pair, near_start, near, order, position, front, column, place, member;
    size_t parent, child, sibling, cols, rows, blocks, scratch;
    size_t row_start, run_count, row, row_at, run_to, run_length, redo, panel_at, update_at;
    size_t panels, panel_reals, updates, small, work;
    size_t block_at, diagonal, vectors;
} icfi_sparse_at;

/* A symmetric matrix of blocks and its factor. The caller owns the struct and the two blocks of memory that
   it points to: one holds the pattern, one the factor. Fields up to `flops` may be read after
   icf_sparse_analyze. Do not copy the struct while it is in use. */
typedef struct icf_sparse {
    int32_t cliques, edges; /* blocks on the diagonal; pairs given */
    int32_t unknowns;       /* rows and columns of the matrix */
    int32_t fronts;         /* dense pieces that make up the factorisation */
    int32_t components;     /* parts that nothing connects */
    int32_t bound;          /* 1 from icf_sparse_bind until a new pattern is analysed */
    double flops;           /* additions and multiplications, without those that fronts add */

    /* ICF_SPARSE_ITERATIVE only; the caller may change the first two after icf_sparse_bind */
    icf_real tolerance; /* stop at |b - A x| <= tolerance |b|; default 100 rounding errors */
    int32_t budget;     /* most iterations of a solve; default 2 unknowns, at least 100 */
    int32_t iterations; /* of the last solve, all its right-hand sides together */
    icf_real residual;  /* |b - A x| / |b| of the last solve, the worst of its right-hand sides */

    /* private */
    void *pattern, *factor;
    int32_t cookie, mode, state, owner;
    icfi_sparse_at at;
    int32_t rows_most;
} icf_sparse;

/* How many bytes icf_sparse_analyze needs, exactly; 0 if that is more than size_t holds. */
ICF_API size_t icf_sparse_pattern_bytes(int32_t cliques, int32_t edges);

/* Takes a pattern. Clique i has sizes[i] >= 0 unknowns, which follow those of clique i - 1. Edge e couples
   two different cliques, pairs[2 e] and pairs[2 e + 1]. Edges come in any order, either way round, and may
   repeat; results depend on the set of edges alone, except for the order in which blocks of the same place
   are added. s uses `memory` from now on, the arrays only during the call. s is zeroed, or was analysed
   before. If it already holds this pattern in this memory, nothing is computed again and the factor stays;
   edges then have the numbers and directions of the new list. Otherwise s->bound becomes 0. Errors, which
   leave s and memory as they were: BAD_ARGUMENT, TOO_SMALL, MISALIGNED, OVERFLOW, BAD_STATE (s was
   created). */
ICF_API icf_result icf_sparse_analyze(icf_sparse* s, void* memory, size_t bytes, int32_t cliques,
                                      const int32_t* sizes, int32_t edges, const int32_t* pairs);

/* How many bytes icf_sparse_bind needs for the pattern in s, exactly; 0 if that is more than size_t holds
   or a front has more than 46000 rows. */
ICF_API size_t icf_sparse_bytes(const icf_sparse* s, icf_sparse_mode mode);

/* At least what icf_sparse_bytes answers for any pattern of so many cliques and edges, if no clique has more
   than `largest` unknowns. The two modes with a factor assume the worst graph there can be, and ask for far
   more memory than any scene needs. */
ICF_API size_t icf_sparse_bytes_most(int32_t cliques, int32_t edges, int32_t largest,
                                     icf_sparse_mode mode);

/* Gives s the memory for its factor. Errors: BAD_ARGUMENT, BAD_STATE (nothing analysed, or s was created),
   TOO_SMALL, MISALIGNED, OVERFLOW (a front of more than 46000 rows; the iterative mode has no fronts). */
ICF_API icf_result icf_sparse_bind(icf_sparse* s, icf_sparse_mode mode, void* memory, size_t bytes);

#ifndef ICF_NO_MALLOC
/* Analyses and binds in memory of ICF_MALLOC, which icf_sparse_destroy gives back. s needs no preparation,
   but destroy one that was created first. Errors: those of both, and NO_MEMORY; they zero s. */
ICF_API icf_result icf_sparse_create(icf_sparse* s, icf_sparse_mode mode, int32_t cliques,
                                     const int32_t* sizes, int32_t edges, const int32_t* pairs);
ICF_API void icf_sparse_destroy(icf_sparse* s);
#endif

/* Starts a matrix: all blocks are zero. */
ICF_API icf_result icf_sparse_begin(icf_sparse* s);

/* Starts a matrix that differs from the last one only in the diagonal blocks of the `count` cliques in
   `changed` and in the blocks of their edges. It drops the parts of the factor that these reach. Add the
   blocks of dropped parts again; icf_sparse_wants_... tells which. Other blocks may be added, and are
   ignored. Without ICF_SPARSE_PARTIAL, and after a factorisation that failed, this is icf_sparse_begin. */
ICF_API icf_result icf_sparse_begin_partial(icf_sparse* s, int32_t count, const int32_t* changed);
ICF_API int icf_sparse_wants_diagonal(const icf_sparse* s, int32_t clique);
ICF_API int icf_sparse_wants_edge(const icf_sparse* s, int32_t edge);

/* Adds to the diagonal block of a clique the lower triangle of `block`; or adds `block`, with rows of
   pairs[2 e] and columns of pairs[2 e + 1], to that of an edge. Column-major, leading dimension ld. */
ICF_API icf_result icf_sparse_add_diagonal(icf_sparse* s, int32_t clique, const icf_real* block,
                                           int32_t ld);
ICF_API icf_result icf_sparse_add_edge(icf_sparse* s, int32_t edge, const icf_real* block,
                                       int32_t ld);

/* Factors the matrix. ICF_RESULT_NOT_SPD: *pivot (may be NULL) is an unknown where that shows. */
ICF_API icf_result icf_sparse_factor(icf_sparse* s, int32_t* pivot);

/* Solves A x = b in place for `count` columns of x, leading dimension ldx >= s->unknowns. Iterative mode:
   NOT_CONVERGED leaves the last x, and s->residual says how good it is. The answer is NOT_CONVERGED, too,
   if the tolerance is below what rounding allows, or the matrix is positive definite only in its diagonal
   blocks. */
ICF_API icf_result icf_sparse_solve(icf_sparse* s, icf_real* x, int32_t count, int32_t ldx);

// ------------------------------------------------------------------------------------------------
// What contacts, limits, motors and the rest cost
// >>api-potentials

/* Each potential is a convex function l of a few velocities. It acts on them with the impulse -dl/dv, in N
   s or N m s. An icf_surface with an icf_contact (three velocities of a contact point), or an icf_row (one
   velocity of a link), describes it in physical numbers; _term_make turns these into the numbers of one
   time step; _evaluate gives cost, impulse and Hessian at a velocity. icf_solve does both; call them to look
   at a law, or from a solver of your own. */

/* The law of the normal force f [N], of signed distance phi [m] (below 0: overlap) and velocity v [m/s]
   (above 0: separating); (x)+ is max(x, 0). In a step, phi = distance + dt v. */
typedef enum icf_law {
    ICF_LAW_HUNT_CROSSLEY, /* f = stiffness (-phi)+ (1 - dissipation v)+ */
    ICF_LAW_HERTZ,        /* f = stiffness (-phi)+^1.5 (1 - dissipation v)+, stiffness in N/m^1.5 */
    ICF_LAW_KELVIN_VOIGT, /* f = stiffness (-phi - relaxation v)+ */
    ICF_LAW_IPC_BARRIER, /* energy -stiffness (range - phi)+^2 ln(phi / range); keeps phi above 0 */
    ICF_LAW_LOG_BARRIER, /* energy -stiffness ln(phi / range), stiffness in J; keeps phi above 0 */
    ICF_LAW_CUSTOM       /* a function of the caller's */
} icf_law;

/* Your own law. For a contact that starts the step at `distance` and has the velocity v it writes out[0] =
   cost [J], out[1] = impulse n >= 0 [N s], out[2] = its slope n' <= 0. n = dt f(distance + dt v, v); the
   cost has the slope -n, and is best 0 where the force ends. It is the same function at every call of a
   solve. Where it has no value (beyond a barrier) the cost is not finite. */
typedef void icf_law_function(void* user, icf_real dt, icf_real distance, icf_real v,
                              icf_real out[3]);

typedef enum icf_model {
    /* friction goes with the normal force at the start of the step: there is none in the step in which a
       contact is made, but with `passes` of icf_options. Sliding is as deep as resting */
    ICF_MODEL_LAGGED,
    /* friction goes with the normal force of this step. A body that slides at a speed s rides dt friction s
       above where it would rest */
    ICF_MODEL_SIMILAR,
    /* the cone of the SAP paper; a sliding body rides (dt + relaxation) friction s above. The law is
       Kelvin-Voigt whatever `law` says */
    ICF_MODEL_SAP
} icf_model;

/* Lagged friction, torsion and rolling go with gamma_n0, the normal impulse of the step before. Copy this
   unchanged from icf_contact_result to the same contact of the next step, if dt is equal. N s, not below 0;
   all zero: nothing is known. */
typedef struct icf_lag {
    icf_real limit;   /* gamma_n0: between the next two */
    icf_real before;  /* gamma_n0 of the step before */
    icf_real impulse; /* of the normal law at the start of the step: gamma_n0 of the papers */
} icf_lag;

/* How two surfaces act on each other: the law of the normal force, and friction. All points of a patch share
   one, and so may any number of contacts. From icf_default_surface(): a zeroed struct is refused. Directions
   are in the axes of the link. */
typedef struct icf_surface {
    int32_t model; /* icf_model; default lagged */
    int32_t law;   /* icf_law; default Hunt & Crossley */
    /* 1: `force` of the contact replaces its distance: f = (force - stiffness dt v)+ (1 - dissipation v)+,
       and stiffness may be 0; for Kelvin-Voigt and SAP the distance is -force / stiffness. Default 0 */
    int32_t by_force;

    /* added to the velocity, m/s: that of the surface of B less that of A. Under a box, which is B, a belt
       that runs along +x has -x. Default 0 */
    icf_vec3 velocity;
    /* the first direction of friction, t1, is the part of this across the normal, of whatever length. Zero,
       the default, or within 6 degrees of the normal: any one, x for the normal z. t2 = normal x t1 */
    icf_vec3 tangent;

    /* the normal force */
    icf_real stiffness;   /* default 1e6 N/m; 0: no force, except with `by_force` */
    icf_real dissipation; /* d of Hunt & Crossley and Hertz, default 10 s/m */
    icf_real relaxation;  /* tau of Kelvin-Voigt, default 0.01 s */
    icf_real range;       /* of the barriers, default 1e-3 m */
    /* beta of SAP (29): bounds the stiffness so that a period is at least beta steps. 0: off. Below 0, the
       default: 1 for SAP, off for the others. A solve also bounds the stiffness by what the precision can
       tell from rigid */
    icf_real near_rigid;
    /* pulling force, N, while distance <= adhesion_range; friction goes with the repulsive part alone.
       Defaults 0 */
    icf_real adhesion;
    icf_real adhesion_range;

    /* friction */
    icf_real friction;        /* coefficient along t1 while slipping, default 0.5 */
    icf_real friction2;       /* along t2; below 0, the default: the same. Not for SAP */
    icf_real friction_static; /* while not slipping; below 0, the default: the same. Scales both */
    /* Friction at a slip s is friction * normal force * s / sqrt(s^2 + e^2), so a sticking contact creeps,
       but for `pull` of icf_contact. e = max(slip_tolerance, softness w friction gamma_n0), ICF (26): larger
       in an impact. SAP has only the softness, R_t = softness w, SAP (30), and not 0. Defaults 1e-4 m/s,
       1e-3 */
    icf_real slip_tolerance, softness;
    /* torque of friction about the normal, and about the tangents, over the normal force, m; links of 6
       rows only; default 0 */
    icf_real torsion, rolling;
    icf_real spin_tolerance; /* v_s of these two, default 1e-3 rad/s */

    icf_law_function* custom; /* ICF_LAW_CUSTOM */
    void* user;
    int32_t cookie; /* private */
} icf_surface;

/* One point of contact. Velocities are those of side B relative to side A, or of whatever the link reads.
   From icf_default_contact(): a zeroed struct is refused. */
typedef struct icf_contact {
    /* the link that reads its velocity: of 3 rows (velocity), or of 6 (velocity at the link's reference
       point, angular velocity) */
    int32_t link;
    int32_t surface; /* which one; default 0 */

    /* where, in the axes of the link */
    icf_vec3 point;  /* from the reference point, m; links of 6 rows only; default 0 */
    icf_vec3 normal; /* unit vector, along which separating is positive; default z */

    icf_real distance; /* phi at the start of the step, m; default 0 */
    icf_real force;    /* with by_force; N, default 0 */
    /* multiplies the surface's stiffness and adhesion, or the force of your own law, as an area does; 0: no
       contact. Default 1 */
    icf_real weight;
    icf_real effective_mass_inverse; /* w, 1/kg; 0, the default: computed from the link */

    /* Velocities that friction sees on top of those of the contact: `pull`, m/s, across the normal, and
       `twist`, rad/s, for torsion and rolling; in the axes of the link. With them friction holds a
       place: remember where the contact was made, and give as pull its displacement since then over 3
       dt, but at most 12 slip_tolerance; if it would be more, move the remembered place along. A
       world with `anchors` does this, and adds it to what you set. What is reported is without them.
       Default 0 */
    icf_vec3 pull, twist;
    /* the impulse to expect along t1, t2, normal, N s: that of the same contact in the step before. The
       solve begins there; it changes nothing else. Default 0 */
    icf_vec3 impulse_guess;
    /* the `lag` of the icf_contact_result of the same contact in the step before. Where friction, a step
       late, lets a contact open and close in turn, more slowly than slip_tolerance, gamma_n0 then stops
       between and the contact comes to rest. Zeroed, the default: gamma_n0 is the normal impulse at the
       start of the step, as in the papers */
    icf_lag lag;
    int32_t cookie; /* private */
} icf_contact;

/* What holds one velocity u, a row of a link. From icf_default_row(kind). */
typedef enum icf_row_kind {
    ICF_ROW_LIMIT, /* impulse >= 0, Kelvin-Voigt: keeps `distance` + dt sign u from going below 0 */
    /* dt (stiffness (error - dt u) + damping (target - u) + feedforward), within +-dt effort */
    ICF_ROW_MOTOR,
    ICF_ROW_DRY_FRICTION, /* at most dt effort, against u */
    /* keeps `distance` + dt u at 0: six make a weld, three a ball joint, one a rod or a coupling of two
       joints */
    ICF_ROW_HOLONOMIC,
    ICF_ROW_QUADRATIC /* cost weight / 2 (u - target)^2 */
} icf_row_kind;

typedef struct icf_row {
    int32_t kind, link, row;
    icf_real distance;    /* limit: how far off, m or rad. Holonomic: the constraint's error */
    icf_real sign;        /* limit: 1 if u > 0 leads away from it, else -1. Default 1 */
    icf_real stiffness;   /* limit, holonomic: 0, the default, is as stiff as the step allows */
    icf_real relaxation;  /* limit, holonomic: tau, s, default 0 */
    icf_real near_rigid;  /* limit, holonomic: beta, default 1 and 0.1; not 0 if stiffness is 0 */
    icf_real damping;     /* motor, default 0 */
    icf_real error;       /* motor: desired minus actual position */
    icf_real target;      /* motor, quadratic: desired velocity */
    icf_real feedforward; /* motor: N or N m */
    /* motor: the limit of all three together, below 0, the default: none; dry friction: default 0 */
    icf_real effort;
    icf_real slip_tolerance; /* dry friction: default 1e-4 m/s or rad/s */
    icf_real softness;       /* dry friction: sigma, default 1e-3 */
    icf_real weight;         /* quadratic: kg or kg m^2 */
    int32_t cookie;          /* private */
} icf_row;

ICF_API icf_surface icf_default_surface(void);
ICF_API icf_contact icf_default_contact(void);
ICF_API icf_row icf_default_row(icf_row_kind kind);

/* A normal law in one step. Private but for reading. */
typedef struct icf_normal {
    int32_t law;
    int32_t facts; /* what the solve knows of the law, from _term_make */
    icf_real dt, distance;
    icf_real scale;            /* K = dt^2 k, dt^2.5 k, 1 / R_n, or kappa */
    icf_real vhat, ahat, bhat; /* where the force ends, and its two factors there */
    icf_real push;             /* K ahat, in N s */
    icf_real d, range, tau;
    icf_law_function* custom;
    void* user;
} icf_normal;

/* A contact in one step: x = (mu1 v1, mu2 v2), |x|_s = sqrt(|x|^2 + eps^2) - eps. You may fill it with
   numbers of your own. */
typedef struct icf_contact_term {
    int32_t model;
    int32_t bounded; /* 1: the near-rigid bound acts */
    icf_normal normal;
    icf_real mu1, mu2, eps; /* eps in the units of x: mu times a velocity; above 0 */
    icf_real impulse0;      /* lagged: gamma_n0, the normal impulse at the start of the step */
    icf_real adhesion;      /* dt times the pulling force */
    icf_real rt;            /* SAP: R_t; R_n is 1 / normal.scale */
    icf_lag lag;            /* where impulse0 is from */
} icf_contact_term;

typedef struct icf_row_term {
    int32_t kind;
    int32_t bounded;
    icf_normal normal; /* limit */
    icf_real sign;
    /* impulse0 + slope (target - u), within +-most; dry friction is most |u|_s instead */
    icf_real slope, target, impulse0;
    icf_real most, eps;
} icf_row_term;

/* v0: (t1, t2, normal) velocity at the start of the step. w: inverse effective mass. Errors: BAD_ARGUMENT,
   NOT_FINITE, INFEASIBLE (a barrier with distance <= 0), BAD_LAW. */
ICF_API icf_result icf_contact_term_make(const icf_surface* surface, const icf_contact* contact,
                                         icf_real dt, icf_real w, const icf_real v0[3],
                                         icf_contact_term* term);
ICF_API icf_result icf_row_term_make(const icf_row* row, icf_real dt, icf_real w,
                                     icf_row_term* term);

/* Cost, impulse and Hessian (both triangles) at the velocity v; any of the three may be NULL. Returns 1; or
   0 where a barrier has no value, phi <= 0: then the cost is ICF_REAL_MAX and the others are 0. */
ICF_API int icf_contact_evaluate(const icf_contact_term* term, const icf_real v[3], icf_real* cost,
                                 icf_real impulse[3], icf_real hessian[9]);
ICF_API int icf_row_evaluate(const icf_row_term* term, icf_real u, icf_real* cost,
                             icf_real* impulse, icf_real* hessian);

/* out = cost, impulse n >= 0, slope n' <= 0 of a normal law at v. Returns the same as the two above. */
ICF_API int icf_normal_evaluate(const icf_normal* normal, icf_real v, icf_real out[3]);

/* Checks a law of your own around v: n >= 0, n' <= 0, and both are the right derivatives. ICF_RESULT_OK or
   ICF_RESULT_BAD_LAW. With ICF_VALIDATE icf_solve checks every contact with such a law. */
ICF_API icf_result icf_law_check(icf_law_function* law, void* user, icf_real dt, icf_real distance,
                                 icf_real v);

// ------------------------------------------------------------------------------------------------
// The convex solver
// >>api-solver

/* How a link reads a rigid body: `sign` times the velocity of the body's point at r from its centre of
   mass, and, if the link has six rows, `sign` times the angular velocity. */
typedef struct icf_lever {
    icf_vec3 r;    /* m, in the axes of the link */
    icf_real sign; /* 1, -1; 0: no lever, the block has numbers */
} icf_lever;

/* The solver finds v that minimises

       1/2 (v - v*)' A (v - v*) + sum of all potentials

   Cliques own the velocities v; links read velocities u = sum K v + bias; contacts and rows price them: see
   part 3 of the manual. All arrays are the caller's, and only read. Matrices are row-major, one after
   another. From icf_default_problem(), which has nothing in it. */
typedef struct icf_problem {
    icf_real dt; /* the time step, s */

    int32_t cliques;
    const int32_t* clique_sizes; /* how many velocities each owns */
    /* of each clique: 1 if it is a rigid body, with six velocities: that of its centre of mass and the
       angular velocity. NULL: none is */
    const int32_t* clique_is_body;
    /* A: the block of each clique, size x size, symmetric; of a body 7 numbers: mass, inertia xx, yy, zz, xy,
       xz, yz. Of a tree whose velocities are numbered from the leaves to the root, branches cost less */
    const icf_real* mass;
    /* in the places of `mass`: the block as icf_dense_factor leaves it, if you have that; it must be of this
       very A. The solver makes the factor where the first number is 0, of bodies, and of all if NULL */
    const icf_real* mass_factor;
    const icf_real* v_free; /* v*: velocities after the step if there were no potentials */
    /* velocities before the step, which friction looks back to; NULL: friction looks back to the velocities
       that icf_solve starts from */
    const icf_real* v_last;

    /* blocks of A off its diagonal, for meshes; 0 for bodies and robots */
    int32_t couplings;
    const int32_t* coupling_pairs;   /* two cliques each, in any order */
    const icf_real* coupling_blocks; /* rows of the first, columns of the second */
    /* like `mass`: a matrix that is nowhere above A, for the certificate; NULL: the one of Gershgorin's
       theorem, if it gives one */
    const icf_real* mass_bound;

    int32_t links;
    const int32_t* link_rows; /* 1 to 6 each */
    /* links + 1 numbers: link i reads blocks link_start[i] .. link_start[i + 1] - 1 */
    const int32_t* link_start;
    /* the clique of each block, at most once in a link, but for block_columns */
    const int32_t* block_clique;
    /* two numbers of each block: the first velocity of its clique that it reads, and how many. A link may
       then have several blocks of one clique, one after another and in ascending order. NULL: all */
    const int32_t* block_columns;
    /* of each block: its lever, if it reads a body and its link has 3 or 6 rows. This takes less time than
       numbers. NULL: none has one */
    const icf_lever* block_lever;
    const icf_real* blocks;    /* K of each block without a lever, rows x columns */
    const icf_real* link_bias; /* rows each, m/s or rad/s; NULL: 0 */

    int32_t surfaces, contacts, rows;
    const icf_surface* surface;
    const icf_contact* contact;
    const icf_row* row;
} icf_problem;

typedef enum icf_stop {
    ICF_STOP_NONE,      /* nothing was solved */
    ICF_STOP_CONVERGED, /* the tolerance is met */
    ICF_STOP_FLOOR,     /* as near to it as rounding allows; a success as well */
    /* these four: NOT_CONVERGED, with the best velocity so far */
    ICF_STOP_SHORT, /* it finds no better step, and the error is above 1e-3, in float 0.1 */
    ICF_STOP_ITERATIONS,
    ICF_STOP_FACTORIZATIONS,
    ICF_STOP_CALLER
} icf_stop;

/* One iteration, all islands together */
typedef struct icf_iteration {
    icf_real cost;           /* J */
    icf_real gradient;       /* |D grad|, D = diag(A)^-1/2 */
    icf_real momentum_error; /* the same over max(|D A v|, |D J' gamma|), of the worst island */
} icf_iteration;

/* The solve of one island: cliques that links and couplings connect. Islands are numbered in the order of
   their first clique. */
typedef struct icf_island {
    int32_t cliques, links;
    int32_t iterations, factorizations;
    int32_t iterative;                                    /* 1: without a factor */
    int32_t stop;                                         /* icf_stop */
    icf_real cost, gradient, momentum_error, certificate; /* as in icf_stats */
} icf_island;

/* From icf_default_options(). */
typedef struct icf_options {
    icf_real tolerance; /* stop at this momentum error, SAP (26); default 1e-5, in float 1e-4 */
    icf_real energy;    /* or at a certificate of this, J; default 0: only by the tolerance */
    int32_t iterations; /* budgets for each island; defaults 1000 */
    int32_t factorizations;
    /* Lagged friction, torsion and rolling are limited by a normal impulse that is known before the
       solve. 0, the default: gamma_n0, as in the papers; what lands keeps its speed along the ground
       for that step. 1: if a pair comes together so fast that this is far too little, what stops it
       within the step. 2 and more: islands whose normal impulses come out far from these limits are
       solved again, with those found, in at most so many solves. 2 is best where things land, are
       thrown or are gripped */
    int32_t passes;
    /* 1: always conjugate gradients; 0, the default: if memory is short; -1: never, a solve with too little
       memory is refused (TOO_SMALL) */
    int32_t iterative;
    /* asked once an iteration: not 0 ends the solve; default NULL */
    int (*should_stop)(void* user);
    void* user;
    icf_iteration* history; /* takes the first history_capacity iterations; default NULL */
    int32_t history_capacity;
    icf_island* island; /* takes the first island_capacity islands; default NULL */
    int32_t island_capacity;
    int32_t* island_of; /* of each clique, its island, -1 if nothing touches it; default NULL */
    int32_t cookie;     /* private */
} icf_options;

/* The part of its input that a call refuses */
typedef enum icf_part {
    ICF_PART_NONE,
    ICF_PART_PROBLEM, /* dt, a count, or a pointer that is NULL; which: 0 */
    ICF_PART_OPTIONS,
    ICF_PART_CLIQUE, /* which: the clique: its size, mass, bound or velocities */
    ICF_PART_COUPLING,
    ICF_PART_LINK,
    ICF_PART_BLOCK,
    ICF_PART_SURFACE,
    ICF_PART_CONTACT,
    ICF_PART_ROW
} icf_part;

/* How a solve went; always filled, whatever the answer. */
typedef struct icf_stats {
    icf_stop stop;
    int32_t islands;               /* groups of cliques that share no link, and have one */
    int32_t iterations;            /* of the island that took most */
    int32_t factorizations;        /* likewise */
    int32_t island_factorizations; /* of all islands together */
    int32_t trials;                /* of the line search, together */
    int32_t history;               /* iterations recorded: the start and each one that fits */
    int32_t bounded;               /* contacts and rows that near_rigid made softer */
    int32_t iterative;             /* islands without a factor */
    icf_real cost;                 /* at the velocity returned, J */
    icf_real certificate; /* the cost is at most this above the least, J; ICF_REAL_MAX: unknown */
    icf_real gradient;    /* |D grad| */
    icf_real momentum_error; /* of the worst island */
    icf_real rounding;       /* after FLOOR or SHORT: the error that rounding alone explains */
    /* with passes, else 0: how far limits of friction are from normal impulses, as a part of these, in
       the worst island. 0.1: friction is off by a tenth. Large where hardly anything presses */
    icf_real limit_error;
    /* Workspace size with which every island could be factored. An island that starts at its minimum, as at
       rest, takes no matrix: it is counted without a factor here, and by icf_workspace_reserve with one. */
    size_t bytes;
    icf_part part; /* what is wrong, and which one */
    int32_t which;
    const char* reason; /* a few words, or NULL */
} icf_stats;

/* Memory for a solve, with the results of the last one. Zeroed, or made by one of the next two functions;
   one thread at a time. */
typedef struct icf_workspace {
    void* memory;
    size_t bytes;
    int32_t owner, state, contacts, rows, islands; /* private */
    icf_real bound;
    size_t contact_at, row_at;
    size_t kept; /* bytes at the end of the memory with the pattern of the largest island, or 0 */
    uint32_t kept_sum;
} icf_workspace;

ICF_API icf_problem icf_default_problem(void);
ICF_API icf_options icf_default_options(void);

/* How many bytes of workspace are always enough for a problem, whatever its links connect: without factors
   (ICF_SPARSE_ITERATIVE), or with them (ICF_SPARSE_FULL: far more than any scene takes; stats->bytes of a
   solve on a larger machine tells the real number). In between, a solve uses the memory there is. 0 if a
   size is out of range. */
ICF_API size_t icf_workspace_bytes(const icf_problem* problem, icf_sparse_mode mode);

/* A workspace in the caller's memory, aligned to 8 bytes. */
ICF_API icf_result icf_workspace_init(icf_workspace* workspace, void* memory, size_t bytes);

#ifndef ICF_NO_MALLOC
/* Makes a zeroed workspace, or one that it made before, large enough for a problem, with factors. Looks
   only at sizes and at which cliques are connected; allocates only if there is too little. Errors:
   BAD_ARGUMENT, BAD_STATE (the memory is the caller's), NO_MEMORY, OVERFLOW. */
ICF_API icf_result icf_workspace_reserve(icf_workspace* workspace, const icf_problem* problem);
ICF_API void icf_workspace_destroy(icf_workspace* workspace);
#endif

/* Solves. v is the start, best the velocities before the step, and then the answer. options may be NULL
   (the defaults), and stats. Errors: BAD_ARGUMENT, NOT_FINITE, NOT_SYMMETRIC, NOT_SPD, INFEASIBLE, BAD_LAW,
   TOO_SMALL, OVERFLOW: v stays as it was, and stats->part and stats->which say what is wrong.
   NOT_CONVERGED: a budget or should_stop ended the solve; v is better than the start, and stats say how
   good it is. */
ICF_API icf_result icf_solve(const icf_problem* problem, const icf_options* options,
                             icf_workspace* workspace, icf_real* v, icf_stats* stats);

typedef enum icf_mode {
    ICF_MODE_OPEN, /* no normal force */
    /* slip below e of slip_tolerance: friction is up to 0.7 of its limit, with SAP or `pull` up to all */
    ICF_MODE_STICK,
    ICF_MODE_SLIP /* faster. `share` near 1 marks creep on a slope beyond the friction angle */
} icf_mode;

/* A contact in the last solve of a workspace */
typedef struct icf_contact_result {
    /* along t1, t2, normal, N s, on the side that the link's rows count as positive */
    icf_vec3 impulse;
    icf_vec3 velocity; /* along t1, t2, normal, surface velocity and bias included, not `pull` */
    icf_vec3 force;    /* impulse / dt in the axes of the link, N */
    /* of torsion and rolling, about t1, t2, normal: impulse, N m s, and angular velocity, not `twist`; 0 if
       the surface has neither */
    icf_vec3 spin_impulse, spin;
    icf_real dissipated; /* energy that friction, dissipation and relaxation took, J */
    icf_real w;          /* the inverse effective mass used, 1/kg */
    icf_real share;      /* friction, as a part of the most it could be: 0 to 1 */
    icf_real stick;      /* the slip up to which it sticks, see ICF_MODE_STICK, m/s */
    icf_real stick_rolling, stick_torsion; /* likewise of rolling and torsion, rad/s */
    icf_lag lag;                           /* for the next step */
    int32_t mode;                          /* icf_mode */
    int32_t bounded;                       /* 1: the near-rigid bound acted */
} icf_contact_result;

typedef struct icf_row_result {
    icf_real impulse;  /* along u, N s or N m s */
    icf_real velocity; /* u, bias included, m/s or rad/s */
    icf_real stick;  /* dry friction: the u up to which it sticks, with 0.7 of its limit; else 0 */
    int32_t bounded; /* 1: the near-rigid bound acted */
} icf_row_result;

/* BAD_STATE before a solve, and after one that refused its problem or another use of the workspace;
   BAD_ARGUMENT for an index that the solved problem does not have. They do not read the problem's
   arrays. */
ICF_API icf_result icf_get_contact(const icf_workspace* workspace, int32_t contact,
                                   icf_contact_result* result);
ICF_API icf_result icf_get_row(const icf_workspace* workspace, int32_t row, icf_row_result* result);

/* J of a contact with respect to the velocities of one clique, 3 x size, row-major: zero if its link does
   not read that clique. */
ICF_API icf_result icf_contact_jacobian(const icf_problem* problem, int32_t contact, int32_t clique,
                                        icf_real* jacobian);

/* W = sum of J_i A^-1 J_j' over the cliques of the links of the contacts i and j, 3 x 3, row-major, without
   blocks of A off its diagonal. Uses size^2 + 6 size numbers of the workspace; results of the last solve
   are lost. */
ICF_API icf_result icf_contact_delassus(const icf_problem* problem, int32_t i, int32_t j,
                                        icf_workspace* workspace, icf_real w[9]);

/* Writes a problem as text, with v, the start, and the options (NULL: the defaults) without callbacks and
   arrays: the format of tests/golden/problems/README.md, which bench/solve_file.c replays. Numbers read
   back with the same bits, even those that icf_solve refuses. *length: how many characters that takes,
   without the 0 at the end; with text NULL and capacity 0 it only counts. Errors, with nothing written:
   TOO_SMALL (capacity is not above *length); and with *length 0: BAD_LAW (a custom law has no text),
   BAD_ARGUMENT, OVERFLOW, BAD_DEF (a pointer is NULL, a count or an index is out of range, a struct does
   not come from its icf_default_ function). */
ICF_API icf_result icf_problem_dump(const icf_problem* problem, const icf_options* options,
                                    const icf_real* v, char* text, size_t capacity, size_t* length);

// ------------------------------------------------------------------------------------------------
// Derivatives of the answer
// >>api-sensitivities

/* At the answer the gradient g(v, theta) = A (v - v*) - J' gamma is 0 for every value of a parameter theta
   of the problem. So H dv/dtheta = -dg/dtheta, where H = dg/dv is the Hessian there. b = -dg/dtheta is

       for v*_j                column j of A
       for a force             dt times the force, along the unknowns
       for a contact           J' dgamma/dtheta at the same velocities, which icf_contact_push adds up

   H is symmetric, so the same call serves the adjoint: for a number L(v), find x = H^-1 dL/dv once; then
   dL/dtheta = x . b for every parameter.

   All of this holds v_last fixed: friction that looks back to it is a parameter of its own. */

/* Replaces `count` columns of x, ldx apart, each with one number for each unknown, by H^-1 x. H is that of
   the last solve of the workspace, which must have been of this problem, unchanged; for unknowns that
   nothing touches it is their block of A. *switching (may be NULL): how many contacts and rows are so near
   a kink of their impulse that the answer cannot tell on which side they are; the derivatives are then
   those of one side. *factorizations (may be NULL): how many it took, at most one an island. BAD_STATE
   before a solve; NOT_CONVERGED if conjugate gradients did not converge. */
ICF_API icf_result icf_sensitivity(const icf_problem* problem, icf_workspace* workspace,
                                   icf_real* x, int32_t count, int32_t ldx, int32_t* switching,
                                   int32_t* factorizations);

/* b += J' impulse of one contact; impulse along t1, t2, normal. */
ICF_API icf_result icf_contact_push(const icf_problem* problem, int32_t contact,
                                    const icf_real impulse[3], icf_real* b);

#ifndef ICF_NO_WORLD
// ------------------------------------------------------------------------------------------------
// The world: bodies, joints, time
// >>api-world

/* Names of items of a world. All zero is none; as a body it is the ground, which does not move. The name of
   a destroyed item is refused, and never given again. */
typedef struct icf_body {
    uint32_t index, generation;
} icf_body;

typedef struct icf_joint {
    uint32_t index, generation;
} icf_joint;

typedef struct icf_constraint {
    uint32_t index, generation;
} icf_constraint;

/* A world: this struct and one block of memory. Zeroed, or made by icf_world_init, icf_world_create or
   icf_world_clone. The block holds no pointers, but do not copy this struct. */
typedef struct icf_world {
    /* yours: the solver asks it once an iteration, and ends if it is not 0; or NULL */
    int (*should_stop)(void* user);
    void* user;
    /* Yours, or NULL; steps of a scene use one of their own. A step that is solved calls it before anything
       moves; icf_body_get_next says where bodies would be. If some then meet that were too far apart for
       touches, it adds their touches behind the others and returns 1: the step is solved and looked at
       again, up to 8 times. 0: it changed nothing. Below 0, an icf_result: the step is refused */
    int (*look_again)(struct icf_world* world, icf_real dt);
    /* of the last refused call: a few words, or NULL; how much room would do; which item: a slot as of
       icf_world_body_at, a number of a contact, or a place in a list */
    const char* reason;
    size_t needed;
    int32_t which;
    /* private */
    int32_t owner;
    void* memory;
    size_t bytes;
} icf_world;

/* The time stepping. q moves by dt times the new velocity, with midpoint by the mean of the old and the
   new. */
typedef enum icf_method {
    /* forces at the start of the step, those quadratic in velocities, gyroscopic and centrifugal, at the
       mean velocity; springs, dampers and motors of joints at its end, so that they may be stiff. First
       order */
    ICF_METHOD_SYMPLECTIC_EULER,
    /* all forces half way. Second order between contacts, which see only the new velocity: a fast body gets
       into a wall by up to half a step. A tree too fast for this rule takes the one above */
    ICF_METHOD_MIDPOINT,
    /* all forces at the end, with the same exception. First order; takes energy out of motion */
    ICF_METHOD_IMPLICIT_EULER
} icf_method;

/* From icf_default_world_def(). */
typedef struct icf_world_def {
    /* room for so many; worlds of icf_world_create and icf_world_clone grow by themselves */
    int32_t bodies;      /* default 64 */
    int32_t joints;      /* default 64 */
    int32_t constraints; /* default 16 */
    int32_t contacts;    /* touches in a step, default 256 */
    /* velocities of the largest tree of joints; 0, the default: 6 + 3 joints, at most 63 */
    int32_t tree;
    /* bytes for the solver; 0, the default: a guess. With less than stats.bytes it is slower. */
    size_t solver;

    icf_vec3 gravity; /* default (0, 0, -9.81) m/s^2 */
    int32_t method;   /* icf_method */
    int32_t substeps; /* 1 (default) to 1e6 of each step, with the contacts given before it */
    int32_t model;    /* icf_model that icf_world_default_surface sets; default lagged */
    /* 1: touches with an id get the lag of the step before, see icf_contact, and piles come to rest. The
       next step then also depends on that lag, which icf_world_save stores, and friction may act for a few
       steps on contacts that have parted slowly. Default 1 */
    int32_t settle;
    /* 1: touches with an id, and dry friction of joints, remember where they stuck and hold there, without
       creep; icf_world_save stores that, in 88 bytes a contact. 0: they creep. Default 1. For the friction of
       the papers set this, `settle` and `passes` to 0 */
    int32_t anchors;
    icf_real tolerance; /* of the solver; default as in icf_options */
    int32_t iterations; /* likewise */
    int32_t passes;     /* of the solver; default 2 */
    int32_t cookie;     /* private */
} icf_world_def;

typedef enum icf_body_kind {
    ICF_BODY_DYNAMIC,  /* forces move it */
    ICF_BODY_STATIC,   /* does not move */
    ICF_BODY_KINEMATIC /* keeps the velocity you give it, whatever pushes it */
} icf_body_kind;

/* Axes of the world along or about which a body without joints does not move */
typedef enum icf_lock {
    ICF_LOCK_X = 1,
    ICF_LOCK_Y = 2,
    ICF_LOCK_Z = 4,
    ICF_LOCK_TURN_X = 8,
    ICF_LOCK_TURN_Y = 16,
    ICF_LOCK_TURN_Z = 32
} icf_lock;

/* From icf_default_body_def(): dynamic, 1 kg, with the inertia of a ball 1 m across, at the origin. */
typedef struct icf_body_def {
    int32_t kind;
    uint32_t locks;            /* icf_lock, added up */
    icf_transform pose;        /* of the body's axes */
    icf_vec3 velocity;         /* of the centre of mass, m/s, in the axes of the world */
    icf_vec3 angular_velocity; /* rad/s, in the axes of the world */
    icf_real mass;             /* kg; 0 only if joints tie the body to something heavier */
    icf_vec3 center;           /* centre of mass, in the axes of the body */
    icf_mat3 inertia;          /* about the centre of mass, in the axes of the body, kg m^2 */
    icf_real linear_damping, angular_damping; /* share of the velocity lost, 1/s */
    icf_real gravity_scale;                   /* default 1 */
    uint64_t user;                            /* yours, kept and saved */
    int32_t cookie;                           /* private */
} icf_body_def;

typedef struct icf_body_state {
    int32_t kind; /* icf_body_kind */
    icf_transform pose;
    icf_vec3 center, velocity; /* of the centre of mass, in the world */
    icf_vec3 angular_velocity;
} icf_body_state;

typedef enum icf_joint_kind {
    ICF_JOINT_REVOLUTE,  /* turns about z by position[0], rad */
    ICF_JOINT_PRISMATIC, /* slides along z by position[0], m */
    ICF_JOINT_BALL, /* turns by the quaternion position[0..3]; velocities about the child's axes */
    ICF_JOINT_PLANAR,    /* slides along x and y, and turns about z */
    ICF_JOINT_UNIVERSAL, /* turns about x, and then about y */
    ICF_JOINT_WELD
} icf_joint_kind;

/* A joint makes a body, the child, a part of its parent's tree: the child then moves exactly as the joint
   lets it. x, y and z are axes of the joint's frame. Arrays of 3 have a number for each velocity of the
   joint. From icf_default_joint_def(kind). */
typedef struct icf_joint_def {
    int32_t kind;
    icf_body parent, child;                  /* parent: none is the ground */
    icf_transform parent_frame, child_frame; /* the joint's frame, in the axes of each body */
    icf_real position[4], velocity[3];
    icf_real rest[4]; /* where the spring is at rest */
    /* N m/rad and N m s/rad, or N/m and N s/m. A ball joint has the torque 2 stiffness sin(angle / 2) */
    icf_real stiffness, damping;
    icf_real rotor_inertia, gear_ratio; /* adds rotor_inertia gear_ratio^2, kg m^2 or kg */
    icf_real dry_friction;              /* N m or N, against each velocity */
    icf_real lower[3], upper[3]; /* limits; default -/+ICF_REAL_MAX, none. Not of ball joints */
    /* the motor pushes towards target and target_velocity, and by feedforward; in all at most by effort,
       below 0: without limit */
    icf_real motor_stiffness, motor_damping;
    icf_real target[4], target_velocity[3], feedforward[3];
    icf_real effort;
    uint64_t user;
    int32_t cookie; /* private */
} icf_joint_def;

typedef struct icf_joint_state {
    icf_real position[4], velocity[3];
    /* forces in the last step, on average: N m or N */
    icf_real motor[3], limit[3], friction[3];
} icf_joint_state;

typedef enum icf_constraint_kind {
    ICF_CONSTRAINT_WELD,
    ICF_CONSTRAINT_BALL,   /* holds two points together */
    ICF_CONSTRAINT_HINGE,  /* and two axes, z */
    ICF_CONSTRAINT_SLIDER, /* lets B only slide along z of A */
    /* keeps two points lower to upper apart: equal, a rod; with lower 0, a rope; with stiffness, a
       spring */
    ICF_CONSTRAINT_DISTANCE,
    ICF_CONSTRAINT_COUPLER /* keeps sum of ratio * position + offset of up to four joints at 0 */
} icf_constraint_kind;

/* A constraint closes loops, between any two bodies, by forces as stiff as the step allows. From
   icf_default_constraint_def(kind). */
typedef struct icf_constraint_def {
    int32_t kind;
    icf_body a, b; /* one may be none, the ground */
    /* in the axes of each body: points, and the axes of hinge, slider and weld */
    icf_transform a_frame, b_frame;
    icf_real lower, upper;               /* distance, m; default 0, ICF_REAL_MAX */
    icf_real stiffness, damping, length; /* of the spring of a distance: N/m, N s/m, m */
    int32_t joints;                      /* of a coupler: how many, which, */
    icf_joint joint[4];
    int32_t number[4]; /* which of its positions, default 0; not of ball joints */
    icf_real ratio[4], offset;
    uint64_t user;
    int32_t cookie; /* private */
} icf_constraint_def;

typedef struct icf_constraint_state {
    /* on B at its point, in the axes of the world, average of the last step. A coupler has force.x, on the
       sum */
    icf_vec3 force, torque;
    icf_real error;      /* how far the constraint is from being kept, m; of a coupler, its sum */
    icf_real turn_error; /* likewise, rad */
} icf_constraint_state;

/* A point where two bodies touch, or are about to: the result of collision detection. From
   icf_default_touch(). */
typedef struct icf_touch {
    icf_body a, b;
    icf_vec3 point; /* in the world */
    /* While A and B are apart: the way from the surface of A to that of B. The touch pushes A at point -
       reach / 2 and B at point + reach / 2, where the surfaces will meet. Default 0: it pushes both at the
       point */
    icf_vec3 reach;
    /* your name of the contact, unique among those of a pair. With the bodies it tells the contact from
       step to step. 0: not followed */
    uint64_t id;
    /* normal (from A to B) and the directions of its surface are in the axes of the world; a distance below 0
       is overlap. Give distances above 0 as well, up to where bodies may get in a step: they keep fast bodies
       from passing through each other. link and point are not read */
    icf_contact contact;
} icf_touch;

/* A touch in the last step; of substeps, in the last one, except for the impulse. */
typedef struct icf_touch_result {
    icf_body a, b;
    uint64_t id;
    icf_vec3 point, normal;     /* in the world, at the start of the step */
    icf_real distance;          /* likewise */
    icf_vec3 impulse;           /* in the axes of the world, on B, all substeps together, N s */
    icf_contact_result contact; /* contact.force: in the axes of the world */
} icf_touch_result;

typedef enum icf_event_kind { ICF_EVENT_BEGUN, ICF_EVENT_PERSISTS, ICF_EVENT_ENDED } icf_event_kind;

/* A touch with an id that had a normal force in the last step, or in the one before it. */
typedef struct icf_event {
    int32_t kind;
    int32_t touch; /* its number among the touches of the step, -1 if it was not given any more */
    icf_body a, b;
    uint64_t id;
    icf_real impulse; /* along the normal, N s */
} icf_event;

typedef struct icf_diagnosis {
    icf_real kinetic, potential;         /* J; potential: of gravity and of the springs of joints */
    icf_vec3 momentum, angular_momentum; /* of all dynamic bodies; angular: about the origin */
    icf_real mass;
    icf_real dissipated;  /* in the last step, by contacts, dampers and dry friction, J */
    icf_real violation;   /* the worst error of a constraint, m */
    icf_real penetration; /* the deepest overlap at the start of the last step, m */
} icf_diagnosis;

/* One of two surfaces; together they make the numbers of an icf_surface. */
typedef struct icf_material {
    icf_real stiffness;   /* N/m; ICF_REAL_MAX: rigid, the other decides */
    icf_real dissipation; /* s/m */
    icf_real relaxation;  /* s */
    icf_real friction;
    icf_real friction_static; /* below 0: the same */
    icf_real torsion, rolling;
} icf_material;

/* Two of these make an icf_default_surface(): twice its stiffness, half its relaxation. */
ICF_API icf_material icf_default_material(void);

/* Stiffness as of springs in series, dissipation weighted by stiffness (the softer one deforms),
   relaxations added, friction 2 m1 m2 / (m1 + m2); of torsion and rolling the larger. A rule of your own is
   a function of yours. */
ICF_API icf_material icf_material_combine(const icf_material* a, const icf_material* b);
ICF_API void icf_surface_set_material(icf_surface* surface, const icf_material* material);

ICF_API icf_world_def icf_default_world_def(void);
ICF_API icf_body_def icf_default_body_def(void);
ICF_API icf_joint_def icf_default_joint_def(icf_joint_kind kind);
ICF_API icf_constraint_def icf_default_constraint_def(icf_constraint_kind kind);

/* How many bytes a world of that def takes; 0 if def is refused or size_t does not hold that. */
ICF_API size_t icf_world_bytes(const icf_world_def* def);

/* At least that, as a constant for an array (of uint64_t or double), with `tree` and `solver` at their
   defaults. */
#define ICF_WORLD_BYTES(bodies, joints, constraints, contacts) \
    ((size_t)8192 + \
     (size_t)(bodies) * (((joints) > 0 ? 6144 : 4608) + ((constraints) > 0 ? 4096 : 0)) + \
     (size_t)(joints)*20480 + (size_t)((joints) > 0 ? 65536 : 0) + (size_t)(constraints)*12288 + \
     (size_t)(contacts)*4864)

/* Makes a world in the caller's memory, aligned to 8 bytes, of at least icf_world_bytes. */
ICF_API icf_result icf_world_init(icf_world* world, void* memory, size_t bytes,
                                  const icf_world_def* def);

/* Moves a world into another block, with the capacities of def; it reads nothing else of def. It frees the
   old block only if the world was created. Results of the last step are lost. Errors, which change nothing:
   TOO_SMALL, also if a capacity is below what the world holds. */
ICF_API icf_result icf_world_move(icf_world* world, void* memory, size_t bytes,
                                  const icf_world_def* def);

#ifndef ICF_NO_MALLOC
/* Makes a world in memory of ICF_MALLOC. It grows when it has to, in a call or a step, but not in a
   solve. */
ICF_API icf_result icf_world_create(icf_world* world, const icf_world_def* def);
ICF_API icf_result icf_world_clone(icf_world* copy, const icf_world* world);
ICF_API void icf_world_destroy(icf_world* world);
#endif

/* The def as it is now. Setting it changes all but capacities. */
ICF_API icf_result icf_world_get_def(const icf_world* world, icf_world_def* def);
ICF_API icf_result icf_world_set_def(icf_world* world, const icf_world_def* def);

/* Saves what the future depends on: not the touches for the next step, nor results of the last. A loaded
   world continues with the same bits. Only created worlds grow for a load. BAD_DEF: the bytes are damaged,
   or not a saved world of this version, precision and byte order. */
ICF_API size_t icf_world_save_bytes(const icf_world* world);
ICF_API icf_result icf_world_save(const icf_world* world, void* bytes, size_t capacity);
ICF_API icf_result icf_world_load(icf_world* world, const void* bytes, size_t count);

/* A number that depends on all that would be saved but capacities; the same on every machine. */
ICF_API uint64_t icf_world_hash(const icf_world* world);

/* Bodies. Errors: BAD_ARGUMENT (a name of nothing, a number out of range), BAD_DEF, NOT_FINITE, NOT_SPD (an
   inertia that no body has), TOO_SMALL (no room). A joint gives its child pose and velocity: setting these
   is BAD_STATE, and icf_body_set_def leaves them. Destroying a body destroys its joints and constraints. */
ICF_API icf_result icf_body_create(icf_world* world, const icf_body_def* def, icf_body* body);
ICF_API icf_result icf_body_destroy(icf_world* world, icf_body body);
ICF_API int icf_body_is_valid(const icf_world* world, icf_body body);
ICF_API icf_result icf_body_get_def(const icf_world* world, icf_body body, icf_body_def* def);
ICF_API icf_result icf_body_set_def(icf_world* world, icf_body body, const icf_body_def* def);
ICF_API icf_result icf_body_get_state(const icf_world* world, icf_body body, icf_body_state* state);
/* Where the last icf_world_try would have moved the body; in world.look_again, where the step at work
   would. BAD_STATE if there was none, or results are gone. */
ICF_API icf_result icf_body_get_next(const icf_world* world, icf_body body, icf_body_state* state);
ICF_API icf_result icf_body_set_pose(icf_world* world, icf_body body, icf_transform pose);
ICF_API icf_result icf_body_set_velocity(icf_world* world, icf_body body, icf_vec3 velocity,
                                         icf_vec3 angular_velocity);

/* The velocity of the point of the body that is now at `point` of the world. */
ICF_API icf_result icf_body_velocity_at(const icf_world* world, icf_body body, icf_vec3 point,
                                        icf_vec3* velocity);

/* In the axes of the world. Forces add up until the next step uses them. */
ICF_API icf_result icf_body_apply_force(icf_world* world, icf_body body, icf_vec3 force,
                                        icf_vec3 point);
ICF_API icf_result icf_body_apply_torque(icf_world* world, icf_body body, icf_vec3 torque);

/* Acts at once, on the body and on what is joined to it. */
ICF_API icf_result icf_body_apply_impulse(icf_world* world, icf_body body, icf_vec3 impulse,
                                          icf_vec3 point);

/* The body that a joint hangs this one on; none: the ground, or no joint. */
ICF_API icf_body icf_body_parent(const icf_world* world, icf_body body);

/* All bodies are in slots 0 to the count, not included; an empty slot holds none. */
ICF_API int32_t icf_world_body_count(const icf_world* world);
ICF_API icf_body icf_world_body_at(const icf_world* world, int32_t slot);

/* Both frames of a joint or constraint of two bodies as they are, from a point and a z axis in the
   world. */
ICF_API icf_result icf_world_frames(const icf_world* world, icf_body a, icf_body b, icf_vec3 point,
                                    icf_vec3 axis, icf_transform* a_frame, icf_transform* b_frame);

/* Joints. Creating one moves the child, and what is joined to it, to where the joint has it. The child must
   be dynamic, have no joint and no locks, and not carry its parent. Destroying a joint frees the child
   where it is. Setting the def changes all but kind, bodies and frames. */
ICF_API icf_result icf_joint_create(icf_world* world, const icf_joint_def* def, icf_joint* joint);
ICF_API icf_result icf_joint_destroy(icf_world* world, icf_joint joint);
ICF_API int icf_joint_is_valid(const icf_world* world, icf_joint joint);
ICF_API icf_result icf_joint_get_def(const icf_world* world, icf_joint joint, icf_joint_def* def);
ICF_API icf_result icf_joint_set_def(icf_world* world, icf_joint joint, const icf_joint_def* def);
ICF_API icf_result icf_joint_get_state(const icf_world* world, icf_joint joint,
                                       icf_joint_state* state);
/* Arrays have as many numbers as the joint: positions 1, 4 (ball), 3 (planar), 2 (universal), 0 (weld);
   velocities 1, 3, 3, 2, 0. */
ICF_API icf_result icf_joint_set_position(icf_world* world, icf_joint joint,
                                          const icf_real* position);
ICF_API icf_result icf_joint_set_velocity(icf_world* world, icf_joint joint,
                                          const icf_real* velocity);
ICF_API icf_result icf_joint_set_target(icf_world* world, icf_joint joint, const icf_real* position,
                                        const icf_real* velocity, const icf_real* feedforward);
/* Efforts add up until the next step uses them. */
ICF_API icf_result icf_joint_apply_effort(icf_world* world, icf_joint joint,
                                          const icf_real* effort);

/* Constraints. Setting the def changes all but the kind. */
ICF_API icf_result icf_constraint_create(icf_world* world, const icf_constraint_def* def,
                                         icf_constraint* constraint);
ICF_API icf_result icf_constraint_destroy(icf_world* world, icf_constraint constraint);
ICF_API int icf_constraint_is_valid(const icf_world* world, icf_constraint constraint);
ICF_API icf_result icf_constraint_get_def(const icf_world* world, icf_constraint constraint,
                                          icf_constraint_def* def);
ICF_API icf_result icf_constraint_set_def(icf_world* world, icf_constraint constraint,
                                          const icf_constraint_def* def);
ICF_API icf_result icf_constraint_get_state(const icf_world* world, icf_constraint constraint,
                                            icf_constraint_state* state);

/* icf_default_surface, with the model of a world */
ICF_API icf_surface icf_world_default_surface(const icf_world* world);
ICF_API icf_touch icf_default_touch(void);

/* Touches of the next step: add them one by one, best those of a pair together, each with its surface. Or add
   a surface once, put its number into contact.surface of many touches, and add these with NULL. Both are
   arrays that you may edit until the step uses them up, or icf_world_clear_touches drops them. There is
   room for as many surfaces as touches. */
ICF_API icf_result icf_world_add_touch(icf_world* world, const icf_touch* touch,
                                       const icf_surface* surface);
ICF_API icf_result icf_world_add_surface(icf_world* world, const icf_surface* surface,
                                         int32_t* number);
ICF_API icf_touch* icf_world_touches(icf_world* world, int32_t* count);
ICF_API icf_surface* icf_world_surfaces(icf_world* world, int32_t* count);

/* Many touches at once, without a copy: you wrote so many at the place that the last call gave; it gives
   the next place, with room for *room touches, at least `needed`. Each is a changed copy of
   icf_default_touch, and names a surface. A place lasts until the next call that takes the world without
   const, icf_world_add_surface too. Errors: BAD_ARGUMENT (more written than there was room for), and those
   of icf_world_add_touch. */
ICF_API icf_result icf_world_write_touches(icf_world* world, int32_t written, int32_t needed,
                                           icf_touch** place, int32_t* room);
ICF_API void icf_world_clear_touches(icf_world* world);

/* Moves the world by dt, in s, above 0. Refusals leave everything as it was, touches too: BAD_ARGUMENT,
   BAD_STATE (a step in look_again), NOT_FINITE (also if the world would become so), NOT_SPD (the inertia of
   a tree), TOO_SMALL, and those of icf_solve. NOT_CONVERGED: a budget ended; the world has moved, by the
   best velocities found, and the stats say how good they are. TOO_FAST: the world has moved, but
   constraints did not follow. */
ICF_API icf_result icf_world_step(icf_world* world, icf_real dt);

/* The same, but the world stays where it is and keeps the touches; only results are as after the step. */
ICF_API icf_result icf_world_try(icf_world* world, icf_real dt);

/* Writes the problem that icf_world_step would solve now, in its first substep, as icf_problem_dump does,
   with the touches given so far: in a scene call it after icf_scene_detect. Of several problems, where
   constraints pull hard, it is the last. A clique is a tree that something acts on, in the order in which
   links read them; there may be none. The world stays as it is and keeps the touches; results of the last
   step are lost. Errors: those of icf_world_step until there is a problem, and those of icf_problem_dump. A
   problem that icf_solve refuses is written. */
ICF_API icf_result icf_world_dump_step(icf_world* world, icf_real dt, char* text, size_t capacity,
                                       size_t* length);

/* Results of the last step. BAD_STATE before a step, after one that failed, a load or a move, after a joint
   or a constraint was created, after a body, joint or constraint was destroyed, and after more bodies than
   there was room for. */
ICF_API icf_result icf_world_get_stats(const icf_world* world, icf_stats* stats);
ICF_API int32_t icf_world_touch_count(const icf_world* world);
ICF_API icf_result icf_world_get_touch(const icf_world* world, int32_t touch,
                                       icf_touch_result* result);
ICF_API const icf_event* icf_world_events(const icf_world* world, int32_t* count);
ICF_API icf_result icf_world_get_island(const icf_world* world, int32_t island, icf_island* result);
/* The island of a body in the last step, -1 if nothing touched its tree. */
ICF_API int32_t icf_body_island(const icf_world* world, icf_body body);

ICF_API icf_result icf_world_diagnose(const icf_world* world, icf_diagnosis* diagnosis);
ICF_API icf_real icf_world_time(const icf_world* world);
#endif /* ICF_NO_WORLD */

#ifdef __cplusplus
}
#endif

/* End of the declarations. Stop here if you only want to use the library. */
#endif /* ICF_H */

/* Let editors colour the implementation. */
#if !defined(ICF_IMPLEMENTATION) && (defined(__INTELLISENSE__) || defined(__JETBRAINS_IDE__))
#define ICF_IMPLEMENTATION
#endif

#if defined(ICF_IMPLEMENTATION) && (!defined(ICF_IMPLEMENTATION_DONE) || defined(ICFI_LAYER))

#ifndef ICFI_LAYER
#define ICF_IMPLEMENTATION_DONE

// ------------------------------------------------------------------------------------------------
// Layer 1: configuration of the implementation
// >>config
/* Offers to those below: ICFI_AND_FMA, ICFI_EPSILON, ICFI_FORCE_INLINE, ICFI_HOT, ICFI_MEMCMP, ICFI_MEMCPY,
   ICFI_MEMSET, ICFI_NOINLINE, ICFI_POISON, ICFI_REAL_MIN, ICFI_SIMD_AVX2, ICFI_SIMD_AVX512, ICFI_SIMD_GNU,
   ICFI_SIMD_SSE2, ICFI_TINY */

#if defined(__GNUC__) || defined(__clang__)
#define ICFI_FORCE_INLINE static inline __attribute__((always_inline))
#define ICFI_NOINLINE __attribute__((noinline)) /* inlining would add up the frames */
#if defined(__OPTIMIZE__) && (!defined(__i386__) || defined(__SSE2__))
#define ICFI_HOT ICFI_FORCE_INLINE
#else /* unoptimised, inlined variables share no room in a frame; i386 has too few registers */
#define ICFI_HOT static inline
#endif
#define ICFI_MEMCPY __builtin_memcpy
#define ICFI_MEMSET __builtin_memset
#define ICFI_MEMCMP __builtin_memcmp
#else
#include <string.h>
#define ICFI_NOINLINE
#define ICFI_HOT static inline
#ifdef _MSC_VER
#define ICFI_FORCE_INLINE static __forceinline
#else
#define ICFI_FORCE_INLINE static inline
#endif
#define ICFI_MEMCPY memcpy
#define ICFI_MEMSET memset
#define ICFI_MEMCMP memcmp
#endif

/* A pivot below ICFI_REAL_MIN has no usable reciprocal. The reciprocal of ICFI_TINY can even be squared. */
#ifdef ICF_FLOAT
#define ICFI_REAL_MIN FLT_MIN
#define ICFI_TINY ICF_R(1e-18)
#define ICFI_EPSILON FLT_EPSILON
#else
#define ICFI_REAL_MIN DBL_MIN
#define ICFI_TINY ICF_R(1e-150)
#define ICFI_EPSILON DBL_EPSILON
#endif

/* Vector instructions. The base kernels use the instructions that every machine of the target has: SSE2,
   NEON of 64-bit ARM, wasm SIMD, VSX. NEON of 32-bit ARM is left out because it flushes denormal numbers.
   Where the compiler can build single functions for another target, there are also kernels for AVX2, and
   for AVX-512 in the inmost loop of large factors. The machine is asked for these at run time. */
#if !defined(ICF_NO_SIMD) && !defined(__TINYC__)
#if defined(_MSC_VER) && (defined(_M_X64) || (defined(_M_IX86_FP) && _M_IX86_FP >= 2))
#define ICFI_SIMD_SSE2
#include <emmintrin.h>
#elif (defined(__GNUC__) || defined(__clang__)) && \
    (defined(__SSE2__) || defined(__aarch64__) || defined(__wasm_simd128__) || defined(__VSX__))
#define ICFI_SIMD_GNU
#if (defined(__x86_64__) || defined(__i386__)) && !defined(ICF_NO_AVX2)
#define ICFI_SIMD_AVX2
#if defined(__x86_64__) && !defined(ICF_FMA) && \
    (defined(__clang__) ? __clang_major__ >= 8 \
                        : __GNUC__ >= 8) /* these know the feature that icfi_widest asks for */
#define ICFI_SIMD_AVX512
#endif
#endif
#endif
#endif
#if defined(ICF_FMA) && defined(ICFI_SIMD_AVX2)
#include <immintrin.h>
#endif

/* The compiler's own vector types, aligned no more strictly than one number */
#ifdef ICFI_SIMD_GNU
typedef icf_real icfi_base_vector
    __attribute__((vector_size(16), aligned(sizeof(icf_real)), may_alias));
#endif
#ifdef ICFI_SIMD_AVX2
typedef icf_real icfi_wide_vector
    __attribute__((vector_size(32), aligned(sizeof(icf_real)), may_alias));
#endif
#ifdef ICFI_SIMD_AVX512
typedef icf_real icfi_widest_vector
    __attribute__((vector_size(64), aligned(sizeof(icf_real)), may_alias));
#endif
#ifdef ICF_FMA
#define ICFI_AND_FMA &&__builtin_cpu_supports("fma")
#else
#define ICFI_AND_FMA
#endif

#ifndef ICF_ASSERT
#define ICF_ASSERT(x) ((void)0)
#endif

#ifdef ICF_POISON
#define ICFI_POISON(memory, bytes) ICFI_MEMSET(memory, ICF_POISON, bytes)
#else
#define ICFI_POISON(memory, bytes) ((void)0)
#endif

#if defined(ICF_MALLOC) != defined(ICF_FREE)
#error "icf.h: define both ICF_MALLOC and ICF_FREE, or neither"
#endif
#if !defined(ICF_MALLOC) && !defined(ICF_NO_MALLOC)
#include <stdlib.h>
#define ICF_MALLOC(bytes) malloc(bytes)
#define ICF_FREE(pointer) free(pointer)
#endif

#ifdef __cplusplus
extern "C" {
#endif

ICFI_EXACT_BEGIN

ICF_API int32_t icf_version(void)
{
    return ICF_VERSION;
}

ICF_API const char* icf_result_string(icf_result result)
{
    switch (result) {
    case ICF_RESULT_OK: return "ok";
    case ICF_RESULT_BAD_ARGUMENT: return "bad argument";
    case ICF_RESULT_NOT_FINITE: return "not finite";
    case ICF_RESULT_NO_MEMORY: return "no memory";
    case ICF_RESULT_TOO_SMALL: return "too small";
    case ICF_RESULT_MISALIGNED: return "misaligned";
    case ICF_RESULT_OVERFLOW: return "overflow";
    case ICF_RESULT_NOT_SPD: return "not positive definite";
    case ICF_RESULT_NO_FACTOR: return "no factor";
    case ICF_RESULT_NOT_CONVERGED: return "not converged";
    case ICF_RESULT_TOO_FAST: return "too fast";
    case ICF_RESULT_BAD_STATE: return "bad state";
    case ICF_RESULT_NOT_SYMMETRIC: return "not symmetric";
    case ICF_RESULT_INFEASIBLE: return "infeasible";
    case ICF_RESULT_BAD_LAW: return "bad law";
    case ICF_RESULT_BAD_DEF: return "bad def";
    }
    return "unknown result";
}

// ------------------------------------------------------------------------------------------------
// Layer 3: memory. Every object of the library lives in one block. Its layout function runs twice:
// it first measures the block, then fills it. Both times it takes the same pieces in the same order
// from an arena, so the size reported is the size needed. Each piece is kept as an offset, so a
// block can be moved.
// >>memory
/* Offers to those below: icfi_arena, icfi_arena_measure, icfi_arena_over, icfi_arena_release,
   icfi_arena_take, ICFI_AT, ICFI_BLOCK_ALIGNMENT, ICFI_GRANULE, icfi_granules, ICFI_PIECE_OFFSET,
   ICFI_PIECE_POINT, ICFI_PIECE_POINTER, ICFI_PIECE_TAKE, icfi_plus, icfi_times */

/* Pieces start at multiples of this many bytes from the start of the block: one AVX2 register. */
#define ICFI_GRANULE ((size_t)32)

/* The alignment that a block must have; malloc gives at least this. */
#define ICFI_BLOCK_ALIGNMENT (sizeof(double) < 8 ? sizeof(double) : (size_t)8)

typedef struct icfi_arena {
    size_t used;       /* bytes taken so far */
    size_t peak;       /* the largest `used` so far: the size that the block must have */
    size_t capacity;   /* size of the block */
    icf_result result; /* the first failure */
} icfi_arena;

/* An arena for measuring: unlimited, with no memory behind it */
ICFI_UNUSED static icfi_arena icfi_arena_measure(void)
{
    icfi_arena arena;
    arena.used = 0;
    arena.peak = 0;
    arena.capacity = (size_t)-1;
    arena.result = ICF_RESULT_OK;
    return arena;
}

/* An arena over the caller's block */
ICFI_UNUSED static icfi_arena icfi_arena_over(const void* memory, size_t bytes)
{
    icfi_arena arena = icfi_arena_measure();
    arena.capacity = bytes;
    if (!memory) {
        arena.result = ICF_RESULT_BAD_ARGUMENT;
    } else if ((uintptr_t)memory % ICFI_BLOCK_ALIGNMENT) {
        arena.result = ICF_RESULT_MISALIGNED;
    }
    return arena;
}

/* Bytes rounded up to whole granules, as every piece is */
static size_t icfi_granules(size_t bytes)
{
    return (bytes + ICFI_GRANULE - 1) / ICFI_GRANULE * ICFI_GRANULE;
}

/* Takes `count` objects of `size` bytes and returns their offset. The first failure stays in `result` and
   later calls return 0, so a layout function can take all its pieces and check once. */
ICFI_UNUSED static size_t icfi_arena_take(icfi_arena* arena, size_t count, size_t size)
{
    size_t at = arena->used, bytes;
    if (arena->result != ICF_RESULT_OK) return 0;
    if (size && count > ((size_t)-1 - ICFI_GRANULE) / size) {
        arena->result = ICF_RESULT_OVERFLOW;
        return 0;
    }
    bytes = icfi_granules(count * size);
    if (bytes > arena->capacity - at) {
        arena->result = arena->capacity == (size_t)-1 ? ICF_RESULT_OVERFLOW : ICF_RESULT_TOO_SMALL;
        return 0;
    }
    arena->used = at + bytes;
    if (arena->peak < arena->used) arena->peak = arena->used;
    return at;
}

/* Sums and products of sizes, held at the largest size_t if they overflow. An arena answers a request of
   that size with ICF_RESULT_OVERFLOW. */
static size_t icfi_plus(size_t a, size_t b)
{
    return a > (size_t)-1 - b ? (size_t)-1 : a + b;
}

static size_t icfi_times(size_t a, size_t b)
{
    return b && a > (size_t)-1 / b ? (size_t)-1 : a * b;
}

/* For a list of pieces, a macro that calls `piece` with the type, name and count of each: members for their
   offsets and for pointers to them, taking them all, and pointing to them. */
// clang-format off
#define ICFI_PIECE_OFFSET(type, name, count) size_t name;
#define ICFI_PIECE_POINTER(type, name, count) type* name;
#define ICFI_PIECE_TAKE(type, name, count) at->name = icfi_arena_take(arena, count, sizeof(type));
#define ICFI_PIECE_POINT(type, name, count) to->name = ICFI_AT(type, memory, at->name);
#define ICFI_AT(type, memory, at) ((type*)(void*)((unsigned char*)(memory) + (at)))
// clang-format on

/* Gives back every piece taken since `used` was `mark`. */
ICFI_UNUSED static void icfi_arena_release(icfi_arena* arena, size_t mark)
{
    ICF_ASSERT(mark <= arena->used);
    arena->used = mark;
}

#endif /* ICFI_LAYER */

#ifdef ICFI_LAYER

// ------------------------------------------------------------------------------------------------
// Vectors, for layers 4 and 5
// >>vectors
/* Offers to those below: ICFI_ADD, ICFI_DUP, ICFI_K, ICFI_LANES, ICFI_LOAD, ICFI_MULSUB, ICFI_MULSUBV,
   ICFI_MULSUBY, ICFI_PUT, ICFI_STORE, ICFI_TARGET, ICFI_V */

/* This file includes itself, so it must keep its name. It makes the loops of layers 4 and 5 twice:
   once for the vectors that every machine of the target has, or for plain numbers, and once for AVX2
   (ICFI_WIDE 1). It makes the loop in which large factors spend their time a third time, for AVX-512
   (ICFI_WIDE 2).
   ICFI_MULSUB(c, a, s) is c - a s. Every lane is one entry of a matrix and has its own order of
   operations. */

#undef ICFI_K
#undef ICFI_V
#undef ICFI_TARGET
#undef ICFI_LANES
#undef ICFI_LOAD
#undef ICFI_STORE
#undef ICFI_ADD
#undef ICFI_MULSUB
#undef ICFI_MULSUBV
#undef ICFI_MULSUBY
#undef ICFI_DUP
#undef ICFI_PUT
#undef ICFI_DIVIDE3
#undef ICFI_DIVIDE6

#if ICFI_WIDE == 2
#define ICFI_K(name) name##_widest
#define ICFI_TARGET __attribute__((target("avx512f")))
#define ICFI_V icfi_widest_vector
#define ICFI_LOAD(p) (*(const icfi_widest_vector*)(p))
#define ICFI_STORE(p, v) (*(icfi_widest_vector*)(p) = (v))
#define ICFI_ADD(a, b) ((a) + (b))
#elif ICFI_WIDE
#define ICFI_K(name) name##_wide
#ifdef ICF_FMA
#define ICFI_TARGET __attribute__((target("avx2,fma")))
#else
#define ICFI_TARGET __attribute__((target("avx2")))
#endif
#define ICFI_V icfi_wide_vector
#define ICFI_LOAD(p) (*(const icfi_wide_vector*)(p))
#define ICFI_STORE(p, v) (*(icfi_wide_vector*)(p) = (v))
#define ICFI_ADD(a, b) ((a) + (b))
#elif defined(ICFI_SIMD_GNU)
#define ICFI_K(name) name##_base
#define ICFI_TARGET
#define ICFI_V icfi_base_vector
#define ICFI_LOAD(p) (*(const icfi_base_vector*)(p))
#define ICFI_STORE(p, v) (*(icfi_base_vector*)(p) = (v))
#define ICFI_ADD(a, b) ((a) + (b))
#elif defined(ICFI_SIMD_SSE2)
#define ICFI_K(name) name##_base
#define ICFI_TARGET
#ifdef ICF_FLOAT
#define ICFI_V __m128
#define ICFI_LOAD(p) _mm_loadu_ps(p)
#define ICFI_STORE(p, v) _mm_storeu_ps(p, v)
#define ICFI_ADD(a, b) _mm_add_ps(a, b)
#define ICFI_MULSUB(c, a, s) _mm_sub_ps(c, _mm_mul_ps(a, _mm_set1_ps(s)))
#define ICFI_MULSUBV(c, a, b) _mm_sub_ps(c, _mm_mul_ps(a, b))
#else
#define ICFI_V __m128d
#define ICFI_LOAD(p) _mm_loadu_pd(p)
#define ICFI_STORE(p, v) _mm_storeu_pd(p, v)
#define ICFI_ADD(a, b) _mm_add_pd(a, b)
#define ICFI_MULSUB(c, a, s) _mm_sub_pd(c, _mm_mul_pd(a, _mm_set1_pd(s)))
#define ICFI_MULSUBV(c, a, b) _mm_sub_pd(c, _mm_mul_pd(a, b))
#endif
#else
#define ICFI_K(name) name##_base
#define ICFI_TARGET
#define ICFI_V icf_real
#define ICFI_LOAD(p) (*(p))
#define ICFI_STORE(p, v) (*(p) = (v))
#define ICFI_ADD(a, b) ((a) + (b))
#define ICFI_MULSUB(c, a, s) ((c) - (a) * (s))
#define ICFI_MULSUBV(c, a, b) ((c) - (a) * (b))
#endif

#ifndef ICFI_MULSUB
#if ICFI_WIDE && defined(ICF_FMA) && defined(ICF_FLOAT)
#define ICFI_MULSUB(c, a, s) ((ICFI_V)_mm256_fnmadd_ps((__m256)(a), _mm256_set1_ps(s), (__m256)(c)))
#define ICFI_MULSUBV(c, a, b) ((ICFI_V)_mm256_fnmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#elif ICFI_WIDE && defined(ICF_FMA)
#define ICFI_MULSUB(c, a, s) \
    ((ICFI_V)_mm256_fnmadd_pd((__m256d)(a), _mm256_set1_pd(s), (__m256d)(c)))
#define ICFI_MULSUBV(c, a, b) ((ICFI_V)_mm256_fnmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define ICFI_MULSUB(c, a, s) ((c) - (a) * (s))
#define ICFI_MULSUBV(c, a, b) ((c) - (a) * (b))
#endif
#endif
#define ICFI_LANES ((int32_t)(sizeof(ICFI_V) / sizeof(icf_real)))

/* ICFI_MULSUBY(c, a, y, q) is c - a y_q, where y is a packed row. With narrow vectors (SSE2), spreading one
   number over all lanes takes more than a load. There y holds each number once per lane, ICFI_DUP times,
   and ICFI_PUT writes it so. */
#if !ICFI_WIDE && (defined(ICFI_SIMD_GNU) || defined(ICFI_SIMD_SSE2))
#define ICFI_DUP ICFI_DUP_MOST
#define ICFI_MULSUBY(c, a, y, q) ICFI_MULSUBV(c, a, ICFI_LOAD((y) + (q)*ICFI_DUP))
#ifdef ICF_FLOAT
#define ICFI_PUT(y, q, v) \
    ((y)[4 * (q)] = (y)[4 * (q) + 1] = (y)[4 * (q) + 2] = (y)[4 * (q) + 3] = (v))
#else
#define ICFI_PUT(y, q, v) ((y)[2 * (q)] = (y)[2 * (q) + 1] = (v))
#endif
#else
#define ICFI_DUP 1
#define ICFI_MULSUBY(c, a, y, q) ICFI_MULSUB(c, a, (y)[q])
#define ICFI_PUT(y, q, v) ((y)[q] = (v))
#endif

#endif /* ICFI_LAYER */

// ------------------------------------------------------------------------------------------------
// Layer 4: dense Cholesky
// >>dense
/* Offers to those below: icfi_backward, icfi_block3, icfi_delassus, icfi_forward, icfi_good_pivot,
   ICFI_LAYER, icfi_outer, ICFI_PAD, icfi_panel_factor, icfi_product, ICFI_SMALL, ICFI_STRIP, ICFI_WIDE,
   ICFI_WIDEST, ICFI_WIDEST_END */

/* A = L D L', L unit lower triangular, D diagonal: Cholesky without square roots. Their absence
   halves the chain of slow operations of a 6 x 6 block. W = L D is stored below the diagonal and 1/D on
   it, because the recurrence makes W and reads W again:

       w_ij = a_ij - sum_k<j w_ik l_jk      l_jk = w_jk (1/d_k)      d_j = w_jj

   Every entry is computed by these subtractions, one after another in ascending k, whatever the
   blocking and the number of entries in a vector. So all paths give the bits of the plain triple
   loop. (ICF_FMA is the exception: it rounds a product and a subtraction once.)

   The work is done on panels of 6 columns, then 3, then 1 for the remainder. The kernels hold two
   vectors of rows by six columns in registers: this shape fits 16 registers and a body of 6
   unknowns. */

#ifndef ICFI_LAYER

/* Storage is padded to whole AVX2 vectors (32 bytes), whatever the machine turns out to have. */
#if defined(ICFI_SIMD_GNU) || defined(ICFI_SIMD_SSE2)
#define ICFI_PAD ((int32_t)(32 / sizeof(icf_real)))
#else
#define ICFI_PAD 1
#endif

/* How often the kernels of the narrow vectors repeat a number of the right-hand factor: once per lane */
#if defined(ICFI_SIMD_GNU) || defined(ICFI_SIMD_SSE2)
#define ICFI_DUP_MOST ((int32_t)(16 / sizeof(icf_real)))
#else
#define ICFI_DUP_MOST 1
#endif

/* Columns per strip of a front, a multiple of 24 so that strips begin where vectors do. A strip of the
   right-hand factor takes ICFI_SMALL numbers. */
#define ICFI_STRIP 96
#define ICFI_SMALL (6 * ICFI_STRIP * ICFI_DUP_MOST)

/* A sum over a column consists of this many interleaved sums, on every machine. */
#define ICFI_SUMS ((int32_t)(32 / sizeof(icf_real)))

/* The width of the next panel when `cols` columns are left */
static int32_t icfi_panel_width(int32_t cols)
{
    return cols >= 6 ? 6 : cols >= 3 ? 3 : 1;
}

/* Saves, or puts back, the caller's entries above the diagonal of a t x t block. */
ICFI_FORCE_INLINE void icfi_copy_above(int32_t t, icf_real* a, ptrdiff_t ld, icf_real* copy,
                                       int save)
{
    int32_t i, j, k = 0;
    for (j = 1; j < t; j++) {
        for (i = 0; i < j; i++, k++) {
            if (save) {
                copy[k] = a[i + j * ld];
            } else {
                a[i + j * ld] = copy[k];
            }
        }
    }
}

static int icfi_good_pivot(icf_real d)
{
    return d >= ICFI_REAL_MIN && d <= ICF_REAL_MAX;
}

/* The first of t pivots that is not good, or -1. A NaN pivot makes all later pivots NaN, so the last one
   shows it. The comparisons below keep a NaN only if they meet it last. */
ICFI_FORCE_INLINE int32_t icfi_first_bad(int32_t t, const icf_real* d)
{
    icf_real least = d[0], most = d[0];
    int32_t i = 0;
    least = least < d[1] ? least : d[1];
    most = most > d[1] ? most : d[1];
    least = least < d[2] ? least : d[2];
    most = most > d[2] ? most : d[2];
    if (t == 6) {
        least = least < d[3] ? least : d[3];
        most = most > d[3] ? most : d[3];
        least = least < d[4] ? least : d[4];
        most = most > d[4] ? most : d[4];
        least = least < d[5] ? least : d[5];
        most = most > d[5] ? most : d[5];
    }
    if (least >= ICFI_REAL_MIN && most <= ICF_REAL_MAX) return -1;
    while (i < t - 1 && icfi_good_pivot(d[i])) i++;
    return i;
}

/* L (by rows, without its diagonal) and 1/d of a 6 x 6 block, unrolled; with `store` the block
   becomes W. */
ICFI_FORCE_INLINE int32_t icfi_block6(icf_real* a, ptrdiff_t ld, icf_real* l, icf_real* r,
                                      int store)
{
    icf_real *a1 = a + ld, *a2 = a1 + ld, *a3 = a2 + ld, *a4 = a3 + ld, *a5 = a4 + ld;
    icf_real w10 = a[1], w20 = a[2], w30 = a[3], w40 = a[4], w50 = a[5];
    icf_real w21, w31, w41, w51, w32, w42, w52, w43, w53, w54, d[6];
    int32_t bad;
    d[0] = a[0];
    r[0] = 1 / d[0];
    l[0] = w10 * r[0];
    l[1] = w20 * r[0];
    l[3] = w30 * r[0];
    l[6] = w40 * r[0];
    l[10] = w50 * r[0];
    d[1] = a1[1] - w10 * l[0];
    r[1] = 1 / d[1];
    w21 = a1[2] - w20 * l[0];
    w31 = a1[3] - w30 * l[0];
    w41 = a1[4] - w40 * l[0];
    w51 = a1[5] - w50 * l[0];
    l[2] = w21 * r[1];
    l[4] = w31 * r[1];
    l[7] = w41 * r[1];
    l[11] = w51 * r[1];
    d[2] = a2[2] - w20 * l[1] - w21 * l[2];
    r[2] = 1 / d[2];
    w32 = a2[3] - w30 * l[1] - w31 * l[2];
    w42 = a2[4] - w40 * l[1] - w41 * l[2];
    w52 = a2[5] - w50 * l[1] - w51 * l[2];
    l[5] = w32 * r[2];
    l[8] = w42 * r[2];
    l[12] = w52 * r[2];
    d[3] = a3[3] - w30 * l[3] - w31 * l[4] - w32 * l[5];
    r[3] = 1 / d[3];
    w43 = a3[4] - w40 * l[3] - w41 * l[4] - w42 * l[5];
    w53 = a3[5] - w50 * l[3] - w51 * l[4] - w52 * l[5];
    l[9] = w43 * r[3];
    l[13] = w53 * r[3];
    d[4] = a4[4] - w40 * l[6] - w41 * l[7] - w42 * l[8] - w43 * l[9];
    r[4] = 1 / d[4];
    w54 = a4[5] - w50 * l[6] - w51 * l[7] - w52 * l[8] - w53 * l[9];
    l[14] = w54 * r[4];
    d[5] = a5[5] - w50 * l[10] - w51 * l[11] - w52 * l[12] - w53 * l[13] - w54 * l[14];
    r[5] = 1 / d[5];
    bad = icfi_first_bad(6, d);
    if (store && bad < 0) {
        a[0] = r[0];
        a1[1] = r[1], a1[2] = w21, a1[3] = w31, a1[4] = w41, a1[5] = w51;
        a2[2] = r[2], a2[3] = w32, a2[4] = w42, a2[5] = w52;
        a3[3] = r[3], a3[4] = w43, a3[5] = w53;
        a4[4] = r[4], a4[5] = w54;
        a5[5] = r[5];
    }
    return bad;
}

/* The same for 3 x 3 */
ICFI_FORCE_INLINE int32_t icfi_block3(icf_real* a, ptrdiff_t ld, icf_real* l, icf_real* r,
                                      int store)
{
    icf_real *a1 = a + ld, *a2 = a1 + ld, w10 = a[1], w20 = a[2], w21, d[3];
    int32_t bad;
    d[0] = a[0];
    r[0] = 1 / d[0];
    l[0] = w10 * r[0];
    l[1] = w20 * r[0];
    d[1] = a1[1] - w10 * l[0];
    r[1] = 1 / d[1];
    w21 = a1[2] - w20 * l[0];
    l[2] = w21 * r[1];
    d[2] = a2[2] - w20 * l[1] - w21 * l[2];
    r[2] = 1 / d[2];
    bad = icfi_first_bad(3, d);
    if (store && bad < 0) {
        a[0] = r[0];
        a1[1] = r[1];
        a1[2] = w21;
        a2[2] = r[2];
    }
    return bad;
}

ICFI_FORCE_INLINE int32_t icfi_block(int32_t t, icf_real* a, ptrdiff_t ld, icf_real* l, icf_real* r,
                                     int store)
{
    if (t == 6) return icfi_block6(a, ld, l, r, store);
    if (t == 3) return icfi_block3(a, ld, l, r, store);
    r[0] = 1 / a[0];
    if (!icfi_good_pivot(a[0])) return 0;
    if (store) a[0] = r[0];
    return -1;
}

/* y = L^-1 v for a 6 x 6 block of W, stored as y/d in y and v */
ICFI_FORCE_INLINE void icfi_block6_forward(const icf_real* a, ptrdiff_t ld, icf_real* v,
                                           icf_real* y)
{
    const icf_real *a1 = a + ld, *a2 = a1 + ld, *a3 = a2 + ld, *a4 = a3 + ld, *a5 = a4 + ld;
    icf_real y0 = v[0] * a[0], y1, y2, y3, y4;
    y1 = (v[1] - a[1] * y0) * a1[1];
    y2 = (v[2] - a[2] * y0 - a1[2] * y1) * a2[2];
    y3 = (v[3] - a[3] * y0 - a1[3] * y1 - a2[3] * y2) * a3[3];
    y4 = (v[4] - a[4] * y0 - a1[4] * y1 - a2[4] * y2 - a3[4] * y3) * a4[4];
    y[5] = (v[5] - a[5] * y0 - a1[5] * y1 - a2[5] * y2 - a3[5] * y3 - a4[5] * y4) * a5[5];
    v[0] = y[0] = y0;
    v[1] = y[1] = y1;
    v[2] = y[2] = y2;
    v[3] = y[3] = y3;
    v[4] = y[4] = y4;
    v[5] = y[5];
}

/* v += (1/d) (sum - (W - d)' v) for a 6 x 6 block, from the last row up */
ICFI_FORCE_INLINE void icfi_block6_backward(const icf_real* a, ptrdiff_t ld, const icf_real* sum,
                                            icf_real* v)
{
    const icf_real *a1 = a + ld, *a2 = a1 + ld, *a3 = a2 + ld, *a4 = a3 + ld, *a5 = a4 + ld;
    icf_real v5 = v[5] + a5[5] * sum[5];
    icf_real v4 = v[4] + a4[4] * (sum[4] - a4[5] * v5);
    icf_real v3 = v[3] + a3[3] * (sum[3] - a3[5] * v5 - a3[4] * v4);
    icf_real v2 = v[2] + a2[2] * (sum[2] - a2[5] * v5 - a2[4] * v4 - a2[3] * v3);
    icf_real v1 = v[1] + a1[1] * (sum[1] - a1[5] * v5 - a1[4] * v4 - a1[3] * v3 - a1[2] * v2);
    v[0] += a[0] * (sum[0] - a[5] * v5 - a[4] * v4 - a[3] * v3 - a[2] * v2 - a[1] * v1);
    v[1] = v1;
    v[2] = v2;
    v[3] = v3;
    v[4] = v4;
    v[5] = v5;
}

#endif

#if defined(ICFI_LAYER) && \
    ICFI_LAYER == 4 /* this file, included by itself: the kernels for one width of vectors */

#if ICFI_WIDE < 2
/* Packs rows of L into y(k x t) in the order in which the kernels read them: for each of k columns of W, t
   rows times 1/d. Each number is written ICFI_DUP times. */
ICFI_TARGET ICFI_FORCE_INLINE void ICFI_K(icfi_pack)(int32_t t, int32_t k, const icf_real* w,
                                                     ptrdiff_t ld, const icf_real* inverse,
                                                     icf_real* y)
{
    for (; k > 0; k--, w += ld, inverse += ld + 1, y += t * ICFI_DUP) {
        icf_real r = *inverse;
        ICFI_PUT(y, 0, w[0] * r);
        if (t == 1) continue;
        ICFI_PUT(y, 1, w[1] * r);
        ICFI_PUT(y, 2, w[2] * r);
        if (t == 3) continue;
        ICFI_PUT(y, 3, w[3] * r);
        ICFI_PUT(y, 4, w[4] * r);
        ICFI_PUT(y, 5, w[5] * r);
    }
}
#endif

/* a := a l'^-1 for the columns a0, a1, a2, and a3, a4, a5, where l is a unit lower triangle without its
   diagonal, by rows */
#define ICFI_DIVIDE3(a) \
    a##1 = ICFI_MULSUB(a##1, a##0, l[0]); \
    a##2 = ICFI_MULSUB(ICFI_MULSUB(a##2, a##0, l[1]), a##1, l[2]);
#define ICFI_DIVIDE6(a) \
    ICFI_DIVIDE3(a) \
    a##3 = ICFI_MULSUB(ICFI_MULSUB(ICFI_MULSUB(a##3, a##0, l[3]), a##1, l[4]), a##2, l[5]); \
    a##4 = ICFI_MULSUB(ICFI_MULSUB(a##4, a##0, l[6]), a##1, l[7]); \
    a##4 = ICFI_MULSUB(ICFI_MULSUB(a##4, a##2, l[8]), a##3, l[9]); \
    a##5 = ICFI_MULSUB(ICFI_MULSUB(ICFI_MULSUB(a##5, a##0, l[10]), a##1, l[11]), a##2, l[12]); \
    a##5 = ICFI_MULSUB(ICFI_MULSUB(a##5, a##3, l[13]), a##4, l[14]);

/* c(rows x 6) -= x(rows x k) y(k x 6), from zero instead of c if `fresh`. If l is given, c then becomes
   c l'^-1, where l is a unit lower triangle of 6 columns. rows is a multiple of ICFI_LANES. */
ICFI_TARGET static void ICFI_K(icfi_rows6)(int32_t rows, int32_t k, const icf_real* x,
                                           ptrdiff_t ldx, const icf_real* y, icf_real* c,
                                           ptrdiff_t ldc, int fresh, const icf_real* l)
{
    const ICFI_V zero = {0};
    icf_real* c0 = c;
    for (; rows >= 2 * ICFI_LANES;
         rows -= 2 * ICFI_LANES, x += 2 * ICFI_LANES, c0 += 2 * ICFI_LANES) {
        icf_real *c1 = c0 + ldc, *c2 = c1 + ldc, *c3 = c2 + ldc, *c4 = c3 + ldc, *c5 = c4 + ldc;
        const icf_real *xk = x, *yk = y;
        ICFI_V a0, a1, a2, a3, a4, a5, b0, b1, b2, b3, b4, b5;
        int32_t n = k;
        if (fresh) {
            a0 = a1 = a2 = a3 = a4 = a5 = b0 = b1 = b2 = b3 = b4 = b5 = zero;
        } else {
            a0 = ICFI_LOAD(c0), b0 = ICFI_LOAD(c0 + ICFI_LANES);
            a1 = ICFI_LOAD(c1), b1 = ICFI_LOAD(c1 + ICFI_LANES);
            a2 = ICFI_LOAD(c2), b2 = ICFI_LOAD(c2 + ICFI_LANES);
            a3 = ICFI_LOAD(c3), b3 = ICFI_LOAD(c3 + ICFI_LANES);
            a4 = ICFI_LOAD(c4), b4 = ICFI_LOAD(c4 + ICFI_LANES);
            a5 = ICFI_LOAD(c5), b5 = ICFI_LOAD(c5 + ICFI_LANES);
        }
        for (; n > 0; n--, xk += ldx, yk += 6 * ICFI_DUP) {
            ICFI_V p = ICFI_LOAD(xk), q = ICFI_LOAD(xk + ICFI_LANES);
            a0 = ICFI_MULSUBY(a0, p, yk, 0), b0 = ICFI_MULSUBY(b0, q, yk, 0);
            a1 = ICFI_MULSUBY(a1, p, yk, 1), b1 = ICFI_MULSUBY(b1, q, yk, 1);
            a2 = ICFI_MULSUBY(a2, p, yk, 2), b2 = ICFI_MULSUBY(b2, q, yk, 2);
            a3 = ICFI_MULSUBY(a3, p, yk, 3), b3 = ICFI_MULSUBY(b3, q, yk, 3);
            a4 = ICFI_MULSUBY(a4, p, yk, 4), b4 = ICFI_MULSUBY(b4, q, yk, 4);
            a5 = ICFI_MULSUBY(a5, p, yk, 5), b5 = ICFI_MULSUBY(b5, q, yk, 5);
        }
        if (l) {
            ICFI_DIVIDE6(a)
            ICFI_DIVIDE6(b)
        }
        ICFI_STORE(c0, a0), ICFI_STORE(c0 + ICFI_LANES, b0);
        ICFI_STORE(c1, a1), ICFI_STORE(c1 + ICFI_LANES, b1);
        ICFI_STORE(c2, a2), ICFI_STORE(c2 + ICFI_LANES, b2);
        ICFI_STORE(c3, a3), ICFI_STORE(c3 + ICFI_LANES, b3);
        ICFI_STORE(c4, a4), ICFI_STORE(c4 + ICFI_LANES, b4);
        ICFI_STORE(c5, a5), ICFI_STORE(c5 + ICFI_LANES, b5);
    }
    if (rows) { /* one vector of rows is left */
        icf_real *c1 = c0 + ldc, *c2 = c1 + ldc, *c3 = c2 + ldc, *c4 = c3 + ldc, *c5 = c4 + ldc;
        ICFI_V a0, a1, a2, a3, a4, a5;
        if (fresh) {
            a0 = a1 = a2 = a3 = a4 = a5 = zero;
        } else {
            a0 = ICFI_LOAD(c0), a1 = ICFI_LOAD(c1), a2 = ICFI_LOAD(c2);
            a3 = ICFI_LOAD(c3), a4 = ICFI_LOAD(c4), a5 = ICFI_LOAD(c5);
        }
        for (; k > 0; k--, x += ldx, y += 6 * ICFI_DUP) {
            ICFI_V p = ICFI_LOAD(x);
            a0 = ICFI_MULSUBY(a0, p, y, 0), a1 = ICFI_MULSUBY(a1, p, y, 1),
            a2 = ICFI_MULSUBY(a2, p, y, 2);
            a3 = ICFI_MULSUBY(a3, p, y, 3), a4 = ICFI_MULSUBY(a4, p, y, 4),
            a5 = ICFI_MULSUBY(a5, p, y, 5);
        }
        if (l) {
            ICFI_DIVIDE6(a)
        }
        ICFI_STORE(c0, a0), ICFI_STORE(c1, a1), ICFI_STORE(c2, a2);
        ICFI_STORE(c3, a3), ICFI_STORE(c4, a4), ICFI_STORE(c5, a5);
    }
}

#if ICFI_WIDE < 2
/* The same for 3 columns */
ICFI_TARGET static void ICFI_K(icfi_rows3)(int32_t rows, int32_t k, const icf_real* x,
                                           ptrdiff_t ldx, const icf_real* y, icf_real* c,
                                           ptrdiff_t ldc, int fresh, const icf_real* l)
{
    const ICFI_V zero = {0};
    for (; rows >= 2 * ICFI_LANES;
         rows -= 2 * ICFI_LANES, x += 2 * ICFI_LANES, c += 2 * ICFI_LANES) {
        icf_real *c1 = c + ldc, *c2 = c1 + ldc;
        const icf_real *xk = x, *yk = y;
        ICFI_V a0, a1, a2, b0, b1, b2;
        int32_t n = k;
        if (fresh) {
            a0 = a1 = a2 = b0 = b1 = b2 = zero;
        } else {
            a0 = ICFI_LOAD(c), b0 = ICFI_LOAD(c + ICFI_LANES);
            a1 = ICFI_LOAD(c1), b1 = ICFI_LOAD(c1 + ICFI_LANES);
            a2 = ICFI_LOAD(c2), b2 = ICFI_LOAD(c2 + ICFI_LANES);
        }
        for (; n > 0; n--, xk += ldx, yk += 3 * ICFI_DUP) {
            ICFI_V p = ICFI_LOAD(xk), q = ICFI_LOAD(xk + ICFI_LANES);
            a0 = ICFI_MULSUBY(a0, p, yk, 0), b0 = ICFI_MULSUBY(b0, q, yk, 0);
            a1 = ICFI_MULSUBY(a1, p, yk, 1), b1 = ICFI_MULSUBY(b1, q, yk, 1);
            a2 = ICFI_MULSUBY(a2, p, yk, 2), b2 = ICFI_MULSUBY(b2, q, yk, 2);
        }
        if (l) {
            ICFI_DIVIDE3(a)
            ICFI_DIVIDE3(b)
        }
        ICFI_STORE(c, a0), ICFI_STORE(c + ICFI_LANES, b0);
        ICFI_STORE(c1, a1), ICFI_STORE(c1 + ICFI_LANES, b1);
        ICFI_STORE(c2, a2), ICFI_STORE(c2 + ICFI_LANES, b2);
    }
    if (rows) {
        icf_real *c1 = c + ldc, *c2 = c1 + ldc;
        ICFI_V a0, a1, a2;
        if (fresh) {
            a0 = a1 = a2 = zero;
        } else {
            a0 = ICFI_LOAD(c), a1 = ICFI_LOAD(c1), a2 = ICFI_LOAD(c2);
        }
        for (; k > 0; k--, x += ldx, y += 3 * ICFI_DUP) {
            ICFI_V p = ICFI_LOAD(x);
            a0 = ICFI_MULSUBY(a0, p, y, 0), a1 = ICFI_MULSUBY(a1, p, y, 1),
            a2 = ICFI_MULSUBY(a2, p, y, 2);
        }
        if (l) {
            ICFI_DIVIDE3(a)
        }
        ICFI_STORE(c, a0), ICFI_STORE(c1, a1), ICFI_STORE(c2, a2);
    }
}

/* The same for one column, where there is no triangle to divide by */
ICFI_TARGET static void ICFI_K(icfi_rows1)(int32_t rows, int32_t k, const icf_real* x,
                                           ptrdiff_t ldx, const icf_real* y, icf_real* c, int fresh)
{
    const ICFI_V zero = {0};
    for (; rows > 0; rows -= ICFI_LANES, x += ICFI_LANES, c += ICFI_LANES) {
        const icf_real *xk = x, *yk = y;
        ICFI_V a = fresh ? zero : ICFI_LOAD(c);
        int32_t n = k;
        for (; n > 0; n--, xk += ldx, yk += ICFI_DUP) {
            ICFI_V v = ICFI_LOAD(xk);
            a = ICFI_MULSUBY(a, v, yk, 0);
        }
        ICFI_STORE(c, a);
    }
}

/* The kernel for a panel of `cols` columns, 6, 3 or 1 */
ICFI_TARGET static void ICFI_K(icfi_vectors)(int32_t cols, int32_t rows, int32_t k,
                                             const icf_real* x, ptrdiff_t ldx, const icf_real* y,
                                             icf_real* c, ptrdiff_t ldc, int fresh,
                                             const icf_real* l)
{
#if ICFI_WIDE && defined(ICFI_SIMD_AVX512)
    int32_t most = rows - rows % (2 * ICFI_LANES);
    if (cols == 6 && most >= 4 * ICFI_LANES && icfi_widest()) {
        icfi_rows6_widest(most, k, x, ldx, y, c, ldc, fresh, l);
        if (most < rows) {
            ICFI_K(icfi_rows6)(rows - most, k, x + most, ldx, y, c + most, ldc, fresh, l);
        }
        return;
    }
#endif
    if (cols == 6) {
        ICFI_K(icfi_rows6)(rows, k, x, ldx, y, c, ldc, fresh, l);
    } else if (cols == 3) {
        ICFI_K(icfi_rows3)(rows, k, x, ldx, y, c, ldc, fresh, l);
    } else {
        ICFI_K(icfi_rows1)(rows, k, x, ldx, y, c, fresh);
    }
}

/* The same for any number of rows. The last rows, fewer than a vector, go through a buffer, so that nothing
   below them in c is written. x is read up to one vector below them. */
ICFI_TARGET static void ICFI_K(icfi_rows)(int32_t cols, int32_t rows, int32_t k, const icf_real* x,
                                          ptrdiff_t ldx, const icf_real* y, icf_real* c,
                                          ptrdiff_t ldc, int fresh, const icf_real* l)
{
    int32_t rest = rows % ICFI_LANES, i, j;
    rows -= rest;
    if (rows) ICFI_K(icfi_vectors)(cols, rows, k, x, ldx, y, c, ldc, fresh, l);
    if (rest) {
        icf_real buffer[6 * ICFI_LANES];
        c += rows;
        for (j = 0; j < cols; j++)
            for (i = 0; i < ICFI_LANES; i++)
                buffer[i + j * ICFI_LANES] = i < rest ? c[i + j * ldc] : 0;
        ICFI_K(icfi_vectors)(cols, ICFI_LANES, k, x + rows, ldx, y, buffer, ICFI_LANES, fresh, l);
        for (j = 0; j < cols; j++)
            for (i = 0; i < rest; i++) c[i + j * ldc] = buffer[i + j * ICFI_LANES];
    }
}

/* How many of the k columns of w begin with t zeros, before the first that does not */
ICFI_FORCE_INLINE int32_t ICFI_K(icfi_zeros)(int32_t t, int32_t k, const icf_real* w, ptrdiff_t ld)
{
    int32_t n, i;
    for (n = 0; n < k; n++, w += ld) {
        for (i = 0; i < t; i++)
            if (w[i] != 0) return n;
    }
    return n;
}

/* Subtracts x diag(1/d) x' from the lower triangle of c(n x n), over k columns x of W. With W = L D this is
   L D L'. `inverse` points to 1/d of the first column; the next ones follow along the diagonal. */
ICFI_TARGET static void ICFI_K(icfi_outer)(int32_t n, int32_t rows, int32_t k, const icf_real* x,
                                           ptrdiff_t ldx, const icf_real* inverse, icf_real* c,
                                           ptrdiff_t ldc, int fresh, int padded, icf_real* y)
{
    int32_t j = 0;
    while (j < n) {
        int32_t t = icfi_panel_width(n - j), from = padded ? j - j % ICFI_LANES : j;
        int32_t zeros = ICFI_K(icfi_zeros)(t, k, x + j, ldx);
        const icf_real* left = x + zeros * ldx;
        icf_real* cj = c + j * ldc;
        icf_real above[15];
        if (!padded) icfi_copy_above(t, cj + j, ldc, above, 1);
        ICFI_K(icfi_pack)(t, k - zeros, left + j, ldx, inverse + zeros * (ldx + 1), y);
        ICFI_K(icfi_rows)
        (t, rows - from, k - zeros, left + from, ldx, y, cj + from, ldc, fresh, NULL);
        if (!padded) icfi_copy_above(t, cj + j, ldc, above, 0);
        j += t;
    }
}

/* Factors the first `cols` columns of the lower trapezoid a of `height` rows, in place. With `padded`,
   `rows` and ld are `height` rounded up to whole vectors, and the entries above the diagonal are scratch.
   Without it, rows is height, and only the trapezoid is written. y is scratch of `room` numbers. Returns
   the first bad pivot, or -1.

   Strips of columns are as deep as y has room for. Inside a strip, each panel of 6 first receives the
   subtractions of the panels to its left, but for those that begin with zeros in its rows: a branch takes
   nothing from another. A finished strip is subtracted from all columns to its right. */
ICFI_TARGET ICFI_NOINLINE static int32_t ICFI_K(icfi_panel_factor)(int32_t height, int32_t rows,
                                                                   int32_t cols, icf_real* a,
                                                                   ptrdiff_t ld, int padded,
                                                                   icf_real* y, int32_t room)
{
    int32_t strip, j, depth = room / (6 * ICFI_DUP);
    if (depth > ICFI_STRIP) depth = ICFI_STRIP;
    for (strip = 0; strip < cols; strip += depth) {
        int32_t end = cols - strip < depth ? cols : strip + depth;
        const icf_real* x = a + strip * ld;
        for (j = strip; j < end;) {
            int32_t t = icfi_panel_width(end - j), bad,
                    zeros = ICFI_K(icfi_zeros)(t, j - strip, x + j, ld), k = j - strip - zeros;
            const icf_real* left = x + zeros * ld;
            int32_t from = padded ? j - j % ICFI_LANES : j, to;
            icf_real l[15], inverse[6], above[15];
            icf_real* c = a + j * ld;

            /* rows `from` to `to` share vectors with the diagonal block; with nothing to the left, take all
               rows */
            to = from + (j + t - from + ICFI_LANES - 1) / ICFI_LANES * ICFI_LANES;
            if (to > rows || !k) to = rows;
            if (!padded) icfi_copy_above(t, c + j, ld, above, 1);
            if (k) {
                ICFI_K(icfi_pack)(t, k, left + j, ld, left + strip + zeros, y);
                ICFI_K(icfi_rows)(t, to - from, k, left + from, ld, y, c + from, ld, 0, NULL);
            }

            /* factor the diagonal block; the kernel repeats it, to the bit, together with the rows below */
            bad = icfi_block(t, c + j, ld, l, inverse, j + t == height);
            if (bad >= 0) {
                if (!padded) icfi_copy_above(t, c + j, ld, above, 0);
                return j + bad;
            }
            if (j + t < height) {
                ICFI_K(icfi_rows)(t, to - from, 0, x, ld, y, c + from, ld, 0, l);
                if (to < rows)
                    ICFI_K(icfi_rows)(t, rows - to, k, left + to, ld, y, c + to, ld, 0, l);
                for (k = 0; k < t; k++) c[j + k + k * ld] = inverse[k];
            }
            if (!padded) icfi_copy_above(t, c + j, ld, above, 0);
            j += t;
        }
        if (end < cols) {
            ICFI_K(icfi_outer)
            (cols - end, rows - end, end - strip, x + end, ld, x + strip, a + end + end * ld, ld, 0,
             padded, y);
        }
    }
    return -1;
}

#if !ICFI_WIDE
/* y += M' (x0, x1, x2), where M is three rows of n numbers and n is too small for the widest vectors */
ICFI_FORCE_INLINE void icfi_add_three(int32_t n, const icf_real* m, icf_real x0, icf_real x1,
                                      icf_real x2, icf_real* y)
{
    const icf_real *second = m + n, *third = second + n;
    int32_t i;
    x0 = -x0;
    x1 = -x1;
    x2 = -x2;
    for (i = 0; i + ICFI_LANES <= n; i += ICFI_LANES) {
        ICFI_V v = ICFI_MULSUB(ICFI_LOAD(y + i), ICFI_LOAD(m + i), x0);
        v = ICFI_MULSUB(ICFI_MULSUB(v, ICFI_LOAD(second + i), x1), ICFI_LOAD(third + i), x2);
        ICFI_STORE(y + i, v);
    }
    for (; i < n; i++) y[i] = y[i] - m[i] * x0 - second[i] * x1 - third[i] * x2;
}
#endif

/* sum - X' f, for `rows` numbers of f, n apart, and as many rows of X, m apart */
ICFI_TARGET ICFI_FORCE_INLINE ICFI_V ICFI_K(icfi_less)(int32_t rows, int32_t m, const icf_real* x,
                                                       int32_t n, const icf_real* f, ICFI_V sum)
{
    int32_t k;
    if (rows == 6) {
        const icf_real *x3 = x + 3 * m, *f3 = f + 3 * n;
        sum = ICFI_MULSUB(ICFI_MULSUB(sum, ICFI_LOAD(x), f[0]), ICFI_LOAD(x + m), f[n]);
        sum = ICFI_MULSUB(ICFI_MULSUB(sum, ICFI_LOAD(x + 2 * m), f[2 * n]), ICFI_LOAD(x3), f3[0]);
        sum = ICFI_MULSUB(ICFI_MULSUB(sum, ICFI_LOAD(x3 + m), f3[n]), ICFI_LOAD(x3 + 2 * m),
                          f3[2 * n]);
        return sum;
    }
    for (k = 0; k < rows; k++) sum = ICFI_MULSUB(sum, ICFI_LOAD(x + k * m), f[k * n]);
    return sum;
}

/* to -= X' Y, m x n with columns ld apart; with `lower` only the lower triangle counts, and not all above it
   is written. X (rows x m) and Y (rows x n) are stored by rows; rows <= 6. The last vector of a column ends
   with it, and may overlap the one before: it is made first. */
ICFI_TARGET static void ICFI_K(icfi_product)(int32_t rows, int32_t m, const icf_real* x, int32_t n,
                                             const icf_real* y, icf_real* to, int32_t ld, int lower)
{
    const int32_t last = m - ICFI_LANES;
    int32_t i, j, k;
    for (j = 0; j < n; j++, y++, to += ld) {
        i = lower ? j : 0;
        if (last >= 0) {
            ICFI_V end = ICFI_K(icfi_less)(rows, m, x + last, n, y, ICFI_LOAD(to + last));
            for (; i < last; i += ICFI_LANES)
                ICFI_STORE(to + i, ICFI_K(icfi_less)(rows, m, x + i, n, y, ICFI_LOAD(to + i)));
            ICFI_STORE(to + last, end);
            continue;
        }
        for (; i < m; i++) {
            icf_real sum = to[i];
            for (k = 0; k < rows; k++) sum -= x[k * m + i] * y[k * n];
            to[i] = sum;
        }
    }
}

/* W (rows x rows) += Y' A^-1 Y, with the factor of A (n x n). Y has n rows of 8 numbers, of which the first
   `rows` count, and the others are finite; it becomes L^-1 Y. Rows of zeros cost nothing, and so do zeros of
   the factor: of a tree this takes one chain. */
ICFI_TARGET static void ICFI_K(icfi_delassus)(int32_t rows, int32_t n, const icf_real* a,
                                              icf_real* y, icf_real* w)
{
    icf_real sum[48] = {0}, q[8], *to;
    int32_t i, j, k;
    for (j = 0; j < n; j++, a += n) {
        const icf_real* from = y + 8 * j;
        if (ICFI_K(icfi_zeros)(rows, 1, from, 0)) continue;
        for (k = 0; k < 8; k++) q[k] = from[k] * a[j];
        for (i = 0; i < rows; i++)
            for (k = 0, to = sum + 8 * i; k < rows; k += ICFI_LANES)
                ICFI_STORE(to + k, ICFI_MULSUB(ICFI_LOAD(to + k), ICFI_LOAD(from + k), -q[i]));
        for (i = j + 1; i < n; i++) {
            if (a[i] == 0) continue;
            for (k = 0, to = y + 8 * i; k < rows; k += ICFI_LANES)
                ICFI_STORE(to + k, ICFI_MULSUB(ICFI_LOAD(to + k), ICFI_LOAD(q + k), a[i]));
        }
    }
    for (i = 0; i < rows; i++)
        for (k = 0; k < rows; k++) w[i * rows + k] += sum[8 * i + k];
}

/* Solves L y = b on the first `cols` entries of w and stores y_j / d_j over them. The rows below become
   w - L y. */
ICFI_TARGET static void ICFI_K(icfi_forward)(int32_t cols, int32_t rows, const icf_real* a,
                                             ptrdiff_t ld, icf_real* w)
{
    int32_t i, j, k, q;
    for (j = 0; j < cols; j += q) {
        const icf_real* c = a + j * ld;
        icf_real y[6] = {0, 0, 0, 0, 0, 0};
        q = cols - j < 6 ? cols - j : 6;
        if (ICFI_K(icfi_zeros)(1, q, w + j, 1) == q) continue; /* nothing on a branch */
        if (q == 6) {
            icfi_block6_forward(c + j, ld, w + j, y);
        } else {
            for (k = 0; k < q; k++) {
                icf_real* v = w + j;
                y[k] = v[k] * c[j + k + k * ld];
                for (i = k + 1; i < q; i++) v[i] -= c[j + i + k * ld] * y[k];
                v[k] = y[k];
            }
        }
        i = j + q;
        if (q == 6) {
            const icf_real *c1 = c + ld, *c2 = c1 + ld, *c3 = c2 + ld, *c4 = c3 + ld, *c5 = c4 + ld;
            for (; i + ICFI_LANES <= rows; i += ICFI_LANES) {
                ICFI_V v = ICFI_LOAD(w + i);
                v = ICFI_MULSUB(ICFI_MULSUB(v, ICFI_LOAD(c + i), y[0]), ICFI_LOAD(c1 + i), y[1]);
                v = ICFI_MULSUB(ICFI_MULSUB(v, ICFI_LOAD(c2 + i), y[2]), ICFI_LOAD(c3 + i), y[3]);
                v = ICFI_MULSUB(ICFI_MULSUB(v, ICFI_LOAD(c4 + i), y[4]), ICFI_LOAD(c5 + i), y[5]);
                ICFI_STORE(w + i, v);
            }
        }
        for (; i < rows; i++) {
            icf_real v = w[i];
            for (k = 0; k < q; k++) v -= c[i + k * ld] * y[k];
            w[i] = v;
        }
    }
}

/* sum[q] = -(column q of a) . w, for at most 6 columns over n rows. Each sum consists of ICFI_SUMS
   interleaved sums, whatever the width of the vectors, and these are added in one fixed order. */
ICFI_TARGET static void ICFI_K(icfi_column_sums)(int32_t columns, int32_t n, const icf_real* a,
                                                 ptrdiff_t ld, const icf_real* w, icf_real* sum)
{
    icf_real part[6 * ICFI_SUMS];
    int32_t i, k, q, whole = n - n % ICFI_SUMS;
    for (k = 0; k < ICFI_SUMS; k += ICFI_LANES) {
        ICFI_V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0};
        const icf_real* c = a + k;
        if (columns == 6) {
            for (i = k; i < whole; i += ICFI_SUMS, c += ICFI_SUMS) {
                ICFI_V v = ICFI_LOAD(w + i);
                s0 = ICFI_MULSUBV(s0, v, ICFI_LOAD(c));
                s1 = ICFI_MULSUBV(s1, v, ICFI_LOAD(c + ld));
                s2 = ICFI_MULSUBV(s2, v, ICFI_LOAD(c + 2 * ld));
                s3 = ICFI_MULSUBV(s3, v, ICFI_LOAD(c + 3 * ld));
                s4 = ICFI_MULSUBV(s4, v, ICFI_LOAD(c + 4 * ld));
                s5 = ICFI_MULSUBV(s5, v, ICFI_LOAD(c + 5 * ld));
            }
            ICFI_STORE(part + ICFI_SUMS + k, s1);
            ICFI_STORE(part + 2 * ICFI_SUMS + k, s2);
            ICFI_STORE(part + 3 * ICFI_SUMS + k, s3);
            ICFI_STORE(part + 4 * ICFI_SUMS + k, s4);
            ICFI_STORE(part + 5 * ICFI_SUMS + k, s5);
        } else {
            for (q = columns - 1; q >= 0; q--) {
                ICFI_V v = {0};
                for (i = k, c = a + k + q * ld; i < whole; i += ICFI_SUMS, c += ICFI_SUMS) {
                    v = ICFI_MULSUBV(v, ICFI_LOAD(w + i), ICFI_LOAD(c));
                }
                ICFI_STORE(part + q * ICFI_SUMS + k, v);
                s0 = v;
            }
        }
        ICFI_STORE(part + k, s0);
    }
    for (q = 0; q < columns; q++) {
        icf_real* p = part + q * ICFI_SUMS;
        const icf_real* c = a + q * ld;
        for (i = whole; i < n; i++) p[i - whole] -= c[i] * w[i];
        if (ICFI_SUMS == 8) {
            for (i = 0; i < 4; i++) p[i] += p[i + 4];
        }
        sum[q] = (p[0] + p[2]) + (p[1] + p[3]);
    }
}

/* Solves D L' x = y on the first `cols` entries of w, which hold y_j / d_j. The rows below are known. */
ICFI_TARGET static void ICFI_K(icfi_backward)(int32_t cols, int32_t rows, const icf_real* a,
                                              ptrdiff_t ld, icf_real* w)
{
    int32_t i, j, k, q;
    for (j = (cols - 1) / 6 * 6; j >= 0; j -= 6) {
        const icf_real* c = a + j + j * ld;
        icf_real* v = w + j;
        icf_real sum[6];
        q = cols - j < 6 ? cols - j : 6;
        ICFI_K(icfi_column_sums)(q, rows - j - q, c + q, ld, v + q, sum);
        if (q == 6) {
            icfi_block6_backward(c, ld, sum, v);
            continue;
        }
        for (k = q - 1; k >= 0; k--) {
            icf_real x = sum[k];
            for (i = q - 1; i > k; i--) x -= c[i + k * ld] * v[i];
            v[k] += c[k + k * ld] * x;
        }
    }
}

#endif

#endif

#ifndef ICFI_LAYER

#ifdef ICFI_SIMD_AVX512
/* Whether this machine has AVX-512 and does not slow down for it. Machines with VBMI2 do not. */
ICFI_FORCE_INLINE int icfi_widest(void)
{
    return __builtin_cpu_supports("avx512vbmi2");
}
#endif

#define ICFI_LAYER 4
#define ICFI_WIDE 0
#include "icf.h"
#undef ICFI_WIDE
#ifdef ICFI_SIMD_AVX512
#define ICFI_WIDE 2
#include "icf.h"
#undef ICFI_WIDE
#endif
#ifdef ICFI_SIMD_AVX2
#define ICFI_WIDE 1
#include "icf.h"
#undef ICFI_WIDE
#endif
#undef ICFI_LAYER

/* Whether this machine has AVX2 */
ICFI_FORCE_INLINE int icfi_wide(void)
{
#ifdef ICFI_SIMD_AVX2
    return __builtin_cpu_supports("avx2") ICFI_AND_FMA;
#else
    return 0;
#endif
}

/* Runs f with the widest vectors that this machine has. The upper halves of the registers have to be
   cleared between wide code and other code. gcc does that by itself only from -O2 on. */
#ifdef ICFI_SIMD_AVX2
#define ICFI_WIDEST(f, arguments) (icfi_wide() ? f##_wide arguments : f##_base arguments)
__attribute__((target("avx2"))) static void icfi_clear_upper(void)
{
    __builtin_ia32_vzeroupper();
}
#define ICFI_WIDEST_END() (icfi_wide() ? icfi_clear_upper() : (void)0)
#else
#define ICFI_WIDEST(f, arguments) (f##_base arguments)
#define ICFI_WIDEST_END() ((void)0)
#endif

/* The plain loops, for matrices too small for panels */
static int32_t icfi_plain_factor(int32_t n, icf_real* a, ptrdiff_t ld)
{
    int32_t i, j, k;
    for (j = 0; j < n; j++) {
        icf_real* c = a + j * ld;
        for (k = 0; k < j; k++) {
            const icf_real* w = a + k * ld;
            icf_real l = w[j] * w[k];
            for (i = j; i < n; i++) c[i] -= w[i] * l;
        }
        if (!icfi_good_pivot(c[j])) return j;
        c[j] = 1 / c[j];
    }
    return -1;
}

/* A function of its own because of its frame. The buffer holds strips of 36 columns in double, or of 18
   where numbers are repeated (ICFI_DUP). */
static int32_t icfi_dense_panels(int32_t n, icf_real* a, ptrdiff_t ld)
{
    icf_real small[1728 / sizeof(icf_real)];
    const int32_t room = (int32_t)(sizeof small / sizeof(icf_real));
    int32_t bad = ICFI_WIDEST(icfi_panel_factor, (n, n, n, a, ld, 0, small, room));
    ICFI_WIDEST_END();
    return bad;
}

ICF_API icf_result icf_dense_factor(int32_t n, icf_real* a, int32_t ld, int32_t* pivot)
{
    int32_t bad;
    if (n < 0 || ld < n || (n && !a)) return ICF_RESULT_BAD_ARGUMENT;
    if (n == 6 || n == 3) {
        icf_real l[15], inverse[6];
        bad = icfi_block(n, a, ld, l, inverse, 1);
    } else if (n < 8) {
        bad = icfi_plain_factor(n, a, ld);
    } else {
        bad = icfi_dense_panels(n, a, ld);
    }
    if (bad < 0) return ICF_RESULT_OK;
    if (pivot) *pivot = bad;
    return ICF_RESULT_NOT_SPD;
}

ICF_API icf_result icf_dense_solve(int32_t n, const icf_real* factor, int32_t ld, icf_real* x,
                                   int32_t count, int32_t ldx)
{
    int32_t r;
    if (n < 0 || ld < n || ldx < n || count < 0 || (n && count && (!factor || !x)))
        return ICF_RESULT_BAD_ARGUMENT;
    if (n == 6) { /* a body by itself: one block, too small for vectors */
        const icf_real nothing[6] = {0, 0, 0, 0, 0, 0};
        for (r = 0; r < count; r++, x += ldx) {
            icf_real y[6];
            icfi_block6_forward(factor, ld, x, y);
            icfi_block6_backward(factor, ld, nothing, x);
        }
        return ICF_RESULT_OK;
    }
    for (r = 0; n && r < count; r++) {
        icf_real* w = x + (ptrdiff_t)r * ldx;
        ICFI_WIDEST(icfi_forward, (n, n, factor, ld, w));
        ICFI_WIDEST(icfi_backward, (n, n, factor, ld, w));
    }
    ICFI_WIDEST_END();
    return ICF_RESULT_OK;
}

#endif

// ------------------------------------------------------------------------------------------------
// Layer 5: block-sparse Cholesky
// >>sparse-pattern
/* Offers to those below: ICFI_FACTOR_INTS, ICFI_FACTOR_PIECES, ICFI_FACTOR_REALS, ICFI_FACTOR_SIZES,
   icfi_find, icfi_fronts, icfi_fronts_of, ICFI_INTS, ICFI_MOST_ROWS, icfi_pad, icfi_pattern,
   icfi_pattern_of, icfi_place, icfi_place_blocks, icfi_place_in_fronts, icfi_same, ICFI_SPARSE_COOKIE,
   icfi_sparse_kept_bytes */

/* A is a symmetric matrix of blocks: cliques on the diagonal, edges off it. The factorisation is
   multifrontal:

     analyze  orders the cliques (minimum degree on the graph of blocks, weighted by their sizes), finds the
              elimination tree, and merges cliques into fronts where a little more arithmetic is cheaper
              than a second front. All of it depends on the pattern alone.
     bind     lays out one panel per front, [W of its own columns over the rows they update], and one update
              matrix per front: the part that those columns subtract from the fronts above.
     begin, add_...   zero the panels, and add blocks straight into them: A itself is never stored.
     factor   children before parents: adds the update matrices of the children, factors the panel (layer 4),
              and makes the front's own update matrix for the parent.

   If update matrices are kept, a change of some blocks redoes only the fronts that hold these blocks and
   the fronts above. Every front does the same arithmetic in the same order as in a full run, so the
   bits are the same.

   If there is no memory for the factor, the same calls run conjugate gradients on the blocks
   themselves, preconditioned with the factored diagonal blocks. */

#ifndef ICFI_LAYER

/* Pieces of the two memory blocks of an icf_sparse, `pattern` and `factor` */
#define ICFI_INTS(s, piece) ICFI_AT(int32_t, (s)->pattern, (s)->at.piece)
#define ICFI_FACTOR_INTS(s, piece) ICFI_AT(int32_t, (s)->factor, (s)->at.piece)
#define ICFI_FACTOR_SIZES(s, piece) ICFI_AT(size_t, (s)->factor, (s)->at.piece)
#define ICFI_FACTOR_REALS(s, piece) ICFI_AT(icf_real, (s)->factor, (s)->at.piece)

#define ICFI_SPARSE_COOKIE 0x1cf5ba5e

/* The most rows of a front. Its entries are counted in 32 bits. */
#define ICFI_MOST_ROWS 46000

/* The place where a block is added; cliques come first, then edges. A turned block has the rows of the
   edge's second clique, and its ld is negative. `front` is the front that holds the block, or -1 for a
   block without entries. */
typedef struct icfi_place {
    size_t at;
    int32_t ld, front;
} icfi_place;

/* What lives as long as the pattern of n cliques and m edges. Scratch for the analysis alone follows it. */
// clang-format off
#define ICFI_PATTERN_PIECES(piece) \
    /* of each clique: its size, its first unknown, its neighbours */ \
    piece(int32_t, size, n) piece(int32_t, start, n + 1) piece(int32_t, pair, 2 * m) \
    piece(int32_t, near_start, n + 1) piece(int32_t, near, 2 * m) \
    /* the order of elimination and its inverse; the front of each clique and its column there */ \
    piece(int32_t, order, n) piece(int32_t, position, n) \
    piece(int32_t, front, n) piece(int32_t, column, n) \
    piece(icfi_place, place, n + m) \
    /* of each front: its cliques in the order, the tree, its columns, rows and cliques below them */ \
    piece(int32_t, member, n + 1) \
    piece(int32_t, parent, n) piece(int32_t, child, n) piece(int32_t, sibling, n) \
    piece(int32_t, cols, n) piece(int32_t, rows, n) piece(int32_t, blocks, n)

/* What a factor takes: of each front the cliques of its rows, and where runs of them lie in its parent;
   `total` counts them. The kernels read up to one vector beyond a panel or an update matrix. */
#define ICFI_FACTOR_PIECES(piece) \
    piece(int32_t, row_start, fronts + 1) piece(int32_t, run_count, fronts) \
    piece(int32_t, row, total) piece(int32_t, row_at, total) \
    piece(int32_t, run_to, total) piece(int32_t, run_length, total) \
    piece(int32_t, redo, fronts) \
    piece(size_t, panel_at, fronts) piece(size_t, update_at, fronts) \
    piece(icf_real, small, ICFI_SMALL) piece(icf_real, work, (size_t)icfi_pad(s->rows_most)) \
    piece(icf_real, panels, icfi_plus(at->panel_reals, (size_t)ICFI_PAD)) \
    piece(icf_real, updates, icfi_plus(updates, (size_t)ICFI_PAD))
// clang-format on

typedef struct icfi_pattern {
    ICFI_PATTERN_PIECES(ICFI_PIECE_POINTER)
} icfi_pattern;

typedef struct icfi_fronts {
    ICFI_FACTOR_PIECES(ICFI_PIECE_POINTER)
} icfi_fronts;

ICFI_FORCE_INLINE icfi_pattern icfi_pattern_of(const icf_sparse* s)
{
    const icfi_sparse_at* at = &s->at;
    void* memory = s->pattern;
    icfi_pattern pattern, *to = &pattern;
    ICFI_PATTERN_PIECES(ICFI_PIECE_POINT)
    return pattern;
}

ICFI_FORCE_INLINE icfi_fronts icfi_fronts_of(const icf_sparse* s)
{
    const icfi_sparse_at* at = &s->at;
    void* memory = s->factor;
    icfi_fronts fronts, *to = &fronts;
    ICFI_FACTOR_PIECES(ICFI_PIECE_POINT)
    return fronts;
}

static void icfi_sparse_layout_pattern(icfi_sparse_at* at, icfi_arena* arena, int32_t cliques,
                                       int32_t edges)
{
    size_t n = (size_t)cliques, m = (size_t)edges;
    ICFI_PATTERN_PIECES(ICFI_PIECE_TAKE)
    at->scratch = arena->used;
}

/* ---- the graph ---- */

/* Fills `near`: for each clique its neighbours in ascending order, each once, from pairs in any order.
   Cliques of size 0 have none. The lists are filled twice, the second time from the other ends of the
   first; this sorts them. */
static void icfi_graph(int32_t n, const int32_t* size, int32_t edges, const int32_t* pair,
                       int32_t* near_start, int32_t* near, int32_t* list_start, int32_t* list)
{
    int32_t i, e, k;
    for (i = 0; i <= n; i++) near_start[i] = list_start[i] = 0;
    for (e = 0; e < edges; e++) {
        int32_t a = pair[2 * e], b = pair[2 * e + 1];
        if (!size[a] || !size[b]) continue;
        list_start[a + 1]++;
        list_start[b + 1]++;
    }
    for (i = 0; i < n; i++) near_start[i + 1] = list_start[i + 1] += list_start[i];
    for (e = 0; e < edges; e++) {
        int32_t a = pair[2 * e], b = pair[2 * e + 1];
        if (!size[a] || !size[b]) continue;
        list[list_start[a]++] = b;
        list[list_start[b]++] = a;
    }
    for (i = n; i > 0; i--) list_start[i] = list_start[i - 1];
    list_start[0] = 0;

    /* the transposed lists come out in ascending order; near_start runs ahead while they are
       filled */
    for (i = 0; i < n; i++) {
        for (k = list_start[i]; k < list_start[i + 1]; k++) near[near_start[list[k]]++] = i;
    }
    for (i = n; i > 0; i--) near_start[i] = near_start[i - 1];
    near_start[0] = 0;

    /* close the gaps that repeated edges leave */
    for (i = 0, k = 0; i < n; i++) {
        int32_t first = k;
        for (e = near_start[i]; e < near_start[i + 1]; e++) {
            if (k == first || near[k - 1] != near[e]) near[k++] = near[e];
        }
        near_start[i] = first;
    }
    near_start[n] = k;
}

/* ---- ordering ---- */

/* The scratch of the analysis. First a new graph, to compare with the present one.

   Then the ordering. A node is a variable (not eliminated yet) or an element (eliminated). An element stands
   for the clique of variables that its elimination made. For a variable, list[start ...] holds `elements`
   elements and then variables, `length` in all. For an element it holds its variables.

   Then an order tried, and its elimination tree. */
// clang-format off
#define ICFI_ANALYSIS_PIECES(piece) \
    piece(int32_t, near_start, n + 1) piece(int32_t, near, 2 * m) piece(int32_t, list_start, n + 1) \
    piece(int32_t, list, (size_t)list) piece(int32_t, start, n) piece(int32_t, length, n) \
    piece(int32_t, elements, n) piece(int32_t, weight, n) piece(int32_t, degree, n) \
    piece(int32_t, mark, n) piece(int32_t, next, n) piece(int32_t, tail, n) \
    piece(int32_t, bucket, n) piece(int32_t, chain, n) piece(int32_t, heap, n) \
    piece(int32_t, place, n) piece(int32_t, hash, n) piece(double, score, n) \
    piece(int32_t, trial, n) piece(int32_t, position, n) piece(int32_t, parent, n) \
    piece(int32_t, reach, n) piece(int32_t, blocks, n) piece(int32_t, other, n)
// clang-format on

typedef struct icfi_analysis_at {
    ICFI_ANALYSIS_PIECES(ICFI_PIECE_OFFSET)
} icfi_analysis_at;

typedef struct icfi_analysis {
    ICFI_ANALYSIS_PIECES(ICFI_PIECE_POINTER)
    const int32_t* size;  /* of each clique */
    const int32_t* stage; /* NULL, or: a variable waits until all lower stages are eliminated */
    int32_t n, free, end, heaped;
    int rule;
} icfi_analysis;

/* Room for the lists: the graph, a new element, and some more so that compressing is rare */
static uint64_t icfi_order_list(int32_t n, int32_t m)
{
    return 2 * (uint64_t)m + (uint64_t)m / 2 + (uint64_t)n + 1;
}

/* A binary heap of variables: lowest stage first, then least score, then least index. */
static int icfi_heap_before(const icfi_analysis* o, int32_t a, int32_t b)
{
    if (o->stage && o->stage[a] != o->stage[b]) return o->stage[a] < o->stage[b];
    if (o->score[a] != o->score[b]) return o->score[a] < o->score[b];
    return a < b;
}

static void icfi_heap_up(icfi_analysis* o, int32_t k)
{
    int32_t i = o->heap[k];
    while (k > 0) {
        int32_t up = (k - 1) / 2, j = o->heap[up];
        if (!icfi_heap_before(o, i, j)) break;
        o->heap[k] = j;
        o->place[j] = k;
        k = up;
    }
    o->heap[k] = i;
    o->place[i] = k;
}

static void icfi_heap_down(icfi_analysis* o, int32_t k)
{
    int32_t i = o->heap[k];
    for (;;) {
        int32_t down = 2 * k + 1, j;
        if (down >= o->heaped) break;
        if (down + 1 < o->heaped && icfi_heap_before(o, o->heap[down + 1], o->heap[down])) down++;
        j = o->heap[down];
        if (!icfi_heap_before(o, j, i)) break;
        o->heap[k] = j;
        o->place[j] = k;
        k = down;
    }
    o->heap[k] = i;
    o->place[i] = k;
}

static void icfi_heap_insert(icfi_analysis* o, int32_t i)
{
    o->heap[o->heaped] = i;
    icfi_heap_up(o, o->heaped++);
}

/* Restores the heap after the score of i has changed. */
static void icfi_heap_update(icfi_analysis* o, int32_t i)
{
    icfi_heap_up(o, o->place[i]);
    icfi_heap_down(o, o->place[i]);
}

static void icfi_heap_remove(icfi_analysis* o, int32_t i)
{
    int32_t k = o->place[i], last = o->heap[--o->heaped];
    o->place[i] = -1;
    if (last == i) return;
    o->heap[k] = last;
    o->place[last] = k;
    icfi_heap_up(o, k);
    icfi_heap_down(o, o->place[last]);
}

/* Moves the living lists to the front of the space. Meanwhile the first entry of each list names its owner,
   and the owner's `start` keeps that entry. */
static void icfi_order_compress(icfi_analysis* o)
{
    int32_t i, k, to = 0;
    for (i = 0; i < o->n; i++) {
        if (o->length[i] > 0) {
            int32_t first = o->list[o->start[i]];
            o->list[o->start[i]] = -i - 1;
            o->start[i] = first;
        }
    }
    for (k = 0; k < o->free;) {
        int32_t owner = -o->list[k] - 1, count;
        if (owner < 0) {
            k++;
            continue;
        }
        count = o->length[owner];
        o->list[to] = o->start[owner];
        o->start[owner] = to++;
        for (k++, count--; count > 0; count--) o->list[to++] = o->list[k++];
    }
    o->free = to;
}

/* Merges j into i: the chain of j is appended to the chain of i, and is eliminated with it. */
static void icfi_order_absorb(icfi_analysis* o, int32_t i, int32_t j)
{
    o->chain[o->tail[i]] = j;
    o->tail[i] = o->tail[j];
    o->weight[j] = 0;
    o->length[j] = 0;
}

/* Turns the variable p into an element. Its list becomes the union of its variables and the
   variables of its elements; those elements disappear. The variables in the list get negative
   weights. Returns their total weight. */
static int32_t icfi_order_eliminate(icfi_analysis* o, int32_t p)
{
    int32_t begin, k, q, weight = 0;
    int32_t at, elements = o->elements[p], length = o->length[p];
    if (o->end - o->free < o->n) icfi_order_compress(o);
    at = o->start[p];
    begin = o->free;
    for (k = 0; k <= elements; k++) {
        /* the lists of its elements, then the rest of its own */
        int32_t e = k < elements ? o->list[at + k] : p;
        int32_t from = k < elements ? o->start[e] : at + elements;
        int32_t count = k < elements ? o->length[e] : length - elements;
        for (q = from; q < from + count; q++) {
            int32_t i = o->list[q];
            if (o->weight[i] <= 0) continue;
            weight += o->weight[i];
            o->weight[i] = -o->weight[i];
            o->list[o->free++] = i;
        }
        if (e != p) {
            o->mark[e] = 0;
            o->length[e] = 0;
        }
    }
    o->start[p] = begin;
    o->length[p] = o->free - begin;
    return weight;
}

/* Merges variables of the element p that have the same neighbours. Only variables with the same hash[], a
   sum over their neighbours, are compared. */
static void icfi_order_merge_equal(icfi_analysis* o, int32_t p, int32_t* stamp)
{
    const int32_t* hash = o->hash;
    int32_t k, q;
    for (k = o->start[p]; k < o->start[p] + o->length[p]; k++) {
        int32_t i = o->list[k], j, before;
        if (o->weight[i] == 0) continue;
        i = o->bucket[hash[i]];
        if (i < 0) continue;
        o->bucket[hash[i]] = -1;
        for (; o->next[i] >= 0; i = o->next[i]) {
            int32_t length = o->length[i], elements = o->elements[i];
            for (q = 1; q < length; q++) o->mark[o->list[o->start[i] + q]] = *stamp;
            for (before = i, j = o->next[i]; j >= 0; j = o->next[j]) {
                int same = o->length[j] == length && o->elements[j] == elements &&
                           (!o->stage || o->stage[i] == o->stage[j]);
                for (q = 1; same && q < length; q++)
                    same = o->mark[o->list[o->start[j] + q]] == *stamp;
                if (same) {
                    o->weight[i] += o->weight[j];
                    icfi_heap_remove(o, j);
                    icfi_order_absorb(o, i, j);
                    o->next[before] = o->next[j];
                } else {
                    before = j;
                }
            }
            ++*stamp;
            if (o->next[i] < 0) break;
        }
    }
}

/* The cost of eliminating i, of weight w. Its neighbours, of weight d, become one clique. The neighbours in
   the last element, of weight c, are a clique already. For each other element of i, its members outside the
   last element are one, too: `inner` is the sum of the squares of their weights. Rule 0 is best for piles
   of bodies, and rule 1 for meshes. Rule 2, the arithmetic of the step itself, is best when a few cliques
   are far larger than the others. */
static double icfi_order_score(const icfi_analysis* o, int32_t i, int32_t element_weight,
                               double inner)
{
    double w = o->weight[i], d = o->degree[i], c = element_weight - w;
    if (o->rule == 0) return d * d * d - c * c * c;
    if (o->rule == 1) return d * (d * d - c * c - inner) / w;
    return (d + w) * (d + w) * (d + w) - d * d * d;
}

/* A hub has so many neighbours that its list would be read again and again. Hubs are left out of the
   ordering, and eliminated last. */
static int icfi_is_hub(int32_t neighbours, int32_t n)
{
    return neighbours > 16 && (double)neighbours * neighbours > 100 * (double)n;
}

/* Minimum degree on the quotient graph, as in Amestoy, Davis and Duff (1996). Degrees are upper bounds,
   found by one pass over the elements next to the last one. Variables with equal neighbours are merged.
   Variables that only the new element touches are eliminated with it. Writes the order of elimination. */
static void icfi_order_run(icfi_analysis* o)
{
    const int32_t *near_start = o->near_start, *near = o->near, *size = o->size;
    int32_t i, k, q, done = 0, left = 0, stamp = 2, widest = 0, n = o->n, *hash = o->hash,
                     *order = o->trial;
    o->free = near_start[n];
    o->heaped = 0;
    for (i = 0; i < n; i++) {
        o->start[i] = near_start[i];
        o->length[i] = near_start[i + 1] - near_start[i];
        o->elements[i] = 0;
        o->weight[i] = icfi_is_hub(o->length[i], n) ? 0 : size[i];
        o->mark[i] = 1;
        o->bucket[i] = -1;
        o->chain[i] = -1;
        o->tail[i] = i;
        o->degree[i] = 0;
        for (k = near_start[i]; k < near_start[i + 1]; k++) o->list[k] = near[k];
    }
    for (i = 0; i < n; i++) {
        for (k = near_start[i]; k < near_start[i + 1]; k++) o->degree[i] += o->weight[near[k]];
        if (!o->length[i]) {
            order[done++] = i;
        } else if (o->weight[i]) {
            left += size[i];
            o->score[i] = icfi_order_score(o, i, o->weight[i], 0);
            icfi_heap_insert(o, i);
        }
    }
    while (o->heaped) {
        int32_t p = o->heap[0], element_weight, to;
        icfi_heap_remove(o, p);
        left -= o->weight[p];
        o->weight[p] = -o->weight[p];
        element_weight = icfi_order_eliminate(o, p);

        /* make mark[e] - stamp the weight of element e outside the new one */
        for (k = o->start[p]; k < o->start[p] + o->length[p]; k++) {
            i = o->list[k];
            for (q = o->start[i]; q < o->start[i] + o->elements[i]; q++) {
                int32_t e = o->list[q];
                if (!o->mark[e]) continue;
                if (o->mark[e] < stamp) o->mark[e] = o->degree[e] + stamp;
                o->mark[e] += o->weight[i];
            }
        }

        /* new lists and degrees of its variables */
        for (k = o->start[p]; k < o->start[p] + o->length[p]; k++) {
            int32_t first, to_elements;
            int64_t degree = 0;
            double inner = 0;
            uint32_t sum = 0;
            i = o->list[k];
            first = o->start[i];
            to = first;
            for (q = first; q < first + o->elements[i]; q++) {
                int32_t e = o->list[q];
                if (!o->mark[e]) continue;
                if (o->mark[e] > stamp) {
                    double outside = o->mark[e] - stamp;
                    degree += o->mark[e] - stamp;
                    inner += outside * outside;
                    o->list[to++] = e;
                    sum += (uint32_t)e;
                } else { /* nothing of e is outside */
                    o->mark[e] = 0;
                    o->length[e] = 0;
                }
            }
            to_elements = to;
            for (; q < first + o->length[i]; q++) {
                int32_t j = o->list[q];
                if (o->weight[j] <= 0) continue;
                degree += o->weight[j];
                o->list[to++] = j;
                sum += (uint32_t)j;
            }
            if (to == first) { /* only the new element touches it */
                element_weight += o->weight[i];
                left += o->weight[i];
                icfi_heap_remove(o, i);
                icfi_order_absorb(o, p, i);
                continue;
            }
            if (degree < o->degree[i]) o->degree[i] = (int32_t)degree;
            o->score[i] = inner; /* kept here until the score below */
            o->list[to] = o->list[to_elements];
            o->list[to_elements] = o->list[first];
            o->list[first] = p;
            o->elements[i] = to_elements - first + 1;
            o->length[i] = to - first + 1;
            hash[i] = (int32_t)(sum % (uint32_t)n);
            o->next[i] = o->bucket[hash[i]];
            o->bucket[hash[i]] = i;
        }
        o->degree[p] = element_weight;
        if (element_weight > widest) widest = element_weight;
        stamp += widest + 1;
        icfi_order_merge_equal(o, p, &stamp);

        to = o->start[p];
        for (k = o->start[p]; k < o->start[p] + o->length[p]; k++) {
            int32_t degree;
            i = o->list[k];
            if (o->weight[i] == 0) continue;
            o->weight[i] = -o->weight[i];
            degree = o->degree[i] + element_weight - o->weight[i];
            if (degree > left - o->weight[i]) degree = left - o->weight[i];
            o->degree[i] = degree;
            o->score[i] = icfi_order_score(o, i, element_weight, o->score[i]);
            icfi_heap_update(o, i);
            o->list[to++] = i;
        }
        o->length[p] = to - o->start[p];
        o->free = to;
        o->elements[p] = 0;
        if (!o->length[p]) o->mark[p] = 0;
        o->weight[p] = 0;
        for (i = p; i >= 0; i = o->chain[i]) order[done++] = i;

        if (stamp > INT32_MAX / 2) {
            for (i = 0; i < n; i++) o->mark[i] = o->mark[i] != 0;
            stamp = 2;
        }
    }
    for (i = 0; i < n; i++) {
        if (icfi_is_hub(near_start[i + 1] - near_start[i], n)) order[done++] = i;
    }
}

/* ---- nested dissection ---- */

/* A part of the graph is a range of `node`, and part[v] is where the range of v begins. A part is
   cut into side 0, side 1 and the separator, side 2. The arrays belong to the ordering, which
   needs them only later. */
typedef struct icfi_cut {
    icfi_analysis* o;
    const int32_t *near_start, *near, *size;
    int32_t *node, *part, *side, *level, *queue, *history;
    int32_t weight[3];
} icfi_cut;

#define ICFI_CUT_LEAST 120 /* cliques: smaller parts are left to minimum degree */
#define ICFI_CUT_DEPTH 16

/* Finds the levels of breadth-first search from v within its part. Returns the last vertex found, and
   their number in *count. */
static int32_t icfi_cut_levels(icfi_cut* c, int32_t v, int32_t first, int32_t members,
                               int32_t* count)
{
    int32_t k, q, head = 0, tail = 0;
    for (k = first; k < first + members; k++) c->level[c->node[k]] = -1;
    c->level[v] = 0;
    c->queue[tail++] = v;
    while (head < tail) {
        v = c->queue[head++];
        for (q = c->near_start[v]; q < c->near_start[v + 1]; q++) {
            int32_t u = c->near[q];
            if (c->part[u] != first || c->level[u] >= 0) continue;
            c->level[u] = c->level[v] + 1;
            c->queue[tail++] = u;
        }
    }
    *count = tail;
    return v;
}

static void icfi_cut_move(icfi_cut* c, int32_t v, int32_t side)
{
    c->weight[c->side[v]] -= c->size[v];
    c->side[v] = side;
    c->weight[side] += c->size[v];
}

/* How much lighter the separator gets when v leaves it for `side`: the weight of v less the weight of the
   vertices that v pulls in from the other side. INT32_MIN if v would pull in a vertex already moved in this
   pass, or would make its side heavier than 5/8 of the part. */
static int32_t icfi_cut_gain(const icfi_cut* c, int32_t v, int32_t side, const int32_t* moved)
{
    int32_t q, gain = c->size[v];
    int32_t total = c->weight[0] + c->weight[1] + c->weight[2];
    if (c->weight[side] + c->size[v] > total / 8 * 5) return INT32_MIN;
    for (q = c->near_start[v]; q < c->near_start[v + 1]; q++) {
        int32_t u = c->near[q];
        if (c->part[u] != c->part[v] || c->side[u] != 1 - side) continue;
        if (moved[u]) return INT32_MIN;
        gain -= c->size[u];
    }
    return gain;
}

/* Improves a separator (Fiduccia and Mattheyses): moves its best vertex, even at a loss, again and again,
   and finally goes back to the best state seen. Returns whether the separator got lighter. */
static int icfi_cut_refine(icfi_cut* c, int32_t first, int32_t members, int32_t* moved)
{
    int32_t k, q, moves = 0, best_moves = 0, best = c->weight[2], idle = 0, began = c->weight[2];
    int32_t separators = 0;
    for (k = first; k < first + members; k++) {
        int32_t v = c->node[k];
        moved[v] = 0;
        if (c->side[v] == 2) c->queue[separators++] = v;
    }
    while (idle++ < 40) {
        int32_t take = -1, to = 0, most = INT32_MIN, kept = 0;
        for (k = 0; k < separators; k++) {
            int32_t v = c->queue[k], side;
            if (c->side[v] != 2) continue;
            c->queue[kept++] = v;
            for (side = 0; side < 2; side++) {
                int32_t gain = icfi_cut_gain(c, v, side, moved);
                if (gain > most ||
                    (gain == most && gain > INT32_MIN && c->weight[side] < c->weight[to])) {
                    most = gain;
                    take = v;
                    to = side;
                }
            }
        }
        separators = kept;
        if (take < 0) break;
        moved[take] = 1;
        c->history[moves++] = take * 4 + 2;
        icfi_cut_move(c, take, to);
        for (q = c->near_start[take]; q < c->near_start[take + 1]; q++) {
            int32_t u = c->near[q];
            if (c->part[u] != first || c->side[u] != 1 - to) continue;
            c->history[moves++] = u * 4 + c->side[u];
            icfi_cut_move(c, u, 2);
            c->queue[separators++] = u;
        }
        if (c->weight[2] < best) {
            best = c->weight[2];
            best_moves = moves;
            idle = 0;
        }
    }
    while (moves > best_moves) {
        moves--;
        icfi_cut_move(c, c->history[moves] / 4, c->history[moves] % 4);
    }
    return best < began;
}

/* Cuts the part that begins at `first`. The members are reordered as side 0, side 1, separator; count[]
   receives the numbers of the first two. The first cut is at the median of a smoothed function that falls
   from one end of the part to the other. */
static void icfi_cut_part(icfi_cut* c, int32_t first, int32_t members, int32_t* count)
{
    icfi_analysis* o = c->o;
    int32_t k, q, v, found, half, side, pass, boundary[2] = {0, 0}, total = 0;
    int32_t far = icfi_cut_levels(c, c->node[first], first, members, &found);
    c->weight[0] = c->weight[1] = c->weight[2] = 0;
    for (k = first; k < first + members; k++) total += c->size[c->node[k]];
    if (found < members) {
        for (k = first; k < first + members; k++) c->side[c->node[k]] = c->level[c->node[k]] < 0;
    } else {
        far = icfi_cut_levels(c, far, first, members, &found);
        for (k = first; k < first + members; k++) o->score[c->node[k]] = c->level[c->node[k]];
        (void)icfi_cut_levels(c, far, first, members, &found);
        for (k = first; k < first + members; k++) o->score[c->node[k]] -= c->level[c->node[k]];
        for (pass = 0; pass < 12; pass++) {
            for (k = first; k < first + members; k++) {
                double sum = 0, n = 0;
                v = c->node[k];
                for (q = c->near_start[v]; q < c->near_start[v + 1]; q++) {
                    if (c->part[c->near[q]] != first) continue;
                    sum += o->score[c->near[q]];
                    n += 1;
                }
                o->score[v] = (o->score[v] + sum / n) / 2;
            }
        }
        o->heaped = 0;
        for (k = first; k < first + members; k++) icfi_heap_insert(o, c->node[k]);
        for (half = 0; o->heaped;) {
            v = o->heap[0];
            icfi_heap_remove(o, v);
            half += c->size[v];
            c->side[v] = half > total / 2;
        }

        /* the lighter of the two boundaries becomes the separator */
        for (pass = 0; pass < 2; pass++) {
            side = pass && boundary[1] < boundary[0];
            for (k = first; k < first + members; k++) {
                int touches = 0;
                v = c->node[k];
                for (q = c->near_start[v]; q < c->near_start[v + 1] && !touches; q++) {
                    int32_t u = c->near[q];
                    touches = c->part[u] == first && c->side[u] == 1 - c->side[v];
                }
                if (!pass && touches) boundary[c->side[v]] += c->size[v];
                c->level[v] = touches;
            }
        }
        for (k = first; k < first + members; k++) {
            v = c->node[k];
            if (c->level[v] && c->side[v] == side) c->side[v] = 2;
        }
        for (k = first; k < first + members; k++)
            c->weight[c->side[c->node[k]]] += c->size[c->node[k]];
        for (pass = 0; pass < 6; pass++) {
            if (!icfi_cut_refine(c, first, members, c->level)) break;
        }
    }
    for (side = 0, q = 0; side < 3; side++) {
        int32_t before = q;
        for (k = first; k < first + members; k++) {
            if (c->side[c->node[k]] == side) c->queue[q++] = c->node[k];
        }
        if (side < 2) count[side] = q - before;
    }
    for (k = 0; k < members; k++) c->node[first + k] = c->queue[k];
}

/* stage[k] is 0 for a clique in no separator. The separators follow, the last cut first. */
static void icfi_dissect(icfi_analysis* o)
{
    int32_t stack[ICFI_CUT_DEPTH + 2][3], top = 0, k, side, n = o->n;
    int32_t* stage = o->list_start;
    icfi_cut c;
    c.o = o;
    c.near_start = o->near_start;
    c.near = o->near;
    c.size = o->size;
    c.node = o->start;
    c.part = o->length;
    c.side = o->elements;
    c.level = o->weight;
    c.queue = o->degree;
    c.history = o->list;
    o->stage = NULL;
    stack[top][0] = stack[top][1] = stack[top][2] = 0;
    for (k = 0; k < n; k++) {
        c.part[k] = 0;
        stage[k] = 0;
        if (c.near_start[k] < c.near_start[k + 1]) c.node[stack[top][1]++] = k;
    }
    top++;
    while (top) {
        int32_t first = stack[--top][0], members = stack[top][1], depth = stack[top][2], count[2];
        if (members < ICFI_CUT_LEAST || depth >= ICFI_CUT_DEPTH) continue;
        icfi_cut_part(&c, first, members, count);
        for (k = first + count[0] + count[1]; k < first + members; k++) {
            stage[c.node[k]] = ICFI_CUT_DEPTH - depth;
            c.part[c.node[k]] = -1;
        }

        /* a part in several pieces costs no level; its other pieces wait on the stack below the piece
           found */
        if (count[0] + count[1] < members) depth++;
        for (side = 1; side >= 0; side--) {
            int32_t begin = first + (side ? count[0] : 0);
            for (k = begin; k < begin + count[side]; k++) c.part[c.node[k]] = begin;
            stack[top][0] = begin;
            stack[top][1] = count[side];
            stack[top++][2] = depth;
        }
    }
    o->stage = stage;
}

/* ---- elimination tree and fronts ---- */

/* The multiplications and additions of a factorisation: the sum of c_j^2, where column j reaches c_j
   rows including its own. */
static double icfi_column_flops(int32_t cols, int32_t rows)
{
    double flops = 0;
    int32_t j;
    for (j = 0; j < cols; j++) {
        double c = (double)cols + rows - j;
        flops += c * c;
    }
    return flops;
}

/* The rough time of a front with `cols` columns and `rows` rows below them, in hundredths of a nanosecond on
   a machine of 2023. It is the same on every machine, because the fronts decide the order of additions. */
static double icfi_front_cost(int32_t cols, int32_t rows)
{
    double c = cols, r = rows;
    return 3000 + 40 * c * (c + r) + 15 * r * r + 5 * (c * c * c / 3 + c * c * r + c * r * r);
}

/* Merges children into parents where one front is cheaper than two. top[i] is the last clique, in order, of
   the front of i. A front keeps the rows of its last clique. */
static void icfi_merge_fronts(int32_t n, const int32_t* parent, int32_t* cols, const int32_t* reach,
                              int32_t* top)
{
    int32_t i;
    for (i = 0; i < n; i++) {
        int32_t p = parent[i];
        top[i] = i;
        if (p < 0) continue;
        if (icfi_front_cost(cols[i] + cols[p], reach[p]) <
            icfi_front_cost(cols[i], reach[i]) + icfi_front_cost(cols[p], reach[p])) {
            cols[p] += cols[i];
            top[i] = p;
        }
    }
    for (i = n - 1; i >= 0; i--) top[i] = top[top[i]];
}

static int32_t icfi_pad(int32_t n)
{
    return (n + ICFI_PAD - 1) / ICFI_PAD * ICFI_PAD;
}

/* The index, from low to high, of the entry with key `key` in a list that ascends by keys. Without key_of
   an entry is its own key. */
static int32_t icfi_find(const int32_t* list, int32_t low, int32_t high, const int32_t* key_of,
                         int32_t key)
{
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if ((key_of ? key_of[list[middle]] : list[middle]) < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* An edge belongs to the front of its clique a, which is eliminated first. The row of the other clique b is
   either among the front's columns or in its list of rows. */
static void icfi_place_in_fronts(icf_sparse* s)
{
    const icfi_pattern g = icfi_pattern_of(s);
    const icfi_fronts h = icfi_fronts_of(s);
    icfi_place* place = g.place;
    int32_t i, e;
    for (i = 0; i < s->cliques; i++, place++) {
        int32_t f = g.front[i], ld = icfi_pad(g.cols[f] + g.rows[f]);
        place->front = g.size[i] ? f : -1;
        place->ld = ld;
        place->at = h.panel_at[f] + (size_t)g.column[i] * ((size_t)ld + 1);
    }
    for (e = 0; e < s->edges; e++, place++) {
        int32_t a = g.pair[2 * e], b = g.pair[2 * e + 1], f, r,
                turned = g.position[a] < g.position[b];
        place->front = -1;
        if (!g.size[a] || !g.size[b]) continue;
        if (!turned) {
            a = g.pair[2 * e + 1];
            b = g.pair[2 * e];
        }
        f = g.front[a];
        if (g.front[b] == f) {
            r = g.column[b];
        } else {
            r = h.row_at[icfi_find(h.row, h.row_start[f], h.row_start[f + 1] - 1, g.position,
                                   g.position[b])];
        }
        place->front = f;
        place->ld = icfi_pad(g.cols[f] + g.rows[f]);
        place->at = h.panel_at[f] + (size_t)r + (size_t)g.column[a] * (size_t)place->ld;
        if (turned) place->ld = -place->ld;
    }
}

/* Numbers the members of each front consecutively, and links each front to its children in
   ascending order. */
static void icfi_collect_fronts(icf_sparse* s, const int32_t* top, const int32_t* rank,
                                int32_t* copy)
{
    const icfi_pattern g = icfi_pattern_of(s);
    int32_t i, f, k, n = s->cliques;
    for (f = 0; f <= n; f++) g.member[f] = 0;
    for (i = 0; i < n; i++) {
        copy[i] = g.order[i];
        g.member[rank[top[i]] + 1]++;
    }
    for (f = 0; f < s->fronts; f++) g.member[f + 1] += g.member[f];
    for (i = 0; i < n; i++) g.order[g.member[rank[top[i]]]++] = copy[i];
    for (f = s->fronts; f > 0; f--) g.member[f] = g.member[f - 1];
    g.member[0] = 0;
    for (f = 0; f < s->fronts; f++) {
        int32_t at = 0;
        g.child[f] = -1;
        for (k = g.member[f]; k < g.member[f + 1]; k++) {
            i = g.order[k];
            g.position[i] = k;
            g.front[i] = f;
            g.column[i] = at;
            at += g.size[i];
        }
    }
    for (f = s->fronts - 1; f >= 0; f--) {
        if (g.parent[f] < 0) continue;
        g.sibling[f] = g.child[g.parent[f]];
        g.child[g.parent[f]] = f;
    }
}

static void icfi_place_blocks(icf_sparse* s);

static void icfi_sparse_layout_analysis(icfi_analysis_at* at, icfi_arena* arena, int32_t cliques,
                                        int32_t edges)
{
    size_t n = (size_t)cliques, m = (size_t)edges;
    uint64_t list = icfi_order_list(cliques, edges);
    if (list > INT32_MAX || (size_t)list != list || (int32_t)n != cliques || (int32_t)m != edges) {
        arena->result = ICF_RESULT_OVERFLOW;
    }
    ICFI_ANALYSIS_PIECES(ICFI_PIECE_TAKE)
}

static icfi_analysis icfi_analysis_of(void* memory, const icfi_analysis_at* at, int32_t n,
                                      const int32_t* size)
{
    icfi_analysis t, *to = &t;
    ICFI_MEMSET(&t, 0, sizeof t);
    ICFI_ANALYSIS_PIECES(ICFI_PIECE_POINT)
    t.size = size;
    t.n = n;
    return t;
}

/* The bytes of `pattern` that hold the pattern, without the scratch of its analysis */
static size_t icfi_sparse_kept_bytes(int32_t cliques, int32_t edges)
{
    icfi_arena arena = icfi_arena_measure();
    icfi_sparse_at at;
    ICFI_MEMSET(&at, 0, sizeof at);
    icfi_sparse_layout_pattern(&at, &arena, cliques, edges);
    return arena.used;
}

ICF_API size_t icf_sparse_pattern_bytes(int32_t cliques, int32_t edges)
{
    icfi_sparse_at at;
    icfi_analysis_at t;
    icfi_arena arena = icfi_arena_measure();
    if (cliques < 0 || edges < 0) return 0;
    icfi_sparse_layout_pattern(&at, &arena, cliques, edges);
    icfi_sparse_layout_analysis(&t, &arena, cliques, edges);
    return arena.result == ICF_RESULT_OK ? arena.peak : 0;
}

/* Finds the elimination tree for a given order by Liu's algorithm with compressed paths. Then it walks up
   the tree from each entry of a row to count, for each clique (by place in the order), the unknowns (reach)
   and cliques (blocks) that its columns reach below the diagonal block. */
static void icfi_tree(const icfi_analysis* t, const int32_t* order)
{
    int32_t i, k, n = t->n;
    for (i = 0; i < n; i++) t->position[order[i]] = i;
    for (i = 0; i < n; i++) {
        int32_t q = order[i];
        t->parent[i] = t->mark[i] = -1;
        for (k = t->near_start[q]; k < t->near_start[q + 1]; k++) {
            int32_t j = t->position[t->near[k]], up;
            for (; j < i && t->mark[j] != i; j = up) {
                up = t->mark[j];
                t->mark[j] = i;
                if (up < 0) {
                    t->parent[j] = i;
                    break;
                }
            }
        }
    }
    for (i = 0; i < n; i++) t->mark[i] = -1;
    for (i = 0; i < n; i++) {
        int32_t q = order[i];
        t->reach[i] = t->blocks[i] = 0;
        t->mark[i] = i;
        for (k = t->near_start[q]; k < t->near_start[q + 1]; k++) {
            int32_t j = t->position[t->near[k]];
            if (j > i) continue;
            for (; t->mark[j] != i; j = t->parent[j]) {
                t->mark[j] = i;
                t->reach[j] += t->size[q];
                t->blocks[j]++;
            }
        }
    }
}

/* x[rank[i]] = x[i] */
static void icfi_permute(int32_t n, const int32_t* rank, int32_t* x, int32_t* copy)
{
    int32_t i;
    for (i = 0; i < n; i++) copy[rank[i]] = x[i];
    for (i = 0; i < n; i++) x[i] = copy[i];
}

/* Reorders so that every subtree is consecutive: children before their parent, in ascending
   order. */
static void icfi_postorder(const icfi_analysis* t, int32_t* order, int32_t* child, int32_t* sibling)
{
    int32_t *parent = t->parent, *rank = t->mark;
    int32_t i, root = -1, done = 0, n = t->n;
    for (i = 0; i < n; i++) child[i] = -1;
    for (i = n - 1; i >= 0; i--) {
        int32_t* head = parent[i] < 0 ? &root : &child[parent[i]];
        sibling[i] = *head;
        *head = i;
    }
    for (i = root; i >= 0;) {
        if (child[i] >= 0) { /* go down first, and only once */
            int32_t down = child[i];
            child[i] = -1;
            i = down;
            continue;
        }
        rank[i] = done++;
        i = sibling[i] >= 0 ? sibling[i] : parent[i];
    }
    for (i = 0; i < n; i++) parent[i] = parent[i] < 0 ? -1 : rank[parent[i]];
    icfi_permute(n, rank, order, t->other);
    icfi_permute(n, rank, parent, t->other);
    icfi_permute(n, rank, t->reach, t->other);
    icfi_permute(n, rank, t->blocks, t->other);
}

/* Chooses the best of several orders of elimination. It looks for another order only if that takes little
   time compared with the arithmetic it may save. Returns the flops of the best one; order, parent, reach
   and blocks describe it. */
static double icfi_choose_order(icfi_analysis* t, int32_t* order)
{
    const int32_t* size = t->size;
    int32_t i, way, least = INT32_MAX, most = 0, last = 0, n = t->n;
    double best = 0, graph = (double)n + (double)t->near_start[n] / 2;
    t->end = (int32_t)icfi_order_list(n, t->near_start[n] / 2);
    for (i = 0; i < n; i++) {
        if (!size[i]) continue;
        if (most < size[i]) most = size[i];
        if (least > size[i]) least = size[i];
    }

    /* the four ways: rules 0, 1, 2, and rule 1 again after cuts; 3000 and 10000 are flops per clique and
       edge */
    for (way = 0; way < 4; way++) {
        double flops = 0;
        if (way == 1 && best < 3000 * graph) continue;
        if (way == 2 && most / 2 < least) continue;
        if (way == 3) {
            if (best < 10000 * graph) continue;
            icfi_dissect(t);
        }
        t->rule = way == 3 ? 1 : way;
        icfi_order_run(t);
        icfi_tree(t, t->trial);
        for (i = 0; i < n; i++) flops += icfi_column_flops(size[t->trial[i]], t->reach[i]);
        last = way == 0 || flops < best;
        if (!last) continue;
        best = flops;
        for (i = 0; i < n; i++) order[i] = t->trial[i];
    }
    if (!last) icfi_tree(t, order);
    return best;
}

static int icfi_same(const int32_t* a, const int32_t* b, int32_t n)
{
    return n == 0 || ICFI_MEMCMP(a, b, (size_t)n * sizeof(int32_t)) == 0;
}

ICF_API icf_result icf_sparse_analyze(icf_sparse* s, void* memory, size_t bytes, int32_t cliques,
                                      const int32_t* sizes, int32_t edges, const int32_t* pairs)
{
    icfi_sparse_at at;
    icfi_analysis_at scratch;
    icfi_analysis t;
    icfi_pattern g;
    icfi_arena arena = icfi_arena_over(memory, bytes);
    int32_t *near_start, *near, *parent, *top, *cols, *rank;
    int32_t i, k, f, n = cliques, total = 0;
    int known;
    double flops;

    if (!s || n < 0 || edges < 0 || (n && !sizes) || (edges && !pairs)) {
        return ICF_RESULT_BAD_ARGUMENT;
    }
    if (s->cookie == ICFI_SPARSE_COOKIE && s->owner) return ICF_RESULT_BAD_STATE;
    ICFI_MEMSET(&at, 0, sizeof at);
    icfi_sparse_layout_pattern(&at, &arena, n, edges);
    icfi_sparse_layout_analysis(&scratch, &arena, n, edges);
    if (arena.result != ICF_RESULT_OK) return arena.result;
    for (i = 0; i < n; i++) {
        if (sizes[i] < 0) return ICF_RESULT_BAD_ARGUMENT;
        if (sizes[i] > ICFI_MOST_ROWS || sizes[i] > INT32_MAX / 4 - total)
            return ICF_RESULT_OVERFLOW;
        total += sizes[i];
    }
    for (i = 0; i < edges; i++) {
        int32_t a = pairs[2 * i], b = pairs[2 * i + 1];
        if (a < 0 || b < 0 || a >= n || b >= n || a == b) return ICF_RESULT_BAD_ARGUMENT;
    }

    /* the same pattern again, perhaps with its edges in another order */
    known = s->cookie == ICFI_SPARSE_COOKIE && s->pattern == memory && s->cliques == n &&
            s->edges == edges && icfi_same(ICFI_INTS(s, size), sizes, n);
    if (known && icfi_same(ICFI_INTS(s, pair), pairs, 2 * edges)) return ICF_RESULT_OK;
    t = icfi_analysis_of(memory, &scratch, n, sizes);
    near_start = t.near_start;
    near = t.near;
    icfi_graph(n, sizes, edges, pairs, near_start, near, t.list_start, t.list);
    if (known && icfi_same(ICFI_INTS(s, near_start), near_start, n + 1) &&
        icfi_same(ICFI_INTS(s, near), near, near_start[n])) {
        ICFI_MEMCPY(ICFI_INTS(s, pair), pairs, 2 * (size_t)edges * sizeof(int32_t));
        if (s->factor) icfi_place_blocks(s);
        return ICF_RESULT_OK;
    }

    flops = icfi_choose_order(&t, ICFI_AT(int32_t, memory, at.order));

    /* from here on s is the new pattern */
    ICFI_MEMSET(s, 0, sizeof *s);
    s->cookie = ICFI_SPARSE_COOKIE;
    s->pattern = memory;
    s->at = at;
    s->cliques = n;
    s->edges = edges;
    s->unknowns = total;
    s->flops = flops;
    s->tolerance = 100 * ICFI_EPSILON;
    s->budget = total < 50 ? 100 : 2 * total;
    g = icfi_pattern_of(s);
    if (n) ICFI_MEMCPY(g.size, sizes, (size_t)n * sizeof(int32_t));
    if (edges) ICFI_MEMCPY(g.pair, pairs, 2 * (size_t)edges * sizeof(int32_t));
    ICFI_MEMCPY(g.near_start, near_start, ((size_t)n + 1) * sizeof(int32_t));
    if (near_start[n]) ICFI_MEMCPY(g.near, near, (size_t)near_start[n] * sizeof(int32_t));
    for (i = 0, total = 0; i < n; i++) {
        g.start[i] = total;
        total += sizes[i];
    }
    g.start[n] = total;

    /* fronts are consecutive in the postorder, and numbered in the order of their last cliques */
    icfi_postorder(&t, g.order, g.child, g.sibling);
    parent = t.parent;
    top = t.position;
    cols = t.mark;
    for (i = 0; i < n; i++) cols[i] = sizes[g.order[i]];
    icfi_merge_fronts(n, parent, cols, t.reach, top);
    rank = t.other;
    for (i = 0, f = 0; i < n; i++) {
        if (top[i] != i) continue;
        g.cols[f] = cols[i];
        g.rows[f] = t.reach[i];
        g.blocks[f] = t.blocks[i];
        rank[i] = f++;
    }
    s->fronts = f;
    for (i = 0; i < n; i++) {
        if (top[i] != i) continue;
        k = rank[i];
        g.parent[k] = parent[i] < 0 ? -1 : rank[top[parent[i]]];
        if (parent[i] < 0 && cols[i]) s->components++;
    }
    icfi_collect_fronts(s, top, rank, t.trial);
    for (f = 0; f < s->fronts; f++) {
        int32_t c = g.cols[f], r = g.rows[f];
        if (s->rows_most < c + r) s->rows_most = c + r;
    }
    return ICF_RESULT_OK;
}

// ------------------------------------------------------------------------------------------------
// Layer 5, continued: numbers into fronts, factors, solves
// >>sparse-factor
/* Offers to those below: icfi_sparse_block */

/* Lists the rows of all fronts, each list in ascending order of elimination. It takes the matrix row by row
   and walks up the tree of fronts from each entry. */
static void icfi_list_rows(icf_sparse* s)
{
    const icfi_pattern g = icfi_pattern_of(s);
    const icfi_fronts h = icfi_fronts_of(s);
    int32_t *count = h.run_count, *mark = h.redo, f, k, q;
    for (f = 0, q = 0; f < s->fronts; f++) {
        h.row_start[f] = q;
        q += g.blocks[f];
        count[f] = 0;
        mark[f] = -1;
    }
    h.row_start[s->fronts] = q;
    for (k = 0; k < s->cliques; k++) {
        int32_t i = g.order[k];
        mark[g.front[i]] = k;
        for (q = g.near_start[i]; q < g.near_start[i + 1]; q++) {
            if (g.position[g.near[q]] > k) continue;
            for (f = g.front[g.near[q]]; mark[f] != k; f = g.parent[f]) {
                int32_t to = h.row_start[f] + count[f];
                mark[f] = k;
                h.row[to] = i;
                h.row_at[to] = count[f] ? h.row_at[to - 1] + g.size[h.row[to - 1]] : g.cols[f];
                count[f]++;
            }
        }
    }
}

/* Finds where the rows of each front lie in its parent, as runs of consecutive rows. A run lies either in
   the parent's columns or in its rows. */
static void icfi_find_runs(icf_sparse* s)
{
    const icfi_pattern g = icfi_pattern_of(s);
    const icfi_fronts h = icfi_fronts_of(s);
    int32_t f, k;
    for (f = 0; f < s->fronts; f++) {
        int32_t p = g.parent[f], at, runs = h.row_start[f] - 1;
        h.run_count[f] = 0;
        if (p < 0) continue;
        at = h.row_start[p];
        for (k = h.row_start[f]; k < h.row_start[f + 1]; k++) {
            int32_t i = h.row[k], to;
            if (g.front[i] == p) {
                to = g.column[i];
            } else {
                while (h.row[at] != i) at++;
                to = h.row_at[at];
            }
            if (runs < h.row_start[f] || to != h.run_to[runs] + h.run_length[runs] ||
                to == g.cols[p]) {
                runs++;
                h.run_to[runs] = to;
                h.run_length[runs] = g.size[i];
            } else {
                h.run_length[runs] += g.size[i];
            }
        }
        h.run_count[f] = runs + 1 - h.row_start[f];
    }
}

/* Places panels and update matrices. Without ICF_SPARSE_PARTIAL an update matrix lives from its own front
   to its parent's. Two stacks hold these matrices, one for even and one for odd depths: the children of a
   front are on top of one stack while its own matrix goes on top of the other. Without panel_at and
   update_at it only counts. */
static void icfi_place_fronts(const icf_sparse* s, icf_sparse_mode mode, size_t* panel_at,
                              size_t* update_at, int32_t* depth, size_t* panels, size_t* updates)
{
    const icfi_pattern g = icfi_pattern_of(s);
    size_t used[2] = {0, 0}, most[2] = {0, 0};
    int32_t f, c;
    int pass;
    *panels = 0;
    for (f = s->fronts - 1; f >= 0; f--) depth[f] = g.parent[f] < 0 ? 0 : 1 - depth[g.parent[f]];
    for (pass = 0; pass < 2; pass++) {
        size_t base = pass ? most[0] : 0;
        for (f = 0; f < s->fronts; f++) {
            size_t size = icfi_times((size_t)icfi_pad(g.rows[f]), (size_t)g.rows[f]);
            int d = mode == ICF_SPARSE_PARTIAL ? 0 : depth[f];
            if (pass == 0) {
                if (panel_at) panel_at[f] = *panels;
                *panels = icfi_plus(*panels, icfi_times((size_t)icfi_pad(g.cols[f] + g.rows[f]),
                                                        (size_t)g.cols[f]));
            }
            if (pass && update_at) update_at[f] = used[d] + (d ? base : 0);
            used[d] = icfi_plus(used[d], size);
            if (most[d] < used[d]) most[d] = used[d];
            if (mode == ICF_SPARSE_PARTIAL) continue;
            for (c = g.child[f]; c >= 0; c = g.sibling[c]) {
                used[1 - d] -= (size_t)icfi_pad(g.rows[c]) * (size_t)g.rows[c];
            }
        }
        used[0] = used[1] = 0;
    }
    *updates = icfi_plus(most[0], most[1]);
}

static void icfi_sparse_layout_factor(const icf_sparse* s, icfi_sparse_at* at, icfi_arena* arena,
                                      icf_sparse_mode mode)
{
    size_t fronts = (size_t)s->fronts, total = 0, updates = 0;
    const int32_t* blocks = ICFI_INTS(s, blocks);
    int32_t f;
    for (f = 0; f < s->fronts; f++) total += (size_t)blocks[f];
    if (s->rows_most > ICFI_MOST_ROWS) arena->result = ICF_RESULT_OVERFLOW;
    icfi_place_fronts(s, mode, NULL, NULL, ICFI_INTS(s, scratch), &at->panel_reals, &updates);
    ICFI_FACTOR_PIECES(ICFI_PIECE_TAKE)
}

#endif

#if defined(ICFI_LAYER) && \
    ICFI_LAYER == 5 /* included by itself: the loops for one width of vectors */

/* to += from, n numbers */
ICFI_TARGET ICFI_FORCE_INLINE void ICFI_K(icfi_add)(int32_t n, const icf_real* from, icf_real* to)
{
#if ICFI_WIDE
    if (n == 6 && ICFI_LANES == 4) { /* the most frequent case, without a loop */
        ICFI_STORE(to, ICFI_ADD(ICFI_LOAD(to), ICFI_LOAD(from)));
        to += 4;
        *(icfi_base_vector*)to =
            *(const icfi_base_vector*)to + *(const icfi_base_vector*)(from + 4);
        return;
    }
#endif
    if (n == 6 && ICFI_LANES == 2) {
        ICFI_STORE(to, ICFI_ADD(ICFI_LOAD(to), ICFI_LOAD(from)));
        ICFI_STORE(to + 2, ICFI_ADD(ICFI_LOAD(to + 2), ICFI_LOAD(from + 2)));
        ICFI_STORE(to + 4, ICFI_ADD(ICFI_LOAD(to + 4), ICFI_LOAD(from + 4)));
        return;
    }
    for (; n >= ICFI_LANES; n -= ICFI_LANES, from += ICFI_LANES, to += ICFI_LANES) {
        ICFI_STORE(to, ICFI_ADD(ICFI_LOAD(to), ICFI_LOAD(from)));
    }
#if ICFI_WIDE
    if (n >= ICFI_LANES / 2) {
        *(icfi_base_vector*)to = *(const icfi_base_vector*)to + *(const icfi_base_vector*)from;
        n -= ICFI_LANES / 2;
        from += ICFI_LANES / 2;
        to += ICFI_LANES / 2;
    }
#endif
    for (; n > 0; n--) *to++ += *from++;
}

/* to = from */
ICFI_TARGET ICFI_FORCE_INLINE void ICFI_K(icfi_copy)(int32_t n, const icf_real* from, icf_real* to)
{
#if ICFI_WIDE
    if (n == 6 && ICFI_LANES == 4) {
        ICFI_STORE(to, ICFI_LOAD(from));
        *(icfi_base_vector*)(to + 4) = *(const icfi_base_vector*)(from + 4);
        return;
    }
#endif
    for (; n >= ICFI_LANES; n -= ICFI_LANES, from += ICFI_LANES, to += ICFI_LANES) {
        ICFI_STORE(to, ICFI_LOAD(from));
    }
    for (; n > 0; n--) *to++ = *from++;
}

/* Adds the update matrix of a child to the lower triangle of its parent: to the parent's panel, or, with
   `above`, to the parent's own update matrix. Both consist of the same runs of rows. */
ICFI_TARGET static void ICFI_K(icfi_pass_up)(const int32_t* to, const int32_t* length, int32_t runs,
                                             const icf_real* update, ptrdiff_t ldu, icf_real* panel,
                                             ptrdiff_t ld, int32_t cols, int above)
{
    int32_t i, j, q, at = 0, from, shift = above ? cols : 0;
    for (j = 0; j < runs; at += length[j], j++) {
        const icf_real* u = update + at * ldu;
        icf_real* p;
        if ((to[j] < cols) == above) {
            if (!above) return;
            continue;
        }
        p = panel + (to[j] - shift) * ld;
        for (q = 0; q < length[j]; q++) {
            ICFI_K(icfi_add)(length[j] - q, u + q * ldu + at + q, p + q * ld + (to[j] - shift) + q);
        }
        for (i = j + 1, from = at + length[j]; i < runs; from += length[i], i++) {
            const icf_real* v = u + from;
            icf_real* w = p + (to[i] - shift);
            int32_t n = length[i];
            for (q = 0; q < length[j]; q++, v += ldu, w += ld) ICFI_K(icfi_add)(n, v, w);
        }
    }
}

/* Factors the fronts marked in `redo`. Returns the front with a bad pivot, or -1. */
ICFI_TARGET static int32_t ICFI_K(icfi_factor_fronts)(icf_sparse* s, int32_t* pivot)
{
    const icfi_pattern g = icfi_pattern_of(s);
    const icfi_fronts h = icfi_fronts_of(s);
    int32_t f, c, strip, fronts = s->fronts;
    for (f = 0; f < fronts; f++) {
        int32_t nc = g.cols[f], nr = g.rows[f], bad;
        ptrdiff_t ld = icfi_pad(nc + nr), ldu = icfi_pad(nr);
        icf_real *p = h.panels + h.panel_at[f], *u = h.updates + h.update_at[f];
        if (!h.redo[f]) continue;
        for (c = g.child[f]; c >= 0; c = g.sibling[c]) {
            ICFI_K(icfi_pass_up)
            (h.run_to + h.row_start[c], h.run_length + h.row_start[c], h.run_count[c],
             h.updates + h.update_at[c], icfi_pad(g.rows[c]), p, ld, nc, 0);
        }
        bad = ICFI_K(icfi_panel_factor)(nc + nr, (int32_t)ld, nc, p, ld, 1, h.small, ICFI_SMALL);
        if (bad >= 0) {
            *pivot = bad;
            return f;
        }
        h.redo[f] = 0;
        if (!nr) continue;
        for (strip = 0; strip < nc; strip += ICFI_STRIP) {
            ICFI_K(icfi_outer)
            (nr, (int32_t)ldu, nc - strip < ICFI_STRIP ? nc - strip : ICFI_STRIP,
             p + nc + strip * ld, ld, p + strip + strip * ld, u, ldu, strip == 0, 1, h.small);
        }
        for (c = g.child[f]; c >= 0; c = g.sibling[c]) {
            ICFI_K(icfi_pass_up)
            (h.run_to + h.row_start[c], h.run_length + h.row_start[c], h.run_count[c],
             h.updates + h.update_at[c], icfi_pad(g.rows[c]), u, ldu, nc, 1);
        }
    }
    return -1;
}

/* Copies the entries of the listed cliques from x to w, or with `back` from w to x. Returns how many. */
ICFI_TARGET ICFI_FORCE_INLINE int32_t ICFI_K(icfi_gather)(const int32_t* list, int32_t count,
                                                          const int32_t* start, icf_real* x,
                                                          icf_real* w, int back)
{
    int32_t k, at = 0;
    for (k = 0; k < count; k++) {
        int32_t first = start[list[k]], n = start[list[k] + 1] - first;
        if (back) {
            ICFI_K(icfi_copy)(n, w + at, x + first);
        } else {
            ICFI_K(icfi_copy)(n, x + first, w + at);
        }
        at += n;
    }
    return at;
}

/* Solves L y = b and then D L' x = y, front by front, on x in the caller's order. In the first pass a front
   collects in w the subtractions from the rows below its columns, and applies each to x once. */
ICFI_TARGET static void ICFI_K(icfi_solve_fronts)(const icf_sparse* s, icf_real* x, int32_t count,
                                                  ptrdiff_t ldx)
{
    const icfi_pattern g = icfi_pattern_of(s);
    const icfi_fronts h = icfi_fronts_of(s);
    icf_real* w = h.work;
    int32_t pass, n, f, k, i, r, at;
    for (pass = 0; pass < 2; pass++) {
        for (n = 0; n < s->fronts; n++) {
            const icf_real* p;
            const int32_t *mine, *below;
            int32_t members, blocks, height;
            ptrdiff_t ld;
            f = pass ? s->fronts - 1 - n : n;
            p = h.panels + h.panel_at[f];
            mine = g.order + g.member[f];
            members = g.member[f + 1] - g.member[f];
            below = h.row + h.row_start[f];
            blocks = h.row_start[f + 1] - h.row_start[f];
            height = g.cols[f] + g.rows[f];
            ld = icfi_pad(height);
            for (r = 0; r < count; r++) {
                icf_real* b = x + (ptrdiff_t)r * ldx;
                at = ICFI_K(icfi_gather)(mine, members, g.start, b, w, 0);
                if (pass) {
                    (void)ICFI_K(icfi_gather)(below, blocks, g.start, b, w + at, 0);
                    ICFI_K(icfi_backward)(g.cols[f], height, p, ld, w);
                } else {
                    for (i = at; i < height; i++) w[i] = 0;
                    ICFI_K(icfi_forward)(g.cols[f], height, p, ld, w);
                    for (k = 0; k < blocks; k++) {
                        int32_t first = g.start[below[k]], size = g.start[below[k] + 1] - first;
                        ICFI_K(icfi_add)(size, w + at, b + first);
                        at += size;
                    }
                }
                (void)ICFI_K(icfi_gather)(mine, members, g.start, b, w, 1);
            }
        }
    }
}

#endif

#ifndef ICFI_LAYER

#define ICFI_LAYER 5
#define ICFI_WIDE 0
#include "icf.h"
#undef ICFI_WIDE
#ifdef ICFI_SIMD_AVX2
#define ICFI_WIDE 1
#include "icf.h"
#undef ICFI_WIDE
#endif
#undef ICFI_LAYER

/* ---- without a factor ---- */

/* Takes the diagonal blocks twice, to multiply with and to factor, and one block for each pair of
   neighbours, whatever its number of edges. Such a block belongs to (clique, later neighbour) in the lists
   of neighbours, and has the rows of the neighbour. */
static void icfi_sparse_layout_iterative(const icf_sparse* s, icfi_sparse_at* at, icfi_arena* arena)
{
    const int32_t *near_start = ICFI_INTS(s, near_start), *near = ICFI_INTS(s, near),
                  *size = ICFI_INTS(s, size);
    size_t diagonal = 0, reals, r = sizeof(icf_real);
    int32_t i, k;
    for (i = 0; i < s->cliques; i++)
        diagonal = icfi_plus(diagonal, icfi_times((size_t)size[i], (size_t)size[i]));
    reals = diagonal;
    for (i = 0; i < s->cliques; i++) {
        for (k = near_start[i]; k < near_start[i + 1]; k++) {
            if (near[k] < i) continue;
            reals = icfi_plus(reals, icfi_times((size_t)size[i], (size_t)size[near[k]]));
        }
    }
    at->block_at = icfi_arena_take(arena, (size_t)near_start[s->cliques], sizeof(size_t));
    at->redo = icfi_arena_take(arena, 1, sizeof(int32_t));
    at->panel_reals = reals;
    at->panels = icfi_arena_take(arena, reals, r);
    at->diagonal = icfi_arena_take(arena, diagonal, r);
    at->vectors = icfi_arena_take(arena, (size_t)s->unknowns, 5 * r);
}

static void icfi_place_apart(icf_sparse* s)
{
    const icfi_pattern g = icfi_pattern_of(s);
    size_t *block_at = ICFI_FACTOR_SIZES(s, block_at), at = 0;
    icfi_place* place = g.place;
    int32_t i, k, e;
    for (i = 0; i < s->cliques; i++, place++) {
        place->at = at;
        place->ld = g.size[i];
        place->front = g.size[i] ? 0 : -1;
        at += (size_t)g.size[i] * (size_t)g.size[i];
    }
    for (i = 0; i < s->cliques; i++) {
        for (k = g.near_start[i]; k < g.near_start[i + 1]; k++) {
            block_at[k] = at;
            if (g.near[k] > i) at += (size_t)g.size[i] * (size_t)g.size[g.near[k]];
        }
    }
    for (e = 0; e < s->edges; e++, place++) {
        int32_t a = g.pair[2 * e], b = g.pair[2 * e + 1], low = a < b ? a : b, high = a < b ? b : a;
        place->front = -1;
        if (!g.size[a] || !g.size[b]) continue;
        place->front = 0;
        place->at =
            block_at[icfi_find(g.near, g.near_start[low], g.near_start[low + 1] - 1, NULL, high)];
        place->ld = a < b ? -g.size[b] : g.size[a];
    }
}

static void icfi_place_blocks(icf_sparse* s)
{
    if (s->mode == ICF_SPARSE_ITERATIVE) {
        icfi_place_apart(s);
    } else {
        icfi_place_in_fronts(s);
    }
}

/* y = A x */
static void icfi_multiply(const icf_sparse* s, const icf_real* x, icf_real* y)
{
    const icfi_pattern g = icfi_pattern_of(s);
    const size_t* block_at = ICFI_FACTOR_SIZES(s, block_at);
    const icf_real* blocks = ICFI_FACTOR_REALS(s, panels);
    int32_t i, k, p, q;
    for (i = 0; i < s->unknowns; i++) y[i] = 0;
    for (i = 0; i < s->cliques; i++) {
        int32_t n = g.size[i];
        const icf_real *xi = x + g.start[i], *d = blocks + g.place[i].at;
        icf_real* yi = y + g.start[i];
        for (q = 0; q < n; q++) {
            icf_real sum = d[q + q * (ptrdiff_t)n] * xi[q];
            for (p = q + 1; p < n; p++) {
                icf_real v = d[p + q * (ptrdiff_t)n];
                yi[p] += v * xi[q];
                sum += v * xi[p];
            }
            yi[q] += sum;
        }
        for (k = g.near_start[i]; k < g.near_start[i + 1]; k++) {
            int32_t j = g.near[k], m = g.size[j];
            const icf_real *b = blocks + block_at[k], *xj = x + g.start[j];
            icf_real* yj = y + g.start[j];
            if (j < i) continue;
            for (q = 0; q < n; q++) {
                icf_real sum = 0;
                for (p = 0; p < m; p++) {
                    icf_real v = b[p + q * (ptrdiff_t)m];
                    yj[p] += v * xi[q];
                    sum += v * xj[p];
                }
                yi[q] += sum;
            }
        }
    }
}

static icf_real icfi_dot(int32_t n, const icf_real* a, const icf_real* b)
{
    icf_real sum = 0;
    int32_t i;
    for (i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* z = (inverses of the diagonal blocks) r */
static void icfi_precondition(const icf_sparse* s, const icf_real* r, icf_real* z)
{
    const icfi_pattern g = icfi_pattern_of(s);
    const icf_real* diagonal = ICFI_FACTOR_REALS(s, diagonal);
    int32_t i;
    for (i = 0; i < s->unknowns; i++) z[i] = r[i];
    for (i = 0; i < s->cliques; i++) {
        (void)icf_dense_solve(g.size[i], diagonal + g.place[i].at, g.size[i], z + g.start[i], 1,
                              g.size[i]);
    }
}

/* Conjugate gradients. The carried residual drifts from the true one. When the carried one is small enough,
   the true one is formed; if that is still too large, the iteration begins again from there. */
static icf_result icfi_iterate(icf_sparse* s, icf_real* x)
{
    int32_t i, n = s->unknowns, used;
    icf_real *b = ICFI_FACTOR_REALS(s, vectors), *r = b + n, *z = r + n, *p = z + n, *q = p + n;
    icf_real scale, norm, last = -1, largest = 0;
    for (i = 0; i < n; i++) {
        if (!(ICF_FABS(x[i]) <= ICF_REAL_MAX)) return ICF_RESULT_NOT_FINITE;
        if (largest < ICF_FABS(x[i])) largest = ICF_FABS(x[i]);
    }
    if (largest == 0) return ICF_RESULT_OK;

    /* solve for b over its largest entry, so that no square over- or underflows */
    for (i = 0; i < n; i++) {
        b[i] = x[i] / largest;
        x[i] = 0;
        r[i] = b[i];
    }
    scale = ICF_SQRT(icfi_dot(n, b, b));
    norm = scale;
    for (used = 0; norm > s->tolerance * scale;) {
        icf_real rz;
        icfi_precondition(s, r, z);
        for (i = 0; i < n; i++) p[i] = z[i];
        rz = icfi_dot(n, r, z);
        while (norm > s->tolerance * scale && used < s->budget) {
            icf_real curvature, step, before = rz;
            icfi_multiply(s, p, q);
            curvature = icfi_dot(n, p, q);
            if (!(curvature > 0)) break;
            step = rz / curvature;
            for (i = 0; i < n; i++) x[i] += step * p[i];
            for (i = 0; i < n; i++) r[i] -= step * q[i];
            norm = ICF_SQRT(icfi_dot(n, r, r));
            icfi_precondition(s, r, z);
            rz = icfi_dot(n, r, z);
            for (i = 0; i < n; i++) p[i] = z[i] + rz / before * p[i];
            used++;
        }
        icfi_multiply(s, x, q);
        for (i = 0; i < n; i++) r[i] = b[i] - q[i];
        norm = ICF_SQRT(icfi_dot(n, r, r));
        if (used >= s->budget || (last >= 0 && norm > last / 2)) break;
        last = norm;
    }
    for (i = 0; i < n; i++) x[i] *= largest;
    s->iterations += used;
    if (!(norm / scale <= s->residual)) s->residual = norm / scale;
    return norm <= s->tolerance * scale ? ICF_RESULT_OK : ICF_RESULT_NOT_CONVERGED;
}

/* ---- the calls ---- */

enum { ICFI_SPARSE_UNBOUND, ICFI_SPARSE_BOUND, ICFI_SPARSE_ASSEMBLING, ICFI_SPARSE_FACTORED };

static int icfi_sparse_is(const icf_sparse* s, int32_t state)
{
    return s && s->cookie == ICFI_SPARSE_COOKIE && s->state >= state;
}

static int icfi_sparse_assembling(const icf_sparse* s)
{
    return icfi_sparse_is(s, ICFI_SPARSE_ASSEMBLING) && s->state == ICFI_SPARSE_ASSEMBLING;
}

static icfi_arena icfi_sparse_measure(const icf_sparse* s, icf_sparse_mode mode, icfi_sparse_at* at,
                                      icfi_arena arena)
{
    if (mode == ICF_SPARSE_ITERATIVE) {
        icfi_sparse_layout_iterative(s, at, &arena);
    } else {
        icfi_sparse_layout_factor(s, at, &arena, mode);
    }
    return arena;
}

static int icfi_good_mode(icf_sparse_mode mode)
{
    return mode == ICF_SPARSE_FULL || mode == ICF_SPARSE_PARTIAL || mode == ICF_SPARSE_ITERATIVE;
}

ICF_API size_t icf_sparse_bytes(const icf_sparse* s, icf_sparse_mode mode)
{
    icfi_sparse_at at;
    icfi_arena arena;
    if (!icfi_sparse_is(s, ICFI_SPARSE_UNBOUND) || !icfi_good_mode(mode)) return 0;
    arena = icfi_sparse_measure(s, mode, &at, icfi_arena_measure());
    return arena.result == ICF_RESULT_OK ? arena.peak : 0;
}

ICF_API icf_result icf_sparse_bind(icf_sparse* s, icf_sparse_mode mode, void* memory, size_t bytes)
{
    icfi_sparse_at at;
    icfi_arena arena = icfi_arena_over(memory, bytes);
    if (!s || !icfi_good_mode(mode)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_is(s, ICFI_SPARSE_UNBOUND) || s->owner) return ICF_RESULT_BAD_STATE;
    at = s->at;
    arena = icfi_sparse_measure(s, mode, &at, arena);
    if (arena.result != ICF_RESULT_OK) return arena.result;
    s->at = at;
    s->mode = (int32_t)mode;
    s->factor = memory;
    s->state = ICFI_SPARSE_BOUND;
    s->bound = 1;
    if (mode != ICF_SPARSE_ITERATIVE) {
        size_t panels, updates;
        icfi_list_rows(s);
        icfi_find_runs(s);
        icfi_place_fronts(s, mode, ICFI_FACTOR_SIZES(s, panel_at), ICFI_FACTOR_SIZES(s, update_at),
                          ICFI_INTS(s, scratch), &panels, &updates);
    }
    icfi_place_blocks(s);
    return ICF_RESULT_OK;
}

#ifndef ICF_NO_MALLOC
ICF_API void icf_sparse_destroy(icf_sparse* s)
{
    if (!s) return;
    if (s->owner) {
        ICF_FREE(s->pattern);
        ICF_FREE(s->factor);
    }
    ICFI_MEMSET(s, 0, sizeof *s);
}

ICF_API icf_result icf_sparse_create(icf_sparse* s, icf_sparse_mode mode, int32_t cliques,
                                     const int32_t* sizes, int32_t edges, const int32_t* pairs)
{
    icf_result result;
    size_t bytes = icf_sparse_pattern_bytes(cliques, edges);
    void *pattern, *factor;
    if (!s) return ICF_RESULT_BAD_ARGUMENT;
    ICFI_MEMSET(s, 0, sizeof *s);
    if (!icfi_good_mode(mode) || cliques < 0 || edges < 0) return ICF_RESULT_BAD_ARGUMENT;
    if (!bytes) return ICF_RESULT_OVERFLOW;
    pattern = ICF_MALLOC(bytes);
    if (!pattern) return ICF_RESULT_NO_MEMORY;
    result = icf_sparse_analyze(s, pattern, bytes, cliques, sizes, edges, pairs);
    bytes = result == ICF_RESULT_OK ? icf_sparse_bytes(s, mode) : 0;
    if (result == ICF_RESULT_OK && !bytes) result = ICF_RESULT_OVERFLOW;
    factor = bytes ? ICF_MALLOC(bytes) : NULL;
    if (result == ICF_RESULT_OK && !factor) result = ICF_RESULT_NO_MEMORY;
    if (result == ICF_RESULT_OK) result = icf_sparse_bind(s, mode, factor, bytes);
    if (result == ICF_RESULT_OK) {
        s->owner = 1;
    } else {
        ICFI_MEMSET(s, 0, sizeof *s);
        if (factor) ICF_FREE(factor);
        ICF_FREE(pattern);
    }
    return result;
}
#endif

ICF_API icf_result icf_sparse_begin(icf_sparse* s)
{
    int32_t f;
    if (!s) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_is(s, ICFI_SPARSE_BOUND)) return ICF_RESULT_BAD_STATE;
    ICFI_MEMSET(ICFI_FACTOR_REALS(s, panels), 0, s->at.panel_reals * sizeof(icf_real));
    for (f = 0; f < (s->mode == ICF_SPARSE_ITERATIVE ? 1 : s->fronts); f++) {
        ICFI_FACTOR_INTS(s, redo)[f] = 1;
    }
    s->state = ICFI_SPARSE_ASSEMBLING;
    return ICF_RESULT_OK;
}

/* Marks front f and all fronts above it to be redone, and zeroes their panels. */
static void icfi_redo_from(icf_sparse* s, int32_t f)
{
    const icfi_pattern g = icfi_pattern_of(s);
    const icfi_fronts h = icfi_fronts_of(s);
    for (; f >= 0 && !h.redo[f]; f = g.parent[f]) {
        h.redo[f] = 1;
        ICFI_MEMSET(h.panels + h.panel_at[f], 0,
                    (size_t)icfi_pad(g.cols[f] + g.rows[f]) * (size_t)g.cols[f] * sizeof(icf_real));
    }
}

ICF_API icf_result icf_sparse_begin_partial(icf_sparse* s, int32_t count, const int32_t* changed)
{
    icfi_pattern g;
    int32_t i, k;
    if (!s || count < 0 || (count && !changed)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_is(s, ICFI_SPARSE_BOUND)) return ICF_RESULT_BAD_STATE;
    for (i = 0; i < count; i++) {
        if (changed[i] < 0 || changed[i] >= s->cliques) return ICF_RESULT_BAD_ARGUMENT;
    }
    if (s->mode != ICF_SPARSE_PARTIAL || s->state != ICFI_SPARSE_FACTORED)
        return icf_sparse_begin(s);
    g = icfi_pattern_of(s);
    for (i = 0; i < count; i++) {
        int32_t c = changed[i];
        for (k = g.near_start[c]; k < g.near_start[c + 1]; k++) {
            if (g.position[g.near[k]] < g.position[c]) icfi_redo_from(s, g.front[g.near[k]]);
        }
        icfi_redo_from(s, g.front[c]);
    }
    s->state = ICFI_SPARSE_ASSEMBLING;
    return ICF_RESULT_OK;
}

/* The place of block k of `count`, after `first` others. NULL if there is no such block, or if
   no assembly has begun. */
static const icfi_place* icfi_sparse_place(const icf_sparse* s, int32_t k, int32_t count,
                                           int32_t first)
{
    if (!icfi_sparse_assembling(s) || k < 0 || k >= count) return NULL;
    return ICFI_AT(const icfi_place, s->pattern, s->at.place) + first + k;
}

static int icfi_sparse_wants(const icf_sparse* s, const icfi_place* place)
{
    return place && place->front >= 0 && ICFI_FACTOR_INTS(s, redo)[place->front];
}

/* The entries of block k, counted through the cliques and then the edges, and the distance between its
   columns: negative if the block is stored turned. NULL if the block is not wanted. */
static icf_real* icfi_sparse_block(const icf_sparse* s, int32_t k, int32_t* ld)
{
    const icfi_place* place = icfi_sparse_place(s, k, s->cliques + s->edges, 0);
    if (!icfi_sparse_wants(s, place)) return NULL;
    *ld = place->ld;
    return ICFI_FACTOR_REALS(s, panels) + place->at;
}

/* The result of a call that found no place to add to */
static icf_result icfi_sparse_refuse(const icf_sparse* s)
{
    return !s || icfi_sparse_assembling(s) ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_BAD_STATE;
}

ICF_API int icf_sparse_wants_diagonal(const icf_sparse* s, int32_t clique)
{
    return s && icfi_sparse_wants(s, icfi_sparse_place(s, clique, s->cliques, 0));
}

ICF_API int icf_sparse_wants_edge(const icf_sparse* s, int32_t edge)
{
    return s && icfi_sparse_wants(s, icfi_sparse_place(s, edge, s->edges, s->cliques));
}

ICF_API icf_result icf_sparse_add_diagonal(icf_sparse* s, int32_t clique, const icf_real* block,
                                           int32_t ld)
{
    const icfi_place* place = s ? icfi_sparse_place(s, clique, s->cliques, 0) : NULL;
    int32_t j, n;
    icf_real* to;
    if (!place) return icfi_sparse_refuse(s);
    n = ICFI_INTS(s, size)[clique];
    if (n && (!block || ld < n)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_wants(s, place)) return ICF_RESULT_OK;
    to = ICFI_FACTOR_REALS(s, panels) + place->at;
    /* add the whole square: the entries above a diagonal are scratch */
    for (j = 0; j < n; j++, block += ld, to += place->ld) icfi_add_base(n, block, to);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_sparse_add_edge(icf_sparse* s, int32_t edge, const icf_real* block,
                                       int32_t ld)
{
    const icfi_place* place = s ? icfi_sparse_place(s, edge, s->edges, s->cliques) : NULL;
    const int32_t* pair;
    int32_t i, na, nb;
    ptrdiff_t step;
    icf_real *to, *at;
    if (!place) return icfi_sparse_refuse(s);
    pair = ICFI_INTS(s, pair) + 2 * (ptrdiff_t)edge;
    na = ICFI_INTS(s, size)[pair[0]];
    nb = ICFI_INTS(s, size)[pair[1]];
    if (na && nb && (!block || ld < na)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_wants(s, place)) return ICF_RESULT_OK;
    to = ICFI_FACTOR_REALS(s, panels) + place->at;
    step = place->ld;
    if (step > 0) {
        for (; nb > 0; nb--, block += ld, to += step) icfi_add_base(na, block, to);
    } else {
        for (; nb > 0; nb--, block += ld, to++) {
            for (i = 0, at = to; i + 3 <= na; i += 3, at -= 3 * step) {
                at[0] += block[i];
                at[-step] += block[i + 1];
                at[-2 * step] += block[i + 2];
            }
            for (; i < na; i++, at -= step) at[0] += block[i];
        }
    }
    return ICF_RESULT_OK;
}

/* The caller's number of the unknown in column `pivot` of front f */
static int32_t icfi_unknown_of(const icf_sparse* s, int32_t f, int32_t pivot)
{
    const icfi_pattern g = icfi_pattern_of(s);
    int32_t k = g.member[f];
    for (; pivot >= g.size[g.order[k]]; k++) pivot -= g.size[g.order[k]];
    return g.start[g.order[k]] + pivot;
}

ICF_API icf_result icf_sparse_factor(icf_sparse* s, int32_t* pivot)
{
    int32_t f, at = 0;
    if (!s) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_sparse_assembling(s)) return ICF_RESULT_BAD_STATE;
    if (s->mode == ICF_SPARSE_ITERATIVE) {
        const icfi_pattern g = icfi_pattern_of(s);
        icf_real* diagonal = ICFI_FACTOR_REALS(s, diagonal);
        for (f = 0; f < s->cliques; f++) {
            size_t reals = (size_t)g.size[f] * (size_t)g.size[f];
            if (reals)
                ICFI_MEMCPY(diagonal + g.place[f].at, ICFI_FACTOR_REALS(s, panels) + g.place[f].at,
                            reals * sizeof(icf_real));
            if (icf_dense_factor(g.size[f], diagonal + g.place[f].at, g.size[f], &at) !=
                ICF_RESULT_OK) {
                s->state = ICFI_SPARSE_BOUND;
                if (pivot) *pivot = g.start[f] + at;
                return ICF_RESULT_NOT_SPD;
            }
        }
    } else {
        f = ICFI_WIDEST(icfi_factor_fronts, (s, &at));
        ICFI_WIDEST_END();
        if (f >= 0) {
            s->state = ICFI_SPARSE_BOUND;
            if (pivot) *pivot = icfi_unknown_of(s, f, at);
            return ICF_RESULT_NOT_SPD;
        }
    }
    s->state = ICFI_SPARSE_FACTORED;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_sparse_solve(icf_sparse* s, icf_real* x, int32_t count, int32_t ldx)
{
    int32_t r;
    icf_result result = ICF_RESULT_OK;
    if (!s || count < 0 || ldx < s->unknowns || (count && s->unknowns && !x)) {
        return ICF_RESULT_BAD_ARGUMENT;
    }
    if (!icfi_sparse_is(s, ICFI_SPARSE_FACTORED)) return ICF_RESULT_NO_FACTOR;
    if (!s->unknowns) return ICF_RESULT_OK;
    if (s->mode != ICF_SPARSE_ITERATIVE) {
        ICFI_WIDEST(icfi_solve_fronts, (s, x, count, ldx));
        ICFI_WIDEST_END();
        return ICF_RESULT_OK;
    }
    s->iterations = 0;
    s->residual = 0;
    for (r = 0; r < count; r++) {
        icf_result one = icfi_iterate(s, x + (ptrdiff_t)r * ldx);
        if (one != ICF_RESULT_OK) result = one;
    }
    return result;
}

ICF_API size_t icf_sparse_bytes_most(int32_t cliques, int32_t edges, int32_t largest,
                                     icf_sparse_mode mode)
{
    /* Fronts, rows and columns are at most those of the dense matrix. A front has only the rows of
       cliques to which an edge leads out of its subtree. So at most `edges` fronts have rows. In one of
       the two stacks of ICF_SPARSE_FULL no subtree contains another, so all its rows together are at most
       the rows of `edges` cliques. */
    icfi_arena arena = icfi_arena_measure();
    size_t c = (size_t)cliques, e = (size_t)edges, m = (size_t)largest, r = sizeof(icf_real);
    size_t n = icfi_times(c, m), few = e < c ? e : c, rows = icfi_times(few, m);
    size_t pad = 32 / sizeof(icf_real), most;
    if (cliques < 0 || edges < 0 || largest < 0 || !icfi_good_mode(mode)) return 0;
    if (mode == ICF_SPARSE_ITERATIVE) {
        (void)icfi_arena_take(&arena, icfi_times(2, e), sizeof(size_t));
        (void)icfi_arena_take(&arena, 1, sizeof(int32_t));
        (void)icfi_arena_take(&arena, icfi_times(icfi_plus(c, e), icfi_times(m, m)), r);
        (void)icfi_arena_take(&arena, icfi_times(c, icfi_times(m, m)), r);
        (void)icfi_arena_take(&arena, n, 5 * r);
        return arena.result == ICF_RESULT_OK ? arena.peak : 0;
    }
    most = icfi_times(few, icfi_times(rows, icfi_plus(rows, pad)));
    if (mode == ICF_SPARSE_FULL) {
        size_t alive = icfi_times(icfi_times(e, m), icfi_plus(rows, pad));
        most = icfi_times(2, alive < most ? alive : most);
    }
    (void)icfi_arena_take(&arena, icfi_plus(icfi_times(4, c), 1), sizeof(int32_t));
    (void)icfi_arena_take(&arena, icfi_times(c, c), 4 * sizeof(int32_t));
    (void)icfi_arena_take(&arena, icfi_times(2, c), sizeof(size_t));
    (void)icfi_arena_take(&arena, ICFI_SMALL, r);
    (void)icfi_arena_take(&arena, icfi_plus(n, pad), r);
    (void)icfi_arena_take(&arena, icfi_plus(icfi_times(n, icfi_plus(n, pad)), pad), r);
    (void)icfi_arena_take(&arena, icfi_plus(most, pad), r);
    (void)icfi_arena_take(&arena, 16, ICFI_GRANULE); /* rounding */
    return arena.result == ICF_RESULT_OK ? arena.peak : 0;
}

#endif

#ifndef ICFI_LAYER

// ------------------------------------------------------------------------------------------------
// Layer 6: potentials
// >>potentials
/* Offers to those below: icfi_all_finite, icfi_any_tangent, icfi_cone, icfi_cone_make, icfi_contact_check,
   icfi_contact_cones, ICFI_CONTACT_COOKIE, icfi_contact_dual, icfi_contact_frame, icfi_contact_margin,
   icfi_contact_mode, icfi_contact_price, icfi_contact_term, icfi_finite, icfi_finite3, icfi_is_carried,
   icfi_lag_is_good, ICFI_LAST_MODEL, icfi_law_margin, icfi_law_velocity, icfi_limit_friction,
   icfi_normal_law, icfi_normal_price, icfi_price, icfi_row_check, icfi_row_cone, ICFI_ROW_COOKIE,
   icfi_row_is_linear, icfi_row_price, icfi_soft, icfi_soft_norm, icfi_surface_check, ICFI_SURFACE_COOKIE */

/* A potential is evaluated from its term, which holds its numbers for one step. The forms below lose no
   digits: costs are 0 where nothing acts, and grow from there by sums of terms of one sign.

   Everything that the library knows of a normal law or of a friction model is in this section; other code
   asks it.

   To add a normal law, give it a name in icf_law, before ICF_LAW_CUSTOM, and write
     1. its function: cost, impulse and slope at a velocity. If the law dissipates, also its elastic impulse,
        from which icf_get_contact works out the energy lost;
     2. its case in icfi_normal_law, which calls that function;
     3. its case in icfi_normal_make: the numbers of a step, the impulse at its start, and the facts.
   All other code goes by the facts. The line search stops before a WALL. icf_sensitivity counts contacts near
   a KINK. The interior point method measures from the end of the force, and inverts a QUADRATIC law at once.

   To add a model of friction, give it a name in icf_model, set ICFI_LAST_MODEL, and write
     1. its function: cost, impulse and Hessian. If it has a soft norm, it hands on `inverse` of icfi_soft,
        and Newton's method then steps with a dual. It sets `inverse` to 0 without such a norm, or where
        friction does not act;
     2. its case in icfi_contact_price, which calls that function;
     3. its cones, in icfi_contact_cones: the interior point method makes its units of them;
     4. in icfi_contact_mode: the slip up to which it sticks, and the share of its friction limit in use;
     5. in icfi_friction_load: the impulse that limits it, unless this is the normal impulse; or, if sliding
        carries the contact, its name in icfi_is_carried;
     6. in icfi_contact_margin: its kinks, if it has others than those of its normal law.

   icfi_contact_check refuses contacts whose numbers the law or model cannot take. tests/test_recipe.c adds
   one of each in this way, at the places marked ICFI_ALSO. */

#ifndef ICFI_ALSO
#define ICFI_ALSO(place)
#define ICFI_LAST_LAW ICF_LAW_CUSTOM
#define ICFI_LAST_MODEL ICF_MODEL_SAP
#endif

#define ICFI_SURFACE_COOKIE 0x1cf0c048
#define ICFI_CONTACT_COOKIE 0x1cf0c049
#define ICFI_ROW_COOKIE 0x1cf00123

/* The law of a contact given by force, with neither stiffness nor dissipation: n = push at any velocity.
   Its force never ends, so its cost has no natural zero. */
#define ICFI_LAW_CONSTANT 100

/* Facts of a law. KINK: the force ends at vhat with a kink. RANGE: the force ends at phi = range. WALL:
   the law has no value where phi <= 0. QUADRATIC: n = (push + scale x)(bhat + d x) for x = vhat - v
   above 0. CONSTANT: n = push. */
enum { ICFI_KINK = 1, ICFI_RANGE = 2, ICFI_WALL = 4, ICFI_QUADRATIC = 8, ICFI_CONSTANT = 16 };

#define ICFI_PI ICF_R(3.14159265358979323846)

static int icfi_finite(icf_real x)
{
    return x - x == 0;
}

static int icfi_finite3(icf_real x, icf_real y, icf_real z)
{
    return (x - x) + (y - y) + (z - z) == 0;
}

static int icfi_all_finite(size_t n, const icf_real* x)
{
    icf_real sum = 0;
#ifdef ICFI_SIMD_GNU
    const size_t lanes = sizeof(icfi_base_vector) / sizeof(icf_real);
    icfi_base_vector a = {0}, b = {0}, c = {0},
                     d = {0}; /* one sum would wait for each of its terms */
    size_t k;
    for (; n >= 4 * lanes; n -= 4 * lanes, x += 4 * lanes) {
        const icfi_base_vector* p = (const icfi_base_vector*)(const void*)x;
        a += p[0] - p[0];
        b += p[1] - p[1];
        c += p[2] - p[2];
        d += p[3] - p[3];
    }
    a += b + (c + d);
    for (k = 0; k < lanes; k++) sum += a[k];
#endif
    for (; n; n--, x++) sum += *x - *x;
    return sum == 0;
}

/* ---- logarithm ---- */

/* ln((1 + s) / (1 - s)) = 2 (s + s^3/3 + ...), for |s| < 0.172 to rounding */
static icf_real icfi_log_ratio(icf_real s)
{
    icf_real q = s * s, sum = ICF_R(1.0) / 21;
    int i;
    for (i = 19; i > 1; i -= 2) sum = 1 / (icf_real)i + q * sum;
    return 2 * (s + s * q * sum);
}

/* ln x, from x = m 2^e with sqrt(1/2) <= m < sqrt(2). If x has under- or overflowed on the way, the result
   is -ICF_REAL_MAX or ICF_REAL_MAX. */
static icf_real icfi_log(icf_real x)
{
    const icf_real big = ICF_R(4294967296.0), root = ICF_R(1.41421356237309504880);
    icf_real e = 0;
    if (!(x > 0) || !icfi_finite(x)) return x > 0 ? ICF_REAL_MAX : -ICF_REAL_MAX;
    while (x >= big) x /= big, e += 32;
    while (x * big < 1) x *= big, e -= 32;
    while (x >= root) x /= 2, e += 1;
    while (2 * x < root) x *= 2, e -= 1;
    /* ln 2 in two parts, the first so short that e times it is exact in double */
    return e * ICF_R(0.69314718036912381649) +
           (e * ICF_R(1.90821492927058770002e-10) + icfi_log_ratio((x - 1) / (x + 1)));
}

/* ln(1 - t) of 0 <= t < 1 */
static icf_real icfi_log_below_one(icf_real t)
{
    return t < ICF_R(0.25) ? icfi_log_ratio(-t / (2 - t)) : icfi_log(1 - t);
}

ICFI_ALSO(FUNCTIONS)

/* ---- normal laws: v -> cost, n >= 0, n' <= 0 ---- */

ICFI_FORCE_INLINE int icfi_nothing(icf_real out[3])
{
    out[0] = out[1] = out[2] = 0;
    return 1;
}

ICFI_FORCE_INLINE int icfi_elastic(icf_real impulse, icf_real out[3])
{
    out[1] = icfi_max(0, impulse);
    return 1;
}

/* f = k (-phi)+ (1 - d v)+ : n = (push + K x)(bhat + d x), x = vhat - v; push = K ahat, and one of
   push and bhat is 0 */
ICFI_FORCE_INLINE int icfi_hunt_crossley(const icf_normal* n, icf_real v, int elastic,
                                         icf_real out[3])
{
    icf_real x = n->vhat - v, a, b;
    if (elastic) return icfi_elastic(n->push + n->scale * x, out);
    if (!(x > 0)) return icfi_nothing(out);
    a = n->push + n->scale * x;
    b = n->bhat + n->d * x;
    out[0] = x * x *
             ((n->d * n->push + n->scale * n->bhat) / 2 + n->scale * n->d * x * (ICF_R(1.0) / 3));
    out[1] = a * b;
    out[2] = -(n->scale * b + n->d * a);
    return 1;
}

/* f = k (-phi)+^3/2 (1 - d v)+ : n = K a^3/2 b with a = ahat + x, b = bhat + d x */
static int icfi_hertz(const icf_normal* n, icf_real v, int elastic, icf_real out[3])
{
    icf_real x = n->vhat - v, a = n->ahat + x, b, s, q, c;
    if (elastic) return icfi_elastic(a > 0 ? n->scale * a * ICF_SQRT(a) : 0, out);
    if (!(x > 0)) return icfi_nothing(out);
    b = n->bhat + n->d * x;
    s = ICF_SQRT(a);
    out[1] = n->scale * s * a * b;
    out[2] = -n->scale * s * (ICF_R(1.5) * b + n->d * a);
    if (n->ahat == 0) {
        out[0] = n->scale * a * a * s * (2 * n->bhat / 5 + 2 * n->d * a / 7);
        return 1;
    }
    /* 2/7 (s^7 - c^7) - 2/5 c^2 (s^5 - c^5) with s - c = q factored out twice */
    c = ICF_SQRT(n->ahat);
    q = x / (s + c);
    out[0] =
        n->scale * n->d * q * q * 2 / 35 *
        (2 * c * c * c * c * c +
         s * (4 * c * c * c * c + s * (6 * c * c * c + s * (8 * c * c + s * (10 * c + s * 5)))));
    return 1;
}

/* f = k (-phi - tau v)+ : n = x / Rn */
static int icfi_kelvin_voigt(const icf_normal* n, icf_real v, int elastic, icf_real out[3])
{
    icf_real x = n->vhat - v;
    if (elastic) return icfi_elastic(n->scale / (n->dt + n->tau) * -(n->distance + n->dt * v), out);
    if (!(x > 0)) return icfi_nothing(out);
    out[0] = n->scale * x * x / 2;
    out[1] = n->scale * x;
    out[2] = -n->scale;
    return 1;
}

static int icfi_infeasible(icf_real out[3])
{
    out[0] = ICF_REAL_MAX;
    out[1] = out[2] = 0;
    return 0;
}

/* cost = V(phi), V = -kappa x^2 ln(phi / range), x = range - phi */
static int icfi_ipc_barrier(const icf_normal* n, icf_real v, icf_real out[3])
{
    icf_real phi = n->distance + n->dt * v, x = n->range - phi, log, y;
    if (!(phi > 0)) return icfi_infeasible(out);
    if (!(x > 0)) return icfi_nothing(out);
    log = 2 * x < n->range ? icfi_log_below_one(x / n->range) : icfi_log(phi / n->range);
    y = x / phi;
    out[0] = -n->scale * x * x * log;
    out[1] = n->dt * n->scale * x * (y - 2 * log);
    out[2] = n->dt * n->dt * n->scale * (2 * log - 4 * y - y * y);
    return 1;
}

/* cost = V(phi) = -kappa ln(phi / range) */
static int icfi_log_barrier(const icf_normal* n, icf_real v, icf_real out[3])
{
    icf_real phi = n->distance + n->dt * v, y;
    if (!(phi > 0)) return icfi_infeasible(out);
    y = n->dt / phi;
    out[0] = -n->scale * icfi_log(phi / n->range);
    out[1] = n->scale * y;
    out[2] = -n->scale * y * y;
    return 1;
}

/* Any law. With `elastic` it sets only out[1], the impulse without dissipation, for laws that load
   and unload like a spring. */
static int icfi_normal_law(const icf_normal* n, icf_real v, int elastic, icf_real out[3])
{
    int i;
    switch (n->law) {
        ICFI_ALSO(LAW)
    case ICF_LAW_HUNT_CROSSLEY: return icfi_hunt_crossley(n, v, elastic, out);
    case ICF_LAW_HERTZ: return icfi_hertz(n, v, elastic, out);
    case ICF_LAW_KELVIN_VOIGT: return icfi_kelvin_voigt(n, v, elastic, out);
    case ICF_LAW_IPC_BARRIER: return icfi_ipc_barrier(n, v, out);
    case ICF_LAW_LOG_BARRIER: return icfi_log_barrier(n, v, out);
    case ICF_LAW_CUSTOM:
        n->custom(n->user, n->dt, n->distance, v, out);
        for (i = 0; i < 3; i++) out[i] *= n->scale;
        if (out[1] >= 0 && out[2] <= 0 && icfi_all_finite(3, out)) return 1;
        return icfi_infeasible(out); /* violates ICF (8), or lies beyond a barrier */
    default: break;
    }
    /* ICFI_LAW_CONSTANT */
    out[0] = -n->push * v;
    out[1] = n->push;
    out[2] = 0;
    return 1;
}

ICF_API int icf_normal_evaluate(const icf_normal* n, icf_real v, icf_real out[3])
{
    return icfi_normal_law(n, v, 0, out);
}

/* The same with the default law in line */
ICFI_FORCE_INLINE int icfi_normal_price(const icf_normal* n, icf_real v, icf_real out[3])
{
    if (n->law == ICF_LAW_HUNT_CROSSLEY) return icfi_hunt_crossley(n, v, 0, out);
    return icfi_normal_law(n, v, 0, out);
}

/* ---- normal laws: their numbers in a step, and their facts ---- */

/* The largest dt^2 k, or 1 / Rn, that near_rigid = beta allows: SAP (29) */
static icf_real icfi_stiffest(icf_real beta, icf_real w)
{
    icf_real r = beta * beta * w / (4 * ICFI_PI * ICFI_PI);
    return r >= ICFI_REAL_MIN ? 1 / r : ICF_REAL_MAX;
}

/* Kelvin-Voigt: SAP (22) and (29) */
static int icfi_kelvin_voigt_make(icf_real dt, icf_real distance, icf_real stiffness, icf_real tau,
                                  icf_real most, icf_normal* n)
{
    icf_real wanted = dt * stiffness * (dt + tau);
    n->law = ICF_LAW_KELVIN_VOIGT;
    n->facts = ICFI_KINK | ICFI_QUADRATIC;
    n->tau = tau;
    n->vhat = -distance / (dt + tau);
    n->bhat = 1;
    n->scale = wanted;
    if (!(wanted > most && most < ICF_REAL_MAX)) return 0;
    n->scale = most;
    return 1;
}

/* Hunt & Crossley and Hertz: sets the velocity at which the force ends, at touch or at 1/d, whichever is
   less. Returns 1 if `steepest` bounds the stiffness. */
static int icfi_dissipative_make(const icf_surface* f, const icf_contact* c, icf_real steepest,
                                 icf_normal* n)
{
    icf_real dt = n->dt, d = f->dissipation, inverse = d > 0 ? 1 / d : ICF_REAL_MAX, touch;
    n->d = d;
    if (f->by_force) {
        touch = n->scale > 0 ? dt * c->force / n->scale : c->force > 0 ? ICF_REAL_MAX : 0;
    } else {
        touch = -c->distance / dt;
    }
    if (f->by_force && touch == ICF_REAL_MAX && !(d > 0)) {
        n->law = ICFI_LAW_CONSTANT;
        n->facts = ICFI_CONSTANT;
        n->push = dt * c->force;
    } else if (touch > inverse) {
        n->vhat = inverse;
        n->push = f->by_force ? dt * c->force - n->scale * inverse : n->scale * (touch - inverse);
        n->ahat = touch - inverse;
    } else {
        n->vhat = touch;
        n->bhat = 1 - d * touch;
        if (n->law == ICF_LAW_HUNT_CROSSLEY && !f->by_force && n->scale * n->bhat > steepest) {
            n->scale = steepest / n->bhat;
            return 1;
        }
    }
    return 0;
}

/* The model SAP has a law of its own. */
static int32_t icfi_law_of(const icf_surface* f)
{
    return f->model == ICF_MODEL_SAP ? (int32_t)ICF_LAW_KELVIN_VOIGT : f->law;
}

/* Makes the numbers of a contact's law for one step, its facts, and gamma_n0 = dt f(phi0, vn0) with both at
   the start of the step; gamma_n0 < 0 means that the caller's own law breaks the rules. Returns whether a
   bound acts. `most` bounds dt^2 k, or 1 / Rn. `steepest` bounds the slope at touch, which dissipation
   raises for a fast contact. */
static int icfi_normal_make(const icf_surface* f, const icf_contact* c, icf_real dt, icf_real most,
                            icf_real steepest, icf_real vn0, icf_normal* n, icf_real* impulse0)
{
    icf_real k = icfi_min(f->stiffness * c->weight, ICF_REAL_MAX), touch, out[3];
    icf_normal start;
    int bounded = 0;
    ICFI_MEMSET(n, 0, sizeof *n);
    n->law = icfi_law_of(f);
    n->dt = dt;
    if (c->weight == 0) { /* no contact: a law without stiffness */
        n->law = f->model == ICF_MODEL_SAP ? ICF_LAW_KELVIN_VOIGT : ICF_LAW_HUNT_CROSSLEY;
        n->facts = ICFI_KINK | ICFI_QUADRATIC;
        *impulse0 = 0;
        return 0;
    }
    n->distance = c->distance;
    n->range = f->range;
    n->custom = f->custom;
    n->user = f->user;
    n->scale = k;
    switch (n->law) {
        ICFI_ALSO(MAKE)
    case ICF_LAW_HUNT_CROSSLEY:
        n->facts = ICFI_KINK | ICFI_QUADRATIC;
        n->scale = dt * dt * k;
        bounded = n->scale > most && most < ICF_REAL_MAX;
        if (bounded) n->scale = most;
        bounded |= icfi_dissipative_make(f, c, steepest, n);
        break;
    case ICF_LAW_HERTZ:
        /* the bound is on the slope at the start of the step */
        n->facts = ICFI_KINK;
        n->scale = dt * dt * ICF_SQRT(dt) * k;
        touch = c->distance < 0 ? ICF_R(1.5) * dt * dt * k * ICF_SQRT(-c->distance) : 0;
        bounded = touch > most && most < ICF_REAL_MAX;
        if (bounded)
            n->scale = touch < ICF_REAL_MAX ? n->scale * (most / touch)
                                            : most / (ICF_R(1.5) * ICF_SQRT(-c->distance / dt));
        (void)icfi_dissipative_make(f, c, ICF_REAL_MAX, n);
        break;
    case ICF_LAW_KELVIN_VOIGT:
        if (f->by_force) n->distance = -c->force / k;
        bounded = icfi_kelvin_voigt_make(dt, n->distance, k, f->relaxation, most, n);
        k = n->scale / (dt + n->tau); /* dt k */
        *impulse0 = icfi_max(0, k * (-n->distance - n->tau * vn0));
        return bounded;
    case ICF_LAW_IPC_BARRIER: n->facts = ICFI_WALL | ICFI_RANGE; break;
    case ICF_LAW_LOG_BARRIER: n->facts = ICFI_WALL; break;
    default:                  /* the caller's */
        n->scale = c->weight; /* not 0: the law may push, whatever its numbers are */
        start = *n;
        start.distance -= dt * vn0; /* at vn0, phi is the distance at the start */
        *impulse0 = icfi_normal_law(&start, vn0, 0, out) ? out[1] : -1;
        return 0;
    }
    (void)icfi_normal_law(n, 0, 0, out); /* at v = 0 phi is phi0 */
    *impulse0 = out[1] * icfi_max(0, 1 - n->d * vn0);
    return bounded;
}

/* The distance in velocity to the kink of a normal law; ICF_REAL_MAX without one */
static icf_real icfi_law_margin(const icf_normal* n, icf_real v)
{
    int kink = n->facts & ICFI_KINK && (n->scale > 0 || n->push > 0);
    return kink ? ICF_FABS(v - n->vhat) : ICF_REAL_MAX;
}

/* Over a short interval, the mean slope of the cost lies between the least and the largest -n, and the mean
   slope of n between the least and the largest n', corners included. An interval on which the law is not
   finite, beyond a barrier, is skipped, except the one at v. */
ICF_API icf_result icf_law_check(icf_law_function* law, void* user, icf_real dt, icf_real distance,
                                 icf_real v)
{
    icf_real reach, width;
    int i, j, k;
    if (!law || !(dt > 0)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_finite(dt) || !icfi_finite(distance) || !icfi_finite(v)) {
        return ICF_RESULT_NOT_FINITE;
    }
    reach = icfi_max(ICF_FABS(v), ICF_FABS(distance) / dt);
    if (!(reach > 0)) reach = 1;
    width = reach / 500;
    for (i = -20; i <= 20; i++) {
        icf_real out[5][3], least[2], most[2], at = v + reach * (icf_real)i / 16;
        int finite = 1;
        for (j = 0; j < 5; j++) {
            law(user, dt, distance, at + width * (icf_real)j / 4, out[j]);
            finite = finite && icfi_all_finite(3, out[j]);
        }
        if (!finite && i != 0) continue;
        for (j = 0; j < 5; j++) {
            if (!finite || !(out[j][1] >= 0) || !(out[j][2] <= 0)) return ICF_RESULT_BAD_LAW;
            for (k = 0; k < 2; k++) {
                icf_real slope = k ? out[j][2] : -out[j][1];
                least[k] = j ? icfi_min(least[k], slope) : slope;
                most[k] = j ? icfi_max(most[k], slope) : slope;
            }
        }
        for (k = 0; k < 2; k++) {
            icf_real length = (at + width) - at, mean = (out[4][k] - out[0][k]) / length;
            icf_real size = icfi_max(ICF_FABS(out[0][k]), ICF_FABS(out[4][k]));
            icf_real slack = -least[k] / 50 + 8 * ICFI_EPSILON * size / length;
            if (mean < least[k] - slack || mean > most[k] + slack) return ICF_RESULT_BAD_LAW;
        }
    }
    return ICF_RESULT_OK;
}

/* The limit of friction follows the normal impulse at the start of the step. If the friction of one step is
   enough to hold a contact open, the next step has no normal impulse, so no friction: the contact closes,
   gets friction again, and opens. Limit L and impulse N then chase one another for ever. The last two steps
   are two points of N(L), and N falls there. The new limit is where the line through them meets N = L. It is
   N again when N moves away from that limit. This is only for contacts that open and close more slowly than
   friction creeps. Otherwise friction would act on a contact that has separated, and spoil a bounce. */
static icf_lag icfi_damp_friction_limit(const icf_surface* f, const icf_lag* last, icf_real impulse,
                                        icf_real vn)
{
    icf_real dl = last->limit - last->before, way = last->impulse - last->before,
             dn = impulse - last->impulse, share = 1;
    icf_lag now;
    if (ICF_FABS(vn) <= f->slip_tolerance) {
        int falls = (dl > 0 && dn < 0) || (dl < 0 && dn > 0);
        icf_real off = ICF_FABS(way) / icfi_max(last->limit + last->before, ICFI_REAL_MIN);
        /* at most twice the share of the previous step; but a limit that stands still, perhaps on rounding,
           is released when N leaves it */
        if (way != 0 && !(dl == 0 && off > ICF_R(1e-3)))
            share = icfi_min(icfi_max(2 * (dl / way), off > ICF_R(0.2) ? ICF_R(0.1) : 0), 1);
        /* a change below a thousandth of the limit could be mostly rounding */
        if (falls && ICF_FABS(dl) > ICF_R(1e-3) * (last->limit + last->before))
            share = dl / (dl - dn);
    }
    now.limit = share < 1 ? last->limit + share * (impulse - last->limit) : impulse;
    /* of a contact that has just been made, one point of N(L) is known */
    now.before = last->impulse > 0 || last->limit > 0 || last->before > 0 ? last->limit : now.limit;
    now.impulse = impulse;
    return now;
}

/* ---- contacts: normal law and friction ---- */

ICF_API icf_surface icf_default_surface(void)
{
    icf_surface f;
    ICFI_MEMSET(&f, 0, sizeof f);
    f.model = ICF_MODEL_LAGGED;
    f.law = ICF_LAW_HUNT_CROSSLEY;
    f.stiffness = ICF_R(1e6);
    f.dissipation = 10;
    f.relaxation = ICF_R(0.01);
    f.range = ICF_R(1e-3);
    f.near_rigid = -1;
    f.friction = ICF_R(0.5);
    f.friction2 = -1;
    f.friction_static = -1;
    f.slip_tolerance = ICF_R(1e-4);
    f.softness = ICF_R(1e-3);
    f.spin_tolerance = ICF_R(1e-3);
    f.cookie = ICFI_SURFACE_COOKIE;
    return f;
}

ICF_API icf_contact icf_default_contact(void)
{
    icf_contact c;
    ICFI_MEMSET(&c, 0, sizeof c);
    c.normal.z = 1;
    c.weight = 1;
    c.cookie = ICFI_CONTACT_COOKIE;
    return c;
}

/* A unit vector perpendicular to the unit vector n: Duff et al., Building an orthonormal basis, revisited.
   For the normal z it is x. */
static icf_vec3 icfi_any_tangent(icf_vec3 n)
{
    icf_real side = n.z < 0 ? -ICF_R(1.0) : ICF_R(1.0), a = -1 / (side + n.z);
    return icf_vec3_make(1 + side * n.x * n.x * a, side * n.x * n.y * a, -side * n.x);
}

/* Normalizes a vector whose length should be 1. Returns 0 if it is not nearly 1. */
static inline int icfi_make_unit(icf_vec3* a)
{
    icf_real square = icf_vec3_dot(*a, *a);
    if (square != 1) *a = icf_vec3_normalize(*a);
    return square > ICF_R(0.98) && square < ICF_R(1.02);
}

/* Makes the axes t1, t2, n of a contact. Returns 0 if its vectors are not of length 1, or are parallel. */
static int icfi_contact_frame(icf_vec3 t, icf_vec3 n, icf_vec3 axes[3])
{
    icf_real along;
    if (!icfi_make_unit(&n)) return 0;
    if (!icfi_make_unit(&t)) t = icf_vec3_normalize(t);
    along = icf_vec3_dot(t, n);
    t = icf_vec3_add_scaled(t, -along, n);
    if (icf_vec3_dot(t, t) < ICF_R(0.01)) { /* none, or nearly along the normal */
        t = icfi_any_tangent(n);
    } else {
        t = icf_vec3_scale(1 / icf_vec3_length(t), t);
    }
    axes[0] = t;
    axes[1] = icf_vec3_cross(n, t);
    axes[2] = n;
    return 1;
}

/* The numbers of either struct form one row in memory. */
enum { ICFI_SURFACE_REALS = 21, ICFI_CONTACT_REALS = 22 };
typedef char
    icfi_number_rows[offsetof(icf_surface, spin_tolerance) - offsetof(icf_surface, velocity) ==
                                 (ICFI_SURFACE_REALS - 1) * sizeof(icf_real) &&
                             offsetof(icf_contact, lag) - offsetof(icf_contact, point) ==
                                 (ICFI_CONTACT_REALS - 3) * sizeof(icf_real)
                         ? 1
                         : -1];

/* Looks at the numbers of a surface; *reason: what is wrong. */
static icf_result icfi_surface_check(const icf_surface* f, const char** reason)
{
    const void* first = &f->velocity;
    int sap = f->model == ICF_MODEL_SAP, law = (int)icfi_law_of(f);
    int barrier = law == ICF_LAW_IPC_BARRIER || law == ICF_LAW_LOG_BARRIER;
    *reason = "not from icf_default_surface";
    if (f->cookie != ICFI_SURFACE_COOKIE) return ICF_RESULT_BAD_DEF;
    *reason = "a number that is not finite";
    if (!icfi_all_finite(ICFI_SURFACE_REALS, (const icf_real*)first)) return ICF_RESULT_NOT_FINITE;
    *reason = NULL;
    if (f->model < ICF_MODEL_LAGGED || f->model > ICFI_LAST_MODEL) *reason = "model";
    if (f->law < ICF_LAW_HUNT_CROSSLEY || f->law > ICFI_LAST_LAW) *reason = "law";
    if (f->stiffness < 0) *reason = "stiffness";
    if (f->dissipation < 0) *reason = "dissipation";
    if (f->relaxation < 0) *reason = "relaxation";
    if (f->adhesion < 0) *reason = "adhesion";
    if (f->friction < 0) *reason = "friction";
    if (f->softness < 0 || (sap && f->softness == 0)) *reason = "softness";
    if (sap && f->friction2 >= 0 && f->friction2 != f->friction) *reason = "friction2 with SAP";
    if (f->torsion < 0) *reason = "torsion";
    if (f->rolling < 0) *reason = "rolling";
    if (!(f->slip_tolerance > 0)) *reason = "slip_tolerance";
    if (!(f->spin_tolerance > 0)) *reason = "spin_tolerance";
    if (f->by_force && law == ICF_LAW_KELVIN_VOIGT && !(f->stiffness > 0)) *reason = "stiffness";
    if (f->by_force && law != ICF_LAW_KELVIN_VOIGT && law != ICF_LAW_HUNT_CROSSLEY)
        *reason = "by_force";
    if (law == ICF_LAW_CUSTOM && !f->custom) *reason = "custom";
    if (barrier && !(f->range > 0)) *reason = "range";
    return *reason ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_OK;
}

static int icfi_lag_is_good(const icf_lag* lag)
{
    return lag->limit >= 0 && lag->before >= 0 && lag->impulse >= 0;
}

/* The same for a contact with a surface that is good. Makes its axes. */
static icf_result icfi_contact_check(const icf_surface* f, const icf_contact* c, icf_vec3 axes[3],
                                     const char** reason)
{
    const void* first = &c->point;
    const int32_t law = icfi_law_of(f);
    *reason = "not from icf_default_contact";
    if (c->cookie != ICFI_CONTACT_COOKIE) return ICF_RESULT_BAD_DEF;
    *reason = "a number that is not finite";
    if (!icfi_all_finite(ICFI_CONTACT_REALS, (const icf_real*)first)) return ICF_RESULT_NOT_FINITE;
    *reason = NULL;
    if (!icfi_contact_frame(f->tangent, c->normal, axes)) *reason = "normal: not of length 1";
    if (c->weight < 0) *reason = "weight";
    if (c->effective_mass_inverse < 0) *reason = "effective_mass_inverse";
    if (!icfi_lag_is_good(&c->lag)) *reason = "lag";
    if (*reason) return ICF_RESULT_BAD_ARGUMENT;
    if ((law != ICF_LAW_IPC_BARRIER && law != ICF_LAW_LOG_BARRIER) || c->distance > 0 ||
        c->weight == 0)
        return ICF_RESULT_OK;
    *reason = "distance: a barrier is overlapped";
    return ICF_RESULT_INFEASIBLE;
}

/* The coefficient of friction at a velocity: friction_static up to a slip of 5 slip tolerances, friction
   from 15 on, and a smooth step between them */
static icf_real icfi_friction_at(const icf_surface* f, const icf_real v[3])
{
    icf_real t;
    if (f->friction_static < 0) return f->friction;
    t = ICF_SQRT(v[0] * v[0] + v[1] * v[1]) / (10 * f->slip_tolerance) - ICF_R(0.5);
    t = icfi_min(icfi_max(t, 0), 1);
    return f->friction_static + (f->friction - f->friction_static) * t * t * (3 - 2 * t);
}

/* Sets the normal impulse that limits friction. eps is that of ICF (26), in the units of x = mu v as in the
   formulas of appendix B. */
static void icfi_limit_friction(const icf_surface* f, icf_real w, icf_real limit,
                                icf_contact_term* t)
{
    const icf_real mu = icfi_max(t->mu1, t->mu2);
    t->impulse0 = t->lag.limit = limit;
    t->eps = mu > 0 ? mu * icfi_max(f->slip_tolerance, f->softness * w * mu * limit) : 1;
}

/* Makes the term of a checked contact in place, because there are many. `hardest` bounds dt^2 k, or 1 / Rn,
   in every case. `steepest` bounds the same number after dissipation has raised it, at the speed of touch. */
static icf_result icfi_contact_term(const icf_surface* f, const icf_contact* c, icf_real dt,
                                    icf_real w, icf_real hardest, icf_real steepest,
                                    const icf_real v0[3], icf_contact_term* t)
{
    const icf_lag none = {0, 0, 0};
    icf_real beta, most, mu, off;
    t->model = f->model;
    beta = f->near_rigid >= 0 ? f->near_rigid : f->model == ICF_MODEL_SAP ? 1 : 0;
    most = icfi_min(hardest, beta > 0 ? icfi_stiffest(beta, w) : ICF_REAL_MAX);
    t->bounded = icfi_normal_make(f, c, dt, most, steepest, v0[2], &t->normal, &t->impulse0);
    if (t->impulse0 < 0) return ICF_RESULT_BAD_LAW;
    t->lag = icfi_damp_friction_limit(f, c->weight > 0 ? &c->lag : &none, t->impulse0, v0[2]);
    t->adhesion = c->distance <= f->adhesion_range ? dt * f->adhesion * c->weight : 0;

    mu = icfi_friction_at(f, v0);
    t->mu1 = t->mu2 = mu;
    if (f->friction2 >= 0)
        t->mu2 = f->friction > 0 ? mu / f->friction * f->friction2 : f->friction2;
    icfi_limit_friction(f, w, t->lag.limit, t);
    t->rt = f->softness * w; /* SAP (30) */
    if (t->model == ICF_MODEL_SAP && !(t->rt >= ICFI_REAL_MIN)) {
        t->rt = 1; /* nothing can move: no contact */
        t->normal.scale = 0;
    }
    /* one comparison for all: a number that is not finite, less itself, is no number */
    off = (t->normal.scale - t->normal.scale) + (t->normal.vhat - t->normal.vhat);
    off += (t->normal.ahat - t->normal.ahat) + (t->normal.push - t->normal.push);
    off += (t->impulse0 - t->impulse0) + (t->adhesion - t->adhesion) + (t->eps - t->eps);
    return off == 0 && t->eps * t->eps >= ICFI_REAL_MIN ? ICF_RESULT_OK : ICF_RESULT_NOT_FINITE;
}

ICF_API icf_result icf_contact_term_make(const icf_surface* surface, const icf_contact* contact,
                                         icf_real dt, icf_real w, const icf_real v0[3],
                                         icf_contact_term* term)
{
    const char* reason;
    icf_vec3 axes[3];
    icf_contact_term t;
    icf_result result;
    if (!surface || !contact || !v0 || !term) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_surface_check(surface, &reason);
    if (result == ICF_RESULT_OK) result = icfi_contact_check(surface, contact, axes, &reason);
    if (result != ICF_RESULT_OK) return result;
    if (!icfi_finite(dt) || !icfi_finite(w) || !icfi_all_finite(3, v0))
        return ICF_RESULT_NOT_FINITE;
    if (!(dt > 0) || w < 0) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_contact_term(surface, contact, dt, w, ICF_REAL_MAX, ICF_REAL_MAX, v0, &t);
    if (result == ICF_RESULT_OK) *term = t;
    return result;
}

/* The soft norm |x|_s = sqrt(|x|^2 + eps^2) - eps of x = (mu1 v1, mu2 v2), without cancellation: value,
   gradient and Hessian (11, 12, 22) with respect to v */
typedef struct icfi_soft {
    icf_real value, g1, g2, h11, h12, h22;
    icf_real inverse; /* 1 / sqrt(|x|^2 + eps^2) */
} icfi_soft;

ICFI_FORCE_INLINE icfi_soft icfi_soft_norm(icf_real mu1, icf_real mu2, icf_real eps, icf_real v1,
                                           icf_real v2)
{
    icf_real x1 = mu1 * v1, x2 = mu2 * v2, q = x1 * x1 + x2 * x2;
    icf_real r = ICF_SQRT(q + eps * eps), i = 1 / r, t1 = x1 * i, t2 = x2 * i, e = eps * i;
    icfi_soft s;
    s.inverse = i;
    s.value = q / (r + eps);
    s.g1 = mu1 * t1;
    s.g2 = mu2 * t2;
    s.h11 = mu1 * mu1 * (e * e + t2 * t2) * i;
    s.h12 = -mu1 * mu2 * t1 * t2 * i;
    s.h22 = mu2 * mu2 * (e * e + t1 * t1) * i;
    return s;
}

/* The price of a contact: cost, impulse, and the entries 11, 12, 1n, 22, 2n, nn of the Hessian */
typedef struct icfi_price {
    icf_real cost, impulse[3], h[6];
    icf_real inverse; /* of icfi_soft, if a soft norm acts; else 0 */
    int32_t feasible;
} icfi_price;

/* l = gamma_n0 |x|_s + ell(vn) */
ICFI_FORCE_INLINE void icfi_lagged(const icf_contact_term* t, const icf_real v[3], icfi_price* p)
{
    icfi_soft s;
    icf_real out[3];
    p->feasible = icfi_normal_price(&t->normal, v[2], out);
    p->cost = out[0];
    p->impulse[2] = out[1];
    p->h[2] = p->h[4] = 0;
    p->h[5] = -out[2];
    if (t->impulse0 == 0) { /* no limit of friction, as after an open contact */
        p->impulse[0] = p->impulse[1] = p->inverse = 0;
        p->h[0] = p->h[1] = p->h[3] = 0;
        return;
    }
    s = icfi_soft_norm(t->mu1, t->mu2, t->eps, v[0], v[1]);
    p->inverse = s.inverse;
    p->cost = t->impulse0 * s.value + out[0];
    p->impulse[0] = -t->impulse0 * s.g1;
    p->impulse[1] = -t->impulse0 * s.g2;
    p->h[0] = t->impulse0 * s.h11;
    p->h[1] = t->impulse0 * s.h12;
    p->h[3] = t->impulse0 * s.h22;
}

/* l = ell(z), z = vn - |x|_s */
static void icfi_similar(const icf_contact_term* t, const icf_real v[3], icfi_price* p)
{
    icfi_soft s = icfi_soft_norm(t->mu1, t->mu2, t->eps, v[0], v[1]);
    icf_real out[3], n, k;
    p->feasible = icfi_normal_law(&t->normal, v[2] - s.value, 0, out);
    n = out[1];
    k = -out[2];
    p->cost = out[0];
    p->inverse = s.inverse;
    p->impulse[0] = -n * s.g1;
    p->impulse[1] = -n * s.g2;
    p->impulse[2] = n;
    p->h[0] = k * s.g1 * s.g1 + n * s.h11;
    p->h[1] = k * s.g1 * s.g2 + n * s.h12;
    p->h[2] = -k * s.g1;
    p->h[3] = k * s.g2 * s.g2 + n * s.h22;
    p->h[4] = -k * s.g2;
    p->h[5] = k;
}

/* SAP (27), (35) to (37), with R = diag(rt, rt, rn), as functions of the velocities */
static void icfi_sap(const icf_contact_term* t, const icf_real v[3], icfi_price* p)
{
    icf_real scale = t->normal.scale, mu = t->mu1, u = t->normal.vhat - v[2];
    icf_real slip = ICF_SQRT(v[0] * v[0] + v[1] * v[1]), s = u + mu * slip, k, n, t1, t2, turn;
    ICFI_MEMSET(p, 0, sizeof *p);
    p->feasible = 1;
    if (!(s > 0) || scale == 0) return;
    if (mu > 0 && u >= 0 && slip <= mu * u * t->rt * scale) {
        p->cost = (slip * slip / t->rt + u * u * scale) / 2;
        p->impulse[0] = -v[0] / t->rt;
        p->impulse[1] = -v[1] / t->rt;
        p->impulse[2] = u * scale;
        p->h[0] = p->h[3] = 1 / t->rt;
        p->h[5] = scale;
        return;
    }
    k = scale / (1 + mu * mu * t->rt * scale);
    n = k * s;
    t1 = slip > 0 ? v[0] / slip : 1;
    t2 = slip > 0 ? v[1] / slip : 0;
    turn = slip > 0 ? mu * n / slip : 0; /* without slip only mu = 0 comes here */
    p->cost = k * s * s / 2;
    p->impulse[0] = -mu * n * t1;
    p->impulse[1] = -mu * n * t2;
    p->impulse[2] = n;
    p->h[0] = k * mu * mu * t1 * t1 + turn * t2 * t2;
    p->h[1] = (k * mu * mu - turn) * t1 * t2;
    p->h[2] = -k * mu * t1;
    p->h[3] = k * mu * mu * t2 * t2 + turn * t1 * t1;
    p->h[4] = -k * mu * t2;
    p->h[5] = k;
}

ICFI_FORCE_INLINE void icfi_contact_price(const icf_contact_term* t, const icf_real v[3],
                                          icfi_price* p)
{
    switch (t->model) {
        ICFI_ALSO(PRICE)
    case ICF_MODEL_LAGGED: icfi_lagged(t, v, p); break;
    case ICF_MODEL_SIMILAR: icfi_similar(t, v, p); break;
    default: icfi_sap(t, v, p); break;
    }
    p->cost += t->adhesion * v[2];
    p->impulse[2] -= t->adhesion;
    if (!p->feasible) {
        ICFI_MEMSET(p, 0, sizeof *p);
        p->cost = ICF_REAL_MAX;
    }
}

ICF_API int icf_contact_evaluate(const icf_contact_term* term, const icf_real v[3], icf_real* cost,
                                 icf_real impulse[3], icf_real hessian[9])
{
    icfi_price p;
    icfi_contact_price(term, v, &p);
    if (cost) *cost = p.cost;
    if (impulse) ICFI_MEMCPY(impulse, p.impulse, sizeof p.impulse);
    if (hessian) {
        hessian[0] = p.h[0];
        hessian[1] = hessian[3] = p.h[1];
        hessian[2] = hessian[6] = p.h[2];
        hessian[4] = p.h[3];
        hessian[5] = hessian[7] = p.h[4];
        hessian[8] = p.h[5];
    }
    return p.feasible;
}

/* ---- contacts: further answers for the solve ---- */

/* The impulse that limits friction: the limit is mu times it */
static icf_real icfi_friction_load(const icf_contact_term* t, icf_real normal)
{
    ICFI_ALSO(LOAD)
    return t->model == ICF_MODEL_LAGGED ? t->impulse0 : normal;
}

/* Whether the normal law is priced at vn - |x|_s. Sliding then carries the contact: it adds normal
   impulse. */
static int icfi_is_carried(const icf_contact_term* t)
{
    return t->model == ICF_MODEL_SIMILAR;
}

/* The velocity at which the normal law is priced */
static icf_real icfi_law_velocity(const icf_contact_term* t, const icf_real v[3])
{
    if (!icfi_is_carried(t)) return v[2];
    return v[2] - icfi_soft_norm(t->mu1, t->mu2, t->eps, v[0], v[1]).value;
}

typedef enum icfi_dual_use { ICFI_DUAL_START, ICFI_DUAL_HESSIAN, ICFI_DUAL_STEP } icfi_dual_use;

/* The Hessian of the soft norm is (I - t t') / r, with t = x / r. Along a slip it is almost nothing, so a
   plain Newton step overshoots. Chan, Golub and Mulet replace one t by a dual y, which they solve for as
   well: (I - sym(y t')) / r. This matrix is just as definite while |y| <= 1, and is the same at the
   solution. START sets y = t. HESSIAN puts y into the Hessian. STEP moves y with a full Newton step dv, and
   keeps |y| <= 1. Models without a soft norm have no dual. */
static void icfi_contact_dual(const icf_contact_term* t, icfi_dual_use use, const icf_real v[3],
                              const icf_real dv[3], icf_real y[2], icfi_price* p)
{
    icf_real i = p->inverse, t1 = t->mu1 * v[0] * i, t2 = t->mu2 * v[1] * i, d1, d2, f, size;
    if (i == 0) return;
    if (use == ICFI_DUAL_START) {
        y[0] = t1;
        y[1] = t2;
    } else if (use == ICFI_DUAL_HESSIAN) {
        f = i * icfi_friction_load(t, p->impulse[2] + t->adhesion);
        p->h[0] += f * t->mu1 * t->mu1 * (t1 - y[0]) * t1;
        p->h[1] += f * t->mu1 * t->mu2 * (t1 * t2 - (y[0] * t2 + y[1] * t1) / 2);
        p->h[3] += f * t->mu2 * t->mu2 * (t2 - y[1]) * t2;
    } else {
        d1 = t->mu1 * dv[0] * i;
        d2 = t->mu2 * dv[1] * i;
        f = t1 * d1 + t2 * d2;
        y[0] = t1 + d1 - y[0] * f;
        y[1] = t2 + d2 - y[1] * f;
        size = ICF_SQRT(y[0] * y[0] + y[1] * y[1]);
        if (!(size <= 1)) {
            y[0] = size > 0 && icfi_finite(size) ? y[0] / size : t1;
            y[1] = size > 0 && icfi_finite(size) ? y[1] / size : t2;
        }
    }
}

/* Whether a contact is open, sticks or slips. *share is the part of its friction limit that it uses. */
static int32_t icfi_contact_mode(const icf_contact_term* t, const icf_real v[3],
                                 const icf_real slip[2], const icf_real impulse[3], icf_real* share,
                                 icf_real* sticks_to)
{
    icf_real mu = icfi_max(t->mu1, t->mu2), normal = impulse[2] + t->adhesion;
    icf_real x1 = t->mu1 * v[0], x2 = t->mu2 * v[1], q = x1 * x1 + x2 * x2;
    icf_real stick = mu > 0 ? t->eps / mu : 0;
    *share = ICF_SQRT(q / (q + t->eps * t->eps));
    if (t->model == ICF_MODEL_SAP) {
        stick = icfi_max(0, mu * normal * t->rt); /* R_t mu gamma_n */
        q = ICF_SQRT(impulse[0] * impulse[0] + impulse[1] * impulse[1]);
        *share = t->mu1 * normal > 0 ? icfi_min(1, q / (t->mu1 * normal)) : 0;
    }
    ICFI_ALSO(MODE)
    *sticks_to = stick;
    if (!(normal > 0)) return ICF_MODE_OPEN;
    if (!(mu > 0)) return ICF_MODE_SLIP;
    return slip[0] * slip[0] + slip[1] * slip[1] <= stick * stick ? ICF_MODE_STICK : ICF_MODE_SLIP;
}

/* The distance in velocity to the nearest kink */
static icf_real icfi_contact_margin(const icf_contact_term* t, const icf_real v[3])
{
    icf_real u = t->normal.vhat - v[2], slip = ICF_SQRT(v[0] * v[0] + v[1] * v[1]), along;
    if (t->model != ICF_MODEL_SAP) return icfi_law_margin(&t->normal, icfi_law_velocity(t, v));
    along = t->mu1 * t->rt * t->normal.scale * u;
    if (t->normal.scale == 0) return ICF_REAL_MAX;
    return icfi_min(ICF_FABS(u + t->mu1 * slip), ICF_FABS(along - slip));
}

/* ---- the cones of the interior point method: >>interior explains the letters ---- */

typedef enum icfi_unit_kind {
    ICFI_UNIT_FRICTION,
    ICFI_UNIT_NORMAL,
    ICFI_UNIT_SIMILAR,
    ICFI_UNIT_SAP,
    ICFI_UNIT_MOTOR
} icfi_unit_kind;

/* ell is the law, or limit u without one. With a law, h0 counts from the end of its force. */
typedef struct icfi_cone {
    icfi_unit_kind kind;
    const icf_normal* law;
    icf_real limit, b1, b2, h0, h1, r0, r1, eps;
} icfi_cone;

/* Makes a cone. Returns 0 if nothing acts, else 1. */
ICFI_UNUSED static int icfi_cone_make(icfi_unit_kind kind, const icf_normal* law, icf_real limit,
                                      icf_real b1, icf_real b2, icf_real eps, icfi_cone* cone)
{
    ICFI_MEMSET(cone, 0, sizeof *cone);
    cone->kind = kind;
    cone->law = law;
    cone->limit = limit;
    cone->b1 = b1;
    cone->b2 = b2;
    cone->eps = eps;
    cone->h0 = law ? eps : 0;
    if (!law) return limit > 0 && (b1 > 0 || b2 > 0);
    return !(law->facts & ICFI_CONSTANT) && (law->scale != 0 || law->push != 0);
}

/* Makes the cones of a contact, at most two, and returns how many. */
ICFI_UNUSED static int icfi_contact_cones(const icf_contact_term* t, icfi_cone* cone)
{
    const icf_normal* law = &t->normal;
    icf_real limit = t->impulse0, mu1 = t->mu1, mu2 = t->mu2;
    int count, rough = mu1 > 0 || mu2 > 0;
    ICFI_ALSO(CONES)
    switch (t->model) {
    case ICF_MODEL_SAP:
        if (!icfi_cone_make(ICFI_UNIT_SAP, law, 0, mu1, mu1, 0, cone)) return 0;
        cone->law = NULL;
        cone->h0 = -law->vhat;
        cone->r0 = 1 / law->scale;
        cone->r1 = mu1 * mu1 * t->rt;
        return 1;
    case ICF_MODEL_SIMILAR:
        if (rough && !(law->facts & ICFI_CONSTANT))
            return icfi_cone_make(ICFI_UNIT_SIMILAR, law, 0, mu1, mu2, t->eps, cone);
        limit = law->push;
        break;
    default: break;
    }
    count = icfi_cone_make(ICFI_UNIT_FRICTION, NULL, limit, mu1, mu2, t->eps, cone);
    return count + icfi_cone_make(ICFI_UNIT_NORMAL, law, 0, 0, 0, 0, cone + count);
}

/* ---- rows ---- */

ICF_API icf_row icf_default_row(icf_row_kind kind)
{
    icf_row r;
    ICFI_MEMSET(&r, 0, sizeof r);
    r.kind = (int32_t)kind;
    r.sign = 1;
    r.near_rigid = kind == ICF_ROW_HOLONOMIC ? ICF_R(0.1) : 1;
    r.effort = kind == ICF_ROW_MOTOR ? -1 : 0;
    r.slip_tolerance = ICF_R(1e-4);
    r.softness = ICF_R(1e-3);
    r.cookie = ICFI_ROW_COOKIE;
    return r;
}

static icf_result icfi_row_check(const icf_row* r, const char** reason)
{
    const icf_real all[] = {r->distance, r->stiffness,      r->relaxation, r->near_rigid,
                            r->damping,  r->error,          r->target,     r->feedforward,
                            r->effort,   r->slip_tolerance, r->softness,   r->weight,
                            r->sign};
    int rigid = r->kind == ICF_ROW_LIMIT || r->kind == ICF_ROW_HOLONOMIC;
    *reason = "not from icf_default_row";
    if (r->cookie != ICFI_ROW_COOKIE) return ICF_RESULT_BAD_DEF;
    *reason = "a number that is not finite";
    if (!icfi_all_finite(sizeof all / sizeof *all, all)) return ICF_RESULT_NOT_FINITE;
    *reason = NULL;
    if (r->kind < ICF_ROW_LIMIT || r->kind > ICF_ROW_QUADRATIC) *reason = "kind";
    if (r->stiffness < 0) *reason = "stiffness";
    if (r->relaxation < 0) *reason = "relaxation";
    if (r->near_rigid < 0) *reason = "near_rigid";
    if (rigid && r->stiffness == 0 && r->near_rigid == 0)
        *reason = "stiffness and near_rigid are 0";
    if (r->damping < 0) *reason = "damping";
    if (r->softness < 0) *reason = "softness";
    if (r->weight < 0) *reason = "weight";
    if (!(r->slip_tolerance > 0)) *reason = "slip_tolerance";
    if (r->kind == ICF_ROW_DRY_FRICTION && r->effort < 0) *reason = "effort";
    if (r->kind == ICF_ROW_LIMIT && r->sign != 1 && r->sign != -1) *reason = "sign";
    return *reason ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_OK;
}

ICF_API icf_result icf_row_term_make(const icf_row* row, icf_real dt, icf_real w,
                                     icf_row_term* term)
{
    icf_row_term t;
    icf_real most, tau;
    const char* reason;
    icf_result result;
    if (!row || !term) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_row_check(row, &reason);
    if (result != ICF_RESULT_OK) return result;
    if (!icfi_finite(dt) || !icfi_finite(w)) return ICF_RESULT_NOT_FINITE;
    if (!(dt > 0) || w < 0) return ICF_RESULT_BAD_ARGUMENT;

    ICFI_MEMSET(&t, 0, sizeof t);
    t.kind = row->kind;
    t.sign = row->sign;
    t.most = ICF_REAL_MAX;
    t.normal.dt = dt;
    t.normal.distance = row->distance;
    switch (row->kind) {
    case ICF_ROW_LIMIT:
    case ICF_ROW_HOLONOMIC:
        most = row->near_rigid > 0 ? icfi_stiffest(row->near_rigid, w) : ICF_REAL_MAX;
        if (row->stiffness > 0) {
            t.bounded = icfi_kelvin_voigt_make(dt, row->distance, row->stiffness, row->relaxation,
                                               most, &t.normal);
        } else {
            /* as stiff as a spring with a period of beta steps, and critically damped: tau = beta dt / pi */
            tau = icfi_max(row->relaxation, row->near_rigid * dt / ICFI_PI);
            (void)icfi_kelvin_voigt_make(dt, row->distance, 0, tau, most, &t.normal);
            t.normal.scale = most == ICF_REAL_MAX ? 0 : most; /* 0 where nothing can move */
        }
        t.slope = t.normal.scale;
        t.target = t.normal.vhat;
        break;
    case ICF_ROW_MOTOR:
        /* spring and damper, implicit: dt (Kp (e - dt u) + Kd (target - u)) */
        t.slope = dt * (dt * row->stiffness + row->damping);
        t.impulse0 = dt * row->feedforward;
        if (t.slope > 0) {
            t.target = dt * (row->stiffness * row->error + row->damping * row->target) / t.slope;
        }
        if (row->effort >= 0) t.most = dt * row->effort;
        break;
    case ICF_ROW_QUADRATIC:
        t.slope = row->weight;
        t.target = row->target;
        break;
    default: /* dry friction; ICF (26) */
        t.most = dt * row->effort;
        t.eps = icfi_max(row->slip_tolerance, row->softness * w * t.most);
        break;
    }
    if (!icfi_finite(t.slope) || !icfi_finite(t.target) || !icfi_finite(t.impulse0) ||
        !icfi_finite(t.most) || !icfi_finite(t.eps)) {
        return ICF_RESULT_NOT_FINITE;
    }
    *term = t;
    return ICF_RESULT_OK;
}

/* impulse0 + slope (target - u), within +-most: motor, holonomic and quadratic rows */
static void icfi_clamped(const icf_row_term* t, icf_real u, icf_real out[3])
{
    icf_real s = t->impulse0 + t->slope * (t->target - u), size = ICF_FABS(s);
    if (size <= t->most) {
        out[0] = t->slope > 0 ? s * (s / (2 * t->slope)) : -s * u; /* s s may overflow */
        out[1] = s;
        out[2] = t->slope;
    } else {
        out[1] = s < 0 ? -t->most : t->most;
        out[0] = t->slope > 0 ? t->most * (size - t->most / 2) / t->slope : -out[1] * u;
        out[2] = 0;
    }
}

/* most |u|_s */
static void icfi_dry_friction(const icf_row_term* t, icf_real u, icf_real out[3])
{
    icf_real r = ICF_SQRT(u * u + t->eps * t->eps), e = t->eps / r;
    out[0] = t->most * u * u / (r + t->eps);
    out[1] = -t->most * u / r;
    out[2] = t->most * e * e / r;
}

/* out: cost, impulse, Hessian of a row */
static void icfi_row_price(const icf_row_term* t, icf_real u, icf_real out[3])
{
    switch (t->kind) {
    case ICF_ROW_LIMIT:
        (void)icfi_normal_law(&t->normal, t->sign * u, 0, out);
        out[1] *= t->sign;
        out[2] = -out[2];
        break;
    case ICF_ROW_DRY_FRICTION: icfi_dry_friction(t, u, out); break;
    default: icfi_clamped(t, u, out); break;
    }
}

/* Whether a row's impulse is a linear function of its velocity */
ICFI_UNUSED static int icfi_row_is_linear(const icf_row_term* t)
{
    return t->kind == ICF_ROW_HOLONOMIC || t->kind == ICF_ROW_QUADRATIC ||
           (t->kind == ICF_ROW_MOTOR && (t->most == ICF_REAL_MAX || t->slope == 0));
}

/* Makes the cone of a row. Returns 1, or 0 if the row has none. */
ICFI_UNUSED static int icfi_row_cone(const icf_row_term* t, icfi_cone* cone)
{
    if (icfi_row_is_linear(t)) return 0;
    if (t->kind == ICF_ROW_LIMIT)
        return icfi_cone_make(ICFI_UNIT_NORMAL, &t->normal, 0, 0, 0, 0, cone);
    if (t->kind == ICF_ROW_DRY_FRICTION)
        return icfi_cone_make(ICFI_UNIT_FRICTION, NULL, t->most, 1, 0, t->eps, cone);
    if (!icfi_cone_make(ICFI_UNIT_MOTOR, NULL, t->most, 1, 0, 0, cone)) return 0;
    cone->h1 = -(t->target + t->impulse0 / t->slope);
    cone->r1 = 1 / t->slope;
    return 1;
}

ICF_API int icf_row_evaluate(const icf_row_term* term, icf_real u, icf_real* cost,
                             icf_real* impulse, icf_real* hessian)
{
    icf_real out[3];
    icfi_row_price(term, u, out);
    if (cost) *cost = out[0];
    if (impulse) *impulse = out[1];
    if (hessian) *hessian = out[2];
    return 1;
}

// ------------------------------------------------------------------------------------------------
// Layer 7: the convex solver: its problem
// >>problem
/* Offers to those below: icfi_add_rows, icfi_apply, icfi_apply_transposed, icfi_block_reals,
   icfi_check_contact, icfi_check_lever, icfi_check_motion, icfi_check_pattern, icfi_check_potentials,
   icfi_clique_solve, icfi_clique_times, icfi_columns, icfi_contact_map, icfi_contact_state,
   icfi_factor_masses, icfi_find_islands, icfi_find_scales, icfi_first_column, icfi_has_lever,
   icfi_has_levers, icfi_has_limit, icfi_is_body, icfi_island, icfi_island_at, icfi_island_layout,
   icfi_least_bytes, icfi_lever, icfi_link_block, icfi_link_delassus, icfi_link_velocity, icfi_make_terms,
   icfi_mass_block, icfi_mass_reals, ICFI_OPTIONS_COOKIE, icfi_push_lever, icfi_read_lever, icfi_read_link,
   icfi_reads_well, icfi_refuse, icfi_reorder, icfi_row_state, icfi_set_limit, icfi_sizes, icfi_solve,
   icfi_solve_at, icfi_solve_layout, icfi_solve_point, ICFI_SOLVED, icfi_sort_potentials, icfi_spins,
   icfi_subtract_product, icfi_sum_sizes, icfi_unit, icfi_unit_role, icfi_write_body */

/* The caller's arrays are checked once, when a call begins, and cut into islands: groups of cliques that
   links and couplings connect. Contacts and rows become terms, which hold everything that depends on the
   step and on the velocities before it. Nothing else is copied. */

#define ICFI_OPTIONS_COOKIE 0x1cf0097e
#define ICFI_SOLVED 0x1cf5017e

/* A contact in a solve. It is kept until the next solve, for icf_get_contact. The fields that directions
   read are together, at the start. */
typedef struct icfi_contact_state {
    int32_t rows, spins;
    icf_real dv[3];   /* velocity along a direction */
    icfi_price price; /* at v */
    icf_real s[18];   /* v = S u + bias: 3 x rows, row-major */
    icf_real bias[3], v[3];
    icf_real pull[2], twist[3]; /* along t1, t2, normal; bias has `pull` in it, spin has `twist` */
    icf_contact_term term;
    icf_real gap;                        /* phi of a barrier, at v */
    icf_real w;                          /* inverse effective mass, also for icf_get_contact */
    icf_real guess[3];                   /* impulse_guess, n >= 0 */
    icf_real y[2];                       /* dual of friction, of Newton's method */
    icf_real spin[3], spin_dv[3];        /* angular velocity along t1, t2, normal */
    icf_real spin_impulse[3], spin_h[4]; /* torsion and rolling; h: 11, 12, 22, nn */
    icf_real spin_w, rolling, torsion,
        eps[2]; /* limits (times gamma_n0), N m s; eps: where they yield, rad/s */
} icfi_contact_state;

typedef struct icfi_row_state {
    icf_row_term term;
    icf_real u, du, price[3], w;
    int32_t row;
} icfi_row_state;

/* The velocity that a unit reads, as (1, 2, n) */
typedef enum icfi_unit_role {
    ICFI_ROLE_CONTACT,
    ICFI_ROLE_ROLLING, /* the contact's angular velocity */
    ICFI_ROLE_TORSION, /* (its part along the normal, 0, 0) */
    ICFI_ROLE_ROW      /* (u, 0, 0); for a limit (0, 0, sign u) */
} icfi_unit_role;

/* The change of a unit along a direction */
typedef struct icfi_unit_way {
    icf_real s[4], lam[4], u;
} icfi_unit_way;

/* Vectors of a unit have four numbers: the first is s0, the others are sr. Numbers that a unit lacks
   stay 0. The fields of a normal unit are together, at the start. */
typedef struct icfi_unit {
    int32_t kind, role, of; /* of: index of the contact or row */
    int32_t ends;           /* law: whether its force ends at b */
    const icf_normal* law;
    icf_real b0, h0, r0;            /* see b1, h1 and r1 */
    icf_real u, ru, bend;           /* residual; ell''(u) */
    icf_real t00, give, k0, th00;   /* see below */
    icf_real by_s;                  /* 1 / s0 */
    icf_real omega, by_omega;       /* the target of this unit is sigma m omega; 1 / omega */
    icf_real pull;                  /* lambda_0 less the normal impulse */
    icf_real from, corner;          /* law: b; ell''(0) if the force begins at a corner */
    icf_real least, barrier;        /* law: the least curvature; u at a barrier, or 0 */
    icf_real c;                     /* friction, motor: lambda_0 */
    icf_real w;                     /* inverse effective mass */
    icf_real s[4], lam[4], p[4];    /* p: the target */
    icf_real rp[4];                 /* residuals */
    icf_real d0[4];                 /* change of lambda at constant v */
    icfi_unit_way d, kept;          /* a direction, and the one before it */
    icf_real b1, b2;                /* B: s0 reads b0 vn, s1 b1 v1, s2 b2 v2 */
    icf_real h1, eps;               /* h = (h0, h1, 0, eps) */
    icf_real r1;                    /* R = diag(r0, r1, r1) */
    icf_real scale[4], eta, by_eta; /* w of W, eta and 1 / eta */
    icf_real share, nu[4];          /* 1 / (1 + w0); W lambda */
    icf_real by_nu, by_det;         /* 1 / nu0; nu0^2 / det nu */
    icf_real by_s_det;              /* s0^2 / det s */
    icf_real axis[3], th0, side,
        along;   /* Theta = [th00, th0 axis'; ., side I + (along - side) axis axis'] */
    icf_real kr; /* k = (k0, kr axis); give = 1 / (bend + t00) */
} icfi_unit;

/* The lever of a block, `sign` times [I, -[r]x; 0, I]. sign is 0 for any other block. */
typedef struct icfi_lever {
    icf_vec3 r;
    icf_real sign;
    int32_t first; /* the velocities of its clique begin there */
} icfi_lever;

/* Islands of at most so many cliques and unknowns take a dense matrix: its zeros cost less than a pattern */
enum { ICFI_FEW = 4, ICFI_FEW_UNKNOWNS = 24 };

/* The pieces of a workspace: type, name, how many. A problem has n unknowns, c cliques, l links, m couplings
   and b blocks. */
// clang-format off
#define ICFI_PIECES(piece) \
    piece(int32_t, first, c)                    /* of each clique: where its velocities begin, */ \
    piece(size_t, mass_at, c + 1)               /* its block of A, */ \
    piece(int32_t, group, c)                    /* its island, or -1, */ \
    piece(int32_t, local, c)                    /* its index in its island, */ \
    /* of each island: its cliques, links and couplings */ \
    piece(int32_t, clique_start, c + 2) piece(int32_t, cliques_of, c) \
    piece(int32_t, link_start, c + 2) piece(int32_t, link_list, l) \
    piece(int32_t, coupling_start, c + 2) piece(int32_t, coupling_list, m) \
    piece(int32_t, bias_at, l + 1)              /* of each link: its bias, */ \
    piece(int32_t, kind, l)                     /* 3 or 6 if only levers and contacts, else 0 */ \
    piece(size_t, block_at, b)                  /* of each block: its numbers, */ \
    piece(icfi_lever, lever, b)                 /* its lever, */ \
    piece(int32_t, reads, b) piece(int32_t, columns, b) /* the velocities that it reads */ \
    piece(size_t, coupling_at, m + 1) \
    /* of each link: its contacts and rows */ \
    piece(int32_t, contact_start, l + 2) piece(int32_t, contact_list, (size_t)p->contacts) \
    piece(int32_t, row_start, l + 2) piece(int32_t, row_list, (size_t)p->rows) \
    piece(int32_t, key, l > m ? l : m)          /* scratch of sorting */ \
    piece(icf_real, factor, sizes->mass)        /* of the cliques' own blocks; of a body, its inverse */ \
    piece(icf_real, d, n)                       /* D = diag(A)^-1/2 */ \
    /* velocities: present, v*, where the island starts, the best so far, where a step begins, where the \
       units of the interior point method are, scratch that no function keeps */ \
    piece(icf_real, v, n) piece(icf_real, free, n) piece(icf_real, start, n) piece(icf_real, best, n) \
    piece(icf_real, from, n) piece(icf_real, hold, n) piece(icf_real, spare, n) \
    /* v - v* and A times it, A v*, J' gamma, and the gradient; a direction and A times it */ \
    piece(icf_real, r, n) piece(icf_real, momentum, n) piece(icf_real, free_momentum, n) \
    piece(icf_real, impulse, n) piece(icf_real, gradient, n) \
    piece(icf_real, dv, n) piece(icf_real, dp, n) \
    piece(icf_real, scratch, 8 * (size_t)sizes->largest) \
    piece(icfi_unit, unit, icfi_units_most(p)) \
    piece(icfi_contact_state, contact, (size_t)p->contacts) \
    piece(icfi_row_state, row, (size_t)p->rows)
// clang-format on

/* Offsets of the pieces. Behind them are those of one island at a time. */
typedef struct icfi_solve_at {
    ICFI_PIECES(ICFI_PIECE_OFFSET)
    size_t island;
} icfi_solve_at;

/* The sizes of a problem, summed up */
typedef struct icfi_sizes {
    int32_t unknowns, blocks, link_rows, largest;
    size_t mass;  /* numbers in the blocks of A */
    size_t edges; /* pairs of cliques, link by link, and couplings */
} icfi_sizes;

/* One solve: its data, by pointers into the workspace */
typedef struct icfi_solve {
    const icf_problem* p;
    const icf_options* options;
    icf_stats* stats;
    icfi_sizes sizes;
    unsigned char* memory;
    size_t bytes;
    ICFI_PIECES(ICFI_PIECE_POINTER)
    int32_t units;
    size_t island_at;
    icf_real bound;   /* A is at least the blocks in `factor` divided by this */
    int32_t guesses;  /* contacts of the present island with an impulse guess */
    int32_t moving;   /* unknowns of all islands, which come before the others */
    int32_t stopped;  /* the caller asked for it */
    int32_t keeper;   /* the island whose pattern is kept, or -1 */
    int32_t unopened; /* whether an island took no matrix, so that its bytes are not counted */
    icf_workspace* workspace;
} icfi_solve;

/* One island. Its cliques, links and couplings are ranges of sorted lists; its matrix is dense or sparse. */
typedef struct icfi_island {
    int32_t cliques, links, couplings, unknowns;
    int32_t begin, end; /* its unknowns */
    const int32_t *clique, *link, *coupling;
    icf_real* dense;         /* the matrix of a single clique, or of a few small ones; or NULL */
    int32_t place[ICFI_FEW]; /* where each clique begins in `dense` */
    icf_sparse sparse;

    /* the state of Newton's method */
    icf_real cost, gradient, scale, error; /* scale: max(|D A v|, |D J' gamma|) */
    icf_real impulse, motion; /* |D J' gamma|, and max(|D A v|, |D A v*|), the scale of rounding */
    int32_t at_rounding;      /* each clique's gradient is only the rounding of its terms */
    int32_t feasible;         /* no barrier is overlapped, and nothing overflows */
    int32_t iterations, factorizations, trials, convex, iterative;
    int32_t at_best;      /* the last evaluation was at s->best */
    icf_iteration best;   /* at s->best */
    icf_iteration before; /* sums over the islands before this one */
    icf_stop stop;
} icfi_island;

ICF_API icf_problem icf_default_problem(void)
{
    icf_problem p;
    ICFI_MEMSET(&p, 0, sizeof p);
    return p;
}

ICF_API icf_options icf_default_options(void)
{
    icf_options o;
    ICFI_MEMSET(&o, 0, sizeof o);
#ifdef ICF_FLOAT
    o.tolerance = ICF_R(1e-4);
#else
    o.tolerance = ICF_R(1e-5);
#endif
    o.iterations = 1000;
    o.factorizations = 1000;
    o.cookie = ICFI_OPTIONS_COOKIE;
    return o;
}

/* ---- memory ---- */

static icf_result icfi_refuse(icf_stats* stats, icf_part part, int32_t which, icf_result result)
{
    stats->part = part;
    stats->which = which;
    return result;
}

static int icfi_is_body(const icf_problem* p, int32_t clique)
{
    return p->clique_is_body && p->clique_is_body[clique];
}

/* The numbers of a clique's block of A */
static size_t icfi_mass_reals(const icf_problem* p, int32_t clique)
{
    const size_t n = (size_t)p->clique_sizes[clique];
    return icfi_is_body(p, clique) ? 7 : icfi_times(n, n);
}

static int icfi_has_lever(const icf_problem* p, int32_t block)
{
    return p->block_lever && p->block_lever[block].sign != 0;
}

/* How many velocities a block reads, and the first of them in its clique */
static int32_t icfi_columns(const icf_problem* p, int32_t block)
{
    return p->block_columns ? p->block_columns[2 * block + 1]
                            : p->clique_sizes[p->block_clique[block]];
}

static int32_t icfi_first_column(const icf_problem* p, int32_t block)
{
    return p->block_columns ? p->block_columns[2 * block] : 0;
}

/* Whether block k of link i reads what there is, and nothing that the block before it reads */
static int icfi_reads_well(const icf_problem* p, int32_t i, int32_t k)
{
    const int32_t c = p->block_clique[k], first = icfi_first_column(p, k);
    if (c < 0 || c >= p->cliques || first < 0 || icfi_columns(p, k) < 0 ||
        icfi_columns(p, k) > p->clique_sizes[c] - first ||
        (icfi_has_lever(p, k) && icfi_columns(p, k) != 6))
        return 0;
    return k == p->link_start[i] || p->block_clique[k - 1] != c ||
           (p->block_columns && !icfi_has_lever(p, k - 1) && !icfi_has_lever(p, k) &&
            first >= icfi_first_column(p, k - 1) + icfi_columns(p, k - 1));
}

/* The numbers of a link's block */
static size_t icfi_block_reals(const icf_problem* p, int32_t link, int32_t block)
{
    if (icfi_has_lever(p, block)) return 0;
    return (size_t)p->link_rows[link] * (size_t)icfi_columns(p, block);
}

/* Adds up the sizes of a problem, and refuses sizes out of range. Every call does this first. */
static icf_result icfi_sum_sizes(const icf_problem* p, icfi_sizes* sizes, icf_stats* stats)
{
    const size_t eighth = (size_t)-1 / 8, limit = (size_t)0x1fffffff;
    const size_t most = sizeof(size_t) < 4 ? eighth : limit;
    size_t unknowns = 0, rows = 0, edges, m;
    int32_t i;
    ICFI_MEMSET(sizes, 0, sizeof *sizes);
    if (p->cliques < 0 || p->couplings < 0 || p->links < 0 || p->surfaces < 0 || p->contacts < 0 ||
        p->rows < 0 || (p->surfaces && !p->surface) ||
        (p->cliques && (!p->clique_sizes || !p->mass || !p->v_free)) ||
        (p->couplings && (!p->coupling_pairs || !p->coupling_blocks)) ||
        (p->links && (!p->link_rows || !p->link_start)) || (p->contacts && !p->contact) ||
        (p->rows && !p->row)) {
        return icfi_refuse(stats, ICF_PART_PROBLEM, 0, ICF_RESULT_BAD_ARGUMENT);
    }
    for (i = 0; i < p->cliques; i++) {
        size_t n = (size_t)p->clique_sizes[i];
        if (p->clique_sizes[i] < 0 || (n != 6 && icfi_is_body(p, i))) {
            return icfi_refuse(stats, ICF_PART_CLIQUE, i, ICF_RESULT_BAD_ARGUMENT);
        }
        unknowns += n;
        sizes->mass = icfi_plus(sizes->mass, icfi_mass_reals(p, i));
        if (n > ICFI_MOST_ROWS || unknowns > most || sizes->mass == (size_t)-1) {
            return icfi_refuse(stats, ICF_PART_CLIQUE, i, ICF_RESULT_OVERFLOW);
        }
        if (p->clique_sizes[i] > sizes->largest) sizes->largest = p->clique_sizes[i];
    }
    edges = (size_t)p->couplings;
    for (i = 0; i < p->links; i++) {
        if (p->link_rows[i] < 1 || p->link_rows[i] > 6 || (i == 0 && p->link_start[0] != 0) ||
            p->link_start[i + 1] < p->link_start[i]) {
            return icfi_refuse(stats, ICF_PART_LINK, i, ICF_RESULT_BAD_ARGUMENT);
        }
        rows += (size_t)p->link_rows[i];
        m = (size_t)(p->link_start[i + 1] - p->link_start[i]);
        edges = icfi_plus(edges, m ? icfi_times(m, m - 1) / 2 : 0);
    }
    if (p->links) sizes->blocks = p->link_start[p->links];
    if (sizes->blocks && (!p->block_clique || (!p->blocks && !p->block_lever))) {
        return icfi_refuse(stats, ICF_PART_PROBLEM, 0, ICF_RESULT_BAD_ARGUMENT);
    }
    if (rows > most || edges > most) {
        return icfi_refuse(stats, ICF_PART_LINK, 0, ICF_RESULT_OVERFLOW);
    }
    sizes->unknowns = (int32_t)unknowns;
    sizes->link_rows = (int32_t)rows;
    sizes->edges = edges;
    return ICF_RESULT_OK;
}

/* Whether a surface resists turning */
static int icfi_spins(const icf_surface* f)
{
    return f->torsion > 0 || f->rolling > 0;
}

/* The most units that a problem can have: two per contact, one per row, two more for torsion and rolling */
static size_t icfi_units_most(const icf_problem* p)
{
#ifdef ICF_NO_INTERIOR_POINT
    (void)p;
    return 0;
#else
    size_t most = 2 * (size_t)p->contacts + (size_t)p->rows;
    int32_t i;
    for (i = 0; i < p->contacts; i++) {
        const int32_t k = p->contact[i].surface;
        if (k >= 0 && k < p->surfaces && icfi_spins(p->surface + k)) most += 2;
    }
    return most;
#endif
}

static void icfi_solve_layout(const icf_problem* p, const icfi_sizes* sizes, icfi_arena* arena,
                              icfi_solve_at* at)
{
    size_t n = (size_t)sizes->unknowns, c = (size_t)p->cliques, l = (size_t)p->links;
    size_t m = (size_t)p->couplings, b = (size_t)sizes->blocks;
    ICFI_PIECES(ICFI_PIECE_TAKE)
    at->island = arena->used;
}

/* The matrix of an island, behind the pieces of the solve. It is dense, or takes sizes and pairs for the
   sparse matrix, its pattern, and its factor. */
typedef struct icfi_island_at {
    size_t dense, size, pair, pattern, pattern_bytes, factor;
} icfi_island_at;

static void icfi_island_layout(int dense, size_t cliques, size_t edges, size_t unknowns,
                               icfi_arena* arena, icfi_island_at* at)
{
    at->dense = at->factor = arena->used;
    if (dense) {
        at->dense = icfi_arena_take(arena, icfi_times(unknowns, unknowns), sizeof(icf_real));
        return;
    }
    at->size = icfi_arena_take(arena, cliques, sizeof(int32_t));
    at->pair = icfi_arena_take(arena, edges, 2 * sizeof(int32_t));
    at->pattern_bytes = icf_sparse_pattern_bytes((int32_t)cliques, (int32_t)edges);
    if (!at->pattern_bytes) at->pattern_bytes = (size_t)-1;
    at->pattern = icfi_arena_take(arena, at->pattern_bytes, 1);
    at->factor = arena->used;
}

/* The least bytes for a problem with all its cliques in one island, behind the pieces that `arena` has
   taken; 0 if that is too much. */
static size_t icfi_least_bytes(const icf_problem* p, const icfi_sizes* sizes, icfi_arena arena,
                               icf_sparse_mode mode)
{
    icfi_island_at island;
    size_t factor, mark = arena.used;
    icfi_island_layout(1, 1, 0, (size_t)sizes->largest, &arena, &island);
    icfi_arena_release(&arena, mark);
    icfi_island_layout(0, (size_t)p->cliques, sizes->edges, (size_t)sizes->unknowns, &arena,
                       &island);
    factor = icf_sparse_bytes_most(p->cliques, (int32_t)sizes->edges, sizes->largest, mode);
    (void)icfi_arena_take(&arena, factor ? factor : (size_t)-1, 1);
    return arena.result == ICF_RESULT_OK ? arena.peak : 0;
}

ICF_API size_t icf_workspace_bytes(const icf_problem* problem, icf_sparse_mode mode)
{
    icfi_arena arena = icfi_arena_measure();
    icfi_sizes sizes;
    icf_stats stats;
    icfi_solve_at at;
    if (!problem || icfi_sum_sizes(problem, &sizes, &stats) != ICF_RESULT_OK) return 0;
    icfi_solve_layout(problem, &sizes, &arena, &at);
    return icfi_least_bytes(problem, &sizes, arena, mode);
}

ICF_API icf_result icf_workspace_init(icf_workspace* workspace, void* memory, size_t bytes)
{
    icfi_arena arena = icfi_arena_over(memory, bytes);
    if (!workspace || arena.result == ICF_RESULT_BAD_ARGUMENT) return ICF_RESULT_BAD_ARGUMENT;
    if (arena.result != ICF_RESULT_OK) return arena.result;
    ICFI_MEMSET(workspace, 0, sizeof *workspace);
    workspace->memory = memory;
    workspace->bytes = bytes;
    return ICF_RESULT_OK;
}

static void icfi_solve_point(icfi_solve* to, void* memory, const icfi_solve_at* at)
{
    ICFI_PIECES(ICFI_PIECE_POINT)
    to->island_at = at->island;
}

/* ---- small products ---- */

/* y (+)= M x, M rows x n, row-major. Bodies have 6 columns, and contacts 3 rows of 3 or 6. */
static void icfi_apply(int32_t rows, int32_t n, const icf_real* m, const icf_real* x, icf_real* y,
                       int add)
{
    int32_t i, j;
    if (n == 6) {
        icf_real x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5];
        for (i = 0; i < rows; i++, m += 6) {
            icf_real sum =
                (m[0] * x0 + m[1] * x1 + m[2] * x2) + (m[3] * x3 + m[4] * x4 + m[5] * x5);
            y[i] = add ? y[i] + sum : sum;
        }
        return;
    }
    /* three rows at a time: one sum would wait for each of its terms */
    for (i = 0; i + 3 <= rows; i += 3, m += 3 * n) {
        const icf_real *second = m + n, *third = second + n;
        icf_real a = add ? y[i] : 0, b = add ? y[i + 1] : 0, c = add ? y[i + 2] : 0;
        for (j = 0; j < n; j++) {
            a += m[j] * x[j];
            b += second[j] * x[j];
            c += third[j] * x[j];
        }
        y[i] = a;
        y[i + 1] = b;
        y[i + 2] = c;
    }
    for (; i < rows; i++, m += n) {
        icf_real sum = add ? y[i] : 0;
        for (j = 0; j < n; j++) sum += m[j] * x[j];
        y[i] = sum;
    }
}

/* y += M' x, M rows x n, row-major */
static void icfi_apply_transposed(int32_t rows, int32_t n, const icf_real* m, const icf_real* x,
                                  icf_real* y)
{
    int32_t i, j;
    if (rows == 3) {
        icf_real a = x[0], b = x[1], c = x[2];
        const icf_real *second = m + n, *third = second + n;
        for (j = 0; j < n; j++) y[j] = y[j] + m[j] * a + second[j] * b + third[j] * c;
        return;
    }
    if (rows == 6 && n == 6) {
        for (j = 0; j < 6; j++) {
            y[j] = y[j] + (m[j] * x[0] + m[6 + j] * x[1] + m[12 + j] * x[2]) +
                   (m[18 + j] * x[3] + m[24 + j] * x[4] + m[30 + j] * x[5]);
        }
        return;
    }
    for (i = 0; i < rows; i++, m += n) {
        for (j = 0; j < n; j++) y[j] += m[j] * x[i];
    }
}

/* to -= X' Y, as icfi_product, with the widest vectors there are */
static void icfi_subtract_product(int32_t rows, int32_t m, const icf_real* x, int32_t n,
                                  const icf_real* y, icf_real* to, int32_t ld, int lower)
{
    ICFI_WIDEST(icfi_product, (rows, m, x, n, y, to, ld, lower));
    ICFI_WIDEST_END();
}

/* to += M' x, M rows x n, row-major, rows <= 6 */
static void icfi_add_rows(int32_t rows, int32_t n, const icf_real* m, const icf_real* x,
                          icf_real* to)
{
    icf_real minus[6];
    int32_t i;
    for (i = 0; i < rows; i++) minus[i] = -x[i];
    icfi_subtract_product(rows, n, m, 1, minus, to, n, 0);
}

/* Writes the numbers of a lever's block, rows x 6. No entry is -0. */
static void icfi_write_lever(int32_t rows, const icf_lever* l, icf_real* block)
{
    const icf_vec3 r = icf_vec3_scale(l->sign, l->r);
    int32_t i;
    for (i = 0; i < 6 * rows; i++) block[i] = i % 7 ? 0 : l->sign;
    block[4] = 0 + r.z;
    block[5] = 0 - r.y;
    block[9] = 0 - r.z;
    block[11] = 0 + r.x;
    block[15] = 0 + r.y;
    block[16] = 0 - r.x;
}

/* u += K v */
ICFI_FORCE_INLINE void icfi_read_lever(int32_t rows, const icfi_lever* l, const icf_real* v,
                                       icf_real* u)
{
    icf_vec3 r = l->r;
    u[0] += l->sign * (v[0] + (v[4] * r.z - v[5] * r.y));
    u[1] += l->sign * (v[1] + (v[5] * r.x - v[3] * r.z));
    u[2] += l->sign * (v[2] + (v[3] * r.y - v[4] * r.x));
    if (rows < 6) return;
    u[3] += l->sign * v[3];
    u[4] += l->sign * v[4];
    u[5] += l->sign * v[5];
}

/* to += K' x */
ICFI_FORCE_INLINE void icfi_push_lever(int32_t rows, const icfi_lever* l, const icf_real* x,
                                       icf_real* to)
{
    icf_real sign = l->sign, a = sign * x[0], b = sign * x[1], c = sign * x[2];
    icf_vec3 r = l->r;
    to[0] += a;
    to[1] += b;
    to[2] += c;
    to[3] += r.y * c - r.z * b;
    to[4] += r.z * a - r.x * c;
    to[5] += r.x * b - r.y * a;
    if (rows < 6) return;
    to[3] += sign * x[3];
    to[4] += sign * x[4];
    to[5] += sign * x[5];
}

/* Writes [m I, 0; 0, J] from the 7 numbers of a body. */
static void icfi_write_body(const icf_real m[7], icf_real a[36])
{
    int32_t i;
    for (i = 0; i < 36; i++) a[i] = 0;
    a[0] = a[7] = a[14] = m[0];
    a[21] = m[1];
    a[28] = m[2];
    a[35] = m[3];
    a[22] = a[27] = m[4];
    a[23] = a[33] = m[5];
    a[29] = a[34] = m[6];
}

/* The block of a clique in A, size x size; of a body it is written into `room` */
static const icf_real* icfi_mass_block(const icf_problem* p, int32_t clique, const icf_real* mass,
                                       icf_real room[36])
{
    if (!icfi_is_body(p, clique)) return mass;
    icfi_write_body(mass, room);
    return room;
}

/* The block of a link, rows x size, whose numbers begin at `at`; of a lever it is written into `room` */
static const icf_real* icfi_link_block(const icf_problem* p, int32_t link, int32_t block, size_t at,
                                       icf_real room[36])
{
    if (!icfi_has_lever(p, block)) return p->blocks + at;
    icfi_write_lever(p->link_rows[link], p->block_lever + block, room);
    return room;
}

/* ---- checks: every input of the caller is looked at once ---- */

static icf_result icfi_check_block(const icf_problem* p, int32_t clique, const icf_real* a)
{
    const icf_real *row = a, *column;
    int32_t n = p->clique_sizes[clique], i, j;
    if (!icfi_all_finite(icfi_mass_reals(p, clique), a)) return ICF_RESULT_NOT_FINITE;
    if (icfi_is_body(p, clique)) return ICF_RESULT_OK; /* what else it needs, its inverse tells */
    for (i = 0; i < n; i++) {
        if (!(a[i * n + i] > 0)) return ICF_RESULT_NOT_SPD;
    }
    for (i = 0; i < n; i++, row += n) {
        for (j = 0, column = a + i; j < i; j++, column += n) {
            icf_real x = row[j], y = *column;
            /* rotating an inertia tensor rounds */
            if (x != y &&
                ICF_FABS(x - y) > 1000 * ICFI_EPSILON * ICF_SQRT(row[i]) * ICF_SQRT(a[j * n + j])) {
                return ICF_RESULT_NOT_SYMMETRIC;
            }
        }
    }
    return ICF_RESULT_OK;
}

/* Checks which cliques the links and couplings connect, and finds where their numbers begin. */
static ICFI_NOINLINE icf_result icfi_check_pattern(icfi_solve* s)
{
    const icf_problem* p = s->p;
    int32_t i, k, e;
    size_t at = 0;
    for (i = 0; i < p->cliques; i++) {
        s->mass_at[i] = at;
        at += icfi_mass_reals(p, i);
    }
    for (i = 0, at = 0; i < p->couplings; i++) {
        int32_t a = p->coupling_pairs[2 * i], b = p->coupling_pairs[2 * i + 1];
        if (a < 0 || b < 0 || a >= p->cliques || b >= p->cliques || a == b) {
            return icfi_refuse(s->stats, ICF_PART_COUPLING, i, ICF_RESULT_BAD_ARGUMENT);
        }
        s->coupling_at[i] = at;
        at += (size_t)p->clique_sizes[a] * (size_t)p->clique_sizes[b];
    }
    /* until islands are made, `local` is the last link seen to read a clique */
    for (i = 0; i < p->cliques; i++) s->local[i] = -1;
    for (i = 0, e = 0, at = 0; i < p->links; i++) {
        s->bias_at[i] = e;
        e += p->link_rows[i];
        for (k = p->link_start[i]; k < p->link_start[i + 1]; k++) {
            int32_t c = p->block_clique[k];
            int again = k > p->link_start[i] && p->block_clique[k - 1] == c;
            if (!icfi_reads_well(p, i, k) || (!again && s->local[c] == i)) {
                return icfi_refuse(s->stats, ICF_PART_BLOCK, k, ICF_RESULT_BAD_ARGUMENT);
            }
            s->local[c] = i;
            s->block_at[k] = at;
            at += icfi_block_reals(p, i, k);
            if (at && !p->blocks)
                return icfi_refuse(s->stats, ICF_PART_PROBLEM, 0, ICF_RESULT_BAD_ARGUMENT);
        }
    }
    return ICF_RESULT_OK;
}

/* Makes S of a contact: S u + bias is the velocity at its point, along its axes. A row is [a, point x a],
   because a . (omega x point) = omega . (point x a). */
static void icfi_contact_map(const icf_problem* problem, const icf_contact* c,
                             const icf_vec3 axes[3], icf_real* s, icf_real* bias)
{
    const int32_t rows = problem->link_rows[c->link];
    icf_vec3 p = c->point, v = problem->surface[c->surface].velocity;
    int32_t i;
    for (i = 0; i < 3; i++, s += rows, axes++) {
        icf_real x = axes->x, y = axes->y, z = axes->z;
        s[0] = x;
        s[1] = y;
        s[2] = z;
        bias[i] = x * v.x + y * v.y + z * v.z;
        if (rows < 6) continue;
        s[3] = p.y * z - p.z * y;
        s[4] = p.z * x - p.x * z;
        s[5] = p.x * y - p.y * x;
    }
    if (rows == 3) s[0] = 0; /* the last row is read as a vector of four, too */
}

/* The part of friction's velocities that is not motion, along a contact's axes */
static void icfi_contact_pull(const icf_contact* c, const icf_vec3 axes[3],
                              icfi_contact_state* state)
{
    int32_t i;
    for (i = 0; i < 3; i++) {
        if (i < 2) state->bias[i] += state->pull[i] = icf_vec3_dot(axes[i], c->pull);
        state->twist[i] = icf_vec3_dot(axes[i], c->twist);
    }
}

static icf_result icfi_check_lever(const icf_problem* p, int32_t rows, int32_t clique,
                                   const icf_lever* l)
{
    if (!icfi_finite3(l->r.x, l->r.y, l->r.z)) return ICF_RESULT_NOT_FINITE;
    return (l->sign == 1 || l->sign == -1) && (rows == 3 || rows == 6) && icfi_is_body(p, clique)
               ? ICF_RESULT_OK
               : ICF_RESULT_BAD_ARGUMENT;
}

/* Checks the numbers of links, and copies the levers. */
static icf_result icfi_check_links(icfi_solve* s)
{
    const icf_problem* p = s->p;
    int32_t i, k;
    for (i = 0; i < p->links; i++) {
        int32_t rows = p->link_rows[i];
        if (p->link_bias && !icfi_all_finite((size_t)rows, p->link_bias + s->bias_at[i])) {
            return icfi_refuse(s->stats, ICF_PART_LINK, i, ICF_RESULT_NOT_FINITE);
        }
        for (k = p->link_start[i]; k < p->link_start[i + 1]; k++) {
            const int32_t c = p->block_clique[k];
            const size_t reals = icfi_block_reals(p, i, k);
            icf_result result = ICF_RESULT_OK;
            s->reads[k] = s->first[c] + icfi_first_column(p, k);
            s->columns[k] = icfi_columns(p, k);
            s->lever[k].sign = 0;
            if (icfi_has_lever(p, k)) {
                result = icfi_check_lever(p, rows, c, p->block_lever + k);
                s->lever[k].sign = p->block_lever[k].sign;
                s->lever[k].r = p->block_lever[k].r;
                s->lever[k].first = s->first[c];
            } else if (reals && !icfi_all_finite(reals, p->blocks + s->block_at[k])) {
                result = ICF_RESULT_NOT_FINITE;
            }
            if (result != ICF_RESULT_OK) return icfi_refuse(s->stats, ICF_PART_BLOCK, k, result);
        }
    }
    return ICF_RESULT_OK;
}

/* Checks a contact, whose surface must be good. Makes its axes. */
static icf_result icfi_check_contact(const icf_problem* p, int32_t contact, icf_vec3 axes[3],
                                     const char** reason)
{
    const icf_contact* c = p->contact + contact;
    const int32_t rows = c->link >= 0 && c->link < p->links ? p->link_rows[c->link] : 0;
    icf_result result;
    *reason = c->surface < 0 || c->surface >= p->surfaces ? "surface"
              : rows != 3 && rows != 6                    ? "link"
                                                          : NULL;
    if (*reason) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_contact_check(p->surface + c->surface, c, axes, reason);
    if (result != ICF_RESULT_OK || rows == 6) return result;
    if (icfi_spins(p->surface + c->surface)) *reason = "torsion and rolling take a link of 6 rows";
    if (c->point.x != 0 || c->point.y != 0 || c->point.z != 0)
        *reason = "point takes a link of 6 rows";
    return *reason ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_OK;
}

/* Checks the numbers of couplings, links, contacts and rows. Copies levers, makes contact maps on the way. */
static ICFI_NOINLINE icf_result icfi_check_potentials(icfi_solve* s)
{
    const icf_problem* p = s->p;
    int32_t i;
    icf_result result;
    for (i = 0; i < p->couplings; i++) {
        size_t na = (size_t)p->clique_sizes[p->coupling_pairs[2 * i]];
        size_t nb = (size_t)p->clique_sizes[p->coupling_pairs[2 * i + 1]];
        if (!icfi_all_finite(na * nb, p->coupling_blocks + s->coupling_at[i])) {
            return icfi_refuse(s->stats, ICF_PART_COUPLING, i, ICF_RESULT_NOT_FINITE);
        }
    }
    result = icfi_check_links(s);
    if (result != ICF_RESULT_OK) return result;
    for (i = 0; i < p->surfaces; i++) {
        result = icfi_surface_check(p->surface + i, &s->stats->reason);
        if (result != ICF_RESULT_OK) return icfi_refuse(s->stats, ICF_PART_SURFACE, i, result);
    }
    for (i = 0; i < p->contacts; i++) {
        icf_vec3 axes[3];
        result = icfi_check_contact(p, i, axes, &s->stats->reason);
        if (result != ICF_RESULT_OK) return icfi_refuse(s->stats, ICF_PART_CONTACT, i, result);
        icfi_contact_map(p, p->contact + i, axes, s->contact[i].s, s->contact[i].bias);
        icfi_contact_pull(p->contact + i, axes, s->contact + i);
    }
    for (i = 0; i < p->rows; i++) {
        const icf_row* r = p->row + i;
        result = icfi_row_check(r, &s->stats->reason);
        if (result == ICF_RESULT_OK) {
            if (r->link < 0 || r->link >= p->links) {
                s->stats->reason = "link";
            } else if (r->row < 0 || r->row >= p->link_rows[r->link]) {
                s->stats->reason = "row";
            }
            if (s->stats->reason) result = ICF_RESULT_BAD_ARGUMENT;
        }
        if (result != ICF_RESULT_OK) return icfi_refuse(s->stats, ICF_PART_ROW, i, result);
    }
    return ICF_RESULT_OK;
}

/* Checks the step, the masses and the velocities. */
static ICFI_NOINLINE icf_result icfi_check_motion(icfi_solve* s, const icf_real* v)
{
    const icf_problem* p = s->p;
    size_t f = 0;
    int32_t i;
    icf_result result;
    if (!icfi_finite(p->dt))
        return icfi_refuse(s->stats, ICF_PART_PROBLEM, 0, ICF_RESULT_NOT_FINITE);
    if (!(p->dt > 0)) return icfi_refuse(s->stats, ICF_PART_PROBLEM, 0, ICF_RESULT_BAD_ARGUMENT);
    for (i = 0; i < p->cliques; i++) {
        int32_t n = p->clique_sizes[i];
        size_t c = (size_t)n, at = s->mass_at[i];
        result = icfi_check_block(p, i, p->mass + at);
        if (result == ICF_RESULT_OK && p->mass_bound)
            result = icfi_check_block(p, i, p->mass_bound + at);
        if (result == ICF_RESULT_OK && n &&
            (!icfi_all_finite(c, p->v_free + f) || !icfi_all_finite(c, v + f) ||
             (p->v_last && !icfi_all_finite(c, p->v_last + f)))) {
            result = ICF_RESULT_NOT_FINITE;
        }
        if (result != ICF_RESULT_OK) return icfi_refuse(s->stats, ICF_PART_CLIQUE, i, result);
        f += c;
    }
    return ICF_RESULT_OK;
}

/* The inverse of a body's block: 1 / m, and J^-1 from J = L D L'. Answers 0 if a pivot is not good. */
static int icfi_invert_body(const icf_real m[7], icf_real inverse[7])
{
    icf_real j[9], l[3], d[3];
    j[0] = m[1];
    j[1] = m[4];
    j[2] = m[5];
    j[4] = m[2];
    j[5] = m[6];
    j[8] = m[3];
    if (!icfi_good_pivot(m[0]) || icfi_block3(j, 3, l, d, 0) >= 0) return 0;
    /* below its ones, L^-1 = [-l0; l0 l2 - l1, -l2] */
    l[1] = l[0] * l[2] - l[1];
    inverse[0] = 1 / m[0];
    inverse[1] = d[0] + l[0] * l[0] * d[1] + l[1] * l[1] * d[2];
    inverse[2] = d[1] + l[2] * l[2] * d[2];
    inverse[3] = d[2];
    inverse[4] = -l[0] * d[1] - l[1] * l[2] * d[2];
    inverse[5] = l[1] * d[2];
    inverse[6] = -l[2] * d[2];
    return 1;
}

/* Whether the caller's factor could be one: its pivots are above 0, and it is finite */
static int icfi_is_factor(int32_t n, const icf_real* factor)
{
    int32_t i = 0;
    while (i < n && factor[i * n + i] > 0) i++;
    return i == n && icfi_all_finite((size_t)n * (size_t)n, factor);
}

/* Factors the cliques' own blocks of A, or of the bound given for it. A clique that nothing touches needs no
   bound, and keeps the factor of its block for icf_sensitivity. */
static icf_result icfi_factor_masses(icfi_solve* s, const icf_real* blocks)
{
    int32_t i;
    for (i = 0; i < s->p->cliques; i++) {
        const int32_t n = s->p->clique_sizes[i];
        const icf_real* block = blocks + s->mass_at[i];
        icf_real* factor = s->factor + s->mass_at[i];
        int good;
        if (!n || (blocks != s->p->mass && s->group[i] < 0)) continue;
        if (icfi_is_body(s->p, i)) {
            good = icfi_invert_body(block, factor);
        } else {
            const icf_real* made = blocks == s->p->mass ? s->p->mass_factor : NULL;
            if (made && made[s->mass_at[i]] == 0) made = NULL;
            s->stats->reason = made ? "mass_factor" : NULL;
            ICFI_MEMCPY(factor, made ? made + s->mass_at[i] : block,
                        (size_t)n * (size_t)n * sizeof(icf_real));
            good = made ? icfi_is_factor(n, factor)
                        : icf_dense_factor(n, factor, n, NULL) == ICF_RESULT_OK;
        }
        if (!good) return icfi_refuse(s->stats, ICF_PART_CLIQUE, i, ICF_RESULT_NOT_SPD);
    }
    s->stats->reason = NULL;
    return ICF_RESULT_OK;
}

/* y = B x for the 7 numbers of a body's block or of its inverse; y may be x */
static void icfi_body_times(const icf_real b[7], const icf_real* x, icf_real* y)
{
    const icf_real a0 = x[3], a1 = x[4], a2 = x[5];
    y[0] = b[0] * x[0];
    y[1] = b[0] * x[1];
    y[2] = b[0] * x[2];
    y[3] = b[1] * a0 + b[4] * a1 + b[5] * a2;
    y[4] = b[4] * a0 + b[2] * a1 + b[6] * a2;
    y[5] = b[5] * a0 + b[6] * a1 + b[3] * a2;
}

/* x = A^-1 x of a clique by itself */
static void icfi_clique_solve(const icfi_solve* s, int32_t c, icf_real* x)
{
    const int32_t n = s->p->clique_sizes[c];
    if (icfi_is_body(s->p, c)) {
        icfi_body_times(s->factor + s->mass_at[c], x, x);
    } else {
        (void)icf_dense_solve(n, s->factor + s->mass_at[c], n, x, 1, n);
    }
}

/* y = A x of a clique by itself */
static void icfi_clique_times(const icfi_solve* s, int32_t c, const icf_real* x, icf_real* y)
{
    int32_t n = s->p->clique_sizes[c], j;
    const icf_real* a = s->p->mass + s->mass_at[c];
    if (icfi_is_body(s->p, c)) {
        icfi_body_times(a, x, y);
        return;
    }
    if (n <= 8) {
        icfi_apply(n, n, a, x, y, 0);
        return;
    }
    /* A is symmetric: its rows are its columns, six at a time */
    for (j = 0; j < n; j++) y[j] = 0;
    for (j = 0; j < n; j += 6) {
        icfi_add_rows(n - j < 6 ? n - j : 6, n, a + (size_t)j * (size_t)n, x + j, y);
    }
}

/* Makes D = diag(A)^-1/2. */
static void icfi_find_scales(icfi_solve* s)
{
    int32_t i, j;
    for (i = 0; i < s->p->cliques; i++) {
        int32_t n = s->p->clique_sizes[i];
        const icf_real* a = s->p->mass + s->mass_at[i];
        icf_real last = 0, d = 0;
        for (j = 0; j < n; j++) {
            const icf_real m = icfi_is_body(s->p, i) ? a[j < 3 ? 0 : j - 2] : a[j * n + j];
            /* a body has its mass three times: one root does */
            if (m != last) {
                last = m;
                d = 1 / ICF_SQRT(last);
            }
            s->d[s->first[i] + j] = d;
        }
    }
}

/* ---- islands ---- */

static int32_t icfi_root(int32_t* group, int32_t i)
{
    while (group[i] != i) {
        group[i] = group[group[i]];
        i = group[i];
    }
    return i;
}

/* The smaller clique stays the root, so that islands are numbered by their first clique. */
static void icfi_join(int32_t* group, int32_t a, int32_t b)
{
    a = icfi_root(group, a);
    b = icfi_root(group, b);
    if (a < b) {
        group[b] = a;
    } else {
        group[a] = b;
    }
}

/* Lists the items 0 .. count - 1 in the order of their keys: those with key k are list[start[k]] to
   list[start[k + 1] - 1]. Items with a key below 0 are left out. start has keys + 2 places. */
static void icfi_sort_by(int32_t count, const int32_t* key, ptrdiff_t stride, int32_t keys,
                         int32_t* start, int32_t* list)
{
    int32_t i, k;
    for (k = 0; k < keys + 2; k++) start[k] = 0;
    for (i = 0; i < count; i++) {
        k = *(const int32_t*)(const void*)((const unsigned char*)key + stride * i);
        if (k >= 0) start[k + 2]++;
    }
    for (k = 0; k < keys; k++) start[k + 2] += start[k + 1];
    for (i = 0; i < count; i++) {
        k = *(const int32_t*)(const void*)((const unsigned char*)key + stride * i);
        if (k >= 0) list[start[k + 1]++] = i;
    }
}

/* Numbers the islands that have a link. Sorts cliques, links and couplings by island. Velocities take the
   same order, so an island is one range of them. Cliques without an island come last. */
static int32_t icfi_find_islands(icfi_solve* s)
{
    const icf_problem* p = s->p;
    int32_t *group = s->group, *island = s->local, islands = 0, i, k;
    for (i = 0; i < p->cliques; i++) group[i] = i;
    for (i = 0; i < p->couplings; i++) {
        icfi_join(group, p->coupling_pairs[2 * i], p->coupling_pairs[2 * i + 1]);
    }
    for (i = 0; i < p->links; i++) {
        for (k = p->link_start[i] + 1; k < p->link_start[i + 1]; k++) {
            icfi_join(group, p->block_clique[k - 1], p->block_clique[k]);
        }
    }
    /* the island of a root: -1 without a link, -2 with one until it has a number */
    for (i = 0; i < p->cliques; i++) island[i] = -1;
    for (i = 0; i < p->links; i++) {
        if (p->link_start[i] < p->link_start[i + 1]) {
            island[icfi_root(group, p->block_clique[p->link_start[i]])] = -2;
        }
    }
    for (i = 0; i < p->cliques; i++) {
        int32_t root = icfi_root(group, i);
        if (island[root] == -2) island[root] = islands++;
        island[i] = island[root];
    }
    icfi_sort_by(p->cliques, island, sizeof(int32_t), islands, s->clique_start, s->cliques_of);

    for (i = 0; i < p->couplings; i++) s->key[i] = island[p->coupling_pairs[2 * i]];
    icfi_sort_by(p->couplings, s->key, sizeof(int32_t), islands, s->coupling_start,
                 s->coupling_list);
    for (i = 0; i < p->links; i++) {
        k = p->link_start[i];
        s->key[i] = k < p->link_start[i + 1] ? island[p->block_clique[k]] : -1;
    }
    icfi_sort_by(p->links, s->key, sizeof(int32_t), islands, s->link_start, s->link_list);
    for (i = 0; i < p->cliques; i++) group[i] = island[i];
    for (i = 0; i < islands; i++) {
        for (k = s->clique_start[i]; k < s->clique_start[i + 1]; k++) {
            int32_t c = s->cliques_of[k];
            s->local[c] = k - s->clique_start[i];
            s->first[c] = s->moving;
            s->moving += p->clique_sizes[c];
        }
    }
    for (i = 0, k = s->moving; i < p->cliques; i++) {
        if (group[i] >= 0) continue;
        s->first[i] = k;
        k += p->clique_sizes[i];
    }
    return islands;
}

/* to = from, of all unknowns: from the caller's order into the order of the islands, or with `back` out of
   it */
static void icfi_reorder(const icfi_solve* s, const icf_real* from, icf_real* to, int back)
{
    int32_t c, n, at = 0;
    for (c = 0; c < s->p->cliques; c++, at += n) {
        n = s->p->clique_sizes[c];
        if (!n) continue;
        ICFI_MEMCPY(to + (back ? at : s->first[c]), from + (back ? s->first[c] : at),
                    (size_t)n * sizeof(icf_real));
    }
}

/* Whether a link joins one or two free bodies, and nothing else */
static int icfi_has_levers(const icfi_solve* s, int32_t link)
{
    int32_t first = s->p->link_start[link], end = s->p->link_start[link + 1];
    return (end == first + 1 && s->lever[first].sign != 0) ||
           (end == first + 2 && s->lever[first].sign != 0 && s->lever[first + 1].sign != 0);
}

/* Sorts contacts and rows by their links. */
static void icfi_sort_potentials(icfi_solve* s)
{
    const icf_problem* p = s->p;
    int32_t i;
    if (p->contacts) {
        icfi_sort_by(p->contacts, &p->contact->link, sizeof(icf_contact), p->links,
                     s->contact_start, s->contact_list);
    } else {
        for (i = 0; i <= p->links; i++) s->contact_start[i] = 0;
    }
    if (p->rows) {
        icfi_sort_by(p->rows, &p->row->link, sizeof(icf_row), p->links, s->row_start, s->row_list);
    } else {
        for (i = 0; i <= p->links; i++) s->row_start[i] = 0;
    }
    for (i = 0; i < p->links; i++) {
        int plain = icfi_has_levers(s, i) && s->row_start[i] == s->row_start[i + 1];
        s->kind[i] = plain ? p->link_rows[i] : 0;
    }
}

/* ---- terms ---- */

/* u += K v of a link */
static void icfi_read_link(const icfi_solve* s, int32_t link, const icf_real* v, icf_real* u)
{
    const icf_problem* p = s->p;
    int32_t k, rows = p->link_rows[link];
    for (k = p->link_start[link]; k < p->link_start[link + 1]; k++) {
        if (s->lever[k].sign != 0) {
            icfi_read_lever(rows, s->lever + k, v + s->reads[k], u);
        } else {
            icfi_apply(rows, s->columns[k], p->blocks + s->block_at[k], v + s->reads[k], u, 1);
        }
    }
}

/* u = K v + bias of a link */
static void icfi_link_velocity(const icfi_solve* s, int32_t link, const icf_real* v, icf_real* u)
{
    int32_t i, rows = s->p->link_rows[link];
    for (i = 0; i < rows; i++) u[i] = s->p->link_bias ? s->p->link_bias[s->bias_at[link] + i] : 0;
    icfi_read_link(s, link, v, u);
}

/* W += K A^-1 K' = [I / m + X J^-1 X', X J^-1; ., J^-1] of a lever, with X = -[r]x, and the inverse of the
   body's block */
static void icfi_add_body_delassus(int32_t rows, icf_vec3 r, const icf_real inverse[7], icf_real* w)
{
    const icf_real light = inverse[0], *j = inverse + 1;
    icf_real q[9], *lower = w + 18;
    int32_t i;
    /* columns of X J^-1 */
    q[0] = j[3] * r.z - j[4] * r.y;
    q[3] = j[4] * r.x - j[0] * r.z;
    q[6] = j[0] * r.y - j[3] * r.x;
    q[1] = j[1] * r.z - j[5] * r.y;
    q[4] = j[5] * r.x - j[3] * r.z;
    q[7] = j[3] * r.y - j[1] * r.x;
    q[2] = j[5] * r.z - j[2] * r.y;
    q[5] = j[2] * r.x - j[4] * r.z;
    q[8] = j[4] * r.y - j[5] * r.x;
    for (i = 0; i < 3; i++, w += rows) {
        const icf_real* x = q + 3 * i;
        w[0] += x[1] * r.z - x[2] * r.y;
        w[1] += x[2] * r.x - x[0] * r.z;
        w[2] += x[0] * r.y - x[1] * r.x;
        w[i] += light;
        if (rows < 6) continue;
        w[3] += x[0];
        w[4] += x[1];
        w[5] += x[2];
        lower[6 * i] += q[i];
        lower[6 * i + 1] += q[3 + i];
        lower[6 * i + 2] += q[6 + i];
    }
    if (rows < 6) return;
    lower[3] += j[0];
    lower[4] += j[3];
    lower[5] += j[4];
    lower[9] += j[3];
    lower[10] += j[1];
    lower[11] += j[5];
    lower[15] += j[4];
    lower[16] += j[5];
    lower[17] += j[2];
}

/* Writes K' of a link for the clique of block k, with rows of 8 numbers, from block k and those of the same
   clique behind it. Answers the last of them. */
static int32_t icfi_gather_clique(const icfi_solve* s, int32_t link, int32_t k, icf_real* to)
{
    const icf_problem* p = s->p;
    const int32_t c = p->block_clique[k], n = p->clique_sizes[c], rows = p->link_rows[link];
    int32_t i, q;
    ICFI_MEMSET(to, 0, 8 * (size_t)n * sizeof(icf_real));
    for (;; k++) {
        const int32_t m = s->columns[k];
        const icf_real* block = p->blocks + s->block_at[k];
        icf_real* x = to + 8 * (s->reads[k] - s->first[c]);
        for (q = 0; q < m; q++, x += 8)
            for (i = 0; i < rows; i++) x[i] = block[i * m + q];
        if (k + 1 == p->link_start[link + 1] || p->block_clique[k + 1] != c) return k;
    }
}

/* W = sum K A^-1 K' of a link, rows x rows, from the cliques' own blocks */
static void icfi_link_delassus(const icfi_solve* s, int32_t link, icf_real w[36])
{
    const icf_problem* p = s->p;
    int32_t rows = p->link_rows[link], i, j, k, q;
    for (i = 0; i < rows * rows; i++) w[i] = 0;
    for (k = p->link_start[link]; k < p->link_start[link + 1]; k++) {
        const int32_t c = p->block_clique[k], n = p->clique_sizes[c];
        const icf_real* factor = s->factor + s->mass_at[c];
        icf_real *y = s->scratch, x[6];
        if (s->lever[k].sign != 0) {
            icfi_add_body_delassus(rows, s->lever[k].r, factor, w);
            continue;
        }
        if (!n) continue;
        k = icfi_gather_clique(s, link, k, y);
        if (!icfi_is_body(p, c)) {
            ICFI_WIDEST(icfi_delassus, (rows, n, factor, y, w));
            ICFI_WIDEST_END();
            continue;
        }
        for (i = 0; i < rows; i++) {
            for (q = 0; q < 6; q++) x[q] = y[8 * q + i];
            icfi_body_times(factor, x, x);
            for (q = 0; q < 6; q++)
                for (j = 0; j < rows; j++) w[i * rows + j] += x[q] * y[8 * q + j];
        }
    }
}

/* ||W||_F / 3 of a 3 x 3 block, rows ld numbers apart: the inverse of an effective mass */
static icf_real icfi_block_w(const icf_real* w, int32_t ld)
{
    const icf_real *x = w + ld, *y = x + ld;
    icf_real sum = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    sum = sum + x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    return ICF_SQRT(sum + y[0] * y[0] + y[1] * y[1] + y[2] * y[2]) / 3;
}

/* The same for the velocity l + a x p of the point p of a link of 6 rows. It needs no axes of the contact:
   they only rotate the block, and the norm of S W S' is the same. */
static icf_real icfi_point_w(icf_vec3 p, const icf_real w[36])
{
    icf_real t[18], block[9];
    int32_t i;
    if (p.x == 0 && p.y == 0 && p.z == 0) return icfi_block_w(w, 6);
    for (i = 0; i < 6; i++) {
        const icf_real *l = w + i, *a = l + 18;
        t[i] = l[0] + (p.z * a[6] - p.y * a[12]);
        t[6 + i] = l[6] + (p.x * a[12] - p.z * a[0]);
        t[12 + i] = l[12] + (p.y * a[0] - p.x * a[6]);
    }
    for (i = 0; i < 3; i++) {
        const icf_real *l = t + 6 * i, *a = l + 3;
        block[3 * i] = l[0] + (p.z * a[1] - p.y * a[2]);
        block[3 * i + 1] = l[1] + (p.x * a[2] - p.z * a[0]);
        block[3 * i + 2] = l[2] + (p.y * a[0] - p.x * a[1]);
    }
    return icfi_block_w(block, 3);
}

/* The same for a point of a link with levers only. It makes X J^-1 X' for this point, not the whole
   W. */
static icf_real icfi_bodies_w(const icfi_solve* s, int32_t link, icf_vec3 p)
{
    const icfi_lever *l = s->lever + s->p->link_start[link],
                     *end = s->lever + s->p->link_start[link + 1];
    icf_real xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0, square;
    for (; l < end; l++) {
        const icf_real* inverse = s->factor + s->mass_at[s->p->block_clique[l - s->lever]];
        const icf_real light = inverse[0], *j = inverse + 1;
        icf_real x = l->r.x + p.x, y = l->r.y + p.y, z = l->r.z + p.z, a, b, c;
        /* rows of X J^-1 */
        a = j[3] * z - j[4] * y;
        b = j[1] * z - j[5] * y;
        c = j[5] * z - j[2] * y;
        xx += light + (b * z - c * y);
        xy += c * x - a * z;
        xz += a * y - b * x;
        a = j[4] * x - j[0] * z;
        b = j[5] * x - j[3] * z;
        c = j[2] * x - j[4] * z;
        yy += light + (c * x - a * z);
        yz += a * y - b * x;
        a = j[0] * y - j[3] * x;
        b = j[3] * y - j[1] * x;
        zz += light + (a * y - b * x);
    }
    square = xx * xx + yy * yy + zz * zz + 2 * (xy * xy + xz * xz + yz * yz);
    return ICF_SQRT(square) / 3;
}

/* S u + bias of a contact at the start of the step, without its `pull` */
static void icfi_start_velocity(const icfi_contact_state* c, int32_t rows, const icf_real* u,
                                icf_real v[3])
{
    const icf_real* a = c->s;
    int32_t i;
    for (i = 0; i < 3; i++, a += rows) {
        v[i] = i < 2 ? c->bias[i] - c->pull[i] : c->bias[i];
        if (rows == 3) {
            v[i] = v[i] + a[0] * u[0] + a[1] * u[1] + a[2] * u[2];
        } else {
            v[i] += (a[0] * u[0] + a[1] * u[1] + a[2] * u[2]) +
                    (a[3] * u[3] + a[4] * u[4] + a[5] * u[5]);
        }
    }
}

/* The largest dt^2 k, or 1 / Rn, that a contact can have beside its mass, with `room` for digits. A harder
   contact gives by next to nothing, and its impulse would be only the rounding of its velocity. Where
   nothing moves, w is 0, and squares must still be finite. */
static icf_real icfi_hardest(icf_real w, icf_real room)
{
    return 1 / icfi_max(room * ICFI_EPSILON * w, ICFI_TINY);
}

/* Room for a contact at rest: six digits, in float one. Room for a contact in a blow, which dissipation
   makes harder while it lasts: one digit. */
#ifdef ICF_FLOAT
static const icf_real icfi_room_at_rest = 10;
#else
static const icf_real icfi_room_at_rest = ICF_R(1e6);
#endif
static const icf_real icfi_room_in_blow = 10;

/* Torsion and rolling have the limit of friction, times a length. */
static void icfi_limit_spin(const icf_surface* f, icfi_contact_state* c)
{
    const icf_real eps = f->softness * c->spin_w;
    c->rolling = f->rolling * c->term.impulse0;
    c->torsion = f->torsion * c->term.impulse0;
    c->eps[0] = icfi_max(f->spin_tolerance, eps * c->rolling);
    c->eps[1] = icfi_max(f->spin_tolerance, eps * c->torsion);
}

/* Whether a contact has friction that is limited by a normal impulse known before the solve */
static int icfi_has_limit(const icfi_contact_state* c)
{
    return (c->term.model == ICF_MODEL_LAGGED && c->term.mu1 + c->term.mu2 > 0) || c->spins;
}

static void icfi_set_limit(const icfi_solve* s, int32_t contact, icf_real limit)
{
    const icf_surface* f = s->p->surface + s->p->contact[contact].surface;
    icfi_contact_state* c = s->contact + contact;
    icfi_limit_friction(f, c->w, limit, &c->term);
    if (c->spins) icfi_limit_spin(f, c);
}

/* `w` is W of the link; it is set only if the link is not of bodies alone, or for torsion or rolling. */
static icf_result icfi_make_contact(icfi_solve* s, int32_t index, int32_t link, const icf_real* u0,
                                    const icf_real* w)
{
    const icf_contact* c = s->p->contact + index;
    const icf_surface* f = s->p->surface + c->surface;
    icfi_contact_state* state = s->contact + index;
    int32_t rows = s->p->link_rows[link], i;
    icf_real v0[3];
    icf_result result;
    /* s and bias are set, icfi_contact_term writes the whole term, and icfi_evaluate writes the rest. But a
       contact where nothing can move is in no island and is not evaluated, so these are cleared here. */
    for (i = 0; i < 3; i++) {
        state->v[i] = state->price.impulse[i] = 0;
        state->spin[i] = state->spin_impulse[i] = 0;
    }
    state->y[0] = state->y[1] = 0;
    state->spins = 0;
    state->rows = rows;
    state->guess[0] = c->impulse_guess.x;
    state->guess[1] = c->impulse_guess.y;
    state->guess[2] = c->impulse_guess.z;
    icfi_start_velocity(state, rows, u0, v0);
    state->w = c->effective_mass_inverse;
    if (state->w == 0) {
        state->w = s->kind[link] ? icfi_bodies_w(s, link, c->point)
                   : rows == 6   ? icfi_point_w(c->point, w)
                                 : icfi_block_w(w, 3);
    }
    if (!icfi_finite(state->w) || !icfi_finite3(v0[0], v0[1], v0[2])) return ICF_RESULT_NOT_FINITE;
    result = icfi_contact_term(f, c, s->p->dt, state->w, icfi_hardest(state->w, icfi_room_at_rest),
                               icfi_hardest(state->w, icfi_room_in_blow), v0, &state->term);
    if (result != ICF_RESULT_OK) return result;
    if (state->term.bounded) s->stats->bounded++;
#ifdef ICF_VALIDATE
    if (state->term.normal.law == ICF_LAW_CUSTOM) {
        result = icf_law_check(f->custom, f->user, s->p->dt, c->distance, v0[2]);
        if (result != ICF_RESULT_OK) return result;
    }
#endif
    if (icfi_spins(f)) {
        state->spins = 1;
        state->spin_w = icfi_block_w(w + 21, 6);
        icfi_limit_spin(f, state);
    }
    return ICF_RESULT_OK;
}

/* Makes the terms of all potentials, with the velocities at the start of the step: v_last, or v. */
static ICFI_NOINLINE icf_result icfi_make_terms(icfi_solve* s)
{
    const icf_problem* p = s->p;
    const icf_real* last = p->v_last ? s->from : s->v;
    int32_t link, k;
    icf_result result;
    if (p->v_last) icfi_reorder(s, p->v_last, s->from, 0);
    for (link = 0; link < p->links; link++) {
        int32_t first = s->contact_start[link], end = s->contact_start[link + 1];
        int32_t rows = p->link_rows[link], row = s->row_start[link],
                row_end = s->row_start[link + 1];
        icf_real u0[6], w[36];
        int spins = 0;
        if (first == end && row == row_end) continue;
        icfi_link_velocity(s, link, last, u0);
        for (k = first; s->kind[link] && !spins && k < end; k++) {
            spins = icfi_spins(p->surface + p->contact[s->contact_list[k]].surface);
        }
        if (!s->kind[link] || spins) icfi_link_delassus(s, link, w);
        for (k = first; k < end; k++) {
            result = icfi_make_contact(s, s->contact_list[k], link, u0, w);
            if (result != ICF_RESULT_OK) {
                return icfi_refuse(s->stats, ICF_PART_CONTACT, s->contact_list[k], result);
            }
        }
        for (k = row; k < row_end; k++) {
            const icf_row* r = p->row + s->row_list[k];
            icfi_row_state* state = s->row + s->row_list[k];
            ICFI_MEMSET(state, 0, sizeof *state);
            state->row = r->row;
            state->w = w[r->row * rows + r->row];
            result = icf_row_term_make(r, p->dt, w[r->row * rows + r->row], &state->term);
            if (result != ICF_RESULT_OK) {
                return icfi_refuse(s->stats, ICF_PART_ROW, s->row_list[k], result);
            }
            if (state->term.bounded) s->stats->bounded++;
        }
    }
    return ICF_RESULT_OK;
}

// ------------------------------------------------------------------------------------------------
// Layer 7, continued: the limit of lagged friction, where the step before does not know it
// >>prediction
/* Offers to those below: icfi_predict_limits */

/* Whether two links are of the same pair */
static int icfi_same_pair(const icf_problem* p, int32_t a, int32_t b)
{
    const int32_t first = p->link_start[a], n = p->link_start[a + 1] - first,
                  other = p->link_start[b];
    int32_t k = 0;
    if (p->link_start[b + 1] - other != n) return 0;
    while (k < n && p->block_clique[first + k] == p->block_clique[other + k]) k++;
    return k == n;
}

/* Finds the velocity along the normal that each contact of a link would have without potentials, dv[0], and
   the normal impulse there, dv[1]: 0 if the prediction says nothing of it. Answers how many close. */
static int32_t icfi_find_approach(icfi_solve* s, int32_t link)
{
    const int32_t rows = s->p->link_rows[link], end = s->contact_start[link + 1];
    icf_real u[6];
    int32_t k = s->contact_start[link], count = 0, i;
    if (k == end) return 0;
    icfi_link_velocity(s, link, s->free, u);
    for (; k < end; k++) {
        icfi_contact_state* c = s->contact + s->contact_list[k];
        icf_real v = c->bias[2], out[3] = {0, 0, 0};
        for (i = 0; i < rows; i++) v += c->s[2 * rows + i] * u[i];
        if (icfi_has_limit(c) && !(c->term.normal.facts & ICFI_WALL) &&
            c->term.normal.law != ICF_LAW_CUSTOM)
            (void)icfi_normal_law(&c->term.normal, v, 0, out);
        c->dv[0] = v;
        c->dv[1] = out[1];
        count += out[1] > 0;
    }
    return count;
}

/* n = law(v + w n): the impulse of one contact that slows down by w for each N s. From v on, Newton's method
   comes nearer to the answer from one side, as the law is convex. */
static icf_real icfi_stopping_impulse(const icf_normal* law, icf_real v, icf_real w)
{
    icf_real x = v, out[3], step = 1;
    int i;
    for (i = 0; i < 8 && step > ICFI_EPSILON * (x - v); i++) {
        (void)icfi_normal_law(law, x, 0, out);
        step = (out[1] - (x - v) / w) / (1 / w - out[2]);
        x += step;
    }
    return (x - v) / w;
}

/* The sums over the links of a pair: contacts that close, their predicted impulses, their limits so far */
typedef struct icfi_approach {
    int32_t closing;
    icf_real predicted, limits;
} icfi_approach;

/* BOUND: at most what stops a contact, in no time; most pairs need no more. EXACT: what stops it. SET: and
   raises its limit of friction to that. */
typedef enum icfi_prediction {
    ICFI_PREDICT_BOUND,
    ICFI_PREDICT_EXACT,
    ICFI_PREDICT_SET
} icfi_prediction;

/* Goes through the contacts of a link that close, all->closing of them in the pair, which share the work of
   stopping it, and adds up their impulses. */
static void icfi_predict_link(icfi_solve* s, int32_t link, icfi_prediction how, icfi_approach* all)
{
    const int32_t rows = s->p->link_rows[link], end = s->contact_start[link + 1];
    icf_real w[36], slowed[6], share;
    int32_t first = s->contact_start[link], closing = 0, run, k, i, j;
    for (k = first; k < end; k++) closing += s->contact[s->contact_list[k]].dv[1] > 0;
    if (!closing) return;
    share = (icf_real)all->closing / (icf_real)closing; /* of all links of the pair */
    icfi_link_delassus(s, link, w);
    for (; first < end; first = run) {
        icf_real push[6] = {0, 0, 0, 0, 0, 0};
        const icf_real* n = s->contact[s->contact_list[first]].s + 2 * rows;
        /* a floor and a wall, of one body, do not share the work: a run of one normal does */
        for (run = first; run < end; run++) {
            const icfi_contact_state* c = s->contact + s->contact_list[run];
            const icf_real* m = c->s + 2 * rows;
            if (!(n[0] * m[0] + n[1] * m[1] + n[2] * m[2] > ICF_R(0.9)) && run > first) break;
            for (i = 0; c->dv[1] > 0 && i < rows; i++) push[i] += m[i];
        }
        for (i = 0; i < rows; i++) {
            slowed[i] = 0;
            for (j = 0; j < rows; j++) slowed[i] += w[i * rows + j] * push[j];
        }
        for (k = first; k < run; k++) {
            const icfi_contact_state* c = s->contact + s->contact_list[k];
            icf_real slows = 0, impulse;
            if (!(c->dv[1] > 0)) continue;
            for (i = 0; i < rows; i++) slows += share * (c->s[2 * rows + i] * slowed[i]);
            if (!(slows > 0)) continue;
            impulse = how == ICFI_PREDICT_BOUND && (c->term.normal.facts & ICFI_KINK)
                          ? (c->term.normal.vhat - c->dv[0]) / slows
                          : icfi_stopping_impulse(&c->term.normal, c->dv[0], slows);
            if (!icfi_finite(impulse)) continue;
            all->predicted += impulse;
            all->limits += c->term.impulse0;
            if (how == ICFI_PREDICT_SET && impulse > c->term.impulse0)
                icfi_set_limit(s, s->contact_list[k], impulse);
        }
    }
}

/* A resting pair knows its limits well from the step before. Only a pair in a blow, which needs far more to
   stop, is limited by what that takes. */
static const icf_real icfi_blow = ICF_R(1.5);

static ICFI_NOINLINE void icfi_predict_limits(icfi_solve* s)
{
    int32_t first, end, link;
    for (first = 0; first < s->p->links; first = end) {
        icfi_approach all = {0, 0, 0};
        int how = ICFI_PREDICT_BOUND;
        for (end = first; end < s->p->links && icfi_same_pair(s->p, first, end); end++)
            all.closing += icfi_find_approach(s, end);
        for (; how <= ICFI_PREDICT_SET; how++) {
            all.predicted = all.limits = 0;
            for (link = first; link < end; link++)
                icfi_predict_link(s, link, (icfi_prediction)how, &all);
            if (!(all.predicted > icfi_blow * all.limits)) break;
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Layer 7, continued: Newton's method
// >>evaluation
/* Offers to those below: icfi_add_squares, icfi_assemble, icfi_back, icfi_copy_motion, icfi_dual_energy,
   icfi_evaluate, icfi_factor, icfi_find_momentum, icfi_gather_impulses, icfi_mass_times, icfi_own_solve,
   icfi_plain_direction, ICFI_PROFILE, icfi_read_potentials, icfi_search, icfi_solve_for, icfi_squares */

/* Each island is minimised by itself. One iteration of Newton's method:

     evaluate   u = sum K v + bias of every link, its potentials at u, the gradient
                A (v - v*) - sum K' gamma, and the momentum error SAP (26)
     assemble   A + sum K' W K. W of a link is the sum of S' G S over its potentials. Blocks go straight into
                the factor (dense for a single clique)
     direction  dv = -H^-1 gradient
     search     along dv: u + alpha du, so a trial costs no products. It compares only slopes, which are
                exact where differences of costs are rounding

   The cost is strictly convex and never rises, so this ends at the one minimum. Rounding, not
   mathematics, decides the last step: see icfi_at_floor.

   The certificate: cost(v) - optimum <= 1/2 gradient' A^-1 gradient, because every potential is convex. It
   takes only the factors of the cliques' own blocks. */

/* ---- thresholds ----

   Unless its comment names a measurement, a constant only has to be about right; the comment says what
   the constant trades. Rounding is in units of ICFI_EPSILON. */

// clang-format off
static const icf_real icfi_slope_rounding = 4;        /* of a slope, relative to the sizes of its terms */
static const icf_real icfi_exact_first = ICF_R(0.01); /* `exact` at the whole step: taken if it is good */
static const icf_real icfi_barrier_part = 100;        /* no trial leaves less than 1/100 of a gap:
                                                         so near to a barrier, Newton's method takes
                                                         long to return */
enum {
    ICFI_TRIALS = 100,                                /* the bracket halves at least every other trial,
                                                         down to two neighbouring numbers */
    ICFI_STIFFENINGS = 6                              /* tries at a matrix that rounding made indefinite:
                                                         0, then 64 ICFI_EPSILON, then 8 times as much */
};
// clang-format on

/* ---- evaluation ---- */

/* Torsion and rolling at the angular velocity `spin`: friction with the limit gamma_n0, as in the lagged
   model */
static icf_real icfi_spin_price(icfi_contact_state* c, const icf_real spin[3])
{
    icfi_soft roll = icfi_soft_norm(1, 1, c->eps[0], spin[0], spin[1]);
    icfi_soft turn = icfi_soft_norm(1, 0, c->eps[1], spin[2], 0);
    c->spin_impulse[0] = -c->rolling * roll.g1;
    c->spin_impulse[1] = -c->rolling * roll.g2;
    c->spin_impulse[2] = -c->torsion * turn.g1;
    c->spin_h[0] = c->rolling * roll.h11;
    c->spin_h[1] = c->rolling * roll.h12;
    c->spin_h[2] = c->rolling * roll.h22;
    c->spin_h[3] = c->torsion * turn.h11;
    return c->rolling * roll.value + c->torsion * turn.value;
}

/* Velocities of a contact from u of its link: S u, and the angular velocities along the same axes */
ICFI_HOT void icfi_contact_velocity(const icfi_contact_state* c, int32_t rows, const icf_real* u,
                                    icf_real v[3], icf_real spin[3])
{
    const icf_real *a = c->s, *b = a + rows, *n = b + rows;
    v[0] = a[0] * u[0] + a[1] * u[1] + a[2] * u[2];
    v[1] = b[0] * u[0] + b[1] * u[1] + b[2] * u[2];
    v[2] = n[0] * u[0] + n[1] * u[1] + n[2] * u[2];
    if (rows < 6) return;
    v[0] += a[3] * u[3] + a[4] * u[4] + a[5] * u[5];
    v[1] += b[3] * u[3] + b[4] * u[4] + b[5] * u[5];
    v[2] += n[3] * u[3] + n[4] * u[4] + n[5] * u[5];
    if (!c->spins) return;
    spin[0] = a[0] * u[3] + a[1] * u[4] + a[2] * u[5];
    spin[1] = b[0] * u[3] + b[1] * u[4] + b[2] * u[5];
    spin[2] = n[0] * u[3] + n[1] * u[4] + n[2] * u[5];
}

/* The entries of the block of the cliques a and b of an island. If they differ, `edge` connects them. The
   block is stored by columns, ld apart. If ld is below 0 it is stored turned, as the block of b and a.
   NULL if it is not wanted. */
ICFI_FORCE_INLINE icf_real* icfi_island_block(const icfi_island* island, int32_t a, int32_t b,
                                              int32_t edge, int32_t* ld)
{
    if (!island->dense)
        return icfi_sparse_block(&island->sparse, a == b ? a : island->cliques + edge, ld);
    *ld = island->unknowns;
    if (a >= b) return island->dense + island->place[a] + *ld * island->place[b];
    *ld = -*ld;
    return island->dense + island->place[b] - *ld * island->place[a];
}

/* Adds K' W K of a link with any blocks; W is stored by columns. `edge` is the number of its first
   pair, and is counted on. */
static ICFI_NOINLINE void icfi_assemble_blocks(const icfi_solve* s, icfi_island* island,
                                               int32_t link, const icf_real* w, int32_t* edge)
{
    const icf_problem* p = s->p;
    int32_t a, b, ld, rows = p->link_rows[link];
    icf_real turned[36], room[36], other_room[36], *to;
    /* W is symmetric but for rounding */
    for (a = 0; a < rows; a++) {
        for (b = 0; b < rows; b++) turned[a * rows + b] = w[b * rows + a];
    }
    for (b = p->link_start[link]; b < p->link_start[link + 1]; b++) {
        const int32_t cb = p->block_clique[b], nb = s->columns[b], fb = s->reads[b] - s->first[cb];
        const icf_real* block = icfi_link_block(p, link, b, s->block_at[b], room);
        /* T = -W K_b, rows x nb */
        if (nb) ICFI_MEMSET(s->scratch, 0, (size_t)rows * (size_t)nb * sizeof(icf_real));
        icfi_subtract_product(rows, nb, block, rows, turned, s->scratch, nb, 0);
        for (a = p->link_start[link]; a <= b; a++) {
            const int32_t ca = p->block_clique[a], na = s->columns[a],
                          fa = s->reads[a] - s->first[ca];
            const icf_real* other =
                a == b ? block : icfi_link_block(p, link, a, s->block_at[a], other_room);
            to = icfi_island_block(island, s->local[ca], s->local[cb], ca == cb ? 0 : (*edge)++,
                                   &ld);
            if (!to) continue;
            if (ca == cb && a < b) ld = -ld; /* the lower triangle of a clique's own block */
            if (ld > 0) {
                to += fb * ld + fa;
                icfi_subtract_product(rows, na, other, nb, s->scratch, to, ld, a == b);
            } else { /* the block is stored turned */
                to += fb - fa * ld;
                icfi_subtract_product(rows, nb, s->scratch, na, other, to, -ld, 0);
            }
        }
    }
}

/* Adds J' gamma of a link with any blocks to the impulses of its cliques. */
static void icfi_gather_blocks(icfi_solve* s, int32_t link, const icf_real gamma[6])
{
    const icf_problem* p = s->p;
    int32_t b;
    for (b = p->link_start[link]; b < p->link_start[link + 1]; b++) {
        icf_real* to = s->impulse + s->reads[b];
        const int32_t rows = p->link_rows[link], n = s->columns[b];
        if (s->lever[b].sign != 0) {
            icfi_push_lever(rows, s->lever + b, gamma, to);
        } else if (n > 8) {
            icfi_add_rows(rows, n, p->blocks + s->block_at[b], gamma, to);
        } else {
            icfi_apply_transposed(rows, n, p->blocks + s->block_at[b], gamma, to);
        }
    }
}

#endif

#if defined(ICFI_LAYER) && \
    ICFI_LAYER == 7 /* included by itself: the work done link by link, for one width of vectors */

/* Four numbers, and six: the vectors that they fill, and plain numbers for the remainder */
#undef ICFI_FOUR
#undef ICFI_SIX
#if ICFI_WIDE && !defined(ICF_FLOAT)
#define ICFI_FOUR(each) each(icfi_wide_vector, a, 0)
#define ICFI_SIX(each) each(icfi_wide_vector, a, 0) each(icfi_base_vector, b, 4)
#elif defined(ICFI_SIMD_GNU) && !defined(ICF_FLOAT)
#define ICFI_FOUR(each) each(icfi_base_vector, a, 0) each(icfi_base_vector, b, 2)
#define ICFI_SIX(each) ICFI_FOUR(each) each(icfi_base_vector, c, 4)
#elif defined(ICFI_SIMD_GNU)
#define ICFI_FOUR(each) each(icfi_base_vector, a, 0)
#define ICFI_SIX(each) ICFI_FOUR(each) each(icf_real, b, 4) each(icf_real, c, 5)
#else
#define ICFI_FOUR(each) \
    each(icf_real, a, 0) each(icf_real, b, 1) each(icf_real, c, 2) each(icf_real, d, 3)
#define ICFI_SIX(each) ICFI_FOUR(each) each(icf_real, e, 4) each(icf_real, f, 5)
#endif

#if !ICFI_WIDE
#define ICFI_INLINE_K ICFI_TARGET ICFI_HOT
#define ICFI_PART(type, f, at) type f;
#define ICFI_PART_LOAD(type, f, at) x.f = *(const type*)(p + at);
#define ICFI_PART_STORE(type, f, at) *(type*)(p + at) = x.f;
#define ICFI_PART_SUM(type, f, at) x.f = x.f + y.f;
#define ICFI_PART_LESS(type, f, at) x.f = x.f - y.f;
#define ICFI_PART_TIMES(type, f, at) x.f = x.f * by;
#define ICFI_PART_MORE(type, f, at) x.f = x.f + y.f * by;

/* The operations on them; _more is x + y by */
#define ICFI_OPERATIONS(name, parts) \
    typedef struct ICFI_K(name) { \
        parts(ICFI_PART) \
    } ICFI_K(name); \
    ICFI_INLINE_K ICFI_K(name) ICFI_K(name##_load)(const icf_real* p) \
    { \
        ICFI_K(name) x; \
        parts(ICFI_PART_LOAD) return x; \
    } \
    ICFI_INLINE_K void ICFI_K(name##_store)(icf_real * p, ICFI_K(name) x) \
    { \
        parts(ICFI_PART_STORE) return; \
    } \
    ICFI_INLINE_K ICFI_K(name) ICFI_K(name##_sum)(ICFI_K(name) x, ICFI_K(name) y) \
    { \
        parts(ICFI_PART_SUM) return x; \
    } \
    ICFI_INLINE_K ICFI_K(name) ICFI_K(name##_less)(ICFI_K(name) x, ICFI_K(name) y) \
    { \
        parts(ICFI_PART_LESS) return x; \
    } \
    ICFI_INLINE_K ICFI_K(name) ICFI_K(name##_times)(ICFI_K(name) x, icf_real by) \
    { \
        parts(ICFI_PART_TIMES) return x; \
    } \
    ICFI_INLINE_K ICFI_K(name) ICFI_K(name##_more)(ICFI_K(name) x, ICFI_K(name) y, icf_real by) \
    { \
        parts(ICFI_PART_MORE) return x; \
    } \
    /* x f + y g + z h; w + x f + y g + z h; x f - y g */ \
    ICFI_INLINE_K ICFI_K(name) ICFI_K(name##_mix)(ICFI_K(name) x, ICFI_K(name) y, ICFI_K(name) z, \
                                                  icf_real f, icf_real g, icf_real h) \
    { \
        return ICFI_K(name##_more)(ICFI_K(name##_more)(ICFI_K(name##_times)(x, f), y, g), z, h); \
    } \
    ICFI_INLINE_K ICFI_K(name) \
        ICFI_K(name##_add)(ICFI_K(name) w, ICFI_K(name) x, ICFI_K(name) y, ICFI_K(name) z, \
                           icf_real f, icf_real g, icf_real h) \
    { \
        return ICFI_K(name##_more)(ICFI_K(name##_more)(ICFI_K(name##_more)(w, x, f), y, g), z, h); \
    } \
    ICFI_INLINE_K ICFI_K(name) \
        ICFI_K(name##_minor)(ICFI_K(name) x, icf_real f, ICFI_K(name) y, icf_real g) \
    { \
        return ICFI_K(name##_less)(ICFI_K(name##_times)(x, f), ICFI_K(name##_times)(y, g)); \
    }

/* A function that calls f for all links of an island. f is compiled for each kind: for links of three rows
   or of six with only free bodies and contacts, which are most, and for all others. */
#define ICFI_EACH_LINK(name, f) \
    ICFI_TARGET static void ICFI_K(name)(icfi_solve * s, icfi_island * island) \
    { \
        int32_t n; \
        for (n = 0; n < island->links; n++) { \
            int32_t link = island->link[n]; \
            switch (s->kind[link]) { \
            case 3: ICFI_K(f)(s, island, link, 3); break; \
            case 6: ICFI_K(f)(s, island, link, 6); break; \
            default: ICFI_K(f)(s, island, link, 0); break; \
            } \
        } \
    }
#endif

ICFI_OPERATIONS(icfi_four, ICFI_FOUR)
ICFI_OPERATIONS(icfi_six, ICFI_SIX)

/* u += K v of a link */
ICFI_INLINE_K void ICFI_K(icfi_read_blocks)(const icfi_solve* s, int32_t link, int32_t kind,
                                            const icf_real* v, icf_real u[6])
{
    const icf_problem* p = s->p;
    const icfi_lever *l = s->lever + p->link_start[link], *end = s->lever + p->link_start[link + 1];
    if (!kind) {
        icfi_read_link(s, link, v, u);
        return;
    }
    for (; l < end; l++) icfi_read_lever(kind, l, v + l->first, u);
}

/* sum += the impulses of a contact, as its link feels them */
ICFI_INLINE_K void ICFI_K(icfi_add_impulse)(const icfi_contact_state* c, int32_t rows,
                                            icf_real sum[6])
{
    const icf_real *m = c->s, *g = c->price.impulse;
    int32_t i;
    if (rows == 3) {
        ICFI_K(icfi_four) x = ICFI_K(icfi_four_load)(m), y = ICFI_K(icfi_four_load)(m + 3);
        ICFI_K(icfi_four) z = ICFI_K(icfi_four_load)(m + 6), w = ICFI_K(icfi_four_load)(sum);
        ICFI_K(icfi_four_store)(sum, ICFI_K(icfi_four_add)(w, x, y, z, g[0], g[1], g[2]));
    } else {
        ICFI_K(icfi_six) x = ICFI_K(icfi_six_load)(m), y = ICFI_K(icfi_six_load)(m + 6);
        ICFI_K(icfi_six) z = ICFI_K(icfi_six_load)(m + 12), w = ICFI_K(icfi_six_load)(sum);
        ICFI_K(icfi_six_store)(sum, ICFI_K(icfi_six_add)(w, x, y, z, g[0], g[1], g[2]));
    }
    for (i = 0; rows == 6 && c->spins && i < 3; i++) {
        sum[3] += m[6 * i] * c->spin_impulse[i];
        sum[4] += m[6 * i + 1] * c->spin_impulse[i];
        sum[5] += m[6 * i + 2] * c->spin_impulse[i];
    }
}

/* Adds J' gamma of a link to the impulses of its cliques. */
ICFI_INLINE_K void ICFI_K(icfi_push_blocks)(icfi_solve* s, int32_t link, int32_t kind,
                                            const icf_real gamma[6])
{
    const icf_problem* p = s->p;
    const icfi_lever *l = s->lever + p->link_start[link], *end = s->lever + p->link_start[link + 1];
    icf_real* impulse = s->impulse;
    if (!kind) {
        icfi_gather_blocks(s, link, gamma);
        return;
    }
    for (; l < end; l++) icfi_push_lever(kind, l, gamma, impulse + l->first);
}

/* Adds J' gamma of a link, from the impulses of its contacts and rows. */
ICFI_INLINE_K void ICFI_K(icfi_gather_link)(icfi_solve* s, icfi_island* island, int32_t link,
                                            int32_t kind)
{
    int32_t k, end = s->contact_start[link + 1], rows = kind ? kind : s->p->link_rows[link];
    icf_real gamma[6] = {0, 0, 0, 0, 0, 0};
    for (k = s->contact_start[link]; k < end; k++) {
        ICFI_K(icfi_add_impulse)(s->contact + s->contact_list[k], rows, gamma);
    }
    for (k = s->row_start[link]; !kind && k < s->row_start[link + 1]; k++) {
        const icfi_row_state* r = s->row + s->row_list[k];
        gamma[r->row] += r->price[1];
    }
    ICFI_K(icfi_push_blocks)(s, link, kind, gamma);
    (void)island;
}

/* Prices the contacts and rows of a link at s->v, and adds their cost and J' gamma. */
ICFI_INLINE_K void ICFI_K(icfi_price_link)(icfi_solve* s, icfi_island* island, int32_t link,
                                           int32_t kind)
{
    int32_t k, i, end = s->contact_start[link + 1], rows = kind ? kind : s->p->link_rows[link];
    icf_real u[6] = {0, 0, 0, 0, 0, 0}, gamma[6] = {0, 0, 0, 0, 0, 0}, cost = 0;
    const icf_real* bias = s->p->link_bias;
    for (i = 0; bias && i < rows; i++) u[i] = bias[s->bias_at[link] + i];
    ICFI_K(icfi_read_blocks)(s, link, kind, s->v, u);
    for (k = s->contact_start[link]; k < end; k++) {
        icfi_contact_state* c = s->contact + s->contact_list[k];
        icfi_contact_velocity(c, rows, u, c->v, c->spin);
        for (i = 0; i < 3; i++) {
            c->v[i] += c->bias[i];
            if (c->spins) c->spin[i] += c->twist[i];
        }
        icfi_contact_price(&c->term, c->v, &c->price);
        if (!c->price.feasible) island->feasible = 0;
        cost += c->price.cost;
        if (c->spins) cost += icfi_spin_price(c, c->spin);
        ICFI_K(icfi_add_impulse)(c, rows, gamma);
    }
    for (k = s->row_start[link]; !kind && k < s->row_start[link + 1]; k++) {
        icfi_row_state* r = s->row + s->row_list[k];
        r->u = u[r->row];
        icfi_row_price(&r->term, r->u, r->price);
        cost += r->price[0];
        gamma[r->row] += r->price[1];
    }
    island->cost += cost;
    ICFI_K(icfi_push_blocks)(s, link, kind, gamma);
}

/* Velocities of the potentials of a link along dv */
ICFI_INLINE_K void ICFI_K(icfi_read_direction)(icfi_solve* s, icfi_island* island, int32_t link,
                                               int32_t kind)
{
    int32_t k, end = s->contact_start[link + 1], rows = kind ? kind : s->p->link_rows[link];
    icf_real du[6] = {0, 0, 0, 0, 0, 0};
    ICFI_K(icfi_read_blocks)(s, link, kind, s->dv, du);
    for (k = s->contact_start[link]; k < end; k++) {
        icfi_contact_state* c = s->contact + s->contact_list[k];
        icfi_contact_velocity(c, rows, du, c->dv, c->spin_dv);
    }
    for (k = s->row_start[link]; !kind && k < s->row_start[link + 1]; k++) {
        icfi_row_state* r = s->row + s->row_list[k];
        r->du = du[r->row];
    }
    (void)island;
}

ICFI_EACH_LINK(icfi_gather_links, icfi_gather_link)
ICFI_EACH_LINK(icfi_price_links, icfi_price_link)
ICFI_EACH_LINK(icfi_read_directions, icfi_read_direction)

/* W of a link, by columns: the sum of S' G S over its contacts, and the curvatures of its rows */
ICFI_INLINE_K void ICFI_K(icfi_link_hessian)(const icfi_solve* s, int32_t link, icf_real w[36])
{
    int32_t rows = s->p->link_rows[link], k, i, j;
    for (i = 0; i < rows * rows; i++) w[i] = 0;
    for (k = s->contact_start[link]; k < s->contact_start[link + 1]; k++) {
        const icfi_contact_state* c = s->contact + s->contact_list[k];
        const icf_real *h = c->price.h, *a = c->s, *b = a + rows, *n = b + rows;
        if (rows == 6) {
            ICFI_K(icfi_six) p = ICFI_K(icfi_six_load)(a), q = ICFI_K(icfi_six_load)(b);
            ICFI_K(icfi_six) r = ICFI_K(icfi_six_load)(n), x, y, z, t;
            x = ICFI_K(icfi_six_mix)(p, q, r, h[0], h[1], h[2]);
            y = ICFI_K(icfi_six_mix)(p, q, r, h[1], h[3], h[4]);
            z = ICFI_K(icfi_six_mix)(p, q, r, h[2], h[4], h[5]);
            for (i = 0; i < 6; i++) {
                t = ICFI_K(icfi_six_load)(w + 6 * i);
                t = ICFI_K(icfi_six_add)(t, x, y, z, a[i], b[i], n[i]);
                ICFI_K(icfi_six_store)(w + 6 * i, t);
            }
        } else {
            for (j = 0; j < 3; j++) {
                icf_real x = h[0] * a[j] + h[1] * b[j] + h[2] * n[j];
                icf_real y = h[1] * a[j] + h[3] * b[j] + h[4] * n[j];
                icf_real z = h[2] * a[j] + h[4] * b[j] + h[5] * n[j];
                for (i = 0; i < 3; i++)
                    w[3 * i + j] = w[3 * i + j] + a[i] * x + b[i] * y + n[i] * z;
            }
        }
        if (!c->spins) continue;
        h = c->spin_h;
        for (j = 0; j < 3; j++) {
            icf_real x = h[0] * a[j] + h[1] * b[j], y = h[1] * a[j] + h[2] * b[j], z = h[3] * n[j];
            for (i = 0; i < 3; i++) w[21 + 6 * i + j] += a[i] * x + b[i] * y + n[i] * z;
        }
    }
    for (k = s->row_start[link]; k < s->row_start[link + 1]; k++) {
        const icfi_row_state* r = s->row + s->row_list[k];
        w[r->row * (rows + 1)] += r->price[2];
    }
}

/* The same for a link of three rows, with columns four numbers apart */
ICFI_INLINE_K void ICFI_K(icfi_point_hessian)(const icfi_solve* s, int32_t link, icf_real w[12])
{
    ICFI_K(icfi_four) w0, w1, w2;
    int32_t k;
    for (k = 0; k < 12; k++) w[k] = 0;
    w0 = w1 = w2 = ICFI_K(icfi_four_load)(w);
    for (k = s->contact_start[link]; k < s->contact_start[link + 1]; k++) {
        const icfi_contact_state* c = s->contact + s->contact_list[k];
        const icf_real *h = c->price.h, *a = c->s;
        ICFI_K(icfi_four) p = ICFI_K(icfi_four_load)(a), q = ICFI_K(icfi_four_load)(a + 3);
        ICFI_K(icfi_four) r = ICFI_K(icfi_four_load)(a + 6), x, y, z;
        x = ICFI_K(icfi_four_mix)(p, q, r, h[0], h[1], h[2]);
        y = ICFI_K(icfi_four_mix)(p, q, r, h[1], h[3], h[4]);
        z = ICFI_K(icfi_four_mix)(p, q, r, h[2], h[4], h[5]);
        w0 = ICFI_K(icfi_four_add)(w0, x, y, z, a[0], a[3], a[6]);
        w1 = ICFI_K(icfi_four_add)(w1, x, y, z, a[1], a[4], a[7]);
        w2 = ICFI_K(icfi_four_add)(w2, x, y, z, a[2], a[5], a[8]);
    }
    ICFI_K(icfi_four_store)(w, w0);
    ICFI_K(icfi_four_store)(w + 4, w1);
    ICFI_K(icfi_four_store)(w + 8, w2);
    for (k = s->row_start[link]; k < s->row_start[link + 1]; k++) {
        const icfi_row_state* r = s->row + s->row_list[k];
        w[r->row * 5] += r->price[2];
    }
}

/* T = W K except for the sign of K, 6 x 6 by rows; W is stored by columns */
ICFI_INLINE_K void ICFI_K(icfi_turn_lever)(const icfi_lever* l, const icf_real w[36],
                                           icf_real t[36])
{
    ICFI_K(icfi_six) w0 = ICFI_K(icfi_six_load)(w), w1 = ICFI_K(icfi_six_load)(w + 6);
    ICFI_K(icfi_six) w2 = ICFI_K(icfi_six_load)(w + 12), p;
    icf_real turn[18];
    int32_t i;
    p = ICFI_K(icfi_six_minor)(w2, l->r.y, w1, l->r.z);
    ICFI_K(icfi_six_store)(turn, ICFI_K(icfi_six_sum)(p, ICFI_K(icfi_six_load)(w + 18)));
    p = ICFI_K(icfi_six_minor)(w0, l->r.z, w2, l->r.x);
    ICFI_K(icfi_six_store)(turn + 6, ICFI_K(icfi_six_sum)(p, ICFI_K(icfi_six_load)(w + 24)));
    p = ICFI_K(icfi_six_minor)(w1, l->r.x, w0, l->r.y);
    ICFI_K(icfi_six_store)(turn + 12, ICFI_K(icfi_six_sum)(p, ICFI_K(icfi_six_load)(w + 30)));
    for (i = 0; i < 6; i++, t += 6) {
        t[0] = w[i];
        t[1] = w[6 + i];
        t[2] = w[12 + i];
        t[3] = turn[i];
        t[4] = turn[6 + i];
        t[5] = turn[12 + i];
    }
}

/* The same for three rows; a column of W takes four numbers */
ICFI_INLINE_K void ICFI_K(icfi_turn_point)(const icfi_lever* l, const icf_real w[12],
                                           icf_real t[18])
{
    ICFI_K(icfi_four) w0 = ICFI_K(icfi_four_load)(w), w1 = ICFI_K(icfi_four_load)(w + 4);
    ICFI_K(icfi_four) w2 = ICFI_K(icfi_four_load)(w + 8);
    icf_real turn[12];
    int32_t i;
    ICFI_K(icfi_four_store)(turn, ICFI_K(icfi_four_minor)(w2, l->r.y, w1, l->r.z));
    ICFI_K(icfi_four_store)(turn + 4, ICFI_K(icfi_four_minor)(w0, l->r.z, w2, l->r.x));
    ICFI_K(icfi_four_store)(turn + 8, ICFI_K(icfi_four_minor)(w1, l->r.x, w0, l->r.y));
    for (i = 0; i < 3; i++, t += 6) {
        t[0] = w[i];
        t[1] = w[4 + i];
        t[2] = w[8 + i];
        t[3] = turn[i];
        t[4] = turn[4 + i];
        t[5] = turn[8 + i];
    }
}

/* to += sign x */
ICFI_INLINE_K void ICFI_K(icfi_add_six)(ICFI_K(icfi_six) x, icf_real sign, icf_real* to)
{
    ICFI_K(icfi_six_store)(to, ICFI_K(icfi_six_more)(ICFI_K(icfi_six_load)(to), x, sign));
}

/* to += sign K' T except for the sign of K, column by column, ld apart; T has 3 rows or 6 */
ICFI_INLINE_K void ICFI_K(icfi_add_lever)(int32_t rows, const icfi_lever* l, icf_real sign,
                                          const icf_real* t, icf_real* to, ptrdiff_t ld)
{
    ICFI_K(icfi_six) x = ICFI_K(icfi_six_load)(t), y = ICFI_K(icfi_six_load)(t + 6);
    ICFI_K(icfi_six) z = ICFI_K(icfi_six_load)(t + 12), p, q, r;
    ICFI_K(icfi_add_six)(x, sign, to);
    ICFI_K(icfi_add_six)(y, sign, to + ld);
    ICFI_K(icfi_add_six)(z, sign, to + 2 * ld);
    p = ICFI_K(icfi_six_minor)(z, l->r.y, y, l->r.z);
    q = ICFI_K(icfi_six_minor)(x, l->r.z, z, l->r.x);
    r = ICFI_K(icfi_six_minor)(y, l->r.x, x, l->r.y);
    if (rows == 6) {
        p = ICFI_K(icfi_six_sum)(ICFI_K(icfi_six_load)(t + 18), p);
        q = ICFI_K(icfi_six_sum)(ICFI_K(icfi_six_load)(t + 24), q);
        r = ICFI_K(icfi_six_sum)(ICFI_K(icfi_six_load)(t + 30), r);
    }
    ICFI_K(icfi_add_six)(p, sign, to + 3 * ld);
    ICFI_K(icfi_add_six)(q, sign, to + 4 * ld);
    ICFI_K(icfi_add_six)(r, sign, to + 5 * ld);
}

/* Adds K' W K of a link of free bodies with 3 or 6 rows, as icfi_assemble_blocks does. w and t are room for
   W and T. */
ICFI_INLINE_K void ICFI_K(icfi_assemble_levers)(const icfi_solve* s, icfi_island* island,
                                                int32_t rows, int32_t link, int32_t* edge,
                                                icf_real w[36], icf_real t[2][36])
{
    const icf_problem* p = s->p;
    const icfi_lever* l = s->lever + p->link_start[link];
    int32_t blocks = p->link_start[link + 1] - p->link_start[link], k, ld, c[2];
    icf_real* to;
    if (rows == 6) {
        ICFI_K(icfi_link_hessian)(s, link, w);
    } else {
        ICFI_K(icfi_point_hessian)(s, link, w);
    }
    for (k = 0; k < blocks; k++) {
        c[k] = s->local[p->block_clique[p->link_start[link] + k]];
        if (rows == 6) {
            ICFI_K(icfi_turn_lever)(l + k, w, t[k]);
        } else {
            ICFI_K(icfi_turn_point)(l + k, w, t[k]);
        }
        to = icfi_island_block(island, c[k], c[k], 0, &ld);
        if (to) ICFI_K(icfi_add_lever)(rows, l + k, 1, t[k], to, ld);
    }
    if (blocks < 2) return;
    to = icfi_island_block(island, c[0], c[1], (*edge)++, &ld);
    k = ld > 0; /* else the block is stored turned */
    if (to) ICFI_K(icfi_add_lever)(rows, l + k, l[0].sign * l[1].sign, t[1 - k], to, k ? ld : -ld);
}

/* Adds K' W K of the first `links` links. */
ICFI_TARGET static void ICFI_K(icfi_assemble_links)(const icfi_solve* s, icfi_island* island,
                                                    int32_t links)
{
    int32_t n, edge = island->couplings;
    icf_real w[36], t[2][36]; /* shared by all functions inlined here */
    for (n = 0; n < links; n++) {
        int32_t link = island->link[n];
        if (!s->kind[link] && !icfi_has_levers(s, link)) {
            ICFI_K(icfi_link_hessian)(s, link, w);
            icfi_assemble_blocks(s, island, link, w, &edge);
        } else if (s->p->link_rows[link] == 6) {
            ICFI_K(icfi_assemble_levers)(s, island, 6, link, &edge, w, t);
        } else {
            ICFI_K(icfi_assemble_levers)(s, island, 3, link, &edge, w, t);
        }
    }
}

#endif

#ifndef ICFI_LAYER

#define ICFI_LAYER 7
#define ICFI_WIDE 0
#include "icf.h"
#undef ICFI_WIDE
#ifdef ICFI_SIMD_AVX2
#define ICFI_WIDE 1
#include "icf.h"
#undef ICFI_WIDE
#endif
#undef ICFI_LAYER

/* Reads the velocities of a link's contacts and rows at s->v. */
ICFI_UNUSED static void icfi_read_potentials(icfi_solve* s, int32_t link)
{
    int32_t rows = s->p->link_rows[link], k, i;
    icf_real u[6];
    icfi_link_velocity(s, link, s->v, u);
    for (k = s->contact_start[link]; k < s->contact_start[link + 1]; k++) {
        icfi_contact_state* c = s->contact + s->contact_list[k];
        icfi_contact_velocity(c, rows, u, c->v, c->spin);
        for (i = 0; i < 3; i++) {
            c->v[i] += c->bias[i];
            if (c->spins) c->spin[i] += c->twist[i];
        }
    }
    for (k = s->row_start[link]; k < s->row_start[link + 1]; k++) {
        icfi_row_state* r = s->row + s->row_list[k];
        r->u = u[r->row];
    }
}

/* y = A x on an island; the entries of other islands stay. */
static void icfi_mass_times(const icfi_solve* s, const icfi_island* island, const icf_real* x,
                            icf_real* y)
{
    const icf_problem* p = s->p;
    int32_t k;
    for (k = 0; k < island->cliques; k++) {
        int32_t f = s->first[island->clique[k]];
        icfi_clique_times(s, island->clique[k], x + f, y + f);
    }
    for (k = 0; k < island->couplings; k++) {
        int32_t e = island->coupling[k], a = p->coupling_pairs[2 * e],
                b = p->coupling_pairs[2 * e + 1];
        int32_t na = p->clique_sizes[a], nb = p->clique_sizes[b], fa = s->first[a],
                fb = s->first[b];
        const icf_real* block = p->coupling_blocks + s->coupling_at[e];
        icfi_apply(na, nb, block, x + fb, y + fa, 1);
        icfi_apply_transposed(na, nb, block, x + fa, y + fb);
    }
}

static void icfi_clear_impulses(icfi_solve* s, const icfi_island* island)
{
    int32_t i;
    for (i = island->begin; i < island->end; i++) s->impulse[i] = 0;
}

/* The gradient A (v - v*) - J' gamma */
static void icfi_find_gradient(icfi_solve* s, const icfi_island* island)
{
    int32_t i;
    for (i = island->begin; i < island->end; i++) s->gradient[i] = s->momentum[i] - s->impulse[i];
}

/* J' gamma and the gradient, from the impulses of contacts and rows */
static void icfi_gather_impulses(icfi_solve* s, icfi_island* island)
{
    icfi_clear_impulses(s, island);
    ICFI_WIDEST(icfi_gather_links, (s, island));
    ICFI_WIDEST_END();
    icfi_find_gradient(s, island);
}

/* v - v*, and the momentum A (v - v*) */
static void icfi_find_momentum(icfi_solve* s, const icfi_island* island)
{
    int32_t i;
    for (i = island->begin; i < island->end; i++) s->r[i] = s->v[i] - s->free[i];
    icfi_mass_times(s, island, s->r, s->momentum);
}

/* Squares of the gradient and of its terms, weighted by D */
typedef struct icfi_squares {
    icf_real gradient, momentum, free, impulse;
} icfi_squares;

ICFI_FORCE_INLINE void icfi_add_squares(const icfi_solve* s, int32_t begin, int32_t end,
                                        icfi_squares* sum)
{
    int32_t i;
    for (i = begin; i < end; i++) {
        icf_real d = s->d[i], x = d * (s->momentum[i] + s->free_momentum[i]);
        sum->momentum += x * x;
        x = d * s->free_momentum[i];
        sum->free += x * x;
        x = d * s->impulse[i];
        sum->impulse += x * x;
        x = d * s->gradient[i];
        sum->gradient += x * x;
    }
}

/* Whether each clique's gradient is no larger than the rounding of its terms */
static int icfi_is_at_rounding(const icfi_solve* s, const icfi_island* island)
{
    int32_t k;
    for (k = 0; k < island->cliques; k++) {
        int32_t c = island->clique[k];
        icfi_squares sum = {0, 0, 0, 0};
        icfi_add_squares(s, s->first[c], s->first[c] + s->p->clique_sizes[c], &sum);
        if (sum.gradient >
            ICFI_EPSILON * ICFI_EPSILON * icfi_max(sum.impulse, icfi_max(sum.momentum, sum.free))) {
            return 0;
        }
    }
    return 1;
}

/* Evaluates the island at s->v: terms, gradient, cost, momentum error SAP (26). */
static void icfi_evaluate(icfi_solve* s, icfi_island* island)
{
    int32_t i;
    icf_real kinetic = 0;
    icfi_squares sum = {0, 0, 0, 0};
    island->feasible = 1;
    island->at_best = 0;
    island->cost = 0;
    icfi_find_momentum(s, island);
    icfi_clear_impulses(s, island);
    ICFI_WIDEST(icfi_price_links, (s, island));
    ICFI_WIDEST_END();
    icfi_find_gradient(s, island);
    for (i = island->begin; i < island->end; i++) kinetic += s->r[i] * s->momentum[i];
    icfi_add_squares(s, island->begin, island->end, &sum);
    island->cost += kinetic / 2;
    /* it looks at each clique only if the whole gradient is within the rounding of all terms */
    island->at_rounding =
        sum.gradient <= 2 * ICFI_EPSILON * ICFI_EPSILON * (sum.impulse + sum.momentum + sum.free) &&
        icfi_is_at_rounding(s, island);
    island->gradient = ICF_SQRT(sum.gradient);
    island->scale = ICF_SQRT(icfi_max(sum.momentum, sum.impulse));
    island->impulse = ICF_SQRT(sum.impulse);
    island->motion = ICF_SQRT(icfi_max(sum.momentum, sum.free));
    island->error = island->gradient > 0 ? ICF_REAL_MAX : 0;
    if (island->scale > 0) island->error = island->gradient / island->scale;
    if (!icfi_finite(island->cost) || !icfi_finite(island->gradient) ||
        !icfi_finite(island->scale)) {
        island->feasible = 0;
    }
}

/* to = from on an island */
static void icfi_copy_motion(const icfi_island* island, const icf_real* from, icf_real* to)
{
    ICFI_MEMCPY(to + island->begin, from + island->begin,
                (size_t)island->unknowns * sizeof(icf_real));
}

/* x = A^-1 x of an island, with the cliques' own factors */
static void icfi_own_solve(const icfi_solve* s, const icfi_island* island, icf_real* x)
{
    int32_t k;
    for (k = 0; k < island->cliques; k++) {
        int32_t c = island->clique[k];
        icfi_clique_solve(s, c, x + s->first[c]);
    }
}

/* 1/2 x' A^-1 x of an island, with the cliques' own factors */
static icf_real icfi_dual_energy(icfi_solve* s, const icfi_island* island, const icf_real* x)
{
    icf_real sum = 0;
    int32_t i;
    icfi_copy_motion(island, x, s->spare);
    icfi_own_solve(s, island, s->spare);
    for (i = island->begin; i < island->end; i++) sum += x[i] * s->spare[i];
    return sum / 2;
}

/* ---- the Newton matrix ---- */

/* Marks where a part of the work begins, for a benchmark that defines it (bench/clutter.c): 'A'
   assembly, 'F' the factor and solves with it, 'L' the line search, 'I' all else of the iterations, 'P'
   the pattern, 'R' the rest */
#ifndef ICFI_PROFILE
#define ICFI_PROFILE(part)
#endif

/* Adds A of a clique to its block of an island's matrix, of which the lower triangle counts. */
static void icfi_add_mass(const icfi_solve* s, int32_t c, icf_real* to, int32_t ld)
{
    const icf_real* a = s->p->mass + s->mass_at[c];
    const int32_t n = s->p->clique_sizes[c];
    int32_t j;
    if (!icfi_is_body(s->p, c)) {
        for (j = 0; j < n; j++, a += n, to += ld) icfi_add_base(n, a, to);
        return;
    }
    for (j = 0; j < 3; j++, to += ld + 1) *to += a[0];
    to[0] += a[1];
    to[1] += a[4];
    to[2] += a[5];
    to[ld + 1] += a[2];
    to[ld + 2] += a[6];
    to[2 * ld + 2] += a[3];
}

/* H = A + sum K' W K over the first `links` links into the island's matrix */
static void icfi_assemble(icfi_solve* s, icfi_island* island, int32_t links)
{
    const icf_problem* p = s->p;
    const size_t all = (size_t)island->unknowns;
    const int alone = island->dense && island->cliques == 1 && !icfi_is_body(p, island->clique[0]);
    int32_t k, ld;
    if (!island->dense) {
        (void)icf_sparse_begin(&island->sparse);
    } else if (all && alone) {
        ICFI_MEMCPY(island->dense, p->mass + s->mass_at[island->clique[0]],
                    all * all * sizeof(icf_real));
    } else if (all) {
        ICFI_MEMSET(island->dense, 0, all * all * sizeof(icf_real));
    }
    for (k = alone; k < island->cliques; k++) {
        icf_real* to = icfi_island_block(island, k, k, 0, &ld);
        if (to) icfi_add_mass(s, island->clique[k], to, ld);
    }
    for (k = 0; k < island->couplings; k++) {
        /* row-major is the transposed block by columns; so the edge was given turned */
        int32_t e = island->coupling[k];
        (void)icf_sparse_add_edge(&island->sparse, k, p->coupling_blocks + s->coupling_at[e],
                                  p->clique_sizes[p->coupling_pairs[2 * e + 1]]);
    }
    ICFI_WIDEST(icfi_assemble_links, (s, island, links));
    ICFI_WIDEST_END();
}

/* Multiplies the diagonal of the assembled matrix by 1 + part. */
static void icfi_stiffen(const icfi_solve* s, icfi_island* island, icf_real part)
{
    int32_t k, i, ld;
    for (k = 0; k < island->cliques; k++) {
        int32_t n = s->p->clique_sizes[island->clique[k]];
        icf_real* a = icfi_island_block(island, k, k, 0, &ld);
        for (i = 0; a && i < n; i++) a[i * (ptrdiff_t)(ld + 1)] *= 1 + part;
    }
}

/* Assembles and factors H. If rounding has made H indefinite, as happens in float, its diagonal is raised a
   little, and more at each further try. */
static int icfi_factor(icfi_solve* s, icfi_island* island)
{
    icf_real part = 8 * ICFI_EPSILON;
    int32_t tries, n = island->unknowns;
    if (island->dense || island->sparse.mode != ICF_SPARSE_ITERATIVE) island->factorizations++;
    for (tries = 0; tries < ICFI_STIFFENINGS; tries++, part *= 8) {
        ICFI_PROFILE('A')
        icfi_assemble(s, island, island->links);
        if (tries) icfi_stiffen(s, island, part);
        ICFI_PROFILE('F')
        if (island->dense) {
            if (icf_dense_factor(n, island->dense, n, NULL) == ICF_RESULT_OK) return 1;
        } else if (icf_sparse_factor(&island->sparse, NULL) == ICF_RESULT_OK) {
            return 1;
        }
        /* couplings can make A indefinite although its blocks are good; the caller has to learn of that */
        if (island->couplings) break;
    }
    return 0;
}

/* x = H^-1 x with the factor of H, for the part x of an island */
static icf_result icfi_back(icfi_island* island, icf_real* x)
{
    int32_t n = island->unknowns;
    if (island->dense) return icf_dense_solve(n, island->dense, n, x, 1, n);
    return icf_sparse_solve(&island->sparse, x, 1, n);
}

/* dv = -H^-1 gradient, with the factor of H. Returns 0 if dv is not finite. */
static int icfi_solve_for(icfi_solve* s, icfi_island* island)
{
    icf_real* dv = s->dv + island->begin;
    int32_t i;
    for (i = island->begin; i < island->end; i++) s->dv[i] = -s->gradient[i];
    ICFI_PROFILE('F')
    (void)icfi_back(island, dv);
    ICFI_PROFILE('I')
    return icfi_all_finite((size_t)island->unknowns, dv);
}

/* dv = -A^-1 gradient with the cliques' own blocks; the cost falls along it, too. It serves where rounding
   has spoilt H, or where conjugate gradients get nowhere. */
static void icfi_plain_direction(icfi_solve* s, icfi_island* island)
{
    int32_t i;
    for (i = island->begin; i < island->end; i++) s->dv[i] = -s->gradient[i];
    icfi_own_solve(s, island, s->dv);
}

/* ---- the line search ---- */

/* The cost along v + alpha dv: its slope and curvature. `size` sums the sizes of the slope's terms; the
   slope's rounding is a part of it. */
typedef struct icfi_line {
    icf_real slope0, bend; /* of the quadratic part: at alpha = 0, and per alpha */
    icf_real slope, curvature, size;
} icfi_line;

/* phi of a contact with a wall, at its velocity v; ICF_REAL_MAX for others */
static icf_real icfi_barrier_gap(const icf_contact_term* t, const icf_real v[3])
{
    if (!(t->normal.facts & ICFI_WALL)) return ICF_REAL_MAX;
    return t->normal.distance + t->normal.dt * icfi_law_velocity(t, v);
}

/* Makes the quadratic part, and the gaps of barriers. The velocities along dv have been read. */
static void icfi_start_line(const icfi_solve* s, const icfi_island* island, icfi_line* line)
{
    int32_t k, j, i;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            icfi_contact_state* c = s->contact + s->contact_list[j];
            c->gap = icfi_barrier_gap(&c->term, c->v);
        }
    }
    line->slope0 = line->bend = 0;
    for (i = island->begin; i < island->end; i++) {
        line->slope0 += s->dp[i] * s->r[i];
        line->bend += s->dp[i] * s->dv[i];
    }
}

static icf_real icfi_quadratic_form(const icf_real h[6], const icf_real x[3])
{
    return x[0] * (h[0] * x[0] + 2 * (h[1] * x[1] + h[2] * x[2])) +
           x[1] * (h[3] * x[1] + 2 * h[4] * x[2]) + h[5] * x[2] * x[2];
}

/* Fills in the slope and curvature at alpha. Returns 0 beyond a barrier or too near to it, and if numbers
   overflow. */
static int icfi_try_line(icfi_solve* s, const icfi_island* island, icf_real alpha, icfi_line* line)
{
    int32_t k, j, i;
    icf_real slope = line->slope0 + alpha * line->bend, curvature = line->bend, x;
    icf_real size = ICF_FABS(line->slope0) + alpha * line->bend;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            icfi_contact_state* c = s->contact + s->contact_list[j];
            icf_real v[3];
            icfi_price price;
            for (i = 0; i < 3; i++) v[i] = c->v[i] + alpha * c->dv[i];
            if (c->gap < ICF_REAL_MAX && icfi_barrier_gap(&c->term, v) < c->gap / icfi_barrier_part)
                return 0;
            icfi_contact_price(&c->term, v, &price);
            if (!price.feasible) return 0;
            x = 0;
            for (i = 0; i < 3; i++) x += c->dv[i] * price.impulse[i];
            slope -= x;
            size += ICF_FABS(x);
            curvature += icfi_quadratic_form(price.h, c->dv);
            if (c->spins) {
                icf_real h[6];
                for (i = 0; i < 3; i++) v[i] = c->spin[i] + alpha * c->spin_dv[i];
                (void)icfi_spin_price(c, v);
                h[0] = c->spin_h[0];
                h[1] = c->spin_h[1];
                h[2] = h[4] = 0;
                h[3] = c->spin_h[2];
                h[5] = c->spin_h[3];
                x = 0;
                for (i = 0; i < 3; i++) x += c->spin_dv[i] * c->spin_impulse[i];
                slope -= x;
                size += ICF_FABS(x);
                curvature += icfi_quadratic_form(h, c->spin_dv);
            }
        }
        for (j = s->row_start[link]; j < s->row_start[link + 1]; j++) {
            const icfi_row_state* r = s->row + s->row_list[j];
            icf_real out[3];
            icfi_row_price(&r->term, r->u + alpha * r->du, out);
            x = r->du * out[1];
            slope -= x;
            size += ICF_FABS(x);
            curvature += r->du * r->du * out[2];
        }
    }
    line->slope = slope;
    line->curvature = curvature;
    line->size = size;
    return icfi_finite(size) && icfi_finite(curvature);
}

/* Finds the step to the minimum along the line: Newton's method on the slope, kept inside the bracket of
   its sign, until the slope is at most the part `exact` of the slope at the start. The slope grows along
   the line. So from one trial to the next, the cost changes by at most the distance times the slope at the
   later trial. A step is taken only if these falls and rises add up to a fall. */
static icf_real icfi_search(icfi_solve* s, icfi_island* island, icf_real slope0, icf_real exact)
{
    icf_real low = 0, high = -1, alpha = 1, fall = 0, wide = 0, next, rise;
    icfi_line line;
    int trial, feasible;
    icfi_start_line(s, island, &line);
    island->at_best = 0; /* trials overwrite the impulses of torsion and rolling */
    for (trial = 0; trial < ICFI_TRIALS; trial++) {
        icf_real rounding;
        feasible = icfi_try_line(s, island, alpha, &line);
        island->trials++;
        next = -1;
        if (feasible) {
            rounding = icfi_slope_rounding * ICFI_EPSILON * line.size;
            rise = (alpha - low) * line.slope;
            if (ICF_FABS(line.slope) <= rounding) return alpha;
            if (ICF_FABS(line.slope) <= (trial ? exact : icfi_exact_first) * ICF_FABS(slope0) &&
                fall + rise <= 0)
                return alpha;
            next = alpha - line.slope / line.curvature;
        }
        if (feasible && line.slope < 0) {
            fall += rise;
            low = alpha;
            if (high < 0 && !(next > low && next < 4 * low)) next = 4 * low;
        } else {
            high = alpha;
        }
        if (high >= 0) {
            /* the middle, if Newton leads out of the bracket, or the bracket has not halved */
            if (!(next > low && next < high) || (wide > 0 && high - low > wide / 2))
                next = low + (high - low) / 2;
            if (!(next > low && next < high)) break; /* nothing between */
            if (!feasible && low > 0 && high - low < low / 8)
                break; /* as far as the barrier allows */
            wide = high - low;
        }
        alpha = next;
    }
    return low;
}

// ------------------------------------------------------------------------------------------------
// Layer 7, continued: Newton's method
// >>newton
/* Offers to those below: icfi_add_island, icfi_advance, icfi_cost_noise, icfi_evaluate_at, icfi_go_free,
   icfi_has_converged, icfi_is_free, icfi_is_rounding, icfi_is_settled, icfi_make_feasible,
   icfi_newton_step, icfi_out_of_budget, icfi_progress, icfi_record, icfi_rounding, icfi_should_end */

/* ---- thresholds ----

   As in >>evaluation. */

// clang-format off
static const icf_real icfi_cost_rounding = 16;        /* of a cost: costs nearer to each other count as
                                                         equal */
static const icf_real icfi_sum_rounding = 4;          /* of the terms of a gradient: a smaller gradient is
                                                         rounding */
static const icf_real icfi_small_step = 100;          /* of the momentum: after so small a step Newton's
                                                         method squares the error at each step, unless only
                                                         rounding is left */
static const icf_real icfi_floor_step = 16;           /* squared, of a clique's speed: a smaller step moves
                                                         nothing */
static const icf_real icfi_impulse_share = 10;        /* tolerances: the bound on the gradient relative to
                                                         the impulses alone */
static const icf_real icfi_settled_error = ICF_R(0.01); /* a start with a smaller error is kept as it is */
static const icf_real icfi_settled_share = ICF_R(0.1); /* the same, relative to the impulses alone */
static const icf_real icfi_exact = ICF_R(1e-3);       /* the part of the slope that a line search may leave,
                                                         with duals */
static const icf_real icfi_exact_plain = ICF_R(0.01); /* without duals: a direction is then worth fewer
                                                         trials */
static const icf_real icfi_whole_gain = ICF_R(0.9);   /* a whole step stays if it brings the error below this
                                                         part of the best */
enum {
    ICFI_STUCK = 20,                                  /* steps that lower neither the error nor the cost,
                                                         before a test for rounding. More waste steps at the
                                                         floor; fewer run the test while corners are
                                                         turned */
    ICFI_IDLE = 4,                                    /* small steps that do not halve the error, before this
                                                         is the floor */
    ICFI_IDLE_FULL = 2,                               /* the same, if the line search agrees with the
                                                         model */
    ICFI_HALVINGS = 60                                /* of a step that leads over a barrier: then nothing is
                                                         left of it */
};
// clang-format on

/* Adds an island to the sums of all */
static void icfi_add_island(icf_iteration* sum, icf_real cost, icf_real gradient, icf_real error)
{
    sum->cost += cost;
    sum->gradient = ICF_SQRT(sum->gradient * sum->gradient + gradient * gradient);
    sum->momentum_error = icfi_max(sum->momentum_error, error);
}

/* Adds the best velocity to the history. All islands share the history: `before` holds the sums over the
   islands that are done. */
static void icfi_record(icfi_solve* s, const icfi_island* island)
{
    const icf_options* o = s->options;
    const icf_iteration* best = &island->best;
    icf_iteration* h;
    if (island->iterations >= o->history_capacity) return;
    h = o->history + island->iterations;
    if (island->iterations >= s->stats->history) {
        *h = island->before;
        s->stats->history = island->iterations + 1;
    }
    icfi_add_island(h, best->cost, best->gradient, best->momentum_error);
}

/* About how much energy a potential holds: the smaller of its cost at v* and the energy that moves it out of
   the way at the speed x. */
static icf_real icfi_own_energy(icf_real cost, icf_real x, icf_real w)
{
    icf_real energy = w > 0 ? x * x / (2 * w) : 0;
    return icfi_max(0, icfi_min(cost, energy));
}

/* The sum of those energies, a scale of the cost. Potentials must have been evaluated at v*. */
static icf_real icfi_scale_of_cost(const icfi_solve* s, const icfi_island* island)
{
    icf_real sum = 0;
    int32_t k, j;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            const icfi_contact_state* c = s->contact + s->contact_list[j];
            icf_real x = icfi_max(0, c->term.normal.vhat - c->v[2]);
            x = ICF_SQRT(x * x + c->v[0] * c->v[0] + c->v[1] * c->v[1]);
            sum += icfi_own_energy(c->price.feasible ? c->price.cost : ICF_REAL_MAX, x, c->w);
        }
        for (j = s->row_start[link]; j < s->row_start[link + 1]; j++) {
            const icfi_row_state* r = s->row + s->row_list[j];
            sum += icfi_own_energy(r->price[0], r->u - r->term.target, r->w);
        }
    }
    return sum;
}

/* Goes to v, and evaluates everything there. */
static void icfi_evaluate_at(icfi_solve* s, icfi_island* island, const icf_real* v)
{
    icfi_copy_motion(island, v, s->v);
    icfi_evaluate(s, island);
}

/* Goes to v*. Answers the scale of the cost. */
static icf_real icfi_go_free(icfi_solve* s, icfi_island* island)
{
    icfi_evaluate_at(s, island, s->free);
    return icfi_scale_of_cost(s, island);
}

/* Goes to v* and answers 1 if no potential acts there; else leaves s->v unchanged. own: a scale of the
   cost */
static int icfi_is_free(icfi_solve* s, icfi_island* island, icf_real* own)
{
    icfi_copy_motion(island, s->v, s->from);
    *own = icfi_go_free(s, island);
    if (island->feasible && island->gradient == 0) return 1;
    icfi_copy_motion(island, s->from, s->v);
    return 0;
}

/* SAP (26), and a second bound, ten times looser, relative to the impulses alone: a fast body's momentum
   would hide an error as large as its friction. */
static int icfi_has_converged(const icfi_solve* s, const icfi_island* island)
{
    icf_real tolerance = s->options->tolerance;
    return island->error <= tolerance &&
           island->gradient <= icfi_impulse_share * tolerance * island->impulse;
}

/* Goes to v = 0. */
static void icfi_stop_island(icfi_solve* s, icfi_island* island)
{
    int32_t i;
    for (i = island->begin; i < island->end; i++) s->v[i] = 0;
    icfi_evaluate(s, island);
}

/* Whether a row of an island acts on a clique */
static int icfi_has_row(const icfi_solve* s, const icfi_island* island, int32_t clique)
{
    const icf_problem* p = s->p;
    int32_t k, i;
    for (k = 0; k < island->links; k++) {
        const int32_t link = island->link[k];
        if (s->row_start[link] == s->row_start[link + 1]) continue;
        for (i = p->link_start[link]; i < p->link_start[link + 1]; i++) {
            if (p->block_clique[i] == clique) return 1;
        }
    }
    return 0;
}

/* Answers 1 if something moves, but no clique has more momentum than the tolerance times A v*, its free
   momentum. What a motor or dry friction holds may have none: its limit are the impulses of the island. */
static int icfi_hardly_moves(const icfi_solve* s, const icfi_island* island)
{
    icf_real square = s->options->tolerance * s->options->tolerance;
    icf_real most = square * island->impulse * island->impulse;
    int32_t k;
    int moves = 0;
    for (k = 0; k < island->cliques; k++) {
        int32_t c = island->clique[k];
        icfi_squares sum = {0, 0, 0, 0};
        icfi_add_squares(s, s->first[c], s->first[c] + s->p->clique_sizes[c], &sum);
        if (sum.momentum > square * sum.free &&
            (sum.momentum > most || !icfi_has_row(s, island, c)))
            return 0;
        moves |= sum.momentum > 0;
    }
    return moves;
}

/* Whether the start needs no improvement because the last step ended there, as at rest. An island that hardly
   moves, and meets the tolerance at v = 0 too, is stopped. Otherwise the last remnant of a movement would go
   on for as long as the tolerance lets it, and stiff contacts would never quite be where they were. */
static int icfi_is_settled(icfi_solve* s, icfi_island* island)
{
    if (!s->guesses && !s->p->rows) return 0;
    icfi_evaluate(s, island);
    if (!icfi_has_converged(s, island) && icfi_hardly_moves(s, island)) {
        icfi_copy_motion(island, s->v, s->from);
        icfi_stop_island(s, island);
        if (!island->feasible || !icfi_has_converged(s, island)) {
            icfi_evaluate_at(s, island, s->from);
        }
    }
    if (!s->guesses) return island->feasible && icfi_has_converged(s, island);
    return island->feasible && island->error < icfi_settled_error &&
           island->gradient < icfi_settled_share * island->impulse;
}

/* Moves a start to v = 0 if a barrier forbids it or impulses overflow there. At v = 0 a barrier allows
   everything but a bias, and impulses are small. */
static int icfi_make_feasible(icfi_solve* s, icfi_island* island)
{
    icfi_evaluate(s, island);
    if (!island->feasible) icfi_stop_island(s, island);
    return island->feasible;
}

static icf_stop icfi_out_of_budget(const icfi_solve* s, const icfi_island* island)
{
    if (s->stopped) return ICF_STOP_CALLER;
    if (island->iterations >= s->options->iterations) return ICF_STOP_ITERATIONS;
    if (island->factorizations >= s->options->factorizations) return ICF_STOP_FACTORIZATIONS;
    return ICF_STOP_NONE;
}

/* Converged, down to rounding, stopped by the caller, or out of budget */
static icf_stop icfi_should_end(icfi_solve* s, icfi_island* island)
{
    const icf_options* o = s->options;
    if (icfi_has_converged(s, island)) return ICF_STOP_CONVERGED;
    if (island->at_rounding) return ICF_STOP_FLOOR;
    if (o->energy > 0 && icfi_dual_energy(s, island, s->gradient) * s->bound <=
                             o->energy * (icf_real)island->unknowns / (icf_real)s->moving) {
        return ICF_STOP_CONVERGED;
    }
    if (!s->stopped && o->should_stop && o->should_stop(o->user)) s->stopped = 1;
    return icfi_out_of_budget(s, island);
}

/* Adds to `sum`, the impulses of a link, a bound on how much rounding of velocities changes the impulses of a
   contact. terms: the sizes of the terms that add up to the velocities. The Hessian is taken where the
   contact presses, if rounding can lead there. */
static void icfi_add_rounding(const icfi_contact_state* c, int32_t rows, const icf_real* terms,
                              icf_real* sum)
{
    const icf_contact_term* t = &c->term;
    icf_real x[3], v[3], g[3], reach;
    const icf_real* h;
    icfi_price price;
    int32_t i, j;
    for (i = 0; i < 3; i++) {
        x[i] = ICF_FABS(c->bias[i]);
        for (j = 0; j < rows; j++) x[i] += ICF_FABS(c->s[i * rows + j]) * terms[j];
    }
    x[2] += ICF_FABS(t->normal.vhat);
    reach = x[2];
    if (icfi_is_carried(t)) reach += t->mu1 * x[0] + t->mu2 * x[1];
    ICFI_MEMCPY(v, c->v, sizeof v);
    v[2] -= 2 * ICFI_EPSILON * reach;
    icfi_contact_price(t, v, &price);
    h = price.feasible ? price.h : c->price.h;
    g[0] = ICF_FABS(h[0]) * x[0] + ICF_FABS(h[1]) * x[1] + ICF_FABS(h[2]) * x[2];
    g[1] = ICF_FABS(h[1]) * x[0] + ICF_FABS(h[3]) * x[1] + ICF_FABS(h[4]) * x[2];
    g[2] = ICF_FABS(h[2]) * x[0] + ICF_FABS(h[4]) * x[1] + ICF_FABS(h[5]) * x[2];
    for (i = 0; i < 3; i++) {
        for (j = 0; j < rows; j++) sum[j] += ICF_FABS(c->s[i * rows + j]) * g[i];
    }
    if (!c->spins) return;
    for (i = 0; i < 3; i++) {
        const icf_real* a = c->s + 6 * i;
        x[i] = ICF_FABS(c->twist[i]);
        for (j = 0; j < 3; j++) x[i] += ICF_FABS(a[j]) * terms[3 + j];
    }
    h = c->spin_h;
    g[0] = ICF_FABS(h[0]) * x[0] + ICF_FABS(h[1]) * x[1];
    g[1] = ICF_FABS(h[1]) * x[0] + ICF_FABS(h[2]) * x[1];
    g[2] = ICF_FABS(h[3]) * x[2];
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) sum[3 + j] += ICF_FABS(c->s[6 * i + j]) * g[i];
    }
}

/* A bound on how much rounding changes the impulse of a row. terms: the size of the terms that add up to its
   velocity. It uses the steepest slope within reach of rounding, because rounding alone can close a limit
   that is just open. */
static icf_real icfi_row_rounding(const icfi_row_state* r, icf_real terms)
{
    const icf_real x = terms + ICF_FABS(r->term.target), reach = 2 * ICFI_EPSILON * x;
    icf_real below[3], above[3];
    icfi_row_price(&r->term, r->u - reach, below);
    icfi_row_price(&r->term, r->u + reach, above);
    return x * icfi_max(ICF_FABS(r->price[2]), icfi_max(ICF_FABS(below[2]), ICF_FABS(above[2])));
}

/* The sizes of the terms that add up to the velocities of a link */
static void icfi_sum_terms(const icfi_solve* s, int32_t link, icf_real* terms)
{
    const icf_problem* p = s->p;
    int32_t rows = p->link_rows[link], b, i, at;
    icf_real room[36];
    for (i = 0; i < rows; i++) {
        terms[i] = p->link_bias ? ICF_FABS(p->link_bias[s->bias_at[link] + i]) : 0;
    }
    for (b = p->link_start[link]; b < p->link_start[link + 1]; b++) {
        const int32_t n = s->columns[b];
        const icf_real* block = icfi_link_block(p, link, b, s->block_at[b], room);
        for (at = 0; at < rows * n; at++) {
            terms[at / n] += ICF_FABS(block[at] * s->v[s->reads[b] + at % n]);
        }
    }
}

/* Adds the sizes of a contact's impulses to the impulses of its link. */
static void icfi_add_sizes(const icfi_contact_state* c, int32_t rows, icf_real* sum)
{
    int32_t i, j;
    for (i = 0; i < 3; i++) {
        for (j = 0; j < rows; j++) sum[j] += ICF_FABS(c->s[i * rows + j] * c->price.impulse[i]);
        for (j = 0; c->spins && j < 3; j++)
            sum[3 + j] += ICF_FABS(c->s[6 * i + j] * c->spin_impulse[i]);
    }
}

/* The largest gradient that rounding explains: rounding of momenta and impulses, and, with `of_velocities`,
   of velocities too. Stiff contacts magnify the rounding of velocities. */
static icf_real icfi_rounding(icfi_solve* s, const icfi_island* island, int of_velocities)
{
    const icf_problem* p = s->p;
    icf_real *noise = s->spare, room[36];
    icf_real sum = 0;
    int32_t k, j, b, i, at;
    for (i = island->begin; i < island->end; i++) {
        noise[i] = ICF_FABS(s->momentum[i]) + ICF_FABS(s->free_momentum[i]);
    }
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k], rows = p->link_rows[link];
        icf_real terms[6] = {0, 0, 0, 0, 0, 0}, gamma[6] = {0, 0, 0, 0, 0, 0};
        if (of_velocities) icfi_sum_terms(s, link, terms);
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            const icfi_contact_state* c = s->contact + s->contact_list[j];
            icfi_add_sizes(c, rows, gamma);
            if (of_velocities) icfi_add_rounding(c, rows, terms, gamma);
        }
        for (j = s->row_start[link]; j < s->row_start[link + 1]; j++) {
            const icfi_row_state* r = s->row + s->row_list[j];
            gamma[r->row] += ICF_FABS(r->price[1]);
            if (of_velocities) gamma[r->row] += icfi_row_rounding(r, terms[r->row]);
        }
        for (b = p->link_start[link]; b < p->link_start[link + 1]; b++) {
            const int32_t n = s->columns[b];
            const icf_real* block = icfi_link_block(p, link, b, s->block_at[b], room);
            for (at = 0; at < rows * n; at++) {
                noise[s->reads[b] + at % n] += ICF_FABS(block[at]) * gamma[at / n];
            }
        }
    }
    for (i = island->begin; i < island->end; i++) {
        icf_real x = s->d[i] * noise[i];
        sum += x * x;
    }
    return icfi_sum_rounding * ICFI_EPSILON * ICF_SQRT(sum);
}

static int icfi_is_rounding(icfi_solve* s, const icfi_island* island)
{
    return !(island->gradient > icfi_rounding(s, island, 1));
}

/* Whether only rounding is left. Either each clique moves by less than the rounding of its velocity, and
   rounding explains the gradient. (Both tests are needed: a body that slides on the ground has a normal
   velocity with far less rounding than its sliding velocity.) Or Newton's steps are so small that each should
   square the error, and `idle` of them have not even halved it: four, or two if the line search agrees with
   the model. small: the next step is that small too */
static int icfi_at_floor(icfi_solve* s, const icfi_island* island, icf_real alpha, int small,
                         int32_t idle)
{
    int32_t k, i;
    if (small && idle >= (ICF_FABS(alpha - 1) < ICF_R(0.01) ? ICFI_IDLE_FULL : ICFI_IDLE)) return 1;
    for (k = 0; k < island->cliques; k++) {
        int32_t c = island->clique[k], end = s->first[c] + s->p->clique_sizes[c];
        icf_real move = 0, speed = 0;
        for (i = s->first[c]; i < end; i++) {
            icf_real x = alpha * s->dv[i] / s->d[i], y = s->v[i] / s->d[i];
            move += x * x;
            speed += y * y;
        }
        if (move > icfi_floor_step * ICFI_EPSILON * ICFI_EPSILON * speed) return 0;
    }
    return alpha == 0 || icfi_is_rounding(s, island);
}

/* v += alpha dv, and evaluates everything there. If rounding has led over a barrier after all, halves the
   step; answers 0 if nothing is left of it. */
static int icfi_advance(icfi_solve* s, icfi_island* island, icf_real alpha)
{
    int32_t tries, i;
    icfi_copy_motion(island, s->v, s->from);
    for (tries = 0; tries < ICFI_HALVINGS; tries++, alpha /= 2) {
        for (i = island->begin; i < island->end; i++) s->v[i] = s->from[i] + alpha * s->dv[i];
        icfi_evaluate(s, island);
        if (island->feasible) return 1;
    }
    icfi_evaluate_at(s, island, s->from);
    return 0;
}

/* Whether A of an island is positive definite. Answers 1 if there is no factor to tell. */
static int icfi_mass_is_good(icfi_solve* s, icfi_island* island)
{
    if (island->sparse.mode == ICF_SPARSE_ITERATIVE) return 1;
    icfi_assemble(s, island, 0);
    return icf_sparse_factor(&island->sparse, NULL) == ICF_RESULT_OK;
}

/* Works on the duals of friction of all contacts: Hessians with them, started afresh or not, or the step in
   s->dv. */
static void icfi_each_dual(icfi_solve* s, const icfi_island* island, icfi_dual_use use)
{
    int32_t k, j;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            icfi_contact_state* c = s->contact + s->contact_list[j];
            icfi_contact_dual(&c->term, use, c->v, c->dv, c->y, &c->price);
        }
    }
}

/* The part of a cost that is rounding */
static icf_real icfi_cost_noise(icf_real cost)
{
    return icfi_cost_rounding * ICFI_EPSILON * ICF_FABS(cost);
}

/* The progress of Newton's method. best: the least error; stale: steps since it last halved; stuck: steps
   since it last halved or the cost fell by more than rounding; cost: the cost at that time */
typedef struct icfi_progress {
    icf_real best, cost;
    int32_t stale, stuck, steps;
    int32_t idle; /* of the stale steps, those after a small step: the others may have turned
                     corners */
    int small;    /* the last step was small */
    int plain;    /* uses the Hessian itself, without duals */
} icfi_progress;

static const icfi_progress icfi_no_progress = {ICF_REAL_MAX, ICF_REAL_MAX, 0, 0, 0, 0, 0, 0};

/* Takes the whole of Newton's step, without a search. The step stays if the cost does not rise and the error
   falls below the least so far. It often does if the caller gave impulses to expect. */
static int icfi_step_whole(icfi_solve* s, icfi_island* island, const icfi_progress* progress)
{
    icf_real cost = island->cost;
    int32_t i;
    icfi_copy_motion(island, s->v, s->from);
    for (i = island->begin; i < island->end; i++) s->v[i] = s->from[i] + s->dv[i];
    icfi_evaluate(s, island);
    if (island->feasible && island->error < icfi_whole_gain * progress->best &&
        island->cost <= cost)
        return 1;
    icfi_evaluate_at(s, island, s->from);
    return 0;
}

/* One step of Newton's method: from s->v to the minimum along the direction. Answers FLOOR if there is no
   step, else NONE. */
static icf_stop icfi_newton_step(icfi_solve* s, icfi_island* island, icfi_progress* progress)
{
    icf_real slope = 0, step = 0, few = icfi_small_step * ICFI_EPSILON * island->motion, alpha;
    int32_t i;
    int good;
    if (!progress->plain)
        icfi_each_dual(s, island, progress->steps++ ? ICFI_DUAL_HESSIAN : ICFI_DUAL_START);
    good = icfi_factor(s, island) && icfi_solve_for(s, island);
    if (!good) icfi_plain_direction(s, island);
    icfi_mass_times(s, island, s->dv, s->dp);
    for (i = island->begin; i < island->end; i++) {
        slope += s->gradient[i] * s->dv[i];
        step += s->dp[i] * s->dv[i];
    }
    /* only couplings can spoil an A of good blocks: the problem is then not convex */
    if (island->couplings && (step < 0 || (!good && !icfi_mass_is_good(s, island)))) {
        island->convex = 0;
        return ICF_STOP_FLOOR;
    }
    progress->stale = island->error < progress->best / 2 ? 0 : progress->stale + 1;
    if (!progress->stale) progress->idle = 0;
    if (progress->stale && progress->small) progress->idle++;
    progress->small = step <= few * few; /* in the norm of A */
    progress->best = icfi_min(progress->best, island->error);
    progress->stuck++;
    if (!progress->stale || island->cost < progress->cost - icfi_cost_noise(island->cost)) {
        progress->stuck = 0;
        progress->cost = island->cost;
    }
    if (progress->stuck >= ICFI_STUCK && icfi_is_rounding(s, island)) return ICF_STOP_FLOOR;
    ICFI_WIDEST(icfi_read_directions, (s, island));
    ICFI_WIDEST_END();
    if (!progress->plain) {
        icfi_each_dual(s, island, ICFI_DUAL_STEP);
        if (s->guesses && icfi_step_whole(s, island, progress)) {
            island->iterations++;
            return ICF_STOP_NONE;
        }
    }
    ICFI_PROFILE('L')
    alpha = icfi_search(s, island, slope, progress->plain ? icfi_exact_plain : icfi_exact);
    ICFI_PROFILE('I')
    if (icfi_at_floor(s, island, alpha, progress->small, progress->idle)) return ICF_STOP_FLOOR;
    if (!icfi_advance(s, island, alpha)) return ICF_STOP_FLOOR;
    island->iterations++;
    return ICF_STOP_NONE;
}

// ------------------------------------------------------------------------------------------------
// Layer 7, continued: where Newton's method is slow
// >>interior
/* Offers to those below: icfi_heaviest_unit, icfi_interior_iterate, icfi_interior_mean, icfi_make_units,
   icfi_path, icfi_warm_units */

/* Newton's method is slow where contacts change between sticking, sliding and open: the gradient there
   saturates, and every iteration moves a few contacts past their corner. A conic problem has the same
   minimum. A primal-dual interior-point method solves it in 10 to 16 iterations whatever the stiffness
   and the start, with the same matrix A + sum K' W K.

   Each potential becomes one or two units. A unit has a slack s in a second-order cone, s0 >= |sr|, and
   an impulse lambda in the same cone, orthogonal to it at the solution:

       s = B v + e u + h + R lambda,  s o lambda = 0,  ell'(u) = lambda_0,  impulse B' lambda

       friction   s = (u, mu1 v1, mu2 v2, eps)                   ell = c u: lambda_0 = c, its limit
       normal     s = u - b + vn                                 ell(u) = the law's cost at b - u
       similar    s = (u - b + vn + eps, mu1 v1, mu2 v2, eps)    the same
       sap        s = (vn - vhat, mu v1, mu v2) + R lambda       no u
       motor      s = (u, v - target + lambda_1 / slope)         ell = c u: the effort limit

   Minimising over u brings s onto its cone, and gives back the potential. The law's force ends at velocity b.
   A sphere of radius r is a cone of the same kind cut at s3 = eps; the cut makes friction smooth.
   Torsion, rolling and dry friction are units of friction. Limits are units of a normal law. Holonomic and
   quadratic rows, motors without limit and constant forces are linear, and need no unit.

   An iteration linearises all of that around a target s o lambda = sigma m, scales it by Nesterov and
   Todd's W (W lambda = W^-1 s), and eliminates s, u, lambda. The matrix A + sum B' Theta B remains. The
   iteration predicts (target 0), corrects for the second order (Mehrotra) unless that halves the step, and
   corrects for centrality (Gondzio).
   The formulas for Theta and for the right-hand sides lose no digits as s reaches the boundary of its
   cone, where det s = s0^2 - |sr|^2 falls to 1e-13 of s0^2. */

/* The state of the interior point method since its units began */
typedef struct icfi_path {
    int expected;        /* its units began from the impulses to expect */
    icf_real mean;       /* of s.lambda / omega, over the units */
    icf_real alpha;      /* the part of its direction that the last iteration went */
    icf_real common;     /* the part that every unit went */
    icf_real unbalanced; /* the part of the imbalance of momentum that is left */
    int32_t steps, slow; /* iterations; slow ones in a row */
    int whole;           /* s->v is the whole step; the units are at s->hold */
} icfi_path;

#ifndef ICF_NO_INTERIOR_POINT

/* ---- thresholds ----

   As in >>evaluation. "In a row" means with impulses to expect. */

// clang-format off
static const icf_real icfi_inside = ICF_R(0.99);      /* the part of the way to the edge of its cones that a
                                                         unit goes */
static const icf_real icfi_unit_ahead = ICF_R(1.3);   /* in a row, units go this much farther than the unit
                                                         that blocks them. Measured: 5 per cent fewer
                                                         iterations, and no gain from longer steps */
static const icf_real icfi_least_target = ICF_R(1e-6); /* of the mean: below it is rounding */
static const icf_real icfi_good_reach = ICF_R(0.9);   /* in a row, a step so long needs no corrector */
static const icf_real icfi_longer = ICF_R(1.5);       /* a corrector is to lengthen a step by this factor */
static const icf_real icfi_longer_by = ICF_R(0.1);    /* or by this part of the whole */
enum {
    ICFI_CORRECTORS = 3,                              /* Gondzio's: a direction takes half the time of a
                                                         factor */
    ICFI_CORRECTORS_ROW = 1                           /* in a row one is enough */
};
// clang-format on

/* ---- one unit ---- */

ICFI_HOT icf_real icfi_norm3(const icf_real* x)
{
    return ICF_SQRT(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

ICFI_HOT icf_real icfi_dot3(const icf_real* x, const icf_real* y)
{
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
}

/* x / x0: its squares neither overflow nor underflow */
ICFI_HOT void icfi_by_first(const icf_real x[4], icf_real y[4])
{
    icf_real i = 1 / x[0];
    int k;
    y[0] = 1;
    for (k = 1; k < 4; k++) y[k] = x[k] * i;
}

/* z = x + f y */
ICFI_HOT void icfi_along(const icf_real x[4], icf_real f, const icf_real y[4], icf_real z[4])
{
    z[0] = x[0] + f * y[0];
    z[1] = x[1] + f * y[1];
    z[2] = x[2] + f * y[2];
    z[3] = x[3] + f * y[3];
}

/* s0^2 - |sr|^2, as a product */
ICFI_HOT icf_real icfi_det(const icf_real s[4])
{
    icf_real r = icfi_norm3(s + 1);
    return (s[0] - r) * (s[0] + r);
}

/* ell's slope and curvature at u. ell is the law at the velocity from - u. Beyond its end the law goes on
   with its curvature there; the solution is never in that part. */
ICFI_HOT int icfi_unit_law(const icfi_unit* t, icf_real u, icf_real* slope, icf_real* bend)
{
    icf_real out[3];
    if (!(u > 0) && t->corner > 0) {
        *slope = t->corner * u;
        *bend = t->corner;
        return 1;
    }
    if (!icfi_normal_price(t->law, t->from - u, out)) return 0;
    *slope = out[1];
    *bend = icfi_max(-out[2], t->least);
    return 1;
}

/* W x, or W^-1 x */
ICFI_HOT void icfi_unit_w(const icfi_unit* t, const icf_real x[4], icf_real y[4], int inverse)
{
    icf_real eta = inverse ? t->by_eta : t->eta, sign = inverse ? -ICF_R(1.0) : ICF_R(1.0);
    icf_real p = sign * icfi_dot3(t->scale + 1, x + 1), q = p * t->share + x[0];
    y[0] = eta * (t->scale[0] * x[0] + p);
    y[1] = eta * (x[1] + sign * q * t->scale[1]);
    y[2] = eta * (x[2] + sign * q * t->scale[2]);
    y[3] = eta * (x[3] + sign * q * t->scale[3]);
}

/* Nesterov-Todd scaling and Theta at s, lambda */
ICFI_HOT void icfi_unit_scale(icfi_unit* t)
{
    icf_real x[3], y[3], rs, rl, a, w0, wr, f, i, l, by_lam, by_s = 1 / t->s[0];
    int k;
    t->by_s = by_s;
    if (t->kind == ICFI_UNIT_NORMAL) {
        t->t00 = t->lam[0] * by_s;
        t->give = 1 / (t->bend + t->t00);
        t->k0 = t->t00 * t->give;
        t->th00 = t->bend * t->k0;
        return;
    }
    /* divided by their first numbers: squares then neither overflow nor underflow */
    by_lam = 1 / t->lam[0];
    for (k = 0; k < 3; k++) {
        x[k] = t->s[k + 1] * by_s;
        y[k] = t->lam[k + 1] * by_lam;
    }
    a = 1 - icfi_dot3(x, x);
    rs = 1 / ICF_SQRT(a);
    rl = 1 / ICF_SQRT(1 - icfi_dot3(y, y));
    t->by_s_det = rs * rs;
    l = t->s[0] * by_lam * (rl / rs);
    i = 1 / l;
    f = 1 / ICF_SQRT(2 + 2 * (1 + icfi_dot3(x, y)) * rs * rl);
    for (k = 0; k < 3; k++) t->scale[k + 1] = (x[k] * rs - y[k] * rl) * f;
    a = icfi_dot3(t->scale + 1, t->scale + 1);
    wr = ICF_SQRT(a);
    w0 = t->scale[0] = ICF_SQRT(1 + a);
    t->share = 1 / (1 + w0);
    t->eta = ICF_SQRT(l);
    t->by_eta = t->eta * i;
    icfi_unit_w(t, t->lam, t->nu, 0);
    t->by_nu = 1 / t->nu[0];
    rl *= t->nu[0] * by_lam * t->by_eta; /* det nu = eta^2 det lambda */
    t->by_det = rl * rl;
    f = wr > 0 ? 1 / wr : 0;
    for (k = 0; k < 3; k++) t->axis[k] = t->scale[k + 1] * f;
    t->k0 = t->kr = 0;
    if (t->kind == ICFI_UNIT_SAP) {
        icf_real g = w0 + wr, a1 = l * g * g, a2 = l / (g * g), sm = (a1 + a2) / 2;
        icf_real det = a1 * a2 + sm * (t->r0 + t->r1) + t->r0 * t->r1;
        t->th00 = (sm + t->r1) / det;
        t->th0 = -2 * l * w0 * wr / det;
        t->along = (sm + t->r0) / det;
        t->side = 1 / (l + t->r1);
        return;
    }
    t->t00 = (1 + 2 * a) * i;
    if (t->kind == ICFI_UNIT_MOTOR) {
        icf_real theta = i / (1 + 2 * a);
        t->th00 = t->th0 = 0;
        t->along = t->side = theta / (1 + theta * t->r1);
        return;
    }
    t->give = 1 / (t->bend + t->t00);
    t->k0 = t->t00 * t->give;
    t->kr = -2 * w0 * wr * i * t->give;
    t->th00 = t->bend * t->k0;
    t->th0 = t->bend * t->kr;
    t->side = i;
    t->along = (i + t->bend * (1 + 2 * a)) * (i * t->give);
}

/* y = Theta x */
ICFI_HOT void icfi_unit_theta(const icfi_unit* t, const icf_real x[4], icf_real y[4])
{
    icf_real p = icfi_dot3(t->axis, x + 1), q = (t->along - t->side) * p + t->th0 * x[0];
    y[0] = t->th00 * x[0] + t->th0 * p;
    y[1] = t->side * x[1] + q * t->axis[0];
    y[2] = t->side * x[2] + q * t->axis[1];
    y[3] = t->side * x[3] + q * t->axis[2];
}

/* d0: how the direction for the target p changes the impulse if v stays */
ICFI_HOT void icfi_unit_target(icfi_unit* t)
{
    const icf_real* p = t->p;
    icf_real x[4], y[4], f, *d = t->d0;
    int k;
    if (t->kind == ICFI_UNIT_NORMAL) {
        d[0] = p[0] - t->k0 * (p[0] - t->ru) - t->th00 * t->rp[0];
        return;
    }
    if (t->kind == ICFI_UNIT_MOTOR) {
        icf_real a = t->scale[1] * t->scale[1];
        d[0] = d[2] = d[3] = 0;
        d[1] = p[1] + 2 * t->scale[0] * t->scale[1] / (1 + 2 * a) * p[0];
        d[1] = d[1] * (1 - t->along * t->r1) - t->along * t->rp[1];
        return;
    }
    if (t->kind == ICFI_UNIT_SAP) {
        x[0] = t->r0 * p[0] + t->rp[0];
        for (k = 1; k < 4; k++) x[k] = t->r1 * p[k] + t->rp[k];
        icfi_unit_theta(t, x, y);
        for (k = 0; k < 4; k++) d[k] = p[k] - y[k];
        return;
    }
    icfi_unit_theta(t, t->rp, y);
    f = p[0] - t->ru;
    d[0] = p[0] - t->k0 * f - y[0];
    d[1] = p[1] - t->kr * t->axis[0] * f - y[1];
    d[2] = p[2] - t->kr * t->axis[1] * f - y[2];
    d[3] = p[3] - t->kr * t->axis[2] * f - y[3];
}

/* The direction of a unit for the target p, when its velocity changes by `in` */
ICFI_HOT void icfi_unit_direction(icfi_unit* t, const icf_real in[3])
{
    const icf_real *p = t->p, *d = t->d0;
    icf_real y[4], x[4];
    int k;
    y[0] = t->b0 * in[2];
    if (t->kind == ICFI_UNIT_NORMAL) {
        t->d.lam[0] = d[0] - t->th00 * y[0];
        t->d.u = (p[0] - t->ru) * t->give - t->k0 * (y[0] + t->rp[0]);
        t->d.s[0] = y[0] + t->rp[0] + t->d.u;
        return;
    }
    y[1] = t->b1 * in[0];
    y[2] = t->b2 * in[1];
    y[3] = 0;
    if (t->kind == ICFI_UNIT_MOTOR) {
        icf_real t01 = -2 * t->scale[0] * t->scale[1] * t->by_eta * t->by_eta;
        for (k = 0; k < 4; k++) t->d.lam[k] = t->d.s[k] = 0;
        t->d.lam[1] = d[1] - t->along * y[1];
        t->d.s[1] = y[1] + t->rp[1] + t->r1 * t->d.lam[1];
        t->d.u = (p[0] - t01 * t->d.s[1]) / t->t00;
        t->d.s[0] = t->d.u + t->rp[0];
        return;
    }
    icfi_unit_theta(t, y, x);
    icfi_along(d, -1, x, t->d.lam);
    icfi_along(y, 1, t->rp, t->d.s);
    if (t->kind == ICFI_UNIT_FRICTION) t->d.lam[0] = 0;
    t->d.u = 0;
    if (t->kind == ICFI_UNIT_SAP) {
        t->d.s[0] += t->r0 * t->d.lam[0];
        for (k = 1; k < 4; k++) t->d.s[k] += t->r1 * t->d.lam[k];
        return;
    }
    t->d.u = (p[0] - t->ru) * t->give - t->k0 * (y[0] + t->rp[0]);
    t->d.u -= t->kr * t->axis[0] * t->d.s[1];
    t->d.u -= t->kr * t->axis[1] * t->d.s[2];
    t->d.u -= t->kr * t->axis[2] * t->d.s[3];
    t->d.s[0] += t->d.u;
}

/* The longest step up to `most` along d that keeps s in its cone: the first root of det(s + alpha d), divided
   by s0. The cone is convex, so if the end of the step is inside there is nothing to solve. */
ICFI_HOT icf_real icfi_cone_step(const icf_real s[4], const icf_real d[4], icf_real most)
{
    icf_real a, b, c, root, den, x[4], y[4], i;
    int k;
    icfi_along(s, most, d, x);
    if (x[0] > 0 && x[0] * x[0] > icfi_dot3(x + 1, x + 1)) return most;
    i = 1 / s[0];
    if (s[1] == 0 && s[2] == 0 && s[3] == 0 && d[1] == 0 && d[2] == 0 && d[3] == 0) {
        return d[0] < 0 ? icfi_min(most, -s[0] / d[0]) : most;
    }
    icfi_by_first(s, x);
    for (k = 0; k < 4; k++) y[k] = d[k] * i;
    a = icfi_det(y);
    b = x[0] * y[0] - icfi_dot3(x + 1, y + 1);
    c = icfi_det(x);
    root = b * b - a * c;
    if (!(root >= 0)) return most;
    den = ICF_SQRT(root) - b;
    return den > 0 ? icfi_min(most, c / den) : most;
}

/* z = x o y, in the algebra of the cone: (x.y, x0 yr + y0 xr) */
ICFI_HOT void icfi_cone_multiply(const icf_real x[4], const icf_real y[4], icf_real z[4])
{
    z[0] = x[0] * y[0] + icfi_dot3(x + 1, y + 1);
    z[1] = x[0] * y[1] + y[0] * x[1];
    z[2] = x[0] * y[2] + y[0] * x[2];
    z[3] = x[0] * y[3] + y[0] * x[3];
}

/* x += W^-1 y with nu o y = c, nu = W lambda */
ICFI_HOT void icfi_unit_add_corrector(const icfi_unit* t, const icf_real c[4], icf_real x[4])
{
    icf_real y[4], z[4], i = t->by_nu;
    y[0] = (c[0] - icfi_dot3(t->nu + 1, c + 1) * i) * i * t->by_det;
    y[1] = (c[1] - y[0] * t->nu[1]) * i;
    y[2] = (c[2] - y[0] * t->nu[2]) * i;
    y[3] = (c[3] - y[0] * t->nu[3]) * i;
    icfi_unit_w(t, y, z, 1);
    icfi_along(x, 1, z, x);
}

/* The target s o lambda = mu omega, to first order */
ICFI_HOT void icfi_unit_set_target(icfi_unit* t, icf_real mu)
{
    icf_real f = mu * t->omega * t->by_s;
    if (t->kind == ICFI_UNIT_NORMAL) {
        t->p[0] = f - t->lam[0];
        return;
    }
    f *= t->by_s * t->by_s_det; /* s^-1 = (s0, -sr) / det s */
    t->p[0] = -t->lam[0] + f * t->s[0];
    t->p[1] = -t->lam[1] - f * t->s[1];
    t->p[2] = -t->lam[2] - f * t->s[2];
    t->p[3] = -t->lam[3] - f * t->s[3];
}

/* Mehrotra's corrector after a predictor: the target, less the second-order terms of both equations */
ICFI_HOT void icfi_unit_correct(icfi_unit* t, icf_real mu)
{
    icf_real a[4], b[4], c[4], slope, bend;
    icfi_unit_set_target(t, mu);
    if (t->kind == ICFI_UNIT_NORMAL) {
        t->p[0] -= t->d.s[0] * t->d.lam[0] * t->by_s;
    } else {
        icfi_unit_w(t, t->d.s, a, 1);
        icfi_unit_w(t, t->d.lam, b, 0);
        icfi_cone_multiply(a, b, c);
        c[0] = -c[0];
        c[1] = -c[1];
        c[2] = -c[2];
        c[3] = -c[3];
        icfi_unit_add_corrector(t, c, t->p);
    }
    if (t->law && icfi_unit_law(t, t->u + t->d.u, &slope, &bend)) {
        t->ru = slope - t->lam[0] - t->bend * t->d.u;
    }
}

/* Back to the first-order target */
ICFI_HOT void icfi_unit_uncorrect(icfi_unit* t, icf_real mu)
{
    icf_real slope, bend;
    icfi_unit_set_target(t, mu);
    if (t->law && icfi_unit_law(t, t->u, &slope, &bend)) t->ru = slope - t->lam[0];
}

/* The distance of an eigenvalue of s o lambda from [0.1, 10], limited to 10 from above; in units of the
   target */
ICFI_HOT icf_real icfi_outside(icf_real x)
{
    return icfi_max(icfi_min(icfi_max(x, ICF_R(0.1)), 10) - x, -10);
}

/* Gondzio's corrector: pulls the products s o lambda at a longer step into [0.1, 10] mu omega */
ICFI_HOT void icfi_unit_center(icfi_unit* t, icf_real alpha, icf_real mu, icf_real by_mu)
{
    icf_real a[4], b[4], x[4], c[4], r, target = mu * t->omega, by = by_mu * t->by_omega, low, high;
    int k;
    if (t->kind == ICFI_UNIT_NORMAL) {
        r = (t->s[0] + alpha * t->d.s[0]) * (t->lam[0] + alpha * t->d.lam[0]);
        t->p[0] += icfi_outside(r * by) * target * t->by_s;
        return;
    }
    icfi_along(t->s, alpha, t->d.s, a);
    icfi_along(t->lam, alpha, t->d.lam, b);
    icfi_unit_w(t, a, x, 1);
    icfi_unit_w(t, b, c, 0);
    icfi_cone_multiply(x, c, a);
    for (k = 0; k < 4; k++) a[k] *= by;
    r = icfi_norm3(a + 1);
    high = icfi_outside(a[0] + r);
    low = icfi_outside(a[0] - r);
    if (high == 0 && low == 0) return;
    c[0] = (high + low) / 2 * target;
    r = r > 0 ? (high - low) / 2 * target / r : 0;
    for (k = 1; k < 4; k++) c[k] = r * a[k];
    icfi_unit_add_corrector(t, c, t->p);
}

/* ---- the units of an island ---- */

ICFI_HOT void icfi_unit_velocity(const icfi_solve* s, const icfi_unit* t, int change,
                                 icf_real in[3])
{
    const icfi_contact_state* c = s->contact + t->of;
    const icf_real* from = change ? c->dv : c->v;
    if (t->role == ICFI_ROLE_CONTACT) {
        in[0] = from[0];
        in[1] = from[1];
        in[2] = from[2];
        return;
    }
    in[0] = in[1] = in[2] = 0;
    if (t->role == ICFI_ROLE_ROW) {
        const icfi_row_state* r = s->row + t->of;
        icf_real u = change ? r->du : r->u;
        if (t->kind == ICFI_UNIT_NORMAL) {
            in[2] = r->term.sign * u;
        } else {
            in[0] = u;
        }
        return;
    }
    from = change ? c->spin_dv : c->spin;
    if (t->role == ICFI_ROLE_TORSION) {
        in[0] = from[2];
    } else {
        ICFI_MEMCPY(in, from, 3 * sizeof *in);
    }
}

/* Writes the impulse B' x, x = lambda + d0, to the unit's contact or row. Each number of that impulse comes
   from one unit. */
ICFI_HOT void icfi_unit_set_impulse(icfi_solve* s, const icfi_unit* t)
{
    icfi_contact_state* c = s->contact + t->of;
    icf_real x0 = t->lam[0] + t->d0[0], x1, x2;
    if (t->kind == ICFI_UNIT_NORMAL) {
        if (t->role == ICFI_ROLE_ROW) {
            s->row[t->of].price[1] = s->row[t->of].term.sign * x0;
        } else {
            c->price.impulse[2] = t->b0 * x0 - t->pull;
        }
        return;
    }
    x1 = t->lam[1] + t->d0[1];
    x2 = t->lam[2] + t->d0[2];
    if (t->role == ICFI_ROLE_ROW) {
        s->row[t->of].price[1] = t->b1 * x1;
    } else if (t->role == ICFI_ROLE_TORSION) {
        c->spin_impulse[2] = t->b1 * x1;
    } else if (t->role == ICFI_ROLE_ROLLING) {
        c->spin_impulse[0] = t->b1 * x1;
        c->spin_impulse[1] = t->b2 * x2;
    } else {
        if (t->kind != ICFI_UNIT_FRICTION) c->price.impulse[2] = t->b0 * x0 - t->pull;
        c->price.impulse[0] = t->b1 * x1;
        c->price.impulse[1] = t->b2 * x2;
    }
}

/* Writes the Hessian B' Theta B. */
ICFI_HOT void icfi_unit_set_hessian(icfi_solve* s, const icfi_unit* t)
{
    icfi_contact_state* c = s->contact + t->of;
    icf_real f, x, y, h11, h12, h22, *h = c->price.h;
    if (t->kind == ICFI_UNIT_NORMAL) {
        if (t->role == ICFI_ROLE_ROW) {
            s->row[t->of].price[2] = t->th00;
        } else {
            h[5] = t->b0 * t->b0 * t->th00;
        }
        return;
    }
    f = t->along - t->side;
    x = t->axis[0];
    y = t->axis[1];
    h11 = t->b1 * t->b1 * (t->side + f * x * x);
    h12 = t->b1 * t->b2 * f * x * y;
    h22 = t->b2 * t->b2 * (t->side + f * y * y);
    if (t->role == ICFI_ROLE_ROW) {
        s->row[t->of].price[2] = h11;
    } else if (t->role == ICFI_ROLE_TORSION) {
        c->spin_h[3] = h11;
    } else if (t->role == ICFI_ROLE_ROLLING) {
        c->spin_h[0] = h11;
        c->spin_h[1] = h12;
        c->spin_h[2] = h22;
    } else {
        if (t->kind != ICFI_UNIT_FRICTION) h[5] = t->b0 * t->b0 * t->th00;
        h[0] = h11;
        h[1] = h12;
        h[2] = t->b1 * t->b0 * t->th0 * x;
        h[3] = h22;
        h[4] = t->b2 * t->b0 * t->th0 * y;
    }
}

/* Impulses and Hessians of the potentials without units, linear or constant */
static void icfi_linear_prices(icfi_solve* s, const icfi_island* island)
{
    int32_t k, j;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            icfi_contact_state* c = s->contact + s->contact_list[j];
            ICFI_MEMSET(&c->price, 0, sizeof c->price);
            if (c->term.normal.facts & ICFI_CONSTANT) c->price.impulse[2] = c->term.normal.push;
            c->price.impulse[2] -= c->term.adhesion;
            if (!c->spins) continue;
            ICFI_MEMSET(c->spin_impulse, 0, sizeof c->spin_impulse);
            ICFI_MEMSET(c->spin_h, 0, sizeof c->spin_h);
        }
        for (j = s->row_start[link]; j < s->row_start[link + 1]; j++) {
            icfi_row_state* r = s->row + s->row_list[j];
            r->price[1] = r->price[2] = 0;
            if (icfi_row_is_linear(&r->term)) icfi_row_price(&r->term, r->u, r->price);
        }
    }
}

/* u with ell'(u) = n > 0: the start of a unit with a normal law */
static icf_real icfi_unit_inverse(const icfi_unit* t, icf_real n, icf_real scale)
{
    const icf_normal* law = t->law;
    icf_real low, high, slope, bend, p, q;
    int i;
    if (law->facts & ICFI_QUADRATIC && law->scale > 0) {
        p = law->bhat + law->d * (law->push / law->scale);
        q = n / law->scale;
        return 2 * q / (p + ICF_SQRT(p * p + 4 * law->d * q));
    }
    low = -scale;
    high = scale;
    for (i = 0; i < 100 && icfi_unit_law(t, high, &slope, &bend) && slope < n; i++) high *= 4;
    for (i = 0; i < 100 && !(icfi_unit_law(t, low, &slope, &bend) && slope < n); i++) low *= 4;
    for (i = 0; i < 60; i++) {
        icf_real middle = low + (high - low) / 2;
        if (icfi_unit_law(t, middle, &slope, &bend) && slope < n) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Starts a unit at s = (eps + reach, 0, 0, eps) and lambda = m s^-1, so that s o lambda = m. The last number
   of s must be eps. If eps is 0, both lie along the axis of the cone. A large eps, as in regularised friction
   under a hard contact, would otherwise be the largest of all residuals. */
static void icfi_unit_start(icfi_unit* t, icf_real m0, icf_real guess)
{
    icf_real lam = ICF_SQRT(m0 / t->w), reach = ICF_SQRT(m0 * t->w), det;
    ICFI_MEMSET(t->s, 0, sizeof t->s);
    ICFI_MEMSET(t->lam, 0, sizeof t->lam);
    if (t->kind == ICFI_UNIT_FRICTION || t->kind == ICFI_UNIT_MOTOR) {
        lam = t->c;
        reach = icfi_max(m0 / lam, reach);
    } else if (guess > 0) {
        lam = icfi_min(icfi_max(guess, lam / 100), lam * 100);
        reach = m0 / lam;
    }
    reach = icfi_max(reach, t->eps / 1000); /* otherwise rounding would put s onto its cone */
    t->s[0] = t->eps + reach;
    t->s[3] = t->eps;
    det = reach * (reach + 2 * t->eps); /* of s */
    t->lam[0] = lam;
    t->lam[3] = -lam * (t->eps / t->s[0]);
    t->omega = lam * (det / t->s[0]) / m0;
    t->by_omega = 1 / t->omega;
    t->u = t->kind == ICFI_UNIT_FRICTION || t->kind == ICFI_UNIT_MOTOR ? t->s[0] : 0;
    if (t->law) {
        icf_real slope = 0, bend = 0;
        t->least = 0;
        t->u = icfi_unit_inverse(t, lam, reach);
        /* without a corner the curvature may be 0: use a small part of the curvature here */
        (void)icfi_unit_law(t, t->u, &slope, &bend);
        t->least = bend * ICF_R(1e-12);
        if (t->corner == 0 && t->ends) t->corner = t->least;
    }
}

/* s0 of a unit of friction with s o lambda = m, lambda_0 = c and sr - w lambda_r = z. pull: w c; least: m /
   c; square: |z|^2. It is the root of f = s0 (1 - square / (s0 + pull)^2) - least that has lambda in its
   cone, by Newton's method inside its bracket. */
static icf_real icfi_friction_center(icf_real square, icf_real pull, icf_real least)
{
    icf_real z = ICF_SQRT(square), low = icfi_max(0, z - pull), high = z + least, x = high;
    int i;
    for (i = 0; i < 60; i++) {
        icf_real y = 1 / (x + pull), q = square * y * y;
        icf_real f = x * (1 - q) - least, slope = 1 - q + 2 * x * q * y, next = x - f / slope;
        if (f > 0) {
            high = x;
        } else {
            low = x;
        }
        if (ICF_FABS(f) <= ICF_R(1e-3) * least) break; /* near enough to the central path */
        if (!(next > low && next < high)) next = low + (high - low) / 2;
        if (!(next > low && next < high)) return high;
        x = next;
    }
    return x;
}

/* Starts a unit near the velocity `in` and the impulse `guess`, both along 1, 2, n. Of all s and lambda with
   s o lambda = m it takes the pair with the same s - w lambda. Where the contact sticks or presses, lambda is
   nearly the guess; where it slips or is open, s follows the velocity. */
static void icfi_unit_warm(icfi_unit* t, const icf_real in[3], const icf_real guess[3], icf_real m)
{
    const icf_real guard = 1 + 4 * ICFI_EPSILON;
    icf_real z[4], lam[4], r, q = 0, pull = t->w * t->c, slope = 0, bend = 0;
    int k;
    lam[0] = t->c;
    lam[1] = t->b1 > 0 ? guess[0] / t->b1 : 0;
    lam[2] = t->b2 > 0 ? guess[1] / t->b2 : 0;
    if (t->kind != ICFI_UNIT_FRICTION) lam[0] = icfi_max(guess[2], 0);
    r = lam[0] * lam[0] - lam[1] * lam[1] - lam[2] * lam[2];
    lam[3] = t->eps > 0 ? -ICF_SQRT(icfi_max(r, 0)) : 0;
    z[0] = t->b0 * in[2] + t->h0 + t->r0 * lam[0] - t->w * lam[0];
    if (t->law && lam[0] > 0) z[0] += icfi_unit_inverse(t, lam[0], ICF_FABS(z[0]) + t->w * lam[0]);
    z[1] = t->b1 * in[0] + t->h1 + (t->r1 - t->w) * lam[1];
    z[2] = t->b2 * in[1] + (t->r1 - t->w) * lam[2];
    z[3] = t->eps - t->w * lam[3];
    for (k = 1; k < 4; k++) q += z[k] * z[k];
    if (t->kind == ICFI_UNIT_FRICTION) {
        icf_real s0 = icfi_friction_center(q, pull, m / t->c), share = s0 / (s0 + pull);
        t->s[0] = t->u = s0;
        for (k = 1; k < 4; k++) {
            t->s[k] = share * z[k];
            t->lam[k] = -t->c / s0 * t->s[k];
        }
    } else {
        icf_real high, low, f = 4 * t->w * m;
        r = ICF_SQRT(q);
        high = z[0] + r;
        low = z[0] - r;
        /* the root of x (x - z) = w m. For z < 0 the sum would cancel */
        high = high > 0 ? (high + ICF_SQRT(high * high + f)) / 2
                        : f / (2 * (ICF_SQRT(high * high + f) - high));
        low = low > 0 ? (low + ICF_SQRT(low * low + f)) / 2
                      : f / (2 * (ICF_SQRT(low * low + f) - low));
        t->s[0] = (high + low) / 2;
        t->lam[0] = (m / high + m / low) / 2;
        for (k = 1; k < 4; k++) {
            icf_real axis = r > 0 ? z[k] / r : 0;
            t->s[k] = (high - low) / 2 * axis;
            t->lam[k] = (m / high - m / low) / 2 * axis;
        }
        t->lam[0] = icfi_max(t->lam[0], icfi_norm3(t->lam + 1) * guard);
        if (t->law) {
            t->u = icfi_unit_inverse(t, t->lam[0], t->s[0]);
            (void)icfi_unit_law(t, t->u, &slope, &bend);
            t->least = bend * ICF_R(1e-12);
        }
    }
    /* rounding must not put s onto its cone */
    t->s[0] = icfi_max(t->s[0], icfi_norm3(t->s + 1) * guard);
    t->omega = t->by_omega = 1;
}

/* Adds the units of a contact, of its torsion or rolling, or of a row. w: its inverse effective mass; m0: the
   product of s and lambda at the start */
static void icfi_add_units(icfi_solve* s, icfi_unit_role role, int32_t of, icf_real w,
                           const icfi_cone* cone, int count, icf_real m0, icf_real guess)
{
    for (; count-- > 0 && w > 0; cone++) {
        icfi_unit* t = s->unit + s->units++;
        const icf_normal* law = cone->law;
        ICFI_MEMSET(t, 0, sizeof *t);
        t->kind = (int32_t)cone->kind;
        t->role = (int32_t)role;
        t->of = of;
        t->w = w;
        t->c = cone->limit;
        t->b0 = cone->kind == ICFI_UNIT_FRICTION || cone->kind == ICFI_UNIT_MOTOR ? 0 : 1;
        t->b1 = cone->b1;
        t->b2 = cone->b2;
        t->eps = cone->eps;
        t->h0 = cone->h0;
        t->h1 = cone->h1;
        t->r0 = cone->r0;
        t->r1 = cone->r1;
        if (role == ICFI_ROLE_CONTACT) t->pull = s->contact[of].term.adhesion;
        if (law) {
            t->law = law;
            t->from = law->facts & ICFI_RANGE ? (law->range - law->distance) / law->dt : law->vhat;
            t->ends = (law->facts & (ICFI_KINK | ICFI_RANGE)) != 0;
            if (law->facts & ICFI_QUADRATIC)
                t->corner = law->scale * law->bhat + law->d * law->push;
            if (law->facts & ICFI_WALL) t->barrier = t->from + law->distance / law->dt;
            t->h0 = cone->h0 - t->from;
        }
        icfi_unit_start(t, m0, guess);
    }
}

static void icfi_contact_units(icfi_solve* s, int32_t of, icf_real m0, int warm)
{
    icfi_contact_state* c = s->contact + of;
    icf_real guess = warm ? c->price.impulse[2] + c->term.adhesion : 0;
    icfi_cone cone[2];
    int count = icfi_contact_cones(&c->term, cone);
    icfi_add_units(s, ICFI_ROLE_CONTACT, of, c->w, cone, count, m0, guess);
    if (!c->spins) return;
    count = icfi_cone_make(ICFI_UNIT_FRICTION, NULL, c->rolling, 1, 1, c->eps[0], cone);
    icfi_add_units(s, ICFI_ROLE_ROLLING, of, c->spin_w, cone, count, m0, 0);
    count = icfi_cone_make(ICFI_UNIT_FRICTION, NULL, c->torsion, 1, 0, c->eps[1], cone);
    icfi_add_units(s, ICFI_ROLE_TORSION, of, c->spin_w, cone, count, m0, 0);
}

static void icfi_row_units(icfi_solve* s, int32_t of, icf_real m0, int warm)
{
    icfi_row_state* r = s->row + of;
    icf_real guess = warm ? r->term.sign * r->price[1] : 0;
    icfi_cone cone;
    const int count = icfi_row_cone(&r->term, &cone);
    icfi_add_units(s, ICFI_ROLE_ROW, of, r->w, &cone, count, m0, guess);
}

/* Makes all units of an island, at the start. m0: the product of s and lambda at the start */
static void icfi_make_units(icfi_solve* s, const icfi_island* island, icf_real m0, int warm)
{
    int32_t k, j;
    s->units = 0;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            icfi_contact_units(s, s->contact_list[j], m0, warm);
        }
        for (j = s->row_start[link]; j < s->row_start[link + 1]; j++) {
            icfi_row_units(s, s->row_list[j], m0, warm);
        }
    }
}

/* Starts the units of contacts from s->v and the impulses to expect. */
static void icfi_warm_units(icfi_solve* s, icf_real m)
{
    int32_t i;
    for (i = 0; i < s->units; i++) {
        icfi_unit* t = s->unit + i;
        icf_real in[3];
        if (t->role != ICFI_ROLE_CONTACT) continue;
        icfi_unit_velocity(s, t, 0, in);
        icfi_unit_warm(t, in, s->contact[t->of].guess, m);
    }
}

static icf_real icfi_heaviest_unit(const icfi_solve* s)
{
    icf_real omega = 0;
    int32_t i;
    for (i = 0; i < s->units; i++) omega = icfi_max(omega, s->unit[i].omega);
    return omega;
}

/* ---- an iteration ---- */

/* The next targets of units */
typedef enum icfi_aim {
    ICFI_AIM_PREDICT,   /* 0, as icfi_interior_factor leaves them */
    ICFI_AIM_CORRECT,   /* Mehrotra's */
    ICFI_AIM_UNCORRECT, /* without the second order */
    ICFI_AIM_CENTER     /* Gondzio's, added to the targets before */
} icfi_aim;

/* The longest step up to `most` that keeps a unit in its cones, and u below its barrier */
ICFI_HOT icf_real icfi_unit_reach(const icfi_unit* t, icf_real most)
{
    if (t->kind == ICFI_UNIT_NORMAL) {
        if (t->s[0] + most * t->d.s[0] < 0) most = -t->s[0] / t->d.s[0];
        if (t->lam[0] + most * t->d.lam[0] < 0) most = -t->lam[0] / t->d.lam[0];
    } else {
        most = icfi_cone_step(t->s, t->d.s, most);
        most = icfi_cone_step(t->lam, t->d.lam, most);
    }
    if (t->barrier > 0 && t->d.u > 0) most = icfi_min(most, (t->barrier - t->u) / t->d.u);
    return most;
}

/* s.lambda / omega */
ICFI_HOT icf_real icfi_unit_product(const icfi_unit* t)
{
    icf_real x = t->s[0] * t->lam[0];
    if (t->kind != ICFI_UNIT_NORMAL) x += icfi_dot3(t->s + 1, t->lam + 1);
    return x * t->by_omega;
}

/* The mean of s.lambda / omega over the units */
static icf_real icfi_interior_mean(const icfi_solve* s)
{
    icf_real sum = 0;
    int32_t i;
    for (i = 0; i < s->units; i++) sum += icfi_unit_product(s->unit + i);
    return sum / (icf_real)s->units;
}

#endif

#endif

#if defined(ICFI_LAYER) && ICFI_LAYER == 17 /* included by itself: passes over all units */

/* Residuals, scaling, Hessians and impulses of all units at s->v, for the target 0. Answers 0 if some law has
   no value. */
ICFI_TARGET static int ICFI_K(icfi_scale_units)(icfi_solve* s)
{
    int32_t i;
    for (i = 0; i < s->units; i++) {
        icfi_unit* t = s->unit + i;
        icf_real in[3], slope = t->c;
        icfi_unit_velocity(s, t, 0, in);
        t->rp[0] = t->b0 * in[2] + t->h0 + t->u + t->r0 * t->lam[0] - t->s[0];
        t->rp[1] = t->b1 * in[0] + t->h1 + t->r1 * t->lam[1] - t->s[1];
        t->rp[2] = t->b2 * in[1] + t->r1 * t->lam[2] - t->s[2];
        t->rp[3] = t->eps - t->s[3];
        t->bend = 0;
        if (t->law && !icfi_unit_law(t, t->u, &slope, &t->bend)) return 0;
        t->ru = t->kind == ICFI_UNIT_SAP ? 0 : slope - t->lam[0];
        icfi_unit_scale(t);
        icfi_unit_set_hessian(s, t);
        icfi_unit_set_target(t, 0);
        icfi_unit_target(t);
        icfi_unit_set_impulse(s, t);
    }
    return 1;
}

/* The next targets of all units, and their impulses */
ICFI_TARGET static void ICFI_K(icfi_aim_units)(icfi_solve* s, icfi_aim aim, icf_real mu,
                                               icf_real longer)
{
    icf_real by_mu = aim == ICFI_AIM_CENTER ? 1 / mu : 0;
    int32_t i;
    for (i = 0; i < s->units; i++) {
        icfi_unit* t = s->unit + i;
        switch (aim) {
        case ICFI_AIM_CORRECT: icfi_unit_correct(t, mu); break;
        case ICFI_AIM_UNCORRECT: icfi_unit_uncorrect(t, mu); break;
        default:
            if (t->kind == ICFI_UNIT_NORMAL) {
                t->kept.s[0] = t->d.s[0];
                t->kept.lam[0] = t->d.lam[0];
                t->kept.u = t->d.u;
            } else {
                t->kept = t->d;
            }
            icfi_unit_center(t, longer, mu, by_mu);
            break;
        }
        icfi_unit_target(t);
        icfi_unit_set_impulse(s, t);
    }
}

/* The directions of all units. Answers the longest step that all units allow, up to `reach`. */
ICFI_TARGET static icf_real ICFI_K(icfi_direct_units)(icfi_solve* s, icf_real reach)
{
    int32_t i;
    for (i = 0; i < s->units; i++) {
        icfi_unit* t = s->unit + i;
        icf_real in[3];
        icfi_unit_velocity(s, t, 1, in);
        icfi_unit_direction(t, in);
        reach = icfi_unit_reach(t, reach);
    }
    return reach;
}

/* The mean after a step alpha */
ICFI_TARGET static icf_real ICFI_K(icfi_mean_after)(const icfi_solve* s, icf_real alpha)
{
    icf_real sum = 0;
    int32_t i, k;
    for (i = 0; i < s->units; i++) {
        const icfi_unit* t = s->unit + i;
        icf_real x = (t->s[0] + alpha * t->d.s[0]) * (t->lam[0] + alpha * t->d.lam[0]);
        for (k = 1; k < 4 && t->kind != ICFI_UNIT_NORMAL; k++) {
            x += (t->s[k] + alpha * t->d.s[k]) * (t->lam[k] + alpha * t->d.lam[k]);
        }
        sum += x * t->by_omega;
    }
    return sum / (icf_real)s->units;
}

/* Moves all units by `most` of their direction. A unit that would leave its cones goes nearly up to their
   edge, but no less than `least`, which all units can go. Answers the mean there. */
ICFI_TARGET static icf_real ICFI_K(icfi_move_units)(icfi_solve* s, icf_real least, icf_real most)
{
    const icf_real guard = 1 + 4 * ICFI_EPSILON;
    icf_real sum = 0, size;
    int32_t i, k;
    for (i = 0; i < s->units; i++) {
        icfi_unit* t = s->unit + i;
        icf_real alpha = icfi_max(least, icfi_inside * icfi_unit_reach(t, most / icfi_inside));
        t->u += alpha * t->d.u;
        t->s[0] += alpha * t->d.s[0];
        t->lam[0] += alpha * t->d.lam[0];
        if (t->kind == ICFI_UNIT_NORMAL) {
            t->s[0] = icfi_max(t->s[0], 0);
            t->lam[0] = icfi_max(t->lam[0], 0);
        } else {
            for (k = 1; k < 4; k++) {
                t->s[k] += alpha * t->d.s[k];
                t->lam[k] += alpha * t->d.lam[k];
            }
            t->s[0] = icfi_max(t->s[0], icfi_norm3(t->s + 1) * guard);
            size = icfi_norm3(t->lam + 1) * guard;
            if (size > t->lam[0]) {
                if (t->kind == ICFI_UNIT_FRICTION || t->kind == ICFI_UNIT_MOTOR) {
                    /* lambda_0 is the limit, and must stay */
                    for (k = 1; k < 4; k++) t->lam[k] *= t->lam[0] / size;
                } else {
                    t->lam[0] = size;
                }
            }
        }
        sum += icfi_unit_product(t);
    }
    return sum / (icf_real)s->units;
}

#endif

#ifndef ICFI_LAYER

#ifndef ICF_NO_INTERIOR_POINT

#define ICFI_LAYER 17
#define ICFI_WIDE 0
#include "icf.h"
#undef ICFI_WIDE
#ifdef ICFI_SIMD_AVX2
#define ICFI_WIDE 1
#include "icf.h"
#undef ICFI_WIDE
#endif
#undef ICFI_LAYER

/* Residuals, scaling and Hessians of all units at s->v; assembles and factors. */
static int icfi_interior_factor(icfi_solve* s, icfi_island* island)
{
    int good;
    icfi_linear_prices(s, island);
    good = ICFI_WIDEST(icfi_scale_units, (s));
    ICFI_WIDEST_END();
    return good && icfi_factor(s, island);
}

/* The direction for the next targets of all units, in s->dv and the units. longer: the step that CENTER aims
   at. Answers the longest step that every unit allows, or -1 if there is no finite direction. The answer is
   limited to a little more than 1: nothing depends on longer steps. */
static icf_real icfi_interior_direction(icfi_solve* s, icfi_island* island, icfi_aim aim,
                                        icf_real mu, icf_real longer)
{
    icf_real reach;
    if (aim != ICFI_AIM_PREDICT) {
        ICFI_WIDEST(icfi_aim_units, (s, aim, mu, longer));
        ICFI_WIDEST_END();
    }
    icfi_gather_impulses(s, island);
    if (!icfi_solve_for(s, island)) return -1;
    ICFI_WIDEST(icfi_read_directions, (s, island));
    reach = ICFI_WIDEST(icfi_direct_units, (s, ICF_R(1.02)));
    ICFI_WIDEST_END();
    return reach;
}

/* One iteration of the units from s->v; s->v does not change. Answers 0 if there is no way on. */
static int icfi_interior_iterate(icfi_solve* s, icfi_island* island, icfi_path* path)
{
    icf_real alpha, mean = path->mean, after, sigma, mu, longer, reach;
    int32_t i, tries;
    if (!icfi_interior_factor(s, island)) return 0;
    ICFI_PROFILE('I')
    alpha = icfi_min(1, icfi_interior_direction(s, island, ICFI_AIM_PREDICT, 0, 0));
    if (alpha < 0) return 0;
    after = ICFI_WIDEST(icfi_mean_after, (s, alpha)) / mean;
    ICFI_WIDEST_END();
    sigma = icfi_min(icfi_max(after * after * after / 3, icfi_least_target), 1);
    mu = sigma * mean;
    reach = icfi_interior_direction(s, island, ICFI_AIM_CORRECT, mu, 0);
    if (reach < alpha / 2) {
        /* the second order misleads: it was taken too far away, or rounding is too near */
        reach = icfi_interior_direction(s, island, ICFI_AIM_UNCORRECT, mu, 0);
    }
    if (reach < 0) return 0;
    for (tries = 0; tries < (s->guesses ? ICFI_CORRECTORS_ROW : ICFI_CORRECTORS) &&
                    reach < (s->guesses ? icfi_good_reach : 1);
         tries++) {
        /* a corrector may pull aside the units that block a longer step */
        longer = icfi_min(1, icfi_max(icfi_longer * reach, reach + icfi_longer_by));
        icfi_copy_motion(island, s->dv, s->spare);
        alpha = icfi_interior_direction(s, island, ICFI_AIM_CENTER, mu, longer);
        if (alpha > reach) {
            reach = alpha;
            continue;
        }
        for (i = 0; i < s->units; i++) s->unit[i].d = s->unit[i].kept;
        icfi_copy_motion(island, s->spare, s->dv);
        break;
    }
    /* From impulses to expect, the few units that block a longer step stay behind, and their residuals tell
       the next iteration by how much. Far from the answer they would never catch up, so there all units stop
       together. */
    alpha = icfi_min(1, icfi_inside * reach);
    path->common = alpha;
    path->alpha = icfi_min(1, (path->expected ? icfi_unit_ahead : 1) * alpha);
    path->mean = ICFI_WIDEST(icfi_move_units, (s, alpha, path->alpha));
    ICFI_WIDEST_END();
    return 1;
}
#endif /* ICF_NO_INTERIOR_POINT */

// ------------------------------------------------------------------------------------------------
// Layer 7, continued: the solve
// >>solve
/* Offers to those below: icfi_check_asked, icfi_check_blocks, icfi_open, icfi_open_island,
   icfi_reals_before */

/* An island is solved in phases. Newton's method is fast near the answer, the interior point method far from
   it. A phase ends when its work is done, and names the next phase:

     phase     method, start and end                                               next
     --------  ------------------------------------------------------------------  --------------------------
     START     Newton's method, from the start, while it is fast                    UNITS
     UNITS     makes the units of the interior point method, at the start           INTERIOR; if none: NEWTON
     INTERIOR  the interior point method, from there, until the error is small      POLISH; if stuck: NEWTON
     POLISH    Newton's method, from there, while the error falls                   INTERIOR, for a tenth of
                                                                                    the error; if that would
                                                                                    be rounding: NEWTON
     NEWTON    Newton's method, from the best velocity so far, without limit        UNITS, but from far above,
                                                                                    when it takes too long
     AROUND    if another phase is stuck far from the answer: Newton's method       AROUND from half way to
               from half way between the best velocity and v*, or rest              rest; END

   START     One iteration, or more if the gradient says that the start is near; then on while the error
             falls. None if the caller gave impulses to expect and the start is not near even so. A body
             by itself has ten, without duals.
   UNITS     Each unit begins with s o lambda at the mean of the costs of the contacts on their own; at more
             if friction outweighs that, or if the start is far from the balance of momentum.
   INTERIOR  The error has to be smaller in an island of many cliques.
   POLISH    If impulses to expect were given, the error may rise a little.
   NEWTON    Takes too long on the curved wall of a stiff and deep contact of Similar. UNITS begins again at
             once if INTERIOR hardly got away from impulses to expect.

   START and NEWTON also go to UNITS if they find no step and rounding does not explain the error; once even
   if it does, for an error that is large: a steep wall magnifies the rounding of velocities beyond any error.
   Any phase ends the solve when it meets the tolerance, only rounding is left, or a budget is spent.
   Newton's method never raises the cost. The solve keeps a velocity from INTERIOR or AROUND only if it
   lowers the cost. It returns the velocity that it kept last, in s->best. The thresholds follow. */

/* ---- thresholds ----

   As in >>evaluation. "In a row" means with impulses to expect. */

// clang-format off
/* with a larger error FLOOR becomes SHORT: icf_stop */
#ifdef ICF_FLOAT
static const icf_real icfi_short_error = ICF_R(0.1);
#else
static const icf_real icfi_short_error = ICF_R(1e-3);
#endif
static const icf_real icfi_large_error = ICF_R(1e-3); /* with a larger error FLOOR is tried once by UNITS */
static const icf_real icfi_near_gradient = 200;       /* square of the gradient over the cost of contacts:
                                                         below it a start is near */
static const icf_real icfi_error_falls = ICF_R(0.9);  /* an error falls if at most this part of it is left */
static const icf_real icfi_polish_row = ICF_R(1.5);   /* in a row, the error may rise by this factor in
                                                         POLISH */
static const icf_real icfi_polished = ICF_R(1e-6);    /* below this error POLISH goes on */
enum {
    ICFI_ATTEMPTS = 4,                                /* of UNITS: where one start fails, another seldom
                                                         succeeds */
    ICFI_DETOURS = 2,                                 /* of AROUND: to v*, to rest */
    ICFI_PATIENCE = 1,                                /* iterations of START before its error has to fall */
    ICFI_PATIENCE_NEAR = 6,                           /* where the start is near */
    ICFI_PATIENCE_ALONE = 10,                         /* for a body by itself, of ICFI_ALONE unknowns at
                                                         most: few corners to turn, and an interior point
                                                         iteration costs it more than three of Newton's */
    ICFI_ALONE = 6,
    ICFI_TIME = 12,                                   /* iterations, factorizations left: with fewer,
                                                         INTERIOR ends no better than its start */
    ICFI_POLISH = 30,                                 /* iterations of POLISH at most */
    ICFI_RESPITE = 30,                                /* iterations of NEWTON until UNITS begins again: a
                                                         curved potential takes more */
    ICFI_RESPITE_ASTRAY = 1                           /* the same, if impulses to expect led INTERIOR away */
};

#ifndef ICF_NO_INTERIOR_POINT
static const icf_real icfi_handover = ICF_R(1e-2);
static const icf_real icfi_handover_row = ICF_R(3e-3); /* in a row, Newton's method ends the solve from here
                                                          and seldom calls INTERIOR back */
static const icf_real icfi_last_handover = 1000;      /* epsilons: a lower handover is rounding, and left to
                                                         Newton's method */
static const icf_real icfi_start_least = ICF_R(0.5);  /* from impulses to expect, units begin at least at
                                                         this times the mean cost */
static const icf_real icfi_start_balance = 40;        /* and at more, the farther these are from the balance
                                                         of momentum: measured on piles */
static const icf_real icfi_heavy = ICF_R(1e5);        /* if friction outweighs contacts by more than this,
                                                         all units begin higher: measured */
static const icf_real icfi_heavy_part = 5;            /* by a fifth of that ratio: measured */
static const icf_real icfi_balanced = ICF_R(1e-6);    /* imbalance of momentum that counts as none */
static const icf_real icfi_astray = ICF_R(0.1);       /* imbalance after ICFI_ASTRAY steps at which INTERIOR
                                                         gives up */
static const icf_real icfi_slow_step = ICF_R(0.1);    /* a shorter step is slow */
static const icf_real icfi_slow_mean = 2;             /* so is a step that does not divide the mean by
                                                         this */
static const icf_real icfi_whole_step = ICF_R(0.9);   /* after a longer step than this the whole step is
                                                         tried: near the end it saves an iteration */
enum {
    ICFI_MANY = 100,                                  /* with more cliques the error has to be smaller in
                                                         proportion: from here on that pays */
    ICFI_INTERIOR = 60,                               /* iterations at most: 10 to 16 are the rule */
    ICFI_SLOW = 3,                                    /* slow steps in a row, then NEWTON */
    ICFI_ASTRAY = 8                                   /* steps: a balance is found after four, or not for a
                                                         long time */
};
#endif
// clang-format on

typedef enum icfi_phase {
    ICFI_PHASE_START,
    ICFI_PHASE_UNITS,
    ICFI_PHASE_INTERIOR,
    ICFI_PHASE_POLISH,
    ICFI_PHASE_NEWTON,
    ICFI_PHASE_AROUND,
    ICFI_PHASE_END
} icfi_phase;

/* The state that one phase hands to the next */
typedef struct icfi_course {
    icfi_phase phase;
    icfi_progress newton; /* of START and NEWTON: one run with a break */
    icfi_path interior;
    icf_real start_cost; /* at s->start */
    icf_real own;      /* cost of potentials on their own; unknown so far if the start is settled */
    icf_real last;     /* the error before the last step of Newton's method */
    icf_real handover; /* the error at which INTERIOR ends */
    int settled;       /* the last step ended at the start, as at rest */
    int near;          /* the gradient says that the start is near the answer */
    int32_t patience;  /* iterations of START before its error has to fall */
    int32_t attempts;  /* how often UNITS began */
    int32_t respite;   /* iterations of NEWTON before UNITS begins again ... */
    int32_t again;     /* ... at this iteration of the solve */
    int32_t detours;   /* how often AROUND began */
} icfi_course;

/* ---- the best velocity ---- */

/* Whether s->v costs less than the best velocity. If rounding hides the difference: whether its error is no
   larger. */
static int icfi_is_better(const icfi_island* island)
{
    icf_real noise = icfi_cost_noise(island->best.cost), rise = island->cost - island->best.cost;
    return rise < -noise || (rise <= noise && island->error <= island->best.momentum_error);
}

/* Keeps s->v as the best velocity so far. */
static void icfi_keep(icfi_solve* s, icfi_island* island)
{
    island->at_best = 1;
    icfi_copy_motion(island, s->v, s->best);
    island->best.cost = island->cost;
    island->best.gradient = island->gradient;
    island->best.momentum_error = island->error;
}

/* Goes to the best velocity so far, unless s->v was evaluated there last. */
static void icfi_go_to_best(icfi_solve* s, icfi_island* island)
{
    if (!island->at_best) icfi_evaluate_at(s, island, s->best);
    island->at_best = 1;
}

/* Whether Newton's method got stuck above the limit of precision. A body that two large impulses hold fast
   has a momentum as small as their rounding; there no error is too large. */
static int icfi_is_short(icfi_solve* s, icfi_island* island)
{
    if (!island->convex || island->stop != ICF_STOP_FLOOR ||
        island->best.momentum_error <= icfi_short_error)
        return 0;
    icfi_go_to_best(s, island);
    return !(island->gradient <= icfi_rounding(s, island, 0));
}

/* The next phase, if a phase has a reason to end the solve of an island */
static icfi_phase icfi_finish(icfi_solve* s, icfi_island* island, const icfi_course* c,
                              icf_stop stop)
{
    island->stop = stop;
    if (!icfi_is_short(s, island)) return ICFI_PHASE_END;
    if (c->detours < ICFI_DETOURS && icfi_out_of_budget(s, island) == ICF_STOP_NONE)
        return ICFI_PHASE_AROUND;
    island->stop = ICF_STOP_SHORT;
    return ICFI_PHASE_END;
}

/* ---- phases of Newton's method ---- */

/* Whether the budgets let the interior point method end. Before its end it is no better than its start. */
static int icfi_has_time(const icfi_solve* s, const icfi_island* island)
{
    const icf_options* o = s->options;
    return o->iterations - island->iterations >= ICFI_TIME &&
           o->factorizations - island->factorizations >= ICFI_TIME;
}

/* Whether a phase of Newton's method gives way to the next */
static int icfi_gives_way(const icfi_solve* s, const icfi_island* island, const icfi_course* c,
                          const icfi_progress* progress)
{
    switch (c->phase) {
    case ICFI_PHASE_START:
        return island->iterations >= c->patience && !(island->error < icfi_error_falls * c->last) &&
               c->attempts < ICFI_ATTEMPTS && icfi_has_time(s, island);
    case ICFI_PHASE_NEWTON:
        return island->iterations >= c->again && c->attempts < ICFI_ATTEMPTS &&
               icfi_has_time(s, island);
    case ICFI_PHASE_POLISH:
        if (!island->at_best || progress->steps >= ICFI_POLISH) return 1;
        return !(island->error < (s->guesses ? icfi_polish_row : icfi_error_falls) * c->last ||
                 island->error < icfi_polished);
    default: return 0;
    }
}

/* Newton's method. Answers NONE if the phase gives way, else the reason for its end. */
static icf_stop icfi_newton(icfi_solve* s, icfi_island* island, icfi_course* c,
                            icfi_progress* progress)
{
    icf_stop stop = ICF_STOP_NONE;
    while (stop == ICF_STOP_NONE && !icfi_gives_way(s, island, c, progress)) {
        c->last = island->error;
        stop = icfi_newton_step(s, island, progress);
        if (stop != ICF_STOP_NONE) break;
        if (c->phase != ICFI_PHASE_AROUND || icfi_is_better(island)) {
            icfi_keep(s, island);
        }
        icfi_record(s, island);
        stop = icfi_should_end(s, island);
    }
    return stop;
}

/* START and NEWTON */
static icfi_phase icfi_descend(icfi_solve* s, icfi_island* island, icfi_course* c)
{
    icf_stop stop = icfi_newton(s, island, c, &c->newton);
    if (stop == ICF_STOP_NONE) return ICFI_PHASE_UNITS;
    if (stop == ICF_STOP_FLOOR && island->convex && c->attempts < ICFI_ATTEMPTS &&
        icfi_has_time(s, island) &&
        ((!c->attempts && island->error > icfi_large_error) || !icfi_is_rounding(s, island))) {
        c->newton.stuck = 0;
        return ICFI_PHASE_UNITS;
    }
    return icfi_finish(s, island, c, stop);
}

/* AROUND: if Newton's method stands still with a large error, it is at a wall so steep that no number lies
   between it and the next better velocity. A barrier is such a wall, or friction that outweighs all else.
   From half way between there and v*, or rest, Newton's method may find a way around. By convexity the cost
   half way is no more than the larger of both ends. A velocity from there counts if it costs less. */
static icfi_phase icfi_go_around(icfi_solve* s, icfi_island* island, icfi_course* c)
{
    icfi_progress progress = icfi_no_progress;
    icf_stop stop = ICF_STOP_FLOOR;
    int to_rest = c->detours++;
    int32_t i;
    for (i = island->begin; i < island->end; i++)
        s->v[i] = (s->best[i] + (to_rest ? 0 : s->free[i])) / 2;
    icfi_evaluate(s, island);
    if (island->feasible) stop = icfi_newton(s, island, c, &progress);
    if (stop < ICF_STOP_FLOOR && !island->at_best) stop = ICF_STOP_FLOOR;
    return icfi_finish(s, island, c, stop);
}

#ifndef ICF_NO_INTERIOR_POINT

/* ---- phases of the interior point method ---- */

/* Moves s->v by an iteration, and evaluates everything there. If the iteration took nearly all of its step,
   tries the whole step first: near the end that saves an iteration. The whole step stays if its error is
   below `enough`, or its cost below the best. s->hold is where the units are. */
static int icfi_interior_arrive(icfi_solve* s, icfi_island* island, icfi_path* path,
                                icf_real enough)
{
    icf_real alpha = path->alpha;
    int32_t i;
    path->whole = 0;
    if (alpha < 1 && alpha > icfi_whole_step) {
        icfi_copy_motion(island, s->v, s->from);
        for (i = island->begin; i < island->end; i++) {
            s->hold[i] = s->from[i] + alpha * s->dv[i];
            s->v[i] = s->from[i] + s->dv[i];
        }
        icfi_evaluate(s, island);
        path->whole =
            island->feasible && (island->error < enough || island->cost < island->best.cost);
        if (path->whole) return 1;
        icfi_copy_motion(island, s->from, s->v);
    }
    if (!icfi_advance(s, island, alpha)) return 0;
    icfi_copy_motion(island, s->v, s->hold);
    return 1;
}

/* Back to where the units are: velocities and momentum. An iteration reads nothing else. */
static void icfi_interior_return(icfi_solve* s, icfi_island* island)
{
    int32_t k;
    island->at_best = 0;
    icfi_copy_motion(island, s->hold, s->v);
    icfi_find_momentum(s, island);
    for (k = 0; k < island->links; k++) icfi_read_potentials(s, island->link[k]);
}

/* UNITS */
static icfi_phase icfi_begin_units(icfi_solve* s, icfi_island* island, icfi_course* c)
{
    /* how far above the mean cost the units begin at each attempt; the first attempt computes it */
    static const icf_real heights[ICFI_ATTEMPTS] = {0, ICF_R(1e5), ICF_R(1e3), ICF_R(1e7)};
    static const icfi_path fresh = {0, 0, 0, 0, 1, 0, 0, 0};
    icf_real height = heights[c->attempts], start, heaviest;
    int32_t count = 0, k;
    if (c->settled && !c->attempts) c->own = icfi_go_free(s, island);
    c->attempts++;
    c->respite = ICFI_RESPITE;
    c->interior = fresh;
    c->handover = s->guesses ? icfi_handover_row : icfi_handover;
    if (island->cliques > ICFI_MANY) c->handover *= (icf_real)ICFI_MANY / (icf_real)island->cliques;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        count += s->contact_start[link + 1] - s->contact_start[link];
        count += s->row_start[link + 1] - s->row_start[link];
    }
    icfi_evaluate_at(s, island, s->start);
    start = c->own / (icf_real)count;
    if (!(start > 0)) return ICFI_PHASE_NEWTON;
    c->interior.expected = s->guesses && !(height > 0);
    if (c->interior.expected) {
        start *= icfi_max(icfi_start_least,
                          ICF_SQRT(island->gradient / ICF_SQRT(c->own)) / icfi_start_balance);
    } else if (height > 0) {
        start *= height;
    }
    icfi_make_units(s, island, start, c->near);
    if (!s->units) return ICFI_PHASE_NEWTON;
    if (c->interior.expected) {
        icfi_warm_units(s, start);
    } else if (!(height > 0)) {
        /* Friction that could give far more than the contacts need, as on the hardest of bodies, begins far
           above the other units. Then these would settle which contacts are open before friction lets
           anything move. So all units begin higher. */
        heaviest = icfi_heaviest_unit(s);
        if (heaviest > icfi_heavy)
            icfi_make_units(s, island, start * (heaviest / icfi_heavy_part), c->near);
    }
    c->interior.mean = icfi_interior_mean(s);
    return ICFI_PHASE_INTERIOR;
}

/* INTERIOR */
static icfi_phase icfi_interior(icfi_solve* s, icfi_island* island, icfi_course* c)
{
    icfi_path* path = &c->interior;
    icf_stop stop = icfi_out_of_budget(s, island);
    if (stop != ICF_STOP_NONE) return icfi_finish(s, island, c, stop);
    for (;;) {
        icf_real mean = path->steps ? path->mean : ICF_REAL_MAX;
        if (path->steps++ >= ICFI_INTERIOR || !icfi_interior_iterate(s, island, path) ||
            !icfi_interior_arrive(s, island, path, c->handover)) {
            return ICFI_PHASE_NEWTON;
        }
        island->iterations++;
        if (icfi_is_better(island)) icfi_keep(s, island);
        icfi_record(s, island);
        stop = icfi_should_end(s, island);
        if (stop == ICF_STOP_FLOOR && island->at_best) return ICFI_PHASE_NEWTON;
        if (stop > ICF_STOP_FLOOR || (stop != ICF_STOP_NONE && island->at_best)) {
            return icfi_finish(s, island, c, stop);
        }
        /* the balance of momentum comes first; until then small steps do not count as slow */
        path->unbalanced *= 1 - path->common;
        path->slow = path->unbalanced < icfi_balanced &&
                             (path->alpha < icfi_slow_step || path->mean > mean / icfi_slow_mean)
                         ? path->slow + 1
                         : 0;
        if (island->error < c->handover) return ICFI_PHASE_POLISH;
        if (path->slow >= ICFI_SLOW) return ICFI_PHASE_NEWTON;
        /* from impulses to expect there is a balance after four steps, or, if they lead away, not for a long
           time */
        if (path->steps >= ICFI_ASTRAY && path->expected && path->unbalanced > icfi_astray) {
            c->respite = ICFI_RESPITE_ASTRAY;
            return ICFI_PHASE_NEWTON;
        }
        if (path->whole) icfi_interior_return(s, island);
    }
}

/* POLISH */
static icfi_phase icfi_polish(icfi_solve* s, icfi_island* island, icfi_course* c)
{
    icfi_progress progress = icfi_no_progress;
    icf_stop stop;
    c->last = ICF_REAL_MAX;
    stop = icfi_newton(s, island, c, &progress);
    if (stop != ICF_STOP_NONE) return icfi_finish(s, island, c, stop);
    c->handover /= 10;
    if (c->handover < icfi_last_handover * ICFI_EPSILON || /* rounding is next */
        (island->at_best && icfi_is_rounding(s, island))) {
        return ICFI_PHASE_NEWTON;
    }
    icfi_interior_return(s, island);
    return ICFI_PHASE_INTERIOR;
}

/* NEWTON, after the interior point method */
static icfi_phase icfi_take_over(icfi_solve* s, icfi_island* island, icfi_course* c)
{
    icf_stop stop = icfi_out_of_budget(s, island);
    c->again = island->iterations + c->respite;
    c->newton.best = ICF_REAL_MAX;
    c->newton.plain = 0;
    icfi_evaluate_at(s, island, s->best);
    return stop == ICF_STOP_NONE ? icfi_descend(s, island, c) : icfi_finish(s, island, c, stop);
}

#endif

/* ---- the solve of an island ---- */

/* Starts from v* + A^-1 J' guess if that costs less than s->v. A^-1 uses the cliques' own blocks. */
static void icfi_start_from_guess(icfi_solve* s, icfi_island* island)
{
    icf_real cost = island->cost;
    int32_t k, j, i;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            icfi_contact_state* c = s->contact + s->contact_list[j];
            for (i = 0; i < 3; i++) c->price.impulse[i] = c->guess[i];
        }
    }
    icfi_gather_impulses(s, island);
    icfi_copy_motion(island, s->v, s->from);
    icfi_copy_motion(island, s->impulse, s->v);
    icfi_own_solve(s, island, s->v);
    for (i = island->begin; i < island->end; i++) s->v[i] += s->free[i];
    icfi_evaluate(s, island);
    if (!island->feasible || !(island->cost < cost)) icfi_evaluate_at(s, island, s->from);
}

/* The course of an island from s->v, and its first phase */
static void icfi_begin_course(icfi_solve* s, icfi_island* island, icf_real own, int settled,
                              icfi_course* c)
{
    icf_stop stop;
    ICFI_MEMSET(c, 0, sizeof *c);
    c->newton = icfi_no_progress;
    c->own = own;
    c->settled = settled;
    /* without a scale of the cost, units have nowhere to begin */
    if (!settled && !(own > 0)) c->attempts = ICFI_ATTEMPTS;
#ifdef ICF_NO_INTERIOR_POINT
    c->attempts = ICFI_ATTEMPTS;
#endif
    if (s->guesses && !settled) icfi_start_from_guess(s, island);
    /* this test uses the diagonal of A, so that a bound of A changes no bit of the answer */
    c->near = settled || island->gradient * island->gradient < icfi_near_gradient * own;
    /* guesses come from the previous step: a poor start despite them means a hard step */
    c->patience = c->near ? ICFI_PATIENCE_NEAR : s->guesses ? 0 : ICFI_PATIENCE;
    c->newton.plain = island->unknowns <= ICFI_ALONE;
    if (c->newton.plain) c->patience = ICFI_PATIENCE_ALONE;
    icfi_copy_motion(island, s->v, s->start);
    c->start_cost = island->cost;
    icfi_keep(s, island);
    icfi_record(s, island);
    stop = icfi_should_end(s, island);
    if (stop != ICF_STOP_NONE) c->phase = icfi_finish(s, island, c, stop);
}

/* Minimises one island from s->v. */
static icf_result icfi_minimise(icfi_solve* s, icfi_island* island, icf_real own, int settled)
{
    icfi_course c;
    icfi_begin_course(s, island, own, settled, &c);
    while (c.phase != ICFI_PHASE_END) {
        switch (c.phase) {
#ifndef ICF_NO_INTERIOR_POINT
        case ICFI_PHASE_UNITS: c.phase = icfi_begin_units(s, island, &c); break;
        case ICFI_PHASE_INTERIOR: c.phase = icfi_interior(s, island, &c); break;
        case ICFI_PHASE_POLISH: c.phase = icfi_polish(s, island, &c); break;
        case ICFI_PHASE_NEWTON: c.phase = icfi_take_over(s, island, &c); break;
#endif
        case ICFI_PHASE_AROUND: c.phase = icfi_go_around(s, island, &c); break;
        default: c.phase = icfi_descend(s, island, &c); break;
        }
    }
    icfi_go_to_best(s, island);
    /* a solve that ends short is no worse than its start, even if a law that is not convex misled the
       search */
    if (island->stop > ICF_STOP_FLOOR &&
        island->cost > c.start_cost + icfi_cost_noise(c.start_cost)) {
        icfi_evaluate_at(s, island, s->start);
    }
    return island->convex ? ICF_RESULT_OK : ICF_RESULT_NOT_SPD;
}

/* ---- islands ---- */

/* From step to step the largest island is often the same. If there is room, the end of the workspace keeps
   its pattern with the ordering, the largest part of the work on a pattern: [ pattern | icf_sparse ]. The
   caller may have used the memory for something else in between, so a checksum guards it. */

static uint32_t icfi_add_up(const unsigned char* memory, size_t bytes)
{
    const uint64_t factor = (uint64_t)0x9e3779b97f4a7c15u;
    uint64_t a = 1, b = 2, c = 3, d = 4, x[4];
    size_t i;
    /* four sums, so that no product waits for the one before */
    for (i = 0; i + sizeof x <= bytes; i += sizeof x) {
        ICFI_MEMCPY(x, memory + i, sizeof x);
        a = (a ^ x[0]) * factor, a ^= a >> 32;
        b = (b ^ x[1]) * factor, b ^= b >> 32;
        c = (c ^ x[2]) * factor, c ^= c >> 32;
        d = (d ^ x[3]) * factor, d ^= d >> 32;
    }
    a += 3 * b + 5 * c + 7 * d;
    return (uint32_t)(a ^ a >> 32);
}

#define ICFI_KEPT_STRUCT ((sizeof(icf_sparse) + ICFI_GRANULE - 1) / ICFI_GRANULE * ICFI_GRANULE)

/* Copies the kept pattern, if it belongs to these pairs, to the island's matrix and memory. */
static int icfi_recall_pattern(const icfi_solve* s, icfi_island* island, size_t pattern,
                               const int32_t* sizes, int32_t edges, const int32_t* pairs)
{
    const icf_workspace* w = s->workspace;
    size_t end = s->bytes / ICFI_GRANULE * ICFI_GRANULE, bytes = w->kept;
    icf_sparse* sparse = &island->sparse;
    if (bytes <= ICFI_KEPT_STRUCT || bytes > end ||
        pattern + (bytes - ICFI_KEPT_STRUCT) > end - bytes) {
        return 0;
    }
    if (icfi_add_up(s->memory + end - bytes, bytes) != w->kept_sum) return 0;
    ICFI_MEMCPY(sparse, s->memory + end - ICFI_KEPT_STRUCT, sizeof *sparse);
    sparse->pattern = s->memory + end - bytes;
    if (sparse->cliques != island->cliques || sparse->edges != edges ||
        !icfi_same(ICFI_INTS(sparse, size), sizes, island->cliques) ||
        !icfi_same(ICFI_INTS(sparse, pair), pairs, 2 * edges)) {
        ICFI_MEMSET(sparse, 0, sizeof *sparse);
        return 0;
    }
    ICFI_MEMCPY(s->memory + pattern, sparse->pattern, bytes - ICFI_KEPT_STRUCT);
    sparse->pattern = s->memory + pattern;
    return 1;
}

/* Keeps the analysed pattern, if it fits behind the first `used` bytes. */
static void icfi_keep_pattern(const icfi_solve* s, const icfi_island* island, size_t used)
{
    icf_workspace* w = s->workspace;
    size_t end = s->bytes / ICFI_GRANULE * ICFI_GRANULE;
    size_t pattern = icfi_sparse_kept_bytes(island->sparse.cliques, island->sparse.edges),
           bytes = pattern + ICFI_KEPT_STRUCT;
    w->kept = 0;
    if (end < bytes || used > end - bytes) return;
    ICFI_MEMSET(s->memory + end - bytes, 0, bytes);
    ICFI_MEMCPY(s->memory + end - bytes, island->sparse.pattern, pattern);
    ICFI_MEMCPY(s->memory + end - ICFI_KEPT_STRUCT, &island->sparse, sizeof island->sparse);
    w->kept = bytes;
    w->kept_sum = icfi_add_up(s->memory + end - bytes, bytes);
}

/* An island without its matrix */
static void icfi_begin_island(const icfi_solve* s, int32_t number, icfi_island* island)
{
    int32_t k;
    ICFI_MEMSET(island, 0, sizeof *island);
    island->clique = s->cliques_of + s->clique_start[number];
    island->cliques = s->clique_start[number + 1] - s->clique_start[number];
    island->link = s->link_list + s->link_start[number];
    island->links = s->link_start[number + 1] - s->link_start[number];
    island->coupling = s->coupling_list + s->coupling_start[number];
    island->couplings = s->coupling_start[number + 1] - s->coupling_start[number];
    island->begin = island->end = s->first[island->clique[0]];
    for (k = 0; k < island->cliques; k++) island->end += s->p->clique_sizes[island->clique[k]];
    island->unknowns = island->end - island->begin;
}

/* The matrix of an island in the rest of the workspace: with a factor, or without if that does not fit or the
   options refuse it. */
static icf_result icfi_open_matrix(icfi_solve* s, int32_t number, icfi_island* island)
{
    const icf_problem* p = s->p;
    icfi_arena arena = icfi_arena_over(s->memory, s->bytes), wish = icfi_arena_measure();
    icfi_island_at at;
    int few = island->cliques <= ICFI_FEW && island->unknowns <= ICFI_FEW_UNKNOWNS &&
              !island->couplings && s->options->iterative <= 0;
    size_t edges = (size_t)island->couplings, e = 0, factor;
    int32_t k, a, b, *size, *pair;
    int recalled;
    icf_result result;
    for (k = 0; k < island->links; k++) {
        const int32_t first = p->link_start[island->link[k]],
                      end = p->link_start[island->link[k] + 1];
        for (b = first; b < end; b++) {
            for (a = first; a < b; a++) edges += p->block_clique[a] != p->block_clique[b];
        }
    }
    (void)icfi_arena_take(&arena, s->island_at, 1);
    if (island->cliques < 2 || few) {
        icfi_arena used = arena;
        icfi_island_layout(1, (size_t)island->cliques, edges, (size_t)island->unknowns, &used, &at);
        if (s->stats->bytes < used.peak) s->stats->bytes = used.peak;
        if (used.result == ICF_RESULT_OK) {
            island->dense = ICFI_AT(icf_real, s->memory, at.dense);
            for (k = 1; k < island->cliques; k++) {
                island->place[k] = island->place[k - 1] + p->clique_sizes[island->clique[k - 1]];
            }
            return ICF_RESULT_OK;
        }
        if (island->cliques < 2) return used.result;
    }
    icfi_island_layout(0, (size_t)island->cliques, edges, (size_t)island->unknowns, &arena, &at);
    if (arena.result != ICF_RESULT_OK) return arena.result;
    size = ICFI_AT(int32_t, s->memory, at.size);
    pair = ICFI_AT(int32_t, s->memory, at.pair);
    for (k = 0; k < island->cliques; k++) size[k] = p->clique_sizes[island->clique[k]];
    for (k = 0; k < island->couplings; k++, e++) {
        /* swapped: its block is row-major */
        pair[2 * e] = s->local[p->coupling_pairs[2 * island->coupling[k] + 1]];
        pair[2 * e + 1] = s->local[p->coupling_pairs[2 * island->coupling[k]]];
    }
    for (k = 0; k < island->links; k++) {
        int32_t first = p->link_start[island->link[k]], end = p->link_start[island->link[k] + 1];
        for (b = first; b < end; b++) {
            for (a = first; a < b; a++) {
                if (p->block_clique[a] == p->block_clique[b]) continue;
                pair[2 * e] = s->local[p->block_clique[a]];
                pair[2 * e++ + 1] = s->local[p->block_clique[b]];
            }
        }
    }
    ICFI_PROFILE('P')
    recalled = number == s->keeper &&
               icfi_recall_pattern(s, island, at.pattern, size, (int32_t)edges, pair);
    if (!recalled) {
        /* clear all bytes, for the checksum */
        if (number == s->keeper) {
            ICFI_MEMSET(s->memory + at.pattern, 0,
                        icfi_sparse_kept_bytes(island->cliques, (int32_t)edges));
        }
        result = icf_sparse_analyze(&island->sparse, s->memory + at.pattern, at.pattern_bytes,
                                    island->cliques, size, (int32_t)edges, pair);
        if (result != ICF_RESULT_OK) return result;
    }
    ICFI_PROFILE('R')

    factor = icf_sparse_bytes(&island->sparse, ICF_SPARSE_FULL);
    (void)icfi_arena_take(&wish, at.factor, 1);
    (void)icfi_arena_take(&wish, factor ? factor : (size_t)-1, 1);
    if (wish.result == ICF_RESULT_OK && s->stats->bytes < wish.peak) s->stats->bytes = wish.peak;
    if (number == s->keeper && !recalled) icfi_keep_pattern(s, island, wish.peak);
    if (s->options->iterative <= 0 && factor && wish.peak <= s->bytes) {
        return icf_sparse_bind(&island->sparse, ICF_SPARSE_FULL, s->memory + at.factor,
                               s->bytes - at.factor);
    }
    if (s->options->iterative < 0) return ICF_RESULT_TOO_SMALL;
    s->stats->iterative++;
    island->iterative = 1;
    return icf_sparse_bind(&island->sparse, ICF_SPARSE_ITERATIVE, s->memory + at.factor,
                           s->bytes - at.factor);
}

static icf_result icfi_open_island(icfi_solve* s, int32_t number, icfi_island* island)
{
    icfi_begin_island(s, number, island);
    return icfi_open_matrix(s, number, island);
}

/* Bounds A from below by its diagonal blocks B; answers 1 for no couplings or a bound from the caller.
   With L L' = B: A >= t B if in every row of blocks of L^-1 A L'^-1 the norms off the diagonal add up to at
   most 1 - t. This is Gershgorin's theorem for blocks. Answers 1 / t, or ICF_REAL_MAX if there is no such
   t. */
static icf_real icfi_mass_bound(icfi_solve* s)
{
    const icf_problem* p = s->p;
    icf_real worst = 0;
    int32_t e, i, j;
    if (!p->couplings || p->mass_bound) return 1;
    for (i = 0; i < s->sizes.unknowns; i++) s->dv[i] = 0;
    for (e = 0; e < p->couplings; e++) {
        int32_t a = p->coupling_pairs[2 * e], b = p->coupling_pairs[2 * e + 1];
        int32_t na = p->clique_sizes[a], nb = p->clique_sizes[b];
        const icf_real* block = p->coupling_blocks + s->coupling_at[e];
        icf_real trace = 0, *x = s->scratch, *y = s->scratch + s->sizes.largest;
        /* |La^-1 C Lb'^-1|_F^2 = trace(A^-1 C B^-1 C'), one column of C' at a time */
        for (i = 0; i < na; i++) {
            ICFI_MEMCPY(x, block + i * nb, (size_t)nb * sizeof(icf_real));
            icfi_clique_solve(s, b, x);
            icfi_apply(na, nb, block, x, y, 0);
            icfi_clique_solve(s, a, y);
            trace += y[i];
        }
        trace = ICF_SQRT(icfi_max(trace, 0));
        if (na) s->dv[s->first[a]] += trace;
        if (nb) s->dv[s->first[b]] += trace;
    }
    for (j = 0; j < s->sizes.unknowns; j++) worst = icfi_max(worst, s->dv[j]);
    return worst < 1 ? 1 / (1 - worst) : ICF_REAL_MAX;
}

/* The first contact of an island whose barrier is violated, or -1 */
static int32_t icfi_first_barrier(const icfi_solve* s, const icfi_island* island)
{
    int32_t k, j, first = s->p->contacts;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            int32_t c = s->contact_list[j];
            if (!s->contact[c].price.feasible && c < first) first = c;
        }
    }
    return first < s->p->contacts ? first : -1;
}

/* Fills the options' array of islands. energy: the island's certificate for an A without blocks off its
   diagonal */
static void icfi_report_island(const icfi_solve* s, const icfi_island* island, int32_t number,
                               icf_real energy)
{
    icf_island* out;
    if (number >= s->options->island_capacity) return;
    out = s->options->island + number;
    out->cliques = island->cliques;
    out->links = island->links;
    out->iterations = island->iterations;
    out->factorizations = island->factorizations;
    out->iterative = island->iterative;
    out->stop = (int32_t)island->stop;
    out->cost = island->cost;
    out->gradient = island->gradient;
    out->momentum_error = island->error;
    out->certificate = s->bound == ICF_REAL_MAX ? ICF_REAL_MAX : energy * s->bound;
}

static int32_t icfi_count_guesses(const icfi_solve* s, const icfi_island* island)
{
    int32_t k, j, count = 0;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            count += s->contact[s->contact_list[j]].guess[2] > 0;
        }
    }
    return count;
}

/* Another pass pays where limits are off by this part of the normal impulses. Houses of cards do not stand
   without, and grippers, whose motors the prediction does not see, lose a step. */
static const icf_real icfi_limits_far = ICF_R(0.3);

/* How far the limits of friction of an island are from its normal impulses: the sum of the differences over
   the sum of the impulses. With `take` they become those impulses. */
static icf_real icfi_limits_off(const icfi_solve* s, const icfi_island* island, int take)
{
    icf_real off = 0, all = 0;
    int32_t k, j;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            const int32_t contact = s->contact_list[j];
            icfi_contact_state* c = s->contact + contact;
            const icf_real n = icfi_max(c->price.impulse[2] + c->term.adhesion, 0);
            if (!icfi_has_limit(c)) continue;
            off += ICF_FABS(n - c->term.impulse0);
            all += icfi_max(n, c->term.impulse0);
            if (!take) continue;
            ICFI_MEMCPY(c->guess, c->price.impulse, sizeof c->guess);
            icfi_set_limit(s, contact, n);
        }
    }
    return off / icfi_max(all, ICFI_TINY);
}

/* Solves an island from s->v. before: the sums over the islands that are done */
static icf_result icfi_solve_island(icfi_solve* s, int32_t number, const icf_iteration* before,
                                    icfi_island* island)
{
    const int32_t iterations = island->iterations, factorizations = island->factorizations,
                  trials = island->trials;
    icf_real own = 0, cost;
    int settled, seen, known;
    icf_result result;
    icfi_begin_island(s, number, island);
    island->iterations = iterations;
    island->factorizations = factorizations;
    island->trials = trials;
    icfi_mass_times(s, island, s->free, s->free_momentum);
    island->before = *before;
    island->convex = 1;
    s->guesses = icfi_count_guesses(s, island);
    settled = icfi_is_settled(s, island);
    cost = island->cost;
    seen = s->guesses && island->feasible && !s->p->rows;
    known = settled || icfi_is_free(s, island, &own);
    if (!known && seen) {
        /* icfi_start_from_guess asks nothing more of s->v if contacts alone have impulses to gather */
        island->cost = cost;
        known = 1;
    }
    if (!known && !icfi_make_feasible(s, island)) {
        int32_t which = icfi_first_barrier(s, island);
        if (which < 0) return icfi_refuse(s->stats, ICF_PART_PROBLEM, 0, ICF_RESULT_NOT_FINITE);
        result = s->contact[which].term.normal.facts & ICFI_WALL ? ICF_RESULT_INFEASIBLE
                                                                 : ICF_RESULT_BAD_LAW;
        return icfi_refuse(s->stats, ICF_PART_CONTACT, which, result);
    }
    /* an island that starts at its minimum, as most do at rest, takes no matrix */
    if ((!settled && s->guesses) || !icfi_has_converged(s, island)) {
        result = icfi_open_matrix(s, number, island);
        if (result != ICF_RESULT_OK) return result;
    } else {
        s->unopened = 1;
    }
    ICFI_PROFILE('I')
    result = icfi_minimise(s, island, own, settled);
    ICFI_PROFILE('R')
    return result == ICF_RESULT_OK
               ? result
               : icfi_refuse(s->stats, ICF_PART_COUPLING, island->coupling[0], result);
}

static ICFI_NOINLINE icf_result icfi_solve_islands(icfi_solve* s, int32_t islands)
{
    icf_stats* stats = s->stats;
    icf_iteration done;
    icf_real certificate = 0, energy;
    int32_t most = 4, k, i, pass; /* the pattern of a few cliques is quick to find */
    done.cost = done.gradient = done.momentum_error = 0;
    stats->islands = islands;
    stats->stop = ICF_STOP_CONVERGED;
    for (k = 0; k < islands; k++) {
        int32_t size = s->clique_start[k + 1] - s->clique_start[k];
        if (size <= most) continue;
        most = size;
        s->keeper = k;
    }
    for (k = 0; k < islands; k++) {
        icfi_island island;
        icf_real off = 0;
        ICFI_MEMSET(&island, 0, sizeof island);
        for (pass = 1;; pass++) {
            const icf_result result = icfi_solve_island(s, k, &done, &island);
            if (result != ICF_RESULT_OK) return result;
            if (s->options->passes < 1) break;
            off = icfi_limits_off(s, &island, 0);
            if (pass >= s->options->passes || off < icfi_limits_far || island.stop > ICF_STOP_FLOOR)
                break;
            (void)icfi_limits_off(s, &island, 1);
        }
        stats->limit_error = icfi_max(stats->limit_error, off);

        if (!(island.error < done.momentum_error)) {
            stats->rounding = island.stop == ICF_STOP_FLOOR || island.stop == ICF_STOP_SHORT
                                  ? icfi_rounding(s, &island, 1) / island.scale
                                  : 0;
        }
        icfi_add_island(&done, island.cost, island.gradient, island.error);
        energy = icfi_dual_energy(s, &island, s->gradient);
        certificate += energy;
        icfi_report_island(s, &island, k, energy);
        /* in the history, this island keeps its last values from here on */
        for (i = island.iterations + 1; i < stats->history; i++) {
            icfi_add_island(s->options->history + i, island.cost, island.gradient, island.error);
        }
        if (stats->iterations < island.iterations) stats->iterations = island.iterations;
        if (stats->factorizations < island.factorizations) {
            stats->factorizations = island.factorizations;
        }
        stats->island_factorizations += island.factorizations;
        stats->trials += island.trials;
        if (stats->stop < island.stop) stats->stop = island.stop;
    }
    stats->cost = done.cost;
    stats->gradient = done.gradient;
    stats->momentum_error = done.momentum_error;
    stats->certificate = s->bound == ICF_REAL_MAX ? ICF_REAL_MAX : certificate * s->bound;
    return ICF_RESULT_OK;
}

/* Answers `result`, after it put enough bytes for any links into the stats. Only a solve that ends with an
   error, or did not open all islands, needs this sum. */
static icf_result icfi_count_least(const icfi_solve* s, const icfi_solve_at* at, icf_result result)
{
    icfi_arena arena = icfi_arena_measure();
    size_t least;
    (void)icfi_arena_take(&arena, at->island, 1);
    least = icfi_least_bytes(s->p, &s->sizes, arena, ICF_SPARSE_ITERATIVE);
    if (s->stats->bytes < least) s->stats->bytes = least;
    return result;
}

/* Adds up the sizes of a problem and points to its pieces in a workspace. */
static icf_result icfi_open(icfi_solve* s, const icf_problem* problem, const icf_options* options,
                            icf_workspace* workspace, icf_stats* stats, icfi_solve_at* at)
{
    icfi_arena arena = icfi_arena_measure(), there;
    icf_result result;
    ICFI_MEMSET(s, 0, sizeof *s);
    s->p = problem;
    s->options = options;
    s->stats = stats;
    s->memory = (unsigned char*)workspace->memory;
    s->bytes = workspace->bytes;
    s->keeper = -1;
    s->workspace = workspace;
    result = icfi_sum_sizes(problem, &s->sizes, stats);
    if (result != ICF_RESULT_OK) return result;
    icfi_solve_layout(problem, &s->sizes, &arena, at);
    there = icfi_arena_over(workspace->memory, workspace->bytes);
    (void)icfi_arena_take(&there, arena.result == ICF_RESULT_OK ? arena.used : (size_t)-1, 1);
    if (there.result != ICF_RESULT_OK) {
        stats->bytes = icfi_least_bytes(problem, &s->sizes, arena, ICF_SPARSE_ITERATIVE);
        /* a workspace without memory is too small */
        return there.result == ICF_RESULT_BAD_ARGUMENT ? ICF_RESULT_TOO_SMALL : there.result;
    }
    icfi_solve_point(s, s->memory, at);
    return ICF_RESULT_OK;
}

/* Poisons a workspace, except the kept pattern at its end. */
static void icfi_poison_workspace(const icf_workspace* w)
{
    size_t end = w->bytes / ICFI_GRANULE * ICFI_GRANULE;
    ICFI_POISON(w->memory, end - w->kept);
    (void)end;
}

ICF_API icf_result icf_solve(const icf_problem* problem, const icf_options* options,
                             icf_workspace* workspace, icf_real* v, icf_stats* stats)
{
    icf_options defaults = icf_default_options();
    icf_stats unwanted;
    icfi_solve s;
    icfi_solve_at at;
    icf_result result;
    int32_t islands = 0, i;
    if (!stats) stats = &unwanted;
    if (!options) options = &defaults;
    ICFI_MEMSET(stats, 0, sizeof *stats);
    if (!problem || !workspace)
        return icfi_refuse(stats, ICF_PART_PROBLEM, 0, ICF_RESULT_BAD_ARGUMENT);
    if (options->cookie != ICFI_OPTIONS_COOKIE) {
        return icfi_refuse(stats, ICF_PART_OPTIONS, 0, ICF_RESULT_BAD_DEF);
    }
    if (!icfi_finite(options->tolerance) || !icfi_finite(options->energy)) {
        return icfi_refuse(stats, ICF_PART_OPTIONS, 0, ICF_RESULT_NOT_FINITE);
    }
    if (options->tolerance < 0 || options->energy < 0 || options->iterations < 0 ||
        options->factorizations < 0 || options->passes < 0 || options->history_capacity < 0 ||
        (options->history_capacity && !options->history) || options->island_capacity < 0 ||
        (options->island_capacity && !options->island)) {
        return icfi_refuse(stats, ICF_PART_OPTIONS, 0, ICF_RESULT_BAD_ARGUMENT);
    }
    result = icfi_open(&s, problem, options, workspace, stats, &at);
    if (result != ICF_RESULT_OK) return result;
    if (s.sizes.unknowns && !v) {
        result = icfi_refuse(stats, ICF_PART_PROBLEM, 0, ICF_RESULT_BAD_ARGUMENT);
        return icfi_count_least(&s, &at, result);
    }
    workspace->state = 0;
    icfi_poison_workspace(workspace);
    result = icfi_check_pattern(&s);
    if (result == ICF_RESULT_OK) islands = icfi_find_islands(&s);
    if (result == ICF_RESULT_OK) result = icfi_check_motion(&s, v);
    if (result == ICF_RESULT_OK) result = icfi_check_potentials(&s);
    if (result == ICF_RESULT_OK) result = icfi_factor_masses(&s, problem->mass);
    if (result != ICF_RESULT_OK) return icfi_count_least(&s, &at, result);
    icfi_find_scales(&s);
    s.bound = icfi_mass_bound(&s);
    icfi_reorder(&s, v, s.v, 0);
    icfi_reorder(&s, problem->v_free, s.free, 0);
    icfi_sort_potentials(&s);
    result = icfi_make_terms(&s);
    if (result == ICF_RESULT_OK && problem->mass_bound) {
        result = icfi_factor_masses(&s, problem->mass_bound);
    }
    if (result != ICF_RESULT_OK) return icfi_count_least(&s, &at, result);
    if (options->passes > 0) icfi_predict_limits(&s);
    /* cliques that nothing touches */
    for (i = s.moving; i < s.sizes.unknowns; i++) s.v[i] = s.free[i];
    if (options->island_of && problem->cliques)
        ICFI_MEMCPY(options->island_of, s.group, (size_t)problem->cliques * sizeof(int32_t));
    stats->bytes = at.island;
    result = icfi_solve_islands(&s, islands);
    if (result != ICF_RESULT_OK) {
        stats->stop = ICF_STOP_NONE;
        return icfi_count_least(&s, &at, result);
    }

    if (s.unopened) (void)icfi_count_least(&s, &at, result);
    icfi_reorder(&s, s.v, v, 1);
    workspace->contacts = problem->contacts;
    workspace->rows = problem->rows;
    workspace->contact_at = at.contact;
    workspace->row_at = at.row;
    workspace->islands = islands;
    workspace->bound = s.bound;
    workspace->state = ICFI_SOLVED;
    return stats->stop > ICF_STOP_FLOOR ? ICF_RESULT_NOT_CONVERGED : ICF_RESULT_OK;
}

/* ---- after the solve ---- */

ICF_API icf_result icf_get_contact(const icf_workspace* workspace, int32_t contact,
                                   icf_contact_result* result)
{
    const icfi_contact_state* c;
    icf_real elastic[3], v[3], dissipated, dt;
    int i;
    const icf_real *g, *a, *b;
    icf_vec3 force = icf_vec3_make(0, 0, 0);
    if (!workspace || !result) return ICF_RESULT_BAD_ARGUMENT;
    if (workspace->state != ICFI_SOLVED) return ICF_RESULT_BAD_STATE;
    if (contact < 0 || contact >= workspace->contacts) return ICF_RESULT_BAD_ARGUMENT;
    c = ICFI_AT(const icfi_contact_state, workspace->memory, workspace->contact_at) + contact;
    g = c->price.impulse;
    a = c->s;
    b = a + c->rows;
    dt = c->term.normal.dt;
    force = icf_vec3_add_scaled(force, g[0] / dt, icf_vec3_make(a[0], a[1], a[2]));
    force = icf_vec3_add_scaled(force, g[1] / dt, icf_vec3_make(b[0], b[1], b[2]));
    b += c->rows;
    result->force = icf_vec3_add_scaled(force, g[2] / dt, icf_vec3_make(b[0], b[1], b[2]));
    result->spin_impulse = result->spin = icf_vec3_make(0, 0, 0);
    result->stick_rolling = result->stick_torsion = 0;
    result->impulse = icf_vec3_make(g[0], g[1], g[2]);
    v[0] = c->v[0] - c->pull[0];
    v[1] = c->v[1] - c->pull[1];
    v[2] = c->v[2];
    result->velocity = icf_vec3_make(v[0], v[1], v[2]);
    result->mode = icfi_contact_mode(&c->term, c->v, v, g, &result->share, &result->stick);
    (void)icfi_normal_law(&c->term.normal, v[2], 1, elastic);
    dissipated = (elastic[1] - c->term.adhesion) * v[2] - g[0] * v[0] - g[1] * v[1] - g[2] * v[2];
    if (c->spins) {
        g = c->spin_impulse;
        result->spin_impulse = icf_vec3_make(g[0], g[1], g[2]);
        for (i = 0; i < 3; i++) {
            v[i] = c->spin[i] - c->twist[i];
            dissipated -= g[i] * v[i];
        }
        result->spin = icf_vec3_make(v[0], v[1], v[2]);
        result->stick_rolling = c->eps[0];
        result->stick_torsion = c->eps[1];
    }
    result->dissipated = dissipated;
    result->w = c->w;
    result->lag = c->term.lag;
    result->bounded = c->term.bounded;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_get_row(const icf_workspace* workspace, int32_t row, icf_row_result* result)
{
    const icfi_row_state* r;
    if (!workspace || !result) return ICF_RESULT_BAD_ARGUMENT;
    if (workspace->state != ICFI_SOLVED) return ICF_RESULT_BAD_STATE;
    if (row < 0 || row >= workspace->rows) return ICF_RESULT_BAD_ARGUMENT;
    r = ICFI_AT(const icfi_row_state, workspace->memory, workspace->row_at) + row;
    result->impulse = r->price[1];
    result->velocity = r->u;
    result->stick = r->term.eps;
    result->bounded = r->term.bounded;
    return ICF_RESULT_OK;
}

/* ---- Jacobians and Delassus blocks on request ---- */

/* Where the numbers of a block begin */
static size_t icfi_reals_before(const icf_problem* p, int32_t block)
{
    size_t at = 0;
    int32_t i, k;
    for (i = 0; i < p->links; i++) {
        for (k = p->link_start[i]; k < p->link_start[i + 1]; k++) {
            if (k == block) return at;
            at += icfi_block_reals(p, i, k);
        }
    }
    return at;
}

static int icfi_link_reads(const icf_problem* p, int32_t link, int32_t clique)
{
    int32_t k = p->link_start[link];
    while (k < p->link_start[link + 1] && p->block_clique[k] != clique) k++;
    return k < p->link_start[link + 1];
}

/* Checks what a walk through all blocks of links reads. */
static icf_result icfi_check_blocks(const icf_problem* p)
{
    size_t reals = 0;
    int32_t i, k;
    for (i = 0; i < p->links; i++) {
        for (k = p->link_start[i]; k < p->link_start[i + 1]; k++) {
            const int32_t c = p->block_clique[k];
            if (!icfi_reads_well(p, i, k) ||
                (icfi_has_lever(p, k) &&
                 icfi_check_lever(p, p->link_rows[i], c, p->block_lever + k) ==
                     ICF_RESULT_BAD_ARGUMENT))
                return ICF_RESULT_BAD_ARGUMENT;
            reals += icfi_block_reals(p, i, k);
        }
    }
    return reals && !p->blocks ? ICF_RESULT_BAD_ARGUMENT : ICF_RESULT_OK;
}

/* Checks everything that the Jacobian of a contact reads: the sizes, the contact's own fields, and its
   link */
static icf_result icfi_check_asked(const icf_problem* p, int32_t contact, icf_vec3 axes[3])
{
    const char* reason;
    icfi_sizes sizes;
    icf_stats stats;
    int32_t surface;
    icf_result result = p ? icfi_sum_sizes(p, &sizes, &stats) : ICF_RESULT_BAD_ARGUMENT;
    if (result != ICF_RESULT_OK) return result;
    if (contact < 0 || contact >= p->contacts) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_check_blocks(p);
    if (result != ICF_RESULT_OK) return result;
    surface = p->contact[contact].surface;
    if (surface < 0 || surface >= p->surfaces) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_surface_check(p->surface + surface, &reason);
    return result == ICF_RESULT_OK ? icfi_check_contact(p, contact, axes, &reason) : result;
}

ICF_API icf_result icf_contact_jacobian(const icf_problem* problem, int32_t contact, int32_t clique,
                                        icf_real* jacobian)
{
    const icf_problem* p = problem;
    icf_real s[18], bias[3], room[36];
    int32_t i, j, k, b, n, link, rows;
    icf_vec3 axes[3];
    icf_result result = icfi_check_asked(p, contact, axes);
    if (result != ICF_RESULT_OK) return result;
    if (clique < 0 || clique >= p->cliques || !jacobian) return ICF_RESULT_BAD_ARGUMENT;
    n = p->clique_sizes[clique];
    link = p->contact[contact].link;
    rows = p->link_rows[link];
    icfi_contact_map(p, p->contact + contact, axes, s, bias);
    for (i = 0; i < 3 * n; i++) jacobian[i] = 0;
    for (b = p->link_start[link]; b < p->link_start[link + 1]; b++) {
        const int32_t m = icfi_columns(p, b);
        icf_real* to = jacobian + icfi_first_column(p, b);
        const icf_real* block;
        if (p->block_clique[b] != clique) continue;
        block = icfi_link_block(p, link, b, icfi_reals_before(p, b), room);
        for (i = 0; i < 3; i++) {
            for (j = 0; j < m; j++) {
                for (k = 0; k < rows; k++) to[i * n + j] += s[i * rows + k] * block[k * m + j];
            }
        }
    }
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_contact_delassus(const icf_problem* problem, int32_t i, int32_t j,
                                        icf_workspace* workspace, icf_real w[9])
{
    const icf_problem* p = problem;
    icf_vec3 axes[3];
    icf_result result = icfi_check_asked(p, i, axes);
    icf_real sum[9], room[36];
    int32_t link, k, a, b, q;
    if (result == ICF_RESULT_OK) result = icfi_check_asked(p, j, axes);
    if (result != ICF_RESULT_OK) return result;
    if (!workspace || !w) return ICF_RESULT_BAD_ARGUMENT;
    for (k = 0; k < 9; k++) sum[k] = 0;
    link = p->contact[i].link;
    for (k = p->link_start[link]; k < p->link_start[link + 1]; k++) {
        int32_t c = p->block_clique[k], n = p->clique_sizes[c], e;
        size_t reals = (size_t)n * (size_t)n, at = 0;
        icfi_arena arena = icfi_arena_over(workspace->memory, workspace->bytes);
        icf_real *factor, *ji, *jj;
        if (!n || !icfi_link_reads(p, p->contact[j].link, c)) continue;
        if (k > p->link_start[link] && p->block_clique[k - 1] == c) continue;
        for (e = 0; e < c; e++) at += icfi_mass_reals(p, e);
        factor = ICFI_AT(icf_real, workspace->memory,
                         icfi_arena_take(&arena, reals + 6 * (size_t)n, sizeof(icf_real)));
        if (arena.result != ICF_RESULT_OK) return arena.result;
        workspace->state = 0;
        ji = factor + reals;
        jj = ji + 3 * n;
        ICFI_MEMCPY(factor, icfi_mass_block(p, c, p->mass + at, room), reals * sizeof(icf_real));
        if (icf_dense_factor(n, factor, n, NULL) != ICF_RESULT_OK) return ICF_RESULT_NOT_SPD;
        (void)icf_contact_jacobian(p, i, c, ji);
        (void)icf_contact_jacobian(p, j, c, jj);
        (void)icf_dense_solve(n, factor, n, jj, 3, n); /* A^-1 Jj', by columns */
        for (a = 0; a < 3; a++) {
            for (b = 0; b < 3; b++) {
                for (q = 0; q < n; q++) sum[3 * a + b] += ji[a * n + q] * jj[b * n + q];
            }
        }
    }
    ICFI_MEMCPY(w, sum, sizeof sum);
    return ICF_RESULT_OK;
}

#ifndef ICF_NO_MALLOC
ICF_API void icf_workspace_destroy(icf_workspace* workspace)
{
    if (!workspace) return;
    if (workspace->owner) ICF_FREE(workspace->memory);
    ICFI_MEMSET(workspace, 0, sizeof *workspace);
}

/* Grows a workspace that the library owns to at least so many bytes. */
static icf_result icfi_workspace_grow(icf_workspace* w, size_t bytes)
{
    void* memory;
    if (!bytes) return ICF_RESULT_OVERFLOW;
    if (bytes <= w->bytes) return ICF_RESULT_OK;
    memory = ICF_MALLOC(bytes);
    if (!memory) return ICF_RESULT_NO_MEMORY;
    icf_workspace_destroy(w);
    w->memory = memory;
    w->bytes = bytes;
    w->owner = 1;
    return ICF_RESULT_OK;
}

/* Puts the memory that all islands can use into the stats. */
static ICFI_NOINLINE icf_result icfi_measure_islands(icfi_solve* s, int32_t islands)
{
    int32_t k;
    for (k = 0; k < islands; k++) {
        icfi_island island;
        icf_result result = icfi_open_island(s, k, &island);
        if (result != ICF_RESULT_OK) return result;
    }
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_workspace_reserve(icf_workspace* workspace, const icf_problem* problem)
{
    icf_result result;
    icfi_solve s;
    icfi_solve_at at;
    icf_stats stats;
    icf_options options = icf_default_options();
    int32_t fresh;
    if (!workspace || !problem) return ICF_RESULT_BAD_ARGUMENT;
    if (workspace->memory && !workspace->owner) return ICF_RESULT_BAD_STATE;
    ICFI_MEMSET(&stats, 0, sizeof stats);
    result = icfi_sum_sizes(problem, &s.sizes, &stats);
    if (result != ICF_RESULT_OK) return result;
    fresh = !workspace->memory;
    result = icfi_workspace_grow(workspace, icf_workspace_bytes(problem, ICF_SPARSE_ITERATIVE));
    if (result != ICF_RESULT_OK) return result;

    /* this much memory suffices to find islands and patterns, and to measure the factors */
    workspace->state = 0;
    result = icfi_open(&s, problem, &options, workspace, &stats, &at);
    if (result == ICF_RESULT_OK) result = icfi_check_pattern(&s);
    if (result != ICF_RESULT_OK) {
        if (fresh) icf_workspace_destroy(workspace);
        return result;
    }
    stats.bytes = at.island;
    result = icfi_measure_islands(&s, icfi_find_islands(&s));
    if (result != ICF_RESULT_OK) return result;
    return icfi_workspace_grow(workspace, stats.bytes);
}
#endif

// ------------------------------------------------------------------------------------------------
// Layer 7, continued: a problem as text
// >>text

/* The format is in tests/golden/problems/README.md. Numbers read back with the same bits. Each text is
   written twice; the first pass only counts. */
typedef struct icfi_text {
    char* at; /* NULL: only count */
    size_t length;
} icfi_text;

/* The numbers of structs, in the order of their members. An integer's name follows a #, a real's a blank. A
   member missing here would be lost: tests/test_golden.c checks for that. */
static const char icfi_option_names[] =
    " tolerance energy#iterations#factorizations#passes#iterative";
static const char icfi_surface_names[] =
    "#model#law#by_force velocity.x velocity.y velocity.z tangent.x tangent.y tangent.z"
    " stiffness dissipation relaxation range near_rigid adhesion adhesion_range friction friction2"
    " friction_static slip_tolerance softness torsion rolling spin_tolerance";
static const char icfi_contact_names[] =
    "#link#surface point.x point.y point.z normal.x normal.y normal.z distance force weight"
    " effective_mass_inverse pull.x pull.y pull.z twist.x twist.y twist.z impulse_guess.x"
    " impulse_guess.y impulse_guess.z lag.limit lag.before lag.impulse";
static const char icfi_row_names[] =
    "#kind#link#row distance sign stiffness relaxation near_rigid damping error target feedforward"
    " effort slip_tolerance softness weight";

typedef struct icfi_behind_integer {
    int32_t integer;
    icf_real real;
} icfi_behind_integer;

static void icfi_write_character(icfi_text* t, char c)
{
    if (t->at) t->at[t->length] = c;
    t->length += t->length < (size_t)-1; /* stops at the largest size_t */
}

static ICFI_NOINLINE void icfi_write_words(icfi_text* t, const char* words)
{
    for (; *words; words++) icfi_write_character(t, *words);
}

static void icfi_write_digits(icfi_text* t, uint32_t n)
{
    uint32_t unit = 1;
    while (n / unit >= 10) unit *= 10;
    for (; unit; unit /= 10) icfi_write_character(t, (char)('0' + n / unit % 10));
}

static ICFI_NOINLINE void icfi_write_integer(icfi_text* t, int32_t n)
{
    icfi_write_words(t, n < 0 ? " -" : " ");
    icfi_write_digits(t, n < 0 ? 0 - (uint32_t)n : (uint32_t)n);
}

/* Writes x >= 0 as n / unit, a decimal fraction, if that division gives exactly x. A reader then gets x too,
   because n and unit are exact. Answers 0 if there is no such fraction, or only a long one. */
static int icfi_write_decimal(icfi_text* t, icf_real x)
{
    uint32_t unit, n;
    for (unit = 1; unit <= 1000000; unit *= 10) {
        if (!(x * (icf_real)unit < 10000000)) return 0;
        n = (uint32_t)(x * (icf_real)unit + ICF_R(0.5));
        if ((icf_real)n / (icf_real)unit != x) continue;
        icfi_write_digits(t, n / unit);
        if (unit > 1) icfi_write_character(t, '.');
        while (unit /= 10) icfi_write_character(t, (char)('0' + n / unit % 10));
        return 1;
    }
    return 0;
}

/* A short decimal if that is exact, else a hexadecimal integer of as many digits as it takes, times a power
   of two: 0x1fp-4 is 31/16. Every operation on the way is exact. */
static ICFI_NOINLINE void icfi_write_real(icfi_text* t, icf_real x)
{
    const icf_real zero = 0;
    int32_t power = 0;
    int below = x < 0 || (x == 0 && ICFI_MEMCMP(&x, &zero, sizeof x) != 0);
    icfi_write_words(t, below ? " -" : " ");
    if (below) x = -x;
    if (!icfi_finite(x)) {
        icfi_write_words(t, x > 0 ? "inf" : "nan");
        return;
    }
    if (icfi_write_decimal(t, x)) return;
    for (; x >= 16; power += 4) x /= 16;
    for (; x < 1; power -= 4) x *= 16;
    icfi_write_words(t, "0x");
    for (;; power -= 4) {
        int32_t digit = (int32_t)x;
        icfi_write_character(t, "0123456789abcdef"[digit]);
        x = 16 * (x - (icf_real)digit);
        if (x == 0) break;
    }
    icfi_write_words(t, power < 0 ? "p-" : "p");
    icfi_write_digits(t, (uint32_t)(power < 0 ? -power : power));
}

/* A matrix by rows, one row to a line; NULL: zeros */
static ICFI_NOINLINE void icfi_write_matrix(icfi_text* t, int32_t rows, int32_t columns,
                                            const icf_real* x)
{
    int32_t i, j;
    for (i = 0; i < rows; i++) {
        for (j = 0; j < columns; j++) icfi_write_real(t, x ? x[i * columns + j] : 0);
        icfi_write_character(t, '\n');
    }
}

/* The velocities of each clique, a line for each */
static ICFI_NOINLINE void icfi_write_velocities(icfi_text* t, const char* word,
                                                const icf_problem* p, const icf_real* v)
{
    int32_t i;
    icfi_write_words(t, word);
    for (i = 0; i < p->cliques; i++) {
        int32_t n = p->clique_sizes[i];
        icfi_write_matrix(t, 1, n, v);
        if (n) v += n;
    }
}

/* The block of A of each clique, or of the bound */
static ICFI_NOINLINE void icfi_write_masses(icfi_text* t, const char* word, const icf_problem* p,
                                            const icf_real* mass)
{
    int32_t i;
    icfi_write_words(t, word);
    for (i = 0; i < p->cliques; i++) {
        int32_t n = p->clique_sizes[i], body = icfi_is_body(p, i);
        if (body) icfi_write_words(t, "BODY");
        icfi_write_matrix(t, body ? 1 : n, body ? 7 : n, mass);
        mass += icfi_mass_reals(p, i);
    }
}

/* Structs that begin with the numbers in `names`: the count of names, the names, then a line for each
   struct */
static ICFI_NOINLINE void icfi_write_structs(icfi_text* t, const char* names, int32_t count,
                                             const void* structs, size_t bytes)
{
    const size_t behind = offsetof(icfi_behind_integer, real);
    const unsigned char* first = (const unsigned char*)structs;
    const char* name;
    int32_t i, integer, numbers = 0;
    icf_real real;
    for (name = names; *name; name++) numbers += *name == '#' || *name == ' ';
    icfi_write_integer(t, numbers);
    for (name = names; *name; name++) icfi_write_character(t, *name == '#' ? ' ' : *name);
    icfi_write_character(t, '\n');
    for (i = 0; i < count; i++, first += bytes) {
        size_t at = 0;
        for (name = names; *name; name++) {
            if (*name == '#') {
                ICFI_MEMCPY(&integer, first + at, sizeof integer);
                icfi_write_integer(t, integer);
                at += sizeof integer;
            } else if (*name == ' ') {
                at += (behind - at % behind) % behind;
                ICFI_MEMCPY(&real, first + at, sizeof real);
                icfi_write_real(t, real);
                at += sizeof real;
            }
        }
        icfi_write_character(t, '\n');
    }
}

static ICFI_NOINLINE void icfi_write_problem(icfi_text* t, const icf_problem* p,
                                             const icfi_sizes* sizes, const icf_options* options,
                                             const icf_real* v)
{
    const int32_t counts[] = {p->cliques,    sizes->unknowns, p->couplings, p->links,
                              sizes->blocks, p->contacts,     p->rows};
    const icf_real *block = p->coupling_blocks, *bias = p->link_bias;
    size_t at = 0;
    int32_t i, k;
    icfi_write_words(t, sizeof(icf_real) == 8 ? "ICFP 3 64" : "ICFP 3 32");
    for (i = 0; i < 7; i++) icfi_write_integer(t, counts[i]);
    icfi_write_real(t, p->dt);
    icfi_write_words(t, "\nOPTIONS");
    icfi_write_structs(t, icfi_option_names, 1, options, sizeof *options);
    icfi_write_words(t, "CLIQUES");
    for (i = 0; i < p->cliques; i++) icfi_write_integer(t, p->clique_sizes[i]);
    icfi_write_masses(t, "\n", p, p->mass);
    icfi_write_velocities(t, "FREE\n", p, p->v_free);
    icfi_write_velocities(t, "LAST\n", p, p->v_last ? p->v_last : v);
    icfi_write_velocities(t, "START\n", p, v);
    if (p->mass_bound) icfi_write_masses(t, "BOUND\n", p, p->mass_bound);
    icfi_write_words(t, "COUPLINGS\n");
    for (i = 0; i < p->couplings; i++) {
        int32_t a = p->coupling_pairs[2 * i], b = p->coupling_pairs[2 * i + 1];
        int32_t rows = p->clique_sizes[a], columns = p->clique_sizes[b];
        icfi_write_integer(t, a);
        icfi_write_integer(t, b);
        icfi_write_character(t, '\n');
        icfi_write_matrix(t, rows, columns, block);
        block += (size_t)rows * (size_t)columns;
    }
    icfi_write_words(t, "LINKS\n");
    for (i = 0; i < p->links; i++) {
        int32_t rows = p->link_rows[i];
        icfi_write_integer(t, rows);
        icfi_write_integer(t, p->link_start[i + 1] - p->link_start[i]);
        icfi_write_matrix(t, 1, rows, bias);
        if (bias) bias += rows;
        for (k = p->link_start[i]; k < p->link_start[i + 1]; k++) {
            int32_t n = icfi_columns(p, k);
            icfi_write_integer(t, p->block_clique[k]);
            if (n != p->clique_sizes[p->block_clique[k]]) {
                icfi_write_words(t, " COLUMNS");
                icfi_write_integer(t, icfi_first_column(p, k));
                icfi_write_integer(t, n);
            }
            if (icfi_has_lever(p, k)) {
                const icf_lever* l = p->block_lever + k;
                const icf_real lever[4] = {l->r.x, l->r.y, l->r.z, l->sign};
                icfi_write_words(t, " LEVER");
                icfi_write_matrix(t, 1, 4, lever);
                continue;
            }
            icfi_write_character(t, '\n');
            icfi_write_matrix(t, rows, n, p->blocks + at);
            at += (size_t)rows * (size_t)n;
        }
    }
    icfi_write_words(t, "SURFACES");
    icfi_write_integer(t, p->surfaces);
    icfi_write_structs(t, icfi_surface_names, p->surfaces, p->surface, sizeof *p->surface);
    icfi_write_words(t, "CONTACTS");
    icfi_write_structs(t, icfi_contact_names, p->contacts, p->contact, sizeof *p->contact);
    icfi_write_words(t, "ROWS");
    icfi_write_structs(t, icfi_row_names, p->rows, p->row, sizeof *p->row);
    icfi_write_words(t, "END\n");
}

/* Whether a problem can be walked through and written; its reals may be anything */
static icf_result icfi_check_writable(const icf_problem* p)
{
    int32_t i;
    if (icfi_check_blocks(p) != ICF_RESULT_OK) return ICF_RESULT_BAD_ARGUMENT;
    for (i = 0; i < 2 * p->couplings; i++) {
        if (p->coupling_pairs[i] < 0 || p->coupling_pairs[i] >= p->cliques)
            return ICF_RESULT_BAD_ARGUMENT;
    }
    for (i = 0; i < p->contacts; i++) {
        const icf_contact* c = p->contact + i;
        if (c->link < 0 || c->link >= p->links || c->surface < 0 || c->surface >= p->surfaces)
            return ICF_RESULT_BAD_ARGUMENT;
    }
    for (i = 0; i < p->surfaces; i++) {
        const icf_surface* f = p->surface + i;
        if (f->cookie != ICFI_SURFACE_COOKIE) return ICF_RESULT_BAD_DEF;
        if (f->law == ICF_LAW_CUSTOM && f->model != ICF_MODEL_SAP) return ICF_RESULT_BAD_LAW;
    }
    for (i = 0; i < p->rows; i++) {
        if (p->row[i].cookie != ICFI_ROW_COOKIE) return ICF_RESULT_BAD_DEF;
        if (p->row[i].link < 0 || p->row[i].link >= p->links) return ICF_RESULT_BAD_ARGUMENT;
    }
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_problem_dump(const icf_problem* problem, const icf_options* options,
                                    const icf_real* v, char* text, size_t capacity, size_t* length)
{
    icf_options defaults = icf_default_options();
    icf_stats unwanted;
    icfi_sizes sizes;
    icfi_text t = {NULL, 0};
    icf_result result;
    if (length) *length = 0;
    if (!options) options = &defaults;
    if (!problem || !length || (!text && capacity)) return ICF_RESULT_BAD_ARGUMENT;
    if (options->cookie != ICFI_OPTIONS_COOKIE) return ICF_RESULT_BAD_DEF;
    result = icfi_sum_sizes(problem, &sizes, &unwanted);
    if (result == ICF_RESULT_OK) result = icfi_check_writable(problem);
    if (result == ICF_RESULT_OK && sizes.unknowns && !v) result = ICF_RESULT_BAD_ARGUMENT;
    if (result != ICF_RESULT_OK) return result;
    icfi_write_problem(&t, problem, &sizes, options, v);
    *length = t.length;
    if (!text) return ICF_RESULT_OK;
    if (t.length >= capacity) return ICF_RESULT_TOO_SMALL;
    t.at = text;
    t.length = 0;
    icfi_write_problem(&t, problem, &sizes, options, v);
    text[t.length] = 0;
    return ICF_RESULT_OK;
}

// ------------------------------------------------------------------------------------------------
// Layer 8: sensitivities
// >>sensitivities

/* The solve's last evaluation of every potential left the Hessian H in its state. This section only has to
   assemble and factor H, island by island. */

/* How far a velocity may be from the optimum's in the norm of A, from the certificate and from rounding */
static icf_real icfi_doubt(const icfi_island* island, icf_real certificate)
{
    return ICF_SQRT(2 * certificate) + 10 * ICFI_EPSILON * island->motion;
}

static icf_real icfi_row_margin(const icf_row_term* t, icf_real u)
{
    icf_real s;
    switch (t->kind) {
    case ICF_ROW_LIMIT: return icfi_law_margin(&t->normal, t->sign * u);
    case ICF_ROW_MOTOR:
        if (!(t->slope > 0) || t->most == ICF_REAL_MAX) return ICF_REAL_MAX;
        s = ICF_FABS(t->impulse0 + t->slope * (t->target - u));
        return ICF_FABS(s - t->most) / t->slope;
    default: return ICF_REAL_MAX;
    }
}

/* Counts the contacts and rows of an island that may be on the other side of a kink. A velocity of inverse
   mass w may be off by sqrt(w) times the doubt. */
static int32_t icfi_count_switching(const icfi_solve* s, const icfi_island* island, icf_real doubt)
{
    int32_t k, j, count = 0;
    for (k = 0; k < island->links; k++) {
        int32_t link = island->link[k];
        for (j = s->contact_start[link]; j < s->contact_start[link + 1]; j++) {
            const icfi_contact_state* c = s->contact + s->contact_list[j];
            if (icfi_contact_margin(&c->term, c->v) <= doubt * ICF_SQRT(3 * c->w)) count++;
        }
        for (j = s->row_start[link]; j < s->row_start[link + 1]; j++) {
            const icfi_row_state* r = s->row + s->row_list[j];
            if (icfi_row_margin(&r->term, r->u) <= doubt * ICF_SQRT(r->w)) count++;
        }
    }
    return count;
}

ICF_API icf_result icf_sensitivity(const icf_problem* problem, icf_workspace* workspace,
                                   icf_real* x, int32_t count, int32_t ldx, int32_t* switching,
                                   int32_t* factorizations)
{
    icf_options options = icf_default_options();
    icf_stats stats;
    icfi_solve s;
    icfi_solve_at at;
    icf_result result, answer = ICF_RESULT_OK;
    int32_t k, i, c;
    size_t unknowns;
    if (switching) *switching = 0;
    if (factorizations) *factorizations = 0;
    if (!problem || !workspace || count < 0) return ICF_RESULT_BAD_ARGUMENT;
    if (workspace->state != ICFI_SOLVED) return ICF_RESULT_BAD_STATE;
    ICFI_MEMSET(&stats, 0, sizeof stats);
    result = icfi_open(&s, problem, &options, workspace, &stats, &at);
    if (result != ICF_RESULT_OK) return result;
    if (problem->contacts != workspace->contacts || problem->rows != workspace->rows ||
        at.contact != workspace->contact_at || at.row != workspace->row_at) {
        return ICF_RESULT_BAD_STATE;
    }
    if (ldx < s.sizes.unknowns || (count && s.sizes.unknowns && !x)) return ICF_RESULT_BAD_ARGUMENT;
    unknowns = (size_t)s.sizes.unknowns;
    if (!unknowns) count = 0; /* x may be NULL */
    for (i = 0; i < count; i++) {
        icf_real* column = x + (ptrdiff_t)i * ldx;
        icfi_reorder(&s, column, s.spare, 0);
        ICFI_MEMCPY(column, s.spare, unknowns * sizeof(icf_real));
        for (c = 0; c < problem->cliques; c++) {
            if (s.group[c] < 0) icfi_clique_solve(&s, c, column + s.first[c]);
        }
    }
    for (k = 0; k < workspace->islands; k++) {
        icfi_island island;
        result = icfi_open_island(&s, k, &island);
        if (result != ICF_RESULT_OK) break;
        icfi_evaluate(&s, &island);
        if (switching) {
            icf_real certificate = icfi_dual_energy(&s, &island, s.gradient) * workspace->bound;
            *switching += icfi_count_switching(&s, &island, icfi_doubt(&island, certificate));
        }
        if (!icfi_factor(&s, &island)) {
            result = ICF_RESULT_NOT_SPD;
            break;
        }
        if (factorizations) *factorizations += island.factorizations;
        for (i = 0; i < count; i++) {
            icf_result one = icfi_back(&island, x + (ptrdiff_t)i * ldx + island.begin);
            if (one != ICF_RESULT_OK) answer = one;
        }
    }
    for (i = 0; i < count; i++) {
        icf_real* column = x + (ptrdiff_t)i * ldx;
        ICFI_MEMCPY(s.spare, column, unknowns * sizeof(icf_real));
        icfi_reorder(&s, s.spare, column, 1);
    }
    return result == ICF_RESULT_OK ? answer : result;
}

ICF_API icf_result icf_contact_push(const icf_problem* problem, int32_t contact,
                                    const icf_real impulse[3], icf_real* b)
{
    const icf_problem* p = problem;
    icf_vec3 axes[3];
    icf_result result = icfi_check_asked(p, contact, axes);
    icf_real s[18], bias[3], gamma[6], room[36];
    int32_t link, rows, k, c, i, first;
    if (result != ICF_RESULT_OK) return result;
    if (!impulse || !b) return ICF_RESULT_BAD_ARGUMENT;
    link = p->contact[contact].link;
    rows = p->link_rows[link];
    icfi_contact_map(p, p->contact + contact, axes, s, bias);
    for (i = 0; i < rows; i++) gamma[i] = 0;
    icfi_apply_transposed(3, rows, s, impulse, gamma);
    for (k = p->link_start[link]; k < p->link_start[link + 1]; k++) {
        c = p->block_clique[k];
        for (i = 0, first = 0; i < c; i++) first += p->clique_sizes[i];
        icfi_apply_transposed(rows, icfi_columns(p, k),
                              icfi_link_block(p, link, k, icfi_reals_before(p, k), room), gamma,
                              b + first + icfi_first_column(p, k));
    }
    return ICF_RESULT_OK;
}

#ifndef ICF_NO_WORLD
// ------------------------------------------------------------------------------------------------
// Layer 9: the world: bodies, joints, time
// >>world-state
/* Offers to those below: icfi_blend, icfi_body, ICFI_BODY_COOKIE, icfi_constraint, ICFI_CONSTRAINT_COOKIE,
   icfi_contact_cache, icfi_copy_bytes, icfi_def_of, icfi_dump, icfi_find_body, icfi_find_constraint,
   icfi_find_joint, icfi_free_dofs, icfi_front_open, icfi_hash_number, icfi_header, icfi_header_of,
   icfi_inertia, icfi_inertia_is_valid, icfi_is_dynamic, icfi_joint, ICFI_JOINT_COOKIE, icfi_joint_dofs,
   icfi_kind_of, icfi_largest_tree, icfi_load_motion, icfi_locks_of, icfi_make_room, icfi_motion,
   icfi_named_body, icfi_named_joint, icfi_named_record, icfi_rotate_on, icfi_rotation_of, icfi_row_owner,
   icfi_session, icfi_sim, icfi_sim_open, icfi_slot_drop, icfi_slot_take, icfi_solver_guess, icfi_spatial,
   icfi_table_at, icfi_touching, icfi_tree_most, icfi_world_full, icfi_world_grow, icfi_world_is,
   icfi_world_place, icfi_world_refuse, icfi_world_tree */

/* A clique of the solver is a tree: a root body with all bodies joined to it. The root is free (6 velocities:
   of its centre of mass, and angular), or hangs on the ground. A step goes in substeps h:

     the free velocities v* of each tree (after the substep if nothing touched it) and its mass matrix A,
       both with dampers and springs (SAP (13) to (17), as corrected)
     links: one for each pair of bodies that touch, one for each constraint, one for each velocity of
       a joint with a motor, dry friction or a limit; and the cliques that they read
     icf_solve, from the velocities before, with the impulses before as the impulses to expect
     with constraints: again, until the tension is as expected. If that makes energy, or leaves bodies
       apart, again with constraints made linear at the end (>>world-problem, "tension")
     positions, from the new velocities and, for the midpoint rule, half of the old

   Everything happens in scratch memory; the end of the step copies it into the state. The block is

     [ header | bodies | joints | constraints | contacts of the last step ]             the state
     [ session | scratch | results | touches | the solver's workspace ]                 the cache

   The cache hands only two things to a later step: the touches that the caller added, and the order of
   trees, a function of the state. */

#define ICFI_WORLD_MAGIC 0x1cf30001u /* shows the order of bytes, too */
#define ICFI_WORLD_COOKIE 0x1cf0aaaa
#define ICFI_BODY_COOKIE 0x1cf0b0d1
#define ICFI_JOINT_COOKIE 0x1cf0701f
#define ICFI_CONSTRAINT_COOKIE 0x1cf0c0f5

/* The state is a header and four tables of records. */
typedef enum icfi_table {
    ICFI_BODIES,
    ICFI_JOINTS,
    ICFI_CONSTRAINTS,
    ICFI_CONTACTS, /* as the last step left them */
    ICFI_TABLES
} icfi_table;

/* Records hold reals first, then 64 and 32 bits. So they have no padding, and a hash can read them number by
   number. Records that the caller has names for end with this: */
typedef struct icfi_slot {
    uint32_t generation, flags;
    int32_t next; /* the next free slot */
} icfi_slot;

typedef struct icfi_motion {
    icf_quat q;
    icf_vec3 x, v, w; /* of the centre of mass */
} icfi_motion;

typedef struct icfi_body {
    icfi_motion m;
    icf_real mass;
    icf_vec3 center;
    icf_real inertia[6]; /* xx, yy, zz, xy, xz, yz, about the centre of mass */
    icf_vec3 force, torque;
    icf_real linear_damping, angular_damping, gravity_scale;
    uint64_t user;
    int32_t joint; /* the joint that holds it, -1: none */
    icfi_slot slot;
} icfi_body;

typedef struct icfi_joint {
    /* position to effort: in the order of icf_joint_def, and copied in one piece */
    icf_real position[4], velocity[3], rest[4], stiffness, damping, rotor_inertia, gear_ratio;
    icf_real dry_friction, lower[3], upper[3], motor_stiffness, motor_damping;
    icf_real target[4], target_velocity[3], feedforward[3], effort;
    icf_real effort_now[3];
    icf_real slid[3];       /* how far each velocity has led since its dry friction stuck */
    icf_transform frame[2]; /* on the parent, on the child */
    uint64_t user;
    int32_t parent, child; /* slots; parent -1: the ground */
    int32_t kind;
    icfi_slot slot;
} icfi_joint;

typedef char icfi_joint_row[offsetof(icf_joint_def, effort) - offsetof(icf_joint_def, position) ==
                                    offsetof(icfi_joint, effort)
                                ? 1
                                : -1];

typedef struct icfi_constraint {
    icf_transform frame[2];
    icf_real lower, upper, stiffness, damping, length, offset, ratio[4];
    icf_real force[6]; /* the forces of its rows in the last substep, N and N m */
    uint64_t user;
    int32_t body[2]; /* slots, -1: the ground */
    int32_t joint[4], number[4];
    int32_t kind, joints, spare;
    icfi_slot slot;
} icfi_constraint;

/* Where a contact stuck: see >>touches */
typedef struct icfi_anchor {
    icf_vec3 at[2]; /* the points of A and B that were together, from their centres */
    /* how far B has turned since, relative to A, for torsion and rolling; in the axes of icfi_turn_side */
    icf_vec3 turn;
    icf_real stick;   /* the slip up to which it sticks, m/s; below 0: it slips; 0: no anchor */
    icf_real carried; /* how fast the last step ran against its displacement, m/s */
} icfi_anchor;

/* A contact that acted in the last step. After these in the table: contacts whose friction could have
   acted */
typedef struct icfi_contact_cache {
    icf_vec3 impulse; /* of its last substep, along t1, t2, normal */
    icf_lag lag;
    icfi_anchor anchor;
    uint64_t id;
    int32_t body[2];
} icfi_contact_cache;

/* The capacities of a world; at the end of its header */
typedef struct icfi_room {
    uint64_t solver;
    int32_t most[ICFI_TABLES], tree, spare;
} icfi_room;

typedef struct icfi_header {
    icf_vec3 gravity;
    icf_real tolerance, time;
    icf_real h;           /* the last substep, s: bodies with ICFI_TURNED turned for this long */
    icf_real hold;        /* constraints are as stiff as for this step, s */
    icf_real step_before; /* the longest substep before, s; long ago ones count less */
    uint64_t checksum, steps;
    icfi_room room;
    uint32_t magic, version, real;
    uint32_t posed;                /* 1: the caller moved something since the last step */
    uint32_t record[ICFI_TABLES];  /* sizes of the records above, in bytes */
    int32_t end[ICFI_TABLES];      /* the number of records ever used */
    int32_t unused[ICFI_CONTACTS]; /* first free record of each table with names, -1: none */
    int32_t pressed;               /* the first so many contacts acted */
    int32_t method, substeps, iterations, passes, model, settle, anchors, spare;
} icfi_header;

/* ICFI_KEPT: the constraint was fulfilled once since it was made or the caller moved anything */
enum { ICFI_ALIVE = 1, ICFI_KIND_SHIFT = 1, ICFI_KEPT = 2, ICFI_TURNED = 8, ICFI_LOCKS_SHIFT = 8 };

/* A body and its joint at a place in the order of trees: parents come before children. */
typedef struct icfi_world_place {
    int32_t body, joint; /* slots; joint -1: the free root of a tree */
    int32_t parent;      /* a place, -1: none, or a carrier outside the tree */
    int32_t dof, dofs;   /* its velocities, as numbered in the tree */
} icfi_world_place;

typedef struct icfi_world_tree {
    int32_t first, places; /* in the order */
    int32_t dof, dofs;     /* as numbered in vectors of all velocities */
    int32_t carrier;       /* slot of the static or kinematic body that carries it, -1: none */
    int32_t single;        /* 1: a free body alone */
    int32_t clique;        /* in this step's problem, -1: untouched */
    size_t mass_at;        /* its block of A, if not single */
    icf_vec3 origin;       /* of spatial vectors: the centre of mass of its first body */
} icfi_world_tree;

/* Spatial vectors: angular part, linear part */
typedef struct icfi_spatial {
    icf_vec3 a, l;
} icfi_spatial;

typedef struct icfi_inertia {
    icf_real mass;
    icf_vec3 moment;   /* mass times centre */
    icf_real about[6]; /* xx, yy, zz, xy, xz, yz about the origin */
} icfi_inertia;

/* A touch during a step, and its results */
typedef struct icfi_touching {
    icf_vec3 at[2];  /* the point, in the axes of each body or of the world; for substeps */
    int32_t body[2]; /* slots, -1: the ground */
    int32_t memory;  /* its contact in the cache, -1: none */
    int32_t contact; /* in the problem, -1: neither side moves */
    icf_real normal_impulse;
    icfi_anchor anchor;
    icf_vec3 slid, turned; /* how far B is from where it stuck, in the axes of the world */
    icf_real wanders;      /* the part of its way since then that the contact made on B, squared */
    icf_touch_result out;  /* what icf_world_get_touch answers */
} icfi_touching;

/* The owner of each row of the problem that is not a contact's. joint, constraint: a slot or -1; number: of
   the velocity or axis; what: 0 motor, 1 limit, 2 dry friction */
typedef struct icfi_row_owner {
    int32_t joint, constraint, number, what;
} icfi_row_owner;

typedef struct icfi_session {
    icf_stats stats;
    icf_workspace workspace;
    int32_t sorted; /* the order of trees is up to date */
    int32_t trees, dofs;
    int32_t touches, surfaces; /* for the next step */
    int32_t solved;            /* there are results */
    int32_t looking;           /* world.look_again is running: no step inside a step */
    int32_t results;           /* touches in the results */
    int32_t memories, pressed; /* for the header, from this step */
    int32_t events;
    icf_real dt, h, hold, step_before, dissipated, penetration;
    size_t largest; /* velocities of the largest tree */
} icfi_session;

/* The buffer for the problem of a step, and the result of writing it */
typedef struct icfi_dump {
    char* text;
    size_t capacity;
    size_t* length;
    icf_result result;
    int written;
} icfi_dump;

/* Everything in the block, by pointers that last for one call. */
typedef struct icfi_sim {
    icf_world* world;
    icfi_header* header;
    unsigned char* tables[ICFI_TABLES]; /* and the same by type: */
    icfi_body* body;
    icfi_joint* joint;
    icfi_constraint* constraint;
    icfi_contact_cache* memory;

    icfi_session* session;
    icfi_world_tree* tree;
    icfi_world_place* place;
    int32_t *place_of, *tree_of;                          /* of each body */
    icfi_motion *motion, *half;                           /* of each body */
    icf_real *position, *half_position, *velocity, *slid; /* of each joint: 4, 4, 3, 3 */
    icfi_spatial* column;                      /* of each velocity of a tree: the motion that it
                                                      makes */
    uint8_t* by_parent;                        /* 1: the column moves with the parent */
    icfi_spatial *speed, *rate, *push, *outer; /* of each place */
    /* of each place: the inertia about its centre in the axes of the world: xx, yy, zz, xy, xz, yz */
    icf_real* own_inertia;
    icfi_inertia* inertia;
    icf_real *v0, *v_free, *v, *change;
    icf_real *mass, *factor;

    /* the problem */
    int32_t *size, *is_body, *link_rows, *link_start, *block_clique, *block_columns, *island_of;
    icf_lever* block_lever;
    icf_real *problem_mass, *problem_factor, *problem_v_free, *problem_v_last, *problem_v, *blocks,
        *bias;
    icf_contact* contact;
    icf_surface* surface; /* of the touches */
    icf_row* row;
    icfi_row_owner* owner;
    icf_island* island;

    icf_touch* touch;
    icfi_touching* touching;
    icf_real* joint_work;               /* 9 impulses of each joint: motor, limit, dry friction */
    icf_real* constraint_work;          /* 6 of each constraint */
    icf_real *tension, *tension_before; /* likewise: the expected forces of its rows */
    icfi_motion *start, *end;           /* for `motion`: now, or as the last solve would end */
    int32_t pass;                       /* solves of this substep so far */
    icf_real *stiffening, *stiffening_before; /* of each body: xx, yy, zz, xy, xz, yz */
    icfi_contact_cache* memory_next;
    int32_t* table; /* of the memories, by hash */
    uint8_t* met;   /* 1: a touch belongs to this memory */
    icf_event* event;
    unsigned char* workspace;
    size_t workspace_bytes, table_size;

    /* the substep */
    icf_problem problem;
    icfi_dump* dump;           /* where to write the problem of the first substep, or NULL */
    int32_t substep;           /* its number in the step */
    int32_t parts, parts_most; /* substeps in this step, and the most there can be */
    icf_result worst;          /* of the substeps before this one */
    icf_real h, turned;        /* turned: the h of the substep before, in which bodies turned */
    /* theta: share of the new velocity in the motion, and of the new state in springs and dampers */
    icf_real blend;
    size_t mass_used;   /* numbers in the blocks of A */
    int32_t velocities; /* of the cliques */
    size_t block_used;  /* numbers in blocks, which lie at the start of the workspace */
} icfi_sim;

/* ---- small math ---- */

/* These wrappers are called, not inlined: the code is long, and has many callers. */
static ICFI_NOINLINE icf_quat icfi_rotation_of(icf_vec3 r)
{
    return icf_quat_from_rotation_vector(r);
}

static ICFI_NOINLINE icf_quat icfi_rotate_on(icf_quat q, icf_vec3 w, icf_real h)
{
    return icf_quat_integrate(q, w, h);
}

/* share a + (1 - share) b */
static inline icf_vec3 icfi_blend(icf_real share, icf_vec3 a, icf_vec3 b)
{
    return icf_vec3_add_scaled(icf_vec3_scale(share, a), 1 - share, b);
}

/* ---- capacities and the block ---- */

ICF_API icf_world_def icf_default_world_def(void)
{
    icf_options options = icf_default_options();
    icf_world_def d;
    ICFI_MEMSET(&d, 0, sizeof d);
    d.bodies = 64;
    d.joints = 64;
    d.constraints = 16;
    d.contacts = 256;
    d.gravity.z = -ICF_R(9.81);
    d.substeps = 1;
    d.settle = d.anchors = 1;
    d.passes = 2;
    d.tolerance = options.tolerance;
    d.iterations = options.iterations;
    d.cookie = ICFI_WORLD_COOKIE;
    return d;
}

static icf_result icfi_world_refuse(icf_world* w, icf_result result, int32_t which,
                                    const char* reason)
{
    w->reason = reason;
    w->which = which;
    return result;
}

static icf_result icfi_world_full(icf_world* w, const char* what, size_t needed)
{
    w->reason = what;
    w->needed = needed;
    w->which = 0;
    return ICF_RESULT_TOO_SMALL;
}

static const char* icfi_world_def_check(const icf_world_def* d)
{
    const icf_real all[] = {d->gravity.x, d->gravity.y, d->gravity.z, d->tolerance};
    const int32_t most = sizeof(size_t) < 4 ? 0x3fff : 0x3ffffff;
    if (!icfi_all_finite(4, all)) return "gravity or tolerance: not finite";
    if (d->bodies < 0 || d->bodies > most) return "bodies";
    if (d->joints < 0 || d->joints > most) return "joints";
    if (d->constraints < 0 || d->constraints > most) return "constraints";
    if (d->contacts < 0 || d->contacts > most) return "contacts";
    if (d->tree < 0 || d->tree > 46000) return "tree";
    if (d->method < ICF_METHOD_SYMPLECTIC_EULER || d->method > ICF_METHOD_IMPLICIT_EULER)
        return "method";
    if (d->substeps < 1 || d->substeps > 1000000) return "substeps";
    if (d->model < ICF_MODEL_LAGGED || d->model > ICFI_LAST_MODEL) return "model";
    if (d->settle < 0 || d->settle > 1) return "settle";
    if (d->anchors < 0 || d->anchors > 1) return "anchors";
    if (d->tolerance < 0) return "tolerance";
    if (d->iterations < 0) return "iterations";
    if (d->passes < 0) return "passes";
    return NULL;
}

static icfi_room icfi_room_of(const icf_world_def* d)
{
    icfi_room r;
    ICFI_MEMSET(&r, 0, sizeof r);
    r.solver = d->solver;
    r.most[ICFI_BODIES] = d->bodies;
    r.most[ICFI_JOINTS] = d->joints;
    r.most[ICFI_CONSTRAINTS] = d->constraints;
    r.most[ICFI_CONTACTS] = d->contacts;
    r.tree = d->tree;
    return r;
}

/* Everything in a def except the room */
static void icfi_header_set(icfi_header* h, const icf_world_def* d)
{
    h->gravity = d->gravity;
    h->method = d->method;
    h->substeps = d->substeps;
    h->model = d->model;
    h->settle = d->settle;
    h->anchors = d->anchors;
    h->tolerance = d->tolerance;
    h->iterations = d->iterations;
    h->passes = d->passes;
}

/* The header of an empty world */
static void icfi_header_make(icfi_header* h, const icf_world_def* d)
{
    int32_t i;
    ICFI_MEMSET(h, 0, sizeof *h);
    h->magic = ICFI_WORLD_MAGIC;
    h->version = ICF_VERSION;
    h->real = sizeof(icf_real);
    h->record[ICFI_BODIES] = sizeof(icfi_body);
    h->record[ICFI_JOINTS] = sizeof(icfi_joint);
    h->record[ICFI_CONSTRAINTS] = sizeof(icfi_constraint);
    h->record[ICFI_CONTACTS] = sizeof(icfi_contact_cache);
    for (i = 0; i < ICFI_CONTACTS; i++) h->unused[i] = -1;
    h->room = icfi_room_of(d);
    icfi_header_set(h, d);
}

/* The def that a header was made from */
static ICFI_NOINLINE icf_world_def icfi_def_of(const icfi_header* h)
{
    icf_world_def d = icf_default_world_def();
    d.bodies = h->room.most[ICFI_BODIES];
    d.joints = h->room.most[ICFI_JOINTS];
    d.constraints = h->room.most[ICFI_CONSTRAINTS];
    d.contacts = h->room.most[ICFI_CONTACTS];
    d.tree = h->room.tree;
    d.solver = (size_t)h->room.solver;
    d.gravity = h->gravity;
    d.method = h->method;
    d.substeps = h->substeps;
    d.model = h->model;
    d.settle = h->settle;
    d.anchors = h->anchors;
    d.tolerance = h->tolerance;
    d.iterations = h->iterations;
    d.passes = h->passes;
    return d;
}

/* The largest tree that fits; a guess if the def does not say */
static size_t icfi_tree_most(const icfi_room* r)
{
    if (r->tree) return (size_t)r->tree < 6 ? 6 : (size_t)r->tree;
    return r->most[ICFI_JOINTS] < 19 ? 6 + 3 * (size_t)r->most[ICFI_JOINTS] : 63;
}

/* Room for the mass matrices, in numbers. The velocities of all trees add up to the total, and no tree
   exceeds the largest. */
static size_t icfi_mass_room(const icfi_room* r)
{
    const int32_t b = r->most[ICFI_BODIES], j = r->most[ICFI_JOINTS];
    /* a tree of 6 + k velocities takes 36 + k (12 + k) */
    return icfi_times(36 + 3 * (icfi_tree_most(r) + 6), (size_t)(j < b ? j : b));
}

/* A guess of the memory for the blocks and the solver of a step at these capacities. It assumes factors of
   piles that are not too wide, and, if there are joints, half of the contacts on trees. The solver can work
   with less. */
static size_t icfi_solver_guess(const icfi_room* room)
{
    const size_t b = (size_t)room->most[ICFI_BODIES], j = (size_t)room->most[ICFI_JOINTS],
                 r = sizeof(icf_real);
    /* a constraint may have six rows, and each body one more link (against turning) */
    size_t links = (size_t)room->most[ICFI_CONTACTS] + 3 * (size_t)room->most[ICFI_CONSTRAINTS];
    size_t bodies = b < 2 * links ? b : 2 * links;
    size_t n = icfi_plus(icfi_times(1100, links), icfi_times(1500, bodies));
    n = icfi_plus(n, icfi_times(r * 222, links + bodies));
    if (j) {
        n = icfi_plus(n, icfi_times(r * (3 * (links / 8) + j + 12), icfi_tree_most(room)));
        n = icfi_plus(n, icfi_times(1500, j));
        /* the one-velocity links of joints, and A, its factor and similar matrices */
        n = icfi_plus(n, icfi_times(2 * r, icfi_mass_room(room)));
    }
    return icfi_plus(n, 4096);
}

#define ICFI_TAKE(pointer, type, count) \
    do { \
        if (memory) { \
            s->pointer = ICFI_AT(type, memory, at); \
            at += icfi_granules((size_t)(count) * sizeof(type)); \
        } else if (arena) { \
            (void)icfi_arena_take(arena, (size_t)(count), sizeof(type)); \
            s->pointer = NULL; \
        } \
    } while (0)

/* Lays out the front of a block: the state, and everything that calls between steps read. Answers where the
   rest begins. */
static size_t icfi_front_layout(const icfi_header* h, unsigned char* memory, icfi_arena* arena,
                                icfi_sim* s)
{
    size_t b = (size_t)h->room.most[ICFI_BODIES], n = (size_t)h->room.most[ICFI_CONTACTS], at = 0;
    int32_t i;
    ICFI_TAKE(header, icfi_header, 1);
    for (i = 0; i < ICFI_TABLES; i++)
        ICFI_TAKE(tables[i], unsigned char, icfi_times(h->record[i], (size_t)h->room.most[i]));
    s->body = (icfi_body*)(void*)s->tables[ICFI_BODIES];
    s->joint = (icfi_joint*)(void*)s->tables[ICFI_JOINTS];
    s->constraint = (icfi_constraint*)(void*)s->tables[ICFI_CONSTRAINTS];
    s->memory = (icfi_contact_cache*)(void*)s->tables[ICFI_CONTACTS];

    ICFI_TAKE(session, icfi_session, 1);
    ICFI_TAKE(touch, icf_touch, n);
    ICFI_TAKE(surface, icf_surface, n);
    ICFI_TAKE(event, icf_event, 2 * n);
    ICFI_TAKE(motion, icfi_motion, b);
    ICFI_TAKE(touching, icfi_touching, n);
    return at;
}

/* Lays out a block; with an arena instead, finds how large it must be, arena->peak. Every call of a world
   opens its block, so nothing is checked again: the block was measured before it was made. */
static void icfi_world_layout(const icfi_header* h, unsigned char* memory, icfi_arena* arena,
                              icfi_sim* s)
{
    size_t b = (size_t)h->room.most[ICFI_BODIES], j = (size_t)h->room.most[ICFI_JOINTS],
           c = (size_t)h->room.most[ICFI_CONSTRAINTS];
    size_t n = (size_t)h->room.most[ICFI_CONTACTS], dofs = 6 * b + 3 * j, turns = c ? b : 0;
    size_t links = n + c + 6 * j + turns, rows = 12 * j + 6 * c + 3 * turns,
           room = icfi_mass_room(&h->room), size = 4;
    size_t all = icfi_plus(room, 36 * b), at = icfi_front_layout(h, memory, arena, s);
    ICFI_TAKE(tree, icfi_world_tree, b);
    ICFI_TAKE(place, icfi_world_place, b);
    ICFI_TAKE(place_of, int32_t, b);
    ICFI_TAKE(tree_of, int32_t, b);
    ICFI_TAKE(half, icfi_motion, j ? b : 0);
    ICFI_TAKE(position, icf_real, 4 * j);
    ICFI_TAKE(half_position, icf_real, 4 * j);
    ICFI_TAKE(velocity, icf_real, 3 * j);
    ICFI_TAKE(slid, icf_real, 3 * j);
    ICFI_TAKE(column, icfi_spatial, j ? dofs : 0);
    ICFI_TAKE(by_parent, uint8_t, j ? dofs : 0);
    ICFI_TAKE(speed, icfi_spatial, j ? b : 0);
    ICFI_TAKE(rate, icfi_spatial, j ? b : 0);
    ICFI_TAKE(push, icfi_spatial, j ? b : 0);
    ICFI_TAKE(outer, icfi_spatial, j ? b : 0);
    ICFI_TAKE(own_inertia, icf_real, j ? 6 * b : 0);
    ICFI_TAKE(inertia, icfi_inertia, j ? b : 0);
    ICFI_TAKE(v0, icf_real, dofs);
    ICFI_TAKE(v_free, icf_real, dofs);
    ICFI_TAKE(v, icf_real, dofs);
    ICFI_TAKE(change, icf_real, dofs);
    ICFI_TAKE(mass, icf_real, j ? room : 0);
    ICFI_TAKE(factor, icf_real, j ? room : 0);

    ICFI_TAKE(size, int32_t, b);
    ICFI_TAKE(is_body, int32_t, b);
    ICFI_TAKE(link_rows, int32_t, links);
    ICFI_TAKE(link_start, int32_t, links + 1);
    ICFI_TAKE(block_clique, int32_t, 4 * links + 2 * c);
    ICFI_TAKE(block_columns, int32_t, 2 * (4 * links + 2 * c));
    ICFI_TAKE(block_lever, icf_lever, 4 * links + 2 * c);
    ICFI_TAKE(island_of, int32_t, b);
    ICFI_TAKE(island, icf_island, b);
    ICFI_TAKE(problem_mass, icf_real, all);
    ICFI_TAKE(problem_factor, icf_real, all);
    ICFI_TAKE(problem_v_free, icf_real, dofs);
    ICFI_TAKE(problem_v_last, icf_real, dofs);
    ICFI_TAKE(problem_v, icf_real, dofs);
    ICFI_TAKE(bias, icf_real, 6 * links);
    ICFI_TAKE(contact, icf_contact, n);
    ICFI_TAKE(row, icf_row, rows);
    ICFI_TAKE(owner, icfi_row_owner, rows);

    ICFI_TAKE(joint_work, icf_real, 9 * j);
    ICFI_TAKE(constraint_work, icf_real, 6 * c);
    ICFI_TAKE(tension, icf_real, 6 * c);
    ICFI_TAKE(tension_before, icf_real, 6 * c);
    ICFI_TAKE(end, icfi_motion, turns);
    ICFI_TAKE(stiffening, icf_real, 6 * turns);
    ICFI_TAKE(stiffening_before, icf_real, 6 * turns);
    ICFI_TAKE(memory_next, icfi_contact_cache, n);
    while (size < 2 * n) size *= 2;
    s->table_size = size;
    ICFI_TAKE(table, int32_t, size);
    ICFI_TAKE(met, uint8_t, n);
    s->workspace_bytes = h->room.solver ? (size_t)h->room.solver : icfi_solver_guess(&h->room);
    ICFI_TAKE(workspace, unsigned char, s->workspace_bytes);
    s->blocks = (icf_real*)(void*)s->workspace;
}
#undef ICFI_TAKE

static int icfi_world_is(const icf_world* w)
{
    return w && w->memory && ICFI_AT(const icfi_header, w->memory, 0)->magic == ICFI_WORLD_MAGIC;
}

static icfi_header* icfi_header_of(const icf_world* w)
{
    return ICFI_AT(icfi_header, w->memory, 0);
}

/* One table alone, for frequent calls. The tables follow the header. */
static unsigned char* icfi_table_at(const icf_world* w, int32_t table)
{
    const icfi_header* h = icfi_header_of(w);
    size_t at = icfi_granules(sizeof *h);
    int32_t i;
    for (i = 0; i < table; i++) at += icfi_granules(h->record[i] * (size_t)h->room.most[i]);
    return ICFI_AT(unsigned char, w->memory, at);
}

static icfi_slot* icfi_slot_in(const icfi_header* h, unsigned char* table, int32_t kind, int32_t i)
{
    return ICFI_AT(icfi_slot, table, h->record[kind] * ((size_t)i + 1) - sizeof(icfi_slot));
}

/* The record with a name, or NULL */
static void* icfi_find_record(const icf_world* w, int32_t kind, uint32_t index, uint32_t generation)
{
    const icfi_header* h;
    const icfi_slot* slot;
    unsigned char* table;
    if (!icfi_world_is(w) || !generation) return NULL;
    h = icfi_header_of(w);
    if (index >= (uint32_t)h->end[kind]) return NULL;
    table = icfi_table_at(w, kind);
    slot = icfi_slot_in(h, table, kind, (int32_t)index);
    if (!(slot->flags & ICFI_ALIVE) || slot->generation != generation) return NULL;
    return table + h->record[kind] * (size_t)index;
}

static icfi_body* icfi_find_body(const icf_world* w, icf_body name)
{
    return (icfi_body*)icfi_find_record(w, ICFI_BODIES, name.index, name.generation);
}

static icfi_joint* icfi_find_joint(const icf_world* w, icf_joint name)
{
    return (icfi_joint*)icfi_find_record(w, ICFI_JOINTS, name.index, name.generation);
}

static icfi_constraint* icfi_find_constraint(const icf_world* w, icf_constraint name)
{
    return (icfi_constraint*)icfi_find_record(w, ICFI_CONSTRAINTS, name.index, name.generation);
}

/* The same for an argument of a call that changes the world; if there is none, sets the reason. */
static void* icfi_named_record(icf_world* w, int32_t kind, uint32_t index, uint32_t generation)
{
    static const char reason[][20] = {"no such body", "no such joint", "no such constraint"};
    void* record = icfi_find_record(w, kind, index, generation);
    if (!record && w)
        (void)icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, (int32_t)index, reason[kind]);
    return record;
}

static icfi_body* icfi_named_body(icf_world* w, icf_body name)
{
    return (icfi_body*)icfi_named_record(w, ICFI_BODIES, name.index, name.generation);
}

static icfi_joint* icfi_named_joint(icf_world* w, icf_joint name)
{
    return (icfi_joint*)icfi_named_record(w, ICFI_JOINTS, name.index, name.generation);
}

static ICFI_NOINLINE void icfi_sim_open(const icf_world* w, icfi_sim* s)
{
    ICFI_MEMSET(s, 0, sizeof *s);
    icfi_world_layout(icfi_header_of(w), (unsigned char*)w->memory, NULL, s);
    s->start = s->motion;
}

/* Opens only the part that icfi_front_layout lays out. */
static void icfi_front_open(const icf_world* w, icfi_sim* s)
{
    (void)icfi_front_layout(icfi_header_of(w), (unsigned char*)w->memory, NULL, s);
}

static ICFI_NOINLINE size_t icfi_block_bytes(const icfi_header* h)
{
    icfi_arena arena = icfi_arena_measure();
    icfi_sim s;
    icfi_world_layout(h, NULL, &arena, &s);
    return arena.result == ICF_RESULT_OK ? arena.peak : 0;
}

ICF_API size_t icf_world_bytes(const icf_world_def* def)
{
    icfi_header h;
    if (!def || def->cookie != ICFI_WORLD_COOKIE || icfi_world_def_check(def)) return 0;
    icfi_header_make(&h, def);
    return icfi_block_bytes(&h);
}

/* Checks a def; the world keeps the reason. */
static icf_result icfi_def_check(icf_world* w, const icf_world_def* def)
{
    const char* reason;
    if (!w || !def) return ICF_RESULT_BAD_ARGUMENT;
    if (def->cookie != ICFI_WORLD_COOKIE) return ICF_RESULT_BAD_DEF;
    reason = icfi_world_def_check(def);
    return reason ? icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, 0, reason) : ICF_RESULT_OK;
}

/* The same, and whether a block can hold the world */
static icf_result icfi_block_check(icf_world* w, const icf_world_def* def, const void* memory,
                                   size_t bytes)
{
    const icf_result result = icfi_def_check(w, def);
    size_t needed;
    if (result != ICF_RESULT_OK) return result;
    if (!memory) return ICF_RESULT_BAD_ARGUMENT;
    if ((uintptr_t)memory % ICFI_BLOCK_ALIGNMENT) return ICF_RESULT_MISALIGNED;
    needed = icf_world_bytes(def);
    if (!needed) return ICF_RESULT_OVERFLOW;
    return bytes < needed ? icfi_world_full(w, "memory", needed) : ICF_RESULT_OK;
}

/* Writes an empty world into a block, and opens it. */
static void icfi_block_make(icf_world* w, void* memory, size_t bytes, const icf_world_def* def,
                            icfi_sim* s)
{
    w->memory = memory;
    w->bytes = bytes;
    icfi_header_make(icfi_header_of(w), def);
    icfi_sim_open(w, s);
    ICFI_MEMSET(s->session, 0, sizeof *s->session);
}

ICF_API icf_result icf_world_init(icf_world* world, void* memory, size_t bytes,
                                  const icf_world_def* def)
{
    icfi_sim s;
    const icf_result result = icfi_block_check(world, def, memory, bytes);
    if (result != ICF_RESULT_OK) return result;
    ICFI_MEMSET(world, 0, sizeof *world);
    icfi_block_make(world, memory, bytes, def, &s);
    return ICF_RESULT_OK;
}

static void icfi_copy_bytes(void* to, const void* from, size_t count)
{
    if (count) ICFI_MEMCPY(to, from, count);
}

static void icfi_copy_tables(const icfi_header* h, const unsigned char* const* from,
                             unsigned char* const* to)
{
    int32_t i;
    for (i = 0; i < ICFI_TABLES; i++)
        icfi_copy_bytes(to[i], from[i], h->record[i] * (size_t)h->end[i]);
}

/* Copies the state and the touches into a block with other capacities. */
static void icfi_state_copy(const icfi_sim* from, icfi_sim* to)
{
    icfi_room room = to->header->room;
    *to->header = *from->header;
    to->header->room = room;
    icfi_copy_tables(from->header, (const unsigned char* const*)from->tables, to->tables);
    to->session->touches = from->session->touches;
    to->session->surfaces = from->session->surfaces;
    icfi_copy_bytes(to->touch, from->touch, (size_t)to->session->touches * sizeof(icf_touch));
    icfi_copy_bytes(to->surface, from->surface,
                    (size_t)to->session->surfaces * sizeof(icf_surface));
}

static icf_result icfi_table_full(icf_world* w, int32_t table, int32_t needed)
{
    static const char what[][12] = {"bodies", "joints", "constraints", "contacts"};
    return icfi_world_full(w, what[table], (size_t)needed);
}

static size_t icfi_largest_tree(icfi_sim* s);

/* Whether a world fits into the capacities of a def */
/* The room that the touches for the next step take, and their surfaces */
static int32_t icfi_given(const icfi_sim* s)
{
    const icfi_session* g = s->session;
    return g->touches > g->surfaces ? g->touches : g->surfaces;
}

static icf_result icfi_room_check(icf_world* w, icfi_sim* s, const icf_world_def* def)
{
    const icfi_room room = icfi_room_of(def);
    int32_t i, needed;
    for (i = 0; i < ICFI_TABLES; i++) {
        needed = s->header->end[i];
        if (i == ICFI_CONTACTS && needed < icfi_given(s)) needed = icfi_given(s);
        if (room.most[i] < needed) return icfi_table_full(w, i, needed);
    }
    if (icfi_largest_tree(s) > icfi_tree_most(&room))
        return icfi_world_full(w, "tree", icfi_largest_tree(s));
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_world_move(icf_world* world, void* memory, size_t bytes,
                                  const icf_world_def* def)
{
    icf_world next;
    icfi_sim from, to;
    icf_result result;
    if (!icfi_world_is(world)) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_block_check(world, def, memory, bytes);
    if (result != ICF_RESULT_OK) return result;
    icfi_sim_open(world, &from);
    result = icfi_room_check(world, &from, def);
    if (result != ICF_RESULT_OK) return result;
    next = *world;
    next.owner = 0;
    icfi_block_make(&next, memory, bytes, def, &to);
    icfi_state_copy(&from, &to);
#ifndef ICF_NO_MALLOC
    if (world->owner) ICF_FREE(world->memory);
#endif
    *world = next;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_world_get_def(const icf_world* world, icf_world_def* def)
{
    if (!icfi_world_is(world) || !def) return ICF_RESULT_BAD_ARGUMENT;
    *def = icfi_def_of(icfi_header_of(world));
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_world_set_def(icf_world* world, const icf_world_def* def)
{
    icf_result result;
    if (!icfi_world_is(world)) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_def_check(world, def);
    if (result == ICF_RESULT_OK) icfi_header_set(icfi_header_of(world), def);
    return result;
}

#ifndef ICF_NO_MALLOC
/* Makes a world in a new block, or moves it there. */
static icf_result icfi_world_allocate(icf_world* w, const icf_world_def* def, int move)
{
    const size_t bytes = icf_world_bytes(def);
    icf_result result;
    void* memory;
    if (!bytes) return ICF_RESULT_OVERFLOW;
    memory = ICF_MALLOC(bytes);
    if (!memory) return ICF_RESULT_NO_MEMORY;
    result = move ? icf_world_move(w, memory, bytes, def) : icf_world_init(w, memory, bytes, def);
    if (result == ICF_RESULT_OK) {
        w->owner = 1;
    } else {
        ICF_FREE(memory);
    }
    return result;
}

ICF_API icf_result icf_world_create(icf_world* world, const icf_world_def* def)
{
    const icf_result result = icfi_def_check(world, def);
    return result == ICF_RESULT_OK ? icfi_world_allocate(world, def, 0) : result;
}

ICF_API void icf_world_destroy(icf_world* world)
{
    if (!world) return;
    if (world->owner) ICF_FREE(world->memory);
    ICFI_MEMSET(world, 0, sizeof *world);
}

ICF_API icf_result icf_world_clone(icf_world* copy, const icf_world* world)
{
    icf_world_def def;
    icf_result result;
    icfi_sim from, to;
    if (!copy || !icfi_world_is(world)) return ICF_RESULT_BAD_ARGUMENT;
    def = icfi_def_of(icfi_header_of(world));
    result = icf_world_create(copy, &def);
    if (result != ICF_RESULT_OK) return result;
    copy->should_stop = world->should_stop;
    copy->user = world->user;
    icfi_sim_open(world, &from);
    icfi_sim_open(copy, &to);
    icfi_state_copy(&from, &to);
    return ICF_RESULT_OK;
}

static ICFI_NOINLINE size_t icfi_largest_tree_of(const icf_world* w)
{
    icfi_sim s;
    icfi_sim_open(w, &s);
    return icfi_largest_tree(&s);
}

/* Moves a created world into a new block with other capacities, and room for its trees. */
static ICFI_NOINLINE icf_result icfi_world_grow(icf_world* w, const icf_world_def* wanted)
{
    icf_world_def def = *wanted;
    const icfi_room room = icfi_room_of(&def);
    const size_t largest = icfi_largest_tree_of(w);
    if (largest > icfi_tree_most(&room)) def.tree = (int32_t)largest;
    return icfi_world_allocate(w, &def, 1);
}
#else
static icf_result icfi_world_grow(icf_world* w, const icf_world_def* wanted)
{
    (void)w;
    (void)wanted;
    return ICF_RESULT_TOO_SMALL;
}
#endif

/* Makes room for `needed` records of a table. A world that can grow doubles it. */
static icf_result icfi_make_room(icf_world* w, int32_t table, int32_t needed)
{
    icf_world_def d = icfi_def_of(icfi_header_of(w));
    int32_t* const most[ICFI_TABLES] = {&d.bodies, &d.joints, &d.constraints, &d.contacts};
    if (needed <= *most[table]) return ICF_RESULT_OK;
    if (!w->owner) return icfi_table_full(w, table, needed);
    *most[table] = needed < 0x1fffffff ? 2 * needed : needed;
    return icfi_world_grow(w, &d);
}

/* Takes a slot for a new record, zero except for its name. This may move the block: open it again. */
static icf_result icfi_slot_take(icf_world* w, int32_t kind, int32_t* i)
{
    icfi_header* h = icfi_header_of(w);
    icfi_slot* slot;
    uint32_t generation = 0;
    *i = h->unused[kind];
    if (*i < 0) {
        icf_result result = icfi_make_room(w, kind, h->end[kind] + 1);
        if (result != ICF_RESULT_OK) return result;
        h = icfi_header_of(w);
        *i = h->end[kind]++;
        slot = icfi_slot_in(h, icfi_table_at(w, kind), kind, *i);
    } else {
        slot = icfi_slot_in(h, icfi_table_at(w, kind), kind, *i);
        h->unused[kind] = slot->next;
        generation = slot->generation;
    }
    ICFI_MEMSET(ICFI_AT(unsigned char, slot + 1, 0) - h->record[kind], 0, h->record[kind]);
    slot->generation = generation + 1;
    slot->flags = ICFI_ALIVE;
    slot->next = -1;
    return ICF_RESULT_OK;
}

/* Frees a slot: its name is no longer valid. The next new record takes this slot. */
static void icfi_slot_drop(icfi_sim* s, int32_t kind, int32_t i)
{
    icfi_slot* slot = icfi_slot_in(s->header, s->tables[kind], kind, i);
    slot->flags = 0;
    slot->generation++;
    slot->next = s->header->unused[kind];
    s->header->unused[kind] = i;
    s->session->solved = 0;
}

/* ---- saving ---- */

/* FNV-1a over numbers, not bytes: the order of bytes then makes no difference */
static uint64_t icfi_hash_number(uint64_t hash, uint64_t x)
{
    return (hash ^ x) * (uint64_t)0x100000001b3u;
}

/* The next 8 bytes: one number of 64 bits, or two of 32 */
static inline uint64_t icfi_hash_load(const unsigned char* p, size_t size)
{
    uint64_t x;
    uint32_t half[2];
    if (size == 8) {
        ICFI_MEMCPY(&x, p, 8);
        return x;
    }
    ICFI_MEMCPY(half, p, 8);
    return half[0] | (uint64_t)half[1] << 32;
}

static inline uint64_t icfi_hash_mix(uint64_t hash, uint64_t x)
{
    hash = icfi_hash_number(hash, x);
    return hash ^ hash >> 29; /* lets the high bits reach the whole hash, too */
}

/* Hashes `count` times eight bytes, of numbers of `size` bytes, into four streams. The streams do not wait
   for each other. */
ICFI_FORCE_INLINE void icfi_hash_stream(uint64_t h[4], const unsigned char* p, size_t count,
                                        size_t size)
{
    uint64_t a = h[0], b = h[1], c = h[2], d = h[3];
    for (; count >= 4; count -= 4, p += 32) {
        a = icfi_hash_mix(a, icfi_hash_load(p, size));
        b = icfi_hash_mix(b, icfi_hash_load(p + 8, size));
        c = icfi_hash_mix(c, icfi_hash_load(p + 16, size));
        d = icfi_hash_mix(d, icfi_hash_load(p + 24, size));
    }
    if (count > 0) a = icfi_hash_mix(a, icfi_hash_load(p, size));
    if (count > 1) b = icfi_hash_mix(b, icfi_hash_load(p + 8, size));
    if (count > 2) c = icfi_hash_mix(c, icfi_hash_load(p + 16, size));
    h[0] = a;
    h[1] = b;
    h[2] = c;
    h[3] = d;
}

/* Records of `reals` reals, `longs` numbers of 64 bits, then numbers of 32 bits. Reals and 32-bit numbers
   each fill a multiple of eight bytes. */
static uint64_t icfi_hash_records(uint64_t hash, const void* data, int32_t count, size_t record,
                                  size_t reals, size_t longs)
{
    const unsigned char* p = (const unsigned char*)data;
    size_t at = reals * sizeof(icf_real), end = at + longs * 8;
    uint64_t h[4];
    int32_t i;
    for (i = 0; i < 4; i++) h[i] = hash + (uint64_t)i;
    for (i = 0; i < count; i++, p += record) {
        icfi_hash_stream(h, p, at / 8, sizeof(icf_real));
        icfi_hash_stream(h, p + at, longs, 8);
        icfi_hash_stream(h, p + end, (record - end) / 8, 4);
    }
    return icfi_hash_mix(icfi_hash_mix(icfi_hash_mix(h[0], h[1]), h[2]), h[3]);
}

#define ICFI_REALS_BEFORE(type, field) (offsetof(type, field) / sizeof(icf_real))

/* A hash of the whole state, except capacities and checksum */
static uint64_t icfi_state_hash(const icfi_header* header, const unsigned char* const* table)
{
    const size_t reals[ICFI_TABLES] = {
        ICFI_REALS_BEFORE(icfi_body, user), ICFI_REALS_BEFORE(icfi_joint, user),
        ICFI_REALS_BEFORE(icfi_constraint, user), ICFI_REALS_BEFORE(icfi_contact_cache, id)};
    uint64_t hash = ((uint64_t)0xcbf29ce4u << 32) | 0x84222325u;
    icfi_header h = *header;
    int32_t i;
    h.checksum = 0;
    ICFI_MEMSET(&h.room, 0, sizeof h.room);
    hash = icfi_hash_records(hash, &h, 1, sizeof h, ICFI_REALS_BEFORE(icfi_header, checksum), 3);
    for (i = 0; i < ICFI_TABLES; i++)
        hash = icfi_hash_records(hash, table[i], h.end[i], h.record[i], reals[i], 1);
    return hash;
}

ICF_API uint64_t icf_world_hash(const icf_world* world)
{
    icfi_sim s;
    if (!icfi_world_is(world)) return 0;
    icfi_sim_open(world, &s);
    return icfi_state_hash(s.header, (const unsigned char* const*)s.tables);
}

/* A saved world: the header, then the records of each table that were ever used. They need not be aligned. */
typedef struct icfi_saved {
    icfi_header h;
    const unsigned char* table[ICFI_TABLES];
} icfi_saved;

/* Sets the positions of its tables, and answers its size in bytes. */
static size_t icfi_saved_open(icfi_saved* s, const unsigned char* from)
{
    size_t at = sizeof s->h;
    int32_t i;
    for (i = 0; i < ICFI_TABLES; i++) {
        s->table[i] = from ? from + at : NULL;
        at = icfi_plus(at, icfi_times(s->h.record[i], (size_t)s->h.end[i]));
    }
    return at;
}

/* Of saved bytes, including the capacities */
static uint64_t icfi_checksum(const icfi_saved* s)
{
    uint64_t hash = icfi_state_hash(&s->h, s->table);
    return icfi_hash_records(hash, &s->h.room, 1, sizeof s->h.room, 0, 1);
}

ICF_API size_t icf_world_save_bytes(const icf_world* world)
{
    icfi_saved saved;
    if (!icfi_world_is(world)) return 0;
    saved.h = *icfi_header_of(world);
    return icfi_saved_open(&saved, NULL);
}

ICF_API icf_result icf_world_save(const icf_world* world, void* bytes, size_t capacity)
{
    unsigned char *start = (unsigned char*)bytes, *to;
    icfi_saved saved;
    icfi_sim s;
    int32_t i;
    if (!icfi_world_is(world) || !bytes) return ICF_RESULT_BAD_ARGUMENT;
    if (capacity < icf_world_save_bytes(world)) return ICF_RESULT_TOO_SMALL;
    icfi_sim_open(world, &s);
    saved.h = *s.header;
    (void)icfi_saved_open(&saved, start);
    to = start + sizeof saved.h;
    for (i = 0; i < ICFI_TABLES; i++) {
        size_t n = saved.h.record[i] * (size_t)saved.h.end[i];
        icfi_copy_bytes(to, s.tables[i], n);
        to += n;
    }
    saved.h.checksum = icfi_checksum(&saved);
    ICFI_MEMCPY(start, &saved.h, sizeof saved.h);
    return ICF_RESULT_OK;
}

static int icfi_inertia_is_valid(const icf_real i[6])
{
    icf_real size = icfi_max(icfi_max(i[0], i[1]), i[2]), noise = 100 * ICFI_EPSILON * size;
    icf_real det = i[0] * (i[1] * i[2] - i[5] * i[5]) - i[3] * (i[3] * i[2] - i[5] * i[4]) +
                   i[4] * (i[3] * i[5] - i[1] * i[4]);
    if (i[0] < 0 || i[1] < 0 || i[2] < 0) return 0;
    return i[0] * i[1] - i[3] * i[3] >= -noise * size &&
           i[0] * i[2] - i[4] * i[4] >= -noise * size &&
           i[1] * i[2] - i[5] * i[5] >= -noise * size && det >= -noise * size * size;
}

static uint32_t icfi_kind_of(const icfi_body* b)
{
    return (b->slot.flags >> ICFI_KIND_SHIFT) & 3u;
}

static uint32_t icfi_locks_of(const icfi_body* b)
{
    return b->slot.flags >> ICFI_LOCKS_SHIFT;
}

static int icfi_is_dynamic(const icfi_body* b)
{
    return icfi_kind_of(b) == ICF_BODY_DYNAMIC;
}

static int32_t icfi_joint_dofs(int32_t kind)
{
    switch (kind) {
    case ICF_JOINT_REVOLUTE:
    case ICF_JOINT_PRISMATIC: return 1;
    case ICF_JOINT_BALL:
    case ICF_JOINT_PLANAR: return 3;
    case ICF_JOINT_UNIVERSAL: return 2;
    default: return 0;
    }
}

/* Whether i is a slot, or -1 for none */
static int icfi_slot_is(int32_t i, int32_t end)
{
    return i >= -1 && i < end;
}

/* A copy of one record */
static void icfi_saved_get(const icfi_saved* s, int32_t table, int32_t i, void* record)
{
    ICFI_MEMCPY(record, s->table[table] + s->h.record[table] * (size_t)i, s->h.record[table]);
}

static int icfi_saved_alive(const icfi_saved* s, int32_t i)
{
    icfi_body b;
    if (i < 0) return 1;
    if (i >= s->h.end[ICFI_BODIES]) return 0;
    icfi_saved_get(s, ICFI_BODIES, i, &b);
    return (b.slot.flags & ICFI_ALIVE) != 0;
}

/* Checks bodies: possible numbers, names that fit, and no circle of joints */
static ICFI_NOINLINE int icfi_saved_bodies_are_good(const icfi_saved* s)
{
    int32_t i, k, depth;
    for (i = 0; i < s->h.end[ICFI_BODIES]; i++) {
        icfi_body b;
        icfi_joint j;
        icfi_saved_get(s, ICFI_BODIES, i, &b);
        if (!icfi_slot_is(b.slot.next, s->h.end[ICFI_BODIES])) return 0;
        if (!(b.slot.flags & ICFI_ALIVE)) continue;
        if (icfi_kind_of(&b) > ICF_BODY_KINEMATIC || icfi_locks_of(&b) > 63u) return 0;
        if (!icfi_all_finite(ICFI_REALS_BEFORE(icfi_body, user), ICFI_AT(const icf_real, &b, 0)))
            return 0;
        if (b.mass < 0 || !icfi_inertia_is_valid(b.inertia)) return 0;
        if (!icfi_slot_is(b.joint, s->h.end[ICFI_JOINTS])) return 0;
        if (b.joint < 0) continue;
        icfi_saved_get(s, ICFI_JOINTS, b.joint, &j);
        if (!(j.slot.flags & ICFI_ALIVE) || j.child != i || !icfi_is_dynamic(&b) ||
            icfi_locks_of(&b))
            return 0;
        for (k = i, depth = 0; k >= 0; depth++) {
            if (depth > s->h.end[ICFI_BODIES]) return 0;
            icfi_saved_get(s, ICFI_BODIES, k, &b);
            if (b.joint < 0) break;
            if (b.joint >= s->h.end[ICFI_JOINTS]) return 0;
            icfi_saved_get(s, ICFI_JOINTS, b.joint, &j);
            if (!icfi_slot_is(j.parent, s->h.end[ICFI_BODIES])) return 0;
            k = j.parent;
        }
    }
    return 1;
}

static ICFI_NOINLINE int icfi_saved_rest_is_good(const icfi_saved* s)
{
    int32_t i, k;
    for (i = 0; i < s->h.end[ICFI_JOINTS]; i++) {
        icfi_joint j;
        icfi_body b;
        icfi_saved_get(s, ICFI_JOINTS, i, &j);
        if (!icfi_slot_is(j.slot.next, s->h.end[ICFI_JOINTS])) return 0;
        if (!(j.slot.flags & ICFI_ALIVE)) continue;
        if (j.kind < ICF_JOINT_REVOLUTE || j.kind > ICF_JOINT_WELD) return 0;
        if (!icfi_all_finite(ICFI_REALS_BEFORE(icfi_joint, user), j.position)) return 0;
        if (!icfi_saved_alive(s, j.parent) || j.child < 0 || !icfi_saved_alive(s, j.child))
            return 0;
        icfi_saved_get(s, ICFI_BODIES, j.child, &b);
        if (b.joint != i) return 0;
    }
    for (i = 0; i < s->h.end[ICFI_CONSTRAINTS]; i++) {
        icfi_constraint c;
        icfi_saved_get(s, ICFI_CONSTRAINTS, i, &c);
        if (!icfi_slot_is(c.slot.next, s->h.end[ICFI_CONSTRAINTS])) return 0;
        if (!(c.slot.flags & ICFI_ALIVE)) continue;
        if (c.kind < ICF_CONSTRAINT_WELD || c.kind > ICF_CONSTRAINT_COUPLER) return 0;
        if (!icfi_all_finite(ICFI_REALS_BEFORE(icfi_constraint, user),
                             ICFI_AT(const icf_real, &c, 0)))
            return 0;
        if (c.kind != ICF_CONSTRAINT_COUPLER) {
            if (c.joints != 0 || c.body[0] < -1 || c.body[1] < -1 || c.body[0] == c.body[1])
                return 0;
            if (!icfi_saved_alive(s, c.body[0]) || !icfi_saved_alive(s, c.body[1])) return 0;
            continue;
        }
        if (c.joints < 1 || c.joints > 4) return 0;
        for (k = 0; k < c.joints; k++) {
            icfi_joint j;
            if (c.joint[k] < 0 || c.joint[k] >= s->h.end[ICFI_JOINTS]) return 0;
            icfi_saved_get(s, ICFI_JOINTS, c.joint[k], &j);
            if (!(j.slot.flags & ICFI_ALIVE) || j.kind == ICF_JOINT_BALL) return 0;
            if (c.number[k] < 0 || c.number[k] >= icfi_joint_dofs(j.kind)) return 0;
        }
    }
    for (i = 0; i < s->h.end[ICFI_CONTACTS]; i++) {
        icfi_contact_cache m;
        icfi_saved_get(s, ICFI_CONTACTS, i, &m);
        if (!icfi_all_finite(ICFI_REALS_BEFORE(icfi_contact_cache, id), &m.impulse.x) ||
            !icfi_lag_is_good(&m.lag))
            return 0;
        if (!icfi_slot_is(m.body[0], s->h.end[ICFI_BODIES]) ||
            !icfi_slot_is(m.body[1], s->h.end[ICFI_BODIES]))
            return 0;
    }
    return 1;
}

/* Whether all slots in a list of free slots are free, and the list ends */
static int icfi_saved_list_is_good(const icfi_saved* s, int32_t kind)
{
    const int32_t end = s->h.end[kind];
    int32_t count = 0, i = s->h.unused[kind];
    while (i >= 0) {
        icfi_slot slot;
        if (count++ >= end || i >= end) return 0;
        ICFI_MEMCPY(&slot, s->table[kind] + s->h.record[kind] * ((size_t)i + 1) - sizeof slot,
                    sizeof slot);
        if (slot.flags & ICFI_ALIVE) return 0;
        i = slot.next;
    }
    return i == -1;
}

static ICFI_NOINLINE int icfi_saved_is_good(icfi_saved* s, const unsigned char* from, size_t count)
{
    icfi_header* h = &s->h;
    icf_world_def def = icf_default_world_def();
    icfi_header mine;
    int32_t i;
    if (count < sizeof *h) return 0;
    ICFI_MEMCPY(h, from, sizeof *h);
    icfi_header_make(&mine, &def);
    if (h->magic != mine.magic || h->version != mine.version || h->real != mine.real) return 0;
    if (ICFI_MEMCMP(h->record, mine.record, sizeof h->record) != 0) return 0;
    def = icfi_def_of(h);
    if (icfi_world_def_check(&def) || h->room.solver > (size_t)-1 / 2) return 0;
    if (!icfi_all_finite(ICFI_REALS_BEFORE(icfi_header, checksum), &h->gravity.x)) return 0;
    for (i = 0; i < ICFI_TABLES; i++) {
        if (h->end[i] < 0 || h->end[i] > h->room.most[i]) return 0;
    }
    if (h->pressed < 0 || h->pressed > h->end[ICFI_CONTACTS]) return 0;
    if (count != icfi_saved_open(s, NULL)) return 0;
    (void)icfi_saved_open(s, from);
    if (icfi_checksum(s) != h->checksum) return 0;
    for (i = 0; i < ICFI_CONTACTS; i++) {
        if (!icfi_saved_list_is_good(s, i)) return 0;
    }
    return icfi_saved_bodies_are_good(s) && icfi_saved_rest_is_good(s);
}

static int32_t icfi_free_dofs(uint32_t locks)
{
    int32_t n = 6;
    for (; locks; locks &= locks - 1) n--;
    return n;
}

/* Velocities of the largest tree of a saved world. count: scratch, a number for each body */
static ICFI_NOINLINE size_t icfi_saved_tree(const icfi_saved* s, int32_t* count)
{
    int32_t i, k, largest = 0;
    for (i = 0; i < s->h.end[ICFI_BODIES]; i++) count[i] = 0;
    for (i = 0; i < s->h.end[ICFI_BODIES]; i++) {
        icfi_body b, up;
        icfi_joint j;
        int32_t n;
        icfi_saved_get(s, ICFI_BODIES, i, &b);
        if (!(b.slot.flags & ICFI_ALIVE) || !icfi_is_dynamic(&b)) continue;
        n = icfi_free_dofs(icfi_locks_of(&b));
        for (k = i; b.joint >= 0; b = up, k = j.parent) {
            icfi_saved_get(s, ICFI_JOINTS, b.joint, &j);
            if (k == i) n = icfi_joint_dofs(j.kind);
            if (j.parent < 0) break;
            icfi_saved_get(s, ICFI_BODIES, j.parent, &up);
            if (!icfi_is_dynamic(&up)) break;
        }
        count[k] += n;
        if (largest < count[k]) largest = count[k];
    }
    return (size_t)largest;
}

/* Room for a saved world; one that was created grows. */
static ICFI_NOINLINE icf_result icfi_saved_room(icf_world* world, const icfi_saved* saved)
{
    const icfi_header* h = &saved->h;
    icfi_header next;
    icf_world_def def;
    icfi_sim s;
    int32_t i;
    int larger = 0;
    icfi_sim_open(world, &s);
    next = *s.header;
    if (!world->owner && h->end[ICFI_BODIES] <= next.room.most[ICFI_BODIES] &&
        icfi_saved_tree(saved, s.size) > icfi_tree_most(&next.room)) {
        return icfi_world_full(world, "tree", icfi_saved_tree(saved, s.size));
    }
    for (i = 0; i < ICFI_TABLES; i++) {
        if (h->end[i] > next.room.most[i]) larger = 1;
        if (next.room.most[i] < h->room.most[i]) next.room.most[i] = h->room.most[i];
    }
    if (!larger) return ICF_RESULT_OK;
    if (next.room.tree < h->room.tree) next.room.tree = h->room.tree;
    def = icfi_def_of(&next);
    if (!world->owner) return icfi_world_full(world, "memory", icf_world_bytes(&def));
    if (def.contacts < icfi_given(&s)) def.contacts = icfi_given(&s);
    return icfi_world_grow(world, &def);
}

ICF_API icf_result icf_world_load(icf_world* world, const void* bytes, size_t count)
{
    const unsigned char* from = (const unsigned char*)bytes;
    icfi_saved saved;
    icf_result result;
    icfi_sim s;
    if (!icfi_world_is(world) || !bytes) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_saved_is_good(&saved, from, count)) {
        return icfi_world_refuse(world, ICF_RESULT_BAD_DEF, 0, "not a saved world, or damaged");
    }
    result = icfi_saved_room(world, &saved);
    if (result != ICF_RESULT_OK) return result;
    icfi_sim_open(world, &s);
    saved.h.room = s.header->room;
    saved.h.checksum = 0;
    *s.header = saved.h;
    icfi_copy_tables(&saved.h, saved.table, s.tables);
    ICFI_MEMSET(s.session, 0, sizeof *s.session);
    return ICF_RESULT_OK;
}

/* Copies motions and positions from the state into scratch. */
static void icfi_load_motion(icfi_sim* s)
{
    int32_t i;
    for (i = 0; i < s->header->end[ICFI_BODIES]; i++) s->motion[i] = s->body[i].m;
    for (i = 0; i < s->header->end[ICFI_JOINTS]; i++) {
        ICFI_MEMCPY(s->position + 4 * i, s->joint[i].position, sizeof s->joint[i].position);
        ICFI_MEMCPY(s->velocity + 3 * i, s->joint[i].velocity, sizeof s->joint[i].velocity);
        ICFI_MEMCPY(s->slid + 3 * i, s->joint[i].slid, sizeof s->joint[i].slid);
        if (!s->header->anchors || !(s->joint[i].dry_friction > 0))
            ICFI_MEMSET(s->slid + 3 * i, 0, sizeof s->joint[i].slid);
    }
    for (i = 0; i < s->header->end[ICFI_CONSTRAINTS]; i++)
        ICFI_MEMCPY(s->tension + 6 * i, s->constraint[i].force, sizeof s->constraint[i].force);
}

// ------------------------------------------------------------------------------------------------
// Layer 9, continued: bodies that joints connect, and bodies alone
// >>trees
/* Offers to those below: icfi_armature, icfi_before_turning, icfi_body_mass, icfi_carrier_speed,
   icfi_drift, icfi_find_speeds, icfi_frame_now, icfi_free_column, icfi_gather_velocity,
   icfi_integrate_tree, icfi_is_kinematic, icfi_joint_efforts, icfi_joint_error, icfi_mass_matrix,
   icfi_motor_is_free, icfi_pose, icfi_predict_body, icfi_predict_tree, icfi_set_speeds, icfi_slide_column,
   icfi_sort_trees, icfi_sorted, icfi_spatial_dot, icfi_spatial_make, icfi_symmetric,
   icfi_symmetric_inverse, icfi_tree_room, icfi_turn_by, icfi_turn_error, icfi_turn_inertias,
   icfi_turned_inertia, icfi_unpack_velocity, icfi_walk_tree */

/* Trees of longer chains have their velocities from the root, too: from the leaves, a chain of 50 links would
   be beyond float. */
#define ICFI_DEEPEST 32

/* Finds the trees. The root of a tree is a dynamic body that nothing holds, or whose parent is not dynamic.
   Everything that it carries follows, depth first. Trees are in the order of their roots, children in the
   order of their joints. The velocities of a branch are next to one another. Where a tree branches, they are
   numbered from the leaves to the root: then the factor of A couples a velocity only with those that carry
   it, and branches apart cost nothing together (Featherstone, 2005). */
static ICFI_NOINLINE void icfi_sort_trees(icfi_sim* s)
{
    const icfi_header* h = s->header;
    icfi_session* session = s->session;
    int32_t *child = s->size, *sibling = s->island_of, places = 0, trees = 0, i, k;
    size_t dofs = 0, mass = 0, largest = 0;
    for (i = 0; i < h->end[ICFI_BODIES]; i++) child[i] = s->tree_of[i] = s->place_of[i] = -1;
    for (i = h->end[ICFI_JOINTS] - 1; i >= 0; i--) {
        const icfi_joint* j = s->joint + i;
        if (!(j->slot.flags & ICFI_ALIVE) || j->parent < 0 || !icfi_is_dynamic(s->body + j->parent))
            continue;
        sibling[j->child] = child[j->parent];
        child[j->parent] = j->child;
    }
    for (i = 0; i < h->end[ICFI_BODIES]; i++) {
        const icfi_body* root = s->body + i;
        icfi_world_tree* tree = s->tree + trees;
        int32_t carrier = -1, n = 0, deepest = 0, branches = 0;
        if (!(root->slot.flags & ICFI_ALIVE) || !icfi_is_dynamic(root)) continue;
        if (root->joint >= 0) {
            carrier = s->joint[root->joint].parent;
            if (carrier >= 0 && icfi_is_dynamic(s->body + carrier)) continue;
        }
        tree->first = places;
        tree->dof = (int32_t)dofs;
        tree->carrier = carrier;
        tree->clique = -1;
        tree->mass_at = mass;
        for (k = i; k >= 0;) {
            icfi_world_place* p = s->place + places;
            p->body = k;
            p->joint = s->body[k].joint;
            p->parent = k == i ? -1 : s->place_of[s->joint[p->joint].parent];
            p->dof = k == i ? 0 : s->place[p->parent].dof + s->place[p->parent].dofs;
            p->dofs = p->joint < 0 ? icfi_free_dofs(icfi_locks_of(s->body + k))
                                   : icfi_joint_dofs(s->joint[p->joint].kind);
            if (p->dof + p->dofs > deepest) deepest = p->dof + p->dofs;
            branches |= k != i && p->parent != places - 1;
            s->tree_of[k] = trees;
            s->place_of[k] = places++;
            if (child[k] >= 0) {
                k = child[k];
                continue;
            }
            while (k != i && sibling[k] < 0) k = s->joint[s->body[k].joint].parent;
            k = k == i ? -1 : sibling[k];
        }
        tree->places = places - tree->first;
        for (k = tree->first; k < places; k++) {
            icfi_world_place* p = s->place + k;
            if (branches && deepest <= ICFI_DEEPEST) p = s->place + (tree->first + places - 1 - k);
            p->dof = n;
            n += p->dofs;
        }
        tree->dofs = n;
        tree->single = tree->places == 1 && root->joint < 0;
        dofs += (size_t)n;
        if (!tree->single) {
            mass += (size_t)n * (size_t)n;
            if (largest < (size_t)n) largest = (size_t)n;
        }
        trees++;
    }
    session->trees = trees;
    session->dofs = (int32_t)dofs;
    session->largest = largest;
    session->sorted = 1;
}

static void icfi_sorted(icfi_sim* s)
{
    if (!s->session->sorted) icfi_sort_trees(s);
}

static size_t icfi_largest_tree(icfi_sim* s)
{
    icfi_sorted(s);
    return s->session->largest;
}

/* Makes room for the largest tree. Changes of bodies and a load can have made it larger than before. */
static ICFI_NOINLINE icf_result icfi_tree_room(icf_world* w)
{
    icf_world_def def;
    icfi_sim s;
    icfi_front_open(w, &s);
    if (!s.session->sorted) {
        icfi_sim_open(w, &s);
        icfi_sorted(&s);
    }
    if (s.session->largest <= icfi_tree_most(&s.header->room)) return ICF_RESULT_OK;
    if (!w->owner || s.session->largest > 46000) {
        return icfi_world_full(w, "tree", s.session->largest);
    }
    def = icfi_def_of(s.header);
    return icfi_world_grow(w, &def);
}

/* ---- joints: where the child is, and how it moves ---- */

static icf_transform icfi_pose(const icfi_body* b, const icfi_motion* m)
{
    return icf_transform_make(m->q, icf_vec3_sub(m->x, icf_quat_rotate(m->q, b->center)));
}

/* The joint's motion: from the child's joint frame to the parent's */
static icf_transform icfi_joint_turn(int32_t kind, const icf_real* q)
{
    icf_transform t = icf_transform_identity();
    switch (kind) {
    case ICF_JOINT_REVOLUTE: t.q = icfi_rotation_of(icf_vec3_make(0, 0, q[0])); break;
    case ICF_JOINT_PRISMATIC: t.p.z = q[0]; break;
    case ICF_JOINT_BALL: t.q = icf_quat_make(q[0], q[1], q[2], q[3]); break;
    case ICF_JOINT_PLANAR:
        t.p = icf_vec3_make(q[0], q[1], 0);
        t.q = icfi_rotation_of(icf_vec3_make(0, 0, q[2]));
        break;
    case ICF_JOINT_UNIVERSAL:
        t.q = icf_quat_mul(icfi_rotation_of(icf_vec3_make(q[0], 0, 0)),
                           icfi_rotation_of(icf_vec3_make(0, q[1], 0)));
        break;
    default: break;
    }
    return t;
}

/* A frame on a body, or on the ground, in the world */
static icf_transform icfi_frame_now(const icfi_sim* s, int32_t body, const icf_transform* frame,
                                    const icfi_motion* motion)
{
    const icfi_motion* m;
    icf_vec3 r;
    if (body < 0) return *frame;
    m = motion + body;
    r = icf_quat_rotate(m->q, icf_vec3_sub(frame->p, s->body[body].center));
    return icf_transform_make(icf_quat_mul(m->q, frame->q), icf_vec3_add(m->x, r));
}

static icfi_spatial icfi_spatial_make(icf_vec3 a, icf_vec3 l)
{
    icfi_spatial x;
    x.a = a;
    x.l = l;
    return x;
}

static icfi_spatial icfi_spatial_add_scaled(icfi_spatial x, icf_real f, icfi_spatial y)
{
    return icfi_spatial_make(icf_vec3_add_scaled(x.a, f, y.a), icf_vec3_add_scaled(x.l, f, y.l));
}

static icf_real icfi_spatial_dot(icfi_spatial x, icfi_spatial y)
{
    return icf_vec3_dot(x.a, y.a) + icf_vec3_dot(x.l, y.l);
}

/* The rate of the spatial motion x if it moves along with the velocity v */
static icfi_spatial icfi_spatial_cross(icfi_spatial v, icfi_spatial x)
{
    return icfi_spatial_make(icf_vec3_cross(v.a, x.a),
                             icf_vec3_add(icf_vec3_cross(v.a, x.l), icf_vec3_cross(v.l, x.a)));
}

/* A rotation about an axis through c, about the origin o */
static icfi_spatial icfi_turn_column(icf_vec3 axis, icf_vec3 c, icf_vec3 o)
{
    return icfi_spatial_make(axis, icf_vec3_cross(icf_vec3_sub(c, o), axis));
}

static icfi_spatial icfi_slide_column(icf_vec3 axis)
{
    return icfi_spatial_make(icf_vec3_make(0, 0, 0), axis);
}

/* The columns of a joint: the spatial velocities that the joint's own velocities give to the child */
static void icfi_joint_columns(const icfi_joint* j, icf_transform base, const icf_real* q,
                               icf_vec3 o, icfi_spatial* column, uint8_t* by_parent)
{
    icf_mat3 r = icf_mat3_from_quat(base.q);
    switch (j->kind) {
    case ICF_JOINT_REVOLUTE: column[0] = icfi_turn_column(r.z, base.p, o); break;
    case ICF_JOINT_PRISMATIC: column[0] = icfi_slide_column(r.z); break;
    case ICF_JOINT_BALL:
        r = icf_mat3_from_quat(icf_quat_mul(base.q, icf_quat_make(q[0], q[1], q[2], q[3])));
        column[0] = icfi_turn_column(r.x, base.p, o);
        column[1] = icfi_turn_column(r.y, base.p, o);
        column[2] = icfi_turn_column(r.z, base.p, o);
        break;
    case ICF_JOINT_PLANAR:
        column[0] = icfi_slide_column(r.x);
        column[1] = icfi_slide_column(r.y);
        column[2] = icfi_turn_column(
            r.z, icf_vec3_add_scaled(icf_vec3_add_scaled(base.p, q[0], r.x), q[1], r.y), o);
        by_parent[0] = by_parent[1] = 1;
        break;
    case ICF_JOINT_UNIVERSAL:
        column[0] = icfi_turn_column(r.x, base.p, o);
        column[1] = icfi_turn_column(
            icf_quat_rotate(icf_quat_mul(base.q, icfi_rotation_of(icf_vec3_make(q[0], 0, 0))),
                            icf_vec3_make(0, 1, 0)),
            base.p, o);
        by_parent[0] = 1;
        break;
    default: break;
    }
}

/* The unit motion of a free body along axis 0 to 5, about its centre of mass */
static icfi_spatial icfi_free_column(int32_t axis)
{
    icf_real six[6] = {0, 0, 0, 0, 0, 0};
    six[axis] = 1;
    return icfi_spatial_make(icf_vec3_make(six[3], six[4], six[5]),
                             icf_vec3_make(six[0], six[1], six[2]));
}

/* Walks a tree from its root; its carrier, and a root without a joint, are in place. place: puts bodies where
   joints at these positions have them. columns: makes the columns of all velocities. */
static void icfi_walk_tree(const icfi_sim* s, icfi_world_tree* tree, icfi_motion* motion,
                           const icf_real* position, int place, int columns)
{
    int32_t k, i, n;
    if (columns) ICFI_MEMSET(s->by_parent + tree->dof, 0, (size_t)tree->dofs);
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        const icfi_joint* j;
        icfi_spatial* column = s->column + tree->dof + p->dof;
        icfi_motion* m = motion + p->body;
        icf_transform base, turn;
        if (p->joint < 0) {
            if (columns) tree->origin = m->x;
            for (i = n = 0; columns && i < 6; i++)
                if (!(icfi_locks_of(s->body + p->body) >> i & 1u))
                    column[n++] = icfi_free_column(i);
            continue;
        }
        j = s->joint + p->joint;
        base = icfi_frame_now(s, j->parent, &j->frame[0], motion);
        if (place) {
            icf_vec3 r = icf_vec3_sub(s->body[p->body].center, j->frame[1].p);
            turn = icfi_joint_turn(j->kind, position + 4 * p->joint);
            m->q = icf_quat_mul(icf_quat_mul(base.q, turn.q), icf_quat_conjugate(j->frame[1].q));
            m->q = icf_quat_normalize(m->q);
            m->x = icf_vec3_add(icf_transform_apply(base, turn.p), icf_quat_rotate(m->q, r));
        }
        if (!columns) continue;
        if (k == tree->first) tree->origin = m->x;
        icfi_joint_columns(j, base, position + 4 * p->joint, tree->origin, column,
                           s->by_parent + tree->dof + p->dof);
    }
}

static int icfi_is_kinematic(const icfi_sim* s, int32_t body)
{
    return body >= 0 && icfi_kind_of(s->body + body) == ICF_BODY_KINEMATIC;
}

/* The spatial velocity about o of a body outside all trees */
static icfi_spatial icfi_carrier_speed(const icfi_sim* s, const icfi_motion* motion, int32_t body,
                                       icf_vec3 o)
{
    const icfi_motion* m;
    if (!icfi_is_kinematic(s, body)) return icfi_slide_column(icf_vec3_make(0, 0, 0));
    m = motion + body;
    return icfi_spatial_make(m->w, icf_vec3_add(m->v, icf_vec3_cross(m->w, icf_vec3_sub(o, m->x))));
}

/* Spatial velocities of the bodies of a tree, from its velocities v and the last columns */
static void icfi_find_speeds(const icfi_sim* s, const icfi_world_tree* tree,
                             const icfi_motion* motion, const icf_real* v)
{
    int32_t k, i;
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        icfi_spatial x = p->parent >= 0
                             ? s->speed[p->parent]
                             : icfi_carrier_speed(s, motion, tree->carrier, tree->origin);
        for (i = 0; i < p->dofs; i++) {
            x = icfi_spatial_add_scaled(x, v[p->dof + i], s->column[tree->dof + p->dof + i]);
        }
        s->speed[k] = x;
    }
}

/* Writes these into the bodies' own velocities. */
static void icfi_set_speeds(const icfi_sim* s, const icfi_world_tree* tree, icfi_motion* motion)
{
    int32_t k;
    for (k = tree->first; k < tree->first + tree->places; k++) {
        icfi_motion* m = motion + s->place[k].body;
        const icfi_spatial* x = s->speed + k;
        m->w = x->a;
        m->v = icf_vec3_add(x->l, icf_vec3_cross(x->a, icf_vec3_sub(m->x, tree->origin)));
    }
}

/* Writes the velocities of a free root into a vector; locked axes have no place there. */
static void icfi_pack_velocity(uint32_t locks, icf_vec3 l, icf_vec3 a, icf_real* v)
{
    if (!(locks & ICF_LOCK_X)) *v++ = l.x;
    if (!(locks & ICF_LOCK_Y)) *v++ = l.y;
    if (!(locks & ICF_LOCK_Z)) *v++ = l.z;
    if (!(locks & ICF_LOCK_TURN_X)) *v++ = a.x;
    if (!(locks & ICF_LOCK_TURN_Y)) *v++ = a.y;
    if (!(locks & ICF_LOCK_TURN_Z)) *v++ = a.z;
}

/* Reads them; those along locked axes stay as they are. */
static void icfi_unpack_velocity(uint32_t locks, const icf_real* v, icf_vec3* l, icf_vec3* a)
{
    if (!(locks & ICF_LOCK_X)) l->x = *v++;
    if (!(locks & ICF_LOCK_Y)) l->y = *v++;
    if (!(locks & ICF_LOCK_Z)) l->z = *v++;
    if (!(locks & ICF_LOCK_TURN_X)) a->x = *v++;
    if (!(locks & ICF_LOCK_TURN_Y)) a->y = *v++;
    if (!(locks & ICF_LOCK_TURN_Z)) a->z = *v++;
}

/* Gathers the velocities of a tree from the motions of its free root and of its joints. */
static void icfi_gather_velocity(const icfi_sim* s, const icfi_world_tree* tree,
                                 const icfi_motion* motion, const icf_real* joint_velocity,
                                 icf_real* v)
{
    int32_t k, i;
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        const icfi_motion* m = motion + p->body;
        if (p->joint < 0)
            icfi_pack_velocity(icfi_locks_of(s->body + p->body), m->v, m->w, v + p->dof);
        for (i = 0; p->joint >= 0 && i < p->dofs; i++)
            v[p->dof + i] = joint_velocity[3 * p->joint + i];
    }
}

/* The root and the joints of a tree after a time h with velocities v */
static void icfi_integrate_tree(const icfi_sim* s, const icfi_world_tree* tree, const icf_real* v,
                                icf_real h, const icfi_motion* from, const icf_real* position,
                                icfi_motion* to, icf_real* to_position)
{
    int32_t k, i;
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        const icf_real *u = v + p->dof, *q;
        icf_real* out;
        if (p->joint < 0) {
            icf_vec3 l = icf_vec3_make(0, 0, 0), a = l;
            icfi_unpack_velocity(icfi_locks_of(s->body + p->body), u, &l, &a);
            to[p->body].x = icf_vec3_add_scaled(from[p->body].x, h, l);
            to[p->body].q = icfi_rotate_on(from[p->body].q, a, h);
            continue;
        }
        q = position + 4 * p->joint;
        out = to_position + 4 * p->joint;
        if (s->joint[p->joint].kind == ICF_JOINT_BALL) {
            icf_quat r = icf_quat_make(q[0], q[1], q[2], q[3]);
            icf_vec3 turn = icf_vec3_make(h * u[0], h * u[1], h * u[2]);
            r = icf_quat_normalize(icf_quat_mul(r, icfi_rotation_of(turn)));
            ICFI_MEMCPY(out, &r, sizeof r);
        } else {
            for (i = 0; i < p->dofs; i++) out[i] = q[i] + h * u[i];
        }
    }
}

/* ---- forces on a tree ---- */

/* a x for a symmetric matrix xx, yy, zz, xy, xz, yz */
static inline icf_vec3 icfi_symmetric(const icf_real a[6], icf_vec3 x)
{
    return icf_vec3_make(a[0] * x.x + a[3] * x.y + a[4] * x.z, a[3] * x.x + a[1] * x.y + a[5] * x.z,
                         a[4] * x.x + a[5] * x.y + a[2] * x.z);
}

/* Whether this is the inertia of a ball: turning does not change it */
static int icfi_is_round(const icf_real i[6])
{
    return i[0] == i[1] && i[0] == i[2] && i[3] == 0 && i[4] == 0 && i[5] == 0;
}

/* The inertia of a body about its centre of mass in the axes of the world: R I R' */
static void icfi_turned_inertia(icf_quat q, const icf_real body[6], icf_real world[6])
{
    icf_real r[3][3], m[3][3];
    icf_mat3 turn;
    int32_t i;
    if (icfi_is_round(body)) {
        ICFI_MEMCPY(world, body, 6 * sizeof *body);
        return;
    }
    turn = icf_mat3_from_quat(q); /* columns */
    ICFI_MEMCPY(r, &turn, sizeof r);
    for (i = 0; i < 3; i++) { /* rows of R times I */
        m[i][0] = r[0][i] * body[0] + r[1][i] * body[3] + r[2][i] * body[4];
        m[i][1] = r[0][i] * body[3] + r[1][i] * body[1] + r[2][i] * body[5];
        m[i][2] = r[0][i] * body[4] + r[1][i] * body[5] + r[2][i] * body[2];
        world[i] = m[i][0] * r[0][i] + m[i][1] * r[1][i] + m[i][2] * r[2][i];
    }
    world[3] = m[0][0] * r[0][1] + m[0][1] * r[1][1] + m[0][2] * r[2][1];
    world[4] = m[0][0] * r[0][2] + m[0][1] * r[1][2] + m[0][2] * r[2][2];
    world[5] = m[1][0] * r[0][2] + m[1][1] * r[1][2] + m[1][2] * r[2][2];
}

static icfi_inertia icfi_spatial_inertia(icf_real mass, const icf_real about_center[6], icf_vec3 c)
{
    icfi_inertia i;
    i.mass = mass;
    i.moment = icf_vec3_scale(mass, c);
    i.about[0] = about_center[0] + mass * (c.y * c.y + c.z * c.z);
    i.about[1] = about_center[1] + mass * (c.x * c.x + c.z * c.z);
    i.about[2] = about_center[2] + mass * (c.x * c.x + c.y * c.y);
    i.about[3] = about_center[3] - mass * c.x * c.y;
    i.about[4] = about_center[4] - mass * c.x * c.z;
    i.about[5] = about_center[5] - mass * c.y * c.z;
    return i;
}

/* Momentum of an inertia that moves with x; also the force that accelerates it with x */
static icfi_spatial icfi_inertia_times(const icfi_inertia* i, icfi_spatial x)
{
    return icfi_spatial_make(
        icf_vec3_add(icfi_symmetric(i->about, x.a), icf_vec3_cross(i->moment, x.l)),
        icf_vec3_sub(icf_vec3_scale(i->mass, x.l), icf_vec3_cross(i->moment, x.a)));
}

/* Turns the inertias of a tree's bodies to the axes of the world. */
static void icfi_turn_inertias(const icfi_sim* s, const icfi_world_tree* tree,
                               const icfi_motion* motion)
{
    int32_t k;
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const int32_t body = s->place[k].body;
        icfi_turned_inertia(motion[body].q, s->body[body].inertia, s->own_inertia + 6 * k);
    }
}

/* The force on a body at its centre of mass, which moves with v, and the torque: gravity, the caller's, and
   drag in proportion to momentum */
static icfi_spatial icfi_body_push(const icfi_sim* s, int32_t body, icf_vec3 v, icf_vec3 w,
                                   const icf_real inertia[6])
{
    const icfi_body* b = s->body + body;
    icf_vec3 f = b->force, t = b->torque;
    f = icf_vec3_add_scaled(f, b->mass * b->gravity_scale, s->header->gravity);
    if (b->linear_damping > 0) f = icf_vec3_add_scaled(f, -b->linear_damping * b->mass, v);
    if (b->angular_damping > 0)
        t = icf_vec3_add_scaled(t, -b->angular_damping, icfi_symmetric(inertia, w));
    return icfi_spatial_make(t, f);
}

/* What a rotor adds to the inertia of each velocity of its joint */
static icf_real icfi_armature(const icfi_joint* j)
{
    return j->rotor_inertia * j->gear_ratio * j->gear_ratio;
}

/* The rate at which the spatial velocity of a root's carrier changes at constant velocities, or of a free
   root itself: v of a centre of mass is that of a moving point, so the rate is v x w */
static icfi_spatial icfi_root_rate(const icfi_sim* s, const icfi_motion* motion, int32_t carrier,
                                   int32_t place)
{
    icfi_spatial x = icfi_slide_column(icf_vec3_make(0, 0, 0));
    if (s->place[place].joint < 0) {
        x.l = icf_vec3_cross(s->speed[place].l, s->speed[place].a);
    } else if (icfi_is_kinematic(s, carrier)) {
        x.l = icf_vec3_cross(motion[carrier].v, motion[carrier].w);
    }
    return x;
}

/* The force and torque, about the tree's origin, that give a body at place k the rate of its spatial
   velocity, less gravity, applied forces and drag. Apart from its caller for frames below 2 kB. */
static ICFI_NOINLINE void icfi_find_push(const icfi_sim* s, const icfi_world_tree* tree,
                                         const icfi_motion* motion, int32_t k, int fresh)
{
    const int32_t body = s->place[k].body;
    const icf_real* turned = s->own_inertia + 6 * k;
    const icfi_spatial v = s->speed[k], x = s->rate[k];
    const icf_vec3 c = icf_vec3_sub(motion[body].x, tree->origin),
                   vc = icf_vec3_add(v.l, icf_vec3_cross(v.a, c));
    icf_vec3 f, t;
    if (fresh) s->outer[k] = icfi_body_push(s, body, vc, v.a, turned);
    f = icf_vec3_add(x.l, icf_vec3_add(icf_vec3_cross(x.a, c), icf_vec3_cross(v.a, vc)));
    f = icf_vec3_sub(icf_vec3_scale(s->body[body].mass, f), s->outer[k].l);
    t = icf_vec3_add(icfi_symmetric(turned, x.a), icf_vec3_cross(v.a, icfi_symmetric(turned, v.a)));
    s->push[k] =
        icfi_spatial_make(icf_vec3_add(icf_vec3_sub(t, s->outer[k].a), icf_vec3_cross(c, f)), f);
}

/* Newton and Euler's recursion. out: the efforts that give a tree the accelerations `a` (NULL: none) in a
   configuration, less the efforts of gravity, applied forces and drag, for the last columns and speeds. If
   not fresh, reuses the last gravity, applied forces and drag, and renews only the terms quadratic in
   velocities. */
static void icfi_inverse_dynamics(const icfi_sim* s, const icfi_world_tree* tree,
                                  const icfi_motion* motion, const icf_real* u, const icf_real* a,
                                  icf_real* out, int fresh)
{
    icf_vec3 o = tree->origin;
    int32_t k, i;
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        const icfi_spatial v = s->speed[k];
        icfi_spatial base, x;
        if (p->parent >= 0) {
            base = s->speed[p->parent];
            x = s->rate[p->parent];
        } else {
            base = icfi_carrier_speed(s, motion, tree->carrier, o);
            x = icfi_root_rate(s, motion, tree->carrier, k);
        }
        for (i = 0; i < p->dofs; i++) {
            int32_t d = tree->dof + p->dof + i;
            if (a) x = icfi_spatial_add_scaled(x, a[p->dof + i], s->column[d]);
            if (p->joint < 0) continue;
            x = icfi_spatial_add_scaled(
                x, u[p->dof + i], icfi_spatial_cross(s->by_parent[d] ? base : v, s->column[d]));
        }
        s->rate[k] = x;
        icfi_find_push(s, tree, motion, k, fresh);
    }
    for (k = tree->first + tree->places - 1; k >= tree->first; k--) {
        const icfi_world_place* p = s->place + k;
        for (i = 0; i < p->dofs; i++) {
            out[p->dof + i] = icfi_spatial_dot(s->column[tree->dof + p->dof + i], s->push[k]);
            if (a && p->joint >= 0)
                out[p->dof + i] += icfi_armature(s->joint + p->joint) * a[p->dof + i];
        }
        if (p->parent >= 0)
            s->push[p->parent] = icfi_spatial_add_scaled(s->push[p->parent], 1, s->push[k]);
    }
}

/* A motor without effort limit is a spring and a damper, and part of A. A motor with a limit is a
   potential. */
static int icfi_motor_is_free(const icfi_joint* j)
{
    return j->effort < 0;
}

/* twice the sine of half the angle from r to q, along its axis: for small angles, the angle */
static void icfi_turn_error(const icf_real* r, const icf_real* q, icf_real out[3])
{
    icf_quat e = icf_quat_mul(icf_quat_make(-r[0], -r[1], -r[2], r[3]),
                              icf_quat_make(q[0], q[1], q[2], q[3]));
    icf_real f = e.w < 0 ? -ICF_R(2.0) : ICF_R(2.0);
    out[0] = f * e.x;
    out[1] = f * e.y;
    out[2] = f * e.z;
}

/* The distance from `position` to `goal`, for each velocity of a joint */
static void icfi_joint_error(const icfi_joint* j, const icf_real* goal, const icf_real* position,
                             icf_real out[3])
{
    int32_t i;
    if (j->kind == ICF_JOINT_BALL) {
        icfi_turn_error(goal, position, out);
        for (i = 0; i < 3; i++) out[i] = -out[i];
    } else {
        for (i = 0; i < 3; i++) out[i] = goal[i] - position[i];
    }
}

/* out: efforts on the joints of a tree at a position and velocity: applied efforts, springs, dampers and
   motors without limit. diagonal: the terms that springs, dampers, motors and rotors add to the diagonal of
   A */
static void icfi_joint_efforts(const icfi_sim* s, const icfi_world_tree* tree,
                               const icf_real* position, const icf_real* v, icf_real* out,
                               icf_real* diagonal)
{
    icf_real h = s->h, early = s->blend * s->blend * h * h;
    int32_t k, i;
    for (k = 0; k < tree->dofs; k++) out[k] = diagonal[k] = 0;
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        const icfi_joint* j;
        icf_real spring[3], motor[3], stiffness, damping;
        int motor_on;
        if (p->joint < 0) continue;
        j = s->joint + p->joint;
        motor_on = icfi_motor_is_free(j);
        stiffness = j->stiffness + (motor_on ? j->motor_stiffness : 0);
        damping = j->damping + (motor_on ? j->motor_damping : 0);
        icfi_joint_error(j, j->rest, position + 4 * p->joint, spring);
        icfi_joint_error(j, j->target, position + 4 * p->joint, motor);
        for (i = 0; i < p->dofs; i++) {
            icf_real f = j->effort_now[i] + j->stiffness * spring[i] - j->damping * v[p->dof + i];
            if (motor_on) {
                f += j->motor_stiffness * motor[i] +
                     j->motor_damping * (j->target_velocity[i] - v[p->dof + i]) + j->feedforward[i];
            }
            out[p->dof + i] = f;
            diagonal[p->dof + i] = icfi_armature(j) + early * stiffness + s->blend * h * damping;
        }
    }
}

/* The composite rigid body algorithm: A of a tree by rows, with the dampers of its bodies */
static void icfi_mass_matrix(const icfi_sim* s, const icfi_world_tree* tree,
                             const icfi_motion* motion, const icf_real* diagonal, icf_real* a)
{
    icf_real h = s->blend * s->h;
    int32_t n = tree->dofs, k, i, m;
    ICFI_MEMSET(a, 0, (size_t)n * (size_t)n * sizeof *a);
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        const icfi_body* b = s->body + p->body;
        icf_real turned[6];
        for (i = 0; i < 6; i++)
            turned[i] = s->own_inertia[6 * k + i] * (1 + h * b->angular_damping);
        s->inertia[k] = icfi_spatial_inertia(b->mass * (1 + h * b->linear_damping), turned,
                                             icf_vec3_sub(motion[p->body].x, tree->origin));
    }
    for (k = tree->first + tree->places - 1; k >= tree->first; k--) {
        const icfi_world_place* p = s->place + k;
        icfi_inertia* mine = s->inertia + k;
        for (i = 0; i < p->dofs; i++) {
            icfi_spatial f = icfi_inertia_times(mine, s->column[tree->dof + p->dof + i]);
            int32_t row = p->dof + i, up;
            for (up = k; up >= 0; up = s->place[up].parent) {
                const icfi_world_place* q = s->place + up;
                for (m = 0; m < q->dofs; m++) {
                    icf_real x = icfi_spatial_dot(s->column[tree->dof + q->dof + m], f);
                    a[row * n + q->dof + m] = x;
                    a[(q->dof + m) * n + row] = x;
                }
            }
        }
        if (p->parent >= 0) {
            icfi_inertia* sum = s->inertia + p->parent;
            sum->mass += mine->mass;
            sum->moment = icf_vec3_add(sum->moment, mine->moment);
            for (i = 0; i < 6; i++) sum->about[i] += mine->about[i];
        }
    }
    for (i = 0; i < n; i++) a[i * n + i] += diagonal[i];
}

/* The state at `share` of the way through the substep, with velocities that change from v0 to v */
static void icfi_state_at_theta(const icfi_sim* s, const icfi_world_tree* tree, const icf_real* v,
                                icf_real share)
{
    const icf_real* v0 = s->v0 + tree->dof;
    icf_real* mean = s->change + tree->dof;
    int32_t i;
    for (i = 0; i < tree->dofs; i++) mean[i] = s->blend * v[i] + (1 - s->blend) * v0[i];
    icfi_integrate_tree(s, tree, mean, share * s->h, s->motion, s->position, s->half,
                        s->half_position);
}

/* r: the change of velocity of a tree in symplectic Euler, with the terms quadratic in velocities taken at
   `at` */
static void icfi_euler_change(icfi_sim* s, const icfi_world_tree* tree, const icf_real* at,
                              icf_real* r)
{
    const icf_real* effort = s->problem_v_free + tree->dof;
    icf_real* f = s->problem_v + tree->dof;
    int32_t n = tree->dofs, i;
    icfi_find_speeds(s, tree, s->motion, at);
    icfi_inverse_dynamics(s, tree, s->motion, at, NULL, f, 0);
    for (i = 0; i < n; i++) r[i] = s->h * (effort[i] - f[i]);
    (void)icf_dense_solve(n, s->factor + tree->mass_at, n, r, 1, n);
}

/* Solves for symplectic Euler's free velocities of a tree again, with the forces quadratic in velocities
   (gyroscopic and centrifugal) at the mean of the old and new velocities. There they do no work; at the old
   velocities they would feed a fast rotation. One or two rounds are enough, and a slow tree needs none. If
   the step is too long for the rotation, so that the rounds do not converge, these forces are left out: no
   force does no work either. */
static void icfi_center_products(icfi_sim* s, const icfi_world_tree* tree)
{
    const icf_real* v0 = s->v0 + tree->dof;
    icf_real *v = s->v_free + tree->dof, *r = s->v + tree->dof, *mean = s->change + tree->dof;
    int32_t n = tree->dofs, round, i;
    for (round = 0; round < 8; round++) {
        icf_real change = 0, size = 0, apart = 0;
        for (i = 0; i < n; i++) mean[i] = (v0[i] + v[i]) / 2;
        icfi_euler_change(s, tree, mean, r);
        for (i = 0; i < n; i++) {
            apart = icfi_max(apart, ICF_FABS(v0[i] - v[i]));
            r[i] += v0[i] - v[i];
            change = icfi_max(change, ICF_FABS(r[i]));
            size = icfi_max(size, icfi_max(ICF_FABS(v0[i]), ICF_FABS(v[i])));
        }
        if (!(change <= 4 * size)) break; /* too far, or not finite */
        /* if these forces turn the velocities by much, go half the way at a time */
        for (i = 0; i < n; i++) v[i] += change > ICF_R(0.1) * size ? r[i] / 2 : r[i];
        /* a round shrinks the error to the part change / apart, or less */
        if (change <= ICF_R(0.01) * size &&
            (round || change * change <= ICF_R(1e-6) * size * apart))
            return;
    }
    for (i = 0; i < n; i++) mean[i] = 0;
    icfi_euler_change(s, tree, mean, r);
    for (i = 0; i < n; i++) v[i] = v0[i] + r[i];
}

/* The free velocities of a tree, and A at them: Newton's method on the balance of momentum without contacts,
   SAP (13), with A as its slope. Symplectic Euler is linear in v and takes one iteration. The other methods
   go on until v stands still; they are fast while h is short beside the time in which forces turn. */
static icf_result icfi_balance_tree(icfi_sim* s, icfi_world_tree* tree, int euler)
{
    const icf_real theta = euler ? 0 : s->blend;
    const icf_real* v0 = s->v0 + tree->dof;
    icf_real *v = s->v_free + tree->dof, *a = s->mass + tree->mass_at, h = s->h;
    icf_real* factor = s->factor + tree->mass_at;
    icf_real *r = s->v + tree->dof, *f = s->problem_v + tree->dof,
             *d = s->problem_v_last + tree->dof;
    icf_real *mean = s->change + tree->dof, last = ICF_REAL_MAX, relax = 1;
    icf_real* effort = s->problem_v_free + tree->dof;
    int32_t n = tree->dofs, iteration, i, near = 1;
    for (i = 0; i < n; i++) v[i] = v0[i];
    for (iteration = 0; iteration < (euler ? 1 : 30); iteration++) {
        icfi_motion* motion = s->motion;
        icf_real change = 0, size = 0;
        if (!euler) {
            icfi_state_at_theta(s, tree, v, theta);
            if (tree->carrier >= 0) s->half[tree->carrier] = s->motion[tree->carrier];
            motion = s->half;
        }
        icfi_walk_tree(s, tree, motion, euler ? s->position : s->half_position, !euler, 1);
        icfi_turn_inertias(s, tree, motion);
        for (i = 0; i < n; i++) mean[i] = theta * v[i] + (1 - theta) * v0[i];
        icfi_find_speeds(s, tree, motion, mean);
        for (i = 0; i < n; i++) r[i] = (v[i] - v0[i]) / h;
        icfi_inverse_dynamics(s, tree, motion, mean, euler ? NULL : r, f, 1);
        /* springs and dampers are taken at theta in symplectic Euler, too */
        icfi_state_at_theta(s, tree, v, s->blend);
        for (i = 0; i < n; i++) mean[i] = s->blend * v[i] + (1 - s->blend) * v0[i];
        icfi_joint_efforts(s, tree, s->half_position, mean, r, d);
        for (i = 0; i < n; i++) {
            effort[i] = r[i];
            r[i] = h * (r[i] - f[i]);
        }
        if (!euler) {
            icfi_walk_tree(s, tree, s->half, s->half_position, 1, 0);
            motion = s->half;
        }
        icfi_mass_matrix(s, tree, motion, d, a);
        icfi_copy_bytes(factor, a, (size_t)n * (size_t)n * sizeof *a);
        if (!icfi_all_finite((size_t)n, r)) {
            return icfi_world_refuse(s->world, ICF_RESULT_NOT_FINITE, s->place[tree->first].body,
                                     "forces or velocities of a tree");
        }
        /* A mass that is nearly singular has a factor, and velocities overflow. */
        if (icf_dense_factor(n, factor, n, NULL) != ICF_RESULT_OK ||
            icf_dense_solve(n, factor, n, r, 1, n) != ICF_RESULT_OK ||
            !icfi_all_finite((size_t)n, r)) {
            return icfi_world_refuse(s->world, ICF_RESULT_NOT_SPD, s->place[tree->first].body,
                                     "the mass of a tree, or of a body in it");
        }
        for (i = 0; i < n; i++) {
            v[i] += relax * r[i];
            change = icfi_max(change, ICF_FABS(r[i]));
            size = icfi_max(size, icfi_max(ICF_FABS(v[i]), ICF_FABS(v0[i])));
        }
        near = euler || change <= ICF_R(1e-3) * size;
        if (change <= 4 * ICFI_EPSILON * size) break;
        /* h is long beside the rotation: halve Newton's step until v comes nearer */
        if (change > last / 2 && change > ICF_R(1e-3) * size)
            relax = icfi_max(relax / 2, ICF_R(0.1));
        /* rounding: v comes no nearer, and is near */
        if (change >= last && change <= ICF_R(1e4) * ICFI_EPSILON * size) break;
        last = change;
    }
    if (euler) {
        icfi_center_products(s, tree);
    } else { /* contacts use the columns of the start */
        icfi_walk_tree(s, tree, s->motion, s->position, 0, 1);
    }
    return near ? ICF_RESULT_OK : ICF_RESULT_NOT_CONVERGED;
}

/* The free velocities of a tree by the world's method. If the step is too long for that method, by symplectic
   Euler. */
static icf_result icfi_predict_tree(icfi_sim* s, icfi_world_tree* tree)
{
    icf_result result = ICF_RESULT_NOT_CONVERGED;
    if (s->header->method != ICF_METHOD_SYMPLECTIC_EULER) result = icfi_balance_tree(s, tree, 0);
    return result == ICF_RESULT_OK ? result : icfi_balance_tree(s, tree, 1);
}

/* ---- a free body alone ---- */

/* The inverse of a symmetric matrix, by its adjugate; 0 if it is not positive definite. out may be NULL */
static int icfi_symmetric_inverse(const icf_real i[6], icf_real out[6])
{
    icf_real a = i[1] * i[2] - i[5] * i[5], b = i[4] * i[5] - i[3] * i[2];
    icf_real c = i[3] * i[5] - i[4] * i[1], f = i[0] * i[1] - i[3] * i[3];
    icf_real det = i[0] * a + i[3] * b + i[4] * c;
    if (!(i[0] > 0 && f > 0 && det > 0)) return 0;
    if (!out) return 1;
    det = 1 / det;
    out[0] = det * a;
    out[1] = det * (i[0] * i[2] - i[4] * i[4]);
    out[2] = det * f;
    out[3] = det * b;
    out[4] = det * c;
    out[5] = det * (i[3] * i[4] - i[0] * i[5]);
    return 1;
}

/* The change of the angular velocity of a body alone by an angular impulse. Locked axes keep their velocity,
   whatever impulse that takes. Answers 0 if the inertia is not positive definite. */
static int icfi_turn_by(const icfi_body* b, const icfi_motion* m, icf_vec3 t, icf_vec3* change)
{
    uint32_t locks = icfi_locks_of(b);
    icf_real i[6], inverse[6];
    icfi_turned_inertia(m->q, b->inertia, i);
    if (locks & ICF_LOCK_TURN_X) t.x = i[3] = i[4] = 0, i[0] = 1;
    if (locks & ICF_LOCK_TURN_Y) t.y = i[3] = i[5] = 0, i[1] = 1;
    if (locks & ICF_LOCK_TURN_Z) t.z = i[4] = i[5] = 0, i[2] = 1;
    if (!icfi_symmetric_inverse(i, inverse)) return 0;
    *change = icfi_symmetric(inverse, t);
    return 1;
}

/* The free velocities of a body alone, without the gyroscopic term: icfi_drift adds it. */
static icf_result icfi_predict_body(icfi_sim* s, const icfi_world_tree* tree)
{
    const icfi_world_place* p = s->place + tree->first;
    const icfi_body* b = s->body + p->body;
    const icfi_motion* m = s->motion + p->body;
    icf_real h = s->h, *v = s->v_free + tree->dof;
    icf_real late = 1 - h * (1 - s->blend) * b->linear_damping,
             early = 1 + h * s->blend * b->linear_damping;
    icf_vec3 l =
        icf_vec3_add_scaled(icf_vec3_make(0, 0, 0), h * b->gravity_scale, s->header->gravity);
    icf_vec3 a = m->w;
    uint32_t locks = icfi_locks_of(b);
    icf_vec3 turn;
    int turns;
    if (!(b->mass > 0)) {
        return icfi_world_refuse(s->world, ICF_RESULT_NOT_SPD, p->body, "the mass of a body");
    }
    l = icf_vec3_add_scaled(l, h / b->mass, b->force);
    l = icf_vec3_add_scaled(l, late, m->v);
    if (b->linear_damping > 0) l = icf_vec3_scale(1 / early, l);
    turns = b->torque.x != 0 || b->torque.y != 0 || b->torque.z != 0;
    if (((locks & ICF_LOCK_TURN_X) && a.x != 0) || ((locks & ICF_LOCK_TURN_Y) && a.y != 0) ||
        ((locks & ICF_LOCK_TURN_Z) && a.z != 0)) {
        icf_real inertia[6];
        /* if the body still turns about a locked axis, the lock is a blow about that axis; the other axes
           keep their momentum */
        icfi_turned_inertia(m->q, b->inertia, inertia);
        if (!icfi_turn_by(b, m, icfi_symmetric(inertia, a), &a))
            return icfi_world_refuse(s->world, ICF_RESULT_NOT_SPD, p->body,
                                     "the inertia of a body");
    }
    if (!(turns || locks >> 3 ? icfi_turn_by(b, m, b->torque, &turn)
                              : icfi_symmetric_inverse(b->inertia, NULL))) {
        return icfi_world_refuse(s->world, ICF_RESULT_NOT_SPD, p->body, "the inertia of a body");
    }
    if (turns) {
        a = icf_vec3_add_scaled(a, h, turn);
        if (b->angular_damping > 0)
            a = icf_vec3_add_scaled(a, -h * (1 - s->blend) * b->angular_damping, m->w);
    } else if (b->angular_damping > 0) {
        a = icf_vec3_scale(1 - h * (1 - s->blend) * b->angular_damping, a);
    }
    if (b->angular_damping > 0) a = icf_vec3_scale(1 / (1 + h * s->blend * b->angular_damping), a);
    icfi_pack_velocity(locks, l, a, v);
    return ICF_RESULT_OK;
}

/* A of a body alone: 7 numbers, or the rows of its velocities that are not locked */
static void icfi_body_mass(const icfi_sim* s, const icfi_world_tree* tree, icf_real* a)
{
    const icfi_world_place* p = s->place + tree->first;
    const icfi_body* b = s->body + p->body;
    const uint32_t locks = icfi_locks_of(b);
    icf_real seven[7], six[36], h = s->blend * s->h;
    int32_t i, k, n = 0;
    seven[0] = b->mass * (1 + h * b->linear_damping);
    icfi_turned_inertia(s->motion[p->body].q, b->inertia, seven + 1);
    for (i = 1; i < 7; i++) seven[i] *= 1 + h * b->angular_damping;
    if (!locks) {
        ICFI_MEMCPY(a, seven, sizeof seven);
        return;
    }
    icfi_write_body(seven, six);
    for (i = 0; i < 6; i++) {
        for (k = 0; k < 6; k++) {
            if (!(locks >> i & 1u) && !(locks >> k & 1u)) a[n++] = six[6 * i + k];
        }
    }
}

/* tan(y) / y for z = y^2 up to 1/16, by its continued fraction, with an error of 1e-17 */
static icf_real icfi_tangent_ratio(icf_real z)
{
    return (10395 - z * (1260 - 21 * z)) / (10395 - z * (4725 - z * (210 - z)));
}

/* Turns the columns of a matrix into the rows of its inverse; answers 0 if it has none. */
static int icfi_invert3(icf_vec3* x, icf_vec3* y, icf_vec3* z)
{
    icf_vec3 yz = icf_vec3_cross(*y, *z), zx = icf_vec3_cross(*z, *x), xy = icf_vec3_cross(*x, *y);
    icf_real d = icf_vec3_dot(*x, yz);
    if (d == 0) return 0;
    d = 1 / d;
    *x = icf_vec3_scale(d, yz);
    *y = icf_vec3_scale(d, zx);
    *z = icf_vec3_scale(d, xy);
    return 1;
}

/* The columns of I - k ([l]x - [w]x I) */
static void icfi_spin_matrix(const icf_real i[6], icf_vec3 w, icf_vec3 l, icf_real k, icf_vec3* x,
                             icf_vec3* y, icf_vec3* z)
{
    *x = icf_vec3_make(i[0] + k * (w.y * i[4] - w.z * i[3]),
                       i[3] - k * (l.z - w.z * i[0] + w.x * i[4]),
                       i[4] + k * (l.y + w.x * i[3] - w.y * i[0]));
    *y = icf_vec3_make(i[3] + k * (l.z + w.y * i[5] - w.z * i[1]),
                       i[1] + k * (w.z * i[3] - w.x * i[5]),
                       i[5] - k * (l.x - w.x * i[1] + w.y * i[3]));
    *z = icf_vec3_make(i[4] - k * (l.y - w.y * i[2] + w.z * i[5]),
                       i[5] + k * (l.x + w.z * i[4] - w.x * i[2]),
                       i[2] + k * (w.x * i[5] - w.y * i[4]));
}

/* The rotation of a free rigid body over a time h: Euler's equations by a rule that keeps both its angular
   momentum in the world and its energy, for any h. In the axes of the body, with momentum P = I w, it is

       I w = (P0 + P1) / 2,   P1 = P0 turned by -h w   so that   (P1 - P0) . w = 0

   The energy 1/2 P . I^-1 P changes by (P1 - P0) . I^-1 (P1 + P0) / 2 = (P1 - P0) . w, so by 0. P1 is P0
   turned by the Cayley map of 2 k w, with k = tan(h |w| / 2) / |w|. So the first equation says
   I w = P0 + k (I w) x w, and Newton's method solves it from the velocity w. turn: (k w, 1), not normalised.
   Answers 0 if there is no solution nearby: h is too long. */
static int icfi_spin(const icf_real i[6], const icf_real inverse[6], icf_vec3 p, icf_vec3 w,
                     icf_real h, icf_quat* turn)
{
    icf_real size = icf_vec3_dot(w, w), k = h / 2 * icfi_tangent_ratio(h * h / 4 * size), first = 0;
    icf_vec3 l, x, y, z;
    int32_t trial;
    *turn = icf_quat_identity();
    if (!(size > 0)) return 1;
    /* The first step uses I alone. Then Newton's method keeps the matrix of that point, I - k ([I w]x - [w]x
       I). x, y, z hold its columns first, and then the rows of its inverse. */
    w = icf_vec3_add_scaled(w, k, icfi_symmetric(inverse, icf_vec3_cross(p, w)));
    l = icfi_symmetric(i, w);
    icfi_spin_matrix(i, w, l, k, &x, &y, &z);
    p = icf_vec3_scale(-1, p);
    if (!icfi_invert3(&x, &y, &z)) return 0;
    for (trial = 0; trial < 50; trial++) {
        icf_vec3 f = icf_vec3_cross(l, w);
        icf_real moved;
        f = icf_vec3_add_scaled(icf_vec3_add(l, p), -k, f);
        f = icf_vec3_make(icf_vec3_dot(x, f), icf_vec3_dot(y, f), icf_vec3_dot(z, f));
        w = icf_vec3_sub(w, f);
        moved = icf_vec3_dot(f, f);
        if (!trial) first = moved;
        /* the remaining error is proportional to this step times the first */
        if (moved * (first / size) <= ICFI_EPSILON * ICFI_EPSILON / 256 * size) {
            *turn = icf_quat_make(k * w.x, k * w.y, k * w.z, 1);
            return 1;
        }
        l = icfi_symmetric(i, w);
        k = h / 2 * icfi_tangent_ratio(h * h / 4 * icf_vec3_dot(w, w));
        if (!(h * h * icf_vec3_dot(w, w) <= 1)) return 0; /* icfi_tangent_ratio holds up to here */
    }
    return 0;
}

/* q^-1 v q - v, for a quaternion with |q|^2 = 2 / f */
static inline icf_vec3 icfi_unturn_change(icf_quat q, icf_real f, icf_vec3 v)
{
    icf_vec3 u = icf_vec3_make(-q.x, -q.y, -q.z), t = icf_vec3_cross(u, v);
    return icf_vec3_scale(f, icf_vec3_add_scaled(icf_vec3_cross(u, t), q.w, t));
}

/* Turns a free body alone by its mean angular velocity u. Changes its angular velocity w (both in the axes of
   the body) and the velocity of m, in the world. The solver changed the body's momentum with the inertia in
   its pose at the start, and the body keeps that momentum while it turns. A turn that takes momentum from p
   to p + dp and a fixed vector from w to w + dw changes the velocity by I^-1 dp - dw. This formula is used,
   not a difference of velocities, whose roundings would add up over a million steps. Answers 0 and changes
   nothing if h is too long. */
static int icfi_turn_once(const icf_real inertia[6], const icf_real inverse[6], icf_real h,
                          icfi_motion* m, icf_vec3* u, icf_vec3* w)
{
    const int same = u->x == w->x && u->y == w->y && u->z == w->z;
    icf_vec3 p = icfi_symmetric(inertia, *u), change;
    icf_quat turn;
    icf_real f;
    if (!icfi_spin(inertia, inverse, p, *u, h, &turn)) return 0;
    f = 2 / (1 + turn.x * turn.x + turn.y * turn.y + turn.z * turn.z);
    m->q = icf_quat_normalize(icf_quat_mul(m->q, turn));
    if (!same) {
        *u = icf_vec3_add(*u, icfi_symmetric(inverse, icfi_unturn_change(turn, f, p)));
        p = icfi_symmetric(inertia, *w);
    }
    p = icfi_symmetric(inverse, icfi_unturn_change(turn, f, p));
    change = icf_vec3_sub(p, icfi_unturn_change(turn, f, *w));
    m->w = icf_vec3_add(m->w, icf_quat_rotate(m->q, change));
    *w = icf_vec3_add(*w, p);
    if (same) *u = *w;
    return 1;
}

static void icfi_drift_turn(const icfi_body* b, icfi_motion* m, icf_vec3 mean, icf_vec3 a,
                            icf_real h)
{
    const int same = mean.x == a.x && mean.y == a.y && mean.z == a.z;
    icf_vec3 w = icf_quat_rotate_inverse(m->q, a), u = w;
    icf_real left = h, shorter = 1, inverse[6];
    int32_t trial;
    if (!same) u = icf_quat_rotate_inverse(m->q, mean);
    m->w = a;
    if (!icfi_symmetric_inverse(b->inertia, inverse)) return;
    /* Turns by at most half a radian at a time, where icfi_spin is accurate, and less where icfi_spin has no
       solution. 64 turns at most: a body faster than 32 radians in a step turns by less than it should, but
       loses neither energy nor momentum. */
    for (trial = 0; left > 0 && trial < 64; trial++) {
        icf_real angle = left * icf_vec3_length(u), part;
        if (!(angle <= ICF_REAL_MAX)) return; /* so fast that its square overflows */
        part = angle * shorter < ICF_R(0.5) ? left : left * (ICF_R(0.5) / (angle * shorter));
        if (icfi_turn_once(b->inertia, inverse, part, m, &u, &w)) {
            left -= part;
        } else {
            shorter *= 4;
        }
    }
}

/* The angular velocity that the last solve gave a body alone, before turning changed it */
static icf_vec3 icfi_before_turning(const icfi_sim* s, int32_t body)
{
    const icfi_body* b = s->body + body;
    icfi_motion m = s->motion[body];
    icf_vec3 w = icf_vec3_scale(-1, m.w);
    if ((!s->substep && !(b->slot.flags & ICFI_TURNED)) || (icfi_locks_of(b) >> 3) ||
        icfi_is_round(b->inertia) ||
        s->turned * s->turned * icf_vec3_dot(w, w) < ICF_R(1e-10)) { /* hardly any turn */
        return m.w;
    }
    icfi_drift_turn(b, &m, w, w, s->turned);
    return icf_vec3_scale(-1, m.w);
}

/* Moves a free body alone with its new velocities. */
static void icfi_drift(const icfi_sim* s, const icfi_world_tree* tree, const icf_real* v)
{
    const icfi_world_place* p = s->place + tree->first;
    const icfi_body* b = s->body + p->body;
    icfi_motion* m = s->motion + p->body;
    const icf_real still[6] = {0, 0, 0, 0, 0, 0};
    icf_vec3 l = icf_vec3_make(0, 0, 0), a = l, mean;
    icfi_unpack_velocity(icfi_locks_of(b), v, &l, &a);
    icfi_unpack_velocity(~icfi_locks_of(b), still, &m->v, &m->w); /* locked axes do not move */
    m->x = icf_vec3_add_scaled(m->x, s->h, icfi_blend(s->blend, l, m->v));
    m->v = l;
    mean = icfi_blend(s->blend, a, m->w);
    m->w = a;
    if (icf_vec3_dot(mean, mean) == 0 && icf_vec3_dot(a, a) == 0) return;
    if ((icfi_locks_of(b) >> 3) || icfi_is_round(b->inertia)) { /* momentum is along the velocity */
        m->q = icfi_rotate_on(m->q, mean, s->h);
    } else {
        icfi_drift_turn(b, m, mean, a, s->h);
    }
}

// ------------------------------------------------------------------------------------------------
// Layer 9, continued: touches in a substep, and where they stick
// >>touches
/* Offers to those below: icfi_anchor_holds, icfi_anchor_slides, icfi_anchor_steps, icfi_find_slid,
   icfi_follow_anchor, icfi_point_on, icfi_pull, icfi_touch_now */

/* The point of a body that is at p in the world, from its centre and in its axes. The ground has those of the
   world. */
static ICFI_NOINLINE icf_vec3 icfi_point_on(const icfi_sim* s, int32_t body, icf_vec3 p)
{
    const icfi_motion* m = body < 0 ? NULL : s->motion + body;
    return m ? icf_quat_rotate_inverse(m->q, icf_vec3_sub(p, m->x)) : p;
}

/* A direction of a body in the world, and the place of a point of it */
static ICFI_NOINLINE icf_vec3 icfi_direction_of(const icfi_sim* s, int32_t body, icf_vec3 d)
{
    return body < 0 ? d : icf_quat_rotate(s->motion[body].q, d);
}

static icf_vec3 icfi_place_of(const icfi_sim* s, int32_t body, icf_vec3 p)
{
    return body < 0 ? p : icf_vec3_add(s->motion[body].x, icfi_direction_of(s, body, p));
}

/* A touch in a substep: the points where it pushes A and B, and its distance */
static void icfi_touch_now(const icfi_sim* s, int32_t i, icf_vec3 at[2], icf_real* distance)
{
    const icf_touch* touch = s->touch + i;
    const icfi_touching* t = s->touching + i;
    const icf_vec3 r = touch->reach;
    icf_vec3 gap;
    int32_t k;
    *distance = touch->contact.distance;
    at[0] = icf_vec3_add_scaled(touch->point, -ICF_R(0.5), r);
    at[1] = icf_vec3_add_scaled(touch->point, ICF_R(0.5), r);
    if (!s->substep) return; /* as the caller gave it */
    for (k = 0; k < 2; k++) at[k] = icfi_place_of(s, t->body[k], t->at[k]);
    gap = icf_vec3_sub(at[1], at[0]);
    *distance += icf_vec3_dot(touch->contact.normal, icf_vec3_sub(gap, r));
    /* from when the gap has closed, both are pushed half way */
    if (!(icf_vec3_dot(gap, r) > 0)) at[0] = at[1] = icf_vec3_add_scaled(at[0], ICF_R(0.5), gap);
}

/* ---- anchors ---- */

/* Regularised friction needs a slip to hold, so what it holds creeps. An anchor cures this: it knows the
   points of A and B that were together when the contact stuck. Friction then acts on the slip plus x / T,
   where x is how far these points have come apart along the surface: a spring that friction limits, with
   a damper. The cost stays as convex as it was, and at rest x holds the load without any slip.

   Places are compared, not velocities added up: what a turning gripper holds moves in arcs, which the sum of
   its velocities does not know. But what rolls must add up arcs on both surfaces, or it would lose speed:
   its anchor is set anew in each step.

   T is three steps: one would ring. x is at most as long as twelve times the slip that holds 0.7 of the
   limit, so friction holds 0.9965 of it; two times while the contact slips, or it would kick back when it
   stops. */
static const icf_real icfi_anchor_steps = 3;
static const icf_real icfi_anchor_holds = 12;
static const icf_real icfi_anchor_slides = 2;
/* e grows with the normal impulse, but only this many slip tolerances count: an anchor must not take up the
   energy of a blow */
static const icf_real icfi_anchor_most = 10;
static const icf_real icfi_anchor_carried = 1000; /* likewise: 0.1 m/s, of 12 m/s^2 at 60 Hz */
/* a contact has rolled if it has moved on both surfaces by more than this part of its levers */
static const icf_real icfi_anchor_rolls = ICF_R(0.002);

/* The velocity that pulls a unit of displacement back */
static icf_real icfi_pull(const icfi_sim* s)
{
    return 1 / (icfi_anchor_steps * s->h);
}

static icf_vec3 icfi_tangential(icf_vec3 a, icf_vec3 n)
{
    return icf_vec3_add_scaled(a, -icf_vec3_dot(a, n), n);
}

/* x, shortened to `most` */
static icf_vec3 icfi_no_longer(icf_vec3 x, icf_real most)
{
    const icf_real square = icf_vec3_dot(x, x);
    return square > most * most ? icf_vec3_scale(most / ICF_SQRT(square), x) : x;
}

/* The arc along a round surface, at its end, whose normal is n, from its chord: a chord leads down by half of
   the angle a of the arc, and is shorter by sin(a / 2) / (a / 2) */
static icf_vec3 icfi_arc(icf_vec3 chord, icf_vec3 n)
{
    const icf_vec3 across = icfi_tangential(chord, n);
    const icf_real down = icf_vec3_dot(chord, n), square = icf_vec3_dot(across, across);
    const icf_real q = icfi_min(down * down / icfi_max(square, ICFI_REAL_MIN), 1); /* tan(a/2)^2 */
    icf_real f = 1;
    int k;
    for (k = 6; k > 0; k--) f = (icf_real)(2 * k - 1) + (icf_real)(k * k) * q / f;
    return icf_vec3_scale((1 + q) / f, across); /* a / sin a, by the fraction for the arc tangent */
}

/* The longest displacement of a touch that holds, or that slides. What is carried in an arc leaves it
   along its tangent in each step, and has to run back as fast: friction sees the sum, so that much is
   added. */
static icf_real icfi_longest_slid(const icfi_sim* s, const icfi_touching* t)
{
    const icf_real stick = t->anchor.stick;
    return ((stick < 0 ? -icfi_anchor_slides : icfi_anchor_holds) * stick + t->anchor.carried) *
           icfi_anchor_steps * s->h;
}

/* Moves a touch's anchor by x on A, or as much back on B: on the side where the contact wanders, or on
   both in proportion */
static void icfi_shift_anchor(const icfi_sim* s, icfi_touching* t, icf_vec3 x)
{
    int32_t k;
    for (k = 0; k < 2; k++) {
        const icf_real share = k ? -t->wanders : 1 - t->wanders;
        icf_vec3 p;
        if (share == 0) continue;
        p = icf_vec3_add_scaled(icfi_place_of(s, t->body[k], t->anchor.at[k]), share, x);
        t->anchor.at[k] = icfi_point_on(s, t->body[k], p);
    }
}

/* A way on a body that turned about the normal while it was made: as it was half way through the step */
static icf_vec3 icfi_half_turn_back(const icfi_sim* s, int32_t body, icf_vec3 way, icf_vec3 n)
{
    const icf_real h =
        s->substep ? 0 : s->h * (icf_real)s->parts; /* in a step, touches stay on a body */
    const icf_real turn = body < 0 ? 0 : icf_vec3_dot(s->motion[body].w, n) * h / 2;
    return icf_vec3_add_scaled(way, -turn, icf_vec3_cross(n, way));
}

/* How far B is from where touch i stuck, along the surface. on: where the touch is, on A and on B. Where the
   contact has rolled, sets its anchor anew, at the same distance. */
static icf_vec3 icfi_displacement(const icfi_sim* s, icfi_touching* t, const icf_vec3 on[2],
                                  icf_vec3 n)
{
    icf_vec3 way[2], x;
    icf_real far[2], least = ICF_REAL_MAX, most = 100 * icfi_longest_slid(s, t);
    int32_t k;
    for (k = 0; k < 2; k++) {
        icf_vec3 r;
        way[k] = icf_vec3_sub(on[k], icfi_place_of(s, t->body[k], t->anchor.at[k]));
        far[k] = icf_vec3_dot(way[k], way[k]);
        if (t->body[k] < 0 || !icfi_is_dynamic(s->body + t->body[k])) continue;
        r = icf_vec3_sub(on[k], s->motion[t->body[k]].x);
        least = icfi_min(least, icf_vec3_dot(r, r));
    }
    least *= icfi_anchor_rolls * icfi_anchor_rolls;
    t->wanders = far[0] + far[1] > 0 ? far[1] / (far[0] + far[1]) : ICF_R(0.5);
    x = icfi_tangential(icf_vec3_sub(way[0], way[1]), n);
    if (icf_vec3_dot(x, x) <= most * most && (far[0] <= least || far[1] <= least)) return x;
    for (k = 0; k < 2; k++) t->anchor.at[k] = icfi_point_on(s, t->body[k], on[k]);
    /* so far in one step, it has been put elsewhere, or slides: a new anchor */
    if (!(icf_vec3_dot(x, x) <= most * most)) return icf_vec3_make(0, 0, 0);
    for (k = 0; k < 2; k++) way[k] = icfi_arc(icfi_half_turn_back(s, t->body[k], way[k], n), n);
    x = icf_vec3_sub(way[0], way[1]);
    icfi_shift_anchor(s, t, icf_vec3_scale(-1, x));
    return x;
}

/* Makes the displacement of a touch `to`, clipped, where its places say x: moves its anchor by the rest. */
static void icfi_set_slid(const icfi_sim* s, icfi_touching* t, icf_vec3 x, icf_vec3 to)
{
    t->slid = icfi_no_longer(to, icfi_longest_slid(s, t));
    x = icf_vec3_sub(x, t->slid);
    if (x.x != 0 || x.y != 0 || x.z != 0) icfi_shift_anchor(s, t, x);
}

/* A touch's points on both surfaces, now; answers its normal. */
static icf_vec3 icfi_touch_points(const icfi_sim* s, int32_t i, icf_vec3 on[2])
{
    const icf_vec3 n = icf_vec3_normalize(s->touch[i].contact.normal);
    icf_vec3 at[2], middle;
    icf_real distance;
    icfi_touch_now(s, i, at, &distance);
    middle = icf_vec3_scale(ICF_R(0.5), icf_vec3_add(at[0], at[1]));
    on[0] = icf_vec3_add_scaled(middle, -distance / 2, n);
    on[1] = icf_vec3_add_scaled(middle, distance / 2, n);
    return n;
}

/* The sums of a fit of a rigid motion to displacements x at p */
typedef struct icfi_fit {
    icf_vec3 p, x, p_cross_x;
    icf_real p_dot_p, count;
} icfi_fit;

static void icfi_fit_add(icfi_fit* f, icf_vec3 p, icf_vec3 x)
{
    f->p = icf_vec3_add(f->p, p);
    f->x = icf_vec3_add(f->x, x);
    f->p_cross_x = icf_vec3_add(f->p_cross_x, icf_vec3_cross(p, x));
    f->p_dot_p += icf_vec3_dot(p, p);
    f->count += 1;
}

/* The displacement at p on a surface with the normal n, by the mean and the turn of the others */
static icf_vec3 icfi_fit_at(const icfi_fit* f, icf_vec3 p, icf_vec3 n)
{
    const icf_vec3 middle = icf_vec3_scale(1 / f->count, f->p);
    const icf_real spread = f->p_dot_p - icf_vec3_dot(f->p, middle),
                   turn = icf_vec3_dot(n, icf_vec3_sub(f->p_cross_x, icf_vec3_cross(middle, f->x)));
    icf_vec3 x = icf_vec3_scale(1 / f->count, f->x);
    if (spread > ICF_R(1e-3) * f->p_dot_p)
        x = icf_vec3_add_scaled(x, turn / spread, icf_vec3_cross(n, icf_vec3_sub(p, middle)));
    return icfi_tangential(x, n);
}

/* Whether a touch can have an anchor: it is followed, and rubs */
static int icfi_can_stick(const icfi_sim* s, int32_t i)
{
    const icf_surface* f = s->surface + s->touch[i].contact.surface;
    return s->header->anchors && s->touch[i].id && (f->friction > 0 || f->friction_static > 0);
}

/* The side that rolls on the other would turn a vector that it carries. So the other one carries it, if it
   stands. */
static int icfi_turn_side(const icfi_sim* s, const icfi_touching* t)
{
    return t->body[1] < 0 || !icfi_is_dynamic(s->body + t->body[1]);
}

/* Two points of one pair that stuck at different times pull against each other. That stress holds nothing,
   and keeps friction at its limit, so that all that moves on top of it takes iterations: what is not a
   rigid motion of the pair is let go, this part of it in each step, but for a small rest, so that what
   rests stands still. */
static const icf_real icfi_anchor_relaxes = ICF_R(0.1);
static const icf_real icfi_anchor_strain = ICF_R(0.05); /* of the longest displacement */

/* Brings the displacement of a touch nearer to the fit of its pair; a touch that is new takes it over, so
   that nothing is let go when corners take turns. */
static void icfi_fit_slid(icfi_sim* s, int32_t i, const icfi_fit* fit, icf_vec3 base)
{
    icfi_touching* t = s->touching + i;
    icf_vec3 on[2], x = icf_vec3_make(0, 0, 0), off;
    const icf_vec3 n = icfi_touch_points(s, i, on);
    icf_real longest, strain;
    if (fit->count > 0) x = icfi_fit_at(fit, icf_vec3_sub(on[0], base), n);
    if (t->anchor.stick == 0) {
        t->slid = x = icfi_no_longer(x, icfi_anchor_holds * icfi_anchor_steps * s->h *
                                            s->surface[s->touch[i].contact.surface].slip_tolerance);
        t->anchor.at[0] = icfi_point_on(s, t->body[0], icf_vec3_sub(on[0], x));
        t->anchor.at[1] = icfi_point_on(s, t->body[1], on[1]);
        return;
    }
    longest = icfi_longest_slid(s, t);
    off = icf_vec3_sub(icfi_no_longer(x, longest), t->slid);
    strain = icfi_anchor_strain * longest;
    if (icf_vec3_dot(off, off) > strain * strain)
        icfi_set_slid(s, t, t->slid, icf_vec3_add_scaled(t->slid, icfi_anchor_relaxes, off));
}

/* Finds how far each touch is from where it stuck. */
static ICFI_NOINLINE void icfi_find_slid(icfi_sim* s)
{
    int32_t count = s->session->touches, i, k, end;
    for (i = 0; i < count; i = end) {
        icfi_touching* first = s->touching + i;
        icf_vec3 on[2], n, x, base = s->touch[i].point;
        icfi_fit fit;
        ICFI_MEMSET(&fit, 0, sizeof fit);
        for (end = i; end < count; end++) {
            icfi_touching* t = s->touching + end;
            if (t->body[0] != first->body[0] || t->body[1] != first->body[1]) break;
            /* what slides along a floor says nothing of a wall */
            if (!(icf_vec3_dot(s->touch[end].contact.normal, s->touch[i].contact.normal) >
                  ICF_R(0.9)) &&
                end > i)
                break;
            t->slid = t->turned = icf_vec3_make(0, 0, 0);
            if (!icfi_can_stick(s, end)) t->anchor.stick = 0;
            if (t->anchor.stick == 0) continue;
            t->turned = icfi_direction_of(s, t->body[icfi_turn_side(s, t)], t->anchor.turn);
            n = icfi_touch_points(s, end, on);
            x = icfi_displacement(s, t, on, n);
            icfi_set_slid(s, t, x, x);
            icfi_fit_add(&fit, icf_vec3_sub(on[0], base), t->slid);
        }
        for (k = i; k < end; k++) {
            if (icfi_can_stick(s, k) && (s->touching[k].anchor.stick == 0 || fit.count > 1))
                icfi_fit_slid(s, k, &fit, base);
        }
    }
}

/* A displacement that has grown to x, with the velocity v: clipped to what holds, or, if it slips away from
   where it stuck, to what slides */
static icf_vec3 icfi_clip(const icfi_sim* s, icf_vec3 x, icf_vec3 v, icf_real stick)
{
    icf_real most = icfi_anchor_holds;
    if (icf_vec3_dot(v, v) > most * most * stick * stick && icf_vec3_dot(v, x) > 0)
        most = icfi_anchor_slides;
    return icfi_no_longer(x, most * stick * icfi_anchor_steps * s->h);
}

/* Follows torsion and rolling of a touch through the substep that was solved. */
static void icfi_follow_turn(icfi_sim* s, icfi_touching* t, const icf_vec3 axes[3])
{
    const icf_contact_result* r = &t->out.contact;
    const icf_vec3 n = axes[2],
                   roll =
                       icf_vec3_add_scaled(icf_vec3_scale(r->spin.x, axes[0]), r->spin.y, axes[1]),
                   spin = icf_vec3_scale(r->spin.z, n),
                   turned =
                       icf_vec3_add_scaled(icf_vec3_add_scaled(t->turned, s->h, roll), s->h, spin),
                   along = icf_vec3_scale(icf_vec3_dot(turned, n), n);
    const int32_t body = t->body[icfi_turn_side(s, t)];
    icf_vec3 x = icf_vec3_add(icfi_clip(s, along, spin, r->stick_torsion),
                              icfi_clip(s, icf_vec3_sub(turned, along), roll, r->stick_rolling));
    t->anchor.turn = body < 0 ? x : icf_quat_rotate_inverse(s->motion[body].q, x);
}

/* Follows a touch through the substep that was solved. */
static void icfi_follow_anchor(icfi_sim* s, int32_t i)
{
    icfi_touching* t = s->touching + i;
    const icf_contact_result* r = &t->out.contact;
    const icf_surface* f = s->surface + s->touch[i].contact.surface;
    const icf_real vx = r->velocity.x, vy = r->velocity.y, fast = icfi_anchor_holds * r->stick;
    const int moves = vx * vx + vy * vy > r->stick * r->stick * ICF_R(0.01),
              carries = f->velocity.x != 0 || f->velocity.y != 0 || f->velocity.z != 0;
    icf_real stick, away, before;
    icf_vec3 axes[3];
    if (!icfi_can_stick(s, i)) return;
    if (t->anchor.stick == 0 && !(r->impulse.z > 0) && !(r->lag.limit > 0)) return;
    stick = r->stick > 0 ? r->stick : ICF_FABS(t->anchor.stick);
    t->anchor.stick = icfi_min(stick, icfi_anchor_most * f->slip_tolerance);
    before = t->anchor.carried;
    t->anchor.carried = 0; /* it grows step by step: what trembles is not carried */
    if (!moves && !carries && !icfi_spins(f)) return;
    (void)icfi_contact_frame(f->tangent, s->touch[i].contact.normal, axes);
    away = vx * icf_vec3_dot(axes[0], t->slid) + vy * icf_vec3_dot(axes[1], t->slid);
    if (away < 0) {
        away = -away / icf_vec3_length(t->slid);
        t->anchor.carried = icfi_min(away, 2 * before + t->anchor.stick);
        t->anchor.carried = icfi_min(t->anchor.carried, icfi_anchor_carried * f->slip_tolerance);
    } else if (away > 0 && vx * vx + vy * vy > fast * fast) {
        t->anchor.stick = -t->anchor.stick; /* fast, and away from where it stuck */
    }
    if (icfi_spins(f)) icfi_follow_turn(s, t, axes);
    /* a belt carries its side of the anchor along */
    if (carries) {
        icfi_shift_anchor(s, t, icf_vec3_scale(-s->h, icfi_tangential(f->velocity, axes[2])));
    }
}

// ------------------------------------------------------------------------------------------------
// Layer 9, continued: the convex problem of a step
// >>world-problem
/* Offers to those below: icfi_constraint_rows, icfi_coupler_error, icfi_is_kept, icfi_move,
   icfi_solve_substep, icfi_take_results, icfi_tree_of */

/* Solves of a substep at most, in search of its end. WHEN_LOST: after a substep without an end, because the
   step is TOO_FAST already. Most ends are found in 5 to 9 solves, few after 15. */
#define ICFI_PASSES 24
#define ICFI_PASSES_WHEN_LOST 4

static icfi_world_tree* icfi_tree_of(const icfi_sim* s, int32_t body)
{
    return body >= 0 && s->tree_of[body] >= 0 ? s->tree + s->tree_of[body] : NULL;
}

/* Whether the solver can move a body: not if it is held to the ground, or by all of its locks */
static int icfi_can_move(const icfi_sim* s, int32_t body)
{
    const icfi_world_tree* tree = icfi_tree_of(s, body);
    return tree && tree->dofs > 0;
}

/* Makes the clique of a tree. The first link that reads the tree calls this, and so numbers the cliques. */
static ICFI_NOINLINE void icfi_add_clique(icfi_sim* s, icfi_world_tree* tree)
{
    icf_problem* p = &s->problem;
    int32_t n = tree->dofs, at = s->velocities, i;
    size_t mass_at = s->mass_used;
    tree->clique = p->cliques;
    s->is_body[p->cliques] = tree->single && n == 6;
    s->size[p->cliques++] = n;
    if (tree->single) {
        icfi_body_mass(s, tree, s->problem_mass + mass_at);
        s->problem_factor[mass_at] = 0;
    } else {
        const size_t bytes = (size_t)n * (size_t)n * sizeof(icf_real);
        icfi_copy_bytes(s->problem_mass + mass_at, s->mass + tree->mass_at, bytes);
        icfi_copy_bytes(s->problem_factor + mass_at, s->factor + tree->mass_at, bytes);
    }
    for (i = 0; i < n; i++) {
        s->problem_v_free[at + i] = s->v_free[tree->dof + i];
        s->problem_v_last[at + i] = s->v0[tree->dof + i];
        s->problem_v[at + i] = (s->pass ? s->v : s->v0)[tree->dof + i];
    }
    if (s->is_body[tree->clique]) {
        /* friction needs the velocity that the last solve left. Otherwise an uneven ball would seem to slip
           while it rolls */
        icf_vec3 w = icfi_before_turning(s, s->place[tree->first].body);
        s->problem_v_last[at + 3] = w.x;
        s->problem_v_last[at + 4] = w.y;
        s->problem_v_last[at + 5] = w.z;
    }
    s->velocities = at + n;
    s->mass_used = mass_at + (s->is_body[tree->clique] ? 7 : (size_t)n * (size_t)n);
}

/* Makes a new link without blocks. Zeroes six numbers of its bias, even for fewer rows: there is room, and
   the compiler then knows the count. */
static int32_t icfi_begin_link(icfi_sim* s, int32_t rows, int32_t* bias_at)
{
    icf_problem* p = &s->problem;
    int32_t link = p->links++, i;
    icf_real* bias = s->bias + *bias_at;
    s->link_rows[link] = rows;
    s->link_start[link + 1] = s->link_start[link];
    for (i = 0; i < 6; i++) bias[i] = 0;
    *bias_at += rows;
    return link;
}

/* Makes a new block of the last link, for `columns` velocities of a tree. Answers its lever, which is not
   set. */
static inline icf_lever* icfi_new_block(icfi_sim* s, icfi_world_tree* tree, int32_t first,
                                        int32_t columns)
{
    int32_t block = s->link_start[s->problem.links]++;
    if (tree->clique < 0) icfi_add_clique(s, tree);
    s->block_clique[block] = tree->clique;
    s->block_columns[2 * block] = first;
    s->block_columns[2 * block + 1] = columns;
    return s->block_lever + block;
}

/* The numbers of a block of the last link, rows x columns, zero if it is new. Answers NULL if there is no
   room. Even then block_used goes on: its end says how much would be enough. */
static icf_real* icfi_side_block(icfi_sim* s, icfi_world_tree* tree, int32_t first, int32_t columns)
{
    int32_t link = s->problem.links - 1, rows = s->link_rows[link], k;
    size_t at = s->block_used, reals = (size_t)rows * (size_t)columns;
    for (k = s->link_start[link + 1] - 1; k >= s->link_start[link]; k--) {
        const int32_t* range = s->block_columns + 2 * k;
        if (s->block_lever[k].sign != 0) continue;
        at -= (size_t)rows * (size_t)range[1];
        if (s->block_clique[k] == tree->clique && range[0] == first && range[1] == columns)
            return s->block_used * sizeof(icf_real) <= s->workspace_bytes ? s->blocks + at : NULL;
    }
    icfi_new_block(s, tree, first, columns)->sign = 0;
    at = s->block_used;
    s->block_used += reals;
    if (s->block_used * sizeof(icf_real) > s->workspace_bytes) return NULL;
    if (reals) ICFI_MEMSET(s->blocks + at, 0, reals * sizeof(icf_real));
    return s->blocks + at;
}

/* The velocities that move a body of a tree, as two ranges, with the widest gap between them left out: first
   and end of each. Without a gap the second is empty. */
static void icfi_chain_of(const icfi_sim* s, int32_t body, int32_t range[4])
{
    const icfi_world_place *p = s->place + s->place_of[body], *low, *high;
    int32_t widest = 0;
    range[0] = p->dof;
    range[1] = range[2] = range[3] = p->dof + p->dofs;
    for (; p->parent >= 0; p = s->place + p->parent) {
        const icfi_world_place* up = s->place + p->parent;
        low = p->dof < up->dof ? p : up;
        high = p->dof < up->dof ? up : p;
        if (high->dof - low->dof - low->dofs > widest) {
            widest = high->dof - low->dof - low->dofs;
            range[1] = low->dof + low->dofs;
            range[2] = high->dof;
        }
        if (up->dof < range[0]) range[0] = up->dof;
        if (up->dof + up->dofs > range[3]) range[3] = up->dof + up->dofs;
    }
    if (!widest) range[1] = range[2] = range[3];
}

/* The vector between two points, 0 if it is only rounding */
static icf_vec3 icfi_arm(icf_vec3 from, icf_vec3 to)
{
    const icf_vec3 r = icf_vec3_sub(to, from);
    const icf_real least = 16 * ICFI_EPSILON,
                   square = icf_vec3_dot(from, from) + icf_vec3_dot(to, to);
    return icf_vec3_dot(r, r) > least * least * square ? r : icf_vec3_make(0, 0, 0);
}

/* Adds the motion c of a body, at the point r from c's origin, to column i of a block of n columns, as its
   components along the directions. A component that is only rounding, of one side or of two equal sides,
   becomes 0: a row along a locked or jointed axis must not seem to move a little. */
static void icfi_add_along(icf_real* block, int32_t rows, int32_t n, int32_t i, icf_real sign,
                           const icfi_spatial* c, icf_vec3 r, const icfi_spatial* direction)
{
    const icf_vec3 l = icf_vec3_add(c->l, icf_vec3_cross(c->a, r));
    const icf_real least = 64 * ICFI_EPSILON, turn = icf_vec3_dot(c->a, c->a),
                   slide = icf_vec3_dot(c->l, c->l) + turn * icf_vec3_dot(r, r);
    int32_t k;
    for (k = 0; k < rows; k++) {
        const icf_vec3 dl = direction[k].l, da = direction[k].a;
        const icf_real x = block[k * n + i] + sign * (icf_vec3_dot(dl, l) + icf_vec3_dot(da, c->a)),
                       square = icf_vec3_dot(dl, dl) * slide + icf_vec3_dot(da, da) * turn;
        block[k * n + i] = x * x > least * least * square ? x : 0;
    }
}

/* The same, or, without directions, the velocity there and the angular velocity */
static void icfi_add_motion(icf_real* block, int32_t rows, int32_t n, int32_t i, icf_real sign,
                            const icfi_spatial* c, icf_vec3 r, const icfi_spatial* direction)
{
    icf_vec3 l;
    if (direction) {
        icfi_add_along(block, rows, n, i, sign, c, r, direction);
        return;
    }
    l = icf_vec3_add(c->l, icf_vec3_cross(c->a, r));
    block[i] += sign * l.x;
    block[n + i] += sign * l.y;
    block[2 * n + i] += sign * l.z;
    if (rows < 6) return;
    block[3 * n + i] += sign * c->a.x;
    block[4 * n + i] += sign * c->a.y;
    block[5 * n + i] += sign * c->a.z;
}

/* Adds one side of the last link: `sign` times the velocity of the point of a body at p, and the angular
   velocity. The ground adds nothing. other: the body of the other side */
static void icfi_add_side(icfi_sim* s, int32_t body, int32_t other, icf_vec3 p, icf_real sign,
                          icf_real* bias, const icfi_spatial* direction)
{
    int32_t rows = s->link_rows[s->problem.links - 1], range[4], i, k, carrier;
    icfi_world_tree* tree;
    icf_real *block, *second = NULL;
    if (body < 0) return;
    tree = icfi_tree_of(s, body);
    carrier = tree ? tree->carrier : body;
    if (carrier >= 0) {
        icfi_spatial carried = icfi_carrier_speed(s, s->motion, carrier, p);
        icfi_add_motion(bias, rows, 1, 0, sign, &carried, icf_vec3_make(0, 0, 0), direction);
    }
    if (!tree || !tree->dofs) return;
    if (tree->dofs == 6 && tree->single && !direction) {
        /* the two sides of a link are different bodies, so this body has no block yet */
        icf_lever* l = icfi_new_block(s, tree, 0, 6);
        l->r = icf_vec3_sub(p, s->motion[body].x);
        l->sign = sign;
        return;
    }
    icfi_chain_of(s, body, range);
    if (icfi_tree_of(s, other) == tree) { /* both sides share a block */
        range[0] = 0;
        range[1] = range[2] = range[3] = tree->dofs;
    }
    block = icfi_side_block(s, tree, range[0], range[1] - range[0]);
    if (range[2] < range[3]) second = icfi_side_block(s, tree, range[2], range[3] - range[2]);
    if (!block || (range[2] < range[3] && !second)) return;
    if (tree->single) {
        icf_vec3 r =
            direction ? icfi_arm(s->motion[body].x, p) : icf_vec3_sub(p, s->motion[body].x);
        uint32_t locks = icfi_locks_of(s->body + body);
        for (i = k = 0; i < 6; i++) {
            icfi_spatial c = icfi_free_column(i);
            if (locks >> i & 1u) continue;
            icfi_add_motion(block, rows, tree->dofs, k++, sign, &c, r, direction);
        }
        return;
    }
    for (k = s->place_of[body]; k >= 0; k = s->place[k].parent) {
        icf_vec3 r = direction ? icfi_arm(tree->origin, p) : icf_vec3_sub(p, tree->origin);
        for (i = 0; i < s->place[k].dofs; i++) {
            const int32_t d = s->place[k].dof + i, from = d < range[1] ? 0 : 2;
            icfi_add_motion(from ? second : block, rows, range[from + 1] - range[from],
                            d - range[from], sign, s->column + tree->dof + d, r, direction);
        }
    }
}

/* Adds `ratio` times a velocity of a joint to the last link, of one row. alone: nothing else of its tree */
static void icfi_add_joint_side(icfi_sim* s, int32_t joint, int32_t number, icf_real ratio,
                                int alone)
{
    const int32_t body = s->joint[joint].child, d = s->place[s->place_of[body]].dof + number;
    icfi_world_tree* tree = icfi_tree_of(s, body);
    icf_real* block = icfi_side_block(s, tree, alone ? d : 0, alone ? 1 : tree->dofs);
    if (block) block[alone ? 0 : d] += ratio;
}

/* The longer distance from a point to the centres of two bodies; a body that no force moves does not count */
static icf_real icfi_longest_lever(const icfi_sim* s, const int32_t body[2], icf_vec3 p)
{
    icf_real square = 0;
    int32_t i;
    for (i = 0; i < 2; i++) {
        icf_vec3 r;
        if (!icfi_tree_of(s, body[i])) continue;
        r = icf_vec3_sub(p, s->motion[body[i]].x);
        square = icfi_max(square, icf_vec3_dot(r, r));
    }
    return ICF_SQRT(square);
}

/* Whether a body has the same velocity everywhere, whatever pushes it */
static int icfi_never_turns(const icfi_sim* s, int32_t body)
{
    const icf_vec3 none = {0, 0, 0}, w = body < 0 ? none : s->motion[body].w;
    return !icfi_can_move(s, body) && w.x == 0 && w.y == 0 && w.z == 0;
}

/* The end of the run of touches that share a link with touch i: touches of its pair. A link reads the
   velocity of one point of A relative to one of B. From these another touch follows exactly if its points
   are as far apart, or if one side never turns. */
static int32_t icfi_run_end(const icfi_sim* s, int32_t i, const icf_vec3 at[2], int one_sided)
{
    const icfi_touching* t = s->touching + i;
    const icf_vec3 gap = icf_vec3_sub(at[1], at[0]);
    int32_t count = s->session->touches, end;
    for (end = i + 1; end < count; end++) {
        const icfi_touching* u = s->touching + end;
        icf_vec3 other[2];
        icf_real distance;
        if (u->body[0] != t->body[0] || u->body[1] != t->body[1]) break;
        if (one_sided) continue;
        icfi_touch_now(s, end, other, &distance);
        other[0] = icf_vec3_sub(icf_vec3_sub(other[1], other[0]), gap);
        if (icf_vec3_dot(other[0], other[0]) >
            ICFI_EPSILON * ICFI_EPSILON * icf_vec3_dot(at[0], at[0]))
            break;
    }
    return end;
}

/* What a step of length `before` left, for one of length h: impulses are in proportion. After a step of quite
   another length nothing is known. */
static void icfi_scale_memory(icf_contact* c, icf_real h, icf_real before)
{
    const icf_real share = h < 16 * before && before < 16 * h ? h / before : 0;
    c->impulse_guess = icf_vec3_scale(share, c->impulse_guess);
    c->lag.limit *= share;
    c->lag.before *= share;
    c->lag.impulse *= share;
}

/* Makes links and contacts of the touches. */
static void icfi_link_touches(icfi_sim* s, int32_t* bias_at)
{
    icf_problem* p = &s->problem;
    const icf_lag none = {0, 0, 0};
    int32_t count = s->session->touches, i, k, end;
    for (i = 0; i < count; i = end) {
        const icfi_touching* t = s->touching + i;
        const int still = icfi_never_turns(s, t->body[0]);
        int32_t link, rows = 3, bias = *bias_at;
        icf_vec3 at[2];
        icf_real distance;
        s->touching[i].contact = -1;
        end = i + 1;
        if (!icfi_can_move(s, t->body[0]) && !icfi_can_move(s, t->body[1])) continue;
        icfi_touch_now(s, i, at, &distance);
        end = icfi_run_end(s, i, at, still || icfi_never_turns(s, t->body[1]));
        for (k = i; k < end; k++) {
            if (k > i || icfi_spins(s->surface + s->touch[k].contact.surface)) rows = 6;
        }
        link = icfi_begin_link(s, rows, bias_at);
        icfi_add_side(s, t->body[0], t->body[1], at[0], -1, s->bias + bias, NULL);
        icfi_add_side(s, t->body[1], t->body[0], at[1], 1, s->bias + bias, NULL);
        for (k = i; k < end; k++) {
            icf_contact* c = s->contact + p->contacts;
            icf_vec3 now[2];
            *c = s->touch[k].contact;
            icfi_touch_now(s, k, now, &c->distance);
            c->link = link;
            c->point = rows == 6 ? icf_vec3_sub(now[still], at[still]) : icf_vec3_make(0, 0, 0);
            c->pull = icf_vec3_add_scaled(c->pull, icfi_pull(s), s->touching[k].slid);
            c->twist = icf_vec3_add_scaled(c->twist, icfi_pull(s), s->touching[k].turned);
            if (s->touching[k].memory >= 0 && !s->substep) {
                const icfi_contact_cache* m = s->memory + s->touching[k].memory;
                c->impulse_guess = m->impulse;
                if (s->header->settle) c->lag = m->lag;
                if (s->h != s->turned) icfi_scale_memory(c, s->h, s->turned);
            }
            if (s->substep) c->lag = s->header->settle ? s->touching[k].out.contact.lag : none;
            s->touching[k].contact = p->contacts++;
        }
    }
}

/* beta of the rows of constraints. A heavy body at the end of light ones stretches them by the ratio of the
   weights times beta^2. */
#ifdef ICF_FLOAT
static const icf_real icfi_hold = ICF_R(0.05);
#else
static const icf_real icfi_hold = ICF_R(0.01);
#endif

static icf_row* icfi_add_row(icfi_sim* s, icf_row_kind kind, int32_t link, int32_t row,
                             int32_t joint, int32_t constraint, int32_t number, int32_t what)
{
    icfi_row_owner* o = s->owner + s->problem.rows;
    icf_row* r = s->row + s->problem.rows++;
    *r = icf_default_row(kind);
    if (constraint >= 0 && s->constraint[constraint].kind != ICF_CONSTRAINT_COUPLER)
        r->near_rigid = icfi_min(icfi_hold * s->session->hold / s->h, 1);
    r->link = link;
    r->row = row;
    o->joint = joint;
    o->constraint = constraint;
    o->number = number;
    o->what = what;
    return r;
}

/* Whether a joint has a motor that is a potential, not a part of A */
static int icfi_has_motor(const icfi_joint* j, int32_t number)
{
    return j->effort > 0 &&
           (j->motor_stiffness > 0 || j->motor_damping > 0 || j->feedforward[number] != 0);
}

/* The distance of a row for the solver. At distance d a row that moves by h u ends at d + h u. By the
   midpoint rule it moves by h (blend u + (1 - blend) u0): the part of u0 is added to the distance. */
static icf_real icfi_ahead(const icfi_sim* s, icf_real distance, icf_real u0)
{
    return s->blend < 1 ? distance + s->h * (1 - s->blend) * u0 : distance;
}

/* Makes the rows of one velocity of a joint that act by themselves: motor and dry friction. */
static void icfi_link_motor(icfi_sim* s, int32_t slot, int32_t number, int32_t* bias_at)
{
    const icfi_joint* j = s->joint + slot;
    const icf_real pull = j->dry_friction > 0 ? s->slid[3 * slot + number] * icfi_pull(s) : 0;
    int motor = icfi_has_motor(j, number);
    int32_t link;
    if (!motor && !(j->dry_friction > 0)) return;
    link = icfi_begin_link(s, 1, bias_at);
    s->bias[*bias_at - 1] = pull;
    icfi_add_joint_side(s, slot, number, 1, 1);
    if (motor) {
        icf_row* r = icfi_add_row(s, ICF_ROW_MOTOR, link, 0, slot, -1, number, 0);
        icf_real error[3];
        icfi_joint_error(j, j->target, s->position + 4 * slot, error);
        r->stiffness = j->motor_stiffness;
        r->damping = j->motor_damping;
        /* the motor acts as without the bias */
        r->error = error[number] + s->h * pull;
        r->target = j->target_velocity[number] + pull;
        r->feedforward = j->feedforward[number];
        r->effort = j->effort;
    }
    if (j->dry_friction > 0) {
        icfi_add_row(s, ICF_ROW_DRY_FRICTION, link, 0, slot, -1, number, 2)->effort =
            j->dry_friction;
    }
}

/* Makes the limits of one velocity of a joint: those within its reach in the step, or all if something else
   acts on the tree, because that may send the joint anywhere. */
static void icfi_link_limits(icfi_sim* s, int32_t slot, int32_t number, int32_t* bias_at)
{
    const icfi_joint* j = s->joint + slot;
    const icfi_world_tree* tree = icfi_tree_of(s, j->child);
    int32_t d = tree->dof + s->place[s->place_of[j->child]].dof + number, link = -1, side;
    icf_real v0 = ICF_FABS(s->v0[d]), v = ICF_FABS(s->v_free[d]),
             q = s->position[4 * slot + number];
    icf_real reach = tree->clique >= 0 ? ICF_REAL_MAX / 4 : 2 * s->h * (v0 > v ? v0 : v);
    if (j->kind == ICF_JOINT_BALL) return;
    for (side = 0; side < 2; side++) {
        /* halved, so that nothing overflows: a missing limit is at ICF_REAL_MAX, beyond any reach */
        icf_real distance = side ? j->upper[number] / 2 - q / 2 : q / 2 - j->lower[number] / 2;
        icf_row* r;
        if (distance > reach / 2) continue;
        if (link < 0) {
            link = icfi_begin_link(s, 1, bias_at);
            icfi_add_joint_side(s, slot, number, 1, 1);
        }
        r = icfi_add_row(s, ICF_ROW_LIMIT, link, 0, slot, -1, number, 1);
        r->sign = side ? -ICF_R(1.0) : ICF_R(1.0);
        r->distance =
            icfi_ahead(s, side ? j->upper[number] - q : q - j->lower[number], r->sign * s->v0[d]);
    }
}

/* Adds rows about axes of A after the rows along axes: two for a hinge, to turn z of B to z of A, else three.
   Answers the number of rows. */
static int32_t icfi_turn_rows(int32_t kind, icf_quat a, icf_quat b, int32_t rows,
                              icfi_spatial* direction, icf_real* error)
{
    icf_mat3 axis = icf_mat3_from_quat(a);
    const icf_real qa[4] = {a.x, a.y, a.z, a.w}, qb[4] = {b.x, b.y, b.z, b.w};
    icf_vec3 zero = icf_vec3_make(0, 0, 0), turn;
    icf_real e[3];
    direction[rows] = icfi_spatial_make(axis.x, zero);
    direction[rows + 1] = icfi_spatial_make(axis.y, zero);
    if (kind == ICF_CONSTRAINT_HINGE) {
        turn = icf_vec3_cross(axis.z, icf_quat_rotate(b, icf_vec3_make(0, 0, 1)));
        error[rows] = icf_vec3_dot(axis.x, turn);
        error[rows + 1] = icf_vec3_dot(axis.y, turn);
        return rows + 2;
    }
    direction[rows + 2] = icfi_spatial_make(axis.z, zero);
    icfi_turn_error(qa, qb, e); /* in the axes of A */
    ICFI_MEMCPY(error + rows, e, sizeof e);
    return rows + 3;
}

/* The geometry of a constraint at a motion: the directions of its rows, the errors along them, and the points
   of A and B where its forces act. Answers the number of rows. A distance has one row, and its error is its
   length. */
static int32_t icfi_constraint_rows(const icfi_sim* s, const icfi_constraint* c,
                                    const icfi_motion* motion, icfi_spatial* direction,
                                    icf_real* error, icf_vec3 point[2])
{
    icf_transform a = icfi_frame_now(s, c->body[0], &c->frame[0], motion),
                  b = icfi_frame_now(s, c->body[1], &c->frame[1], motion);
    icf_vec3 gap = icf_vec3_sub(b.p, a.p);
    icf_mat3 axis =
        c->kind == ICF_CONSTRAINT_SLIDER ? icf_mat3_from_quat(a.q) : icf_mat3_identity();
    const icf_vec3 axes[3] = {axis.x, axis.y, axis.z};
    int32_t rows = 0, k;
    if (c->kind == ICF_CONSTRAINT_DISTANCE) {
        icf_real length = icf_vec3_length(gap);
        point[0] = a.p;
        point[1] = b.p;
        direction[0] = icfi_slide_column(length > 0 ? icf_vec3_scale(1 / length, gap) : axis.z);
        error[0] = length;
        return 1;
    }
    /* both forces act at one point, so that they turn nothing: half way, or at B if A is a rail */
    point[0] = point[1] = icf_vec3_add_scaled(a.p, ICF_R(0.5), gap);
    if (c->kind == ICF_CONSTRAINT_SLIDER) point[0] = point[1] = b.p;
    for (k = 0; k < (c->kind == ICF_CONSTRAINT_SLIDER ? 2 : 3); k++, rows++) {
        direction[rows] = icfi_slide_column(axes[k]);
        error[rows] = icf_vec3_dot(axes[k], gap);
    }
    if (c->kind == ICF_CONSTRAINT_BALL) return rows;
    return icfi_turn_rows(c->kind, a.q, b.q, rows, direction, error);
}

static icf_real icfi_coupler_error(const icfi_constraint* c, const icf_real* position)
{
    icf_real sum = c->offset;
    int32_t k;
    for (k = 0; k < c->joints; k++) sum += c->ratio[k] * position[4 * c->joint[k] + c->number[k]];
    return sum;
}

/* The speed of the point of a body at p along a direction */
static icf_real icfi_side_speed(const icfi_sim* s, int32_t body, icf_vec3 p,
                                const icfi_spatial* along)
{
    const icfi_motion* m;
    icf_vec3 v;
    if (body < 0) return 0;
    m = s->motion + body;
    v = icf_vec3_add(m->v, icf_vec3_cross(m->w, icf_vec3_sub(p, m->x)));
    return icf_vec3_dot(along->l, v) + icf_vec3_dot(along->a, m->w);
}

/* The speed at which the two sides of a constraint part along a direction */
static icf_real icfi_gap_speed(const icfi_sim* s, const icfi_constraint* c, const icf_vec3 point[2],
                               const icfi_spatial* along)
{
    return icfi_side_speed(s, c->body[1], point[1], along) -
           icfi_side_speed(s, c->body[0], point[0], along);
}

/* Whether none of a constraint's bodies has joints */
static int icfi_is_of_singles(const icfi_sim* s, const icfi_constraint* c)
{
    int32_t i;
    for (i = 0; i < 2; i++) {
        const icfi_world_tree* tree = icfi_tree_of(s, c->body[i]);
        if (tree && !tree->single) return 0;
    }
    return 1;
}

/* Where a constraint is made linear: where its bodies are at the beginning of the substep, or, after one
   solve and if they are bodies alone, where the substep would end. */
static icfi_motion* icfi_pass_motion(const icfi_sim* s, const icfi_constraint* c)
{
    return s->pass && icfi_is_of_singles(s, c) ? s->end : s->start;
}

/* ---- tension ---- */

/* A force on a point of a body turns with the body, and so resists turning: a taut chain is stiff across. But
   the step takes forces where they act at its start. If a strong force acts on a light body, which would
   swing to and fro in less than a few steps, that makes energy: without bound in a chain of 20 links with a
   thousandfold weight at its end. The stiffness beyond such a swing is therefore added as a resistance to the
   velocity at the end of the step, as in an implicit step: a quadratic potential with the weight
   h^2 K - 1/2 I, where positive. K is the stiffness from the forces of the step before, I the inertia. It
   dissipates. (Tournier and others, Stable constrained dynamics, 2015, and Andrews and others, Geometric
   stiffness, 2017, add it to the masses.) */

static const icf_real icfi_swing = ICF_R(0.5); /* h^2 K / I; measured: from 1, chains gain 1 % */

/* Eigenvectors and eigenvalues of a symmetric matrix xx, yy, zz, xy, xz, yz: Jacobi's method */
static ICFI_NOINLINE void icfi_principal(const icf_real m[6], icf_vec3 axis[3], icf_real value[3])
{
    static const int pick[3][2] = {
        {0, 1},
        {0, 2},
        {1, 2}
    };
    icf_real a[3][3], v[3][3];
    int i, k, turn;
    for (i = 0; i < 3; i++) {
        a[i][i] = m[i];
        for (k = 0; k < 3; k++) v[i][k] = i == k;
    }
    a[0][1] = a[1][0] = m[3];
    a[0][2] = a[2][0] = m[4];
    a[1][2] = a[2][1] = m[5];
    for (turn = 0; turn < 24; turn++) {
        const int p = pick[turn % 3][0], q = pick[turn % 3][1];
        icf_real t, c, sine, half;
        if (a[p][q] == 0) continue;
        half = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        t = 1 / (ICF_FABS(half) + ICF_SQRT(half * half + 1));
        if (half < 0) t = -t;
        c = 1 / ICF_SQRT(t * t + 1);
        sine = t * c;
        for (k = 0; k < 3; k++) {
            icf_real x = a[k][p], y = a[k][q];
            a[k][p] = c * x - sine * y;
            a[k][q] = sine * x + c * y;
        }
        for (k = 0; k < 3; k++) {
            icf_real x = a[p][k], y = a[q][k];
            a[p][k] = c * x - sine * y;
            a[q][k] = sine * x + c * y;
            x = v[k][p];
            y = v[k][q];
            v[k][p] = c * x - sine * y;
            v[k][q] = sine * x + c * y;
        }
    }
    for (i = 0; i < 3; i++) {
        axis[i] = icf_vec3_make(v[0][i], v[1][i], v[2][i]);
        value[i] = a[i][i];
    }
}

/* The resistance to turning from a force f on a point at r from the centre of a body: (r . f) I - (r f' + f
   r') / 2 */
static void icfi_add_stiffening(icf_real k[6], icf_vec3 r, icf_vec3 f)
{
    const icf_real along = icf_vec3_dot(r, f);
    k[0] += along - r.x * f.x;
    k[1] += along - r.y * f.y;
    k[2] += along - r.z * f.z;
    k[3] -= (r.x * f.y + r.y * f.x) / 2;
    k[4] -= (r.x * f.z + r.z * f.x) / 2;
    k[5] -= (r.y * f.z + r.z * f.y) / 2;
}

/* The stiffening of all bodies, from the tension of constraints. A rail is left out on A: its force acts at
   B, and turns with B. */
static void icfi_find_stiffening(icfi_sim* s)
{
    const icfi_header* h = s->header;
    int32_t i, k;
    ICFI_MEMSET(s->stiffening, 0, 6 * (size_t)h->end[ICFI_BODIES] * sizeof(icf_real));
    for (i = 0; i < h->end[ICFI_CONSTRAINTS]; i++) {
        const icfi_constraint* c = s->constraint + i;
        icfi_spatial direction[6];
        icf_real error[6];
        icf_vec3 point[2], f = icf_vec3_make(0, 0, 0);
        const icfi_motion* motion;
        int32_t rows;
        if (!(c->slot.flags & ICFI_ALIVE) || c->kind == ICF_CONSTRAINT_COUPLER) continue;
        motion = icfi_pass_motion(s, c);
        rows = icfi_constraint_rows(s, c, motion, direction, error, point);
        for (k = 0; k < rows; k++)
            f = icf_vec3_add_scaled(f, s->tension[6 * i + k], direction[k].l);
        for (k = c->kind == ICF_CONSTRAINT_SLIDER; k < 2; k++) {
            const int32_t b = c->body[k];
            if (!icfi_tree_of(s, b)) continue;
            icfi_add_stiffening(s->stiffening + 6 * b, icf_vec3_sub(point[k], motion[b].x),
                                k ? f : icf_vec3_scale(-1, f));
        }
    }
}

/* The weight that resists a stiffness k of forces on a mass m, if above 0. It is limited to m /
   sqrt(epsilon), 7e7 m in double: that is as good as rigid, and more would drown the rest in rounding. */
static icf_real icfi_resistance(icf_real h, icf_real k, icf_real m)
{
    return icfi_min(h * h * ICF_FABS(k) - icfi_swing * m, m / ICF_SQRT(ICFI_EPSILON));
}

/* The weights of a body against turning, and their axes; answers 0 if there are none. */
static int icfi_turning_weights(const icfi_sim* s, int32_t body, icf_vec3 axis[3],
                                icf_real weight[3])
{
    const icf_real* k = s->stiffening + 6 * body;
    icf_real inertia[6];
    int i, any = 0;
    if (k[0] == 0 && k[1] == 0 && k[2] == 0) return 0;
    icfi_turned_inertia(s->motion[body].q, s->body[body].inertia, inertia);
    icfi_principal(k, axis, weight);
    for (i = 0; i < 3; i++) {
        weight[i] = icfi_resistance(s->h, weight[i],
                                    icf_vec3_dot(axis[i], icfi_symmetric(inertia, axis[i])));
        any |= weight[i] > 0;
    }
    return any;
}

static void icfi_link_stiffening(icfi_sim* s, int32_t* bias_at)
{
    int32_t i, k, n;
    for (i = 0; i < s->header->end[ICFI_BODIES]; i++) {
        icfi_spatial direction[3];
        icf_vec3 axis[3];
        icf_real weight[3];
        int32_t link, bias = *bias_at;
        if (!(s->body[i].slot.flags & ICFI_ALIVE) || !icfi_can_move(s, i) ||
            !icfi_turning_weights(s, i, axis, weight))
            continue;
        for (k = n = 0; k < 3; k++) {
            if (!(weight[k] > 0)) continue;
            weight[n] = weight[k];
            direction[n++] = icfi_spatial_make(axis[k], icf_vec3_make(0, 0, 0));
        }
        link = icfi_begin_link(s, n, bias_at);
        icfi_add_side(s, i, -1, s->motion[i].x, 1, s->bias + bias, direction);
        for (k = 0; k < n; k++) {
            icf_row* r = icfi_add_row(s, ICF_ROW_QUADRATIC, link, k, -1, -1, 0, 0);
            r->weight = weight[k];
            if (s->pass && icfi_tree_of(s, i)->single)
                r->target = icf_vec3_dot(direction[k].a, s->end[i].w);
        }
    }
}

/* 1 / mass of a body by itself against a push along n at p; 0 if no force moves the body */
static icf_real icfi_give_of(const icfi_sim* s, int32_t body, icf_vec3 p, icf_vec3 n)
{
    const icfi_body* b;
    icf_real inertia[6], inverse[6], w;
    icf_vec3 r;
    if (!icfi_tree_of(s, body)) return 0;
    b = s->body + body;
    icfi_turned_inertia(s->motion[body].q, b->inertia, inertia);
    r = icf_vec3_cross(icf_vec3_sub(p, s->motion[body].x), n);
    w = b->mass > 0 ? 1 / b->mass : 0;
    if (icfi_symmetric_inverse(inertia, inverse)) w += icf_vec3_dot(r, icfi_symmetric(inverse, r));
    return w;
}

/* A taut distance resists motion across it, by force / length: the directions 1 and 2, and their weights */
static void icfi_across(const icfi_sim* s, const icf_real* tensions, int32_t slot,
                        const icf_vec3 point[2], icfi_spatial* direction, icf_real weight[2])
{
    const icfi_constraint* c = s->constraint + slot;
    const icf_real tension = ICF_FABS(tensions[6 * slot]);
    const icf_vec3 n = direction[0].l;
    const icf_real length = icf_vec3_length(icf_vec3_sub(point[1], point[0]));
    icf_vec3 t;
    int32_t k;
    if (!(tension > 0) || !(length > 0)) return;
    t = icfi_any_tangent(n);
    for (k = 0; k < 2; k++) {
        const icf_vec3 axis = k ? icf_vec3_cross(n, t) : t;
        const icf_real w = icfi_give_of(s, c->body[0], point[0], axis) +
                           icfi_give_of(s, c->body[1], point[1], axis);
        direction[1 + k] = icfi_slide_column(axis);
        weight[k] = w > 0 ? icfi_resistance(s->h, tension / length, 1 / w) : 0;
    }
}

/* Reads the tension of constraints from the last solve. */
static void icfi_read_tension(icfi_sim* s)
{
    int32_t i;
    ICFI_MEMSET(s->tension, 0, 6 * (size_t)s->header->end[ICFI_CONSTRAINTS] * sizeof(icf_real));
    for (i = 0; i < s->problem.rows; i++) {
        const icfi_row_owner* o = s->owner + i;
        icf_row_result r;
        if (o->constraint < 0 || icf_get_row(&s->session->workspace, i, &r) != ICF_RESULT_OK)
            continue;
        s->tension[6 * o->constraint + o->number] += r.impulse / s->h;
    }
}

/* |x - y|^2 and |x|^2 of two lists of six */
static icf_real icfi_change(const icf_real* x, const icf_real* y, icf_real* size)
{
    icf_real sum = 0;
    int32_t k;
    for (*size = 0, k = 0; k < 6; k++) {
        sum += (x[k] - y[k]) * (x[k] - y[k]);
        *size += x[k] * x[k];
    }
    return sum;
}

/* Whether the solve left a tension so far from the expected one that the step should be solved again: the
   stiffening of a body is off by a third, and by enough to make the body swing to and fro in a few steps; or
   the resistance across a distance has more than doubled */
static int icfi_tension_is_off(icfi_sim* s)
{
    const icfi_header* h = s->header;
    const icf_real square = s->h * s->h;
    icf_real size, change;
    int32_t i;
    icfi_copy_bytes(s->stiffening_before, s->stiffening,
                    6 * (size_t)h->end[ICFI_BODIES] * sizeof(icf_real));
    icfi_copy_bytes(s->tension_before, s->tension,
                    6 * (size_t)h->end[ICFI_CONSTRAINTS] * sizeof(icf_real));
    icfi_read_tension(s);
    icfi_find_stiffening(s);
    for (i = 0; i < h->end[ICFI_BODIES]; i++) {
        const icf_real* inertia = s->body[i].inertia;
        const icf_real mean = (inertia[0] + inertia[1] + inertia[2]) / 3;
        if (!icfi_tree_of(s, i)) continue;
        change = icfi_change(s->stiffening + 6 * i, s->stiffening_before + 6 * i, &size);
        if (change > ICF_R(0.1) * size && square * square * change > mean * mean) return 1;
    }
    for (i = 0; i < h->end[ICFI_CONSTRAINTS]; i++) {
        const icfi_constraint* c = s->constraint + i;
        icf_real now[2] = {0, 0}, before[2] = {0, 0}, error[6];
        icfi_spatial direction[6];
        icf_vec3 point[2];
        if (!(c->slot.flags & ICFI_ALIVE) || c->kind != ICF_CONSTRAINT_DISTANCE) continue;
        (void)icfi_constraint_rows(s, c, s->motion, direction, error, point);
        icfi_across(s, s->tension_before, i, point, direction, before);
        icfi_across(s, s->tension, i, point, direction, now);
        if (now[0] > 2 * icfi_max(before[0], 0) && now[0] > 0) return 1;
    }
    return 0;
}

/* The size that the error of a row is compared with: the longest of the levers of the constraint, its length,
   and the distance of its bodies' mass from their centres; for an angle, 1 radian */
static icf_real icfi_constraint_size(const icfi_sim* s, const icfi_constraint* c,
                                     const icf_vec3 point[2], const icfi_spatial* along)
{
    icf_real size;
    int32_t i;
    if (!(icf_vec3_dot(along->l, along->l) > 0)) return 1;
    size = icfi_max(icfi_longest_lever(s, c->body, point[0]),
                    icfi_longest_lever(s, c->body, point[1]));
    for (i = 0; i < 2; i++) {
        const icfi_body* b = icfi_tree_of(s, c->body[i]) ? s->body + c->body[i] : NULL;
        if (!b || !(b->mass > 0)) continue;
        size = icfi_max(size, ICF_SQRT((b->inertia[0] + b->inertia[1] + b->inertia[2]) / b->mass));
    }
    if (c->kind == ICF_CONSTRAINT_DISTANCE)
        size = icfi_max(size, icf_vec3_length(icf_vec3_sub(point[1], point[0])));
    return size;
}

/* Errors of the rows of a constraint at the start of the substep, and the sizes to compare them with. Answers
   the number of rows. A slack rope has no error. */
static int32_t icfi_row_errors(const icfi_sim* s, const icfi_constraint* c, icf_real error[6],
                               icf_real size[6])
{
    icfi_spatial direction[6];
    icf_vec3 point[2];
    int32_t rows, k;
    if (c->kind == ICF_CONSTRAINT_COUPLER) return 0;
    rows = icfi_constraint_rows(s, c, s->start, direction, error, point);
    if (c->kind == ICF_CONSTRAINT_DISTANCE) {
        error[0] -= icfi_min(icfi_max(error[0], c->lower), c->upper);
    }
    for (k = 0; k < rows; k++) size[k] = icfi_constraint_size(s, c, point, direction + k);
    return rows;
}

/* Whether a constraint's errors are now at most `part` of its size */
static int icfi_is_kept(const icfi_sim* s, const icfi_constraint* c, icf_real part)
{
    icf_real error[6], size[6];
    const int32_t rows = icfi_row_errors(s, c, error, size);
    int32_t k = 0;
    while (k < rows && ICF_FABS(error[k]) <= part * size[k]) k++;
    return k == rows;
}

/* The part of its size by which a constraint may be off in a substep. A substep takes an error of this size
   back at once, and may miss by as much. Less in the parts of a step that was begun again. */
static icf_real icfi_slack(const icfi_sim* s)
{
    return ICF_R(0.02) * (icf_real)s->header->substeps / (icf_real)s->parts;
}

/* The part of an error that stays in a substep. A large error is taken back bit by bit; otherwise a
   constraint that is torn apart, or was never together, would close at great speed. At most a fifth in a
   step, and 12 times the error in a second. slack: the part of the size that is taken back at once */
static icf_real icfi_error_left(const icfi_sim* s, icf_real error, icf_real size, icf_real slack)
{
    const icf_real e = ICF_FABS(error), part = icfi_min(10 * slack, 12 * s->h);
    const icf_real rest = e - icfi_min(e, icfi_max(slack * size, part * e));
    return error > 0 ? rest : -rest;
}

/* The same for all rows of a constraint. A step leaves a turning body off its circle by a distance
   proportional to the square of h. A shorter step that takes back all of it would do so at a false speed. So
   it takes back only a part proportional to its own square. */
static void icfi_errors_left(const icfi_sim* s, const icfi_constraint* c, icf_real slack,
                             icf_real left[6])
{
    icf_real error[6], size[6];
    const icf_real h = s->h, before = s->session->step_before,
                   share = h < before ? h * h / (before * before) : 1;
    const int32_t rows = icfi_row_errors(s, c, error, size);
    int32_t k;
    for (k = 0; k < rows; k++) {
        left[k] = icfi_error_left(s, error[k], size[k], slack);
        if (share < 1) left[k] = error[k] - share * (error[k] - left[k]);
    }
}

static ICFI_NOINLINE void icfi_link_constraint_at(icfi_sim* s, int32_t slot, int32_t* bias_at)
{
    const icfi_constraint* c = s->constraint + slot;
    icfi_spatial direction[6];
    icf_real error[6], left[6], speed[6] = {0, 0, 0, 0, 0, 0}, across[2] = {0, 0};
    icf_vec3 point[2];
    int32_t rows, k, link, bias = *bias_at;
    if (c->kind == ICF_CONSTRAINT_COUPLER) {
        link = icfi_begin_link(s, 1, bias_at);
        for (k = 0; k < c->joints; k++)
            icfi_add_joint_side(s, c->joint[k], c->number[k], c->ratio[k], 0);
        for (k = 0; k < c->joints; k++) {
            speed[0] += c->ratio[k] * s->velocity[3 * c->joint[k] + c->number[k]];
        }
        error[0] = icfi_coupler_error(c, s->position);
        error[0] -=
            icfi_error_left(s, error[0], 1, icfi_slack(s)); /* its size: a radian, or a metre */
        icfi_add_row(s, ICF_ROW_HOLONOMIC, link, 0, -1, slot, 0, 0)->distance =
            icfi_ahead(s, error[0], speed[0]);
        return;
    }
    if (!icfi_can_move(s, c->body[0]) && !icfi_can_move(s, c->body[1])) return;
    s->motion = icfi_pass_motion(s, c);
    rows = icfi_constraint_rows(s, c, s->motion, direction, error, point);
    for (k = 0; k < rows; k++) {
        speed[k] = icfi_gap_speed(s, c, point, direction + k);
        /* the error at the start, if it were linear */
        if (s->motion != s->start) error[k] -= s->h * speed[k];
    }
    icfi_errors_left(s, c, icfi_slack(s), left);
    for (k = 0; k < rows; k++) error[k] -= left[k];
    if (c->kind == ICF_CONSTRAINT_DISTANCE) {
        icfi_across(s, s->tension, slot, point, direction, across);
    }
    link = icfi_begin_link(s, across[0] > 0 || across[1] > 0 ? 3 : rows, bias_at);
    icfi_add_side(s, c->body[0], c->body[1], point[0], -1, s->bias + bias, direction);
    icfi_add_side(s, c->body[1], c->body[0], point[1], 1, s->bias + bias, direction);
    if (c->kind != ICF_CONSTRAINT_DISTANCE) {
        for (k = 0; k < rows; k++) {
            icfi_add_row(s, ICF_ROW_HOLONOMIC, link, k, -1, slot, k, 0)->distance =
                icfi_ahead(s, error[k], speed[k]);
        }
        return;
    }
    for (k = 0; k < 2; k++) {
        icf_row* r;
        if (!(across[k] > 0)) continue;
        r = icfi_add_row(s, ICF_ROW_QUADRATIC, link, 1 + k, -1, -1, 0, 0);
        r->weight = across[k];
        if (s->motion != s->start) r->target = icfi_gap_speed(s, c, point, direction + 1 + k);
    }
    if (c->lower == c->upper) {
        icfi_add_row(s, ICF_ROW_HOLONOMIC, link, 0, -1, slot, 0, 0)->distance =
            icfi_ahead(s, error[0] - c->lower, speed[0]);
    } else {
        if (c->lower > 0) {
            icfi_add_row(s, ICF_ROW_LIMIT, link, 0, -1, slot, 0, 0)->distance =
                icfi_ahead(s, error[0] - c->lower, speed[0]);
        }
        if (c->upper < ICF_REAL_MAX) {
            icf_row* r = icfi_add_row(s, ICF_ROW_LIMIT, link, 0, -1, slot, 0, 0);
            r->distance = icfi_ahead(s, c->upper - error[0], -speed[0]);
            r->sign = -1;
        }
    }
    if (c->stiffness > 0 || c->damping > 0) {
        icf_row* r = icfi_add_row(s, ICF_ROW_MOTOR, link, 0, -1, slot, 0, 0);
        r->stiffness = c->stiffness;
        r->damping = c->damping;
        r->error = c->length - error[0];
    }
}

static void icfi_link_constraint(icfi_sim* s, int32_t slot, int32_t* bias_at)
{
    const icfi_constraint* c = s->constraint + slot;
    int32_t i;
    /* masses belong to the start, wherever the constraint is made linear */
    for (i = 0; c->kind != ICF_CONSTRAINT_COUPLER && i < 2; i++) {
        icfi_world_tree* tree = icfi_tree_of(s, c->body[i]);
        if (icfi_can_move(s, c->body[i]) && tree->clique < 0) icfi_add_clique(s, tree);
    }
    icfi_link_constraint_at(s, slot, bias_at);
    s->motion = s->start;
}

/* The problem of a substep, from the free velocities */
static ICFI_NOINLINE icf_result icfi_make_problem(icfi_sim* s)
{
    icfi_session* session = s->session;
    icf_problem* p = &s->problem;
    int32_t i, k, what, bias = 0;
    size_t used;
    *p = icf_default_problem();
    p->dt = s->h;
    s->block_used = s->mass_used = 0;
    s->velocities = 0;
    s->link_start[0] = 0;
    for (i = 0; i < session->trees; i++) s->tree[i].clique = -1;
    icfi_link_touches(s, &bias);
    if (s->header->end[ICFI_CONSTRAINTS]) icfi_find_stiffening(s);
    for (i = 0; i < s->header->end[ICFI_CONSTRAINTS]; i++) {
        if (s->constraint[i].slot.flags & ICFI_ALIVE) icfi_link_constraint(s, i, &bias);
    }
    if (s->header->end[ICFI_CONSTRAINTS]) icfi_link_stiffening(s, &bias);
    /* motors first: limits must know whether anything but its own forces moves a tree */
    for (what = 0; what < 2; what++) {
        for (i = 0; i < s->header->end[ICFI_JOINTS]; i++) {
            int32_t dofs = icfi_joint_dofs(s->joint[i].kind);
            if (!(s->joint[i].slot.flags & ICFI_ALIVE)) continue;
            for (k = 0; k < dofs; k++) {
                if (what) {
                    icfi_link_limits(s, i, k, &bias);
                } else {
                    icfi_link_motor(s, i, k, &bias);
                }
            }
        }
    }
    p->clique_sizes = s->size;
    p->clique_is_body = s->is_body;
    p->mass = s->problem_mass;
    p->mass_factor = s->problem_factor;
    p->v_free = s->problem_v_free;
    p->v_last = s->problem_v_last;
    p->link_rows = s->link_rows;
    p->link_start = s->link_start;
    p->block_clique = s->block_clique;
    p->block_columns = s->block_columns;
    p->block_lever = s->block_lever;
    p->blocks = s->blocks;
    p->link_bias = s->bias;
    p->surfaces = session->surfaces;
    p->surface = s->surface;
    p->contact = s->contact;
    p->row = s->row;
    used = icfi_granules(s->block_used * sizeof(icf_real));
    if (used >= s->workspace_bytes) return icfi_world_full(s->world, "solver", 2 * used);
    return ICF_RESULT_OK;
}

static icf_options icfi_step_options(const icfi_sim* s)
{
    icf_options options = icf_default_options();
    options.tolerance = s->header->tolerance;
    options.iterations = s->header->iterations;
    /* the search for the end of a substep solves many times: one pass each */
    options.passes = s->pass && s->header->passes > 1 ? 1 : s->header->passes;
    options.should_stop = s->world->should_stop;
    options.user = s->world->user;
    options.island = s->island;
    options.island_capacity = s->header->room.most[ICFI_BODIES];
    options.island_of = s->island_of;
    options.iterative = s->world->owner ? -1 : 0;
    return options;
}

/* A step may solve its first substep more than once: the last dump stays. */
static ICFI_NOINLINE void icfi_dump_problem(icfi_sim* s)
{
    icfi_dump* d = s->dump;
    icf_options options = icfi_step_options(s);
    d->result =
        icf_problem_dump(&s->problem, &options, s->problem_v, d->text, d->capacity, d->length);
    d->written = 1;
}

/* Makes the problem of a substep and solves it, into s->v. */
static ICFI_NOINLINE icf_result icfi_solve_problem(icfi_sim* s)
{
    icfi_session* session = s->session;
    icf_problem* p = &s->problem;
    icf_options options = icfi_step_options(s);
    icf_result result = icfi_make_problem(s);
    int32_t i, k, at = 0;
    size_t used, kept;
    uint32_t kept_sum;
    if (result != ICF_RESULT_OK) return result;

    icfi_copy_bytes(s->v, s->v_free, (size_t)session->dofs * sizeof(icf_real));
    ICFI_MEMSET(&session->stats, 0, sizeof session->stats);
    if (s->dump && s->substep == 0) icfi_dump_problem(s);
    if (!p->links) {
        session->stats.stop = ICF_STOP_CONVERGED;
        return ICF_RESULT_OK;
    }
    kept = session->workspace.kept;
    kept_sum = session->workspace.kept_sum;
    used = icfi_granules(s->block_used * sizeof(icf_real));
    result =
        icf_workspace_init(&session->workspace, s->workspace + used, s->workspace_bytes - used);
    if (result != ICF_RESULT_OK) return result;
    session->workspace.kept = kept; /* the kept pattern lies at the end, however much the blocks
                                       take */
    session->workspace.kept_sum = kept_sum;
    result = icf_solve(p, &options, &session->workspace, s->problem_v, &session->stats);
    if (result == ICF_RESULT_TOO_SMALL) {
        return icfi_world_full(s->world, "solver", used + session->stats.bytes);
    }
    if (result < 0) {
        s->world->which = session->stats.which;
        s->world->reason =
            session->stats.reason ? session->stats.reason : "the problem of the step";
        for (i = 0; i < session->touches; i++) {
            if ((session->stats.part == ICF_PART_CONTACT &&
                 s->touching[i].contact == session->stats.which) ||
                (session->stats.part == ICF_PART_SURFACE &&
                 s->touch[i].contact.surface == session->stats.which))
                break;
        }
        if (i < session->touches) {
            s->world->which = i;
        } else if (session->stats.part == ICF_PART_SURFACE) {
            s->world->reason = "a surface that no touch has";
        }
        return result;
    }
    /* cliques are numbered by their first link; sums of sizes give the place of their velocities */
    for (i = 0; i < p->cliques; i++) {
        at += s->size[i];
        s->size[i] = at - s->size[i];
    }
    for (i = 0; i < session->trees; i++) {
        const icfi_world_tree* tree = s->tree + i;
        if (tree->clique < 0) continue;
        for (k = 0; k < tree->dofs; k++)
            s->v[tree->dof + k] = s->problem_v[s->size[tree->clique] + k];
    }
    return result;
}

/* Follows dry friction of a velocity of a joint through the substep that was solved. */
static void icfi_follow_slid(icfi_sim* s, int32_t number, const icf_row_result* r)
{
    icf_real* slid = s->slid + number;
    const icf_real u = r->velocity - *slid * icfi_pull(s), stick = r->stick;
    icf_real most = icfi_anchor_holds;
    s->session->dissipated -= r->impulse * u;
    if (!s->header->anchors) return;
    if (ICF_FABS(u) > most * stick && u * *slid > 0) most = icfi_anchor_slides;
    most *= stick * icfi_anchor_steps * s->h;
    *slid = icfi_min(icfi_max(*slid + s->h * u, -most), most);
}

/* Adds up the results of contacts and rows in a substep. */
static void icfi_take_results(icfi_sim* s)
{
    icfi_session* session = s->session;
    int32_t i;
    for (i = 0; i < session->touches; i++) {
        icfi_touching* t = s->touching + i;
        icf_contact_result* r = &t->out.contact;
        if (t->contact < 0) {
            ICFI_MEMSET(r, 0, sizeof *r);
            continue;
        }
        (void)icf_get_contact(&session->workspace, t->contact, r);
        icfi_follow_anchor(s, i);
        t->out.impulse = icf_vec3_add_scaled(t->out.impulse, s->h, r->force);
        t->normal_impulse += r->impulse.z;
        session->dissipated += r->dissipated;
    }
    for (i = 0; i < s->problem.rows; i++) {
        const icfi_row_owner* o = s->owner + i;
        icf_row_result r;
        if (icf_get_row(&session->workspace, i, &r) != ICF_RESULT_OK) continue;
        if (o->joint >= 0) {
            s->joint_work[9 * o->joint + 3 * o->what + o->number] += r.impulse;
            if (o->what == 2) icfi_follow_slid(s, 3 * o->joint + o->number, &r);
        } else if (o->constraint < 0) {
            session->dissipated -= r.impulse * r.velocity;
        } else {
            const icf_row* row = s->row + i;
            s->constraint_work[6 * o->constraint + o->number] += r.impulse;
            if (row->kind == ICF_ROW_MOTOR)
                session->dissipated += s->h * row->damping * r.velocity * r.velocity;
        }
    }
}

static void icfi_move_kinematic(icfi_sim* s)
{
    int32_t i;
    for (i = 0; i < s->header->end[ICFI_BODIES]; i++) {
        icfi_motion* m = s->motion + i;
        if (!(s->body[i].slot.flags & ICFI_ALIVE) || !icfi_is_kinematic(s, i)) continue;
        m->x = icf_vec3_add_scaled(m->x, s->h, m->v);
        if (m->w.x != 0 || m->w.y != 0 || m->w.z != 0) m->q = icfi_rotate_on(m->q, m->w, s->h);
    }
}

/* Positions after a substep, from s->v and the velocities before it */
static void icfi_move(icfi_sim* s)
{
    int32_t i, k;
    icfi_move_kinematic(s);
    for (i = 0; i < s->session->trees; i++) {
        icfi_world_tree* tree = s->tree + i;
        const icf_real *v = s->v + tree->dof, *v0 = s->v0 + tree->dof;
        icf_real* mean = s->change + tree->dof;
        if (tree->single) {
            icfi_drift(s, tree, v);
            continue;
        }
        for (k = 0; k < tree->dofs; k++) mean[k] = s->blend * v[k] + (1 - s->blend) * v0[k];
        icfi_integrate_tree(s, tree, mean, s->h, s->motion, s->position, s->motion, s->position);
        icfi_walk_tree(s, tree, s->motion, s->position, 1, 1);
        icfi_find_speeds(s, tree, s->motion, v);
        icfi_set_speeds(s, tree, s->motion);
        for (k = tree->first; k < tree->first + tree->places; k++) {
            const icfi_world_place* p = s->place + k;
            int32_t n;
            if (p->joint < 0) continue;
            for (n = 0; n < p->dofs; n++) {
                s->velocity[3 * p->joint + n] = v[p->dof + n];
                s->session->dissipated +=
                    s->h * s->joint[p->joint].damping * mean[p->dof + n] * mean[p->dof + n];
            }
        }
    }
}

/* The free velocities of all trees in a substep, and how far touches are from where they stuck */
static ICFI_NOINLINE icf_result icfi_begin_substep(icfi_sim* s)
{
    icf_result result;
    int32_t i;
    for (i = 0; i < s->session->trees; i++) {
        icfi_world_tree* tree = s->tree + i;
        icfi_gather_velocity(s, tree, s->motion, s->velocity, s->v0 + tree->dof);
        result = tree->single ? icfi_predict_body(s, tree) : icfi_predict_tree(s, tree);
        if (result != ICF_RESULT_OK) return result;
    }
    icfi_find_slid(s);
    return ICF_RESULT_OK;
}

/* The velocity of a row of a link at the start of the substep. block, bias: where the link's blocks and rows
   begin */
static icf_real icfi_speed_before(const icfi_sim* s, int32_t link, int32_t row, size_t block,
                                  int32_t bias)
{
    const icf_problem* p = &s->problem;
    icf_real u = p->link_bias ? p->link_bias[bias + row] : 0;
    int32_t k, i;
    for (k = p->link_start[link]; k < p->link_start[link + 1]; k++) {
        const int32_t n = p->block_columns[2 * k + 1];
        const icf_real* v = p->v_last + s->size[p->block_clique[k]] + p->block_columns[2 * k];
        for (i = 0; i < n; i++) u += s->blocks[block + (size_t)(row * n + i)] * v[i];
        block += (size_t)(p->link_rows[link] * n);
    }
    return u;
}

/* Whether the work of a row counts: only for a constraint that was fulfilled at the start. To take an error
   back needs energy; springs hold energy of their own; couplers are linear. */
static int icfi_row_counts(const icfi_sim* s, int32_t row)
{
    const icfi_row_owner* o = s->owner + row;
    const icfi_constraint* c;
    icf_real error[6], size[6];
    if (o->joint >= 0) return 0;
    if (o->constraint < 0) return 1; /* resistance across, or to turning */
    c = s->constraint + o->constraint;
    if (c->kind == ICF_CONSTRAINT_COUPLER || s->row[row].kind == ICF_ROW_MOTOR) return 0;
    if (!(c->slot.flags & ICFI_KEPT) || s->header->posed) return 0;
    (void)icfi_row_errors(s, c, error, size);
    return icfi_error_left(s, error[o->number], size[o->number], ICF_R(0.02)) == 0;
}

/* The work of constraints in a substep: impulse (u0 + u1) / 2, with the velocities before and after */
static icf_real icfi_constraint_energy(const icfi_sim* s)
{
    const icf_problem* p = &s->problem;
    icf_real work = 0;
    size_t block = 0;
    int32_t link, k, i = 0, bias = 0;
    for (link = 0; link < p->links && i < p->rows; link++) {
        for (; i < p->rows && s->row[i].link == link; i++) {
            icf_row_result r;
            if (!icfi_row_counts(s, i)) continue;
            if (icf_get_row(&s->session->workspace, i, &r) != ICF_RESULT_OK) continue;
            work += r.impulse *
                    (r.velocity + icfi_speed_before(s, link, s->row[i].row, block, bias)) / 2;
        }
        for (k = p->link_start[link]; k < p->link_start[link + 1]; k++) {
            if (p->block_lever[k].sign != 0) continue;
            block += (size_t)(p->link_rows[link] * p->block_columns[2 * k + 1]);
        }
        bias += p->link_rows[link];
    }
    return work;
}

/* Whether constraints made energy in a substep. An exact constraint does no work, or takes some. But a linear
   constraint does not follow a body that turns far in a step, and then pulls it back faster than it came. The
   work is compared with the kinetic energy of the constrained bodies, and with their gain from gravity over
   the constraint's size. */
static int icfi_made_energy(const icfi_sim* s, icf_real most)
{
    const icf_vec3 g = s->header->gravity;
    const icf_real gravity = ICF_SQRT(icf_vec3_dot(g, g));
    const icf_real work = icfi_constraint_energy(s);
    icf_real scale = 0, noise;
    int32_t i, k;
    if (!(work > 0)) return 0;
    for (i = 0; i < s->header->end[ICFI_CONSTRAINTS]; i++) {
        const icfi_constraint* c = s->constraint + i;
        icf_real error[6], size[6];
        if (!(c->slot.flags & ICFI_ALIVE) || !icfi_row_errors(s, c, error, size)) continue;
        for (k = 0; k < 2; k++) {
            const int32_t b = c->body[k];
            if (!icfi_tree_of(s, b)) continue;
            noise = 16 * ICFI_EPSILON * (icf_vec3_length(s->start[b].x) + size[0]) / s->h;
            scale += s->body[b].mass * (icf_vec3_dot(s->start[b].v, s->start[b].v) / 2 +
                                        gravity * size[0] + noise * noise);
        }
    }
    return work > most * scale;
}

/* Puts where bodies end with the velocities found into s->end; for bodies alone, the velocities too. */
static void icfi_find_end(icfi_sim* s)
{
    int32_t i;
    icfi_copy_bytes(s->end, s->start, (size_t)s->header->end[ICFI_BODIES] * sizeof *s->end);
    s->motion = s->end;
    icfi_move_kinematic(s);
    for (i = 0; i < s->session->trees; i++) {
        icfi_world_tree* tree = s->tree + i;
        const int32_t body = s->place[tree->first].body;
        if (!tree->single) {
            icfi_integrate_tree(s, tree, s->v + tree->dof, s->h, s->start, s->position, s->end,
                                s->half_position);
            icfi_walk_tree(s, tree, s->end, s->half_position, 1, 0);
            continue;
        }
        icfi_drift(s, tree, s->v + tree->dof);
        icfi_unpack_velocity(icfi_locks_of(s->body + body), s->v + tree->dof, &s->end[body].v,
                             &s->end[body].w);
    }
    s->motion = s->start;
}

/* Whether a constraint is at s->end where its rows of the last solve, which are linear, said: to the part
   `most` of its size, of a lever or a radian */
static int icfi_is_where_expected(const icfi_sim* s, int32_t row, icf_real most)
{
    const icf_row* r = s->row + row;
    const icfi_row_owner* o = s->owner + row;
    const icfi_constraint* c;
    icfi_spatial direction[6];
    icf_real error[6], left[6];
    icf_vec3 point[2];
    icf_row_result result;
    if (o->constraint < 0) return 1;
    c = s->constraint + o->constraint;
    if (c->kind == ICF_CONSTRAINT_COUPLER || r->kind == ICF_ROW_MOTOR) return 1;
    if (icfi_pass_motion(s, c) == s->start && s->pass) return 1;
    if (icf_get_row(&s->session->workspace, row, &result) != ICF_RESULT_OK) return 1;
    (void)icfi_constraint_rows(s, c, s->end, direction, error, point);
    icfi_errors_left(s, c, icfi_slack(s), left);
    error[o->number] -= left[o->number];
    if (c->kind == ICF_CONSTRAINT_DISTANCE)
        error[0] =
            r->kind == ICF_ROW_LIMIT && r->sign < 0 ? c->upper - error[0] : error[0] - c->lower;
    error[o->number] -= r->distance + s->h * r->sign * result.velocity;
    /* the second term is the rounding of points */
    return ICF_FABS(error[o->number]) <=
           most * icfi_constraint_size(s, c, point, direction + o->number) +
               16 * ICFI_EPSILON * (icf_vec3_length(point[0]) + icf_vec3_length(point[1]));
}

/* The first row that is elsewhere, or the number of rows */
static int32_t icfi_first_elsewhere(const icfi_sim* s, icf_real most)
{
    int32_t i = 0;
    while (i < s->problem.rows && icfi_is_where_expected(s, i, most)) i++;
    return i;
}

/* Solves the substep with constraints made linear at its end, again and again until that end is right: an
   implicit step, which makes no energy however far bodies turn. TOO_FAST if no end is found; then constraints
   are made linear at the start. */
static icf_result icfi_solve_to_end(icfi_sim* s)
{
    const int32_t most = s->worst == ICF_RESULT_TOO_FAST ? ICFI_PASSES_WHEN_LOST : ICFI_PASSES;
    icf_result result = ICF_RESULT_OK;
    int found = 0;
    for (s->pass = 1; s->pass < most && !found; s->pass++) {
        result = icfi_solve_problem(s);
        if (result != ICF_RESULT_OK) break;
        icfi_read_tension(s);
        icfi_find_end(s);
        found = icfi_first_elsewhere(s, icfi_slack(s) / 2) == s->problem.rows;
    }
    if (found && icfi_made_energy(s, ICF_R(0.02))) result = ICF_RESULT_TOO_FAST;
    s->pass = 0;
    if (found) return result;
    result = icfi_solve_problem(s);
    if (result < 0) return result;
    icfi_read_tension(s);
    return ICF_RESULT_TOO_FAST;
}

/* Solves for the velocities and the tension of a substep. TOO_FAST: begin the step again in more parts, if
   more are allowed. */
static ICFI_NOINLINE icf_result icfi_solve_substep(icfi_sim* s)
{
    icf_result result = icfi_begin_substep(s);
    int32_t again, made, elsewhere;
    if (result == ICF_RESULT_OK) result = icfi_solve_problem(s);
    if (!s->header->end[ICFI_CONSTRAINTS] || !s->problem.links) return result;
    for (again = 0; again < 3 && result == ICF_RESULT_OK && icfi_tension_is_off(s); again++)
        result = icfi_solve_problem(s);
    if (result < 0) return result;
    icfi_read_tension(s);
    if (result != ICF_RESULT_OK || s->blend < 1) return result;
    made = icfi_made_energy(s, ICF_R(0.003));
    icfi_find_end(s);
    elsewhere = icfi_first_elsewhere(s, icfi_slack(s));
    if (elsewhere < s->problem.rows &&
        !icfi_is_of_singles(s, s->constraint + s->owner[elsewhere].constraint))
        return ICF_RESULT_TOO_FAST;
    return made || elsewhere < s->problem.rows ? icfi_solve_to_end(s) : result;
}

// ------------------------------------------------------------------------------------------------
// Layer 9, continued: the step
// >>step
/* Offers to those below: icfi_body_name */

static size_t icfi_touch_key(uint64_t id, int32_t a, int32_t b, size_t size)
{
    uint64_t x = icfi_hash_number(
        icfi_hash_number(id * (uint64_t)0x9e3779b1u, (uint64_t)(uint32_t)a), (uint64_t)(uint32_t)b);
    x ^= x >> 32;
    x ^= x >> 15;
    return (size_t)(x & (uint64_t)(size - 1));
}

static inline int icfi_names_body(const icfi_sim* s, icf_body b)
{
    return b.generation && b.index < (uint32_t)s->header->end[ICFI_BODIES] &&
           s->body[b.index].slot.generation == b.generation &&
           (s->body[b.index].slot.flags & ICFI_ALIVE);
}

/* Finds the slots of each touch's bodies, and its contact in the cache. Refuses a wrong touch. */
static icf_result icfi_match_touches(icfi_sim* s)
{
    const icfi_header* h = s->header;
    icf_world* w = s->world;
    const icf_real half = ICF_R(0.5);
    const int follow = s->parts > 1;
    size_t at;
    int32_t i, k;
    /* clear no more of the table than its content needs: most worlds have larger capacities */
    while (s->table_size / 2 >= 2 * (size_t)h->end[ICFI_CONTACTS] && s->table_size > 4)
        s->table_size /= 2;
    for (at = 0; at < s->table_size; at++) s->table[at] = -1;
    for (i = 0; i < h->end[ICFI_CONTACTS]; i++) {
        const icfi_contact_cache* m = s->memory + i;
        s->met[i] = 0;
        at = icfi_touch_key(m->id, m->body[0], m->body[1], s->table_size);
        while (s->table[at] >= 0) at = (at + 1) & (s->table_size - 1);
        s->table[at] = i;
    }
    for (i = 0; i < s->session->touches; i++) {
        const icf_touch* touch = s->touch + i;
        const icf_vec3 r = touch->reach;
        icfi_touching* t = s->touching + i;
        if (!icfi_finite3(touch->point.x, touch->point.y, touch->point.z) ||
            !icfi_finite3(r.x, r.y, r.z))
            return icfi_world_refuse(w, ICF_RESULT_NOT_FINITE, i, "the point of a touch");
        if (touch->contact.cookie != ICFI_CONTACT_COOKIE)
            return icfi_world_refuse(w, ICF_RESULT_BAD_DEF, i,
                                     "a touch not from icf_default_touch");
        if (touch->contact.surface < 0 || touch->contact.surface >= s->session->surfaces)
            return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, i, "the surface of a touch");
        t->out.a = touch->a;
        t->out.b = touch->b;
        t->out.id = touch->id;
        t->out.point = touch->point;
        t->out.normal = touch->contact.normal;
        t->out.distance = touch->contact.distance;
        t->out.impulse = icf_vec3_make(0, 0, 0);
        for (k = 0; k < 2; k++) {
            icf_body b = k ? touch->b : touch->a;
            t->body[k] = -1;
            if (b.generation || b.index) {
                if (!icfi_names_body(s, b))
                    return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, i, "the body of a touch");
                t->body[k] = (int32_t)b.index;
            }
            if (!follow) continue;
            t->at[k] = icf_vec3_add_scaled(touch->point, k ? half : -half, touch->reach);
            t->at[k] = icfi_point_on(s, t->body[k], t->at[k]);
        }
        if (t->body[0] == t->body[1])
            return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, i,
                                     "a touch of a body with itself");
        t->normal_impulse = 0;
        t->memory = -1;
        ICFI_MEMSET(&t->anchor, 0, sizeof t->anchor);
        t->slid = t->turned = icf_vec3_make(0, 0, 0);
        t->wanders = 0;
        if (t->out.distance < -s->session->penetration) s->session->penetration = -t->out.distance;
        if (!touch->id) continue;
        at = icfi_touch_key(touch->id, t->body[0], t->body[1], s->table_size);
        for (; s->table[at] >= 0; at = (at + 1) & (s->table_size - 1)) {
            const icfi_contact_cache* m = s->memory + s->table[at];
            if (m->id != touch->id || m->body[0] != t->body[0] || m->body[1] != t->body[1])
                continue;
            if (s->met[s->table[at]]) break; /* two touches with the same id */
            t->memory = s->table[at];
            t->anchor = m->anchor;
            s->met[t->memory] = 1;
            break;
        }
    }
    return ICF_RESULT_OK;
}

static icf_body icfi_body_name(const icfi_sim* s, int32_t slot)
{
    icf_body b = {0, 0};
    if (slot < 0) return b;
    b.index = (uint32_t)slot;
    b.generation = s->body[slot].slot.generation;
    return b;
}

static void icfi_add_event(icfi_sim* s, int32_t kind, int32_t touch, const int32_t body[2],
                           uint64_t id, icf_real impulse)
{
    icf_event* e = s->event + s->session->events++;
    e->kind = kind;
    e->touch = touch;
    e->a = icfi_body_name(s, body[0]);
    e->b = icfi_body_name(s, body[1]);
    e->id = id;
    e->impulse = impulse;
}

/* Stores a touch for the next step. */
static void icfi_remember(icfi_sim* s, int32_t touch, int32_t at)
{
    const icfi_touching* t = s->touching + touch;
    icfi_contact_cache* m = s->memory_next + at;
    ICFI_MEMSET(m, 0, sizeof *m);
    m->impulse = t->out.contact.impulse;
    m->lag = t->out.contact.lag;
    m->anchor = t->anchor;
    m->id = t->out.id;
    m->body[0] = t->body[0];
    m->body[1] = t->body[1];
}

/* Makes the events of the step, and stores contacts for the next step. */
static void icfi_remember_touches(icfi_sim* s)
{
    icfi_session* session = s->session;
    int32_t i, count = 0;
    session->events = 0;
    for (i = 0; i < session->touches; i++) {
        const icfi_touching* t = s->touching + i;
        int now = t->normal_impulse > 0;
        int before = t->memory >= 0 && t->memory < s->header->pressed;
        if (!t->out.id || (!before && !now)) continue;
        icfi_add_event(s, now ? before ? ICF_EVENT_PERSISTS : ICF_EVENT_BEGUN : ICF_EVENT_ENDED, i,
                       t->body, t->out.id, t->normal_impulse);
        if (now) icfi_remember(s, i, count++);
    }
    for (i = 0; i < s->header->pressed; i++) {
        const icfi_contact_cache* m = s->memory + i;
        if (!s->met[i]) icfi_add_event(s, ICF_EVENT_ENDED, -1, m->body, m->id, 0);
    }
    session->pressed = count;
    /* an anchor lasts while there is friction, and one step more: contacts of what rocks come and go */
    for (i = 0; i < session->touches; i++) {
        const icfi_touching* t = s->touching + i;
        const int before = t->memory >= 0 && t->memory < s->header->pressed;
        if (t->out.id && !(t->normal_impulse > 0) &&
            ((s->header->settle && t->out.contact.lag.limit > 0) ||
             (t->anchor.stick != 0 && (before || t->out.contact.lag.limit > 0))))
            icfi_remember(s, i, count++);
    }
    session->memories = count;
}

/* ---- the step ---- */

/* Copies the scratch into the state: nothing after this can fail. */
static void icfi_commit(icfi_sim* s)
{
    icfi_header* h = s->header;
    const icfi_session* session = s->session;
    int32_t i;
    for (i = 0; i < h->end[ICFI_BODIES]; i++) {
        icfi_body* b = s->body + i;
        if (!(b->slot.flags & ICFI_ALIVE)) continue;
        b->m = s->motion[i];
        b->slot.flags |= ICFI_TURNED;
        b->force = b->torque = icf_vec3_make(0, 0, 0);
    }
    for (i = 0; i < h->end[ICFI_JOINTS]; i++) {
        icfi_joint* j = s->joint + i;
        if (!(j->slot.flags & ICFI_ALIVE)) continue;
        ICFI_MEMCPY(j->position, s->position + 4 * i, sizeof j->position);
        ICFI_MEMCPY(j->velocity, s->velocity + 3 * i, sizeof j->velocity);
        ICFI_MEMCPY(j->slid, s->slid + 3 * i, sizeof j->slid);
        ICFI_MEMSET(j->effort_now, 0, sizeof j->effort_now);
    }
    for (i = 0; i < h->end[ICFI_CONSTRAINTS]; i++) {
        icfi_constraint* c = s->constraint + i;
        if (!(c->slot.flags & ICFI_ALIVE)) continue;
        ICFI_MEMCPY(c->force, s->tension + 6 * i, sizeof c->force);
        if (h->posed) c->slot.flags &= ~(uint32_t)ICFI_KEPT;
        if (icfi_is_kept(s, c, ICF_R(0.001))) c->slot.flags |= ICFI_KEPT;
    }
    h->posed = 0;
    icfi_copy_bytes(s->memory, s->memory_next,
                    (size_t)session->memories * sizeof(icfi_contact_cache));
    h->end[ICFI_CONTACTS] = session->memories;
    h->pressed = session->pressed;
    h->time += session->dt;
    h->h = session->h;
    h->hold = session->hold;
    h->step_before = session->step_before;
    h->steps++;
    s->session->touches = s->session->surfaces = 0;
}

/* Whether a constraint that was fulfilled is now off by a quarter of its size. It may get there in many
   steps, each with a small enough error. */
static int icfi_is_torn(const icfi_sim* s)
{
    int32_t i;
    for (i = 0; i < s->header->end[ICFI_CONSTRAINTS] && !s->header->posed; i++) {
        const icfi_constraint* c = s->constraint + i;
        if ((c->slot.flags & ICFI_ALIVE) && (c->slot.flags & ICFI_KEPT) &&
            !icfi_is_kept(s, c, ICF_R(0.25)))
            return 1;
    }
    return 0;
}

/* Begins a step. Trees must be sorted, and s->parts set. */
static icf_result icfi_begin_step(icfi_sim* s, icf_real dt)
{
    const icfi_header* h = s->header;
    icfi_session* session = s->session;
    icf_real hold;
    ICFI_POISON(s->motion,
                (size_t)((unsigned char*)(void*)s->tree - (unsigned char*)(void*)s->motion));
    ICFI_POISON(s->half, (size_t)(s->workspace - (unsigned char*)(void*)s->half));
    icfi_load_motion(s);
    ICFI_MEMSET(s->joint_work, 0, 9 * (size_t)h->end[ICFI_JOINTS] * sizeof(icf_real));
    ICFI_MEMSET(s->constraint_work, 0,
                6 * (size_t)h->room.most[ICFI_CONSTRAINTS] * sizeof(icf_real));
    session->dissipated = session->penetration = 0;
    session->dt = dt;
    session->h = s->h = dt / (icf_real)s->parts;
    /* A constraint gives under a load, in proportion to the square of the step. If it became stiffer at once,
       it would throw the load up. So parts of a step are no stiffer, and shorter steps get stiffer bit by
       bit. */
    hold = dt / (icf_real)h->substeps;
    session->hold = icfi_max(hold, icfi_min(h->hold, 32 * hold) - ICF_R(0.05) * dt);
    session->step_before = h->step_before;
    s->turned = h->h;
    return icfi_match_touches(s);
}

/* Tries a step in the memory there is: everything except icfi_commit. If constraints make energy, begins it
   again in two, four, eight times as many parts. */
static ICFI_NOINLINE icf_result icfi_try_step(icf_world* w, icf_real dt, icfi_dump* dump)
{
    icfi_sim s;
    icfi_session* session;
    const icfi_header* h;
    icf_result result;
    int32_t i, next = 0;
    icfi_sim_open(w, &s);
    s.world = w;
    s.dump = dump;
    session = s.session;
    h = s.header;
    session->solved = 0;
    icfi_sorted(&s);
    s.blend = h->method == ICF_METHOD_MIDPOINT ? ICF_R(0.5) : ICF_R(1.0);
    s.parts_most = h->end[ICFI_CONSTRAINTS] ? 8 * h->substeps : h->substeps;
    for (s.parts = h->substeps;; s.parts = next) {
        result = icfi_begin_step(&s, dt);
        if (result != ICF_RESULT_OK) return result;
        for (s.substep = 0, s.worst = ICF_RESULT_OK; s.substep < s.parts; s.substep++) {
            /* the error of a longer step is taken back over several steps: see icfi_errors_left */
            session->step_before = icfi_max(s.h, ICF_R(0.8) * session->step_before);
            result = icfi_solve_substep(&s);
            next = 2 * s.parts;
            if (result == ICF_RESULT_TOO_FAST && s.parts < s.parts_most &&
                session->stats.stop != ICF_STOP_CALLER)
                break;
            if (result < 0) {
                if (result == ICF_RESULT_TOO_SMALL || s.parts == h->substeps) return result;
                /* the parts ended in a problem without a solution: solve in as many as at first, as
                   TOO_FAST */
                next = s.parts_most = h->substeps;
                break;
            }
            icfi_take_results(&s);
            icfi_move(&s);
            s.turned = s.h;
            if (result > s.worst) s.worst = result;
        }
        if (s.substep == s.parts) break;
    }
    if (s.worst < ICF_RESULT_TOO_FAST && icfi_is_torn(&s)) s.worst = ICF_RESULT_TOO_FAST;
    for (i = 0; i < h->end[ICFI_BODIES]; i++) {
        if ((s.body[i].slot.flags & ICFI_ALIVE) &&
            !icfi_all_finite(sizeof *s.motion / sizeof(icf_real), &s.motion[i].q.x)) {
            return icfi_world_refuse(w, ICF_RESULT_NOT_FINITE, i,
                                     "the motion of a body after the step");
        }
    }
    icfi_remember_touches(&s);
    session->results = session->touches;
    w->reason = NULL; /* what was tried first may have left one, and was given up */
    session->solved = 1;
    return s.worst;
}

/* The same in as much memory as it takes. A world that can grow does so by what the solver lacked, each time
   by at least half, and tries again. */
static icf_result icfi_step_in_room(icf_world* w, icf_real dt, icfi_dump* dump)
{
    icf_result result;
    int32_t trial;
    for (trial = 0;; trial++) {
        icf_world_def def;
        icf_result grown;
        w->reason = NULL;
        result = icfi_try_step(w, dt, dump);
        if (result != ICF_RESULT_TOO_SMALL || !w->owner || trial >= 100) return result;
        def = icfi_def_of(icfi_header_of(w));
        if (!def.solver) def.solver = icfi_solver_guess(&icfi_header_of(w)->room);
        def.solver = icfi_plus(w->needed > def.solver ? w->needed : def.solver, def.solver / 2);
        grown = icfi_world_grow(w, &def);
        if (grown != ICF_RESULT_OK) return grown;
    }
}

static icf_result icfi_step(icf_world* w, icf_real dt, int commit, icfi_dump* dump)
{
    icf_result result;
    int32_t look, touches, surfaces;
    icfi_sim s;
    if (!icfi_world_is(w)) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_finite(dt)) return icfi_world_refuse(w, ICF_RESULT_NOT_FINITE, 0, "dt");
    if (!(dt > 0)) return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, 0, "dt");
    result = icfi_tree_room(w);
    if (result != ICF_RESULT_OK) return result;
    icfi_sim_open(w, &s);
    if (s.session->looking)
        return icfi_world_refuse(w, ICF_RESULT_BAD_STATE, 0, "a step in look_again");
    touches = s.session->touches;
    surfaces = s.session->surfaces;
    for (look = 0;; look++) {
        int more;
        result = icfi_step_in_room(w, dt, dump);
        if (result < 0 || !commit || !w->look_again || look == 8) break;
        s.session->looking = 1;
        more = w->look_again(w, dt);
        icfi_sim_open(w, &s);
        s.session->looking = 0;
        if (more < 0) {
            result = (icf_result)more;
            if (!w->reason) w->reason = "look_again";
        }
        /* growing loses the solution */
        if (more < 0 || (!more && s.session->solved)) break;
    }
    icfi_sim_open(w, &s);
    if (result < 0) {
        s.session->touches = touches;
        s.session->surfaces = surfaces;
    }
    if (result < 0 || dump) {
        s.session->solved = 0;
    } else if (commit) {
        icfi_commit(&s);
    }
    return result;
}

ICF_API icf_result icf_world_step(icf_world* world, icf_real dt)
{
    return icfi_step(world, dt, 1, NULL);
}

ICF_API icf_result icf_world_try(icf_world* world, icf_real dt)
{
    return icfi_step(world, dt, 0, NULL);
}

ICF_API icf_result icf_world_dump_step(icf_world* world, icf_real dt, char* text, size_t capacity,
                                       size_t* length)
{
    icfi_dump dump = {text, capacity, length, ICF_RESULT_OK, 0};
    icf_result result;
    const icf_surface* surface;
    const icf_touch* touch;
    int32_t count, i;
    if (length) *length = 0;
    if (!length || (!text && capacity)) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_step(world, dt, 0, &dump);
    if (!dump.written) return result;
    if (dump.result == ICF_RESULT_OK) return ICF_RESULT_OK;
    if (dump.result == ICF_RESULT_TOO_SMALL) {
        return icfi_world_full(world, "text", icfi_plus(*length, 1));
    }
    surface = icf_world_surfaces(world, &count);
    touch = icf_world_touches(world, &count);
    for (i = 0; i < count && surface[touch[i].contact.surface].law != ICF_LAW_CUSTOM;) i++;
    if (i == count) i = -1;
    return icfi_world_refuse(world, dump.result, i, "a law of the caller's is no text");
}

// ------------------------------------------------------------------------------------------------
// Layer 9, continued: bodies and joints
// >>bodies
/* Offers to those below: ICFI_CHECK_ROW, icfi_is_turn */

ICF_API icf_material icf_default_material(void)
{
    icf_surface c = icf_default_surface();
    icf_material m;
    m.stiffness = 2 * c.stiffness;
    m.dissipation = c.dissipation;
    m.relaxation = c.relaxation / 2;
    m.friction = c.friction;
    m.friction_static = -1;
    m.torsion = m.rolling = 0;
    return m;
}

static icf_real icfi_harmonic_mean(icf_real a, icf_real b)
{
    return a + b > 0 ? 2 * a * (b / (a + b)) : 0;
}

ICF_API icf_material icf_material_combine(const icf_material* a, const icf_material* b)
{
    icf_material m;
    icf_real soft, hard, share; /* share: the softer side's part of the deformation */
    int swap = b->stiffness < a->stiffness;
    const icf_material *s = swap ? b : a, *h = swap ? a : b;
    soft = s->stiffness;
    hard = h->stiffness;
    share = hard > 0 && hard < ICF_REAL_MAX ? 1 / (1 + soft / hard) : 1;
    m.stiffness = soft * share;
    m.dissipation = share * s->dissipation + (1 - share) * h->dissipation;
    m.relaxation = a->relaxation + b->relaxation;
    m.friction = icfi_harmonic_mean(a->friction, b->friction);
    m.friction_static = -1;
    if (a->friction_static >= 0 || b->friction_static >= 0) {
        m.friction_static =
            icfi_harmonic_mean(a->friction_static < 0 ? a->friction : a->friction_static,
                               b->friction_static < 0 ? b->friction : b->friction_static);
    }
    m.torsion = icfi_max(a->torsion, b->torsion);
    m.rolling = icfi_max(a->rolling, b->rolling);
    return m;
}

ICF_API void icf_surface_set_material(icf_surface* surface, const icf_material* material)
{
    surface->stiffness = material->stiffness;
    surface->dissipation = material->dissipation;
    surface->relaxation = material->relaxation;
    surface->friction = material->friction;
    surface->friction_static = material->friction_static;
    surface->torsion = material->torsion;
    surface->rolling = material->rolling;
}

ICF_API icf_body_def icf_default_body_def(void)
{
    icf_body_def d;
    ICFI_MEMSET(&d, 0, sizeof d);
    d.pose = icf_transform_identity();
    d.mass = 1;
    d.inertia = icf_mat3_identity();
    d.inertia.x.x = d.inertia.y.y = d.inertia.z.z = ICF_R(0.1); /* 2/5 m r^2, r = 1/2 */
    d.gravity_scale = 1;
    d.cookie = ICFI_BODY_COOKIE;
    return d;
}

/* Whether numbers of a call are finite; if not, sets the reason. */
static int icfi_check_finite(icf_world* w, size_t n, const void* x, const char* what)
{
    return icfi_all_finite(n, (const icf_real*)x) ||
           !icfi_world_refuse(w, ICF_RESULT_NOT_FINITE, 0, what);
}

static int icfi_is_turn(icf_quat q)
{
    icf_real n = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    return n > ICF_R(1e-6) && n < ICF_R(1e6);
}

static int icfi_vec3_is_finite(icf_vec3 v)
{
    return icfi_finite3(v.x, v.y, v.z);
}

/* The same for the reals of a def from field `first` to field `last`, which lie in a row */
#define ICFI_CHECK_ROW(w, type, d, first, last) \
    icfi_check_finite(w, (offsetof(type, last) - offsetof(type, first)) / sizeof(icf_real) + 1, \
                      (const unsigned char*)(d) + offsetof(type, first), \
                      "a number that is not finite")

/* Six numbers of a symmetric matrix: xx, yy, zz, xy, xz, yz */
static void icfi_six_of(const icf_mat3* m, icf_real six[6])
{
    six[0] = m->x.x;
    six[1] = m->y.y;
    six[2] = m->z.z;
    six[3] = m->x.y;
    six[4] = m->x.z;
    six[5] = m->y.z;
}

static icf_result icfi_body_def_check(icf_world* w, const icf_body_def* d)
{
    const icf_mat3* i = &d->inertia;
    const icf_real noise =
        1000 * ICFI_EPSILON * (ICF_FABS(i->x.x) + ICF_FABS(i->y.y) + ICF_FABS(i->z.z));
    icf_real six[6];
    const char* reason = NULL;
    if (d->cookie != ICFI_BODY_COOKIE) {
        return icfi_world_refuse(w, ICF_RESULT_BAD_DEF, 0, "not from icf_default_body_def");
    }
    if (!ICFI_CHECK_ROW(w, icf_body_def, d, pose, gravity_scale)) return ICF_RESULT_NOT_FINITE;
    if (d->kind < ICF_BODY_DYNAMIC || d->kind > ICF_BODY_KINEMATIC) reason = "kind";
    if (d->locks > 63u) reason = "locks";
    if (!icfi_is_turn(d->pose.q)) reason = "pose: no rotation";
    if (d->mass < 0) reason = "mass";
    if (d->linear_damping < 0 || d->angular_damping < 0) reason = "damping";
    if (reason) return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, 0, reason);
    icfi_six_of(i, six);
    if (ICF_FABS(i->x.y - i->y.x) > noise || ICF_FABS(i->x.z - i->z.x) > noise ||
        ICF_FABS(i->y.z - i->z.y) > noise || !icfi_inertia_is_valid(six)) {
        return icfi_world_refuse(w, ICF_RESULT_NOT_SPD, 0, "inertia");
    }
    return ICF_RESULT_OK;
}

/* Copies all of a def except pose and velocity into a record. */
static void icfi_body_fill(icfi_body* b, const icf_body_def* d)
{
    b->mass = d->mass;
    b->center = d->center;
    icfi_six_of(&d->inertia, b->inertia);
    b->linear_damping = d->linear_damping;
    b->angular_damping = d->angular_damping;
    b->gravity_scale = d->gravity_scale;
    b->user = d->user;
    b->slot.flags =
        ICFI_ALIVE | (uint32_t)d->kind << ICFI_KIND_SHIFT | d->locks << ICFI_LOCKS_SHIFT;
}

static void icfi_body_move(icfi_body* b, icf_transform pose)
{
    b->m.q = icf_quat_normalize(pose.q);
    pose.q = b->m.q;
    b->m.x = icf_transform_apply(pose, b->center);
}

static void icfi_body_speed(icfi_body* b, icf_vec3 v, icf_vec3 w)
{
    int still = icfi_kind_of(b) == ICF_BODY_STATIC;
    b->m.v = still ? icf_vec3_make(0, 0, 0) : v;
    b->m.w = still ? icf_vec3_make(0, 0, 0) : w;
    b->slot.flags &= ~(uint32_t)ICFI_TURNED;
}

ICF_API int icf_body_is_valid(const icf_world* world, icf_body body)
{
    return icfi_find_body(world, body) != NULL;
}

ICF_API icf_result icf_body_create(icf_world* world, const icf_body_def* def, icf_body* body)
{
    icfi_sim s;
    icfi_body* b;
    icf_result result;
    int32_t slot;
    if (!icfi_world_is(world) || !def || !body) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_body_def_check(world, def);
    if (result == ICF_RESULT_OK) result = icfi_slot_take(world, ICFI_BODIES, &slot);
    if (result != ICF_RESULT_OK) return result;
    icfi_sim_open(world, &s);
    b = s.body + slot;
    b->joint = -1;
    icfi_body_fill(b, def);
    icfi_body_move(b, def->pose);
    icfi_body_speed(b, def->velocity, def->angular_velocity);
    s.motion[slot] = b->m; /* in scratch, too: the results of the last step stay valid */
    s.session->sorted = 0;
    *body = icfi_body_name(&s, slot);
    return ICF_RESULT_OK;
}

/* Computes motions, velocities and columns of a tree in scratch from the records of its root, carrier and
   joints. */
static void icfi_open_tree(icfi_sim* s, icfi_world_tree* tree)
{
    int32_t k;
    if (tree->carrier >= 0) s->motion[tree->carrier] = s->body[tree->carrier].m;
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        s->motion[p->body] = s->body[p->body].m;
        if (p->joint < 0) continue;
        ICFI_MEMCPY(s->position + 4 * p->joint, s->joint[p->joint].position, 4 * sizeof(icf_real));
        ICFI_MEMCPY(s->velocity + 3 * p->joint, s->joint[p->joint].velocity, 3 * sizeof(icf_real));
    }
    icfi_walk_tree(s, tree, s->motion, s->position, 1, 1);
    icfi_gather_velocity(s, tree, s->motion, s->velocity, s->v0 + tree->dof);
    icfi_find_speeds(s, tree, s->motion, s->v0 + tree->dof);
    icfi_set_speeds(s, tree, s->motion);
}

/* Does the same, and writes the motions into the records of the bodies. */
static void icfi_refresh_tree(icfi_sim* s, icfi_world_tree* tree)
{
    int32_t k;
    if (tree->single) return;
    icfi_open_tree(s, tree);
    for (k = tree->first; k < tree->first + tree->places; k++) {
        int32_t b = s->place[k].body;
        if (s->place[k].joint >= 0) s->body[b].m = s->motion[b];
    }
}

/* Does the same for the trees that a body belongs to or carries. */
static void icfi_refresh_body(icf_world* w, int32_t slot)
{
    icfi_sim s;
    int32_t i;
    if (!icfi_header_of(w)->end[ICFI_JOINTS]) return;
    icfi_sim_open(w, &s);
    icfi_sorted(&s);
    for (i = 0; i < s.session->trees; i++) {
        if (i == s.tree_of[slot] || s.tree[i].carrier == slot) icfi_refresh_tree(&s, s.tree + i);
    }
}

ICF_API icf_result icf_body_get_def(const icf_world* world, icf_body body, icf_body_def* def)
{
    const icfi_body* b = icfi_find_body(world, body);
    const icf_real* i;
    if (!b || !def) return ICF_RESULT_BAD_ARGUMENT;
    i = b->inertia;
    *def = icf_default_body_def();
    def->kind = (int32_t)icfi_kind_of(b);
    def->locks = icfi_locks_of(b);
    def->pose = icfi_pose(b, &b->m);
    def->velocity = b->m.v;
    def->angular_velocity = b->m.w;
    def->mass = b->mass;
    def->center = b->center;
    def->inertia =
        icf_mat3_from_columns(icf_vec3_make(i[0], i[3], i[4]), icf_vec3_make(i[3], i[1], i[5]),
                              icf_vec3_make(i[4], i[5], i[2]));
    def->linear_damping = b->linear_damping;
    def->angular_damping = b->angular_damping;
    def->gravity_scale = b->gravity_scale;
    def->user = b->user;
    return ICF_RESULT_OK;
}

/* Whether the caller may move a body; if not, sets the reason. */
static int icfi_check_loose(icf_world* w, const icfi_body* b, icf_body body)
{
    return b->joint < 0 || !icfi_world_refuse(w, ICF_RESULT_BAD_STATE, (int32_t)body.index,
                                              "a joint holds the body");
}

ICF_API icf_result icf_body_set_def(icf_world* world, icf_body body, const icf_body_def* def)
{
    icfi_body* b = icfi_named_body(world, body);
    icfi_sim s;
    icf_result result;
    uint32_t flags;
    if (!b || !def) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_body_def_check(world, def);
    if (result != ICF_RESULT_OK) return result;
    if ((def->kind != ICF_BODY_DYNAMIC || def->locks) && !icfi_check_loose(world, b, body))
        return ICF_RESULT_BAD_STATE;
    flags = b->slot.flags & ~(uint32_t)ICFI_TURNED;
    icfi_body_fill(b, def);
    if (flags != b->slot.flags) {
        icfi_sim_open(world, &s);
        s.session->sorted = 0;
    }
    if (b->joint < 0) {
        icfi_body_move(b, def->pose);
        icfi_body_speed(b, def->velocity, def->angular_velocity);
        icfi_header_of(world)->posed = 1;
    }
    icfi_refresh_body(world, (int32_t)body.index);
    return ICF_RESULT_OK;
}

static void icfi_tell_state(const icfi_body* b, const icfi_motion* m, icf_body_state* state)
{
    state->kind = (int32_t)icfi_kind_of(b);
    state->pose = icfi_pose(b, m);
    state->center = m->x;
    state->velocity = m->v;
    state->angular_velocity = m->w;
}

ICF_API icf_result icf_body_get_state(const icf_world* world, icf_body body, icf_body_state* state)
{
    const icfi_body* b = icfi_find_body(world, body);
    if (!b || !state) return ICF_RESULT_BAD_ARGUMENT;
    icfi_tell_state(b, &b->m, state);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_body_get_next(const icf_world* world, icf_body body, icf_body_state* state)
{
    const icfi_body* b = icfi_find_body(world, body);
    icfi_sim s;
    if (!b || !state) return ICF_RESULT_BAD_ARGUMENT;
    icfi_front_open(world, &s);
    if (!s.session->solved) return ICF_RESULT_BAD_STATE;
    icfi_tell_state(b, s.motion + body.index, state);
    return ICF_RESULT_OK;
}

/* The caller has put a body elsewhere: its contacts, and those of what it carries, forget where they
   stuck. */
static void icfi_forget_anchors(icf_world* w, int32_t slot)
{
    icfi_sim s;
    int32_t i, k, b;
    icfi_front_open(w, &s);
    for (i = 0; i < s.header->end[ICFI_CONTACTS]; i++) {
        for (k = 0; k < 2; k++) {
            b = s.memory[i].body[k];
            while (b >= 0 && b != slot)
                b = s.body[b].joint < 0 ? -1 : s.joint[s.body[b].joint].parent;
            if (b >= 0) ICFI_MEMSET(&s.memory[i].anchor, 0, sizeof s.memory[i].anchor);
        }
    }
}

ICF_API icf_result icf_body_set_pose(icf_world* world, icf_body body, icf_transform pose)
{
    icfi_body* b = icfi_named_body(world, body);
    if (!b) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_check_finite(world, 7, &pose, "pose")) return ICF_RESULT_NOT_FINITE;
    if (!icfi_is_turn(pose.q))
        return icfi_world_refuse(world, ICF_RESULT_BAD_ARGUMENT, 0, "pose: no rotation");
    if (!icfi_check_loose(world, b, body)) return ICF_RESULT_BAD_STATE;
    icfi_body_move(b, pose);
    icfi_header_of(world)->posed = 1;
    /* a platform that the caller moves keeps its grip */
    if (icfi_is_dynamic(b)) icfi_forget_anchors(world, (int32_t)body.index);
    icfi_refresh_body(world, (int32_t)body.index);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_body_set_velocity(icf_world* world, icf_body body, icf_vec3 velocity,
                                         icf_vec3 angular_velocity)
{
    icfi_body* b = icfi_named_body(world, body);
    const icf_vec3 both[2] = {velocity, angular_velocity};
    if (!b) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_check_finite(world, 6, both, "velocity")) return ICF_RESULT_NOT_FINITE;
    if (!icfi_check_loose(world, b, body)) return ICF_RESULT_BAD_STATE;
    icfi_body_speed(b, velocity, angular_velocity);
    icfi_refresh_body(world, (int32_t)body.index);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_body_velocity_at(const icf_world* world, icf_body body, icf_vec3 point,
                                        icf_vec3* velocity)
{
    const icfi_body* b = icfi_find_body(world, body);
    if (!b || !velocity) return ICF_RESULT_BAD_ARGUMENT;
    *velocity = icf_vec3_add(b->m.v, icf_vec3_cross(b->m.w, icf_vec3_sub(point, b->m.x)));
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_body_apply_force(icf_world* world, icf_body body, icf_vec3 force,
                                        icf_vec3 point)
{
    icfi_body* b = icfi_named_body(world, body);
    const icf_vec3 both[2] = {force, point};
    if (!b) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_check_finite(world, 6, both, "force")) return ICF_RESULT_NOT_FINITE;
    b->force = icf_vec3_add(b->force, force);
    b->torque = icf_vec3_add(b->torque, icf_vec3_cross(icf_vec3_sub(point, b->m.x), force));
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_body_apply_torque(icf_world* world, icf_body body, icf_vec3 torque)
{
    icfi_body* b = icfi_named_body(world, body);
    if (!b) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_check_finite(world, 3, &torque, "torque")) return ICF_RESULT_NOT_FINITE;
    b->torque = icf_vec3_add(b->torque, torque);
    return ICF_RESULT_OK;
}

/* v += A^-1 J' impulse for a tree of joints, in its records */
static ICFI_NOINLINE icf_result icfi_tree_impulse(icfi_sim* s, icfi_world_tree* tree, int32_t body,
                                                  icf_vec3 impulse, icf_vec3 point)
{
    icf_real *x = s->change + tree->dof, *diagonal = s->v + tree->dof;
    int32_t n = tree->dofs, k, i;
    icfi_spatial f;
    icfi_open_tree(s, tree);
    s->h = s->blend = 0; /* in no time only rotors add to the diagonal */
    icfi_joint_efforts(s, tree, s->position, s->v0 + tree->dof, x, diagonal);
    for (i = 0; i < n; i++) x[i] = 0;
    f = icfi_spatial_make(icf_vec3_cross(icf_vec3_sub(point, tree->origin), impulse), impulse);
    for (k = s->place_of[body]; k >= 0; k = s->place[k].parent) {
        for (i = 0; i < s->place[k].dofs; i++) {
            int32_t d = s->place[k].dof + i;
            x[d] = icfi_spatial_dot(s->column[tree->dof + d], f);
        }
    }
    icfi_turn_inertias(s, tree, s->motion);
    icfi_mass_matrix(s, tree, s->motion, diagonal, s->factor);
    if (icf_dense_factor(n, s->factor, n, NULL) != ICF_RESULT_OK) {
        return icfi_world_refuse(s->world, ICF_RESULT_NOT_SPD, body,
                                 "the mass of a tree, or of a body in it");
    }
    (void)icf_dense_solve(n, s->factor, n, x, 1, n);
    for (i = 0; i < n; i++) x[i] += s->v0[tree->dof + i];
    if (!icfi_all_finite((size_t)n, x))
        return icfi_world_refuse(s->world, ICF_RESULT_NOT_FINITE, body, "velocities of a tree");
    for (k = tree->first; k < tree->first + tree->places; k++) {
        const icfi_world_place* p = s->place + k;
        icfi_body* b = s->body + p->body;
        if (p->joint < 0) icfi_unpack_velocity(icfi_locks_of(b), x + p->dof, &b->m.v, &b->m.w);
        for (i = 0; p->joint >= 0 && i < p->dofs; i++)
            s->joint[p->joint].velocity[i] = x[p->dof + i];
    }
    icfi_refresh_tree(s, tree);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_body_apply_impulse(icf_world* world, icf_body body, icf_vec3 impulse,
                                          icf_vec3 point)
{
    icfi_body* b = icfi_named_body(world, body);
    icf_result result;
    const icf_vec3 both[2] = {impulse, point};
    icf_vec3 turn, v;
    uint32_t locks;
    icfi_sim s;
    icfi_world_tree* tree;
    if (!b) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_check_finite(world, 6, both, "impulse")) return ICF_RESULT_NOT_FINITE;
    if (!icfi_is_dynamic(b)) return ICF_RESULT_OK;
    result = icfi_tree_room(world);
    if (result != ICF_RESULT_OK) return result;
    b = icfi_find_body(world, body); /* growing moves the record */
    icfi_sim_open(world, &s);
    s.world = world;
    icfi_sorted(&s);
    tree = icfi_tree_of(&s, (int32_t)body.index);
    if (!tree->single) return icfi_tree_impulse(&s, tree, (int32_t)body.index, impulse, point);
    locks = icfi_locks_of(b);
    if (!(b->mass > 0) ||
        !icfi_turn_by(b, &b->m, icf_vec3_cross(icf_vec3_sub(point, b->m.x), impulse), &turn)) {
        return icfi_world_refuse(world, ICF_RESULT_NOT_SPD, (int32_t)body.index,
                                 "the mass of a body");
    }
    v.x = b->m.v.x + impulse.x / b->mass;
    v.y = b->m.v.y + impulse.y / b->mass;
    v.z = b->m.v.z + impulse.z / b->mass;
    turn = icf_vec3_add(b->m.w, turn);
    if (!icfi_vec3_is_finite(v) || !icfi_vec3_is_finite(turn)) {
        return icfi_world_refuse(world, ICF_RESULT_NOT_FINITE, (int32_t)body.index,
                                 "the velocity of a body");
    }
    if (!(locks & ICF_LOCK_X)) b->m.v.x = v.x;
    if (!(locks & ICF_LOCK_Y)) b->m.v.y = v.y;
    if (!(locks & ICF_LOCK_Z)) b->m.v.z = v.z;
    b->m.w = turn;
    return ICF_RESULT_OK;
}

ICF_API icf_body icf_body_parent(const icf_world* world, icf_body body)
{
    const icfi_body* b = icfi_find_body(world, body);
    const icf_body none = {0, 0};
    icfi_sim s;
    if (!b || b->joint < 0) return none;
    icfi_sim_open(world, &s);
    return icfi_body_name(&s, s.joint[b->joint].parent);
}

ICF_API int32_t icf_world_body_count(const icf_world* world)
{
    return icfi_world_is(world) ? icfi_header_of(world)->end[ICFI_BODIES] : 0;
}

ICF_API icf_body icf_world_body_at(const icf_world* world, int32_t slot)
{
    const icfi_body* body;
    icf_body b = {0, 0};
    if (slot < 0 || slot >= icf_world_body_count(world)) return b;
    body = ICFI_AT(icfi_body, icfi_table_at(world, ICFI_BODIES), 0) + slot;
    if (!(body->slot.flags & ICFI_ALIVE)) return b;
    b.index = (uint32_t)slot;
    b.generation = body->slot.generation;
    return b;
}

/* Axes with a given z; x is near the world's if possible */
static icf_quat icfi_axes_along(icf_vec3 z)
{
    icf_vec3 x = ICF_FABS(z.x) < ICF_R(0.8) ? icf_vec3_make(1, 0, 0) : icf_vec3_make(0, 1, 0);
    x = icf_vec3_normalize(icf_vec3_add_scaled(x, -icf_vec3_dot(x, z), z));
    return icf_quat_from_mat3(icf_mat3_from_columns(x, icf_vec3_cross(z, x), z));
}

ICF_API icf_result icf_world_frames(const icf_world* world, icf_body a, icf_body b, icf_vec3 point,
                                    icf_vec3 axis, icf_transform* a_frame, icf_transform* b_frame)
{
    icf_vec3 z = icf_vec3_normalize(axis);
    icf_transform t, frame[2];
    const icfi_body* body;
    int i;
    if (!icfi_world_is(world) || !a_frame || !b_frame) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_vec3_is_finite(point) || !icfi_vec3_is_finite(z)) return ICF_RESULT_NOT_FINITE;
    if (icf_vec3_dot(z, z) < ICF_R(0.5)) return ICF_RESULT_BAD_ARGUMENT;
    t.q = icfi_axes_along(z);
    t.p = point;
    for (i = 0; i < 2; i++) {
        icf_body name = i ? b : a;
        frame[i] = t;
        if (!name.index && !name.generation) continue;
        body = icfi_find_body(world, name);
        if (!body) return ICF_RESULT_BAD_ARGUMENT;
        frame[i] = icf_transform_mul(icf_transform_inverse(icfi_pose(body, &body->m)), t);
    }
    *a_frame = frame[0];
    *b_frame = frame[1];
    return ICF_RESULT_OK;
}

/* ---- joints ---- */

ICF_API icf_joint_def icf_default_joint_def(icf_joint_kind kind)
{
    icf_joint_def d;
    int i;
    ICFI_MEMSET(&d, 0, sizeof d);
    d.kind = (int32_t)kind;
    d.parent_frame = d.child_frame = icf_transform_identity();
    if (kind == ICF_JOINT_BALL) d.position[3] = d.rest[3] = d.target[3] = 1;
    d.gear_ratio = 1;
    for (i = 0; i < 3; i++) {
        d.lower[i] = -ICF_REAL_MAX;
        d.upper[i] = ICF_REAL_MAX;
    }
    d.effort = -1;
    d.cookie = ICFI_JOINT_COOKIE;
    return d;
}

/* Whether four numbers are a rotation, if a joint's position is one */
static int icfi_is_position(int32_t kind, const icf_real* x)
{
    return kind != ICF_JOINT_BALL || icfi_is_turn(icf_quat_make(x[0], x[1], x[2], x[3]));
}

static icf_result icfi_joint_def_check(icf_world* w, const icf_joint_def* d)
{
    const char* reason = NULL;
    int i;
    if (d->cookie != ICFI_JOINT_COOKIE) {
        return icfi_world_refuse(w, ICF_RESULT_BAD_DEF, 0, "not from icf_default_joint_def");
    }
    if (!ICFI_CHECK_ROW(w, icf_joint_def, d, parent_frame, effort)) return ICF_RESULT_NOT_FINITE;
    if (d->kind < ICF_JOINT_REVOLUTE || d->kind > ICF_JOINT_WELD) reason = "kind";
    if (!icfi_is_turn(d->parent_frame.q)) reason = "parent_frame: no rotation";
    if (!icfi_is_turn(d->child_frame.q)) reason = "child_frame: no rotation";
    if (d->stiffness < 0) reason = "stiffness";
    if (d->damping < 0) reason = "damping";
    if (d->rotor_inertia < 0) reason = "rotor_inertia";
    if (d->dry_friction < 0) reason = "dry_friction";
    if (d->motor_stiffness < 0 || d->motor_damping < 0) reason = "motor";
    for (i = 0; i < 3; i++) {
        if (d->lower[i] > d->upper[i]) reason = "limits: lower above upper";
    }
    if (!icfi_is_position(d->kind, d->position)) reason = "position: no rotation";
    if (!icfi_is_position(d->kind, d->rest)) reason = "rest: no rotation";
    if (!icfi_is_position(d->kind, d->target)) reason = "target: no rotation";
    return reason ? icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, 0, reason) : ICF_RESULT_OK;
}

/* Copies the position of a joint; normalises a rotation. */
static void icfi_copy_position(int32_t kind, const icf_real* from, icf_real* to)
{
    icf_quat q;
    int32_t i;
    for (i = 0; i < 4; i++) to[i] = i < icfi_joint_dofs(kind) ? from[i] : 0;
    if (kind != ICF_JOINT_BALL) return;
    q = icf_quat_normalize(icf_quat_make(from[0], from[1], from[2], from[3]));
    ICFI_MEMCPY(to, &q, sizeof q);
}

/* Copies all of a def except kind, bodies and frames into a record. */
static void icfi_joint_fill(icfi_joint* j, const icf_joint_def* d)
{
    int32_t i;
    ICFI_MEMCPY(j, (const unsigned char*)d + offsetof(icf_joint_def, position),
                offsetof(icfi_joint, effort_now));
    icfi_copy_position(d->kind, d->position, j->position);
    icfi_copy_position(d->kind, d->rest, j->rest);
    icfi_copy_position(d->kind, d->target, j->target);
    for (i = icfi_joint_dofs(d->kind); i < 3; i++)
        j->velocity[i] = j->target_velocity[i] = j->feedforward[i] = 0;
    j->user = d->user;
}

ICF_API int icf_joint_is_valid(const icf_world* world, icf_joint joint)
{
    return icfi_find_joint(world, joint) != NULL;
}

/* Whether two bodies can become parent and child; slot: theirs */
static icf_result icfi_joint_bodies(icf_world* w, const icf_joint_def* d, const icfi_sim* s,
                                    int32_t slot[2])
{
    const icfi_body* child = icfi_find_body(w, d->child);
    int32_t i;
    slot[0] = -1;
    if (d->parent.index || d->parent.generation) {
        if (!icfi_named_body(w, d->parent)) return ICF_RESULT_BAD_ARGUMENT;
        slot[0] = (int32_t)d->parent.index;
    }
    if (!child)
        return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, (int32_t)d->child.index,
                                 "no such child");
    slot[1] = (int32_t)d->child.index;
    if (!icfi_is_dynamic(child)) {
        return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, slot[1], "the child is not dynamic");
    }
    if (child->joint >= 0)
        return icfi_world_refuse(w, ICF_RESULT_BAD_STATE, slot[1], "the child has a joint");
    if (icfi_locks_of(child))
        return icfi_world_refuse(w, ICF_RESULT_BAD_STATE, slot[1], "the child has locks");
    for (i = slot[0]; i >= 0; i = s->body[i].joint < 0 ? -1 : s->joint[s->body[i].joint].parent) {
        if (i == slot[1]) {
            return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, slot[1],
                                     "the child carries the parent");
        }
    }
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_joint_create(icf_world* world, const icf_joint_def* def, icf_joint* joint)
{
    icfi_sim s;
    icfi_joint* j;
    icf_result result;
    size_t dofs;
    int32_t slot, body[2];
    if (!icfi_world_is(world) || !def || !joint) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_joint_def_check(world, def);
    if (result != ICF_RESULT_OK) return result;
    icfi_sim_open(world, &s);
    result = icfi_joint_bodies(world, def, &s, body);
    if (result != ICF_RESULT_OK) return result;
    /* the new tree joins the parent's tree and the child's, whose root is no longer free */
    icfi_sorted(&s);
    dofs = (size_t)(icfi_joint_dofs(def->kind) + icfi_tree_of(&s, body[1])->dofs - 6);
    if (icfi_tree_of(&s, body[0])) dofs += (size_t)icfi_tree_of(&s, body[0])->dofs;
    if (dofs > icfi_tree_most(&s.header->room)) {
        icf_world_def d = icfi_def_of(s.header);
        if (!world->owner || dofs > 46000) return icfi_world_full(world, "tree", dofs);
        d.tree = (int32_t)(dofs < 23000 ? 2 * dofs : dofs);
        result = icfi_world_grow(world, &d);
        if (result != ICF_RESULT_OK) return result;
        icfi_sim_open(world, &s);
    }
    result = icfi_slot_take(world, ICFI_JOINTS, &slot);
    if (result != ICF_RESULT_OK) return result;
    icfi_sim_open(world, &s);
    j = s.joint + slot;
    j->kind = def->kind;
    j->parent = body[0];
    j->child = body[1];
    j->frame[0] = def->parent_frame;
    j->frame[1] = def->child_frame;
    j->frame[0].q = icf_quat_normalize(j->frame[0].q);
    j->frame[1].q = icf_quat_normalize(j->frame[1].q);
    icfi_joint_fill(j, def);
    s.header->posed = 1;
    s.body[body[1]].joint = slot;
    icfi_sort_trees(&s);
    s.session->solved = 0;
    icfi_refresh_tree(&s, icfi_tree_of(&s, body[1]));
    joint->index = (uint32_t)slot;
    joint->generation = j->slot.generation;
    return ICF_RESULT_OK;
}

/* Removes the constraints of a joint, and the joint; its child stays where it is. */
static void icfi_joint_drop(icfi_sim* s, int32_t slot)
{
    int32_t i, k;
    for (i = 0; i < s->header->end[ICFI_CONSTRAINTS]; i++) {
        const icfi_constraint* c = s->constraint + i;
        int uses = 0;
        if (!(c->slot.flags & ICFI_ALIVE) || c->kind != ICF_CONSTRAINT_COUPLER) continue;
        for (k = 0; k < c->joints; k++) uses |= c->joint[k] == slot;
        if (uses) icfi_slot_drop(s, ICFI_CONSTRAINTS, i);
    }
    s->body[s->joint[slot].child].joint = -1;
    icfi_slot_drop(s, ICFI_JOINTS, slot);
    s->session->sorted = 0;
}

ICF_API icf_result icf_joint_destroy(icf_world* world, icf_joint joint)
{
    icfi_sim s;
    if (!icfi_named_joint(world, joint)) return ICF_RESULT_BAD_ARGUMENT;
    icfi_sim_open(world, &s);
    icfi_joint_drop(&s, (int32_t)joint.index);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_body_destroy(icf_world* world, icf_body body)
{
    icfi_body* b = icfi_named_body(world, body);
    icfi_sim s;
    int32_t slot = (int32_t)body.index, i, n, pressed;
    if (!b) return ICF_RESULT_BAD_ARGUMENT;
    icfi_sim_open(world, &s);
    for (i = 0; i < s.header->end[ICFI_JOINTS]; i++) {
        const icfi_joint* j = s.joint + i;
        if ((j->slot.flags & ICFI_ALIVE) && (j->parent == slot || j->child == slot))
            icfi_joint_drop(&s, i);
    }
    for (i = 0; i < s.header->end[ICFI_CONSTRAINTS]; i++) {
        const icfi_constraint* c = s.constraint + i;
        if ((c->slot.flags & ICFI_ALIVE) && c->kind != ICF_CONSTRAINT_COUPLER &&
            (c->body[0] == slot || c->body[1] == slot)) {
            icfi_slot_drop(&s, ICFI_CONSTRAINTS, i);
        }
    }
    for (i = n = pressed = 0; i < s.header->end[ICFI_CONTACTS]; i++) {
        if (s.memory[i].body[0] == slot || s.memory[i].body[1] == slot) continue;
        pressed += i < s.header->pressed;
        s.memory[n++] = s.memory[i];
    }
    s.header->end[ICFI_CONTACTS] = n;
    s.header->pressed = pressed;
    for (i = n = 0; i < s.session->touches; i++) {
        const icf_touch* t = s.touch + i;
        int uses = (t->a.generation && t->a.index == body.index) ||
                   (t->b.generation && t->b.index == body.index);
        if (!uses) s.touch[n++] = *t;
    }
    s.session->touches = n;
    icfi_slot_drop(&s, ICFI_BODIES, slot);
    s.session->sorted = 0;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_joint_get_def(const icf_world* world, icf_joint joint, icf_joint_def* def)
{
    const icfi_joint* j = icfi_find_joint(world, joint);
    icfi_sim s;
    if (!j || !def) return ICF_RESULT_BAD_ARGUMENT;
    icfi_sim_open(world, &s);
    *def = icf_default_joint_def((icf_joint_kind)j->kind);
    def->parent = icfi_body_name(&s, j->parent);
    def->child = icfi_body_name(&s, j->child);
    def->parent_frame = j->frame[0];
    def->child_frame = j->frame[1];
    ICFI_MEMCPY((unsigned char*)def + offsetof(icf_joint_def, position), j,
                offsetof(icfi_joint, effort_now));
    def->user = j->user;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_joint_set_def(icf_world* world, icf_joint joint, const icf_joint_def* def)
{
    icfi_joint* j = icfi_named_joint(world, joint);
    icf_result result;
    if (!j || !def) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_joint_def_check(world, def);
    if (result != ICF_RESULT_OK) return result;
    if (def->kind != j->kind) return icfi_world_refuse(world, ICF_RESULT_BAD_ARGUMENT, 0, "kind");
    icfi_joint_fill(j, def);
    icfi_refresh_body(world, j->child);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_joint_get_state(const icf_world* world, icf_joint joint,
                                       icf_joint_state* state)
{
    const icfi_joint* j = icfi_find_joint(world, joint);
    icf_real error[3];
    icfi_sim s;
    int32_t i;
    if (!j || !state) return ICF_RESULT_BAD_ARGUMENT;
    ICFI_MEMSET(state, 0, sizeof *state);
    ICFI_MEMCPY(state->position, j->position, sizeof state->position);
    ICFI_MEMCPY(state->velocity, j->velocity, sizeof state->velocity);
    icfi_sim_open(world, &s);
    for (i = 0; s.session->solved && i < icfi_joint_dofs(j->kind); i++) {
        const icf_real* work = s.joint_work + 9 * joint.index;
        state->motor[i] = work[i] / s.session->dt;
        state->limit[i] = work[3 + i] / s.session->dt;
        state->friction[i] = work[6 + i] / s.session->dt;
    }
    if (!icfi_motor_is_free(j)) return ICF_RESULT_OK;
    /* a motor without limit is a part of A: its effort is that of the joint's state at the end of the step */
    icfi_joint_error(j, j->target, j->position, error);
    for (i = 0; i < icfi_joint_dofs(j->kind); i++) {
        state->motor[i] = j->motor_stiffness * error[i] +
                          j->motor_damping * (j->target_velocity[i] - j->velocity[i]) +
                          j->feedforward[i];
    }
    return ICF_RESULT_OK;
}

/* Checks a joint, and an array of its numbers; NULL is allowed if there are none. */
static icf_result icfi_joint_numbers(icf_world* w, const icfi_joint* j, const icf_real* x,
                                     int position)
{
    size_t n;
    if (!j) return ICF_RESULT_BAD_ARGUMENT;
    n = j->kind == ICF_JOINT_BALL && position ? 4 : (size_t)icfi_joint_dofs(j->kind);
    if (!n) return ICF_RESULT_OK;
    if (!x) return ICF_RESULT_BAD_ARGUMENT;
    if (!icfi_check_finite(w, n, x, "a number of the joint")) return ICF_RESULT_NOT_FINITE;
    if (position && !icfi_is_position(j->kind, x))
        return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, 0, "position: no rotation");
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_joint_set_position(icf_world* world, icf_joint joint,
                                          const icf_real* position)
{
    icfi_joint* j = icfi_named_joint(world, joint);
    const icf_result result = icfi_joint_numbers(world, j, position, 1);
    if (result != ICF_RESULT_OK) return result;
    icfi_copy_position(j->kind, position, j->position);
    ICFI_MEMSET(j->slid, 0, sizeof j->slid);
    icfi_header_of(world)->posed = 1;
    icfi_forget_anchors(world, j->child);
    icfi_refresh_body(world, j->child);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_joint_set_velocity(icf_world* world, icf_joint joint,
                                          const icf_real* velocity)
{
    icfi_joint* j = icfi_named_joint(world, joint);
    const icf_result result = icfi_joint_numbers(world, j, velocity, 0);
    int32_t i;
    if (result != ICF_RESULT_OK) return result;
    for (i = 0; i < icfi_joint_dofs(j->kind); i++) j->velocity[i] = velocity[i];
    icfi_refresh_body(world, j->child);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_joint_set_target(icf_world* world, icf_joint joint, const icf_real* position,
                                        const icf_real* velocity, const icf_real* feedforward)
{
    icfi_joint* j = icfi_named_joint(world, joint);
    icf_result result = ICF_RESULT_OK;
    int32_t i;
    if (!j) return ICF_RESULT_BAD_ARGUMENT;
    if (position) result = icfi_joint_numbers(world, j, position, 1);
    if (velocity && result == ICF_RESULT_OK) result = icfi_joint_numbers(world, j, velocity, 0);
    if (feedforward && result == ICF_RESULT_OK)
        result = icfi_joint_numbers(world, j, feedforward, 0);
    if (result != ICF_RESULT_OK) return result;
    if (position) icfi_copy_position(j->kind, position, j->target);
    for (i = 0; i < icfi_joint_dofs(j->kind); i++) {
        if (velocity) j->target_velocity[i] = velocity[i];
        if (feedforward) j->feedforward[i] = feedforward[i];
    }
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_joint_apply_effort(icf_world* world, icf_joint joint, const icf_real* effort)
{
    icfi_joint* j = icfi_named_joint(world, joint);
    const icf_result result = icfi_joint_numbers(world, j, effort, 0);
    int32_t i;
    if (result != ICF_RESULT_OK) return result;
    for (i = 0; i < icfi_joint_dofs(j->kind); i++) j->effort_now[i] += effort[i];
    return ICF_RESULT_OK;
}

// ------------------------------------------------------------------------------------------------
// Layer 9, continued: constraints, touches, results
// >>world-calls

ICF_API icf_constraint_def icf_default_constraint_def(icf_constraint_kind kind)
{
    icf_constraint_def d;
    ICFI_MEMSET(&d, 0, sizeof d);
    d.kind = (int32_t)kind;
    d.a_frame = d.b_frame = icf_transform_identity();
    d.upper = ICF_REAL_MAX;
    d.cookie = ICFI_CONSTRAINT_COOKIE;
    return d;
}

/* Checks a def, and copies it into a record, except the record's name. */
static icf_result icfi_constraint_make(icf_world* w, const icf_constraint_def* d,
                                       icfi_constraint* c)
{
    const char* reason = NULL;
    int32_t i;
    ICFI_MEMSET(c, 0, sizeof *c);
    if (d->cookie != ICFI_CONSTRAINT_COOKIE) {
        return icfi_world_refuse(w, ICF_RESULT_BAD_DEF, 0, "not from icf_default_constraint_def");
    }
    if (!ICFI_CHECK_ROW(w, icf_constraint_def, d, a_frame, length) ||
        !ICFI_CHECK_ROW(w, icf_constraint_def, d, ratio, offset))
        return ICF_RESULT_NOT_FINITE;
    c->kind = d->kind;
    c->body[0] = c->body[1] = -1;
    if (d->kind < ICF_CONSTRAINT_WELD || d->kind > ICF_CONSTRAINT_COUPLER) reason = "kind";
    if (d->kind == ICF_CONSTRAINT_COUPLER) {
        if (d->joints < 1 || d->joints > 4) reason = "joints";
        for (i = 0; !reason && i < d->joints; i++) {
            const icfi_joint* j = icfi_find_joint(w, d->joint[i]);
            if (!j) {
                reason = "no such joint";
            } else if (j->kind == ICF_JOINT_BALL || d->number[i] < 0 ||
                       d->number[i] >= icfi_joint_dofs(j->kind)) {
                reason = "number: not a position of the joint";
            }
            c->joint[i] = (int32_t)d->joint[i].index;
            c->number[i] = d->number[i];
            c->ratio[i] = d->ratio[i];
        }
        c->joints = d->joints;
    } else {
        for (i = 0; i < 2; i++) {
            icf_body b = i ? d->b : d->a;
            if (!b.index && !b.generation) continue;
            if (!icf_body_is_valid(w, b)) reason = "no such body";
            c->body[i] = (int32_t)b.index;
        }
        if (c->body[0] == c->body[1]) reason = "one body, or none";
        if (!icfi_is_turn(d->a_frame.q) || !icfi_is_turn(d->b_frame.q))
            reason = "a frame: no rotation";
    }
    if (d->lower < 0 || d->lower > d->upper) reason = "lower or upper";
    if (d->stiffness < 0 || d->damping < 0) reason = "stiffness or damping";
    if (d->length < 0) reason = "length";
    if (reason) return icfi_world_refuse(w, ICF_RESULT_BAD_ARGUMENT, 0, reason);
    c->frame[0] = d->a_frame;
    c->frame[1] = d->b_frame;
    c->frame[0].q = icf_quat_normalize(c->frame[0].q);
    c->frame[1].q = icf_quat_normalize(c->frame[1].q);
    c->lower = d->lower;
    c->upper = d->upper;
    c->stiffness = d->stiffness;
    c->damping = d->damping;
    c->length = d->length;
    c->offset = d->offset;
    c->user = d->user;
    return ICF_RESULT_OK;
}

ICF_API int icf_constraint_is_valid(const icf_world* world, icf_constraint constraint)
{
    return icfi_find_constraint(world, constraint) != NULL;
}

ICF_API icf_result icf_constraint_create(icf_world* world, const icf_constraint_def* def,
                                         icf_constraint* constraint)
{
    icfi_sim s;
    icfi_constraint c;
    icf_result result;
    int32_t slot;
    if (!icfi_world_is(world) || !def || !constraint) return ICF_RESULT_BAD_ARGUMENT;
    result = icfi_constraint_make(world, def, &c);
    if (result != ICF_RESULT_OK) return result;
    result = icfi_slot_take(world, ICFI_CONSTRAINTS, &slot);
    if (result != ICF_RESULT_OK) return result;
    icfi_sim_open(world, &s);
    c.slot = s.constraint[slot].slot;
    s.constraint[slot] = c;
    s.session->solved = 0;
    constraint->index = (uint32_t)slot;
    constraint->generation = c.slot.generation;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_constraint_destroy(icf_world* world, icf_constraint constraint)
{
    icfi_sim s;
    if (!icfi_named_record(world, ICFI_CONSTRAINTS, constraint.index, constraint.generation))
        return ICF_RESULT_BAD_ARGUMENT;
    icfi_sim_open(world, &s);
    icfi_slot_drop(&s, ICFI_CONSTRAINTS, (int32_t)constraint.index);
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_constraint_get_def(const icf_world* world, icf_constraint constraint,
                                          icf_constraint_def* def)
{
    const icfi_constraint* c = icfi_find_constraint(world, constraint);
    icfi_sim s;
    int32_t i;
    if (!c || !def) return ICF_RESULT_BAD_ARGUMENT;
    icfi_sim_open(world, &s);
    *def = icf_default_constraint_def((icf_constraint_kind)c->kind);
    def->a = icfi_body_name(&s, c->body[0]);
    def->b = icfi_body_name(&s, c->body[1]);
    def->a_frame = c->frame[0];
    def->b_frame = c->frame[1];
    def->lower = c->lower;
    def->upper = c->upper;
    def->stiffness = c->stiffness;
    def->damping = c->damping;
    def->length = c->length;
    def->joints = c->joints;
    for (i = 0; i < c->joints; i++) {
        def->joint[i].index = (uint32_t)c->joint[i];
        def->joint[i].generation = s.joint[c->joint[i]].slot.generation;
        def->number[i] = c->number[i];
        def->ratio[i] = c->ratio[i];
    }
    def->offset = c->offset;
    def->user = c->user;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_constraint_set_def(icf_world* world, icf_constraint constraint,
                                          const icf_constraint_def* def)
{
    icfi_constraint c, *mine = (icfi_constraint*)icfi_named_record(
                           world, ICFI_CONSTRAINTS, constraint.index, constraint.generation);
    icf_result result;
    if (!mine || !def) return ICF_RESULT_BAD_ARGUMENT;
    if (def->kind != mine->kind)
        return icfi_world_refuse(world, ICF_RESULT_BAD_ARGUMENT, 0, "kind");
    result = icfi_constraint_make(world, def, &c);
    if (result != ICF_RESULT_OK) return result;
    c.slot = mine->slot;
    c.slot.flags &= ~(uint32_t)ICFI_KEPT;
    ICFI_MEMCPY(c.force, mine->force, sizeof c.force);
    *mine = c;
    return ICF_RESULT_OK;
}

/* The errors of a constraint, m and rad, for the motions and positions in scratch */
static void icfi_constraint_error(const icfi_sim* s, const icfi_constraint* c, icf_real* slide,
                                  icf_real* turn)
{
    icfi_spatial direction[6];
    icf_vec3 point[2];
    icf_real error[6], l = 0, t = 0;
    int32_t rows, k;
    *turn = 0;
    if (c->kind == ICF_CONSTRAINT_COUPLER) {
        *slide = icfi_coupler_error(c, s->position);
        return;
    }
    rows = icfi_constraint_rows(s, c, s->motion, direction, error, point);
    if (c->kind == ICF_CONSTRAINT_DISTANCE) {
        *slide = error[0] < c->lower   ? c->lower - error[0]
                 : error[0] > c->upper ? error[0] - c->upper
                                       : 0;
        return;
    }
    for (k = 0; k < rows; k++) {
        if (icf_vec3_dot(direction[k].l, direction[k].l) > 0) {
            l += error[k] * error[k];
        } else {
            t += error[k] * error[k];
        }
    }
    *slide = ICF_SQRT(l);
    *turn = ICF_SQRT(t);
}

ICF_API icf_result icf_constraint_get_state(const icf_world* world, icf_constraint constraint,
                                            icf_constraint_state* state)
{
    const icfi_constraint* c = icfi_find_constraint(world, constraint);
    icfi_spatial direction[6];
    icf_vec3 point[2];
    icf_real error[6];
    icfi_sim s;
    int32_t rows, k;
    if (!c || !state) return ICF_RESULT_BAD_ARGUMENT;
    ICFI_MEMSET(state, 0, sizeof *state);
    icfi_sim_open(world, &s);
    icfi_load_motion(&s);
    icfi_constraint_error(&s, c, &state->error, &state->turn_error);
    if (!s.session->solved) return ICF_RESULT_OK;
    if (c->kind == ICF_CONSTRAINT_COUPLER) {
        state->force.x = s.constraint_work[6 * constraint.index] / s.session->dt;
        return ICF_RESULT_OK;
    }
    rows = icfi_constraint_rows(&s, c, s.motion, direction, error, point);
    for (k = 0; k < rows; k++) {
        icf_real f = s.constraint_work[6 * constraint.index + (uint32_t)k] / s.session->dt;
        state->force = icf_vec3_add_scaled(state->force, f, direction[k].l);
        state->torque = icf_vec3_add_scaled(state->torque, f, direction[k].a);
    }
    return ICF_RESULT_OK;
}

/* ---- touches in, results out ---- */

ICF_API icf_touch icf_default_touch(void)
{
    icf_touch t;
    ICFI_MEMSET(&t, 0, sizeof t);
    t.contact = icf_default_contact();
    return t;
}

ICF_API icf_surface icf_world_default_surface(const icf_world* world)
{
    icf_surface f = icf_default_surface();
    if (icfi_world_is(world)) f.model = icfi_header_of(world)->model;
    return f;
}

/* Makes room for one more touch or surface. */
static icf_result icfi_room_for_one(icf_world* world, icfi_sim* s, const int32_t* count)
{
    icf_result result;
    if (*count < s->header->room.most[ICFI_CONTACTS]) return ICF_RESULT_OK;
    result = icfi_make_room(world, ICFI_CONTACTS, *count + 1);
    if (result == ICF_RESULT_OK) icfi_front_open(world, s);
    return result;
}

ICF_API icf_result icf_world_add_surface(icf_world* world, const icf_surface* surface,
                                         int32_t* number)
{
    icfi_sim s;
    icf_surface copy; /* growing frees what `surface` may point into */
    icf_result result;
    if (!icfi_world_is(world) || !surface || !number) return ICF_RESULT_BAD_ARGUMENT;
    copy = *surface;
    icfi_front_open(world, &s);
    result = icfi_room_for_one(world, &s, &s.session->surfaces);
    if (result != ICF_RESULT_OK) return result;
    *number = s.session->surfaces++;
    s.surface[*number] = copy;
    return ICF_RESULT_OK;
}

static int icfi_same_surface(const icf_surface* a, const icf_surface* b)
{
    return a->model == b->model && a->law == b->law && a->by_force == b->by_force &&
           a->custom == b->custom && a->user == b->user && a->cookie == b->cookie &&
           !ICFI_MEMCMP(&a->velocity, &b->velocity, ICFI_SURFACE_REALS * sizeof(icf_real));
}

ICF_API icf_result icf_world_add_touch(icf_world* world, const icf_touch* touch,
                                       const icf_surface* surface)
{
    icfi_sim s;
    icf_touch copy;
    icf_result result;
    if (!icfi_world_is(world) || !touch) return ICF_RESULT_BAD_ARGUMENT;
    copy = *touch;
    icfi_front_open(world, &s);
    if (surface && s.session->surfaces &&
        icfi_same_surface(surface, s.surface + s.session->surfaces - 1)) {
        copy.contact.surface = s.session->surfaces - 1;
    } else if (surface) {
        result = icf_world_add_surface(world, surface, &copy.contact.surface);
        if (result != ICF_RESULT_OK) return result;
        icfi_front_open(world, &s);
    }
    result = icfi_room_for_one(world, &s, &s.session->touches);
    if (result != ICF_RESULT_OK) return result;
    s.touch[s.session->touches++] = copy;
    return ICF_RESULT_OK;
}

ICF_API icf_result icf_world_write_touches(icf_world* world, int32_t written, int32_t needed,
                                           icf_touch** place, int32_t* room)
{
    icfi_sim s;
    icf_result result;
    if (!icfi_world_is(world) || !place || !room) return ICF_RESULT_BAD_ARGUMENT;
    *place = NULL;
    *room = 0;
    icfi_front_open(world, &s);
    if (written < 0 || needed < 0 ||
        written > s.header->room.most[ICFI_CONTACTS] - s.session->touches) {
        return ICF_RESULT_BAD_ARGUMENT;
    }
    s.session->touches += written;
    if (needed > s.header->room.most[ICFI_CONTACTS] - s.session->touches) {
        if (needed > 0x7fffffff - s.session->touches) {
            s.session->touches -= written;
            return ICF_RESULT_OVERFLOW;
        }
        result = icfi_make_room(world, ICFI_CONTACTS, s.session->touches + needed);
        icfi_front_open(world, &s);
        if (result != ICF_RESULT_OK) {
            s.session->touches -= written;
            return result;
        }
    }
    *place = s.touch + s.session->touches;
    *room = s.header->room.most[ICFI_CONTACTS] - s.session->touches;
    return ICF_RESULT_OK;
}

ICF_API icf_touch* icf_world_touches(icf_world* world, int32_t* count)
{
    icfi_sim s;
    if (count) *count = 0;
    if (!icfi_world_is(world) || !count) return NULL;
    icfi_front_open(world, &s);
    *count = s.session->touches;
    return s.touch;
}

ICF_API icf_surface* icf_world_surfaces(icf_world* world, int32_t* count)
{
    icfi_sim s;
    if (count) *count = 0;
    if (!icfi_world_is(world) || !count) return NULL;
    icfi_front_open(world, &s);
    *count = s.session->surfaces;
    return s.surface;
}

ICF_API void icf_world_clear_touches(icf_world* world)
{
    icfi_sim s;
    if (!icfi_world_is(world)) return;
    icfi_front_open(world, &s);
    s.session->touches = s.session->surfaces = 0;
}

ICF_API icf_result icf_world_get_stats(const icf_world* world, icf_stats* stats)
{
    icfi_sim s;
    if (!icfi_world_is(world) || !stats) return ICF_RESULT_BAD_ARGUMENT;
    icfi_front_open(world, &s);
    *stats = s.session->stats;
    stats->reason = NULL;
    return s.session->solved ? ICF_RESULT_OK : ICF_RESULT_BAD_STATE;
}

ICF_API int32_t icf_world_touch_count(const icf_world* world)
{
    icfi_sim s;
    if (!icfi_world_is(world)) return 0;
    icfi_front_open(world, &s);
    return s.session->solved ? s.session->results : 0;
}

ICF_API icf_result icf_world_get_touch(const icf_world* world, int32_t touch,
                                       icf_touch_result* result)
{
    icfi_sim s;
    if (!icfi_world_is(world) || !result) return ICF_RESULT_BAD_ARGUMENT;
    icfi_front_open(world, &s);
    if (!s.session->solved) return ICF_RESULT_BAD_STATE;
    if (touch < 0 || touch >= s.session->results) return ICF_RESULT_BAD_ARGUMENT;
    *result = s.touching[touch].out;
    return ICF_RESULT_OK;
}

ICF_API const icf_event* icf_world_events(const icf_world* world, int32_t* count)
{
    icfi_sim s;
    if (count) *count = 0;
    if (!icfi_world_is(world) || !count) return NULL;
    icfi_front_open(world, &s);
    if (s.session->solved) *count = s.session->events;
    return s.event;
}

ICF_API icf_result icf_world_get_island(const icf_world* world, int32_t island, icf_island* result)
{
    icfi_sim s;
    if (!icfi_world_is(world) || !result) return ICF_RESULT_BAD_ARGUMENT;
    icfi_sim_open(world, &s);
    if (!s.session->solved) return ICF_RESULT_BAD_STATE;
    if (island < 0 || island >= s.session->stats.islands) return ICF_RESULT_BAD_ARGUMENT;
    *result = s.island[island];
    return ICF_RESULT_OK;
}

ICF_API int32_t icf_body_island(const icf_world* world, icf_body body)
{
    icfi_sim s;
    const icfi_world_tree* tree;
    if (!icfi_find_body(world, body)) return -1;
    icfi_sim_open(world, &s);
    if (!s.session->solved || !s.session->sorted) return -1;
    tree = icfi_tree_of(&s, (int32_t)body.index);
    return tree && tree->clique >= 0 ? s.island_of[tree->clique] : -1;
}

ICF_API icf_real icf_world_time(const icf_world* world)
{
    return icfi_world_is(world) ? icfi_header_of(world)->time : 0;
}

static ICFI_NOINLINE icf_real icfi_spring_energy(const icfi_sim* s, const icfi_constraint* c)
{
    icfi_spatial direction[6];
    icf_vec3 point[2];
    icf_real error[6];
    (void)icfi_constraint_rows(s, c, s->motion, direction, error, point);
    return c->stiffness * (error[0] - c->length) * (error[0] - c->length) / 2;
}

ICF_API icf_result icf_world_diagnose(const icf_world* world, icf_diagnosis* diagnosis)
{
    icfi_sim s;
    int32_t i, k;
    if (!icfi_world_is(world) || !diagnosis) return ICF_RESULT_BAD_ARGUMENT;
    ICFI_MEMSET(diagnosis, 0, sizeof *diagnosis);
    icfi_sim_open(world, &s);
    icfi_load_motion(&s);
    for (i = 0; i < s.header->end[ICFI_BODIES]; i++) {
        const icfi_body* b = s.body + i;
        const icfi_motion* m = &b->m;
        icf_vec3 l, a;
        icf_real turned[6];
        if (!(b->slot.flags & ICFI_ALIVE) || !icfi_is_dynamic(b)) continue;
        icfi_turned_inertia(m->q, b->inertia, turned);
        l = icf_vec3_scale(b->mass, m->v);
        a = icfi_symmetric(turned, m->w);
        diagnosis->mass += b->mass;
        diagnosis->kinetic += (icf_vec3_dot(l, m->v) + icf_vec3_dot(a, m->w)) / 2;
        diagnosis->potential -= b->mass * b->gravity_scale * icf_vec3_dot(s.header->gravity, m->x);
        diagnosis->momentum = icf_vec3_add(diagnosis->momentum, l);
        diagnosis->angular_momentum =
            icf_vec3_add(diagnosis->angular_momentum, icf_vec3_add(a, icf_vec3_cross(m->x, l)));
    }
    for (i = 0; i < s.header->end[ICFI_JOINTS]; i++) {
        const icfi_joint* j = s.joint + i;
        icf_real error[3], sum = 0;
        if (!(j->slot.flags & ICFI_ALIVE)) continue;
        icfi_joint_error(j, j->rest, j->position, error);
        for (k = 0; k < icfi_joint_dofs(j->kind); k++) {
            sum += error[k] * error[k];
            diagnosis->kinetic += icfi_armature(j) * j->velocity[k] * j->velocity[k] / 2;
        }
        if (j->kind == ICF_JOINT_BALL) {
            /* 4 (1 - cos(angle / 2)): its slope is 2 sin(angle / 2) */
            icf_real cosine = ICF_SQRT(icfi_max(0, 1 - sum / 4));
            sum = 2 * sum / (1 + cosine);
        }
        diagnosis->potential += j->stiffness * sum / 2;
    }
    for (i = 0; i < s.header->end[ICFI_CONSTRAINTS]; i++) {
        const icfi_constraint* c = s.constraint + i;
        icf_real slide, turn;
        if (!(c->slot.flags & ICFI_ALIVE)) continue;
        icfi_constraint_error(&s, c, &slide, &turn);
        diagnosis->violation = icfi_max(diagnosis->violation, ICF_FABS(slide));
        if (c->kind == ICF_CONSTRAINT_DISTANCE && c->stiffness > 0) {
            diagnosis->potential += icfi_spring_energy(&s, c);
        }
    }
    if (s.session->solved) {
        diagnosis->dissipated = s.session->dissipated;
        diagnosis->penetration = s.session->penetration;
    }
    return ICF_RESULT_OK;
}
#endif /* ICF_NO_WORLD */

ICFI_EXACT_END

#ifdef __cplusplus
}
#endif

#endif /* ICFI_LAYER */
#endif /* ICF_IMPLEMENTATION */

/*
// ------------------------------------------------------------------------------------------------
// >>licence

This software is available under two licences; choose the one you prefer.

ALTERNATIVE A - MIT licence

Copyright (c) 2026 the icf authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR
THE USE OR OTHER DEALINGS IN THE SOFTWARE.

ALTERNATIVE B - public domain (www.unlicense.org)

This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute this software, either in
source code form or as a compiled binary, for any purpose, commercial or non-commercial, and by any means.

In jurisdictions that recognize copyright laws, the author or authors of this software dedicate any and
all copyright interest in the software to the public domain. We make this dedication for the benefit of
the public at large and to the detriment of our heirs and successors. We intend this dedication to be an
overt act of relinquishment in perpetuity of all present and future rights to this software under
copyright law.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER
DEALINGS IN THE SOFTWARE.
*/
