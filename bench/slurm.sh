#!/usr/bin/env bash
# The time of `dtlaunch true` in a Slurm allocation, compared with `srun true`, with MPICH's Hydra, which
# starts its proxies by srun, and with the least that an srun with TLS connections costs (tls_starter.cc),
# in one interleaved run for each number of nodes. Then the same after `dtlaunch up`, compared with srun
# again. The Slurm is that of tests/slurm: all nodes are namespaces of this machine and share its cores.
# Each job has its nodes exclusively: with one CPU per node, Slurm would bind everything to the same core.
# usage: bench/slurm.sh [ROUNDS [NODES...]]; needs root, slurmctld, slurmd, slurm-client, munge, mpich, and
# of the release build dtlaunch, dtagent, dtguard and tls_starter
export DTL_E2E_WORK=${DTL_E2E_WORK:-$(cd "$(dirname "$0")/.." && pwd)/build/e2e}
. "$(cd "$(dirname "$0")" && pwd)/../tests/slurm/lib.sh"
command -v mpiexec.hydra >/dev/null || skip "nothing to compare with (apt-get install mpich)"
need_program dtlaunch dtagent dtguard tls_starter
rounds=${1:-15}
sizes=("${@:2}")
[ ${#sizes[@]} -gt 0 ] || sizes=(2 8 16)
most=$(printf '%s\n' "${sizes[@]}" | sort -n | tail -n 1)
need_slurm "$most"
echo "commit $(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown), $(srun --version 2>/dev/null || slurm srun --version)"
for size in "${sizes[@]}"; do
  slurm salloc --exclusive -Q "-N$size" "-n$size" /usr/bin/python3 -B "$root/bench/slurm_times.py" "$bin" "$rounds" "$size" ||
    fail "the measurement with $size nodes has failed"
done
