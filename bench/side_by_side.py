"""Contestants that run side by side and take turns, and the tables of their results."""
import os
import platform
import statistics
import subprocess
import sys

from allreduce_hosts import PORT, ROOT, DidNotFinish, Turns, cores_apart, end

GAP = 1.5  # a latency ratio above this means that the cores were moved
TURNS = 7  # per contestant and size, in each round


def side_by_side(everybody, hosts, wanted, turns):
    """[(name, {key: microseconds}, how far apart the cores were before and after)], by turns.

    everybody: {name: Contestant}; wanted: {size or name of what is timed: repeats}. A contestant
    prints a line for each turn of its: "KEY MICROSECONDS", or several such pairs.
    """
    names = list(everybody)
    clock = Turns(hosts, len(names))
    running, samples, count = {}, [], 0
    for index, (name, who) in enumerate(everybody.items()):
        who.port = PORT + index
        running[name] = who.processes(hosts, who.words(hosts, wanted, turns),
                                      [clock.variable(index)])
    order, taken, apart = list(names), {name: [] for name in names}, cores_apart()
    for size in wanted:
        for _ in range(turns):
            for name in order:
                if name not in running:
                    continue
                if not clock.give(names.index(name), count, running[name]):
                    end(running.pop(name))
                    print(f"{name} did not finish a turn of {size}: {hosts.noise()}", file=sys.stderr)
                before, apart = apart, cores_apart()
                taken[name].append((before, apart))
            order = order[1:] + order[:1]
            count += 1
    for name, processes in running.items():
        try:
            lines = hosts.wait(processes, 30).splitlines()
            for line, where in zip(lines, taken[name], strict=True):
                samples.append((name, row_of(line), where))
        except (DidNotFinish, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    return samples


def row_of(line):
    words = line.split()
    return {int(key) if key.isdigit() else key: float(value)
            for key, value in zip(words[::2], words[1::2], strict=True)}


def placements(apart):
    """[(least, most)]: groups of nanoseconds with gaps between them; [] if there is one group."""
    groups = []
    for distance in sorted(apart):
        if groups and distance < GAP * groups[-1][1]:
            groups[-1][1] = distance
        else:
            groups.append([distance, distance])
    return groups if len(groups) > 1 else []


def of_rounds(rows, key, pick=statistics.median):
    values = [row[key] for row in rows if row is not None and key in row]
    return pick(values) if values else None


def text(value, width, digits=1):
    return f"{'-' if value is None else format(value, f'.{digits}f'):>{width}}"


def ratio(a, b):
    return None if a is None or b is None else a / b


def table(results, keys, extra=()):
    """A line for each key. extra: (heading, function of a key and the times by name)."""
    first, *others = results
    print(f"{'bytes' if all(isinstance(key, int) for key in keys) else '':>10}" + "".join(f"{name + ' us':>13}" for name in results)
          + "".join(f"{first + '/' + name:>17}" for name in others)
          + "".join(f"{heading:>15}" for heading, _ in extra))
    for key in keys:
        times = {name: of_rounds(rows, key) for name, rows in results.items()}
        print(f"{key:>10}" + "".join(text(time, 13) for time in times.values())
              + "".join(text(ratio(times[first], times[name]), 17, 2) for name in others)
              + "".join(text(function(key, times), 15, 2) for _, function in extra))


def compare(title, hosts, everybody, wanted, options, extra=(), keys=None, turns=TURNS):
    """Prints the tables of rounds of turns; {name: [row of each turn]}.

    keys: what a turn of `wanted` prints, if that is more than its own key. options: rounds, short.
    turns: of each contestant, for each of `wanted`, in a round.
    """
    keys = keys or list(wanted)
    print(f"\n{title}")
    samples = []
    with hosts:
        for _ in range(options.rounds):
            samples += side_by_side(everybody, hosts, wanted, 1 if options.short else turns)

    def results(of):
        return {name: [row for who, row, where in samples if who == name and of(where)]
                for name in everybody}

    everything = results(lambda where: True)
    table(everything, keys, extra)
    for least, most in placements([d for _, _, where in samples for d in where]):
        def is_there(where, least=least, most=most):
            return least <= min(where) and max(where) <= most

        there = [sum(where) / 2 for _, _, where in samples if is_there(where)]
        if len(there) >= len(samples) / 20:
            print(f"  of these, cores {statistics.median(there):.0f} ns apart: {len(there)} of "
                  f"{len(samples)} turns")
            table(results(is_there), keys, extra)
    return everything


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False).stdout.strip()
    return (f"{os.cpu_count()} x {model}, Linux {platform.release()}, "
            f"load {os.getloadavg()[0]:.1f}, commit {commit or 'unknown'}")
