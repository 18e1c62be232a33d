#!/usr/bin/env bash
# If Slurm confines steps in cgroups, ranks stay in the step's cgroup and use only the job's CPUs. A
# rank that exceeds the job's memory is reported as such, and a process that left its session dies with
# the step.
. "$(dirname "$0")/lib.sh"
[ "$(nproc)" -ge 2 ] || skip "there is one CPU"
slurm_cgroups=yes
need_slurm 2 SelectTypeParameters=CR_Core_Memory

look='echo "rank $RANK may use $(grep Cpus_allowed_list /proc/self/status | cut -f 2), in $(grep cpuset /proc/self/cgroup)"'
cpus_of_rank() { grep "^rank $1 " "$work/out" | sed 's/.*may use \([^,]*\),.*/\1/'; }

# One CPU on each node: two ranks there share it.
in_allocation -N2 -n2 -c1 -- "$bin/dtlaunch" -ppn 1 sh -c "$look"
expect_status 0
expect_count 2 '^rank [01] may use [0-9]+, in .*/job_[0-9]+/step_0' "$work/out"

# All CPUs of the job on a node, even from a step that is bound to one of them.
in_allocation -N2 -n4 -- srun -n2 --ntasks-per-node=1 --cpu-bind=map_cpu:0 "$bin/dtlaunch" -ppn 2 sh -c "$look"
expect_status 0
expect_equal "CPUs of rank 0" "$(cpus_of_rank 0)" 0
expect_equal "CPUs of rank 1" "$(cpus_of_rank 1)" 1

in_allocation -N2 -n4 -- "$bin/dtlaunch" doctor --quick -v
expect_status 0
expect_out 'cgroups hold the'

# A rank that exceeds the job's memory is named, with the limit.
in_allocation -N2 -n2 --mem=100M -- "$bin/dtlaunch" -ppn 1 sh -c \
  '[ $RANK = 1 ] || exec sleep 60; exec python3 -c "x = b\"x\" * (400 << 20)"'
expect_status 137
expect_err 'rank 1 on node2 was killed for want of memory'
expect_err 'the limit of its control group: 0\.10 GiB'

# kill -9 of all dtlaunch processes on a node, with a process in its own session
submit -N2 -n2 -- "'$bin/dtlaunch' -ppn 1 '$e2e/record_family' '$record'; echo \"status \$?\""
expect_family 8
on node2 sh -c 'kill -KILL $(pgrep dt) $(pgrep -x job-keeper)'
wait_for 30 "the script's last line; $(cat "$work/err")" grep -q ^status "$work/out"
expect_nothing_left 15
end_of_job 20
expect_nodes_empty 10
