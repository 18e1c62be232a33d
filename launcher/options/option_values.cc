// The words of -launcher come from the schedulers' descriptions, so a new scheduler needs no change
// here.
#include "launcher/options/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

namespace dtl {

namespace {

// "ssh, fork, blaunch, pbs, qrsh or srun"
std::string known_ways() {
  std::vector<std::string> words;
  for (const Scheduler* scheduler : schedulers()) {
    if (scheduler->starter != nullptr) words.emplace_back(scheduler->starter->words[0].word);
  }
  std::sort(words.begin(), words.end());
  const std::string last = words.back();
  words.pop_back();
  return fmt::format("ssh, fork, {} or {}", join(words, ", "), last);
}

}  // namespace

AgentStart parse_agent_start(const std::string& text) {
  const std::string word = to_lower(text);
  if (word == "ssh") return {};
  if (word == "fork") return {AgentStart::How::kFork};
  for (const Scheduler* scheduler : schedulers()) {
    if (scheduler->starter == nullptr) continue;
    for (const StarterWord& each : scheduler->starter->words) {
      if (each.word == word) {
        return {AgentStart::How::kScheduler, scheduler->starter, each.program};
      }
    }
    // The scheduler's name instead of its starter's: "slurm" for srun. The hint has the right word.
    if (scheduler->name != word) continue;
    throw option_error("-launcher " + text, "a scheduler, not a way to start agents",
                       fmt::format("-launcher {0}, the default in jobs of {1}",
                                   scheduler->starter->words[0].word, scheduler->title));
  }
  throw option_error("-launcher " + text, "not a way to start agents", "-launcher " + known_ways());
}

int parse_notice_signal(const std::string& text) {
  std::string word = to_lower(text);
  if (word.starts_with("sig")) word = word.substr(3);
  if (word == "usr1") return SIGUSR1;
  if (word == "usr2") return SIGUSR2;
  if (word == "none") return 0;
  throw option_error("--notice-signal " + text, "not a signal for notices",
                     "--notice-signal USR1, USR2 or none");
}

PortRange parse_port_range(const std::string& text) {
  // MPICH writes LOW:HIGH, and Open MPI's oob_tcp_dynamic_ipv4_ports LOW-HIGH.
  const std::size_t middle = text.find_first_of(":-");
  const auto port = [](const std::string& digits) { return parse_integer(digits, 1, 65535); };
  const auto low = port(text.substr(0, middle));
  const auto high = middle == text.npos ? low : port(text.substr(middle + 1));
  if (!low || !high || *low >= *high) {
    throw option_error("--port-range " + text, "not a range of TCP ports (1 to 65535)",
                       "--port-range 20000:20099");
  }
  return {static_cast<std::uint16_t>(*low), static_cast<std::uint16_t>(*high)};
}

std::uint32_t parse_umask(const std::string& text) {
  constexpr std::size_t kMostDigits = 4;
  const bool octal = !text.empty() && text.size() <= kMostDigits &&
                     text.find_first_not_of("01234567") == std::string::npos;
  // 01000 is not a valid mask, so it fails the check below.
  const auto mask = octal ? static_cast<std::uint32_t>(std::stoul(text, nullptr, 8)) : 01000;
  if (mask > 0777) {
    throw option_error("--umask " + text, "not an octal number (0 to 777)", "--umask 022");
  }
  return mask;
}

std::string read_range(const std::string& text, SizeRange& range) {
  const std::size_t colon = text.find(':');
  const auto least = parse_integer(text.substr(0, colon), 1, kMaxRanks);
  const auto most =
      colon == text.npos ? least : parse_integer(text.substr(colon + 1), 1, kMaxRanks);
  if (colon == text.npos && !least) {
    return fmt::format("not a whole number (1 to {})", kMaxRanks);
  }
  if (!least || !most) {
    return fmt::format("not MIN:MAX, two whole numbers (1 to {})", kMaxRanks);
  }
  if (*least > *most) return "the range begins above its end";
  // Assigned last: after an error the caller's range is unchanged.
  range = {static_cast<int>(*least), static_cast<int>(*most)};
  return {};
}

}  // namespace dtl
