#!/usr/bin/env bash
# A job's network is chosen by probing: whatever names, bridges and dead links the hosts have, every
# host reaches MASTER_ADDR, and each rank gets its own interface.
. "$(dirname "$0")/lib.sh"
need_cluster 3 --nics 2

# expect_network "MASTER_ADDR" "interfaces of ranks 0 to 2": what the ranks were told.
expect_network() {
  expect_status 0
  local rank=0 interface
  for interface in $2; do
    expect_out "^rank $rank $1 $interface\$"
    rank=$((rank + 1))
  done
}
# shellcheck disable=SC2016
show='echo rank $RANK $MASTER_ADDR $GLOO_SOCKET_IFNAME; [ $GLOO_SOCKET_IFNAME = $TP_SOCKET_IFNAME ] &&
  [ $GLOO_SOCKET_IFNAME = $CCL_KVS_IFACE ] && [ $GLOO_SOCKET_IFNAME = $FI_TCP_IFACE ] &&
  [ $GLOO_SOCKET_IFNAME = $NCCL_SOCKET_IFNAME ] && [ $GLOO_SOCKET_IFNAME = $OMPI_MCA_btl_tcp_if_include ] && ip addr show $GLOO_SOCKET_IFNAME | grep -q "inet6\? $DTRING_ADDRESS/"'
job() { launch -f "$work/hosts" -ppn 1 -v "$@" sh -c "$show"; }
all() { # COMMAND...: on every host
  local host
  for host in "${hosts[@]}"; do on "$host" "$@" || fail "$host: $*"; done
}

# Two networks: it uses the one of the hosts' names.
job
expect_network 10.77.0.1 'eth0 eth0 eth0'
expect_err 'network: 10\.77\.0\.0/16 \(eth0 on 3 nodes\): all 6 pairs reach each other'
expect_err 'network: 10\.78\.0\.0/16 \(eth1 on 3 nodes\) would do as well'

# --iface by name, by network, by exclusion; and mistakes.
for iface in eth1 10.78.0.0/16 ^eth0 ens9,eth1; do
  job --iface "$iface"
  expect_network 10.78.0.1 'eth1 eth1 eth1'
done
job --iface eth0,^eth1
expect_status 64
expect_err "--iface eth0,\^eth1"
# iface= of one host.
printf '%s\n' node1 'node2 iface=eth1' node3 >"$work/one"
launch -f "$work/one" -ppn 1 -v sh -c "$show"
expect_network 10.78.0.1 'eth1 eth1 eth1'
printf '%s\n' node1 'node2 iface=eth7' >"$work/one"
launch -f "$work/one" -ppn 1 sh -c "$show"
expect_status 78
expect_err 'node2: iface=eth7: matches no interface: it has .*eth0 10\.77\.0\.2'
printf '%s\n' node1 'node2 iface=10.0.0.0/77' >"$work/one"
launch -f "$work/one" -ppn 1 sh -c "$show"
expect_status 65
expect_err 'one:2:1: iface=10\.0\.0\.0/77'

on node3 ip link set eth1 down
job --iface eth1
expect_status 78
expect_err '^  node3 has eth0 10\.77\.0\.3'
expect_count 0 '^  node[12] has' "$work/err"
on node3 ip link set eth1 up

# Two interfaces, one dead: its link is up but drops packets. The start takes less than six seconds.
"$cluster" cut node2 eth1
job --iface ^lo
expect_network 10.77.0.1 'eth0 eth0 eth0'
expect_err 'rejected 10\.78\.0\.0/16'
expect_within 3000
job --iface eth1
expect_status 78
expect_err 'node2 reaches none of the others'
expect_err '(node1|node3) cannot reach node2 at 10\.78\.0\.2 \(eth1\)'
expect_within 9000
expect_no_err 'cannot reach node[13]'
"$cluster" mend node2 eth1

# A bridge with the same address on every host, as from docker; first only on rank 0's host.
all ip link add docker0 type bridge
all ip addr add 172.17.0.1/16 dev docker0
all ip link set docker0 up
job
expect_network 10.77.0.1 'eth0 eth0 eth0'
expect_err 'rejected 172\.17\.0\.0/16 \(docker0 on 3 nodes\): a bridge inside the node, not tried'
job --iface docker0
expect_status 78
expect_err 'no node reaches another'

# Interfaces may have other names on other hosts.
on node2 ip link set eth1 down
on node2 ip link set eth1 name ens3
on node2 ip link set ens3 up
job --iface 10.78.0.0/16
expect_network 10.78.0.1 'eth1 ens3 eth1'

# Each host resolves its own name to 127.0.1.1, as Debian's installer configures.
# shellcheck disable=SC2016
all sh -c 'sed "s/.* $(hostname)\$/127.0.1.1 $(hostname)/" /etc/hosts >/tmp/h && cat /tmp/h >/etc/hosts'
job
expect_network 10.77.0.1 'eth0 eth0 eth0'
if [ -n "${DTL_TEST_PYTHON:-}" ] && "$root/tests/support/has_modules" "$DTL_TEST_PYTHON" torch; then
  limit=90 launch -f "$work/hosts" -ppn 1 "$DTL_TEST_PYTHON" "$e2e/ddp.py"
  expect_status 0
  for rank in 0 1 2; do expect_count 1 "^rank $rank of 3: torch " "$work/out"; done
fi

# Only IPv6.
for i in 1 2 3; do
  on "node$i" ip addr flush dev eth0
  on "node$i" ip -6 addr add "fd77::$i/64" dev eth0 nodad
done
on node1 ip link set eth1 down
on node2 ip link set ens3 down
on node3 ip link set eth1 down
all sh -c 'printf "::1 localhost\nfd77::1 node1\nfd77::2 node2\nfd77::3 node3\n" >/etc/hosts'
job
expect_network fd77::1 'eth0 eth0 eth0'
expect_err 'network: fd77::/64'
launch -f "$work/hosts" -ppn 1 "$bin/dttrain" --demo
expect_status 0
