#pragma once
// Connects a started agent up to its Hello. Finds the greeting behind whatever the login shell
// printed, compares versions and introduces the job. It does not know how the agent was started;
// see agent_start.h. Every failure is an Error that names the host.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "launcher/agents/agent_start.h"
#include "wire/connection.h"
#include "wire/greeting.h"
#include "wire/messages.h"
#include "wire/task_group.h"

namespace dtl {

struct AgentLink {
  std::shared_ptr<Connection> connection;  // shared with the task that writes its queue
  std::shared_ptr<AgentStream> stream;     // shared with the connection
  NodeFacts facts;
  std::string noise;  // what the shell printed before the greeting
};

// Closes the stream when the agent has not said Hello by `deadline`. The connection's writer
// becomes a task of the group and ends when the connection is closed. On an error the connection is
// closed.
awaitable<AgentLink> greet_agent(asio::io_context& context, TaskGroup& tasks, Host host,
                                 std::unique_ptr<AgentStream> stream, Welcome welcome,
                                 std::chrono::steady_clock::time_point deadline);

// Throws Error(kVersion) when the greeting names another version or protocol. Both must be equal:
// there is no compatibility between versions, since --push can bring the right one.
void check_version(const std::string& host, const Greeting& greeting);

// How an agent's stream ended, in words: "killed by SIGKILL: out of memory".
std::string describe_ending(const AgentStream& stream);

// The error for an agent that the host found but did not run: others can write it, its folder is
// shut, or it is damaged (agent_command.h). nullopt if the stream ended for another reason.
std::optional<Error> refused_agent(const Host& host, const AgentStream& stream);

}  // namespace dtl
