#!/usr/bin/env bash
# The same faults under dtlaunch and MPICH's Hydra, on the hosts of tests/cluster: does the launcher
# end, with which status, and what is left of the four ranks and their helpers (four processes each,
# two of them in their own sessions)?
# usage: bench/faults.sh [SECONDS to watch]; needs root, mpich, and the release build
. "$(dirname "$0")/../tests/e2e/lib.sh"
watch=${1:-20}
limit=$((watch + 30))
command -v mpiexec.hydra >/dev/null || skip "nothing to compare with: apt-get install mpich"

declare -A command=([dtlaunch]="$bin/dtlaunch -f $work/hosts -np 4 -ppn 2"
  [hydra]="mpiexec.hydra -launcher ssh -f $work/hosts -n 4 -ppn 2")
declare -A daemon=([dtlaunch]=dtagent [hydra]=hydra_pmi_proxy)

strike() { # FAULT LAUNCHER
  local pid
  case "$1" in
    'rank exits 3') touch "$work/now" ;;
    'launcher killed') signal KILL "$launcher" ;;
    'daemon killed') pid=$(pids_of node2 "${daemon[$2]}") && signal KILL "$pid" node2 ;;
    'host cut off') "$cluster" cut node2 ;;
  esac
}

ended() { ! kill -0 "$job"; }

one() { # FAULT LAUNCHER
  : >"$record"
  rm -rf "$work/now" "$work/cluster"
  hosts=()
  need_cluster 2
  # Rank 2 exits 3 when told to; the others keep running.
  # shellcheck disable=SC2016
  start_command ${command[$2]} bash -c \
    '[ $PMI_RANK = 2 ] || exec "$0" "$1"; "$0" "$1" bash -c "until [ -e $2 ]; do sleep 0.1; done; exit 3"' \
    "$e2e/record_family" "$record" "$work/now"
  expect_family 16
  mark
  strike "$1" "$2"
  local launcher_says="runs on" last=$((watch * 1000))
  while [ $(($(now_ms) - job_began)) -lt "$last" ] && ! { ended && nothing_alive; } 2>/dev/null; do sleep 0.1; done
  local seconds=$((($(now_ms) - job_began + 500) / 1000)) alive
  alive=$(count_alive)
  if ended 2>/dev/null; then wait "$job" && status=0 || status=$?; launcher_says="status $status"; fi
  [ "$1" != 'launcher killed' ] || launcher_says="is dead"
  printf '%-16s %-9s %-12s %2d of 16 processes alive after %2d s\n' "$1" "$2" "$launcher_says" "$alive" "$seconds"
  "$cluster" down
  wait "$job" 2>/dev/null
}

printf 'commit %s, %s, Hydra of MPICH %s\n' "$(git -C "$root" describe --always --dirty)" \
  "$("$bin/dtlaunch" --version | head -n 1)" \
  "$(mpiexec.hydra --version | sed -n 's/^ *Version: *//p')"
for fault in 'rank exits 3' 'launcher killed' 'daemon killed' 'host cut off'; do
  for name in dtlaunch hydra; do one "$fault" "$name"; done
done
hosts=()
