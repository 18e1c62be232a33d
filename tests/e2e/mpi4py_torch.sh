#!/usr/bin/env bash
# A PyTorch script that asks mpi4py for its rank and the address of rank 0, as DeepSpeed does, runs on two hosts.
# usage: mpi4py_torch.sh mpich|intel     below $DTL_TEST_MPI (scripts/test sets it), as pip installs them
. "$(dirname "$0")/lib.sh"
limit=90
mpi=${DTL_TEST_MPI-}
[ -n "$mpi" ] || skip "DTL_TEST_MPI names no folder with MPICH and Intel MPI (scripts/test sets it)"
need_python DTL_TEST_PYTHON
need_cluster 2

launch -f "$work/hosts" -np 4 -ppn 2 -genv LD_LIBRARY_PATH "$mpi/$1/lib" -genv PYTHONPATH "$mpi/python" \
  "$DTL_TEST_PYTHON" -m mpi4py "$e2e/mpi4py_torch.py"
expect_status 0
[ "$1" = mpich ] && name=MPICH || name=Intel
for rank in 0 1 2 3; do expect_count 1 "^rank $rank of 4: 10 over gloo, 10 over MPI, $name" "$work/out"; done
