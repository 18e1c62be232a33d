# shellcheck shell=bash
# Shared by the tests of Python jobs on several hosts: a venv with torch and our package, two hosts, and
# a function that runs a job on them. usage: . hosts.sh LIBDTRING VARIABLE MODULE...
#
# LIBDTRING: the library under test. VARIABLE names the Python (DTL_TEST_PYTHON or DTL_DEBIAN_PYTHON),
# which must have the MODULEs beside torch. DTL_BIN: the folder of the programs, as in tests/e2e/lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"
here=$root/tests/python
library=$1
limit=90

# on_hosts NAME [VARIABLE=VALUE...] -- ARGUMENTS of dtlaunch: runs it in the work folder, on node1, and
# keeps its output as NAME.out and NAME.err.
on_hosts() {
  local name=$1 environment=()
  shift
  while [ "$1" != -- ]; do
    environment+=("$1")
    shift
  done
  shift
  on_node1 "$name" "${environment[@]}" dtlaunch "$@"
}

# example_on_hosts NAME COMMAND: a shell line as a reader of the manual types it.
example_on_hosts() { on_node1 "$1" bash -c "$2"; }

on_node1() { # NAME [VARIABLE=VALUE...] COMMAND...
  local name=$1
  shift
  # PYTHONDONTWRITEBYTECODE: hosts share the machine's files, and the tree must not change.
  run "$cluster" exec node1 env -C "$work" PATH="$work/venv/bin:$bin:$PATH" HF_HUB_OFFLINE=1 \
    PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore DTRING_LIBRARY="$library" "$@"
  cp "$work/out" "$work/$name.out"
  cp "$work/err" "$work/$name.err"
  printf '%-24s %6s ms\n' "$name" "$took_ms"
}

make_venv "${@:2}"
need_cluster 2
