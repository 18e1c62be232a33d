"""Checks the arguments that torch passes to a collective: the operation and the tensors."""

from __future__ import annotations

from typing import Any, Sequence

import torch
import torch.distributed as dist

from dtring import _library
from dtring._tensors import check_cpu

Tensor = torch.Tensor

_OPS = {"SUM": _library.SUM, "AVG": _library.AVG, "MIN": _library.MIN, "MAX": _library.MAX,
        "PRODUCT": _library.PROD, "BAND": _library.BAND, "BOR": _library.BOR,
        "BXOR": _library.BXOR}
_OPS_OF_TORCH = [(getattr(dist.ReduceOp, name), op, name) for name, op in _OPS.items()
                 if hasattr(dist.ReduceOp, name)]


def operation_of(opts: Any) -> tuple[int, str]:
    """The dt_op and the name of torch's ReduceOp in `opts`; a sum by default."""
    wanted = getattr(opts, "reduceOp", opts)
    if wanted is None:
        return _library.SUM, "SUM"
    for known, op, name in _OPS_OF_TORCH:
        if wanted == known:
            return op, name
    raise ValueError(f"dtring: {wanted}: not one of {', '.join(_OPS)}")


def only_one(tensors: Sequence[Tensor], what: str) -> Tensor:
    """The only tensor; torch's interface allows one per device of a rank, and CPUs are one device."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"dtring: {what}: takes one tensor, not {len(tensors)}")
    return tensors[0]


def parts_of(lists: Any) -> Sequence[Tensor]:
    """The tensors of all ranks: a list, or the only element where torch allows a list per device."""
    return lists if isinstance(lists[0], Tensor) else lists[0]


def check_types(tensors: Sequence[Tensor], what: str) -> None:
    """Rejects tensors of different types, and those that check_cpu rejects."""
    check_cpu(tensors)
    for tensor in tensors[1:]:
        if tensor.dtype != tensors[0].dtype:
            raise ValueError(f"dtring: {what}: tensors of different types, {tensors[0].dtype} and "
                             f"{tensor.dtype}")
