#!/bin/bash
# Every C and C++ file is as clang-format writes it (Debian bookworm's clang-format 14).
#   format.sh [ROOT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
root=${1:-$(cd "$here/../.." && pwd)}
if ! command -v clang-format >/dev/null; then
  echo "skipped: clang-format is not installed"
  exit 77
fi

cd "$root"
complaints=$(project_files . | grep -E '\.(cc|h|c)$' |
             { xargs -r -d '\n' clang-format --dry-run -Werror 2>&1 || true; } |
             awk -F: '/error:/ && !seen[$1]++ {
               print $1 ":" $2 ": not as clang-format writes it. Try: clang-format -i " $1 }')
report "the format rule" "$complaints"
