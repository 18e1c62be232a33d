#pragma once
// NodeRole: this process is one of several that an engine has started for one job, one on each
// node, or one for each rank. The first of them runs the job, with agents on all nodes; the others
// come to it (launcher/join), and have its exit status.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "launcher/options/command_line.h"
#include "launcher/request/job_request.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

class NodeRole {
 public:
  // nullptr when this is no node of such a job, or its only one. Takes the job's token out of the
  // environment. Throws Error.
  static std::unique_ptr<NodeRole> find(const JobInputs& inputs, const Variables& environment);

  bool coordinates() const { return evidence_.is_coordinator; }
  // Each of them is one rank, and several may be on one machine.
  bool are_tasks() const { return evidence_.role == SchedulerRole::kRank; }

  // For all nodes but the first. Returns when the job is over, with its exit status.
  int join(const std::string& agent_path) const;

  // For the first node (launcher/gather/gathered_nodes.h).
  const SchedulerEvidence& evidence() const { return evidence_; }
  const std::string& token() const { return token_; }
  std::chrono::seconds patience() const { return patience_; }
  SizeRange nodes() const;  // how many there may be
  // Whether the job waits for those that it has lost.
  bool nodes_come_again() const { return nodes_come_again_; }
  // What the engine says of the job where the user says nothing.
  void fill_in(CommandLine& line) const;

 private:
  NodeRole(SchedulerEvidence evidence, const CommandLine& line, std::string token);

  SchedulerEvidence evidence_;
  std::chrono::seconds patience_;
  std::string token_;
  bool nodes_come_again_ = false;
  std::optional<int> schedulers_restarts_;  // --max-restarts
};

}  // namespace dtl
