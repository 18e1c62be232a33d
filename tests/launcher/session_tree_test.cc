// A session whose agents are a tree: n1 and n2 are its tops, n3 is behind n1. The stand-in for n3
// talks to dtlaunch through the one for n1, loses its branch once, and comes back by another.

#include <vector>

#include "tests/launcher/session_fixture.h"
#include "wire/frame.h"
#include "wire/tls/tls_stream.h"
#include "wire/tree/branch_stream.h"
#include "wire/tree/parcel.h"

namespace dtl::session_tree_test {
namespace {

using namespace testing_support;

class SessionTreeTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    request_.hosts.emplace_back().name = "n3";
    agents_["n3"] = {{}, DTL_VERSION, two_cores(), {}};
    for (auto& [name, agent] : agents_) {
      agent.facts.nics = {{"eth0", true, false, {address_of(name)}, {24}}};
    }
    options_.tree = 2;
    options_.start_agent = [this](asio::io_context& context, Host host) {
      return host.name == "n3" ? start_behind(context) : start(context, host);
    };
    options_.find_agent = [this](asio::io_context&, Host host, std::string, Resume,
                                 std::chrono::steady_clock::time_point) -> awaitable<Rejoined> {
      ++logins_;
      throw Error(Exit::kUnreachable, host.name + ": cannot connect", "no route");
      co_return Rejoined{};
    };
    const auto exits = [](const RankSpec& spec, Connection& connection) {
      exit_with(connection, spec.rank, 0);
    };
    agents_["n1"].behaviour = healthy(exits, [this](const Message& message, Connection& own) {
      if (std::holds_alternative<JoinTree>(message)) {
        top_ = &own;
        own.send(TreeJoined{7001, ""});
      }
      if (const auto* relayed = std::get_if<Relayed>(&message)) pass_down(relayed->bytes);
      return true;
    });
    agents_["n2"].behaviour = healthy(exits, [](const Message& message, Connection& own) {
      if (std::holds_alternative<JoinTree>(message)) own.send(TreeJoined{7002, ""});
      return true;
    });
    // n3's rank ends once it has talked over both branches.
    agents_["n3"].behaviour = healthy([this](const RankSpec& spec, Connection&) {
      rank_ = static_cast<int>(spec.rank);
      go_on();
    });
    for (auto& [name, agent] : agents_) agent.behaviour = reaching(name, agent.behaviour);
  }

  static std::string address_of(const std::string& host) { return "10.0.0." + host.substr(1); }
  // Nodes that reach each other from their own addresses.
  static Behaviour reaching(const std::string& host, const Behaviour& otherwise) {
    return [host, otherwise](const Message& message, Connection& own) {
      if (std::holds_alternative<Reconnect>(message)) own.keep_sent();
      // A relay stays while somebody is behind it.
      if (host == "n1" && std::holds_alternative<Finish>(message)) {
        own.send(Finished{});
        return true;
      }
      const auto* reach = std::get_if<Reach>(&message);
      if (reach == nullptr) return otherwise(message, own);
      Reached reached;
      for (const Endpoint& endpoint : reach->endpoints) {
        reached.attempts.push_back({endpoint, true, address_of(host), "eth0", ""});
      }
      own.send(reached);
      return true;
    };
  }

  awaitable<std::unique_ptr<AgentStream>> start_behind(asio::io_context& context) {
    tasks_ = &*asio::use_service<FakeAgents>(context).tasks;
    context_ = &context;
    SocketPair pair = make_socketpair(SOCK_STREAM);
    tasks_->spawn(live_behind(std::move(pair.first)));
    co_return std::make_unique<FakeStream>(make_fd_stream(context, std::move(pair.second)));
  }

  // As live(), for an agent whose stream may be replaced.
  awaitable<void> live_behind(Fd fd) {
    auto login = make_fd_stream(*context_, std::move(fd));
    std::string line = to_line(Greeting{kProtocol, DTL_VERSION, std::string(32, '0')});
    co_await login->write(std::move(line));
    own_ = std::make_shared<Connection>(*context_, std::move(login), std::string());
    tasks_->spawn(write_all_queued(own_));
    bool goes_on = true;
    while (goes_on && co_await own_->wait_attached()) {
      const std::optional<Message> message = co_await own_->receive();
      if (!message) {
        own_->detach();
        continue;
      }
      if (std::holds_alternative<Welcome>(*message)) own_->send(Hello{agents_["n3"].facts});
      if (const auto* reconnect = std::get_if<Reconnect>(&*message)) {
        token_ = reconnect->token;
        own_->keep_sent();
      }
      if (const auto* order = std::get_if<JoinTree>(&*message)) {
        order_ = *order;
        own_->send(TreeJoined{0, ""});
        tasks_->spawn(climb());
      }
      goes_on = agents_["n3"].behaviour(*message, *own_);
    }
    own_->finish();
    co_await own_->wait_below(1);
    own_->close();
    co_await top_->wait_below(1);
    top_->close();
  }

