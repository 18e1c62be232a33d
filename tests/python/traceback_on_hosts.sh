#!/usr/bin/env bash
# If a rank on another host fails during training, the card shows that rank, its exception and the
# lines that led there, whether from torch's @record or from standard error. It does not show the
# other ranks, which were waiting in a collective.
#   traceback_on_hosts.sh LIBDTRING DTL_TEST_PYTHON|DTL_DEBIAN_PYTHON
. "$(dirname "$0")/hosts.sh" "$1" "$2"
environment=()
[ "$2" != DTL_DEBIAN_PYTHON ] || environment=(USE_LIBUV=0)

cat >"$work/train.py" <<'PYTHON'
import sys
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

def read_batch(step):
    if dist.get_rank() == 3 and step == 5:
        raise ValueError(f"row {step} has no label")
    return torch.randn(4, 8)

def train():
    dist.init_process_group(sys.argv[1])
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    for step in range(10000):
        model(read_batch(step)).sum().backward()

record(train)() if sys.argv[2] == "record" else train()
PYTHON

for way in "dtring record" "dtring plain" "gloo plain"; do
  read -r backend keeps <<<"$way"
  on_hosts "$backend-$keeps" "${environment[@]}" DTRING_AUTOLOAD=1 -- -f hosts -np 4 -ppn 2 \
    python3 train.py "$backend" "$keeps"
  expect_status 1
  expect_count 1 '^dtlaunch: rank 3 on node2 exited with status 1$' "$work/err"
  # The card: from its first line to the end.
  sed -n '/^dtlaunch: rank 3 on node2 exited/,$p' "$work/err" >"$work/card"
  expect_count 1 '\| (\[rank3\]: )?ValueError: row 5 has no label$' "$work/card"
  expect_count 1 'train.py", line 9, in read_batch$' "$work/card"
  expect_count 1 'train.py", line [0-9]+, in train$' "$work/card"
  expect_count 0 'PeerLostError|Connection (closed|reset) by peer' "$work/card"
  if [ "$keeps" = record ]; then expect_err '^ *error +\| '; else expect_err '^ *stderr +\| '; fi
done
