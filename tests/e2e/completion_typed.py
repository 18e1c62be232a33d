#!/usr/bin/env python3
"""completion_typed.py SCRIPT LINE...: types each line and TAB into an interactive bash that has read
SCRIPT, in the current folder, and prints the line that bash has made of it."""
import os
import pty
import select
import sys
import tempfile
import time

DEADLINE_S = 20


def await_file(terminal, path):
    """Reads what the terminal shows, so that bash can go on, until the file is there."""
    end = time.monotonic() + DEADLINE_S
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit("bash did not answer")
        if select.select([terminal], [], [], 0.02)[0]:
            os.read(terminal, 65536)
    with open(path, encoding="utf-8") as file:
        answer = file.read()
    os.unlink(path)
    return answer


def main():
    script, lines = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "answer")
        child, terminal = pty.fork()
        if child == 0:
            os.environ["TERM"] = "dumb"
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        # ^X^D removes the line and writes it to a file at once.
        bind = (f"""bind -x '"\\C-x\\C-d": printf "%s" "$READLINE_LINE" >{answer}.new; """
                f"""mv {answer}.new {answer}; READLINE_LINE='""")
        os.write(terminal, f". '{script}'; {bind}; echo >{answer}\n".encode())
        await_file(terminal, answer)
        for line in lines:
            os.write(terminal, (line + "\t\x18\x04").encode())
            print(await_file(terminal, answer))
        os.write(terminal, b"exit\n")


main()
