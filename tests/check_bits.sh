#!/bin/sh
# The same bits everywhere: the tests named golden_bits, which compare hashes of many solutions with
# constants, built for other machines, by other compilers and with other flags.

cd "$(dirname "$0")/.." || exit 1
failed=0
done=0
mkdir -p build/bits

# bits NAME RUNNER COMMAND
bits() {
    name=$1
    runner=$2
    shift 2
    for real in double float; do
        [ $real = float ] && define=-DICF_FLOAT || define=
        library=build/bits/implementation.o
        "$@" $define -c -o $library tests/implementation.c || failed=1
        for test in test_dense test_sparse; do
            program=build/bits/$test
            if "$@" $define -DTEST_LINKED -o $program tests/$test.c $library -lm &&
                $runner ./$program golden_bits >$program.log 2>&1; then
                done=$((done + 1))
            else
                echo "bits, $name $test $real: FAILED"
                cat $program.log
                failed=1
            fi
        done
    done
}

have() {
    command -v "$1" >/dev/null 2>&1
}

skip() {
    echo "skipped: bits on $1; needs: apt-get install $2"
}

bits "${CC:-cc} -O0" "" "${CC:-cc}" -O0
if have gcc; then
    bits "gcc -O3" "" gcc -std=gnu99 -O3
    [ "$(uname -m)" = x86_64 ] && bits "gcc native" "" gcc -std=gnu99 -O3 -march=native
fi
if have clang; then bits "clang" "" clang -O3; else skip clang clang; fi
echo 'int main(void) { return 0; }' >build/bits/empty.c
if gcc -m32 -o build/bits/empty build/bits/empty.c >/dev/null 2>&1; then
    bits i386 "" gcc -m32 -msse2 -mfpmath=sse -O2
else skip i386 gcc-12-multilib; fi
if have aarch64-linux-gnu-gcc && have qemu-aarch64; then
    bits aarch64 qemu-aarch64 aarch64-linux-gnu-gcc -static -O2
else skip aarch64 "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"; fi

[ $failed -eq 0 ] && echo "bits: the same in $done builds"
exit $failed
