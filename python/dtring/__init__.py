"""A PyTorch backend over libdtring: collectives for CPUs over TCP and shared memory.

    import dtring                                   # registers the backend "dtring"
    torch.distributed.init_process_group("dtring")

See dtring-torch(7) for what it does, how to start it and what its errors mean.
"""

from __future__ import annotations

from dtring._backend import Options, register, register_alias
from dtring._errors import (AbortedError, Error, MismatchError, OperationTimeout, PeerLostError,
                            SecretError)
from dtring._functions import all_reduce, empty
from dtring._group import ProcessGroup
from dtring._stacks import answer_launcher
from dtring import hooks

__all__ = ["AbortedError", "Error", "MismatchError", "OperationTimeout", "Options", "PeerLostError",
           "ProcessGroup", "SecretError", "all_reduce", "empty", "hooks", "register"]

register()
register_alias()
answer_launcher()
