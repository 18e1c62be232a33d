// A range of n members is split into the first ceil(n/2) and the rest. Member i of the first half
// and member i of the second exchange: each gives its operands of the other's half. If n is odd,
// the last of the first half has no partner: it gives its operands to the first of the second
// half, and gets nothing. It must be the first, because that one is in the first half of its own
// range from then on, where nobody takes from two. So each member takes from two at most once, and
// no whole buffer moves, as it does where a world is first folded to a power of two.
#include "ring/operation/halving_plan.h"

#include <algorithm>

namespace dtl::ring {

HalvingPlan::HalvingPlan(const Group& group, std::size_t me, FlowPlan& flows)
    : group_(group), me_(me), flows_(flows), levels_(levels_of(me, group.size())) {}

std::vector<HalvingPlan::Level> HalvingPlan::levels_of(std::size_t me, std::size_t members) {
  std::vector<Level> levels;
  Range all{0, members};
  while (all.to - all.from > 1) {
    const std::size_t middle = all.from + (all.to - all.from + 1) / 2;
    const std::size_t first = middle - all.from, second = all.to - middle;
    Level level;
    if (me < middle) {
      const std::size_t place = me - all.from;
      level.mine = {all.from, middle};
      level.theirs = {middle, all.to};
      level.gives_to = middle + (place < second ? place : 0);
      if (place < second) level.takes_from = {level.gives_to};
    } else {
      const std::size_t place = me - middle;
      level.mine = {middle, all.to};
      level.theirs = {all.from, middle};
      level.gives_to = all.from + place;
      level.takes_from = {level.gives_to};
      if (place == 0 && first > second) level.takes_from.push_back(middle - 1);
    }
    all = level.mine;
    levels.push_back(std::move(level));
  }
  return levels;
}

void HalvingPlan::reduce(const GroupPlan::Buffers& buffers, std::byte* partial,
                         std::vector<Share>& shares) {
  const std::byte* value = buffers.in;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    const Level& level = levels_[k];
    const Span given = whole_of(shares, level.theirs), kept = whole_of(shares, level.mine);
    flows_.send(group_[level.gives_to], value + given.at, given.bytes, buffers.wire,
                flows_.join(readiness_of(shares, level.theirs)));
    for (std::size_t i = 0; i < level.takes_from.size(); ++i) {
      const bool is_final = k + 1 == levels_.size() && i + 1 == level.takes_from.size();
      Incoming piece;
      piece.action = Action::kCombine;
      piece.target = (is_final ? buffers.out : partial) + kept.at;
      piece.own = value + kept.at;
      piece.bytes = kept.bytes;
      piece.wire = buffers.wire;
      piece.gate = flows_.join(readiness_of(shares, level.mine));
      piece.is_last = is_final && buffers.is_last;
      set_ready(shares, level.mine, flows_.receive(group_[level.takes_from[i]], piece));
      value = is_final ? buffers.out : partial;
    }
  }
}

void HalvingPlan::gather(const GroupPlan::Buffers& buffers, std::vector<Share>& shares) {
  for (std::size_t k = levels_.size(); k-- > 0;) {
    const Level& level = levels_[k];
    const Span own = whole_of(shares, level.mine), other = whole_of(shares, level.theirs);
    const Gate ready = flows_.join(readiness_of(shares, level.mine));
    for (const std::size_t peer : level.takes_from) {
      flows_.send(group_[peer], buffers.out + own.at, own.bytes, buffers.wire, ready);
    }
    Incoming piece;
    piece.target = buffers.out + other.at;
    piece.bytes = other.bytes;
    piece.wire = buffers.wire;
    set_ready(shares, level.theirs, flows_.receive(group_[level.gives_to], piece));
  }
}

// Each half collects its shares on one member, its leader: the root, or the member that had given
// to the leader of the other half, so that the same pairs talk as in reduce().
void HalvingPlan::gather_to(std::size_t root, std::byte* out, std::vector<Share>& shares) {
  std::vector<std::size_t> leaders;  // of the range at each level
  std::size_t leader = root;
  for (const Level& level : levels_) {
    leaders.push_back(leader);
    const bool is_in_mine = level.mine.from <= leader && leader < level.mine.to;
    if (!is_in_mine) leader = partner_of(leader, level);
  }
  // Now it leads the last range, of this member alone.
  for (std::size_t k = levels_.size(); k-- > 0 && leader == me_; leader = leaders[k]) {
    const Level& level = levels_[k];
    if (leaders[k] != me_) {
      const Span own = whole_of(shares, level.mine);
      return flows_.send(group_[leaders[k]], out + own.at, own.bytes, Wire::kExact,
                         flows_.join(readiness_of(shares, level.mine)));
    }
    const Span other = whole_of(shares, level.theirs);
    Incoming piece;
    piece.target = out + other.at;
    piece.bytes = other.bytes;
    set_ready(shares, level.theirs, flows_.receive(group_[level.gives_to], piece));
  }
}

// To whom a member of the other half gives.
std::size_t HalvingPlan::partner_of(std::size_t member, const Level& level) {
  const std::size_t place = member - level.theirs.from, mine = level.mine.to - level.mine.from;
  return level.mine.from + (place < mine ? place : 0);
}

// Up to the first level at which it takes something, it only passes on what it was given.
Range HalvingPlan::summed() const {
  for (const Level& level : levels_) {
    if (!level.takes_from.empty()) return level.mine;
  }
  return {me_, me_ + 1};
}

std::vector<Range> HalvingPlan::needs() const {
  std::vector<Range> ranges;
  if (!levels_.empty()) ranges.push_back(levels_[0].theirs);
  ranges.push_back(levels_.empty() ? Range{me_, me_ + 1} : levels_[0].mine);
  return ranges;
}

std::vector<Range> HalvingPlan::results() const {
  std::vector<Range> ranges{{me_, me_ + 1}};
  for (std::size_t k = levels_.size(); k-- > 0;) ranges.push_back(levels_[k].theirs);
  return ranges;
}

}  // namespace dtl::ring
