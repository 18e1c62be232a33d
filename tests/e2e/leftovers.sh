#!/usr/bin/env bash
# All dtlaunch processes of a job are killed at once, on its launcher's host and on another, so nobody can end
# what the ranks started. The same user's next job on each host does. A killed keeper, which would have done it,
# is noticed while the others live: locally, over ssh and on a node that joined by itself. An --on-event command
# ends with its launcher, and what it left is ended like the rest.
. "$(dirname "$0")/lib.sh"
need_cluster 2

all_of_us() { on "$1" sh -c 'pgrep -x dtlaunch; pgrep -x dtagent; pgrep -x dtguard; pgrep -x job-keeper' | xargs; } # HOST
# Of several hosts, in this order: stop all before killing the first.
strike() { # HOST...
  local host pids=()
  for host; do
    pids+=("$(all_of_us "$host")")
    # shellcheck disable=SC2086
    on "$host" kill -STOP ${pids[-1]}
  done
  for host; do
    # shellcheck disable=SC2086
    on "$host" kill -KILL ${pids[0]}
    pids=("${pids[@]:1}")
  done
}
alive_on() { on "$1" "$e2e/count_alive" "$record"; } # HOST
none_on() { [ "$(alive_on "$1")" = 0 ]; }

# ---- the next job on a host ends leftovers, as launcher and as node
start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
strike node1 node2
end_job
for host in "${hosts[@]}"; do
  [ "$(alive_on "$host")" -ge 6 ] || fail "what ranks had started ended by itself on $host; the test proves nothing"
done
launch -hosts node2 -np 1 true
expect_status 0
wait_for 10 "node2 to be clean" none_on node2
wait_for 10 "node1 to be clean, from where the next job was launched" none_on node1
grep -Eq '^dtlaunch: ended 6 processes that job [0-9a-f]{16} had left here$' "$work/err" ||
  fail "what was ended on node1 is not said"
expect_hosts_idle 10
on node1 sh -c 'ls ~/.local/state/dtlaunch/run-*/jobs/* 2>/dev/null' && fail "its records are left"

# ---- the next job's sweep does not touch a running job, though another job's records exist
: >"$record"
start_job -np 1 "$e2e/record_family" "$record"
expect_family 4
strike node1
end_job
start_job -np 1 sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$work/end"
wait_for 10 "the leftovers to be ended" none_on node1
run "$cluster" exec node1 "$bin/dtlaunch" -np 1 true
expect_status 0
touch "$work/end"
end_job
expect_status 0

# ---- only the keeper is killed
for where in "-np 2" "-hosts node2 -np 2" "-hosts node1,node2 -np 2 -ppn 1"; do
  : >"$record"
  # shellcheck disable=SC2086
  start_job $where "$e2e/record_family" "$record"
  expect_family 8
  host=node2
  [ "$where" != "-np 2" ] || host=node1
  keeper=$(pids_of "$host" job-keeper)
  mark
  signal KILL "$keeper" "$host"
  end_job
  expect_status 71
  expect_err "job-keeper|killed by SIGKILL"
  expect_within 10000
  expect_nothing_left 15
done
: >"$record"
export DTL_NNODES=2 DTL_RDZV=10.77.0.1:29500 DTL_JOB_ID=keeper
DTL_TOKEN=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
export DTL_TOKEN
DTL_NODE_RANK=1 "$cluster" exec node2 "$bin/dtlaunch" -ppn 1 --start-timeout 5 "$e2e/record_family" "$record" \
  >"$work/out.1" 2>"$work/err.1" </dev/null &
other=$!
DTL_NODE_RANK=0 start_job -ppn 1 --start-timeout 5 "$e2e/record_family" "$record"
expect_family 8
signal KILL "$(pids_of node2 job-keeper)" node2
end_job
expect_status 137
expect_err "its job-keeper \(process [0-9]+\) was killed"
wait "$other"
expect_nothing_left 15
unset DTL_NNODES DTL_RDZV DTL_JOB_ID DTL_TOKEN

# ---- --on-event
events() { on node1 pgrep -f -x 'sleep 73[12]' | wc -l; }
has_events() { [ "$(events)" = "$1" ]; }
start_job -np 1 --on-event 'exec sleep 731' sleep 60
wait_for 10 "the command of --on-event" has_events 1
signal KILL "$launcher"
end_job
wait_for 5 "the command to end with its launcher" has_events 0
no_agent() { ! pids_of node1 dtagent >/dev/null; }
for by in clean job; do
  start_job -np 1 --on-event 'sleep 732 & exec sleep 731' sleep 60
  wait_for 10 "the command of --on-event" has_events 2
  signal KILL "$launcher"
  end_job
  wait_for 5 "the command to end with its launcher" has_events 1
  wait_for 20 "its ranks to end" no_agent
  if [ "$by" = clean ]; then launch clean; else launch -np 1 true; fi
  expect_status 0
  wait_for 10 "what it had left to be ended by a $by" has_events 0
done

# ---- a file size limit ends no process of ours; if a rank cannot be started for it, the message names it
launch -np 1 true # creates the folders
limited() { # KIB COMMAND: its output goes into pipes
  # shellcheck disable=SC2016
  run "$cluster" exec node1 bash -c 'set -o pipefail
    (ulimit -f "$1"; exec "$0" --log-dir /run/limited -np 1 sh -c "$2" 2>&1) | cat' "$bin/dtlaunch" "$@"
}
limited 64 'echo lives; seq 100000 >/dev/null; ulimit -f; exit 3'
expect_status 3
expect_out '^lives$'
expect_out '^128$' # blocks of 512 bytes
limited 64 'seq 100000; exit 3'
expect_out '^100000$'
expect_out 'dtlaunch: localhost: /run/limited/.*: cannot keep output: File too large; the job goes on$'
limited 0 true
expect_status 71
expect_out '^dtlaunch: rank 0 on .*cannot start: files: File too large'
expect_out 'ulimit -f$'
expect_hosts_idle 15
