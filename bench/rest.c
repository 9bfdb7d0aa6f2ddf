/* bench/rest.c - how fast what stands still moves

   Piles of ten rows for a simulated minute at 60 Hz, in double at a tolerance of 1e-10 and in float at 1e-6: the
   highest speed of a corner in the last 5 s. Straight stacks are at rest to what the tolerance or the precision
   leaves. In pyramids bricks lean where the pile sank in, and lean the less the stiffer they are; what leans
   creeps, at slip_tolerance tan(slope) / friction. In float at a height of 10 m places are 1e-6 m apart, which in
   a step of 1/60 s is 6e-5 m/s. */

#define RUN rest_double
#include "rest.h"

int rest_float(bench_options* o, const char* precision, double tolerance);

int main(int argc, char** argv)
{
    bench_options o = bench_parse(argc, argv);
    int failed;
    bench_check(&o, "");
    failed = rest_double(&o, "double", 1e-10);
    failed |= rest_float(&o, "float", 1e-6);
    return failed || !o.selected;
}
