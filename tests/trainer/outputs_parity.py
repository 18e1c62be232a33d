"""A run's state and figures as transformers itself reads and writes them. outputs_parity.py DTTRAIN"""
import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from transformers import TrainerState
from transformers.trainer_utils import speed_metrics


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


with tempfile.TemporaryDirectory() as name:
    folder = Path(name) / "run"
    subprocess.run([sys.argv[1], "--demo", "--output_dir", folder], stdout=subprocess.DEVNULL,
                   check=True)
    ours = (folder / "trainer_state.json").read_text()
    state = TrainerState.load_from_json(str(folder / "trainer_state.json"))
    known = {field.name for field in dataclasses.fields(TrainerState)}
    check(set(json.loads(ours)) <= known, f"no key but transformers': {set(json.loads(ours)) - known}")
    check(state.global_step == state.max_steps == state.log_history[-1]["step"], "steps")
    state.save_to_json(str(folder / "again.json"))
    theirs = (folder / "again.json").read_text()
    for number, (a, b) in enumerate(zip(ours.splitlines(), theirs.splitlines()), 1):
        check(a == b, f"line {number}: {a!r}, transformers writes {b!r}")
    check(ours == theirs, "the same bytes")
    last = state.log_history[-1]
    check({"eval_loss", "eval_runtime", "eval_samples_per_second", "eval_steps_per_second",
           "epoch", "step"} <= set(last), last)
    check(set(speed_metrics("eval", 0, 10, 2)) <= set(last), last)
    print("transformers reads and writes the same trainer_state.json")
