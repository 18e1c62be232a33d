#!/usr/bin/env bash
# Scripts with Hugging Face's Trainer on two hosts with two ranks each: a classifier and a SQuAD reader, over
# gloo and dtring; the classifier also with ccl, and the reader as in the manual's example. All ranks end with
# the same bits; the backends give the same predictions, and equal models up to rounding.
#   trainer_on_hosts.sh LIBDTRING
. "$(dirname "$0")/hosts.sh" "$1" DTL_TEST_PYTHON transformers accelerate
"$python" -B "$here/make_texts.py" "$work" || fail "no data"
# Named as in the manual.
cp "$here/run_qa_like.py" "$work/run_qa.py"
common=(--config_name model --use_cpu --report_to none --disable_tqdm true --per_device_train_batch_size 4)

train() { # NAME SCRIPT BACKEND ARGUMENTS...
  local name=$1 script=$2 backend=$3 autoload=()
  shift 3
  [ "$backend" = gloo ] || autoload=(DTRING_AUTOLOAD=1)
  on_hosts "$name" "${autoload[@]}" -- -f hosts -np 4 -ppn 2 python3 "$script" "${common[@]}" "$@" \
    --output_dir "$name" --ddp_backend "$backend"
  expect_status 0
}
agree() { # SCORE LEAST RUN=BACKEND...
  (cd "$work" && "$python" -B "$here/agree.py" "$@") || fail "they do not agree: $*"
}

for backend in gloo ccl; do
  train glue-$backend "$here/run_glue_like.py" $backend --train_file train.json --validation_file dev.json \
    --num_train_epochs 6 --learning_rate 2e-3
done
agree accuracy 0.7 glue-gloo=gloo glue-ccl=ccl
expect_count 1 "the backend 'ccl' is dtring here" "$work/glue-ccl.err"

train qa-gloo "$work/run_qa.py" gloo --train_file squad-train.json \
  --validation_file squad-dev.json --num_train_epochs 8 --learning_rate 3e-3

# With dtring, as dtring-torch(7) shows it, to the letter.
example=$("$python" -B "$here/example.py" trainer)
example_on_hosts qa-dtring "$example"
expect_status 0
agree f1 60 qa-gloo=gloo qa-dtring=dtring
