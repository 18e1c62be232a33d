#!/usr/bin/env bash
# The test cluster's hosts keep their own /etc files, home and keys when the machine's are replaced:
# apt-get replaces /etc/passwd for every package that adds a user. --see shows the folder that it
# names, even below /tmp, or says why not.
#
# The machine here is this script's mount namespace, whose /etc is a copy.
if [ "$(id -u)" = 0 ] && [ -z "${DTL_OWN_ETC:-}" ] && unshare --mount true 2>/dev/null; then
  DTL_OWN_ETC=yes exec unshare --mount --propagation private "$0"
fi
. "$(dirname "$0")/lib.sh"
[ -n "${DTL_OWN_ETC:-}" ] || skip "needs root, to have an /etc to itself"

mkdir "$work/etc"
mount -t tmpfs etc "$work/etc" || skip "this machine does not let root mount a tmpfs"
cp -a /etc/. "$work/etc" && mount --move "$work/etc" /etc || fail "cannot make a copy of /etc"

replace() { # NAME: another file of the same text, owner and mode takes its place
  cp -p "/etc/$1" "/etc/$1.new" && mv "/etc/$1.new" "/etc/$1" || fail "cannot replace /etc/$1"
}

home_of() { on "$1" sh -c 'getent passwd root | cut -d: -f6'; }

expect_own_etc() { # WHEN
  local host
  for host in "${hosts[@]}"; do
    expect_equal "$1: the home of root on $host" "$(home_of "$host")" /run/root
    expect_equal "$1: the host name of $host" "$(on "$host" cat /etc/hostname)" "$host"
  done
  run "$cluster" exec node1 ssh -o BatchMode=yes node2 echo reached
  expect_out '^reached$'
}

expect_hosts_keep_theirs() { # WHEN
  local name
  expect_own_etc "$1"
  for name in passwd shadow group hosts nsswitch.conf hostname resolv.conf; do
    [ -e "/etc/$name" ] && replace "$name"
  done
  expect_own_etc "$1, after the machine's files were replaced"
  printf 'x\n' >/etc/written-on-the-machine
  on node1 sh -c 'echo "carol:x:4321:4321::/run/carol:/bin/sh" >/etc/passwd.new && cat /etc/passwd >>/etc/passwd.new &&
    mv /etc/passwd.new /etc/passwd' || fail "$1: a host cannot replace its own /etc/passwd"
  on node1 getent passwd carol >"$work/out" || fail "$1: node1 does not know its own user"
  ! grep -q carol /etc/passwd || fail "$1: a host wrote into the machine's /etc/passwd"
  ! on node2 getent passwd carol >"$work/out" || fail "$1: a host wrote into another host's /etc/passwd"
  launch -f "$work/hosts" -np 2 -ppn 1 hostname
  expect_status 0
  expect_out '^node2$'
}

need_cluster 2
expect_hosts_keep_theirs "a layer over /etc"
machine_keys=$(eval echo ~root)/.ssh
if [ -d "$machine_keys" ]; then
  expect_equal "what a host sees in the machine's $machine_keys" \
    "$(on node1 sh -c "cat '$machine_keys'/*.pub")" "$(on node1 sh -c 'cat ~/.ssh/*.pub')"
fi
"$cluster" down

# If overlays cannot be stacked any deeper, a host has a copy.
mkdir "$work/layer"
while mount -t tmpfs layer "$work/layer" && mkdir "$work"/layer/{upper,work}; do
  mount -t overlay etc -o "lowerdir=/etc,upperdir=$work/layer/upper,workdir=$work/layer/work" /etc \
    2>"$work/err" || deep=yes
  umount -l "$work/layer"
  [ -z "${deep:-}" ] || break
done
hosts=()
need_cluster 2
expect_hosts_keep_theirs "a copy of /etc"
"$cluster" down
hosts=()

see() { # DIR: writes `up`'s messages to $work/err
  run "$cluster" up 1 --see "$1"
  [ "$status" != 0 ] || hosts=(node1)
}
shown=$(mktemp -d /tmp/dtl-own-etc.XXXXXX)
copied=$shown # finish removes it
echo text >"$shown/file"
see /tmp
expect_status 0
expect_equal "a file of /tmp under --see /tmp" "$(on node1 cat "$shown/file")" text
"$cluster" down
hosts=()
see "$shown"
expect_status 0
expect_equal "a file under --see" "$(on node1 cat "$shown/file")" text
tree=${root#/tmp/} # hosts see it anyway
expect_equal "what else is in /tmp" "$(on node1 ls /tmp | grep -vxF "${tree%%/*}")" "$(basename "$shown")"
"$cluster" down
hosts=()
for wrong in / /dev /run /run/root/deeper /tmp/no-such-folder "$shown/file"; do
  see "$wrong"
  expect_status 125
  expect_err "^cluster: --see $wrong: (every host |no such folder)"
done
