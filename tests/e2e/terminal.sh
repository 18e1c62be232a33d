#!/usr/bin/env bash
# On a terminal: progress bars of several ranks stay readable, dttrain's bar and lines fit, labels are
# coloured, equal lines are folded, a background job leaves the terminal alone, ^Z stops everything
# and fg continues it, two ^C kill at once.
. "$(dirname "$0")/lib.sh"
limit=120
need_program dtlaunch dtagent dtguard dttrain
"$e2e/make_sentences" 1000 1 >"$work/train.tsv" || fail "make_sentences"
run "$bin/dttrain" init --train_file "$work/train.tsv" --vocab_size 200 --hidden_size 64 --num_hidden_layers 2 \
  --num_attention_heads 2 --intermediate_size 128 --output_dir "$work/model"
expect_status 0
run python3 "$e2e/terminal.py" "$bin/dtlaunch" "$work"
cat "$work/out"
expect_status 0
