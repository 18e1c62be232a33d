// A table instead of nested conditions: it shows the choice for every operation, and
// tests/ring/choice_test.cc can check each.
#include "ring/operation/choice.h"

#include <algorithm>
#include <array>

#include "ring/links/shm_segment.h"

namespace dtl::ring {
namespace {

// Bytes.
constexpr std::uint64_t kDeterministicShort = 32 << 10;
constexpr std::uint64_t kMostPartial = 64 << 20;  // of all ranks' parts of a reduce_scatter

// Conditions that rows may require of a communicator and a request.
enum Circumstance : int {
  kAny = 0,
  kBrief = 1,      // at most kSmallBytes
  kFew = 2,        // at most kMaxDirect ranks
  kSpread = 4,     // no two of them share a node
  kShared = 8,     // some do share one
  kTwoOfOne = 16,  // two ranks on one node, and values need no rounding
  kInRanks = 32,   // sums must be made in order of rank
  kModest = 64,    // halving needs a buffer of half the data, and it may have one
  kSteps = 128,    // the cost model says that the way with the fewest steps is the quickest
  kStream = 256,   // that sending everything once is, however many steps it takes
  kBoard = 512,    // all ranks are on one node, and what they show fits the board
};

// The first row whose conditions hold counts.
struct Row {
  Opcode opcode;
  Algorithm algorithm;
  int circumstances;
  Way way;
};
constexpr auto kAll = Algorithm::kOnly;
// clang-format off
constexpr std::array kRows{
    Row{Opcode::kAllreduce,     Algorithm::kOneShot,  kBoard,         Way::kBoard},
    Row{Opcode::kAllreduce,     Algorithm::kOneShot,  kAny,           Way::kAtOnce},
    Row{Opcode::kAllreduce,     Algorithm::kDoubling, kAny,           Way::kDoubling},
    Row{Opcode::kAllreduce,     Algorithm::kLeaders,  kAny,           Way::kLeaders},
    Row{Opcode::kAllreduce,     kAll,                 kTwoOfOne,      Way::kAnswers},
    Row{Opcode::kAllreduce,     kAll,                 kInRanks,       Way::kInOrder},
    Row{Opcode::kAllreduce,     kAll,                 kShared,        Way::kOverNodes},
    Row{Opcode::kAllreduce,     Algorithm::kRing,     kAny,           Way::kAround},
    Row{Opcode::kAllreduce,     Algorithm::kHalving,  kAny,           Way::kHalving},
    Row{Opcode::kAllreduce,     Algorithm::kGroups,   kAny,           Way::kGroups},
    Row{Opcode::kAllreduce,     kAll,                 kAny,           Way::kDirect},
    Row{Opcode::kReduceScatter, kAll,                 kBoard,         Way::kBoard},
    Row{Opcode::kReduceScatter, kAll,                 kFew,           Way::kDirect},
    Row{Opcode::kReduceScatter, kAll,                 kInRanks,       Way::kDirect},
    Row{Opcode::kReduceScatter, kAll,                 kModest,        Way::kHalving},
    Row{Opcode::kReduceScatter, kAll,                 kAny,           Way::kDirect},
    Row{Opcode::kReduce,        kAll,                 kFew,           Way::kDirect},
    Row{Opcode::kReduce,        kAll,                 kInRanks,       Way::kDirect},
    Row{Opcode::kReduce,        kAll,                 kSteps,         Way::kTree},
    Row{Opcode::kReduce,        kAll,                 kAny,           Way::kHalving},
    Row{Opcode::kAllgather,     kAll,                 kBoard,         Way::kBoard},
    Row{Opcode::kAllgather,     kAll,                 kFew | kSpread, Way::kDirect},
    Row{Opcode::kAllgather,     kAll,                 kFew,           Way::kAround},
    Row{Opcode::kAllgather,     kAll,                 kSteps,         Way::kDoubling},
    Row{Opcode::kAllgather,     kAll,                 kAny,           Way::kAround},
    Row{Opcode::kBroadcast,     kAll,                 kFew | kBrief,  Way::kTree},
    Row{Opcode::kBroadcast,     kAll,                 kFew,           Way::kChain},
    Row{Opcode::kBroadcast,     kAll,                 kSteps,         Way::kTree},
    Row{Opcode::kBroadcast,     kAll,                 kStream,        Way::kChain},
    Row{Opcode::kBroadcast,     kAll,                 kAny,           Way::kBinary},
    Row{Opcode::kGather,        kAll,                 kAny,           Way::kDirect},
    Row{Opcode::kScatter,       kAll,                 kAny,           Way::kDirect},
    Row{Opcode::kAlltoall,      kAll,                 kAny,           Way::kDirect},
    Row{Opcode::kBarrier,       kAll,                 kBoard,         Way::kBoard},
    Row{Opcode::kBarrier,       kAll,                 kFew,           Way::kDirect},
    Row{Opcode::kBarrier,       kAll,                 kAny,           Way::kDoubling},
    Row{Opcode::kPair,          kAll,                 kAny,           Way::kDirect},
};
// clang-format on

// Values are only rounded for the wire in sums of floats: other operations promise the original
// bits.
Wire wire_of(const Request& request, const Terms& terms) {
  const bool is_sum =
      request.opcode == Opcode::kAllreduce || request.opcode == Opcode::kReduceScatter;
  const bool can_travel = request.dtype == DT_F32 && (request.op == DT_SUM || request.op == DT_AVG);
  const int wire = request.wire == DT_WIRE_DEFAULT ? terms.wire : request.wire;
  return is_sum && can_travel && wire > DT_WIRE_EXACT ? static_cast<Wire>(wire) : Wire::kExact;
}

// Whether what a rank shows fits, and what it reads is less than other ways would take.
bool fits_board(const Request& request, const Terms& terms, std::uint64_t bytes) {
  if (terms.nodes > 1) return false;
  const auto world = static_cast<std::uint64_t>(terms.world);
  if (request.opcode == Opcode::kReduceScatter) return bytes <= kBoardBytes / world;
  return bytes <= kBoardBytes &&
         (request.opcode != Opcode::kAllreduce || bytes <= kMostOnBoard / world);
}

Algorithm algorithm_of(const Request& request, const Terms& terms, std::uint64_t bytes, Wire wire) {
  if (request.opcode != Opcode::kAllreduce || terms.world == 1) return Algorithm::kOnly;
  if (terms.is_deterministic) {
    // Both of these sum in order of rank whatever the size is. The others use an order that depends
    // on who has which share.
    const bool is_short =
        wire == Wire::kExact && bytes <= kDeterministicShort &&
        (static_cast<std::size_t>(terms.world) <= kMaxDirect || fits_board(request, terms, bytes));
    return is_short ? Algorithm::kOneShot : Algorithm::kDirect;
  }
  return request.algorithm == Algorithm::kOnly ? terms.table.choose(bytes) : request.algorithm;
}

Lane lane_of(const Request& request, std::uint64_t bytes, int world) {
  if (request.opcode == Opcode::kPair) return Lane::kPair;
  // For alltoallv no rank knows all counts, so none may decide by its own.
  if (request.receive_counts != nullptr) return Lane::kBulk;
  // Counts all ranks, because all blocks move at the same time.
  const bool is_per_rank =
      request.opcode == Opcode::kReduceScatter || request.opcode == Opcode::kGather ||
      request.opcode == Opcode::kScatter || request.opcode == Opcode::kAlltoall;
  const std::uint64_t ranks = is_per_rank ? static_cast<std::uint64_t>(world) : 1;
  return bytes <= kSmallBytes / ranks ? Lane::kSmall : Lane::kBulk;
}

// What the cost model says about operations whose rows ask for it.
int predicted(Opcode opcode, const Terms& terms, std::uint64_t bytes) {
  const WorldShape shape{static_cast<std::size_t>(terms.world), terms.nodes};
  if (opcode == Opcode::kReduce) {
    const auto time = [&](Way way) { return reduce_time(way, shape, bytes, terms.costs); };
    return time(Way::kTree) < time(Way::kHalving) ? kSteps : 0;
  }
  if (opcode == Opcode::kAllgather) {
    const auto time = [&](Way way) { return allgather_time(way, shape, bytes, terms.costs); };
    return time(Way::kDoubling) < time(Way::kAround) ? kSteps : 0;
  }
  if (opcode != Opcode::kBroadcast) return 0;
  const auto time = [&](Way way) { return broadcast_time(way, shape, bytes, terms.costs); };
  const double tree = time(Way::kTree), binary = time(Way::kBinary), chain = time(Way::kChain);
  if (tree <= std::min(binary, chain)) return kSteps;
  return chain < binary ? kStream : 0;
}

Way way_of(const Request& request, const Choice& choice, const Terms& terms, std::uint64_t bytes) {
  const auto world = static_cast<std::size_t>(terms.world);
  const bool is_two_of_one =
      world == 2 && terms.nodes == 1 && (!terms.is_deterministic || choice.wire == Wire::kExact);
  const bool is_on_board = choice.wire == Wire::kExact && fits_board(request, terms, bytes);
  const int given = (is_on_board ? kBoard : 0) | (bytes <= kSmallBytes ? kBrief : 0) |
                    (world <= kMaxDirect ? kFew : 0) | (terms.nodes < world ? kShared : kSpread) |
                    (is_two_of_one ? kTwoOfOne : 0) | (terms.is_deterministic ? kInRanks : 0) |
                    (bytes <= kMostPartial / world ? kModest : 0) |
                    (world > kMaxDirect ? predicted(request.opcode, terms, bytes) : 0);
  const auto* row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& each) {
    return each.opcode == request.opcode &&
           (each.algorithm == kAll || each.algorithm == choice.algorithm) &&
           (each.circumstances & given) == each.circumstances;
  });
  return row == kRows.end() ? Way::kDirect : row->way;
}

}  // namespace

Choice choose(const Request& request, const Terms& terms) {
  const std::uint64_t bytes = agreed_count(request, terms.world) * element_bytes(request.dtype);
  Choice choice;
  choice.wire = wire_of(request, terms);
  choice.algorithm = algorithm_of(request, terms, bytes, choice.wire);
  const bool is_whole = choice.algorithm == Algorithm::kOneShot ||
                        choice.algorithm == Algorithm::kDoubling ||
                        choice.algorithm == Algorithm::kLeaders;
  if (is_whole) choice.wire = Wire::kExact;  // all ranks make the sum, from the same values
  choice.lane = lane_of(request, bytes, terms.world);
  choice.way = way_of(request, choice, terms, bytes);
  return choice;
}

}  // namespace dtl::ring
