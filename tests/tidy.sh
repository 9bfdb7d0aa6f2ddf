#!/bin/sh
# clang-tidy (settings in .clang-tidy), cppcheck (settings below) and clang-format (.clang-format).
# tests/tidy.sh

cd "$(dirname "$0")/.." || exit 1
mkdir -p build
failed=0
processors=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

have() {
    command -v "$1" >/dev/null 2>&1
}

skip() {
    echo "skipped: $1; needs: apt-get install $1"
}

if have clang-tidy; then
    for file in tests/compile/together.c tests/test_*.c examples/*.c; do
        echo "$file"
        [ "$file" = tests/compile/together.c ] && echo "$file -DICF_FLOAT"
    done | xargs -P "$processors" -I '{}' sh -c '
        set -- $1
        log=build/tidy-$(echo "$1$2" | tr / -).log
        # the headers are looked through path by path once, not with every test again
        checks=; [ "$1" = tests/compile/together.c ] || checks=--checks=-clang-analyzer-*
        if clang-tidy --quiet $checks "$1" -- -std=c99 -I. $2 >"$log" 2>/dev/null; then echo "clang-tidy $1 $2: ok"
        else cat "$log"; echo "clang-tidy $1 $2: FAILED"; exit 1; fi' sh '{}' || failed=1
else
    skip clang-tidy
fi

# unusedFunction, unusedStructMember: a library and its tests in parts
# missingIncludeSystem: it does not need the system's headers
# variableScope: C99 that reads as C89 in places, variables stand at the head of a function on purpose
# ConfigurationNotChecked, toomanyconfigs: about the options of other compilers
if have cppcheck; then
    for define in "" -DICF_FLOAT; do
        if cppcheck --quiet --std=c99 --enable=warning,performance,portability --inline-suppr \
            --error-exitcode=1 --suppress=missingIncludeSystem --suppress=ConfigurationNotChecked \
            --suppress=toomanyconfigs -D__GNUC__=12 $define -I. tests/compile/together.c; then
            echo "cppcheck $define: ok"
        else
            echo "cppcheck $define: FAILED"
            failed=1
        fi
    done
else
    skip cppcheck
fi

if have clang-format; then
    if find . -name build -prune -o -name '*.[ch]' -print | sort |
        xargs clang-format --dry-run -Werror >build/format.log 2>&1; then
        echo "clang-format: ok"
    else
        grep -E '^[^ ].*error' build/format.log | cut -d: -f1 | sort | uniq -c | sort -rn
        echo "clang-format: FAILED; make format mends these"
        failed=1
    fi
else
    skip clang-format
fi

exit $failed
