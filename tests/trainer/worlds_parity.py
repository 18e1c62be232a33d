"""dttrain and PyTorch as jobs of two ranks: the same model, texts, order, optimizer and schedule give
the same loss at every step and the same answers, over gloo and over dtring.
Usage: worlds_parity.py DTTRAIN DTLAUNCH LIBDTRING"""

import json
import os
import subprocess
import sys
import tempfile

import torch

import parity

RANKS, STEPS, BACKENDS = 2, 60, ("gloo", "dtring")
HERE = os.path.dirname(os.path.realpath(__file__))


def launcher(program):
    return [program, "-np", str(RANKS), "--oversubscribe"]


def by_dttrain(case):
    """Losses, and the classes' numbers of the evaluation's texts."""
    output = case.run_training("dttrain", STEPS, "--do_predict", "--test_file",
                               os.path.join(case.folder, "eval.tsv"))
    with open(os.path.join(output, "predict_results.txt"), encoding="utf-8") as file:
        rows = [line.split("\t") for line in file.read().splitlines()[1:]]
    assert [int(index) for index, _, _ in rows] == list(range(len(case.evaluation))), rows
    return parity.losses_of(output), [int(name[-1]) for _, name, _ in rows]


def by_torch(folder, dtlaunch, library):
    """For each backend, as by_dttrain."""
    result = os.path.join(folder, "by_torch.json")
    environment = {**os.environ, "DTRING_LIBRARY": library, "DTRING_AUTOLOAD": "1",
                   "PYTHONPATH": os.path.join(HERE, "..", "..", "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    # The package is not installed, so Python does not read its dtring-autoload.pth. Gloo's threads
    # must end before Python: tests/python/venv.sh.
    start = ("import _dtring_autoload, atexit, runpy, sys, time; sys.argv = sys.argv[1:]; "
             "atexit.register(time.sleep, 0.3); "
             "sys.path.insert(0, sys.argv[0].rpartition('/')[0]); "
             "runpy.run_path(sys.argv[0], run_name='__main__')")
    command = [*launcher(dtlaunch), sys.executable, "-c", start, os.path.join(HERE, "ddp_training.py"),
               folder, ",".join(BACKENDS), str(STEPS), result]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    with open(result, encoding="utf-8") as file:
        found = json.load(file)
    for backend in BACKENDS:
        assert (found[backend]["backend"], found[backend]["world"]) == (backend, RANKS), found
    return {backend: (found[backend]["losses"], found[backend]["classes"]) for backend in BACKENDS}


def main():
    dttrain, dtlaunch, library = sys.argv[1:]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        case = parity.Case(dttrain, "bert", folder, launcher(dtlaunch))
        losses, classes = by_dttrain(case)
        assert losses[-1] < 0.5 * losses[0], ("nothing was learnt", losses)
        assert len(set(classes)) > 1, classes
        for backend, (theirs, answers) in by_torch(folder, dtlaunch, library).items():
            parity.expect(f"{len(losses)} losses, {backend}", parity.largest_gap(losses, theirs), 1e-4)
            if classes != answers:
                parity.failures.append(f"classes {classes} and, with {backend}, {answers}")
    if parity.failures:
        sys.exit("too far apart: " + "; ".join(parity.failures))


main()
