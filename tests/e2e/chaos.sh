#!/usr/bin/env bash
# Random faults, one per round, at random moments, start-up included: the launcher ends in bounded
# time with the status of that fault, and no process of the job is left on any host that still runs.
# usage: chaos.sh [SEED [ROUNDS [FAULT]]]; a round is decided by SEED and its number alone
. "$(dirname "$0")/lib.sh"
seed=${1:-1} rounds=${2:-100}
limit=45
faults=(launcher interrupt terminate agent guard sshd rank cut kill)
need_program dtlaunch

# strike FAULT: does it and sets $expected, a pattern for the exit status; false when there is
# nothing to strike yet.
strike() {
  local any=${hosts[RANDOM % ${#hosts[@]}]} remote=${hosts[1 + RANDOM % (${#hosts[@]} - 1)]} line
  case "$1" in
    launcher) expected='9|137' && signal KILL "$launcher" ;; # setsid -w calls a killed child 9
    interrupt) expected=130 && signal INT "-$launcher" ;;
    terminate) expected=143 && signal TERM "$launcher" ;;
    agent | guard) expected=71 && kill_first "$any" "$(pids_of "$any" "dt$1")" ;;
    sshd) expected='69|71' && kill_first "$remote" "$(on "$remote" pgrep -f '^sshd(-session)?: root@')" ;;
    rank)
      expected=137
      line=$(grep ' rank$' "$record" | sort | sed -n "$((1 + RANDOM % 6))p")
      read -r any line _ <<<"$line"
      kill_first "$any" "$line" ;;
    # 71: cut off between login and the agent's first line, a host may as well have a slow shell.
    cut | kill) expected='69|71' && "$cluster" "$1" "$remote" ;;
  esac
}

kill_first() { # HOST PIDS
  [ -n "$2" ] && signal KILL "${2%%$'\n'*}" "$1"
}

# A host that was powered off runs nothing. One that is cut off keeps its sshd, not the job.
settled() { nothing_alive && [ -z "$(strangers | grep -vE ' sshd(-session|-auth)?: ')" ]; }

for ((round = 1; round <= rounds; round++)); do
  RANDOM=$((seed * 1000 + round))
  fault=${faults[RANDOM % ${#faults[@]}]}
  delay_ms=$((RANDOM % 800))
  [ -z "${3:-}" ] || fault=$3
  : >"$record"
  hosts=()
  need_cluster 3
  # In every other round one host is slow to log in, so that the fault meets a job that starts.
  [ $((RANDOM % 2)) = 0 ] || on node3 sh -c 'echo sleep 0.7 >~/.ssh/rc'
  start_job -f "$work/hosts" -np 6 -ppn 2 "$e2e/record_family" "$record"
  sleep "$(printf '%d.%03d' $((delay_ms / 1000)) $((delay_ms % 1000)))"
  strike "$fault" || { fault="interrupt (no $fault yet)" && strike interrupt; }
  what="seed $seed round $round: $fault after $delay_ms ms"
  mark
  end_job
  [[ "$status" =~ ^($expected)$ ]] || fail "$what: exit status $status, not $expected"
  wait_for 20 "$what: all to be gone; at first $(count_alive) alive" settled
  printf '%s: status %s after %s ms, %s recorded, none left\n' \
    "$what" "$status" "$took_ms" "$(recorded)"
  "$cluster" down
done
hosts=()
