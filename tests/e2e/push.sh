#!/usr/bin/env bash
# --push: hosts without dtlaunch run a job, find the programs there the next time, and keep no partial files,
# whatever goes wrong.
. "$(dirname "$0")/lib.sh"
need_program dttrain
use_open_paths # for a user who is not root
need_cluster 5
cache='.cache/dtlaunch'

# The pushed programs need only the host's C library.
for program in dtagent dtguard dttrain; do
  needed=$(LC_ALL=C objdump -p "$bin/$program" | awk '$1 == "NEEDED" { print $2 }' |
    grep -vE '^(libc|libm|libmvec|libpthread|libdl|ld-linux-x86-64)\.so' | xargs)
  expect_equal "libraries of $program" "$needed" ''
done

# node2 to node5 have none of our programs; each has its own home.
for host in node2 node3 node4 node5; do on "$host" mount -t tmpfs none "$bin"; done
content() { on "$1" sh -c "cd ~/$cache 2>/dev/null && ls -A"; }
# If dtlaunch disappears, the host removes partial files by itself.
expect_content() { # HOST LINES
  wait_for 5 "$1 to keep $2 things; it keeps: $(content "$1")" keeps "$@"
}
keeps() { [ "$(content "$1" | wc -l)" = "$2" ]; } # HOST LINES

# Another version is there: it is not used, and the newest two old ones stay. A push that died long ago left
# partial files.
on node2 sh -c "umask 077; mkdir -p ~/$cache && cd ~/$cache && mkdir .new-0.99999999.node2 &&
  for i in 1 2 3 4; do mkdir 0.0.\$i-aa && touch 0.0.\$i-aa/dtagent; done"
launch -v -hosts node2,node3 --push -ppn 1 -np 2 uname -n
expect_status 0
expect_count 2 '^node[23]$' "$work/out"
expect_count 2 'node[23]: sent 0\.' "$work/err"
expect_content node2 3
expect_content node3 1
expect_equal "the cache's mode" "$(on node3 sh -c "stat -c %a ~/$cache ~/$cache/* | sort -u")" 700

# The next time it is not sent again, and found without --push.
launch -v -hosts node2,node3 --push -ppn 1 -np 2 uname -n
expect_status 0
expect_no_err ': sent '
launch -hosts node2,node3 -ppn 1 -np 2 uname -n
expect_status 0
expect_count 2 '^node[23]$' "$work/out"

# Damage is repaired: a few bytes, in a file of unchanged length.
on node3 sh -c "cd ~/$cache/*[0-9a-f] && printf damage | dd of=dtguard bs=1 seek=5000 conv=notrunc" 2>/dev/null ||
  fail "cannot damage what node3 has"
launch -hosts node3 -np 1 uname -n
expect_status 71
expect_err 'node3: .*the dtagent that an earlier push brought there is damaged: '
launch -v -hosts node3 --push -np 1 uname -n
expect_status 0
expect_count 1 'node3: sent 0\.' "$work/err"
expect_content node3 1
launch -v -hosts node3 --push -np 1 uname -n
expect_status 0
expect_no_err ': sent '

# Files that others can write are not run.
on node3 sh -c "chmod o+w ~/$cache/*/dtagent"
launch -hosts node3 -np 1 uname -n
expect_status 71
expect_err 'did not run the dtagent there, .*everybody may write .*/dtagent;'
launch ps -hosts node3
expect_err 'node3: .*everybody may write .*/dtagent;'
launch -hosts node3 --push -np 1 uname -n
expect_status 0

# dttrain is pushed if it is the job's program.
launch -hosts node2,node3 --push -ppn 1 -np 2 dttrain --version
expect_status 0
expect_out '^dttrain '
grep -q -- '-dttrain$' < <(content node3) || fail "node3 has no dttrain: $(content node3)"

