"""The same as allreduce.cc over PyTorch's gloo: BYTES:REPEATS... -> "BYTES MICROSECONDS"."""
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist


def resident():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def connect(gate):
    if gate:  # bench/gate.h
        tempfile.mkstemp(prefix="ready.", dir=gate)
        while not os.path.exists(gate + "/go"):
            time.sleep(0.001)
    dist.init_process_group("gloo")
    dist.barrier()
    if gate and dist.get_rank() == 0:
        print("connect", round((time.time() - os.stat(gate + "/go").st_mtime) * 1e6, 1), flush=True)


def median_time(size, repeats):
    rank, world = dist.get_rank(), dist.get_world_size()
    index = torch.arange(size // 4, dtype=torch.int32)
    mine = ((index + rank) % 1000).float()
    expected = torch.zeros_like(mine)
    for other in range(world):
        expected += ((index + other) % 1000).float()
    values = torch.empty_like(mine)
    times = []
    for i in range(-2, repeats):  # two to warm up
        values.copy_(mine)
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(values)
        elapsed = time.perf_counter() - start
        if not torch.equal(values, expected):
            sys.exit("allreduce_gloo.py: wrong sum")
        if i >= 0:
            times.append(elapsed)
    return statistics.median(times) * 1e6


def main():
    torch.set_num_threads(1)
    torch.arange(16).float().sum()  # what PyTorch itself takes is not gloo's
    gate = os.environ.get("BENCH_GATE")
    before = resident()
    connect(gate)
    connected = resident()
    for argument in sys.argv[1:]:
        size, repeats = (int(part) for part in argument.split(":"))
        micros = median_time(size, repeats)
        if dist.get_rank() == 0:
            print(size, round(micros, 1), flush=True)
    if gate:
        descriptor, _ = tempfile.mkstemp(prefix="result.", dir=gate)
        os.write(descriptor, f"{connected - before} {resident() - connected}\n".encode())


main()
