#!/usr/bin/env bash
# --discover: hosts that a file or a command lists join the job, and hosts no longer listed leave it.
# Failures of the list are reported in one line. Ranks get the new WORLD_SIZE each time.
. "$(dirname "$0")/lib.sh"
limit=150
need_cluster 3

cat >"$work/rank" <<'RANK'
#!/usr/bin/env bash
# rank FILE: a line "EPOCH RANK WORLD_SIZE HOST" when it begins and, told to stop, "EPOCH RANK saved".
trap 'echo "$TORCHELASTIC_RESTART_COUNT $RANK saved" >>"$1"; exit 0' TERM
echo "$TORCHELASTIC_RESTART_COUNT $RANK $WORLD_SIZE $(uname -n)" >>"$1"
until [ -e "$1.end" ]; do sleep 0.05; done
RANK
chmod +x "$work/rank"
fresh() { rm -f "$work/ranks" "$work/ranks.end"; touch "$work/ranks"; }
in_epoch() { awk -v epoch="$1" '$1 == epoch && $3 != "saved" { print $3, $4 }' "$work/ranks" | sort | tr '\n' ' '; }
expect_epoch() { # EPOCH "SIZE HOST ..."
  wait_for 60 "epoch $1 with '$2'" eval "[ \"\$(in_epoch $1)\" = '$2 ' ]"
}
saved() { grep -c "^$1 .* saved\$" "$work/ranks"; }

# ---- a file, in the format of discover_hosts.sh, that grows, breaks, and shrinks
printf '#!/bin/sh\necho node1\necho node2:1\n' >"$work/list"
list() { cat >"$work/list.new" && mv "$work/list.new" "$work/list"; }
fresh
start_job --discover "$work/list" --nnodes 2:3 -ppn 1 --max-restarts 0 "$work/rank" "$work/ranks"
expect_epoch 0 '2 node1 2 node2'
printf 'node1\nnode2 nonsense\n' | list
wait_for 30 "a line about it" grep -q 'nonsense' "$work/err"
printf 'node1\nnode2\nnode3\n' | list
expect_epoch 1 '3 node1 3 node2 3 node3'
expect_equal "ranks of the first epoch that were told to stop" "$(saved 0)" 2
printf 'node1\nnode3\n' | list
expect_epoch 2 '2 node1 2 node3'
expect_equal "ranks of the second epoch that were told to stop" "$(saved 1)" 3
touch "$work/ranks.end"
end_job
expect_status 0
expect_err "^dtlaunch: --discover $work/list:2:7: unexpected 'nonsense'"
expect_err '^dtlaunch: --discover lists hosts again$'
expect_err '^dtlaunch: node3 is newly listed: stopping the ranks to go on with more$'
expect_err '^dtlaunch: node2 is no longer listed: stopping the ranks to go on without$'
expect_err '^dtlaunch: going on with node1,node3$'
expect_hosts_idle 10

# ---- ^C while the ranks are being stopped for a change ends the job
fresh
printf 'node1\nnode2\n' | list
start_job --discover "$work/list" -ppn 1 --grace 20 bash -c \
  'trap "" TERM; echo "$TORCHELASTIC_RESTART_COUNT $RANK $WORLD_SIZE $(uname -n)" >>"$1"; while :; do sleep 0.1; done' \
  rank "$work/ranks"
expect_epoch 0 '2 node1 2 node2'
printf 'node1\n' | list
wait_for 30 "the stop" grep -q 'is no longer listed' "$work/err"
mark
signal INT "$launcher"
sleep 0.5
signal INT "$launcher"
end_job
expect_status 130
expect_within 8000
expect_equal "ranks of a second epoch" "$(in_epoch 1)" ""
expect_hosts_idle 10

# ---- a command, with slots; it leaves nothing when the job ends
cat >"$work/command" <<'COMMAND'
#!/usr/bin/env bash
[ ! -e "$1.slow" ] || { touch "$1.began"; sleep 1234; }
cat "$1"
COMMAND
printf 'node1:2\nnode2:1\n' >"$work/list"
fresh
start_job --discover "bash $work/command $work/list" -np 1:9 "$work/rank" "$work/ranks"
expect_epoch 0 '3 node1 3 node1 3 node2'
touch "$work/list.slow"
wait_for 30 "the command" test -e "$work/list.began"
mark
touch "$work/ranks.end"
end_job
expect_status 0
expect_within 6000
! on node1 pgrep -f 'sleep 1234' >/dev/null || fail "the command is still running"
expect_hosts_idle 10

# ---- what is refused
launch --discover 'exit 3' true
expect_status 75
expect_err "^dtlaunch: --discover 'exit 3': it ended with exit status 3"
launch --discover true true
expect_status 65
launch --discover "echo node1" --nnodes 2:3 true
expect_status 75
expect_err 'there is only 1 host'
launch --discover "echo node1" -np 2 true
expect_status 64
expect_err 'fixes the number of ranks'
