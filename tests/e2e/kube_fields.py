"""The fields of Kubernetes' objects that our manifests use, written by hand from their references, and
what its servers and operators check beyond: check(object) gives what is wrong, a line each.

Of each kind only what a training job may want is listed; another field is taken for a mistake.
"""
import re

TEXT, WHOLE, TRUTH, EITHER, ANY = "text", "whole", "truth", "either", "any"
AMOUNT, LABEL, NAME, KEY, WORD = "amount", "label", "name", "key of a label", "value of a label"
PATTERNS = {
    AMOUNT: r"[0-9]+(\.[0-9]+)?(m|k|[KMGTP]i|[MGTP])?",
    LABEL: r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",  # DNS-1035
    NAME: r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",  # DNS-1123, a subdomain
    KEY: r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?",
    WORD: r"([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?",
}


class Map:
    """Names of one kind, or of any, with values of one."""
    def __init__(self, value, name=TEXT):
        self.value = value
        self.name = name


class Fields:
    """Names that are known; those after '!' must be there."""
    def __init__(self, fields):
        self.needed = {name[1:] for name in fields if name.startswith("!")}
        self.fields = {name.lstrip("!"): spec for name, spec in fields.items()}


LABELS = Map(WORD, KEY)
METADATA = Fields({"!name": LABEL, "namespace": LABEL, "labels": LABELS, "annotations": Map(TEXT, KEY)})
SELECTOR = Fields({"matchLabels": LABELS})
RESOURCES = Fields({"requests": Map(AMOUNT), "limits": Map(AMOUNT)})
VARIABLE = Fields({"!name": TEXT, "value": TEXT, "valueFrom": Fields({
    "secretKeyRef": Fields({"!name": NAME, "!key": TEXT, "optional": TRUTH}),
    "fieldRef": Fields({"!fieldPath": TEXT, "apiVersion": TEXT})})})
PROBE = Fields({"tcpSocket": Fields({"!port": EITHER}), "periodSeconds": WHOLE, "failureThreshold": WHOLE})
CONTAINER = Fields({
    "!name": LABEL, "image": TEXT, "imagePullPolicy": {"Always", "IfNotPresent", "Never"},
    "command": [TEXT], "args": [TEXT], "env": [VARIABLE], "workingDir": TEXT, "resources": RESOURCES,
    "ports": [Fields({"!containerPort": WHOLE, "name": LABEL, "protocol": {"TCP", "UDP", "SCTP"}})],
    "readinessProbe": PROBE,
    "securityContext": Fields({"allowPrivilegeEscalation": TRUTH, "readOnlyRootFilesystem": TRUTH,
                               "capabilities": Fields({"drop": [TEXT], "add": [TEXT]})}),
    "volumeMounts": [Fields({"!name": LABEL, "!mountPath": TEXT, "readOnly": TRUTH, "subPath": TEXT})]})
VOLUME = Fields({
    "!name": LABEL,
    "emptyDir": Fields({"medium": {"", "Memory"}, "sizeLimit": AMOUNT}),
    "persistentVolumeClaim": Fields({"!claimName": NAME, "readOnly": TRUTH}),
    "secret": Fields({"secretName": NAME, "defaultMode": WHOLE, "optional": TRUTH})})
POD = Fields({
    "!containers": [CONTAINER], "initContainers": [CONTAINER], "volumes": [VOLUME],
    "restartPolicy": {"Always", "OnFailure", "Never"}, "subdomain": LABEL, "hostname": LABEL,
    "terminationGracePeriodSeconds": WHOLE, "automountServiceAccountToken": TRUTH,
    "enableServiceLinks": TRUTH, "serviceAccountName": NAME, "nodeSelector": LABELS,
    "tolerations": [Fields({"key": KEY, "operator": {"Exists", "Equal"}, "value": TEXT, "tolerationSeconds": WHOLE,
                            "effect": {"NoSchedule", "PreferNoSchedule", "NoExecute"}})],
    "priorityClassName": NAME, "imagePullSecrets": [Fields({"!name": NAME})],
    "securityContext": Fields({"runAsNonRoot": TRUTH, "runAsUser": WHOLE, "runAsGroup": WHOLE, "fsGroup": WHOLE,
                               "seccompProfile": Fields({"!type": {"RuntimeDefault", "Unconfined", "Localhost"}})})})
LABELS_ALONE = Fields({"labels": LABELS, "annotations": Map(TEXT, KEY)})
TEMPLATE = Fields({"metadata": LABELS_ALONE, "!spec": POD})
JOB = Fields({
    "completionMode": {"Indexed", "NonIndexed"}, "completions": WHOLE, "parallelism": WHOLE,
    "backoffLimit": WHOLE, "backoffLimitPerIndex": WHOLE, "maxFailedIndexes": WHOLE,
    "activeDeadlineSeconds": WHOLE, "ttlSecondsAfterFinished": WHOLE, "suspend": TRUTH,
    "podReplacementPolicy": {"Failed", "TerminatingOrFailed"}, "!template": TEMPLATE,
    "podFailurePolicy": Fields({"!rules": [Fields({
        "!action": {"FailJob", "FailIndex", "Ignore", "Count"},
        "onExitCodes": Fields({"containerName": LABEL, "!operator": {"In", "NotIn"}, "!values": [WHOLE]}),
        "onPodConditions": [Fields({"!type": TEXT, "!status": {"True", "False", "Unknown"}})]})]})})
