#!/usr/bin/env bash
# kill -9 of one host's agent ends the job on every host: exit status 71, a message with the host,
# and after at most 15 s no process of the job anywhere.
. "$(dirname "$0")/lib.sh"
need_cluster 2

start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
agent=$(pids_of node2 dtagent)
expect_equal "dtagent processes on node2" "$(wc -w <<<"$agent")" 1
mark
signal KILL "$agent" node2
end_job
expect_status 71
expect_err '^dtlaunch: .*node2'
expect_within 15000
expect_nothing_left 15
expect_hosts_idle 15
