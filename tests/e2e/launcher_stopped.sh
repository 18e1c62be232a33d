#!/usr/bin/env bash
# A launcher that was stopped for longer than agents live without it says so when it continues, and
# blames no host: exit status 75, nothing left. A short stop ends nothing. If the process of
# `dtlaunch up` is killed during a job, the card says that.
. "$(dirname "$0")/lib.sh"
need_cluster 2

stop_launcher() { # SECONDS
  signal STOP "$launcher" node1
  sleep "$1"
  signal CONT "$launcher" node1
}

start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
stop_launcher 13
end_job
expect_status 75
expect_err '^dtlaunch: dtlaunch itself was stopped for 1[3-9] s; the hosts end a job after 10 s without it'
expect_no_err 'node2'
expect_nothing_left 15

start_job -f "$work/hosts" -np 2 -ppn 1 sleep 8
wait_for 10 "the job" sh -c "'$cluster' exec node2 pgrep -x sleep >/dev/null"
stop_launcher 5
end_job
expect_status 0
expect_err 'was stopped for [5-9] s'

: >"$record"
launch up -hosts node1,node2
expect_status 0
start_job -hosts node1,node2 -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
signal KILL "$(pids_of node1 dtlaunch | grep -vx "$launcher")" node1
end_job
expect_status 69
expect_err "^dtlaunch: the process of 'dtlaunch up' that kept the connections has ended"
expect_nothing_left 15
expect_hosts_idle 15
