"""The results of each collective of torch.distributed over dtring, for every kind of tensor."""

import itertools
import os
import socket
import unittest
from unittest import mock

import ranks
import torch
import torch.distributed as dist

from dtring import _meeting

TYPES = [torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16,
         torch.float32, torch.float64, torch.bool]
SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 3, 4), (70000,)]


def tensor_of(rank, shape, dtype, seed=0):
    """Small whole numbers, so that sums are exact in every type."""
    generator = torch.Generator().manual_seed(1000 * seed + rank)
    values = torch.randint(0, 2 if dtype == torch.bool else 4, shape, generator=generator)
    return values.to(dtype)


def spread_out(tensor):
    """The same values in a tensor that is not contiguous."""
    if tensor.dim() == 0:
        return tensor.clone()
    wide = torch.zeros(*tensor.shape, 2, dtype=tensor.dtype)
    wide[..., 0] = tensor
    return wide[..., 0]


def layouts(tensor):
    return [tensor.clone(), spread_out(tensor)] + ([tensor.t().clone().t()] if tensor.dim() == 2 else [])


def combine(op, tensors):
    wide = torch.stack([tensor.double() if tensor.is_floating_point() else tensor.long()
                        for tensor in tensors])
    if tensors[0].dtype == torch.bool:
        return {"SUM": wide.any(0), "MAX": wide.any(0), "PRODUCT": wide.all(0),
                "MIN": wide.all(0)}[op]
    made = {"SUM": lambda: wide.sum(0), "PRODUCT": lambda: wide.prod(0),
            "MIN": lambda: wide.min(0).values, "MAX": lambda: wide.max(0).values,
            "AVG": lambda: wide.sum(0) / len(tensors) if wide.is_floating_point()
            else torch.div(wide.sum(0), len(tensors), rounding_mode="trunc")}[op]()
    return made.to(tensors[0].dtype)


def check(found, wanted, *about):
    if not torch.equal(found, wanted):
        raise AssertionError(f"{about}: {found} instead of {wanted}")


def bytes_of(tensor):
    return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor).view(-1).view(torch.uint8)


Socket = socket.socket  # a test replaces it


def congestion_controls():
    """That of each TCP connection of this process."""
    names = []
    for name in os.listdir("/proc/self/fd"):
        try:
            with Socket(fileno=os.dup(int(name))) as copy:
                copy.getpeername()
                names.append(copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16))
        except OSError:
            pass  # another kind of file
    return names


