#!/usr/bin/env bash
# With DTL_SHARED_LIBRARIES, programs link the host's shared libraries; dtagent and dtguard stay
# static. Reads the linker's arguments, since a full build takes minutes; the target "package" links
# the same objects in the same way.
#   shared.sh BUILD_FOLDER CMAKE
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

"$cmake" -S "$root" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
  -DDTL_SHARED_LIBRARIES=ON >"$work/log" 2>&1 || fail "cmake: $(tail -n 20 "$work/log")"

line_of() { ninja -C "$work" -t commands "$1" | grep -E -- " -o (bin/$1|ring/lib$1\.so[.0-9]*) " | tail -n 1; }

expect_libraries() { # TARGET shared|inside LIBRARY...
  local target=$1 how=$2 line library
  line=$(line_of "$target")
  [ -n "$line" ] || fail "nothing links $target"
  shift 2
  for library in "$@"; do
    if [ "$how" = shared ]; then
      grep -qE "(/lib$library\.so|-l$library )" <<<"$line " || fail "$target does not link lib$library.so: $line"
      ! grep -q "/lib$library\.a" <<<"$line" || fail "$target carries lib$library.a: $line"
    else
      grep -q "/lib$library\.a" <<<"$line" || fail "$target does not carry lib$library.a: $line"
    fi
  done
}

expect_libraries dtlaunch shared ssh sqlite3 crypto z
expect_libraries dttrain shared openblas crypto utf8proc
expect_libraries dtring-perf shared crypto
expect_libraries dtring shared crypto
expect_libraries dtagent inside crypto hwloc
[ -z "$(line_of dtpmix)" ] || expect_libraries dtpmix shared pmix
[[ $(line_of dtguard) != *.so* ]] || fail "dtguard wants a shared library: $(line_of dtguard)"
echo "shared: dtlaunch, dttrain, dtring-perf, libdtring; static: dtagent, dtguard"
