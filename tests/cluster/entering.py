"""Running a command on a host: `cluster exec`, which tests call thousands of times, so that this file imports
little. keeper.py beside it has what it enters."""
import ctypes, os, signal, sys

SKIP, FAILED = 77, 125
NEWNS, NEWUTS, NEWIPC, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
HOST_NAMESPACES = NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET
PR_SET_PDEATHSIG = 1
HOME = "/run/root"  # in a host's private /run; ssh finds it in the host's /etc/passwd

libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    def __init__(self, text, status=FAILED):
        super().__init__(text)
        self.status = status


def check(result, what):
    if result != 0:
        raise Failure(f"{what}: {os.strerror(ctypes.get_errno())}")


def setns(fd, flags):
    check(libc.setns(fd, flags), "cannot enter a namespace")


def write_file(path, text, mode=0o644):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
        file.write(text)


def read_file(path):
    with open(path) as file:
        return file.read()


def start_time(pid):
    """Tells a process from a later one with the same pid; None when there is none, or a zombie."""
    try:
        fields = read_file(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except (OSError, TypeError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def state_folder(named):
    state = named or os.environ.get("DTL_CLUSTER")
    if not state:
        raise Failure("which cluster? Give --state DIR or set DTL_CLUSTER")
    return state


def write_hosts(state, hosts):
    """What exec needs of each host, a line each: name, pid, start time and the folder of its cgroup, if any."""
    write_file(state + "/hosts", "".join(
        f"{h['name']}\t{h['pid']}\t{h['start']}\t{h.get('cgroup', '')}\n" for h in hosts), 0o600)


def read_hosts(state):
    try:
        lines = read_file(state + "/hosts").splitlines()
    except FileNotFoundError:
        raise Failure(f"no cluster in '{state}'") from None
    rows = [line.split("\t") for line in lines]
    return [{"name": name, "pid": int(pid), "start": int(start), **({"cgroup": group} if group else {})}
            for name, pid, start, group in rows]


def find_host(hosts, name, alive=True):
    for host in hosts:
        if host["name"] == name:
            if alive and start_time(host["pid"]) != host["start"]:
                raise Failure(f"{name} is powered off")
            return host
    raise Failure(f"no host '{name}'; there are: " + " ".join(h["name"] for h in hosts))


def host_environment():
    keep = ("PATH", "LANG", "TERM", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")
    kept = {k: v for k, v in os.environ.items() if k in keep or k.startswith(("LC_", "DTL_"))}
    return {"PATH": os.defpath, **kept, "HOME": HOME, "USER": "root", "LOGNAME": "root",
            "SHELL": "/bin/bash"}


def execute(state, name, command):
    """Runs the command on the host and exits with its status."""
    host = find_host(read_hosts(state), name)
    if "cgroup" in host:
        write_file(host["cgroup"] + "/cgroup.procs", str(os.getpid()))
    folder = os.getcwd()
    forwarded = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
                 signal.SIGUSR2}
    signal.pthread_sigmask(signal.SIG_BLOCK, forwarded | {signal.SIGCHLD})
    setns(os.pidfd_open(host["pid"]), HOST_NAMESPACES)
    pid = os.fork()
    if pid == 0:
        run_command(command, folder)
    while True:
        number = signal.sigwaitinfo(forwarded | {signal.SIGCHLD}).si_signo
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            sys.exit(code if code >= 0 else 128 - code)
        if number in forwarded:
            os.kill(pid, number)


def run_command(command, folder):
    os.setsid()  # a signal to our group must not reach the command twice
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.chdir(folder)
    except OSError:
        os.chdir(HOME)
    try:
        os.execvpe(command[0], command, host_environment())
    except OSError as error:
        print(f"cluster: cannot run '{command[0]}': {error.strerror}", file=sys.stderr)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def words_of_exec(words):
    """(state, host, command) of `[--state DIR] exec HOST COMMAND...`; None for all else."""
    state = None
    if len(words) > 2 and words[0] == "--state":
        state, words = words[1], words[2:]
    if len(words) < 3 or words[0] != "exec" or words[1].startswith("-") or words[2].startswith("-"):
        return None
    return state, words[1], words[2:]


def main(words):
    """Runs such a command line and exits; returns when it is another."""
    found = words_of_exec(words)
    if found is None:
        return
    try:
        execute(state_folder(found[0]), *found[1:])
    except (Failure, OSError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        sys.exit(getattr(error, "status", FAILED))
