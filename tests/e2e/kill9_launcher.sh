#!/usr/bin/env bash
# After kill -9 of the launcher, no process of the job is left on any host after at most 15 s.
. "$(dirname "$0")/lib.sh"
need_cluster 2

start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
signal KILL "$launcher"
expect_nothing_left 15
expect_hosts_idle 15
