"""Prints the threads (from each library) and CPUs of a rank's PyTorch as a line of JSON."""

import json
import os
import re

import torch

# "at::get_num_threads() : 2", "OpenMP ...", "omp_get_max_threads() : 2", "mkl_get_max_threads() : 2".
said = dict(re.findall(r"(\w+)\(\) : (\d+)", torch.__config__.parallel_info()))
torch.ones(64, 64) @ torch.ones(64, 64)  # starts the threads of all libraries
print(json.dumps({
    "rank": int(os.environ["RANK"]), "host": os.environ["DTLAUNCH_HOST"], "torch": torch.__version__,
    "threads": torch.get_num_threads(), "interop": torch.get_num_interop_threads(),
    "parallel_info": {name: int(count) for name, count in said.items() if name.endswith("threads")},
    "cpus": sorted(os.sched_getaffinity(0)),
    "main_thread": sorted(os.sched_getaffinity(os.getpid())),
    "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
    "MKL_NUM_THREADS": os.environ.get("MKL_NUM_THREADS")}), flush=True)
