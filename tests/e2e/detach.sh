#!/usr/bin/env bash
# A job started with --detach outlives the shell, the terminal and the login. ps, logs and attach
# find it by id from another host. Its output, report and exit status are kept.
. "$(dirname "$0")/lib.sh"
need_cluster 2

# The ranks run until the file appears.
cat >"$work/rank" <<'RANK'
#!/bin/sh
echo "rank $RANK is here"
echo "rank $RANK complains" >&2
until [ -e "$1" ]; do sleep 0.1; done
echo "rank $RANK leaves"
[ "$RANK" = 0 ] || sleep 0.3
exit 3
RANK
chmod +x "$work/rank"

# Kill the shell and its session, as a closed laptop does to a login.
run "$cluster" exec node1 setsid -w bash -c "'$bin/dtlaunch' --detach -f '$work/hosts' -np 2 -ppn 1 --report '$work/report.json' \
  '$work/rank' '$work/go'; echo status \$?; kill -HUP -\$\$; kill -9 \$\$"
expect_out '^status 0$'
expect_err 'runs in the background'
id=$(head -n 1 "$work/out")
expect_equal "digits of the id" "${#id}" 16

logs_of() { on "$1" "$bin/dtlaunch" logs "${@:3}" "$2" >"$work/logs" 2>&1; }
has_log() { logs_of "$@" && grep -q 'rank 1 is here' "$work/logs"; }
wait_for 10 "the output of rank 1" has_log node1 "$id"

run "$cluster" exec node2 "$bin/dtlaunch" ps -hosts node1
expect_status 0
expect_out "^$id +node1 +2 +2 +[0-9]+s running "
run "$cluster" exec node2 "$bin/dtlaunch" ps
expect_out "^$id +node1 +1[+] +1[+] +[0-9]+s running"
expect_err 'the share of the hosts that were asked.*dtlaunch ps -hosts node1$'

# ^C ends attach but not the job.
env --default-signal=INT "$cluster" exec node1 "$bin/dtlaunch" attach "$id" >"$work/attached" 2>&1 </dev/null &
attach=$!
wait_for 20 "attach" grep -q 'attached to job' "$work/attached"
kill -INT "$attach"
wait "$attach"
run "$cluster" exec node1 "$bin/dtlaunch" ps
expect_out "^$id .* running "

# From the worker, which knows where the launcher is.
run "$cluster" exec node2 "$bin/dtlaunch" logs --rank 1 "${id:0:6}"
expect_status 0
expect_out '^rank 1 is here$'
expect_err '^rank 1 complains$'
! grep -q 'rank 0' "$work/out" || fail "--rank 1 shows rank 0"
run "$cluster" exec node2 "$bin/dtlaunch" logs --rank 2 "${id:0:6}"
expect_status 65
expect_err "^dtlaunch: --rank 2: job $id has the ranks 0 to 1\."

# logs -f and attach run until the job ends, and attach returns its exit status.
timeout 20 "$cluster" exec node2 "$bin/dtlaunch" logs -f -hosts node1 "$id" >"$work/follow" 2>&1 </dev/null &
follower=$!
timeout 20 "$cluster" exec node2 "$bin/dtlaunch" attach "$id" >"$work/attached" 2>&1 </dev/null &
attached=$!
wait_for 10 "attach" grep -q 'attached to job' "$work/attached"
wait_for 10 "logs -f" grep -q 'rank 1 is here' "$work/follow"
sleep 0.5 # attach shows only later output
touch "$work/go"
status=0
wait "$attached" || status=$?
expect_equal "status of attach" "$status" 3
status=0
wait "$follower" || status=$?
expect_equal "status of logs -f" "$status" 0
grep -q 'rank 0 leaves' "$work/attached" || fail "attach did not show: $(cat "$work/attached")"
grep -q 'is here' "$work/attached" && fail "attach shows what was there before it"
grep -q 'exited with status 3' "$work/follow" || fail "logs -f did not show the failure card"
expect_hosts_idle 10

run "$cluster" exec node1 "$bin/dtlaunch" ps
! grep -q "$id" "$work/out" || fail "ps shows a job that is over"
run "$cluster" exec node1 "$bin/dtlaunch" ps -a
expect_out "^$id .* exit 3 "
run "$cluster" exec node1 "$bin/dtlaunch" attach "$id"
expect_status 3
grep -q '"exit_status": 3' "$work/report.json" || fail "no report: $(cat "$work/report.json")"

# If a job cannot start, the error appears in the foreground.
launch --detach -f "$work/hosts" -np 2 -ppn 1 /no/such/program
expect_status 127
expect_err 'no/such/program'
launch --detach -hosts node1,node3 -np 2 -ppn 1 true
expect_err 'node3'
[ "$status" != 0 ] || fail "a host that does not exist is no error"
expect_hosts_idle 10

# Ids without a job.
launch logs ffff
expect_status 65
expect_err "job ffff: not found on the hosts that were asked"
launch attach xyz
expect_status 64
