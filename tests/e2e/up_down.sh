#!/usr/bin/env bash
# dtlaunch up keeps connections and waiting agents. Launches use them, repeatedly and in parallel,
# with the same promises. If they are unusable, a launch makes its own connection.
. "$(dirname "$0")/lib.sh"
need_cluster 4

up() { run "$cluster" exec node1 "$bin/dtlaunch" up "$@"; }
down() { run "$cluster" exec node1 "$bin/dtlaunch" down; }
logins() { for host in node2 node3 node4; do on "$host" grep -c 'Accepted publickey' /run/sshd.log; done | paste -sd ' '; }
holder() { pids_of node1 dtlaunch | head -n 1; }
several() { # RUNS: sets $took to the fastest
  local times=() i
  for ((i = 0; i < $1; i++)); do
    launch -f "$work/hosts" -np 4 -ppn 1 true
    expect_status 0
    times+=("$took_ms")
  done
  took=$(printf '%s\n' "${times[@]}" | sort -n | head -n 1)
}

several 5
cold=$took
sed -i '1s/.*/node1/' "$work/hosts"
up -f "$work/hosts"
expect_status 0
expect_err '4 of 4 hosts connected in '
before=$(logins)
kept=$cold
for ((turn = 0; turn < 6 && kept >= cold; turn++)); do  # on a busy machine, one attempt may not be enough
  several 9
  kept=$took
done
echo "4 hosts, the quickest launch: $cold ms with new connections, $kept ms with kept ones (cluster exec included)"
expect_equal "logins on node2 to node4" "$(logins)" "$before"
[ "$kept" -lt "$cold" ] || fail "kept connections make nothing faster: $kept ms, $cold ms without"
run "$cluster" exec node1 "$bin/dtlaunch" up --list
expect_count 4 ' connected' "$work/out"

# Two jobs on the same hosts at once, with much output; a failure ends only its own job.
on node1 "$bin/dtlaunch" -hosts node2,node3 -np 2 -ppn 1 sh -c 'seq 200000; exit 4' >"$work/first" 2>/dev/null &
first=$!
launch -hosts node2,node3 -np 2 -ppn 1 sh -c 'seq 200000'
expect_status 0
expect_equal "lines of the second job" "$(wc -l <"$work/out")" 400000
status=0
wait "$first" || status=$?
expect_equal "status of the first job" "$status" 4
expect_equal "logins on node2 to node4" "$(logins)" "$before"

# kill -9 of the launcher: its ranks end, the connection stays.
start_job -hosts node2,node3 -np 2 -ppn 1 "$e2e/record_family" "$record"
expect_family 8
signal KILL "$launcher"
expect_nothing_left 15
end_job
launch -hosts node2,node3 -np 2 -ppn 1 true
expect_status 0
expect_equal "logins on node2 to node4" "$(logins)" "$before"

# down does not touch a running job; afterwards nothing is left.
: >"$record"
start_job -hosts node2,node3 -np 2 -ppn 1 sh -c 'sleep 2; echo done'
wait_for 10 "the job" sh -c "'$cluster' exec node3 pgrep -x sleep >/dev/null"
down
expect_status 0
expect_err 'are closed'
status=0
wait "$job" || status=$?
expect_equal "status of a job across down" "$status" 0
expect_hosts_idle 10

# Launches do not use a holder that hangs; a killed holder is gone with its agents.
up -hosts node2,node3
expect_err '2 of 2 hosts'
on node1 kill -STOP "$(holder)"
launch -hosts node2 -np 1 echo hello
expect_status 0
expect_out '^hello$'
expect_within 5000
on node1 kill -KILL "$(holder)"
launch -hosts node2 -np 1 echo hello
expect_status 0
expect_out '^hello$'
expect_hosts_idle 15
launch clean
folder=$(runtime_folder node1)
expect_out "removed $folder/up.socket"

# Without any connection nothing stays.
up -hosts node9
[ "$status" != 0 ] || fail "up succeeds without a host"
expect_err '0 of 1 host connected .*nothing is kept open$'
launch up --list
expect_no_err 'node9'

# A host that is lost, and one that never existed.
up -hosts node3,node9
expect_status 0
expect_err 'node9.*'
expect_err '1 of 2 hosts connected'
on node3 pkill -KILL -f '^sshd(-session)?: root'
launch -hosts node3 -np 1 echo hello
expect_status 0
expect_out '^hello$'
connected_again() { grep -q '^node3 connected' < <(on node1 "$bin/dtlaunch" up --list); }
wait_for 10 "node3 to be connected again" connected_again

# Another user is refused; idle connections end by themselves.
open=$folder
while [ "$open" != / ]; do on node1 chmod a+x "$open"; open=$(dirname "$open"); done
on node1 chmod a+rwx "$folder" "$folder/up.socket"
run "$cluster" exec node1 setpriv --reuid 65534 --clear-groups python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1] + "/up.socket")
s.settimeout(5)
try:
    s.sendall(b"DTLAUNCH-UP * down\n")
    print("answer:", s.recv(100))
except (BrokenPipeError, ConnectionResetError):
    print("answer: b\x27\x27")' "$folder"
expect_out "answer: b''"
on node1 chmod 700 "$folder"
wait_for 5 "the holder to be there still" connected_again
up -hosts node2 --idle 0.0004
expect_status 0
expect_hosts_idle 10
down
expect_err 'no connection is kept'
