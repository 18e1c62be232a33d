#!/usr/bin/env bash
# A job file whose [trainer] table has dttrain's settings trains on hosts from the command line.
. "$(dirname "$0")/lib.sh"
limit=60
need_program dttrain
need_cluster 2

on node1 sh -c "'$e2e/make_sentences' 400 1 >/tmp/train.tsv && '$e2e/make_sentences' 100 2 >/tmp/test.tsv"
run "$cluster" exec node1 "$bin/dttrain" init --train_file /tmp/train.tsv --vocab_size 200 \
  --hidden_size 32 --num_hidden_layers 1 --num_attention_heads 2 --intermediate_size 64 \
  --output_dir /tmp/model
expect_status 0
cat >"$work/train.toml" <<'TOML'
[trainer]
model_name_or_path = "/tmp/model"
train_file = "/tmp/train.tsv"
validation_file = "/tmp/test.tsv"
do_train = true
do_eval = true
per_device_train_batch_size = 8
max_steps = 30
learning_rate = 1e-3
output_dir = "/tmp/out"
TOML
launch -f "$work/hosts" -np 4 -ppn 2 -c "$work/train.toml"
expect_status 0
expect_out 'accuracy'
on node1 test -s /tmp/out/model.safetensors || fail "no model was written"
