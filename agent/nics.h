#pragma once
// The network interfaces of this node, in the kernel's order.

#include <string>
#include <vector>

#include "plan/topology.h"

namespace dtl {

// With IPv4 and IPv6 addresses, less link-local IPv6 ones: those mean nothing on another node.
std::vector<Nic> list_nics();

// "eth0" for one of our numeric addresses; empty when none has it.
std::string interface_of(const std::vector<Nic>& nics, const std::string& address);

// Addresses of interfaces that are up, less loopback.
std::vector<std::string> public_addresses(const std::vector<Nic>& nics);

}  // namespace dtl
