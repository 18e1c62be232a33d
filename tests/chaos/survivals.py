"""Rounds of jobs that are to survive: dttrain under --max-restarts, with a spare host, as an elastic
job, or with --reconnect; and the plans of such rounds. chaos --restarts plays them.

Struck once or up to three times, the job has to end with the parameters of an undisturbed run (an
elastic one with its losses), from checkpoints of which none is lost or mixed; or with a refusal
that dtlaunch(1) has, RESTARTS and ELASTIC. At no moment are two ranks of one number alive.
"""
import json, os, random, re, shutil, subprocess, time
from dataclasses import dataclass

from faults import FAULTS, JOINED, LAUNCHING, SSH
from hosts import Hosts
from job import Job
from plans import Strike, draw, nobody_can_act
from rounds import Round, Wrong
from watch import Watch

E2E = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "e2e")
FIXED, ELASTIC, RECONNECT, COMING = "restarts", "elastic", "reconnect", "joined"
RANKS = 3
MOST = 6  # restarts
OPTIONS = {  # each has three ranks on three hosts; node4 is a spare host
    FIXED: ("-np", str(RANKS), "-ppn", "1", "--max-restarts", str(MOST)),
    ELASTIC: ("--nnodes", f"2:{RANKS}", "-ppn", "1", "--max-restarts", str(MOST)),
    RECONNECT: ("-np", str(RANKS), "-ppn", "1", "--max-restarts", str(MOST), "--reconnect", "12"),
    COMING: ("-ppn", "1", "--max-restarts", str(MOST)),
}
CHANGING = (ELASTIC, COMING)  # jobs that may change size
ALL_HOSTS = ("node1", "node2", "node3", "node4")
MOMENTS = ("start", "training", "again")  # again: without waiting, while the job recovers
LATER = (0.02, 1, 5, 25)  # seconds until then, at most
NOT_HERE = ("stop-rank", "full-disk")  # one ends nothing; the other ends what should continue
REACH = 60  # seconds to the first checkpoint, on a busy machine
LIMIT = 300  # seconds from there to the end: about 30 for each lost host, the back-off, the steps
SHAPE = ["--vocab_size", "200", "--hidden_size", "128", "--num_hidden_layers", "2",
         "--num_attention_heads", "2", "--intermediate_size", "256"]
SURROUNDINGS = ["-genv", "OMP_NUM_THREADS=1"]
STEPS = ["--logging_steps", "1", "--save_steps", "25", "--save_total_limit", "3", "--max_steps", "300",
          "--global_batch_size", "24", "--learning_rate", "1e-4", "--do_train"]
GONE = ("cut", "cut-longer", "power-off")  # faults that take a host down
NODE_GONE = ("kill-node", "stop-node", "kill-programs", "kill-everything")  # or a joined node's dtlaunch
REFUSALS = (r"\d+ hosts? (is|are) left, and --nnodes", r"its ranks do not fit", r"no host is left")  # dtlaunch(1)
NAMES_A_HOST = re.compile(r"^dtlaunch: (node\d): (?!no sign of life)")


@dataclass(frozen=True)
class Survival:
    seed: int
    number: int
    kind: str
    strikes: tuple
    moments: tuple

    phase = "running"
    hosts = ALL_HOSTS
    joining = ALL_HOSTS[:RANKS]

    @property
    def way(self):
        return JOINED if self.kind == COMING else SSH

    def setup(self, key, otherwise):
        if key == "nodes":
            return f"2:{RANKS}"
        if key != "options":
            return otherwise
        options = OPTIONS[self.kind]
        for strike in self.strikes:
            options += strike.fault.setup.get(key, ()) if strike.fault.name == "hang" else ()
        return options

    def __str__(self):
        return f"{self.kind}: " + ", ".join(
            f"{s} {m} +{s.after:.2f} s" for s, m in zip(self.strikes, self.moments))


def draw_host(lots, fault, kind):
    if fault.where == "launcher":
        return LAUNCHING
    hosts = ALL_HOSTS[:RANKS] if kind == COMING else ALL_HOSTS
    return lots.choice([h for h in hosts for _ in range(1 if h == "node4" else 4)
                        if h != LAUNCHING or fault.where != "remote"])


def possible(only, kind):
    found = [f for f in FAULTS if f.name not in NOT_HERE and not (f.setup and f.name != "hang")
             and (f.where != "launcher" or f.name == "kill-launcher")
             and (JOINED if kind == COMING else SSH) in f.ways]
    return [f for f in found if f.name in only] if only else found


