#!/usr/bin/env bash
# MPI programs of the real libraries, on two hosts: they find each other, are pinned as planned, and end with the
# right status and card.
# usage: mpi.sh mpich|intel     below $DTL_TEST_MPI (scripts/test sets it), as pip installs them
. "$(dirname "$0")/lib.sh"
limit=40
mpi=${DTL_TEST_MPI-}
[ -n "$mpi" ] || skip "DTL_TEST_MPI names no folder with MPICH and Intel MPI (scripts/test sets it)"
command -v cc >/dev/null || skip "no C compiler"
library=$mpi/$1/lib
case $1 in
  mpich) name=MPICH version='MPICH Version' other=intel ;;
  intel) name='Intel MPI' version='Intel\(R\) MPI Library' other=mpich ;;
esac
need_cluster 2

# A program of MPICH's runs with Intel's library too: their ABI is the same.
"$mpi/mpich/bin/mpicc" -Wall -Wextra -Werror -o "$work/hello" "$e2e/mpi_hello.c" || fail "cannot compile mpi_hello.c"

job() { # [options of dtlaunch] PROGRAM...
  launch -f "$work/hosts" -np 4 -ppn 2 -genv LD_LIBRARY_PATH "$library" "$@"
}

# Each of 4 ranks is on its host, and they can talk.
expect_ranks() { # HOST of rank 0, of rank 1, ...
  local rank=0 host
  expect_count $# '^rank [0-9]+ of ' "$work/out"
  for host in "$@"; do
    expect_out "^rank $rank of 4 on $host: sum 10, 2 on its host, program [01], cpus [0-9,]+, $version"
    rank=$((rank + 1))
  done
}

job -v "$work/hello"
expect_status 0
expect_ranks node1 node1 node2 node2
expect_err "^dtlaunch: '$work/hello' uses $name \(libmpi\.so\.12\), started over PMI-1\$"
job -rr "$work/hello"
expect_status 0
expect_ranks node1 node2 node1 node2
expect_no_err .

# Whatever the user's shell says for srun, and though Slurm's own PMI seems to be there.
run "$cluster" exec node1 env I_MPI_PMI=pmi2 I_MPI_PMI_LIBRARY=/usr/lib/libpmi2.so MPIR_CVAR_PMI_VERSION=2 \
  "$bin/dtlaunch" -f "$work/hosts" -np 4 -ppn 2 -genv LD_LIBRARY_PATH "$library" -genv PMIX_NAMESPACE x "$work/hello"
expect_status 0
expect_ranks node1 node1 node2 node2

# Two programs of one job. With different MPIs they would wait for each other forever.
launch -f "$work/hosts" -ppn 2 -genv LD_LIBRARY_PATH "$library" -np 2 "$work/hello" : -np 2 "$work/hello"
expect_status 0
expect_ranks node1 node1 node2 node2
expect_count 2 '^rank [01] of .* program 0,' "$work/out"
expect_count 2 '^rank [23] of .* program 1,' "$work/out"
launch -f "$work/hosts" -ppn 2 -np 2 -env LD_LIBRARY_PATH "$library" "$work/hello" \
  : -np 2 -env LD_LIBRARY_PATH "$mpi/$other/lib" "$work/hello"
expect_status 78
expect_err '^dtlaunch: cannot start one job with different MPIs, or builds of one: '

# The ranks run where --dry-run says. Intel MPI pins as well, but in another order.
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

# What the user sets for the library reaches the ranks on both hosts, from the environment and from the line.
# shellcheck disable=SC2016
run "$cluster" exec node1 env I_MPI_TEST=1 MPICH_TEST=2 FI_TEST=3 "$bin/dtlaunch" -f "$work/hosts" -np 2 -ppn 1 \
  -genv UCX_TEST 4 sh -c 'echo "$I_MPI_TEST$MPICH_TEST$FI_TEST$UCX_TEST"'
expect_count 2 '^1234$' "$work/out"

# Ranks that end before MPI_Finalize leave files in /dev/shm, which each host has for itself.
is_tidy() { [ -z "$(on "$1" ls /dev/shm)" ]; } # HOST
expect_nothing_left_of_mpi() {
  local host
  expect_hosts_idle 10
  for host in "${hosts[@]}"; do wait_for 5 "$host to have an empty /dev/shm" is_tidy "$host"; done
}

# How MPI jobs end before MPI_Finalize.
job "$work/hello" abort 3
expect_status 7
expect_err '^dtlaunch: rank 3 on node2 called MPI_Abort\(7\)$'
expect_err '^  others   ranks 0-2 ended by dtlaunch$'
expect_nothing_left_of_mpi
job "$work/hello" leave 1
expect_status 76
expect_err '^dtlaunch: rank 1 on node1 exited with status 0 without MPI_Finalize, and others still ran$'
expect_nothing_left_of_mpi
start_job -f "$work/hosts" -np 4 -ppn 2 -genv LD_LIBRARY_PATH "$library" "$work/hello" stay 0
wait_for 20 "the ranks to wait inside MPI" grep -q '^rank 2 has pid' "$work/out"
signal KILL "$(sed -n 's/^rank 2 has pid //p' "$work/out")" node2
end_job
expect_status 137
expect_err '^dtlaunch: rank 2 on node2 was killed by SIGKILL'
expect_nothing_left_of_mpi

# mpi4py, which loads the library itself.
hello="import mpi4py.MPI as m; print('loaded', m.Get_library_version())"
job -genv PYTHONPATH "$mpi/python" python3 -c "$hello"
expect_status 0
expect_count 4 "^loaded $version" "$work/out"
job -genv PYTHONPATH "$mpi/python" python3 -m mpi4py.bench helloworld
expect_status 0
for rank in 0 1 2 3; do expect_count 1 "^Hello, World! I am process $rank of 4 on node[12]\.$" "$work/out"; done
