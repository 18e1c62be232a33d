#!/usr/bin/env python3
"""The time of `dtlaunch history` and `dtlaunch show` with a history of many jobs, and what recording costs a job.

usage: bench/history.py [DTLAUNCH [JOBS [ROUNDS]]]

The first job is a real one; its record and report are copied for the others, over 80 days. Every twentieth failed.
"""
import glob, json, os, platform, sqlite3, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_MS = 100


def cpu_name():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def timed(environment, *words):
    """Wall time in ms, and standard output."""
    begin = time.perf_counter()
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    took = 1000 * (time.perf_counter() - begin)
    if done.returncode != 0:
        sys.exit(f"history: {' '.join(words)}: exit status {done.returncode}\n{done.stderr}")
    return took, done.stdout


def fill(path, jobs):
    database = sqlite3.connect(path)
    columns = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
    first = dict(zip(columns, database.execute("SELECT * FROM jobs").fetchone()))
    details = database.execute("SELECT card, plan, report FROM details").fetchone()
    step = 80 * 86400 * 1000 // jobs
    marks = ",".join("?" * len(columns))
    for number in range(2, jobs + 1):
        row = dict(first, number=number, job=f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}",
                   began=first["began"] - (jobs + 1 - number) * step)
        if number % 20 == 0:
            row.update(status=3, cause="rank-exit")
        database.execute(f"INSERT INTO jobs VALUES({marks})", [row[name] for name in columns])
        database.execute("INSERT INTO details VALUES(?,?,?,?)", (number, *details))
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return first["job"]


def main():
    dtlaunch = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{HERE}/../build/release/bin/dtlaunch")
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 21
    commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    print(f"commit {commit.stdout.strip() or 'unknown'}, {cpu_name()}, {os.cpu_count()} CPUs, Linux "
          f"{platform.release()}, SQLite of Python {sqlite3.sqlite_version}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        kept = dict(os.environ, XDG_STATE_HOME=folder, DTL_SHARE_CORES="1")
        kept.pop("DTL_HISTORY_DAYS", None)
        timed(kept, dtlaunch, "-np", "2", "true")
        path = glob.glob(f"{folder}/dtlaunch/history/*.db")[0]
        newest = fill(path, jobs)
        print(f"{jobs} jobs, {os.path.getsize(path) / 2**20:.0f} MiB, {rounds} rounds")
        seen = json.loads(timed(kept, dtlaunch, "history", "--all", "--json")[1])["jobs"]
        if len(seen) != jobs or seen[-1]["job"] != newest:
            sys.exit(f"history: {len(seen)} jobs of {jobs}")
        unrecorded = dict(kept, DTL_HISTORY_DAYS="0")
        lines = {"history": (kept, ["history"]), "history --failed": (kept, ["history", "--failed"]),
                 "history --since 1d": (kept, ["history", "--since", "1d"]), "show": (kept, ["show"]),
                 "show JOB": (kept, ["show", seen[jobs // 2]["job"][:10]]),
                 "-np 2 true": (kept, ["-np", "2", "true"]),
                 "-np 2 true, not recorded": (unrecorded, ["-np", "2", "true"])}
        times = {name: [] for name in lines}
        for _ in range(rounds):
            for name, (environment, words) in lines.items():
                times[name].append(timed(environment, dtlaunch, *words)[0])
        print(f"{'median':>8} {'fastest':>8} {'slowest':>8}   ms")
        for name, took in times.items():
            print(f"{statistics.median(took):8.1f} {min(took):8.1f} {max(took):8.1f}   dtlaunch {name}")
        late = [name for name in lines if "true" not in name and statistics.median(times[name]) > LIMIT_MS]
        if late:
            sys.exit(f"history: slower than {LIMIT_MS} ms: {', '.join(late)}")


if __name__ == "__main__":
    main()
