"""Nodes with a dtpmix each, without agents or a launcher: this process is both. It starts ranks with the
variables that dtpmix gives, joins their fences and passes questions on, as a launcher does.

    with World(dtpmix, [2, 2]) as world:
        world.start(["./hello"])
        world.run(20)
"""

import collections
import os
import selectors
import shutil
import socket
import struct
import subprocess
import tempfile
import time

SERVE_PMIX, READY, FENCE, FENCED, WANTED, GIVEN = 45, 46, 47, 48, 49, 50
EXITED, TROUBLE, NOTICE, NEWS = 13, 18, 27, 44
EVENTS = {1: "aborted", 2: "left", 3: "broken"}

CRC_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    CRC_TABLE.append(_byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(value)) + value


def numbers(values):
    return struct.pack(f"<I{len(values)}I", len(values), *values)


class Reader:
    def __init__(self, body):
        self.body, self.at = body, 0

    def u32(self):
        self.at += 4
        return struct.unpack_from("<I", self.body, self.at - 4)[0]

    def u8(self):
        self.at += 1
        return self.body[self.at - 1]

    def text(self):
        size = self.u32()
        self.at += size
        return self.body[self.at - size:self.at]

    def numbers(self):
        return tuple(self.u32() for _ in range(self.u32()))


class Node:
    """A dtpmix, seen from its agent."""

    def __init__(self, dtpmix, number):
        self.number = number
        self.folder = tempfile.mkdtemp(prefix=f"dtpmix-test-{number}-")
        self.memory = tempfile.mkdtemp(prefix=f"dtpmix-test-{number}-", dir="/dev/shm")
        self.link, theirs = socket.socketpair()
        self.began = time.monotonic()

        def take_descriptor():
            os.dup2(theirs.fileno(), 3, inheritable=True)

        self.process = subprocess.Popen([dtpmix, "--serve", self.folder], preexec_fn=take_descriptor,
                                        pass_fds=(3,), stdin=subprocess.DEVNULL)
        theirs.close()
        self.sent, self.received = 0, b""
        self.variables = {}  # of each rank

    def send(self, kind, body):
        self.link.sendall(struct.pack("<IHHII", len(body), kind, 0, crc32c(body), self.sent) + body)
        self.sent += 1

    def read(self):
        """The messages that have come; None at the end."""
        piece = self.link.recv(1 << 20)
        if not piece:
            return None
        self.received += piece
        messages = []
        while len(self.received) >= 16:
            size, kind = struct.unpack_from("<IH", self.received)
            if len(self.received) < 16 + size:
                break
            messages.append((kind, Reader(self.received[16:16 + size])))
            self.received = self.received[16 + size:]
        return messages

    def memory_kib(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


class World:
    def __init__(self, dtpmix, ranks_of_nodes, programs=None, space=None):
        self.space = space or f"test{os.getpid():x}{time.monotonic_ns():x}.0"
        self.places = [node for node, count in enumerate(ranks_of_nodes) for _ in range(count)]
        self.programs = programs or [0] * len(self.places)
        self.nodes = [Node(dtpmix, number) for number in range(len(ranks_of_nodes))]
        self.ranks = {}  # their processes
        self.statuses = {}
        self.output = collections.defaultdict(bytes)
        self.news, self.notices, self.fences, self.questions = [], [], 0, 0
        self.parts = collections.defaultdict(dict)  # of a fence: by its ranks, then by node
        self.selector = selectors.DefaultSelector()

    def __enter__(self):
        hosts = [f"node{node.number + 1}" for node in self.nodes]
        for node in self.nodes:
            self.selector.register(node.link, selectors.EVENT_READ, node)
            node.send(SERVE_PMIX, text(self.space) + struct.pack("<II", node.number, len(hosts)) +
                      b"".join(map(text, hosts)) + struct.pack("<I", len(self.places)) +
                      b"".join(struct.pack("<II", *place) for place in zip(self.places, self.programs)))
        deadline = time.monotonic() + 20
        while any(rank not in self.nodes[node].variables for rank, node in enumerate(self.places)):
            self.turn(deadline)
        return self

    def __exit__(self, *_):
        for rank, process in self.ranks.items():
            if rank not in self.statuses:
                process.kill()
                process.wait()
        self.selector.close()
        self.endings = []
        for node in self.nodes:
            node.link.close()
            began = time.monotonic()
            status = node.process.wait(10)
            self.endings.append((status, time.monotonic() - began, os.listdir(node.folder) + os.listdir(node.memory)))
            shutil.rmtree(node.folder)
            shutil.rmtree(node.memory)

    def start(self, command, ranks=None, **more):
        for rank in range(len(self.places)) if ranks is None else ranks:
            environment = {name: value for name, value in os.environ.items()
                           if not name.startswith(("PMI", "OMPI_"))}
            environment.update(OMPI_MCA_orte_local_daemon_uri="0.0;tcp://127.0.0.1:1",
                               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            # Shared memory of Open MPI is named after host and local rank, and our nodes are one host.
            folder = self.nodes[self.places[rank]].memory
            environment.update(OMPI_MCA_btl_vader_backing_directory=folder, OMPI_MCA_btl_sm_backing_directory=folder)
            environment.update(self.nodes[self.places[rank]].variables[rank])
            environment.update(more)
            words = command(rank) if callable(command) else command
            process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.ranks[rank] = process
            self.selector.register(process.stdout, selectors.EVENT_READ, rank)

    def run(self, seconds, until=None):
        """Until all ranks have ended, or until() is true; asserts that this happens in time."""
        deadline = time.monotonic() + seconds
        while len(self.statuses) < len(self.ranks) and not (until and until()):
            self.turn(deadline)

    def settle(self, seconds=0.3):
        """Takes what comes in that time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.turn(end, late=lambda: None)

    def turn(self, deadline, late=None):
        events = self.selector.select(max(0, deadline - time.monotonic()))
        if not events and time.monotonic() >= deadline:
            if late:
                return late()
            raise AssertionError(f"too late; statuses {self.statuses}, news {self.news}, "
                                 f"output {dict(self.output)}")
        for key, _ in events:
            if isinstance(key.data, Node):
                self.take_messages(key.data)
            else:
                self.take_output(key.fileobj, key.data)

    def take_output(self, pipe, rank):
        piece = os.read(pipe.fileno(), 65536)
        self.output[rank] += piece
        if piece:
            return
        self.selector.unregister(pipe)
        pipe.close()
        status = self.ranks[rank].wait()
        self.statuses[rank] = status
        self.nodes[self.places[rank]].send(EXITED, struct.pack("<IIIQI", rank, max(0, status),
                                                               max(0, -status), 0, 0))

    def take_messages(self, node):
        messages = node.read()
        assert messages is not None, f"node {node.number}: dtpmix ended, status {node.process.wait(5)}"
        for kind, body in messages:
            if kind == READY:
                rank = body.u32()
                variables = [body.text().decode() for _ in range(body.u32())]
                node.variables[rank] = dict(each.split("=", 1) for each in variables)
                node.ready_s = time.monotonic() - node.began
            elif kind == FENCE:
                self.take_fence(node, body)
            elif kind == WANTED:
                self.questions += 1
                self.nodes[self.places[body.u32()]].send(WANTED, body.body)
            elif kind == GIVEN:
                self.nodes[body.u32()].send(GIVEN, body.body)
            elif kind == NEWS:
                self.news.append((body.u32(), EVENTS[body.u8()], body.u32(), body.text().decode()))
            elif kind == NOTICE:
                self.notices.append(body.text().decode())
            elif kind == TROUBLE:
                raise AssertionError(body.text().decode())

    def take_fence(self, node, body):
        ranks, data, more = body.numbers(), body.text(), body.u8()
        members = ranks or range(len(self.places))
        parts, done = self.parts[ranks].get(node.number, (b"", False))
        assert not done, "a second fence of the same ranks before the first has ended"
        self.parts[ranks][node.number] = (parts + data, not more)
        nodes = {self.places[rank] for rank in members}
        if {number for number, (_, whole) in self.parts[ranks].items() if whole} != nodes:
            return
        joined = b"".join(self.parts[ranks][number][0] for number in sorted(nodes))
        del self.parts[ranks]
        self.fences += 1
        for number in nodes:
            for at in range(0, max(1, len(joined)), 512 << 10):
                part = joined[at:at + (512 << 10)]
                self.nodes[number].send(FENCED, numbers(ranks) + text(part) +
                                        struct.pack("<B", at + len(part) < len(joined)))
