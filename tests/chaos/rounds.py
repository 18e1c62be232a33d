"""One round: a job on three hosts reaches its phase, gets its faults, ends; then the checks."""
import json, os, re, shutil, signal, subprocess, time

from faults import JOINED, LAUNCHING, LOGIN_LEFT_OPEN, LOST_NODE, OUT_OF_REACH, SLOW
from hosts import Hosts
from job import Job
from plans import HOSTS, RANKS_PER_HOST

REACH = 15  # seconds for a job to reach its phase
FIND = 2  # seconds to wait for a victim that is not there yet
HANG = 25  # seconds from the last fault to the end of dtlaunch
LEASE = 10  # seconds that agents live without dtlaunch
SETTLE = 25  # seconds until nothing is left: a lease of 12, a grace of 5, and more
RESUMED = 8  # seconds until a resumed process has ended, too
FAMILY = 4  # processes that each rank records
OURS = re.compile(r"^(?:dtlaunch: |  (?:process|others|try|memory) )")  # lines that ranks do not write
SLOW_LOGIN = "/run/root/.ssh/rc"
LOUD = "rank %d writes so that somebody has to read it, and writes again."  # as in ./rank
SKIPPED = re.compile(r"\[rank \d\] .* skipped here")
# Folders of records, which stay when empty.
KEPT_FOLDER = re.compile(r"/tmp/dtlaunch-0(/jobs)?|/run/root/\.local(/state(/dtlaunch(/run-[^/]+(/jobs|/links)?)?)?)?")
ROUND_FILES = {"/tmp/full", "/run/full", "/tmp/out", SLOW_LOGIN}


class Wrong(Exception):
    pass


