#!/usr/bin/env bash
# While a job runs, no dtlaunch process listens on any host: control uses ssh. But for dtpmix, on loopback, where a
# script may load Open MPI.
. "$(dirname "$0")/lib.sh"
need_cluster 2

listening() { on "$1" ss -H -l -n -t -u | awk '{ print $5 }' | sort | xargs; }
declare -A before
for host in "${hosts[@]}"; do before[$host]=$(listening "$host"); done

start_job -f "$work/hosts" -np 4 -ppn 2 --pmi pmi1 "$e2e/record_family" "$record"
expect_family 16
for host in "${hosts[@]}"; do
  expect_equal "ports but sshd's on $host" "$(xargs -n 1 <<<"${before[$host]}" | grep -v ':22$')" ''
  expect_equal "listening sockets on $host" "$(listening "$host")" "${before[$host]}"
done
signal INT "$launcher"
end_job
expect_status 130

: >"$record"
start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
for host in "${hosts[@]}"; do
  far=$(listening "$host" | xargs -n 1 | grep -v '^127\.0\.0\.1:' | xargs)
  expect_equal "sockets on $host that others reach" "$far" "${before[$host]}"
done
signal INT "$launcher"
end_job
expect_status 130
