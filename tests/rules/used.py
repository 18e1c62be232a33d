#!/usr/bin/env python3
"""Every function has a caller outside the tests: used.py [ROOT].

A function that the product defines is called by the product, or its name is taken there. Found by
names, without a compiler (after inlining, the symbols of programs no longer tell): a call of a
namesake hides a dead function, but a function that is complained about has no caller. Members are
told from free functions, and what only dead functions call is dead.
"""

import collections
import pathlib
import re
import sys

import cpp

PRODUCT = ("base", "plan", "wire", "ring", "agent", "launcher", "trainer")
OTHERS = ("tests", "bench")

# Function -> why it may exist without a caller.
EXCEPTIONS = {
    "topology_from": "machines of all kinds for the tests, read as this one is",
    "fmod_of_any_glibc": "SQLite calls it, as fmod",
    "TomlTypes::parse_int": "toml11 4 calls it",
    "TomlTypes::parse_float": "toml11 4 calls it",
}

NO_TYPE = {"return", "co_return", "co_await", "co_yield", "else", "do", "throw", "case", "new", "and", "or", "not"}


def is_type(before):
    """Whether a text ends as a type does before the name that it declares."""
    word = re.search(r"(\w+)\s+$", before)
    return word[1] not in NO_TYPE if word else re.search(r"[\w>\]][*&]{1,2}\s*$|>\s*$|\]\s+$", before) is not None


class File:
    def __init__(self, path, text):
        self.path, self.raw, self.text = path, text, cpp.blank(text)
        self.functions = cpp.functions_of(self.text)
        self.lines = cpp.Lines(self.text)

    def uses(self, names):
        """(name, its form, how many arguments it gets, the function around it), less declarations."""
        at, functions = 0, self.functions
        for match in re.finditer(r"[A-Za-z_]\w*", self.text):
            name = match[0]
            while at < len(functions) and functions[at].end <= match.start():
                at += 1
            if name in names:
                owner = functions[at] if at < len(functions) and functions[at].begin <= match.start() else None
                form = self.form(match, owner)
                if form:
                    yield name, form, self.arguments(match.end()), owner
        for line in re.findall(r"^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*", self.raw, re.M):
            for name in set(re.findall(r"[A-Za-z_]\w*", line)) & names:
                yield name, "free", None, None

    def arguments(self, at):
        """How many arguments a name is called with, rather fewer than more; None when it is no call."""
        call = re.match(r"\s*(?:<[^();{}]*>\s*)?\(", self.text[at:at + 200])
        if not call:
            return None
        opening = at + call.end() - 1
        return cpp.count_parameters(self.text[opening + 1:cpp.closing(self.text, opening)])

    def form(self, match, owner):
        """"member", "free", "own" (bare and called: free, or of the same class), a class, or None."""
        name, before = match[0], self.text[max(0, match.start() - 120):match.start()]
        called = re.match(r"\s*[(<]", self.text[match.end():match.end() + 20])
        if owner and match.start() < owner.body and name == owner.short:
            return None
        if re.search(r"(\.|->)\s*(template\s+)?$", before) and not before.endswith("..."):
            return "member" if called else None
        qualified = re.search(r"(\w+)(?:<[^<>()]*>)?\s*::\s*(?:template\s+)?$", before)
        if qualified:
            return "::" + qualified[1]
        if before.rstrip().endswith("::"):
            return "free"
        inside = owner is not None and match.start() > owner.body
        if is_type(before) and not (inside and called and re.search(r"\s(?:[*&>|]|&&|>>)\s+$", before)):
            return None
        if owner and self.is_local(name, owner):
            return None
        return "own" if called else "free"

    def is_local(self, name, owner):
        """Whether a variable or parameter of the function has this name."""
        text = self.text[owner.begin:owner.end]
        if re.search(rf"\bauto\s*&{{0,2}}\s*\[[^\]]*\b{name}\b", text):
            return True
        return any(is_type(text[max(0, m.start() - 60):m.start()]) and
                   not re.search(r"\s(?:[*&>|]|&&|>>)\s+$", text[:m.start()])
                   for m in re.finditer(rf"\b{name}\s*[=;,):{{(\[]", text)
                   if not (name == owner.short and m.start() < owner.body - owner.begin))


def key(function):
    """Class, name and number of parameters: overloads are told apart as far as that does."""
    return (function.classes[-1] if function.classes else "", function.short, function.parameters)