def draw_survival(seed, number, only=(), wanted=None):
    lots = random.Random(f"survival {seed}/{number}")
    kinds = {None: (FIXED, FIXED, ELASTIC, RECONNECT, COMING, COMING), JOINED: (COMING,),
             SSH: (FIXED, FIXED, ELASTIC, RECONNECT)}[wanted]
    kind = lots.choice(kinds)
    while True:
        strikes, moments = [], []
        for index in range(lots.choice((1, 1, 2, 3))):
            fault = draw(lots, possible(only if index == 0 else (), kind))
            moment = lots.choice(MOMENTS if index else MOMENTS[:1] + 4 * MOMENTS[1:2])
            longest = {"start": 1.5, "training": 0.7}.get(moment) or lots.choice(LATER)
            moments.append(moment if index == 0 or moment != "start" else "again")
            strikes.append(Strike(fault, draw_host(lots, fault, kind), 0, round(lots.uniform(0, longest), 3)))
        hangs = sum(strike.fault.name == "hang" for strike in strikes)
        if hangs < 2 and not nobody_can_act(strikes):
            return Survival(seed, number, kind, tuple(strikes), tuple(moments))


class Training(Job):
    """dttrain, each rank with a family of its own, in a folder that all hosts see."""
    comes_within = 30

    def words(self):
        return [*SURROUNDINGS, E2E + "/record_family",
                self.folder + "/processes", *training(self.programs, os.path.dirname(self.folder), self.folder)]


def training(programs, work, folder):
    return [programs + "/dttrain", "--model_name_or_path", work + "/model", "--train_file", work + "/train.tsv",
            *STEPS, "--output_dir", folder + "/trained"]


class Undisturbed:
    """The results of an undisturbed run; also makes the inputs of all rounds in `work`."""
    def __init__(self, programs, work):
        with open(work + "/train.tsv", "wb") as file:
            subprocess.run([E2E + "/make_sentences", "2000", "1"], stdout=file, check=True)
        self.run(programs + "/dttrain", "init", "--train_file", work + "/train.tsv", *SHAPE,
                 "--output_dir", work + "/model")
        alone = work + "/alone"
        os.mkdir(alone)
        hosts = Hosts(alone, RANKS)  # the final number: sums on one host have another order
        try:
            said = self.run(*hosts.command(LAUNCHING, programs + "/dtlaunch", "-hosts", ",".join(ALL_HOSTS[:RANKS]),
                                           "-ppn", "1", *SURROUNDINGS, *training(programs, work, alone)))
        finally:
            hosts.down()
        self.parameters, self.losses = parameters_in(said), dict(losses_in(alone))
        shutil.rmtree(alone)

    def run(self, *command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"chaos: {' '.join(command)}: status {done.returncode}: {done.stderr}")
        return done.stdout


def parameters_in(said):
    found = re.findall(r"^parameters ([0-9a-f]+) on all", said, re.M)
    return found[-1] if found else None


def losses_in(folder):
    try:
        rows = [json.loads(line) for line in open(folder + "/trained/metrics.jsonl")]
    except FileNotFoundError:
        return []
    return [(row["step"], row["loss"]) for row in rows if "loss" in row]


