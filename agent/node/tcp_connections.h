#pragma once
// What the kernel counts of this node's TCP connections: how much was sent by each, and how long
// that took. Asked by netlink (sock_diag), as ss(8) does; needs no privilege.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtl {

struct TcpConnection {
  std::uint64_t inode = 0;  // of the socket
  std::string peer;         // its address, without the port
  std::uint64_t acked = 0;  // bytes that have arrived there, since it was opened
  // Microseconds since then in which something was to be sent or not yet acknowledged, and the peer
  // had room for it: the network's time, without that of a slow reader.
  std::uint64_t busy_us = 0;
};

// Established ones, loopback left out. Empty where the kernel does not tell.
std::vector<TcpConnection> tcp_connections();

// One end of a connection, in any state, also one that was closed within the last minute; or a
// socket that listens.
struct TcpEnd {
  std::uint64_t inode = 0;  // of the socket; 0: it was closed
  std::uint16_t local_port = 0, peer_port = 0;
  bool listens = false, is_over = false;  // is_over: both ends have closed it
};

// All of this node, loopback included; nullopt where the kernel does not tell.
std::optional<std::vector<TcpEnd>> tcp_ends();

}  // namespace dtl
