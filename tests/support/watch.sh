#!/usr/bin/env bash
# watch_test, which runs every test: few variables, a time limit that names hangs, nothing left behind.
#   watch.sh WATCH_TEST
set -uo pipefail
watch=$1
work=$(mktemp -d)
others=()
trap 'kill "${others[@]}" 2>/dev/null; rm -rf "$work"' EXIT

fail() {
  printf 'FAILED: %s; it said:\n' "$*"
  sed 's/^/    /' "$work/out"
  exit 1
}
run() { # STATUS ARGUMENTS of watch_test...
  local wanted=$1 status=0
  shift
  "$watch" "$@" >"$work/out" 2>&1 </dev/null || status=$?
  [ $status = "$wanted" ] || fail "status $status, not $wanted, of: $*"
}
says() { grep -Eq -- "$1" "$work/out" || fail "no line matches: $1"; }
says_not() { ! grep -Eq -- "$1" "$work/out" || fail "a line matches: $1"; }
gone() { # FILE with a pid
  [ -s "$1" ] || fail "$1 has no pid"
  ! kill -0 "$(cat "$1")" 2>/dev/null || fail "process $(cat "$1") of $1 lives on"
}

# ---- variables
export PYTHONUNBUFFERED=1 PYTHONPATH=/x VIRTUAL_ENV=/x XDG_CACHE_HOME=/x SLURM_JOB_ID=1 OMP_NUM_THREADS=7 \
  PMI_RANK=0 MASTER_ADDR=x RANK=1 DTL_TOKEN=x DTL_NNODES=2 DTL_BIN=/bin LANG=de_DE LC_ALL=C TZ=Asia/Tokyo TERM=dumb \
  SHELL=/bin/false TMPDIR=/x UNHEARD_OF=1
LD_PRELOAD=libdl.so.2 run 0 --limit 20 env
for name in PYTHONUNBUFFERED PYTHONPATH VIRTUAL_ENV XDG_CACHE_HOME SLURM_JOB_ID OMP_NUM_THREADS PMI_RANK MASTER_ADDR \
  RANK DTL_TOKEN DTL_NNODES LC_ALL TZ TERM SHELL TMPDIR UNHEARD_OF LD_PRELOAD; do
  says_not "^$name="
done
for name in HOME DTL_BIN; do says "^$name="; done
says '^LANG=C\.UTF-8$'
says "^PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH\$"

# ---- how it ends
run 0 --limit 20 true
run 3 --limit 20 -- sh -c 'exit 3'
says '^watch_test: CPU 0\.[0-9]{2} s$'
run 77 --limit 20 -- sh -c 'exit 77'
# shellcheck disable=SC2016
run 139 --limit 20 -- sh -c 'kill -SEGV $$'
says '^watch_test: ended by signal 11 '
run 127 --limit 20 -- "$work/nothing"
says "cannot run '.*/nothing': No such file"
for words in '--limit' '--limit x true' '--limit 0 true' '--limit 5' '--limit 5 --' 'true'; do
  # shellcheck disable=SC2086
  run 64 $words
  says '^usage: '
done

# ---- a daemon that outlives its test is named and killed, and fails the test
# shellcheck disable=SC2016
daemon='setsid sh -c "echo \$\$ >$1/daemon; exec sleep 1000" >/dev/null 2>&1 & until [ -s "$1/daemon" ]; do sleep 0.01; done'
run 5 --limit 20 -- sh -c "$daemon; exit 5" sh "$work"
says ': sleep 1000'
gone "$work/daemon"
rm "$work/daemon"
run 125 --limit 20 -- sh -c "$daemon" sh "$work"
says '^watch_test: left behind'
says ': sleep 1000'
gone "$work/daemon"

# ---- hanging processes are named with their stacks, and killed with their daemons
rm "$work/daemon"
run 124 --limit 1 -- sh -c "$daemon; cat /dev/zero >/dev/null & sleep 999" sh "$work"
says '^watch_test: hung: still running after [1-4] s; its [0-9]+ processes:$'
says 'child of [0-9]+, .*: sleep 1000'
says '^watch_test: stacks of [0-9]+: cat /dev/zero'
says '^#0 |^  thread [0-9]+ in '  # from gdb, or from /proc without gdb
gone "$work/daemon"

# ---- a test that waits for a CPU is not hung: it needs 2 to 3 s with a limit of 1 s, beside five others on one CPU
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
for _ in 1 2 3 4 5; do
  taskset -c "$cpu" sh -c 'while :; do :; done' &
  others+=($!)
done
# shellcheck disable=SC2016
run 0 --limit 1 -- taskset -c "$cpu" bash -c 'while [ "$SECONDS" -lt 3 ]; do :; done'
kill "${others[@]}"
others=()

# ---- a signal that ends watch_test ends the test
rm "$work/daemon"
"$watch" --limit 60 -- sh -c "$daemon; sleep 998" sh "$work" >"$work/out" 2>&1 &
watcher=$!
until [ -s "$work/daemon" ]; do sleep 0.01; done
kill -TERM $watcher
wait $watcher
status=$?
[ $status = 143 ] || fail "status $status after SIGTERM"
gone "$work/daemon"
echo "watch_test: kept"
