#pragma once
// The pods of a job as Kubernetes has them: what all kinds of jobs share. Pure.

#include <string>
#include <vector>

#include "launcher/kube/kube_job.h"
#include "launcher/kube/yaml.h"

namespace dtl {

// The port that the first pod listens on, where the engine does not say another.
constexpr int kRendezvousPort = 29500;

// dtlaunch's arguments as a container's: a '$' stays one.
std::vector<std::string> escaped_for_pods(std::vector<std::string> words);

// Requests that are limits, so that the CPUs can be the pod's alone.
Yaml resources_of(int cpus, const std::string& memory);

// {name, value} of a variable, or that of the token's Secret, or of a field of the pod itself.
Yaml variable(const std::string& name, const std::string& value);
Yaml token_variable(const KubeJob& job);
Yaml field_variable(const std::string& name, const std::string& field);

// A container that runs dtlaunch with the job's arguments.
Yaml dtlaunch_container(const KubeJob& job, const std::string& name, std::vector<Yaml> environment);

// A pod around its container; it begins with what the kind of job says of it.
Yaml pod_of(const KubeJob& job, Yaml container, Yaml start = {});

// What every container has and a pod mounts: memory and claims.
void give_volumes(const KubeJob& job, Yaml& container);

}  // namespace dtl
