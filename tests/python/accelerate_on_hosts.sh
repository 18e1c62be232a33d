#!/usr/bin/env bash
# accelerate on two hosts: its training loop on four ranks over gloo and dtring; the same script under
# accelerate launch, one on each host, with files as accelerate config writes them for multi-CPU; and
# an accelerate launch whose file names dtlaunch as mpirun.
#   accelerate_on_hosts.sh LIBDTRING
. "$(dirname "$0")/hosts.sh" "$1" DTL_TEST_PYTHON accelerate
cp "$here/accelerate_loop.py" "$work/train.py"
agree() { # RUN=BACKEND...
  (cd "$work" && "$python" -B "$here/agree.py" accuracy 0.8 "$@") || fail "they do not agree: $*"
}

# config FILE NAME=VALUE...: writes a file as accelerate config does for multi-CPU.
config() {
  (cd "$work" && "$python" -B - "$@" <<'PYTHON') || fail "no $1"
import sys
from accelerate.commands.config.config_args import ClusterConfig
values = {name: int(value) if value.isdigit() else value
          for name, value in (word.split("=") for word in sys.argv[2:])}
hostfile = values.pop("mpirun_hostfile", None)
ClusterConfig(compute_environment="LOCAL_MACHINE", distributed_type="MULTI_CPU", mixed_precision="no",
              use_cpu=True, debug=False, machine_rank=0, same_network=True, rdzv_backend="static",
              mpirun_config={"mpirun_hostfile": hostfile} if hostfile else {}, **values).to_yaml_file(sys.argv[1])
PYTHON
}

on_hosts four-gloo -- -f hosts -np 4 -ppn 2 python3 train.py
expect_status 0
on_hosts four-dtring DTRING_AUTOLOAD=1 -- -f hosts -np 4 -ppn 2 python3 train.py --backend dtring
expect_status 0
agree four-gloo=gloo four-dtring=dtring
expect_count 1 '"rank": 3, "local_rank": 1, "world": 4, "type": "MULTI_CPU"' "$work/four-gloo.out"

# One machine and one process: accelerate leaves the number of ranks to dtlaunch.
config cpu.yaml num_machines=1 num_processes=1
on_hosts two-gloo -- -f hosts -ppn 1 accelerate launch --config_file cpu.yaml train.py
expect_status 0
example_on_hosts two-dtring "$("$python" -B "$here/example.py" accelerate)"
expect_status 0
agree two-gloo=gloo two-dtring=dtring
expect_count 1 '"rank": 1, "local_rank": 0, "world": 2, "type": "MULTI_CPU"' "$work/two-dtring.out"

# Two machines: the file's address and port are used, but dtlaunch still makes the ranks, although the
# same file says machine_rank 0 on both hosts.
config two.yaml num_machines=2 num_processes=2 main_process_ip=node1 main_process_port=24555
on_hosts two-machines DTRING_AUTOLOAD=1 -- -f hosts -ppn 1 accelerate launch --config_file two.yaml \
  train.py --backend dtring
expect_status 0
agree two-gloo=gloo two-machines=dtring

# accelerate launch with mpirun finds dtlaunch under that name.
ln -s "$bin/dtlaunch" "$work/venv/bin/mpirun"
config mpi.yaml num_machines=2 num_processes=4 main_process_ip=node1 main_process_port=24555 \
  mpirun_hostfile="$work/hosts"
on_node1 mpirun DTRING_AUTOLOAD=1 accelerate launch --config_file mpi.yaml train.py --backend dtring
expect_status 0
expect_err 'MASTER_ADDR is exported and not used'
agree four-gloo=gloo mpirun=dtring
