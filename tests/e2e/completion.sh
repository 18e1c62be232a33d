#!/usr/bin/env bash
# TAB offers the programs' options, the words and files that are values, hosts of -f files and of
# ~/.ssh/config, and ids of jobs. bash's completion runs with and without the bash-completion
# package, and in an interactive bash; fish's runs if fish is installed; zsh's is parsed.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dttrain dtring-perf dtagent
programs=(dtlaunch dttrain dtring-perf dtagent)
package=/usr/share/bash-completion/bash_completion
export PATH=$bin:$PATH
unset XDG_STATE_HOME DTL_BASH_COMPLETION
# Private records: another test's job removes records of dead processes.
XDG_RUNTIME_DIR=$(mktemp -d /tmp/dtl-XXXXXX)
export XDG_RUNTIME_DIR
trap 'rc=$?; rm -rf "$XDG_RUNTIME_DIR"; finish $rc' EXIT

scripts=()
for program in "${programs[@]}"; do
  for shell in bash zsh fish; do
    run "$bin/$program" --completion "$shell"
    expect_status 0
    cp "$work/out" "$work/$program.$shell"
    if command -v "$shell" >/dev/null; then
      "$shell" -n "$work/$program.$shell" || fail "$shell cannot parse the completion of $program"
    else
      echo "not parsed, there is no $shell: the completion of $program"
    fi
  done
  scripts+=("$work/$program.bash")
  run "$bin/$program" --completion tcsh
  expect_status 64
done

# ---- a home with hosts, and files with blanks in their names
export HOME=$work/home
mkdir -p "$HOME/.ssh/more" "$HOME/data sets" "$HOME/empty"
cat >"$HOME/my hosts" <<'HOSTS'
# a comment
alpha slots=4
beta:2   # another
n[08-10,12]
[2001:db8::7]:2
delta
^delta
/* several
   lines */
someone@gamma
HOSTS
printf 'Host gate bastion *.example !no\n  HostName x\nInclude more/*\n' >"$HOME/.ssh/config"
printf 'host=inner\n' >"$HOME/.ssh/more/a b"
touch "$HOME/out put.json" "$HOME/run-me" "$HOME/args.toml"
chmod +x "$HOME/run-me"
cd "$HOME" || exit 1

offered() { # LINE: sorted in $work/offered
  env -u BASH_ENV bash --norc "$e2e/completion_line.bash" "$1" "${scripts[@]}" >"$work/all" 2>"$work/err" ||
    fail "the completion of '$1' fails"
  [ ! -s "$work/err" ] || fail "the completion of '$1' complains"
  grep -v '^$' "$work/all" | LC_ALL=C sort -u >"$work/offered"
}

offers() { # LINE WORD...: exactly these
  local line=$1 seen
  shift
  offered "$line"
  seen=$(cat "$work/offered")
  expect_equal "'$line' TAB" "$seen" "$(printf '%s\n' "$@" | grep -v '^$' | LC_ALL=C sort -u)"
}

# ---- exactly the options of --help-all
shown_options() { # COMMAND...: all of its options, with their dashes
  local help=--help command=("$@")
  case $* in
    dtlaunch | dttrain) help=--help-all ;;
    'dtlaunch submit') command=(dtlaunch) help=--help-all ;; # it takes the same ones
  esac
  "${command[@]}" $help </dev/null | awk '/^  -/ {
      sub(/^[ \t]+/, ""); sub(/[ \t][ \t].*$/, "")
      n = split($0, words, /[ ,]+/)
      for (i = 1; i <= n && words[i] ~ /^-/; i++) print words[i]
    }' | LC_ALL=C sort -u
}

expect_all_options() { # COMMAND...
  shown_options "$@" >"$work/shown"
  [ -s "$work/shown" ] || fail "the help of $* shows no options"
  offered "$* -"
  diff "$work/shown" "$work/offered" >"$work/out" || fail "the help of $* (<) and TAB (>) differ"
}

subcommands=$("$bin/dtlaunch" --help | sed -n 's/^  dtlaunch \([a-z]*\)  .*/\1/p' | grep -v '^$')
[ "$(wc -w <<<"$subcommands")" -ge 9 ] || fail "dtlaunch --help shows these subcommands: $subcommands"

