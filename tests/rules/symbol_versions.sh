#!/bin/bash
# Programs and library run on glibc 2.28 or later (RHEL 8, Ubuntu 20.04, Debian 11): they need no
# newer symbol, and only the C library's own libraries. dtpmix also needs the host's libpmix. None of
# 2.28 either, so that they can be tested on Ubuntu 18.04: mirrors have no Debian with 2.28.
#   symbol_versions.sh BUILD_FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
build=${1:?the build folder}
newest=2.27
for tool in readelf objdump getconf; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

is_newer() { # A B
  [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]
}

libraries_of() { readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

check_libraries() { # FILE
  local library
  for library in $(libraries_of "$1"); do
    case $library in
      libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux-x86-64.so.2) ;;
      libpmix.so.2) [ "${1##*/}" = dtpmix ] || echo "${1#"$build"/}: needs $library" ;;
      *) echo "${1#"$build"/}: needs $library" ;;
    esac
  done
}

check_symbols() { # FILE
  local symbol version
  objdump -T "$1" 2>/dev/null | sed -n 's/.*\*UND\*.*(\{0,1\}\(GLIBC[A-Z]*\|CXXABI\|GCC\)_\([0-9.]*\))\{0,1\} *\(.*\)/\1 \2 \3/p' |
    while read -r library version symbol; do
      if [ "$library" != GLIBC ] || is_newer "$version" $newest; then
        echo "${1#"$build"/}: asks for $symbol of ${library}_$version"
      fi
    done
}

checked=0
complaints=''
new=''
for file in "$build"/bin/{dtlaunch,dttrain,dtring-perf,dtpmix} "$build"/ring/libdtring.so; do
  [ -e "$file" ] || { echo "not checked: ${file##*/} has not been built"; continue; }
  checked=$((checked + 1))
  complaints+=$(check_libraries "$file")
  new+=$(check_symbols "$file")
done
for file in "$build"/bin/{dtagent,dtguard}; do
  [ -e "$file" ] || { echo "not checked: ${file##*/} has not been built"; continue; }
  checked=$((checked + 1))
  complaints+=$(libraries_of "$file" | sed "s|^|${file##*/}: is not static, it needs |")
done
[ $checked -gt 0 ] || { echo "skipped: nothing has been built"; exit 77; }
glibc=$(getconf GNU_LIBC_VERSION | sed 's/.* //')
if [ -z "$complaints" ] && [ -n "$new" ] && is_newer "$glibc" 2.36; then
  echo "skipped: built with glibc $glibc, whose headers ask for its own symbols; only a build on Debian 12 (2.36) promises $newest"
  exit 77
fi
report "the rule of symbol versions" "$complaints$new"
