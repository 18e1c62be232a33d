"""The hosts and their keeper, which `cluster up` leaves running. README.md explains them.

A keeper process owns everything: it lives in the switch's network namespace and is the parent of
one init per host. A host is the namespaces of its init, so that ending the init
ends the host, and ending the keeper ends them all.
"""
import ctypes, json, os, signal, subprocess, time

from entering import (HOME, HOST_NAMESPACES, NEWNET, PR_SET_PDEATHSIG, Failure, check, libc, read_file, start_time,
                      write_file, write_hosts)

MS_REC, MS_BIND, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x4000, 0x1000, 0x40000, 2, 4
PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
PRIVATE = ("/tmp", "/run", "/dev/shm")
OWN = "/run/cluster"  # a host's files: its keys, its sshd's settings, its part of /etc
SSHD_CONFIG = f"""ListenAddress 0.0.0.0
ListenAddress ::
HostKey {OWN}/host_key
PidFile /run/sshd.pid
AuthorizedKeysFile .ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
MaxStartups 100:30:200
MaxSessions 100
"""


def unshare(flags):
    check(libc.unshare(flags), "cannot make namespaces")


def mount(source, target, kind, flags=0, data=""):
    arguments = [text.encode() if text else None for text in (source, target, kind)]
    check(libc.mount(*arguments, ctypes.c_ulong(flags), data.encode()), f"cannot mount {target}")


def ip_batch(lines):
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                          capture_output=True)
    if done.returncode != 0:
        raise Failure("ip: " + done.stderr.strip())


def limit_rate(device, rate):
    subprocess.run(["tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst",
                    "128kb", "latency", "100ms"], check=True)


def port_name(host, nic):
    """The switch's end of a host's eth<nic>; eth<nic> of all hosts is on br<nic>."""
    return host["port"] + (f"-{nic}" if nic else "")


def nic_address(host, nic):
    return f"10.{77 + nic}." + host["address"].split(".", 2)[2]


# ---- one host: the init of its PID namespace


def bind_back(kept):
    """Mounts again what is below a folder that has just become private."""
    for path, fd in kept:
        os.makedirs(path, exist_ok=True)
        mount(f"/proc/self/fd/{fd}", path, None, MS_BIND | MS_REC)
        os.close(fd)


def mount_private_folders(seen):
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    private = [path for path in PRIVATE if path not in seen]
    hidden = [path for path in seen if path.startswith(tuple(p + "/" for p in private))]
    kept = [(path, os.open(path, os.O_PATH)) for path in hidden]
    cgroups = [("/sys/fs/cgroup", os.open("/sys/fs/cgroup", os.O_PATH))]
    mount("proc", "/proc", "proc")
    mount("sysfs", "/sys", "sysfs")  # shows this host's network devices
    bind_back(cgroups)
    for path in private:
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV,
              "mode=755" if path == "/run" else "mode=1777")
    bind_back(kept)


def show_own_etc(own):
    """Lays the files of `own` over /etc: a mount of the whole folder, for one on a single file is gone
    as soon as that file is replaced on the machine, and the machine's own shows again."""
    os.mkdir(OWN + "/work")
    try:
        mount("overlay", "/etc", "overlay", 0, f"lowerdir=/etc,upperdir={own},workdir={OWN}/work")
    except Failure:  # no overlay in this kernel, or /etc already has the maximum number of layers
        copy = OWN + "/copy"
        subprocess.run(["cp", "-a", "/etc", copy], check=True)
        subprocess.run(["cp", "-a", "--remove-destination", own + "/.", copy], check=True)
        mount(copy, "/etc", None, MS_BIND)


