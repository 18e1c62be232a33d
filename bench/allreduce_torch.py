"""The same as allreduce.cc through PyTorch: BACKEND BYTES:REPEATS:TURNS... -> "BYTES MICROSECONDS"."""
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from turns import Turns


def resident():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def connect(backend, gate):
    if gate:  # bench/gate.h
        tempfile.mkstemp(prefix="ready.", dir=gate)
        while not os.path.exists(gate + "/go"):
            time.sleep(0.001)
    if backend == "dtring":
        import dtring  # noqa: F401  registers the backend
    dist.init_process_group(backend)
    dist.barrier()
    if gate and dist.get_rank() == 0:
        print("connect", round((time.time() - os.stat(gate + "/go").st_mtime) * 1e6, 1), flush=True)


def take_turns(size, repeats, turns, clock):
    rank, world = dist.get_rank(), dist.get_world_size()
    index = torch.arange(size // 4, dtype=torch.int32)
    mine = ((index + rank) % 1000).float()
    expected = torch.zeros_like(mine)
    for other in range(world):
        expected += ((index + other) % 1000).float()
    values = torch.empty_like(mine)
    for _ in range(turns):
        clock.begin()
        times = [sum_once(values, mine, expected) for _ in range(repeats + 2)]
        if rank == 0:
            micros = statistics.median(times[2:]) * 1e6  # two warm-up rounds
            print(size, round(micros, 1), flush=True)
        clock.end()


def sum_once(values, mine, expected):
    values.copy_(mine)
    dist.barrier()
    start = time.perf_counter()
    dist.all_reduce(values)
    elapsed = time.perf_counter() - start
    if not torch.equal(values, expected):
        sys.exit("allreduce_torch.py: wrong sum")
    return elapsed


def main():
    torch.set_num_threads(1)
    torch.arange(16).float().sum()  # PyTorch's own memory does not count for a backend
    gate = os.environ.get("BENCH_GATE")
    before = resident()
    backend, *words = sys.argv[1:]
    connect(backend, gate)
    connected = resident()
    clock = Turns(dist.get_rank())
    for argument in words:
        take_turns(*(int(part) for part in argument.split(":")), clock)
    if gate:
        descriptor, _ = tempfile.mkstemp(prefix="result.", dir=gate)
        os.write(descriptor, f"{connected - before} {resident() - connected}\n".encode())


main()
