// dtlaunch's end of a tree, with the agents' ends of its connections played by hand.
#include "launcher/tree/agent_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "wire/fd_stream.h"
#include "wire/task_group.h"

namespace dtl {
namespace {

// A stream that keeps what is written to it.
class Written final : public ByteStream {
 public:
  explicit Written(asio::io_context& context)
      : wake_(context, asio::steady_timer::time_point::max()) {}
  awaitable<std::string> read() override {
    boost::system::error_code woken;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    co_return std::string();
  }
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    for (std::string& piece : pieces) reader.feed(std::move(piece));
    co_return;
  }
  void close() override { wake_.cancel(); }

  FrameReader reader;

 private:
  asio::steady_timer wake_;
};

NodeFacts facts_of(int node) {
  NodeFacts facts;
  const std::string last = std::to_string(node + 1);
  facts.reached_at = "10.1.0." + last;
  facts.nics = {{"lo", true, true, {"127.0.0.1"}},
                {"eth0", true, false, {"10.0.0." + last, "fe80::" + last}},
                {"eth1", true, false, {"10.1.0." + last}},
                {"eth2", false, false, {"10.2.0." + last}},
                {"docker0", true, false, {"172.17.0.1"}, {16}, true}};
  return facts;
}

// Node 0 is not in the tree. Of the others 1 and 2 are tops, 3 and 4 below 1, 5 below 2, 6 as well;
// 7 below 3.
class AgentTreeTest : public testing::Test {
 protected:
  AgentTreeTest()
      : group_(context_), tree_(context_, 8, {1, 2, 3, 4, 5, 6, 7}, TreeShape(7, 2), {}, hooks()) {
    for (int node = 0; node < 8; ++node) {
      auto stream = std::make_shared<Written>(context_);
      connections_[node] = std::make_shared<Connection>(context_, stream, "");
      streams_[node] = std::move(stream);
      group_.spawn(connections_[node]->run_writer());
    }
  }
  ~AgentTreeTest() override {
    for (auto& [node, connection] : connections_) connection->close();
    turn();
  }
  TreeHooks hooks() {
    return {
        [this](int node) { return connections_[node]; },
        [this](int node, std::shared_ptr<BranchLink> link) { arrived_[node] = std::move(link); },
        [this](std::vector<int> nodes) { alive_ = std::move(nodes); },
        [this](int node, const std::string& text) {
          remarks_ += std::to_string(node) + ": " + text + "\n";
        }};
  }
  void turn() {
    context_.restart();
    context_.poll();
  }
  // The next message to a node.
  std::optional<Message> next(int node) {
    turn();
    return streams_[node]->reader.next();
  }
  JoinTree joins(int node) {
    const std::optional<Message> message = next(node);
    if (!message || !std::holds_alternative<JoinTree>(*message)) return {};
    return std::get<JoinTree>(*message);
  }
  void ready(int node) { tree_.ready(node, facts_of(node), InterfaceFilter()); }
  void listens(int node) {
    ready(node);
    tree_.hear(node, TreeJoined{static_cast<std::uint32_t>(7000 + node), ""});
  }
  void relay(int top, const Parcel& parcel) {
    Relayed relayed;
    encode_parcel(parcel, relayed.bytes);
    tree_.hear(top, relayed);
  }
  std::optional<Parcel> parcel_to(int top) {
    const std::optional<Message> message = next(top);
    if (!message || !std::holds_alternative<Relayed>(*message)) return std::nullopt;
    ParcelReader reader;
    reader.feed(std::get<Relayed>(*message).bytes);
    return reader.next();
  }

