#pragma once
// An agent as a coroutine in the launcher's process: it greets, says Hello, then answers each
// message as the test wants.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "launcher/session/session.h"
#include "wire/connection.h"
#include "wire/fd_stream.h"
#include "wire/greeting.h"
#include "wire/task_group.h"

namespace dtl::testing_support {

class FakeStream : public AgentStream {
 public:
  explicit FakeStream(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
  awaitable<std::string> read() override { return stream_->read(); }
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    return stream_->write_pieces(std::move(pieces));
  }
  void close() override { stream_->close(); }
  std::string standard_error() const override { return "last words\n"; }
  std::string ending() const override { return "killed by SIGKILL"; }

 private:
  std::unique_ptr<ByteStream> stream_;
};

// Answers one launcher message by sending others; returns false to end the agent.
using Behaviour = std::function<bool(const Message&, Connection&)>;

struct FakeAgent {
  std::string noise;
  std::string version = DTL_VERSION;
  NodeFacts facts;
  Behaviour behaviour;
  std::string trouble = {};  // sent instead of Hello
};

inline NodeFacts two_cores() {
  NodeFacts facts;
  facts.agent_version = DTL_VERSION;
  facts.topology.cores = {{0, 0, {0}}, {0, 0, {1}}};
  facts.topology.allowed = CpuSet({0, 1});
  return facts;
}

inline awaitable<void> write_all_queued(std::shared_ptr<Connection> connection) {
  try {
    co_await connection->run_writer();
  } catch (const Error&) {
  }
}

inline awaitable<void> live(asio::io_context& context, FakeAgent agent, Fd fd, TaskGroup& tasks) {
  auto stream = make_fd_stream(context, std::move(fd));
  Greeting greeting{kProtocol, agent.version, std::string(32, '0')};
  std::string hello = agent.noise + to_line(greeting);
  co_await stream->write(std::move(hello));
  auto connection = std::make_shared<Connection>(context, std::move(stream), std::string());
  tasks.spawn(write_all_queued(connection));
  try {
    for (;;) {
      const auto message = co_await connection->receive();
      if (!message) break;
      if (std::holds_alternative<Welcome>(*message) && agent.trouble.empty()) {
        connection->send(Hello{agent.facts});
      } else if (std::holds_alternative<Welcome>(*message)) {
        connection->send(Trouble{agent.trouble});
        break;
      }
      if (!agent.behaviour(*message, *connection)) break;
    }
  } catch (const Error&) {
  }
  connection->finish();
  co_await connection->wait_below(1);
  connection->close();
}

// A healthy node: listens, starts, finishes. `on_start` plays the ranks.
inline Behaviour healthy(std::function<void(const RankSpec&, Connection&)> on_start,
                         Behaviour others = nullptr) {
  return [=](const Message& message, Connection& connection) {
    if (const auto* listen = std::get_if<Listen>(&message)) {
      Listening listening;
      listening.probe_port = 4000;
      listening.master_port = 20001;
      listening.addresses.push_back("10.0.0." + std::to_string(listen->node + 1));
      connection.send(listening);
    } else if (const auto* asked = std::get_if<Examine>(&message)) {
      Examined examined;
      for (const Fact& fact : asked->parameters) examined.facts.push_back({fact.name, ""});
      connection.send(examined);
    } else if (const auto* reach = std::get_if<Reach>(&message)) {
      Reached reached;
      for (const Endpoint& endpoint : reach->endpoints) {
        const std::string own = endpoint.node == 0 ? "10.0.0.2" : "10.0.0.1";
        reached.attempts.push_back({endpoint, true, own, "eth0", ""});
      }
      connection.send(reached);
    } else if (std::holds_alternative<ClaimCores>(message)) {
      connection.send(CoresClaimed{});
    } else if (const auto* start = std::get_if<Start>(&message)) {
      for (const RankSpec& spec : start->ranks) {
        connection.send(Started{spec.rank, 1000 + spec.rank});
        on_start(spec, connection);
      }
    } else if (std::holds_alternative<Finish>(message)) {
      connection.send(Finished{});
      return false;
    }
    return others == nullptr || others(message, connection);
  };
}

inline void exit_with(Connection& connection, std::uint32_t rank, std::uint32_t code) {
  Exited exited;
  exited.rank = rank;
  exited.code = code;
  connection.send(exited);
}

inline void print(Connection& connection, std::uint32_t rank, Stream stream,
                  const std::string& text) {
  connection.send(Output{rank, stream, text});
}

}  // namespace dtl::testing_support
