# shellcheck shell=bash
# What the scripts about --max-restarts share: ranks that say when they begin, and live until they are told to end.
# Beside lib.sh, which this file reads first.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
limit=60
need_cluster 3

# Each line of $work/ranks: EPOCH RANK HOST PID STARTTIME, when a rank begins.
cat >"$work/rank" <<'RANK'
#!/usr/bin/env bash
# rank FILE FATE...: FATE "EPOCH:RANK:COMMAND" is what this rank does in that epoch; others sleep,
# until the file FILE.end is there.
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
# What the ranks of an epoch were, in the form of count_alive.
alive_of() { # EPOCH
  awk -v epoch="$1" '$1 == epoch { print $3, $4, $5, "rank" }' "$work/ranks" >"$record"
  count_alive
}
