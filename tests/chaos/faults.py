"""The faults: what each does, to which process, and which outcomes of the job it allows.

A fault that ends a job says with which statuses and causes. One that ends nothing (fatal=False) is
followed by an ordinary end of the job. Nothing here is random: plans.py draws the plan.
"""
import signal
from dataclasses import dataclass, field

LAUNCHING = "node1"  # where dtlaunch runs; its agent needs no login
SLOW = "node3"  # logs in slowly if the phase is `connect`
PHASES = ("connect", "start", "meeting", "ring", "running", "ending")
AFTER_START = PHASES[1:]
LOST = ("node-lost", "agent-failed", "cannot-start")
SSH, JOINED = "ssh", "joined"  # how agents reach hosts: by a login, or by a dtlaunch on the host
WAYS = (SSH, JOINED)
LOST_NODE = 137  # status of joined nodes for LOST


@dataclass(frozen=True)
class Fault:
    name: str
    does: str
    strike: object  # (round, host) -> bool: false if there is nothing to strike yet
    where: str = "any"  # any, remote: not node1; launcher: node1, and no host is to blame
    statuses: tuple = ()
    causes: tuple = ()
    fatal: bool = True
    phases: tuple = PHASES
    weight: int = 3
    pairs: bool = True  # may be one of two faults
    stops: bool = False  # the victim stays until told to go on
    ways: tuple = WAYS
    setup: dict = field(default_factory=dict)  # job options that it needs

    def kills_launcher(self, host):
        return self.name == "kill-launcher" or (
            host == LAUNCHING and self.name in ("kill-programs", "kill-everything"))

    def statuses_at(self, host, way):
        if self.kills_launcher(host):
            return {137}
        lost = way == JOINED and set(self.causes) & set(LOST)
        return {LOST_NODE if lost and status in (69, 71) else status for status in self.statuses}

    def blames(self, host):
        return set() if self.where == "launcher" or self.kills_launcher(host) else {host}


# ---- victims: each is a list of processes, empty if they are not there yet


def program(name):
    return lambda round, host: [p for p in round.hosts.processes(host) if p.name == name][:1]


def launcher(round, _host):
    return program("dtlaunch")(round, LAUNCHING)


def login(round, host):
    # The process with the connection; nobody may notice the end of its monitor, "[priv]".
    logins = [p for p in round.hosts.processes(host) if p.is_login()]
    return sorted(logins, key=lambda p: p.words.endswith("[priv]"))[:1]


def rank(round, host):
    process = round.rank_process(host)
    return [process] if process else []


def all_dt(round, host):
    """The processes that `pkill dt` finds there."""
    return [p for p in round.hosts.processes(host) if p.name.startswith("dt") and p.name != "dtring-perf"]


def everything(round, host):
    found = [p for p in round.hosts.processes(host) if not p.is_login()]
    return found if any(p.name == "dtagent" for p in found) else []  # other programs are not a job


def watchers(round, host):
    """The processes that would end what ranks leave."""
    names = ("dtagent", "dtguard", "job-keeper")
    found = [p for p in round.hosts.processes(host) if p.name in names]
    return found if {p.name for p in found} == set(names) else []


def send(number, whom):
    def strike(round, host):
        struck = [process for process in whom(round, host) if process.signal(number)]
        round.struck += struck
        for process in struck:
            round.note(f"signal {number} to {process}")
        return bool(struck)
    return strike


# ---- what else


def kill_together(round, host, whom):
    """Stops all of them first: a process that forks would leave an unwatched child."""
    stopped = []
    while new := [p for p in whom(round, host) if p.pid not in {each.pid for each in stopped}]:
        stopped += [process for process in new if process.signal(signal.SIGSTOP)]
    round.struck += stopped
    for process in stopped:
        process.signal(signal.SIGKILL)
        round.note(f"signal 9 to {process}")
    return bool(stopped)


def kill_everything(round, host):
    return kill_together(round, host, everything)


def kill_watchers(round, host):
    return kill_together(round, host, watchers)


def cut(round, host):
    return round.hosts.cluster("cut", host).returncode == 0


def cut_for(seconds):
    def strike(round, host):
        done = cut(round, host)
        round.sleep(seconds)
        return done and round.hosts.cluster("mend", host).returncode == 0
    return strike


def power_off(round, host):
    return round.hosts.power_off(host)


def fill_disk(round, host):
    script = "for at in /tmp /run; do mount -o remount,size=4m $at && cat /dev/zero >$at/full; done; rm -rf /run/mount"
    return "No space left" in round.hosts.run(host, "sh", "-c", script).stderr


def close_terminal(round, _host):
    return round.job.close_terminal()


def stall_reader(round, _host):
    round.job.reader.stall()
    round.sleep(3)
    round.job.reader.go_on()
    return True


def close_reader(round, _host):
    round.job.reader.close()
    return True


def kill(name, whom, **more):
    return Fault("kill-" + name, f"kill -9 of {more.pop('what')}", send(signal.SIGKILL, whom), **more)


