// One coroutine for each host, from its start to its end. A connection outlives its streams, so the
// coroutine holds on to it and not to a stream.
#include "launcher/session/conversations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/job_record.h"
#include "base/machine/process_id.h"
#include "base/random.h"
#include "base/text.h"

namespace dtl {
namespace {

// dtlaunch names all hosts that cannot start within 10 s, the slowest included.
constexpr JobTime kStartDeadline = 9500ms;

// If hosts may arrive late, each has the full greeting deadline after it has arrived.
JobTime least_time_to_greet(const JobOptions& options) {
  return options.start_deadline > JobOptions{}.start_deadline ? JobTime(kHelloDeadline)
                                                              : JobTime(kHeartbeat);
}

// From a branch's arrival to the agent's answer, through all agents on the way.
constexpr auto kMoveDeadline = 5s;

// The interfaces that a host's tree may use: its own iface= replaces --iface.
InterfaceFilter filter_of(const Request& request, const Host& host) {
  return InterfaceFilter(host.interface.empty() ? request.network.interface : host.interface);
}

// Without empty ones: dtagent and a push begin on a line of their own.
int count_lines(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  return static_cast<int>(std::count_if(
      lines.begin(), lines.end(), [](const std::string& line) { return !trim(line).empty(); }));
}

}  // namespace

Conversations::Conversations(asio::io_context& context, TaskGroup& tasks, const Request& request,
                             const SessionOptions& options, const Job& job, SessionNodes& nodes,
                             ConversationHooks hooks)
    : context_(context),
      tasks_(tasks),
      request_(request),
      options_(options),
      job_(job),
      nodes_(nodes),
      hooks_(std::move(hooks)) {}

void Conversations::begin() {
  plan_tree();
  for (int index = 0; index < static_cast<int>(nodes_.size()); ++index) tasks_.spawn(serve(index));
}

// Agents on this machine need no tree, and those that no login finds again must keep their stream.
void Conversations::plan_tree() {
  if (!options_.find_agent) return;
  std::vector<int> members;
  for (int index = 0; index < static_cast<int>(nodes_.size()); ++index) {
    if (!is_local(node(index).host)) members.push_back(index);
  }
  const std::optional<TreeShape> shape = tree_shape(members.size(), options_.tree);
  if (!shape) {
    const int width = options_.tree.value_or(0);
    if (width > 0 && log_level() >= LogLevel::kVerbose) {
      hooks_.say(-1, fmt::format("no tree of agents: dtlaunch talks to {} directly, as --tree {} "
                                 "allows",
                                 plural(members.size(), "host"), width));
    }
    return;
  }
  if (log_level() >= LogLevel::kVerbose) hooks_.say(-1, shape->text());
  // A dry run is over before an agent has moved.
  if (options_.dry_run) return;
  TreeHooks hooks;
  hooks.connection = [this](int index) { return node(index).connection; };
  hooks.arrived = [this](int index, std::shared_ptr<BranchLink> branch) {
    tasks_.spawn(move_to(index, std::move(branch)));
  };
  hooks.alive = [this](std::vector<int> nodes) { hooks_.event(job::Alive{std::move(nodes)}); };
  hooks.remark = [this](int index, const std::string& text) {
    if (log_level() >= LogLevel::kVerbose) hooks_.say(index, text);
  };
  tree_.emplace(context_, nodes_.size(), std::move(members), *shape, request_.network.ports,
                std::move(hooks));
  tasks_.spawn(tree_->pulse());
}

awaitable<void> Conversations::serve(int index) {
  AgentLink link;
  std::optional<Error> failure;
  const std::string name = node(index).host.name;
  try {
    link = co_await bring_up(index);
  } catch (const Error& error) {
    // Each error names its host exactly once.
    failure = error.attempted().starts_with(name) ? error : error.with_context(name);
  }
  if (failure) {
    node(index).start_error = failure;
    if (tree_) tree_->lost(index);
    hooks_.event(job::AgentFailed{index, failure->status()});
    co_return;
  }
  // Noise before the greeting does no harm, so only -v reports it.
  if (const int lines = count_lines(link.noise); lines > 0 && log_level() >= LogLevel::kVerbose) {
    hooks_.say(index, fmt::format("{} of shell start-up noise ignored", plural(lines, "line")));
  }
  // Before feed(AgentReady), because the machine may send messages from then on.
  node(index).connection = link.connection;
  node(index).stream = link.stream;
  node(index).facts = link.facts;
  // Before feed(AgentReady), so that every message to the agent is numbered and kept.
  expect_losses(index);
  job::AgentReady ready{index, !node(index).token.empty(), link.stream->is_here()};
  const bool in_tree = tree_ && tree_->has(index);
  // No branch comes for a top.
  if (in_tree) ready.branch_delay = tree_->is_top(index) ? JobTime{0} : kBranchDelay;
  hooks_.event(ready);
  // The job may have ended while this agent came up.
  if (state(index).phase == NodePhase::kGone) link.connection->close();
  if (in_tree) tree_->ready(index, link.facts, filter_of(request_, node(index).host));
  do {
    ++talking_;
    const job::AgentLost lost = co_await converse(index);
    --talking_;
    hooks_.event(lost);
    // After the event, because it makes the state machine start a search or not.
    const bool may_come_back = state(index).link.searching();
    if (!may_come_back) link.connection->close();
  } while (co_await link.connection->wait_attached());
  if (tree_) tree_->lost(index);
}

awaitable<AgentLink> Conversations::bring_up(int index) {
  auto stream = co_await options_.start_agent(context_, node(index).host);
  Welcome welcome;
  welcome.launcher_version = DTL_VERSION;
  welcome.job_id = options_.job_id;
  welcome.host_name = node(index).host.name;
  welcome.launcher_host = own_host_name();
  // All steps of a start share one deadline; an agent that arrived late still gets time to greet.
  const auto deadline = std::max(began_ + kStartDeadline, std::chrono::steady_clock::now() +
                                                              least_time_to_greet(options_.job));
  co_return co_await greet_agent(context_, tasks_, node(index).host, std::move(stream),
                                 std::move(welcome), deadline);
}

// Another login can find an agent that was started by a login. The connection of an agent on this
// machine cannot break that way.
void Conversations::expect_losses(int index) {
  SessionNode& at = node(index);
  const bool in_tree = tree_ && tree_->has(index);
  // An agent of a tree waits no longer than its lease without --reconnect: ranks must not live on
  // for longer after dtlaunch was killed.
  const JobTime reconnect = request_.ending.reconnect;
  // Nobody can log in again for -launcher fork and scheduler steps: find_agent is empty.
  if (reconnect.count() == 0 && !in_tree) return;
  if (!options_.find_agent || is_local(at.host)) return;
  at.link = to_hex(random_bytes(kLinkDigits / 2, "draw a name for a link"));
  at.token = random_bytes(kSecretBytes, "draw a link's token");
  at.connection->keep_sent();
  at.connection->send(Reconnect{at.link, at.token, static_cast<std::uint32_t>(reconnect.count())});
}

// The process of a child is known; an agent of the service has written a record.
job::AgentSeen Conversations::look_at(int index) const {
  job::AgentSeen seen;
  seen.node = index;
  seen.process = nodes_[static_cast<std::size_t>(index)].stream->process();
  for (const RecordFile& file : records_here()) {
    const JobRecord& record = file.record;
    const bool its = record.role == "agent" && record.job_id == options_.job_id;
    if (seen.process == 0 && its && is_running(record.process)) seen.process = record.process.pid;
  }
  const ProcessState state = process_state(seen.process);
  if (state == ProcessState::kGone) seen.process = 0;
  seen.stopped = state == ProcessState::kStopped;
  return seen;
}

// Runs until the conversation is lost, and returns why. When it moves to a branch, the old stream
// ends; that does not count as a loss.
awaitable<job::AgentLost> Conversations::converse(int index) {
  const std::shared_ptr<Connection> connection = node(index).connection;
  for (;;) {
    const std::shared_ptr<AgentStream> stream = node(index).stream;
    job::AgentLost lost = co_await read_stream(index);
    if (node(index).moves == 0 && node(index).stream == stream) co_return lost;
    // The ended stream would end at once again.
    if (node(index).stream == stream) connection->detach();
    if (!co_await connection->wait_attached()) co_return lost;
  }
}

// Runs until the stream ends, and returns why.
awaitable<job::AgentLost> Conversations::read_stream(int index) {
  const std::shared_ptr<Connection> connection = node(index).connection;
  const std::shared_ptr<AgentStream> stream = node(index).stream;
  job::AgentLost lost;
  lost.node = index;
  bool garbage = false;
  try {
    for (;;) {
      std::optional<Message> message = co_await connection->receive();
      if (!message) break;
      if (tree_ && tree_->hear(index, *message)) continue;
      hooks_.message(index, std::move(*message));
    }
    // An agent that ends without Finished has failed. A broken connection does not say whether the
    // agent has failed.
    const bool broken = stream->ending() == kConnectionLost;
    lost.cause = broken ? Cause::kNodeLost : Cause::kAgentFailed;
    lost.exit_status = static_cast<int>(broken ? Exit::kUnreachable : Exit::kOs);
    lost.text = describe_ending(*stream);
  } catch (const Error& error) {
    lost.cause = error.status() == Exit::kUnreachable ? Cause::kNodeLost : Cause::kAgentFailed;
    lost.exit_status = static_cast<int>(error.status());
    lost.text = error.reason().empty() ? error.attempted() : error.reason();
    // An agent that broke the protocol is not searched for.
    garbage = error.status() != Exit::kUnreachable;
  }
  if (state(index).phase != NodePhase::kFinished && node(index).moves == 0) {
    // A process closes its sockets before its parent learns of its end; the reason may follow.
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

void Conversations::send_to_many(const job::SendToMany& order) {
  const std::optional<SharedFrame> shared =
      tree_ ? tree_->share(order.nodes, order.message) : std::nullopt;
  for (const int index : order.nodes) {
    const bool by_tree = shared && node(index).on_branch;
    send_to(nodes_, index, by_tree ? Message(*shared) : order.message);
  }
}

awaitable<void> Conversations::rejoin(job::Rejoin order) {
  SessionNode& at = node(order.node);
  job::LinkTried tried;
  tried.node = order.node;
  tried.attempt = order.attempt;
  try {
    Resume offer = at.connection->link().offer(at.token, ++at.offers);
    Rejoined rejoined = co_await options_.find_agent(context_, at.host, at.link, std::move(offer),
                                                     began_ + order.until);
    tried.answer = rejoined.answer.answer;
    if (tried.answer == ResumeAnswer::kRefused) tried.text = "its agent refused";
    if (!go_on_with(order, rejoined)) {
      rejoined.stream->close();
      // A branch has come meanwhile; if its offer fails, the search goes on.
      if (tried.answer == ResumeAnswer::kResumed) tried.answer.reset();
    }
  } catch (const Error& error) {
    // A failed try does not end the job: the state machine tries again until the deadline.
    tried.text = error.reason().empty() ? error.attempted() : error.reason();
  }
  hooks_.event(std::move(tried));
}

// False if the agent has not agreed, or has agreed too late.
bool Conversations::go_on_with(const job::Rejoin& order, Rejoined& rejoined) {
  SessionNode& at = node(order.node);
  const LinkSearch& search = state(order.node).link;
  // A later try may have begun meanwhile, or the search may be over.
  if (!search.awaits(order.attempt) || !at.connection->link().is_answer(rejoined.answer)) {
    return false;
  }
  if (!at.connection->attach(rejoined.stream, std::move(rejoined.received),
                             rejoined.answer.received, std::nullopt)) {
    throw Error(Exit::kVersion, "cannot go on with its agent", "what it lacks is not kept");
  }
  at.stream = rejoined.stream;
  at.on_branch = false;
  return true;
}

// Silent: the user need not know over which stream a conversation goes.
awaitable<void> Conversations::move_to(int index, std::shared_ptr<BranchLink> branch) {
  SessionNode& at = node(index);
  // An agent that is about to leave gains nothing from a move.
  const bool lost = !at.connection->is_attached();
  if (state(index).phase != NodePhase::kReady && !(lost && state(index).link.searching())) {
    co_return branch->close();
  }
  std::optional<Error> failure;
  ++at.moves;
  try {
    co_await resume_on(index, branch);
  } catch (const Error& error) {
    failure = error;
  }
  --at.moves;
  if (!failure) co_return hooks_.event(job::BranchTaken{index});
  branch->close();
  log_debug(fmt::format("{}: {}", at.host.name, failure->what()));
  // Without a stream, and without a newer branch: it is lost as if its login had broken.
  if (at.moves > 0 || at.connection->is_attached() || at.connection->closed()) co_return;
  job::AgentLost event;
  event.node = index;
  event.cause = Cause::kNodeLost;
  event.exit_status = static_cast<int>(Exit::kUnreachable);
  event.text = failure->what();
  event.may_live = true;
  hooks_.event(event);
  if (!state(index).link.searching()) at.connection->close();
}

awaitable<void> Conversations::resume_on(int index, std::shared_ptr<BranchLink> branch) {
  SessionNode& at = node(index);
  const StreamDeadline deadline(context_, *branch, kMoveDeadline);
  co_await branch->shake_hands();
  if (at.connection->closed()) throw Error(Exit::kIo, "cannot use a branch", "the node is gone");
  // From here on the agent counts what it receives by this offer, so nothing else may come.
  at.connection->detach();
  Rejoined rejoined;
  rejoined.stream = branch;
  const Resume offer = at.connection->link().offer(at.token, ++at.offers);
  co_await offer_resume(rejoined, offer, deadline);
  const bool agreed = at.connection->link().is_answer(rejoined.answer);
  if (!agreed || !at.connection->attach(branch, std::move(rejoined.received),
                                        rejoined.answer.received, std::nullopt)) {
    throw Error(Exit::kIo, "cannot use a branch", "its agent does not go on over it");
  }
  at.stream = branch;
  at.on_branch = true;
}

}  // namespace dtl
