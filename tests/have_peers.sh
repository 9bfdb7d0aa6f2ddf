#!/bin/sh
# Is what bench/peers/X_peers.cc needs installed? tests/have_peers.sh FILE FLAGS... -lLIBRARY...
# Only preprocesses the file and links an empty program, so that a mistake in the file is an error of the
# build and not taken for a missing package.

file=$1
shift
mkdir -p build
probe=build/probe.$$
trap 'rm -f "$probe" "$probe.cc"' EXIT
echo 'int main() { return 0; }' >"$probe.cc"
${CXX:-c++} "$@" -E "$file" >/dev/null 2>&1 && ${CXX:-c++} -o "$probe" "$probe.cc" "$@" >/dev/null 2>&1
