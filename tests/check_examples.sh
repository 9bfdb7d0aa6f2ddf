#!/bin/sh
# Runs the examples that make has built, in double and float, and compares their last line with the one
# that their first comment promises ("Its last line: ..."). Then builds and runs, as a reader would, the
# program in README.md, whose output stands below it, and those at the top of the headers.

cd "$(dirname "$0")/.." || exit 1
cc=${CC:-cc}
failed=0
flags=

wrong() {
    echo "examples: $1"
    failed=1
}

for name in "$@"; do
    promised=$(sed -n 's/ *\*\/$//; s/^ *Its last line: //p' "examples/$name.c")
    [ -n "$promised" ] || wrong "$name.c does not say what its last line is"
    for program in "$name" "${name}_float"; do
        output=$("build/$program") || wrong "$program ended with code $?"
        last=$(printf '%s\n' "$output" | tail -n 1)
        [ "$last" = "$promised" ] || wrong "$program ends with '$last', and not with '$promised'"
    done
done

# try WHAT: builds and runs build/reader/main.c
try() {
    cp icf.h icf_geometry.h build/reader/
    [ -s build/reader/main.c ] || { wrong "no program found in $1"; return; }
    (cd build/reader && $cc $flags main.c -lm && ./a.out >output) || { wrong "the program in $1 fails"; return; }
    [ -s build/reader/output ] || wrong "the program in $1 prints nothing"
}

rm -rf build/reader
mkdir -p build/reader
awk '/^```c$/ { on = 1; next } /^```/ && on { exit } on' README.md >build/reader/main.c
try README.md
awk '/^```c$/ { program = 1 } program && /^```text$/ { on = 1; next } /^```/ && on { exit } on' \
    README.md >build/reader/promised
diff build/reader/promised build/reader/output || wrong "README.md promises another output"

# every program of a manual
for header in icf.h icf_geometry.h; do
    programs=$(grep -c '^   A complete program' $header)
    [ "$programs" -gt 0 ] || wrong "$header shows no program"
    number=1
    while [ $number -le "$programs" ]; do
        awk -v wanted=$number '/^   A complete program/ { n++; on = n == wanted; next }
             on && /^   [^ ]/ { exit }
             on { sub(/^       /, ""); print }' $header >build/reader/main.c
        try "$header, program $number"
        number=$((number + 1))
    done
    # the last of icf.h is an engine of the reader's own
    [ $header = icf.h ] && flags=-DICF_NO_WORLD && try "$header, the last program, without the world"
    flags=
done

[ $failed -eq 0 ] && echo "examples, README.md and the manuals' programs: ok"
exit $failed
