#!/usr/bin/env python3
"""List the tests that were skipped, each with its reason, from ctest's JUnit files."""
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

REASON = re.compile(r"skipped: *(.+)")


def skipped(path):
    for case in xml.parse(path).iter("testcase"):
        if case.find("skipped") is None:
            continue
        output = case.findtext("system-out") or ""
        reasons = REASON.findall(output)
        yield case.get("name"), "; ".join(reasons) or "(the test gave no reason)"


def main(paths):
    count = 0
    for path in map(pathlib.Path, paths):
        if not path.is_file():
            continue
        for name, reason in sorted(skipped(path)):
            print(f"  {path.parent.name}: {name}: {reason}")
            count += 1
    if count == 0:
        print("  none")


main(sys.argv[1:])
