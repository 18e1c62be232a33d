// Which building blocks each collective takes.
#include <algorithm>
#include <cstring>

#include "ring/operation/scheduler.h"

namespace dtl::ring {

void Scheduler::plan() {
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
  set_headers();
}

void Scheduler::set_headers() {
  for (Flow& flow : schedule_.flows) {
    flow.out_header = flow.in_header = operation_.header();
    for (const Incoming& piece : flow.in) {
      flow.in_bytes += piece.bytes / operation_.element() * wire_bytes(request_.dtype, piece.wire);
    }
    if (request_.opcode != Opcode::kAlltoall || request_.receive_counts == nullptr) continue;
    // Of alltoallv each pair of ranks agrees upon its own counts.
    const auto sum = [&](const auto& pieces) {
      std::uint64_t total = 0;
      for (const auto& piece : pieces) total += piece.bytes;
      return total / operation_.element();
    };
    flow.out_header.count = sum(flow.out);
    flow.in_header.count = sum(flow.in);
  }
}

void Scheduler::plan_allreduce() {
  switch (choice_.way) {
    case Way::kAtOnce:
      return sum_at_once();
    case Way::kDoubling:
      return sum_by_doubling(own_input(), request_.out, bytes());
    case Way::kAnswers:
      return sum_with_answers(1 - map_.rank);
    case Way::kOverNodes:
      return sum_over_nodes();
    case Way::kDirect:
    case Way::kInOrder:
    case Way::kAround:
    case Way::kTree:
    case Way::kChain:
      return sum_over_everybody();
  }
}

void Scheduler::sum_over_everybody() {
  const bool is_in_order = choice_.way == Way::kInOrder;
  const Group group = is_in_order ? everybody() : by_node();
  auto shares = divide_evenly(0, bytes(), operation_.element(), group.size());
  Buffers buffers{request_.in, request_.out, choice_.wire, true};
  if (is_in_order) buffers.own = as_it_would_travel(shares[place_in(group)][0]);
  sum_by(choice_.algorithm, group, buffers, shares);
}

// Three stages that run at the same time, each as far as the one before has come: the ranks of a
// node sum up among themselves, each for its slice; those of the same slice sum up across nodes, so
// that every byte crosses a node's wire as often as if the node had one rank; the ranks of a node
// exchange the results. Each slice begins with what goes to the next node, so that the wire never
// waits for the node to be done.
void Scheduler::sum_over_nodes() {
  const Group& locals = map_.locals();
  const std::size_t nodes = map_.nodes.size(), node = static_cast<std::size_t>(map_.node());
  const std::size_t rails = map_.rails(), rail = place_in(locals);
  const auto slices = divide_evenly(0, bytes(), operation_.element(), rails);
  std::vector<std::vector<Share>> pieces;  // of each slice, one for each node
  std::vector<Share> rotated(rails);
  for (std::size_t k = 0; k < rails; ++k) {
    const Span& slice = slices[k][0];
    pieces.push_back(divide_evenly(slice.at, slice.bytes, operation_.element(), nodes));
    for (std::size_t i = 1; i <= nodes; ++i) {
      rotated[k].push_back(pieces[k][(node + i) % nodes][0]);
    }
  }
  const std::byte* in = request_.in;
  if (locals.size() > 1) {
    reduce(locals, {request_.in, request_.out, Wire::kExact, nodes == 1}, rotated);
    in = request_.out;
  }
  if (rail < rails) {
    for (std::size_t i = 1; i <= nodes; ++i) {
      pieces[rail][(node + i) % nodes][0].ready = rotated[rail][i - 1].ready;
    }
    if (nodes > 1) {
      Group group;
      for (const auto& ranks : map_.nodes) group.push_back(ranks[rail]);
      sum_by(choice_.algorithm, group, {in, request_.out, choice_.wire, true}, pieces[rail]);
    }
  }
  if (locals.size() == 1) return;
  std::vector<Share> finished(rails);
  for (std::size_t k = 0; k < rails; ++k) {
    for (std::size_t i = 0; i < nodes; ++i) {
      finished[k].push_back(pieces[k][(node + i) % nodes][0]);
    }
  }
  spread(locals, {in, request_.out, Wire::kExact, true}, finished);
}

void Scheduler::plan_reduce_scatter() {
  const Group group = everybody();
  std::vector<Share> shares;
  for (std::size_t i = 0; i < group.size(); ++i) shares.push_back({{i * bytes(), bytes()}});
  // Sums are written where out says, not where in has them: out is that of the own share.
  const std::size_t me = place_in(group);
  std::byte* base = request_.out - me * bytes();
  reduce(group, {request_.in, base, choice_.wire, true}, shares);
}

// Everybody sums up a share, and sends it to the root.
void Scheduler::plan_reduce() {
  const Group group = everybody();
  const auto root = static_cast<std::size_t>(request_.root);
  const std::size_t me = place_in(group);
  auto shares = divide_evenly(0, bytes(), operation_.element(), group.size());
  std::byte* out = request_.out;
  if (me != root && shares[me][0].bytes > 0) {
    out = scratch_.take(shares[me][0].bytes) - shares[me][0].at;
  }
  reduce(group, {request_.in, out, Wire::kExact, true}, shares);
  const Span& own = shares[me][0];
  if (me != root) return send(group[root], out + own.at, own.bytes, Wire::kExact, own.ready);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i == me) continue;
    Incoming piece;
    piece.target = out + shares[i][0].at;
    piece.bytes = shares[i][0].bytes;
    receive(group[i], piece);
  }
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
  if (choice_.way == Way::kDirect) {
    return spread(everybody(), {request_.in, request_.out, Wire::kExact, true}, by_rank);
  }
  const Group group = by_node();
  std::vector<Share> shares;
  for (const int rank : group) shares.push_back(by_rank[static_cast<std::size_t>(rank)]);
  gather_around(group, shares);
}

