"""files, functions, parameters, nesting and lines within their budgets"""
import re

from . import source

NAME = "sizes"
ALLOWED = "tools/checks/sizes.txt"

COLUMNS = 88
# kind: (budget, hard limit that no entry of sizes.txt may lift)
FILE = (400, 600)
HEADER = (200, 300)
PUBLIC_HEADER = (300, 400)
ALGORITHM = (150, 200)
FUNCTION = (50, 70)
PARAMETERS = (6, 8)
PUBLIC_PARAMETERS = (8, 8)
NESTING = (3, 4)

CONTROL = re.compile(r"^( +)(?:\} )?(?:if|for|while|switch|do|else)\b")


def file_budget(where, algorithm_files):
    if where.suffix == ".h":
        return PUBLIC_HEADER if where.parts[0] == "include" else HEADER
    if str(where) in algorithm_files:
        return ALGORITHM
    return FILE


def deepest(function):
    """Levels of control flow, read off the indentation of its keywords."""
    depth = 0
    for line in function.body:
        match = CONTROL.match(line)
        if match:
            depth = max(depth, len(match.group(1)) // 4)
    return depth


def read_allowed(text):
    allowed, errors = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 3)
        if len(words) < 4 or not words[2].isdigit():
            errors.append(f"tools/checks/sizes.txt:{number}: want PATH KIND LIMIT REASON")
            continue
        allowed[(words[0], words[1])] = int(words[2])
    return allowed, errors


class Judge:
    """Holds measurements against budgets and the list of exceptions."""

    def __init__(self, allowed):
        self.allowed, self.used, self.errors = allowed, set(), []

    def hold(self, what, where, kind, value, budget):
        normal, hard = budget
        if value <= normal:
            return
        limit = self.allowed.get((what, kind))
        if limit is not None:
            self.used.add((what, kind))
        if value > min(limit or normal, hard):
            rule = f"at most {normal}, with a reason in tools/checks/sizes.txt {hard}"
            self.errors.append(f"{where}: {kind} {value} ({rule})")

    def stale(self):
        return [f"tools/checks/sizes.txt: {what} {kind}: no longer needed"
                for what, kind in sorted(set(self.allowed) - self.used)]


def findings(root):
    from . import algorithms
    algorithm_files = {f"src/algos/{row.file}" for row in algorithms.rows(root)}
    public = source.public_functions(root)
    exceptions = root / ALLOWED
    allowed, errors = read_allowed(exceptions.read_text() if exceptions.is_file() else "")
    judge = Judge(allowed)
    for file in source.c_files(root):
        where = file.relative_to(root)
        text = file.read_text()
        lines = text.splitlines()
        # Tests are tables and loops: only the hard limits hold for them.
        soft = where.parts[0] != "tests"
        limit = file_budget(where, algorithm_files)
        judge.hold(str(where), where, "lines", len(lines),
                   limit if soft else (limit[1], limit[1]))
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS:
                judge.errors.append(
                        f"{where}:{number}: {len(line)} columns ({COLUMNS}); comments are "
                        "wrapped by tools/rewrap")
        for function in source.functions(text):
            name, at = f"{where}:{function.name}", f"{where}:{function.line}"
            at += f" {function.name}"
            limit = FUNCTION if soft else (FUNCTION[1], FUNCTION[1])
            judge.hold(name, at, "function", len(function.body), limit)
            limit = PUBLIC_PARAMETERS if function.name in public else PARAMETERS
            limit = limit if soft else (limit[1], limit[1])
            judge.hold(name, at, "parameters", function.parameter_count(), limit)
            limit = NESTING if soft else (NESTING[1], NESTING[1])
            judge.hold(name, at, "nesting", deepest(function), limit)
    return errors + judge.errors + judge.stale()
