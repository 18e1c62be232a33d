#!/usr/bin/env bash
# kill -9 of the launcher leaves no process of the job on any host, 15 s later at the latest.
. "$(dirname "$0")/lib.sh"
need_cluster 2

start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
signal KILL "$launcher"
expect_nothing_left 15
expect_hosts_idle 15
