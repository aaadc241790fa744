"""no paths of one machine, no stray whitespace, no unfinished notes"""
import re

from . import source

NAME = "words"

RULES = [
    (re.compile(r"(?<![\w.}])/(?:home|root|work|Users)/\w"), "a path of one machine"),
    (re.compile(r"(?<![\w.}])/tmp/(?:build)"), "a path of one machine"),
    (re.compile(r"[ \t]+$"), "trailing whitespace"),
    (re.compile(r"\t"), "a tab"),
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b"), "an unfinished note"),
    (re.compile(r"\r"), "a carriage return"),
]


def findings(root):
    errors = []
    for file in source.text_files(root):
        where, text = file.relative_to(root), file.read_text()
        for number, line in enumerate(text.split("\n"), 1):
            for pattern, what in RULES:
                if pattern.search(line):
                    errors.append(f"{where}:{number}: {what}")
        if text and not text.endswith("\n"):
            errors.append(f"{where}: does not end with a newline")
    return errors
