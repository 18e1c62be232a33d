#pragma once
// SessionNode: what a session knows about one host of its job, in the order of the request's hosts:
// connections, errors, facts. The state machine decides from NodeState, which has the same index.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "launcher/agents/agent_link.h"
#include "launcher/session/notice_budget.h"
#include "plan/request/host.h"
#include "wire/connection.h"
#include "wire/messages.h"

namespace dtl {

// The conversation with the agent changes it; all parts of the session read it.
struct SessionNode {
  Host host;
  std::shared_ptr<Connection> connection;  // shared with the task that writes its queue
  // Absent until the agent has greeted; start_error: why it has not.
  std::optional<NodeFacts> facts;
  std::optional<Error> start_error;
  std::shared_ptr<AgentStream> stream;  // the connection's, which shares it
  std::string link, token;              // for Reconnect; empty: none was sent
  std::uint32_t offers = 0;             // made over new streams
  int moves = 0;                        // to branches of the tree, under way
  bool on_branch = false;               // of the tree; others tell of its life
  NoticeBudget notices;
  std::size_t unshown_bytes = 0;  // of its ranks' output
};

using SessionNodes = std::vector<SessionNode>;

// Sends to a node. Drops the message if the node has no connection: the state machine learns of a
// lost agent by an event.
template <typename M>
void send_to(SessionNodes& nodes, int node, M&& message) {
  const SessionNode& at = nodes[static_cast<std::size_t>(node)];
  if (!at.connection) return;
  if constexpr (std::is_same_v<std::decay_t<M>, Message>) {
    const bool pulsed = at.on_branch && std::holds_alternative<Heartbeat>(message);
    if (pulsed) return at.connection->send_receipt();
  }
  at.connection->send(std::forward<M>(message));
}

}  // namespace dtl
