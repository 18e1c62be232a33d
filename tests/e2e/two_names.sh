#!/usr/bin/env bash
# Two names of one machine are one node: slots add up, local ranks are numbered across both names,
# no two ranks have the same place, and a notice names both. The same holds for kept agents, and for
# this machine's name beside localhost.
. "$(dirname "$0")/lib.sh"
need_cluster 2

address=$(on node1 getent hosts node2 | awk '{ print $1 }')
on node2 ip addr add 10.77.99.2/16 dev eth0
on node1 sh -c "echo '$address second' >>/etc/hosts"

ranks() { # HOSTFILE LINES...; then options
  # shellcheck disable=SC2016
  launch --accept-new-host-keys -f "$work/names" "$@" sh -c \
    'echo "rank $RANK of $WORLD_SIZE: local $LOCAL_RANK of $LOCAL_WORLD_SIZE, node $GROUP_RANK of $GROUP_WORLD_SIZE on $DTLAUNCH_HOST"'
  expect_status 0
}

# Two names for one address, and an alias of the interface.
printf '%s\n' 'node1 slots=1' 'node2 slots=1' 'second slots=2' '10.77.99.2 slots=1' >"$work/names"
ranks
expect_out '^rank 0 of 5: local 0 of 1, node 0 of 2 on node1$'
for local in 0 1 2 3; do
  expect_out "^rank $((local + 1)) of 5: local $local of 4, node 1 of 2 on node2$"
done
expect_count 1 'node2, second and 10\.77\.99\.2 are the same machine: they count as one node, node2' "$work/err"
expect_no_err 'no rank'

# -ppn counts per name; dealt ranks follow the order of names.
printf '%s\n' node2 node1 second >"$work/names"
ranks -ppn 1 -rr
expect_out '^rank 0 of 3: local 0 of 2, node 0 of 2 on node2$'
expect_out '^rank 1 of 3: local 0 of 1, node 1 of 2 on node1$'
expect_out '^rank 2 of 3: local 1 of 2, node 0 of 2 on node2$'

# localhost, first in many hostfiles, and this machine's own name.
printf '%s\n' 'localhost slots=1' 'node1 slots=1' 'node2 slots=1' >"$work/names"
ranks
expect_out '^rank 0 of 3: local 0 of 2, node 0 of 2 on localhost$'
expect_out '^rank 1 of 3: local 1 of 2, node 0 of 2 on localhost$'
expect_out '^rank 2 of 3: local 0 of 1, node 1 of 2 on node2$'
expect_err 'localhost and node1 are the same machine'

# Agents over kept connections report it too.
printf '%s\n' 'node2 slots=1' 'second slots=1' >"$work/names"
launch up --accept-new-host-keys -f "$work/names"
expect_status 0
for _ in 1 2; do
  ranks
  expect_out '^rank 0 of 2: local 0 of 2, node 0 of 1 on node2$'
  expect_out '^rank 1 of 2: local 1 of 2, node 0 of 1 on node2$'
  expect_err 'node2 and second are the same machine'
done
launch down
expect_status 0

# So do agents of the user's service.
on node1 "$bin/dtagent" --service --allow-root >"$work/service" 2>&1 &
service=$!
wait_for 10 "the service" on node1 test -S "$(runtime_folder node1)/agent.socket"
printf '%s\n' 'localhost slots=1' 'node1 slots=1' >"$work/names"
ranks
expect_out '^rank 1 of 2: local 1 of 2, node 0 of 1 on localhost$'
expect_err 'localhost and node1 are the same machine'
on node1 pkill -TERM -x dtagent
wait "$service"
expect_hosts_idle 10
