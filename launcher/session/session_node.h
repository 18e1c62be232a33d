#pragma once
// SessionNode: what a session knows of one host of its job, in the order of the request's hosts.
// What the state machine decides from is in NodeState, with the same index.

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

struct SessionNode {
  Host host;
  std::shared_ptr<Connection> connection;  // shared with the task that writes its queue
  std::optional<NodeFacts> facts;
  std::optional<Error> start_error;
  bool talking = false;                 // its task is reading messages
  std::shared_ptr<AgentStream> stream;  // the connection's, which shares it
  std::string link, token;              // of Reconnect; empty: it was not sent
  NoticeBudget notices;
  std::size_t unshown_bytes = 0;  // of its ranks' output
};

using SessionNodes = std::vector<SessionNode>;

// Whose messages go nowhere yet, or no more, is skipped.
template <typename M>
void send_to(SessionNodes& nodes, int node, M&& message) {
  const auto& connection = nodes[static_cast<std::size_t>(node)].connection;
  if (connection) connection->send(std::forward<M>(message));
}

}  // namespace dtl
