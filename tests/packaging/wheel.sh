#!/usr/bin/env bash
# `pip wheel .` in a copy of this tree makes one wheel with the right name. Its files are in the
# right places and keep the name's promise (elf.sh), and it works in a fresh venv (run_wheel.sh).
# The tree does not change. The wheel stays in BUILD_FOLDER/wheel.
#   wheel.sh BUILD_FOLDER
# DTL_DEBIAN_PYTHON: the Python that builds and runs it. Skipped without it, since pip downloads
# scikit-build-core.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "$1")
skip() {
  echo "skipped: wheel: $*"
  exit 77
}
fail() {
  echo "FAILED: wheel.sh: $*" >&2
  exit 1
}

python=${DTL_DEBIAN_PYTHON:-}
[ -n "$python" ] || skip "DTL_DEBIAN_PYTHON names no python (scripts/test sets it, unless --no-python-references)"
folder=$(mktemp -d "$build/wheel.XXXXXX")
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv" >/dev/null 2>&1 || skip "$python makes no venv (python3-venv)"
pip=("$folder/venv/bin/python" -m pip --disable-pip-version-check)
"${pip[@]}" download --quiet --dest "$folder/backend" 'scikit-build-core>=1.0' >"$folder/log" 2>&1 ||
  skip "pip cannot fetch scikit-build-core: $(tail -n 1 "$folder/log")"

# Tracked files, and new files that are not ignored.
tree=$folder/tree
mkdir "$tree"
(cd "$root" && git ls-files -z --cached --others --exclude-standard |
   while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done |
   tar --null --files-from=- -cf - ) | tar -xf - -C "$tree"
state() { (cd "$tree" && find . -path ./build -prune -o -type f -exec sha256sum {} + | sort); }
state >"$folder/before"

# The release preset's options, so that a compiler cache has all objects.
environment=(CMAKE_ARGS=-DDTL_WERROR=ON CMAKE_BUILD_PARALLEL_LEVEL="$(nproc)")
if command -v ccache >/dev/null; then
  environment+=(CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_C_COMPILER_LAUNCHER=ccache
    CCACHE_BASEDIR="$tree" CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content CCACHE_INODECACHE=1
    CCACHE_SLOPPINESS=locale,pch_defines,time_macros 'CCACHE_IGNOREOPTIONS=-ffile-prefix-map=*'
    CCACHE_STATSLOG="$folder/ccache.stats")
fi
began=$SECONDS
(cd "$tree" && env "${environment[@]}" "${pip[@]}" wheel --verbose --no-deps --wheel-dir "$folder/out" . \
   >"$folder/log" 2>&1) || { tail -n 60 "$folder/log" >&2; fail "pip wheel . failed"; }
echo "built in $((SECONDS - began)) s"
[ ! -s "$folder/ccache.stats" ] || CCACHE_STATSLOG="$folder/ccache.stats" ccache --show-log-stats | grep Hits: | head -n 1
state >"$folder/after"
diff "$folder/before" "$folder/after" || fail "pip wheel . wrote into the source tree"
[ -d "$tree/build" ] || fail "it was not built in build/"

version=$(sed -n 's/^project(dtlaunch VERSION \([^ ]*\).*/\1/p' "$root/CMakeLists.txt")
name=dtlaunch-$version-py3-none-manylinux_2_28_$(uname -m).whl
[ "$(ls "$folder/out")" = "$name" ] || fail "the wheel is called $(ls "$folder/out"), not $name"
wheel=$folder/out/$name
"$folder/venv/bin/python" -m zipfile -e "$wheel" "$folder/files"

# All programs, one library, its header, all pages; nothing that a venv does not need.
abi=$(sed -n 's/^#define DT_ABI //p' "$root/ring/dtring.h")
data=dtlaunch-$version.data
pages() {
  local page
  for page in $(sed -n '/^set(pages/,/^)/{/^  /p}' "$root/man/CMakeLists.txt"); do
    echo "$data/data/share/man/man${page##*.}/$page"
  done
}
programs=(dtlaunch dtagent dtguard dttrain dtring-perf)
! pkg-config --exists 'pmix >= 4.1' || programs+=(dtpmix)  # left out without libpmix-dev
{ printf "$data/scripts/%s\n" "${programs[@]}"
  printf '%s\n' "dtring.libs/libdtring.so.$abi" "$data/data/include/dtring.h"
  (cd "$root/python" && printf '%s\n' dtring/*.py dtring/py.typed _dtring_autoload.py dtring-autoload.pth)
  pages; } | sort >"$folder/wanted"
(cd "$folder/files" && find . -type f -printf '%P\n' | grep -v "^dtlaunch-$version.dist-info/" | sort) >"$folder/there"
missing=$(comm -23 "$folder/wanted" "$folder/there")
[ -z "$missing" ] || fail "not in the wheel: $missing"
others=$(comm -13 "$folder/wanted" "$folder/there" | grep -v -e "^$data/data/share/" || true)
[ -z "$others" ] || fail "why is this in the wheel? $others"
grep -qx 'License-Expression: Apache-2.0' "$folder/files/dtlaunch-$version.dist-info/METADATA" ||
  fail "its metadata name no licence"
cmp "$root/LICENSE" "$folder/files/dtlaunch-$version.dist-info/licenses/LICENSE" || fail "no LICENSE in it"

"$here/elf.sh" "$folder/files"
chmod +x "$folder/files/$data"/scripts/*  # zipfile forgets it
"$here/sbom_check.py" "$folder/files/dtlaunch-$version.dist-info/sboms/dtlaunch.spdx.json" \
  "$folder/files/$data"/scripts/* "$folder"/files/dtring.libs/*
"$folder/venv/bin/python" - "$wheel" <<'PYTHON' || fail "its files have times or modes of this build"
import sys, zipfile
files = zipfile.ZipFile(sys.argv[1]).infolist()
sys.exit(len({file.date_time for file in files}) > 1 or any(file.external_attr >> 16 & 0o022 for file in files))
PYTHON
"$here/run_wheel.sh" "$wheel" "$python"
rm -rf "$build/wheel"
mkdir "$build/wheel"
cp "$wheel" "$build/wheel/"
echo "$name: $(stat -c %s "$wheel") bytes, $(du -sb "$folder/files" | cut -f 1) unpacked"
