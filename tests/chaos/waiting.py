"""Rounds of jobs that wait in line for the cores of three hosts; chaos --line plays them.

Some jobs want cores of one host, some all cores of several. Their launchers run on any of the hosts,
and are killed, stopped, interrupted or cut off while they wait or run, and so are agents. Whatever
happens: no core has two owners, the jobs that were not struck get their cores and end with 0, every
launcher ends, nothing is left, and a job that wants all cores then starts at once.
"""
import os, random, signal, subprocess, threading, time
from dataclasses import dataclass

from faults import FAULTS, LAUNCHING, SSH, Fault, program, send
from job import HERE
from rounds import Round

HOSTS = ("node1", "node2", "node3")
JOBS = 6
LONGEST = 1.5  # seconds that a job holds its cores
LIMIT = 90  # seconds for all of them, on a busy machine, with leases that expire
AT_ONCE = 20  # seconds for the last job
KILLED = {137}


@dataclass(frozen=True)
class Wanted:
    name: str
    start: float  # seconds after the first one
    launching: str
    hosts: tuple
    all_cores: bool
    holds: float

    def __str__(self):
        return f"{self.name} from {self.launching} on {','.join(self.hosts)}{' (all)' if self.all_cores else ''}"


@dataclass(frozen=True)
class LineStrike:
    fault: object
    host: str
    job: int  # whose launcher it strikes, if it strikes one
    after: float  # seconds since the first job began

    def __str__(self):
        what = f"job {self.job}" if self.fault.where == "launcher" else self.host
        return f"{self.fault.name} {what} at {self.after:.2f} s"


@dataclass(frozen=True)
class LinePlan:
    seed: int
    number: int
    jobs: tuple
    strikes: tuple
    way, phase, hosts, joining = SSH, "running", HOSTS, HOSTS

    def setup(self, _key, otherwise):
        return otherwise

    def __str__(self):
        return "; ".join(map(str, (*self.jobs, *self.strikes)))


def pause_launcher(round, _host):
    """As ^Z, without a word to dtlaunch."""
    struck = round.launcher_of(round.current.job)
    if struck is None or not struck.signal(signal.SIGSTOP):
        return False
    threading.Timer(3, struck.signal, (signal.SIGCONT,)).start()
    return True


def to_launcher(number):
    def strike(round, _host):
        struck = round.launcher_of(round.current.job)
        if struck is not None and struck.signal(number):
            round.struck.append(struck)
            return True
        return False
    return strike


OF_LAUNCHERS = [
    Fault("kill-launcher", "kill -9 of a launcher", to_launcher(signal.SIGKILL), where="launcher", weight=6),
    Fault("interrupt", "SIGINT to a launcher", to_launcher(signal.SIGINT), where="launcher"),
    Fault("pause-launcher", "SIGSTOP of a launcher for 3 s", pause_launcher, where="launcher"),
]
OF_HOSTS = [fault for fault in FAULTS if fault.name in (
    "kill-guard", "kill-login", "blink", "cut-longer", "power-off", "kill-programs")]
OF_HOSTS.append(Fault("kill-agent", "kill -9 of an agent", send(signal.SIGKILL, program("dtagent")), weight=6))


def draw_line(seed, number, only=()):
    lots = random.Random(f"line {seed}/{number}")
    jobs = []
    for index in range(JOBS):
        hosts = tuple(sorted(lots.sample(HOSTS, lots.choice((1, 1, 2, 3)))))
        jobs.append(Wanted(f"job{index}", 0 if index == 0 else round(lots.uniform(0, 2), 2), lots.choice(HOSTS), hosts,
                           index == 0 or lots.random() < 0.6, round(lots.uniform(0.2, LONGEST), 2)))
    faults = [f for f in OF_LAUNCHERS + OF_HOSTS if not only or f.name in only]
    strikes = []
    for _ in range(lots.choice((1, 2, 3))):
        fault = lots.choices(faults, [f.weight for f in faults])[0]
        # The first host has the last job's launcher.
        host = lots.choice(HOSTS[1:])
        strikes.append(LineStrike(fault, host, lots.randrange(JOBS), round(lots.uniform(0.2, 4), 3)))
    return LinePlan(seed, number, tuple(jobs), tuple(sorted(strikes, key=lambda s: s.after)))


