// The words of -launcher come from the schedulers' descriptions, so a new scheduler needs no change
// here.
#include "launcher/options/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/options/option_table.h"
#include "base/text.h"

namespace dtl {

namespace {

constexpr std::int64_t kMostSizeBytes = std::int64_t{1} << 40;

std::vector<std::string> known_ways() {
  std::vector<std::string> words = {"ssh", "fork"};
  for (const Scheduler* scheduler : schedulers()) {
    if (scheduler->starter != nullptr) words.emplace_back(scheduler->starter->words[0].word);
  }
  std::sort(words.begin() + 2, words.end());
  return words;
}

// "300" for "5m", as other programs write times; empty for other texts.
std::string in_seconds(const std::string& text) {
  constexpr std::pair<char, double> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  for (const auto& [unit, factor] : kUnits) {
    double number = 0;
    if (!text.ends_with(unit)) continue;
    if (!read_real(text.substr(0, text.size() - 1), 0, kMaxSeconds / factor, number).empty()) break;
    return fmt::format("{}", number * factor);
  }
  return {};
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
    const std::string starter(scheduler->starter->words[0].word);
    throw option_error("-launcher " + text,
                       fmt::format("a scheduler, not a way to start agents; {} is the default in "
                                   "jobs of {}",
                                   starter, scheduler->title),
                       "-launcher " + starter);
  }
  const std::vector<std::string> ways = known_ways();
  const std::string near = nearest(word, ways);
  throw option_error("-launcher " + text,
                     fmt::format("not a way to start agents ({})", join(ways, ", ")),
                     near.empty() ? "" : "-launcher " + near);
}

RenamedScheduler renamed_scheduler(std::string_view what, const std::string& value) {
  RenamedScheduler renamed{fmt::format("the {}", what), value};
  try {
    parse_scheduler(value);
  } catch (const Error& error) {
    renamed.why += fmt::format(", and {} is {}", printable(value), error.reason());
    const std::size_t blank = error.hint().rfind("--scheduler ");
    renamed.value = blank == 0 ? error.hint().substr(std::string_view("--scheduler ").size()) : "";
  }
  return renamed;
}

int parse_notice_signal(const std::string& text) {
  std::string word = to_lower(text);
  if (word.starts_with("sig")) word = word.substr(3);
  if (word == "usr1") return SIGUSR1;
  if (word == "usr2") return SIGUSR2;
  if (word == "none") return 0;
  throw option_error("--notice-signal " + text, "not a signal for notices (USR1, USR2 or none)",
                     "--notice-signal USR1");
}

PortRange parse_port_range(const std::string& text) {
  // MPICH writes LOW:HIGH, and Open MPI's oob_tcp_dynamic_ipv4_ports LOW-HIGH.
  const std::size_t middle = text.find_first_of(":-");
  const auto port = [](const std::string& digits) { return parse_integer(digits, 1, 65535); };
  const auto low = port(text.substr(0, middle));
  const auto high = middle == text.npos ? low : port(text.substr(middle + 1));
  if (low && high && *low > *high) {
    throw option_error("--port-range " + text, std::string(kRangeBackwards),
                       fmt::format("--port-range {}:{}", *high, *low));
  }
  if (!low || !high || *low == *high) {
    throw option_error("--port-range " + text, "not a range of TCP ports (1 to 65535)",
                       "--port-range 20000:20099");
  }
  return {static_cast<std::uint16_t>(*low), static_cast<std::uint16_t>(*high)};
}

std::uint32_t parse_umask(const std::string& text) {
  constexpr std::size_t kMostDigits = 4;
  const bool octal = !text.empty() && text.size() <= kMostDigits &&
                     text.find_first_not_of("01234567") == std::string::npos;
  if (!octal)
    throw option_error("--umask " + text, "not an octal number (0 to 777)", "--umask 022");
  const auto mask = static_cast<std::uint32_t>(std::stoul(text, nullptr, 8));
  if (mask > 0777) throw option_error("--umask " + text, "too large (0 to 777)", "--umask 022");
  return mask;
}

std::string read_size(const std::string& text, std::int64_t& bytes) {
  constexpr std::string_view kFault = "not a size (1M to 1024G: 200M, 2G)";
  constexpr std::pair<std::string_view, int> kUnits[] = {{"m", 20}, {"g", 30}};
  std::string word = to_lower(text);
  // 2GiB and 2GB mean 2G.
  for (const std::string_view end : {"ib", "b"}) {
    if (word.size() > end.size() && word.ends_with(end)) word.resize(word.size() - end.size());
  }
  for (const auto& [unit, shift] : kUnits) {
    if (!word.ends_with(unit)) continue;
    const auto number = parse_integer(word.substr(0, word.size() - 1), 1, kMostSizeBytes >> shift);
    if (!number) break;
    bytes = *number << shift;
    return {};
  }
  return std::string(kFault);
}

std::string read_range(const std::string& text, SizeRange& range) {
  const std::size_t colon = text.find(':');
  const std::string low = text.substr(0, colon);
  const std::string high = colon == text.npos ? low : text.substr(colon + 1);
  const auto least = parse_integer(low, 1, kMaxRanks), most = parse_integer(high, 1, kMaxRanks);
  if (!least || !most) {
    const std::string& bad = least ? high : low;
    const std::string fault = whole_number_fault(bad, 1, kMaxRanks);
    if (colon == text.npos) return fault;
    if (fault.starts_with("too")) return fmt::format("{} is {}", bad, fault);
    return fmt::format("not MIN:MAX, two whole numbers (1 to {})", kMaxRanks);
  }
  if (*least > *most) return std::string(kRangeBackwards);
  // Assigned last: after an error the caller's range is unchanged.
  range = {static_cast<int>(*least), static_cast<int>(*most)};
  return {};
}

std::string read_seconds(const std::string& text, std::string_view option, double low, double high,
                         JobTime& time) {
  double value = 0;
  std::string wrong = read_real(text, low, high, value);
  if (const std::string meant = in_seconds(text); !meant.empty()) {
    throw option_error(fmt::format("{} {}", option, text), "not a number of seconds",
                       fmt::format("{} {}", option, meant));
  }
  if (wrong.empty()) time = std::chrono::milliseconds(std::llround(value * 1000));
  return wrong;
}

std::optional<int> signal_by_name(std::string_view text) {
  if (const auto number = parse_integer(text, 1, 64)) return static_cast<int>(*number);
  std::string wanted = to_lower(text);
  if (!wanted.starts_with("sig")) wanted = "sig" + wanted;
  // From 32 on libc reserves two signals, and the rest have no names.
  for (int signal = 1; signal < 32; ++signal) {
    if (to_lower(signal_name(signal)) == wanted) return signal;
  }
  return std::nullopt;
}

}  // namespace dtl