JOB_SET = Fields({
    "network": Fields({"enableDNSHostnames": TRUTH, "publishNotReadyAddresses": TRUTH, "subdomain": LABEL}),
    "coordinator": Fields({"!replicatedJob": LABEL, "jobIndex": WHOLE, "podIndex": WHOLE}),
    "successPolicy": Fields({"!operator": {"All", "Any"}, "targetReplicatedJobs": [LABEL]}),
    "suspend": TRUTH,
    "failurePolicy": Fields({
        "maxRestarts": WHOLE, "restartStrategy": {"Recreate", "BlockingRecreate"},
        "rules": [Fields({
            "!name": TEXT, "!action": {"FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"},
            "targetReplicatedJobs": [LABEL],
            "onJobFailureReasons": [{"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes",
                                     "MaxFailedIndexesExceeded", "PodFailurePolicy"}]})]}),
    "!replicatedJobs": [Fields({"!name": LABEL, "replicas": WHOLE,
                                "!template": Fields({"metadata": LABELS_ALONE, "!spec": JOB})})]})
RUN_POLICY = Fields({"cleanPodPolicy": {"Running", "All", "None"}, "backoffLimit": WHOLE,
                     "activeDeadlineSeconds": WHOLE, "ttlSecondsAfterFinished": WHOLE, "suspend": TRUTH})


def replica(*policies):
    return Fields({"replicas": WHOLE, "restartPolicy": set(policies), "!template": TEMPLATE})


PYTORCH = replica("Always", "OnFailure", "Never", "ExitCode")
MPI = replica("Never", "OnFailure")  # values that its operator accepts
KINDS = {
    ("v1", "Service"): Fields({
        "clusterIP": TEXT, "publishNotReadyAddresses": TRUTH, "selector": Map(TEXT),
        "ports": [Fields({"name": LABEL, "!port": WHOLE, "targetPort": EITHER, "protocol": {"TCP", "UDP", "SCTP"}})]}),
    ("batch/v1", "Job"): JOB,
    ("networking.k8s.io/v1", "NetworkPolicy"): Fields({
        "!podSelector": SELECTOR, "policyTypes": [{"Ingress", "Egress"}],
        **{way: [Fields({end: [Fields({"podSelector": SELECTOR, "namespaceSelector": SELECTOR})], "ports": [Fields({
            "protocol": {"TCP", "UDP", "SCTP"}, "port": EITHER, "endPort": WHOLE})]})]
           for way, end in (("ingress", "from"), ("egress", "to"))}}),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): JOB_SET,
    ("kubeflow.org/v1", "PyTorchJob"): Fields({
        "nprocPerNode": TEXT, "runPolicy": RUN_POLICY,
        "elasticPolicy": Fields({"rdzvBackend": {"c10d", "etcd", "etcd-v2"}, "minReplicas": WHOLE,
                                 "maxReplicas": WHOLE, "maxRestarts": WHOLE, "rdzvPort": WHOLE,
                                 "rdzvHost": TEXT, "rdzvId": TEXT}),
        "!pytorchReplicaSpecs": Fields({"Master": PYTORCH, "Worker": PYTORCH})}),
    ("kubeflow.org/v2beta1", "MPIJob"): Fields({
        "slotsPerWorker": WHOLE, "mpiImplementation": {"OpenMPI", "Intel", "MPICH"}, "sshAuthMountPath": TEXT,
        "launcherCreationPolicy": {"AtStartup", "WaitForWorkersReady"}, "runLauncherAsWorker": TRUTH,
        "runPolicy": RUN_POLICY, "!mpiReplicaSpecs": Fields({"!Launcher": MPI, "Worker": MPI})}),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): Fields({
        "!runtimeRef": Fields({"!name": LABEL, "apiGroup": {"trainer.kubeflow.org"},
                               "kind": {"TrainingRuntime", "ClusterTrainingRuntime"}}),
        "suspend": TRUTH,
        "trainer": Fields({"image": TEXT, "command": [TEXT], "args": [TEXT], "env": [VARIABLE], "numNodes": WHOLE,
                           "numProcPerNode": EITHER, "resourcesPerNode": RESOURCES})}),
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): Fields({
        "mlPolicy": Fields({"numNodes": WHOLE, "torch": Fields({"numProcPerNode": EITHER}),
                            "mpi": Fields({"numProcPerNode": WHOLE, "mpiImplementation": {"OpenMPI"},
                                           "sshAuthMountPath": TEXT})}),
        "!template": Fields({"metadata": LABELS_ALONE, "!spec": JOB_SET})}),
}


