"""The process group: implements each collective of torch.distributed with libdtring.

Torch calls the methods by the names of its C++ class, some of them by an older and a newer name.
Before enqueuing, a collective checks everything that a single rank can know (ValueError). The library
compares values that must be equal on all ranks, and every rank gets a MismatchError that names both
sides.
"""

from __future__ import annotations

import datetime
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

from dtring import _library
from dtring._arguments import check_types, only_one, operation_of, parts_of
from dtring._communicator import Communicator
from dtring._compiled import leave_to_python
from dtring._points import Points
from dtring._tensors import (after, as_counts, as_moved, as_summed, check_cpu, in_place, joined,
                             to_spread, to_write)
from dtring._work import Work, milliseconds

lib = _library.lib
Tensor = torch.Tensor


class ProcessGroup(Points, dist.ProcessGroup):
    """torch.distributed's process group over a communicator of libdtring.

    Collectives of one group are enqueued in the order of the calls, which must be the same on all
    ranks; they run in the background. `wire` is the format of float32 sums between hosts: see
    dtring-torch(7).
    """

    def __init__(self, communicator: Communicator, store: Any, timeout: datetime.timedelta,
                 name: str):
        try:
            super().__init__(store, communicator.rank, communicator.world)
        except TypeError:  # torch 1.13
            super().__init__(communicator.rank, communicator.world)
        self._communicator = communicator
        self._timeout = timeout
        self._backend_name = name
        self._rank, self._world = communicator.rank, communicator.world
        self._sequence = 0
        self._labels = ["", ""]
        self.wire = _library.WIRE_DEFAULT

    # --- properties for torch ---

    # The base class stores these in per-device backends, which this group does not have.
    def getGroupName(self) -> str:
        return self._labels[0]

    def setGroupName(self, name: str) -> None:
        self._labels[0] = name

    def getGroupDesc(self) -> str:
        return self._labels[1]

    def setGroupDesc(self, description: str) -> None:
        self._labels[1] = description

    _set_group_name, _set_group_desc = setGroupName, setGroupDesc
    group_name = property(getGroupName)
    group_desc = property(getGroupDesc)

    def getBackendName(self) -> str:
        return self._backend_name

    name = _get_backend_name = getBackendName

    def getRank(self) -> int:
        return self._rank

    def getSize(self) -> int:
        return self._world

    rank, size = getRank, getSize

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device("cpu")]

    @property
    def supports_splitting(self) -> bool:
        return False

    @property
    def supports_coalescing(self) -> bool:
        return False

    def _get_backend(self, device: torch.device) -> ProcessGroup:
        if torch.device(device).type != "cpu":
            raise RuntimeError(f"dtring: {device}: dtring takes CPU tensors only. Try: tensor.cpu()")
        return self

    def _set_sequence_number_for_group(self) -> None:
        self._sequence = 0

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Sets the timeout for waits on the group's operations from now on."""
        self._timeout = timeout
        self._communicator.limit_ms = milliseconds(timeout)

    _set_default_timeout = set_timeout

    def stats(self) -> str:
        """Describes the group as JSON: hosts, streams, algorithms, bytes moved."""
        return self._communicator.stats()

    def abort(self) -> None:
        """Fails pending operations, on all ranks."""
        self._communicator.abort("torch called abort()")

    def shutdown(self) -> None:
        """Leaves the group; pending operations fail on this rank."""
        self._communicator.close()

    # --- reductions ---

    def allreduce(self, tensors: Any, opts: Any = None) -> Work:
        """Every rank's tensor becomes the sum (or another ReduceOp) of all ranks' tensors."""
        return self.allreduce_on_wire(only_one(tensors, "all_reduce"), opts, self.wire)

    def allreduce_on_wire(self, tensor: Tensor, opts: Any, wire: int) -> Work:
        """As allreduce with a dt_wire; `opts` may be just a ReduceOp."""
        if tensor.layout == torch.sparse_coo:
            from dtring import _sparse
            return _sparse.allreduce(self, tensor, operation_of(opts)[0])
        return self._reduce_each([tensor], opts, wire, "all_reduce")

    def allreduce_coalesced(self, tensors: Sequence[Tensor], opts: Any = None) -> Work:
        """As allreduce for each of the tensors."""
        return self._reduce_each(tensors, opts, self.wire, "all_reduce")

    def _reduce_each(self, tensors: Sequence[Tensor], opts: Any, wire: int, what: str) -> Work:
        check_cpu(tensors)
        op, name = operation_of(opts)
        plans = [as_summed(tensor, op, name) for tensor in tensors]
        ids, staged, steps = [], [], []
        for tensor, (count, dtype) in zip(tensors, plans):
            memory, step = in_place(tensor)
            place = memory.data_ptr()
            ids.append(self._submit(lib.dt_allreduce, place, place, count, dtype, op, wire))
            staged.append(memory)
            steps.append(step)
        return self._work(ids, list(tensors), after(*steps), staged, what)

    def reduce(self, tensors: Any, opts: Any = None) -> Work:
        """As allreduce; the result is on rank opts.rootRank only."""
        tensor = only_one(tensors, "reduce")
        check_cpu([tensor])
        op, name = operation_of(opts)
        count, dtype = as_summed(tensor, op, name)
        memory, step = in_place(tensor)
        place = memory.data_ptr()
        work = self._submit(lib.dt_reduce, place, place, count, dtype, op, self._root(opts))
        is_root = self._root(opts) == self._rank
        return self._work([work], [tensor], step if is_root else None, memory, "reduce")

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Rank r gets the sum of all ranks' inputs[r]."""
        output = only_one(outputs, "reduce_scatter")
        parts = parts_of(inputs)
        self._check_parts(parts, "reduce_scatter")
        check_types([output, *parts], "reduce_scatter")
        if output.numel() != parts[self._rank].numel():
            raise ValueError(f"dtring: reduce_scatter: {output.numel()} elements for a part that "
                             f"has {parts[self._rank].numel()}")
        if all(part.numel() == output.numel() for part in parts):
            return self._reduce_scatter(output, joined(parts), opts)
        return self._reduce_scatter_uneven(output, parts, opts)

    def _reduce_scatter(self, output: Tensor, flat: Tensor, opts: Any) -> Work:
        op, name = operation_of(opts)
        count, dtype = as_summed(output, op, name)
        source, _ = in_place(flat)
        target, step = to_write(output)
        work = self._submit(lib.dt_reduce_scatter, source.data_ptr(), target.data_ptr(), count,
                            dtype, op, self.wire)
        return self._work([work], [output], step, (source, target), "reduce_scatter")

    def _reduce_scatter_uneven(self, output: Tensor, parts: Sequence[Tensor], opts: Any) -> Work:
        op, name = operation_of(opts)
        target, step = to_write(output)
        ids, keep = [], [target]
        for root, part in enumerate(parts):
            count, dtype = as_summed(part, op, name)
            source, _ = in_place(part)
            keep.append(source)
            ids.append(self._submit(lib.dt_reduce, source.data_ptr(), target.data_ptr(), count,
                                    dtype, op, root))
        return self._work(ids, [output], step, keep, "reduce_scatter")

    def _reduce_scatter_base(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Work:
        """Rank r gets part r of the sum of all ranks' `tensor`."""
        check_types([output, tensor], "reduce_scatter_tensor")
        if tensor.numel() != self._world * output.numel():
            raise ValueError(f"dtring: reduce_scatter_tensor: {tensor.numel()} elements for "
                             f"{self._world} ranks that take {output.numel()} each")
        return self._reduce_scatter(output, tensor, opts)

    reduce_scatter_single = _reduce_scatter_base

    def reduce_scatter_tensor_coalesced(self, outputs: Sequence[Tensor], tensors: Sequence[Tensor],
                                        opts: Any = None) -> Work:
        """As reduce_scatter_tensor for each pair."""
        return self._together([self._reduce_scatter_base(output, tensor, opts)
                               for output, tensor in zip(outputs, tensors)], outputs)

    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced

    # --- data movement ---

    def broadcast(self, tensors: Any, opts: Any = None) -> Work:
        """Every rank's tensor becomes that of rank opts.rootRank."""
        tensor = only_one(tensors, "broadcast")
        check_cpu([tensor])
        root = self._root(opts)
        memory, step = in_place(tensor) if root == self._rank else to_write(tensor)
        work = self._submit(lib.dt_broadcast, memory.data_ptr(), *as_moved(tensor), root)
        return self._work([work], [tensor], step, memory, "broadcast")

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """outputs[r] becomes rank r's tensor; ranks may have tensors of different sizes."""
        tensor = only_one(inputs, "all_gather")
        parts = parts_of(outputs)
        self._check_parts(parts, "all_gather")
        check_types([tensor, *parts], "all_gather")
        if parts[self._rank].numel() != tensor.numel():
            raise ValueError(f"dtring: all_gather: {tensor.numel()} elements, but outputs["
                             f"{self._rank}] has {parts[self._rank].numel()}")
        source, _ = in_place(tensor)
        flat, spread = to_spread(parts)
        if all(part.numel() == tensor.numel() for part in parts):
            work = self._submit(lib.dt_allgather, source.data_ptr(), flat.data_ptr(),
                                *as_moved(tensor))
            return self._work([work], [list(parts)], spread, (source, flat), "all_gather")
        counts = as_counts([as_moved(part).count for part in parts])
        work = self._submit(lib.dt_allgatherv, source.data_ptr(), flat.data_ptr(), counts,
                            as_moved(tensor).dtype)
        return self._work([work], [list(parts)], spread, (source, flat), "all_gather")

    def _allgather_base(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Work:
        """Part r of `output` becomes rank r's tensor."""
        check_types([output, tensor], "all_gather_into_tensor")
        if output.numel() != self._world * tensor.numel():
            raise ValueError(f"dtring: all_gather_into_tensor: {self._world} times "
                             f"{tensor.numel()} elements into {output.numel()}")
        source, _ = in_place(tensor)
        target, step = to_write(output)
        work = self._submit(lib.dt_allgather, source.data_ptr(), target.data_ptr(),
                            *as_moved(tensor))
        return self._work([work], [output], step, (source, target), "all_gather_into_tensor")

    all_gather_single = _allgather_base

    def allgather_into_tensor_coalesced(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor],
                                        opts: Any = None) -> Work:
        """As all_gather_into_tensor for each pair."""
        return self._together([self._allgather_base(output, tensor, opts)
                               for output, tensor in zip(outputs, inputs)], outputs)

    all_gather_single_coalesced = allgather_into_tensor_coalesced

    def allgather_coalesced(self, outputs: Sequence[Sequence[Tensor]], inputs: Sequence[Tensor],
                            opts: Any = None) -> Work:
        """outputs[r][i] becomes inputs[i] of rank r."""
        works = [self.allgather([[of_rank[i] for of_rank in outputs]], [tensor], opts)
                 for i, tensor in enumerate(inputs)]
        return self._together(works, outputs)

    def gather(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """On rank opts.rootRank outputs[r] becomes rank r's tensor."""
        tensor, root = only_one(inputs, "gather"), self._root(opts)
        check_cpu([tensor])
        source, _ = in_place(tensor)
        spread, place, flat, result = None, 0, None, []
        if root == self._rank:
            parts = parts_of(outputs)
            self._check_equal([tensor, *parts], parts, "gather")
            flat, spread = to_spread(parts)
            place, result = flat.data_ptr(), [list(parts)]
        work = self._submit(lib.dt_gather, source.data_ptr(), place, *as_moved(tensor), root)
        return self._work([work], result, spread, (source, flat), "gather")

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Rank r's tensor becomes inputs[r] of rank opts.rootRank."""
        output, root = only_one(outputs, "scatter"), self._root(opts)
        check_cpu([output])
        target, step = to_write(output)
        flat, place = None, 0
        if root == self._rank:
            parts = parts_of(inputs)
            self._check_equal([output, *parts], parts, "scatter")
            flat = joined(parts)
            place = flat.data_ptr()
        work = self._submit(lib.dt_scatter, place, target.data_ptr(), *as_moved(output), root)
        return self._work([work], [output], step, (target, flat), "scatter")

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor],
                 opts: Any = None) -> Work:
        """outputs[r] becomes the tensor that rank r has for this rank."""
        for parts in (outputs, inputs):
            self._check_parts(parts, "all_to_all")
        check_types([*outputs, *inputs], "all_to_all")
        flat, spread = to_spread(outputs)
        return self._alltoall(flat, joined(inputs), [as_moved(part).count for part in outputs],
                              [as_moved(part).count for part in inputs], list(outputs), spread)

    def alltoall_base(self, output: Tensor, tensor: Tensor, output_splits: Sequence[int],
                      input_splits: Sequence[int], opts: Any = None) -> Work:
        """As alltoall, with rows: splits are the numbers of rows sent to and received from each rank."""
        check_types([output, tensor], "all_to_all_single")
        source, _ = in_place(tensor)
        target, step = to_write(output)
        return self._alltoall(target, source, self._elements(output, output_splits, "output"),
                              self._elements(tensor, input_splits, "input"), [output], step)

    all_to_all_single = alltoall_base

    def _alltoall(self, target: Tensor, source: Tensor, arrive: list[int], leave: list[int],
                  result: list[Any], step: Callable[[], None] | None) -> Work:
        dtype = as_moved(target).dtype
        work = self._submit(lib.dt_alltoallv, source.data_ptr(), as_counts(leave), target.data_ptr(),
                            as_counts(arrive), dtype)
        return self._work([work], result, step, (source, target), "all_to_all")

    def _elements(self, tensor: Tensor, splits: Sequence[int], side: str) -> list[int]:
        rows = tensor.shape[0] if tensor.dim() > 0 else 0
        if not splits:
            if rows % self._world != 0:
                raise ValueError(f"dtring: all_to_all_single: {rows} rows of the {side} do not make "
                                 f"{self._world} equal parts")
            splits = [rows // self._world] * self._world
        if len(splits) != self._world or sum(splits) != rows:
            raise ValueError(f"dtring: all_to_all_single: the {side}'s splits {list(splits)} are not "
                             f"{rows} rows in {self._world} parts")
        row = as_moved(tensor).count // rows if rows > 0 else 0
        return [split * row for split in splits]

    def barrier(self, opts: Any = None) -> Work:
        """Ends once all ranks have called it."""
        return self._work([self._submit(lib.dt_barrier)], [], None, None, "barrier")

    # --- helpers ---

    def _submit(self, call: Any, *arguments: Any) -> int:
        self._sequence += 1
        return self._communicator.submit(call, *arguments)

    def _work(self, ids: Sequence[int], result: list[Any], finish: Callable[[], None] | None,
              keep: Any, what: str, source: int = -1) -> Work:
        return Work(self._communicator, ids, result, finish, keep, what, source)

    def _together(self, works: Sequence[Work], result: Any) -> Work:
        return Work.of_all(self._communicator, works, list(result))

    def _root(self, opts: Any) -> int:
        root = 0 if opts is None else opts.rootRank
        if not 0 <= root < self._world:
            raise ValueError(f"dtring: rank {root}: not in this group of {self._world} ranks")
        return root

    def _check_parts(self, parts: Sequence[Tensor], what: str) -> None:
        if len(parts) != self._world:
            raise ValueError(f"dtring: {what}: a list of {len(parts)} tensors in a group of "
                             f"{self._world} ranks")

    def _check_equal(self, all_of_them: Sequence[Tensor], parts: Sequence[Tensor],
                     what: str) -> None:
        self._check_parts(parts, what)
        check_types(all_of_them, what)
        for tensor in parts:
            if tensor.numel() != all_of_them[0].numel():
                raise ValueError(f"dtring: {what}: tensors of different sizes, "
                                 f"{all_of_them[0].numel()} and {tensor.numel()} elements")


leave_to_python(ProcessGroup, Points, Work)
