"""What a round will do, drawn from its seed and number alone: phase, faults, victims, moments."""
import random
from dataclasses import dataclass

from faults import BY_NAME, FAULTS, LAUNCHING, PHASES, SLOW

HOSTS = ("node1", "node2", "node3")
RANKS_PER_HOST = 2
PAIRS = 0.25  # of all rounds have two faults


@dataclass(frozen=True)
class Strike:
    fault: object
    host: str
    rank: int  # the victim's number on its host, for faults of ranks
    after: float  # seconds: the first from the beginning of the phase, the second from the first

    def __str__(self):
        return self.fault.name + ("" if self.fault.where == "launcher" else f" {self.host}")


@dataclass(frozen=True)
class Plan:
    seed: int
    number: int
    phase: str
    strikes: tuple
    opener: str  # of the ending: "terminate" or "fail"
    failing_rank: int
    hosts = HOSTS

    def setup(self, key, otherwise):
        return next((s.fault.setup[key] for s in self.strikes if key in s.fault.setup), otherwise)

    def __str__(self):
        ending = f" ({self.opener})" if self.phase == "ending" else ""
        return f"{self.phase}{ending}: " + " + ".join(
            f"{s} {'+' if i else ''}{s.after:.2f} s" for i, s in enumerate(self.strikes))


def nobody_left_to_clean(strikes):
    """What no launcher can promise to survive. The last watcher of a host is its job-keeper; whoever
    takes that away together with agent and guard, or leaves none of them able to act while the
    launcher is gone, too, leaves processes that only `dtlaunch clean` finds."""
    names = {strike.fault.name for strike in strikes}
    watchers_gone = names & {"kill-programs", "kill-agent", "kill-guard", "stop-agent", "stop-guard"}
    same_host = len({strike.host for strike in strikes}) == 1
    on_launcher = all(s.fault.where == "launcher" or s.host == LAUNCHING for s in strikes)
    return bool(watchers_gone and names & {"kill-keeper", "stop-keeper"} and (same_host or on_launcher))


def draw_host(lots, fault, phase):
    if fault.where == "launcher":
        return LAUNCHING
    if fault.name == "kill-login" and phase == "connect":
        return SLOW
    return lots.choice(HOSTS[1:] if fault.where == "remote" else HOSTS)


def draw_strike(lots, fault, phase, after):
    return Strike(fault, draw_host(lots, fault, phase), lots.randrange(RANKS_PER_HOST), after)


def possible(only, pair, phase):
    found = [f for f in FAULTS if (not phase or phase in f.phases) and (f.pairs or not pair)]
    return [f for f in found if f.name in only] if only else found


def draw(lots, faults):
    return lots.choices(faults, [fault.weight for fault in faults])[0]


def draw_plan(seed, number, only=(), phase=None):
    lots = random.Random(f"{seed}/{number}")
    pair = lots.random() < PAIRS and not (only and not any(BY_NAME[name].pairs for name in only))
    first = draw(lots, possible(only, pair, phase))
    phase = phase or lots.choice([p for p in PHASES if p in first.phases])
    longest = {"connect": 0.9, "start": 0.03, "meeting": 0.5, "ring": 0.5, "running": 0.5, "ending": 1.0}[phase]
    opener, failing_rank = lots.choice(("terminate", "fail")), lots.randrange(len(HOSTS) * RANKS_PER_HOST)
    while True:
        strikes = [draw_strike(lots, first, phase, round(lots.uniform(0, longest), 3))]
        if pair:
            second = draw(lots, possible((), True, phase))
            later = lots.uniform(0, lots.choice((0.02, 0.2, 2)))
            strikes.append(draw_strike(lots, second, phase, round(later, 3)))
        if not nobody_left_to_clean(strikes):
            return Plan(seed, number, phase, tuple(strikes), opener, failing_rank)
