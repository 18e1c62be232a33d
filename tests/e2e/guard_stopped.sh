#!/usr/bin/env bash
# An agent notices that its guard is stopped: within 15 s the job ends on every host with status 71
# and a message with host and reason, and nothing is left.
. "$(dirname "$0")/lib.sh"
need_cluster 2

start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
mark
signal STOP "$(pids_of node2 dtguard)" node2
end_job
expect_status 71
expect_err '^dtlaunch: .*node2.*dtguard \(process [0-9]+\) is stopped \(state T\)'
expect_within 15000
expect_nothing_left 15
expect_hosts_idle 15
