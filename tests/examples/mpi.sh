#!/usr/bin/env bash
# examples/mpi: the commands of its README.md, with pip's MPICH.
. "$(dirname "$0")/../e2e/lib.sh"
mpi=${DTL_TEST_MPI-}
[ -n "$mpi" ] || skip "DTL_TEST_MPI names no folder with MPICH (scripts/test sets it)"
command -v cc >/dev/null || skip "no C compiler"
need_program dtlaunch dtagent dtguard
use_plain_path
example=$root/examples/mpi
mkdir "$work/copy"
cp "$example"/* "$work/copy"
echo 'localhost slots=2' >"$work/copy/hosts"
PYTHONPATH=$e2e /usr/bin/python3 -B "$root/tests/examples/commands.py" "$example" "$work/copy" \
  env "PATH=$bin:$mpi/mpich/bin:$PATH" "LD_LIBRARY_PATH=$mpi/mpich/lib" "PYTHONPATH=$mpi/python" \
  >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err" >&2; exit 1; }
cat "$work/out"
