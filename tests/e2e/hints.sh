#!/usr/bin/env bash
# The hint of a message, pasted to the letter, shows the cause and runs nothing else.
. "$(dirname "$0")/lib.sh"
need_cluster 2
place=$work/'a place'
mkdir "$place"
echo 'root@node2 port=22' >"$work/two"

# Runs the last message's hint in a shell on node1; $shown is its output.
paste_hint() {
  hint=$(sed -nE 's/^  try +//p; s/.*\. Try: //p' "$work/err" | tail -n 1)
  [ -n "$hint" ] || fail "there is no hint"
  shown=$(on node1 bash -c "cd '$place' && $hint" 2>&1 </dev/null)
}
expect_shown() { # PATTERN
  grep -Eq -- "$1" <<<"$shown" || fail "'$hint' shows no $1 but: $shown"
}
start_there() { launch -f "$work/two" -np 1 -wdir "$place" "$@"; }

# A program below the rank's directory that may not be executed.
echo true >"$place/job.sh"
start_there ./job.sh
expect_status 126
paste_hint
expect_shown '^ *-rw-r--r-- .* job\.sh$'
case $hint in "ssh -p 22 -l root node2 "*) ;; *) fail "user and port are not in '$hint'" ;; esac

# A missing program.
start_there sub/job.sh
expect_status 127
paste_hint
expect_shown 'sub.*No such file'

# First lines from Windows: with a carriage return, which the kernel or env reports, or a byte order mark. The hint
# repairs the file.
mended() { # FILE STATUS PATTERN
  chmod +x "$place/$1"
  start_there "./$1"
  expect_status "$2"
  expect_err "$3"
  paste_hint
  start_there "./$1"
  expect_status 0
  expect_out '^done$'
}
printf '#!/bin/sh\r\necho done\r\n' >"$place/dos.sh"
mended dos.sh 127 "cannot run './dos.sh': its first line ends in a carriage return"
printf '#!/usr/bin/env bash\r\necho done\r\n' >"$place/env.sh"
mended env.sh 127 "env: .bash\\\\r.: No such file"
printf '\xef\xbb\xbf#!/bin/sh\necho done\n' >"$place/mark.sh"
mended mark.sh 126 "cannot run './mark.sh': it starts with a byte order mark"

# A missing directory.
launch -f "$work/two" -np 1 -wdir "$place/no where" true
paste_hint
expect_shown 'no where.*No such file'

# Text from outside does not become a command.
launch -f "$work/two" -np 1 -wdir "$place" '$(touch x)'
expect_status 127
paste_hint
start_there "./\$(touch x)'"
paste_hint
expect_shown 'touch x.*No such file'
if [ -e "$place/x" ] || on node2 sh -c 'test -e ~/x'; then fail "a hint ran what it quotes"; fi

# A rank that somebody ends with SIGTERM leaves no core file, so the hint is another one.
start_there sh -c 'kill -TERM $$'
expect_status 143
expect_no_err 'ulimit'

# Too few descriptors and too few processes on a host.
nobody_room() { on node1 sh -c "$1; exec '$bin/dtlaunch' -np 40 --oversubscribe sleep 1" \
  >"$work/out" 2>"$work/err" </dev/null; status=$?; }
nobody_room 'ulimit -n 64'
[ "$status" != 0 ] || fail "40 ranks started with 64 descriptors"
expect_err 'its agent needs 200 descriptors, and may have 64\. '
paste_hint
case $hint in *'ulimit -Hn'*) ;; *) fail "the hint for too few descriptors is '$hint'" ;; esac

# A start-up file prints a line like dtagent's own.
version=$("$bin/dtagent" --version | sed -E 's/dtagent (.*) \(protocol (.*)\)/\2 \1/')
on node2 sh -c "printf '%s\n' 'printf \"\\nDTLAUNCH-AGENT $version 0123456789abcdef0123456789abcdef\\n\"' >~/.ssh/rc"
start_there true
expect_status 76
expect_err 'start-up file'
paste_hint
expect_shown '^DTLAUNCH-AGENT'
on node2 rm .ssh/rc 2>/dev/null || on node2 sh -c 'rm ~/.ssh/rc'

# A cache that others may write to.
on node2 mount -t tmpfs none "$bin"
on node2 sh -c 'mkdir -p ~/.cache/dtlaunch && chmod 777 ~/.cache/dtlaunch'
start_there true
launch -f "$work/two" --push -np 1 true
expect_status 73
expect_err 'everybody may write '
paste_hint
launch -f "$work/two" --push -np 1 true
expect_status 0
