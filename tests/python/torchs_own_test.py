"""PyTorch's own tests of its distributed package, which torch ships, over dtring.

    python3 -m unittest torchs_own_test             # what passes with gloo passes with dtring
    python3 torchs_own_test.py [--ranks N] [NAME]   # a table: each case with dtring and with gloo

The cases ask for the backend "gloo", so that none is left out for being unknown; with dtring the class
behind that name is ours. Ranks are forked, which saves a minute of imports.
"""

import argparse
import importlib
import inspect
import io
import logging
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

RANKS = 4
# Passed by gloo but not by dtring, with the reason; dtring-torch(7) lists them.
KNOWN = {
    "test_ddp_logging_data_cpu": "it compares the backend's name with gloo's",
}


def cases(backend, ranks, folder):
    """The test class with this backend behind the name "gloo"."""
    os.environ.update({"BACKEND": "gloo", "WORLD_SIZE": str(ranks), "TEMP_DIR": folder,
                       "MASTER_ADDR": "127.0.0.1"})
    for name in ("barrier", "test_dir"):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    _stand_in_for_expecttest()
    tests = importlib.import_module("torch.testing._internal.distributed.distributed_test")
    if backend == "dtring":
        _put_dtring_behind_gloo(tests)

    class TorchsOwn(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
        def setUp(self):
            import torch.multiprocessing

            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    TorchsOwn.__qualname__ = "TorchsOwn"
    return TorchsOwn


def _stand_in_for_expecttest():
    """torch's test classes inherit from a package that is not installed with torch."""
    try:
        import expecttest  # noqa: F401
    except ImportError:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase, stand_in.ACCEPT = unittest.TestCase, False
        sys.modules["expecttest"] = stand_in


def _put_dtring_behind_gloo(tests):
    import torch.distributed as dist

    import dtring
    from dtring._meeting import meet

    class BehindGloo(dtring.ProcessGroup):
        def __init__(self, store, rank, size, timeout, **_of_gloo):  # torch 2.14: enable_reconfigure
            super().__init__(meet(store, rank, size, timeout, "torch's own"), store, timeout, "dtring")
            self.options = types.SimpleNamespace()

    dist.distributed_c10d.ProcessGroupGloo = dist.ProcessGroupGloo = BehindGloo
    # TORCH_DISTRIBUTED_DEBUG=DETAIL wraps only gloo's groups.
    dist.distributed_c10d._create_process_group_wrapper = lambda wrapped_pg, *_, **__: wrapped_pg
    # The profiler has no events for dtring: dtring-torch(7).
    for name in vars(tests):
        if name.endswith("PROFILING_SUPPORTED_BACKENDS"):
            setattr(tests, name, [])


class _Outcomes(unittest.TestResult):
    """Prints a line for each case: what became of it, its name, why."""

    def addSuccess(self, test):
        print("passed", test._testMethodName, "", sep="\t", flush=True)

    def addSkip(self, test, reason):
        print("skipped", test._testMethodName, reason, sep="\t", flush=True)

    def addFailure(self, test, error):
        lines = [line for line in str(error[1]).splitlines() if "rror" in line]
        print("failed", test._testMethodName, (lines or [str(error[1])])[-1], sep="\t", flush=True)

    addError = addFailure


def _wants_gpus(case):
    """Whether a decorator skips it without GPUs, which is only found out by starting its ranks."""
    decorators = inspect.getsource(case).partition("def ")[0]
    return re.search(r"@(skip_if_lt_x_gpu|skip_if_no_gpu|requires_nccl)\b", decorators) is not None


def play(backend, ranks, names):
    """Runs the cases here, in this process."""
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        kind = cases(backend, ranks, folder)
        names = names or [name for name in dir(kind) if name.startswith("test_")
                          and not _wants_gpus(getattr(kind, name))]
        unittest.TestSuite(kind(name) for name in names).run(_Outcomes())


def outcomes(backend, ranks, names=()):
    """{case: (passed, failed or skipped, why)}, from a process of its own."""
    command = [sys.executable, os.path.realpath(__file__), "--play", backend, "--ranks", str(ranks),
               *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=540)
    found = re.findall(r"^(passed|failed|skipped)\t(\w+)\t(.*)$", done.stdout, re.M)
    if not found:
        raise RuntimeError(f"no case was run: {done.stderr[-2000:]}")
    return {name: (outcome, why) for outcome, name, why in found}


class TorchsOwn(unittest.TestCase):
    def test_what_passes_with_gloo_passes_with_dtring(self):
        ours = outcomes("dtring", RANKS)
        failed = sorted(name for name, (outcome, _) in ours.items() if outcome == "failed")
        theirs = outcomes("gloo", RANKS, failed) if failed else {}
        passed = sum(outcome == "passed" for outcome, _ in ours.values())
        print(f"{passed} passed, {len(failed)} failed, "
              f"{sum(outcome == 'skipped' for outcome, _ in ours.values())} skipped")
        wrong = [f"{name}: {ours[name][1]}" for name in failed
                 if theirs[name][0] == "passed" and name not in KNOWN]
        self.assertEqual(wrong, [])
        self.assertGreater(passed, 60)


def table(ranks, names):
    """Prints what became of each case with both backends."""
    both = [outcomes(backend, ranks, names) for backend in ("dtring", "gloo")]
    out = io.StringIO()
    for name in sorted(set(both[0]) | set(both[1])):
        words = [found.get(name, ("-", ""))[0] for found in both]
        if words != ["skipped", "skipped"]:
            print(f"{words[0]:8} {words[1]:8} {name} {both[0].get(name, ('', ''))[1][:100]}", file=out)
    print(f"{'dtring':8} {'gloo':8} case\n{out.getvalue()}", end="")
    for backend, found in zip(("dtring", "gloo"), both):
        counts = {word: sum(outcome == word for outcome, _ in found.values())
                  for word in ("passed", "failed", "skipped")}
        print(f"{backend}: {counts}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--play", choices=("dtring", "gloo"))
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    if chosen.play:
        play(chosen.play, chosen.ranks, chosen.names)
    else:
        table(chosen.ranks, chosen.names)
