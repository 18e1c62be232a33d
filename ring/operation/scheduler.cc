#include "ring/operation/scheduler.h"

#include <algorithm>
#include <cstring>

#include "ring/arithmetic/reduce.h"

namespace dtl::ring {

std::vector<Share> divide_evenly(std::uint64_t base, std::uint64_t bytes, std::size_t element,
                                 std::size_t parts) {
  constexpr std::uint64_t kLine = 64;
  const std::uint64_t unit = bytes >= parts * kLine * 4 ? kLine : element;
  const std::uint64_t units = (bytes + unit - 1) / unit;
  std::vector<Share> shares;
  std::uint64_t from = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::uint64_t mine = units / parts + (i < units % parts ? 1 : 0);
    const std::uint64_t to = std::min(bytes, from + mine * unit);
    shares.push_back({{base + from, to - from}});
    from = to;
  }
  return shares;
}

Scheduler::Scheduler(const Operation& operation, const NodeMap& map, Arena& scratch,
                     Schedule& schedule)
    : operation_(operation),
      request_(operation.request()),
      choice_(operation.choice()),
      map_(map),
      scratch_(scratch),
      schedule_(schedule) {
  constexpr std::uint64_t kMost = 128 << 10, kLeast = 16 << 10, kBudget = 8 << 20;
  const auto world = static_cast<std::uint64_t>(map.world);
  schedule_.frame_bytes = kMost;
  while (schedule_.frame_bytes > kLeast && schedule_.frame_bytes * 2 * world > kBudget) {
    schedule_.frame_bytes /= 2;
  }
}

std::size_t Scheduler::flow_with(int peer) {
  auto& flows = schedule_.flows;
  const auto at =
      std::find_if(flows.begin(), flows.end(), [&](const Flow& flow) { return flow.peer == peer; });
  if (at != flows.end()) return static_cast<std::size_t>(at - flows.begin());
  flows.emplace_back(peer);
  return flows.size() - 1;
}

void Scheduler::send(int peer, const std::byte* data, std::uint64_t bytes, Wire wire, Gate gate) {
  Flow& flow = schedule_.flows[flow_with(peer)];
  flow.sends = true;
  if (bytes > 0) flow.out.push_back({data, bytes, wire, gate});
}

Gate Scheduler::receive(int peer, Incoming piece) {
  const std::size_t index = flow_with(peer);
  Flow& flow = schedule_.flows[index];
  flow.receives = true;
  Gate gate{Gate::Kind::kFlow, index, 0};
  for (const Incoming& before : flow.in) gate.from += before.bytes;
  if (piece.bytes > 0) flow.in.push_back(piece);
  return gate;
}

std::size_t Scheduler::place_in(const Group& group) const {
  return static_cast<std::size_t>(std::find(group.begin(), group.end(), map_.rank) - group.begin());
}

Scheduler::Group Scheduler::everybody() const {
  Group group;
  for (int rank = 0; rank < map_.world; ++rank) group.push_back(rank);
  return group;
}

Scheduler::Group Scheduler::by_node() const {
  Group group;
  for (const auto& node : map_.nodes) group.insert(group.end(), node.begin(), node.end());
  return group;
}

// What may be read until the end although out is written: a copy when both are the same memory.
const std::byte* Scheduler::own_input() {
  if (request_.in != request_.out || bytes() == 0) return request_.in;
  std::byte* copy = scratch_.take(bytes());
  std::memcpy(copy, request_.in, bytes());
  return copy;
}

// The own operand, rounded as those of others are: then a sum does not show who made it.
const std::byte* Scheduler::as_it_would_travel(const Span& span) {
  if (choice_.wire == Wire::kExact || span.bytes == 0) return request_.in;
  std::byte* copy = scratch_.take(span.bytes);
  std::memcpy(copy, request_.in + span.at, span.bytes);
  round_to_wire(choice_.wire, reinterpret_cast<float*>(copy), span.bytes / sizeof(float));
  return copy - span.at;
}

