#!/usr/bin/env python3
"""Functions fit a screen and take few arguments: functions.py [ROOT].

At most 60 lines from the first line of the head to the closing brace, in C++, Python and shell, and at
most 8 parameters. The rows of a constant table inside a function are not counted.
"""

import ast
import pathlib
import re
import sys

import cpp

MOST_LINES = 60
MOST_PARAMETERS = 8

TABLE = re.compile(r"\b(?:static\s+const|(?:static\s+)?constexpr)\s[^;{}()]*=\s*(?=\{)")


def rows_of_tables(text, lines, function):
    rows, at = 0, function.body
    while (match := TABLE.search(text, at)) and match.start() < function.end:
        at = cpp.closing(text, match.end())
        rows += max(0, lines.at(at) - lines.at(match.end()) - 1)
    return rows


def functions_of_cpp(text):
    blanked = cpp.blank(text)
    lines = cpp.Lines(blanked)
    for function in cpp.functions_of(blanked):
        first, last = lines.at(function.begin), lines.at(function.end - 1)
        c_abi = function.name.startswith("dt_")  # other languages call its signature
        yield (function.name, first, last - first + 1 - rows_of_tables(blanked, lines, function),
               0 if c_abi else function.parameters)


def functions_of_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = node.args
            yield (node.name, node.lineno, node.end_lineno - node.lineno + 1,
                   len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs))


def functions_of_shell(text):
    name = None
    for number, line in enumerate(text.splitlines(), 1):
        begin = re.match(r"(?:function\s+)?([\w.-]+)\s*\(\)\s*\{(?!.*\}\s*$)", line)
        if begin:
            name, first = begin[1], number
        elif name and re.match(r"\}", line):
            yield name, first, number - first + 1, 0
            name = None


def functions_of(path, text):
    if path.endswith((".cc", ".h", ".c")):
        return functions_of_cpp(text)
    if path.endswith(".py") or re.match(r"#!.*python", text):
        return functions_of_python(text)
    if path.endswith(".sh") or re.match(r"#!.*sh\b", text):
        return functions_of_shell(text)
    return ()


def main():
    root = pathlib.Path(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parents[2])
    complaints, checked = [], 0
    for path in cpp.project_files(root):
        if path.endswith((".md", ".txt", ".png", ".svg")):
            continue
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            continue  # data
        for name, first, lines, parameters in functions_of(path, text):
            checked += 1
            if lines > MOST_LINES:
                complaints.append(f"{path}:{first}: {name} has {lines} lines, at most {MOST_LINES}")
            if parameters > MOST_PARAMETERS:
                complaints.append(f"{path}:{first}: {name} takes {parameters} parameters, at most {MOST_PARAMETERS}")
    print("\n".join(complaints + [f"the rule of functions: broken in {len(complaints)} place(s)"]
                    if complaints else [f"the rule of functions: kept by {checked}"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
