#!/usr/bin/env bash
# --report writes JSON that says how the job went: whose status it is, when, and no secret.
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

launch -np 1 --report "$work/no/such/folder/report.json" true
[ "$status" = 73 ] || [ "$status" = 74 ] || fail "a report that cannot be written gives $status"
expect_err 'no/such/folder'

# Every field is in the manual page, and every field of the page is in one of the reports.
# shellcheck disable=SC2016
launch -f "$work/hosts" -np 2 -ppn 1 --report "$work/killed.json" sh -c 'echo last words >&2; kill -9 $$'
launch -f "$work/hosts" -np 2 -ppn 1 --timeout 1 --report "$work/timeout.json" sleep 9
launch -hosts node1,nowhere -np 2 -ppn 1 --report "$work/nowhere.json" true
launch -f "$work/hosts" -np 2 -ppn 1 --report "$work/good.json" true
python3 - "$root/man/dtlaunch.1" "$work"/*.json <<'CHECK' || fail "the manual page and the report differ"
import json, re, sys
page = open(sys.argv[1]).read()
section = page[page.index(".Sh REPORT"):page.index(".Sh NETWORK")]
documented = set()
for line in section.splitlines():
    if re.match(r"\.(It |Pq |Po )?Cm |\.Po each|^(ranks|\.Cm)", line) or " Cm " in line:
        words = line.split("Cm ", 1)[1] if "Cm " in line else ""
        documented |= set(re.findall(r"[a-z_0-9]{2,}", words))
# Named after hosts and variables, not by us.
free = {"dtagent", "environment_of_rank_0"}
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
# These need eight cores for each rank, and an agent that fails.
elsewhere = {"comm_cpus", "text"}
extra, missing = written - documented, documented - written - elsewhere
if extra or missing:
    sys.exit(f"not documented: {sorted(extra)}; documented and never written: {sorted(missing)}")
CHECK
