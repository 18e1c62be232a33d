#!/usr/bin/env bash
# Scripts as in PyTorch's tutorials, for env://, on two hosts with two ranks each: gloo and dtring give
# the same losses at each step, and all ranks read the first rank's checkpoint. The same scripts under
# torchrun, without dtlaunch, give the bits that gloo gives two ranks.
#   examples_on_hosts.sh LIBDTRING DTL_TEST_PYTHON|DTL_DEBIAN_PYTHON
. "$(dirname "$0")/hosts.sh" "$1" "$2"
agree() { # RUN=BACKEND...
  (cd "$work" && "$python" -B "$here/agree.py" learnt 5 "$@") || fail "they do not agree: $*"
}
# Debian trixie's torch is built without libuv but uses it by default.
environment=()
[ "$2" != DTL_DEBIAN_PYTHON ] || environment=(USE_LIBUV=0)
scripts=(ddp)
if "$python" -c 'from torch.distributed.fsdp import fully_shard' 2>/dev/null; then
  scripts+=(fsdp)
else
  echo "fsdp: left out: this torch shards no models on CPUs"
fi

for script in "${scripts[@]}"; do
  cp "$here/${script}_example.py" "$work/$script.py"
  on_hosts "$script-gloo" "${environment[@]}" -- -f hosts -np 4 -ppn 2 python3 "$script.py"
  expect_status 0
  on_hosts "$script-dtring" "${environment[@]}" DTRING_AUTOLOAD=1 -- -f hosts -np 4 -ppn 2 \
    python3 "$script.py" --backend dtring
  expect_status 0
  agree "$script-gloo=gloo" "$script-dtring=dtring"
done

# Debian's torch 1.13 has a torchrun that does not work with Python 3.11.
run "$python" -m torch.distributed.run --standalone --nproc_per_node 1 --no_python true
if [ "$status" != 0 ]; then
  echo "torchrun: left out: it starts nothing here: $(tail -n 1 "$work/err")"
  exit 0
fi

# One host, as dtring-torch(7) shows it.
example=$("$python" -B "$here/example.py" torchrun)
on_node1 ddp-torchrun-gloo "${environment[@]}" bash -c "${example/dtring/gloo}"
expect_status 0
for script in "${scripts[@]}"; do
  on_node1 "$script-torchrun" "${environment[@]}" DTRING_AUTOLOAD=1 bash -c "${example/ddp.py/$script.py}"
  expect_status 0
done
agree ddp-torchrun-gloo=gloo ddp-torchrun=dtring
bits() { grep -o '"bits": "[0-9a-f]*"' "$work/$1.out" | sort -u; }
expect_equal "the bits of two ranks" "$(bits ddp-torchrun)" "$(bits ddp-torchrun-gloo)"
if [ ${#scripts[@]} = 2 ]; then agree fsdp-torchrun=dtring; fi

# Under dtlaunch, torchrun's ranks have the job's secret, although torchrun closes descriptors.
# shellcheck disable=SC2016
on_hosts under-torchrun "${environment[@]}" DTRING_AUTOLOAD=1 -- -f hosts -ppn 1 -genv OMP_NUM_THREADS 1 sh -c \
  'torchrun --nnodes 2 --nproc_per_node 1 --node_rank $GROUP_RANK --master_addr $MASTER_ADDR \
     --master_port $MASTER_PORT ddp.py --backend dtring'
expect_status 0
# Two ranks compute the same sums on two hosts or one; each has one thread, as under torchrun.
expect_equal "the bits over hosts" "$(bits under-torchrun)" "$(bits ddp-torchrun)"
