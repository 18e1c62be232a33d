# Shared by scripts/test and scripts/lint: installs missing Debian packages.

install_packages() { # PACKAGE...
  local missing=() package
  for package in "$@"; do
    grep -q 'ok installed' < <(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || { echo "all $# packages are there"; return 0; }
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo)
    command -v sudo >/dev/null || {
      echo "$0: packages are missing. Try, as root: apt-get install ${missing[*]}" >&2
      return 1
    }
  fi
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get -q update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y install --no-install-recommends "${missing[@]}"
}
