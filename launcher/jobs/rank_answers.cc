// Lenient, like parse_job_list(): a line that does not fit says nothing.
#include "launcher/jobs/rank_answers.h"

#include <array>
#include <limits>
#include <optional>

#include "base/limits.h"
#include "base/text.h"
#include "launcher/job/rank_watch.h"

namespace dtl {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::optional<RankAnswer> parse_rank(const std::string& host,
                                     const std::vector<std::string>& words) {
  // The program may hold blanks.
  if (words.size() < 10) return std::nullopt;
  const std::array<std::size_t, 6> places = {2, 4, 5, 6, 7, 8};
  std::array<std::int64_t, 6> numbers{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto number = parse_integer(words[places[i]], 0, kMost);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  const auto rank = parse_integer(words[1], 0, kMaxRanks - 1);
  if (!rank && words[1] != "-1") return std::nullopt;
  RankAnswer answer;
  answer.rank = static_cast<int>(rank.value_or(-1));
  answer.host = host;
  answer.state = printable(words[3]);
  answer.pid = numbers[0];
  answer.cpu_ms = numbers[1];
  answer.cpu_percent = numbers[2];
  answer.memory_kib = numbers[3];
  answer.threads = numbers[4];
  answer.age_s = numbers[5];
  answer.program = printable(join(std::span(words).subspan(9), " "));
  return answer;
}

std::optional<RingWait> parse_wait(const std::vector<std::string>& words) {
  if (words.size() != 6) return std::nullopt;
  const auto opcode = parse_integer(words[1], 0, 255);
  const auto begun = parse_integer(words[2], 0, kMost),
             completed = parse_integer(words[3], 0, kMost);
  const auto world = parse_integer(words[5], 1, kMaxRanks);
  if (!opcode || !begun || !completed || !world || *completed >= *begun) return std::nullopt;
  // The kind is that of the latest collective; several may be in flight.
  const bool is_latest = *completed + 1 == *begun;
  return RingWait{collective_name(static_cast<std::uint32_t>(is_latest ? *opcode : 0)),
                  *completed + 1, *world};
}

}  // namespace

HostAnswer parse_rank_answers(const std::string& host, std::string_view text) {
  HostAnswer all;
  all.host = host;
  std::string* quoted = nullptr;  // where the lines with "| " belong
  bool known = false;             // the lines belong to a rank that is known
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("| ")) {
      if (quoted != nullptr) *quoted += printable(line.substr(2)) + "\n";
      continue;
    }
    quoted = nullptr;
    const auto words = split(line, ' ');
    if (words[0] == "agent" && words.size() == 3) {
      ++all.agents;
      all.ranks += static_cast<int>(parse_integer(words[2], 0, kMaxRanks).value_or(0));
    } else if (words[0] == "rank") {
      auto rank = parse_rank(host, words);
      known = rank.has_value();
      if (known) all.running.push_back(std::move(*rank));
    } else if (words[0] == "waits" && known) {
      if (auto wait = parse_wait(words)) all.running.back().waits.push_back(std::move(*wait));
    } else if (words[0] == "answer" && words.size() == 2 && known) {
      all.running.back().answer = printable(words[1]);
      quoted = &all.running.back().stack;
    } else if (words[0] == "native" && words.size() == 2 && known) {
      all.running.back().native_told = words[1] == "told";
      quoted = &all.running.back().native;
    }
  }
  return all;
}

}  // namespace dtl
