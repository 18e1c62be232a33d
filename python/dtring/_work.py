"""Work: what a collective returns, and the futures of those that are asked for one."""

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
_UNNAMED_MS = 1000  # after so long, a wait is named in the stack


def milliseconds(time_out: datetime.timedelta | None) -> int:
    """A time-out of torch's for the library; what is unset or not positive is the group's own."""
    if time_out is None or time_out <= _NO_TIME:
        return _FOREVER
    return max(1, min(int(time_out.total_seconds() * 1000), 2**31 - 1))


def left_ms(end: float) -> int:
    """Until this time of time.monotonic(), rounded up: no wait ends before its time."""
    return max(0, math.ceil((end - time.monotonic()) * 1000))


def _begin_event(what: str, result: Any) -> torch.futures.Future:
    """An event of torch's profiler, which ends with the future that is returned, in whichever thread."""
    event = torch.autograd.profiler.record_function(f"dtring:{what.split()[0]}", describe(what, result))
    event.__enter__()
    end: torch.futures.Future = torch.futures.Future()
    event._call_end_callbacks_on_future(end)
    return end


class Work(_TorchWork):
    """One or more operations of the library that end together.

    `result` is what `get_future` and `result` give, `finish` is called once when all have ended well
    (it copies what had to be staged), `keep` are objects whose memory the library uses.
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
        self._future: torch.futures.Future | None = None  # what the promise becomes by `_deliver`
        self._events = [_begin_event(what, result)] if ids and what and _profiler_enabled() else []
        for work in ids:
            communicator.keep(work, self)

    @classmethod
    def of_all(cls, communicator: Communicator, works: Sequence[Work], result: list[Any]) -> Work:
        """One work that ends with all of these, which nobody has waited for yet."""
        whole = cls(communicator, [work for part in works for work in part._ids], result,
                    after(*(part._finish for part in works)), [part._keep for part in works])
        whole._what = works[0]._what if works else ""
        whole._events = [event for part in works for event in part._events]
        return whole

    def _adopt(self, other: Work) -> None:
        """Becomes the work that `other` is, which nobody else has."""
        with self._lock:
            self._ids, self._finish, self._keep = other._ids, other._finish, other._keep
            self._source, self._events = other._source, other._events
            for work in self._ids:
                self._communicator.keep(work, self)

    # --- what torch calls ---

    def wait(self, timeout: datetime.timedelta = _NO_TIME) -> bool:
        """Blocks until the operation has ended. Raises what went wrong, or OperationTimeout."""
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
        """Whether it has ended, well or not."""
        return self.poll()

    def is_success(self) -> bool:
        """Whether it has ended well."""
        return self._over and self._error is None

    def exception(self) -> Exception | None:
        """What went wrong."""
        return self._error

    def source_rank(self) -> int:
        """Of a receive: who has sent. Waits for it."""
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
        """Looks whether it has ended; never blocks."""
        return self._over or self.settle(0)

    def settle(self, timeout_ms: int) -> bool:
        """Waits for the operations that are left; False when the time is up. Raises nothing."""
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
        """What it is, since when; dtlaunch reads this in stacks (launcher/job/rank_stack.cc)."""
        since = time.strftime("%H:%M:%S", time.localtime(self._called))
        return f"{describe(self._what, self._result)}, since {since}"

    def is_old(self) -> bool:
        """Whether it has lasted so long that whoever waits for it says so."""
        return time.time() - self._called > _UNNAMED_MS / 1000

    def _end(self) -> None:
        """With the lock: all operations were reported."""
        if self._over:
            return
        if self._error is None and self._finish is not None:
            try:
                self._finish()
            except Exception as error:  # of a copy into the user's tensors
                self._error = error
        self._finish = self._keep = None
        self._over = True
        for event in self._events:
            event.set_result(None)
        if self._future is not None:
            self._tell()

    def _tell(self) -> None:
        """With the lock: completes the future. Its callbacks run here, and may use this work."""
        promise = self._promise
        assert promise is not None
        self._lock.release()
        try:
            promise.set_result(None)
        finally:
            self._lock.acquire()

    def _deliver(self, _: Any) -> list[Any]:
        """The future's value, or what it raises.

        Not set_exception of torch's futures: that is a value like others for whoever asks in C++, as
        DDP does, which takes its first tensor for the gradients and dies of having none.
        """
        if self._error is not None:
            raise self._error
        return self._result


class Waiter:
    """A thread that waits for the works of one communicator whose futures were asked for.

    A future's callbacks run in that thread. One that asks for another future, as hooks of DDP do, may
    wait for it there; so another thread goes on from then on.
    """

    _SLICE_MS = 20  # for the oldest; then the others are looked at, which may end before it

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
        """Has the work's future completed once it has ended."""
        with self._news:
            self._pending.append(work)
            if threading.current_thread() is self._thread:
                self._start()
            else:
                self._news.notify()

    def stop(self) -> None:
        """Returns once the thread has ended, or at once in a callback that it runs."""
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
            # Callbacks run inside of these, after which another thread may have the word.
            oldest = looked_at[0]
            ended = (under_name(oldest.told(), oldest.settle, self._SLICE_MS) if oldest.is_old()
                     else oldest.settle(self._SLICE_MS))
            over = [oldest] if ended else [work for work in looked_at if work.poll()]
            with self._news:
                self._pending = [work for work in self._pending if work not in over]

    def _has_the_word(self) -> bool:
        return threading.current_thread() is self._thread
