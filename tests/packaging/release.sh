#!/usr/bin/env bash
# scripts/release refuses a tree with changes, a version that exists, and a folder that exists, before it makes
# anything, and says what to do. In a small repository with its own copy of the script.
#   release.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v git >/dev/null || { echo "skipped: git is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree

fail() {
  echo "FAILED: release.sh: $*" >&2
  exit 1
}
commit() { # FILE TEXT
  printf '%s\n' "$2" >"$tree/$1"
  git -C "$tree" add -A
  git -C "$tree" -c user.name=me -c user.email=me@localhost commit -qm "$1"
}
expect() { # STATUS TEXT OPTION...
  local status=0 said
  said=$("$tree/scripts/release" "${@:3}" 2>&1) || status=$?
  [ $status = "$1" ] || fail "${*:3} ends with $status: $said"
  [[ $said == *"$2"* ]] || fail "${*:3} says: $said"
}

mkdir -p "$tree/scripts"
git -C "$work" init -q tree
cp "$root/scripts/release" "$tree/scripts/"
commit CMakeLists.txt 'project(dtlaunch VERSION 1.2.3 LANGUAGES CXX)'
commit CHANGELOG.md '## Unreleased'
commit .gitignore build/

expect 0 '  scripts/release [OPTIONS]' --help
expect 64 "unknown option '--twise'. Try: scripts/release --help" --twise
expect 64 '--output: no folder follows' --output
expect 1 'CHANGELOG.md: its newest entry is Unreleased, so 1.2.3 exists' --no-rooms
commit CHANGELOG.md '## 1.2.3 - 2026-11-29'
git -C "$tree" tag v1.2.3
expect 1 'version 1.2.3 has the tag v1.2.3 already. Try: ' --no-rooms
git -C "$tree" tag -d v1.2.3 >/dev/null
echo >"$tree/new"
expect 1 'the tree has changes: ?? new. Try: git stash --include-untracked' --rehearsal
rm "$tree/new"
mkdir -p "$tree/build/releases/1.2.3"
expect 1 "$tree/build/releases/1.2.3 exists already. Try: rm -r " --rehearsal
[ ! -e "$tree/build/releases/1.2.3.work" ] || fail "a refused release wrote files"

# Not refused: a step fails, and names its log.
expect 1 "release: versions: status 2. Try: less $work/out.work/versions.log" --output "$work/out"
[ ! -e "$work/out" ] || fail "a failed release left its folder"
echo "scripts/release: what it refuses, and a failed step"
