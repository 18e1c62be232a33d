"""DistributedDataParallel as in PyTorch's tutorials: env://, a DistributedSampler, a checkpoint.

The first rank saves it, and all load it behind a barrier. It knows nothing of dtlaunch, and of dtring
only the backend's name on its command line.
"""

import argparse
import hashlib
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def make_data(rows=240, width=12):
    draw = torch.Generator().manual_seed(1)
    points = torch.randn(rows, width, generator=draw)
    return TensorDataset(points, points[:, :3].sin().sum(1, keepdim=True))


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))


def train_epoch(model, optimizer, loader, epoch):
    """The mean loss of each step over all ranks."""
    loader.sampler.set_epoch(epoch)
    losses = []
    for points, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(points), targets)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / dist.get_world_size())
    return losses


def save_and_load(model, optimizer, path):
    if dist.get_rank() == 0:
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, path)
    dist.barrier()  # nobody reads before it is written
    saved = torch.load(path, map_location="cpu")
    with torch.no_grad():
        for value in model.parameters():
            value.zero_()
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    dist.barrier()  # nobody writes the next one before all have read


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--checkpoint", default="checkpoint.pt")
    arguments = parser.parse_args()
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    world = int(os.environ["WORLD_SIZE"])
    dist.init_process_group(arguments.backend)
    assert (dist.get_rank(), dist.get_world_size()) == (rank, world)
    data = make_data()
    loader = DataLoader(data, batch_size=6, sampler=DistributedSampler(data, shuffle=True, seed=5))
    model = DDP(make_model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for epoch in range(4):
        losses += train_epoch(model, optimizer, loader, epoch)
        save_and_load(model, optimizer, arguments.checkpoint)
    bits = hashlib.sha256(b"".join(value.detach().numpy().tobytes() for value in model.parameters()))
    print(json.dumps({"rank": rank, "local_rank": local_rank, "world": world, "backend": dist.get_backend(),
                      "losses": losses, "learnt": losses[0] / losses[-1],
                      "bits": bits.hexdigest()[:16]}), flush=True)
    # The group ends with the model, at this function's end. Then Python waits for gloo's threads, but
    # torch 1.13 holds the lock that they need to release the last tensor.
    time.sleep(0.3)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
