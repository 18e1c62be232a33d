#!/usr/bin/env bash
# Output of a login shell before the agent's marker does no harm, and -v mentions it.
. "$(dirname "$0")/lib.sh"
need_cluster 2

on node2 sh -c 'printf "%s\n" "echo Welcome to node2" "echo" "echo Have a nice day" >~/.ssh/rc'
launch -v -f "$work/hosts" -np 2 -ppn 1 sh -c 'echo rank $RANK on $DTLAUNCH_HOST'
expect_status 0
expect_out '^rank 0 on node1$'
expect_out '^rank 1 on node2$'
expect_count 2 . "$work/out"
expect_err 'node2: .*noise'
