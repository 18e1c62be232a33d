"""Work: the result of a collective, and its future if requested."""

from __future__ import annotations

import collections
import datetime
import math
import threading
import time
from typing import Any, Callable, Sequence

import torch
from torch._C._autograd import _profiler_enabled
from torch._C._distributed_c10d import Work as _TorchWork

from dtring import _library
from dtring._communicator import Communicator
from dtring._errors import OperationTimeout
from dtring._stacks import describe, under_name
from dtring._tensors import after

_FOREVER = -1
_NO_TIME = datetime.timedelta(0)
_UNNAMED_MS = 1000  # after this time, the stack shows the name of a wait


def milliseconds(time_out: datetime.timedelta | None) -> int:
    """Converts torch's timeout for the library; unset or not positive means the group's own."""
    if time_out is None or time_out <= _NO_TIME:
        return _FOREVER
    return max(1, min(int(time_out.total_seconds() * 1000), 2**31 - 1))


def left_ms(end: float) -> int:
    """Milliseconds until this time of time.monotonic(), rounded up: no wait ends too early."""
    return max(0, math.ceil((end - time.monotonic()) * 1000))


def _begin_event(what: str, result: Any) -> torch.futures.Future:
    """Begins an event of torch's profiler that ends with the returned future, in any thread."""
    event = torch.autograd.profiler.record_function(f"dtring:{what.split()[0]}", describe(what, result))
    event.__enter__()
    end: torch.futures.Future = torch.futures.Future()
    event._call_end_callbacks_on_future(end)
    return end


