#!/usr/bin/env bash
# Standard input goes only to rank 0, completely; the other ranks see its end.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard

launch -np 2 --oversubscribe cat
expect_status 0
expect_count 0 . "$work/out"

seq 200000 >"$work/numbers"
run sh -c "'$bin/dtlaunch' -np 2 --oversubscribe cat <'$work/numbers'"
expect_status 0
cmp -s "$work/numbers" "$work/out" || fail "rank 0 did not see the whole of standard input once"

# A rank that does not read must not hold up the job.
run sh -c "'$bin/dtlaunch' -np 2 --oversubscribe true <'$work/numbers'"
expect_status 0

# Unread input stays for the shell that started us: from a file, from a pipe, and as its own script;
# to the byte if rank 0 is here.
cat >"$work/loop" <<'LOOP'
n=0
while read -r x; do n=$((n + 1)); "$@"; done
echo "$n turns"
LOOP
seq 3 >"$work/three"
for input in "<'$work/three'" "< <(cat '$work/three')"; do
  run bash -c "bash '$work/loop' '$bin/dtlaunch' -np 2 --oversubscribe true $input"
  expect_out '^3 turns$'
done
printf '%s\n' "'$bin/dtlaunch' -np 1 true" 'echo after the first' "'$bin/dtlaunch' -np 1 true" \
  'echo after the last' >"$work/script"
run bash -c "bash -s <'$work/script'"
expect_out '^after the first$'
expect_out '^after the last$'
printf 'one\ntwo\nthree\n' >"$work/lines"
run bash -c "{ '$bin/dtlaunch' -np 1 sh -c 'read -r x; echo rank \$x'; cat; } < <(cat '$work/lines')"
expect_equal "a line to the rank and the rest to cat" "$(cat "$work/out")" "$(printf 'rank one\ntwo\nthree')"
