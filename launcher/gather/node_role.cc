// Every node refuses here what such a job cannot do, before any of them waits for another.
#include "launcher/gather/node_role.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/join/join_caller.h"
#include "launcher/request/scheduler_job.h"
#include "launcher/schedulers/job_token.h"
#include "plan/request/host_token.h"
#include "plan/schedulers/pod_commands.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr int kUsualPort = 29500;     // if the scheduler sets none
constexpr auto kStartTimeout = 300s;  // for images to be fetched and names to resolve

// The room's port is open to the whole network of the cluster. Without a secret anybody could
// connect and run programs as this user.
std::string take_token(const SchedulerEvidence& evidence) {
  if (auto token = take_job_token()) return *token;
  // A Secret of Kubernetes is useless elsewhere.
  const std::string_view hint = evidence.outside_kubernetes
                                    ? "openssl rand -hex 32 >token, and DTL_TOKEN_FILE=token with "
                                      "a copy of that file on every node"
                                    : evidence.scheduler->token_hint;
  throw Error(Exit::kConfig, "DTL_TOKEN_FILE",
              "neither it nor DTL_TOKEN is set, and the nodes know each other by the token",
              std::string(hint));
}

// The user's number of nodes overrides the scheduler's. A range of one size is not elastic.
void take_size_of(const CommandLine& line, SchedulerEvidence& evidence) {
  if (line.placement.node_range) {
    evidence.node_count.reset();
    evidence.elastic = line.placement.node_range;
  } else if (line.placement.nodes && !evidence.node_count) {
    evidence.node_count = line.placement.nodes;
    evidence.elastic.reset();
  }
  if (!evidence.elastic || evidence.elastic->least < evidence.elastic->most) return;
  evidence.node_count = evidence.elastic->most;
  evidence.elastic.reset();
}

void refuse_what_nodes_cannot(const CommandLine& line, const SchedulerEvidence& evidence) {
  if (const auto& refusal = evidence.refusal) {
    throw Error(Exit::kConfig, refusal->attempted, refusal->reason, refusal->hint);
  }
  const std::string scheduler(scheduler_name(evidence.scheduler));
  if (!evidence.elastic && !evidence.node_count) {
    throw Error(Exit::kConfig, "--nnodes",
                "missing: the first node has to know how many others it waits for",
                "--nnodes N, or DTL_NNODES=N in the environment of all nodes");
  }
  const int most = evidence.elastic ? evidence.elastic->most : *evidence.node_count;
  if (evidence.node_rank && *evidence.node_rank >= most) {
    throw Error(Exit::kConfig, fmt::format("node {}", *evidence.node_rank),
                fmt::format("the job has only {}, counted from 0", plural(most, "node")),
                fmt::format("--nnodes {}", *evidence.node_rank + 1));
  }
  if (evidence.coordinator.empty()) {
    throw Error(Exit::kConfig, scheduler,
                "it does not say which node of the job this is, and each node needs its number and "
                "the name of the first one",
                "DTL_NODE_RANK=R and DTL_RDZV=NAME:PORT");
  }
  // Each of these changes how dtlaunch starts on hosts, and here the scheduler has done that
  // already.
  for (const auto& [given, option] : {std::pair(line.detach, "--detach"),
                                      {line.starting.push, "--push"},
                                      {!line.starting.sync.empty(), "--sync"},
                                      {!line.starting.venv.empty(), "--venv"},
                                      {line.starting.tree.value_or(0) > 0, "--tree"},
                                      {line.starting.agent_start.has_value(), "-launcher"}}) {
    if (!given) continue;
    throw option_error(
        option, fmt::format("{} has started dtlaunch on every node, and keeps it", scheduler),
        "the same command without it, or --scheduler none for a job on this node");
  }
  if (line.ending.reconnect.count() > 0) {
    throw option_error("--reconnect",
                       "where each node has its own dtlaunch, ranks end with its connection",
                       "--max-restarts 3");
  }
}

