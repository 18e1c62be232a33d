#!/usr/bin/env bash
# Kubernetes pods, each a namespace: dtlaunch as PID 1 of another user, on a read-only root, with a CPU quota.
# Names resolve late, pods end and are recreated elsewhere, and the job continues. The environments are those
# that operators set.
. "$(dirname "$0")/lib.sh"
limit=120
use_open_paths # pods run as another user
need_cluster 5 --cpus 1
data=$root/tests/data/schedulers
token=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
export DTL_TOKEN=$token
wrap=()  # command that starts dtlaunch in a pod
names=() # processes that write them
memory=  # a cgroup that limits it

# Volumes that all pods of a job share; only they are writable.
volume() { mkdir -p "$work/$1" && chmod 1777 "$work/$1"; }

# pod JOB NAME NODE VARIABLE=VALUE... -- ARGUMENTS of dtlaunch: in the background; writes
# $work/JOB.NAME.NODE.out, .err and .status.
pod() {
  local job=$1 name=$2 node=$3 files=$work/$1.$2.$3 variables=()
  shift 3
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  rm -f "$files.status"
  {
    [ -z "$memory" ] || echo $BASHPID >"$memory/cgroup.procs"
    # shellcheck disable=SC2016
    timeout -s KILL "$limit" "$cluster" exec "$node" env -u HOME -u USER -u LOGNAME \
      KUBERNETES_SERVICE_HOST=10.96.0.1 "${variables[@]}" \
      HOSTNAME="$name" unshare --pid --fork --mount --uts --mount-proc --kill-child sh -ec '
        hostname "$HOSTNAME"
        mount --bind "$1" "$1"
        mount -o remount,bind,ro /
        cd "$1"
        shift
        exec setpriv --reuid 1234 --regid 1234 --clear-groups --inh-caps=-all --bounding-set=-all \
          --no-new-privs "$@"' pod "$work/$job" "${wrap[@]}" "$bin/dtlaunch" "$@" \
      >"$files.out" 2>"$files.err" </dev/null
    echo $? >"$files.new" && mv "$files.new" "$files.status"
  } &
}

said() { tail -n 30 "$work/$1".*.err 2>/dev/null; } # JOB
has_ended() { [ -s "$work/$1.status" ]; }
expect_pod() { # SECONDS JOB.NAME.NODE STATUS
  wait_for "$1" "$2 to end; $(said "${2%%.*}")" has_ended "$2"
  expect_equal "exit status of $2" "$(cat "$work/$2.status")" "$3"
}
# The pid of the pod's dtlaunch on its node: a scheduler sends its signals there.
pod_one() { on "$2" pgrep -f "^$bin/dtlaunch .*$work/$1( |\$)" | head -n 1; } # JOB NODE
tell_pod() { on "$3" kill "-$1" "$(pod_one "$2" "$3")"; }                    # SIGNAL JOB NODE
name_is_at() { # NAME NODE: in every pod, from now on
  local host
  for host in "${hosts[@]}"; do
    # shellcheck disable=SC2016
    on "$host" sh -c 'grep -v " $1\$" /etc/hosts >/run/hosts.new; echo "$2 $1" >>/run/hosts.new
      cat /run/hosts.new >/etc/hosts' name "$1" "10.77.0.${2#node}" &
    names+=($!)
  done
  wait "${names[@]}"
}

# In each epoch, a rank writes a line EPOCH RANK WORLD_SIZE HOST STEP and counts steps in a file, from which it
# resumes, until the file "end" exists. On SIGTERM it takes 2 s to save.
cat >"$work/rank" <<'RANK'
#!/usr/bin/env bash
cd "$1"
step=$(cat "step.$RANK" 2>/dev/null || echo 0)
trap 'sleep "${SAVING-0}"; echo $step >"step.$RANK"; echo "$RANK saved" >>saved; exit 0' TERM
echo "${TORCHELASTIC_RESTART_COUNT:-0} $RANK $WORLD_SIZE $(uname -n) $step $OMP_NUM_THREADS" >>ranks
until [ -e end ]; do step=$((step + 1)); echo $step >"step.$RANK.new"; mv "step.$RANK.new" "step.$RANK"; sleep 0.1; done
RANK
chmod +x "$work/rank"
in_epoch() { awk -v epoch="$2" '$1 == epoch' "$work/$1/ranks" 2>/dev/null | sort -k 2n; } # JOB EPOCH
runs() { [ "$(in_epoch "$1" "$2" | wc -l)" = "$3" ]; }                                    # JOB EPOCH RANKS
expect_epoch() { # SECONDS JOB EPOCH RANKS
  wait_for "$1" "epoch $3 of $2 with $4 ranks; $(said "$2")" runs "$2" "$3" "$4"
  expect_equal "world sizes of epoch $3 of $2" "$(in_epoch "$2" "$3" | awk '{ print $3 }' | sort -u)" "$4"
}

