#!/usr/bin/python3
"""Allreduce of libdtring beside gloo, MPICH, Open MPI and bare sockets, in interleaved runs.

usage: bench/allreduce.py [--short] [--rounds N] [PART...]; as root, with python3-torch, mpich,
openmpi-bin, libopenmpi-dev, and the targets allreduce_bench, core_pump and socket_pump of the
release build

Parts, all of them by default:
  latency         two hosts, 4 B to 1 MiB
  large           two hosts, 1 MiB to 256 MiB
  encrypted       two hosts, 4 B, 64 KiB and 16 MiB: under TLS beside not
  oversubscribed  four ranks on one host: more than this machine has cores, if it has two
  one-host        two ranks on one host, 64 KiB to 256 MiB
  short-one-host  two ranks on one host, 4 B to 32 KiB
  shaped          two and four hosts with links of 1 Gbit/s, against the bound
  hierarchy       two hosts with links of 1 Gbit/s: two ranks on each against one, bytes sent
  many            16 hosts with four ranks each: connecting, and 1 MiB
  crowd           32 and 63 hosts: 64 KiB and 1 MiB
  memory          16 hosts: what a rank's memory grows by

Hosts are network namespaces of tests/cluster. Contestants of the first six parts run side by side
and take turns, some tens of milliseconds each, in an order that changes; a turn is the median of
several verified in-place f32 sums of one size, on rank 0, after a barrier. Every round starts all
programs anew. Tables show the median of all turns in microseconds, and time of the first
contestant / time of the other; once more for the turns in which the cores were near to each other
and for those in which they were far apart, where a virtual machine has both. bench/README.md says
what the figures mean.
"""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # do not write into the source tree
from allreduce_hosts import BIN, DidNotFinish, Gate, Hosts, contestants, from_pip
from side_by_side import compare, machine, of_rounds, ratio, table, text

KI, MI = 1 << 10, 1 << 20
RATE = "1gbit"
MANY = ["dtring", "gloo", "openmpi"]  # Debian's MPICH 4.0.2 hangs at startup on 16 hosts
CROWD = ["dtring", "mpich", "openmpi"]
LINE_RATE = 1e9 / 8  # bytes per second of RATE, headers included


