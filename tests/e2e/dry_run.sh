#!/usr/bin/env bash
# --dry-run prints rank, host, CPUs, threads and address, masks secrets, and starts nothing.
. "$(dirname "$0")/lib.sh"
need_cluster 2

launch -f "$work/hosts" -np 4 -ppn 2 -genv HF_TOKEN=hunter2 --dry-run touch "$work/started"
expect_status 0
expect_out 'node1'
expect_out 'node2'
expect_out 'touch'
address=$(on node1 ip -o -4 addr show scope global | awk '{sub("/.*", "", $4); print $4; exit}')
expect_out "${address//./\\.}"
grep -q hunter2 "$work/out" "$work/err" && fail "the plan shows a secret"
# A line with a single word, such as a long path, is not wrapped.
[ "$(grep -v "^ *'[^']*'\$" "$work/out" | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 80 ] ||
  fail "the plan is wider than 80 columns: $(cat "$work/out")"
[ ! -e "$work/started" ] || fail "--dry-run started a rank"
expect_hosts_idle 5
