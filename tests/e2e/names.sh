#!/usr/bin/env bash
# Scripts that call mpirun, mpiexec, mpiexec.hydra or torchrun run unchanged with the folder of
# `dtlaunch --names` on PATH: on this machine and on two hosts.
. "$(dirname "$0")/lib.sh"
need_cluster 2
[ -z "$copied" ] || skip "the links lead to programs below '$root', where no agent can start"

run "$bin/dtlaunch" --names
expect_status 0
names=$(cat "$work/out")
[[ $names == /* && -d $names ]] || fail "--names prints '$names'"
for name in mpirun mpiexec mpiexec.hydra torchrun; do
  [ "$names/$name" -ef "$bin/dtlaunch" ] || fail "$names/$name is not dtlaunch"
done
[ "$(ls "$names" | wc -l)" = 4 ] || fail "other names: $(ls "$names")"

# A program alone, as on a host where somebody copied it.
mkdir "$work/alone"
cp "$bin/dtlaunch" "$work/alone/"
run "$work/alone/dtlaunch" --names
expect_status 71
expect_err "^dtlaunch: --names: .*/libexec/dtlaunch/names has no links to this dtlaunch\. Try: ln -s "

# ---- a user's script, written before dtlaunch

cat >"$work/script.py" <<'SCRIPT'
import os, sys
print("torchrun", os.environ["RANK"], os.environ["WORLD_SIZE"], os.uname().nodename, *sys.argv[1:])
SCRIPT
cat >"$work/existing.sh" <<'SCRIPT'
#!/bin/sh
set -e
cd "$(dirname "$0")"
mpirun -np 2 sh -c 'echo mpirun $RANK $WORLD_SIZE'
mpiexec -n 2 sh -c 'echo mpiexec $PMI_RANK $PMI_SIZE'
mpiexec.hydra -ppn 1 -f hosts sh -c 'echo hydra $RANK $WORLD_SIZE $(uname -n)'
torchrun --nproc_per_node 2 script.py --flag
mpirun -np 1 ps -p 1 >/dev/null
SCRIPT
chmod +x "$work/existing.sh"

# expect_lines: both ranks of each call, in any order, and nothing on standard error.
expect_lines() { # NODE_OF_THE_SCRIPT SECOND_HOST
  expect_status 0
  {
    printf '%s\n' "mpirun 0 2" "mpirun 1 2" "mpiexec 0 2" "mpiexec 1 2" "hydra 0 2 $1" "hydra 1 2 $2" \
      "torchrun 0 2 $1 --flag" "torchrun 1 2 $1 --flag"
  } | LC_ALL=C sort >"$work/wanted"
  LC_ALL=C sort "$work/out" | diff "$work/wanted" - >&2 || fail "other lines"
  [ ! -s "$work/err" ] || fail "a message"
}

run "$cluster" exec node1 env "PATH=$names:$PATH" "$work/existing.sh"
expect_lines node1 node2

# On this machine, as one host of the list with two slots.
echo localhost:2 >"$work/hosts"
sed -i 's/-ppn 1/-n 2/' "$work/existing.sh"
run env "PATH=$names:$PATH" "$work/existing.sh"
expect_lines "$(uname -n)" "$(uname -n)"

# ---- words with two meanings

export PATH=$names:$PATH
run mpirun -s all -np 1 cat
expect_status 0
expect_err "^dtlaunch: -s all: taken as Hydra's, .*; Open MPI's copies the program$"
run mpiexec.hydra -s all -np 1 cat
expect_status 0
[ ! -s "$work/err" ] || fail "a line for a word with one meaning"
run "$bin/dtlaunch" -s all -np 1 cat
[ ! -s "$work/err" ] || fail "a line under dtlaunch's own name"

# `dtlaunch clean` spares living launchers, which it knows by the process's name.
run mpirun -np 1 sh -c 'pid=$$
  while [ "$pid" -gt 1 ]; do
    cat /proc/$pid/comm
    pid=$(sed "s/.*) . //; s/ .*//" /proc/$pid/stat)
  done'
expect_status 0
expect_out "^dtlaunch$"
! grep -q '^mpirun$' "$work/out" || fail "the launcher's process is called mpirun"

# No job file and no demonstration take the place of a forgotten program.
run mpirun -np 2
expect_status 64
expect_err "^dtlaunch: mpirun: a program is missing\. Try: mpirun -n 2 PROGRAM$"
