"""ARCHITECTURE.md names every room and stays short; CHANGELOG and licence are there"""
from . import source

NAME = "architecture"
LINES = 200


def findings(root):
    errors = []
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"):
        if not (root / name).is_file():
            errors.append(f"{name}: missing")
    page = root / "ARCHITECTURE.md"
    if not page.is_file():
        return errors + ["ARCHITECTURE.md: missing"]
    text = page.read_text()
    count = len(text.splitlines())
    if count > LINES:
        errors.append(f"ARCHITECTURE.md: {count} lines (at most {LINES})")
    for room in source.rooms(root):
        if f"src/{room}" not in text:
            errors.append(f"ARCHITECTURE.md: does not name src/{room}")
    return errors
