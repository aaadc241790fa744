"""What the gates share: which files there are, and a reader of formatted C."""
import re

# Folders that hold our C. Build folders and the like are never looked at.
C_FOLDERS = ["include", "src", "tools", "nccl-tests-compat", "trainer", "tests", "bench",
             "examples"]
TEXT_SUFFIXES = {".c", ".h", ".cc", ".cpp", ".py", ".sh", ".md", ".txt", ".cmake", ".def",
                 ".in", ".json", ".map"}
SCRIPT_FOLDERS = ["scripts", ".ci", "cmake", "docs"]


def c_files(root, *folders):
    """Every .c and .h below the folders (all of C_FOLDERS by default), sorted."""
    found = []
    for folder in folders or C_FOLDERS:
        found += [file for file in (root / folder).rglob("*")
                  if file.suffix in (".c", ".h") and file.is_file()]
    return sorted(found)


def text_files(root):
    """Every text file of the tree: C, scripts, documents, build files."""
    found = [file for file in root.iterdir() if is_text(file)]
    for folder in C_FOLDERS + SCRIPT_FOLDERS:
        found += [file for file in (root / folder).rglob("*") if is_text(file)]
    return sorted(found)


def is_text(file):
    if not file.is_file() or "__pycache__" in file.parts:
        return False
    return file.suffix in TEXT_SUFFIXES or has_shebang(file) or file.name in (
        "LICENSE", ".clang-format", ".editorconfig", ".gitignore")


def has_shebang(file):
    with open(file, "rb") as stream:
        return stream.read(2) == b"#!"


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def bare(text):
    """The code with comments and literals blanked; lines stay where they were."""
    def blank(match):
        piece = match.group(0)
        if piece[0] in "\"'":
            return piece[0] + " " * (len(piece) - 2) + piece[0]
        return re.sub(r"[^\n]", " ", piece)
    return TOKEN.sub(blank, text)


class Function:
    """A definition whose braces stand in column 0, as clang-format leaves them."""

    def __init__(self, head, first, body):
        self.head = head        # everything from the return type to the brace
        self.line = first       # line number of the opening brace
        self.body = body        # lines, both braces included
        name = re.search(r"(\w+)\s*\(", head)
        self.name = name.group(1) if name else "?"
        self.is_static = bool(re.match(r"\s*(?:\w+\s+)*static\b", head))

    def parameter_count(self):
        start = self.head.index("(", self.head.index(self.name)) + 1
        depth, count, text = 1, 1, ""
        for char in self.head[start:]:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if depth == 0:
                break
            count += char == "," and depth == 1
            text += char
        return 0 if text.strip() in ("", "void") else count


def functions(text):
    """The functions of a file, read off its bare text."""
    lines = bare(text).split("\n")
    found, head, index = [], [], 0
    while index < len(lines):
        line = lines[index]
        if line == "{" and head and head[-1].rstrip().endswith(")"):
            end = index
            while end < len(lines) and not lines[end].startswith("}"):
                end += 1
            found.append(Function(" ".join(head), index + 1, lines[index:end + 1]))
            head, index = [], end + 1
            continue
        if not line.strip() or line.startswith(("#", "}")) or line.rstrip().endswith(";"):
            head = []
        else:
            head.append(line)
        index += 1
    return found


PUBLIC = re.compile(r"RONDO_API\s[^;(]*?\b(rondo_[a-z0-9_]+)\s*\(")


def public_functions(root):
    """Names of the functions that the public headers mark RONDO_API."""
    names = set()
    for header in sorted((root / "include/rondo").glob("*.h")):
        names |= set(PUBLIC.findall(bare(header.read_text())))
    return names


def rooms(root):
    """The rooms of src, as folders."""
    source = root / "src"
    if not source.is_dir():
        return []
    return sorted(folder.name for folder in source.iterdir() if folder.is_dir())
