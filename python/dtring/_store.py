"""Makes ranks that start before rank 0's store wait for it.

If nobody listens yet, torch retries only after a random third of a second to a second, and all ranks
of the job wait for the last one. Checking the port takes microseconds.
"""

from __future__ import annotations

import functools
import inspect
import os
import socket
import time
from typing import Any, Callable, Mapping

import torch.distributed as dist

_LONGEST_S = 60.0  # then torch continues with its own retries and timeout
_FIRST_NAP_S, _LONGEST_NAP_S = 0.001, 0.03


def look_before_joining(is_ours: Callable[[Any], bool]) -> None:
    """Makes init_process_group(backend) wait for the store first, for our backends."""
    theirs = dist.init_process_group
    if getattr(theirs, "looks_for_store", False):
        return
    parameters = inspect.signature(theirs)

    @functools.wraps(theirs)
    def init_process_group(*given: Any, **named: Any) -> Any:
        try:
            arguments = parameters.bind(*given, **named).arguments
        except TypeError:
            return theirs(*given, **named)  # torch reports the error
        by_environment = arguments.get("init_method") in (None, "env://") and arguments.get("store") is None
        if by_environment and is_ours(arguments.get("backend")):
            rank = arguments.get("rank", -1)
            limit = arguments.get("timeout")
            wait_for_store(os.environ if rank < 0 else {**os.environ, "RANK": str(rank)},
                           min(_LONGEST_S, limit.total_seconds()) if limit is not None else _LONGEST_S)
        return theirs(*given, **named)

    init_process_group.looks_for_store = True  # type: ignore[attr-defined]
    dist.init_process_group = init_process_group
    dist.distributed_c10d.init_process_group = init_process_group


def wait_for_store(environment: Mapping[str, str], limit_s: float = _LONGEST_S) -> None:
    """Waits until MASTER_ADDR:MASTER_PORT accepts connections, at most limit_s seconds; not as rank 0.

    torch reports other errors: an unknown name, an invalid port.
    """
    if environment.get("RANK", "0") == "0":
        return
    try:
        place = environment["MASTER_ADDR"], int(environment["MASTER_PORT"])
    except (KeyError, ValueError):
        return
    begin = time.monotonic()
    while (waited := time.monotonic() - begin) < limit_s:
        try:
            socket.create_connection(place, limit_s - waited).close()
            return
        except ConnectionRefusedError:
            time.sleep(min(max(waited / 8, _FIRST_NAP_S), _LONGEST_NAP_S))
        except (OSError, OverflowError):
            return
