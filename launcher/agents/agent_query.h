#pragma once
// Questions to hosts outside of a job: dtagent runs there with other arguments than --stdio and
// answers with text (wire/answer.h). ps, kill, clean, fences and logs ask this way. The functions
// block: each has an io_context of its own.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "launcher/agents/agent_start.h"
#include "plan/request/host.h"

namespace dtl {

// Without text and error: the question was given up.
struct Answer {
  Host host;
  std::string text;            // complete: it ends with the line "end"
  std::optional<Error> error;  // instead of a text
};

// Runs dtagent with these arguments on a host, and returns its stream.
using AgentRunner = std::function<awaitable<std::unique_ptr<AgentStream>>(
    asio::io_context&, Host, std::vector<std::string> arguments)>;
AgentRunner runner_by(const StartOptions& options);  // as run_agent does

// Asks all hosts at once; the answers are in the order of `hosts`. Each host must answer within
// `patience` of its login, which has its own deadline. When the descriptor `give_up` becomes
// readable, the call returns, and hosts that have not answered have neither text nor error. give_up
// -1: never.
std::vector<Answer> ask_agents(const std::vector<Host>& hosts, const AgentRunner& run,
                               const std::vector<std::string>& arguments,
                               std::chrono::milliseconds patience, int give_up = -1);

// Passes on what an agent answers, after the marker line, in pieces until it ends or `take` returns
// false. No deadline. Throws Error without the host's name, which the caller adds.
awaitable<void> read_answer(AgentStream& stream, Host host,
                            std::function<bool(std::string_view)> take);

// Asks one host for an answer that may take hours, such as a log, and passes it on in pieces until
// it ends or `take` returns false. No deadline. Throws Error.
void follow_answer(const Host& host, const StartOptions& options,
                   const std::vector<std::string>& arguments,
                   std::function<bool(std::string_view)> take);

}  // namespace dtl
