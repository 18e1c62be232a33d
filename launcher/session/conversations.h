#pragma once
// Conversations with the agents, one for each host. A conversation may use several connections: an
// agent starts, talks until its stream ends, and may be found again (--reconnect). In a tree of
// agents it moves from its login to a branch, and to another one if that is lost. The state machine
// reads the agents' messages and decides about lost agents. Belongs to the session's thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launcher/agents/agent_link.h"
#include "launcher/job/job.h"
#include "launcher/session/session.h"
#include "launcher/session/session_node.h"
#include "launcher/tree/agent_tree.h"
#include "wire/asio.h"
#include "wire/task_group.h"

namespace dtl {

// How it reports to the session.
struct ConversationHooks {
  std::function<void(job::Event)> event;
  std::function<void(int node, Message message)> message;
  std::function<void(int node, const std::string& text)> say;  // a line for the user; node -1: none
};

class Conversations {
 public:
  // All references outlive this.
  Conversations(asio::io_context& context, TaskGroup& tasks, const Request& request,
                const SessionOptions& options, const Job& job, SessionNodes& nodes,
                ConversationHooks hooks);

  void begin();                                     // with all hosts, as tasks
  std::size_t talking() const { return talking_; }  // agents whose messages are read
  void send_to_many(const job::SendToMany& order);
  awaitable<void> rejoin(job::Rejoin order);  // one try to find an agent that is lost
  job::AgentSeen look_at(int node) const;     // whether its process runs; on this machine only

 private:
  awaitable<void> serve(int node);  // from its start to its end
  void plan_tree();
  // Throw Error; serve() and rejoin() turn that into events.
  awaitable<AgentLink> bring_up(int node);
  awaitable<job::AgentLost> converse(int node);
  awaitable<job::AgentLost> read_stream(int node);
  awaitable<void> move_to(int node, std::shared_ptr<BranchLink> branch);
  awaitable<void> resume_on(int node, std::shared_ptr<BranchLink> branch);
  // Continues the conversation over the new stream.
  bool go_on_with(const job::Rejoin& order, Rejoined& rejoined);
  void expect_losses(int node);
  SessionNode& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  const NodeState& state(int index) const { return job_.nodes[static_cast<std::size_t>(index)]; }

  asio::io_context& context_;
  TaskGroup& tasks_;
  const Request& request_;
  const SessionOptions& options_;
  const Job& job_;
  SessionNodes& nodes_;
  const ConversationHooks hooks_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::size_t talking_ = 0;
  std::optional<AgentTree> tree_;
};

}  // namespace dtl
