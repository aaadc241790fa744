"""asking.py - runs rondo-info in tests."""
import json
import os
import pathlib
import subprocess
import sys

MACHINES = pathlib.Path(__file__).parent.parent / "info" / "machines"
PROGRAM = os.path.join(os.environ.get("RONDO_BIN", ""), "rondo-info")


def need():
    """Leave with "skipped" where the program was left out of the build."""
    if not os.path.exists(PROGRAM):
        print("skipped: rondo-info was not built (hwloc, libibverbs or jansson)")
        sys.exit(77)


def clean(more=None):
    """An environment without any variable of ours but those that are given."""
    kept = {name: value for name, value in os.environ.items()
            if name in ("PATH", "LANG", "HOME") or name.endswith("SAN_OPTIONS")}
    return dict(kept, LC_ALL="C", **(more or {}))


def ask(*arguments, env=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], env=clean(env), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


def answers(*arguments, env=None):
    """What --json says; the exit code is 0 or 1, as there are problems or none."""
    done = ask("--json", *arguments, env=env)
    found = json.loads(done.stdout)
    assert done.stderr == "", done.stderr
    assert done.returncode == (1 if found["problems"] else 0), done.returncode
    return found
