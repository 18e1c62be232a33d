"""Runs what documents tell a reader to type. usage: documents.py check | documents.py PART WORK_FOLDER

documented.py reads the documents, documents.sh makes the hosts and files that they speak of. A command
passes when it ends with status 0 within its time and when output that the document shows has the shape
of the real one: equal but for numbers, ids and the home.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import time

from documented import ROOT, documents, file_kind, items_of

LIMIT_S = 60

# Which part of the tests runs which documents; those that no part names are in the last one.
# In `readme` and `bare` only the host where commands are typed has the programs.
PARTS = {
    "readme": ["README.md", "docs/first-cluster.md"],
    "bare": ["man/dtlaunch-push.1"],
    "trainer": ["docs/fine-tuning.md", "man/dttrain.1", "man/dttrain-tasks.7", "man/dtlaunch.toml.5"],
    "perf": ["man/dtring-perf.1"],
    "launcher": [],
}

# Commands that are not run here, or all of a document: (why, what runs them or stands for them).
LEFT_OUT = {
    "man/dtlaunch-slurm.7": ("wants Slurm", "tests/slurm/example.sh"),
    "man/dtlaunch-queue.7": ("wants jobs of several users at once", "e2e.line"),
    "man/dtring-torch.7": ("wants PyTorch and Hugging Face's packages", "tests/python/example.py"),
    "apt install ./dtlaunch_*.deb": ("installs on this machine", "tests/clean_room/promises.sh"),
    "pip wheel --no-deps -w build .": ("builds the tree", "tests/packaging/wheel.sh"),
    "cmake --build --preset release --target tarball": ("builds the tree", "tests/packaging/tarball.sh"),
    "cmake --build --preset release --target rpm": ("builds the tree", "tests/packaging/rpms.sh"),
    "dnf install ./dtlaunch-*.rpm": ("wants an RPM system", "tests/packaging/rpms.sh"),
    "scripts/release --twice": ("builds the tree, twice", "tests/packaging/release.sh"),
    "tar -xzf build/release/tarball/dtlaunch-*.tar.gz -C /opt": ("installs on this machine", "tests/packaging/run_tarball.sh"),
    "pip install build/dtlaunch-*.whl": ("installs on this machine", "tests/packaging/wheel.sh"),
    "pip install huggingface_hub": ("installs on this machine", "a line of another project"),
    "hf download distilbert-base-uncased": ("downloads a model", "tests/trainer/hub_cache_test.cc"),
    """python3 -c 'from transformers import pipeline; print(pipeline("text-classification", "out")("My parcel is late"))'""": (
        "wants transformers", "tests/python/own_csv.sh"),
    'sbatch --wait --nodes 2 --ntasks-per-node 2 --wrap "dtlaunch python3 train.py"': (
        "wants Slurm", "tests/slurm/example.sh"),
    "podman build -t dtlaunch -f packaging/Containerfile .": (
        "wants a container engine", "tests/packaging/containerfile.sh"),
    **{command: ("builds the tree", "tests/packaging/packages.sh") for command in (
        "cmake --preset release", "cmake --build --preset release --target package")},
    "mpirun   -f hostfile -n 4 -ppn 2 -genv OMP_NUM_THREADS=23 python3 train.py": (
        "the line of another launcher, for comparison", "tests/e2e/mpirun_lines.sh"),
    **{command: ("wants a cluster of Kubernetes", "tests/e2e/kube.sh") for command in (
        "openssl rand -hex 32 | kubectl create secret generic dtlaunch-token --from-file=token=/dev/stdin",
        "kubectl apply -f job.yaml", "kubectl apply -f bert.yaml", "kubectl logs -f job/bert", "kubectl apply -f pytorchjob.yaml",
        "kubectl logs -f bert-master-0", "kubectl apply -f mpijob.yaml", "kubectl logs -f job/bert-launcher")},
    "dtlaunch --names": ("wants the links of a build or an installation", "tests/e2e/names.sh"),
    "scripts/quickstart": ("installs packages and builds the tree", "tests/clean_room/promises.sh"),
    "scripts/test": ("this test is a part of it", "tests/clean_room/promises.sh"),
    "scripts/test --all": ("this test is a part of it", "tests/clean_room/promises.sh"),
    "systemctl --user enable --now dtagent.socket": (
        "no manager of systemd runs in these hosts", "tests/e2e/systemd_units.sh"),
}
# Commands that need a program which may be missing: then they are left out, and that is said.
NEEDS = ("man", "cc")

# What must have happened before the document's first command, as it says or shows.
BEFORE = {"man/dtlaunch-push.1": "dtlaunch push -hosts node2"}
# Typed on another host than node1: a laptop.
ELSEWHERE = {"man/dtlaunch-push.1": "node9", "dtlaunch kill -hosts node1 3f2a": "node9"}
# Ids are drawn when a job starts: the documents' example stands for that of a job which has just been
# started, one that still runs where the command is about to end it.
EXAMPLE_ID = "3f2a"

WORK = sys.argv[2] if len(sys.argv) > 2 else ""
LIBRARY = []  # variables that lead to libdtring, once it is installed


def fail(what):
    sys.exit(f"documents: FAILED: {what}")


def part_of(document):
    return next((part for part, names in PARTS.items() if document in names), "launcher")


# ---- running


def run_on(host, folder, command):
    """(status, output) of a line for the shell, typed on a host or, with host None, on this machine."""
    environment = {**os.environ, "PATH": os.environ["DTL_PROGRAMS"] + ":" + os.environ["PATH"]}
    if host:
        words = [os.environ["DTL_CLUSTER_TOOL"], "exec", host, "env", "-C", folder, *LIBRARY]
    else:
        environment["DTL_CLUSTER"] = os.path.join(WORK, "second")
        words = ["env", "-C", folder]
    with open(os.path.join(WORK, "output"), "w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen([*words, "bash", "-c", command], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            status = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = f"none within {LIMIT_S} s"
        output.seek(0)
        return status, output.read()


def shape(line):
    """A line without what differs from run to run and from user to user."""
    line = line.replace("/home/me", "~").replace(os.environ["DTL_HOME"], "~")
    line = re.sub(r"\b(job|logs -f) [0-9a-f]+\b", r"\1 #", line)
    line = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", "#", line)
    return re.sub(r"\d+(\.\d+)*", "#", line).rstrip()


def expect(item, host, folder, command):
    began = time.monotonic()
    status, output = run_on(host, folder, command)
    print(f"{item.where()}: {time.monotonic() - began:5.1f} s  {' '.join(command.split())}", flush=True)
    if status != 0:
        fail(f"{item.where()}: status {status} of: {command}\n{output}")
    if item.shown and [shape(line) for line in item.shown] != [shape(x) for x in output.splitlines()]:
        fail(f"{item.where()}: the document shows\n" + "\n".join(item.shown) + f"\nbut it is\n{output}")
    return output


def with_id(item, folder):
    """The command with the id of a job in the place of the example's."""
    if EXAMPLE_ID not in item.text:
        return item.text
    ranks = "sleep 1000" if item.text.startswith(("dtlaunch ask", "dtlaunch top", "dtlaunch kill")) else "python3 train.py"
    status, output = run_on("node1", folder, f"dtlaunch --detach -f hosts {ranks} 2>/dev/null")
    if status != 0:
        fail(f"{item.where()}: no job was started: {output}")
    return item.text.replace(EXAMPLE_ID, output[:8])


