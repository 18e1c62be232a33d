#pragma once
// connect_first(): a TCP connection to the first of several addresses that answers. A name often
// has addresses that lead nowhere (IPv6 without a route, a second interface), and waiting for each
// of them in turn would take longer than a start may.

#include <chrono>
#include <vector>

#include "base/fd.h"
#include "wire/asio.h"

namespace dtl {

// Tries the addresses in their order, the next one 250 ms after the last or at once when that
// failed (RFC 8305); the first to answer wins. The socket is CLOEXEC, non-blocking, TCP_NODELAY,
// and notices a dead peer by keepalive. Error(kUnreachable) names the addresses and the reason.
awaitable<Fd> connect_first(asio::io_context& context,
                            std::vector<asio::ip::tcp::endpoint> endpoints,
                            std::chrono::steady_clock::time_point deadline);

// What such a socket has, for one that was accepted: no delay, and a dead peer is noticed within
// seconds. Never fails.
void set_link_options(int socket);

}  // namespace dtl
