#!/usr/bin/env bash
# Slurm's events in a job: scancel, a limit with a warning, requeue, a lost node, and kill -9 of dtlaunch
# and of every srun at once. Ranks end in order if they can, nothing is left, and the status tells the
# cause. What only Slurm does has a minute, because a busy machine makes it slow; the other times are ours.
. "$(dirname "$0")/lib.sh"
limit=60
need_slurm 3

# A rank that saves when told to end, with a family that nobody else ends.
cat >"$slurm_folder/rank" <<RANK
#!/bin/bash
trap 'date +%s%N >"$slurm_folder/told.\$RANK"; sleep 0.3; echo saved >"$slurm_folder/saved.\$RANK"; exit 0' TERM
"$e2e/record_family" "$record" true
echo "start \${SLURM_RESTART_COUNT-0} of rank \$RANK" >>"$slurm_folder/starts"
while :; do sleep 0.05; done
RANK
chmod 755 "$slurm_folder/rank"
fresh() {
  rm -f "$slurm_folder"/{told,saved,starts,status}*
  : >"$record"
}
saved() { find "$slurm_folder" -name 'saved.*' | wc -l; }
both_have_saved() { [ "$(saved)" = 2 ]; }
starts() { cat "$slurm_folder/starts" 2>/dev/null | wc -l; }
job_waits() { [ "$(job_fact JobState)" = PENDING ]; }
have_started() { [ "$(starts)" -ge "$1" ]; }

# ---- scancel
fresh
submit -N2 -n2 -- "exec '$bin/dtlaunch' '$slurm_folder/rank'"
wait_for 60 "two ranks; $(cat "$work/err")" have_started 2
slurm scancel "$job_number"
end_of_job 60
expect_equal "ranks that saved after scancel" "$(saved)" 2
# Slurm takes about a second to signal all; the rest of the time is ours.
apart=$((($(cat "$slurm_folder/told.0") - $(cat "$slurm_folder/told.1")) / 1000000))
[ ${apart#-} -lt 1000 ] || fail "ranks were told ${apart#-} ms apart"
expect_nothing_left 4
expect_nodes_empty 30

# ---- scancel of a job whose ranks Slurm started
fresh
(umask 077 && head -c 32 /dev/urandom | base64 >"$slurm_folder/token")
submit -N2 -n4 -- "export DTL_TOKEN_FILE='$slurm_folder/token'" "exec srun --mpi=none bash -c 'trap : TERM
  \"$bin/dtlaunch\" --max-restarts 2 \"$slurm_folder/rank\"; echo \$? >\"$slurm_folder/status.\$SLURM_PROCID\"'"
wait_for 60 "four ranks; $(cat "$work/err")" have_started 4
slurm scancel "$job_number"
end_of_job 60
expect_equal "ranks that saved after scancel" "$(saved)" 4
expect_equal "statuses of the tasks" "$(cat "$slurm_folder"/status.* | xargs)" "143 143 143 143"
expect_no_err 'going on|goes on'
expect_nothing_left 4
expect_nodes_empty 30

# ---- SIGUSR1 before the time limit, only to the batch process
fresh
submit -N2 -n2 --signal=B:USR1@30 -- "exec '$bin/dtlaunch' '$slurm_folder/rank'"
wait_for 60 "two ranks; $(cat "$work/err")" have_started 2
slurm scancel -b -s USR1 "$job_number"
end_of_job 60
expect_equal "status after SIGUSR1" "$status" 143
expect_equal "ranks that saved after SIGUSR1" "$(saved)" 2
expect_nodes_empty 30

# ---- requeue
fresh
submit -N2 -n2 --requeue -- "'$bin/dtlaunch' sh -c 'echo \"again \${SLURM_RESTART_COUNT-0}\"
  [ \${SLURM_RESTART_COUNT-0} = 0 ] || exit 0; exec $slurm_folder/rank'"
wait_for 60 "two ranks; $(cat "$work/err")" have_started 2
slurm scontrol requeue "$job_number"
wait_for 60 "the job to wait" job_waits
expect_equal "ranks that saved before the requeue" "$(saved)" 2
# A node takes the credential of a start in the second of the requeue for the revoked one.
slurm scontrol update "JobId=$job_number" StartTime=now+2
end_of_job 60
expect_equal "status after the requeue" "$status" 0
expect_count 2 '^again 1$' "$work/out"

# ---- a node is lost
fresh
submit -N3 -n3 --no-kill -- "'$bin/dtlaunch' '$slurm_folder/rank'; echo \"status \$?\""
wait_for 60 "three ranks; $(cat "$work/err")" have_started 3
gone=$(now_ms)
"$cluster" kill node3
wait_for 15 "the lost node to be noticed" grep -q node3 "$work/err"
noticed=$(($(now_ms) - gone))
echo "a lost node was noticed after $noticed ms"
[ $noticed -lt 11000 ] || fail "a lost node was noticed after $noticed ms"
wait_for 15 "the script's last line" grep -q ^status "$work/out"
expect_out '^status 69$'
expect_err '^  try +scontrol show node node3$'
grep -q '^NodeName=node3 ' < <(slurm sh -c "$(sed -n 's/^  try *//p' "$work/err")") ||
  fail "what the card suggests does not work"
expect_equal "ranks that saved after a node was lost" "$(saved)" 2
slurm scancel "$job_number"
hosts=(node1 node2)
expect_nothing_left 5
# Slurm would wait until it gives up the lost node.
slurm scontrol update NodeName=node3 State=DOWN Reason=gone
end_of_job 60

# ---- kill -9 of dtlaunch and every srun. srun's second process makes Slurm kill the step when the first
# is gone. It might do that before it is killed itself, so stop it first.
fresh
submit -N2 -n2 -w 'node[1-2]' -- "'$bin/dtlaunch' '$slurm_folder/rank' & wait; sleep 60"
wait_for 60 "two ranks; $(cat "$work/err")" have_started 2
[ "$(count_alive)" -ge 4 ] || fail "$(count_alive) processes are alive before the fault"
on node1 pkill -STOP -x 'srun|dtlaunch'
on node1 pkill -KILL -x 'srun|dtlaunch'
wait_for 5 "both ranks to save after kill -9" both_have_saved
expect_nothing_left 5
slurm scancel "$job_number"
end_of_job 60
expect_nodes_empty 30 # so the oldest srun is that of the next job

# ---- srun alone
fresh
submit -N2 -n2 -w 'node[1-2]' -- "'$bin/dtlaunch' '$slurm_folder/rank'; echo \"status \$?\""
wait_for 60 "two ranks; $(cat "$work/err")" have_started 2
on node1 pkill -KILL -o -x srun
wait_for 15 "the script's last line" grep -q ^status "$work/out"
expect_out '^status 71$'
expect_err 'srun ended: killed by SIGKILL'
expect_err "^  try +sacct -j $job_number\$"
expect_no_err 'ssh'
expect_nothing_left 10
end_of_job 60
expect_nodes_empty 30
