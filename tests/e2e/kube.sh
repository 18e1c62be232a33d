#!/usr/bin/env bash
# dtlaunch kube render: its output is valid for Kubernetes with any arguments; packaging/kubernetes has
# exactly its output, and the checks find mistakes in it; it uses a job file; it refuses what is not
# possible, with a hint; the examples of dtlaunch-kubernetes(7) are valid too.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch
python=/usr/bin/python3
"$python" -c 'import yaml' 2>/dev/null || skip "there is no python3-yaml"
check() {
  "$python" -B "$e2e/kube_manifests.py" "$@" >"$work/checked" 2>&1 || fail "$(cat "$work/checked")"
}
render() { run env -C "${folder-$work}" "$bin/dtlaunch" kube render "$@"; }
usual=(--image registry.example/a:1 --nodes 4 --cpus 8 --memory 16Gi)
kinds=(pytorchjob mpijob trainjob jobset job)

# ---- the shipped manifests are its output
DTL_BIN=$bin "$root/packaging/kubernetes/render" "$work/shipped" || fail "cannot render what is shipped"
diff -r --exclude=render "$root/packaging/kubernetes" "$work/shipped" ||
  fail "packaging/kubernetes is not what dtlaunch kube render prints. Try: packaging/kubernetes/render"
shipped=("$root"/packaging/kubernetes/*/job.yaml)
expect_equal "shipped manifests" "${#shipped[@]}" 6
check "${shipped[@]}"
check mistakes "$root"/packaging/kubernetes/{pytorchjob,mpijob,trainjob,jobset,job}/job.yaml

# ---- a PyTorchJob whose ranks are always killed ends after --restarts, as the operator counts
check restarts 3 "$root"/packaging/kubernetes/pytorchjob*/job.yaml
for count in 0 1 7; do
  for nodes in 1 3 2:5; do
    render --kind pytorchjob --image a --nodes $nodes --cpus 1 --memory 2Gi --restarts $count true
    expect_status 0
    cp "$work/out" "$work/restarts.yaml"
    check restarts $count "$work/restarts.yaml"
  done
done
sed 's/restartPolicy: OnFailure/restartPolicy: ExitCode/; s/backoffLimit: .*/backoffLimit: 3/' \
  "$root/packaging/kubernetes/pytorchjob/job.yaml" >"$work/for-ever.yaml"
run "$python" -B "$e2e/kube_manifests.py" "$work/for-ever.yaml"
expect_status 1
expect_err 'it starts again for ever when a rank is killed'

# ---- checks against the operators' definitions too, if a folder has them: here a small one
mkdir "$work/definitions"
cat >"$work/definitions/jobset.yaml" <<'YAML'
kind: CustomResourceDefinition
spec:
  group: jobset.x-k8s.io
  names: {kind: JobSet}
  versions:
  - name: v1alpha2
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [network]
            properties:
              network: {type: object, x-kubernetes-preserve-unknown-fields: true}
              failurePolicy: {type: object, additionalProperties: {x-kubernetes-preserve-unknown-fields: true}}
              replicatedJobs: {type: array, items: {type: object}}
YAML
jobset=$root/packaging/kubernetes/jobset/job.yaml
DTL_CRD_DIR=$work/definitions check "$jobset"
sed -i 's/replicatedJobs: {type: array.*/replicatedJobs: {type: string}/' "$work/definitions/jobset.yaml"
run env DTL_CRD_DIR="$work/definitions" "$python" -B "$e2e/kube_manifests.py" "$jobset"
expect_status 1
expect_err 'by its definition: JobSet.spec.replicatedJobs: .* is no text'

# ---- one pod, many pods; other names; no claims
for kind in "${kinds[@]}"; do
  render --kind "$kind" "${usual[@]}" --nodes=1 --namespace team-a --name x --token-secret my.token true
  [ "$status" = 64 ] || fail "an option twice is refused"
  render --kind "$kind" --image a --nodes 1 --cpus 1 --memory 512Mi --shm 64Mi --namespace team-a --name x \
    --token-secret my.token --restarts 0 --grace 5 true
  expect_status 0
  cp "$work/out" "$work/small.yaml"
  render --kind "$kind" --image b@sha256:0123 --nodes 1000 -ppn 4 --cpus 96 --memory 1.5T --pvc a --pvc b.c:/b \
    --name n234567890123456789012345678901234567890 --grace 3600 python3 train.py
  expect_status 0
  cp "$work/out" "$work/large.yaml"
  check "$work/small.yaml" "$work/large.yaml"
done
[ "$(grep -c 'kubectl -n team-a create secret generic my.token --from-file=token=' "$work/small.yaml")" = 1 ] ||
  fail "the line that makes the token is not there"

# ---- arguments reach the pods unchanged, whatever they contain
# shellcheck disable=SC2016
words=('$(DTL_TOKEN)' '$$x' "it's" 'a: b' '- c' '#d' '"' '\n' $'tab\tand\nline' true null 012 1e3 '' ' ' '*x' '&y' '!z'
  $'set -e\n\nif a; then\n  b: #c\nfi\n' $'\n lead' '{{' 'é€😀' '%' '@' '`' yes '~' '-' '--' -1 .5 '[1]' x: '?')
for kind in "${kinds[@]}"; do
  render --kind "$kind" "${usual[@]}" -- -genv 'A=$(B): #' printf '%s' "${words[@]}"
  expect_status 0
  cp "$work/out" "$work/words.yaml"
  check "$work/words.yaml"
  "$python" -B - "$work/words.yaml" 'A=$(B): #' printf '%s' "${words[@]}" <<'PYTHON' || fail "words changed: $kind"
import re, sys, yaml
def expanded(word):  # as the kubelet does, with every variable known
    return re.sub(r"\$(\$|\(([^)]*)\))?", lambda m: "$" if m[1] == "$" else "SEEN" if m[1] else m[0], word)
def args(value):
    if isinstance(value, dict):
        for name, below in value.items():
            yield from [below] if name == "args" else args(below)
    elif isinstance(value, list):
        for below in value:
            yield from args(below)
found = [words for item in yaml.safe_load_all(open(sys.argv[1])) for words in args(item)]
for words in found:
    words = [expanded(word) for word in words]
    words = words[words.index("-genv") + 1:]
    if words != sys.argv[2:]:
        sys.exit(f"{words} are not {sys.argv[2:]}")
sys.exit(not found)
PYTHON
done
render --kind job "${usual[@]}" printf $'\xff'
expect_status 64
expect_err 'a manifest is text'

# ---- the job file: its values go to the pods; the command line overrides it
cat >"$work/dtlaunch.toml" <<'TOML'
nodes = 3
ranks_per_node = 2
grace = 90
label = true
max_restarts = 2
[environment]
HF_HOME = "/data/hf"
HF_TOKEN = "x"
[pinning]
threads = 3
[trainer]
do_train = true
learning_rate = 2e-5
output_dir = "/data/out"
TOML
render --kind job --image a:1 --cpus 8 --memory 8Gi
expect_status 0
for line in 'completions: 3' 'terminationGracePeriodSeconds: 105' '- "90"' '- --max-restarts=2' '- HF_HOME=/data/hf' \
  '- OMP_NUM_THREADS=3' '- dttrain' '- --output_dir' '- /data/out'; do
  grep -Eq -- "^ *$line\$" "$work/out" || fail "the job file's '$line' is missing"
done
expect_err 'HF_TOKEN stands in the manifest as it is'
cp "$work/out" "$work/file.yaml"
check "$work/file.yaml"
render --kind jobset --image a:1 --nodes 5 --cpus 8 --memory 8Gi -c dtlaunch.toml -- --max-restarts 7 python3 x.py
expect_status 0
expect_out 'completions: 5'
grep -q -- '--max-restarts=2' "$work/out" && fail "the command line does not win"
echo 'hosts.list = ["a"]' >"$work/hosts.toml"
render --kind job "${usual[@]}" -c hosts.toml true
expect_status 64
expect_err 'hosts.toml: hosts.list: the pods are the hosts'

# ---- what is missing or wrong
mkdir "$work/empty"
folder=$work/empty
refused() { # PATTERN ARGUMENTS
  render "${@:2}"
  expect_status 64
  expect_err "$1"
}
refused 'kind: missing' "${usual[@]}" true
refused 'kind podjob: not one of' --kind podjob "${usual[@]}" true
refused 'kind Job: not one of .*Try: --kind job$' --kind Job "${usual[@]}" true
refused 'image: missing' --kind job --nodes 1 --cpus 1 --memory 1Gi true
refused 'nodes: missing' --kind job --image a --cpus 1 --memory 1Gi --shm 64Mi true
refused 'cpus: missing' --kind job --image a --nodes 1 --memory 1Gi true
refused 'memory: missing' --kind job --image a --nodes 1 --cpus 1 true
refused 'names a program' --kind job "${usual[@]}"
refused "name Bert: has 'B', and may have lower-case letters" --kind job "${usual[@]}" --name Bert true
refused 'name 3d: does not begin with a letter' --kind job "${usual[@]}" --name 3d true
refused 'name .*: has 60 characters' --kind job "${usual[@]}" --name "$(printf 'a%.0s' {1..60})" true
refused "namespace a.b: has '[.]'" --kind job "${usual[@]}" --namespace a.b true
refused "image 'a b'" --kind job --image 'a b' --nodes 1 --cpus 1 --memory 1Gi true
refused 'cpus 1.5: not a whole number' --kind job --image a --nodes 1 --cpus 1.5 --memory 1Gi true
refused 'memory 16: less than 64 MiB' --kind job --image a --nodes 1 --cpus 1 --memory 16 true
refused 'memory 16GB: not an amount' --kind job --image a --nodes 1 --cpus 1 --memory 16GB true
refused 'shm 32Gi: /dev/shm is of the pod' --kind job "${usual[@]}" --shm 32Gi true
refused "pvc a:data: 'data' is not an absolute path" --kind job "${usual[@]}" --pvc a:data true
refused 'pvc b:/data: something else is mounted at /data' --kind job "${usual[@]}" --pvc a --pvc b:/data true
refused 'only a PyTorchJob has pods that come and go' --kind job --image a --nodes 1:2 --cpus 1 --memory 1Gi true
refused 'the pods are the hosts' --kind job "${usual[@]}" -- -hosts a,b true
refused 'the pods are the hosts' --kind job "${usual[@]}" -- --detach true
refused '4 pods with 1 rank each have 4' --kind job "${usual[@]}" -- -np 6 true
refused 'given to kube render and again' --kind job "${usual[@]}" -ppn 2 -- -ppn 3 true
refused 'unknown option' --kind job "${usual[@]}" -- --nonsense true
run "$bin/dtlaunch" kube apply
expect_status 64
expect_err 'its only command is render'

# ---- the page's examples
"$python" -B - "$root" "$bin" "$work/empty" <<'PYTHON' || fail "an example of the page"
import os, subprocess, sys
root, programs, folder = sys.argv[1:]
sys.path.insert(0, root + "/tests/e2e")
from documented import items_of
lines = [item for item in items_of("man/dtlaunch-kubernetes.7") if item.text.startswith("dtlaunch kube render")]
for item in lines:
    subprocess.run(["bash", "-c", item.text], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "PATH": programs + ":" + os.environ["PATH"]})
kinds = {item.text.split()[4] for item in lines if item.text.split()[3] == "--kind"}
sys.exit(0 if len(kinds) == 5 else f"examples of {sorted(kinds)} alone")
PYTHON
check "$work"/empty/*.yaml
