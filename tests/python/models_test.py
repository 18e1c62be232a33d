"""Training over dtring with PyTorch's wrappers for data and model parallelism."""

import json
import unittest

import ranks
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import dtring

STEPS, RATE = 4, 0.01
is_new = hasattr(dist, "all_gather_into_tensor") and hasattr(torch, "compile")

ranks.load_what_ddp_needs()


def network(seed=0, width=64):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(16, width), nn.LayerNorm(width), nn.Tanh(), nn.Linear(width, 3))


def batch(rank, step):
    return torch.randn(8, 16, generator=torch.Generator().manual_seed(100 * rank + step))


def train(model, optimizer, rank, backward=None):
    for step in range(STEPS):
        optimizer.zero_grad()
        model(batch(rank, step)).pow(2).sum().backward()
        optimizer.step()
    return model


def values(module):
    return torch.cat([parameter.detach().reshape(-1).clone() for parameter in module.parameters()])


def alone(world):
    """The parameters after the same steps on one process, by the mean of the ranks' gradients."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        optimizer.zero_grad()
        sum(model(batch(rank, step)).pow(2).sum() / world for rank in range(world)).backward()
        optimizer.step()
    return values(model)


def with_ddp(rank, world, hook=None, width=64, **options):
    model = DistributedDataParallel(network(width=width), bucket_cap_mb=width / 32000, **options)
    if hook is not None:
        model.register_comm_hook(None, hook)
    rate = RATE * 64 / width
    return values(train(model, torch.optim.SGD(model.parameters(), lr=rate), rank).module)


class Ddp(unittest.TestCase):
    def test_of_two_ranks_gives_the_bits_that_gloo_gives(self):
        for options in ({}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True},
                        {"static_graph": True}):
            ours, again = ranks.run(2, lambda rank, world: with_ddp(rank, world, **options))
            theirs = ranks.run(2, lambda rank, world: with_ddp(rank, world, **options),
                               backend="gloo")[0]
            self.assertTrue(torch.equal(ours, again))
            self.assertTrue(torch.equal(ours, theirs), options)

    def test_of_more_ranks_gives_what_one_process_gives(self):
        found = ranks.run(3, with_ddp)
        for other in found[1:]:
            self.assertTrue(torch.equal(found[0], other))
        torch.testing.assert_close(found[0], alone(3), rtol=1e-5, atol=1e-6)

    def test_ranks_begin_as_rank_0(self):
        def body(rank, world):
            module = network(seed=rank)
            module.register_buffer("seen", torch.full((2,), float(rank)))
            model = DistributedDataParallel(module)
            return values(model.module), model.module.seen.clone()

        for parameters, seen in ranks.run(3, body):
            self.assertTrue(torch.equal(parameters, values(network())))
            self.assertEqual(seen.tolist(), [0, 0])

    def test_gradients_are_rounded_on_the_wire_where_a_hook_says_so(self):
        # DTRING_SHARE=0 makes this host two. Within a host, and for small tensors, nothing is rounded.
        apart = {"DTRING_SHARE": "0"}
        exact = ranks.run(2, lambda rank, world: with_ddp(rank, world, None, 6000))[0]
        for name, tolerance in (("bf16_wire", 2e-2), ("f16_wire", 2e-3), ("exact_wire", 1e-5)):
            hook = getattr(dtring.hooks, name)
            found = ranks.run(2, lambda rank, world: with_ddp(rank, world, hook, 6000),
                              variables=apart)
            self.assertTrue(torch.equal(*found), name)
            torch.testing.assert_close(found[0], exact, rtol=tolerance, atol=tolerance)
            self.assertEqual(torch.equal(found[0], exact), name == "exact_wire", name)

    def test_hooks_refuse_other_backends(self):
        def body(rank, world):
            try:
                with_ddp(rank, world, dtring.hooks.bf16_wire)
            except Exception as error:
                return str(error)
            return ""

        for text in ranks.run(2, body, backend="gloo"):
            self.assertIn("this one's is gloo", text)

    def test_torchs_own_hooks(self):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

        def body(rank, world):
            found = []
            for hook in (default_hooks.allreduce_hook, default_hooks.fp16_compress_hook):
                found.append(with_ddp(rank, world, hook))
            model = DistributedDataParallel(network())
            state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2,
                                                start_powerSGD_iter=2)
            model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
            found.append(values(train(model, torch.optim.SGD(model.parameters(), lr=0.01), rank)))
            return found

        first, second = ranks.run(2, body)
        for ours, theirs in zip(first, second):
            self.assertTrue(torch.equal(ours, theirs))
        torch.testing.assert_close(first[0], alone(2), rtol=1e-5, atol=1e-6)

    def test_sparse_gradients_of_embeddings(self):
        def body(rank, world):
            torch.manual_seed(0)
            model = DistributedDataParallel(nn.EmbeddingBag(50, 4, mode="sum", sparse=True))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(3):
                optimizer.zero_grad()
                model(torch.tensor([[rank, step, 7], [7, 8, 9]])).pow(2).sum().backward()
                assert model.module.weight.grad.is_sparse
                optimizer.step()
            return model.module.weight.detach().clone()

        ours = ranks.run(2, body)
        theirs = ranks.run(2, body, backend="gloo")
        self.assertTrue(torch.equal(ours[0], ours[1]))
        torch.testing.assert_close(ours[0], theirs[0])

    def test_joins_ranks_with_fewer_batches(self):
        def body(rank, world):
            model = DistributedDataParallel(network())
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            with model.join():
                for step in range(2 + rank):
                    optimizer.zero_grad()
                    model(batch(rank, step)).sum().backward()
                    optimizer.step()
            return values(model.module)

        ours = ranks.run(2, body)
        self.assertTrue(torch.equal(*ours))
        self.assertTrue(torch.equal(ours[0], ranks.run(2, body, backend="gloo")[0]))


class Sharded(unittest.TestCase):
    def test_zero_redundancy_optimizer(self):
        from torch.distributed.optim import ZeroRedundancyOptimizer

        def body(rank, world):
            model = DistributedDataParallel(network())
            optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.01)
            train(model, optimizer, rank)
            optimizer.consolidate_state_dict(0)
            return values(model.module)

        for found in ranks.run(3, body):
            torch.testing.assert_close(found, alone(3), rtol=1e-5, atol=1e-6)

    @unittest.skipUnless(is_new, "FSDP for CPUs came with torch 2.0")
    def test_fsdp(self):
        from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy

        def body(rank, world):
            found = []
            for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP,
                             ShardingStrategy.NO_SHARD):
                model = FullyShardedDataParallel(network(), sharding_strategy=strategy,
                                                 device_id=torch.device("cpu"))
                train(model, torch.optim.SGD(model.parameters(), lr=0.01), rank)
                with FullyShardedDataParallel.summon_full_params(model):
                    found.append(values(model))
            return found

        for of_rank in ranks.run(3, body):
            for found in of_rank:
                torch.testing.assert_close(found, alone(3), rtol=1e-5, atol=1e-6)

    @unittest.skipUnless(is_new, "fully_shard came with torch 2.4")
    def test_fsdp2(self):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        def body(rank, world):
            mesh = init_device_mesh("cpu", (world,))
            model = network()
            for layer in model:
                fully_shard(layer, mesh=mesh)
            fully_shard(model, mesh=mesh)
            train(model, torch.optim.SGD(model.parameters(), lr=0.01), rank)
            return torch.cat([parameter.full_tensor().detach().reshape(-1)
                              for parameter in model.parameters()])

        for found in ranks.run(3, body):
            torch.testing.assert_close(found, alone(3), rtol=1e-5, atol=1e-6)

    @unittest.skipUnless(is_new, "tensor parallelism came with torch 2.0")
    def test_tensor_parallel_layers(self):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                       parallelize_module)

        def body(rank, world):
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 3))
            same = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 3))
            same.load_state_dict(model.state_dict())
            parallelize_module(model, init_device_mesh("cpu", (world,)),
                               {"0": ColwiseParallel(), "2": RowwiseParallel()})
            for module in (model, same):
                optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
                train(module, optimizer, 0)
            for parameter, wanted in zip(model.parameters(), same.parameters()):
                found = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
                torch.testing.assert_close(found.detach(), wanted.detach(), rtol=1e-5, atol=1e-6)

        ranks.run(2, body)

    @unittest.skipUnless(is_new, "functional collectives came with torch 2.0")
    def test_functional_collectives_and_meshes(self):
        import torch.distributed._functional_collectives as functional
        from torch.distributed.device_mesh import init_device_mesh

        def body(rank, world):
            mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("outer", "inner"))
            inner = mesh.get_group("inner")
            group = dist.group.WORLD
            own = torch.arange(4.0) + rank
            found = [functional.all_reduce(own, "sum", group).wait(),
                     functional.all_gather_tensor(own, 0, group).wait(),
                     functional.reduce_scatter_tensor(own, "sum", 0, group).wait(),
                     functional.all_to_all_single(own, None, None, group).wait(),
                     functional.broadcast(own, 1, group).wait(),
                     functional.all_reduce(own, "avg", inner).wait()]
            found += [tensor.wait() for tensor in
                      functional.all_reduce_coalesced([own, own + 1], "sum", group)]
            return [tensor.clone() for tensor in found]

        ours, theirs = ranks.run(4, body), ranks.run(4, body, backend="gloo")
        for mine, wanted in zip(ours, theirs):
            for a, b in zip(mine, wanted):
                self.assertTrue(torch.equal(a, b), (a, b))


class Own(unittest.TestCase):
    """dtring's functions beyond torch.distributed's."""

    def test_memory_that_ranks_share(self):
        def body(rank, world):
            tensor = dtring.empty(300, 7)
            assert tensor.shape == (300, 7) and tensor.dtype == torch.float32
            tensor.fill_(rank + 1)
            dist.all_reduce(tensor)
            assert torch.equal(tensor, torch.full((300, 7), 6.0))
            part = tensor[5].clone()
            for _ in range(200):  # released with the last tensor
                other = dtring.empty(1 << 16, dtype=torch.int32)
            del other, tensor
            assert dtring.empty(0, 3).shape == (0, 3)
            return part.tolist()

        self.assertEqual(ranks.run(3, body), [[6.0] * 7] * 3)

    def test_the_wire_by_keyword_by_option_and_by_variable(self):
        between = 1 + 2.0 ** -12  # lost in bf16 and f16

        def keyword(rank, world):
            tensors = [torch.full((100000,), between) for _ in range(3)]
            for tensor, wire in zip(tensors, ("default", "bf16", "exact")):
                dtring.all_reduce(tensor, wire=wire)
            return [float(tensor[0]) == 2 * between for tensor in tensors]

        apart = {"DTRING_SHARE": "0"}
        self.assertEqual(ranks.run(2, keyword, variables=apart), [[True, False, True]] * 2)
        by_variable = {**apart, "DTRING_WIRE": "bf16"}
        self.assertEqual(ranks.run(2, keyword, variables=by_variable), [[False, False, True]] * 2)
        by_option = ranks.run(2, keyword, variables=apart,
                              pg_options=dtring.Options(wire="f16"))
        self.assertEqual(by_option, [[False, False, True]] * 2)

    def test_how_it_works_is_json(self):
        def body(rank, world):
            dist.barrier()
            return json.loads(dist.distributed_c10d._get_default_group().stats())

        for rank, stats in enumerate(ranks.run(2, body)):
            self.assertEqual((stats["rank"], stats["world"]), (rank, 2))


if __name__ == "__main__":
    unittest.main()
