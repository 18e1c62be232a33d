"""Runs the commands in the README.md of an example. usage: commands.py EXAMPLE COPY [WORD...]

The commands run in COPY, a copy of the example's folder, in their order; the WORDs stand before each, as those of
`tests/cluster/cluster exec`. Each has to end with status 0. A block without commands shows what the command
above it prints: each of its lines has to be among the output. "..." there stands for anything, whole numbers have
to be equal, and those with a fraction may differ by a tenth. At the end no file of the example may have changed.
Commands that begin with "dtlaunch -f hosts" repeat a command for several hosts: they are planned, by --dry-run, and
not run. Jobs on several hosts are what tests/e2e is for.
"""
import filecmp
import os
import re
import subprocess
import sys
import time

import documented

LIMIT_S = 90
FRACTION = re.compile(r"\d+\.\d+")
documented.PROGRAMS += ("cat", "cmp", "head", "kubectl", "mpicc", "openssl", "sh")
LEFT_OUT = {"kubectl": "a cluster of Kubernetes", "openssl": "a cluster of Kubernetes"}


def fail(item, what):
    sys.exit(f"FAILED: {item.where()}: {what}")


def agrees(shown, line):
    """Whether a line of output matches the README's."""
    parts = re.split(r"(\.\.\.|\d+\.\d+)", shown)
    found = re.fullmatch("".join(".*" if part == "..." else r"(\d+\.\d+)" if FRACTION.fullmatch(part) else
                                 re.escape(part) for part in parts), line)
    return bool(found) and all(abs(float(a) - float(b)) <= 0.1 * float(a)
                               for a, b in zip(filter(FRACTION.fullmatch, parts), found.groups()))


def written_by(item, folder):
    """The file that a command ends by writing into, where the folder has it."""
    written = re.search(r"[^0-9&>]>\s*([\w./-]+)$", item.text)
    path = os.path.join(folder, written[1]) if written else ""
    return path if os.path.isfile(path) else None


def made_again(item, example, copy):
    """Whether the command has written a file of the example: main() compares these."""
    return bool(written_by(item, example) and written_by(item, copy))


def short(command):
    return " ".join(command.replace("\\\n", " ").split())[:100]


def run(item, copy, words):
    command = re.sub(r"^dtlaunch -f hosts\b", "dtlaunch --dry-run -f hosts", item.text)
    if written_by(item, copy):
        os.unlink(written_by(item, copy))  # the command must write it again
    began = time.monotonic()
    try:
        process = subprocess.run([*words, "bash", "-c", command], cwd=copy, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        fail(item, f"no end within {LIMIT_S} s: {item.text}")
    output = process.stdout.decode("utf-8", "replace")
    print(f"{item.where()}: {time.monotonic() - began:5.1f} s  {short(command)}", flush=True)
    if process.returncode != 0:
        fail(item, f"status {process.returncode} of: {command}\n{output}")
    return output


def main():
    example, copy, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    missing = os.environ.get("DTL_EXAMPLE_WITHOUT", "").split()
    left_out = {**LEFT_OUT, **dict.fromkeys(missing, "modules that are not here")}
    output, compared, mpirun = None, 0, None
    for item in documented.readme_items(os.path.join(example, "README.md")):
        if item.kind == "command":
            first, output = item.text.split()[0], None
            if mpirun and item.text != mpirun.replace("mpirun", "dtlaunch", 1):
                fail(item, f"not the line of mpirun above it: {item.text}")
            mpirun = item.text if first == "mpirun" else None
            if first in left_out:
                print(f"{item.where()}: not run here, it wants {left_out[first]}: {short(item.text)}")
            else:
                output = run(item, copy, words)
                compared += made_again(item, example, copy)
        elif output is not None:
            for shown in item.text.splitlines():
                if shown.strip() and not any(agrees(shown.strip(), line.strip()) for line in output.splitlines()):
                    fail(item, f"'{shown}' is not printed, but:\n{output}")
                compared += 1
    if not compared:
        sys.exit(f"FAILED: {example}: its README.md shows nothing that a command prints")
    files = sorted(name for name in os.listdir(example) if os.path.isfile(os.path.join(example, name)))
    changed = [name for name in files
               if not filecmp.cmp(os.path.join(example, name), os.path.join(copy, name), shallow=False)]
    if changed:
        sys.exit(f"FAILED: {example}: the commands change {', '.join(changed)}")


if __name__ == "__main__":
    main()
