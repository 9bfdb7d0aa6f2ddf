/* fuzz.h - what the fuzzers share: numbers out of bytes, and the program around them. Include it after icf.h.

   A fuzzer defines fuzz_input(), which draws numbers and does something with them, fuzz_end(), which says
   what came of all inputs and answers the exit status, and FUZZ_COUNT, how many seeds it runs if it is
   not told. It is a program, NAME:

     NAME [FIRST [COUNT [SECONDS]]]   runs the seeds FIRST, FIRST + 1 ..., COUNT of them, or as many as
                                      begin in so many seconds of the processor's time
     NAME FILE...                     runs files, as libFuzzer leaves them

   A seed is the same input each time: only how many begin before the time is over is up to the machine.
   With libFuzzer, from the root of the repository:

     clang -g -O1 -fsanitize=fuzzer,address,undefined -DICF_LIBFUZZER -I. tests/NAME.c -lm */

#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util.h"

static void fuzz_input(void);
static int fuzz_end(void);

// ------------------------------------------------------------------------------------------------
// What fails

static const char* fuzz_program = "";
static const char* fuzz_file; /* what runs: this, or if it is NULL the seed */
static unsigned long long fuzz_seed;

/* How to do it again */
static void fuzz_again(FILE* to)
{
    if (fuzz_file) {
        fprintf(to, "%s %s\n", fuzz_program, fuzz_file);
    } else {
        fprintf(to, "%s %llu 1\n", fuzz_program, fuzz_seed);
    }
}

UTIL_UNUSED static void fuzz_fail(const char* file, int line, const char* what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

#define CHECK(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

// ------------------------------------------------------------------------------------------------
// Numbers out of bytes

/* Behind the last byte come random ones, so that a short input is a whole run */
typedef struct stream {
    const uint8_t *at, *end;
    uint64_t random;
} stream;

static stream in;

/* 0 .. 255 */
static int byte(void)
{
    if (in.at < in.end) {
        in.random = in.random * 6364136223846793005u + *in.at + 1442695040888963407u;
        if (!in.random) in.random = 1;
        return *in.at++;
    }
    in.random ^= in.random << 13;
    in.random ^= in.random >> 7;
    in.random ^= in.random << 17;
    return (int)(in.random >> 24 & 255);
}

UTIL_UNUSED static uint32_t word(void)
{
    uint32_t x = (uint32_t)byte();
    x = x << 8 | (uint32_t)byte();
    x = x << 8 | (uint32_t)byte();
    return x << 8 | (uint32_t)byte();
}

/* 0 .. count - 1, of at most 65536 */
static int32_t below(int32_t count)
{
    int32_t x;
    if (count < 2) return 0;
    x = byte();
    if (count > 16) x = x << 8 | byte();
    return x % count;
}

/* true one time in `times` */
UTIL_UNUSED static int one_in(int32_t times)
{
    return below(times) == times - 1;
}

static double between(double low, double high)
{
    int32_t x = byte();
    x = x << 8 | byte();
    x = x << 8 | byte();
    return low + (high - low) * ((double)x / 16777215.0);
}

/* From 10^low to 10^high, of all sizes alike; without pow, which is not the same everywhere */
UTIL_UNUSED static double power(double low, double high)
{
    double x = between(low, high), whole = floor(x), left = 1 + 9 * (x - whole);
    for (; whole > 0; whole--) left *= 10;
    for (; whole < 0; whole++) left /= 10;
    return left;
}

/* Runs what the bytes say, and after them a seed */
static void fuzz_bytes(const uint8_t* data, size_t size, uint64_t seed)
{
    int i;
    in.at = in.end = NULL;
    in.random = (seed + 1) * 11400714819323198485u;
    if (!in.random) in.random = 1;
    for (i = 0; i < 16; i++) (void)byte();
    in.at = data;
    in.end = data ? data + size : NULL;
    fuzz_input();
}

// ------------------------------------------------------------------------------------------------
// The program

#ifdef ICF_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    (void)fuzz_end;
    (void)fuzz_again;
    fuzz_bytes(data, size, 0);
    return 0;
}

#else

/* a sanitizer that finds something then comes by here as well */
const char* __asan_default_options(void);
const char* __ubsan_default_options(void);

const char* __asan_default_options(void)
{
    return "abort_on_error=1:allocator_may_return_null=1";
}

const char* __ubsan_default_options(void)
{
    return "abort_on_error=1:print_stacktrace=1";
}

static void fuzz_crash(int number)
{
    signal(number, SIG_DFL);
    fflush(stdout);
    fprintf(stderr, "crashed; again: ");
    fuzz_again(stderr);
    raise(number);
}

static void fuzz_read(const char* name)
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
    fuzz_file = name;
    fuzz_bytes(data, size, 0);
}

static double fuzz_seconds(void)
{
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

int main(int argc, char** argv)
{
    unsigned long long first = 1, count = FUZZ_COUNT, i;
    double seconds = 1e30, begin = fuzz_seconds();
    fuzz_program = argv[0];
    signal(SIGABRT, fuzz_crash);
    signal(SIGSEGV, fuzz_crash);
    signal(SIGFPE, fuzz_crash);
    if (argc > 1 && strspn(argv[1], "0123456789") != strlen(argv[1])) {
        for (i = 1; i < (unsigned long long)argc; i++) fuzz_read(argv[i]);
        return fuzz_end();
    }
    if (argc > 1) first = strtoull(argv[1], NULL, 10);
    if (argc > 2) count = strtoull(argv[2], NULL, 10);
    if (argc > 3) seconds = strtod(argv[3], NULL);
    for (i = 0; i < count && fuzz_seconds() - begin < seconds; i++) {
        fuzz_seed = first + i;
        fuzz_bytes(NULL, 0, fuzz_seed);
    }
    printf("%s: seeds %llu to %llu, %.1f s\n", fuzz_program, first, first + i - 1,
           fuzz_seconds() - begin);
    return fuzz_end();
}

#endif

#endif /* TEST_FUZZ_H */
