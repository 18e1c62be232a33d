#include "plan/hostfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/limits.h"
#include "base/text.h"
#include "plan/host_token.h"
#include "plan/hostlist.h"

namespace dtl {
namespace {

struct Word {
  std::string_view text;
  std::size_t column;  // 0-based
};

// Words between blanks and tabs, up to a comment.
std::vector<Word> words_of(std::string_view line) {
  line = line.substr(0, std::min(line.find('#'), line.find("//")));
  constexpr std::string_view kBlank = " \t";
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back({line.substr(at, end - at), at});
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

enum class Key { kSlots, kUser, kPort };

struct Spelling {
  std::string_view name;
  Key key;
};
// What Hydra, Open MPI and DeepSpeed call these; '-' and '_' are the same in a key.
constexpr std::array kSpellings = {
    Spelling{"slots", Key::kSlots},   Spelling{"count", Key::kSlots},
    Spelling{"cpu", Key::kSlots},     Spelling{"ppn", Key::kSlots},
    Spelling{"np", Key::kSlots},      Spelling{"user", Key::kUser},
    Spelling{"username", Key::kUser}, Spelling{"user_name", Key::kUser},
    Spelling{"port", Key::kPort},
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

// What follows the host on its line.
struct LineItems {
  std::optional<int> slots;
  std::optional<std::string> user;
  std::optional<int> port;
};

int parse_port(std::string_view text, const TextPosition& position) {
  const auto port = parse_integer(text, 1, 65535);
  if (!port) {
    throw position.error(fmt::format("'{}' is not a port", text),
                         "a number from 1 to 65535, such as port=22");
  }
  return static_cast<int>(*port);
}

template <typename T>
void set_once(std::optional<T>& field, T value, std::string_view word,
              const TextPosition& position) {
  if (field) throw position.error(fmt::format("'{}' says again what the line has said", word));
  field = std::move(value);
}

// A word without '=' inside: is it half of "slots = 4", or something else altogether?
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
    }
  }
  return items;
}

// Collects hosts in order of their first mention; a host named again adds its slots to that.
class HostCollector {
 public:
  void add(Host host, const TextPosition& position) {
    const std::string identity = fmt::format("{} {}", canonical_name(host.name), host.port);
    const auto [found, is_new] = index_.try_emplace(identity, hosts_.size());
    if (is_new) {
      if (hosts_.size() == kMaxHosts) {
        throw position.error(fmt::format("more than {} hosts", kMaxHosts));
      }
      counted_.push_back(host.slots.has_value());
      hosts_.push_back(std::move(host));
      return;
    }
    merge(found->second, host, position);
  }

  std::vector<Host> take() { return std::move(hosts_); }
  bool empty() const { return hosts_.empty(); }

 private:
  // Without counts, every mention is one slot, as in the machine files that schedulers write.
  void merge(std::size_t index, const Host& again, const TextPosition& position) {
    Host& first = hosts_[index];
    const std::string before = first.where.empty() ? "before" : "at " + first.where;
    if (first.user != again.user) {
      throw position.error(fmt::format("'{}' is named {} with another user", again.name, before));
    }
    if (counted_[index] != again.slots.has_value()) {
      throw position.error(fmt::format("'{}' is named {} {} a number of slots", again.name, before,
                                       counted_[index] ? "with" : "without"),
                           "slots on both lines or on neither");
    }
    const int total = first.slots.value_or(1) + again.slots.value_or(1);
    if (total > kMaxRanks) {
      throw position.error(fmt::format("'{}' has more than {} slots", again.name, kMaxRanks));
    }
    first.slots = total;
  }

  std::vector<Host> hosts_;
  std::vector<bool> counted_;  // whether the first mention gave slots
  std::map<std::string, std::size_t> index_;
};

void parse_line(std::string_view line, const TextPosition& start, HostCollector& hosts) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (static_cast<unsigned char>(line[i]) >= ' ' || line[i] == '\t') continue;
    throw start.at(i).error(
        fmt::format("byte 0x{:02x} does not belong in a text file", static_cast<unsigned>(line[i])),
        "a hostfile of plain text, one host per line");
  }
  const std::vector<Word> words = words_of(line);
  if (words.empty()) return;
  const TextPosition position = start.at(words[0].column);
  const std::size_t equals = words[0].text.find('=');
  if (equals != std::string_view::npos && words[0].text[0] != '-') {
    throw position.error(fmt::format("no host before '{}'", words[0].text),
                         fmt::format("host {}", words[0].text));
  }
  const HostToken token = parse_host_token(words[0].text, position);
  const LineItems items = parse_items(words, start);
  if (token.slots && items.slots) {
    throw position.error(
        fmt::format("'{}' and slots={} both give slots", words[0].text, *items.slots),
        "one of the two");
  }
  if (!token.user.empty() && items.user) {
    throw position.error(
        fmt::format("'{}' and user={} both give a user", words[0].text, *items.user),
        "one of the two");
  }
  for (const std::string& name : token.names) {
    Host host;
    host.name = name;
    host.user = items.user.value_or(token.user);
    host.port = items.port.value_or(0);
    host.slots = token.slots ? token.slots : items.slots;
    host.where = position.where();
    hosts.add(std::move(host), position);
  }
}

}  // namespace

std::vector<Host> parse_hostfile(std::string_view text, std::string_view path) {
  const auto line_start = [&](std::size_t number) {
    return TextPosition{fmt::format("{}:{}:", path, number), 1, Exit::kBadInput};
  };
  if (text.size() > kMaxHostfileBytes) {
    throw line_start(1).error(fmt::format("larger than {} bytes", kMaxHostfileBytes));
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  HostCollector hosts;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    parse_line(line, line_start(number), hosts);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (hosts.empty()) {
    throw line_start(1).error("the file names no host",
                              "one host per line, such as node01 slots=2");
  }
  return hosts.take();
}

std::vector<Host> parse_host_option(std::string_view value) {
  const TextPosition start{"-hosts: column ", 1, Exit::kUsage};
  HostCollector hosts;
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    if (i < value.size() && value[i] == '[') ++depth;
    if (i < value.size() && value[i] == ']' && depth > 0) --depth;
    if (i < value.size() && (value[i] != ',' || depth > 0)) continue;
    const std::string_view item = value.substr(begin, i - begin);
    const TextPosition position = start.at(begin);
    if (item.empty()) throw position.error("a host name is missing", "-hosts node01,node02:2");
    const HostToken token = parse_host_token(item, position);
    for (const std::string& name : token.names) {
      hosts.add({name, token.user, 0, token.slots, ""}, position);
    }
    begin = i + 1;
  }
  return hosts.take();
}

}  // namespace dtl
