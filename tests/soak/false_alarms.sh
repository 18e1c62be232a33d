#!/usr/bin/env bash
# Bad conditions are not failures: three hosts that lose packets, with 32 busy processes per core,
# one of them cut off for 4 s per minute, train without a restart and without ending.
# usage: false_alarms.sh [--seconds N] [--seed S] [--loss PERCENT] [--busy PER_CORE] [--blip SECONDS]
#   [--every SECONDS] [--reconnect SECONDS] [--shares CPU_SHARES]
#   Defaults: 20 s, seed 1, 5 %, 32, 4, 60 and 30 s; a blip comes at a random time of each minute.
# The hosts and the busy processes share one cgroup, so that the rest of the machine stays usable:
# the job competes only with them for the group's share of the CPUs (cpu.shares, 1024). Without a CPU
# cgroup they compete with everybody.
. "$(dirname "$0")/../e2e/lib.sh"

seconds=20 seed=1 loss=5 busy=32 blip=4 every=60 reconnect=30 shares=1024
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds | --seed | --loss | --busy | --blip | --every | --reconnect | --shares)
      [[ ${2:-} =~ ^[0-9]+$ ]] || { echo "$1 takes a number" >&2; exit 64; } ;;
    *) echo "false_alarms.sh: unknown option '$1'. Try: sed -n 2,8p $0" >&2; exit 64 ;;
  esac
  declare "${1#--}=$2"
  shift 2
done
limit=$((seconds + 240))
if [ $((blip + 8)) -ge "$every" ] || [ $((blip + 8)) -ge "$seconds" ]; then
  echo "false_alarms.sh: a blip of $blip s needs $((blip + 9)) s" >&2
  exit 64
fi
RANDOM=$seed
need_program dttrain
command -v nft >/dev/null || skip "no nft to lose packets with: apt-get install nftables"

# ---- the cgroup: all processes started while this script is in it stay there

group=''
if mkdir "/sys/fs/cgroup/cpu/dtl-soak.$$" 2>/dev/null; then # version 1
  group=/sys/fs/cgroup/cpu/dtl-soak.$$
  former=/sys/fs/cgroup/cpu$(sed -En 's/^[0-9]+:(cpu|cpu,cpuacct|cpuacct,cpu)://p' /proc/self/cgroup)
  echo "$shares" >"$group/cpu.shares"
elif grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null &&
  mkdir "/sys/fs/cgroup/dtl-soak.$$" 2>/dev/null; then
  group=/sys/fs/cgroup/dtl-soak.$$ former=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
fi
inside() { [ -z "$group" ] || echo $$ >"$group/cgroup.procs"; }
outside() { [ -z "$group" ] || echo $$ >"$former/cgroup.procs"; }
busy_pids=()
leave() { # STATUS
  [ ${#busy_pids[@]} = 0 ] || kill -KILL "${busy_pids[@]}" 2>/dev/null
  local result=$1 i
  (finish "$result") || result=$?
  for ((i = 0; i < 300; i++)); do [ -z "$group" ] || rmdir "$group" 2>/dev/null && break || sleep 0.1; done
  trap - EXIT
  exit "$result"
}
trap 'leave $?' EXIT

inside
need_cluster 3
for host in "${hosts[@]}"; do
  printf '%s\n' 'table inet soak {' 'chain in {' 'type filter hook input priority 0;' \
    "iifname \"eth0\" numgen random mod 100 < $loss drop" '}' '}' >"$work/rules"
  on "$host" nft -f "$work/rules" 2>"$work/err" || skip "this kernel drops no packets: $(head -n 1 "$work/err")"
done

# ---- the job, then the bad conditions

"$e2e/make_sentences" 2000 1 >"$work/train.tsv"
"$bin/dttrain" init --train_file "$work/train.tsv" --vocab_size 200 --hidden_size 64 --num_hidden_layers 1 \
  --num_attention_heads 1 --intermediate_size 64 --output_dir "$work/model" \
  >"$work/out" 2>"$work/err" || fail "no model"
search=()
[ "$reconnect" = 0 ] || search=(--reconnect "$reconnect")
start_job -f "$work/hosts" -np 3 -ppn 1 --max-restarts 3 "${search[@]}" --grace 120 --report "$work/report" \
  -genv OMP_NUM_THREADS=1 \
  "$bin/dttrain" --model_name_or_path "$work/model" --train_file "$work/train.tsv" --do_train \
  --max_steps 100000000 --global_batch_size 6 --save_steps 100000000 --logging_steps 1 --output_dir "$work/trained"
steps() { tail -n 1 "$work/trained/metrics.jsonl" | grep -o '"step": *[0-9]*' | grep -o '[0-9]*$'; }
made_steps() { [ "$(steps 2>/dev/null || echo 0)" -ge "$1" ]; }
wait_for 60 "the first steps" made_steps 10
ranks=$(for host in "${hosts[@]}"; do pids_of "$host" dttrain; done)
for ((i = busy * $(nproc); i > 0; i--)); do
  sh -c 'while :; do :; done' &
  busy_pids+=($!)
  disown $!
done
outside # so that the checks and cuts are on time
began=$(now_ms) before=$(steps) blips=0
running() { kill -0 "$job" 2>/dev/null; }
until_second() { # SECOND of the bad conditions; false if the job ends before
  while [ $(($(now_ms) - began)) -lt $(($1 * 1000)) ]; do
    running || return 1
    sleep 0.2
  done
}
[ "$seconds" -ge "$every" ] || every=$seconds
for ((at = 0; at + every <= seconds; at += every)); do
  until_second $((at + 2 + RANDOM % (every - blip - 8))) || break
  host=node$((2 + RANDOM % 2))
  "$cluster" cut $host
  sleep "$blip"
  "$cluster" mend $host
  blips=$((blips + 1))
done
until_second "$seconds" || fail "the job ended after $(($(now_ms) - began)) ms"
after=$(steps)

# ---- nothing has happened

kill -KILL "${busy_pids[@]}"
expect_equal "ranks" "$(for host in "${hosts[@]}"; do pids_of "$host" dttrain; done)" "$ranks"
[ "$after" -gt "$before" ] || fail "no step was made in $seconds s"
signal TERM "$launcher"
end_job
expect_status 143
expect_count 0 '"restarts": [1-9]' "$work/report"
! grep -E '^dtlaunch: (restart|.*(node lost|failed))' "$work/err" || fail "a host was given up"
echo "$seconds s with $loss % of packets lost, $((busy * $(nproc))) busy processes and $blips blips of $blip s:" \
  "$((after - before)) steps, $(grep -c 'no sign of life' "$work/err") notices," \
  "$(grep -c 'looking for it' "$work/err") searches, no restart"
