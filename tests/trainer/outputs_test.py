"""Reports as a browser reads them, and a run's files. outputs_test.py WRITE_OUTPUTS DTTRAIN"""
import html.parser
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import fcntl
import xml.etree.ElementTree
from pathlib import Path

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source",
        "track", "wbr"}
LOADING = {"src", "href", "action", "data", "poster", "background"}


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")


class Page(html.parser.HTMLParser):
    """Checks that tags nest, and that nothing is loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.polylines = [], "", []

    def handle_starttag(self, tag, attributes):
        check(tag not in ("script", "link", "iframe", "object", "embed"), f"no <{tag}>")
        check(not LOADING & {name for name, _ in attributes}, f"<{tag}> loads nothing")
        if tag == "polyline":
            self.polylines.append(dict(attributes)["points"].split())
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        check(self.open and self.open.pop() == tag, f"</{tag}> closes what is open")

    def handle_data(self, data):
        self.text += data


def check_report(path, curves):
    text = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    page.close()
    check(not page.open, f"all is closed, not {page.open}")
    check('bert & "friends" on <mrpc>' in page.text, "the title is shown as it is")
    check('http-like <names> & "quotes"' in page.text, "and a setting")
    check("http:" not in text and "https:" not in text and "url(" not in text
          and "@import" not in text, "no address to load from")
    check("prefers-color-scheme: dark" in text, "dark colours, too")
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    check(len(pictures) == 2, f"two pictures, not {len(pictures)}")
    for picture in pictures:
        xml.etree.ElementTree.fromstring(picture)
    check(len(page.polylines) == curves, f"{curves} curves, not {len(page.polylines)}")
    for points in page.polylines:
        for point in points:
            x, y = map(float, point.split(","))
            check(0 <= x <= 1000 and 0 <= y <= 1000, f"{point} lies in the picture")
    check(len(text) < 300_000, f"{path.name} is small: {len(text)} bytes")
    print(f"{path.name}: well-formed, {len(text)} bytes")


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def on_terminal(command, columns, then=0):
    """A program's output on a terminal of `columns` columns, and of `then` after its first bar."""
    leader, follower = pty.openpty()
    resize(follower, columns)
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    output = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:  # the last rank has closed it
            break
        if not data:
            break
        output += data
        if then and b"ETA" in output and b"% [#" in output:
            resize(leader, then)
            then = 0
    os.close(leader)
    check(process.wait() == 0, output.decode())
    return output.decode()


def bars_of(output):
    return re.findall(r"[ 0-9]{3}% \[[#.]+\][^\r\n\033]*", output)


def check_resize(dttrain):
    output = on_terminal([dttrain, "--demo"], 200, 60)
    bars = bars_of(output)
    check(len(bars[0]) > 60 and len(bars[-1]) < 60, f"bars follow the window: {bars}")
    check("\033[1A\r\033[J" in output or "\033[2A\r\033[J" in output,
          "the rows of a bar that was too long are removed")


def check_terminal(dttrain, columns):
    output = on_terminal([dttrain, "--demo"], columns)
    bars = bars_of(output)
    check(len(bars) > 3, f"a bar is drawn at {columns} columns")
    check(all(len(bar) < columns for bar in bars), f"bars fit {columns} columns")
    check(any(len(bar) > min(columns, 120) - 5 for bar in bars), "and use them")
    check(all("ETA" in bar and "loss" in bar for bar in bars), "with ETA and loss")
    check(output.count("\r\033[J") >= len(bars), "and are removed")
    print(f"bar: {bars[-1]}")


def check_profile(profile):
    check(profile["schema"] == "dttrain-step-profile/1", "a known profile")
    check(len(profile["steps"]) == min(profile["word_shares"] - 1, 1000),
          "the profile has the newest 1000 steps, but not the first")
    for step in profile["steps"]:
        parts = sum(step[name] for name in ("forward_s", "backward_s", "network_s", "optimizer_s"))
        check(parts <= step["step_s"] + 1e-6, f"the parts of a step are within it: {step}")
        check(step["early_optimizer_s"] <= step["optimizer_s"], "and the early part of the optimizer")
    times = [bucket["before_end_s"] for bucket in profile["buckets"]]
    check(times == sorted(times, reverse=True) and times[-1] >= 0, f"buckets are in order: {times}")
    check(250_000 < sum(bucket["bytes"] for bucket in profile["buckets"]) <= 4 * 87_000,
          "their bytes are those of the parameters without word embeddings")
    check(all(0 < row["uses"] <= profile["word_shares"] for row in profile["word_rows"]), "word uses")


def check_run(dttrain, folder):
    plain = subprocess.run([dttrain, "--demo", "--output_dir", folder / "run", "--logging_dir",
                            folder / "logs"], stdout=subprocess.PIPE, text=True, check=True).stdout
    check("\r" not in plain and "[#" not in plain, "no bar in a file")
    state = json.loads((folder / "run/trainer_state.json").read_text())
    lines = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    check(lines == state["log_history"], "metrics.jsonl is the history")
    check(sum("loss" in row for row in lines) >= 20, "with 20 losses")
    check(len(list((folder / "logs").iterdir())) == 1, "one event file")
    raw = (folder / "run/all_results.json").read_text()
    check(raw.rstrip() == json.dumps(json.loads(raw), indent=4, sort_keys=True),
          "all_results.json is written as Python writes it")
    check_profile(json.loads((folder / "run/step_profile.json").read_text()))
    print("run: files agree")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.argv[1], folder], check=True)
        check_report(folder / "report-1.html", 2)
        check_report(folder / "report-100000.html", 3)
        check_run(sys.argv[2], folder)
        check_terminal(sys.argv[2], 80)
        check_terminal(sys.argv[2], 200)
        check_resize(sys.argv[2])


main()
