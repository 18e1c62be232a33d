#!/usr/bin/env bash
# examples/slurm: its batch script trains in a real Slurm of two nodes, as its README.md shows.
. "$(dirname "$0")/../slurm/lib.sh"
need_program dttrain
need_slurm 2
example=$root/examples/slurm copy=$slurm_folder/slurm
mkdir "$copy" "$slurm_folder/own-csv" "$slurm_folder/programs"
cp "$example"/* "$copy"
cp "$root"/examples/own-csv/*.csv "$slurm_folder/own-csv"
ln -s "$bin"/dt* "$slurm_folder/programs"
PYTHONPATH=$e2e /usr/bin/python3 -B "$root/tests/examples/commands.py" "$example" "$copy" \
  "$cluster" exec login env -C "$copy" "PATH=$slurm_folder/programs:$PATH" >"$work/out" 2>"$work/err" ||
  { cat "$work/out" "$work/err" >&2; exit 1; }
cat "$work/out"
expect_nodes_empty 10
