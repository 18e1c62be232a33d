// Unlike the card of a job that hangs (launcher/job/hang.h), this blames no rank: the job may be
// well, and ranks are rarely at the same place at the same time.
#include "launcher/jobs/ask_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "launcher/job/native_frames.h"
#include "launcher/job/rank_stack.h"
#include "launcher/job/rank_watch.h"
#include "launcher/jobs/jobs_view.h"

namespace dtl {
namespace {

constexpr std::size_t kMostFrames = 40;  // of a stack; --json has all

// Ranks that do the same at the same place.
struct AskGroup {
  std::string doing, since, note;
  std::vector<StackFrame> frames;
  std::vector<std::string> native;
  std::vector<int> ranks;
};

std::string wait_text(const RankAnswer& rank) {
  if (rank.waits.empty()) return {};
  const RingWait& wait = rank.waits.front();
  return fmt::format("{} {} of {}", wait.collective, wait.number, plural(wait.world, "rank"));
}

// Says why a rank has no stack to show, and what helps. Empty if it has one.
std::string note_of(const RankAnswer& rank) {
  if (rank.answer == "told") return {};
  if (rank.answer == "stopped") return "stopped, as by SIGSTOP";
  if (rank.answer == "silent") return "did not answer within 2 s";
  if (rank.answer == "busy") return "did not answer: another dtlaunch ask waits for it";
  if (rank.answer == "refused")
    return "not asked: it belongs to another user, or may not be examined";
  if (rank.answer != "cannot") return "did not answer";
  if (!rank.native.empty()) return rank.program;
  if (rank.program.starts_with("python")) {
    return rank.program + " without dtring reports no stack. Try: import dtring, or --native";
  }
  return rank.program + " reports no stack. Try: --native";
}

bool did_not_answer(const RankAnswer& rank) {
  return rank.answer != "told" && rank.answer != "cannot";
}

// dtring's frame names the time too, which differs between ranks that wait in the same collective.
void remove_time(std::vector<StackFrame>& frames, const std::string& since) {
  const std::string end = ", since " + since;
  for (StackFrame& frame : frames) {
    if (!since.empty() && frame.function.ends_with(end)) {
      frame.function.resize(frame.function.size() - end.size());
    }
  }
}

AskGroup group_of(const RankAnswer& rank) {
  AskGroup group;
  group.note = note_of(rank);
  RankStack stack = parse_stack(rank.stack);
  group.doing = stack.details.empty() ? wait_text(rank) : stack.details;
  group.since = stack.since;
  remove_time(stack.frames, stack.since);
  group.frames = std::move(stack.frames);
  if (rank.native_told) group.native = native_frames(rank.native);
  if (group.native.empty() && !rank.native.empty()) {
    group.native = {last_line(rank.native)};
  }
  group.ranks = {rank.rank};
  return group;
}

// In the order of each group's first rank.
std::vector<AskGroup> fold_ranks(const std::vector<RankAnswer>& ranks) {
  std::vector<AskGroup> groups;
  for (const RankAnswer& rank : ranks) {
    AskGroup one = group_of(rank);
    const auto key = [](const AskGroup& group) {
      return std::tie(group.doing, group.note, group.frames, group.native);
    };
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const AskGroup& group) { return key(group) == key(one); });
    if (at == groups.end()) {
      groups.push_back(std::move(one));
      continue;
    }
    at->ranks.push_back(rank.rank);
    // The earliest counts, as on the card.
    if (!one.since.empty())
      at->since = at->since.empty() ? one.since : std::min(at->since, one.since);
  }
  return groups;
}

std::string memory_text(std::int64_t kib) {
  if (kib < 10 * 1024) return fmt::format("{} KiB", kib);
  if (kib < 10 * 1024 * 1024) return fmt::format("{} MiB", kib / 1024);
  return fmt::format("{} GiB", kib / 1024 / 1024);
}

std::string rank_number(int rank) {
  return rank < 0 ? "?" : std::to_string(rank);
}

std::string ranks_table(const std::vector<RankAnswer>& ranks, std::optional<int> columns) {
  constexpr std::size_t kBeforeWaits = 69;
  std::size_t host = 10, waits = std::string::npos;
  if (columns) {
    waits = static_cast<std::size_t>(std::max(*columns, 80)) - kBeforeWaits;
  } else {
    for (const RankAnswer& rank : ranks) host = std::max(host, rank.host.size());
  }
  std::string text =
      fmt::format("{:>5} {:<{}} {:>7} {:<8} {:>5} {:>6} {:>8} {:>5} {:>6} {}\n", "RANK", "HOST",
                  host, "PID", "STATE", "CPU", "TIME", "MEMORY", "THRDS", "AGE", "WAITS IN");
  for (const RankAnswer& rank : ranks) {
    const std::string collective = parse_stack(rank.stack).collective;
    const std::string waits_in = collective.empty() ? wait_text(rank) : collective;
    std::string row =
        fmt::format("{:>5} {:<{}} {:>7} {:<8} {:>5} {:>6} {:>8} {:>5} {:>6} {}",
                    rank_number(rank.rank), fit_column(rank.host, host), host, rank.pid,
                    fit_column(rank.state, 8), fmt::format("{}%", rank.cpu_percent),
                    age_text(rank.cpu_ms / 1000), memory_text(rank.memory_kib), rank.threads,
                    age_text(rank.age_s), fit_column(waits_in.empty() ? "-" : waits_in, waits));
    text += row + "\n";
  }
  return text;
}

