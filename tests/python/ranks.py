"""Ranks of one machine for tests: processes forked from this one, each in a process group."""

import importlib.util
import inspect
import io
import multiprocessing
import os
import tempfile
import time
import traceback

import torch
import torch.distributed as dist

import dtring  # noqa: F401  registers the backend

torch.set_num_threads(1)
_forked = multiprocessing.get_context("fork")
LIMIT_S = 150  # for hangs; compiling on a busy machine takes 40 s


class Failed(AssertionError):
    """A rank raised an unexpected exception."""


def load_what_ddp_needs():
    """Loads it once, here: otherwise every rank loads it, which takes seconds."""
    if importlib.util.find_spec("torch._dynamo") is not None:  # since torch 2
        importlib.import_module("torch._dynamo")


def _child(pipe, body, rank, world, variables, before, group):
    os.environ.update({"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank),
                       "LOCAL_WORLD_SIZE": str(world), **(variables or {})})
    try:
        if before is not None:
            before(rank)
        dist.init_process_group(rank=rank, world_size=world, **group)
        # As bytes: a tensor would be shared with a process that has ended.
        result = io.BytesIO()
        torch.save(body(rank, world), result)
        pipe.send(("result", result.getvalue()))
    except BaseException:
        pipe.send(("error", traceback.format_exc()))
        os._exit(1)  # like a script that fails: no cleanup
    pipe.close()


def run(world, body, backend="dtring", variables=None, may_die=(), before=None, **options):
    """body(rank, world) on each rank; the list of what they return.

    before(rank) runs on each rank before the group is made. A rank of `may_die` may end as it likes;
    its result is then its exit status. `options` are those of init_process_group. Nothing is left of
    the ranks afterwards.
    """
    with tempfile.TemporaryDirectory() as folder:
        ends, children = [], []
        group = {"backend": backend, "init_method": f"file://{folder}/store", **options}
        for rank in range(world):
            ours, theirs = _forked.Pipe(duplex=False)
            child = _forked.Process(target=_child, daemon=True,
                                    args=(theirs, body, rank, world, variables, before, group))
            child.start()
            theirs.close()
            ends.append(ours)
            children.append(child)
        try:
            return _gather(ends, children, may_die)
        finally:
            for child in children:
                child.kill()
                child.join()


def _load(text):
    known = inspect.signature(torch.load).parameters
    return torch.load(io.BytesIO(text), **({"weights_only": False} if "weights_only" in known else {}))


def _gather(ends, children, may_die):
    limit = time.monotonic() + LIMIT_S
    results, errors = [], []
    for rank, (end, child) in enumerate(zip(ends, children)):
        kind, value = "error", f"did not end within {LIMIT_S} s"
        if end.poll(max(0.0, limit - time.monotonic())):
            try:
                kind, value = end.recv()
            except EOFError:
                kind, value = "error", "ended without a word"
        child.join(max(0.1, limit - time.monotonic()))
        if rank in may_die:
            results.append(child.exitcode)
            continue
        if kind == "result" and child.exitcode != 0:
            kind, value = "error", f"a result, but its exit status is {child.exitcode}"
        results.append(_load(value) if kind == "result" else None)
        if kind == "error":
            errors.append(f"rank {rank}: {value}")
    if errors:
        raise Failed("\n".join(errors))
    return results
