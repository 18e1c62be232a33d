// Words that several options share, in all spellings that Intel MPI, Hydra and Open MPI accept.
#include "plan/pinning/pin_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

// Limits the result of a short text: "0-999999999" would otherwise be a long list. 65535 is also
// the highest CPU number that wire accepts from a node.
constexpr int kMaxPinnedCpu = 65535;
constexpr std::size_t kMaxListedCpus = 65536;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

CpuSet parse_mask(const PinText& source, const std::string& piece) {
  std::string digits = to_lower(trim(piece));
  if (digits.starts_with("0x")) digits.erase(0, 2);
  if (digits.empty()) throw source.bad(piece, "is not a hexadecimal mask");
  CpuSet mask;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    // From the right: the last digit has the lowest CPUs, as in the kernel's masks.
    const int digit = hex_digit(digits[digits.size() - 1 - i]);
    if (digit < 0 || i * 4 + 3 > static_cast<std::size_t>(kMaxPinnedCpu)) {
      throw source.bad(piece, "is not a hexadecimal mask");
    }
    for (int bit = 0; bit < 4; ++bit) {
      if ((digit >> bit) & 1) mask.add(static_cast<int>(i) * 4 + bit);
    }
  }
  if (mask.empty()) throw source.bad(piece, "is a mask without any CPU");
  return mask;
}

}  // namespace

Error PinText::bad(std::string_view piece, const std::string& why) const {
  std::string reason = fmt::format("'{}' {}", piece, why.empty() ? "is not understood" : why);
  // The values there are, unless the reason is about something else: "has no ']' at its end".
  const bool unknown = why.empty() || (why.starts_with("is not a") && why.back() != ')');
  if (unknown) reason += fmt::format(" ({})", form.grammar);
  const std::string setting = origin + (origin.starts_with("--") ? " " : "=");
  // Variables that -binding stands for are named, and not what to type.
  if (origin.starts_with("-binding")) {
    return option_error(setting + text, reason, fmt::format("-binding {}", form.binding));
  }
  const std::string near = nearest(piece, split(form.words, ','));
  const std::size_t at = text.find(piece);
  std::string good(form.example);
  if (!near.empty() && at != text.npos) good = std::string(text).replace(at, piece.size(), near);
  return option_error(setting + text, reason, setting + good);
}

std::string plain_word(std::string_view text) {
  std::string word(trim(text));
  const bool quoted = word.size() >= 2 && (word.front() == '"' || word.front() == '\'') &&
                      word.back() == word.front();
  if (quoted) word = word.substr(1, word.size() - 2);
  return to_lower(trim(word));
}

std::optional<PinObject> pin_object(std::string_view word) {
  struct Name {
    std::string_view text;
    PinObject object;
  };
  // A topology has three levels of caches: the fourth or fifth counts as the socket's. Instruction
  // and data caches are not distinguished.
  static constexpr Name kNames[] = {
      {"core", PinObject::kCore},       {"hwthread", PinObject::kThread},
      {"hwt", PinObject::kThread},      {"pu", PinObject::kThread},
      {"unit", PinObject::kThread},     {"slot", PinObject::kCore},
      {"socket", PinObject::kPackage},  {"sock", PinObject::kPackage},
      {"package", PinObject::kPackage}, {"numa", PinObject::kNuma},
      {"numanode", PinObject::kNuma},   {"node", PinObject::kNode},
      {"machine", PinObject::kNode},    {"board", PinObject::kNode},
      {"cache1", PinObject::kCache1},   {"cache2", PinObject::kCache2},
      {"cache3", PinObject::kCache3},   {"cache", PinObject::kCache},
      {"l1cache", PinObject::kCache1},  {"l1dcache", PinObject::kCache1},
      {"l1icache", PinObject::kCache1}, {"l1ucache", PinObject::kCache1},
      {"l2cache", PinObject::kCache2},  {"l2ucache", PinObject::kCache2},
      {"l2dcache", PinObject::kCache2}, {"l2icache", PinObject::kCache2},
      {"l3cache", PinObject::kCache3},  {"l3ucache", PinObject::kCache3},
      {"l3dcache", PinObject::kCache3}, {"l3icache", PinObject::kCache3},
      {"l4cache", PinObject::kPackage}, {"l5cache", PinObject::kPackage},
  };
  const std::string plain = to_lower(word);
  for (const Name& name : kNames) {
    if (name.text == plain) return name.object;
  }
  return std::nullopt;
}

std::optional<bool> pin_switch(std::string_view word) {
  for (const char* on : {"1", "on", "yes", "true", "enable"}) {
    if (word == on) return true;
  }
  for (const char* off : {"0", "off", "no", "false", "disable"}) {
    if (word == off) return false;
  }
  return std::nullopt;
}

int pin_count(const PinText& source, std::string_view word) {
  const auto number = parse_integer(word, 1, kMaxPinnedCpu + 1);
  if (!number) throw source.bad(word, "is " + whole_number_fault(word, 1, kMaxPinnedCpu + 1));
  return static_cast<int>(*number);
}

std::vector<CpuSet> parse_masks(const PinText& source) {
  std::string list = source.text;
  if (!list.ends_with(']')) throw source.bad(list, "has no ']' at its end");
  list = list.substr(1, list.size() - 2);
  std::vector<std::string> pieces = split(list, ',');
  if (pieces.size() > 1 && trim(pieces.back()).empty()) pieces.pop_back();  // "[f,f0,]"
  std::vector<CpuSet> masks;
  for (const std::string& piece : pieces) masks.push_back(parse_mask(source, piece));
  return masks;
}

std::vector<int> parse_cpu_numbers(const PinText& source, std::string_view text) {
  std::vector<int> cpus;
  for (const std::string& piece : split(text, ',')) {
    const std::string range(trim(piece));
    const std::size_t dash = range.find('-');
    const auto low = parse_integer(range.substr(0, dash), 0, kMaxPinnedCpu);
    const auto high =
        dash == std::string::npos ? low : parse_integer(range.substr(dash + 1), 0, kMaxPinnedCpu);
    if (!low || !high || *high < *low) throw source.bad(range, "is neither a CPU nor a range");
    for (auto cpu = *low; cpu <= *high; ++cpu) cpus.push_back(static_cast<int>(cpu));
    if (cpus.size() > kMaxListedCpus) throw source.bad(range, "makes the list too long");
  }
  return cpus;
}

}  // namespace dtl
