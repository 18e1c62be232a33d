#!/usr/bin/env bash
# A training leaves a profile, and forecast makes a table of it with links that it measures between
# two hosts or that are given. What cannot be meant is refused before a host is asked. No timing is
# claimed: bench/forecast.py compares forecasts with runs.
. "$(dirname "$0")/lib.sh"
need_program dttrain dtring-perf
need_cluster 2
forecast() { run "$cluster" exec node1 "$bin/dtlaunch" forecast "$@"; }
field() { python3 -c 'import json, sys; print(eval(sys.argv[1], {"a": json.load(sys.stdin)}))' "$1" <"$work/out"; }

{
  printf 'sentence\tlabel\n'
  for i in {1..48}; do printf 'the %s relay number %s is clean\t%s\n' "small" "$i" "class$((i % 2))"; done
} >"$work/train.tsv"
run "$bin/dttrain" init --train_file "$work/train.tsv" --vocab_size 100 --hidden_size 32 --num_hidden_layers 1 \
  --num_attention_heads 2 --intermediate_size 64 --max_seq_length 32 --output_dir "$work/model"
expect_status 0
train() { # OUTPUT OPTION OF DTLAUNCH...
  run "$cluster" exec node1 "$bin/dtlaunch" "${@:2}" "$bin/dttrain" --model_name_or_path "$work/model" \
    --do_train --train_file "$work/train.tsv" --max_steps 6 --output_dir "$work/$1"
  expect_status 0
}

# ---- a measured step and measured links
train one -np 1
forecast --from "$work/one" -f "$work/hosts"
expect_status 0
expect_out '^step: +5 steps of .*/one, [0-9.]+ MB of f32 gradients, 1 rank per node$'
expect_out '^links: .*measured between 2 hosts$'
expect_out '^NODES +STEP-S'
expect_out '^ +1 .* 1\.00 .* 100% '
expect_out '^ +2 '
expect_out '^limit: '
expect_out '^what if: .*bf16 gradients on the wire: speed-up [0-9.]+ on 2 nodes$'
forecast --from "$work/one" -hosts node1,node2 --nodes 16,2 --json
expect_status 0
expect_equal "the schema" "$(field 'a["schema"]')" dtlaunch-forecast/1
expect_equal "the rows" "$(field '[row["nodes"] for row in a["forecasts"]]')" "[1, 2, 16]"
expect_equal "whether the links were measured" "$(field 'a["links"]["gbits"] > 0')" True

# ---- one measured on two hosts is compared with the model
train two -f "$work/hosts" -ppn 1
forecast --from "$work/two" --from "$work/one" --link-gbit 10
expect_status 0
expect_out '^measured: [0-9.]+ s per step on 2 nodes; the model says'
expect_out '^what if: .*as .*/one was measured'

# ---- figures instead of a profile
forecast --step-seconds 1.5 --gradient-mb 440 --link-gbit 1 --nodes 8
expect_status 0
expect_out '^limit: +the network: [0-9.]+ of [0-9.]+ s on 8 nodes wait for sums;$'

# ---- refusals
refuse() { # STATUS MESSAGE OPTION...
  forecast "${@:3}"
  expect_status "$1"
  expect_err "$2"
}
refuse 64 '--from: no step was measured, and --step-seconds gives none' --link-gbit 1
refuse 64 '--link-gbit: no link is known' --from "$work/one"
refuse 64 'the links of the hosts are measured' --from "$work/one" --link-gbit 1 -hosts node1,node2
refuse 64 'it needs the size of the gradients' --step-seconds 1 --link-gbit 1
refuse 64 'it needs the time of a step' --gradient-mb 1 --from "$work/one" --link-gbit 1
refuse 64 '--from has measured the step' --from "$work/one" --step-seconds 1 --gradient-mb 1 --link-gbit 1
refuse 64 'one host has no link to another' --from "$work/one" -hosts node1
refuse 64 'no link is measured' --from "$work/one" --link-gbit 1 --iface eth0
refuse 64 '--nodes 1: too small' --from "$work/one" --link-gbit 1 --nodes 1
refuse 65 'step_profile.json: cannot read: it does not exist' --from "$work" --link-gbit 1
refuse 69 'cannot measure the links' --from "$work/one" -hosts node1,nosuchhost
