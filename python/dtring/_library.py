"""The C interface of libdtring (dtring.h) through ctypes.

Calls release the interpreter lock while they run. Pointers are plain integers.
"""

from __future__ import annotations

import ctypes
import os
import pathlib

ABI = 2
SONAME = f"libdtring.so.{ABI}"

OK, PENDING = 0, 1
E_INVAL, E_TIMEOUT, E_PEER, E_MISMATCH, E_ABORTED = -1, -2, -3, -4, -5
E_AUTH, E_SYS, E_NOMEM, E_VERSION = -6, -7, -8, -9

U8, I32, I64, F32, F64, I8, F16, BF16, BOOL = range(9)
SUM, AVG, MIN, MAX, PROD, BAND, BOR, BXOR = range(8)
WIRE_DEFAULT, WIRE_EXACT, WIRE_BF16, WIRE_F16 = range(4)
DETERMINISTIC, ENVIRONMENT = 1, 2

WIRES = {"default": WIRE_DEFAULT, "exact": WIRE_EXACT, "fp32": WIRE_EXACT, "bf16": WIRE_BF16,
         "f16": WIRE_F16, "fp16": WIRE_F16}


def check_wire(wire: str) -> None:
    """Rejects an unknown wire."""
    if wire not in WIRES:
        raise ValueError(f"dtring: wire={wire}: not one of {', '.join(sorted(WIRES))}. Try: wire=\"bf16\"")


class Options(ctypes.Structure):
    """dt_options; `options()` makes one with the library's defaults."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("world", ctypes.c_int32),
        ("master_address", ctypes.c_char_p),
        ("master_port", ctypes.c_int32),
        ("host_name", ctypes.c_char_p),
        ("secret", ctypes.c_char_p),
        ("secret_bytes", ctypes.c_uint32),
        ("job", ctypes.c_uint64),
        ("connect_timeout_ms", ctypes.c_int32),
        ("operation_timeout_ms", ctypes.c_int32),
        ("address", ctypes.c_char_p),
        ("warn_timeout_ms", ctypes.c_int32),
        ("streams", ctypes.c_int32),
        ("wire", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("allreduce", ctypes.c_char_p),
        ("warn", ctypes.c_void_p),
        ("warn_context", ctypes.c_void_p),
        ("listener", ctypes.c_int32),
    ]


_INT, _LONG, _PLACE = ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
_WORK = ctypes.POINTER(ctypes.c_uint64)
_COUNTS = ctypes.POINTER(ctypes.c_uint64)

# The arguments of each call between the communicator and the tag and work id.
_COLLECTIVES = {
    "allreduce": [_PLACE, _PLACE, _LONG, _INT, _INT, _INT],
    "reduce_scatter": [_PLACE, _PLACE, _LONG, _INT, _INT, _INT],
    "reduce": [_PLACE, _PLACE, _LONG, _INT, _INT, _INT],
    "allgather": [_PLACE, _PLACE, _LONG, _INT],
    "allgatherv": [_PLACE, _PLACE, _COUNTS, _INT],
    "broadcast": [_PLACE, _LONG, _INT, _INT],
    "gather": [_PLACE, _PLACE, _LONG, _INT, _INT],
    "scatter": [_PLACE, _PLACE, _LONG, _INT, _INT],
    "alltoall": [_PLACE, _PLACE, _LONG, _INT],
    "alltoallv": [_PLACE, _COUNTS, _PLACE, _COUNTS, _INT],
    "send": [_PLACE, _LONG, _INT, _INT],
    "recv": [_PLACE, _LONG, _INT, _INT],
    "barrier": [],
}

_OTHERS = {
    "dt_abi_version": (ctypes.c_uint32, []),
    "dt_options_init": (_INT, [ctypes.POINTER(Options), ctypes.c_uint32]),
    "dt_comm_create": (_INT, [ctypes.POINTER(Options), ctypes.POINTER(_PLACE)]),
    "dt_comm_abort": (_INT, [_PLACE, ctypes.c_char_p]),
    "dt_comm_destroy": (_INT, [_PLACE]),
    "dt_wait": (_INT, [_PLACE, _LONG, ctypes.c_int32]),
    "dt_probe": (_INT, [_PLACE, ctypes.POINTER(ctypes.c_int32), _COUNTS,
                        ctypes.POINTER(ctypes.c_int32), _COUNTS, ctypes.c_int32]),
    "dt_test": (_INT, [_PLACE, _LONG]),
    "dt_alloc": (_PLACE, [_PLACE, _LONG]),
    "dt_free": (_INT, [_PLACE, _PLACE]),
    "dt_stats_json": (_INT, [_PLACE, _PLACE, ctypes.c_uint32]),
    "dt_progress": (_INT, [_LONG, _LONG, _LONG, ctypes.c_double]),
    "dt_strerror": (ctypes.c_char_p, [_INT]),
    "dt_last_error": (_INT, [_PLACE, _PLACE, ctypes.c_uint32]),
}


def _places() -> list[str]:
    """Possible places of the library, best first; the last one is up to the dynamic linker."""
    given = os.environ.get("DTRING_LIBRARY")
    if given:
        return [given]
    package = pathlib.Path(__file__).resolve().parent
    beside = [package.parent / "dtring.libs" / SONAME]  # a wheel
    beside += [folder / SONAME for folder in package.parents if folder.name.startswith("lib")]
    return [str(place) for place in beside if place.exists()] + [SONAME]


def _load() -> ctypes.CDLL:
    reasons = []
    for place in _places():
        try:
            library = ctypes.CDLL(place)
            break
        except OSError as error:
            reasons.append(str(error))
    else:
        hint = ("unset DTRING_LIBRARY" if os.environ.get("DTRING_LIBRARY")
                else f"apt-get install libdtring2, or DTRING_LIBRARY=FOLDER/{SONAME}")
        raise ImportError(f"dtring: {SONAME}: cannot load: {'; '.join(reasons)}. Try: {hint}")
    for name, (result, arguments) in _OTHERS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.dt_abi_version() != ABI:
        raise ImportError(f"dtring: {place}: cannot use: its interface is version "
                          f"{library.dt_abi_version()}, not {ABI}")
    for name, arguments in _COLLECTIVES.items():
        function = getattr(library, "dt_" + name)
        function.restype = _INT
        function.argtypes = [_PLACE, *arguments, ctypes.c_uint64, _WORK]
    return library


lib = _load()


def options() -> Options:
    """The library's defaults."""
    made = Options()
    if lib.dt_options_init(ctypes.byref(made), ctypes.sizeof(made)) != OK:
        raise ImportError(f"dtring: {lib._name}: cannot use: it is older than this package")
    return made


def last_error(handle: int) -> str:
    """The text of a communicator's first error, or an empty one."""
    text = ctypes.create_string_buffer(4096)
    if lib.dt_last_error(handle, ctypes.addressof(text), len(text)) != OK:
        return ""
    return text.value.decode("utf-8", "replace")


def strerror(status: int) -> str:
    """The meaning of a dt_status."""
    return lib.dt_strerror(status).decode()
