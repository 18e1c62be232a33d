#!/usr/bin/env python3
"""Plays systemd for dtagent --service: passes a listening socket and a notify socket, and writes
every notification to a file, one line each. Ends with its child; SIGTERM is passed on.
usage: service_manager.py SOCKET NOTIFICATIONS COMMAND...
"""
import os, signal, socket, subprocess, sys

path, log, command = sys.argv[1], sys.argv[2], sys.argv[3:]
os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
os.chmod(os.path.dirname(path), 0o700)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
os.chmod(path, 0o600)
listener.listen(8)
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind("\0dtlaunch-notify-test")  # an abstract address
notify.settimeout(0.2)


def in_child():
    os.dup2(listener.fileno(), 3)
    os.environ["LISTEN_PID"] = str(os.getpid())


environment = dict(os.environ, LISTEN_FDS="1", LISTEN_FDNAMES="dtagent", WATCHDOG_USEC="400000",
                   NOTIFY_SOCKET="@dtlaunch-notify-test")
# LISTEN_PID must be the child's own pid, so start a shell that sets it.
child = subprocess.Popen(["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *command],
                         env=environment, pass_fds=(3,), close_fds=True,
                         preexec_fn=in_child)
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
with open(log, "a", buffering=1) as file:
    while child.poll() is None:
        try:
            file.write(notify.recv(4096).decode().replace("\n", " ") + "\n")
        except TimeoutError:
            pass
    notify.setblocking(False)
    try:
        while True:
            file.write(notify.recv(4096).decode().replace("\n", " ") + "\n")
    except BlockingIOError:
        pass
sys.exit(child.returncode)
