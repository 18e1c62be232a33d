#!/usr/bin/env python3
"""How long `dtlaunch queue`, a new ticket and the start of the next job take while many jobs wait on this machine.

usage: bench/waiting_line.py [DTLAUNCH [TICKETS [REAL [ROUNDS]]]]

TICKETS (1000) wait behind the jobs that are measured. REAL (20) of them are those of dtlaunch, which look at the line as
any job that waits does; the others are sockets that only hold a ticket's name. Nothing else may run on this machine: the
jobs need its cores.
"""
import os, platform, resource, selectors, socket, statistics, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_MS = 100


def cpu_name():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def tickets(count):
    """Sockets as of jobs that come after all others; the kernel removes them with this process."""
    held = []
    for number in range(count):
        held.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        held[-1].bind(f"\0dtlaunch-ticket/2/{number:016x}/{10**13 + number}/0/0/{number:08x}/1")
        held[-1].listen()
    return held


def answer(held, ended):
    """Takes the connections of those who ask whose the tickets are, as the agents of dtlaunch do."""
    with selectors.DefaultSelector() as watched:
        for one in held:
            one.setblocking(False)
            watched.register(one, selectors.EVENT_READ)
        while not ended.is_set():
            for key, _ in watched.select(0.05):
                key.fileobj.accept()[0].close()


class Bench:
    def __init__(self, dtlaunch):
        self.dtlaunch = dtlaunch
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("DTL")}
        self.environment["DTL_HISTORY_DAYS"] = "0"
        self.cores = os.cpu_count()

    def start(self, *words):
        return subprocess.Popen([self.dtlaunch, *words], env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def hold(self):
        """A job that has all cores until its standard input, a pipe of ours, ends."""
        job = subprocess.Popen([self.dtlaunch, "-np", "1", "sh", "-c", "echo up; read line"], env=self.environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if job.stdout.readline() != "up\n":
            sys.exit("waiting_line: cores of this machine are taken: see dtlaunch ps --cores")
        return job

    def wait_in_line(self, *program):
        """A job that waits, and the time until it says so."""
        begin = time.perf_counter()
        job = self.start("--wait", "-np", "1", *program)
        if "waiting for free cores" not in job.stderr.readline():
            sys.exit("waiting_line: a job did not wait")
        return job, 1000 * (time.perf_counter() - begin)

    def round(self, real, others):
        """Times in ms: of queue, of getting in line, and from the end of the job before to the start of the first."""
        holder = self.hold()
        held = tickets(others)  # after the start of the holder, which would leave them the cores
        over = threading.Event()
        answering = threading.Thread(target=answer, args=(held, over))
        answering.start()
        first, ticket_ms = self.wait_in_line("date", "+%s.%N")
        behind = [self.wait_in_line("true")[0] for _ in range(real)]
        begin = time.perf_counter()
        subprocess.run([self.dtlaunch, "queue"], env=self.environment, stdout=subprocess.DEVNULL, check=True)
        queue_ms = 1000 * (time.perf_counter() - begin)
        holder.stdin.close()
        holder.wait()
        ended = time.time()
        start_ms = 1000 * (float(first.communicate()[0]) - ended)
        over.set()
        answering.join()
        for one in held:
            one.close()
        for job in behind:
            job.communicate()
        return queue_ms, ticket_ms, start_ms

    def idle_start(self):
        begin = time.time()
        return 1000 * (float(self.start("-np", "1", "date", "+%s.%N").communicate()[0]) - begin)

    def refusal(self):
        holder = self.hold()
        begin = time.perf_counter()
        self.start("-np", "1", "true").communicate()
        took = 1000 * (time.perf_counter() - begin)
        holder.stdin.close()
        holder.wait()
        return took


def main():
    dtlaunch = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{HERE}/../build/release/bin/dtlaunch")
    count, real, rounds = [int(word) for word in sys.argv[2:5] + ["1000", "20", "11"][len(sys.argv[2:5]):]]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + 200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    bench = Bench(dtlaunch)
    print(f"{cpu_name()}, {os.cpu_count()} CPUs, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}; "
          f"{count} jobs wait, {real} of them are dtlaunch's; medians of {rounds} rounds")
    for label, others in (("nobody else waits", 0), (f"{count} wait", count)):
        results = [bench.round(min(real, others), max(others - real, 0)) for _ in range(rounds)]
        queue, ticket, start = (statistics.median(column) for column in zip(*results))
        print(f"{label}: queue {queue:.0f} ms; a new ticket {ticket:.0f} ms; the next start {start:.0f} ms after the end "
              f"of the job before")
    print(f"for comparison: a refusal {statistics.median(bench.refusal() for _ in range(rounds)):.0f} ms, a start with free "
          f"cores {statistics.median(bench.idle_start() for _ in range(rounds)):.0f} ms")
    print(f"asked: at most {LIMIT_MS} ms each")


if __name__ == "__main__":
    main()
