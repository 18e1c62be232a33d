"""Fully sharded models as in PyTorch's tutorials, both ways: FullyShardedDataParallel and fully_shard.

Each rank holds a part of every parameter; the whole is put together for a checkpoint that the first
rank saves. It knows nothing of dtlaunch, and of dtring only the backend's name on its command line.
"""

import argparse
import functools
import hashlib
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType, fully_shard
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


def make_model(width=16):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, width), Block(width), Block(width), nn.Linear(width, 1))


def wrap_fsdp1(model):
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=1000)
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=torch.device("cpu"))


def whole_fsdp1(model):
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        return model.state_dict()


def wrap_fsdp2(model):
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model:
        if isinstance(block, Block):
            fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def whole_fsdp2(model):
    return {name: value.full_tensor() for name, value in model.state_dict().items()}


def train(model, rank, steps=12):
    """The loss of each step on this rank; gradients longer than 1 are clipped over all ranks."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
    losses = []
    for step in range(steps):
        points = torch.randn(16, 8, generator=torch.Generator().manual_seed(1000 * (step % 3) + rank))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(points), points[:, :2].sum(1, keepdim=True))
        loss.backward()
        if isinstance(model, FullyShardedDataParallel):
            model.clip_grad_norm_(1.0)
        else:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--checkpoint", default="checkpoint.pt")
    arguments = parser.parse_args()
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    dist.init_process_group(arguments.backend)
    bits = hashlib.sha256()
    said = {"rank": rank, "local_rank": local_rank, "world": dist.get_world_size(), "backend": dist.get_backend()}
    for name, wrap, whole in (("fsdp1", wrap_fsdp1, whole_fsdp1), ("fsdp2", wrap_fsdp2, whole_fsdp2)):
        model = wrap(make_model())
        losses = train(model, rank)
        state = whole(model)
        if rank == 0:
            torch.save(state, arguments.checkpoint)
        dist.barrier()
        loaded = torch.load(arguments.checkpoint, map_location="cpu")
        plain = make_model()
        plain.load_state_dict(loaded)
        with torch.no_grad():
            said[name] = {"losses": losses, "after": plain(torch.ones(1, 8)).item()}
        for value in state.values():
            bits.update(value.detach().numpy().tobytes())
        said["learnt"] = losses[0] / losses[-1]
        dist.barrier()
    print(json.dumps({**said, "bits": bits.hexdigest()[:16]}), flush=True)
    # The group ends with the model, at this function's end. Then Python waits for gloo's threads, but
    # torch 1.13 holds the lock that they need to release the last tensor.
    time.sleep(0.3)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
