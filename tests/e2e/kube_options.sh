#!/usr/bin/env bash
# dtlaunch kube render: labels, node selectors, variables, pull policies and secrets, deadlines and patches
# reach the right objects of each kind. What Kubernetes would refuse, or what would have no effect, is
# refused before any output.
. "$(dirname "$0")/lib.sh"
need_program dtlaunch
python=/usr/bin/python3
"$python" -c 'import yaml' 2>/dev/null || skip "there is no python3-yaml"
render() { run env -C "$work" "$bin/dtlaunch" kube render "$@"; }
usual=(--image registry.example/a:1 --nodes 2 --cpus 8 --memory 16Gi)
kinds=(pytorchjob mpijob trainjob jobset job)

# ---- each option, in each kind
cat >"$work/patch.json" <<'JSON'
[{"metadata": {"annotations": {"example.com/note": "on: \"#\""}}},
 {"metadata": {"name": "dtlaunch", "annotations": {"example.com/script": "set -e\ntrue\n"}}}]
JSON
# shellcheck disable=SC2016
options=(--image-pull-policy IfNotPresent --image-pull-secret login --image-pull-secret other.login
  --label kueue.x-k8s.io/queue-name=team-a --label empty= --node-selector node-type=c7i
  --node-selector kubernetes.io/arch=amd64 --env 'HF_HOME=/data/$(X)=$' --env EMPTY= --active-deadline 7200
  --patch patch.json)
for kind in "${kinds[@]}"; do
  render --kind "$kind" "${usual[@]}" "${options[@]}" python3 train.py
  expect_status 0
  cp "$work/out" "$work/$kind.yaml"
  "$python" -B "$e2e/kube_manifests.py" "$work/$kind.yaml" >"$work/checked" 2>&1 || fail "$(cat "$work/checked")"
  "$python" -B - "$e2e" "$work/$kind.yaml" <<'PYTHON' || fail "an option has no effect: $kind"
import sys
sys.path.insert(0, sys.argv[1])
import yaml
from kube_fields import job_specs, pods
found = list(yaml.safe_load_all(open(sys.argv[2])))
templates = [pod["spec"] for item in found for _, pod in pods(item)]
assert templates
for pod in templates:
    assert pod["nodeSelector"] == {"node-type": "c7i", "kubernetes.io/arch": "amd64"}
    assert pod["imagePullSecrets"] == [{"name": "login"}, {"name": "other.login"}]
    for container in pod["containers"]:
        assert container["imagePullPolicy"] == "IfNotPresent"
        if container["command"] == ["dtlaunch"]:
            env = {each["name"]: each.get("value") for each in container["env"]}
            assert env["HF_HOME"] == "/data/$$(X)=$$" and env["EMPTY"] == "", env  # "$$" is one '$' to Kubernetes
kinds = {"PyTorchJob", "MPIJob", "TrainJob", "JobSet", "Job"}
for item in found:
    metadata = item["metadata"]
    if item["kind"] in kinds:
        assert metadata["labels"]["kueue.x-k8s.io/queue-name"] == "team-a" and metadata["labels"]["empty"] == ""
        assert metadata["annotations"] == {"example.com/note": 'on: "#"', "example.com/script": "set -e\ntrue\n"}
    else:
        assert "annotations" not in metadata and "empty" not in metadata.get("labels", {})
limits = [item["spec"]["runPolicy"] for item in found if "runPolicy" in item["spec"]]
limits += [job for item in found for _, job in job_specs(item)]
assert limits and all(limit["activeDeadlineSeconds"] == 7200 for limit in limits)
PYTHON
done

# ---- a patch for another object; the order of patches; JSON; fields that are removed
cat >"$work/other.json" <<'JSON'
{"kind": "TrainingRuntime",
 "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node"}], "failurePolicy": null}}}}
JSON
echo '{"spec": {"suspend": true}}' >"$work/suspend.json"
echo '{"spec": {"suspend": false}}' >"$work/resume.json"
render --kind trainjob "${usual[@]}" --patch other.json --patch suspend.json --patch resume.json true
expect_status 0
expect_out '^  suspend: false$'
expect_out '^      - name: node$'
grep -q failurePolicy "$work/out" && fail "null did not remove a field"
printf '{"kind": "NetworkPolicy",\r\n "spec": {"policyTypes": ["Ingress"]}}\r\n' >"$work/policy.json"
render --kind job "${usual[@]}" --patch policy.json true
expect_status 0
expect_out '^  policyTypes: \[Ingress\]$'

