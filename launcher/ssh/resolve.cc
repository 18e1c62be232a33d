// Numeric addresses need no worker.
#include "launcher/ssh/resolve.h"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "launcher/ssh/blocking_calls.h"

namespace dtl {
namespace {

using Endpoints = std::vector<asio::ip::tcp::endpoint>;

Error resolve_error(const std::string& name, int code) {
  // The name service has answered: a retry would get the same answer.
  const bool missing = code == EAI_NONAME || code == EAI_NODATA;
  const std::string reason = code == EAI_SYSTEM ? errno_text(errno) : ::gai_strerror(code);
  return Error(missing ? Exit::kUnreachable : Exit::kTryAgain, "cannot resolve its name", reason,
               "getent hosts " + one_shell_word(name));
}

Endpoints look_up(const std::string& name, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  // AI_ADDRCONFIG: no IPv6 addresses on a machine without one.
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const int code = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &first);
  if (code != 0) throw resolve_error(name, code);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
  Endpoints endpoints;
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
    asio::ip::tcp::endpoint endpoint;
    endpoint.resize(entry->ai_addrlen);
    std::copy_n(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen,
                reinterpret_cast<char*>(endpoint.data()));
    endpoints.push_back(endpoint);
  }
  return endpoints;
}

}  // namespace

awaitable<Endpoints> resolve(asio::io_context& context, std::string name, int port,
                             std::chrono::steady_clock::time_point deadline) {
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(name, not_numeric);
  if (!not_numeric) {
    co_return Endpoints(1, asio::ip::tcp::endpoint(address, static_cast<std::uint16_t>(port)));
  }
  // Shared with the worker, which may still resolve after the deadline.
  auto found = std::make_shared<Endpoints>();
  auto looking = workers_of(context).run([=] { *found = look_up(name, port); }, deadline);
  if (!co_await std::move(looking)) {
    throw Error(Exit::kTryAgain, "cannot resolve its name", "the name service does not answer",
                fmt::format("getent hosts {}", name));
  }
  co_return std::move(*found);
}

}  // namespace dtl
