#!/usr/bin/env bash
# In a scheduler's allocation, a job without hosts runs only on the allocation's hosts with its slots,
# through the scheduler's own starter. Fakes play the schedulers' programs: they record their arguments
# and run the command here.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
use_plain_path
data=$root/tests/data/schedulers

in_scheduler() { run env -u DTL_SCHEDULER "$@"; } # VARIABLE=VALUE... dtlaunch ARGUMENTS

# stand_in PATH N: a fake that skips N words, then the host.
stand_in() {
  mkdir -p "${1%/*}"
  # shellcheck disable=SC2016
  printf '#!/bin/sh\necho "${0##*/} $*" >>%s\nshift %d\nexec "$@"\n' "$work/called" $(($2 + 1)) >"$1"
  chmod +x "$1"
}
# shellcheck disable=SC2016
say='echo "rank $RANK of $WORLD_SIZE"'

# Shows what it finds, whatever other options are given.
mapfile -t batch <"$data/slurm22-sbatch-N2-n4.env"
run env -i "${batch[@]}" "$bin/dtlaunch" --show-scheduler --dry-run
expect_status 0
expect_out '^role +launcher'
expect_out '^hosts +2: n1:2, n2:2$'
run env -i "${batch[@]}" JOB_COMPLETION_INDEX=0 "$bin/dtlaunch" --dry-run true
expect_status 64
expect_err 'SLURM_JOB_ID: set by slurm, and JOB_COMPLETION_INDEX by indexed-job'
mapfile -t task <"$data/slurm22-step-N2-n3-rank2.env"
run env -i "${task[@]}" "$bin/dtlaunch" --show-scheduler
expect_out '^meeting at +n1, port 29[5-9][0-9][0-9]$'
expect_out '^so +srun has started 3 ranks; this is rank 2$'
run env -i "${task[@]}" "$bin/dtlaunch" true
expect_status 78
expect_err 'DTL_TOKEN_FILE: neither it nor DTL_TOKEN is set.*export DTL_TOKEN='
# A Flux script needs its hosts from flux.
run env -i FLUX_URI=local:///run/flux/local "$bin/dtlaunch" true
expect_status 64
expect_err 'this is a job script or a shell of Flux.*Try: flux getattr hostlist, to see why; or -f FILE'

# LSF's blaunch and Grid Engine's qrsh start agents on the hosts.
stand_in "$work/lsf/blaunch" 0
in_scheduler LSB_JOBID=5 LSB_MCPU_HOSTS='far1 1 far2 2' LSF_BINDIR="$work/lsf" "$bin/dtlaunch" sh -c "$say"
expect_status 0
for rank in 0 1 2; do expect_out "^rank $rank of 3$"; done
expect_count 1 "^blaunch far1 $bin/dtagent --serve$" "$work/called"
expect_count 1 "^blaunch far2 $bin/dtagent --serve$" "$work/called"

: >"$work/called"
printf 'far1 2 q@far1 UNDEFINED\nfar2 1 q@far2 UNDEFINED\n' >"$work/pe_hostfile"
stand_in "$work/sge/bin/arch/qrsh" 2
in_scheduler JOB_ID=6 PE_HOSTFILE="$work/pe_hostfile" SGE_ROOT="$work/sge" ARC=arch "$bin/dtlaunch" sh -c "$say"
expect_status 0
for rank in 0 1 2; do expect_out "^rank $rank of 3$"; done
expect_count 1 "^qrsh -inherit -V far2 $bin/dtagent --serve$" "$work/called"

# If PBS's own starters are missing, a line says so (pbs.sh tests them).
printf 'far1\n' >"$work/nodefile"
in_scheduler PBS_JOBID=7 PBS_NODEFILE="$work/nodefile" "$bin/dtlaunch" --dry-run -hosts localhost true
expect_err 'no pbs_tmrsh or pbsdsh on PATH or in \$PBS_EXEC/bin: agents start over ssh'

# A failing starter is named, with its message; hosts of others are refused.
printf '#!/bin/sh\necho "far2: no resources" >&2; exit 3\n' >"$work/lsf/blaunch"
in_scheduler LSB_MCPU_HOSTS='far2 1' LSF_BINDIR="$work/lsf" "$bin/dtlaunch" true
expect_status 71
expect_err 'far2: cannot start agent: .*blaunch ended: exit status 3, saying "far2: no resources"'
in_scheduler LSB_MCPU_HOSTS='far2 1' LSF_BINDIR="$work/lsf" "$bin/dtlaunch" -hosts else true
expect_status 64
expect_err 'else: not in the allocation: lsf has given this job far2'

# Without srun, the script's own host needs neither ssh nor a starter.
me=$(uname -n)
in_scheduler SLURM_JOB_ID=9 SLURM_JOB_NODELIST="$me" SLURM_JOB_NUM_NODES=1 SLURM_NTASKS=2 SLURM_TASKS_PER_NODE=2 \
  "$bin/dtlaunch" -launcher ssh sh -c "$say"
expect_status 0
for rank in 0 1; do expect_out "^rank $rank of 2$"; done

# A rank per CPU, TrainJob's default, causes a warning; -ppn overrides it.
cpus=$(nproc)
in_scheduler JOB_COMPLETION_INDEX=0 PET_NNODES=1 PET_NODE_RANK=0 PET_NPROC_PER_NODE=$((4 * cpus)) "$bin/dtlaunch" \
  --show-scheduler
expect_out "PET_NPROC_PER_NODE=$((4 * cpus)) for"
in_scheduler JOB_COMPLETION_INDEX=0 PET_NNODES=1 PET_NODE_RANK=0 PET_NPROC_PER_NODE=$((4 * cpus)) "$bin/dtlaunch" \
  -ppn 1 sh -c "$say"
expect_status 0
expect_out '^rank 0 of 1$'
expect_no_err 'PET_NPROC_PER_NODE'
