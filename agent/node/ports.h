#pragma once
// Finding TCP ports that are free on every address of this node. A port is only certain while its
// sockets live: whoever lets them go before the ranks bind it takes a chance.

#include <cstdint>
#include <utility>

#include "base/fd.h"

namespace dtl {

// Sockets bound to one port on all IPv4 and all IPv6 addresses; v6 is not valid where the node has
// no IPv6.
struct BoundPort {
  std::uint16_t port = 0;
  Fd v4, v6;
};

// One that the kernel chooses. Throws Error(kConfig).
BoundPort bind_any_port();

// One outside net.ipv4.ip_local_port_range, from which the kernel would give it away again before
// the ranks use it. Throws Error(kConfig) when none is free.
BoundPort bind_master_port();

// One of low..high, tried in turn from a random one on. Throws Error(kConfig) when none is free.
BoundPort bind_port_within(std::uint32_t low, std::uint32_t high);

// The kernel's ephemeral range; 32768-60999 when it cannot be read.
std::pair<std::uint32_t, std::uint32_t> ephemeral_range();

}  // namespace dtl
