#!/usr/bin/env bash
# The waiting line. A job with --wait gets in line on its hosts while other jobs have the cores, and starts in its
# turn, on all of them at once. The line is the same on all hosts, whoever asks, and whatever dies. A job that waits
# holds no cores; one that does not wait leaves what is kept for those before it.
. "$(dirname "$0")/lib.sh"
use_open_paths # for jobs of other users
need_cluster 3
unset DTL_SHARE_CORES # as users have it
limit=60
jobs=$work/jobs
mkdir -m 777 "$jobs"
declare -A running=()
add_users alice bob carol dan night
launch_as() { # USER ARGUMENTS of dtlaunch
  is "$1"
  run "$cluster" exec node1 "${as[@]}" "$bin/dtlaunch" "${@:2}"
}

# Each rank of job NAME notes its start, and stays until the file NAME.go exists.
cat >"$work/hold" <<'RANK'
#!/bin/sh
echo "$(uname -n)" >>"$1.ranks"
until [ -e "$1.go" ]; do sleep 0.05; done
RANK
chmod 755 "$work/hold"
begin() { # NAME USER ARGUMENTS of dtlaunch: in the background
  local name=$1
  is "$2"
  touch "$jobs/$name.err"
  timeout -s KILL 150 "$cluster" exec node1 "${as[@]}" "$bin/dtlaunch" "${@:3}" "$work/hold" "$jobs/$name" \
    >"$jobs/$name.out" 2>"$jobs/$name.err" </dev/null &
  running[$name]=$!
}
has_ranks() { [ -e "$jobs/$1.ranks" ] && [ "$(wc -l <"$jobs/$1.ranks")" = "$2" ]; }
runs() { wait_for 20 "the ranks of $1, which says $(cat "$jobs/$1.err")" has_ranks "$1" "$2"; } # NAME RANKS
says_it_waits() { grep -q '^dtlaunch: waiting for free cores: ' "$jobs/$1.err"; }
waits() { wait_for 20 "$1 to wait, which says $(cat "$jobs/$1.err")" says_it_waits "$1"; }      # NAME
has_tickets() { [ "$(on "$1" grep -c ' 00010000 .* @dtlaunch-ticket/2/' /proc/net/unix)" = "$2" ]; }
is_waiting() { [ ! -e "$jobs/$1.ranks" ] || fail "$1 has started"; }
end() { # NAME [STATUS]
  touch "$jobs/$1.go"
  local rc=0
  wait "${running[$1]}" || rc=$?
  expect_equal "exit status of $1, which says $(cat "$jobs/$1.err")" "$rc" "${2:-0}"
}
launcher_of() { on node1 pgrep -f "^$bin/dtlaunch .*$jobs/$1\$" | head -n 1; }
cores=$(on node2 "$bin/dtlaunch" ps --cores | awk '$6 == "free" { print $3 }')
both=(-hosts node2,node3 -np 2 -ppn 1 -bind-to "core:$cores") # all of two hosts

# ---- in the order of their arrival, on all their hosts at once, and those that fit beside the first go beside it
begin first alice -hosts node2 -np 1
runs first 1
begin second bob --wait "${both[@]}"
waits second
grep -Eq 'on node2 job [0-9a-f]{4} of alice has had' "$jobs/second.err" || fail "it says: $(cat "$jobs/second.err")"
wait_for 10 "tickets on both hosts" has_tickets node3 1
begin third alice --wait "${both[@]}"
waits third
wait_for 10 "two tickets" has_tickets node3 2
# node3 is free, and kept for the second job.
launch_as alice -hosts node3 -np 1 touch "$jobs/started"
expect_status 75
expect_err '^dtlaunch: too few free cores: on node3 job [0-9a-f]{4} of bob has waited [0-9]+s for [0-9]+ of [0-9]+ cores?'
expect_err 'Try: the same command with --wait, or with --share-cores to run beside them$'
[ ! -e "$jobs/started" ] || fail "it has started"
launch_as alice --wait=1 -hosts node3 -np 1 touch "$jobs/started"
expect_status 75
expect_err 'waiting for free cores: on node3 job .* of bob has waited'
expect_err 'too few free cores: on node3 job .* of bob'
expect_within 15000
is_waiting second
end first
runs second 2
is_waiting third
has_tickets node2 1 || fail "not only the third job has a ticket"
end second
runs third 2
end third

