#pragma once
// resolve(): from a host's name to its addresses, without blocking the io_context thread. By
// getaddrinfo(3) and not by a resolver of our own, so that /etc/hosts, nsswitch.conf and all else
// that ssh follows count here, too.

#include <chrono>
#include <string>
#include <vector>

#include "wire/asio.h"

namespace dtl {

// All TCP addresses of a name or numeric address, in the order the system prefers them; at least
// one. Error(kUnreachable) for a name that does not exist, Error(kTryAgain) when the name service
// fails or does not answer by the deadline.
awaitable<std::vector<asio::ip::tcp::endpoint>> resolve(
    asio::io_context& context, std::string name, int port,
    std::chrono::steady_clock::time_point deadline);

}  // namespace dtl
