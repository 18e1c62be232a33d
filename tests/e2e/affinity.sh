#!/usr/bin/env bash
# Ranks run on the CPUs that --dry-run shows, as read inside the ranks: disjoint on each host, and
# within the CPUs that the host offers.
. "$(dirname "$0")/lib.sh"
[ "$(nproc)" -ge 2 ] || skip "pinning two ranks apart needs two CPUs"
need_cluster 2

# shellcheck disable=SC2016
launch -f "$work/hosts" -np 4 -ppn 2 sh -c \
  'echo "$RANK $DTLAUNCH_HOST $OMP_NUM_THREADS $(sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status)"'
expect_status 0
expect_count 4 . "$work/out"
sort -n "$work/out" >"$work/seen"

offered=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
python3 - "$work/seen" "$offered" <<'CHECK' || fail "pins overlap or leave the host's CPUs: $(cat "$work/seen")"
import sys
offered = set(map(int, sys.argv[2].split()))
taken = {}
for line in open(sys.argv[1]):
    rank, host, threads, cpus = line.split()
    mine = set()
    for part in cpus.split(","):
        low, _, high = part.partition("-")
        mine |= set(range(int(low), int(high or low) + 1))
    assert mine and mine <= offered, (line, offered)
    assert not mine & taken.setdefault(host, set()), line
    assert 1 <= int(threads) <= len(mine), line
    taken[host] |= mine
CHECK

launch -f "$work/hosts" -np 4 -ppn 2 --dry-run true
expect_status 0
while read -r rank host threads cpus; do
  [ "$host" = node1 ] || continue
  expect_out "^ +$rank +$((rank % 2)) +$threads +[0-9,]+ +(-|near|far) +$cpus\$"
done <"$work/seen"
expect_out '^node2 .*  as node1: ranks 2-3$'

# Memory: a rank's policy is that of its domain, or the default on a host with one NUMA node.
launch -np 1 -membind bind sh -c 'grep -m 1 "stack" /proc/self/numa_maps'
expect_status 0
expect_out ' bind:0 '
launch -np 1 sh -c 'grep -m 1 "stack" /proc/self/numa_maps'
expect_out ' default '
launch -np 1 -membind nexttouch true
expect_status 64
expect_err 'is a policy that Linux does not have'
