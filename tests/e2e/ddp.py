"""An ordinary DistributedDataParallel script over gloo that does not know dtlaunch.

Checks what data-parallel training promises: every rank ends with the same parameters, and they are
those of one process that saw all the data.
"""
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, ROWS, WIDTH = 20, 16, 8


def make_model():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))


def make_rows(rank):
    generator = torch.Generator().manual_seed(1000 + rank)
    rows = torch.randn(ROWS, WIDTH, generator=generator)
    return rows, rows.sum(dim=1, keepdim=True)


def train(model, ranks):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows, targets = map(torch.cat, zip(*map(make_rows, ranks)))
    losses = []
    for _ in range(STEPS):
        loss = torch.nn.functional.mse_loss(model(rows), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    losses, parameters = train(DistributedDataParallel(make_model()), [rank])
    assert losses[-1] < losses[0], losses
    everyone = [torch.zeros_like(parameters) for _ in range(world)]
    dist.all_gather(everyone, parameters)
    assert all(torch.equal(parameters, other) for other in everyone), "ranks differ"
    _, alone = train(make_model(), range(world))
    assert torch.allclose(parameters, alone, atol=1e-5), "differs from one process with all data"
    print(f"rank {rank} of {world}: torch {torch.__version__}, threads {torch.get_num_threads()}, "
          f"loss {losses[0]:.4f} -> {losses[-1]:.4f}", flush=True)
    dist.destroy_process_group()
    time.sleep(0.3)  # a thread of gloo's must not meet the end of Python: tests/python/venv.sh


if __name__ == "__main__":
    main()
