// One pass over the lines collects hosts; repeated names are merged at their first place, as the
// order of hosts is that of ranks. Lines are checked strictly: any mistake that would start ranks
// on wrong hosts is an error with its place.
#include "plan/request/hostfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/limits.h"
#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/request/hostfile_line.h"
#include "plan/request/hostlist.h"

namespace dtl {
namespace {

// A host has one value of each, given by any of its lines.
struct OneOf {
  const char* key;
  std::string Host::*member;
};
constexpr OneOf kOneOf[] = {{"addr", &Host::address},
                            {"iface", &Host::interface},
                            {"pin_domain", &Host::pin_domain},
                            {"binding", &Host::binding}};

// Collects hosts in order of their first mention; a host named again adds its slots to that.
class HostCollector {
 public:
  void add(Host host, const TextPosition& position) {
    // With the port: one address may lead to several sshds.
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

  // Open MPI's "^host": excluded, even if it is named later.
  void exclude(const std::string& name, const TextPosition& position) {
    excluded_.try_emplace(canonical_name(name), name, position);
  }

  std::vector<Host> take() {
    check_excluded();
    std::erase_if(hosts_,
                  [&](const Host& host) { return excluded_.count(canonical_name(host.name)) > 0; });
    return std::move(hosts_);
  }

 private:
  // Excluding a host that is not listed is a mistyped name.
  void check_excluded() const {
    std::vector<std::string> names;
    for (const Host& host : hosts_) names.push_back(canonical_name(host.name));
    for (const auto& [name, excluded] : excluded_) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const std::string near = nearest(name, names);
      throw excluded.second.error(
          fmt::format("'^{}' leaves out a host that is not there", excluded.first),
          near.empty() ? "" : "^" + near);
    }
  }

  // Without counts, every mention is one slot, as in schedulers' machine files. Mixed with counts
  // it is ambiguous.
  void merge(std::size_t index, const Host& again, const TextPosition& position) {
    Host& first = hosts_[index];
    const std::string before = first.where.empty() ? "before" : "at " + first.where;
    if (first.user.empty()) first.user = again.user;
    if (!again.user.empty() && first.user != again.user) {
      throw position.error(fmt::format("'{}' is named {} with another user", again.name, before));
    }
    if (counted_[index] != again.slots.has_value()) {
      throw position.error(fmt::format("'{}' is named {} {} a number of slots", again.name, before,
                                       counted_[index] ? "with" : "without"),
                           "slots on both lines or on neither");
    }
    for (const OneOf& each : kOneOf) {
      std::string& value = first.*each.member;
      const std::string& other = again.*each.member;
      if (!value.empty() && !other.empty() && value != other) {
        throw position.error(
            fmt::format("'{}' is named {} with {}={}", again.name, before, each.key, value),
            "the same on both lines");
      }
      if (value.empty()) value = other;
    }
    if (first.max_slots.has_value() != again.max_slots.has_value()) {
      throw position.error(fmt::format("'{}' is named {} {} max_slots", again.name, before,
                                       first.max_slots ? "with" : "without"),
                           "max_slots on both lines or on neither");
    }
    const int total = first.slots.value_or(1) + again.slots.value_or(1);
    if (total > kMaxRanks) {
      throw position.error(fmt::format("'{}' has more than {} slots", again.name, kMaxRanks));
    }
    first.slots = total;
    // Limits add up as slots do. No job has more ranks, so higher sums do not matter.
    if (first.max_slots) {
      first.max_slots = std::min(kMaxRanks, *first.max_slots + *again.max_slots);
    }
  }

  std::vector<Host> hosts_;
  std::vector<bool> counted_;  // whether the first mention gave slots
  std::map<std::string, std::size_t> index_;
  std::map<std::string, std::pair<std::string, TextPosition>> excluded_;  // as typed, and where
};

void check_max_slots(std::optional<int> slots, std::optional<int> max_slots,
                     const TextPosition& position) {
  if (!max_slots || slots.value_or(1) <= *max_slots) return;
  throw position.error(
      fmt::format("slots={} is more than max_slots={}", slots.value_or(1), *max_slots),
      fmt::format("max_slots={}", slots.value_or(1)));
}

// Before everything else: for a binary file the first invalid byte says more than a bad name.
void check_bytes(std::string_view line, const TextPosition& start) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (static_cast<unsigned char>(line[i]) >= ' ' || line[i] == '\t') continue;
    throw start.at(i).error(
        fmt::format("byte 0x{:02x} does not belong in a text file", static_cast<unsigned>(line[i])),
        "a hostfile of plain text, one host per line");
  }
}

