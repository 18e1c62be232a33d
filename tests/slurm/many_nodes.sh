#!/usr/bin/env bash
# On 16 nodes, all on one machine's cores, a job starts and ends in a time comparable with that of a
# step of srun.
. "$(dirname "$0")/lib.sh"
need_slurm 16

in_allocation -N16 -n16 -- "$bin/dtlaunch" sh -c 'echo "$RANK of $WORLD_SIZE on $(uname -n)"'
expect_status 0
expect_equal "ranks on 16 nodes" "$(sort -n "$work/out")" "$(for rank in {0..15}; do echo "$rank of 16 on node$((rank + 1))"; done)"
expect_no_err .

# The shortest of a few alternating runs: other load on the machine can only lengthen them.
cat >"$slurm_folder/race" <<'RACE'
best() { [ -n "$1" ] && [ "$1" -lt "$2" ] && echo "$1" || echo "$2"; }
took() { local begin=${EPOCHREALTIME/./}; "$@" || exit; echo $(((${EPOCHREALTIME/./} - begin) / 1000)); }
for round in 1 2 3 4 5; do
  srun=$(best "$srun" "$(took srun --mpi=none true)")
  ours=$(best "$ours" "$(took "$1" -ppn 1 true)")
done
echo "srun $srun ms, dtlaunch $ours ms"
[ "$ours" -le $((4 * srun + 150)) ]
RACE
in_allocation -N16 -n16 -- bash "$slurm_folder/race" "$bin/dtlaunch"
cat "$work/out"
expect_status 0
expect_nodes_empty 10
