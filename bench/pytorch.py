#!/usr/bin/python3
"""PyTorch over dtring beside gloo, and dtlaunch beside torchrun, in interleaved runs.

usage: bench/pytorch.py [--python PYTHON] [--short] [--rounds N] [--turns N] [PART...]; as root, with
the targets dtlaunch, dtagent, dtguard, dtring and core_pump of the release build

Parts, all of them by default:
  sums      all_reduce of 4 B, 64 KiB and 16 MiB between two hosts
  one-host  the same between two ranks on one host
  steps     steps of DistributedDataParallel with DistilBERT on two hosts
  steps-one-host  the same of two ranks on one host
  steps-shaped    the same of two hosts with links of 1 Gbit/s
  start     from `import torch` to a process group that works, four ranks
  launch    dtlaunch -np 4 -ppn 2 beside torchrun on both hosts: until the first step is over

PYTHON has torch, and transformers if its DistilBERT is to be trained. bench/README.md says what the
figures mean.
"""
import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # do not write into the source tree
from allreduce_hosts import BIN, ROOT, ByEnvironment, DidNotFinish, Gate, Hosts, end
from side_by_side import TURNS, compare, machine, of_rounds, ratio, text

KI, MI = 1 << 10, 1 << 20
LIBRARY = os.path.join(ROOT, "build/release/ring/libdtring.so.2")
TEXTS, TOKENS = 2, 64  # per rank and step
PORT = 29519


def settings(options):
    """Python finds everything compiled, as pip leaves it."""
    return [f"PYTHONPATH={ROOT}/python:{ROOT}/bench", f"DTRING_LIBRARY={LIBRARY}",
            f"PYTHONPYCACHEPREFIX={options.compiled}", "PYTHONDONTWRITEBYTECODE=", "HF_HUB_OFFLINE=1"]


def contestants(options, program, words, wires=("exact",)):
    """gloo last: dtring with each wire, by the name that the tables show."""
    def one(name, backend, *variables):
        command = [options.python, os.path.join(ROOT, "bench", program), backend, *words]
        return ByEnvironment(name, command, [*settings(options), *variables])

    names = {"exact": "dtring", "bf16": "bf16"}
    everybody = {names[wire]: one(names[wire], "dtring", f"DTRING_WIRE={wire}") for wire in wires}
    return {**everybody, "gloo": one("gloo", "gloo")}


def sums(options):
    for title, hosts in (("sums: 2 hosts, one rank on each", Hosts(2)),
                         ("one-host: 2 ranks on one host", Hosts(1, 2))):
        if (title.startswith("sums") and "sums" in options.parts
                or title.startswith("one-host") and "one-host" in options.parts):
            wanted = {4: 100, 64 * KI: 30, 16 * MI: 1 if options.short else 5}
            compare(title, hosts, contestants(options, "allreduce_torch.py", []), wanted, options,
                    turns=options.turns)


def steps(options):
    words = [str(TEXTS), str(TOKENS)]
    for part, title, hosts, wires, repeats in (
            ("steps", "2 hosts, one rank on each", Hosts(2), ["exact"], 3),
            ("steps-one-host", "2 ranks on one host", Hosts(1, 2), ["exact"], 3),
            ("steps-shaped", "2 hosts, one rank on each, links of 1 Gbit/s", Hosts(2, rate="1gbit"),
             ["bf16", "exact"], 1)):
        if part in options.parts:
            compare(f"{part}: {title}; {TEXTS} texts of {TOKENS} tokens for each rank", hosts,
                    contestants(options, "torch_steps.py", words, wires),
                    {"step": 1 if options.short else repeats}, options,
                    keys=["step", "exchange", "wire", "cpu", "wire-cpu"], turns=options.turns)


