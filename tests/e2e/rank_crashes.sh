#!/usr/bin/env bash
# A rank killed by a signal gives 128 + its number, and the signal's name in the card; a program
# that is not there gives 127, one that cannot be executed 126.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard

# shellcheck disable=SC2016
launch -np 2 --oversubscribe sh -c '[ "$RANK" = 0 ] && exec sleep 60; kill -SEGV $$'
expect_status 139
expect_err 'SIGSEGV'
expect_err 'rank 1'
expect_within 8000

launch -np 2 --oversubscribe no-such-program-here
expect_status 127
expect_err 'no-such-program-here'

echo 'not a program' >"$work/text"
launch -np 2 --oversubscribe "$work/text"
expect_status 126
expect_err "$work/text"

launch -np 2 --oversubscribe -wdir "$work/no-such-folder" true
[ "$status" != 0 ] || fail "a working directory that is missing was ignored"
expect_err 'no-such-folder'
