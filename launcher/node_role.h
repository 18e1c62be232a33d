#pragma once
// NodeRole: this process is one of several that an engine has started for one job, one on each
// node, or one for each rank. The first of them runs the job, with agents on all nodes; the others
// come to it (launcher/join), and have its exit status.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "launcher/agents/agent_start.h"
#include "launcher/join/join_room.h"
#include "launcher/options/command_line.h"
#include "launcher/request/job_request.h"
#include "launcher/session/epochs.h"
#include "launcher/session/session.h"
#include "plan/engines/engine.h"

namespace dtl {

class NodeRole {
 public:
  // nullptr when this is no node of such a job, or its only one. Takes the job's token out of the
  // environment. Throws Error.
  static std::unique_ptr<NodeRole> find(const CommandLine& line, const Surroundings& around);

  bool coordinates() const { return evidence_.is_coordinator; }
  // Each of them is one rank, and several may be on one machine.
  bool are_tasks() const { return evidence_.role == EngineRole::kRank; }

  // Not the first node's: until the job is over; its exit status.
  int join(const std::string& agent_path) const;

  // The first node's from here on. Waits until all have come: their names as a value of -hosts. Or
  // the exit status, when a signal came first. Throws Error(kTimeout).
  struct Gathered {
    std::string hosts;
    int status = 0;
  };
  Gathered gather();
  // Its agents come to life on these nodes, and a node that its engine ends has to go.
  void serve(SessionOptions& options, const StartOptions& start) const;
  // Hosts of a lost epoch, as RestartOptions::fence has it; this node's own by `fence_here`.
  std::vector<Fenced> fence(const std::vector<Host>& hosts,
                            const std::function<Fenced()>& fence_here) const;
  bool is_here(const Host& host) const { return host.name == names_[0]; }
  // What engines are told of it: a lost node is nothing that the job is to blame for.
  static int exit_status(const Outcome& outcome);
  void tell(int status);  // all other nodes
  Engine engine() const { return evidence_.engine; }

 private:
  NodeRole(EngineEvidence evidence, std::chrono::seconds patience, std::string token);
  void open_room();
  AgentStarter starter(StartOptions start) const;
  void name_nodes();
  void told_to_stop(std::size_t place, const std::string& node);
  std::string missing() const;
  awaitable<std::unique_ptr<AgentStream>> start_on(asio::io_context& context,
                                                   std::size_t place) const;

  EngineEvidence evidence_;
  std::chrono::seconds patience_;
  std::string token_;
  const std::shared_ptr<SessionControl> control_ = std::make_shared<SessionControl>();
  mutable std::mutex names_mutex_;  // the room's thread reads them, too
  std::vector<std::string> names_;  // by node rank; written once
  std::unique_ptr<JoinRoom> room_;  // last: its thread uses the others
};

}  // namespace dtl