def repeats(sizes, options):
    """{size: how often}."""
    def often(size):
        count = 100 if size <= 4 * KI else 30 if size <= 64 * KI else 15 if size <= MI else 5
        count = count if size <= 16 * MI else 3 if size <= 64 * MI else 1
        return max(1, count // 10) if options.short else count

    most = 8 * MI if options.short else max(sizes)
    return {size: often(size) for size in sizes if size <= most}


def interleave(names, rounds, run_one):
    """{name: [what run_one(contestant) gave in each round]}; None where it did not finish."""
    everybody = contestants()
    results = {name: [] for name in names}
    for index in range(rounds):
        turn = index % len(names)
        for name in names[turn:] + names[:turn]:
            try:
                results[name].append(run_one(everybody[name]))
            except DidNotFinish as error:
                results[name].append(None)
                print(f"bench/allreduce.py: {name}: {error}", file=sys.stderr)
    return results


def with_pip(names):
    """Those of Debian that are installed, and the MPIs of pip (bench/README.md)."""
    tools = {"mpich": "mpicc.mpich", "openmpi": "mpicc.openmpi"}
    there = [name for name in names if name not in tools or shutil.which(tools[name])]
    return [*there, *(who.name for who in from_pip())]


def compare_sizes(title, hosts, names, sizes, options, extra=()):
    everybody = contestants()
    return compare(title, hosts, {name: everybody[name] for name in names}, repeats(sizes, options),
                   options, extra)


def bandwidth(size, times, factor=1):
    return None if times["dtring"] is None else factor * size / times["dtring"]


def bandwidth_under_tls(size, times):
    return None if times["encrypted"] is None else size / times["encrypted"]


def latency(options):
    compare_sizes("latency: 2 hosts, one rank on each", Hosts(2),
                  with_pip(["dtring", "gloo", "mpich", "openmpi", "pump"]),
                  [4, 256, 2 * KI, 4 * KI, 16 * KI, 128 * KI, MI], options)


def large(options):
    compare_sizes("large: 2 hosts, one rank on each", Hosts(2),
                  ["dtring", "bf16", "gloo", "mpich", "openmpi", "pump"],
                  [MI, 4 * MI, 16 * MI, 64 * MI, 256 * MI], options, [("dtring MB/s", bandwidth)])


def encrypted(options):
    compare_sizes("encrypted: 2 hosts, one rank on each", Hosts(2), ["encrypted", "dtring"],
                  [4, 64 * KI, 16 * MI], options, [("encrypted MB/s", bandwidth_under_tls)])


def oversubscribed(options):
    compare_sizes(f"oversubscribed: 4 ranks on one host, {os.cpu_count()} cores", Hosts(1, 4),
                  ["dtring", "gloo", "mpich", "openmpi"], [4, 64 * KI], options)


def one_host(options):
    compare_sizes("one-host: 2 ranks on one host", Hosts(1, 2),
                  ["dtring", "dt_alloc", "gloo", "mpich", "openmpi", "copying", "in place"],
                  [64 * KI, 256 * KI, MI, 4 * MI, 16 * MI, 64 * MI, 256 * MI], options,
                  [("dtring MB/s", bandwidth)])


def short_one_host(options):
    compare_sizes("short-one-host: 2 ranks on one host", Hosts(1, 2),
                  with_pip(["dtring", "mpich", "openmpi"]),
                  [4, 256, 2 * KI, 4 * KI, 16 * KI, 32 * KI], options)


def shaped(options):
    for count in (2, 4):
        factor = 2 * (count - 1) / count
        hosts = Hosts(count, rate=RATE)

        def above_pump(size, times):
            return ratio(times["dtring"], times["pump"])

        def above_bound(size, times, factor=factor):
            return ratio(times["dtring"], factor * size / LINE_RATE * 1e6)

        results = compare_sizes(f"shaped: {count} hosts, one rank on each, links of {RATE}", hosts,
                                ["dtring", "bf16", "gloo", "mpich", "openmpi", "pump"],
                                [8 * MI, 32 * MI, 64 * MI], options,
                                [("x the bound", above_bound)])
        largest = max(size for row in results["pump"] or [{8 * MI: 0}] for size in row)
        time = of_rounds(results["pump"], largest)
        if time:
            payload = factor * largest / time  # MB/s
            print(f"  the pump moves {payload:.1f} MB/s of payload each way at once, "
                  f"{payload * 1e6 / LINE_RATE:.1%} of the rate; bound: "
                  f"{factor:g} x bytes / {LINE_RATE / 1e6:g} MB/s")


def hierarchy(options):
    names = ["dtring", "gloo", "mpich", "openmpi"]
    size = 8 * MI if options.short else 32 * MI
    wanted = repeats([size], options)
    for per_host in (1, 2):
        hosts = Hosts(2, per_host, RATE)
        print(f"\nhierarchy: 2 hosts with {per_host} ranks each, links of {RATE}")

        def run_one(who):
            before = hosts.sent()
            row = who.run(hosts, wanted)
            row["sent"] = (hosts.sent() - before) / (wanted[size] + 2) / size  # two warm-up rounds
            return row

        with hosts:
            results = interleave(names, options.rounds, run_one)
        table(results, [size])
        for name, rows in results.items():
            print(f"  {name}: node1 sends {text(of_rounds(rows, 'sent'), 0, 3)} bytes for each byte "
                  "of the tensor, headers included (bound: 1)")


def many(options):
    hosts = Hosts(4 if options.short else 16, 4)
    wanted = {MI: 3 if options.short else 5}
    print(f"\nmany: {hosts.count} hosts with 4 ranks each; connect: until the first barrier is over")
    with hosts:
        results = interleave(MANY, 1 if options.short else 3,
                             lambda who: who.run(hosts, wanted, 300, Gate(hosts)))
    table(results, ["connect", MI])


def crowd(options):
    for count in (8,) if options.short else (32, 63):
        hosts = Hosts(count)
        wanted = {64 * KI: 3, MI: 3} if options.short else {64 * KI: 10, MI: 10}
        print(f"\ncrowd: {count} hosts, one rank on each")
        with hosts:
            results = interleave(CROWD, options.rounds,
                                 lambda who: who.run(hosts, wanted, 120, Gate(hosts)))
        table(results, list(wanted))


def memory(options):
    hosts = Hosts(4 if options.short else 16)
    size = 8 * MI if options.short else 64 * MI
    print(f"\nmemory: {hosts.count} hosts, one rank on each, one round; VmRSS in MiB, median and most of the "
          "ranks\n" + f"{'':>10}{'by connecting':>22}{f'by sums of {size >> 20} MiB':>22}")

    def run_one(who):
        gate = Gate(hosts)
        # Freed memory returns to the system at once, so the ranks' own tensors do not count.
        who.run(hosts, {size: 2}, 120, gate, ["MALLOC_MMAP_THRESHOLD_=65536"])
        return dict(enumerate(zip(*gate.results())))

    with hosts:
        results = interleave(MANY, 1, run_one)
    for name, rows in results.items():
        columns = [rows[0][i] for i in (0, 1)] if rows[0] else []
        print(f"{name:>10}" + "".join(
            f"{f'{statistics.median(column) / KI:.1f}, {max(column) / KI:.1f}':>22}"
            for column in columns))


PARTS = {"latency": latency, "large": large, "encrypted": encrypted,
         "oversubscribed": oversubscribed, "one-host": one_host, "short-one-host": short_one_host, "shaped": shaped,
         "hierarchy": hierarchy, "many": many, "crowd": crowd, "memory": memory}


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--rounds", type=int, help="of each part; 3, or 1 if short")
    parser.add_argument("--short", action="store_true",
                        help="few repeats, up to 8 MiB, fewer hosts: whether it works, no figures")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part '{unknown.pop()}'; there are: {' '.join(PARTS)}")
    options.rounds = options.rounds or (1 if options.short else 3)
    return options


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # take the hosts down first
    for program in ("allreduce_bench", "core_pump", "socket_pump"):
        if not os.access(os.path.join(BIN, program), os.X_OK):
            sys.exit(f"bench/allreduce.py: {program} has not been built")
    print(f"{machine()}; {options.rounds} rounds; every sum verified", flush=True)
    for name in options.parts or PARTS:
        PARTS[name](options)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
