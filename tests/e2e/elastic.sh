#!/usr/bin/env bash
# --nnodes MIN:MAX, -np MIN:MAX: a job continues with fewer hosts after losing one, and takes it back
# when it answers again.
. "$(dirname "$0")/lib.sh"
limit=170
need_cluster 3

# Each rank writes a line to $work/ranks at its start: EPOCH RANK WORLD_SIZE HOST PID STARTTIME.
cat >"$work/rank" <<'RANK'
#!/usr/bin/env bash
# rank FILE: sleeps until the file FILE.end exists.
read -r -a field <<<"$(sed 's/.*) //' /proc/$$/stat)"
echo "$TORCHELASTIC_RESTART_COUNT $RANK $WORLD_SIZE $(uname -n) $$ ${field[19]}" >>"$1"
until [ -e "$1.end" ]; do sleep 0.05; done
RANK
chmod +x "$work/rank"

fresh() { rm -f "$work/ranks" "$work/ranks.end"; touch "$work/ranks"; }
in_epoch() { awk -v epoch="$1" '$1 == epoch' "$work/ranks" | wc -l; }
expect_epoch() { # EPOCH RANKS
  wait_for 100 "epoch $1 with $2 ranks" eval "[ \"\$(in_epoch $1)\" = $2 ]"
  expect_equal "world sizes of epoch $1" \
    "$(awk -v epoch="$1" '$1 == epoch { print $3 }' "$work/ranks" | sort -u)" "$2"
}
hosts_of() { awk -v epoch="$1" '$1 == epoch { print $4 }' "$work/ranks" | sort -u | tr '\n' ' '; }
# How many ranks of other epochs are alive.
old_ranks() { # EPOCH
  awk -v epoch="$1" '$1 != epoch { print $4, $5, $6, "rank" }' "$work/ranks" >"$record"
  count_alive
}

# ---- a host is cut off, and comes back
fresh
start_job -f "$work/hosts" --nnodes 2:3 -ppn 1 --report "$work/report" "$work/rank" "$work/ranks"
expect_epoch 0 3
"$cluster" cut node2
expect_epoch 1 2
expect_equal "hosts of the second epoch" "$(hosts_of 1)" "node1 node3 "
"$cluster" mend node2
expect_epoch 2 3
expect_equal "old ranks that are alive in the third epoch" "$(old_ranks 2)" 0
expect_equal "hosts of the third epoch" "$(hosts_of 2)" "node1 node2 node3 "
on node1 "$bin/dtlaunch" ps -v >"$work/ps"
expect_count 1 ' running r2 ' "$work/ps"
expect_count 1 'hosts-changed; had 2 ranks' "$work/ps"
touch "$work/ranks.end"
end_job
expect_status 0
expect_err '^dtlaunch: restart 1 of 3 on node1,node3 in '
expect_err '^dtlaunch: node2 answers again: stopping the ranks to go on with more$'
expect_err '^dtlaunch: going on with node1,node3,node2$'
python3 - "$work/report" <<'CHECK' || fail "the report tells something else"
import json, sys
report = json.load(open(sys.argv[1]))
epochs = report["epochs"]
assert [e["world_size"] for e in epochs] == [3, 2, 3], epochs
assert [e["cause"] for e in epochs] == ["node-lost", "hosts-changed", "completed"], epochs
assert sorted(epochs[2]["hosts"]) == ["node1", "node2", "node3"], epochs
CHECK
expect_hosts_idle 60

# ---- fewer than MIN are left
fresh
start_job -f "$work/hosts" --nnodes 3:3 -ppn 1 --max-restarts 1 "$work/rank" "$work/ranks"
wait_for 20 "three ranks" eval '[ "$(in_epoch 0)" = 3 ]'
touch "$work/ranks.end"
end_job
expect_status 0
fresh
head -n 2 "$work/hosts" >"$work/two"
start_job -f "$work/two" --nnodes 2:4 -ppn 1 "$work/rank" "$work/ranks"
expect_epoch 0 2
"$cluster" cut node2
end_job
expect_status 69
expect_err '^dtlaunch: not started again: 1 host is left, and --nnodes 2:4 needs 2$'
"$cluster" mend node2
expect_hosts_idle 60

# ---- a host that is missing at the start joins later; -np counts ranks
fresh
"$cluster" cut node3
start_job -f "$work/hosts" -np 2:3 -ppn 1 "$work/rank" "$work/ranks"
expect_epoch 1 2
"$cluster" mend node3
expect_epoch 2 3
touch "$work/ranks.end"
end_job
expect_status 0
expect_err '^dtlaunch: going on with node1,node2$'
expect_hosts_idle 60

# ---- ^C ends a watched job at once
fresh
"$cluster" cut node3
start_job -f "$work/hosts" --nnodes 1:3 -ppn 1 "$work/rank" "$work/ranks"
expect_epoch 1 2
mark
signal INT "$launcher"
end_job
expect_status 130
expect_within 6000
"$cluster" mend node3
expect_hosts_idle 60
