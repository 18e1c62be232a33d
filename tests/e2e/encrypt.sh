#!/usr/bin/env bash
# With --encrypt, nobody on the network can read what ranks on two hosts send each other; without it,
# they can. A rank that does not encrypt while the others do is named.
. "$(dirname "$0")/lib.sh"
limit=40
libraries=("${bin%/bin}"/ring/libdtring.so.?) # in the build folder, beside the programs
library=${libraries[0]}
[ -f "$library" ] || fail "$library has not been built"
need_cluster 2
python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$library" 2>/dev/null || skip "python3 cannot load $library"

watch() { # FILE: records the packets on node1's interface from now on
  "$cluster" exec node1 python3 "$e2e/watch_packets.py" eth0 'a gradient that nobody else reads' >"$1" &
  watcher=$!
  wait_for 10 "the reader of packets" grep -qs ready "$1"
}
count_packets() { # FILE: sets $packets to the number with the text, after reading all
  on node1 bash -c 'echo end >/dev/udp/10.77.0.2/9'
  wait "$watcher" || fail "the reader of packets: $(cat "$1")"
  packets=$(tail -n 1 "$1")
}
job() { launch -f "$work/hosts" -np 2 -ppn 1 "$@" python3 "$e2e/say_to_all.py" "$library"; }

watch "$work/plain"
job
expect_status 0
expect_count 2 'a gradient that nobody else reads' "$work/out"
count_packets "$work/plain"
[ "$packets" -gt 0 ] || fail "what is not encrypted was not seen either"

watch "$work/sealed"
job --encrypt
expect_status 0
expect_count 2 'a gradient that nobody else reads' "$work/out"
expect_err 'dtlaunch: --encrypt covers what libdtring carries'
count_packets "$work/sealed"
expect_equal "packets with the text" "$packets" 0

printf 'encrypt = true\n' >"$work/job.toml"
job -c "$work/job.toml" -v
expect_status 0
expect_err 'encrypted between hosts'

launch -f "$work/hosts" -np 1 -ppn 1 -genv DTRING_ENCRYPT 1 python3 "$e2e/say_to_all.py" "$library" : \
  -np 1 -env DTRING_ENCRYPT 0 python3 "$e2e/say_to_all.py" "$library"
[ "$status" != 0 ] || fail "ranks met that differ in whether they encrypt"
grep -Eq 'rank 1 was started without encryption|it was started with encryption, rank 1 without' \
  "$work/out" "$work/err" || fail "nobody names rank 1: $(cat "$work/out" "$work/err")"
job -genv DTRING_ENCRYPT 0 --encrypt
expect_status 64
