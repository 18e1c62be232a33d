#!/usr/bin/env bash
# In a `flux batch` script, agents start by one `flux exec`, without ssh. The nodes' token is in no argument,
# no rank's environment and no file. The first cause is the status, and SIGTERM and kill -9 leave nothing. A
# fake flux has each broker run the command as a real broker does: in the folder and environment of flux exec,
# without input, and with output through flux.
. "$(dirname "$0")/lib.sh"
need_cluster 3

fluxes=$work/flux
mkdir -p "$fluxes/bin"
mkfifo "$fluxes/spawn"
cat >"$fluxes/bin/flux" <<'FLUX'
#!/bin/bash
# node3 has two brokers.
case "$1 $2" in
"getattr hostlist") [ -e "$FLUXES/silent" ] || echo 'node[1-3],node3'; exit ;;
"exec --noinput") ;;
*) echo "flux: $*: not known here" >&2; exit 1 ;;
esac
[[ "$3 $4" =~ ^--dir=/\ --rank=[0-9,]+$ ]] || { echo "flux-exec: no ranks: $3 $4" >&2; exit 1; }
ranks=${4#--rank=}
shift 4
id=$$
printf '%s\0' "$@" >"$FLUXES/$id.words"
(umask 077 && cp /proc/self/environ "$FLUXES/$id.environment")
echo "$ranks" >>"$FLUXES/called"
status=0
for rank in ${ranks//,/ }; do echo "$id $rank" >"$FLUXES/spawn"; done
for rank in ${ranks//,/ }; do
  until [ -s "$FLUXES/$id.$rank.ended" ]; do sleep 0.02; done
  one=$(cat "$FLUXES/$id.$rank.ended")
  [ "$one" = 0 ] || status=$one
done
cat "$FLUXES/$id".*.err >&2
exit "$status"
FLUX
chmod +x "$fluxes/bin/flux"

run_on_broker() { # ID RANK
  local words environment rc=0 host=node$(($2 + 1))
  [ "$2" != 3 ] || host=node3
  mapfile -d '' words <"$fluxes/$1.words"
  mapfile -d '' environment <"$fluxes/$1.environment"
  "$cluster" exec "$host" env -i -C / "${environment[@]}" "${words[@]}" </dev/null >/dev/null \
    2>"$fluxes/$1.$2.err" || rc=$?
  echo "$rc" >"$fluxes/$1.$2.ended"
}
brokers() {
  local id rank
  while read -r id rank; do
    run_on_broker "$id" "$rank" &
  done <>"$fluxes/spawn"
}
brokers &
manager=$!
trap 'ended=$?; kill "$manager" 2>/dev/null; finish "$ended"' EXIT

batch=(FLUX_URI=local:///run/flux FLUXES="$fluxes" PATH="$fluxes/bin:$PATH" HOME="$work")
in_job() { : >"$fluxes/called" && run "$cluster" exec node1 env "${batch[@]}" "$@"; }
no_logins() {
  local host
  for host in "${hosts[@]}"; do ! on "$host" grep -q 'Accepted publickey' /run/sshd.log || fail "ssh to $host was used"; done
}

# ---- each rank's place, who sees the token, and which brokers were asked
# shellcheck disable=SC2016
in_job "$bin/dtlaunch" -ppn 1 sh -c 'echo "rank $RANK of $WORLD_SIZE on $(uname -n)"
  echo "tokens $(env | grep -ci token)"'
expect_status 0
expect_equal "ranks" "$(grep ^rank "$work/out" | sort)" "rank 0 of 3 on node1
rank 1 of 3 on node2
rank 2 of 3 on node3"
expect_equal "tokens of ranks" "$(grep ^tokens "$work/out" | sort -u)" "tokens 0"
expect_equal "brokers" "$(cat "$fluxes/called")" "0,1,2"
expect_equal "words that may be a token" "$(cat "$fluxes"/*.words | tr '\0' '\n' | grep -cE '[0-9a-f]{32}')" 0
expect_equal "what dtlaunch says" "$(cat "$work/err")" ""
expect_hosts_idle 10
in_job "$bin/dtlaunch" -hosts node3 -n 2 --oversubscribe uname -n
expect_status 0
expect_count 2 '^node3$' "$work/out"
expect_equal "brokers of one host" "$(cat "$fluxes/called")" "2"

# ---- the user's own token, in a file
(umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$work/own")
# shellcheck disable=SC2016
in_job env DTL_TOKEN_FILE=own sh -c "cd '$work' && exec '$bin/dtlaunch' -ppn 1 sh -c 'echo \"ran \$RANK\"'"
expect_status 0
expect_count 3 '^ran [0-2]$' "$work/out"

# ---- --show-scheduler, and refused options
in_job "$bin/dtlaunch" --show-scheduler
expect_out '^hosts +3: node1, node2, node3$'
expect_out '^starter +flux exec: once for all hosts'
in_job "$bin/dtlaunch" --dry-run -ppn 1 true
expect_status 0
expect_err 'agents start by flux, in one step of job flux, on node1, node2, node3$'
in_job "$bin/dtlaunch" -hosts node2,elsewhere true
expect_status 64
expect_err 'elsewhere: not in the allocation: flux has given this job node1, node2, node3'
for refused in --push "--reconnect 9"; do
  # shellcheck disable=SC2086
  in_job "$bin/dtlaunch" $refused true
  expect_status 64
done
expect_err '--reconnect 9: flux exec does not start an agent again'

# ---- a rank's status is the job's
# shellcheck disable=SC2016
in_job "$bin/dtlaunch" -ppn 1 sh -c '[ "$RANK" = 2 ] || exec sleep 60; exit 3'
expect_status 3
expect_err 'rank 2 on node3'
expect_hosts_idle 10

# ---- `flux cancel`, which ends the script and the brokers' processes, and kill -9 leave nothing
fault() { # COMMAND...: a fault in a job whose ranks all run, each with a child and a daemon
  : >"$record"
  start_command env "${batch[@]}" "$bin/dtlaunch" -ppn 1 "$e2e/record_family" "$record"
  expect_family 12
  mark
  "$@"
  end_job
  expect_nothing_left 15
  expect_hosts_idle 15
}
cancel_job() {
  signal TERM "$launcher"
  on node2 pkill -TERM -x dtlaunch
  on node3 pkill -TERM -x dtlaunch
}
fault cancel_job
expect_status 143
kill_launcher() { signal KILL "$launcher"; }
fault kill_launcher
no_logins

# ---- a Flux that does not tell its hosts is refused; hosts given by name use ssh
touch "$fluxes/silent"
in_job "$bin/dtlaunch" true
expect_status 64
expect_err 'flux getattr hostlist does not name its hosts'
in_job "$bin/dtlaunch" -launcher flux -hosts node2 true
expect_status 64
expect_err 'flux getattr hostlist does not name its hosts'
run "$bin/dtlaunch" -launcher flux true
expect_status 64
expect_err '-launcher flux: FLUX_URI is not set: this is not a job script or a shell of Flux'
