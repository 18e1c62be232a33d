#!/usr/bin/env bash
# attach on another machine loses its connection to the launcher's host for a while. It reconnects and
# continues the output where it stopped, to the job's end. The job itself continues by its own
# --reconnect. If the host does not come back, attach says so after its time limit.
. "$(dirname "$0")/lib.sh"
limit=100
need_cluster 3

cat >"$work/rank" <<'RANK'
#!/bin/bash
for ((i = 1; ; i++)); do
  echo "line $i"
  [ ! -e "$1" ] || break
  sleep 0.1
done
exit 3
RANK
chmod +x "$work/rank"

run "$cluster" exec node1 "$bin/dtlaunch" --detach --reconnect 60 -hosts node2 -np 1 "$work/rank" "$work/go"
expect_status 0
id=$(head -n 1 "$work/out")
timeout 90 "$cluster" exec node3 "$bin/dtlaunch" attach -hosts node1 "$id" >"$work/attached" 2>"$work/said" </dev/null &
attached=$!
timeout 90 "$cluster" exec node3 "$bin/dtlaunch" attach --reconnect 2 -hosts node1 "$id" >/dev/null 2>"$work/impatient" </dev/null &
impatient=$!
wait_for 20 "output" grep -q '^line ' "$work/attached"
wait_for 20 "the other one" grep -q 'attached to job' "$work/impatient"
"$cluster" cut node1
wait_for 30 "attach to miss node1" grep -q 'node1: connection lost, looking for it for up to 60 s$' "$work/said"
status=0
wait "$impatient" || status=$?
expect_equal "status of the one that has no patience" "$status" 69
grep -q "node1: not found again, and the job's dtlaunch runs there" "$work/impatient" || fail "it said: $(cat "$work/impatient")"
"$cluster" mend node1
wait_for 30 "attach to find node1" grep -Eq 'node1: found again after [0-9]+ s$' "$work/said"
seen=$(tail -n 1 "$work/attached")
more() { [ "$(tail -n 1 "$work/attached")" != "$seen" ]; }
wait_for 40 "more output" more
touch "$work/go"
status=0
wait "$attached" || status=$?
expect_equal "status of attach" "$status" 3
first=$(sed -n '1s/line //p' "$work/attached") last=$(sed -n '$s/line //p' "$work/attached")
[ "$last" -gt "$first" ] || fail "attach has shown: $(cat "$work/attached")"
expect_equal "the lines in between" "$(cat "$work/attached")" "$(seq -f 'line %.0f' "$first" "$last")"
expect_hosts_idle 20
