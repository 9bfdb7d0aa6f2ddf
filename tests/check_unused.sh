#!/bin/sh
# Every function of the two headers whose answer says how it went has that answer looked at, or thrown
# away in so many words, (void): one that was not once left a direction unwritten, and a step read memory
# that nobody had filled. Clang warns of it when such functions are marked; gcc warns of (void) as well.
set -eu
cd "$(dirname "$0")/.."
if ! command -v clang >/dev/null; then
    echo "skipped: unused answers; needs: apt-get install clang"
    exit 0
fi
mkdir -p build/unused
mark='__attribute__((warn_unused_result))'
for header in icf.h icf_geometry.h; do
    sed -E "s/^((ICFI_[A-Z]+ )*static (ICFI_[A-Z]+ |inline )*(icf_result|int) icfi?_)/$mark \1/
            s/^((ICFI_[A-Z]+ )+(icf_result|int) icfi_)/$mark \1/
            s/^(ICF_API icf_result)/$mark \1/" "$header" >"build/unused/$header"
done
marked=$(cat build/unused/icf.h build/unused/icf_geometry.h | grep -cF "$mark")
if [ "$marked" -lt 300 ]; then
    echo "only $marked functions are marked: the pattern in $0 has lost them"
    exit 1
fi
printf '#define ICF_IMPLEMENTATION\n#include "icf_geometry.h"\n' >build/unused/all.c
for define in '' -DICF_FLOAT -DICF_NO_INTERIOR_POINT -DICF_NO_MALLOC -DICF_NO_WORLD; do
    clang -std=c99 -fsyntax-only -Werror=unused-result -Ibuild/unused $define build/unused/all.c
done
echo "unused answers: none, of $marked functions"
