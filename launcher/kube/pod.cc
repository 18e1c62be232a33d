#include "launcher/kube/pod.h"

#include <fmt/format.h>

#include <utility>

namespace dtl {
namespace {

constexpr int kUser = 1000;           // of packaging/Containerfile
constexpr int kGraceBeyondOurs = 15;  // seconds: to reap, to tell the other pods, to end

// What dtlaunch needs none of.
Yaml container_rights() {
  Yaml rights;
  rights["allowPrivilegeEscalation"] = false;
  rights["capabilities"]["drop"] = std::vector<std::string>{"ALL"};
  return rights;
}

Yaml pod_rights() {
  Yaml rights;
  rights["runAsNonRoot"] = true;
  rights["runAsUser"] = kUser;
  rights["runAsGroup"] = kUser;
  rights["fsGroup"] = kUser;
  rights["seccompProfile"]["type"] = "RuntimeDefault";
  return rights;
}

Yaml mount(const std::string& name, const std::string& path) {
  Yaml value;
  value["name"] = name;
  value["mountPath"] = path;
  return value;
}

std::string claim_volume(std::size_t index) {
  return fmt::format("claim-{}", index);
}

}  // namespace

std::vector<std::string> escaped_for_pods(std::vector<std::string> words) {
  for (std::string& word : words) {
    std::string escaped;
    for (const char c : word) escaped += c == '$' ? "$$" : std::string(1, c);
    word = escaped;
  }
  return words;
}

Yaml resources_of(int cpus, const std::string& memory) {
  Yaml amounts;
  amounts["cpu"] = std::to_string(cpus);
  amounts["memory"] = memory;
  Yaml resources;
  resources["requests"] = amounts;
  resources["limits"] = amounts;
  return resources;
}

Yaml variable(const std::string& name, const std::string& value) {
  Yaml variable;
  variable["name"] = name;
  variable["value"] = value;
  return variable;
}

Yaml token_variable(const KubeJob& job) {
  Yaml variable;
  variable["name"] = "DTL_TOKEN";
  Yaml& reference = variable["valueFrom"]["secretKeyRef"];
  reference["name"] = job.secret;
  reference["key"] = "token";
  return variable;
}

Yaml field_variable(const std::string& name, const std::string& field) {
  Yaml variable;
  variable["name"] = name;
  variable["valueFrom"]["fieldRef"]["fieldPath"] = field;
  return variable;
}

void give_volumes(const KubeJob& job, Yaml& container) {
  std::vector<Yaml> mounts = {mount("shared-memory", "/dev/shm")};
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    mounts.push_back(mount(claim_volume(i), job.claims[i].path));
  }
  container["securityContext"] = container_rights();
  container["volumeMounts"] = std::move(mounts);
}

Yaml dtlaunch_container(const KubeJob& job, const std::string& name,
                        std::vector<Yaml> environment) {
  Yaml container;
  container["name"] = name;
  container["image"] = job.image;
  container["command"] = std::vector<std::string>{"dtlaunch"};
  container["args"] = escaped_for_pods(job.arguments);
  if (!environment.empty()) container["env"] = std::move(environment);
  container["resources"] = resources_of(job.cpus, job.memory);
  give_volumes(job, container);
  return container;
}

Yaml pod_of(const KubeJob& job, Yaml container, Yaml start) {
  Yaml pod = std::move(start);
  pod["terminationGracePeriodSeconds"] = job.grace_s + kGraceBeyondOurs;
  pod["automountServiceAccountToken"] = false;
  pod["enableServiceLinks"] = false;
  pod["securityContext"] = pod_rights();
  pod["containers"] = std::vector<Yaml>{std::move(container)};
  Yaml memory;
  memory["name"] = "shared-memory";
  memory["emptyDir"]["medium"] = "Memory";
  memory["emptyDir"]["sizeLimit"] = job.shared_memory;
  std::vector<Yaml> volumes = {std::move(memory)};
  for (std::size_t i = 0; i < job.claims.size(); ++i) {
    Yaml& volume = volumes.emplace_back();
    volume["name"] = claim_volume(i);
    volume["persistentVolumeClaim"]["claimName"] = job.claims[i].name;
  }
  pod["volumes"] = std::move(volumes);
  return pod;
}

}  // namespace dtl
