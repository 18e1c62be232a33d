#!/usr/bin/env bash
# A rank killed by a signal gives 128 + its number, and the card names the signal. A missing program gives 127, one
# that cannot be executed 126.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard

# shellcheck disable=SC2016
launch -np 2 --oversubscribe sh -c '[ "$RANK" = 0 ] && exec sleep 60; kill -SEGV $$'
expect_status 139
expect_err 'SIGSEGV'
expect_err 'rank 1'
expect_within 8000

launch -np 2 --oversubscribe no-such-program-here
expect_status 127
expect_err 'no-such-program-here'

echo 'not a program' >"$work/text"
launch -np 2 --oversubscribe "$work/text"
expect_status 126
expect_err "$work/text"

launch -np 2 --oversubscribe -wdir "$work/no-such-folder" true
[ "$status" != 0 ] || fail "a working directory that is missing was ignored"
expect_err 'no-such-folder'

# A shell runs only text. Each of these files ends in a command that a shell would find after binary data; the card
# says what kind of file it is.
refuse() { # FILE PATTERN
  chmod +x "$work/$1"
  launch -np 1 -wdir "$work" "./$1"
  expect_status 126
  expect_err "cannot run '\./$1': $2"
  [ ! -e "$work/ran" ] || fail "a shell ran $1"
}
command=$'\ntouch ran\n'
printf '\x1f\x8b\x08\x08%s' "$command" >"$work/texts.gz"
refuse texts.gz 'it is a gzip file'
printf 'BZh91AY&SY\x01\x02%s' "$command" >"$work/texts.bz2"
refuse texts.bz2 'it is a bzip2 file'
printf '\xa7\r\r\n\0\0\0\0%s' "$command" >"$work/train.pyc"
refuse train.pyc 'it is compiled Python; run it by python3'
printf '%64000s\0%s' '' "$command" >"$work/late"
refuse late 'it is binary data, not a program or a script'
printf '\xef\xbb\xbf%s' "$command" >"$work/mark"
refuse mark 'it starts with a byte order mark'
printf '#!%s\n%s' "$work/texts.gz" "$command" >"$work/data.sh"
refuse data.sh "its interpreter '$work/texts.gz': it is a gzip file"
# For another architecture: the same ELF file with another machine number.
cp /bin/true "$work/other"
for machine in '\xb7\0:aarch64' '\x3e\0:x86_64'; do
  printf "${machine%:*}" | dd of="$work/other" bs=1 seek=18 conv=notrunc status=none
  [ "${machine#*:}" = "$(uname -m)" ] || refuse other "it is built for ${machine#*:}, but this host is $(uname -m)"
done

printf 'touch ran\n' >"$work/plain"
chmod +x "$work/plain"
launch -np 1 -wdir "$work" ./plain
expect_status 0
[ -e "$work/ran" ] || fail "a shell script without a first line was not run"
