"""The contestants of bench/allreduce.py and similar benches, and the hosts of tests/cluster that they use."""
import os
import subprocess
import tempfile
import time

from turns import Numbers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLUSTER = os.path.join(ROOT, "tests/cluster/cluster")
BIN = os.environ.get("DTL_BIN", os.path.join(ROOT, "build/release/bin"))
ON_OWN_CORE = os.path.join(ROOT, "bench/on_own_core")
PORT = 29517
NETWORK = "10.77.0.0/16"  # of eth0 of all hosts


class DidNotFinish(Exception):
    pass


def end(processes):
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class Hosts:
    """This many hosts, with one or more ranks on each; `rate` shapes their links."""

    def __init__(self, count, per_host=1, rate=None):
        self.count, self.per_host, self.rate = count, per_host, rate
        self.names = [f"node{i + 1}" for i in range(count)]
        self.places = [name for name in self.names for _ in range(per_host)]
        self.world = len(self.places)
        # One core per rank, if there are enough.
        self.pin = [ON_OWN_CORE] if self.world <= os.cpu_count() else []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(dir=os.path.join(ROOT, "build"))
        self.environment = {**os.environ, "DTL_CLUSTER": self.path("cluster")}
        rate = ["--rate", self.rate] if self.rate else []
        subprocess.run([CLUSTER, "up", str(self.count), *rate], check=True, env=self.environment,
                       stdout=subprocess.DEVNULL)
        with open(os.open(self.path("secret"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(32))
        self.addresses = {name: self.output(name, ["getent", "hosts", name]).split()[0]
                          for name in self.names}
        return self

    def __exit__(self, *_):
        subprocess.run([CLUSTER, "down"], check=True, env=self.environment)
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def start(self, host, command, variables=()):
        # Show its output only if it fails.
        noise = open(self.path("noise"), "a", encoding="utf-8")
        return subprocess.Popen([CLUSTER, "exec", host, "env", *variables, *command], text=True,
                                env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=noise)

    def output(self, host, command):
        return self.start(host, command).communicate(timeout=30)[0]

    def wait(self, processes, limit_s):
        """The first process's output."""
        deadline = time.monotonic() + limit_s
        try:
            texts = [p.communicate(timeout=max(0.1, deadline - time.monotonic()))[0]
                     for p in processes]
        except subprocess.TimeoutExpired as error:
            raise DidNotFinish(f"not within {limit_s} s") from error
        finally:
            end(processes)
        if any(process.returncode != 0 for process in processes):
            raise DidNotFinish(self.noise() or "exit status not 0")
        return texts[0]

    def noise(self):
        """The last lines of the programs' standard error."""
        with open(self.path("noise"), encoding="utf-8", errors="replace") as noise:
            return noise.read()[-2000:].strip()

    def sent(self):
        """Bytes that the first host has sent."""
        return int(self.output("node1", ["cat", "/sys/class/net/eth0/statistics/tx_bytes"]))


class Gate:
    """bench/gate.h: starts the ranks together, and collects their results."""

    def __init__(self, hosts):
        self.folder = tempfile.mkdtemp(dir=hosts.folder.name)
        self.variable = f"BENCH_GATE={self.folder}"
        self.world = hosts.world

    def count(self, prefix):
        return sum(name.startswith(prefix) for name in os.listdir(self.folder))

    def open(self, limit_s):
        deadline = time.monotonic() + limit_s
        while self.count("ready.") < self.world:
            if time.monotonic() > deadline:
                raise DidNotFinish(f"{self.count('ready.')} of {self.world} ranks started")
            time.sleep(0.01)
        with open(os.path.join(self.folder, "go"), "w", encoding="ascii"):
            pass

    def results(self):
        rows = []
        for name in os.listdir(self.folder):
            if name.startswith("result."):
                with open(os.path.join(self.folder, name), encoding="ascii") as file:
                    rows.append([int(word) for word in file.read().split()])
        return rows


class Turns:
    """bench/gate.h: programs that run side by side measure one at a time."""

    def __init__(self, hosts, contestants):
        handle, self.path = tempfile.mkstemp(dir=hosts.folder.name)
        os.write(handle, bytes(8))
        os.close(handle)
        self.numbers = Numbers(self.path)
        self.contestants = contestants

    def variable(self, index):
        return f"BENCH_TURNS={index}:{self.contestants}:{self.path}"

    def give(self, index, count, processes, limit_s=120):
        """Runs the count-th turn of a contestant; false if it does not finish."""
        own = count * self.contestants + index + 1
        deadline = time.monotonic() + limit_s
        self.numbers.set(0, own)
        while not self.numbers.wait(1, own, 0.5):
            if time.monotonic() > deadline or any(p.poll() for p in processes):
                return False
        return True


def cores_apart():
    """Nanoseconds: bench/core_pump.cc."""
    return float(subprocess.run([os.path.join(BIN, "core_pump"), "trip"], check=True,
                                capture_output=True, text=True).stdout)


class Contestant:
    """Runs on `hosts` and gives {size: microseconds}; `repeats` is {size: how many}."""

    def __init__(self, name):
        self.name = name
        self.port = PORT  # each has its own if several run at once

    def processes(self, hosts, words, variables):
        raise NotImplementedError

    def words(self, hosts, repeats, turns=1):
        return [f"{size}:{count}:{turns}" for size, count in repeats.items()]

    def run(self, hosts, repeats, limit_s=120, gate=None, variables=()):
        variables = [*variables, *([gate.variable] if gate else [])]
        processes = self.processes(hosts, self.words(hosts, repeats), variables)
        if gate:
            try:
                gate.open(limit_s)
            except DidNotFinish:
                end(processes)
                raise
        text = hosts.wait(processes, limit_s)
        rows = [line.split() for line in text.splitlines()]
        table = {int(a) if a.isdigit() else a: float(b) for a, b in rows}
        if [size for size in table if size != "connect"] != list(repeats):
            raise DidNotFinish(f"it says: {text}")
        return table


class ByEnvironment(Contestant):
    """One process per rank, which finds the others by the variables that dtlaunch sets."""

    def __init__(self, name, command, settings=()):
        super().__init__(name)
        self.command, self.settings = command, list(settings)

    def processes(self, hosts, words, variables):
        def of_rank(rank):
            return [f"RANK={rank}", f"WORLD_SIZE={hosts.world}",
                    f"MASTER_ADDR={hosts.addresses['node1']}", f"MASTER_PORT={self.port}",
                    f"DTRING_SECRET_FILE={hosts.path('secret')}",
                    f"DTRING_ADDRESS={hosts.addresses[hosts.places[rank]]}",
                    f"DTLAUNCH_HOST={hosts.places[rank]}", "GLOO_SOCKET_IFNAME=eth0",
                    *self.settings, *variables]

        return [hosts.start(host, [*hosts.pin, *self.command, *words], of_rank(rank))
                for rank, host in enumerate(hosts.places)]


class Mpich(Contestant):
    """Debian's, or one that pip has installed in a virtual environment: MPICH or Intel MPI."""

    def __init__(self, name, folder=None, settings=()):
        super().__init__(name)
        self.folder, self.settings = folder, list(settings)

    def tool(self, name):
        return os.path.join(self.folder, "bin", name) if self.folder else name

    def processes(self, hosts, words, variables):
        compiler = self.tool("mpicc") if self.folder else "mpicc.mpich"
        settings = [*self.settings, f"I_MPI_ROOT={self.folder}",
                    f"LD_LIBRARY_PATH={self.folder}/lib"] if self.folder else []
        return [hosts.start("node1", [
            self.tool("mpiexec.hydra"), "-launcher", "ssh", "-hosts", ",".join(hosts.names),
            "-np", str(hosts.world), "-ppn", str(hosts.per_host),
            *hosts.pin, compile_mpi(compiler, hosts, self.name), *words],
            [*settings, *variables])]


class OpenMpi(Contestant):
    """Over TCP between the hosts, in shared memory on one; with its own choice of algorithms."""

    def processes(self, hosts, words, variables):
        slots = ",".join(f"{name}:{hosts.per_host}" for name in hosts.names)
        forwarded = [word for v in variables for word in ("-x", v.split("=")[0])]
        busy = ["--oversubscribe"] if hosts.world > os.cpu_count() else []
        return [hosts.start("node1", [
            "mpirun.openmpi", "--allow-run-as-root", "-H", slots, "-np", str(hosts.world), *busy,
            "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp",
            "--mca", "btl_tcp_if_include", NETWORK, "--mca", "oob_tcp_if_include", NETWORK,
            *forwarded, *hosts.pin, compile_mpi("mpicc.openmpi", hosts, self.name), *words], variables)]


class Pump(Contestant):
    """bench/socket_pump.cc between the first two hosts: as many bytes as each host must send."""

    def words(self, hosts, repeats, turns=1):
        n = hosts.count
        return [f"{size}:{count}:{turns}:{2 * (n - 1) * size // n}"
                for size, count in repeats.items()]

    def processes(self, hosts, words, variables):
        address = hosts.addresses["node1"]
        program = os.path.join(BIN, "socket_pump")
        return [hosts.start(host, [*hosts.pin, program, how, address, str(self.port), *words],
                            [f"RANK={rank}", *variables])
                for rank, (host, how) in enumerate([("node1", "listen"), ("node2", "connect")])]


class CorePump(Contestant):
    """bench/core_pump.cc on the first host: two cores that do only what no sum can do without."""

    def __init__(self, name, how):
        super().__init__(name)
        self.how = how

    def processes(self, hosts, words, variables):
        return [hosts.start("node1", [os.path.join(BIN, "core_pump"), self.how, *words], variables)]


def compile_mpi(compiler, hosts, name):
    program = hosts.path(name)
    if not os.path.exists(program):
        subprocess.run([compiler, "-O2", "-I", ROOT, os.path.join(ROOT, "bench/allreduce_mpi.c"),
                        "-o", program], check=True,
                       env={**os.environ, "I_MPI_ROOT": os.path.dirname(os.path.dirname(compiler))})
    return program


def from_pip():
    """The MPIs whose virtual environments the caller names."""
    settings = {"intelmpi": ["FI_PROVIDER=tcp", "I_MPI_PIN=0"], "mpich5": []}
    folders = {name: os.environ.get(f"BENCH_{name.upper()}") for name in settings}
    return [Mpich(name, folder, settings[name]) for name, folder in folders.items() if folder]


def contestants():
    """Contestants by name, in the order of the tables."""
    bench = os.path.join(BIN, "allreduce_bench")
    gloo = ["/usr/bin/python3", "-B", os.path.join(ROOT, "bench/allreduce_torch.py"), "gloo"]
    everybody = [ByEnvironment("dtring", [bench]),
                 ByEnvironment("bf16", [bench, "--wire", "bf16"]),
                 ByEnvironment("dt_alloc", [bench, "--alloc"]),
                 ByEnvironment("encrypted", [bench], ["DTRING_ENCRYPT=1"]),
                 ByEnvironment("gloo", gloo), Mpich("mpich"), OpenMpi("openmpi"), Pump("pump"),
                 CorePump("copying", "copy"), CorePump("in place", "place"), *from_pip()]
    return {c.name: c for c in everybody}
