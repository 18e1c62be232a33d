#!/usr/bin/env bash
# examples/kubernetes: its README's command prints the manifest in that folder, which is valid for Kubernetes.
. "$(dirname "$0")/../e2e/lib.sh"
"$root/tests/examples/run.sh" kubernetes || fail "see above"
python=/usr/bin/python3
"$python" -c 'import yaml' 2>/dev/null || { echo "not checked against Kubernetes: there is no python3-yaml"; exit 0; }
run "$python" -B "$e2e/kube_manifests.py" "$root/examples/kubernetes/job.yaml"
expect_status 0
