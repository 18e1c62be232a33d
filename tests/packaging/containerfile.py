#!/usr/bin/env python3
"""Does in folders what a container engine does with a Containerfile.

usage: containerfile.py build FILE CONTEXT WORK --base IMAGE=FOLDER... [--lend FOLDER]
       containerfile.py run [--root FOLDER] WORK/image.json [COMMAND...]

build takes the steps one by one: a stage is a folder WORK/stage-N that begins as a copy of its base,
RUN is a chroot in namespaces of its own (tests/clean_room/room.sh, with what may be lent there), COPY
copies. What it does not know it refuses, with the line. WORK/image.json tells about the last stage:
its folder, variables, user, command. run starts that, or a COMMAND, as an engine would. Needs root.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOM = pathlib.Path(__file__).resolve().parent.parent / "clean_room" / "room.sh"
IGNORE_FILE = ".dockerignore"  # podman, buildah and docker all read it


class Refused(Exception):
    pass


def instructions(text):
    """(line number, word, rest) of each; lines that end in a backslash go on."""
    begun, parts = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            if re.match(r"#\s*(escape|syntax|check)\s*=", line) and not parts and number == 1:
                raise Refused(f"{number}: parser directives are not known here")
            continue
        if not line.strip() and not parts:
            continue
        begun = begun or number
        parts.append(line.rstrip().removesuffix("\\"))
        if line.rstrip().endswith("\\"):
            continue
        word, _, rest = " ".join(parts).strip().partition(" ")
        yield begun, word.upper(), rest.strip()
        begun, parts = 0, []
    if parts:
        raise Refused(f"{begun}: the file ends within this instruction")


def command(rest):
    """The words of RUN, CMD and ENTRYPOINT, in either form."""
    if rest.startswith("["):
        words = json.loads(rest)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise Refused("not a list of strings")
        return words
    if rest.startswith("--") or "<<" in rest:
        raise Refused("options and here-documents are not known here")
    return ["/bin/sh", "-c", rest]


def pairs(rest):
    """NAME=VALUE words of ENV and LABEL."""
    words = shlex.split(rest)
    if "$" in rest:
        raise Refused("variables within values are not known here")
    if not words or not all("=" in word for word in words):
        raise Refused("write NAME=VALUE")
    return dict(word.split("=", 1) for word in words)


def account(root, user):
    """(uid, gid, home) of a user of that root, by name or number."""
    for line in (root / "etc/passwd").read_text().splitlines():
        name, _, uid, gid, _, home, _ = line.split(":")
        if user in (name, uid):
            return uid, gid, home
    raise Refused(f"there is no user {user}")


def enter(root, image, words, lend="", variables=()):
    """A command in the root, as the image's user, in its folder, with its variables; its status."""
    uid, gid, home = account(root, image["user"])
    values = {"HOME": home, **dict(variables), **image["env"]}
    script = '. "$0"; lent=$1; shift; enter "$@"'
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script, ROOM, lend, root,
         *(f"{name}={value}" for name, value in values.items()),
         "setpriv", "--reuid", uid, "--regid", gid, "--init-groups", "--",
         "sh", "-c", 'cd "$0" && exec "$@"', image["workdir"], *words]).returncode


