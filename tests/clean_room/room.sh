# shellcheck shell=bash
# Makes bare Debians in folders and runs commands in them. The commands see nothing of this machine:
# no file, variable or process; they only share the network. Needs root, mmdebstrap and the package
# mirror of this machine's apt.
#
# make_room RELEASE FOLDER       a minimal Debian (minbase), its apt configured as this machine's is
# make_ubuntu RELEASE FOLDER     a minimal Ubuntu, of which the newest packages are not asked for
# enter FOLDER COMMAND...        as root; its only variables are NAME=VALUE words before the command
# enter_as USER FOLDER COMMAND...
#
# lend_from FOLDER lends packages that apt fetched before, and a compiler cache. Rooms work without.

room_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
room_scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lent=''         # the folder to lend from
room_limit=85m  # time limit of one command in a room

# The lines of sources.list for a release: this machine's Debian suites with that name.
apt_sources() { # RELEASE
  local release=$1 own uri codename component origin
  own=$(. /etc/os-release && echo "$VERSION_CODENAME")
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    sort -u | while read -r uri codename component origin; do
    [ "$origin" = Debian ] && [[ $codename == "$own" || $codename == "$own"-* ]] || continue
    [[ $codename == *-backports* ]] || echo "deb $uri ${codename/#"$own"/$release} $component"
  done
}

# This machine's apt network settings, as a file for apt.conf.d.
apt_network() {
  apt-config dump | grep -E '^Acquire::(https?|Check-|Retries|ForceIPv)' | grep -v '""' || true
}

make_room() { # RELEASE FOLDER
  local release=$1 room=$2 sources own=()
  sources=$(apt_sources "$release")
  [ -n "$sources" ] || { apt-get -qq update && sources=$(apt_sources "$release"); }
  [ -n "$sources" ] || { echo "apt here is configured for no Debian suite" >&2; return 1; }
  apt_network >"$room.apt.conf"
  [[ $sources != *" https://"* ]] || own+=(--include=ca-certificates)
  # No room outlives a crash of this machine, so dpkg need not sync to disk, here or in the room.
  mmdebstrap --quiet --variant=minbase --format=directory --dpkgopt=force-unsafe-io "${own[@]}" \
    --aptopt="$room.apt.conf" "$release" "$room" - <<<"$sources" || return 1
  cp "$room.apt.conf" "$room/etc/apt/apt.conf.d/50network"
  cp -L /etc/resolv.conf /etc/hosts "$room/etc/"
  echo "127.0.1.1 clean-room" >>"$room/etc/hosts"  # the hostname, which sudo resolves
  sed -n 's/^Acquire::https.*::CaInfo "\(.*\)";/\1/p' "$room.apt.conf" | while read -r file; do
    install -D -m 644 "$file" "$room$file"
  done
  echo "made by tests/clean_room/clean_room" >"$room/etc/clean-room"
}

# An old Ubuntu, for its glibc: Debian's mirrors keep nothing older than Debian 11.
make_ubuntu() { # RELEASE FOLDER
  local keys=${DTL_UBUNTU_KEYS:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
  [ -e "$keys" ] || { echo "no $keys" >&2; return 1; }
  apt_network >"$2.apt.conf"
  mmdebstrap --quiet --variant=minbase --format=directory --dpkgopt=force-unsafe-io --keyring="$keys" \
    --aptopt="$2.apt.conf" --include=python3-minimal,libpython3-stdlib "$1" "$2" http://archive.ubuntu.com/ubuntu || return 1
  echo "made by tests/clean_room/clean_room" >"$2/etc/clean-room"
}

# A compiler cache needs ccache, which a bare machine lacks. It is lent with its own libraries, so
# that the room sees only /lent.
lend_from() { # FOLDER
  lent=$1
  mkdir -p "$lent/debs" "$lent/bin/lib"
  command -v ccache >/dev/null || return 0
  local program loader
  program=$(command -v ccache)
  ldd "$program" | grep -oE '/[^ ]+' | while read -r file; do lend_file "$file" "$lent/bin/lib/$(basename "$file")"; done
  loader=$(basename "$(readelf -p .interp "$program" | grep -oE '/lib[^ ]*')")
  lend_file "$program" "$lent/bin/lib/ccache"
  printf '#!/bin/sh\nexec /lent/bin/lib/%s --library-path /lent/bin/lib /lent/bin/lib/ccache "$@"\n' \
    "$loader" >"$lent/wrapper"
  lend_file "$lent/wrapper" "$lent/bin/compiler-cache"
}

# Replace it atomically, since another run's rooms may be using the old one.
lend_file() { # FILE AS
  install -m 755 "$1" "$2.$$"
  mv -f "$2.$$" "$2"
}

# The variables for a lent compiler cache; SOURCE is the checkout's path in the room.
lent_variables() { # SOURCE
  [ -x "$lent/bin/compiler-cache" ] || return 0
  printf '%s\n' CMAKE_C_COMPILER_LAUNCHER=/lent/bin/compiler-cache \
    CMAKE_CXX_COMPILER_LAUNCHER=/lent/bin/compiler-cache CCACHE_DIR=/lent/cache \
    CCACHE_TEMPDIR=/tmp/ccache CCACHE_INODECACHE=1 "CCACHE_BASEDIR=$1" CCACHE_NOHASHDIR=1 \
    CCACHE_COMPILERCHECK=content CCACHE_SLOPPINESS=locale,pch_defines,time_macros 'CCACHE_IGNOREOPTIONS=-ffile-prefix-map=*'
}

enter() { # FOLDER [NAME=VALUE...] COMMAND...
  local room=$1 release
  shift
  release=$(. "$room/etc/os-release" && echo "$VERSION_CODENAME")
  timeout --foreground --kill-after 10 "$room_limit" \
    unshare --mount --propagation private --pid --fork --kill-child --ipc --uts \
      env -i PATH="$PATH" bash "$room_scripts/inside" "$room" "$lent" "$release" \
      "${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}" \
      /usr/bin/env -i HOME=/root PATH="$room_path" "$@"
}

enter_as() { # USER FOLDER [NAME=VALUE...] COMMAND...
  local user=$1 room=$2
  shift 2
  enter "$room" runuser -u "$user" -- env HOME="/home/$user" USER="$user" PATH="$room_path" "$@"
}
