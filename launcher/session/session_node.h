#pragma once
// SessionNode: what a session knows about one host of its job, in the order of the request's hosts:
// connections, errors, facts. The state machine decides from NodeState, which has the same index.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
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
  NoticeBudget notices;
  std::size_t unshown_bytes = 0;  // of its ranks' output
};

using SessionNodes = std::vector<SessionNode>;

// Sends to a node. Drops the message if the node has no connection: the state machine learns of a
// lost agent by an event.
template <typename M>
void send_to(SessionNodes& nodes, int node, M&& message) {
  const auto& connection = nodes[static_cast<std::size_t>(node)].connection;
  if (connection) connection->send(std::forward<M>(message));
}

}  // namespace dtl
