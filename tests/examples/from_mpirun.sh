#!/usr/bin/env bash
# examples/from-mpirun: its lines for mpirun and for dtlaunch do the same on two hosts. mpirun links to dtlaunch.
. "$(dirname "$0")/../e2e/lib.sh"
need_cluster 2
example=$root/examples/from-mpirun
mkdir "$work/copy" "$work/programs"
cp "$example"/* "$work/copy"
ln -s "$bin"/dt* "$work/programs"
ln -s dtlaunch "$work/programs/mpirun"
PYTHONPATH=$e2e /usr/bin/python3 -B "$root/tests/examples/commands.py" "$example" "$work/copy" \
  "$cluster" exec node1 env -C "$work/copy" "PATH=$work/programs:$PATH" >"$work/out" 2>"$work/err" ||
  { cat "$work/out" "$work/err" >&2; exit 1; }
cat "$work/out"
