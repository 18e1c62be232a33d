"""Imports dtring as soon as a program has imported torch, if DTRING_AUTOLOAD=1 asks for it.

dtring-autoload.pth makes Python run this at startup, so that scripts need no change. Also defines
`when_imported`, which must not need torch.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import types
from typing import Any, Callable, Sequence

_Callback = Callable[[types.ModuleType], None]


# These two do not inherit from importlib.abc: Python does not require it, and importing it takes some
# milliseconds.
class _Finder:
    """Finds modules as Python would, and calls its callbacks each time one of them has been executed.

    It is never removed. A program may look for a module without importing it (find_spec), fail to import
    it and try again, or reload it.
    """

    def __init__(self) -> None:
        self._callbacks: dict[str, list[_Callback]] = {}

    def callbacks_for(self, name: str) -> list[_Callback]:
        return self._callbacks.setdefault(name, [])

    def find_spec(self, name: str, path: Sequence[str] | None,
                  target: types.ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name not in self._callbacks:
            return None
        spec = self._find_elsewhere(name, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self._callbacks[name])  # type: ignore[assignment]
        return spec

    def _find_elsewhere(self, name: str, path: Sequence[str] | None,
                        target: types.ModuleType | None) -> importlib.machinery.ModuleSpec | None:
        """Asks the finders after this one, such as that of an editable installation."""
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1:] if self in finders else finders:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                return spec
        return None


class _Loader:
    """Wraps another loader, and calls the callbacks after it."""

    def __init__(self, loader: Any, callbacks: list[_Callback]):
        self._loader, self._callbacks = loader, callbacks

    def __getattr__(self, name: str) -> Any:  # get_source, get_resource_reader ...
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._tell(module)

    def load_module(self, name: str) -> types.ModuleType:  # pkgutil.find_loader(name).load_module(name)
        module = self._loader.load_module(name)
        self._tell(module)
        return module

    def _tell(self, module: types.ModuleType) -> None:
        for then in list(self._callbacks):
            then(module)


_finder = _Finder()


def watch(name: str) -> None:
    """Lets `when_imported` see the module `name` even if it is called while that is being executed."""
    _finder.callbacks_for(name)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def when_imported(name: str, then: _Callback) -> None:
    """Calls then(module) each time the module `name` was executed, and now if it was executed before."""
    watch(name)
    _finder.callbacks_for(name).append(then)
    module = sys.modules.get(name)
    if module is not None and not _is_being_run(module):
        then(module)


def _is_being_run(module: types.ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _start() -> None:
    wish = os.environ.get("DTRING_AUTOLOAD", "")
    if wish in ("", "0"):
        return
    if wish != "1":
        raise ValueError(f"dtring: DTRING_AUTOLOAD={wish}: neither 0 nor 1. Try: export DTRING_AUTOLOAD=1")
    # These may import torch, and therefore dtring.
    for name in ("transformers.training_args", "accelerate.state"):
        watch(name)
    when_imported("torch", lambda _: __import__("dtring"))


_start()
