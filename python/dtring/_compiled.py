"""What torch.compile is told: to leave the methods of our classes to Python.

It follows calls into Python code, where it meets values that it cannot follow, such as the options
of torch's C++ class. A region that is compiled is divided at such a call instead, as it is at those
of backends in C++.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any, Callable

from _dtring_autoload import when_imported

# Questions, whose answers are constants that do not divide a region.
_FOLLOWED = {"rank", "size", "getRank", "getSize", "getBackendName", "getGroupName", "getGroupDesc"}


def leave_to_python(*classes: type) -> None:
    """Divides what is compiled at each call of a method of these classes, now or once that is possible."""
    when_imported("torch._dynamo", lambda dynamo: _divide_at_calls(dynamo, classes))


def leave_function(function: Callable[..., Any], *modules: types.ModuleType) -> None:
    """The same for a function, in each module that it is taken from."""
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
    """torch's own wrapper takes 4 us of a call, a quarter of a small sum: only where something is compiled."""
    disabled = dynamo.disable(function)
    try:
        from torch._C._dynamo.eval_frame import get_eval_frame_callback as compiler  # None: all is left to Python
    except ImportError:  # of an older torch
        return disabled

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if compiler() is None:
            return function(*arguments, **named)
        return disabled(*arguments, **named)

    return call
