// The card must fit a terminal, whatever the number of ranks: equal ranks become one group, and
// only the group that matters has its whole stack. The report has everything.
#include "launcher/job/hang.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "launcher/job/native_frames.h"

namespace dtl {
namespace {

constexpr std::size_t kOwnFrames = 6;  // of the odd rank's stack on the card
constexpr std::size_t kGroups = 5;     // on the card; the report has all

bool contains(const std::vector<int>& ranks, int rank) {
  // ranks must be sorted.
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

// A group waits in the same collective at the same place of the script, or is in none and at the
// same place. The earliest `since` of a group counts.
void add_to_group(Hang& hang, int rank, RankStack doing) {
  const auto same = [&](const HangGroup& group) {
    const StackFrame *theirs = where(group.doing), *own = where(doing);
    const bool here = theirs == nullptr || own == nullptr ? theirs == own : *theirs == *own;
    return here && group.doing.details == doing.details;
  };
  const auto at = std::find_if(hang.groups.begin(), hang.groups.end(), same);
  if (at == hang.groups.end()) {
    hang.groups.push_back({{rank}, std::move(doing)});
    return;
  }
  at->ranks.push_back(rank);
  if (!doing.since.empty()) at->doing.since = std::min(at->doing.since, doing.since);
}

// The ranks in each collective; "" for those in none.
std::map<std::string, std::vector<int>> by_collective(const Hang& hang) {
  std::map<std::string, std::vector<int>> found;
  for (const HangGroup& group : hang.groups) {
    std::vector<int>& ranks = found[group.doing.collective];
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  return found;
}

// Ranks in a collective wait for those in none, silent or ended. If all are in one, a minority in
// another one is odd. Without a majority no rank is odd: half against half proves nothing.
void find_odd(Hang& hang) {
  auto places = by_collective(hang);
  for (const auto* missing : {&hang.silent, &hang.stopped, &hang.completed, &places[""]}) {
    hang.odd.insert(hang.odd.end(), missing->begin(), missing->end());
  }
  places.erase("");
  if (places.empty()) {
    hang.odd.clear();
    return;
  }
  const auto most = std::max_element(
      places.begin(), places.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::size_t in_any = 0;
  for (const auto& [name, ranks] : places) in_any += ranks.size();
  if (hang.odd.empty()) {
    if (places.size() == 1 || 2 * most->second.size() <= in_any) return;
    for (const auto& [name, ranks] : places) {
      if (name != most->first) hang.odd.insert(hang.odd.end(), ranks.begin(), ranks.end());
    }
  }
  hang.collective = most->first;
  hang.waiting = most->second;
  std::sort(hang.odd.begin(), hang.odd.end());
  std::sort(hang.waiting.begin(), hang.waiting.end());
}

// With the host when all of them are on one, since that host may be the cause.
std::string ranks_and_host(const std::vector<int>& odd, const std::vector<RankNow>& ranks) {
  std::string host;
  for (const RankNow& rank : ranks) {
    if (!contains(odd, rank.rank)) continue;
    if (!host.empty() && host != rank.host) return ranks_text(odd);
    host = rank.host;
  }
  return host.empty() ? ranks_text(odd) : ranks_text(odd) + " on " + host;
}

std::vector<CardLine> odd_lines(const Hang& hang, const std::vector<RankNow>& ranks) {
  std::vector<CardLine> lines;
  std::string who = ranks_and_host(hang.odd, ranks);
  if (!hang.waiting.empty()) {
    who += fmt::format(": not in the {} in which {} wait{}", hang.collective,
                       ranks_text(hang.waiting), hang.waiting.size() == 1 ? "s" : "");
  }
  lines.push_back({"hangs", std::move(who)});
  const auto say = [&](const std::vector<int>& which, const char* what) {
    if (!which.empty()) lines.push_back({"", ranks_text(which) + " " + what});
  };
  // Why each of them is odd, where that is known.
  say(hang.completed, "had ended, with status 0");
  say(hang.stopped, "did not answer: stopped, as by SIGSTOP");
  say(hang.silent, "did not answer within half a second");
  return lines;
}

// The innermost frame says what it waits for. Of the frames around it, only the user's own help.
void add_stack(const RankStack& doing, std::vector<CardLine>& lines) {
  std::size_t own = 0;
  for (std::size_t i = 0; i < doing.frames.size() && own < kOwnFrames; ++i) {
    const StackFrame& frame = doing.frames[i];
    if (i > 0 && !is_users(frame)) continue;
    own += is_users(frame) ? 1 : 0;
    lines.push_back({i == 0 ? "stack" : "", "| " + frame_text(frame)});
  }
}

void add_group(const HangGroup& group, bool whole_stack, std::vector<CardLine>& lines) {
  const RankStack& doing = group.doing;
  std::string text = ranks_text(group.ranks);
  if (!doing.details.empty()) text += ": " + doing.details;
  if (!doing.since.empty()) text += ", since " + doing.since;
  lines.push_back({doing.collective.empty() ? "runs" : "waits", text});
  if (whole_stack) return add_stack(doing, lines);
  if (const StackFrame* frame = where(doing)) lines.push_back({"", "| " + frame_text(*frame)});
}

// The native functions in which ranks were, or why they are unknown. Odd ranks come first; ranks
// with the same text are one group.
void add_native(const Hang& hang, const std::vector<RankNow>& ranks, std::vector<CardLine>& lines) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const bool odd : {true, false}) {
    for (const RankNow& rank : ranks) {
      if (!rank.native || contains(hang.odd, rank.rank) != odd) continue;
      const NativeStack& native = *rank.native;
      std::vector<std::string> frames;
      if (native.told) frames = native_frames(native.text);
      const std::string text = frames.empty() ? printable(native.text) : join(frames, " < ");
      const auto alike = [&](const auto& group) {
        return group.first == text && contains(hang.odd, group.second.front()) == odd;
      };
      auto at = std::find_if(groups.begin(), groups.end(), alike);
      if (at == groups.end()) at = groups.insert(groups.end(), {text, {}});
      at->second.push_back(rank.rank);
    }
  }
  for (std::size_t i = 0; i < groups.size() && i < kGroups; ++i) {
    lines.push_back(
        {i == 0 ? "native" : "", ranks_text(groups[i].second) + ": " + groups[i].first});
  }
}

}  // namespace

Hang judge_hang(const std::vector<RankNow>& ranks, const std::optional<HangFinding>& known) {
  Hang hang;
  for (const RankNow& rank : ranks) {
    if (rank.completed) hang.completed.push_back(rank.rank);
    if (!rank.stack) continue;
    const Stack& stack = *rank.stack;
    switch (stack.answer) {
      case StackAnswer::kTold:
        add_to_group(hang, rank.rank, parse_stack(stack.text));
        break;
      case StackAnswer::kSilent:
        (stack.text == "stopped" ? hang.stopped : hang.silent).push_back(rank.rank);
        break;
      case StackAnswer::kCannot:
        // Only Python can be helped: hang_step() says how to ask it the next time.
        if (!stack.text.starts_with("python")) break;
        if (hang.cannot.empty()) hang.cannot_program = printable(stack.text);
        hang.cannot.push_back(rank.rank);
        break;
    }
  }
  if (known) {
    hang.odd = known->odd;
    hang.waiting = known->waiting;
    hang.collective = known->collective;
  } else {
    find_odd(hang);
  }
  // Odd ones first, then the largest group, then the lowest rank, so that the card is the same each
  // time.
  const auto order = [&](const HangGroup& group) {
    return std::tuple(!contains(hang.odd, group.ranks.front()),
                      -static_cast<int>(group.ranks.size()), group.ranks.front());
  };
  std::sort(hang.groups.begin(), hang.groups.end(),
            [&](const HangGroup& a, const HangGroup& b) { return order(a) < order(b); });
  return hang;
}

std::vector<CardLine> hang_lines(const Hang& hang, const std::vector<RankNow>& ranks) {
  std::vector<CardLine> lines;
  const bool named = !hang.odd.empty();
  if (named) lines = odd_lines(hang, ranks);
  if (!named && !hang.stopped.empty()) {
    lines.push_back({"stopped", ranks_text(hang.stopped) + ", as by SIGSTOP"});
  }
  if (!named && !hang.silent.empty()) lines.push_back({"silent", ranks_text(hang.silent)});
  for (std::size_t i = 0; i < hang.groups.size() && i < kGroups; ++i) {
    const HangGroup& group = hang.groups[i];
    const bool is_odd = named && contains(hang.odd, group.ranks.front());
    if (is_odd && group.ranks == hang.odd && group.doing.collective.empty()) {
      add_stack(group.doing, lines);  // the line above has said the rest
      continue;
    }
    // With a single group, its place is all that is known.
    add_group(group, i == 0 && (is_odd || hang.groups.size() == 1), lines);
  }
  if (hang.groups.size() > kGroups) {
    lines.push_back({"", plural(static_cast<std::int64_t>(hang.groups.size() - kGroups), "group") +
                             " more in --report"});
  }
  add_native(hang, ranks, lines);
  if (!hang.cannot.empty()) {
    lines.push_back({"unasked", fmt::format("{} ({}), without dtring", ranks_text(hang.cannot),
                                            hang.cannot_program)});
  }
  return lines;
}

std::string hang_step(const Hang& hang) {
  if (hang.cannot.empty()) return {};
  return "import dtring, or DTRING_AUTOLOAD=1; while it runs: py-spy dump --pid PID";
}

}  // namespace dtl
