#!/usr/bin/env python3
"""The rooms of the source tree: which may include which.

    rooms.py [ROOT]            checks the tree
    rooms.py --arrows [ROOT]   prints the arrows as CONTRIBUTING.md shows them

What a room may include is what its dtl_room(...) in CMakeLists.txt links. It includes all of that
(PUBLIC: in a header), nothing else, and no arrow leads back. CONTRIBUTING.md shows the same arrows.
"""

import pathlib
import re
import sys

FOLDERS = ("base", "plan", "wire", "agent", "launcher", "ring", "trainer")
MOST_PAIRS = 20
HEADERS = {"dtl_dtring_door": "ring/dtring.h"}  # a header that counts as a room
PARTS = {"dtl_toml": "base", "dtl_sha256": "base"}  # parts of a room that only some programs link


class Room:
    def __init__(self, public, private):
        self.public, self.private = public, private
        self.parts = set()  # rooms that it links in part
        self.includes = {}  # room -> (a file that includes it, whether that is a header)
        self.stems = set()


def read_rooms(root):
    rooms = {}
    for folder in FOLDERS:
        file = root / folder / "CMakeLists.txt"
        text = re.sub(r"#.*", "", file.read_text()) if file.exists() else ""
        for name, body in re.findall(r"dtl_room\(([\w/]+)([^)]*)\)", text):
            links = {"PUBLIC": set(), "PRIVATE": set()}
            kind = None
            for word in body.split():
                if word in ("PUBLIC", "PRIVATE", "SOURCES", "ASIO", "OBJECT"):
                    kind = word
                elif kind in links and word.startswith("dtl_"):
                    links[kind].add(word)
            rooms[name] = Room(links["PUBLIC"], links["PRIVATE"])
    targets = {"dtl_" + name.replace("/", "_"): name for name in rooms} | HEADERS
    targets |= {"dtl_" + name.replace("/", "_") + "_door": name for name in rooms}
    for name, room in rooms.items():
        room.parts = {PARTS[link] for link in room.public | room.private if link in PARTS}
        room.public = {targets[link] for link in room.public if link in targets} - {name}
        room.private = {targets[link] for link in room.private if link in targets} - {name} - room.public
    return rooms


def room_of(path, rooms):
    """The room of a file; a program's own files have none."""
    if path in HEADERS.values():
        return path
    folder = path.rpartition("/")[0]
    return folder if folder in rooms else None


def read_includes(root, rooms):
    complaints = []
    for file in sorted(f for folder in FOLDERS for f in (root / folder).rglob("*") if f.suffix in (".h", ".cc")):
        path = str(file.relative_to(root))
        name = room_of(path, rooms)
        if name in rooms:
            rooms[name].stems.add(file.stem)
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not match or match[1].split("/")[0] not in FOLDERS:
                continue
            target = room_of(match[1], rooms)
            place = f"{path}:{number}"
            if target is None and name in rooms:
                complaints.append(f"{place}: {name} includes {match[1]}, which is a program's own")
            elif name in rooms and target != name:
                room = rooms[name]
                if target not in room.public | room.private | room.parts:
                    complaints.append(f"{place}: {name} must not include {match[1]}: "
                                      f"its dtl_room() does not link {target}")
                elif file.suffix == ".h" and target not in room.public:
                    complaints.append(f"{place}: a header includes {match[1]}: {name} links {target} "
                                      "PRIVATE, and has to PUBLIC")
                seen = room.includes.get(target)
                room.includes[target] = (place, file.suffix == ".h" or bool(seen and seen[1]))
    return complaints


def check_links(rooms):
    for name, room in rooms.items():
        for target in sorted(room.public | room.private):
            if target not in room.includes:
                yield f"{name} links {target} and includes nothing of it"
            elif target in room.public and not room.includes[target][1]:
                yield f"{name} links {target} PUBLIC, and no header of it includes that: PRIVATE"
        if len(room.stems) > MOST_PAIRS:
            yield f"{name} has {len(room.stems)} pairs of files, more than {MOST_PAIRS}: divide it"


def find_circle(rooms):
    state = {}

    def visit(name, way):
        if state.get(name) == "done" or name not in rooms:
            return None
        if name in way:
            return way[way.index(name):] + [name]
        for target in sorted(rooms[name].includes):
            circle = visit(target, way + [name])
            if circle:
                return circle
        state[name] = "done"
        return None

    for name in rooms:
        circle = visit(name, [])
        if circle:
            yield "a circle: " + " -> ".join(circle)


def arrows(rooms):
    """A line for each room: its name, and whom it may include; rooms of its own folder without it."""
    for name in rooms:
        folder = name.split("/")[0]
        short = sorted(t[len(folder) + 1:] if t.startswith(folder + "/") else t for t in rooms[name].includes)
        yield f"    {name:<20}{' '.join(short)}".rstrip()


def main():
    arguments = sys.argv[1:]
    shows = arguments[:1] == ["--arrows"]
    root = pathlib.Path(arguments[-1] if arguments[shows:] else pathlib.Path(__file__).parents[2])
    rooms = read_rooms(root)
    complaints = read_includes(root, rooms)
    if shows:
        print("\n".join(arrows(rooms)))
        return 0
    complaints += [*check_links(rooms), *find_circle(rooms)]
    shown = (root / "CONTRIBUTING.md").read_text() if (root / "CONTRIBUTING.md").exists() else ""
    for line in arrows(rooms):
        if line not in shown.splitlines():
            complaints.append(f"CONTRIBUTING.md lacks the line {line!r} (tests/rules/rooms.py --arrows)")
    for line in shown.splitlines():
        match = re.match(r"    ((?:agent|launcher|ring|trainer)/\w+)(\s|$)", line)
        if match and match[1] not in rooms:
            complaints.append(f"CONTRIBUTING.md shows a room that is not there: {match[1]}")
    print("\n".join(complaints + [f"the rule of rooms: broken in {len(complaints)} place(s)"]
                    if complaints else ["the rule of rooms: kept"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
