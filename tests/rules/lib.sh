# Shared by the rule scripts: lists files, and reports violations.

# The project's files below a folder, one per line.
project_files() {
  local root=$1
  if [ "$(git -C "$root" rev-parse --show-prefix 2>/dev/null)" = "" ] &&
     git -C "$root" ls-files --error-unmatch . >/dev/null 2>&1; then
    # Skip files that are tracked but deleted.
    git -C "$root" ls-files --cached | while IFS= read -r file; do
      [ -f "$root/$file" ] && printf '%s\n' "$file"
    done
  else
    (cd "$root" && find . -type f -not -path './.git/*' -not -path './build/*' \
                        -not -path './out/*' | sed 's|^\./||' | LC_ALL=C sort)
  fi
}

# Ends the script: silently if the list of violations is empty, else by printing it.
report() {
  local rule=$1 complaints=$2
  if [ -n "$complaints" ]; then
    printf '%s\n' "$complaints"
    printf '%s: %s\n' "$rule" "broken in $(printf '%s\n' "$complaints" | wc -l) place(s)"
    exit 1
  fi
  printf '%s: kept\n' "$rule"
}
