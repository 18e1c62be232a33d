#!/usr/bin/env bash
# A job uses only the CPUs that it was given: a quota of 1.0 means one thread, and no pin to one CPU;
# two ranks on a cpuset of one CPU share it, with a warning; if binding memory is refused, as in
# containers, ranks run anyway.
. "$(dirname "$0")/lib.sh"
need_cluster 1 --cpus 1.0
cpus=$(nproc)
[ "$cpus" -gt 1 ] || skip "this machine has one CPU"
everything=$(taskset -cp $$ | sed 's/.*: //')
# shellcheck disable=SC2016
say='echo "$OMP_NUM_THREADS $OPENBLAS_NUM_THREADS on $(taskset -cp $$ | sed "s/.*: //")"'

# ---- a quota of one CPU
launch -np 1 sh -c "$say"
expect_status 0
expect_equal "threads and CPUs under a quota of 1.0" "$(cat "$work/out")" "1 1 on $everything"

# ---- a cpuset of one CPU, by affinity and by cgroup
first=${everything%%[,-]*}
on_one_cpu() { # WHAT COMMAND...
  local what=$1
  shift
  run "$cluster" exec node1 "$@" "$bin/dtlaunch" -ppn 2 sh -c "$say"
  expect_status 0
  expect_equal "two ranks on $what" "$(cat "$work/out")" "1 1 on $first
1 1 on $first"
  expect_err '2 threads on 1 core'
  expect_no_err 'Invalid argument'
}
on_one_cpu "the only CPU of an affinity" taskset -c "$first"

group=/sys/fs/cgroup/cpuset/dtl-e2e-$$
if [ -e /sys/fs/cgroup/cpuset/cpuset.cpus ] && mkdir "$group" 2>/dev/null; then
  cat "${group%/*}/cpuset.mems" >"$group/cpuset.mems"
  echo "$first" >"$group/cpuset.cpus"
  # shellcheck disable=SC2016
  on_one_cpu "a cpuset of one CPU" sh -c 'echo $$ >"$0/tasks" && exec "$@"' "$group"
  wait_for 10 "the cpuset to be empty" rmdir "$group"
else
  echo "no cgroup of version 1 that this may write to: the cpuset was an affinity alone"
fi

# ---- memory-policy system calls are refused
for policy in preferred bind interleave; do
  run "$cluster" exec node1 "$e2e/without_calls.py" EPERM mbind,set_mempolicy,get_mempolicy,migrate_pages,move_pages \
    "$bin/dtlaunch" -membind $policy -np 1 echo "$policy runs"
  [ "$status" != 77 ] || { cat "$work/err"; break; }
  expect_status 0
  expect_out "^$policy runs$"
done
