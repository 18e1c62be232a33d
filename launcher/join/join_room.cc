// Inside owns everything that belongs to the thread. Public functions post to it and read what it
// has written to the RoomBoard.
#include "launcher/join/join_room.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <csignal>
#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/join/join_channel.h"
#include "launcher/join/join_door.h"
#include "launcher/join/room_board.h"
#include "launcher/join/room_stream.h"
#include "wire/fd_stream.h"
#include "wire/task_group.h"
#include "wire/tls/tls_session.h"

namespace dtl {
namespace {

constexpr std::size_t kRoomBytes = 8;  // random bytes in the room's name: names never repeat

}  // namespace

class JoinRoom::Inside {
 public:
  explicit Inside(JoinRoomOptions options)
      : options_(std::move(options)),
        board_(options_.expected.places()),
        tasks_(context_),
        door_(context_, tasks_, options_.ports, options_.token,
              {[this](std::shared_ptr<JoinChannel> node, std::string hello) {
                 return answer(std::move(node), std::move(hello));
               },
               [this](std::size_t place, std::shared_ptr<JoinChannel> node) {
                 return serve(place, std::move(node));
               }}),
        places_(options_.expected.places()) {
    // Its name tells a node whether it returns to the same room or joins a new one.
    options_.expected.room = to_hex(random_bytes(kRoomBytes, "name a room"));
    // Signals must reach the threads that handle them: the kernel picks any thread that does not
    // block them.
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

  int port() const { return door_.port(); }
  RoomBoard& board() { return board_; }

  void dismiss(std::size_t place, int status) {
    asio::post(context_, [this, place, status] { say_done(places_[place], status); });
  }

  std::unique_ptr<AgentStream> start_agent(asio::io_context& context, std::size_t place,
                                           const std::vector<std::string>& arguments) {
    SocketPair pair = make_socketpair(SOCK_STREAM);
    auto end = std::make_shared<AgentEnd>();
    // Here and not on the thread, so that is_idle() is right at once.
    board_.set_busy(place, true);
    asio::post(context_, [this, place, end, arguments = join(arguments, "\n"),
                          agent = std::make_shared<Fd>(std::move(pair.second))]() mutable {
      places_[place].waiting = {std::move(*agent), end, std::move(arguments)};
      start_waiting(place);
    });
    return std::make_unique<RoomStream>(context, std::move(pair.first), std::move(end));
  }

  void give_up(std::string how, std::optional<std::size_t> place) {
    asio::post(context_, [this, how = std::move(how), place] {
      for (std::size_t at = 0; at < places_.size(); ++at) {
        if (place.value_or(at) != at) continue;
        places_[at].given_up = how;
        start_waiting(at);
      }
      close_if_complete();
    });
  }

  void about_to_stop() {
    auto all_sent = std::make_shared<std::promise<void>>();
    std::future<void> sent = all_sent->get_future();
    asio::post(context_, [this, all_sent] { tasks_.spawn(ask_for_patience(all_sent)); });
    sent.wait_for(kHeartbeat);
  }

  void finish(int status, std::chrono::milliseconds patience) {
    asio::post(context_, [this, status] { say_done(status); });
    board_.wait_until_all_told(patience);
  }

 private:
  // An agent that was asked for and has not started yet.
  struct Waiting {
    Fd agent;  // the room's end of its stream
    std::shared_ptr<AgentEnd> end;
    std::string arguments;  // one a line
  };
  struct Place {
    std::shared_ptr<JoinChannel> node;  // shared with the tasks that read and write it
    Waiting waiting;                    // an agent to start
    std::shared_ptr<ByteStream> agent;  // while it runs; shared with the task that sends its bytes
    std::shared_ptr<AgentEnd> end;
    SeatState seat;        // except `taken`
    std::string given_up;  // why no node will come there; empty: one may
  };

  // ---- the thread

  void run() {
    try {
      TlsSession::prepare(TlsSession::Side::kListens);  // while no node has come yet
      const auto working = asio::make_work_guard(context_);
      context_.run();
    } catch (const std::exception& fault) {
      // Nodes and sessions see their streams end.
      log_error(fmt::format("internal error while nodes are served: {}", fault.what()));
      for (Place& place : places_) place = {};
    }
  }

  // ---- joining

  awaitable<std::optional<std::size_t>> answer(std::shared_ptr<JoinChannel> node,
                                               std::string text) {
    const std::optional<JoinHello> hello = parse_hello(text);
    if (!hello) co_return std::nullopt;
    SeatAnswer seat = judge_hello(options_.expected, *hello, seats());
    // The node may learn first that its connection is lost.
    if (seat.place && places_[*seat.place].node) {  // the old connection is dead
      places_[*seat.place].node->close();
      seat = {std::nullopt, {JoinFrame::Kind::kComeAgain, "its last connection is not over yet"}};
    }
    if (seat.place) {
      // Nodes end their agents before they return.
      if (seat.returns) board_.note_return(*seat.place);
      take_place(*seat.place, node, hello->name);
      const int generation = places_[*seat.place].seat.generation;
      node->send({JoinFrame::Kind::kSeated,
                  to_text(JoinSeat{options_.expected.room, *seat.place, generation})});
      co_return seat.place;
    }
    log_verbose(fmt::format("{}: turned away: {}", hello->name, seat.refusal.text));
    node->send(std::move(seat.refusal));
    node->finish();
    co_await node->run_writer();
    co_return std::nullopt;
  }

  std::vector<SeatState> seats() const {
    std::vector<SeatState> all;
    for (const Place& place : places_) {
      all.push_back(place.seat);
      all.back().taken = place.node != nullptr;
    }
    return all;
  }

  void take_place(std::size_t place, const std::shared_ptr<JoinChannel>& node, std::string name) {
    places_[place].node = node;
    places_[place].seat.name = name;
    ++places_[place].seat.generation;
    close_if_complete();
    board_.set_name(place, std::move(name));
  }

  void close_if_complete() {
    for (const Place& each : places_) {
      if (!each.node && each.given_up.empty()) return;
    }
    door_.close();
    if (options_.complete) options_.complete();
  }

  // ---- a node of the job, until its connection ends

  awaitable<void> serve(std::size_t place, std::shared_ptr<JoinChannel> node) {
    tasks_.spawn(write(node));
    tasks_.spawn(watch(node));
    start_waiting(place);
    try {
      while (auto frame = co_await node->receive()) {
        if (!co_await obey(place, std::move(*frame))) break;
      }
    } catch (const Error& error) {
      log_error(error.with_context(board_.name(place)).what());
    }
    if (node->fell_silent() && !done_) {
      log_notice(fmt::format("{}: no sign of life for {} s", board_.name(place), kLease.count()));
    }
    node->close();
    lose(place);
  }

  static awaitable<void> write(std::shared_ptr<JoinChannel> node) { co_await node->run_writer(); }
  static awaitable<void> watch(std::shared_ptr<JoinChannel> node) {
    co_await node->run_heartbeats();
  }

  awaitable<bool> obey(std::size_t at, JoinFrame frame) {
    Place& place = places_[at];
    switch (frame.kind) {
      case JoinFrame::Kind::kBytes:
        co_await hand_on(place.agent, std::move(frame.text));
        co_return true;
      case JoinFrame::Kind::kEnded:
        board_.set_busy(at, place.waiting.agent.valid());  // before anyone learns of the end
        end_agent(at, std::move(frame.text));
        start_waiting(at);
        co_return true;
      case JoinFrame::Kind::kStop:
        board_.set_leaving(at);
        if (options_.told_to_stop) options_.told_to_stop(at, board_.name(at));
        co_return true;
      case JoinFrame::Kind::kHello:
      case JoinFrame::Kind::kSeated:
      case JoinFrame::Kind::kRefused:
      case JoinFrame::Kind::kComeAgain:
      case JoinFrame::Kind::kStart:
      case JoinFrame::Kind::kNoMoreBytes:
      case JoinFrame::Kind::kDone:
      case JoinFrame::Kind::kHere:
        break;
    }
    co_return false;  // nodes never send these
  }

  // A session that has closed its end no longer wants the bytes.
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
    if (!place.node && place.given_up.empty()) {
      door_.open_again();
      return;
    }
    place.agent = make_fd_stream(context_, std::move(place.waiting.agent));
    place.end = std::move(place.waiting.end);
    if (!place.node) {
      board_.set_busy(at, false);
      end_agent(at, place.given_up);
      return;
    }
    place.node->send({JoinFrame::Kind::kStart, std::move(place.waiting.arguments)});
    tasks_.spawn(send_down(at, place.agent, place.node));
  }

