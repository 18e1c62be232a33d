// Every function here plans one rank's part. Gates connect the parts: a span's `ready` says when it
// may be read, and each building block sets it for the next.
#include "ring/operation/group_plan.h"

#include <algorithm>
#include <utility>

#include "ring/operation/cost_model.h"
#include "ring/operation/halving_plan.h"

namespace dtl::ring {

Group everybody(const NodeMap& map) {
  Group group;
  for (int rank = 0; rank < map.world; ++rank) group.push_back(rank);
  return group;
}

Group by_node(const NodeMap& map) {
  Group group;
  for (const auto& node : map.nodes) group.insert(group.end(), node.begin(), node.end());
  return group;
}

std::size_t GroupPlan::place_in(const Group& group) const {
  return static_cast<std::size_t>(std::find(group.begin(), group.end(), rank_) - group.begin());
}

void GroupPlan::reduce(const Group& group, const Buffers& buffers, std::vector<Share>& shares) {
  const std::size_t me = place_in(group), n = group.size();
  for (std::size_t step = 1; step < n; ++step) {
    const std::size_t to = (me + step) % n;  // staggered, so that not all begin with the same rank
    if (to >= shares.size()) continue;
    for (const Span& span : shares[to]) {
      flows_.send(group[to], buffers.in + span.at, span.bytes, buffers.wire, span.ready);
    }
  }
  if (me >= shares.size()) return;
  // Two operands need no window: the arriving one is added to the own one at once.
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
    span.ready = flows_.receive(group[1 - me], piece);
  }
}

void GroupPlan::collect(const Group& group, const Buffers& buffers, Share& own) {
  const std::size_t index = flows_.next_sum(), me = place_in(group);
  Sum sum;
  sum.wire = buffers.wire;
  sum.is_last = buffers.is_last;
  sum.own_gate = own.empty() ? Gate{} : own[0].ready;  // a share's spans become ready in order
  for (Span& span : own) {
    if (span.bytes > 0) {
      sum.parts.push_back({sum.bytes, span.bytes, buffers.out + span.at, buffers.own + span.at});
    }
    // The sum processes the spans in order, so each is ready once the sum has progressed beyond it.
    span.ready = {Gate::Kind::kSum, index, sum.bytes};
    sum.bytes += span.bytes;
  }
  set_window(sum, group.size() - 1);
  for (std::size_t i = 0; i < group.size(); ++i) {
    Sum::Source source;
    source.is_own = i == me;
    if (!source.is_own) {
      source.flow = flows_.flow_with(group[i]);
      if (sum.bytes > 0) source.window = scratch_.take(sum.window_bytes);
      receive_operand(group[i], sum, index, i);
    }
    sum.sources.push_back(source);
  }
  flows_.add(std::move(sum));
}

// Adds pieces for each part. Without parts the header still comes; the empty piece marks that the
// flow receives.
void GroupPlan::receive_operand(int peer, const Sum& sum, std::size_t index, std::size_t source) {
  flows_.receive(peer, {});
  for (const Sum::Part& part : sum.parts) {
    Incoming piece;
    piece.action = Action::kCollect;
    piece.bytes = part.bytes;
    piece.wire = sum.wire;
    piece.sum = index;
    piece.source = source;
    piece.window_at = part.window_at;
    flows_.receive(peer, piece);
  }
}

// A window that holds the whole operand, or wraps around in whole frames: a frame must be
// contiguous in it. With many sources each gets less, down to two frames.
void GroupPlan::set_window(Sum& sum, std::size_t sources) const {
  constexpr std::uint64_t kMost = 1 << 20, kBudget = 8 << 20;
  const std::uint64_t frame = flows_.frame_bytes();
  std::uint64_t window = kMost;
  while (window > 2 * frame && window * sources > kBudget) window /= 2;
  const bool is_whole = operation_.travelling(sum.wire, sum.bytes) <= window;
  sum.window_bytes = is_whole ? operation_.travelling(sum.wire, sum.bytes) : window;
  std::uint64_t at = 0;
  for (Sum::Part& part : sum.parts) {
    part.window_at = at;
    at += operation_.travelling(sum.wire, part.bytes);
    if (!is_whole) at = (at + frame - 1) / frame * frame;
  }
}

void GroupPlan::spread(const Group& group, const Buffers& buffers, std::vector<Share>& shares) {
  const std::size_t me = place_in(group), n = group.size();
  for (std::size_t step = 1; step < n; ++step) {
    // Staggered as in reduce().
    const std::size_t other = (me + step) % n;
    if (me < shares.size()) {
      for (const Span& span : shares[me]) {
        flows_.send(group[other], buffers.out + span.at, span.bytes, buffers.wire, span.ready);
      }
    }
    if (other >= shares.size()) continue;
    for (Span& span : shares[other]) {
      Incoming piece;
      piece.target = buffers.out + span.at;
      piece.bytes = span.bytes;
      piece.wire = buffers.wire;
      span.ready = flows_.receive(group[other], piece);
    }
  }
}

