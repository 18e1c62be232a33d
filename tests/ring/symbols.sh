#!/bin/sh
# libdtring.so shows dt_* and nothing else, and needs only libc, the C++ runtime and libcrypto.
set -eu
library=$1
others=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^dt_' || true)
if [ -n "$others" ]; then
  echo "$library also defines: $others" >&2
  exit 1
fi
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  grep -Ev '^(libc|libm|libstdc\+\+|libgcc_s|libcrypto|libasan|libubsan|libtsan|ld-linux[^.]*)\.so' || true)
if [ -n "$needed" ]; then
  echo "$library also needs: $needed" >&2
  exit 1
fi
