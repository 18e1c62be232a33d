"""Stands for run_qa.py of Hugging Face's examples: prints where each rank runs and what it was given."""

import os
import sys

name = {word: os.environ.get(word, "-") for word in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "OMP_NUM_THREADS")}
print(f"rank {name['RANK']} of {name['WORLD_SIZE']} on {os.uname().nodename}, local rank {name['LOCAL_RANK']}, "
      f"{name['OMP_NUM_THREADS']} threads, {len(sys.argv) - 1} arguments")
