#!/usr/bin/env bash
# --dry-run prints rank, host, CPUs, threads and address, masks secrets, and starts nothing.
. "$(dirname "$0")/lib.sh"
need_cluster 2

launch -f "$work/hosts" -np 4 -ppn 2 -genv HF_TOKEN=hunter2 --dry-run touch "$work/started"
expect_status 0
expect_out 'node1'
expect_out 'node2'
expect_out 'touch'
address=$(on node1 ip -o -4 addr show scope global | awk '{sub("/.*", "", $4); print $4; exit}')
expect_out "${address//./\\.}"
launch -f "$work/hosts" -np 4 -ppn 2 -genv HF_TOKEN=hunter2 --dry-run --json touch "$work/started" hunter2
expect_status 0
python3 -c 'import json, sys
plan = json.load(open(sys.argv[1]))
assert plan["schema"] == "dtlaunch-plan/1" and plan["nodes"][0]["address"] == sys.argv[2], plan
assert [[rank["rank"] for rank in node["ranks"]] for node in plan["nodes"]] == [[0, 1], [2, 3]], plan' \
  "$work/out" "$address" || fail "the plan as JSON is wrong"
grep -q hunter2 "$work/out" && fail "the plan as JSON shows a secret"
launch -f "$work/hosts" -np 4 --json touch "$work/started"
expect_status 64
launch -f "$work/hosts" -np 4 -ppn 2 -genv HF_TOKEN=hunter2 --dry-run touch "$work/started"
grep -q hunter2 "$work/out" "$work/err" && fail "the plan shows a secret"
# A line with a single word, such as a long path, is not wrapped.
[ "$(grep -v "^ *'[^']*'\$" "$work/out" | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 80 ] ||
  fail "the plan is wider than 80 columns: $(cat "$work/out")"
[ ! -e "$work/started" ] || fail "--dry-run started a rank"
expect_hosts_idle 5
