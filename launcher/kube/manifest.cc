// One function for each kind of job, below the parts that all kinds share. A member whose name
// begins with '#' becomes a comment of the manifest (yaml.h).
#include "launcher/kube/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text.h"
#include "launcher/kube/kube_job.h"
#include "launcher/kube/yaml.h"

namespace dtl {
namespace {

using Json = nlohmann::ordered_json;
using Documents = std::vector<Json>;

// 137: a pod or a rank was lost. 143: a pod was told to end. After these a restart makes sense;
// other statuses are the job's own, and would occur again.
const std::vector<int> kStartAgain = {137, 143};

constexpr int kPyTorchPort = 23456;     // PyTorchJob's own
constexpr int kRendezvousPort = 29500;  // of the first pod, unless the scheduler sets another
constexpr int kUser = 1000;             // of packaging/Containerfile
constexpr int kGraceBeyondOurs = 15;    // seconds: to reap, to tell the other pods, to exit

// Kubernetes replaces $(NAME) in a container's arguments. "$$" stands for one '$'.
std::vector<std::string> escaped_for_pods(std::vector<std::string> words) {
  for (std::string& word : words) word = join(split(word, '$'), "$$");
  return words;
}

// Requests equal limits: only then the kubelet's static CPU manager gives a pod exclusive CPUs.
Json resources_of(const KubeJob& job) {
  const Json amounts = {{"cpu", std::to_string(job.cpus)}, {"memory", job.memory}};
  return {{"requests", amounts}, {"limits", amounts}};
}

// A variable with a value; with the token's Secret; with a field of the pod.
Json variable(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

// By reference, so that the manifest contains no secret.
Json token_variable(const KubeJob& job) {
  return {{"name", "DTL_TOKEN"},
          {"valueFrom", {{"secretKeyRef", {{"name", job.secret}, {"key", "token"}}}}}};
}

Json field_variable(const std::string& name, const std::string& field) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}};
}

std::string claim_volume(std::size_t index) {
  return fmt::format("claim-{}", index);
}

// For every container: only the rights that dtlaunch needs, the memory volume and the claims. A
// container's default /dev/shm has 64 MiB, too little for PyTorch's data loaders.
void give_volumes(const KubeJob& job, Json& container) {
  container["securityContext"] = {{"allowPrivilegeEscalation", false},
                                  {"capabilities", {{"drop", Json::array({"ALL"})}}}};
  Json& mounts = container["volumeMounts"];
  mounts.push_back({{"name", "shared-memory"}, {"mountPath", "/dev/shm"}});
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    mounts.push_back({{"name", claim_volume(i)}, {"mountPath", job.claims[i].path}});
  }
}

Json object_of(const KubePairs& pairs) {
  Json object = Json::object();
  for (const auto& [name, value] : pairs) object[name] = value;
  return object;
}

Json container_of(const KubeJob& job, const char* name, const char* command) {
  Json container = {{"name", name}, {"image", job.image}};
  if (!job.pull_policy.empty()) container["imagePullPolicy"] = job.pull_policy;
  container["command"] = Json::array({command});
  return container;
}

// A container that runs dtlaunch with the job's arguments.
Json dtlaunch_container(const KubeJob& job, const char* name, Documents environment) {
  Json container = container_of(job, name, "dtlaunch");
  container["args"] = escaped_for_pods(job.arguments);
  for (const auto& [variable_name, value] : job.environment) {
    environment.push_back(variable(variable_name, escaped_for_pods({value})[0]));
  }
  if (!environment.empty()) container["env"] = std::move(environment);
  container["resources"] = resources_of(job);
  give_volumes(job, container);
  return container;
}

