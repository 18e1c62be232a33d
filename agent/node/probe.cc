// Every wait has a deadline that closes its socket: a firewall that drops packets would otherwise
// hold connect(2) for minutes. A failed attempt is an answer with a reason, never an error.
#include "agent/node/probe.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "agent/node/neighbour_table.h"
#include "agent/node/nics.h"
#include "base/fd.h"
#include "base/limits.h"
#include "wire/private_socket.h"

namespace dtl {
namespace {

using asio::ip::tcp;

// wire/PROTOCOL.md has the words and their order.
constexpr std::string_view kDone = "DONE\n";
// Limits for untrusted input: anybody who finds the port while it is open can connect.
constexpr std::size_t kMaxLineBytes = 128;
constexpr std::uint32_t kMaxPayloadBytes = 1 << 20;
constexpr std::size_t kProbePieceBytes = 16384;
// Out of descriptors, every accept fails at once; without a pause this would take a whole core.
constexpr auto kShortagePause = std::chrono::milliseconds(100);

// Attempts that go on at the same time. As many descriptors are left for callers: node 0 of a large
// job tries all others while all others try it.
std::size_t attempts_at_once() {
  return std::max<std::size_t>(1, descriptor_use().free() / 2);
}

// Makes an operation store its error here instead of throwing.
auto quietly(boost::system::error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

std::string probe_line(const std::string& job_id, std::uint32_t node) {
  return "DTLAUNCH-PROBE " + job_id + " " + std::to_string(node) + "\n";
}

// Closes a socket at the deadline. The handler refers to this object: await settle() first.
class SocketDeadline {
 public:
  SocketDeadline(asio::io_context& context, tcp::socket& socket,
                 std::chrono::milliseconds patience = kConnectDeadline)
      : context_(context), timer_(context, patience) {
    timer_.async_wait([this, &socket](boost::system::error_code cancelled) {
      if (cancelled) return;
      passed_ = true;
      boost::system::error_code ignored;
      socket.close(ignored);
    });
  }
  bool passed() const { return passed_; }
  awaitable<void> settle() {
    // A cancelled handler is still queued; it has run after one turn of the loop.
    timer_.cancel();
    co_await asio::post(context_, asio::use_awaitable);
  }

 private:
  asio::io_context& context_;
  asio::steady_timer timer_;
  bool passed_ = false;
};

// One round of attempts. When every node has been reached somewhere and the settling time is over,
// the sockets of the attempts that still wait are closed. With fewer descriptors than endpoints,
// the attempts take turns, and each has its part of the deadline, which is that of the whole round.
class Round {
 public:
  Round(asio::io_context& context, const Reach& wanted, std::string job_id)
      : context_(context),
        job_id_(std::move(job_id)),
        payload_(wanted.payload_bytes),
        settle_(wanted.settle_ms),
        settled_(context) {
    for (const Endpoint& endpoint : wanted.endpoints) {
      attempts_.push_back({Attempt{endpoint, false, {}, {}, {}}, tcp::socket(context)});
      waiting_nodes_.insert(endpoint.node);
    }
  }

  awaitable<std::vector<Attempt>> run() {
    const std::size_t at_once = std::min(attempts_at_once(), attempts_.size());
    const std::size_t turns = at_once == 0 ? 1 : (attempts_.size() + at_once - 1) / at_once;
    patience_ = std::chrono::milliseconds(kConnectDeadline) / turns;
    const auto refusals = neighbour_refusals();
    TaskGroup tasks(context_);
    for (std::size_t i = 0; i < at_once; ++i) tasks.spawn(reach_in_turn());
    co_await tasks.join();
    settled_.cancel();
    co_await asio::post(context_, asio::use_awaitable);  // the handler refers to this object
    const bool table_full = refusals && neighbour_refusals() > refusals;
    std::vector<Attempt> made;
    for (Trial& trial : attempts_) {
      made.push_back(std::move(trial.attempt));
      if (table_full && made.back().problem == kLate) made.back().problem = kNeighbourTableFull;
    }
    co_return made;
  }

 private:
  struct Trial {
    Attempt attempt;
    tcp::socket socket;
  };

  awaitable<void> reach_in_turn() {
    while (next_ < attempts_.size()) {
      Trial& trial = attempts_[next_++];
      co_await reach(trial);
    }
  }

  awaitable<void> reach(Trial& trial) {
    Attempt& attempt = trial.attempt;
    if (over_) {
      attempt.problem = kLate;
      co_return;
    }
    boost::system::error_code error;
    const asio::ip::address address = asio::ip::make_address(attempt.endpoint.address, error);
    if (error) {
      attempt.problem = "not a numeric address";
      co_return;
    }
    SocketDeadline deadline(context_, trial.socket, patience_);
    const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(attempt.endpoint.port));
    attempt.problem = co_await converse(trial.socket, endpoint, attempt.endpoint.node);
    // A payload that is late is a finding of its own: the small packets have passed.
    if (deadline.passed() && attempt.problem != kOnlySmall) attempt.problem = kLate;
    attempt.reached = attempt.problem.empty();
    if (attempt.reached) {
      attempt.local_address = trial.socket.local_endpoint(error).address().to_string();
      note_answer(attempt.endpoint.node);
    }
    trial.socket.close(error);
    co_await deadline.settle();
  }

  // Empty, or the problem as text for people: "Connection refused".
  awaitable<std::string> converse(tcp::socket& socket, tcp::endpoint endpoint, std::uint32_t node) {
    boost::system::error_code error;
    open_in_this_process(socket, endpoint.protocol());
    co_await socket.async_connect(endpoint, quietly(error));
    // Closed by its deadline, or because the round is over.
    if (error == asio::error::operation_aborted) co_return kLate;
    if (error) co_return error.message();
    std::string line;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(line, kMaxLineBytes), '\n',
                                    quietly(error));
    if (error == asio::error::operation_aborted) co_return kLate;
    // Compares up to the node's number: another job's listener counts as another program too.
    if (error || !line.starts_with(probe_line(job_id_, node).substr(0, 16 + job_id_.size()))) {
      co_return "another program answered";
    }
    if (line != probe_line(job_id_, node)) co_return "another node answered";
    if (payload_ == 0) co_return std::string();
    co_return co_await send_payload(socket);
  }