  awaitable<void> send_down(std::size_t at, std::shared_ptr<ByteStream> agent,
                            std::shared_ptr<JoinChannel> node) {
    co_await send_bytes(agent, node);
    if (places_[at].agent == agent) node->send({JoinFrame::Kind::kNoMoreBytes, {}});
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
    board_.note_loss(at);
    board_.set_name(at, {});
    if (options_.reopens) door_.open_again();
    start_waiting(at);
    tell_if_all_gone();
  }

  awaitable<void> ask_for_patience(std::shared_ptr<std::promise<void>> all_sent) {
    std::vector<std::shared_ptr<JoinChannel>> nodes;
    for (const Place& place : places_) {
      if (place.node) nodes.push_back(place.node);
    }
    for (const auto& node : nodes) node->ask_for_patience(kPauseLease);
    for (const auto& node : nodes) co_await node->wait_below(1);
    all_sent->set_value();
  }

  // ---- the end

  void say_done(int status) {
    door_.lock();
    done_ = true;
    for (Place& place : places_) say_done(place, status);
    tell_if_all_gone();
  }

  static void say_done(Place& place, int status) {
    if (!place.node) return;
    place.node->send({JoinFrame::Kind::kDone, std::to_string(status)});
    place.node->finish();
  }

  void tell_if_all_gone() {
    if (!done_) return;
    for (const Place& place : places_) {
      if (place.node) return;
    }
    board_.note_all_told();
  }

  JoinRoomOptions options_;
  RoomBoard board_;

  // Used by the thread alone.
  asio::io_context context_;
  TaskGroup tasks_;
  JoinDoor door_;
  std::vector<Place> places_;
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
  return inside_->board().change_descriptor();
}

void JoinRoom::changed() {
  inside_->board().changed();
}

std::vector<std::string> JoinRoom::present() const {
  return inside_->board().names();
}

std::vector<bool> JoinRoom::leaving() const {
  return inside_->board().leaving();
}

std::unique_ptr<AgentStream> JoinRoom::start_agent(asio::io_context& context, std::size_t place,
                                                   const std::vector<std::string>& arguments) {
  return inside_->start_agent(context, place, arguments);
}

void JoinRoom::give_up(std::string how, std::optional<std::size_t> place) {
  inside_->give_up(std::move(how), place);
}

bool JoinRoom::is_idle(std::size_t place) const {
  return inside_->board().is_idle(place);
}

bool JoinRoom::may_run_elsewhere(std::size_t place) const {
  return inside_->board().may_run_elsewhere(place);
}

void JoinRoom::dismiss(std::size_t place, int status) {
  inside_->dismiss(place, status);
}

void JoinRoom::about_to_stop() {
  inside_->about_to_stop();
}

void JoinRoom::finish(int status, std::chrono::milliseconds patience) {
  inside_->finish(status, patience);
}

}  // namespace dtl
