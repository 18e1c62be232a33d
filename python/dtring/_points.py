"""Point-to-point messages, and the barrier that names missing ranks."""

from __future__ import annotations

import datetime
import threading
import time
from typing import Any, Sequence

import torch

from dtring import _library
from dtring._arguments import only_one
from dtring._errors import OperationTimeout
from dtring._tensors import as_moved, check_cpu, in_place, to_write
from dtring._work import Work, left_ms, milliseconds

lib = _library.lib
Tensor = torch.Tensor

_ARRIVED, _GO_ON = 0x6d6f6e0000000001, 0x6d6f6e0000000002  # tags of the monitored barrier


class FromAnyone(Work):
    """A receive whose sender is not known yet."""

    def __init__(self, group: Any, tensor: Tensor, tag: int):
        super().__init__(group._communicator, [], [tensor], what="recv from any rank")
        self._group, self._tensor, self._tag = group, tensor, tag
        self._begun, self._beginning = False, threading.Lock()

    def settle(self, timeout_ms: int) -> bool:
        """As Work.settle, once a rank has sent."""
        begin = time.monotonic()
        with self._beginning:
            if not self._begun and not self._begin(timeout_ms):
                return False
        if timeout_ms > 0:
            timeout_ms = max(0, timeout_ms - int((time.monotonic() - begin) * 1000))
        return super().settle(timeout_ms)

    def _begin(self, timeout_ms: int) -> bool:
        is_last = timeout_ms < 0
        if is_last:
            timeout_ms = milliseconds(self._group._timeout)
        status, source, _ = self._communicator.probe(timeout_ms)
        if status == _library.PENDING and not is_last:
            return False
        self._begun = True
        if status == _library.PENDING:
            self._error = OperationTimeout(f"dtring: timeout: no rank has sent to rank "
                                           f"{self._group._rank} within {timeout_ms} ms")
        elif status != _library.OK:
            self._error = self._communicator.error(status)
        else:
            self._adopt(self._group.recv([self._tensor], source, self._tag))
        return True


class Points:
    """The part of ProcessGroup for pairs of ranks.

    Messages between two ranks arrive in the order of sending; if the tag of a receive differs from the
    next message's, both ranks get a MismatchError.
    """

    def send(self, tensors: Any, to: int, tag: int = 0) -> Work:
        """Sends one tensor to a rank of the group, which calls recv with the same tag."""
        tensor = self._only(tensors, to, "send")
        memory, _ = in_place(tensor)
        work = self._submit_tagged(lib.dt_send, memory.data_ptr(), *as_moved(tensor), to, tag=tag)
        return self._work([work], [tensor], None, memory, f"send to rank {to}")

    def recv(self, tensors: Any, source: int, tag: int = 0) -> Work:
        """Receives one tensor that rank `source` of the group sends with this tag."""
        tensor = self._only(tensors, source, "recv")
        memory, step = to_write(tensor)
        work = self._submit_tagged(lib.dt_recv, memory.data_ptr(), *as_moved(tensor), source,
                                   tag=tag)
        return self._work([work], [tensor], step, memory, f"recv from rank {source}", source)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """As recv from the next rank that sends; the work's source_rank() returns which it was.

        The sender is determined when a thread waits for the work.
        """
        tensor = self._only(tensors, (self._rank + 1) % self._world, "recv")
        return FromAnyone(self, tensor, tag)

    def monitored_barrier(self, timeout: datetime.timedelta | float | None = None,
                          wait_all_ranks: bool = False) -> None:
        """Returns once all ranks have called it; on timeout rank 0 names missing ranks.

        With wait_all_ranks it names all of them, else the first one. `timeout`: a number means seconds,
        None the group's timeout.
        """
        if isinstance(timeout, (int, float)):
            timeout = datetime.timedelta(seconds=timeout)
        limit = milliseconds(timeout if timeout is not None else self._timeout)
        if timeout is not None and limit < 0:
            raise OperationTimeout(f"dtring: Rank {self._rank} timed out in monitoredBarrier after "
                                   "0 ms")
        if self._rank == 0:
            self._call_the_roll(limit, wait_all_ranks)
            return
        empty = torch.empty(0, dtype=torch.uint8)
        for work in (self.send([empty], 0, _ARRIVED), self.recv([empty], 0, _GO_ON)):
            reason = f"it heard nothing for {limit} ms"
            if work.settle(limit):
                reason = str(work.exception() or "")
            if reason:
                raise OperationTimeout(
                    f"dtring: Rank {self._rank} successfully reached monitoredBarrier, but received "
                    f"errors while waiting for send/recv from rank 0: {reason}")

    def _call_the_roll(self, limit_ms: int, wait_all_ranks: bool) -> None:
        end = time.monotonic() + limit_ms / 1000
        empty = torch.empty(0, dtype=torch.uint8)
        works = {rank: self.recv([empty], rank, _ARRIVED) for rank in range(1, self._world)}
        missing = []
        for rank, work in works.items():
            if work.settle(left_ms(end)):
                work.wait()
                continue
            missing.append(rank)
            if not wait_all_ranks:
                break
        if missing:
            names = ", ".join(str(rank) for rank in missing)
            raise OperationTimeout(f"dtring: Rank{'s' if wait_all_ranks else ''} {names} failed to "
                                   f"pass monitoredBarrier in {limit_ms} ms")
        for rank in works:
            self.send([empty], rank, _GO_ON).wait()

    def _only(self, tensors: Any, peer: int, what: str) -> Tensor:
        tensor = only_one(tensors, what)
        check_cpu([tensor])
        if not 0 <= peer < self._world or peer == self._rank:
            raise ValueError(f"dtring: {what}: rank {peer}: not another rank than {self._rank} in a "
                             f"group of {self._world}")
        return tensor

    def _submit_tagged(self, call: Any, *arguments: Any, tag: int) -> int:
        self._sequence += 1
        return self._communicator.submit(call, *arguments, tag=tag & (2**64 - 1))
