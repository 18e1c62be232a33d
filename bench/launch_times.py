"""The measuring half of launch.sh: runs on the login host of a test cluster.

Every command is first run once to see that it does what it should, then timed in rounds: each round
runs every command once, so that all of them run under the same load.
"""
import os, platform, shutil, statistics, subprocess, sys, tempfile, time
from collections import namedtuple

LOCAL = "2 ranks, this machine"
Case = namedtuple("Case", "command hosts")        # hosts: where its ranks must run, in order
Run = namedtuple("Run", "wall_ms cpu_ms rss_kib")  # CPU and memory of the launcher only


def run(command):
    """Runs it once and returns its cost; rusage of a process does not count what runs on other hosts."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        elapsed_ms = 1000 * (time.perf_counter() - begin)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0), errors.seek(0)
        if child.returncode != 0:
            sys.exit(f"launch: {' '.join(command)}: exit status {child.returncode}\n"
                     f"{errors.read().decode()}")
        cost = Run(elapsed_ms, 1000 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss)
        return cost, output.read().decode()


def verify(name, case):
    """Checks that every rank runs once, on the right host."""
    _, output = run(case.command + ["sh", "-c", "echo $PMI_RANK $(uname -n)"])
    seen = sorted(line.split() for line in output.splitlines())
    if seen != sorted([str(rank), host] for rank, host in enumerate(case.hosts)):
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


def make_cases(dtlaunch, sizes, folder):
    here = [os.uname().nodename] * 2
    cases = {(LOCAL, "dtlaunch"): Case([dtlaunch, "-np", "2", "--oversubscribe"], here),
             (LOCAL, "hydra"): Case(["mpiexec.hydra", "-n", "2"], here)}
    for size in sizes:
        nodes = [f"node{i}" for i in range(1, size + 1)]
        hostfile = f"{folder}/{size}"
        with open(hostfile, "w") as file:
            file.writelines(name + "\n" for name in nodes)
        where = ["-f", hostfile, "-n", str(size), "-ppn", "1"]
        cases[f"{size} hosts, ssh", "dtlaunch"] = Case([dtlaunch] + where, nodes)
        cases[f"{size} hosts, ssh", "hydra"] = Case(
            ["mpiexec.hydra", "-launcher", "ssh"] + where, nodes)
    return cases


class KeptConnections:
    """Keeps `dtlaunch up` running: inside it, launches need no login."""
    def __init__(self, dtlaunch, hostfile):
        self.dtlaunch, self.hostfile = dtlaunch, hostfile

    def __enter__(self):
        subprocess.run([self.dtlaunch, "up", "-f", self.hostfile], check=True, capture_output=True)

    def __exit__(self, *_):
        subprocess.run([self.dtlaunch, "down"], check=True, capture_output=True)


def median_of(runs, what):
    return statistics.median(getattr(each, what) for each in runs)


def print_times(times):
    print(f"{'what':<23} {'launcher':<15} {'median':>8} {'fastest':>8} {'slowest':>8}   ms")
    for (what, launcher), runs in times.items():
        walls = [each.wall_ms for each in runs]
        print(f"{what:<23} {launcher:<15} {statistics.median(walls):8.1f} {min(walls):8.1f} "
              f"{max(walls):8.1f}")
    for (what, launcher), runs in times.items():
        if not launcher.startswith("dtlaunch"):
            continue
        ours, theirs = median_of(runs, "wall_ms"), median_of(times[what, "hydra"], "wall_ms")
        print(f"{what}: {launcher} / hydra = {ours:.1f} / {theirs:.1f} = {ours / theirs:.3f}")


def print_costs(times, sizes):
    """The launcher's cost per host: the difference from the local job, which has no host."""
    base = times[LOCAL, "dtlaunch"]
    for size in sizes:
        runs = times[f"{size} hosts, ssh", "dtlaunch"]
        cpu = median_of(runs, "cpu_ms") - median_of(base, "cpu_ms")
        rss = median_of(runs, "rss_kib") - median_of(base, "rss_kib")
        print(f"{size} hosts: dtlaunch takes {cpu / size:.2f} ms CPU and {rss / size:.0f} KiB for each")


def main():
    dtlaunch, rounds, sizes = sys.argv[1], int(sys.argv[2]), [int(size) for size in sys.argv[3:]]
    folder = tempfile.mkdtemp()
    cases = make_cases(dtlaunch, sizes, folder)
    describe(dtlaunch, rounds)
    kept = {(what, "dtlaunch, kept"): case for (what, launcher), case in cases.items()
            if launcher == "dtlaunch" and what != LOCAL}
    keeper = KeptConnections(dtlaunch, f"{folder}/{max(sizes)}")
    for key, case in cases.items():
        verify(" ".join(key), case)
    with keeper:
        for key, case in kept.items():
            verify(" ".join(key), case)
    times = {key: [] for key in {**cases, **kept}}
    plain = "1 host, ssh", "ssh node1 true"
    times[plain] = []
    for _ in range(rounds):
        for key, case in cases.items():
            times[key].append(run(case.command + ["true"])[0])
        times[plain].append(run(["ssh", "node1", "true"])[0])
        with keeper:
            for key, case in kept.items():
                times[key].append(run(case.command + ["true"])[0])
    shutil.rmtree(folder)
    print_times(times)
    print_costs(times, sizes)


if __name__ == "__main__":
    main()
