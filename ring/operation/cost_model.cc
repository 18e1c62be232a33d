// In each function: m bytes, n ranks or h nodes, p ranks on each node, L = ceil(log2 n).
#include "ring/operation/cost_model.h"

#include <algorithm>
#include <bit>

namespace dtl::ring {
namespace {

// Bytes that a rank must have before it passes the first ones on.
constexpr double kFrame = 64 << 10;

double steps_of(std::size_t members) {
  return static_cast<double>(std::bit_width(members - 1));
}

// With another number than a power of two, one member of halving moves one and a half times as
// much as the others.
double unevenness_of(std::size_t members) {
  return std::has_single_bit(members) ? 1.0 : 1.5;
}

// Seconds of a sum among `members`, of which each has its own link.
double flat_time(Algorithm algorithm, std::size_t members, double m, const LinkCosts& costs) {
  const auto n = static_cast<double>(members);
  const double alpha = costs.latency, steps = steps_of(members), share = (n - 1) / n;
  const double moved = share * m * (2 * costs.byte + costs.added_byte);
  switch (algorithm) {
    case Algorithm::kDirect:
      return 2 * (alpha + (n - 2) * costs.overhead) + moved;
    case Algorithm::kRing:
      return 2 * (n - 1) * alpha + moved;
    case Algorithm::kHalving:
      return 2 * steps * alpha + unevenness_of(members) * moved;
    case Algorithm::kGroups: {
      const auto g = static_cast<double>(group_size_of(members));
      if (g < 2) return flat_time(Algorithm::kHalving, members, m, costs);
      return 4 * alpha + 2 * (g + n / g - 4) * costs.overhead + moved;
    }
    default: {
      const double each = alpha + m * (costs.byte + costs.added_byte);
      // If the number is not a power of two, there is one step more before and one after.
      const double folds = std::has_single_bit(members) ? 0 : 1;
      return (steps + folds) * each;
    }
  }
}

}  // namespace

void set_latency(LinkCosts& costs, WorldShape shape, double seconds) {
  if (shape.nodes == 1) {
    costs.local_latency = seconds;
    return;
  }
  costs.latency = seconds;
  costs.overhead = seconds * LinkCosts{}.overhead / LinkCosts{}.latency;
}

void set_byte(LinkCosts& costs, WorldShape shape, double seconds) {
  (shape.nodes == 1 ? costs.local_byte : costs.byte) = seconds;
}

std::size_t group_size_of(std::size_t members) {
  std::size_t best = 1;
  for (std::size_t size = 2; size * size <= members; ++size) {
    if (members % size == 0) best = size;
  }
  return best;
}

double allreduce_time(Algorithm algorithm, WorldShape shape, std::uint64_t bytes,
                      const LinkCosts& costs) {
  const auto n = static_cast<double>(shape.ranks), h = static_cast<double>(shape.nodes);
  const auto m = static_cast<double>(bytes);
  const double p = n / h;
  const double local_message = costs.local_latency + m * costs.local_byte;
  if (algorithm == Algorithm::kOneShot && shape.nodes == 1) {
    // On boards, which each rank reads without any message.
    return costs.local_latency + (n - 1) * m * (costs.local_byte + costs.added_byte);
  }
  if (algorithm == Algorithm::kOneShot) {
    return (shape.nodes > 1 ? costs.latency : costs.local_latency) + (n - 2) * costs.overhead +
           p * (n - p) * m * costs.byte + (n - 1) * m * costs.added_byte;
  }
  if (algorithm == Algorithm::kLeaders) {
    // A leader takes the messages of its node one after the other, and sends as many.
    const double local = p > 1 ? 2 * (local_message + (p - 2) * m * costs.local_byte) : 0;
    return local + (p > 1 ? (p - 1) * m * costs.added_byte : 0) +
           (shape.nodes > 1 ? flat_time(Algorithm::kDoubling, shape.nodes, m, costs) : 0);
  }
  if (algorithm == Algorithm::kDoubling) {
    // Neighbours share a node, so the first steps are local, and the exchange of pairs. In the
    // others all ranks of a node send at once.
    const double folds = std::has_single_bit(shape.ranks) ? 0 : 1;
    const double distant = (shape.nodes > 1 ? steps_of(shape.nodes) : 0);
    const double across = distant + (p > 1 ? 0 : folds);
    const double local = steps_of(shape.ranks) - distant + (p > 1 ? folds : 0);
    return std::max(0.0, local) * local_message +
           across * (costs.latency + (p - 1) * costs.overhead + p * m * costs.byte) +
           (steps_of(shape.ranks) + folds) * m * costs.added_byte;
  }
  // Within the nodes and across them at the same time.
  const double across = shape.nodes > 1 ? flat_time(algorithm, shape.nodes, m, costs) : 0;
  const double within = p > 1 ? 2 * costs.local_latency : 0;
  const double moved = p > 1 ? 2 * m * costs.local_byte : 0;
  return within + std::max(across, moved);
}

double broadcast_time(Way way, WorldShape shape, std::uint64_t bytes, const LinkCosts& costs) {
  const auto n = static_cast<double>(shape.ranks), m = static_cast<double>(bytes);
  const double frame = std::min(m, kFrame) * costs.byte, steps = steps_of(shape.ranks);
  if (way == Way::kTree) return steps * (costs.latency + m * costs.byte);
  if (way == Way::kBinary) return 2 * m * costs.byte + steps * (costs.latency + 2 * frame);
  return m * costs.byte + (n - 1) * (costs.latency + frame);
}

double reduce_time(Way way, WorldShape shape, std::uint64_t bytes, const LinkCosts& costs) {
  const auto m = static_cast<double>(bytes);
  const double steps = steps_of(shape.ranks);
  if (way == Way::kTree) return steps * (costs.latency + m * (costs.byte + costs.added_byte));
  const double p = static_cast<double>(shape.ranks) / static_cast<double>(shape.nodes);
  return 2 * steps * costs.latency +
         unevenness_of(shape.ranks) * m * ((p + 1) * costs.byte + costs.added_byte);
}

double allgather_time(Way way, WorldShape shape, std::uint64_t bytes, const LinkCosts& costs) {
  const auto n = static_cast<double>(shape.ranks), m = static_cast<double>(bytes);
  const double p = n / static_cast<double>(shape.nodes);
  if (way == Way::kDoubling) {
    return steps_of(shape.ranks) * costs.latency + unevenness_of(shape.ranks) * p * m * costs.byte;
  }
  // Around a ring, only the last rank of a node sends to another.
  return (n - 1) * (costs.latency / p + costs.local_latency) + m * costs.byte;
}

}  // namespace dtl::ring
