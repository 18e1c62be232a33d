#pragma once
// NodeRole: this process is one of several dtlaunch that a scheduler has started for one job, one
// on each node or one for each rank. The first of them runs the job, with agents on all nodes. The
// others come to it (launcher/join) and end with its exit status.

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
  // nullptr when this process is not a node of such a job, or is its only one. Takes the job's
  // token out of the environment, so that ranks do not inherit it. Throws Error.
  static std::unique_ptr<NodeRole> find(const JobInputs& inputs, const Variables& environment);

  bool coordinates() const { return evidence_.is_coordinator; }
  // True when each of them is one rank; several may then be on one machine.
  bool are_tasks() const { return evidence_.role == SchedulerRole::kRank; }

  // For all nodes but the first. Blocks until the job is over and returns its exit status.
  int join(const std::string& agent_path) const;

  // For the first node, see gathered_nodes.h.
  const SchedulerEvidence& evidence() const { return evidence_; }
  const std::string& token() const { return token_; }
  std::chrono::seconds patience() const { return patience_; }
  SizeRange nodes() const;  // how many there may be, this one included
  // Whether the job waits for nodes that it has lost: the scheduler makes new ones.
  bool nodes_come_again() const { return nodes_come_again_; }
  // Puts what the scheduler says of the job where the user has said nothing.
  void fill_in(CommandLine& line) const;

 private:
  NodeRole(SchedulerEvidence evidence, const CommandLine& line, std::string token);

  // With what the user has said about the number of nodes worked in.
  SchedulerEvidence evidence_;
  // How long the first node waits for the others, and they for it.
  std::chrono::seconds patience_;
  std::string token_;
  bool nodes_come_again_ = false;
  std::optional<int> schedulers_restarts_;  // --max-restarts; absent: the user has said a number
};

}  // namespace dtl
