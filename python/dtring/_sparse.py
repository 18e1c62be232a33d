"""Sums sparse tensors: gathers every rank's entries and adds them, without dense tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from dtring import _library
from dtring._tensors import as_counts, as_moved, in_place

if TYPE_CHECKING:
    from dtring._group import ProcessGroup
    from dtring._work import Work

lib = _library.lib


def allreduce(group: ProcessGroup, tensor: torch.Tensor, op: int) -> Work:
    """The sum or mean of all ranks' sparse COO tensors of one shape.

    Entries are added in order of rank, so every rank gets the same bits. First the ranks exchange their
    shapes and numbers of entries, which blocks; then the entries are sent in the background.
    """
    if op not in (_library.SUM, _library.AVG):
        raise ValueError("dtring: all_reduce: takes only SUM and AVG of sparse tensors. "
                         "Try: tensor.to_dense()")
    own = tensor.detach().coalesce()
    counts = _agree(group, own)
    world, dimensions = group.size(), own.sparse_dim()
    # Row per entry, so that the entries of one rank are contiguous.
    indices, _ = in_place(own.indices().t())
    values, _ = in_place(own.values())
    all_indices = torch.empty((sum(counts), dimensions), dtype=torch.int64)
    all_values = torch.empty((sum(counts), *values.shape[1:]), dtype=values.dtype)
    row = as_moved(all_values[:1]).count
    ids = [
        group._submit(lib.dt_allgatherv, indices.data_ptr(), all_indices.data_ptr(),
                      as_counts([count * dimensions for count in counts]), _library.I64),
        group._submit(lib.dt_allgatherv, values.data_ptr(), all_values.data_ptr(),
                      as_counts([count * row for count in counts]), as_moved(all_values).dtype),
    ]

    def add_up() -> None:
        total = torch.sparse_coo_tensor(all_indices.t(), all_values, tensor.shape).coalesce()
        if op == _library.AVG:
            total = total / world
        with torch.no_grad():
            tensor.copy_(total)

    return group._work(ids, [tensor], add_up, (indices, values), "all_reduce of sparse tensors")


def _agree(group: ProcessGroup, own: torch.Tensor) -> list[int]:
    """Each rank's number of entries; fails on all ranks if shapes differ."""
    head = torch.tensor([own._nnz(), own.sparse_dim(), own.dim(), *own.shape], dtype=torch.int64)
    heads = [torch.empty_like(head) for _ in range(group.size())]
    group.allgather([heads], [head]).wait()
    for rank, theirs in enumerate(heads):
        if not torch.equal(theirs[1:], head[1:]):
            raise ValueError(f"dtring: all_reduce: sparse tensors of different shapes, "
                             f"{head[3:].tolist()} here, {theirs[3:].tolist()} on rank {rank}")
    return [int(theirs[0]) for theirs in heads]
