"""The plan of a round, drawn only from its seed and number: phase, faults, victims, moments."""
import random
from dataclasses import dataclass

from faults import BY_NAME, FAULTS, JOINED, LAUNCHING, PHASES, SLOW, SSH

HOSTS = ("node1", "node2", "node3")
RANKS_PER_HOST = 2
PAIRS = 0.25  # share of rounds with two faults
SOME_JOINED = (SSH, SSH, JOINED)


@dataclass(frozen=True)
class Strike:
    fault: object
    host: str
    rank: int  # the victim's number on its host, for faults of ranks
    after: float  # seconds: from the beginning of the phase, or from the first fault to the second

    def __str__(self):
        return self.fault.name + ("" if self.fault.where == "launcher" else f" {self.host}")


@dataclass(frozen=True)
class Plan:
    seed: int
    number: int
    way: str
    phase: str
    strikes: tuple
    opener: str  # starts the phase `ending`: "terminate" or "fail"
    failing_rank: int
    hosts = joining = HOSTS

    def setup(self, key, otherwise):
        return next((s.fault.setup[key] for s in self.strikes if key in s.fault.setup), otherwise)

    def __str__(self):
        ending = f" ({self.opener})" if self.phase == "ending" else ""
        return f"{self.way}, {self.phase}{ending}: " + " + ".join(
            f"{s} {'+' if i else ''}{s.after:.2f} s" for i, s in enumerate(self.strikes))


def nobody_can_act(strikes):
    """Of a host's agent, guard and job-keeper some are stopped and the others are gone: nothing can end what
    ranks left there before the stopped ones go on."""
    names = {strike.fault.name for strike in strikes}
    if not any(name.startswith("stop-") for name in names):
        return False
    watchers_gone = names & {"kill-programs", "kill-agent", "kill-guard", "stop-agent", "stop-guard", "kill-watchers"}
    same_host = len({strike.host for strike in strikes}) == 1
    on_launcher = all(s.fault.where == "launcher" or s.host == LAUNCHING for s in strikes)
    keeper_gone = names & {"kill-keeper", "stop-keeper", "kill-watchers"}
    return bool(watchers_gone and keeper_gone and (same_host or on_launcher))


def draw_host(lots, fault, phase):
    if fault.where == "launcher":
        return LAUNCHING
    if fault.name == "kill-login" and phase == "connect":
        return SLOW
    return lots.choice(HOSTS[1:] if fault.where == "remote" else HOSTS)


def draw_strike(lots, fault, phase, after):
    return Strike(fault, draw_host(lots, fault, phase), lots.randrange(RANKS_PER_HOST), after)


def possible(only, pair, phase, way):
    found = [f for f in FAULTS if (not phase or phase in f.phases) and (f.pairs or not pair) and way in f.ways]
    return [f for f in found if f.name in only] if only else found


def draw(lots, faults):
    return lots.choices(faults, [fault.weight for fault in faults])[0]


def draw_way(seed, number, only, wanted):
    possible = [way for way in SOME_JOINED if not only or any(way in BY_NAME[name].ways for name in only)]
    return wanted or random.Random(f"way {seed}/{number}").choice(possible)


def draw_plan(seed, number, only=(), phase=None, wanted=None):
    lots = random.Random(f"{seed}/{number}")
    way = draw_way(seed, number, only, "ssh" if phase == "connect" else wanted)
    pair = lots.random() < PAIRS and not (only and not any(BY_NAME[name].pairs for name in only))
    first = draw(lots, possible(only, pair, phase, way))
    phases = PHASES if way == SSH else PHASES[1:]  # nobody logs in
    phase = phase or lots.choice([p for p in phases if p in first.phases])
    longest = {"connect": 0.9, "start": 0.03, "meeting": 0.5, "ring": 0.5, "running": 0.5, "ending": 1.0}[phase]
    opener, failing_rank = lots.choice(("terminate", "fail")), lots.randrange(len(HOSTS) * RANKS_PER_HOST)
    while True:
        strikes = [draw_strike(lots, first, phase, round(lots.uniform(0, longest), 3))]
        if pair:
            second = draw(lots, possible((), True, phase, way))
            later = lots.uniform(0, lots.choice((0.02, 0.2, 2)))
            strikes.append(draw_strike(lots, second, phase, round(later, 3)))
        if not nobody_can_act(strikes):
            return Plan(seed, number, way, phase, tuple(strikes), opener, failing_rank)
