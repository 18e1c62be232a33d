#!/usr/bin/env bash
# If PyTorch ranks never connect and train separate models with status 0, a line says so. Ranks that did
# connect, however briefly, get no such line.
# usage: met.sh DTL_TEST_PYTHON|DTL_DEBIAN_PYTHON: the variable that names the python to use
. "$(dirname "$0")/lib.sh"
limit=90
need_python "$1"
need_cluster 1 # connections of other programs on the same host would suppress the line
python=${!1}
said='has loaded PyTorch, and no connection to the others was seen'
export USE_LIBUV=0 # Debian trixie's torch is built without libuv but uses it by default

alone='import time, torch; time.sleep(3)'
# Also if another program starts Python.
# shellcheck disable=SC2016
launch -np 2 --oversubscribe sh -c '"$0" -c "$1"; exit 0' "$python" "$alone"
expect_status 0
expect_count 1 "^dtlaunch: .*: rank 0 of 2 $said: each seems to have worked by itself\. Does the program call init_process_group\(\)\?$" "$work/err"

# No line: one rank, a failure, PyTorch not loaded.
launch -np 1 "$python" -c "$alone"
expect_status 0
expect_no_err "$said"
launch -np 2 --oversubscribe "$python" -c "$alone; raise SystemExit(3)"
expect_status 3
expect_no_err "$said"
launch -np 2 --oversubscribe "$python" -c 'import time; time.sleep(3)'
expect_status 0
expect_no_err "$said"

# They have met: briefly, long ago, over a file, or at their own port.
cat >"$work/meets.py" <<'PROGRAM'
import os, sys, time
import torch, torch.distributed as dist
rank, world, how, work = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1], sys.argv[2]
if how == "port":
    method = f"tcp://127.0.0.1:{int(os.environ['MASTER_PORT']) + 1}"
elif how == "file":
    method = "file://" + sys.argv[2] + "/met"
else:
    method = "env://"
time.sleep(2)
dist.init_process_group("gloo", init_method=method, rank=rank, world_size=world)
ones = torch.ones(1)
dist.all_reduce(ones)
assert ones.item() == world
if how == "port":
    time.sleep(2)
dist.destroy_process_group()
if how == "long ago":
    time.sleep(8)
if how == "abrupt":
    os._exit(0)
PROGRAM
for how in moment abrupt "long ago" port file; do
  launch -np 2 --oversubscribe "$python" "$work/meets.py" "$how" "$work"
  expect_status 0
  expect_no_err "$said"
done
