#!/usr/bin/env bash
# `dtlaunch ask` shows what each rank of a running job does, from any host, with equal stacks once. A stopped rank or
# agent does not block it, several may ask at once, and the job ends as if nobody had asked.
. "$(dirname "$0")/lib.sh"
DTRING_LIBRARY=$(dirname "$bin")/ring/libdtring.so.2
[ -e "$DTRING_LIBRARY" ] || fail "$DTRING_LIBRARY has not been built"
need_program dtring-perf
need_cluster 2

start_job --hang-notice 0 -f "$work/hosts" -np 4 -ppn 2 -genv DTRING_LIBRARY "$DTRING_LIBRARY" \
  python3 "$e2e/asked_barriers.py" "$work/go"
wait_for 20 "the ranks to meet" eval '[ "$(grep -c "^rank . pid" "$work/out")" = 4 ]'
job_out=$work/job_out job_err=$work/job_err
ln "$work/out" "$job_out" && ln "$work/err" "$job_err" && rm "$work/out" "$work/err"
pid_of() { sed -n "s/^rank $1 pid //p" "$job_out"; }
ask() { run "$cluster" exec "$1" "$bin/dtlaunch" ask "${@:2}"; }
id=$(on node1 "$bin/dtlaunch" ps | awk 'NR == 2 { print $1 }')

# From the launcher's host.
ask node1 "$id"
expect_status 0
expect_out "^ +0 node1 +$(pid_of 0) (sleeping|running) .* barrier 2 of 4 ranks$"
expect_out "^ +2 node2 +$(pid_of 2) (sleeping|running) .* -$"
expect_out '^ranks 0-1,3: barrier 2 of 4 ranks$'
expect_out '^rank 2$'
expect_out '^  File ".*asked_barriers\.py", line [0-9]+, in hold$'
expect_count 2 '^  File ".*, in main$' "$work/out"

# From a worker, by the beginning of the id, with one rank and one agent stopped.
signal STOP "$(pid_of 1)" node1
agent=$(pids_of node2 dtagent | head -n 1)
signal STOP "$agent" node2
ask node2 "${id:0:6}"
signal CONT "$agent" node2
expect_status 75
expect_within 5000
expect_out "^ +1 node1 +$(pid_of 1) stopped "
expect_out '^rank 1: barrier 2 of 4 ranks: stopped, as by SIGSTOP$'
expect_out '^ranks 0,3: barrier 2 of 4 ranks$'
expect_err "^dtlaunch: job $id: rank 1: stopped, as by SIGSTOP"
signal CONT "$(pid_of 1)" node1

# 50 times, ten at once; the JSON of each has all four stacks.
ask_often() {
  local i each
  for ((i = 0; i < 5; i++)); do
    local askers=()
    for ((each = 0; each < 10; each++)); do
      on "node$((each % 2 + 1))" "$bin/dtlaunch" ask --json "$id" >"$work/json.$i.$each" 2>"$work/json_err.$i.$each" &
      askers+=($!)
    done
    for each in "${askers[@]}"; do wait "$each" || fail "one of ten askers got status $?: $(cat "$work"/json_err.*)"; done
  done
}
ask_often
python3 - "$work"/json.* <<'CHECK' || fail "an answer of dtlaunch ask --json is wrong"
import json, sys
for path in sys.argv[1:]:
    answer = json.load(open(path))
    assert answer["schema"] == "dtlaunch-ask/1" and answer["world_size"] == 4, answer
    assert [rank["rank"] for rank in answer["ranks"]] == [0, 1, 2, 3], answer
    assert answer["groups"] == [[0, 1, 3], [2]] and not answer["unreachable"], answer
    for rank in answer["ranks"]:
        assert rank["answer"] == "told" and len(rank["stack"]) == len(set(rank["stack"])), rank
        assert rank["host"] == ("node1" if rank["rank"] < 2 else "node2"), rank
CHECK

# A debugger too, if there is one.
if command -v gdb eu-stack >/dev/null; then
  ask node1 --native "$id"
  expect_status 0
  expect_out '^  native:$'
fi

touch "$work/go"
ln -f "$job_out" "$work/out" && ln -f "$job_err" "$work/err"
end_job
expect_status 0

# It is over.
ask node1 "$id"
expect_status 65

# Ranks without stacks, whose collective libdtring shows.
launch --detach -f "$work/hosts" -np 2 -ppn 1 sh -c 'sleep 60'
id=$(head -n 1 "$work/out")
ask node2 -hosts node1 "$id"
expect_status 0
expect_out '^ranks 0-1: (sleep|dash|sh) reports no stack\. Try: --native$'

# A host that takes no logins is named; the ranks of the other are shown.
on node2 kill "$(on node2 pgrep -f 'sshd: .*[[]listener[]]' | head -n 1)"
ask node1 "$id"
expect_status 69
expect_err '^dtlaunch: node2: '
expect_out '^ +0 node1 '
launch kill "$id"
expect_status 0
ask node1 "$id"
expect_status 65
expect_err "^dtlaunch: job $id: cannot ask its ranks: it has ended, with status 143"
expect_hosts_idle 10
