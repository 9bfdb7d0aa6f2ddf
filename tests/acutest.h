/* acutest.h - a small test framework with the public interface of acutest

   Not a copy: independent code behind the same macros, so that the upstream file
   (github.com/mity/acutest) can take its place unchanged. A test file uses only what stands above
   the line "the rest is private".

   The program it makes:

       test_math                 runs every test; ends with "N passed, M failed"; exit code 1 if M > 0
       test_math NAME...         runs these tests
       test_math --list          lists them
       test_math --verbose       names each test as it runs

   Without an operating system, define before including:

       TEST_NO_OS                no stdio, no setjmp, no exit; main runs every test and returns the
                                 number that failed
       TEST_PUTS(string)         how to print a string
       TEST_STOP(failures)       what a failed TEST_ASSERT ends with; it must not return. Default: a trap

   The formatter used there knows %d %i %u %x %s %c %p %e %f %g %%, the lengths l and z, and ignores
   flags, width and precision. */

#ifndef ACUTEST_H
#define ACUTEST_H

/* TEST_LIST = { { "name", function }, ..., { NULL, NULL } }; each function is void name(void). */
#define TEST_LIST const struct acut_entry acut_entries[]

/* A check that failed is printed and counted, and the test goes on. True if it held. */
#define TEST_CHECK(condition) acut_check((condition) != 0, __FILE__, __LINE__, "%s", #condition)
#define TEST_CHECK_(condition, ...) acut_check((condition) != 0, __FILE__, __LINE__, __VA_ARGS__)

/* An assertion that failed ends the test. */
#define TEST_ASSERT(condition) TEST_ASSERT_(condition, "%s", #condition)
#define TEST_ASSERT_(condition, ...) \
    do { \
        if (!acut_check((condition) != 0, __FILE__, __LINE__, __VA_ARGS__)) acut_abort(); \
    } while (0)

/* Printed if the check before it failed. */
#define TEST_MSG(...) acut_message(__VA_ARGS__)

/* Names what the following checks are about, until the next one; NULL ends it. */
#define TEST_CASE(name) acut_case_begin(name)

/* ------------------------------------------------------------------------------------------------
   the rest is private */

#include <stdarg.h>
#include <stddef.h>

#ifdef TEST_NO_OS
#ifndef TEST_PUTS
#error "acutest.h: TEST_NO_OS needs TEST_PUTS(string)"
#endif
#ifndef TEST_STOP
#define TEST_STOP(failures) __builtin_trap()
#endif
#else
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ACUT_UNUSED __attribute__((unused))
#define ACUT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define ACUT_UNUSED
#define ACUT_PRINTF(text, first)
#endif

/* failed checks of a test that are printed; the others are counted */
#define ACUT_SHOWN 20

struct acut_entry {
    const char* name;
    void (*func)(void);
};

extern const struct acut_entry acut_entries[];

static struct {
    const char* test;    /* the one that runs */
    const char* section; /* of TEST_CASE */
    int failed_checks;   /* of the test that runs */
    int last_failed;     /* the last check did */
    int verbose;
    int passed, failed; /* tests */
#ifndef TEST_NO_OS
    jmp_buf out; /* of the test that runs */
#endif
} acut_state;

#ifdef TEST_NO_OS

static void acut_print_char(char c)
{
    char s[2];
    s[0] = c;
    s[1] = 0;
    TEST_PUTS(s);
}

static void acut_print_unsigned(unsigned long u, unsigned base)
{
    char digits[24];
    int n = (int)sizeof digits;
    digits[--n] = 0;
    do {
        digits[--n] = "0123456789abcdef"[u % base];
        u /= base;
    } while (u);
    TEST_PUTS(digits + n);
}

/* nine digits and an exponent: enough to tell two floats apart */
static void acut_print_real(double x)
{
    int exponent = 0;
    unsigned long digits, power = 100000000ul;
    if (x != x) {
        TEST_PUTS("nan");
        return;
    }
    if (x < 0) {
        TEST_PUTS("-");
        x = -x;
    }
    if (x > 0 && x * 0.5 == x) {
        TEST_PUTS("inf");
        return;
    }
    while (x >= 10) x /= 10, exponent++;
    while (x > 0 && x < 1) x *= 10, exponent--;
    digits = (unsigned long)(x * 1e8 + 0.5);
    if (digits >= 1000000000ul) digits /= 10, exponent++;
    acut_print_unsigned(digits / power, 10);
    acut_print_char('.');
    for (digits %= power; power > 1; digits %= power) {
        power /= 10;
        acut_print_char((char)('0' + digits / power));
    }
    TEST_PUTS(exponent < 0 ? "e-" : "e+");
    acut_print_unsigned((unsigned long)(exponent < 0 ? -exponent : exponent), 10);
}

