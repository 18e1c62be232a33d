#!/usr/bin/env bash
# A scheduler has started every rank, each with its own dtlaunch: together they are one job. Each rank is its
# task's child, stays on the task's CPUs and has the scheduler's number. Local ranks are counted per host.
# One output, one card, one status for all, and nothing left. The environments come from real steps of Slurm
# and Flux. Slurm's warning is a notice.
. "$(dirname "$0")/lib.sh"
need_cluster 2
data=$root/tests/data/schedulers
token=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
export DTL_TOKEN=$token
cpus=$(nproc)

mapfile -t step <"$data/slurm22-step-N2-n3-rank2.env"
step=("${step[@]//=n\[1-2\]/=node[1-2]}")

# task HOST RANK LOCAL_RANK NODE_RANK COMMAND...: as srun starts it; status in $work/status.RANK, after $tag.
task() {
  local host=$1 rank=$2 local_rank=$3 node=$4
  shift 4
  {
    timeout -s KILL "$limit" "$cluster" exec "$host" env "${step[@]}" "${rank_is/@/$rank}" "${local_is/@/$local_rank}" \
      SLURM_NODEID="$node" "$@" \
      >"$work/out.$tag$rank" 2>"$work/err.$tag$rank" </dev/null
    echo $? >"$work/status.$tag$rank"
  } &
}

on_cpu() { echo "taskset -c $(($1 % cpus))"; }

# tasks COMMAND...: ranks 0 and 1 on node1, 2 on node2, each bound to a CPU as by the scheduler.
tasks() {
  rm -f "$work"/status.*
  # shellcheck disable=SC2046
  {
    task node2 2 0 1 $(on_cpu 0) "$bin/dtlaunch" "$@"
    task node1 1 1 0 $(on_cpu 1) "$bin/dtlaunch" "$@"
    task node1 0 0 0 $(on_cpu 0) "$bin/dtlaunch" "$@"
  }
}

statuses() { cat "$work"/status.[012] | xargs; }
said() { cat "$work"/err.[012]; }
started() { [ "$(cat "$work"/started.* 2>/dev/null | wc -l)" = 3 ]; }
tag=''
rank_is=SLURM_PROCID=@ local_is=SLURM_LOCALID=@ # this scheduler's variables

# ---- each rank's place, and its CPUs
# shellcheck disable=SC2016
who='echo "$RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE node $GROUP_RANK/$GROUP_WORLD_SIZE $DTLAUNCH_HOST" \
  "on $(uname -n) cpus $(taskset -cp $$ | sed "s/.*: //") ${SLURM_PROCID-none} ${SLURM_STEP_ID-none} ${DTL_TOKEN-none}"
  echo "meet $MASTER_ADDR:$MASTER_PORT"; echo "threads $OMP_NUM_THREADS"'
tasks sh -c "$who"
wait
expect_equal "statuses of the tasks; $(said)" "$(statuses)" "0 0 0"
expect_equal "who the ranks are" "$(grep local "$work/out.0" | sort)" \
  "0/3 local 0/2 node 0/2 node1 on node1 cpus 0 none none none
1/3 local 1/2 node 0/2 node1 on node1 cpus $((1 % cpus)) none none none
2/3 local 0/1 node 1/2 node2 on node2 cpus 0 none none none"
expect_equal "one place to meet" "$(grep -c '^meet 10\.77\.' "$work/out.0") $(grep '^meet' "$work/out.0" | sort -u | wc -l)" "3 1"
# Each task's agent serves PMI; two of them are on one machine.
tag=pmi.
tasks python3 "$e2e/pmi_rank.py"
wait
tag=''
expect_equal "ranks that found each other over PMI; $(cat "$work"/err.pmi.*)" "$(sort "$work/out.pmi.0")" \
  "$(for rank in 0 1 2; do
    echo "rank $rank of 3: of rank 0 on node1; of rank 1 on node1; of rank 2 on node2: (vector,(0,1,2),(1,1,1))"
  done)"
expect_equal "threads of ranks with one CPU" "$(grep threads "$work/out.0" | sort -u)" "threads 1"
expect_equal "output of the others" "$(cat "$work/out.1" "$work/out.2")" ""
expect_hosts_idle 10

