# shellcheck shell=bash
# Shared by the end-to-end scripts: running dtlaunch with a time limit, a cluster that ends with the script,
# counting processes by recorded pid, and assertions that print what they saw.
#
# A script sources this file, states its needs (need_cluster N, need_program ...), acts, asserts. Exit status 0:
# the promise holds; 77: skipped, with the reason; 1: failed, with the last run's output, and its work folder is
# kept.
#
# DTL_BIN: folder of the programs under test. DTL_E2E_WORK: where work folders are made. All hosts of a cluster
# must see it, so it is never below /tmp.
set -uo pipefail

e2e=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$e2e/../.." && pwd)
bin=${DTL_BIN:-$root/build/release/bin}
cluster=$root/tests/cluster/cluster
promise=$(basename "$0" .sh)
hosts=()  # the cluster's hosts; empty without one
copied='' # programs copied by use_plain_path or use_open_paths
pod_sshd=$root/packaging/pod-sshd
limit=60  # seconds for one run before it counts as hung
mkdir -p "${DTL_E2E_WORK:=$root/build/e2e}"
work=$(mktemp -d "$DTL_E2E_WORK/$promise.XXXXXX")
record=$work/processes  # lines "HOST PID STARTTIME KIND" from the ranks of record_family
: >"$record"
status='' took_ms=''
# Tests may run inside a scheduler's job, a pod or a rank: do not let them become part of it.
for variable in $(compgen -e); do
  case $variable in
    SLURM* | FLUX_* | PBS_* | LSB_* | LSF_* | SGE_* | PE_HOSTFILE | PET_* | K_MPI_JOB_ROLE | JOB_COMPLETION_INDEX | \
      OMPI_* | HYDRA_* | I_MPI_HYDRA_* | DTLAUNCH_* | DTL_SCHEDULER | DTL_NNODES | DTL_NODE_RANK | DTL_RDZV | \
      DTL_RESTART | DTL_JOB_ID | DTL_TOKEN | DTL_TOKEN_FILE | KUBERNETES_SERVICE_HOST | KUBEFLOW_TRAINER_*) unset "$variable" ;;
  esac
done
unset variable
export DTL_HISTORY_DAYS=0 # nothing goes into the user's own history of jobs
trap 'finish $?' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

