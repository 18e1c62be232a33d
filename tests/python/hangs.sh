#!/usr/bin/env bash
# If a rank hangs, dtlaunch names it with its stack when --timeout ends the job. At SIGUSR1, ranks write
# their stacks and continue.
#   hangs.sh VARIABLE LIBDTRING DTLAUNCH: VARIABLE names a Python with torch
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
variable=$1 library=$2 dtlaunch=$3
skip() {
  echo "skipped: hangs: $*"
  exit 77
}
fail() {
  echo "FAILED: hangs.sh: $*" >&2
  tail -n 60 "$work/out" "$work/err" >&2
  exit 1
}
python=${!variable:-}
[ -n "$python" ] || skip "$variable names no python (scripts/test sets it)"
"$here/../support/has_modules" "$python" torch || skip "$python has no torch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A venv with that Python's packages and ours, as if installed by pip.
"$python" -m venv --without-pip --system-site-packages "$work/venv"
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/a-reference.pth"
echo "$here/../../python" >>"$site/a-reference.pth"
cp "$here/../../python/dtring-autoload.pth" "$site/"
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore OMP_NUM_THREADS=1 DTRING_LIBRARY=$library

ranks=2 # loading torch is most of this test's cost
run() { # OPTION... BACKEND
  "$dtlaunch" --oversubscribe -np $ranks "${@:1:$#-1}" "$work/venv/bin/python" "$here/hanging_rank.py" "${!#}" \
    >"$work/out" 2>"$work/err"
}
# A job that hangs until its timeout, which is longer if this machine is slow.
hang() { # OPTION... BACKEND
  local seconds status
  for seconds in 20 60; do
    status=0
    rm -f "$work"/coming.*
    COMING=$work/coming run --timeout $seconds --report "$work/report" "$@" || status=$?
    [ $status = 124 ] || fail "a job that hangs ended with $status"
    # A rank that answered before it slept may say that it sleeps while the job ends.
    ! grep -q asleep "$work/out" || grep -q ', in let_the_others_wait$' "$work/err" || return 0
  done
  fail "rank 1 never went to sleep"
}
expect() { # REGEX: somewhere in the card
  grep -Eq -- "$1" "$work/err" || fail "the card does not say: $1"
}
report() { # EXPRESSION of the report r: true
  "$python" -c 'import json, sys; r = json.load(open(sys.argv[1])); sys.exit(0 if eval(sys.argv[2]) else 1)' \
    "$work/report" "$1" || fail "not so in the report: $1"
}
lines=$(grep -n -e 'time.sleep(600)' -e 'dist.all_reduce(gradients)' "$here/hanging_rank.py" | cut -d: -f1)
read -r asleep _ sums <<<"${lines//$'\n'/ }"

export HANG=sleep
ranks=3
hang --log-dir "$work/logs" dtring
expect '^  hangs +rank 1 on localhost: not in the all_reduce in which ranks 0,2 wait$'
expect "^  stack +\| File \".*/hanging_rank\.py\", line $asleep, in load_the_shard\$"
expect '^ +\| File ".*/hanging_rank\.py", line [0-9]+, in main$'
expect '^  waits +ranks 0,2: all_reduce of 4\.0 MiB of float32, since [0-9]{2}:[0-9]{2}:[0-9]{2}$'
expect "^ +\| File \".*/hanging_rank\.py\", line $sums, in train\$"
report 'r["outcome"]["hangs"] == [1]'
report 'r["outcome"]["waiting"] == {"collective": "all_reduce", "ranks": [0, 2]}'
report '[rank["asked"]["answer"] for rank in r["ranks"]] == ["told"] * 3'
report 'r["ranks"][0]["asked"]["collective"] == "all_reduce of 4.0 MiB of float32"'
report '"in load_the_shard" in r["ranks"][1]["asked"]["at"] and "collective" not in r["ranks"][1]["asked"]'
report 'any("hanging_rank.py" in line for line in r["ranks"][1]["asked"]["stack"])'
grep -q 'in load_the_shard$' "$work"/logs/*/rank.1.err || fail "the kept output does not have the stack"

ranks=2
DTRING_AUTOLOAD=1 hang gloo
expect '^  hangs +rank 1 on localhost: not in the all_reduce in which rank 0 waits$'
expect "^  stack +\| File \".*/hanging_rank\.py\", line $asleep, in load_the_shard\$"
expect '^  waits +rank 0: all_reduce$'

hang gloo
expect '^  unasked +ranks 0-1 \(python[0-9.]*\), without dtring$'
expect '^  try +import dtring, or DTRING_AUTOLOAD=1'
report '[rank["asked"]["answer"] for rank in r["ranks"]] == ["cannot"] * 2'

HANG=ddp hang dtring
expect '^  hangs +rank 1 on localhost: not in the all_reduce in which rank 0 waits$'
expect '^  waits +rank 0: all_reduce of 80 B of float32, since '
unset HANG

# Sends a job SIGUSR1 when all ranks but 1 wait; the job then continues.
tell_and_go_on() { # STACKS [VARIABLE=VALUE]: how many ranks write theirs, or say that their own handler ran
  rm -f "$work/go_on" "$work/out"
  env "${@:2}" GO_ON="$work/go_on" "$dtlaunch" --oversubscribe -np $ranks --timeout 120 \
    "$work/venv/bin/python" "$here/hanging_rank.py" dtring >"$work/out" 2>"$work/err" &
  local launcher=$! status=0
  until [ "$(grep -c began "$work/out" 2>/dev/null)" = $ranks ]; do
    kill -0 $launcher 2>/dev/null || fail "it ended before all ranks had begun"
    sleep 0.1
  done
  sleep 2 # a wait is reported once it has lasted a second
  "$dtlaunch" ask "$("$dtlaunch" ps -w | awk -v ours="$work/venv" 'index($0, ours) { print $1 }')" >"$work/asked" ||
    fail "dtlaunch ask ended with $?"
  kill -USR1 $launcher
  until [ "$(cat "$work/out" "$work/err" | grep -Ec '^(own handler|Current thread)')" = "$1" ]; do
    kill -0 $launcher 2>/dev/null || fail "it ended at SIGUSR1"
    sleep 0.1
  done
  touch "$work/go_on"
  wait $launcher || status=$?
  [ $status = 0 ] || fail "after SIGUSR1 the job ended with $status"
  [ "$(grep -c 'sum 4' "$work/out")" = $ranks ] || fail "not all ranks went on"
}
tell_and_go_on 2
grep -Eq '^rank 0: all_reduce of 4\.0 MiB of float32, since [0-9:]+$' "$work/asked" ||
  fail "dtlaunch ask does not say in what rank 0 waits: $(cat "$work/asked")"
grep -Eq '^  File ".*/hanging_rank\.py", line [0-9]+, in wait_for$' "$work/asked" ||
  fail "dtlaunch ask does not show where rank 1 is: $(cat "$work/asked")"
expect 'in wait_for$'
[ "$(grep -c 'in all_reduce of 4.0 MiB of float32, since' "$work/err")" = 1 ] || fail "one rank waits in the sum"
# Python runs a handler only after the thread returns from a library call: rank 0's runs later.
tell_and_go_on 1 HANDLER=1
[ "$(grep -c 'own handler' "$work/out")" = 2 ] || fail "a handler set before the import or after it was lost"
! grep -q 'Current thread' "$work/err" || fail "a rank with a handler of its own wrote its stack"
echo "hangs are named; $("$python" -c 'from importlib.metadata import version; print(version("torch"))')"
