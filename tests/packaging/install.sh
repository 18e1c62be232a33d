#!/usr/bin/env bash
# `cmake --install` with a prefix, with DESTDIR and into a prefix that is moved afterwards: all files
# are below it, programs and library work from there, and nothing is written elsewhere.
#   install.sh BUILD_FOLDER CMAKE
set -euo pipefail
build=$1 cmake=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/install test.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

for program in dtlaunch dttrain dtagent dtguard dtring-perf; do
  [ -x "$build/bin/$program" ] || fail "$build/bin/$program has not been built"
done

install_into() { # arguments of `cmake --install`; with a read-only system if permitted
  local command=("$cmake" --install "$build" "$@")
  if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016
    unshare --mount sh -ec 'build=$1 work=$2; shift 2
      mount --bind "$build" "$build"; mount --bind "$work" "$work"
      for folder in /usr /etc /opt /var /root /home; do
        [ ! -d $folder ] || { mount --rbind $folder $folder && mount -o remount,bind,ro $folder; }
      done
      exec "$@"' sh "$build" "$work" "${command[@]}"
  else
    "${command[@]}"
  fi >"$work/log" 2>&1 || fail "${command[*]}: $(tail -n 15 "$work/log")"
}

listing() { (cd "$1" && find . ! -type d -printf '%p %l\n' | LC_ALL=C sort); }
places() { find /usr /etc /opt ! -type d -newer "$work/stamp" 2>/dev/null || true; }

# It runs, and finds its agent and our programs beside itself.
expect_programs() { # PREFIX
  local said
  said=$(cd / && PATH=/usr/bin:/bin "$1/bin/dtlaunch" -np 2 sh -c 'echo rank' 2>&1) || fail "dtlaunch: $said"
  [ "$said" = $'rank\nrank' ] || fail "dtlaunch -np 2 sh: $said"
  said=$(cd / && PATH=/usr/bin:/bin "$1/bin/dtlaunch" -np 2 dttrain --version 2>&1) || fail "dttrain: $said"
  [[ $said == "dttrain "* ]] || fail "dttrain: $said"
  [ "$("$1/bin/dtlaunch" --names)" = "$1/libexec/dtlaunch/names" ] || fail "--names: $("$1/bin/dtlaunch" --names 2>&1)"
  said=$(cd / && PATH=$1/libexec/dtlaunch/names:$PATH mpirun -np 2 sh -c 'echo rank' 2>&1) || fail "mpirun: $said"
  [ "$said" = $'rank\nrank' ] || fail "mpirun -np 2 sh: $said"
  for page in man1/dtlaunch.1 man3/dtring.3 man5/dtlaunch.toml.5 man8/dtagent.8; do
    [ -s "$1/share/man/$page" ] || fail "no $page below $1"
  done
  for file in share/doc/dtlaunch/copyright share/doc/dtlaunch/LICENSE \
    share/doc/dtlaunch/examples/hostfiles/slurm share/doc/dtlaunch/examples/own-csv/train.csv \
    lib/systemd/user/dtagent.socket; do
    [ -s "$1/$file" ] || fail "no $file below $1"
  done
  for file in $(grep -oE '/usr/share/common-licenses/[A-Z0-9.-]*[0-9]' "$1/share/doc/dtlaunch/copyright"); do
    cmp "$file" "$1/share/doc/dtlaunch/licenses/${file##*/}" || fail "copyright refers to $file"
  done
}

expect_library() { # PREFIX
  local pc  # the folder of dtring.pc, in that of the library
  command -v pkg-config >/dev/null && command -v cc >/dev/null || { echo "not tested: pkg-config or cc"; return 0; }
  pc=$(dirname "$(find "$1" -name dtring.pc)")
  printf '%s\n' '#include <dtring.h>' 'int main(void) { dt_options o; return dt_options_init(&o, sizeof o); }' >"$work/uses.c"
  # pkg-config escapes blanks for a shell.
  eval "cc '$work/uses.c' -o '$work/uses' $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs dtring)"
  LD_LIBRARY_PATH=${pc%/*} "$work/uses" ||
    fail "a program that uses the library below $1"
}

expect_unit() { # FILE WHOLE_PATH_OF_DTAGENT
  local line
  line=$(grep '^ExecStart=' "$1") || fail "no ExecStart in $1"
  [ "$line" = "ExecStart=$2 --service" ] || fail "$1 says $line"
}

expect_sbom() { # PREFIX
  command -v python3 >/dev/null || { echo "not tested: the SBOM (python3)"; return 0; }
  "$(dirname "$0")/sbom_check.py" "$1/share/doc/dtlaunch/dtlaunch.spdx.json" "$1"/bin/* "$1"/lib/libdtring.so.*
}

touch "$work/stamp"
sleep 0.01
install_into --prefix "$work/a prefix"
expect_programs "$work/a prefix"
expect_sbom "$work/a prefix"
expect_library "$work/a prefix"
expect_unit "$work/a prefix/lib/systemd/user/dtagent.service" "\"$work/a prefix/bin/dtagent\""
if command -v systemd-analyze >/dev/null; then
  said=$(XDG_RUNTIME_DIR=$work systemd-analyze --user verify --man=no "$work/a prefix/lib/systemd/user/"dtagent.* 2>&1) || true
  ! grep dtagent <<<"$said" || fail "the units: $said"
fi

listing "$work/a prefix" >"$work/first"
mv "$work/a prefix" "$work/moved to there"
expect_programs "$work/moved to there"
expect_library "$work/moved to there"
# After a move, does what dtagent(8) says.
(cd "$work/moved to there" &&
  sed -i "s|^ExecStart=.*|ExecStart=\"$PWD/bin/dtagent\" --service|" lib/systemd/user/dtagent.service)
expect_unit "$work/moved to there/lib/systemd/user/dtagent.service" "\"$work/moved to there/bin/dtagent\""

DESTDIR=$work/root install_into --prefix /opt/dtlaunch
[ "$(ls -A "$work/root") $(ls -A "$work/root/opt")" = "opt dtlaunch" ] || fail "DESTDIR has $(ls "$work/root"/*)"
listing "$work/root/opt/dtlaunch" | diff "$work/first" - || fail "DESTDIR makes another tree"
expect_unit "$work/root/opt/dtlaunch/lib/systemd/user/dtagent.service" /opt/dtlaunch/bin/dtagent
expect_programs "$work/root/opt/dtlaunch"
expect_sbom "$work/root/opt/dtlaunch"
if grep -rlF -- "$work" "$work/root/opt/dtlaunch/lib" "$work/root/opt/dtlaunch/share"; then
  fail "these know where they were staged"
fi

elsewhere=$(places)
[ -z "$elsewhere" ] || fail "written elsewhere: $elsewhere"
echo "$(wc -l <"$work/first") files, from a prefix, moved, and with DESTDIR"
