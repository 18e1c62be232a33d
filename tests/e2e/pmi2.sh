#!/usr/bin/env bash
# Ranks find each other over PMI-2, spoken by Slurm's library, on one host and on two.
. "$(dirname "$0")/lib.sh"
need_cluster 2
command -v cc >/dev/null || skip "there is no C compiler"
[ -e /usr/include/slurm/pmi2.h ] || skip "there is no <slurm/pmi2.h> (package libpmi2-0-dev)"
rank=$work/pmi2_rank
cc -o "$rank" "$e2e/pmi2_rank.c" -lpmi2 || fail "the rank does not compile"

cards='node1;0 node1;0 node2;1 node2;1 \(vector,\(0,2,2\)\) a;b'
launch -f "$work/hosts" -np 2 -ppn 2 "$rank" : -np 2 "$rank"
expect_status 0
for i in 0 1 2 3; do expect_count 1 "^rank $i of 4: $cards\$" "$work/out"; done
launch -f "$work/hosts" -np 4 -rr --pmi pmi2 "$rank"
expect_status 0
expect_count 4 '^rank [0-3] of 4: node1;0 node2;0 node1;0 node2;0 \(vector,\(0,2,1\),\(0,2,1\)\) a;b$' "$work/out"
run "$bin/dtlaunch" -np 2 --oversubscribe "$rank"
expect_status 0
expect_count 2 '^rank [01] of 2: .* \(vector,\(0,1,2\)\) a;b$' "$work/out"

launch -f "$work/hosts" -np 2 -ppn 1 "$rank" abort
expect_status 1
expect_err 'rank 1 on node2 called MPI_Abort\(1\)'
launch -f "$work/hosts" -np 2 -ppn 1 "$rank" leave
expect_status 76
expect_err 'rank 1 on node2 '
expect_hosts_idle 5
