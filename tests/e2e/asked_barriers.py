"""A rank that makes barriers of libdtring until the file GO exists. Rank 2 waits for it before its second barrier,
so the others wait in that one. It reports its stack as those ranks do that import dtring, while the job runs on."""

import ctypes
import faulthandler
import os
import signal
import sys
import time

library = ctypes.CDLL(os.environ["DTRING_LIBRARY"])
file = open(os.environ["DTLAUNCH_STACK_FILE"], "a", encoding="ascii")
faulthandler.register(signal.SIGWINCH, file=file)
file.write(f"{os.getpid()}\n")
file.flush()


def barrier(comm):
    work = ctypes.c_uint64()
    status = library.dt_barrier(comm, ctypes.c_uint64(0), ctypes.byref(work)) or library.dt_wait(comm, work, -1)
    if status:
        sys.exit(f"status {status}")


def hold(path):
    while not os.path.exists(path):
        time.sleep(0.05)


def main():
    comm = ctypes.c_void_p()
    if library.dt_comm_from_env(ctypes.byref(comm)):
        sys.exit("the ranks cannot meet")
    barrier(comm)
    library.dt_progress(*(ctypes.c_uint64(number) for number in (7, 10, 0)), ctypes.c_double(0.5))
    print(f"rank {os.environ['RANK']} pid {os.getpid()}", flush=True)
    if os.environ["RANK"] == "2":
        hold(sys.argv[1])
    barrier(comm)
    barrier(comm)
    library.dt_comm_destroy(comm)  # a rank that only exits may break the barrier of the others


main()
