#include "launcher/top/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kMostPlaces = 4;  // ranks whose hosts and states are named one by one

std::string doing_text(const TopJob& job, int rank) {
  const auto at = std::find_if(job.ranks.begin(), job.ranks.end(),
                               [&](const TopRank& each) { return each.rank == rank; });
  if (at == job.ranks.end()) return {};
  // What it does in its own collective says nothing new.
  const bool is_told =
      at->activity && *at->activity != Activity::kComputes && *at->activity != Activity::kSleeps;
  return at->host + (is_told ? std::string(", ") + activity_word(at->activity) : "");
}

// "rank 3 (node2, stopped)", "ranks 3,9 (node2; node5)", "12 ranks"
std::string odd_text(const TopJob& job, const std::vector<int>& odd) {
  if (odd.size() > kMostPlaces) return plural(static_cast<std::int64_t>(odd.size()), "rank");
  std::vector<std::string> places;
  for (const int rank : odd) {
    const std::string doing = doing_text(job, rank);
    const bool is_new = std::find(places.begin(), places.end(), doing) == places.end();
    if (!doing.empty() && is_new) places.push_back(doing);
  }
  const std::string text = ranks_text(odd);
  return places.empty() ? text : fmt::format("{} ({})", text, join(places, "; "));
}

std::string seconds_text(double seconds) {
  return seconds < 60 ? fmt::format("{:.1f} s", seconds)
                      : age_text(static_cast<std::int64_t>(seconds));
}

std::string behind_text(const TopJob& job) {
  std::uint64_t least = UINT64_MAX, most = 0;
  for (const TopRank& rank : job.ranks) {
    if (!rank.progress) continue;
    const bool is_behind =
        std::find(job.behind.begin(), job.behind.end(), rank.rank) != job.behind.end();
    if (is_behind) least = std::min(least, rank.progress->step);
    most = std::max(most, rank.progress->step);
  }
  const bool one = job.behind.size() == 1;
  return fmt::format("{} {} behind: step {}, others {}", odd_text(job, job.behind),
                     one ? "is" : "are", least, most);
}

}  // namespace

const char* activity_word(std::optional<Activity> activity) {
  if (!activity) return "unknown";
  switch (*activity) {
    case Activity::kComputes:
      return "running";
    case Activity::kSleeps:
      return "sleeping";
    case Activity::kStopped:
      return "stopped";
    case Activity::kWaitsForDisk:
      return "disk";
    case Activity::kSwaps:
      return "swapping";
  }
  return "unknown";
}

std::string top_wait_text(const TopJob& job) {
  if (!job.wait) return job.behind.empty() ? std::string() : behind_text(job);
  const HangFinding& wait = *job.wait;
  const std::string lasted =
      "seen for " + seconds_text(static_cast<double>(wait.lasted.count()) / 1000);
  if (wait.waiting.empty()) {
    return fmt::format("{}: nobody waits for {} yet, {}", odd_text(job, wait.odd),
                       wait.odd.size() == 1 ? "it" : "them", lasted);
  }
  const bool one = wait.waiting.size() == 1;
  const std::string who = wait.waiting.size() > kMostPlaces
                              ? plural(static_cast<std::int64_t>(wait.waiting.size()), "rank")
                              : ranks_text(wait.waiting);
  if (wait.odd.empty()) {
    return fmt::format("{} {} in the same {}, and no data moves, {}", who, one ? "waits" : "wait",
                       wait.collective, lasted);
  }
  return fmt::format("{} {} in {} for {}, {}", who, one ? "waits" : "wait", wait.collective,
                     odd_text(job, wait.odd), lasted);
}

}  // namespace dtl
