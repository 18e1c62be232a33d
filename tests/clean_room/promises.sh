# shellcheck shell=bash
# The promises of clean_room, each in its own process: promise_NAME, described in `about`.

declare -A about
all_promises=()
promise() { # NAME TEXT
  about[$1]=$2
  all_promises+=("$1")
}

blank_path="/tmp/a path with blanks/dtlaunch"  # below /tmp, which tests may cover with a mount

skip_promise() {
  echo "$*" | tee "$work/why"
  exit 77
}

# A copy of the bare room of a release, which is made once.
room_of() { # RELEASE NAME -> $room
  local bare=$work/bare-$1
  [ -d "$bare" ] || make_room "$1" "$bare"
  room=$work/$2
  [ -d "$room" ] || cp -a "$bare" "$room"
}

# Only committed files of this folder. In the room they belong to USER.
put_clone() { # ROOM PATH [USER]
  mkdir -p "$1$(dirname "$2")"
  (umask "${room_umask:-022}" && git clone --quiet --no-hardlinks "$root" "$1$2")
  [ -z "${3-}" ] || chroot "$1" chown -R "$3:" "$(dirname "$2")"
}

# The two commands of the README's quick start, to the letter -> $command
readme_command() { # quickstart | test
  local shown
  shown=$(sed -n '/^## Quick start/,/^## /s/^    \([^ ].*\)/\1/p' "$root/README.md" | sed 's/  *#.*//' | xargs)
  [ "$shown" = "scripts/quickstart scripts/test" ] ||
    { echo "the README's quick start does not give its two commands, but: $shown" >&2; return 1; }
  command=scripts/$1
}

