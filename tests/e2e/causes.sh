#!/usr/bin/env bash
# The card names the first cause, such as torch's @record file or an out-of-memory kill. Ranks that
# only lost their connection to that rank share a line. Ranks that ended early or stopped are named.
. "$(dirname "$0")/lib.sh"
need_cluster 2
two=(-f "$work/hosts" -np 2 -ppn 1)

# Rank 1 fails first, but rank 0 notices the broken connection at once and is reported first.
launch "${two[@]}" sh -c '
  [ "$RANK" = 1 ] && { trap "" TERM; : >"$0"; sleep 1; echo "RuntimeError: shapes differ" >&2; exit 3; }
  until [ -e "$0" ]; do sleep 0.01; done
  echo "ConnectionResetError: Connection reset by peer" >&2; exit 1' "$work/ready"
expect_status 3
expect_err 'rank 1 on node2 exited with status 3'
expect_err 'RuntimeError: shapes differ'
expect_err 'rank 0 lost its connection because of rank 1'

# Rank 1 ends first and says nothing; rank 0 says why. An early SIGTERM would prevent that.
launch "${two[@]}" sh -c '[ "$RANK" = 1 ] && exit 1; sleep 0.1; echo "no column label" >&2; exit 3'
expect_status 3
expect_err 'rank 0 on node1 exited with status 3'
expect_err 'no column label'
expect_err 'rank 1 failed, too, and wrote nothing to stderr'

# In dttrain, only rank 0 reads files.
need_program dttrain
"$e2e/make_sentences" 100 1 >"$work/texts.tsv"
"$bin/dttrain" init --train_file "$work/texts.tsv" --vocab_size 200 --hidden_size 32 \
  --num_hidden_layers 1 --num_attention_heads 2 --intermediate_size 64 --output_dir "$work/model" \
  >/dev/null || fail "no model to train"
for _ in $(seq 10); do
  launch -np 3 --oversubscribe "$bin/dttrain" --model_name_or_path "$work/model" --do_train \
    --train_file "$work/none.tsv" --output_dir "$work/out-of-dttrain"
  expect_status 65
  expect_err 'rank 0 on .* exited with status 65'
  expect_count 1 none.tsv "$work/err" # of dttrain, which the failure card does not repeat
done

# SIGUSR1 and SIGUSR2 reach every rank.
start_job "${two[@]}" sh -c 'trap "echo got USR1" USR1; trap "echo got USR2; exit 0" USR2
  echo ready; while :; do sleep 0.05; done'
wait_for 10 "two ready ranks" sh -c "[ \$(grep -c ready '$work/out') = 2 ]"
signal USR1 "$launcher"
wait_for 5 "USR1 at both" sh -c "[ \$(grep -c 'got USR1' '$work/out') = 2 ]"
signal USR2 "$launcher"
end_job
expect_status 0
expect_count 2 'got USR2' "$work/out"

# A rank that somebody else stopped is named.
start_job "${two[@]}" sh -c '[ "$RANK" = 0 ] || echo $$ >"$1"; sleep 6' stopped "$work/pid"
wait_for 10 "rank 1's pid" test -s "$work/pid"
on node2 kill -STOP "$(cat "$work/pid")"
wait_for 6 "the notice" grep -q 'node2: rank 1 is stopped' "$work/err"
on node2 kill -CONT "$(cat "$work/pid")"
end_job
expect_status 0

# A kill for lack of memory, in a cgroup of version 1.
group=/sys/fs/cgroup/memory/dtl-e2e-$$
if mkdir "$group" 2>/dev/null && echo 64M >"$group/memory.limit_in_bytes" 2>/dev/null; then
  limit=60 run sh -c "echo \$\$ >'$group/cgroup.procs'; exec '$bin/dtlaunch' -np 2 --oversubscribe \
    sh -c '[ \$RANK = 0 ] || exec tail /dev/zero; sleep 20'"
  expect_status 137
  expect_err 'rank 1 .*was killed for want of memory \(SIGKILL by the kernel\)'
  expect_err 'peak 0.0[0-9] GiB; the limit of its control group: 0.06 GiB'
  # A process that a rank needs is killed in its place.
  run sh -c "echo \$\$ >'$group/cgroup.procs'; exec '$bin/dtlaunch' -np 1 \
    sh -c 'tail /dev/zero; echo my loader is gone >&2; exit 3'"
  expect_status 3
  expect_err 'my loader is gone'
  expect_err 'the kernel killed 1 process of this job there for want of memory'
  wait_for 5 "an empty group" rmdir "$group"
else
  rmdir "$group" 2>/dev/null
  echo "not tried: a memory limit; there is no /sys/fs/cgroup/memory to write"
fi
