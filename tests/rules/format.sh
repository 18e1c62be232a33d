#!/bin/bash
# Every C and C++ file is formatted as clang-format 14 does, Debian bookworm's. Other versions break
# some lines elsewhere, so only that one is used.
#   format.sh [ROOT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
root=${1:-$(cd "$here/../.." && pwd)}
format= versions=
for program in clang-format-14 clang-format; do
  command -v "$program" >/dev/null || continue
  version=$("$program" --version | grep -oE 'version [0-9]+')
  if [ "$version" = "version 14" ]; then
    format=$program
    break
  fi
  versions=", this is ${version#version }"
done
if [ -z "$format" ]; then
  echo "skipped: needs clang-format 14, as in Debian bookworm${versions:-, and there is none}"
  exit 77
fi

cd "$root"
complaints=$(project_files . | grep -E '\.(cc|h|c)$' |
             { xargs -r -d '\n' "$format" --dry-run -Werror 2>&1 || true; } |
             awk -F: -v format="$format" '/error:/ && !seen[$1]++ {
               print $1 ":" $2 ": not as clang-format writes it. Try: " format " -i " $1 }')
report "the format rule" "$complaints"
