#!/usr/bin/env bash
# The time to start and end a job, compared with MPICH's Hydra in one interleaved run: two ranks on
# this machine, and 4, 64, ... hosts over ssh, cold (each run opens its own connections) and, for
# dtlaunch, over connections that `dtlaunch up` keeps. Also the launcher's CPU time and memory per
# host. The hosts are those of tests/cluster; the launchers run on one more host.
# usage: bench/launch.sh [ROUNDS [HOSTS...]]; needs root, mpich, and the release build
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cluster=$root/tests/cluster/cluster
bin=${DTL_BIN:-$root/build/release/bin}
for program in "$bin/dtlaunch" "$bin/dtagent" "$bin/dtguard"; do
  [ -x "$program" ] || { echo "bench/launch.sh: $program has not been built" >&2; exit 69; }
done
command -v mpiexec.hydra >/dev/null || {
  echo "bench/launch.sh: nothing to compare with. Try: apt-get install mpich" >&2
  exit 69
}
DTL_CLUSTER=$(mktemp -d)/cluster
export DTL_CLUSTER
trap '"$cluster" down; rmdir "$(dirname "$DTL_CLUSTER")"' EXIT
rounds=${1:-21}
sizes=("${@:2}")
[ ${#sizes[@]} -gt 0 ] || sizes=(4)
most=$(printf '%s\n' "${sizes[@]}" | sort -n | tail -n 1)
"$cluster" up "$most" --login >/dev/null
echo "commit $(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)"
"$cluster" exec login /usr/bin/python3 "$here/launch_times.py" "$bin/dtlaunch" "$rounds" "${sizes[@]}"