// The template of pods around their container. `pod` has the fields of the kind of job.
Json pods_of(const KubeJob& job, Json container, Json pod = Json::object()) {
  if (!job.node_selector.empty()) pod["nodeSelector"] = object_of(job.node_selector);
  for (const std::string& name : job.pull_secrets) {
    pod["imagePullSecrets"].push_back({{"name", name}});
  }
  pod["terminationGracePeriodSeconds"] = job.grace_s + kGraceBeyondOurs;
  // dtlaunch never contacts Kubernetes, so ranks must not be able to either.
  pod["automountServiceAccountToken"] = false;
  // Otherwise each Service of the namespace adds variables to the environment of all ranks.
  pod["enableServiceLinks"] = false;
  // fsGroup makes claims writable for the pods' user.
  pod["securityContext"] = {{"runAsNonRoot", true},
                            {"runAsUser", kUser},
                            {"runAsGroup", kUser},
                            {"fsGroup", kUser},
                            {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  pod["containers"] = Json::array({std::move(container)});
  Json& volumes = pod["volumes"];
  volumes.push_back({{"name", "shared-memory"},
                     {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", job.shared_memory}}}});
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    volumes.push_back({{"name", claim_volume(i)},
                       {"persistentVolumeClaim", {{"claimName", job.claims[i].name}}}});
  }
  // A service mesh's proxy would intercept connections between pods, and keep the pods from ending.
  return {{"metadata", {{"labels", {{"sidecar.istio.io/inject", "false"}}}}},
          {"spec", std::move(pod)}};
}

Json head(const KubeJob& job, const char* version, const char* kind) {
  Json object = {{"apiVersion", version}, {"kind", kind}, {"metadata", {{"name", job.name}}}};
  if (!job.name_space.empty()) object["metadata"]["namespace"] = job.name_space;
  return object;
}

// Fails the job for statuses of its own.
Json own_failure() {
  return {
      {"action", "FailJob"},
      {"onExitCodes", {{"containerName", "node"}, {"operator", "NotIn"}, {"values", kStartAgain}}},
  };
}

// A pod that Kubernetes evicted does not count against backoffLimit.
Json preempted() {
  const Json condition = {{"type", "DisruptionTarget"}, {"status", "True"}};
  return {{"action", "Ignore"}, {"onPodConditions", Json::array({condition})}};
}

// The operators end the job and all its pods after this time.
void give_deadline(const KubeJob& job, Json& spec) {
  if (job.deadline_s) spec["activeDeadlineSeconds"] = *job.deadline_s;
}

Json run_policy(const KubeJob& job, int backoff_limit) {
  // Pods that have ended stay, and so do their logs.
  Json policy = {{"cleanPodPolicy", "Running"}, {"backoffLimit", backoff_limit}};
  give_deadline(job, policy);
  return policy;
}

// The operator adds up the container restarts of all running pods. Each restart of the job restarts
// all of them; one more container restart ends it.
int pytorch_backoff_limit(const KubeJob& job) {
  return job.restarts == 0 ? 0 : job.restarts * job.nodes.most + 1;
}

Json named_port(const char* name, int number) {
  return Json::array({{{"name", name}, {"containerPort", number}}});
}

Documents pytorch_job(const KubeJob& job) {
  Json object = head(job, "kubeflow.org/v1", "PyTorchJob");
  Json& spec = object["spec"];
  spec["nprocPerNode"] = std::to_string(job.ranks_per_node);
  spec["# backoffLimit: the job ends at so many restarts of all containers together"];
  spec["runPolicy"] = run_policy(job, pytorch_backoff_limit(job));
  if (job.elastic) {
    spec["elasticPolicy"] = {{"rdzvBackend", "c10d"},
                             {"minReplicas", job.nodes.least},
                             {"maxReplicas", job.nodes.most},
                             {"maxRestarts", job.restarts}};
  }
  Json container = dtlaunch_container(job, "pytorch", {token_variable(job)});
  container["# the operator looks for a container and a port of these names"];
  container["ports"] = named_port("pytorchjob-port", kPyTorchPort);
  const Json pods = pods_of(job, std::move(container));
  // Not ExitCode: it replaces failed pods forever, because each new pod counts from 0.
  const auto replicas = [&](int count) -> Json {
    return {{"replicas", count},
            {"restartPolicy", job.restarts == 0 ? "Never" : "OnFailure"},
            {"template", pods}};
  };
  Json& specs = spec["pytorchReplicaSpecs"];
  // An elastic PyTorchJob has workers only; worker 0 is the first node.
  if (!job.elastic) specs["Master"] = replicas(1);
  const int workers = job.elastic ? job.nodes.most : job.nodes.most - 1;
  if (workers > 0) specs["Worker"] = replicas(workers);
  return {object};
}

Documents mpi_job(const KubeJob& job) {
  // The launcher's pod runs no ranks.
  KubeJob small = job;  // it computes nothing
  small.cpus = 1;
  small.memory = "1Gi";
  small.shared_memory = "64Mi";
  Json worker = container_of(job, "worker", "pod-sshd");
  // The pods' user has no right to use a port below 1024.
  worker["ports"] = named_port("ssh", 2222);
  worker["resources"] = resources_of(job);
  give_volumes(job, worker);
  // A failed pod must not restart by itself: the operator decides.
  const auto replica = [](int count, Json pods) -> Json {
    return {{"replicas", count}, {"restartPolicy", "Never"}, {"template", std::move(pods)}};
  };
  Json object = head(job, "kubeflow.org/v2beta1", "MPIJob");
  object["spec"] = {
      {"slotsPerWorker", job.ranks_per_node},
      {"# the form of the list of hosts; dtlaunch reads each", nullptr},
      {"mpiImplementation", "OpenMPI"},
      // The home of the image's user: ssh and dtlaunch look for keys there.
      {"sshAuthMountPath", "/home/dtlaunch/.ssh"},
      {"runPolicy", run_policy(job, job.restarts)},
      {"mpiReplicaSpecs",
       {{"Launcher", replica(1, pods_of(small, dtlaunch_container(small, "launcher", {})))},
        {"Worker", replica(job.nodes.most, pods_of(job, std::move(worker)))}}}};
  return {object};
}

// A Job whose pods are the nodes, for JobSet and TrainJob. `spec` has the fields of the kind.
Json nodes_of_job_set(const KubeJob& job, Documents environment, Json spec = Json::object()) {
  environment.push_back(token_variable(job));
  Json container = dtlaunch_container(job, "node", std::move(environment));
  // The first failed pod fails this Job; the JobSet then restarts all pods together.
  spec["backoffLimit"] = 0;
  give_deadline(job, spec);
  spec["podFailurePolicy"] = {{"rules", Json::array({own_failure()})}};
  spec["template"] = pods_of(job, std::move(container), {{"restartPolicy", "Never"}});
  return spec;
}

// How often JobSet has started its pods, and its name for the job. By these a room rejects pods of
// another start (launcher/join/join_seat.cc).
Documents generation() {
  return {
      field_variable("DTL_RESTART", "metadata.annotations['jobset.sigs.k8s.io/restart-attempt']"),
      field_variable("DTL_JOB_ID", "metadata.annotations['jobset.sigs.k8s.io/jobset-uid']")};
}

// BlockingRecreate: all old pods end before new ones start. The job's failures and deadline end it.
Json failure_policy(const KubeJob& job) {
  Json reasons = Json::array({"PodFailurePolicy"});
  if (job.deadline_s) reasons.push_back("DeadlineExceeded");
  const Json rule = {
      {"name", "failed"}, {"action", "FailJobSet"}, {"onJobFailureReasons", std::move(reasons)}};
  return {{"maxRestarts", job.restarts},
          {"restartStrategy", "BlockingRecreate"},
          {"rules", Json::array({rule})}};
}

Documents train_job(const KubeJob& job) {
  constexpr const char* kVersion = "trainer.kubeflow.org/v1alpha1";
  constexpr const char* kRuntime = "TrainingRuntime";
  const Json nodes = {
      {"name", "node"},
      {"template",
       {{"metadata", {{"labels", {{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}}}}},
        {"spec", nodes_of_job_set(job, generation())}}}};
  // The pods' template is in the runtime, so each job has its own runtime.
  Json runtime = head(job, kVersion, kRuntime);
  // The Trainer looks for this label on a runtime, and for the one above on the step that trains.
  runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"] = "torch";
  runtime["spec"] = {
      {"mlPolicy", {{"numNodes", job.nodes.most}, {"torch", Json::object()}}},
      {"template",
       {{"spec",
         {{"failurePolicy", failure_policy(job)}, {"replicatedJobs", Json::array({nodes})}}}}}};

  Json object = head(job, kVersion, "TrainJob");
  object["spec"] = {
      {"runtimeRef",
       {{"apiGroup", "trainer.kubeflow.org"}, {"kind", kRuntime}, {"name", job.name}}},
      {"trainer",
       {{"image", job.image},
        {"command", Json::array({"dtlaunch"})},
        {"args", escaped_for_pods(job.arguments)},
        {"numNodes", job.nodes.most},
        {"# without it, as many as CPUs", nullptr},
        {"numProcPerNode", job.ranks_per_node},
        {"resourcesPerNode", resources_of(job)}}}};
  return {runtime, object};
}

// What an Indexed Job does not tell its pods: their number, and the first pod's address.
Documents meeting(const KubeJob& job, const std::string& first_pod) {
  return {variable("DTL_NNODES", std::to_string(job.nodes.most)),
          variable("DTL_RDZV", fmt::format("{}.{}:{}", first_pod, job.name, kRendezvousPort))};
}

// Indexed: pods have numbers, which become the nodes' numbers.
Json indexed(const KubeJob& job) {
  return {{"completionMode", "Indexed"},
          {"completions", job.nodes.most},
          {"parallelism", job.nodes.most}};
}

Documents job_set(const KubeJob& job) {
  Documents environment = meeting(job, job.name + "-workers-0-0");
  for (Json& each : generation()) environment.push_back(std::move(each));
  const Json workers = {
      {"name", "workers"},
      {"replicas", 1},
      {"template", {{"spec", nodes_of_job_set(job, std::move(environment), indexed(job))}}}};
  Json object = head(job, "jobset.x-k8s.io/v1alpha2", "JobSet");
  object["spec"] = {{"network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}}},
                    {"failurePolicy", failure_policy(job)},
                    {"replicatedJobs", Json::array({workers})}};
  return {object};
}

// Only the pods reach each other; they also reach DNS.
Json network_policy(const KubeJob& job) {
  const Json pods = {{"matchLabels", {{"batch.kubernetes.io/job-name", job.name}}}};
  const Json among = Json::array({{{"podSelector", pods}}});
  const Json names =
      Json::array({{{"protocol", "UDP"}, {"port", 53}}, {{"protocol", "TCP"}, {"port", 53}}});
  Json object = {{"# The pods reach each other and DNS, and nothing else.", nullptr}};
  object.update(head(job, "networking.k8s.io/v1", "NetworkPolicy"));
  object["spec"] = {{"podSelector", pods},
                    {"policyTypes", Json::array({"Ingress", "Egress"})},
                    {"ingress", Json::array({{{"from", among}}})},
                    {"egress", Json::array({{{"to", among}}, {{"ports", names}}})}};
  return object;
}

Documents indexed_job(const KubeJob& job) {
  // A headless Service gives pods their names. publishNotReadyAddresses, because nodes look each
  // other up before they are ready.
  Json service = head(job, "v1", "Service");
  service["spec"] = {{"clusterIP", "None"},
                     {"publishNotReadyAddresses", true},
                     {"selector", {{"batch.kubernetes.io/job-name", job.name}}}};

  Documents environment = meeting(job, job.name + "-0");
  environment.push_back(
      field_variable("DTL_JOB_ID", "metadata.labels['batch.kubernetes.io/controller-uid']"));
  environment.push_back(token_variable(job));
  Json container = dtlaunch_container(job, "node", std::move(environment));
  Json object = head(job, "batch/v1", "Job");
  Json& spec = object["spec"] = indexed(job);
  spec["# counts pods, and all of them end when one is lost"];
  spec["backoffLimit"] = job.restarts * job.nodes.most;
  give_deadline(job, spec);
  spec["podFailurePolicy"]["rules"] = Json::array({preempted(), own_failure()});
  spec["template"] =
      // With the Service of this name, each pod gets its own DNS name.
      pods_of(job, std::move(container), {{"subdomain", job.name}, {"restartPolicy", "Never"}});
  return {service, object, network_policy(job)};
}

struct Rendered {
  const char* main_kind;  // of the job's own object, which gets the labels
  Documents documents;
};

Rendered render(const KubeJob& job) {
  switch (job.kind) {
    case KubeKind::kPyTorchJob:
      return {"PyTorchJob", pytorch_job(job)};
    case KubeKind::kMpiJob:
      return {"MPIJob", mpi_job(job)};
    case KubeKind::kTrainJob:
      return {"TrainJob", train_job(job)};
    case KubeKind::kJobSet:
      return {"JobSet", job_set(job)};
    case KubeKind::kIndexedJob:
      return {"Job", indexed_job(job)};
  }
  return {"", {}};
}

}  // namespace

std::string manifest_of(const KubeJob& job) {
  Rendered rendered = render(job);
  std::vector<std::string> objects;
  for (Json& document : rendered.documents) {
    if (!job.labels.empty() && document["kind"] == rendered.main_kind) {
      document["metadata"]["labels"].update(object_of(job.labels));
    }
    objects.push_back(document.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  apply_patches(job.patches, rendered.main_kind, objects);
  for (std::string& object : objects) object = yaml_of(object);
  return join(objects, "---\n");
}

}  // namespace dtl
