#!/usr/bin/env bash
# --report writes JSON about the job: whose status it has, times, and no secrets.
. "$(dirname "$0")/lib.sh"
need_cluster 2

launch -f "$work/hosts" -np 2 -ppn 1 -genv HF_TOKEN=hunter2 --report "$work/report.json" sh -c 'exit $((RANK * 5))'
expect_status 5
grep -q hunter2 "$work/report.json" && fail "the report shows a secret"
python3 - "$work/report.json" <<'CHECK' || fail "the report lacks what was asked for: $(cat "$work/report.json")"
import datetime, json, sys
text = open(sys.argv[1]).read()
report = json.loads(text)
def find(value, key):
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        for inner in value.values():
            yield from find(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from find(inner, key)
assert 5 in list(find(report, "exit_status")) or 5 in list(find(report, "status")), "status"
assert 1 in list(find(report, "rank")), "rank"
assert "node2" in text and "node1" in text
began = datetime.datetime.strptime(report["began"] + "+0000", "%Y-%m-%dT%H:%M:%SZ%z")
age = (datetime.datetime.now(datetime.timezone.utc) - began).total_seconds()
assert 0 <= age < 60, f"it began {age} s ago"
CHECK

# Others cannot read it, and it contains no password from the command.
umask 022
echo '{}' >"$work/private.json"
launch -f "$work/hosts" -np 2 -ppn 1 --report "$work/private.json" \
  sh -c 'true --password=hunter2' sh --token hunter2 https://me:hunter2@host/
expect_status 0
grep -q hunter2 "$work/private.json" && fail "the report shows a password of the command"
[ "$(stat -c %a "$work/private.json")" = 600 ] || fail "others may read the report"

# Which ranks dtlaunch ended, and which ended by themselves, at the same moment or when told to.
# shellcheck disable=SC2016
launch -np 4 --oversubscribe --report "$work/ends.json" sh -c 'case $RANK in
  0) until [ -e "$0.1" ] && [ -e "$0.2" ]; do sleep 0.01; done; exit 3;;
  1) trap "sleep 0.2; exit 0" TERM; : >"$0.1"; while :; do sleep 0.05; done;;
  2) trap "" TERM; : >"$0.2"; sleep 0.6; exit 4;;
  3) exec sleep 60;;
  esac' "$work/ready"
expect_status 3
python3 - "$work/ends.json" <<'CHECK' || fail "who ended by itself is not told: $(cat "$work/ends.json")"
import json, sys
ends = [rank["ended_by_dtlaunch"] for rank in json.load(open(sys.argv[1]))["ranks"]]
assert ends == [False, False, False, True], ends
CHECK

# The report's folder disappears meanwhile: the job's success is not enough for status 0.
mkdir "$work/gone"
launch -np 1 --report "$work/gone/report.json" rm -r "$work/gone"
expect_status 73
expect_err "$work/gone/report.json"

launch -np 1 --report "$work/no/such/folder/report.json" true
[ "$status" = 73 ] || [ "$status" = 74 ] || fail "a report that cannot be written gives $status"
expect_err 'no/such/folder'

# The manual page has every field, and the reports have every field of the page.
# shellcheck disable=SC2016
launch -f "$work/hosts" -np 2 -ppn 1 --report "$work/killed.json" sh -c 'echo last words >&2; kill -9 $$'
# A short time for hangs makes agents report often, so this one has curves.
launch -f "$work/hosts" -np 4 -ppn 2 --timeout 3 --hang-notice 2 --report "$work/timeout.json" "$e2e/asked_rank"
launch -hosts node1,nowhere -np 2 -ppn 1 --report "$work/nowhere.json" true
launch -f "$work/hosts" -np 2 -ppn 1 --report "$work/good.json" --tag good true
launch -np 2 --max-restarts 1 --report "$work/restarted.json" sh -c 'sleep 0.3; exit 3'
python3 - "$root/man/dtlaunch.1" "$work"/*.json <<'CHECK' || fail "the manual page and the report differ"
import json, re, sys
page = open(sys.argv[1]).read()
section = page[page.index(".Sh REPORT"):page.index(".Sh NETWORK")]
documented = set()
for line in section.splitlines():
    if re.match(r"\.(It |Pq |Po )?Cm |\.Po each|^(ranks|\.Cm)", line) or " Cm " in line:
        words = line.split("Cm ", 1)[1] if "Cm " in line else ""
        documented |= set(re.findall(r"[a-z_0-9]{2,}", words))
# In these are names of hosts, variables and ranks, not of fields.
free = {"dtagent", "environment_of_rank_0", "cpu_cores", "memory_mib"}
def fields(value, into):
    if isinstance(value, dict):
        for key, inner in value.items():
            into.add(key)
            if key not in free:
                fields(inner, into)
    elif isinstance(value, list):
        for inner in value:
            fields(inner, into)
written = set()
for name in sys.argv[2:]:
    fields(json.load(open(name)), written)
# These need eight cores per rank, a failing agent, a lost host, a hanging job, ranks that print or communicate, a
# training, or 65 ranks.
elsewhere = {"comm_cpus", "text", "left_out", "native", "native_problem", "sent_mb_per_second",
             "collectives_mb_per_second", "output_kb_per_second", "step", "loss", "tokens_per_second",
             "lowest", "median", "highest"}
extra, missing = written - documented, documented - written - elsewhere
if extra or missing:
    sys.exit(f"not documented: {sorted(extra)}; documented and never written: {sorted(missing)}")
CHECK

# A device, a pipe and standard output are written to, not replaced. A folder or a full disk is refused before
# anything starts.
is_report() { python3 -c 'import json, sys; json.load(sys.stdin)["began"]'; }
if [ "$(id -u)" = 0 ] && mknod "$work/null" c 1 3; then
  launch -hosts node1 -np 1 --report "$work/null" true
  expect_status 0
  [ -c "$work/null" ] || fail "a device was replaced"
  mknod "$work/disk" b 240 77
  launch -hosts node1 -np 1 --report "$work/disk" touch "$work/started"
  expect_status 73
  expect_err "$work/disk: cannot write: a disk, not a file\. Try: ls -l $work/disk"
fi
launch -hosts node1 -np 1 --report "$work" touch "$work/started"
expect_status 73
expect_err "$work: cannot write: a directory, not a file"
[ ! -e "$work/started" ] || fail "a job began although its report cannot be written"
mkfifo "$work/pipe"
is_report <"$work/pipe" &
reader=$!
launch -hosts node1 -np 1 --report "$work/pipe" true
expect_status 0
wait $reader || fail "the reader of a pipe got no report"
launch -hosts node1 -np 1 --report /dev/stdout true
is_report <"$work/out" || fail "no report in standard output"
{ echo '{ "before": '; "$cluster" exec node1 "$bin/dtlaunch" -np 1 --report /dev/stdout true; echo '}'; } >"$work/all" 2>"$work/err"
python3 -c 'import json, sys; json.load(sys.stdin)["before"]["began"]' <"$work/all" || fail "not in its place: $(cat "$work/all")"
echo mine >"$work/own.json.tmp"
launch -hosts node1 -np 1 --report "$work/own.json" true
is_report <"$work/own.json" || fail "no report in a new file"
[ "$(cat "$work/own.json.tmp")" = mine ] || fail "a file of the user's is another"
