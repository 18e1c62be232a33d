#!/usr/bin/python3
"""This build beside an older one of the project, in interleaved runs: what a change costs.

usage: bench/before.py BUILD [--short] [--rounds N] [PART...]; as root, with the targets dtlaunch,
dtagent, dtguard, dtring, train_steps, allreduce_bench and core_pump of the release build

Parts, all of them by default:
  launch    jobs of `true`: two ranks on one host, and one on each of four over ssh
  latency   allreduce, two hosts, 4 B to 4 KiB
  large     two hosts, 1 MiB to 64 MiB
  one-host  two ranks on one host, 64 KiB to 64 MiB
  short-one-host  two ranks on one host, 4 B to 32 KiB
  train     steps of DistilBERT, 8 texts of MRPC's lengths, on one core

BUILD is the other build's folder, and has the same programs but for allreduce_bench and core_pump: this
build's run with either library.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # do not write into the source tree
from allreduce import repeats
from allreduce_hosts import BIN, ByEnvironment, Hosts
from side_by_side import compare, machine
from train import LAYERS, VOCABULARY, write_examples

KI, MI = 1 << 10, 1 << 20
JOBS, SHORT_JOBS = 15, 2  # per program and round
STEPS, BATCH = 6, 8


def sums(title, hosts, sizes, options):
    bench = os.path.join(BIN, "allreduce_bench")
    before = [f"LD_LIBRARY_PATH={os.path.join(options.build, 'ring')}"]
    compare(title, hosts, {"now": ByEnvironment("now", [bench]),
                           "before": ByEnvironment("before", [bench], before)},
            repeats(sizes, options), options)


def latency(options):
    sums("latency: 2 hosts, one rank on each", Hosts(2), [4, 64, KI, 4 * KI], options)


def large(options):
    sums("large: 2 hosts, one rank on each", Hosts(2), [MI, 4 * MI, 16 * MI, 64 * MI], options)


def one_host(options):
    sums("one-host: 2 ranks on one host", Hosts(1, 2), [64 * KI, MI, 16 * MI, 64 * MI], options)


def short_one_host(options):
    sums("short-one-host: 2 ranks on one host", Hosts(1, 2),
         [4, 64, 256, KI, 2 * KI, 4 * KI, 32 * KI], options)


def in_turns(options, times, run):
    """{name: medians of what run(folder of the programs) gave}, in an order that changes."""
    folders = {"now": BIN, "before": os.path.join(options.build, "bin")}
    given = {name: [] for name in folders}
    for index in range(times):
        for name in sorted(folders, reverse=index % 2 == 0):
            given[name].append(run(folders[name]))
    return {name: statistics.median(values) for name, values in given.items()}


def show(what, unit, medians):
    print(f"{what:>24} {medians['now']:12.1f} {medians['before']:12.1f} "
          f"{medians['now'] / medians['before']:12.2f}   {unit}")


def launch(options):
    print(f"\nlaunch: jobs of true\n{'':>24} {'now':>12} {'before':>12} {'now/before':>12}")
    times = SHORT_JOBS if options.short else JOBS * options.rounds
    with Hosts(4) as hosts:
        for what, words in (("2 ranks on one host", ["-np", "2", "--oversubscribe"]),
                            ("4 hosts over ssh", ["-hosts", ",".join(hosts.names), "-np", "4", "-ppn", "1"])):
            def job(folder, words=words):
                begin = time.perf_counter()
                hosts.wait([hosts.start("node1", [os.path.join(folder, "dtlaunch"), *words, "true"])], 60)
                return 1e3 * (time.perf_counter() - begin)

            show(what, "ms", in_turns(options, times, job))


def train(options):
    print(f"\ntrain: steps of DistilBERT on one core\n{'':>24} {'now':>12} {'before':>12} {'now/before':>12}")
    with tempfile.TemporaryDirectory() as folder:
        examples = os.path.join(folder, "examples")
        write_examples(examples, "mrpc", STEPS * BATCH)

        def steps(programs):
            words = [examples, "distilbert", str(LAYERS["distilbert"]), str(VOCABULARY), str(BATCH), str(STEPS), "1",
                     "float32"]
            done = subprocess.run(["taskset", "-c", "0", os.path.join(programs, "train_steps"), *words], check=True,
                                  env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True)
            steps = json.loads(done.stdout.splitlines()[-1])["steps"]
            return 1e3 * statistics.median(step["seconds"] for step in steps)

        show("a step", "ms", in_turns(options, 1 if options.short else 3 * options.rounds, steps))


PARTS = {"launch": launch, "latency": latency, "large": large, "one-host": one_host,
         "short-one-host": short_one_host, "train": train}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD")
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--rounds", type=int, help="of each part; 3, or 1 if short")
    parser.add_argument("--short", action="store_true", help="whether it works, no figures")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part '{unknown.pop()}'; there are: {' '.join(PARTS)}")
    options.rounds = options.rounds or (1 if options.short else 3)
    options.build = os.path.abspath(options.build)
    if not os.access(os.path.join(options.build, "bin/dtlaunch"), os.X_OK):
        parser.error(f"{options.build} is no build: bin/dtlaunch is not there")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # take the hosts down first
    print(f"{machine()}, beside {options.build}; {options.rounds} rounds", flush=True)
    for name in options.parts or PARTS:
        PARTS[name](options)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