def is_root(function, overriding):
    """Called from elsewhere: by users of a C ABI, in place of glibc's, through a base class, by syntax."""
    short = function.short
    return (short == "main" or short.startswith("dt_") or function.external_c
            or re.match(r'\s*(\w+\s+)*(extern\s*"|DTL_HIDDEN\b)', function.head)
            or short.startswith("operator") or short.startswith("~") or short in function.classes
            or short in ("begin", "end") or (function.classes and short in overriding))


def bases_of(files):
    """class -> the classes that it derives from, directly or not."""
    direct = collections.defaultdict(set)
    for file in files:
        for name, bases in re.findall(r"\b(?:class|struct)\s+(\w+)[^;{}():]*:(?!:)([^;{}()]*)\{", file.text):
            direct[name] |= set(re.findall(r"\w+", bases))
    closed = {}
    for name in direct:
        seen, todo = set(), [name]
        while todo:
            for base in direct.get(todo.pop(), ()):
                if base not in seen:
                    seen.add(base)
                    todo.append(base)
        closed[name] = seen
    return closed


class Uses:
    """Which functions name which."""
    def __init__(self, files, functions):
        self.bases = bases_of(files)
        self.classes = {name for function in functions for name in function.classes}
        names = {function.short for function in functions}
        self.by_name = collections.defaultdict(set)  # name -> (form, arguments, classes and key of the owner)
        for file in files:
            for name, form, arguments, owner in file.uses(names):
                self.by_name[name].add((form, arguments, owner.classes if owner else (), owner and key(owner)))

    def related(self, one, other):
        return one == other or one in self.bases.get(other, ()) or other in self.bases.get(one, ())

    def names_it(self, function, form, classes):
        own = function.classes[-1] if function.classes else ""
        if not own:
            return form in ("free", "own") or (form.startswith("::") and form[2:] not in self.classes)
        if form.startswith("::"):
            return self.related(own, form[2:]) or form[2:] not in self.classes
        return form == "member" or (form in ("own", "free") and any(self.related(own, each) for each in classes))

    def callers(self, function):
        """Keys of the functions that name it; None stands for a table or a declaration."""
        most = 99 if "..." in function.head else function.parameters
        return {caller for form, arguments, classes, caller in self.by_name[function.short]
                if caller != key(function) and (arguments or 0) <= most and self.names_it(function, form, classes)}


def dead_functions(files):
    functions = [function for file in files for function in file.functions]
    uses = Uses(files, functions)
    overriding = {name for file in files for name in
                  re.findall(r"(\w+)\s*\([^;{}]*?\)[^;{}()]*\b(?:override|final)\b", file.text)}
    callers = {key(function): set() for function in functions}
    for function in functions:
        callers[key(function)] |= {""} if is_root(function, overriding) else uses.callers(function)
    dead = set()
    while True:
        more = {each for each, by in callers.items() if each not in dead and not by - dead}
        if not more:
            return dead
        dead |= more


def main():
    root = pathlib.Path(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parents[2])
    paths = [p for p in cpp.project_files(root) if p.endswith((".cc", ".h", ".c"))]
    read = {p: (root / p).read_text() for p in paths}
    files = [File(p, read[p]) for p in paths if p.split("/")[0] in PRODUCT]
    elsewhere = {p: set(re.findall(r"(\w+)\s*[(<]", read[p])) for p in paths if p.split("/")[0] in OTHERS}
    dead = dead_functions(files)
    complaints, told = [], set()
    for file in files:
        for function in file.functions:
            own = key(function)
            if own not in dead or own in told:
                continue
            told.add(own)
            name = "::".join(part for part in own[:2] if part)
            if name in EXCEPTIONS:
                continue
            where = sorted(p for p, words in elsewhere.items() if own[1] in words)
            who = f"called by tests alone: {where[0]}" if where else "nobody calls it"
            complaints.append(f"{file.path}:{file.lines.at(function.begin)}: {name}: {who}")
    defined = {"::".join(part for part in key(f)[:2] if part) for file in files for f in file.functions}
    names = {"::".join(part for part in own[:2] if part) for own in dead}
    complaints += [f"used.py: the exception {name} is not needed" for name in EXCEPTIONS if name in defined - names]
    print("\n".join(complaints + [f"the rule of uses: broken in {len(complaints)} place(s)"]
                    if complaints else ["the rule of uses: kept"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
