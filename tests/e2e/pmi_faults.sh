#!/usr/bin/env bash
# However an MPI job ends before MPI_Finalize, the card names the rank and the reason, and nothing is left.
. "$(dirname "$0")/lib.sh"
limit=40
need_cluster 2

job() { # ACTION RANK [options of dtlaunch]
  launch -f "$work/hosts" -np 4 -ppn 2 "${@:3}" python3 "$e2e/pmi_rank.py" "$1" "$2"
}

job abort 3
expect_status 7
expect_err '^dtlaunch: rank 3 on node2 called MPI_Abort\(7\)'
expect_within 5000
expect_hosts_idle 10

job leave 1
expect_status 76
expect_err '^dtlaunch: rank 1 on node1 exited with status 0 without MPI_Finalize, and others still ran'
expect_err '^  try +MPI_Finalize before exit'
job absent 1
expect_status 76
expect_err '^dtlaunch: rank 1 on node1 exited with status 0, and other ranks wait for it in MPI'
expect_hosts_idle 10

job vanish 2
expect_status 137
expect_err '^dtlaunch: rank 2 on node2 was killed by SIGKILL'
expect_hosts_idle 10

job nonsense 0
expect_status 76
expect_err '^dtlaunch: rank 0 on node1 broke the rules of PMI: .*GET / HTTP/1\.1'
job flood 2
expect_status 76
expect_err '^dtlaunch: rank 2 on node2 broke the rules of PMI: '
job child 1
expect_status 76
expect_err '^dtlaunch: rank 1 on node1 broke the rules of PMI: process [0-9]+ started MPI, too'
expect_hosts_idle 10

# MPI_Comm_spawn fails for the program, with a reason for the user; the job goes on.
job spawn 0
expect_status 0
expect_err '^dtlaunch: node1: rank 0: .*MPI_Comm_spawn'
expect_out '^spawn: cmd=spawn_result rc=-1'
expect_count 4 '^rank [0-3] of 4: ' "$work/out"

# An agent, and a guard, that die while ranks wait in a barrier.
for victim in dtagent dtguard; do
  start_job -f "$work/hosts" -np 4 -ppn 2 python3 "$e2e/pmi_rank.py" wait 0
  wait_for 20 "rank 0 to wait" grep -q waiting "$work/out"
  signal KILL "$(pids_of node2 $victim | head -n 1)" node2
  end_job
  expect_err '^dtlaunch: node2: '
  [ "$status" != 0 ] || fail "a job whose $victim died ended with status 0"
  expect_hosts_idle 30
done

# A time limit in a barrier.
job wait 0 --timeout 3
expect_status 124
expect_hosts_idle 10
