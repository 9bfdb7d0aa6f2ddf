#!/usr/bin/env python3
"""Checks the sections of both headers, which begin at the >>marks: tests/check_sections.py [--write]

  length   none is longer than 1500 lines
  offers   each opens with a list of the private names that later sections use; --write writes these lists
  order    none uses a private name that only a later section defines
  types    no type stands alone on a line, as clang-format leaves it where a comment is too long
"""

import pathlib, re, sys, textwrap

HEADERS = ["icf.h", "icf_geometry.h"]
LONGEST = 1500
OFFERS = re.compile(r"/\* Offers .*?\*/\n", re.S)
DEFINITIONS = [re.compile(pattern, re.M) for pattern in [
    r"^(?:static|extern|ICFI_\w+)[^;={]*?\b(icfi_\w+)\(",         # a function
    r"^(?:static|extern|ICFI_\w+)[^;={]*?ICFI_K\((icfi_\w+)\)\(",  # one for each width of vectors
    r"^static const [\w ]*?(icfi_\w+)\b[^(]*?=",                   # a constant
    r"^\} (icfi_\w+);", r"^typedef [^{}]*?(icfi_\w+)[^{}\n]*;",    # a type
    r"^struct (icfi_\w+) \{",
    r"^ *# *define (ICFI_\w+)"]]
ALONE = re.compile(r"^\s+(static |const |unsigned )*(int|u?int(8|16|32|64)_t|size_t|double|float|char|void|icfi?_\w+)\*{0,2}$")


def sections(text):
    """name, its lines from the mark on, and where it begins"""
    marks = list(re.finditer(r"^// >>([a-z-]+)\n", text, re.M))
    for mark, after in zip(marks, marks[1:] + [None]):
        end = after.start() if after else len(text)
        if after:  # the rule and the title above the next mark are the next section's
            end = text.rindex("// ----", 0, end)
        yield mark.group(1), text[mark.end():end], text.count("\n", 0, mark.start()) + 1


def bare(text):
    """without comments and strings"""
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\\n])*\"", " ", text, flags=re.S)


def main():
    write = "--write" in sys.argv
    wrong, code, where = [], [], {}
    for header in HEADERS:
        text = pathlib.Path(header).read_text()
        for number, line in enumerate(text.split("\n"), 1):
            if ALONE.match(line):
                wrong.append(f"{header}:{number}: a type alone on its line")
        for name, body, begin in sections(text):
            if body.count("\n") + 1 > LONGEST:
                wrong.append(f"{header}: >>{name} has {body.count(chr(10)) + 1} lines, over {LONGEST}")
            code.append((header, name, bare(body)))
    for at, (header, name, body) in enumerate(code):
        for pattern in DEFINITIONS:
            for found in pattern.findall(body):
                where.setdefault(found, at)
    offers = [set() for _ in code]
    for at, (header, name, body) in enumerate(code):
        for used in set(re.findall(r"\bicfi_\w+|\bICFI_\w+", body)):
            if used not in where:
                continue
            if where[used] < at:
                offers[where[used]].add(used)
            elif where[used] > at and not used.isupper():
                wrong.append(f"{header}: >>{name} uses {used}, which >>{code[where[used]][1]} defines below")
    for header in HEADERS:
        text = path_text = pathlib.Path(header).read_text()
        for at, (of, name, body) in enumerate(code):
            if of != header or name.startswith("api-") or name == "licence":
                continue
            listed = ""
            if offers[at]:
                names = sorted(offers[at], key=str.lower)
                listed = textwrap.fill("/* Offers to those below: " + ", ".join(names) + " */", 108,
                                       subsequent_indent="   ", break_on_hyphens=False) + "\n"
            mark = f"// >>{name}\n"
            start = text.index(mark) + len(mark)
            old = OFFERS.match(text, start)
            if (old.group(0) if old else "") != listed:
                if not write:
                    wrong.append(f"{header}: >>{name} does not open with what it offers: "
                                 "tests/check_sections.py --write")
                text = text[:start] + listed + text[old.end() if old else start:]
        if write and text != path_text:
            pathlib.Path(header).write_text(text)
    for line in wrong:
        print(line)
    if not wrong:
        print(f"sections: {len(code)}, none over {LONGEST} lines, each opens with what it offers")
    return bool(wrong)


sys.exit(main())
