#!/usr/bin/env python3
"""The time to start and end two ranks on this machine, for several launchers in one interleaved run.

usage: bench/local_start.py ROUNDS LAUNCHER...    each a dtlaunch or an mpiexec, by its path
"""
import os, platform, statistics, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))


def run(launcher, *program):
    """Wall and CPU time in ms: of the launcher and of the children that it awaited."""
    with open(os.devnull) as nothing:
        begin = time.perf_counter()
        child = subprocess.Popen([launcher, "-n", "2", *program], stdin=nothing, stdout=subprocess.PIPE)
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"local_start: {launcher}: exit status {child.returncode}")
    return 1000 * wall, 1000 * (usage.ru_utime + usage.ru_stime), output


def main():
    rounds, launchers = int(sys.argv[1]), sys.argv[2:]
    commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    print(f"commit {commit.stdout.strip() or 'unknown'}, {os.cpu_count()} CPUs, Linux {platform.release()}, "
          f"load {os.getloadavg()[0]:.1f}, {rounds} rounds of: LAUNCHER -n 2 true")
    for launcher in launchers:
        if sorted(run(launcher, "sh", "-c", "echo $PMI_RANK")[2].split()) != [b"0", b"1"]:
            sys.exit(f"local_start: {launcher}: does not run ranks 0 and 1")
    times = {launcher: [] for launcher in launchers}
    for _ in range(rounds):
        for launcher in launchers:
            times[launcher].append(run(launcher, "true")[:2])
    print(f"{'median':>8} {'fastest':>8} {'CPU':>8}   ms")
    for launcher, runs in times.items():
        walls, cpus = zip(*runs)
        print(f"{statistics.median(walls):8.1f} {min(walls):8.1f} {statistics.median(cpus):8.1f}   {launcher}")


if __name__ == "__main__":
    main()
