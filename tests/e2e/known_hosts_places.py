#!/usr/bin/env python3
"""Every place where ssh looks for a host's key, for known_hosts.sh: known_hosts_places.py SEED TRUE_KEY FOLDER.

Writes ~/.ssh files of a user into FOLDER (config, known_hosts, known_hosts2, more, global, printed)
about node2, whose sshd listens on 22 and on 2223.
"""

import pathlib
import random
import sys

OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
HOME = "/run/root/.ssh"
NAMES = ["node2", "[node2]:2223", "node*", "[node2]:*", "[node2]:22", "[node1]:2223", "*", "NODE2"]
ALIASES = ["farm-2", "farm-*", "[farm-2]:2223", "FARM-2", "node9"]


def lines(draw, names, key):
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        patterns = [("!" if draw.random() < 0.1 else "") + draw.choice(names) for _ in range(draw.randint(1, 2))]
        marker = draw.choice([""] * 8 + ["@revoked "])
        yield f"{marker}{','.join(patterns)} {key if draw.random() < 0.7 else OTHER_KEY}\n"


def config(draw, alias):
    yield "Host node2\n"
    if draw.random() < 0.7:
        yield "  Port 2223\n"
    if alias:
        yield "  HostKeyAlias farm-2\n"
    if draw.random() < 0.5:
        yield f"  UserKnownHostsFile {draw.choice(['~/.ssh', '%d/.ssh', HOME])}/known_hosts {HOME}/more\n"
    if draw.random() < 0.5:
        yield f"  GlobalKnownHostsFile {HOME}/global\n"
    if draw.random() < 0.4:
        yield f"  KnownHostsCommand /bin/sh -c \"cat {HOME}/printed\" %H %t\n"


def main():
    draw, key, folder = random.Random(int(sys.argv[1])), sys.argv[2], pathlib.Path(sys.argv[3])
    alias = draw.random() < 0.3
    (folder / "config").write_text("".join(config(draw, alias)))
    for name in ("known_hosts", "known_hosts2", "more", "global", "printed"):
        (folder / name).write_text("".join(lines(draw, NAMES + ALIASES if alias else NAMES, key)))


if __name__ == "__main__":
    main()