class Work(_TorchWork):
    """One or more operations of the library that end together.

    `get_future` and `result` return `result`. `finish` is called once when all have succeeded (it copies
    staged values). `keep` are objects whose memory the library uses.
    """

    def __init__(self, communicator: Communicator, ids: Sequence[int], result: list[Any],
                 finish: Callable[[], None] | None = None, keep: Any = None, what: str = "",
                 source: int = -1):
        super().__init__()
        self._communicator = communicator
        self._ids = collections.deque(ids)
        self._result = result
        self._finish = finish
        self._keep = keep
        self._what = what
        self._source = source
        self._called = time.time()
        self._lock = threading.Lock()
        self._over = False
        self._error: Exception | None = None
        self._promise: torch.futures.Future | None = None
        self._future: torch.futures.Future | None = None  # the promise after `_deliver`
        self._events = [_begin_event(what, result)] if ids and what and _profiler_enabled() else []
        for work in ids:
            communicator.keep(work, self)

    @classmethod
    def of_all(cls, communicator: Communicator, works: Sequence[Work], result: list[Any]) -> Work:
        """One work that ends with all of these; no thread may have waited for them."""
        whole = cls(communicator, [work for part in works for work in part._ids], result,
                    after(*(part._finish for part in works)), [part._keep for part in works])
        whole._what = works[0]._what if works else ""
        whole._events = [event for part in works for event in part._events]
        return whole

    def _adopt(self, other: Work) -> None:
        """Takes over the operations of `other`, which nobody else uses."""
        with self._lock:
            self._ids, self._finish, self._keep = other._ids, other._finish, other._keep
            self._source, self._events = other._source, other._events
            for work in self._ids:
                self._communicator.keep(work, self)

    # --- called by torch ---

    def wait(self, timeout: datetime.timedelta = _NO_TIME) -> bool:
        """Blocks until the operation has ended. Raises its error, or OperationTimeout."""
        limit_ms = milliseconds(timeout)
        if limit_ms < 0:
            limit_ms = self._communicator.limit_ms
        if not self._over and not self.settle(limit_ms):
            raise OperationTimeout(f"dtring: timeout: {self._what} did not end within {limit_ms} ms; "
                                   "it goes on")
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.poll()

    def is_success(self) -> bool:
        """Whether it has succeeded."""
        return self._over and self._error is None

    def exception(self) -> Exception | None:
        """The error, if it failed."""
        return self._error

    def source_rank(self) -> int:
        """For a receive: the sender's rank. Waits for the message."""
        self.wait()
        return self._source

    _source_rank = source_rank

    def synchronize(self) -> None:
        """As `wait`."""
        self.wait()

    def result(self) -> list[Any]:
        """The tensors that the operation has written; waits for them."""
        self.wait()
        return self._result

    def get_future(self) -> torch.futures.Future:
        """A future of `result`; a thread of the process group completes it."""
        with self._lock:
            if self._future is None:
                self._promise = torch.futures.Future()
                self._future = self._promise.then(self._deliver)
                if self._over:
                    self._tell()
                else:
                    self._communicator.waiter(Waiter).add(self)
            return self._future

    # --- how it ends ---

    def poll(self) -> bool:
        """Checks whether it has ended; never blocks."""
        return self._over or self.settle(0)

    def settle(self, timeout_ms: int) -> bool:
        """Waits for the remaining operations; False on timeout. Raises nothing."""
        end = None if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000
        if not self._lock.acquire(timeout=-1 if end is None else max(0.0, timeout_ms / 1000)):
            return False
        try:
            while self._ids and not self._over:
                left = _FOREVER if end is None else left_ms(end)
                status = self._wait(left)
                if status == _library.PENDING:
                    return False
                if status != _library.OK:
                    self._error = self._communicator.error(status)
                self._communicator.forget(self._ids.popleft())
            self._end()
            return True
        finally:
            self._lock.release()

    def _wait(self, timeout_ms: int) -> int:
        """dt_wait for the first operation."""
        wait, work = self._communicator.wait, self._ids[0]
        if 0 <= timeout_ms <= _UNNAMED_MS:
            return wait(work, timeout_ms)
        status = wait(work, _UNNAMED_MS)
        if status != _library.PENDING:
            return status
        return under_name(self.told(), wait, work, max(_FOREVER, timeout_ms - _UNNAMED_MS))

    def told(self) -> str:
        """Its description and start time; dtlaunch parses it in stacks (launcher/job/rank_stack.cc)."""
        since = time.strftime("%H:%M:%S", time.localtime(self._called))
        return f"{describe(self._what, self._result)}, since {since}"

    def is_old(self) -> bool:
        """Whether it has run so long that waiting threads show its name in their stacks."""
        return time.time() - self._called > _UNNAMED_MS / 1000

    def _end(self) -> None:
        """Called with the lock when all operations were reported."""
        if self._over:
            return
        if self._error is None and self._finish is not None:
            try:
                self._finish()
            except Exception as error:  # from copying into the user's tensors
                self._error = error
        self._finish = self._keep = None
        self._over = True
        for event in self._events:
            event.set_result(None)
        if self._future is not None:
            self._tell()

    def _tell(self) -> None:
        """Called with the lock: completes the future. Its callbacks run here, and may use this work."""
        promise = self._promise
        assert promise is not None
        self._lock.release()
        try:
            promise.set_result(None)
        finally:
            self._lock.acquire()

    def _deliver(self, _: Any) -> list[Any]:
        """Returns the future's value, or raises its error.

        Not set_exception of torch's futures: C++ code such as DDP sees the exception as a value, takes
        its first tensor as the gradients, and crashes as there is none.
        """
        if self._error is not None:
            raise self._error
        return self._result


class Waiter:
    """A thread that waits for the works of one communicator whose futures were asked for.

    A future's callbacks run in that thread. A callback that requests another future, as DDP hooks do, may
    wait for it there; so a new thread then takes over.
    """

    _SLICE_MS = 20  # for the oldest; then check the others, which may end before it

    def __init__(self, name: str):
        self._name = f"dtring {name}"
        self._pending: list[Work] = []
        self._news = threading.Condition()
        self._stopped = False
        self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def add(self, work: Work) -> None:
        """Completes the work's future once the work has ended."""
        with self._news:
            self._pending.append(work)
            if threading.current_thread() is self._thread:
                self._start()
            else:
                self._news.notify()

    def stop(self) -> None:
        """Ends the thread and waits for it, except in a callback that it runs."""
        with self._news:
            self._stopped = True
            self._news.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._news:
                while not self._pending and not self._stopped and self._has_the_word():
                    self._news.wait()
                if self._stopped or not self._has_the_word():
                    return
                looked_at = list(self._pending)
            # Callbacks run inside these; afterwards another thread may have taken over.
            oldest = looked_at[0]
            ended = (under_name(oldest.told(), oldest.settle, self._SLICE_MS) if oldest.is_old()
                     else oldest.settle(self._SLICE_MS))
            over = [oldest] if ended else [work for work in looked_at if work.poll()]
            with self._news:
                self._pending = [work for work in self._pending if work not in over]

    def _has_the_word(self) -> bool:
        return threading.current_thread() is self._thread
