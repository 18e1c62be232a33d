# Shared by the rule scripts: which files there are, and how a broken rule is reported.

# Names of the files below a folder that belong to the project, one per line.
project_files() {
  local root=$1
  if [ "$(git -C "$root" rev-parse --show-prefix 2>/dev/null)" = "" ] &&
     git -C "$root" ls-files --error-unmatch . >/dev/null 2>&1; then
    # A file that is tracked but deleted has nothing to be checked.
    git -C "$root" ls-files --cached | while IFS= read -r file; do
      [ -f "$root/$file" ] && printf '%s\n' "$file"
    done
  else
    (cd "$root" && find . -type f -not -path './.git/*' -not -path './build/*' \
                        -not -path './out/*' | sed 's|^\./||' | LC_ALL=C sort)
  fi
}

# Ends the script: quietly when the list of complaints is empty, else with it.
report() {
  local rule=$1 complaints=$2
  if [ -n "$complaints" ]; then
    printf '%s\n' "$complaints"
    printf '%s: %s\n' "$rule" "broken in $(printf '%s\n' "$complaints" | wc -l) place(s)"
    exit 1
  fi
  printf '%s: kept\n' "$rule"
}
