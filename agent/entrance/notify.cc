// sd_notify(3) and sd_watchdog_enabled(3) describe the protocol. A name that begins with @ is in
// the abstract namespace, where the first byte of the path is NUL and the length counts.
#include "agent/entrance/notify.h"

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace dtl {

std::string take_variable(const char* name) {
  const char* value = ::getenv(name);
  const std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

Notifier::Notifier() {
  const std::string path = take_variable("NOTIFY_SOCKET");
  const std::string interval = take_variable("WATCHDOG_USEC");
  const std::string whom = take_variable("WATCHDOG_PID");
  const bool known = !path.empty() && (path[0] == '/' || path[0] == '@');
  if (!known || path.size() >= sizeof address_.sun_path) return;
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, path.data(), path.size());
  if (path[0] == '@') address_.sun_path[0] = '\0';  // an abstract name is not a file
  // Without the final NUL, which would be part of an abstract name.
  address_size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto period = parse_integer(interval, 1, std::numeric_limits<std::int64_t>::max());
  const bool for_us = whom.empty() || whom == std::to_string(::getpid());
  // Half the time that the service manager allows, so one message may be late.
  if (period && for_us) watchdog_ = std::chrono::microseconds(*period / 2);
}

void Notifier::send(const std::string& lines) const {
  if (!socket_.valid()) return;
  ::sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address_), address_size_);
}

}  // namespace dtl
