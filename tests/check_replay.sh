#!/bin/sh
# examples/replay.h: that it holds the page of examples/replay_player.html, compiles without a warning as C
# and C++ in double and float, writes what it recorded within the size it promises, and that the page works
# in a browser: tests/check_replay.mjs, which leaves pictures in build/replay/. That part needs chromium,
# node, and playwright-core in the folder PLAYWRIGHT, default build/playwright:
#     apt-get install chromium nodejs npm
#     npm install --prefix build/playwright playwright-core

cd "$(dirname "$0")/.." || exit 1
cc=${CC:-cc}
cxx=${CXX:-c++}
failed=0
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wdouble-promotion -Wshadow -Wcast-qual
-Wcast-align -Wundef -Wvla -Werror'
warnings=$(echo $warnings)
out=build/replay
mkdir -p $out

wrong() {
    echo "replay: $*"
    failed=1
}

sh examples/replay_embed.sh --print | cmp -s - examples/replay.h ||
    wrong "replay.h does not hold replay_player.html; run: sh examples/replay_embed.sh"

for real in double float; do
    [ $real = float ] && define=-DICF_FLOAT || define=
    $cc -std=c99 -O2 $warnings -Wstrict-prototypes $define -o $out/check_$real tests/check_replay.c -lm ||
        wrong "does not compile in $real"
    if command -v "${cxx%% *}" >/dev/null 2>&1; then
        $cxx -x c++ -std=c++11 -fsyntax-only $warnings $define tests/check_replay.c ||
            wrong "does not compile as C++ in $real"
    fi
    $out/check_$real $out/$real.html >$out/$real.txt || wrong "writes nothing in $real"
done
$out/check_double $out/every.html 36 4 3 >$out/every.txt || wrong "writes nothing of every third step"

# 10 s of 100 bodies that touch, 60 frames a second
$out/check_double $out/large.html 100 10 >$out/large.txt || wrong "writes nothing of 100 bodies"
bytes=$(sed -n 's/^bytes //p' $out/large.txt)
[ "$bytes" = "$(wc -c <$out/large.html | tr -d ' ')" ] || wrong "says $bytes bytes, which is not so"
[ "${bytes:-9999999}" -lt 5000000 ] || wrong "100 bodies take $bytes bytes"
$out/check_double no/such/folder.html >/dev/null && wrong "does not notice that it cannot write"

chrome=${CHROME:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
modules=${PLAYWRIGHT:-build/playwright}
if [ -z "$chrome" ] || ! command -v node >/dev/null 2>&1; then
    echo "skipped: the replay in a browser; needs: apt-get install chromium nodejs"
elif [ ! -d "$modules/node_modules/playwright-core" ]; then
    echo "skipped: the replay in a browser; needs: npm install --prefix build/playwright playwright-core"
else
    CHROME=$chrome PLAYWRIGHT=$modules node tests/check_replay.mjs $out || failed=1
fi

[ $failed -eq 0 ] && echo "replay: ok"
exit $failed
