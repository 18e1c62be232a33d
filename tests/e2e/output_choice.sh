#!/usr/bin/env bash
# Which output of ranks is shown, and how: labels by pattern, selected ranks, folded equal lines, files
# here and on the nodes. A full disk costs output, never the job.
. "$(dirname "$0")/lib.sh"
need_cluster 2

# In a rank's script: meet NAME N waits until all N ranks arrive. $0 is the test's path.
meet='meet() {
  : >"$0.$1.$RANK"
  rank=0
  while [ $rank -lt $2 ]; do if [ -e "$0.$1.$rank" ]; then rank=$((rank + 1)); else sleep 0.01; fi; done
}'

two=(-f "$work/hosts" -np 2 -ppn 1)

launch "${two[@]}" -prepend-pattern '<%r %h %g%%> ' echo hello
expect_status 0
expect_out '^<0 node1 0%> hello$'
expect_out '^<1 node2 0%> hello$'
launch "${two[@]}" -prepend-pattern '%q ' echo hello
expect_status 64
expect_err "%q"
launch "${two[@]}" --tag-output sh -c 'echo out; echo err >&2'
expect_out '^\[1,1\]<stdout>: ?out$'
expect_err '^\[1,0\]<stderr>: ?err$'

# Selected ranks; a failing rank's last lines are on the card anyway.
launch "${two[@]}" -l --only 1 sh -c "$meet"'
  echo mine; meet said 2; [ $RANK = 1 ] || { echo alas >&2; exit 4; }; sleep 60' "$work/only"
expect_status 4
expect_count 1 mine "$work/out"
expect_out '^\[1\] mine$'
expect_err '^ *stderr +\| alas$'
launch "${two[@]}" --only none echo nothing
expect_status 0
expect_count 0 . "$work/out"
launch "${two[@]}" --only 1-x echo
expect_status 64
expect_err "'1-x' is neither a rank nor a range"

# Equal lines within 50 ms are folded (a busy machine may be slower, so it has five tries); each rank's
# own lines keep their order.
folds() { # TRY
  launch -f "$work/hosts" -np 4 -ppn 2 -l --fold sh -c "$meet"'
    meet start 4; echo same; meet own 4; echo "I am $RANK"; meet end 4; echo end' "$work/fold.$1"
  expect_status 0
  for rank in 0 1 2 3; do expect_out "^\\[$rank\\] I am $rank\$"; done
  [ "$(head -n 1 "$work/out")" = '[0-3] same' ] && [ "$(tail -n 1 "$work/out")" = '[0-3] end' ]
}
for try in 1 2 3 4 5; do ! folds $try || break; done
expect_count 6 . "$work/out"

# Files here, truncated first.
echo old >"$work/file.1"
launch "${two[@]}" -outfile-pattern "$work/file.%r" sh -c 'echo "out $RANK"; echo "err $RANK" >&2'
expect_status 0
expect_equal "rank 1's file" "$(cat "$work/file.1")" 'out 1'
expect_count 0 out "$work/out"
expect_err '^err 1$'
launch "${two[@]}" -outfile-pattern "$work/file.%r" true
expect_equal "the file of a rank that says nothing" "$(wc -c <"$work/file.1")" 0
# A folder that all ranks share is checked before any starts; one of each rank's own, when it does.
launch "${two[@]}" -outfile-pattern "$work/no/such/folder/%r" touch "$work/started"
expect_status 73
expect_err "Try: mkdir -p $work/no/such/folder"
[ ! -e "$work/started" ] || fail "ranks ran although their output has no folder"
launch "${two[@]}" -outfile-pattern "$work/none%r/file" echo
expect_status 0
expect_count 2 "/none[01]/file: cannot write: No such file or directory; the job goes on" "$work/err"

# A full disk here. A thread of its own writes, and tells it while the job runs.
run bash -c "'$bin/dtlaunch' -np 2 --oversubscribe sh -c '$meet
  echo lost; echo told >&2; meet told 2
  until grep -q \"job goes on\" \"$work/err\"; do sleep 0.01; done
  exit \$RANK' '$work/full' >/dev/full"
expect_status 1
expect_count 2 '^told$' "$work/err"
expect_count 1 'cannot write standard output: No space left on device; the job goes on' "$work/err"
expect_err '^dtlaunch: 10 bytes of standard output are lost: No space left on device$'
run bash -c "'$bin/dtlaunch' -np 1 --report '$work/lost.json' echo lost >/dev/full"
expect_status 74
grep -q '"exit_status": 74' "$work/lost.json" || fail "the report has another status: $(cat "$work/lost.json")"
expect_equal "the last line" "$(tail -n 1 "$work/err")" \
  'dtlaunch: 5 bytes of standard output are lost: No space left on device'
expect_no_err 'nobody read'

# Files on the nodes: all output, at most three of 16 MiB, private.
launch "${two[@]}" --log-dir "$work/logs" --only none sh -c '
  echo first >&2; head -c 60000000 /dev/zero | tr "\0" x; echo; echo the end'
expect_status 0
expect_count 0 . "$work/out"
kept=("$work"/logs/*/rank.1.out*)
expect_equal "files of rank 1" "${#kept[@]}" 3
expect_equal "the newest one's last line" "$(tail -n 1 "$work"/logs/*/rank.1.out)" 'the end'
[ "$(stat -c %s "${kept[2]}")" -le 16777216 ] || fail "a kept file of $(stat -c %s "${kept[2]}") bytes"
expect_equal "its mode" "$(stat -c %a "${kept[0]}")" 600
expect_equal "its folder's mode" "$(stat -c %a "$(dirname "${kept[0]}")")" 700
expect_equal "standard error kept" "$(cat "$work"/logs/*/rank.1.err)" first

# A full disk on one node.
mkdir "$work/small"
on node2 mount -t tmpfs -o size=256k none "$work/small"
launch "${two[@]}" --log-dir "$work/small" --only none sh -c '
  head -c 3000000 /dev/zero | tr "\0" x; [ "$RANK" = 0 ] || echo done >&2'
expect_status 0
expect_count 1 'node2: .*/rank.1.out: cannot keep output: No space left on device; the job goes on' "$work/err"
