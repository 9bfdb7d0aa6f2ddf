#!/bin/sh
# What the implementation leaves in an object file: no data, no name but its own, nothing called that is
# not libc, libm or the compiler's runtime, and no allocator under ICF_NO_MALLOC. Needs nm (binutils).

cd "$(dirname "$0")/.." || exit 1
cc=${CC:-cc}
failed=0
mkdir -p build
object=build/symbols.o
command -v nm >/dev/null 2>&1 || { echo "skipped: symbols; needs: apt-get install binutils"; exit 0; }

wrong() {
    echo "symbols, $name: $*"
    failed=1
}

# look NAME FLAGS
look() {
    name=$1
    shift
    $cc -O2 -I. "$@" -c -o $object tests/compile/together.c || { wrong "does not compile"; return; }
    nm -P $object >build/symbols.txt

    data=$(awk '$2 ~ /^[bBcCdDgGsSuvV]$/ { print $1 }' build/symbols.txt)
    [ -z "$data" ] || wrong "data of its own:" $data

    # __*: the compiler's runtime
    called=$(awk '$2 ~ /^[Uw]$/ { print $1 }' build/symbols.txt |
        grep -vxE 'sqrtf?|fabsf?|memcpy|memset|memmove|memcmp|_GLOBAL_OFFSET_TABLE_|__.*')
    case " $* " in
    *ICF_NO_MALLOC*) ;;
    *) called=$(echo "$called" | grep -vxE 'malloc|free') ;;
    esac
    [ -z "$called" ] || wrong "calls $(echo $called)"

    case " $* " in
    *ICF_FLOAT*) own='icfi?_[a-z0-9_]*_float' ;;
    *) own='icfi?_[a-z0-9_]*' ;;
    esac
    defined=$(awk '$2 ~ /^[TWR]$/ { print $1 }' build/symbols.txt)
    foreign=$(echo "$defined" | grep -vxE "$own")
    [ -z "$foreign" ] || wrong "defines $(echo $foreign)"
    case " $* " in
    *ICF_FLOAT*) ;;
    *) foreign=$(echo "$defined" | grep '_float$')
        [ -z "$foreign" ] || wrong "defines $(echo $foreign)" ;;
    esac
    [ -n "$defined" ] || wrong "defines nothing"
}

look double
look float -DICF_FLOAT
look "double without malloc" -DICF_NO_MALLOC
look "float without malloc" -DICF_FLOAT -DICF_NO_MALLOC
look "double without SIMD" -DICF_NO_SIMD
look "double without the world" -DICF_NO_WORLD
look "double at -O0" -O0

# ICF_STATIC leaves no name at all
name=static
$cc -O2 -I. -DICF_STATIC -c -o $object tests/compile/together.c || wrong "does not compile"
nm -P $object | awk '$2 ~ /^[A-TV-Z]$/ { print $1 }' | grep . && wrong "defines a global name"

[ $failed -eq 0 ] && echo "symbols: ok"
exit $failed
