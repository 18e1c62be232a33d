"""A rank of a job whose ranks sum twice over BACKEND: hanging_rank.py BACKEND, and in the environment

  HANG=sleep   before the second sum rank 1 goes to sleep in a function of its own
  HANG=ddp     the same, while the others wait for the sum of their gradients
  COMING=PATH  with HANG: who comes to the second sum makes PATH.RANK; rank 1 sleeps later
  GO_ON=FILE   before the second sum rank 1 waits until the file is there
  HANDLER=1    each rank has a handler of its own for SIGUSR1: the even ones set it before they import
               dtring, the others after it
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist


def come(rank):
    with open(f"{os.environ['COMING']}.{rank}", "w"):
        pass


def let_the_others_wait():
    for rank in set(range(dist.get_world_size())) - {1}:
        wait_for(f"{os.environ['COMING']}.{rank}")
    time.sleep(3)  # long enough to report it


def load_the_shard():
    let_the_others_wait()
    print("asleep", flush=True)
    time.sleep(600)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.05)


def train(rank):
    gradients = torch.ones(1 << 20)
    dist.all_reduce(gradients)
    print(f"rank {rank} began", flush=True)
    if rank == 1 and os.environ.get("HANG") == "sleep":
        load_the_shard()
    if rank == 1 and "GO_ON" in os.environ:
        wait_for(os.environ["GO_ON"])
    if "COMING" in os.environ:
        come(rank)
    dist.all_reduce(gradients)
    print(f"rank {rank} sum {gradients[0].item():g}", flush=True)


def train_ddp(rank):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    model(torch.ones(1, 4)).sum().backward()
    if rank == 1:
        load_the_shard()
    come(rank)
    model(torch.ones(1, 4)).sum().backward()


def own_handler(signum, frame):
    print("own handler", flush=True)


def main():
    backend, has_handler = sys.argv[1], "HANDLER" in os.environ
    is_early = int(os.environ["RANK"]) % 2 == 0
    if has_handler and is_early:
        signal.signal(signal.SIGUSR1, own_handler)
    if backend == "dtring":
        import dtring  # noqa: F401  registers the backend
    if has_handler and not is_early:
        signal.signal(signal.SIGUSR1, own_handler)
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    (train_ddp if os.environ.get("HANG") == "ddp" else train)(dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
