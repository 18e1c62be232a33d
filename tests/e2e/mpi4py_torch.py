"""Learns rank, size and the address of rank 0 from MPI, as DeepSpeed does, and then starts PyTorch with them."""
import os
import subprocess
import time

import torch
import torch.distributed as dist
from mpi4py import MPI

PORT = "29500"


def discover():
    """Sets the variables of env://, whatever the launcher has set."""
    everyone = MPI.COMM_WORLD
    rank, host = everyone.Get_rank(), MPI.Get_processor_name()
    address = subprocess.check_output(["hostname", "-I"], text=True).split()[0] if rank == 0 else None
    hosts = everyone.allgather(host)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(everyone.Get_size()), LOCAL_RANK=str(hosts[:rank].count(host)),
                      MASTER_ADDR=everyone.bcast(address, root=0), MASTER_PORT=PORT)


def main():
    given = {name: os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    discover()
    for name, value in given.items():
        assert os.environ[name] == value, f"{name} is {value}, and {os.environ[name]} by MPI"
    dist.init_process_group("gloo", init_method="env://")
    rank, world = dist.get_rank(), dist.get_world_size()
    ranks = torch.tensor([float(rank + 1)])
    dist.all_reduce(ranks)
    by_mpi = MPI.COMM_WORLD.allreduce(rank + 1)
    print(f"rank {rank} of {world}: {ranks.item():g} over gloo, {by_mpi} over MPI, "
          f"{MPI.Get_library_version().split()[0]}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.3)  # a thread of gloo's must not meet the end of Python: tests/python/venv.sh


if __name__ == "__main__":
    main()
