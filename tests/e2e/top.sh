#!/usr/bin/env bash
# `dtlaunch top` shows ranks, training and the rank that others wait for, on two hosts, once, as JSON and on a terminal
# of 80 columns. It leaves no process behind, even when it is killed.
. "$(dirname "$0")/lib.sh"
DTRING_LIBRARY=$(dirname "$bin")/ring/libdtring.so.2
[ -e "$DTRING_LIBRARY" ] || fail "$DTRING_LIBRARY has not been built"
need_cluster 2

start_job --hang-notice 0 -f "$work/hosts" -np 4 -ppn 2 -genv DTRING_LIBRARY "$DTRING_LIBRARY" \
  python3 "$e2e/asked_barriers.py" "$work/go"
wait_for 20 "the ranks to meet" eval '[ "$(grep -c "^rank . pid" "$work/out")" = 4 ]'
job_out=$work/job_out job_err=$work/job_err
ln "$work/out" "$job_out" && ln "$work/err" "$job_err" && rm "$work/out" "$work/err"
pid_of() { sed -n "s/^rank $1 pid //p" "$job_out"; }
top() { run "$cluster" exec "$1" "$bin/dtlaunch" top "${@:2}"; }
watchers() { "$cluster" ps | grep -c -- 'dtagent.*--watch'; }
nobody_watches() { [ "$(watchers)" = 0 ]; }
id=$(on node1 "$bin/dtlaunch" ps | awk 'NR == 2 { print $1 }')

# The launcher's host knows where its jobs run.
top node1 --once
expect_status 0
expect_within 6000
expect_out '^dtlaunch top  1 job, 4 ranks on 2 hosts  '
expect_out '^cores  [0-9]+ of [0-9]+ free; root [0-9]+ \(job '
expect_out "^job $id  running  4 of 4 ranks on 2 hosts  for .* python3 "
expect_out '^  step 7 of 10 \(70%\), loss 0\.5$'
expect_out '^! ranks 0-1,3 wait in barrier for rank 2 \(node2\), seen for [0-9.]+ s$'
expect_out "^     0 node1 +$(pid_of 0) (sleeping|running) +[0-9]+% +[0-9]+ MiB .* 7 python3[.0-9]* +barrier [0-9.]+s$"
expect_out "^!    2 node2 +$(pid_of 2) (sleeping|running) +[0-9]+% .* -$"

# From a worker, as JSON, with that rank stopped; a host that does not exist is named.
signal STOP "$(pid_of 2)" node2
top node2 --once --json -hosts node1,node2,nosuch
expect_status 69
expect_err '^dtlaunch: nosuch: '
python3 - "$work/out" "$id" <<'CHECK' || fail "dtlaunch top --json is wrong"
import json, sys
answer = json.load(open(sys.argv[1]))
assert answer["schema"] == "dtlaunch-top/1", answer
assert [host["state"] for host in answer["hosts"]] == ["watched", "watched", "lost"], answer
assert [each["host"] for each in answer["unreachable"]] == ["nosuch"], answer
assert answer["owners"][0]["user"] == "root" and answer["owners"][0]["cores"] >= 1, answer
(job,) = answer["jobs"]
assert job["job"].startswith(sys.argv[2]) and job["world_size"] == 4 and job["complete"], answer
assert job["training"]["step"] == 7 and job["training"]["loss"] == 0.5, answer
assert job["wait"]["for_ranks"] == [2] and job["wait"]["ranks"] == [0, 1, 3], answer
assert [rank["rank"] for rank in job["ranks"]] == [0, 1, 2, 3], answer
assert [rank["straggler"] for rank in job["ranks"]] == [False, False, True, False], answer
assert job["ranks"][2]["state"] == "stopped" and job["ranks"][0]["waits_in"]["collective"] == "barrier", answer
CHECK
wait_for 5 "dtagent --watch to end" nobody_watches

# A line each period, for as long as somebody reads.
run "$cluster" exec node2 sh -c "'$bin/dtlaunch' top --json --period 0.5 $id | head -n 2"
expect_status 0
expect_count 2 '^\{"schema":"dtlaunch-top/1",.*\}$' "$work/out"

# On a terminal: it redraws, follows the terminal's size, stops and goes on, gives everything back.
run "$cluster" exec node1 python3 "$e2e/top_terminal.py" "$bin/dtlaunch" "$id" quit
expect_status 0

# Killed, it leaves nothing behind.
run "$cluster" exec node1 python3 "$e2e/top_terminal.py" "$bin/dtlaunch" "$id" kill
expect_status 0
wait_for 10 "dtagent --watch to end" nobody_watches

# It ends with the job, and says how that ended.
signal CONT "$(pid_of 2)" node2
run "$cluster" exec node1 python3 "$e2e/top_terminal.py" "$bin/dtlaunch" "$id" "$work/go"
expect_status 0
ln -f "$job_out" "$work/out" && ln -f "$job_err" "$work/err"
end_job
expect_status 0
top node1 "$id"
expect_status 65
expect_hosts_idle 10
