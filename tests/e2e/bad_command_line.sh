#!/usr/bin/env bash
# A mistake on the command line is named, with the nearest right spelling, and starts nothing.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch

refused() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  launch "$@" touch "$work/started"
  expect_status 64
  expect_err "$pattern"
  expect_within 1000
  [ ! -e "$work/started" ] || fail "something was started by: $*"
}

refused '^dtlaunch: -hostfil: unknown option\. Try: -hostfile$' -hostfil hosts
refused '^dtlaunch: --dry-rum: unknown option\. Try: --dry-run$' --dry-rum
refused '^dtlaunch: -np 0: not a whole number' -np 0
refused '^dtlaunch: -np many: not a whole number' -np many
refused '^dtlaunch: -ppn=-1: not a whole number' -ppn=-1
refused '^dtlaunch: --timeout soon: not a number of seconds' --timeout soon
refused "RANK" -np 2 -genv RANK=7
refused "not-a-pair" -genv not-a-pair

refused '^dtlaunch: --report: needs FILE, and --dry-run is an option' --report --dry-run
refused "^dtlaunch: --hlep: unknown option\. Try: dtlaunch --help" --hlep
refused "-fhosts: unknown option\. Try: -hosts, or -f hosts" -fhosts
refused "dtlaunch runs jobs on CPUs" --nproc-per-node=gpu
refused 'Try: -configfile x without a program' true : -configfile x
launch --dry-run --detach -n1 true
expect_status 0
expect_err '^dtlaunch: --detach: left out'
# shellcheck disable=SC2016
launch --nproc_per_node 1 --nnodes 1 --rdzv-id 1 --rdzv-backend c10d --rdzv-endpoint localhost:29400 \
  --no-python sh -c 'echo "rank $RANK of $WORLD_SIZE, $TORCHELASTIC_MAX_RESTARTS"'
expect_status 0
expect_out '^rank 0 of 1, 0$'

launch -np
expect_status 64
expect_err '-np'

# A misspelt subcommand starts nothing; a program with that name here is a program.
for words in 'doctr doctor' 'status ps' 'list ps' 'stop kill' 'logz logs'; do
  refused "^dtlaunch: ${words% *}: neither a command .* Try: dtlaunch ${words#* }, or" "${words% *}"
done
launch --push -np 1 true # an option that resembles a subcommand
expect_status 0
launch -- doctr
expect_status 127
mkdir -p "$work/bin"
printf '#!/bin/sh\necho my own status\n' >"$work/bin/status"
chmod +x "$work/bin/status"
run env PATH="$work/bin:$PATH" "$bin/dtlaunch" status
expect_status 0
expect_out '^my own status$'
launch help
expect_status 0
expect_out '^usage: dtlaunch '
launch help ps
expect_status 0
expect_out '^usage: dtlaunch ps'
launch version
expect_status 0
expect_out '^dtlaunch [0-9]'

# Rank 0 reports an error that all ranks have. It must not be ended because another rank exits first.
need_program dttrain
for _ in 1 2 3 4 5; do
  launch -np 3 --oversubscribe "$bin/dttrain" --epochs-of-training 3
  expect_status 64
  expect_count 1 '^dttrain: .*epochs-of-training' "$work/err"
  expect_err '^dtlaunch: rank 0 on localhost exited with status 64'
done
