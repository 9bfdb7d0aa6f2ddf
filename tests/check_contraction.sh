#!/bin/sh
# No multiplication and addition of the headers becomes one fused instruction, whatever the flags of the
# user: looks at the assembly of tests/compile/contraction.c, in which one function outside the headers
# must have such an instruction, or the test would not see any.

cd "$(dirname "$0")/.." || exit 1
failed=0
mkdir -p build
listing=build/contraction.s

# look NAME COMMAND
look() {
    name=$1
    shift
    for real in double float; do
        [ $real = float ] && define=-DICF_FLOAT || define=
        "$@" $define -I. -S -o $listing tests/compile/contraction.c || {
            echo "contraction, $name $real: does not compile"
            failed=1
            continue
        }
        # x86: vfmadd231sd, vfnmsub...; aarch64: fmadd, fmla, ...; arm: vfma.f32, vfnms.f64, ...
        awk -v name="$name $real" '
            /^[A-Za-z_.][A-Za-z0-9_.]*:/ && !/^\.?L/ { f = $1; sub(/:.*/, "", f); seen[f] = 1 }
            $1 ~ /^(vfn?m(add|sub)[a-z0-9]*|fn?m(add|sub)|fml[as]|vfn?m[as]\..*)$/ {
                if (f ~ /icf_test_control/) control = 1
                else if (!(f in told)) {
                    print "contraction, " name ": " f " has " $1; told[f] = 1; bad = 1
                }
            }
            END {
                if (!control) { print "contraction, " name ": the control has no fused instruction"; bad = 1 }
                if (!("icf_test_dot" in seen)) { print "contraction, " name ": icf_test_dot not found"; bad = 1 }
                exit bad
            }' $listing || failed=1
    done
}

have() {
    command -v "$1" >/dev/null 2>&1
}

skip() {
    echo "skipped: contraction with $1; needs: apt-get install $2"
}

if [ "$(uname -m)" = x86_64 ]; then
    if have gcc; then
        look gcc gcc -std=gnu99 -O2 -march=haswell
        look gcc-O3 gcc -std=gnu99 -O3 -march=haswell
    else skip gcc gcc; fi
    if have clang; then
        look clang clang -O2 -march=haswell -ffp-contract=on
    else skip clang clang; fi
fi
if have aarch64-linux-gnu-gcc; then
    look aarch64 aarch64-linux-gnu-gcc -std=gnu99 -O2
else skip aarch64 "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"; fi
if have clang; then
    look clang-aarch64 clang --target=aarch64-none-elf -ffreestanding -DICF_NO_MALLOC -O2 -ffp-contract=on
fi

[ $failed -eq 0 ] && echo "contraction: ok"
exit $failed
