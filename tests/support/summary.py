#!/usr/bin/env python3
"""The closing lines of scripts/test: time per stage, the slowest tests, what was skipped and why, what failed.

usage: summary.py --seconds N --times FILE --unsteady FOLDER [--left-out TEXT]... RESULT...

A RESULT is a JUnit file of ctest (PRESET.junit.xml), the log of tests/fuzz/libfuzzer.sh (*.log) or
the table of tests/clean_room/clean_room or scripts/lint (*.tsv: what, seconds, "passed", "skipped" or
"failed", why). PRESET.again.junit.xml beside a JUnit file has the second try of what failed.

A test that failed and then passed, alone, is unsteady: it is named with what it said first, both outputs are kept
in FOLDER, and the run passes. Two unsteady tests fail the run, and so does a crash or a sanitizer's report at any try.
Exit status 1 when the run failed, or when one of the results has nothing that ran.
"""
import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

ROWS = {"clean_room": "promises kept in bare Debians", "lint": "change read by clang-tidy", "real_scripts": "runs of real scripts"}
WHAT = {"release": "tests of the release build", "asan": "unit tests under ASan and UBSan"}

SHOWN_LINES, LONGEST_LINE, SLOWEST = 12, 200, 10
UNSTEADY_ALLOWED = 1

# Never excused by a passing retry: sanitizer reports, and crashes of a test or of dtlaunch in a script.
CRASH = re.compile(r"^.*(?:ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|\bruntime error: "
                   r"|^watch_test: ended by signal|exit status 13[4569], not ).*$", re.M)


def minutes(seconds):
    return f"{seconds // 60} min {seconds % 60:2d} s"


class Case:
    """One try of one test."""

    def __init__(self, preset, element):
        self.name, self.preset = element.get("name"), preset
        self.seconds = float(element.get("time") or 0)
        self.output = element.findtext("system-out") or ""
        cpu = re.findall(r"^watch_test: CPU ([\d.]+) s$", self.output, re.M)
        self.cpu = f", CPU {float(cpu[-1]):.1f} s" if cpu else ""
        skipped = element.find("skipped")
        self.failed = element.find("failure") is not None or element.get("status") == "fail"
        self.skipped = skipped is not None or element.get("status") == "disabled"
        message = "" if skipped is None else skipped.get("message") or ""
        if self.skipped and not re.match(r"SKIP_|Disabled|$", message):
            self.failed, self.skipped = True, False  # ctest could not start it
            self.output += message
        # A share of a GoogleTest program: how many tests it has, and which it skipped.
        ran = re.search(r"^\[=+\] (\d+) tests? from .* ran\.", self.output, re.M)
        self.tests = int(ran[1]) if ran else 1
        self.skips = [] if self.skipped else re.findall(r"\n([^\n]+)\n+\[  SKIPPED \] (\S+) \(", self.output)

    @property
    def label(self):
        return f"{self.name} ({self.preset})"

    def crash(self):
        """The line that tells of a crash, or None."""
        found = CRASH.search(self.output)
        return found and found[0].strip()[:LONGEST_LINE]

    def reason(self):
        """The line that a skipped test printed about why."""
        lines = [line.strip() for line in self.output.splitlines()]
        for index, line in enumerate(lines):
            if re.search(r"skipp", line, re.I) and not line.startswith("["):
                after = lines[index + 1] if index + 1 < len(lines) else ""
                return after if re.fullmatch(r"\S+:\d+: Skipped", line) and after else line
        return "no reason given"

    def words(self):
        """What a failed test said from its first complaint on, else at last: its own log may be
        thousands of lines away."""
        lines = [line.rstrip()[:LONGEST_LINE] for line in self.output.splitlines() if line.strip()]
        complaint = next((i for i, line in enumerate(lines)
                          if re.search(r"FAILED:|: Failure$|^Traceback|Error:|^watch_test: hung", line)), len(lines))
        begin = max(0, min(complaint, len(lines) - SHOWN_LINES))
        return lines[begin:begin + SHOWN_LINES]


def read_cases(path):
    preset = path.name.split(".")[0]
    return [Case(preset, element) for element in tree.parse(path).iter("testcase")] if path.exists() else []


