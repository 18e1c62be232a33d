#pragma once
// Finds an agent again whose connection is lost but which still runs, for --reconnect. Logs in
// again and runs dtagent --rejoin there, which connects to the agent's unix socket. The result is a
// new stream for the same Connection. Every failure is an Error that names the host.

#include <chrono>
#include <memory>
#include <string>

#include "launcher/agents/agent_start.h"
#include "wire/deadline.h"
#include "wire/messages.h"

namespace dtl {

struct Rejoined {
  // How many frames the agent has received, for Connection::attach().
  Resumed answer;
  std::shared_ptr<AgentStream> stream;  // shared with the connection that goes on over it
  std::string received;                 // bytes after the answer
};

// Offers an agent at the other end of rejoined.stream to go on over that stream, and reads its
// answer; bytes that came before are in rejoined.received. Throws Error if it does not answer.
awaitable<void> offer_resume(Rejoined& rejoined, const Resume& offer,
                             const StreamDeadline& deadline);

// link: names the agent's socket on the host. If login and answer take longer than `deadline`,
// throws Error(kUnreachable). The caller tries again.
awaitable<Rejoined> rejoin_agent(asio::io_context& context, Host host, StartOptions options,
                                 std::string link, Resume offer,
                                 std::chrono::steady_clock::time_point deadline);

}  // namespace dtl
