#pragma once
// Questions to hosts that are no job: dtagent runs there with other arguments than --stdio and
// answers with text (wire/answer.h). Blocking, from the outside.

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

struct Answer {
  Host host;
  std::string text;            // whole: it ends with the line "end"
  std::optional<Error> error;  // instead of a text
};

// Runs dtagent with these arguments on a host, and returns its stream.
using AgentRunner = std::function<awaitable<std::unique_ptr<AgentStream>>(
    asio::io_context&, Host, std::vector<std::string> arguments)>;
AgentRunner runner_by(const StartOptions& options);  // as run_agent does

// All hosts at once, in their order; each has to answer within `patience` of its login. Once
// `give_up`, a descriptor, is readable, it is not waited any longer: what has not been answered by
// then is neither a text nor an error.
std::vector<Answer> ask_agents(const std::vector<Host>& hosts, const AgentRunner& run,
                               const std::vector<std::string>& arguments,
                               std::chrono::milliseconds patience, int give_up = -1);

// One host whose answer may go on for hours: hands it on as it comes until it ends or `take`
// returns false. Throws Error.
void follow_answer(const Host& host, const StartOptions& options,
                   const std::vector<std::string>& arguments,
                   std::function<bool(std::string_view)> take);

}  // namespace dtl
