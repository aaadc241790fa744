"""every RONDO_API function has its comment right above it, and headers are guarded"""
import re

from . import source

NAME = "headers"


def undocumented(text):
    """(line, name) of each public function whose comment is missing or of another."""
    code = re.sub(r"(?m)^ *#.*$", lambda line: " " * len(line[0]), source.bare(text))
    for match in source.PUBLIC.finditer(code):
        name = match.group(1)
        above = text[:match.start()].rstrip(" ")
        line = above.count("\n") + 1
        comment = above[above.rfind("/*"):] if above.endswith("*/\n") else ""
        if not re.search(rf"\b{name}\b", comment):
            yield line, name


def findings(root):
    errors = []
    for file in source.c_files(root, "include"):
        where, text = file.relative_to(root), file.read_text()
        for line, name in undocumented(text):
            errors.append(f"{where}:{line}: {name} has no comment of its own above it")
        if "RONDO_API" in text and 'extern "C"' not in text:
            errors.append(f"{where}: no extern \"C\" for C++ users")
    owners = {}
    for file in source.c_files(root, "include", "src"):
        if file.suffix != ".h":
            continue
        where = file.relative_to(root)
        stem = re.sub(r"\W", "_", file.name).upper()
        # A public guard must not meet another library's; inside src the room is enough.
        prefix = "RONDO" if where.parts[0] == "include" else where.parts[1].upper()
        guard = re.search(rf"^#ifndef ((?:RONDO_)?{prefix}_(?:\w+_)?{stem})\n#define \1$",
                          file.read_text(), re.M)
        if guard is None:
            errors.append(f"{where}: wants the guard {prefix}_{stem}")
        elif owners.setdefault(guard.group(1), where) != where:
            errors.append(f"{where}: {guard.group(1)} also guards {owners[guard.group(1)]}")
    return errors
