"""src/algos/table.def and the algorithm files name each other"""
import re

NAME = "algorithms"
ROW = re.compile(r"^ALGO\(\s*(\w+)\s*,\s*(\w+)\s*,", re.M)
COLLECTIVES = ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
               "reduce", "gather", "scatter", "scan", "barrier"]
# What the head of an algorithm file tells, each at the start of a line.
HEAD = ["Shape", "Cost", "Use it", "Needs", "Proof"]


class Row:
    def __init__(self, collective, shape):
        self.collective, self.shape = collective, shape
        self.file = f"{collective}_{shape}.c"
        self.function = f"rondo_{collective}_{shape}"


def rows(root):
    table = root / "src/algos/table.def"
    if not table.is_file():
        return []
    return [Row(*pair) for pair in ROW.findall(table.read_text())]


def row_findings(folder, row):
    file = folder / row.file
    if not file.is_file():
        return [f"src/algos/table.def: {row.file} is named but does not exist"]
    text, found = file.read_text(), []
    head = text[:text.find("*/")]
    for word in HEAD:
        if not re.search(rf"^ \* {word}\b", head, re.M):
            found.append(f"src/algos/{row.file}: its head does not tell {word!r}")
    if not re.search(rf"^\w*{row.function}\(", text, re.M):
        found.append(f"src/algos/{row.file}: does not define {row.function}")
    return found


def findings(root):
    folder = root / "src/algos"
    if not folder.is_dir():
        return []
    table = rows(root)
    errors, seen = [], set()
    for row in table:
        if row.file in seen:
            errors.append(f"src/algos/table.def: {row.file} has two rows")
        seen.add(row.file)
        errors += row_findings(folder, row)
    for file in sorted(folder.glob("*.c")):
        starts = any(file.name.startswith(f"{name}_") for name in COLLECTIVES)
        if starts and file.name not in seen:
            errors.append(f"src/algos/{file.name}: has no row in table.def")
    if not table and list(folder.glob("*.c")):
        errors.append("src/algos/table.def: no rows")
    return errors
