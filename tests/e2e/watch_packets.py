#!/usr/bin/env python3
"""Reads all packets of an interface: watch_packets.py INTERFACE TEXT. Says "ready"; and, once a packet for
UDP port 9 has passed, in how many packets before it the text was."""

import socket
import struct
import sys

ALL, IPV4, UDP, DISCARD = 3, 0x0800, 17, 9
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
packets.bind((sys.argv[1], 0))
packets.settimeout(60)
print("ready", flush=True)
text, found = sys.argv[2].encode(), 0
while True:
    packet = packets.recv(1 << 17)
    kind, protocol, port = struct.unpack_from("!12xH9xB12xH", packet.ljust(38, b"\0"))
    if (kind, protocol, port) == (IPV4, UDP, DISCARD):
        break
    found += text in packet
print(found)
