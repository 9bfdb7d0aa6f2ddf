/* Random chains and loops of constraints make no energy: tests/loops.h says which, and how it is measured,
   tests/fuzz.h how to run it. What fails: a step that is refused, a chain with more than 5 % of its weight
   times its length above what it began with, or more than 1 in 1000 with more than 1 %. In float, where 1 in
   1000 was measured, of up to 235 %, that is 3 in 1000 with more than 1 %. A step that says TOO_FAST ends its
   chain, and those are counted; so are those without sliders that come apart by 0.4 of a link. */

#include <assert.h>
#define ICF_ASSERT(x) assert(x)
#define ICF_IMPLEMENTATION
#include "../icf.h"

#define FUZZ_COUNT 20000
#include "fuzz.h"
#include "loops.h"

enum { MOST_STEPS = 400, MOST_SAID = 20 };

#ifdef ICF_FLOAT
static const double over_most = 3e-3, far_most = 1;
#else
static const double over_most = 1e-3, far_most = 0;
#endif

static unsigned long chains, named, over, far_over, apart, refused;
static double worst;

static void fuzz_input(void)
{
    loops_case c;
    loops_outcome o;
    int steps;
    loops_make(&c, word());
    CHECK(c.made == ICF_RESULT_OK);
    steps = (int)(4 / c.dt);
    o = loops_play(&c, steps < MOST_STEPS ? steps : MOST_STEPS);
    loops_end(&c);
    chains++;
    apart += o.result == ICF_RESULT_OK && !c.slides && o.apart > 0.4;
    if (o.result < 0) {
        refused++;
        printf("REFUSED, %s, at step %d of %s; again: ", icf_result_string(o.result), o.steps,
               c.text);
        fuzz_again(stdout);
    } else if (o.result > 0) {
        named++;
    } else if (o.gain > 0.01) {
        over++;
        far_over += o.gain > 0.05;
        if (o.gain > worst) worst = o.gain;
        if (over > MOST_SAID) return;
        printf("%.3g %% above, over 1 %% from step %d on: %s; again: ", 100 * o.gain, o.over,
               c.text);
        fuzz_again(stdout);
        fflush(stdout);
    }
}

static int fuzz_end(void)
{
    const double all = (double)chains;
    printf("%lu chains: %lu over 1 %%, %lu of them over 5 %%, the worst %.3g %%; %lu apart, %lu "
           "too fast, %lu "
           "refused\n",
           chains, over, far_over, 100 * worst, apart, named, refused);
    return refused > 0 || (double)over > over_most * all || (double)far_over > far_most * all;
}
