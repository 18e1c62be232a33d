"""Whether two ranks of one number are ever alive at once, over all epochs of a job.

Every rank writes down its pid when it begins. A thread looks at the living ones all the time. What
it complains of is certain, however late it looks: of two ranks the later one had begun before the
other was seen alive for the last time.
"""
import os, threading, time

LOOK = 0.02  # seconds
TICKS = os.sysconf("SC_CLK_TCK")


class Rank:
    def __init__(self, process):
        self.pid, self.host = process.pid, process.host
        self.number = process.variable("RANK")
        self.epoch = process.variable("TORCHELASTIC_RESTART_COUNT")
        self.began = self.seen = self.look() or 0.0

    def look(self):
        """Its start, on the clock of all hosts; None if it has ended."""
        try:
            fields = open(f"/proc/{self.pid}/stat").read().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else int(fields[19]) / TICKS

    def still_there(self):
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        if self.look() != self.began:
            return False
        self.seen = now  # it was alive at this time, and is still
        return True

    def __str__(self):
        return f"rank {self.number} of epoch {self.epoch} on {self.host} (process {self.pid})"


class Watch:
    def __init__(self, hosts, job):
        self.hosts, self.job = hosts, job
        self.known, self.alive, self.all, self.complaints = 0, [], [], []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def run(self):
        while not self.over.wait(LOOK):
            recorded = self.job.recorded("rank")
            for place in recorded[self.known:]:
                self.add(*place)
            self.known = len(recorded)
            self.alive = [rank for rank in self.alive if rank.still_there()]
        self.judge()

    def add(self, host, pid):
        for process in self.hosts.processes(host):
            if process.host_pid != pid:
                continue
            try:
                rank = Rank(process)
            except OSError:
                return  # it has just ended
            self.alive.append(rank)
            self.all.append(rank)

    def judge(self):
        for index, old in enumerate(self.all):
            for new in self.all[index + 1:]:
                if old.number == new.number and old.pid != new.pid and \
                        old.began < new.seen and new.began < old.seen:
                    self.complaints.append(f"two at a time: {old}, {new}")
