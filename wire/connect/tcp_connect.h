#pragma once
// connect_first(): a TCP connection to the first of several addresses that answers. A name often
// has unreachable addresses (IPv6 without a route, a second interface), and waiting for each in
// turn would take longer than a start may.

#include <chrono>
#include <vector>

#include "base/fd.h"
#include "wire/asio.h"

namespace dtl {

// Tries the addresses in order. The next try begins 250 ms after the last, or when it fails (RFC
// 8305); the first to answer wins. The socket is CLOEXEC, non-blocking, TCP_NODELAY, and has
// keepalive to notice a dead peer. Error(kUnreachable) names the addresses and the reason, with
// this hint.
awaitable<Fd> connect_first(asio::io_context& context,
                            std::vector<asio::ip::tcp::endpoint> endpoints,
                            std::chrono::steady_clock::time_point deadline, std::string hint = {});

// Sets the same options on an accepted socket: no delay, and a dead peer is noticed within seconds.
// Never fails.
void set_link_options(int socket);

}  // namespace dtl
