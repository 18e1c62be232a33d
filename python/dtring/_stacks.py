"""Reports a rank's stacks while it hangs, with Python's faulthandler.

The signal handler writes them, so it works even while the main thread is blocked in a library. The
collective that a thread waits for appears in its stack: see `under_name`.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import types
from typing import Any, Callable

import torch

ASK_SIGNAL = 48  # kAskSignal of dtlaunch's agent (agent/job/stack_file.h)
ASK_ANYTIME_SIGNAL = signal.SIGWINCH  # kAskAnytimeSignal there, for dtlaunch ask
_STANDARD_ERROR = 2

_file: list[Any] = []  # open until the process exits


def answer_launcher() -> None:
    """Under dtlaunch: SIGUSR1 writes the stacks to standard error, and the launcher can request them.

    A program that uses these signals itself, before or later, takes precedence.
    """
    if "DTLAUNCH_JOB" not in os.environ:
        return
    if _is_default(signal.SIGUSR1):
        faulthandler.register(signal.SIGUSR1, file=_STANDARD_ERROR, all_threads=True)
    path = os.environ.get("DTLAUNCH_STACK_FILE")
    if path and multiprocessing.parent_process() is None and _is_default(ASK_SIGNAL):
        try:
            _open(path)
        except OSError:
            pass  # e.g. a full disk: the job runs, but this rank cannot answer


def _open(path: str) -> None:
    """The rank has one file; the first of its processes answers, until that exits."""
    if _is_taken(path):
        return
    place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    file = os.fdopen(place, "w")
    faulthandler.register(ASK_SIGNAL, file=file, all_threads=True)
    if _is_default(ASK_ANYTIME_SIGNAL):
        faulthandler.register(ASK_ANYTIME_SIGNAL, file=file, all_threads=True)
    os.ftruncate(place, 0)
    file.write(f"{os.getpid()}\n")  # from here on the agent may send the signal
    file.flush()
    _file.append(file)


def _is_taken(path: str) -> bool:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            owner = int(file.readline())
        if owner == os.getpid():  # before an exec
            return False
        os.kill(owner, 0)
        return True
    except (OSError, ValueError):
        return False


def _is_default(signum: int) -> bool:
    """Asks the kernel: libraries install handlers that Python does not know."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        masks = [int(line.split()[1], 16) for line in status
                 if line.startswith(("SigCgt:", "SigIgn:"))]
    return not any(mask >> (signum - 1) & 1 for mask in masks)


def _call(call: Callable[..., Any], *arguments: Any) -> Any:
    return call(*arguments)


def under_name(name: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Runs call(*arguments) in a frame with that name, which stack traces show."""
    code = _call.__code__.replace(co_name=name)
    return types.FunctionType(code, globals())(call, *arguments)


def _tensors(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in _tensors(part)] if isinstance(
        result, (list, tuple)) else []


def _size_text(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def describe(what: str, result: Any) -> str:
    """"all_reduce of 4.0 MiB of float32"."""
    tensors = _tensors(result)
    if not tensors:
        return what
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    types_ = sorted({str(tensor.dtype).replace("torch.", "") for tensor in tensors})
    return f"{what} of {_size_text(size)} of {' and '.join(types_)}"
