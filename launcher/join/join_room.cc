#include "launcher/join/join_room.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "launcher/join/join_channel.h"
#include "launcher/join/join_listener.h"
#include "launcher/join/room_stream.h"
#include "launcher/join/tls_stream.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"
#include "wire/task_group.h"

namespace dtl {
namespace {

constexpr int kMostStrangers = 64;      // that have not proved anything yet, at a time
constexpr auto kStrangerPatience = 3s;  // for each of them; a handshake takes 1 ms
}  // namespace

class JoinRoom::Inside {
 public:
  explicit Inside(JoinRoomOptions options)
      : options_(std::move(options)),
        changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        names_(options_.expected.places()),
        tasks_(context_),
        listener_(context_, options_.ports, [this](Fd caller) { take(std::move(caller)); }),
        places_(options_.expected.places()) {
    if (!changed_.valid()) throw system_error("cannot make an eventfd");
    // A signal is for the threads that know of it.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Inside() {
    context_.stop();
    thread_.join();
  }

  int port() const { return listener_.port(); }
  int change_descriptor() const { return changed_.get(); }

  void changed() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t size = ::read(changed_.get(), &count, sizeof count);
  }

  std::vector<std::string> present() const {
    const std::lock_guard lock(mutex_);
    return names_;
  }

  bool is_idle(std::size_t place) const {
    const std::lock_guard lock(mutex_);
    return busy_.empty() || !busy_[place];
  }

  std::unique_ptr<AgentStream> start_agent(asio::io_context& context, std::size_t place) {
    SocketPair pair = make_socketpair(SOCK_STREAM);
    auto end = std::make_shared<AgentEnd>();
    set_busy(place, true);
    asio::post(context_,
               [this, place, end, agent = std::make_shared<Fd>(std::move(pair.second))]() mutable {
                 places_[place].waiting = {std::move(*agent), end};
                 start_waiting(place);
               });
    return std::make_unique<RoomStream>(context, std::move(pair.first), std::move(end));
  }

  void finish(int status, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    asio::post(context_, [this, status] { say_done(status); });
    gone_.wait_for(lock, patience, [this] { return all_told_; });
  }

 private:
  struct Waiting {
    Fd agent;  // the room's end of its stream
    std::shared_ptr<AgentEnd> end;
  };
  struct Place {
    std::shared_ptr<JoinChannel> node;  // shared with the tasks that read and write it
    Waiting waiting;                    // an agent to be started
    std::shared_ptr<ByteStream> agent;  // shared with the task that sends its bytes; while it runs
    std::shared_ptr<AgentEnd> end;
  };

  // ---- the thread

  void run() {
    try {
      const auto working = asio::make_work_guard(context_);
      context_.run();
    } catch (const std::exception& fault) {
      // Nodes and sessions see the end of their streams.
      log_error(fmt::format("internal error while nodes are served: {}", fault.what()));
      for (Place& place : places_) place = {};
    }
  }

  // ---- a caller, from the first byte on

  void take(Fd caller) {
    if (strangers_ < kMostStrangers) tasks_.spawn(meet(std::make_shared<Fd>(std::move(caller))));
  }

  awaitable<void> meet(std::shared_ptr<Fd> socket) {
    ++strangers_;
    std::shared_ptr<JoinChannel> node;
    std::optional<std::size_t> place;
    try {
      auto tls = std::make_unique<TlsStream>(make_fd_stream(context_, std::move(*socket)),
                                             TlsSession::Side::kListens, options_.token);
      const StreamDeadline deadline(context_, *tls, kStrangerPatience);
      co_await tls->shake_hands();
      node = std::make_shared<JoinChannel>(context_, std::move(tls));
      const std::optional<JoinFrame> first = co_await node->receive();
      if (first && first->kind == JoinFrame::Kind::kHello)
        place = co_await answer(node, first->text);
    } catch (const Error& error) {
      log_debug(fmt::format("hung up on a caller: {}", error.what()));
    }
    --strangers_;
    if (place) co_await serve(*place, std::move(node));
  }

  awaitable<std::optional<std::size_t>> answer(std::shared_ptr<JoinChannel> node,
                                               std::string text) {
    const std::optional<JoinHello> hello = parse_hello(text);
    if (!hello) co_return std::nullopt;
    SeatAnswer seat = judge_hello(options_.expected, *hello);
    if (seat.place && places_[*seat.place].node) {
      seat = {std::nullopt, {JoinFrame::Kind::kComeAgain, hello->name + " has come already"}};
    }
    if (seat.place) {
      take_place(*seat.place, node, hello->name);
      node->send({JoinFrame::Kind::kSeated, {}});
      co_return seat.place;
    }
    log_verbose(fmt::format("{}: turned away: {}", hello->name, seat.refusal.text));
    node->send(std::move(seat.refusal));
    node->finish();
    co_await node->run_writer();
    co_return std::nullopt;
  }

  void take_place(std::size_t place, const std::shared_ptr<JoinChannel>& node, std::string name) {
    places_[place].node = node;
    bool complete = true;
    for (const Place& each : places_) complete = complete && each.node;
    if (complete) listener_.close();
    set_name(place, std::move(name));
  }

  // ---- a node of the job, until its connection ends

  awaitable<void> serve(std::size_t place, std::shared_ptr<JoinChannel> node) {
    tasks_.spawn(write(node));
    start_waiting(place);
    try {
      while (auto frame = co_await node->receive()) {
        if (!co_await obey(place, std::move(*frame))) break;
      }
    } catch (const Error& error) {
      log_error(error.with_context(name_of(place)).what());
    }
    node->close();
    lose(place);
  }