def compare(value, spec, path):
    """What is wrong with a value, by its fields."""
    if isinstance(spec, Fields):
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is no object"]
        wrong = [f"{path}.{name}: there is no such field" for name in value if name not in spec.fields]
        wrong += [f"{path}: {name} is missing" for name in sorted(spec.needed - set(value))]
        return wrong + [line for name in value if name in spec.fields
                        for line in compare(value[name], spec.fields[name], f"{path}.{name}")]
    if isinstance(spec, Map):
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is no object"]
        return [line for name in value for line in compare(name, spec.name, f"{path}: a name")
                + compare(value[name], spec.value, f"{path}.{name}")]
    if isinstance(spec, list):
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no list"]
        return [line for index, item in enumerate(value) for line in compare(item, spec[0], f"{path}[{index}]")]
    if isinstance(spec, set):
        return [] if value in spec else [f"{path}: {value!r} is none of {', '.join(sorted(spec))}"]
    if spec == ANY:
        return []
    whole = isinstance(value, int) and not isinstance(value, bool)
    good = {WHOLE: whole and value >= 0, TRUTH: isinstance(value, bool), EITHER: whole or isinstance(value, str),
            AMOUNT: whole or isinstance(value, str)}.get(spec, isinstance(value, str))
    if not good:
        return [f"{path}: {value!r} is no {spec}"]
    if spec in PATTERNS and not re.fullmatch(PATTERNS[spec], str(value)):
        return [f"{path}: {value!r} is no {spec}"]
    return []


def job_specs(item):
    """(path, spec of a Job) below an object."""
    spec = item["spec"]
    if item["kind"] == "Job":
        return [("spec", spec)]
    if item["kind"] == "TrainingRuntime":
        spec = spec["template"]["spec"]
    return [(f"replicatedJobs[{index}]", each["template"]["spec"])
            for index, each in enumerate(spec.get("replicatedJobs", []))]


def pods(item):
    """(path, template of pods) below an object."""
    found = [(path, job["template"]) for path, job in job_specs(item)]
    for specs in ("pytorchReplicaSpecs", "mpiReplicaSpecs"):
        found += [(name, each["template"]) for name, each in item["spec"].get(specs, {}).items()]
    return found


def check_job(path, job):
    """What Kubernetes checks of a Job beyond its fields."""
    rules = job.get("podFailurePolicy", {}).get("rules", [])
    names = [container["name"] for container in job["template"]["spec"]["containers"]]
    policy = job["template"]["spec"].get("restartPolicy")
    if policy not in ("Never", "OnFailure"):
        yield f"{path}: restartPolicy of a Job is Never or OnFailure, not {policy}"
    if rules and policy != "Never":
        yield f"{path}: a podFailurePolicy wants restartPolicy Never"
    for number, rule in enumerate(rules):
        codes = rule.get("onExitCodes")
        if (codes is None) == ("onPodConditions" not in rule):
            yield f"{path}: rule {number} is about exit codes or about conditions"
        elif codes is not None:
            values = codes["values"]
            if values != sorted(set(values)) or not 0 < len(values) <= 255:
                yield f"{path}: rule {number}: the exit codes are not in order, each once"
            if codes["operator"] == "In" and 0 in values:
                yield f"{path}: rule {number}: 0 is no failure"
            if codes.get("containerName", names[0]) not in names:
                yield f"{path}: rule {number}: there is no container {codes['containerName']}"
    if job.get("completionMode") == "Indexed" and "completions" not in job:
        yield f"{path}: an Indexed Job wants completions"


def check_pod(path, pod):
    volumes = [volume["name"] for volume in pod.get("volumes", [])]
    if len(set(volumes)) != len(volumes):
        yield f"{path}: two volumes of one name"
    for container in pod["containers"]:
        mounts = container.get("volumeMounts", [])
        for mount in mounts:
            if mount["name"] not in volumes:
                yield f"{path}: there is no volume {mount['name']}"
        if len({mount["mountPath"] for mount in mounts}) != len(mounts):
            yield f"{path}: two volumes at one place"
        for variable in container.get("env", []):
            if ("value" in variable) == ("valueFrom" in variable):
                yield f"{path}: {variable['name']} has one of value and valueFrom"
    for volume in pod.get("volumes", []):
        if len(volume) != 2:
            yield f"{path}: {volume['name']} is of one kind"


def check(item):
    """What is wrong with an object: its fields first, and what they mean if those are right."""
    key = (item.get("apiVersion"), item.get("kind")) if isinstance(item, dict) else None
    if key not in KINDS:
        return [f"there is no kind {key}"]
    whole = Fields({"!apiVersion": TEXT, "!kind": TEXT, "!metadata": METADATA, "!spec": KINDS[key]})
    wrong = compare(item, whole, item["kind"])
    if wrong:
        return wrong
    for path, job in job_specs(item):
        wrong += check_job(path, job)
    for path, template in pods(item):
        wrong += check_pod(path, template["spec"])
    if item["kind"] == "PyTorchJob":
        for path, template in pods(item):
            if not any(container["name"] == "pytorch" for container in template["spec"]["containers"]):
                wrong.append(f"{path}: the operator looks for a container pytorch")
        if item["spec"]["pytorchReplicaSpecs"].get("Master", {"replicas": 1})["replicas"] != 1:
            wrong.append("Master: there is one")
    return wrong
