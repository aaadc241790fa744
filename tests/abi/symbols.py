#!/usr/bin/env python3
# symbols.py - librondo.so exports the functions of its headers and nothing else.
import os
import pathlib
import subprocess
import sys

source_tree = pathlib.Path(os.environ["RONDO_SOURCE"])
sys.path.insert(0, str(source_tree / "tools"))
from checks import source  # noqa: E402

LIBRARIES = pathlib.Path(os.environ["RONDO_LIB"])
NODE = "RONDO_0.1"


def nm(*arguments):
    run = subprocess.run(["nm", *map(str, arguments)], check=True, text=True,
                         capture_output=True)
    return [line.split() for line in run.stdout.splitlines() if len(line.split()) >= 2]


def main():
    errors = []
    wanted = source.public_functions(source_tree)
    if len(wanted) < 30:
        errors.append(f"only {len(wanted)} public functions found: the reader is broken")

    exported = {words[-1] for words in nm("-D", "--defined-only", LIBRARIES / "librondo.so")
                if words[-2] != "A"}
    expected = {f"{name}@@{NODE}" for name in wanted}
    errors += [f"declared but not exported: {name}" for name in sorted(expected - exported)]
    errors += [f"exported but not declared: {name}" for name in sorted(exported - expected)]

    for words in nm("-D", "--undefined-only", LIBRARIES / "librondo.so"):
        if words[-1].startswith("rondo_"):
            errors.append(f"librondo.so needs {words[-1]}, which nobody defines")

    # The archive cannot hide names, so all of them carry our prefix.
    archive = {words[-1] for words in nm("-g", "--defined-only", LIBRARIES / "librondo.a")
               if len(words) == 3}
    errors += [f"librondo.a defines {name}" for name in sorted(archive)
               if not name.startswith("rondo_") and not name.startswith("__")]
    errors += [f"librondo.a lacks {name}" for name in sorted(wanted - archive)]

    print("\n".join(errors) or f"{len(wanted)} functions, as the headers declare them")
    return 1 if errors else 0


sys.exit(main())
