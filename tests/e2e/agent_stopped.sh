#!/usr/bin/env bash
# On dtlaunch's own machine, dtlaunch waits without limit for a process of ours that gets no CPU time. It names
# a process that somebody stopped, and ends the job. A process frozen by its cgroup counts as the first case.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
use_plain_path

# The job's process with this NAME: dtagent, the child of dtlaunch's child, or its child dtguard.
process_below() { # NAME
  local at=$launcher child deeper
  for _ in 1 2 3; do
    child=
    for deeper in $(cat "/proc/$at/task/$at/children" 2>/dev/null); do
      case $(cat "/proc/$deeper/comm" 2>/dev/null) in job-keeper | dtagent | dtguard) child=$deeper ;; esac
    done
    [ -n "$child" ] || return 1
    at=$child
    [ "$(cat "/proc/$at/comm")" != "$1" ] || { echo "$at"; return; }
  done
  return 1
}
is_said() { grep -Eq "$1" "$work/err"; }

# ---- stopped: named, then ended
start_job -np 2 --oversubscribe "$e2e/record_family" "$record"
expect_family 8
agent=$(process_below dtagent) || fail "no dtagent below $launcher"
mark
signal STOP "$agent"
end_job
expect_status 71
expect_err "dtagent \(process $agent\) is stopped \(state T\); the job ends unless it goes on within 1 s: kill -CONT $agent"
expect_err "^dtlaunch: .*dtagent \(process $agent\) was stopped for 1[01] s by a signal or a debugger"
expect_within 15000
expect_nothing_left 15

start_job -np 2 --oversubscribe "$e2e/record_family" "$record"
expect_family 8
guard=$(process_below dtguard) || fail "no dtguard below $launcher"
signal STOP "$guard"
end_job
expect_status 71
expect_err "dtguard \(process $guard\) is stopped \(state T\)"
expect_nothing_left 15

# ---- frozen: the job continues; guard, agent and launcher in turn
group=/sys/fs/cgroup/freezer/dtl-e2e-$$
mkdir "$group" 2>/dev/null || skip "no control group can be frozen here (cgroup v1, root); a stopped agent is named"
thaw() { echo THAWED >"$group/freezer.state"; }
gone() { thaw 2>/dev/null; until rmdir "$group" 2>/dev/null; do sleep 0.1; done; }
trap 'gone; finish 1' EXIT
freeze() { # PID
  echo "$1" >"$group/cgroup.procs"
  echo FROZEN >"$group/freezer.state"
}
unfreeze() { # PID
  thaw
  echo "$1" >/sys/fs/cgroup/freezer/cgroup.procs
}
start_job -np 1 sh -c 'until [ -e "$0" ]; do sleep 0.1; done; echo done' "$work/end"
guard=
wait_for 10 "dtguard" process_below dtguard >/dev/null
guard=$(process_below dtguard) agent=$(process_below dtagent)
freeze "$guard"
wait_for 30 "a word about the guard" is_said "dtguard \(process $guard\) runs, but had no time for [89] s; it is waited for"
unfreeze "$guard"
freeze "$agent"
wait_for 30 "a word about the agent" is_said "dtagent \(process $agent\) runs, but had no time for 9 s; it is waited for"
sleep 4 # longer than a guard waits for its agent
unfreeze "$agent"
wait_for 30 "the agent to go on" sh -c "! grep -q frozen /proc/$agent/stat"
touch "$work/end"
end_job
expect_status 0
expect_out '^done$'

rm "$work/end"
start_job -np 1 sh -c 'until [ -e "$0" ]; do sleep 0.1; done; echo done' "$work/end"
wait_for 10 "dtguard" process_below dtguard >/dev/null
freeze "$launcher"
sleep 14 # longer than agents wait for a lost launcher
unfreeze "$launcher"
wait_for 10 "dtlaunch to go on" is_said 'was stopped for 1[3-9] s'
touch "$work/end"
end_job
expect_status 0
expect_out '^done$'
gone
trap 'finish $?' EXIT
