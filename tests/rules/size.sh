#!/bin/bash
# Source files have at most 400 lines: split longer ones.
#   size.sh [ROOT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
root=${1:-$(cd "$here/../.." && pwd)}
limit=400

complaints=$(cd "$root" && project_files . | grep -E '\.(cc|h|c|py|sh)$|^scripts/' |
             while IFS= read -r file; do
               lines=$(wc -l <"$file")
               [ "$lines" -le "$limit" ] || echo "$file: $lines lines, at most $limit"
             done)
report "the size rule" "$complaints"
