// Conversations with agents, over as many connections as it takes.

#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/machine/process_id.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/session/session_shell.h"

namespace dtl {

// An agent that was reached by a login can be found again by another one. What is here cannot be
// lost that way.
void SessionShell::expect_losses(int index) {
  Node& at = node(index);
  if (request_.ending.reconnect.count() == 0 || !options_.find_agent || is_local(at.host)) return;
  at.link = to_hex(random_bytes(kLinkDigits / 2, "draw a name for a link"));
  at.token = random_bytes(kSecretBytes, "draw a link's token");
  at.connection->keep_sent();
  at.connection->send(
      Reconnect{at.link, at.token, static_cast<std::uint32_t>(request_.ending.reconnect.count())});
}

// A child's process is known; one of the service has written a record.
void SessionShell::look_at_agent(int index) {
  job::AgentSeen seen;
  seen.node = index;
  seen.process = node(index).stream->process();
  for (const RecordFile& file : records_here()) {
    const JobRecord& record = file.record;
    const bool its = record.role == "agent" && record.job_id == options_.job_id;
    if (seen.process == 0 && its && is_running(record.process)) seen.process = record.process.pid;
  }
  const ProcessState state = process_state(seen.process);
  if (state == ProcessState::kGone) seen.process = 0;
  seen.stopped = state == ProcessState::kStopped;
  feed(seen);
}

// Until the stream ends, and then why.
awaitable<job::AgentLost> SessionShell::converse(int index) {
  const std::shared_ptr<Connection> connection = node(index).connection;
  const std::shared_ptr<AgentStream> stream = node(index).stream;
  job::AgentLost lost;
  lost.node = index;
  bool garbage = false;
  try {
    for (;;) {
      std::optional<Message> message = co_await connection->receive();
      if (!message) break;
      hear(index, std::move(*message));
    }
    const bool broken = stream->ending() == kConnectionLost;
    lost.cause = broken ? Cause::kNodeLost : Cause::kAgentFailed;
    lost.exit_status = static_cast<int>(broken ? Exit::kUnreachable : Exit::kOs);
    lost.text = describe_ending(*stream);
  } catch (const Error& error) {
    lost.cause = error.status() == Exit::kUnreachable ? Cause::kNodeLost : Cause::kAgentFailed;
    lost.exit_status = static_cast<int>(error.status());
    lost.text = error.reason().empty() ? error.attempted() : error.reason();
    garbage = error.status() != Exit::kUnreachable;
  }
  if (job_.nodes[static_cast<std::size_t>(index)].phase != NodePhase::kFinished) {
    asio::steady_timer moment(context_, kEndMoment);
    boost::system::error_code cancelled;
    co_await moment.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  const std::string ending = stream->ending();
  lost.may_live =
      !garbage && (ending.empty() || ending == kConnectionLost || ending == kUpHasEnded);
  if (ending == kUpHasEnded) {
    lost.cause = Cause::kUpEnded;
    lost.exit_status = static_cast<int>(Exit::kUnreachable);
  }
  co_return lost;
}

// One try to find an agent whose connection is lost.
awaitable<void> SessionShell::rejoin(job::Rejoin order) {
  Node& at = node(order.node);
  job::LinkTried tried;
  tried.node = order.node;
  tried.attempt = order.attempt;
  try {
    Resume offer = at.connection->link().offer(at.token, order.attempt);
    Rejoined rejoined = co_await options_.find_agent(context_, at.host, at.link, std::move(offer),
                                                     began_ + order.until);
    tried.answer = rejoined.answer.answer;
    if (tried.answer == ResumeAnswer::kRefused) tried.text = "its agent refused";
    if (!go_on_with(order, rejoined)) rejoined.stream->close();
  } catch (const Error& error) {
    tried.text = error.reason().empty() ? error.attempted() : error.reason();
  }
  feed(std::move(tried));
}

// False when its agent has not agreed, or too late.
bool SessionShell::go_on_with(const job::Rejoin& order, Rejoined& rejoined) {
  Node& at = node(order.node);
  const LinkSearch& search = job_.nodes[static_cast<std::size_t>(order.node)].link;
  if (!search.awaits(order.attempt) || !at.connection->link().is_answer(rejoined.answer)) {
    return false;
  }
  if (!at.connection->attach(rejoined.stream, std::move(rejoined.received),
                             rejoined.answer.received, std::nullopt)) {
    throw Error(Exit::kVersion, "cannot go on with its agent", "what it lacks is not kept");
  }
  at.stream = rejoined.stream;
  return true;
}

}  // namespace dtl
