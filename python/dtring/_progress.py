"""Shows dtlaunch how far a training is, for `dtlaunch top`, --metrics-file and the job's report."""

from __future__ import annotations

import math
import os
from typing import Any


def progress(step: int, total_steps: int = 0, tokens: int = 0, loss: float = math.nan) -> None:
    """Call it after each optimizer step, on each rank or only on rank 0. It costs some microseconds.

    step: optimizer steps done. total_steps, tokens (of all ranks, since this process began): 0 if
    unknown. loss: a number; one that lies in a tensor on the CPU costs nothing to read.
    """
    for name, value in (("step", step), ("total_steps", total_steps), ("tokens", tokens)):
        if not 0 <= int(value) < 1 << 63:
            raise ValueError(f"dtring.progress: {name}={value}: not between 0 and 2^63. Try: {name}=0")
    from dtring._library import lib

    lib.dt_progress(int(step), int(total_steps), int(tokens), float(loss))


def _tells_kubeflow(args: Any) -> bool:
    """Whether transformers' own callback tells the server of a TrainJob how far this training is.

    dtlaunch does the same for programs that tell how many steps there will be; only one may do it. Without the
    token's file, as in workers that a launcher's pod reaches over ssh, transformers tells nothing.
    """
    return ("kubeflow" in (getattr(args, "report_to", None) or ())
            and os.path.isfile(os.environ.get("KUBEFLOW_TRAINER_SERVER_TOKEN", "")))


def callback() -> Any:
    """A transformers.TrainerCallback that calls progress() after each step."""
    from transformers.trainer_callback import TrainerCallback

    class ProgressForDtlaunch(TrainerCallback):
        """Shows the state of transformers' Trainer. The loss is that of its last log."""

        def __init__(self) -> None:
            self.loss = math.nan

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None,
                   **others: Any) -> None:
            loss = (logs or {}).get("loss")
            if isinstance(loss, (int, float)):
                self.loss = float(loss)

        def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            total_steps = 0 if _tells_kubeflow(args) else max(state.max_steps, 0)
            progress(state.global_step, total_steps,
                     int(getattr(state, "num_input_tokens_seen", 0) or 0), self.loss)

    return ProgressForDtlaunch