# ---- B1, B2, B4, C1: a PyTorchJob's environment; names resolve late; no pod ends before all ranks
volume torch
master() { sed -e 's/^HOSTNAME=.*/HOSTNAME=dtl-master-0/' -e 's/^\(RANK\|PET_NODE_RANK\)=.*/\1=0/' "$1"; }
worker() { sed -e "s/^HOSTNAME=.*/HOSTNAME=dtl-worker-$2/" -e "s/^\(RANK\|PET_NODE_RANK\)=.*/\1=$(($2 + 1))/" "$1"; }
fixture=$data/k8s-pytorchjob-master-worker1-nproc2.env
# shellcheck disable=SC2016
program='echo "rank $RANK of $WORLD_SIZE on $(uname -n), ${OMP_NUM_THREADS} thread, ${DTL_TOKEN-no token}"
  [ $RANK = 5 ] || exit 0
  sleep 1; ls "$1".*.status 2>/dev/null; exit 0'
for i in 2 1 0; do
  mapfile -t variables < <(worker "$fixture" $i)
  pod torch dtl-worker-$i node$((i + 2)) "${variables[@]}" -- sh -c "$program" rank "$work/torch"
done
mapfile -t variables < <(master "$fixture")
pod torch dtl-master-0 node1 "${variables[@]}" -- sh -c "$program" rank "$work/torch"
wait_for 20 "the first pod to listen; $(said torch)" on node1 sh -c "ss -H -ltn 'sport = 23456' | grep -q ."
[ -z "$(ls "$work"/torch.*.status 2>/dev/null)" ] || fail "a pod has ended: $(said torch)"
# B6: PID 1 reaps what kubectl exec leaves.
one=$(pod_one torch node1)
on node1 nsenter --pid --target "$one" sh -c 'sleep 3 >/dev/null 2>&1 &' || fail "cannot enter the pod"
orphans() { on node1 pgrep -x -P "$one" sleep >/dev/null; }
orphans || fail "there is no orphan"
no_orphans() { ! orphans; }
wait_for 10 "the orphan to be reaped" no_orphans
name_is_at dtl-master-0 node1
begun=$(now_ms)
wait_for 20 "the first rank; $(said torch)" grep -q 'rank 0 of 8' "$work/torch.dtl-master-0.node1.out"
echo "from the last name to the first rank: $(($(now_ms) - begun)) ms"
all=(dtl-master-0 dtl-worker-0 dtl-worker-1 dtl-worker-2)
for i in 0 1 2 3; do expect_pod 20 "torch.${all[i]}.node$((i + 1))" 0; done
expect_equal "ranks" "$(sort -k 2n "$work/torch.dtl-master-0.node1.out" | sed 's/, .*//' | xargs)" \
  "$(for rank in {0..7}; do echo "rank $rank of 8 on ${all[rank / 2]}"; done | xargs)"
expect_count 8 ', 1 thread, no token$' "$work/torch.dtl-master-0.node1.out"

