"""documents are there, ARCHITECTURE.md names every room, links lead somewhere"""
import re

from . import source

NAME = "documents"
LINES = 200
WANTED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"]
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def broken_links(root):
    for file in source.text_files(root):
        if file.suffix != ".md":
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for target in LINK.findall(line):
                if "://" not in target and not (file.parent / target).exists():
                    yield f"{file.relative_to(root)}:{number}: {target} does not exist"


def architecture(root):
    page = root / "ARCHITECTURE.md"
    if not page.is_file():
        return
    text = page.read_text()
    count = len(text.splitlines())
    if count > LINES:
        yield f"ARCHITECTURE.md: {count} lines (at most {LINES})"
    for room in source.rooms(root):
        if f"src/{room}" not in text:
            yield f"ARCHITECTURE.md: does not name src/{room}"


def findings(root):
    missing = [f"{name}: missing" for name in WANTED if not (root / name).is_file()]
    return missing + list(architecture(root)) + list(broken_links(root))
