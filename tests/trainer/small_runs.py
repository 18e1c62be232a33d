"""Runs of a small job, each by the same command line, in the working folder."""

import os
import subprocess
import sys
from pathlib import Path

from small_job import check, environment, write_texts

PROGRAM = os.path.abspath(sys.argv[1])
DEADLINE = 60  # seconds per run


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], env=environment(), text=True, timeout=DEADLINE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def command(output, *more):
    """120 examples, 8 of them a step: 15 steps are a pass, and all there are unless `more` says so."""
    return [PROGRAM, "--model_name_or_path", "start", "--do_train", "--train_file", "train.tsv",
            "--global_batch_size", "8", "--num_train_epochs", "1", "--learning_rate", "1e-3",
            "--max_seq_length", "32", "--logging_steps", "5", "--save_steps", "5",
            "--validation_file", "eval.tsv", "--output_dir", output, *more]


def train(output, *more):
    return run(*command(output, *more)[1:])


def succeeds(what, done):
    check(done.returncode == 0, what, done.stdout, done.stderr)
    return done


def contents(folder):
    """The bytes of every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def make_start():
    """The texts, and the model that all runs begin with."""
    write_texts("train.tsv", 120, 1)
    write_texts("eval.tsv", 30, 2)
    succeeds("init makes a model", run(
        "init", "--train_file", "train.tsv", "--output_dir", "start", "--vocab_size", "80",
        "--hidden_size", "16", "--num_attention_heads", "2", "--intermediate_size", "32",
        "--max_seq_length", "32"))
