"""Every rank reports an error by name, and nothing hangs or aborts."""

import datetime
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import ranks
import torch
import torch.distributed as dist

import dtring
from dtring import _library, _meeting, _store

SECONDS = datetime.timedelta(seconds=1)

ranks.load_what_ddp_needs()


def error_of(call, kind):
    """The text of the exception of this kind that call() raises."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def let_all_come(rank, world):
    """Blocks rank 1 until every rank has called this. Its end then fails no collective before: the end of a
    rank fails whatever other ranks have under way, even a collective that this rank has passed."""
    store = dist.distributed_c10d._get_default_store()
    store.set(f"come/{rank}", "1")
    if rank == 1:
        store.wait([f"come/{other}" for other in range(world)])


class Errors(unittest.TestCase):
    def expect(self, texts, *parts):
        for text in texts:
            for part in parts:
                self.assertIn(part, text)

    def test_different_shapes_are_named_on_all_ranks(self):
        def body(rank, world):
            tensor = torch.zeros(4 if rank == 0 else 8)
            return error_of(lambda: dist.all_reduce(tensor), dtring.MismatchError)

        self.expect(ranks.run(3, body), "allreduce of 4 f32", "allreduce of 8 f32", "rank 0")

    def test_different_types_operations_and_roots_are_named(self):
        def types(rank, world):
            tensor = torch.zeros(4, dtype=torch.float64 if rank == 1 else torch.float32)
            return error_of(lambda: dist.all_reduce(tensor), dtring.MismatchError)

        def calls(rank, world):
            call = dist.barrier if rank == 1 else lambda: dist.broadcast(torch.zeros(2), 0)
            # A rank that only sends may finish before the others check; the next call reports it.
            return error_of(lambda: (call(), dist.barrier()), dtring.MismatchError)

        def roots(rank, world):
            return error_of(lambda: (dist.broadcast(torch.zeros(2), rank), dist.barrier()),
                            dtring.MismatchError)

        self.expect(ranks.run(2, types), "4 f32", "4 f64")
        self.expect(ranks.run(2, calls), "barrier", "broadcast of 2 f32")
        self.expect(ranks.run(2, roots), "from rank 0", "from rank 1")

    def test_tags_of_a_pair_have_to_be_equal(self):
        def body(rank, world):
            call = dist.send if rank == 0 else dist.recv
            return error_of(lambda: (call(torch.zeros(3), 1 - rank, tag=5 + rank), dist.barrier()),
                            dtring.MismatchError)

        self.expect(ranks.run(2, body), "tag 5", "tag 6")

    def test_a_rank_that_is_killed_is_named(self):
        def body(rank, world):
            dist.barrier()
            let_all_come(rank, world)
            if rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            begin = time.monotonic()
            text = error_of(lambda: dist.all_reduce(torch.zeros(1000000)), dtring.PeerLostError)
            return text, time.monotonic() - begin

        found = ranks.run(3, body, may_die=(1,))
        self.assertEqual(found[1], -signal.SIGKILL)
        for text, seconds in (found[0], found[2]):
            self.assertIn("rank 1", text)
            self.assertLess(seconds, 10)

    def test_who_has_not_come_is_named_when_the_time_is_up(self):
        def body(rank, world):
            if rank == 2:
                time.sleep(4)
                return ""
            return error_of(lambda: dist.all_reduce(torch.zeros(3)), dtring.OperationTimeout)

        found = ranks.run(3, body, timeout=SECONDS)
        self.expect(found[:2], " timeout ", "rank 2", "1000 ms", "allreduce of 3 f32")

    def test_a_wait_may_be_shorter_than_the_operation(self):
        def body(rank, world):
            if rank == 1:
                time.sleep(1.5)
            tensor = torch.ones(3)
            work = dist.all_reduce(tensor, async_op=True)
            if rank == 0:
                text = error_of(lambda: work.wait(SECONDS / 5), dtring.OperationTimeout)
                assert "it goes on" in text, text
            work.wait()
            assert tensor.tolist() == [2, 2, 2]

        ranks.run(2, body)

    def test_a_wait_of_more_than_a_second_is_named_in_the_stack(self):
        def names():
            frame, found = sys._current_frames()[threading.main_thread().ident], []
            while frame is not None:
                found.append(frame.f_code.co_name)
                frame = frame.f_back
            return found

        def body(rank, world):
            tensor = torch.ones(3)
            if rank == 1:
                time.sleep(2.5)
            work = dist.all_reduce(tensor, async_op=True)
            if rank == 1:
                return work.wait() and []
            seen = []
            looks = [threading.Timer(at, lambda: seen.append(names())) for at in (0.5, 1.25)]
            for look in looks:
                look.start()
            began = time.monotonic()
            text = error_of(lambda: work.wait(SECONDS * 1.5), dtring.OperationTimeout)
            assert "1500 ms" in text and time.monotonic() - began >= 1.5, text
            work.wait()
            assert tensor.tolist() == [2.0] * 3 and names()[0] == "names", names()
            return seen

        early, late = ranks.run(2, body)[0]
        named = [name for name in late if ", since " in name]
        self.assertRegex(str(named), r"^\['all_reduce of 12 B of float32, since \d\d:\d\d:\d\d'\]$")
        self.assertFalse(any(", since " in name for name in early), early)

    def test_a_group_is_given_less_time_later(self):
        def body(rank, world):
            group = dist.distributed_c10d._get_default_group()
            dist.barrier()
            if rank == 1:
                time.sleep(1)
                dist.barrier()
                return "250 ms"
            group.set_timeout(SECONDS / 4)
            work = dist.barrier(async_op=True)
            text = error_of(work.wait, dtring.OperationTimeout)
            group.set_timeout(20 * SECONDS)
            work.wait()
            return text

        self.expect(ranks.run(2, body), "250 ms")

    def test_what_one_rank_can_know_is_refused_before_it_begins(self):
        def body(rank, world):
            group = dist.distributed_c10d._get_default_group()
            texts = [error_of(call, ValueError) for call in (
                lambda: dist.all_gather([torch.zeros(2)], torch.zeros(2)),
                lambda: group.allgather([[torch.zeros(2), torch.zeros(2)]], [torch.zeros(3)]),
                lambda: group._allgather_base(torch.zeros(5), torch.zeros(2)),
                lambda: group._reduce_scatter_base(torch.zeros(2), torch.zeros(5)),
                lambda: group.allreduce([torch.zeros(2, dtype=torch.int16)]),
                lambda: group.allreduce([torch.zeros(2, device="meta")]),
                lambda: group.broadcast([torch.zeros(2), torch.zeros(2)]),
                lambda: group.send([torch.zeros(2)], rank),
                lambda: group.send([torch.zeros(2)], 7),
                lambda: dist.all_to_all_single(torch.zeros(3), torch.zeros(3)),
                lambda: dtring.all_reduce(torch.zeros(2), wire="fp8"),
                lambda: dist.all_reduce(torch.zeros(2), dist.ReduceOp.BOR),
            )]
            dist.barrier()  # the group still works
            return "\n".join(texts)

        for texts in ranks.run(2, body):
            for part in ("1 tensors in a group of 2", "all_gather: 3 elements", "2 times 2 elements into 5",
                         "5 elements", "torch.int16", "meta", "one tensor, not 2", "rank 7: not another rank",
                         "3 rows", "wire=fp8: not one of", "whole numbers"):
                self.assertIn(part, texts)

    def test_the_monitored_barrier_names_who_is_missing(self):
        def body(rank, world):
            dist.monitored_barrier(timeout=10 * SECONDS)
            if rank == 2:
                time.sleep(2)
                return ""
            return error_of(lambda: dist.monitored_barrier(timeout=SECONDS / 2), dtring.OperationTimeout)

        found = ranks.run(3, body)
        self.assertIn("Rank 2 failed to pass monitoredBarrier", found[0])
        self.assertIn("Rank 1 successfully reached monitoredBarrier", found[1])

    def test_errors_reach_futures(self):
        def body(rank, world):
            future = dist.all_reduce(torch.zeros(3 + rank), async_op=True).get_future()
            return error_of(future.wait, RuntimeError)

        self.expect(ranks.run(2, body), "3 f32", "4 f32")

    def test_a_lost_rank_is_an_error_of_ddps_backward(self):
        def body(rank, world, hook):
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
            if hook is not None:
                model.register_comm_hook(None, hook)

            def step():
                model(torch.ones(2, 4)).sum().backward()

            step()
            step()  # which also broadcasts the order of the gradients, outside of backward()
            let_all_come(rank, world)
            if rank == 1:
                os._exit(9)
            return error_of(step, RuntimeError)

        for hook in (None, dtring.hooks.bf16_wire):
            found = ranks.run(2, lambda rank, world: body(rank, world, hook), may_die=[1])
            self.assertEqual(found[1], 9)
            self.expect(found[:1], "PeerLostError", "rank 1")

    def test_a_destroyed_group_says_so(self):
        def body(rank, world):
            group = dist.new_group([0, 1])
            pending = group.recv([torch.zeros(3)], 1 - rank)
            group.shutdown()
            texts = [error_of(pending.wait, dtring.AbortedError),
                     error_of(lambda: group.barrier(), dtring.AbortedError)]
            dist.barrier()
            return "\n".join(texts)

        self.expect(ranks.run(2, body), "was destroyed")

    def test_abort_reaches_all_ranks(self):
        def body(rank, world):
            if rank == 0:
                dist.distributed_c10d._get_default_group().abort()
                return "torch called abort()"
            return error_of(dist.barrier, dtring.AbortedError)

        self.expect(ranks.run(3, body), "torch called abort()")

    def test_a_secret_that_others_may_read_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x" * 32)
            file.flush()
            os.chmod(file.name, 0o644)
            with self.assertRaises(ranks.Failed) as caught:
                ranks.run(2, lambda rank, world: None, timeout=3 * SECONDS,
                          variables={"DTRING_SECRET_FILE": file.name})
        self.assertIn("others may read or write it", str(caught.exception))

    def test_ranks_with_different_secrets_do_not_meet(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in (0, 1):
                with open(f"{folder}/{rank}", "wb") as file:
                    os.fchmod(file.fileno(), 0o600)
                    file.write(bytes([rank]) * 32)

            def late(rank):
                os.environ["DTRING_SECRET_FILE"] = f"{folder}/{rank}"

            with self.assertRaises(ranks.Failed) as caught:
                ranks.run(2, lambda rank, world: None, timeout=3 * SECONDS, before=late)
        self.assertIn("secret", str(caught.exception))

    def test_the_jobs_secret_counts_and_not_what_the_store_says(self):
        place = {"address": "127.0.0.1", "port": 1, "meeting": "00", "secret": "11" * 32}
        found = {}

        def communicator(options, name):
            found[name] = options.secret_bytes

        with mock.patch.object(_meeting, "Communicator", communicator):
            for name, variables in (("by the store", {}), ("the job's", {"DTRING_SECRET_FD": "7"})):
                with mock.patch.dict(os.environ, variables):
                    _meeting._join(_library.options(), place, name)
        self.assertEqual(found, {"by the store": 32, "the job's": 0})


class Programs(unittest.TestCase):
    """Scripts, started as users do."""

    def python(self, text, **variables):
        environment = {**os.environ, **variables}
        return subprocess.run([sys.executable, "-W", "ignore", "-c", text], env=environment,
                              capture_output=True, text=True, timeout=60)

    def test_a_library_that_is_not_there_is_named_when_a_group_is_made(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.python(f"""
