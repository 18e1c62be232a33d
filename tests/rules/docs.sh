#!/bin/bash
# The documentation site builds without a warning, and its links work. Then shows that the checks find a
# broken link, a missing anchor, a missing man page, and resources from other sites.
#   docs.sh [ROOT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$(cd "$here/../.." && pwd)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$root/scripts/docs" --no-install --out "$scratch/docs" || exit $?
html=$scratch/docs/html

fail() { echo "FAILED: $*"; exit 1; }

# finds TEXT HTML...: links.py must refuse a site with this line in its first page, and say TEXT.
finds() {
  cp "$html/index.html" "$scratch/index.html"
  printf '%s\n' "${@:2}" >>"$html/index.html"
  local said status=0
  said=$(python3 "$root/docs/site/links.py" "$html") || status=$?
  [ $status = 1 ] && grep -qF "$1" <<<"$said" || fail "links.py says of ${*:2}: $said"
  mv "$scratch/index.html" "$html/index.html"
}
finds 'nowhere.html leads to no file' '<a href="nowhere.html">x</a>'
finds '#nothing leads to no part' '<a href="man/dtlaunch.1.html#nothing">x</a>'
finds 'is loaded from elsewhere' '<script src="https://example.org/x.js"></script>'

# A small tree with mistakes that Sphinx must find.
bad=$scratch/tree
mkdir -p "$bad/docs" "$bad/man"
cp -r "$root/docs/site" "$bad/docs/site"
cp "$root/CMakeLists.txt" "$bad"
mkdir "$bad/scripts"
cp "$root/scripts/docs" "$root/scripts/packages.sh" "$bad/scripts"
cp "$root/man/dtlaunch-push.1" "$bad/man"
printf '%s\n' '# Install' '' '[there](not-there.md) [part](#not-here), see dtlaunch-nothing(1).' >"$bad/docs/install.md"
status=0
said=$("$bad/scripts/docs" --no-install --out "$scratch/bad" 2>&1) || status=$?
[ $status = 1 ] || fail "a tree with mistakes ends with status $status: $said"
for text in not-there.md not-here 'there is no page dtlaunch-nothing(1)'; do
  grep -qF "$text" <<<"$said" || fail "nothing is said of $text: $said"
done
echo "the rule of documentation: kept"
