#!/usr/bin/env python3
# gates.py - every gate of tools/check passes a clean tree and finds a planted fault.
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["RONDO_SOURCE"])

CLEAN = {
    "README.md": "# x\n",
    "CONTRIBUTING.md": "# x\n",
    "CHANGELOG.md": "# x\n",
    "LICENSE": "x\n",
    "ARCHITECTURE.md": "src/algos src/base\n",
    "include/rondo/x.h": (
        "/* x.h - a header. */\n#ifndef RONDO_X_H\n#define RONDO_X_H\n\n#ifdef __cplusplus\n"
        'extern "C" {\n#endif\n\n/* rondo_x_do - does it. */\nRONDO_API int\n'
        "rondo_x_do(int value);\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"),
    "src/base/x.c": (
        "/* x.c - a file. */\n#include <rondo/x.h>\n\nstatic int\ntwice(int value)\n{\n"
        "    return value + value;\n}\n\nint\nrondo_x_do(int value)\n{\n"
        "    return twice(value);\n}\n"),
    "src/algos/table.def": 'ALGO(all_reduce, ring, NOTHING, "large")\n',
    "src/algos/all_reduce_ring.c": (
        "/*\n * all_reduce_ring.c - a ring.\n *\n * Shape  round.\n * Cost   little.\n"
        " * Use it often.\n * Needs  nothing.\n * Proof  tests.\n */\n"
        "void\nrondo_all_reduce_ring(void)\n{\n}\n"),
}


def body(lines):
    return "".join(f"    rondo_x_do({number});\n" for number in range(lines))


def function(name, inside, parameters="void"):
    return f"/* y.c - a file. */\nvoid\n{name}({parameters})\n{{\n{inside}}}\n"


LONG_LIST = ", ".join(f"int a{number}" for number in range(7))
DEEP = ("    if (a) {\n        if (a) {\n            if (a) {\n"
        "                while (a) {\n                }\n            }\n        }\n    }\n")

