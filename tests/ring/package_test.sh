#!/usr/bin/env bash
# Another project can use the installed libdtring: the example of dtring(3) builds with pkg-config
# and with CMake's find_package and runs as a world of one. The library exports only dt_*, and its
# file has the ABI's name.
#   package_test.sh BUILD_FOLDER CMAKE GENERATOR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 cmake=$2 generator=$3 root=$here/../..
for tool in pkg-config cc readelf; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

"$cmake" --install "$build" --component dtring --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/prefix"  # nothing in it may depend on the installation path
library=$(find "$folder/prefix" -name libdtring.so)
pc=$(find "$folder/prefix" -name dtring.pc)
[ -n "$library" ] && [ -n "$pc" ] || fail "installed: $(find "$folder/prefix" -type f)"

abi=$(sed -n 's/^#define DT_ABI //p' "$folder/prefix/include/dtring.h")
grep -q "SONAME.*\[libdtring\.so\.$abi\]" < <(readelf -d "$library") || fail "the soname is not that of ABI $abi"
"$here/symbols.sh" "$library"

# The man page's program: from its first #include to the end of that block.
sed -n '/^#include <dtring.h>/,/^\.Ed/p' "$root/man/dtring.3" | sed '/^\.Ed/,$d; s/\\e/\\/g' >"$folder/mean.c"

expect_mean() { # PROGRAM
  local said
  said=$(LD_LIBRARY_PATH=$(dirname "$library") RANK=0 WORLD_SIZE=1 "$1") || fail "$1 ended with $?: $said"
  [ "$said" = "rank 0: mean 0" ] || fail "$1 says: $said"
}

export PKG_CONFIG_PATH=${pc%/*}
# shellcheck disable=SC2046
cc -std=c11 -Wall -Werror "$folder/mean.c" -o "$folder/by-pkg-config" $(pkg-config --cflags --libs dtring)
expect_mean "$folder/by-pkg-config"

version=$(pkg-config --modversion dtring)
cat >"$folder/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(mean LANGUAGES C)
find_package(dtring $version REQUIRED)
add_executable(mean mean.c)
target_link_libraries(mean PRIVATE dtring::dtring)
END
"$cmake" -G "$generator" -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/log" 2>&1 &&
  "$cmake" --build "$folder/build" >>"$folder/log" 2>&1 || fail "CMake: $(cat "$folder/log")"
expect_mean "$folder/build/mean"
echo "libdtring $version, ABI $abi, serves pkg-config and CMake"
