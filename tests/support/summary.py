#!/usr/bin/env python3
"""The closing lines of scripts/test: what took how long, what was skipped and why, what failed.

usage: summary.py --seconds N --times FILE [--left-out TEXT]... RESULT...

A RESULT is a JUnit file of ctest (PRESET.junit.xml), the log of tests/fuzz/libfuzzer.sh (*.log) or
the table of tests/clean_room/clean_room or scripts/lint (*.tsv: what, seconds, "passed", "skipped" or
"failed", why). Exit status 1 when something failed, or when one of them ran nothing.
"""
import argparse
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

ROWS = {"clean_room": "promises kept in bare Debians", "lint": "change read by clang-tidy"}
WHAT = {"release": "tests of the release build", "asan": "unit tests under ASan and UBSan"}

SHOWN_LINES, LONGEST_LINE = 12, 200


def minutes(seconds):
    return f"{seconds // 60} min {seconds % 60:2d} s"


def reason(case):
    """The line that a skipped test printed about why."""
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines()]
    for index, line in enumerate(lines):
        if re.search(r"skipp", line, re.I) and not line.startswith("["):
            after = lines[index + 1] if index + 1 < len(lines) else ""
            return after if re.fullmatch(r"\S+:\d+: Skipped", line) and after else line
    return case.find("skipped").get("message") or "no reason given"


def words(case):
    """What a failed test said from its first complaint on, else at last: its own log may be
    thousands of lines away."""
    lines = [line.rstrip() for line in (case.findtext("system-out") or "").splitlines()]
    lines = [line[:LONGEST_LINE] for line in lines if line]
    complaint = next((i for i, line in enumerate(lines)
                      if re.search(r"FAILED:|: Failure$|^Traceback|Error:", line)), len(lines))
    begin = max(0, min(complaint, len(lines) - SHOWN_LINES))
    return lines[begin:begin + SHOWN_LINES]


class Summary:
    def __init__(self):
        self.counts, self.skipped, self.failed, self.words = [], {}, [], {}

    def skip(self, name, why):
        self.skipped.setdefault(why, []).append(name)

    def add_tests(self, path):
        preset, ran = path.name.split(".")[0], 0
        if not path.exists():
            self.failed.append(f"ctest of {preset} wrote no results")
            return
        for case in tree.parse(path).iter("testcase"):
            if case.find("skipped") is not None or case.get("status") == "disabled":
                why = reason(case) if case.find("skipped") is not None else "disabled"
                self.skip(case.get("name"), why)
                continue
            ran += 1
            if case.find("failure") is not None or case.get("status") == "fail":
                name = f"{case.get('name')} ({preset})"
                self.failed.append(name)
                self.words[name] = words(case)
        self.count(ran, WHAT.get(preset, f"tests of {preset}"))

    def add_fuzzing(self, path):
        held = 0
        for line in path.read_text(errors="replace").splitlines():
            held += line.endswith(": held")
            broken = re.match(r"libfuzzer\.sh: (\S+): ", line)
            if broken:
                self.failed.append(f"the reader of {broken[1]} (fuzz)")
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
                self.failed.append(f"{what}: {why}")
        if not self.all_skipped(rows):
            self.count(ran, ROWS[path.stem])

    @staticmethod
    def all_skipped(rows):
        return rows and all(row.split("\t")[2] == "skipped" for row in rows)

    def count(self, number, what):
        self.counts.append(f"{number} {what}")
        if not number and not self.failed:
            self.failed.append(f"nothing ran: 0 {what}")

    def add(self, path):
        if path.suffix == ".xml":
            self.add_tests(path)
        elif path.suffix == ".tsv":
            self.add_rows(path)
        else:
            self.add_fuzzing(path)

    def show(self, left_out, seconds):
        for text in left_out:
            print(f"left out: {text}")
        for why, names in sorted(self.skipped.items()):
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            print(f"skipped: {', '.join(names[:4])}{more}: {why}")
        for name in self.failed:
            print(f"failed: {name}")
            for line in self.words.get(name, []):
                print(f"  | {line}")
        verdict = "FAILED" if self.failed else "passed"
        skipped = sum(map(len, self.skipped.values()))
        print(f"scripts/test: {verdict}: {', '.join(self.counts + [f'{skipped} skipped'])}, "
              f"{len(self.failed)} failed, {minutes(seconds)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--times", type=pathlib.Path, required=True)
    parser.add_argument("--left-out", action="append", default=[])
    parser.add_argument("results", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    print("\nwhat took how long:")
    for row in options.times.read_text().splitlines():
        stage, seconds, cpu, what = row.split("\t")
        print(f"  {stage:15}{minutes(int(seconds))}  {what} (CPU {cpu} s)")
    summary = Summary()
    for path in options.results:
        summary.add(path)
    summary.show(options.left_out, options.seconds)
    sys.exit(1 if summary.failed else 0)


if __name__ == "__main__":
    main()
