#!/usr/bin/env bash
# ^C ends every process of the job on every host within 6 s, including ranks that ignore SIGTERM,
# and dtlaunch exits 130.
. "$(dirname "$0")/lib.sh"
need_cluster 2

start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
mark
signal INT "-$launcher"
end_job
expect_status 130
expect_within 6000
expect_nothing_left 1

: >"$record"
start_job -f "$work/hosts" -np 4 -ppn 2 sh -c "trap '' TERM INT HUP; exec '$e2e/record_family' '$record'"
expect_family 16
mark
signal INT "-$launcher"
end_job
expect_status 130
expect_within 6000
expect_nothing_left 1
expect_hosts_idle 5
