#!/usr/bin/env bash
# Each rank on a host needs four descriptors; ranks keep the user's limit; a job that needs too many
# is refused before it starts.
. "$(dirname "$0")/lib.sh"
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 1024 ] || skip "the hard limit of descriptors is below 1024"

# limited SOFT HARD ARGUMENTS of dtlaunch
limited() {
  # shellcheck disable=SC2016
  run bash -c 'ulimit -Sn "$1" && ulimit -Hn "$2" && shift 2 && exec "$@"' limited "$1" "$2" "$bin/dtlaunch" "${@:3}"
}

# As many ranks as the hard limit allows, all with input and kept output.
ranks=100 limit=60
hard=$((40 + 4 * ranks))
seq 5 >"$work/five"
# shellcheck disable=SC2016
run bash -c 'exec <"$1"; ulimit -Sn 64 && ulimit -Hn "$2" && shift 2 && exec "$@"' limited "$work/five" $hard \
  "$bin/dtlaunch" -np $ranks --oversubscribe --stdin all -log-dir "$work/logs" \
  sh -c 'ulimit -Sn; wc -l; echo warned >&2; sleep 0.5; echo bye'
expect_status 0
[ "$(grep -c '^64$' "$work/out")" = $ranks ] || fail "not all ranks have the user's limit"
[ "$(grep -c '^5$' "$work/out")" = $ranks ] || fail "not all ranks got their input"
[ "$(cat "$work"/logs/*/rank.*.out | grep -c '^bye$')" = $ranks ] || fail "output was not kept"
[ "$(cat "$work"/logs/*/rank.*.err | grep -c '^warned$')" = $ranks ] || fail "errors were not kept"

# One rank more.
limited 64 $hard -np $((ranks + 1)) --oversubscribe --report "$work/report.json" true
expect_status 71
expect_err "localhost: cannot start 101 ranks: its agent needs 444 descriptors, and may have 440\. Try: ulimit -Hn"
grep -q '"pid"' "$work/report.json" && fail "ranks were started all the same"

# More hosts than dtlaunch can reach at once: refused before it connects to any.
for i in $(seq 40); do echo "127.0.0.$i"; done >"$work/many"
limited 64 199 -f "$work/many" -np 40 true
expect_status 71
expect_err "cannot reach 40 hosts at once: dtlaunch needs 200 descriptors, and may have 199\. Try: ulimit -Hn"

limited 20 30 -np 1 true
expect_status 71
expect_err "cannot start a job on this machine: dtlaunch needs 40 descriptors, and may have 30\. Try: ulimit -Hn"

# Six hosts work with the number that dtlaunch says it needs.
need_cluster 6
for i in $(seq 6); do echo "node$i"; done >"$work/six"
# shellcheck disable=SC2016
run "$cluster" exec node1 bash -c 'ulimit -n 64 && exec "$@"' limited "$bin/dtlaunch" -f "$work/six" -np 6 -ppn 1 sh -c 'ulimit -Hn'
expect_status 0
[ "$(grep -c . "$work/out")" = 6 ] || fail "not all six hosts ran"
