// in and out may be the same memory. A result cannot arrive before its operand was sent: the rank
// that makes it needs all operands first. The exception are algorithms in which every rank makes
// the whole sum; they work on a copy (own_input).
#include "ring/operation/allreduce_plan.h"

#include <bit>
#include <cstring>

#include "ring/arithmetic/reduce.h"

namespace dtl::ring {

void AllreducePlan::plan() {
  switch (operation_.choice().way) {
    case Way::kAtOnce:
      return sum_at_once();
    case Way::kDoubling:
      sum_by_doubling(everybody(map_), own_input(), request().out, bytes());
      return;
    case Way::kLeaders:
      return sum_by_leaders();
    case Way::kAnswers:
      return sum_with_answers(1 - map_.rank);
    case Way::kOverNodes:
      return sum_over_nodes();
    case Way::kDirect:
    case Way::kInOrder:
    case Way::kAround:
    case Way::kHalving:
    case Way::kGroups:
    case Way::kTree:
    case Way::kBinary:
    case Way::kChain:
    case Way::kBoard:
      return sum_over_everybody();
  }
}

// The input, readable until the end although out is written: a copy if both are the same memory.
// Only algorithms for short sums need it, unless the user's table says otherwise.
const std::byte* AllreducePlan::own_input() {
  if (request().in != request().out || bytes() == 0) return request().in;
  std::byte* copy = scratch_.take(bytes());
  std::memcpy(copy, request().in, bytes());
  return copy;
}

// This rank's operand, rounded like the others': then a sum does not depend on the rank that makes
// it.
const std::byte* AllreducePlan::as_it_would_travel(const Span& span) {
  if (operation_.choice().wire == Wire::kExact || span.bytes == 0) return request().in;
  std::byte* copy = scratch_.take(span.bytes);
  std::memcpy(copy, request().in + span.at, span.bytes);
  round_to_wire(operation_.choice().wire, reinterpret_cast<float*>(copy),
                span.bytes / sizeof(float));
  // The caller adds span.at to it, as to the whole buffer.
  return copy - span.at;
}

void AllreducePlan::sum_over_everybody() {
  const bool is_in_order = operation_.choice().way == Way::kInOrder;
  const Group group = is_in_order ? everybody(map_) : by_node(map_);
  auto shares = divide_evenly(0, bytes(), operation_.element(), group.size());
  GroupPlan::Buffers buffers{request().in, request().out, operation_.choice().wire, true};
  // The rank that makes a sum rounds its own operand too. Otherwise results would depend on which
  // rank makes them.
  if (is_in_order) buffers.own = as_it_would_travel(shares[groups_.place_in(group)][0]);
  groups_.sum_by(operation_.choice().algorithm, group, buffers, shares);
}

// Three stages run at the same time, each as far as the one before has progressed: the ranks of a
// node sum among themselves, one slice each; the ranks with the same slice sum across nodes, so
// that every byte crosses a node's wire as often as if the node had one rank; the ranks of a node
// exchange the results. Each slice begins with the data that other nodes need first, so that the
// wire never waits for the whole node.
void AllreducePlan::sum_over_nodes() {
  const Group& locals = map_.locals();
  const Algorithm algorithm = operation_.choice().algorithm;
  const std::size_t nodes = map_.nodes.size(), rails = map_.rails();
  const std::size_t rail = groups_.place_in(locals);
  // The ranks with this rank's slice; those without one count nodes in the same way.
  Group group;
  for (const auto& ranks : map_.nodes) group.push_back(ranks[0]);
  group[static_cast<std::size_t>(map_.node())] = map_.rank;
  for (std::size_t i = 0; rail < rails && i < nodes; ++i) group[i] = map_.nodes[i][rail];
  const auto slices = divide_evenly(0, bytes(), operation_.element(), rails);
  std::vector<std::vector<Share>> pieces;  // for each slice, one per node
  for (const Share& slice : slices) {
    pieces.push_back(divide_evenly(slice[0].at, slice[0].bytes, operation_.element(), nodes));
  }
  const std::byte* in = request().in;
  if (locals.size() > 1) {
    in = request().out;
    const std::vector<Range> order = groups_.needs(algorithm, group);
    std::vector<Share> sums(rails);
    for (std::size_t k = 0; k < rails; ++k) {
      for (const Range& range : order) sums[k].push_back(whole_of(pieces[k], range));
    }
    groups_.reduce(locals, {request().in, request().out, Wire::kExact, nodes == 1}, sums);
    for (std::size_t i = 0; rail < rails && i < order.size(); ++i) {
      set_ready(pieces[rail], order[i], sums[rail][i].ready);
    }
  }
  if (rail < rails && nodes > 1) {
    groups_.sum_by(algorithm, group, {in, request().out, operation_.choice().wire, true},
                   pieces[rail]);
  }
  if (locals.size() == 1) return;
  std::vector<Share> finished(rails);
  for (std::size_t k = 0; k < rails; ++k) {
    for (const Range& range : groups_.results(algorithm, group)) {
      finished[k].push_back(whole_of(pieces[k], range));
      finished[k].back().ready = flows_.join(readiness_of(pieces[k], range));
    }
  }
  groups_.spread(locals, {in, request().out, Wire::kExact, true}, finished);
}

// Every rank sends all its data to every other rank.
void AllreducePlan::sum_at_once() {
  const Group group = everybody(map_);
  const std::byte* input = own_input();
  for (const int peer : group) {
    if (peer != map_.rank) flows_.send(peer, input, bytes(), operation_.choice().wire, {});
  }
  const GroupPlan::Buffers buffers{input, request().out, operation_.choice().wire, true};
  // Two operands need no window: the arriving one is added to the own one at once.
  if (group.size() > 2) {
    Share all{{0, bytes()}};
    return groups_.collect(group, buffers, all);
  }
  Incoming piece;
  piece.action = Action::kCombine;
  piece.target = request().out;
  piece.own = input;
  piece.bytes = bytes();
  piece.wire = operation_.choice().wire;
  piece.is_last = true;
  flows_.receive(1 - map_.rank, piece);
}

// Two ranks of one node: each sends half of its values, sums the other half, and writes the results
// over the values that it received. So each byte moves there and back once, with one wait.
void AllreducePlan::sum_with_answers(int peer) {
  const auto shares = divide_evenly(0, bytes(), operation_.element(), 2);
  const auto me = static_cast<std::size_t>(map_.rank < peer ? 0 : 1);
  const Span& own = shares[me][0];
  const Span& theirs = shares[1 - me][0];
  flows_.send(peer, request().in + theirs.at, theirs.bytes, Wire::kExact, {});
  flows_.expect_answer(peer, request().out + theirs.at);
  Incoming piece;
  piece.action = Action::kCombine;
  piece.target = request().out + own.at;
  piece.own = request().in + own.at;
  piece.bytes = own.bytes;
  piece.is_last = true;
  piece.is_answered = true;
  flows_.receive(peer, piece);
}

// The first rank of each node sums the values of the node, exchanges sums with those of the other
// nodes, and gives its node the results. So each node sends one message in each step, however many
// ranks it has.
void AllreducePlan::sum_by_leaders() {
  const Group& locals = map_.locals();
  const int leader = locals[0];
  if (map_.rank != leader) {
    flows_.send(leader, request().in, bytes(), Wire::kExact, {});
    Incoming piece;
    piece.target = request().out;
    piece.bytes = bytes();
    flows_.receive(leader, piece);
    return;
  }
  const bool is_alone = map_.nodes.size() == 1;
  const std::byte* sum = request().in;
  Share all{{0, bytes()}};
  if (locals.size() > 1) {
    std::byte* target = is_alone ? request().out : scratch_.take(bytes());
    groups_.collect(locals, {request().in, target, Wire::kExact, is_alone}, all);
    sum = target;
  } else {
    sum = own_input();
  }
  Gate ready = all[0].ready;
  if (!is_alone) {
    Group leaders;
    for (const auto& ranks : map_.nodes) leaders.push_back(ranks[0]);
    ready = sum_by_doubling(leaders, sum, request().out, bytes(), ready);
  }
  for (const int rank : locals) {
    if (rank != leader) flows_.send(rank, request().out, bytes(), Wire::kExact, ready);
  }
}

// In round k partners whose places in the group differ in bit k exchange their sums. If the number
// of members is not a power of two, the first ones form pairs: the even member only passes its
// values to the odd one and gets the result back.
Gate AllreducePlan::sum_by_doubling(const Group& group, const std::byte* in, std::byte* out,
                                    std::uint64_t bytes, Gate ready) {
  const std::size_t me = groups_.place_in(group), power = std::bit_floor(group.size());
  const std::size_t pairs = group.size() - power;
  const std::byte* value = in;
  Gate there = ready;
  if (me < 2 * pairs && me % 2 == 0) {
    flows_.send(group[me + 1], value, bytes, Wire::kExact, there);
    Incoming piece;
    piece.target = out;
    piece.bytes = bytes;
    return flows_.receive(group[me + 1], piece);
  }
  const auto combine_with = [&](int peer, bool is_last) {
    // Separate memory for each round: the previous round's partner may still be reading its sum.
    std::byte* target = is_last ? out : scratch_.take(bytes);
    Incoming piece;
    piece.action = Action::kCombine;
    piece.target = target;
    piece.own = value;
    piece.bytes = bytes;
    piece.gate = there;
    piece.is_last = is_last;
    there = flows_.receive(peer, piece);
    value = target;
  };
  if (me < 2 * pairs) combine_with(group[me - 1], false);
  // From here on there are `power` members, each with a place: the odd ones of the pairs, then the
  // rest.
  const std::size_t place = me < 2 * pairs ? me / 2 : me - pairs;
  for (std::size_t bit = 1; bit < power; bit *= 2) {
    const std::size_t other = place ^ bit;
    const int peer = group[other < pairs ? 2 * other + 1 : other + pairs];
    flows_.send(peer, value, bytes, Wire::kExact, there);
    combine_with(peer, bit * 2 == power);
  }
  if (me < 2 * pairs) flows_.send(group[me - 1], out, bytes, Wire::kExact, there);
  return there;
}

}  // namespace dtl::ring
