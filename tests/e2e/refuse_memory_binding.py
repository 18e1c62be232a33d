#!/usr/bin/env python3
"""Runs a command whose system calls about memory binding fail with EPERM, as the profiles of containers
have it without CAP_SYS_NICE.

    refuse_memory_binding.py COMMAND...
"""

import ctypes
import os
import platform
import struct
import sys

# mbind, set_mempolicy, get_mempolicy, migrate_pages, move_pages
NUMBERS = {"x86_64": (237, 238, 239, 256, 279), "aarch64": (235, 237, 236, 238, 239)}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
EPERM = 1


def main():
    numbers = NUMBERS.get(platform.machine())
    if numbers is None:
        print(f"no numbers of system calls for {platform.machine()}", file=sys.stderr)
        return 77
    program = [(LOAD_WORD, 0, 0, 0)]  # of struct seccomp_data: the call's number
    for place, number in enumerate(numbers):
        program.append((JUMP_IF_EQUAL, len(numbers) - place, 0, number))
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL | EPERM)]
    code = b"".join(struct.pack("HBBI", *each) for each in program)
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0):
        print(f"cannot filter system calls: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        return 77
    os.execvp(sys.argv[1], sys.argv[1:])
    return 1


if __name__ == "__main__":
    sys.exit(main())