# ---- A6, C2, C3: a warning for a rank per CPU of the quota; it does not pin to CPUs outside, nor bind memory
# where mbind(2) is forbidden
volume train
install -m 755 "$e2e/without_calls.py" "$work/" # where another user can enter
train() { # INDEX NODE
  mapfile -t variables < <(sed -e "s/^HOSTNAME=.*/HOSTNAME=dtl-node-0-$1/" -e 's/^PET_NNODES=.*/PET_NNODES=2/' \
    -e "s/^\(PET_NODE_RANK\|JOB_COMPLETION_INDEX\)=.*/\1=$1/" -e 's/^PET_NPROC_PER_NODE=.*/PET_NPROC_PER_NODE=2/' \
    "$data/k8s-trainjob-torch-node1.env")
  pod train dtl-node-0-$1 "$2" "${variables[@]}" -- -membind bind sh -c \
    'sed -n "s/^Cpus_allowed_list:\t/rank $RANK on /p" /proc/self/status' rank "$work/train"
}
first_cpu=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
name_is_at dtl-node-0-0.dtl node1
wrap=(taskset -c "$first_cpu" "$work/without_calls.py" EPERM mbind,set_mempolicy,migrate_pages)
train 0 node1
train 1 node2
wrap=()
expect_pod 20 train.dtl-node-0-0.node1 0
expect_pod 5 train.dtl-node-0-1.node2 0
expect_equal "CPUs" "$(sort "$work/train.dtl-node-0-0.node1.out" | xargs)" \
  "$(for rank in 0 1 2 3; do echo "rank $rank on $first_cpu"; done | xargs)"
for line in 'PET_NPROC_PER_NODE=2 for 1 CPU: ' 'dtl-node-0-0, dtl-node-0-1: 2 threads on 1 core'; do
  grep -q "$line" "$work/train.dtl-node-0-0.node1.err" || fail "$(said train)"
done

# A rank killed by the pod's memory limit: the message says so, and a scheduler may retry.
group=/sys/fs/cgroup/memory/dtl-e2e-$$
if mkdir "$group" 2>/dev/null && echo 64M >"$group/memory.limit_in_bytes" 2>/dev/null; then
  volume full
  memory=$group
  # shellcheck disable=SC2016
  pod full dtl-worker-0 node1 PET_NNODES=1 PET_NODE_RANK=0 PET_NPROC_PER_NODE=1 -- \
    python3 -c 'x = b"x" * (256 << 20)' rank "$work/full"
  memory=
  expect_pod 20 full.dtl-worker-0.node1 137
  grep -q 'rank 0 .*was killed for want of memory' "$work/full.dtl-worker-0.node1.err" || fail "$(said full)"
  wait_for 5 "an empty group" rmdir "$group"
else
  rmdir "$group" 2>/dev/null
  echo "not tried: a memory limit; there is no /sys/fs/cgroup/memory to write"
fi

# ---- three jobs at once, each with a pod on a node that is cut off or ended
for job in jobset elastic workers; do volume $job; done
jobset() { # INDEX NODE OPTIONS...
  pod jobset dtl-workers-0-$1 "$2" JOB_COMPLETION_INDEX=$1 DTL_NNODES=3 DTL_RDZV=dtl-workers-0-0.dtl:29500 \
    DTL_RESTART=0 DTL_JOB_ID=uid-1 SAVING=5 -- --max-restarts 2 -ppn 1 --grace 12 "${@:3}" "$work/rank" "$work/jobset"
}
elastic() { # NUMBER NODE
  mapfile -t variables < <(sed "s/^HOSTNAME=.*/HOSTNAME=dtl-elastic-worker-$1/" \
    "$data/k8s-pytorchjob-elastic-worker2.env")
  pod elastic dtl-elastic-worker-$1 "$2" "${variables[@]}" -- "$work/rank" "$work/elastic"
}
# A Secret's volume: links to root's files, in a folder that all may write to.
mkdir -p "$work/secret/..data" && chmod 1777 "$work/secret" && echo "$token" >"$work/secret/..data/token"
ln -s ..data/token "$work/secret/token"
workers() { # NUMBER NODE
  pod workers dtl-worker-$1 "$2" DTL_TOKEN= DTL_TOKEN_FILE="$work/secret/token" PET_NNODES=2 \
    PET_NPROC_PER_NODE=1 -- "$work/rank" "$work/workers"
}
name_is_at dtl-workers-0-0.dtl node1
name_is_at dtl-elastic-worker-0 node1
name_is_at dtl-worker-0 node3
jobset 0 node1
jobset 1 node2 --start-timeout 20
jobset 2 node3
for i in 0 1 2; do elastic $i node$((i + 1)); done
workers 0 node3
workers 1 node4
expect_epoch 30 jobset 0 3
expect_epoch 30 elastic 0 3
expect_epoch 30 workers 0 2

