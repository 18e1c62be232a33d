// One coroutine serves one room after another: join, serve, end the agent. An agent is a child of
// this process, so it stays in the cgroup and on the CPUs that the scheduler assigned.
#include "launcher/join/join_caller.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/process_id.h"
#include "base/text.h"
#include "launcher/join/join_channel.h"
#include "launcher/ssh/resolve.h"
#include "launcher/streams/child.h"
#include "wire/connect/tcp_connect.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"
#include "wire/task_group.h"
#include "wire/tls/tls_stream.h"

namespace dtl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kFirstBackOff = 100ms;    // between two tries; doubles each time, up to
constexpr auto kLongestBackOff = 500ms;  // so that a new name is used within a second
// The next try resolves the name again, since its address may change. A lost first packet is sent
// again after a second.
constexpr auto kConnectPatience = 1s;
constexpr auto kAgentAtOnce = 2s;     // for the room to ask for it; later it ends by itself
constexpr auto kStoppedLook = 1s;     // between two looks at a keeper
constexpr auto kProgress = 10s;       // between two lines about a wait
constexpr auto kAnswerPatience = 5s;  // for the room's answer on an open connection
// Schedulers restart the job after this status, as after the loss of a node.
constexpr int kRoomLost = 128 + SIGKILL;

// The node cannot join now; why.
struct NotYet {
  std::string why;
};

// An agent on this node. Its stream ends before its process does.
struct LocalAgent {
  LocalAgent(asio::io_context& context, Child spawned)
      : child(std::move(spawned)), process(context, child.process.get()) {
    raw_socket = child.socket.get();
    stream = make_fd_stream(context, std::move(child.socket));
  }
  ~LocalAgent() { process.release(); }  // the Child closes it

  const Clock::time_point began = Clock::now();
  Child child;
  asio::posix::stream_descriptor process;
  int raw_socket = -1;                 // the stream's
  std::shared_ptr<ByteStream> stream;  // shared with the task that sends its bytes
};

