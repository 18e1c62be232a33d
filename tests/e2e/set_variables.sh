#!/usr/bin/env bash
# -genv and -env override exported values, which override what dtlaunch computes, except for the job's
# own variables. A value with blanks, quotes and newlines arrives as typed. Ranks start in -wdir.
. "$(dirname "$0")/lib.sh"
need_cluster 2

value='two words, "quotes", $dollar; and
a second line'
mkdir "$work/place"
# shellcheck disable=SC2016
run "$cluster" exec node1 env E2E_INHERITED=inherited OMP_NUM_THREADS=77 MASTER_ADDR=192.0.2.1 \
  "$bin/dtlaunch" -f "$work/hosts" -np 2 -ppn 1 -genv "E2E_TEXT=$value" -genv E2E_PAIR pair -env E2E_ENV=env \
  -genv=E2E_EQUALS=a=b -wdir "$work/place" sh -c '
    printf "%s" "$E2E_TEXT" >"text.$RANK"
    echo "$E2E_PAIR $E2E_ENV $E2E_EQUALS $E2E_INHERITED"
    [ "$OMP_NUM_THREADS" = 77 ] && [ "$MASTER_ADDR" != 192.0.2.1 ] && echo obeyed
    pwd'
expect_status 0
for rank in 0 1; do
  expect_equal "the text in rank $rank" "$(cat "$work/place/text.$rank")" "$value"
done
expect_count 2 '^pair env a=b inherited$' "$work/out"
expect_count 2 '^obeyed$' "$work/out"
expect_err 'MASTER_ADDR is exported and not used'
expect_err '77 threads on '
expect_count 2 "^$work/place\$" "$work/out"

# shellcheck disable=SC2016
launch -f "$work/hosts" -np 2 -ppn 1 -genv OMP_NUM_THREADS 5 -genv CCL_WORKER_COUNT=3 sh -c 'echo $OMP_NUM_THREADS $CCL_WORKER_COUNT'
expect_status 0
expect_count 2 '^5 3$' "$work/out"
