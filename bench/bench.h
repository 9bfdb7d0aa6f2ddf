/* What the benchmarks share: a clock, the fastest of many short runs, options, and the closing lines.

   Include it before any system header: it asks for POSIX clocks. Every program understands

       --list          the names of its cases, and nothing is run
       --only=TEXT     only the cases with TEXT in their name; may be given more than once
       --repeat=N      rounds of measurement; more find a lower minimum on a busy machine
       --quick         a look at the main cases, for a change in progress

   and ends with lines  figure NAME VALUE UNIT  for tools to read. */

#ifndef BENCH_H
#define BENCH_H

#if !defined(_POSIX_C_SOURCE) && !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds of processor time of this thread: other programs on the machine do not count, their use of the
   caches does. Reading it costs a system call, so measure stretches of 100 microseconds and more. */
static inline double bench_now(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0)
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
    return (double)clock() / CLOCKS_PER_SEC;
}

typedef struct bench_options {
    int list, quick;
    int repeat; /* rounds; 0: the program's own choice */
    int only_count;
    const char* only[32];
    int selected;    /* cases that ran or were listed, for the message when none did */
    int other_count; /* options this header does not know, for the program to read */
    const char* other[32];
} bench_options;

static inline bench_options bench_parse(int argc, char** argv)
{
    bench_options o;
    int i;
    memset(&o, 0, sizeof o);
    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list"))
            o.list = 1;
        else if (!strcmp(argv[i], "--quick"))
            o.quick = 1;
        else if (!strncmp(argv[i], "--repeat=", 9))
            o.repeat = atoi(argv[i] + 9);
        else if (!strncmp(argv[i], "--only=", 7) && o.only_count < 32)
            o.only[o.only_count++] = argv[i] + 7;
        else if (o.other_count < 32)
            o.other[o.other_count++] = argv[i];
    }
    return o;
}

/* Whether an option of the program's own was given: each is asked for once, before bench_check */
static inline int bench_option(bench_options* o, const char* name)
{
    int i, found = 0, kept = 0;
    for (i = 0; i < o->other_count; i++) {
        if (!strcmp(o->other[i], name))
            found = 1;
        else
            o->other[kept++] = o->other[i];
    }
    o->other_count = kept;
    return found;
}

/* Ends the program when an option is left that nobody asked for */
static inline void bench_check(const bench_options* o, const char* more)
{
    if (!o->other_count && o->repeat >= 0) return;
    fprintf(stderr, "%s: options are --list --only=TEXT --repeat=N --quick %s\n",
            o->other_count ? o->other[0] : "--repeat", more);
    exit(2);
}

/* Whether to run the case of this name. With --list it is printed instead. */
static inline int bench_selected(bench_options* o, const char* name)
{
    int i, match = o->only_count == 0;
    for (i = 0; i < o->only_count; i++) {
        if (strstr(name, o->only[i])) match = 1;
    }
    if (!match) return 0;
    o->selected++;
    if (o->list) printf("%s\n", name);
    return !o->list;
}

/* The line for tools: the name is made as by printf, blanks and other signs in it become underscores */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 3, 4)))
#endif
static inline void
bench_figure(double value, const char* unit, const char* name, ...)
{
    char text[256];
    char* p;
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    for (p = text; *p; p++) {
        int keep = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                   (*p >= '0' && *p <= '9') || *p == '.';
        if (!keep) *p = '_';
    }
    printf("figure %s %.4g %s\n", text, value, unit);
}

/* One of the programs that are compared: run does its work count times over. */
typedef struct bench_job {
    const char* name;
    void (*run)(void* context, long count);
    void* context;
    double seconds; /* out: the fastest, for one time; 0 before and when run is NULL */
    long count;     /* times in one stretch, found by bench_measure */
} bench_job;

/* Runs the jobs in turn, a stretch of about `stretch` seconds of each, `repeat` times around, and keeps
   the fastest stretch of each: what disturbs the machine falls on all of them alike and only adds time.
   Stops early, though not before three rounds, when `budget` seconds are spent. */
static inline void bench_measure(bench_job* jobs, int count, int repeat, double stretch,
                                 double budget)
{
    int i, round;
    double began = bench_now(), start, took;
    for (i = 0; i < count; i++) {
        jobs[i].seconds = 0;
        jobs[i].count = 1;
        if (!jobs[i].run) continue;

        // how many make a stretch; this warms the caches up, too
        for (;;) {
            start = bench_now();
            jobs[i].run(jobs[i].context, jobs[i].count);
            took = bench_now() - start;
            if (took >= 0.3 * stretch || jobs[i].count > (1L << 26)) break;
            jobs[i].count *= 2;
        }
        took /= (double)jobs[i].count;
        jobs[i].seconds = took;
        jobs[i].count = took < stretch ? (long)(stretch / (took + 1e-12)) : 1;
    }
    for (round = 0; round < repeat; round++) {
        if (round >= 3 && bench_now() - began > budget) break;
        for (i = 0; i < count; i++) {
            if (!jobs[i].run) continue;
            start = bench_now();
            jobs[i].run(jobs[i].context, jobs[i].count);
            took = (bench_now() - start) / (double)jobs[i].count;
            if (took < jobs[i].seconds) jobs[i].seconds = took;
        }
    }
}

/* The fastest of one */
static inline double bench_time(void (*run)(void*, long), void* context, int repeat, double stretch,
                                double budget)
{
    bench_job job;
    job.name = "";
    job.run = run;
    job.context = context;
    bench_measure(&job, 1, repeat, stretch, budget);
    return job.seconds;
}

static inline int bench_compare(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return x < y ? -1 : x > y;
}

/* Sorts the values */
static inline double bench_median(double* values, int count)
{
    if (!count) return 0;
    qsort(values, (size_t)count, sizeof *values, bench_compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

#endif
