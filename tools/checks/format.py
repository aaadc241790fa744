"""clang-format 14 would change nothing; scripts parse"""
import ast
import shutil
import subprocess

from . import source

NAME = "format"


def c_findings(root):
    tool = shutil.which("clang-format-14")
    if tool is None:
        return ["clang-format-14 is not installed (scripts/setup does it)"]
    files = [str(file.relative_to(root)) for file in source.c_files(root)]
    found = []
    for start in range(0, len(files), 50):
        run = subprocess.run([tool, "--dry-run", "-Werror", *files[start:start + 50]],
                             cwd=root, text=True, capture_output=True)
        lines = [line for line in run.stderr.splitlines() if ": error:" in line]
        faulty = sorted({line.split(":")[0] for line in lines})
        found += [f"{file}: run clang-format-14 -i on it" for file in faulty]
        if run.returncode and not faulty:
            found.append(run.stderr.strip() or "clang-format-14 failed")
    return found


def script_findings(root):
    found = []
    for file in source.text_files(root):
        text, where = file.read_text(), file.relative_to(root)
        first = text.split("\n", 1)[0]
        if file.suffix == ".py" or ("python" in first and first.startswith("#!")):
            try:
                ast.parse(text)
            except SyntaxError as error:
                found.append(f"{where}: {error}")
        elif file.suffix == ".sh" or (first.startswith("#!") and "sh" in first):
            run = subprocess.run(["bash", "-n", str(file)], text=True, capture_output=True)
            if run.returncode:
                found.append(f"{where}: {run.stderr.strip()}")
    return found


def findings(root):
    return c_findings(root) + script_findings(root)
