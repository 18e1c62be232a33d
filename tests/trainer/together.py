#!/usr/bin/env python3
"""Runs several scripts of this folder, each in a process of its own, forked from one that has imported torch and
transformers: the imports take 4 to 6 CPU seconds, more than most of the comparisons.

together.py NAME SCRIPT [ARGUMENT...] [-- SCRIPT [ARGUMENT...]]...

Prints the output of each and how long it took, goes on after a failure, and ends as GoogleTest does, which the
summary of scripts/test reads. NAME: what the scripts are called together. To run one alone:
python_test.sh SCRIPT [ARGUMENT...].
"""
import os
import resource
import runpy
import signal
import sys
import time
import traceback

import torch  # noqa: F401
from transformers import (AutoModel, AutoTokenizer, BertForQuestionAnswering, BertTokenizerFast,  # noqa: F401
                          TrainingArguments)
import transformers.trainer_pt_utils  # noqa: F401

try:
    import sentence_transformers  # noqa: F401
except ImportError:
    pass  # scripts that need it skip, and say so

HERE = os.path.dirname(os.path.realpath(__file__))
SKIPPED = 77
SHOWN_LINES = 8  # of a failure, at the end


def split(words):
    """The scripts with their arguments, between the words "--"."""
    commands = [[]]
    for word in words:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def run_here(command):
    """In the forked process: runs the script as Python would, and returns the exit status."""
    sys.argv = [os.path.join(HERE, command[0]), *command[1:]]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, flush=True)
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: B902: as the interpreter does with what nobody caught
        traceback.print_exc(file=sys.stdout)
        return 1
    return 0


def run(command):
    """Status, CPU seconds and output of one script."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.close(reader)
        os.close(writer)
        status = run_here(command)
        sys.stdout.flush()
        os._exit(status)  # without what this process registered to do at its end
    os.close(writer)
    with open(reader, encoding="utf-8", errors="replace") as file:
        output = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, sum(getattr(after, kind) - getattr(before, kind) for kind in ("ru_utime", "ru_stime")), output


def main():
    name, commands = sys.argv[1], split(sys.argv[2:])
    skipped, failed, signals = [], [], []
    for command in commands:
        began = time.monotonic()
        print(f"== {command[0]}", flush=True)
        status, cpu, output = run(command)
        print(output.rstrip())
        print(f"-- {command[0]}: status {status}, {time.monotonic() - began:.1f} s, CPU {cpu:.1f} s", flush=True)
        label, last = f"{name}.{command[0].removesuffix('.py')}", output.rstrip().splitlines()
        if status == SKIPPED:
            skipped.append(f"{last[-1] if last else 'no reason'}\n[  SKIPPED ] {label} (0 ms)")
        elif status != 0:
            signals += [-status] if status < 0 else []
            failed.append("\n".join([f"FAILED: {label}: status {status}", *last[-SHOWN_LINES:]]))
    print("\n".join(["", *skipped, f"[==========] {len(commands)} tests from {name} ran.", *failed]))
    sys.stdout.flush()
    if signals:  # a crash fails a run of scripts/test, whatever a second try gives
        if signals[0] != signal.SIGKILL:
            signal.signal(signals[0], signal.SIG_DFL)
        os.kill(os.getpid(), signals[0])
    sys.exit(1 if failed else 0)


main()