def write_system_files(cluster, host):
    own = OWN + "/etc"
    os.makedirs(own, 0o755)
    os.mkdir("/run/sshd", 0o755)
    os.makedirs(HOME + "/.ssh", 0o700)
    machine = open("/etc/passwd").readlines()
    machine_homes = [line.split(":")[5] for line in machine if line.startswith("root:")]
    root = f"root:x:0:0:root:{HOME}:/bin/bash\n"
    others = [line for line in machine if not line.startswith("root:")]
    locked = [line.split(":")[0] + ":*:19000:0:99999:7:::\n" for line in [root] + others]
    files = {"hosts": cluster["hosts_file"], "hostname": host["name"] + "\n",
             "passwd": root + "".join(others), "resolv.conf": "",
             "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"}
    for name, text in files.items():
        write_file(f"{own}/{name}", text)
    write_file(own + "/shadow", "".join(locked), 0o600)
    show_own_etc(own)
    write_file(OWN + "/host_key", host["key"], 0o600)
    write_file(OWN + "/sshd_config", SSHD_CONFIG + cluster["sshd_settings"])
    write_file(HOME + "/.ssh/id_ed25519", cluster["user_key"], 0o600)
    write_file(HOME + "/.ssh/id_ed25519.pub", cluster["user_public"])
    write_file(HOME + "/.ssh/authorized_keys", cluster["user_public"], 0o600)
    write_file(HOME + "/.ssh/known_hosts", cluster["known_hosts"], 0o600)
    for home in machine_homes:
        if os.path.isdir(home + "/.ssh"):  # hosts do not need the machine's keys
            mount(HOME + "/.ssh", home + "/.ssh", None, MS_BIND)


def start_sshd():
    null = open(os.devnull, "r+")
    sshd = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", OWN + "/sshd_config", "-E",
                             "/run/sshd.log"], stdin=null, stdout=null, stderr=null, cwd="/",
                            env={"PATH": os.defpath})
    deadline = time.monotonic() + 10
    while not os.path.exists("/run/sshd.pid"):  # written once it listens
        if sshd.poll() is not None or time.monotonic() > deadline:
            raise Failure("sshd does not start: " + read_file("/run/sshd.log").strip())
        time.sleep(0.002)


def run_host(cluster, host, go, ready):
    os.read(go, 1)  # the keeper has attached eth0 and is our parent now
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    libc.prctl(PR_SET_NAME, (host["name"] + "-init").encode())
    os.chdir("/")
    check(libc.sethostname(host["name"].encode(), len(host["name"])), "cannot set the host name")
    mount_private_folders(cluster["seen"])
    write_system_files(cluster, host)
    ip_batch(["link set lo up"] + [line for nic in range(cluster["nics"]) for line in (
        f"addr add {nic_address(host, nic)}/16 dev eth{nic}", f"link set eth{nic} up")])
    if cluster["rate"]:
        for nic in range(cluster["nics"]):
            limit_rate(f"eth{nic}", cluster["rate"])
    os.environ.clear()
    start_sshd()
    os.write(ready, b"ready\n")
    os.close(ready)
    detach_output()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:  # reap orphans for ever, as init does
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        signal.sigwaitinfo({signal.SIGCHLD})


