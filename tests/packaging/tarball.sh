#!/usr/bin/env bash
# The target "tarball" makes one archive with one folder, whose programs need only an old glibc
# (elf.sh). run_tarball.sh runs them on one, in bare roots.
#   tarball.sh BUILD_FOLDER CMAKE
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/again.sh"
build=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: tarball.sh: $*" >&2
  exit 1
}

DTL_QUICK=${DTL_QUICK-1} "$cmake" --build "$build" --target tarball >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
version=$(sed -n 's/^project(dtlaunch VERSION \([^ ]*\).*/\1/p' "$here/../../CMakeLists.txt")
name=dtlaunch-$version-linux-$(uname -m).tar.gz
[ "$(ls "$build/tarball")" = "$name" ] || fail "it is called $(ls "$build/tarball"), not $name"
pack_again "$cmake" "$build" tarball tarball
tar -xzf "$build/tarball/$name" -C "$work"
[ "$(tar -tzf "$build/tarball/$name" | cut -d / -f 1 | sort -u)" = "dtlaunch-$version" ] || fail "it has more than one folder"
tar -tvzf "$build/tarball/$name" | awk '$2 != "0/0"' | grep . && fail "files belong to somebody"
"$here/elf.sh" "$work/dtlaunch-$version"
for program in dtlaunch dtagent dtguard dttrain dtring-perf; do
  [ -x "$work/dtlaunch-$version/bin/$program" ] || fail "no $program in it"
done
"$here/sbom_check.py" "$work/dtlaunch-$version/share/doc/dtlaunch/dtlaunch.spdx.json" \
  "$work/dtlaunch-$version"/bin/* "$work/dtlaunch-$version"/lib/libdtring.so.*
said=$(cd / && PATH=/usr/bin:/bin "$work/dtlaunch-$version/bin/dtlaunch" -np 2 dtring-perf --maxbytes 4K 2>&1) || fail "it says $said"
! grep -rlF -e "$build" -e "$work" "$work/dtlaunch-$version" || fail "these know where they were made"
# Names of sources are the same with and without ccache: base/CMakeLists.txt, dtl_toml.
! grep -rlE '\.\./(agent|base|launcher|plan|ring|trainer|wire)/[a-z0-9_/]+\.(cc|h)' "$work/dtlaunch-$version/bin" "$work/dtlaunch-$version/lib" ||
  fail "these contain names of sources as seen from the build folder"
echo "$name: $(stat -c %s "$build/tarball/$name") bytes, $(du -sb "$work/dtlaunch-$version" | cut -f 1) unpacked"
