"""The measuring half of slurm.sh: runs inside an allocation.

Every command is first run once to see that it does what it should, then timed in rounds: each round
runs every command once, in an order that changes, so that all of them run under the same load. What is
launched after `dtlaunch up` is timed in rounds of its own, since nothing would be launched otherwise then.
"""
import statistics, sys

from launch_times import describe, run


def main():
    folder, rounds, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dtlaunch = f"{folder}/dtlaunch"
    launch = [dtlaunch, "-ppn", "1"]
    srun = ["srun", "--overlap", "--mpi=none", f"--ntasks={size}", "--ntasks-per-node=1"]
    hydra = ["mpiexec.hydra", "-n", str(size), "-ppn", "1"]
    describe(dtlaunch, rounds)
    measure({"dtlaunch": launch, "srun": srun, "hydra": hydra,
             "bare TLS": [f"{folder}/tls_starter", str(size)]}, rounds, size)
    run([dtlaunch, "up"])
    measure({"after up": launch, "srun": srun}, rounds, size)
    run([dtlaunch, "down"])


def measure(commands, rounds, size):
    nodes = [f"node{i + 1}" for i in range(size)]
    for name, command in commands.items():
        _, output = run(command + ["uname", "-n"])
        if sorted(output.split()) != sorted(nodes):
            sys.exit(f"slurm: {name}: tasks ran on {output.split()}")
    times = {name: [] for name in commands}
    order = list(commands)
    for number in range(rounds):
        turn = number % len(order)
        for name in order[turn:] + order[:turn]:
            cost, _ = run(commands[name] + ["true"])
            times[name].append(cost.wall_ms)
    for name, values in times.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(values, times["srun"]))
        print(f"{size:3} nodes  {name:9} {statistics.median(values):6.0f} ms  "
              f"(quartiles {quartile(values, 1):.0f}, {quartile(values, 3):.0f}; "
              f"least {min(values):.0f})  {ratio:.2f} of srun")


def quartile(values, which):
    return statistics.quantiles(values, n=4)[which - 1]


main()
