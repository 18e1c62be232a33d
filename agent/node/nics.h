#pragma once
// The network interfaces of this node, in the kernel's order.

#include <string>
#include <vector>

#include "plan/pinning/topology.h"

namespace dtl {

// With IPv4 and IPv6 addresses, except link-local IPv6 ones: those mean nothing on another node.
// Includes interfaces that have no address or are down. Empty on an error.
std::vector<Nic> list_nics();

// The interface of one of our numeric addresses, e.g. "eth0"; empty if none has it.
std::string interface_of(const std::vector<Nic>& nics, const std::string& address);

// Addresses of interfaces that are up, except loopback ones.
std::vector<std::string> public_addresses(const std::vector<Nic>& nics);

// The third word of sshd's SSH_CONNECTION ("client port server port"); empty if it is missing, or a
// loopback address, which says nothing about the network.
std::string reached_at(const char* ssh_connection);

}  // namespace dtl
