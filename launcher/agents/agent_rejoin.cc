// One login, one offer, one answer. The two messages of an offer use the bare stream and not a
// Connection, so a refusal does not change the Connection that waits for a new stream.
#include "launcher/agents/agent_rejoin.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "launcher/agents/agent_link.h"
#include "wire/frame.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

Error no_answer(const AgentStream& stream, bool timed_out) {
  return Error(Exit::kUnreachable, "cannot find its agent again",
               timed_out ? "no answer in time" : describe_ending(stream));
}

// dtagent --rejoin greets as every dtagent does. Returns what came after the greeting.
awaitable<std::string> skip_greeting(AgentStream& stream, std::string host,
                                     const StreamDeadline& deadline) {
  for (std::string received;;) {
    const std::string bytes = co_await stream.read();
    if (bytes.empty()) throw no_answer(stream, deadline.passed());
    received += bytes;
    if (auto found = find_greeting(received)) {
      check_version(host, found->greeting);
      co_return std::move(found->rest);
    }
  }
}

}  // namespace

awaitable<void> offer_resume(Rejoined& rejoined, const Resume& offer,
                             const StreamDeadline& deadline) {
  AgentStream& stream = *rejoined.stream;
  // An offer is not one of the numbered frames of the link, hence the sequence number 0.
  std::string frame = encode_frame(offer, 0).head;
  co_await stream.write(std::move(frame));
  FrameReader reader;
  reader.feed(std::move(rejoined.received));
  std::optional<Message> message = reader.next();
  while (!message) {
    std::string bytes = co_await stream.read();
    if (bytes.empty()) throw no_answer(stream, deadline.passed());
    reader.feed(std::move(bytes));
    message = reader.next();
  }
  if (const auto* trouble = std::get_if<Trouble>(&*message)) {
    throw Error(Exit::kOs, "cannot find its agent again", printable(trouble->text));
  }
  const auto* answer = std::get_if<Resumed>(&*message);
  if (answer == nullptr) {
    throw Error(Exit::kVersion, "cannot find its agent again",
                std::string("it began with ") + message_name(*message));
  }
  rejoined.answer = *answer;
  rejoined.received = reader.take_rest();
}

awaitable<Rejoined> rejoin_agent(asio::io_context& context, Host host, StartOptions options,
                                 std::string link, Resume offer,
                                 std::chrono::steady_clock::time_point deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  // options.deadline limits the login alone; it must not exceed the time left for the whole call.
  options.deadline =
      std::min(options.deadline, std::chrono::duration_cast<std::chrono::milliseconds>(left));
  std::vector<std::string> arguments = {"--rejoin", link};
  Rejoined rejoined;
  rejoined.stream = co_await run_agent(context, host, options, std::move(arguments));
  try {
    const StreamDeadline patience(context, *rejoined.stream, deadline);
    rejoined.received = co_await skip_greeting(*rejoined.stream, host.name, patience);
    co_await offer_resume(rejoined, offer, patience);
  } catch (const Error& error) {
    // Some lower layers name the host already.
    throw error.attempted().starts_with(host.name) ? error : error.with_context(host.name);
  }
  co_return rejoined;
}

}  // namespace dtl
