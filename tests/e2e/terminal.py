#!/usr/bin/env python3
"""What a person sees and types: dtlaunch on a terminal of 80 columns. usage: terminal.py DTLAUNCH FOLDER

FOLDER has train.tsv and a model to train on it."""
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, tempfile, termios, time

DTLAUNCH = sys.argv[1]
FOLDER = sys.argv[2]
DTTRAIN = os.path.join(os.path.dirname(DTLAUNCH), "dttrain")
JOB = ["-np", "2", "--oversubscribe"]


class Terminal:
    """A job of its own session, as a shell would start it: in a group of its own, in front."""
    def __init__(self, *arguments, script=None, columns=80, rows=24):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.environ.pop("NO_COLOR", None)
            if script is not None:  # of a shell with job control; $@ starts a job
                os.execvp("bash", ["bash", "-c", "set -m; " + script, "bash", DTLAUNCH, *arguments])
            # This terminal's shell, which keeps the session when its job is stopped.
            child = os.fork()
            if child == 0:
                os.setpgid(0, 0)
                os.execv(DTLAUNCH, [DTLAUNCH, *arguments])
            try:
                os.setpgid(child, child)
            except PermissionError:  # it has done so already, and is dtlaunch now
                pass
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, child)
            while True:
                _, status = os.waitpid(child, os.WUNTRACED)
                if os.WIFSTOPPED(status):
                    os.tcsetpgrp(0, os.getpgrp())
                    os.write(1, b"\r\nSTOPPED\r\n")
                    os.read(0, 10)  # a line: fg
                    os.tcsetpgrp(0, child)
                    os.killpg(child, signal.SIGCONT)
                else:
                    os._exit(os.waitstatus_to_exitcode(status) % 256)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)

    def wait_for(self, pattern, seconds=15):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            if time.monotonic() > end:
                sys.exit(f"terminal: waited in vain for {pattern!r}; seen: {self.seen!r}")
            self.read(0.1)

    def type(self, keys):
        os.write(self.fd, keys)

    def end(self, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.05):
                    pass
                return os.waitstatus_to_exitcode(status)
        sys.exit(f"terminal: the job does not end; seen: {self.seen!r}")


def screen(data, columns=80, rows=24):
    """The rows of text that a simple terminal would show at the end."""
    lines, row, column = [[]], 0, 0
    for match in re.finditer(rb"(\x1b\[[0-9;]*[A-Za-z])|(.)", data, re.S):
        escape, char = match.groups()
        if escape:
            final = escape[-1:]
            number = int(re.sub(rb"\D", b"", escape[2:-1]) or b"1")
            if final == b"A":
                row = max(0, row - number)
            elif final == b"K":
                lines[row] = lines[row][:column]
            elif final == b"J":
                lines[row] = lines[row][:column]
                del lines[row + 1:]
        elif char == b"\n":
            row += 1
            while row >= len(lines):
                lines.append([])
        elif char == b"\r":
            column = 0
        else:
            if column >= columns:
                sys.exit(f"terminal: a line of more than {columns} columns")
            line = lines[row]
            line.extend(" " * (column + 1 - len(line)))
            line[column] = char.decode("latin-1")
            column += 1
    return ["".join(line).rstrip() for line in lines]


def check(condition, what, seen):
    if not condition:
        sys.exit(f"terminal: {what}; seen: {seen!r}")


def progress_bars():
    bars = "for i in 10 20 30 40 50 60 70 80 90 100; do printf '\\r%3d%% of rank %d' $i $RANK >&2; sleep 0.05; done; echo >&2"
    terminal = Terminal(*JOB, "-l", "sh", "-c", bars)
    status = terminal.end()
    check(status == 0, f"status {status}", terminal.seen)
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.seen)
    shown = [line for line in screen(text) if line]
    check(sorted(shown) == ["[0] 100% of rank 0", "[1] 100% of rank 1"],
          f"two bars, whole and at 100 %, not {shown}", terminal.seen)
    check(b"\x1b[3" in terminal.seen or b"\x1b[9" in terminal.seen, "labels have colours", terminal.seen)


def long_lines():
    terminal = Terminal(*JOB, "-l", "sh", "-c", "printf '\\r%0200d' 7 >&2; sleep 0.4; echo >&2")
    check(terminal.end() == 0, "status", terminal.seen)


def patterns():
    """Labels at 80 columns: equal lines of both ranks once, a prompt shown, a card within the width."""
    ranks = ("touch $0/$RANK; until [ -e $0/0 ] && [ -e $0/1 ]; do sleep 0.01; done; echo same; sleep 0.2; "
             "echo mine $RANK; sleep 0.2; [ $RANK = 1 ] || printf 'name? '; "
             "sleep 0.5; printf '%0100d\\n' 0 >&2; exit 3")
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(*JOB, "-prepend-pattern", "%h/%r> ", "sh", "-c", ranks, folder)
        terminal.wait_for(rb"name\? ", 5)
        check(terminal.end() == 3, "status", terminal.seen)
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.seen).replace(b"\r\n", b"\n").decode()
    check(text.count("same") == 1 and "localhost/0-1> same\n" in text, "one line of both", text)
    check("localhost/0> mine 0\n" in text and "localhost/1> mine 1\n" in text, "own lines", text)
    check("localhost/0> name? " in text, "a labelled prompt", text)
    card = text[text.index("dtlaunch: rank"):].splitlines()
    check(any(line.startswith("  stderr") for line in card), "a card", text)
    check(all(len(line) <= 80 for line in card), "a card of 80 columns at most", text)


