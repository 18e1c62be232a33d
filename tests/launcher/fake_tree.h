#pragma once
// FakeTree: fake agents that form a tree, all in one process. Between them there is no network: an
// agent behind others gives its parcels to the agent above all of them, its top, which passes them
// on to the launcher after a moment, as relays do.

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/tree/resume_offer.h"
#include "base/error.h"
#include "tests/launcher/fake_agent.h"
#include "wire/tls/tls_stream.h"
#include "wire/tree/branch_stream.h"
#include "wire/tree/parcel.h"

namespace dtl::testing_support {

class FakeTree {
 public:
  FakeTree(asio::io_context& context, TaskGroup& tasks) : context_(context), tasks_(tasks) {}

  // number: of the node in the job. Its behaviour ends with Finish.
  void add(std::size_t number, FakeAgent agent, Fd fd) {
    Node& node = nodes_[number];
    node.agent = std::move(agent);
    tasks_.spawn(live(number, std::move(fd)));
  }
  std::size_t moved() const { return moved_; }  // agents whose conversation goes over the tree

 private:
  struct Node {
    FakeAgent agent;
    std::shared_ptr<Connection> connection;
    std::string token;
    JoinTree order;
    std::size_t top = 0;
    bool finished = false, leaves = false;
    std::shared_ptr<BranchStream> branch;
    // Of a top.
    std::vector<std::uint32_t> below;
    std::size_t talking = 0;  // of those below
    std::string up;           // waits for more
  };
  static constexpr std::size_t kMostUp = 128 << 10;
  static constexpr auto kGather = std::chrono::milliseconds(10);

  awaitable<void> live(std::size_t number, Fd fd) {
    Node& node = nodes_[number];
    auto login = make_fd_stream(context_, std::move(fd));
    std::string line = to_line(Greeting{kProtocol, DTL_VERSION, std::string(32, '0')});
    co_await login->write(std::move(line));
    node.connection = std::make_shared<Connection>(context_, std::move(login), std::string());
    tasks_.spawn(write_all_queued(node.connection));
    co_await talk(number, node);
    if (!node.order.parents.empty()) {
      node.connection->finish();
      co_await node.connection->wait_below(1);
      node.connection->close();
      --nodes_[node.top].talking;
    }
    node.finished = true;
    leave(node.top);
  }

  awaitable<void> talk(std::size_t number, Node& node) {
    bool goes_on = true;
    while ((goes_on || node.talking > 0) && co_await node.connection->wait_attached()) {
      const std::optional<Message> message = co_await next(*node.connection);
      if (!message && !goes_on) break;
      if (!message) {
        node.connection->detach();
        continue;
      }
      hear(number, *message);
      if (goes_on) goes_on = node.agent.behaviour(*message, *node.connection);
      node.finished = !goes_on;
    }
  }

  // nullopt: the stream has ended. A login is reset if the launcher has not read all of it.
  static awaitable<std::optional<Message>> next(Connection& connection) {
    try {
      co_return co_await connection.receive();
    } catch (const Error&) {
      co_return std::nullopt;
    }
  }

  // A top stays while somebody is behind it.
  void leave(std::size_t number) {
    Node& top = nodes_[number];
    if (!top.finished || top.talking > 0 || top.leaves) return;
    top.leaves = true;
    flush(top);
    top.connection->finish();
    tasks_.spawn(close(top.connection));
  }
  static awaitable<void> close(std::shared_ptr<Connection> connection) {
    co_await connection->wait_below(1);
    connection->close();
  }

  void hear(std::size_t number, const Message& message) {
    Node& node = nodes_[number];
    if (std::holds_alternative<Welcome>(message)) {
      node.connection->send(Hello{node.agent.facts});
    } else if (const auto* reconnect = std::get_if<Reconnect>(&message)) {
      node.token = reconnect->token;
      node.connection->keep_sent();
    } else if (const auto* order = std::get_if<JoinTree>(&message)) {
      node.order = *order;
      node.connection->send(TreeJoined{order->relay_key.empty() ? 0U : 7000U, ""});
      node.top = order->parents.empty() ? number : nodes_[order->parents.front().node].top;
      if (!order->parents.empty()) tasks_.spawn(climb(number));
    } else if (const auto* relayed = std::get_if<Relayed>(&message)) {
      ParcelReader reader;
      reader.feed(relayed->bytes);
      while (std::optional<Parcel> parcel = reader.next()) take(node, std::move(*parcel));
    }
  }

  void take(Node& top, Parcel parcel) {
    Node& node = nodes_[parcel.node];
    if (parcel.kind == ParcelKind::kPulse) {
      pass_up(top, {ParcelKind::kAlive, 0, 0, encode_nodes(top.below)});
    } else if (parcel.kind == ParcelKind::kBytes && node.branch) {
      node.branch->feed(std::move(parcel.bytes));
    } else if (parcel.kind == ParcelKind::kLeft && node.branch) {
      node.branch->end();
    }
  }

  awaitable<void> climb(std::size_t number) {
    Node& node = nodes_[number];
    Node& top = nodes_[node.top];
    const auto own = static_cast<std::uint32_t>(number);
    top.below.insert(std::lower_bound(top.below.begin(), top.below.end(), own), own);
    ++top.talking;
    node.branch = std::make_shared<BranchStream>(
        context_,
        [this, own, &top](std::string bytes) -> awaitable<void> {
          pass_up(top, {ParcelKind::kBytes, own, 1, std::move(bytes)});
          co_return;
        },
        [this, own, &top] {
          pass_up(top, {ParcelKind::kLeft, own, 1, {}});
        });
    pass_up(top, {ParcelKind::kArrived, own, 1, {}});
    try {
      co_await resume(node);
      ++moved_;
    } catch (const Error&) {
      // The launcher needs no branch any more.
    }
  }

  static awaitable<void> resume(Node& node) {
    auto tls = std::make_shared<TlsStream>(node.branch, TlsSession::Side::kListens,
                                           node.order.branch_key, kBranchPurpose);
    co_await tls->shake_hands();
    std::optional<ResumeOffer> resume = co_await hear_resume(*tls);
    if (!resume) throw Error(Exit::kIo, "cannot go on", "no offer came");
    const Resume& offer = resume->offer;
    const Resumed answer{node.connection->link().admit(offer, node.token), offer.attempt,
                         node.connection->link().received()};
    node.connection->attach(std::move(tls), std::move(resume->received), offer.received, answer);
  }

  void pass_up(Node& top, const Parcel& parcel) {
    if (top.up.size() + kParcelHeadBytes + parcel.bytes.size() > kMostUp) flush(top);
    if (top.up.empty()) tasks_.spawn(flush_later(top));
    encode_parcel(parcel, top.up);
  }
  awaitable<void> flush_later(Node& top) {
    asio::steady_timer timer(context_, kGather);
    co_await timer.async_wait(asio::use_awaitable);
    flush(top);
  }
  static void flush(Node& top) {
    if (!top.up.empty()) top.connection->send(Relayed{std::exchange(top.up, {})});
  }

  asio::io_context& context_;
  TaskGroup& tasks_;
  std::map<std::size_t, Node> nodes_;  // does not move them
  std::size_t moved_ = 0;
};

}  // namespace dtl::testing_support
