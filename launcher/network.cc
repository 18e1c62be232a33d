#include "launcher/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

struct NumericAddress {
  int family = 0;
  std::array<unsigned char, 16> bytes{};
  int bits() const { return family == AF_INET ? 32 : 128; }
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

// An interface name or a CIDR, or nothing, against one end of a connection.
bool allowed(const std::string& wanted, const std::string& address, const std::string& interface) {
  if (wanted.empty()) return true;
  return is_cidr(wanted) ? in_cidr(address, wanted) : interface == wanted;
}

std::string interface_of(const std::vector<Nic>& nics, const std::string& address) {
  for (const Nic& nic : nics) {
    if (std::find(nic.addresses.begin(), nic.addresses.end(), address) != nic.addresses.end()) {
      return nic.name;
    }
  }
  return {};
}

// Rank 0's addresses in the order in which they are preferred.
std::vector<std::string> candidates(const FirstNode& first, const std::string& wanted) {
  std::vector<std::string> ordered;
  const auto add = [&](const std::string& address) {
    const auto& offered = first.listening.addresses;
    const bool known = std::find(offered.begin(), offered.end(), address) != offered.end();
    const bool repeated = std::find(ordered.begin(), ordered.end(), address) != ordered.end();
    if (known && !repeated && allowed(wanted, address, interface_of(first.nics, address))) {
      ordered.push_back(address);
    }
  };
  add(first.host.name);
  for (const bool v6 : {false, true}) {
    for (const Nic& nic : first.nics) {
      for (const std::string& address : nic.addresses) {
        if ((address.find(':') != std::string::npos) == v6) add(address);
      }
    }
  }
  for (const std::string& address : first.listening.addresses) add(address);
  return ordered;
}

const Attempt* attempt_at(const OtherNode& node, const std::string& address) {
  for (const Attempt& attempt : node.attempts) {
    if (attempt.endpoint.address == address) return &attempt;
  }
  return nullptr;
}

// Empty when `node` reached the address as wanted, else the reason why not.
std::string problem_at(const OtherNode& node, const std::string& address,
                       const std::string& wanted) {
  const Attempt* attempt = attempt_at(node, address);
  if (attempt == nullptr) return "not tried";
  if (!attempt->reached) return attempt->problem.empty() ? "not reached" : attempt->problem;
  if (allowed(wanted, attempt->local_address, attempt->local_interface)) return {};
  return fmt::format("reached from {} on {}, not on {}", attempt->local_address,
                     attempt->local_interface, wanted);
}

std::string interfaces_text(const std::vector<Nic>& nics) {
  std::vector<std::string> pieces;
  for (const Nic& nic : nics) {
    if (nic.loopback || !nic.up) continue;
    pieces.push_back(fmt::format("{} {}", nic.name, join(nic.addresses, " ")));
  }
  return pieces.empty() ? "none" : join(pieces, ", ");
}

[[noreturn]] void refuse(const FirstNode& first, const std::vector<OtherNode>& others,
                         const std::vector<std::string>& addresses, const std::string& wanted) {
  const std::string attempted =
      fmt::format("no address of {} that all other hosts reach", first.host.name);
  if (addresses.empty()) {
    const std::string filter = wanted.empty() ? "" : fmt::format(" on {}", wanted);
    throw Error(Exit::kConfig, attempted,
                fmt::format("it has no usable address{}; its interfaces: {}", filter,
                            interfaces_text(first.nics)),
                wanted.empty() ? "ip address" : "another --iface");
  }
  std::string reason;
  for (const OtherNode& node : others) {
    for (const std::string& address : addresses) {
      const std::string problem = problem_at(node, address, wanted);
      if (problem.empty()) continue;
      reason += fmt::format("\n  {} -> {}: {}", node.host_name, address, problem);
    }
  }
  throw Error(Exit::kConfig, attempted, reason,
              wanted.empty() ? "open the network between these hosts, or name it with --iface"
                             : "without --iface");
}

Network network_at(const FirstNode& first, const std::vector<OtherNode>& others,
                   const std::string& address) {
  Network network;
  network.master_port = static_cast<int>(first.listening.master_port);
  network.nodes.push_back({address, interface_of(first.nics, address)});
  for (const OtherNode& node : others) {
    const Attempt* attempt = attempt_at(node, address);
    network.nodes.push_back({attempt->local_address, attempt->local_interface});
  }
  return network;
}

}  // namespace

bool in_cidr(const std::string& address, const std::string& cidr) {
  const std::size_t slash = cidr.find('/');
  const auto wanted = parse_address(cidr.substr(0, slash));
  const auto given = parse_address(address);
  if (slash == std::string::npos || !wanted || !given || wanted->family != given->family) {
    return false;
  }
  const auto bits = parse_integer(cidr.substr(slash + 1), 0, wanted->bits());
  if (!bits) return false;
  for (int bit = 0; bit < *bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const int mask = 0x80 >> (bit % 8);
    if ((wanted->bytes[byte] & mask) != (given->bytes[byte] & mask)) return false;
  }
  return true;
}

Network choose_network(const FirstNode& first, const std::vector<OtherNode>& others,
                       const std::string& interface) {
  if (others.empty()) {
    Network network;
    network.master_port = static_cast<int>(first.listening.master_port);
    network.nodes.push_back({"127.0.0.1", "lo"});
    return network;
  }
  const std::vector<std::string> addresses = candidates(first, interface);
  for (const std::string& address : addresses) {
    const auto fine = [&](const OtherNode& node) {
      return problem_at(node, address, interface).empty();
    };
    if (std::all_of(others.begin(), others.end(), fine)) return network_at(first, others, address);
  }
  refuse(first, others, addresses, interface);
}

}  // namespace dtl
