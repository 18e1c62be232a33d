#!/usr/bin/env bash
# Job control does not depend on one name in /tmp: another user's /tmp/dtlaunch-UID does no harm.
# Without any place for records, every command says so. Connections of `dtlaunch up` are found
# without their socket.
. "$(dirname "$0")/lib.sh"
need_cluster 2

holder() { pids_of node1 dtlaunch | head -n 1; }
start_holder() {
  run "$cluster" exec node1 "$bin/dtlaunch" up -hosts node2
  expect_status 0
  expect_err '1 of 1 host connected'
  pid=$(holder)
  [ -n "$pid" ] || fail "no process keeps the connections"
}

# Another user has created the folder first.
for host in node1 node2; do
  on "$host" sh -c 'rm -rf /tmp/dtlaunch-0 && mkdir -m 755 /tmp/dtlaunch-0 && chown 65534 /tmp/dtlaunch-0'
done
launch --detach -f "$work/hosts" -np 2 -ppn 1 sleep 300
expect_status 0
expect_no_err 'do not find this job'
id=$(head -n 1 "$work/out")
launch ps -f "$work/hosts"
expect_status 0
expect_out "^$id +node1 +2 +2 .* running "
run "$cluster" exec node2 "$bin/dtlaunch" ps
expect_out "^$id +node1 .* running "
launch doctor --quick --json -f "$work/hosts"
expect_out 'records and sockets of jobs are in .*/dtlaunch/run-node2'
expect_out 'not used: /tmp/dtlaunch-0: it belongs to another user \(65534\)'
launch kill "$id"
expect_status 0
expect_err 'it has ended'
launch clean -f "$work/hosts"
expect_status 0

# No home either: the job runs, and commands that look for it say why they fail and what helps.
nowhere() { run "$cluster" exec node1 env -u HOME -u XDG_STATE_HOME -u XDG_RUNTIME_DIR "$bin/dtlaunch" "$@"; }
reason='/tmp/dtlaunch-0: cannot use the folder: it belongs to another user \(65534\).*Try: export XDG_STATE_HOME='
nowhere -np 1 echo hello
expect_status 0
expect_out '^hello$'
expect_err "ps, kill and clean do not find this job here: .*$reason"
nowhere --detach -np 1 echo hello
expect_status 78
expect_err '/tmp/dtlaunch-0: cannot use the folder: it belongs to another user'
for command in ps 'kill ffff' clean; do
  # shellcheck disable=SC2086
  nowhere $command
  cat "$work/out" >>"$work/err"
  expect_err "localhost: .*$reason"
done
nowhere up -hosts node2
expect_status 78
expect_err "$reason"
nowhere doctor --quick --json
expect_out 'ps, kill and clean find no job there: .*/tmp/dtlaunch-0: cannot use the folder: it belongs to another user'
run "$cluster" exec node1 env -u HOME XDG_STATE_HOME=/run/mine "$bin/dtlaunch" ps
expect_status 0
on node1 test -d /run/mine/dtlaunch/run-node1 || fail "XDG_STATE_HOME does not help as promised"

# The folder disappears while connections are kept.
for command in down clean; do
  start_holder
  on node1 rm -rf "$(runtime_folder node1)"
  launch "$command"
  expect_status 0
  cat "$work/out" >>"$work/err"
  expect_err "process $pid\\b"
  expect_hosts_idle 10
done
# up replaces them, and down ends both.
start_holder
first=$pid
on node1 rm -rf "$(runtime_folder node1)"
run "$cluster" exec node1 "$bin/dtlaunch" up -hosts node2
expect_status 0
expect_err "process $first\): closed"
launch down
expect_err 'the kept connections are closed'
expect_hosts_idle 10
launch clean
expect_out 'nothing is left of any job'
