#!/usr/bin/env bash
# A host that is cut off is named within 12 s with exit status 69. Its ranks end by themselves when
# their lease expires, although the link stays down.
. "$(dirname "$0")/lib.sh"
limit=40
need_cluster 2

start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
mark
"$cluster" cut node2
end_job
expect_status 69
expect_err '^dtlaunch: .*node2'
expect_within 12500
expect_nothing_left 12
