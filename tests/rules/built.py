#!/usr/bin/env python3
"""Every test is built and run: built.py [ROOT].

Every source under tests is named by a CMakeLists.txt, and every script of tests/e2e is run.
"""

import pathlib
import re
import sys

SHARED = ("lib.sh", "restart_lib.sh", "openmpi_lib.sh", "mpi_hello.c", "oneccl_sum.cc", "pmi2_rank.c")  # sourced or compiled by scripts


def words_of_lists(tests):
    lists = [re.sub(r"#.*", "", file.read_text()) for file in sorted(tests.rglob("CMakeLists.txt"))]
    return {word.rsplit("/", 1)[-1] for word in re.split(r"[\s()]+", "\n".join(lists))}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    tests = root / "tests"
    words = words_of_lists(tests)
    forgotten = 0
    for file in sorted(path for ending in ("*.cc", "*.c", "e2e/*.sh") for path in tests.rglob(ending)):
        name = file.stem if file.suffix == ".sh" else file.name
        if name in words or file.name in SHARED:
            continue
        forgotten += 1
        print(f"{file.relative_to(root)}: no CMakeLists.txt names it")
    if not forgotten:
        print("the rule of tests: kept")
    return 1 if forgotten else 0


if __name__ == "__main__":
    sys.exit(main())
