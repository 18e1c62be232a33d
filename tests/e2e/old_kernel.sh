#!/usr/bin/env bash
# Kernels and containers that refuse newer system calls (Enterprise Linux 8, older profiles): jobs run, fail, end,
# answer queries and are cleaned up as usual, on this host and another. First each call is refused alone, then all
# of them.
. "$(dirname "$0")/lib.sh"
need_cluster 2

calls=(pidfd_open pidfd_send_signal clone3 close_range faccessat2 openat2 statx)
all=$(IFS=,; echo "${calls[*]}")
# The programs, with an agent that finds an old kernel on every host.
real=$bin old=$work/programs
mkdir "$old"
cp "$real/dtlaunch" "$real/dtguard" "$old/"
programs_without() { # WHY CALLS
  without=("$e2e/without_calls.py" "$1" "$2")
  printf '#!/bin/sh\nexec "%s" %s %s "%s/dtagent" "$@"\n' "${without[0]}" "$1" "$2" "$real" >"$old/dtagent"
  chmod +x "$old/dtagent"
}
launch_without() { run "$cluster" exec node1 "${without[@]}" "$old/dtlaunch" "$@"; }
start_without() { start_command "${without[@]}" "$old/dtlaunch" "$@"; }
programs_without ENOSYS "$all"
launch_without -np 1 true
[ "$status" != 77 ] || skip "$(cat "$work/err")"
# Check that the calls are refused: otherwise this test proves nothing.
# shellcheck disable=SC2016
launch_without -hosts node1,node2 -np 2 -ppn 1 python3 -c '
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(434, os.getpid(), 0), errno.errorcode[ctypes.get_errno()])'
expect_status 0
expect_count 2 '^-1 ENOSYS$' "$work/out"

# A job runs, fails and ends.
runs() { # WHAT
  echo "refused: $1"
  # shellcheck disable=SC2016
  launch_without -np 2 --oversubscribe --on-event 'cat >/dev/null' sh -c 'echo "rank $RANK"; ls /proc/self/fd | xargs'
  expect_status 0
  expect_out '^rank 1$'
  expect_count 2 '^0 1 2 3 4 5$' "$work/out" # 4: PMI; 5: of ls
  expect_no_err .
  launch_without -np 2 --oversubscribe sh -c '[ "$RANK" = 0 ] && exit 3; sleep 60'
  expect_status 3
  expect_within 20000
  # shellcheck disable=SC2016
  launch_without -np 1 --max-restarts 1 --on-event 'sed "s/.*/told: &/" >&2' sh -c '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || kill -9 $$'
  expect_status 0
  expect_count 5 '^told: \{"event":"' "$work/err"
  expect_no_err 'on-event'
}
for call in "${calls[@]}"; do
  programs_without ENOSYS "$call"
  runs "$call"
done
programs_without EPERM pidfd_open,pidfd_send_signal,close_range
runs "with EPERM: pidfd_open, pidfd_send_signal, close_range"
programs_without ENOSYS "$all"
runs "all"

# ---- all calls, on two hosts: kill an agent, a keeper, everything
two=(-hosts node1,node2 -np 4 -ppn 2)
for name in dtagent dtguard job-keeper; do
  : >"$record"
  start_without "${two[@]}" "$e2e/record_family" "$record"
  expect_family 16
  signal KILL "$(pids_of node2 $name)" node2
  end_job
  [ "$status" = 71 ] || [ "$status" = 137 ] || fail "exit status $status after the end of $name"
  expect_nothing_left 20
done
: >"$record"
start_without "${two[@]}" "$e2e/record_family" "$record"
expect_family 16
for name in dtlaunch job-keeper dtagent dtguard; do signal STOP "$(pids_of node1 $name)"; done
for name in dtlaunch job-keeper dtagent dtguard; do signal KILL "$(pids_of node1 $name)"; done
end_job
launch_without clean
expect_status 0
expect_out 'ended process'
expect_nothing_left 20

# ---- a job in the background: queried, listed, told to end
launch_without --detach -np 1 sh -c 'echo lives; sleep 600'
expect_status 0
id=$(cat "$work/out")
launch_without ps
expect_out "^${id:0:4}"
has_log() { launch_without logs "$id" && grep -q lives "$work/out"; }
wait_for 10 "its output" has_log
launch_without kill "$id"
expect_status 0
expect_err 'SIGTERM sent to its launcher; it has ended$'
no_agent() { ! pids_of node1 dtagent >/dev/null; }
wait_for 20 "the job to end" no_agent

# ---- a command that discovers hosts, and kept connections
launch_without --discover 'echo node1; echo node2' --nnodes 1:2 -ppn 1 sh -c 'echo runs'
expect_status 0
expect_count 2 '^runs$' "$work/out"
launch_without up -hosts node2
expect_status 0
launch_without -v -hosts node2 -np 1 true
expect_status 0
launch_without down
expect_status 0
expect_hosts_idle 20
