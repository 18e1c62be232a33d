#!/usr/bin/env bash
# Fuzzes every reader of untrusted files and bytes with libFuzzer under AddressSanitizer and UBSan.
#   cmake --preset fuzz && cmake --build --preset fuzz
#   tests/fuzz/libfuzzer.sh [--seconds N] [--seed S] [--program FILE] [--keep FOLDER] [READER...]
# Without READER, all readers for N seconds each (default 5), one per CPU at a time. The corpus
# grows in FOLDER, which later runs extend; without --keep it is temporary. Inputs that broke a
# reader are kept in build/fuzz/crashes, with the command to reproduce each. Exit status: 0 all
# readers held, 1 one did not, 64 wrong usage.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$root/build/fuzz/bin/reader_fuzz
crashes=$root/build/fuzz/crashes
seconds=5 seed=1 keep= readers=()

usage() {
  echo "libfuzzer.sh: $1. Try: sed -n 2,8p $0" >&2
  exit 64
}
number() { # OPTION VALUE
  case "$2" in
    '' | *[!0-9]*) usage "$1 takes a number, not '$2'" ;;
  esac
}

while [ $# -gt 0 ]; do
  case "$1" in
    --seconds | --seed | --program | --keep) [ $# -ge 2 ] || usage "$1 needs a value" ;;
  esac
  case "$1" in
    --seconds) number "$1" "$2"; seconds=$2; shift ;;
    --seed) number "$1" "$2"; seed=$2; shift ;;
    --program) program=$2; shift ;;
    --keep) keep=$2; shift ;;
    -*) usage "unknown option '$1'" ;;
    *) readers+=("$1") ;;
  esac
  shift
done
[ -x "$program" ] || {
  echo "libfuzzer.sh: $program is not there. Try: cmake --preset fuzz && cmake --build --preset fuzz" >&2
  exit 1
}

# In memory if there is room: most readers read files.
temporary=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")/dtl-libfuzzer.XXXXXX")
trap 'rm -rf "$temporary"' EXIT
export TMPDIR=$temporary
corpora=${keep:-$temporary/corpora}
mkdir -p "$corpora" "$crashes"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_stack_use_after_return=1:allocator_may_return_null=0"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-}:print_stacktrace=1"
limits=(-rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=60)  # the timeout is for hangs: busy machines are slow

fuzz() { # READER
  local log=$temporary/log dictionary=()
  if ! "$program" --reader="$1" --corpus="$corpora" >"$log" 2>&1; then
    cat "$log"
    echo "libfuzzer.sh: $1: its good inputs fail. See them: $program --reader=$1 --corpus=FOLDER"
    return 1
  fi
  [ ! -s "$corpora/$1.dict" ] || dictionary=(-dict="$corpora/$1.dict")
  if "$program" --reader="$1" -seed="$seed" -max_total_time="$seconds" "${limits[@]}" \
    "${dictionary[@]}" -max_len=4096 -print_final_stats=1 -artifact_prefix="$crashes/$1-" \
    "$corpora/$1" >"$log" 2>&1; then
    awk -v reader="$1" '
      /^#[0-9]+.* cov: / { for (i = 1; i < NF; ++i) if ($i == "cov:") edges = $(i + 1) }
      /number_of_executed_units/ { runs = $2 }
      END { printf "%-22s %9d inputs, %5d edges: held\n", reader, runs, edges }' "$log"
    return 0
  fi
  grep -v '^#[0-9]' "$log" | tail -60
  local input
  input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  echo "libfuzzer.sh: $1: broken. See it again: $program --reader=$1 ${limits[*]} ${input:-?}"
  return 1
}

if [ ${#readers[@]} = 1 ]; then
  fuzz "${readers[0]}"
  exit
fi
if [ ${#readers[@]} = 0 ]; then
  mapfile -t readers < <("$program" --list)
fi
[ ${#readers[@]} -gt 0 ] || { echo "libfuzzer.sh: $program lists no readers" >&2; exit 1; }
printf '%s\0' "${readers[@]}" | xargs -0 -n 1 -P "$(nproc)" "$0" --seconds "$seconds" \
  --seed "$seed" --program "$program" --keep "$corpora" || exit 1
