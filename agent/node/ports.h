#pragma once
// Finds TCP ports that are free on every address of this node. A port is only reserved while its
// sockets exist: between closing them and the ranks' bind, another process may take it.

#include <cstdint>
#include <utility>

#include "base/fd.h"

namespace dtl {

// Sockets bound to one port on all IPv4 and all IPv6 addresses; v6 is invalid if the node has no
// IPv6.
struct BoundPort {
  std::uint16_t port = 0;
  Fd v4, v6;
};

// A port that the kernel chooses. Throws Error(kConfig).
BoundPort bind_any_port();

// A port outside net.ipv4.ip_local_port_range; from that range the kernel could assign it before
// the ranks use it. Throws Error(kConfig) if none is free.
BoundPort bind_master_port();

// A port within low..high, tried in order from a random start. Throws Error(kConfig).
BoundPort bind_port_within(std::uint32_t low, std::uint32_t high);

// The kernel's ephemeral range; 32768-60999 if it cannot be read.
std::pair<std::uint32_t, std::uint32_t> ephemeral_range();

}  // namespace dtl