def start(options):
    print("\nstart: 4 ranks on one host, and 2 on each of 2 hosts, milliseconds of the slowest rank\n"
          f"{'':>10}{'import':>10}{'both':>10}{'mean':>10}{'beside gloo':>14}")
    everybody = contestants(options, "torch_start.py", [])
    for hosts in (Hosts(1, 4), Hosts(2, 2)):
        rows = {name: [] for name in everybody}
        with hosts:
            for index in range(options.times):
                for name in sorted(everybody, reverse=index % 2):
                    gate = Gate(hosts)
                    processes = everybody[name].processes(hosts, [], [gate.variable])
                    try:
                        gate.open(60)
                        hosts.wait(processes, 60)
                    finally:
                        end(processes)
                    imports, both = zip(*gate.results())
                    rows[name].append({"import": max(imports) / 1e3, "both": max(both) / 1e3})
        # Means: whether a client comes too early for the store is chance, and costs half a second.
        means = {name: statistics.fmean(row["both"] for row in of_name) for name, of_name in rows.items()}
        for name, of_name in rows.items():
            print(f"{name:>10}{text(of_rounds(of_name, 'import'), 10)}{text(of_rounds(of_name, 'both'), 10)}"
                  f"{text(means[name], 10)}{text(ratio(means[name], means['gloo']), 14, 2)}"
                  f"   {hosts.count} x {hosts.per_host}")


class Launched:
    """Starts two ranks on each of two hosts; the time until rank 0 has made its first step."""

    def __init__(self, options, name, backend):
        self.name, self.options, self.port = name, options, PORT
        self.script = [os.path.join(ROOT, "bench/torch_start.py"), backend]

    def commands(self, hosts):
        if self.name.startswith("dtlaunch"):
            return {"node1": [os.path.join(BIN, "dtlaunch"), "-hosts", ",".join(hosts.names), "-np",
                              "4", "-ppn", "2", self.options.python, *self.script]}
        return {name: [self.options.python, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node",
                       "2", "--node_rank", str(index), "--master_addr", hosts.addresses["node1"],
                       "--master_port", str(self.port), *self.script]
                for index, name in enumerate(hosts.names)}

    def run(self, hosts):
        self.port += 1  # the last port may still be in use
        begin = time.time()
        processes = [hosts.start(host, command, [*settings(self.options), "GLOO_SOCKET_IFNAME=eth0"])
                     for host, command in self.commands(hosts).items()]
        return float(hosts.wait(processes, 120).split()[-1]) - begin


def launch(options):
    print("\nlaunch: 2 hosts with 2 ranks each, seconds until DDP's first step is over")
    everybody = [Launched(options, "dtlaunch, dtring", "dtring"), Launched(options, "dtlaunch, gloo", "gloo"),
                 Launched(options, "torchrun, gloo", "gloo")]
    rows = {who.name: [] for who in everybody}
    with Hosts(2, 2) as hosts:
        for index in range(options.times):
            turn = index % len(everybody)
            for who in everybody[turn:] + everybody[:turn]:
                try:
                    rows[who.name].append(who.run(hosts))
                except DidNotFinish as error:
                    print(f"{who.name}: {error}", file=sys.stderr)
    rival = statistics.median(rows["torchrun, gloo"]) if rows["torchrun, gloo"] else None
    for name, times in rows.items():
        median = statistics.median(times) if times else None
        print(f"{name:>18}{text(median, 8, 2)}{text(ratio(median, rival), 8, 2)} of torchrun's   "
              f"({len(times)} starts, {min(times, default=0):.2f} to {max(times, default=0):.2f})")


PARTS = {"sums": sums, "one-host": sums, "steps": steps, "steps-one-host": steps, "steps-shaped": steps,
         "start": start, "launch": launch}


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--python", default=os.environ.get("DTL_TEST_PYTHON", "/usr/bin/python3"))
    parser.add_argument("--rounds", type=int, help="of turns; 3, or 1 if short")
    parser.add_argument("--turns", type=int, default=TURNS, help="of each contestant in a round")
    parser.add_argument("--short", action="store_true", help="whether it works, no figures")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part '{unknown.pop()}'; there are: {' '.join(PARTS)}")
    options.parts = options.parts or list(PARTS)
    options.rounds = options.rounds or (1 if options.short else 3)
    options.times = 2 if options.short else 5 * options.rounds
    return options


def main():
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # take the hosts down first
    for needed in (os.path.join(BIN, "dtlaunch"), os.path.join(BIN, "core_pump"), LIBRARY):
        if not os.path.exists(needed):
            sys.exit(f"bench/pytorch.py: {needed} has not been built")
    torch = subprocess.run([options.python, "-c", "import torch; print(torch.__version__)"],
                           check=True, capture_output=True, text=True).stdout.strip()
    print(f"{machine()}; torch {torch}; {options.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, "build")) as options.compiled:
        for part in dict.fromkeys(PARTS[name] for name in options.parts):
            part(options)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
