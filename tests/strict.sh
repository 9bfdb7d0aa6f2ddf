#!/bin/sh
# Both headers under every compiler that is here, in every way to include them, without a warning.
# tests/strict.sh   (some hundred small compilations, as many at a time as there are processors)
# With STRICT_ALL=1 all of them optimise; else what only differs in how it is parsed does not.

cd "$(dirname "$0")/.." || exit 1
work=build/strict
rm -rf "$work"
mkdir -p "$work/jobs"
processors=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

both='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wdouble-promotion -Wshadow -Wcast-qual
-Wcast-align -Wundef -Wvla -Wframe-larger-than=2048 -Werror'
only_c='-Wstrict-prototypes -Wmissing-prototypes'
both=$(echo $both)

# what is only compiled to be parsed, with the least that keeps frames small
lesser=-O1
[ -z "$STRICT_ALL" ] || lesser=-O2

count=0
# job NAME COMMAND: noted, run later. A job fails if its command does, or prints anything.
job() {
    count=$((count + 1))
    printf '%s\n' "$2" >"$work/jobs/$1"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

skip() {
    echo "skipped: $1; needs: apt-get install $2"
}

# everything, with one compiler, language and precision: compile COMMAND NAME FLAGS
compile() {
    command=$1
    name=$2
    o=$work/$name
    job "$name-alone" "$command -DHEADER='\"icf.h\"' -o $o-1.o -c tests/compile/alone.c"
    job "$name-geometry-alone" "$command -DHEADER='\"icf_geometry.h\"' -o $o-2.o -c tests/compile/alone.c"
    job "$name-two-units" "$command -o $o-3.o -c tests/compile/together.c &&
        $command -o $o-4.o -c tests/compile/user.c && $3 -o $o-34 $o-3.o $o-4.o -lm && $o-34"
}

# the same without code, for standards that differ in what they parse: parse COMMAND NAME LINKER
parse() {
    [ -z "$STRICT_ALL" ] || { compile "$1 -O2" "$2" "$3"; return; }
    job "$2-parse" "$1 -fsyntax-only -DHEADER='\"icf.h\"' tests/compile/alone.c &&
        $1 -fsyntax-only tests/compile/together.c && $1 -fsyntax-only tests/compile/user.c"
}

# the other ways to compile the implementation
variants() {
    command=$1
    name=$2
    o=$work/$name
    job "$name-static" "$command -o $o-5.o -c tests/compile/private_a.c &&
        $command -o $o-6.o -c tests/compile/private_b.c && $3 -o $o-56 $o-5.o $o-6.o -lm && $o-56"
    job "$name-hooks" "$command -o $o-7.o -c tests/compile/hooks.c"
    job "$name-no-malloc" "$command -DICF_NO_MALLOC -o $o-8.o -c tests/compile/together.c"
    job "$name-no-world" "$command -DICF_NO_WORLD -o $o-15.o -c tests/compile/together.c"
    job "$name-no-interior" "$command -DICF_NO_INTERIOR_POINT -o $o-14.o -c tests/compile/together.c"
    job "$name-no-simd" "$command -DICF_NO_SIMD -o $o-9.o -c tests/compile/together.c"
    job "$name-separate" "$command -o $o-10.o -c tests/compile/separate.c"
    job "$name-O0" "$command -O0 -o $o-11.o -c tests/compile/together.c"
    job "$name-O3" "$command -O3 -o $o-13.o -c tests/compile/together.c"
    grep -q 'ICF_FMA' icf.h && job "$name-fma" "$command -DICF_FMA -o $o-12.o -c tests/compile/together.c"
}

for real in double float; do
    [ $real = float ] && define=-DICF_FLOAT || define=

    for cc in gcc clang; do
        have $cc || { [ $real = double ] && skip "$cc" "$cc"; continue; }
        compile "$cc -std=c99 -O2 $both $only_c $define -I." "$cc-c99-$real" "$cc"
        for std in c11 c17; do
            parse "$cc -std=$std $both $only_c $define -I." "$cc-$std-$real" "$cc"
        done
        variants "$cc -std=c99 $lesser $both $only_c $define -I." "$cc-c99-$real" "$cc"
    done

    for cc in g++ clang++; do
        package=${cc%++}
        [ $cc = g++ ] && package=g++
        have $cc || { [ $real = double ] && skip "C++ with $cc" "$package"; continue; }
        # clang++ finds the C++ library of g++
        compile "$cc -x c++ -std=c++11 -O2 $both $define -I." "$cc-c++11-$real" "$cc"
        for std in c++17 c++20; do
            parse "$cc -x c++ -std=$std $both $define -I." "$cc-$std-$real" "$cc"
        done
        variants "$cc -x c++ -std=c++11 $lesser $both $define -I." "$cc-c++11-$real" "$cc"
    done

    # Microsoft's branches: compiled only, against the few declarations of tests/compile/msvc
    if have clang-cl-14 && have clang-14; then
        for language in TC TP; do
            for arch in x86_64 i686 aarch64; do
                [ -n "$STRICT_ALL" ] || [ $language$arch = TCx86_64 ] && optimise=/O2 || optimise=/Od
                cl="clang-cl-14 --target=$arch-pc-windows-msvc /c $optimise /W4 /WX /X /$language $define /I. \
-imsvc tests/compile/msvc -imsvc $(clang-14 -print-resource-dir)/include"
                for unit in together private_b separate hooks; do
                    job "clang-cl-$language-$arch-$unit-$real" \
                        "$cl /Fo$work/cl-$language-$arch-$unit-$real.obj tests/compile/$unit.c"
                done
                job "clang-cl-$language-$arch-no-simd-$real" \
                    "$cl /DICF_NO_SIMD /Fo$work/cl-$language-$arch-no-simd-$real.obj tests/compile/together.c"
            done
        done
    elif [ $real = double ]; then
        skip "clang-cl" "clang-14 clang-tools-14"
    fi

    # other compilers and machines: the program of two units, linked and run where it can be
    program() {
        o=$work/$1-$real
        job "$1-$real" "$2 $define -I. -o $o tests/compile/together.c tests/compile/user.c $3"
    }
    object() {
        job "$1-$real" "$2 $define -I. -o $work/$1-$real.o -c tests/compile/together.c"
    }

    if have tcc; then
        program tcc "tcc -Wall" "-lm && $work/tcc-$real"
    elif [ $real = double ]; then skip "tcc" "tcc"; fi

    echo '#include <stdlib.h>
        int main(void) { return 0; }' >"$work/empty.c"
    if have gcc && gcc -m32 -o "$work/empty" "$work/empty.c" 2>/dev/null; then
        warn="-std=c99 -O2 $both $only_c"
        program gcc-m32-x87 "gcc -m32 $warn" "-lm && $work/gcc-m32-x87-$real"
        program gcc-m32-sse "gcc -m32 -msse2 -mfpmath=sse $warn" "-lm && $work/gcc-m32-sse-$real"
    elif [ $real = double ]; then skip "gcc -m32" "gcc-12-multilib (not gcc-multilib)"; fi

    if have x86_64-w64-mingw32-gcc; then
        program mingw "x86_64-w64-mingw32-gcc -std=c99 -O2 $both $only_c" ""
    elif [ $real = double ]; then skip "mingw-w64" "gcc-mingw-w64-x86-64"; fi
    if have x86_64-w64-mingw32-g++; then
        program mingw++ "x86_64-w64-mingw32-g++ -x c++ -std=c++11 -O2 $both" ""
    elif [ $real = double ]; then skip "mingw-w64 for C++" "g++-mingw-w64-x86-64"; fi

    if have aarch64-linux-gnu-gcc; then
        run=
        have qemu-aarch64 && run="&& qemu-aarch64 $work/aarch64-$real"
        program aarch64 "aarch64-linux-gnu-gcc -static -std=c99 -O2 $both $only_c" "-lm $run"
    elif [ $real = double ]; then skip "aarch64" "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"; fi

    if have arm-none-eabi-gcc; then
        arm="arm-none-eabi-gcc -mthumb -std=c99 -O2 -ffreestanding $both $only_c"
        object cortex-m4 "$arm -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
        [ $real = float ] && object cortex-m0 "$arm -mcpu=cortex-m0"
    elif [ $real = double ]; then skip "Cortex-M" "gcc-arm-none-eabi libnewlib-arm-none-eabi"; fi

    if have avr-gcc; then
        # this compiler is of 2015 and warns where newer ones do not: errors only; its double is a float
        [ $real = float ] && object avr "avr-gcc -mmcu=atmega2560 -std=c99 -Os -Wall -Wextra -DICF_NO_MALLOC"
    elif [ $real = double ]; then skip "AVR" "gcc-avr avr-libc"; fi

    if have clang; then
        object wasm32 "clang --target=wasm32 -std=c99 -O2 -ffreestanding -DICF_NO_MALLOC $both $only_c"
        object wasm32-simd "clang --target=wasm32 -msimd128 -std=c99 -O2 -ffreestanding -DICF_NO_MALLOC $both $only_c"
    fi
done

# the test framework without an operating system
if have arm-none-eabi-gcc; then
    job freestanding-arm "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -std=c99 -O2 -ffreestanding -Wall -Wextra \
-Werror -I. -o $work/freestanding-arm.o -c tests/compile/freestanding.c"
fi
if have clang; then
    job freestanding-wasm32 "clang --target=wasm32 -std=c99 -O2 -ffreestanding -Wall -Wextra -Werror -I. \
-o $work/freestanding-wasm32.o -c tests/compile/freestanding.c"
fi

# must fail NAME 'TEXT THAT THE ERROR HOLDS' COMMAND
must_fail() {
    job "$1" "if $3 >$work/$1.text 2>&1; then echo 'compiled, and must not'; exit 1; fi
        grep -q '$2' $work/$1.text || { echo 'another error than expected:'; cat $work/$1.text; exit 1; }"
}

cc=${CC:-cc}
unit=tests/compile/together.c
# a float unit does not link with a double implementation; with a float one it does
job link-float "$cc -O2 -I. -DICF_FLOAT -o $work/link-float tests/compile/user.c $unit -lm && $work/link-float"
must_fail link-mixed 'icf_version_float' \
    "{ $cc -O2 -I. -c -o $work/mixed-1.o $unit && $cc -O2 -I. -DICF_FLOAT -c -o $work/mixed-2.o tests/compile/user.c && \
$cc -o $work/mixed $work/mixed-1.o $work/mixed-2.o -lm; }"
must_fail fast-math-refused 'ICF_ALLOW_FAST_MATH' "$cc -O2 -ffast-math -I. -c -o $work/fast-1.o $unit"
job fast-math-allowed "$cc -O2 -ffast-math -DICF_ALLOW_FAST_MATH -I. -c -o $work/fast-2.o $unit"
must_fail malloc-without-free 'ICF_FREE' "$cc '-DICF_MALLOC(x)=0' -I. -c -o $work/half-1.o $unit"
must_fail free-without-malloc 'ICF_MALLOC' "$cc '-DICF_FREE(x)=0' -I. -c -o $work/half-2.o $unit"
must_fail sqrt-without-fabs 'ICF_FABS' "$cc '-DICF_SQRT(x)=(x)' -I. -c -o $work/half-3.o $unit"

ls "$work/jobs" | xargs -P "$processors" -I '{}' sh -c '
    sh "$1/jobs/$2" >"$1/$2.log" 2>&1 && [ ! -s "$1/$2.log" ] || echo "$2" >"$1/$2.failed"' sh "$work" '{}'

failures=$(find "$work" -name '*.failed' | wc -l)
for f in "$work"/*.failed; do
    [ -f "$f" ] || continue
    name=$(cat "$f")
    echo "FAILED: $name"
    echo "  $(cat "$work/jobs/$name")"
    head -n 20 "$work/$name.log"
done
echo "strict: $((count - failures)) of $count builds ok"
[ "$failures" -eq 0 ] && [ "$count" -gt 0 ]
