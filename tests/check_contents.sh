#!/bin/sh
# Checks of the headers that no compiler makes; needs sh and awk. tests/check_contents.sh
#
#   contents   the >>marks of the CONTENTS list and of the banners are the same, in the same order
#   renames    every function declared ICF_API has its float name in the #ifdef ICF_FLOAT list, and is
#              defined; every name there is declared; every ICF_API definition has a declaration
#   literals   a floating constant stands in ICF_R(...) or directly after (double); none has a suffix
#   options    every ICF_ macro that an #if asks about is listed in OPTIONS, and the other way round
#   columns    no line is longer than 110 characters; no tabs, no blanks at the end
#   sections   tests/check_sections.py, where there is a python3

failed=0
work=${TMPDIR:-/tmp}/icf-contents.$$
mkdir -p "$work" || exit 1
trap 'rm -rf "$work"' EXIT

wrong() {
    echo "$1"
    failed=1
}

# $1 and $2 are files that must agree; $3 says what they are
same() {
    diff "$1" "$2" >"$work/diff" || { wrong "$3 (< $4, > $5)"; grep '^[<>]' "$work/diff"; }
}

# the header without comments and string constants, line by line
strip() {
    awk '{
        out = ""
        while (length($0)) {
            if (inside) {
                at = index($0, "*/")
                if (!at) { $0 = ""; break }
                $0 = substr($0, at + 2); inside = 0; out = out " "
            } else if (match($0, /\/\*|\/\/|"([^"\\]|\\.)*"|'"'"'([^'"'"'\\]|\\.)'"'"'/)) {
                token = substr($0, RSTART, RLENGTH)
                out = out substr($0, 1, RSTART - 1)
                $0 = substr($0, RSTART + RLENGTH)
                if (token == "//") $0 = ""
                else if (token == "/*") inside = 1
                else out = out "\"\""
            } else { out = out $0; $0 = "" }
        }
        print out
    }' "$1"
}

for header in icf.h icf_geometry.h; do
    [ -s "$header" ] || { wrong "$header: missing"; continue; }
    strip "$header" >"$work/code"

    # ---- contents
    awk '/^   CONTENTS/ { on = 1; next } on && /^   [A-Z]/ { exit }
         on && match($0, />>[a-z-]+/) { print substr($0, RSTART, RLENGTH) }' "$header" >"$work/contents"
    sed -n 's/^\/\/ \(>>[a-z-]*\)$/\1/p' "$header" >"$work/banners"
    [ -s "$work/contents" ] || wrong "$header: no CONTENTS list"
    same "$work/contents" "$work/banners" "$header: CONTENTS and banners differ" CONTENTS banners
    awk -v header="$header" '
        /^\/\/ -----/ { rule = NR }
        /^\/\/ >>/ && (!rule || NR - rule > 12) { print header ":" NR ": no rule above the banner"; bad = 1 }
        END { exit bad }' "$header" || failed=1

    # ---- renames
    # the name before the first bracket, of declarations and of definitions
    awk '
        /^ICF_API / { text = ""; on = 1 }
        on { text = text " " $0 }
        on && /[;{]/ {
            on = 0
            name = text
            sub(/\(.*/, "", name)
            sub(/.*[^A-Za-z0-9_]/, "", name)
            print (text ~ /;/ && text !~ /\{/) ? "declared" : "defined", name
        }' "$work/code" >"$work/functions"
    sed -n 's/^declared //p' "$work/functions" | sort >"$work/declared"
    sed -n 's/^defined //p' "$work/functions" | sort >"$work/defined"
    sed -n 's/^#define \(icf_[a-z0-9_]*\) \1_float$/\1/p' "$work/code" | sort >"$work/renamed"
    same "$work/declared" "$work/renamed" "$header: declarations and float names differ" declared renamed
    sort -u "$work/declared" | diff - "$work/declared" >/dev/null || wrong "$header: declared twice"
    # a definition may leave ICF_API out
    while read -r name; do
        grep -qx "$name" "$work/declared" || wrong "$header: $name is defined but not declared"
    done <"$work/defined"
    while read -r name; do
        awk -v name="$name" '
            $0 ~ "^[a-zA-Z].*[^A-Za-z0-9_]" name "\\(" { on = 1 }
            on && /;/ { on = 0 }
            on && /^\{/ { found = 1 }
            END { exit !found }' "$work/code" || wrong "$header: $name is declared but not defined"
    done <"$work/declared"

    # ---- literals
    awk -v header="$header" '
        /^[ \t]*#[ \t]*(error|include)/ { next }
        {
            rest = $0; before = ""; last = ""
            while (match(rest, /[A-Za-z_][A-Za-z_0-9]*|\.?[0-9]([eEpP][+-]|[A-Za-z0-9_.])*|[^ \t]/)) {
                token = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
                hex = token ~ /^0[xX]/
                if (token ~ /^\.?[0-9]/ && (token ~ /\./ || (!hex && token ~ /[eEfF]/) || (hex && token ~ /[pP]/))) {
                    if (token ~ /[fFlL]$/) why = "has a suffix"
                    else if (before ~ /ICF_R\(-?$/ || before ~ /\(double\)-?$/) why = ""
                    else why = "is not in ICF_R(...)"
                    if (why) { print header ":" NR ": the constant " token " " why; bad = 1 }
                }
                before = before token
            }
        }
        END { exit bad }' "$work/code" || failed=1

    # ---- options
    awk '/^   OPTIONS/ { on = 1; next } on && /^   [A-Z]/ && !/^   Macros|^   All/ && /^   [A-Z ]+$/ { exit }
         on && match($0, /^       ICF_[A-Z0-9_]+/) { print substr($0, RSTART + 7, RLENGTH - 7) }' "$header" >>"$work/listed"
    awk '/^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)/ { on = 1 }
         on {
            rest = $0
            while (match(rest, /[A-Za-z_][A-Za-z_0-9]*/)) {
                name = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
                if (name ~ /^ICF_/ && name !~ /_DONE$|^ICF_H$|^ICF_GEOMETRY_H$/) print name
            }
            on = $0 ~ /\\$/
         }' "$work/code" >>"$work/asked"

    # ---- columns
    awk -v header="$header" '
        length($0) > 110 { print header ":" NR ": " length($0) " columns"; bad = 1 }
        /\t| $/ { print header ":" NR ": a tab, or a blank at the end"; bad = 1 }
        END { exit bad }' "$header" || failed=1
done

sort -u "$work/listed" >"$work/options"
sort -u "$work/asked" >"$work/used"
same "$work/options" "$work/used" "OPTIONS and the macros asked about differ" OPTIONS asked

if command -v python3 >/dev/null; then
    python3 tests/check_sections.py || failed=1
else
    echo "skipped: sections; needs: apt-get install python3"
fi

[ $failed -eq 0 ] && echo "contents, renames, literals, options, columns: ok"
exit $failed
