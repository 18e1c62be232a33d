#!/usr/bin/env bash
# SIGTERM to the launcher ends the job in order: exit status 143, nothing left. A second ^C does not
# wait for ranks that ignore SIGTERM.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard

start_job -np 2 --oversubscribe "$e2e/record_family" "$record"
expect_family 8
mark
signal TERM "$launcher"
end_job
expect_status 143
expect_within 6000
expect_nothing_left 1

: >"$record"
start_job -np 2 --oversubscribe sh -c "trap '' TERM; exec '$e2e/record_family' '$record'"
expect_family 8
mark
signal INT "$launcher"
wait_for 2 "the notice that ranks are being stopped" grep -qi 'stop\|interrupt\|\^C' "$work/err"
signal INT "$launcher"
end_job
expect_status 130
expect_within 3000
expect_nothing_left 1
