#!/usr/bin/env bash
# dtlaunch doctor names each host's faults with fixes, and exits 0 only if a job would start.
. "$(dirname "$0")/lib.sh"
need_program dtring-perf
need_cluster 7
# Wide, so that no finding is wrapped.
doctor() { run "$cluster" exec node1 env COLUMNS=500 "$bin/dtlaunch" doctor "$@"; }
healthy=$work/healthy
printf 'node1\nnode2\nnode3\n' >"$healthy"

# Healthy hosts: no faults, and every link measured.
doctor -f "$healthy" -v
expect_status 0
expect_out '^ok +network: 10\.77\.0\.0/16 \(eth0 on 3 nodes\): all 6 pairs'
expect_out '^ok +large packets: pass on 6 paths'
expect_out '^ok +bandwidth: .* Gbit/s on 6 links'
expect_out '^1 node1 +\. +[0-9.]+ +[0-9.]+$'
expect_out '^A job would start on these 3 hosts: 0 errors'
doctor -f "$healthy" --json
expect_status 0
python3 - "$work/out" <<'PY' || fail "the JSON is not what the man page says"
import json, sys
said = json.load(open(sys.argv[1]))
assert said["would_start"] and said["exit_status"] == 0, said
assert [host["name"] for host in said["hosts"]] == ["node1", "node2", "node3"]
assert all(abs(host["clock_ahead_s"]) < 1 for host in said["hosts"])
assert all(host["facts"]["kernel.pidfd"] == "yes" for host in said["hosts"])
assert len(said["links"]) == 6 and all(link["gbits"] > 0 for link in said["links"])
PY
expect_hosts_idle 10

# Faults that let a job start: shell noise, another MTU, another Python, ignored keywords.
on node2 sh -c 'echo "echo good morning" >~/.bashrc'
on node3 ip link set eth0 mtu 1400
printf '#!/bin/sh\nprintf "3.9.1\\n2.1.0\\n\\n"\n' >"$work/python"
chmod +x "$work/python"
# shellcheck disable=SC2016
on node3 sh -c 'mount --bind "$1" "$(readlink -f "$(command -v python3)")"' sh "$work/python"
on node1 sh -c 'printf "Host node9\n CertificateFile other\nHost node2 node8\n CertificateFile x\nIdentitiesOnly no\n" >~/.ssh/config'
doctor -f "$healthy" --quick
expect_status 0
expect_out "^warning +node2: shell: .*'good morning'"
expect_out '^ +Try: in ~/\.bashrc there'
expect_out '^warning +node3: mtu: the MTU differs: 1500 on node1, node2; 1400 on node3'
expect_out '^warning +node3: python: python differs: .* 3\.9\.1 on node3'
expect_out '^warning +node2: ssh_config: .*/\.ssh/config:4: CertificateFile is not obeyed'
expect_count 1 'is not obeyed' "$work/out"
launch doctor -f "$healthy" --quick
expect_count 0 '.{81}' "$work/out"
expect_out '^A job would start on these 3 hosts: 0 errors'

# What keeps it from starting, all at once: node4 refuses the key, node5 has another host key, node6
# no dtagent, node7 no sshd on that port.
on node4 sh -c ': >~/.ssh/authorized_keys'
ssh-keygen -q -t ed25519 -N '' -f "$work/other"
other=$(cut -d' ' -f1,2 "$work/other.pub")
on node1 sh -c "sed 's|^\(node5[^ ]*\) .*|\1 $other|' ~/.ssh/known_hosts >'$work/known' &&
  cat '$work/known' >~/.ssh/known_hosts"
on node6 mount -t tmpfs none "$bin"
sed -i 's/^node7$/node7 port=2/' "$work/hosts"
echo no-such-host >>"$work/hosts"
doctor -f "$work/hosts"
expect_status 77
expect_within 10000
expect_out '^error +node4: login: '
expect_out '^error +node5: host key: '
expect_out '^error +node6: agent: .*no dtagent'
expect_out '^error +no-such-host: name: '
expect_out '^error +node7: port: .*[Rr]efused'
expect_out '^A job would not start on these 8 hosts: 5 errors'
expect_count 0 'bandwidth' "$work/out"

# A firewall that lets nothing but ssh through, and a path that large packets do not pass.
if command -v nft >/dev/null && on node2 nft add table inet test; then
  on node2 nft add chain inet test in '{ type filter hook input priority 0; }'
  on node2 nft add rule inet test in tcp dport != 22 'tcp flags & (syn|ack) == syn' reject with tcp reset
  doctor -f "$healthy"
  expect_status 78
  expect_out '^error +network: no network on which all 3 nodes reach each other'
  expect_out '^ +node1, node3 cannot reach node2 at 10\.77\.0\.2 \(eth0\): Connection refused'
  on node2 nft flush chain inet test in
  on node2 nft add rule inet test in tcp dport != 22 meta length '>' 1000 drop
  doctor -f "$healthy"
  expect_status 78
  expect_out '^error +node1, node3: large packets: to node2 at 10\.77\.0\.2: small packets pass'
else
  echo 'nft is not installed: the firewall and the path for small packets only are not tested'
fi
expect_hosts_idle 10
