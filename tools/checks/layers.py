"""who may include whom, as tools/checks/layers.txt says"""
import pathlib
import re

from . import source

NAME = "layers"
TABLE = pathlib.Path(__file__).parent / "layers.txt"
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# A public header may drag in no more of the system than this.
PUBLIC_MAY = {"stddef.h", "stdint.h", "stdbool.h", "limits.h"}


class Table:
    def __init__(self, text):
        self.rooms, self.fences, self.folders, self.errors = {}, {}, {}, []
        for line in text.splitlines():
            line = line.split("#")[0].strip()
            if not line:
                continue
            name, _, rest = line.partition(":")
            name, seen = name.strip(), rest.split()
            if name.startswith("<"):
                self.fences[name.strip("<>")] = seen
            elif name.startswith("["):
                self.folders[name.strip("[]")] = seen
            else:
                self.rooms[name] = set(seen)
        self.refuse_cycles()

    def refuse_cycles(self):
        for room, seen in self.rooms.items():
            todo, reached = list(seen), set()
            while todo:
                other = todo.pop()
                if other not in self.rooms:
                    self.errors.append(f"layers.txt: {room} names unknown room {other}")
                elif other not in reached:
                    reached.add(other)
                    todo += self.rooms[other]
            if room in reached:
                self.errors.append(f"layers.txt: {room} can reach itself")

    def fence_of(self, header):
        for prefix, homes in self.fences.items():
            if header == prefix or (prefix.endswith("/") and header.startswith(prefix)):
                return homes
        return None


def includes(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def public_header(kind, name):
    if kind == '"':
        return "a public header includes only <rondo/...> and a few of C's own"
    if not name.startswith("rondo/") and name not in PUBLIC_MAY:
        return f"<{name}> would reach every user; a public header does without it"
    return None


def inside(table, where, kind, name):
    """A file of src: `where` is its path below src."""
    room = where.parts[0]
    if kind == "<":
        homes = table.fence_of(name)
        if homes is not None and not any(
                where.is_relative_to(home) for home in homes):
            return f"<{name}> belongs in {', '.join(homes) or 'no room'} only"
        return None
    target = name.split("/")[0]
    if "/" not in name:
        return f'write the path from src/, not "{name}"'
    if target != room and target not in table.rooms[room]:
        return f"{room} may not see {target}"
    return None


def outside(table, root, folder, kind, name):
    """A file of the folders around src."""
    if kind == "<" or name.split("/")[0] not in source.rooms(root):
        return None
    if (root / folder / name).exists():
        return None
    if "rooms" not in table.folders.get(folder, []):
        return f"{folder} sees <rondo/...> only, not {name}"
    return None


def findings(root):
    table = Table(TABLE.read_text())
    errors = list(table.errors)
    for room in source.rooms(root):
        if room not in table.rooms:
            errors.append(f"src/{room}: the room is not in tools/checks/layers.txt")
    for file in source.c_files(root):
        where = file.relative_to(root)
        folder = where.parts[0]
        if folder == "src" and where.parts[1] not in table.rooms:
            continue
        for number, kind, name in includes(file):
            if ".." in name.split("/"):
                fault = f"write the path from src/, not {name!r}"
            elif folder == "include":
                fault = public_header(kind, name)
            elif folder == "src":
                fault = inside(table, where.relative_to("src"), kind, name)
            else:
                fault = outside(table, root, folder, kind, name)
            if fault:
                errors.append(f"{where}:{number}: {fault}")
    return errors
