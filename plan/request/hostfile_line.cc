// Every key has all spellings of other launchers, so that their files work unchanged. Unknown keys
// are errors: a mistyped slots= would silently change the number of ranks.
#include "plan/request/hostfile_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

enum class Key {
  kSlots,
  kMaxSlots,
  kUser,
  kPort,
  kAddress,
  kInterface,
  kPinDomain,
  kBinding,
  kIgnored
};

struct Spelling {
  std::string_view name;
  Key key;
};
// The spellings of Hydra, Open MPI and DeepSpeed, and our own; '-' and '_' are equal in a key.
constexpr std::array kSpellings = {
    Spelling{"slots", Key::kSlots},
    Spelling{"slot", Key::kSlots},
    Spelling{"count", Key::kSlots},
    Spelling{"cpu", Key::kSlots},
    Spelling{"cpus", Key::kSlots},
    Spelling{"ppn", Key::kSlots},
    Spelling{"np", Key::kSlots},
    Spelling{"max_slots", Key::kMaxSlots},
    Spelling{"max_slot", Key::kMaxSlots},
    Spelling{"slots_max", Key::kMaxSlots},
    Spelling{"slot_max", Key::kMaxSlots},
    Spelling{"maxslots", Key::kMaxSlots},
    Spelling{"max_cpus", Key::kMaxSlots},
    Spelling{"cpus_max", Key::kMaxSlots},
    Spelling{"cpu_max", Key::kMaxSlots},
    Spelling{"max_cpu", Key::kMaxSlots},
    Spelling{"max_count", Key::kMaxSlots},
    Spelling{"count_max", Key::kMaxSlots},
    Spelling{"user", Key::kUser},
    Spelling{"username", Key::kUser},
    Spelling{"user_name", Key::kUser},
    Spelling{"port", Key::kPort},
    Spelling{"addr", Key::kAddress},
    Spelling{"address", Key::kAddress},
    Spelling{"iface", Key::kInterface},
    Spelling{"interface", Key::kInterface},
    Spelling{"pin_domain", Key::kPinDomain},
    Spelling{"binding", Key::kBinding},
    Spelling{"bind", Key::kBinding},
    // Open MPI also reads and ignores these.
    Spelling{"boards", Key::kIgnored},
    Spelling{"sockets", Key::kIgnored},
    Spelling{"cores", Key::kIgnored},
};

std::optional<Key> find_key(std::string_view text) {
  std::string name = to_lower(text);
  std::replace(name.begin(), name.end(), '-', '_');
  for (const Spelling& spelling : kSpellings) {
    if (spelling.name == name) return spelling.key;
  }
  return std::nullopt;
}

Error unknown_key(std::string_view key, const TextPosition& position) {
  std::vector<std::string> known;
  for (const Spelling& spelling : kSpellings) known.emplace_back(spelling.name);
  const std::string near = nearest(to_lower(key), known);
  return position.error(fmt::format("unknown key '{}'", key),
                        near.empty() ? "slots=N, user=NAME or port=N" : near + "=...");
}

int parse_port(std::string_view text, const TextPosition& position) {
  const auto port = parse_integer(text, 1, 65535);
  if (!port) {
    throw position.error(fmt::format("'{}' is not a port (1 to 65535)", text), "port=22");
  }
  return static_cast<int>(*port);
}

std::string parse_address(std::string_view text, const TextPosition& position) {
  std::string address(text);
  // Brackets are common around an IPv6 address, and harmless around others.
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') {
    address = address.substr(1, address.size() - 2);
  }
  if (!is_address(address)) {
    throw position.error(fmt::format("'{}' is not a numeric address", text), "addr=10.0.0.1");
  }
  return address;
}

template <typename T>
void set_once(std::optional<T>& field, T value, std::string_view word,
              const TextPosition& position) {
  if (field) throw position.error(fmt::format("'{}' says again what the line has said", word));
  field = std::move(value);
}

// A word without '=' inside, or with nothing on one side, such as half of "slots = 4". The message
// names the likely mistake.
Error stray_word(const Word& word, std::string_view next, const TextPosition& position) {
  const std::size_t equals = word.text.find('=');
  if (word.text[0] == ':') {
    return position.error(fmt::format("blank before '{}'", word.text), "host:2, without blanks");
  }
  if (equals == 0 || (equals != word.text.npos && find_key(word.text.substr(0, equals))) ||
      (find_key(word.text) && next.starts_with('='))) {
    return position.error("blank beside '='", "slots=4, without blanks");
  }
  if (parse_integer(word.text, 0, INT64_MAX)) {
    return position.error(fmt::format("unexpected number '{}'", word.text),
                          fmt::format("slots={}", word.text));
  }
  return position.error(fmt::format("unexpected '{}' after the host", word.text),
                        "one host per line, then slots=N, user=NAME or port=N");
}

}  // namespace

std::vector<Word> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t";
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back({line.substr(at, end - at), at});
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

LineItems parse_items(const std::vector<Word>& words, const TextPosition& line) {
  LineItems items;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const Word& word = words[i];
    const TextPosition here = line.at(word.column);
    const std::size_t equals = word.text.find('=');
    const std::string_view key_text = word.text.substr(0, equals);
    const bool complete = equals != word.text.npos && equals > 0 && equals + 1 < word.text.size();
    if (!complete) {
      throw stray_word(word, i + 1 < words.size() ? words[i + 1].text : std::string_view{}, here);
    }
    const auto key = find_key(key_text);
    if (!key) throw unknown_key(key_text, here);
    const std::string_view value = word.text.substr(equals + 1);
    const TextPosition there = here.at(equals + 1);
    switch (*key) {
      case Key::kSlots:
        set_once(items.slots, parse_slots(value, there), word.text, here);
        break;
      case Key::kUser:
        set_once(items.user, parse_user(value, there), word.text, here);
        break;
      case Key::kPort:
        set_once(items.port, parse_port(value, there), word.text, here);
        break;
      case Key::kMaxSlots:
        set_once(items.max_slots, parse_slots(value, there), word.text, here);
        break;
      case Key::kAddress:
        set_once(items.address, parse_address(value, there), word.text, here);
        break;
      case Key::kInterface:
        set_once(items.interface, std::string(value), word.text, here);
        break;
      case Key::kPinDomain:
        set_once(items.pin_domain, std::string(value), word.text, here);
        break;
      case Key::kBinding:
        set_once(items.binding, std::string(value), word.text, here);
        break;
      case Key::kIgnored:
        break;
    }
  }
  return items;
}

std::string without_comments(std::string_view text, std::string_view path) {
  std::string plain(text);
  std::size_t line = 1, line_begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      line_begin = i + 1;
    } else if (text[i] == '#' || text.substr(i).starts_with("//")) {
      const std::size_t end = std::min(text.find('\n', i), text.size());
      std::fill(plain.begin() + static_cast<std::ptrdiff_t>(i),
                plain.begin() + static_cast<std::ptrdiff_t>(end), ' ');
      i = end - 1;
    } else if (text.substr(i).starts_with("/*")) {
      const std::size_t end = text.find("*/", i + 2);
      if (end == text.npos) {
        throw TextPosition{fmt::format("{}:{}:", path, line), 1, Exit::kBadInput}
            .at(i - line_begin)
            .error("the comment that begins here has no end", "*/");
      }
      // Newlines stay, so that lines keep their numbers.
      for (; i < end + 2; ++i) {
        if (text[i] == '\n') {
          ++line;
          line_begin = i + 1;
        } else {
          plain[i] = ' ';
        }
      }
      --i;
    }
  }
  return plain;
}

}  // namespace dtl
