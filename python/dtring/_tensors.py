"""Converts tensors for libdtring: addresses, counts and types, and staging copies if needed."""

from __future__ import annotations

import ctypes
from typing import Callable, NamedTuple, Sequence

import torch

from dtring import _library

# The types that the library can calculate with.
_ARITHMETIC = {
    torch.uint8: _library.U8,
    torch.int8: _library.I8,
    torch.int32: _library.I32,
    torch.int64: _library.I64,
    torch.float16: _library.F16,
    torch.bfloat16: _library.BF16,
    torch.float32: _library.F32,
    torch.float64: _library.F64,
    torch.bool: _library.BOOL,
}
_HALVES = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def check_cpu(tensors: Sequence[torch.Tensor]) -> None:
    """Rejects tensors that are not dense in this host's memory."""
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise ValueError(f"dtring: {tensor.device}: dtring takes CPU tensors only. "
                             "Try: tensor.cpu()")
        if tensor.layout != torch.strided:
            raise ValueError(f"dtring: {tensor.layout}: only all_reduce takes this layout. "
                             "Try: tensor.to_dense()")


def as_counts(numbers: Sequence[int]) -> ctypes.Array[ctypes.c_uint64]:
    """Converts counts of elements, one for each rank, for the library."""
    return (ctypes.c_uint64 * len(numbers))(*numbers)


class Elements(NamedTuple):
    """A number of elements and their dt_dtype."""

    count: int
    dtype: int


def as_moved(tensor: torch.Tensor) -> Elements:
    """Elements that move the tensor's bytes unchanged."""
    dtype = _ARITHMETIC.get(tensor.dtype)
    if dtype is None:
        return Elements(tensor.numel() * tensor.element_size(), _library.U8)
    return Elements(tensor.numel(), dtype)


def as_summed(tensor: torch.Tensor, op: int, name: str) -> Elements:
    """Elements for calculating. For sums and means a complex number is two real ones."""
    half = _HALVES.get(tensor.dtype)
    if half is not None and op in (_library.SUM, _library.AVG):
        return Elements(2 * tensor.numel(), _ARITHMETIC[half])
    dtype = _ARITHMETIC.get(tensor.dtype)
    if dtype is None:
        raise ValueError(f"dtring: {name}: does not take {tensor.dtype}")
    if op in (_library.BAND, _library.BOR, _library.BXOR) and tensor.is_floating_point():
        raise ValueError(f"dtring: {name}: takes whole numbers, not {tensor.dtype}")
    return Elements(tensor.numel(), dtype)


def contiguous(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor or a copy of it, in row order and with pending conjugation resolved."""
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def in_place(tensor: torch.Tensor) -> tuple[torch.Tensor, Callable[[], None] | None]:
    """Memory to read and write the tensor's values, and a function that then copies them back.

    It is the tensor itself if its elements are in row order.
    """
    if is_plain(tensor):
        return tensor, None
    staged = contiguous(tensor)
    if staged.data_ptr() == tensor.data_ptr():
        return tensor, None
    return staged, lambda: _bring(tensor, staged)


def to_write(tensor: torch.Tensor) -> tuple[torch.Tensor, Callable[[], None] | None]:
    """As `in_place`, if the values are only written."""
    if is_plain(tensor):
        return tensor, None
    staged = torch.empty(tensor.shape, dtype=tensor.dtype)
    return staged, lambda: _bring(tensor, staged)


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether its memory holds its values in row order."""
    return tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


def _bring(tensor: torch.Tensor, staged: torch.Tensor) -> None:
    with torch.no_grad():
        tensor.copy_(staged)


def joined(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """All values, one tensor after the other: a view if memory has this order, else a copy."""
    flat = neighbours(tensors)
    if flat is not None:
        return flat
    return torch.cat([contiguous(tensor).view(-1) for tensor in tensors])


def neighbours(tensors: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """A flat view of tensors that are consecutive in one storage; None if they are not."""
    first = tensors[0]
    place, storage = first.data_ptr(), first.untyped_storage() if hasattr(
        first, "untyped_storage") else first.storage()
    begin = storage.data_ptr()
    for tensor in tensors:
        own = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        if (tensor.numel() > 0 and (tensor.data_ptr() != place or own.data_ptr() != begin)) or (
                not is_plain(tensor) or tensor.dtype != first.dtype):
            return None
        place += tensor.numel() * tensor.element_size()
    total = sum(tensor.numel() for tensor in tensors)
    return first.detach().as_strided((total,), (1,), first.storage_offset())


def to_spread(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, Callable[[], None] | None]:
    """Memory for the values of all tensors, and a function that then copies them into place."""
    flat = neighbours(tensors)
    if flat is not None:
        return flat, None
    flat = torch.empty(sum(tensor.numel() for tensor in tensors), dtype=tensors[0].dtype)

    def spread() -> None:
        at = 0
        for tensor in tensors:
            _bring(tensor, flat[at:at + tensor.numel()].view(tensor.shape))
            at += tensor.numel()

    return flat, spread


def after(*steps: Callable[[], None] | None) -> Callable[[], None] | None:
    """One step that runs all of these, skipping None."""
    real = [step for step in steps if step is not None]
    if len(real) < 2:
        return real[0] if real else None

    def all_of_them() -> None:
        for step in real:
            step()

    return all_of_them
