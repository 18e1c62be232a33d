// The choice of algorithm, lane and wire format, and the buffers that each needs.
#include "ring/operation/choice.h"

#include <gtest/gtest.h>

#include <array>
#include <ostream>

#include "ring/links/shm_segment.h"

namespace dtl::ring {

static void PrintTo(const Choice& choice, std::ostream* out) {
  *out << "algorithm " << int(choice.algorithm) << ", way " << int(choice.way) << ", lane "
       << int(choice.lane) << ", wire " << int(choice.wire);
}
static bool operator==(const Choice& one, const Choice& other) {
  return one.algorithm == other.algorithm && one.way == other.way && one.lane == other.lane &&
         one.wire == other.wire;
}

namespace test::choice_test {
namespace {

constexpr auto kOnly = Algorithm::kOnly, kOneShot = Algorithm::kOneShot, kRing = Algorithm::kRing,
               kDoubling = Algorithm::kDoubling, kDirect = Algorithm::kDirect;
constexpr std::uint64_t kKi = 1 << 10, kMi = 1 << 20;

Terms terms(int world, std::size_t nodes) {
  Terms terms;
  terms.world = world;
  terms.nodes = nodes;
  terms.table = AlgorithmTable::by_default(world, nodes);
  return terms;
}

Terms deterministic(int world, std::size_t nodes) {
  Terms result = terms(world, nodes);
  result.is_deterministic = true;
  return result;
}

Request floats(Opcode opcode, std::uint64_t bytes, int wire = DT_WIRE_EXACT) {
  Request request;
  request.opcode = opcode;
  request.dtype = DT_F32;
  request.count = bytes / sizeof(float);
  request.wire = wire;
  return request;
}

Request allreduce(std::uint64_t bytes, int wire = DT_WIRE_EXACT) {
  return floats(Opcode::kAllreduce, bytes, wire);
}

Choice bytes_of(Opcode opcode, std::uint64_t bytes, const Terms& terms) {
  return choose(floats(opcode, bytes), terms);
}

TEST(Choice, OfAnAllreduceFollowsTheTableOfSizes) {
  const auto apart = terms(4, 4);
  EXPECT_EQ(choose(allreduce(4), apart), (Choice{kOneShot, Way::kAtOnce, Lane::kSmall}));
  EXPECT_EQ(choose(allreduce(32 * kKi), apart), (Choice{kDirect, Way::kDirect, Lane::kSmall}));
  EXPECT_EQ(choose(allreduce(kMi), apart), (Choice{kDirect, Way::kDirect, Lane::kBulk}));
  const auto many = terms(32, 32);
  EXPECT_EQ(choose(allreduce(4), many), (Choice{kDoubling, Way::kDoubling, Lane::kSmall}));
  EXPECT_EQ(choose(allreduce(kMi), many),
            (Choice{Algorithm::kHalving, Way::kHalving, Lane::kBulk}));
}

TEST(Choice, OfAnAllreduceThatNamesItsAlgorithmIsThat) {
  Request request = allreduce(4);
  request.algorithm = kRing;
  EXPECT_EQ(choose(request, terms(4, 4)), (Choice{kRing, Way::kAround, Lane::kSmall}));
}

TEST(Choice, WhereRanksShareNodesIsToSumWithinAndAcrossThem) {
  EXPECT_EQ(choose(allreduce(kMi), terms(4, 2)), (Choice{kDirect, Way::kOverNodes, Lane::kBulk}));
  EXPECT_EQ(choose(allreduce(kMi), terms(4, 1)), (Choice{kDirect, Way::kOverNodes, Lane::kBulk}));
  EXPECT_EQ(choose(allreduce(4), terms(4, 2)), (Choice{kOneShot, Way::kAtOnce, Lane::kSmall}));
  EXPECT_EQ(choose(allreduce(kMi), terms(2, 1)), (Choice{kDirect, Way::kAnswers, Lane::kBulk}));
  EXPECT_EQ(choose(allreduce(kMi), terms(2, 2)), (Choice{kDirect, Way::kDirect, Lane::kBulk}));
}

TEST(Choice, OfDeterministicSumsIsInOrderOfRankWhateverTheTableSays) {
  auto given = deterministic(4, 2);
  given.table = AlgorithmTable::parse("ring", given.table);
  EXPECT_EQ(choose(allreduce(32 * kKi), given), (Choice{kOneShot, Way::kAtOnce, Lane::kSmall}));
  EXPECT_EQ(choose(allreduce(32 * kKi + 4), given), (Choice{kDirect, Way::kInOrder, Lane::kSmall}));
  EXPECT_EQ(choose(allreduce(4), deterministic(17, 17)),
            (Choice{kDirect, Way::kInOrder, Lane::kSmall}));
  Request asked = allreduce(kMi);
  asked.algorithm = kRing;
  EXPECT_EQ(choose(asked, given), (Choice{kDirect, Way::kInOrder, Lane::kBulk}));
}

TEST(Choice, OfTwoDeterministicRanksOfANodeIsToAnswerUnlessValuesAreRounded) {
  const auto two = deterministic(2, 1);
  EXPECT_EQ(choose(allreduce(kMi), two), (Choice{kDirect, Way::kAnswers, Lane::kBulk}));
  EXPECT_EQ(choose(allreduce(kMi, DT_WIRE_BF16), two),
            (Choice{kDirect, Way::kInOrder, Lane::kBulk, Wire::kBf16}));
}

TEST(Choice, RoundsSumsOfFloatsAlone) {
  const auto wire = [](int dtype, int op, Opcode opcode, std::uint64_t bytes = kMi) {
    Request request = floats(opcode, bytes, DT_WIRE_F16);
    request.dtype = dtype;
    request.op = op;
    return choose(request, terms(4, 4)).wire;
  };
  EXPECT_EQ(wire(DT_F32, DT_SUM, Opcode::kAllreduce), Wire::kF16);
  EXPECT_EQ(wire(DT_F32, DT_AVG, Opcode::kReduceScatter), Wire::kF16);
  EXPECT_EQ(wire(DT_F32, DT_MAX, Opcode::kAllreduce), Wire::kExact);
  EXPECT_EQ(wire(DT_F64, DT_SUM, Opcode::kAllreduce), Wire::kExact);
  EXPECT_EQ(wire(DT_F32, DT_SUM, Opcode::kReduce), Wire::kExact);
  EXPECT_EQ(wire(DT_F32, DT_SUM, Opcode::kAllreduce, 4), Wire::kExact) << "all ranks make the sum";
}

TEST(Choice, TakesTheCommunicatorsWireWhereTheCallNamesNone) {
  auto rounded = terms(4, 4);
  rounded.wire = DT_WIRE_BF16;
  EXPECT_EQ(choose(allreduce(kMi, DT_WIRE_DEFAULT), rounded).wire, Wire::kBf16);
  EXPECT_EQ(choose(allreduce(kMi, DT_WIRE_EXACT), rounded).wire, Wire::kExact);
  EXPECT_EQ(choose(allreduce(kMi, DT_WIRE_F16), rounded).wire, Wire::kF16);
}

TEST(Choice, OfALaneCountsWhatAllRanksGetTogether) {
  const auto lane = [](Opcode opcode, std::uint64_t bytes) {
    return bytes_of(opcode, bytes, terms(4, 4)).lane;
  };
  EXPECT_EQ(lane(Opcode::kAllreduce, 64 * kKi), Lane::kSmall);
  EXPECT_EQ(lane(Opcode::kAllreduce, 64 * kKi + 4), Lane::kBulk);
  for (const Opcode each : {Opcode::kReduceScatter, Opcode::kGather, Opcode::kScatter,
                            Opcode::kAlltoall, Opcode::kAllgather}) {
    EXPECT_EQ(lane(each, 16 * kKi), Lane::kSmall) << int(each);
    EXPECT_EQ(lane(each, 16 * kKi + 4), Lane::kBulk) << int(each);
  }
  EXPECT_EQ(lane(Opcode::kPair, 1 << 30), Lane::kPair);
}

TEST(Choice, OfListsOfCountsIsOneThatNoRankAloneCouldMakeDifferently) {
  const std::array<std::uint64_t, 4> counts{1, 2, 3, 16 * kKi};
  Request request = floats(Opcode::kAllgather, 4);
  request.counts = counts.data();
  EXPECT_EQ(choose(request, terms(4, 4)).lane, Lane::kBulk);
  request = floats(Opcode::kAlltoall, 0);
  request.counts = request.receive_counts = counts.data();
  EXPECT_EQ(choose(request, terms(4, 4)).lane, Lane::kBulk) << "other ranks' may be long";
}

TEST(Choice, OfShortOperationsOnOneNodeIsTheBoard) {
  for (const Opcode each : {Opcode::kAllreduce, Opcode::kAllgather, Opcode::kBarrier}) {
    EXPECT_EQ(bytes_of(each, 4, terms(2, 1)).way, Way::kBoard) << int(each);
    EXPECT_EQ(bytes_of(each, 4, terms(200, 1)).way, Way::kBoard) << int(each);
    EXPECT_NE(bytes_of(each, 4, terms(4, 2)).way, Way::kBoard) << int(each);
  }
  EXPECT_EQ(choose(allreduce(kBoardBytes - 4), terms(4, 1)).way, Way::kBoard);
  EXPECT_NE(choose(allreduce(kBoardBytes - 4), terms(5, 1)).way, Way::kBoard) << "too much to read";
  EXPECT_NE(choose(allreduce(kBoardBytes + 4), terms(2, 1)).way, Way::kBoard);
  EXPECT_EQ(bytes_of(Opcode::kReduceScatter, kBoardBytes / 8, terms(8, 1)).way, Way::kBoard);
  EXPECT_NE(bytes_of(Opcode::kReduceScatter, kBoardBytes / 8 + 4, terms(8, 1)).way, Way::kBoard);
  // Broadcasts may end before all have begun them, which the board's reuse forbids.
  EXPECT_NE(bytes_of(Opcode::kBroadcast, 4, terms(2, 1)).way, Way::kBoard);
  Request request = allreduce(4);
  request.algorithm = kRing;
  EXPECT_NE(choose(request, terms(2, 1)).way, Way::kBoard) << "the caller wants another way";
  EXPECT_EQ(choose(allreduce(4), deterministic(32, 1)).way, Way::kBoard);
}

TEST(Choice, OfTheOtherCollectivesDependsOnSizeWorldAndNodes) {
  EXPECT_EQ(bytes_of(Opcode::kAllgather, 4, terms(16, 16)).way, Way::kDirect);
  EXPECT_EQ(bytes_of(Opcode::kAllgather, 4, terms(4, 2)).way, Way::kAround);
  EXPECT_EQ(bytes_of(Opcode::kBroadcast, 64 * kKi, terms(4, 4)).way, Way::kTree);
  EXPECT_EQ(bytes_of(Opcode::kBroadcast, 64 * kKi + 4, terms(4, 4)).way, Way::kChain);
  EXPECT_EQ(bytes_of(Opcode::kBarrier, 0, terms(16, 2)).way, Way::kDirect);
  EXPECT_EQ(bytes_of(Opcode::kBarrier, 0, terms(17, 17)).way, Way::kDoubling);
  for (const Opcode each : {Opcode::kReduceScatter, Opcode::kReduce, Opcode::kGather,
                            Opcode::kScatter, Opcode::kAlltoall, Opcode::kPair}) {
    EXPECT_EQ(bytes_of(each, kMi, terms(16, 2)).way, Way::kDirect) << int(each);
    EXPECT_EQ(bytes_of(each, kMi, deterministic(4, 2)).algorithm, kOnly) << int(each);
  }
}

TEST(Choice, OfManyRanksKeepsTheNumberOfPeersSmall) {
  const Terms many = terms(1024, 1024);
  EXPECT_EQ(bytes_of(Opcode::kAllgather, 4 * kKi, many).way, Way::kDoubling);
  EXPECT_EQ(bytes_of(Opcode::kAllgather, 256 * kMi, terms(17, 17)).way, Way::kAround);
  EXPECT_EQ(bytes_of(Opcode::kBroadcast, 4 * kKi, many).way, Way::kTree);
  EXPECT_EQ(bytes_of(Opcode::kBroadcast, kMi, many).way, Way::kBinary);
  EXPECT_EQ(bytes_of(Opcode::kBroadcast, 1024 * kMi, many).way, Way::kChain);
  EXPECT_EQ(bytes_of(Opcode::kReduce, 4 * kKi, many).way, Way::kTree);
  EXPECT_EQ(bytes_of(Opcode::kReduce, kMi, many).way, Way::kHalving);
  EXPECT_EQ(bytes_of(Opcode::kReduceScatter, 4 * kKi, many).way, Way::kHalving);
  EXPECT_EQ(bytes_of(Opcode::kReduceScatter, kMi, many).way, Way::kDirect)
      << "halving would need 512 MiB";
}

TEST(Choice, OfManyDeterministicRanksKeepsTheirOrder) {
  const Terms many = deterministic(64, 64);
  EXPECT_EQ(bytes_of(Opcode::kReduce, 4, many).way, Way::kDirect);
  EXPECT_EQ(bytes_of(Opcode::kReduceScatter, 4, many).way, Way::kDirect);
}

}  // namespace
}  // namespace test::choice_test
}  // namespace dtl::ring
