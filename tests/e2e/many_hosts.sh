#!/usr/bin/env bash
# 32 hosts of one kernel, whose table of neighbours holds no entry for each pair, and a known_hosts
# of 4,096 hashed lines: the job runs. What many hosts have in common is one line.
. "$(dirname "$0")/lib.sh"
need_cluster 33
known=/run/root/.ssh/known_hosts
for ((i = 2; i <= 33; i++)); do echo "node$i"; done >"$work/hosts"

python3 - >"$work/others" <<'PYTHON'
import base64, random
draw = random.Random(37)
key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
for _ in range(4096):
    salt, digest = (base64.b64encode(draw.randbytes(20)).decode() for _ in range(2))
    print(f"|1|{salt}|{digest} {key}")
PYTHON
on node1 sh -c "ssh-keygen -q -H -f $known && rm $known.old && cat '$work/others' >>$known"
if on node1 grep -q '^node' $known; then fail "known_hosts still has plain names"; fi

launch -f "$work/hosts" -np 32 -ppn 1 -v sh -c 'echo "rank $RANK"'
expect_status 0
expect_count 32 'rank [0-9]+$' "$work/out"
expect_no_err 'was stopped'
expect_err '1, 2, 4, \.\.\. apart'
expect_hosts_idle 20

for i in 5 6 7 8 9; do on node$i mount -t tmpfs none "$bin"; done
launch -f "$work/hosts" -np 32 -ppn 1 true
expect_status 71
expect_count 1 '^dtlaunch: node\[5-9\]: cannot start agent: there is no dtagent' "$work/err"
expect_no_err '^dtlaunch: node6:'
expect_hosts_idle 20
