#!/usr/bin/env bash
# A tarball keeps its promises in a folder with blanks: programs, library and the package for Python run
# from there. Needs only bash, coreutils and tar, so it runs in bare roots, also of old systems
# (tests/clean_room, tarball_11 and tarball_1804).
#   run_tarball.sh TARBALL
set -euo pipefail
tarball=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: run_tarball.sh: $*" >&2
  exit 1
}

mkdir "$folder/home" "$folder/cwd" "$folder/a place"
tar -xzf "$tarball" -C "$folder/a place"
unpacked=$(echo "$folder/a place"/*)
cd "$folder/cwd"
clean() { env -i HOME="$folder/home" PATH="$unpacked/bin:/usr/bin:/bin" LANG=C.UTF-8 "$@"; }

version=${unpacked##*/dtlaunch-}
for program in dtlaunch dttrain dtagent dtring-perf; do
  clean $program --version >"$folder/out" || fail "$program --version ended with $?"
  [[ $(head -n 1 "$folder/out") = "$program $version"* ]] || fail "$program --version says $(cat "$folder/out")"
done
clean dtlaunch -np 2 sh -c 'echo "rank $RANK"' >"$folder/out" || fail "a job ended with $?"
[ "$(sort "$folder/out" | tr '\n' ' ')" = "rank 0 rank 1 " ] || fail "a job prints $(cat "$folder/out")"
status=0
clean dtlaunch -np 2 sh -c 'kill -USR1 $$' 2>"$folder/err" || status=$?
grep -q 'killed by SIGUSR1' "$folder/err" && [ $status = 138 ] || fail "a killed rank: $status, $(cat "$folder/err")"
clean dtlaunch -np 2 dtring-perf --maxbytes 4K >"$folder/out" 2>&1 || fail "dtring-perf: $(cat "$folder/out")"

# The demonstration: two ranks train with libdtring.
clean dtlaunch -np 2 >"$folder/out" 2>"$folder/err" ||
  fail "the demonstration ended with $?: $(cat "$folder/err" "$folder/out")"
grep -q accuracy "$folder/out" || fail "the demonstration says $(cat "$folder/out")"

python='not tested'
if command -v python3 >/dev/null; then
  python=$(python3 --version)
  abi=$(sed -n 's/^#define DT_ABI //p' "$unpacked/include/dtring.h")
  said=$(clean python3 -c 'import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).dt_abi_version())' \
    "$unpacked/lib/libdtring.so") || fail "libdtring in Python"
  [ "$said" = "$abi" ] || fail "libdtring is of ABI $said, its header of $abi"
  [ -s "$unpacked/lib/python3/dist-packages/dtring/__init__.py" ] || fail "no package dtring"
fi
echo "$(basename "$tarball"): run with $(ldd --version | sed 's/.* /glibc /;q'), $python"
