#pragma once
// resolve(): from a host's name to its addresses, without blocking the io_context thread. It uses
// getaddrinfo(3), so /etc/hosts, nsswitch.conf and everything else that ssh uses applies here too.

#include <chrono>
#include <string>
#include <vector>

#include "wire/asio.h"

namespace dtl {

// All TCP addresses of a name or numeric address, in the system's order of preference; at least
// one. Error(kUnreachable) if the name does not exist, Error(kTryAgain) if the name service fails
// or does not answer by the deadline.
awaitable<std::vector<asio::ip::tcp::endpoint>> resolve(
    asio::io_context& context, std::string name, int port,
    std::chrono::steady_clock::time_point deadline);

}  // namespace dtl
