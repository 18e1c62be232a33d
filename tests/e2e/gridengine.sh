#!/usr/bin/env bash
# A real Grid Engine of two hosts: dtlaunch in its parallel environment uses its hosts and slots,
# with agents that qrsh -inherit starts. The first cause is the status, and qdel and kill -9 leave
# nothing.
. "$(dirname "$0")/lib.sh"
scheduler=/usr/lib/gridengine sge_root=/var/lib/gridengine
for program in sge_qmaster sge_execd qsub qconf qrsh spoolinit; do
  [ -x "$scheduler/$program" ] || skip "no $scheduler/$program (packages gridengine-master gridengine-exec gridengine-client)"
done
need_cluster 2
limit=60

# A private root: do not touch the machine's own Grid Engine.
sge=$work/sge
mkdir -p "$sge/t/common" "$sge/spool"
for folder in bin lib util utilbin; do ln -s "$sge_root/$folder" "$sge/$folder"; done
printf '%s\n' 'admin_user none' 'default_domain none' 'ignore_fqdn true' 'spooling_method classic' \
  'spooling_lib libspoolc' "spooling_params $sge/t/common;$sge/spool" "binary_path $scheduler" \
  "qmaster_spool_dir $sge/spool" 'security_mode none' 'listener_threads 2' 'worker_threads 2' \
  'scheduler_threads 1' >"$sge/t/common/bootstrap"
echo node1 >"$sge/t/common/act_qmaster"
sed -e 's|^execd_spool_dir.*|execd_spool_dir /run/sge|' -e 's|^\(min_[ug]id\).*|\1 0|' \
  -e 's|^load_report_time.*|load_report_time 00:00:02|' /usr/share/gridengine/default-configuration >"$sge/configuration"
printf '%s\n' 'pe_name mpi' 'slots 99' 'user_lists NONE' 'xuser_lists NONE' 'start_proc_args NONE' \
  'stop_proc_args NONE' 'allocation_rule 2' 'control_slaves TRUE' 'job_is_first_task FALSE' 'urgency_slots min' \
  'accounting_summary FALSE' 'qsort_args NONE' >"$sge/pe"
printf 'group_name @both\nhostlist node1 node2\n' >"$sge/hosts"

on_sge() { # HOST COMMAND...
  local host=$1
  shift
  on "$host" env SGE_ROOT="$sge" SGE_CELL=t SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445 LD_LIBRARY_PATH="$scheduler" \
    PATH="$scheduler:$PATH" "$@"
}

set_up() {
  on_sge node1 spoolinit classic libspoolc "$sge/t/common;$sge/spool" init
  local resources=/usr/share/gridengine/util/resources
  on_sge node1 spooldefaults.bin configuration "$sge/configuration"
  on_sge node1 spooldefaults.bin complexes $resources/centry
  on_sge node1 spooldefaults.bin usersets $resources/usersets
  on_sge node1 spooldefaults.bin managers root
  on_sge node1 sge_qmaster
  wait_for 20 "Grid Engine's master" on_sge node1 qconf -sh
  on_sge node1 qconf -ah node2
  on_sge node1 qconf -as node1
  on_sge node1 qconf -Ap "$sge/pe"
  for host in "${hosts[@]}"; do
    on "$host" mkdir -p /run/sge
    on_sge "$host" sge_execd
  done
  wait_for 20 "both execution hosts" both_are_there
  on_sge node1 qconf -Ahgrp "$sge/hosts"
  on_sge node1 qconf -sq | sed -e 's/^qname.*/qname q/' -e 's/^hostlist.*/hostlist @both/' -e 's/^pe_list.*/pe_list mpi/' \
    -e 's/^slots.*/slots 4/' -e 's/^shell_start_mode.*/shell_start_mode unix_behavior/' \
    -e 's/^load_thresholds.*/load_thresholds NONE/' >"$sge/queue"
  on_sge node1 qconf -Aq "$sge/queue"
}
both_are_there() { [ "$(on_sge node1 qconf -sel | grep -c '^node')" = 2 ]; }
set_up >"$work/set_up" 2>&1

# submit NAME SCRIPT [qsub's options]: writes its output to $work/NAME.out.
submit() {
  local name=$1 text=$2
  shift 2
  printf '#!/bin/bash\n%s\n' "$text" >"$work/$name.sh"
  chmod +x "$work/$name.sh"
  on_sge node1 qsub "$@" -N "$name" -cwd -o "$work/$name.out" -j y -pe mpi 4 -q q "$work/$name.sh"
}
idle_hosts() { # processes other than Grid Engine's
  [ -z "$(strangers | grep -Ev '[ /]sge_(qmaster|execd)$')" ]
}

# shellcheck disable=SC2016
submit first "$bin/dtlaunch --show-scheduler; $bin/dtlaunch sh -c 'echo \"rank \$RANK of \$WORLD_SIZE on \$(uname -n)\"'
$bin/dtlaunch sh -c '[ \$RANK = 3 ] || exec sleep 60; exit 5'; echo status \$?" -sync y >"$work/out" 2>"$work/err"
[ -s "$work/first.out" ] || fail "no output of the job: $(cat "$work/out" "$work/err" "$work/set_up")"
# Grid Engine decides which host comes first.
one=node1 two=node2
! grep -q '^hosts .*node2:2, node1:2' "$work/first.out" || one=node2 two=node1
expect_equal "hosts and starter" "$(grep -E '^(hosts|starter)' "$work/first.out" | xargs)" \
  "hosts 2: $one:2, $two:2 starter qrsh -inherit"
expect_equal "ranks" "$(grep '^rank' "$work/first.out" | sort | xargs)" \
  "rank 0 of 4 on $one rank 1 of 4 on $one rank 2 of 4 on $two rank 3 of 4 on $two"
expect_count 1 "rank 3 on $two exited with status 5" "$work/first.out"
expect_count 1 '^status 5$' "$work/first.out"

# fault NAME COMMAND...: a fault in a job whose ranks all run, each with a child and a daemon.
fault() {
  local name=$1
  shift
  : >"$record"
  submit "$name" "exec $bin/dtlaunch $e2e/record_family $record" >"$work/submitted"
  expect_family 16
  "$@"
  expect_nothing_left 15
  wait_for 15 "hosts to be idle again: $(strangers)" idle_hosts
}
delete_job() { on_sge node1 qdel "$(grep -o 'job [0-9]*' "$work/submitted" | grep -o '[0-9]*')" >"$work/out"; }
kill_launcher() { on node1 pkill -KILL -x dtlaunch || on node2 pkill -KILL -x dtlaunch; }
fault killed kill_launcher
fault deleted delete_job
