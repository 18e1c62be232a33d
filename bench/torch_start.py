"""How a job of PyTorch starts, a rank of bench/pytorch.py: torch_start.py BACKEND.

With $BENCH_GATE: once all ranks have imported torch, the milliseconds until this rank has imported the
backend and its process group works go to result.* there, as "IMPORT_US BOTH_US". Without: rank 0 prints
the time (time.time()) at which DistributedDataParallel has made its first step.
"""
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist


def join(backend):
    start = time.perf_counter()
    if backend == "dtring":
        import dtring  # noqa: F401  registers the backend
    imported = time.perf_counter()
    dist.init_process_group(backend)
    return imported - start, time.perf_counter() - start


def first_step():
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 8))
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    ddp(torch.ones(4, 64)).sum().backward()
    optimizer.step()
    if dist.get_rank() == 0:
        print(time.time(), flush=True)


def main():
    backend, gate = sys.argv[1], os.environ.get("BENCH_GATE")
    if not gate:
        join(backend)
        first_step()
    else:
        tempfile.mkstemp(prefix="ready.", dir=gate)
        while not os.path.exists(gate + "/go"):
            time.sleep(0.001)
        times = join(backend)
        descriptor, _ = tempfile.mkstemp(prefix="result.", dir=gate)
        os.write(descriptor, " ".join(str(int(1e6 * t)) for t in times).encode())
        dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.3)  # a gloo thread must end before Python does


main()