static void acut_print_list(const char* format, va_list list)
{
    for (; *format; format++) {
        int is_long = 0, is_size = 0;
        long number;
        if (*format != '%') {
            acut_print_char(*format);
            continue;
        }
        format++;
        while (*format && (*format == '-' || *format == '+' || *format == ' ' || *format == '#' ||
                           *format == '.' || (*format >= '0' && *format <= '9')))
            format++;
        for (; *format == 'l' || *format == 'z'; format++) {
            if (*format == 'l') is_long = 1;
            if (*format == 'z') is_size = 1;
        }
        switch (*format) {
        case 'd':
        case 'i':
            number = is_long ? va_arg(list, long) : va_arg(list, int);
            if (number < 0) acut_print_char('-');
            acut_print_unsigned(number < 0 ? 0ul - (unsigned long)number : (unsigned long)number,
                                10);
            break;
        case 'u':
        case 'x':
            acut_print_unsigned(is_size   ? (unsigned long)va_arg(list, size_t)
                                : is_long ? va_arg(list, unsigned long)
                                          : va_arg(list, unsigned),
                                *format == 'u' ? 10 : 16);
            break;
        case 'p': acut_print_unsigned((unsigned long)(size_t)va_arg(list, void*), 16); break;
        case 's': TEST_PUTS(va_arg(list, const char*)); break;
        case 'c': acut_print_char((char)va_arg(list, int)); break;
        case 'e':
        case 'f':
        case 'g': acut_print_real(va_arg(list, double)); break;
        case 0: return;
        default: acut_print_char(*format); break;
        }
    }
}

#else

static void acut_print_list(const char* format, va_list list)
{
    vprintf(format, list);
}

#endif

ACUT_PRINTF(1, 2) static void acut_print(const char* format, ...)
{
    va_list list;
    va_start(list, format);
    acut_print_list(format, list);
    va_end(list);
}

ACUT_UNUSED ACUT_PRINTF(4, 5) static int acut_check(int held, const char* file, int line,
                                                    const char* format, ...)
{
    va_list list;
    acut_state.last_failed = !held;
    if (held) return 1;
    if (acut_state.failed_checks++ == 0) acut_print("%s: FAILED\n", acut_state.test);
    if (acut_state.failed_checks > ACUT_SHOWN) {
        acut_state.last_failed = 0; /* no message either */
        return 0;
    }
    acut_print("  %s:%d: ", file, line);
    if (acut_state.section) acut_print("[%s] ", acut_state.section);
    va_start(list, format);
    acut_print_list(format, list);
    va_end(list);
    acut_print("\n");
    return 0;
}

ACUT_UNUSED ACUT_PRINTF(1, 2) static void acut_message(const char* format, ...)
{
    va_list list;
    if (!acut_state.last_failed) return;
    acut_print("    ");
    va_start(list, format);
    acut_print_list(format, list);
    va_end(list);
    acut_print("\n");
}

ACUT_UNUSED static void acut_case_begin(const char* name)
{
    acut_state.section = name;
}

ACUT_UNUSED static void acut_abort(void)
{
#ifdef TEST_NO_OS
    acut_print("stopped by an assertion\n%d passed, %d failed\n", acut_state.passed,
               acut_state.failed + 1);
    TEST_STOP(acut_state.failed + 1);
#else
    longjmp(acut_state.out, 1);
#endif
}

static void acut_run(const struct acut_entry* entry)
{
    acut_state.test = entry->name;
    acut_state.section = NULL;
    acut_state.failed_checks = 0;
    acut_state.last_failed = 0;
    if (acut_state.verbose) acut_print("%s\n", entry->name);
#ifdef TEST_NO_OS
    entry->func();
#else
    if (!setjmp(acut_state.out)) entry->func();
#endif
    if (acut_state.failed_checks > ACUT_SHOWN) {
        acut_print("  and %d more checks failed\n", acut_state.failed_checks - ACUT_SHOWN);
    }
    if (acut_state.failed_checks) {
        acut_state.failed++;
    } else {
        acut_state.passed++;
    }
}

#ifdef TEST_NO_OS

int main(void)
{
    const struct acut_entry* entry;
    for (entry = acut_entries; entry->func; entry++) acut_run(entry);
    acut_print("%d passed, %d failed\n", acut_state.passed, acut_state.failed);
    return acut_state.failed;
}

#else

int main(int argc, char** argv)
{
    const struct acut_entry* entry;
    int i, named = 0;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* so that nothing is lost in a crash */

    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list") || !strcmp(argv[i], "-l")) {
            printf("Unit tests:\n");
            for (entry = acut_entries; entry->func; entry++) printf("  %s\n", entry->name);
            return 0;
        }
        if (!strcmp(argv[i], "--verbose") || !strcmp(argv[i], "-v")) {
            acut_state.verbose = 1;
        } else if (argv[i][0] == '-') {
            fprintf(stderr, "usage: %s [--list] [--verbose] [test...]\n", argv[0]);
            return 2;
        } else {
            named = 1;
        }
    }

    for (i = 1; i < argc; i++) {
        if (argv[i][0] == '-') continue;
        for (entry = acut_entries; entry->func && strcmp(entry->name, argv[i]); entry++) continue;
        if (!entry->func) {
            fprintf(stderr, "%s: no test of the name %s\n", argv[0], argv[i]);
            return 2;
        }
        acut_run(entry);
    }
    for (entry = acut_entries; !named && entry->func; entry++) acut_run(entry);

    printf("%d passed, %d failed\n", acut_state.passed, acut_state.failed);
    return acut_state.failed ? 1 : 0;
}

#endif

#endif /* ACUTEST_H */