// Piece k that a member receives is share me-1-k: the first n-1 are partial sums, the others
// results. It sends its own share, and then forwards what it has received. So each link carries
// 2(n-1)/n of the data for any n, and only neighbours communicate.
void GroupPlan::sum_around(const Group& group, const Buffers& buffers, std::vector<Share>& shares) {
  const std::size_t me = place_in(group), n = group.size();
  const int next = group[(me + 1) % n], previous = group[(me + n - 1) % n];
  const auto share = [&](std::size_t k) -> Span& { return shares[(me + 2 * n - k) % n][0]; };
  flows_.send(next, buffers.in + share(0).at, share(0).bytes, buffers.wire, share(0).ready);
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
    const Gate there = flows_.receive(previous, piece);
    if (k + 1 < 2 * (n - 1)) flows_.send(next, piece.target, span.bytes, buffers.wire, there);
    if (k >= n - 2) span.ready = there;
  }
}

// The group is divided into groups of g neighbours. Each member sums a slice of its group; members
// with the same slice sum it across the groups; then the results move back the same way. All
// exchange directly: so there are four steps, and about 2 sqrt(n) peers. A number of members that
// cannot be divided is summed by halving.
void GroupPlan::sum_in_groups(const Group& group, const Buffers& buffers,
                              std::vector<Share>& shares) {
  const std::size_t n = group.size(), g = group_size_of(n), groups = n / g, me = place_in(group);
  if (g < 2) return sum_by(Algorithm::kHalving, group, buffers, shares);
  const std::size_t place = me % g, first = me - place;
  const auto slice = [&](std::size_t k) { return Range{k * groups, (k + 1) * groups}; };
  Group own, across;
  for (std::size_t i = 0; i < g; ++i) own.push_back(group[first + i]);
  for (std::size_t i = 0; i < groups; ++i) across.push_back(group[i * g + place]);
  std::vector<Share> slices;
  for (std::size_t k = 0; k < g; ++k) {
    slices.push_back({whole_of(shares, slice(k))});
    slices[k][0].ready = flows_.join(readiness_of(shares, slice(k)));
  }
  reduce(own, {buffers.in, buffers.out, buffers.wire, false}, slices);
  const auto from = shares.begin() + static_cast<std::ptrdiff_t>(slice(place).from);
  set_ready(shares, slice(place), slices[place][0].ready);
  std::vector<Share> pieces(from, from + static_cast<std::ptrdiff_t>(groups));
  const Buffers of_groups{buffers.out, buffers.out, buffers.wire, buffers.is_last};
  reduce(across, of_groups, pieces);
  spread(across, of_groups, pieces);
  std::copy(pieces.begin(), pieces.end(), from);
  slices[place][0].ready = flows_.join(readiness_of(shares, slice(place)));
  spread(own, buffers, slices);
  for (std::size_t k = 0; k < g; ++k) {
    if (k != place) set_ready(shares, slice(k), slices[k][0].ready);
  }
}

void GroupPlan::sum_by(Algorithm algorithm, const Group& group, const Buffers& buffers,
                       std::vector<Share>& shares) {
  const bool is_pair = group.size() <= 2;
  if (algorithm == Algorithm::kRing && !is_pair) return sum_around(group, buffers, shares);
  if (algorithm == Algorithm::kGroups && !is_pair) return sum_in_groups(group, buffers, shares);
  if (algorithm == Algorithm::kHalving && !is_pair) {
    HalvingPlan halving(group, place_in(group), flows_);
    halving.reduce(buffers, buffers.out, shares);
    return halving.gather(buffers, shares);
  }
  reduce(group, buffers, shares);
  spread(group, buffers, shares);
}

// All but halving begin with the next member's share and end with the own one, so that no member is
// first for all.
std::vector<Range> GroupPlan::needs(Algorithm algorithm, const Group& group) {
  const std::size_t me = place_in(group), n = group.size();
  if (algorithm == Algorithm::kHalving && n > 2) return HalvingPlan(group, me, flows_).needs();
  std::vector<Range> ranges;
  for (std::size_t i = 1; i <= n; ++i) ranges.push_back({(me + i) % n, (me + i) % n + 1});
  return ranges;
}

std::vector<Range> GroupPlan::results(Algorithm algorithm, const Group& group) {
  const std::size_t me = place_in(group), n = group.size();
  if (algorithm == Algorithm::kHalving && n > 2) return HalvingPlan(group, me, flows_).results();
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < n; ++i) ranges.push_back({(me + i) % n, (me + i) % n + 1});
  return ranges;
}

// Each member forwards what it receives from the previous one, except the last piece.
void GroupPlan::gather_around(const Group& group, std::byte* out,
                              const std::vector<Share>& shares) {
  const std::size_t me = place_in(group), n = group.size();
  const int next = group[(me + 1) % n], previous = group[(me + n - 1) % n];
  const Span& own = shares[me][0];
  flows_.send(next, out + own.at, own.bytes, Wire::kExact, {});
  for (std::size_t k = 0; k < n - 1; ++k) {
    const Span& span = shares[(me + n - 1 - k) % n][0];
    Incoming piece;
    piece.target = out + span.at;
    piece.bytes = span.bytes;
    const Gate there = flows_.receive(previous, piece);
    if (k + 2 < n) flows_.send(next, piece.target, span.bytes, Wire::kExact, there);
  }
}

}  // namespace dtl::ring
