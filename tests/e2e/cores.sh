#!/usr/bin/env bash
# Cores have owners. A job takes cores that no other job has, and is refused if they are too few; it names the
# job and the user that has them. Whatever ends a job frees its cores. Another user can claim only what that user
# could run on, and can neither hide nor remove a claim, nor stop a job of others from starting.
. "$(dirname "$0")/lib.sh"
use_open_paths # for jobs of other users
need_cluster 3
unset DTL_SHARE_CORES # as users have it
limit=60
install -m 755 "$e2e/claim_attacks.py" "$work/"
jobs=$work/jobs
mkdir -m 777 "$jobs"
declare -A running=()

# One CPU of each core that this machine lets us use.
mapfile -t cores < <(python3 -c '
import os
seen = set()
for cpu in sorted(os.sched_getaffinity(0)):
    core = open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read()
    if core not in seen: print(cpu)
    seen.add(core)')
has_two_cores() {
  [ ${#cores[@]} -ge 2 ] || { echo "not tried, with one core: $1"; return 1; }
}

add_users alice bob mallory

# `with`: variables of the next jobs.
with=()
launch_as() { # USER ARGUMENTS of dtlaunch
  is "$1"
  run "$cluster" exec node1 "${as[@]}" "${with[@]}" "$bin/dtlaunch" "${@:2}"
}

# Each rank of job NAME says where it runs, and stays until the file NAME.go exists.
cat >"$work/hold" <<'RANK'
#!/bin/sh
echo "$RANK $(uname -n) $(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)" >>"$1.ranks"
until [ -e "$1.go" ]; do sleep 0.05; done
RANK
chmod 755 "$work/hold"
has_ranks() { [ "$(wc -l <"$jobs/$1.ranks")" = "$2" ]; }
begin() { # NAME RANKS USER ARGUMENTS of dtlaunch: in the background, until its ranks run
  local name=$1 ranks=$2
  is "$3"
  rm -f "$jobs/$name".*
  timeout -s KILL 150 "$cluster" exec node1 "${as[@]}" "${with[@]}" "$bin/dtlaunch" "${@:4}" "$work/hold" "$jobs/$name" \
    >"$jobs/$name.out" 2>"$jobs/$name.err" </dev/null &
  running[$name]=$!
  wait_for 20 "the ranks of $jobs/$name" has_ranks "$name" "$ranks"
}
end() { # NAME...
  local name rc
  for name in "$@"; do
    touch "$jobs/$name.go"
    rc=0
    wait "${running[$name]}" || rc=$?
    expect_equal "exit status of $name, which says $(cat "$jobs/$name.err")" "$rc" 0
  done
}
hosts_of() { awk '{ print $2 }' "$jobs/$1.ranks" | sort -u | xargs; }
cpus_of() { awk '{ print $3 }' "$jobs/$1.ranks" | xargs; }
launcher_of() { on node1 pgrep -f "^$bin/dtlaunch .*$jobs/$1\$" | head -n 1; }
has_agent() { pids_of node2 dtagent >/dev/null; }
has_no_agent() { ! has_agent; }
listed_claims() { on "$1" grep -c ' 00010000 .* @dtlaunch-cores/1/' /proc/net/unix; }

# Refused at once, and no rank has started. USER has the cores.
expect_refused() { # USER HOST
  expect_status 75
  expect_err "^dtlaunch: too few free cores: on $2 job [0-9a-f]{4} of $1 has had [0-9]+ of [0-9]+ cores? for [0-9dhms]+(, job .* of $1 .*)?\. Try: "
  [ ! -e "$jobs/started" ] || fail "a rank has started"
  expect_within 5000
}
here=(-hosts node2 -np 1)
start=(touch "$jobs/started")
has_started() {
  expect_status 0
  rm "$jobs/started" || fail "no rank has started"
}

# ---- a job whose cores are taken is refused at once
begin whole 1 alice "${here[@]}"
for line in '' '-bind-to core' '-bind-to user:'"${cores[0]}" '-ppn 1' '-rr' '-bind-to none'; do
  # shellcheck disable=SC2086
  launch_as bob "${here[@]}" $line "${start[@]}"
  expect_refused alice node2
done
launch_as alice "${here[@]}" "${start[@]}"
expect_refused alice node2
launch_as root "${here[@]}" "${start[@]}"
expect_refused alice node2
with=(DTL_SHARE_CORES=0)
launch_as bob "${here[@]}" "${start[@]}"
with=()
expect_refused alice node2

# ---- or runs beside it, if told to, and says so; the refusal says how
try=$(grep -o 'Try: .*' "$work/err" | grep -o -- '--share-cores')
launch_as bob -v "${here[@]}" "$try" "${start[@]}"
has_started
expect_err "^dtlaunch: node2: shares its cores: job [0-9a-f]{4} of alice has had [0-9]+ of [0-9]+ cores? for [0-9]+s$"
launch_as bob -v "${here[@]}" --oversubscribe "${start[@]}"
has_started
expect_err 'node2: shares its cores: job .* of alice'
with=(DTL_SHARE_CORES=1)
launch_as bob -v "${here[@]}" "${start[@]}"
with=()
has_started
expect_err 'node2: shares its cores: job .* of alice'

# ---- --dry-run says what is taken, and claims nothing
claims=$(listed_claims node2)
launch_as bob "${here[@]}" --dry-run true
expect_refused alice node2
launch_as bob -hosts node3 -np 1 --dry-run true
expect_status 0
expect_equal "claims on node2" "$(listed_claims node2)" "$claims"
expect_equal "claims on node3" "$(listed_claims node3)" 0

# ---- the other host is free
launch_as bob -hosts node2,node3 -np 1 sh -c 'uname -n'
expect_status 0
expect_out '^node3$'
for line in '-np 1 -ppn 1' '-np 1 -rr'; do
  # shellcheck disable=SC2086
  launch_as bob -hosts node2,node3 $line sh -c 'uname -n'
  expect_status 0
  expect_out '^node3$'
  expect_err '^dtlaunch: too few free cores: on node2 job .* of alice has had .*: asking 1 more host$'
done
launch_as bob -hosts node2,node3 -np 2 -ppn 1 "${start[@]}"
expect_refused alice node2
end whole

# ---- jobs one after the other never meet the last one's claim
for ((i = 0; i < 10; i++)); do
  launch_as bob "${here[@]}" "${start[@]}"
  has_started
done

# ---- side by side, each with its own cores
if has_two_cores 'two jobs side by side'; then
  begin one 1 alice "${here[@]}" -bind-to core
  launch_as root "${here[@]}" -bind-to "user:${cores[0]}" "${start[@]}"
  expect_refused alice node2
  begin two 1 bob "${here[@]}" -bind-to core
  [ "$(cpus_of one)" != "$(cpus_of two)" ] || fail "both jobs run on CPU $(cpus_of one)"
  grep -Eq "^dtlaunch: node2: left to others: job [0-9a-f]{4} of alice has had 1 of ${#cores[@]} cores for [0-9]+s$" \
    "$jobs/two.err" || fail "the second job says: $(cat "$jobs/two.err")"
  end two
  # Ranks without pins need free cores, too, but may run on the others.
  launch_as bob "${here[@]}" -bind-to none "${start[@]}"
  has_started
  expect_err "node2: shares its cores: job [0-9a-f]{4} of alice has had 1 of ${#cores[@]} cores"
  begin unpinned 1 bob "${here[@]}" -bind-to none
  begin two 1 bob "${here[@]}" -bind-to core
  grep -Eq 'node2: shares its cores: job [0-9a-f]{4} of bob' "$jobs/two.err" || fail "it says: $(cat "$jobs/two.err")"
  end one unpinned
  begin three 1 root "${here[@]}" -bind-to "user:${cores[0]}"
  expect_equal "CPUs of the third job" "$(cpus_of three)" "${cores[0]}"
  launch_as alice "${here[@]}" --dry-run -bind-to core true
  if [ ${#cores[@]} = 2 ]; then
    expect_status 75
    expect_err 'too few free cores: on node2 job .* of (root|bob) has had 1 of 2 cores .*, job .* of (root|bob) has had 1'
  else
    expect_status 0
  fi
  end two three
  begin user 1 alice "${here[@]}" -bind-to "user:${cores[1]}"
  launch_as bob "${here[@]}" --dry-run -bind-to core true
  expect_status 0
  cat "$work/out" "$work/err" >"$work/both"
  grep -q 'left to others: job .* of alice' "$work/both" || fail "--dry-run does not say what is taken"
  end user
fi

# ---- kill -9 frees the cores
begin killed 1 alice "${here[@]}"
signal KILL "$(launcher_of killed)"
wait "${running[killed]}"
wait_for 20 "the agent to end" has_no_agent
launch_as bob "${here[@]}" "${start[@]}"
has_started
begin killed 1 alice "${here[@]}"
signal KILL "$(pids_of node2 dtagent)" node2
launch_as bob "${here[@]}" "${start[@]}"
has_started
wait "${running[killed]}" && fail "the job whose agent was killed ended well"
expect_hosts_idle 20

# ---- a dtlaunch inside a rank uses the rank's cores, and others see whose they are
begin nested 1 alice "${here[@]}" "$bin/dtlaunch" -np 1 "$bin/dtlaunch" -np 1
launch_as bob "${here[@]}" "${start[@]}"
expect_refused alice node2
grep -E 'free cores|shares' "$jobs/nested.err" && fail "the inner jobs were not at home"
end nested
launch_as alice "${here[@]}" "$bin/dtlaunch" "${here[@]}" "${start[@]}"
has_started
expect_no_err 'shares'
if has_two_cores 'two jobs inside of one'; then # each of them gets its own
  # shellcheck disable=SC2016
  begin outer 1 alice "${here[@]}" sh -c '"$0" -np 1 -bind-to core "$@" & "$0" -np 1 -bind-to core sh -c "touch \"\$0\"; sleep 1" "$2.second"; wait' \
    "$bin/dtlaunch"
  wait_for 20 "the second job inside: $(cat "$jobs/outer.err")" test -e "$jobs/outer.second"
  end outer
fi

# ---- a restart keeps its cores
# shellcheck disable=SC2016
launch_as alice "${here[@]}" --max-restarts 1 sh -c '[ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 3; touch "$0"' "$jobs/started"
has_started
expect_no_err 'free cores|shares'

# ---- a full disk does not matter
# shellcheck disable=SC2016
on node2 "${as[@]}" sh -c 'mkdir -p ~/.local/state'
on node2 mount -t tmpfs -o size=16k,mode=777 none /run/alice/.local/state
on node2 sh -c 'cat /dev/zero >/run/alice/.local/state/full 2>/dev/null'
begin full 1 alice "${here[@]}"
launch_as bob "${here[@]}" "${start[@]}"
expect_refused alice node2
end full
on node2 umount /run/alice/.local/state

# ---- what another user may try
attack() { # ATTACK ARGUMENT... [with `wrap`]
  is mallory
  : >"$work/attack"
  "$cluster" exec node2 "${as[@]}" "${wrap[@]}" "$work/claim_attacks.py" "$@" >"$work/attack" 2>&1 </dev/null &
  attacker=$!
  wait_for 60 "the attack $*: $(cat "$work/attack")" grep -q '^ready$' "$work/attack"
}
wrap=()
end_attack() {
  on node2 pkill -TERM -u "${ids[mallory]}" python3
  wait "$attacker"
}
launch_as alice "${here[@]}" "${start[@]}"
has_started
usual_ms=$took_ms
expect_start() { # WHILE: a job starts, at most 2 s later than usual
  launch_as alice "${here[@]}" "${start[@]}"
  has_started
  echo "$1: $took_ms ms, without $usual_ms ms"
  expect_within $((usual_ms + 2000))
}

attack intend 1 all
expect_start "an intention that stays"
end_attack
attack intend 5000 all
expect_start "5000 intentions"
end_attack
attack intend 5000 0-65535
expect_start "5000 intentions for 65536 CPUs each"
end_attack
attack line_ends all
expect_start "names with line ends"
end_attack

# Claims of cores that mallory could use count, as mallory's and nobody else's.
begin root 1 root -hosts node3 -np 1
id=$(on node3 sed -n 's|.* @dtlaunch-cores/1/\([0-9a-f]*\)/.*|\1|p' /proc/net/unix)
attack hold_as "$id" all
launch_as alice "${here[@]}" "${start[@]}"
expect_refused mallory node2
end_attack
end root
attack hold 5000 all
launch_as alice "${here[@]}" "${start[@]}"
expect_refused mallory node2
expect_within $((usual_ms + 2000))
end_attack
attack hold_unanswered all
launch_as alice "${here[@]}" "${start[@]}"
expect_refused mallory node2
end_attack
if has_two_cores "claims of cores that their holder may not use"; then
  wrap=(taskset -c "${cores[0]}")
  for claims in "hold 1 all" "hold 5000 0-65535"; do
    # shellcheck disable=SC2086
    attack $claims
    expect_start "$claims"
    expect_err "left to others: job 0000 of mallory has had 1 of ${#cores[@]} cores"
    end_attack
  done
  wrap=()
fi

# Nobody can remove a claim, or hide it.
begin honest 1 bob "${here[@]}"
attack remove
launch_as alice "${here[@]}" "${start[@]}"
expect_refused bob node2
end_attack
attack flood
sleep 3 # the agent answers once a second
launch_as alice "${here[@]}" "${start[@]}"
expect_status 75
expect_err 'too few free cores: on node2 job [0-9a-f]{4} of (bob|an unknown user) has had'
end_attack
end honest
expect_start "nothing"
expect_hosts_idle 10
