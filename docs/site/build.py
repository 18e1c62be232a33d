#!/usr/bin/env python3
"""Builds the site and checks its links: build.py FOLDER [ROOT]. scripts/docs installs what this needs.

FOLDER/html is the site; FOLDER/source what Sphinx reads. Any warning of Sphinx fails.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import links  # noqa: E402
from stage import Stage  # noqa: E402


def main():
    out = Path(sys.argv[1]).resolve()
    root = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else HERE.parents[1]
    version = re.search(r"project\(dtlaunch VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]
    Stage(root, out / "source", version).write()
    shutil.rmtree(out / "html", ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-E", "-W", "--keep-going", "-n", "-q", "-c", HERE,
               "-d", out / "doctrees", out / "source", out / "html"]
    if subprocess.run(command).returncode != 0:
        return "docs: FAILED: Sphinx complains"
    wrong, inside, outside = links.check(out / "html")
    if wrong:
        return "\n".join([*wrong, f"docs: FAILED: {len(wrong)} links are broken"])
    print(f"docs: {out}/html/index.html: {inside} links lead somewhere; {outside} to other sites are not checked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
