#!/usr/bin/env bash
# A rank that others wait for is named once, with its activity. --hang-timeout ends the job with
# exit status 124 and shows the ranks' stacks, the odd one first.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
DTRING_LIBRARY=$(dirname "$bin")/ring/libdtring.so.2
[ -e "$DTRING_LIBRARY" ] || fail "$DTRING_LIBRARY has not been built"
export DTRING_LIBRARY

# One rank computes while the other waits.
launch -np 2 --hang-notice 1 --hang-timeout 2.5 --report "$work/report" python3 "$e2e/hanging_rank.py" spin
expect_status 124
expect_err '^dtlaunch: localhost: rank 1 has not entered the barrier in which rank 0 has waited for [0-9]+ s: it computes \(process [0-9]+\)$'
expect_equal "notices" "$(grep -c 'localhost: rank 1 has not entered' "$work/err")" 1
expect_err '^dtlaunch: the job hangs and was ended after .*: rank 1 has not entered the barrier'
expect_err '^  hangs +rank 1 on localhost: not in the barrier in which rank 0 waits$'
expect_err '^  stack +\| File ".*hanging_rank\.py", line [0-9]+, in spin$'
expect_err '^  native +rank 1: '
expect_equal "ranks that hang, in the report" "$(grep -A1 '"hangs"' "$work/report" | tr -d ' \n')" '"hangs":[1'
expect_count 1 '"cause": "hang"' "$work/report"
expect_count 2 '"native(_problem)?"' "$work/report"
first=$(grep -n 'in spin' "$work/err" | head -n 1) other=$(grep -n 'in barrier' "$work/err" | head -n 1)
[ "${first%%:*}" -lt "${other%%:*}" ] || fail "the odd rank's stack does not come first"

# Stopped in a barrier, before one, or while it reports one.
start_job -np 2 --hang-notice 1 --hang-timeout 2.5 python3 "$e2e/hanging_rank.py" go_on
wait_for 20 "both ranks to meet" eval '[ "$(grep -c "^pid" "$work/out")" = 2 ]'
signal STOP "$(sed -n 's/^pid \([0-9]*\) rank 1$/\1/p' "$work/out")"
end_job
expect_status 124
expect_err '(it|rank 1) is stopped \(process [0-9]+\)$|: rank 1 has been stopped for [0-9]+ s$'
expect_err '^  hangs +rank 1 on localhost'
