#!/usr/bin/env bash
# On a terminal: progress bars of several ranks stay readable, labels are coloured and equal lines
# folded, the background leaves the terminal alone, ^Z stops everything and fg lets it go on, two ^C
# kill at once.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
run python3 "$e2e/terminal.py" "$bin/dtlaunch"
cat "$work/out"
expect_status 0
