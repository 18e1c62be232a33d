#!/usr/bin/env bash
# More ranks than slots are refused, with both numbers, unless --oversubscribe is given. -ppn
# overrides the hostfile's counts. Hosts fill in order.
. "$(dirname "$0")/lib.sh"
need_cluster 2

printf '%s\n' 'node1:1  # one' 'node2 slots=2' >"$work/hosts"
launch -f "$work/hosts" -np 4 touch "$work/started"
expect_status 64
expect_err '4.*3'
expect_err 'oversubscribe'
[ ! -e "$work/started" ] || fail "a rank ran although there are too few slots"

where() { # EXPECTED ARGUMENTS...: the hosts of ranks 0, 1, ... in order
  local expected=$1
  shift
  # shellcheck disable=SC2016
  launch -f "$work/hosts" "$@" sh -c 'echo $RANK $DTLAUNCH_HOST'
  expect_status 0
  expect_equal "hosts of the ranks with $*" "$(sort -n "$work/out" | cut -d' ' -f2 | xargs)" "$expected"
}
where 'node1 node2 node2'
where 'node1 node2' -np 2
where 'node1 node1 node2 node2' -np 4 -ppn 2
where 'node1 node2' -np 2 -perhost=1

launch -f "$work/hosts" -np 5 --oversubscribe true
expect_status 0