# (gate, file to write, its text, words the finding must hold)
FAULTS = [
    ("layers", "src/base/y.c", '/* y.c - a. */\n#include "algos/algos.h"\n',
     "base may not see algos"),
    ("layers", "src/base/y.c", '/* y.c - a. */\n#include "x.h"\n', "path from src/"),
    ("layers", "src/base/y.c", '/* y.c - a. */\n#include "../algos/y.h"\n',
     "path from src/"),
    ("layers", "src/algos/y.c", "/* y.c - a. */\n#include <pthread.h>\n", "belongs in"),
    ("layers", "src/algos/y.c", "/* y.c - a. */\n#include <sys/mman.h>\n", "belongs in"),
    ("layers", "src/base/y.c", "/* y.c - a. */\n#include <ucp/api/ucp.h>\n", "belongs in"),
    ("layers", "src/newroom/y.c", "/* y.c - a. */\n", "not in tools/checks/layers.txt"),
    ("layers", "trainer/y.c", '/* y.c - a. */\n#include "base/log.h"\n', "sees <rondo/"),
    ("layers", "include/rondo/y.h", "/* y.h - a. */\n#include <stdio.h>\n", "every user"),
    ("sizes", "src/base/y.c", "/* y.c - a. */\n" + "\n" * 400, "lines 401"),
    ("sizes", "src/base/y.h", "/* y.h - a. */\n" + "\n" * 200, "lines 201"),
    ("sizes", "src/algos/all_reduce_ring.c",
     CLEAN["src/algos/all_reduce_ring.c"] + "\n" * 150, "lines 1"),
    ("sizes", "tests/unit/y.c", "/* y.c - a. */\n" + "\n" * 600, "lines 601"),
    ("sizes", "src/base/y.c", function("rondo_y", body(49)), "function 51"),
    ("sizes", "src/base/y.c", function("rondo_y", "", LONG_LIST), "parameters 7"),
    ("sizes", "src/base/y.c", function("rondo_y", DEEP), "nesting 4"),
    ("sizes", "src/base/y.c", "/* y.c - " + "a" * 80 + " */\n", "columns"),
    ("names", "src/base/y.c", function("y", ""), "seen outside its file"),
    ("names", "src/base/y.c", "/* y.c - a. */\nstatic void\nrondo_y(void)\n{\n}\n",
     "drop the prefix"),
    ("names", "src/base/y.c", "int y;\n", "opens with a comment"),
    ("headers", "include/rondo/x.h",
     CLEAN["include/rondo/x.h"].replace("/* rondo_x_do - does it. */", ""), "no comment"),
    ("headers", "include/rondo/x.h",
     CLEAN["include/rondo/x.h"].replace("rondo_x_do -", "rondo_other -"), "no comment"),
    ("headers", "include/rondo/x.h", CLEAN["include/rondo/x.h"].replace('extern "C"', "x"),
     "C++"),
    ("headers", "src/base/y.h", "/* y.h - a. */\n#pragma once\n", "wants the guard"),
    ("algorithms", "src/algos/all_gather_ring.c", "/* a */\n", "has no row"),
    ("algorithms", "src/algos/table.def",
     CLEAN["src/algos/table.def"] + 'ALGO(reduce, tree, NOTHING, "few")\n',
     "does not exist"),
    ("algorithms", "src/algos/all_reduce_ring.c",
     CLEAN["src/algos/all_reduce_ring.c"].replace("Proof", "Hope"), "does not tell"),
    ("quiet", "src/base/y.c", function("rondo_y", '    getenv("HOME");\n'), "environment"),
    ("quiet", "src/base/y.c", function("rondo_y", '    printf("x");\n'), "stdout"),
    ("quiet", "src/base/y.c", function("rondo_y", "    exit(1);\n"), "ends the process"),
    ("quiet", "src/base/y.c", function("rondo_y", "    abort();\n"), "aborts"),
    ("quiet", "src/base/y.c", function("rondo_y", "    sigaction(1, 0, 0);\n"), "signal"),
    ("quiet", "src/base/y.c", function("rondo_y", "    strcpy(a, b);\n"), "unbounded"),
    ("words", "README.md", "see /ho" + "me/somebody/x\n", "one machine"),
    ("words", "README.md", "x \n", "trailing"),
    ("words", "README.md", "x", "newline"),
    ("words", "src/base/y.c", "/* y.c - TO" + "DO */\n", "unfinished"),
    ("documents", "README.md", "see [x](nowhere.md)\n", "does not exist"),
    ("documents", "ARCHITECTURE.md", "src/base\n", "does not name src/algos"),
    ("documents", "ARCHITECTURE.md", "src/algos src/base\n" + "\n" * 200, "at most 200"),
    ("format", "src/base/y.c", "/* y.c - a. */\nint   rondo_y( void ) { return 1; }\n",
     "clang-format"),
    ("format", "scripts/y.sh", "#!/bin/bash\nif true; then\n", "syntax"),
    ("format", "tools/y.py", "def x(:\n", "syntax"),
    ("cppcheck", "src/base/y.c",
     "/* y.c - a. */\nint\nrondo_y(void)\n{\n    int a[2] = {0, 0};\n    return a[2];\n}\n",
     "arrayIndexOutOfBounds"),
]

# What looks like a fault and is none.
INNOCENT = [
    ("quiet", "src/base/y.c",
     '/* y.c - never calls exit(1) or printf("x"). */\nconst char *rondo_y = "exit(1)";\n'),
    ("quiet", "src/base/config.c", function("rondo_y", '    getenv("HOME");\n')),
    ("quiet", "src/base/y.c", function("rondo_y", "    snprintf(a, 1, b);\n")),
    ("layers", "src/algos/y.c", '/* y.c - a. */\n#include "base/log.h"\n'),
    ("layers", "src/transport/shm/y.c", "/* y.c - a. */\n#include <sys/mman.h>\n"),
    ("sizes", "src/base/y.c", function("rondo_y", body(48))),
    ("sizes", "src/base/y.c", function("rondo_y", "", LONG_LIST[:-8])),
    ("sizes", "tests/unit/y.c", function("y", body(60))),
    ("sizes", "tests/unit/y.c", function("y", DEEP, LONG_LIST)),
]


