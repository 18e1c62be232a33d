"""User requests in between: a checkpoint by a signal, a new run in the folder of an
old one. Usage: asked_test.py DTTRAIN"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from small_job import check, environment, environments_of
from small_runs import DEADLINE, command, contents, make_start, run, succeeds, train


class Background:
    """A run, or a rank of one, that the test watches; it is killed at the end."""

    def __init__(self, name, arguments, variables=None):
        self.paths = [Path(f"{name}.{stream}") for stream in ("out", "err")]
        with open(self.paths[0], "w") as out, open(self.paths[1], "w") as err:
            self.process = subprocess.Popen(arguments, env=variables or environment(), stdout=out, stderr=err)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def said(self):
        return "".join(path.read_text() for path in self.paths)

    def wait_until(self, what, seen):
        deadline = time.monotonic() + DEADLINE
        while not seen():
            if self.process.poll() is not None or time.monotonic() > deadline:
                check(False, what, self.said())
            time.sleep(0.02)
        check(True, what)


def on_request():
    """SIGUSR1 and SIGUSR2 request a complete checkpoint to resume from, and end nothing."""
    for number, more in ((signal.SIGUSR1, ()), (signal.SIGUSR2, ("--save_only_model",))):
        folder = f"asked-{number}"
        arguments = command(folder, "--max_steps", "1000000", "--save_strategy", "no", "--disable_tqdm", *more)
        with Background(folder, arguments) as training:
            training.wait_until("steps are done", lambda: "\nstep " in training.said())
            training.process.send_signal(number)
            training.wait_until("a checkpoint is written", lambda: whole_checkpoints(folder))
            check("received a signal: writing a checkpoint after step " in training.said(), "it says so",
                  training.said())
            shown = training.said().count("\nstep ")
            training.wait_until("the run goes on", lambda: training.said().count("\nstep ") > shown)
        (name,) = whole_checkpoints(folder)
        with Background(folder + "-again", arguments) as training:
            training.wait_until("one goes on from there", lambda: (
                f"Continuing from {folder}/{name}, after step {name.split('-')[1]}" in training.said()))


def whole_checkpoints(folder):
    return [path.name for path in Path(folder).glob("checkpoint-*") if path.name[len("checkpoint-"):].isdigit()]


def on_request_of_one_rank():
    """Ranks agree on a step: a signal to any of them is enough, and one to both makes one checkpoint."""
    arguments = command("agreed", "--max_steps", "1000000", "--save_strategy", "no", "--disable_tqdm")
    first, second = environments_of(2, ".")
    with Background("agreed-0", arguments, first) as writer, Background("agreed-1", arguments, second) as other:
        writer.wait_until("two ranks train", lambda: "\nstep " in writer.said())
        for number in (signal.SIGSTOP, signal.SIGUSR1, signal.SIGCONT):  # neither acts before both have it
            other.process.send_signal(number)
            writer.process.send_signal(number)
        writer.wait_until("they write a checkpoint", lambda: whole_checkpoints("agreed"))
        shown = writer.said().count("\nstep ")
        writer.wait_until("they go on", lambda: writer.said().count("\nstep ") > shown + 20)
        check(writer.said().count("received a signal") == 1 and len(whole_checkpoints("agreed")) == 1,
              "it is one checkpoint", writer.said(), whole_checkpoints("agreed"))
        time.sleep(1.1)  # within a second it counts as the same request
        other.process.send_signal(signal.SIGUSR2)
        writer.wait_until("they write another one", lambda: len(whole_checkpoints("agreed")) == 2)
        check(other.process.poll() is None and writer.process.poll() is None, "both go on")


def a_new_run_in_an_old_folder():
    """The old run's checkpoints are renamed, so that none hides those of the new one."""
    succeeds("a run of 15 steps", train("old"))
    before = contents("old/checkpoint-15")
    begun = run(*command("old", "--overwrite_output_dir", "--train_file", "none.tsv")[1:])
    check(begun.returncode != 0 and Path("old/checkpoint-15").exists(),
          "a run that cannot begin leaves them where they are", begun.stderr)
    done = succeeds("a new run of 5 steps", train("old", "--overwrite_output_dir", "--max_steps", "5"))
    check("old: renamed the checkpoints of an earlier run to checkpoint-5.old, checkpoint-10.old, "
          "checkpoint-15.old" in done.stderr, "it says so", done.stderr)
    check(contents("old/checkpoint-15.old") == before, "they are whole")
    check([path.name for path in Path("old").glob("checkpoint-*[0-9]")] == ["checkpoint-5"], "one is the new run's")
    (Path("old") / "unfinished").write_text("")
    done = succeeds("the same command after an interrupt", train("old", "--max_steps", "10"))
    check("Continuing from old/checkpoint-5, after step 5" in done.stdout, "it goes on from the new one", done.stdout)
    succeeds("once more", train("old", "--overwrite_output_dir", "--max_steps", "5"))
    check(contents("old/checkpoint-15.old") == before and Path("old/checkpoint-10.old").exists(),
          "only what has a successor is replaced")


def main():
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        make_start()
        on_request()
        on_request_of_one_rank()
        a_new_run_in_an_old_folder()


main()
