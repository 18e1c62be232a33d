#!/bin/sh
# AVX code never replaces other code of the program: each object file of kernels defines its table,
# and no function that the linker could choose for other files.
set -eu
archive=$1
found=0
for set in scalar avx2 avx512 neon; do
  symbols=$(nm -C "$archive" | awk -v object="kernels_$set.cc.o:" '
    /:$/ { inside = $0 == object; next }
    inside && $2 ~ /^[A-Zuvw]$/ && $2 != "U"')
  case $symbols in
    '') ;;
    *" dtl::ring::k"*"Kernels") found=$((found + 1)) ;;
  esac
  if [ "$(printf '%s\n' "$symbols" | wc -l)" -gt 1 ]; then
    echo "$archive: kernels_$set.cc.o also defines: $symbols" >&2
    exit 1
  fi
done
[ $found -gt 0 ] || { echo "$archive: no kernels found" >&2; exit 1; }