def colour_only_on_terminals():
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/err"
        terminal = Terminal(*JOB, "-l", "sh", "-c", "echo out; echo err >&2",
                            script=f'"$@" 2>{file}')
        check(terminal.end() == 0, "status", terminal.seen)
        check(b"\x1b[" in terminal.seen, "colours on the terminal", terminal.seen)
        with open(file, "rb") as errors:
            kept = errors.read()
        check(b"\x1b" not in kept and kept.count(b"] err\n") == 2, "none in a file", kept)
    terminal = Terminal(*JOB, "-l", "echo", script='NO_COLOR=1 "$@"')
    check(terminal.end() == 0 and b"\x1b[3" not in terminal.seen, "NO_COLOR", terminal.seen)


ESCAPES = re.compile(rb"\x1b\[[0-9;]*m")


def colour_of_the_card():
    """Only a terminal gets the escapes. The card's text is the same with and without them."""
    failing = ["sh", "-c", "[ $RANK = 0 ] || exit 3; sleep 20"]
    headline = rb"\x1b\[1;31m(rank 1 .*?exited with status 3.*?)\x1b\[0m"
    with tempfile.TemporaryDirectory() as folder:
        report = folder + "/report.json"
        terminal = Terminal(*JOB, "--report", report, *failing)
        check(terminal.end() == 3 and re.search(headline, terminal.seen), "a red headline", terminal.seen)
        with open(report, "rb") as kept:
            check(b"u001b" not in kept.read(), "no escapes in the report", report)
        colored = ESCAPES.sub(b"", terminal.seen)
        for script in 'NO_COLOR=1 "$@"', 'TERM=dumb "$@"', 'DTL_COLOR=never "$@"':
            terminal = Terminal(*JOB, *failing, script=script)
            check(terminal.end() == 3 and not ESCAPES.search(terminal.seen), script, terminal.seen)
            lines = [re.sub(rb"\d+(\.\d+)?", b"N", text).split(b"\r\n") for text in (colored, terminal.seen)]
            check(lines[0] == lines[1], "the same text", lines)
        terminal = Terminal(*JOB, *failing, script=f'DTL_COLOR=never "$1" --color always "${{@:2}}" 2>{folder}/err')
        check(terminal.end() == 3, "status", terminal.seen)
        with open(folder + "/err", "rb") as errors:
            check(re.search(headline, errors.read()), "--color always, even in a file", folder)
    terminal = Terminal("doctor", "-hosts", "no-such-host.invalid")
    check(terminal.end() == 69, "status", terminal.seen)
    check(re.search(rb"\x1b\[1;31merror\x1b\[0m    no-such", terminal.seen), "a red error", terminal.seen)
    check(re.search(rb"\n +\x1b\[1mTry: ", terminal.seen), "what to try is bold", terminal.seen)


def background():
    """A job in the background neither reads the terminal nor is stopped for writing to it."""
    terminal = Terminal(*JOB, "sh", "-c", "[ $RANK = 1 ] || { echo ready; head -n 1; }",
                        script='stty tostop; "$@" & echo began; read x; echo "shell got $x"; '
                               'jobs; fg >/dev/null; echo status $?')
    terminal.wait_for(rb"ready")
    terminal.type(b"mine\n")
    terminal.wait_for(rb"shell got mine")
    terminal.wait_for(rb"Running")
    terminal.type(b"yours\n")
    check(terminal.end() == 0, "status", terminal.seen)
    check(terminal.seen.count(b"yours") == 2, "input of the foreground", terminal.seen)  # with its echo
    check(b"status 0" in terminal.seen, "the job's status", terminal.seen)


def stop_and_go():
    terminal = Terminal(*JOB, "sh", "-c", "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo $RANK.$i.; sleep 0.05; done")
    terminal.wait_for(rb"0\.3\.")
    terminal.type(b"\x1a")
    terminal.wait_for(rb"STOPPED")
    time.sleep(0.3)
    while terminal.read(0.1):
        pass
    before = len(terminal.seen)
    time.sleep(1)
    terminal.read(0.1)
    check(len(terminal.seen) == before, "ranks write while the job is stopped", terminal.seen[before:])
    check(b".60." not in terminal.seen, "it was stopped before its end", terminal.seen)
    listed = subprocess.run([DTLAUNCH, "ps"], capture_output=True, check=True).stdout
    check(re.search(rb" stopped +sh ", listed), "ps says that it is stopped", listed)
    terminal.type(b"g\n")
    check(terminal.end() == 0, "fg: the job goes on to its end", terminal.seen)
    check(b"0.60." in terminal.seen and b"1.60." in terminal.seen, "both ranks ended", terminal.seen)