class Collectives(unittest.TestCase):
    def test_all_reduce_and_reduce_of_every_type_shape_and_layout(self):
        def body(rank, world):
            for op, dtype, shape in itertools.product(("SUM", "AVG", "PRODUCT", "MIN", "MAX"), TYPES,
                                                      SHAPES):
                if op == "AVG" and dtype == torch.bool:
                    continue
                inputs = [tensor_of(other, shape, dtype) for other in range(world)]
                wanted = combine(op, inputs)
                for tensor in layouts(inputs[rank]):
                    dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
                    check(tensor, wanted, op, dtype, shape)
                for root, tensor in zip((0, world - 1), layouts(inputs[rank])):
                    dist.reduce(tensor, root, getattr(dist.ReduceOp, op))
                    check(tensor, wanted if rank == root else inputs[rank], op, dtype, shape, root)

        for world in (1, 3):
            ranks.run(world, body)

    def test_bits_are_combined(self):
        def body(rank, world):
            for op, wanted in (("BAND", 0b100), ("BOR", 0b111), ("BXOR", 0b011)):
                tensor = torch.tensor([0b100 | 1 << rank] * 5)
                dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
                check(tensor, torch.tensor([wanted] * 5), op)

        ranks.run(2, body)

    def test_complex_numbers_are_summed_and_moved(self):
        def body(rank, world):
            for dtype in (torch.complex64, torch.complex128):
                tensor = torch.full((3,), 1 + 2j * rank, dtype=dtype)
                dist.all_reduce(tensor)
                check(tensor, torch.full((3,), 3 + 6j, dtype=dtype))
                moved = torch.full((2,), rank + 1j, dtype=dtype)
                dist.broadcast(moved, 2)
                check(moved, torch.full((2,), 2 + 1j, dtype=dtype))
                try:
                    dist.all_reduce(tensor, dist.ReduceOp.MAX)
                    raise AssertionError("complex numbers have no order")
                except (ValueError, RuntimeError) as error:  # ours or torch's
                    assert "complex" in str(error), error

        ranks.run(3, body)

    def test_what_only_moves_may_have_any_type(self):
        types = TYPES + [torch.int16, torch.complex64]
        types += [getattr(torch, name) for name in ("uint16", "uint32", "float8_e4m3fn")
                  if hasattr(torch, name)]

        def body(rank, world):
            for dtype, shape in itertools.product(types, SHAPES):
                inputs = [tensor_of(other, shape, torch.int64).to(dtype) for other in range(world)]
                bits = [tensor.clone() for tensor in inputs]
                for tensor in layouts(inputs[rank]) if dtype in TYPES else [inputs[rank].clone()]:
                    moved = tensor.clone()
                    dist.broadcast(moved, 1)
                    same(moved, bits[1])
                    outputs = [torch.empty_like(tensor) for _ in range(world)]
                    dist.all_gather(outputs, tensor)
                    for output, wanted in zip(outputs, bits):
                        same(output, wanted)
                    gathered = [torch.empty_like(tensor) for _ in range(world)] if rank == 2 else None
                    dist.gather(tensor, gathered, 2)
                    for output, wanted in zip(gathered or [], bits):
                        same(output, wanted)
                    part = torch.empty_like(tensor)
                    dist.scatter(part, bits if rank == 0 else None, 0)
                    same(part, bits[rank])

        def same(found, wanted):
            check(bytes_of(found), bytes_of(wanted), found.dtype, found.shape)

        ranks.run(3, body)

    def test_parts_that_lie_together_and_apart(self):
        def body(rank, world):
            for spread in (lambda tensor: tensor, spread_out):
                whole = torch.zeros(world, 4)
                views = [spread(whole[other]) for other in range(world)]
                dist.all_gather(views, torch.full((4,), float(rank)))
                for other, view in enumerate(views):
                    check(view, torch.full((4,), float(other)))
                parts = [spread(torch.full((4,), float(10 * rank + other))) for other in range(world)]
                output = spread(torch.zeros(4))
                dist.reduce_scatter(output, parts)
                check(output, torch.full((4,), float(sum(10 * other + rank for other in range(world)))))
                outputs = [spread(torch.zeros(4)) for _ in range(world)]
                dist.all_to_all(outputs, parts)
                for other, found in enumerate(outputs):
                    check(found, torch.full((4,), float(10 * other + rank)))

        ranks.run(3, body)

    def test_ranks_with_different_sizes(self):
        def body(rank, world):
            outputs = [torch.zeros(other, 2) for other in range(world)]
            dist.all_gather(outputs, torch.full((rank, 2), float(rank)))
            for other, output in enumerate(outputs):
                check(output, torch.full((other, 2), float(other)))
            output = torch.zeros(rank + 1)
            dist.reduce_scatter(output, [torch.ones(other + 1) for other in range(world)])
            check(output, torch.full((rank + 1,), float(world)))
            leave = [rank + other for other in range(world)]
            arrive = [rank + other for other in range(world)]
            found = torch.zeros(sum(arrive), 3)
            dist.all_to_all_single(found, torch.full((sum(leave), 3), float(rank)), arrive, leave)
            wanted = torch.cat([torch.full((rank + other, 3), float(other)) for other in range(world)])
            check(found, wanted)

        ranks.run(3, body)

    def test_one_tensor_for_all(self):
        gather = getattr(dist, "all_gather_into_tensor", None) or dist._all_gather_base
        scatter = getattr(dist, "reduce_scatter_tensor", None) or dist._reduce_scatter_base

        def body(rank, world):
            for spread in (lambda tensor: tensor, spread_out):
                whole = spread(torch.zeros(world * 3, 2))
                gather(whole, spread(torch.full((3, 2), float(rank))))
                check(whole, torch.arange(float(world)).repeat_interleave(3).view(-1, 1).expand(-1, 2))
                part = spread(torch.zeros(3))
                scatter(part, spread(torch.arange(world * 3.0)), op=dist.ReduceOp.AVG)
                check(part, torch.arange(3.0) + 3 * rank)

        ranks.run(4, body)

    def test_objects(self):
        def body(rank, world):
            found = [None] * world
            dist.all_gather_object(found, {"rank": rank, "text": "é" * rank})
            assert found == [{"rank": r, "text": "é" * r} for r in range(world)], found
            gathered = [None] * world if rank == 1 else None
            dist.gather_object(rank, gathered, 1)
            assert gathered in (None, list(range(world))), gathered
            objects = [("a", 1), {2}] if rank == 2 else [None, None]
            dist.broadcast_object_list(objects, 2)
            assert objects == [("a", 1), {2}], objects
            mine = [None]
            dist.scatter_object_list(mine, [f"for {r}" for r in range(world)], 0)
            assert mine == [f"for {rank}"], mine

        ranks.run(3, body)

    def test_sparse_tensors_are_summed_as_such(self):
        def body(rank, world):
            for rows in ([rank, 0, rank], []):
                dense = torch.zeros(6, 2)
                values = torch.ones(len(rows), 2) * (rank + 1)
                tensor = torch.sparse_coo_tensor(torch.tensor([rows], dtype=torch.int64), values, (6, 2))
                for other in range(world):
                    for row in ([other, 0, other] if rows else []):
                        dense[row] += other + 1
                dist.all_reduce(tensor)
                assert tensor.is_sparse
                check(tensor.to_dense(), dense)
            mean = torch.sparse_coo_tensor(torch.tensor([[1]]), torch.tensor([3.0 * rank]), (4,))
            dist.all_reduce(mean, dist.ReduceOp.AVG)
            check(mean.to_dense(), torch.tensor([0, 3.0, 0, 0]))

        ranks.run(3, body)

    def test_pairs(self):
        def body(rank, world):
            right, left = (rank + 1) % world, (rank - 1) % world
            arrived = torch.zeros(4)
            operations = [dist.P2POp(dist.isend, torch.full((4,), float(rank)), right),
                          dist.P2POp(dist.irecv, arrived, left)]
            for work in dist.batch_isend_irecv(operations):
                work.wait()
            check(arrived, torch.full((4,), float(left)))
            if rank > 0:
                dist.send(spread_out(torch.full((rank,), 7 * rank)), 0, tag=5)
                return
            for source in range(world - 1, 0, -1):
                found = spread_out(torch.zeros(source, dtype=torch.int64))
                assert dist.recv(found, source, tag=5) == source
                check(found, torch.full((source,), 7 * source))

        ranks.run(3, body)

    def test_a_receive_from_anyone(self):
        def body(rank, world):
            if rank > 0:
                for i in range(3):
                    dist.send(torch.tensor([rank, i]), 0)
                return []
            seen = []
            for _ in range(3 * (world - 1)):
                found = torch.zeros(2, dtype=torch.int64)
                source = dist.recv(found)
                assert found[0] == source, (found, source)
                seen.append((source, int(found[1])))
            return seen

        seen = ranks.run(4, body)[0]
        self.assertEqual(sorted(seen), [(source, i) for source in (1, 2, 3) for i in range(3)])
        for source in (1, 2, 3):
            self.assertEqual([i for who, i in seen if who == source], [0, 1, 2])

    def test_groups_beside_each_other(self):
        def body(rank, world):
            even, odd = dist.new_group([0, 2]), dist.new_group([1, 3])
            mine, last = (even, 2) if rank % 2 == 0 else (odd, 3)
            works = []
            for i in range(20):
                ours, everyone = torch.full((50,), float(rank + i)), torch.full((50,), float(rank))
                works.append((i, ours, everyone, dist.all_reduce(ours, group=mine, async_op=True),
                              dist.all_reduce(everyone, async_op=True)))
            for i, ours, everyone, of_ours, of_everyone in reversed(works):
                of_everyone.wait()
                of_ours.wait()
                check(ours, torch.full((50,), float(2 * (rank % 2) + 2 + 2 * i)))
                check(everyone, torch.full((50,), 6.0))
            tensor = torch.tensor([rank])
            dist.broadcast(tensor, last, group=mine)
            check(tensor, torch.tensor([last]))
            dist.destroy_process_group(mine)
            dist.barrier()

        ranks.run(4, body)

    def test_the_profiler_has_an_event_for_each_collective(self):
        def body(rank, world):
            tensor, parts = torch.ones(300), [torch.empty(300) for _ in range(world)]
            with torch.autograd.profiler.profile() as profile:
                dist.all_reduce(tensor)
                dist.broadcast(tensor, 0, async_op=True).wait()
                dist.all_gather(parts, tensor, async_op=True).get_future().wait()
                dist.all_reduce_coalesced([torch.ones(3), torch.ones(4)])
                if rank == 0:
                    dist.send(tensor, 1)
                else:
                    dist.recv(torch.empty(300))
            dist.barrier()
            return sorted((event.name, event.cpu_time > 0)
                          for event in profile.function_events if event.name.startswith("dtring:"))

        names = ("all_gather", "all_reduce", "all_reduce", "broadcast")
        for seen, point in zip(ranks.run(2, body), ("send", "recv")):
            self.assertEqual(seen, [(f"dtring:{name}", True) for name in sorted([*names, point])])

    def test_gradients_do_not_travel_under_bbr(self):
        class Paced(socket.socket):
            """Creates sockets as on a system whose default is BBR."""

            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                if self.type == socket.SOCK_STREAM:
                    self.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")

        try:
            Paced().close()
        except OSError as error:
            self.skipTest(f"this kernel has no BBR for us: {error}")

        def body(rank, world):
            dist.all_reduce(torch.ones(100000))
            return congestion_controls()

        with mock.patch.object(_meeting.socket, "socket", Paced):
            for seen in ranks.run(2, body, variables={"DTRING_SHARE": "0"}):
                self.assertGreaterEqual(len(seen), 4)  # the control connection and one per lane
                self.assertFalse([name for name in seen if name.startswith(b"bbr")], seen)


if __name__ == "__main__":
    unittest.main()
