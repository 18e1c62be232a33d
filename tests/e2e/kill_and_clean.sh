#!/usr/bin/env bash
# dtlaunch kill ends a job from any host, with or without its launcher. dtlaunch clean ends what is
# left after kills of launcher, agent and guard, and does not touch running jobs.
. "$(dirname "$0")/lib.sh"
need_cluster 2

detached() { # ARGUMENTS: leaves the id in $id
  launch --detach -f "$work/hosts" -np 2 -ppn 1 "$@"
  expect_status 0
  id=$(head -n 1 "$work/out")
}
alive_on() { on "$1" pgrep -x "$2" >/dev/null; }
nobody_on() { ! alive_on "$@"; }

# A clean end from another host, by the first characters of the id.
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

# Kill the keeper: the agents end the ranks by themselves, and ps and clean report it.
: >"$record"
detached "$e2e/record_family" "$record"
expect_family 8
keeper=$(pids_of node1 dtlaunch)
signal KILL "$keeper"
expect_nothing_left 15
expect_hosts_idle 15
launch ps
expect_out "^$id .* lost "
expect_err 'dtlaunch clean$'
launch kill "$id"
expect_status 0
expect_err "job $id is lost: what it left is ended and forgotten with: dtlaunch clean$"
# Half-written records: the killed launcher's, and one of process 1, which may still be writing it.
on node1 sh -c "f=\$(find /tmp /run ~ -path '*/jobs/$id.launcher.*' -print -quit) && cp \$f \$f.tmp &&
  cp \$f \${f%/*}/$id.launcher.1.tmp" || fail "cannot write beside the record of $id"
launch clean -f "$work/hosts"
expect_status 0
expect_out "^node1: removed a half-written record: .*/$id.launcher.[0-9]+.tmp"
expect_count 1 'half-written' "$work/out"
on node1 sh -c "find /tmp /run ~ -path '*/jobs/$id.launcher.1.tmp' -delete"
expect_out "^node1: removed the record of job $id"
expect_out '^node2: nothing is left of any job'
launch ps -a
expect_out "^$id .* lost "
lists() { grep -q "^$id " "$work/out"; }
launch ps
! lists || fail "ps still lists a lost job that has been cleaned"
launch kill "$id"
expect_status 0
expect_err "job $id was lost, its launcher having been killed; nothing of it is left"
launch clean
expect_out 'nothing is left of any job'

# The same without the running launcher's record, as after a reboot.
: >"$record"
detached "$e2e/record_family" "$record"
expect_family 8
signal KILL "$(pids_of node1 dtlaunch)"
expect_nothing_left 15
expect_hosts_idle 15
on node1 sh -c "find /tmp /run ~ -path '*/jobs/$id.launcher.*' -delete"
launch ps
expect_out "^$id .* lost "
launch clean
expect_out "job $id is lost "
launch ps
! lists || fail "ps still lists a lost job that has been cleaned"
launch clean
expect_out 'nothing is left of any job'

# A keeper that does not answer: the agents' host ends the job; then the launcher is killed.
: >"$record"
detached "$e2e/record_family" "$record"
expect_family 8
run "$cluster" exec node2 "$bin/dtlaunch" kill --signal KILL "$id"
expect_status 0
expect_nothing_left 15
launch clean

# Kill everything that watches a job on node2 at once, including the keeper. Helpers in their own
# sessions live on if dtlaunch cannot reach the host. clean ends exactly these.
: >"$record"
detached sleep 300
bystander=$id
detached "$e2e/record_family" "$record"
expect_family 8
on node2 sh -c 'mv ~/.ssh/authorized_keys ~/.ssh/away'
# shellcheck disable=SC2016
on node2 sh -c 'agent=$(basename "$2/jobs/$1.agent".*); agent=${agent##*.}
  guard=$(pgrep -P $agent -x dtguard) && keeper=$(ps -o ppid= -p $agent) &&
  kill -STOP $keeper $agent $guard && kill -KILL $keeper $agent $guard' kill "$id" "$(runtime_folder node2)" ||
  fail "cannot kill agent and guard"
left_on_node2() { on node2 "$e2e/count_alive" "$record"; }
over_on_node1() { ! grep -q "$id" < <(on node1 "$bin/dtlaunch" ps); }
wait_for 20 "the job to end on node1" over_on_node1
on node2 sh -c 'mv ~/.ssh/away ~/.ssh/authorized_keys'
[ "$(left_on_node2)" -gt 0 ] || fail "nothing is left on node2 that could be cleaned up"
run "$cluster" exec node2 "$bin/dtlaunch" ps
expect_out "^$id .* left over "
expect_err 'dtlaunch clean'
# shellcheck disable=SC2016
errors_on_node2() { on node2 sh -c 'ls -d "$2/errors-$1"-*' errors "$id" "$(runtime_folder node2)" 2>/dev/null; }
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
