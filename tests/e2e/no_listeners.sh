#!/usr/bin/env bash
# While a job runs, nothing of dtlaunch listens on any host: control travels inside ssh.
. "$(dirname "$0")/lib.sh"
need_cluster 2

start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
for host in "${hosts[@]}"; do
  expect_equal "listening sockets on $host" \
    "$(on "$host" ss -H -l -n -t -u | awk '{ print $5 }' | xargs)" '0.0.0.0:22'
done
signal INT "$launcher"
end_job
expect_status 130
