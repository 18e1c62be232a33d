"""The hosts of one round: a cluster of tests/cluster, with its processes and files.

Processes are looked at and struck from the machine, by their pids there: nothing has to be started
on a host for that, and what is struck together is struck within a millisecond.
"""
import json, os, signal, subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
CLUSTER = os.path.join(HERE, "..", "cluster", "cluster")
SKIP = 77
LOGIN = ("sshd: ", "sshd-session: ", "sshd-auth: ")


class Skipped(Exception):
    pass


def on_device(path, device):
    try:
        return os.lstat(path).st_dev == device
    except FileNotFoundError:
        return False


class Process:
    def __init__(self, host, pid):
        self.host, self.pid = host, pid
        status = dict(line.rstrip("\n").split(":\t", 1) for line in open(f"/proc/{pid}/status")
                      if ":\t" in line)
        self.name, self.state = status["Name"], status["State"][0]
        self.host_pid = int(status["NSpid"].split()[-1])
        self.words = open(f"/proc/{pid}/cmdline", errors="replace").read().replace("\0", " ").strip()
        self.began = self.start_time()

    def start_time(self):
        return open(f"/proc/{self.pid}/stat").read().rpartition(")")[2].split()[19]

    def variable(self, name):
        for text in open(f"/proc/{self.pid}/environ", errors="replace").read().split("\0"):
            if text.startswith(name + "="):
                return text.partition("=")[2]
        return None

    def is_login(self):
        return self.words.startswith(LOGIN) and "[listener]" not in self.words

    def signal(self, number):
        """Signals only this process: a busy machine reuses pids within seconds."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if self.start_time() != self.began:
                return False
            signal.pidfd_send_signal(fd, number)
            return True
        except (ProcessLookupError, FileNotFoundError):
            return False
        finally:
            os.close(fd)

    def __str__(self):
        return f"{self.host} {self.host_pid} {self.state} {self.words or '[' + self.name + ']'}"


class Hosts:
    def __init__(self, folder, count):
        self.state = folder + "/cluster"
        done = self.cluster("up", str(count))
        if done.returncode == SKIP:
            raise Skipped(done.stderr.strip())
        if done.returncode != 0:
            raise RuntimeError("cluster up: " + done.stderr.strip())
        notes = json.load(open(self.state + "/cluster.json"))
        self.inits = {host["name"]: host["pid"] for host in notes["hosts"]}
        self.spaces = {os.readlink(f"/proc/{pid}/ns/pid"): name for name, pid in self.inits.items()}
        self.off = set()
        self.first_files = {}
        self.first_files = {name: self.files(name) for name in self.inits}

    def cluster(self, *words):
        return subprocess.run([CLUSTER, "--state", self.state, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def command(self, host, *words):
        """The words that run a command on a host, for Popen."""
        return [CLUSTER, "--state", self.state, "exec", host, *words]

    def run(self, host, *words):
        return self.cluster("exec", host, *words)

    def power_off(self, host):
        self.off.add(host)
        return self.cluster("kill", host).returncode == 0

    def down(self):
        self.cluster("down")

    def processes(self, host=None):
        """A host's processes other than its init and its listening sshd."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                name = self.spaces.get(os.readlink(f"/proc/{pid}/ns/pid"))
                if name is None or (host is not None and name != host):
                    continue
                process = Process(name, int(pid))
            except (OSError, KeyError):
                continue  # it has just ended
            if process.host_pid != 1 and process.state not in "ZX" and "[listener]" not in process.words:
                found.append(process)
        return sorted(found, key=lambda process: (process.host, process.host_pid))

    def own_path(self, host, path):
        return f"/proc/{self.inits[host]}/root{path}"

    def files(self, host):
        """Every file and folder in the host's private folders, but for what it had when it came up.
        What the machine lets it see there is on another device."""
        found = set()
        for top in ("/tmp", "/run", "/dev/shm"):
            start = self.own_path(host, top)
            device = os.lstat(start).st_dev
            for folder, folders, names in os.walk(start):
                here = top + folder[len(start):]
                found.update(f"{here}/{name}" for name in folders + names)
                folders[:] = [name for name in folders if on_device(f"{folder}/{name}", device)]
        return found - self.first_files.get(host, set())
