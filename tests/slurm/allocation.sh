#!/usr/bin/env bash
# In a Slurm allocation, dtlaunch runs on its nodes with its slots and starts its agents by one srun,
# without ssh; `srun dtlaunch` does the same. Slurm's variables of a step or script do not change our
# srun, and nobody can see the job's token.
. "$(dirname "$0")/lib.sh"
use_open_paths # a job of a user who is not root
need_slurm 3

ranks='echo "rank $RANK of $WORLD_SIZE on $(uname -n), token ${DTL_TOKEN-none}, task ${SLURM_PROCID-none}"'
two_by_two='rank 0 of 4 on node1, token none, task none
rank 1 of 4 on node1, token none, task none
rank 2 of 4 on node2, token none, task none
rank 3 of 4 on node2, token none, task none'
seen() { sort "$work/out"; }

# ---- salloc, from a host outside the allocation
in_allocation -N2 -n4 -- "$bin/dtlaunch" -vv sh -c "$ranks"
expect_status 0
expect_equal "ranks in salloc" "$(seen)" "$two_by_two"
expect_count 1 'starting .*srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --overlap --cpu-bind=none' "$work/err"
expect_no_err 'external-launcher'
on login sh -c 'ls ~/.ssh/known_hosts.* 2>/dev/null' && fail "ssh was used"
on login grep -q sshd: /run/sshd.log && fail "somebody has logged in"

# ---- MPI: the agents that srun has started serve PMI
cp "$e2e/pmi_rank.py" "$work/"
in_allocation -N2 -n4 -- "$bin/dtlaunch" python3 "$work/pmi_rank.py"
expect_status 0
expect_count 4 '^rank [0-3] of 4: of rank 0 on node1; .*: \(vector,\(0,2,2\)\)$' "$work/out"

# ---- --dry-run, and --show-scheduler
in_allocation -N2 -n4 -- "$bin/dtlaunch" --show-scheduler
expect_out '^starter +srun: one step for all hosts'
in_allocation -N2 -n4 -- "$bin/dtlaunch" --dry-run true
expect_status 0
expect_err 'agents start by srun, in one step of job [0-9]+, on node1, node2$'
in_allocation -N2 -n4 -- "$bin/dtlaunch" -launcher ssh --show-scheduler
expect_out '^starter +ssh$'

# ---- fewer ranks use fewer nodes; a host of the allocation by name; other hosts are refused
in_allocation -N3 -n3 -- "$bin/dtlaunch" -hosts node3,node2 -ppn 1 sh -c "$ranks"
expect_status 0
expect_out '^rank 0 of 2 on node3,'
in_allocation -N2 -n4 -- "$bin/dtlaunch" -hosts node2,node3 true
expect_status 64
expect_err 'node3: not in the allocation: slurm has given this job node1, node2'

# ---- a batch script whose environment would change what srun does, and without --export
rm -f "$slurm_folder/done"
submit -N2 -n4 -c1 --export=NONE -- "export SLURM_CPU_BIND=mask_cpu:0x1 SLURM_NTASKS_PER_NODE=2 SLURM_LABELIO=1 \
  SLURM_STDERRMODE=/nowhere/at/all SLURM_EXACT=1" \
  "'$bin/dtlaunch' sh -c '$ranks; grep Cpus_allowed_list /proc/self/status' ; echo \"status \$?\"; sleep 0.1"
end_of_job 20
expect_equal "status of the script" "$status" 0
expect_out '^status 0$'
expect_equal "ranks in sbatch" "$(grep ^rank "$work/out" | sort)" "$two_by_two"

# ---- each element of an array is its own job
submit --array=0-1 -N1 -n2 -- "'$bin/dtlaunch' --show-scheduler | grep -E '^role|array'" \
  "'$bin/dtlaunch' sh -c 'echo \"element \$SLURM_ARRAY_TASK_ID: rank \$RANK of \$WORLD_SIZE, task \${SLURM_PROCID-none}\"'"
wait_for 30 "both elements to end; $(cat "$work/err")" no_jobs
expect_equal "ranks of the elements" "$(grep ^element "$work/out" | sort)" "element 0: rank 0 of 2, task none
element 0: rank 1 of 2, task none
element 1: rank 0 of 2, task none
element 1: rank 1 of 2, task none"
expect_count 2 '^role +launcher:' "$work/out"
expect_count 2 'a task of an array of jobs' "$work/out"

# ---- an interactive step reports a task of a step: the job has the whole allocation
in_allocation -N2 -n4 -- srun --interactive --preserve-env --mpi=none sh -c \
  "echo \"step \$SLURM_STEP_ID, task \$SLURM_PROCID\"; exec '$bin/dtlaunch' sh -c '$ranks'"
expect_status 0
expect_out '^step 4294967290, task 0$'
expect_equal "ranks in an interactive step" "$(seen | grep ^rank)" "$two_by_two"

# ---- a rank's status, where srun alone reports another; srun's errors are shown
in_allocation -N2 -n4 -- "$bin/dtlaunch" sh -c '[ $RANK != 2 ] || exit 3; sleep 60'
expect_status 3
expect_err 'rank 2 on node2'
in_allocation -N2 -n2 -- env SLURM_JOB_PARTITION=none SLURM_JOB_ID=999 "$bin/dtlaunch" true
expect_status 71
expect_err '^dtlaunch: node1: cannot start agent: srun ended: exit status 1, saying "srun: .*invalid job 999"'