# ---- --env overrides the job file's variables; secrets are named
cat >"$work/job.toml" <<'TOML'
[environment]
HF_HOME = "/file"
OTHER = "x"
TOML
render --kind job "${usual[@]}" -c job.toml --env HF_HOME=/line --env HF_TOKEN=abc true
expect_status 0
grep -q -- '- HF_HOME=/file' "$work/out" && fail "the command line does not win"
expect_out 'OTHER=x'
expect_err 'HF_TOKEN stands in the manifest as it is'

# ---- refused without output
refused() { # STATUS PATTERN ARGUMENTS
  render --kind job "${usual[@]}" "${@:3}" true
  expect_status "$1"
  expect_err "$2"
  [ ! -s "$work/out" ] || fail "something is printed: $*"
}
refused 64 "image-pull-policy always: not one of Always" --image-pull-policy always
refused 64 'image-pull-secret A: ' --image-pull-secret A
refused 64 'image-pull-secret a: given twice' --image-pull-secret a --image-pull-secret a
refused 64 "label a: '=' is missing" --label a
refused 64 "label a_/b=c: 'a_/b' is not the key of a label: it has the domain name" --label a_/b=c
refused 64 "node-selector 'a=b c': 'b c' is not the value" --node-selector 'a=b c'
refused 64 "node-selector a=c: 'a' is given twice" --node-selector a=b --node-selector a=c
refused 64 "env A-B=c: 'A-B' is not the name of a variable" --env A-B=c
refused 64 'env RANK=1: dtlaunch sets RANK itself' --env RANK=1
refused 64 'env DTL_TOKEN=x: ranks do not inherit' --env DTL_TOKEN=x
refused 64 'env A=b: the ranks inherit no variables' --env A=b -- -genvnone
refused 64 'env A=b: -genv sets it as well' --env A=b -- -genv A c
refused 64 'active-deadline 1h: not a whole number of seconds' --active-deadline 1h
refused 64 'active-deadline 0: too small \(1 to 31622400 seconds\)' --active-deadline 0
refused 65 'none.json: cannot read: No such file' --patch none.json
refused 65 '[.]: cannot read: a directory' --patch .
bad() { # PATTERN TEXT
  printf '%b' "$2" >"$work/bad.json"
  refused 65 "$1" --patch bad.json
}
bad 'bad.json:2: not JSON in UTF-8 from here on' '{"spec":\n  }'
bad 'bad.json:1: the JSON ends too early' '{"spec": \n'
bad "bad.json: an object has 'a' twice" '{"spec": {"a": 1, "a": 2}}'
bad 'bad.json: too many levels' "$(printf '[%.0s' {1..99})"
bad 'bad.json: patch 1: not an object' '["a"]'
bad 'bad.json: the file is empty' '[]'
bad "bad.json: '#a' is not the name of a field" '{"#a": 1}'
bad 'bad.json: fits none of the objects of this manifest, which has kind Service .* kind Job .* kind NetworkPolicy' \
  '{"kind": "Pod", "spec": {"a": "b"}}'
bad 'bad.json: fits none of the objects' '{"metadata": {"name": "other"}}'
bad 'bad.json: patch 2: changes nothing' '[{"spec": {"suspend": true}}, {"spec": {"completions": 2}}]'
bad 'bad.json:2: not JSON in UTF-8 from here on' '{"spec":\n  "a\xff"}'
# YAML is not accepted; the hint converts it.
bad "bad.json: not JSON; Python's yaml converts YAML to it" 'spec:\n  suspend: yes\n---\nspec:\n  parallelism: 1\n'
cure=$(sed -n 's/.*Try: //p' "$work/err")
(cd "$work" && PATH=/usr/bin:$PATH bash -c "$cure") || fail "the hint does not work: $cure"
render --kind job "${usual[@]}" --patch patch.json true
expect_status 0
expect_out '^  suspend: true$'
