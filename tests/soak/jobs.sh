#!/usr/bin/env bash
# Many jobs through one agent service and one kept connection of dtlaunch up: memory, descriptors, threads,
# sockets, files, cgroups and processes of these programs and their hosts are the same after N jobs as after
# the first tenth of them.
# usage: jobs.sh [--jobs N] [--seed S]      defaults: 24 and 1
# Of every six jobs, one fails, one is ended by ^C, one floods its output and one loses its launcher by kill
# -9. The seed decides the order.
. "$(dirname "$0")/../e2e/lib.sh"

jobs=24 seed=1
while [ $# -gt 0 ]; do
  case "$1" in
    --jobs | --seed) [[ ${2:-} =~ ^[0-9]+$ ]] || { echo "$1 takes a number" >&2; exit 64; } ;;
    *) echo "jobs.sh: unknown option '$1'. Try: sed -n 2,7p $0" >&2; exit 64 ;;
  esac
  declare "${1#--}=$2"
  shift 2
done
[ "$jobs" -ge 20 ] || { echo "jobs.sh: fewer than 20 jobs show nothing" >&2; exit 64; }
RANDOM=$seed
need_cluster 3

# node1 launches through its own service, over the connection that `up` keeps to node2, and to node3's
# service.
serve() { # HOST: starts its service, whose exec is recorded
  on "$1" "$bin/dtagent" --service --allow-root >"$work/service.$1" 2>&1 &
  services+=($!)
}
services=()
serve node1
serve node3
answers() { grep -q DTLAUNCH-AGENT < <(on "$1" "$bin/dtagent" --bridge </dev/null 2>/dev/null); }
wait_for 30 "the services" eval 'answers node1 && answers node3'
run "$cluster" exec node1 "$bin/dtlaunch" up -f "$work/hosts"
expect_status 0
logins() { for host in node2 node3; do on "$host" grep -c 'Accepted publickey' /run/sshd.log; done | paste -sd ' '; }

# loop FROM TO SEED: jobs of each kind, on node1.
cat >"$work/loop" <<'LOOP'
#!/usr/bin/env bash
kinds=(plain fail flood interrupt kill plain)
RANDOM=$3
expect() { [ "$2" = "$3" ] || { echo "job $i, $1: status $2, not $3; $(tail -n 3 "$work/$1.err")"; exit 1; }; }
job() { "$bin/dtlaunch" -f "$work/hosts" -np 3 -ppn 1 "$@" >"$work/$kind.out" 2>"$work/$kind.err" </dev/null; }
begin() { # a job that waits for its end
  : >"$work/$kind.out"
  env --default-signal=INT "$bin/dtlaunch" -f "$work/hosts" -np 3 -ppn 1 sh -c 'echo begun; exec sleep 60' \
    >"$work/$kind.out" 2>"$work/$kind.err" </dev/null &
  for ((k = 0; k < 1200; k++)); do
    [ "$(grep -c begun "$work/$kind.out")" != 3 ] || return
    sleep 0.05
  done
  echo "job $i, $kind: did not begin; $(tail -n 3 "$work/$kind.err")"
  exit 1
}
for ((i = $1; i <= $2; i++)); do
  # The first twelve cover each kind twice.
  kind=${kinds[i > 12 ? RANDOM % 6 : i % 6]} status=0
  case $kind in
    plain) job true || status=$?; expect $kind $status 0 ;;
    fail) job sh -c 'exit $((3 * (RANK == 2)))' || status=$?; expect $kind $status 3 ;;
    flood) job seq 50000 || status=$?; expect $kind $status 0 ;;
    interrupt) begin; kill -INT $!; wait $! || status=$?; expect $kind $status 130 ;;
    kill) begin; kill -KILL $!; wait $! 2>/dev/null || status=$?; expect $kind $status 137 ;;
  esac
done
LOOP
go_on() { # FROM TO
  on node1 env work="$work" bin="$bin" bash "$work/loop" "$1" "$2" $seed >"$work/out" 2>"$work/err" ||
    fail "a job went wrong"
}

