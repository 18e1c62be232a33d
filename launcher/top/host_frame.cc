// Lenient, like parse_rank_answers(): a line that does not fit says nothing.
#include "launcher/top/host_frame.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kJobIdDigits = 16;
constexpr std::string_view kEndLine = "end\n";

using Words = std::vector<std::string>;

// Reads the words of a line one by one. After a fault nothing more is read.
class FrameLine {
 public:
  explicit FrameLine(const Words& words) : words_(words) {}

  bool ok() const { return ok_; }
  std::int64_t number(std::int64_t low = 0, std::int64_t high = kMost) {
    const auto value = parse_integer(next(), low, high);
    ok_ = ok_ && value.has_value();
    return value.value_or(0);
  }
  std::uint64_t count() { return static_cast<std::uint64_t>(number()); }
  // NaN: unknown.
  double real() {
    const std::string text = next();
    double value = std::numeric_limits<double>::quiet_NaN();
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    return value;
  }
  std::string word() { return printable(next()); }
  std::string job() {
    const std::string text = next();
    ok_ = ok_ && text.size() == kJobIdDigits && is_job_id_prefix(text);
    return text;
  }
  // The rest may hold blanks.
  std::string rest() {
    const std::size_t from = std::min(at_, words_.size());
    return printable(join(std::span(words_).subspan(from), " "));
  }

 private:
  std::string next() {
    if (at_ >= words_.size()) ok_ = false;
    return ok_ ? words_[at_++] : std::string();
  }

  const Words& words_;
  std::size_t at_ = 1;  // the first one names the line
  bool ok_ = true;
};

std::optional<Activity> activity_of(const std::string& word) {
  if (word == "running") return Activity::kComputes;
  if (word == "sleeping") return Activity::kSleeps;
  if (word == "stopped") return Activity::kStopped;
  if (word == "disk") return Activity::kWaitsForDisk;
  if (word == "swapping") return Activity::kSwaps;
  return std::nullopt;
}

std::optional<FrameLauncher> launcher_in(FrameLine line) {
  FrameLauncher launcher;
  launcher.job = line.job();
  launcher.state = line.word();
  launcher.ranks = static_cast<int>(line.number(0, kMaxRanks));
  launcher.age_s = line.number();
  launcher.hosts = line.word();
  launcher.command = line.rest();
  return line.ok() ? std::optional(launcher) : std::nullopt;
}

std::optional<FrameAgent> agent_in(FrameLine line) {
  FrameAgent agent;
  agent.job = line.job();
  agent.ranks = static_cast<int>(line.number(0, kMaxRanks));
  agent.age_s = line.number();
  return line.ok() ? std::optional(agent) : std::nullopt;
}

std::optional<FrameRank> rank_in(FrameLine line) {
  FrameRank rank;
  rank.job = line.job();
  const std::string number = line.word();
  const auto known = parse_integer(number, 0, kMaxRanks - 1);
  if (!known && number != "-1") return std::nullopt;
  rank.rank = static_cast<int>(known.value_or(-1));
  rank.report.rank = static_cast<std::uint32_t>(known.value_or(0));
  rank.report.pid = static_cast<std::uint32_t>(line.number(0, UINT32_MAX));
  const auto activity = activity_of(line.word());
  if (!activity) return std::nullopt;
  rank.report.activity = *activity;
  rank.report.usage.cpu_ms = line.count();
  rank.report.usage.memory_kib = line.count();
  rank.report.usage.threads = line.count();
  rank.sent = line.count();
  rank.program = line.rest();
  return line.ok() ? std::optional(std::move(rank)) : std::nullopt;
}

std::optional<CommState> comm_in(FrameLine line) {
  CommState comm;
  const std::string id = line.word();
  const auto [end, fault] = std::from_chars(id.data(), id.data() + id.size(), comm.id);
  if (fault != std::errc() || end != id.data() + id.size()) return std::nullopt;
  comm.rank = static_cast<std::uint32_t>(line.number(0, kMaxRanks - 1));
  comm.world = static_cast<std::uint32_t>(line.number(1, kMaxRanks));
  comm.begun = line.count();
  comm.opcode = static_cast<std::uint32_t>(line.number(0, 255));
  comm.completed = line.count();
  comm.bytes = line.count();
  return line.ok() ? std::optional(comm) : std::nullopt;
}

std::optional<TrainingProgress> progress_in(FrameLine line) {
  TrainingProgress progress;
  progress.step = line.count();
  progress.total_steps = line.count();
  progress.tokens = line.count();
  progress.loss = line.real();
  return line.ok() ? std::optional(progress) : std::nullopt;
}

void add_line(const Words& words, HostFrame& frame, bool& rank_is_known) {
  constexpr std::size_t kMostComms = 64;  // of a rank; dtagent sends fewer
  const FrameLine line(words);
  if (words[0] == "launcher") {
    if (auto launcher = launcher_in(line)) frame.launchers.push_back(std::move(*launcher));
  } else if (words[0] == "agent") {
    if (auto agent = agent_in(line)) frame.agents.push_back(std::move(*agent));
  } else if (words[0] == "rank") {
    auto rank = rank_in(line);
    rank_is_known = rank.has_value();
    if (rank) frame.ranks.push_back(std::move(*rank));
  } else if (words[0] == "comm" && rank_is_known) {
    auto& comms = frame.ranks.back().report.comms;
    if (auto comm = comm_in(line); comm && comms.size() < kMostComms) comms.push_back(*comm);
  } else if (words[0] == "progress" && rank_is_known) {
    if (auto progress = progress_in(line)) frame.ranks.back().report.progress = *progress;
  }
}

}  // namespace

std::optional<HostFrame> parse_host_frame(std::string_view text) {
  constexpr std::string_view kCores = "cores ";
  constexpr std::int64_t kMostLoad = 100'000'000;  // in hundredths
  if (!text.ends_with(kEndLine)) return std::nullopt;
  HostFrame frame;
  std::string cores;
  bool is_first = true, rank_is_known = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.starts_with(kCores)) {
      cores += line.substr(kCores.size());
      cores += '\n';
      continue;
    }
    const Words words = split(line, ' ');
    if (is_first) {
      FrameLine first(words);
      frame.at_ms = first.number();
      frame.load = static_cast<double>(first.number(0, kMostLoad)) / 100;
      if (words[0] != "frame" || !first.ok()) return std::nullopt;
      is_first = false;
    } else {
      add_line(words, frame, rank_is_known);
    }
  }
  // The agent's last line of them is empty: what follows the newline of "end".
  if (cores.ends_with("\n\n")) cores.pop_back();
  frame.cores = parse_node_cores(cores);
  return frame;
}

std::vector<std::string> HostFrameReader::feed(std::string_view bytes) {
  std::vector<std::string> frames;
  pending_ += bytes;
  for (;;) {
    const std::size_t at = pending_.find("\nend\n");
    if (at == pending_.npos) break;
    const std::size_t size = at + 1 + kEndLine.size();
    frames.push_back(pending_.substr(0, size));
    pending_.erase(0, size);
  }
  if (pending_.size() > kMostBytes) {
    throw Error(Exit::kVersion, "cannot watch its jobs", "a frame of its dtagent does not end");
  }
  return frames;
}

}  // namespace dtl
