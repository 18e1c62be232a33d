#!/usr/bin/env bash
# The scripts' own functions: a process counts only while it lives, and a run has a time limit.
. "$(dirname "$0")/lib.sh"

"$e2e/record_family" "$record" &
rank=$!
wait_for 10 "four recorded processes" has_recorded 4
expect_family 4

printf '%s %s %s %s\n' "$(uname -n)" $$ 1 another-start-time >>"$record"
printf '%s %s %s %s\n' elsewhere $$ 1 another-host >>"$record"
expect_equal "alive with two strangers in the record" "$(count_alive)" 4

kill -KILL "$rank"
wait "$rank" 2>/dev/null
expect_equal "alive without the rank" "$(count_alive)" 3
while read -r _ pid _ kind; do
  case "$kind" in child | session | daemon) kill -KILL "$pid" ;; esac
done <"$record"
expect_nothing_left 5

run sh -c 'echo seen; echo wrong >&2; exit 3'
expect_status 3
expect_out '^seen$'
expect_err '^wrong$'

# shellcheck disable=SC2016
run env SLURM_JOB_ID=1 PET_NNODES=2 PMI_RANK=0 DTLAUNCH_JOB=1 DTL_TOKEN=x KEPT=1 bash -c '. "$0/lib.sh"; env' "$e2e"
expect_status 0
expect_out '^KEPT=1$'
expect_equal "a scheduler's variables" "$(grep -Ec '^(SLURM|PET|DTLAUNCH_|DTL_TOKEN)' "$work/out")" 0

(limit=1; trap - EXIT; run sleep 20) 2>/dev/null && fail "a run over its limit was not noticed"
(trap - EXIT; expect_out '^unseen$') 2>/dev/null && fail "expect_out cannot fail"
(trap - EXIT; expect_nothing_left 1) || fail "expect_nothing_left fails on nothing"
exit 0
