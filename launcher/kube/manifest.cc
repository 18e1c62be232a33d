#include "launcher/kube/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "launcher/kube/kube_job.h"
#include "launcher/kube/pod.h"
#include "launcher/kube/yaml.h"

namespace dtl {
namespace {

using Documents = std::vector<Yaml>;

// Exit statuses after which the job may be started again: a lost pod, and one that was told to end.
// All others are the job's own.
const std::vector<Yaml> kStartAgain = {137, 143};

constexpr int kPyTorchPort = 23456;  // PyTorchJob's own

Yaml head(const KubeJob& job, const char* version, const char* kind) {
  Yaml object;
  object["apiVersion"] = version;
  object["kind"] = kind;
  object["metadata"]["name"] = job.name;
  if (!job.name_space.empty()) object["metadata"]["namespace"] = job.name_space;
  return object;
}

// A service mesh would stand between the pods, and outlive the job in them.
void refuse_sidecars(Yaml& labels) {
  labels["sidecar.istio.io/inject"] = "false";
}

Yaml pod_template(Yaml pod) {
  Yaml around;
  refuse_sidecars(around["metadata"]["labels"]);
  around["spec"] = std::move(pod);
  return around;
}

// FailJob for statuses that are the job's own.
Yaml own_failure() {
  Yaml rule;
  rule["action"] = "FailJob";
  rule["onExitCodes"]["containerName"] = "node";
  rule["onExitCodes"]["operator"] = "NotIn";
  rule["onExitCodes"]["values"] = kStartAgain;
  return rule;
}

Yaml preempted() {
  Yaml condition;
  condition["type"] = "DisruptionTarget";
  condition["status"] = "True";
  Yaml rule;
  rule["action"] = "Ignore";
  rule["onPodConditions"] = std::vector<Yaml>{std::move(condition)};
  return rule;
}

Yaml named(const std::string& name, int number) {
  Yaml port;
  port["name"] = name;
  port["containerPort"] = number;
  return port;
}

Documents pytorch_job(const KubeJob& job) {
  Yaml object = head(job, "kubeflow.org/v1", "PyTorchJob");
  Yaml& spec = object["spec"];
  spec["nprocPerNode"] = std::to_string(job.ranks_per_node);
  spec["runPolicy"]["cleanPodPolicy"] = "Running";
  spec["runPolicy"]["backoffLimit"] = job.restarts;
  if (job.elastic) {
    Yaml& elastic = spec["elasticPolicy"];
    elastic["rdzvBackend"] = "c10d";
    elastic["minReplicas"] = job.nodes.least;
    elastic["maxReplicas"] = job.nodes.most;
    elastic["maxRestarts"] = job.restarts;
  }
  const auto replicas = [&](int count) {
    Yaml container = dtlaunch_container(job, "pytorch", {token_variable(job)});
    container["ports"] = std::vector<Yaml>{named("pytorchjob-port", kPyTorchPort)};
    container["ports"].comment("the operator looks for a container and a port of these names");
    Yaml value;
    value["replicas"] = count;
    value["restartPolicy"] = "ExitCode";
    value["restartPolicy"].comment("1 to 127 end the job, 128 and more start the pod again");
    value["template"] = pod_template(pod_of(job, std::move(container)));
    return value;
  };
  Yaml& specs = spec["pytorchReplicaSpecs"];
  if (!job.elastic) specs["Master"] = replicas(1);
  const int workers = job.elastic ? job.nodes.most : job.nodes.most - 1;
  if (workers > 0) specs["Worker"] = replicas(workers);
  return {object};
}

Documents mpi_job(const KubeJob& job) {
  constexpr const char* kKeys = "/home/dtlaunch/.ssh";
  Yaml object = head(job, "kubeflow.org/v2beta1", "MPIJob");
  Yaml& spec = object["spec"];
  spec["slotsPerWorker"] = job.ranks_per_node;
  spec["mpiImplementation"] = "OpenMPI";
  spec["mpiImplementation"].comment("the form of the list of hosts; dtlaunch reads each");
  spec["sshAuthMountPath"] = kKeys;
  spec["runPolicy"]["cleanPodPolicy"] = "Running";
  spec["runPolicy"]["backoffLimit"] = job.restarts;
  const auto replica = [&](const KubeJob& sized, int count, Yaml container) {
    Yaml value;
    value["replicas"] = count;
    value["restartPolicy"] = "Never";
    value["template"] = pod_template(pod_of(sized, std::move(container)));
    return value;
  };
  KubeJob small = job;  // it computes nothing
  small.cpus = 1;
  small.memory = "1Gi";
  small.shared_memory = "64Mi";
  Yaml launcher = dtlaunch_container(small, "launcher", {});
  Yaml worker;
  worker["name"] = "worker";
  worker["image"] = job.image;
  worker["command"] = std::vector<std::string>{"pod-sshd"};
  worker["ports"] = std::vector<Yaml>{named("ssh", 2222)};
  worker["resources"] = resources_of(job.cpus, job.memory);
  give_volumes(job, worker);
  spec["mpiReplicaSpecs"]["Launcher"] = replica(small, 1, std::move(launcher));
  spec["mpiReplicaSpecs"]["Worker"] = replica(job, job.nodes.most, std::move(worker));
  return {object};
}

// A Job whose pods are the nodes, as JobSet and TrainJob make them.
Yaml nodes_of_job_set(const KubeJob& job, Yaml container) {
  Yaml start;
  start["restartPolicy"] = "Never";
  Yaml pod = pod_of(job, std::move(container), std::move(start));
  Yaml spec;
  spec["backoffLimit"] = 0;
  spec["podFailurePolicy"]["rules"] = std::vector<Yaml>{own_failure()};
  spec["template"] = pod_template(std::move(pod));
  return spec;
}

// How often JobSet has started its pods, and its own name for the job.
std::vector<Yaml> generation() {
  return {
      field_variable("DTL_RESTART", "metadata.annotations['jobset.sigs.k8s.io/restart-attempt']"),
      field_variable("DTL_JOB_ID", "metadata.annotations['jobset.sigs.k8s.io/jobset-uid']")};
}

// All pods start again together; the job's own failures end it.
Yaml failure_policy(const KubeJob& job) {
  Yaml rule;
  rule["name"] = "failed";
  rule["action"] = "FailJobSet";
  rule["onJobFailureReasons"] = std::vector<std::string>{"PodFailurePolicy"};
  Yaml policy;
  policy["maxRestarts"] = job.restarts;
  policy["restartStrategy"] = "BlockingRecreate";
  policy["rules"] = std::vector<Yaml>{std::move(rule)};
  return policy;
}

Documents train_job(const KubeJob& job) {
  Yaml runtime = head(job, "trainer.kubeflow.org/v1alpha1", "TrainingRuntime");
  runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"] = "torch";
  runtime["spec"]["mlPolicy"]["numNodes"] = job.nodes.most;
  runtime["spec"]["mlPolicy"]["torch"] = Yaml();
  Yaml& set = runtime["spec"]["template"]["spec"];
  set["failurePolicy"] = failure_policy(job);
  Yaml nodes;
  nodes["name"] = "node";
  nodes["template"]["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] =
      "trainer";
  std::vector<Yaml> environment = generation();
  environment.push_back(token_variable(job));
  Yaml container = dtlaunch_container(job, "node", std::move(environment));
  nodes["template"]["spec"] = nodes_of_job_set(job, std::move(container));
  set["replicatedJobs"] = std::vector<Yaml>{std::move(nodes)};

  Yaml object = head(job, "trainer.kubeflow.org/v1alpha1", "TrainJob");
  Yaml& spec = object["spec"];
  spec["runtimeRef"]["apiGroup"] = "trainer.kubeflow.org";
  spec["runtimeRef"]["kind"] = "TrainingRuntime";
  spec["runtimeRef"]["name"] = job.name;
  Yaml& trainer = spec["trainer"];
  trainer["image"] = job.image;
  trainer["command"] = std::vector<std::string>{"dtlaunch"};
  trainer["args"] = escaped_for_pods(job.arguments);
  trainer["numNodes"] = job.nodes.most;
  trainer["numProcPerNode"] = job.ranks_per_node;
  trainer["numProcPerNode"].comment("without it, as many as CPUs");
  trainer["resourcesPerNode"] = resources_of(job.cpus, job.memory);
  return {runtime, object};
}

// What an Indexed Job does not tell its pods.
std::vector<Yaml> meeting(const KubeJob& job, const std::string& first_pod) {
  return {variable("DTL_NNODES", std::to_string(job.nodes.most)),
          variable("DTL_RDZV", fmt::format("{}.{}:{}", first_pod, job.name, kRendezvousPort))};
}

Documents job_set(const KubeJob& job) {
  Yaml object = head(job, "jobset.x-k8s.io/v1alpha2", "JobSet");
  Yaml& spec = object["spec"];
  spec["network"]["enableDNSHostnames"] = true;
  spec["network"]["publishNotReadyAddresses"] = true;
  spec["failurePolicy"] = failure_policy(job);
  std::vector<Yaml> environment = meeting(job, job.name + "-workers-0-0");
  for (Yaml& each : generation()) environment.push_back(std::move(each));
  environment.push_back(token_variable(job));
  Yaml container = dtlaunch_container(job, "node", std::move(environment));
  Yaml nodes = nodes_of_job_set(job, std::move(container));
  Yaml indexed;
  indexed["completionMode"] = "Indexed";
  indexed["completions"] = job.nodes.most;
  indexed["parallelism"] = job.nodes.most;
  for (const char* name : {"backoffLimit", "podFailurePolicy", "template"}) {
    indexed[name] = nodes[name];
  }
  Yaml workers;
  workers["name"] = "workers";
  workers["replicas"] = 1;
  workers["template"]["spec"] = std::move(indexed);
  spec["replicatedJobs"] = std::vector<Yaml>{std::move(workers)};
  return {object};
}

Yaml pods_of_job(const KubeJob& job) {
  Yaml selector;
  selector["matchLabels"]["batch.kubernetes.io/job-name"] = job.name;
  return selector;
}

// The pods among themselves, and names.
Yaml network_policy(const KubeJob& job) {
  Yaml object = head(job, "networking.k8s.io/v1", "NetworkPolicy");
  object["apiVersion"].comment("The pods reach each other and DNS, and nothing else.");
  Yaml& spec = object["spec"];
  spec["podSelector"] = pods_of_job(job);
  spec["policyTypes"] = std::vector<std::string>{"Ingress", "Egress"};
  Yaml among;
  among["podSelector"] = pods_of_job(job);
  Yaml in, out, names;
  in["from"] = std::vector<Yaml>{among};
  out["to"] = std::vector<Yaml>{among};
  std::vector<Yaml> ports;
  for (const char* protocol : {"UDP", "TCP"}) {
    Yaml& port = ports.emplace_back();
    port["protocol"] = protocol;
    port["port"] = 53;
  }
  names["ports"] = std::move(ports);
  spec["ingress"] = std::vector<Yaml>{std::move(in)};
  spec["egress"] = std::vector<Yaml>{std::move(out), std::move(names)};
  return object;
}

Documents indexed_job(const KubeJob& job) {
  Yaml service = head(job, "v1", "Service");
  service["spec"]["clusterIP"] = "None";
  service["spec"]["publishNotReadyAddresses"] = true;
  service["spec"]["selector"]["batch.kubernetes.io/job-name"] = job.name;

  std::vector<Yaml> environment = meeting(job, job.name + "-0");
  environment.push_back(
      field_variable("DTL_JOB_ID", "metadata.labels['batch.kubernetes.io/controller-uid']"));
  environment.push_back(token_variable(job));
  Yaml container = dtlaunch_container(job, "node", std::move(environment));
  Yaml start;
  start["subdomain"] = job.name;
  start["restartPolicy"] = "Never";
  Yaml pod = pod_of(job, std::move(container), std::move(start));
  Yaml object = head(job, "batch/v1", "Job");
  Yaml& spec = object["spec"];
  spec["completionMode"] = "Indexed";
  spec["completions"] = job.nodes.most;
  spec["parallelism"] = job.nodes.most;
  spec["backoffLimit"] = job.restarts * job.nodes.most;
  spec["backoffLimit"].comment("counts pods, and all of them end when one is lost");
  spec["podFailurePolicy"]["rules"] = std::vector<Yaml>{preempted(), own_failure()};
  spec["template"] = pod_template(std::move(pod));
  return {service, object, network_policy(job)};
}

Documents documents_of(const KubeJob& job) {
  switch (job.kind) {
    case KubeKind::kPyTorchJob:
      return pytorch_job(job);
    case KubeKind::kMpiJob:
      return mpi_job(job);
    case KubeKind::kTrainJob:
      return train_job(job);
    case KubeKind::kJobSet:
      return job_set(job);
    case KubeKind::kIndexedJob:
      return indexed_job(job);
  }
  return {};
}

// MPIJob makes its key itself; the pods of all others need the token.
std::string introduction(const KubeJob& job) {
  if (job.kind == KubeKind::kMpiJob) {
    return "# Made by dtlaunch kube render: see dtlaunch-kubernetes(7).\n";
  }
  const std::string where = job.name_space.empty() ? "" : " -n " + job.name_space;
  return fmt::format(
      "# Made by dtlaunch kube render: see dtlaunch-kubernetes(7). Its pods need a token, made "
      "once:\n"
      "#   openssl rand -hex 32 | kubectl{} create secret generic {} "
      "--from-file=token=/dev/stdin\n",
      where, job.secret);
}

}  // namespace

std::string manifest_of(const KubeJob& job) {
  std::vector<std::string> pages;
  for (const Yaml& document : documents_of(job)) pages.push_back(document.document());
  return introduction(job) + join(pages, "---\n");
}

}  // namespace dtl
