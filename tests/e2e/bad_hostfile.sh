#!/usr/bin/env bash
# Each mistake in a hostfile is named with file:line:column; none leads to a run on localhost.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch

refused() { # PATTERN TEXT-OF-THE-HOSTFILE (printf format)
  # shellcheck disable=SC2059
  printf -- "$2" >"$work/hosts"
  launch -f "$work/hosts" -np 2 touch "$work/started"
  expect_status 65
  expect_err "^dtlaunch: .*$1"
  expect_within 1000
  [ ! -e "$work/started" ] || fail "a rank ran although the hostfile said: $2"
}

refused "hosts" ''
refused "hosts" '# node1\n\n   // node2\n'
refused "hosts:1:6: '0'.*host:2" 'host:0\n'
refused "hosts:2:6: 'abc'" 'node1\nhost:abc\n'
refused "hosts:3:7: .*slos.*slots" '\n# two\nnode1 slos=2\n'
refused "hosts:1:7: .*comment.*no end" 'node1 /* slots=2\n'
refused "no host" 'node1\n^node1\n'
refused "hosts:1:1: .*-oProxyCommand" '-oProxyCommand=x\n'
refused "hosts:1:" 'n[04-01]\n'
refused "hosts:1:" 'n[01-04\n'

printf 'node1\n' >"$work/hosts"
chmod o+w "$work/hosts"
launch -f "$work/hosts" -np 1 touch "$work/started"
expect_status 65
expect_err "everybody may write.*chmod o-w"
chmod o-w "$work/hosts"

# A file of another user, however it is named; also a job file and a file of programs.
if [ "$(id -u)" = 0 ]; then
  printf 'program = "touch"\narguments = ["%s"]\n' "$work/started" >"$work/dtlaunch.toml"
  printf -- '-n 1 touch %s\n' "$work/started" >"$work/programs"
  chown 1000 "$work/hosts" "$work/dtlaunch.toml" "$work/programs"
  launch -f "$work/hosts" -np 1 touch "$work/started"
  expect_status 65
  expect_err "hosts: this hostfile belongs to another user \(1000\)"
  launch ps -f "$work/hosts"
  expect_status 65
  expect_err "this hostfile belongs to another user"
  run sh -c 'cd "$1" && exec "$2"' sh "$work" "$bin/dtlaunch"
  expect_status 65
  expect_err "dtlaunch.toml: this job file belongs to another user"
  launch -configfile "$work/programs"
  expect_status 65
  expect_err "this file of programs belongs to another user"
fi

launch -f "$work/missing" -np 2 touch "$work/started"
expect_status 65
expect_err "^dtlaunch: .*$work/missing"
launch -f "$work" -np 2 touch "$work/started"
expect_status 65
expect_err "$work"
[ ! -e "$work/started" ] || fail "a rank ran without a hostfile"
