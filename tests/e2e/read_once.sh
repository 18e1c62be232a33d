#!/usr/bin/env bash
# One start reads the job file once and runs the scheduler's program once, so a file that changes in between
# cannot give a job two versions.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch
command -v strace >/dev/null || skip "there is no strace"

mkdir -p "$work/bin"
cat >"$work/bin/scontrol" <<'SCONTROL'
#!/bin/sh
echo "$*" >>"$ASKED"
printf '%s\n' r1n1 r1n2 r2n1 r2n2
SCONTROL
chmod +x "$work/bin/scontrol"
printf 'program = "true"\nlauncher = "fork"\n' >"$work/dtlaunch.toml"
allocation=(SLURM_JOB_ID=7 SLURM_JOB_NODELIST='r[1-2]n[1-2]' SLURM_JOB_NUM_NODES=4 SLURM_NTASKS=4
  SLURM_TASKS_PER_NODE='1(x4)' ASKED="$work/asked" PATH="$work/bin:$PATH")

opened() { # PATTERN: how often files with such a name were opened
  grep -c "openat([^,]*, \"[^\"]*$1\"" "$work/trace"
}
cd "$work" || exit 1
run env "${allocation[@]}" strace -f -qq -e trace=openat,execve -o "$work/trace" "$bin/dtlaunch"
expect_status 0
expect_equal "times that dtlaunch.toml is read" "$(opened 'dtlaunch\.toml')" 1
expect_equal "questions to scontrol" "$(cat "$work/asked")" "show hostnames r[1-2]n[1-2]"
printf '%s\n' localhost >"$work/hosts"
run strace -f -qq -e trace=openat,execve -o "$work/trace" "$bin/dtlaunch" -f hosts -n 1 true
expect_status 0
expect_equal "times that the hostfile is read" "$(opened 'hosts')" "$(grep -c '"/etc/hosts"' "$work/trace" | awk '{print $1 + 1}')"
