#!/usr/bin/env bash
# mpi4py's own test suite, on 4 ranks of two hosts, under dtlaunch and under the library's own mpiexec: the same tests
# must pass. By hand: it takes up to an hour, as ranks that poll share few cores.
#
# usage: tests/mpi4py_suite.sh mpich|intel|openmpi|debian SOURCES [MODULE...]   as root, after scripts/test --only
# references. debian: Debian's Open MPI, with the same mpi4py
#
# SOURCES: mpi4py's, unpacked: pip download --no-binary :all: --no-deps mpi4py. MODULE: test_comm and so on; all of
# them without. A module that takes longer than $LIMIT (60) seconds is ended, and counts as hung. Prints a line for
# each module, and the tests that differ; exit status 1: a module that ended with mpiexec did not, or a test that
# passed with mpiexec did not.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
library=$1 sources=$(cd "$2" && pwd)/test
shift 2
mpi=${DTL_TEST_MPI:-${XDG_CACHE_HOME:-$HOME/.cache}/dtlaunch-test/mpi}
bin=${DTL_BIN:-$root/build/release/bin}
cluster=$root/tests/cluster/cluster
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(cd "$sources" && ls test_*.py | sed 's/\.py$//' | grep -v -e spawn -e dynproc)
mkdir -p "$root/build"
work=$(mktemp -d "$root/build/mpi4py.XXXXXX")
export DTL_CLUSTER=$work/cluster
trap '"$cluster" down >/dev/null; [ -n "${KEEP-}" ] || rm -rf "$work"' EXIT
"$cluster" up 2 >"$work/up" || exit
printf 'node1\nnode2\n' >"$work/hosts"

# Over UCX, pip's MPICH 5.0.2 hangs between two hosts of tests/cluster, under either launcher.
export MPIR_CVAR_CH4_NETMOD=${MPIR_CVAR_CH4_NETMOD-ofi}

# Where Open MPI's one-sided part over UCX finds no network, it writes an error into the middle of the results.
variables=("PYTHONPATH=$mpi/python" "MPIR_CVAR_CH4_NETMOD=$MPIR_CVAR_CH4_NETMOD" OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_osc=^ucx)
[ "$library" = debian ] || variables+=("LD_LIBRARY_PATH=$mpi/$library/lib")
# Not a script that chooses one, and the same on both hosts: their PATHs differ.
python=$(python3 -c "import sys; print(sys.executable)")
launch_with() { # LAUNCHER -> $with
  local each
  case $1.$library in
    dtlaunch.*) with=("$bin/dtlaunch" -f "$work/hosts" -np 4 -ppn 2) ;;
    mpiexec.openmpi) with=(env {OMPI,PRTE}_ALLOW_RUN_AS_ROOT{,_CONFIRM}=1 "$mpi/openmpi/bin/mpirun"
      --hostfile "$work/hosts" -np 4 --map-by ppr:2:node:OVERSUBSCRIBE) ;;
    mpiexec.debian) with=(env OMPI_ALLOW_RUN_AS_ROOT{,_CONFIRM}=1 mpirun.openmpi
      --hostfile "$work/hosts" -np 4 --map-by ppr:2:node --oversubscribe) ;;
    *) with=("$mpi/$library/bin/mpiexec" -launcher ssh -f "$work/hosts" -np 4 -ppn 2) ;;
  esac
  for each in "${variables[@]}"; do
    case $1.$library in
      mpiexec.openmpi | mpiexec.debian) with+=(-x "$each") ;;
      *) with+=(-genv "${each%%=*}" "${each#*=}") ;;
    esac
  done
}

# under LAUNCHER MODULE: prints its seconds, or "hung"; its tests are in $work/LAUNCHER.MODULE.
under() {
  local with=() begin=$EPOCHREALTIME status=0
  rm -f "$work/errors".*
  launch_with "$1"
  # Only rank 0's results: they are the same on all ranks, or the test fails.
  # shellcheck disable=SC2016
  timeout -k 10 "${LIMIT:-60}" "$cluster" exec node1 env I_MPI_ROOT="$mpi/$library" \
    "${with[@]}" sh -c 'exec "$@" 2>"$0.${PMI_RANK-$OMPI_COMM_WORLD_RANK}"' "$work/errors" \
    "$python" "$sources/main.py" -v -i "(^|/)$2(\\.py)?\$" >"$work/out" 2>&1 </dev/null || status=$?
  grep -Eo '^test.*\) .*\.\.\. (ok|FAIL|ERROR|skipped|expected failure)' "$work/errors.0" |
    sed -E 's/^(.*\)) .*\.\.\. /\1 /' | sort >"$work/$1.$2"
  [ $status != 124 ] || { echo hung; return; }
  python3 -c "print(round($EPOCHREALTIME - $begin, 1))"
}

count() { grep -cE "($1)\$" "$2"; }
numbers() { # FILE
  printf '%6d %6d %7d' "$(count ok "$1")" "$(count 'FAIL|ERROR' "$1")" "$(count skipped "$1")"
}

status=0
printf '%-24s %8s %6s %6s %7s   %8s %6s %6s %7s\n' "$library" dtlaunch passed failed skipped mpiexec passed failed skipped
for module in "$@"; do
  own=$(under mpiexec "$module")
  ours=$(under dtlaunch "$module")
  printf '%-24s %8s %s   %8s %s\n' "$module" "$ours" "$(numbers "$work/dtlaunch.$module")" \
    "$own" "$(numbers "$work/mpiexec.$module")"
  [ "$own" = hung ] || [ "$ours" != hung ] || status=1
  if [ "$own" != hung ] && [ "$ours" != hung ]; then
    diff "$work/mpiexec.$module" "$work/dtlaunch.$module" | sed -n 's/^</  mpiexec: /p; s/^>/  dtlaunch:/p'
    [ -z "$(grep ' ok$' "$work/mpiexec.$module" | comm -23 - <(grep ' ok$' "$work/dtlaunch.$module"))" ] || status=1
  fi
done
exit $status