// "[cluster]" of an inventory or an INI file would become the host "cluster". Brackets belong to a
// list "[a,b]", to a range "[n01-n02]" or to an address, which may be mistyped.
void refuse_section(std::string_view line, const TextPosition& position) {
  if (line.size() < 3 || line.front() != '[' || line.back() != ']') return;
  const std::string_view inside = line.substr(1, line.size() - 2);
  const bool range =
      inside.find('-') != inside.npos && inside.find_first_of("0123456789") != inside.npos;
  const bool has_letter = std::any_of(inside.begin(), inside.end(),
                                      [](unsigned char sign) { return std::isalpha(sign) != 0; });
  const bool address = inside.find(':') != inside.npos &&
                       inside.find_first_not_of("0123456789abcdefABCDEF:.") == inside.npos;
  if (!has_letter || range || address || inside.find_first_of(",[]") != inside.npos ||
      is_address(std::string(inside))) {
    return;
  }
  throw position.error(fmt::format("'{}' is a section, and hostfiles have none", printable(line)),
                       "one host per line, and nothing else");
}

void parse_line(std::string_view line, const TextPosition& start, HostCollector& hosts) {
  const std::vector<Word> words = words_of(line);
  if (words.empty()) return;
  const TextPosition position = start.at(words[0].column);
  refuse_section(trim(line), position);
  const std::size_t equals = words[0].text.find('=');
  if (equals != std::string_view::npos && words[0].text[0] != '-') {
    throw position.error(fmt::format("no host before '{}'", words[0].text),
                         fmt::format("host {}", words[0].text));
  }
  if (words[0].text == "rank" && words.size() > 1 &&
      words[1].text.find('=') != words[1].text.npos) {
    throw position.error("Open MPI's rank files are not supported", "-rankmap 0,0,1");
  }
  const bool excluded = words[0].text[0] == '^';
  const HostToken token = excluded ? parse_host_token(words[0].text.substr(1), position.at(1))
                                   : parse_host_token(words[0].text, position);
  if (excluded) {
    if (token.slots || words.size() > 1) {
      throw position.error(fmt::format("'{}' leaves a host out and says more", words[0].text),
                           "^host alone on its line");
    }
    for (const std::string& name : token.names) hosts.exclude(name, position);
    return;
  }
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
  check_max_slots(token.slots ? token.slots : items.slots, items.max_slots, position);
  // All of them would be the same machine.
  if (items.address && token.names.size() > 1) {
    throw position.error(fmt::format("'{}' is {} hosts, and addr={} is one", words[0].text,
                                     token.names.size(), *items.address),
                         "one line for each host");
  }
  for (const std::string& name : token.names) {
    Host host;
    host.name = name;
    host.user = items.user.value_or(token.user);
    host.port = items.port.value_or(0);
    host.slots = token.slots ? token.slots : items.slots;
    host.max_slots = items.max_slots;
    host.address = items.address.value_or("");
    host.interface = items.interface.value_or("");
    host.pin_domain = items.pin_domain.value_or("");
    host.binding = items.binding.value_or("");
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
  // Windows editors write it, and CRLF.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  // Lines keep their numbers: comments become spaces instead of being removed.
  const auto for_each_line = [&](std::string_view rest, const auto& use) {
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      use(line, line_start(number));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  };
  for_each_line(text, check_bytes);
  HostCollector hosts;
  const std::string plain = without_comments(text, path);
  for_each_line(plain, [&](std::string_view line, const TextPosition& start) {
    parse_line(line, start, hosts);
  });
  std::vector<Host> found = hosts.take();
  if (found.empty()) {
    throw line_start(1).error("the file names no host",
                              "one host per line, such as node01 slots=2");
  }
  return found;
}

std::vector<Host> parse_host_option(std::string_view value) {
  const TextPosition start{
      fmt::format("-hosts {}: column ", printable(one_shell_word(std::string(value)))), 1,
      Exit::kUsage};
  HostCollector hosts;
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    // Commas inside brackets belong to a range.
    if (i < value.size() && value[i] == '[') ++depth;
    if (i < value.size() && value[i] == ']' && depth > 0) --depth;
    if (i < value.size() && (value[i] != ',' || depth > 0)) continue;
    const std::string_view item = value.substr(begin, i - begin);
    const TextPosition position = start.at(begin);
    if (item.empty()) throw position.error("a host name is missing", "-hosts node01,node02:2");
    const HostToken token = parse_host_token(item, position);
    for (const std::string& name : token.names) {
      Host host;
      host.name = name;
      host.user = token.user;
      host.slots = token.slots;
      hosts.add(std::move(host), position);
    }
    begin = i + 1;
  }
  return hosts.take();
}

}  // namespace dtl
