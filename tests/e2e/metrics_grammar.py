#!/usr/bin/env python3
"""Reads a file of --metrics-file strictly, by the rules that OpenMetrics 1.0 and the Prometheus text format 0.0.4
share, and prints its samples: NAME{LABELS} VALUE. usage: metrics_grammar.py FILE"""
import re, sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"'
NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"


def refuse(number, why):
    sys.exit(f"metrics_grammar: line {number}: {why}")


def read(text):
    if not text.endswith("\n# EOF\n"):
        sys.exit("metrics_grammar: the text does not end with the line # EOF")
    family, families, seen, samples = None, set(), set(), []
    lines = text[:-len("# EOF\n")].split("\n")[:-1]
    for number, line in enumerate(lines, 1):
        if found := re.fullmatch(rf"# HELP ({NAME}) (.*)", line):
            family = found[1]
            if family in families or re.search(r'["\\]', found[2]):
                refuse(number, "a second family of this name, or a text that the formats write differently")
            families.add(family)
            if number == len(lines) or lines[number] != f"# TYPE {family} gauge":
                refuse(number, "no type gauge after it")
        elif re.fullmatch(rf"# TYPE {NAME} gauge", line):
            if number == 1 or not lines[number - 2].startswith(f"# HELP {line.split()[2]} "):
                refuse(number, "a type without its help in front")
        elif found := re.fullmatch(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} ({NUMBER})", line):
            labels = re.findall(LABEL, found[2])
            series = (found[1], frozenset(labels))
            if found[1] != family or series in seen or len(dict(labels)) != len(labels):
                refuse(number, "not of the family above it, or there twice")
            seen.add(series)
            samples.append(line)
        else:
            refuse(number, f"neither a comment nor a sample: {line!r}")
    return samples


with open(sys.argv[1], encoding="utf-8", newline="") as file:
    content = file.read()
print("\n".join(read(content)))
try:  # if it happens to be installed
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
    from prometheus_client.parser import text_string_to_metric_families as prometheus
except ImportError:
    sys.exit()
for parse in openmetrics, prometheus:
    if not list(parse(content)):
        sys.exit(f"metrics_grammar: nothing in it for {parse.__module__}")
