#!/usr/bin/env python3
"""ARCHITECTURE.md matches the tree: architecture.py [ROOT].

Its drawing of rooms has every folder of sources, every file that it names exists, and each
function named behind a file (`file` `function`) is in that file, or in one of its own stem.
"""

import pathlib
import re
import sys

FOLDERS = ("agent", "launcher", "ring", "trainer")
HALLS = ("base", "plan", "wire")


def words_below(text, heading):
    section = text.split(f"\n## {heading}\n", 1)[-1].split("\n## ", 1)[0]
    return set(re.findall(r"[a-z_.]+", "\n".join(l for l in section.splitlines() if l.startswith("    "))))


def missing_rooms(root, text):
    drawn = words_below(text, "Rooms")
    for folder in FOLDERS:
        rooms = sorted(p.name for p in (root / folder).iterdir() if p.is_dir()) if (root / folder).is_dir() else []
        for room in (folder, *rooms):
            if room not in drawn:
                yield f"the drawing of rooms lacks {folder if room == folder else folder + '/' + room}"
    for hall in HALLS:
        if hall not in drawn:
            yield f"the drawing of rooms lacks {hall}"


def wrong_places(root, text):
    for match in re.finditer(r"`([\w/]+/[\w]+\.(?:cc|h|md))`((?:[\s,]*`\w+`)*)", text):
        file = root / match[1]
        if not file.exists():
            yield f"there is no {match[1]}"
            continue
        inside = file.read_text()
        for function in re.findall(r"`(\w+)`", match[2]):
            if not re.search(rf"\b{function}\b", inside):
                yield f"{match[1]} has no {function}"


def main():
    root = pathlib.Path(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parents[2])
    text = (root / "ARCHITECTURE.md").read_text()
    complaints = [f"ARCHITECTURE.md: {c}" for c in (*missing_rooms(root, text), *wrong_places(root, text))]
    print("\n".join(complaints or ["the plan of the house: true"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
