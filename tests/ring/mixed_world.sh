#!/usr/bin/env bash
# Jobs whose ranks alternate between this machine's architecture and arm64: collectives give the same
# results (over TCP, since qemu cannot read another process's memory), and dttrain refuses to train.
# Skipped without qemu, the cross compiler, or programs of the preset arm64, which it starts in qemu.
#   mixed_world.sh BIN SOURCE_FOLDER     this build's programs
set -euo pipefail
bin=$1 build=$2/build/arm64
skip() { echo "skipped: $*"; exit 77; }
fail() {
  echo "FAILED: mixed_world.sh: $1" >&2
  cat "$work/log" >&2
  exit 1
}

for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v $tool >/dev/null || skip "$tool is missing (g++-aarch64-linux-gnu, qemu-user)"
done
for program in dtring-perf dttrain; do
  [ -x "$build/bin/$program" ] || skip "no $build/bin/$program (cmake --build --preset arm64)"
done
root=$(sed -n 's/^DTL_ARM64_ROOT:[A-Z]*=//p' "$build/CMakeCache.txt")
[ -n "$root" ] || root=build/arm64-root
[[ $root = /* ]] || root=$2/$root
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/rank" <<END
#!/bin/sh
program=\$1
shift
[ \$((RANK % 2)) = 0 ] || exec qemu-aarch64 -L '$root' '$build/bin/'\$program "\$@"
exec '$bin/'\$program "\$@"
END
chmod +x "$work/rank"

job() { # PROGRAM ARGUMENT...
  status=0
  (cd "$work" && "$bin/dtlaunch" -np 4 --oversubscribe "$work/rank" "$@") >"$work/log" 2>&1 || status=$?
}
sums() { # WHAT ARGUMENT...; every rank checks every element
  job dtring-perf -e 64K -f 16 -n 2 -w 0 "${@:2}"
  [ $status = 0 ] || fail "$1: status $status"
  echo "$1: $(grep -c -E '^ *[0-9]+ ' "$work/log") lines without an error"
}
sums 'all collectives' all
sums 'all operations and types' -o all -d all -e 4K allreduce
sums 'sums in bf16' --wire bf16 allreduce

job dttrain --demo
[ $status = 78 ] || fail "dttrain ends with $status, not 78"
grep -F 'ranks 0 and 1: run on x86-64 and arm64, whose results differ in the last bits' "$work/log" ||
  fail "dttrain does not say why"
