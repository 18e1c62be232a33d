#!/usr/bin/env bash
# Without a program and without ./dtlaunch.toml, dtlaunch trains the demonstration in under a
# minute, and says so.
. "$(dirname "$0")/lib.sh"
limit=60
need_program dttrain
need_cluster 2

run "$cluster" exec node1 sh -c "cd /tmp && exec '$bin/dtlaunch' -f '$work/hosts' -np 4 -ppn 2"
expect_status 0
expect_err '^dtlaunch: .*demonstration'
expect_out 'accuracy'
cat "$work/out"
