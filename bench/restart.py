#!/usr/bin/python3
"""How long a job stands still after a fault: dtlaunch --max-restarts beside torchrun --max-restarts.

usage: bench/restart.py [--python PYTHON] [--rounds N] [FAULT...]; as root, with the targets dtlaunch,
dtagent and dtguard of the release build

Two ranks on two hosts of three, over gloo; faults, all of them by default:
  rank   kill -9 of rank 1
  agent  kill -9 of what started it: dtagent, or the torchrun of its host
  host   the host of rank 1 is cut off, and stays so
  power  the host of rank 1 ends without a farewell

A figure is the time from the fault to the first step that all ranks make after it. torchrun runs with
--nnodes 1:2 where it loses an agent or a host, since it has no spare ones. bench/README.md says what the
figures mean.
"""
import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # do not write into the source tree
from allreduce_hosts import BIN, CLUSTER, ROOT, Hosts
from side_by_side import machine

STEP_MS = 50
LIMIT_S = 90  # for a wait for the next step
FAULTS = ("rank", "agent", "host", "power")


class Job:
    """One run on `hosts`: started, struck once, and ended."""

    def __init__(self, hosts, options, port):
        self.hosts, self.options, self.port = hosts, options, port
        self.folder = tempfile.mkdtemp(dir=hosts.folder.name)
        self.script = [os.path.join(ROOT, "bench/torch_restart.py"), self.folder, str(STEP_MS)]
        self.processes = []

    def start(self, fault):
        variables = ["GLOO_SOCKET_IFNAME=eth0"]
        for host, command in self.commands(fault).items():
            self.processes.append(self.hosts.start(host, command, variables))

    def steps(self):
        try:
            with open(self.folder + "/steps", encoding="ascii") as file:
                return [line.split() for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def wait_for_steps(self, count, since=0.0):
        """The time of the last of so many steps after `since`; None where they do not come."""
        limit = time.monotonic() + LIMIT_S
        while time.monotonic() < limit:
            times = [float(step[0]) for step in self.steps() if float(step[0]) > since]
            if len(times) >= count:
                return times[count - 1]
            time.sleep(0.01)
        return None

    def pid_of_rank_1(self):
        with open(self.folder + "/0.1", encoding="ascii") as file:
            return file.read()

    def strike(self, fault):
        """When the fault came."""
        victim = self.host_of_rank_1()
        if fault == "rank":
            self.run(victim, ["kill", "-KILL", self.pid_of_rank_1()])
        elif fault == "agent":
            self.run(victim, ["pkill", "-KILL", *self.agent()])
        else:
            way = {"host": "cut", "power": "kill"}[fault]
            subprocess.run([CLUSTER, way, victim], check=True, env=self.hosts.environment, stdout=subprocess.DEVNULL)
        return time.time()

    def run(self, host, command):
        subprocess.run([CLUSTER, "exec", host, *command], check=True, env=self.hosts.environment)

    def host_of_rank_1(self):
        return "node2"

    def end(self):
        open(self.folder + "/end", "w", encoding="ascii").close()
        limit = time.monotonic() + 5
        while time.monotonic() < limit and any(p.poll() is None for p in self.processes):
            time.sleep(0.05)
        for process in self.processes:  # lost processes hold the pipe until the hosts go down
            process.kill()
            process.stdout.close()
            process.wait()


class ByDtlaunch(Job):
    name = "dtlaunch"

    def commands(self, fault):
        return {"node1": [os.path.join(BIN, "dtlaunch"), "-hosts", ",".join(self.hosts.names), "-np", "2", "-ppn",
                          "1", "--max-restarts", "3", self.options.python, *self.script]}

    def agent(self):
        return ["-x", "dtagent"]


class ByTorchrun(Job):
    name = "torchrun"

    def commands(self, fault):
        nodes = "2" if fault == "rank" else "1:2"
        words = [self.options.python, "-m", "torch.distributed.run", "--nnodes", nodes, "--nproc_per_node", "1",
                 "--max_restarts", "3", "--rdzv_backend", "c10d", "--rdzv_id", str(self.port),
                 "--rdzv_endpoint", f"{self.hosts.addresses['node1']}:{self.port}", *self.script]
        return {"node1": words, "node2": words}

    def agent(self):
        return ["-f", "torch.distributed.run"]

    def host_of_rank_1(self):
        for host in ("node1", "node2"):
            pid = self.pid_of_rank_1()
            found = subprocess.run([CLUSTER, "exec", host, "grep", "-qa", "^RANK=1$", "-z", f"/proc/{pid}/environ"],
                                   env=self.hosts.environment, stderr=subprocess.DEVNULL, check=False)
            if found.returncode == 0:
                return host
        return "node2"


def measure(kind, fault, options, port):
    """(seconds until the next step or None, ranks then)."""
    with Hosts(3) as hosts:
        job = kind(hosts, options, port)
        job.start(fault)
        try:
            if job.wait_for_steps(20) is None:
                print(f"{job.name} did not begin: {hosts.noise()}", file=sys.stderr)
                return None, "-"
            struck = job.strike(fault)
            # Steps that were in progress count as before the fault.
            again = job.wait_for_steps(1, struck + 3 * STEP_MS / 1000)
            return (again - struck if again else None), (job.steps()[-1][2] if again else "-")
        finally:
            job.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", metavar="FAULT", choices=[[], *FAULTS])
    parser.add_argument("--python", default=os.environ.get("DTL_TEST_PYTHON", "/usr/bin/python3"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # take the hosts down first
    print(f"{machine()}; seconds from the fault to the next step of all ranks, median of {options.rounds}")
    print(f"{'fault':>8}{'dtlaunch':>12}{'torchrun':>12}{'ratio':>8}   ranks then: dtlaunch, torchrun")
    port = 29600
    for fault in options.faults or FAULTS:
        times = {kind: [] for kind in (ByDtlaunch, ByTorchrun)}
        ranks = {}
        for index in range(options.rounds):
            for kind in sorted(times, key=lambda kind: kind.name, reverse=index % 2 == 1):
                port += 1
                seconds, ranks[kind] = measure(kind, fault, options, port)
                times[kind].append(seconds)
        medians = [statistics.median(t if t is not None else float("inf") for t in times[kind])
                   for kind in (ByDtlaunch, ByTorchrun)]
        shown = [f"{m:.2f}" if m < float("inf") else f"> {LIMIT_S}" for m in medians]
        ratio = f"{medians[0] / medians[1]:.2f}" if max(medians) < float("inf") else "-"
        print(f"{fault:>8}{shown[0]:>12}{shown[1]:>12}{ratio:>8}   {ranks[ByDtlaunch]}, {ranks[ByTorchrun]}", flush=True)


if __name__ == "__main__":
    main()