# ---- a shorter job may overtake, if the first could not start on that host before its end
if [ "$cores" -ge 2 ]; then
  one=(-np 1 -bind-to core)
  begin limited alice --timeout 1000 -hosts node2,node3 -np 2 -ppn 1 -bind-to core
  runs limited 2
  begin whole bob --wait "${both[@]}"
  waits whole
  wait_for 10 "a ticket on node3" has_tickets node3 1
  launch_as alice --wait --timeout 5 -hosts node3 "${one[@]}" true
  expect_status 0
  begin long alice --wait --timeout 5000 -hosts node3 "${one[@]}"
  waits long
  is_waiting whole
  end limited
  runs whole 2
  is_waiting long
  end whole
  runs long 1
  end long
else
  echo "not tried, with one core: overtaking"
fi

# ---- or if another of its hosts lets it start only later
begin bounded alice --timeout 1000 -hosts node2 -np 1
runs bounded 1
begin gang bob --wait "${both[@]}"
waits gang
wait_for 10 "a ticket on node3" has_tickets node3 1
launch_as alice --wait=30 --timeout 5 -hosts node3 -np 1 true
expect_status 0
begin behind alice --wait --timeout 5000 -hosts node3 -np 1
waits behind
is_waiting gang
end bounded
runs gang 2
is_waiting behind
end gang
runs behind 1
end behind

# ---- whatever ends a job that waits takes it out of the line
begin holder alice -hosts node2,node3 -np 2 -ppn 1
runs holder 2
for signal in KILL INT; do
  begin "gone$signal" bob --wait "${both[@]}"
  waits "gone$signal"
  wait_for 10 "its ticket" has_tickets node3 1
  signal "$signal" "$(launcher_of "gone$signal")"
  wait "${running[gone$signal]}" && fail "it ended well"
  wait_for 20 "its ticket to go" has_tickets node3 0
done
grep -q 'SIGINT: stopping the job' "$jobs/goneINT.err" || fail "it says: $(cat "$jobs/goneINT.err")"
# It can be found, and ended, on any of its hosts.
begin elsewhere bob --wait "${both[@]}"
waits elsewhere
wait_for 10 "its ticket" has_tickets node3 1
id=$(on node3 sed -n 's|.* @dtlaunch-ticket/2/\([0-9a-f]*\)/.*|\1|p' /proc/net/unix | head -n 1)
is bob
for words in "history" "ps -hosts node3" "ps"; do
  # shellcheck disable=SC2086
  launch_as bob $words
  expect_status 0
  expect_out "^${id:0:4}.* waiting"
done
launch_as bob queue
expect_err "^dtlaunch: job ${id:0:4}: it waits on node2,node3\. Try: dtlaunch queue -hosts node2,node3$"
launch_as bob ask "$id"
expect_status 65
expect_err 'it waits in line for cores\. Try: dtlaunch queue$'
run "$cluster" exec node3 "${as[@]}" "$bin/dtlaunch" cancel "$id"
expect_status 0
expect_err 'it has ended$'
wait "${running[elsewhere]}" && fail "it ended well"
# One whose launcher is stopped lets others pass, and keeps its place for later.
begin stopped bob --wait "${both[@]}"
waits stopped
wait_for 10 "its ticket" has_tickets node3 1
stopped=$(launcher_of stopped)
signal TSTP "$stopped"
wait_for 20 "its ticket to go" has_tickets node3 0
begin passing alice --wait "${both[@]}"
waits passing
end holder
runs passing 2
signal CONT "$stopped"
wait_for 20 "its ticket" has_tickets node3 1
end passing
runs stopped 2
end stopped

