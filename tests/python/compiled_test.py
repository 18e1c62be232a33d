"""Collectives inside what torch.compile compiles: gloo's numbers, whether or not they divide the region."""

import unittest

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import ranks

RANKS, ELEMENTS = 2, 8
ROOT = 1


def all_reduce(x):
    dist.all_reduce(x)
    return x


def all_reduce_maximum_in_group(x):
    dist.all_reduce(x, op=dist.ReduceOp.MAX, group=dist.group.WORLD)
    return x


def all_reduce_in_background(x):
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    return x


def broadcast(x):
    dist.broadcast(x, ROOT)
    return x


def reduce(x):
    dist.reduce(x, ROOT)
    return x if dist.get_rank() == ROOT else x * 0


def all_gather(x):
    parts = [torch.empty(ELEMENTS) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.cat(parts)


def all_gather_into_tensor(x):
    all_of_them = torch.empty(ELEMENTS * RANKS)
    dist.all_gather_into_tensor(all_of_them, x)
    return all_of_them


def gather(x):
    parts = [torch.empty(ELEMENTS) for _ in range(RANKS)] if dist.get_rank() == ROOT else None
    dist.gather(x, parts, ROOT)
    return torch.cat(parts) if parts else x


def scatter(x):
    part = torch.empty(ELEMENTS // RANKS)
    dist.scatter(part, list(x.chunk(RANKS)) if dist.get_rank() == ROOT else None, ROOT)
    return part


def reduce_scatter(x):
    part = torch.empty(ELEMENTS // RANKS)
    dist.reduce_scatter(part, list(x.chunk(RANKS)))
    return part


def reduce_scatter_tensor(x):
    part = torch.empty(ELEMENTS // RANKS)
    dist.reduce_scatter_tensor(part, x)
    return part


def all_to_all(x):
    parts = [torch.empty(ELEMENTS // RANKS) for _ in range(RANKS)]
    dist.all_to_all(parts, list(x.chunk(RANKS)))
    return torch.cat(parts)


def all_to_all_single(x):
    there = torch.empty(ELEMENTS)
    dist.all_to_all_single(there, x)
    return there


def barrier(x):
    dist.barrier()
    return x


def send_and_recv(x):
    if dist.get_rank() == 0:
        dist.send(x, 1)
    else:
        dist.recv(x, 0)
    return x


def exchange(x):
    there, peer = torch.empty(ELEMENTS), 1 - dist.get_rank()
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, peer), dist.P2POp(dist.irecv, there, peer)]):
        work.wait()
    return there


def in_a_group_of_their_own(x):
    dist.all_reduce(x, group=OTHER[0])
    return x


def functional_all_reduce(x):
    return functional.all_reduce(x, "sum", dist.group.WORLD)


def functional_all_gather(x):
    return functional.all_gather_tensor(x, 0, dist.group.WORLD)


def functional_reduce_scatter(x):
    return functional.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD)


OTHER = []
REGIONS = (all_reduce, all_reduce_maximum_in_group, all_reduce_in_background, broadcast, reduce, all_gather,
           all_gather_into_tensor, gather, scatter, reduce_scatter, reduce_scatter_tensor, all_to_all,
           all_to_all_single, barrier, send_and_recv, exchange, in_a_group_of_their_own, functional_all_reduce,
           functional_all_gather, functional_reduce_scatter)


def run_regions(rank, _world):
    """Results of the regions: uncompiled over gloo, as the reference, and compiled over dtring."""
    OTHER[:] = [dist.new_group([0, 1])]
    results = {}
    for region in REGIONS:
        torch._dynamo.reset()

        def whole(x, inner=region):
            return inner(x * 2) + 1

        run = whole if dist.get_backend() == "gloo" else torch.compile(whole, backend="aot_eager")
        results[region.__name__] = run(torch.arange(float(ELEMENTS)) + 10 * rank).tolist()
    return results


def ours_alone(rank, _world):
    """Operations that gloo refuses there, or lacks."""
    import dtring

    def region(x):
        dist.monitored_barrier()
        x = x * 2
        dtring.all_reduce(x, wire="exact")
        shared = dtring.empty(ELEMENTS)
        shared.fill_(1)
        return x + shared

    return torch.compile(region, backend="aot_eager")(torch.arange(float(ELEMENTS)) + 10 * rank).tolist()


def losses_of_a_model(rank, _world):
    losses = {}
    for static in (False, True):
        torch._dynamo.reset()
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Linear(16, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 3))
        model = DistributedDataParallel(layers, bucket_cap_mb=1, static_graph=static)
        compiled = torch.compile(model, backend="aot_eager")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        of_steps = losses[f"static_graph={static}"] = []
        for step in range(4):
            data = torch.randn(8, 16, generator=torch.Generator().manual_seed(step + 100 * rank))
            optimizer.zero_grad()
            loss = compiled(data).pow(2).mean()
            loss.backward()
            optimizer.step()
            of_steps.append(loss.item())
        assert of_steps[-1] < of_steps[0]
    return losses


class Compiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ranks.load_what_ddp_needs()

    def test_collectives_give_what_gloo_gives(self):
        ours, gloo = (ranks.run(RANKS, run_regions, backend=name) for name in ("dtring", "gloo"))
        for rank in range(RANKS):
            for name, numbers in gloo[rank].items():
                self.assertEqual(ours[rank][name], numbers, f"{name} on rank {rank}")

    def test_a_model_of_ddp_has_gloos_losses(self):
        ours, gloo = (ranks.run(RANKS, losses_of_a_model, backend=name) for name in ("dtring", "gloo"))
        self.assertEqual(ours, gloo)

    def test_functions_of_our_own_divide_a_region(self):
        total = [2 * (2 * i + 10) + 1.0 for i in range(ELEMENTS)]
        self.assertEqual(ranks.run(RANKS, ours_alone), [total] * RANKS)


if __name__ == "__main__":
    unittest.main()
