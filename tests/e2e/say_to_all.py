#!/usr/bin/env python3
"""A rank that prints what rank 0 says to all over libdtring: say_to_all.py LIBRARY."""

import ctypes
import os
import sys

TEXT = b"a gradient that nobody else reads"
ring = ctypes.CDLL(sys.argv[1])
ring.dt_broadcast.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_int,
                              ctypes.c_uint64, ctypes.c_void_p]
ring.dt_wait.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32]
ring.dt_last_error.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32]
ring.dt_comm_destroy.argtypes = [ctypes.c_void_p]
comm, work = ctypes.c_void_p(), ctypes.c_uint64()


def check(status):
    if status != 0:
        text = ctypes.create_string_buffer(2048)
        ring.dt_last_error(comm, text, len(text))
        sys.exit(f"say_to_all.py: {text.value.decode()}")


check(ring.dt_comm_from_env(ctypes.byref(comm)))
said = TEXT if os.environ["RANK"] == "0" else bytes(len(TEXT))
heard = ctypes.create_string_buffer(said, len(TEXT))
check(ring.dt_broadcast(comm, heard, len(TEXT), 0, 0, 0, ctypes.byref(work)))
check(ring.dt_wait(comm, work, -1))
print(heard.raw.decode(), flush=True)
ring.dt_comm_destroy(comm)
