#!/usr/bin/env bash
# --tree: agents behind other agents. Output is complete and in order, also after an edge of the tree is cut, and
# standard input arrives. If a relay's agent is killed, the job names that host and no other. Nothing is left.
. "$(dirname "$0")/lib.sh"
limit=60
need_cluster 9

cat >"$work/count" <<'RANK'
#!/usr/bin/env bash
# count FILE: a rank that writes lines "RANK 0", "RANK 1" ... until FILE exists.
for ((i = 0; ; i++)); do
  echo "$RANK $i"
  [ ! -e "$1" ] || exit 0
  sleep 0.05
done
RANK
chmod +x "$work/count"
lines_of() { grep -c "^$1 " "$work/out"; }
has_lines() { [ "$(lines_of "$1")" -ge "$2" ]; } # RANK N
all_have_lines() { # N
  local rank
  for rank in {0..7}; do has_lines "$rank" "$1" || return 1; done
}
no_gaps() {
  local rank
  for rank in {0..7}; do
    awk -v rank="$rank" '$1 == rank && $2 != seen++ { exit 1 }' "$work/out" || fail "output of rank $rank has gaps"
  done
}
# Connections to the agent of HOST from other agents.
has_edges() { [ "$(on "$1" ss -Htnp state established | grep -c dtagent)" -ge "$2" ]; } # HOST N

# node2 and node3 are the tops; node4 is below node2, with node8 and node9 below it.
printf 'node%s\n' {2..9} >"$work/hosts"
start_job -v -f "$work/hosts" -np 8 -ppn 1 --tree 2 "$work/count" "$work/end"
wait_for 20 "output of all ranks" all_have_lines 1
wait_for 10 "both children of node4" has_edges node4 3
expect_err '^dtlaunch: tree of agents: 2 direct, 6 behind others, depth 3$'
node4=$(on node4 hostname -I | tr ' ' '\n' | head -n 1)
on node8 ip route add blackhole "$node4/32" || fail "cannot cut the way from node8 to node4"
wait_for 20 "what rank 6 wrote meanwhile, and more" has_lines 6 $(($(lines_of 0) + 120))
expect_no_err '^dtlaunch: node[2-9]: .*(lost|no sign of life|found again)'
signal KILL "$(pids_of node4 dtagent | head -n 1)" node4
mark
end_job
expect_status 71
expect_within 12000
expect_err 'node4: the agent failed'
expect_no_err '^dtlaunch: node[2356789]: .*(failed|lost|no sign of life)'
no_gaps
on node8 ip route del blackhole "$node4/32"
expect_hosts_idle 20

# The job may end before the agents have moved.
seq 1000 >"$work/input"
status=0
timeout -s KILL "$limit" "$cluster" exec node1 "$bin/dtlaunch" -f "$work/hosts" -np 8 -ppn 1 --tree 2 --stdin all \
  sh -c 'n=$(wc -l); echo "$RANK has $n"' <"$work/input" >"$work/out" 2>"$work/err" || status=$?
expect_status 0
expect_count 8 '^[0-7] has 1000$' "$work/out"
expect_hosts_idle 15
