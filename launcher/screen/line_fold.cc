// A queue of groups, one for each different waiting line. Only the first may leave, because later
// groups are newer output.
#include "launcher/screen/line_fold.h"

#include <utility>

#include "base/limits.h"

namespace dtl {
namespace {

constexpr std::size_t kMostGroups = 64;  // with more waiting lines, the first leaves without delay

}  // namespace

void LineFold::add(int rank, const std::string& kind, Stream stream, std::string text,
                   JobTime now) {
  const auto index = static_cast<std::size_t>(rank);
  // Searches on to the earliest matching group, which leaves next.
  Group* found = nullptr;
  // From the last group back to the last one that has a line of this rank: joining an earlier one
  // would reorder the rank's lines.
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    if (group->has[index]) break;
    if (group->line.stream == stream && group->kind == kind && group->line.text == text) {
      found = &*group;
    }
  }
  if (found == nullptr) {
    found = &groups_.emplace_back();
    found->line.stream = stream;
    found->line.text = std::move(text);
    found->kind = kind;
    found->has.resize(ranks_);
    found->since = now;
  }
  found->has[index] = true;
  found->line.ranks.push_back(rank);
}

std::vector<FoldedLine> LineFold::take_due(JobTime now) {
  std::vector<FoldedLine> due;
  while (!groups_.empty()) {
    const Group& first = groups_.front();
    const bool complete = first.line.ranks.size() == ranks_;
    // With many different lines, each new one would be compared with all waiting ones.
    if (!complete && groups_.size() <= kMostGroups && now < first.since + kFoldDelay) break;
    due.push_back(take_first());
  }
  return due;
}

std::vector<FoldedLine> LineFold::take_all() {
  std::vector<FoldedLine> all;
  while (!groups_.empty()) all.push_back(take_first());
  return all;
}

FoldedLine LineFold::take_first() {
  FoldedLine line = std::move(groups_.front().line);
  groups_.pop_front();
  return line;
}

std::optional<JobTime> LineFold::next_due() const {
  if (groups_.empty()) return std::nullopt;
  return groups_.front().since + kFoldDelay;
}

}  // namespace dtl