  asio::io_context context_;
  std::map<int, std::shared_ptr<Written>> streams_;
  std::map<int, std::shared_ptr<Connection>> connections_;
  TaskGroup group_;
  std::map<int, std::shared_ptr<BranchLink>> arrived_;
  std::vector<int> alive_;
  std::string remarks_;
  AgentTree tree_;
};

TEST_F(AgentTreeTest, TellsEachAgentOnceThoseAboveItListen) {
  ready(7);
  ready(3);
  EXPECT_FALSE(next(7));
  EXPECT_FALSE(next(3));
  ready(1);
  const JoinTree top = joins(1);
  EXPECT_EQ(top.node, 1u);
  EXPECT_EQ(top.relay_key.size(), 32u);
  EXPECT_TRUE(top.parents.empty());
  tree_.hear(1, TreeJoined{7001, ""});
  EXPECT_FALSE(next(3)) << "the other top is unknown";
  listens(2);
  const JoinTree below = joins(3);
  ASSERT_EQ(below.parents.size(), 2u);
  EXPECT_EQ(below.parents[0].node, 1u);
  EXPECT_EQ(below.parents[0].port, 7001u);
  EXPECT_EQ(below.parents[0].addresses, (std::vector<std::string>{"10.1.0.2", "10.0.0.2"}));
  EXPECT_EQ(below.parents[0].key, hmac_sha256(top.relay_key, "3"));
  EXPECT_EQ(below.parents[1].node, 2u);
  EXPECT_FALSE(next(7));
  tree_.hear(3, TreeJoined{7003, ""});
  const JoinTree leaf = joins(7);
  ASSERT_EQ(leaf.parents.size(), 3u);
  EXPECT_EQ(leaf.relay_key, "") << "nobody is below it";
  EXPECT_NE(leaf.branch_key, below.branch_key);
}

TEST_F(AgentTreeTest, GoesRoundAgentsThatDoNotListen) {
  ready(1);
  tree_.hear(1, TreeJoined{0, "no port is free"});
  tree_.lost(2);
  ready(3);
  EXPECT_FALSE(next(3)) << "it has nowhere to connect to";
  EXPECT_EQ(remarks_,
            "1: no other agent can connect to it: no port is free\n"
            "3: stays on its login: no other agent listens\n");
  EXPECT_FALSE(tree_.has(0));
}

TEST_F(AgentTreeTest, FollowsTheNewestBranch) {
  for (const int node : {1, 2, 3}) listens(node);
  relay(1, {ParcelKind::kArrived, 5, 1, ""});
  EXPECT_FALSE(arrived_.contains(5)) << "it was not told to join";
  relay(1, {ParcelKind::kArrived, 3, 1, ""});
  const std::shared_ptr<BranchLink> first = arrived_[3];
  ASSERT_TRUE(first);
  relay(2, {ParcelKind::kArrived, 3, 2, ""});
  ASSERT_NE(arrived_[3], first);
  EXPECT_EQ(first->ending(), kConnectionLost);
  relay(1, {ParcelKind::kLeft, 3, 1, ""});
  relay(1, {ParcelKind::kArrived, 3, 1, ""});
  EXPECT_EQ(arrived_[3]->ending(), "");
  relay(2, {ParcelKind::kAlive, 0, 0, encode_nodes({1, 2, 3, 5, 7})});
  EXPECT_EQ(alive_, std::vector<int>{3}) << "those on a branch";
  tree_.lost(2);
  EXPECT_EQ(arrived_[3]->ending(), kConnectionLost);
}

TEST_F(AgentTreeTest, SaysThatNobodyNeedsABranchAnyMore) {
  for (const int node : {1, 2, 3}) listens(node);
  joins(1);
  relay(1, {ParcelKind::kArrived, 3, 4, ""});
  arrived_[3]->close();
  const std::optional<Parcel> left = parcel_to(1);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->kind, ParcelKind::kLeft);
  EXPECT_EQ(left->node, 3u);
  EXPECT_EQ(left->stream, 4u);
}

