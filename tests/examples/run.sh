#!/usr/bin/env bash
# An example does what its README.md says: its commands run to the letter, in a copy of the folder, and print what
# the README shows.
#   run.sh NAME [LIBDTRING VARIABLE MODULE...]
# VARIABLE names the Python to use, which must have torch and the MODULEs. With "-" before VARIABLE, a missing
# Python leaves out only the commands that need it.
. "$(dirname "$0")/../e2e/lib.sh"
. "$root/tests/python/venv.sh"
need_program dtlaunch dtagent dtguard dttrain
use_plain_path
example=$root/examples/$1 promise=examples.$1
path=$bin:$PATH
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1
if [ $# -gt 1 ]; then
  variable=${3#-}
  if [ "$3" != "$variable" ] && ! "$root/tests/support/has_modules" "${!variable:-false}" torch "${@:4}"; then
    echo "the commands with python3 are left out: $variable names no Python with torch ${*:4}"
    export DTL_EXAMPLE_WITHOUT=python3
  else
    make_venv "$variable" "${@:4}"
    path=$work/venv/bin:$path
    export DTRING_LIBRARY=$2
  fi
fi
mkdir "$work/copy"
find "$example" -maxdepth 1 -type f -exec cp -t "$work/copy" {} + # without files that somebody trained there
echo 'localhost slots=2' >"$work/copy/hosts"
PATH=$path PYTHONPATH=$e2e /usr/bin/python3 -B "$root/tests/examples/commands.py" "$example" "$work/copy" \
  >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err" >&2; exit 1; }
cat "$work/out"
