# bench/rest is linked with itself in float
BENCH_MORE_rest = bench/variants/rest_float.c
