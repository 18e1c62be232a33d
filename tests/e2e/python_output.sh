#!/usr/bin/env bash
# Output of a rank's Python appears at once and is never lost, however Python starts and ends.
. "$(dirname "$0")/lib.sh"
limit=40
need_program dtlaunch dtagent dtguard

cat >"$work/rank.py" <<'PYTHON'
#!/usr/bin/env python3
import os, pathlib, signal, sys, time
go, ending = sys.argv[1:]
print("before")
while not pathlib.Path(go).exists():
    time.sleep(0.01)
print("at last")
if ending == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if ending == "exit":
    os._exit(3)
time.sleep(60)
PYTHON
printf '#!/bin/sh\n/usr/bin/env python3 "$@"; status=$?; exit $status\n' >"$work/wrapper"
chmod +x "$work/rank.py" "$work/wrapper"

# check STATUS ENDING ARGUMENTS of dtlaunch...
check() {
  local wanted=$1 ending=$2
  shift 2
  rm -f "$work/go"
  start_job "$@" "$work/go" "$ending"
  wait_for 20 "what Python printed before it waits, of: $*" grep -q '^before$' "$work/out"
  touch "$work/go"
  end_job
  expect_status "$wanted"
  expect_count 1 '^at last$' "$work/out"
}
check 137 kill -np 1 python3 "$work/rank.py"
check 3 exit -np 1 "$work/rank.py"
check 3 exit -np 1 "$work/wrapper" "$work/rank.py"
check 3 exit -hosts localhost -np 1 sh -c 'exec python3 "$@"' sh "$work/rank.py"
check 124 sleep -np 1 --timeout 5 python3 "$work/rank.py"

# An exported value wins; an empty value lets Python buffer.
show='import os; print("[" + os.environ["PYTHONUNBUFFERED"] + "]")'
launch -np 1 python3 -c "$show"
expect_out '^\[1\]$'
PYTHONUNBUFFERED='' launch -np 1 python3 -c "$show"
expect_out '^\[\]$'
PYTHONUNBUFFERED=2 launch -np 1 -genv PYTHONUNBUFFERED 3 python3 -c "$show"
expect_out '^\[3\]$'
