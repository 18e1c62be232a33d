"""What transformers and accelerate have to know so that their scripts can ask for the backend.

transformers checks --ddp_backend against a list of its own, and accelerate takes gloo for every job
on CPUs that did not ask for MPI. Both learn the names here when, and only if, a script imports them.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from _dtring_autoload import when_imported

_names: set[str] = set()


def tell(name: str) -> None:
    """Makes `name` a backend that both accept."""
    if not _names:
        when_imported("transformers.training_args", _tell_transformers)
        when_imported("accelerate.state", _tell_accelerate)
    _names.add(name)


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
        # (backend, kind of job) for jobs on CPUs; what they ask for holds for those alone.
        if backend in _names and answer[0] == "gloo":
            return (backend, *answer[1:])
        return answer

    module.PartialState._prepare_backend = prepare_backend
