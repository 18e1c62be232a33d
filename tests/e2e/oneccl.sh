#!/usr/bin/env bash
# A program of oneCCL's finds its rank, its hosts and its peers on two hosts, over libfabric and over MPI, without any
# variable set for it.
. "$(dirname "$0")/lib.sh"
limit=40
mpi=${DTL_TEST_MPI-}
[ -n "$mpi" ] || skip "DTL_TEST_MPI names no folder with Intel MPI and oneCCL (scripts/test sets it)"
[ -e "$mpi/oneccl/lib/ccl/cpu/lib/libccl.a" ] || skip "$mpi has no oneCCL (scripts/test --only references)"
command -v c++ >/dev/null || skip "no C++ compiler"
[ -e /usr/include/hwloc.h ] || skip "no libhwloc-dev"
need_cluster 2

c++ -std=c++17 -Wall -Wextra -Werror -isystem "$mpi/oneccl/include" -isystem "$mpi/mpich/include" \
  "$e2e/oneccl_sum.cc" "$mpi/oneccl/lib/ccl/cpu/lib/libccl.a" "$mpi/intel/lib/libmpi.so.12" \
  -lhwloc -o "$work/sum" || fail "cannot compile oneccl_sum.cc"

expect_sums() { # HOST of rank 0, of rank 1, ...
  local rank=0 host
  expect_status 0
  expect_count $# '^rank [0-9]+ of ' "$work/out"
  for host in "$@"; do
    expect_out "^rank $rank of 4 on $host: sums 10 to 10\$"
    rank=$((rank + 1))
  done
}

job() { # [options of dtlaunch] PROGRAM...
  launch -f "$work/hosts" -np 4 -ppn 2 -genv LD_LIBRARY_PATH "$mpi/intel/lib" "$@"
}

job "$work/sum"
expect_sums node1 node1 node2 node2
job "$work/sum" "$work/address"
expect_sums node1 node1 node2 node2
job -rr -genv CCL_ATL_TRANSPORT mpi "$work/sum"
expect_sums node1 node2 node1 node2
job -genv CCL_ATL_TRANSPORT mpi -genv CCL_PROCESS_LAUNCHER none "$work/sum"
expect_sums node1 node1 node2 node2
