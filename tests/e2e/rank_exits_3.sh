#!/usr/bin/env bash
# One rank exits 3: dtlaunch ends the others and exits 3. The card has rank, host, status and the
# last lines of the rank's standard error.
. "$(dirname "$0")/lib.sh"
need_cluster 2

# Rank 2 waits for the others' families, so that the test sees them end.
cat >"$work/rank" <<'RANK'
[ "$RANK" = 2 ] || exec "$1/record_family" "$2"
until [ "$(wc -l <"$2")" -ge 12 ]; do sleep 0.05; done
for line in $(seq 30); do echo "line $line of the log" >&2; done
echo "cannot open /data/train.bin" >&2
exit 3
RANK
launch -f "$work/hosts" -np 4 -ppn 2 bash "$work/rank" "$e2e" "$record"
expect_equal "processes recorded before the failure" "$(recorded)" 12
expect_status 3
expect_err 'rank 2'
expect_err 'node2'
expect_err '(status|code|exited)[^0-9]*3'
expect_err 'cannot open /data/train\.bin'
expect_within 12000
expect_nothing_left 1
expect_hosts_idle 5