void Scheduler::reduce(const Group& group, const Buffers& buffers, std::vector<Share>& shares) {
  const std::size_t me = place_in(group), n = group.size();
  for (std::size_t step = 1; step < n; ++step) {
    const std::size_t to = (me + step) % n;  // staggered, so that not all begin with the same one
    if (to >= shares.size()) continue;
    for (const Span& span : shares[to]) {
      send(group[to], buffers.in + span.at, span.bytes, buffers.wire, span.ready);
    }
  }
  if (me >= shares.size()) return;
  if (n > 2) return collect(group, buffers, shares[me]);
  for (Span& span : shares[me]) {
    Incoming piece;
    piece.action = Action::kCombine;
    piece.target = buffers.out + span.at;
    piece.own = buffers.own + span.at;
    piece.bytes = span.bytes;
    piece.wire = buffers.wire;
    piece.gate = span.ready;
    piece.is_last = buffers.is_last;
    span.ready = receive(group[1 - me], piece);
  }
}

void Scheduler::collect(const Group& group, const Buffers& buffers, Share& own) {
  const std::size_t index = schedule_.sums.size(), me = place_in(group);
  Sum sum;
  sum.wire = buffers.wire;
  sum.is_last = buffers.is_last;
  sum.own_gate = own.empty() ? Gate{} : own[0].ready;  // a share's spans become ready in order
  for (Span& span : own) {
    if (span.bytes > 0) {
      sum.parts.push_back({sum.bytes, span.bytes, buffers.out + span.at, buffers.own + span.at});
    }
    span.ready = {Gate::Kind::kSum, index, sum.bytes};
    sum.bytes += span.bytes;
  }
  set_window(sum, group.size() - 1);
  for (std::size_t i = 0; i < group.size(); ++i) {
    Sum::Source source;
    source.is_own = i == me;
    if (!source.is_own) {
      source.flow = flow_with(group[i]);
      schedule_.flows[source.flow].receives = true;
      if (sum.bytes > 0) source.window = scratch_.take(sum.window_bytes);
      for (const Sum::Part& part : sum.parts) {
        Incoming piece;
        piece.action = Action::kCollect;
        piece.bytes = part.bytes;
        piece.wire = buffers.wire;
        piece.sum = index;
        piece.source = i;
        piece.window_at = part.window_at;
        receive(group[i], piece);
      }
    }
    sum.sources.push_back(source);
  }
  schedule_.sums.push_back(std::move(sum));
}

// A window that holds all of it, or goes round in whole frames.
void Scheduler::set_window(Sum& sum, std::size_t sources) const {
  constexpr std::uint64_t kMost = 1 << 20, kBudget = 8 << 20;
  const std::uint64_t frame = schedule_.frame_bytes;
  std::uint64_t window = kMost;
  while (window > 2 * frame && window * sources > kBudget) window /= 2;
  const auto travelling = [&](std::uint64_t bytes) {
    return bytes / operation_.element() * wire_bytes(request_.dtype, sum.wire);
  };
  const bool is_whole = travelling(sum.bytes) <= window;
  sum.window_bytes = is_whole ? travelling(sum.bytes) : window;
  std::uint64_t at = 0;
  for (Sum::Part& part : sum.parts) {
    part.window_at = at;
    at += travelling(part.bytes);
    if (!is_whole) at = (at + frame - 1) / frame * frame;
  }
}

void Scheduler::spread(const Group& group, const Buffers& buffers, std::vector<Share>& shares) {
  const std::size_t me = place_in(group), n = group.size();
  for (std::size_t step = 1; step < n; ++step) {
    const std::size_t other = (me + step) % n;
    if (me < shares.size()) {
      for (const Span& span : shares[me]) {
        send(group[other], buffers.out + span.at, span.bytes, buffers.wire, span.ready);
      }
    }
    if (other >= shares.size()) continue;
    for (Span& span : shares[other]) {
      Incoming piece;
      piece.target = buffers.out + span.at;
      piece.bytes = span.bytes;
      piece.wire = buffers.wire;
      span.ready = receive(group[other], piece);
    }
  }
}