finish() {
  trap - EXIT
  if [ ${#hosts[@]} -gt 0 ]; then "$cluster" down >/dev/null; fi
  [ -z "$copied" ] || rm -rf "$copied"
  [ "$1" = 0 ] || [ "$1" = 77 ] || { printf 'work folder: %s\n' "$work" >&2; exit "$1"; }
  rm -rf "$work"
  exit "$1"
}

skip() {
  printf 'skipped: %s: %s\n' "$promise" "$*"
  exit 77
}

fail() {
  printf 'FAILED: %s: %s\n' "$promise" "$*" >&2
  local file
  for file in "$work/out" "$work/err"; do
    [ -s "$file" ] || continue
    printf -- '---- std%s of the last run (status %s, %s ms):\n' "${file##*/}" "$status" "$took_ms" >&2
    tail -n 40 "$file" >&2
  done
  exit 1
}

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# ---- a script's needs

need_program() { # NAME...
  local name
  for name in "$@"; do [ -x "$bin/$name" ] || fail "$bin/$name has not been built"; done
}

# The Python with torch that VARIABLE names (DTL_TEST_PYTHON or DTL_DEBIAN_PYTHON).
need_python() {
  [ -n "${!1:-}" ] || skip "$1 names no python with torch (scripts/test sets it)"
  "$root/tests/support/has_modules" "${!1}" torch || skip "${!1} has no torch"
}

# dtlaunch starts no agents below a path with characters that a login shell might interpret. From such a
# checkout, copies the programs under test elsewhere.
use_plain_path() {
  [[ -z $copied && $bin == *[!A-Za-z0-9_./+-]* ]] || return 0
  copied=$(mktemp -d /var/tmp/dtl-e2e-programs.XXXXXX)
  chmod 755 "$copied"
  cp "$bin"/dt* "$copied/" || fail "cannot copy the programs to $copied"
  bin=$copied
}

# For scripts that become another user; call before need_cluster. This checkout may be in a home that others
# cannot enter, so copies the programs and the work folder elsewhere.
use_open_paths() {
  umask 022
  copied=$(mktemp -d /var/tmp/dtl-e2e-programs.XXXXXX)
  rm -rf "$work"
  work=$(mktemp -d "/var/tmp/dtl-e2e-$promise.XXXXXX")
  chmod 755 "$copied" "$work"
  cp "$bin"/dt* "$root/packaging/pod-sshd" "$copied/" || fail "cannot copy the programs to $copied"
  chmod 755 "$copied"/*
  bin=$copied pod_sshd=$copied/pod-sshd record=$work/processes
  : >"$record"
  cd "$work" || fail "cannot enter $work" # ranks start in dtlaunch's working folder
}

# LD_PRELOAD splits at blanks and colons, so a library below such a path cannot be named.
need_undivided_path() {
  [[ $work != *[\ :]* ]] || skip "LD_PRELOAD cannot name a library below '$work'"
}

need_cluster() { # N [options of cluster up]
  unset DTL_HISTORY_DAYS # hosts have homes of their own, so jobs leave a history as those of users do
  need_program dtlaunch dtagent dtguard
  use_plain_path
  export DTL_CLUSTER=$work/cluster
  local rc=0 i
  "$cluster" up "$@" >"$work/up" 2>&1 || rc=$?
  [ $rc != 77 ] || skip "$(tail -n 1 "$work/up")"
  [ $rc = 0 ] || fail "cluster up $*: $(cat "$work/up")"
  for ((i = 1; i <= $1; i++)); do hosts+=("node$i"); done
  printf '%s\n' "${hosts[@]}" >"$work/hosts"
}

on() { "$cluster" exec "$@"; } # HOST COMMAND...

# Makes users on all hosts, with the keys of the cluster's root.
declare -A ids=([root]=0)
add_users() { # NAME...
  local user host
  for user in "$@"; do
    ids[$user]=$((2000 + ${#ids[@]}))
    for host in "${hosts[@]}"; do
      # shellcheck disable=SC2016
      on "$host" bash -euc 'echo "$1:x:$2:$2::/run/$1:/bin/bash" >>/etc/passwd
        echo "$1:*:19000:0:99999:7:::" >>/etc/shadow
        install -d -o "$2" -g "$2" -m 700 "/run/$1"
        cp -a /run/root/.ssh "/run/$1/.ssh"
        chown -R "$2:$2" "/run/$1/.ssh"' user "$user" "${ids[$user]}" || fail "no $user on $host"
    done
  done
}
# Sets `as`, the command that becomes this user on a host.
is() { # USER
  as=(setpriv --reuid "${ids[$1]}" --regid "${ids[$1]}" --clear-groups env -i "PATH=$PATH" "HOME=/run/$1" "USER=$1")
}

# The folder of records and sockets of dtlaunch and dtagent on HOST.
runtime_folder() { on "$1" sh -c 'echo ~/.local/state/dtlaunch/run-$(uname -n)'; }

# ---- running dtlaunch, on node1 if there is a cluster

# run COMMAND...: without stdin; sets $work/out, $work/err, $status and $took_ms.
run() {
  local begin
  begin=$(now_ms) status=0
  timeout -s KILL "$limit" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  took_ms=$(($(now_ms) - begin))
  [ "$took_ms" -lt $((limit * 1000)) ] || fail "still running after $limit s: $*"
}

launch() { # ARGUMENTS of dtlaunch
  if [ ${#hosts[@]} -gt 0 ]; then run "$cluster" exec node1 "$bin/dtlaunch" "$@"; else run "$bin/dtlaunch" "$@"; fi
}

# start_job ARGUMENTS...: runs dtlaunch in the background, in its own session and with a terminal's signal
# handling; $launcher is its pid on node1.
start_job() { start_command "$bin/dtlaunch" "$@"; }

start_command() { # COMMAND...
  local in=()
  [ ${#hosts[@]} = 0 ] || in=("$cluster" exec node1)
  rm -f "$work/launcher.pid"
  job_began=$(now_ms)
  # shellcheck disable=SC2016
  timeout -s KILL "$limit" "${in[@]}" setsid -w bash -c \
    'echo $$ >"$1.new" && mv "$1.new" "$1" && shift && exec env --default-signal=INT,QUIT "$@"' \
    start "$work/launcher.pid" "$@" >"$work/out" 2>"$work/err" </dev/null &
  job=$!
  wait_for 10 "the launcher to start" test -s "$work/launcher.pid"
  launcher=$(cat "$work/launcher.pid")
}

# end_job: waits for it; sets $status and $took_ms (since start_job or the last mark).
end_job() {
  status=0
  wait "$job" || status=$?
  took_ms=$(($(now_ms) - job_began))
  [ "$took_ms" -lt $((limit * 1000)) ] || fail "the job did not end within $limit s"
}

mark() { job_began=$(now_ms); }

signal() { # SIGNAL PID [HOST]: to a process, or to a group with a negative pid
  if [ ${#hosts[@]} -gt 0 ]; then on "${3:-node1}" kill "-$1" -- "$2"; else kill "-$1" -- "$2"; fi
}

# Waits until COMMAND succeeds, at most SECONDS.
wait_for() { # SECONDS "WHAT" COMMAND...
  local deadline=$(($(now_ms) + $1 * 1000)) what=$2
  shift 2
  until "$@" 2>/dev/null; do
    [ "$(now_ms)" -lt "$deadline" ] || fail "waited in vain for $what"
    sleep 0.05
  done
}

# ---- processes, by recorded pid and start time

recorded() { wc -l <"$record"; }
has_recorded() { [ "$(recorded)" -ge "$1" ]; }

# Scripts count while they wait, many times a second. So this starts no process on a host: a host's own /proc
# is visible below its init.
declare proc # the result of find_proc

# is_alive PROC/PID STARTTIME: that process, not a later one with the same pid. A zombie does not count.
is_alive() {
  local stat='' field
  { read -r -d '' stat <"$1/stat"; } 2>/dev/null
  [ -n "$stat" ] || return 1
  read -r -a field <<<"${stat##*) }"
  [[ ${field[0]} != [ZX] && ${field[19]} = "$2" ]]
}

# Sets `proc` to the folder of HOST's processes; fails if the host is off.
find_proc() {
  local name pid start
  while IFS=$'\t' read -r name pid start _; do
    [ "$name" = "$1" ] || continue
    proc=/proc/$pid/root/proc
    is_alive "/proc/$pid" "$start"
    return
  done <"$DTL_CLUSTER/hosts"
  return 1
}

# How many of the recorded processes are alive, on all hosts.
count_alive() {
  local host total=0 name pid start
  if [ ${#hosts[@]} = 0 ]; then "$e2e/count_alive" "$record"; return; fi
  for host in "${hosts[@]}"; do
    find_proc "$host" || continue # a host that is off runs nothing
    while read -r name pid start _; do
      if [ "$name" = "$host" ] && is_alive "$proc/$pid" "$start"; then total=$((total + 1)); fi
    done <"$record"
  done
  echo "$total"
}

nothing_alive() { [ "$(count_alive)" = 0 ]; }

# Waits until N processes are recorded and alive: otherwise a later zero proves nothing. The record may also have
# those of an earlier job.
has_alive() { [ "$(count_alive)" = "$1" ]; }
expect_family() { # N
  wait_for 20 "$1 recorded processes to be alive (there are $(recorded) records)" has_alive "$1"
}

expect_nothing_left() { # SECONDS
  wait_for "$1" "every recorded process to be gone; $(count_alive) alive at first" nothing_alive
}

# Pids of the programs named NAME on HOST.
pids_of() { on "$1" pgrep -x "$2"; }

# Processes on any host other than those of an idle one, its init and its listening sshd: HOST PID COMMAND.
strangers() {
  local host _ folder words name
  while IFS=$'\t' read -r host _; do
    find_proc "$host" || continue
    for folder in "$proc"/[1-9]*; do
      [ "${folder##*/}" != 1 ] || continue
      words=()
      { mapfile -d '' -t words <"$folder/cmdline"; } 2>/dev/null || continue # it has just ended
      if [ ${#words[@]} = 0 ]; then
        { read -r name <"$folder/comm"; } 2>/dev/null || continue
        words=("[$name]")
      fi
      [[ "${words[*]}" == *"sshd: "*"[listener]"* ]] || printf '%s %s %s\n' "$host" "${folder##*/}" "${words[*]}"
    done
  done <"$DTL_CLUSTER/hosts"
}

hosts_idle() { [ -z "$(strangers)" ]; }

# After a cut, a host's sshd notices the lost connection when TCP retries: after as long as the cut lasted.
expect_hosts_idle() { # SECONDS
  wait_for "$1" "every host to be idle again; at first there was: $(strangers)" hosts_idle
}

# ---- assertions

expect_status() { [ "$status" = "$1" ] || fail "exit status $status, not $1"; }

expect_within() { # MILLISECONDS
  [ "$took_ms" -le "$1" ] || fail "took $took_ms ms, more than $1"
}

expect_out() { # REGULAR EXPRESSION (extended), on one line of standard output
  grep -Eq -- "$1" "$work/out" || fail "no line of standard output matches: $1"
}

expect_err() {
  grep -Eq -- "$1" "$work/err" || fail "no line of standard error matches: $1"
}

expect_no_err() {
  ! grep -Eq -- "$1" "$work/err" || fail "a line of standard error matches: $1"
}

expect_equal() { # WHAT SEEN EXPECTED
  [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"
}

expect_count() { # N PATTERN FILE
  local seen
  seen=$(grep -Ec -- "$2" "$3")
  [ "$seen" = "$1" ] || fail "$seen lines of $(basename "$3") match, not $1: $2"
}
