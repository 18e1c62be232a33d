#!/usr/bin/env python3
"""The version is the same everywhere: versions.py [--bin FOLDER] [ROOT].

CMakeLists.txt has it. The programs print it, the wheel and the Debian packages take it from there, the newest
entry of CHANGELOG.md below "Unreleased" is about it, its release notes are there, and man pages show it. Versions go down from
entry to entry. The wire protocol and the ABI of libdtring have numbers of their own.
"""

import argparse
import itertools
import pathlib
import re
import subprocess
import sys
import tomllib

PROGRAMS = ("dtlaunch", "dtagent", "dttrain", "dtring-perf")


def project_version(root):
    found = re.search(r"^project\(\w+ VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text(), re.M)
    return found[1] if found else "none"


def wheel_version(root):
    """What scikit-build-core reads, by the file and the pattern that pyproject.toml names."""
    rule = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["dynamic-metadata"][0]
    found = re.search(rule["regex"], (root / rule["input"]).read_text())
    return found["value"] if found else "none"


def entries_of(path, pattern):
    return re.findall(pattern, path.read_text(), re.M)


def check_entries(name, entries, version):
    """Complaints about a changelog's entries, newest first."""
    if not entries or entries[0] != version:
        yield f"{name}: its newest entry is of {entries[0] if entries else 'none'}, the version is {version}"
    for newer, older in itertools.pairwise(entries):
        if [int(part) for part in newer.split(".")] <= [int(part) for part in older.split(".")]:
            yield f"{name}: {older} is below {newer}"


def check_tree(root, version):
    if wheel_version(root) != version:
        yield f"pyproject.toml: the wheel's version would be {wheel_version(root)}, the version is {version}"
    headings = entries_of(root / "CHANGELOG.md", r"^## (.*)$")
    if headings[:1] == ["Unreleased"]:  # what the next version will have
        del headings[0]
    dated = [re.fullmatch(r"(\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d", heading) for heading in headings]
    for heading in [heading for heading, match in zip(headings, dated) if not match]:
        yield f"CHANGELOG.md: '{heading}' is not a version and a date, as in 1.2.3 - 2026-11-29"
    yield from check_entries("CHANGELOG.md", [match[1] for match in dated if match], version)
    changes = entries_of(root / "packaging/debian/changelog.in", r"^dtlaunch \((.*)-1\)")
    yield from check_entries("packaging/debian/changelog.in",
                             [entry.replace("@VERSION@", version) for entry in changes], version)
    spec = root / "packaging/rpm/dtlaunch.spec"
    if (found := entries_of(spec, r"^Version: +(\S+)")) != [version]:
        yield f"packaging/rpm/dtlaunch.spec: Version is {' '.join(found) or 'missing'}, the version is {version}"
    yield from check_entries("packaging/rpm/dtlaunch.spec", entries_of(spec, r"^\* .* - (\d\S*)-1$"), version)
    if not (root / f"docs/releases/{version}.md").is_file():
        yield f"docs/releases/{version}.md: there are no release notes"
    for page in sorted((root / "man").glob("*.[1-8]")):
        for shown in entries_of(page, r"/dtlaunch/([0-9.]+)-[0-9a-f]+"):
            if shown != version:
                yield f"man/{page.name}: it shows {shown}, the version is {version}"


def check_programs(folder, version):
    for name in PROGRAMS:
        if not (folder / name).is_file():
            print(f"not checked: {name} has not been built")
            continue
        said = subprocess.run([folder / name, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if not re.match(rf"{name} {re.escape(version)}\b(?!\.)", said.stdout):
            yield f"{name} --version says '{said.stdout.strip()}', the version is {version}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    given = parser.parse_args()
    version = project_version(given.root)
    complaints = [*check_tree(given.root, version), *(check_programs(given.bin, version) if given.bin else ())]
    print("\n".join([*complaints, f"the rule of versions: broken in {len(complaints)} place(s)"]
                    if complaints else [f"the rule of versions: kept by {version}"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
