"""Registers the backend with torch.distributed: its names and how to make its process groups."""

from __future__ import annotations

import datetime
import functools
import importlib.util
import inspect
import sys
from typing import TYPE_CHECKING, Any

import torch.distributed as dist

from dtring import _compiled, _huggingface, _store

if TYPE_CHECKING:
    from dtring._group import ProcessGroup

NAME, ALIAS = "dtring", "ccl"

_names: list[Any] = []  # registered for this package
_said_alias: list[bool] = []


class Options:
    """Options of a process group: init_process_group("dtring", pg_options=Options(...)).

    wire: the format of float32 sums and means between hosts: "exact", "bf16" or "f16"; None: the
    value of DTRING_WIRE.
    """

    def __init__(self, wire: str | None = None):
        from dtring import _library

        if wire is not None:
            _library.check_wire(wire)
        self.wire = wire


def register(name: str = NAME) -> None:
    """Makes init_process_group(name) work. Importing dtring does this for "dtring" and "ccl"."""
    if hasattr(dist.Backend, name.upper()):
        return
    _names.append(name)
    _huggingface.tell(name)
    known = inspect.signature(dist.Backend.register_backend).parameters
    more = {"devices": ["cpu"]} if "devices" in known else {}
    dist.Backend.register_backend(name, _creator(name), extended_api=True, **more)
    _open_monitored_barrier()
    _store.look_before_joining(_names.__contains__)


def register_alias() -> None:
    """Serves the backend "ccl" if oneCCL's bindings, which normally provide it, are not installed."""
    if any(importlib.util.find_spec(name) for name in ("oneccl_bindings_for_pytorch", "torch_ccl")):
        return
    register(ALIAS)


def _open_monitored_barrier() -> None:
    """torch.distributed.monitored_barrier only accepts gloo; this makes it accept our groups too."""
    theirs = dist.monitored_barrier
    if getattr(theirs, "knows_dtring", False):
        return

    @functools.wraps(theirs)
    def monitored_barrier(group: Any = None, timeout: datetime.timedelta | None = None,
                          wait_all_ranks: bool = False) -> None:
        from dtring._group import ProcessGroup

        own = group if group is not None else dist.group.WORLD
        if isinstance(own, ProcessGroup):
            own.monitored_barrier(timeout, wait_all_ranks)
        else:
            theirs(group, timeout, wait_all_ranks)

    monitored_barrier.knows_dtring = True  # type: ignore[attr-defined]
    dist.monitored_barrier = monitored_barrier
    dist.distributed_c10d.monitored_barrier = monitored_barrier
    _compiled.leave_function(monitored_barrier, dist, dist.distributed_c10d)


def _creator(name: str) -> Any:
    def create(group: Any, options: Any) -> ProcessGroup:
        return make(group.store, group.group_rank, group.group_size, group.timeout, options,
                    name=name, label=getattr(group, "group_id", ""))

    return create


def make(store: Any, rank: int, world: int, timeout: datetime.timedelta, options: Any = None,
         name: str = NAME, label: str = "") -> ProcessGroup:
    """A process group of `world` ranks that find each other through `store`; every rank calls this."""
    from dtring import _library
    from dtring._group import ProcessGroup
    from dtring._meeting import meet

    if options is not None and not isinstance(options, Options):
        raise TypeError(f"dtring: pg_options is a {type(options).__name__}, not dtring.Options")
    if name == ALIAS and rank == 0 and not _said_alias:
        _said_alias.append(True)
        print("dtring: the backend 'ccl' is dtring here: oneCCL's bindings for PyTorch are not "
              "installed. Try: --ddp_backend dtring", file=sys.stderr, flush=True)
    communicator = meet(store, rank, world, timeout, label or "default")
    group = ProcessGroup(communicator, store, timeout, name)
    if options is not None and options.wire is not None:
        group.wire = _library.WIRES[options.wire]
    return group
