#!/usr/bin/env bash
# Ranks' files have the mode that the user's umask gives, however their host is named.
. "$(dirname "$0")/lib.sh"
umask 022 # of the logins
need_cluster 2

# check MASK ARGUMENTS of dtlaunch...: two ranks
check() {
  launch "${@:2}" sh -c 'umask'
  expect_status 0
  expect_count 2 "^0*$1\$" "$work/out"
}
check 22 -f "$work/hosts" -np 2
for mask in 077 002; do
  umask $mask
  check "${mask#0}" -f "$work/hosts" -np 2 -ppn 1
  check "${mask#0}" -hosts node1 -np 2
  check "${mask#0}" -np 2 --oversubscribe
  check 27 -f "$work/hosts" -np 2 -ppn 1 --umask 027
  check 27 -np 2 --oversubscribe -umask 27
done
printf 'umask = "0007"\nranks = 2\nhosts.file = "hosts"\n' >"$work/dtlaunch.toml"
check 7 -c "$work/dtlaunch.toml"
check 0 -c "$work/dtlaunch.toml" --umask 0

launch -f "$work/hosts" -np 2 --umask 077 --dry-run true
expect_out '^umask +0077$'
for wrong in 1000 0888 u=rwx 00022; do
  launch -np 1 --umask "$wrong" true
  expect_status 64
  expect_err "umask.*$wrong.*[. ]Try: "
done
