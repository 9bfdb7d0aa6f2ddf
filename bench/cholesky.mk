# bench/cholesky is linked with the library compiled in three other ways
BENCH_MORE_cholesky = bench/variants/cholesky_sse2.c bench/variants/cholesky_scalar.c bench/variants/cholesky_fma.c
BENCH_FLAGS_cholesky = -DICF_BENCH_VARIANTS
