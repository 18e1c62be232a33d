"""Checks manifests of Kubernetes: kube_manifests.py FILE... | mistakes FILE... | restarts N FILE...

Fields by kube_fields.py and, where DTL_CRD_DIR names a folder with the operators' definitions of their
kinds, by these, too; then what dtlaunch-kubernetes(7) promises of
each pod, and what becomes of a job by its exit status. `mistakes` seeds faults, and each must be found.
`restarts` fails unless each PyTorchJob ends after N restarts of all pods.
"""
import copy
import glob
import os
import re
import sys

import yaml

from kube_fields import ANY, EITHER, TEXT, TRUTH, WHOLE, Fields, Map, check, compare, job_specs, pods

AGAIN = (137, 143)  # a lost pod, and one that was told to end


class Strict(yaml.SafeLoader):
    """A name that stands twice in an object is a mistake."""


def mapping(loader, node, deep=False):
    names = [loader.construct_object(name, deep=deep) for name, _ in node.value]
    for name in names:
        if names.count(name) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"{name} stands twice", node.start_mark)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def objects(path):
    with open(path, encoding="utf-8") as file:
        return [item for item in yaml.load_all(file, Strict) if item is not None]


# ---- the operators' own definitions

def fields_of(schema):
    """What compare() takes, from the structural schema of a definition."""
    if schema.get("x-kubernetes-int-or-string"):
        return EITHER
    if "enum" in schema:
        return set(schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return [fields_of(schema["items"])]
    if kind != "object" or schema.get("x-kubernetes-preserve-unknown-fields"):
        return {"string": TEXT, "integer": WHOLE, "boolean": TRUTH}.get(kind, ANY)
    if "properties" not in schema:
        return Map(fields_of(schema.get("additionalProperties") or {}))
    needed = schema.get("required", [])
    return Fields({("!" if name in needed else "") + name: fields_of(value)
                   for name, value in schema["properties"].items()})


def definitions(folder):
    """{(apiVersion, kind): fields} of all definitions in a folder and below."""
    known = {}
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.yaml"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            for item in yaml.safe_load_all(file):
                if not isinstance(item, dict) or item.get("kind") != "CustomResourceDefinition":
                    continue
                for version in item["spec"]["versions"]:
                    fields = fields_of(version["schema"]["openAPIV3Schema"])
                    fields.fields["metadata"] = Map(ANY)
                    known[f"{item['spec']['group']}/{version['name']}", item["spec"]["names"]["kind"]] = fields
    return known


def checker_of_definitions():
    """A function like check() by the definitions in DTL_CRD_DIR, or None."""
    folder = os.environ.get("DTL_CRD_DIR")
    if not folder:
        return None
    known = definitions(folder)
    if not known:
        sys.exit(f"kube_manifests: FAILED: DTL_CRD_DIR={folder} holds no definitions")

    def by_definition(item):
        key = item["apiVersion"], item["kind"]
        if key not in known:
            print(f"no definition of {key[1]} {key[0]}")
            return []
        return compare(item, known[key], "by its definition: " + key[1])
    return by_definition


# ---- the man page's promises

def promises(item):
    """What is broken of what all pods have, a line each."""
    for path, template in pods(item):
        pod = template["spec"]
        rights = pod.get("securityContext", {})
        for what, holds in (
                ("run as no root", rights.get("runAsNonRoot") and rights.get("runAsUser", 0) > 0),
                ("have seccomp's default", rights.get("seccompProfile", {}).get("type") == "RuntimeDefault"),
                ("have no token of Kubernetes", pod.get("automountServiceAccountToken") is False),
                ("have memory at /dev/shm, with a limit", shares_memory(pod)),
                ("have time for the grace of their ranks", pod.get("terminationGracePeriodSeconds", 30) > grace_of(item, pod))):
            if not holds:
                yield f"{path}: its pods do not {what}"
        for container in pod["containers"]:
            yield from container_promises(path, container)


def container_promises(path, container):
    own = container.get("securityContext", {})
    if own.get("allowPrivilegeEscalation") is not False or own.get("capabilities", {}).get("drop") != ["ALL"]:
        yield f"{path}: {container['name']} has rights that it does not need"
    resources = container.get("resources", {})
    if resources.get("requests") != resources.get("limits") or set(resources.get("limits", {})) != {"cpu", "memory"}:
        yield f"{path}: {container['name']} may get less than its limits"
    elif not re.fullmatch("[1-9][0-9]*", str(resources["limits"]["cpu"])):
        yield f"{path}: {container['name']} has no whole CPUs"
    for variable in container.get("env", []):
        if variable["name"] == "DTL_TOKEN" and "secretKeyRef" not in variable.get("valueFrom", {}):
            yield f"{path}: the token stands in the manifest"


def shares_memory(pod):
    memory = {volume["name"] for volume in pod.get("volumes", [])
              if volume.get("emptyDir", {}).get("medium") == "Memory" and "sizeLimit" in volume["emptyDir"]}
    return all(any(mount["mountPath"] == "/dev/shm" and mount["name"] in memory
                   for mount in container.get("volumeMounts", [])) for container in pod["containers"])


def grace_of(item, pod):
    """Seconds that dtlaunch gives its ranks; of a worker that runs sshd, those of the launcher."""
    words = [word for container in pod["containers"] for word in container.get("args", [])]
    if not words and item["kind"] == "MPIJob":
        return grace_of(item, item["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"])
    return int(words[words.index("--grace") + 1]) if "--grace" in words else 10 ** 9


def ends(item, status):
    """Whether a pod's exit status ends the job for good; None: this kind does not tell statuses apart."""
    for _, job in job_specs(item):
        for rule in job.get("podFailurePolicy", {}).get("rules", []):
            codes = rule.get("onExitCodes")
            if codes and (status in codes["values"]) == (codes["operator"] == "In"):
                failed = rule["action"] == "FailJob"
                if item["kind"] == "Job":
                    return failed
                policy = item["spec"] if item["kind"] == "JobSet" else item["spec"]["template"]["spec"]
                stops = [each for each in policy["failurePolicy"].get("rules", [])
                         if each["action"] == "FailJobSet" and "PodFailurePolicy" in each["onJobFailureReasons"]]
                return failed and bool(stops)
        return False
    return None


def restarts(item):
    """How often a PyTorchJob's pods start again while a rank of each start is killed for memory; None: for ever.

    As the Training Operator 1.9 decides: it adds up the restarts of the containers of running pods. Under
    ExitCode it deletes failed pods and makes new ones, whose count is 0. Its own counter of retries is always 0.
    """
    replicas = item["spec"]["pytorchReplicaSpecs"].values()
    limit = item["spec"].get("runPolicy", {}).get("backoffLimit")
    if any(each["restartPolicy"] == "Never" for each in replicas):
        return 0
    in_place = sum(each["replicas"] for each in replicas if each["restartPolicy"] in ("OnFailure", "Always"))
    if limit is None or in_place == 0:
        return 0 if limit == 0 else None
    return (max(limit, 1) - 1) // in_place


def bounded(item):
    if item["kind"] == "PyTorchJob" and restarts(item) is None:
        yield "PyTorchJob: it starts again for ever when a rank is killed for memory"
    for path, job in deadlines(item):
        if "activeDeadlineSeconds" in job and item["kind"] in ("JobSet", "TrainingRuntime"):
            whole = item["spec"] if item["kind"] == "JobSet" else item["spec"]["template"]["spec"]
            if not any("DeadlineExceeded" in rule["onJobFailureReasons"] and rule["action"] == "FailJobSet"
                       for rule in whole["failurePolicy"].get("rules", [])):
                yield f"{path}: it starts again after its deadline"


def deadlines(item):
    """(path, what holds activeDeadlineSeconds) of an object that starts pods."""
    if "runPolicy" in item["spec"]:
        return [("runPolicy", item["spec"]["runPolicy"])]
    return job_specs(item)


def statuses(item):
    for status in (1, 3, 64, 78, 124) + AGAIN:
        seen = ends(item, status)
        if seen is not None and seen is not (status not in AGAIN):
            yield f"{item['kind']}: after status {status} the job {'ends' if seen else 'goes on'}"


def references(found):
    """Services, policies and runtimes are about the pods beside them."""
    names = {item["metadata"]["name"] for item in found}
    for item in found:
        spec = item["spec"]
        selectors = [spec["selector"]] if item["kind"] == "Service" else []
        if item["kind"] == "NetworkPolicy":
            selectors = [spec["podSelector"]["matchLabels"]]
        for selector in selectors:
            if selector.get("batch.kubernetes.io/job-name") not in names:
                yield f"{item['kind']}: it selects no pod of these: {selector}"
        if item["kind"] == "TrainJob" and spec["runtimeRef"]["name"] not in names:
            yield f"TrainJob: there is no runtime {spec['runtimeRef']['name']}"
        for _, job in job_specs(item):
            subdomain = job["template"]["spec"].get("subdomain")
            if subdomain is not None and not any(
                    each["kind"] == "Service" and each["metadata"]["name"] == subdomain
                    and each["spec"].get("clusterIP") == "None" and each["spec"].get("publishNotReadyAddresses")
                    for each in found):
                yield f"{item['kind']}: no headless service names its pods before they are ready"


def wrong_in(found, definitions_say=None):
    wrong = [line for item in found for line in check(item)]
    if wrong:
        return wrong
    for item in found:
        if definitions_say:
            wrong += definitions_say(item)
        wrong += [*promises(item), *statuses(item), *bounded(item)]
    return wrong + list(references(found))


# ---- seeded mistakes

def at(item, path):
    for step in path:
        item = item[step]
    return item


def change(path, name, value=None):
    """A function that sets a field somewhere, or without a value removes it."""
    def act(item):
        place = at(item, path)
        if value is None:
            del place[name]
        else:
            place[name] = value
    return act


def restart_by_exit_code(item):
    for each in item["spec"]["pytorchReplicaSpecs"].values():
        each["restartPolicy"] = "ExitCode"


TORCH = ["spec", "pytorchReplicaSpecs", "Master"]
POD = ["spec", "template", "spec"]
SET = ["spec", "replicatedJobs", 0, "template", "spec"]
MISTAKES = [  # kind, the fault, expected message
    ("MPIJob", change(["spec"], "slotPerWorker", 2), "slotPerWorker: there is no such field"),
    ("MPIJob", change(["spec"], "mpiImplementation", "HPCX"), "'HPCX' is none of"),
    ("MPIJob", change(["spec", "mpiReplicaSpecs", "Worker"], "restartPolicy", "ExitCode"), "none of Never, OnFailure"),
    ("MPIJob", change(["metadata"], "name", "2nd"), "'2nd' is no label"),
    ("MPIJob", change(["spec", "mpiReplicaSpecs"], "Launcher"), "Launcher is missing"),
    ("PyTorchJob", change(["spec"], "nprocPerNode", 2), "2 is no text"),
    ("PyTorchJob", change(TORCH, "restartPolicy", "Onfailure"), "'Onfailure' is none of"),
    ("PyTorchJob", restart_by_exit_code, "starts again for ever"),
    ("PyTorchJob", change(["spec", "runPolicy"], "backoffLimit"), "starts again for ever"),
    ("PyTorchJob", change(["metadata"], "labels", {"a/b/c": "d"}), "'a/b/c' is no key of a label"),
    ("PyTorchJob", change(TORCH + ["template", "spec"], "nodeSelector", {"a": "b c"}), "'b c' is no value of a label"),
    ("PyTorchJob", change(TORCH + ["template", "spec", "containers", 0], "name", "node"), "looks for a container pytorch"),
    ("PyTorchJob", change(TORCH + ["template", "spec", "containers", 0, "resources", "requests"], "cpu", "7"),
     "may get less than its limits"),
    ("PyTorchJob", change(TORCH + ["template", "spec"], "terminationGracePeriodSeconds", 60), "time for the grace"),
    ("TrainJob", change(["spec"], "runtimeRef"), "runtimeRef is missing"),
    ("TrainJob", change(["spec", "runtimeRef"], "name", "other"), "there is no runtime other"),
    ("TrainJob", change(["spec", "trainer"], "numNodes", "4"), "'4' is no whole"),
    ("TrainingRuntime", change(["spec", "template", "spec", "failurePolicy"], "rules", []), "after status 1 the job goes on"),
    ("JobSet", change(["spec", "failurePolicy"], "restartStrategy", "Rolling"), "'Rolling' is none of"),
    ("JobSet", change(SET, "activeDeadlineSeconds", 60), "starts again after its deadline"),
    ("JobSet", change(SET + ["template", "spec"], "restartPolicy", "OnFailure"), "wants restartPolicy Never"),
    ("JobSet", change(SET + ["podFailurePolicy", "rules", 0, "onExitCodes"], "values", [143, 137]), "not in order"),
    ("JobSet", change(SET + ["podFailurePolicy", "rules", 0, "onExitCodes"], "values", [143]), "after status 137 the job ends"),
    ("Job", change(POD, "subdomain", "other"), "no headless service"),
    ("Job", change(POD + ["securityContext"], "runAsNonRoot", False), "run as no root"),
    ("Job", change(POD + ["securityContext", "seccompProfile"], "type", "Unconfined"), "seccomp's default"),
    ("Job", change(POD + ["containers", 0, "securityContext", "capabilities"], "drop", ["NET_RAW"]), "rights that it does not"),
    ("Job", change(POD, "automountServiceAccountToken"), "no token of Kubernetes"),
    ("Job", change(POD + ["volumes", 0, "emptyDir"], "sizeLimit"), "memory at /dev/shm"),
    ("Job", change(POD + ["containers", 0, "resources", "limits"], "cpu", "1500m"), "less than its limits"),
    ("Job", change(POD + ["containers", 0, "volumeMounts", 0], "name", "none"), "there is no volume none"),
    ("Job", change(["spec"], "template"), "template is missing"),
    ("Service", change(["spec"], "clusterIP", "10.0.0.1"), "no headless service"),
    ("Service", change(["spec"], "publishNotReadyAddresses", "true"), "'true' is no truth"),
    ("NetworkPolicy", change(["spec", "podSelector"], "matchLabels", {"app": "x"}), "selects no pod"),
    ("NetworkPolicy", change(["spec"], "policyTypes", ["ingress"]), "'ingress' is none of"),
]


def mistakes(paths):
    files = [objects(path) for path in paths]
    for kind, act, said in MISTAKES:
        found = next((copy.deepcopy(file) for file in files if any(item["kind"] == kind for item in file)), None)
        if found is None:
            sys.exit(f"kube_manifests: FAILED: there is no {kind} to make mistakes in")
        act(next(item for item in found if item["kind"] == kind))
        wrong = wrong_in(found)
        if not any(said in line for line in wrong):
            sys.exit(f"kube_manifests: FAILED: a mistake in a {kind} is not found, '{said}': {wrong}")
    print(f"{len(MISTAKES)} seeded mistakes found")


def main():
    if sys.argv[1] == "mistakes":
        mistakes(sys.argv[2:])
        return
    if sys.argv[1] == "restarts":
        for item in (item for path in sys.argv[3:] for item in objects(path) if item["kind"] == "PyTorchJob"):
            if restarts(item) != int(sys.argv[2]):
                sys.exit(f"kube_manifests: FAILED: {item['metadata']['name']}: {restarts(item)} restarts")
        return
    definitions_say = checker_of_definitions()
    for path in sys.argv[1:]:
        found = objects(path)
        wrong = wrong_in(found, definitions_say) if found else ["there is nothing in it"]
        if wrong:
            sys.exit("\n".join([f"kube_manifests: FAILED: {path}:"] + wrong))
        print(f"{path}: {', '.join(item['kind'] for item in found)}: good")


main()
