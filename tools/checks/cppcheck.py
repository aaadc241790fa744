"""cppcheck over the library and the programs, exceptions in tools/checks/cppcheck.txt"""
import pathlib
import shutil
import subprocess

NAME = "cppcheck"
SUPPRESSED = pathlib.Path(__file__).parent / "cppcheck.txt"
FOLDERS = ["src", "trainer", "tools", "nccl-tests-compat"]


def findings(root):
    if shutil.which("cppcheck") is None:
        return ["cppcheck is not installed (scripts/setup does it)"]
    folders = [name for name in FOLDERS if list((root / name).rglob("*.c"))]
    if not folders:
        return []
    run = subprocess.run(
        ["cppcheck", "-j2", "--quiet", "--std=c11", "--language=c", "--platform=unix64",
         "--enable=warning,performance,portability", "--inline-suppr",
         "--error-exitcode=1", f"--suppressions-list={SUPPRESSED}", "-Iinclude", "-Isrc",
         "-D__x86_64__", "-D_GNU_SOURCE", "-D__GNUC__=12",
         "--template={file}:{line}: {message} [{id}]", *folders],
        cwd=root, text=True, capture_output=True)
    lines = [line for line in run.stderr.splitlines() if ": " in line and "[" in line]
    if run.returncode and not lines:
        lines = [run.stderr.strip() or run.stdout.strip() or "cppcheck failed"]
    return lines
