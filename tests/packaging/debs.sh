#!/usr/bin/env bash
# Installs the Debian packages with apt, uses them, removes and purges them; nothing may be left. It
# changes the machine, so run it in a minimal Debian in a folder. Needs root and apt, and no compiler
# before libdtring-dev.
#   debs.sh FOLDER_WITH_DEBS
set -euo pipefail
folder=$(cd "$1" && pwd)
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
[ "$(id -u)" = 0 ] || { echo "skipped: only root can install packages"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

apt() { apt-get -q -y "$@" >"$work/log" 2>&1 || fail "apt-get $*: $(tail -n 20 "$work/log")"; }
milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }

expect() { # PATTERN COMMAND...
  local pattern=$1 said
  shift
  said=$("$@" 2>&1 </dev/null) || fail "$* ends with $?: $said"
  grep -qE -- "$pattern" <<<"$said" || fail "$* says: $said"
}

# All files but apt's own records and downloads.
listing() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path "$work" \
    -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \
    -o -path /etc/ld.so.cache -o -path /root -o -path "$folder" \) -prune -o -print | LC_ALL=C sort
}

apt update
! command -v dtlaunch >/dev/null || fail "dtlaunch is there already"
dpkg-query -W -f '${Package}\n' | LC_ALL=C sort >"$work/packages.before"
listing >"$work/before"

start=$(milliseconds)
apt install "$folder"/dtlaunch_*.deb
installed=$(milliseconds)
dtlaunch -np 2 true || fail "dtlaunch -np 2 true ends with $?"
ran=$(milliseconds)

expect '^dtlaunch [0-9.]+, protocol' dtlaunch --version
expect 'libssh .* /.*\.so' dtlaunch --version -v
expect 'OpenBLAS .* inside' dttrain --version -v
expect '^rank 1$' dtlaunch -np 2 sh -c 'echo rank $RANK'
expect 'accuracy' sh -c "cd '$work' && dtlaunch -np 2 dttrain --demo"
expect 'allreduce' dtlaunch -np 2 dtring-perf -e 4K allreduce
# A minimal system may exclude /usr/share/man (dpkg.cfg.d): then the list must have the pages.
for page in man1/dtlaunch.1 man1/dttrain.1 man5/dtlaunch-hostfile.5 man8/dtagent.8; do
  grep -qx "/usr/share/man/$page.gz" < <(dpkg -L dtlaunch) || fail "no page $page"
done
for file in /usr/lib/systemd/user/dtagent.service /usr/share/doc/dtlaunch/copyright; do
  [ -s $file ] || fail "no $file"
done
grep -qx 'ExecStart=/usr/bin/dtagent --service' /usr/lib/systemd/user/dtagent.service || fail "the unit's ExecStart"

for script in bash-completion/completions/dtlaunch zsh/vendor-completions/_dtlaunch fish/vendor_completions.d/dtlaunch.fish; do
  [ -s /usr/share/$script ] || fail "no completion $script"
done

# The library, for developers.
apt install "$folder"/libdtring2_*.deb "$folder"/libdtring-dev_*.deb
[ -e "$(ldconfig -p | sed -n 's/.*libdtring\.so\.2 .*=> //p')" ] || fail "the dynamic linker does not know libdtring.so.2"
apt install --no-install-recommends gcc libc6-dev pkg-config cmake make
cat >"$work/mean.c" <<'END'
#include <dtring.h>
#include <stdio.h>
int main(void) {
  dt_comm* comm;
  if (dt_comm_from_env(&comm) != DT_OK) return 1;
  printf("rank %d\n", dt_comm_rank(comm));
  dt_comm_destroy(comm);
  return 0;
}
END
# shellcheck disable=SC2046
gcc -Wall -Werror "$work/mean.c" -o "$work/mean" $(pkg-config --cflags --libs dtring) || fail "pkg-config dtring"
expect '^rank 1$' dtlaunch -np 2 "$work/mean"
printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(mean LANGUAGES C)' 'find_package(dtring REQUIRED)' \
  'add_executable(mean mean.c)' 'target_link_libraries(mean PRIVATE dtring::dtring)' >"$work/CMakeLists.txt"
expect 'Built target mean' sh -c "cmake -S '$work' -B '$work/build' && cmake --build '$work/build'"
expect '^rank 0$' dtlaunch -np 2 "$work/build/mean"

# The PyTorch package, as far as it works without PyTorch.
apt install "$folder"/python3-dtring_*.deb
said=$(python3 -c 'import dtring' 2>&1) && fail "import dtring finds a torch that is not installed"
grep -q "No module named 'torch'" <<<"$said" || fail "import dtring says: $said"
said=$(DTRING_AUTOLOAD=1 python3 -c 'print(1)' 2>&1) || fail "DTRING_AUTOLOAD=1: $said"
[ "$said" = 1 ] || fail "DTRING_AUTOLOAD=1 says: $said"
[ -d /usr/lib/python3/dist-packages/dtring/__pycache__ ] || fail "python3-dtring is not compiled"

# Afterwards nothing is left.
dpkg -L dtlaunch libdtring2 libdtring-dev python3-dtring | LC_ALL=C sort -u >"$work/ours"
! grep -E '^/(etc|var|opt|home|root|srv)(/|$)' "$work/ours" || fail "files where a program has none"
gone() { # AFTER_WHAT
  local file
  while IFS= read -r file; do
    case $file in *dtlaunch* | *dtring* | *dtagent* | *dtguard* | *dtpmix* | *dttrain*) [ ! -e "$file" ] || fail "$1 leaves $file" ;; esac
  done <"$work/ours"
  # dpkg forgets a removed package without configuration files.
  ! dpkg-query -W dtlaunch libdtring2 libdtring-dev python3-dtring >"$work/known" 2>/dev/null || fail "after $1 dpkg knows $(cat "$work/known")"
}
apt remove dtlaunch libdtring2 libdtring-dev python3-dtring
gone "apt remove"
apt install "$folder"/*.deb
dtlaunch -np 2 true || fail "dtlaunch -np 2 true ends with $? when all packages are installed at once"
apt purge dtlaunch libdtring2 libdtring-dev python3-dtring
gone "apt purge"
mapfile -t came < <(comm -13 "$work/packages.before" <(dpkg-query -W -f '${Package}\n' | LC_ALL=C sort))
apt purge "${came[@]}"
listing >"$work/after"
left=$(comm -13 "$work/before" "$work/after" | grep -E 'dtlaunch|dtring|dtagent|dtpmix|dttrain|systemd/user' || true)
[ -z "$left" ] || fail "left after the purge: $left"
echo "packages: installed in $((installed - start)) ms, first \`dtlaunch -np 2 true\` $((ran - start)) ms after apt install was called; removed, purged, nothing left"
