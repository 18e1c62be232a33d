#!/usr/bin/env bash
# --timeout ends the job on every host with exit status 124.
. "$(dirname "$0")/lib.sh"
need_cluster 2

launch -f "$work/hosts" -np 4 -ppn 2 --timeout 3 "$e2e/record_family" "$record"
expect_status 124
expect_equal "processes recorded before the time was up" "$(recorded)" 16
[ "$took_ms" -ge 3000 ] || fail "ended after $took_ms ms already"
expect_within 9500
expect_err '3'
expect_nothing_left 1

launch -np 1 --timeout 20 true
expect_status 0
expect_within 5000
