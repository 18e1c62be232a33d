// Resolves no name: it may be an alias in ssh_config. Text that is nearly a host, as in other
// launchers' files, gives an error with reason and place; nothing is guessed.
#include "plan/request/host_token.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "plan/request/hostlist.h"

namespace dtl {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name_character(char c) {
  return is_letter_or_digit(c) || std::string_view("._-").find(c) != std::string_view::npos;
}

// Printable ASCII unchanged, other bytes as numbers: a terminal would interpret some of them.
std::string shown(char c) {
  return c > ' ' && c < 0x7f ? fmt::format("'{}'", c)
                             : fmt::format("byte 0x{:02x}", static_cast<unsigned char>(c));
}

// "fe80::1%eth0": an address and a zone. Does not check whether such an interface exists.
bool is_ipv6(std::string_view text) {
  const std::size_t percent = text.find('%');
  if (percent != text.npos) {
    const std::string_view zone = text.substr(percent + 1);
    if (zone.empty() || !std::all_of(zone.begin(), zone.end(), is_name_character)) return false;
  }
  in6_addr address;
  return ::inet_pton(AF_INET6, std::string(text.substr(0, percent)).c_str(), &address) == 1;
}

bool is_ipv4(const std::string& text) {
  in_addr address;
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1;
}

void check_characters(std::string_view host, const TextPosition& position) {
  if (host.empty()) throw position.error("a host name is missing");
  // Open MPI's "+n2", the third host of its allocation.
  if (host[0] == '+') {
    throw position.error(fmt::format("'{}': Open MPI's relative hosts are not supported",
                                     printable(host.substr(0, 32))),
                         "the names of the hosts to use, one per line");
  }
  if (host[0] == '-') {  // ssh would read it as an option
    throw position.error(fmt::format("the host name '{}' starts with '-'", printable(host)),
                         "a name that starts with a letter or a digit");
  }
  for (std::size_t i = 0; i < host.size(); ++i) {
    // These are part of ranges and addresses, which are checked later.
    if (is_name_character(host[i]) || std::string_view(":%[],").find(host[i]) != host.npos)
      continue;
    throw position.at(i).error(fmt::format("{} cannot stand in a host name", shown(host[i])),
                               "letters, digits, '.', '_' and '-'");
  }
}

// "[fe80::1]" or "[fe80::1]:2". Ranges also have brackets; the caller has checked that this one
// contains a colon.
void parse_bracketed_ipv6(std::string_view host, const TextPosition& position, HostToken& token) {
  const std::size_t end = host.find(']');
  const std::string_view address = host.substr(1, end - 1);
  if (!is_ipv6(address)) {
    throw position.error(fmt::format("'{}' is not an IPv6 address", printable(address)));
  }
  token.names = {std::string(address)};
  const std::string_view rest = host.substr(end + 1);
  if (rest.empty()) return;
  if (rest[0] != ':') {
    throw position.at(end + 1).error(fmt::format("'{}' after the address", printable(rest)),
                                     fmt::format("[{}]:2", address));
  }
  token.slots = parse_slots(rest.substr(1), position.at(end + 2));
}

void parse_name_or_range(std::string_view host, const TextPosition& position, HostToken& token) {
  // A colon inside brackets does not precede slots.
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  const bool has_slots = colon != host.npos && (bracket == host.npos || colon > bracket);
  const std::string_view pattern = has_slots ? host.substr(0, colon) : host;
  if (pattern.empty()) {
    throw position.error(fmt::format("no host name before '{}'", printable(host)),
                         "host:2, without blanks");
  }
  if (pattern.find_first_of("[]") == pattern.npos && pattern.find(',') != pattern.npos) {
    throw position.at(pattern.find(',')).error("',' between host names", "one host per line");
  }
  token.names = expand_hostlist(pattern, position);
  // After expansion, since a range may combine valid pieces to invalid names.
  for (const std::string& name : token.names) check_host_name(name, position);
  if (has_slots) token.slots = parse_slots(host.substr(colon + 1), position.at(colon + 1));
}

}  // namespace

