#!/usr/bin/env python3
"""A bash script gives no pipe to grep -q. grep leaves at the first match; with pipefail a writer that is not
done dies of SIGPIPE, and the match counts as none, now and then. Write: grep -q PATTERN < <(COMMAND).
  pipes.py [ROOT]
"""

import pathlib
import re
import subprocess
import sys

PIPE = re.compile(r"(?<!\|)\|\s*[ef]?grep\s+(-[-\w]+\s+)*-\w*q")


def scripts(root):
    names = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True).stdout.split("\n")
    paths = [root / name for name in names if name] or [path for path in root.rglob("*") if path.is_file()]
    for path in paths:
        if path.is_file() and (path.suffix == ".sh" or re.match(rb"#!.*bash", path.read_bytes()[:40])):
            yield path


def quoted(line, at):
    """Whether AT lies in what sh -c or ssh gets, where no pipefail holds: a quote is open there, or the line
    ends a text in single quotes that began above."""
    before = line[:at]
    return before.count("'") % 2 == 1 or before.count('"') % 2 == 1 or line.count("'") % 2 == 1


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent.parent)
    bad = 0
    for path in scripts(root):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            found = PIPE.search(line)
            if found and not line.lstrip().startswith("#") and not quoted(line, found.start()):
                print(f"{path.relative_to(root)}:{number}: a pipe to grep -q. Write: grep -q PATTERN < <(COMMAND)")
                bad += 1
    print("the rule for pipes: " + (f"broken in {bad} place(s)" if bad else "kept"))
    return 1 if bad else 0


sys.exit(main())
