"""The training of parity.py by PyTorch's DistributedDataParallel, as a rank of any launcher.
usage: ddp_training.py FOLDER BACKENDS STEPS RESULT

FOLDER is a Case's, BACKENDS e.g. gloo,dtring: one after the other in the same processes, because importing
transformers takes longer than the training. The first rank writes RESULT, with a member for each backend: the
loss of each step over all ranks, and the classes that the model says of the evaluation's texts at the end.
"""

import json
import sys

import torch
import torch.distributed as dist
import transformers
from torch.nn.parallel import DistributedDataParallel

import parity


def mean(value):
    """Over all ranks."""
    total = value.detach().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def train(case, model, steps):
    rank, world = dist.get_rank(), dist.get_world_size()
    optimizer = case.optimizer_of(model)
    schedule = transformers.get_scheduler("linear", optimizer, parity.WARMUP, steps)
    losses = []
    for step in range(steps):
        rows = case.rows_of_step(step, parity.BATCH * world)
        # The mean of the ranks' means is the mean of all rows only if the shares are equal.
        assert len(rows) % world == 0, (step, len(rows))
        optimizer.zero_grad()
        loss = model(**case.batch(rows[rank::world])).loss
        loss.backward()
        losses.append(mean(loss))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return losses


def predict(case, model):
    """The class of each text; every rank answers its share."""
    rank, world = dist.get_rank(), dist.get_world_size()
    with torch.no_grad():
        own = model.eval()(**case.batch(case.evaluation[rank::world])).logits.argmax(-1).tolist()
    shares = [None] * world
    dist.all_gather_object(shares, own)
    return [shares[index % world][index // world] for index in range(len(case.evaluation))]


def train_over(backend, folder, steps):
    dist.init_process_group(backend)
    case = parity.Case("", "bert", folder)
    model = DistributedDataParallel(case.model().train())
    found = {"backend": dist.get_backend(), "rank": dist.get_rank(), "world": dist.get_world_size(),
             "losses": train(case, model, steps), "classes": predict(case, model.module)}
    dist.destroy_process_group()
    return found


def main():
    folder, backends, steps, result = sys.argv[1:]
    found = {backend: train_over(backend, folder, int(steps)) for backend in backends.split(",")}
    if all(each["rank"] == 0 for each in found.values()):
        with open(result, "w", encoding="utf-8") as out:
            json.dump(found, out)


main()