HostToken parse_host_token(std::string_view text, const TextPosition& position) {
  HostToken token;
  std::string_view host = text;
  TextPosition here = position;
  if (const std::size_t sign = text.find('@'); sign != text.npos) {
    if (const std::size_t second = text.find('@', sign + 1); second != text.npos) {
      throw position.at(second).error("a second '@'", "user@host");
    }
    token.user = parse_user(text.substr(0, sign), position);
    host = text.substr(sign + 1);
    here = position.at(sign + 1);
  }
  check_characters(host, here);
  // Two or more colons without brackets make an address, so "::1:2" has no slots.
  const bool bracketed = host[0] == '[' && host.substr(0, host.find(']')).find(':') != host.npos &&
                         host.find(']') != host.npos;
  const auto colons = std::count(host.begin(), host.end(), ':');
  if (bracketed) {
    parse_bracketed_ipv6(host, here, token);
  } else if (colons >= 2 && host.find_first_of("[]") == host.npos) {
    if (!is_ipv6(host)) {
      throw here.error(
          fmt::format("'{}' is neither host:slots nor an IPv6 address", printable(host)),
          "host:2 or [fe80::1]:2");
    }
    token.names = {std::string(host)};
  } else {
    parse_name_or_range(host, here, token);
  }
  return token;
}

void check_host_name(const std::string& name, const TextPosition& position) {
  if (name.empty() || !(is_letter_or_digit(name[0]) || name[0] == '_')) {
    throw position.error(fmt::format("the host name '{}' starts with {}", printable(name),
                                     name.empty() ? "" : shown(name[0])),
                         "a name that starts with a letter or a digit");
  }
  for (const char c : name) {
    if (is_name_character(c)) continue;
    throw position.error(
        fmt::format("'{}' is not a host name: {} stands in it", printable(name), shown(c)));
  }
  // getaddrinfo(3) would read "10.1" as 10.0.0.1. Here it is a mistyped address.
  const bool numeric = name.find_first_not_of("0123456789.") == std::string::npos;
  if (numeric && !is_ipv4(name)) {
    throw position.error(
        fmt::format("'{}' is neither a host name nor an IPv4 address", printable(name)),
        "four numbers from 0 to 255, such as 10.0.0.1");
  }
}

int parse_slots(std::string_view text, const TextPosition& position) {
  const auto slots = parse_integer(text, 1, kMaxRanks);
  if (slots && text[0] != '0') return static_cast<int>(*slots);
  constexpr const char* kHint = "host:2";
  if (text.empty()) throw position.error("the number of slots is missing", kHint);
  const std::string fault = slots ? "not a number of slots: it begins with 0"
                                  : whole_number_fault(text, 1, kMaxRanks, "slots");
  throw position.error(fmt::format("'{}' is {}", printable(text), fault), kHint);
}

std::string parse_user(std::string_view text, const TextPosition& position) {
  if (text.empty()) throw position.error("the user name is missing", "user@host");
  if (text[0] == '-') {
    throw position.error(fmt::format("the user name '{}' starts with '-'", printable(text)));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_name_character(text[i])) continue;
    throw position.at(i).error(fmt::format("{} cannot stand in a user name", shown(text[i])));
  }
  return std::string(text);
}

bool is_address(const std::string& text) {
  return is_ipv4(text) || is_ipv6(text);
}

bool is_loopback_name(const std::string& name) {
  if (name == "localhost") return true;
  return (is_ipv4(name) && name.starts_with("127.")) || canonical_name(name) == "::1";
}

std::string canonical_name(const std::string& name) {
  in6_addr address;
  char text[INET6_ADDRSTRLEN];
  // inet_pton(3) accepts no zone.
  const std::size_t zone = std::min(name.find('%'), name.size());
  if (::inet_pton(AF_INET6, name.substr(0, zone).c_str(), &address) == 1 &&
      ::inet_ntop(AF_INET6, &address, text, sizeof text) != nullptr) {
    return text + name.substr(zone);
  }
  return to_lower(name);
}

}  // namespace dtl
