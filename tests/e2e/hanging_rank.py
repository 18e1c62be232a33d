"""A rank that makes barriers of libdtring without end; with the argument "spin", rank 1 stops making them
after the third and computes. It can be asked for its stack as those can that import dtring."""

import ctypes
import faulthandler
import os
import sys

library = ctypes.CDLL(os.environ["DTRING_LIBRARY"])
file = open(os.environ["DTLAUNCH_STACK_FILE"], "w", encoding="ascii")
faulthandler.register(48, file=file)
file.write(f"{os.getpid()}\n")
file.flush()


def spin():
    while True:
        pass


def barrier(comm):
    work = ctypes.c_uint64()
    status = library.dt_barrier(comm, ctypes.c_uint64(0), ctypes.byref(work))
    if status or library.dt_wait(comm, work, -1):
        sys.exit(f"status {status}")


def main():
    comm = ctypes.c_void_p()
    if library.dt_comm_from_env(ctypes.byref(comm)):
        sys.exit("the ranks cannot meet")
    for number in range(1 << 62):
        barrier(comm)
        if number == 3:
            print(f"pid {os.getpid()} rank {os.environ['RANK']}", flush=True)
            if os.environ["RANK"] == "1" and sys.argv[1] == "spin":
                spin()


main()
