#!/usr/bin/env bash
# Nobody reads: ranks do not wait for long, a line replaces the skipped output, and the launcher's
# memory stays bounded. --output block keeps every byte. | head ends the job.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard

peak_kib() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }

# 64 ranks write without end into a pipe that nobody reads.
mkfifo "$work/pipe"
exec 8<>"$work/pipe"
echo 0 >"$work/progress"
"$bin/dtlaunch" -np 64 --oversubscribe sh -c '[ "$RANK" = 0 ] || exec yes "rank $RANK"
  for i in 1 2 3 4 5 6; do head -c 1000000 /dev/zero | tr "\0" "\n"; echo $i >"$1"; done; exec yes' \
  many "$work/progress" >&8 2>"$work/err" </dev/null &
launcher=$!
wait_for 25 "a rank to write 6 MB that nobody reads" grep -q 6 "$work/progress"
peak=$(peak_kib "$launcher")
echo "peak memory of dtlaunch under 64 ranks of yes: $peak KiB"
[ "$peak" -lt 65536 ] || fail "dtlaunch took $peak KiB"
kill -INT "$launcher"
sleep 0.2
kill -INT "$launcher"
exec 9<"$work/pipe"
cat <&9 >/dev/null 8>&- &
reader=$!
status=0
wait "$launcher" || status=$?
exec 8>&-
wait "$reader"  # do not kill it: until it executes cat, it has this script's cleanup traps
expect_status 130

# A late reader: the gap is reported, lines are complete, and the end arrives.
# shellcheck disable=SC2016
run bash -c "'$bin/dtlaunch' -np 2 --oversubscribe sh -c 'seq -f \"%08g\" 400000; sleep 2; echo end' | { sleep 3; cat; }"
expect_out '^\[rank [01]\] [0-9.]+ [kM]B skipped here: nobody read it in time'
expect_out '^end$'
! grep -Evq '^[0-9]{8}$|^end$|skipped here' "$work/out" ||
  fail "broken lines: $(grep -Ev '^[0-9]{8}$|^end$|skipped here' "$work/out" | head -3)"

# --output block: all of it.
run bash -c "'$bin/dtlaunch' --output block -np 2 --oversubscribe seq 200000 | { sleep 2; cat; }"
expect_equal "lines" "$(wc -l <"$work/out")" 400000

# --log-dir tells where the rest is.
run bash -c "'$bin/dtlaunch' --output skip --log-dir '$work/logs' -np 1 seq 900000 | { sleep 1; cat; }"
expect_out "skipped here, full text: .*:$work/logs/.*/rank.0.out\$"
expect_equal "the kept text" "$(cat "$work"/logs/*/rank.0.out | cksum)" "$(seq 900000 | cksum)"

# | head -1 ends the job and leaves nothing.
run bash -c "'$bin/dtlaunch' -np 2 --oversubscribe yes | head -n 1; echo \${PIPESTATUS[0]} >'$work/status'"
expect_equal "exit status under head" "$(cat "$work/status")" 141
expect_within 5000
