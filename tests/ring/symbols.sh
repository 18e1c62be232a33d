#!/bin/sh
# libdtring.so exports only dt_*, and needs only libc, the C++ runtime, libssl and libcrypto. With
# static OpenSSL it exports none of that, so that another OpenSSL may be in the same process.
set -eu
library=$1
others=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^dt_' || true)
if [ -n "$others" ]; then
  echo "$library also defines: $others" >&2
  exit 1
fi
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  grep -Ev '^(libc|libm|libpthread|libdl|libstdc\+\+|libgcc_s|libssl|libcrypto|libasan|libubsan|libtsan|ld-linux[^.]*)\.so' || true)
if [ -n "$needed" ]; then
  echo "$library also needs: $needed" >&2
  exit 1
fi
