#!/usr/bin/env bash
# Checks every ELF file of a folder: programs and libraries run on glibc 2.28 (RHEL 8, Ubuntu 20.04,
# Debian 11), and on 2.27, where old_glibc.sh runs them. They need no newer symbol, and only glibc's
# libraries. dtpmix also needs the host's libpmix.
#   elf.sh FOLDER
set -euo pipefail
newest=2.27
ours='^(libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|libm\.so\.6|ld-linux-x86-64\.so\.2|ld-linux-aarch64\.so\.1)$'
command -v readelf >/dev/null || { echo "skipped: readelf is not installed"; exit 77; }

complaints='' count=0
complain() { complaints+="$*"$'\n'; }
while IFS= read -r -d '' file; do
  cmp -s -n 4 "$file" /proc/self/exe || continue
  count=$((count + 1))
  while read -r library; do
    [[ $library =~ $ours ]] || [ "${file##*/} $library" = "dtpmix libpmix.so.2" ] || complain "$file needs $library of the host"
  done < <(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  readelf -dW "$file" | grep -E '\((RPATH|RUNPATH)\)' >/dev/null && complain "$file has a path of its builder"
  while read -r version; do
    case $version in
      GLIBC_ABI_*) complain "$file needs $version, a word that glibc $newest does not know" ;;
      GLIBC_*) printf '%s\n' "${version#GLIBC_}" "$newest" | sort -V -C ||
                 complain "$file needs $version, newer than GLIBC_$newest: $(
                   nm -D --with-symbol-versions "$file" | grep -oE "[^ ]+@${version//./\\.}\$" | tr '\n' ' ')" ;;
      *) complain "$file needs $version" ;;
    esac
  done < <(readelf -VW "$file" | awk '/^Version needs section/ { needs = 1 }
                                      /^Version (definition|symbols) section/ { needs = 0 }
                                      needs && /Name: / && !/File: / {
                                        sub(/.*Name: /, ""); print $1 }' | sort -u)
done < <(find "$1" -type f -print0)
[ $count -gt 0 ] || complain "no ELF file in $1"
if [ -n "$complaints" ]; then
  printf 'FAILED: %s' "$complaints" >&2
  exit 1
fi
echo "$count ELF files run on glibc $newest and need no other library (dtpmix: libpmix)"
