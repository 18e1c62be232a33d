#!/usr/bin/env bash
# dttrain on two hosts: only rank 0's host has the data, the vocabulary and the initial weights, and
# only there is anything written. All ranks end with the same parameters. The loss of each of 100
# steps is within 1e-4 of one process with the same global batch.
. "$(dirname "$0")/lib.sh"
limit=60
need_program dttrain
need_cluster 2

on node1 sh -c "'$e2e/make_sentences' 1000 1 >/tmp/train.tsv && '$e2e/make_sentences' 200 2 >/tmp/test.tsv"
run "$cluster" exec node1 "$bin/dttrain" init --train_file /tmp/train.tsv --vocab_size 200 \
  --hidden_size 32 --num_hidden_layers 2 --num_attention_heads 2 --intermediate_size 64 \
  --output_dir /tmp/model
expect_status 0

train() { # FOLDER LAUNCH-ARGUMENTS...
  local folder=$1
  shift
  launch "$@" "$bin/dttrain" --model_name_or_path /tmp/model --train_file /tmp/train.tsv \
    --validation_file /tmp/test.tsv --do_train --do_eval --global_batch_size 32 --max_steps 100 \
    --learning_rate 1e-3 --logging_steps 1 --output_dir "$folder"
  expect_status 0
  on node1 cat "$folder/trainer_state.json" >"$work/${folder##*/}.json"
  on node1 cat "$folder/model.safetensors" >"$work/${folder##*/}.safetensors"
}
train /tmp/one -np 1
train /tmp/four -f "$work/hosts" -np 4 -ppn 2
for file in /tmp/train.tsv /tmp/model /tmp/four; do
  on node2 test ! -e "$file" || fail "node2 has $file"
done

python3 - "$work/one.json" "$work/four.json" <<'CHECK' || fail "the loss curves differ"
import json, sys
curves = []
for path in sys.argv[1:]:
    log = json.load(open(path))["log_history"]
    curves.append([entry["loss"] for entry in log if "loss" in entry])
one, four = curves
assert len(one) == len(four) == 100, (len(one), len(four))
worst = max(abs(a - b) for a, b in zip(one, four))
print(f"100 losses, {one[0]:.4f} -> {one[-1]:.4f}, largest difference {worst:.2g}")
assert worst <= 1e-4, worst
assert one[-1] < 0.5 * one[0], "nothing was learnt"
CHECK
