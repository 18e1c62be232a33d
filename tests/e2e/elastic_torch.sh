#!/usr/bin/env bash
# A PyTorch script in a job that changes size: its process group has the new size each time.
. "$(dirname "$0")/lib.sh"
limit=120
need_python DTL_TEST_PYTHON
need_cluster 3

cat >"$work/script.py" <<'SCRIPT'
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
one = torch.ones(1)
dist.all_reduce(one)
line = f"{os.environ['TORCHELASTIC_RESTART_COUNT']} {dist.get_rank()} {dist.get_world_size()} {int(one)}\n"
with open(sys.argv[1], "a") as file:
    file.write(line)
while not os.path.exists(sys.argv[1] + ".end"):
    time.sleep(0.05)
dist.destroy_process_group()
time.sleep(0.3)  # gloo's threads must end before Python does
SCRIPT
seen() { awk -v epoch="$1" '$1 == epoch { print $3, $4 }' "$work/sizes" 2>/dev/null | sort | uniq -c | xargs; }
expect_epoch() { # EPOCH "COUNT SIZE SUM"
  wait_for 60 "epoch $1 with '$2'" eval "[ \"\$(seen $1)\" = '$2' ]"
}

printf 'node1\nnode2\n' >"$work/list"
start_job --discover "$work/list" --nnodes 1:3 -ppn 1 "$DTL_TEST_PYTHON" "$work/script.py" "$work/sizes"
expect_epoch 0 '2 2 2'
printf 'node1\nnode2\nnode3\n' >"$work/list.new" && mv "$work/list.new" "$work/list"
expect_epoch 1 '3 3 3'
touch "$work/sizes.end"
end_job
expect_status 0
expect_hosts_idle 10
