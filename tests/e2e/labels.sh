#!/usr/bin/env bash
# With -l, every line has its rank's label, and lines of different ranks are never mixed, although
# they are written in pieces. Standard output and standard error stay separate.
. "$(dirname "$0")/lib.sh"
need_cluster 2

# shellcheck disable=SC2016
launch -l -f "$work/hosts" -np 4 -ppn 2 sh -c '
  for i in $(seq 100); do printf "rank $RANK "; printf "line "; echo "$i end"; done
  echo "rank $RANK warns" >&2'
expect_status 0
expect_count 400 . "$work/out"
for rank in 0 1 2 3; do
  grep "^\[$rank\] " "$work/out" >"$work/of_rank"
  seq -f "[$rank] rank $rank line %g end" 100 | cmp -s - "$work/of_rank" ||
    fail "rank $rank's lines are not whole or not in order: $(head -3 "$work/of_rank")"
  expect_count 1 "^\[$rank\] rank $rank warns\$" "$work/err"
done
