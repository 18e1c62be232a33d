#!/usr/bin/env bash
# usage: record.sh VARIABLE
# A Python exception that torch's @record keeps stands on the card, with its traceback.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
need_python "$1"

cat >"$work/train.py" <<'PYTHON'
import os, time
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    if os.environ["RANK"] == "1":
        raise ValueError("the learning rate is negative")
    time.sleep(20)

main()
PYTHON
limit=60
run "$bin/dtlaunch" -np 2 --oversubscribe "${!1}" "$work/train.py"
expect_status 1
expect_err '^ *error +\| '
expect_err '\| ValueError: the learning rate is negative$'
expect_err '\| +File ".*/train.py", line 7, in main$'
[ -z "$(ls -d /tmp/dtlaunch-"$(id -u)"/errors-* ~/.local/state/dtlaunch/run-*/errors-* 2>/dev/null | head -n 1)" ] || echo "error folders of other jobs are there"
