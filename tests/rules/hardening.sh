#!/bin/bash
# Programs and library are hardened: position-independent, read-only after relocation and bound at startup, with
# stack protector and the C library's checked functions. Every file of ours is compiled with these options.
#   hardening.sh BUILD_FOLDER [ROOT]
# Control flow integrity is not checked: it works only if every linked object has it, which bookworm's C library
# and crt1.o do not.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
build=${1:?the build folder}
root=${2:-$(cd "$here/../.." && pwd)}
for tool in hardening-check readelf nm; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (devscripts, binutils)"; exit 77; }
done

# hardening-check disassembles for two answers that we skip: control flow integrity, and stack clash protection,
# which it never answers with "no"; check_commands tests that. Disassembly takes nearly all of its time.
silent=$(mktemp -d)
trap 'rm -rf "$silent"' EXIT
ln -s "$(type -P true)" "$silent/objdump"

check_dynamic() { # FILE; branch protection is for arm64, but Debian 13 reports it everywhere
  local said
  said=$(PATH=$silent:$PATH hardening-check --nocfprotection "$1" 2>&1) || sed -n "/(ignored)/d; /Branch Protection/d; s|^ \(.*: no.*\)|${1#"$build"/}: \1|p" <<<"$said"
}

# hardening-check looks for function names, which a stripped static program lacks. The archives linked into it
# have them.
check_static() { # FILE
  local name=${1#"$build"/} header
  header=$(readelf -hdlW "$1")
  grep -q 'Type: *DYN' <<<"$header" && grep -q 'FLAGS_1.* PIE' <<<"$header" ||
    echo "$name: not position-independent"
  grep -q 'GNU_RELRO' <<<"$header" && grep -q 'FLAGS_1.* NOW' <<<"$header" ||
    echo "$name: not read-only after relocation"
  grep -q 'GNU_STACK.* RW ' <<<"$header" || echo "$name: its stack is executable"
}

check_archive() { # FILE
  local undefined
  undefined=$(nm -u "$1" 2>/dev/null)
  grep -q '__stack_chk_fail$' <<<"$undefined" || echo "${1#"$build"/}: without stack protector"
  grep -q '__[a-z]*_chk$' <<<"$undefined" || echo "${1#"$build"/}: without checked functions"
}

# Every file in the folders of programs.
check_commands() { # COMPILE_COMMANDS
  awk -v root="$root/" '
    /^ *"command": / { command = " " $0 " " }
    /^ *"file": / {
      file = $0
      sub(/^ *"file": "/, "", file)
      sub(/".*/, "", file)
      if (index(file, root) != 1) next
      file = substr(file, length(root) + 1)
      if (file !~ /^(base|plan|wire|ring|agent|launcher|trainer)\//) next
      count = split("-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection", flags)
      for (i = 1; i <= count; ++i)
        if (index(command, " " flags[i] " ") == 0) print file ": compiled without " flags[i]
    }' "$1"
}

checked=0
complaints=$(
  for file in "$build"/bin/{dtlaunch,dttrain,dtring-perf,dtpmix} "$build"/ring/libdtring.so \
    "$build"/packaging/debian/bin/{dtlaunch,dtring-perf} "$build"/packaging/debian/libdtring.so; do
    [ ! -e "$file" ] || check_dynamic "$file"
  done
  for file in "$build"/bin/{dtagent,dtguard}; do
    [ ! -e "$file" ] || check_static "$file"
  done
  for file in "$build"/{base/libdtl_base,agent/libdtl_agent_node,agent/libdtl_agent_processes}.a; do
    [ ! -e "$file" ] || check_archive "$file"
  done
  [ ! -e "$build/compile_commands.json" ] || check_commands "$build/compile_commands.json"
  true
)
for file in "$build"/bin/{dtlaunch,dttrain,dtring-perf,dtagent,dtguard,dtpmix} "$build"/ring/libdtring.so; do
  if [ -e "$file" ]; then checked=$((checked + 1)); else echo "not checked: ${file##*/} has not been built"; fi
done
[ $checked -gt 0 ] || { echo "skipped: nothing has been built"; exit 77; }
report "the hardening rule" "$complaints"