# ---- all return the first cause as status; one card
# shellcheck disable=SC2016
tasks sh -c '[ $RANK = 1 ] || exec sleep 60; exit 7'
wait
expect_equal "statuses after rank 1 exits 7; $(said)" "$(statuses)" "7 7 7"
expect_count 1 'rank 1.*exit' "$work/err.0"
expect_equal "what the others say" "$(cat "$work/err.1" "$work/err.2")" ""
expect_hosts_idle 10

# ---- SIGTERM to one task ends all ranks in order
# shellcheck disable=SC2016
tasks bash -c 'trap "echo drained; exit 0" TERM; echo $$ >"$0/started.$RANK"; while :; do sleep 0.1; done' "$work"
wait_for 20 "all ranks to run; $(said)" started
on node2 pkill -o -TERM -x dtlaunch
wait
expect_equal "statuses after SIGTERM; $(said)" "$(statuses)" "143 143 143"
expect_equal "ranks that ended in order" "$(grep -c drained "$work/out.0")" 3
grep -q 'node2: has to go (slurm ends it): stopping the ranks' "$work/err.0" || fail "$(said)"
rm -f "$work"/started.*

# ---- Slurm's warning to all tasks is a notice, and its later SIGTERM leaves ranks their grace
# shellcheck disable=SC2016
tasks --grace 20 bash -c 'trap "sleep 2; echo drained; exit 0" TERM; echo $$ >"$0/started.$RANK"; while :; do sleep 0.1; done' "$work"
wait_for 20 "all ranks to run; $(said)" started
signal_tasks() { # SIGNAL
  local host
  for host in node1 node2; do on "$host" pkill "-$1" -x dtlaunch; done
}
signal_tasks USR1
wait_for 10 "the notice; $(said)" grep -q "SIGUSR1: the job's time is nearly over" "$work/err.0"
signal_tasks TERM
wait
expect_equal "statuses after the warning; $(said)" "$(statuses)" "143 143 143"
expect_equal "ranks that ended in order" "$(grep -c drained "$work/out.0")" 3
rm -f "$work"/started.*

# ---- a killed task ends its own rank, and the job
# shellcheck disable=SC2016
tasks bash -c 'echo $$ >"$0/started.$RANK"; exec sleep 60' "$work"
wait_for 20 "all ranks to run; $(said)" started
on node2 pkill -o -KILL -x dtlaunch
wait
expect_equal "statuses after a lost task; $(said)" "$(statuses)" "137 137 137"
grep -Eq '^  try +scontrol show node node2$' "$work/err.0" || fail "no command of Slurm's is suggested: $(said)"
expect_hosts_idle 15
rm -f "$work"/started.*

# ---- restarts replace failed ranks but not lost tasks, and no message says that the job continues
# shellcheck disable=SC2016
tasks --max-restarts 2 bash -c 'echo $$ >"$0/started.$RANK.$TORCHELASTIC_RESTART_COUNT"
  [ $RANK$TORCHELASTIC_RESTART_COUNT != 20 ] || exit 5; exec sleep 60' "$work"
again() { [ "$(cat "$work"/started.*.1 2>/dev/null | wc -l)" = 3 ]; }
wait_for 20 "the second epoch; $(said)" again
on node2 pkill -o -TERM -x dtlaunch
wait
expect_equal "statuses after a task has to go; $(said)" "$(statuses)" "143 143 143"
grep -q 'not started again: its ranks do not fit what is left: -np 3: needs 1 more slot: 2 hosts offer 2' \
  "$work/err.0" || fail "$(said)"
grep -Eq 'going on|goes on|restart 2' "$work/err.0" && fail "it does not go on: $(said)"
rm -f "$work"/started.*
# shellcheck disable=SC2016
tasks --max-restarts 2 bash -c 'echo $$ >"$0/started.$RANK"; exec sleep 60' "$work"
wait_for 20 "all ranks to run; $(said)" started
on node2 pkill -o -KILL -x dtlaunch
wait
expect_equal "statuses after a lost task; $(said)" "$(statuses)" "137 137 137"
grep -q 'not started again: its ranks do not fit what is left' "$work/err.0" || fail "$(said)"
grep -Eq 'going on|goes on|restart [12]' "$work/err.0" && fail "it does not go on: $(said)"
expect_hosts_idle 15
rm -f "$work"/started.*

