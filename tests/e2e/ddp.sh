#!/usr/bin/env bash
# An unmodified PyTorch script with init_process_group("gloo") trains on four ranks of two hosts.
# usage: ddp.sh DTL_TEST_PYTHON|DTL_DEBIAN_PYTHON: the variable that names the python to use
. "$(dirname "$0")/lib.sh"
limit=90
need_python "$1"
need_cluster 2

# Debian trixie's torch is built without libuv but uses it by default.
environment=()
[ "$1" != DTL_DEBIAN_PYTHON ] || environment=(-genv USE_LIBUV 0)
launch -f "$work/hosts" -np 4 -ppn 2 "${environment[@]}" "${!1}" "$e2e/ddp.py"
expect_status 0
for rank in 0 1 2 3; do expect_count 1 "^rank $rank of 4: torch " "$work/out"; done
cat "$work/out"