TEST_F(AgentTreeTest, SendsOneFrameForManyNodesOnceToEachTop) {
  for (const int node : {1, 2, 3, 4, 5, 6}) listens(node);
  for (const int node : {3, 4, 5}) {
    relay(node == 5 ? 2 : 1, {ParcelKind::kArrived, static_cast<std::uint32_t>(node), 1, ""});
  }
  for (const int node : {1, 2}) joins(node);
  PmiFenced fenced;
  for (int i = 0; i < 40; ++i)
    fenced.entries.push_back({std::to_string(i), std::string(4096, 'v')});
  const std::optional<SharedFrame> shared = tree_.share({0, 1, 2, 3, 4, 5}, fenced);
  ASSERT_TRUE(shared);
  ASSERT_EQ(shared->digests.size(), 3u);
  for (const int top : {1, 2}) {
    std::string bytes;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::optional<Parcel> piece = parcel_to(top);
      ASSERT_TRUE(piece);
      EXPECT_EQ(piece->kind, ParcelKind::kPiece);
      EXPECT_EQ(sha256_hex(piece->bytes), to_hex(shared->digests[i]));
      bytes += piece->bytes;
    }
    EXPECT_FALSE(parcel_to(top));
    FrameReader reader;
    reader.feed(bytes);
    EXPECT_EQ(std::get<PmiFenced>(reader.next().value()).entries.size(), 40u);
  }
  // What did not come is given again, in the conversation.
  EXPECT_TRUE(tree_.hear(5, PieceWanted{shared->digests[1]}));
  joins(5);
  const std::optional<Message> given = next(5);
  ASSERT_TRUE(given && std::holds_alternative<PieceGiven>(*given));
  EXPECT_EQ(sha256_hex(std::get<PieceGiven>(*given).bytes), to_hex(shared->digests[1]));
  EXPECT_THROW(tree_.hear(5, PieceWanted{std::string(32, 'x')}), Error);
}

TEST_F(AgentTreeTest, SharesNothingThatFewNodesNeedOrThatIsSmall) {
  for (const int node : {1, 2, 3, 4, 5, 6}) listens(node);
  for (const std::uint32_t node : {3U, 4U, 5U}) relay(1, {ParcelKind::kArrived, node, 1, ""});
  joins(1);
  PmiFenced fenced{{{"k", std::string(4096, 'v')}}, false};
  EXPECT_FALSE(tree_.share({0, 1, 2, 3, 4}, fenced)) << "two of five";
  fenced.entries[0].value.resize(500);
  EXPECT_FALSE(tree_.share({3, 4, 5}, fenced));
  EXPECT_FALSE(parcel_to(1));
}

TEST_F(AgentTreeTest, RefusesGarbageFromAgents) {
  for (const int node : {1, 2, 3}) listens(node);
  EXPECT_THROW(tree_.hear(1, TreeJoined{7001, ""}), Error);
  EXPECT_THROW(tree_.hear(0, TreeJoined{7001, ""}), Error);
  EXPECT_THROW(relay(3, {ParcelKind::kArrived, 7, 1, ""}), Error) << "it has a parent";
  EXPECT_THROW(relay(1, Parcel{}), Error) << "a pulse";
  EXPECT_THROW(tree_.hear(1, Relayed{"x"}), Error);
  EXPECT_THROW(relay(1, {ParcelKind::kAlive, 0, 0, encode_nodes({8})}), Error);
  relay(1, {ParcelKind::kBytes, 99, 1, "late"});
  relay(1, {ParcelKind::kBytes, 2, 1, "to a top"});
}

TEST(AddressesOf, ObeyTheUsersInterfaces) {
  using List = std::vector<std::string>;
  EXPECT_EQ(addresses_of(facts_of(4), InterfaceFilter("eth0")), List{"10.0.0.5"});
  EXPECT_EQ(addresses_of(facts_of(4), InterfaceFilter("^eth0")), List{"10.1.0.5"});
  EXPECT_EQ(addresses_of(facts_of(4), InterfaceFilter("docker0")), List{"172.17.0.1"});
}

}  // namespace
}  // namespace dtl
