"""Lines of real text of many languages that a Debian system has: documentation, manuals, package
descriptions, translated messages, names of characters and places. Nothing of it is kept.
"""
import gzip
import os
import random
import struct
from pathlib import Path

PLACES = ["/usr/share", "/var/lib/apt/lists", "/var/lib/dpkg", "/usr/lib/python3", "/usr/lib/python3.11",
          "/usr/include"]
LONGEST_FILE = 8 << 20
LONGEST_LINE = 3000  # characters; longer lines are cut into pieces


def messages(data):
    """The translations of a gettext catalogue (.mo)."""
    magic, _, count, _, table = struct.unpack_from("<5I", data)
    if magic != 0x950412DE:
        return ""
    texts = []
    for i in range(count):
        length, at = struct.unpack_from("<2I", data, table + 8 * i)
        texts.append(data[at:at + length].replace(b"\0", b"\n"))
    return b"\n".join(texts)


def content(path):
    """The text of a file, or None if it is not text."""
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > LONGEST_FILE:
            return None
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)[:4 * LONGEST_FILE]
        if path.suffix == ".mo":
            data = messages(data)
        return data.decode("utf-8")
    except (OSError, EOFError, ValueError, struct.error, UnicodeDecodeError):
        return None


def files(seed):
    """All files below PLACES, in an order that only the seed and the system decide."""
    found = []
    for place in PLACES:
        for folder, folders, names in os.walk(place):
            folders.sort()
            found += [os.path.join(folder, name) for name in names]
    found.sort()
    random.Random(seed).shuffle(found)
    return map(Path, found)


def lines(count, seed):
    """Up to `count` lines that are not blank and not twice in the same file."""
    given = 0
    for path in files(seed):
        text = content(path)
        if not text:
            continue
        for line in dict.fromkeys(text.split("\n")):
            for start in range(0, len(line), LONGEST_LINE):
                if not line.strip():
                    continue
                yield line[start:start + LONGEST_LINE]
                given += 1
                if given >= count:
                    return