check_bash_hosts() {
  local ours="alpha beta n08 n09 n10 n12 gamma" config="gate bastion inner"
  offers 'dtlaunch -H ' $config
  offers 'dtlaunch -f my\ hosts -H ' $ours 2001:db8::7 $config
  offers 'dtlaunch -f "my hosts" -hosts n0' n08 n09
  offers "dtlaunch -hostfile='my hosts' -hosts=n0" n08 n09
  offers 'dtlaunch -f ~/my\ hosts a : -host al' alpha
  offers 'dtlaunch -f my\ hosts -host alpha,gat' alpha,gate
  offers 'dtlaunch -host=gate:2,ba' 2,bastion
  offers 'dtlaunch logs -hosts inn' inner
  offers 'dtlaunch -f no/such/file -H gat' gate
}

check_bash() {
  local program subcommand
  for program in "${programs[@]}"; do expect_all_options "$program"; done
  for subcommand in $subcommands; do expect_all_options dtlaunch "$subcommand"; done
  expect_all_options dttrain init
  expect_all_options dttrain encode

  offers 'dtlaunch -ppn -perh' # the value of -ppn
  offers 'dtlaunch -np 2 -perh' -perhost
  offers 'dtlaunch --pp' --ppn
  offers 'dttrain --do-p' --do_predict
  offers 'dtlaunch help pi' pinning
  offers 'dtlaunch help do' doctor down
  offers 'dtlaunch ' $subcommands help .ssh 'data sets' empty 'my hosts' 'out put.json' run-me args.toml
  offers 'dtlaunch docto' doctor
  offers 'dtlaunch doctor --q' --quick

  offers 'dtlaunch -bootstrap ' ssh fork blaunch flux pbs qrsh srun
  offers 'dtlaunch -bootstrap=f' flux fork
  offers 'dtlaunch --launcher=f' flux fork
  offers 'dtlaunch --compat ompi,t' ompi,torchrun
  offers 'dtlaunch -bind-to us' user:
  offers 'dtlaunch kill -s TE' TERM
  offers 'dttrain --bf16 ' true false emulate
  offers 'dttrain --bf16 --eval_str' --eval_strategy
  offers 'dttrain --save_strategy=e' epoch
  offers 'dttrain init --model_type d' distilbert deberta-v2
  offers 'dttrain init --model_type rob' roberta
  offers 'dtring-perf --op b' band bor bxor
  offers 'dtring-perf allr' allreduce
  offers 'dtlaunch -np '
  offers 'dtlaunch --iface ^l' ^lo
  offers 'dtlaunch -x HOM' HOME
  offers 'dtlaunch -genv HOM' HOME

  offers 'dtlaunch -f m' 'my hosts'
  offers 'dtlaunch --report=o' 'out put.json'
  offers 'dtlaunch -c "out p' 'out put.json'
  offers 'dtlaunch -wdir ' .ssh empty 'data sets'
  offers 'dttrain --model_name_or_path d' 'data sets'
  offers 'dttrain args' args.toml
  offers 'dttrain --do_train args'

  check_bash_hosts

  offers 'dtlaunch -np 2 dtring-p' dtring-perf
  offers 'dtlaunch -np 2 ./run' ./run-me
  offers 'dtlaunch -np 2 ./run-me out' 'out put.json'
  offers 'dtlaunch -np 2 dtring-perf --data' --datatype
  offers 'dtlaunch -np 2 ./run-me -rankm'
  offers 'dtlaunch -n 1 a : -rankm'
  offers 'dtlaunch -n 1 a : -n 2 -wd' -wdir
  offers 'dtlaunch --nproc_per_node 4 -rankm' -rankmap
  offers 'dtlaunch -mca key value -rankm' -rankmap
  offers 'dtlaunch submit -np 2 -rankm' -rankmap
  offers 'dtlaunch --wait 600 -rankm' -rankmap
  offers 'dtlaunch --wait ./run-me -rankm'
  offers 'dtlaunch -m torch.distributed.run out' 'out put.json'
}

check_bash
if [ -r "$package" ]; then
  DTL_BASH_COMPLETION=$package
  export DTL_BASH_COMPLETION
  check_bash
  unset DTL_BASH_COMPLETION
else
  echo "not tested with the bash-completion package, which is not installed"
fi

# ---- ids of running jobs, and of jobs with kept output
run "$bin/dtlaunch" --detach -np 1 sh -c "until [ -e '$work/go' ]; do sleep 0.1; done"
expect_status 0
id=$(head -n 1 "$work/out")
leftover=''
end_all() { # STATUS: leave no job behind, and keep the status
  "$bin/dtlaunch" kill "$id" >/dev/null 2>&1
  rm -rf "$leftover" "$XDG_RUNTIME_DIR"
  finish "$1"
}
trap 'end_all $?' EXIT
for subcommand in logs attach kill cancel; do
  offers "dtlaunch $subcommand ${id:0:8}" "$id"
