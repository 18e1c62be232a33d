#!/usr/bin/env bash
# Every rank on every host finds its place in the variables of PyTorch, MPI programs and oneCCL.
# MASTER_ADDR is an address that the other host reaches, never loopback.
. "$(dirname "$0")/lib.sh"
need_cluster 2

# shellcheck disable=SC2016
launch -f "$work/hosts" -np 4 -ppn 2 sh -c 'env >"$1.$RANK"' env "$work/env"
expect_status 0

value() { # RANK NAME
  sed -n "s/^$2=//p" "$work/env.$1"
}
check() { # RANK NAME EXPECTED
  expect_equal "rank $1's $2" "$(value "$1" "$2")" "$3"
}
for rank in 0 1 2 3; do
  check $rank RANK $rank
  check $rank PMI_RANK $rank
  check $rank WORLD_SIZE 4
  check $rank PMI_SIZE 4
  check $rank PMI_FD 4
  check $rank LOCAL_RANK $((rank % 2))
  check $rank MPI_LOCALRANKID $((rank % 2))
  check $rank LOCAL_WORLD_SIZE 2
  check $rank MPI_LOCALNRANKS 2
  check $rank GROUP_RANK $((rank / 2))
  check $rank GROUP_WORLD_SIZE 2
  check $rank DTLAUNCH_HOST "node$((rank / 2 + 1))"
  check $rank MASTER_ADDR "$(value 0 MASTER_ADDR)"
  check $rank MASTER_PORT "$(value 0 MASTER_PORT)"
  check $rank DTLAUNCH_JOB "$(value 0 DTLAUNCH_JOB)"
  check $rank TORCHELASTIC_RUN_ID "$(value 0 DTLAUNCH_JOB)"
  check $rank TORCHELASTIC_USE_AGENT_STORE False
  [[ "$(value $rank OMP_NUM_THREADS)" =~ ^[1-9] ]] || fail "rank $rank has no OMP_NUM_THREADS"
  for name in GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME NCCL_SOCKET_IFNAME; do
    interface=$(value $rank $name)
    on "node$((rank / 2 + 1))" test -e "/sys/class/net/$interface" &&
      [ -n "$interface" ] && [ "$interface" != lo ] ||
      fail "rank $rank: $name='$interface' is no interface to the other host"
  done
  foreign=$(grep -E '^(DISPLAY|SSH_|XDG_|PMI_PORT)' "$work/env.$rank" || true)
  expect_equal "what rank $rank inherits of the login host" "$foreign" ''
done

master=$(value 0 MASTER_ADDR) port=$(value 0 MASTER_PORT)
[[ "$master" != 127.* && "$master" != ::1 && "$master" != localhost ]] ||
  fail "MASTER_ADDR is loopback: $master"
on node1 ip -o addr show | grep -F " $master/" >/dev/null || fail "MASTER_ADDR $master is not on node1"
read -r low high </proc/sys/net/ipv4/ip_local_port_range
[ "$port" -gt 1023 ] && { [ "$port" -lt "$low" ] || [ "$port" -gt "$high" ]; } ||
  fail "MASTER_PORT $port lies among the ephemeral ports"

# --compat adds other launchers' names, by which an Open MPI program finds its place.
# shellcheck disable=SC2016
launch -f "$work/hosts" -np 3 -ppn 2 --compat ompi,horovod sh -c \
  'echo "$RANK: $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE, cross $HOROVOD_CROSS_RANK of $HOROVOD_CROSS_SIZE"'
expect_status 0
expect_out '^0: 0 of 3, cross 0 of 2$'
expect_out '^1: 1 of 3, cross 0 of 1$'
expect_out '^2: 2 of 3, cross 1 of 2$'

# The job's secret is in no environment or command line: only a descriptor's number is.
check 0 DTRING_SECRET_FD 3