# ---- tasks that the scheduler binds to the same CPUs share them; libdtring finds its neighbours
# shellcheck disable=SC2016
{
  task node1 1 1 0 "$bin/dtlaunch" sh -c 'echo "cpus $(taskset -cp $$ | sed "s/.*: //")"'
  task node1 0 0 0 "$bin/dtlaunch" sh -c 'echo "cpus $(taskset -cp $$ | sed "s/.*: //")"'
  task node2 2 0 1 "$bin/dtlaunch" sh -c 'echo "cpus $(taskset -cp $$ | sed "s/.*: //")"'
}
wait
if [ "$cpus" -gt 1 ]; then
  expect_equal "CPUs of two tasks are their own; $(said)" "$(sed -n 's/cpus //p' "$work/out.0" | sort | uniq -d | wc -l)" 0
fi

# ---- two steps at once on the same hosts use different ports
one=("${step[@]}")
tag=other
step=("${one[@]}" SLURM_STEP_ID=1)
# shellcheck disable=SC2016
tasks sh -c 'echo $$ >"$0/started.$RANK"; while [ ! -e "$0/go" ]; do sleep 0.05; done' "$work"
wait_for 20 "all ranks of one step to run; $(said)" started
tag=''
step=("${one[@]}")
tasks true
wait_for 20 "the other step to end; $(said)" test -s "$work/status.0"
expect_equal "status of a step beside another" "$(cat "$work/status.0")" 0
touch "$work/go"
wait
expect_equal "statuses of both; $(said)" "$(statuses) $(cat "$work"/status.other[012] | xargs)" "0 0 0 0 0 0"
rm -f "$work"/started.*

# ---- the same for Flux, if it tells the meeting address
mkdir -p "$work/flux"
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$*" = "hostlist f1" ] && echo "node[1-2]"\n' >"$work/flux/flux"
chmod +x "$work/flux/flux"
slurm=("${step[@]}")
step=(FLUX_JOB_ID=f1 FLUX_JOB_SIZE=3 FLUX_JOB_NNODES=2 "PATH=$work/flux:$PATH")
rank_is=FLUX_TASK_RANK=@ local_is=FLUX_TASK_LOCAL_ID=@
rm -f "$work"/status.*
# shellcheck disable=SC2016
show='echo "$RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE on $(uname -n) ${FLUX_TASK_RANK-none}"'
task node2 2 0 1 "$bin/dtlaunch" sh -c "$show"
task node1 1 1 0 "$bin/dtlaunch" sh -c "$show"
task node1 0 0 0 "$bin/dtlaunch" sh -c "$show"
wait
expect_equal "statuses of Flux's tasks; $(said)" "$(statuses)" "0 0 0"
expect_equal "ranks of Flux" "$(sort "$work/out.0")" "0/3 local 0/2 on node1 none
1/3 local 1/2 on node1 none
2/3 local 0/1 on node2 none"

# ---- contradictions are refused, and a missing token's message names how to make one
step=("${slurm[@]}")
refused() { # STATUS PATTERN ARGUMENTS of dtlaunch
  local want=$1 pattern=$2
  shift 2
  run "$cluster" exec node1 env "${step[@]}" SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 "$bin/dtlaunch" "$@"
  expect_status "$want"
  expect_err "$pattern"
}
refused 64 'np 2: slurm has started 3 tasks of dtlaunch, and each is one rank' -np 2 true
refused 64 'rankmap' -rankmap 0,0,1 true
refused 64 'ppn' -ppn 2 true
refused 64 'with hosts named each would start the whole job' -hosts node1 true
unset DTL_TOKEN
refused 78 'nor DTL_TOKEN is set.*export DTL_TOKEN=\$\(openssl rand -hex 32\), before srun' true
expect_hosts_idle 10
