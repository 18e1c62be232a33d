// Each collective is a few lines using GroupPlan. This rank's data for itself is copied here, while
// the schedule is made, since no link would do it.
#include "ring/operation/scheduler.h"

#include <algorithm>
#include <cstring>

#include "ring/operation/allreduce_plan.h"
#include "ring/operation/halving_plan.h"
#include "ring/operation/reduce_plan.h"

namespace dtl::ring {
namespace {

// A member's place in a tree with the root 0.
struct Tree {
  std::size_t parent = 0;
  std::vector<std::size_t> children;
};

// The members after a range's first are split into two ranges, whose first ones are its children.
// So neighbours, which may share a node, stay together.
Tree binary_tree_of(std::size_t me, std::size_t members) {
  Tree tree;
  std::size_t first = 0, end = members;
  for (;;) {
    const std::size_t middle = first + 1 + (end - first) / 2;
    if (me == first) {
      // The longer half first.
      if (first + 1 < end) tree.children.push_back(first + 1);
      if (middle < end) tree.children.push_back(middle);
      return tree;
    }
    tree.parent = first;
    if (me < middle) {
      ++first;
      end = std::min(end, middle);
    } else {
      first = middle;
    }
  }
}

// The parent is the number without its lowest set bit; each child adds a lower bit than that. The
// child with the largest subtree comes first, because its leaves wait longest.
Tree binomial_tree_of(std::size_t me, std::size_t members) {
  Tree tree;
  std::size_t bit = 1;
  while (bit < members && (me & bit) == 0) bit *= 2;
  tree.parent = me & (me - 1);
  for (bit /= 2; bit > 0; bit /= 2) {
    if (me + bit < members) tree.children.push_back(me + bit);
  }
  return tree;
}

Tree tree_of(Way way, std::size_t me, std::size_t members) {
  if (way == Way::kTree) return binomial_tree_of(me, members);
  if (way == Way::kBinary) return binary_tree_of(me, members);
  Tree chain;
  if (me > 0) chain.parent = me - 1;
  if (me + 1 < members) chain.children.push_back(me + 1);
  return chain;
}

// How many peers send operands of one sum to a rank; equal on all ranks.
std::size_t most_senders(const Choice& choice, const NodeMap& map) {
  std::size_t on_a_node = 1;
  for (const auto& ranks : map.nodes) on_a_node = std::max(on_a_node, ranks.size());
  switch (choice.way) {
    case Way::kAround:
    case Way::kHalving:
    case Way::kDoubling:
    case Way::kTree:
    case Way::kBinary:
    case Way::kChain:
      return 2;
    case Way::kLeaders:
      return on_a_node;
    case Way::kOverNodes:
      // Around a ring and by halving, operands come one by one.
      if (choice.algorithm == Algorithm::kRing || choice.algorithm == Algorithm::kHalving) {
        return std::max<std::size_t>(2, on_a_node);
      }
      return static_cast<std::size_t>(map.world);
    case Way::kGroups:
      return static_cast<std::size_t>(map.world) /
             group_size_of(static_cast<std::size_t>(map.world));
    default:
      return static_cast<std::size_t>(map.world);
  }
}

}  // namespace

Scheduler::Scheduler(const Operation& operation, const NodeMap& map, Arena& scratch,
                     Schedule& schedule)
    : operation_(operation),
      request_(operation.request()),
      map_(map),
      scratch_(scratch),
      schedule_(schedule),
      flows_(operation, most_senders(operation.choice(), map), schedule),
      groups_(operation, map.rank, flows_, scratch) {}

void Scheduler::plan() {
  if (operation_.choice().way == Way::kBoard) return plan_board();
  switch (request_.opcode) {
    case Opcode::kAllreduce:
      plan_allreduce();
      break;
    case Opcode::kReduceScatter:
      plan_reduce_scatter();
      break;
    case Opcode::kReduce:
      plan_reduce();
      break;
    case Opcode::kAllgather:
      plan_allgather();
      break;
    case Opcode::kBroadcast:
      plan_broadcast();
      break;
    case Opcode::kGather:
    case Opcode::kScatter:
      plan_rooted(request_.opcode == Opcode::kGather);
      break;
    case Opcode::kAlltoall:
      plan_alltoall();
      break;
    case Opcode::kBarrier:
      plan_barrier();
      break;
    case Opcode::kPair:
      plan_pair();
      break;
  }
  flows_.set_headers();
}

void Scheduler::plan_allreduce() {
  AllreducePlan(operation_, map_, flows_, groups_, scratch_).plan();
}

void Scheduler::plan_reduce_scatter() {
  const Group group = everybody(map_);
  std::vector<Share> shares;
  for (std::size_t i = 0; i < group.size(); ++i) shares.push_back({{i * bytes(), bytes()}});
  // Sums are written to out, not where they are in `in`: out only holds the own share.
  const std::size_t me = groups_.place_in(group);
  std::byte* base = request_.out - me * bytes();
  const GroupPlan::Buffers buffers{request_.in, base, operation_.choice().wire, true};
  if (operation_.choice().way != Way::kHalving) return groups_.reduce(group, buffers, shares);
  HalvingPlan halving(group, me, flows_);
  const Span summed = whole_of(shares, halving.summed());
  // Halving sums more than the own share, and `out` has no room for that.
  std::byte* partial = summed.bytes == 0 ? base : scratch_.take(summed.bytes) - summed.at;
  halving.reduce(buffers, partial, shares);
}

void Scheduler::plan_reduce() {
  ReducePlan(operation_, map_, flows_, groups_, scratch_).plan();
}

void Scheduler::plan_allgather() {
  const std::size_t element = operation_.element();
  std::vector<Share> by_rank;
  std::uint64_t at = 0;
  for (const std::uint64_t count : operation_.counts()) {
    by_rank.push_back({{at, count * element}});
    at += count * element;
  }
  const Span& own = by_rank[static_cast<std::size_t>(map_.rank)][0];
  if (own.bytes > 0 && request_.in != request_.out + own.at) {
    std::memcpy(request_.out + own.at, request_.in, own.bytes);
  }
  const GroupPlan::Buffers buffers{request_.in, request_.out, Wire::kExact, true};
  if (operation_.choice().way == Way::kDirect) {
    return groups_.spread(everybody(map_), buffers, by_rank);
  }
  if (operation_.choice().way == Way::kDoubling) {
    const Group all = everybody(map_);
    return HalvingPlan(all, groups_.place_in(all), flows_).gather(buffers, by_rank);
  }
  const Group group = by_node(map_);
  std::vector<Share> shares;
  for (const int rank : group) shares.push_back(by_rank[static_cast<std::size_t>(rank)]);
  groups_.gather_around(group, request_.out, shares);
}

// Along one of three trees. A binomial tree has the fewest steps, which matters for short data. In
// a chain, which visits each node once, each rank sends everything only once, and long data keeps
// all its links busy; but it takes as many steps as there are ranks. In a binary tree each rank
// sends everything at most twice, in about 2 log2(n) steps.
void Scheduler::plan_broadcast() {
  Group group = by_node(map_);
  std::rotate(group.begin(), std::find(group.begin(), group.end(), request_.root), group.end());
  const std::size_t me = groups_.place_in(group);
  const Tree tree = tree_of(operation_.choice().way, me, group.size());
  Gate there{};
  if (me > 0) {
    Incoming piece;
    piece.target = request_.out;
    piece.bytes = bytes();
    there = flows_.receive(group[tree.parent], piece);
  }
  for (const std::size_t child : tree.children) {
    flows_.send(group[child], request_.out, bytes(), Wire::kExact, there);
  }
}

void Scheduler::plan_alltoall() {
  const auto& send_counts = operation_.counts();
  const auto& receive_counts = operation_.receive_counts();
  const std::size_t element = operation_.element();
  const auto world = static_cast<std::size_t>(map_.world);
  const auto me = static_cast<std::size_t>(map_.rank);
  std::vector<std::uint64_t> in_at(world + 1), out_at(world + 1);
  for (std::size_t i = 0; i < world; ++i) {
    in_at[i + 1] = in_at[i] + send_counts[i] * element;
    out_at[i + 1] = out_at[i] + receive_counts[i] * element;
  }
  // The smaller one: whatever a caller passes, neither buffer may be overrun.
  const std::uint64_t own = std::min(send_counts[me], receive_counts[me]) * element;
  if (own > 0) std::memcpy(request_.out + out_at[me], request_.in + in_at[me], own);
  for (std::size_t step = 1; step < world; ++step) {
    // Staggered: in each step every rank sends to another one, so that no rank is first for all.
    const std::size_t to = (me + step) % world, from = (me + world - step) % world;
    flows_.send(static_cast<int>(to), request_.in + in_at[to], send_counts[to] * element,
                Wire::kExact, {});
    Incoming piece;
    piece.target = request_.out + out_at[from];
    piece.bytes = receive_counts[from] * element;
    flows_.receive(static_cast<int>(from), piece);
  }
}

void Scheduler::plan_rooted(bool is_gather) {
  const int root = request_.root;
  if (map_.rank != root) {
    if (is_gather) {
      flows_.receive(root, {});  // its header: otherwise two roots would not notice
      return flows_.send(root, request_.in, bytes(), Wire::kExact, {});
    }
    Incoming piece;
    piece.target = request_.out;
    piece.bytes = bytes();
    flows_.receive(root, piece);
    return;
  }
  for (int rank = 0; rank < map_.world; ++rank) {
    const std::uint64_t at = static_cast<std::uint64_t>(rank) * bytes();
    if (rank == root) {
      const std::byte* from = is_gather ? request_.in : request_.in + at;
      std::byte* to = is_gather ? request_.out + at : request_.out;
      if (bytes() > 0 && from != to) std::memcpy(to, from, bytes());
    } else if (is_gather) {
      flows_.send(rank, nullptr, 0, Wire::kExact, {});
      Incoming piece;
      piece.target = request_.out + at;
      piece.bytes = bytes();
      flows_.receive(rank, piece);
    } else {
      flows_.send(rank, request_.in + at, bytes(), Wire::kExact, {});
    }
  }
}

// With few ranks, each sends a header to every other one and waits for theirs. With more ranks, a
// sum of one byte takes fewer messages.
void Scheduler::plan_barrier() {
  const auto world = static_cast<std::size_t>(map_.world), me = static_cast<std::size_t>(map_.rank);
  if (operation_.choice().way == Way::kDoubling) {
    std::byte* in = scratch_.take(1);
    *in = std::byte{0};
    AllreducePlan(operation_, map_, flows_, groups_, scratch_)
        .sum_by_doubling(everybody(map_), in, scratch_.take(1), 1);
    return;
  }
  for (std::size_t step = 1; step < world; ++step) {
    const int peer = static_cast<int>((me + step) % world);
    flows_.send(peer, nullptr, 0, Wire::kExact, {});
    flows_.receive(peer, {});
  }
}

// The flows carry nothing. They tell which ranks have begun, and compare headers.
void Scheduler::plan_board() {
  schedule_.board.is_used = true;
  for (int peer = 0; peer < map_.world; ++peer) {
    if (peer != map_.rank) flows_.receive(peer, {});
  }
  flows_.set_headers();
}

void Scheduler::plan_pair() {
  if (!request_.is_receive)
    return flows_.send(request_.root, request_.in, bytes(), Wire::kExact, {});
  Incoming piece;
  piece.target = request_.out;
  piece.bytes = bytes();
  flows_.receive(request_.root, piece);
}

}  // namespace dtl::ring