# Runs a command line in a folder of the room, as users type it.
at() { # USER ROOM FOLDER COMMAND-LINE
  local variables=() user=$1 entering=(enter)
  mapfile -t variables < <(lent_variables "$3")
  if [ "$user" != root ]; then  # other users may not write to the cache of this machine's user
    entering=(enter_as "$user")
    [ ${#variables[@]} = 0 ] || variables+=(CCACHE_READONLY=1 "CCACHE_TEMPDIR=/tmp/ccache.$user")
  fi
  "${entering[@]}" "$2" "${variables[@]}" sh -c "umask ${room_umask:-022} && cd \"\$1\" && $4" sh "$3"
}

add_user() { # ROOM NAME
  chroot "$1" useradd --create-home --shell /bin/bash "$2"
}

# Runs the quick start's command and checks its last lines; the model must have learned something.
quick_start() { # USER ROOM FOLDER
  local log=$2.quickstart.log command
  readme_command quickstart
  at "$1" "$2" "$3" "$command" 2>&1 | tee "$log"
  awk '/^held-out accuracy / {
      sub(";", "")
      found = 1
      print "accuracy " $3 ", by guessing " $NF
      if ($3 + 0 < $NF + 0.2) exit 1
    }
    END { if (!found) { print "no accuracy was printed"; exit 1 } }' "$log"
  grep -q '^training took ' < <(tail -n 1 "$log")
}

promise quickstart_12 "bare Debian 12, root, /root/dtlaunch, umask 077: scripts/quickstart"
promise_quickstart_12() {
  room_umask=077
  room_of bookworm twelve
  put_clone "$room" /root/dtlaunch
  quick_start root "$room" /root/dtlaunch
}

promise quickstart_13 "bare Debian 13, root, /root/dtlaunch: scripts/quickstart"
promise_quickstart_13() {
  room_of trixie thirteen
  put_clone "$room" /root/dtlaunch
  quick_start root "$room" /root/dtlaunch
}

promise user_13 "in the room of quickstart_13: a user without sudo, packages already installed, below /tmp, blanks in the path"
promise_user_13() {
  [ -d "$work/thirteen/root/dtlaunch" ] || promise_quickstart_13
  room=$work/thirteen
  add_user "$room" ada
  put_clone "$room" "$blank_path" ada
  quick_start ada "$room" "$blank_path"
}

promise sudo_13 "bare Debian 13, a user with sudo, below /tmp, blanks in the path: scripts/quickstart"
promise_sudo_13() {
  room_of trixie sudoer
  enter "$room" sh -c 'apt-get -qq update && apt-get -qq -y install --no-install-recommends sudo >/dev/null'
  add_user "$room" ada
  echo "ada ALL=(ALL) NOPASSWD: ALL" >"$room/etc/sudoers.d/ada"
  put_clone "$room" "$blank_path" ada
  quick_start ada "$room" "$blank_path"
}

promise data_13 "in the room of sudo_13: a user without sudo, packages already installed: scripts/package-dataset"
promise_data_13() {
  [ -d "$work/sudoer$blank_path" ] || promise_sudo_13
  room=$work/sudoer
  add_user "$room" bob
  put_clone "$room" /home/bob/dtlaunch/here bob
  at bob "$room" /home/bob/dtlaunch/here "scripts/package-dataset out"
}

promise test_12 "in the room of quickstart_12: scripts/test --every 10, then packages and presets of --all"
promise_test_12() {
  room_umask=077
  [ -d "$work/twelve/root/dtlaunch" ] || promise_quickstart_12
  readme_command test
  at root "$work/twelve" /root/dtlaunch "$command --every 10"
  at root "$work/twelve" /root/dtlaunch "$command --all --no-python-references --only packages,presets"
}

promise plain_test_12 "bare Debian 12, root, umask 077: scripts/test"
promise_plain_test_12() {
  room_umask=077
  room_of bookworm plain12
  put_clone "$room" /root/dtlaunch
  readme_command test
  at root "$room" /root/dtlaunch "$command"
}

promise plain_test_13 "bare Debian 13, a user without sudo, packages already installed, below /tmp, blanks in the path: scripts/test"
promise_plain_test_13() {
  room_of trixie plain13
  add_user "$room" ada
  put_clone "$room" "$blank_path" ada
  readme_command test
  at root "$room" "$blank_path" "$command --only packages"
  chroot "$room" chown -R ada: "$(dirname "$blank_path")"
  at ada "$room" "$blank_path" "$command"
}

promise whole_test_12 "Debian 12, scripts/test --all --no-python-references"
promise_whole_test_12() {
  room_of bookworm twelve
  [ -d "$room/root/dtlaunch" ] || put_clone "$room" /root/dtlaunch
  readme_command test
  at root "$room" /root/dtlaunch "$command --all --no-python-references"
}

promise whole_test_13 "Debian 13, scripts/test --all --no-python-references, below /tmp"
promise_whole_test_13() {
  room_of trixie thirteen
  [ -d "$room$blank_path" ] || put_clone "$room" "$blank_path"
  readme_command test
  at root "$room" "$blank_path" "$command --all --no-python-references"
}

# The packages of this checkout's build, without a compiler.
promise packages_12 "bare Debian 12: apt install ./*.deb, a job, removed, purged, nothing left"
promise_packages_12() {
  local debs=("$build"/packages/*.deb)
  [ -e "${debs[0]}" ] || skip_promise "no packages are in $build/packages (cmake --build --preset release --target package)"
  [ "$(. /etc/os-release && echo "$VERSION_CODENAME")" = bookworm ] ||
    skip_promise "the packages here were not built on Debian 12"
  room_of bookworm apt12
  mkdir -p "$room/root/packages"
  cp "${debs[@]}" "$root/tests/packaging/debs.sh" "$room/root/packages/"
  enter "$room" /root/packages/debs.sh /root/packages
}

# The wheel of tests/packaging/wheel.sh, without a compiler.
wheel_runs() { # RELEASE NAME
  local wheels=("$build"/wheel/dtlaunch-*.whl)
  [ -e "${wheels[0]}" ] || skip_promise "no wheel is in $build/wheel (ctest -R packaging.wheel)"
  room_of "$1" "$2"
  mkdir -p "$room/root/wheel"
  cp "${wheels[0]}" "$root/tests/packaging/run_wheel.sh" "$room/root/wheel/"
  enter "$room" sh -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -y install --no-install-recommends python3-venv >/dev/null'
  enter "$room" sh -c 'cd /root/wheel && ./run_wheel.sh dtlaunch-*.whl'
}

promise wheel_12 "bare Debian 12 with python3-venv: the wheel in a venv, without a network for pip"
promise_wheel_12() { wheel_runs bookworm venv12; }

promise wheel_13 "bare Debian 13 with python3-venv: the wheel that was built elsewhere"
promise_wheel_13() { wheel_runs trixie venv13; }

promise wheel_11 "bare Debian 11 (glibc 2.31) with python3-venv: the wheel that was built elsewhere"
promise_wheel_11() { wheel_runs bullseye venv11; }

# The tarball of tests/packaging/tarball.sh, in a root without further packages.
tarball_runs() { # ROOM
  local tarballs=("$build"/tarball/dtlaunch-*.tar.gz)
  [ -e "${tarballs[0]}" ] || skip_promise "no tarball is in $build/tarball (cmake --build --preset release --target tarball)"
  mkdir -p "$1/root/tarball"
  cp "${tarballs[0]}" "$root/tests/packaging/run_tarball.sh" "$1/root/tarball/"
  enter "$1" sh -c 'cd /root/tarball && ./run_tarball.sh dtlaunch-*.tar.gz'
}

promise tarball_11 "bare Debian 11 (glibc 2.31): the tarball"
promise_tarball_11() {
  room_of bullseye tar11
  tarball_runs "$room"
}

promise tarball_1804 "bare Ubuntu 18.04 (glibc 2.27, older than what is promised): the tarball"
promise_tarball_1804() {
  make_ubuntu bionic "$work/tar1804" || skip_promise "no Ubuntu 18.04 can be made here: its keys are DTL_UBUNTU_KEYS"
  tarball_runs "$work/tar1804"
}

promise containerfile "the steps of packaging/Containerfile, and two pods of its image"
promise_containerfile() {
  room_of bookworm base
  [ -d "$work/context" ] || git clone --quiet --no-hardlinks "$root" "$work/context"
  mkdir "$work/image"
  "$root/tests/packaging/containerfile.sh" "$room" "$work/context" "$work/image" "$lent"
}

# The first can run beside the release build's tests. The others need what these leave, or have deadlines that
# need their share of the machine.
ci_promises=(sudo_13 data_13 quickstart_12 containerfile)
ci_late_promises=(packages_12 wheel_12 wheel_13 test_12)
full_promises=(quickstart_12 plain_test_12 whole_test_12 quickstart_13 user_13 sudo_13 data_13 plain_test_13 whole_test_13 packages_12
               wheel_11 wheel_12 wheel_13 tarball_11 tarball_1804 containerfile)
