#!/usr/bin/env python3
"""dtlaunch top on a terminal of 80x24. usage: top_terminal.py DTLAUNCH JOB quit|kill|FILE

Rank 2 of the job is stopped and others wait for it. FILE: the job ends when it exists."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

DTLAUNCH, JOB, ACT = sys.argv[1:4]
DEADLINE_S = 20


def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Terminal:
    """dtlaunch top in a session and a group of its own, and what it has written."""

    def __init__(self):
        self.fd, other = pty.openpty()
        resize(self.fd, 80, 24)
        self.before = termios.tcgetattr(other)
        self.seen = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(other, termios.TIOCSCTTY, 0)
            for number in range(3):
                os.dup2(other, number)
            os.environ["TERM"] = "xterm"
            os.execv(DTLAUNCH, [DTLAUNCH, "top", "--period", "0.5", "--color", "never", JOB])
        self.other = other  # stays open, so that the settings can be read at the end

    def read(self):
        if select.select([self.fd], [], [], 0.05)[0]:
            self.seen += os.read(self.fd, 65536)

    def wait_for(self, pattern, what):
        end = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.seen, re.S):
            if time.monotonic() > end:
                sys.exit(f"top: waited in vain for {what}; seen: {self.seen[-3000:]!r}")
            self.read()

    def ended(self):
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read()
                return status
        sys.exit(f"top: does not end; seen: {self.seen[-3000:]!r}")


def check(condition, what, terminal):
    if not condition:
        sys.exit(f"top: {what}; seen: {terminal.seen[-3000:]!r}")


def pages(seen):
    """The lines of each page, as text."""
    shown = []
    for page in seen.split(b"\x1b[H")[1:]:
        text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", page).decode()
        shown.append(re.split("\r+\n", text))
    return shown


terminal = Terminal()
waits = rb"! ranks 0-1,3 wait in barrier for rank 2 \(node2"
terminal.wait_for(waits, "the straggler")
check(b"\x1b[?1049h" in terminal.seen, "takes the alternate screen", terminal)
for page in pages(terminal.seen):
    check(len(page) <= 24 and all(len(line) <= 80 for line in page), f"fits 80x24: {page}", terminal)
if ACT == "kill":
    os.kill(terminal.pid, signal.SIGKILL)
    check(os.WIFSIGNALED(terminal.ended()), "was killed", terminal)
    sys.exit(0)
if ACT != "quit":
    with open(ACT, "w", encoding="ascii"):
        pass
    status = terminal.ended()
    after = terminal.seen.split(b"\x1b[?1049l")[-1]
    check(os.waitstatus_to_exitcode(status) == 0, f"status {status}", terminal)
    check(re.search(rb"dtlaunch: job [0-9a-f]{16} has ended, with status 0\r\n", after), "says how", terminal)
    check(b"  RANK HOST " in after, "shows the last page", terminal)
    sys.exit(0)

# A narrower and lower terminal.
terminal.seen = b""
resize(terminal.fd, 80, 9)
os.kill(terminal.pid, signal.SIGWINCH)
terminal.wait_for(rb"more rank.*\x1b\[H.*more rank", "a lower page")
# ^Z gives the terminal back until the process continues.
terminal.seen = b""
os.write(terminal.fd, b"\x1a")
pid, status = os.waitpid(terminal.pid, os.WUNTRACED)
check(os.WIFSTOPPED(status), "^Z stops it", terminal)
terminal.wait_for(rb"\x1b\[\?1049l", "the usual screen")
check(termios.tcgetattr(terminal.other) == terminal.before, "the settings are restored", terminal)
os.kill(terminal.pid, signal.SIGCONT)
terminal.wait_for(rb"\x1b\[\?1049h.*" + waits, "the page again")
terminal.seen = b""
os.write(terminal.fd, b"xq")
check(os.waitstatus_to_exitcode(terminal.ended()) == 0, "ends by q", terminal)
check(terminal.seen.endswith(b"\x1b[?1049l"), "restores the screen", terminal)
check(termios.tcgetattr(terminal.other) == terminal.before, "restores the settings", terminal)
