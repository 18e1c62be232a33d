#!/usr/bin/env bash
# --on-event: a command receives start, failure, restart and end; the job does not depend on it.
. "$(dirname "$0")/lib.sh"

log=$work/events
# shellcheck disable=SC2016
told='cat >>"'$log'"'
launch -np 2 --max-restarts 1 --on-event "$told" sh -c \
  'sleep 0.3; [ "$RANK$TORCHELASTIC_RESTART_COUNT" = 10 ] && kill -9 $$; exit 0'
expect_status 0
python3 - "$log" <<'CHECK' || fail "the events are not those of the job: $(cat "$log")"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert [e["event"] for e in events] == ["start", "failure", "restart", "start", "end"], "order"
assert len({e["job"] for e in events}) == 1
start, failure, restart, again, end = events
assert start["ranks"] == 2 and start["restarts"] == 0
assert failure["rank"] == 1 and failure["signal"] == "SIGKILL" and failure["exit_status"] == 137
assert restart["restarts"] == again["restarts"] == end["restarts"] == 1
assert end["exit_status"] == 0 and end["cause"] == "completed"
assert [e["seconds"] for e in events] == sorted(e["seconds"] for e in events)
CHECK

# Events, the report and ps have the user's tags.
launch -np 1 --tag nightly,bert --tag run=7 --on-event "$told" --report "$work/report.json" \
  "$bin/dtlaunch" ps
expect_status 0
expect_out '^  tags: nightly, bert, run=7$'
python3 - "$log" "$work/report.json" <<'CHECK' || fail "the tags are lost: $(tail -2 "$log")"
import json, sys
tags = ["nightly", "bert", "run=7"]
events = [json.loads(line) for line in open(sys.argv[1])]
assert "tags" not in events[0], events[0]
assert [e["tags"] for e in events[-2:]] == [tags, tags], events[-2:]
assert json.load(open(sys.argv[2]))["tags"] == tags
CHECK
launch -np 1 --tag 'two words' true
expect_status 64
expect_err "--tag 'two words': 'two words' is not a tag .*Try: --tag nightly,run=7"

# A failing command changes nothing: a line reports it. It does not get the job's secret.
launch -np 1 --on-event 'env >"'"$work"'/seen"; echo no such place >&2; exit 7' sh -c 'exit 3'
expect_status 3
expect_err '^no such place$'
expect_err '^dtlaunch: --on-event.s command for "end" ended with status 7; the job does not depend on it$'
grep -q '^DTL_EVENT=end$' "$work/seen" || fail "no DTL_EVENT: $(cat "$work/seen")"
grep -q '^DTL_EXIT_STATUS=3$' "$work/seen" || fail "no DTL_EXIT_STATUS: $(cat "$work/seen")"
! grep -q SECRET_FD "$work/seen" || fail "the command sees a secret"

# The job continues meanwhile. At its end, a hanging command is killed with everything it started.
begin=$(date +%s)
launch -np 1 --on-event 'echo $$ >>"'"$work"'/pids"; sleep 300; true' true
expect_status 0
took=$(($(date +%s) - begin))
[ "$took" -le 30 ] || fail "it took $took s"
expect_err 'did not end within 10 s and was killed'
while read -r pid; do
  [ ! -e "/proc/$pid" ] || fail "the command $pid is still there"
done <"$work/pids"
[ "$(wc -l <"$work/pids")" = 2 ] || fail "it did not hear of start and end: $(cat "$work/pids")"

# A detached job sends events too; a dry run does not.
rm -f "$log"
launch --dry-run -np 2 --on-event "$told" true
expect_status 0
[ ! -e "$log" ] || fail "a dry run told of $(cat "$log")"
launch --detach -np 1 --on-event "$told" sleep 0.5
expect_status 0
for _ in $(seq 100); do
  grep -q '"event":"end"' "$log" 2>/dev/null && break
  sleep 0.1
done
grep -q '"event":"end"' "$log" || fail "a detached job did not tell of its end"
launch -np 1 --on-event '' true
expect_status 64

# A program that others may write or replace is not run.
copied=$(mktemp -d /var/tmp/dtl-e2e-hook.XXXXXX) # finish removes it
hook=$copied/hook
printf '#!/bin/sh\ntouch "%s"\n' "$work/ran" >"$hook"
chmod 757 "$hook"
launch -np 1 --on-event "$hook --all" true
expect_status 65
expect_err "everybody may write this program of --on-event. Try: chmod o-w $hook"
chmod o-w "$hook"
chmod 777 "$copied"
launch -np 1 --on-event "$hook --all" true
expect_status 65
expect_err "everybody may write the folder $copied. Try: chmod o-w $copied"
[ ! -e "$work/ran" ] || fail "a program that others may write has run"
chmod o-w "$copied"
launch -np 1 --on-event "$hook --all" true
expect_status 0
[ -e "$work/ran" ] || fail "the program has not run"
