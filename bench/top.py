#!/usr/bin/env python3
"""The CPU time of `dtlaunch top`, and of its process on a host, while a job runs on many hosts.

usage: bench/top.py [HOSTS [RANKS [SECONDS]]]

A job of HOSTS (64) times RANKS (2) ranks waits in a barrier of libdtring, on the hosts of tests/cluster, over real sshd.
dtlaunch top shows it on a terminal of 80x24 for SECONDS (60) with its usual period. Needs root; with more than 100 hosts,
raise net.ipv4.neigh.default.gc_thresh3 (sysctl). Checks that the last page names all hosts, all ranks and the rank that
is missing. Prints percent of one core: CPU time that /proc/PID/stat counts, divided by the wall time between two readings.
"""
import fcntl
import os
import platform
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLUSTER = os.path.join(ROOT, "tests", "cluster", "cluster")
BIN = os.environ.get("DTL_BIN", os.path.join(ROOT, "build", "release", "bin"))
DTLAUNCH = os.path.join(BIN, "dtlaunch")
LIMIT_PERCENT = 2
WARM_UP_S = 15  # logins and the first frames


def on(host, *command, **options):
    return subprocess.run([CLUSTER, "exec", host, *command], stdout=subprocess.PIPE, text=True, **options).stdout


def cpu_seconds(host, pid):
    fields = on(host, "cat", f"/proc/{pid}/stat", check=True).rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Terminal:
    """dtlaunch top on node1, and what it shows."""

    def __init__(self, job):
        self.fd, other = pty.openpty()
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.top = subprocess.Popen([CLUSTER, "exec", "node1", "env", "TERM=xterm", DTLAUNCH, "top", job], stdin=other,
                                    stdout=other, stderr=other, start_new_session=True,
                                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(other)
        self.seen = b""

    def watch(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                self.seen = (self.seen + os.read(self.fd, 1 << 16))[-(1 << 16):]

    def page(self):
        text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", self.seen.split(b"\x1b[H")[-2])
        return re.split("\r+\n", text.decode())

    def quit(self):
        os.write(self.fd, b"q")
        if self.top.wait(20) != 0:
            sys.exit("top.py: dtlaunch top has failed")


def pid_of(host, pattern):
    pids = on(host, "pgrep", "-f", pattern).split()
    if len(pids) != 1:
        sys.exit(f"top.py: {len(pids)} processes on {host} match {pattern}")
    return int(pids[0])


def start_job(work, hosts, ranks):
    library = os.path.join(os.path.dirname(BIN), "ring", "libdtring.so.2")
    job = subprocess.Popen(
        [CLUSTER, "exec", "node1", DTLAUNCH, "-f", os.path.join(work, "hosts"), "-np", str(hosts * ranks), "-ppn",
         str(ranks), "--oversubscribe", "--hang-notice", "0", "-genv", "DTRING_LIBRARY", library, "python3",
         os.path.join(ROOT, "tests", "e2e", "asked_barriers.py"), os.path.join(work, "go")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # libdtring warns of the wait, as it should
    for _ in range(hosts * ranks):
        if not job.stdout.readline().startswith("rank "):
            sys.exit("top.py: a rank has not come to its barrier")
    return job


def percent(seconds, wall):
    return 100 * seconds / wall


def measure(work, hosts, ranks, seconds):
    job = start_job(work, hosts, ranks)
    job_id = on("node1", DTLAUNCH, "ps").splitlines()[1].split()[0]
    terminal = Terminal(job_id)
    terminal.watch(WARM_UP_S)
    watched = {"dtlaunch top": ("node1", pid_of("node1", f"^{re.escape(DTLAUNCH)} top")),
               "dtagent --watch": ("node2", pid_of("node2", "dtagent --watch"))}
    before = {name: cpu_seconds(*process) for name, process in watched.items()}
    began = time.monotonic()
    terminal.watch(seconds)
    wall = time.monotonic() - began
    used = {name: cpu_seconds(*process) - before[name] for name, process in watched.items()}
    page = terminal.page()
    print("\n".join(page[:6]))
    checks = [f"{hosts * ranks} ranks on {hosts + 1} hosts" in page[0],  # the launcher's, too
              f"{hosts * ranks} of {hosts * ranks} ranks on {hosts} hosts" in page[2],
              any("in barrier for rank 2" in line for line in page), not any("lost " in line for line in page)]
    if not all(checks):
        sys.exit("top.py: the page is not right:\n" + "\n".join(page))
    print(f"dtlaunch top: {before['dtlaunch top']:.2f} CPU-s for {hosts} logins and the first {WARM_UP_S} s")
    for name, cpu in used.items():
        print(f"{name}: {cpu:.2f} CPU-s in {wall:.1f} s = {percent(cpu, wall):.2f} % of a core")
    terminal.quit()
    with open(os.path.join(work, "go"), "w", encoding="ascii"):
        pass
    job.wait(60)
    if percent(used["dtlaunch top"], wall) > LIMIT_PERCENT:
        sys.exit(f"top.py: more than {LIMIT_PERCENT} %")


def main():
    hosts, ranks, seconds = [int(word) for word in sys.argv[1:] + ["64", "2", "60"][len(sys.argv) - 1:]]
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True).stdout
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    print(f"commit {commit.strip()}, {cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, "
          f"{hosts} hosts, {ranks} ranks on each")
    work = tempfile.mkdtemp(prefix="top.", dir=os.path.join(ROOT, "build"))
    os.environ["DTL_CLUSTER"] = os.path.join(work, "cluster")
    try:
        subprocess.run([CLUSTER, "up", str(hosts + 1)], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(work, "hosts"), "w", encoding="ascii") as file:
            file.writelines(f"node{number}\n" for number in range(2, hosts + 2))
        measure(work, hosts, ranks, seconds)
    finally:
        subprocess.run([CLUSTER, "down"], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(work)


main()
