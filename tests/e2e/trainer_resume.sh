#!/usr/bin/env bash
# A killed training run resumes from its last checkpoint, and a stopped one from the step where it
# stopped. Both end with the parameters of an undisturbed run, to the bit. With another number of
# ranks, losses agree within 1e-5.
. "$(dirname "$0")/lib.sh"
limit=100
need_program dttrain
need_cluster 2

on node1 sh -c "'$e2e/make_sentences' 2000 1 >/tmp/train.tsv"
run "$cluster" exec node1 "$bin/dttrain" init --train_file /tmp/train.tsv --vocab_size 200 \
  --hidden_size 192 --num_hidden_layers 3 --num_attention_heads 3 --intermediate_size 768 \
  --output_dir /tmp/model
expect_status 0

options() { # FOLDER
  echo --model_name_or_path /tmp/model --train_file /tmp/train.tsv --do_train \
    --global_batch_size 64 --max_steps 80 --save_steps 10 --learning_rate 1e-3 --logging_steps 5 \
    --output_dir "$1"
}
two=(-f "$work/hosts" -np 2 -ppn 1 -genv OMP_NUM_THREADS=1)
# shellcheck disable=SC2046
train() { launch "${two[@]}" "$bin/dttrain" $(options "$1"); }
begin() { start_job "${two[@]}" "$bin/dttrain" $(options "$1"); } # in the background
parameters() { grep -o 'parameters [0-9a-f]*' "$work/out"; }
has() { on node1 test -e "$1"; }

train /tmp/whole
expect_status 0
whole=$(parameters)
[ -n "$whole" ] || fail "no parameters in the output"

# kill -9 of one rank
begin /tmp/killed
wait_for 60 "a checkpoint" has /tmp/killed/checkpoint-20
signal KILL "$(pids_of node2 dttrain | head -n 1)" node2
end_job
[ "$status" != 0 ] || fail "the job ended well before it could be killed"
! has /tmp/killed/model.safetensors || fail "a killed run left a model"
train /tmp/killed
expect_status 0
expect_out 'checkpoint-'
expect_equal "after kill -9" "$(parameters)" "$whole"

# Killed before its first checkpoint: the same command starts again. One flipped bit in the last
# checkpoint: it is named, and the previous one is used.
begin /tmp/early
wait_for 60 "its log" has /tmp/early/metrics.jsonl
signal KILL "$(pids_of node2 dttrain | head -n 1)" node2
end_job
on node1 sh -c 'rm -rf /tmp/early/checkpoint-*'
train /tmp/early
expect_status 0
expect_equal "after an early end" "$(parameters)" "$whole"
! has /tmp/early/unfinished || fail "a run that has ended well calls itself unfinished"
# shellcheck disable=SC2016
on node1 sh -c 'cd /tmp/early/checkpoint-70 && rm -r ../checkpoint-80 2>/dev/null
  printf "\\001" | dd of=model.safetensors bs=1 seek=100000 conv=notrunc 2>/dev/null'
train /tmp/early
expect_status 0
expect_err 'checkpoint-70: damaged checkpoint: model.safetensors: its checksum is'
expect_equal "after a flipped bit" "$(parameters)" "$whole"

# Restarted by dtlaunch, in a folder with another run's checkpoint
on node1 sh -c 'mkdir /tmp/again && cp -r /tmp/whole/checkpoint-70 /tmp/again/checkpoint-9999'
# shellcheck disable=SC2046
start_job "${two[@]}" --max-restarts 2 "$bin/dttrain" $(options /tmp/again) --overwrite_output_dir
wait_for 60 "a checkpoint" has /tmp/again/checkpoint-20
signal KILL "$(pids_of node2 dttrain | head -n 1)" node2
end_job
expect_status 0
expect_out 'Continuing from /tmp/again/checkpoint-(20|30|40|50|60|70), after step'
expect_equal "after a restart" "$(parameters | tail -n 1)" "$(tail -n 1 <<<"$whole")"

# SIGTERM to the launcher
begin /tmp/stopped
wait_for 60 "a checkpoint" has /tmp/stopped/checkpoint-10
signal TERM "$launcher"
end_job
expect_status 143
stopped=$(on node1 ls /tmp/stopped | sed -n 's/^checkpoint-//p' | sort -n | tail -n 1)
[ $((stopped % 10)) != 0 ] || [ "$stopped" -lt 80 ] || fail "it was not stopped: checkpoint-$stopped"
grep -q partial < <(on node1 ls /tmp/stopped) && fail "half of a checkpoint is left"
train /tmp/stopped
expect_status 0
expect_equal "after SIGTERM" "$(parameters)" "$whole"

# It does not start a checkpoint that would take longer than the ranks' grace.
# shellcheck disable=SC2016,SC2046
start_job "${two[@]}" sh -c 'DTLAUNCH_GRACE=0.001 DTLAUNCH_GRACE_FILE= exec "$0" "$@"' "$bin/dttrain" $(options /tmp/hurried)
wait_for 60 "a checkpoint" has /tmp/hurried/checkpoint-10
signal TERM "$launcher"
end_job
expect_status 143
expect_err 'nothing is saved after step [0-9]+: the last checkpoint took [0-9.]+ s to write, and 0.0 s are left of 0.001 s'
last=$(on node1 ls /tmp/hurried | sed -n 's/^checkpoint-//p' | sort -n | tail -n 1)
expect_equal "the last checkpoint's step modulo 10" "$((last % 10))" 0

# From a checkpoint of two ranks with one
on node1 cp -r /tmp/whole/checkpoint-60 /tmp/from
# shellcheck disable=SC2046
launch -np 1 "$bin/dttrain" $(options /tmp/one) --resume_from_checkpoint /tmp/from
expect_status 0
on node1 cat /tmp/whole/trainer_state.json >"$work/whole.json"
on node1 cat /tmp/one/trainer_state.json >"$work/one.json"
python3 - "$work/whole.json" "$work/one.json" <<'CHECK' || fail "the losses differ"
import json, sys
whole, one = ({e["step"]: e["loss"] for e in json.load(open(path))["log_history"] if "loss" in e}
              for path in sys.argv[1:])
assert set(whole) == set(one) and len(one) == 16, (sorted(whole), sorted(one))
worst = max(abs(whole[s] - one[s]) for s in whole)
print(f"largest difference of {len(one)} losses: {worst:.2g}")
assert worst <= 1e-5, worst
CHECK