class Line:
    """The launchers of all jobs; for Round, the job of the round."""
    nodes = {}

    def __init__(self, round):
        self.round, self.folder = round, round.folder + "/line"
        self.processes, self.ended = {}, {}
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o777)

    def start(self, job, cores):
        bind = ["-bind-to", f"core:{cores}"] if job.all_cores else []
        command = [self.round.programs + "/dtlaunch", "--wait", "-hosts", ",".join(job.hosts), "-np",
                   str(len(job.hosts)), "-ppn", "1", *bind, HERE + "/holder", self.folder, job.name, str(job.holds)]
        environment = {k: v for k, v in os.environ.items() if k != "DTL_SHARE_CORES"}
        with open(f"{self.folder}/{job.name}.said", "wb") as said:
            self.processes[job.name] = subprocess.Popen(
                self.round.hosts.command(job.launching, *command), env=environment, stdin=subprocess.DEVNULL,
                stdout=said, stderr=said)

    def look(self):
        for name, process in self.processes.items():
            if name not in self.ended and process.poll() is not None:
                self.ended[name] = process.returncode
                self.round.note(f"{name} ended with {process.returncode}")

    def running(self):
        self.look()
        return len(self.ended) < len(self.processes)

    def abandon(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def said(self, name):
        return open(f"{self.folder}/{name}.said", errors="replace").read()

    def began(self, name):
        try:
            return sorted(open(f"{self.folder}/{name}.began").read().split())
        except FileNotFoundError:
            return []


class LineRound(Round):
    def play(self):
        table = self.hosts.run(LAUNCHING, self.programs + "/dtlaunch", "ps", "--cores").stdout
        free = [row.split() for row in table.splitlines() if " free" in row]
        self.cores = int(free[0][2])
        self.job = Line(self)
        self.struck_jobs, self.struck_hosts = set(), set()
        began = time.monotonic()
        moments = [(job.start, self.job.start, (job, self.cores)) for job in self.plan.jobs]
        moments += [(strike.after, self.strike, (strike,)) for strike in self.plan.strikes]
        for moment, act, words in sorted(moments, key=lambda each: each[0]):
            self.sleep(max(0, began + moment - time.monotonic()))
            act(*words)
        self.wait_for(LIMIT, lambda: not self.job.running(), 0.1)
        self.seconds = time.monotonic() - began
        self.judge_jobs()
        self.judge_cores()
        self.judge_processes()
        self.run_last_job()
        self.status, self.cause = len(self.job.ended), "ended"

    def strike(self, strike):
        self.current = strike
        hit = strike.fault.strike(self, strike.host)
        self.note(f"{strike}: {'done' if hit else 'nobody there'}")
        if not hit:
            return
        self.done.append(strike)
        if strike.fault.where == "launcher":
            self.struck_jobs.add(self.plan.jobs[strike.job].name)
        else:
            self.struck_hosts.add(strike.host)

    def launcher_of(self, number):
        """On its host; None: it has not begun, or has ended."""
        job = self.plan.jobs[number]
        return next((p for p in self.hosts.processes(job.launching)
                     if p.name == "dtlaunch" and f" {job.name} " in p.words + " "), None)

    def launcher_killed(self):
        return self.did("kill-launcher", "kill-programs")

    def may_fail(self, job):
        return job.name in self.struck_jobs or bool(self.struck_hosts & {*job.hosts, job.launching})

    # ---- checks

    def judge_jobs(self):
        for job in self.plan.jobs:
            status = self.job.ended.get(job.name)
            if status is None:
                self.complain(f"{job} has not ended, and says: {self.job.said(job.name)[-400:]}")
            elif not self.may_fail(job) and (status != 0 or self.job.began(job.name) != list(job.hosts)):
                self.complain(f"{job} ended with {status}, with ranks on {self.job.began(job.name)}, and says: "
                              + self.job.said(job.name)[-400:])

    def judge_cores(self):
        try:
            self.complain("a core had two owners: " + open(self.job.folder + "/complaints").read().strip())
        except FileNotFoundError:
            pass

    def run_last_job(self):
        """All cores of all hosts that can be reached are free at once."""
        lost = {s.host for s in self.done if s.fault.name in ("power-off",)}
        hosts = [host for host in self.plan.hosts if host not in lost]
        done = self.hosts.run(LAUNCHING, "env", "-u", "DTL_SHARE_CORES", self.programs + "/dtlaunch",
                              f"--wait={AT_ONCE}", "-hosts", ",".join(hosts), "-np", str(len(hosts)), "-ppn", "1",
                              "-bind-to", f"core:{self.cores}", "true")
        if done.returncode != 0:
            self.complain(f"a job that wants all cores ended with {done.returncode}: {done.stderr[-400:]}")
