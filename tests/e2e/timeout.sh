#!/usr/bin/env bash
# --timeout ends the job on every host with exit status 124, and reports the ranks' activity.
. "$(dirname "$0")/lib.sh"
need_cluster 2

launch -f "$work/hosts" -np 4 -ppn 2 --timeout 3 "$e2e/record_family" "$record"
expect_status 124
expect_equal "processes recorded before the time was up" "$(recorded)" 16
[ "$took_ms" -ge 3000 ] || fail "ended after $took_ms ms already"
expect_within 9500
expect_err '3'
expect_nothing_left 1

launch -np 1 --timeout 20 true
expect_status 0
expect_within 5000

# Ranks that can answer, and one that cannot.
launch -f "$work/hosts" -np 4 -ppn 2 --timeout 3 --report "$work/report" "$e2e/asked_rank"
expect_status 124
expect_within 9500
expect_err '^  hangs +rank 2 on node2: not in the all_reduce in which ranks 0,3 wait$'
expect_err '^  stack +\| File "/home/me/data.py", line 12, in load_shard$'
expect_err '^  waits +ranks 0,3: all_reduce of 4\.0 MiB of float32, since 10:13:02$'
expect_no_err unasked # nobody expects a shell's Python stack
expect_equal "ranks that hang, in the report" "$(grep -A1 '"hangs"' "$work/report" | tr -d ' \n')" '"hangs":[2'
expect_count 1 '"answer": "cannot"' "$work/report"
expect_count 3 '"answer": "told"' "$work/report"
expect_nothing_left 1

# For a Python that cannot answer, the message says how to enable it.
launch -f "$work/hosts" -np 2 -ppn 1 --timeout 3 python3 -c 'import time; time.sleep(60)'
expect_status 124
expect_err '^  unasked +ranks 0-1 \(python[0-9.]*\), without dtring$'
expect_err '^  try +import dtring, or DTRING_AUTOLOAD=1'
