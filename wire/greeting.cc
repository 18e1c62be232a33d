// A login shell may print anything before the agent starts, even something that looks like the
// marker: the search continues after text that does not parse.
#include "wire/greeting.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kGreetingMarker = "\nDTLAUNCH-AGENT ";
constexpr std::size_t kMaxLineBytes = 256;  // of the marker line; a longer one is shell noise
constexpr std::size_t kNonceDigits = 32;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The three words after the marker.
std::optional<Greeting> parse_words(std::string_view line) {
  const std::vector<std::string> words = split(line, ' ');
  if (words.size() != 3 || words[1].empty()) return std::nullopt;
  const auto protocol = parse_integer(words[0], 0, UINT16_MAX);
  if (!protocol || words[2].size() != kNonceDigits || !is_hex(words[2])) return std::nullopt;
  return Greeting{static_cast<unsigned>(*protocol), printable(words[1]), words[2]};
}

}  // namespace

std::string to_line(const Greeting& greeting) {
  return fmt::format("{}{} {} {}\n", kGreetingMarker, greeting.protocol, greeting.version,
                     greeting.nonce);
}

std::optional<GreetingFound> find_greeting(std::string_view received) {
  std::size_t at = received.find(kGreetingMarker);
  for (; at != std::string_view::npos; at = received.find(kGreetingMarker, at + 1)) {
    const std::size_t words = at + kGreetingMarker.size();
    const std::size_t end = received.find('\n', words);
    if (end == std::string_view::npos) {
      // The rest of the line may still arrive.
      if (received.size() - words <= kMaxLineBytes) return std::nullopt;
      // Such a long line comes from the shell, not from an agent.
      continue;
    }
    if (const auto greeting = parse_words(received.substr(words, end - words))) {
      return GreetingFound{*greeting, printable_lines(received.substr(0, at)),
                           std::string(received.substr(end + 1))};
    }
  }
  if (received.size() > kMaxShellNoiseBytes) {
    throw Error(
        Exit::kVersion, "no greeting from dtagent",
        fmt::format("the login shell printed more than {} bytes before it", kMaxShellNoiseBytes),
        "start-up files that print nothing when the shell is not interactive");
  }
  return std::nullopt;
}

}  // namespace dtl