def check(tree, gate):
    run = subprocess.run([str(SOURCE / "tools/check"), "--root", str(tree), "--only", gate],
                         text=True, capture_output=True)
    return run.returncode, run.stdout + run.stderr


def write_tree(tree, changes):
    for name, text in {**CLEAN, **changes}.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    shutil.copy(SOURCE / ".clang-format", tree)


def judge(gate, changes, words):
    """None, or what the gate did wrong; `words` is None for an innocent tree."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch)
        write_tree(tree, changes)
        status, output = check(tree, gate)
    if words is None:
        return None if status == 0 else f"{gate} refused {sorted(changes)}: {output}"
    if status == 0:
        return f"{gate} overlooked {sorted(changes)}, meant to say {words!r}"
    if words not in output:
        return f"{gate} did not say {words!r} but: {output}"
    return None


# (entries of sizes.txt, the file they are about, words of the finding; None for none)
LONG = "/* y.c - a. */\n" + "\n" * 449
EXCEPTIONS = [
    ("src/base/y.c lines 450 a reason\n", LONG, None),
    ("src/base/y.c lines 449 a reason\n", LONG, "lines 450"),
    ("src/base/y.c lines 900 a reason\n", "/* y.c - a. */\n" + "\n" * 600, "lines 601"),
    ("src/base/y.c lines 450 a reason\n", "/* y.c - a. */\n", "no longer needed"),
    ("src/base/y.c lines 450\n", LONG, "want PATH KIND LIMIT REASON"),
    ("src/base/y.c:rondo_y parameters 7 a callback\n",
     function("rondo_y", "", LONG_LIST), None),
]

# (a comment past its columns, the same after tools/rewrap)
TAIL = "words " * 14 + "word"
WRAPPED = [
    (f"/* y.c - {TAIL} */\nint y;\n",
     f"/* y.c - {'words ' * 12}words\n * words word */\nint y;\n"),
    (f"/*\n * y.c - {TAIL}\n * goes on.\n */\n",
     f"/*\n * y.c - {'words ' * 12}words\n * words word goes on.\n */\n"),
    (f"/*\n * Cost   {TAIL}\n *        goes on.\n * Needs  x\n */\n",
     f"/*\n * Cost   {'words ' * 13}\n".replace(" \n", "\n")
     + " *        words word goes on.\n * Needs  x\n */\n"),
    (f"/* --- part {'-' * 80} */\n", f"/* --- part {'-' * 73} */\n"),
    ("int x; /* short */\n", "int x; /* short */\n"),
]


def rewrapped(before, after):
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "y.c"
        file.write_text(before)
        for _ in range(2):
            subprocess.run([str(SOURCE / "tools/rewrap"), str(file)], check=True,
                           capture_output=True)
        got = file.read_text()
    return None if got == after else f"tools/rewrap made\n{got}of\n{before}"


def main():
    gates = sorted({gate for gate, *_ in FAULTS})
    errors = [judge(gate, {}, None) for gate in gates]
    errors += [judge(gate, {file: text}, words) for gate, file, text, words in FAULTS]
    errors += [judge(gate, {file: text}, None) for gate, file, text in INNOCENT]
    errors += [judge("sizes", {"tools/checks/sizes.txt": entry, "src/base/y.c": text}, words)
               for entry, text, words in EXCEPTIONS]
    errors += [rewrapped(*pair) for pair in WRAPPED]
    errors = [error for error in errors if error]
    print("\n".join(errors) or f"{len(FAULTS)} planted faults were found by {len(gates)} gates")
    return 1 if errors else 0


sys.exit(main())