def host_of(item):
    return ELSEWHERE.get(item.text, ELSEWHERE.get(item.document, "node1"))


def run_command(item, folder):
    first = item.text.split()[0]
    left_out = LEFT_OUT.get(item.text, LEFT_OUT.get(item.document))
    if left_out:
        print(f"{item.where()}: not run: {item.text}: " + "; ".join(left_out))
    elif first in NEEDS and not shutil.which(first):
        print(f"{item.where()}: not run, {first} is not installed: {item.text}")
    elif first == "man" or os.path.exists(os.path.join(ROOT, first)):
        expect(item, None, ROOT, item.text)
        if "cluster up" in item.text:
            expect(item, None, ROOT, item.text.split()[0] + " down")
    else:
        command = with_id(item, folder)
        expect(item, host_of(item), folder, command)
        if command.startswith(("dtlaunch ask", "dtlaunch top --once")):  # its job would keep cores from the next ones
            run_on("node1", folder, "dtlaunch kill " + command.split()[-1])


def run_file(item, folder, items):
    """A file is what the document names it, and does what such a file is for."""
    kind = file_kind(item)
    if kind == "c":
        names = re.findall(r"\b\w+\.c\b", " ".join(other.text for other in items if other is not item
                                                   and other.kind == "command"))
        write(folder, names[0], item.text)
        install_library()
    elif kind == "job file":
        write(folder, "dtlaunch.toml", item.text)
        expect(item, "node1", folder, "dtlaunch")
        os.remove(os.path.join(folder, "dtlaunch.toml"))
        shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
    else:
        named = re.match(r"# (\w+)\n", item.text)
        for number, part in enumerate([item.text] if named else re.split(r"\n\n", item.text)):
            # Below /tmp, which every user of every host can enter.
            text = f"cat >/tmp/some-hosts <<'END'\n{part}\nEND\n"
            run_on("node1", "/tmp", text)
            expect(item, "node1", "/tmp", "dtlaunch -f some-hosts --push hostname")
        if named:
            write(folder, named[1], item.text)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def install_library():
    """On the hosts of the file hosts, below /run, which has no blank as the tree's path may have."""
    build, here, there = os.path.dirname(os.environ["DTL_BIN"]), os.path.join(WORK, "prefix"), "/run/dtring"
    subprocess.run(["cmake", "--install", build, "--component", "dtring", "--prefix", here],
                   check=True, stdout=subprocess.DEVNULL)
    for host in ("node1", "node2"):
        subprocess.run([os.environ["DTL_CLUSTER_TOOL"], "exec", host, "cp", "-r", here, there], check=True)
    found = os.path.dirname(glob.glob(here + "/**/dtring.pc", recursive=True)[0]).replace(here, there)
    LIBRARY[:] = [f"PKG_CONFIG_PATH={found}", f"LD_LIBRARY_PATH={os.path.dirname(found)}"]


