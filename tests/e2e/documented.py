"""What README.md, docs/*.md and the EXAMPLES of man/* tell a reader to type, as documents.sh runs it.

A document is read into items, in the order of its lines:
  command  one line for the shell, continued lines put together, with the output shown below it, if any
  file     a hostfile, a job file or a C program that the reader is to write
In README.md and docs/*.md these are blocks indented by four, and commands of two words or more between backticks; in
a man page the .Dl lines and literal displays of its section EXAMPLES, where "$ " begins a command.
"""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PROGRAMS = ("salloc", "sbatch", "squeue", "scontrol", "dtlaunch", "dttrain", "dtring-perf", "dtagent", "mpirun", "man",
            "systemctl", "journalctl", "pip", "hf", "kubectl", "apt", "apt-get", "sudo", "cmake", "ctest", "python3",
            "cc", "ssh", "podman", "dnf", "eval", "export", "id")


class Item:
    def __init__(self, document, line, kind, text):
        self.document, self.line, self.kind, self.text = document, line, kind, text
        self.shown = []  # of a command: the output that stands below it

    def where(self):
        return f"{self.document}:{self.line}"


def is_command(line):
    """Begins with a program that documents speak of, or with one of this tree."""
    first = line.split()[0] if line.split() else ""
    path = os.path.join(ROOT, first)
    return first in PROGRAMS or "/" in first and os.path.isfile(path) and os.access(path, os.X_OK)


def without_comment(line):
    return re.sub(r"\s+#\s.*$", "", line).rstrip()


def commands_of(document, number, lines):
    """Items of lines that are all commands, numbered from `number`."""
    items, begun, text = [], number, ""
    for offset, line in enumerate(lines):
        if not text:
            begun = number + offset
        text += line
        if line.endswith("\\"):
            text += "\n"
        elif text.strip():
            items.append(Item(document, begun, "command", without_comment(text.strip())))
            text = ""
        else:
            text = ""
    if text:
        raise SystemExit(f"{document}:{begun}: a command that is continued, and ends")
    return items


def session_of(document, number, lines):
    """Items of a terminal session: "$ " begins a command, what follows it is shown output."""
    items, index = [], 0
    while index < len(lines):
        begun = index
        if not lines[index].startswith("$ "):
            raise SystemExit(f"{document}:{number + index}: a session begins with a command, \"$ ...\"")
        while lines[index].endswith("\\"):
            index += 1
        index += 1
        text = "\n".join(lines[begun:index])[2:]
        items += commands_of(document, number + begun, text.split("\n"))
        while index < len(lines) and not lines[index].startswith("$ "):
            items[-1].shown.append(lines[index])
            index += 1
    return items


def readme_items(path):
    document, items = os.path.relpath(path, ROOT), []
    lines = open(path, encoding="utf-8").read().split("\n")
    number = 0
    while number < len(lines):
        block = number
        if re.match(r"\s*```", lines[number]):
            raise SystemExit(f"{document}:{number + 1}: blocks are indented here, not fenced")
        while number < len(lines) and (lines[number].startswith("    ") or not lines[number].strip()):
            number += 1
        text = [line[4:].rstrip() for line in lines[block:number]]
        first = next((index for index, line in enumerate(text) if line), None)
        if first is not None:
            text = "\n".join(text[first:]).rstrip().split("\n")
            at = block + first + 1
            items += commands_of(document, at, text) if is_command(text[0]) else [
                Item(document, at, "file", "\n".join(text) + "\n")]
        if number == block or number < len(lines):
            items += inline_commands(document, lines, number)
            number += 1
    return items


def inline_commands(document, lines, number):
    """Commands between backticks that end on line `number`, which may have begun on the one before."""
    here, before = lines[number], lines[number - 1] if number else ""
    found = []
    if before.count("`") % 2:  # a quotation goes on from the line before
        found.append(before.rpartition("`")[2] + " " + here.partition("`")[0])
        here = here.partition("`")[2]
    found += re.findall(r"`([^`]+)`", here)
    return [Item(document, number + 1, "command", words) for words in found
            if len(words.split()) > 1 and is_command(words) and words not in subcommands()]


def subcommands():
    """"dtlaunch ps" and its kin: names between backticks, which the pages dtlaunch-*.1 are about."""
    folder, names = os.path.join(ROOT, "man"), []
    for page in os.listdir(folder):
        with open(os.path.join(folder, page), encoding="utf-8") as file:
            for found in re.findall(r'^\.\\" subcommands: (.*)', file.read(), re.M):
                names += ["dtlaunch " + name for name in found.split()]
    return names


def plain(line):
    """A line of a literal display as mandoc prints it."""
    for code, text in ((r"\e", "\\"), (r"\&", ""), (r"\-", "-"), (r"\(aq", "'"), (r"\(dq", '"')):
        line = line.replace(code, text)
    return line


def page_items(path):
    document, items = os.path.relpath(path, ROOT), []
    lines = open(path, encoding="utf-8").read().split("\n")
    inside, display = False, None
    for number, line in enumerate(lines, 1):
        if line.startswith(".Sh "):
            inside = line == ".Sh EXAMPLES"
        elif not inside:
            continue
        elif line.startswith(".Dl "):
            text = plain(line[4:])
            if not text.startswith("$ ") or '"' in text:
                raise SystemExit(f"{document}:{number}: an example in .Dl is \"$ command\", without \"")
            items += session_of(document, number, [text])
        elif line.startswith((".Bd -literal", ".Bd -unfilled")):
            display, begun = [], number + 1
        elif line.startswith(".Ed"):
            session = any(text.startswith("$ ") for text in display)
            items += session_of(document, begun, display) if session else [
                Item(document, begun, "file", "\n".join(display) + "\n")]
            display = None
        elif display is not None:
            display.append(plain(line))
    return items


def documents():
    """Names of all that is read, README.md first."""
    guides = sorted(name for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))
    pages = sorted(name for name in os.listdir(os.path.join(ROOT, "man")) if re.search(r"\.[1-9]$", name))
    return ["README.md"] + ["docs/" + name for name in guides] + ["man/" + name for name in pages]


def items_of(document):
    path = os.path.join(ROOT, document)
    return readme_items(path) if document.endswith(".md") else page_items(path)


def file_kind(item):
    """Which kind of file a reader is to write: what it is checked as."""
    lines = [line for line in item.text.split("\n") if line.strip()]
    if lines[0].startswith("#include"):
        return "c"
    if re.match(r"\[|[\w.]+ = ", lines[0]) and re.search(r"^[\w.]+ = ", item.text, re.M):
        return "job file"
    if all(re.fullmatch(r"(#.*|[\w@.\[\]-]+(:\d+)?( \w+=\S+)*\s*(#.*)?)", line) for line in lines):
        return "hostfile"
    raise SystemExit(f"{item.where()}: neither commands nor a kind of file that is known here")
