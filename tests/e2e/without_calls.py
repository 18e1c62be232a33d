#!/usr/bin/env python3
"""Runs a command for which the kernel refuses some system calls: as an old kernel does, which does not know
them (ENOSYS), or a container's profile (EPERM). Exits 77 if calls cannot be filtered.

    without_calls.py ENOSYS|EPERM NAME[,NAME...] COMMAND...
"""

import ctypes
import errno
import os
import platform
import struct
import sys

NEW_CALLS = {"pidfd_send_signal": 424, "pidfd_open": 434, "clone3": 435, "close_range": 436, "openat2": 437,
             "faccessat2": 439}  # the same on all architectures
NUMBERS = {
    "x86_64": NEW_CALLS | {"mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "migrate_pages": 256,
                           "move_pages": 279, "statx": 332},
    "aarch64": NEW_CALLS | {"mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237, "migrate_pages": 238,
                            "move_pages": 239, "statx": 291},
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000


def main():
    why, names, command = getattr(errno, sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
    known = NUMBERS.get(platform.machine())
    if known is None:
        print(f"no numbers of system calls for {platform.machine()}", file=sys.stderr)
        return 77
    program = [(LOAD_WORD, 0, 0, 0)]  # of struct seccomp_data: the call's number
    for place, name in enumerate(names):
        program.append((JUMP_IF_EQUAL, len(names) - place, 0, known[name]))
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL | why)]
    code = b"".join(struct.pack("HBBI", *each) for each in program)
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0):
        print(f"cannot filter system calls: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        return 77
    os.execvp(command[0], command)
    return 1


if __name__ == "__main__":
    sys.exit(main())