// What a member receives from the previous one it passes on, but for the last.
void Scheduler::gather_around(const Group& group, const std::vector<Share>& shares) {
  const std::size_t me = place_in(group), n = group.size();
  const int next = group[(me + 1) % n], previous = group[(me + n - 1) % n];
  const Span& own = shares[me][0];
  send(next, request_.out + own.at, own.bytes, Wire::kExact, {});
  for (std::size_t k = 0; k < n - 1; ++k) {
    const Span& span = shares[(me + n - 1 - k) % n][0];
    Incoming piece;
    piece.target = request_.out + span.at;
    piece.bytes = span.bytes;
    const Gate there = receive(previous, piece);
    if (k + 2 < n) send(next, piece.target, span.bytes, Wire::kExact, there);
  }
}

// Along a binomial tree, or along a chain that visits each node once.
void Scheduler::plan_broadcast() {
  Group group = by_node();
  std::rotate(group.begin(), std::find(group.begin(), group.end(), request_.root), group.end());
  const std::size_t me = place_in(group), n = group.size();
  Gate there{};
  const auto take_from = [&](std::size_t parent) {
    Incoming piece;
    piece.target = request_.out;
    piece.bytes = bytes();
    there = receive(group[parent], piece);
  };
  const auto pass_to = [&](std::size_t child) {
    send(group[child], request_.out, bytes(), Wire::kExact, there);
  };
  if (choice_.way == Way::kChain) {
    if (me > 0) take_from(me - 1);
    if (me + 1 < n) pass_to(me + 1);
    return;
  }
  std::size_t bit = 1;
  while (bit < n && (me & bit) == 0) bit *= 2;
  if (me > 0) take_from(me - bit);
  for (bit /= 2; bit > 0; bit /= 2) {
    if (me + bit < n) pass_to(me + bit);
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
  const std::uint64_t own = std::min(send_counts[me], receive_counts[me]) * element;
  if (own > 0) std::memcpy(request_.out + out_at[me], request_.in + in_at[me], own);
  for (std::size_t step = 1; step < world; ++step) {
    const std::size_t to = (me + step) % world, from = (me + world - step) % world;
    send(static_cast<int>(to), request_.in + in_at[to], send_counts[to] * element, Wire::kExact,
         {});
    Incoming piece;
    piece.target = request_.out + out_at[from];
    piece.bytes = receive_counts[from] * element;
    receive(static_cast<int>(from), piece);
  }
}

void Scheduler::plan_rooted(bool is_gather) {
  const int root = request_.root;
  if (map_.rank != root) {
    if (is_gather) {
      receive(root, {});  // its header, since of two roots neither would hear the other
      return send(root, request_.in, bytes(), Wire::kExact, {});
    }
    Incoming piece;
    piece.target = request_.out;
    piece.bytes = bytes();
    receive(root, piece);
    return;
  }
  for (int rank = 0; rank < map_.world; ++rank) {
    const std::uint64_t at = static_cast<std::uint64_t>(rank) * bytes();
    if (rank == root) {
      const std::byte* from = is_gather ? request_.in : request_.in + at;
      std::byte* to = is_gather ? request_.out + at : request_.out;
      if (bytes() > 0 && from != to) std::memcpy(to, from, bytes());
    } else if (is_gather) {
      send(rank, nullptr, 0, Wire::kExact, {});
      Incoming piece;
      piece.target = request_.out + at;
      piece.bytes = bytes();
      receive(rank, piece);
    } else {
      send(rank, request_.in + at, bytes(), Wire::kExact, {});
    }
  }
}

// Headers alone among few; else a sum of one byte.
void Scheduler::plan_barrier() {
  const auto world = static_cast<std::size_t>(map_.world), me = static_cast<std::size_t>(map_.rank);
  if (choice_.way == Way::kDoubling) {
    std::byte* in = scratch_.take(1);
    *in = std::byte{0};
    return sum_by_doubling(in, scratch_.take(1), 1);
  }
  for (std::size_t step = 1; step < world; ++step) {
    const int peer = static_cast<int>((me + step) % world);
    send(peer, nullptr, 0, Wire::kExact, {});
    receive(peer, {});
  }
}

void Scheduler::plan_pair() {
  if (!request_.is_receive) return send(request_.root, request_.in, bytes(), Wire::kExact, {});
  Incoming piece;
  piece.target = request_.out;
  piece.bytes = bytes();
  receive(request_.root, piece);
}

}  // namespace dtl::ring