def detach_output():
    """Closes our output, so that readers that wait for its end (eval "$(cluster up 2)") do not wait for us."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def guarded(ready, action, *arguments):
    """Runs the rest of a forked process; a failure is one line on its `ready` pipe."""
    try:
        action(*arguments)
    except BaseException as error:  # the root of a process: never return to the parent's code
        os.write(ready, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(1)


# ---- the keeper


def cpu_group(name):
    """The folder of a new cgroup for CPU time and the function that writes its quota."""
    for line in open("/proc/self/cgroup"):
        _, controllers, path = line.strip().split(":", 2)
        if "cpu" in controllers.split(","):
            return f"/sys/fs/cgroup/cpu{path.rstrip('/')}/{name}", "v1"
    return f"/sys/fs/cgroup/{name}", "v2"


def make_cpu_group(host, name, cpus):
    folder, version = cpu_group(name)
    os.mkdir(folder)
    host["cgroup"] = folder
    quota, period = int(float(cpus) * 100_000), 100_000
    if version == "v1":
        write_file(folder + "/cpu.cfs_period_us", str(period))
        write_file(folder + "/cpu.cfs_quota_us", str(quota))
    else:
        write_file(folder + "/cpu.max", f"{quota} {period}")
    write_file(folder + "/cgroup.procs", str(host["pid"]))


def fork_host(cluster, host, ready):
    """Forks a host's init by way of a child that makes the namespaces. Returns the go pipe."""
    go_read, go_write = os.pipe()
    pid_read, pid_write = os.pipe()
    middle = os.fork()
    if middle == 0:
        def make():
            os.close(go_write)
            unshare(HOST_NAMESPACES)
            pid = os.fork()
            if pid == 0:
                os.close(pid_write)
                guarded(ready, run_host, cluster, host, go_read, ready)
            os.write(pid_write, str(pid).encode())
        guarded(ready, make)
    os.close(go_read)
    os.close(pid_write)
    os.waitpid(middle, 0)
    host["pid"] = int(os.read(pid_read, 32) or b"0")
    os.close(pid_read)
    host["start"] = start_time(host["pid"])
    return go_write


def run_keeper(cluster, ready):
    os.setsid()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(PR_SET_NAME, b"cluster-keeper")
    os.chdir("/")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    unshare(NEWNET)
    go = [fork_host(cluster, host, ready) for host in cluster["hosts"]]
    if not all(host["pid"] for host in cluster["hosts"]):
        return
    lines = []
    for nic in range(cluster["nics"]):
        lines += [f"link add br{nic} type bridge", f"link set br{nic} up"]
        for host in cluster["hosts"]:
            port = port_name(host, nic)
            lines += [f"link add {port} type veth peer name eth{nic} netns {host['pid']}",
                      f"link set {port} master br{nic} up"]
    ip_batch(lines)
    for host in cluster["hosts"]:
        if cluster["rate"]:
            for nic in range(cluster["nics"]):
                limit_rate(port_name(host, nic), cluster["rate"])
        if cluster["cpus"]:
            make_cpu_group(host, f"{cluster['name']}-{host['name']}", cluster["cpus"])
    cluster["keeper"], cluster["keeper_start"] = os.getpid(), start_time(os.getpid())
    write_hosts(cluster["state"], cluster["hosts"])
    secret = ("user_key", "user_public", "known_hosts", "hosts_file", "key")
    write_file(cluster["state"] + "/cluster.json", json.dumps(
        {k: [{a: b for a, b in h.items() if a not in secret} for h in v] if k == "hosts" else v
         for k, v in cluster.items() if k not in secret}), 0o600)
    for pipe in go:
        os.write(pipe, b"g")
        os.close(pipe)
    os.close(ready)
    detach_output()
    reap_until_told(cluster)


def reap_until_told(cluster):
    ended = set()
    while signal.sigwaitinfo({signal.SIGTERM, signal.SIGCHLD}).si_signo == signal.SIGCHLD:
        ended |= reap(os.WNOHANG)
    for host in cluster["hosts"]:
        if host["pid"] not in ended:
            os.kill(host["pid"], signal.SIGKILL)
    reap(0)
    remove_cpu_groups(cluster)
    os._exit(0)


def remove_cpu_groups(cluster):
    deadline = time.monotonic() + 2
    for folder in [host["cgroup"] for host in cluster["hosts"] if "cgroup" in host]:
        while os.path.isdir(folder):
            try:
                os.rmdir(folder)
            except OSError:  # busy: a `cluster exec` will soon notice that its command has ended
                if time.monotonic() > deadline:
                    break
                time.sleep(0.005)


def reap(flags):
    ended = set()
    try:
        while True:
            pid = os.waitpid(-1, flags)[0]
            if pid == 0:
                return ended
            ended.add(pid)
    except ChildProcessError:
        return ended
