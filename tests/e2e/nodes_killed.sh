#!/usr/bin/env bash
# Nodes that join by themselves; on one of them all dtlaunch processes but dtlaunch are killed. Ranks restart
# only when nothing of the old ones is left there, and nothing outlives the job. If the first node or another
# one is frozen, the others wait for seconds, not for ever.
#   nodes_killed.sh [ROUNDS]    by default 1
. "$(dirname "$0")/lib.sh"
limit=120
need_cluster 3
for host in "${hosts[@]}"; do on "$host" sh -c 'echo "10.77.0.1 first.pods" >>/etc/hosts'; done
export DTL_NNODES=3 DTL_RDZV=first.pods:29500 DTL_JOB_ID=killed DTL_RESTART=0
DTL_TOKEN=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
export DTL_TOKEN

# node I ARGUMENTS of dtlaunch: on host I + 1, in the background; status in $work/status.I.
node() {
  local rank=$1
  shift
  {
    DTL_NODE_RANK=$rank timeout -s KILL "$limit" "$cluster" exec "node$((rank + 1))" "$bin/dtlaunch" "$@" \
      >"$work/out.$rank" 2>"$work/err.$rank" </dev/null
    echo $? >"$work/status.$rank"
  } &
}
start_nodes() { # ARGUMENTS of dtlaunch
  local rank
  : >"$record"
  rm -f "$work"/status.* "$work"/alive.*
  for rank in 1 2 0; do node "$rank" "$@"; done
}
said() { cat "$work"/err.[012]; }
statuses() { cat "$work"/status.[012] | xargs; }
has_ended() { local rank; for rank; do [ -s "$work/status.$rank" ] || return 1; done; }
# All dtlaunch processes but dtlaunch, at once.
kill_below() { # HOST
  # shellcheck disable=SC2016
  on "$1" sh -c 'all="$(pgrep -x dtagent) $(pgrep -x dtguard) $(pgrep -x job-keeper)"; kill -STOP $all; kill -KILL $all'
}

# The first epoch has a family that stays; later epochs count what their host still has of it.
cat >"$work/rank" <<RANK
#!/usr/bin/env bash
[ "\${TORCHELASTIC_RESTART_COUNT:-0}" != 0 ] || exec "$e2e/record_family" "$record"
"$e2e/count_alive" "$record" >"$work/alive.\$RANK"
RANK
chmod 755 "$work/rank"

for ((round = 1; round <= ${1:-1}; ++round)); do
  for host in node2 node1; do
    start_nodes -ppn 2 --max-restarts 1 "$work/rank"
    expect_family 24
    kill_below "$host"
    wait
    expect_equal "statuses after a kill on $host; $(said)" "$(statuses)" "0 0 0"
    expect_equal "processes of the first epoch when the second began" "$(cat "$work"/alive.* | xargs)" "0 0 0 0 0 0"
    grep -Eq "$host: ended [0-9]+ processes that the job had left there" "$work/err.0" || fail "not said: $(said)"
    expect_nothing_left 5
  done
done

# ---- without a restart, leftovers are ended at the job's end
start_nodes -ppn 2 "$e2e/record_family" "$record"
expect_family 24
kill_below node3
wait
expect_equal "statuses; $(said)" "$(statuses)" "137 137 137"
grep -Eq '^dtlaunch: node3: ended [0-9]+ processes that the job had left there with a dead agent$' "$work/err.0" ||
  fail "not said: $(said)"
expect_nothing_left 5

# ---- the first node's dtlaunch is frozen but its kernel runs: ranks end elsewhere, and so do their nodes
start_nodes -ppn 2 --start-timeout 4 "$e2e/record_family" "$record"
expect_family 24
frozen=$(pids_of node1 dtlaunch)
on node1 kill -STOP "$frozen"
begun=$(now_ms)
wait_for 40 "the other nodes to end; $(said)" has_ended 1 2
echo "a frozen first node: the others ended after $(($(now_ms) - begun)) ms"
expect_equal "statuses of the others" "$(cat "$work"/status.[12] | xargs)" "137 137"
for rank in 1 2; do
  grep -Eq "^dtlaunch: first.pods:29500: the job's first node gives no sign of life for 10 s; what ran here has ended" \
    "$work/err.$rank" || fail "node $rank does not say why: $(said)"
done
on node1 kill -CONT "$frozen"
wait_for 40 "the first node to end; $(said)" has_ended 0
wait
expect_nothing_left 10

# ---- another node's dtlaunch is frozen: the job ends, and that node when it continues
start_nodes -ppn 2 --start-timeout 4 "$e2e/record_family" "$record"
expect_family 24
frozen=$(pids_of node2 dtlaunch)
on node2 kill -STOP "$frozen"
wait_for 40 "the others to end; $(said)" has_ended 0 2
expect_equal "statuses of the others" "$(cat "$work"/status.[02] | xargs)" "137 137"
on node2 kill -CONT "$frozen"
wait_for 20 "the frozen node to end; $(said)" has_ended 1
wait
expect_nothing_left 10

# ---- a node's job-keeper is stopped: the job ends as usual, and so does that node
# shellcheck disable=SC2016
start_nodes -ppn 1 sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$work/go"
keeps() { pids_of node2 job-keeper >/dev/null && pids_of node2 sleep >/dev/null; }
wait_for 20 "the ranks to run; $(said)" keeps
keeper=$(pids_of node2 job-keeper)
on node2 kill -STOP "$keeper"
touch "$work/go"
wait_for 30 "all nodes to end; $(said)" has_ended 0 1 2
wait
expect_equal "statuses; $(said)" "$(statuses)" "0 0 0"
grep -q "^dtlaunch: job-keeper (process $keeper) is stopped (state T), and its agent has ended; it was killed$" \
  "$work/err.1" || fail "not said: $(said)"
expect_hosts_idle 10
