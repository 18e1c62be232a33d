#!/usr/bin/env bash
# A script in an allocation of two hosts: ranks on its own host start without ssh, those on the other
# host over it, with the scheduler's slots. Slurm's variables of the task are not passed on.
. "$(dirname "$0")/lib.sh"
need_cluster 2

allocation=(SLURM_JOB_ID=7 "SLURM_JOB_NODELIST=node[1-2]" SLURM_JOB_NUM_NODES=2 SLURM_NTASKS=3
  SLURM_TASKS_PER_NODE=1,2 SLURMD_NODENAME=node1 SLURM_PROCID=0)
in_allocation() { run "$cluster" exec node1 env "${allocation[@]}" "$bin/dtlaunch" -launcher ssh --accept-new-host-keys "$@"; }

# shellcheck disable=SC2016
in_allocation sh -c 'echo "rank $RANK of $WORLD_SIZE on $DTLAUNCH_HOST, $(uname -n), task ${SLURM_PROCID-none}"'
expect_status 0
expect_out '^rank 0 of 3 on node1, node1, task none$'
expect_out '^rank 1 of 3 on node2, node2, task none$'
expect_out '^rank 2 of 3 on node2, node2, task none$'

# It does not connect to node1's sshd, whose key is unknown.
expect_no_err 'node1'

in_allocation -hosts node2,node3 true
expect_status 64
expect_err 'node3: not in the allocation: slurm has given this job node1, node2'
