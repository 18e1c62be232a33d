#!/usr/bin/env bash
# --max-restarts: after a lost rank or agent, all ranks restart, never before the old ones are gone. A
# failure that a retry cannot fix ends the job with the reason. restart_cut.sh tests lost hosts.
. "$(dirname "$0")/restart_lib.sh"

# ---- a rank is killed: the others end, and all restart on the same hosts
fresh
start_job -f "$work/hosts" -np 3 -ppn 1 --max-restarts 2 --report "$work/report" \
  -outfile-pattern "$work/out.%r" "$work/rank" "$work/ranks" '0:0:echo first' '1:0:echo second'
expect_epoch 0 3
signal KILL "$(awk '$2 == 1 { print $4 }' "$work/ranks")" node2
expect_epoch 1 3
expect_equal "ranks of the first epoch that are alive in the second" "$(alive_of 0)" 0
expect_equal "ranks of the second" "$(alive_of 1)" 3
on node1 "$bin/dtlaunch" ps >"$work/ps"
expect_count 1 ' running r1 ' "$work/ps"
on node1 "$bin/dtlaunch" ps -v >"$work/ps"
expect_count 1 '^  1: rank 1 on node2 after [0-9.]* s: [a-z-]* SIGKILL; on with node1,node2,node3; [0-9.]* s lost$' "$work/ps"
touch "$work/ranks.end"
end_job
expect_status 0
expect_err '^dtlaunch: rank 1 on node2 was killed by SIGKILL'
expect_err '^dtlaunch: restart 1 of 2 on node1,node2,node3$'
expect_equal "output of rank 0, of both epochs" "$(tr '\n' ' ' <"$work/out.0")" "first second "
expect_count 1 '"restarts": 1' "$work/report"
expect_count 1 '"lost_s":' "$work/report"
expect_hosts_idle 5

# ---- an agent and its guard are killed: its ranks are ended before all restart
fresh
start_job -f "$work/hosts" -np 3 -ppn 1 --max-restarts 1 "$work/rank" "$work/ranks"
expect_epoch 0 3
on node3 pkill -KILL -x dtagent
expect_epoch 1 3
expect_equal "ranks of the first epoch that are alive in the second" "$(alive_of 0)" 0
touch "$work/ranks.end"
end_job
expect_status 0
expect_hosts_idle 5

# ---- the same only on this machine, without hosts
fresh
start_job -np 2 --max-restarts 1 "$work/rank" "$work/ranks"
expect_epoch 0 2
on node1 pkill -KILL -x dtagent
expect_epoch 1 2
expect_equal "ranks of the first epoch that are alive in the second" "$(alive_of 0)" 0
touch "$work/ranks.end"
end_job
expect_status 0

# ---- and while ranks are ending after a failure
fresh
start_job -f "$work/hosts" -np 3 -ppn 1 --max-restarts 3 --grace 20 "$work/rank" "$work/ranks" \
  '0:0:trap "" TERM' '0:1:trap "" TERM'
expect_epoch 0 3
signal KILL "$(awk '$2 == 2 { print $4 }' "$work/ranks")" node3
wait_for 20 "the line about who is waited for" grep -q 'waiting for ranks 0-1 to end' "$work/err"
mark
signal INT "$launcher"
end_job
expect_status 137
expect_within 5000
expect_err '^dtlaunch: not started again: it was interrupted$'
expect_equal "epochs" "$(in_epoch 1)" 0
expect_hosts_idle 10

# ---- failures that a retry cannot fix
fresh
launch -f "$work/hosts" -np 2 -ppn 1 --max-restarts 5 "$work/rank" "$work/ranks" '0:1:exit 65'
expect_status 65
expect_err '^dtlaunch: not started again: status 65 says that another try would end alike$'
fresh
launch -f "$work/hosts" -np 2 -ppn 1 --max-restarts 5 python3 -c \
  'import os, time; time.sleep(0.2); int("x") if os.environ["RANK"] == "1" else time.sleep(60)'
expect_status 1
expect_err '^dtlaunch: not started again: rank 1 ended by a Python exception before its first step$'
fresh
launch -f "$work/hosts" -np 2 -ppn 1 --max-restarts 5 "$work/rank" "$work/ranks" '0:1:sleep 0.5; exit 3' '1:1:sleep 0.5; exit 3'
expect_status 3
expect_err '^dtlaunch: not started again: rank 1 has failed in the same way twice$'
expect_equal "ranks that were started" "$(wc -l <"$work/ranks")" 4
fresh
launch -f "$work/hosts" -np 2 -ppn 1 --max-restarts 5 no-such-program
expect_status 127
expect_err '^dtlaunch: not started again: its program cannot be started$'

# ---- restarts that fail at once end with the first cause, each after a longer wait
fresh
launch -np 2 --max-restarts 2 "$work/rank" "$work/ranks" '0:0:exit 3' '1:1:exit 4' '2:0:exit 5'
expect_status 3
expect_err '^dtlaunch: restart 2 of 2 on localhost in [01]\.[0-9] s$|^dtlaunch: restart 2 of 2 in [01]\.[0-9] s$'
expect_err '^dtlaunch: not started again: --max-restarts 2$'
expect_err '^dtlaunch: the first cause: rank-exit of rank 0 on localhost, status 3$'

# ---- restarts read standard input again from a file, but cannot from a pipe
fresh
status=0
printf 'a\nb\n' >"$work/input"
# shellcheck disable=SC2016
"$bin/dtlaunch" -np 1 --max-restarts 1 bash -c \
  'read -r line; echo "$TORCHELASTIC_RESTART_COUNT $line"; exit $((3 - 3 * TORCHELASTIC_RESTART_COUNT))' \
  <"$work/input" >"$work/out" 2>"$work/err" || status=$?
expect_status 0
expect_equal "what both epochs read" "$(tr '\n' ' ' <"$work/out")" "0 a 1 a "
status=0
printf 'a\nb\n' | "$bin/dtlaunch" -np 1 --max-restarts 1 bash -c 'read -r line; exit 3' \
  >"$work/out" 2>"$work/err" || status=$?
expect_status 3
expect_err '^dtlaunch: not started again: its ranks have read 2 bytes of standard input, which does not come twice'

# ---- --timeout is for all epochs together
fresh
launch -np 1 --max-restarts 9 --timeout 2 bash -c 'sleep 0.3; kill -KILL $$'
expect_status 124
expect_within 4500

# ---- refused before anything starts
launch -f "$work/hosts" --spares 1 true
expect_status 64
expect_err "spare hosts are used only after a restart"
launch -f "$work/hosts" --max-restarts 1 --spares 3 true
expect_status 64
launch --max-restarts -1 true
expect_status 64
