#!/usr/bin/env python3
"""How the launcher's CPU time grows with the nodes: session_growth.py SESSION_PHASES [NODES...].

Runs the program for each number of nodes with 4 ranks each, several rounds, and takes the least
time of each phase, since other programs only add to it. Fails when the phases together cost more
than 2.3 times as much for twice the nodes, or one of them 2.6 times, on average over the sizes. With NODESxRANKS it prints the times of that size alone.
"""

import json
import math
import subprocess
import sys

SIZES = (256, 512, 1024, 2048)
RANKS = 4
MOST_OF_ALL, MOST = 2.3, 2.6  # for twice the nodes: all phases together, and one phase
ROUNDS = 3
MOST_ROUNDS = 8  # on a machine that does other things
LEAST = 0.03  # CPU seconds at the largest size: of less a ratio says nothing


def phases(program, nodes, ranks):
    done = subprocess.run([program, str(nodes), str(ranks)], stdout=subprocess.PIPE, text=True)
    if done.returncode == 77:
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"{program} {nodes} {ranks} ended with status {done.returncode}")
    result = json.loads(done.stdout)
    return {key: value for key, value in result.items() if key not in ("nodes", "ranks", "rss_kib")}


def too_steep(least):
    """What grows too fast from the smallest to the largest size. A quadratic phase grows fourfold
    for twice the nodes, a linear one by 2.0 to 2.3, as its tables leave the caches."""
    sums = {nodes: {"all phases": sum(times.values())} for nodes, times in least.items()}
    for times, most in ((least, MOST), (sums, MOST_OF_ALL)):
        for phase, seconds in times[SIZES[-1]].items():
            if seconds < LEAST:
                continue
            doublings = math.log2(SIZES[-1] / SIZES[0])
            factor = (seconds / times[SIZES[0]][phase]) ** (1 / doublings)
            if factor > most:
                yield f"{phase}: {factor:.2f} times for twice the nodes"


def main():
    program = sys.argv[1]
    if len(sys.argv) > 2:
        for size in sys.argv[2:]:
            nodes, ranks = (int(part) for part in size.split("x"))
            times = phases(program, nodes, ranks)
            print(f"{size}: {sum(times.values()):.2f} CPU-s: {times}")
        return 0
    least = {}
    for round_number in range(MOST_ROUNDS):
        for nodes in SIZES:
            for phase, seconds in phases(program, nodes, RANKS).items():
                old = least.setdefault(nodes, {}).get(phase, seconds)
                least[nodes][phase] = min(old, seconds)
        if round_number + 1 >= ROUNDS and not list(too_steep(least)):
            break
    for nodes, times in least.items():
        print(f"{nodes} nodes: {sum(times.values()):.3f} CPU-s: {times}")
    steep = list(too_steep(least))
    for line in steep:
        print(f"grows too fast: {line}")
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
