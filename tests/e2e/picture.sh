#!/usr/bin/env bash
# The README's picture is a recording that browsers can play: well-formed, small, without scripts and
# without traces of the machine that made it. scripts/record-run makes it from a real run, and refuses
# one that reveals the machine.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard dttrain

# The texts of a picture, one line per terminal line, without those that are hidden at the end.
cat >"$work/texts.py" <<'PYTHON'
import re, sys, xml.etree.ElementTree as tree
path = sys.argv[1]
root = tree.parse(path).getroot()
space = "{http://www.w3.org/2000/svg}"
source = open(path, encoding="utf-8").read()
assert root.tag == space + "svg" and len(source) < 100_000, (root.tag, len(source))
names = {element.tag.removeprefix(space) for element in root.iter()}
assert names <= {"svg", "title", "desc", "style", "rect", "circle", "g", "text", "tspan"}, names
assert not re.search(r"(?i)href|url\(|@import|javascript", source), "it asks for something from elsewhere"
steps = set(re.findall(r"@keyframes (\w+)", source))
used = {name for element in root.iter(space + "text") for name in element.get("class").split()}
assert used <= steps and "scroll" in steps, used - steps
folders = {found for found in re.findall(r"(?<![\w.)])/[\w.-]+(?:/[\w.-]+)+", "".join(root.itertext()))}
assert all(found.startswith("/run/root/") for found in folders), folders
for text in root.iter(space + "text"):
    if text.get("visibility") != "hidden":
        print(" ".join(span.text for span in text))
PYTHON
texts() { python3 "$work/texts.py" "$1" >"$work/texts" || fail "$1 is no such picture"; }

picture=$root/README.svg
grep -q '(README.svg)' "$root/README.md" || fail "README.md does not show the picture"
texts "$picture"
grep -Eq '^\$ dtlaunch ' "$work/texts" || fail "the picture shows no command: $(cat "$work/texts")"
grep -Eq '^dtlaunch: rank 3 on node2 exited with status 1' "$work/texts" || fail "the picture shows no failure"
for word in "$(hostname)" "$root" "$HOME"; do
  case $word in localhost | /root | '') continue ;; esac
  ! grep -Fqw -- "$word" "$root/scripts/record-run" || continue # a word of the run itself
  ! grep -Fqw -- "$word" "$picture" || fail "the picture shows '$word'"
done

use_plain_path
export DTL_BIN=$bin
run "$root/scripts/record-run" "$work/short.svg" 'dtlaunch -f hosts -l hostname' 'echo $((6 * 7))'
[ "$status" != 77 ] || skip "$(tail -n 1 "$work/err")"
expect_status 0
texts "$work/short.svg"
expect_equal "the screen" "$(grep -v '^\$$' "$work/texts" | LC_ALL=C sort | paste -sd '|')" \
  '$ dtlaunch -f hosts -l hostname|$ echo $((6 * 7))|42|[0-1] node1|[2-3] node2'

run "$root/scripts/record-run" "$work/private.svg" "echo made in $root"
expect_status 1
expect_err 'belongs to this machine'
[ ! -e "$work/private.svg" ] || fail "a picture of the machine was written"
