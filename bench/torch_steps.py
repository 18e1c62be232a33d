"""Steps of DistributedDataParallel, a rank of bench/pytorch.py.

    torch_steps.py BACKEND TEXTS TOKENS step:REPEATS:TURNS  ->  "step MICROSECONDS exchange MICROSECONDS
                                            wire MICROSECONDS cpu MICROSECONDS wire-cpu MICROSECONDS"

A step is forward, backward and AdamW of DistilBERT; what it exchanges is the time that it takes more
than the same step under no_sync(), which comes just before it. Most of what DDP copies between
gradients and its buckets is in there, too; `wire` is the same of a DDP with gradient_as_bucket_view,
which copies nothing. `cpu` and `wire-cpu` are the CPU time of exchange and wire, of all threads.
"""
import argparse
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from train_torch import CLASSES, DISTILBERT_LAYERS, model_of
from turns import Turns

VOCABULARY = 30522


class Loss(torch.nn.Module):
    """The model with its loss, so that DDP sees all of it."""

    def __init__(self):
        super().__init__()
        self.model, self.loss_of = model_of(torch, argparse.Namespace(
            type="distilbert", layers=DISTILBERT_LAYERS, vocabulary=VOCABULARY, how="eager"))

    def forward(self, ids, labels):
        return self.loss_of(ids, labels)


class Trained:
    """The model, always with the same first parameters, under DDP with these options."""

    def __init__(self, **options):
        torch.manual_seed(7)
        self.ddp = DistributedDataParallel(Loss(), **options)
        self.optimizer = torch.optim.AdamW(self.ddp.parameters(), lr=1e-6)

    def timed(self, batch):
        dist.barrier()
        start, cpu = time.perf_counter(), time.process_time()
        self.ddp(*batch).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.perf_counter() - start, time.process_time() - cpu

    def take_turn(self, batch, repeats):
        """(time of a step, what it takes more than one without an exchange, more of CPU time), medians in
        microseconds."""
        rows = []
        for _ in range(repeats + 1):
            with self.ddp.no_sync():
                alone, alone_cpu = self.timed(batch)
            step, cpu = self.timed(batch)
            rows.append((step, step - alone, cpu - alone_cpu))
        return [1e6 * statistics.median(times) for times in zip(*rows[1:])]  # one warm-up step

    def verify(self, batch):
        """After an exchange every rank must have the same gradients, and not its own."""
        ddp = self.ddp
        with ddp.no_sync():
            ddp(*batch).backward()
        last = next(p for p in ddp.parameters() if p.dim() == 2)
        own = last.grad.double().sum()
        ddp.zero_grad()
        ddp(*batch).backward()
        sums = torch.stack([p.grad.double().abs().sum() for p in ddp.parameters()])
        everybody = [torch.empty_like(sums) for _ in range(dist.get_world_size())]
        dist.all_gather(everybody, sums)
        if any(not torch.equal(sums, other) for other in everybody) or last.grad.double().sum() == own:
            sys.exit("torch_steps.py: wrong gradients")
        ddp.zero_grad()


def main():
    backend, texts, tokens, *words = sys.argv[1:]
    torch.set_num_threads(1)
    if backend == "dtring":
        import dtring  # noqa: F401  registers the backend
    dist.init_process_group(backend)
    by_default, in_place = Trained(), Trained(gradient_as_bucket_view=True)
    torch.manual_seed(dist.get_rank())
    batch = (torch.randint(1000, VOCABULARY, (int(texts), int(tokens))),
             torch.randint(0, CLASSES, (int(texts),)))
    by_default.verify(batch)
    in_place.verify(batch)
    clock = Turns(dist.get_rank())
    for word in words:
        what, repeats, turns = word.split(":")
        for _ in range(int(turns)):
            clock.begin()
            step, exchange, cpu = by_default.take_turn(batch, int(repeats))
            _, wire, wire_cpu = in_place.take_turn(batch, int(repeats))
            if dist.get_rank() == 0:
                print(f"{what} {step:.1f} exchange {exchange:.1f} wire {wire:.1f} cpu {cpu:.1f} "
                      f"wire-cpu {wire_cpu:.1f}", flush=True)
            clock.end()


main()