class Round:
    def __init__(self, plan, folder, programs):
        self.plan, self.folder, self.programs = plan, folder, programs
        self.struck, self.stopped, self.done, self.complaints = [], [], [], []
        self.current, self.victim_ranks = None, set()
        self.status, self.cause, self.seconds = None, "-", 0.0
        self.began = time.monotonic()
        os.makedirs(folder)

    def note(self, text):
        with open(self.folder + "/story", "a") as file:
            file.write(f"{time.monotonic() - self.began:7.3f} {text}\n")

    def sleep(self, seconds):
        time.sleep(seconds)

    def complain(self, text):
        self.note("WRONG: " + text)
        self.complaints.append(text)

    def wait_for(self, seconds, condition, pause=0.02):
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            if time.monotonic() > deadline:
                return result
            time.sleep(pause)
        return result

    def run(self):
        self.note(str(self.plan))
        try:
            self.hosts = Hosts(self.folder, len(self.plan.hosts))
        except RuntimeError as error:
            return self.complain(str(error))
        try:
            self.play()
        except Wrong as wrong:
            self.complain(str(wrong))
        finally:
            if self.complaints:
                self.keep_evidence()
            if hasattr(self, "job") and self.job.running():
                self.job.abandon()
            self.hosts.down()

    def play(self):
        if self.plan.phase == "connect":
            with open(self.hosts.own_path(SLOW, SLOW_LOGIN), "w") as file:
                file.write("sleep 1.5\n")
        self.job = Job(self.folder, self.hosts, self.plan, self.programs)
        self.reach_phase()
        for strike in self.plan.strikes:
            self.sleep(strike.after)
            self.strike(strike)
        begin = time.monotonic()
        self.let_it_end()
        self.status = self.job.wait(HANG)
        self.seconds = time.monotonic() - begin
        if self.status is None:
            raise Wrong(f"still running {HANG} s after the last fault")
        self.note(f"dtlaunch ended with {self.status}")
        self.judge_outcome()
        self.judge_messages()
        self.judge_output()
        self.judge_nodes()
        self.judge_processes()
        self.judge_files()

    # ---- to the phase, and the faults

    def reach_phase(self):
        ranks = len(HOSTS) * RANKS_PER_HOST
        reached = {
            "connect": lambda: any(p.name == "dtlaunch" for p in self.hosts.processes(LAUNCHING)),
            "start": lambda: self.job.recorded(),
            "meeting": lambda: self.in_dtring() == ranks - 1,
            "ring": lambda: self.in_dtring() == ranks,
        }.get(self.plan.phase, lambda: len(self.job.recorded()) == ranks * FAMILY)
        if not self.wait_for(REACH, lambda: reached() or not self.job.running()) or not self.job.running():
            raise Wrong(f"the job did not get to its phase; dtlaunch ended with {self.job.process.poll()}")
        self.note("phase reached")
        if self.plan.phase == "ring":
            self.sleep(0.3)  # to meet
        if self.plan.phase == "ending":
            self.sleep(0.1)  # a rank that has recorded its processes has set its trap
            if self.plan.opener == "fail":
                self.job.fail(self.plan.failing_rank)
                time.sleep(0.3)
            else:
                self.signal_launcher(signal.SIGTERM)

    def in_dtring(self):
        return sum(process.name == "dtring-perf" for process in self.hosts.processes())

    def signal_launcher(self, number):
        for process in self.hosts.processes(LAUNCHING):
            if process.name == "dtlaunch":
                process.signal(number)
                self.note(f"signal {number} to {process}")
                return

    def strike(self, strike):
        self.current = strike
        before = len(self.struck)
        hit = False
        deadline = time.monotonic() + FIND
        while self.job.running() and not hit and time.monotonic() < deadline:
            hit = strike.fault.strike(self, strike.host)
            self.sleep(0 if hit else 0.02)
        self.note(f"{strike}: {'done' if hit else 'nobody there'}")
        if hit:
            self.done.append(strike)
            if strike.fault.stops:
                self.stopped += self.struck[before:]

    def rank_process(self, host):
        recorded = [pid for name, pid in self.job.recorded("rank") if name == host]
        for process in self.hosts.processes(host):
            try:
                if process.host_pid in recorded and process.variable("LOCAL_RANK") == str(self.current.rank):
                    self.victim_ranks.add(int(process.variable("RANK")))
                    return process
            except OSError:
                continue  # it has just ended
        return None

    # ---- to the end

    def did(self, *names):
        return any(strike.fault.name in names for strike in self.done)

    def fatal(self):
        return [strike for strike in self.done if strike.fault.fatal]

    def let_it_end(self):
        """Ends a job that the faults did not end, as jobs normally end."""
        if self.did("stop-launcher"):
            self.sleep(LEASE)  # a short stop ends no job, and an agent's lease may have to expire
            if not self.wait_for(SETTLE, lambda: not self.strangers(), 0.2):
                self.complain("while dtlaunch is stopped, hosts do not end their parts: " + self.listed())
            self.resume()
        elif self.plan.phase == "ending" or self.fatal():
            return
        elif self.did("stop-rank"):
            notice = r"dtlaunch: .*rank.* ?(%s)\b.*stopped" % "|".join(map(str, self.victim_ranks))
            if not self.wait_for(8, lambda: re.search(notice, self.job.said()) or not self.job.running(), 0.1):
                self.complain("nothing is said about the rank that is stopped")
            self.signal_launcher(signal.SIGINT)
        elif self.plan.phase == "ring":
            self.signal_launcher(signal.SIGINT)  # these ranks sum for minutes
        else:
            all_ranks = len(HOSTS) * RANKS_PER_HOST
            self.wait_for(REACH, lambda: len(self.job.recorded("rank")) == all_ranks or not self.job.running())
            if self.did("full-output"):
                self.sleep(0.5)  # until more is written than fits on the disk
            self.job.go()

    def resume(self):
        for process in self.stopped:
            if process.signal(signal.SIGCONT):
                self.note(f"goes on: {process}")
        self.stopped = []

    def strangers(self):
        """What runs on the hosts and has no right to: what was stopped for good has, but for an agent,
        which its job-keeper ends, and the logins that a stopped launcher holds."""
        kept = {process.host for process in self.stopped if process.name == "job-keeper"}
        stopped = {process.pid for process in self.stopped
                   if process.name != "dtagent" or process.host in kept}
        logins = self.did(*LOGIN_LEFT_OPEN) or any(process.name == "dtlaunch" for process in self.stopped)
        return [p for p in self.hosts.processes()
                if p.pid not in stopped and not (logins and p.is_login()) and not self.is_awaiting(p)]

    def is_awaiting(self, _process):
        return False  # False for anything that is still to come

    def listed(self):
        return "; ".join(map(str, self.strangers()))

    # ---- checks

    def expected(self):
        """The statuses and causes that these faults allow."""
        strikes = self.done
        if self.plan.phase == "ending":  # the first cause counts
            statuses, causes = ({143}, {"interrupted"}) if self.plan.opener == "terminate" else ({3}, {"rank-exit"})
            strikes = [s for s in strikes if s.fault.name == "stop-launcher" or s.fault.kills_launcher(s.host)]
        elif self.fatal():
            statuses, causes = set(), set()
            strikes = [s for s in strikes if s.fault.fatal]
        elif any(s.fault.statuses for s in strikes):
            statuses, causes = set(), set()
            strikes = [s for s in strikes if s.fault.statuses]
        else:
            return ({130}, {"interrupted"}) if self.plan.phase == "ring" else ({0}, {"completed"})
        for strike in strikes:
            statuses |= strike.fault.statuses_at(strike.host, self.plan.way)
            causes |= set(strike.fault.causes)
        return statuses, causes

    def judge_outcome(self):
        statuses, causes = self.expected()
        if self.status not in statuses:
            self.complain(f"status {self.status}, not {' or '.join(map(str, sorted(statuses)))}")
        if self.status == 137 and any(s.fault.kills_launcher(s.host) for s in self.done):
            return  # it had no time to say more
        try:
            outcome = json.load(open(self.folder + "/report.json"))["outcome"]
        except (OSError, ValueError, KeyError) as error:
            return self.complain(f"no report: {error}")
        self.cause = outcome["cause"]
        if self.cause not in causes:
            self.complain(f"cause {self.cause}, not {' or '.join(sorted(causes))}")
        if outcome["exit_status"] != self.status:
            self.complain(f"the report says status {outcome['exit_status']}")
        if self.cause == "rank-signal" and self.victim_ranks and not self.did("kill-everything") \
                and outcome.get("rank") not in self.victim_ranks:
            self.complain(f"the report blames rank {outcome.get('rank')}, not {self.victim_ranks}")

    def blamed(self):
        hosts = set().union(*(strike.fault.blames(strike.host) for strike in self.done))
        if self.plan.phase == "ending" and self.plan.opener == "fail":
            hosts.add(HOSTS[self.plan.failing_rank // RANKS_PER_HOST])
        return hosts

    def judge_messages(self):
        allowed, named = self.blamed(), set()
        for line in self.job.said().splitlines():
            if OURS.match(line):
                hosts = set(re.findall(r"\bnode\d+\b", line))
                named |= hosts
                if hosts - allowed:
                    self.complain(f"a message names {' and '.join(sorted(hosts - allowed))}: {line}")
        if self.cause in ("node-lost", "agent-failed", "cannot-start", "rank-signal") and not named:
            self.complain("no message names a host")

    def judge_output(self):
        """Who reads late may miss lines, and is told so. A line may be ended early, for another rank
        to write; no line has words of two."""
        if not self.did("stalled-reader"):
            return
        self.job.reader.join(5)
        written = [LOUD % rank for rank in range(len(HOSTS) * RANKS_PER_HOST)]
        for line in open(self.folder + "/out", errors="replace").read().splitlines():
            if not SKIPPED.match(line) and not any(line in sentence for sentence in written):
                return self.complain(f"no rank has written this line: {line!r}")

    def judge_nodes(self):
        """Joined nodes end with the first one, and with its status unless that or they were struck."""
        struck = {strike.host for strike in self.done if strike.fault.where != "launcher"}
        alone = LAUNCHING in struck or self.did("stop-launcher") or self.launcher_killed()
        for host in set(self.job.nodes) - struck:
            try:
                status = self.job.nodes[host].wait(SETTLE)
            except subprocess.TimeoutExpired:
                self.complain(f"dtlaunch on {host} has not ended")
                continue
            if status != self.status and not (alone and status == LOST_NODE):
                self.complain(f"dtlaunch on {host} ended with {status}, not {self.status}")

    def launcher_killed(self):
        return any(strike.fault.kills_launcher(strike.host) for strike in self.done)

    def is_for_the_next_job(self, host):
        """If all processes that could end a host's leftovers were killed, the next job there ends them."""
        names = {strike.fault.name for strike in self.done if strike.host == host}
        watchers_gone = "kill-watchers" in names or (
            "kill-keeper" in names and names & {"kill-agent", "kill-guard", "kill-programs"})
        node_gone = self.plan.way == JOINED and names & {"kill-node", "stop-node", "kill-programs"}
        return watchers_gone and (self.launcher_killed() or node_gone or names & set(OUT_OF_REACH))

    def run_next_job(self, host):
        done = self.hosts.run(host, self.programs + "/dtlaunch", "-np", "1", "true")
        self.note(f"the next job on {host}: {done.returncode} {done.stderr}")

    def judge_processes(self):
        for host in self.plan.hosts:
            if host not in self.hosts.off and self.is_for_the_next_job(host):
                self.sleep(LEASE)  # until then an agent elsewhere may keep a record here
                self.run_next_job(host)
        if not self.wait_for(SETTLE, lambda: not self.strangers(), 0.1):
            self.complain("left: " + self.listed())
        if self.stopped:
            self.resume()
            waits = self.job.comes_within if self.job.nodes else 0  # for a first node that was killed
            if not self.wait_for(RESUMED + waits, lambda: not self.strangers(), 0.1):
                self.complain("left after what was stopped goes on: " + self.listed())

    def left_files(self, host):
        return sorted(path for path in self.hosts.files(host) - ROUND_FILES if not KEPT_FOLDER.fullmatch(path))

    def judge_files(self):
        """Records of killed processes stay for `dtlaunch clean`; no others stay."""
        killed = {process.host for process in self.struck}
        for host in self.plan.hosts:
            if host in self.hosts.off:
                continue
            left = self.left_files(host)
            if left and host not in killed:
                self.complain(f"files left on {host}, where nothing was killed: {' '.join(left)}")
            if not left:
                continue
            for path in ROUND_FILES:
                if os.path.exists(self.hosts.own_path(host, path)):
                    os.unlink(self.hosts.own_path(host, path))
            said = self.hosts.run(host, self.programs + "/dtlaunch", "clean")
            left = self.left_files(host)
            if said.returncode != 0 or left:
                self.complain(f"files left on {host} after dtlaunch clean (status {said.returncode}): "
                              + " ".join(left) + said.stdout + said.stderr)

    def keep_evidence(self):
        for process in self.hosts.processes():
            self.note(f"there is: {process}")
        for host in self.plan.hosts:
            if host not in self.hosts.off:
                self.note(f"files on {host}: " + " ".join(sorted(self.hosts.files(host))))

    def forget(self):
        shutil.rmtree(self.folder)
