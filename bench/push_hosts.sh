#!/usr/bin/env bash
# --push of dttrain to many hosts that have nothing, over real sshd, on one machine: bench/push_hosts.sh HOSTS ROUNDS
# PROGRAM... Each PROGRAM is a dtlaunch with its programs beside it; they take turns. Prints the launcher's CPU
# seconds, the MB that its host sent and the wall time, and the same for a job that needs no push. Checks the programs
# of all hosts. Needs root and 50 MB of disk for each host; the hosts share this machine, so wall times say little.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 64; }
hosts=$1 rounds=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
cluster=$root/tests/cluster/cluster
work=$(mktemp -d "$root/build/push_hosts.XXXXXX")
eval "$("$cluster" up $((hosts + 1)))"
trap '"$cluster" down >/dev/null; rm -rf "$work"' EXIT
for ((i = 2; i <= hosts + 1; i++)); do
  echo "node$i" >>"$work/hosts"
  mkdir -p "$work/caches/node$i"
  "$cluster" exec "node$i" sh -c "mkdir -p ~/.cache && mount --bind '$work/caches/node$i' ~/.cache"
  for program in "$@"; do "$cluster" exec "node$i" mount -t tmpfs none "$(dirname "$program")"; done
done
sent() { "$cluster" exec node1 awk '$1 == "eth0:" { print $10 }' /proc/net/dev; }
once() { # WHAT PROGRAM: CPU seconds, MB and seconds of one job
  local before status=0 user system wall
  before=$(sent)
  "$cluster" exec node1 bash -c 'TIMEFORMAT="%U %S %R"; time "$@"' - "$2" --push -f "$work/hosts" -np "$hosts" -ppn 1 \
    dttrain --version >/dev/null 2>"$work/err" || status=$?
  read -r user system wall < <(tail -n 1 "$work/err")
  awk -v cpu="$user $system" -v bytes=$(($(sent) - before)) -v wall="$wall" -v what="$1: status $status" \
    'BEGIN { split(cpu, s, " "); printf "%s, %.2f CPU-s, %.1f MB, %.1f s\n", what, s[1] + s[2], bytes / 1e6, wall }'
  [ "$status" = 0 ] || head -n 3 "$work/err"
}
printf 'commit %s, %s, %s hosts\n' "$(git -C "$root" rev-parse --short HEAD)" \
  "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$hosts"
for ((round = 1; round <= rounds; round++)); do
  for program in "$@"; do
    rm -rf "$work"/caches/*/*
    once "$program: push" "$program"
    once "$program: nothing to push" "$program"
    wrong=$(cat "$work"/caches/*/dtlaunch/*/dttrain | cmp - <(for ((i = 0; i < hosts; i++)); do
      cat "$(dirname "$program")/dttrain"; done) && echo none || echo some)
    echo "$program: wrong programs: $wrong"
  done
done
