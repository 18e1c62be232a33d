#pragma once
// NodeRole: this process is one of several dtlaunch that a scheduler has started for one job, one
// on each node or one for each rank. The first one runs the job, with agents on all nodes. The
// others connect to it (launcher/join) and exit with its status.

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
  // nullptr if this process is not a node of such a job, or is its only one. Removes the job's
  // token from the environment, so that ranks do not inherit it. Throws Error.
  static std::unique_ptr<NodeRole> find(const JobInputs& inputs, const Variables& environment);

  bool coordinates() const { return evidence_.is_coordinator; }
  // True if each of them is one rank; a machine may then have several.
  bool are_tasks() const { return evidence_.role == SchedulerRole::kRank; }

  // For all nodes but the first. Blocks until the job is over and returns its exit status.
  int join(const std::string& agent_path) const;

  // For the first node, see gathered_nodes.h.
  const SchedulerEvidence& evidence() const { return evidence_; }
  const std::string& token() const { return token_; }
  std::chrono::seconds patience() const { return patience_; }
  SizeRange nodes() const;  // how many there may be, including this one
  // Whether the job waits for lost nodes, which the scheduler replaces.
  bool nodes_come_again() const { return nodes_come_again_; }
  // Fills in the scheduler's settings of the job where the user has set nothing.
  void fill_in(CommandLine& line) const;

 private:
  NodeRole(SchedulerEvidence evidence, const CommandLine& line, std::string token);

  // With the user's number of nodes applied.
  SchedulerEvidence evidence_;
  // How long the first node and the others wait for each other.
  std::chrono::seconds patience_;
  std::string token_;
  bool nodes_come_again_ = false;
  std::optional<int> schedulers_restarts_;  // for --max-restarts; absent: the user has set it
};

}  // namespace dtl