  awaitable<std::string> send_payload(tcp::socket& socket) {
    boost::system::error_code error;
    // In one write, so that the kernel sends packets as large as the path seems to allow.
    std::string bytes(4 + payload_, '\0');
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(payload_ >> (8 * i) & 0xff);
    co_await asio::async_write(socket, asio::buffer(bytes), quietly(error));
    std::string answer(kDone.size(), '\0');
    if (!error) co_await asio::async_read(socket, asio::buffer(answer), quietly(error));
    co_return !error && answer == kDone ? std::string() : std::string(kOnlySmall);
  }

  // Once every node is reachable somewhere, silent addresses must not take the full deadline.
  void note_answer(std::uint32_t node) {
    waiting_nodes_.erase(node);
    // 0: every attempt gets its full time.
    if (!waiting_nodes_.empty() || settle_.count() == 0 || std::exchange(settling_, true)) return;
    settled_.expires_after(settle_);
    settled_.async_wait([this](boost::system::error_code cancelled) {
      if (cancelled) return;
      over_ = true;
      boost::system::error_code ignored;
      for (Trial& trial : attempts_) {
        if (!trial.attempt.reached) trial.socket.close(ignored);
      }
    });
  }

  static constexpr const char* kLate = "no answer in time";
  static constexpr const char* kOnlySmall = "small packets pass, large ones do not";