# Resources at rest: lines "NAME VALUE"; for memory the written part, in KiB. Unwritten pages of the program's file
# count as private only while no other process, of another test, has them.
held() {
  local host pid name of
  for host in "${hosts[@]}"; do
    local -A seen=()
    while read -r pid; do
      name=$(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c -60 | sed "s|$bin/||; s|  *$||; s| |_|g")
      of=$host.$name.$((++seen[$name]))
      echo "$of.memory $(awk '/^Private_Dirty:/ { sum += $2 } END { print sum + 0 }' "/proc/$pid/smaps_rollup")"
      echo "$of.descriptors $(find "/proc/$pid/fd" -mindepth 1 | wc -l)"
      echo "$of.threads $(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)"
    done < <(of_host "$host")
    echo "$host.processes $(of_host "$host" | wc -l)"
    echo "$host.sockets $(on "$host" sh -c 'cat /proc/net/tcp /proc/net/tcp6 /proc/net/unix' |
      grep -vc ' 06 00000000:')" # without TIME_WAIT
    echo "$host.files $(on "$host" find /tmp /run /dev/shm -xdev | wc -l)"
  done
  echo "cgroups $(for host in "${hosts[@]}"; do of_host "$host"; done | sed 's|.*|/proc/&/cgroup|' |
    xargs cat | cut -d : -f 3 | sort -u | wc -l)"
}
of_host() { # pids, on the machine, of our processes on a host
  "$cluster" ps "$1" | awk 'NR > 1 && $2 != 1 && !/ sshd: .*\[listener\]/ { print $3 }'
}
# up keeps at most two agents per host that wait for jobs: parallel jobs make two.
idle_agents() { for host in "${hosts[@]}"; do "$cluster" ps "$host" | grep -c 'dtagent --idle$'; done | paste -sd ' '; }
# Two jobs that run at the same time, however slowly they start: no rank ends before all six run.
cat >"$work/together" <<TOGETHER
#!/bin/sh
: >"$work/together.\$\$.\$(uname -n)"
for k in \$(seq 600); do
  set -- "$work"/together.*
  [ \$# != 6 ] || exit 0
  sleep 0.05
done
TOGETHER
chmod 755 "$work/together"
even_out() {
  local pids=() k
  for ((k = 0; k < 20; k++)); do
    [ "$(idle_agents)" != '2 2 2' ] || return 0
    pids=()
    rm -f "$work"/together.*
    for _ in 1 2; do
      on node1 "$bin/dtlaunch" -f "$work/hosts" -np 3 -ppn 1 "$work/together" >"$work/even" 2>&1 &
      pids+=($!)
    done
    wait "${pids[@]}"
    sleep 0.5
  done
  fail "the agents that wait are $(idle_agents), not 2 on each host"
}
settled() { [ "$(for host in "${hosts[@]}"; do of_host "$host"; done | wc -l)" -le "$idle" ]; }

first=$((jobs / 10 < 12 ? 12 : jobs / 10))
even_out
idle=$(for host in "${hosts[@]}"; do of_host "$host"; done | wc -l)
at_rest() {
  even_out
  for ((k = 0; k < 200; k++)); do ! settled || break; sleep 0.2; done
  settled || fail "more than the $idle processes that there were: $("$cluster" ps)"
}
# The minimum of several looks, with jobs between them: the allocator returns a flood's memory late.
look() { # after JOBS
  local turn
  at_rest
  for host in "${hosts[@]}"; do on "$host" "$bin/dtlaunch" clean >"$work/clean"; done # records of killed launchers
  for turn in 1 2 3; do
    on node1 "$bin/dtlaunch" -f "$work/hosts" -np 3 -ppn 1 true >"$work/rest" 2>&1 || fail "a job of true fails"
    at_rest
    held
  done | awk '!($1 in least) || $2 < least[$1] { least[$1] = $2 } END { for (name in least) print name, least[name] }' |
    sort >"$work/held.$1" || exit 1
}
go_on 1 "$first"
look "$first"
before=$(logins)
go_on $((first + 1)) "$jobs"
after=$(logins)
look "$jobs"
# On a busy machine, a launch that gets no waiting agent in time may log in by itself, also in a short run.
extra=$((${after% *} - ${before% *} + ${after#* } - ${before#* }))
[ "$extra" -le $((2 + jobs / 100)) ] || fail "$extra logins beside the kept connections: $before, then $after"

# Memory may differ by 512 KiB for any number of jobs, since the allocator touches pages late: 1 KiB per job
# would be twice that after 1,000. Everything else must not grow.
join "$work/held.$first" "$work/held.$jobs" | awk '
  { all++; slack = $1 ~ /\.memory$/ ? 512 : 0; if ($3 - $2 > worst && slack) { worst = $3 - $2; who = $1 } }
  $3 - $2 > slack { print "grows: " $1 ": " $2 " -> " $3; bad = 1 }
  END { printf "%d values compared, memory grew by %d KiB at most (%s)\n", all, worst, who; exit bad }' >"$work/out" \
  || fail "something grows between job $first and job $jobs"
expect_equal "what is there" "$(cut -d ' ' -f 1 "$work/held.$jobs")" "$(cut -d ' ' -f 1 "$work/held.$first")"
echo "$jobs jobs, $extra logins beside the kept connections: $(cat "$work/out")"
run "$cluster" exec node1 "$bin/dtlaunch" down
for host in node1 node3; do on "$host" pkill -TERM -f '^[^ ]*dtagent --service'; done
wait "${services[@]}"
expect_hosts_idle 10
