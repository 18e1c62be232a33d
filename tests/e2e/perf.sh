#!/usr/bin/env bash
# dtring-perf measures every collective and verifies every element: with one rank by hand, and with
# two ranks on each of two hosts, for all types and operations. Its JSON equals its printed table.
# With --links it measures every link.
. "$(dirname "$0")/lib.sh"
limit=60
need_program dtring-perf
perf=$bin/dtring-perf

run "$perf" all --maxbytes 64K --iters 3
expect_status 0
expect_out '^# ranks 1, hosts 1$'
expect_out '^# Out of bounds values : 0 OK$'
run env RANK=0 WORLD_SIZE=1 "$perf" allreduce -e 1K -c 0
expect_status 0
expect_out '^# Out of bounds values : not checked$'
expect_out ' N/A$'
for words in '-b 3x' '--nonsense' 'everything' '-r 1' '-d f32 -o bor' --raw '--links all'; do
  # shellcheck disable=SC2086
  run env RANK=0 WORLD_SIZE=1 "$perf" $words
  expect_status 64
  expect_count 1 '^dtring-perf: ' "$work/err"
done

need_cluster 2
launch -f "$work/hosts" -np 4 -ppn 2 --oversubscribe "$perf" all -e 256K -f 16 -n 5 --json "$work/json"
expect_status 0
expect_out '^# ranks 4, hosts 2$'
expect_out '^#   ranks 0-1 on node1$'
expect_out '^# Out of bounds values : 0 OK$'
[ "$(awk 'length > 120' "$work/out")" = '' ] || fail "a line is longer than 120 columns"
python3 - "$work/json" "$work/out" <<'CHECK' || fail "the JSON is not what was printed"
import json, sys
report = json.load(open(sys.argv[1]))
rows = [line.split() for line in open(sys.argv[2]) if not line.startswith("#")]
printed = sorted((int(row[0]), float(time)) for row in rows for time in (row[5], row[9]) if time != "-")
written = sorted((row["bytes"], row["time_us"]) for row in report["rows"])
assert len(printed) == len(written) > 60, (len(printed), len(written))
for (a, b), (c, d) in zip(printed, written):
    assert a == c and abs(b - d) <= 0.001 * d + 0.06, (a, b, c, d)
assert report["ranks"] == 4 and report["hosts"] == ["node1", "node1", "node2", "node2"], report["hosts"]
assert report["checked"] and report["wrong"] == 0
assert len({row["collective"] for row in report["rows"]}) == 10
assert isinstance(report["stats"], dict), report["stats"]
print(len(written), "rows")
CHECK

launch -f "$work/hosts" -np 4 -ppn 2 --oversubscribe "$perf" all -d all -o all -b 4K -e 4K -n 1 -w 0 -r 3
expect_status 0
expect_out '^# Out of bounds values : 0 OK$'
launch -f "$work/hosts" -np 4 -ppn 2 --oversubscribe "$perf" -e 1M --wire bf16 --alloc
expect_status 0
expect_out '^# allreduce, wire bf16 '
expect_out '^# buffers from dt_alloc$'

# ---- every link, as a table and for programs
launch -f "$work/hosts" -ppn 1 "$perf" --links
expect_status 0
expect_out '^1 node1 +\. +[0-9.]+$'
expect_out '^2 node2 +[0-9.]+ +\.$'
launch -f "$work/hosts" -ppn 1 "$perf" --links --raw
expect_status 0
expect_count 2 '^link (0 1|1 0) [0-9]+\.[0-9]{3} [0-9]+\.[0-9] [0-9]+\.[0-9]{3}$' "$work/out"

launch -f "$work/hosts" -np 4 -ppn 2 --oversubscribe "$perf" everything
expect_status 64
expect_err 'dtring-perf: everything: not one of all, allreduce, '