// The end of the path says most.
std::string fitting_frame(StackFrame frame, std::optional<int> columns) {
  constexpr std::string_view kCut = "...";
  constexpr std::size_t kIndent = 2;
  const auto width = static_cast<std::size_t>(std::max(columns.value_or(1 << 20), 80));
  const std::size_t size = frame_text(frame).size() + kIndent;
  if (size > width) {
    const std::size_t over = size - width + kCut.size();
    if (over + 8 < frame.file.size()) frame.file = std::string(kCut) + frame.file.substr(over);
  }
  return fit_column(frame_text(frame), width - kIndent);
}

std::string group_text(const AskGroup& group, std::optional<int> columns) {
  std::vector<int> known = group.ranks;
  std::erase(known, -1);
  std::string text = known.empty() ? "unknown ranks" : ranks_text(known);
  if (!group.doing.empty()) text += ": " + group.doing;
  if (!group.since.empty()) text += ", since " + group.since;
  if (!group.note.empty()) text += ": " + group.note;
  text += "\n";
  const auto rest = [&](std::size_t all) {
    if (all > kMostFrames)
      text += fmt::format("  {} more in --json\n",
                          plural(static_cast<std::int64_t>(all - kMostFrames), "frame"));
  };
  for (std::size_t i = 0; i < std::min(group.frames.size(), kMostFrames); ++i) {
    text += "  " + fitting_frame(group.frames[i], columns) + "\n";
  }
  rest(group.frames.size());
  if (!group.native.empty()) text += "  native:\n";
  const auto width = static_cast<std::size_t>(std::max(columns.value_or(1 << 20), 80)) - 4;
  for (std::size_t i = 0; i < std::min(group.native.size(), kMostFrames); ++i) {
    text += "    " + fit_column(group.native[i], width) + "\n";
  }
  rest(group.native.size());
  return text;
}

nlohmann::ordered_json lines_json(const std::string& text) {
  auto lines = nlohmann::ordered_json::array();
  for (const std::string& line : split(text, '\n')) {
    if (!line.empty()) lines.push_back(printable(line));
  }
  return lines;
}

nlohmann::ordered_json rank_json(const RankAnswer& rank) {
  nlohmann::ordered_json json;
  json["rank"] = rank.rank < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(rank.rank);
  json["host"] = rank.host;
  json["pid"] = rank.pid;
  json["program"] = rank.program;
  json["state"] = rank.state;
  json["cpu_s"] = static_cast<double>(rank.cpu_ms) / 1000;
  json["cpu_percent"] = rank.cpu_percent;
  json["memory_kib"] = rank.memory_kib;
  json["threads"] = rank.threads;
  json["age_s"] = rank.age_s;
  json["answer"] = rank.answer;
  const RankStack stack = parse_stack(rank.stack);
  if (!stack.collective.empty()) json["collective"] = stack.details;
  if (!stack.since.empty()) json["since"] = stack.since;
  if (stack.collective.empty() && !rank.waits.empty()) json["collective"] = wait_text(rank);
  if (const StackFrame* frame = where(stack)) json["at"] = frame_text(*frame);
  if (rank.answer == "told") json["stack"] = lines_json(rank.stack);
  if (rank.native_told) json["native"] = lines_json(rank.native);
  if (!rank.native_told && !rank.native.empty()) json["native_problem"] = last_line(rank.native);
  return json;
}

}  // namespace

JobAnswer merge_answers(const std::string& job, int ranks, const std::vector<HostAnswer>& hosts) {
  JobAnswer all;
  all.job = job;
  int started = 0;
  std::set<std::pair<int, std::int64_t>> known;
  for (const HostAnswer& host : hosts) {
    started += host.ranks;
    for (const RankAnswer& rank : host.running) {
      if (known.emplace(rank.rank, rank.pid).second) all.running.push_back(rank);
    }
  }
  all.ranks = ranks > 0 ? ranks : started;
  std::stable_sort(all.running.begin(), all.running.end(),
                   [](const RankAnswer& a, const RankAnswer& b) {
                     return static_cast<unsigned>(a.rank) < static_cast<unsigned>(b.rank);
                   });
  return all;
}

std::string ask_text(const JobAnswer& job, std::optional<int> columns) {
  std::string text = ranks_table(job.running, columns);
  for (const AskGroup& group : fold_ranks(job.running)) text += "\n" + group_text(group, columns);
  return text;
}

std::string ask_json(const JobAnswer& job) {
  nlohmann::ordered_json root;
  root["schema"] = "dtlaunch-ask/1";
  root["job"] = job.job;
  root["world_size"] = job.ranks;
  root["ranks"] = nlohmann::ordered_json::array();
  for (const RankAnswer& rank : job.running) root["ranks"].push_back(rank_json(rank));
  root["groups"] = nlohmann::ordered_json::array();
  for (const AskGroup& group : fold_ranks(job.running)) root["groups"].push_back(group.ranks);
  root["unreachable"] = nlohmann::ordered_json::array();
  for (const SilentHost& host : job.silent_hosts) {
    root["unreachable"].push_back({{"host", host.host}, {"error", host.reason}});
  }
  return root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<std::string> unanswered_lines(const JobAnswer& job) {
  std::vector<std::pair<std::string, std::vector<int>>> reasons;
  for (const RankAnswer& rank : job.running) {
    if (!did_not_answer(rank)) continue;
    const std::string note = note_of(rank);
    auto at = std::find_if(reasons.begin(), reasons.end(),
                           [&](const auto& r) { return r.first == note; });
    if (at == reasons.end()) at = reasons.insert(reasons.end(), {note, {}});
    at->second.push_back(rank.rank);
  }
  std::vector<std::string> lines;
  for (auto& [note, ranks] : reasons) {
    std::erase(ranks, -1);
    lines.push_back(fmt::format("job {}: {}: {}", job.job,
                                ranks.empty() ? "unknown ranks" : ranks_text(ranks), note));
  }
  return lines;
}

}  // namespace dtl