# ---- a job takes whichever of its hosts are free first, and its time counts from its start
begin one alice -hosts node2 -np 1
begin two alice -hosts node3 -np 1
runs one 1
runs two 1
is bob
begin either bob --wait --timeout 4 -hosts node2,node3 -np 1 -ppn 1 -bind-to "core:$cores"
waits either
sleep 5
is_waiting either
end two
runs either 1
expect_equal "the host of the job that takes either" "$(cat "$jobs/either.ranks")" node3
end either
end one

# ---- the day of a small group: the examples of dtlaunch-queue(7), with the cores that hosts have here
# Writes "USER COMMAND" lines.
python3 - "$root/man/dtlaunch-queue.7" >"$work/day" <<'DAY'
import re, sys
for line in open(sys.argv[1]).read().split("Sh EXAMPLES")[1].split("Sh SEE ALSO")[0].split("\n"):
    found = re.fullmatch(r"(?:\.Dl )?\$ (dtlaunch .*?)  # (\w+)", line)
    if found: print(found[2], found[1])
DAY
expect_equal "commands of the day" "$(wc -l <"$work/day")" 8
on node1 sh -c "printf '%s\n' node2 node3 >$work/hosts"
declare -A real=() names=()
day() { # USER COMMAND: runs it as the man page has it, but for names, programs and numbers of cores
  local words=$2 id
  words=${words//-f hosts/-f $work/hosts}
  words=${words//node2/node3}
  words=${words//node1/node2}
  words=${words//core:8/core:$cores}
  words=${words//-np 6/-np 1}
  [[ $words == *core:* || $words == *ppn* ]] || words=${words//-np 2/-np 1}
  for id in "${!real[@]}"; do words=${words//$id/${real[$id]}}; done
  # shellcheck disable=SC2206
  words=(${words/python3 train.py/$work\/hold $jobs\/day.$1})
  launch_as "$1" "${words[@]:1}"
}
if [ "$cores" -ge 2 ]; then
  mapfile -t day <"$work/day"
  shown=(1a2b 3c4d - - 5e6f)
  for step in "${!day[@]}"; do
    who=${day[$step]%% *}
    [ "$step" != 6 ] || { touch "$jobs/day.alice.go" && wait_for 20 "bob's ranks" has_ranks day.bob 2 && touch "$jobs/day.bob.go"; }
    [ "$step" != 7 ] || wait_for 20 "bob's job to end" hosts_idle
    day "$who" "${day[$step]#* }"
    expect_status 0
    case $step in
      0 | 1 | 4) real[${shown[$step]}]=$(cut -c 1-4 "$work/out") ;;
      2) expect_out "^1 +${real[3c4d]}.* bob .* $cores cores on node2,node3 +${real[1a2b]}.* of alice, (1h5[0-9]m|2h00m) left" ;;
    esac
    case $step in
      0) wait_for 20 "alice's rank" has_ranks day.alice 1 ;;
      1 | 4) expect_err '^dtlaunch: job [0-9a-f]{4} waits for cores\. ' ;;
      5) expect_err 'SIGTERM sent to its launcher; it has ended$' ;;
    esac
  done
  is_waiting day.dan
  launch_as dan cancel "${real[3c4d]}"
  expect_status 65
  launch_as bob history --json
  python3 -c 'import json, sys; jobs = json.load(sys.stdin)["jobs"]; sys.exit(jobs[-1]["status"] != "ended")' \
    <"$work/out" || fail "the history is: $(cat "$work/out")"
fi

# ---- options that contradict each other
launch_as alice --wait --share-cores -hosts node2 -np 1 true
expect_status 0
expect_err -- '--wait'
expect_hosts_idle 10