def stop(name, whom, **more):
    return Fault("stop-" + name, f"SIGSTOP of {more.pop('what')}, for good", send(signal.SIGSTOP, whom),
                 stops=True, **more)


def tell(name, number, status):
    return Fault(name, f"{number.name} to the launcher", send(number, launcher), where="launcher",
                 statuses=(status,), causes=("interrupted",), weight=2)


FAULTS = [
    kill("rank", rank, what="a rank", statuses=(137,), causes=("rank-signal",), phases=AFTER_START),
    kill("agent", program("dtagent"), what="an agent", statuses=(69, 71), causes=LOST),
    kill("guard", program("dtguard"), what="a guard", statuses=(71,), causes=LOST),
    kill("keeper", program("job-keeper"), what="the process above an agent", statuses=(69, 71),
         causes=LOST),
    Fault("kill-watchers", "kill -9 of agent, guard and the process above them, together", kill_watchers,
          statuses=(69, 71), causes=LOST),
    kill("login", login, what="the sshd of a login", where="remote", statuses=(69, 71), causes=LOST, ways=(SSH,)),
    kill("node", program("dtlaunch"), what="another node's dtlaunch", where="remote", statuses=(69, 71), causes=LOST,
         ways=(JOINED,)),
    kill("launcher", launcher, what="the launcher", where="launcher", statuses=(137,)),
    kill("programs", all_dt, what="all programs of dtlaunch on a host", statuses=(69, 71), causes=LOST),
    Fault("kill-everything", "kill -9 of all processes of the job on a host", kill_everything,
          statuses=(69, 71, 137), causes=(*LOST, "rank-signal")),
    stop("rank", rank, what="a rank", fatal=False, phases=AFTER_START, statuses=(130,),
         causes=("interrupted",), weight=2),
    Fault("hang", "SIGSTOP of a rank under --hang-timeout", send(signal.SIGSTOP, rank), statuses=(124,),
          causes=("hang",), phases=("meeting", "ring", "running"), weight=1, pairs=False,
          setup={"options": ("--hang-notice", "1", "--hang-timeout", "2")}),
    stop("agent", program("dtagent"), what="an agent", statuses=(69, 71), causes=LOST, weight=1),
    stop("guard", program("dtguard"), what="a guard", statuses=(71,), causes=LOST, weight=1),
    stop("keeper", program("job-keeper"), what="the process above an agent", fatal=False),
    stop("login", login, what="the sshd of a login", where="remote", statuses=(69, 71), causes=LOST,
         weight=1, ways=(SSH,)),
    stop("node", program("dtlaunch"), what="another node's dtlaunch", where="remote", statuses=(69, 71), causes=LOST,
         weight=1, ways=(JOINED,)),
    stop("launcher", launcher, what="the launcher", where="launcher", statuses=(75,),
         causes=("stopped-self",), weight=1, pairs=False),
    tell("interrupt", signal.SIGINT, 130),
    tell("terminate", signal.SIGTERM, 143),
    tell("hang-up", signal.SIGHUP, 129),
    Fault("cut", "the host's packets vanish", cut, where="remote", statuses=(69, 71), causes=LOST, weight=1),
    Fault("blink", "the same for 2 s", cut_for(2), where="remote", fatal=False, weight=1),
    Fault("cut-longer", "the same for 15 s", cut_for(15), where="remote", statuses=(69, 71), causes=LOST, weight=1),
    Fault("power-off", "the host ends, without a farewell", power_off, where="remote", statuses=(69, 71),
          causes=LOST, weight=1),
    Fault("full-disk", "no space in /tmp and in /run with the home", fill_disk, fatal=False, weight=1),
    Fault("full-output", "no space where dtlaunch's output goes", fill_disk, where="launcher", fatal=False,
          statuses=(74,), causes=("completed",), weight=1, pairs=False, phases=("start", "running"),
          setup={"output": "file", "voice": "loud"}),
    Fault("closed-terminal", "the terminal of dtlaunch goes away", close_terminal, where="launcher",
          statuses=(129,), causes=("interrupted",), weight=2, pairs=False,
          setup={"output": "terminal"}),
    Fault("stalled-reader", "nobody reads dtlaunch's output for 3 s", stall_reader, where="launcher",
          fatal=False, weight=1, pairs=False, phases=("start", "running"), setup={"voice": "loud"}),
    Fault("closed-reader", "nobody will ever read it", close_reader, where="launcher", statuses=(141,),
          causes=("output-closed",), pairs=False, phases=("connect", "start", "running"), weight=1,
          setup={"voice": "talk"}),
    Fault("nothing", "no fault at all", lambda round, host: True, where="launcher", fatal=False, weight=1,
          pairs=False),
]
BY_NAME = {fault.name: fault for fault in FAULTS}
# After these, an sshd does not learn that its peer is gone, which does not concern the job, and
# nobody can reach the host to end what is left there.
OUT_OF_REACH = ("cut", "cut-longer")
LOGIN_LEFT_OPEN = ("cut", "cut-longer", "blink", "power-off", "stop-login")
