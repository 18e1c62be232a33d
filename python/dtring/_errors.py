"""Exceptions: one class for each kind of error that a program may want to distinguish."""

from __future__ import annotations

import torch.distributed as dist

from dtring import _library

_Base = getattr(dist, "DistBackendError", RuntimeError)  # since torch 2.0


class Error(_Base):
    """A collective failed; the text names the operation, the other rank and its host."""


class MismatchError(Error):
    """Ranks called different operations, shapes, types or roots."""


class PeerLostError(Error):
    """Another rank's process or host was lost."""


class OperationTimeout(Error, TimeoutError):
    """An operation did not end in time; the text names the ranks that have not called it."""


class AbortedError(Error):
    """The process group was aborted or destroyed, here or on another rank."""


class SecretError(Error):
    """There is no job secret, or another rank has a different one."""


_CLASSES = {
    _library.E_MISMATCH: MismatchError,
    _library.E_PEER: PeerLostError,
    _library.E_TIMEOUT: OperationTimeout,
    _library.E_ABORTED: AbortedError,
    _library.E_AUTH: SecretError,
}


def error_of(status: int, text: str, doing: str = "") -> Error:
    """The exception for a dt_status; `text` is the library's, `doing` the failed action."""
    if status == _library.E_TIMEOUT:
        doing = f"{doing}: timeout while waiting" if doing else "timeout while waiting"
    words = [part for part in (doing, text or _library.strerror(status)) if part]
    return _CLASSES.get(status, Error)("dtring: " + ": ".join(words))
