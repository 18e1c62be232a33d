#!/usr/bin/env bash
# Messages about mistakes have one shape: "dtlaunch: WHERE: WHY. Try: COMMAND". WHERE is the option as typed,
# with its value, or the file with its line. A hint is present.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch
need_program dttrain
cd "$work" || exit 1
checked=0

# shaped WHERE ARGUMENTS...: the first line of standard error.
shaped() {
  local where=$1 line
  shift
  launch "$@"
  [ "$status" = 64 ] || [ "$status" = 65 ] || fail "status $status for: $*"
  line=$(head -n 1 "$work/err")
  [[ $line == "dtlaunch: $where: "* || $line == "dtlaunch $1: $where: "* ]] || fail "not about '$where': $line"
  [[ $line =~ ^dtlaunch(\ [a-z]+)?:\ .+:\ .*[^.]\.\ Try:\ .*[^.]$|\.\.\.$ ]] || fail "without the shape: $line"
  [[ $line != *"option '"* && $line != *" is no "* ]] || fail "in old words: $line"
  ((++checked))
}

# Command lines: before '|' the expected start of the message, after it the arguments.
while IFS='|' read -r where rest; do
  eval "shaped ${where@Q} $where $rest"
done <<'END'
-np 3x|true
-np 0|true
-n4x|true
--np=many|true
-np 70000|true
-np 4:2|true
-ppn=-1|true
-grr 0|true
--nnodes 0|true
--nnodes 2|true
-rankmap 0,x|true
-rankmap=5|true
--scheduler nosuch|true
--scheduler=slrm|true
--engine slurm|true
--engine=pbs|true
--show-engine|true
-launcher rsh|true
-bootstrap slurm|true
--port-range 9:1|true
-genv 1A=x|true
-genv =b|true
-genvlist 'A B'|true
-x =1|true
--compat nosuch|true
--preload=nosuch|true
--bind-to foo|true
--bind-to=foo|true
-bind-to foo|true
-map-by chip|true
--membind nosuch|true
-binding nosuch=1|true
--comm-cores many|true
--umask 0888|true
-prepend-pattern %q|true
--only x|true
--only 7|-np 1 true
--stdin some|true
--stdin 5|-np 1 true
--color green|true
--output nosuch|true
--timeout 0|true
--timeout 2h|true
--grace soon|true
--reconnect=90000|true
--max-restarts -1|true
--hang-timeout 0|true
--start-timeout 0|true
--spot nosuch|true
--notice-signal KILL|true
--tag 'a b'|true
--spares 1|true
--completion csh|
-f ''|true
-skip-launch-node|true
--dry-run=yes|true
--nosuchoption|true
-fhosts|true
-r3|true
--nproc-per-node gpu|true
END
shaped '-np 3' -np 2 -np 3 true
shaped '-f a' -f a -hosts b true
shaped '--no-fold' --fold --no-fold true
shaped '-hosts a,,b: column 3' -hosts a,,b true
shaped '-H b:0: column 3' -H b:0 true
shaped '--report' --report --dry-run true
shaped '-np' -np
shaped 'doctr' doctr
shaped 'WORLD_SIZE=7' -np 1 -genv WORLD_SIZE=7 true

# What dttrain refuses.
shaped 'dttrain: --learning_rate x' dttrain --learning_rate x
shaped 'dttrain: --max_stepz' -np 2 dttrain --max_stepz 4
expect_count 1 . "$work/err"

# Subcommands.
shaped 'kill' kill
shaped 'zz' kill zz
shaped 'word' ps word
shaped 'word' down word
shaped 'push' push
shaped '--idle 0' up --idle 0
shaped '--signal 99' kill --signal 99 ab
shaped '-hosts a,,b: column 3' ps -hosts a,,b
shaped '--memory 16GB' kube render --kind job --image a --nodes 1 --cpus 1 --memory 16GB true
shaped '--cpus 1.5' kube render --cpus 1.5 true
shaped '--active-deadline 2h' kube render --active-deadline 2h true

# Files, with line and column.
shaped 'nohosts: cannot read' -f nohosts true
shaped 'nohosts: cannot read' ps --hostfile=nohosts
shaped 'nojob.toml: cannot read' -c nojob.toml
mkdir folder
shaped 'folder: cannot read' -f folder true
file() { # NAME TEXT WHERE: a hostfile, a job file or a file of programs
  local options=(-f "$1" true)
  [[ $1 != *.toml ]] || options=(-c "$1" true)
  [[ $2 != '[trainer]'* ]] || options=(-c "$1")
  [[ $1 != jobs ]] || options=(-configfile "$1")
  printf '%b' "$2" >"$1"
  shaped "$3" "${options[@]}"
}
file hosts '' 'hosts:1:1'
file hosts 'a\nb slots=0\n' 'hosts:2:9'
file hosts 'a slits=2\n' 'hosts:1:3'
file hosts 'a:2\nal@x user=y\n' 'hosts:2:1'
file hosts 'fe80:1:2\n' 'hosts:1:1'
file hosts 'a iface=10.0.0.0/99\n' 'hosts:1:1: iface=10.0.0.0/99'
file hosts 'a binding=chip\n' 'hosts:1:1: binding=chip'
file job.toml '# nothing\n' 'job.toml:1'
file job.toml 'ranks = 2.5\n' 'job.toml:1: ranks = 2.5'
file job.toml '\nranks = 0\n' 'job.toml:2: ranks = 0'
file job.toml 'rank = 2\n' 'job.toml:1'
file job.toml 'engine = "slurm"\n' 'job.toml:1: engine = "slurm"'
file job.toml 'scheduler = "nosuch"\n' 'job.toml:1: scheduler = "nosuch"'
file job.toml '[pinning]\nbind_to = "chip"\n' 'job.toml:2: pinning.bind_to = "chip"'
file job.toml 'hosts.file = "nowhere"\n' 'job.toml:1: hosts.file = "nowhere": cannot read'
file job.toml 'ranks = \n' 'job.toml:1'
file job.toml '[trainer]\nlearning_rate = -1\n' 'job.toml:2:17: learning_rate = -1'
file job.toml '[trainer]\ndo_train = "yes"\n' 'job.toml:2:12: do_train = "yes"'
file job.toml '[trainer]\nmax-stepz = 4\n' 'job.toml:2:13: max-stepz = 4'
file job.toml '[trainer]\nload_best_model_at_end = true\n' 'job.toml:2:26: load_best_model_at_end = true'
file job.toml '[trainer]\nmax_steps = 4\n' 'job.toml: nothing to do'
expect_count 1 . "$work/err"
file jobs '-n 1 true\n-n x true\n' 'jobs:2: -n x'
file jobs "-n 1 'true\n" 'jobs:1'

# Variables.
for setting in DTL_ENGINE=slurm DTL_SCHEDULER=nosuch MPIEXEC_TIMEOUT=soon; do
  run env "$setting" "$bin/dtlaunch" -np 1 true
  expect_status 64
  expect_err "^dtlaunch: $setting: .*\. Try: "
done
echo "$checked messages have the shape"
