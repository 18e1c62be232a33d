#pragma once
// SessionNode: what a session knows of one host of its job, in the order of the request's hosts. It
// holds what only the world has: connections, errors, facts. What the state machine decides from is
// in NodeState, with the same index.

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

// Changed by the conversation with its agent, and read by all parts of the session.
struct SessionNode {
  Host host;
  std::shared_ptr<Connection> connection;  // shared with the task that writes its queue
  // Absent until its agent has greeted; start_error: why it has not.
  std::optional<NodeFacts> facts;
  std::optional<Error> start_error;
  bool talking = false;                 // its task is reading messages
  std::shared_ptr<AgentStream> stream;  // the connection's, which shares it
  std::string link, token;              // of Reconnect; empty: it was not sent
  NoticeBudget notices;
  std::size_t unshown_bytes = 0;  // of its ranks' output
};

using SessionNodes = std::vector<SessionNode>;

// Sends to a node. Where there is no connection yet, or none any more, the message is dropped: the
// state machine hears of a lost agent by an event.
template <typename M>
void send_to(SessionNodes& nodes, int node, M&& message) {
  const auto& connection = nodes[static_cast<std::size_t>(node)].connection;
  if (connection) connection->send(std::forward<M>(message));
}

}  // namespace dtl