# B3: a node falls silent; pods with the same names start elsewhere, at first beside the old ones.
"$cluster" cut node2
jobset 1 node5
elastic 1 node5
# The pod that the others resolve ends and starts elsewhere: they wait for it.
tell_pod KILL workers node3
wait_for 10 "the first pod to end" has_ended workers.dtl-worker-0.node3
name_is_at dtl-worker-0 node5
workers 0 node5
wait_for 30 "the second life of the job; $(said workers)" runs workers 0 4
touch "$work/workers/end"
expect_pod 10 workers.dtl-worker-0.node5 0
expect_pod 10 workers.dtl-worker-1.node4 0
grep -q 'the job.s first node is gone; what ran here has ended; waiting 300 s' \
  "$work/workers.dtl-worker-1.node4.err" || fail "$(said workers)"
# The others continue, with the new pod in place of the old one, or without it.
expect_epoch 40 jobset 1 3
expect_equal "hosts of the second epoch" "$(in_epoch jobset 1 | awk '{ print $4 }' | xargs)" \
  "dtl-workers-0-0 dtl-workers-0-1 dtl-workers-0-2"
in_epoch jobset 1 | awk '$5 < 1 { exit 1 }' || fail "a rank began anew: $(in_epoch jobset 1)"
expect_pod 20 jobset.dtl-workers-0-1.node2 137
expect_epoch 40 elastic 1 2
for pod in jobset.dtl-workers-0 elastic.dtl-elastic-worker; do
  grep -Eq "^  try +kubectl describe pod ${pod#*.}-1\$" "$work/$pod-0.node1.err" || fail "no pod is named: $(said "${pod%%.*}")"
done
"$cluster" mend node2
expect_pod 20 elastic.dtl-elastic-worker-1.node2 78
grep -q 'dtl-elastic-worker-1 has come in its place since: it is of generation 1 there' \
  "$work/elastic.dtl-elastic-worker-1.node2.err" || fail "$(said elastic)"

# A pod is told to end: it may end after its ranks, and another pod replaces it.
tell_pod TERM jobset node3
expect_pod 12 jobset.dtl-workers-0-2.node3 143
jobset 2 node4
expect_epoch 20 jobset 2 3
grep -q 'dtl-workers-0-2 is to end: stopping the ranks$' \
  "$work/jobset.dtl-workers-0-0.node1.err" || fail "$(said jobset)"

# B7: all are told to end, with a grace of 15 s: ranks that need 5 s save, and no pod says that the job goes on.
goes_on() { grep -Ec 'go(es|ing)? on' "$work/jobset.dtl-workers-0-0.node1.err"; }
went_on=$(goes_on)
rm -f "$work/jobset/saved"
nodes=(node1 node5 node4) ones=()
for node in "${nodes[@]}"; do ones+=("$(pod_one jobset "$node")"); done
begun=$(now_ms)
for i in 0 1 2; do on "${nodes[i]}" kill -TERM "${ones[i]}" & done
expect_pod 15 jobset.dtl-workers-0-0.node1 143
expect_pod 1 jobset.dtl-workers-0-1.node5 143
expect_pod 1 jobset.dtl-workers-0-2.node4 143
took_ms=$(($(now_ms) - begun))
expect_within 15000
expect_equal "lines that say that the job goes on" "$(goes_on)" "$went_on"
expect_equal "ranks that have saved" "$(sort "$work/jobset/saved" | xargs)" "0 saved 1 saved 2 saved"

# An elastic job takes the new pod, continues when one leaves, and ends with status 0.
expect_epoch 40 elastic 2 3
tell_pod TERM elastic node3
expect_pod 10 elastic.dtl-elastic-worker-2.node3 143
expect_epoch 20 elastic 3 2
touch "$work/elastic/end"
expect_pod 10 elastic.dtl-elastic-worker-0.node1 0
expect_pod 10 elastic.dtl-elastic-worker-1.node5 0
expect_hosts_idle 10
