#pragma once
// Conversations with the agents, one for each host. A conversation may use several connections: an
// agent starts, talks until its stream ends, and may be found again (--reconnect). The state
// machine reads the agents' messages and decides about lost agents. Belongs to the session's
// thread.

#include <functional>
#include <string>

#include "launcher/agents/agent_link.h"
#include "launcher/job/job.h"
#include "launcher/session/session.h"
#include "launcher/session/session_node.h"
#include "wire/asio.h"
#include "wire/task_group.h"

namespace dtl {

// How it reports to the session.
struct ConversationHooks {
  std::function<void(job::Event)> event;
  std::function<void(int node, Message message)> message;
  std::function<void(int node, const std::string& text)> say;  // a line for the user
};

class Conversations {
 public:
  // All references outlive this.
  Conversations(asio::io_context& context, TaskGroup& tasks, const Request& request,
                const SessionOptions& options, const Job& job, SessionNodes& nodes,
                ConversationHooks hooks);

  awaitable<void> serve(int node);                  // from its start to its end
  std::size_t talking() const { return talking_; }  // agents whose messages are read
  awaitable<void> rejoin(job::Rejoin order);        // one try to find an agent that is lost
  job::AgentSeen look_at(int node) const;  // whether its process runs; on this machine only

 private:
  // Throw Error; serve() and rejoin() turn that into events.
  awaitable<AgentLink> bring_up(int node);
  awaitable<job::AgentLost> converse(int node);
  // Continues the conversation over the new stream.
  bool go_on_with(const job::Rejoin& order, Rejoined& rejoined);
  void expect_losses(SessionNode& node) const;
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
};

}  // namespace dtl