  void pass_up(ParcelKind kind, std::string bytes) {
    Relayed relayed;
    encode_parcel({kind, order_.node, stream_, std::move(bytes)}, relayed.bytes);
    top_->send(std::move(relayed));
  }
  void pass_down(const std::string& bytes) {
    ParcelReader reader;
    reader.feed(bytes);
    while (std::optional<Parcel> parcel = reader.next()) {
      const bool current = parcel->node == order_.node && parcel->stream == stream_;
      if (current && parcel->kind == ParcelKind::kBytes) branch_->feed(std::move(parcel->bytes));
      if (current && parcel->kind == ParcelKind::kLeft) branch_->end();
    }
  }

  // Begins a branch, and lets dtlaunch go on over it.
  awaitable<void> climb() {
    ++stream_;
    branch_ = std::make_shared<BranchStream>(
        *context_,
        [this](std::string bytes) -> awaitable<void> {
          pass_up(ParcelKind::kBytes, std::move(bytes));
          co_return;
        },
        [] {});
    pass_up(ParcelKind::kArrived, "");
    auto tls = std::make_shared<TlsStream>(branch_, TlsSession::Side::kListens, order_.branch_key,
                                           kBranchPurpose);
    co_await tls->shake_hands();
    FrameReader reader;
    std::optional<Message> message;
    while (!message) {
      std::string bytes = co_await tls->read();
      if (bytes.empty()) co_return;
      reader.feed(std::move(bytes));
      message = reader.next();
    }
    const Resume& offer = std::get<Resume>(*message);
    Resumed answer;
    answer.answer = own_->link().admit(offer, token_);
    answer.attempt = offer.attempt;
    answer.received = own_->link().received();
    EXPECT_EQ(answer.answer, ResumeAnswer::kResumed);
    EXPECT_TRUE(own_->attach(std::move(tls), reader.take_rest(), offer.received, answer));
    on_branch_ = true;
    go_on();
  }

  void go_on() {
    if (rank_ < 0 || !on_branch_) return;
    print(*own_, static_cast<std::uint32_t>(rank_), Stream::kStdout,
          "over branch " + std::to_string(stream_) + "\n");
    if (stream_ == 2) return exit_with(*own_, static_cast<std::uint32_t>(rank_), 0);
    own_->send(Heartbeat{});  // keeps the line from being gathered
    pass_up(ParcelKind::kLeft, "");
    branch_->end();
    on_branch_ = false;
    if (comes_back_) tasks_->spawn(climb());
  }

  asio::io_context* context_ = nullptr;
  TaskGroup* tasks_ = nullptr;
  Connection* top_ = nullptr;        // n1's end
  std::shared_ptr<Connection> own_;  // n3's; shared with its writer
  std::shared_ptr<BranchStream> branch_;
  JoinTree order_;
  std::string token_;
  std::uint32_t stream_ = 0;
  int rank_ = -1, logins_ = 0;
  bool on_branch_ = false, comes_back_ = true;
};

TEST_F(SessionTreeTest, MovesToBranchesInSilence) {
  const SessionResult result = run();
  EXPECT_EQ(result.job.outcome->exit_status, 0) << errors_;
  EXPECT_EQ(output_, "over branch 1\nover branch 2\n");
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(logins_, 0);
}

TEST_F(SessionTreeTest, LogsInAgainIfNoBranchComes) {
  comes_back_ = false;
  options_.find_agent = [](asio::io_context&, Host, std::string, Resume offer,
                           std::chrono::steady_clock::time_point) -> awaitable<Rejoined> {
    Rejoined gone;
    gone.answer.answer = ResumeAnswer::kGone;
    gone.answer.attempt = offer.attempt;
    SocketPair pair = make_socketpair(SOCK_STREAM);
    gone.stream = std::make_shared<FakeStream>(make_fd_stream(
        static_cast<asio::io_context&>((co_await asio::this_coro::executor).context()),
        std::move(pair.first)));
    co_return gone;
  };
  const SessionResult result = run();
  EXPECT_EQ(result.job.outcome->cause, Cause::kAgentFailed) << errors_;
  EXPECT_EQ(result.job.outcome->node, 2);
  EXPECT_NE(errors_.find("n3: the agent failed: the connection was lost, and the agent is gone"),
            std::string::npos)
      << errors_;
}

}  // namespace
}  // namespace dtl::session_tree_test
