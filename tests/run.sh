#!/bin/sh
# Runs test programs: tests/run.sh PROGRAM...
# Each test is run by itself, by name, so that a crash costs one test. A line a program; the last line is
# "N passed, M failed" over all of them, also left in $CLOSING, or build/closing-line. Uses only what both
# tests/acutest.h and the upstream acutest.h offer: --list, a test's name as argument, the exit code.

passed=0
failed=0
mkdir -p build
log=build/test-output.$$
list=build/test-list.$$
trap 'rm -f "$log" "$list"' EXIT

for program in "$@"; do
    program_passed=0
    program_failed=0
    if "$program" --list >"$log" 2>&1; then
        sed -n 's/^  //p' "$log" >"$list"
    else
        : >"$list"
        cat "$log"
    fi
    if [ ! -s "$list" ]; then
        echo "$program: lists no tests"
        program_failed=1
    fi
    while read -r name; do
        "$program" "$name" >"$log" 2>&1 </dev/null
        code=$?
        if [ $code -eq 0 ]; then
            program_passed=$((program_passed + 1))
        else
            program_failed=$((program_failed + 1))
            cat "$log"
            [ $code -eq 1 ] || echo "$program $name: ended with code $code"
        fi
    done <"$list"
    echo "$program: $program_passed of $((program_passed + program_failed)) tests passed"
    passed=$((passed + program_passed))
    failed=$((failed + program_failed))
done

echo "$passed passed, $failed failed" | tee "${CLOSING:-build/closing-line}"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
