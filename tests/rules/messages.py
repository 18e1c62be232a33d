#!/usr/bin/env python3
"""Messages have one shape, "PROGRAM: WHERE: WHAT: WHY. Try: COMMAND": messages.py [ROOT].

Takes the text out of every call that makes a message (Error(), option_error(), file_error(), log_notice() ...)
in the sources of the seven folders, and checks what a machine can: base/error.cc alone writes "Try:", options
are not quoted, files and hosts come first, sentences begin small and end without a period, and a mistake of
the user has a hint.
"""

import pathlib
import re
import sys

import cpp

FOLDERS = ("base", "plan", "wire", "ring", "agent", "launcher", "trainer")
# Calls that make messages -> the number of arguments of a call with a hint; 0: never has one.
CALLS = {"Error": 4, "option_error": 3, "file_error": 4, "system_error": 0, "fork_error": 0, "cannot_read": 0, "message_text": 3,
         "log_error": 0, "log_notice": 0, "refuse": 0, "refuse_patch": 0, "bad_value": 0, "bad": 0, "error": 0}
CALL = re.compile(rf"(?<![\w:])(?:\w+(?:\.|->))?({'|'.join(CALLS)})\s*\(")
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"(?:\s*"((?:\\.|[^"\\\n])*)")*')
# In these folders, most mistakes are in the user's command line, hostfile or job file.
HINTED = ("launcher", "plan")
# Names that keep their capital at the start of a sentence.
NAMES = {"Flux", "Kubernetes", "Linux", "Open", "PBS", "Python", "Slurm", "Intel", "Hydra", "TLS", "DNS", "JSON"}
WRONG = (
    (re.compile(r"(?<!\bthere )\b(?:is|are) no (?!longer\b)"), 'write "is not a" in the place of "is no"'),
    (re.compile(r"'--?[a-z]"), "an option has no quotes: it stands as it was typed"),
    (re.compile(r"^cannot (?:read|write|open) '"), "the file comes first: FILE: cannot read: WHY"),
    (re.compile(r"^(?:option|unknown option|pattern) '"), "the option comes first: -np 3x: WHY"),
    (re.compile(r"\bTry: "), "give the hint to the function that writes \"Try:\""),
    (re.compile(r"(?<=[^.\s])\.$"), "no period at the end: \". Try:\" follows"),
)
# (file, text in it): why it is allowed.
ALLOWED = {
    ("base/error.cc", "Try: "): "the one function that writes it",
    ("trainer/tokens/wordpiece_files.cc", ". Try: "): "notices, which are kept as whole lines",
    ("trainer/checkpoint/checkpoint_writer.cc", ". Try: "): "a notice, which is kept as a whole line",
}


def arguments(text, start, end):
    """The arguments between two brackets, each as (begin, end)."""
    found, depth, begin = [], 0, start
    for at in range(start, end):
        depth += (text[at] in "({[") - (text[at] in ")}]")
        if text[at] == "," and depth == 0:
            found.append((begin, at))
            begin = at + 1
    return found + [(begin, end)] if text[start:end].strip() else found


def literals(source):
    """The texts of an argument; pieces that the compiler joins are joined."""
    for match in LITERAL.finditer(source):
        yield "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', match[0]))


def begins_large(text):
    word = re.match(r"[A-Z][\w-]*", text)
    return bool(word) and word[0] not in NAMES and not word[0].isupper() and "_" not in word[0]


def faults(file, name, texts, brackets):
    first = True
    for text in texts:
        for piece in literals(text):
            if any(file == where and part in piece for where, part in ALLOWED):
                continue
            for pattern, why in WRONG[4:]:
                if pattern.search(piece):
                    yield f'"{piece}": {why}'
            if first and begins_large(piece):
                yield f'"{piece}": a message begins small'
            first = False
    usage = name == "option_error" or (name == "Error" and texts and texts[0].strip() == "Exit::kUsage")
    mistake = usage or name == "file_error"
    if not mistake or file.split("/")[0] not in HINTED:
        return
    wanted = CALLS[name]
    if len(texts) < wanted or texts[wanted - 1].strip() in ('""', "{}"):
        yield f"{brackets}: a mistake of the user has a hint"
    if usage and name == "Error":
        yield f"{brackets}: option_error() is for mistakes of a command line"


def check(root, path):
    file = str(path.relative_to(root))
    text = path.read_text()
    blank = cpp.blank(text)
    for call in CALL.finditer(blank):
        before = blank[:call.start()].rstrip()
        end = cpp.closing(blank, call.end() - 1)
        # Skip declarations and definitions, where a type precedes the name.
        if end is None or re.search(r"(?:\bError|\bvoid|explicit|std::string|[&*>])$", before):
            continue
        texts = [text[begin:stop] for begin, stop in arguments(blank, call.end(), end)]
        line = blank.count("\n", 0, call.start()) + 1
        for fault in faults(file, call[1], texts, call[1] + "()"):
            yield f"{file}:{line}: {fault}"
    # Reasons are also returned as texts; calls were checked above.
    for literal in LITERAL.finditer(text):
        if blank[literal.start()] != '"':
            continue  # in a comment
        for pattern, why in WRONG[:4]:
            if pattern.search(literal[1]):
                yield f'{file}:{text.count(chr(10), 0, literal.start()) + 1}: "{literal[1]}": {why}'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    files = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in (".cc", ".h"))
    wrong = [fault for path in files for fault in check(root, path)]
    print("\n".join(wrong) or f"the messages of {len(files)} files have one shape: kept")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