class SurvivalRound(Round):
    undisturbed = None  # an Undisturbed, set before the first round

    def __init__(self, plan, folder, programs):
        super().__init__(plan, folder, programs)
        self.saved = []  # the newest checkpoint at each strike
        self.anew = False  # its user has started it again

    def play(self):
        self.job = Training(self.folder, self.hosts, self.plan, self.programs)
        with Watch(self.hosts, self.job) as watch:
            for strike, moment in zip(self.plan.strikes, self.plan.moments):
                self.reach(moment)
                self.sleep(strike.after)
                self.saved.append(self.newest())
                self.strike(strike)
            self.end(LIMIT)
            if self.status == 137 and self.launcher_killed():
                self.judge_processes()
                self.start_anew()
            self.complaints += watch.complaints
        self.judge_survival()
        self.judge_names()
        self.judge_processes()
        self.judge_files()

    def end(self, seconds):
        began = time.monotonic()
        self.status = self.job.wait(seconds)
        self.seconds = time.monotonic() - began
        if self.status is None:
            raise Wrong(f"still running {seconds} s after the last fault")
        self.note(f"dtlaunch ended with {self.status}")

    def is_awaiting(self, process):
        """A joined node waits for a killed first node to return."""
        return self.job.nodes and process.name == "dtlaunch" and self.launcher_killed() and not self.anew

    # ---- to the moments

    def checkpoints(self):
        try:
            names = os.listdir(self.folder + "/trained")
        except FileNotFoundError:
            return []
        return sorted(int(name[11:]) for name in names if re.fullmatch(r"checkpoint-\d+", name))

    def newest(self):
        return max(self.checkpoints(), default=0)

    def reach(self, moment):
        since = self.saved[-1] if self.saved else 0
        reached = {"start": lambda: any(p.name == "dtlaunch" for p in self.hosts.processes(LAUNCHING)),
                   "training": lambda: self.newest() > since}.get(moment, lambda: True)
        if not self.wait_for(REACH, lambda: reached() or not self.job.running()):
            self.complain(f"the job did not come to the moment: {moment}")

    def start_anew(self):
        """Runs the same command again, as a user would, when the network works again."""
        self.note("started anew")
        self.anew = True
        for host in {strike.host for strike in self.done if strike.fault.name == "cut"} - self.hosts.off:
            self.hosts.cluster("mend", host)
        os.rename(self.folder + "/err", self.folder + "/err.killed")
        os.rename(self.folder + "/out", self.folder + "/out.killed")
        self.job.__init__(self.folder, self.hosts, self.plan, self.programs)
        self.end(LIMIT)

    # ---- checks

    def output(self):
        self.job.reader.join(5)
        return open(self.folder + "/out", errors="replace").read()

    def judge_survival(self):
        try:
            outcome = json.load(open(self.folder + "/report.json"))["outcome"]
            self.cause = outcome["cause"]
            if outcome["exit_status"] != self.status:
                self.complain(f"the report says status {outcome['exit_status']}")
        except (OSError, ValueError, KeyError) as error:
            self.complain(f"no report: {error}")
        self.judge_checkpoints()
        if self.status == 0:
            return self.judge_result()
        if not self.is_documented_refusal():
            self.complain(f"ended with {self.status}: " + " / ".join(self.job.said().splitlines()[-2:]))

    def is_documented_refusal(self):
        said = self.job.said()
        if self.plan.moments[0] == "start" and self.cause == "cannot-start" and "restart 1 of" not in said:
            return True  # nothing has run yet
        if self.anew and self.cause == "cannot-start" and self.hosts.off:
            return True  # a host of its list is gone
        if self.anew and self.status == 124 and self.did(*GONE, *NODE_GONE):
            return True  # too few nodes wait for the first one
        return self.did(*GONE) and any(
            re.search(f"^dtlaunch: not started again: {words}", said, re.M) for words in REFUSALS)

    def judge_result(self):
        parameters, losses = parameters_in(self.output()), losses_in(self.folder)
        steps = [step for step, _ in losses]
        if steps != sorted(self.undisturbed.losses):
            self.complain("the log has other steps than that of an undisturbed run")
        elif self.plan.kind in CHANGING:
            worst = max(abs(loss - self.undisturbed.losses[step]) for step, loss in losses)
            if worst > 1e-5:
                self.complain(f"a loss differs by {worst:.2g}")
            return
        elif any(loss != self.undisturbed.losses[step] for step, loss in losses):
            self.complain("the losses are not those of an undisturbed run")
        if self.plan.kind not in CHANGING and parameters != self.undisturbed.parameters:
            self.complain(f"parameters {parameters}, not {self.undisturbed.parameters}")

    def judge_checkpoints(self):
        """An epoch resumes from a checkpoint at least as new as the last one before the fault."""
        words = re.compile(r"^(?:\[rank 0\] )?Continuing from .*/checkpoint-(\d+), after step", re.M)
        begun = [0] + [int(step) for step in words.findall(self.output())]
        if begun != sorted(begun):
            self.complain(f"epochs went on from checkpoints {begun}")
        if len(begun) > 1 and self.saved and max(begun) < self.saved[0]:
            self.complain(f"checkpoint {self.saved[0]} is lost: went on from {begun}")
        left = os.listdir(self.folder + "/trained") if os.path.isdir(self.folder + "/trained") else []
        if self.status == 0 and [name for name in left if "partial" in name]:
            self.complain("half of a checkpoint is left")
        if self.status == 0 and (self.newest() != 300 or len(self.checkpoints()) != 3):
            self.complain(f"the checkpoints left are {self.checkpoints()}")

    def judge_names(self):
        struck = {strike.host for strike in self.done}
        for line in self.job.said().splitlines():
            named = NAMES_A_HOST.match(line)
            if named and named[1] not in struck:
                self.complain(f"a message names {named[1]}: {line}")
