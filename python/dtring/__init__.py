"""A PyTorch backend over libdtring: collectives for CPUs over TCP and shared memory.

    import dtring                                   # registers the backend "dtring"
    torch.distributed.init_process_group("dtring")

See dtring-torch(7) for what it does, how to start it and what its errors mean.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from dtring._backend import Options, register, register_alias

if TYPE_CHECKING:
    from dtring import hooks
    from dtring._errors import (AbortedError, Error, MismatchError, OperationTimeout, PeerLostError,
                                SecretError)
    from dtring._functions import all_reduce, empty
    from dtring._group import ProcessGroup
    from dtring._progress import progress

__all__ = ["AbortedError", "Error", "MismatchError", "OperationTimeout", "Options", "PeerLostError",
           "ProcessGroup", "SecretError", "all_reduce", "empty", "hooks", "progress",
           "register"]

# Loaded by the first process group or the first use. Rank 0 must not be late at torch's store: ranks
# that find no server there retry at growing intervals.
_HOMES = {"AbortedError": "_errors", "Error": "_errors", "MismatchError": "_errors",
          "OperationTimeout": "_errors", "PeerLostError": "_errors", "SecretError": "_errors",
          "all_reduce": "_functions", "empty": "_functions", "ProcessGroup": "_group",
          "progress": "_progress"}


def __getattr__(name: str) -> Any:
    if name == "hooks":
        return importlib.import_module("dtring.hooks")
    if name not in _HOMES:
        raise AttributeError(f"module 'dtring' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"dtring.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register()
register_alias()
if "DTLAUNCH_JOB" in os.environ:
    from dtring._stacks import answer_launcher
    answer_launcher()
