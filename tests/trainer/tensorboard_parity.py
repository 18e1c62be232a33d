"""An event file as TensorBoard itself reads it. tensorboard_parity.py WRITE_OUTPUTS"""
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    from tensorboard.backend.event_processing import event_accumulator
except ImportError:
    print(f"skipped: {sys.executable} has no tensorboard")
    sys.exit(77)


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


with tempfile.TemporaryDirectory() as name:
    subprocess.run([sys.argv[1], name], check=True)
    reader = event_accumulator.EventAccumulator(str(Path(name) / "events"))
    reader.Reload()
    check(sorted(reader.Tags()["scalars"]) == ["eval/accuracy", "train/loss"], reader.Tags())
    loss = reader.Scalars("train/loss")
    check([event.step for event in loss] == [1, 200, 70000], loss)
    for event in loss:
        check(abs(event.value * event.step - 1) < 1e-6, event)
        check(abs(event.wall_time - time.time()) < 600, event)
    check(reader.file_version == 2.0, "file version")
    print("TensorBoard reads all three steps")
