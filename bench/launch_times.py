"""The measuring half of launch.sh: runs on the login host of a test cluster.

Every command is first run once to see that it does what it should, then timed in rounds: each round
runs every command once, so that all of them meet the same weather.
"""
import os, platform, shutil, statistics, subprocess, sys, tempfile, time

NODES = [f"node{i}" for i in range(1, 5)]


def run(command):
    begin = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120)
    elapsed_ms = 1000 * (time.perf_counter() - begin)
    if done.returncode != 0:
        sys.exit(f"launch: {' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return elapsed_ms, done.stdout


def verify(name, prefix, expected):
    """Every rank runs once, and where it should."""
    _, output = run(prefix + ["sh", "-c", "echo $PMI_RANK $(uname -n)"])
    seen = sorted(line.split() for line in output.splitlines())
    if seen != sorted([str(rank), host] for rank, host in enumerate(expected)):
        sys.exit(f"launch: {name}: ranks ran on {seen}")


def describe(dtlaunch, rounds):
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), "unknown CPU")
    hydra = subprocess.run(["mpiexec.hydra", "--version"], capture_output=True, text=True).stdout
    version = next((line.split(":", 1)[1].strip() for line in hydra.splitlines()
                    if "Version" in line), "?")
    ours = subprocess.run([dtlaunch, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    print(f"{model}, {os.cpu_count()} CPUs, Linux {platform.release()}, load "
          f"{os.getloadavg()[0]:.1f}\n"
          f"{ours}; Hydra of MPICH {version}; {rounds} rounds")


def main():
    dtlaunch, rounds = sys.argv[1], int(sys.argv[2])
    folder = tempfile.mkdtemp()
    hostfile = folder + "/hosts"
    with open(hostfile, "w") as file:
        file.writelines(name + "\n" for name in NODES)
    here = os.uname().nodename
    cases = {
        ("2 ranks, this machine", "dtlaunch"): ([dtlaunch, "-np", "2", "--oversubscribe"], [here] * 2),
        ("2 ranks, this machine", "hydra"): (["mpiexec.hydra", "-n", "2"], [here] * 2),
        ("4 hosts, cold ssh", "dtlaunch"): ([dtlaunch, "-f", hostfile, "-np", "4", "-ppn", "1"], NODES),
        ("4 hosts, cold ssh", "hydra"):
            (["mpiexec.hydra", "-launcher", "ssh", "-f", hostfile, "-n", "4", "-ppn", "1"], NODES),
    }
    describe(dtlaunch, rounds)
    for key, (prefix, expected) in cases.items():
        verify(" ".join(key), prefix, expected)
    times = {key: [] for key in cases}
    times["1 host, cold ssh", "ssh node1 true"] = []
    for _ in range(rounds):
        for key, (prefix, _) in cases.items():
            times[key].append(run(prefix + ["true"])[0])
        times["1 host, cold ssh", "ssh node1 true"].append(run(["ssh", "node1", "true"])[0])
    shutil.rmtree(folder)
    print(f"{'what':<23} {'launcher':<15} {'median':>8} {'fastest':>8} {'slowest':>8}   ms")
    for (what, launcher), values in times.items():
        print(f"{what:<23} {launcher:<15} {statistics.median(values):8.1f} {min(values):8.1f} "
              f"{max(values):8.1f}")
    for what in ("2 ranks, this machine", "4 hosts, cold ssh"):
        ours, theirs = (statistics.median(times[what, name]) for name in ("dtlaunch", "hydra"))
        print(f"{what}: dtlaunch / hydra = {ours:.1f} / {theirs:.1f} = {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