import dtring, torch.distributed as dist
print("goes on")
dist.init_process_group("dtring", init_method="file://{folder}/store", rank=0, world_size=1)
""", DTRING_LIBRARY="/nowhere/libdtring.so.2")
        self.assertEqual((done.returncode, done.stdout), (1, "goes on\n"))
        self.assertIn("/nowhere/libdtring.so.2", done.stderr)
        self.assertIn("unset DTRING_LIBRARY", done.stderr)

    def test_the_alias_says_what_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.python(f"""
import dtring, torch, torch.distributed as dist
dist.init_process_group("ccl", init_method="file://{folder}/store", rank=0, world_size=1)
tensor = torch.ones(2)
dist.all_reduce(tensor)
print(dist.get_backend(), tensor.tolist())
""")
        self.assertEqual((done.returncode, done.stdout), (0, "ccl [1.0, 1.0]\n"), done.stderr)
        self.assertEqual(done.stderr.count("the backend 'ccl' is dtring here"), 1, done.stderr)

    def test_a_rank_that_comes_first_waits_until_the_store_listens(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(listener.getsockname()[1])}
            listened = []
            waiting = threading.Thread(target=lambda: (_store.wait_for_store({**place, "RANK": "1"}),
                                                       listened.append(time.monotonic())))
            waiting.start()
            _store.wait_for_store({**place, "RANK": "0"})  # not for itself
            _store.wait_for_store({**place, "RANK": "1", "MASTER_ADDR": "no-such-host.invalid"})
            _store.wait_for_store({**place, "RANK": "1", "MASTER_PORT": "soon"})
            begin = time.monotonic()
            _store.wait_for_store({**place, "RANK": "1"}, 0.1)  # and no longer than that
            self.assertLess(time.monotonic() - begin, 10)
            self.assertEqual(listened, [])
            begin = time.monotonic()
            listener.listen()
            waiting.join(30)
            self.assertGreaterEqual(listened[0], begin)

    def test_ranks_in_any_order_meet_without_a_word(self):
        script = """
import sys, time, dtring, torch, torch.distributed as dist
time.sleep(float(sys.argv[1]))
dist.init_process_group("dtring")
dist.barrier()
dist.destroy_process_group()
"""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        children = [subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", script, str(nap)], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": port}) for rank, nap in enumerate((0.4, 0, 0.8))]
        for child in children:
            _, errors = child.communicate(timeout=60)
            self.assertEqual((child.returncode, errors), (0, ""))

    def test_a_script_that_does_not_destroy_its_group_ends_well(self):
        script = """
import os, sys, threading, dtring, torch, torch.distributed as dist
rank = int(sys.argv[1])
dist.init_process_group("dtring", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
tensor = torch.ones(300000)
dist.all_reduce(tensor, async_op=True).get_future().then(lambda _: None)
dist.all_reduce(tensor)
assert tensor[0] == 4, tensor[0]
"""
        with tempfile.TemporaryDirectory() as folder:
            children = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", script, str(rank),
                                          folder + "/store"], stderr=subprocess.PIPE, text=True)
                        for rank in (0, 1)]
            for child in children:
                _, errors = child.communicate(timeout=60)
                self.assertEqual((child.returncode, errors), (0, ""))


if __name__ == "__main__":
    unittest.main()
