#!/usr/bin/env bash
# A host behind a slow network is named once while the job runs; with equal links, none is.
. "$(dirname "$0")/lib.sh"
limit=100
need_program dtring-perf
need_cluster 3
on node2 tc qdisc show dev eth0 >/dev/null || skip "tc (iproute2) does not work on the hosts"

# The measuring windows are as short as --hang-notice.
start_job -f "$work/hosts" -ppn 1 --hang-notice 4 "$bin/dtring-perf" -b 4M -e 4M -n 1000000 -w 1 -c 0 -a 1
wait_for 30 "ranks that send" on node2 sh -c '[ "$(cat /sys/class/net/eth0/statistics/tx_bytes)" -gt 50000000 ]'
sleep 13 # three windows, in which no host may be named
expect_no_err 'slow network'
on node2 tc qdisc add dev eth0 root tbf rate 100mbit burst 128kb latency 50ms || skip "this kernel has no tbf"
wait_for 40 "the slow host's name" grep -Eq '^dtlaunch: node2: slow network: 1?[0-9]\.[0-9] MB/s to 10\.77\.[0-9.]+, against' "$work/err"
sleep 9 # two more
signal TERM "$launcher"
end_job
expect_status 143
expect_equal "lines about slow networks" "$(grep -c 'slow network' "$work/err")" 1
