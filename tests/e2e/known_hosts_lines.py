#!/usr/bin/env python3
"""Lines of known_hosts about node2, for known_hosts.sh: known_hosts_lines.py SEED TRUE_KEY LINES."""

import random
import sys

OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
PATTERNS = ["node2", "node*", "*", "n?de2", "NODE2", "node1", "*2", "10.*", "[node2]:22", "nod"]


def main():
    draw = random.Random(int(sys.argv[1]))
    for _ in range(int(sys.argv[3])):
        patterns = [("!" if draw.random() < 0.4 else "") + draw.choice(PATTERNS) for _ in range(draw.randint(1, 4))]
        marker = draw.choice(["", "", "", "", "@revoked ", "@cert-authority "])
        key = sys.argv[2] if draw.random() < 0.7 else OTHER_KEY
        print(f"{marker}{','.join(patterns)} {key}")


if __name__ == "__main__":
    main()