def run_document(document):
    folder = os.path.join(WORK, document.replace("/", "-"))
    shutil.copytree(os.path.join(WORK, "things"), folder)
    for name in ("hosts", "hostfile"):
        write(folder, name, "node1 slots=2\nnode2 slots=2\n")
    if document in BEFORE:
        run_on(ELSEWHERE.get(document, "node1"), folder, BEFORE[document])
    items = items_of(document)
    if any(re.search(r"dttrain init .*--output_dir model$", item.text) for item in items):
        shutil.rmtree(os.path.join(folder, "model"))  # the document makes its own
    for item in items:
        if item.kind == "command":
            run_command(item, folder)
        elif document in LEFT_OUT:
            print(f"{item.where()}: not used: " + "; ".join(LEFT_OUT[document]))
        else:
            run_file(item, folder, items)
    return len(items)


# ---- what can be told without running anything


def check():
    """The tables are about what the documents say, and every program's page has examples."""
    items = {document: items_of(document) for document in documents()}
    texts = {item.text for found in items.values() for item in found}
    for table in (LEFT_OUT, ELSEWHERE):
        for command in table:
            if command not in texts and command not in items:
                fail(f"no document has the command any more that a table names: {command}")
    for document in [name for names in PARTS.values() for name in names] + list(BEFORE):
        if document not in items:
            fail(f"there is no document {document}")
    for why, cover in LEFT_OUT.values():
        if "/" in cover and not os.path.exists(os.path.join(ROOT, cover)):
            fail(f"there is no {cover}")
    for document, found in items.items():
        if document.endswith((".1", ".8")) and not any(item.kind == "command" for item in found):
            fail(f"{document} has no command in a section EXAMPLES")
        print(f"{document}: {len(found)} items, run by e2e.documents_{part_of(document)}")
        for item in found:
            if item.kind == "file" and document not in LEFT_OUT:
                file_kind(item)


def main():
    part = sys.argv[1]
    if part == "check":
        check()
        return
    if part not in PARTS:
        fail(f"no part is called {part}; there are: " + " ".join(PARTS))
    count = sum(run_document(document) for document in documents() if part_of(document) == part)
    if count == 0:
        fail("the documents of this part have nothing to run")


main()
