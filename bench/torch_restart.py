"""A job that can be started again, a rank of bench/restart.py: torch_restart.py FOLDER STEP_MS.

Each step is an all_reduce of 4 KiB over gloo, and then a pause; rank 0 writes the time, the number of
restarts and the size of the world of each step to FOLDER/steps, and every rank its pid to
FOLDER/RESTARTS.RANK. Ends when FOLDER/end is there.
"""
import os
import sys
import time

import torch
import torch.distributed as dist


def main():
    folder, pause = sys.argv[1], float(sys.argv[2]) / 1000
    dist.init_process_group("gloo")
    rank, restarts = dist.get_rank(), os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    with open(f"{folder}/{restarts}.{rank}", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    values = torch.ones(1024)
    while True:
        values.fill_(float(os.path.exists(f"{folder}/end")))
        dist.all_reduce(values)
        if values[0] > 0:
            break  # all ranks see it in the same step
        if rank == 0:
            with open(f"{folder}/steps", "a", encoding="ascii") as file:
                file.write(f"{time.time()} {restarts} {dist.get_world_size()}\n")
        time.sleep(pause)
    dist.destroy_process_group()
    time.sleep(0.3)  # a gloo thread must end before Python does


main()
