#!/usr/bin/env bash
# The kernels for arm64 give the same bits as those of this machine: compiles them with Debian's
# cross compiler, and runs them in qemu. Skipped where either is missing.
#   arm64_kernels.sh KERNEL_BITS     this build's program (kernel_bits.cc)
set -euo pipefail
skip() { echo "skipped: $*"; exit 77; }
for tool in aarch64-linux-gnu-g++ aarch64-linux-gnu-objdump qemu-aarch64; do
  command -v $tool >/dev/null || skip "$tool is missing (g++-aarch64-linux-gnu, qemu-user)"
done
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# As ring/CMakeLists.txt and trainer/CMakeLists.txt compile them.
compile() { # FILE OPTION...
  aarch64-linux-gnu-g++ -std=c++20 -I. -c "$1" -o "$work/$(basename "$1" .cc).o" "${@:2}"
}
kernels=(-O3 -ffp-contract=off -fno-math-errno -fno-trapping-math)
compile ring/arithmetic/kernels_neon.cc "${kernels[@]}"
compile ring/arithmetic/kernels_scalar.cc "${kernels[@]}" -O1
for file in base/crc32c ring/arithmetic/kernels ring/arithmetic/reduce ring/arithmetic/reduce_blocks; do
  compile $file.cc -O2
done
compile trainer/maths/kernels_exact.cc -O3 -fopenmp-simd -ffp-contract=off -fno-math-errno -DDTL_LEVEL=level_base
compile tests/ring/kernel_bits.cc -O1
aarch64-linux-gnu-g++ -static "$work"/*.o -o "$work/kernel_bits"

# Vectors in each kind of loop, or this compares one scalar loop with another.
disassembly() { aarch64-linux-gnu-objdump -d --no-show-raw-insn "$work/$1.o"; }
for want in 'kernels_neon:fadd\tv[0-9]+\.4s' 'kernels_neon:fcvtl\tv' 'kernels_neon:fcvtn\tv' \
  'kernels_neon:u?shll2?\tv' 'crc32c:crc32cx\t' 'kernels_exact:fsqrt\tv'; do
  file=${want%%:*} pattern=${want#*:}
  found=$(disassembly "$file" | grep -cP "$pattern" || true)
  [ "$found" -gt 0 ] || { echo "$file.cc: no instruction like $pattern" >&2; exit 1; }
  echo "$file.cc: $found of $pattern"
done

"$1" >"$work/here"
qemu-aarch64 "$work/kernel_bits" >"$work/arm64"
diff "$work/here" "$work/arm64"
cat "$work/arm64"
