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
refused '^dtlaunch: -np 0: too small \(1 to 65535\)' -np 0
refused '^dtlaunch: -np many: not a whole number' -np many
refused '^dtlaunch: -ppn=-1: too small' -ppn=-1
refused '^dtlaunch: --grace -1: too small \(0 to 31622400 seconds\)' --grace -1
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

# -genv takes two words: without a value it would take the program, and the demonstration would run.
cd "$work" || exit 1
launch -np 2 -genv FOO hostname
expect_status 64
expect_err '^dtlaunch: -genv FOO hostname: hostname is the value of FOO, .* Try: dtlaunch -np 2 -genv FOO=VALUE hostname$'
launch --dry-run -np 1 -genv FOO=hostname
expect_status 0
expect_err 'running the demonstration'
printf 'program = "true"\n' >"$work/job.toml"
launch -c "$work/job.toml" -genv FOO hostname
expect_status 0

# Hints name what works without the man pages, and the help that has the option.
refused 'Try: dtlaunch help ending$' --grace -1
refused 'the option is called --scheduler, and tcp is not a scheduler .*Try: dtlaunch help hosts$' --engine tcp
refused "'cores' is not an object .*Try: --bind-to core$" -np 1 -bind-to cores
for topic in ending hosts hostfile job-file; do
  launch help $topic
  expect_status 0
  expect_out "^$topic: "
done
launch help dttrain
expect_status 64
expect_err 'Try: dttrain --help$'
launch ps --al
expect_status 64
expect_err '^dtlaunch ps: --al: unknown option\. Try: --all$'
launch kube help
expect_status 0
expect_out '^usage: dtlaunch kube render'

# A folder that is not there is told before anything starts.
for option in -outfile-pattern -errfile-pattern --report; do
  launch -np 1 $option "$work/nowhere/x.out" touch "$work/started"
  expect_status 73
  expect_err "^dtlaunch: $work/nowhere/x.out: cannot write: No such file or directory\. Try: mkdir -p $work/nowhere\$"
  [ ! -e "$work/started" ] || fail "started with $option"
done
mkdir -p "$work/nowhere"
launch -np 1 -outfile-pattern "$work/nowhere/%r.out" echo written
expect_status 0
[ "$(cat "$work/nowhere/0.out")" = written ] || fail "the file lacks the output"

# A name that is nearly that of a program here.
launch -np 1 hostnam
expect_status 127
expect_err "cannot run 'hostnam': not found on PATH; hostname is there$"
expect_err 'try +command -v hostname$'
launch kill 3f2a
expect_status 65
expect_err '^dtlaunch: job 3f2a: not found on .*Try: dtlaunch ps -a, or dtlaunch history for jobs that have ended$'

launch -np
expect_status 64
expect_err '-np'

# A misspelt subcommand starts nothing; a program with that name here is a program.
for words in 'doctr doctor' 'status ps' 'list ps' 'stop kill' 'logz logs' 'pss ps' 'kil kill' 'hlep help'; do
  refused "^dtlaunch: ${words% *}: dtlaunch has no such command.* Try: dtlaunch ${words#* }, or" "${words% *}"
done
launch ps -hosts nosuchhost.invalid
[ "$status" != 0 ] || fail "a host that does not exist was asked"
expect_equal "the table of no host" "$(cat "$work/out")" ''
launch --push -np 1 true # an option that resembles a subcommand
expect_status 0
launch -- doctr
expect_status 127
launch psss
expect_status 127
expect_err '^dtlaunch: psss: dtlaunch has no such command, and no program here has this name\. Try: dtlaunch ps, or dtlaunch -- psss if it is a program of the hosts$'
# The name of a command after an option, and a program that a job would wait for in vain.
refused '^dtlaunch: history: a command of dtlaunch is the first word .* Try: dtlaunch history --help, or -- history' --json history
launch submit trainx-nowhere
expect_status 127
expect_err '^dtlaunch: cannot run trainx-nowhere: not found on PATH\. Try: '
expect_equal "an id of a job that cannot start" "$(cat "$work/out")" ''
launch --tree trainx-nowhere
expect_err '^dtlaunch: --tree trainx-nowhere: this word is not a number, so it is the program'
launch submit
expect_status 64
expect_err '^dtlaunch: submit: it needs a program, .* Try: dtlaunch submit -np 2 dttrain --demo$'
launch -env A=1
expect_status 64
expect_err '^dtlaunch: -env A=1: it is for one program, '
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