class Summary:
    def __init__(self, unsteady_folder, failing):
        self.counts, self.skipped, self.failed, self.words = [], {}, [], {}
        self.folder, self.failing, self.unsteady, self.slowest = unsteady_folder, failing, [], []

    def skip(self, name, why):
        self.skipped.setdefault(why, []).append(name)

    def fail(self, name, words=()):
        self.failed.append(name)
        self.words[name] = words

    def add_tests(self, path):
        preset = path.name.split(".")[0]
        if not path.exists():
            self.fail(f"ctest of {preset} wrote no results")
            return
        again = {case.name: case for case in read_cases(path.with_name(f"{preset}.again.junit.xml"))}
        cases = read_cases(path)
        for case in cases:
            if case.skipped:
                self.skip(case.name, case.reason())
            elif case.failed:
                self.judge(case, again.get(case.name))
            for why, name in case.skips:
                self.skip(name, why.strip())
        if preset in self.failing and not any(case.failed for case in cases):
            self.fail(f"ctest of {preset} reported failures, and its results name none")
        ran = [case for case in cases if not case.skipped]
        self.slowest += ran
        self.count(sum(case.tests - len(case.skips) for case in ran), WHAT.get(preset, f"tests of {preset}"))

    def judge(self, first, second):
        """A test that failed at its first try."""
        tries = [case for case in (first, second) if case]
        crash = next(filter(None, (case.crash() for case in tries)), None)
        if second is None or second.failed or second.skipped:
            self.fail(first.label, first.words())
        elif crash:
            self.fail(f"{first.label}: passed when it was run again, but a crash is not excused: {crash}", first.words())
        else:
            self.unsteady.append((first.label, self.keep(tries), first.words()))

    def keep(self, tries):
        """Writes the outputs of all tries; returns the files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        files = []
        for number, case in enumerate(tries, 1):
            name = re.sub(r"[^\w.-]+", "_", f"{case.preset}.{case.name}")[:LONGEST_LINE]
            files.append(self.folder / f"{name}.{number}.txt")
            files[-1].write_text(case.output)
        return files

    def add_fuzzing(self, path):
        held = 0
        for line in path.read_text(errors="replace").splitlines():
            held += line.endswith(": held")
            broken = re.match(r"libfuzzer\.sh: (\S+): ", line)
            if broken:
                self.fail(f"the reader of {broken[1]} (fuzz)")
        self.count(held, "readers fuzzed")

    def add_rows(self, path):
        ran = 0
        rows = path.read_text().splitlines() if path.exists() else []
        for what, seconds, outcome, why in (row.split("\t") for row in rows):
            if outcome == "skipped":
                self.skip(what, why)
                continue
            ran += 1
            print(f"  {'':12}{minutes(int(seconds))}  {what}{': ' + why if path.stem == 'lint' else ''}")
            if outcome == "failed":
                self.fail(f"{what}: {why}")
        if not self.all_skipped(rows):
            self.count(ran, ROWS[path.stem])

    @staticmethod
    def all_skipped(rows):
        return rows and all(row.split("\t")[2] == "skipped" for row in rows)

    def count(self, number, what):
        self.counts.append(f"{number} {what}")
        if not number and not self.failed:
            self.fail(f"nothing ran: 0 {what}")

    def add(self, path):
        if path.suffix == ".xml":
            self.add_tests(path)
        elif path.suffix == ".tsv":
            self.add_rows(path)
        else:
            self.add_fuzzing(path)

    def show_slowest(self):
        slowest = sorted(self.slowest, key=lambda case: -case.seconds)[:SLOWEST]
        if slowest:
            print(f"the {len(slowest)} slowest tests:")
        for case in slowest:
            print(f"  {case.seconds:6.1f} s  {case.label}{case.cpu}")

    def show(self, left_out, seconds):
        self.show_slowest()
        for text in left_out:
            print(f"left out: {text}")
        for why, names in sorted(self.skipped.items()):
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            print(f"skipped: {', '.join(names[:4])}{more}: {why}")
        if len(self.unsteady) > UNSTEADY_ALLOWED:
            self.fail(f"{len(self.unsteady)} tests are unsteady, and at most {UNSTEADY_ALLOWED} may be")
        for name in self.failed:
            print(f"failed: {name}")
            for line in self.words.get(name, []):
                print(f"  | {line}")
        for name, files, words in self.unsteady:
            print(f"unsteady: {name} failed, and passed when it was run again alone; both outputs: "
                  + " ".join(map(str, files)))
            for line in words:
                print(f"  | {line}")
        skipped = sum(map(len, self.skipped.values()))
        counts = self.counts + [f"{skipped} skipped"] + ([f"{len(self.unsteady)} unsteady"] if self.unsteady else [])
        print(f"scripts/test: {'FAILED' if self.failed else 'passed'}: {', '.join(counts)}, "
              f"{len(self.failed)} failed, {minutes(seconds)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--times", type=pathlib.Path, required=True)
    parser.add_argument("--unsteady", type=pathlib.Path, required=True)
    parser.add_argument("--failing", action="append", default=[], metavar="PRESET",
                        help="ctest of PRESET said that tests failed")
    parser.add_argument("--left-out", action="append", default=[])
    parser.add_argument("results", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    print("\nwhat took how long:")
    for row in options.times.read_text().splitlines():
        stage, seconds, cpu, what = row.split("\t")
        print(f"  {stage:15}{minutes(int(seconds))}  {what} (CPU {cpu} s)")
    summary = Summary(options.unsteady, options.failing)
    for path in options.results:
        summary.add(path)
    summary.show(options.left_out, options.seconds)
    sys.exit(1 if summary.failed else 0)


if __name__ == "__main__":
    main()
