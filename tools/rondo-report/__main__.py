"""Compare runs of rondo-train: one page of drawings, or the numbers of its table."""
import argparse
import json
import os
import pathlib
import sys

PROGRAM = "rondo-report"


def arguments():
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description=__doc__,
        epilog="exit codes: 0 done, 1 a file is damaged or cannot be written, 2 wrong usage")
    parser.add_argument("runs", nargs="+", metavar="RUN",
                        help="a file of rondo-train --metrics (files of other ranks are "
                             "found beside it), or a directory of them")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the page there")
    parser.add_argument("--json", action="store_true", help="print the table's numbers")
    parser.add_argument("--table", action="store_true", help="print the table")
    parser.add_argument("--title", default="Training runs", help="of the page")
    options = parser.parse_args()
    if not (options.output or options.json or options.table):
        parser.error("nothing to do: give -o FILE, --table or --json")
    if options.json and options.table:
        parser.error("--json and --table: give one")
    return options


def write_whole(path, text):
    """All of it or nothing."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def missing(error):
    print(f"{PROGRAM}: {error.name} is missing (Debian: python3-{error.name})",
          file=sys.stderr)
    return 1


def main():
    options = arguments()
    try:
        # After the options: what follows takes a second to load.
        from runs import Damage, differing, read_runs
    except ImportError as error:
        return missing(error)
    try:
        runs = read_runs(options.runs)
        if options.output:
            from figures import draw
            from page import write_page
            page = write_page(runs, draw(runs), differing(runs), options.title)
            write_whole(pathlib.Path(options.output), page)
        rows = [run.numbers() for run in runs]
        if options.json:
            print(json.dumps({"runs": rows}, indent=2))
        elif options.table:
            from page import plain_table
            print(plain_table(rows))
    except Damage as damage:
        print(f"{PROGRAM}: {damage}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{PROGRAM}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except ImportError as error:
        return missing(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
