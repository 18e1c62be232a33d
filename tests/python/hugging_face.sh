#!/usr/bin/env bash
# A script that uses Hugging Face's Trainer and does not know dtring trains under dtlaunch with --ddp_backend gloo,
# dtring and ccl. Its parameters have the same bits with all three.
#   hugging_face.sh LIBDTRING DTLAUNCH
# DTL_TEST_PYTHON: a Python with torch, transformers and accelerate.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
library=$1 dtlaunch=$2
skip() {
  echo "skipped: hugging_face: $*"
  exit 77
}
fail() {
  echo "FAILED: hugging_face.sh: $*" >&2
  exit 1
}
python=${DTL_TEST_PYTHON:-}
[ -n "$python" ] || skip "DTL_TEST_PYTHON names no python (scripts/test sets it)"
"$here/../support/has_modules" "$python" torch transformers accelerate || skip "$python has no transformers and accelerate"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A venv with that Python's packages and ours, as if installed by pip.
"$python" -m venv --without-pip "$work/venv"
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/a-reference.pth" # read before the next one
echo "$here/../../python" >>"$site/a-reference.pth"
cp "$here/../../python/dtring-autoload.pth" "$site/"
echo 'import atexit, time; atexit.register(time.sleep, 0.3)' >"$site/z-end-later.pth" # see venv.sh

"$python" -B "$here/make_texts.py" "$work"

ranks=2
train() { # BACKEND [VARIABLE=VALUE...]
  local backend=$1
  shift
  env HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1 DTRING_LIBRARY="$library" "$@" \
    "$dtlaunch" -np $ranks "$work/venv/bin/python" "$here/run_glue_like.py" --train_file "$work/train.json" \
    --validation_file "$work/dev.json" --config_name "$work/model" --output_dir "$work/$backend" \
    --use_cpu --ddp_backend "$backend" --num_train_epochs 6 --per_device_train_batch_size 8 \
    --learning_rate 2e-3 --report_to none --disable_tqdm true >"$work/out" 2>"$work/err"
}
parameters() { grep -o '"bits": "[0-9a-f]*"' "$work/out" | sort -u; }

train gloo || fail "gloo ended with $?: $(tail -n 20 "$work/err")"
gloo=$(parameters)
[ "$(wc -l <<<"$gloo")" = 1 ] || fail "ranks differ with gloo: $(cat "$work/out")"
grep -Eq '"accuracy": (0\.[89]|1)' "$work/out" || fail "nothing was learnt: $(cat "$work/out")"
for backend in dtring ccl; do
  train $backend DTRING_AUTOLOAD=1 || fail "$backend ended with $?: $(tail -n 20 "$work/err")"
  [ "$(parameters)" = "$gloo" ] || fail "$backend gives $(parameters), gloo $gloo"
  [ "$(grep -c "\"backend\": \"$backend\"" "$work/out")" = 2 ] || fail "not trained by $backend: $(cat "$work/out")"
done
[ "$(grep -c "the backend 'ccl' is dtring here" "$work/err")" = 1 ] || fail "ccl does not say what it is: $(cat "$work/err")"
# Nobody has imported dtring; one rank suffices: the card names the variable. Some versions of transformers know ccl.
ranks=1
for backend in dtring ccl; do
  if train $backend; then fail "--ddp_backend $backend works though nobody has imported dtring"; fi
  grep -Eq "invalid choice: '$backend'|Unknown backend type $backend|backend $backend is not available" "$work/err" ||
    fail "without DTRING_AUTOLOAD $backend says: $(tail -n 20 "$work/err")"
  grep -q '^  try      -genv DTRING_AUTOLOAD 1 ' "$work/err" ||
    fail "the card for $backend does not name DTRING_AUTOLOAD: $(tail -n 20 "$work/err")"
done
echo "gloo, dtring and ccl: $gloo"
