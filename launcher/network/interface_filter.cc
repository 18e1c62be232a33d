// Addresses are compared as bytes, not as texts: IPv6 writes one address in several ways.
#include "launcher/network/interface_filter.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

// IPv4 uses the first 4 bytes; the rest stays 0, so arrays of one family can be compared whole.
struct NumericAddress {
  int family = 0;
  std::array<unsigned char, 16> bytes{};
  unsigned bits() const { return family == AF_INET ? 32 : 128; }
};

std::optional<NumericAddress> parse_address(const std::string& text) {
  NumericAddress address;
  for (const int family : {AF_INET, AF_INET6}) {
    address.family = family;
    if (::inet_pton(family, text.c_str(), address.bytes.data()) == 1) return address;
  }
  return std::nullopt;
}

bool is_cidr(const std::string& text) {
  return text.find('/') != std::string::npos;
}

// Address and number of bits of "10.0.0.0/24".
std::optional<std::pair<NumericAddress, unsigned>> parse_cidr(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (slash == std::string::npos || !address) return std::nullopt;
  // 0 bits is a valid prefix: "0.0.0.0/0" means all of IPv4.
  const auto bits = parse_integer(text.substr(slash + 1), 0, address->bits());
  if (!bits) return std::nullopt;
  return std::pair(*address, static_cast<unsigned>(*bits));
}

void clear_host_bits(NumericAddress& address, unsigned bits) {
  for (unsigned bit = bits; bit < address.bits(); ++bit) {
    const int mask = 0x80 >> (bit % 8);
    address.bytes[bit / 8] = static_cast<unsigned char>(address.bytes[bit / 8] & ~mask);
  }
}

[[noreturn]] void refuse(const std::string& text, const std::string& reason) {
  throw option_error("--iface " + one_shell_word(text), reason,
                     "--iface eth1, --iface 10.0.0.0/24 or --iface ^docker0");
}

}  // namespace

InterfaceFilter::InterfaceFilter(const std::string& text) : text_(text) {
  if (text.empty()) return;
  leaves_out_ = text[0] == '^';
  for (const std::string& piece : split(text.substr(leaves_out_ ? 1 : 0), ',')) {
    std::string item(trim(piece));
    if (!item.empty() && item[0] == '^') {
      // "^a,^b" means the same as "^a,b". "a,^b" could mean two things.
      if (!leaves_out_) refuse(text, "names both what to use and what to leave out");
      item.erase(0, 1);
    }
    if (item.empty()) refuse(text, "a name is missing");
    // Any other word may be an interface's name. Only the agents know which names exist.
    if (is_cidr(item) && !parse_cidr(item)) {
      refuse(text, fmt::format("'{}' is not a network like 10.0.0.0/24 or fd00::/64", item));
    }
    items_.push_back(std::move(item));
  }
}

bool InterfaceFilter::matches(const std::string& interface, const std::string& address) const {
  return std::any_of(items_.begin(), items_.end(), [&](const std::string& item) {
    return is_cidr(item) ? in_cidr(address, item) : item == interface || item == address;
  });
}

bool InterfaceFilter::includes(const std::string& interface, const std::string& address) const {
  return !leaves_out_ && matches(interface, address);
}

bool InterfaceFilter::allows(const std::string& interface, const std::string& address) const {
  return items_.empty() || matches(interface, address) != leaves_out_;
}

bool in_cidr(const std::string& address, const std::string& cidr) {
  const auto wanted = parse_cidr(cidr);
  auto given = parse_address(address);
  if (!wanted || !given || wanted->first.family != given->family) return false;
  NumericAddress network = wanted->first;
  // Clears the prefix's host bits too: "10.0.0.7/24" is a valid way to write that network.
  clear_host_bits(network, wanted->second);
  clear_host_bits(*given, wanted->second);
  return network.bytes == given->bytes;
}

std::string subnet_of(const std::string& address, unsigned bits) {
  auto network = parse_address(address);
  if (!network || bits > network->bits()) return {};
  clear_host_bits(*network, bits);
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(network->family, network->bytes.data(), text, sizeof text);
  return fmt::format("{}/{}", text, bits);
}

}  // namespace dtl
