"""The commands of `cluster`: start hosts, cut them off, mend and end them."""
import argparse, json, os, select, shutil, signal, subprocess, sys, tempfile

from entering import (FAILED, HOME, HOST_NAMESPACES, NEWNET, SKIP, Failure, execute, find_host, libc, read_file,
                      setns, start_time, state_folder)
from keeper import OWN, PRIVATE, guarded, port_name, remove_cpu_groups, run_keeper

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def make_keys(state, names):
    """One key pair per name, all at once: {name: (private text, public text)}."""
    folder = state + "/keys"
    os.mkdir(folder, 0o700)
    jobs = [subprocess.Popen(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f",
                              f"{folder}/{name}"], stdin=subprocess.DEVNULL) for name in names]
    if any(job.wait() for job in jobs):
        raise Failure("ssh-keygen failed")
    keys = {name: (read_file(f"{folder}/{name}"), read_file(f"{folder}/{name}.pub"))
            for name in names}
    shutil.rmtree(folder)
    return keys


def newer_sshd_settings():
    """Since OpenSSH 9.8, sshd refuses clients for a while after failed logins, which tests cause on purpose."""
    line = "PerSourcePenalties no"
    said = subprocess.run(["/usr/sbin/sshd", "-t", "-f", "/dev/null", "-o", line.replace(" ", "=")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True).stderr
    return "" if "Bad configuration option" in said else line + "\n"


def describe(options, state, created):
    names = [f"node{i + 1}" for i in range(options.count)] + (["login"] if options.login else [])
    hosts = [{"name": name, "port": f"port{i + 1}", "address": f"10.77.{i // 250}.{i % 250 + 1}"}
             for i, name in enumerate(names)]
    keys = make_keys(state, names + ["user"])
    for host in hosts:
        host["key"] = keys[host["name"]][0]
    return {"state": state, "created": created, "name": f"dtl-cluster-{os.getpid()}",
            "rate": options.rate, "cpus": options.cpus, "nics": options.nics, "hosts": hosts,
            "seen": [REPOSITORY] + [os.path.realpath(path) for path in options.see],
            "sshd_settings": newer_sshd_settings(),
            "user_key": keys["user"][0], "user_public": keys["user"][1],
            "known_hosts": "".join(f"{host['name']},{host['address']} {keys[host['name']][1]}"
                                   for host in hosts),
            "hosts_file": "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
                          + "".join(f"{h['address']} {h['name']}\n" for h in hosts)}


def refuse_unless_possible():
    if os.geteuid() != 0:
        raise Failure("needs root, to make namespaces", SKIP)
    missing = [p for p in ("ip", "tc", "ssh-keygen", "/usr/sbin/sshd") if not shutil.which(p)]
    if missing:
        raise Failure("not installed: " + " ".join(missing)
                      + " (apt-get install iproute2 openssh-server openssh-client)", SKIP)
    probe = os.fork()
    if probe == 0:
        os._exit(0 if libc.unshare(HOST_NAMESPACES) == 0 else 1)
    if os.waitpid(probe, 0)[1] != 0:
        raise Failure("this machine does not let root make namespaces", SKIP)


def refuse_what_cannot_be_seen(path):
    if not os.path.isdir(path):
        raise Failure(f"--see {path}: no such folder")
    real = os.path.realpath(path)
    for own in (HOME, OWN, "/run/sshd"):
        if (real + "/").startswith(own + "/"):
            raise Failure(f"--see {path}: every host has a {own} of its own")
    for private in PRIVATE:
        if private == real == "/run" or private.startswith(real.rstrip("/") + "/"):
            raise Failure(f"--see {path}: every host needs a {private} of its own. Try: a folder below it")


def command_up(options):
    for path in options.see:
        refuse_what_cannot_be_seen(path)
    refuse_unless_possible()
    wanted = options.state or os.environ.get("DTL_CLUSTER")
    created = not wanted or not os.path.isdir(wanted)
    if wanted:
        os.makedirs(wanted, 0o700, exist_ok=True)
    state = os.path.realpath(wanted or tempfile.mkdtemp(prefix="dtl-cluster."))
    if os.path.exists(state + "/cluster.json"):
        raise Failure(f"'{state}' already has a cluster. Try: cluster --state {state} down")
    cluster = describe(options, state, created)
    ready_read, ready_write = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.close(ready_read)
        guarded(ready_write, run_keeper, cluster, ready_write)
    os.close(ready_write)
    said = open(ready_read).read().splitlines()
    if said.count("ready") != len(cluster["hosts"]):
        os.kill(keeper, signal.SIGKILL)
        remove_state(cluster)
        problems = [line for line in said if line != "ready"]
        raise Failure("cannot start: " + ("; ".join(problems) or "no answer"))
    print(f"export DTL_CLUSTER={state}")


def load(options):
    state = state_folder(options.state)
    try:
        return json.loads(read_file(state + "/cluster.json"))
    except FileNotFoundError:
        raise Failure(f"no cluster in '{state}'")


def plug(cluster, host, nic, into):
    """Into the switch or out of it: packets vanish, but the link stays up."""
    number = int(nic.removeprefix("eth"))
    where = f"master br{number}" if into else "nomaster"
    pid = os.fork()
    if pid == 0:
        setns(os.open(f"/proc/{cluster['keeper']}/ns/net", os.O_RDONLY), NEWNET)
        os.execvp("ip", ["ip", "link", "set", port_name(host, number), *where.split()])
    if os.waitpid(pid, 0)[1] != 0:
        raise Failure(f"cannot change the link of {host['name']}")


def wait_for_end(pid, seconds):
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    return bool(select.select([fd], [], [], seconds)[0])


def command_cut(options):
    cluster = load(options)
    plug(cluster, find_host(cluster["hosts"], options.host), options.nic, False)


def command_mend(options):
    cluster = load(options)
    plug(cluster, find_host(cluster["hosts"], options.host), options.nic, True)


def command_kill(options):
    cluster = load(options)
    host = find_host(cluster["hosts"], options.host)
    for nic in range(cluster["nics"]):
        plug(cluster, host, f"eth{nic}", False)
    os.kill(host["pid"], signal.SIGKILL)
    if not wait_for_end(host["pid"], 10):
        raise Failure(f"{host['name']} does not end")


def command_exec(options):
    execute(state_folder(options.state), options.host, options.command)


def command_ps(options):
    cluster = load(options)
    spaces = {}
    for host in cluster["hosts"]:
        if start_time(host["pid"]) == host["start"]:
            spaces[os.readlink(f"/proc/{host['pid']}/ns/pid")] = host["name"]
    rows = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name = spaces.get(os.readlink(f"/proc/{pid}/ns/pid"))
            if name is None:
                continue
            fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
            words = read_file(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
            rows.append((name, int(fields["NSpid"].split()[-1]), int(pid),
                         fields["State"].split()[0], words or f"[{fields['Name'].strip()}]"))
        except (OSError, KeyError):
            continue  # it has just ended
    print("HOST PID MACHINE_PID STATE COMMAND")
    for row in sorted(rows):
        if not options.hosts or row[0] in options.hosts:
            print(*row)


def remove_state(cluster):
    for name in ("/cluster.json", "/hosts"):
        if os.path.exists(cluster["state"] + name):
            os.unlink(cluster["state"] + name)
    if cluster["created"] and not os.listdir(cluster["state"]):
        os.rmdir(cluster["state"])


def command_down(options):
    cluster = load(options)
    if start_time(cluster["keeper"]) == cluster["keeper_start"]:
        os.kill(cluster["keeper"], signal.SIGTERM)
        if not wait_for_end(cluster["keeper"], 10):
            raise Failure("the keeper does not end; its pid is " + str(cluster["keeper"]))
    remove_cpu_groups(cluster)  # left only if the keeper was killed
    remove_state(cluster)


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="cluster", description="Several hosts on one machine, for testing dtlaunch without a cluster.")
    parser.add_argument("--state", metavar="DIR", help="the cluster's notes; else $DTL_CLUSTER")
    commands = parser.add_subparsers(dest="verb", required=True)
    up = commands.add_parser("up", help="start N hosts: node1 ... nodeN")
    up.add_argument("count", type=int, metavar="N")
    up.add_argument("--rate", help="of every link, each way, as tc spells it: 1gbit, 100mbit")
    up.add_argument("--cpus", help="CPU time of each host, in cores: 0.5")
    up.add_argument("--nics", type=int, default=1, metavar="K",
                    help="interfaces of each host: eth0 in 10.77.0.0/16, eth1 in 10.78.0.0/16, ...")
    up.add_argument("--login", action="store_true", help="one host more, called login")
    up.add_argument("--see", action="append", default=[], metavar="DIR",
                    help="keep DIR visible although it is or lies in /tmp or /dev/shm, or lies in /run")
    up.add_argument("--state", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    run = commands.add_parser("exec", help="run a command on a host")
    run.add_argument("host")
    run.add_argument("command", nargs=argparse.REMAINDER)
    for verb, text in (("kill", "power off: drop the host's packets, then end it"),
                       ("cut", "drop the host's packets"), ("mend", "undo cut")):
        host = commands.add_parser(verb, help=text)
        host.add_argument("host")
        if verb != "kill":
            host.add_argument("nic", nargs="?", default="eth0")
    commands.add_parser("ps", help="processes per host").add_argument("hosts", nargs="*")
    commands.add_parser("down", help="end all hosts, leave nothing")
    options = parser.parse_args(arguments)
    if options.verb == "exec" and not options.command:
        parser.error("exec: no command")
    if options.verb == "up" and not 1 <= options.count <= 1000:
        parser.error("up: N must be 1 to 1000")
    if options.verb == "up" and not 1 <= options.nics <= 9:
        parser.error("up: K must be 1 to 9")
    return options


def main():
    options = parse(sys.argv[1:])
    try:
        globals()["command_" + options.verb](options)
    except (Failure, OSError, subprocess.SubprocessError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        sys.exit(getattr(error, "status", FAILED))

