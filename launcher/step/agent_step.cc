// Wraps a stream of the room; its standard error is the starter's.
#include "launcher/step/agent_step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/step/starter_watch.h"
#include "plan/request/name_list.h"
#include "plan/schedulers/evidence.h"
#include "wire/deadline.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr auto kTellPatience = 5s;      // for nodes to receive the job's status
constexpr auto kEndPatience = 2s;       // for starters to end after their nodes; usually tens of ms
constexpr auto kStarterMoment = 300ms;  // from a node's end to its starter's message about it
constexpr auto kLook = 10ms;

// A lost connection often means that the starter has ended. The starter's messages arrive
// separately, a little later.
class StepStream final : public AgentStream {
 public:
  StepStream(asio::io_context& context, std::unique_ptr<AgentStream> stream,
             std::shared_ptr<StarterWatch> watch, std::size_t place)
      : look_(context), stream_(std::move(stream)), watch_(std::move(watch)), place_(place) {}

  awaitable<std::string> read() override {
    if (!received_.empty()) co_return std::exchange(received_, {});
    std::string bytes = co_await stream_->read();
    if (bytes.empty() && !closed_ && stream_->ending() == kConnectionLost) co_await hear_starter();
    co_return bytes;
  }
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    return stream_->write_pieces(std::move(pieces));
  }
  void close() override {
    closed_ = true;
    stream_->close();
  }
  std::string standard_error() const override { return watch_->words(place_); }
  std::string ending() const override {
    const std::string own = stream_->ending(), starters = watch_->ending(place_);
    return own == kConnectionLost && !starters.empty() ? starters : own;
  }

  // Gives bytes back: the next read() returns them.
  void unread(std::string bytes) { received_ = std::move(bytes); }

 private:
  // Waits a moment for the starter to end, since that may be why the connection is lost; its
  // messages then give the cause. Otherwise the node alone is lost, and is reported as such.
  awaitable<void> hear_starter() {
    const auto until = std::chrono::steady_clock::now() + kStarterMoment;
    while (watch_->ending(place_).empty() && std::chrono::steady_clock::now() < until) {
      look_.expires_after(kLook);
      boost::system::error_code ignored;
      co_await look_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }

  asio::steady_timer look_;
  std::unique_ptr<AgentStream> stream_;
  std::shared_ptr<StarterWatch> watch_;  // shared with its step
  const std::size_t place_;
  std::string received_;
  bool closed_ = false;
};

// late: the step's patience is over; otherwise the stream has ended.
Error no_agent(const StepStarter& starter, const Host& host, const AgentStream& stream, bool late) {
  const std::string ending = stream.ending();
  std::string reason = late ? fmt::format("{} has not brought it there in time", starter.program())
                       : ending.empty() ? std::string("the end of its stream")
                                        : ending;
  const std::string said = last_line(stream.standard_error());
  if (!said.empty()) reason += fmt::format(", saying \"{}\"", said);
  return Error(late ? Exit::kUnreachable : Exit::kOs, "cannot start agent", reason,
               starter.hint(host));
}

awaitable<void> wait_for_greeting(asio::io_context& context, const StepStarter& starter,
                                  StepStream& stream, Host host, std::chrono::seconds wait) {
  // Counts from now, not from the step's beginning: a lost node may be used again later.
  const StreamDeadline patience(context, stream, wait);
  std::string received;
  while (!find_greeting(received)) {
    const std::string bytes = co_await stream.read();
    if (bytes.empty()) throw no_agent(starter, host, stream, patience.passed());
    received += bytes;
  }
  // The next reader parses the greeting.
  stream.unread(std::move(received));
}

// The nodes that have not arrived, for a line about the wait.
std::string missing_in(const JoinRoom& room, const std::vector<std::string>& nodes) {
  std::vector<std::string> names;
  const std::vector<std::string> present = room.present();
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (present[i].empty()) names.push_back(nodes[i]);
  }
  return names.empty() ? std::string() : first_names(names);
}

std::vector<Child> spawn_all(const StarterCommands& made) {
  std::vector<Child> starters;
  try {
    for (const std::vector<std::string>& command : made.commands) {
      log_debug("starting " + join(command, " "));
      starters.push_back(spawn_child(command, ChildErrors::kPiped, made.environment));
    }
  } catch (const Error&) {
    // All starters or none: without a step, nobody else would kill these.
    for (const Child& started : starters) ::kill(started.pid, SIGKILL);
    throw;
  }
  return starters;
}

bool is_plain(const Host& host) {
  return host.user.empty() && host.port == 0;
}

}  // namespace

AgentStep::AgentStep(std::unique_ptr<StepStarter> starter, AgentStepOptions options)
    : starter_(std::move(starter)), options_(std::move(options)) {}

