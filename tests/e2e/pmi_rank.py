#!/usr/bin/env python3
"""A rank that speaks PMI-1 as an MPI library does, for machines without one.

pmi_rank.py [exchange]      put a key, meet the others in a barrier, read everybody's key
pmi_rank.py large           the same with another key of 900 bytes for each rank
pmi_rank.py ACTION RANK     the same, but that rank does something else:
    abort       calls abort with code 7 before the barrier
    leave       exits with status 0 in the middle
    absent      exits with status 0 without having said anything
    vanish      is killed in the middle
    nonsense    writes what is no command
    flood       writes a line without end
    spawn       asks for more processes, and goes on
    child       has a child that begins anew on the inherited connection
    wait        kills nobody: prints "waiting" and sleeps before the barrier
"""
import os
import signal
import socket
import subprocess
import sys
import time


class Pmi:
    def __init__(self):
        self.socket = socket.socket(fileno=os.dup(int(os.environ["PMI_FD"])))
        self.lines = self.socket.makefile("r")
        self.rank = int(os.environ["PMI_RANK"])
        self.size = int(os.environ["PMI_SIZE"])

    def send(self, text):
        self.socket.sendall(text.encode())

    def ask(self, command):
        self.send(command + "\n")
        line = self.lines.readline().rstrip("\n")
        if not line:
            sys.exit("the PMI server has closed the connection")
        answer = dict(word.split("=", 1) for word in line.split(" ", 3) if "=" in word)
        if "value=" in line:
            answer["value"] = line.split("value=", 1)[1]
        return answer

    def init(self):
        self.ask("cmd=init pmi_version=1 pmi_subversion=1")
        self.space = self.ask("cmd=get_my_kvsname")["kvsname"]

    def put(self, key, value):
        self.ask(f"cmd=put kvsname={self.space} key={key} value={value}")

    def get(self, key):
        return self.ask(f"cmd=get kvsname={self.space} key={key}").get("value")

    def barrier(self):
        self.ask("cmd=barrier_in")


def act(pmi, action):
    if action == "abort":
        pmi.send("cmd=abort exitcode=7\n")
        sys.exit(7)
    if action == "leave":
        sys.exit(0)
    if action == "vanish":
        os.kill(os.getpid(), signal.SIGKILL)
    if action == "nonsense":
        pmi.send("GET / HTTP/1.1\n")
    if action == "flood":
        for _ in range(64):
            pmi.send("x" * 4096)
    if action == "spawn":
        pmi.send("mcmd=spawn\nnprocs=1\nexecname=true\nendcmd\n")
        print("spawn:", pmi.lines.readline().strip())
    if action == "child":
        code = "import os, socket; s = socket.socket(fileno=4); s.sendall(b'cmd=init pmi_version=1 pmi_subversion=1\\n')"
        subprocess.run([sys.executable, "-c", code], pass_fds=(4,))
    if action == "wait":
        print("waiting", flush=True)
        time.sleep(120)


def main():
    action = sys.argv[1] if len(sys.argv) > 1 else "exchange"
    rank = int(sys.argv[2]) if len(sys.argv) > 2 else -1
    if action == "absent" and rank == int(os.environ["RANK"]):
        return
    pmi = Pmi()
    pmi.init()
    pmi.put(f"card-{pmi.rank}", f"of rank {pmi.rank} on {os.environ['DTLAUNCH_HOST']}")
    if pmi.rank == rank:
        act(pmi, action)
    large = "x" * (900 if action == "large" else 0)
    if large:
        pmi.put(f"large-{pmi.rank}", large)
    pmi.barrier()
    if large and any(pmi.get(f"large-{other}") != large for other in range(pmi.size)):
        sys.exit("a large card is missing or differs")
    seen = [pmi.get(f"card-{other}") for other in range(pmi.size)]
    mapping = pmi.get("PMI_process_mapping")
    pmi.barrier()
    pmi.ask("cmd=finalize")
    print(f"rank {pmi.rank} of {pmi.size}: {'; '.join(str(card) for card in seen)}: {mapping}")


main()
