#!/usr/bin/env python3
"""Seeds faults into the implementation of both headers, and sees whether the tests find them.

    python3 tests/mutate.py [--count 200] [--seed 1] [--only SECTION] [--list] [--all] [--jobs N]

A fault is one changed line within a function; sections (the >>marks) get as many as they have lines of code.
Each is compiled in double with -O1 and meets the tests of its section, the fastest first, until one fails,
crashes or takes too long. A fault that does not compile, or gives the same object code (what only other builds
compile does), is drawn again. All happens in copies under build/mutate; survivors.txt there has what no test
found, as diffs that patch -p0 or git apply -p0 take one by one.

tests/mutants_explained.txt lists survivors that change nothing that is promised, in four lines each, with an
empty one after: the header, "- " and the line, "+ " and the line with the fault, and why nothing need find it.
"""

import argparse, difflib, os, pathlib, queue, random, re, shutil, subprocess, time
from concurrent.futures import ThreadPoolExecutor

HEADERS = ["icf.h", "icf_geometry.h"]
SOLVER = ("test_refusals test_solver test_laws test_workspace test_convergence test_bad_problems test_golden "
          "test_interior test_regressions")
SPARSE = "test_sparse test_regressions"
WORLD = "test_refusals test_saved test_world test_trees test_loops test_scenes test_poison"
SCENE = "test_refusals test_saved test_scene test_clutter test_broad_phase"
SHAPES = "test_refusals test_shapes test_manifolds test_scene test_clutter"
TESTS_OF = {
    "config": "test_config test_solver",
    "memory": "test_memory test_sparse test_world",
    "dense": "test_refusals test_dense test_sparse",
    "sparse-pattern": SPARSE, "sparse-factor": SPARSE,
    "potentials": "test_potentials test_recipe " + SOLVER,
    "problem": SOLVER, "evaluation": SOLVER, "newton": SOLVER, "interior": "test_cones " + SOLVER, "solve": SOLVER, "text": SOLVER,
    "sensitivities": "test_refusals test_sensitivities",
    "world-state": WORLD, "trees": WORLD, "world-problem": WORLD, "step": WORLD, "bodies": WORLD,
    "world-calls": WORLD,
    "shapes": SHAPES, "boxes": SHAPES, "measures": SHAPES, "manifolds": SHAPES,
    "broad-phase": "test_refusals test_broad_phase test_scene test_clutter",
    "scene": SCENE, "detection": SCENE, "scene-calls": SCENE,
}
ALL_TESTS = sorted(set(" ".join(TESTS_OF.values()).split()))
COMPILE = [os.environ.get("CC", "cc"), "-O1", "-w"]
WORK = pathlib.Path("build/mutate").resolve()
ORIGINAL = WORK / "original"
LIMIT = 20  # seconds that a test has at least; it has five times what it takes without a fault

# ---- the faults of a line. `code` is the line with blanks for comments and strings, of the same length

SWAPS = [(kind, pattern, dict(zip(old.split(), new.split()))) for kind, pattern, old, new in [
    ("comparison", r"(?<= )(<=|>=|==|!=|<|>)(?= |$)", "< <= > >= == !=", "<= < >= > != =="),
    ("plus, minus", r"(?<= )(\+|-|\+=|-=)(?= |$)", "+ - += -=", "- + -= +="),
    ("times, by", r"(?<= )(\*|/|\*=|/=)(?= |$)", "* / *= /=", "/ * /= *="),
    ("and, or", r"(?<= )(&&|\|\|)(?= |$)", "&& ||", "|| &&"),
    ("not", r"!(?=[\w(])", "", ""),
    ("min, max", r"(?<=icfi_)(max|min|g(most|least)2?)(?=\()", "max min gmost gmost2 gleast gleast2",
     "min max gleast gleast2 gmost gmost2"),
    ("component", r"(?<=\.)[wxyz]\b", "w x y z", "x y z x"),
    ("jump deleted", r"\b(break|continue)(?=;)", "", ""),
]]
DECLARATION = re.compile(r"\s*(?!return|else|goto|case)((static|const|unsigned|struct) )*"
                         r"[a-z]\w*\*? (const )?\**\w+(\[[^]]*\])*\s*[,;=]")
STATEMENT = re.compile(r"\s*(\**\(?[A-Za-z_][^ =;]*( [-+*/|&^]?= [^;]*|\+\+|--|\([^;]*\)));\s*$")
RETURNS = re.compile(r"[\w ]*\b(icf_result|int|int32_t|bool) \w+\(")


