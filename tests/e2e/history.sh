#!/usr/bin/env bash
# Every job leaves a record that history and show print: what it was, how it ended, its card. A
# killed launcher's job is lost, many launchers at once lose none, and a job that cannot be recorded
# runs as well.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
use_plain_path
unset DTL_HISTORY_DAYS
unset XDG_STATE_HOME # ranks do not get it
export HOME=$work/home
folder=$HOME/.local/state/dtlaunch/history
newest() { run "$bin/dtlaunch" show "$@"; }
field() { python3 -c 'import json, sys; print(eval(sys.argv[1], {"job": json.load(sys.stdin)}))' "$1" <"$work/out"; }

run "$bin/dtlaunch" history
expect_status 0
expect_count 1 '^JOB +STATUS' "$work/out"
newest
expect_status 65
run "$bin/dtlaunch" logs
expect_status 65
expect_err 'keeps the output of no detached job'

# ---- a job in the foreground
launch -np 2 --tag nightly --report "$work/report.json" sh -c 'sleep 0.1' sh --token "$(printf 'sec\033ret')" password=hunter2
expect_status 0
run "$bin/dtlaunch" history
expect_out '^[0-9a-f]{16} exit 0 +[0-9-]{10} [0-9:]{5} +0\.[0-9]s +2 .* sh -c .sleep 0\.1. sh --token .\*\*\*'
newest
expect_status 0
expect_out '^status +exit 0 \(completed\)$'
expect_out '^tags +nightly$'
expect_out "^report +$work/report.json$"
expect_out 'running 0\.[0-9]+ s'
expect_out '^  job +[0-9a-f]+: 2 ranks on 1 node$'
newest --json
python3 -c 'import json, sys; a, b = (json.load(open(name)) for name in sys.argv[1:]); sys.exit(a["report"] != b)' \
  "$work/out" "$work/report.json" || fail "the stored report is not that of --report"
expect_equal "ranks" "$(field 'job["ranks"]')" 2
expect_equal "the mode" "$(stat -c %a "$folder"/*.db)" 600
! grep -aq hunter2 "$folder"/* || fail "a secret is in the history"

# ---- a job that fails has its card, one that times out its word
launch -np 2 sh -c 'echo broken >&2; exit 3'
expect_status 3
newest
expect_out '^status +exit 3 \(rank-exit\)$'
expect_out '^How it failed$'
expect_out 'broken'
launch -np 1 --timeout 0.3 sleep 20
expect_status 124
run "$bin/dtlaunch" history --failed --since 1h
expect_count 1 ' exit 3 ' "$work/out"
expect_count 1 ' timeout ' "$work/out"
expect_count 0 ' exit 0 ' "$work/out"
run "$bin/dtlaunch" history --since someday
expect_status 64
expect_err 'history: --since someday: not a time'

# ---- dry runs and --history-days 0 leave nothing
launch -np 1 --dry-run true
launch -np 1 --history-days 0 true
expect_status 0
newest --json
expect_equal "the cause of the newest job" "$(field 'job["cause"]')" timeout

# ---- kill -9 of the launcher
start_job -np 1 sleep 50
running() { newest && grep -q '^status *running$' "$work/out" && grep -q '^ranks' "$work/out"; }
wait_for 10 "the record of the running job" running
signal KILL "$launcher"
end_job
newest
expect_out '^status +lost: its launcher was killed$'
run "$bin/dtlaunch" history --failed
expect_out ' lost '

# ---- a job that a rank starts is recorded, too
launch -np 1 "$bin/dtlaunch" -np 1 sh -c 'exit 5'
newest --json
run "$bin/dtlaunch" history --json --all
expect_equal "inner jobs" "$(field 'len([j for j in job["jobs"] if "outer_job" in j])')" 1

# ---- many at once
before=$(field 'len(job["jobs"])')
pids=()
for ((i = 0; i < 20; i++)); do
  timeout -s KILL "$limit" "$bin/dtlaunch" -np 1 true >"$work/at-once.$i" 2>&1 </dev/null &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "one of 20 jobs at once fails: $(cat "$work"/at-once.*)"; done
expect_equal "what they say" "$(cat "$work"/at-once.*)" ""
run "$bin/dtlaunch" history --json --all
expect_equal "jobs" "$(field 'len(job["jobs"])')" $((before + 20))
run "$bin/dtlaunch" history
expect_err 'all of them: dtlaunch history --all'
expect_count 21 . "$work/out"

# ---- logs without an id: the newest detached job
launch --detach -np 1 sh -c 'echo first'
launch --detach -np 1 sh -c 'echo second; sleep 1.1; echo third'
launch --detach -np 1 sh -c 'echo last'
last=$(head -n 1 "$work/out")
shows_last() { run "$bin/dtlaunch" logs && grep -q '^last$' "$work/out"; }
wait_for 10 "the output of the newest job" shows_last
has_ended() { newest "$last" && grep -q '^status *exit 0' "$work/out"; }
wait_for 10 "the end of the newest job" has_ended
expect_out '^output +dtlaunch logs '
run "$bin/dtlaunch" logs -hosts localhost
expect_status 64

# ---- a damaged file is moved aside, and that is said once
file=$(echo "$folder"/*.db)
rm -f "$file"-*
head -c 9000 /dev/urandom >"$file"
run "$bin/dtlaunch" history
expect_status 65
launch -np 1 true
expect_status 0
expect_count 1 "damaged.*moved to $file.damaged, and a new one begins" "$work/err"
launch -np 1 true
expect_no_err damaged
run "$bin/dtlaunch" history --json
expect_equal "jobs of the new file" "$(field 'len(job["jobs"])')" 2

# ---- a folder that cannot be written, and a full disk: one line, and the job's own status
[ "$(id -u)" = 0 ] || { echo "left out, not root: a read-only folder and a full disk"; exit 0; }
without_room() { # OPTIONS of mount
  run unshare -m sh -c 'mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@"' sh "$1" "$folder" \
    "$bin/dtlaunch" -np 1 sh -c 'exit 4'
}
without_room ro,mode=700
expect_status 4
expect_count 1 'history' "$work/err"
expect_err 'Read-only file system'
without_room size=8k,mode=700
expect_status 4
expect_count 1 'history' "$work/err"
