"""names say who may use them, and a file's first line says what it is for"""
from . import source

NAME = "names"


def function_findings(where, text):
    found = []
    for function in source.functions(text):
        at = f"{where}:{function.line}"
        ours = function.name.startswith("rondo_")
        if function.is_static and ours and where.suffix == ".c":
            found.append(f"{at}: {function.name} is static: drop the prefix")
        if not function.is_static and not ours:
            found.append(f"{at}: {function.name} is seen outside its file: rondo_...")
    return found


def findings(root):
    errors = []
    for file in source.c_files(root):
        where, text = file.relative_to(root), file.read_text()
        comment = text[:text.find("*/")] if text.startswith("/*") else ""
        if file.name not in comment:
            errors.append(f"{where}:1: opens with a comment: \"{file.name} - what for\"")
        if where.parts[0] == "src":
            errors += function_findings(where, text)
    return errors
