#!/usr/bin/env bash
# The threads and CPUs in dtlaunch's plan are what PyTorch uses inside the ranks: by its own numbers,
# OpenMP's and MKL's, and by the kernel's mask. A user's OMP_NUM_THREADS is respected.
#   pinning.sh DTL_TEST_PYTHON|DTL_DEBIAN_PYTHON
. "$(dirname "$0")/../e2e/lib.sh"
need_program dtlaunch dtagent dtguard
need_python "$1"
unset OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS
limit=60

# compare WHAT ARGUMENTS of dtlaunch...: compares a dry run's plan with what the ranks of a run report.
compare() {
  local what=$1
  shift
  launch "$@" --dry-run true
  expect_status 0
  cp "$work/out" "$work/plan"
  launch "$@" "${!variable}" -B "$root/tests/python/placement.py"
  expect_status 0
  python3 -B "$root/tests/python/placement_check.py" "$work/plan" "$work/out" "$what" ||
    fail "the ranks are not as planned: $*: $(cat "$work/plan")"
}

variable=$1
cpus=$(nproc)
compare "one rank has all CPUs" -np 1
all=$(awk '$1 == 0 && NF == 6 { print $3 }' "$work/plan")
ranks=$((cpus < 4 ? cpus : 4))
[ "$ranks" -ge 2 ] || skip "two ranks apart need two CPUs"
compare "ranks of their own CPUs" -np "$ranks"
each=$(awk '$1 == 0 && NF == 6 { print $3 }' "$work/plan")
# Otherwise the following checks would prove nothing.
[ "$each" -lt "$all" ] || fail "one rank has $all threads, one of $ranks has $each"
OMP_NUM_THREADS=$each compare "exported" -np 1
expect_equal "threads of the plan" "$(awk '$1 == 0 && NF == 6 { print $3 }' "$work/plan")" "$each"
compare "-genv" -np 1 -genv OMP_NUM_THREADS "$each"
expect_equal "threads of the plan" "$(awk '$1 == 0 && NF == 6 { print $3 }' "$work/plan")" "$each"
OMP_NUM_THREADS=$all compare "-genv wins over what is exported" -np 1 -genv OMP_NUM_THREADS "$each"
