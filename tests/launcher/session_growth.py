#!/usr/bin/env python3
"""How the launcher's CPU time grows with the nodes: session_growth.py SESSION_PHASES [NODES...].

Runs the program for each number of nodes with 4 ranks each, several rounds, and takes the least
time of each phase, since other programs only add to it. Fails when a phase costs more than 2.3
times as much for twice the nodes, on average over the sizes. With NODESxRANKS it prints the times of that size alone.
"""

import json
import math
import subprocess
import sys

SIZES = (256, 512, 1024, 2048)
RANKS = 4
MOST = 2.3  # for twice the nodes: linear, and the larger tables' misses of the cache
ROUNDS = 3
MOST_ROUNDS = 8  # on a machine that does other things
LEAST = 0.02  # CPU seconds: of less a ratio says nothing


def phases(program, nodes, ranks):
    done = subprocess.run([program, str(nodes), str(ranks)], stdout=subprocess.PIPE, text=True)
    if done.returncode == 77:
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"{program} {nodes} {ranks} ended with status {done.returncode}")
    result = json.loads(done.stdout)
    return {key: value for key, value in result.items() if key not in ("nodes", "ranks", "rss_kib")}


def too_steep(least):
    """Over all sizes at which the phase takes long enough, so that one bad figure does not decide."""
    for phase in least[SIZES[-1]]:
        long_enough = [nodes for nodes in SIZES if least[nodes][phase] >= LEAST]
        if len(long_enough) < 2:
            continue
        small, large = long_enough[0], long_enough[-1]
        doublings = math.log2(large / small)
        factor = (least[large][phase] / least[small][phase]) ** (1 / doublings)
        if factor > MOST:
            yield f"{phase}: {factor:.2f} times for twice the nodes, from {small} to {large}"


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
