#!/bin/bash
# scripts/lint finds planted faults, also in a unity build and in a header, and with --changed
# checks only what differs from main.
#   lint.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
for tool in clang-tidy-14 cmake ninja git; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r "$root/.clang-tidy" "$root/scripts" "$tree"
cd "$tree"
mkdir base wire

cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_library(base STATIC base/good.cc base/moved.cc)
add_library(wire STATIC wire/loop.cc)
target_include_directories(base PUBLIC .)
target_include_directories(wire PUBLIC .)
set_target_properties(base PROPERTIES UNITY_BUILD ON)
END
printf '%s\n' '#pragma once' '#include <string>' '#include <utility>' 'std::string good(std::string text);' >base/good.h
printf '%s\n' '#include "base/good.h"' 'std::string good(std::string text) { return text + "!"; }' >base/good.cc
moved() { # WHAT RETURNS
  printf '%s\n' '#include <string>' '#include <utility>' 'std::size_t moved(std::string text) {' \
    '  const std::string other = std::move(text);' "  return $1.size();" '}' >base/moved.cc
}
loop() { # TYPE
  printf '%s\n' '#include <cstddef>' '#include "base/good.h"' 'std::size_t count(const std::string& text) {' \
    '  std::size_t sum = 0;' "  for ($1 i = 0; i < text.size(); ++i) ++sum;" '  return sum;' '}' >wire/loop.cc
}

failures=0
expect() { # STATUS TEXT [OPTIONS OF LINT...]
  local status=0 said
  said=$(scripts/lint "${@:3}" 2>&1) || status=$?
  [ $status = "$1" ] && grep -qF -- "$2" <<<"$said" && return
  echo "FAILED: scripts/lint ${*:3} should end with $1 and say '$2'; it ended with $status and said:"
  printf '%s\n' "$said" | sed 's/^/    /'
  failures=$((failures + 1))
}

moved other && loop std::size_t
expect 0 'passed: the whole tree: 0 findings in 2 units'
git init -q -b main .
git config user.name test && git config user.email test@localhost
printf '/build\n' >.gitignore
git add -A && git commit -q -m first
expect 0 'passed: the whole tree: 0 findings in 2 units' --changed  # the change is unknown

moved text
expect 1 "base/moved.cc:5:10: error: 'text' used after it was moved [bugprone-use-after-move"
expect 1 '1 findings in 1 units' base/moved.cc
expect 0 '0 findings in 1 units' wire/loop.cc
git commit -q -a -m fault
expect 1 'base/moved.cc:5:10' --changed  # on main: since the commit before
git checkout -q -b topic
loop short
expect 1 'wire/loop.cc:5:' --changed
moved other && loop std::size_t
git commit -q -a -m good
expect 0 '0 findings in 1 units' --changed  # since main, which has the fault
printf '%s\n' 'inline std::size_t end(std::string text) { return good(std::move(text)).size() + text.size(); }' >>base/good.h
expect 1 'base/good.h:5:' --changed
printf '%s\n' 'int length(const std::string& text) { return int(text.size()); }' >base/moved.cc
expect 1 'base/moved.cc: error: it does not compile alone' base/moved.cc  # the unity build hides it
expect 1 'base/moved.cc:1:' base/moved.cc
moved other
printf '%s\n' '#pragma once' 'std::string hidden();' >base/hidden.h
printf '%s\n' '#include <string>' '#include "base/hidden.h"' 'std::string good(std::string text) { return text; }' \
  >base/good.cc
expect 1 'base/hidden.h: error: it does not compile alone' base/hidden.h
rm base/hidden.h && git checkout -q base && git branch -f main && git commit -q --allow-empty -m nothing
printf '%s\n' '// A comment.' >>base/moved.cc
expect 0 'no source is among it' --changed
printf '%s\n' 'int more;' >>base/moved.cc
expect 0 '0 findings in 1 units' --changed
printf '%s\n' '#include "no/such.h"' >base/moved.cc
expect 1 'base/moved.cc:1:10: fatal error: no/such.h' base/moved.cc
expect 64 '--changed takes no files' --changed base/moved.cc
moved other
printf '%s\n' '#pragma once' '#include <string>' '#include <utility>' '// no reader of its own' >base/alone.h
expect 0 '0 findings in' --seconds 600
[ $failures = 0 ] || exit 1
echo "scripts/lint finds what is planted"
