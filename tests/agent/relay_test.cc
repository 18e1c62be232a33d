#include "agent/tree/relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace dtl::relay_test {
namespace {

using namespace std::chrono_literals;

std::vector<Parcel> parcels_of(const std::string& bytes) {
  ParcelReader reader;
  reader.feed(bytes);
  std::vector<Parcel> parcels;
  while (auto parcel = reader.next()) parcels.push_back(std::move(*parcel));
  return parcels;
}

// "arrived 3.1", "bytes 3.1 text", "alive 0 3", ...
std::string text_of(const Parcel& parcel) {
  const std::string to = " " + std::to_string(parcel.node) + "." + std::to_string(parcel.stream);
  switch (parcel.kind) {
    case ParcelKind::kArrived:
      return "arrived" + to;
    case ParcelKind::kLeft:
      return "left" + to;
    case ParcelKind::kBytes:
      return "bytes" + to + " " + parcel.bytes;
    case ParcelKind::kPulse:
      return "pulse";
    case ParcelKind::kPiece:
      return "piece" + parcel.bytes;
    case ParcelKind::kAlive:
      break;
  }
  std::string text = "alive";
  for (const std::uint32_t node : decode_nodes(parcel.bytes, 100)) {
    text += " " + std::to_string(node);
  }
  return text;
}

using Texts = std::vector<std::string>;

// Node 7 with two parents, at 0 s.
class RelayTest : public testing::Test {
 protected:
  Texts up(RelayTime now = 100s) {
    Texts texts;
    for (std::string bytes; !(bytes = relay_.take_up(now)).empty();) {
      for (const Parcel& parcel : parcels_of(bytes)) texts.push_back(text_of(parcel));
    }
    return texts;
  }
  Texts down(EdgeId edge) {
    Texts texts;
    for (std::string bytes; !(bytes = relay_.take_down(edge)).empty();) {
      for (const Parcel& parcel : parcels_of(bytes)) texts.push_back(text_of(parcel));
    }
    return texts;
  }
  template <class E>
  std::optional<E> effect() {
    std::optional<E> found;
    for (RelayEffect& each : relay_.take_effects()) {
      if (auto* wanted = std::get_if<E>(&each)) found = std::move(*wanted);
    }
    return found;
  }
  // With node 8 below it on edge 1, whose branch 1 has begun.
  void connect(RelayTime now = 0s) {
    relay_.connected(now);
    relay_.edge_begins(1, 8, now);
    relay_.from_below(1, {ParcelKind::kArrived, 8, 1, {}}, now);
    relay_.take_effects();
    up();
  }
  Relay relay_{7, 2, 0s};
};

TEST_F(RelayTest, CallsItsParentsInTurnAndBeginsABranchWithTheFirstThatAnswers) {
  EXPECT_EQ(effect<CallParent>()->parent, 0u);
  relay_.not_connected(1s);
  EXPECT_EQ(effect<CallParent>()->parent, 1u);
  relay_.not_connected(2s);
  EXPECT_FALSE(effect<CallParent>()) << "no pause after all of them";
  EXPECT_LE(relay_.due(), 2s + Relay::kPause);
  relay_.time_passed(2s + Relay::kPause);
  EXPECT_EQ(effect<CallParent>()->parent, 0u);
  relay_.connected(3s);
  EXPECT_EQ(effect<BranchBegins>()->stream, 1u);
  EXPECT_EQ(up(), Texts{"arrived 7.1"});
}

TEST_F(RelayTest, PassesBytesOfTheNewestBranchOnlyOn) {
  connect();
  relay_.from_below(1, {ParcelKind::kBytes, 8, 1, "a"}, 1s);
  relay_.from_below(1, {ParcelKind::kArrived, 8, 2, {}}, 1s);
  relay_.from_below(1, {ParcelKind::kBytes, 8, 1, "late"}, 1s);
  relay_.from_below(1, {ParcelKind::kLeft, 8, 1, {}}, 1s);
  relay_.from_below(1, {ParcelKind::kBytes, 8, 2, "b"}, 1s);
  EXPECT_EQ(up(), (Texts{"bytes 8.1 a", "arrived 8.2", "bytes 8.2 b"}));
  relay_.from_above({ParcelKind::kBytes, 8, 1, "late"}, 1s);
  relay_.from_above({ParcelKind::kBytes, 8, 2, "order"}, 1s);
  EXPECT_EQ(down(1), Texts{"bytes 8.2 order"});
}

TEST_F(RelayTest, TellsBothSidesThatABranchHasEnded) {
  connect();
  relay_.edge_begins(2, 9, 1s);
  relay_.from_below(2, {ParcelKind::kArrived, 9, 4, {}}, 1s);
  relay_.edge_ended(1);
  EXPECT_EQ(up(), (Texts{"arrived 9.4", "left 8.1"}));
  relay_.uplink_ended(5s);
  EXPECT_EQ(down(2), Texts{"left 9.4"});
  EXPECT_TRUE(effect<BranchEnds>());
}

TEST_F(RelayTest, KeepsWhatBeginsWithoutAnUplinkUntilThereIsOne) {
  connect();
  relay_.uplink_ended(5s);
  relay_.from_below(1, {ParcelKind::kBytes, 8, 1, "lost with the branch"}, 5s);
  relay_.from_below(1, {ParcelKind::kArrived, 8, 2, {}}, 5s);
  EXPECT_EQ(up(), Texts{});
  relay_.connected(6s);
  EXPECT_EQ(up(), (Texts{"arrived 7.2", "arrived 8.2"}));
}

TEST_F(RelayTest, LeavesAParentThatSendsNoPulses) {
  connect();
  relay_.take_effects();
  relay_.from_above({}, 3s);
  EXPECT_EQ(down(1), Texts{"pulse"});
  const RelayTime patience = Relay::kPulsePatience + Relay::kPatiencePerParent;
  relay_.time_passed(3s + patience - 1ms);
  EXPECT_FALSE(effect<DropUplink>());
  relay_.time_passed(3s + patience);
  const auto effects = relay_.take_effects();
  ASSERT_EQ(effects.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<DropUplink>(effects[0]));
  EXPECT_TRUE(std::holds_alternative<BranchEnds>(effects[1]));
  EXPECT_EQ(std::get<CallParent>(effects[2]).parent, 1u);
}

TEST_F(RelayTest, BeginsAnotherBranchAfterAPauseWhenDtlaunchEndsOne) {
  connect();
  relay_.from_above({ParcelKind::kLeft, 7, 1, {}}, 10ms);
  EXPECT_TRUE(effect<BranchEnds>());
  relay_.time_passed(Relay::kPause - 1ms);
  EXPECT_FALSE(effect<BranchBegins>());
  relay_.time_passed(Relay::kPause);
  EXPECT_EQ(effect<BranchBegins>()->stream, 2u);
}

TEST_F(RelayTest, SaysOnceASecondWhoLives) {
  connect();
  relay_.time_passed(0s);
  EXPECT_EQ(up(), Texts{"alive 7"});
  relay_.from_below(1, {ParcelKind::kAlive, 0, 0, encode_nodes({8, 10, 11})}, 500ms);
  relay_.from_below(1, {ParcelKind::kAlive, 0, 0, encode_nodes({8, 9})}, 900ms);
  relay_.send(1, "output");
  relay_.time_passed(1s);
  EXPECT_EQ(up(), (Texts{"alive 7 8 9 10 11", "bytes 7.1 output"}));
}

TEST_F(RelayTest, MergesWhoLivesWhileNothingIsTaken) {
  connect();
  for (int second = 0; second < 100; ++second) {
    relay_.from_below(1, {ParcelKind::kAlive, 0, 0, encode_nodes({8})}, second * 1s);
    relay_.time_passed(second * 1s);
  }
  EXPECT_LT(relay_.queued_bytes(), 100u);
}

TEST_F(RelayTest, DropsAChildThatIsSilentButNotOneThatIsNotRead) {
  connect();
  for (RelayTime now = 0s; now < Relay::kEdgeSilence; now += 1s) {
    relay_.from_above({}, now);
    relay_.time_passed(now);
  }
  EXPECT_FALSE(effect<DropEdge>());
  while (!relay_.is_up_full()) relay_.send(1, std::string(kMaxParcelBytes, 'x'));
  relay_.from_above({}, 9s);
  relay_.time_passed(9s);
  EXPECT_FALSE(effect<DropEdge>());
  up();
  for (RelayTime now = 10s; now <= 18s; now += 1s) {
    relay_.from_above({}, now);
    relay_.time_passed(now);
  }
  EXPECT_EQ(effect<DropEdge>()->edge, 1u);
}

TEST_F(RelayTest, GivesUpAChildThatTakesNothingAndNobodyElse) {
  connect();
  relay_.edge_begins(2, 9, 0s);
  relay_.from_below(2, {ParcelKind::kArrived, 9, 1, {}}, 0s);
  up();
  const std::string bytes(kMaxParcelBytes, 'x');
  for (std::size_t sent = 0; sent < 2 * Relay::kMostDown; sent += bytes.size()) {
    relay_.from_above({ParcelKind::kBytes, 8, 1, bytes}, 1s);
    EXPECT_LE(relay_.queued_bytes(), Relay::kMostDown + 2 * kMaxParcelBytes);
  }
  EXPECT_EQ(effect<DropEdge>()->edge, 1u);
  EXPECT_EQ(up(), Texts{"left 8.1"});
  relay_.from_above({ParcelKind::kBytes, 9, 1, "order"}, 1s);
  EXPECT_EQ(down(2), Texts{"bytes 9.1 order"});
}

TEST_F(RelayTest, LetsAFewBytesWaitForOthersAfterAWrite) {
  connect();
  relay_.send(1, "a");
  EXPECT_EQ(up(200s), Texts{"bytes 7.1 a"});
  relay_.send(1, "b");
  EXPECT_EQ(up(200s), Texts{});
  EXPECT_EQ(relay_.up_due(), 200s + Relay::kGather);
  relay_.from_below(1, {ParcelKind::kArrived, 8, 2, {}}, 200s);
  EXPECT_EQ(up(200s), (Texts{"bytes 7.1 b", "arrived 8.2"})) << "a branch waits";
  relay_.send(1, std::string(Relay::kGatherBytes, 'x'));
  EXPECT_EQ(up(200s).size(), 1u) << "many bytes wait";
}

TEST_F(RelayTest, TakesAChildThatCallsAgainForTheSameOne) {
  connect();
  relay_.edge_begins(2, 8, 1s);
  EXPECT_EQ(effect<DropEdge>()->edge, 1u);
  EXPECT_EQ(up(), Texts{"left 8.1"});
  relay_.from_below(2, {ParcelKind::kArrived, 8, 2, {}}, 1s);
  EXPECT_EQ(up(), Texts{"arrived 8.2"});
}

TEST_F(RelayTest, GivesANewChildAPulseIfDtlaunchLives) {
  connect();
  relay_.edge_begins(2, 9, 1s);
  EXPECT_EQ(down(2), Texts{}) << "none was heard yet";
  relay_.from_above({}, 2s);
  relay_.edge_begins(3, 10, 2500ms);
  EXPECT_EQ(down(3), Texts{"pulse"});
  relay_.edge_begins(4, 11, 3s);
  EXPECT_EQ(down(4), Texts{});
}

TEST_F(RelayTest, PassesPiecesToAllChildrenAndKeepsThem) {
  connect();
  relay_.edge_begins(2, 9, 0s);
  relay_.take_effects();
  relay_.from_above({ParcelKind::kPiece, 0, 0, " of a frame"}, 1s);
  EXPECT_EQ(down(1), Texts{"piece of a frame"});
  EXPECT_EQ(down(2), Texts{"piece of a frame"});
  EXPECT_EQ(effect<PieceComes>()->bytes, " of a frame");
  EXPECT_EQ(up(), Texts{});
}

TEST_F(RelayTest, GivesNoPieceToAChildThatTakesNothing) {
  connect();
  const std::string piece(kMaxParcelBytes, 'p');
  for (std::size_t sent = 0; sent < 2 * Relay::kMostDown; sent += piece.size()) {
    relay_.from_above({ParcelKind::kPiece, 0, 0, piece}, 1s);
  }
  EXPECT_LT(relay_.queued_bytes(), Relay::kMostDown);
  relay_.from_above({ParcelKind::kBytes, 8, 1, "an order"}, 1s);
  EXPECT_EQ(down(1).back(), "bytes 8.1 an order");
  EXPECT_FALSE(effect<DropEdge>());
}

TEST_F(RelayTest, RefusesParcelsThatGoTheOtherWay) {
  connect();
  EXPECT_THROW(relay_.from_above({ParcelKind::kArrived, 8, 2, {}}, 1s), Error);
  EXPECT_THROW(relay_.from_above({ParcelKind::kAlive, 0, 0, {}}, 1s), Error);
  EXPECT_THROW(relay_.from_below(1, {}, 1s), Error);
  EXPECT_THROW(relay_.from_below(1, {ParcelKind::kPiece, 0, 0, "p"}, 1s), Error);
  EXPECT_THROW(relay_.from_below(1, {ParcelKind::kArrived, 7, 9, {}}, 1s), Error);
  EXPECT_THROW(relay_.from_below(1, {ParcelKind::kArrived, Relay::kMostNodes, 1, {}}, 1s), Error);
}

TEST(RelayAtTheTop, HasNoBranchAndNeedsNoPulses) {
  Relay relay(3, 0, 0s);
  EXPECT_TRUE(relay.is_connected());
  relay.time_passed(100s);
  EXPECT_TRUE(relay.take_effects().empty());
  const std::vector<Parcel> said = parcels_of(relay.take_up(100s));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(text_of(said[0]), "alive 3");
}

}  // namespace
}  // namespace dtl::relay_test
