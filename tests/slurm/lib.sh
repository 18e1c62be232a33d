# shellcheck shell=bash
# A real Slurm on the hosts of tests/cluster: Debian's slurmctld and munged on the host "login", a slurmd
# on each of node1 ... nodeN. This file sources tests/e2e/lib.sh first. What need_slurm starts ends with
# the cluster.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

slurm_folder='' # configuration, keys, logs and the job's files: $work/slurm

# need_slurm N [LINE of slurm.conf...]. Set slurm_cgroups=yes before it to run steps in cgroups (v1).
need_slurm() {
  local count=$1 program missing=()
  shift
  for program in slurmctld slurmd munged mungekey srun; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || missing+=("$program")
  done
  [ ${#missing[@]} = 0 ] || skip "not installed: ${missing[*]} (apt-get install slurmctld slurmd slurm-client munge)"
  if [ "${slurm_cgroups:-no}" = yes ] && ! [ -w /sys/fs/cgroup/freezer/tasks ]; then
    skip "there are no control groups of version 1 that can be written here"
  fi
  # Remove the variables of a Slurm job around this shell.
  local variable
  for variable in "${!SLURM_@}" "${!SBATCH_@}" "${!SALLOC_@}"; do unset "$variable"; done
  need_cluster "$count" --login
  slurm_folder=$work/slurm
  mkdir -p "$slurm_folder"/{state,log,munge}
  chmod 755 "$work"
  write_slurm_conf "$count" "$@"
  start_munge
  local host daemons=()
  for host in login "${hosts[@]}"; do
    start_slurm_daemon "$host" >>"$slurm_folder/log/start" 2>&1 &
    daemons+=($!)
  done
  wait "${daemons[@]}"
  wait_for 60 "the nodes of Slurm to be idle; $(tail -n 5 "$slurm_folder/log/start")" nodes_are_idle "$count"
}

# KillWait is Slurm's default: with less, a busy machine kills ranks that are still saving.
write_slurm_conf() { # N [LINE...]
  local count=$1 cpus
  shift
  cpus=$(nproc)
  local tracking=proctrack/linuxproc tasks=task/affinity
  if [ "${slurm_cgroups:-no}" = yes ]; then tracking=proctrack/cgroup tasks=task/affinity,task/cgroup; fi
  {
    printf '%s\n' ClusterName=dtl "SlurmctldHost=login" AuthType=auth/munge CredType=cred/munge \
      "AuthInfo=socket=$slurm_folder/munge/socket" SlurmUser=root SlurmdUser=root \
      "StateSaveLocation=$slurm_folder/state" SlurmdSpoolDir=/run/slurmd \
      SlurmctldPidFile=/run/slurmctld.pid SlurmdPidFile=/run/slurmd.pid \
      "SlurmctldLogFile=$slurm_folder/log/slurmctld" "SlurmdLogFile=$slurm_folder/log/%h" \
      "ProctrackType=$tracking" "TaskPlugin=$tasks" JobAcctGatherType=jobacct_gather/none \
      SelectType=select/cons_tres SelectTypeParameters=CR_Core MpiDefault=none ReturnToService=2 \
      SlurmdTimeout=30 KillWait=30 MessageTimeout=10 UnkillableStepTimeout=20 JobRequeue=1 \
      SchedulerParameters=sched_interval=1,batch_sched_delay=0 \
      "$@" \
      "NodeName=node[1-$count] CPUs=$cpus Boards=1 SocketsPerBoard=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=500 State=UNKNOWN" \
      "PartitionName=main Nodes=node[1-$count] Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES"
  } >"$slurm_folder/slurm.conf"
  printf '%s\n' CgroupPlugin=cgroup/v1 CgroupMountpoint=/sys/fs/cgroup ConstrainCores=yes \
    ConstrainRAMSpace=yes >"$slurm_folder/cgroup.conf"
}

# One for all hosts, whose socket is in a folder that all of them see.
start_munge() {
  mungekey --create --keyfile="$slurm_folder/munge/key" 2>"$slurm_folder/log/start" ||
    fail "mungekey: $(cat "$slurm_folder/log/start")"
  on login munged --force --key-file="$slurm_folder/munge/key" --socket="$slurm_folder/munge/socket" \
    --pid-file=/run/munged.pid --log-file=/run/munged.log --seed-file=/run/munged.seed \
    >>"$slurm_folder/log/start" 2>&1 || fail "munged: $(cat "$slurm_folder/log/start")"
}

start_slurm_daemon() { # HOST
  local daemon=slurmd
  [ "$1" != login ] || daemon=slurmctld
  # shellcheck disable=SC2016
  on "$1" sh -c '
    mkdir -p /etc/slurm && cp "$1/slurm.conf" "$1/cgroup.conf" /etc/slurm/
    [ "$3" = no ] || for group in cpuset freezer memory devices cpuacct; do
      all=/sys/fs/cgroup/$group own=/sys/fs/cgroup/$group/dtl-slurm-$4-$(uname -n)
      [ -d $all ] || continue
      mkdir -p $own
      [ $group != cpuset ] || for file in cpuset.cpus cpuset.mems; do cat $all/$file >$own/$file; done
      mount --bind $own $all
    done
    exec "$2"' start "$slurm_folder" "$daemon" "${slurm_cgroups:-no}" "${work##*.}"
}

nodes_are_idle() { [ "$(on login sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" = "$1" ]; }

slurm() { on login "$@"; } # a command of Slurm: slurm squeue -h

# ---- jobs; $slurm_folder, which all hosts see, has their scripts and output

as_user=() # a command that changes from root to another user, for in_allocation
# in_allocation OPTIONS of salloc -- COMMAND...: like run() of tests/e2e/lib.sh, on the host login.
in_allocation() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  run "$cluster" exec login "${as_user[@]}" salloc -Q "${options[@]}" "$@"
}

# submit OPTIONS of sbatch -- LINE...: submits a batch script of these lines. Sets $job_number; its
# output goes to $work/out and $work/err.
submit() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  : >"$work/out"
  : >"$work/err"
  printf '%s\n' '#!/bin/bash' "$@" >"$slurm_folder/script"
  job_number=$(slurm sbatch --parsable --open-mode=append -o "$work/out" -e "$work/err" "${options[@]}" \
    "$slurm_folder/script") || fail "sbatch refused the script"
}

job_fact() { slurm scontrol -o show job "$job_number" | grep -o " $1=[^ ]*" | head -n 1 | cut -d = -f 2; }
job_has_ended() { [[ $(job_fact JobState) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]]; }
no_jobs() { [ -z "$(slurm squeue -h)" ]; }
job_runs() { [ "$(job_fact JobState)" = RUNNING ]; }

# end_of_job SECONDS: waits, and sets $status to its exit status, "0" or "0:15" for a signal.
end_of_job() {
  wait_for "$1" "job $job_number to end; it is $(job_fact JobState)" job_has_ended
  status=$(job_fact ExitCode)
  status=${status/%:0/}
}

# Processes on the nodes beyond those of an idle Slurm.
guests() { strangers | grep -Ev ' (slurmctld|slurmd|munged|: slurmscriptd)( |$)' || true; }
nodes_are_empty() { [ -z "$(guests)" ]; }
expect_nodes_empty() { # SECONDS
  wait_for "$1" "the nodes to be empty; at first there was: $(guests)" nodes_are_empty
}
