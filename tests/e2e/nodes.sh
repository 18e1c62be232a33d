#!/usr/bin/env bash
# A scheduler starts dtlaunch on each node: one job, no ssh, a name that resolves late, one status for
# all. No node ends before all ranks have, and SIGTERM to one node ends the job in order.
. "$(dirname "$0")/lib.sh"
need_cluster 3

export JOB_COMPLETION_INDEX=0 DTL_NNODES=3 DTL_RDZV=first.pods:29500 DTL_JOB_ID=pods
token=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')

# node I COMMAND...: on host I + 1, as PID 1 of its own namespace; status in $work/status.I.
node() {
  local rank=$1
  shift
  {
    DTL_NODE_RANK=$rank DTL_TOKEN=$token timeout -s KILL "$limit" "$cluster" exec "node$((rank + 1))" \
      unshare --pid --fork --mount-proc --kill-child "$bin/dtlaunch" "$@" \
      >"$work/out.$rank" 2>"$work/err.$rank" </dev/null
    echo $? >"$work/status.$rank"
  } &
}

statuses() { cat "$work"/status.[012] | xargs; }
said() { cat "$work"/err.[012]; }
ranks_run() { [ "$(cat "$work"/started.* 2>/dev/null | wc -l)" = 3 ]; }

# ---- the name resolves late, and all nodes return the job's status
# shellcheck disable=SC2016
for rank in 1 2 0; do
  node "$rank" -ppn 1 sh -c 'echo "rank $RANK of $WORLD_SIZE ${DTL_TOKEN-none}"; [ $RANK = 0 ] || exit 0
    sleep 0.5; ls "$0"/status.* 2>/dev/null; exit 3' "$work"
done
wait_for 20 "the first node to listen" on node1 sh -c "ss -H -ltn 'sport = 29500' | grep -q ."
[ -z "$(cat "$work"/status.* 2>/dev/null)" ] || fail "a node has ended: $(said)"
late=$(now_ms)
for host in "${hosts[@]}"; do on "$host" sh -c 'echo "10.77.0.1 first.pods" >>/etc/hosts'; done
wait
expect_equal "statuses of the nodes" "$(statuses)" "3 3 3"
expect_equal "output of the first node" "$(sort "$work/out.0" | xargs)" \
  "rank 0 of 3 none rank 1 of 3 none rank 2 of 3 none"
expect_equal "output of the others" "$(cat "$work/out.1" "$work/out.2")" ""
echo "from the name to the end: $(($(now_ms) - late)) ms"

# ---- SIGTERM to another node: ranks end in order, all nodes return 143
rm "$work"/status.*
# shellcheck disable=SC2016
for rank in 0 1 2; do
  node "$rank" -ppn 1 bash -c 'trap "echo drained; exit 0" TERM; echo $$ >"$0/started.$RANK"
    while :; do sleep 0.1; done' "$work"
done
wait_for 20 "all ranks to run; $(said)" ranks_run
grep -q . < <(on node1 sh -c "ss -H -ltn 'sport = 29500'") && fail "the first node still listens"
on node3 pkill -o -TERM -x dtlaunch # its PID 1, as a scheduler does
wait
expect_equal "statuses of the nodes" "$(statuses)" "143 143 143"
expect_equal "ranks that ended in order" "$(grep -c drained "$work/out.0")" 3

# ---- set by hand: --nnodes gives the number of nodes, and no message mentions kubectl
rm "$work"/status.*
# shellcheck disable=SC2016
for rank in 0 1 2; do
  DTL_NNODES='' node "$rank" --nnodes 3 -ppn 1 sh -c 'echo "rank $RANK of $WORLD_SIZE"'
done
wait
expect_equal "statuses of the nodes" "$(statuses)" "0 0 0"
expect_equal "output of the first node" "$(sort "$work/out.0" | xargs)" "rank 0 of 3 rank 1 of 3 rank 2 of 3"
by_hand() { DTL_NNODES='' DTL_NODE_RANK=1 launch "$@" true; }
by_hand --nnodes 3
expect_status 78
expect_err '^dtlaunch: DTL_TOKEN_FILE: neither .*Try: openssl rand -hex 32 >token'
by_hand
expect_status 78
expect_err '^dtlaunch: --nnodes: missing: .*Try: --nnodes N, or DTL_NNODES=N'
DTL_TOKEN=$token by_hand --nnodes 3 --start-timeout 2
expect_status 124
expect_err "^dtlaunch: first\.pods:29500: not found in 2 s: .*Try: see whether the job's first node runs"
expect_no_err kubectl

# ---- without a token, and with a wrong one
run "$cluster" exec node1 env JOB_COMPLETION_INDEX=1 "$bin/dtlaunch" -ppn 1 true
expect_status 78
expect_err 'openssl rand -hex 32 \| kubectl create secret generic dtlaunch-token --from-file=token=/dev/stdin,'
expect_hosts_idle 10