def interrupt_twice():
    stubborn = "trap '' INT TERM; echo ready; while :; do sleep 0.1; done"
    terminal = Terminal(*JOB, "sh", "-c", stubborn)
    terminal.wait_for(rb"ready\s+ready")
    began = time.monotonic()
    terminal.type(b"\x03")
    time.sleep(0.3)
    terminal.type(b"\x03")
    status = terminal.end()
    took = time.monotonic() - began
    check(status == 130, f"status {status}, not 130", terminal.seen)
    check(took < 2, f"two ^C took {took:.1f} s", terminal.seen)


def trains(columns, *options, script=None):
    """The lines of steps and the bars of a job of dttrain, each of which fits, and all that a terminal was sent."""
    terminal = Terminal(*JOB, *options, DTTRAIN, "--model_name_or_path", FOLDER + "/model", "--train_file",
                        FOLDER + "/train.tsv", "--do_train", "--global_batch_size", "32", "--max_steps", "300",
                        "--logging_steps", "100", "--save_strategy", "no", "--output_dir",
                        tempfile.mkdtemp(dir=FOLDER), columns=columns, script=script)
    check(terminal.end(60) == 0, "status", terminal.seen)
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.seen).decode()
    pieces = re.split(r"[\r\n]|\x1b\[[0-9;]*[A-Za-z]", text)
    steps = [piece for piece in pieces if re.search(r"step +\d", piece)]
    bars = [piece for piece in pieces if "% [" in piece]
    check(len(steps) == 3, "three lines", text)
    return steps, bars, text


ALL_FIGURES = "N% [] N ETA N loss N N tokens/s GEMM N% N steps/s N so far"


def shape(line):
    """A bar or line without its numbers, and without what only several ranks have."""
    line = re.sub(r"\d[\d.:/e+-]*[kM]?", "N", re.sub(r"[\d.]+ s/step", "N steps/s", line))
    line = re.sub(r"  net N%|  N% network|  N% of GEMM peak", "", line)
    return re.sub(r" +", " ", re.sub(r"\[[#.]+\]", "[]", line)).strip()


def compare(label, bars, text, columns):
    """The bars are those of dttrain alone, and nothing of them stays. Returns how each line begins."""
    for bar in bars:
        if label == "" and columns == 80:
            check(len(bar.rstrip()) == columns - 1, "the whole width", bar)
        figures = shape(bar.removeprefix(label))
        least = ALL_FIGURES if columns == 200 else "N% [] N ETA N loss N"
        check(ALL_FIGURES.startswith(figures) and figures.startswith(least), f"figures as in '{ALL_FIGURES}'", bar)
        check(columns < 200 or len(re.search(r"\[([#.]+)\]", bar)[1]) == 60, "a bar of 60 columns", bar)
    rows = [row for row in screen(text.encode(), 10000) if row]
    check(all(row.startswith(label) and "% [" not in row and row.strip() != label.strip() for row in rows),
          "lines, and no bar", rows)
    return [shape(row.removeprefix(label)).split(" ")[0] for row in rows]


def trainer():
    """dttrain's lines and its bar fit the terminal of dtlaunch and are the same as without it; in a pipe lines are
    complete and there is no bar."""
    alone = {}
    for columns in 80, 200:
        steps, bars, text = trains(columns, script='"${@:5}"')  # dttrain without dtlaunch
        check(bars and all(len(piece) <= columns for piece in bars + steps), "they fit without dtlaunch", text)
        alone[columns] = compare("", bars, text, columns)
    for columns, label, options, script in ((80, "[0] ", ["-l"], None), (80, "", [], None), (200, "[0] ", ["-l"], None),
                                            (80, "", [], '"$1" -np 1 "${@:5}"')):
        steps, bars, text = trains(columns, *options, script=script)
        check(bars and all(piece.startswith(label) and len(piece) <= columns for piece in bars + steps), "they fit", text)
        check(all("loss" in step and "ETA" in step for step in steps), "what matters most", text)
        check(columns == 80 or all("grad_norm" in step and "GEMM peak" in step for step in steps), "all figures", text)
        lines = compare(label, bars, text, columns)
        check(lines == alone[columns], f"the lines of dttrain alone, {alone[columns]}", lines)
    # A rank may have its own pipe: dtlaunch -np 2 --oversubscribe -l sh -c '... | cat'.
    inner = 'exec "${@:1:4}" -l sh -c \'"$@" | cat\' sh "${@:6}"'
    for script in '"$@" | cat', inner:
        steps, bars, text = trains(80, "-l", script=script)
        check(not bars and all("grad_norm" in step and "GEMM peak" in step for step in steps), "as in a file", text)


for case in (progress_bars, long_lines, patterns, trainer, colour_only_on_terminals, colour_of_the_card, background,
             stop_and_go, interrupt_twice):
    case()
    print(f"{case.__name__}: as promised")
