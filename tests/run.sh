#!/bin/sh
# Runs test programs, as many at a time as there are processors: tests/run.sh PROGRAM...
# Each test is run by itself, by name, so that a crash costs one test. A line a program; the last line is
# "N passed, M failed" over all of them, also left in $CLOSING, or build/closing-line. Uses only what both
# tests/acutest.h and the upstream acutest.h offer: --list, a test's name as argument, the exit code.

# run_one PROGRAM NOTES: the tests of one program; what they say, and "PASSED FAILED" in NOTES/NAME.count
run_one() {
    program=$1
    name=$2/$(echo "$1" | tr / _)
    passed=0
    failed=0
    {
        if "$program" --list >"$name.log" 2>&1; then
            sed -n 's/^  //p' "$name.log" >"$name.list"
        else
            : >"$name.list"
            cat "$name.log"
        fi
        if [ ! -s "$name.list" ]; then
            echo "$program: lists no tests"
            failed=1
        fi
        while read -r test; do
            "$program" "$test" >"$name.log" 2>&1 </dev/null
            code=$?
            if [ $code -eq 0 ]; then
                passed=$((passed + 1))
            else
                failed=$((failed + 1))
                cat "$name.log"
                [ $code -eq 1 ] || echo "$program $test: ended with code $code"
            fi
        done <"$name.list"
        echo "$program: $passed of $((passed + failed)) tests passed"
    } >"$name.said"
    cat "$name.said"
    echo $passed $failed >"$name.count"
}

if [ "$1" = --one ]; then
    run_one "$3" "$2"
    exit 0
fi

mkdir -p build
notes=build/test-notes.$$
mkdir "$notes" || exit 1
trap 'rm -rf "$notes"' EXIT

printf '%s\n' "$@" | xargs -P "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)" -n 1 sh "$0" --one "$notes"

# a program that left no count is one failure
cat "$notes"/*.count 2>/dev/null | awk -v programs=$# '{ passed += $1; failed += $2 }
    END { failed += programs - NR; print passed + 0 " passed, " failed + 0 " failed"
          exit failed > 0 || passed == 0 }' >"$notes/closing"
code=$?
tee "${CLOSING:-build/closing-line}" <"$notes/closing"
exit $code