done
offers "dtlaunch logs -f $id" "$id"
offers "dtlaunch logs $id --fol" --follow
check_fish_job() { :; }
if command -v fish >/dev/null; then
  check_fish_job() { fish_offers "dtlaunch kill ${id:0:8}" "$id"; }
fi

fish_offers() { # LINE WORD...
  local line=$1 seen
  shift
  seen=$(fish --no-config -c "for script in $work/*.fish; source \$script; end; complete -C \$argv[1]" \
    "$line" 2>"$work/err" | cut -f 1 | LC_ALL=C sort -u)
  expect_equal "'$line' TAB in fish" "$seen" "$(printf '%s\n' "$@" | grep -v '^$' | LC_ALL=C sort -u)"
}
check_fish_job

# A record whose process is gone belongs to no job, though another process may have its pid.
for folder in "${XDG_RUNTIME_DIR:-/run/user/$EUID}/dtlaunch" "$HOME/.local/state/dtlaunch/run-$(uname -n)" \
  "/tmp/dtlaunch-$EUID"; do
  own_record=$(echo "$folder/jobs/$id".launcher.*)
  [ ! -s "$own_record" ] || break
done
leftover=${own_record/"$id"/${id:0:12}dead}
[ -s "$own_record" ] || fail "the job has no record $own_record"
sed "s/^job .*/job ${id:0:12}dead/; s/^\(process [0-9]*\):[0-9]*/\1:1/" "$own_record" >"$leftover"
offers "dtlaunch kill ${id:0:8}" "$id"
sed -i "s/:1:/:$(sed -n 's/^process [0-9]*:\([0-9]*\):.*/\1/p' "$own_record"):/" "$leftover"
offers "dtlaunch kill ${id:0:8}" "$id" "${id:0:12}dead"
rm "$leftover"
touch "$work/go"
job_is_over() { grep -q "^$id .* exit 0 " < <("$bin/dtlaunch" ps -a); }
wait_for 20 "the end of the job" job_is_over
offers "dtlaunch kill ${id:0:8}"
offers "dtlaunch logs ${id:0:8}" "$id"

# ---- the same for fish
check_fish() {
  local program
  for program in "${programs[@]}"; do
    fish_offers "$program -" $(shown_options "$program")
  done
  fish_offers 'dtlaunch doctor -' $(shown_options dtlaunch doctor)
  fish_offers 'dtlaunch --launcher=f' --launcher=flux --launcher=fork
  fish_offers 'dtlaunch -f my\ hosts -hosts gate,n0' gate,n08 gate,n09
  fish_offers 'dtlaunch -f m' 'my hosts'
  fish_offers 'dtlaunch -wdir d' 'data sets/'
  fish_offers 'dtlaunch --pp' --ppn
  fish_offers 'dtlaunch -np 2 dtring-perf --datat' --datatype
  fish_offers 'dtlaunch -n 1 a : -n 2 -wd' -wdir
}
if command -v fish >/dev/null; then check_fish; else echo "not tested: there is no fish"; fi

# ---- typed by a user: how bash changes the line
typed() { # LINE RESULT, several times
  local lines=() wanted=''
  while [ $# -gt 0 ]; do
    lines+=("$1") wanted+=$2$'\n'
    shift 2
  done
  cat "${scripts[@]}" >"$work/all.bash"
  run python3 "$e2e/completion_typed.py" "$work/all.bash" "${lines[@]}"
  expect_status 0
  expect_equal "lines after TAB" "$(cat "$work/out")" "${wanted%$'\n'}"
}
if command -v python3 >/dev/null; then
  typed 'dtlaunch -f m' 'dtlaunch -f my\ hosts ' \
    'dtlaunch -f my\ ' 'dtlaunch -f my\ hosts ' \
    'dtlaunch -f "my ' 'dtlaunch -f "my hosts" ' \
    'dtlaunch --report=ou' 'dtlaunch --report=out\ put.json ' \
    'dtlaunch -wdir da' 'dtlaunch -wdir data\ sets/' \
    'dtlaunch -f my\ hosts -hosts=alpha:2,be' 'dtlaunch -f my\ hosts -hosts=alpha:2,beta ' \
    'dtlaunch -bind-to us' 'dtlaunch -bind-to user:' \
    'dttrain --do-p' 'dttrain --do_predict '
else
  echo "not typed into an interactive bash: there is no python3"
fi
