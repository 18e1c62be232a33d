"""How the ranks of a process group find each other: by the store that torch hands in.

Rank 0 of the group listens on a free port and writes address, port and a number of the meeting into
the store. The secret that every connection has to prove is the job's, which dtlaunch hands down
(DTRING_SECRET_FD, DTRING_SECRET_FILE). Where no launcher gave one, rank 0 makes one for the group and
the store carries it: then whoever can read the store can take part, as with any of torch's backends.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import socket
from typing import Any

import torch.distributed as dist

from dtring import _library
from dtring._communicator import Communicator
from dtring._work import milliseconds

_KEY = "dtring"
_BACKLOG = 1024
# What libdtring takes for "not given", so that DTRING_TIMEOUT holds.
_DEFAULT_TIMEOUT_MS = 600000


def meet(store: Any, rank: int, world: int, timeout: datetime.timedelta, name: str) -> Communicator:
    """The communicator of a group's `world` ranks, once all have come. Every rank calls this."""
    options = _library.options()
    options.rank, options.world = rank, world
    options.flags = _library.ENVIRONMENT
    options.wire = _library.WIRE_DEFAULT
    if not os.environ.get("DTRING_TUNE") and not os.environ.get("DTRING_ALLREDUCE"):
        options.allreduce = b""  # no measuring: it takes its time, and its choice is another one next time
    options.operation_timeout_ms = _operation_timeout_ms(timeout)
    limit = milliseconds(timeout)
    if limit > 0:
        options.connect_timeout_ms = limit
    if world == 1:
        return Communicator(options, name)
    if rank > 0:
        place = json.loads(store.get(_KEY))
        return _join(options, place, name)
    with _listen(_own_address()) as listener:
        place = _place_of(listener)
        store.set(_KEY, json.dumps(place))
        options.listener = listener.fileno()
        return _join(options, place, name)


def _join(options: _library.Options, place: dict[str, Any], name: str) -> Communicator:
    options.master_address = place["address"].encode()
    options.master_port = place["port"]
    job = os.environ.get("DTLAUNCH_JOB", "")
    digest = hashlib.sha256(f"{job}\n{name}\n{place['meeting']}".encode()).digest()
    options.job = int.from_bytes(digest[:8], "little") or 1
    if not _has_secret():
        secret = bytes.fromhex(place.get("secret", ""))
        options.secret, options.secret_bytes = secret, len(secret)
    return Communicator(options, name)


def _has_secret() -> bool:
    """Whether the job has one. Then it alone counts, whatever somebody has written into the store."""
    return bool(os.environ.get("DTRING_SECRET_FD") or os.environ.get("DTRING_SECRET_FILE"))


def _place_of(listener: socket.socket) -> dict[str, Any]:
    address, port = listener.getsockname()[:2]
    place = {"address": address, "port": port, "meeting": os.urandom(8).hex()}
    if not _has_secret():
        place["secret"] = os.urandom(32).hex()
    return place


def _operation_timeout_ms(timeout: datetime.timedelta) -> int:
    """What init_process_group was given; DTRING_TIMEOUT where that is only torch's default."""
    if os.environ.get("DTRING_TIMEOUT") and timeout == dist.default_pg_timeout:
        return _DEFAULT_TIMEOUT_MS
    limit = milliseconds(timeout)
    return limit if limit > 0 else _DEFAULT_TIMEOUT_MS


def _listen(address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    _avoid_bbr(listener)
    try:
        listener.bind((address, 0))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise RuntimeError(f"dtring: DTRING_ADDRESS={address}: cannot listen: {error.strerror}. "
                           "Try: DTRING_ADDRESS=ADDRESS with one that hostname -I prints") from None
    return listener


def _avoid_bbr(listener: socket.socket) -> None:
    """What the library does for sockets of its own (avoid_bbr in ring/common/socket.h).

    The others' connections, gradients and all, inherit it from the listener, and some may have come
    before the library gets it.
    """
    option = (socket.IPPROTO_TCP, socket.TCP_CONGESTION)
    if not listener.getsockopt(*option, 16).startswith(b"bbr"):
        return
    for other in (b"cubic", b"reno"):  # cubic may be kept from users
        try:
            return listener.setsockopt(*option, other)
        except OSError:
            continue


def _own_address() -> str:
    """An address of this host that the group's other ranks reach.

    dtlaunch has tried which do (DTRING_ADDRESS). Else the one by which this host reaches MASTER_ADDR;
    else, if the store needs none (a file), the one of the default route.
    """
    given = os.environ.get("DTRING_ADDRESS")
    if given:
        return given
    master = os.environ.get("MASTER_ADDR", "")
    address = _source_towards(master) if master else ""
    everywhere = os.environ.get("WORLD_SIZE", "1")
    if _is_loopback(address) and os.environ.get("LOCAL_WORLD_SIZE", everywhere) == everywhere:
        return address
    if not address or _is_loopback(address):
        # Addresses for documentation: nothing is sent, the kernel only says which way it would go.
        address = _source_towards("192.0.2.1") or _source_towards("2001:db8::1") or "127.0.0.1"
    return address


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def _source_towards(name: str) -> str:
    """The own address of packets to `name`; empty if there is no way there."""
    try:
        # As bytes where that is the same: else Python loads what international names need, for 2 ms.
        known = name.encode() if name.isascii() else name
        found = socket.getaddrinfo(known, 9, type=socket.SOCK_DGRAM)
    except OSError:
        return ""
    for family, kind, protocol, _, place in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(place)
                return probe.getsockname()[0]
        except OSError:
            continue
    return ""
