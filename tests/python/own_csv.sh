#!/usr/bin/env bash
# README's job "Your own CSV file on one machine" works up to its last line, which uses transformers'
# pipeline. Each command runs to the letter, except for the download of a model.
#   own_csv.sh DTTRAIN DTLAUNCH
# DTL_TEST_PYTHON: a Python with torch and transformers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
programs=$(dirname "$1")
[ "$programs" = "$(dirname "$2")" ] || { echo "FAILED: own_csv.sh: dttrain and dtlaunch lie apart" >&2; exit 1; }
skip() {
  echo "skipped: own_csv: $*"
  exit 77
}
fail() {
  echo "FAILED: own_csv.sh: $*" >&2
  exit 1
}
python=${DTL_TEST_PYTHON:-}
[ -n "$python" ] || skip "DTL_TEST_PYTHON names no python (scripts/test sets it)"
"$here/../support/has_modules" "$python" torch transformers || skip "$python has no transformers"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/MRPC"
"$python" -B "$here/../e2e/make_things.py" "$work" "$here/../e2e/make_sentences"

"$python" -B - "$here/../e2e" >"$work/commands" <<'READ'
import sys
sys.path.insert(0, sys.argv[1])
from documented import items_of
items = [item.text for item in items_of("README.md") if item.kind == "command"]
first = next(i for i, text in enumerate(items) if text.startswith("dttrain init"))
last = next(i for i, text in enumerate(items) if "pipeline" in text)
assert last - first == 2, items[first:last + 1]
print("\n".join(text.replace("\\\n", "") for text in items[first:last + 1]))
READ

# As after `activate`: python3 is the one with transformers.
export PATH="$(dirname "$python"):$programs:$PATH" HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
cd "$work"
while IFS= read -r command <&3; do
  bash -c "$command" >"$work/said" 2>&1 || fail "status $? of: $command: $(cat "$work/said")"
done 3<"$work/commands"
# The label is one of the file's, with the score of the likeliest class.
grep -qE "^\[\{'label': '[^']+', 'score': (0\.[0-9]+|1\.0)\}\]$" "$work/said" || fail "it said: $(cat "$work/said")"
label=$(sed -n "s/.*'label': '\([^']*\)'.*/\1/p" "$work/said")
grep -q "^$label," train.csv || fail "'$label' is not a label of train.csv"
echo "transformers reads the model of README's job: $label"
