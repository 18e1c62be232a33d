#!/usr/bin/env bash
# `dtlaunch up` in a Slurm job keeps an agent on each node, in one step. Later launches need no srun and keep
# the same promises; includes several jobs at once, faults and scancel. Nothing outlives `dtlaunch down`, the
# script, or the allocation.
. "$(dirname "$0")/lib.sh"
need_slurm 3
d=$bin/dtlaunch

# in_script OPTIONS of sbatch -- LINE...: submit(), then wait; $work has the lines' output.
in_script() {
  submit "$@"
  end_of_job 60
}
steps='squeue -h -s -o %i | grep -Ev "batch|extern|interactive"'
until_no_steps="for i in \$(seq 200); do [ -n \"\$($steps)\" ] || break; sleep 0.1; done"

# ---- one step for all launches; ranks have the environment of their launch, not of `up`
in_script -N2 -n4 -- "'$d' up || exit" "'$d' up --list" 'export SINCE=later' \
  "for i in 1 2 3; do '$d' sh -c 'echo \"\$RANK of \$WORLD_SIZE on \$(uname -n), \$SINCE\" >&2'; done" \
  "'$d' -v -hosts node2 -np 1 sh -c 'exit 3'; echo \"status \$?\"" \
  "'$d' sh -c 'exit 0'; echo \"status \$?\"" \
  "echo \"steps: \$($steps | xargs)\"" \
  "'$d' doctor --quick >/dev/null 2>&1; echo \"doctor \$?\"" \
  "'$d' down; echo \"down \$?\"; $until_no_steps; echo \"steps after: \$($steps | xargs)\"" \
  "'$d' up --list; echo \"list \$?\""
expect_equal "status of the script" "$status" 0
expect_err '^dtlaunch: 2 of 2 hosts connected in '
expect_count 1 '^node1 connected$' "$work/out"
expect_count 1 '^node2 connected$' "$work/out"
expect_equal "ranks" "$(grep ' of 4 on ' "$work/err" | sort | uniq -c | sed 's/^ *//')" "3 0 of 4 on node1, later
3 1 of 4 on node1, later
3 2 of 4 on node2, later
3 3 of 4 on node2, later"
expect_err 'rank 0 on node2 exited with status 3'
expect_equal "statuses" "$(grep '^status' "$work/out" | xargs)" "status 3 status 0"
expect_out "^steps: $job_number\.0$"
expect_out '^doctor [01]$'
expect_out '^down 0$'
expect_out '^steps after: *$'
expect_out '^list 1$'
expect_err 'no connection is kept\. Try: dtlaunch up$'
expect_nodes_empty 8

# ---- two jobs at once: the second has its own step, and each its own failure
in_script -N2 -n4 -- "'$d' up" \
  "'$d' -np 2 -ppn 1 sh -c 'sleep 2; exit 4' & first=\$!; sleep 0.5" \
  "'$d' -np 2 -ppn 1 sh -c 'seq 20000'" "echo \"second \$?, steps: \$($steps | xargs)\" >&2" \
  "wait \$first; echo \"first \$?\" >&2" \
  "'$d' -np 2 -ppn 1 true; echo \"third \$?, steps: \$($steps | xargs)\" >&2" "'$d' down"
expect_equal "lines of the second job" "$(wc -l <"$work/out")" 40000
expect_err "^second 0, steps: ($job_number\.[01] ?)+$"
expect_err '^first 4$'
expect_err "^third 0, steps: $job_number\.0( |$)"
expect_nodes_empty 8

# ---- kill -9 of an agent ends its job, and the next job gets a new agent. The same for the launcher.
: >"$record"
submit -N2 -n2 -- "'$d' up" "'$d' '$e2e/record_family' '$record'; echo \"status \$?\"" \
  "'$d' -v true; echo \"status \$?, steps: \$($steps | xargs)\"" \
  "'$d' '$e2e/record_family' '$record' & wait \$!; echo \"status \$?\"" \
  "SECONDS=0; '$d' true; echo \"took \$SECONDS s\"" \
  "'$d' true; echo \"status \$?, steps: \$($steps | xargs)\"; '$d' down"
