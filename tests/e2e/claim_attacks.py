#!/usr/bin/env python3
"""What another user may try with the names of claims (agent/cores/claim_name.cc): claim_attacks.py ATTACK [ARGUMENT...]

Prints "ready" once the attack is in place, and stays until it is killed.
"""

import errno
import multiprocessing
import os
import resource
import signal
import socket
import sys

PREFIX = "dtlaunch-cores/1/"
FIRST_ID = "0" * 16  # before all others


def all_cpus():
    return f"0-{os.cpu_count() - 1}" if os.cpu_count() > 1 else "0"


def name_of(cpus, job=FIRST_ID, number=0):
    return f"{PREFIX}{job}/0/x/{number:08x}/{cpus}"


def bind(name, backlog=None):
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    claim.bind(b"\0" + name.encode())
    if backlog is not None:
        claim.listen(backlog)
    return claim


def claims():
    """The names of all listening claims."""
    lines = [line.split(" @", 1) for line in open("/proc/net/unix", errors="replace") if " @" + PREFIX in line]
    return [name.rstrip("\n") for fields, name in lines if int(fields.split()[3], 16) & 0x10000]


def intend(count, cpus):
    """Intentions with the smallest id, which stay."""
    return [bind(name_of(cpus, number=number)) for number in range(int(count))]


def hold(count, cpus):
    """Claims, each of another job."""
    return [bind(name_of(cpus, f"{number:016x}"), 128) for number in range(int(count))]


def hold_as(job, cpus):
    """A claim in the name of another user's job."""
    return [bind(name_of(cpus, job), 128)]


def hold_unanswered(cpus):
    """A claim whose queue is full, so that nobody can ask whose it is."""
    name = name_of(cpus)
    kept = [bind(name, 0)]
    while True:
        caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        caller.setblocking(False)
        if caller.connect_ex(b"\0" + name.encode()) != 0:
            return kept
        kept.append(caller)


def line_ends(cpus):
    """Names that make up lines of the kernel's list, or escape sequences."""
    made_up = f"0: 00000002 00000000 00010000 0001 01 5 @{name_of(cpus)}"
    return [bind(f"x\n{made_up}"), bind(f"{PREFIX}\n{name_of(cpus)}"[:107]),
            bind(f"{PREFIX}\x1b[31m/0/x/00000000/0", 128), bind(PREFIX, 128), bind(PREFIX + "/" * 80, 128)]


def call_for_ever(name):
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
            caller.setblocking(False)
            caller.connect_ex(b"\0" + name.encode())


def flood():
    """Connections to each claim, as many as fit."""
    return [multiprocessing.Process(target=call_for_ever, args=(name,), daemon=True) for name in claims() * 4]


def remove():
    """Each way to remove others' claims: fails unless all are refused."""
    for name in claims():
        try:
            bind(name)
            sys.exit(f"{name}: its name is free")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        caller.connect(b"\0" + name.encode())
        caller.shutdown(socket.SHUT_RDWR)
        owner = int.from_bytes(caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4), sys.byteorder)
        try:
            os.kill(owner, signal.SIGKILL)
            sys.exit(f"{name}: its owner could be killed")
        except PermissionError:
            pass
    return []


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    attack, arguments = sys.argv[1], [all_cpus() if word == "all" else word for word in sys.argv[2:]]
    attacks = (intend, hold, hold_as, hold_unanswered, line_ends, flood, remove)
    kept = {each.__name__: each for each in attacks}[attack](*arguments)
    for process in kept if attack == "flood" else []:
        process.start()
    print("ready", flush=True)
    signal.sigwait({signal.SIGTERM})  # kept: closed only now
    for process in kept if attack == "flood" else []:
        process.kill()


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    main()
