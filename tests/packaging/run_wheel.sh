#!/usr/bin/env bash
# A wheel keeps its promises in a fresh venv: after one pip install without a network, programs and
# library run; after one pip uninstall, nothing is left. Needs no compiler, so tests/clean_room runs
# it in bare Debians too.
#   run_wheel.sh WHEEL [PYTHON]
set -euo pipefail
wheel=$(realpath "$1")
python=${2:-/usr/bin/python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
venv=$folder/venv

fail() {
  echo "FAILED: run_wheel.sh: $*" >&2
  exit 1
}

# Nothing from the caller: no dtagent on PATH, no variables of a job or of pip.
mkdir "$folder/home" "$folder/cwd"
cd "$folder/cwd"
clean() { env -i HOME="$folder/home" PATH="$venv/bin:/usr/bin:/bin" LANG=C.UTF-8 "$@"; }
far() { env -i HOME="$folder/home" PATH=/usr/bin:/bin LANG=C.UTF-8 "$@"; }  # outside the venv
pip() { clean "$venv/bin/python" -m pip --disable-pip-version-check "$@"; }
files() { (cd "$venv" && find . -name __pycache__ -prune -o -print | LC_ALL=C sort); }

"$python" -m venv "$venv"
files >"$folder/before"
pip install --quiet --no-index "$wheel"
pip check >/dev/null || fail "pip check: $(pip check)"
version=$(pip show dtlaunch | sed -n 's/^Version: //p')
[ -n "$version" ] || fail "pip does not know it"

programs=(dtlaunch dtagent dtguard dttrain dtring-perf)
for program in "${programs[@]}"; do
  [ -x "$venv/bin/$program" ] && [ ! -L "$venv/bin/$program" ] || fail "no $program in the venv's bin"
  cmp -s -n 4 "$venv/bin/$program" /bin/true || fail "$program is no executable but a script"
done
for program in dtlaunch dttrain dtagent dtring-perf; do
  clean "$program" --version >"$folder/out" || fail "$program --version ended with $?"
  [[ $(head -n 1 "$folder/out") = *"$version"* ]] || fail "$program --version says $(cat "$folder/out")"
done

# By PATH, by its own path, and through a link elsewhere, it finds dtagent beside itself.
ln -s "$venv/bin/dtlaunch" "$folder/launch"
ranks() { sort "$folder/out" | tr '\n' ' '; }
for how in "clean dtlaunch" "far $venv/bin/dtlaunch" "far $folder/launch"; do
  $how -np 2 sh -c 'echo "rank $RANK"' >"$folder/out" || fail "$how ended with $?"
  [ "$(ranks)" = "rank 0 rank 1 " ] || fail "$how -np 2 prints $(cat "$folder/out")"
done
status=0
clean dtlaunch -np 2 false 2>/dev/null || status=$?
[ $status = 1 ] || fail "dtlaunch -np 2 false ended with $status"

# The demonstration: two ranks train with libdtring.
clean dtlaunch -np 2 >"$folder/out" 2>"$folder/err" ||
  fail "the demonstration ended with $?: $(cat "$folder/err" "$folder/out")"
grep -q accuracy "$folder/out" || fail "the demonstration says $(cat "$folder/out")"

# The library's Python package finds the library.
cat >"$folder/two.py" <<'PYTHON'
import ctypes
import pathlib
import re
import sys
import sysconfig
folder = pathlib.Path(sysconfig.get_path("platlib"))
header = pathlib.Path(sys.prefix, "include", "dtring.h").read_text()
abi = int(re.search(r"^#define DT_ABI (\d+)", header, re.M)[1])
ring = ctypes.CDLL(str(folder / "dtring.libs" / f"libdtring.so.{abi}"))
assert ring.dt_abi_version() == abi, ring.dt_abi_version()
comm = ctypes.c_void_p()
status = ring.dt_comm_from_env(ctypes.byref(comm))
assert status == 0, status
value, total = ctypes.c_int32(ring.dt_comm_rank(comm) + 1), ctypes.c_int32()
work = ctypes.c_uint64()
DT_I32, DT_SUM, DT_WIRE_DEFAULT = 1, 0, 0
status = ring.dt_allreduce(comm, ctypes.byref(value), ctypes.byref(total), ctypes.c_uint64(1), DT_I32,
                           DT_SUM, DT_WIRE_DEFAULT, ctypes.c_uint64(1), ctypes.byref(work))
assert status == 0, status
status = ring.dt_wait(comm, work, 60_000)
assert status == 0, status
print("sum", total.value)
assert ring.dt_comm_destroy(comm) == 0
PYTHON
clean dtlaunch -np 2 python "$folder/two.py" >"$folder/out" || fail "libdtring: $(cat "$folder/out")"
[ "$(ranks)" = "sum 3 sum 3 " ] || fail "libdtring's sum of 1 and 2: $(cat "$folder/out")"
if clean python -c 'import dtring' 2>/dev/null && ! grep -q 'dtring/__init__.py' < <(pip show -f dtlaunch); then
  fail "import dtring finds a package that is none"
fi

# The venv has the files for man and the shells.
for page in man1/dtlaunch.1 man3/dtring.3 man5/dtlaunch-hostfile.5 man8/dtagent.8; do
  [ -s "$venv/share/man/$page" ] || fail "no man page $page"
done

pip uninstall --quiet --yes dtlaunch
find "$venv" -type d -empty -delete  # pip leaves folders that it created
files >"$folder/after"
diff <(while read -r path; do [ ! -e "$venv/$path" ] || echo "$path"; done <"$folder/before") \
  "$folder/after" || fail "pip uninstall leaves something, or takes more than its own"
echo "$(basename "$wheel"): installed, run and removed with $("$python" --version), $(ldd --version | sed 's/.* /glibc /;q')"
