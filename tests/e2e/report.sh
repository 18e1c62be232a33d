#!/usr/bin/env bash
# --report writes JSON that says how the job went: whose status it is, when, and no secret.
. "$(dirname "$0")/lib.sh"
need_cluster 2

launch -f "$work/hosts" -np 2 -ppn 1 -genv HF_TOKEN=hunter2 --report "$work/report.json" sh -c 'exit $((RANK * 5))'
expect_status 5
grep -q hunter2 "$work/report.json" && fail "the report shows a secret"
python3 - "$work/report.json" <<'CHECK' || fail "the report lacks what was asked for: $(cat "$work/report.json")"
import json, sys
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
CHECK

launch -np 1 --report "$work/no/such/folder/report.json" true
[ "$status" = 73 ] || [ "$status" = 74 ] || fail "a report that cannot be written gives $status"
expect_err 'no/such/folder'
