#!/usr/bin/env bash
# The target "package" makes the four Debian packages. lintian finds nothing that packaging/debian
# does not override, and the programs run. tests/packaging/debs.sh installs the packages.
#   packages.sh BUILD_FOLDER CMAKE
set -euo pipefail
build=$1 cmake=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/again.sh"
for tool in lintian dpkg-deb dpkg-shlibdeps; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed (lintian, dpkg-dev)"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

DTL_QUICK=${DTL_QUICK-1} "$cmake" --build "$build" --target package >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
cd "$build/packages"
names=$(printf '%s\n' *.deb | sed 's/_.*//' | LC_ALL=C sort | tr '\n' ' ')
[ "$names" = "dtlaunch libdtring-dev libdtring2 python3-dtring " ] || fail "packages: $names"
pack_again "$cmake" "$build" package packages

root=()
[ "$(id -u)" != 0 ] || root=(--allow-root)
lintian "${root[@]}" --no-cfg --tag-display-limit 0 --fail-on error,warning ./*.deb || fail "lintian has something to say"

for package in *.deb; do dpkg-deb -x "$package" "$work/root"; done
bin=$work/root/usr/bin doc=$work/root/usr/share/doc
"$here/sbom_check.py" "$doc/dtlaunch/dtlaunch.spdx.json" "$bin"/*
"$here/sbom_check.py" "$doc/libdtring2/libdtring2.spdx.json" "$work"/root/usr/lib/*/libdtring.so.*
! grep -q '"name": "libssh"' "$doc/dtlaunch/dtlaunch.spdx.json" || fail "the SBOM lists libssh, which is the host's"
said=$("$bin/dtlaunch" -np 2 sh -c 'echo rank') || fail "dtlaunch: $said"
[ "$said" = $'rank\nrank' ] || fail "dtlaunch says $said"

[ "$("$bin/dtlaunch" --names)" = "$work/root/usr/libexec/dtlaunch/names" ] || fail "--names: $("$bin/dtlaunch" --names 2>&1)"

expect_library() { # PROGRAM LIBRARY PLACE: a pattern of the end of its line
  grep -q "^  $2 .* $3" < <("$bin/$1" --version -v) ||
    fail "$1 should have $2 $3: $("$bin/$1" --version -v)"
}
for library in libssh SQLite OpenSSL libssl zlib libstdc++ glibc; do expect_library dtlaunch $library '/.*\.so'; done
expect_library dtring-perf OpenSSL '/.*\.so'
expect_library dttrain OpenBLAS inside
expect_library dttrain OpenSSL inside
expect_library dtagent glibc inside

# The packages whose updates reach the programs, and the sources of the linked ones.
fields=$(dpkg-deb -f dtlaunch_*.deb Depends Static-Built-Using)
for package in libssh-4 libsqlite3-0 libssl3 zlib1g libstdc++6; do
  grep -q "^Depends:.* $package" <<<"$fields" || fail "dtlaunch does not depend on $package: $fields"
done
for source in glibc hwloc openblas openssl; do
  grep -q "^Static-Built-Using:.*\b$source (= " <<<"$fields" || fail "$source is not named: $fields"
done
grep -q libssl3 < <(dpkg-deb -f libdtring2_*.deb Depends) || fail "libdtring2 does not depend on libssl3"
# dtpmix comes with it, and an installation without Open MPI stays small.
if pkg-config --exists 'pmix >= 4.1'; then
  [ -x "$bin/dtpmix" ] && [ -L "$work/root/usr/share/man/man8/dtpmix.8.gz" ] || fail "no dtpmix in the packages"
  grep -q 'libpmix2[a-z0-9]* (>= ' < <(dpkg-deb -f dtlaunch_*.deb Suggests) || fail "libpmix is not suggested"
  ! grep -q pmix <<<"$fields" || fail "dtlaunch cannot do without libpmix: $fields"
fi
du -b ./*.deb
