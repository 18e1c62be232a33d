"""Imports dtring as soon as a program has imported torch, where DTRING_AUTOLOAD=1 asks for it.

dtring-autoload.pth has Python run this at its start, so that scripts need no line of their own. Also
the home of `when_imported`, which must not need torch.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import types
from typing import Any, Callable, Sequence


# These two are no subclasses of importlib.abc's, which Python does not ask for and which takes some
# milliseconds to import.
class _Finder:
    """Finds one module as Python would, and calls somebody once it has been run."""

    def __init__(self, name: str, then: Callable[[types.ModuleType], None]):
        self._name, self._then = name, then

    def find_spec(self, name: str, path: Sequence[str] | None,
                  target: types.ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)
        return spec


class _Loader:
    """Another loader, and what is to follow it."""

    def __init__(self, loader: Any, then: Callable[[types.ModuleType], None]):
        self._loader, self._then = loader, then

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
        self._then(module)


def when_imported(name: str, then: Callable[[types.ModuleType], None]) -> None:
    """Calls then(module) once the module `name` has been imported: now, if it has been already."""
    module = sys.modules.get(name)
    if module is not None:
        then(module)
    else:
        sys.meta_path.insert(0, _Finder(name, then))


def _start() -> None:
    wish = os.environ.get("DTRING_AUTOLOAD", "")
    if wish in ("", "0"):
        return
    if wish != "1":
        raise ValueError(f"DTRING_AUTOLOAD={wish!r} is neither 0 nor 1")
    when_imported("torch", lambda _: __import__("dtring"))


_start()
