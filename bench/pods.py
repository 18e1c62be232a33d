#!/usr/bin/python3
"""How soon pods of Kubernetes become a job, and how soon they are gone.

usage: bench/pods.py [--rounds N] [--pods N]; as root, with the targets dtlaunch, dtagent and dtguard of the
release build

Each pod is a host of tests/cluster with a dtlaunch as PID 1, as an Indexed Job starts it. All are there and
look for the first one's name; then the name begins to resolve on one host after the other. Figures: from
the last host on which it does to the first rank's first line of code; then from SIGTERM to the last pod to
the end of all pods, whose ranks end at once when they are told to. bench/README.md says what they mean.
"""
import argparse
import os
import secrets
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # do not write into the source tree
from allreduce_hosts import BIN, CLUSTER, Hosts
from side_by_side import machine

PORT = 29500
LIMIT_S = 30
RANK = "import signal,sys,time;open(sys.argv[1]+'/ranks','a').write('%.6f\\n'%time.time());" \
       "signal.signal(signal.SIGTERM,lambda *_:sys.exit(0));signal.pause()"


class Job:
    def __init__(self, hosts, pods):
        self.hosts, self.names = hosts, [f"node{i + 1}" for i in range(pods)]
        self.folder = os.path.join(hosts.folder.name, secrets.token_hex(4))
        os.mkdir(self.folder)
        environment = {**hosts.environment, "DTL_TOKEN": secrets.token_hex(32)}
        self.pods = []
        for index, name in enumerate(self.names):
            variables = [f"JOB_COMPLETION_INDEX={index}", f"DTL_NNODES={pods}", f"DTL_RDZV=first.pods:{PORT}"]
            command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", f"{BIN}/dtlaunch", "-ppn", "1",
                       "/usr/bin/python3", "-c", RANK, self.folder]
            log = open(f"{self.folder}/{name}", "w", encoding="utf-8")
            self.pods.append(subprocess.Popen([CLUSTER, "exec", name, "env", *variables, *command],
                                              env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def on(self, name, *command):
        return subprocess.run([CLUSTER, "exec", name, *command], env=self.hosts.environment, check=False,
                              capture_output=True, text=True).stdout

    def wait(self, what, ready):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if ready():
                return
            time.sleep(0.005)
        said = "".join(open(f"{self.folder}/{name}", encoding="utf-8").read() for name in self.names)
        sys.exit(f"bench/pods.py: waited in vain for {what}:\n{said}")

    def starts(self):
        try:
            with open(self.folder + "/ranks", encoding="ascii") as file:
                return sorted(float(line) for line in file if line.endswith("\n"))
        except FileNotFoundError:
            return []

    def measure(self):
        """Seconds from the last name to the first rank, and from SIGTERM to the end."""
        self.wait("the first pod", lambda: self.on("node1", "ss", "-H", "-ltn", f"sport = {PORT}"))
        time.sleep(1)  # by then all others are between two tries
        writers = [subprocess.Popen([CLUSTER, "exec", name, "sh", "-c",
                                     "echo 10.77.0.1 first.pods >>/etc/hosts; date +%s.%N"],
                                    env=self.hosts.environment, stdout=subprocess.PIPE, text=True)
                   for name in self.names]
        resolved = max(float(writer.communicate()[0]) for writer in writers)
        self.wait("the ranks", lambda: len(self.starts()) == len(self.names))
        last = self.on(self.names[-1], "pgrep", "-o", "-x", "dtlaunch").strip()
        begun = time.monotonic()
        self.on(self.names[-1], "kill", f"-{signal.SIGTERM.value}", last)
        statuses = [pod.wait(LIMIT_S) for pod in self.pods]
        ended = time.monotonic() - begun
        if statuses != [143] * len(self.names):
            sys.exit(f"bench/pods.py: the pods ended with {statuses}")
        for name in self.names:
            self.on(name, "sh", "-c", "grep -v first.pods /etc/hosts >/run/hosts.new; cat /run/hosts.new >/etc/hosts")
        return self.starts()[0] - resolved, ended


def figures(name, seconds):
    print(f"{name}: median {statistics.median(seconds) * 1000:.0f} ms, "
          f"{min(seconds) * 1000:.0f} to {max(seconds) * 1000:.0f}, {len(seconds)} times")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--pods", type=int, default=4)
    options = parser.parse_args()
    print(machine())
    with Hosts(options.pods) as hosts:
        measured = [Job(hosts, options.pods).measure() for _ in range(options.rounds)]
    print(f"{options.pods} pods, one rank each")
    figures("from the last name to the first rank", [first for first, _ in measured])
    figures("from SIGTERM of one pod to the end of all", [last for _, last in measured])


if __name__ == "__main__":
    main()