  static awaitable<void> write(std::shared_ptr<JoinChannel> node) { co_await node->run_writer(); }

  awaitable<bool> obey(std::size_t at, JoinFrame frame) {
    Place& place = places_[at];
    switch (frame.kind) {
      case JoinFrame::Kind::kBytes:
        co_await hand_on(place.agent, std::move(frame.text));
        co_return true;
      case JoinFrame::Kind::kEnded:
        end_agent(at, std::move(frame.text));
        set_busy(at, place.waiting.agent.valid());
        start_waiting(at);
        co_return true;
      case JoinFrame::Kind::kStop:
        if (options_.told_to_stop) options_.told_to_stop(at, name_of(at));
        co_return true;
      case JoinFrame::Kind::kHello:
      case JoinFrame::Kind::kSeated:
      case JoinFrame::Kind::kRefused:
      case JoinFrame::Kind::kComeAgain:
      case JoinFrame::Kind::kStart:
      case JoinFrame::Kind::kNoMoreBytes:
      case JoinFrame::Kind::kDone:
        break;
    }
    co_return false;  // no node says that
  }

  // A session that has closed its end no longer wants them.
  static awaitable<void> hand_on(std::shared_ptr<ByteStream> agent, std::string bytes) {
    if (!agent) co_return;
    try {
      co_await agent->write(std::move(bytes));
    } catch (const Error&) {
      // see above
    }
  }

  void start_waiting(std::size_t at) {
    Place& place = places_[at];
    if (!place.waiting.agent.valid() || place.agent) return;
    if (!place.node) {
      listen_again();
      return;
    }
    place.agent = make_fd_stream(context_, std::move(place.waiting.agent));
    place.end = std::move(place.waiting.end);
    place.node->send({JoinFrame::Kind::kStart, {}});
    tasks_.spawn(send_down(at, place.agent, place.node));
  }

  awaitable<void> send_down(std::size_t at, std::shared_ptr<ByteStream> agent,
                            std::shared_ptr<JoinChannel> node) {
    co_await send_bytes(agent, node);
    if (places_[at].agent == agent) node->send({JoinFrame::Kind::kNoMoreBytes, {}});
  }

  // A node of the job is missing again: the same port, so that it is found.
  void listen_again() {
    if (listener_.open_again()) return;
    log_error(
        fmt::format("cannot wait for a node to come back: port {} is not free", listener_.port()));
  }

  void end_agent(std::size_t at, std::string how) {
    Place& place = places_[at];
    if (place.end) place.end->set(how.empty() ? "end of the stream" : std::move(how));
    if (place.agent) place.agent->close();
    place.agent.reset();
    place.end.reset();
  }

  void lose(std::size_t at) {
    end_agent(at, std::string(kConnectionLost));
    places_[at].node.reset();
    set_name(at, {});
    start_waiting(at);
    tell_if_all_gone();
  }

  // ---- the end

  void say_done(int status) {
    listener_.close();
    done_ = true;
    for (Place& place : places_) {
      if (!place.node) continue;
      place.node->send({JoinFrame::Kind::kDone, std::to_string(status)});
      place.node->finish();
    }
    tell_if_all_gone();
  }

  void tell_if_all_gone() {
    if (!done_) return;
    for (const Place& place : places_) {
      if (place.node) return;
    }
    const std::lock_guard lock(mutex_);
    all_told_ = true;
    gone_.notify_all();
  }

  // ---- what other threads see

  std::string name_of(std::size_t place) const {
    const std::lock_guard lock(mutex_);
    return names_[place];
  }

  void set_name(std::size_t place, std::string name) {
    {
      const std::lock_guard lock(mutex_);
      names_[place] = std::move(name);
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t size = ::write(changed_.get(), &one, sizeof one);
  }

  void set_busy(std::size_t place, bool busy) {
    const std::lock_guard lock(mutex_);
    busy_.resize(names_.size());
    busy_[place] = busy;
  }

  const JoinRoomOptions options_;
  Fd changed_;

  mutable std::mutex mutex_;
  std::condition_variable gone_;
  std::vector<std::string> names_;  // by place; empty: nobody
  std::vector<bool> busy_;          // by place: an agent was started and has not been seen to end
  bool all_told_ = false;

  // The thread's own.
  asio::io_context context_;
  TaskGroup tasks_;
  JoinListener listener_;
  std::vector<Place> places_;
  int strangers_ = 0;
  bool done_ = false;
  std::thread thread_;
};

JoinRoom::JoinRoom(JoinRoomOptions options)
    : inside_(std::make_unique<Inside>(std::move(options))) {}

JoinRoom::~JoinRoom() = default;

int JoinRoom::port() const {
  return inside_->port();
}

int JoinRoom::change_descriptor() const {
  return inside_->change_descriptor();
}

void JoinRoom::changed() {
  inside_->changed();
}

std::vector<std::string> JoinRoom::present() const {
  return inside_->present();
}

std::unique_ptr<AgentStream> JoinRoom::start_agent(asio::io_context& context, std::size_t place) {
  return inside_->start_agent(context, place);
}

bool JoinRoom::is_idle(std::size_t place) const {
  return inside_->is_idle(place);
}

void JoinRoom::finish(int status, std::chrono::milliseconds patience) {
  inside_->finish(status, patience);
}

}  // namespace dtl