// Piece k that a member receives is share me-1-k: the first n-1 are sums on their way, the others
// results. What it sends is its own share, and then what it has received.
void Scheduler::sum_around(const Group& group, const Buffers& buffers, std::vector<Share>& shares) {
  const std::size_t me = place_in(group), n = group.size();
  const int next = group[(me + 1) % n], previous = group[(me + n - 1) % n];
  const auto share = [&](std::size_t k) -> Span& { return shares[(me + 2 * n - k) % n][0]; };
  send(next, buffers.in + share(0).at, share(0).bytes, buffers.wire, share(0).ready);
  for (std::size_t k = 0; k < 2 * (n - 1); ++k) {
    Span& span = share(k + 1);
    Incoming piece;
    piece.target = buffers.out + span.at;
    piece.bytes = span.bytes;
    piece.wire = buffers.wire;
    if (k < n - 1) {
      piece.action = Action::kCombine;
      piece.own = buffers.in + span.at;
      piece.gate = span.ready;
      piece.is_last = buffers.is_last && k == n - 2;
    }
    const Gate there = receive(previous, piece);
    if (k + 1 < 2 * (n - 1)) send(next, piece.target, span.bytes, buffers.wire, there);
    if (k >= n - 2) span.ready = there;
  }
}

void Scheduler::sum_by(Algorithm algorithm, const Group& group, const Buffers& buffers,
                       std::vector<Share>& shares) {
  if (algorithm == Algorithm::kRing && group.size() > 2) {
    sum_around(group, buffers, shares);
  } else {
    reduce(group, buffers, shares);
    spread(group, buffers, shares);
  }
}

// Everybody sends everything to everybody.
void Scheduler::sum_at_once() {
  const Group group = everybody();
  const std::byte* input = own_input();
  for (const int peer : group) {
    if (peer != map_.rank) send(peer, input, bytes(), choice_.wire, {});
  }
  const Buffers buffers{input, request_.out, choice_.wire, true};
  if (group.size() > 2) {
    Share all{{0, bytes()}};
    return collect(group, buffers, all);
  }
  Incoming piece;
  piece.action = Action::kCombine;
  piece.target = request_.out;
  piece.own = input;
  piece.bytes = bytes();
  piece.wire = choice_.wire;
  piece.is_last = true;
  receive(1 - map_.rank, piece);
}

// Two ranks of one node: each sends half of its values, sums up the other half, and writes the
// results over the values that it was sent. So each byte moves to and fro once, with one wait.
void Scheduler::sum_with_answers(int peer) {
  const auto shares = divide_evenly(0, bytes(), operation_.element(), 2);
  const auto me = static_cast<std::size_t>(map_.rank < peer ? 0 : 1);
  const Span& own = shares[me][0];
  const Span& theirs = shares[1 - me][0];
  send(peer, request_.in + theirs.at, theirs.bytes, Wire::kExact, {});
  auto& sent = schedule_.flows[flow_with(peer)].out;
  if (!sent.empty()) sent.back().answer = request_.out + theirs.at;
  Incoming piece;
  piece.action = Action::kCombine;
  piece.target = request_.out + own.at;
  piece.own = request_.in + own.at;
  piece.bytes = own.bytes;
  piece.is_last = true;
  piece.is_answered = true;
  receive(peer, piece);
}

// In round k partners whose places differ in bit k exchange their sums. With a world that is no
// power of two the first ranks come in pairs, of which the even one only hands in and gets back.
void Scheduler::sum_by_doubling(const std::byte* in, std::byte* out, std::uint64_t bytes) {
  const int rank = map_.rank, world = map_.world;
  int power = 1;
  while (power * 2 <= world) power *= 2;
  const int pairs = world - power;
  const std::byte* value = in;
  Gate there{};
  if (rank < 2 * pairs && rank % 2 == 0) {
    send(rank + 1, value, bytes, Wire::kExact, {});
    Incoming piece;
    piece.target = out;
    piece.bytes = bytes;
    receive(rank + 1, piece);
    return;
  }
  const auto combine_with = [&](int peer, bool is_last) {
    std::byte* target = is_last ? out : scratch_.take(bytes);
    Incoming piece;
    piece.action = Action::kCombine;
    piece.target = target;
    piece.own = value;
    piece.bytes = bytes;
    piece.gate = there;
    piece.is_last = is_last;
    there = receive(peer, piece);
    value = target;
  };
  if (rank < 2 * pairs) combine_with(rank - 1, false);
  const int place = rank < 2 * pairs ? rank / 2 : rank - pairs;
  for (int bit = 1; bit < power; bit *= 2) {
    const int other = place ^ bit;
    const int peer = other < pairs ? 2 * other + 1 : other + pairs;
    send(peer, value, bytes, Wire::kExact, there);
    combine_with(peer, bit * 2 == power);
  }
  if (rank < 2 * pairs) send(rank - 1, out, bytes, Wire::kExact, there);
}

}  // namespace dtl::ring
