#!/usr/bin/python3
"""Allreduce between two hosts: libdtring beside gloo and MPICH, in one interleaved run.

usage: bench/allreduce.py [ROUNDS]; needs root, python3-torch, mpich, and the release build

The hosts are two network namespaces of tests/cluster, one rank on each. A round runs each of the
three once, in an order that changes; each run takes the median of many verified in-place f32 sums
per size, on rank 0, after a barrier. The table shows the median of the rounds.
"""
import os
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLUSTER = os.path.join(ROOT, "tests/cluster/cluster")
BENCH = os.path.join(ROOT, "build/release/bin/allreduce_bench")
PORT = "29517"
SIZES = [4 << shift for shift in range(0, 25, 2)]  # 4 B ... 64 MiB


def repeats(size):
    return 200 if size <= 64 << 10 else 40 if size <= 1 << 20 else 9


def on(host, command, environment=(), **options):
    return subprocess.Popen([CLUSTER, "exec", host, "env", *environment, *command],
                            stdout=subprocess.PIPE, text=True, **options)


def parse(text, what):
    table = {int(line.split()[0]): float(line.split()[1]) for line in text.splitlines()}
    if sorted(table) != SIZES:
        sys.exit(f"bench/allreduce.py: {what} did not finish:\n{text}")
    return table


def env_job(command, address, extra):
    def variables(rank):
        return [f"RANK={rank}", "WORLD_SIZE=2", f"MASTER_ADDR={address}", f"MASTER_PORT={PORT}",
                f"DTLAUNCH_HOST=node{rank + 1}", *extra]

    ranks = [on(f"node{rank + 1}", command, variables(rank)) for rank in (0, 1)]
    text = ranks[0].communicate(timeout=300)[0]
    ranks[1].communicate(timeout=60)
    return text


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False).stdout.strip()
    load = os.getloadavg()[0]
    return (f"{os.cpu_count()} x {model}, Linux {platform.release()}, load {load:.1f}, "
            f"commit {commit or 'unknown'}")


def run(rounds, folder):
    arguments = [f"{size}:{repeats(size)}" for size in SIZES]
    secret = os.path.join(folder, "secret")
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(os.urandom(32))
    mpi = os.path.join(folder, "allreduce_mpi")
    subprocess.run(["mpicc", "-O2", os.path.join(ROOT, "bench/allreduce_mpi.c"), "-o", mpi],
                   check=True)
    address = on("node1", ["getent", "hosts", "node1"]).communicate()[0].split()[0]
    jobs = {
        "dtring": lambda: env_job([BENCH, *arguments], address, [f"DTRING_SECRET_FILE={secret}"]),
        "gloo": lambda: env_job(["/usr/bin/python3", os.path.join(ROOT, "bench/allreduce_gloo.py"),
                                 *arguments], address, []),
        "mpich": lambda: on("node1", ["mpiexec.hydra", "-launcher", "ssh", "-hosts", "node1,node2",
                                      "-np", "2", "-ppn", "1", mpi,
                                      *arguments]).communicate(timeout=300)[0],
    }
    results = {name: [] for name in jobs}
    names = list(jobs)
    for index in range(rounds):
        for name in names[index % 3:] + names[:index % 3]:
            results[name].append(parse(jobs[name](), name))
    return results


def report(results, rounds):
    print(f"2 ranks on 2 hosts (network namespaces), f32 sum in place, median of {rounds} rounds; "
          "every sum verified")
    print("algbw = bytes / time; busbw = algbw * 2(n-1)/n = algbw for n = 2; MB = 10^6 bytes")
    print(f"{'bytes':>10}" + "".join(f"{name + ' us':>13}" for name in results)
          + "".join(f"{name + ' MB/s':>13}" for name in results)
          + "".join(f"{'dtring/' + name:>14}" for name in results if name != "dtring"))
    for size in SIZES:
        times = {n: statistics.median(r[size] for r in rows) for n, rows in results.items()}
        print(f"{size:>10}" + "".join(f"{time:>13.1f}" for time in times.values())
              + "".join(f"{size / time:>13.1f}" for time in times.values())
              + "".join(f"{times['dtring'] / time:>14.2f}"
                        for n, time in times.items() if n != "dtring"))
    largest = SIZES[-1]
    for name, rows in results.items():
        print(f"{largest} bytes, {name}, ms in each round: "
              + " ".join(f"{row[largest] / 1000:.1f}" for row in rows))


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    if not os.access(BENCH, os.X_OK):
        sys.exit(f"bench/allreduce.py: {BENCH} has not been built")
    print(machine())
    with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, "build")) as folder:
        os.environ["DTL_CLUSTER"] = os.path.join(folder, "cluster")
        subprocess.run([CLUSTER, "up", "2"], check=True, stdout=subprocess.DEVNULL)
        try:
            results = run(rounds, folder)
        finally:
            subprocess.run([CLUSTER, "down"], check=True)
    report(results, rounds)


if __name__ == "__main__":
    main()
