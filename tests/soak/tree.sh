#!/usr/bin/env bash
# Chaos in a tree of agents: a job on seven hosts with --tree 2, and one fault a round, drawn from seed and number.
# Each round checks status, the hosts that messages blame, output without gaps, and that nothing is left.
#
#   DTL_BIN=build/release/bin tests/soak/tree.sh --rounds 100 --seed $RANDOM
#   DTL_BIN=build/release/bin tests/soak/tree.sh --seed 7 --first 31 --rounds 1     # that round again
. "$(dirname "$0")/../e2e/lib.sh"
limit=90 rounds=10 seed=1 first=1
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2 ;;
    --seed) seed=$2 ;;
    --first) first=$2 ;;
    *) echo "unknown option $1" >&2 && exit 2 ;;
  esac
  shift 2
done
need_cluster 8

cat >"$work/count" <<'RANK'
#!/usr/bin/env bash
# count FILE: a rank that writes lines "RANK 0", "RANK 1" ... until FILE exists.
for ((i = 0; ; i++)); do
  echo "$RANK $i"
  [ ! -e "$1" ] || exit 0
  sleep 0.05
done
RANK
chmod +x "$work/count"
printf 'node%s\n' {2..8} >"$work/hosts"
faults=(kill-agent kill-login stop-briefly stop-long cut-edge interrupt terminate nothing blink)

draw() { RANDOM=$(((seed * 7919 + $1 * 104729) % 32768)); } # ROUND
lines_of() { grep -c "^$1 " "$work/out"; }
all_have() { # N
  local rank
  for rank in {0..6}; do [ "$(lines_of "$rank")" -ge "$1" ] || return 1; done
}
go_on() { # the job must survive: all ranks write 40 more lines, and end
  wait_for 60 "40 more lines of all ranks" all_have $(($(lines_of 0) + 40))
  touch "$work/end"
  end_job
  expect_status 0
}
expect_blame() { # HOST: it may be blamed, and nobody else
  ! grep -E ': (the agent failed|node lost)' "$work/err" | grep -Ev "$1: (the agent failed|node lost)" ||
    fail "another host than $1 is blamed"
}
agent_of() { pids_of "$1" dtagent | head -n 1; }

strike() { # FAULT HOST OTHER
  local at
  case $1 in
    kill-agent)
      signal KILL "$(agent_of "$2")" "$2"
      end_job
      expect_status 71
      ;;
    kill-login) # of an agent that may have left it
      on "$2" pkill -KILL -f '^sshd: .*@notty' || true
      go_on
      ;;
    stop-briefly | blink)
      at=$(agent_of "$2")
      if [ "$1" = blink ]; then "$cluster" cut "$2"; else signal STOP "$at" "$2"; fi
      sleep "$((RANDOM % 5)).$((RANDOM % 10))"
      if [ "$1" = blink ]; then "$cluster" mend "$2"; else signal CONT "$at" "$2"; fi
      go_on
      ;;
    stop-long)
      at=$(agent_of "$2")
      signal STOP "$at" "$2"
      end_job
      signal CONT "$at" "$2"
      [ "$status" = 69 ] || [ "$status" = 71 ] || fail "exit status $status, not 69 or 71"
      ;;
    cut-edge)
      at=$(on "$3" hostname -I | tr ' ' '\n' | head -n 1)
      on "$2" ip route add blackhole "$at/32"
      sleep "$((RANDOM % 8))"
      go_on
      on "$2" ip route del blackhole "$at/32"
      ;;
    interrupt) signal INT "$launcher"; end_job; expect_status 130 ;;
    terminate) signal TERM "$launcher"; end_job; expect_status 143 ;;
    nothing) go_on ;;
  esac
}

for ((round = first; round < first + rounds; ++round)); do
  draw $round
  fault=${faults[RANDOM % ${#faults[@]}]} host=node$((2 + RANDOM % 7)) other=node$((2 + RANDOM % 7))
  rm -f "$work/end"
  echo "round $round: $fault $host $other" >&2
  start_job -f "$work/hosts" -np 7 -ppn 1 --tree 2 "$work/count" "$work/end"
  [ $((RANDOM % 3)) = 0 ] || wait_for 30 "output of all ranks" all_have 1
  sleep "$((RANDOM % 3)).$((RANDOM % 10))"
  # Before the agents are up, a fault finds nothing.
  wait_for 30 "the agents" agent_of "$host" >/dev/null
  wait_for 30 "output of all ranks" all_have 1
  mark
  strike "$fault" "$host" "$other"
  expect_blame "$host"
  if [ "$status" = 0 ]; then
    for rank in {0..6}; do
      awk -v rank="$rank" '$1 == rank && $2 != seen++ { exit 1 }' "$work/out" || fail "output of rank $rank has gaps"
    done
  fi
  expect_hosts_idle 40
  echo "round $round: ok, status $status, $took_ms ms" >&2
done
