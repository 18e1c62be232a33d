"""Makes torch.compile leave the methods of our classes to Python.

It would trace into their Python code, where it meets values that it cannot trace, such as the options
of torch's C++ class. Instead this breaks the graph at such a call, as torch does for backends in C++.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any, Callable

from _dtring_autoload import when_imported

# These return constants, so they need no graph break.
_FOLLOWED = {"rank", "size", "getRank", "getSize", "getBackendName", "getGroupName", "getGroupDesc"}


def leave_to_python(*classes: type) -> None:
    """Breaks the graph at each call of a method of these classes, as soon as torch._dynamo is imported."""
    when_imported("torch._dynamo", lambda dynamo: _divide_at_calls(dynamo, classes))


def leave_function(function: Callable[..., Any], *modules: types.ModuleType) -> None:
    """The same for a function, in each of these modules."""
    def divide(dynamo: Any) -> None:
        for module in modules:
            setattr(module, function.__name__, _dividing(dynamo, function))

    when_imported("torch._dynamo", divide)


def _divide_at_calls(dynamo: Any, classes: tuple[type, ...]) -> None:
    for cls in classes:
        for name, method in list(vars(cls).items()):
            is_torchs = not name.startswith("__") and name not in _FOLLOWED
            if is_torchs and inspect.isfunction(method):
                setattr(cls, name, _dividing(dynamo, method))


def _dividing(dynamo: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Uses torch's wrapper only while compiling: it takes 4 us per call, a quarter of a small sum."""
    disabled = dynamo.disable(function)
    try:
        from torch._C._dynamo.eval_frame import get_eval_frame_callback as compiler  # None: not compiling
    except ImportError:  # older torch
        return disabled

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if compiler() is None:
            return function(*arguments, **named)
        return disabled(*arguments, **named)

    return call
