#!/usr/bin/env bash
# dtagent --service, started by hand or by systemd's socket activation, serves launchers on its own
# machine and over ssh. It reports its state to the manager and serves only its user. If it is gone,
# hangs or is told to stop, no job hangs.
. "$(dirname "$0")/lib.sh"
need_cluster 2
socket=/run/user/0/dtlaunch/agent.socket

# Lists all programs above the rank.
cat >"$work/rank" <<'RANK'
#!/bin/sh
pid=$$
while [ "$pid" -gt 1 ]; do
  printf '%s; ' "$(tr '\0' ' ' <"/proc/$pid/cmdline")"
  pid=$(awk '/^PPid/ {print $2}' "/proc/$pid/status")
done
echo
RANK
chmod +x "$work/rank"

# By systemd's socket activation, on node2; launched from node1.
on node2 "$e2e/service_manager.py" $socket "$work/notes" "$bin/dtagent" --service --allow-root >"$work/service" 2>&1 &
manager=$!
wait_for 10 "the service to be ready" grep -q READY=1 "$work/notes"
wait_for 5 "the watchdog to be served" sh -c "[ \$(grep -c WATCHDOG=1 '$work/notes') -ge 3 ]"
launch -hosts node1,node2 -np 2 -ppn 1 "$work/rank"
expect_status 0
expect_out 'dtagent --serve ; .*dtagent --service --allow-root ;'
expect_count 1 'dtagent --service' "$work/out"
wait_for 5 "the number of jobs" grep -q 'STATUS=1 job on this node' "$work/notes"

# A launcher does not use a service that hangs.
service=$(on node2 pgrep -f '^[^ ]*dtagent --service')
on node2 kill -STOP "$service"
launch -hosts node2 -np 1 "$work/rank"
expect_status 0
expect_count 0 'dtagent --service' "$work/out"
on node2 kill -CONT "$service"

# Only its user may talk to it, whatever the socket's mode is.
on node2 chmod -R a+rwx /run/user
run "$cluster" exec node2 setpriv --reuid 65534 --clear-groups python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.settimeout(5)
print("answer:", s.recv(100))' $socket
expect_out "answer: b''"
wait_for 5 "the refusal" grep -q 'refused a connection from another user' "$work/service"
on node2 chmod 700 /run/user/0/dtlaunch

# When told to stop, it ends its jobs in order.
start_job -hosts node2 -np 2 "$e2e/record_family" "$record"
expect_family 8
kill -TERM "$manager" 2>/dev/null
on node2 kill -TERM "$service"
end_job
expect_status 71
expect_nothing_left 10
wait_for 10 "the service to say that it stops" grep -q STOPPING=1 "$work/notes"
wait "$manager"

# Its socket still exists, but nobody listens.
launch -hosts node2 -np 1 "$work/rank"
expect_status 0
expect_count 0 'dtagent --service' "$work/out"
launch clean -hosts node2
expect_out "removed $socket"

# By hand; a launcher on the same machine uses it directly, unless the launcher has fewer CPUs.
run "$cluster" exec node1 "$bin/dtagent" --service
expect_status 78
expect_err 'cannot serve as root'
on node1 "$bin/dtagent" --service --allow-root >"$work/service" 2>&1 &
service_exec=$!
wait_for 10 "the service" on node1 test -S "$(runtime_folder node1)/agent.socket"
launch -np 1 "$work/rank"
expect_out 'dtagent --serve ; .*dtagent --service'
! grep -q 'dtlaunch -np' "$work/out" || fail "the agent is a child of dtlaunch"
if [ "$(nproc)" -gt 1 ]; then
  run "$cluster" exec node1 taskset -c 0 "$bin/dtlaunch" -np 1 "$work/rank"
  expect_count 0 'dtagent --service' "$work/out"
fi
run "$cluster" exec node1 "$bin/dtagent" --service --allow-root
expect_status 73

# Killed, it leaves a stale socket, which the next one replaces.
on node1 pkill -KILL -f '^[^ ]*dtagent --service'
wait "$service_exec"
launch -np 1 "$work/rank"
expect_status 0
expect_count 0 'dtagent --service' "$work/out"
on node1 "$bin/dtagent" --service --allow-root >"$work/service" 2>&1 &
service_exec=$!
answers() { grep -q DTLAUNCH-AGENT < <(on node1 "$bin/dtagent" --bridge </dev/null 2>/dev/null); }
wait_for 10 "the next service" answers
on node1 pkill -TERM -f '^[^ ]*dtagent --service'
wait "$service_exec" || fail "the service ended with status $?"
run "$cluster" exec node1 "$bin/dtagent" --bridge
expect_status 71
expect_err 'systemctl --user enable'
expect_hosts_idle 10
