"""dtring's functions in addition to torch.distributed's."""

from __future__ import annotations

import ctypes
import sys
import weakref
from typing import Any, Sequence

import torch
import torch.distributed as dist

from dtring import _library
from dtring._compiled import leave_function
from dtring._group import ProcessGroup
from dtring._work import Work


def _group(group: Any) -> ProcessGroup:
    group = group if group is not None else dist.distributed_c10d._get_default_group()
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"dtring: the backend of the process group is {dist.get_backend(group)}, not dtring")
    return group


def all_reduce(tensor: torch.Tensor, op: Any = dist.ReduceOp.SUM, group: Any = None,
               async_op: bool = False, wire: str = "default") -> Work | None:
    """torch.distributed.all_reduce with a choice of the format of float32 between hosts.

    wire: "exact", "bf16", "f16", or "default" for the group's own (DTRING_WIRE).
    """
    return _all_reduce(tensor, op, group, async_op, wire)


def _all_reduce(tensor: torch.Tensor, op: Any, group: Any, async_op: bool, wire: str) -> Work | None:
    _library.check_wire(wire)
    own = _group(group)
    work = own.allreduce_on_wire(tensor, op, _library.WIRES[wire] or own.wire)
    if async_op:
        return work
    work.wait()
    return None


def empty(*size: int | Sequence[int], dtype: torch.dtype | None = None,
          group: Any = None) -> torch.Tensor:
    """A tensor in memory that the group's ranks on this host access without a copy (dt_alloc).

    Its values are undefined. The memory is freed with the last tensor that uses it; it does not outlive
    the process group. Returns an ordinary tensor if there is no such memory.
    """
    return _empty(size, dtype, group)


def _empty(size: Sequence[Any], dtype: torch.dtype | None, group: Any) -> torch.Tensor:
    shape = torch.Size(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
    dtype = dtype if dtype is not None else torch.get_default_dtype()
    count = shape.numel()
    length = count * torch.empty((), dtype=dtype).element_size()
    communicator = _group(group)._communicator
    place = communicator.allocate(length) if length > 0 else None
    if place is None:
        return torch.empty(shape, dtype=dtype)
    memory = (ctypes.c_char * length).from_address(place)
    weakref.finalize(memory, communicator.release, place)
    return torch.frombuffer(memory, dtype=dtype, count=count).view(shape)


# The public functions, which a program may already have imported, look these up here at each call.
for _function in (_all_reduce, _empty):
    leave_function(_function, sys.modules[__name__])