  asio::io_context& context_;
  std::string job_id_;
  std::uint32_t payload_;
  std::chrono::milliseconds settle_;
  asio::steady_timer settled_;
  bool settling_ = false, over_ = false;
  std::chrono::milliseconds patience_{};  // of one attempt
  std::vector<Trial> attempts_;
  std::size_t next_ = 0;                   // the first that nobody makes yet
  std::set<std::uint32_t> waiting_nodes_;  // not reached anywhere yet
};

awaitable<void> take_payload(tcp::socket& socket) {
  boost::system::error_code error;
  std::array<unsigned char, 4> head{};
  co_await asio::async_read(socket, asio::buffer(head), quietly(error));
  if (error) co_return;
  std::uint32_t left = 0;
  for (std::size_t i = 0; i < 4; ++i) left |= static_cast<std::uint32_t>(head[i]) << (8 * i);
  // Anybody can connect while we listen.
  if (left > kMaxPayloadBytes) co_return;
  std::string piece(kProbePieceBytes, '\0');
  while (left > 0) {
    const std::size_t most = std::min<std::size_t>(left, piece.size());
    const std::size_t got =
        co_await socket.async_read_some(asio::buffer(piece, most), quietly(error));
    if (error) co_return;
    left -= static_cast<std::uint32_t>(got);
  }
  co_await asio::async_write(socket, asio::buffer(kDone), quietly(error));
}

// Sends our line, then receives a payload if there is one.
awaitable<void> attend(asio::io_context& context, std::shared_ptr<tcp::socket> peer,
                       std::string line) {
  SocketDeadline deadline(context, *peer);
  boost::system::error_code error;
  co_await asio::async_write(*peer, asio::buffer(line), quietly(error));
  if (!error) co_await take_payload(*peer);
  peer->close(error);
  co_await deadline.settle();
}

}  // namespace

Listener::Listener(asio::io_context& context, std::string job_id,
                   std::vector<std::string> addresses)
    : context_(context), job_id_(std::move(job_id)), addresses_(std::move(addresses)) {}

Listening Listener::open(TaskGroup& tasks, const Listen& how) {
  close();
  const bool anywhere = how.highest_port == 0;
  BoundPort probe =
      anywhere ? bind_any_port() : bind_port_within(how.lowest_port, how.highest_port);
  master_ = anywhere ? bind_master_port() : bind_port_within(how.lowest_port, how.highest_port);
  acceptors_.push_back(std::make_shared<tcp::acceptor>(context_, tcp::v4(), probe.v4.release()));
  if (probe.v6.valid()) {
    acceptors_.push_back(std::make_shared<tcp::acceptor>(context_, tcp::v6(), probe.v6.release()));
  }
  for (const auto& acceptor : acceptors_) {
    tasks.spawn(answer(acceptor, tasks, probe_line(job_id_, how.node)));
  }
  return {probe.port, master_.port, addresses_};
}

void Listener::close() {
  boost::system::error_code ignored;
  for (const auto& acceptor : acceptors_) acceptor->close(ignored);
  acceptors_.clear();
  master_ = BoundPort{};
}

awaitable<void> Listener::answer(std::shared_ptr<tcp::acceptor> acceptor, TaskGroup& tasks,
                                 std::string line) {
  for (;;) {
    const auto peer = std::make_shared<tcp::socket>(context_);  // shared with attend()
    boost::system::error_code error;
    co_await acceptor->async_accept(*peer, quietly(error));
    if (!acceptor->is_open()) co_return;
    if (error) {
      // Mostly for want of descriptors, of which some come back.
      asio::steady_timer pause(context_, kShortagePause);
      co_await pause.async_wait(quietly(error));
      continue;
    }
    // A program that is started meanwhile would keep the connection open.
    keep_in_this_process(*peer);
    tasks.spawn(attend(context_, peer, line));
  }
}

awaitable<Reached> reach_all(asio::io_context& context, Reach wanted, std::string job_id) {
  Round round(context, wanted, std::move(job_id));
  Reached reached;
  reached.attempts = co_await round.run();
  const std::vector<Nic> nics = list_nics();
  for (Attempt& attempt : reached.attempts) {
    attempt.local_interface = interface_of(nics, attempt.local_address);
  }
  co_return reached;
}

}  // namespace dtl
