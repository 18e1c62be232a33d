#!/usr/bin/env bash
# What belongs to a job works in a tree of agents, too, for ranks whose agents are behind others: ps, ask, top, logs,
# attach and doctor while it runs, fences of PMI and PMIx, a restart that replaces a rank's host, a job that ends by --timeout.
. "$(dirname "$0")/lib.sh"
DTRING_LIBRARY=$(dirname "$bin")/ring/libdtring.so.2
[ -e "$DTRING_LIBRARY" ] || fail "$DTRING_LIBRARY has not been built"
need_cluster 6
# node2 and node3 are the tops; node4, node5 and node6 are behind them.
printf 'node%s\n' {2..6} >"$work/hosts"
tree=(-f "$work/hosts" -ppn 1 --tree 2 -v)
tree_has() { expect_err "^dtlaunch: tree of agents: 2 direct, $1 behind others, depth 2\$"; }

# ---- commands about a running job
launch --detach --hang-notice 0 "${tree[@]}" -np 5 -genv DTRING_LIBRARY "$DTRING_LIBRARY" \
  python3 "$e2e/asked_barriers.py" "$work/go"
expect_status 0
id=$(head -n 1 "$work/out")
log() { on node1 "$bin/dtlaunch" logs "$id" 2>&1; }
ranks_have_met() { [ "$(log | grep -c "rank . pid")" = 5 ]; }
wait_for 20 "the ranks to meet" ranks_have_met
log >"$work/log"
expect_count 1 'tree of agents: 2 direct, 3 behind others, depth 2$' "$work/log"
pid_of() { sed -n "s/^.*rank $1 pid //p" "$work/log"; }

launch ps
expect_out "^$id +node1 +5 +5 +[0-9]+s running "
run "$cluster" exec node5 "$bin/dtlaunch" ps
expect_out "^$id +node1 +1[+] +1[+] +[0-9]+s running "

launch ask "$id"
expect_status 0
expect_out "^ +3 node5 +$(pid_of 3) (sleeping|running) .* barrier 2 of 5 ranks$"
expect_out '^ranks 0-1,3-4: barrier 2 of 5 ranks$'
expect_out '^rank 2$'

launch top --once
expect_status 0
expect_out "^job $id  running  5 of 5 ranks on 5 hosts  "
expect_out '^! ranks 0-1,3-4 wait in barrier for rank 2 \(node4\), seen for [0-9.]+ s$'

launch doctor -f "$work/hosts"
expect_status 0

touch "$work/go"
launch attach "$id"
expect_status 0

# ---- fences
launch "${tree[@]}" -v -np 5 python3 "$e2e/pmi_rank.py" large
expect_status 0
expect_err ': PmiFenced goes down the tree for 3 nodes, [0-9]+ bytes to each of 2 tops$'
tree_has 3
for rank in {0..4}; do
  expect_count 1 "^rank $rank of 5: of rank 0 on node2; .*of rank 4 on node6: \\(vector,\\(0,5,1\\)\\)\$" "$work/out"
done
if command -v mpicc.openmpi >"$work/mpicc" && mpicc.openmpi -o "$work/hello" "$e2e/mpi_hello.c" 2>"$work/mpicc.err"; then
  launch "${tree[@]}" -np 4 -genv OMPI_ALLOW_RUN_AS_ROOT 1 "$work/hello"
  expect_status 0
  expect_count 4 '^rank [0-3] of 4' "$work/out"
else
  printf 'fences of PMIx are left out: no mpicc.openmpi\n'
fi

# ---- restarts, and an end by time
# shellcheck disable=SC2016
launch "${tree[@]}" -np 5 --max-restarts 1 sh -c \
  '[ "$RANK$TORCHELASTIC_RESTART_COUNT" != 40 ] || exit 3; echo "rank $RANK, epoch $TORCHELASTIC_RESTART_COUNT"'
expect_status 0
expect_count 5 '^rank [0-4], epoch 1$' "$work/out"

launch "${tree[@]}" -np 5 --timeout 1 sleep 1000
expect_status 124
expect_err '^dtlaunch: the job reached its time limit after 1'
expect_hosts_idle 15
