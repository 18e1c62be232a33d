"""Makes transformers and accelerate accept the backend, and shows the progress of transformers' Trainer.

transformers checks --ddp_backend against a fixed list, and accelerate uses gloo for every CPU job that
did not request MPI. This adds the names to both when, and only if, a script imports them.
"""

from __future__ import annotations

import functools
import os
import types
from typing import Any

from _dtring_autoload import when_imported
from dtring._progress import callback

_names: set[str] = set()


def tell(name: str) -> None:
    """Makes `name` a backend that both accept."""
    if not _names:
        when_imported("transformers.training_args", _tell_transformers)
        when_imported("accelerate.state", _tell_accelerate)
        if "DTLAUNCH_JOB" in os.environ:
            when_imported("transformers.trainer", _show_progress)
    _names.add(name)


def _show_progress(module: types.ModuleType) -> None:
    callbacks = getattr(module, "DEFAULT_CALLBACKS", None)
    if isinstance(callbacks, list):
        callbacks.append(callback())


def _tell_transformers(module: types.ModuleType) -> None:
    fields = getattr(module.TrainingArguments, "__dataclass_fields__", {})
    field = fields.get("ddp_backend")
    choices = field.metadata.get("choices") if field is not None else None
    if choices is not None:
        choices.extend(name for name in sorted(_names) if name not in choices)


def _tell_accelerate(module: types.ModuleType) -> None:
    theirs = module.PartialState._prepare_backend

    @functools.wraps(theirs)
    def prepare_backend(self: Any, cpu: bool = False, sagemaker_dp: bool = False,
                        backend: str | None = None) -> Any:
        answer = theirs(self, cpu, sagemaker_dp, backend)
        # (backend, kind of job); only replace the backend of CPU jobs that requested ours.
        if backend in _names and answer[0] == "gloo":
            return (backend, *answer[1:])
        return answer

    module.PartialState._prepare_backend = prepare_backend