class Caller {
 public:
  explicit Caller(JoinCall call)
      : call_(std::move(call)), tasks_(context_), signals_(context_), pause_(context_) {
    // These are for ranks or for the first node, which gets them too. By default they would end
    // this process.
    for (const int signal : {SIGUSR1, SIGUSR2}) std::signal(signal, SIG_IGN);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      if (std::signal(signal, SIG_DFL) == SIG_IGN) {
        std::signal(signal, SIG_IGN);  // nohup
      } else {
        signals_.add(signal);
      }
    }
  }

  int run() {
    wait_for_signal();
    std::exception_ptr failure;
    asio::co_spawn(context_, live(), [&](std::exception_ptr problem) {
      failure = problem;
      signals_.cancel();
      context_.stop();
    });
    context_.run();
    if (failure) std::rethrow_exception(failure);
    return status_;
  }

 private:
  awaitable<void> live() {
    std::exception_ptr failure;
    try {
      if (call_.agent_at_once) start_agent_at_once();
      co_await live_in_rooms();
    } catch (...) {
      failure = std::current_exception();
    }
    // Also after an error: this process must not end before its children.
    co_await end(std::exchange(agent_at_once_, nullptr));
    if (failure) std::rethrow_exception(failure);
  }

  awaitable<void> live_in_rooms() {
    for (;;) {
      co_await come_in();
      if (!room_) co_return;
      tasks_.spawn(write(room_));
      tasks_.spawn(watch_room(room_));
      const bool told = co_await serve();
      room_->close();
      // An agent without a room ends its ranks; nothing of the job is left when this process ends.
      co_await end(agent_);
      if (told) co_return;
      // Schedulers restart a node after a status of 128 or more.
      status_ = signals_seen_ == 0 ? kRoomLost : 128 + last_signal_;
      if (signals_seen_ > 0) co_return;
      const std::string lost = fmt::format(
          "{}:{}: the job's first node {}; what ran here has ended", call_.host, call_.port,
          room_->fell_silent() ? fmt::format("gives no sign of life for {} s", kLease.count())
                               : "is gone");
      if (!call_.comes_again) {
        log_error(lost);
        co_return;
      }
      log_notice(
          fmt::format("{}; waiting {} s for it to come again", lost, call_.patience.count()));
      room_.reset();
    }
  }

  static awaitable<void> write(std::shared_ptr<JoinChannel> room) { co_await room->run_writer(); }

  // Does not run while an agent runs: the agent has its own lease, and knows when its launcher is
  // about to be stopped (^Z).
  awaitable<void> watch_room(std::shared_ptr<JoinChannel> room) {
    co_await room->run_heartbeats([this] { return agent_ != nullptr; });
  }

  // ---- until it joins the job

  awaitable<void> come_in() {
    const Clock::time_point began = Clock::now(), end = began + call_.patience;
    Clock::time_point next_line = began + kProgress;
    std::chrono::milliseconds back_off = kFirstBackOff;
    NotYet not_yet;
    while (signals_seen_ == 0) {
      NotYet tried = co_await try_once(end);
      if (room_ || signals_seen_ > 0) break;
      const Clock::time_point now = Clock::now();
      // The deadline cut this try short; the error of the try before it says more.
      if (now < end || not_yet.why.empty()) not_yet = std::move(tried);
      if (now >= end) {
        const Error error = too_late(not_yet.why);
        // The first time the user's set-up is wrong. Later the room is lost, which has its own
        // status.
        if (!has_belonged()) throw error;
        log_error(error.what());
        co_return;  // with the status of a lost room
      }
      if (now >= next_line) {
        next_line += kProgress;
        log_notice(fmt::format("waiting for the job's first node, {}:{}, since {} s: {}",
                               call_.host, call_.port, (now - began) / 1s, not_yet.why));
      }
      pause_.expires_at(std::min(end, now + back_off));
      boost::system::error_code woken;
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      back_off = std::min<std::chrono::milliseconds>(2 * back_off, kLongestBackOff);
    }
    if (!room_) status_ = 128 + last_signal_;
  }

  bool has_belonged() const { return call_.hello.before.has_value(); }

  Error too_late(const std::string& why) const {
    return Error(
        Exit::kTimeout,
        fmt::format("{}:{}: not found in {} s", call_.host, call_.port, call_.patience.count()),
        why, call_.look + ", or --start-timeout SECONDS");
  }

  awaitable<NotYet> try_once(Clock::time_point end) {
    std::optional<NotYet> not_yet;
    try {
      const auto by = std::min(end, Clock::now() + kResolveDeadline);
      auto endpoints = co_await resolve(context_, call_.host, call_.port, by);
      Fd socket = co_await connect_first(context_, std::move(endpoints),
                                         std::min(end, Clock::now() + kConnectPatience));
      not_yet = co_await introduce(std::move(socket));
    } catch (const Error& error) {
      // Retry if the name may resolve, the port open or the room have time later. Also kAuth after
      // the first time: the first node's address may belong to another process now.
      const bool for_now = error.status() == Exit::kUnreachable ||
                           error.status() == Exit::kTryAgain || error.status() == Exit::kIo ||
                           (error.status() == Exit::kAuth && has_belonged());
      if (!for_now) throw error.with_context(fmt::format("{}:{}", call_.host, call_.port));
      not_yet = NotYet{error.attempted() + ": " + error.reason()};
    }
    co_return *not_yet;
  }

  awaitable<NotYet> introduce(Fd socket) {
    auto tls = std::make_unique<TlsStream>(make_fd_stream(context_, std::move(socket)),
                                           TlsSession::Side::kCalls, call_.token);
    std::shared_ptr<JoinChannel> room;
    const StreamDeadline deadline(context_, *tls, kAnswerPatience);
    try {
      co_await tls->shake_hands();
    } catch (const Error& error) {
      if (error.status() != Exit::kAuth) throw;
      throw other_token(error);
    }
    room = std::make_shared<JoinChannel>(context_, std::move(tls));
    room->send({JoinFrame::Kind::kHello, to_text(call_.hello)});
    room->finish();
    // The hello must be sent before the answer can arrive; nothing else is queued yet.
    co_await room->run_writer();
    const std::optional<JoinFrame> answer = co_await room->receive();
    if (!answer) co_return NotYet{"it hung up"};
    if (answer->kind == JoinFrame::Kind::kComeAgain) co_return NotYet{printable(answer->text)};
    if (answer->kind != JoinFrame::Kind::kSeated) {
      throw Error(Exit::kConfig, "this node",
                  "the job does not take it: " + printable(answer->text));
    }
    call_.hello.before = parse_seat(answer->text);
    if (!has_belonged()) throw Error(Exit::kVersion, "no seat in the job's room", "garbage");
    room->go_on();
    room_ = std::move(room);
    co_return NotYet{};
  }

  // Both nodes report this, since neither knows which one has the wrong token.
  static Error other_token(const Error& error) {
    return Error(Exit::kAuth, "first node of the job: another token, or not a node of dtlaunch",
                 error.reason(), "give all nodes of the job the same DTL_TOKEN_FILE");
  }

  // ---- a node of the job

  // True once the job's end is known.
  awaitable<bool> serve() {
    while (auto frame = co_await room_->receive()) {
      switch (frame->kind) {
        case JoinFrame::Kind::kStart:
          co_await start_agent(frame->text);
          break;
        case JoinFrame::Kind::kBytes:
          co_await hand_on(agent_, std::move(frame->text));
          break;
        case JoinFrame::Kind::kNoMoreBytes:
          if (agent_) ::shutdown(agent_->raw_socket, SHUT_WR);
          break;
        case JoinFrame::Kind::kDone:
          status_ = parse_status(frame->text).value_or(static_cast<int>(Exit::kVersion));
          co_return true;
        case JoinFrame::Kind::kHello:
        case JoinFrame::Kind::kSeated:
        case JoinFrame::Kind::kRefused:
        case JoinFrame::Kind::kComeAgain:
        case JoinFrame::Kind::kEnded:
        case JoinFrame::Kind::kStop:
        case JoinFrame::Kind::kHere:
          co_return false;  // rooms never send these
      }
    }
    co_return false;
  }

  // arguments: one per line; empty: a job's agent.
  std::shared_ptr<LocalAgent> new_agent(const std::string& arguments) {
    std::vector<std::string> command = {call_.agent_path};
    for (std::string& each :
         split(arguments.empty() ? "--serve\n--unsignalled" : arguments, '\n')) {
      command.push_back(std::move(each));
    }
    return std::make_shared<LocalAgent>(context_, spawn_child(command, ChildErrors::kShared));
  }

  void start_agent_at_once() {
    try {
      agent_at_once_ = new_agent({});
    } catch (const Error&) {
      // The room learns why when it asks for an agent.
    }
  }

  awaitable<void> start_agent(std::string arguments) {
    std::shared_ptr<LocalAgent> early = std::exchange(agent_at_once_, nullptr);
    // An agent that waited too long would soon end by itself, because it hears from no launcher.
    const bool wanted = arguments.empty() && early && Clock::now() < early->began + kAgentAtOnce &&
                        early->child.ending().empty();
    if (!wanted) co_await end(std::exchange(early, nullptr));
    try {
      agent_ = early ? std::move(early) : new_agent(arguments);
    } catch (const Error& error) {
      log_error(error.what());
      room_->send({JoinFrame::Kind::kEnded, error.attempted() + ": " + error.reason()});
      co_return;
    }
    tasks_.spawn(watch(agent_, room_));
  }

  awaitable<void> watch(std::shared_ptr<LocalAgent> agent, std::shared_ptr<JoinChannel> room) {
    co_await send_bytes(agent->stream, room);
    co_await wait_for_end(agent);
    // Sent last, because the room may start the next agent as soon as it arrives.
    room->send({JoinFrame::Kind::kEnded, agent->child.ending()});
    if (agent_ == agent) agent_.reset();
  }

  // Called when the agent's stream has ended; its process may still be ending the ranks.
  awaitable<void> wait_for_end(std::shared_ptr<LocalAgent> agent) {
    tasks_.spawn(end_if_stopped(agent));
    boost::system::error_code ignored;  // a second waiter does not cancel the first
    co_await agent->process.async_wait(asio::posix::descriptor_base::wait_read,
                                       asio::redirect_error(asio::use_awaitable, ignored));
  }

  // Our child is the agent's keeper. A stopped keeper (SIGSTOP) cannot end, and this node would
  // wait for it forever. SIGKILL works on stopped processes.
  awaitable<void> end_if_stopped(std::shared_ptr<LocalAgent> agent) {
    asio::steady_timer look(context_);
    for (auto stopped = 0s; agent->child.ending().empty();) {
      const bool is_stopped = process_state(agent->child.pid) == ProcessState::kStopped;
      stopped = is_stopped ? stopped + kStoppedLook : 0s;
      if (stopped > kLease) {
        log_error(
            fmt::format("job-keeper (process {}) is stopped (state T), and its agent has ended; "
                        "it was killed",
                        agent->child.pid));
        agent->child.signal(SIGKILL);
        co_return;
      }
      look.expires_after(kStoppedLook);
      co_await look.async_wait(asio::use_awaitable);
    }
  }

  static awaitable<void> hand_on(std::shared_ptr<LocalAgent> agent, std::string bytes) {
    if (!agent) co_return;
    try {
      co_await agent->stream->write(std::move(bytes));
    } catch (const Error&) {
      // It has ended; watch() reports it.
    }
  }

  awaitable<void> end(std::shared_ptr<LocalAgent> agent) {
    if (!agent) co_return;
    agent->stream->close();
    co_await wait_for_end(agent);
  }

  // The first signal is a request, because the first node decides how the job ends. The second
  // closes the room, which ends the agent and its ranks.
  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code cancelled, int signal) {
      if (cancelled) return;
      last_signal_ = signal;
      ++signals_seen_;
      pause_.cancel();
      if (room_ && signals_seen_ == 1) {
        room_->send({JoinFrame::Kind::kStop, {}});
      } else if (room_) {
        room_->close();
      }
      wait_for_signal();
    });
  }

  JoinCall call_;             // from the second join on its hello has the previous seat
  asio::io_context context_;  // before everything that uses it
  TaskGroup tasks_;
  asio::signal_set signals_;
  asio::steady_timer pause_;
  std::shared_ptr<JoinChannel> room_;          // shared with the task that writes its queue
  std::shared_ptr<LocalAgent> agent_;          // shared with the task that watches it
  std::shared_ptr<LocalAgent> agent_at_once_;  // until the room asks for one
  int signals_seen_ = 0;
  int last_signal_ = 0;
  int status_ = 0;
};

}  // namespace

int serve_joined_job(JoinCall call) {
  return Caller(std::move(call)).run();
}

}  // namespace dtl
