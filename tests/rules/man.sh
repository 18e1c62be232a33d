#!/bin/bash
# Man pages are correct: they list exactly the options of --help, below the same headings, and mandoc
# has no complaints about any page.
#   man.sh BIN_FOLDER [ROOT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
bin=${1:?the folder with the programs}
root=${2:-$(cd "$here/../.." && pwd)}
if ! command -v mandoc >/dev/null; then
  echo "skipped: mandoc is not installed"
  exit 77
fi

# All options of a program; for dttrain, --help-all leaves out options without effect.
all_help() { # PROGRAM
  case $1 in
    dtlaunch) "$bin/$1" --help-all ;;
    dttrain) "$bin/$1" __options ;;
    *) "$bin/$1" --help ;;
  esac 2>&1 </dev/null
}

# Options at the start of a line of --help: "  -f, -hostfile FILE   ..." -> f hostfile.
options_of_help() {
  awk '/^[ \t]+-/ {
    sub(/^[ \t]+/, "")
    sub(/[ \t][ \t].*$/, "")
    while (match($0, /(^|[ ,|\/])--?[A-Za-z?][A-Za-z0-9_-]*/)) {
      option = substr($0, RSTART, RLENGTH)
      gsub(/^[ ,|\/]*-+/, "", option)
      print option
      $0 = substr($0, RSTART + RLENGTH)
    }
  }' | LC_ALL=C sort -u
}

# Options of the lists of an mdoc page: ".It Fl f , Fl -hostfile Ar file" -> f hostfile.
options_of_page() {
  awk '/^\.It / {
    in_flag = 0
    for (i = 2; i <= NF; ++i) {
      if ($i ~ /^[A-Z][a-z]$/) { in_flag = ($i == "Fl"); continue }
      if (!in_flag || $i !~ /^[-A-Za-z?]/) continue
      option = $i
      gsub(/\\&/, "", option)
      sub(/^-+/, "", option)
      print option
    }
  }' "$1" | LC_ALL=C sort -u
}

# The same, each with its heading: "Where to run: f".
placed_in_help() {
  awk 'before == "" && /^[A-Z]/ { next_heading = $0; sub(/:$/, "", next_heading) }
    /^  -/ && next_heading != "" { heading = next_heading }
    /^  -/ && heading != "" { print heading "\t" $0 }
    !/^[A-Z]/ { next_heading = "" }
    { before = $0 }' |
    while IFS=$'\t' read -r heading line; do
      printf '%s\n' "  $line" | options_of_help | sed "s|^|$heading: |"
    done | LC_ALL=C sort -u
}
placed_in_page() {
  local section
  awk '/^\.S[sh] / { sub(/^\.S[sh] /, ""); heading = $0; next } heading != "" { print heading "\t" $0 }' "$1" |
    grep $'\t[.]It ' | while IFS=$'\t' read -r section line; do
      options_of_page <(printf '%s\n' "$line") | sed "s|^|$section: |"
    done | LC_ALL=C sort -u
}

# check_program PROGRAM PAGE [SUBCOMMAND...]; options of subcommands are on the same page.
check_program() {
  local program=$1 page=$2 help subcommand
  if [ ! -f "$page" ]; then
    echo "$program has no man page ${page#"$root"/}"
    return
  fi
  if ! help=$(all_help "$program"); then
    echo "$program --help fails"
    return
  fi
  for subcommand in "${@:3}"; do
    help+=$'\n'$("$bin/$program" "$subcommand" --help 2>&1 </dev/null) ||
      echo "$program $subcommand --help fails"
  done
  local shown written
  shown=$(printf '%s\n' "$help" | options_of_help)
  written=$(options_of_page "$page")
  if [ -z "$shown" ]; then echo "$program --help shows no option"; fi
  comm -23 <(printf '%s\n' "$shown") <(printf '%s\n' "$written") |
    sed "s|^.*|$program: option '&' is in --help but not in ${page##*/}|; /''/d"
  comm -13 <(printf '%s\n' "$shown") <(printf '%s\n' "$written") |
    sed "s|^.*|$program: option '&' is in ${page##*/} but not in --help|; /''/d"
  comm -23 <(all_help "$program" | placed_in_help) <(placed_in_page "$page") |
    sed "s|^.*|$program: --help has '&', and ${page##*/} has it below another heading|"
}

# check_subcommands PAGE NAME...: the page has exactly the options of these subcommands.
check_subcommands() {
  local page=$1 help='' name shown written
  shift
  if [ $# = 0 ]; then
    echo "${page##*/} does not say which subcommands it is about"
    return
  fi
  for name in "$@"; do
    help+=$("$bin/dtlaunch" "$name" --help 2>&1 </dev/null)$'\n' ||
      echo "dtlaunch $name --help fails"
  done
  shown=$(printf '%s\n' "$help" | options_of_help)
  written=$(options_of_page "$page")
  comm -23 <(printf '%s\n' "$shown") <(printf '%s\n' "$written") |
    sed "s|^.*|dtlaunch $*: option '&' is in --help but not in ${page##*/}|; /''/d"
  comm -13 <(printf '%s\n' "$shown") <(printf '%s\n' "$written") |
    sed "s|^.*|dtlaunch $*: option '&' is in ${page##*/} but not in --help|; /''/d"
}

complaints=$(
  for page in "$root"/man/*.[1-9]; do
    [ -f "$page" ] || continue
    grep -qw -- "${page##*/}" "$root/man/CMakeLists.txt" 2>/dev/null ||
      echo "${page#"$root"/} is not installed: it is missing in man/CMakeLists.txt"
    mandoc -T lint -W warning "$page" 2>&1 | sed "s|^mandoc: ||; s|^$root/||" || true
  done
  [ -x "$bin/dtlaunch" ] && check_program dtlaunch "$root/man/dtlaunch.1"
  # A page dtlaunch-NAME.1 covers the subcommands in its lines "\" subcommands: ps logs".
  for page in "$root"/man/dtlaunch-*.1; do
    [ -f "$page" ] && [ -x "$bin/dtlaunch" ] || continue
    check_subcommands "$page" $(sed -n 's/^\.\\" subcommands: //p' "$page")
  done
  [ -x "$bin/dttrain" ] && check_program dttrain "$root/man/dttrain.1" init encode
  [ -x "$bin/dtagent" ] && check_program dtagent "$root/man/dtagent.8"
  [ -x "$bin/dtring-perf" ] && check_program dtring-perf "$root/man/dtring-perf.1"
  true
)
for program in dtlaunch dttrain dtagent dtring-perf; do
  [ -x "$bin/$program" ] || echo "not checked: $program has not been built"
done
report "the man page rule" "$complaints"
