"""The measuring half of slurm.sh: runs inside an allocation.

Every command is first run once to see that it does what it should, then timed in rounds: each round
runs every command once, in an order that changes, so that all of them meet the same weather.
"""
import statistics, sys

from launch_times import describe, run


def main():
    dtlaunch, rounds, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    commands = {
        "dtlaunch": [dtlaunch, "-ppn", "1"],
        "srun": ["srun", "--overlap", "--mpi=none", f"--ntasks={size}", "--ntasks-per-node=1"],
        "hydra": ["mpiexec.hydra", "-n", str(size), "-ppn", "1"],
    }
    nodes = [f"node{i + 1}" for i in range(size)]
    for name, command in commands.items():
        _, output = run(command + ["uname", "-n"])
        if sorted(output.split()) != sorted(nodes):
            sys.exit(f"slurm: {name}: tasks ran on {output.split()}")
    times = {name: [] for name in commands}
    order = list(commands)
    for number in range(rounds):
        for name in order[number % 3:] + order[:number % 3]:
            cost, _ = run(commands[name] + ["true"])
            times[name].append(cost.wall_ms)
    describe(dtlaunch, rounds)
    for name, values in times.items():
        print(f"{size:3} nodes  {name:9} {statistics.median(values):6.0f} ms  "
              f"(quartiles {quartile(values, 1):.0f}, {quartile(values, 3):.0f}; least {min(values):.0f})")
    ratios = [mine / theirs for mine, theirs in zip(times["dtlaunch"], times["srun"])]
    print(f"{size:3} nodes  dtlaunch / srun, median of {rounds} rounds: {statistics.median(ratios):.2f}"
          f"  hydra / srun: {statistics.median(h / s for h, s in zip(times['hydra'], times['srun'])):.2f}")


def quartile(values, which):
    return statistics.quantiles(values, n=4)[which - 1]


main()
