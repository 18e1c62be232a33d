#!/usr/bin/env bash
# dtlaunch kill ends a job from any host, with or without its launcher; dtlaunch clean ends what is
# left when launcher, agent and guard were all killed, and touches no running job.
. "$(dirname "$0")/lib.sh"
need_cluster 2

detached() { # ARGUMENTS: leaves the id in $id
  launch --detach -f "$work/hosts" -np 2 -ppn 1 "$@"
  expect_status 0
  id=$(head -n 1 "$work/out")
}
alive_on() { on "$1" pgrep -x "$2" >/dev/null; }
nobody_on() { ! alive_on "$@"; }

# In order, from another host, by the beginning of the id.
detached "$e2e/record_family" "$record"
expect_family 8
run "$cluster" exec node2 "$bin/dtlaunch" kill "${id:0:5}"
expect_status 0
expect_err "job $id: SIGTERM sent to its launcher; it has ended"
expect_nothing_left 1
expect_hosts_idle 5
run "$cluster" exec node1 "$bin/dtlaunch" kill "$id"
expect_status 0
expect_err 'has ended already, with status 143'

# The keeper is killed: the agents end the ranks by themselves, and ps and clean tell of it.
: >"$record"
detached "$e2e/record_family" "$record"
expect_family 8
keeper=$(pids_of node1 dtlaunch)
signal KILL "$keeper"
expect_nothing_left 15
expect_hosts_idle 15
launch ps
expect_out "^$id .* lost "
launch clean -f "$work/hosts"
expect_status 0
expect_out "^node1: removed the record of job $id"
expect_out '^node2: nothing is left of any job'
launch ps -a
expect_out "^$id .* lost "

# A keeper that does not answer: the agents' host ends the job, then its launcher is killed.
: >"$record"
detached "$e2e/record_family" "$record"
expect_family 8
run "$cluster" exec node2 "$bin/dtlaunch" kill --signal KILL "$id"
expect_status 0
expect_nothing_left 15
launch clean

# Everything that looks after a job is killed at once on node2: helpers in sessions of their own
# live on. clean ends them, and only them.
: >"$record"
detached sleep 300
bystander=$id
detached "$e2e/record_family" "$record"
expect_family 8
# shellcheck disable=SC2016
on node2 sh -c 'agent=$(basename /tmp/dtlaunch-0/jobs/$1.agent.*); agent=${agent##*.}
  guard=$(pgrep -P $agent -x dtguard) && kill -STOP $agent $guard && kill -KILL $agent $guard' kill "$id" ||
  fail "cannot kill agent and guard"
left_on_node2() { on node2 "$e2e/count_alive" "$record"; }
over_on_node1() { ! on node1 "$bin/dtlaunch" ps | grep -q "$id"; }
wait_for 20 "the job to end on node1" over_on_node1
[ "$(left_on_node2)" -gt 0 ] || fail "nothing is left on node2 that could be cleaned up"
run "$cluster" exec node2 "$bin/dtlaunch" ps
expect_out "^$id .* left over "
expect_err 'dtlaunch clean'
# shellcheck disable=SC2016
errors_on_node2() { on node2 sh -c 'ls -d /tmp/dtlaunch-*/errors-$1-*' errors "$id" 2>/dev/null; }
[ -n "$(errors_on_node2)" ] || fail "the killed agent left no folder that could be removed"
launch clean -f "$work/hosts"
expect_status 0
expect_equal "error files of the job on node2" "$(errors_on_node2)" ''
expect_out "^node2: ended process [0-9]+ \(.*\) of job $id"
expect_nothing_left 5
run "$cluster" exec node2 "$bin/dtlaunch" ps
expect_out "^$bystander .* running "
alive_on node2 sleep || fail "clean ended a running job"
launch kill "$bystander"
expect_status 0
expect_hosts_idle 10
