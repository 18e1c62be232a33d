"""The turns of bench/gate.h: allreduce.py gives them, allreduce_torch.py takes them."""
import ctypes
import mmap
import os

SYS_FUTEX, FUTEX_WAIT, FUTEX_WAKE = 202, 0, 1  # x86-64


class Numbers:
    """The current turn and the last finished one: two futexes in a file of 8 bytes."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 8)
        self.values = (ctypes.c_uint32 * 2).from_buffer(self.memory)
        self.libc = ctypes.CDLL(None, use_errno=True)

    def futex(self, index, operation, value, timeout=None):
        address = ctypes.addressof(self.values) + 4 * index
        self.libc.syscall(SYS_FUTEX, ctypes.c_void_p(address), operation, ctypes.c_uint32(value),
                          timeout, None, 0)

    def set(self, index, value):
        self.values[index] = value
        self.futex(index, FUTEX_WAKE, 1 << 30)

    def wait(self, index, value, timeout_s=None):
        """Waits until it has the value, or until the timeout."""
        seconds = ctypes.c_long * 2
        timeout = None
        if timeout_s is not None:
            timeout = ctypes.byref(seconds(int(timeout_s), int(timeout_s % 1 * 1e9)))
        seen = self.values[index]
        if seen != value:
            self.futex(index, FUTEX_WAIT, seen, timeout)
        return self.values[index] == value


class Turns:
    """Of one contestant: $BENCH_TURNS is CONTESTANT:CONTESTANTS:FILE."""

    def __init__(self, rank):
        self.rank, self.taken, self.numbers = rank, 0, None
        setting = os.environ.get("BENCH_TURNS")
        if setting:
            contestant, contestants, path = setting.split(":", 2)
            self.contestant, self.contestants = int(contestant), int(contestants)
            self.numbers = Numbers(path)

    def own(self):
        return self.taken * self.contestants + self.contestant + 1

    def begin(self):
        while self.numbers and not self.numbers.wait(0, self.own()):
            pass

    def end(self):
        if self.numbers and self.rank == 0:
            self.numbers.set(1, self.own())
        self.taken += 1
