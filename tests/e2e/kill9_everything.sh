#!/usr/bin/env bash
# kill -9 of all dtlaunch processes of one host at once, as by `pkill -9 dt` or a kernel without
# memory: the job ends everywhere with status 71 and a message with the host, and nothing is left,
# not even a daemon without the job's variable. Last, the keeper dies too: dtlaunch goes back to the
# host and reports what it ended.
#   kill9_everything.sh [ROUNDS]    by default 3; each takes about a second
. "$(dirname "$0")/lib.sh"
need_cluster 2

# A family like record_family's, and a daemon of it with an empty environment.
cat >"$work/rank" <<RANK
#!/usr/bin/env bash
(setsid env -i sleep 600 </dev/null >/dev/null 2>&1 & echo \$!) >"\$0.daemon.\$RANK"
daemon=\$(cat "\$0.daemon.\$RANK")
field=(\$(sed 's/.*) //' "/proc/\$daemon/stat"))
printf '%s %s %s bare\n' "\$(uname -n)" "\$daemon" "\${field[19]}" >>"$record"
exec "$e2e/record_family" "$record"
RANK
chmod 755 "$work/rank"

for ((round = 1; round <= ${1:-3}; ++round)); do
  : >"$record"
  start_job -f "$work/hosts" -np 4 -ppn 2 "$work/rank"
  expect_family 20
  mark
  on node2 pkill -9 dt
  end_job
  expect_status 71
  expect_err '^dtlaunch: .*node2'
  expect_within 15000
  expect_nothing_left 15
  expect_hosts_idle 15
done

# All processes but the ranks.
: >"$record"
start_job -f "$work/hosts" -np 4 -ppn 2 "$e2e/record_family" "$record"
expect_family 16
# shellcheck disable=SC2016
on node2 sh -c 'all="$(pgrep dt) $(pgrep -x job-keeper)"; kill -STOP $all; kill -KILL $all'
end_job
expect_status 71
expect_err '^dtlaunch: node2: ended [0-9]+ processes that the job had left there with a dead agent$'
expect_nothing_left 15
expect_hosts_idle 15
