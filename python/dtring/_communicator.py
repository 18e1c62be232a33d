"""Communicator: a dt_comm, and its unfinished works."""

from __future__ import annotations

import ctypes
import multiprocessing.util
import os
import sys
import threading
import time
from typing import Any, Callable

from dtring import _library
from dtring._errors import AbortedError, error_of

lib = _library.lib

_MANY = 256  # with this many works that nobody waits for, check which of them have ended


class Communicator:
    """Owns a dt_comm. Submissions come from one thread at a time, waits from any.

    Submitting returns an id; the buffers belong to the library until that id was reported.
    """

    def __init__(self, options: _library.Options, name: str):
        handle = ctypes.c_void_p()
        status = lib.dt_comm_create(ctypes.byref(options), ctypes.byref(handle))
        self.handle: int | None = handle.value
        self.rank, self.world, self.name = options.rank, options.world, name
        self.pid = os.getpid()
        self.limit_ms = -1  # for waits without a timeout; negative: as long as the operation may take
        self.lock = threading.Lock()
        self._id = ctypes.c_uint64()
        self._id_place = ctypes.pointer(self._id)
        self._running: dict[int, Any] = {}  # keeps the memory that the library uses alive
        self._waiter: Any = None
        if status != _library.OK:
            text = _library.last_error(self.handle) if self.handle else ""
            self.close()
            raise error_of(status, text, f"process group {name}: cannot create")
        _leave_at_exit(self)

    def submit(self, call: Any, *arguments: Any, tag: int = 0) -> int:
        """Enqueues one operation: call(communicator, *arguments, tag, &id). Returns its id."""
        with self.lock:
            if self.handle is None:
                raise self._destroyed()
            status = call(self.handle, *arguments, tag, self._id_place)
            if status == _library.OK:
                return self._id.value
        raise self.error(status, call.__name__[3:])

    def wait(self, work: int, timeout_ms: int) -> int:
        """dt_wait: OK, PENDING on timeout, or an error."""
        handle = self.handle
        return _library.E_ABORTED if handle is None else lib.dt_wait(handle, work, timeout_ms)

    def probe(self, timeout_ms: int) -> tuple[int, int, int]:
        """dt_probe for any rank: the status, and the rank and the tag of the message that arrived."""
        source, dtype = ctypes.c_int32(-1), ctypes.c_int32()
        count, tag = ctypes.c_uint64(), ctypes.c_uint64()
        handle = self.handle
        if handle is None:
            return _library.E_ABORTED, -1, 0
        status = lib.dt_probe(handle, source, count, dtype, tag, timeout_ms)
        return status, source.value, tag.value

    def keep(self, work: int, owner: Any) -> None:
        """Keeps `owner` until `forget`; sometimes calls `owner.poll()` to find out whether it has ended."""
        self._running[work] = owner
        if len(self._running) % _MANY == 0:
            for running in list(self._running.values()):
                running.poll()

    def forget(self, work: int) -> None:
        """Call it when the library has reported this id."""
        self._running.pop(work, None)

    def waiter(self, make: Callable[[str], Any]) -> Any:
        """The thread that completes futures; the first caller starts it."""
        with self.lock:
            if self._waiter is None:
                self._waiter = make(self.name)
            return self._waiter

    def _destroyed(self) -> AbortedError:
        return AbortedError(f"dtring: process group {self.name}: it was destroyed")

    def error(self, status: int, doing: str = "") -> Exception:
        """The exception for a status of this communicator."""
        handle = self.handle
        if handle is None:
            return self._destroyed()
        if status in (_library.E_PEER, _library.E_ABORTED):
            _failed_elsewhere.add(os.getpid())
        return error_of(status, _library.last_error(handle), doing)

    def stats(self) -> str:
        """Describes the communicator as JSON: see dt_stats_json in dtring(3)."""
        text = ctypes.create_string_buffer(65536)
        if self.handle is None:
            raise self._destroyed()
        length = lib.dt_stats_json(self.handle, ctypes.addressof(text), len(text))
        if length < 0:
            raise self.error(length, "stats")
        return text.value.decode()

    def allocate(self, length: int) -> int | None:
        """dt_alloc; None if it has no memory."""
        return None if self.handle is None else lib.dt_alloc(self.handle, length)

    def release(self, place: int) -> None:
        """dt_free; does nothing after close(), which frees everything."""
        if self.handle is not None and os.getpid() == self.pid:
            lib.dt_free(self.handle, place)

    def abort(self, why: str) -> None:
        """Fails all pending operations, on all ranks."""
        if self.handle is not None:
            lib.dt_comm_abort(self.handle, why.encode())

    def close(self) -> None:
        """Fails pending operations here and leaves. Does nothing in a forked child."""
        with self.lock:
            handle, self.handle = self.handle, None
            waiter, self._waiter = self._waiter, None
        _living.discard(self)
        if handle is None or os.getpid() != self.pid:
            return
        if waiter is not None:
            waiter.stop()
        lib.dt_comm_destroy(handle)
        for running in list(self._running.values()):
            running.poll()  # sees the failure, and completes its future


_living: set[Communicator] = set()
_promised: set[int] = set()  # processes that will call _close_all
_failed_elsewhere: set[int] = set()  # processes whose operations failed because of another rank

# A Python with torch takes some 0.1 s to exit, several times that on a busy machine; its launcher sees
# the exit at once.
_AFTER_YOU_S = 1.0


def _leave_at_exit(communicator: Communicator) -> None:
    """Makes a script that ends without destroy_process_group() leave like one that calls it."""
    _living.add(communicator)
    if os.getpid() not in _promised:
        _promised.clear()
        _promised.add(os.getpid())
        # Not atexit, which does not run in children of multiprocessing.
        multiprocessing.util.Finalize(None, _close_all, exitpriority=0)


def _close_all() -> None:
    # A failing rank leaves its groups here, before its process exits. Ranks that fail as a consequence
    # must not exit first, or the launcher would blame one of them. It ends them while they sleep.
    if os.getpid() in _failed_elsewhere and getattr(sys, "last_value", None) is not None:
        time.sleep(_AFTER_YOU_S)
    for communicator in list(_living):
        communicator.close()
