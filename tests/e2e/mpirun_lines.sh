#!/usr/bin/env bash
# Command lines for mpirun do the same if only the program's name changes: a stand-in script checks
# variables, threads, preloaded library, hosts and CPUs.
. "$(dirname "$0")/lib.sh"
[ "$(nproc)" -ge 2 ] || skip "the masks name CPU 1"
need_undivided_path
need_cluster 2
python=/usr/bin/python3
[ -x "$python" ] || skip "there is no $python"
ln -s "$bin/dtlaunch" "$work/mpirun"

# Each rank writes its findings to its own file, with the variables that training scripts use.
cat >"$work/train.py" <<'SCRIPT'
import json, os, sys
found = {name: os.environ.get(name) for name in
         ("RANK", "PMI_RANK", "PMI_SIZE", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
          "OMP_NUM_THREADS", "MKL_NUM_THREADS", "LD_PRELOAD", "CCL_WORKER_COUNT")}
found["host"] = os.uname().nodename
found["cpus"] = sorted(os.sched_getaffinity(0))
found["arguments"] = sys.argv[1:]
found["mapped"] = "libdt-stand-in" in open("/proc/self/maps").read()
with open(os.path.join(os.path.dirname(__file__), "seen." + os.environ["RANK"]), "w") as out:
    json.dump(found, out)
SCRIPT

# mpirun ARGUMENTS...: runs on node1; python lines on stdin check the ranks' findings as `seen`.
mpirun() {
  rm -f "$work"/seen.*
  run "$cluster" exec node1 "$work/mpirun" "$@"
  expect_status 0
}
check() { # PYTHON expression over seen[rank]
  "$python" - "$work" "$1" <<'CHECK' || fail "not so: $1: $(cat "$work"/seen.*)"
import glob, json, sys
seen = {}
for path in glob.glob(sys.argv[1] + "/seen.*"):
    seen[int(path.rsplit(".", 1)[1])] = json.load(open(path))
sys.exit(0 if eval(sys.argv[2]) else 1)
CHECK
}

# One rank on each host, pinned by a mask; the CPU outside the mask is for communication.
printf 'node1\nnode2\n' >"$work/hostfile"
mpirun -f "$work/hostfile" -np 2 -ppn 1 -genv 'I_MPI_PIN_DOMAIN=[0x2]' -genv OMP_NUM_THREADS=28 \
  "$python" "$work/train.py" --ipex --do_train
check 'len(seen) == 2 and [seen[r]["host"] for r in (0, 1)] == ["node1", "node2"]'
check 'all(s["cpus"] == [1] and s["OMP_NUM_THREADS"] == "28" for s in seen.values())'
check 'all(s["arguments"] == ["--ipex", "--do_train"] for s in seen.values())'
check 'all(s["PMI_RANK"] == s["RANK"] and s["PMI_SIZE"] == s["WORLD_SIZE"] == "2" for s in seen.values())'
check 'len({s["MASTER_ADDR"] for s in seen.values()}) == 1 and not seen[0]["MASTER_ADDR"].startswith("127.")'

# The mask of a 32-core machine on one without these CPUs: refused before anything runs.
run "$cluster" exec node1 "$work/mpirun" -f "$work/hostfile" -np 2 -ppn 1 \
  -genv 'I_MPI_PIN_DOMAIN=[0xfffffff0]' -genv OMP_NUM_THREADS=28 "$python" "$work/train.py"
if [ "$(nproc)" -le 4 ]; then
  expect_status 78
  expect_err 'I_MPI_PIN_DOMAIN.*0xfffffff0|0xfffffff0.*I_MPI_PIN_DOMAIN'
fi

# The first host is this machine as localhost, the other one is remote.
preload=$work/libdt-stand-in.so
cc -shared -fPIC -o "$preload" -x c /dev/null
printf 'localhost\nnode2\n' >"$work/home-hosts"
mpirun -f "$work/home-hosts" -np 2 -ppn 1 -genv OMP_NUM_THREADS=24 -genv "LD_PRELOAD=$preload" \
  "$python" "$work/train.py"
check 'len(seen) == 2 and [seen[r]["host"] for r in (0, 1)] == ["node1", "node2"]'
check 'all(s["OMP_NUM_THREADS"] == "24" and s["mapped"] for s in seen.values())'
check 'not seen[0]["MASTER_ADDR"].startswith("127.")'

# Without hosts: two ranks on this machine.
mpirun -n 2 -genv OMP_NUM_THREADS=23 "$python" "$work/train.py"
check 'len(seen) == 2 and all(s["host"] == "node1" for s in seen.values())'
check 'all(s["OMP_NUM_THREADS"] == s["MKL_NUM_THREADS"] == "23" for s in seen.values())'
check 'sorted(s["LOCAL_RANK"] for s in seen.values()) == ["0", "1"]'

# Each program on its own host.
mpirun -host node2 -n 2 "$python" "$work/train.py" : -host node1 "$python" "$work/train.py" --other
check '[seen[r]["host"] for r in range(3)] == ["node2", "node2", "node1"]'
check '[seen[r]["LOCAL_RANK"] for r in range(3)] == ["0", "1", "0"] and seen[2]["WORLD_SIZE"] == "3"'
check 'seen[2]["arguments"] == ["--other"] and seen[0]["arguments"] == []'

# Addresses followed by comments.
{
  printf '%s #node0 ip\n' "$(on node1 hostname -I | awk '{print $1}')"
  printf '%s #node1 ip\n' "$(on node2 hostname -I | awk '{print $1}')"
} >"$work/ips"
mpirun -f "$work/ips" -n 4 -ppn 2 -genv OMP_NUM_THREADS=23 "$python" "$work/train.py" --no_cuda
check 'len(seen) == 4 and [seen[r]["host"] for r in range(4)] == ["node1"] * 2 + ["node2"] * 2'
check 'all(s["OMP_NUM_THREADS"] == "23" and s["LOCAL_RANK"] == str(r % 2) for r, s in seen.items())'
