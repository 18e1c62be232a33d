"""The same as allreduce.cc over PyTorch's gloo: BYTES:REPEATS... -> "BYTES MICROSECONDS"."""
import statistics
import sys
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
for argument in sys.argv[1:]:
    size, repeats = (int(part) for part in argument.split(":"))
    index = torch.arange(size // 4)
    mine = ((index + rank) % 1000).float()
    expected = sum(((index + r) % 1000).float() for r in range(world))
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
    if rank == 0:
        print(size, round(statistics.median(times) * 1e6, 1), flush=True)
