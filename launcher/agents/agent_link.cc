// A login shell may print anything before the greeting or instead of it. Most of this file turns
// such output into a message that says what to try.
#include "launcher/agents/agent_link.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "launcher/agents/agent_command.h"
#include "plan/request/command_text.h"
#include "wire/deadline.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

// The agent's stream ended before its Hello. Known causes come first. The shell's last line is only
// a guess and is appended.
Error ended_early(const Host& host, const AgentStream& stream, const std::string& noise,
                  bool timed_out) {
  const std::string attempted = host.name + ": cannot start agent";
  const std::string hint = login_command(host);
  if (timed_out) {
    return Error(Exit::kUnreachable, attempted, "dtagent gave no sign of life in time", hint);
  }
  if (const auto refusal = refused_agent(host, stream)) return refusal->with_context(host.name);
  std::string reason = describe_ending(stream);
  if (const std::string line = printable(last_line(noise)); !line.empty()) {
    reason += fmt::format("; the shell printed '{}'", line);
  }
  const bool lost = stream.ending() == kConnectionLost;
  return Error(lost ? Exit::kUnreachable : Exit::kOs, attempted, "dtagent ended: " + reason, hint);
}

// Closes a connection that got no Hello. Otherwise its writer task, and with it the task group,
// would wait forever.
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
    // A stream that cannot be written has ended, and its reader reports why.
  }
}

// The greeting was found, but no frame of dtagent follows: perhaps a start-up file prints a line
// that looks like a greeting.
Error not_dtagent(const Host& host, const std::string& what) {
  return Error(Exit::kVersion, host.name + ": cannot use its dtagent",
               what +
                   ": something else writes there; perhaps a start-up file of the login shell "
                   "(.bashrc, .profile, .ssh/rc) prints a line like dtagent's own",
               login_command(host));
}

// A push replaces it, whatever else it finds.
Error damaged_agent(const std::string& path) {
  return Error(Exit::kOs, "cannot start agent",
               fmt::format("the dtagent that an earlier push brought there is damaged: {}", path),
               "dtlaunch --push ..., or dtlaunch push with the same hosts");
}

Error shut_folder(const Host& host, const std::string& folder) {
  return Error(
      Exit::kOs, "cannot start agent",
      fmt::format("the user there may not enter {}, in which dtagent lies", folder),
      fmt::format("dtlaunch --push ..., or install dtlaunch on {} where that user may run it",
                  host.name));
}

}  // namespace

void check_version(const std::string& host, const Greeting& greeting) {
  if (greeting.protocol == kProtocol && greeting.version == DTL_VERSION) return;
  throw Error(Exit::kVersion, host + ": cannot use its dtagent",
              fmt::format("it is version {} (protocol {}), dtlaunch is version {} (protocol {})",
                          greeting.version, greeting.protocol, DTL_VERSION, kProtocol),
              "install the same version on both");
}

std::string describe_ending(const AgentStream& stream) {
  std::string text = stream.ending();
  if (text.empty()) text = "end of the stream";
  const std::string line = last_line(stream.standard_error());
  return line.empty() ? text : fmt::format("{}: {}", text, line);
}

std::optional<Error> refused_agent(const Host& host, const AgentStream& stream) {
  for (const std::string& line : split(stream.standard_error(), '\n')) {
    if (line.starts_with(kShutFolder)) return shut_folder(host, line.substr(kShutFolder.size()));
    if (line.starts_with(kDamaged)) return damaged_agent(printable(line.substr(kDamaged.size())));
    if (!line.starts_with(kRefusal)) continue;
    const std::string what = line.substr(kRefusal.size());
    return Error(Exit::kOs, "cannot start agent",
                 fmt::format("did not run the dtagent there, {}; it and its folders must be root's "
                             "or the user's, and nobody else's to write",
                             what),
                 fmt::format("dtlaunch --push ..., or install dtlaunch on {} anew", host.name));
  }
  return std::nullopt;
}

awaitable<AgentLink> greet_agent(asio::io_context& context, TaskGroup& tasks, Host host,
                                 std::unique_ptr<AgentStream> stream, Welcome welcome,
                                 std::chrono::steady_clock::time_point when) {
  AgentLink link;
  link.stream = std::move(stream);
  const StreamDeadline deadline(context, *link.stream, when);
  GreetingFound found;
  for (std::string received;;) {
    const std::string bytes = co_await link.stream->read();
    if (bytes.empty()) {
      throw ended_early(host, *link.stream, received, deadline.passed());
    }
    received += bytes;
    if (auto complete = find_greeting(received)) {
      found = std::move(*complete);
      break;
    }
  }
  // Before Welcome is sent: another version may not be able to read it.
  check_version(welcome.host_name, found.greeting);
  link.noise = found.noise;
  link.connection = std::make_shared<Connection>(context, link.stream, found.rest);
  CloseUnlessKept closer(link.connection);
  // The writer outlives this function, so the caller's task group owns it.
  tasks.spawn(write_queue(link.connection));
  link.connection->send(welcome);
  std::optional<Message> answer;
  std::optional<Error> garbage;
  try {
    answer = co_await link.connection->receive();
  } catch (const Error& error) {
    if (error.status() != Exit::kVersion) throw;
    garbage = not_dtagent(host, error.what());
  }
  // Thrown here and not in the handler, so that it replaces the error about a malformed frame.
  if (garbage) throw *garbage;
  if (!answer) throw ended_early(host, *link.stream, {}, deadline.passed());
  if (const Trouble* trouble = std::get_if<Trouble>(&*answer)) {
    throw Error(Exit::kOs, host.name + ": cannot start agent", printable(trouble->text));
  }
  const Hello* hello = std::get_if<Hello>(&*answer);
  if (hello == nullptr) {
    throw not_dtagent(host, fmt::format("it began with {}", message_name(*answer)));
  }
  link.facts = hello->facts;
  closer.keep();
  co_return link;
}

}  // namespace dtl
