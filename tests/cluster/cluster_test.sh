#!/bin/bash
# The promises of tests/cluster: hosts that reach each other by ssh, faults that do what their names
# say, and nothing left behind. Exit 77: this machine cannot make namespaces.
set -u
cluster=$(dirname "$(realpath "$0")")/cluster
folder=$(mktemp -d)
state=$folder/state
failures=0

check() {  # check WHAT COMMAND...: the command must succeed
  local what=$1
  shift
  if "$@" >"$folder/said" 2>&1; then
    echo "ok: $what"
  else
    echo "FAILED: $what: $(cat "$folder/said")"
    failures=$((failures + 1))
  fi
}
on() { "$cluster" --state "$state" exec "$@"; }
reaches() { on "$1" ssh -o ConnectTimeout=1 "$2" true; }
equal() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
status_of() { "$@" >/dev/null 2>&1 </dev/null; echo $?; }
same_view() { machine_view | diff "$folder/before" -; }
machine_view() { ip -o link | sort; ip netns list | sort; sort /proc/self/mounts; }

machine_view >"$folder/before"
trap '"$cluster" --state "$state" down 2>/dev/null; rm -rf "$folder"' EXIT
start=$(date +%s%N)
said=$(timeout 20 "$cluster" --state "$state" up 4 --cpus 0.5 2>&1)  # waits for the end of its output
status=$?
took=$((($(date +%s%N) - start) / 1000000))
[ $status = 0 ] || echo "$said"
[ $status = 77 ] && exit 77
check "up 4 succeeds" equal $status 0
check "four hosts start in about a second (took $took ms)" test $took -lt 2500
check "the machine's own network and mounts are untouched" same_view

check "every host is called by its name" equal "$(on node3 hostname)" node3
for to in node1 node2 node3 node4; do check "node2 reaches $to by ssh" reaches node2 $to; done
check "ssh needs no password and ends with the command's status" \
  equal "$(status_of on node1 ssh node4 exit 5)" 5
check "exec hands on the status" equal "$(status_of on node1 sh -c 'exit 7')" 7
check "exec hands on a signal" equal "$(status_of on node1 sh -c 'kill -9 $$')" 137
check "exec of a missing program is 127" equal "$(status_of on node1 no-such-program)" 127
check "exec hands on stdin and stdout" equal "$(echo hello | on node1 cat)" hello
check "exec keeps the working folder" equal "$(cd / && on node1 pwd)" /
check "the processes of a host are its own" equal "$(on node2 cat /proc/1/comm)" node2-init
on node1 touch /tmp/mine /dev/shm/mine /run/mine
check "/tmp, /run and /dev/shm are private" \
  equal "$(on node2 sh -c 'ls /tmp/mine /dev/shm/mine /run/mine 2>/dev/null | wc -l')" 0
check "the machine's other files are visible" on node1 test -x "$cluster"
check "the CPU quota is set" on node1 sh -c \
  'cat /sys/fs/cgroup/*/cpu.max /sys/fs/cgroup/cpu/*/cpu.cfs_quota_us | grep -q "^50000"'

"$cluster" --state "$state" exec node3 sleep 1000 &
sleeper=$!
until grep -q 'sleep 1000' < <("$cluster" --state "$state" ps node3); do sleep 0.02; done
check "ps shows processes under their host" equal \
  "$("$cluster" --state "$state" ps | grep 'sleep 1000' | cut -d' ' -f1)" node3
kill -TERM $sleeper
wait $sleeper
check "exec hands a signal to its command" equal $? 143

check "cut" "$cluster" --state "$state" cut node2
check "a cut host is not reached" equal "$(status_of reaches node1 node2)" 255
check "nor reaches others" equal "$(status_of reaches node2 node1)" 255
check "its link stays up" on node2 grep -q 1 /sys/class/net/eth0/carrier
check "mend" "$cluster" --state "$state" mend node2
check "a mended host is reached" reaches node1 node2

check "kill" "$cluster" --state "$state" kill node4
check "a host without power is not reached" equal "$(status_of reaches node1 node4)" 255
check "and has no processes" equal "$("$cluster" --state "$state" ps node4 | wc -l)" 1
check "and runs nothing" equal "$(status_of on node4 true)" 125

cgroups=$(sed -n 's/.*"cgroup": "\([^"]*\)".*/\1/p' "$state/cluster.json")
pids=$("$cluster" --state "$state" ps | awk 'NR > 1 { print $3 }')
check "there were processes" test "$(echo "$pids" | wc -w)" -ge 6
check "down" "$cluster" --state "$state" down
left=$(for pid in $pids; do [ -d "/proc/$pid" ] && echo "$pid"; done)
check "no process is left" equal "$left" ""
check "no mount, device or name is left" same_view
check "no file is left" test ! -e "$state"
check "no cgroup is left" test -z "$cgroups" -o ! -e "$cgroups"
exit $((failures > 0))
