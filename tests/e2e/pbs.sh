#!/usr/bin/env bash
# In a PBS job, agents start as PBS tasks, by pbs_tmrsh or, without it, by pbsdsh, never by ssh. The nodes'
# token is in no argument, no environment and no file that stays. The first cause is the status, and qdel
# and kill -9 leave nothing. Fakes play PBS: they pass the command to a task manager, which runs it on the
# host as PBS does, with the job's environment, no input, and output in the job's output.
. "$(dirname "$0")/lib.sh"
need_cluster 3

tm=$work/tm pbs=$work/pbs
mkdir -p "$tm" "$pbs/bin"
mkfifo "$tm/spawn"
printf '%s\n' node1 node2 node3 node2 >"$work/nodefile"

# Shared by both: the command goes to the task manager, and its status comes back.
cat >"$pbs/spawn" <<'SPAWN'
[ -n "$PBS_ENVIRONMENT" ] || { echo "$0: not executing under PBS" >&2; exit 255; }
id=$(uname -n).$$
printf '%s\0' "$@" >"$TM/$id.words"
last=${!#}
echo "$name $host $(stat -c %a "$last" 2>/dev/null)" >>"$TM/called"
echo "$id $host" >"$TM/spawn"
until [ -s "$TM/$id.obit" ]; do sleep 0.02; done
status=$(cat "$TM/$id.obit")
SPAWN
cat >"$pbs/bin/pbs_tmrsh" <<'TMRSH'
#!/bin/bash
name=pbs_tmrsh host=$1
shift
grep -qx "$host" "$PBS_NODEFILE" || { echo "pbs_tmrsh: host \"$host\" is not a node in job <$PBS_JOBID>" >&2; exit 255; }
. "$PBS_EXEC/spawn"
exit "$status"
TMRSH
cat >"$work/pbsdsh" <<'DSH'
#!/bin/bash
name=pbsdsh
[ "$1 $3" = "-n --" ] || { echo "usage: pbsdsh -n node -- program" >&2; exit 1; }
host=$(sed -n "$(($2 + 1))p" "$PBS_NODEFILE")
shift 3
. "$PBS_EXEC/spawn"
[ "$status" = 0 ] || echo "pbsdsh: task 0x00000000 exit status $status"
DSH
chmod +x "$pbs/bin/pbs_tmrsh" "$work/pbsdsh"

# The tasks have the job's environment, not their starter's, and no PBS_NODEFILE, as on sister nodes.
task_environment=(PATH=/usr/bin:/bin HOME=/run/root USER=root LOGNAME=root SHELL=/bin/sh PBS_JOBID=7.server
  PBS_ENVIRONMENT=PBS_BATCH PBS_O_WORKDIR="$work" PBS_NODENUM=1 PBS_TASKNUM=00000002 PBS_MOMPORT=15003)
run_task() { # ID HOST
  local words rc=0
  mapfile -d '' words <"$tm/$1.words"
  # shellcheck disable=SC2016
  "$cluster" exec "$2" env -i "${task_environment[@]}" sh -c 'cd; umask 077; exec "$@"' task "${words[@]}" \
    </dev/null >>"$work/job.out" 2>>"$work/job.err" || rc=$?
  echo "$rc" >"$tm/$1.obit"
}
task_manager() {
  local id host
  while read -r id host; do
    run_task "$id" "$host" &
  done <>"$tm/spawn"
}
task_manager &
manager=$!
trap 'ended=$?; kill "$manager" 2>/dev/null; finish "$ended"' EXIT

batch=(PBS_JOBID=7.server PBS_ENVIRONMENT=PBS_BATCH PBS_JOBCOOKIE=00000000207DB83E0000000012345678
  PBS_NODEFILE="$work/nodefile" PBS_O_WORKDIR="$work" PBS_EXEC="$pbs" TM="$tm")
in_job() { : >"$tm/called" && : >"$work/job.err" && run "$cluster" exec node1 env "${batch[@]}" "$@"; }
tokens_left() { ls -A "$work" | grep -c '^\.dtlaunch-token'; }
no_logins() {
  local host
  for host in "${hosts[@]}"; do ! on "$host" grep -q 'Accepted publickey' /run/sshd.log || fail "ssh to $host was used"; done
}

# ---- each rank's place, who sees the token, and how each node was reached
# shellcheck disable=SC2016
in_job "$bin/dtlaunch" sh -c 'echo "rank $RANK of $WORLD_SIZE on $(uname -n), task ${PBS_TASKNUM-none}, ${PBS_JOBID-none}"
  echo "tokens $(ls -A "$0" | grep -c "^\.dtlaunch-token") $(env | grep -ci token)"' "$work"
expect_status 0
expect_equal "ranks; $(cat "$work/job.err")" "$(grep ^rank "$work/out" | sort)" \
  "rank 0 of 4 on node1, task none, 7.server
rank 1 of 4 on node2, task none, 7.server
rank 2 of 4 on node2, task none, 7.server
rank 3 of 4 on node3, task none, 7.server"
expect_equal "token while ranks run" "$(grep ^tokens "$work/out" | sort -u)" "tokens 0 0"
expect_equal "tasks, and the mode of the token's file" "$(sort "$tm/called")" "pbs_tmrsh node2 600
pbs_tmrsh node3 600"
expect_equal "what dtlaunch says" "$(cat "$work/err" "$work/job.err")" ""
expect_hosts_idle 10

# ---- --show-scheduler, and refused options
in_job "$bin/dtlaunch" --show-scheduler
expect_out '^starter +/.*bin/pbs_tmrsh'
in_job "$bin/dtlaunch" --dry-run true
expect_status 0
expect_err 'agents start by pbs_tmrsh, in tasks of job 7.server, on node2, node3$'
in_job "$bin/dtlaunch" -launcher pbs -hosts node2,elsewhere true
expect_status 64
expect_err 'elsewhere: not in the allocation: pbs has given this job node1, node2, node3'

# ---- a rank's status is the job's; killed starters end no running rank
# shellcheck disable=SC2016
in_job "$bin/dtlaunch" sh -c '[ "$RANK" = 3 ] || exec sleep 60; exit 3'
expect_status 3
expect_err 'rank 3 on node3'
expect_hosts_idle 10
# shellcheck disable=SC2016
in_job "$bin/dtlaunch" sh -c '[ "$RANK" != 0 ] || { pkill -KILL -x pbs_tmrsh; sleep 0.5; }; echo "ran $RANK"'
expect_status 0
expect_count 4 '^ran [0-3]$' "$work/out"
expect_hosts_idle 10

# ---- qdel and kill -9 leave nothing
fault() { # COMMAND...: a fault in a job whose ranks all run, each with a child and a daemon
  : >"$record"
  start_command env "${batch[@]}" "$bin/dtlaunch" "$e2e/record_family" "$record"
  expect_family 16
  mark
  "$@"
  end_job
  expect_nothing_left 15
  expect_hosts_idle 15
  expect_equal "tokens left" "$(tokens_left)" 0
}
delete_job() { # its script's processes, and the other nodes' tasks
  signal TERM "$launcher"
  on node2 pkill -TERM -x dtlaunch
  on node3 pkill -TERM -x dtlaunch
}
fault delete_job
expect_status 143
fault on node3 pkill -TERM -x dtlaunch
expect_status 143
expect_err 'SIGTERM'
kill_launcher() { signal KILL "$launcher"; }
fault kill_launcher
no_logins

# ---- a node cannot read the token: its message is in the job's output
# shellcheck disable=SC2016
in_job env -u PBS_O_WORKDIR "$bin/dtlaunch" true # here each host has its own HOME
expect_status 71
expect_err 'node[23]: cannot start agent: pbs_tmrsh ended: exit status 65.*error output'
grep -Eq '^dtlaunch: node2: cannot join the job: cannot read its token from /run/root/\.dtlaunch-token-[0-9a-f]{16}: No such file .*Try: .*export DTL_TOKEN_FILE=' \
  "$work/job.err" || fail "what node2 says: $(cat "$work/job.err")"
expect_equal "tokens in HOME" "$(on node1 sh -c 'ls -A ~' | grep -c token)" 0
# ... and the user's own file, which stays
(umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$work/own")
in_job env -u PBS_O_WORKDIR DTL_TOKEN_FILE=own sh -c "cd '$work' && exec '$bin/dtlaunch' sh -c 'echo \"ran \$RANK\"'"
expect_status 0
expect_count 4 '^ran [0-3]$' "$work/out"
[ -s "$work/own" ] || fail "the user's own token is gone"
in_job env DTL_TOKEN="$(cat "$work/own")" "$bin/dtlaunch" true
expect_status 0

# ---- a failing starter is named, with its message
in_job env -u PBS_ENVIRONMENT "$bin/dtlaunch" true
expect_status 71
expect_err 'node[23]: cannot start agent: pbs_tmrsh ended: exit status 255, saying ".*not executing under PBS"'

# ---- only pbsdsh exists; then neither
mv "$work/pbsdsh" "$pbs/bin/pbsdsh"
mv "$pbs/bin/pbs_tmrsh" "$work/pbs_tmrsh"
# shellcheck disable=SC2016
in_job "$bin/dtlaunch" sh -c 'echo "ran $RANK on $(uname -n)"'
expect_status 0
expect_out '^ran 3 on node3$'
expect_equal "tasks" "$(cut -d ' ' -f 1,2 "$tm/called" | sort | xargs)" "pbsdsh node2 pbsdsh node3"
in_job "$bin/dtlaunch" -launcher tmrsh true
expect_status 78
expect_err 'there is no pbs_tmrsh on PATH'
no_logins
mv "$pbs/bin/pbsdsh" "$work/pbsdsh"
in_job "$bin/dtlaunch" sh -c 'uname -n'
expect_status 0
expect_err 'no pbs_tmrsh or pbsdsh on PATH or in \$PBS_EXEC/bin: agents start over ssh'
expect_count 2 '^node2$' "$work/out"
expect_hosts_idle 10
