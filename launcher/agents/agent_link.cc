#include "launcher/agents/agent_link.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "wire/deadline.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

// The agent's stream ended before its Hello.
Error ended_early(const std::string& host, const AgentStream& stream, const std::string& noise,
                  bool timed_out) {
  const std::string attempted = host + ": cannot start agent";
  const std::string hint = fmt::format("ssh {} true", host);
  if (timed_out) {
    return Error(Exit::kUnreachable, attempted, "dtagent gave no sign of life in time", hint);
  }
  std::string reason = describe_ending(stream);
  if (const std::string line = last_line(noise); !line.empty()) {
    reason += fmt::format("; the shell printed '{}'", line);
  }
  const bool lost = stream.ending() == "connection lost";
  return Error(lost ? Exit::kUnreachable : Exit::kOs, attempted, "dtagent ended: " + reason, hint);
}

// A connection that did not get as far as Hello ends its writer, too.
class CloseUnlessKept {
 public:
  explicit CloseUnlessKept(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  ~CloseUnlessKept() {
    if (!kept_) connection_->close();
  }
  void keep() { kept_ = true; }

 private:
  std::shared_ptr<Connection> connection_;
  bool kept_ = false;
};

awaitable<void> write_queue(std::shared_ptr<Connection> connection) {
  try {
    co_await connection->run_writer();
  } catch (const Error&) {
    // A stream that cannot be written has ended, and its reader says why.
  }
}

void check_version(const std::string& host, const Greeting& greeting) {
  if (greeting.protocol == kProtocol && greeting.version == DTL_VERSION) return;
  throw Error(Exit::kVersion, host + ": cannot use its dtagent",
              fmt::format("it is version {} (protocol {}), dtlaunch is version {} (protocol {})",
                          greeting.version, greeting.protocol, DTL_VERSION, kProtocol),
              "install the same version on both");
}

}  // namespace

std::string describe_ending(const AgentStream& stream) {
  std::string text = stream.ending();
  if (text.empty()) text = "end of the stream";
  const std::string line = last_line(stream.standard_error());
  return line.empty() ? text : fmt::format("{}: {}", text, line);
}

awaitable<AgentLink> greet_agent(asio::io_context& context, TaskGroup& tasks,
                                 std::unique_ptr<AgentStream> stream, Welcome welcome,
                                 std::chrono::steady_clock::time_point when) {
  const StreamDeadline deadline(context, *stream, when);
  AgentLink link;
  link.stream = stream.get();
  GreetingFound found;
  for (std::string received;;) {
    const std::string bytes = co_await stream->read();
    if (bytes.empty()) {
      throw ended_early(welcome.host_name, *stream, received, deadline.passed());
    }
    received += bytes;
    if (auto complete = find_greeting(received)) {
      found = std::move(*complete);
      break;
    }
  }
  check_version(welcome.host_name, found.greeting);
  link.noise = found.noise;
  link.connection = std::make_shared<Connection>(context, std::move(stream), found.rest);
  CloseUnlessKept closer(link.connection);
  tasks.spawn(write_queue(link.connection));
  link.connection->send(welcome);
  const std::optional<Message> answer = co_await link.connection->receive();
  if (!answer) throw ended_early(welcome.host_name, *link.stream, {}, deadline.passed());
  const Hello* hello = std::get_if<Hello>(&*answer);
  if (hello == nullptr) {
    throw Error(Exit::kVersion, welcome.host_name + ": cannot use its dtagent",
                fmt::format("it began with {}", message_name(*answer)));
  }
  link.facts = hello->facts;
  closer.keep();
  co_return link;
}

}  // namespace dtl