wait_for 20 "two families; $(cat "$work/err")" has_recorded 8
on node2 pkill -KILL -n -x dtagent
wait_for 20 "the first status; $(cat "$work/err")" grep -q '^status' "$work/out"
expect_out '^status (69|71)$'
wait_for 20 "two more families; $(cat "$work/err")" has_recorded 16
launcher=$(on node1 sh -c "pgrep -f 'dtlaunch $e2e/record_family' | head -n 1")
on node1 kill -KILL "$launcher"
end_of_job 30
expect_nothing_left 5
expect_count 2 "^status 0, steps: $job_number\.[0-9]( $job_number\.[0-9])?$" "$work/out"
expect_out '^status 137$'
expect_out '^took [0-4] s$' # a new agent is starting, and no second one is requested
expect_nodes_empty 8

# ---- scancel: the running job is told, and saves
rm -f "$slurm_folder"/saved.*
: >"$record"
cat >"$slurm_folder/rank" <<RANK
#!/bin/bash
trap 'sleep 0.3; echo saved >"$slurm_folder/saved.\$RANK"; exit 0' TERM
"$e2e/record_family" "$record" true
while :; do sleep 0.05; done
RANK
chmod 755 "$slurm_folder/rank"
slurm salloc -Q -N2 -n2 sh -c "'$d' up && '$d' '$slurm_folder/rank'; echo \"status \$?\"" >"$work/out" 2>"$work/err" &
allocation=$!
wait_for 20 "two ranks; $(cat "$work/err")" has_recorded 6
on login scancel "$(slurm squeue -h -o %i)"
wait "$allocation" || true
expect_equal "ranks that saved after scancel" "$(find "$slurm_folder" -name 'saved.*' | wc -l)" 2
expect_out '^status 143$'
expect_nothing_left 5
expect_nodes_empty 10

# ---- the end of the allocation, and of the script, without `down`; then idleness
in_allocation -N2 -n2 -- sh -c "'$d' up && '$d' true"
expect_status 0
expect_nodes_empty 10
in_script -N2 -n2 -- "'$d' up && '$d' true"
expect_equal "status of the script" "$status" 0
expect_nodes_empty 10
in_allocation -N2 -n2 -- sh -c "'$d' up --idle 0.0004 && $until_no_steps; $steps || echo none"
expect_out '^none$'
expect_nodes_empty 10

# ---- srun is killed, and Slurm kills its step: the job ends and reports it
: >"$record"
submit -N2 -n2 -- "'$d' up" "'$d' '$e2e/record_family' '$record'; echo \"status \$?\"" "'$d' up --list; echo \"list \$?\""
wait_for 20 "two families; $(cat "$work/err")" has_recorded 8
on node1 pkill -KILL -o -x srun
end_of_job 40
expect_out '^status (69|71)$'
expect_out '^list 1$'
expect_nothing_left 5
expect_nodes_empty 8

# ---- what is refused, or answered with a notice
in_allocation -N2 -n2 -- "$d" up --accept-new-host-keys
expect_status 64
expect_err 'does not log in to the nodes of job [0-9]+'
in_allocation -N2 -n2 -- sh -c "'$d' up -hosts node3; '$d' up --list; '$d' -ppn 1 true; '$d' down"
expect_err '^dtlaunch: up: in job [0-9]+, agents start by the scheduler'
expect_err 'the kept connections are closed'
run "$cluster" exec login "$d" up
expect_status 64
expect_err 'up: needs hosts: this is not a job of Slurm'
in_allocation -N2 -n2 -- env SLURM_JOB_ID=999 "$d" up
expect_status 71
expect_err '0 of 2 hosts connected'
expect_err 'srun ended: exit status 1'
expect_nodes_empty 10