def faults_of(line, code, before, head):
    """Every fault of a line, its kind and the line with it; before: the code above; head: of the function"""
    faults = []
    declares = DECLARATION.match(code)
    begin = len(code.split(" = ")[0]) if declares else 0  # of a declaration, what is right of = changes

    def add(kind, match, text, group=0):
        start, end = match.span(group)
        if start >= begin:
            faults.append((kind, line[:start] + text + line[end:]))

    if "ICF_ASSERT" in code or "ICFI_POISON" in code:
        return faults
    for kind, pattern, swap in SWAPS:
        for m in re.finditer(pattern, code):
            add(kind, m, swap.get(m.group(), ""))
    for m in re.finditer(r"(?<![\w.])\d+(?![\w.])", code):
        n = int(m.group())
        for other in {0: [1], 1: [0, 2], 2: [1, 3]}.get(n, [n + 1, 2 * n]):
            add("constant", m, str(other))
    for m in re.finditer(r"\bICF_R\([^()]*\)", code):
        add("constant", m, "(2 * %s)" % m.group())
    for m in re.finditer(r"\[([^][]+)\]", code):
        add("index", m, m.group(1) + " + 1", 1)
        add("index", m, m.group(1) + " - 1", 1)
    m, returns = re.search(r"\breturn ([^;]+);", code), RETURNS.match(head)
    if m and returns and m.group(1) != "0":
        add("return", m, "0" if returns.group(1) in ("icf_result", "int32_t") else "!(%s)" % m.group(1), 1)
    m = STATEMENT.match(code)
    if m and not declares and (before[-1] in ";{}:)" or before.endswith("else")):
        add("statement deleted", m, "", 1)
    return faults


def blank(text):
    """Blanks for comments, strings and preprocessor lines."""
    def wipe(m):
        return re.sub(r"[^\n]", " ", m.group())
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'', wipe, text, flags=re.S)
    return re.sub(r"^[ \t]*#([^\n]*\\\n)*[^\n]*", wipe, text, flags=re.M)


def candidates(header):
    """(section, number, faults) of every line of code within a function"""
    text = pathlib.Path(header).read_text()
    section, inside, head, before = "", False, "", ";"
    for number, (line, code) in enumerate(zip(text.split("\n"), blank(text).split("\n")), 1):
        if re.match(r"// >>[a-z-]+$", line):
            section = line[5:]
        inside = inside and not code.startswith("}")
        if inside and code.strip() and section in TESTS_OF:
            yield section, number, faults_of(line, code, before, head)
        if re.match(r"[A-Za-z]\w* .*\(", code):
            head = code
        inside = inside or code == "{"
        before = code.strip() or before


def draw(options):
    """A list for each fault to be tried: it, and what takes its place if it does not count"""
    lines, faults, draws = {}, {}, []
    for header in HEADERS:
        for section, number, some in candidates(header):
            if options.only not in (None, section):
                continue
            lines[section] = lines.get(section, 0) + 1
            if some:
                chance = random.Random("%d %s %d" % (options.seed, header, number))
                kind = chance.choice(sorted({f[0] for f in some}))
                changed = chance.choice([f[1] for f in some if f[0] == kind])
                faults.setdefault(section, []).append((header, number, section, kind, changed))
    share = {s: options.count * n / sum(lines.values()) for s, n in lines.items()}
    quota = {s: int(x) for s, x in share.items()}
    for s in sorted(share, key=lambda s: quota[s] - share[s])[:options.count - sum(quota.values())]:
        quota[s] += 1
    for section, count in quota.items():
        here = faults.get(section, [])
        random.Random("%d %s" % (options.seed, section)).shuffle(here)
        draws += [here[k::count] for k in range(min(count, len(here)))]
    random.Random(options.seed).shuffle(draws)
    return draws


# ---- what is compiled and run, each in a tree, a copy of all files

def compiles(tree, output, *arguments):
    return not subprocess.run([*COMPILE, *arguments, "-o", output], cwd=tree, stderr=subprocess.DEVNULL).returncode


def own(test):
    """Whether it holds its own implementation"""
    return re.search(r"^#define ICF_IMPLEMENTATION", pathlib.Path("tests/%s.c" % test).read_text(), re.M)


def build(test, tree):
    """Linked as the Makefile does it"""
    compiled = "tests/%s.c" % test if own(test) else str(ORIGINAL / (test + ".o"))
    return compiles(tree, test, compiled, *([] if own(test) else ["implementation.o"]), "-lm")


