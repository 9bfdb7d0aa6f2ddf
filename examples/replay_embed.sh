#!/bin/sh
# Puts examples/replay_player.html at the end of examples/replay.h, without indentation, comment lines and
# empty ones. With --print it only prints what replay.h should be.

cd "$(dirname "$0")" || exit 1

replay() {
    sed '/^\/\/ clang-format off$/q' replay.h
    echo 'static inline const char* const* replay_page(void)'
    echo '{'
    echo '    static const char* const page[] = {'
    sed -e 's/^ *//' -e '/^\/\//d' -e '/^$/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/        "&\\n",/' \
        replay_player.html
    echo '        NULL'
    echo '    };'
    echo '    return page;'
    echo '}'
    echo '// clang-format on'
    echo
    echo '#endif'
}

if [ "$1" = --print ]; then
    replay
else
    replay >replay.h.new && mv replay.h.new replay.h
fi
