"""Compares dtlaunch's plan with what placement.py said. usage: placement_check.py PLAN SAID WHAT"""

import json
import re
import sys


def numbers_of(text):
    """The CPUs of a list as the kernel writes it: 0,2-5."""
    found = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def plan_of(path):
    """Threads and CPUs of each rank: the rows "rank local threads NUMA NIC CPUs" of a dry run."""
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r"^ +(\d+) +(\d+) +(\d+) +[\d,]+ +(?:-|near|far) +([\d,-]+)$", file.read(), re.M)
    return {int(rank): (int(threads), numbers_of(cpus)) for rank, _, threads, cpus in rows}


def check(rank, threads, cpus):
    # Not rank["interop"]: pip's torch sets these threads by the machine's CPUs and reads no variable for
    # them. Only some programs use them.
    assert rank["threads"] == threads, ("torch's threads", rank)
    assert rank["parallel_info"]["omp_get_max_threads"] == threads, ("OpenMP's threads", rank)
    assert rank["parallel_info"].get("mkl_get_max_threads", threads) == threads, ("MKL's threads", rank)
    assert rank["OMP_NUM_THREADS"] == str(threads), rank
    assert rank["cpus"] == rank["main_thread"] == cpus, ("the kernel's mask", rank)


def main():
    plan = plan_of(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        said = {rank["rank"]: rank for rank in map(json.loads, file)}
    assert plan and plan.keys() == said.keys(), (plan, said)
    for number, rank in said.items():
        try:
            check(rank, *plan[number])
        except AssertionError as error:
            sys.exit(f"{sys.argv[3]}: planned {plan[number]}, but: {error}")
    print(f"{sys.argv[3]}: " + ", ".join(f"rank {number}: {threads} threads on CPUs {cpus}"
                                         for number, (threads, cpus) in sorted(plan.items())))


main()
