"""Lets the ranks of a process group find each other through torch's store.

Rank 0 of the group listens on a free port and writes address, port and a random meeting number into
the store. Every connection must prove the job's secret, which dtlaunch passes on (DTRING_SECRET_FD,
DTRING_SECRET_FILE). If no launcher provided one, rank 0 makes one for the group and puts it into the
store: then anybody who can read the store can join, as with any of torch's backends.
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
# libdtring treats this value as not set, so that DTRING_TIMEOUT applies.
_DEFAULT_TIMEOUT_MS = 600000


def meet(store: Any, rank: int, world: int, timeout: datetime.timedelta, name: str) -> Communicator:
    """Returns a group's communicator once all `world` ranks have connected. Every rank calls this."""
    options = _library.options()
    options.rank, options.world = rank, world
    options.flags = _library.ENVIRONMENT
    options.wire = _library.WIRE_DEFAULT
    if not os.environ.get("DTRING_TUNE") and not os.environ.get("DTRING_ALLREDUCE"):
        options.allreduce = b""  # no measuring: it takes time, and its choice may differ next time
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
    """Whether the job has one. Then only that counts, whatever the store contains."""
    return bool(os.environ.get("DTRING_SECRET_FD") or os.environ.get("DTRING_SECRET_FILE"))


def _place_of(listener: socket.socket) -> dict[str, Any]:
    address, port = listener.getsockname()[:2]
    place = {"address": address, "port": port, "meeting": os.urandom(8).hex()}
    if not _has_secret():
        place["secret"] = os.urandom(32).hex()
    return place


def _operation_timeout_ms(timeout: datetime.timedelta) -> int:
    """The timeout of init_process_group; DTRING_TIMEOUT if that is just torch's default."""
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
    """As the library does for its own sockets (avoid_bbr in ring/common/socket.h).

    The other ranks' connections inherit the setting from the listener, and some may arrive before the
    library gets it.
    """
    option = (socket.IPPROTO_TCP, socket.TCP_CONGESTION)
    if not listener.getsockopt(*option, 16).startswith(b"bbr"):
        return
    for other in (b"cubic", b"reno"):  # users may be denied cubic
        try:
            return listener.setsockopt(*option, other)
        except OSError:
            continue


def _own_address() -> str:
    """An address of this host that the group's other ranks can reach.

    DTRING_ADDRESS if set: dtlaunch has tested it. Else the source address towards MASTER_ADDR; else, if
    the store needs no address (a file), the one of the default route.
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
        # Documentation addresses: nothing is sent, the kernel only reports the route.
        address = _source_towards("192.0.2.1") or _source_towards("2001:db8::1") or "127.0.0.1"
    return address


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def _source_towards(name: str) -> str:
    """The source address of packets to `name`; empty without a route."""
    try:
        # ASCII as bytes: otherwise Python loads its codec for international names, which takes 2 ms.
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