# ---- srun on each node
in_allocation -N2 -n4 -- srun -n2 --ntasks-per-node=1 "$bin/dtlaunch" -ppn 2 sh -c "$ranks"
expect_status 0
expect_equal "ranks by srun" "$(seen)" "$two_by_two"
in_allocation -N2 -n4 -- srun -n2 --ntasks-per-node=1 "$bin/dtlaunch" -ppn 1 sh -c 'exit $((RANK * 3))'
expect_status 3
token=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
in_allocation -N2 -n4 -- env DTL_TOKEN="$token" srun -n2 --ntasks-per-node=1 "$bin/dtlaunch" -ppn 2 sh -c "$ranks"
expect_equal "ranks by srun with a token" "$(seen)" "$two_by_two"
in_allocation -N2 -n4 -- env DTL_TOKEN="$token" "$bin/dtlaunch" sh -c "$ranks"
expect_equal "ranks with a token of the user's" "$(seen)" "$two_by_two"
in_allocation -N2 -n4 -- srun -n2 --ntasks-per-node=1 "$bin/dtlaunch" -launcher ssh true
[ "$status" != 0 ] || fail "-launcher ssh in every node's dtlaunch"
expect_err 'srun has started dtlaunch on every node'

# ---- a job of a user who is not root, who must own the token's file
for host in login "${hosts[@]}"; do
  on "$host" sh -c 'echo "ann:x:12345:12345::/run/ann:/bin/sh" >>/etc/passwd; echo "ann:x:12345:" >>/etc/group
    mkdir -p /run/ann && chown 12345:12345 /run/ann' || fail "no user on $host"
done
(umask 077 && mkdir "$slurm_folder/ann" && echo "$token" >"$slurm_folder/ann/token")
chown -R 12345:12345 "$slurm_folder/ann"
as_user=(setpriv --reuid 12345 --regid 12345 --clear-groups env HOME=/run/ann USER=ann LOGNAME=ann)
in_allocation -N2 -n4 -- "$bin/dtlaunch" sh -c "$ranks; id -u >&2"
expect_status 0
expect_equal "ranks of a user" "$(seen)" "$two_by_two"
expect_equal "their user" "$(xargs <"$work/err")" "12345 12345 12345 12345"
tasks_with_file() { in_allocation -N2 -n4 -- env DTL_TOKEN_FILE="$slurm_folder/ann/token" srun --mpi=none "$bin/dtlaunch" sh -c "$ranks"; }
tasks_with_file
expect_status 0
expect_equal "ranks of a user's tasks" "$(seen)" "$two_by_two"
chmod 602 "$slurm_folder/ann/token"
tasks_with_file
expect_status 65
expect_err 'ann/token: everybody may write this token'
chown 54321 "$slurm_folder/ann/token"
chmod 644 "$slurm_folder/ann/token"
tasks_with_file
expect_status 65
expect_err 'ann/token: this token belongs to another user \(54321\)'
as_user=()

# ---- newer Slurms have an option for launchers; the rest of the line is the same
mkdir "$slurm_folder/newer"
cat >"$slurm_folder/newer/srun" <<NEWER
#!/bin/bash
[ "\$1" != --version ] || { echo slurm 23.11.4; exit; }
printf '%s\n' "\$@" >"$slurm_folder/newer/words"
[ "\$1" = --external-launcher ] && shift
exec $(command -v srun) "\$@"
NEWER
chmod 755 "$slurm_folder/newer/srun"
in_allocation -N2 -n2 -- env PATH="$slurm_folder/newer:$PATH" "$bin/dtlaunch" sh -c 'echo "launcher ${SLURM_EXTERNAL_LAUNCHER-none}"'
expect_status 0
expect_equal "its first word" "$(head -n 1 "$slurm_folder/newer/words")" --external-launcher

# ---- while it runs: its step, no port, and no token in any command line; two jobs at once
in_allocation -N2 -n2 --oversubscribe -- sh -c "'$bin/dtlaunch' sleep 5 & sleep 2; squeue -h -s -o '%i %j'
  ss -H -ltnp | grep dtlaunch | grep -v '"salloc"'; '$bin/dtlaunch' echo second; wait"
expect_status 0
expect_count 1 '[0-9]+\.0 dtlaunch$' "$work/out"
expect_count 0 'LISTEN' "$work/out"
expect_count 2 '^second$' "$work/out"

# ---- what is refused
in_allocation -N1 : -N1 -- "$bin/dtlaunch" true
expect_status 64
expect_err 'this is a heterogeneous job'
in_allocation -N2 -n2 -- "$bin/dtlaunch" --reconnect 30 true
expect_status 64
expect_err '^dtlaunch: --reconnect 30: a step of Slurm is not logged in to again'
launch -launcher srun true
expect_status 64
expect_err '^dtlaunch: -launcher srun: this is not a job of Slurm that has hosts'

# ---- a node is lost: spare nodes of the allocation replace it
in_allocation -N3 -n3 -- "$bin/dtlaunch" -np 2 -ppn 1 --max-restarts 1 --spares 1 bash -c \
  'echo "start $TORCHELASTIC_RESTART_COUNT of rank $RANK on $(uname -n)"
   if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && [ "$RANK" = 1 ]; then pkill -KILL -x "dtlaunch|dtagent"; fi; sleep 1'
expect_status 0
expect_out '^start 1 of rank 1 on node[13]$'
expect_nodes_empty 10
