#!/usr/bin/env bash
# Every bad host is named by its own message, all of them within 10 s, and nothing starts. The exit
# status is that of the first bad host in the hostfile.
. "$(dirname "$0")/lib.sh"
need_cluster 7

# node2: no dtagent; node3: refuses the key; node4: another host key than before; node5: does not
# answer; node6: dtagent of another version; node7: no sshd on that port.
on node2 mount -t tmpfs none "$bin"
on node3 sh -c ': >~/.ssh/authorized_keys'
ssh-keygen -q -t ed25519 -N '' -f "$work/other"
other=$(cut -d' ' -f1,2 "$work/other.pub")
on node1 sh -c "sed 's|^\(node4[^ ]*\) .*|\1 $other|' ~/.ssh/known_hosts >'$work/known' &&
  cat '$work/known' >~/.ssh/known_hosts"
"$cluster" cut node5
cat >"$work/old_agent" <<'OLD'
#!/bin/sh
printf '\nDTLAUNCH-AGENT 0 0.0.1 00000000000000000000000000000000\n'
exec cat >/dev/null
OLD
chmod +x "$work/old_agent"
on node6 mount --bind "$work/old_agent" "$bin/dtagent"
printf '%s\n' node1 node2 node3 node4 node5 node6 'node7 port=2' no-such-host >"$work/hosts"

launch -f "$work/hosts" -np 8 -ppn 1 touch "$work/started"
expect_status 71
expect_within 10000
expect_no_err 'node1'
expect_count 1 '^dtlaunch: node2: .*dtagent' "$work/err"
expect_count 1 '^dtlaunch: node3: .*([Pp]ermission denied|refused|key)' "$work/err"
expect_count 1 '^dtlaunch: node4: .*host key' "$work/err"
expect_count 1 '^dtlaunch: node5: ' "$work/err"
expect_count 1 '^dtlaunch: node6: .*0\.0\.1' "$work/err"
expect_count 1 '^dtlaunch: node7: .*[Rr]efused' "$work/err"
expect_count 1 '^dtlaunch: no-such-host: .*resolve' "$work/err"
[ ! -e "$work/started" ] || fail "a rank ran although most hosts are bad"
expect_hosts_idle 10

# One bad host at a time, to check its exit status.
alone() { # STATUS HOSTFILE-LINE
  printf '%s\n' node1 "$2" >"$work/hosts"
  launch -f "$work/hosts" -np 2 -ppn 1 touch "$work/started"
  expect_status "$1"
  expect_within 10000
  [ ! -e "$work/started" ] || fail "a rank ran although $2 is bad"
}
alone 77 node3
alone 77 node4
alone 76 node6
alone 69 'node7 port=2'
