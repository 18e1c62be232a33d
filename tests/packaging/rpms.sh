#!/usr/bin/env bash
# The target "rpm" makes four packages with the files of the Debian ones, in the folders of RPM systems. They
# need glibc 2.28 and nothing else, install into an empty root, run there, and leave nothing behind.
#   rpms.sh BUILD_FOLDER CMAKE
# DTL_RPMLINT: rpmlint, if it is to check them.
set -euo pipefail
build=$1 cmake=$2
for tool in rpmbuild rpm; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed (package rpm)"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
. "$here/again.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: rpms.sh: $*" >&2
  exit 1
}

DTL_QUICK=${DTL_QUICK-1} "$cmake" --build "$build" --target rpm >"$work/log" 2>&1 || fail "$(tail -n 30 "$work/log")"
cd "$build/rpms"
names=$(printf '%s\n' *.rpm | sed -E 's/-[0-9].*//' | LC_ALL=C sort | tr '\n' ' ')
[ "$names" = "dtlaunch libdtring-devel libdtring2 python3-dtring " ] || fail "packages: $names"
pack_again "$cmake" "$build" rpm rpms
[ -z "${DTL_RPMLINT-}" ] || "$DTL_RPMLINT" --config "$here/rpmlint.toml" ./*.rpm || fail "rpmlint has something to say"

# Nothing but glibc up to 2.28, what rpm itself provides, and each other.
for package in *.rpm; do
  while read -r needed; do
    case $needed in
      "rpmlib("* | "rtld(GNU_HASH)" | /usr/bin/pkg-config | python3 | libdtring2*) ;;
      ld-linux-*"()"* | libc.so.6"()"* | libm.so.6"()"* | libdl.so.2"()"* | libpthread.so.0"()"*) ;;
      *"(GLIBC_2."*) printf '%s\n' "$(sed -E 's/.*\(GLIBC_([0-9.]+)\).*/\1/' <<<"$needed")" 2.28 | sort -V -C ||
                       fail "$package needs $needed" ;;
      *) fail "$package needs $needed" ;;
    esac
  done < <(rpm -qp --requires "$package")
done
grep -q '^libpmix\.so\.2' < <(rpm -qp --suggests dtlaunch-*.rpm) || fail "libpmix is not suggested"
for library in openssl openblas hwloc glibc; do
  grep -q "^bundled($library) = [0-9]" < <(rpm -qp --provides dtlaunch-*.rpm) || fail "bundled($library) is not provided"
done
grep -q '^libdtring\.so\.2' < <(rpm -qp --provides libdtring2-*.rpm) || fail "libdtring2 does not provide its soname"
for tag in LICENSE SUMMARY DESCRIPTION; do
  for package in *.rpm; do [ -n "$(rpm -qp --qf "%{$tag}" "$package")" ] || fail "$package has no $tag"; done
done
rpm -qp --qf '[%{FILENAMES} %{FILEUSERNAME} %{FILEGROUPNAME}\n]' ./*.rpm | grep -v ' root root$' && fail "files belong to somebody"

# The files of the Debian packages: other folders, no Debian documents, and licences that Debian has elsewhere.
debs=("$build"/packages/*.deb)
if [ -e "${debs[0]}" ]; then
  for deb in "${debs[@]}"; do dpkg-deb --fsys-tarfile "$deb" | tar -t; done | grep -v '/$' |
    sed -E -e 's|^\./|/|' -e 's|^/usr/lib/[^/]*-linux-gnu/|/usr/lib64/|' -e 's|/vendor-completions/|/site-functions/|' \
      -e 's|^/usr/lib/python3/dist-packages/|/usr/share/dtlaunch/python/|' -e 's|/libdtring-dev/|/libdtring-devel/|' |
    grep -vE '/changelog\.Debian\.gz$|^/usr/share/lintian/' | LC_ALL=C sort >"$work/debs"
  rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' ./*.rpm | grep -v '^d' | sed 's/^[^ ]* //' |
    sed "s|^$(rpm --eval '%{?python3_sitelib}%{!?python3_sitelib:/none}')/|/usr/share/dtlaunch/python/|" |
    grep -vE '^/usr/share/doc/dtlaunch/(LICENSE|licenses/)' | LC_ALL=C sort >"$work/rpms"
  diff "$work/debs" "$work/rpms" || fail "< only in the Debian packages, > only in these"
else
  echo "not compared: $build/packages has no Debian packages"
fi

unpacked=$work/root
mkdir "$unpacked"
if [ "$(id -u)" = 0 ]; then
  # No glibc is in that root; the programs run with this machine's.
  rpm --root "$unpacked" --nodeps -i ./*.rpm >"$work/log" 2>&1 || fail "rpm -i: $(cat "$work/log")"
  ! grep -v '^rpm: ' "$work/log" || fail "that is what rpm -i says" # Debian's: it prefers apt
  rpm --root "$unpacked" --nodeps -V dtlaunch libdtring2 libdtring-devel python3-dtring || fail "rpm -V"
else
  for package in *.rpm; do rpm2cpio "$package" | (cd "$unpacked" && cpio -id --quiet); done
fi
bin=$unpacked/usr/bin
said=$(cd / && PATH=/usr/bin:/bin "$bin/dtlaunch" -np 2 dtring-perf --maxbytes 4K 2>&1) || fail "dtring-perf: $said"
[ "$("$bin/dtlaunch" --names)" = "$unpacked/usr/libexec/dtlaunch/names" ] || fail "--names: $("$bin/dtlaunch" --names 2>&1)"
grep -qx 'ExecStart=/usr/bin/dtagent --service' "$unpacked/usr/lib/systemd/user/dtagent.service" || fail "the unit's ExecStart"
"$here/sbom_check.py" "$unpacked/usr/share/doc/dtlaunch/dtlaunch.spdx.json" "$bin"/* "$unpacked"/usr/lib64/libdtring.so.*
if command -v pkg-config >/dev/null && command -v cc >/dev/null; then
  printf '%s\n' '#include <dtring.h>' 'int main(void) { dt_options o; return dt_options_init(&o, sizeof o); }' >"$work/uses.c"
  # shellcheck disable=SC2046
  cc "$work/uses.c" -o "$work/uses" $(PKG_CONFIG_PATH=$unpacked/usr/lib64/pkgconfig pkg-config --cflags --libs dtring)
  LD_LIBRARY_PATH=$unpacked/usr/lib64 "$work/uses" || fail "a program that uses libdtring"
fi

if [ "$(id -u)" = 0 ]; then
  rpm --root "$unpacked" --nodeps -e dtlaunch libdtring2 libdtring-devel python3-dtring >"$work/log" 2>&1 || fail "rpm -e: $(cat "$work/log")"
  left=$(cd "$unpacked" && find . -iname '*dtlaunch*' -o -iname '*dtring*' -o -iname '*dtagent*' -o -iname '*dttrain*')
  [ -z "$left" ] || fail "rpm -e leaves $left"
fi
du -b ./*.rpm
