#!/usr/bin/env bash
# --preload finds the library on each host and puts it before the user's LD_PRELOAD. A host without
# it is named before any rank starts. A file in LD_PRELOAD that a host lacks is left out there.
. "$(dirname "$0")/lib.sh"
need_undivided_path
need_cluster 2
command -v gcc >/dev/null || skip "there is no gcc"

# Folders below /tmp are private to each host.
mkdir -p "$work/conda/lib" "$work/all"
cat >"$work/loaded.c" <<'C'
int dtl_test_loaded(void) { return 1; }
C
gcc -shared -fPIC -o "$work/conda/lib/libjemalloc.so.7" "$work/loaded.c" || fail "gcc"
cp "$work/conda/lib/libjemalloc.so.7" "$work/all/own.so"
on node1 mkdir -p /tmp/prefix/lib
on node1 cp "$work/conda/lib/libjemalloc.so.7" /tmp/prefix/lib/libiomp5.so
on node1 cp "$work/all/own.so" /tmp/only1.so

# Found in the environment's prefix, and really loaded.
# shellcheck disable=SC2016
launch -f "$work/hosts" -np 2 -ppn 1 -genv CONDA_PREFIX "$work/conda" \
  -genv LD_PRELOAD "$work/all/own.so" --preload jemalloc sh -c \
  'echo "$RANK: $LD_PRELOAD $(grep -c libjemalloc.so.7 /proc/self/maps | sed "s/[1-9].*/loaded/")"'
expect_status 0
for rank in 0 1; do
  expect_out "^$rank: $work/conda/lib/libjemalloc.so.7:$work/all/own.so loaded\$"
done

# A host without it is named, with what to install, and nothing starts.
launch -f "$work/hosts" -np 2 -ppn 1 -genv CONDA_PREFIX /tmp/prefix --preload iomp \
  touch "$work/started"
if grep -Eq 'lib(iomp5|omp)\.so' < <(/sbin/ldconfig -p); then
  expect_status 0 # this system has its own
else
  expect_status 78
  expect_err '^dtlaunch: --preload iomp: node2 does not have libiomp5.so or libomp.so in /tmp/prefix/lib, .*intel-openmp'
  [ ! -e "$work/started" ] || fail "a rank was started"
fi

# On the host that has it, with Intel's settings; the user's own settings stay.
# shellcheck disable=SC2016
launch -H node1 -np 1 -genv CONDA_PREFIX /tmp/prefix -genv KMP_BLOCKTIME 7 --preload iomp \
  sh -c 'echo "$LD_PRELOAD $KMP_AFFINITY $KMP_BLOCKTIME"'
expect_status 0
expect_out '^/tmp/prefix/lib/libiomp5.so granularity=fine,compact,1,0 7$'

# A missing file is left out only where it is missing, in a run and in a dry run.
# shellcheck disable=SC2016
launch -f "$work/hosts" -np 2 -ppn 1 -genv LD_PRELOAD "/tmp/only1.so:$work/all/own.so" \
  sh -c 'echo "$RANK: $LD_PRELOAD"'
expect_status 0
expect_out "^0: /tmp/only1.so:$work/all/own.so\$"
expect_out "^1: $work/all/own.so\$"
expect_err '^dtlaunch: node2: no /tmp/only1.so: left out of LD_PRELOAD there$'
expect_no_err 'ld.so'
launch -f "$work/hosts" -np 2 -ppn 1 -genv LD_PRELOAD /tmp/only1.so --dry-run touch "$work/started2"
expect_status 0
expect_out '^warning +node2: no /tmp/only1.so: left out of LD_PRELOAD there$'
[ ! -e "$work/started2" ] || fail "--dry-run started a rank"
