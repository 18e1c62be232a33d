#!/usr/bin/env bash
# Standard input goes to rank 0 alone, all of it, and ends there; the other ranks see its end.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard

launch -np 2 --oversubscribe cat
expect_status 0
expect_count 0 . "$work/out"

seq 200000 >"$work/numbers"
run sh -c "'$bin/dtlaunch' -np 2 --oversubscribe cat <'$work/numbers'"
expect_status 0
cmp -s "$work/numbers" "$work/out" || fail "rank 0 did not see the whole of standard input once"

# A rank that does not read must not keep the job.
run sh -c "'$bin/dtlaunch' -np 2 --oversubscribe true <'$work/numbers'"
expect_status 0
