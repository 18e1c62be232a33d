#!/usr/bin/env bash
# Ranks find each other over PMI-1, as MPICH and Intel MPI do, on one host and on two, however they are placed; and
# twice in one job, after a restart, with other programs beside them.
. "$(dirname "$0")/lib.sh"
need_cluster 2
rank=(python3 "$e2e/pmi_rank.py")

# Every rank sees the card of every other one, and where all of them are.
expect_cards() { # RANKS MAPPING
  local i
  for ((i = 0; i < $1; ++i)); do
    expect_count 1 "^rank $i of $1: of rank 0 on node[12]; .*of rank $(($1 - 1)) on node[12]: $2\$" "$work/out"
  done
  [ "$(cut -d: -f2 "$work/out" | sort -u | wc -l)" = 1 ] || fail "the ranks have seen different cards"
}

launch -f "$work/hosts" -np 4 -ppn 2 "${rank[@]}" exchange
expect_status 0
expect_cards 4 '\(vector,\(0,2,2\)\)'

launch -f "$work/hosts" -np 4 -rr "${rank[@]}" exchange
expect_status 0
expect_cards 4 '\(vector,\(0,2,1\),\(0,2,1\)\)'

launch -f "$work/hosts" -np 3 -rankmap 0,1,1 "${rank[@]}" exchange
expect_status 0
expect_cards 3 '\(vector,\(0,1,1\),\(1,1,2\)\)'

# Two programs of one job; two that follow each other; a shell between.
launch -f "$work/hosts" -ppn 2 -np 2 "${rank[@]}" exchange : -np 2 "${rank[@]}" exchange
expect_status 0
expect_count 4 '^rank [0-3] of 4: of rank 0 ' "$work/out"
# shellcheck disable=SC2016
launch -f "$work/hosts" -np 2 -ppn 1 bash -c '"$@" && "$@"' twice "${rank[@]}" exchange
expect_status 0
expect_count 4 '^rank [01] of 2: of rank 0 ' "$work/out"

# A new epoch has a new key space: nothing of the first one is seen.
# shellcheck disable=SC2016
launch -f "$work/hosts" -np 2 -ppn 1 --max-restarts 1 bash -c \
  'if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && [ "$RANK" = 1 ]; then exit 3; fi; exec "$@"' once "${rank[@]}" exchange
expect_status 0
expect_cards 2 '\(vector,\(0,2,1\)\)'

# On this machine, without ssh.
run "$bin/dtlaunch" -np 3 --oversubscribe "${rank[@]}" exchange
expect_status 0
expect_count 3 '^rank [0-2] of 3: of rank 0 on localhost; .*: \(vector,\(0,1,3\)\)$' "$work/out"

# Over connections that `up` keeps.
launch up -f "$work/hosts"
expect_status 0
launch -f "$work/hosts" -np 4 -ppn 2 "${rank[@]}" exchange
expect_status 0
expect_cards 4 '\(vector,\(0,2,2\)\)'
launch down
expect_status 0

# Without PMI there is no descriptor and no variable.
launch -f "$work/hosts" -np 2 -ppn 1 --pmi none sh -c 'echo "${PMI_FD-unset}"; [ ! -e /proc/$$/fd/4 ] && echo closed'
expect_status 0
expect_count 2 '^unset$' "$work/out"
expect_count 2 '^closed$' "$work/out"
launch -f "$work/hosts" -np 2 --pmi pmi3 true
expect_status 64
expect_err '--pmi pmi3: not an interface of MPI libraries\. Try: --pmi auto, pmi1, pmi2, pmix or none$'
expect_hosts_idle 10
