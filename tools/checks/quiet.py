"""the library does not print, exit, catch signals or read the environment on its own"""
import re

from . import source

NAME = "quiet"

# (what, pattern, cure, files where it is right)
RULES = [
    ("reads the environment", r"\b(?:secure_)?getenv\s*\(|\benviron\b",
     "ask base/config, whose table lists every variable",
     # The module knows nothing of the library; UCX's variables are UCX's.
     {"src/base/config.c", "src/transport/ucx/module/settings.c"}),
    ("prints to stdout", r"\bprintf\s*\(|\bputs\s*\(|\bputchar\s*\(|\bstdout\b",
     "the host application owns stdout; use base/log", set()),
    ("ends the process", r"\b(?:exit|_exit|quick_exit)\s*\(", "return a status", set()),
    ("aborts", r"\babort\s*\(|\b__builtin_trap\s*\(|(?<!_)\bassert\s*\(",
     "return a status, or RONDO_ASSERT in debug builds",
     {"src/base/check.h", "src/base/check.c", "src/base/assert.h"}),
    ("touches signal handlers", r"(?<!->)\b(?:signal|sigaction)\s*\(",
     "handlers belong to the host application", set()),
    ("uses an unbounded string function",
     r"\b(?:strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|alloca)\s*\(",
     "use the bounded or checked form", set()),
    ("draws a hidden random number", r"\b(?:rand|random|drand48)\s*\(",
     "take a seed", set()),
]


def findings(root):
    errors = []
    for file in source.c_files(root, "src"):
        where = str(file.relative_to(root))
        for number, line in enumerate(source.bare(file.read_text()).split("\n"), 1):
            for what, pattern, cure, homes in RULES:
                if where not in homes and re.search(pattern, line):
                    errors.append(f"{where}:{number}: {what}; {cure}")
    return errors