def failure(test, tree, seconds):
    """None if it passes, and how it did not"""
    limited = ["sh", "-c", 'ulimit -v 8000000; exec "./$0"', test]
    try:
        code = subprocess.run(limited, cwd=tree, timeout=seconds, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except subprocess.TimeoutExpired:
        return test + ", out of time"
    return None if code == 0 else test if code == 1 else "%s, code %d" % (test, code)


def prepare(test):
    """The seconds that building and running a test take without a fault, and that a run may take"""
    if not own(test):
        compiles(ORIGINAL, test + ".o", "-DTEST_LINKED", "-c", "tests/%s.c" % test)
    start = time.time()
    if not build(test, ORIGINAL):
        raise SystemExit("%s does not compile" % test)
    built = time.time()
    failed = failure(test, ORIGINAL, 600)
    if failed:
        raise SystemExit("%s, without a fault" % failed)
    ended = time.time()
    return ended - start, max(LIMIT, 5 * (ended - built))


def meet(fault, tree, seconds, everything):
    """Who finds a fault; None if nobody does, "" if it does not count"""
    header, number, section, kind, changed = fault
    lines = (ORIGINAL / header).read_text().split("\n")
    lines[number - 1] = changed
    (tree / header).write_text("\n".join(lines))
    try:
        if not compiles(tree, "implementation.o", "-c", "tests/implementation.c"):
            return ""
        if (tree / "implementation.o").read_bytes() == (ORIGINAL / "implementation.o").read_bytes():
            return ""
        near = TESTS_OF[section].split()
        for test in sorted(seconds, key=lambda t: (t not in near, seconds[t])):
            if test in near or everything:
                found = failure(test, tree, seconds[test][1]) if build(test, tree) else test
                if found:
                    return found
        return None
    finally:
        shutil.copy(ORIGINAL / header, tree / header)


def explained():
    path = pathlib.Path("tests/mutants_explained.txt")
    blocks = [b.split("\n") for b in re.split(r"\n\s*\n", path.read_text().strip())] if path.exists() else []
    return {(b[0], b[1][2:].strip(), b[2][2:].strip()) for b in blocks if len(b) > 3}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200, help="how many faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="SECTION", choices=sorted(TESTS_OF), help="faults of one section")
    parser.add_argument("--list", action="store_true", help="what is drawn first; nothing is compiled")
    parser.add_argument("--all", action="store_true", help="what its section's tests miss meets every other test")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print("%d faults, seed %d" % (options.count, options.seed), flush=True)
    draws, known, fates = draw(options), explained(), []
    original = {h: pathlib.Path(h).read_text().split("\n") for h in HEADERS}

    def show(number, fault, fate):
        header, at, section, kind, changed = fault
        print("%3d  %-21s %-13s %-17s  %-28s | %s" % (number, "%s:%d" % (header, at), section, kind, fate,
              (original[header][at - 1] if "deleted" in kind else changed).strip()), flush=True)

    if options.list:
        for number, faults in enumerate(draws, 1):
            show(number, faults[0], "")
        return

    shutil.rmtree(WORK, ignore_errors=True)
    trees = queue.Queue()
    for name in ["original"] + list(range(options.jobs)):
        shutil.copytree(".", WORK / str(name), ignore=shutil.ignore_patterns("build", ".git"))
        if name != "original":
            trees.put(WORK / str(name))
    (WORK / "survivors.txt").write_text("")
    compiles(ORIGINAL, "implementation.o", "-c", "tests/implementation.c")
    names = ALL_TESTS if options.all else sorted({t for d in draws for t in TESTS_OF[d[0][2]].split()})

    def one(number, faults):
        tree = trees.get()
        for fault in faults:
            found = meet(fault, tree, seconds, options.all)
            if found != "":
                break
        trees.put(tree)
        header, at, section, kind, changed = fault
        old = original[header]
        if found:
            fate = "caught"
        elif found is None:
            fate = "explained" if (header, old[at - 1].strip(), changed.strip()) in known else "survived"
        else:
            fate = "not drawn"
        if fate == "survived":
            diff = difflib.unified_diff(old, old[:at - 1] + [changed] + old[at:], header, header, lineterm="")
            with open(WORK / "survivors.txt", "a") as out:
                out.write("%d: %s:%d, %s, %s\n%s\n\n" % (number, header, at, section, kind, "\n".join(diff)))
        fates.append((section, fate))
        show(number, fault, "caught by " + found if found else fate.upper())

    with ThreadPoolExecutor(options.jobs) as pool:
        seconds = dict(zip(names, pool.map(prepare, names)))
        list(pool.map(one, range(1, len(draws) + 1), draws))

    print("\n%-14s %9s %9s %9s" % ("section", "caught", "explained", "survived"))
    for section in list(dict.fromkeys(d[0][2] for d in draws)) + ["all"]:
        count = [sum(s == section or section == "all" for s, f in fates if f == fate)
                 for fate in ("caught", "explained", "survived")]
        print("%-14s %9d %9d %9d" % (section, *count))
    print("of those that are not explained:")
    print("figure mutants_caught %.1f %%" % (100 * count[0] / max(1, count[0] + count[2])))


if __name__ == "__main__":
    main()