// From here on each task is a node with one rank.
void count_tasks(SchedulerEvidence& evidence) {
  if (evidence.role != SchedulerRole::kRank || !evidence.rank) return;
  evidence.node_rank = evidence.rank->rank;
  evidence.node_count = evidence.rank->world_size;
  evidence.ranks_per_node = 1;
}

}  // namespace

NodeRole::NodeRole(SchedulerEvidence evidence, const CommandLine& line, std::string token)
    : evidence_(std::move(evidence)),
      patience_(line.starting.timeout
                    ? std::chrono::ceil<std::chrono::seconds>(*line.starting.timeout)
                    : std::chrono::seconds(kStartTimeout)),
      token_(std::move(token)) {
  if (evidence_.coordinator_port == 0) evidence_.coordinator_port = kUsualPort;
  if (!line.restarts.max) schedulers_restarts_ = evidence_.max_restarts;
  const bool restarts = line.restarts.max.value_or(schedulers_restarts_.value_or(0)) > 0;
  // Without restarts a lost node ends the job, so nobody waits for another.
  nodes_come_again_ = evidence_.scheduler->recreates_nodes && (evidence_.elastic || restarts);
}

std::unique_ptr<NodeRole> NodeRole::find(const JobInputs& inputs, const Variables& environment) {
  // Hosts that the user names override the scheduler's.
  if (inputs.names_hosts()) return nullptr;
  const CommandLine& line = inputs.line;
  SchedulerEvidence evidence = evidence_beside(inputs, environment);
  if (evidence.role == SchedulerRole::kLauncher) return nullptr;
  if (evidence.role == SchedulerRole::kNode) {
    take_size_of(line, evidence);
    // One node has nobody to meet: it is an ordinary job on this host.
    if (evidence.node_count == 1) return nullptr;
  }
  check_tasks(line, evidence);
  count_tasks(evidence);
  // If the scheduler does not number its nodes, it has named the first one.
  if (evidence.node_rank) evidence.is_coordinator = *evidence.node_rank == 0;
  refuse_what_nodes_cannot(line, evidence);
  for (const std::string& warning : evidence.warnings) log_notice(warning);
  // One line for the job, not one for each node.
  if (evidence.is_coordinator && !evidence.crowded.empty() && !line.placement.ranks) {
    log_notice(evidence.crowded);
  }
  // Last, so that a job which is refused for another reason does not first ask for a token.
  std::string token = take_token(evidence);
  // Not make_unique: the constructor is private.
  return std::unique_ptr<NodeRole>(new NodeRole(std::move(evidence), line, std::move(token)));
}

SizeRange NodeRole::nodes() const {
  if (evidence_.elastic) return *evidence_.elastic;
  return {*evidence_.node_count, *evidence_.node_count};
}

void NodeRole::fill_in(CommandLine& line) const {
  if (schedulers_restarts_) line.restarts.max = schedulers_restarts_;
  if (evidence_.elastic) line.placement.node_range = evidence_.elastic;
}

int NodeRole::join(const std::string& agent_path) const {
  JoinCall call;
  call.token = token_;
  call.host = evidence_.coordinator;
  call.port = evidence_.coordinator_port;
  // -1: the room chooses the place.
  const auto rank = evidence_.node_rank ? evidence_.node_rank : evidence_.node_hint;
  call.hello = {kProtocol,         DTL_VERSION,       evidence_.job_id,
                evidence_.restart, rank.value_or(-1), own_host_name()};
  call.agent_path = agent_path;
  call.patience = patience_;
  call.comes_again = evidence_.scheduler->recreates_nodes;
  // The command to suggest while the first pod does not answer.
  if (host_access(evidence_).to_pod() && !is_address(call.host)) {
    call.look = describe_pod_command(call.host);
  }
  return serve_joined_job(std::move(call));
}

}  // namespace dtl
