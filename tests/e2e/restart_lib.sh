# shellcheck shell=bash
# Shared by the scripts about --max-restarts: ranks that record their start and run until told to end. Sources
# lib.sh first.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
limit=60
need_cluster 3

# Each rank writes a line to $work/ranks at its start: EPOCH RANK HOST PID STARTTIME.
cat >"$work/rank" <<'RANK'
#!/usr/bin/env bash
# rank FILE FATE...: FATE "EPOCH:RANK:COMMAND" is what this rank does in that epoch; others sleep until the file
# FILE.end exists.
file=$1
shift
read -r -a field <<<"$(sed 's/.*) //' /proc/$$/stat)"
echo "$TORCHELASTIC_RESTART_COUNT $RANK $(uname -n) $$ ${field[19]}" >>"$file"
for fate in "$@"; do
  IFS=: read -r epoch rank command <<<"$fate"
  [ "$epoch:$rank" != "$TORCHELASTIC_RESTART_COUNT:$RANK" ] || eval "$command"
done
until [ -e "$file.end" ]; do sleep 0.05; done
RANK
chmod +x "$work/rank"

in_epoch() { grep -c "^$1 " "$work/ranks"; }
expect_epoch() { # EPOCH RANKS
  wait_for 40 "epoch $1 with $2 ranks" eval "[ \"\$(in_epoch $1)\" = $2 ]"
}
fresh() { rm -f "$work/ranks" "$work/ranks.end"; }
# The ranks of an epoch, in count_alive's format.
alive_of() { # EPOCH
  awk -v epoch="$1" '$1 == epoch { print $3, $4, $5, "rank" }' "$work/ranks" >"$record"
  count_alive
}
