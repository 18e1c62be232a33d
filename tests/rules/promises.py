#!/usr/bin/env python3
"""Every promise of dtlaunch-security(7) has a test: promises.py [ROOT].

In the sections PROMISED and REFUSED every item ends with the tests that show it, `.Bq Li NAME ...`, and
each of them exists: e2e.SCRIPT, SUITE.CASE of GoogleTest, or the name of a dtl_add_test().
"""

import pathlib
import re
import sys

PAGE = "man/dtlaunch-security.7"
SECTIONS = ("PROMISED", "REFUSED")


def known_tests(tests):
    names = set()
    for file in tests.rglob("*.cc"):
        names.update(".".join(words) for words in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", file.read_text()))
    for file in tests.rglob("CMakeLists.txt"):
        text = re.sub(r"#.*", "", file.read_text())
        for kind in ("e2e", "slurm"):
            names.update(f"{kind}.{name}" for name in re.findall(rf"\bdtl_{kind}\(\s*(\w+)", text))
        names.update(re.findall(r"\bdtl_add_test\(\s*([\w.]+)", text))
    return names


def items(page):
    """(number of its first line, its text, its tests) of each item of the sections."""
    section, item, found = "", None, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith(".Sh "):
            section, item = line[4:].strip('"'), None
        elif section not in SECTIONS:
            continue
        elif line.startswith(".It"):
            item = (number, [], [])
            found.append(item)
        elif item and line.startswith(".Bq Li "):
            item[2].extend(line.split()[2:])
        elif item:
            item[1].append(line)
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    known = known_tests(root / "tests")
    wrong = []
    promises = items(root / PAGE)
    for number, text, tests in promises:
        if not tests:
            wrong.append(f"{PAGE}:{number}: no test shows that: {' '.join(text)}")
        wrong += [f"{PAGE}:{number}: there is no test {name}" for name in tests if name not in known]
    if not promises:
        wrong.append(f"{PAGE}: it promises nothing")
    print("\n".join(wrong) or f"{len(promises)} promises have their tests: kept")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
