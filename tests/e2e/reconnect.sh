#!/usr/bin/env bash
# --reconnect: a host that is away for longer than the default limit is found again, and no line of
# output is lost or repeated. A host that stays away ends the job after the time limit; one that
# returns without its agent ends it at once.
. "$(dirname "$0")/lib.sh"
limit=110
need_cluster 4

cat >"$work/count" <<'RANK'
#!/usr/bin/env bash
# count FILE: a rank that writes lines "RANK 0", "RANK 1" ... until FILE exists.
for ((i = 0; ; i++)); do
  echo "$RANK $i"
  [ ! -e "$1" ] || exit 0
  sleep 0.1
done
RANK
chmod +x "$work/count"

# begin_job NAME HOST SECONDS: a rank on node1 and one on HOST, in the background.
begin_job() {
  printf 'node1\n%s\n' "$2" >"$work/$1.hosts"
  timeout -s KILL "$limit" "$cluster" exec node1 "$bin/dtlaunch" -f "$work/$1.hosts" -np 2 -ppn 1 \
    --reconnect "$3" "$work/count" "$work/$1.end" >"$work/$1.out" 2>"$work/$1.err" </dev/null &
}
lines_of() { grep -c "^$2 " "$work/$1.out"; } # JOB RANK
has_lines() { [ "$(lines_of "$1" "$2")" -ge "$3" ]; }
said() { grep -Eq -- "$2" "$work/$1.err"; } # JOB REGULAR EXPRESSION
# ended JOB PID STATUS: its last output is what the assertions check.
ended() {
  status=0
  wait "$2" || status=$?
  cp "$work/$1.err" "$work/err" && cp "$work/$1.out" "$work/out"
  expect_status "$3"
}

begin_job back node2 60; back=$!
begin_job away node3 2; away=$!
begin_job gone node4 60; gone=$!
for job in back away gone; do wait_for 30 "output of job $job" has_lines $job 1 1; done
for host in node2 node3 node4; do "$cluster" cut $host; done
for job in back away gone; do wait_for 30 "job $job to look for its host" said $job 'looking for it'; done
on node4 pkill -KILL -x dtagent || fail "node4 has no agent"
sleep 2 # nobody is there yet
for host in node2 node4; do "$cluster" mend $host; done

wait_for 40 "node2 to be found again" said back '^dtlaunch: node2: found again after [0-9]+ s$'
wait_for 20 "what rank 1 wrote meanwhile, and more" has_lines back 1 $(($(lines_of back 0) + 10))
touch "$work/back.end"
ended back $back 0
expect_err '^dtlaunch: node2: no sign of life for 3 s; the job goes on if one comes within 69 s$'
expect_err '^dtlaunch: node2: connection lost, looking for it for up to 60 s$'
# A busy machine may keep node1 silent, too.
expect_equal "lines of dtlaunch" "$(grep -vc '^dtlaunch: node1: no sign of life' "$work/err")" 3
for rank in 0 1; do
  awk -v rank=$rank '$1 == rank && $2 != seen++ { exit 1 }' "$work/out" || fail "output of rank $rank has gaps"
done

ended away $away 69
expect_err '^dtlaunch: node3: connection lost, looking for it for up to 2 s$'
expect_err 'node3: node lost: connection lost, and not found again within 2 s'

ended gone $gone 71
expect_err 'node4: the agent failed: the connection was lost, and the agent is gone'
# The sshd of a lost login notices that later.
nothing_left() { ! strangers | grep -v ' sshd: '; }
wait_for 30 "every rank and agent to be gone; at first there was: $(strangers)" nothing_left