AgentStep::~AgentStep() {
  finish(static_cast<int>(Exit::kInternal));
}

std::optional<std::size_t> AgentStep::find_place(const Host& host) const {
  const auto found =
      std::find_if(options_.nodes.begin(), options_.nodes.end(), [&](const Host& node) {
        // A host may be typed in its short or long form, or as localhost.
        return node.name == host.name || (host.here && node.here) ||
               same_host_name(node.name, host.name);
      });
  if (found == options_.nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - options_.nodes.begin());
}

std::size_t AgentStep::place_of(const Host& host) const {
  if (!is_plain(host)) {
    throw option_error("cannot start agent",
                       fmt::format("the host has a {}, and {} does not take one",
                                   host.user.empty() ? "port" : "user", starter_->program()),
                       fmt::format("-launcher ssh where {} allows that", starter_->scheduler()));
  }
  if (const auto place = find_place(host)) return *place;
  throw option_error(
      "cannot start agent",
      fmt::format("{} has started dtlaunch on other nodes only", starter_->program()),
      "-hosts with this node from the beginning");
}

bool AgentStep::takes(const Host& host) const {
  return options_.only || (is_plain(host) && find_place(host));
}

void AgentStep::begin() {
  const std::lock_guard lock(mutex_);
  // Many agents are asked for at once; the first call starts the step for all.
  if (room_) return;
  std::vector<std::string> nodes;
  for (const Host& node : options_.nodes) nodes.push_back(node.name);
  JoinRoomOptions room;
  room.token = options_.token.empty() ? to_hex(random_bytes(kSecretBytes, "draw the job's token"))
                                      : options_.token;
  const std::string token = room.token;
  room.ports = options_.ports;
  room.expected.job = options_.job;
  room.expected.names = nodes;
  room.told_to_stop = [scheduler = starter_->scheduler(), told_to_end = options_.told_to_end](
                          std::size_t, const std::string& node) {
    log_verbose(fmt::format("{}: told to end by {}; the job ends with it", node, scheduler));
    if (told_to_end) {
      told_to_end();
    } else {
      // The job's own handler ends it in order, as for SIGTERM from a user.
      ::kill(::getpid(), SIGTERM);
    }
  };
  room.complete = [starter = starter_.get()] { starter->all_have_come(); };  // which outlives it
  // The room listens first, because the starter's command has its port.
  auto opened = std::make_shared<JoinRoom>(std::move(room));
  const StarterCommands made = starter_->commands(nodes, opened->port(), token);
  std::vector<Child> starters = spawn_all(made);
  // Assigned last: if a starter cannot be spawned, the next call starts afresh.
  room_ = std::move(opened);
  watch_ = std::make_shared<StarterWatch>(
      starter_->program(), std::move(starters),
      [room = std::weak_ptr(room_), over = options_.over](const std::string& how,
                                                          std::optional<std::size_t> place) {
        if (const auto still = room.lock()) still->give_up(how, place);
        if (over && !place) over();
      },
      [room = std::weak_ptr(room_), nodes] {
        const auto still = room.lock();
        return still ? missing_in(*still, nodes) : std::string();
      });
}

std::unique_ptr<AgentStream> AgentStep::run(asio::io_context& context, const Host& host,
                                            const std::vector<std::string>& arguments) {
  const std::size_t place = place_of(host);
  begin();
  return std::make_unique<StepStream>(context, room_->start_agent(context, place, arguments),
                                      watch_, place);
}

awaitable<std::unique_ptr<AgentStream>> AgentStep::start(asio::io_context& context, Host host,
                                                         std::vector<std::string> arguments) {
  try {
    const std::size_t place = place_of(host);
    begin();
    auto stream = std::make_unique<StepStream>(
        context, room_->start_agent(context, place, arguments), watch_, place);
    co_await wait_for_greeting(context, *starter_, *stream, host, options_.patience);
    co_return stream;
  } catch (const Error& error) {
    // Every way to start an agent names the host in its errors.
    throw error.with_context(host.name);
  }
}

bool AgentStep::has(const Host& host) const {
  const std::lock_guard lock(mutex_);
  const auto place = find_place(host);
  return room_ && place && !room_->present()[*place].empty();
}

void AgentStep::about_to_stop() {
  const std::lock_guard lock(mutex_);
  if (room_) room_->about_to_stop();
}

void AgentStep::finish(int status) {
  const std::lock_guard lock(mutex_);
  if (!room_) return;
  room_->finish(status, kTellPatience);
  // Starters usually end once their nodes have. Their scheduler ends nodes that are lost or never
  // arrived.
  for (const int signal : {0, SIGTERM, SIGKILL}) {
    if (signal != 0) watch_->signal(signal);
    if (watch_->wait_for_end(kEndPatience)) break;
  }
  watch_.reset();
  room_.reset();
}

}  // namespace dtl
