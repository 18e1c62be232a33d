// Each event goes to the relay; act() then performs what it wants, and wakes the writers that have
// something. Tasks hold their edge by a pointer and compare: during any co_await it may be
// replaced.
#include "agent/tree/tree_seat.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "agent/tree/resume_offer.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/overloaded.h"
#include "wire/tls/tls_stream.h"

namespace dtl {
namespace {

using Clock = asio::steady_timer::clock_type;

constexpr auto kChildrenPatience = 10s;  // they end at about the same time as this agent
// dtlaunch has sent this much on a branch, and this agent has not read it: it never does.
constexpr std::size_t kMostUnread = 16 << 20;

RelayTime relay_now() {
  return std::chrono::duration_cast<RelayTime>(Clock::now().time_since_epoch());
}

Clock::time_point point_of(RelayTime time) {
  return time == RelayTime::max() ? Clock::time_point::max() : Clock::time_point(time);
}

awaitable<void> sleep_on(asio::steady_timer& timer) {
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

}  // namespace

void TreeSeat::Edge::close() {
  closed = true;
  stream->close();
  wake.cancel();
}

TreeSeat::TreeSeat(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                   JoinTree order, Talk talk)
    : context_(context),
      tasks_(tasks),
      connection_(connection),
      order_(std::move(order)),
      talk_(std::move(talk)),
      relay_(order_.node, order_.parents.size(), relay_now()),
      clock_(context),
      to_launcher_(context, Clock::time_point::max()),
      room_(context, Clock::time_point::max()),
      progress_(context, Clock::time_point::max()) {
  if (!order_.relay_key.empty()) listen(order_);
  if (order_.parents.empty()) tasks_.spawn(write_to_launcher());
  act();
}

void TreeSeat::listen(const JoinTree& order) {
  try {
    listener_.emplace(
        context_, tasks_, order.lowest_port, order.highest_port, order.relay_key,
        [this](std::uint32_t node, ProvedEdge edge) { add_child(node, std::move(edge)); });
    joined_.port = listener_->port();
  } catch (const Error& error) {
    joined_.problem = error.what();
  }
}

// ---- the relay's effects

void TreeSeat::act() {
  // perform() may come back here, by closing a branch.
  if (std::exchange(is_acting_, true)) return;
  for (auto effects = relay_.take_effects(); !effects.empty(); effects = relay_.take_effects()) {
    for (RelayEffect& effect : effects) perform(effect);
  }
  is_acting_ = false;
  wake_writers();
  set_clock();
}

void TreeSeat::perform(RelayEffect& effect) {
  const Overloaded carry_out{[&](const CallParent& call) {
                               if (!ends_) tasks_.spawn(climb(order_.parents[call.parent]));
                             },
                             [&](const DropUplink&) {
                               if (uplink_) std::exchange(uplink_, nullptr)->close();
                             },
                             [&](const DropEdge& drop) {
                               const auto child = children_.find(drop.edge);
                               if (child == children_.end()) return;
                               child->second->close();
                               children_.erase(child);
                               progress_.cancel();
                             },
                             [&](const BranchBegins& begins) { begin_branch(begins.stream); },
                             [&](BranchBytes& come) { feed_branch(std::move(come.bytes)); },
                             [&](const BranchEnds&) {
                               if (branch_) branch_->bytes->end();
                               room_.cancel();
                             },
                             [&](const HeardPulse&) {
                               if (is_on_branch()) talk_.heard();
                             },
                             [&](PieceComes& come) { talk_.piece(std::move(come.bytes)); }};
  std::visit(carry_out, effect);
}

void TreeSeat::wake_writers() {
  for (const auto& [id, edge] : children_) {
    if (relay_.has_down(id)) edge->wake.cancel();
  }
  if (!is_gathering_ || relay_.up_due() <= relay_now()) {
    if (uplink_) uplink_->wake.cancel();
    to_launcher_.cancel();
  }
  if (!relay_.is_up_full()) room_.cancel();
}

void TreeSeat::set_clock() {
  const RelayTime due = relay_.due();
  if (due == clock_at_) return;
  clock_at_ = due;
  clock_.expires_at(point_of(due));
  clock_.async_wait([this](boost::system::error_code cancelled) {
    if (cancelled) return;
    clock_at_ = RelayTime::max();
    relay_.time_passed(relay_now());
    act();
  });
}

// ---- children

void TreeSeat::add_child(std::uint32_t node, ProvedEdge proved) {
  const EdgeId id = next_edge_++;
  auto edge = std::make_shared<Edge>(context_, std::move(proved.stream));
  children_[id] = edge;
  relay_.edge_begins(id, node, relay_now());
  tasks_.spawn(write_child(id, edge));
  tasks_.spawn(read_child(id, edge));
  act();
}

awaitable<void> TreeSeat::read_child(EdgeId id, std::shared_ptr<Edge> edge) {
  ParcelReader reader;
  try {
    while (!edge->closed) {
      const std::string bytes = co_await edge->stream->read();
      if (bytes.empty()) break;
      reader.feed(bytes);
      while (auto parcel = reader.next()) {
        relay_.from_below(id, std::move(*parcel), relay_now());
      }
      act();
      // The kernel, and then the child, hold back what comes next.
      while (relay_.is_up_full() && !edge->closed) co_await sleep_on(room_);
    }
  } catch (const Error& error) {
    log_debug(fmt::format("the edge of a child: {}", error.what()));
  }
  edge->close();
  children_.erase(id);
  relay_.edge_ended(id);
  progress_.cancel();
  act();
}

awaitable<void> TreeSeat::write_child(EdgeId id, std::shared_ptr<Edge> edge) {
  try {
    while (!edge->closed) {
      std::string bytes = relay_.take_down(id);
      if (bytes.empty()) {
        co_await sleep_on(edge->wake);
      } else {
        co_await edge->stream->write(std::move(bytes));
      }
    }
  } catch (const Error&) {
    edge->close();  // its reader sees the end
  }
}

// ---- upward

awaitable<void> TreeSeat::climb(TreeParent parent) {
  std::optional<ProvedEdge> proved;
  try {
    proved = co_await call_parent(context_, parent, order_.node);
  } catch (const Error& error) {
    log_debug(error.what());
  }
  if (!proved || ends_) {
    relay_.not_connected(relay_now());
    co_return act();
  }
  const auto edge = std::make_shared<Edge>(context_, std::move(proved->stream));
  uplink_ = edge;
  tasks_.spawn(write_uplink(edge, proved->socket));
  relay_.connected(relay_now());
  act();
  co_await read_uplink(edge);
}

awaitable<void> TreeSeat::read_uplink(std::shared_ptr<Edge> edge) {
  ParcelReader reader;
  try {
    while (!edge->closed) {
      const std::string bytes = co_await edge->stream->read();
      if (bytes.empty()) break;
      reader.feed(bytes);
      while (auto parcel = reader.next()) {
        if (edge == uplink_) relay_.from_above(std::move(*parcel), relay_now());
      }
      act();
    }
  } catch (const Error& error) {
    log_debug(fmt::format("the edge to a parent: {}", error.what()));
  }
  edge->close();
  if (edge == uplink_) {
    uplink_.reset();
    relay_.uplink_ended(relay_now());
  }
  progress_.cancel();
  act();
}

awaitable<void> TreeSeat::write_uplink(std::shared_ptr<Edge> edge, int socket) {
  try {
    while (!edge->closed && edge == uplink_) {
      std::string bytes = relay_.take_up(relay_now());
      if (bytes.empty()) {
        if (ends_ && !relay_.has_up()) break;
        co_await wait_for_up(edge->wake);
        continue;
      }
      wake_writers();  // there is room
      is_writing_up_ = true;
      co_await edge->stream->write(std::move(bytes));
      is_writing_up_ = false;
      progress_.cancel();
    }
    // The parent then closes the edge. If we did, bytes that we have not read would make the kernel
    // discard what it has not sent.
    if (ends_ && !edge->closed) ::shutdown(socket, SHUT_WR);
  } catch (const Error&) {
    is_writing_up_ = false;
    edge->close();
  }
}

awaitable<void> TreeSeat::write_to_launcher() {
  while (!connection_.closed()) {
    co_await connection_.wait_below(Relay::kMostUp);
    std::string bytes = relay_.take_up(relay_now());
    if (bytes.empty()) {
      co_await wait_for_up(to_launcher_);
      continue;
    }
    connection_.send(Relayed{std::move(bytes)});
    wake_writers();
    progress_.cancel();
  }
}

awaitable<void> TreeSeat::wait_for_up(asio::steady_timer& wake) {
  wake.expires_at(point_of(relay_.up_due()));
  is_gathering_ = relay_.has_up();
  co_await sleep_on(wake);
  is_gathering_ = false;
}

void TreeSeat::take(const Relayed& relayed) {
  const Error malformed(Exit::kVersion, "malformed Relayed message", "it is not for this agent");
  if (!order_.parents.empty()) throw malformed;
  from_launcher_.feed(relayed.bytes);
  while (auto parcel = from_launcher_.next()) relay_.from_above(std::move(*parcel), relay_now());
  if (!from_launcher_.is_empty()) throw malformed;
  act();
}

// ---- this node's branch

void TreeSeat::begin_branch(std::uint32_t stream) {
  branch_ = std::make_shared<Branch>();
  branch_->stream = stream;
  branch_->bytes = std::make_shared<BranchStream>(
      context_,
      [this, stream](std::string bytes) { return send_on_branch(stream, std::move(bytes)); },
      [this, stream] {
        relay_.branch_closed(stream, relay_now());
        room_.cancel();
        act();
      });
  tasks_.spawn(serve_branch(branch_));
}

void TreeSeat::feed_branch(std::string bytes) {
  if (!branch_->taken && !branch_->deadline) {
    branch_->deadline = std::make_unique<StreamDeadline>(context_, *branch_->bytes, kHelloDeadline);
  }
  branch_->bytes->feed(std::move(bytes));
  if (branch_->bytes->unread_bytes() > kMostUnread) branch_->bytes->close();
}

awaitable<void> TreeSeat::serve_branch(std::shared_ptr<Branch> branch) {
  auto tls = std::make_unique<TlsStream>(branch->bytes, TlsSession::Side::kListens,
                                         order_.branch_key, kBranchPurpose);
  std::optional<ResumeOffer> resume;
  try {
    co_await tls->shake_hands();
    resume = co_await hear_resume(*tls);
  } catch (const Error& error) {
    log_debug(fmt::format("a branch: {}", error.what()));
  }
  branch->deadline.reset();
  if (branch != branch_ || branch->bytes->has_ended()) co_return;
  branch->taken = true;  // before the launcher's return is an event
  if (!resume || !talk_.offered(resume->offer, std::move(tls), std::move(resume->received))) {
    branch->taken = false;
    branch->bytes->close();
  }
}

awaitable<void> TreeSeat::send_on_branch(std::uint32_t stream, std::string bytes) {
  while (relay_.is_up_full() && relay_.owns(stream)) co_await sleep_on(room_);
  if (!relay_.owns(stream)) throw Error(Exit::kIo, "cannot write", "the branch has ended");
  relay_.send(stream, std::move(bytes));
  act();
}

// ---- leaving

awaitable<void> TreeSeat::wait_for_children() {
  if (listener_) listener_->close();
  const auto by = Clock::now() + kChildrenPatience;
  while ((!children_.empty() || !is_drained()) && Clock::now() < by) {
    progress_.expires_at(by);
    co_await sleep_on(progress_);
  }
}

awaitable<void> TreeSeat::flush() {
  ends_ = true;
  wake_writers();
  while (uplink_) {
    progress_.expires_at(Clock::time_point::max());
    co_await sleep_on(progress_);
  }
}

}  // namespace dtl
