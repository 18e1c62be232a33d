#!/usr/bin/env python3
"""The lines of known_hosts that are about a host, as OpenSSH's own ssh-keygen -F finds them:
known_hosts_parity.py KNOWN_HOSTS_HERE [LINES [SEED]].
"""

import base64
import hashlib
import hmac
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
HOSTS = ["node1", "node2", "node10", "node2.lan", "login.lan", "10.0.0.2", "[node2]:2222", "[10.0.0.2]:22",
         "NODE2", "fe80::1", "a"]


def pattern(draw):
    """A host's name with some of its characters made wild, upper-case or wrong."""
    text = draw.choice(HOSTS)
    at, end = sorted(draw.choices(range(len(text) + 1), k=2))
    change = draw.random()
    if change < 0.3:
        text = text[:at] + "*" * draw.randint(1, 2) + text[end:]
    elif change < 0.5:
        text = text[:at] + "?" * (end - at) + text[end:]
    elif change < 0.6:
        text = text.upper()
    elif change < 0.65:
        text = text[:at] + draw.choice("x-_.!|") + text[at:]
    return ("!" if draw.random() < 0.25 else "") + text


def hashed(draw):
    """A name as ssh-keygen -H writes it; some cut short or of another kind."""
    salt = draw.randbytes(20 if draw.random() < 0.9 else 16)
    digest = hmac.new(salt, draw.choice(HOSTS).lower().encode(), hashlib.sha1).digest()
    kind = "1" if draw.random() < 0.95 else "2"
    name = f"|{kind}|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"
    return name if draw.random() < 0.95 else name[:-1]


def line(draw):
    if draw.random() < 0.2:
        return f"{hashed(draw)} {KEY}"
    patterns = [pattern(draw) for _ in range(draw.randint(1, 5))]
    if draw.random() < 0.05:
        patterns.insert(draw.randint(0, len(patterns)), draw.choice(["", "*", "!*", "!", "x" * draw.randint(1020, 1026)]))
    marker = draw.choice(["", "", "", "@revoked ", "@cert-authority "])
    text = ",".join(patterns)
    # A name that begins with '|' is a hash, which ssh-keygen compares; an empty one is not a line.
    if text.startswith("|") or not text.strip(","):
        text = "node1"
    return marker + text + draw.choice([" ", "\t", "  "]) + KEY


def found_by_ssh(file, host):
    answer = subprocess.run(["ssh-keygen", "-F", host, "-f", file], stdout=subprocess.PIPE, text=True)
    return [int(number) for number in re.findall(r"^# Host .* found: line (\d+)", answer.stdout, re.M)]


def main():
    here, count, seed = sys.argv[1], int((sys.argv[2:] or [10000])[0]), int((sys.argv[3:] or [1])[0])
    if shutil.which("ssh-keygen") is None:
        print("skipped: ssh-keygen is not installed")
        return 77
    draw = random.Random(seed)
    lines = [line(draw) for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "known_hosts"
        file.write_text("\n".join(lines) + "\n")
        ours = subprocess.run([here, file, *HOSTS], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
        wrong = matches = 0
        for host, numbers in zip(HOSTS, ours):
            theirs = found_by_ssh(file, host)
            matches += len(theirs)
            different = set(theirs) ^ {int(each) for each in numbers.split()}
            # ssh makes a name lower-case before it looks for its hash; ssh-keygen does not.
            if host != host.lower():
                different = {number for number in different if not lines[number - 1].startswith("|")}
            for number in sorted(different):
                wrong += 1
                print(f"seed {seed}: {host}: ssh-keygen and dtlaunch differ about: {lines[number - 1]}")
    print(f"{count} lines, {len(HOSTS)} hosts, {matches} matches, {wrong} different")
    return 1 if wrong or not matches else 0


if __name__ == "__main__":
    sys.exit(main())
