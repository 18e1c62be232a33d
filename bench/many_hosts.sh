#!/usr/bin/env bash
# A cold start of many hosts over real sshd, on one machine: bench/many_hosts.sh HOSTS LINES ROUNDS
# PROGRAM... Each PROGRAM is a dtlaunch with its dtagent beside it; they take turns. known_hosts gets
# LINES hashed lines of other hosts. Prints the CPU seconds and the wall time of each run, and the
# least of each program. Needs root; the hosts share this machine, so wall times say little, and one
# table of neighbours: with more than 100 hosts, raise net.ipv4.neigh.default.gc_thresh3 (sysctl).
set -euo pipefail
[ $# -ge 4 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 64; }
hosts=$1 lines=$2 rounds=$3
shift 3
root=$(cd "$(dirname "$0")/.." && pwd)
cluster=$root/tests/cluster/cluster
work=$(mktemp -d "$root/build/many_hosts.XXXXXX")
eval "$("$cluster" up $((hosts + 1)))"
trap '"$cluster" down >/dev/null; rm -rf "$work"' EXIT
for ((i = 2; i <= hosts + 1; i++)); do echo "node$i"; done >"$work/hosts"
python3 - "$lines" >"$work/others" <<'PYTHON'
import base64, random, sys
draw = random.Random(37)
key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
for _ in range(int(sys.argv[1])):
    salt, digest = (base64.b64encode(draw.randbytes(20)).decode() for _ in range(2))
    print(f"|1|{salt}|{digest} {key}")
PYTHON
"$cluster" exec node1 sh -c "ssh-keygen -q -H -f ~/.ssh/known_hosts 2>/dev/null >/dev/null; cat '$work/others' >>~/.ssh/known_hosts"
printf 'commit %s, %s, %s hosts, %s hashed lines\n' "$(git -C "$root" rev-parse --short HEAD)" \
  "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$hosts" "$lines"
declare -A least
for ((round = 1; round <= rounds; round++)); do
  for program in "$@"; do
    status=0
    "$cluster" exec node1 bash -c 'TIMEFORMAT="%U %S %R"; time "$@"' - "$program" -f "$work/hosts" \
      -np "$hosts" -ppn 1 true 2>"$work/err" || status=$?
    read -r user system wall < <(tail -n 1 "$work/err")
    cpu=$(awk "BEGIN { print $user + $system }")
    echo "$program: status $status, $cpu CPU-s, $wall s"
    [ "$status" = 0 ] || { head -n 3 "$work/err"; continue; }
    least[$program]=$(awk "BEGIN { a = $cpu; b = ${least[$program]:-999}; print a < b ? a : b }")
  done
done
for program in "$@"; do echo "least: ${least[$program]:-none} CPU-s: $program"; done
