#!/usr/bin/env bash
# --stdin: standard input to one rank, to all or to none, complete.
. "$(dirname "$0")/lib.sh"
need_cluster 2
two=(-f "'$work/hosts'" -np 2 -ppn 1) # quoted for the shell that reads standard input
with_input() { run sh -c "'$cluster' exec node1 '$bin/dtlaunch' $1 <'$work/input'"; }

seq 1000 >"$work/input"
with_input "${two[*]} -l --stdin 1 wc -l"
expect_status 0
expect_out '^\[0\] 0$'
expect_out '^\[1\] 1000$'
with_input "${two[*]} -l --stdin all wc -l"
expect_count 2 '^\[[01]\] 1000$' "$work/out"
with_input "${two[*]} -l --stdin none wc -l"
expect_count 2 '^\[[01]\] 0$' "$work/out"
with_input "${two[*]} --stdin 7 wc -l"
[ "$status" != 0 ] || fail "there is no rank 7"
expect_err '7'
with_input "${two[*]} --stdin nobody wc -l"
expect_status 64
expect_err 'not a rank, all or none'

# Rank 0 elsewhere reads nothing, or a part: the rest stays for the shell.
cat >"$work/loop" <<'LOOP'
n=0
while read -r x; do n=$((n + 1)); "$@"; done
echo "$n turns"
LOOP
there=(-hosts node2 -np 1)
seq 2 >"$work/two"
run bash -c "'$cluster' exec node1 bash '$work/loop' '$bin/dtlaunch' ${there[*]} true <'$work/two'"
expect_out '^2 turns$'
run bash -c "cat '$work/two' | '$cluster' exec node1 bash '$work/loop' '$bin/dtlaunch' ${there[*]} true"
expect_out '^2 turns$'
for input in "<'$work/two'" "< <(cat '$work/two')"; do
  run bash -c "'$cluster' exec node1 bash -c '\"\$@\"; cat' sh \
    '$bin/dtlaunch' ${there[*]} sh -c 'read -r x; echo rank \$x' $input"
  expect_equal "a line to the rank and one to cat" "$(cat "$work/out")" "$(printf 'rank 1\n2')"
done

# Rank 0 reads a line and ends, rank 1 continues: dtlaunch does not read the line that comes later.
run bash -c "{ echo one; until [ -e '$work/ended' ]; do sleep 0.05; done; echo two; } |
  { '$cluster' exec node1 '$bin/dtlaunch' -hosts node2,node1 -np 2 -ppn 1 sh -c '
      if [ \$RANK = 0 ]; then read -r x; echo rank \$x; exit; fi
      sleep 0.5; touch '$work/ended'; sleep 0.5'; cat; }"
expect_equal "a line to the rank and a late one to cat" "$(cat "$work/out")" "$(printf 'rank one\ntwo')"

# 100 MiB through ssh to another host, completely.
head -c 104857600 /dev/zero >"$work/input"
with_input "${two[*]} --stdin 1 sh -c '[ \$RANK = 0 ] || cksum'"
expect_status 0
expect_equal "checksum of rank 1's input" "$(cat "$work/out")" "$(cksum <"$work/input")"
echo "100 MiB of input in $took_ms ms"

# To all, one of which does not read: the other gets everything.
with_input "${two[*]} --stdin all sh -c '[ \$RANK = 0 ] || cksum'"
expect_status 0
expect_equal "checksum of rank 1's input" "$(cat "$work/out")" "$(cksum <"$work/input")"
