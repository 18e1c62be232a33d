"""Functions of C++ sources, found without a compiler: what the rules size.py and used.py read.

Brackets are counted in a text whose comments, literals and preprocessor lines are blank. Knows what
this tree's clang-format writes, not all of C++: a macro that opens a brace it does not close is beyond it.
"""

import bisect
import dataclasses
import pathlib
import re
import subprocess

LITERALS = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/            # comments
      | (?<![\w])(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'    # not 1'000
      | ^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*     # preprocessor
    """, re.X | re.S | re.M)
NO_NAMES = {"alignas", "decltype", "noexcept", "requires", "explicit", "__attribute__", "if", "while", "for",
            "switch", "return", "sizeof", "catch", "throw"}


@dataclasses.dataclass
class Function:
    name: str           # as spelled before its parameters: "Tokenizer::encode", "operator=="
    scopes: tuple       # classes around it, outermost first
    head: str           # all before the brace
    parameters: int
    begin: int          # start of its head, in the blanked text
    body: int           # its opening brace
    end: int            # after its closing brace
    external_c: bool    # inside extern "C" { }

    @property
    def classes(self):
        """The class that it is a member of, and those around that; none for a free function."""
        return tuple(part for scope in self.scopes for part in scope.split("::")) + tuple(re.sub(r"<.*", "", part) for part in self.name.split("::")[:-1])

    @property
    def short(self):
        return self.name.split("::")[-1]


def blank(text):
    """The text without comments, literals and directives; every character stays where it was."""
    def replace(match):
        found = match[0]
        kept = re.sub(r"[^\n]", " ", found)
        return '"' + kept[1:-1] + '"' if found[0] in "\"'" and len(found) > 1 else kept
    return LITERALS.sub(replace, text)


def closing(text, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for match in re.compile(r"[(){}\[\]]").finditer(text, at):
        depth += 1 if match[0] in "({[" else -1
        if depth == 0:
            return match.start()
    return len(text) - 1


def count_parameters(text):
    inside = text.strip()
    if inside in ("", "void"):
        return 0
    depth, count = 0, 1
    for character in inside.replace("->", "  ").replace("<=", "  ").replace(">=", "  "):
        depth += (character in "(<[{") - (character in ")>]}")
        count += character == "," and depth == 0
    return count


def without_template(head):
    """The head less its template parameters, as blanks."""
    while match := re.match(r"\s*template\s*<", head):
        depth, at = 1, match.end()
        while depth and at < len(head):
            depth += (head[at] == "<") - (head[at] == ">" and head[at - 1] != "-")
            at += 1
        head = " " * at + head[at:]
    return head


def parameter_list(head):
    """(name, place of its parenthesis) of the function that a head declares, or None."""
    depth = 0
    for match in re.finditer(r"[(){}\[\]]", head):
        if match[0] == "(" and depth == 0:
            before = head[:match.start()].rstrip()
            name = re.search(r"((?:[\w~]+(?:<[^()]*>)?::)*(?:operator\s*(?:\W{1,3}|\"\"\s*\w+|[\w:<>*& ]+)|~?\w+))$", before)
            if before.endswith("operator"):
                pass  # operator()(...): try the next one
            elif name and name[1] not in NO_NAMES and not re.search(r"=\s*$|[^=!<>]=[^=]", re.sub(r"operator\W*", "", before)):
                return name[1], match.start()
        depth += 1 if match[0] in "({[" else -1
    return None


class Reader:
    def __init__(self, text):
        self.text = text
        self.functions = []

    def read(self, at, end, scopes, external_c):
        """The declarations of a namespace or a class, from `at` to `end`."""
        begin = at
        marks = re.compile(r"[;{}(\[]|\b(?:public|private|protected)\s*:")
        while (match := marks.search(self.text, at)) and match.start() < end:
            at = match.end()
            if match[0] in "([":
                at = closing(self.text, match.start()) + 1
            elif match[0] == "{":
                stop = min(closing(self.text, match.start()), end)
                ended = self.block(begin, match.start(), stop, scopes, external_c)
                at = stop + 1
                begin = at if ended else begin
            else:
                begin = at

    def block(self, begin, brace, stop, scopes, external_c):
        """One pair of braces; whether it ends what it belongs to."""
        raw = self.text[begin:brace]
        head = without_template(raw)
        if re.match(r'\s*(?:inline\s+)?namespace\b', head) or re.fullmatch(r'\s*extern\s*"\s*"\s*', head):
            self.read(brace + 1, stop, scopes, external_c or "extern" in head)
            return True
        plain = re.sub(r"\b(?:alignas|__attribute__)\s*\([^{]*?\)+", "", head)
        kind = re.match(r"\s*(?:typedef\s+|static\s+|constexpr\s+|const\s+|inline\s+)*(class|struct|union|enum)\b([^({=]*)$", plain)
        if kind:
            if kind[1] != "enum":
                name = re.sub(r"\[\[.*?\]\]|\bfinal\b|:(?!:).*", " ", kind[2].replace("::", "\0")).replace("\0", "::").split()
                self.read(brace + 1, stop, scopes + ((name[0] if name else ""),), external_c)
            return False  # a variable may follow; the semicolon ends it
        found = parameter_list(head)
        if not found:
            return False
        name, at = found
        behind = head[closing(head, at) + 1:]
        if re.match(r"\s*(?:noexcept\s*)?:(?!:)", behind) and re.search(r"[\w>]$", behind.rstrip()):
            return False  # ctor() : member_{
        if re.search(r"(?<![=!<>])=(?!=)\s*$", behind):
            return False
        first = begin + len(raw) - len(raw.lstrip())
        self.functions.append(Function(name.strip(), scopes, raw, count_parameters(head[at + 1:closing(head, at)]),
                                       first, brace, stop + 1, external_c))
        return True


def functions_of(blanked):
    reader = Reader(blanked)
    reader.read(0, len(blanked), (), False)
    return reader.functions


class Lines:
    """The number of the line of a place in a text."""
    def __init__(self, text):
        self.ends = [m.start() for m in re.finditer("\n", text)]

    def at(self, place):
        return bisect.bisect_left(self.ends, place) + 1


def project_files(root):
    """The files that belong to the project, as lib.sh's project_files names them."""
    lib = pathlib.Path(__file__).with_name("lib.sh")
    listed = subprocess.run(["bash", "-c", '. "$1"; project_files "$2"', "bash", lib, root],
                            capture_output=True, text=True, check=True).stdout
    return listed.splitlines()
