#!/usr/bin/env bash
# dtlaunch ps --cores and dtlaunch doctor show who has which cores of the hosts, and what is free.
. "$(dirname "$0")/lib.sh"
need_program dtring-perf
need_cluster 2
unset DTL_SHARE_CORES # as users have it
cores() { launch ps --cores -f "$work/hosts"; }
expect_no_out() { expect_count 0 "$1" "$work/out"; }
row='[0-9,-]+ +[0-9]+ of [0-9]+'

# Nobody has a core.
cores
expect_status 0
expect_count 3 . "$work/out"
expect_out '^HOST +CPUS +CORES +JOB +USER +FOR$'
expect_out "^node1 +$row +free$"
expect_out "^node2 +$row +free$"
[ "$(awk '$NF == "free" && $3 != $5' "$work/out")" = '' ] || fail "a core of an idle host is not free"

# A job on node1 has the CPUs that its rank runs on.
cat >"$work/rank" <<'RANK'
#!/bin/sh
sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' /proc/self/status >"$1.new" && mv "$1.new" "$1"
until [ -e "$1.go" ]; do sleep 0.1; done
RANK
chmod +x "$work/rank"
start_job -hosts node1 -np 1 "$work/rank" "$work/cpus"
wait_for 20 "the rank" test -s "$work/cpus"
launch ps -hosts node1
id=$(awk '/running/ { print $1 }' "$work/out")
cores
expect_status 0
expect_out "^node1 +$row +$id +root +[0-9]+s$"
expect_out "^node1 .* +free$"
expect_out "^node2 +$row +free$"
python3 - "$(cat "$work/cpus")" "$(awk -v id="$id" '$6 == id { print $2 }' "$work/out")" <<'PY' ||
import sys
of_rank, of_job = ({cpu for part in text.split(",") for cpu in
                    range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)} for text in sys.argv[1:])
assert of_rank and of_rank <= of_job, (of_rank, of_job)
PY
  fail "the CPUs shown are not those of the rank"
run "$cluster" exec node2 env COLUMNS=500 "$bin/dtlaunch" doctor -f "$work/hosts" --quick
expect_status 0
expect_out "^note +node1: cores: job ${id:0:4} of root has had [0-9]+ of [0-9]+ cores? for [0-9]+s$"
expect_no_out 'node2: cores'
# Its rank has all cores of node1, and doctor still measures the links.
run "$cluster" exec node2 env COLUMNS=500 "$bin/dtlaunch" doctor -v -f "$work/hosts"
expect_status 0
expect_out '^ok +bandwidth: .* on 2 links'
# The same as JSON: one object on standard output, also beside a host that does not answer.
check_json() { # EXPRESSION: over the object `it`
  python3 -c 'import json, sys; it = json.load(open(sys.argv[1])); job = sys.argv[2]; assert eval(sys.argv[3]), it' \
    "$work/out" "$id" "$1" || fail "not so in the JSON: $1"
}
launch ps --cores --json -f "$work/hosts"
expect_status 0
check_json 'it["schema"] == "dtlaunch-cores/1" and [host["host"] for host in it["hosts"]] == ["node1", "node2"]'
check_json '[(claim["job"], claim["user"]) for host in it["hosts"] for claim in host["claims"]] == [(job, "root")]'
check_json 'it["hosts"][1]["free_cores"] == it["hosts"][1]["cores"] and it["unreachable"] == []'
launch ps -hosts node1,node7
without=$status
launch ps --json -hosts node1,node7
expect_status "$without"
check_json 'it["schema"] == "dtlaunch-jobs/1" and [each["host"] for each in it["unreachable"]] == ["node7"]'
check_json '[(each["job"], each["status"], each["ranks"]) for each in it["jobs"]] == [(job, "alive", 1)]'
grep -qF "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["unreachable"][0]["error"])' "$work/out")" \
  "$work/err" || fail "the error on standard error is another one: $(cat "$work/err")"
launch ps --cores --json -hosts node7
expect_status "$without"
check_json 'it["hosts"] == [] and len(it["unreachable"]) == 1'

touch "$work/cpus.go"
end_job
expect_status 0
all_free() { cores && [ "$(wc -l <"$work/out")" = 3 ] && [ "$(grep -c ' free$' "$work/out")" = 2 ]; }
wait_for 10 "all cores to be free" all_free

# Anybody on a host may claim cores under any name.
on node2 python3 -c '
import socket, sys, time
claim = socket.socket(socket.AF_UNIX)
claim.bind("\0dtlaunch-cores/1/\033[2Jfree/1/x/00000001/" + sys.argv[1])
claim.listen()
open(sys.argv[2], "w").close()
time.sleep(60)' "$(on node2 sed -n 's/^Cpus_allowed_list:[[:blank:]]*\([0-9]*\).*/\1/p' /proc/self/status)" "$work/claimed" &
claimer=$!
wait_for 10 "the claim" test -e "$work/claimed"
cores
expect_status 0
expect_out "^node2 +[0-9]+ +1 of [0-9]+ +[?] +root +"
expect_no_out $'\033'
kill "$claimer"

# What is not the answer of an agent says nothing about cores, and hides no other host.
{ on node2 "$bin/dtagent" --cores </dev/null | sed '/^cpus/,$d'; printf 'cpus \033[2J\ncores 8\nend\n'; } >"$work/answer"
printf '#!/bin/sh\ncat "%s"\n' "$work/answer" >"$work/agent"
chmod +x "$work/agent"
on node2 mount --bind "$work/agent" "$bin/dtagent"
cores
expect_status 71
expect_err '^dtlaunch: node2: cannot tell who has its cores: the answer of its dtagent is not a list of cores'
expect_out "^node1 +$row +free$"
expect_no_out '^node2'
launch ps --cores -hosts no-such-host,node1
expect_status 69
expect_err '^dtlaunch: no-such-host: cannot resolve'
expect_out "^node1 +$row +free$"
