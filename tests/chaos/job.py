"""The job of one round: dtlaunch on the first host, and the readers of its output."""
import os, pty, secrets, select, subprocess, threading

from faults import JOINED, LAUNCHING
from plans import HOSTS, RANKS_PER_HOST

HERE = os.path.dirname(os.path.realpath(__file__))
FIRST = "10.77.0.1:29500"  # address of the first of the joined nodes
TOKEN = secrets.token_hex(32)


class Reader(threading.Thread):
    """Reads from a descriptor into a file, unless told not to."""
    def __init__(self, fd, path):
        super().__init__(daemon=True)
        self.fd, self.path = fd, path
        self.reading, self.closing = threading.Event(), threading.Event()
        self.reading.set()

    def run(self):
        with open(self.path, "wb", buffering=0) as file:
            while self.reading.wait() and not self.closing.is_set():
                if not select.select([self.fd], [], [], 0.1)[0]:
                    continue
                try:
                    data = os.read(self.fd, 65536)
                except OSError:  # the other end of a terminal is gone
                    data = b""
                if not data:
                    break
                file.write(data)
        os.close(self.fd)

    def stall(self):
        self.reading.clear()

    def go_on(self):
        self.reading.set()

    def close(self):
        self.closing.set()
        self.join(5)


class Job:
    nodes = None  # what runs dtlaunch on each joined node but the first; they wait for it to return
    comes_within = 10  # seconds, for joined nodes

    def __init__(self, folder, hosts, plan, programs):
        self.folder, self.hosts, self.plan, self.programs = folder, hosts, plan, programs
        self.err = folder + "/err"
        open(folder + "/hosts", "w").write("".join(name + "\n" for name in plan.hosts))
        by_ssh = ["-f", folder + "/hosts"] if plan.way != JOINED else ["--start-timeout", str(self.comes_within)]
        command = [programs + "/dtlaunch", *by_ssh, "--report", folder + "/report.json",
                   *plan.setup("options", ()), *self.words()]
        self.output = plan.setup("output", "pipe")
        environment = {**os.environ, "DTL_BIN": programs}
        if plan.way == JOINED:
            environment |= {"DTL_NNODES": plan.setup("nodes", str(len(plan.joining))), "DTL_RDZV": FIRST,
                            "DTL_JOB_ID": "chaos", "DTL_RESTART": "0", "DTL_TOKEN": TOKEN, "DTL_NODE_RANK": "0"}
        if self.nodes is None:
            self.nodes = {host: self.start_node(host, number, command, environment)
                          for number, host in enumerate(plan.joining) if plan.way == JOINED and number > 0}
        read, write = pty.openpty() if self.output == "terminal" else os.pipe()
        if self.output == "terminal":
            command = ["setsid", "-c", "-w", *command]
        elif self.output == "file":
            command = ["sh", "-c", 'exec "$@" >/tmp/out', "sh", *command]
        with open(self.err, "wb") as err:
            terminal = self.output == "terminal"
            self.process = subprocess.Popen(
                hosts.command(LAUNCHING, *command), env=environment,
                stdin=write if terminal else subprocess.DEVNULL, stdout=write,
                stderr=write if terminal else err)
        os.close(write)
        self.reader = Reader(read, self.err if self.output == "terminal" else folder + "/out")
        self.reader.start()

    def start_node(self, host, number, command, environment):
        with open(f"{self.folder}/said.{host}", "ab") as said:
            return subprocess.Popen(self.hosts.command(host, *command), stdin=subprocess.DEVNULL, stdout=said,
                                    stderr=said, env={**environment, "DTL_NODE_RANK": str(number)})

    def words(self):
        """What follows the options of every round."""
        os.mkfifo(self.folder + "/pause")
        way = {"meeting": "meet", "ring": "ring", "ending": "linger"}.get(self.plan.phase, "stay")
        return ["-np", str(len(HOSTS) * RANKS_PER_HOST), "-ppn", str(RANKS_PER_HOST), HERE + "/rank",
                self.folder, self.plan.setup("voice", "quiet"), way]

    def close_terminal(self):
        self.reader.close()
        return True

    def running(self):
        return self.process.poll() is None

    def wait(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def recorded(self, kind=None):
        """The processes that ranks recorded: (host, pid there), of one kind or all."""
        try:
            rows = [line.split() for line in open(self.folder + "/processes")]
        except FileNotFoundError:
            return []
        return [(row[0], int(row[1])) for row in rows if len(row) == 4 and kind in (None, row[3])]

    def said(self):
        return open(self.err, errors="replace").read()

    def go(self):
        open(self.folder + "/go", "w").close()

    def fail(self, rank):
        open(f"{self.folder}/fail.{rank}", "w").close()

    def abandon(self):
        """Ends a round that hangs: kill -9 of `cluster exec` kills its command."""
        for process in (self.process, *(self.nodes or {}).values()):
            process.kill()
            process.wait()
        self.reader.go_on()
        self.reader.closing.set()
