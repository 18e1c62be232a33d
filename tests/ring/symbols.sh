#!/bin/sh
# libdtring.so shows dt_* and nothing else, and needs only libc, the C++ runtime, libssl and
# libcrypto: with an archive of OpenSSL nothing of it, so that another one may be in the same process.
set -eu
library=$1
others=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^dt_' || true)
if [ -n "$others" ]; then
  echo "$library also defines: $others" >&2
  exit 1
fi
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  grep -Ev '^(libc|libm|libstdc\+\+|libgcc_s|libssl|libcrypto|libasan|libubsan|libtsan|ld-linux[^.]*)\.so' || true)
if [ -n "$needed" ]; then
  echo "$library also needs: $needed" >&2
  exit 1
fi
