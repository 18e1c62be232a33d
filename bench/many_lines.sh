#!/usr/bin/env bash
# Output of many hosts over real sshd, on one machine: bench/many_lines.sh HOSTS RATE SECONDS ROUNDS
# PROGRAM... Each PROGRAM is a dtlaunch with its dtagent beside it; they take turns. A rank on each
# host prints RATE short lines a second. Prints the CPU time of dtlaunch for each line, its start
# included. Needs root and perl; more hosts than cores cannot keep up, and then more lines travel
# together than on hosts of their own.
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 64; }
hosts=$1 rate=$2 seconds=$3 rounds=$4
shift 4
root=$(cd "$(dirname "$0")/.." && pwd)
cluster=$root/tests/cluster/cluster
work=$(mktemp -d "$root/build/many_lines.XXXXXX")
eval "$("$cluster" up $((hosts + 1)))"
trap '"$cluster" down >/dev/null; rm -rf "$work"' EXIT
for ((i = 2; i <= hosts + 1; i++)); do echo "node$i"; done >"$work/hosts"
cat >"$work/print.pl" <<'PERL'
use Time::HiRes qw(sleep time);
$| = 1;
my ($rate, $seconds) = @ARGV;
my $begin = time;
for my $i (1 .. $rate * $seconds) {
  print "step $i: loss 0.6931, learning rate 5e-05, 123.4 samples/s\n";
  my $early = $begin + $i / $rate - time;
  sleep($early) if $early > 0;
}
PERL
printf 'commit %s, %s, %s hosts, %s lines a second each\n' "$(git -C "$root" rev-parse --short HEAD)" \
  "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$hosts" "$rate"
for ((round = 1; round <= rounds; round++)); do
  for program in "$@"; do
    status=0
    "$cluster" exec node1 bash -c 'TIMEFORMAT="%U %S %R"; time "$@"' - "$program" -f "$work/hosts" \
      -np "$hosts" -ppn 1 perl "$work/print.pl" "$rate" "$seconds" 2>"$work/err" >"$work/out" || status=$?
    read -r user system wall < <(tail -n 1 "$work/err")
    lines=$(wc -l <"$work/out")
    echo "$program: status $status, $lines lines in $wall s," \
      "$(awk "BEGIN { printf \"%.1f\", ($user + $system) * 1e6 / ($lines + 1) }") us of CPU a line"
    [ "$status" = 0 ] || head -n 3 "$work/err"
  done
done
