#!/usr/bin/env bash
# --max-restarts: after a lost host, all ranks restart on a spare one, never before the old ones have ended.
. "$(dirname "$0")/restart_lib.sh"

# ---- a host is cut off: the spare one replaces it once the old ranks must have ended
fresh
start_job -f "$work/hosts" -np 2 -ppn 1 --max-restarts 3 --report "$work/report" \
  "$work/rank" "$work/ranks"
expect_epoch 0 2
mark
"$cluster" cut node2
expect_epoch 1 2
expect_equal "ranks of the lost host that are alive in the second epoch" "$(alive_of 0)" 0
[ $(($(now_ms) - job_began)) -le 38000 ] || fail "went on after $(($(now_ms) - job_began)) ms only"
expect_equal "hosts of the second epoch" \
  "$(awk '$1 == 1 { print $2 $3 }' "$work/ranks" | sort | tr '\n' ' ')" "0node1 1node3 "
touch "$work/ranks.end"
end_job
expect_status 0
expect_err '^dtlaunch: node2: left out: '
expect_err '^dtlaunch: restart 1 of 3 on node1,node3 in [0-9.]+ s, when nothing can run on the lost hosts$'
expect_count 1 '"left_out":' "$work/report"
"$cluster" mend node2
expect_hosts_idle 60

# ---- ^C during this wait ends it at once
fresh
start_job -f "$work/hosts" -np 2 -ppn 1 --max-restarts 3 "$work/rank" "$work/ranks"
expect_epoch 0 2
"$cluster" cut node2
wait_for 30 "the wait before the restart" grep -q 'restart 1 of 3' "$work/err"
mark
signal INT "$launcher"
end_job
expect_status 130
expect_within 3000
expect_equal "epochs" "$(in_epoch 1)" 0
"$cluster" mend node2
expect_hosts_idle 60