class Build:
    def __init__(self, arguments):
        self.context, self.work, self.lend = arguments.context, arguments.work, arguments.lend
        self.bases = dict(base.split("=", 1) for base in arguments.base)
        self.stages, self.names, self.image = [], {}, None

    def step(self, word, rest):
        known = getattr(self, "do_" + word.lower(), None)
        if known is None:
            raise Refused(f"{word} is not known here")
        if self.image is None and word != "FROM":
            raise Refused("the first instruction is FROM")
        known(rest)

    def do_from(self, rest):
        match = re.fullmatch(r"(\S+)(?:\s+[Aa][Ss]\s+(\S+))?", rest)
        if not match or match[1].startswith("--"):
            raise Refused("write FROM IMAGE or FROM IMAGE AS NAME")
        if match[1] in self.names:
            base, image = self.names[match[1]]["root"], dict(self.names[match[1]])
        elif match[1] in self.bases:
            base, image = self.bases[match[1]], {"env": {}, "user": "root", "workdir": "/",
                                                 "entrypoint": [], "cmd": [], "labels": {}, "ports": []}
        else:
            raise Refused(f"no --base says what stands for {match[1]}")
        root = self.work / f"stage-{len(self.stages)}"
        subprocess.run(["cp", "-a", "--reflink=auto", base, root], check=True)
        self.image = {**image, "env": dict(image["env"]), "root": str(root)}
        self.stages.append(self.image)
        self.names[match[2] or str(len(self.stages) - 1)] = self.image

    @property
    def root(self):
        return pathlib.Path(self.image["root"])

    def do_run(self, rest):
        listed = subprocess.run(
            ["bash", "-c", '. "$0"; lent=$1; lent_variables "$2"', ROOM, self.lend,
             self.image["workdir"]], stdout=subprocess.PIPE, text=True).stdout.split()
        lent = [tuple(line.split("=", 1)) for line in listed] if self.lend else []
        status = enter(self.root, self.image, command(rest), self.lend, lent)
        if status != 0:
            raise Refused(f"ended with status {status}")

    def do_copy(self, rest):
        words = shlex.split(rest)
        source = None
        if words and words[0].startswith("--from="):
            name = words.pop(0).removeprefix("--from=")
            if name not in self.names:
                raise Refused(f"there is no stage {name}")
            source = pathlib.Path(self.names[name]["root"])
        if len(words) < 2 or any(word.startswith("--") or set("*?[$") & set(word) for word in words):
            raise Refused("write COPY [--from=STAGE] FROM... TO, without patterns and other options")
        *items, to = words
        target = self.root / os.path.join(self.image["workdir"], to).lstrip("/")
        folder = to.endswith(("/", ".")) or len(items) > 1
        for item in items:
            path = (source or self.context) / item.lstrip("/")
            if path.is_dir():
                ignored = set() if source else self.ignored()
                shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True,
                                ignore=lambda where, names: ignored & set(names)
                                if pathlib.Path(where) == self.context else set())
            else:
                target_file = target / path.name if folder else target
                target_file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target_file)

    def ignored(self):
        file = self.context / IGNORE_FILE
        lines = file.read_text().split() if file.exists() else []
        if any(set("*?[!/#") & set(line) for line in lines):
            raise Refused(f"{IGNORE_FILE}: only names of the top folder are known here")
        return set(lines)

    def do_env(self, rest):
        self.image["env"].update(pairs(rest))

    def do_label(self, rest):
        self.image["labels"] = {**self.image["labels"], **pairs(rest)}

    def do_workdir(self, rest):
        self.image["workdir"] = os.path.join(self.image["workdir"], rest)
        (self.root / self.image["workdir"].lstrip("/")).mkdir(parents=True, exist_ok=True)

    def do_user(self, rest):
        account(self.root, rest)
        self.image["user"] = rest

    def do_expose(self, rest):
        if not re.fullmatch(r"\d+(/(tcp|udp))?", rest):
            raise Refused("write EXPOSE PORT")
        self.image["ports"] = [*self.image["ports"], rest]

    def do_entrypoint(self, rest):
        self.image["entrypoint"], self.image["cmd"] = command(rest), []

    def do_cmd(self, rest):
        self.image["cmd"] = command(rest)


def build(arguments):
    steps = Build(arguments)
    for number, word, rest in instructions(arguments.file.read_text()):
        print(f"-- {arguments.file.name}:{number}: {word} {rest[:100]}", flush=True)
        try:
            steps.step(word, rest)
        except (Refused, OSError, ValueError) as error:
            sys.exit(f"{arguments.file}:{number}: {word}: {error}")
    (arguments.work / "image.json").write_text(json.dumps(steps.image, indent=1))


def run(arguments):
    image = json.loads(arguments.image.read_text())
    words = image["entrypoint"] + (arguments.command or image["cmd"])
    sys.exit(enter(arguments.root or pathlib.Path(image["root"]), image, words))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(required=True)
    making = actions.add_parser("build")
    for name in ("file", "context", "work"):
        making.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    making.add_argument("--base", action="append", default=[], metavar="IMAGE=FOLDER")
    making.add_argument("--lend", default="", metavar="FOLDER")
    making.set_defaults(act=build)
    running = actions.add_parser("run")
    running.add_argument("image", type=pathlib.Path)
    running.add_argument("--root", type=pathlib.Path)
    running.add_argument("command", nargs=argparse.REMAINDER)
    running.set_defaults(act=run)
    arguments = parser.parse_args()
    try:
        arguments.act(arguments)
    except Refused as error:
        sys.exit(f"{arguments.file if arguments.act is build else arguments.image}:{error}")


if __name__ == "__main__":
    main()
