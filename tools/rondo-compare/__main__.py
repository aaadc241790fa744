"""Train in several modes on one budget of images, then draw what came of it.

Every mode gets the same images, straggler, seed and further options; modes with servers
get the ranks of --servers on top, so that all have the same number of workers.
"""
import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = "rondo-compare"
MODES = ["sync", "backup", "async", "ssp", "gossip", "local"]
WITH_SERVERS = {"backup", "async", "ssp"}
# Options that not all modes have, told apart by rondo-train's own help for them.
OF_MODES = {"--backups": {"backup"}, "--policy": {"backup"}, "--bound": {"ssp"},
            "--graph": {"gossip"}, "--local-steps": {"local", "diloco"},
            "--local-from": {"local"}, "--staleness-aware": {"async", "ssp"},
            "--compensate": {"async", "ssp"}, "--compensate-adaptive": {"async", "ssp"},
            "--outer-lr": {"diloco"}, "--outer-momentum": {"diloco"}}


def arguments():
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description=__doc__.split("\n\n", maxsplit=1)[0],
        usage=f"{PROGRAM} [options] [-- rondo-train's options]",
        epilog="What follows -- goes to every run; an option that only some modes have "
               "(--bound 3) goes to those. Exit codes: 0 done, 1 a run failed, "
               "2 wrong usage.")
    parser.add_argument("-n", "--workers", type=int, default=2, help="how many [2]")
    parser.add_argument("--servers", type=int, default=1,
                        help="further ranks of modes that have servers [1]")
    parser.add_argument("--modes", default=",".join(MODES), help=f"[{','.join(MODES)}]")
    parser.add_argument("--epochs", type=int, default=2, help="[2]")
    parser.add_argument("--steps", type=int,
                        help="instead of whole epochs: stop after so many")
    parser.add_argument("--seed", type=int, default=1, help="[1]")
    parser.add_argument("--straggler", metavar="SPEC",
                        help="how long steps are made to take (trainer/README.md)")
    parser.add_argument("--virtual", action="store_true",
                        help="one process plays all workers, in virtual time")
    parser.add_argument("--timeout", type=int, default=3600,
                        help="seconds for a run [3600]")
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html",
                        help="the page [report.html]; metrics are kept beside it, in "
                             "FILE without its extension")
    parser.add_argument("--title", default="The same budget in several modes",
                        help="of the page")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    options.further = words[at + 1:]
    options.modes = [mode for mode in options.modes.split(",") if mode]
    if options.workers < 1 or options.servers < 1 or not options.modes:
        parser.error("at least one worker, one server and one mode")
    return options


def program(name):
    """Beside this one, else on the path."""
    beside = pathlib.Path(sys.argv[0]).resolve().parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise SystemExit(f"{PROGRAM}: {name} is neither beside this program nor on the path")
    return found


def fitting(mode, further):
    """The further options without those of other modes; values go with their option."""
    kept, dropping = [], False
    for word in further:
        if word.startswith("--"):
            name = word.split("=", 1)[0]
            dropping = mode not in OF_MODES.get(name, {mode})
        if not dropping:
            kept.append(word)
    return kept


def command(options, mode, metrics):
    train = [program("rondo-train"), "--mode", mode, "--seed", options.seed,
             "--epochs", options.epochs, "--metrics", metrics, "--quiet"]
    if options.steps:
        train += ["--steps", options.steps]
    if options.straggler:
        train += ["--straggler", options.straggler]
    servers = options.servers if mode in WITH_SERVERS else 0
    if servers > 1:
        train += ["--servers", servers]
    train += fitting(mode, options.further)
    if options.virtual:
        return [str(word) for word in [*train, "--virtual", "--workers", options.workers]]
    launch = [program("rondo-run"), "-n", options.workers + servers, "--timeout",
              options.timeout]
    return [str(word) for word in [*launch, "--", *train]]


def train(options, mode, number, folder):
    """Runs one mode; its result, or None where it failed."""
    words = command(options, mode, folder / f"{mode}.jsonl")
    head = f"[{number}/{len(options.modes)}] {mode:<10}"
    print(head, end=" ", flush=True)
    began = time.monotonic()
    try:
        run = subprocess.run(words, capture_output=True, text=True,
                             timeout=options.timeout + 60)
        code, out, said = run.returncode, run.stdout.strip(), run.stderr.strip()
    except subprocess.TimeoutExpired:
        code, out, said = 124, "", f"no end after {options.timeout} s"
    took = time.monotonic() - began
    if code != 0:
        print(f"failed with {code} after {took:.1f} s")
        print(f"{PROGRAM}: {shlex.join(words)}\n{said}", file=sys.stderr)
        return False
    print(f"{took:5.1f} s  {out.splitlines()[-1] if out else ''}", flush=True)
    return True


def main():
    options = arguments()
    page = pathlib.Path(options.output)
    keep = page.with_suffix("")
    keep.parent.mkdir(parents=True, exist_ok=True)
    report = program("rondo-report")
    # What an earlier comparison left there is replaced when this one is complete.
    with tempfile.TemporaryDirectory(prefix=f".{keep.name}-", dir=keep.parent) as scratch:
        folder = pathlib.Path(scratch)
        good = [mode for number, mode in enumerate(options.modes, 1)
                if train(options, mode, number, folder)]
        if not good:
            return 1
        keep.mkdir(exist_ok=True)
        for old in keep.glob("*.jsonl"):
            old.unlink()
        for file in folder.glob("*.jsonl"):
            shutil.move(file, keep / file.name)
    paths = [str(keep / f"{mode}.jsonl") for mode in good]
    print(flush=True)
    if subprocess.run([report, *paths, "-o", str(page), "--table", "--title",
                       options.title], check=False).returncode != 0:
        return 1
    print(f"\nThe page: {page.resolve()}")
    return 0 if len(good) == len(options.modes) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