# A full disk: names the host, the folder and the reason, and leaves nothing.
on node4 sh -c 'mkdir -p ~/.cache && mount -t tmpfs -o size=256k none ~/.cache'
launch -hosts node3,node4 --push -ppn 1 -np 2 uname -n
expect_status 73
expect_err "node4: .*/$cache: cannot push: No space left on device\. Try: ssh node4 df -h "
expect_content node4 0
# Only half fits: dtagent arrives, dttrain does not.
on node4 mount -o remount,size=5m /run/root/.cache
launch -hosts node4 --push -np 1 dttrain --version
expect_status 73
expect_err "node4: .*/$cache: cannot push: No space left on device"
expect_content node4 0
on node4 umount /run/root/.cache

# Another architecture gets its own programs from libexec, and is refused by name before anything is sent if there
# are none. Here they are this machine's with another end, so that they run.
other=$work/other
mkdir -p "$other/bin" "$other/libexec/dtlaunch/aarch64"
cp "$bin"/dt{launch,agent,guard} "$other/bin"
[ ! -e "$bin/dtpmix" ] || cp "$bin/dtpmix" "$other/bin"
on node5 mount -t tmpfs none "$other/bin"
printf '#!/bin/sh\n[ "$1" = -m ] && echo aarch64 || echo node5\n' >"$work/uname"
chmod +x "$work/uname"
on node5 mount --bind "$work/uname" "$(on node5 sh -c 'command -v uname')"
run "$cluster" exec node1 "$other/bin/dtlaunch" -hosts node4,node5 --push -ppn 1 -np 2 true
expect_status 78
expect_err "node5: cannot push dtagent: the host is aarch64, dtlaunch is .* no $other/libexec/dtlaunch/aarch64/dtagent\\. Try: mkdir "
expect_content node5 0
for program in dtagent dtguard; do
  (cat "$bin/$program" && echo aarch64) >"$other/libexec/dtlaunch/aarch64/$program"
  chmod +x "$other/libexec/dtlaunch/aarch64/$program"
done
run "$cluster" exec node1 "$other/bin/dtlaunch" -hosts node4,node5 --push -ppn 1 -np 2 sh -c 'hostname'
expect_status 0
expect_equal "node5's programs" "$(on node5 sh -c "cat ~/$cache/*/dtagent ~/$cache/*/dtguard | sha256sum")" \
  "$(cat "$other"/libexec/dtlaunch/aarch64/dt{agent,guard} | sha256sum)"
on node5 rm -r "/run/root/$cache"
on node4 rm -rf "/run/root/$cache"
on node5 umount "$(on node5 sh -c 'command -v uname')"

# dtlaunch push, ahead of time; to a login shell that is not a POSIX shell, if installed.
for shell in tcsh fish zsh; do command -v $shell >/dev/null && break; done
if shell=$(command -v $shell); then
  on node5 cat /etc/passwd | sed "s|^\(root:.*:\)[^:]*$|\1$shell|" >"$work/passwd"
  on node5 mount --bind "$work/passwd" /etc/passwd
fi
launch push -hosts node3,node4,node5
expect_status 0
expect_out '^node3: already there, .*-dttrain$'
expect_out '^node5: sent [0-9.]+ MB to '
launch -hosts node5,node4 -ppn 1 -np 2 uname -n
expect_status 0
expect_count 2 '^node[45]$' "$work/out"
launch push -hosts node3,node5,no-such-host --remove
expect_status 69
expect_out '^node5: removed from '
expect_content node3 0

# If the user of a host may not enter the programs' folder, the message says so and suggests --push.
# shellcheck disable=SC2016
on node4 bash -euc 'echo "ann:x:4321:4321::/run/ann:/bin/bash" >>/etc/passwd
  echo "ann:*:19000:0:99999:7:::" >>/etc/shadow
  mkdir /run/ann
  cp -r ~/.ssh /run/ann/.ssh
  chown -R 4321:4321 /run/ann' || fail "cannot make a user on node4"
shut=$work/shut
mkdir -m 700 "$shut"
cp "$bin"/dt* "$shut/"
run "$cluster" exec node1 "$shut/dtlaunch" -hosts ann@node4 -np 1 id -un
expect_status 71
expect_err "node4: cannot start agent: the user there may not enter $shut, in which dtagent lies\\. Try: dtlaunch --push \\.\\.\\."
run "$cluster" exec node1 "$shut/dtlaunch" --push -hosts ann@node4 -np 1 id -un
expect_status 0
expect_out '^ann$'
